/* Queue pairs through their states (IBTA 10.3.1): transitions, flush, drain, reset and reuse; and
 * how every class of error ends work on both sides (IBTA 9.9, 11.6.2). */
#include "rc_pair.h"

static const struct work a_write = {.cookie = 1, .code = ENGINE_WRITE, .len = 3000};
static const struct work a_send = {.cookie = 1, .code = ENGINE_SEND, .len = 3000};

static void expect_recv_status(uint32_t side, uint64_t cookie, enum engine_status status)
{
	expect_done(side, (struct done){.code = ENGINE_DONE_RECEIVED,
					.op = ENGINE_RECV,
					.cookie = cookie,
					.len = a_send.len,
					.status = (int16_t)status});
}

/* Which state may follow which. */
static void transitions(void **state)
{
	static const uint8_t may[6][6] = {
		/*            RESET INIT RTR RTS SQD ERROR */
		[ENGINE_RESET] = {1, 1, 0, 0, 0, 1}, [ENGINE_INIT] = {1, 1, 1, 0, 0, 1},
		[ENGINE_RTR] = {1, 0, 0, 1, 0, 1},   [ENGINE_RTS] = {1, 0, 0, 1, 1, 1},
		[ENGINE_SQD] = {1, 0, 0, 1, 1, 1},   [ENGINE_ERROR] = {1, 0, 0, 0, 0, 1},
	};

	(void)state;
	for (unsigned from = ENGINE_RESET; from <= ENGINE_ERROR; from++)
		for (unsigned to = ENGINE_RESET; to <= ENGINE_ERROR + 1; to++) {
			struct end *s = &w.end[0];
			bool is_right = to <= ENGINE_ERROR && may[from][to];
			uint32_t set = 0;

			/* Nothing is missing but the right to go there. */
			if (from < ENGINE_RTR && to >= ENGINE_RTR && to <= ENGINE_SQD)
				set = ENGINE_SET_PMTU | ENGINE_SET_PATH | ENGINE_SET_REMOTE_QP |
				      ENGINE_SET_RQ_PSN | ENGINE_SET_SQ_PSN;
			if (from == ENGINE_RTR && to >= ENGINE_RTS && to <= ENGINE_SQD)
				set = ENGINE_SET_SQ_PSN;
			start(1);
			end_open(s, w.now, 1);
			end_add_qp(s, 0);
			end_rise(s, w.now, 0, from < ENGINE_RTS ? (uint8_t)from : ENGINE_RTS);
			if (from > ENGINE_RTS)
				assert_int_equal(end_set(s, w.now, 0, (uint8_t)from, 0), 0);
			assert_int_equal(end_state(s, 0), (uint8_t)from);
			assert_int_equal(end_set(s, w.now, 0, (uint8_t)to, set),
					 is_right ? 0 : -EINVAL);
			assert_int_equal(end_state(s, 0), is_right ? to : from);
		}
}

/* What a transition needs must have been said, then or before. */
static void transitions_need_attributes(void **state)
{
	static const uint32_t needed =
		ENGINE_SET_PMTU | ENGINE_SET_PATH | ENGINE_SET_REMOTE_QP | ENGINE_SET_RQ_PSN;
	struct end *s = &w.end[0];

	(void)state;
	for (uint32_t bit = 1; bit <= ENGINE_SET_RNR_RETRIES; bit <<= 1) {
		if (!(needed & bit))
			continue;
		start(1);
		end_open(s, w.now, 1);
		end_add_qp(s, 0);
		end_rise(s, w.now, 0, ENGINE_INIT);
		assert_int_equal(end_set(s, w.now, 0, ENGINE_RTR, needed & ~bit), -EINVAL);
		assert_int_equal(end_set(s, w.now, 0, ENGINE_INIT, bit), 0);
		assert_int_equal(end_set(s, w.now, 0, ENGINE_RTR, needed & ~bit), 0);
		assert_int_equal(end_set(s, w.now, 0, ENGINE_RTS, 0), -EINVAL);
		assert_int_equal(end_set(s, w.now, 0, ENGINE_RTS, ENGINE_SET_SQ_PSN), 0);
	}
}

/* Values out of range change nothing. */
static void attributes_out_of_range(void **state)
{
	static const struct {
		struct engine_attr attr;
		uint32_t set;
	} bad[] = {
		{{.pmtu = 0}, ENGINE_SET_PMTU},
		{{.pmtu = 128}, ENGINE_SET_PMTU},
		{{.pmtu = 1000}, ENGINE_SET_PMTU},
		{{.pmtu = 8192}, ENGINE_SET_PMTU},
		{{.port = 1}, ENGINE_SET_PATH},
		{{.remote_qp = RC_NUMBERS}, ENGINE_SET_REMOTE_QP},
		{{.rq_psn = RC_NUMBERS}, ENGINE_SET_RQ_PSN},
		{{.sq_psn = RC_NUMBERS}, ENGINE_SET_SQ_PSN},
		{{.rd_atomic = RC_RD_ATOMIC_MAX + 1}, ENGINE_SET_RD_ATOMIC},
		{{.dest_rd_atomic = RC_RD_ATOMIC_MAX + 1}, ENGINE_SET_DEST_RD_ATOMIC},
		{{.rnr_timer = 32}, ENGINE_SET_RNR_TIMER},
		{{.timeout = 32}, ENGINE_SET_TIMEOUT},
		{{.retries = 8}, ENGINE_SET_RETRIES},
		{{.rnr_retries = 8}, ENGINE_SET_RNR_RETRIES},
	};
	struct end *s = &w.end[0];
	struct engine_attr before, after;

	(void)state;
	start(1);
	end_open(s, w.now, 1);
	end_add_qp(s, 0);
	end_rise(s, w.now, 0, ENGINE_INIT);
	memset(&before, 0, sizeof before);
	memset(&after, 0, sizeof after);
	assert_int_equal(rc_qp_query(s->e, s->qp[0].number, &before, NULL, NULL), 0);
	for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(
			rc_qp_modify(s->e, w.now, s->qp[0].number, &bad[i].attr, bad[i].set),
			-EINVAL);
		assert_int_equal(rc_qp_query(s->e, s->qp[0].number, &after, NULL, NULL), 0);
		assert_memory_equal(&before, &after, sizeof after);
	}
	assert_int_equal(rc_qp_modify(s->e, w.now, 999, &bad[0].attr, 0), -ENOENT);
}

/* What may change in which state. What is on its way was made with the attributes as they are. */
static void attributes_by_state(void **state)
{
	static const struct {
		uint32_t set;
		uint8_t may[6]; /* in RESET, INIT, RTR, RTS, SQD, ERROR */
	} rows[] = {
		{ENGINE_SET_ACCESS, {1, 1, 1, 1, 1, 1}},
		{ENGINE_SET_PMTU, {1, 1, 0, 0, 0, 0}},
		{ENGINE_SET_PATH, {1, 1, 0, 0, 1, 0}},
		{ENGINE_SET_REMOTE_QP, {1, 1, 0, 0, 0, 0}},
		{ENGINE_SET_RQ_PSN, {1, 1, 0, 0, 0, 0}},
		{ENGINE_SET_SQ_PSN, {1, 1, 1, 0, 0, 0}},
		{ENGINE_SET_RD_ATOMIC, {1, 1, 1, 0, 1, 0}},
		{ENGINE_SET_DEST_RD_ATOMIC, {1, 1, 0, 0, 1, 0}},
		{ENGINE_SET_RNR_TIMER, {1, 1, 1, 1, 1, 1}},
		{ENGINE_SET_TIMEOUT, {1, 1, 1, 1, 1, 1}},
		{ENGINE_SET_RETRIES, {1, 1, 1, 1, 1, 1}},
		{ENGINE_SET_RNR_RETRIES, {1, 1, 1, 1, 1, 1}},
		{ENGINE_SET_WANTS_DRAINED, {0, 0, 0, 0, 0, 0}},
	};
	static const uint8_t to[6] = {ENGINE_INIT, ENGINE_INIT, ENGINE_RTS,
				      ENGINE_RTS,  ENGINE_SQD,  ENGINE_ERROR};
	struct end *s = &w.end[0];

	(void)state;
	for (unsigned in = ENGINE_RESET; in <= ENGINE_ERROR; in++)
		for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
			uint32_t needed = in == ENGINE_RTR ? ENGINE_SET_SQ_PSN : 0;

			start(1);
			end_open(s, w.now, 1);
			end_add_qp(s, 0);
			end_rise(s, w.now, 0, in < ENGINE_RTS ? (uint8_t)in : ENGINE_RTS);
			if (in > ENGINE_RTS)
				assert_int_equal(end_set(s, w.now, 0, (uint8_t)in, 0), 0);
			assert_int_equal(end_set(s, w.now, 0, to[in], rows[i].set | needed),
					 rows[i].may[in] ? 0 : -EINVAL);
		}
}

/* Query tells what was set, and where the PSNs are. */
static void query(void **state)
{
	struct engine_attr got;
	struct rc_caps caps;
	bool is_draining;

	(void)state;
	start(1);
	join();
	const struct end_qp *q = &w.end[0].qp[0];

	post(a_write);
	run();
	assert_int_equal(rc_qp_query(w.end[0].e, q->number, &got, &caps, &is_draining), 0);
	assert_false(is_draining);
	assert_int_equal(got.state, ENGINE_RTS);
	assert_int_equal(got.pmtu, q->attr.pmtu);
	assert_int_equal(got.remote_qp, q->attr.remote_qp);
	assert_int_equal(got.access, q->attr.access);
	assert_int_equal(got.timeout, q->attr.timeout);
	assert_int_equal(got.rd_atomic, q->attr.rd_atomic);
	assert_int_equal(got.sq_psn, q->attr.sq_psn + 3);
	assert_int_equal(got.rq_psn, q->attr.rq_psn);
	assert_memory_equal(&caps, &q->caps, sizeof caps);
	assert_int_equal(rc_qp_query(w.end[0].e, 9, NULL, NULL, NULL), -ENOENT);
	assert_true(rc_has_qp(w.end[0].e, q->number));
	assert_false(rc_has_qp(w.end[0].e, q->number + 1));
}

/* All that is posted comes back flushed, in order, and so does what is posted later. */
static void flush(void **state)
{
	struct work k = a_write;

	(void)state;
	start(1);
	join();
	w.is_held[1] = true;
	for (uint32_t i = 0; i < 4; i++) {
		k.cookie = i;
		assert_int_equal(try_post(&k), 0);
		post_recv(0, 0, 64, 1, 100 + i);
	}
	run_until(w.now + 100);
	assert_int_equal(end_set(&w.end[0], w.now, 0, ENGINE_ERROR, 0), 0);
	k.cookie = 4;
	assert_int_equal(try_post(&k), 0);
	post_recv(0, 0, 64, 1, 104);
	for (uint32_t sent = 0, got = 0; sent + got < 10;) {
		struct done done;

		assert_true(end_poll(&w.end[0], &done));
		assert_int_equal(done.status, ENGINE_FLUSHED);
		if (done.code == ENGINE_DONE_SENT)
			assert_int_equal(done.cookie, sent++);
		else
			assert_int_equal(done.cookie, 100 + got++);
	}
	expect_nothing(0);
	assert_int_equal(rc_ops.deadline(w.end[0].e, ALL_FREE), NSEC_NEVER);
	assert_int_equal(counts(&w.end[0])->failed, 0);
	/* A late acknowledgement finds no work. */
	w.is_held[1] = false;
	run();
	assert_true(counts(&w.end[0])->drop_state > 0);
	check_balance(&w.end[0]);
}

/* To ENGINE_SQD, whose end is told of as asked. */
static void start_drain(struct end *s, bool wants_drained)
{
	s->qp[0].attr.wants_drained = wants_drained;
	assert_int_equal(end_set(s, w.now, 0, ENGINE_SQD, ENGINE_SET_WANTS_DRAINED), 0);
}

static bool is_draining(const struct end *s)
{
	bool is;

	assert_int_equal(rc_qp_query(s->e, s->qp[0].number, NULL, NULL, &is), 0);
	return is;
}

/* Work that was begun is finished, the rest waits; the event comes once; then all goes on. */
static void drain(void **state)
{
	struct work k[3] = {a_write, a_write, a_write};

	(void)state;
	start(1);
	w.end[0].cfg.cc.window_bytes = 1024;
	join();
	for (uint32_t i = 0; i < 2; i++) {
		k[i].cookie = i;
		post(k[i]);
	}
	run_until(w.now + 10);
	start_drain(&w.end[0], true);
	assert_true(is_draining(&w.end[0]));
	expect_no_event(&w.end[0]);
	k[2].cookie = 2;
	post(k[2]);
	run();
	expect_event(&w.end[0], w.end[0].qp[0].number, ENGINE_EVENT_DRAINED);
	expect_no_event(&w.end[0]);
	expect_sent(&k[0], ENGINE_OK);
	expect_nothing(0);
	assert_int_equal(n_seen(0, ROCE_OP_WRITE_FIRST), 1);
	assert_false(is_draining(&w.end[0]));
	/* The other direction is not concerned. */
	struct work back = {.side = 1, .code = ENGINE_WRITE, .len = 10, .to = 5000};

	post(back);
	run();
	expect_sent(&back, ENGINE_OK);
	assert_int_equal(end_set(&w.end[0], w.now, 0, ENGINE_RTS, 0), 0);
	run();
	expect_sent(&k[1], ENGINE_OK);
	expect_sent(&k[2], ENGINE_OK);
	expect_no_event(&w.end[0]);
	check_ends();
}

/* What the peer put off is not done: draining lasts until it is. */
static void drain_while_put_off(void **state)
{
	(void)state;
	start(1);
	join();
	post(a_send);
	run_until(w.now + 3000);
	assert_int_equal(counts(&w.end[0])->rx_rnr, 1);
	start_drain(&w.end[0], true);
	expect_no_event(&w.end[0]);
	assert_true(is_draining(&w.end[0]));
	post_recv(1, 0, 3000, 1, 2);
	imagine_arrival(&a_send, 0);
	run();
	expect_event(&w.end[0], w.end[0].qp[0].number, ENGINE_EVENT_DRAINED);
	expect_sent(&a_send, ENGINE_OK);
	check_ends();
}

/* With nothing out it is drained at once. */
static void drain_idle(void **state)
{
	(void)state;
	start(1);
	join();
	start_drain(&w.end[0], true);
	expect_event(&w.end[0], w.end[0].qp[0].number, ENGINE_EVENT_DRAINED);
	expect_no_event(&w.end[0]);
}

/* Who does not ask is not told, and each drain is asked for anew. */
static void drain_untold(void **state)
{
	struct end *s = &w.end[0];
	struct engine_attr got;

	(void)state;
	start(1);
	join();
	for (uint32_t round = 0; round < 4; round++) {
		bool wants_event = round == 1;

		post(a_write);
		run_until(w.now + 100);
		if (round == 2)
			assert_int_equal(end_set(s, w.now, 0, ENGINE_SQD, 0), 0);
		else
			start_drain(s, wants_event);
		assert_int_equal(rc_qp_query(s->e, s->qp[0].number, &got, NULL, NULL), 0);
		assert_int_equal(got.wants_drained, wants_event);
		assert_true(is_draining(s));
		run();
		assert_false(is_draining(s));
		if (wants_event)
			expect_event(s, s->qp[0].number, ENGINE_EVENT_DRAINED);
		expect_no_event(s);
		expect_sent(&a_write, ENGINE_OK);
		assert_int_equal(end_set(s, w.now, 0, ENGINE_RTS, 0), 0);
	}
	check_ends();
}

/* Back in ENGINE_RTS, or in ENGINE_ERROR, before it has drained: then there is no end to tell of.
 */
static void drain_broken_off(void **state)
{
	(void)state;
	for (unsigned to = ENGINE_RTS; to <= ENGINE_ERROR; to += ENGINE_ERROR - ENGINE_RTS) {
		start(1);
		join();
		post(a_write);
		run_until(w.now + 100);
		start_drain(&w.end[0], true);
		assert_int_equal(end_set(&w.end[0], w.now, 0, (uint8_t)to, 0), 0);
		run();
		expect_sent(&a_write, to == ENGINE_RTS ? ENGINE_OK : ENGINE_FLUSHED);
		expect_no_event(&w.end[0]);
	}
}

/* Only the step that starts a drain takes the wish to be told of its end. */
static void drain_asked_elsewhere(void **state)
{
	struct end *s = &w.end[0];
	struct engine_attr attr = {.wants_drained = true}, got;

	(void)state;
	start(1);
	join();
	assert_int_equal(
		rc_qp_modify(s->e, w.now, s->qp[0].number, &attr, ENGINE_SET_WANTS_DRAINED),
		-EINVAL);
	s->qp[0].attr.wants_drained = true;
	assert_int_equal(end_set(s, w.now, 0, ENGINE_RTS, ENGINE_SET_WANTS_DRAINED), -EINVAL);
	assert_int_equal(end_set(s, w.now, 0, ENGINE_ERROR, ENGINE_SET_WANTS_DRAINED), -EINVAL);
	assert_int_equal(end_set(s, w.now, 0, ENGINE_SQD, 0), 0);
	assert_int_equal(end_set(s, w.now, 0, ENGINE_SQD, ENGINE_SET_WANTS_DRAINED), -EINVAL);
	assert_int_equal(end_set(s, w.now, 0, ENGINE_RTS, ENGINE_SET_WANTS_DRAINED), -EINVAL);
	assert_int_equal(rc_qp_query(s->e, s->qp[0].number, &got, NULL, NULL), 0);
	assert_false(got.wants_drained);
	assert_int_equal(got.state, ENGINE_SQD);
	expect_no_event(s);
}

/* Reset forgets work and completions; the queue pair then works as a new one. */
static void reset_and_reuse(void **state)
{
	(void)state;
	start(1);
	join();
	for (uint32_t round = 0; round < 20; round++) {
		/* One completion nobody took, and a message in the middle. */
		assert_int_equal(try_post(&a_write), 0);
		post_recv(1, 0, 3000, 1, 9);
		run();
		assert_int_equal(try_post(&a_send), 0);
		run_until(w.now + round % 5 * 700);
		clear_wire();
		for (uint32_t i = 0; i < 2; i++) {
			struct end_qp *q = &w.end[i].qp[0];

			assert_int_equal(end_set(&w.end[i], w.now, 0, ENGINE_RESET, 0), 0);
			expect_nothing(i);
			assert_int_equal(rc_ops.deadline(w.end[i].e, ALL_FREE), NSEC_NEVER);
			q->attr.sq_psn += 12345;
			w.next_psn[i][0] = psn24_of(q->attr.sq_psn);
			w.end[1 - i].qp[0].attr.rq_psn = q->attr.sq_psn;
			end_fill(&w.end[i], round);
		}
		for (uint32_t i = 0; i < 2; i++)
			end_rise(&w.end[i], w.now, 0, ENGINE_RTS);
		post(a_write);
		post_recv(1, 4096, 3000, 1, 2);
		post(a_send);
		imagine_arrival(&a_send, 4096);
		run();
		expect_sent(&a_write, ENGINE_OK);
		expect_sent(&a_send, ENGINE_OK);
		expect_recv_status(1, 2, ENGINE_OK);
		expect_nothing(1);
		check_ends();
	}
}

/* A queue pair that ends in mid-transfer leaves nothing behind, and its number is free. */
static void free_and_make_anew(void **state)
{
	struct end *s = &w.end[0];

	(void)state;
	start(1);
	join();
	assert_int_equal(rc_qp_new(s->e, s->qp[0].number, &s->qp[0].caps, s->srq_memory), -EEXIST);
	post_recv(0, 0, 64, 1, 1);
	assert_int_equal(try_post(&a_write), 0);
	run_until(w.now + 10);
	assert_ptr_equal(rc_qp_free(s->e, s->qp[0].number), s->qp[0].memory);
	assert_null(rc_qp_free(s->e, s->qp[0].number));
	end_spoil_qp(s, 0);
	run();
	expect_nothing(0);
	assert_true(counts(s)->drop_qp > 0);
	assert_int_equal(try_post(&a_write), -ENOENT);
	for (uint32_t i = 0; i < END_QPS; i++)
		end_add_qp(s, i);
	assert_int_equal(rc_qp_new(s->e, 99, &s->qp[0].caps, s->srq_memory), -ENOSPC);
	check_balance(s);
}

/* The same with packets that still wait in the engine: requests of its own, and answers. */
static void free_with_turns(void **state)
{
	struct work k = {.side = 1, .code = ENGINE_READ, .len = 3000};

	(void)state;
	for (uint32_t is_reset = 0; is_reset < 2; is_reset++) {
		struct end *s = &w.end[0];

		start(1);
		join();
		w.is_held[0] = true;
		assert_int_equal(try_post(&k), 0);
		run_until(w.now + 1500);
		assert_int_equal(counts(s)->rx_request, 1);
		assert_int_equal(try_post(&a_write), 0);
		if (is_reset) {
			assert_int_equal(end_set(s, w.now, 0, ENGINE_RESET, 0), 0);
		} else {
			assert_non_null(rc_qp_free(s->e, s->qp[0].number));
			end_spoil_qp(s, 0);
		}
		assert_int_equal(rc_ops.deadline(s->e, ALL_FREE), NSEC_NEVER);
		assert_int_equal(end_pull(s, w.now, wide, END_BATCH), 0);
	}
}

/* A receive of a shared queue that a message has begun to fill: its place is free again when the
 * queue pair is reset, or ends (IBTA 10.2.9.3 tells of no completion then). */
static void shared_receive_in_hand(void **state)
{
	struct engine_srq_caps caps = {.max_recv = 1, .max_sge = 1, .pd = PD};
	struct end *s = &w.end[1];

	(void)state;
	for (uint32_t is_reset = 0; is_reset < 2; is_reset++) {
		struct sge sg;

		start(1);
		join();
		assert_non_null(rc_qp_free(s->e, s->qp[0].number));
		assert_int_equal(rc_srq_new(s->e, 0, &caps, s->srq_memory), 0);
		s->qp[0].caps.srq = 0;
		end_add_qp(s, 0);
		end_rise(s, w.now, 0, ENGINE_RTS);
		sg = area_piece(s, INBOX, 0, 3000);
		struct op op = {.code = ENGINE_RECV, .flags = ENGINE_SHARED, .sg = &sg, .n_sg = 1};

		assert_int_equal(end_post(s, w.now, op), 0);
		assert_int_equal(end_post(s, w.now, op), -ENOMEM);
		assert_int_equal(try_post(&a_send), 0);
		assert_int_equal(end_pull(&w.end[0], w.now, wide, 1), 1);
		end_input(s, w.now, (struct rx_pkt){.peer = PEER, .local = LOCAL},
			  w.end[0].out[0].bytes, w.end[0].out[0].len, w.end[0].out[0].len);
		assert_int_equal(counts(s)->rx_request, 1);
		assert_int_equal(end_post(s, w.now, op), -ENOMEM);
		if (is_reset)
			assert_int_equal(end_set(s, w.now, 0, ENGINE_RESET, 0), 0);
		else
			assert_non_null(rc_qp_free(s->e, s->qp[0].number));
		assert_int_equal(end_post(s, w.now, op), 0);
		assert_int_equal(end_post(s, w.now, op), -ENOMEM);
		expect_nothing(1);
	}
}

/* Who is still in ENGINE_RTR learns from the first packet that the peer is ready. */
static void established(void **state)
{
	(void)state;
	start(1);
	join();
	assert_int_equal(end_set(&w.end[1], w.now, 0, ENGINE_RESET, 0), 0);
	end_rise(&w.end[1], w.now, 0, ENGINE_RTR);
	expect_no_event(&w.end[1]);
	post(a_write);
	run();
	expect_event(&w.end[1], w.end[1].qp[0].number, ENGINE_EVENT_ESTABLISHED);
	expect_no_event(&w.end[1]);
	expect_sent(&a_write, ENGINE_OK);
	assert_int_equal(end_state(&w.end[1], 0), ENGINE_RTR);
	check_ends();
}

/* What post refuses, before and without any change. */
static void post_refuses(void **state)
{
	struct end *s = &w.end[0];
	struct sge sg[ENGINE_SGE + 1];
	struct op op = {.code = ENGINE_WRITE, .sg = sg, .n_sg = 1};

	(void)state;
	start(1);
	s->qp[0].caps.max_send_sge = s->qp[0].caps.max_recv_sge = 2;
	end_open(s, w.now, 1);
	end_add_qp(s, 0);
	for (uint32_t i = 0; i <= ENGINE_SGE; i++)
		sg[i] = area_piece(s, SOURCE, 0, 1);
	op.qp = s->qp[0].number;
	assert_int_equal(end_recv(s, w.now, 0, 0, 8, 1), -EINVAL);
	assert_int_equal(end_post(s, w.now, op), -EINVAL);
	end_rise(s, w.now, 0, ENGINE_INIT);
	assert_int_equal(end_recv(s, w.now, 0, 0, 8, 1), 0);
	assert_int_equal(end_post(s, w.now, op), -EINVAL);
	assert_int_equal(end_set(s, w.now, 0, ENGINE_RESET, 0), 0);
	end_rise(s, w.now, 0, ENGINE_RTR);
	assert_int_equal(end_post(s, w.now, op), -EINVAL);
	assert_int_equal(end_set(s, w.now, 0, ENGINE_RESET, 0), 0);
	end_rise(s, w.now, 0, ENGINE_RTS);
	op.n_sg = 3;
	assert_int_equal(end_post(s, w.now, op), -EINVAL);
	op.code = ENGINE_RECV;
	assert_int_equal(end_post(s, w.now, op), -EINVAL);
	op.n_sg = 1;
	op.code = 77;
	assert_int_equal(end_post(s, w.now, op), -EINVAL);
	op.code = ENGINE_WRITE;
	op.qp++;
	assert_int_equal(end_post(s, w.now, op), -ENOENT);
	op.qp--;
	sg[0] = (struct sge){NULL, RC_MESSAGE_MAX, 0};
	op.n_sg = 2;
	assert_int_equal(end_post(s, w.now, op), -EINVAL);
	assert_int_equal(end_pull(s, w.now, wide, END_BATCH), 0);
	assert_int_equal(rc_ops.deadline(s->e, ALL_FREE), NSEC_NEVER);
}

/* Bad caps and configurations have no size. */
static void sizes(void **state)
{
	struct rc_caps caps = {.max_send = 1, .srq = RC_NO_SRQ};
	struct engine_srq_caps srq = {.max_recv = RC_WR_MAX};

	(void)state;
	start(1);
	assert_true(rc_qp_size(&caps) > 0);
	caps.max_send_sge = ENGINE_SGE + 1;
	assert_int_equal(rc_qp_size(&caps), 0);
	caps = (struct rc_caps){.max_send = RC_WR_MAX + 1};
	assert_int_equal(rc_qp_size(&caps), 0);
	caps = (struct rc_caps){.max_send = 0};
	assert_int_equal(rc_qp_size(&caps), 0);
	assert_true(rc_srq_size(&srq) > 0);
	srq.max_recv = 0;
	assert_int_equal(rc_srq_size(&srq), 0);
	end_open(&w.end[0], w.now, 1);
	struct rc_cfg cfg = w.end[0].cfg;

	cfg.max_qps = 0;
	assert_int_equal(rc_ops.size(&cfg), 0);
	cfg = w.end[0].cfg;
	cfg.n_ports = ENGINE_PORTS + 1;
	assert_int_equal(rc_ops.size(&cfg), 0);
	cfg = w.end[0].cfg;
	cfg.cc.window_bytes = 0;
	assert_int_equal(rc_ops.size(&cfg), 0);
	assert_int_equal(rc_ops.init(w.end[0].e, &cfg, 0), -EINVAL);
}

/* A key of ours that does not cover its piece: the work fails here, nothing reaches the peer. */
static void local_protection(void **state)
{
	static const uint8_t codes[] = {ENGINE_WRITE, ENGINE_SEND, ENGINE_READ};

	(void)state;
	for (uint32_t i = 0; i < sizeof codes; i++) {
		struct end *s = &w.end[0];

		start(1);
		join();
		post_recv(1, 0, 3000, 1, 2);
		/* Reads land here, so the piece must be writable; sends need the range. */
		struct sge sg = codes[i] == ENGINE_READ ? area_piece(s, SOURCE, 0, 100)
							: area_piece(s, SOURCE, AREA - 100, 100);
		struct op op = {.code = codes[i],
				.cookie = 1,
				.qp = s->qp[0].number,
				.remote = area_va(TARGET),
				.key = area_key(&w.end[1], TARGET),
				.sg = &sg,
				.n_sg = 1};

		sg.len += codes[i] == ENGINE_READ ? 0 : 1;
		assert_int_equal(end_post(s, w.now, op), 0);
		run();
		struct work k = {.cookie = 1, .code = codes[i]};

		expect_sent(&k, ENGINE_LOCAL_PROTECTION);
		assert_int_equal(end_state(s, 0), ENGINE_ERROR);
		assert_int_equal(end_state(&w.end[1], 0), ENGINE_RTS);
		expect_nothing(1);
		check_ends();
	}
}

/* A message longer than its receive: both sides fail (IBTA 9.9.2, 9.9.3). */
static void receive_too_short(void **state)
{
	static const uint32_t sizes[] = {0, 1, 1023, 1024, 2047, 2048, 2999};

	(void)state;
	for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		start(1);
		join();
		post_recv(1, 100, sizes[i], 1, 2);
		post_recv(1, 100, 3000, 1, 3);
		post(a_send);
		run();
		expect_sent(&a_send, ENGINE_REMOTE_INVALID);
		expect_recv_status(1, 2, ENGINE_LOCAL_LENGTH);
		expect_recv_status(1, 3, ENGINE_FLUSHED);
		assert_int_equal(end_state(&w.end[0], 0), ENGINE_ERROR);
		assert_int_equal(end_state(&w.end[1], 0), ENGINE_ERROR);
		/* The packets before the fault may have been placed, but not a byte behind. */
		memcpy(w.end[1].image[INBOX] + 100, area_at(&w.end[1], INBOX, 100), sizes[i]);
		check_ends();
	}
}

/* A receive whose key does not cover it: a failure of the responder (IBTA 9.9.3.1.3). */
static void receive_unprotected(void **state)
{
	(void)state;
	start(1);
	join();
	struct sge sg = area_piece(&w.end[1], SOURCE, 0, 3000);
	struct op op = {.code = ENGINE_RECV,
			.cookie = 2,
			.qp = w.end[1].qp[0].number,
			.sg = &sg,
			.n_sg = 1};

	assert_int_equal(end_post(&w.end[1], w.now, op), 0);
	post(a_send);
	run();
	expect_sent(&a_send, ENGINE_REMOTE_OPERATION);
	expect_recv_status(1, 2, ENGINE_LOCAL_PROTECTION);
	assert_int_equal(end_state(&w.end[1], 0), ENGINE_ERROR);
	check_ends();
}

/* The peer refuses the key: the work fails, so do both queue pairs, and nothing was written. */
static void remote_access(void **state)
{
	static const uint8_t codes[] = {ENGINE_WRITE, ENGINE_READ, ENGINE_ATOMIC};

	(void)state;
	for (uint32_t i = 0; i < sizeof codes; i++) {
		struct work k = {.cookie = 1, .code = codes[i], .len = 8}, next = a_write;

		start(1);
		join();
		assert_int_equal(mem_remove(w.end[1].mem, area_key(&w.end[1], TARGET)), 0);
		assert_int_equal(try_post(&k), 0);
		next.cookie = 2;
		assert_int_equal(try_post(&next), 0);
		run();
		expect_sent(&k, ENGINE_REMOTE_ACCESS);
		expect_sent(&next, ENGINE_FLUSHED);
		assert_int_equal(end_state(&w.end[0], 0), ENGINE_ERROR);
		assert_int_equal(end_state(&w.end[1], 0), ENGINE_ERROR);
		expect_event(&w.end[1], w.end[1].qp[0].number, ENGINE_EVENT_ACCESS);
		check_ends();
	}
}

/* In error on a shared receive queue: the last word about it (IBTA 10.3.1, 11.6.3.2). */
static void last_receive(void **state)
{
	struct end *s = &w.end[1];
	struct engine_srq_caps caps = {.max_recv = 4, .max_sge = 1, .pd = PD};

	(void)state;
	start(1);
	end_open(s, w.now, 1);
	assert_int_equal(
		rc_qp_new(s->e, 5, &(struct rc_caps){.max_send = 1, .srq = 0}, s->srq_memory),
		-ENOENT);
	assert_int_equal(rc_srq_new(s->e, 0, &caps, s->srq_memory), 0);
	s->qp[0].caps.srq = 0;
	end_connect(s, w.now, ENGINE_RTS);
	assert_int_equal(end_recv(s, w.now, 0, 0, 8, 1), -EINVAL);
	assert_int_equal(end_set(s, w.now, 0, ENGINE_ERROR, 0), 0);
	expect_event(s, s->qp[0].number, ENGINE_EVENT_LAST_RECEIVE);
	expect_no_event(s);
	assert_non_null(rc_qp_free(s->e, s->qp[0].number));
	assert_ptr_equal(rc_srq_free(s->e, 0), s->srq_memory);
	assert_null(rc_srq_free(s->e, 0));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(transitions),
	cmocka_unit_test(transitions_need_attributes),
	cmocka_unit_test(attributes_out_of_range),
	cmocka_unit_test(attributes_by_state),
	cmocka_unit_test(query),
	cmocka_unit_test(flush),
	cmocka_unit_test(drain),
	cmocka_unit_test(drain_while_put_off),
	cmocka_unit_test(drain_idle),
	cmocka_unit_test(drain_untold),
	cmocka_unit_test(drain_broken_off),
	cmocka_unit_test(drain_asked_elsewhere),
	cmocka_unit_test(reset_and_reuse),
	cmocka_unit_test(free_and_make_anew),
	cmocka_unit_test(free_with_turns),
	cmocka_unit_test(shared_receive_in_hand),
	cmocka_unit_test(established),
	cmocka_unit_test(post_refuses),
	cmocka_unit_test(sizes),
	cmocka_unit_test(local_protection),
	cmocka_unit_test(receive_too_short),
	cmocka_unit_test(receive_unprotected),
	cmocka_unit_test(remote_access),
	cmocka_unit_test(last_receive),
};
CHECK_MAIN(cases)
