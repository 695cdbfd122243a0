#include "plan_mrc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "expand.h"
#include "odd_mrc.h"

#define UNIT_NS      UINT64_C(1024) /* of timeouts (Table 7-1) */
#define CODE_MOST    24u
#define ENOUGH_WORDS 1024u
#define PENALTY_MOST 127u
#define CHANGES_EACH 10u
#define TURNS_EACH   3u

enum { STREAM_MRC = 200 };

nsec plan_mrc_silence_ns(const struct plan_mrc_end *end, uint32_t i)
{
	uint32_t code = end->timeout + (i > end->linear ? i - end->linear : 0);

	return UNIT_NS << (code < CODE_MOST ? code : CODE_MOST);
}

nsec plan_mrc_give_up_ns(const struct plan_mrc_end *end, nsec faults)
{
	nsec sum = 0;

	if (end->exponential == PLAN_MRC_ENDLESS)
		return 4 * faults + 8 * plan_mrc_silence_ns(end, 0);
	for (uint32_t i = 0; i <= (uint32_t)end->linear + end->exponential; i++)
		sum += plan_mrc_silence_ns(end, i);
	return sum;
}

/* 0 is the engine's own default where it has one. */
static void draw_host(const struct hunt_plan *s, struct prng *p, struct plan_mrc_host *h)
{
	/* What a forged packet holds nobody knows. */
	bool may_lack = !s->has_forgery;

	*h = (struct plan_mrc_host){
		.max_out =
			may_lack && prng_chance(p, 1, 3) ? hunt_draw(p, 64, 512) : PLAN_MRC_PLENTY,
		.max_early =
			may_lack && prng_chance(p, 1, 3) ? hunt_draw(p, 1, 512) : PLAN_MRC_PLENTY,
		.max_answers = may_lack && prng_chance(p, 1, 4) ? hunt_draw(p, 1, 4) : ENOUGH_WORDS,
		.sack_every = prng_chance(p, 1, 2) ? 16384 : hunt_draw(p, 1, 65536),
		.sack_least = prng_chance(p, 1, 2) ? 1024 : hunt_draw(p, 1, 4096),
		.pkey = (uint16_t)(prng_chance(p, 1, 2) ? 0xffff : hunt_draw(p, 1, 0xfffe)),
		.first_msn = (uint16_t)(prng_chance(p, 1, 2) ? 0xffff - hunt_draw(p, 0, 20)
							     : hunt_draw(p, 0, 0xffff)),
		.has_service_time = prng_chance(p, 1, 2),
		.has_trim_nack = prng_chance(p, 1, 2),
	};
}

static int by_port(const void *a, const void *b)
{
	const struct path_ev *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* EVs leave by all ports or by some, each with an entropy of its own, or nearly. */
static void draw_evs(const struct hunt_plan *s, struct prng *p, struct plan_mrc_evs *w)
{
	uint32_t ports = s->shape.nic_ports, first = hunt_draw(p, 0, ports - 1);
	uint64_t seed = prng_u64(p);

	w->n = prng_chance(p, 1, 3) ? hunt_draw(p, 1, 8) : hunt_draw(p, 1, PLAN_MRC_EVS);
	if (prng_chance(p, 1, 3))
		ports = hunt_draw(p, 1, ports);
	for (uint32_t i = 0; i < w->n; i++)
		w->evs[i] = (struct path_ev){
			.value = routing_entropy(&s->routing, seed + i % ports, i / ports),
			.port = (first + i % ports) % s->shape.nic_ports,
		};
	qsort(w->evs, w->n, sizeof w->evs[0], by_port);
}

static bool is_flawed(const struct hunt_plan *s, uint32_t end)
{
	for (uint32_t i = 0; i < s->ends[end].n_works; i++)
		if (s->works[s->ends[end].first_work + i].flaw != HUNT_SOUND)
			return true;
	return false;
}

static bool has_fault(const struct hunt_plan *s, enum fault_kind kind)
{
	for (uint32_t i = 0; i < s->n_faults; i++)
		if (s->faults[i].kind == kind)
			return true;
	return false;
}

static void draw_end(const struct hunt_plan *s, struct prng *p, uint32_t i, struct plan_mrc_end *e)
{
	bool is_calm = s->n_faults == 0;

	draw_evs(s, p, &e->evs[0]);
	draw_evs(s, p, &e->evs[1]);
	/* hunt_timeout_ns counts in 4.096 us. */
	e->timeout = (uint8_t)(s->ends[i].timeout + 2);
	e->linear = (uint8_t)(is_calm ? 7 : hunt_draw(p, 0, 7));
	e->exponential = (uint8_t)(is_calm ? 4 : hunt_draw(p, 0, 4));
	e->max_mpr = (uint8_t)hunt_draw(p, 1, prng_chance(p, s->is_long ? 5 : 3, 6) ? 4 : 255);
	e->mpr = (uint8_t)hunt_draw(p, 1, e->max_mpr);
	e->max_wimm = (uint16_t)(prng_chance(p, 1, s->is_long ? 4 : 2) ? hunt_draw(p, 0, 4)
								       : hunt_draw(p, 5, 100));
	e->penalty = (uint8_t)(prng_chance(p, 1, 2) ? 0 : hunt_draw(p, 1, PENALTY_MOST));
	e->has_stamps = prng_chance(p, 2, 3);
	e->is_trimmable = prng_chance(p, 3, 4);
	e->is_restoring = prng_chance(p, 1, 2);
}

/* What the two ends of a connection know of each other, and whether they try without end: only
 * where nobody dies. */
static void draw_pair(struct hunt_plan *s, struct prng *p, struct plan_mrc_end *pair,
		      uint32_t first)
{
	bool is_dynamic = prng_chance(p, s->is_long ? 3 : 2, 4), is_endless = prng_chance(p, 1, 3);

	for (uint32_t i = 0; i < 2; i++) {
		struct plan_mrc_end *e = &pair[i], *peer = &pair[i ^ 1];

		e->is_dynamic = is_dynamic;
		/* 0: one at a time, when all before it has arrived (M-61). Others were told wrong,
		 * and the peer refuses what it has no room for. */
		if (peer->max_wimm > 0 && prng_chance(p, 7, 8))
			e->wimm_dest = (uint16_t)hunt_draw(p, 1, peer->max_wimm);
		else
			e->wimm_dest = (first + i) % 3 ? UINT16_MAX : 0;
		is_endless &= e->wimm_dest <= peer->max_wimm && !is_flawed(s, first + i);
	}
	if (is_endless && !s->has_forgery && !has_fault(s, FAULT_RESTART))
		pair[0].exponential = pair[1].exponential = PLAN_MRC_ENDLESS;
}

void plan_mrc_add(struct hunt_plan *s, const struct plan_mrc_change *change)
{
	struct plan_mrc *m = s->own;

	if (m->n_changes == PLAN_MRC_CHANGES)
		return;
	m->changes[m->n_changes] = *change;
	m->changes[m->n_changes].order = m->n_changes;
	m->n_changes++;
	if (change->at > s->healed_at)
		s->healed_at = change->at;
}

/* Most work is done early, and where many packets are out a range that jumps to and fro meets
 * them. */
static void draw_resizes(struct hunt_plan *s, struct prng *p)
{
	const struct plan_mrc *m = s->own;

	for (uint32_t e = 0; e < s->n_ends; e++) {
		uint32_t most = (s->is_long ? 4 : 1) * CHANGES_EACH;
		uint32_t n = m->ends[e].is_dynamic ? hunt_draw(p, 0, most) : 0;
		uint32_t gap = s->is_long || prng_chance(p, 1, 2) ? 5000 : 50000;
		psec at = 0;

		for (uint32_t i = 0; i < n; i++) {
			at += hunt_draw(p, 0, gap) * PSEC_NS;
			plan_mrc_add(s,
				     &(struct plan_mrc_change){
					     .end = e,
					     .at = at,
					     .mpr = (uint8_t)hunt_draw(p, 1, m->ends[e].max_mpr)});
		}
	}
}

/* Now and then other EVs, and a pause between messages. */
static void draw_turns(struct hunt_plan *s, struct prng *p)
{
	for (uint32_t e = 0; e < s->n_ends; e++) {
		struct plan_mrc_change c = {.end = e, .what = PLAN_MRC_TURN};
		uint32_t n = prng_chance(p, 1, 4) ? hunt_draw(p, 1, TURNS_EACH) : 0;

		for (uint32_t i = 0; i < n; i++) {
			c.at += hunt_draw(p, 0, 50000) * PSEC_NS;
			plan_mrc_add(s, &c);
		}
		c = (struct plan_mrc_change){.end = e};
		n = prng_chance(p, 1, 6) ? hunt_draw(p, 1, TURNS_EACH) : 0;
		for (uint32_t i = 0; i < 2 * n; i++) {
			c.at += hunt_draw(p, 0, 30000) * PSEC_NS;
			c.what = i % 2 == 0 ? PLAN_MRC_DRAIN : PLAN_MRC_GO;
			plan_mrc_add(s, &c);
		}
	}
}

static int by_time(const void *a, const void *b)
{
	const struct plan_mrc_change *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

int plan_mrc_draw(struct hunt_plan *s)
{
	struct plan_mrc *m = calloc(1, sizeof *m);
	struct prng p;

	if (!m)
		return -ENOMEM;
	s->own = m;
	prng_init(&p, s->seed, STREAM_MRC);
	for (uint32_t h = 0; h < s->topology.n_hosts; h++)
		draw_host(s, &p, &m->hosts[h]);
	for (uint32_t e = 0; e < s->n_ends; e++)
		draw_end(s, &p, e, &m->ends[e]);
	for (uint32_t e = 0; e < s->n_ends; e += 2)
		draw_pair(s, &p, &m->ends[e], e);
	draw_turns(s, &p);
	draw_resizes(s, &p);
	plan_mrc_draw_evs(s);
	odd_mrc_draw(s);
	qsort(m->changes, m->n_changes, sizeof m->changes[0], by_time);
	return 0;
}

static void print_changes(const struct plan_mrc *m, uint32_t end)
{
	static const char *const whats[] = {"range",     "other EVs", "drains",       "goes on",
					    "denies EV", "allows EV", "denies ports", "ports down"};

	for (uint32_t i = 0; i < m->n_changes; i++) {
		const struct plan_mrc_change *c = &m->changes[i];

		if (c->end != end)
			continue;
		printf("    %s", whats[c->what]);
		if (c->what == PLAN_MRC_RESIZE)
			printf(" %u", c->mpr);
		if (c->what == PLAN_MRC_DENY || c->what == PLAN_MRC_ALLOW)
			printf(" %u", c->ev);
		if (c->what == PLAN_MRC_PORTS || c->what == PLAN_MRC_DOWN)
			printf(" %02x", c->ports);
		printf(" at %.3f us\n", (double)c->at / PSEC_US);
	}
}

void plan_mrc_print(const struct hunt_plan *s, uint32_t end)
{
	const struct plan_mrc *m = plan_mrc(s);
	const struct plan_mrc_end *e = &m->ends[end];
	const struct plan_mrc_host *h = &m->hosts[s->ends[end].host];

	printf("    %u EVs, then %u; timeout %.1f us, %u linear and %u exponential retries; range "
	       "%u of "
	       "%u%s; %u immediates kept, %u sent\n",
	       e->evs[0].n, e->evs[1].n, (double)plan_mrc_silence_ns(e, 0) / 1000, e->linear,
	       e->exponential, e->mpr, e->max_mpr, e->is_dynamic ? ", dynamic" : "", e->max_wimm,
	       e->wimm_dest);
	printf("    %stimestamps, %strimmable, penalty %u%s; its host has room for %u packets out, "
	       "%u early, %u answers; a SACK for %u bytes, a packet counts %u; first MSN %u%s%s\n",
	       e->has_stamps ? "" : "no ", e->is_trimmable ? "" : "not ", e->penalty,
	       e->is_restoring ? " restored" : "", h->max_out, h->max_early, h->max_answers,
	       h->sack_every, h->sack_least, h->first_msn,
	       h->has_service_time ? ", service time" : "", h->has_trim_nack ? ", trim NACKs" : "");
	plan_mrc_print_evs(s, end);
	odd_mrc_print(s, s->ends[end].host);
	print_changes(m, end);
}
