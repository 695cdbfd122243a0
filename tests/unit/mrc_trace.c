/* What MRC records beside the packets of a queue pair, which engine_laws looks at: endpoint
 * packets, states, entropy values that go bad, silence and failure. */
#include "mrc_stage.h"

#define SLOTS   1024u
#define SOME_EV 3u

static struct trace trace;
static void *ring;
static uint64_t next;

/* Both ends record in one ring, as engines of one thread may. */
static void begin(void)
{
	start(1);
	free(ring);
	ring = calloc(1, trace_bytes(SLOTS));
	assert_non_null(ring);
	trace_lend(&trace, ring, SLOTS);
	next = 0;
	for (uint32_t i = 0; i < 2; i++)
		w.end[i].cfg.trace = (struct tracer){&trace, i};
}

/* The next event of a kind, by a side; those before it are passed over. */
static struct trace_event find(enum trace_kind kind, uint32_t side)
{
	struct trace_event e;
	uint64_t lost = 0;

	while (trace_take(&trace, &next, &e, 1, &lost))
		if (e.kind == kind && e.node == side)
			return e;
	fail_msg("no event %s of end %u", trace_kinds[kind].name, side);
	return (struct trace_event){.at = 0};
}

static void endpoint_packets_are_events(void **state)
{
	const struct mrc_endpoint request = {.peer = PEER,
					     .local = LOCAL,
					     .ev = {.value = 0xc0de0000},
					     .op = MRC_ENDPOINT_EV_PROBE,
					     .tclass = ENGINE_DATA};
	struct trace_event e;

	(void)state;
	begin();
	w.end[0].n_qps = 0;
	join();
	assert_int_equal(mrc_endpoint_post(w.end[0].e, w.now, &request), 0);
	run();
	e = find(TRACE_SENT, 0);
	assert_int_equal(e.what, MRC_OP_ENDPOINT_REQUEST);
	assert_int_equal(e.qp, MRC_ENDPOINT_QP);
	assert_int_equal(e.b, 0xc0de0000);
	uint32_t id = e.number;

	e = find(TRACE_RECEIVED, 1);
	assert_int_equal(e.what, MRC_OP_ENDPOINT_REQUEST);
	assert_int_equal(e.number, id);
	e = find(TRACE_SENT, 1);
	assert_int_equal(e.what, MRC_OP_ENDPOINT_RESPONSE);
	e = find(TRACE_RECEIVED, 0);
	assert_int_equal(e.what, MRC_OP_ENDPOINT_RESPONSE);
	assert_int_equal(e.number, id);
}

static void is_step(uint8_t from, uint8_t to)
{
	struct trace_event e = find(TRACE_STATE, 0);

	assert_int_equal(e.qp, w.end[0].qp[0].number);
	assert_int_equal(e.what, from);
	assert_int_equal(e.why, to);
}

static void steps_are_events(void **state)
{
	uint32_t number;

	(void)state;
	begin();
	join();
	number = w.end[0].qp[0].number;
	is_step(MRC_RESET, MRC_INIT);
	is_step(MRC_INIT, MRC_RTR);
	is_step(MRC_RTR, MRC_RTS);
	const struct mrc_attr error = {.state = MRC_ERROR}, reset = {.state = MRC_RESET};

	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, number, &error, MRC_SET_STATE), 0);
	is_step(MRC_RTS, MRC_ERROR);
	/* To stay is no step. */
	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, number, &error, MRC_SET_STATE), 0);
	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, number, &reset, MRC_SET_STATE), 0);
	is_step(MRC_ERROR, MRC_RESET);
}

static void bad_evs_are_events(void **state)
{
	struct trace_event e;
	uint32_t number;

	(void)state;
	begin();
	join();
	number = w.end[0].qp[0].number;
	for (uint32_t bad = 1; bad <= 2; bad++) {
		assert_int_equal(mrc_qp_judge(w.end[0].e, w.now, number, SOME_EV + bad, true), 0);
		e = find(TRACE_PATHS, 0);
		assert_int_equal(e.qp, number);
		assert_int_equal(e.a, bad);
		assert_int_equal(e.b, END_EVS);
	}
	assert_int_equal(mrc_qp_judge(w.end[0].e, w.now, number, SOME_EV + 1, false), 0);
	assert_int_equal(find(TRACE_PATHS, 0).a, 1);
}

/* A peer that is gone: each silence is one more, and the last one fails the work. */
static void silence_and_failure_are_events(void **state)
{
	const struct work k = {.side = 0, .code = ENGINE_WRITE, .len = 100};
	struct trace_event e;
	uint32_t tries, psn;

	(void)state;
	begin();
	join();
	w.lose = 1000;
	post(k);
	run();
	e = find(TRACE_SENT, 0);
	assert_int_equal(e.what, MRC_OP_WRITE_ONLY);
	assert_int_equal(e.a, 100);
	psn = e.number;
	tries = w.end[0].qp[0].attr.linear_retries + w.end[0].qp[0].attr.exp_retries;
	for (uint32_t i = 0; i <= tries; i++) {
		e = find(TRACE_TIMEOUT, 0);
		assert_int_equal(e.b, i);
		assert_int_equal(e.number, psn);
		if (i < tries)
			assert_int_equal(find(TRACE_RESENT, 0).number, psn);
	}
	e = find(TRACE_FAILED, 0);
	assert_int_equal(e.what, ENGINE_RETRY_EXCEEDED);
	assert_int_equal(e.number, psn);
	is_step(MRC_RTS, MRC_ERROR);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(endpoint_packets_are_events),
	cmocka_unit_test(steps_are_events),
	cmocka_unit_test(bad_evs_are_events),
	cmocka_unit_test(silence_and_failure_are_events),
};

CHECK_MAIN(cases)
