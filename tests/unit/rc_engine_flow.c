/* What holds an RC requester back, and for how long: receives not ready, silence, credits, limits
 * on reads and atomics, windows, fences, rooms; and what full queues answer. */
#include "rc_pair.h"

/* IBTA table 46: the times of RNR NAKs, in units of 10 us. */
static const uint32_t rnr_10us[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
				      16,    24,   32,   48,    64,    96,    128,   192,
				      256,   384,  512,  768,   1024,  1536,  2048,  3072,
				      4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

static nsec rnr_ns(uint32_t code)
{
	return rnr_10us[code] * UINT64_C(10000);
}

/* IBTA table 47: receives that a credit code tells of, 0 .. 30. */
static uint32_t credits_of(uint32_t code)
{
	if (code < 4)
		return code;
	return code % 2 == 0 ? 1u << code / 2 : 3u << (code / 2 - 1);
}

static bool is_request(const struct sighting *s)
{
	return s->from == 0 && !is_answer(s->h.bth.opcode);
}

static uint32_t n_requests(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w.n_log; i++)
		n += is_request(&w.log[i]);
	return n;
}

/* Request number n of end 0, which must have been sent. */
static struct sighting nth_request(uint32_t n)
{
	uint32_t i = 0;

	assert_true(n < n_requests());
	while (!is_request(&w.log[i]) || n-- > 0)
		i++;
	return w.log[i];
}

static const struct work small_send = {.cookie = 1, .code = ENGINE_SEND, .len = 64};
static const struct work small_write = {.cookie = 1, .code = ENGINE_WRITE, .len = 64};

/* The retry comes not before the table's time, and not much later. */
static void rnr_timer_table(void **state)
{
	(void)state;
	for (uint8_t code = 0; code < 32; code++) {
		start(code);
		w.end[1].qp[0].attr.rnr_timer = code;
		join();
		post(small_send);
		run_until(w.now + 2 * w.delay + 1);
		assert_int_equal(counts(&w.end[0])->rx_rnr, 1);
		assert_int_equal(counts(&w.end[1])->rx_rnr_sent, 1);
		assert_int_equal(w.log[1].h.aeth.type, AETH_RNR_NAK);
		assert_int_equal(w.log[1].h.aeth.value, code);
		nsec received = w.log[1].at + w.delay;

		post_recv(1, 0, 64, 1, 2);
		imagine_arrival(&small_send, 0);
		run();
		nsec again = nth_request(1).at;

		assert_true(again >= received + rnr_ns(code));
		assert_true(again <= received + rnr_ns(code) + rnr_ns(code) / 8 + 1000);
		expect_sent(&small_send, ENGINE_OK);
		check_ends();
	}
}

static void rnr_exceeded(void **state)
{
	struct work second = small_write;

	(void)state;
	second.cookie = 2;
	for (uint8_t retries = 0; retries < 7; retries++) {
		start(retries);
		w.end[0].qp[0].attr.rnr_retries = retries;
		join();
		assert_int_equal(try_post(&small_send), 0);
		run_until(w.now + 10);
		assert_int_equal(try_post(&second), 0);
		run();
		expect_sent(&small_send, ENGINE_RNR_EXCEEDED);
		expect_sent(&second, ENGINE_FLUSHED);
		assert_int_equal(end_state(&w.end[0], 0), ENGINE_ERROR);
		assert_int_equal(counts(&w.end[0])->rx_rnr, retries + 1u);
		assert_int_equal(counts(&w.end[0])->failed, 1);
		check_ends();
	}
}

static void rnr_without_end(void **state)
{
	(void)state;
	start(1);
	join();
	post(small_send);
	run_until(w.now + 100 * rnr_ns(1));
	assert_true(counts(&w.end[0])->rx_rnr > 50);
	post_recv(1, 0, 64, 1, 2);
	imagine_arrival(&small_send, 0);
	run();
	expect_sent(&small_send, ENGINE_OK);
	check_ends();
}

/* The packets behind the one put off are not answered, and the message comes whole. */
static void rnr_of_many_packets(void **state)
{
	struct work k = {.cookie = 1, .code = ENGINE_SEND, .len = 9000};

	(void)state;
	start(1);
	join();
	post(k);
	run_until(w.now + 5000);
	assert_int_equal(counts(&w.end[1])->tx_nak, 1);
	post_recv(1, 0, 9000, 1, 2);
	imagine_arrival(&k, 0);
	run();
	expect_sent(&k, ENGINE_OK);
	assert_int_equal(counts(&w.end[1])->tx_nak, 1);
	check_ends();
}

/* After so many tries in silence the oldest work fails and the rest is flushed; each silence is as
 * long as asked for, at most four times that (IBTA 9.7.6.1.3). */
static void retry_exceeded(void **state)
{
	struct work second = small_write;

	(void)state;
	second.cookie = 2;
	for (uint8_t retries = 0; retries < 8; retries++) {
		start(retries);
		w.end[0].qp[0].attr.retries = retries;
		w.end[0].qp[0].attr.timeout = 10;
		join();
		w.lose = 1000;
		assert_int_equal(try_post(&small_write), 0);
		run_until(w.now + 10);
		assert_int_equal(rc_ops.deadline(w.end[0].e, ALL_FREE) != NSEC_NEVER, 1);
		run();
		assert_int_equal(try_post(&second), 0);
		run();
		assert_int_equal(n_requests(), retries + 1u);
		for (uint32_t i = 0; i < retries; i++) {
			nsec gap = nth_request(i + 1).at - nth_request(i).at;

			assert_in_range(gap, TIMEOUT_NS(10), 4 * TIMEOUT_NS(10));
		}
		assert_in_range(w.now - nth_request(retries).at, TIMEOUT_NS(10),
				4 * TIMEOUT_NS(10));
		expect_sent(&small_write, ENGINE_RETRY_EXCEEDED);
		expect_sent(&second, ENGINE_FLUSHED);
		assert_int_equal(end_state(&w.end[0], 0), ENGINE_ERROR);
		assert_int_equal(counts(&w.end[0])->timeouts, retries + 1u);
	}
}

/* Losses count only while nothing gets through. */
static void retries_begin_anew(void **state)
{
	struct work k = small_write;

	(void)state;
	start(1);
	w.end[0].qp[0].attr.retries = 1;
	join();
	for (uint32_t i = 0; i < 20; i++) {
		k.cookie = i;
		w.lose = 1000;
		post(k);
		run_until(w.now + 100);
		w.lose = 0;
		run();
		expect_sent(&k, ENGINE_OK);
	}
	assert_int_equal(counts(&w.end[0])->timeouts, 20);
}

/* Without a timeout nobody ever gives up. */
static void timeout_never(void **state)
{
	(void)state;
	start(1);
	w.end[0].qp[0].attr.timeout = 0;
	join();
	w.lose = 1000;
	assert_int_equal(try_post(&small_write), 0);
	run();
	assert_int_equal(n_requests(), 1);
	expect_nothing(0);
}

static void timeout_codes(void **state)
{
	(void)state;
	for (uint8_t code = 1; code < 32; code++) {
		start(code);
		w.end[0].qp[0].attr.timeout = code;
		w.end[0].qp[0].attr.retries = 1;
		w.delay = 100;
		join();
		w.lose = 1000;
		assert_int_equal(try_post(&small_write), 0);
		run();
		assert_in_range(nth_request(1).at - nth_request(0).at, TIMEOUT_NS(code),
				4 * TIMEOUT_NS(code));
	}
}

/* Reads and atomics out never exceed the limit; all are done in the end. */
static void rd_atomic_limit(void **state)
{
	(void)state;
	for (uint8_t limit = 1; limit <= RC_RD_ATOMIC_MAX; limit++) {
		struct work k[24];
		uint32_t out = 0;

		start(limit);
		w.end[0].qp[0].attr.rd_atomic = w.end[1].qp[0].attr.dest_rd_atomic = limit;
		join();
		for (uint32_t i = 0; i < 24; i++) {
			k[i] = (struct work){.cookie = i,
					     .code = ENGINE_READ,
					     .at = 2048 * i,
					     .to = 2048 * i,
					     .len = 1500};
			if (i % 3 == 0)
				k[i] = (struct work){.cookie = i,
						     .code = ENGINE_ATOMIC,
						     .at = 2048 * i,
						     .to = 2048 * i,
						     .len = 8};
			post(k[i]);
		}
		run();
		for (uint32_t i = 0; i < w.n_log; i++) {
			uint8_t opcode = w.log[i].h.bth.opcode;

			if (w.log[i].from == 0)
				out++;
			else if (opcode != ROCE_OP_READ_RESPONSE_FIRST)
				out--;
			assert_true(out <= limit);
		}
		for (uint32_t i = 0; i < 24; i++)
			expect_sent(&k[i], ENGINE_OK);
		assert_int_equal(counts(&w.end[1])->tx_nak, 0);
		check_ends();
	}
}

/* Writes behind a read that waits for its turn wait too: work goes out in order. */
static void no_overtaking(void **state)
{
	struct work k[3] = {{.cookie = 0, .code = ENGINE_READ, .len = 100},
			    {.cookie = 1, .code = ENGINE_READ, .len = 100, .at = 200},
			    {.cookie = 2, .code = ENGINE_WRITE, .len = 100, .to = 300}};

	(void)state;
	start(1);
	w.end[0].qp[0].attr.rd_atomic = 1;
	join();
	for (uint32_t i = 0; i < 3; i++)
		post(k[i]);
	run();
	assert_int_equal(nth_request(2).h.bth.opcode, ROCE_OP_WRITE_ONLY);
	assert_true(nth_request(1).at >= 2 * w.delay + nth_request(0).at);
	check_ends();
}

/* A fenced write starts after the reads before it are done (IBTA 10.8.3.3); one without does not
 * wait. */
static void fence(void **state)
{
	(void)state;
	for (uint32_t is_fenced = 0; is_fenced < 2; is_fenced++) {
		struct work k[2] = {{.cookie = 0, .code = ENGINE_READ, .len = 3000},
				    {.cookie = 1, .code = ENGINE_WRITE, .len = 100, .to = 4096}};

		start(1);
		k[1].flags = is_fenced ? ENGINE_FENCE : 0;
		join();
		post(k[0]);
		post(k[1]);
		run();
		nsec gap = nth_request(1).at - nth_request(0).at;

		assert_int_equal(gap >= 2 * w.delay, is_fenced);
		expect_sent(&k[0], ENGINE_OK);
		expect_sent(&k[1], ENGINE_OK);
		check_ends();
	}
}

/* An acknowledgement tells of as many receives as are posted, never more. */
static void credit_codes(void **state)
{
	static const uint32_t posted[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 15, 16, 40, 48, 62};

	(void)state;
	for (uint32_t i = 0; i < sizeof posted / sizeof posted[0]; i++) {
		start(i);
		join();
		for (uint32_t k = 0; k < posted[i] + 1; k++)
			post_recv(1, 0, 64, 1, k);
		post(small_send);
		imagine_arrival(&small_send, 0);
		run();
		expect_sent(&small_send, ENGINE_OK);
		const struct aeth *aeth = &w.log[1].h.aeth;

		assert_int_equal(w.log[1].h.bth.opcode, ROCE_OP_ACKNOWLEDGE);
		assert_int_equal(aeth->type, AETH_ACK);
		assert_true(aeth->value < 31 && credits_of(aeth->value) <= posted[i]);
		assert_true(credits_of(aeth->value + 1u) > posted[i]);
	}
}

/* Who knows that no receive is left sends one message ahead at most (IBTA 9.7.7.2.5), and goes on
 * when there are some again. Writes need no credit. */
static void credits_hold_back(void **state)
{
	struct work k[5];
	uint32_t first;

	(void)state;
	start(1);
	join();
	post_recv(1, 0, 64, 1, 0);
	post(small_send);
	imagine_arrival(&small_send, 0);
	run();
	expect_sent(&small_send, ENGINE_OK);
	first = w.n_log;
	for (uint32_t i = 0; i < 5; i++) {
		k[i] = (struct work){.cookie = i, .code = ENGINE_SEND, .at = 100 * i, .len = 64};
		post(k[i]);
		imagine_arrival(&k[i], 100 * i);
	}
	run_until(w.now + 20 * rnr_ns(1));
	for (uint32_t i = first; i < w.n_log; i++)
		if (w.log[i].from == 0)
			assert_int_equal(w.log[i].h.bth.psn, w.end[0].qp[0].attr.sq_psn + 1);
	for (uint32_t i = 0; i < 5; i++)
		post_recv(1, 100 * i, 64, 1, i);
	run();
	for (uint32_t i = 0; i < 5; i++)
		expect_sent(&k[i], ENGINE_OK);
	check_ends();
}

/* No more is out than the window of a queue pair, and of all together. */
static void windows(void **state)
{
	struct work k = {.code = ENGINE_WRITE, .len = 16384};

	(void)state;
	start(1);
	w.end[0].cfg.cc.window_bytes = 4096;
	w.end[0].cfg.total_window_bytes = 6 * 1024;
	w.end[0].n_qps = 2;
	join();
	w.is_held[1] = true;
	for (uint8_t i = 0; i < 2; i++) {
		k.qp = i;
		k.to = 32768u * i;
		post(k);
	}
	run_until(w.now + 10000);
	assert_int_equal(w.n_log, 6);
	/* What a queue pair had out does not count against the others once it is gone. */
	assert_non_null(rc_qp_free(w.end[0].e, w.end[0].qp[0].number));
	run_until(w.now + 10000);
	uint32_t n = 0;

	for (uint32_t i = 0; i < w.n_log; i++)
		n += w.log[i].h.bth.dest_qp == w.end[1].qp[1].number;
	assert_int_equal(n, 4);
	w.is_held[1] = false;
	run();
	expect_sent(&k, ENGINE_OK);
	check_balance(&w.end[0]);
	check_balance(&w.end[1]);
}

/* The same where the one that ends was kept back by the others. */
static void window_of_one_that_ends(void **state)
{
	struct work k = {.code = ENGINE_WRITE, .len = 4096};
	struct end *s = &w.end[0];

	(void)state;
	start(1);
	s->cfg.total_window_bytes = 1024;
	s->n_qps = 3;
	join();
	for (uint8_t i = 0; i < 3; i++) {
		k.qp = i;
		k.to = 8192u * i;
		assert_int_equal(try_post(&k), 0);
	}
	run_until(w.now + 10);
	assert_int_equal(w.n_log, 1);
	assert_non_null(rc_qp_free(s->e, s->qp[1].number));
	end_spoil_qp(s, 1);
	assert_int_equal(end_set(s, w.now, 2, ENGINE_RESET, 0), 0);
	k.qp = 0;
	run();
	expect_sent(&k, ENGINE_OK);
	expect_nothing(0);
}

/* In a long message one packet in so many asks for an acknowledgement. */
static void ack_requests(void **state)
{
	struct work k = {.code = ENGINE_WRITE, .len = 51200};

	(void)state;
	for (uint32_t every = 1; every < 40; every += 6) {
		uint32_t since = 0;

		start(1);
		w.end[0].cfg.ack_every_pkts = every;
		w.end[0].qp[0].attr.pmtu = 512;
		join();
		post(k);
		run();
		for (uint32_t i = 0; i < w.n_log; i++) {
			if (w.log[i].from == 1)
				continue;
			since = w.log[i].h.bth.ack_req ? 0 : since + 1;
			assert_true(since < every);
		}
		expect_sent(&k, ENGINE_OK);
		assert_true(n_seen(1, ROCE_OP_ACKNOWLEDGE) <= 100 / every + 2);
		check_ends();
	}
}

/* Law 4: what a port has no room for waits, and an acknowledgement is not behind all the data. */
static void rooms(void **state)
{
	static const uint16_t shut[ENGINE_PORTS] = {0, 2}, open[ENGINE_PORTS] = {END_BATCH};
	struct work k = {.code = ENGINE_WRITE, .len = 49152};
	struct end *s = &w.end[0];

	(void)state;
	start(1);
	s->cfg.n_ports = w.end[1].cfg.n_ports = 2;
	s->cfg.cc.window_bytes = 1u << 20;
	s->n_qps = 2;
	s->qp[1].attr.port = 1;
	join();
	for (uint8_t i = 0; i < 2; i++) {
		k.qp = i;
		post(k);
	}
	assert_int_equal(send_some(0, shut, END_BATCH), 2);
	assert_int_equal(w.log[0].h.bth.dest_qp, w.end[1].qp[1].number);
	k = (struct work){.side = 1, .code = ENGINE_WRITE, .len = 8, .to = 60000};
	post(k);
	w.is_held[0] = true;
	run_until(w.now + 5000);
	uint32_t before = n_seen(0, ROCE_OP_ACKNOWLEDGE);

	send_some(0, open, END_BATCH);
	assert_int_equal(n_seen(0, ROCE_OP_ACKNOWLEDGE), before + 1);
	w.is_held[0] = false;
	run();
	check_ends();
}

/* However long answers wait, they go in the order of their requests, the newest at last. */
static void answers_in_order(void **state)
{
	static const uint8_t codes[] = {ENGINE_WRITE, ENGINE_READ, ENGINE_WRITE, ENGINE_ATOMIC,
					ENGINE_SEND,  ENGINE_READ, ENGINE_WRITE};

	(void)state;
	for (uint32_t n = 1; n <= sizeof codes; n++) {
		uint32_t last = 0;

		start(n);
		join();
		post_recv(1, 0, 2000, 1, 1);
		for (uint32_t i = 0; i < n; i++)
			post((struct work){.code = codes[i],
					   .at = 4096 * i,
					   .to = 4096 * i,
					   .len = codes[i] == ENGINE_ATOMIC ? 8 : 2000});
		w.is_held[1] = true;
		run_until(w.now + 5000);
		w.is_held[1] = false;
		run();
		for (uint32_t i = 0; i < w.n_log; i++)
			if (w.log[i].from == 1) {
				assert_true(w.log[i].h.bth.psn > last);
				last = w.log[i].h.bth.psn;
			}
		assert_int_equal(last, w.next_psn[0][0].v - 1);
		assert_int_equal(counts(&w.end[0])->tx_retx, 0);
	}
}

/* A marked packet is answered with a notification, at most one in the time that was set. */
static void congestion_notices(void **state)
{
	struct work k = {.code = ENGINE_WRITE, .len = 65536};
	nsec last = 0;

	(void)state;
	start(1);
	w.end[0].cfg.cc = (struct cc_cfg){
		.kind = CC_DCQCN, .window_bytes = 65536, .line_rate_bps = UINT64_C(100000000000)};
	w.end[1].cfg.cnp_every_ns = 7000;
	w.mark = 1000;
	join();
	for (uint32_t i = 0; i < 8; i++)
		post(k);
	run();
	for (uint32_t i = 0; i < 8; i++)
		expect_sent(&k, ENGINE_OK);
	assert_true(n_seen(1, ROCE_OP_CNP) > 1);
	for (uint32_t i = 0; i < w.n_log; i++) {
		if (w.log[i].h.bth.opcode != ROCE_OP_CNP || w.log[i].from != 1)
			continue;
		if (last)
			assert_true(w.log[i].at >= last + 7000);
		last = w.log[i].at;
	}
	assert_int_equal(counts(&w.end[0])->rx_cnp, n_seen(1, ROCE_OP_CNP));
	assert_int_equal(counts(&w.end[1])->tx_cnp, n_seen(1, ROCE_OP_CNP));
	check_ends();
	/* The same transfer without marks is much faster. */
	nsec slow = w.log[w.n_log - 1].at;

	start(1);
	join();
	for (uint32_t i = 0; i < 8; i++)
		post(k);
	run();
	assert_true(slow > 2 * w.log[w.n_log - 1].at);
}

/* Full queues say so, and completions that nobody took keep their places (law 5). */
static void queues_full(void **state)
{
	(void)state;
	start(1);
	w.end[0].qp[0].caps.max_send = w.end[1].qp[0].caps.max_recv = 3;
	join();
	for (uint32_t i = 0; i < 3; i++)
		post_recv(1, 0, 64, 1, i);
	assert_int_equal(end_recv(&w.end[1], w.now, 0, 0, 64, 3), -ENOMEM);
	for (uint32_t i = 0; i < 3; i++)
		post(small_send);
	imagine_arrival(&small_send, 0);
	assert_int_equal(try_post(&small_send), -ENOMEM);
	run();
	assert_int_equal(try_post(&small_send), -ENOMEM);
	assert_int_equal(end_recv(&w.end[1], w.now, 0, 0, 64, 3), -ENOMEM);
	expect_sent(&small_send, ENGINE_OK);
	post(small_send);
	assert_int_equal(try_post(&small_send), -ENOMEM);
	expect_done(1, (struct done){.code = ENGINE_DONE_RECEIVED, .op = ENGINE_RECV, .len = 64});
	post_recv(1, 0, 64, 1, 4);
	run();
	for (uint32_t i = 0; i < 3; i++)
		expect_sent(&small_send, ENGINE_OK);
	expect_nothing(0);
	check_ends();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(rnr_timer_table),
	cmocka_unit_test(rnr_exceeded),
	cmocka_unit_test(rnr_without_end),
	cmocka_unit_test(rnr_of_many_packets),
	cmocka_unit_test(retry_exceeded),
	cmocka_unit_test(retries_begin_anew),
	cmocka_unit_test(timeout_never),
	cmocka_unit_test(timeout_codes),
	cmocka_unit_test(rd_atomic_limit),
	cmocka_unit_test(no_overtaking),
	cmocka_unit_test(fence),
	cmocka_unit_test(credit_codes),
	cmocka_unit_test(credits_hold_back),
	cmocka_unit_test(windows),
	cmocka_unit_test(window_of_one_that_ends),
	cmocka_unit_test(ack_requests),
	cmocka_unit_test(rooms),
	cmocka_unit_test(answers_in_order),
	cmocka_unit_test(congestion_notices),
	cmocka_unit_test(queues_full),
};
CHECK_MAIN(cases)
