#include <string.h>

#include "check.h"
#include "ref/ref.h"
#include "ref_pair.h"
#include "wire/net.h"

static void acknowledges_every_fourth(void **state)
{
	(void)state;
	start();
	post(0, 11 * PAYLOAD, ENGINE_WRITE, 1);
	assert_int_equal(pull(0, wide, BATCH), 11);
	struct tx_pkt data[11];
	static uint8_t heads[11][ENGINE_HEAD_MAX];

	for (uint32_t i = 0; i < 11; i++) {
		data[i] = w.tx[i];
		memcpy(heads[i], w.tx[i].head, ENGINE_HEAD_MAX);
		data[i].head = heads[i];
	}
	for (uint32_t i = 0; i < 11; i++) {
		struct flight f = {.tx = data[i], .ecn = i == 7 ? 3 : 1};
		/* The fourth, the eighth, and the last of the message. */
		uint32_t acks = i == 3 || i == 7 || i == 10;

		deliver(1, &f);
		assert_int_equal(pull(1, wide, BATCH), acks);
		if (!acks)
			continue;
		struct mrc_pkt p = decode(&w.tx[0]);

		assert_int_equal(p.bth.opcode, MRC_OP_SACK);
		assert_int_equal(p.bth.dest_qp, 0);
		assert_int_equal(p.bth.psn, i);
		assert_int_equal(p.seth.cack_psn, i);
		assert_int_equal(p.seth.ack_psn_offset, 0);
		assert_int_equal(p.seth.m, i == 7 ? MRC_MARK_SKIP : MRC_MARK_NONE);
		assert_int_equal(p.seth.entropy, data[i].ev);
		assert_int_equal(w.tx[0].ev, data[i].ev);
		assert_int_equal(w.tx[0].tclass, ENGINE_CONTROL);
	}
	assert_int_equal(count(1)->rx_ecn, 1);
	assert_int_equal(count(1)->tx_ack, 3);
}

/* The last packet of a message comes before its turn: it is answered, and so is the packet that
 * closes the gap before it, or the sender would wait for a timeout. */
static void the_end_of_a_gap_is_acknowledged(void **state)
{
	static uint8_t heads[3][ENGINE_HEAD_MAX];
	static const uint32_t order[] = {2, 0, 1};
	struct tx_pkt data[3];

	(void)state;
	start();
	post(0, 3 * PAYLOAD, ENGINE_WRITE, 1);
	assert_int_equal(pull(0, wide, BATCH), 3);
	for (uint32_t i = 0; i < 3; i++) {
		data[i] = w.tx[i];
		memcpy(heads[i], w.tx[i].head, ENGINE_HEAD_MAX);
		data[i].head = heads[i];
	}
	for (uint32_t i = 0; i < 3; i++) {
		struct flight f = {.tx = data[order[i]], .ecn = 1};

		deliver(1, &f);
		assert_int_equal(pull(1, wide, BATCH), order[i] != 0);
	}
	assert_int_equal(decode(&w.tx[0]).seth.cack_psn, 2);
}

/* Out of order: the map names what came, from its first new packet on; a duplicate is answered. */
static void sack_map(void **state)
{
	(void)state;
	start();
	post(0, 20 * PAYLOAD, ENGINE_WRITE, 1);
	assert_int_equal(pull(0, wide, BATCH), 20);
	struct flight f[20];

	for (uint32_t i = 0; i < 20; i++) {
		f[i] = (struct flight){.tx = w.tx[i]};
		memcpy(f[i].head, w.tx[i].head, ENGINE_HEAD_MAX);
		f[i].tx.head = f[i].head;
	}
	static const uint8_t order[] = {0, 7, 5, 9, 10, 10, 19};

	for (uint32_t i = 0; i < 4; i++)
		deliver(1, &f[order[i]]);
	assert_int_equal(pull(1, wide, BATCH), 1);
	struct mrc_pkt p = decode(&w.tx[0]);

	assert_int_equal(p.seth.cack_psn, 0);
	assert_int_equal(p.seth.ack_psn_offset, 9);
	assert_int_equal(p.seth.sack_offset,
			 1); /* packet 0 came since, and the map starts after it */
	assert_int_equal(p.seth.sack_bitmap, 1u << 4 | 1u << 6 | 1u << 8);
	assert_int_equal(p.cc.ooo_count, 3);
	for (uint32_t i = 4; i < 7; i++)
		deliver(1, &f[order[i]]);
	assert_int_equal(pull(1, wide, BATCH), 2);
	p = decode(&w.tx[0]);
	assert_int_equal(p.seth.ack_psn_offset, 10); /* the duplicate */
	assert_int_equal(p.seth.sack_offset, 10);
	assert_int_equal(p.seth.sack_bitmap, 1u | 1u << 9);
	assert_int_equal(count(1)->rx_duplicate, 1);
	assert_int_equal(count(1)->rx_data, 6);
	assert_int_equal(count(1)->rx_bytes, 6 * PAYLOAD);
}

static void trimmed_is_refused(void **state)
{
	(void)state;
	start();
	post(0, 3 * PAYLOAD, ENGINE_WRITE, 1);
	assert_int_equal(pull(0, wide, BATCH), 3);
	uint32_t ev = w.tx[1].ev;

	hand(0, NET_WHOLE, 0);
	hand(1, NET_TRIMMED, 0);
	hand(2, NET_TRIMMED_LASTHOP, 0);
	hand(0, NET_TRIMMED, 0); /* it came whole before: nothing to send again */
	assert_int_equal(pull(1, wide, BATCH), 3);
	for (uint32_t i = 0; i < 2; i++) {
		struct mrc_pkt p = decode(&w.tx[i]);

		assert_int_equal(p.bth.opcode, MRC_OP_NACK);
		assert_int_equal(p.bth.psn, 1 + i);
		assert_int_equal(p.neth.nack_psn, 1 + i);
		assert_int_equal(p.neth.nack_reason,
				 i == 0 ? MRC_NACK_TRIMMED : MRC_NACK_TRIMMED_LASTHOP);
		assert_int_equal(w.tx[i].udp_len, 12 + 32 + PAYLOAD);
		fly(1, &w.tx[i]);
	}
	assert_int_equal(decode(&w.tx[0]).neth.entropy, ev);
	assert_int_equal(bth_of(&w.tx[2]).opcode, MRC_OP_SACK);
	assert_int_equal(count(1)->rx_trimmed, 2);
	/* Both come again, at once and marked as such. */
	w.now += w.delay;
	for (uint32_t i = 0; i < 2; i++) {
		w.flights[i].tx.head = w.flights[i].head;
		deliver(0, &w.flights[i]);
	}
	w.n_flights = 0;
	assert_int_equal(pull(0, wide, BATCH), 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(w.tx[i].tclass, ENGINE_RETX);
		assert_int_equal(bth_of(&w.tx[i]).rtx, 1);
		assert_int_equal(bth_of(&w.tx[i]).ack_req, 1);
		assert_int_equal(bth_of(&w.tx[i]).psn, 1 + i);
		fly(0, &w.tx[i]);
	}
	assert_int_equal(count(0)->tx_retx_nack, 2);
	run();
	poll_one(0, (struct done){.cookie = 1, .len = 3 * PAYLOAD});
	assert_int_equal(count(0)->tx_retx_timeout, 0);
	check_memory();
}

/* Input of a packet that must change nothing but two counters. */
static void refuse(int to, const struct rx_pkt *rx, const uint64_t *drop)
{
	static uint8_t before[BLOCK], after[BLOCK];
	const uint8_t *counters = (const uint8_t *)count(to);
	size_t at = (size_t)(counters - w.block[to]);
	uint64_t dropped = *drop, received = count(to)->rx;

	memcpy(before, w.block[to], BLOCK);
	ref_ops.input(w.e[to], w.now, rx, 1);
	memcpy(after, w.block[to], BLOCK);
	assert_int_equal(*drop, dropped + 1);
	assert_int_equal(count(to)->rx, received + 1);
	memset(before + at, 0, sizeof(struct ref_counters));
	memset(after + at, 0, sizeof(struct ref_counters));
	assert_memory_equal(before, after, BLOCK);
	check_balance(to);
}

static struct rx_pkt rx_of(const struct tx_pkt *t, uint8_t *flat)
{
	return (struct rx_pkt){
		.head = {flat, flatten(t, flat, ENGINE_HEAD_MAX + PAYLOAD)},
		.at = w.now,
		.peer = PEER,
		.ev = t->ev,
		.port = t->port,
	};
}

/* All shorter forms of a packet, its end in head or in body; and one that is longer. */
static void refuse_cuts(int to, const struct tx_pkt *t)
{
	uint8_t flat[ENGINE_HEAD_MAX + PAYLOAD + 8] = {0};
	struct rx_pkt whole = rx_of(t, flat);

	for (uint32_t len = 0; len < whole.head.len; len++) {
		struct rx_pkt rx = whole;

		rx.head.len = len;
		refuse(to, &rx, &count(to)->drop_malformed);
		if (len < t->head_len)
			continue;
		rx.head.len = t->head_len;
		rx.body[1] = (struct cspan){NULL, len - t->head_len};
		refuse(to, &rx, &count(to)->drop_malformed);
	}
	whole.head.len += 4;
	refuse(to, &whole, &count(to)->drop_malformed);
}

static void truncation_changes_nothing(void **state)
{
	(void)state;
	start();
	post(0, 2 * PAYLOAD + 5, ENGINE_WRITE_IMM, 1);
	post(400, 2 * PAYLOAD + 8, ENGINE_WRITE, 1);
	post(800, 7, ENGINE_WRITE, 2);
	post(900, 20, ENGINE_WRITE_IMM, 3);
	assert_int_equal(pull(0, wide, BATCH), 8);
	for (uint32_t i = 0; i < 8; i++)
		refuse_cuts(1, &w.tx[i]);
	/* Trimmed packets need BTH and METH. */
	uint8_t flat[256];
	struct rx_pkt rx = rx_of(&w.tx[0], flat);

	rx.trimmed = NET_TRIMMED;
	for (rx.head.len = 0; rx.head.len < 16; rx.head.len++) /* M-27 */
		refuse(1, &rx, &count(1)->drop_malformed);
	/* The right payload, without its padding. */
	rx = rx_of(&w.tx[6], flat);
	rx.head.len--;
	flat[1] &= 0xcf;
	refuse(1, &rx, &count(1)->drop_malformed);
	hand(1, NET_WHOLE, 0);
	hand(6, NET_WHOLE, 0);
	hand(3, NET_TRIMMED, 0);
	assert_int_equal(pull(1, wide, BATCH), 2);
	for (uint32_t i = 0; i < 2; i++) {
		refuse_cuts(0, &w.tx[i]);
		/* Only data is trimmed. */
		rx = rx_of(&w.tx[i], flat);
		rx.trimmed = NET_TRIMMED;
		refuse(0, &rx, &count(0)->drop_malformed);
	}
	assert_memory_equal(w.memory[0], w.memory[1] + 2048, 64);
}

struct twist {
	uint32_t byte;
	uint8_t value;
	size_t drop; /* offset of the counter */
};

#define DROP(name) offsetof(struct ref_counters, drop_##name)

/* One byte of a good First packet changed, and what that makes of it. */
static void strangers(void **state)
{
	static const struct twist twists[] = {
		{0, 0xd1, DROP(opcode)},
		{0, 0xde, DROP(opcode)},
		{0, 0x06, DROP(opcode)},
		{0, 0xdc, DROP(malformed)},
		{0, 0xdd, DROP(malformed)},
		{0, 0xca, DROP(malformed)},
		{0, 0xc9, DROP(malformed)},
		{1, 0x01, DROP(malformed)},
		{1, 0x10, DROP(malformed)},
		{8, 0x10, DROP(malformed)},
		{5, 1, DROP(qp)},
		{7, 0, DROP(qp)},
		{7, 2, DROP(qp)},
		{11, 32, DROP(window)},
		{9, 0x80, DROP(window)},
		{10, 0x80, DROP(window)},
		{16, 1, DROP(bounds)},
		{23, 0xff, DROP(bounds)},
		{31, 0x40, DROP(malformed)},
	};
	uint8_t flat[256];
	(void)state;

	start();
	post(MEMORY - 2 * PAYLOAD, 2 * PAYLOAD, ENGINE_WRITE, 1);
	assert_int_equal(pull(0, wide, BATCH), 2);
	for (uint32_t i = 0; i < sizeof twists / sizeof twists[0]; i++) {
		struct rx_pkt rx = rx_of(&w.tx[0], flat);
		const uint8_t *counters = (const uint8_t *)count(1);

		flat[twists[i].byte] = twists[i].value;
		refuse(1, &rx, (const uint64_t *)(const void *)(counters + twists[i].drop));
	}
	struct rx_pkt rx = rx_of(&w.tx[0], flat);

	rx.peer++;
	refuse(1, &rx, &count(1)->drop_stranger);
	rx.peer--;
	rx.port = 1;
	refuse(1, &rx, &count(1)->drop_stranger);
	rx.port = 0;
	ref_ops.input(w.e[1], w.now, &rx, 1);
	assert_int_equal(count(1)->rx_data, 1);
}

static void forged_acknowledgements(void **state)
{
	struct mrc_pkt p = {.bth = {.opcode = MRC_OP_SACK, .pkey = 0xffff}};
	uint8_t flat[ENGINE_HEAD_MAX];
	(void)state;
	w.psn = 0xfffffc;
	start_with(1, plain_cfg());
	post(0, 10 * PAYLOAD, ENGINE_WRITE, 1);
	assert_int_equal(pull(0, wide, BATCH), 10); /* 0xfffffc .. 5 */
	/* cack, offset of the packet answered, of the map, the map */
	static const struct seth forged[] = {
		{.cack_psn = 6},
		{.cack_psn = 7},
		{.cack_psn = 6, .ack_psn_offset = 0xfffd},
		{.cack_psn = 0xfffffd, .ack_psn_offset = 9},
		{.cack_psn = 0xfffffd, .sack_offset = 1, .sack_bitmap = 1u << 8},
		{.cack_psn = 0xfffffd, .sack_offset = 9, .sack_bitmap = 1},
		{.cack_psn = 0xfffffd, .sack_offset = 1, .sack_bitmap = UINT64_C(1) << 63},
		{.cack_psn = 0xfffffd, .pr = 1},
	};

	for (uint32_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
		p.seth = forged[i];
		struct rx_pkt rx = {.head = {flat, mrc_head_put(&p, (struct span){flat, 128})},
				    .peer = PEER};

		refuse(0, &rx, &count(0)->drop_ack);
	}
	p.bth.opcode = MRC_OP_NACK;
	p.neth = (struct neth){.nack_reason = MRC_NACK_TRIMMED, .nack_psn = 6};
	struct rx_pkt rx = {.head = {flat, mrc_head_put(&p, (struct span){flat, 128})},
			    .peer = PEER};

	refuse(0, &rx, &count(0)->drop_ack);
	p.neth = (struct neth){.nack_reason = MRC_NACK_NO_RESOURCE, .nack_psn = 1};
	mrc_head_put(&p, (struct span){flat, 128});
	refuse(0, &rx, &count(0)->drop_opcode);
	/* An old one is none, and a true one of all that is out is taken. */
	p.bth.opcode = MRC_OP_SACK;
	p.seth = (struct seth){.cack_psn = 0xfffff0};
	rx.head.len = mrc_head_put(&p, (struct span){flat, 128});
	refuse(0, &rx, &count(0)->rx_ack);
	p.seth = (struct seth){.cack_psn = 4, .sack_offset = 1, .sack_bitmap = 1};
	mrc_head_put(&p, (struct span){flat, 128});
	ref_ops.input(w.e[0], w.now, &rx, 1);
	poll_one(0, (struct done){.cookie = 1, .len = 10 * PAYLOAD});
	assert_true(ref_ops.deadline(w.e[0], ALL_FREE) == NSEC_NEVER);
}

/* A packet acknowledged while it waits to be retransmitted is not retransmitted. */
static void late_acknowledgement_saves_a_packet(void **state)
{
	struct mrc_pkt p = {.bth = {.opcode = MRC_OP_SACK}};
	static const uint16_t shut[ENGINE_PORTS];
	uint8_t flat[ENGINE_HEAD_MAX];
	(void)state;

	start();
	post(0, 4 * PAYLOAD, ENGINE_WRITE, 1);
	assert_int_equal(pull(0, wide, BATCH), 4);
	w.now += RTO;
	assert_int_equal(pull(0, shut, BATCH), 0);
	p.seth = (struct seth){
		.cack_psn = 0, .ack_psn_offset = 2, .sack_offset = 2, .sack_bitmap = 1};
	struct rx_pkt rx = {.head = {flat, mrc_head_put(&p, (struct span){flat, 128})},
			    .peer = PEER};

	ref_ops.input(w.e[0], w.now, &rx, 1);
	/* An older one tells something new, too: its map starts before what is out. */
	p.seth = (struct seth){.cack_psn = 0xffffff, .sack_offset = 1, .sack_bitmap = 1u << 3};
	mrc_head_put(&p, (struct span){flat, sizeof flat});
	ref_ops.input(w.e[0], w.now, &rx, 1);
	assert_int_equal(pull(0, wide, BATCH), 1);
	assert_int_equal(bth_of(&w.tx[0]).psn, 1);
	assert_int_equal(count(0)->tx_retx_timeout, 1);
	/* And what is acknowledged stays so when time is up. */
	w.now += RTO;
	assert_int_equal(pull(0, wide, BATCH), 1);
	assert_int_equal(bth_of(&w.tx[0]).psn, 1);
}

/* A message is reported when all before it is there, whatever came first; lost reports count. */
static void reports_in_order(void **state)
{
	struct ref_cfg cfg = plain_cfg();
	(void)state;

	cfg.max_events = 4;
	w.psn = 0;
	start_with(1, cfg);
	for (uint64_t i = 0; i < 6; i++)
		post((uint32_t)i * 64, 64, i == 1 ? ENGINE_WRITE : ENGINE_WRITE_IMM, i);
	assert_int_equal(pull(0, wide, BATCH), 6);
	for (uint32_t i = 6; i-- > 0;) {
		hand(i, NET_WHOLE, 0);
		if (i > 0)
			poll_none(1);
	}
	static const uint64_t imms[] = {0, 2, 3, 4};

	for (uint32_t i = 0; i < 4; i++)
		poll_one(1, (struct done){.code = ENGINE_DONE_RECEIVED, .imm = imms[i], .len = 64});
	poll_none(1);
	assert_int_equal(count(1)->events_lost, 1);
}

static void control_lanes_full(void **state)
{
	struct ref_cfg cfg = plain_cfg();
	(void)state;

	cfg.max_controls = 3;
	w.psn = 0;
	start_with(1, cfg);
	for (uint32_t i = 0; i < 5; i++)
		post(64 * i, 64, ENGINE_WRITE, i);
	assert_int_equal(pull(0, wide, BATCH), 5);
	for (uint32_t i = 0; i < 5; i++)
		hand(i, NET_WHOLE, 0);
	assert_int_equal(count(1)->control_lost, 2);
	assert_int_equal(count(1)->rx_data, 5);
	assert_int_equal(pull(1, wide, BATCH), 3);
	assert_int_equal(decode(&w.tx[0]).seth.cack_psn, 4); /* the state as it left */
}

/* Headers of any content: nothing breaks, everything is counted. */
static void random_headers(void **state)
{
	uint64_t seed = check_seed(0xbad);
	uint8_t flat[256];
	(void)state;

	w.psn = 0;
	start_with(seed, plain_cfg());
	for (uint32_t i = 0; i < 20000; i++) {
		int from = (int)below(2);
		struct sge sg = {w.source, below(300), 0};
		struct op op = {
			.qp = (uint32_t)from, .sg = &sg, .n_sg = 1, .code = ENGINE_WRITE_IMM};
		struct done done[4];

		w.now += below(3000);
		ref_ops.post(w.e[from], w.now, &op);
		uint32_t got = pull(from, wide, 1 + below(4));

		for (uint32_t k = 0; k < got; k++) {
			struct rx_pkt rx = rx_of(&w.tx[k], flat);

			for (uint32_t flips = below(4); flips > 0; flips--)
				flat[below(rx.head.len)] ^= (uint8_t)(1u << below(8));
			rx.trimmed = (uint8_t)(chance(100) ? 1 + below(2) : 0);
			rx.head.len = chance(50) ? below(rx.head.len) : rx.head.len;
			ref_ops.input(w.e[1 - from], w.now, &rx, 1);
		}
		ref_ops.poll(w.e[from], done, 4);
	}
	check_balance(0), check_balance(1);
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = MEMORY; i < sizeof w.memory[0]; i++)
			assert_int_equal(w.memory[side][i], CANARY);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(acknowledges_every_fourth),
	cmocka_unit_test(the_end_of_a_gap_is_acknowledged),
	cmocka_unit_test(sack_map),
	cmocka_unit_test(trimmed_is_refused),
	cmocka_unit_test(truncation_changes_nothing),
	cmocka_unit_test(strangers),
	cmocka_unit_test(forged_acknowledgements),
	cmocka_unit_test(late_acknowledgement_saves_a_packet),
	cmocka_unit_test(reports_in_order),
	cmocka_unit_test(control_lanes_full),
	cmocka_unit_test(random_headers),
};

CHECK_MAIN(cases)
