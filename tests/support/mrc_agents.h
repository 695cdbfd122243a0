/* Both ends of an MRC stage post works at random times, over a wire that does everything wrong by a
 * seed, and hold what completes against what was posted: each work once and in the order of its
 * queue pair, its bytes placed before anybody is told of it, and those of all before it where
 * immediate data tells (Table 6-13). */
#ifndef WEFT_TESTS_SUPPORT_MRC_AGENTS_H
#define WEFT_TESTS_SUPPORT_MRC_AGENTS_H

#include "mrc_stage.h"

#define WORKS 32u
#define SLICE (AREA / WORKS) /* of an area, one for each work */
#define EDGE  64u            /* of a slice, that nobody touches */

static const uint16_t pmtus[] = {256, 512, 1024, 2048, 4096};

/* One side's posts, and how far its completions are. Works of all queue pairs stand in one list. */
struct agent {
	struct work k[WORKS];
	uint32_t n_posted, n_done;
	uint64_t bytes;
	uint32_t next[4];           /* of each queue pair: the work to complete next */
	uint32_t arrival[4][WORKS]; /* which work of the peer took its receive i */
	uint32_t n_takers[4], n_arrived[4];
	bool is_over[4][2], has_failed[4][2]; /* of each, its sends and its receives */
};

static struct agent agents[2];
static bool may_fail;

static inline struct work draw_work(uint8_t side, uint32_t i)
{
	uint32_t pmtu = w.end[0].qp[0].attr.pmtu;
	struct work k = {.side = side,
			 .qp = below(w.end[0].n_qps),
			 .cookie = i,
			 .code = chance(500) ? ENGINE_WRITE : ENGINE_WRITE_IMM,
			 .at = below(AREA - SLICE),
			 .to = SLICE * i + EDGE,
			 .imm = prng_u32(&w.rng),
			 .n_sg = 1 + below(4),
			 .flags = (uint8_t)((chance(200) ? ENGINE_SILENT : 0) |
					    (chance(200) ? ENGINE_SOLICITED : 0))};

	k.len = chance(600) ? below(SLICE - 2 * EDGE) : below(3) * pmtu + below(3);
	if (k.len > SLICE - 2 * EDGE)
		k.len = SLICE - 2 * EDGE;
	return k;
}

static inline bool is_placed(const struct work *k)
{
	const struct end *peer = &w.end[1 - k->side];

	return memcmp(peer->area[TARGET] + GUARD + k->to, peer->image[TARGET] + k->to, k->len) == 0;
}

/* The next work of its queue pair, passing over silent ones, is the one that is done. */
static inline void pass_over(struct agent *a, uint32_t qp, uint64_t cookie)
{
	for (uint32_t i = a->next[qp]; i < cookie; i++)
		assert_true(a->k[i].qp != qp || (a->k[i].flags & ENGINE_SILENT));
	assert_true(cookie >= a->next[qp] && cookie < a->n_posted);
	assert_int_equal(a->k[cookie].qp, qp);
	a->next[qp] = (uint32_t)cookie + 1;
}

/* A write with immediate data is told of after it and all before it were placed (Table 6-13), and
 * in the order of sending. */
static inline void check_received(uint32_t side, uint32_t qp, const struct done *d)
{
	struct agent *a = &agents[side], *peer = &agents[1 - side];
	uint32_t n = a->n_arrived[qp]++;

	assert_true(n < peer->n_takers[qp]);
	assert_int_equal(d->cookie, 1000 + n);
	if (d->status != ENGINE_OK)
		return;
	const struct work *k = &peer->k[a->arrival[qp][n]];

	assert_int_equal(d->len, k->len);
	assert_int_equal(d->imm, k->imm);
	assert_int_equal(d->flags, ENGINE_HAS_IMM | (k->flags & ENGINE_SOLICITED));
	for (uint32_t i = 0; i <= a->arrival[qp][n]; i++)
		assert_true(peer->k[i].qp != qp || is_placed(&peer->k[i]));
}

/* All is well, then one may fail; those around it that are not done are flushed, in their order. */
static inline void check_status(struct agent *a, uint32_t qp, const struct done *d)
{
	bool is_received = d->code == ENGINE_DONE_RECEIVED;
	bool *is_over = &a->is_over[qp][is_received], *has_failed = &a->has_failed[qp][is_received];

	if (!may_fail)
		assert_int_equal(d->status, ENGINE_OK);
	if (*is_over)
		assert_int_not_equal(d->status, ENGINE_OK);
	*is_over = d->status != ENGINE_OK;
	if (d->status != ENGINE_OK && d->status != ENGINE_FLUSHED) {
		assert_false(*has_failed);
		*has_failed = true;
	}
}

static inline void take_completions(uint32_t side)
{
	struct agent *a = &agents[side];
	struct done d;

	while (end_poll(&w.end[side], &d)) {
		uint32_t qp = d.qp - w.end[side].qp[0].number;
		bool is_received = d.code == ENGINE_DONE_RECEIVED;

		check_status(a, qp, &d);
		if (is_received) {
			check_received(side, qp, &d);
			continue;
		}
		pass_over(a, qp, d.cookie);
		if (d.status == ENGINE_OK)
			assert_true(is_placed(&a->k[d.cookie]));
	}
}

static inline void post_next(uint8_t side)
{
	struct agent *a = &agents[side], *peer = &agents[1 - side];
	struct work *k = &a->k[a->n_posted];

	*k = draw_work(side, a->n_posted);
	if (k->code == ENGINE_WRITE_IMM) {
		uint32_t n = a->n_takers[k->qp]++;

		peer->arrival[k->qp][n] = a->n_posted;
		if (end_state(&w.end[1 - side], k->qp) != MRC_RESET)
			post_recv(1u - side, k->qp, 1000 + n);
	}
	post(*k);
	a->bytes += k->len;
	a->n_posted++;
}

static inline void draw_ends(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct mrc_cfg *cfg = &w.end[i].cfg;

		cfg->n_ports = 1 + below(4);
		cfg->sack_every_bytes = 1 + below(20000);
		cfg->has_trim_nack = chance(500);
		cfg->has_service_time = chance(500);
		cfg->cc.window_bytes = 2048 + below(65536);
		if (chance(300))
			cfg->max_out_pkts = 1 + below(300);
		if (chance(300))
			cfg->max_early_pkts = 1 + below(500);
		if (chance(300))
			cfg->max_answers = 1 + below(20);
		if (chance(200))
			*cfg = (struct mrc_cfg){.max_qps = cfg->max_qps,
						.n_ports = cfg->n_ports,
						.cc = {.kind = CC_DCQCN,
						       .window_bytes = 65536,
						       .line_rate_bps = UINT64_C(10000000000)}};
		w.end[i].n_evs = 4 + below(5);
		w.port_delay[1 + i] = chance(500) ? below(3000) : 0;
	}
}

static inline void draw_pairs(void)
{
	uint8_t flags = (uint8_t)(chance(500) ? MRC_DYNAMIC_MPR : 0);

	w.end[0].n_qps = 1 + below(4);
	w.end[0].qp[0].attr.pmtu = pmtus[below(5)];
	for (uint32_t i = 0; i < w.end[0].n_qps; i++)
		for (uint32_t side = 0; side < 2; side++) {
			struct mrc_attr *a = &w.end[side].qp[i].attr;

			w.end[side].qp[i].caps.max_mpr = 4;
			w.end[side].qp[i].caps.max_wimm = (uint16_t)(1 + below(40));
			a->pmtu = w.end[0].qp[0].attr.pmtu;
			a->mpr = (uint8_t)(1 + below(4));
			a->flags = flags;
			if (chance(200))
				a->flags |= MRC_NO_TIMESTAMPS;
			/* Small pools refuse a packet any number of times. */
			a->exp_retries = MRC_EXP_MAX;
			a->timeout = (uint8_t)(3 + below(6));
			a->sq_psn = chance(500) ? MRC_NUMBERS - 1 - below(60) : below(MRC_NUMBERS);
		}
}

static inline void draw_set_up(uint64_t seed)
{
	start(seed);
	draw_ends();
	draw_pairs();
	w.lose = below(80);
	w.twice = below(80);
	w.trim = below(60);
	w.mark = below(200);
	w.forge = below(50);
	w.jitter = chance(500) ? below(3000) : 0;
	w.squeeze = chance(300) ? below(900) : 0;
	memset(agents, 0, sizeof agents);
	may_fail = false;
	join();
}

/* Dynamic MPR, both ways, while it is used. */
static inline void change_range(uint8_t side)
{
	uint32_t i = below(w.end[0].n_qps);
	struct end_qp *q = &w.end[side].qp[i];

	if (!(q->attr.flags & MRC_DYNAMIC_MPR) || end_state(&w.end[side], i) < MRC_RTR)
		return;
	q->attr.mpr = (uint8_t)(1 + below(4));
	assert_int_equal(mrc_qp_modify(w.end[side].e, w.now, q->number, &q->attr, MRC_SET_MPR), 0);
}

/* One side posts a work, or changes its mind on something, then some time passes. */
static inline void take_turn(uint8_t side)
{
	if (agents[side].n_posted < WORKS && chance(900))
		post_next(side);
	if (chance(100))
		change_range(side);
	run_until(w.now + below(5000));
	take_completions(0);
	take_completions(1);
}

/* All is said and done. */
static inline void check_rest(void)
{
	check_ends();
	check_idle(&w.end[0]);
	check_idle(&w.end[1]);
}

/* The wire is good from now on, and everything must end by itself. */
static inline void heal_and_finish(void)
{
	uint32_t steps = 0;

	w.lose = w.twice = w.trim = w.mark = w.forge = w.squeeze = 0;
	w.jitter = 0;
	while (step_until(NSEC_NEVER)) {
		assert_true(++steps < STEPS_MAX);
		take_completions(0);
		take_completions(1);
	}
	for (uint32_t side = 0; side < 2; side++) {
		take_completions(side);
		check_balance(&w.end[side]);
		assert_int_equal(mrc_usage(w.end[side].e).out_chunks, 0);
		assert_int_equal(mrc_usage(w.end[side].e).answers, 0);
	}
}

/* Works are posted at random times on a bad wire. Returns the hash of all that came out. */
static inline uint64_t run_seed(uint64_t seed)
{
	draw_set_up(seed);
	for (uint32_t turn = 0; turn < 3 * WORKS; turn++)
		take_turn((uint8_t)below(2));
	heal_and_finish();
	for (uint32_t side = 0; side < 2; side++) {
		const struct agent *a = &agents[side], *peer = &agents[1 - side];

		for (uint32_t qp = 0; qp < w.end[0].n_qps; qp++) {
			assert_int_equal(a->n_arrived[qp], peer->n_takers[qp]);
			assert_int_equal(end_state(&w.end[side], qp), MRC_RTS);
			for (uint32_t i = a->next[qp]; i < a->n_posted; i++)
				assert_true(a->k[i].qp != qp || (a->k[i].flags & ENGINE_SILENT));
		}
		assert_int_equal(counts(&w.end[side])->failed, 0);
		check_idle(&w.end[side]);
		/* Nobody sent beyond what the other had ever promised to take. */
		assert_int_equal(counts(&w.end[side])->drop_range, 0);
		/* Each byte once. */
		assert_int_equal(counts(&w.end[side])->rx_bytes, peer->bytes);
	}
	check_ends();
	return w.end[0].hash ^ w.end[1].hash * 3;
}

/* What no work named keeps its bytes. */
static inline void check_gaps(void)
{
	for (uint32_t side = 0; side < 2; side++) {
		struct end *s = &w.end[side];

		for (uint32_t i = 0; i < WORKS; i++) {
			assert_memory_equal(area_at(s, TARGET, SLICE * i),
					    s->image[TARGET] + SLICE * i, EDGE);
			assert_memory_equal(area_at(s, TARGET, SLICE * (i + 1) - EDGE),
					    s->image[TARGET] + SLICE * (i + 1) - EDGE, EDGE);
		}
		memcpy(s->image[TARGET], area_at(s, TARGET, 0), AREA);
		check_memory(s);
	}
}

/* At some moment a queue pair of one side goes to error. The other side's finds out, and all work
 * comes back; the others go on. */
static inline void run_ended(uint64_t seed)
{
	draw_set_up(seed);
	uint32_t moment = below(2 * WORKS), victim = below(2), qp = below(w.end[0].n_qps);

	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = 0; i < w.end[0].n_qps; i++) {
			struct end_qp *q = &w.end[side].qp[i];

			q->attr.exp_retries = 3;
			q->attr.linear_retries = 7;
			assert_int_equal(mrc_qp_modify(w.end[side].e, w.now, q->number, &q->attr,
						       MRC_SET_RETRIES),
					 0);
		}
	may_fail = true;
	for (uint32_t turn = 0; turn < 2 * WORKS; turn++) {
		if (turn == moment)
			assert_int_equal(end_set(&w.end[victim], w.now, qp, MRC_ERROR, 0), 0);
		take_turn((uint8_t)below(2));
	}
	heal_and_finish();
	for (uint32_t side = 0; side < 2; side++) {
		const struct agent *a = &agents[side];

		for (uint32_t i = 0; i < w.end[0].n_qps; i++)
			for (uint32_t k = a->next[i]; k < a->n_posted; k++)
				assert_true(a->k[k].qp != i || (a->k[k].flags & ENGINE_SILENT));
	}
	check_gaps();
}

#endif
