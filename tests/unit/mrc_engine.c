/* Two whole engines of MRC: writes of every size, numbers that wrap, a thousand queue pairs, ports,
 * pools that are too small, and a wire that does everything wrong by a seed. Everything completes,
 * once and in order; no completion comes before its bytes; memory is what the works say; the same
 * seed gives the same trace. Every pull is held against the laws by end.h. */
#define END_QPS 1000u
#define AREA    131072u
#define SEEDS   200u

#include "mrc/state.h"
#include "mrc_agents.h"
#include "seeded.h"

static void bad_configurations(void **state)
{
	struct mrc_cfg good, bad;

	(void)state;
	start(1);
	join();
	good = w.end[0].cfg;
	assert_true(mrc_ops.size(&good) > 0);
#define BAD(member, value)                       \
	bad = good;                              \
	bad.member = value;                      \
	assert_int_equal(mrc_ops.size(&bad), 0); \
	assert_int_equal(mrc_ops.init(w.end[0].e, &bad, 0), -EINVAL)
	BAD(mem, NULL);
	BAD(max_qps, 0);
	BAD(max_qps, (1u << 20) + 1);
	BAD(n_ports, ENGINE_PORTS + 1);
	BAD(cc.window_bytes, 0);
	BAD(cc.kind, 200);
	BAD(max_out_pkts, UINT32_MAX);
	BAD(max_early_pkts, UINT32_MAX);
	BAD(max_answers, UINT32_MAX);
	BAD(max_probes, UINT32_MAX);
	BAD(max_probes, 32769);
#undef BAD
	/* Zeros stand for defaults, and what is least works. */
	struct mrc_cfg zeros = {.mem = good.mem, .max_qps = 1, .cc = good.cc};

	assert_true(mrc_ops.size(&zeros) > 0);
	zeros.max_out_pkts = zeros.max_early_pkts = zeros.max_answers = zeros.max_probes = 1;
	assert_true(mrc_ops.size(&zeros) > 0);
	zeros.max_qps = 1u << 20;
	zeros.n_ports = ENGINE_PORTS;
	zeros.max_probes = 32768;
	assert_true(mrc_ops.size(&zeros) > 0);
}

/* Every packet of a message says where it goes, and what Table 6-2 wants with its place in it. */
static void check_message(const struct work *k, uint16_t pmtu, uint32_t first)
{
	uint32_t n = engine_packets(k->len, pmtu);
	bool has_imm = k->code == ENGINE_WRITE_IMM;

	for (uint32_t i = 0; i < n; i++) {
		const struct sighting *s = &w.log[first + i];
		const struct mrc_pkt *h = &s->h;
		bool is_last = i + 1 == n;
		uint8_t opcode = !is_last ? (i == 0 ? MRC_OP_WRITE_FIRST : MRC_OP_WRITE_MIDDLE)
				 : i == 0 ? (has_imm ? MRC_OP_WRITE_ONLY_IMM : MRC_OP_WRITE_ONLY)
					  : (has_imm ? MRC_OP_WRITE_LAST_IMM : MRC_OP_WRITE_LAST);

		assert_int_equal(s->from, 0);
		assert_int_equal(h->bth.opcode, opcode);
		assert_int_equal(h->reth.va, area_va(TARGET) + k->to + i * pmtu);
		assert_int_equal(h->reth.rkey, area_key(&w.end[1], TARGET));
		assert_int_equal(h->reth.dmalen, k->len);
		assert_int_equal(h->payload.len, is_last ? k->len - i * pmtu : pmtu);
		assert_int_equal(h->bth.se, is_last && (k->flags & ENGINE_SOLICITED));
		assert_int_equal(h->bth.ack_req, is_last);
		assert_int_equal(h->meth.msn, 0);
		if (is_last && has_imm)
			assert_int_equal(h->imm.immdt, k->imm);
	}
}

static void every_size(void **state)
{
	(void)state;
	for (uint32_t p = 0; p < 5; p++)
		for (uint32_t i = 0; i < 24; i++) {
			uint16_t pmtu = pmtus[p];
			uint32_t whole = (i / 6) * (i / 6 > 2 ? 2u : 1u) * pmtu;
			uint32_t len = whole + i % 6 > 2 ? whole + i % 6 - 2 : i % 6;
			struct work k = {.cookie = i,
					 .code = i & 1 ? ENGINE_WRITE_IMM : ENGINE_WRITE,
					 .at = 3,
					 .to = 5 + i,
					 .len = len,
					 .imm = 0xfeedf00d,
					 .n_sg = 1 + i % 5};

			if (k.code == ENGINE_WRITE_IMM && i & 2)
				k.flags = ENGINE_SOLICITED;
			start(i);
			w.end[0].qp[0].attr.pmtu = pmtu;
			join();
			if (k.code == ENGINE_WRITE_IMM)
				post_recv(1, 0, 8);
			post(k);
			run();
			expect_sent(&k, ENGINE_OK);
			if (k.code == ENGINE_WRITE_IMM)
				expect_received(&k, 8);
			expect_nothing(0);
			expect_nothing(1);
			check_message(&k, pmtu, 0);
			assert_int_equal(counts(&w.end[0])->tx_data, engine_packets(len, pmtu));
			assert_int_equal(counts(&w.end[0])->tx_retx, 0);
			assert_int_equal(counts(&w.end[1])->rx_bytes, len);
			expect_no_event(&w.end[0]);
			expect_no_event(&w.end[1]);
			check_rest();
		}
}

/* PSNs of 24 bits and message numbers of 16 wrap in the middle of everything (MRC-7.5-02). */
static void numbers_wrap(void **state)
{
	(void)state;
	for (uint32_t lose = 0; lose <= 60; lose += 20) {
		struct work k = {.code = ENGINE_WRITE_IMM, .len = 3000};

		start(lose);
		w.end[0].qp[0].attr.sq_psn = MRC_NUMBERS - 20;
		w.end[0].cfg.first_msn = w.end[1].cfg.first_msn = UINT16_MAX - 4;
		w.lose = lose;
		w.jitter = 10 * lose;
		join();
		for (uint32_t i = 0; i < 20; i++) {
			post_recv(1, 0, i);
			k.cookie = k.imm = i;
			k.to = 4096 * i;
			k.code = i % 3 ? ENGINE_WRITE_IMM : ENGINE_WRITE;
			post(k);
		}
		run();
		for (uint32_t i = 0, n = 0; i < 20; i++) {
			k.cookie = k.imm = i;
			k.code = i % 3 ? ENGINE_WRITE_IMM : ENGINE_WRITE;
			expect_sent(&k, ENGINE_OK);
			if (k.code == ENGINE_WRITE_IMM)
				expect_received(&k, n++);
		}
		check_rest();
		if (lose == 0)
			for (uint32_t i = 0; i < 20; i++)
				assert_int_equal(
					seen(0, i % 3 ? MRC_OP_WRITE_LAST_IMM : MRC_OP_WRITE_LAST,
					     i % 3 ? i - i / 3 - 1 : i / 3)
						->h.meth.msn,
					(UINT16_MAX - 4 + i) % 65536);
	}
}

/* Payload that nobody stores: megabytes of zeros, in packets whose bytes are their headers. */
static void virtual_memory(void **state)
{
	struct work k = {.cookie = 1, .code = ENGINE_WRITE, .len = 40 * 1024 * 1024 + 5};

	(void)state;
	start(1);
	w.end[0].is_virtual = w.end[1].is_virtual = true;
	w.end[0].qp[0].attr.pmtu = 4096;
	w.end[0].cfg.cc.window_bytes = 1u << 30;
	w.end[1].qp[0].attr.mpr = 16;
	w.jitter = 800;
	w.lose = 2;
	join();
	assert_int_equal(try_post(&k), 0);
	run();
	expect_sent(&k, ENGINE_OK);
	assert_int_equal(counts(&w.end[1])->rx_bytes, k.len);
	assert_int_equal(counts(&w.end[0])->tx_data, engine_packets(k.len, 4096));
	check_balance(&w.end[0]);
	check_balance(&w.end[1]);
	check_idle(&w.end[0]);
	check_idle(&w.end[1]);
}

/* Each queue pair has done its one work, every hundredth two, in their order. */
static void check_thousand(void)
{
	for (uint32_t side = 0; side < 2; side++) {
		static uint8_t n_done[END_QPS];
		struct done d;

		memset(n_done, 0, sizeof n_done);
		while (end_poll(&w.end[side], &d)) {
			uint32_t i = d.qp - w.end[side].qp[0].number;

			assert_int_equal(d.status, ENGINE_OK);
			assert_true(i < END_QPS);
			assert_int_equal(d.cookie, n_done[i] == 0 ? i : END_QPS);
			n_done[i]++;
		}
		for (uint32_t i = 0; i < END_QPS; i++)
			assert_int_equal(n_done[i], i % 100 == 0 ? 2 : 1);
		check_idle(&w.end[side]);
	}
}

/* A thousand queue pairs at once, with pools for some of them only: whoever waits for a chunk gets
 * one in the end. */
static void thousand_pairs(uint32_t max_out_pkts, uint32_t lose, bool is_apart)
{
	static const struct path_ev evs[4] = {
		{0xaaaa0000, 0}, {0xaaaa0001, 1}, {0xaaaa0002, 2}, {0xaaaa0003, 3}};
	static struct evs sets[4];
	struct work k = {.code = ENGINE_WRITE, .len = 1500};

	start(max_out_pkts);
	w.end[0].n_qps = END_QPS;
	w.end[0].cfg.n_ports = w.end[1].cfg.n_ports = 4;
	for (uint32_t i = 0; i < END_QPS; i++)
		for (uint32_t side = 0; side < 2; side++) {
			struct end_qp *q = &w.end[side].qp[i];

			q->caps.max_send = q->caps.max_recv = 4;
			q->caps.max_send_sge = 1;
			q->attr.pmtu = 256;
			q->attr.exp_retries = MRC_EXP_MAX;
			evs_make(&sets[i % 4], &evs[i % 4], 1);
			q->attr.evs = is_apart ? &sets[i % 4].profile : NULL;
		}
	w.end[0].cfg.max_out_pkts = max_out_pkts;
	w.end[1].cfg.max_early_pkts = 2048;
	w.lose = lose;
	w.port_delay[1] = 700;
	w.port_delay[2] = 1300;
	join();
	for (k.qp = 0; k.qp < END_QPS; k.qp++)
		for (k.side = 0; k.side < 2; k.side++) {
			k.cookie = k.qp;
			k.at = 97 * k.qp;
			k.to = 64 * k.qp;
			k.len = 1 + k.qp % 64;
			post(k);
			if (k.qp % 100 == 0) {
				k.at = 7 * k.qp;
				k.to = 65536 + 60 * k.qp;
				k.len = 5000;
				k.cookie = END_QPS;
				post(k);
			}
		}
	run();
	check_thousand();
	check_ends();
}

static void a_thousand_pairs(void **state)
{
	(void)state;
	thousand_pairs(65536, 0, false);
	thousand_pairs(640, 0, false);
	thousand_pairs(64, 0, false);
	thousand_pairs(640, 20, false);
	thousand_pairs(65536, 20, true);
	thousand_pairs(640, 0, true);
	thousand_pairs(64, 0, true);
}

/* Many more packets than the peer's range, and the range changes: nothing is sent that the peer
 * would not track, but for what was on its way when it shrank (7.5.4). */
static void narrow_ranges(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 24; i++) {
		struct work k = {.cookie = 1, .code = ENGINE_WRITE, .len = 120000};
		bool is_dynamic = i & 1;

		start(i);
		w.end[0].qp[0].attr.pmtu = 256;
		w.end[0].cfg.cc.window_bytes = 1u << 20;
		w.end[1].qp[0].attr.mpr = (uint8_t)(1 + i % 3);
		if (is_dynamic)
			w.end[0].qp[0].attr.flags = w.end[1].qp[0].attr.flags = MRC_DYNAMIC_MPR;
		w.lose = i < 12 ? 0 : 30;
		w.jitter = 100 * i;
		join();
		post(k);
		for (uint32_t step = 0; step < 20 && is_dynamic; step++) {
			struct end_qp *q = &w.end[1].qp[0];

			run_until(w.now + 400);
			q->attr.mpr = (uint8_t)(1 + below(8));
			assert_int_equal(
				mrc_qp_modify(w.end[1].e, w.now, q->number, &q->attr, MRC_SET_MPR),
				0);
		}
		run();
		expect_sent(&k, ENGINE_OK);
		assert_int_equal(counts(&w.end[1])->drop_range, 0);
		if (!is_dynamic)
			assert_int_equal(counts(&w.end[1])->rx_nacked, 0);
		check_rest();
	}
}

/* One queue pair over all ports, one over each of two: a port that is shut keeps back who has no
 * other, and nobody else (law 3 and 4). */
static void shut_ports(void **state)
{
	static const uint16_t rooms[][ENGINE_PORTS] = {
		{0}, {9}, {0, 9}, {9, 9}, {1, 1}, {2, 0, 1}, {0, 1, 1}, {1}, {0, 0, 9},
	};
	struct path_ev ev[2] = {{0xaaaa0000, 0}, {0xaaaa0001, 1}};
	struct evs set[2];

	(void)state;
	for (uint32_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
		uint32_t n = 0, on[3] = {0};

		start(i);
		w.end[0].n_qps = 3;
		w.end[0].cfg.n_ports = 3;
		for (uint32_t q = 0; q < 2; q++) {
			evs_make(&set[q], &ev[q], 1);
			w.end[0].qp[q].attr.evs = &set[q].profile;
		}
		join();
		for (uint32_t q = 0; q < 3; q++)
			post((struct work){.qp = q, .code = ENGINE_WRITE, .len = 40000});
		uint32_t room = rooms[i][0] + rooms[i][1] + rooms[i][2];

		n = send_some(0, rooms[i], END_BATCH);
		assert_int_equal(n, room < END_BATCH ? room : END_BATCH);
		for (uint32_t k = 0; k < n; k++)
			on[w.log[k].port]++;
		for (uint32_t p = 0; p < 3; p++)
			assert_int_equal(on[p], rooms[i][p]);
		run();
		for (uint32_t q = 0; q < 3; q++) {
			struct done d;

			assert_true(end_poll(&w.end[0], &d));
			assert_int_equal(d.status, ENGINE_OK);
		}
		check_ends();
	}
}

/* However much data wants to leave, answers are among what leaves (law 4). */
static void answers_not_starved(void **state)
{
	uint32_t n = 0;

	(void)state;
	start(1);
	w.end[0].n_qps = 4;
	w.end[0].cfg.cc.window_bytes = w.end[1].cfg.cc.window_bytes = 1u << 30;
	join();
	for (uint32_t q = 0; q < 4; q++)
		for (uint8_t side = 0; side < 2; side++)
			post((struct work){.side = side,
					   .qp = q,
					   .code = ENGINE_WRITE,
					   .at = 32000 * q,
					   .to = 32000 * q,
					   .len = 32000});
	w.is_held[1] = true;
	run_until(w.now + 2 * w.delay);
	assert_true(counts(&w.end[1])->rx_data > 100);
	send_some(1, wide, END_BATCH);
	for (uint32_t i = 0; i < END_BATCH; i++)
		n += !is_data(w.end[1].out[i].h.bth.opcode);
	assert_true(n > 0 && n < END_BATCH);
	w.is_held[1] = false;
	run();
	check_ends();
}

/* More answers than a burst keep their turn until all are sent. */
static void many_answers(void **state)
{
	(void)state;
	start(1);
	join();
	for (uint32_t i = 0; i < END_BATCH + 8; i++) {
		struct mrc_pkt h = {
			.bth = {.opcode = MRC_OP_PROBE_REQUEST, .dest_qp = w.end[1].qp[0].number},
			.peth = {.probe_id = (uint16_t)i}};

		inject(1, &h);
	}
	assert_int_equal(end_pull(&w.end[1], w.now, wide, END_BATCH), END_BATCH);
	for (uint32_t i = 0; i < END_BATCH; i++)
		assert_int_equal(w.end[1].out[i].h.seth.ack_psn_offset, i);
	assert_int_equal(end_pull(&w.end[1], w.now, wide, END_BATCH), 8);
	check_rest();
}

/* Work that nobody is told of makes room in the queue as soon as what is told of was polled, around
 * it and behind it. */
static void silent_works(void **state)
{
	struct work k = {.code = ENGINE_WRITE, .len = 8};

	(void)state;
	for (uint32_t signaled = 0; signaled < 64; signaled += 9) {
		start(signaled);
		join();
		for (k.cookie = 0; k.cookie < 64; k.cookie++) {
			k.flags = k.cookie == signaled ? 0 : ENGINE_SILENT;
			post(k);
		}
		assert_int_equal(try_post(&k), -ENOMEM);
		run();
		k.cookie = signaled;
		expect_sent(&k, ENGINE_OK);
		expect_nothing(0);
		for (k.cookie = 0; k.cookie < 64; k.cookie++)
			post(k);
		run();
		check_rest();
	}
}

/* Packets of one queue pair go in bursts: with many that send, none waits for all of another. */
static void turns_are_short(void **state)
{
	uint32_t n[4] = {0};

	(void)state;
	start(1);
	w.end[0].n_qps = 4;
	w.end[0].cfg.cc.window_bytes = 1u << 30;
	join();
	for (uint32_t q = 0; q < 4; q++)
		post((struct work){.qp = q, .code = ENGINE_WRITE, .len = 100000});
	for (uint32_t i = 0; i < 4 * MRC_BURST; i++) {
		assert_int_equal(end_pull(&w.end[0], w.now, wide, 1), 1);
		n[qp_to(&w.end[0], w.end[0].out[0].h.bth.dest_qp) - w.end[0].qp]++;
	}
	for (uint32_t q = 0; q < 4; q++)
		assert_int_equal(n[q], MRC_BURST);
}

/* Every pool refuses its nth get, for every n that matters: what is refused is tried again. */
static void pools_that_fail(void **state)
{
	(void)state;
	for (uint32_t which = 0; which < 3; which++)
		for (uint32_t n = 1; n < 50; n++) {
			struct work k = {.code = ENGINE_WRITE_IMM, .len = 20000, .imm = 3};

			start(n);
			w.end[0].qp[0].attr.pmtu = 256;
			w.end[0].qp[0].attr.exp_retries = MRC_EXP_MAX;
			w.lose = 30;
			w.jitter = 1500;
			join();
			struct mrc *from = (struct mrc *)w.end[0].e, *to = (struct mrc *)w.end[1].e;
			struct pool *pools[] = {&from->flights, &to->tracks, &to->answers};

			pool_fail_at(pools[which], n);
			for (uint32_t i = 0; i < 4; i++) {
				post_recv(1, 0, i);
				k.cookie = i;
				k.to = 30000 * i;
				post(k);
			}
			run();
			pool_fail_at(pools[which], 0);
			for (k.cookie = 0; k.cookie < 4; k.cookie++) {
				expect_sent(&k, ENGINE_OK);
				expect_received(&k, k.cookie);
			}
			check_rest();
		}
}

/* Ends that were given different values for their control packets understand each other; every
 * packet that leaves is looked at (M-04). */
static void values_of_control_packets(void **state)
{
	uint32_t n_control = 0;

	(void)state;
	start(1);
	w.end[0].cfg.pkey = 0x8123;
	w.end[1].cfg.pkey = 0x0456;
	w.lose = 100;
	join();
	struct work k = {.code = ENGINE_WRITE, .len = 40000};

	post(k);
	run();
	expect_sent(&k, ENGINE_OK);
	for (uint32_t i = 0; i < w.n_log; i++) {
		const struct mrc_bth *bth = &w.log[i].h.bth;

		if (is_data(bth->opcode) || bth->opcode == MRC_OP_ACKNOWLEDGE)
			continue;
		assert_int_equal(bth->pkey, w.end[w.log[i].from].cfg.pkey);
		n_control++;
	}
	assert_true(n_control > 2);
	assert_int_equal(counts(&w.end[0])->drop_pkey + counts(&w.end[1])->drop_pkey, 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(bad_configurations),
	cmocka_unit_test(every_size),
	cmocka_unit_test(numbers_wrap),
	cmocka_unit_test(virtual_memory),
	cmocka_unit_test(a_thousand_pairs),
	cmocka_unit_test_teardown(narrow_ranges, say_seed),
	cmocka_unit_test(shut_ports),
	cmocka_unit_test(answers_not_starved),
	cmocka_unit_test(many_answers),
	cmocka_unit_test(silent_works),
	cmocka_unit_test(turns_are_short),
	cmocka_unit_test(values_of_control_packets),
	cmocka_unit_test_teardown(pools_that_fail, say_seed),
	cmocka_unit_test_teardown(everything_completes, say_seed),
	cmocka_unit_test_teardown(ended_at_any_time, say_seed),
	cmocka_unit_test_teardown(same_seed_same_trace, say_seed),
};
CHECK_MAIN(cases)
