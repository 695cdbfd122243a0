#include "check.h"
#include "rc_responder.h"

static void a_send_fills_its_receive(void **s)
{
	(void)s;
	start();
	post_recv();
	post_recv();
	struct roce_pkt h = request(ROCE_OP_SEND_ONLY_IMM, 0);

	h.bth.se = 1;
	deliver(h, 0xfd);
	struct done done = expect_done(0, ENGINE_OK);

	assert_int_equal(done.len, 0xfd);
	assert_int_equal(done.op, ENGINE_RECV);
	assert_int_equal(done.flags, ENGINE_SOLICITED | ENGINE_HAS_IMM);
	assert_int_equal(done.imm, 0xabcd1234);
	for (uint32_t i = 0; i < 0xfd; i++)
		assert_int_equal(recv_byte(0, i), payload_byte(wire_psn(0), i));
	assert_int_equal(recv_byte(0, 0xfd), CANARY);
	assert_int_equal(w.recv[100], CANARY);
	expect_ack(0, 1, 1);
	expect_none();
	deliver(request(ROCE_OP_SEND_ONLY, 1), 9);
	done = expect_done(1, ENGINE_OK);
	assert_int_equal(done.flags, 0);
	assert_int_equal(done.len, 9);
	assert_int_equal(recv_byte(1, 0), payload_byte(wire_psn(1), 0));
	expect_ack(1, 0, 2);
	assert_int_equal(count()->rx_request, 2);
	assert_int_equal(count()->rx_bytes, 0xfd + 9);
	assert_int_equal(count()->tx_ack, 2);
}

static void a_long_send_is_reported_after_its_last_byte(void **s)
{
	(void)s;
	start();
	/* The second packet begins in the first piece and ends in the second. */
	w.first = PMTU + 44;
	post_recv();
	post_recv();
	post_recv();
	deliver(request(ROCE_OP_SEND_FIRST, 0), PMTU);
	/* The receive in hand is a credit: it is for the first message not completed. */
	expect_ack(0, 3, 0);
	deliver(request(ROCE_OP_SEND_MIDDLE, 1), PMTU);
	expect_no_done();
	deliver(request(ROCE_OP_SEND_LAST, 2), ROOM - 2 * PMTU);
	assert_int_equal(expect_done(0, ENGINE_OK).len, ROOM);
	for (uint32_t i = 0; i < ROOM; i++)
		assert_int_equal(recv_byte(0, i), payload_byte(wire_psn(i / PMTU), i % PMTU));
	assert_int_equal(recv_byte(0, ROOM), CANARY);
	expect_ack(2, 2, 1);
	expect_none();
}

static void a_write_lands_where_it_says(void **s)
{
	const uint32_t at = 1001, len = 2 * PMTU + 3;

	(void)s;
	start();
	struct roce_pkt h = request(ROCE_OP_WRITE_FIRST, 0);

	h.reth.va += at;
	h.reth.dmalen = len;
	h.bth.ack_req = 0;
	deliver(h, PMTU);
	expect_none();
	h = request(ROCE_OP_WRITE_MIDDLE, 1);
	deliver(h, PMTU);
	h = request(ROCE_OP_WRITE_LAST, 2);
	h.bth.ack_req = 0;
	deliver(h, 3);
	/* One for all that came, and of all. */
	expect_ack(2, 0, 1);
	expect_none();
	expect_no_done();
	for (uint32_t i = 0; i < MEMORY; i++) {
		uint32_t j = i - at;

		assert_int_equal(w.memory[i], i < at || j >= len
						      ? original_byte(i)
						      : payload_byte(wire_psn(j / PMTU), j % PMTU));
	}
	assert_int_equal(count()->rx_bytes, len);
	/* Of nothing: its key means nothing either. */
	h = request(ROCE_OP_WRITE_ONLY, 3);
	h.reth.rkey = 0x999;
	deliver(h, 0);
	expect_ack(3, 0, 2);
}

/* Bytes that nobody stored are zeros where they arrive. */
static void virtual_payload_is_zeros(void **s)
{
	struct roce_pkt h;
	struct rx_pkt rx = {.at = 1000, .peer = PEER, .local = LOCAL};

	(void)s;
	start();
	h = request(ROCE_OP_WRITE_ONLY, 0);
	h.reth.dmalen = 8;
	rx.head = (struct cspan){w.packet, roce_head_put(&h, (struct span){w.packet, 64})};
	rx.body[0] = (struct cspan){NULL, 5};
	rx.body[1] = (struct cspan){w.packet, 3};
	rc_ops.input(w.e, w.now, &rx, 1);
	expect_ack(0, 0, 1);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(w.memory[i], 0);
	assert_memory_equal(w.memory + 5, w.packet, 3);
	assert_int_equal(w.memory[8], original_byte(8));
	/* And bytes for memory that nobody has are gone. */
	h = request(ROCE_OP_WRITE_ONLY, 1);
	h.reth.rkey = KEY_VIRTUAL;
	h.reth.dmalen = 9;
	deliver(h, 9);
	expect_ack(1, 0, 2);
	assert_int_equal(w.memory[8], original_byte(8));
}

static void a_write_with_immediate_waits_for_a_receive(void **s)
{
	(void)s;
	start();
	struct roce_pkt h = request(ROCE_OP_WRITE_FIRST, 0);

	h.reth.dmalen = PMTU + 7;
	deliver(h, PMTU);
	expect_ack(0, 0, 0);
	h = request(ROCE_OP_WRITE_LAST_IMM, 1);
	deliver(h, 7);
	expect_rnr(1);
	/* Nothing of it happened. */
	assert_int_equal(w.memory[PMTU], original_byte(PMTU));
	assert_int_equal(expected(), 1);
	post_recv();
	deliver(h, 7);
	struct done done = expect_done(0, ENGINE_OK);

	assert_int_equal(done.op, ENGINE_WRITE_IMM);
	assert_int_equal(done.len, PMTU + 7);
	assert_int_equal(done.flags, ENGINE_HAS_IMM);
	assert_int_equal(w.memory[PMTU + 6], payload_byte(wire_psn(1), 6));
	assert_int_equal(w.memory[PMTU + 7], original_byte(PMTU + 7));
	expect_ack(1, 0, 1);
	assert_int_equal(count()->rx_rnr_sent, 1);
	assert_int_equal(count()->tx_nak, 1);
}

static void a_send_without_a_receive_is_put_off(void **s)
{
	(void)s;
	start();
	struct roce_pkt write = request(ROCE_OP_WRITE_ONLY, 0);

	deliver(write, 0);
	deliver(request(ROCE_OP_SEND_ONLY, 1), 10);
	/* What comes behind it cannot be taken and needs no word of its own. */
	deliver(request(ROCE_OP_SEND_ONLY, 2), 10);
	expect_rnr(1);
	assert_int_equal(w.got.aeth.msn, 1);
	expect_none();
	assert_int_equal(count()->drop_ahead, 1);
	deliver(request(ROCE_OP_SEND_ONLY, 1), 10);
	expect_rnr(1);
	post_recv();
	deliver(request(ROCE_OP_SEND_ONLY, 1), 10);
	expect_ack(1, 0, 2);
	expect_done(0, ENGINE_OK);
	assert_int_equal(state(), ENGINE_RTR);
}

static void a_gap_is_told_of_once(void **s)
{
	(void)s;
	start();
	deliver(request(ROCE_OP_WRITE_ONLY, 2), 0);
	deliver(request(ROCE_OP_WRITE_ONLY, 3), 0);
	expect_nak(0, AETH_NAK_SEQUENCE);
	deliver(request(ROCE_OP_WRITE_ONLY, 4), 0);
	expect_none();
	assert_int_equal(count()->rx_nak_sent, 1);
	assert_int_equal(count()->drop_ahead, 2);
	deliver(request(ROCE_OP_WRITE_ONLY, 0), 0);
	expect_ack(0, 0, 1);
	/* The next gap, told of too late: what was missing came first. */
	deliver(request(ROCE_OP_WRITE_ONLY, 2), 0);
	struct roce_pkt h = request(ROCE_OP_WRITE_ONLY, 1);

	h.bth.ack_req = 0;
	deliver(h, 0);
	expect_ack(1, 0, 2);
	expect_none();
	deliver(request(ROCE_OP_WRITE_ONLY, (1 << 23) + 1), 0);
	expect_nak(2, AETH_NAK_SEQUENCE);
	assert_int_equal(state(), ENGINE_RTR);
}

/* One packet that ends the connection, after one that may open a message. */
struct refused {
	uint8_t before; /* opcode; 0xff: none */
	uint8_t opcode;
	uint32_t len, dmalen, key;
	uint64_t va;
	enum aeth_nak why;
};

#define NOTHING 0xff

static const struct refused refusals[] = {
	/* Reserved, and out of turn. */
	{NOTHING, 0x15, 0, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{NOTHING, 0x1f, 0, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_SEND_MIDDLE, PMTU, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_SEND_LAST, 9, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_WRITE_LAST_IMM, 9, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{ROCE_OP_SEND_FIRST, ROCE_OP_SEND_FIRST, PMTU, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{ROCE_OP_SEND_FIRST, ROCE_OP_SEND_ONLY, 9, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{ROCE_OP_SEND_FIRST, ROCE_OP_WRITE_LAST, 9, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{ROCE_OP_SEND_FIRST, ROCE_OP_READ_REQUEST, 0, 9, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{ROCE_OP_WRITE_FIRST, ROCE_OP_SEND_LAST, 9, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_ONLY, 9, 9, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{ROCE_OP_WRITE_FIRST, ROCE_OP_FETCH_ADD, 0, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	/* Lengths. A write that is open has 2 PMTU + 9 bytes. */
	{NOTHING, ROCE_OP_SEND_ONLY, PMTU + 1, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_SEND_FIRST, PMTU - 1, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_SEND_FIRST, PMTU + 4, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE, 252, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{ROCE_OP_SEND_FIRST, ROCE_OP_SEND_LAST, 0, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{ROCE_OP_SEND_FIRST, ROCE_OP_SEND_LAST, 260, 0, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_WRITE_ONLY, 9, 10, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_WRITE_ONLY, 9, 8, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_WRITE_ONLY, 260, 260, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_WRITE_FIRST, PMTU, PMTU, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_WRITE_FIRST, 252, 300, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_WRITE_FIRST, PMTU, 0x80000001, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE, 252, 0, KEY_ALL, 0, AETH_NAK_INVALID_REQUEST},
	{ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_LAST, 9, 0, KEY_ALL, 0, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_READ_REQUEST, 0, 0x80000001, KEY_ALL, BASE, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_FETCH_ADD, 0, 0, KEY_ALL, BASE + 4, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_FETCH_ADD, 0, 0, KEY_VIRTUAL, BASE + 4, AETH_NAK_INVALID_REQUEST},
	{NOTHING, ROCE_OP_COMPARE_SWAP, 0, 0, KEY_ODD, BASE, AETH_NAK_INVALID_REQUEST},
	/* Keys, ranges, rights. */
	{NOTHING, ROCE_OP_WRITE_ONLY, 9, 9, 0x999, BASE, AETH_NAK_REMOTE_ACCESS},
	{NOTHING, ROCE_OP_WRITE_ONLY, 9, 9, KEY_FOREIGN, BASE, AETH_NAK_REMOTE_ACCESS},
	{NOTHING, ROCE_OP_WRITE_ONLY, 9, 9, KEY_READ_ONLY, BASE, AETH_NAK_REMOTE_ACCESS},
	{NOTHING, ROCE_OP_WRITE_ONLY, 9, 9, KEY_ALL, BASE - 1, AETH_NAK_REMOTE_ACCESS},
	{NOTHING, ROCE_OP_WRITE_ONLY, 9, 9, KEY_ALL, BASE + MEMORY - 8, AETH_NAK_REMOTE_ACCESS},
	{NOTHING, ROCE_OP_WRITE_ONLY, 9, 9, KEY_ALL, UINT64_MAX - 3, AETH_NAK_REMOTE_ACCESS},
	{NOTHING, ROCE_OP_WRITE_FIRST, PMTU, MEMORY + 1, KEY_ALL, BASE, AETH_NAK_REMOTE_ACCESS},
	{NOTHING, ROCE_OP_READ_REQUEST, 0, 9, 0x999, BASE, AETH_NAK_REMOTE_ACCESS},
	{NOTHING, ROCE_OP_READ_REQUEST, 0, MEMORY, KEY_ALL, BASE + 1, AETH_NAK_REMOTE_ACCESS},
	{NOTHING, ROCE_OP_READ_REQUEST, 0, 9, KEY_LOCAL, BASE, AETH_NAK_REMOTE_ACCESS},
	{NOTHING, ROCE_OP_FETCH_ADD, 0, 0, KEY_READ_ONLY, BASE, AETH_NAK_REMOTE_ACCESS},
	{NOTHING, ROCE_OP_COMPARE_SWAP, 0, 0, KEY_ALL, BASE + MEMORY, AETH_NAK_REMOTE_ACCESS},
};

static void refuse_one(const struct refused *c)
{
	uint32_t psn = c->before != NOTHING;
	struct roce_pkt h;

	start();
	post_recv();
	if (c->before != NOTHING) {
		h = request(c->before, 0);
		h.reth.dmalen = 2 * PMTU + 9;
		h.reth.va += MEMORY / 2;
		deliver(h, PMTU);
		expect_aeth(ROCE_OP_ACKNOWLEDGE, 0, AETH_ACK, 1);
		make_memory();
	}
	h = request(c->opcode, psn);
	h.reth = (struct reth){.va = c->va, .rkey = c->key, .dmalen = c->dmalen};
	h.atomic.va = c->va;
	h.atomic.rkey = c->key;
	deliver(h, c->len);
	expect_event(ENGINE_EVENT_ESTABLISHED);
	expect_event(c->why == AETH_NAK_REMOTE_ACCESS ? ENGINE_EVENT_ACCESS : ENGINE_EVENT_INVALID);
	expect_nak(psn, c->why);
	assert_int_equal(w.got.aeth.msn, 0);
	expect_none();
	assert_int_equal(state(), ENGINE_ERROR);
	expect_untouched();
	expect_done(0, ENGINE_FLUSHED);
	assert_int_equal(count()->rx_nak_sent, 1);
	/* Nothing is taken any more. */
	h = request(ROCE_OP_WRITE_ONLY, psn);
	deliver(h, 0);
	expect_none();
	assert_int_equal(count()->drop_state, 1);
}

static void senseless_and_forbidden_requests_are_refused(void **s)
{
	(void)s;
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
		refuse_one(&refusals[i]);
}

/* What the queue pair does not allow is a request without sense (IBTA table 57). */
static void operations_not_enabled_are_refused(void **s)
{
	static const struct {
		uint8_t opcode, missing;
	} cases[] = {
		{ROCE_OP_WRITE_ONLY, MEM_REMOTE_WRITE},
		{ROCE_OP_READ_REQUEST, MEM_REMOTE_READ},
		{ROCE_OP_FETCH_ADD, MEM_REMOTE_ATOMIC},
	};

	(void)s;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		start_with(RC_NO_SRQ, DEPTH, ACCESS_ALL & ~cases[i].missing, &unpaced);
		deliver(request(cases[i].opcode, 0), 0);
		expect_nak(0, AETH_NAK_INVALID_REQUEST);
		assert_int_equal(state(), ENGINE_ERROR);
	}
}

static void a_region_gone_in_the_midst_of_a_write(void **s)
{
	(void)s;
	start();
	struct roce_pkt h = request(ROCE_OP_WRITE_FIRST, 0);

	h.reth.dmalen = 2 * PMTU;
	deliver(h, PMTU);
	assert_int_equal(mem_remove(w.mem, KEY_WINDOW), 0);
	assert_int_equal(mem_remove(w.mem, KEY_ALL), 0);
	deliver(request(ROCE_OP_WRITE_LAST, 1), PMTU);
	expect_nak(1, AETH_NAK_REMOTE_ACCESS);
	assert_int_equal(w.memory[PMTU], original_byte(PMTU));
	assert_int_equal(w.memory[0], payload_byte(wire_psn(0), 0));
	assert_int_equal(state(), ENGINE_ERROR);
}

/* Messages that a receive was taken for, and what its completion says. */
static void a_receive_tells_why_its_message_failed(void **s)
{
	static const struct {
		uint8_t first, opcode;
		uint32_t len, lkey, inv;
		enum engine_status status;
		enum aeth_nak why;
	} cases[] = {
		{NOTHING, ROCE_OP_SEND_ONLY, 101, 0x999, 0, ENGINE_LOCAL_PROTECTION,
		 AETH_NAK_REMOTE_OPERATION},
		{NOTHING, ROCE_OP_SEND_ONLY, 101, KEY_FOREIGN, 0, ENGINE_LOCAL_PROTECTION,
		 AETH_NAK_REMOTE_OPERATION},
		{ROCE_OP_SEND_FIRST, ROCE_OP_SEND_LAST, ROOM - 2 * PMTU + 1, KEY_LOCAL, 0,
		 ENGINE_LOCAL_LENGTH, AETH_NAK_INVALID_REQUEST},
		{NOTHING, ROCE_OP_SEND_ONLY_INV, 9, KEY_LOCAL, KEY_ALL, ENGINE_REMOTE_INVALID,
		 AETH_NAK_REMOTE_ACCESS},
		{NOTHING, ROCE_OP_WRITE_ONLY_IMM, 9, KEY_LOCAL, 0, ENGINE_LOCAL_ACCESS,
		 AETH_NAK_REMOTE_ACCESS},
	};

	(void)s;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint32_t psn = 0;

		start();
		post_recv_key(cases[i].lkey, 0);
		post_recv();
		if (cases[i].first != NOTHING) {
			deliver(request(ROCE_OP_SEND_FIRST, 0), PMTU);
			deliver(request(ROCE_OP_SEND_MIDDLE, 1), PMTU);
			psn = 2;
		}
		struct roce_pkt h = request(cases[i].opcode, psn);

		h.reth = (struct reth){.va = BASE, .dmalen = cases[i].len, .rkey = KEY_READ_ONLY};
		h.ieth.rkey = cases[i].inv;
		deliver(h, cases[i].len);
		expect_done(0, cases[i].status);
		expect_done(1, ENGINE_FLUSHED);
		expect_no_done();
		expect_nak(psn, cases[i].why);
		expect_none();
		assert_int_equal(state(), ENGINE_ERROR);
		assert_int_equal(w.recv[MEMORY / 8], CANARY);
	}
}

/* All keys are checked before a byte is written, and none when the poster is trusted. */
static void keys_of_a_receive(void **s)
{
	(void)s;
	start();
	post_recv_key(0x999, 0);
	deliver(request(ROCE_OP_SEND_ONLY, 0), 101);
	expect_untouched();
	start();
	post_recv_key(0x999, 0);
	deliver(request(ROCE_OP_SEND_ONLY, 0), 100);
	expect_done(0, ENGINE_OK);
	start();
	post_recv_key(0x999, ENGINE_TRUSTED);
	deliver(request(ROCE_OP_SEND_ONLY, 0), 101);
	expect_done(0, ENGINE_OK);
	assert_int_equal(recv_byte(0, 100), payload_byte(wire_psn(0), 100));
}

static void a_send_may_invalidate_a_window(void **s)
{
	(void)s;
	start();
	post_recv();
	struct roce_pkt h = request(ROCE_OP_WRITE_ONLY, 0);

	h.reth = (struct reth){.va = BASE, .rkey = KEY_WINDOW, .dmalen = 8};
	deliver(h, 8);
	expect_ack(0, 1, 1);
	deliver(request(ROCE_OP_SEND_ONLY_INV, 1), 5);
	struct done done = expect_done(0, ENGINE_OK);

	assert_int_equal(done.flags, ENGINE_HAS_INV);
	assert_int_equal(done.imm, KEY_WINDOW);
	expect_ack(1, 0, 2);
	h.bth.psn = wire_psn(2);
	deliver(h, 8);
	expect_nak(2, AETH_NAK_REMOTE_ACCESS);
}

static void the_first_request_establishes(void **s)
{
	(void)s;
	start();
	expect_event(NO_EVENT);
	deliver(request(ROCE_OP_WRITE_ONLY, 0), 0);
	expect_event(ENGINE_EVENT_ESTABLISHED);
	deliver(request(ROCE_OP_WRITE_ONLY, 1), 0);
	expect_event(NO_EVENT);
	start();
	to_rts();
	deliver(request(ROCE_OP_WRITE_ONLY, 0), 0);
	expect_event(NO_EVENT);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_send_fills_its_receive),
	cmocka_unit_test(a_long_send_is_reported_after_its_last_byte),
	cmocka_unit_test(a_write_lands_where_it_says),
	cmocka_unit_test(virtual_payload_is_zeros),
	cmocka_unit_test(a_write_with_immediate_waits_for_a_receive),
	cmocka_unit_test(a_send_without_a_receive_is_put_off),
	cmocka_unit_test(a_gap_is_told_of_once),
	cmocka_unit_test(senseless_and_forbidden_requests_are_refused),
	cmocka_unit_test(operations_not_enabled_are_refused),
	cmocka_unit_test(a_region_gone_in_the_midst_of_a_write),
	cmocka_unit_test(a_receive_tells_why_its_message_failed),
	cmocka_unit_test(keys_of_a_receive),
	cmocka_unit_test(a_send_may_invalidate_a_window),
	cmocka_unit_test(the_first_request_establishes),
};

CHECK_MAIN(cases)
