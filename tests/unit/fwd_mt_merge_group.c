/* fwd/mt_merge.h between a source that goes back, and receivers that answer, as RC does: nothing
 * that goes up says more than what receivers have (draft 5.3.1, 5.3.2), and however much was lost,
 * once losses end all of it arrives. */
#include "fwd/mt_merge.h"

#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "wire/aeth.h"

#define SEEDS     300u
#define NODES     3u /* 0 is next to the source; below it the others, and receivers */
#define BRANCHES  4u
#define RECEIVERS (NODES * BRANCHES)
#define QUEUE     4096u
#define ACK       0u
#define SEQUENCE  0x60u
#define RNR       0x20u
#define PATIENCE  64u /* timeouts without progress after the last loss: the group hangs */

struct wire_packet {
	bool is_answer;
	int64_t psn;
	bool begins, ends, asks;
	struct mt_answer answer;
};

struct link {
	struct wire_packet queue[QUEUE];
	uint32_t head, n;
};

struct receiver {
	bool is_member, counts, answers_repeats;
	int64_t expected, msn, posted;
	bool has_nak; /* sent one since the last packet in order */
	bool is_dead;
	struct link down, up;
};

struct node {
	struct mt_merge merge;
	struct mt_branch_state states[BRANCHES];
	uint32_t child[BRANCHES]; /* a receiver, or NODES' number from RECEIVERS on */
	struct link down, up;
};

static struct group {
	uint64_t seed;
	struct prng p;
	struct node nodes[NODES];
	struct receiver receivers[RECEIVERS];
	uint32_t n_receivers;
	int64_t start, end;      /* PSNs of the group */
	int64_t una, next, sent; /* the source: sent is the highest so far, + 1 */
	int64_t limit;           /* messages it may begin; < 0: any */
	int64_t rewound;         /* una when it last went back for a NAK (T-22) */
	uint32_t window, every;
	uint32_t loss;     /* of 1000 */
	uint32_t timeouts; /* since una last moved */
	uint32_t budget;   /* steps with losses */
	bool is_timid;     /* sends one packet only after a timeout */
	bool as_printed, restarts, leaves, joins;
} g;

static uint32_t below(uint32_t bound)
{
	return (uint32_t)prng_below(&g.p, bound);
}

static bool chance(uint32_t num, uint32_t den)
{
	return prng_chance(&g.p, num, den);
}

static psn24 wire(int64_t psn)
{
	return psn24_of((uint32_t)(uint64_t)psn);
}

/* The PSN that is nearest to what the source is at. */
static int64_t widen(psn24 psn)
{
	return g.sent + psn24_diff(psn, wire(g.sent));
}

static bool is_lossy(void)
{
	return g.budget > 0;
}

static void put(struct link *l, const struct wire_packet *p)
{
	if (is_lossy() && chance(g.loss, 1000))
		return;
	assert_in_range(l->n, 0, QUEUE - 1);
	l->queue[(l->head + l->n++) % QUEUE] = *p;
}

static struct wire_packet take(struct link *l)
{
	struct wire_packet p = l->queue[l->head];

	l->head = (l->head + 1) % QUEUE;
	l->n--;
	return p;
}

static bool ends(int64_t psn)
{
	uint64_t state = (uint64_t)psn ^ g.seed << 32;

	return psn == g.end - 1 || prng_splitmix64(&state) % 4 == 0;
}

/* Messages that end at or before a PSN. */
static int64_t messages(int64_t acked)
{
	int64_t n = 0;

	for (int64_t psn = g.start; psn <= acked; psn++)
		n += ends(psn);
	return n;
}

/* ------------------------------------------------------------------ receivers */

static void answer(struct receiver *r, uint8_t type)
{
	struct wire_packet p = {.is_answer = true};
	uint8_t value = AETH_NO_CREDITS;

	if (type == ACK && r->counts)
		value = aeth_credit_code((uint32_t)r->posted);
	else if (type == RNR)
		value = (uint8_t)below(32);
	else if (type == SEQUENCE)
		value = 0;
	p.answer.psn = wire(type == ACK ? r->expected - 1 : r->expected);
	p.answer.syndrome = type | value;
	p.answer.msn = wire(r->msn);
	put(&r->up, &p);
}

static void receive(struct receiver *r, const struct wire_packet *p)
{
	if (!r->is_member || r->is_dead)
		return;
	if (p->psn < r->expected) {
		if (p->asks || r->answers_repeats)
			answer(r, ACK);
		return;
	}
	if (p->psn > r->expected) {
		if (!r->has_nak)
			answer(r, SEQUENCE);
		r->has_nak = true;
		return;
	}
	if (p->begins && r->counts && r->posted == 0) {
		answer(r, RNR);
		r->has_nak = true;
		return;
	}
	r->posted -= p->begins && r->counts;
	r->expected++;
	r->msn += p->ends;
	r->has_nak = false;
	if (p->asks || chance(1, 10))
		answer(r, ACK);
}

static void post_receives(struct receiver *r)
{
	if (!r->counts || r->posted > 20)
		return;
	r->posted += 1 + below(4);
	if (chance(1, 2))
		answer(r, ACK);
}

/* ------------------------------------------------------------------ nodes */

static bool is_node(uint32_t child)
{
	return child >= RECEIVERS && child < RECEIVERS + NODES;
}

static bool is_receiver(uint32_t child)
{
	return child < RECEIVERS;
}

/* Whether a live receiver next to a node has not got a PSN yet. */
static bool is_lacking_here(const struct node *n, int64_t psn)
{
	for (uint32_t i = 0; i < BRANCHES; i++)
		if (n->states[i].state == MT_LIVE && is_receiver(n->child[i]) &&
		    g.receivers[n->child[i]].expected <= psn)
			return true;
	return false;
}

/* The same at or below a node: there are two levels of them. */
static bool is_lacking(const struct node *n, int64_t psn)
{
	for (uint32_t i = 0; i < BRANCHES; i++)
		if (n->states[i].state == MT_LIVE && is_node(n->child[i]) &&
		    is_lacking_here(&g.nodes[n->child[i] - RECEIVERS], psn))
			return true;
	return is_lacking_here(n, psn);
}

static void send_up(struct node *n, const struct mt_out *out)
{
	struct wire_packet p = {.is_answer = true, .answer = out->answer};
	bool is_ack = (out->answer.syndrome >> 5 & 3) == 0;

	if (!out->has_answer)
		return;
	int64_t acked = widen(out->answer.psn) - (is_ack ? 0 : 1);

	if (is_lacking(n, acked))
		fail_msg("seed %llu: PSN %lld is acknowledged, which a receiver lacks",
			 (unsigned long long)g.seed, (long long)(acked - g.start));
	/* MSNs are those of the same PSN: nobody has fewer. But what a receiver has beyond what
	 * passed since a restart counts as that, with the MSN that it said. */
	if (!g.restarts && psn24_gt(out->answer.msn, wire(messages(acked))))
		fail_msg("seed %llu: MSN %u at PSN %lld", (unsigned long long)g.seed,
			 out->answer.msn.v, (long long)(acked - g.start));
	put(&n->up, &p);
}

static void wake_receivers(struct node *n, const struct mt_branch_state *before, int64_t psn)
{
	for (uint32_t i = 0; i < BRANCHES; i++) {
		if (before[i].state != MT_WAITING || n->states[i].state != MT_LIVE)
			continue;
		struct receiver *r = &g.receivers[n->child[i]];

		r->is_member = true;
		r->expected = psn;
		r->msn = messages(psn - 1);
	}
}

static void node_down(struct node *n, const struct wire_packet *p)
{
	struct mt_data data = {wire(p->psn), p->begins, p->ends, p->asks, false};
	struct mt_branch_state before[BRANCHES];
	struct mt_out out;

	memcpy(before, n->states, sizeof before);
	enum mt_pass pass = mt_merge_down(&n->merge, &data, &out);

	wake_receivers(n, before, p->psn);
	for (uint32_t i = 0; i < BRANCHES && pass == MT_PASS; i++) {
		uint32_t child = n->child[i];

		if (!mt_merge_takes(&n->merge, i, data.psn))
			continue;
		put(is_receiver(child) ? &g.receivers[child].down
				       : &g.nodes[child - RECEIVERS].down,
		    p);
	}
	send_up(n, &out);
}

static void node_up(struct node *n, uint32_t branch, const struct wire_packet *p)
{
	struct mt_out out;

	mt_merge_answer(&n->merge, branch, &p->answer, &out);
	send_up(n, &out);
}

/* A node that lost all it knew (T-05). */
static void restart(struct node *n)
{
	struct mt_merge_cfg cfg = n->merge.cfg;

	cfg.has_start = false;
	mt_merge_init(&n->merge, &cfg, n->states);
	for (uint32_t i = 0; i < BRANCHES; i++) {
		uint32_t child = n->child[i];

		if (is_node(child) || (is_receiver(child) && g.receivers[child].is_member))
			assert_int_equal(mt_merge_join(&n->merge, i), 0);
	}
	n->down.n = n->up.n = 0;
}

/* ------------------------------------------------------------------ the source */

static bool may_send(void)
{
	uint32_t window = g.is_timid && g.timeouts > 0 ? 1 : g.window;

	if (g.next >= g.end || g.next >= g.una + window)
		return false;
	/* Without credits, what was sent before, or one packet to ask for them (IBTA 9.7.7.2). */
	return g.limit < 0 || messages(g.next - 1) < g.limit || g.next < g.sent || g.next == g.una;
}

static void source_send(void)
{
	struct wire_packet p = {.psn = g.next++};

	p.begins = p.psn == g.start || ends(p.psn - 1);
	p.ends = ends(p.psn);
	/* The last of what it may send asks, or nobody would have to answer. */
	p.asks = (p.ends && chance(1, g.every)) || !may_send();
	if (g.next > g.sent)
		g.sent = g.next;
	put(&g.nodes[0].down, &p);
}

static void source_answer(const struct mt_answer *a)
{
	uint8_t type = a->syndrome >> 5 & 3, value = a->syndrome & 31;
	int64_t psn = widen(a->psn), una = type == 0 ? psn + 1 : psn;

	if (una > g.una) {
		g.una = una;
		g.timeouts = 0;
	}
	if (g.next < g.una)
		g.next = g.una;
	if (type == 0)
		g.limit = value == AETH_NO_CREDITS ? -1 : (int64_t)(a->msn.v + aeth_credits(value));
	else if (psn == g.una && g.rewound != psn) {
		g.next = g.una;
		g.rewound = type == 1 ? -1 : psn;
	}
}

static void source_timeout(void)
{
	g.timeouts++;
	g.next = g.una;
	g.rewound = -1;
	if (!is_lossy() && g.timeouts > PATIENCE)
		fail_msg("seed %llu: hangs at PSN %lld of %lld, sent %lld%s%s%s",
			 (unsigned long long)g.seed, (long long)(g.una - g.start),
			 (long long)(g.end - g.start), (long long)(g.sent - g.start),
			 g.restarts ? ", nodes restarted" : "", g.leaves ? ", members left" : "",
			 g.joins ? ", members came late" : "");
}

/* ------------------------------------------------------------------ a run */

/* Delivers one packet of a random link that has one; false: all are empty. */
static bool deliver(void)
{
	struct link *links[2 * (NODES + RECEIVERS)];
	uint32_t n = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		links[n++] = &g.nodes[i].down;
		links[n++] = &g.nodes[i].up;
	}
	for (uint32_t i = 0; i < g.n_receivers; i++) {
		links[n++] = &g.receivers[i].down;
		links[n++] = &g.receivers[i].up;
	}
	uint32_t first = below(n);
	struct link *l = NULL;

	for (uint32_t i = 0; i < n && !l; i++)
		l = links[(first + i) % n]->n ? links[(first + i) % n] : NULL;
	if (!l)
		return false;
	struct wire_packet p = take(l);

	for (uint32_t i = 0; i < NODES; i++) {
		struct node *node = &g.nodes[i];

		if (l == &node->down)
			node_down(node, &p);
		if (l == &node->up && i == 0)
			source_answer(&p.answer);
		for (uint32_t b = 0; b < BRANCHES; b++) {
			uint32_t child = node->child[b];

			if ((is_receiver(child) && l == &g.receivers[child].up) ||
			    (is_node(child) && l == &g.nodes[child - RECEIVERS].up))
				node_up(node, b, &p);
		}
	}
	for (uint32_t i = 0; i < g.n_receivers; i++) {
		if (l == &g.receivers[i].down)
			receive(&g.receivers[i], &p);
	}
	return true;
}

/* Someone comes or goes, or a node forgets: branch 0 of each node stays. */
static void change(void)
{
	struct node *n = &g.nodes[below(NODES)];
	uint32_t branch = 1 + below(BRANCHES - 1), child = n->child[branch];
	struct mt_out out;

	if (g.restarts && chance(1, 300))
		restart(n);
	if (!is_receiver(child))
		return;
	struct receiver *r = &g.receivers[child];

	if (g.leaves && n->states[branch].state == MT_LIVE && chance(1, 60)) {
		r->is_member = false;
		assert_int_equal(mt_merge_leave(&n->merge, branch, &out), 0);
		send_up(n, &out);
	} else if (g.joins && n->states[branch].state == MT_FREE && chance(1, 20)) {
		r->up.n = r->down.n = 0;
		r->has_nak = false;
		assert_int_equal(mt_merge_join(&n->merge, branch), 0);
		r->is_member = n->states[branch].state == MT_LIVE;
		r->expected = g.start;
		r->msn = 0;
	}
}

static void start_node(uint32_t number)
{
	struct node *n = &g.nodes[number];
	struct mt_merge_cfg cfg = {.n_branches = BRANCHES,
				   .has_start = !g.restarts,
				   .start = wire(g.start),
				   .is_first = number == 0,
				   .as_printed = g.as_printed};

	mt_merge_init(&n->merge, &cfg, n->states);
	for (uint32_t i = 0; i < BRANCHES; i++) {
		n->child[i] = UINT32_MAX;
		if (number == 0 && i > 0 && i < NODES) {
			n->child[i] = RECEIVERS + i;
		} else {
			struct receiver *r = &g.receivers[g.n_receivers];

			r->is_member = i == 0 || chance(3, 4);
			r->counts = chance(1, 4);
			r->posted = 4;
			r->answers_repeats = chance(1, 2);
			r->expected = g.start;
			n->child[i] = g.n_receivers++;
			if (!r->is_member)
				continue;
		}
		assert_int_equal(mt_merge_join(&n->merge, i), 0);
	}
}

static void start(uint64_t seed)
{
	memset(&g, 0, sizeof g);
	g.seed = seed;
	prng_init(&g.p, seed, 0);
	g.start = (INT64_C(1) << 24) + (chance(1, 2) ? -(int64_t)below(100) : below(1 << 24));
	g.end = g.start + 50 + below(200);
	g.una = g.next = g.sent = g.start;
	g.limit = g.rewound = -1;
	g.window = 1 + below(60);
	g.every = 1 + below(4);
	g.loss = below(4) ? below(200) : 0;
	g.budget = 20000;
	g.as_printed = chance(1, 4);
	g.restarts = chance(1, 4);
	g.is_timid = chance(1, 2);
	g.leaves = !g.restarts && chance(1, 3);
	g.joins = !g.restarts && chance(1, 3);
	for (uint32_t i = 0; i < NODES; i++)
		start_node(i);
}

static void one_group(void)
{
	while (g.una < g.end) {
		if (g.budget > 0 && --g.budget > 0)
			change();
		if (chance(1, 3))
			post_receives(&g.receivers[below(g.n_receivers)]);
		if (may_send() && chance(1, 2))
			source_send();
		else if (!deliver() && !may_send())
			source_timeout();
	}
}

static void arrives(void **state)
{
	(void)state;
	uint64_t seed = check_seed(1);

	for (uint32_t i = 0; i < SEEDS; i++) {
		start(seed + i);
		one_group();
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(arrives),
};

CHECK_MAIN(cases)
