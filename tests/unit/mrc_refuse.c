/* What a responder refuses. What makes no sense and overtook what does (M-63) is left to be
 * retransmitted: it is refused in its turn, when all that was sent before it is here, so that those
 * are executed and acknowledged, as over a wire that keeps the order. Who only knows about where
 * the numbers are cannot end a queue pair by it. */
#include "mrc_responder.h"

/* The ways in which a packet makes no sense. */
enum fault { BAD_KEY, BAD_LENGTH, BAD_OPCODE, FAULTS };

static void deliver_bad(int64_t n, enum fault fault)
{
	struct mrc_pkt h = request(fault == BAD_OPCODE ? 0xc4 : MRC_OP_WRITE_ONLY, n);

	h.reth.dmalen = fault == BAD_LENGTH ? 9 : 8;
	if (fault == BAD_KEY)
		h.reth.rkey = 0x999;
	deliver(h, 8);
}

static enum aeth_nak nak_of(enum fault fault)
{
	return fault == BAD_KEY ? AETH_NAK_REMOTE_ACCESS : AETH_NAK_INVALID_REQUEST;
}

/* Nothing is said of it, nor kept, until it comes in its turn. */
static void refused_in_its_turn(void **state)
{
	(void)state;
	for (enum fault fault = 0; fault < FAULTS; fault++) {
		start();
		write_at(0, 0, 8);
		expect_ack(1, 1);
		deliver_bad(3, fault);
		expect_none();
		assert_int_equal(count()->drop_early, 1);
		assert_int_equal(mrc_usage(w.e).early_chunks, 0);
		assert_int_equal(w.q->state, MRC_RTR);
		write_at(2, 16, 8);
		write_at(4, 24, 8);
		expect_none();
		assert_int_equal(responder()->seen.expected, 1);
		write_at(1, 8, 8);
		expect_ack(3, 3);
		expect_none();
		assert_int_equal(responder()->seen.expected, 3);
		assert_int_equal(w.q->state, MRC_RTR);
		expect_placed(1, 8, 8);
		expect_placed(2, 16, 8);
		expect_event(ENGINE_EVENT_ESTABLISHED);
		expect_event(NO_EVENT);
		deliver_bad(3, fault);
		expect_nak(3, nak_of(fault), 3);
		expect_event(fault == BAD_KEY ? ENGINE_EVENT_ACCESS : ENGINE_EVENT_INVALID);
		expect_event(NO_EVENT);
		assert_int_equal(count()->rx_nak_sent, 1);
		assert_int_equal(count()->rx_data, 4);
		check_balance();
	}
}

/* A forged packet ahead of others takes nothing from the peer's own of that number, which comes
 * later, in its turn or early too, or came before: that one is placed, once, and nothing fails. */
static void the_peers_own_counts(void **state)
{
	(void)state;
	for (enum fault fault = 0; fault < FAULTS; fault++)
		for (uint32_t order = 0; order < 3; order++) {
			start();
			if (order == 0)
				write_at(1, 8, 8);
			deliver_bad(1, fault);
			if (order == 1)
				write_at(1, 8, 8);
			write_at(0, 0, 8);
			if (order == 2) {
				assert_int_equal(responder()->seen.expected, 1);
				write_at(1, 8, 8);
			}
			deliver_bad(3, fault);
			assert_int_equal(responder()->seen.expected, 2);
			assert_int_equal(w.q->state, MRC_RTR);
			expect_placed(1, 8, 8);
			assert_int_equal(count()->rx_data, 2);
			assert_int_equal(count()->rx_nak_sent, 0);
			check_balance();
		}
}

/* Immediate data before it is told of; behind it, not. A fault of protection takes the receive that
 * tells of it (IBTA 11.6.2), and needs one. */
static void immediate_data_around_it(void **state)
{
	struct mrc_pkt h;

	(void)state;
	for (uint64_t n_recvs = 1; n_recvs < 4; n_recvs++) {
		start();
		for (uint64_t i = 0; i < n_recvs; i++)
			post_recv(i);
		write_imm(3);
		write_imm(1);
		expect_no_done();
		write_one(0);
		expect_done(0, ENGINE_OK);
		expect_ack(2, 2);
		h = request(MRC_OP_WRITE_ONLY_IMM, 2);
		h.reth.dmalen = 8;
		h.reth.rkey = 0x999;
		deliver(h, 8);
		expect_nak(2, n_recvs > 1 ? AETH_NAK_REMOTE_ACCESS : AETH_NAK_REMOTE_OPERATION, 2);
		if (n_recvs > 1)
			expect_done(1, ENGINE_LOCAL_ACCESS);
		if (n_recvs > 2)
			expect_done(2, ENGINE_FLUSHED);
		expect_no_done();
	}
}

/* Part of a message before it: no message is complete. */
static void within_a_message(void **state)
{
	struct mrc_pkt h;

	(void)state;
	start();
	deliver_bad(1, BAD_LENGTH);
	h = request(MRC_OP_WRITE_FIRST, 0);
	h.reth.dmalen = 2 * PMTU;
	deliver(h, PMTU);
	expect_none();
	deliver_bad(1, BAD_LENGTH);
	expect_nak(1, AETH_NAK_INVALID_REQUEST, 0);
}

/* Ways in which the lengths of a data packet contradict: a header that is not whole, bytes that are
 * no words, padding without anything that it is part of. */
static void deliver_malformed(int64_t n, uint32_t how)
{
	static const uint32_t lens[][2] = {{12, 0}, {20, 0}, {35, 0}, {36, 7}, {36, 0}};
	struct mrc_pkt h = request(MRC_OP_WRITE_ONLY, n);

	h.bth.ts = 1;
	h.tseth = (struct tseth){.tx_timestamp = 0x4321, .ftype = MRC_FTYPE_TIMESTAMP};
	h.bth.pad = how == 4 ? 3 : 0;
	h.reth.dmalen = 8;
	assert_int_equal(mrc_head_put(&h, (struct span){w.packet, ENGINE_HEAD_MAX}), 36);
	input(lens[how][0], lens[how][1]);
}

/* The sender of data that makes no packet is told so in its turn (GERR, MRC-7.5.3-07, M-12), which
 * ends its queue pair and not ours; before and behind that nothing comes of it. */
static void malformed_data_is_told(void **state)
{
	(void)state;
	for (uint32_t how = 0; how < 5; how++) {
		start();
		deliver_malformed(1, how);
		expect_none();
		assert_int_equal(count()->drop_malformed, 1);
		write_at(0, 0, 8);
		expect_ack(1, 1);
		deliver_malformed(1, how);
		expect_nack(1, MRC_NACK_UNEXP_EVENT);
		assert_int_equal(w.got.neth.tx_timestamp, 0);
		assert_int_equal(w.got.neth.entropy, EV);
		assert_int_equal(w.tx.udp_len, 0);
		assert_int_equal(count()->rx_nacked, 1);
		expect_untouched(8);
		deliver_malformed(0, how);
		deliver_malformed(2000, how);
		w.rx.trimmed = NET_TRIMMED;
		w.rx.is_uncut = 1;
		deliver_malformed(1, how);
		expect_none();
		assert_int_equal(count()->drop_malformed, 4);
		w.rx.trimmed = NET_WHOLE;
		w.rx.is_uncut = 0;
		write_at(1, 8, 8);
		expect_ack(2, 2);
		check_balance();
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(refused_in_its_turn),      cmocka_unit_test(the_peers_own_counts),
	cmocka_unit_test(immediate_data_around_it), cmocka_unit_test(within_a_message),
	cmocka_unit_test(malformed_data_is_told),
};
CHECK_MAIN(cases)
