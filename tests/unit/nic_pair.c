/* nic/nic.h: two users of the loopback device talk, in every way there is. */
#include "nic_stage.h"

#include <sys/socket.h>
#include <unistd.h>

#include "rc/rc.h"

static void check_done(const struct done *done, enum engine_op op, uint64_t cookie)
{
	assert_int_equal(done->status, ENGINE_OK);
	assert_int_equal(done->op, op);
	assert_int_equal(done->cookie, cookie);
}

static void write_and_read(int family)
{
	const uint32_t n = 300001;
	struct end e[2];
	struct done done;

	stage_pair(e, family);
	stage_fill(e[0].bytes, n, 1);
	struct sge piece = stage_piece(&e[0], 0, n);
	struct op op = stage_op(&e[1], ENGINE_WRITE, &piece);

	op.cookie = 7;
	assert_int_equal(stage_post(e[0].qp, op), 0);
	done = stage_one(e[0].cq);
	check_done(&done, ENGINE_WRITE, 7);
	assert_int_equal(done.qp, nic_qp_number(e[0].qp));
	assert_memory_equal(e[0].bytes, e[1].bytes, n);
	assert_int_equal(e[1].bytes[n], 0);

	stage_fill(e[1].bytes, n, 2);
	op.code = ENGINE_READ;
	op.cookie = 8;
	assert_int_equal(stage_post(e[0].qp, op), 0);
	done = stage_one(e[0].cq);
	check_done(&done, ENGINE_READ, 8);
	assert_memory_equal(e[0].bytes, e[1].bytes, n);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void writes_and_reads_over_ipv4(void **state)
{
	(void)state;
	write_and_read(AF_INET);
}

static void writes_and_reads_over_ipv6(void **state)
{
	(void)state;
	write_and_read(AF_INET6);
}

static void sends_arrive_in_pieces(void **state)
{
	struct end e[2];
	struct done done[2];

	(void)state;
	stage_pair(e, AF_INET);
	stage_fill(e[0].bytes, 5000, 3);
	struct sge to[] = {stage_piece(&e[1], 100, 1), stage_piece(&e[1], 200, 2999),
			   stage_piece(&e[1], 4000, 3000)};
	struct sge from[] = {stage_piece(&e[0], 0, 3000), stage_piece(&e[0], 3000, 2000)};
	struct op recv = {.code = ENGINE_RECV, .sg = to, .n_sg = 3, .cookie = 1};
	struct op send = {
		.code = ENGINE_SEND_IMM, .sg = from, .n_sg = 2, .cookie = 2, .imm = 0x12345678};

	assert_int_equal(stage_post(e[1].qp, recv), 0);
	assert_int_equal(stage_post(e[0].qp, send), 0);
	done[0] = stage_one(e[1].cq);
	check_done(&done[0], ENGINE_RECV, 1);
	assert_int_equal(done[0].len, 5000);
	assert_int_equal(done[0].imm, 0x12345678);
	assert_true(done[0].flags & ENGINE_HAS_IMM);
	assert_int_equal(done[0].qp, nic_qp_number(e[1].qp));
	assert_int_equal(done[0].source, nic_qp_number(e[0].qp));
	done[1] = stage_one(e[0].cq);
	check_done(&done[1], ENGINE_SEND_IMM, 2);
	assert_memory_equal(e[1].bytes + 100, e[0].bytes, 1);
	assert_memory_equal(e[1].bytes + 200, e[0].bytes + 1, 2999);
	assert_memory_equal(e[1].bytes + 4000, e[0].bytes + 3000, 2000);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void write_with_immediate_takes_a_receive(void **state)
{
	struct end e[2];
	struct done done;

	(void)state;
	stage_pair(e, AF_INET);
	stage_fill(e[0].bytes, 2000, 4);
	stage_recv(&e[1], 0, 0, 5);
	struct sge piece = stage_piece(&e[0], 0, 2000);
	struct op op = stage_op(&e[1], ENGINE_WRITE_IMM, &piece);

	op.imm = 99;
	assert_int_equal(stage_post(e[0].qp, op), 0);
	done = stage_one(e[1].cq);
	assert_int_equal(done.status, ENGINE_OK);
	assert_int_equal(done.cookie, 5);
	assert_int_equal(done.imm, 99);
	assert_int_equal(done.op, ENGINE_WRITE_IMM);
	assert_memory_equal(e[0].bytes, e[1].bytes, 2000);
	stage_one(e[0].cq);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void atomics_happen(void **state)
{
	struct end e[2];
	uint64_t cell = 40, got = 0, operand[2] = {40, 77};

	(void)state;
	stage_pair(e, AF_INET);
	memcpy(e[1].bytes, &cell, 8);
	struct sge piece = stage_piece(&e[0], 64, 8);
	struct op op = stage_op(&e[1], ENGINE_ATOMIC, &piece);

	op.atomic_op = ENGINE_COMPARE_SWAP;
	memcpy(op.operand[0], &operand[0], 8);
	memcpy(op.operand[1], &operand[1], 8);
	assert_int_equal(stage_post(e[0].qp, op), 0);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_OK);
	memcpy(&got, e[0].bytes + 64, 8);
	memcpy(&cell, e[1].bytes, 8);
	assert_int_equal(got, 40);
	assert_int_equal(cell, 77);

	operand[0] = 3;
	op.atomic_op = ENGINE_FETCH_ADD;
	memcpy(op.operand[0], &operand[0], 8);
	assert_int_equal(stage_post(e[0].qp, op), 0);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_OK);
	memcpy(&got, e[0].bytes + 64, 8);
	memcpy(&cell, e[1].bytes, 8);
	assert_int_equal(got, 77);
	assert_int_equal(cell, 80);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* The application's buffer is overwritten right after the post, more often than there are slots. */
static void inline_data_is_copied(void **state)
{
	struct end e[2];
	uint32_t posted;

	(void)state;
	stage_pair(e, AF_INET);
	for (uint32_t round = 0; round < 200; round++) {
		uint8_t own[128];
		struct sge pieces[] = {{own, 100, 0}, {own + 100, 28, 0}};
		struct nic_work work = {.op = stage_op(&e[1], ENGINE_WRITE, pieces)};

		stage_fill(own, sizeof own, round);
		work.op.n_sg = 2;
		work.op.remote += round * sizeof own;
		work.op.cookie = round;
		work.op.flags = ENGINE_INLINE | (round % 3 ? ENGINE_SILENT : 0);
		int r = nic_post(e[0].qp, &work, 1, &posted);

		assert_int_equal(r, 0);
		assert_int_equal(posted, 1);
		memset(own, 0xee, sizeof own);
		if (round % 3 == 0)
			assert_int_equal(stage_one(e[0].cq).cookie, round);
	}
	struct sge piece = stage_piece(&e[0], 0, 8);

	assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_READ, &piece)), 0);
	stage_one(e[0].cq);
	for (uint32_t round = 0; round < 200; round++) {
		uint8_t want[128];

		stage_fill(want, sizeof want, round);
		assert_memory_equal(e[1].bytes + round * sizeof want, want, sizeof want);
	}
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* Until a message was put off for want of a receive: now it must be retransmitted. */
static void await_put_off(struct end *e)
{
	uint64_t end = stage_now() + STAGE_NS;
	struct rc_counters count = {0};
	struct done done;

	while (!count.rx_rnr_sent && stage_now() < end) {
		assert_int_equal(nic_cq_poll(e->cq, &done, 1), 0);
		nic_counters(e->user, &count, sizeof count, NULL);
	}
	assert_true(count.rx_rnr_sent > 0);
}

/* Slots in use are not overwritten by a post that the full queue refuses. */
static void inline_slots_outlive_a_full_queue(void **state)
{
	struct end e[2];
	uint32_t posted, n = 0;
	uint8_t own[64], want[64];

	(void)state;
	stage_pair(e, AF_INET);
	/* Sends without a receive stay in the queue. */
	for (; n < 100; n++) {
		struct sge piece = {own, sizeof own, 0};
		struct nic_work work = {
			.op = {.code = ENGINE_SEND,
			       .sg = &piece,
			       .n_sg = 1,
			       .cookie = n,
			       .flags = ENGINE_INLINE},
		};

		stage_fill(own, sizeof own, n);
		if (nic_post(e[0].qp, &work, 1, &posted) == -ENOMEM)
			break;
	}
	assert_int_equal(n, 64);
	await_put_off(&e[1]);
	for (uint32_t i = 0; i < n; i++)
		stage_recv(&e[1], i * 64, 64, i);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(stage_one(e[1].cq).cookie, i);
		stage_fill(want, sizeof want, i);
		assert_memory_equal(e[1].bytes + (size_t)i * 64, want, sizeof want);
	}
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void inline_is_refused_where_it_cannot_be(void **state)
{
	struct end e[2];
	uint8_t own[256] = {0};
	struct sge piece = {own, 129, 0};
	uint32_t posted;

	(void)state;
	stage_pair(e, AF_INET);
	struct nic_work work = {.op = stage_op(&e[1], ENGINE_WRITE, &piece)};

	work.op.flags = ENGINE_INLINE;

	assert_int_equal(nic_post(e[0].qp, &work, 1, &posted), -EINVAL);
	piece.len = 8;
	work.op.code = ENGINE_READ;
	assert_int_equal(nic_post(e[0].qp, &work, 1, &posted), -EINVAL);
	work.op.code = ENGINE_WRITE;
	work.op.flags = ENGINE_TRUSTED; /* a key of 0 is no key, whatever the flags say */
	assert_int_equal(nic_post(e[0].qp, &work, 1, &posted), 0);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_LOCAL_PROTECTION);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* A list stops at the first work that is refused, and says where. */
static void a_list_is_posted_up_to_the_bad_one(void **state)
{
	struct end e[2];
	struct nic_work work[4];
	struct done done[2];
	uint32_t posted = 9;

	(void)state;
	stage_pair(e, AF_INET);
	struct sge piece = stage_piece(&e[0], 0, 16);

	for (uint32_t i = 0; i < 4; i++) {
		work[i] = (struct nic_work){.op = stage_op(&e[1], ENGINE_WRITE, &piece)};
		work[i].op.cookie = i;
	}
	work[2].op.n_sg = 5;
	assert_int_equal(nic_post(e[0].qp, work, 4, &posted), -EINVAL);
	assert_int_equal(posted, 2);
	stage_take(e[0].cq, done, 2);
	assert_int_equal(done[0].cookie, 0);
	assert_int_equal(done[1].cookie, 1);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* Sends that wait for receives, from a number on. */
static int send_all(struct end *e, uint32_t first, uint32_t n)
{
	struct nic_work work[64];
	struct sge piece = stage_piece(e, 0, 16);

	for (uint32_t i = 0; i < n; i++)
		work[i] = (struct nic_work){
			.op = {.code = ENGINE_SEND, .sg = &piece, .n_sg = 1, .cookie = first + i}};
	return nic_post_all(e->qp, work, n);
}

static void all_or_nothing_when_full(void **state)
{
	struct end e[2];

	(void)state;
	stage_pair(e, AF_INET);
	assert_int_equal(send_all(&e[0], 0, 60), 0);
	assert_int_equal(send_all(&e[0], 90, 5), -ENOMEM);
	assert_int_equal(send_all(&e[0], 60, 0), 0);
	assert_int_equal(send_all(&e[0], 60, 4), 0);
	assert_int_equal(send_all(&e[0], 90, 1), -ENOMEM);
	for (uint32_t i = 0; i < 64; i++)
		stage_recv(&e[1], 0, 64, i);
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(stage_one(e[0].cq).cookie, i);
	assert_int_equal(send_all(&e[0], 0, 64), 0);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* Mistakes of a work; those that cost nothing are taken. */
static const struct mistake {
	const char *what;
	uint64_t remote, key;
	uint32_t len;
	uint8_t code, atomic_op, n_sg;
	bool is_inline, is_fine;
} mistakes[] = {
	{.what = "no such operation", .code = ENGINE_RECV + 1, .n_sg = 1},
	{.what = "a receive among sends", .code = ENGINE_RECV},
	{.what = "too many pieces", .n_sg = 5},
	{.what = "more than a message", .len = RC_MESSAGE_MAX + 1, .n_sg = 1},
	{.what = "all of a message, in two", .len = RC_MESSAGE_MAX, .n_sg = 2},
	{.what = "an address that wraps", .remote = UINT64_MAX - 14, .len = 16, .n_sg = 1},
	{.what = "a key of 33 bits", .key = UINT64_C(1) << 32, .len = 16, .n_sg = 1},
	{.what = "an atomic of 4 bytes", .code = ENGINE_ATOMIC, .len = 4, .n_sg = 1},
	{.what = "an atomic in two pieces", .code = ENGINE_ATOMIC, .len = 4, .n_sg = 2},
	{.what = "another atomic", .code = ENGINE_ATOMIC, .atomic_op = 2, .len = 8, .n_sg = 1},
	{.what = "too much inline", .len = 129, .n_sg = 1, .is_inline = true},
	{.what = "an inline read", .code = ENGINE_READ, .len = 8, .n_sg = 1, .is_inline = true},
	{.what = "an inline invalidation", .code = ENGINE_LOCAL_INV, .is_inline = true},
	{.what = "a binding of nothing", .code = ENGINE_BIND},
	{.what = "nothing", .is_fine = true},
	{.what = "nothing, of nowhere", .remote = UINT64_MAX, .is_fine = true},
	{.what = "nothing inline", .is_inline = true, .is_fine = true},
	{.what = "all that fits inline", .len = 128, .n_sg = 1, .is_inline = true, .is_fine = true},
	{.what = "a read", .code = ENGINE_READ, .len = 8, .n_sg = 1, .is_fine = true},
};

static int post_mistake(struct end e[2], const struct mistake *m, bool is_alone)
{
	struct sge good = stage_piece(&e[0], 0, 16), pieces[5];
	struct nic_work work[3] = {{.op = stage_op(&e[1], ENGINE_WRITE, &good)}};
	uint32_t posted;

	for (uint32_t i = 0; i < 5; i++)
		pieces[i] = stage_piece(&e[0], 0, m->len);
	work[1] = work[2] = work[0];
	struct op *op = &work[1].op;

	op->code = m->code;
	op->atomic_op = m->atomic_op;
	op->sg = pieces;
	op->n_sg = m->n_sg;
	op->remote = m->remote ? m->remote : op->remote;
	op->key |= m->key;
	op->flags = m->is_inline ? ENGINE_INLINE : 0;
	return is_alone ? nic_post(e[0].qp, &work[1], 1, &posted) : nic_post_all(e[0].qp, work, 3);
}

static void all_or_nothing_with_a_mistake(void **state)
{
	struct engine_attr reset = {.state = ENGINE_RESET};
	struct done done[3];
	struct end e[2];

	(void)state;
	stage_pair(e, AF_INET);
	memset(e[0].bytes, 7, 16);
	for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
		const struct mistake *m = &mistakes[i];
		int all = post_mistake(e, m, false);

		if (all != (m->is_fine ? 0 : -EINVAL))
			fail_msg("%s: %d", m->what, all);
		if (m->is_fine)
			stage_take(e[0].cq, done, 3);
		else
			assert_int_equal(e[1].bytes[0], 0);
		/* A receive alone is one, and good. */
		if (m->code != ENGINE_RECV && post_mistake(e, m, true) != all)
			fail_msg("%s alone", m->what);
		if (m->is_fine)
			stage_take(e[0].cq, done, 1);
		memset(e[1].bytes, 0, 16);
	}
	assert_int_equal(nic_cq_poll(e[0].cq, done, 1), 0);
	assert_int_equal(nic_qp_modify(e[0].qp, &reset, ENGINE_SET_STATE, NULL), 0);
	assert_int_equal(send_all(&e[0], 0, 1), -EINVAL);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void signaled_or_silent(void **state)
{
	struct end e[2];
	struct done done;

	(void)state;
	stage_pair(e, AF_INET);
	struct sge piece = stage_piece(&e[0], 0, 16);
	struct op op = stage_op(&e[1], ENGINE_WRITE, &piece);

	for (uint32_t i = 0; i < 10; i++) {
		op.flags = i == 9 ? 0 : ENGINE_SILENT;
		op.cookie = i;
		assert_int_equal(stage_post(e[0].qp, op), 0);
	}
	assert_int_equal(stage_one(e[0].cq).cookie, 9);
	assert_int_equal(nic_cq_poll(e[0].cq, &done, 1), 0);

	struct nic_qp_spec spec = {
		.pd = e[0].pd, .send_cq = e[0].cq, .recv_cq = e[0].cq, .is_all_signaled = true};
	struct nic_qp *all = nic_qp_new(e[0].user, &spec), *other = stage_qp(&e[1], NULL);
	struct nic_info info = stage_info("lo");

	assert_int_equal(spec.max_send, 1);
	assert_int_equal(spec.max_send_sge, 1);
	stage_connect(all, other, &info, 0);
	op.flags = ENGINE_SILENT;
	assert_int_equal(stage_post(all, op), 0);
	assert_int_equal(stage_one(e[0].cq).qp, nic_qp_number(all));
	assert_int_equal(nic_qp_free(all), 0);
	assert_int_equal(nic_qp_free(other), 0);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void fill_shared(struct end *e, struct nic_srq *srq, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct sge piece = stage_piece(e, i * 64, 64);
		struct nic_work work = {
			.op = {.code = ENGINE_RECV, .sg = &piece, .n_sg = 1, .cookie = i}};
		uint32_t posted;

		assert_int_equal(nic_srq_post(srq, &work, 1, &posted), 0);
	}
}

static void check_limit_event(struct end *e, const struct nic_srq *srq, const void *context)
{
	struct nic_event event;

	assert_int_equal(nic_event_get(e->user, &event), 0);
	assert_int_equal(event.kind, NIC_EVENT_SRQ_LIMIT);
	assert_ptr_equal(event.object, srq);
	assert_ptr_equal(event.context, context);
	nic_event_ack(e->user, &event);
}

/* Four peers send one message each: every one is told apart by its queue pair. */
static void send_to_shared(struct end e[2], struct nic_qp *mine[4], struct nic_qp *theirs[4])
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < 4; i++) {
		struct sge piece = stage_piece(&e[0], i * 64, 64);
		struct op op = {.code = ENGINE_SEND, .sg = &piece, .n_sg = 1};

		stage_fill(e[0].bytes + (size_t)i * 64, 64, i);
		assert_int_equal(stage_post(mine[i], op), 0);
	}
	for (uint32_t i = 0; i < 4; i++) {
		struct done done = stage_one(e[1].cq);

		for (uint32_t k = 0; k < 4; k++) {
			if (done.qp != nic_qp_number(theirs[k]))
				continue;
			seen |= 1u << k;
			assert_memory_equal(e[1].bytes + done.cookie * 64,
					    e[0].bytes + (size_t)k * 64, 64);
			assert_int_equal(done.source, nic_qp_number(mine[k]));
		}
	}
	assert_int_equal(seen, 15);
}

static void a_shared_receive_queue_feeds_many(void **state)
{
	struct nic_info info = stage_info("lo");
	struct end e[2];
	struct nic_qp *mine[4], *theirs[4];
	uint32_t limit;

	(void)state;
	stage_open(&e[0], &info, NULL);
	stage_open(&e[1], &info, NULL);
	struct engine_srq_caps caps = {.max_recv = 16, .max_sge = 1}, got;
	struct nic_srq *srq = nic_srq_new(e[1].pd, &caps, &caps);

	assert_non_null(srq);
	for (uint32_t i = 0; i < 4; i++) {
		mine[i] = stage_qp(&e[0], NULL);
		theirs[i] = stage_qp(&e[1], srq);
		stage_connect(mine[i], theirs[i], &info, 0);
	}
	assert_int_equal(nic_srq_free(srq), -EBUSY);
	fill_shared(&e[1], srq, 8);
	assert_int_equal(nic_srq_limit(srq, 6), 0);
	assert_int_equal(nic_srq_query(srq, &got, &limit), 0);
	assert_int_equal(got.max_recv, 16);
	assert_int_equal(limit, 6);
	send_to_shared(e, mine, theirs);
	check_limit_event(&e[1], srq, &caps);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(nic_qp_free(mine[i]), 0);
		assert_int_equal(nic_qp_free(theirs[i]), 0);
	}
	assert_int_equal(nic_srq_free(srq), 0);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void destroyed_with_work_pending(void **state)
{
	struct end e[2];
	struct done done;

	(void)state;
	stage_pair(e, AF_INET);
	struct sge piece = stage_piece(&e[0], 0, STAGE_BYTES);
	struct op op = stage_op(&e[1], ENGINE_WRITE, &piece);

	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(stage_post(e[0].qp, op), 0);
	/* One end goes in mid-transfer; the other's work fails in its own time, or is freed too. */
	assert_int_equal(nic_qp_free(e[1].qp), 0);
	e[1].qp = NULL;
	assert_int_equal(nic_mr_free(e[1].mr), 0);
	e[1].mr = NULL;
	memset(e[1].bytes, 0x5a, STAGE_BYTES);
	for (uint32_t i = 0; i < 1000; i++)
		nic_cq_poll(e[0].cq, &done, 1);
	assert_int_equal(nic_qp_free(e[0].qp), 0);
	e[0].qp = NULL;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_true(nic_cq_poll(e[0].cq, &done, 1) >= 0);
		assert_int_equal(nic_cq_poll(e[1].cq, &done, 1), 0);
	}
	for (uint32_t i = 0; i < STAGE_BYTES; i++)
		assert_int_equal(e[1].bytes[i], 0x5a);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* Completions that were out stay in the queue, and name the one that is gone by its number. */
static void completions_outlive_their_pair(void **state)
{
	struct end e[2];
	struct done done;

	(void)state;
	stage_pair(e, AF_INET);
	struct sge piece = stage_piece(&e[0], 0, 16);
	uint32_t number = nic_qp_number(e[0].qp);
	struct op op = stage_op(&e[1], ENGINE_WRITE, &piece);
	struct engine_attr error = {.state = ENGINE_ERROR};

	assert_int_equal(nic_qp_modify(e[0].qp, &error, ENGINE_SET_STATE, NULL), 0);
	assert_int_equal(stage_post(e[0].qp, op), 0);
	assert_int_equal(nic_qp_free(e[0].qp), 0);
	e[0].qp = NULL;
	assert_int_equal(nic_cq_poll(e[0].cq, &done, 1), 1);
	assert_int_equal(done.qp, number);
	assert_int_equal(done.status, ENGINE_FLUSHED);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void sixty_four_pairs_at_once(void **state)
{
	struct nic_info info = stage_info("lo");
	struct nic_qp *mine[64], *theirs[64];
	struct done done[64];
	struct end e[2];

	(void)state;
	stage_open(&e[0], &info, NULL);
	stage_open(&e[1], &info, NULL);
	stage_fill(e[0].bytes, STAGE_BYTES, 9);
	for (uint32_t i = 0; i < 64; i++) {
		mine[i] = stage_qp(&e[0], NULL);
		theirs[i] = stage_qp(&e[1], NULL);
		stage_connect(mine[i], theirs[i], &info,
			      stage_gid(&info, i % 2 ? AF_INET6 : AF_INET));
	}
	for (uint32_t i = 0; i < 64; i++) {
		struct sge piece = stage_piece(&e[0], i << 14, 1u << 14);
		struct op op = stage_op(&e[1], ENGINE_WRITE, &piece);

		op.remote += i << 14;
		op.cookie = i;
		assert_int_equal(stage_post(mine[i], op), 0);
	}
	stage_take(e[0].cq, done, 64);
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(done[i].status, ENGINE_OK);
	assert_memory_equal(e[0].bytes, e[1].bytes, STAGE_BYTES);
	for (uint32_t i = 0; i < 64; i++) {
		assert_int_equal(nic_qp_free(mine[i]), 0);
		assert_int_equal(nic_qp_free(theirs[i]), 0);
	}
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* The device's thread does it all while nobody polls. */
static void nobody_polls_and_it_arrives(void **state)
{
	struct end e[2];
	struct timespec nap = {0, 1000000};
	struct rc_counters count = {0};

	(void)state;
	stage_pair(e, AF_INET);
	stage_fill(e[0].bytes, STAGE_BYTES, 1);
	struct sge piece = stage_piece(&e[0], 0, STAGE_BYTES);

	assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)), 0);
	for (uint32_t i = 0; i < 1000 && count.rx_bytes < STAGE_BYTES; i++) {
		nanosleep(&nap, NULL);
		nic_counters(e[1].user, &count, sizeof count, NULL);
	}
	assert_int_equal(count.rx_bytes, STAGE_BYTES);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_OK);
	assert_memory_equal(e[0].bytes, e[1].bytes, STAGE_BYTES);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void a_silent_peer_is_given_up(void **state)
{
	struct nic_info info = stage_info("lo");
	struct end e[2];
	struct engine_attr attr, now;

	(void)state;
	stage_open(&e[0], &info, NULL);
	stage_open(&e[1], &info, NULL);
	attr = stage_attr(nic_qp_number(e[1].qp));
	attr.timeout = 10;
	attr.retries = 2;
	stage_aim(e[0].qp, attr, &info, 0);
	struct sge piece = stage_piece(&e[0], 0, 16);

	assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)), 0);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_RETRY_EXCEEDED);
	assert_int_equal(nic_qp_query(e[0].qp, &now, NULL, NULL), 0);
	assert_int_equal(now.state, ENGINE_ERROR);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void aim_at_nobody(struct nic_qp *qp, struct engine_attr attr, struct nic_info *info)
{
	uint32_t gid = stage_gid(info, AF_INET);

	/* 127.0.0.9 is an address of the loopback interface without being one of the device's. */
	info->gids[gid].raw[15] = 9;
	stage_aim(qp, attr, info, gid);
}

/* The same for an application that sleeps: nothing but the engine's timer wakes it. */
static void a_timer_wakes_the_sleeper(void **state)
{
	struct nic_info info = stage_info("lo");
	struct timespec nap = {0, 50000000};
	struct engine_attr attr;
	struct nic_cq *cq;
	struct end e[2];
	void *context;

	(void)state;
	stage_open(&e[0], &info, NULL);
	stage_open(&e[1], &info, NULL);
	attr = stage_attr(nic_qp_number(e[1].qp));
	attr.timeout = 10;
	attr.retries = 1;
	/* Nobody is there, so no packet wakes the device's thread either. */
	aim_at_nobody(e[0].qp, attr, &info);
	assert_int_equal(nic_cq_arm(e[0].cq, false), 0);
	nanosleep(&nap, NULL); /* the device's thread is fast asleep */
	struct sge piece = stage_piece(&e[0], 0, 16);
	uint64_t before = stage_now();

	alarm(10);
	assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)), 0);
	assert_int_equal(nic_channel_get(e[0].channel, &cq, &context), 0);
	alarm(0);
	nic_cq_ack(cq, 1);
	assert_true(stage_now() - before < STAGE_NS);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_RETRY_EXCEEDED);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void paths_are_checked(void **state)
{
	struct nic_info info = stage_info("lo");
	const uint32_t set = ENGINE_SET_STATE | ENGINE_SET_PMTU | ENGINE_SET_PATH |
			     ENGINE_SET_REMOTE_QP | ENGINE_SET_RQ_PSN | ENGINE_SET_DEST_RD_ATOMIC |
			     ENGINE_SET_RNR_TIMER;
	struct nic_path path = {.gid_index = nic_gid_index(info.n_gids)}, got;
	struct engine_attr attr = stage_attr(5);
	struct end e;

	(void)state;
	stage_open(&e, &info, NULL);
	attr.state = ENGINE_INIT;
	assert_int_equal(nic_qp_modify(e.qp, &attr, ENGINE_SET_STATE | ENGINE_SET_ACCESS, NULL), 0);
	attr.state = ENGINE_RTR;
	memcpy(path.dgid, info.gids[stage_gid(&info, AF_INET)].raw, 16);
	assert_int_equal(nic_qp_modify(e.qp, &attr, set, &path), -EINVAL);
	assert_non_null(strstr(nic_error(), "no GID number"));
	assert_int_equal(nic_qp_modify(e.qp, &attr, set, NULL), -EINVAL);
	path.gid_index = nic_gid_index(stage_gid(&info, AF_INET6));
	assert_int_equal(nic_qp_modify(e.qp, &attr, set, &path), -EINVAL);
	assert_non_null(strstr(nic_error(), "family"));
	/* The same address by version 1: which number to take instead is said. */
	path.gid_index = nic_gid_index(stage_gid(&info, AF_INET)) - 1;
	assert_int_equal(nic_qp_modify(e.qp, &attr, set, &path), -EOPNOTSUPP);
	assert_non_null(strstr(nic_error(), "GID number 2 of weft_rc0 is RoCE version 1"));
	assert_non_null(strstr(nic_error(), "use 3, "));
	path.gid_index++;
	path.hop_limit = 3;
	attr.pmtu = 1000;
	assert_int_equal(nic_qp_modify(e.qp, &attr, set, &path), -EINVAL);
	attr.pmtu = 4096;
	assert_int_equal(nic_qp_modify(e.qp, &attr, set, &path), 0);
	assert_int_equal(nic_qp_query(e.qp, &attr, &got, NULL), 0);
	assert_int_equal(attr.state, ENGINE_RTR);
	assert_int_equal(got.gid_index, 3);
	assert_int_equal(got.hop_limit, 3);
	assert_memory_equal(got.dgid, path.dgid, 16);
	stage_close(&e);
}

static void foreign_objects_are_refused(void **state)
{
	struct nic_info info = stage_info("lo");
	struct end e[2];

	(void)state;
	stage_open(&e[0], &info, NULL);
	stage_open(&e[1], &info, NULL);
	struct nic_qp_spec spec = {.pd = e[0].pd, .send_cq = e[1].cq, .recv_cq = e[0].cq};

	assert_null(nic_qp_new(e[0].user, &spec));
	assert_int_equal(errno, EINVAL);
	spec.send_cq = e[0].cq;
	spec.max_inline = NIC_MAX_INLINE + 1;
	assert_null(nic_qp_new(e[0].user, &spec));
	spec.max_inline = 0;
	spec.max_send = RC_WR_MAX + 1;
	assert_null(nic_qp_new(e[0].user, &spec));
	assert_int_equal(errno, EINVAL);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(writes_and_reads_over_ipv4),
	cmocka_unit_test(writes_and_reads_over_ipv6),
	cmocka_unit_test(sends_arrive_in_pieces),
	cmocka_unit_test(write_with_immediate_takes_a_receive),
	cmocka_unit_test(atomics_happen),
	cmocka_unit_test(inline_data_is_copied),
	cmocka_unit_test(inline_slots_outlive_a_full_queue),
	cmocka_unit_test(inline_is_refused_where_it_cannot_be),
	cmocka_unit_test(a_list_is_posted_up_to_the_bad_one),
	cmocka_unit_test(all_or_nothing_when_full),
	cmocka_unit_test(all_or_nothing_with_a_mistake),
	cmocka_unit_test(signaled_or_silent),
	cmocka_unit_test(a_shared_receive_queue_feeds_many),
	cmocka_unit_test(destroyed_with_work_pending),
	cmocka_unit_test(completions_outlive_their_pair),
	cmocka_unit_test(sixty_four_pairs_at_once),
	cmocka_unit_test(nobody_polls_and_it_arrives),
	cmocka_unit_test(a_silent_peer_is_given_up),
	cmocka_unit_test(a_timer_wakes_the_sleeper),
	cmocka_unit_test(paths_are_checked),
	cmocka_unit_test(foreign_objects_are_refused),
};
ISOLATED_MAIN(cases)
