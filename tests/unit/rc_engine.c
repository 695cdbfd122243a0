/* The operations of RC between two engines: every one at every PMTU and around every packet border,
 * its packets as IBTA 9.2 and 9.4 want them, its bytes, its completions. */
#include "rc_pair.h"

#define RECV_AT 64u
#define WINDOW  0x7700u

static const uint16_t pmtus[] = {256, 512, 1024, 2048, 4096};
#define N_PMTUS (sizeof pmtus / sizeof pmtus[0])
#define N_SIZES 7u

static uint32_t size_of(uint32_t i, uint32_t pmtu)
{
	const uint32_t sizes[N_SIZES] = {0, 1, pmtu - 1, pmtu, pmtu + 1, 2 * pmtu, 4 * pmtu + 7};

	return sizes[i];
}

static bool is_write(uint8_t code)
{
	return code == ENGINE_WRITE || code == ENGINE_WRITE_IMM;
}

static bool takes_receive(uint8_t code)
{
	return code == ENGINE_SEND || code == ENGINE_SEND_IMM || code == ENGINE_SEND_INV ||
	       code == ENGINE_WRITE_IMM;
}

/* The opcode of packet i of n (IBTA table 38). */
static uint8_t opcode_of(uint8_t code, uint32_t i, uint32_t n)
{
	static const uint8_t last[] = {
		[ENGINE_WRITE] = ROCE_OP_WRITE_LAST,
		[ENGINE_WRITE_IMM] = ROCE_OP_WRITE_LAST_IMM,
		[ENGINE_SEND] = ROCE_OP_SEND_LAST,
		[ENGINE_SEND_IMM] = ROCE_OP_SEND_LAST_IMM,
		[ENGINE_SEND_INV] = ROCE_OP_SEND_LAST_INV,
		[ENGINE_READ] = ROCE_OP_READ_RESPONSE_LAST,
	};
	static const uint8_t only[] = {
		[ENGINE_WRITE] = ROCE_OP_WRITE_ONLY,
		[ENGINE_WRITE_IMM] = ROCE_OP_WRITE_ONLY_IMM,
		[ENGINE_SEND] = ROCE_OP_SEND_ONLY,
		[ENGINE_SEND_IMM] = ROCE_OP_SEND_ONLY_IMM,
		[ENGINE_SEND_INV] = ROCE_OP_SEND_ONLY_INV,
		[ENGINE_READ] = ROCE_OP_READ_RESPONSE_ONLY,
	};
	bool is_first = i == 0;

	if (n == 1)
		return only[code];
	if (i == n - 1)
		return last[code];
	if (code == ENGINE_READ)
		return is_first ? ROCE_OP_READ_RESPONSE_FIRST : ROCE_OP_READ_RESPONSE_MIDDLE;
	if (is_write(code))
		return is_first ? ROCE_OP_WRITE_FIRST : ROCE_OP_WRITE_MIDDLE;
	return is_first ? ROCE_OP_SEND_FIRST : ROCE_OP_SEND_MIDDLE;
}

/* The packets that carry the message, sent by `from`, are the right ones in the right order. */
static void check_message(const struct work *k, uint32_t from, uint32_t first_psn)
{
	uint32_t pmtu = w.end[0].qp[0].attr.pmtu, n = k->len ? (k->len + pmtu - 1) / pmtu : 1;
	uint32_t i = 0, left = k->len;

	for (uint32_t j = 0; j < w.n_log; j++) {
		const struct sighting *s = &w.log[j];
		uint32_t part = left < pmtu ? left : pmtu;

		if (s->from != from || s->h.bth.opcode == ROCE_OP_ACKNOWLEDGE)
			continue;
		assert_true(i < n);
		assert_int_equal(s->h.bth.opcode, opcode_of(k->code, i, n));
		assert_int_equal(s->h.bth.psn, (first_psn + i) % RC_NUMBERS);
		assert_int_equal(s->h.payload.len, part);
		assert_int_equal(s->h.bth.se, i == n - 1 && (k->flags & ENGINE_SOLICITED) != 0);
		if (s->h.has & ROCE_RETH) {
			assert_int_equal(s->h.reth.va, area_va(TARGET) + k->to);
			assert_int_equal(s->h.reth.rkey, area_key(&w.end[1], TARGET));
			assert_int_equal(s->h.reth.dmalen, k->len);
		}
		if (s->h.has & ROCE_IMMDT)
			assert_int_equal(s->h.imm.immdt, k->imm);
		if (s->h.has & ROCE_IETH)
			assert_int_equal(s->h.ieth.rkey, k->imm);
		/* The last packet of what is all there is asks for an answer, or nobody would. */
		if (i == n - 1 && k->code != ENGINE_READ)
			assert_int_equal(s->h.bth.ack_req, 1);
		left -= part;
		i++;
	}
	assert_int_equal(i, n);
}

/* The completion of a receive that the message of k took. */
static void expect_received(const struct work *k, uint64_t cookie)
{
	uint8_t flags = k->flags & ENGINE_SOLICITED;

	if (k->code == ENGINE_SEND_IMM || k->code == ENGINE_WRITE_IMM)
		flags |= ENGINE_HAS_IMM;
	if (k->code == ENGINE_SEND_INV)
		flags |= ENGINE_HAS_INV;
	expect_done(1 - k->side,
		    (struct done){.cookie = cookie,
				  .code = ENGINE_DONE_RECEIVED,
				  .len = k->len,
				  .imm = k->imm,
				  .flags = flags,
				  .op = is_write(k->code) ? ENGINE_WRITE_IMM : ENGINE_RECV});
}

/* A window of type 2 on end 1, bound by work of its own. */
static void bind_window(uint32_t len)
{
	struct end *s = &w.end[1];
	struct mem_binding to = {.va = area_va(TARGET),
				 .len = len,
				 .region = area_key(s, TARGET),
				 .new_key = WINDOW,
				 .qp = s->qp[0].number,
				 .access = MEM_REMOTE_WRITE | MEM_REMOTE_READ};
	struct mem_entry window = {.key = WINDOW, .pd = PD, .kind = MEM_WINDOW_2};
	struct op op = {.code = ENGINE_BIND,
			.qp = s->qp[0].number,
			.cookie = 99,
			.imm = WINDOW,
			.bind = &to};

	assert_int_equal(mem_add(s->mem, &window), 0);
	assert_int_equal(end_post(s, w.now, op), 0);
	memset(&to, 0xff, sizeof to);
	run();
	expect_done(1, (struct done){.cookie = 99, .code = ENGINE_DONE_SENT, .op = ENGINE_BIND});
}

static void check_one(uint8_t code, uint16_t pmtu, uint32_t len, uint8_t flags)
{
	struct work k = {.cookie = 7,
			 .code = code,
			 .at = 5,
			 .to = 11,
			 .len = len,
			 .imm = code == ENGINE_SEND_INV ? WINDOW : 0xfeedf00d,
			 .flags = flags};

	start(len + pmtu);
	w.end[0].qp[0].attr.pmtu = pmtu;
	join();
	if (code == ENGINE_SEND_INV)
		bind_window(100);
	if (takes_receive(code))
		post_recv(1, RECV_AT, k.len + 3, 1, 8);
	post(k);
	if (takes_receive(code) && !is_write(code))
		imagine_arrival(&k, RECV_AT);
	run();
	if (takes_receive(code))
		expect_received(&k, 8);
	expect_sent(&k, ENGINE_OK);
	expect_nothing(0);
	expect_nothing(1);
	check_ends();
	check_message(&k, code == ENGINE_READ ? 1 : 0, w.end[0].qp[0].attr.sq_psn);
	assert_int_equal(counts(&w.end[0])->tx_retx, 0);
	assert_int_equal(counts(&w.end[1])->rx_bytes, code == ENGINE_READ ? 0 : len);
	assert_int_equal(counts(&w.end[0])->rx_bytes, code == ENGINE_READ ? len : 0);
	if (code == ENGINE_SEND_INV)
		assert_int_equal(mem_entry(w.end[1].mem, WINDOW)->parent, 0);
}

static void check_operation(uint8_t code)
{
	for (uint32_t i = 0; i < N_PMTUS; i++)
		for (uint32_t j = 0; j < N_SIZES; j++)
			check_one(code, pmtus[i], size_of(j, pmtus[i]), 0);
}

static void op_send(void **state)
{
	(void)state;
	check_operation(ENGINE_SEND);
}

static void op_send_imm(void **state)
{
	(void)state;
	check_operation(ENGINE_SEND_IMM);
}

static void op_send_inv(void **state)
{
	(void)state;
	check_operation(ENGINE_SEND_INV);
}

static void op_write(void **state)
{
	(void)state;
	check_operation(ENGINE_WRITE);
}

static void op_write_imm(void **state)
{
	(void)state;
	check_operation(ENGINE_WRITE_IMM);
}

static void op_read(void **state)
{
	(void)state;
	check_operation(ENGINE_READ);
}

/* Only what takes a receive is solicited, and only its last packet says so (IBTA 9.2.3). */
static void solicited(void **state)
{
	static const uint8_t codes[] = {ENGINE_SEND, ENGINE_SEND_IMM, ENGINE_SEND_INV,
					ENGINE_WRITE_IMM};

	(void)state;
	for (uint32_t i = 0; i < sizeof codes; i++) {
		check_one(codes[i], 512, 100, ENGINE_SOLICITED);
		check_one(codes[i], 512, 2000, ENGINE_SOLICITED);
	}
}

/* Adds, compares and swaps on a word: what was there comes back, in host order. */
static void op_atomics(void **state)
{
	uint64_t word;
	struct work works[6] = {
		{.atomic_op = ENGINE_FETCH_ADD, .operand = {5}},
		{.atomic_op = ENGINE_FETCH_ADD, .operand = {UINT64_MAX}},
		{.atomic_op = ENGINE_COMPARE_SWAP, .operand = {1, 2}},
		{.atomic_op = ENGINE_COMPARE_SWAP, .operand = {0, UINT64_C(0x0123456789abcdef)}},
		{.atomic_op = ENGINE_COMPARE_SWAP, .operand = {0, 4}},
		{.atomic_op = ENGINE_FETCH_ADD, .operand = {1}},
	};

	(void)state;
	start(1);
	join();
	memcpy(&word, w.end[1].image[TARGET] + 64, 8);
	works[3].operand[0] = word + 4;
	for (uint32_t i = 0; i < 6; i++) {
		works[i].code = ENGINE_ATOMIC;
		works[i].cookie = i;
		works[i].at = 8 * i + 1;
		works[i].to = 64;
		works[i].len = 8;
		post(works[i]);
	}
	run();
	for (uint32_t i = 0; i < 6; i++)
		expect_sent(&works[i], ENGINE_OK);
	memcpy(&word, area_at(&w.end[1], TARGET, 64), 8);
	assert_int_equal(word, UINT64_C(0x0123456789abcdf0));
	assert_int_equal(n_seen(0, ROCE_OP_FETCH_ADD), 3);
	assert_int_equal(n_seen(0, ROCE_OP_COMPARE_SWAP), 3);
	assert_int_equal(n_seen(1, ROCE_OP_ATOMIC_ACKNOWLEDGE), 6);
	check_ends();
}

/* An atomic has one piece of eight bytes for what comes back. */
static void atomic_of_one_piece(void **state)
{
	struct work k = {.code = ENGINE_ATOMIC, .len = 8, .n_sg = 2};

	(void)state;
	start(1);
	join();
	assert_int_equal(try_post(&k), -EINVAL);
	k.n_sg = 1;
	k.len = 4;
	assert_int_equal(try_post(&k), -EINVAL);
	k.len = 8;
	k.atomic_op = ENGINE_FETCH_ADD + 1;
	assert_int_equal(try_post(&k), -EINVAL);
}

/* A window grants what it was bound for, until it is invalidated; then its key is refused. */
static void op_bind_and_local_inv(void **state)
{
	struct end *s = &w.end[1];
	struct work k = {.cookie = 1, .code = ENGINE_WRITE, .len = 100};
	struct sge sg;
	struct op op;

	(void)state;
	start(1);
	join();
	bind_window(100);
	sg = area_piece(&w.end[0], SOURCE, 0, 100);
	op = (struct op){.code = ENGINE_WRITE,
			 .cookie = 1,
			 .qp = w.end[0].qp[0].number,
			 .remote = area_va(TARGET),
			 .key = WINDOW,
			 .sg = &sg,
			 .n_sg = 1};
	assert_int_equal(end_post(&w.end[0], w.now, op), 0);
	imagine(&k);
	run();
	expect_sent(&k, ENGINE_OK);
	check_ends();
	struct op inv = {
		.code = ENGINE_LOCAL_INV, .cookie = 3, .qp = s->qp[0].number, .imm = WINDOW};

	assert_int_equal(end_post(s, w.now, inv), 0);
	run();
	expect_done(1,
		    (struct done){.cookie = 3, .code = ENGINE_DONE_SENT, .op = ENGINE_LOCAL_INV});
	assert_int_equal(end_post(&w.end[0], w.now, op), 0);
	run();
	expect_sent(&k, ENGINE_REMOTE_ACCESS);
	check_ends();
}

/* A bind that is refused, and an invalidate of what cannot be, fail that work and the queue pair
 * (IBTA 10.6.7.2.2, 11.6.2). */
static void bind_failed(void **state)
{
	struct mem_binding to = {.va = area_va(TARGET), .len = AREA + 1, .new_key = WINDOW};
	struct mem_entry window = {.key = WINDOW, .pd = PD, .kind = MEM_WINDOW_2};

	(void)state;
	start(1);
	join();
	to.region = area_key(&w.end[0], TARGET);
	to.qp = w.end[0].qp[0].number;
	assert_int_equal(mem_add(w.end[0].mem, &window), 0);
	struct op op = {.code = ENGINE_BIND,
			.qp = w.end[0].qp[0].number,
			.cookie = 4,
			.imm = WINDOW,
			.bind = &to};

	assert_int_equal(end_post(&w.end[0], w.now, op), 0);
	run();
	expect_done(0, (struct done){.cookie = 4,
				     .code = ENGINE_DONE_SENT,
				     .op = ENGINE_BIND,
				     .status = ENGINE_BIND_FAILED});
	assert_int_equal(end_state(&w.end[0], 0), ENGINE_ERROR);
	check_ends();
}

/* Pieces on both sides, cut so that no border of one is a border of the other or of a packet. */
static void scatter_and_gather(void **state)
{
	static const uint8_t codes[] = {ENGINE_SEND, ENGINE_WRITE, ENGINE_READ};

	(void)state;
	for (uint32_t n = 1; n <= ENGINE_SGE; n++)
		for (uint32_t i = 0; i < sizeof codes; i++) {
			struct work k = {.cookie = n,
					 .code = codes[i],
					 .at = 3,
					 .to = 1,
					 .len = 2777,
					 .n_sg = n};

			start(n);
			w.end[0].qp[0].attr.pmtu = 512;
			join();
			if (k.code == ENGINE_SEND)
				post_recv(1, RECV_AT, k.len, ENGINE_SGE + 1 - n, 8);
			post(k);
			if (k.code == ENGINE_SEND)
				imagine_arrival(&k, RECV_AT);
			run();
			expect_sent(&k, ENGINE_OK);
			check_ends();
		}
}

/* Pieces without bytes are allowed, before, between and after those with some. */
static void empty_pieces(void **state)
{
	struct work k = {.cookie = 1, .code = ENGINE_SEND, .at = 0, .len = 600};
	struct end *s = &w.end[0];

	(void)state;
	start(1);
	w.end[0].qp[0].attr.pmtu = 256;
	join();
	post_recv(1, RECV_AT, 600, 1, 8);
	struct sge sg[5] = {area_piece(s, SOURCE, 0, 0), area_piece(s, SOURCE, 0, 300),
			    area_piece(s, SOURCE, 300, 0), area_piece(s, SOURCE, 300, 300),
			    area_piece(s, SOURCE, 600, 0)};
	struct op op = {
		.code = ENGINE_SEND, .cookie = 1, .qp = s->qp[0].number, .sg = sg, .n_sg = 5};

	assert_int_equal(end_post(s, w.now, op), 0);
	memset(sg, 0xff, sizeof sg);
	imagine_arrival(&k, RECV_AT);
	run();
	expect_sent(&k, ENGINE_OK);
	check_ends();
}

/* Trusted pieces are read where they are: nobody asks for a key. Law 2 does not hold for memory
 * that is in no area, so the bytes are in one. */
static void trusted_pieces(void **state)
{
	struct work k = {.cookie = 1, .code = ENGINE_WRITE, .at = 40, .to = 8, .len = 1500};

	(void)state;
	start(1);
	join();
	struct sge sg = {area_at(&w.end[0], SOURCE, 40), 1500, 0};
	struct op op = {.code = ENGINE_WRITE,
			.cookie = 1,
			.flags = ENGINE_TRUSTED,
			.qp = w.end[0].qp[0].number,
			.remote = area_va(TARGET) + 8,
			.key = area_key(&w.end[1], TARGET),
			.sg = &sg,
			.n_sg = 1};

	assert_int_equal(end_post(&w.end[0], w.now, op), 0);
	imagine(&k);
	run();
	expect_sent(&k, ENGINE_OK);
	check_ends();
}

/* Virtual bytes are zeros on the wire; a virtual region forgets what it is given. */
static void virtual_memory(void **state)
{
	struct work k = {.cookie = 1, .code = ENGINE_WRITE, .len = 3000};
	struct mem_entry nowhere = {
		.iova = 0, .len = 1u << 30, .key = 0x55, .pd = PD, .access = ALL_ACCESS};

	(void)state;
	start(1);
	join();
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(mem_add(w.end[i].mem, &nowhere), 0);
	struct sge sg = {NULL, 3000, 0x55};
	struct op op = {.code = ENGINE_WRITE,
			.cookie = 1,
			.qp = w.end[0].qp[0].number,
			.remote = area_va(TARGET),
			.key = area_key(&w.end[1], TARGET),
			.sg = &sg,
			.n_sg = 1};

	assert_int_equal(end_post(&w.end[0], w.now, op), 0);
	memset(w.end[1].image[TARGET], 0, 3000);
	run();
	expect_sent(&k, ENGINE_OK);
	op.key = 0x55;
	op.remote = 12345;
	op.code = k.code = ENGINE_READ;
	assert_int_equal(end_post(&w.end[0], w.now, op), 0);
	run();
	expect_sent(&k, ENGINE_OK);
	check_ends();
}

/* Works of all kinds at once, both ways: each queue reports in the order of its posts. */
static void completions_in_order(void **state)
{
	static const uint8_t codes[] = {ENGINE_READ,   ENGINE_WRITE,     ENGINE_ATOMIC,
					ENGINE_SEND,   ENGINE_WRITE_IMM, ENGINE_READ,
					ENGINE_ATOMIC, ENGINE_SEND_IMM,  ENGINE_WRITE};
	const uint32_t n = sizeof codes;
	struct work k[2][sizeof codes];

	(void)state;
	start(1);
	join();
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = 0; i < n; i++)
			post_recv(side, 4096 * (i + 9), 4096, 1, 100 + i);
	for (uint32_t side = 0; side < 2; side++) {
		for (uint32_t i = 0, got = 0; i < n; i++) {
			k[side][i] = (struct work){.side = (uint8_t)side,
						   .cookie = i,
						   .code = codes[i],
						   .at = 4096 * i,
						   .to = 4096 * (2 * i + side),
						   .len = codes[i] == ENGINE_ATOMIC ? 8 : 3333,
						   .atomic_op = ENGINE_FETCH_ADD,
						   .operand = {i}};
			post(k[side][i]);
			if (codes[i] == ENGINE_SEND || codes[i] == ENGINE_SEND_IMM)
				imagine_arrival(&k[side][i], 4096 * (got + 9));
			got += takes_receive(codes[i]);
		}
	}
	run();
	for (uint32_t side = 0; side < 2; side++) {
		uint32_t got = 0, sent = 0;
		struct done done;

		while (end_poll(&w.end[side], &done)) {
			assert_int_equal(done.status, ENGINE_OK);
			if (done.code == ENGINE_DONE_SENT)
				assert_int_equal(done.cookie, sent++);
			else
				assert_int_equal(done.cookie, 100 + got++);
		}
		assert_int_equal(sent, n);
		assert_int_equal(got, 3);
	}
	check_ends();
}

/* Nobody learns of silent work that went well; its slots come back. */
static void silent(void **state)
{
	struct work k = {.code = ENGINE_WRITE, .len = 10};

	(void)state;
	start(1);
	join();
	for (uint32_t i = 0; i < 500; i++) {
		k.cookie = i;
		k.flags = i % 50 == 49 ? 0 : ENGINE_SILENT;
		post(k);
		run();
		if (i % 50 == 49)
			expect_sent(&k, ENGINE_OK);
		expect_nothing(0);
	}
	check_ends();
}

/* PSNs run through zero in both directions, in the middle of messages. */
static void psn_wrap(void **state)
{
	(void)state;
	for (uint32_t before = 1; before < 12; before++) {
		struct work k[4] = {
			{.cookie = 0, .code = ENGINE_WRITE, .len = 1500},
			{.cookie = 1, .code = ENGINE_READ, .len = 1500, .to = 4096},
			{.cookie = 2, .code = ENGINE_ATOMIC, .len = 8, .at = 4096, .to = 8192},
			{.cookie = 3, .code = ENGINE_SEND, .len = 1500},
		};

		start(before);
		w.end[0].qp[0].attr.pmtu = 512;
		w.end[0].qp[0].attr.sq_psn = RC_NUMBERS - before;
		join();
		post_recv(1, RECV_AT, 1500, 1, 8);
		for (uint32_t i = 0; i < 4; i++)
			post(k[i]);
		imagine_arrival(&k[3], RECV_AT);
		run();
		for (uint32_t i = 0; i < 4; i++)
			expect_sent(&k[i], ENGINE_OK);
		check_ends();
		assert_int_equal(counts(&w.end[0])->tx_retx, 0);
	}
}

/* Messages to two queue pairs take receives of one queue, in the order they were posted; the limit
 * tells once (IBTA 10.2.9). */
static void shared_receive_queue(void **state)
{
	struct end *s = &w.end[1];
	struct engine_srq_caps caps = {.max_recv = 8, .max_sge = 2, .pd = PD};
	uint32_t limit;

	(void)state;
	start(1);
	join();
	for (uint32_t i = 0; i < 2; i++)
		assert_ptr_equal(rc_qp_free(s->e, s->qp[0].number + i),
				 i == 0 ? s->qp[0].memory : NULL);
	assert_int_equal(rc_srq_new(s->e, 1, &caps, s->srq_memory), 0);
	assert_int_equal(rc_srq_new(s->e, 1, &caps, s->srq_memory), -EEXIST);
	w.end[0].n_qps = s->n_qps = 2;
	end_add_qp(&w.end[0], 1);
	end_rise(&w.end[0], w.now, 1, ENGINE_RTS);
	for (uint32_t i = 0; i < 2; i++) {
		s->qp[i].caps.srq = 1;
		end_add_qp(s, i);
		end_rise(s, w.now, i, ENGINE_RTS);
	}
	assert_null(rc_srq_free(s->e, 1));
	for (uint32_t i = 0; i < 9; i++) {
		struct sge sg = area_piece(s, INBOX, 512 * i, 512);
		struct op op = {.code = ENGINE_RECV,
				.flags = ENGINE_SHARED,
				.qp = 1,
				.cookie = 100 + i,
				.sg = &sg,
				.n_sg = 1};

		assert_int_equal(end_post(s, w.now, op), i < 8 ? 0 : -ENOMEM);
	}
	assert_int_equal(rc_srq_limit(s->e, 1, 6), 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct work k = {
			.code = ENGINE_SEND, .cookie = i, .at = 512 * i, .len = 400, .qp = i % 2};

		post(k);
		imagine_arrival(&k, 512 * i);
		run();
		expect_sent(&k, ENGINE_OK);
		expect_done(1, (struct done){.code = ENGINE_DONE_RECEIVED,
					     .op = ENGINE_RECV,
					     .qp = s->qp[i % 2].number,
					     .len = 400,
					     .cookie = 100 + i});
		if (i == 2)
			expect_event(s, 1, ENGINE_EVENT_QUEUE_LIMIT);
		expect_no_event(s);
	}
	assert_int_equal(rc_srq_query(s->e, 1, &caps, &limit), 0);
	assert_int_equal(limit, 0);
	for (uint32_t i = 0; i < w.n_log; i++)
		if (w.log[i].h.bth.opcode == ROCE_OP_ACKNOWLEDGE)
			assert_int_equal(w.log[i].h.aeth.value, 31);
	check_ends();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(op_send),
	cmocka_unit_test(op_send_imm),
	cmocka_unit_test(op_send_inv),
	cmocka_unit_test(op_write),
	cmocka_unit_test(op_write_imm),
	cmocka_unit_test(op_read),
	cmocka_unit_test(op_atomics),
	cmocka_unit_test(op_bind_and_local_inv),
	cmocka_unit_test(solicited),
	cmocka_unit_test(atomic_of_one_piece),
	cmocka_unit_test(bind_failed),
	cmocka_unit_test(scatter_and_gather),
	cmocka_unit_test(empty_pieces),
	cmocka_unit_test(trusted_pieces),
	cmocka_unit_test(virtual_memory),
	cmocka_unit_test(completions_in_order),
	cmocka_unit_test(silent),
	cmocka_unit_test(psn_wrap),
	cmocka_unit_test(shared_receive_queue),
};
CHECK_MAIN(cases)
