/* What a requestor sends: which work goes, in which packets, and what holds it back. The peer is a
 * script: its answers are made by hand. */
#include "mrc_peer.h"

#define NOMINAL 40u

static void begin_connected(void)
{
	begin();
	connect();
}

#define POST(...) post((struct work){.cookie = next_cookie(), __VA_ARGS__})

static const struct mrc_pkt *out(uint32_t i)
{
	assert_true(i < w.end[0].n_out);
	return &w.end[0].out[i].h;
}

/* n packets are pulled, from count on; the last one asks for an answer as said. */
static void expect_counts(uint32_t n, uint64_t count, bool asks)
{
	assert_int_equal(pull(), n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(out(i)->bth.psn, psn_of(count + i));
		assert_int_equal(out(i)->bth.ack_req,
				 (count + i) % 64 == 63 || (i + 1 == n && asks));
	}
}

static void bad_work_is_not_taken(void **state)
{
	struct sge sg[2] = {{NULL, 8, 0}, {NULL, 8, 0}};
	struct sge large[2] = {{NULL, MRC_MESSAGE_MAX, 0}, {NULL, 1, 0}};
	const struct {
		struct op op;
		int answer;
	} cases[] = {
		{{.code = ENGINE_WRITE, .sg = sg, .n_sg = 1}, 0},
		{{.code = ENGINE_WRITE_IMM, .sg = sg, .n_sg = 2, .imm = UINT32_MAX}, 0},
		{{.code = ENGINE_WRITE}, 0},
		{{.code = ENGINE_SEND, .sg = sg, .n_sg = 1}, -EINVAL},
		{{.code = ENGINE_READ, .sg = sg, .n_sg = 1}, -EINVAL},
		{{.code = ENGINE_ATOMIC, .sg = sg, .n_sg = 1}, -EINVAL},
		{{.code = ENGINE_LOCAL_INV}, -EINVAL},
		{{.code = ENGINE_RECV + 1}, -EINVAL},
		{{.code = ENGINE_WRITE, .sg = sg, .n_sg = 3}, -EINVAL},
		{{.code = ENGINE_WRITE, .n_sg = 1}, -EINVAL},
		{{.code = ENGINE_WRITE, .sg = sg, .n_sg = 1, .key = UINT64_C(1) << 32}, -EINVAL},
		{{.code = ENGINE_WRITE_IMM, .sg = sg, .n_sg = 1, .imm = UINT64_C(1) << 32},
		 -EINVAL},
		{{.code = ENGINE_WRITE, .sg = sg, .n_sg = 1, .remote = UINT64_MAX - 6}, -EINVAL},
		{{.code = ENGINE_WRITE, .sg = sg, .n_sg = 1, .remote = UINT64_MAX - 7}, 0},
		{{.code = ENGINE_WRITE, .sg = large, .n_sg = 2}, -EINVAL},
		{{.code = ENGINE_WRITE, .sg = large, .n_sg = 1}, 0},
	};

	(void)state;
	begin();
	w.end[0].qp[0].caps.max_send_sge = 2;
	connect();
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct op op = cases[i].op;

		op.qp = OURS;
		assert_int_equal(mrc_ops.post(w.end[0].e, w.now, &op), cases[i].answer);
	}
}

static void a_full_queue_and_a_wrong_state_refuse(void **state)
{
	struct work k = {.len = 8, .code = ENGINE_WRITE};

	(void)state;
	begin();
	w.end[0].qp[0].caps.max_send = 2;
	join_to(MRC_RTR);
	assert_int_equal(try_post(&k), -EINVAL);
	end_rise(&w.end[0], w.now, 0, MRC_RESET);
	assert_int_equal(end_set(&w.end[0], w.now, 0, MRC_RTS, MRC_SET_SQ_PSN | MRC_SET_MPR_DEST),
			 0);
	POST(.len = 8, .code = ENGINE_WRITE);
	POST(.len = 8, .code = ENGINE_WRITE);
	assert_int_equal(try_post(&k), -ENOMEM);
	pull();
	ack(1);
	/* Done is not free: its completion waits. */
	assert_int_equal(try_post(&k), -ENOMEM);
	struct done done;

	assert_true(end_poll(&w.end[0], &done));
	assert_int_equal(try_post(&k), 0);
}

/* First, middle and last, or only; RETH in each, with the address of its part and the length of
 * all (Table 6-5); what is carried is what lies in memory. */
static void messages_are_cut_into_packets(void **state)
{
	static const uint32_t lens[] = {
		0,        1,        2,           3, 4, PMTU - 1, PMTU, PMTU + 1, 2 * PMTU - 1,
		2 * PMTU, PMTU * 5, PMTU * 5 + 3};

	(void)state;
	for (uint32_t i = 0; i < sizeof lens / sizeof lens[0]; i++)
		for (uint32_t imm = 0; imm < 2; imm++) {
			uint32_t len = lens[i], n = len == 0 ? 1 : (len + PMTU - 1) / PMTU;

			begin_connected();
			POST(.at = 100, .to = 333, .len = len, .imm = 0xabcd1234,
			     .code = imm ? ENGINE_WRITE_IMM : ENGINE_WRITE);
			expect_counts(n, 0, true);
			for (uint32_t k = 0; k < n; k++) {
				const struct end_pkt *p = &w.end[0].out[k];
				bool is_last = k + 1 == n;
				uint8_t opcode = is_last  ? (n == 1 ? (imm ? MRC_OP_WRITE_ONLY_IMM
									   : MRC_OP_WRITE_ONLY)
								    : (imm ? MRC_OP_WRITE_LAST_IMM
									   : MRC_OP_WRITE_LAST))
						 : k == 0 ? MRC_OP_WRITE_FIRST
							  : MRC_OP_WRITE_MIDDLE;
				uint32_t bytes = is_last ? len - k * PMTU : PMTU;

				assert_int_equal(p->h.bth.opcode, opcode);
				assert_int_equal(p->h.bth.rtx, 0);
				assert_int_equal(p->h.bth.pad, -bytes & 3);
				assert_int_equal(p->h.payload.len, bytes);
				assert_int_equal(p->h.reth.va, area_va(TARGET) + 333 + k * PMTU);
				assert_int_equal(p->h.reth.rkey, area_key(&w.end[1], TARGET));
				assert_int_equal(p->h.reth.dmalen, len);
				assert_int_equal(p->tx.tclass, ENGINE_DATA);
				if (is_last && imm)
					assert_int_equal(p->h.imm.immdt, 0xabcd1234);
				assert_memory_equal(p->bytes + p->tx.head_len,
						    area_at(&w.end[0], SOURCE, 100 + k * PMTU),
						    bytes);
			}
		}
}

/* METH: every message has a number, every write with immediate data one more, in each of its
 * packets (Table 6-9). */
static void messages_are_numbered(void **state)
{
	static const uint8_t codes[] = {ENGINE_WRITE,     ENGINE_WRITE_IMM, ENGINE_WRITE,
					ENGINE_WRITE_IMM, ENGINE_WRITE_IMM, ENGINE_WRITE};
	uint16_t rqmsn = 0xfffe, msn = 0xfffe;

	(void)state;
	begin();
	w.end[0].cfg.first_msn = 0xfffe;
	connect();
	for (uint32_t i = 0; i < sizeof codes; i++)
		POST(.len = 2 * PMTU, .code = codes[i]);
	assert_int_equal(pull(), 2 * sizeof codes);
	for (uint32_t i = 0; i < 2 * sizeof codes; i++) {
		bool is_imm = codes[i / 2] == ENGINE_WRITE_IMM;

		assert_int_equal(out(i)->meth.msn, msn);
		if (is_imm)
			assert_int_equal(out(i)->meth.rqmsn, rqmsn);
		msn = (uint16_t)(msn + i % 2);
		rqmsn = (uint16_t)(rqmsn + (is_imm && i % 2));
	}
}

static void timestamps_are_there_by_agreement(void **state)
{
	(void)state;
	begin_connected();
	/* Not the time of the post. */
	w.now = 0x123456789 - 5000;
	POST(.len = PMTU, .code = ENGINE_WRITE);
	w.now += 5000;
	expect_counts(1, 0, true);
	assert_int_equal(out(0)->bth.ts, 1);
	assert_int_equal(out(0)->tseth.tx_timestamp, (uint16_t)(0x123456789 >> 7));
	assert_int_equal(out(0)->tseth.tsr, 0);
	assert_int_equal(out(0)->tseth.ftype, MRC_FTYPE_TIMESTAMP);
	begin();
	w.end[0].qp[0].attr.flags = MRC_NO_TIMESTAMPS;
	connect();
	POST(.len = PMTU, .code = ENGINE_WRITE);
	expect_counts(1, 0, true);
	assert_int_equal(out(0)->bth.ts, 0);
	assert_false(out(0)->has & MRC_TSETH);
}

static void the_receiver_is_woken_by_the_last_packet(void **state)
{
	(void)state;
	begin_connected();
	POST(.len = 3 * PMTU, .code = ENGINE_WRITE_IMM, .flags = ENGINE_SOLICITED);
	POST(.len = PMTU, .code = ENGINE_WRITE, .flags = ENGINE_SOLICITED);
	POST(.len = PMTU, .code = ENGINE_WRITE_IMM);
	assert_int_equal(pull(), 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(out(i)->bth.se, i == 2);
}

/* Pieces of all kinds make one message; bytes are where the application left them (check_lent). */
static void pieces_are_gathered(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= ENGINE_SGE; n++) {
		begin_connected();
		POST(.at = 7, .len = 3 * PMTU + 5, .n_sg = n, .code = ENGINE_WRITE);
		expect_counts(4, 0, true);
		for (uint32_t k = 0; k < 4; k++)
			assert_memory_equal(w.end[0].out[k].bytes + w.end[0].out[k].tx.head_len,
					    area_at(&w.end[0], SOURCE, 7 + k * PMTU),
					    k < 3 ? PMTU : 5);
	}
	struct sge sg = {NULL, PMTU, 0};
	struct op op = {
		.code = ENGINE_WRITE, .qp = OURS, .sg = &sg, .n_sg = 1, .flags = ENGINE_TRUSTED};

	begin_connected();
	assert_int_equal(mrc_ops.post(w.end[0].e, w.now, &op), 0);
	expect_counts(1, 0, true);
}

static void post_bad_key(uint32_t len)
{
	struct sge sg[2] = {area_piece(&w.end[0], SOURCE, 0, PMTU),
			    area_piece(&w.end[0], SOURCE, 0, len - PMTU)};
	struct op op = {
		.code = ENGINE_WRITE, .qp = OURS, .sg = sg, .n_sg = 2, .cookie = next_cookie()};

	sg[1].lkey += 17;
	assert_int_equal(mrc_ops.post(w.end[0].e, w.now, &op), 0);
}

/* Work that cannot be read fails in its turn: what was posted before it is done first. */
static void a_local_fault_waits_for_earlier_work(void **state)
{
	(void)state;
	begin_connected();
	POST(.len = PMTU, .code = ENGINE_WRITE);
	post_bad_key(2 * PMTU);
	POST(.len = PMTU, .code = ENGINE_WRITE);
	assert_int_equal(pull(), 2);
	expect_nothing(0);
	assert_int_equal(end_state(&w.end[0], 0), MRC_RTS);
	ack(0);
	expect_end(1, ENGINE_OK);
	expect_end(2, ENGINE_LOCAL_PROTECTION);
	expect_end(3, ENGINE_FLUSHED);
	expect_nothing(0);
	assert_int_equal(end_state(&w.end[0], 0), MRC_ERROR);
	assert_int_equal(counts(&w.end[0])->failed, 1);
	check_idle(&w.end[0]);
	/* Alone, it fails at once. */
	begin_connected();
	post_bad_key(PMTU + 1);
	assert_int_equal(pull(), 1);
	expect_end(1, ENGINE_LOCAL_PROTECTION);
	assert_int_equal(pull(), 0);
}

/* Memory that goes away under a packet that must be retransmitted. */
static void a_local_fault_of_a_repeated_packet(void **state)
{
	(void)state;
	begin_connected();
	POST(.len = PMTU, .code = ENGINE_WRITE);
	POST(.len = 2 * PMTU, .code = ENGINE_WRITE);
	expect_counts(3, 0, true);
	struct mem_entry entry = *mem_entry(w.end[0].mem, area_key(&w.end[0], SOURCE));

	assert_int_equal(mem_remove(w.end[0].mem, entry.key), 0);
	nack(1, MRC_NACK_TRIMMED);
	assert_int_equal(pull(), 0);
	expect_nothing(0);
	/* That it comes back makes no difference. */
	assert_int_equal(mem_add(w.end[0].mem, &entry), 0);
	mrc_wake_send(engine_of(0), q);
	assert_int_equal(pull(), 0);
	ack(0);
	expect_end(1, ENGINE_OK);
	expect_end(2, ENGINE_LOCAL_PROTECTION);
	check_idle(&w.end[0]);
}

static void every_64th_packet_asks(void **state)
{
	uint32_t n, count = 0;

	(void)state;
	begin();
	w.end[0].cfg.cc.window_bytes = UINT64_C(1) << 20;
	connect();
	POST(.len = 200 * PMTU, .code = ENGINE_WRITE);
	while ((n = pull()) > 0)
		for (uint32_t i = 0; i < n; i++, count++)
			assert_int_equal(out(i)->bth.ack_req, count % 64 == 63 || count == 199);
	assert_int_equal(count, 200);
}

static uint32_t nominal(const struct end_pkt *p)
{
	return p->len + UDP_MORE + NOMINAL;
}

/* A packet may go while fewer bytes are out than the window has, by their nominal size, and the one
 * that closes it asks. */
static void the_window_counts_nominal_bytes(void **state)
{
	(void)state;
	for (uint32_t flags = 0; flags < 2; flags++) {
		begin();
		w.end[0].qp[0].attr.flags = flags ? MRC_NO_TIMESTAMPS : 0;
		uint32_t one = PMTU + (flags ? 32 : 36) + UDP_MORE + NOMINAL;

		w.end[0].cfg.cc.window_bytes = 3 * one;
		connect();
		POST(.len = 8 * PMTU, .code = ENGINE_WRITE);
		expect_counts(3, 0, true);
		assert_int_equal(nominal(&w.end[0].out[0]), one);
		assert_int_equal(pair_of(0, 0)->req.sent.out_bytes, 3 * one);
		assert_int_equal(pull(), 0);
		sack_all(0);
		expect_counts(1, 3, true);
		sack_all(2);
		expect_counts(2, 4, true);
		/* What is lost is not out, and goes first. */
		nack(3, MRC_NACK_TRIMMED);
		assert_int_equal(pull(), 1);
		assert_int_equal(out(0)->bth.psn, psn_of(3));
	}
}

/* M-17: no packet beyond una + range. */
static void the_range_of_the_peer_is_kept(void **state)
{
	uint32_t n, count = 0;

	(void)state;
	begin();
	w.end[1].qp[0].attr.mpr = 1;
	connect();
	POST(.len = 140 * PMTU, .code = ENGINE_WRITE);
	while ((n = pull()) > 0)
		count += n;
	assert_int_equal(count, 128);
	assert_int_equal(w.end[0].out[0].h.bth.ack_req, 0);
	sack_all(0);
	expect_counts(1, 128, true);
	sack_all(4);
	expect_counts(4, 129, true);
	sack_all(132);
	expect_counts(7, 133, true);
}

static void begin_dynamic(uint8_t flags)
{
	begin();
	w.end[0].qp[0].attr.flags = flags;
	w.end[0].is_virtual = w.end[1].is_virtual = true;
	w.end[1].qp[0].caps.max_mpr = 255;
	w.end[1].qp[0].attr.mpr = 4;
	connect();
	for (uint32_t i = 0; i < 3; i++)
		POST(.len = 1000 * PMTU, .code = ENGINE_WRITE);
	assert_int_equal(pull_all(), 512);
}

/* 7.5.4: a larger range takes effect with the first SACK that is ahead. */
static void the_range_grows(void **state)
{
	(void)state;
	begin_dynamic(MRC_DYNAMIC_MPR);
	SACK(.cack = -1, .from = 0, .acked = 3, .mpr = 8);
	assert_int_equal(pull_all(), 0);
	SACK(.cack = 0, .from = 0, .acked = 0, .mpr = 8);
	assert_int_equal(q->req.range, 8 * MRC_MPR_UNIT);
	assert_int_equal(q->attr.mpr_dest, 8);
	assert_int_equal(pull_all(), 513);
	expect_no_event(&w.end[0]);
}

/* And a smaller one: new packets pause, lost ones beyond it wait until it reaches them. */
static void the_range_shrinks(void **state)
{
	(void)state;
	begin_dynamic(MRC_DYNAMIC_MPR);
	SACK(.cack = 9, .from = 9, .acked = 9, .mpr = 1);
	assert_int_equal(q->req.range, MRC_MPR_UNIT);
	assert_int_equal(pull_all(), 0);
	nack(137, MRC_NACK_PSN_OOR_WINDOW);
	nack(138, MRC_NACK_PSN_OOR_WINDOW);
	nack(400, MRC_NACK_PSN_OOR_WINDOW);
	w.now = q->req.pause_until;
	assert_int_equal(pull_all(), 1);
	assert_int_equal(w.end[0].out[0].h.bth.psn, psn_of(137));
	SACK(.cack = 10, .from = 10, .acked = 10, .mpr = 1);
	assert_int_equal(pull_all(), 1);
	assert_int_equal(w.end[0].out[0].h.bth.psn, psn_of(138));
	SACK(.cack = 271, .from = 271, .acked = 271, .mpr = 1);
	assert_int_equal(pull_all(), 0);
	SACK(.cack = 272, .from = 272, .acked = 272, .mpr = 1);
	assert_int_equal(pull_all(), 1);
	SACK(.cack = 511, .from = 511, .acked = 511, .mpr = 1);
	assert_int_equal(pull_all(), 128);
}

/* More than our own records hold is no use to us. */
static void the_range_is_bound_by_our_records(void **state)
{
	(void)state;
	begin();
	w.end[0].qp[0].attr.flags = MRC_DYNAMIC_MPR;
	w.end[0].is_virtual = w.end[1].is_virtual = true;
	w.end[0].qp[0].caps.max_mpr = 2;
	w.end[0].qp[0].attr.mpr = 1;
	w.end[1].qp[0].attr.mpr = 8;
	connect();
	POST(.len = 1000 * PMTU, .code = ENGINE_WRITE);
	assert_int_equal(pull_all(), 256);
	SACK(.cack = 9, .from = 9, .acked = 9, .mpr = 255);
	assert_int_equal(pull_all(), 10);
	assert_int_equal(q->attr.mpr_dest, 255);
}

static void the_range_stays_without_agreement(void **state)
{
	(void)state;
	begin_dynamic(0);
	SACK(.cack = 9, .from = 9, .acked = 9, .mpr = 1);
	assert_int_equal(pull_all(), 10);
	SACK(.cack = 19, .from = 19, .acked = 19, .mpr = 0);
	assert_int_equal(pull_all(), 10);
	expect_no_event(&w.end[0]);
	/* With it, a peer that tells none is worth an event (MRC-7.5.4-04). */
	begin_dynamic(MRC_DYNAMIC_MPR);
	SACK(.cack = 9, .from = 9, .acked = 9, .mpr = 0);
	assert_int_equal(pull_all(), 10);
	expect_event(&w.end[0], OURS, ENGINE_EVENT_NO_RANGE);
	expect_no_event(&w.end[0]);
}

/* Chunks are shared: who finds none starves until one is free, and has asked before. */
static void an_empty_pool_holds_packets_back(void **state)
{
	uint32_t n, count = 0;

	(void)state;
	begin();
	w.end[0].n_qps = 2;
	w.end[0].cfg.max_out_pkts = 2 * ENGINE_SENT_PKTS;
	connect();
	POST(.len = 140 * PMTU, .code = ENGINE_WRITE);
	while ((n = pull()) > 0) {
		count += n;
		assert_int_equal(out(n - 1)->bth.ack_req, count % 64 == 0);
	}
	assert_int_equal(count, 128);
	POST(.qp = 1, .len = PMTU, .code = ENGINE_WRITE);
	assert_int_equal(pull(), 0);
	assert_true(list_is_linked(&pair_of(0, 1)->starved_link));
	/* Both get a turn; who comes first has it. */
	sack_all(63);
	assert_int_equal(pull(), 12);
	assert_true(list_is_linked(&pair_of(0, 1)->starved_link));
	ack(139);
	assert_int_equal(pull(), 1);
	ack_qp(1, 0);
	check_idle(&w.end[0]);
}

/* 6.3.3: no more writes with immediate data than the peer can stash, and nothing overtakes. */
static void immediate_data_beyond_the_limit_waits(void **state)
{
	(void)state;
	begin();
	w.end[1].qp[0].caps.max_wimm = 2;
	connect();
	POST(.len = 2 * PMTU, .code = ENGINE_WRITE_IMM);
	POST(.len = PMTU, .code = ENGINE_WRITE_IMM);
	POST(.len = PMTU, .code = ENGINE_WRITE);
	POST(.len = PMTU, .code = ENGINE_WRITE_IMM);
	POST(.len = PMTU, .code = ENGINE_WRITE);
	expect_counts(4, 0, true);
	assert_int_equal(pull(), 0);
	/* Received is not executed. */
	sack_all(3);
	assert_int_equal(pull(), 0);
	ack(0);
	assert_int_equal(pull(), 0);
	ack(1);
	expect_counts(2, 4, true);
}

/* M-61: a peer that keeps none ahead of a gap is sent one at a time, when all before it has
 * arrived, and the packet with the data when all of its own message did. */
static void a_peer_that_keeps_no_immediate_data(void **state)
{
	(void)state;
	begin();
	w.end[1].qp[0].caps.max_wimm = 0;
	connect();
	POST(.len = 2 * PMTU, .code = ENGINE_WRITE);
	POST(.len = 3 * PMTU, .code = ENGINE_WRITE_IMM);
	POST(.len = 1, .code = ENGINE_WRITE_IMM);
	POST(.len = PMTU, .code = ENGINE_WRITE);
	expect_counts(2, 0, true);
	assert_int_equal(pull(), 0);
	sack_all(1);
	/* The first two of three, and the last of them asks. */
	expect_counts(2, 2, true);
	assert_int_equal(pull(), 0);
	sack_all(2);
	assert_int_equal(pull(), 0);
	sack_all(3);
	expect_counts(1, 4, true);
	sack_all(4);
	/* It has arrived, and is not known to be executed. */
	assert_int_equal(pull(), 0);
	ack(4);
	/* What carries none may follow at once. */
	expect_counts(2, 5, true);
}

/* A rate keeps packets apart; the timer wakes for each. */
static void packets_are_paced(void **state)
{
	(void)state;
	begin();
	w.end[0].cfg.cc = (struct cc_cfg){
		.kind = CC_DCQCN, .window_bytes = 65536, .line_rate_bps = UINT64_C(8000000000)};
	connect();
	cc_on_notice(&pair_of(0, 0)->req.cc, w.now);
	POST(.len = 6 * PMTU, .code = ENGINE_WRITE);
	assert_int_equal(pull(), 1);
	uint32_t one = nominal(&w.end[0].out[0]);

	/* Half the line rate: 2 ns for each byte. */
	for (uint32_t i = 1; i < 6; i++) {
		assert_true(pair_of(0, 0)->req.is_paced);
		assert_true(mrc_ops.deadline(w.end[0].e, ALL_FREE) <= w.now + 2 * one + WIDTH);
		w.now += 2 * one - WIDTH - 1;
		assert_int_equal(pull(), 0);
		w.now += WIDTH + 1;
		assert_int_equal(pull(), 1);
	}
}

/* A pacer that is slower than the timeout is no silence of the peer, who was not asked yet. */
static void a_paced_packet_is_no_silence(void **state)
{
	(void)state;
	begin();
	w.end[0].cfg.cc = (struct cc_cfg){
		.kind = CC_DCQCN, .window_bytes = 65536, .line_rate_bps = UINT64_C(400000000)};
	w.end[0].qp[0].attr.timeout = 2;
	connect();
	cc_on_notice(&q->req.cc, w.now);
	POST(.len = 5 * PMTU, .code = ENGINE_WRITE);
	/* 14 us for each, and a timeout of 4 us. */
	while (COUNT(tx_data) < 5) {
		assert_int_equal(COUNT(timeouts), 0);
		w.now += 500;
		pull();
	}
	w.now += 5000;
	pull();
	assert_int_equal(COUNT(timeouts), 1);
}

/* No port is free: the turn is kept, and nothing changes. */
static void a_shut_port_keeps_the_turn(void **state)
{
	uint8_t head[ENGINE_HEAD_MAX];
	struct tx_pkt tx = {.head = head};
	bool is_blocked = false;

	(void)state;
	begin_connected();
	POST(.len = PMTU, .code = ENGINE_WRITE);
	assert_false(mrc_request_next(engine_of(0), q, 0, &tx, &is_blocked));
	assert_true(is_blocked);
	check_records(0);
	assert_int_equal(q->req.sent.next, 0);
	assert_true(mrc_request_next(engine_of(0), q, 1, &tx, &is_blocked));
	assert_false(is_blocked);
	assert_false(mrc_request_next(engine_of(0), q, 0, &tx, &is_blocked));
	assert_false(is_blocked);
}

/* MRC_SQD: what has begun is finished, then an event says so; what has not waits. */
static void a_send_queue_is_drained(void **state)
{
	(void)state;
	begin();
	w.end[0].cfg.cc.window_bytes = 1;
	connect();
	POST(.len = 2 * PMTU, .code = ENGINE_WRITE);
	POST(.len = PMTU, .code = ENGINE_WRITE);
	expect_counts(1, 0, true);
	assert_int_equal(end_set(&w.end[0], w.now, 0, MRC_SQD, 0), 0);
	/* Nothing is out, but half of a message is to come. */
	ack(0);
	expect_no_event(&w.end[0]);
	expect_counts(1, 1, true);
	nack(1, MRC_NACK_TRIMMED);
	assert_int_equal(pull(), 1);
	sack_all(1);
	assert_int_equal(pull(), 0);
	expect_no_event(&w.end[0]);
	ack(1);
	expect_event(&w.end[0], OURS, ENGINE_EVENT_DRAINED);
	assert_int_equal(pull(), 0);
	assert_int_equal(end_set(&w.end[0], w.now, 0, MRC_RTS, 0), 0);
	expect_counts(1, 2, true);
	ack(2);
	expect_no_event(&w.end[0]);
}

/* Every packet takes another EV than the one before it, also one that is retransmitted, and all
 * EVs have their turns; a port without room is passed over. */
static void packets_walk_over_the_evs(void **state)
{
	static const uint16_t second[ENGINE_PORTS] = {0, 3}, none[ENGINE_PORTS] = {0};
	uint32_t turns[END_EVS] = {0}, last = 0;

	(void)state;
	begin();
	w.end[0].cfg.n_ports = 2;
	connect();
	POST(.len = 20 * PMTU, .code = ENGINE_WRITE);
	assert_int_equal(pull(), 20);
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_not_equal(w.end[0].out[i].tx.ev, last);
		last = w.end[0].out[i].tx.ev;
		turns[last - w.end[0].evs[0].value]++;
	}
	for (uint32_t i = 0; i < END_EVS; i++)
		assert_in_range(turns[i], 2, 3);
	nack(3, MRC_NACK_TRIMMED);
	assert_int_equal(end_pull(&w.end[0], w.now, none, END_BATCH), 0);
	assert_int_equal(pull(), 1);
	assert_int_not_equal(w.end[0].out[0].tx.ev, last);
	POST(.len = 8 * PMTU, .code = ENGINE_WRITE);
	assert_int_equal(end_pull(&w.end[0], w.now, second, END_BATCH), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(w.end[0].out[i].tx.port, 1);
	assert_int_equal(pull(), 5);
}

/* Retransmitted: marked, of its own class if it may be trimmed, asking, and otherwise the same
 * packet (7.4.4). */
static void a_repeated_packet_is_marked(void **state)
{
	static uint8_t before[PACKET_MAX];

	(void)state;
	for (uint32_t flags = 0; flags <= MRC_NO_TRIM; flags += MRC_NO_TRIM) {
		begin();
		w.end[0].qp[0].attr.flags = (uint8_t)flags;
		connect();
		POST(.len = 3 * PMTU - 1, .imm = 5, .code = ENGINE_WRITE_IMM);
		POST(.len = PMTU, .code = ENGINE_WRITE);
		expect_counts(4, 0, true);
		for (uint32_t k = 0; k < 4; k++) {
			assert_int_equal(w.end[0].out[k].tx.tclass,
					 flags ? ENGINE_NO_TRIM : ENGINE_DATA);
		}
		uint32_t len = w.end[0].out[2].len;

		memcpy(before, w.end[0].out[2].bytes, len);
		nack(2, MRC_NACK_TRIMMED);
		/* It asks, though another follows. */
		POST(.len = PMTU, .code = ENGINE_WRITE);
		assert_int_equal(pull(), 2);
		struct end_pkt *p = &w.end[0].out[0];

		/* M-57: not to be trimmed then, either. */
		assert_int_equal(p->tx.tclass, flags ? ENGINE_NO_TRIM : ENGINE_RETX);
		assert_int_equal(p->len, len);
		assert_true(p->h.bth.rtx && p->h.bth.ack_req);
		assert_int_equal(p->bytes[8], before[8] | 0xa0);
		p->bytes[8] = before[8];
		assert_memory_equal(p->bytes, before, len);
		assert_int_equal(COUNT(tx_data), 5);
		assert_int_equal(counts(&w.end[0])->tx_retx, 1);
	}
}

/* 7.4.4: what turns out to have arrived while it waits is not retransmitted. */
static void a_packet_that_arrived_is_spared(void **state)
{
	(void)state;
	begin_connected();
	POST(.len = 6 * PMTU, .code = ENGINE_WRITE);
	expect_counts(6, 0, true);
	nack(1, MRC_NACK_TRIMMED);
	nack(2, MRC_NACK_TRIMMED);
	nack(4, MRC_NACK_TRIMMED);
	assert_int_equal(pair_of(0, 0)->req.sent.n_lost, 3);
	sack_all(2);
	assert_int_equal(counts(&w.end[0])->spared, 2);
	assert_int_equal(pull(), 1);
	assert_int_equal(out(0)->bth.psn, psn_of(4));
	assert_int_equal(counts(&w.end[0])->tx_retx, 1);
}

static void silent_work_and_flushed_work(void **state)
{
	(void)state;
	begin();
	w.end[0].qp[0].caps.max_send = 4;
	connect();
	for (uint32_t i = 0; i < 20; i++) {
		POST(.len = PMTU, .code = ENGINE_WRITE, .flags = ENGINE_SILENT);
		expect_counts(1, i, true);
		ack(i);
		expect_nothing(0);
	}
	POST(.len = PMTU, .code = ENGINE_WRITE, .flags = ENGINE_SILENT);
	POST(.len = PMTU, .code = ENGINE_WRITE);
	pull();
	assert_int_equal(end_set(&w.end[0], w.now, 0, MRC_ERROR, 0), 0);
	check_idle(&w.end[0]);
	POST(.len = PMTU, .code = ENGINE_WRITE);
	expect_end(21, ENGINE_FLUSHED);
	expect_end(22, ENGINE_FLUSHED);
	expect_end(23, ENGINE_FLUSHED);
	expect_nothing(0);
	assert_int_equal(pull(), 0);
	assert_int_equal(mrc_ops.deadline(w.end[0].e, ALL_FREE), NSEC_NEVER);
}

/* A reset forgets all, and counts begin anew with the next first PSN. */
static void a_reset_forgets_all(void **state)
{
	(void)state;
	begin_connected();
	POST(.len = 70 * PMTU, .code = ENGINE_WRITE);
	pull();
	nack(3, MRC_NACK_TRIMMED);
	assert_int_equal(end_set(&w.end[0], w.now, 0, MRC_RESET, 0), 0);
	check_idle(&w.end[0]);
	expect_nothing(0);
	assert_int_equal(pull(), 0);
	w.end[0].qp[0].attr.sq_psn = 77;
	end_rise(&w.end[0], w.now, 0, MRC_RTS);
	POST(.len = PMTU, .code = ENGINE_WRITE);
	assert_int_equal(pull(), 1);
	assert_int_equal(out(0)->bth.psn, 77);
	assert_int_equal(out(0)->meth.msn, 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(bad_work_is_not_taken),
	cmocka_unit_test(a_full_queue_and_a_wrong_state_refuse),
	cmocka_unit_test(messages_are_cut_into_packets),
	cmocka_unit_test(messages_are_numbered),
	cmocka_unit_test(timestamps_are_there_by_agreement),
	cmocka_unit_test(the_receiver_is_woken_by_the_last_packet),
	cmocka_unit_test(pieces_are_gathered),
	cmocka_unit_test(a_local_fault_waits_for_earlier_work),
	cmocka_unit_test(a_local_fault_of_a_repeated_packet),
	cmocka_unit_test(every_64th_packet_asks),
	cmocka_unit_test(the_window_counts_nominal_bytes),
	cmocka_unit_test(the_range_of_the_peer_is_kept),
	cmocka_unit_test(the_range_grows),
	cmocka_unit_test(the_range_shrinks),
	cmocka_unit_test(the_range_is_bound_by_our_records),
	cmocka_unit_test(the_range_stays_without_agreement),
	cmocka_unit_test(an_empty_pool_holds_packets_back),
	cmocka_unit_test(immediate_data_beyond_the_limit_waits),
	cmocka_unit_test(a_peer_that_keeps_no_immediate_data),
	cmocka_unit_test(packets_are_paced),
	cmocka_unit_test(a_paced_packet_is_no_silence),
	cmocka_unit_test(a_shut_port_keeps_the_turn),
	cmocka_unit_test(a_send_queue_is_drained),
	cmocka_unit_test(packets_walk_over_the_evs),
	cmocka_unit_test(a_repeated_packet_is_marked),
	cmocka_unit_test(a_packet_that_arrived_is_spared),
	cmocka_unit_test(silent_work_and_flushed_work),
	cmocka_unit_test(a_reset_forgets_all),
};

CHECK_MAIN(cases)
