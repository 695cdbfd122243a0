/* What the responder of MRC sends: when a SACK goes, and every field of SACKs, NACKs and Transport
 * ACKs (7.5.1, 7.5.2, 7.5.5). */
#include "base/prng.h"
#include "mrc_responder.h"

#define FIRST_PSN 400 /* of the example in 7.5.2.2, where cack_psn is 405 */
#define WINDOW    700u

/* Packet `psn` of that example. */
static void psn_comes(uint32_t psn)
{
	write_one((int64_t)psn - FIRST_PSN);
}

/* Everything before 406 has come, 1000 has, and SACKs have told of what is before 725. */
static void start_example(void)
{
	w.attr.rq_psn = FIRST_PSN;
	open_engine();
	for (uint32_t psn = FIRST_PSN; psn <= 405; psn++)
		psn_comes(psn);
	psn_comes(1000);
	for (uint16_t i = 0; i < 5; i++) {
		probe(i);
		assert_true(pull());
		assert_int_equal(w.got.seth.sack_offset, 64 * i);
	}
	expect_ack(6, 6);
}

/* The worked example of 7.5.2.2: 673, 704, 705, and 680 which triggers a SACK. */
static void worked_example(void **state)
{
	struct mrc_pkt h;

	(void)state;
	defaults();
	start_example();
	assert_int_equal(responder()->unsacked - 1 + FIRST_PSN, 725);
	psn_comes(673);
	assert_int_equal(responder()->unsacked - 1 + FIRST_PSN, 673);
	psn_comes(704);
	psn_comes(705);
	expect_none();
	h = request(MRC_OP_WRITE_ONLY, 680 - FIRST_PSN);
	h.reth.dmalen = 8;
	h.bth.rtx = 1;
	deliver(h, 8);
	expect_sack(6, 673 - FIRST_PSN, UINT64_C(0x180000081));
	assert_int_equal(w.got.seth.sack_offset, 268);
	assert_int_equal(w.got.seth.ack_psn_offset, 275);
	assert_int_equal(w.got.seth.cack_psn, 405);
	assert_int_equal(w.got.cc.ooo_count, 5);
	/* The next map begins behind this one. */
	assert_int_equal(responder()->unsacked - 1 + FIRST_PSN, 673 + 64);
}

/* The SACK of the golden packets, byte for byte. Its ooo_count and rcvd_bytes are of another life
 * than the packets that make up its map. */
static void golden_sack(void **state)
{
	static const uint8_t golden[] = {
		0xdc, 0x00, 0xff, 0xff, 0x00, 0x00, 0x01, 0x11, 0x20, 0x00, 0x01, 0x95,
		0x00, 0x20, 0x01, 0x13, 0xc0, 0x01, 0x02, 0x03, 0x02, 0x22, 0x01, 0x11,
		0x00, 0x00, 0x01, 0x95, 0x00, 0x08, 0x01, 0x0c, 0x00, 0x00, 0x00, 0x01,
		0x80, 0x00, 0x00, 0x81, 0x12, 0x34, 0x00, 0x04, 0x85, 0x00, 0xab, 0xcd,
	};
	struct mrc_pkt h;

	(void)state;
	defaults();
	w.attr.remote_qp = 0x111;
	w.attr.penalty = 5;
	w.attr.flags = MRC_DYNAMIC_MPR | MRC_RESTORE_CWND;
	start_example();
	psn_comes(673);
	psn_comes(704);
	psn_comes(705);
	h = request(MRC_OP_WRITE_ONLY, 680 - FIRST_PSN);
	h.reth.dmalen = 8;
	h.bth.rtx = h.bth.ts = 1;
	h.tseth = (struct tseth){.tx_timestamp = 0x1234, .ftype = MRC_FTYPE_TIMESTAMP};
	w.rx.ecn = 3;
	deliver(h, 8);
	responder()->seen.n_early = 4;
	responder()->rx_bytes = 0xabcd00 - 255;
	assert_true(pull());
	assert_int_equal(w.tx.head_len, sizeof golden);
	assert_memory_equal(w.tx.head, golden, sizeof golden);
}

/* Every field of the 7.5.5.6 packet. */
static void golden_nack(void **state)
{
	static const uint8_t golden[] = {
		0xdd, 0x00, 0xff, 0xff, 0x00, 0x00, 0x01, 0x11, 0x20, 0xff, 0xff,
		0xff, 0x00, 0x00, 0x02, 0x00, 0xc0, 0x01, 0x02, 0x03, 0x02, 0x22,
		0x01, 0x11, 0x00, 0xff, 0xff, 0xff, 0x20, 0x00, 0x43, 0x21,
	};
	struct mrc_pkt h;

	(void)state;
	defaults();
	w.attr.remote_qp = 0x111;
	w.cfg.has_trim_nack = true;
	open_engine();
	h = request(MRC_OP_WRITE_ONLY, 2);
	h.bth.rtx = h.bth.ts = 1;
	h.tseth = (struct tseth){.tx_timestamp = 0x4321, .ftype = MRC_FTYPE_TIMESTAMP};
	w.rx.trimmed = NET_TRIMMED_LASTHOP;
	input(mrc_head_put(&h, (struct span){w.packet, ENGINE_HEAD_MAX}), 0);
	assert_true(pull());
	assert_int_equal(w.tx.head_len, sizeof golden);
	assert_memory_equal(w.tx.head, golden, sizeof golden);
	assert_int_equal(w.tx.udp_len, UDP_LEN);
	assert_int_equal(count()->tx_nack, 1);
}

/* A SACK after more than 16 KiB, of which a packet counts 1 KiB at least (7.5.2, M-38). */
static void sack_after_bytes(void **state)
{
	static const uint32_t lens[] = {0, 256, 1024, 1025, 2048, 4096};

	(void)state;
	for (uint32_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
		uint32_t counts = lens[i] < 1024 ? 1024 : lens[i], sum = 0;

		defaults();
		w.cfg.sack_every_bytes = w.cfg.sack_least_bytes = 0;
		w.attr.pmtu = 4096;
		open_engine();
		for (int64_t n = 0; n < 100; n++) {
			write_at(n, 0, lens[i]);
			sum += counts;
			if (sum > 16384) {
				expect_sack(n + 1, n, 1);
				expect_ack_psn(n);
				sum = 0;
			}
			expect_ack(n + 1, (uint32_t)n + 1);
			expect_none();
		}
	}
}

/* The count begins anew with any SACK, whatever it was for. */
static void sack_count_begins_anew(void **state)
{
	(void)state;
	defaults();
	w.cfg.sack_every_bytes = 16384;
	open_engine();
	write_many(0, 16);
	expect_ack(16, 16);
	probe(1);
	assert_true(pull());
	write_many(16, 32);
	expect_ack(32, 32);
	expect_none();
	write_one(32);
	expect_sack(33, 32, 1);
	expect_ack(33, 33);
	/* Between its cause and its sending, more may come: it tells of that too. */
	write_many(33, 50);
	write_many(50, 60);
	expect_sack(60, 59, 1);
	expect_ack_psn(49);
	expect_ack(60, 60);
	write_many(60, 76);
	expect_ack(76, 76);
	expect_none();
	write_one(76);
	expect_sack(77, 76, 1);
}

/* All but the count: AR, congestion, retransmitted, probes (7.5.2). */
static void sack_triggers(void **state)
{
	(void)state;
	for (uint32_t ecn = 0; ecn < 4; ecn++)
		for (uint8_t bits = 0; bits < 4; bits++) {
			struct mrc_pkt h;

			start();
			h = request(MRC_OP_WRITE_ONLY, 0);
			h.reth.dmalen = 8;
			h.bth.ack_req = bits & 1;
			h.bth.rtx = bits >> 1;
			w.rx.ecn = (uint8_t)ecn;
			deliver(h, 8);
			assert_int_equal(count()->rx_ecn, ecn == 3);
			if (bits > 0 || ecn == 3) {
				expect_sack(1, 0, 1);
				expect_ack_psn(0);
				assert_int_equal(w.got.bth.rtx, bits >> 1);
				assert_int_equal(w.got.seth.m, ecn == 3);
				assert_int_equal(w.got.seth.entropy, EV);
			}
			expect_ack(1, 1);
			expect_none();
		}
}

/* One that asks ahead of a gap has its SACK at once, and again when all before it are here, be it
 * by one packet or several (MRC-7.5.2-07). */
static void asked_ahead_of_a_gap(void **state)
{
	(void)state;
	start();
	ask(3);
	expect_sack(0, -1, 0x11);
	expect_ack_psn(3);
	expect_ack(0, 0);
	write_one(1);
	write_one(2);
	expect_none();
	write_one(0);
	expect_sack(4, 3, 1);
	expect_ack_psn(0);
	expect_ack(4, 4);
	expect_none();
	/* Only once. */
	write_one(4);
	expect_ack(5, 5);
	expect_none();
	/* Two that ask: the later one counts. */
	ask(6);
	ask(8);
	expect_sack(5, 4, 0x15);
	expect_sack(5, 4, 0x15);
	expect_ack(5, 5);
	write_one(5);
	expect_ack(7, 7);
	expect_none();
	write_one(7);
	expect_sack(9, 8, 1);
	expect_ack(9, 9);
	/* An earlier one does not take its place. */
	ask(12);
	ask(10);
	expect_sack(9, 8, 0x15);
	expect_sack(9, 8, 0x15);
	expect_ack(9, 9);
	write_one(9);
	expect_ack(11, 11);
	expect_none();
	write_one(11);
	expect_sack(13, 12, 1);
	expect_ack(13, 13);
	expect_none();
}

/* Several that wait tell of the window as it is when they go. */
static void newest_state_is_told(void **state)
{
	(void)state;
	start();
	ask(2);
	ask(1);
	ask(0);
	for (int64_t n = 2; n >= 0; n--) {
		expect_sack(3, 2, 1);
		expect_ack_psn(n);
		assert_int_equal(w.got.cc.ooo_count, 0);
	}
	expect_ack(3, 3);
	expect_none();
	assert_int_equal(count()->tx_sack, 3);
}

/* A probe is answered with a SACK that has its number, whatever the window (7.4.6). */
static void probe_answer(void **state)
{
	static const uint16_t ids[] = {0, 1, 0x8000, 0xffff};

	(void)state;
	start();
	write_many(0, 3);
	write_one(5);
	expect_ack(3, 3);
	for (uint32_t i = 0; i < 4; i++) {
		w.rx.ecn = i % 2 ? 3 : 2;
		probe(ids[i]);
		assert_true(pull());
		assert_int_equal(w.got.bth.opcode, MRC_OP_SACK);
		assert_int_equal(w.got.bth.psn, 0);
		assert_int_equal(w.got.seth.pr, 1);
		assert_int_equal(w.got.seth.ack_psn_offset, ids[i]);
		assert_int_equal(w.got.seth.cack_psn, wire_psn(2));
		assert_int_equal(w.got.seth.sack_offset, 0);
		assert_int_equal(w.got.seth.sack_bitmap, 0x9);
		assert_int_equal(w.got.seth.m, i % 2);
		assert_int_equal(w.got.seth.entropy, EV);
		assert_int_equal(w.got.cc.ooo_count, 1);
	}
	assert_int_equal(count()->rx_probe, 4);
	assert_int_equal(responder()->seen.end, 6);
	check_balance();
}

/* rcvd_bytes: nominal sizes of what was accepted, in units of 256, rounded up, 24 bits (M-44). */
static void received_bytes(void **state)
{
	uint64_t sum = 0;

	(void)state;
	start();
	for (int64_t n = 0; n < 20; n++) {
		w.rx.udp_len = (uint16_t)(20 + n * 57);
		sum += w.rx.udp_len + 40u;
		ask(n);
		expect_sack(n + 1, n, 1);
		assert_int_equal(w.got.cc.rcvd_bytes, (sum + 255) / 256);
		expect_ack(n + 1, (uint32_t)n + 1);
	}
	ask(3);
	expect_sack(20, 19, 1);
	assert_int_equal(w.got.cc.rcvd_bytes, (sum + 255) / 256);
	expect_ack(20, 20);
	responder()->rx_bytes = (UINT64_C(1) << 32) - 255;
	probe(1);
	assert_true(pull());
	assert_int_equal(w.got.cc.rcvd_bytes, 0);
	responder()->rx_bytes = (UINT64_C(1) << 32) - 256;
	probe(1);
	assert_true(pull());
	assert_int_equal(w.got.cc.rcvd_bytes, 0xffffff);
}

/* ooo_count, to the widest range there is. */
static void out_of_order_count(void **state)
{
	(void)state;
	defaults();
	w.caps.max_mpr = w.attr.mpr = 255;
	w.cfg.max_early_pkts = 65536;
	open_engine();
	write_many(1, 255 * 128);
	probe(1);
	assert_true(pull());
	assert_int_equal(w.got.cc.ooo_count, 255 * 128 - 1);
	write_one(0);
	probe(1);
	assert_true(pull());
	assert_int_equal(w.got.cc.ooo_count, 0);
	assert_int_equal(w.got.seth.cack_psn, wire_psn(255 * 128 - 1));
}

/* ack_psn at the two ends of a 16-bit offset, and the map as far as it goes. */
static void widest_offsets(void **state)
{
	const int64_t last = 255 * 128 - 1;

	(void)state;
	defaults();
	w.caps.max_mpr = w.attr.mpr = 255;
	w.cfg.max_early_pkts = 65536;
	open_engine();
	ask(last);
	assert_true(pull());
	assert_int_equal(w.got.seth.ack_psn_offset, last + 1);
	responder()->unsacked = (uint64_t)last;
	probe(0);
	assert_true(pull());
	/* base = max_rcv_psn - 63: the newest packet is the last of the map (M-18). */
	assert_int_equal(w.got.seth.sack_offset, last + 1 - 63);
	assert_true(w.got.seth.sack_bitmap == UINT64_C(1) << 63);
}

/* SACK.mpr: 0 unless both ends do Dynamic MPR, then what it is when the SACK goes (7.5.4). */
static void range_is_told(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		defaults();
		w.attr.flags = i ? MRC_DYNAMIC_MPR : 0;
		open_engine();
		ask(0);
		expect_sack(1, 0, 1);
		assert_int_equal(w.got.seth.mpr, i ? 8 : 0);
		if (!i)
			continue;
		ask(1);
		w.attr.mpr = 3;
		assert_int_equal(modify(MRC_RTS, MRC_SET_MPR | MRC_SET_SQ_PSN | MRC_SET_MPR_DEST),
				 0);
		expect_sack(2, 1, 1);
		assert_int_equal(w.got.seth.mpr, 3);
	}
}

/* rcv_cwnd_pen and restore_cwnd as they are set, off by default (7.5.1). */
static void responder_flow_control(void **state)
{
	static const uint8_t penalties[] = {0, 1, 64, 127};

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		start();
		ask(0);
		expect_sack(1, 0, 1);
		assert_int_equal(w.got.cc.rcv_cwnd_pen + w.got.cc.restore_cwnd, 0);
		w.attr.penalty = penalties[i / 2];
		w.attr.flags = i % 2 ? MRC_RESTORE_CWND : 0;
		assert_int_equal(modify(MRC_RTS, MRC_SET_PENALTY | MRC_SET_FLAGS | MRC_SET_SQ_PSN |
							 MRC_SET_MPR_DEST),
				 0);
		expect_ack(1, 1);
		ask(1);
		expect_sack(2, 1, 1);
		assert_int_equal(w.got.cc.rcv_cwnd_pen, penalties[i / 2]);
		/* Also with the penalty 0 that ends it: only then is the window restored. */
		assert_int_equal(w.got.cc.restore_cwnd, i % 2);
	}
}

struct timed {
	bool has_service, has_stamp;
	uint8_t tsr, ftype;
	uint16_t stamp, expected;
};

/* What of a timestamp comes back after 1000 ns and a bit, 7 units of 128 ns, here (7.5.5.8). */
static const struct timed timed[] = {
	{false, false, 0, 0, 0, 0},          {false, true, 0, 1, 0x1234, 0x1234},
	{false, true, 1, 1, 0x1234, 0x1234}, {false, true, 0, 0, 0x1234, 0},
	{true, false, 0, 0, 0, 7},           {true, true, 0, 1, 0x1234, 0x123b},
	{true, true, 0, 1, 0xfffe, 0x0005},  {true, true, 1, 1, 0x1234, 0x1234},
	{true, true, 0, 0, 0x1234, 7},
};

/* SACKs and NACKs reflect a data packet's TSETH, which counts if its type says so. */
static void service_time_of_data(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2 * sizeof timed / sizeof timed[0]; i++) {
		const struct timed *t = &timed[i / 2];
		struct mrc_pkt h;

		defaults();
		w.cfg.has_service_time = t->has_service;
		w.cfg.has_trim_nack = true;
		open_engine();
		h = request(MRC_OP_WRITE_ONLY, 0);
		h.bth.ack_req = 1;
		h.bth.ts = t->has_stamp;
		h.tseth =
			(struct tseth){.tx_timestamp = t->stamp, .tsr = t->tsr, .ftype = t->ftype};
		w.rx.trimmed = i % 2;
		deliver(h, 0);
		w.now += 1020;
		assert_true(pull());
		assert_int_equal(w.got.bth.opcode, i % 2 ? MRC_OP_NACK : MRC_OP_SACK);
		assert_int_equal(i % 2 ? w.got.neth.tx_timestamp : w.got.cc.tx_timestamp,
				 t->expected);
	}
}

/* So do answers to probes, which have the word in PETH; BTH.ts does not count there (M-43). */
static void service_time_of_probes(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2 * sizeof timed / sizeof timed[0]; i++) {
		const struct timed *t = &timed[i / 2];
		struct mrc_pkt h = {
			.bth = {.opcode = MRC_OP_PROBE_REQUEST, .ts = i % 2, .dest_qp = NUMBER},
			.peth = {.tx_timestamp = t->stamp, .tsr = t->tsr, .ftype = t->ftype},
		};

		defaults();
		w.cfg.has_service_time = t->has_service;
		open_engine();
		deliver(h, 0);
		w.now += 1020;
		assert_true(pull());
		assert_int_equal(w.got.cc.tx_timestamp, t->expected);
	}
}

/* Time counts from the arrival, not from when the engine was told; and there is an end to it. */
static void service_time_is_bounded(void **state)
{
	struct mrc_reflected r = {0};

	(void)state;
	defaults();
	w.cfg.has_service_time = true;
	open_engine();
	engine()->now = 1000000000;
	r.arrived = engine()->now - 127;
	assert_int_equal(mrc_reflect(engine(), &r), 0);
	r.arrived = engine()->now - 128;
	assert_int_equal(mrc_reflect(engine(), &r), 1);
	r.arrived = engine()->now - 128 * 65534;
	assert_int_equal(mrc_reflect(engine(), &r), 65534);
	r.arrived = 0;
	assert_int_equal(mrc_reflect(engine(), &r), 65535);
}

/* The responder of 7.5.2.2 as its text has it, with M-18 and M-19. */
static struct {
	int64_t cack, max, lowest, asked;
	bool has[2 * WINDOW + 4000];
	uint32_t n_early;
} model;

/* Packet n comes: whether a SACK is due at once. */
static bool model_takes(int64_t n, bool asks, bool wants)
{
	int64_t before = model.cack;
	bool is_sack = asks || wants;

	model.has[n] = true;
	if (n > model.max)
		model.max = n;
	while (model.has[model.cack + 1])
		model.cack++;
	model.n_early = 0;
	for (int64_t i = model.cack + 1; i <= model.max; i++)
		model.n_early += model.has[i];
	if (model.asked >= 0 && model.cack >= model.asked) {
		model.asked = -1;
		is_sack = true;
	}
	if (asks && model.cack < n && n > model.asked)
		model.asked = n;
	if (model.cack > before && model.cack >= model.lowest)
		model.lowest = model.cack;
	else if (model.cack == before && !is_sack && n < model.lowest)
		model.lowest = n;
	return is_sack;
}

static void model_sack(int64_t n)
{
	int64_t base = model.lowest;
	uint64_t map = 0;

	if (base + 63 >= model.max)
		base = model.max - 63 > model.cack ? model.max - 63 : model.cack;
	for (int64_t i = 0; i < 64 && base + i <= model.max; i++)
		map |= (uint64_t)(base + i < 0 || model.has[base + i]) << i;
	expect_sack(model.cack + 1, base, map);
	expect_ack_psn(n);
	assert_int_equal(w.got.cc.ooo_count, model.n_early);
	model.lowest = base + 64;
}

/* Packets in random order, some of which want a SACK, against the model. */
static void random_sacks(void **state)
{
	struct prng rng;

	(void)state;
	prng_init(&rng, check_seed(1), 0);
	for (uint32_t round = 0; round < 8; round++) {
		uint32_t reach = 1 + (uint32_t)prng_below(&rng, WINDOW);
		uint32_t often = 1 + (uint32_t)prng_below(&rng, 20);

		start();
		memset(&model, 0, sizeof model);
		model.cack = model.max = model.lowest = model.asked = -1;
		for (uint32_t i = 0; i < 1500; i++) {
			int64_t n = model.cack + 1 + (int64_t)prng_below(&rng, reach);
			bool asks = prng_below(&rng, 4 * often) == 0;
			bool wants = prng_below(&rng, often) == 0;
			struct mrc_pkt h = request(MRC_OP_WRITE_ONLY, n);

			if (model.has[n])
				continue;
			h.bth.ack_req = asks;
			w.rx.ecn = wants ? 3 : 2;
			deliver(h, 0);
			if (model_takes(n, asks, wants))
				model_sack(n);
			if (responder()->has_ack)
				expect_ack(model.cack + 1, (uint32_t)model.cack + 1);
			expect_none();
		}
	}
}

/* MRC-7.5.2-X02: 16 short packets are 16 KiB, to the byte, unless somebody says otherwise. */
static void short_packets_count_1_kib(void **state)
{
	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		defaults();
		w.cfg.sack_least_bytes = 0;
		w.cfg.sack_every_bytes = 16 * 1024 - 1 + more;
		open_engine();
		write_many(0, 15);
		expect_ack(15, 15);
		expect_none();
		write_one(15);
		if (!more)
			expect_sack(16, 15, 1);
		expect_ack(16, 16);
		expect_none();
	}
}

/* MRC-7.5.2.2-X01: what is told next begins with what was never told, which is not behind what is
 * acknowledged, and falls back to what comes late. */
static void maps_begin_where_nothing_was_told(void **state)
{
	(void)state;
	start();
	write_many(1, 10);
	write_many(11, 200);
	write_one(0);
	ask(200);
	expect_sack(10, 9, ~UINT64_C(2));
	expect_ack(10, 10);
	/* Behind that map, until one in front of it comes. */
	ask(201);
	expect_sack(10, 73, UINT64_MAX);
	expect_ack(10, 10);
	start();
	write_many(1, 40);
	write_many(41, 200);
	ask(200);
	expect_sack(0, -1, ~(UINT64_C(1) << 41 | 2));
	expect_ack(0, 0);
	write_one(40);
	ask(201);
	expect_sack(0, 40, UINT64_MAX);
	expect_ack(0, 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(worked_example),
	cmocka_unit_test(golden_sack),
	cmocka_unit_test(golden_nack),
	cmocka_unit_test(sack_after_bytes),
	cmocka_unit_test(sack_count_begins_anew),
	cmocka_unit_test(sack_triggers),
	cmocka_unit_test(short_packets_count_1_kib),
	cmocka_unit_test(maps_begin_where_nothing_was_told),
	cmocka_unit_test(asked_ahead_of_a_gap),
	cmocka_unit_test(newest_state_is_told),
	cmocka_unit_test(probe_answer),
	cmocka_unit_test(received_bytes),
	cmocka_unit_test(out_of_order_count),
	cmocka_unit_test(widest_offsets),
	cmocka_unit_test(range_is_told),
	cmocka_unit_test(responder_flow_control),
	cmocka_unit_test(service_time_of_data),
	cmocka_unit_test(service_time_of_probes),
	cmocka_unit_test(service_time_is_bounded),
	cmocka_unit_test(random_sacks),
};
CHECK_MAIN(cases)
