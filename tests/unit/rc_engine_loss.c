/* Two engines over a wire that loses, doubles, reorders, marks, trims and forges packets by a seed.
 * Everything completes, once and in order; no completion comes before its bytes; memory is what the
 * works say, atomics executed once; the same seed gives the same trace. */
#define SEEDS 300u
#include <errno.h>

#include "rc_pair.h"
#include "seeded.h"

#define WORKS 24u
#define SLICE 4096u /* of an area, one for each work */
#define WORD  8u    /* of TARGET: where atomics work */

/* One side's posts, and how far its completions are. */
struct agent {
	struct work k[WORKS];
	uint32_t n_posted, n_seen; /* works */
	uint32_t n_receives, n_arrived;
	uint32_t arrival[WORKS]; /* which work of the peer took receive i */
	uint32_t n_takers;       /* works of ours that take a receive */
	bool has_failed[2];      /* its sends; its receives */
};

static struct agent agents[2];
static bool may_fail;

static bool takes_receive(uint8_t code)
{
	return code == ENGINE_SEND || code == ENGINE_SEND_IMM || code == ENGINE_WRITE_IMM;
}

static struct work draw_work(uint8_t side, uint32_t i)
{
	static const uint8_t codes[] = {ENGINE_WRITE,    ENGINE_WRITE_IMM, ENGINE_SEND,
					ENGINE_SEND_IMM, ENGINE_READ,      ENGINE_ATOMIC};
	uint32_t pmtu = w.end[0].qp[0].attr.pmtu;
	struct work k = {.side = side,
			 .cookie = i,
			 .code = codes[below(sizeof codes)],
			 .at = SLICE * i,
			 .imm = prng_u32(&w.rng),
			 .n_sg = 1 + below(4),
			 .flags = (uint8_t)((chance(200) ? ENGINE_SILENT : 0) |
					    (chance(100) ? ENGINE_FENCE : 0)),
			 .atomic_op = (uint8_t)below(2),
			 .operand = {below(3), below(100)}};

	/* The first half of TARGET is the peer's to write, the second to be read. */
	k.to = k.code == ENGINE_READ ? SLICE / 2 * (WORKS + i) : SLICE / 2 * i;
	k.len = chance(500) ? below(SLICE / 2 - 64) : below(3) * pmtu + below(3);
	if (k.len > SLICE / 2 - 64)
		k.len = SLICE / 2 - 64;
	k.to += 64;
	if (k.code == ENGINE_ATOMIC) {
		k.to = WORD;
		k.len = 8;
		k.n_sg = 1;
	}
	return k;
}

/* What a completed work must have done by now. */
static void check_sent(const struct work *k)
{
	const struct end *s = &w.end[k->side], *peer = &w.end[1 - k->side];

	if (k->code == ENGINE_WRITE || k->code == ENGINE_WRITE_IMM)
		assert_memory_equal(peer->area[TARGET] + GUARD + k->to, peer->image[TARGET] + k->to,
				    k->len);
	if (k->code == ENGINE_READ || k->code == ENGINE_ATOMIC)
		assert_memory_equal(s->area[INBOX] + GUARD + k->at, s->image[INBOX] + k->at,
				    k->len);
}

static void check_received(uint32_t side, const struct done *done)
{
	struct agent *a = &agents[side];
	const struct work *k = &agents[1 - side].k[a->arrival[a->n_arrived]];
	const struct end *s = &w.end[side];

	assert_true(a->n_arrived < a->n_receives);
	assert_int_equal(done->cookie, 1000 + a->n_arrived);
	assert_int_equal(done->len, k->len);
	if (k->code != ENGINE_SEND)
		assert_int_equal(done->imm, k->imm);
	if (k->code == ENGINE_WRITE_IMM)
		check_sent(k);
	else
		assert_memory_equal(s->area[INBOX] + GUARD + SLICE * a->n_arrived + SLICE / 2,
				    s->image[INBOX] + SLICE * a->n_arrived + SLICE / 2, k->len);
	a->n_arrived++;
}

/* A queue's works go well, then one may fail, then all that follow are flushed. */
static void check_status(struct agent *a, const struct done *done)
{
	bool *has_failed = &a->has_failed[done->code == ENGINE_DONE_RECEIVED];

	if (!may_fail)
		assert_int_equal(done->status, ENGINE_OK);
	if (*has_failed)
		assert_int_equal(done->status, ENGINE_FLUSHED);
	*has_failed = done->status != ENGINE_OK;
}

/* Work that failed is reported in its turn, silent or not. */
static void pass_over(struct agent *a, const struct done *done)
{
	if (done->code == ENGINE_DONE_RECEIVED) {
		assert_int_equal(done->cookie, 1000 + a->n_arrived);
		a->n_arrived++;
		return;
	}
	while (a->n_seen < done->cookie && (a->k[a->n_seen].flags & ENGINE_SILENT))
		a->n_seen++;
	assert_int_equal(done->cookie, a->n_seen);
	a->n_seen++;
}

static void take_completions(uint32_t side)
{
	struct agent *a = &agents[side];
	struct done done;

	while (end_poll(&w.end[side], &done)) {
		check_status(a, &done);
		if (done.status != ENGINE_OK) {
			pass_over(a, &done);
			continue;
		}
		if (done.code == ENGINE_DONE_RECEIVED) {
			check_received(side, &done);
			continue;
		}
		while (a->n_seen < a->n_posted && (a->k[a->n_seen].flags & ENGINE_SILENT))
			a->n_seen++;
		assert_true(a->n_seen < a->n_posted);
		assert_int_equal(done.cookie, a->n_seen);
		check_sent(&a->k[a->n_seen++]);
	}
}

static void post_next(uint8_t side)
{
	struct agent *a = &agents[side], *peer = &agents[1 - side];
	struct work *k = &a->k[a->n_posted];

	*k = draw_work(side, a->n_posted);
	if (takes_receive(k->code)) {
		uint32_t n = a->n_takers++;

		peer->arrival[n] = a->n_posted;
		if (k->code != ENGINE_WRITE_IMM)
			imagine_arrival(k, SLICE * n + SLICE / 2);
	}
	post(*k);
	a->n_posted++;
}

static void draw_set_up(uint64_t seed)
{
	static const uint16_t pmtus[] = {256, 512, 1024, 2048, 4096};
	struct engine_attr *a, *b;

	start(seed);
	a = &w.end[0].qp[0].attr;
	b = &w.end[1].qp[0].attr;
	a->pmtu = pmtus[below(5)];
	a->sq_psn = chance(500) ? RC_NUMBERS - 1 - below(60) : below(RC_NUMBERS);
	b->sq_psn = chance(500) ? RC_NUMBERS - 1 - below(60) : below(RC_NUMBERS);
	a->rd_atomic = b->dest_rd_atomic = (uint8_t)(1 + below(RC_RD_ATOMIC_MAX));
	b->rd_atomic = a->dest_rd_atomic = (uint8_t)(1 + below(RC_RD_ATOMIC_MAX));
	a->rnr_timer = (uint8_t)(1 + below(4));
	for (uint32_t i = 0; i < 2; i++) {
		w.end[i].cfg.ack_every_pkts = 1 + below(20);
		w.end[i].cfg.cc.window_bytes = 2048 + below(65536);
	}
	if (chance(300))
		w.end[0].cfg.cc = (struct cc_cfg){.kind = CC_DCQCN,
						  .window_bytes = 65536,
						  .line_rate_bps = UINT64_C(10000000000)};
	join();
	w.lose = below(80);
	w.twice = below(80);
	w.trim = below(30);
	w.mark = below(200);
	w.forge = below(50);
	w.jitter = chance(500) ? below(3000) : 0;
	w.squeeze = chance(300) ? below(900) : 0;
	memset(agents, 0, sizeof agents);
}

/* One side posts a work or a receive, then some time passes. */
static void take_turn(uint8_t side)
{
	struct agent *a = &agents[side];

	if (a->n_posted < WORKS && chance(700)) {
		post_next(side);
	} else if (a->n_receives < WORKS) {
		post_recv(side, SLICE * a->n_receives + SLICE / 2, SLICE / 2, 1 + below(3),
			  1000 + a->n_receives);
		a->n_receives++;
	}
	run_until(w.now + below(20000));
	take_completions(0);
	take_completions(1);
}

/* The wire is good from now on, and everything must end by itself. */
static void heal_and_finish(void)
{
	uint32_t steps = 0;

	for (uint32_t side = 0; side < 2; side++)
		for (; agents[side].n_receives < WORKS; agents[side].n_receives++)
			post_recv(side, SLICE * agents[side].n_receives + SLICE / 2, SLICE / 2, 1,
				  1000 + agents[side].n_receives);
	w.lose = w.twice = w.trim = w.mark = w.forge = w.squeeze = 0;
	w.jitter = 0;
	while (step_until(NSEC_NEVER)) {
		assert_true(++steps < STEPS_MAX);
		take_completions(0);
		take_completions(1);
	}
	for (uint32_t side = 0; side < 2; side++) {
		struct agent *a = &agents[side];

		take_completions(side);
		while (a->n_seen < a->n_posted && (a->k[a->n_seen].flags & ENGINE_SILENT))
			a->n_seen++;
		assert_int_equal(a->n_seen, a->n_posted);
		check_balance(&w.end[side]);
	}
}

/* What a queue pair says of itself is what its works come to: payload placed counts once, whatever
 * the wire did, and what was sent is acknowledged, but that responses to reads may go twice. */
static void check_progress(uint32_t side)
{
	const struct agent *a = &agents[side], *peer = &agents[1 - side];
	const struct rc_counters *c = counts(&w.end[side]);
	uint64_t sent = 0, got = 0, answered = 0;
	struct rc_progress p;

	for (uint32_t i = 0; i < a->n_posted; i++) {
		bool is_fetch = a->k[i].code == ENGINE_READ || a->k[i].code == ENGINE_ATOMIC;

		*(is_fetch ? &got : &sent) += a->k[i].len;
	}
	for (uint32_t i = 0; i < peer->n_posted; i++) {
		if (peer->k[i].code == ENGINE_READ)
			answered += peer->k[i].len;
		else if (peer->k[i].code != ENGINE_ATOMIC)
			got += peer->k[i].len;
	}
	assert_int_equal(rc_qp_progress(w.end[side].e, w.end[side].qp[0].number, &p), 0);
	assert_int_equal(p.got_bytes, got);
	assert_true(p.sent_bytes >= sent + answered);
	if (!answered)
		assert_int_equal(p.sent_bytes, sent);
	assert_int_equal(p.inflight_bytes, 0);
	assert_int_equal(p.sent_packets, c->tx_request);
	assert_int_equal(p.retx_packets, c->tx_retx);
	assert_int_equal(p.timeouts, c->timeouts);
	assert_int_equal(rc_qp_progress(w.end[side].e, 77, &p), -ENOENT);
}

/* Works and receives are posted at random times on a bad wire. Returns the hash of all that came
 * out. */
static uint64_t run_seed(uint64_t seed)
{
	may_fail = false;
	draw_set_up(seed);
	for (uint32_t turn = 0; turn < 4 * WORKS; turn++)
		take_turn((uint8_t)below(2));
	heal_and_finish();
	for (uint32_t side = 0; side < 2; side++) {
		assert_int_equal(agents[side].n_arrived, agents[1 - side].n_takers);
		assert_int_equal(end_state(&w.end[side], 0), ENGINE_RTS);
		assert_int_equal(counts(&w.end[side])->failed, 0);
		check_progress(side);
	}
	check_ends();
	return w.end[0].hash ^ w.end[1].hash * 3;
}

/* What no work named keeps its bytes: the gaps between the places of TARGET, and around areas. */
static void check_gaps(void)
{
	for (uint32_t side = 0; side < 2; side++) {
		struct end *s = &w.end[side];

		for (uint32_t i = 1; i < 2 * WORKS; i++)
			assert_memory_equal(area_at(s, TARGET, SLICE / 2 * i),
					    s->image[TARGET] + SLICE / 2 * i, 64);
		memcpy(s->image[TARGET], area_at(s, TARGET, 0), AREA);
		memcpy(s->image[INBOX], area_at(s, INBOX, 0), AREA);
		check_memory(s);
	}
}

/* At some moment one side goes to error, or is reset. The other finds out, and all work comes back,
 * but that of a queue pair that was reset. */
static void run_ended(uint64_t seed)
{
	may_fail = false;
	draw_set_up(seed);
	uint32_t moment = below(4 * WORKS);
	uint8_t victim = (uint8_t)below(2), to = chance(500) ? ENGINE_ERROR : ENGINE_RESET;

	for (uint32_t turn = 0; turn < 4 * WORKS; turn++) {
		if (turn == moment) {
			may_fail = true;
			assert_int_equal(end_set(&w.end[victim], w.now, 0, to, 0), 0);
		}
		take_turn(turn >= moment && to == ENGINE_RESET ? (uint8_t)(1 - victim)
							       : (uint8_t)below(2));
	}
	if (to == ENGINE_RESET)
		end_rise(&w.end[victim], w.now, 0, ENGINE_INIT);
	struct agent *a = &agents[victim];

	if (to == ENGINE_RESET)
		a->n_seen = a->n_posted;
	heal_and_finish();
	check_gaps();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test_teardown(everything_completes, say_seed),
	cmocka_unit_test_teardown(ended_at_any_time, say_seed),
	cmocka_unit_test_teardown(same_seed_same_trace, say_seed),
};
CHECK_MAIN(cases)
