/* The responder of MRC takes packets: where they are placed, what completes when, and what ends
 * the queue pair (6.3). */
#include <errno.h>

#include "mrc_responder.h"

/* Each packet is placed where it says as soon as it comes, across messages (6.3.1, 6.3.2). */
static void placed_out_of_order(void **state)
{
	static const uint8_t opcodes[] = {
		MRC_OP_WRITE_FIRST, MRC_OP_WRITE_MIDDLE, MRC_OP_WRITE_LAST,
		MRC_OP_WRITE_ONLY,  MRC_OP_WRITE_FIRST,  MRC_OP_WRITE_LAST,
	};
	static const uint32_t at[] = {0, PMTU, 2 * PMTU, 1000, 2000, 2000 + PMTU};
	static const uint32_t len[] = {PMTU, PMTU, 100, 77, PMTU, 3};
	static const uint32_t total[] = {2 * PMTU + 100, 2 * PMTU + 100, 2 * PMTU + 100, 77,
					 PMTU + 3,       PMTU + 3};
	static const uint32_t order[] = {4, 2, 5, 1, 3, 0};

	(void)state;
	start();
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t n = order[i];
		struct mrc_pkt h = request(opcodes[n], n);

		h.reth.va += at[n];
		h.reth.dmalen = total[n];
		deliver(h, len[n]);
		expect_placed(n, at[n], len[n]);
		assert_int_equal(count()->rx_data, i + 1);
		if (i < 5)
			expect_none();
	}
	expect_ack(6, 3);
	expect_none();
	assert_int_equal(count()->rx_bytes, 3 * PMTU + 100 + 77 + 3);
	expect_untouched(2000 + PMTU + 3);
	assert_int_equal(mrc_usage(w.e).early_chunks, 0);
	check_balance();
}

/* Message numbers have 24 bits (AETH), in order and behind a gap. */
static void message_numbers_wrap(void **state)
{
	(void)state;
	start();
	responder()->msn = 0xfffffe;
	write_one(0);
	expect_ack(1, 0xffffff);
	write_one(1);
	expect_ack(2, 0);
	responder()->msn = 0xfffffe;
	write_one(4);
	write_one(3);
	expect_none();
	write_one(2);
	expect_ack(5, 1);
}

/* A Transport ACK when a message has ended, and when a packet asks (6.3.1 rule 4), one for all. */
static void transport_acks(void **state)
{
	struct mrc_pkt h;

	(void)state;
	start();
	h = request(MRC_OP_WRITE_FIRST, 0);
	h.reth.dmalen = PMTU + 1;
	deliver(h, PMTU);
	expect_none();
	h = request(MRC_OP_WRITE_LAST, 1);
	h.reth.dmalen = PMTU + 1;
	deliver(h, 1);
	expect_ack(2, 1);
	write_many(2, 10);
	expect_ack(10, 9);
	expect_none();
	h = request(MRC_OP_WRITE_FIRST, 10);
	h.reth.dmalen = PMTU + 1;
	h.bth.ack_req = 1;
	deliver(h, PMTU);
	expect_sack(11, 10, 1);
	expect_ack(11, 9);
	expect_none();
	ask(12);
	expect_sack(11, 10, 5);
	expect_ack(11, 9);
	expect_none();
	assert_int_equal(count()->tx_ack, 4);
}

/* Immediate data completes after all that was sent before, in the order of sending (6.3.2). */
static void immediate_in_order(void **state)
{
	struct mrc_pkt h;

	(void)state;
	start();
	for (uint64_t i = 0; i < 4; i++)
		post_recv(10 + i);
	h = request(MRC_OP_WRITE_ONLY_IMM, 5);
	h.bth.se = 1;
	h.reth.dmalen = 40;
	deliver(h, 40);
	expect_placed(5, 0, 40);
	write_imm(2);
	expect_no_done();
	write_one(1);
	write_one(4);
	expect_no_done();
	write_one(0);
	struct done done = expect_done(10, ENGINE_OK);

	assert_int_equal(done.imm, 0xabcd0002);
	assert_int_equal(done.len, 8);
	assert_int_equal(done.flags, ENGINE_HAS_IMM);
	assert_int_equal(done.op, ENGINE_WRITE_IMM);
	expect_no_done();
	expect_ack(3, 3);
	write_one(3);
	done = expect_done(11, ENGINE_OK);
	assert_int_equal(done.imm, 0xabcd0005);
	assert_int_equal(done.len, 40);
	assert_int_equal(done.flags, ENGINE_HAS_IMM | ENGINE_SOLICITED);
	write_imm(6);
	done = expect_done(12, ENGINE_OK);
	assert_int_equal(done.imm, 0xabcd0006);
	expect_no_done();
	expect_ack(7, 7);
	assert_int_equal(responder()->n_stash, 0);
}

/* The length of a message is that of all its packets. */
static void immediate_of_a_long_message(void **state)
{
	struct mrc_pkt h;

	(void)state;
	start();
	post_recv(1);
	h = request(MRC_OP_WRITE_LAST_IMM, 1);
	h.reth.dmalen = PMTU + 9;
	deliver(h, 9);
	expect_no_done();
	h = request(MRC_OP_WRITE_FIRST, 0);
	h.reth.dmalen = PMTU + 9;
	deliver(h, PMTU);
	assert_int_equal(expect_done(1, ENGINE_OK).len, PMTU + 9);
	expect_ack(2, 1);
}

/* Immediate data is kept by the order of its packets, however it comes, and its places are used
 * again and again (6.3.3). */
static void immediate_is_kept(void **state)
{
	static const uint8_t orders[][4] = {
		{1, 2, 3, 4}, {4, 3, 2, 1}, {2, 4, 1, 3}, {3, 1, 4, 2}, {1, 3, 2, 4}};

	(void)state;
	defaults();
	w.caps.max_wimm = 5;
	open_engine();
	for (uint32_t i = 0; i < 25; i++) {
		int64_t first = i * 5;

		for (uint64_t k = 0; k < 4; k++)
			post_recv(k);
		for (uint32_t k = 0; k < 4; k++)
			write_imm(first + orders[i % 5][k]);
		assert_int_equal(responder()->n_stash, 4);
		expect_no_done();
		write_one(first);
		for (uint32_t k = 0; k < 4; k++)
			assert_int_equal(expect_done(k, ENGINE_OK).imm, 0xabcd0000 + first + 1 + k);
	}
	expect_ack(125, 125);
}

/* In order none is kept, so a limit of 0 is no obstacle. */
static void immediate_without_a_place(void **state)
{
	(void)state;
	defaults();
	w.caps.max_wimm = 0;
	open_engine();
	post_recv(1);
	write_imm(0);
	expect_done(1, ENGINE_OK);
	expect_ack(1, 1);
	write_imm(2);
	expect_nak(2, AETH_NAK_INVALID_REQUEST, 1);
}

/* One more than max_wimm ahead of a gap (Table 6-15), though there are receives. */
static void immediate_over_the_limit(void **state)
{
	(void)state;
	start();
	for (uint64_t i = 0; i < 8; i++)
		post_recv(i);
	for (int64_t n = 1; n <= 4; n++)
		write_imm(n);
	assert_int_equal(w.q->state, MRC_RTR);
	write_at(5, 100, 8);
	expect_placed(5, 100, 8);
	struct mrc_pkt h = request(MRC_OP_WRITE_ONLY_IMM, 6);

	h.reth.va += 200;
	h.reth.dmalen = 8;
	deliver(h, 8);
	expect_untouched(108);
	expect_nak(6, AETH_NAK_INVALID_REQUEST, 0);
	for (uint64_t i = 0; i < 8; i++)
		expect_done(i, ENGINE_FLUSHED);
	expect_no_done();
	expect_event(ENGINE_EVENT_ESTABLISHED);
	expect_event(ENGINE_EVENT_INVALID);
	expect_event(NO_EVENT);
	assert_int_equal(count()->rx_nak_sent, 1);
	check_balance();
}

/* The limit is what the user set, up to the room that there is; none: each must come in its turn.
 */
static void immediate_over_the_users_limit(void **state)
{
	(void)state;
	for (uint16_t limit = 0; limit < 4; limit++) {
		defaults();
		w.attr.wimm = limit;
		w.rtr = MRC_SET_WIMM;
		open_engine();
		for (uint64_t i = 0; i < 8; i++)
			post_recv(i);
		write_imm(0);
		expect_done(0, ENGINE_OK);
		for (int64_t n = 2; n < 2 + limit; n++)
			write_imm(n);
		assert_int_equal(w.q->state, MRC_RTR);
		write_imm(2 + limit);
		assert_int_equal(w.q->state, MRC_ERROR);
		assert_int_equal(count()->rx_nak_sent, 1);
	}
}

/* In its turn without a receive (6.3.3): not placed, and the end. */
static void no_receive(void **state)
{
	struct mrc_pkt h;

	(void)state;
	start();
	write_one(0);
	h = request(MRC_OP_WRITE_ONLY_IMM, 1);
	h.reth.va += 100;
	h.reth.dmalen = 8;
	deliver(h, 8);
	expect_untouched(8);
	expect_ack(1, 1);
	expect_nak(1, AETH_NAK_REMOTE_OPERATION, 1);
	expect_event(ENGINE_EVENT_ESTABLISHED);
	expect_event(ENGINE_EVENT_FATAL);
	assert_int_equal(count()->rx_nak_sent, 1);
}

/* The receive is wanted when immediate data completes, not when it comes. */
static void receive_posted_meanwhile(void **state)
{
	(void)state;
	start();
	write_imm(1);
	post_recv(1);
	write_one(0);
	expect_done(1, ENGINE_OK);
	expect_ack(2, 2);
}

/* Kept immediate data whose turn comes without a receive: what was before it is executed and said
 * so, it and what is behind it are not. */
static void no_receive_for_what_was_kept(void **state)
{
	(void)state;
	start();
	post_recv(1);
	for (int64_t n = 1; n <= 6; n++)
		if (n == 2 || n == 4)
			write_imm(n);
		else
			write_one(n);
	write_one(0);
	expect_done(1, ENGINE_OK);
	expect_no_done();
	expect_ack(4, 4);
	expect_nak(4, AETH_NAK_REMOTE_OPERATION, 4);
	assert_int_equal(count()->rx_data, 7);
	assert_int_equal(count()->rx_nak_sent, 0);
	expect_event(ENGINE_EVENT_ESTABLISHED);
	expect_event(ENGINE_EVENT_FATAL);
	write_one(7);
	assert_int_equal(count()->drop_state, 1);
	check_balance();
}

struct length {
	uint8_t opcode;
	uint32_t len, total;
	bool is_right;
};

/* 6.3.5, with the checks that M-06 says a packet allows. */
static void lengths(void **state)
{
	static const struct length table[] = {
		{MRC_OP_WRITE_ONLY, 0, 0, true},
		{MRC_OP_WRITE_ONLY, 1, 1, true},
		{MRC_OP_WRITE_ONLY, PMTU, PMTU, true},
		{MRC_OP_WRITE_ONLY, PMTU + 1, PMTU + 1, false},
		{MRC_OP_WRITE_ONLY, 8, 9, false},
		{MRC_OP_WRITE_ONLY, 9, 8, false},
		{MRC_OP_WRITE_ONLY, 0, 1, false},
		{MRC_OP_WRITE_ONLY_IMM, 0, 0, true},
		{MRC_OP_WRITE_ONLY_IMM, PMTU, PMTU, true},
		{MRC_OP_WRITE_ONLY_IMM, 4, 5, false},
		{MRC_OP_WRITE_FIRST, PMTU, PMTU + 1, true},
		{MRC_OP_WRITE_FIRST, PMTU, 5000, true},
		{MRC_OP_WRITE_FIRST, PMTU, PMTU, false},
		{MRC_OP_WRITE_FIRST, PMTU - 1, PMTU + 1, false},
		{MRC_OP_WRITE_FIRST, PMTU + 1, 5000, false},
		{MRC_OP_WRITE_FIRST, 0, 5000, false},
		{MRC_OP_WRITE_FIRST, PMTU, UINT32_C(1) << 31, true},
		{MRC_OP_WRITE_FIRST, PMTU, (UINT32_C(1) << 31) + 1, false},
		{MRC_OP_WRITE_FIRST, PMTU, UINT32_MAX, false},
		{MRC_OP_WRITE_MIDDLE, PMTU, 2 * PMTU + 1, true},
		{MRC_OP_WRITE_MIDDLE, PMTU, 2 * PMTU, false},
		{MRC_OP_WRITE_MIDDLE, PMTU - 1, 5000, false},
		{MRC_OP_WRITE_MIDDLE, 2 * PMTU, 5000, false},
		{MRC_OP_WRITE_LAST, 1, PMTU + 1, true},
		{MRC_OP_WRITE_LAST, PMTU, 2 * PMTU, true},
		{MRC_OP_WRITE_LAST, 100, 3 * PMTU + 100, true},
		{MRC_OP_WRITE_LAST, PMTU, PMTU, false},
		{MRC_OP_WRITE_LAST, 0, 2 * PMTU, false},
		{MRC_OP_WRITE_LAST, 99, 3 * PMTU + 100, false},
		{MRC_OP_WRITE_LAST, 101, 3 * PMTU + 100, false},
		{MRC_OP_WRITE_LAST, PMTU + 1, 2 * PMTU + 1, false},
		{MRC_OP_WRITE_LAST_IMM, 1, PMTU + 1, true},
		{MRC_OP_WRITE_LAST_IMM, 2, PMTU + 1, false},
		{MRC_OP_WRITE_LAST_IMM, PMTU, 2 * PMTU, true},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		const struct length *t = &table[i];
		struct mrc_pkt h;

		start();
		post_recv(1);
		h = request(t->opcode, 0);
		h.reth.dmalen = t->total;
		deliver(h, t->len);
		if (t->is_right) {
			assert_int_equal(count()->rx_data, 1);
			assert_int_equal(w.q->state, MRC_RTR);
			expect_placed(0, 0, t->len);
		} else {
			expect_untouched(0);
			expect_nak(0, AETH_NAK_INVALID_REQUEST, 0);
			expect_event(ENGINE_EVENT_INVALID);
		}
	}
}

/* A key, a range or a right that is not there, also ahead of a gap (so that nothing else is
 * refused). */
static void access_faults(void **state)
{
	static const struct {
		uint32_t key;
		uint64_t va;
	} table[] = {
		{0, BASE},
		{0x999, BASE},
		{KEY_FOREIGN, BASE},
		{KEY_READ_ONLY, BASE},
		{KEY_ALL, BASE - 1},
		{KEY_ALL, BASE + MEMORY - 7},
		{KEY_ALL, BASE + MEMORY},
		{KEY_TOP, UINT64_MAX - 3},
		{KEY_ALL, 0},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++)
		for (int64_t n = 0; n < 3; n += 2) {
			struct mrc_pkt h;

			start();
			h = request(MRC_OP_WRITE_ONLY, n);
			h.reth.dmalen = 8;
			h.reth.rkey = table[i].key;
			h.reth.va = table[i].va;
			deliver(h, 8);
			expect_untouched(0);
			assert_int_equal(mrc_usage(w.e).early_chunks, 0);
			if (n > 0) {
				write_many(0, n);
				expect_ack(n, (uint32_t)n);
				expect_event(ENGINE_EVENT_ESTABLISHED);
				deliver(h, 8);
			}
			expect_nak(n, AETH_NAK_REMOTE_ACCESS, (uint32_t)n);
			expect_event(ENGINE_EVENT_ACCESS);
			expect_event(NO_EVENT);
			assert_int_equal(count()->rx_nak_sent, 1);
			check_balance();
		}
}

/* Nothing to place: the key is not looked at (IBTA 9.7.4.1.3). */
static void no_bytes_no_key(void **state)
{
	struct mrc_pkt h;

	(void)state;
	start();
	h = request(MRC_OP_WRITE_ONLY, 0);
	h.reth.rkey = 0x999;
	deliver(h, 0);
	expect_ack(1, 1);
}

/* Writes are no operation of a queue pair that does not allow them. */
static void writes_not_allowed(void **state)
{
	(void)state;
	defaults();
	w.attr.access = MEM_REMOTE_READ;
	open_engine();
	write_one(0);
	expect_untouched(0);
	expect_nak(0, AETH_NAK_INVALID_REQUEST, 0);
}

/* The receive of a write with immediate data tells of the fault, when it is its turn. */
static void access_fault_with_immediate(void **state)
{
	struct mrc_pkt h;

	(void)state;
	for (int64_t n = 0; n < 2; n++) {
		start();
		post_recv(1);
		post_recv(2);
		h = request(MRC_OP_WRITE_ONLY_IMM, n);
		h.reth.dmalen = 8;
		h.reth.rkey = 0x999;
		deliver(h, 8);
		if (n > 0) {
			expect_no_done();
			write_one(0);
			expect_ack(1, 1);
			deliver(h, 8);
		}
		expect_nak(n, AETH_NAK_REMOTE_ACCESS, (uint32_t)n);
		expect_done(1, ENGINE_LOCAL_ACCESS);
		expect_done(2, ENGINE_FLUSHED);
		expect_no_done();
	}
}

static void established_once(void **state)
{
	(void)state;
	start();
	write_one(3);
	expect_event(ENGINE_EVENT_ESTABLISHED);
	write_one(0);
	expect_event(NO_EVENT);
	start();
	to_rts();
	write_one(0);
	expect_event(NO_EVENT);
}

static int post(struct op op)
{
	op.qp = NUMBER;
	op.code = ENGINE_RECV;
	return mrc_ops.post(w.e, w.now, &op);
}

/* Receives take no pieces; the queue has its length; a slot is free again when it was polled. */
static void receives(void **state)
{
	struct sge sg = {w.memory, 8, KEY_ALL};

	(void)state;
	start();
	assert_int_equal(post((struct op){.sg = &sg, .n_sg = 1}), -EINVAL);
	assert_int_equal(post((struct op){.flags = ENGINE_SHARED}), -EINVAL);
	for (uint32_t round = 0; round < 5; round++) {
		int64_t first = round * RECEIVES;

		for (uint64_t i = 0; i < RECEIVES; i++)
			post_recv(first + i);
		assert_int_equal(post((struct op){0}), -ENOMEM);
		for (uint32_t i = 0; i < RECEIVES; i++)
			write_imm(first + i);
		assert_int_equal(post((struct op){0}), -ENOMEM);
		for (uint32_t i = 0; i < RECEIVES; i++)
			assert_int_equal(expect_done(first + i, ENGINE_OK).imm,
					 0xabcd0000 + first + i);
	}
	post_recv(1);
	post_recv(2);
	assert_int_equal(modify(MRC_ERROR, 0), 0);
	expect_done(1, ENGINE_FLUSHED);
	post_recv(3);
	expect_done(2, ENGINE_FLUSHED);
	assert_int_equal(expect_done(3, ENGINE_FLUSHED).op, ENGINE_RECV);
	expect_no_done();
	assert_int_equal(modify(MRC_RESET, 0), 0);
	assert_int_equal(post((struct op){0}), -EINVAL);
	defaults();
	w.caps.max_recv = 0;
	open_engine();
	assert_int_equal(post((struct op){0}), -EINVAL);
}

/* Posted before the queue pair could receive, they are there when it can. */
static void receives_survive_the_start(void **state)
{
	(void)state;
	start();
	assert_int_equal(modify(MRC_RESET, 0), 0);
	assert_int_equal(modify(MRC_INIT, MRC_SET_ACCESS), 0);
	post_recv(7);
	assert_int_equal(modify(MRC_RTR, MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP |
						 MRC_SET_RQ_PSN | MRC_SET_MPR),
			 0);
	write_imm(0);
	expect_done(7, ENGINE_OK);
}

/* An end by our own wish: nothing is said any more, and all that was held is given back. */
static void ended_from_here(void **state)
{
	static const uint8_t to[] = {MRC_ERROR, MRC_RESET};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		start();
		ask(0);
		ask(200);
		write_imm(300);
		assert_int_equal(mrc_usage(w.e).early_chunks, 2);
		assert_int_equal(mrc_usage(w.e).answers, 2);
		assert_int_equal(modify(to[i], 0), 0);
		assert_int_equal(mrc_usage(w.e).early_chunks, 0);
		assert_int_equal(mrc_usage(w.e).answers, 0);
		expect_none();
		expect_no_done();
		write_one(1);
		assert_int_equal(count()->drop_state, 1);
	}
	/* Begun anew, it knows nothing of before. */
	assert_int_equal(modify(MRC_INIT, MRC_SET_ACCESS), 0);
	assert_int_equal(modify(MRC_RTR, MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP |
						 MRC_SET_RQ_PSN | MRC_SET_MPR),
			 0);
	write_one(1);
	expect_none();
	write_one(0);
	expect_ack(2, 2);
}

/* Payload that nobody stores, into memory that nobody has, and into real memory. */
static void virtual_bytes(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct mrc_pkt h;

		start();
		h = request(MRC_OP_WRITE_ONLY, 0);
		h.reth.rkey = i ? KEY_VIRTUAL : KEY_ALL;
		h.reth.dmalen = PMTU;
		w.rx.head = (struct cspan){
			w.packet, mrc_head_put(&h, (struct span){w.packet, ENGINE_HEAD_MAX})};
		w.rx.body[0] = (struct cspan){NULL, PMTU};
		w.rx.body[1] = (struct cspan){NULL, 0};
		mrc_ops.input(w.e, w.now, &w.rx, 1);
		assert_int_equal(count()->rx_data, 1);
		if (i)
			expect_untouched(0);
		for (uint32_t k = 0; k < PMTU && !i; k++)
			assert_int_equal(w.memory[k], 0);
		expect_untouched(PMTU);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(placed_out_of_order),
	cmocka_unit_test(transport_acks),
	cmocka_unit_test(message_numbers_wrap),
	cmocka_unit_test(immediate_in_order),
	cmocka_unit_test(immediate_of_a_long_message),
	cmocka_unit_test(immediate_is_kept),
	cmocka_unit_test(immediate_without_a_place),
	cmocka_unit_test(immediate_over_the_limit),
	cmocka_unit_test(immediate_over_the_users_limit),
	cmocka_unit_test(no_receive),
	cmocka_unit_test(receive_posted_meanwhile),
	cmocka_unit_test(no_receive_for_what_was_kept),
	cmocka_unit_test(lengths),
	cmocka_unit_test(access_faults),
	cmocka_unit_test(no_bytes_no_key),
	cmocka_unit_test(writes_not_allowed),
	cmocka_unit_test(access_fault_with_immediate),
	cmocka_unit_test(established_once),
	cmocka_unit_test(receives),
	cmocka_unit_test(receives_survive_the_start),
	cmocka_unit_test(ended_from_here),
	cmocka_unit_test(virtual_bytes),
};
CHECK_MAIN(cases)
