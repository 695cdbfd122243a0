/* What a requester sends: which work goes, in which packets, and what holds it back. */
#include "rc_requester.h"

static void bad_work_is_not_taken(void **state)
{
	struct sge sg[2] = {{NULL, 8, 0}, {NULL, 8, 0}};
	struct mem_binding bind = {0};
	const struct {
		struct op op;
		int answer;
	} cases[] = {
		{{.code = ENGINE_WRITE, .n_sg = 1}, 0},
		{{.code = ENGINE_WRITE, .n_sg = 3}, -EINVAL},
		{{.code = ENGINE_WRITE, .n_sg = 1, .key = UINT64_C(1) << 32}, -EINVAL},
		{{.code = ENGINE_SEND_IMM, .n_sg = 1, .imm = UINT64_C(1) << 32}, -EINVAL},
		{{.code = ENGINE_READ, .n_sg = 1, .remote = UINT64_MAX - 6}, -EINVAL},
		{{.code = ENGINE_READ, .n_sg = 1, .remote = UINT64_MAX - 7}, 0},
		{{.code = ENGINE_ATOMIC, .n_sg = 1}, 0},
		{{.code = ENGINE_ATOMIC, .n_sg = 2}, -EINVAL},
		{{.code = ENGINE_ATOMIC, .n_sg = 0}, -EINVAL},
		{{.code = ENGINE_ATOMIC, .n_sg = 1, .atomic_op = 2}, -EINVAL},
		{{.code = ENGINE_BIND, .bind = &bind}, 0},
		{{.code = ENGINE_BIND}, -EINVAL},
		{{.code = ENGINE_LOCAL_INV}, 0},
		{{.code = ENGINE_RECV + 1}, -EINVAL},
	};

	(void)state;
	begin();
	s.qp[0].caps.max_send_sge = 2;
	connect();
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct op op = cases[i].op;

		op.qp = OURS;
		op.sg = sg;
		assert_int_equal(end_post(&s, now, op), cases[i].answer);
	}
	struct sge large[2] = {{NULL, RC_MESSAGE_MAX, 0}, {NULL, 1, 0}};
	struct op op = {.code = ENGINE_WRITE, .qp = OURS, .n_sg = 2, .sg = large};

	assert_int_equal(end_post(&s, now, op), -EINVAL);
	op.n_sg = 1;
	assert_int_equal(end_post(&s, now, op), 0);
	large[0].len = 7;
	op.code = ENGINE_ATOMIC;
	assert_int_equal(end_post(&s, now, op), -EINVAL);
}

static void without_reads_none_is_taken(void **state)
{
	struct sge sg = {NULL, 8, 0};

	(void)state;
	begin();
	s.qp[0].attr.rd_atomic = 0;
	connect();
	for (unsigned code = ENGINE_READ; code <= ENGINE_ATOMIC; code++)
		assert_int_equal(
			end_post(&s, now,
				 (struct op){
					 .code = (uint8_t)code, .qp = OURS, .n_sg = 1, .sg = &sg}),
			-EINVAL);
}

static void state_decides(void **state)
{
	/* From ENGINE_RESET to ENGINE_ERROR. */
	static const int answers[] = {-EINVAL, -EINVAL, -EINVAL, 0, 0, 0};

	(void)state;
	for (unsigned to = ENGINE_RESET; to <= ENGINE_ERROR; to++) {
		begin();
		end_open(&s, now, 1);
		end_add_qp(&s, 0);
		end_rise(&s, now, 0, to < ENGINE_SQD ? (uint8_t)to : ENGINE_RTS);
		if (to >= ENGINE_SQD)
			assert_int_equal(end_set(&s, now, 0, (uint8_t)to, 0), 0);
		struct op op = {
			.code = ENGINE_WRITE, .qp = OURS, .cookie = 9, .flags = ENGINE_SILENT};

		assert_int_equal(end_post(&s, now, op), answers[to]);
		assert_int_equal(pull(), to == ENGINE_RTS);
		if (to == ENGINE_ERROR)
			expect_sent(9, ENGINE_WRITE, ENGINE_FLUSHED);
		expect_nothing();
	}
}

struct shape {
	uint8_t code, first, middle, last, only;
};

static const struct shape shapes[] = {
	{ENGINE_WRITE, ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE, ROCE_OP_WRITE_LAST,
	 ROCE_OP_WRITE_ONLY},
	{ENGINE_WRITE_IMM, ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE, ROCE_OP_WRITE_LAST_IMM,
	 ROCE_OP_WRITE_ONLY_IMM},
	{ENGINE_SEND, ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE, ROCE_OP_SEND_LAST,
	 ROCE_OP_SEND_ONLY},
	{ENGINE_SEND_IMM, ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE, ROCE_OP_SEND_LAST_IMM,
	 ROCE_OP_SEND_ONLY_IMM},
	{ENGINE_SEND_INV, ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE, ROCE_OP_SEND_LAST_INV,
	 ROCE_OP_SEND_ONLY_INV},
};

static void check_message(const struct shape *shape, uint32_t len)
{
	uint32_t n = len == 0 ? 1 : (len + PMTU - 1) / PMTU;
	bool is_write = shape->code == ENGINE_WRITE || shape->code == ENGINE_WRITE_IMM;

	begin_connected();
	POST(.code = shape->code, .len = len, .at = 5, .imm = 0xabcdef01,
	     .flags = ENGINE_SOLICITED);
	assert_int_equal(pull(), n);
	for (uint32_t i = 0; i < n; i++) {
		bool is_last = i + 1 == n;
		uint8_t opcode = i == 0 ? (is_last ? shape->only : shape->first)
					: (is_last ? shape->last : shape->middle);
		const struct roce_pkt *h = expect_packet(i, opcode, i, is_last);

		assert_int_equal(h->bth.se, is_last && shape->code != ENGINE_WRITE);
		assert_int_equal(h->payload.len, is_last ? len - i * PMTU : PMTU);
		if (h->payload.len > 0)
			assert_memory_equal(h->payload.at, s.image[SOURCE] + 5 + i * PMTU,
					    h->payload.len);
		if (is_write && i == 0) {
			assert_int_equal(h->reth.va, REMOTE + 5);
			assert_int_equal(h->reth.rkey, RKEY);
			assert_int_equal(h->reth.dmalen, len);
		}
		if (h->has & ROCE_IMMDT)
			assert_int_equal(h->imm.immdt, 0xabcdef01);
		if (h->has & ROCE_IETH)
			assert_int_equal(h->ieth.rkey, 0xabcdef01);
	}
	ack(n - 1);
	expect_sent(1, shape->code, ENGINE_OK);
	EXPECT_COUNT(tx_request, n);
	EXPECT_COUNT(tx_retx, 0);
	check_end();
}

static void messages_are_cut(void **state)
{
	static const uint32_t lengths[] = {0, 1, PMTU - 1, PMTU, PMTU + 1, 2 * PMTU, 5 * PMTU - 3};

	(void)state;
	for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
		for (uint32_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++)
			check_message(&shapes[i], lengths[k]);
}

static void reads_and_atomics_are_one_packet(void **state)
{
	(void)state;
	begin();
	s.qp[0].attr.rd_atomic = 4;
	connect();
	POST(.code = ENGINE_READ, .len = 3 * PMTU + 1, .at = 8);
	POST(.code = ENGINE_READ);
	POST(.code = ENGINE_ATOMIC, .len = 8, .at = 16, .operand = {7, 11});
	POST(.code = ENGINE_ATOMIC, .len = 8, .at = 24, .operand = {7, 11},
	     .atomic_op = ENGINE_FETCH_ADD);
	assert_int_equal(pull(), 4);
	const struct roce_pkt *h = expect_packet(0, ROCE_OP_READ_REQUEST, 0, true);

	assert_int_equal(h->reth.va, REMOTE + 8);
	assert_int_equal(h->reth.rkey, RKEY);
	assert_int_equal(h->reth.dmalen, 3 * PMTU + 1);
	h = expect_packet(1, ROCE_OP_READ_REQUEST, 4, true);
	assert_int_equal(h->reth.dmalen, 0);
	h = expect_packet(2, ROCE_OP_COMPARE_SWAP, 5, true);
	assert_int_equal(h->atomic.va, REMOTE + 16);
	assert_int_equal(h->atomic.rkey, RKEY);
	assert_int_equal(h->atomic.compare, 7);
	assert_int_equal(h->atomic.swap_add, 11);
	h = expect_packet(3, ROCE_OP_FETCH_ADD, 6, true);
	assert_int_equal(h->atomic.compare, 0);
	assert_int_equal(h->atomic.swap_add, 7);
}

static void asks_every_so_often(void **state)
{
	(void)state;
	begin();
	s.cfg.ack_every_pkts = 4;
	connect();
	POST(.code = ENGINE_WRITE, .len = 11 * PMTU);
	POST(.code = ENGINE_WRITE, .len = 3 * PMTU);
	assert_int_equal(pull(), 14);
	for (uint32_t i = 0; i < 14; i++)
		assert_int_equal(s.out[i].h.bth.ack_req, i == 3 || i == 7 || i == 10 || i == 13);
}

/* A packet may go while less than the window is out, and the one that closes it asks. */
static void window_holds(void **state)
{
	(void)state;
	begin();
	s.cfg.cc.window_bytes = 3 * PMTU;
	connect();
	POST(.code = ENGINE_WRITE, .len = 8 * PMTU);
	expect_counts(3, 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(s.out[i].h.bth.ack_req, i == 2);
	ack(0);
	expect_one(ROCE_OP_WRITE_MIDDLE, 3, true);
	ack(3);
	expect_counts(3, 4);
	ack(6);
	expect_one(ROCE_OP_WRITE_LAST, 7, true);
	/* What a read asks for is out too. */
	POST(.code = ENGINE_READ, .len = 4 * PMTU);
	POST(.code = ENGINE_WRITE);
	ack(7);
	expect_one(ROCE_OP_READ_REQUEST, 8, true);
	read_response(ROCE_OP_READ_RESPONSE_FIRST, 8, 0, PMTU);
	assert_int_equal(pull(), 0);
	read_response(ROCE_OP_READ_RESPONSE_MIDDLE, 9, PMTU, PMTU);
	expect_one(ROCE_OP_WRITE_ONLY, 12, true);
}

/* Never so many counts out that an old response could pass for a new one. */
static void psn_window_holds(void **state)
{
	struct sge sg = {NULL, RC_MESSAGE_MAX, 0};
	struct op op = {
		.code = ENGINE_READ, .qp = OURS, .flags = ENGINE_TRUSTED, .n_sg = 1, .sg = &sg};

	(void)state;
	begin();
	s.cfg.cc.window_bytes = UINT64_MAX;
	connect();
	assert_int_equal(end_post(&s, now, op), 0);
	assert_int_equal(end_post(&s, now, op), 0);
	expect_one(ROCE_OP_READ_REQUEST, 0, true);
	read_response(ROCE_OP_READ_RESPONSE_FIRST, 0, 0, PMTU);
	expect_one(ROCE_OP_READ_REQUEST, 1u << 22, true);
}

static void fence_waits_for_reads(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_READ, .len = 8);
	POST(.code = ENGINE_WRITE);
	POST(.code = ENGINE_WRITE, .flags = ENGINE_FENCE);
	expect_counts(2, 0);
	assert_int_equal(pull(), 0);
	read_response(ROCE_OP_READ_RESPONSE_ONLY, 0, 0, 8);
	imagine_read(0, 0, 8);
	expect_one(ROCE_OP_WRITE_ONLY, 2, true);
	check_end();
}

static void reads_out_are_limited(void **state)
{
	(void)state;
	begin_connected();
	for (uint32_t i = 0; i < 3; i++)
		POST(.code = i == 1 ? ENGINE_ATOMIC : ENGINE_READ, .len = 8);
	POST(.code = ENGINE_WRITE);
	expect_counts(2, 0);
	read_response(ROCE_OP_READ_RESPONSE_ONLY, 0, 0, 8);
	expect_counts(2, 2);
}

static void add_window(uint32_t key, uint32_t pd)
{
	struct mem_entry entry = {.key = key, .pd = pd, .qp = OURS, .kind = MEM_WINDOW_2};

	assert_int_equal(mem_add(s.mem, &entry), 0);
}

/* A window of a region that others of the process have. */
static void add_foreign(void)
{
	struct mem_entry entry = {.at = area_at(&s, TARGET, 0),
				  .iova = area_va(TARGET),
				  .len = 64,
				  .key = 80,
				  .pd = PD + 1,
				  .qp = MEM_ANY_QP,
				  .access = MEM_LOCAL_WRITE | MEM_BIND};

	assert_int_equal(mem_add(s.mem, &entry), 0);
	add_window(70, PD + 1);
}

static void post_bind(uint32_t key, uint32_t new_key, uint8_t flags)
{
	struct mem_binding bind = {.va = area_va(TARGET),
				   .len = 64,
				   .region = mem_entry(s.mem, 80) ? 80 : area_key(&s, TARGET),
				   .new_key = new_key,
				   .access = MEM_REMOTE_WRITE};
	struct op op = {.code = ENGINE_BIND,
			.qp = OURS,
			.cookie = next_cookie(),
			.imm = key,
			.flags = flags,
			.bind = &bind};

	assert_int_equal(end_post(&s, now, op), 0);
}

static void post_invalidate(uint32_t key)
{
	struct op op = {.code = ENGINE_LOCAL_INV, .qp = OURS, .cookie = next_cookie(), .imm = key};

	assert_int_equal(end_post(&s, now, op), 0);
}

/* Work without packets is done in its turn, once, and reported in its order. */
static void binds_take_their_turn(void **state)
{
	(void)state;
	begin_connected();
	add_window(70, PD);
	POST(.code = ENGINE_READ, .len = 8);
	post_bind(70, 71, ENGINE_FENCE);
	POST(.code = ENGINE_WRITE);
	post_invalidate(71);
	expect_one(ROCE_OP_READ_REQUEST, 0, true);
	assert_null(mem_entry(s.mem, 71));
	nak(0, AETH_NAK_SEQUENCE);
	expect_one(ROCE_OP_READ_REQUEST, 0, true);
	read_response(ROCE_OP_READ_RESPONSE_ONLY, 0, 0, 8);
	expect_one(ROCE_OP_WRITE_ONLY, 1, true);
	assert_int_equal(mem_entry(s.mem, 71)->parent, 0);
	expect_sent(1, ENGINE_READ, ENGINE_OK);
	expect_sent(2, ENGINE_BIND, ENGINE_OK);
	expect_nothing();
	nak(1, AETH_NAK_SEQUENCE);
	expect_one(ROCE_OP_WRITE_ONLY, 1, true);
	expect_nothing();
	ack(1);
	expect_sent(3, ENGINE_WRITE, ENGINE_OK);
	expect_sent(4, ENGINE_LOCAL_INV, ENGINE_OK);
	post_bind(71, 72, 0);
	assert_int_equal(pull(), 0);
	expect_sent(5, ENGINE_BIND, ENGINE_OK);
	assert_int_equal(mem_entry(s.mem, 72)->parent, area_key(&s, TARGET));
	assert_int_equal(mem_entry(s.mem, 72)->qp, OURS);
}

/* A bind ran before its queue pair went back, and is done with the write before it, which was
 * retransmitted: its place may be taken by then, the next packet is that of the work behind. */
static void a_bind_that_ran_is_not_come_by_again(void **state)
{
	(void)state;
	begin();
	s.qp[0].caps.max_send = 3;
	connect();
	add_window(70, PD);
	POST(.code = ENGINE_WRITE);
	post_bind(70, 71, 0);
	POST(.code = ENGINE_SEND, .len = 8);
	assert_int_equal(pull(), 2);
	nak(0, AETH_NAK_SEQUENCE);
	assert_int_equal(end_pull(&s, now, wide, 1), 1);
	ack(0);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
	expect_sent(2, ENGINE_BIND, ENGINE_OK);
	POST(.code = ENGINE_WRITE, .len = 2 * PMTU);
	POST(.code = ENGINE_WRITE, .len = 2 * PMTU);
	assert_int_equal(end_pull(&s, now, wide, 1), 1);
	assert_int_equal(s.out[0].h.bth.opcode, ROCE_OP_SEND_ONLY);
	assert_int_equal(s.out[0].h.bth.psn, psn_of(1));
}

/* What fails here waits for those before it; those behind it are flushed. */
static void binds_fail_in_order(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		begin_connected();
		if (i == 2)
			add_foreign();
		else
			add_window(70, PD);
		POST(.code = ENGINE_WRITE);
		if (i == 0)
			post_invalidate(99);
		else
			post_bind(i == 1 ? 99 : 70, i == 3 ? area_key(&s, TARGET) : 71, 0);
		POST(.code = ENGINE_WRITE, .flags = ENGINE_SILENT);
		expect_one(ROCE_OP_WRITE_ONLY, 0, true);
		expect_nothing();
		assert_int_equal(end_state(&s, 0), ENGINE_RTS);
		ack(0);
		expect_sent(1, ENGINE_WRITE, ENGINE_OK);
		expect_sent(2, i == 0 ? ENGINE_LOCAL_INV : ENGINE_BIND,
			    i == 0 ? ENGINE_LOCAL_QP : ENGINE_BIND_FAILED);
		expect_sent(3, ENGINE_WRITE, ENGINE_FLUSHED);
		assert_int_equal(end_state(&s, 0), ENGINE_ERROR);
		assert_int_equal(pull(), 0);
		EXPECT_COUNT(failed, 1);
	}
}

static void keys_are_checked_when_used(void **state)
{
	(void)state;
	begin_connected();
	struct sge sg[2] = {area_piece(&s, SOURCE, 0, PMTU), area_piece(&s, SOURCE, 0, PMTU)};
	struct op op = {.code = ENGINE_WRITE, .qp = OURS, .cookie = 2, .n_sg = 2, .sg = sg};

	sg[1].lkey = 0x999;
	POST(.code = ENGINE_WRITE);
	assert_int_equal(end_post(&s, now, op), 0);
	expect_counts(2, 0);
	expect_nothing();
	ack(0);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
	expect_sent(2, ENGINE_WRITE, ENGINE_LOCAL_PROTECTION);
	assert_int_equal(end_state(&s, 0), ENGINE_ERROR);
	assert_int_equal(rc_ops.deadline(s.e, ALL_FREE), NSEC_NEVER);
	/* The poster's own pieces have no key. */
	begin_connected();
	sg[0] = (struct sge){area_at(&s, SOURCE, 0), PMTU, 0x999};
	op.flags = ENGINE_TRUSTED;
	op.n_sg = 1;
	assert_int_equal(end_post(&s, now, op), 0);
	expect_one(ROCE_OP_WRITE_ONLY, 0, true);
}

/* Also when what is before it is retransmitted. */
static void failed_work_goes_no_further(void **state)
{
	(void)state;
	begin_connected();
	struct sge sg[2] = {area_piece(&s, SOURCE, 0, PMTU), area_piece(&s, SOURCE, 0, PMTU)};
	struct op op = {.code = ENGINE_WRITE, .qp = OURS, .cookie = 2, .n_sg = 2, .sg = sg};

	sg[1].lkey = 0x999;
	POST(.code = ENGINE_WRITE);
	assert_int_equal(end_post(&s, now, op), 0);
	expect_counts(2, 0);
	sg[1].lkey = sg[0].lkey;
	assert_int_equal(end_post(&s, now, op), 0);
	assert_int_equal(pull(), 0);
	nak(0, AETH_NAK_SEQUENCE);
	expect_counts(1, 0);
	ack(0);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
	expect_sent(2, ENGINE_WRITE, ENGINE_LOCAL_PROTECTION);
	expect_sent(2, ENGINE_WRITE, ENGINE_FLUSHED);
}

/* The limit was lowered after the read was taken. */
static void read_that_may_never_go(void **state)
{
	(void)state;
	begin_connected();
	assert_int_equal(end_set(&s, now, 0, ENGINE_SQD, 0), 0);
	POST(.code = ENGINE_READ, .len = 8);
	s.qp[0].attr.rd_atomic = 0;
	assert_int_equal(end_set(&s, now, 0, ENGINE_SQD, ENGINE_SET_RD_ATOMIC), 0);
	assert_int_equal(end_set(&s, now, 0, ENGINE_RTS, 0), 0);
	assert_int_equal(pull(), 0);
	expect_sent(1, ENGINE_READ, ENGINE_LOCAL_QP);
}

static void credit(uint32_t count, uint8_t code)
{
	say_aeth(count, AETH_ACK, code);
}

/* Beyond the credits one packet goes alone, and asks. */
static void credits_hold(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_WRITE);
	POST(.code = ENGINE_SEND);
	expect_counts(2, 0);
	credit(1, 1);
	for (uint32_t i = 0; i < 3; i++)
		POST(.code = ENGINE_SEND, .len = 2 * PMTU);
	POST(.code = ENGINE_WRITE);
	/* The first has a receive; the second is not known to. */
	assert_int_equal(pull(), 3);
	expect_packet(1, ROCE_OP_SEND_LAST, 3, true);
	expect_packet(2, ROCE_OP_SEND_FIRST, 4, true);
	credit(3, 0);
	assert_int_equal(pull(), 0);
	/* Its first packet was taken, so it has one, whatever is left. */
	credit(4, 0);
	assert_int_equal(pull(), 2);
	expect_packet(0, ROCE_OP_SEND_LAST, 5, true);
	expect_packet(1, ROCE_OP_SEND_FIRST, 6, true);
	credit(6, NO_CREDITS);
	expect_counts(2, 7);
	POST(.code = ENGINE_SEND);
	POST(.code = ENGINE_SEND);
	expect_counts(2, 9);
}

/* One went when no credits were known, and turns out to be beyond them: the next waits for it. */
static void one_beyond_credits_is_enough(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_WRITE);
	POST(.code = ENGINE_SEND);
	assert_int_equal(pull(), 2);
	credit(0, 0);
	POST(.code = ENGINE_SEND);
	POST(.code = ENGINE_WRITE);
	assert_int_equal(pull(), 0);
	credit(1, 0);
	expect_one(ROCE_OP_SEND_ONLY, 2, true);
	credit(2, NO_CREDITS);
	expect_one(ROCE_OP_WRITE_ONLY, 3, true);
}

/* A response behind one that did not come asks for that one again, and tells of receives like any
 * other: the message behind the credits goes alone, where without them none was held back. */
static void credits_of_an_implied_nak_hold(void **state)
{
	static const struct {
		uint8_t code, opcode;
	} fetches[] = {
		{ENGINE_READ, ROCE_OP_READ_RESPONSE_ONLY},
		{ENGINE_ATOMIC, ROCE_OP_ATOMIC_ACKNOWLEDGE},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof fetches / sizeof fetches[0]; i++) {
		begin_connected();
		POST(.code = ENGINE_ATOMIC, .len = 8);
		POST(.code = fetches[i].code, .len = 8);
		expect_counts(2, 0);
		say((struct roce_pkt){.bth = {.opcode = fetches[i].opcode, .psn = psn_of(1)},
				      .aeth = {.type = AETH_ACK, .value = 0}},
		    0, fetches[i].code == ENGINE_READ ? 8 : 0);
		EXPECT_COUNT(implied_naks, 1);
		POST(.code = ENGINE_SEND);
		POST(.code = ENGINE_SEND);
		assert_int_equal(pull(), 3);
		expect_packet(2, ROCE_OP_SEND_ONLY, 2, true);
	}
}

/* Only the last packet of a write with immediate data takes a receive; writes take none. */
static void credits_hold_last_packet_of_write(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_SEND);
	expect_counts(1, 0);
	credit(0, 0);
	POST(.code = ENGINE_WRITE_IMM, .len = 3 * PMTU);
	POST(.code = ENGINE_WRITE);
	assert_int_equal(pull(), 3);
	expect_packet(2, ROCE_OP_WRITE_LAST_IMM, 3, true);
	credit(2, 0);
	assert_int_equal(pull(), 0);
	credit(3, 2);
	expect_one(ROCE_OP_WRITE_ONLY, 4, true);
}

/* Credits count messages that take a receive: the writes between them do not use them up. */
static void writes_use_no_credits(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_SEND);
	expect_counts(1, 0);
	credit(0, 2);
	for (uint32_t i = 0; i < 3; i++) {
		POST(.code = ENGINE_WRITE);
		POST(.code = ENGINE_SEND);
	}
	/* Two have credits, the third goes alone. */
	expect_counts(6, 1);
	POST(.code = ENGINE_WRITE);
	assert_int_equal(pull(), 0);
	/* Told again, of more, but the one that went alone is not acknowledged. */
	credit(0, 10);
	EXPECT_COUNT(rx_response, 2);
	credit(0, 10);
	EXPECT_COUNT(drop_response, 1);
	assert_int_equal(pull(), 0);
	credit(6, 2);
	expect_one(ROCE_OP_WRITE_ONLY, 7, true);
}

/* An RNR NAK takes credits back; what went alone and was lost is retransmitted. */
static void credits_and_not_ready(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_SEND);
	expect_counts(1, 0);
	credit(0, 3);
	POST(.code = ENGINE_SEND);
	POST(.code = ENGINE_SEND);
	expect_counts(2, 1);
	say_aeth(1, AETH_RNR_NAK, 1);
	expect_quiet_until(now + 10000);
	expect_one(ROCE_OP_SEND_ONLY, 1, true);
	expect_quiet_until(now + TIMEOUT_NS(TIMEOUT));
	expect_one(ROCE_OP_SEND_ONLY, 1, true);
	credit(1, 1);
	expect_one(ROCE_OP_SEND_ONLY, 2, true);
	credit(2, 0);
	for (uint32_t i = 1; i <= 3; i++)
		expect_sent(i, ENGINE_SEND, ENGINE_OK);
}

/* A notice of congestion slows down: the pacer spreads packets, and none is forgotten. */
static void paces(void **state)
{
	nsec start, took;

	(void)state;
	begin();
	s.cfg.cc.kind = CC_DCQCN;
	s.cfg.cc.line_rate_bps = UINT64_C(1000000000);
	connect();
	say((struct roce_pkt){.bth = {.opcode = ROCE_OP_CNP, .becn = 1}}, 0, 0);
	EXPECT_COUNT(rx_cnp, 1);
	POST(.code = ENGINE_WRITE, .len = 20 * PMTU);
	start = now;
	for (uint32_t sent = 0; sent < 20; now = rc_ops.deadline(s.e, ALL_FREE)) {
		assert_true(now - start < 1000000);
		sent += pull();
		assert_true(s.n_out <= 1);
	}
	/* The first cut halves the rate: 272 bytes and headers, nineteen times, at 0.5 Gb/s. */
	took = now - start;
	assert_in_range(took, 19 * 268 * 16 - 1000, 21 * 300 * 16 + TIMEOUT_NS(TIMEOUT));
	ack(19);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
}

/* The i-th request of the peer to queue pair 0, of len bytes of TARGET. */
static void peer_asks(uint8_t opcode, uint32_t i, uint32_t len)
{
	say((struct roce_pkt){.bth = {.opcode = opcode,
				      .psn = psn24_of(s.qp[0].attr.rq_psn + i).v,
				      .ack_req = 1},
			      .reth = {area_va(TARGET), area_key(&s, TARGET), len}},
	    0, 0);
}

static void notice_from(uint32_t port)
{
	said_ev = port << 16 | 7; /* a flow label says nothing */
	say((struct roce_pkt){.bth = {.opcode = ROCE_OP_CNP, .becn = 1}}, 0, 0);
}

/* A notice of congestion by a port that no other packet of the peer came by, where that counts. */
static void notices_of_strange_ports(void **state)
{
	(void)state;
	begin();
	s.cfg.cc.kind = CC_DCQCN;
	s.cfg.cc.line_rate_bps = UINT64_C(1000000000);
	s.cfg.is_cnp_port_checked = true;
	connect();
	notice_from(5000); /* nothing is known yet */
	EXPECT_COUNT(rx_cnp, 1);
	POST(.code = ENGINE_WRITE, .len = 8);
	expect_one(ROCE_OP_WRITE_ONLY, 0, true);
	said_ev = 7000 << 16;
	ack(0);
	notice_from(7000);
	EXPECT_COUNT(rx_cnp, 2);
	notice_from(5000);
	EXPECT_COUNT(drop_cnp, 1);
	said_ev = 9000 << 16;
	ack(0); /* what comes late, or again, tells nothing */
	peer_asks(ROCE_OP_READ_REQUEST, 0, 8);
	notice_from(9000);
	EXPECT_COUNT(rx_cnp, 3);
	said_ev = 6000 << 16;
	peer_asks(ROCE_OP_READ_REQUEST, 0, 8);
	ack(0);
	notice_from(6000);
	EXPECT_COUNT(drop_cnp, 2);
	said_ev = 0;
}

#define TURNS 20u

/* A write and a read of the peer, of TURNS packets each, and a pacer for both of them. */
static void begin_both_sides(bool is_read_first)
{
	begin();
	s.cfg.cc.kind = CC_DCQCN;
	s.cfg.cc.line_rate_bps = UINT64_C(1000000000);
	s.qp[0].attr.timeout = 0;
	connect();
	say((struct roce_pkt){.bth = {.opcode = ROCE_OP_CNP, .becn = 1}}, 0, 0);
	if (is_read_first)
		peer_asks(ROCE_OP_READ_REQUEST, 0, TURNS * PMTU);
	POST(.code = ENGINE_WRITE, .len = TURNS * PMTU);
	if (!is_read_first)
		peer_asks(ROCE_OP_READ_REQUEST, 0, TURNS * PMTU);
}

/* Pulls what may go now, of either side the one whose turn it is; true when all has gone. */
static bool pull_in_turn(uint32_t sent[2])
{
	if (pull() > 0 && s.out[0].h.bth.opcode != ROCE_OP_ACKNOWLEDGE)
		sent[is_answer(s.out[0].h.bth.opcode)]++;
	assert_true(s.n_out <= 1 || sent[0] + sent[1] == 2 * TURNS);
	assert_true(sent[0] <= sent[1] + 1 && sent[1] <= sent[0] + 1);
	return sent[0] + sent[1] == 2 * TURNS;
}

/* Requests and answers of one queue pair share its pacer: while both have something to send, each
 * packet of one is followed by one of the other, whoever came first. */
static void paced_sides_take_turns(void **state)
{
	(void)state;
	for (unsigned is_read_first = 0; is_read_first < 2; is_read_first++) {
		uint32_t sent[2] = {0}; /* requests, answers */

		begin_both_sides(is_read_first);
		for (uint32_t i = 0; !pull_in_turn(sent); i++) {
			assert_true(i < 40 * TURNS);
			now = rc_ops.deadline(s.e, ALL_FREE);
		}
		assert_in_range(now, 5000 + (2 * TURNS - 2) * 268 * 16,
				5000 + 3 * TURNS * 300 * 16);
	}
}

/* The same when the peer's packets wake the answers, but not the requests, all the time: also just
 * before a slot begins, when it is open already. */
static void paced_sides_take_turns_when_woken(void **state)
{
	uint32_t sent[2] = {0};

	(void)state;
	begin_both_sides(true);
	for (uint32_t i = 0; !pull_in_turn(sent); i++) {
		assert_true(i < 40000);
		peer_asks(ROCE_OP_WRITE_ONLY, TURNS + i, 0);
		now += WIDTH / 4;
	}
}

/* Who was told something and answers it waits for that more than for its acknowledgement: the write
 * goes first, whatever went before it. A shorter packet behind a longer one also leaves in one go
 * with it. */
static void an_answer_by_write_goes_before_the_acknowledgement(void **state)
{
	(void)state;
	begin();
	connect();
	for (uint32_t i = 0; i < 4; i++) {
		/* Half of the time one went alone before. */
		if (i % 2) {
			POST(.code = ENGINE_WRITE, .len = 8);
			assert_int_equal(pull(), 1);
		}
		peer_asks(ROCE_OP_WRITE_ONLY, i, 0);
		POST(.code = ENGINE_WRITE, .len = 8);
		assert_int_equal(pull(), 2);
		assert_int_equal(s.out[0].h.bth.opcode, ROCE_OP_WRITE_ONLY);
		assert_int_equal(s.out[1].h.bth.opcode, ROCE_OP_ACKNOWLEDGE);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(bad_work_is_not_taken),
	cmocka_unit_test(without_reads_none_is_taken),
	cmocka_unit_test(state_decides),
	cmocka_unit_test(messages_are_cut),
	cmocka_unit_test(reads_and_atomics_are_one_packet),
	cmocka_unit_test(asks_every_so_often),
	cmocka_unit_test(window_holds),
	cmocka_unit_test(psn_window_holds),
	cmocka_unit_test(fence_waits_for_reads),
	cmocka_unit_test(reads_out_are_limited),
	cmocka_unit_test(binds_take_their_turn),
	cmocka_unit_test(a_bind_that_ran_is_not_come_by_again),
	cmocka_unit_test(binds_fail_in_order),
	cmocka_unit_test(keys_are_checked_when_used),
	cmocka_unit_test(failed_work_goes_no_further),
	cmocka_unit_test(read_that_may_never_go),
	cmocka_unit_test(credits_hold),
	cmocka_unit_test(one_beyond_credits_is_enough),
	cmocka_unit_test(credits_of_an_implied_nak_hold),
	cmocka_unit_test(credits_hold_last_packet_of_write),
	cmocka_unit_test(writes_use_no_credits),
	cmocka_unit_test(credits_and_not_ready),
	cmocka_unit_test(paces),
	cmocka_unit_test(notices_of_strange_ports),
	cmocka_unit_test(paced_sides_take_turns),
	cmocka_unit_test(paced_sides_take_turns_when_woken),
	cmocka_unit_test(an_answer_by_write_goes_before_the_acknowledgement),
};
CHECK_MAIN(cases)
