/* The responder of MRC and its window: duplicates, packets beyond the range, a range that changes,
 * no room to track or to answer, trimmed packets (6.3.1, 7.5.3, 7.5.4). */
#include "mrc_responder.h"

/* What came before is acknowledged both ways, and not looked at: its key may be gone (6.3.1). */
static void duplicates(void **state)
{
	struct mrc_pkt h;

	(void)state;
	start();
	write_at(0, 0, 8);
	write_at(2, 16, 8);
	expect_ack(1, 1);
	for (int64_t n = 0; n < 3; n += 2) {
		h = request(MRC_OP_WRITE_ONLY, n);
		h.reth.va += 100;
		h.reth.rkey = 0x999;
		h.reth.dmalen = 5;
		deliver(h, 8);
		expect_sack(1, 0, 5);
		expect_ack_psn(n);
		expect_ack(1, 1);
		expect_none();
	}
	expect_placed(2, 16, 8);
	expect_untouched(24);
	assert_int_equal(count()->rx_duplicate, 2);
	assert_int_equal(count()->rx_bytes, 16);
	assert_int_equal(responder()->rx_bytes, 2 * (UDP_LEN + 40));
	/* Of immediate data: no receive is taken. */
	post_recv(1);
	write_imm(0);
	expect_no_done();
	assert_int_equal(count()->rx_duplicate, 3);
}

/* From 2^23 - 1 before the expected one on a PSN is a duplicate, however long ago (M-20, M-21). */
static void duplicate_out_of_reach(void **state)
{
	static const int64_t back[] = {1, 32767, 32768, 32769, (1 << 23) - 1};

	(void)state;
	start();
	write_many(0, 4);
	expect_ack(4, 4);
	for (uint32_t i = 0; i < 5; i++) {
		write_one(4 - back[i]);
		expect_sack(4, 3, 1);
		/* The offset is from cack_psn, which is 3. */
		expect_ack_psn(back[i] <= 32769 ? 4 - back[i] : 3);
		expect_ack(4, 4);
	}
	assert_int_equal(count()->rx_duplicate, 5);
	write_one(4 - (1 << 23));
	expect_none();
	assert_int_equal(count()->drop_range, 1);
}

/* The window ends where it was said to (6.3.1 rule 6). */
static void beyond_the_range(void **state)
{
	(void)state;
	start();
	write_one(8 * 128);
	write_one(8 * 128 + 1000);
	write_one((1 << 23) - 1);
	expect_none();
	assert_int_equal(count()->drop_range, 3);
	expect_untouched(0);
	write_one(8 * 128 - 1);
	assert_int_equal(count()->rx_data, 1);
	write_one(0);
	write_one(8 * 128);
	assert_int_equal(count()->rx_data, 3);
	write_one(8 * 128 + 1);
	assert_int_equal(count()->drop_range, 4);
}

static void resize(uint8_t mpr)
{
	w.attr.mpr = mpr;
	assert_int_equal(modify(w.q->state, MRC_SET_MPR), 0);
}

static void start_dynamic(void)
{
	defaults();
	w.attr.flags = MRC_DYNAMIC_MPR;
	open_engine();
	to_rts();
}

/* When the range has shrunk, what the peer was allowed before is refused with a NACK, and what it
 * was never allowed is dropped (M-14). */
static void range_shrinks(void **state)
{
	(void)state;
	start_dynamic();
	write_one(1000);
	resize(2);
	assert_int_equal(responder()->range, 256);
	write_one(255);
	assert_int_equal(count()->rx_data, 2);
	write_one(256);
	expect_nack(256, MRC_NACK_PSN_OOR_WINDOW);
	write_one(1023);
	expect_nack(1023, MRC_NACK_PSN_OOR_WINDOW);
	assert_int_equal(count()->rx_nacked, 2);
	write_one(1024);
	expect_none();
	assert_int_equal(count()->drop_range, 1);
	/* What was taken before the range shrank is still here. */
	write_one(1000);
	expect_sack(0, -1, 1);
	expect_ack_psn(1000);
	expect_ack(0, 0);
	assert_int_equal(count()->rx_duplicate, 1);
	/* The promise ends with what was promised: 1024, and from then on the new range. */
	write_many(0, 255);
	write_many(256, 1000);
	assert_int_equal(responder()->seen.expected, 1001);
	assert_int_equal(responder()->promised, 1001 + 256);
	write_one(1001 + 255);
	assert_int_equal(count()->rx_nacked, 2);
	write_one(1001 + 256);
	assert_int_equal(count()->drop_range, 2);
	check_balance();
}

static void range_grows(void **state)
{
	(void)state;
	start_dynamic();
	write_one(1024);
	assert_int_equal(count()->drop_range, 1);
	resize(32);
	write_one(1024);
	write_one(4095);
	assert_int_equal(count()->rx_data, 2);
	write_one(4096);
	assert_int_equal(count()->drop_range, 2);
	ask(0);
	assert_true(pull());
	assert_int_equal(w.got.seth.mpr, 32);
}

/* No room to track a packet ahead of a gap: refused for now; one in order needs none (7.5.3). */
static void no_bitmap(void **state)
{
	(void)state;
	defaults();
	w.cfg.max_early_pkts = 128;
	open_engine();
	write_one(5);
	write_one(127);
	write_one(128);
	expect_nack(128, MRC_NACK_NO_BITMAP);
	assert_int_equal(count()->rx_nacked, 1);
	assert_int_equal(count()->rx_data, 2);
	expect_placed(127, 0, 8);
	write_many(0, 5);
	expect_ack(6, 6);
	write_many(6, 127);
	expect_ack(128, 128);
	write_one(130);
	assert_int_equal(count()->rx_nacked, 1);
	check_balance();
}

/* A refused packet is not in the records, and its bytes are not counted. */
static void refused_leaves_no_trace(void **state)
{
	struct mrc_responder before;

	(void)state;
	defaults();
	w.cfg.max_early_pkts = 128;
	open_engine();
	write_one(5);
	before = *responder();
	for (int64_t n = 128; n < 140; n++) {
		write_one(n);
		expect_nack(n, MRC_NACK_NO_BITMAP);
	}
	/* But that something came by its port, it does say. */
	memcpy(before.rx_ports, responder()->rx_ports, sizeof before.rx_ports);
	before.n_rx = responder()->n_rx;
	assert_memory_equal(&before, responder(), sizeof before);
}

static void cut(struct mrc_pkt h, uint8_t how, uint32_t left)
{
	uint32_t len = mrc_head_put(&h, (struct span){w.packet, ENGINE_HEAD_MAX});

	assert_true(len > 0);
	w.rx.trimmed = how;
	input(left, left < len ? 0 : 60);
	w.rx.trimmed = NET_WHOLE;
}

/* A packet that a switch cut, with as much of it as one leaves. */
static void trimmed(int64_t n, uint8_t how, uint32_t left)
{
	struct mrc_pkt h = request(MRC_OP_WRITE_ONLY, n);

	h.reth.dmalen = 200;
	cut(h, how, left);
}

/* 7.5.3, trim NACKs supported: the reason by how it was cut, and its length as it was (M-13). */
static void trimmed_with_nack(void **state)
{
	(void)state;
	defaults();
	w.cfg.has_trim_nack = true;
	open_engine();
	trimmed(0, NET_TRIMMED, 32);
	expect_nack(0, MRC_NACK_TRIMMED);
	assert_int_equal(w.tx.udp_len, UDP_LEN);
	assert_int_equal(w.got.neth.entropy, EV);
	trimmed(3, NET_TRIMMED_LASTHOP, 16);
	expect_nack(3, MRC_NACK_TRIMMED_LASTHOP);
	assert_int_equal(w.tx.udp_len, UDP_LEN);
	trimmed(1024, NET_TRIMMED, 32);
	trimmed(-(1 << 23), NET_TRIMMED, 32);
	expect_none();
	assert_int_equal(count()->rx_trimmed, 2);
	assert_int_equal(count()->drop_range, 2);
	expect_untouched(0);
	assert_int_equal(responder()->seen.end, 0);
	assert_int_equal(responder()->rx_bytes, 0);
	/* The cut packet comes whole, and is no duplicate. */
	write_one(0);
	expect_ack(1, 1);
	check_balance();
}

/* A switch that keeps room for BTH and TSETH, as 7.5.3 has it, cuts TSETH off behind METH: all that
 * a NACK needs is there, but for the timestamp (M-49), in whose place service time is told where we
 * do so (M-56). */
static void trimmed_to_the_base_header(void **state)
{
	(void)state;
	for (uint32_t with_time = 0; with_time < 2; with_time++) {
		defaults();
		w.cfg.has_trim_nack = true;
		w.cfg.has_service_time = with_time;
		open_engine();
		for (uint32_t left = 12; left <= 36; left += 4) {
			struct mrc_pkt h = request(MRC_OP_WRITE_ONLY, left);

			h.bth.ts = h.bth.rtx = 1;
			h.tseth = (struct tseth){.tx_timestamp = 0x1234,
						 .ftype = MRC_FTYPE_TIMESTAMP};
			cut(h, NET_TRIMMED, left);
			w.now += 7 << MRC_STAMP_SHIFT;
			expect_nack(left, MRC_NACK_TRIMMED);
			assert_int_equal(w.got.bth.rtx, 1);
			assert_int_equal(w.got.neth.tx_timestamp,
					 (left < 20 ? 0 : 0x1234) + (with_time ? 7 : 0));
			assert_int_equal(w.tx.udp_len, UDP_LEN);
		}
		assert_int_equal(count()->rx_trimmed, 7);
		trimmed(0, NET_TRIMMED, 11);
		assert_int_equal(count()->drop_malformed, 1);
	}
}

/* Marked as trimmed where nothing was cut, as a switch may mark what is too short to be cut: a
 * probe is answered, and data is refused as if it had been cut (M-48). */
static void marked_and_not_cut(void **state)
{
	struct mrc_pkt probe = {.bth = {.opcode = MRC_OP_PROBE_REQUEST, .dest_qp = NUMBER},
				.peth = {.probe_id = 0x4321}};

	(void)state;
	defaults();
	w.cfg.has_trim_nack = true;
	open_engine();
	w.rx.trimmed = NET_TRIMMED_LASTHOP;
	w.rx.is_uncut = 1;
	deliver(probe, 0);
	assert_true(pull());
	assert_int_equal(w.got.bth.opcode, MRC_OP_SACK);
	assert_int_equal(w.got.seth.pr, 1);
	assert_int_equal(w.got.seth.ack_psn_offset, 0x4321);
	write_one(0);
	expect_nack(0, MRC_NACK_TRIMMED_LASTHOP);
	assert_int_equal(w.tx.udp_len, UDP_LEN);
	expect_untouched(0);
	assert_int_equal(count()->rx_probe, 1);
	assert_int_equal(count()->rx_trimmed, 1);
	w.rx.trimmed = NET_WHOLE;
	w.rx.is_uncut = 0;
	write_one(0);
	expect_ack(1, 1);
	check_balance();
}

/* Without trim NACKs a SACK that does not say that it came (M-41). */
static void trimmed_without_nack(void **state)
{
	(void)state;
	start();
	write_one(0);
	expect_ack(1, 1);
	w.rx.ecn = 3;
	trimmed(2, NET_TRIMMED, 32);
	expect_sack(1, 0, 1);
	assert_int_equal(w.got.seth.ack_psn_offset, 0);
	assert_int_equal(w.got.seth.entropy, EV);
	assert_int_equal(w.got.seth.m, MRC_MARK_SKIP);
	expect_none();
	assert_int_equal(count()->rx_trimmed, 1);
	assert_int_equal(responder()->seen.end, 1);
	expect_untouched(8);
}

/* It had come before: nothing needs to be retransmitted, nor is anything executed. */
static void trimmed_after_whole(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		defaults();
		w.cfg.has_trim_nack = i;
		open_engine();
		write_one(0);
		write_one(3);
		expect_ack(1, 1);
		trimmed(0, NET_TRIMMED, 32);
		expect_sack(1, 0, 9);
		assert_int_equal(w.got.seth.ack_psn_offset, 0);
		trimmed(3, NET_TRIMMED_LASTHOP, 32);
		expect_sack(1, 0, 9);
		expect_none();
		assert_int_equal(count()->rx_trimmed, 2);
	}
}

/* After the range has shrunk a cut packet that does not fit is refused for being cut, where we say
 * such things, and else as a whole one would be; no room to track it is needed (M-50). */
static void trimmed_out_of_range(void **state)
{
	(void)state;
	start_dynamic();
	resize(2);
	trimmed(300, NET_TRIMMED, 32);
	expect_nack(300, MRC_NACK_PSN_OOR_WINDOW);
	assert_int_equal(w.tx.udp_len, 0);
	assert_int_equal(count()->rx_nacked, 1);
	defaults();
	w.attr.flags = MRC_DYNAMIC_MPR;
	w.cfg.has_trim_nack = true;
	w.cfg.max_early_pkts = 128;
	open_engine();
	to_rts();
	write_one(5);
	resize(2);
	trimmed(200, NET_TRIMMED, 32);
	expect_nack(200, MRC_NACK_TRIMMED);
	trimmed(300, NET_TRIMMED, 32);
	expect_nack(300, MRC_NACK_TRIMMED);
	trimmed(1023, NET_TRIMMED_LASTHOP, 32);
	expect_nack(1023, MRC_NACK_TRIMMED_LASTHOP);
	assert_int_equal(count()->rx_trimmed, 3);
	trimmed(1024, NET_TRIMMED, 32);
	expect_none();
	assert_int_equal(count()->drop_range, 1);
}

/* Opcodes of MRC's space that mean nothing, and those of operations that it does not have (Table
 * 6-14), if their PSN would be accepted. */
static void unassigned_opcodes(void **state)
{
	(void)state;
	for (uint32_t opcode = 0xc0; opcode < 0xe0; opcode++) {
		if (mrc_opcode_name((uint8_t)opcode))
			continue;
		start();
		deliver(request(opcode, 0), 8);
		/* In the places of responses and control packets nothing was asked for. */
		if ((opcode >= 0xcd && opcode <= 0xd2) || opcode >= 0xd8) {
			assert_int_equal(count()->drop_opcode, 1);
			assert_int_equal(w.q->state, MRC_RTR);
			expect_none();
			continue;
		}
		expect_nak(0, AETH_NAK_INVALID_REQUEST, 0);
		expect_event(ENGINE_EVENT_INVALID);
		assert_int_equal(count()->rx_nak_sent, 1);
		start_dynamic();
		write_one(0);
		write_one(2);
		resize(1);
		deliver(request(opcode, 0), 8);
		deliver(request(opcode, 2), 8);
		deliver(request(opcode, 500), 8);
		assert_int_equal(count()->drop_opcode, 3);
		deliver(request(opcode, 5000), 8);
		assert_int_equal(count()->drop_range, 1);
		assert_int_equal(w.q->state, MRC_RTS);
		expect_ack(1, 1);
		expect_none();
	}
}

/* Without room for answers data is taken all the same, and a SACK is owed; a probe, or what would
 * be refused, is dropped. */
static void no_room_for_answers(void **state)
{
	(void)state;
	defaults();
	w.cfg.max_answers = 2;
	w.cfg.has_trim_nack = true;
	w.caps.max_mpr = 8;
	w.cfg.max_early_pkts = 128;
	open_engine();
	ask(0);
	ask(1);
	ask(2);
	assert_int_equal(count()->rx_data, 3);
	assert_true(responder()->is_owed);
	deliver((struct mrc_pkt){.bth = {.opcode = MRC_OP_PROBE_REQUEST, .dest_qp = NUMBER}}, 0);
	write_one(5);
	write_one(200);
	trimmed(6, NET_TRIMMED, 32);
	trimmed(5, NET_TRIMMED, 32);
	assert_int_equal(count()->drop_busy, 4);
	/* A duplicate is still acknowledged, but not by SACK. */
	write_one(1);
	assert_int_equal(count()->rx_duplicate, 1);
	expect_sack(3, 2, 0x9);
	expect_sack(3, 2, 0x9);
	expect_ack(3, 3);
	expect_none();
	/* Any SACK pays what is owed; else the next packet brings one. */
	assert_false(responder()->is_owed);
	write_one(7);
	expect_none();
	for (int64_t n = 8; n < 11; n++)
		ask(n);
	assert_true(responder()->is_owed);
	mrc_answer_clear(engine(), w.q);
	write_one(11);
	expect_sack(3, 2, 0x3e9);
	expect_ack(3, 3);
	write_one(12);
	expect_none();
	check_balance();
}

/* Message numbers, counts and PSNs go on beyond 2^24 packets. */
static void psns_wrap(void **state)
{
	(void)state;
	start();
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t at = (uint64_t)(i + 1) << 24;
		struct mrc_responder *p = responder();

		p->seen.expected = p->seen.end = p->unsacked = at - 3;
		p->promised = p->seen.expected + p->range;
		p->msn = 0xfffffe;
		for (int64_t n = 5; n > 0; n--)
			write_one(n - 3);
		write_one(-3);
		expect_ack(3, 4);
		assert_int_equal(p->seen.expected, at + 3);
		write_one(-1);
		expect_sack(3, 2, 1);
		expect_ack_psn(-1);
		expect_ack(3, 4);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(duplicates),
	cmocka_unit_test(duplicate_out_of_reach),
	cmocka_unit_test(beyond_the_range),
	cmocka_unit_test(range_shrinks),
	cmocka_unit_test(range_grows),
	cmocka_unit_test(no_bitmap),
	cmocka_unit_test(refused_leaves_no_trace),
	cmocka_unit_test(trimmed_with_nack),
	cmocka_unit_test(trimmed_to_the_base_header),
	cmocka_unit_test(marked_and_not_cut),
	cmocka_unit_test(trimmed_without_nack),
	cmocka_unit_test(trimmed_after_whole),
	cmocka_unit_test(trimmed_out_of_range),
	cmocka_unit_test(unassigned_opcodes),
	cmocka_unit_test(no_room_for_answers),
	cmocka_unit_test(psns_wrap),
};
CHECK_MAIN(cases)
