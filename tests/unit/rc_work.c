/* The records of a requester: slots of work, the window that all queue pairs share, when nothing is
 * out any more, and what of an engine's lists goes with a queue. */
#include "rc_requester.h"

/* Takes queue pair i away, and its memory. */
static void wipe(uint32_t i)
{
	assert_ptr_equal(rc_qp_free(s.e, OURS + i), s.qp[i].memory);
	end_spoil_qp(&s, i);
}

/* How many works are taken together now: as many as are looked at before one that is bad. */
static uint32_t room(void)
{
	struct op works[8];
	uint32_t n = 0;
	int answer;

	do {
		for (uint32_t i = 0; i <= n; i++)
			works[i] = (struct op){.next = i < n ? &works[i + 1] : NULL,
					       .code = ENGINE_WRITE,
					       .qp = OURS,
					       .key = i < n ? 0 : UINT64_MAX};
		answer = end_post(&s, now, works[0]);
		assert_true(answer == -EINVAL || answer == -ENOMEM);
		n++;
	} while (answer == -EINVAL && n < 8);
	return n - 2;
}

/* A slot is taken until its completion is polled; silent work only until those before it are. */
static void queue_is_full(void **state)
{
	struct op op = {.code = ENGINE_WRITE, .qp = OURS};

	(void)state;
	begin();
	s.qp[0].caps.max_send = 3;
	connect();
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(room(), 3 - i);
		POST(.code = ENGINE_WRITE, .flags = i == 1 ? ENGINE_SILENT : 0);
	}
	assert_int_equal(end_post(&s, now, op), -ENOMEM);
	assert_int_equal(room(), 0);
	assert_int_equal(pull(), 3);
	ack(1);
	assert_int_equal(end_post(&s, now, op), -ENOMEM);
	assert_int_equal(room(), 0);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
	expect_nothing();
	assert_int_equal(room(), 2);
	POST(.code = ENGINE_WRITE, .flags = ENGINE_SILENT);
	POST(.code = ENGINE_WRITE, .flags = ENGINE_SILENT);
	assert_int_equal(end_post(&s, now, op), -ENOMEM);
	assert_int_equal(pull(), 2);
	ack(4);
	expect_sent(3, ENGINE_WRITE, ENGINE_OK);
	expect_nothing();
	/* With nothing before it to be polled, silent work is gone when it is done. */
	for (uint32_t i = 0; i < 7; i++) {
		POST(.code = ENGINE_WRITE, .flags = ENGINE_SILENT);
		assert_int_equal(room(), 2);
		assert_int_equal(pull(), 1);
		ack(5 + i);
		assert_int_equal(room(), 3);
	}
	expect_nothing();
	check_end();
}

/* Flushed work holds its place until it is polled; a reset gives all places back. */
static void room_after_the_end(void **state)
{
	(void)state;
	begin();
	s.qp[0].caps.max_send = 3;
	connect();
	POST(.code = ENGINE_WRITE);
	assert_int_equal(end_set(&s, now, 0, ENGINE_ERROR, 0), 0);
	POST(.code = ENGINE_WRITE, .flags = ENGINE_SILENT);
	assert_int_equal(room(), 1);
	expect_sent(1, ENGINE_WRITE, ENGINE_FLUSHED);
	assert_int_equal(room(), 2);
	assert_int_equal(end_set(&s, now, 0, ENGINE_RESET, 0), 0);
	end_rise(&s, now, 0, ENGINE_RTS);
	assert_int_equal(room(), 3);
}

/* The window of all: whoever is kept back gets its turn when another's bytes are gone, also when
 * the first in line has no use for it any more. */
static void shared_window_goes_round(void **state)
{
	(void)state;
	begin();
	s.n_qps = 4;
	s.cfg.total_window_bytes = 2 * PMTU;
	connect();
	for (uint32_t i = 0; i < 4; i++)
		POST(.code = ENGINE_WRITE, .len = 2 * PMTU, .qp = i);
	expect_counts(2, 0);
	assert_int_equal(s.out[1].h.bth.ack_req, 1);
	assert_int_equal(s.out[1].h.bth.dest_qp, THEIRS);
	assert_int_equal(end_set(&s, now, 1, ENGINE_ERROR, 0), 0);
	ack(1);
	expect_counts(2, 0);
	assert_int_equal(s.out[0].h.bth.dest_qp, THEIRS + 2);
	assert_non_null(rc_qp_free(s.e, OURS + 2));
	expect_counts(2, 0);
	assert_int_equal(s.out[0].h.bth.dest_qp, THEIRS + 3);
	check_end();
}

static void ack_to(uint32_t qp, uint32_t count)
{
	say_to(qp,
	       (struct roce_pkt){.bth = {.opcode = ROCE_OP_ACKNOWLEDGE, .psn = psn_of(count)},
				 .aeth = {.type = AETH_ACK, .value = NO_CREDITS}},
	       0, 0);
}

/* Whoever has a turn and leaves room passes it on, having sent or not. */
static void shared_window_is_passed_on(void **state)
{
	(void)state;
	begin();
	s.n_qps = 4;
	s.cfg.total_window_bytes = 3 * PMTU;
	connect();
	POST(.code = ENGINE_WRITE, .len = 3 * PMTU);
	assert_int_equal(pull(), 3);
	for (uint32_t i = 1; i < 4; i++)
		POST(.code = ENGINE_WRITE, .len = PMTU, .qp = i);
	assert_int_equal(pull(), 0);
	assert_int_equal(end_set(&s, now, 1, ENGINE_SQD, 0), 0);
	ack(2);
	assert_int_equal(pull(), 2);
	assert_int_equal(s.out[0].h.bth.dest_qp, THEIRS + 2);
	assert_int_equal(s.out[1].h.bth.dest_qp, THEIRS + 3);
	assert_int_equal(end_set(&s, now, 1, ENGINE_RTS, 0), 0);
	assert_int_equal(pull(), 1);
	/* One that waits is freed. */
	POST(.code = ENGINE_WRITE, .len = PMTU, .qp = 2);
	POST(.code = ENGINE_WRITE, .len = PMTU, .qp = 3);
	assert_int_equal(pull(), 0);
	wipe(3);
	assert_int_equal(pull(), 1);
	POST(.code = ENGINE_WRITE, .len = PMTU, .qp = 0);
	assert_int_equal(pull(), 0);
	wipe(0);
	ack_to(1, 0);
	assert_int_equal(pull(), 0);
	ack_to(2, 1);
	expect_sent(2, ENGINE_WRITE, ENGINE_OK);
	expect_sent(3, ENGINE_WRITE, ENGINE_OK);
	expect_sent(5, ENGINE_WRITE, ENGINE_OK);
}

/* Who was offered room moves to a port that is shut: the next one gets it. */
static void room_does_not_move_away(void **state)
{
	static const uint16_t only_0[ENGINE_PORTS] = {END_BATCH};
	struct engine_attr attr;

	(void)state;
	begin();
	s.n_qps = 3;
	s.cfg.n_ports = 2;
	s.cfg.total_window_bytes = PMTU;
	connect();
	for (uint32_t i = 0; i < 3; i++)
		POST(.code = ENGINE_WRITE, .len = PMTU, .qp = i);
	assert_int_equal(end_pull(&s, now, only_0, END_BATCH), 1);
	assert_int_equal(end_set(&s, now, 1, ENGINE_SQD, 0), 0);
	ack(0);
	assert_int_equal(rc_qp_query(s.e, OURS + 1, &attr, NULL, NULL), 0);
	attr.port = 1;
	assert_int_equal(rc_qp_modify(s.e, now, OURS + 1, &attr, ENGINE_SET_PATH), 0);
	assert_int_equal(end_pull(&s, now, only_0, END_BATCH), 1);
	assert_int_equal(s.out[0].h.bth.dest_qp, THEIRS + 2);
}

/* A read of one whose peer does not answer leaves the others their own windows. */
static void own_windows_stay_open(void **state)
{
	(void)state;
	begin();
	s.n_qps = 2;
	s.cfg.total_window_bytes = 2 * PMTU;
	s.cfg.own_window_bytes = 2 * PMTU;
	connect();
	POST(.code = ENGINE_READ, .len = 8 * PMTU);
	assert_int_equal(pull(), 1);
	POST(.code = ENGINE_WRITE, .len = 4 * PMTU, .qp = 1);
	assert_int_equal(pull(), 2);
	assert_int_equal(s.out[0].h.bth.dest_qp, THEIRS + 1);
	assert_int_equal(s.out[1].h.bth.ack_req, 1);
	ack_to(1, 1);
	assert_int_equal(pull(), 2);
	ack_to(1, 3);
	expect_sent(2, ENGINE_WRITE, ENGINE_OK);
	check_end();
}

/* Kept back by others of its own engine: not the silence of its peer. */
static void starving_is_not_silence(void **state)
{
	(void)state;
	begin();
	s.n_qps = 2;
	s.cfg.total_window_bytes = PMTU;
	s.qp[1].attr.timeout = 0;
	connect();
	POST(.code = ENGINE_WRITE, .len = PMTU);
	assert_int_equal(pull(), 1);
	POST(.code = ENGINE_WRITE, .len = PMTU, .qp = 1);
	assert_int_equal(pull(), 0);
	nak(0, AETH_NAK_SEQUENCE);
	assert_int_equal(pull(), 1);
	assert_int_equal(s.out[0].h.bth.dest_qp, THEIRS + 1);
	for (uint32_t i = 0; i < 20; i++) {
		now += TIMEOUT_NS(TIMEOUT);
		assert_int_equal(pull(), 0);
	}
	EXPECT_COUNT(timeouts, 0);
	ack_to(1, 0);
	expect_one(ROCE_OP_WRITE_ONLY, 0, true);
	assert_int_equal(s.out[0].h.bth.dest_qp, THEIRS);
	check_end();
}

/* The same with packets out, as long as none of them asked for an answer. */
static void starving_with_packets_out(void **state)
{
	(void)state;
	begin();
	s.n_qps = 2;
	s.cfg.ack_every_pkts = 100;
	s.cfg.total_window_bytes = 6 * PMTU;
	s.qp[1].attr.timeout = 0;
	connect();
	POST(.code = ENGINE_WRITE, .len = 6 * PMTU);
	POST(.code = ENGINE_WRITE, .len = 2 * PMTU, .qp = 1);
	/* A turn each; the second one's closes the window. */
	assert_int_equal(end_pull(&s, now, wide, 4), 4);
	expect_packet(3, ROCE_OP_WRITE_MIDDLE, 3, false);
	assert_int_equal(pull(), 2);
	assert_int_equal(s.out[0].h.bth.dest_qp, THEIRS + 1);
	for (uint32_t i = 0; i < 20; i++) {
		now += TIMEOUT_NS(TIMEOUT);
		assert_int_equal(pull(), 0);
	}
	EXPECT_COUNT(timeouts, 0);
	ack_to(1, 1);
	expect_counts(2, 4);
	assert_int_equal(s.out[1].h.bth.ack_req, 1);
	expect_quiet_until(now + TIMEOUT_NS(TIMEOUT));
	expect_counts(1, 0);
	EXPECT_COUNT(timeouts, 1);
}

/* Two ports: one that is shut must not keep the room of the other. */
static void shut_port_does_not_starve_the_other(void **state)
{
	static const uint16_t second[ENGINE_PORTS] = {0, 100};

	(void)state;
	begin();
	s.n_qps = 4;
	s.cfg.n_ports = 2;
	s.cfg.total_window_bytes = PMTU;
	for (uint32_t i = 0; i < 4; i++)
		s.qp[i].attr.port = i == 1 || i == 2 ? 0 : 1;
	connect();
	POST(.code = ENGINE_WRITE, .len = PMTU, .qp = 0);
	assert_int_equal(pull(), 1);
	for (uint32_t i = 1; i < 4; i++)
		POST(.code = ENGINE_WRITE, .len = PMTU, .qp = i);
	assert_int_equal(pull(), 0);
	ack(0);
	assert_int_equal(end_pull(&s, now, second, END_BATCH), 1);
	assert_int_equal(s.out[0].h.bth.dest_qp, THEIRS + 3);
}

/* ENGINE_SQD: what has begun is finished, also when it is lost; then it is said, once. */
static void drains(void **state)
{
	static const uint16_t three[ENGINE_PORTS] = {3};

	(void)state;
	begin_connected();
	s.qp[0].attr.wants_drained = true;
	POST(.code = ENGINE_WRITE);
	POST(.code = ENGINE_WRITE, .len = 4 * PMTU);
	POST(.code = ENGINE_WRITE);
	assert_int_equal(end_pull(&s, now, three, END_BATCH), 3);
	assert_int_equal(end_set(&s, now, 0, ENGINE_SQD, ENGINE_SET_WANTS_DRAINED), 0);
	/* Nothing is out, but there is more of it. */
	ack(2);
	expect_no_event(&s);
	expect_counts(2, 3);
	nak(3, AETH_NAK_SEQUENCE);
	expect_counts(2, 3);
	ack(3);
	expect_no_event(&s);
	ack(4);
	expect_event(&s, OURS, ENGINE_EVENT_DRAINED);
	assert_int_equal(pull(), 0);
	POST(.code = ENGINE_WRITE);
	assert_int_equal(pull(), 0);
	expect_no_event(&s);
	assert_int_equal(end_set(&s, now, 0, ENGINE_RTS, 0), 0);
	expect_counts(2, 5);
	ack(6);
	assert_int_equal(end_set(&s, now, 0, ENGINE_SQD, ENGINE_SET_WANTS_DRAINED), 0);
	expect_event(&s, OURS, ENGINE_EVENT_DRAINED);
}

/* Completions that nobody took yet go with their queue pair, be it the first, in the middle or the
 * last; those of others stay, in order. */
static void forgets_its_own_completions(void **state)
{
	static const uint32_t left[3][4] = {{2, 3, 5}, {1, 3, 4}, {1, 2, 4, 5}};

	(void)state;
	for (uint32_t gone = 0; gone < 3; gone++) {
		begin();
		s.n_qps = 3;
		connect();
		for (uint32_t i = 0; i < 5; i++)
			POST(.code = ENGINE_WRITE, .qp = i % 3);
		assert_int_equal(pull(), 5);
		for (uint32_t i = 0; i < 5; i++)
			ack_to(i % 3, i / 3);
		wipe(gone);
		POST(.code = ENGINE_WRITE, .qp = (gone + 1) % 3);
		assert_int_equal(pull(), 1);
		ack_to((gone + 1) % 3, gone == 1 ? 1 : 2);
		for (uint32_t i = 0; i < 4 && left[gone][i] > 0; i++)
			expect_sent(left[gone][i], ENGINE_WRITE, ENGINE_OK);
		expect_sent(6, ENGINE_WRITE, ENGINE_OK);
		expect_nothing();
	}
}

/* Events, too. */
static void forgets_its_own_events(void **state)
{
	(void)state;
	for (uint32_t gone = 0; gone < 3; gone++) {
		begin();
		s.n_qps = 4;
		connect();
		for (uint32_t i = 0; i < 4; i++) {
			if (i == 3)
				wipe(gone);
			s.qp[i].attr.wants_drained = true;
			assert_int_equal(end_set(&s, now, i, ENGINE_SQD, ENGINE_SET_WANTS_DRAINED),
					 0);
		}
		for (uint32_t i = 0; i < 4; i++)
			if (i != gone)
				expect_event(&s, OURS + i, ENGINE_EVENT_DRAINED);
		expect_no_event(&s);
	}
}

/* The only receive of shared queue i is taken, and its limit with it. */
static void reach_limit(uint32_t i)
{
	assert_int_equal(end_post(&s, now,
				  (struct op){.code = ENGINE_RECV,
					      .flags = ENGINE_SHARED | ENGINE_TRUSTED,
					      .qp = i}),
			 0);
	assert_int_equal(rc_srq_limit(s.e, i, 1), 0);
	say_to(i,
	       (struct roce_pkt){.bth = {.opcode = ROCE_OP_SEND_ONLY, .psn = s.qp[i].attr.rq_psn}},
	       0, 0);
}

/* And those of shared receive queues. */
static void forgets_events_of_shared_queues(void **state)
{
	static const struct engine_srq_caps caps = {.max_recv = 4, .max_sge = 1, .pd = PD};

	(void)state;
	for (uint32_t gone = 0; gone < 2; gone++) {
		struct done done;

		begin();
		s.n_qps = 2;
		end_open(&s, now, 1);
		for (uint32_t i = 0; i < 2; i++) {
			assert_int_equal(rc_srq_new(s.e, i, &caps, s.srq_memory + i * END_SRQ / 2),
					 0);
			s.qp[i].caps.srq = i;
		}
		end_connect(&s, now, ENGINE_RTS);
		for (uint32_t i = 0; i < 2; i++)
			reach_limit(i);
		assert_null(rc_srq_free(s.e, gone));
		wipe(gone);
		void *memory = rc_srq_free(s.e, gone);

		assert_non_null(memory);
		memset(memory, 0xff, END_SRQ / 2);
		expect_event(&s, 1 - gone, ENGINE_EVENT_QUEUE_LIMIT);
		expect_no_event(&s);
		assert_true(end_poll(&s, &done));
		assert_int_equal(done.qp, OURS + 1 - gone);
		expect_nothing();
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(queue_is_full),
	cmocka_unit_test(room_after_the_end),
	cmocka_unit_test(shared_window_goes_round),
	cmocka_unit_test(shared_window_is_passed_on),
	cmocka_unit_test(room_does_not_move_away),
	cmocka_unit_test(own_windows_stay_open),
	cmocka_unit_test(starving_is_not_silence),
	cmocka_unit_test(starving_with_packets_out),
	cmocka_unit_test(shut_port_does_not_starve_the_other),
	cmocka_unit_test(drains),
	cmocka_unit_test(forgets_its_own_completions),
	cmocka_unit_test(forgets_its_own_events),
	cmocka_unit_test(forgets_events_of_shared_queues),
};
CHECK_MAIN(cases)
