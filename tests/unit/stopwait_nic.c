/* Stop and wait as the transport of a soft device, on loopback. */
#include "nic_stage.h"

#include "nic/inside.h"
#include "stopwait.h"

#define PMTU  4096u
#define BYTES (64u * PMTU)
#define OUT   16u /* messages at a time */

/* A device of another transport, which becomes ours before it is opened. */
static struct nic_info device(void)
{
	struct nic_info info = stage_info("lo");

	info.setup.transport = &stopwait;
	return info;
}

static void open_both(struct end e[2])
{
	struct nic_info info = device();

	stage_open(&e[0], &info, NULL);
	stage_open(&e[1], &info, NULL);
	stage_join(e, &info, PMTU);
}

static void close_both(struct end e[2])
{
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* Many messages one after the other, as `weft perf` posts them. */
static void a_transfer_arrives(void **state)
{
	struct nic_work work[OUT];
	struct sge piece[OUT];
	struct done done[OUT];
	struct end e[2];
	uint32_t posted;

	(void)state;
	open_both(e);
	stage_fill(e[0].bytes, BYTES, 7);
	for (uint32_t i = 0; i < OUT; i++) {
		piece[i] = stage_piece(&e[0], i * (BYTES / OUT), BYTES / OUT);
		work[i] = (struct nic_work){.op = stage_op(&e[1], ENGINE_WRITE, &piece[i])};
		work[i].op.remote += i * (BYTES / OUT);
		work[i].op.cookie = i;
	}
	assert_int_equal(nic_post(e[0].qp, work, OUT, &posted), 0);
	stage_take(e[0].cq, done, OUT);
	for (uint32_t i = 0; i < OUT; i++) {
		assert_int_equal(done[i].status, ENGINE_OK);
		assert_int_equal(done[i].cookie, i);
	}
	assert_memory_equal(e[0].bytes, e[1].bytes, BYTES);
	assert_int_equal(nic_count(e[1].user, stopwait.count_received), BYTES);
	close_both(e);
}

static void sends_and_immediate_data_take_receives(void **state)
{
	struct end e[2];

	(void)state;
	open_both(e);
	stage_fill(e[0].bytes, PMTU, 9);
	stage_recv(&e[1], 0, 2 * PMTU, 11);
	stage_recv(&e[1], 0, 0, 12);
	struct sge piece = stage_piece(&e[0], 0, PMTU + 5);
	struct op op = stage_op(&e[1], ENGINE_SEND, &piece);

	assert_int_equal(stage_post(e[0].qp, op), 0);
	struct done done = stage_one(e[1].cq);

	assert_int_equal(done.cookie, 11);
	assert_int_equal(done.len, PMTU + 5);
	assert_int_equal(done.source, nic_qp_number(e[0].qp));
	assert_memory_equal(e[0].bytes, e[1].bytes, PMTU + 5);
	op.code = ENGINE_WRITE_IMM;
	op.imm = 77;
	assert_int_equal(stage_post(e[0].qp, op), 0);
	done = stage_one(e[1].cq);
	assert_int_equal(done.cookie, 12);
	assert_int_equal(done.imm, 77);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_OK);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_OK);
	close_both(e);
}

/* A key that the peer does not know ends the queue pair, and its work says why. */
static void what_is_refused_says_so(void **state)
{
	struct end e[2];

	(void)state;
	open_both(e);
	struct sge piece = stage_piece(&e[0], 0, 100);
	struct op op = stage_op(&e[1], ENGINE_WRITE, &piece);

	op.key ^= 1;
	assert_int_equal(stage_post(e[0].qp, op), 0);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_REMOTE_ACCESS);
	assert_int_equal(qp_state(e[0].qp), ENGINE_ERROR);
	close_both(e);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_transfer_arrives),
	cmocka_unit_test(sends_and_immediate_data_take_receives),
	cmocka_unit_test(what_is_refused_says_so),
};
ISOLATED_MAIN(cases)
