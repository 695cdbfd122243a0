#include "base/prng.h"
#include "check.h"
#include "rc/state.h"
#include "rc_responder.h"
#include "wire/aeth.h"

static struct roce_pkt read_request(uint32_t psn, uint32_t at, uint32_t len)
{
	struct roce_pkt h = request(ROCE_OP_READ_REQUEST, psn);

	h.reth.va += at;
	h.reth.dmalen = len;
	return h;
}

static void ask_read(uint32_t psn, uint32_t at, uint32_t len)
{
	deliver(read_request(psn, at, len), 0);
}

static struct roce_pkt add_request(uint32_t psn, uint32_t at, uint64_t add)
{
	struct roce_pkt h = request(ROCE_OP_FETCH_ADD, psn);

	h.atomic.va += at;
	h.atomic.swap_add = add;
	return h;
}

/* A packet of a read's response, with the bytes of memory from `at` on. */
static void expect_read(uint8_t opcode, uint32_t psn, uint32_t at, uint32_t len, uint32_t msn)
{
	assert_true(pull());
	assert_int_equal(w.got.bth.opcode, opcode);
	assert_int_equal(w.got.bth.psn, wire_psn(psn));
	assert_int_equal(w.got.payload.len, len);
	if (len > 0) {
		/* Never copied: it is sent from where the region is. */
		assert_ptr_equal(w.tx.body[0].at, w.memory + at);
		assert_memory_equal(w.got.payload.at, w.memory + at, len);
	}
	assert_int_equal(w.tx.n_body, (len > 0) + (len % 4 != 0));
	for (uint32_t i = 0; i < w.got.bth.pad; i++)
		assert_int_equal(w.got.payload.at[len + i], 0);
	if (opcode == ROCE_OP_READ_RESPONSE_MIDDLE)
		return;
	assert_int_equal(w.got.aeth.type, AETH_ACK);
	assert_int_equal(w.got.aeth.value, 0);
	assert_int_equal(w.got.aeth.msn, msn);
}

static void expect_atomic(uint32_t psn, uint64_t original, uint32_t msn)
{
	expect_aeth(ROCE_OP_ATOMIC_ACKNOWLEDGE, psn, AETH_ACK, 0);
	assert_int_equal(w.got.atomic_ack.original, original);
	assert_int_equal(w.got.aeth.msn, msn);
}

static struct rc_qp *queue_pair(void)
{
	return (struct rc_qp *)(void *)w.pair;
}

static uint64_t word_at(uint32_t at)
{
	uint64_t v;

	memcpy(&v, w.memory + at, sizeof v);
	return v;
}

static void remove_region(void)
{
	mem_remove(w.mem, KEY_WINDOW);
	assert_int_equal(mem_remove(w.mem, KEY_ALL), 0);
}

static void reads_of_every_shape(void **s)
{
	static const uint32_t lengths[] = {0, 1, 3, 255, 256, 257, 512, 700};
	uint32_t psn = 0;

	(void)s;
	start();
	for (uint32_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		uint32_t len = lengths[i], n = len == 0 ? 1 : (len + PMTU - 1) / PMTU;

		ask_read(psn, 100, len);
		assert_int_equal(expected(), psn + n);
		for (uint32_t k = 0; k < n; k++) {
			uint32_t left = len - k * PMTU;
			uint8_t opcode = n == 1       ? ROCE_OP_READ_RESPONSE_ONLY
					 : k == 0     ? ROCE_OP_READ_RESPONSE_FIRST
					 : k == n - 1 ? ROCE_OP_READ_RESPONSE_LAST
						      : ROCE_OP_READ_RESPONSE_MIDDLE;

			expect_read(opcode, psn + k, 100 + k * PMTU, left < PMTU ? left : PMTU,
				    i + 1);
		}
		expect_none();
		psn += n;
	}
	assert_int_equal(count()->tx_response, psn);
	assert_int_equal(count()->tx_ack, 0);
}

static void a_read_of_nothing_needs_no_key(void **s)
{
	(void)s;
	start();
	struct roce_pkt h = read_request(0, 0, 0);

	h.reth.rkey = 0x999;
	deliver(h, 0);
	expect_read(ROCE_OP_READ_RESPONSE_ONLY, 0, 0, 0, 1);
}

static void virtual_memory_reads_as_zeros(void **s)
{
	(void)s;
	start();
	struct roce_pkt h = read_request(0, 0, 9);

	h.reth.rkey = KEY_VIRTUAL;
	deliver(h, 0);
	assert_true(pull());
	assert_null(w.tx.body[0].at);
	assert_int_equal(w.tx.body[0].len, 9);
	h = add_request(1, 0, 5);
	h.atomic.rkey = KEY_VIRTUAL;
	deliver(h, 0);
	expect_atomic(1, 0, 2);
	expect_untouched();
}

static void answers_keep_the_order_of_requests(void **s)
{
	(void)s;
	start();
	deliver(request(ROCE_OP_WRITE_ONLY, 0), 0);
	ask_read(1, 0, PMTU + 1);
	/* The read's answer acknowledges the write before it. */
	deliver(add_request(3, 8, 1), 0);
	deliver(request(ROCE_OP_WRITE_ONLY, 4), 0);
	uint64_t before = word_at(8) - 1;

	expect_read(ROCE_OP_READ_RESPONSE_FIRST, 1, 0, PMTU, 2);
	expect_read(ROCE_OP_READ_RESPONSE_LAST, 2, PMTU, 1, 2);
	expect_atomic(3, before, 3);
	expect_ack(4, 0, 4);
	expect_none();
	deliver(request(ROCE_OP_WRITE_ONLY, 5), 0);
	ask_read(6, 0, 1);
	expect_read(ROCE_OP_READ_RESPONSE_ONLY, 6, 0, 1, 6);
	expect_none();
}

static void answers_before_a_refusal_are_still_sent(void **s)
{
	(void)s;
	start();
	post_recv();
	ask_read(0, 0, PMTU + 1);
	struct roce_pkt h = request(ROCE_OP_WRITE_ONLY, 2);

	h.reth.rkey = 0x999;
	h.reth.dmalen = 4;
	deliver(h, 4);
	assert_int_equal(state(), ENGINE_ERROR);
	expect_done(0, ENGINE_FLUSHED);
	assert_true(pull());
	assert_int_equal(w.got.bth.opcode, ROCE_OP_READ_RESPONSE_FIRST);
	assert_true(pull());
	assert_int_equal(w.got.bth.opcode, ROCE_OP_READ_RESPONSE_LAST);
	assert_true(queue_pair()->resp.is_closing);
	expect_nak(2, AETH_NAK_REMOTE_ACCESS);
	assert_int_equal(w.got.aeth.msn, 1);
	expect_none();
	assert_false(queue_pair()->resp.is_closing);
}

static void a_region_gone_in_the_midst_of_a_read(void **s)
{
	(void)s;
	start();
	ask_read(0, 0, 3 * PMTU);
	deliver(add_request(3, 0, 1), 0);
	expect_read(ROCE_OP_READ_RESPONSE_FIRST, 0, 0, PMTU, 1);
	remove_region();
	expect_nak(1, AETH_NAK_REMOTE_ACCESS);
	assert_int_equal(w.got.aeth.msn, 0);
	expect_none();
	assert_int_equal(state(), ENGINE_ERROR);
	expect_event(ENGINE_EVENT_ESTABLISHED);
	expect_event(ENGINE_EVENT_ACCESS);
}

static void atomics(void **s)
{
	(void)s;
	start();
	uint64_t was = word_at(16);
	struct roce_pkt h = add_request(0, 16, UINT64_MAX);

	deliver(h, 0);
	assert_int_equal(word_at(16), was - 1);
	expect_atomic(0, was, 1);
	h = request(ROCE_OP_COMPARE_SWAP, 1);
	h.atomic.va += 16;
	h.atomic.compare = was;
	h.atomic.swap_add = 42;
	deliver(h, 0);
	assert_int_equal(word_at(16), was - 1);
	expect_atomic(1, was - 1, 2);
	h.bth.psn = wire_psn(2);
	h.atomic.compare = was - 1;
	deliver(h, 0);
	assert_int_equal(word_at(16), 42);
	expect_atomic(2, was - 1, 3);
	/* Again, and in any order: answered alike, executed never. */
	deliver(h, 0);
	deliver(add_request(0, 16, UINT64_MAX), 0);
	expect_atomic(0, was, 1);
	expect_atomic(2, was - 1, 3);
	expect_none();
	assert_int_equal(word_at(16), 42);
	assert_int_equal(count()->rx_duplicate, 2);
	/* Something else at that PSN is no duplicate. */
	deliver(add_request(0, 24, 1), 0);
	ask_read(0, 16, 0);
	expect_none();
	assert_int_equal(count()->drop_repeat, 2);
}

static void sends_and_writes_again(void **s)
{
	(void)s;
	start();
	post_recv();
	post_recv();
	struct roce_pkt h = request(ROCE_OP_WRITE_ONLY, 0);

	h.reth.dmalen = 8;
	deliver(h, 8);
	deliver(request(ROCE_OP_SEND_ONLY, 1), 8);
	expect_ack(1, 1, 2);
	memset(w.memory, 1, 8);
	memset(w.recv, 2, 8);
	expect_done(0, ENGINE_OK);
	h.bth.ack_req = 0;
	deliver(h, 8);
	deliver(request(ROCE_OP_SEND_ONLY, 1), 8);
	/* Not even one without sense is looked at. */
	deliver(request(ROCE_OP_SEND_MIDDLE, 1), 3);
	expect_ack(1, 1, 2);
	expect_none();
	expect_no_done();
	assert_int_equal(w.memory[0] + w.recv[0], 3);
	assert_int_equal(count()->rx_duplicate, 3);
	/* A gap that is yet to be told of says as much. */
	deliver(request(ROCE_OP_SEND_ONLY, 4), 8);
	deliver(h, 8);
	expect_nak(2, AETH_NAK_SEQUENCE);
	expect_none();
}

static uint32_t n_losses;

static void on_loss(struct cc *c, const struct cc_ack *ack, enum cc_loss loss)
{
	(void)c;
	assert_int_equal(loss, CC_LOSS_GAP);
	assert_int_equal(ack->now, w.now);
	assert_int_equal(ack->bytes, PMTU + 5);
	assert_int_equal(ack->pkts, 2);
	n_losses++;
}

/* What is asked for again did not arrive, and the responses are a flow of their own. */
static void a_read_again_is_a_loss(void **s)
{
	struct cc_ops watched;

	(void)s;
	start();
	watched = *queue_pair()->req.cc.ops;
	watched.on_loss = on_loss;
	queue_pair()->req.cc.ops = &watched;
	n_losses = 0;
	ask_read(0, 0, PMTU + 5);
	assert_true(pull() && pull());
	assert_int_equal(n_losses, 0);
	ask_read(0, 0, PMTU + 5);
	ask_read(0, 0, PMTU + 5);
	assert_int_equal(n_losses, 1);
}

/* 2^24 packets later a PSN is another atomic's, and what was remembered of the first is void. */
static void a_psn_comes_round_again(void **s)
{
	struct rc_responder *p;

	(void)s;
	start();
	deliver(add_request(0, 0, 1), 0);
	assert_true(pull());
	p = &queue_pair()->resp;
	p->expected = psn24_of(PSN);
	uint64_t was = word_at(0);

	deliver(add_request(0, 0, 1), 0);
	assert_true(pull());
	deliver(add_request(0, 0, 1), 0);
	expect_atomic(0, was, 2);
	assert_int_equal(word_at(0), was + 1);
}

static void a_read_again(void **s)
{
	(void)s;
	start();
	ask_read(0, 40, 2 * PMTU + 5);
	/* Not sent yet. */
	ask_read(0, 40, 2 * PMTU + 5);
	ask_read(1, 40 + PMTU, PMTU + 5);
	assert_int_equal(count()->drop_repeat, 2);
	expect_read(ROCE_OP_READ_RESPONSE_FIRST, 0, 40, PMTU, 1);
	expect_read(ROCE_OP_READ_RESPONSE_MIDDLE, 1, 40 + PMTU, PMTU, 1);
	/* From a part on that was sent: the rest is sent once. */
	ask_read(1, 40 + PMTU, PMTU + 5);
	expect_read(ROCE_OP_READ_RESPONSE_FIRST, 1, 40 + PMTU, PMTU, 1);
	expect_read(ROCE_OP_READ_RESPONSE_LAST, 2, 40 + 2 * PMTU, 5, 1);
	expect_none();
	/* Whole, in part, shorter. */
	ask_read(0, 40, 2 * PMTU + 5);
	expect_read(ROCE_OP_READ_RESPONSE_FIRST, 0, 40, PMTU, 1);
	expect_read(ROCE_OP_READ_RESPONSE_MIDDLE, 1, 40 + PMTU, PMTU, 1);
	expect_read(ROCE_OP_READ_RESPONSE_LAST, 2, 40 + 2 * PMTU, 5, 1);
	ask_read(2, 40 + 2 * PMTU, 5);
	ask_read(1, 40 + PMTU, PMTU);
	expect_read(ROCE_OP_READ_RESPONSE_ONLY, 1, 40 + PMTU, PMTU, 1);
	expect_read(ROCE_OP_READ_RESPONSE_ONLY, 2, 40 + 2 * PMTU, 5, 1);
	expect_none();
	assert_int_equal(expected(), 3);
}

static void a_read_again_that_is_another(void **s)
{
	static const struct {
		uint32_t psn, at, len, key;
	} cases[] = {
		{0, 41, 2 * PMTU, KEY_ALL},       {0, 40, 2 * PMTU + 6, KEY_ALL},
		{0, 40, 2 * PMTU, KEY_READ_ONLY}, {1, 40, PMTU, KEY_ALL},
		{1, 40 + PMTU, 300, KEY_ALL},     {0xffffff, 40, 5, KEY_ALL},
	};

	(void)s;
	start();
	ask_read(0, 40, 2 * PMTU + 5);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(pull());
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct roce_pkt h = read_request(cases[i].psn, cases[i].at, cases[i].len);

		h.reth.rkey = cases[i].key;
		deliver(h, 0);
		expect_none();
		assert_int_equal(count()->drop_repeat, i + 1);
	}
	/* A copy that the network made may come after the region has gone: no harm is done. */
	remove_region();
	ask_read(0, 40, 2 * PMTU + 5);
	expect_none();
	assert_int_equal(state(), ENGINE_RTR);
}

static void a_region_gone_before_a_read_is_answered_again(void **s)
{
	(void)s;
	start();
	ask_read(0, 0, 9);
	assert_true(pull());
	ask_read(0, 0, 9);
	remove_region();
	struct roce_pkt h = read_request(1, 0, 9);

	h.reth.rkey = KEY_READ_ONLY;
	deliver(h, 0);
	expect_read(ROCE_OP_READ_RESPONSE_ONLY, 1, 0, 9, 2);
	expect_none();
	assert_int_equal(state(), ENGINE_RTR);
}

/* A copy of a read that was answered comes while later ones wait: those are not held up for ever,
 * and the peer is not taken to have asked for too much. */
static void a_read_again_before_others(void **s)
{
	(void)s;
	start_with(RC_NO_SRQ, 2, ACCESS_ALL, &unpaced);
	ask_read(0, 0, 9);
	expect_read(ROCE_OP_READ_RESPONSE_ONLY, 0, 0, 9, 1);
	ask_read(1, 16, 9);
	ask_read(0, 0, 9);
	ask_read(2, 32, 9);
	expect_read(ROCE_OP_READ_RESPONSE_ONLY, 0, 0, 9, 1);
	expect_read(ROCE_OP_READ_RESPONSE_ONLY, 1, 16, 9, 2);
	expect_read(ROCE_OP_READ_RESPONSE_ONLY, 2, 32, 9, 3);
	expect_none();
}

static void the_past_is_bounded(void **s)
{
	(void)s;
	start();
	for (uint32_t i = 0; i < RC_RD_ATOMIC_MAX + 1; i++) {
		deliver(add_request(i, 0, 1), 0);
		assert_true(pull());
	}
	uint64_t now = word_at(0);

	deliver(add_request(0, 0, 1), 0);
	expect_none();
	deliver(add_request(1, 0, 1), 0);
	expect_atomic(1, now - RC_RD_ATOMIC_MAX, 2);
	assert_int_equal(word_at(0), now);
	assert_int_equal(count()->drop_repeat, 1);
}

static void more_reads_than_allowed(void **s)
{
	(void)s;
	for (uint8_t depth = 0; depth <= RC_RD_ATOMIC_MAX; depth++) {
		start_with(RC_NO_SRQ, depth, ACCESS_ALL, &unpaced);
		for (uint32_t i = 0; i < depth; i++)
			ask_read(i, i, 1);
		assert_int_equal(state(), ENGINE_RTR);
		if (depth % 2 == 0)
			ask_read(depth, 0, 1);
		else
			deliver(add_request(depth, 0, 1), 0);
		assert_int_equal(state(), ENGINE_ERROR);
		for (uint32_t i = 0; i < depth; i++)
			assert_true(pull());
		expect_nak(depth, AETH_NAK_INVALID_REQUEST);
		expect_none();
	}
}

/* No more answers can wait than have a place: a request without one comes again. */
static void a_full_ring_of_answers(void **s)
{
	(void)s;
	start_with(RC_NO_SRQ, RC_RD_ATOMIC_MAX, ACCESS_ALL, &unpaced);
	for (uint32_t i = 0; i < RC_RD_ATOMIC_MAX; i++) {
		ask_read(i, i, 1);
		assert_true(pull());
	}
	for (uint32_t i = 0; i < RC_RD_ATOMIC_MAX; i++)
		ask_read(i, i, 1);
	ask_read(RC_RD_ATOMIC_MAX, 0, 1);
	ask_read(RC_RD_ATOMIC_MAX + 1, 0, 1);
	assert_int_equal(count()->drop_repeat, 1);
	for (uint32_t i = 0; i <= RC_RD_ATOMIC_MAX; i++) {
		assert_true(pull());
		assert_int_equal(w.got.bth.psn, wire_psn(i));
	}
	expect_none();
	ask_read(RC_RD_ATOMIC_MAX + 1, 0, 1);
	assert_true(pull());
	assert_int_equal(state(), ENGINE_RTR);
}

static void marked_packets_are_told_of(void **s)
{
	(void)s;
	start();
	w.rx.ecn = 3;
	deliver(request(ROCE_OP_WRITE_ONLY, 0), 0);
	deliver(request(ROCE_OP_WRITE_ONLY, 1), 0);
	assert_true(pull());
	assert_int_equal(w.got.bth.opcode, ROCE_OP_CNP);
	assert_int_equal(w.got.bth.psn, 0);
	assert_int_equal(w.got.bth.becn, 1);
	assert_int_equal(w.tx.tclass, ENGINE_CONTROL);
	assert_int_equal(w.tx.not_ect, 1);
	assert_int_equal(w.tx.head_len, 28);
	expect_ack(1, 0, 2);
	expect_none();
	w.now += 49999;
	deliver(request(ROCE_OP_WRITE_ONLY, 1), 0);
	expect_ack(1, 0, 2);
	w.now++;
	deliver(request(ROCE_OP_WRITE_ONLY, 1), 0);
	assert_true(pull());
	assert_int_equal(w.got.bth.opcode, ROCE_OP_CNP);
	assert_int_equal(count()->tx_cnp, 2);
	w.rx.ecn = 1;
	w.now += 100000;
	deliver(request(ROCE_OP_WRITE_ONLY, 2), 0);
	expect_ack(2, 0, 3);
}

/* A CNP passes what is stopped, the answers in front of its turn too, and is not sent twice; what
 * waits for CNPs to go on waits, and is first then. */
static void cnps_go_by_themselves(void **s)
{
	const uint32_t control = UINT32_C(1) << ENGINE_CONTROL * ENGINE_PORTS;
	const uint32_t others = ~control;

	(void)s;
	start();
	ask_read(0, 0, 9);
	w.rx.ecn = 3;
	deliver(request(ROCE_OP_WRITE_ONLY, 1), 0);
	assert_int_equal(rc_ops.deadline(w.e, control), w.now);
	assert_true(pull_of(control));
	assert_int_equal(w.got.bth.opcode, ROCE_OP_CNP);
	assert_true(rc_ops.deadline(w.e, control) > w.now);
	assert_false(pull_of(control));
	assert_true(pull());
	assert_int_equal(w.got.bth.opcode, ROCE_OP_READ_RESPONSE_ONLY);
	expect_ack(1, 0, 2);
	expect_none();
	w.now += 50000;
	deliver(request(ROCE_OP_WRITE_ONLY, 2), 0);
	assert_true(rc_ops.deadline(w.e, others) > w.now);
	assert_false(pull_of(others));
	assert_true(pull());
	assert_int_equal(w.got.bth.opcode, ROCE_OP_CNP);
	assert_true(rc_ops.deadline(w.e, control) > w.now);
	expect_ack(2, 0, 3);
	assert_int_equal(count()->tx_cnp, 2);
	/* What ends takes it along. */
	w.now += 50000;
	deliver(request(ROCE_OP_WRITE_ONLY, 3), 0);
	modify((struct engine_attr){.state = ENGINE_ERROR}, ENGINE_SET_STATE);
	assert_true(rc_ops.deadline(w.e, control) > w.now);
	assert_false(pull_of(control));
}

static void credits_of_table_49(void **s)
{
	(void)s;
	static const struct {
		uint32_t n;
		uint8_t code;
	} cases[] = {{0, 0},     {4, 4},      {5, 4},      {6, 5},          {7, 5},    {8, 6},
		     {12, 7},    {31, 9},     {32, 10},    {191, 14},       {192, 15}, {1023, 19},
		     {1024, 20}, {32767, 29}, {32768, 30}, {UINT32_MAX, 30}};

	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(aeth_credit_code(cases[i].n), cases[i].code);
	for (uint8_t code = 0; code < 31; code++)
		assert_int_equal(aeth_credit_code(aeth_credits(code)), code);
	/* From 4 on, every second code doubles. */
	for (uint8_t code = 4; code < 29; code++)
		assert_int_equal(aeth_credits(code + 2), 2 * aeth_credits(code));
}

static void a_shared_queue_gives_no_credits(void **s)
{
	(void)s;
	start_with(0, DEPTH, ACCESS_ALL, &unpaced);
	deliver(request(ROCE_OP_SEND_ONLY, 0), 9);
	expect_rnr(0);
	post_recv_key(KEY_LOCAL, ENGINE_SHARED);
	post_recv_key(KEY_LOCAL, ENGINE_SHARED);
	deliver(request(ROCE_OP_SEND_FIRST, 0), PMTU);
	expect_ack(0, 31, 0);
	/* Its end takes the receive in hand, and leaves the others to the other queue pairs. */
	modify((struct engine_attr){.state = ENGINE_ERROR}, ENGINE_SET_STATE);
	expect_done(0, ENGINE_FLUSHED);
	expect_no_done();
}

static void an_end_by_our_own_wish_is_silent(void **s)
{
	(void)s;
	start();
	post_recv();
	ask_read(0, 0, 9);
	deliver(request(ROCE_OP_WRITE_ONLY, 1), 0);
	w.rx.ecn = 3;
	deliver(request(ROCE_OP_WRITE_ONLY, 2), 0);
	modify((struct engine_attr){.state = ENGINE_ERROR}, ENGINE_SET_STATE);
	expect_none();
	expect_done(0, ENGINE_FLUSHED);
	modify((struct engine_attr){.state = ENGINE_RESET}, ENGINE_SET_STATE);
	modify((struct engine_attr){.state = ENGINE_INIT, .access = ACCESS_ALL},
	       ENGINE_SET_STATE | ENGINE_SET_ACCESS);
	post_recv();
	to_rtr(DEPTH, wire_psn(3));
	expect_none();
	w.rx.ecn = 0;
	/* The past is forgotten, too. */
	ask_read(0, 0, 9);
	expect_none();
	deliver(request(ROCE_OP_SEND_ONLY, 3), 9);
	expect_ack(3, 0, 1);
	expect_done(1, ENGINE_OK);
}

/* Responses of reads are data: a notice slows them down, and nothing else. */
static void responses_are_paced(void **s)
{
	static const struct cc_cfg paced = {
		.kind = CC_DCQCN, .window_bytes = 1 << 20, .line_rate_bps = 1000000000};
	struct roce_pkt cnp = request(ROCE_OP_CNP, 0);
	nsec last = 0;

	(void)s;
	start_with(RC_NO_SRQ, DEPTH, ACCESS_ALL, &paced);
	to_rts();
	deliver(cnp, 0);
	ask_read(0, 0, 16 * PMTU);
	for (uint32_t i = 0; i < 16; i++) {
		/* 256 bytes at half the line rate, 1 Gb/s, are 4.1 us. */
		if (!pull()) {
			nsec next = rc_ops.deadline(w.e, engine_may_all(1));

			assert_true(next > w.now && next < w.now + 10000);
			for (uint32_t k = 0; k < 64 && !pull(); k++) {
				assert_true(rc_ops.deadline(w.e, engine_may_all(1)) > w.now);
				w.now = rc_ops.deadline(w.e, engine_may_all(1));
			}
		}
		assert_int_equal(w.got.bth.psn, wire_psn(i));
		if (i >= 2)
			assert_in_range(w.now - last, 2000, 6000);
		last = w.now;
	}
	assert_true(w.now > 40000);
}

/* A packet of any kind, most often the expected one; none reaches below byte 64 of memory. */
static void deliver_any(struct prng *rng)
{
	uint8_t opcode = (uint8_t)prng_below(rng, 0x18);
	uint32_t ahead = prng_below(rng, 8) == 0;
	uint32_t back = prng_below(rng, 3) == 0 ? (uint32_t)prng_below(rng, 4) : 0;
	uint32_t len = prng_below(rng, 4) ? PMTU : (uint32_t)prng_below(rng, PMTU + 2);
	struct roce_pkt h = request(opcode, expected() + ahead - back);

	h.bth.ack_req = (uint8_t)prng_below(rng, 2);
	h.reth.va += 64 + prng_below(rng, 2048);
	h.reth.dmalen = prng_below(rng, 2) ? len : 3 * PMTU;
	h.atomic.va += 64 + 8 * prng_below(rng, 64);
	if (opcode >= ROCE_OP_READ_REQUEST && opcode < ROCE_OP_SEND_LAST_INV)
		len = 0;
	deliver(h, len);
}

static void expect_balance(void)
{
	const struct rc_counters *c = count();
	uint64_t sum = 0;

#define ADD(name, text) sum += c->name;
	RC_ACCEPTED(ADD)
	RC_DROPS(ADD)
#undef ADD
	assert_int_equal(sum, c->rx);
}

/* The counters balance, each packet has one answer at most, and nothing is touched beyond. */
static void random_requests(void **s)
{
	struct prng rng;

	(void)s;
	prng_init(&rng, check_seed(20240611), 0);
	for (uint32_t round = 0; round < 300; round++) {
		start();
		for (uint32_t i = 0; i < 100; i++) {
			if (prng_below(&rng, 3) == 0 && w.n_posted < 8)
				post_recv();
			deliver_any(&rng);
			if (prng_below(&rng, 2))
				pull();
		}
		expect_balance();
		for (uint32_t i = 0; i < 400 && pull(); i++)
			continue;
		expect_none();
		assert_true(count()->tx_ack + count()->tx_nak <= 100);
		for (uint32_t i = 0; i < 64; i++)
			assert_int_equal(w.memory[i], original_byte(i));
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(reads_of_every_shape),
	cmocka_unit_test(a_read_of_nothing_needs_no_key),
	cmocka_unit_test(virtual_memory_reads_as_zeros),
	cmocka_unit_test(answers_keep_the_order_of_requests),
	cmocka_unit_test(answers_before_a_refusal_are_still_sent),
	cmocka_unit_test(a_region_gone_in_the_midst_of_a_read),
	cmocka_unit_test(atomics),
	cmocka_unit_test(sends_and_writes_again),
	cmocka_unit_test(a_read_again_is_a_loss),
	cmocka_unit_test(a_psn_comes_round_again),
	cmocka_unit_test(a_read_again),
	cmocka_unit_test(a_read_again_that_is_another),
	cmocka_unit_test(a_region_gone_before_a_read_is_answered_again),
	cmocka_unit_test(a_read_again_before_others),
	cmocka_unit_test(the_past_is_bounded),
	cmocka_unit_test(more_reads_than_allowed),
	cmocka_unit_test(a_full_ring_of_answers),
	cmocka_unit_test(marked_packets_are_told_of),
	cmocka_unit_test(cnps_go_by_themselves),
	cmocka_unit_test(credits_of_table_49),
	cmocka_unit_test(a_shared_queue_gives_no_credits),
	cmocka_unit_test(an_end_by_our_own_wish_is_silent),
	cmocka_unit_test(responses_are_paced),
	cmocka_unit_test(random_requests),
};

CHECK_MAIN(cases)
