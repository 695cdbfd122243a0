/* Trees of nodes between a source that goes back N and receivers that know nothing of it: links
 * lose and reorder in both directions, receivers coalesce, run out of receives, come, go and die.
 * Whatever reaches the source is held against what the receivers really have. */
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "fwd/mt_merge.h"
#include "wire/aeth.h"
#include "wire/roce.h"

#define FAN       4u
#define NODES     21u
#define RECEIVERS (NODES * FAN)
#define PACKETS   400
#define TICKS     16u /* longest delay of a link, and more */
#define TIMEOUT   64u
#define HEALED    3000u
#define MOST      (HEALED + 60 * TIMEOUT)
#define SOURCE    UINT32_MAX

struct pkt {
	uint32_t to; /* node; receivers behind them; SOURCE */
	uint32_t branch;
	bool is_data, asks;
	int64_t n;
	struct mt_answer answer;
};

struct bucket {
	struct pkt *pkts;
	uint32_t n, room;
};

struct node {
	struct mt_merge m;
	struct mt_branch_state branches[FAN];
	uint32_t child[FAN], n_children, parent, branch, levels;
};

struct receiver {
	uint32_t parent, branch;
	int64_t next; /* PSN that it expects */
	bool is_member, is_late, is_dead, has_nak, counts;
	uint32_t coalesce, held; /* ACKs for so many packets; so many came since the last */
	int64_t posted, keeps;   /* receives; posts so many anew, 0: now and then */
	uint32_t acks;
};

struct source {
	int64_t una, next, high, rewound, limit;
	bool is_limited, has_failed;
	uint32_t quiet, wait, window, ask_every;
	uint32_t acks, naks;
};

struct world {
	uint64_t seed;
	struct prng p;
	struct mt_merge_cfg cfg;
	uint32_t tick, loss, rnr; /* of 1,000 */
	uint32_t delay;           /* ticks, up to */
	bool is_calm, has_churn, has_deaths;
	psn24 base, msn_base;
	bool ends[PACKETS];
	int64_t messages[PACKETS + 1]; /* that ended before */
	struct bucket wheel[TICKS];
	struct node nodes[NODES];
	struct receiver receivers[RECEIVERS];
	uint32_t n_nodes, n_receivers;
	struct source source;
};

static psn24 psn_of(const struct world *w, int64_t n)
{
	return psn24_add(w->base, (int32_t)n);
}

static bool draw(struct world *w, uint32_t of_1000)
{
	return prng_chance(&w->p, of_1000, 1000);
}

static void carry(struct world *w, const struct pkt *pkt)
{
	uint32_t late = 1 + (uint32_t)prng_below(&w->p, w->delay);
	struct bucket *b = &w->wheel[(w->tick + late) % TICKS];

	if (draw(w, w->loss))
		return;
	if (b->n == b->room) {
		b->room = b->room ? 2 * b->room : 64;
		b->pkts = realloc(b->pkts, b->room * sizeof *b->pkts);
		assert_non_null(b->pkts);
	}
	b->pkts[b->n++] = *pkt;
}

static void send_up(struct world *w, uint32_t parent, uint32_t branch,
		    const struct mt_answer *answer)
{
	carry(w, &(struct pkt){.to = parent, .branch = branch, .answer = *answer});
}

static void forward_up(struct world *w, const struct node *node, const struct mt_out *out)
{
	if (out->has_answer)
		send_up(w, node->parent, node->branch, &out->answer);
}

/* Nobody behind the branch counts any more. */
static void give_up(struct world *w, const struct node *node, uint32_t branch)
{
	uint32_t child = node->child[branch];

	if (child >= NODES) {
		w->receivers[child - NODES].is_member = false;
		return;
	}
	for (uint32_t i = 0; i < w->n_receivers; i++) {
		uint32_t at = w->receivers[i].parent;

		while (at != child && at != 0)
			at = w->nodes[at].parent;
		w->receivers[i].is_member &= at != child;
	}
}

static void fetch_events(struct world *w, struct node *node, int64_t n)
{
	enum mt_event event;
	uint32_t branch;

	while (mt_merge_event(&node->m, &branch, &event)) {
		if (event == MT_EVENT_EJECTED)
			give_up(w, node, branch);
		if (event != MT_EVENT_LIVE)
			continue;
		struct receiver *r = &w->receivers[node->child[branch] - NODES];

		assert_true(psn24_eq(node->branches[branch].first, psn_of(w, n)));
		r->is_member = r->is_late = true;
		r->next = n;
		r->posted = r->posted > w->messages[n] ? r->posted : w->messages[n];
	}
}

static void node_down(struct world *w, uint32_t at, const struct pkt *pkt)
{
	struct node *node = &w->nodes[at];
	const struct mt_data data = {
		.psn = psn_of(w, pkt->n),
		.begins = pkt->n == 0 || w->ends[pkt->n - 1],
		.ends = w->ends[pkt->n],
		.asks = pkt->asks,
	};
	struct mt_out out;
	enum mt_pass pass = mt_merge_down(&node->m, &data, &out);

	fetch_events(w, node, pkt->n);
	forward_up(w, node, &out);
	for (uint32_t i = 0; i < node->n_children && pass == MT_PASS; i++) {
		struct pkt copy = *pkt;

		copy.to = node->child[i];
		if (mt_merge_takes(&node->m, i, data.psn))
			carry(w, &copy);
	}
}

static void node_up(struct world *w, const struct pkt *pkt)
{
	struct node *node = &w->nodes[pkt->to];
	struct mt_out out;

	mt_merge_answer(&node->m, pkt->branch, &pkt->answer, &out);
	fetch_events(w, node, 0);
	forward_up(w, node, &out);
}

static void answer_with(struct world *w, struct receiver *r, uint8_t syndrome, psn24 psn)
{
	const struct mt_answer answer = {
		.psn = psn,
		.syndrome = syndrome,
		.msn = psn24_add(w->msn_base, (int32_t)w->messages[r->next]),
	};

	send_up(w, r->parent, r->branch, &answer);
}

static void receiver_ack(struct world *w, struct receiver *r)
{
	int64_t left = r->posted - w->messages[r->next];
	uint8_t code =
		r->counts ? aeth_credit_code(left > 0 ? (uint32_t)left : 0) : AETH_NO_CREDITS;

	r->acks++;
	answer_with(w, r, aeth_syndrome(AETH_ACK, code), psn_of(w, r->next - 1));
}

static void receive(struct world *w, struct receiver *r, const struct pkt *pkt)
{
	if (r->is_dead || !r->is_member)
		return;
	if (pkt->n < r->next) {
		receiver_ack(w, r);
		return;
	}
	if (pkt->n > r->next) {
		if (!r->has_nak)
			answer_with(w, r, aeth_syndrome(AETH_NAK, AETH_NAK_SEQUENCE),
				    psn_of(w, r->next));
		r->has_nak = true;
		return;
	}
	r->has_nak = false;
	if (draw(w, w->rnr) || (r->counts && r->posted <= w->messages[r->next])) {
		/* Whoever does not count may have none too. */
		answer_with(w, r, aeth_syndrome(AETH_RNR_NAK, (uint8_t)prng_below(&w->p, 32)),
			    psn_of(w, r->next));
		return;
	}
	r->next++;
	if (r->keeps)
		r->posted = w->messages[r->next] + r->keeps;
	r->held = (r->held + 1) % r->coalesce;
	if (r->held == 0 || pkt->asks)
		receiver_ack(w, r);
}

/* What reaches the source holds for every receiver: draft 5.3.1, 5.3.2. */
static void check_answer(const struct world *w, const struct mt_answer *a, int64_t acked)
{
	const bool is_ack = a->syndrome >> 5 == AETH_ACK;
	int64_t msn = psn24_dist(w->msn_base, a->msn);
	int64_t limit = msn + (is_ack ? aeth_credits(a->syndrome & 0x1f) : 0);

	for (uint32_t i = 0; i < w->n_receivers; i++) {
		const struct receiver *r = &w->receivers[i];

		if (!r->is_member)
			continue;
		if (acked >= r->next)
			fail_msg("seed 0x%llx: %lld goes up, receiver %u expects %lld",
				 (unsigned long long)w->seed, (long long)acked, i,
				 (long long)r->next);
		if (msn > w->messages[r->next])
			fail_msg("seed 0x%llx: MSN %lld goes up, receiver %u has %lld",
				 (unsigned long long)w->seed, (long long)msn, i,
				 (long long)w->messages[r->next]);
		/* Nodes above learn of a late one with its first answer. */
		if (limit > r->posted && r->counts && !r->is_late)
			fail_msg("seed 0x%llx: %lld receives go up, receiver %u has %lld",
				 (unsigned long long)w->seed, (long long)limit, i,
				 (long long)r->posted);
	}
}

static void source_input(struct world *w, const struct mt_answer *a)
{
	struct source *s = &w->source;
	const uint8_t type = a->syndrome >> 5, code = a->syndrome & 0x1f;
	int64_t acked = s->una + psn24_diff(a->psn, psn_of(w, s->una)) - (type != AETH_ACK);

	check_answer(w, a, acked);
	s->acks += type == AETH_ACK;
	s->naks += type != AETH_ACK;
	if (type == AETH_NAK && code != AETH_NAK_SEQUENCE)
		s->has_failed = true;
	if (acked + 1 < s->una)
		return;
	if (acked + 1 > s->una)
		s->quiet = 0;
	s->una = acked + 1;
	s->next = s->next < s->una ? s->una : s->next;
	if (type == AETH_ACK) {
		s->is_limited = code != AETH_NO_CREDITS;
		s->limit = psn24_dist(w->msn_base, a->msn) + aeth_credits(code);
		return;
	}
	if (type == AETH_RNR_NAK)
		s->wait = 8;
	if (type == AETH_RNR_NAK || s->rewound != s->una)
		s->next = s->una;
	s->rewound = s->una;
}

/* Beyond its credits it sends one packet, when all else is done, so that it learns of more. */
static bool has_credits(const struct world *w)
{
	const struct source *s = &w->source;

	return !s->is_limited || w->messages[s->next] < s->limit || s->next < s->high ||
	       (s->next == s->una && s->quiet > TIMEOUT);
}

static bool source_may_send(const struct world *w)
{
	const struct source *s = &w->source;

	return s->next < PACKETS && s->next < s->una + s->window && s->wait == 0 && has_credits(w);
}

static void source_turn(struct world *w)
{
	struct source *s = &w->source;

	s->wait -= s->wait > 0;
	s->quiet = s->next > s->una || s->is_limited ? s->quiet + 1 : 0;
	if (s->quiet > TIMEOUT && s->next > s->una) {
		s->next = s->una;
		s->quiet = 0;
	}
	for (unsigned i = 0; i < 4 && source_may_send(w); i++) {
		const int64_t n = s->next++;
		const struct pkt pkt = {
			.to = 0,
			.is_data = true,
			.n = n,
			.asks = n % s->ask_every == s->ask_every - 1 || n == PACKETS - 1 ||
				!source_may_send(w),
		};

		s->high = s->high > s->next ? s->high : s->next;
		carry(w, &pkt);
	}
}

static void deliver(struct world *w)
{
	struct bucket *b = &w->wheel[w->tick % TICKS];

	for (uint32_t i = 0; i < b->n; i++) {
		const struct pkt pkt = b->pkts[i];

		if (pkt.to == SOURCE)
			source_input(w, &pkt.answer);
		else if (pkt.to >= NODES)
			receive(w, &w->receivers[pkt.to - NODES], &pkt);
		else if (pkt.is_data)
			node_down(w, pkt.to, &pkt);
		else
			node_up(w, &pkt);
	}
	b->n = 0;
}

/* Posts receives, and now and then lets somebody leave or die. */
static void disturb(struct world *w)
{
	struct receiver *r = &w->receivers[prng_below(&w->p, w->n_receivers)];
	struct node *node = &w->nodes[r->parent];
	struct mt_out out;

	if (!r->is_member)
		return;
	if (r->counts && !r->is_dead) {
		r->posted += w->tick > HEALED ? PACKETS : (int64_t)prng_below(&w->p, 32);
		if (r->next > 0 && (draw(w, 300) || w->tick > HEALED))
			receiver_ack(w, r);
	}
	if (w->tick > HEALED)
		return;
	if (w->has_deaths && draw(w, 4))
		r->is_dead = true;
	if (!w->has_churn || !draw(w, 10) || node->m.n_live < 2)
		return;
	r->is_member = false;
	assert_int_equal(mt_merge_leave(&node->m, r->branch, &out), 0);
	fetch_events(w, node, 0);
	forward_up(w, node, &out);
	if (w->cfg.has_start && draw(w, 500)) {
		r->has_nak = false;
		r->held = 0;
		mt_merge_join(&node->m, r->branch);
	}
}

static void add_receiver(struct world *w, uint32_t parent, uint32_t branch)
{
	struct receiver *r = &w->receivers[w->n_receivers];

	*r = (struct receiver){
		.parent = parent,
		.branch = branch,
		.is_member = true,
		.counts = draw(w, 300),
		.coalesce = 1 + (uint32_t)prng_below(&w->p, 8),
		.posted = (int64_t)prng_below(&w->p, 16),
	};
	r->held = (uint32_t)prng_below(&w->p, r->coalesce);
	w->nodes[parent].child[branch] = NODES + w->n_receivers++;
}

static uint32_t add_node(struct world *w, uint32_t parent, uint32_t branch, uint32_t levels)
{
	struct node *node = &w->nodes[w->n_nodes];
	struct mt_merge_cfg cfg = w->cfg;

	node->parent = parent;
	node->branch = branch;
	node->levels = levels;
	node->n_children = 1 + (uint32_t)prng_below(&w->p, FAN);
	cfg.n_branches = node->n_children;
	cfg.is_first = parent == SOURCE;
	/* Below, who is dead must be given up first, or a whole branch is for its sake. */
	cfg.silent_after = (uint8_t)(2 + 2 * levels);
	mt_merge_init(&node->m, &cfg, node->branches);
	for (uint32_t i = 0; i < node->n_children; i++)
		assert_int_equal(mt_merge_join(&node->m, i), 0);
	return w->n_nodes++;
}

/* Level by level; where there is no room for a node, there is a receiver. */
static void grow_tree(struct world *w, uint32_t levels)
{
	add_node(w, SOURCE, 0, levels);
	for (uint32_t at = 0; at < w->n_nodes; at++) {
		struct node *node = &w->nodes[at];

		for (uint32_t i = 0; i < node->n_children; i++)
			if (node->levels > 1 && w->n_nodes < NODES)
				node->child[i] = add_node(w, at, i, node->levels - 1);
			else
				add_receiver(w, at, i);
	}
}

static void make_world(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof *w);
	w->seed = seed;
	prng_init(&w->p, seed, 0);
	w->base = psn24_of(prng_chance(&w->p, 1, 2) ? prng_u32(&w->p) : 0xffffffu - PACKETS / 2);
	w->cfg.has_start = draw(w, 500);
	w->cfg.start = w->base;
	w->msn_base = psn24_of(w->cfg.has_start ? 0 : prng_u32(&w->p));
	w->cfg.as_printed = draw(w, 200);
	w->cfg.ejects = draw(w, 200);
	w->has_deaths = w->cfg.ejects && draw(w, 500);
	w->has_churn = draw(w, 500);
	w->loss = (uint32_t)prng_below(&w->p, 80);
	w->rnr = draw(w, 500) ? (uint32_t)prng_below(&w->p, 30) : 0;
	w->delay = draw(w, 500) ? 1 + (uint32_t)prng_below(&w->p, 6) : 1;
	w->source = (struct source){
		.rewound = -1,
		.window = 1 + (uint32_t)prng_below(&w->p, 48),
		.ask_every = 1 + (uint32_t)prng_below(&w->p, 32),
	};
	for (int64_t n = 0; n < PACKETS; n++) {
		w->ends[n] = n == PACKETS - 1 || draw(w, 400);
		w->messages[n + 1] = w->messages[n] + w->ends[n];
	}
	grow_tree(w, 1 + (uint32_t)prng_below(&w->p, 3));
}

static void end_world(struct world *w)
{
	for (uint32_t i = 0; i < TICKS; i++)
		free(w->wheel[i].pkts);
}

static bool has_members(const struct world *w)
{
	for (uint32_t i = 0; i < w->n_receivers; i++)
		if (w->receivers[i].is_member)
			return true;
	return false;
}

/* Answers of honest receivers are never beyond what passed, nor of no known kind. */
static void check_fates(const struct world *w)
{
	for (uint32_t i = 0; i < w->n_nodes; i++) {
		const uint64_t *fates = w->nodes[i].m.counts.fates;

		if (fates[MT_BEYOND] + fates[MT_INVALID] > 0)
			fail_msg("seed 0x%llx: node %u counts answers that cannot be",
				 (unsigned long long)w->seed, i);
	}
}

/* A node that knows no PSN to say so leaves the source to its timeouts. */
static bool has_failed(const struct world *w)
{
	return w->source.has_failed || w->nodes[0].m.is_over;
}

static void run_ticks(struct world *w)
{
	while (w->source.una < PACKETS && !has_failed(w) && w->tick < MOST) {
		w->tick++;
		if (w->tick == HEALED) {
			w->loss = w->rnr = 0;
			w->delay = 1;
		}
		deliver(w);
		if (w->tick % 8 == 0 && !w->is_calm)
			disturb(w);
		source_turn(w);
	}
	check_fates(w);
	/* A group fails only by having nobody left. */
	if (has_failed(w) && has_members(w))
		fail_msg("seed 0x%llx: failed", (unsigned long long)w->seed);
	if (w->source.una < PACKETS && !has_failed(w))
		fail_msg("seed 0x%llx: stuck at %lld, sent %lld", (unsigned long long)w->seed,
			 (long long)w->source.una, (long long)w->source.next);
	end_world(w);
}

static void whatever_reaches_the_source_holds(void **state)
{
	const uint64_t seed = check_seed(0x3e96e);
	struct world *w = malloc(sizeof *w);
	uint64_t failed = 0;

	(void)state;
	assert_non_null(w);
	for (uint64_t i = 0; i < 400; i++) {
		make_world(w, seed + i);
		run_ticks(w);
		failed += has_failed(w);
	}
	assert_in_range(failed, 0, 40);
	free(w);
}

struct phases {
	uint32_t levels, ask_every, message; /* packets */
	int64_t keeps;                       /* receives; 0: does not count */
};

/* A tree without loss, its receivers coalescing each in its own phase. */
static void run_lossless(struct world *w, uint64_t seed, const struct phases *how)
{
	memset(w, 0, sizeof *w);
	w->seed = seed;
	prng_init(&w->p, seed, 1);
	w->is_calm = true;
	w->delay = 1;
	w->cfg.has_start = true;
	w->source = (struct source){.rewound = -1, .window = 128, .ask_every = how->ask_every};
	for (int64_t n = 0; n < PACKETS; n++) {
		w->ends[n] = n % how->message == how->message - 1;
		w->messages[n + 1] = w->messages[n] + w->ends[n];
	}
	grow_tree(w, how->levels);
	for (uint32_t i = 0; i < w->n_receivers; i++) {
		struct receiver *r = &w->receivers[i];

		r->coalesce = 16;
		r->held = i % 16;
		r->counts = how->keeps > 0;
		r->posted = r->keeps = how->keeps;
	}
	run_ticks(w);
	assert_int_equal(w->source.naks, 0);
}

/* T-34: ACKs of receivers in many phases must not each go up, nor rises of their credits. */
static void receivers_out_of_phase_cost_no_acks(void **state)
{
	const uint64_t seed = check_seed(0x3e96f);
	struct world *w = malloc(sizeof *w);

	(void)state;
	assert_non_null(w);
	for (uint64_t i = 0; i < 120; i++) {
		const struct phases how = {
			.levels = 1 + (uint32_t)i % 3,
			.ask_every = i / 3 % 2 ? 16 : 64,
			.keeps = i / 6 % 2 ? 64 : 0,
			.message = i / 12 % 2 ? 1 : 4,
		};

		run_lossless(w, seed + i, &how);
		/* The first receiver is in phase with what asks: it has no ACK more than needed. */
		assert_in_range(w->source.acks, 1, w->receivers[0].acks * 11 / 10);
	}
	free(w);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(whatever_reaches_the_source_holds),
	cmocka_unit_test(receivers_out_of_phase_cost_no_acks),
};

CHECK_MAIN(cases)
