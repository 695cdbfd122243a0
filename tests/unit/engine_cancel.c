/* Work that is taken back, by every transport that gives some back: what is refused, and when the
 * rest is reported. engine_laws.c does the same at random, with losses. */
#include "laws.h"

#include <errno.h>

#include "stopwait.h"

#define SEED 5u

static const struct engine_room wide = {.pkts = {8, 8}, .may = UINT32_MAX};

static struct laws_world *w;
static struct done done;

/* Whether work to be sent is given back, too: MRC numbers it when it is posted. */
static bool takes_sends_back(void)
{
	return w->end[0].row != &transport_mrc;
}

static int cancel(bool is_recv, uint64_t cookie)
{
	return laws_cancel(w, 0, 0, is_recv, cookie);
}

static void expect(uint8_t code, uint64_t cookie, enum engine_status status)
{
	assert_true(laws_poll(w, 0, &done));
	assert_int_equal(done.code, code);
	assert_int_equal(done.cookie, cookie);
	assert_int_equal(done.status, status);
}

static void expect_none(void)
{
	assert_false(laws_poll(w, 0, &done));
}

static void finish(void)
{
	uint32_t turns = 0;

	while (laws_step(w))
		assert_in_range(++turns, 0, LAWS_TURNS);
}

static void for_each(void (*test)(void))
{
	static const struct transport *const rows[] = {&transport_rc, &transport_mrc, &stopwait};

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		w = laws_begin(rows[i], 1, SEED, 1);
		test();
		laws_end(w);
	}
}

static void post(uint32_t n, uint32_t len)
{
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(laws_post(w, 0, 0, ENGINE_WRITE, len), 0);
}

/* Of three writes the first is half out: it stays, and the others are not reported before it. */
static void out(void)
{
	uint8_t before[1024];

	post(3, 3 * ROW_PMTU);
	memcpy(before, w->end[1].area[ROW_TARGET] + 1024, sizeof before);
	assert_int_equal(laws_pull(w, 0, &wide, 1), 1);
	assert_int_equal(cancel(false, 0), -EBUSY);
	assert_int_equal(cancel(false, 3), -ENOENT);
	if (!takes_sends_back()) {
		assert_int_equal(cancel(false, 1), -EBUSY);
		return;
	}
	assert_int_equal(cancel(false, 1), 0);
	assert_int_equal(cancel(false, 1), -ENOENT);
	expect_none();
	finish();
	expect(ENGINE_DONE_SENT, 0, ENGINE_OK);
	expect(ENGINE_DONE_SENT, 1, ENGINE_CANCELLED);
	expect(ENGINE_DONE_SENT, 2, ENGINE_OK);
	assert_int_equal(cancel(false, 2), -ENOENT);
	assert_memory_equal(w->end[1].area[ROW_TARGET] + 1024, before, sizeof before);
	assert_memory_equal(w->end[1].area[ROW_TARGET] + 2048, w->end[0].area[ROW_SOURCE] + 2048,
			    3 * ROW_PMTU);
}

static void what_is_out_stays(void **state)
{
	(void)state;
	for_each(out);
}

/* With nothing before it, it ends at once, also in silence, and leaves nothing to be sent. */
static void first(void)
{
	if (!takes_sends_back())
		return;
	w->flags = ENGINE_SILENT;
	post(2, 100);
	assert_int_equal(cancel(false, 1), 0);
	expect_none();
	assert_int_equal(cancel(false, 0), 0);
	expect(ENGINE_DONE_SENT, 0, ENGINE_CANCELLED);
	expect(ENGINE_DONE_SENT, 1, ENGINE_CANCELLED);
	laws_pull(w, 0, &wide, LAWS_BATCH);
	assert_int_equal(w->n_flights, 0);
	assert_true(laws_deadline(w, 0, LAWS_ALL) == NSEC_NEVER);
	w->flags = 0;
	post(ROW_SENDS, 100);
	finish();
	for (uint32_t i = 0; i < ROW_SENDS; i++)
		expect(ENGINE_DONE_SENT, 2 + i, ENGINE_OK);
}

static void the_first_ends_at_once(void **state)
{
	(void)state;
	for_each(first);
}

/* A place in the middle is kept for its turn, and is free then. */
static void receives(void)
{
	uint8_t code = row_takes(&w->end[0], ENGINE_SEND) ? ENGINE_SEND : ENGINE_WRITE_IMM;

	for (uint32_t i = 0; i < ROW_RECVS; i++)
		assert_int_equal(laws_post_recv(w, 0, 0), 0);
	assert_int_equal(cancel(true, 1), 0);
	expect_none();
	assert_int_equal(laws_post_recv(w, 0, 0), -ENOMEM);
	assert_int_equal(cancel(true, 0), 0);
	expect(ENGINE_DONE_RECEIVED, 0, ENGINE_CANCELLED);
	expect(ENGINE_DONE_RECEIVED, 1, ENGINE_CANCELLED);
	assert_int_equal(cancel(true, 0), -ENOENT);
	assert_int_equal(laws_post_recv(w, 0, 0), 0);
	assert_int_equal(cancel(true, 3), 0);
	w->pair[0][0].due += 2;
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(laws_post(w, 1, 0, code, 3 * ROW_PMTU), 0);
	finish();
	expect(ENGINE_DONE_RECEIVED, 2, ENGINE_OK);
	expect(ENGINE_DONE_RECEIVED, 3, ENGINE_CANCELLED);
	expect(ENGINE_DONE_RECEIVED, 4, ENGINE_OK);
	expect_none();
}

static void receives_end_in_their_turn(void **state)
{
	(void)state;
	for_each(receives);
}

/* A message has begun to use the first of two receives. */
static void in_use(void)
{
	if (!row_takes(&w->end[0], ENGINE_SEND))
		return;
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(laws_post_recv(w, 0, 0), 0);
	w->pair[0][0].due++;
	assert_int_equal(laws_post(w, 1, 0, ENGINE_SEND, 3 * ROW_PMTU), 0);
	assert_int_equal(laws_pull(w, 1, &wide, 1), 1);
	laws_deliver(w);
	assert_int_equal(cancel(true, 0), -EBUSY);
	assert_int_equal(cancel(true, 1), 0);
	expect_none();
	finish();
	expect(ENGINE_DONE_RECEIVED, 0, ENGINE_OK);
	expect(ENGINE_DONE_RECEIVED, 1, ENGINE_CANCELLED);
	/* Nothing uses the next any more. */
	assert_int_equal(laws_post_recv(w, 0, 0), 0);
	assert_int_equal(cancel(true, 2), 0);
	expect(ENGINE_DONE_RECEIVED, 2, ENGINE_CANCELLED);
}

static void a_receive_in_use_stays(void **state)
{
	(void)state;
	for_each(in_use);
}

/* Immediate data came ahead of a write that was lost: it needs one of the receives there are. */
static void ahead(void)
{
	if (!transport_has(w->end[0].row, TRANSPORT_AHEAD))
		return;
	assert_int_equal(laws_post_recv(w, 0, 0), 0);
	w->pair[0][0].due++;
	assert_int_equal(laws_post(w, 1, 0, ENGINE_WRITE, 100), 0);
	assert_int_equal(laws_pull(w, 1, &wide, 1), 1);
	w->n_flights = 0;
	assert_int_equal(laws_post(w, 1, 0, ENGINE_WRITE_IMM, 100), 0);
	assert_int_equal(laws_pull(w, 1, &wide, 1), 1);
	laws_deliver(w);
	assert_int_equal(cancel(true, 0), -EBUSY);
	assert_int_equal(laws_post_recv(w, 0, 0), 0);
	assert_int_equal(cancel(true, 0), 0);
	assert_int_equal(cancel(true, 1), -EBUSY);
	finish();
	expect(ENGINE_DONE_RECEIVED, 0, ENGINE_CANCELLED);
	expect(ENGINE_DONE_RECEIVED, 1, ENGINE_OK);
}

static void what_came_ahead_keeps_a_receive(void **state)
{
	(void)state;
	for_each(ahead);
}

/* What was taken back is not flushed: it was no more when the queue pair failed. */
static void failed(void)
{
	const struct row_end *s = &w->end[0];

	post(3, 100);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(laws_post_recv(w, 0, 0), 0);
	assert_int_equal(cancel(true, 1), 0);
	if (takes_sends_back())
		assert_int_equal(cancel(false, 1), 0);
	assert_int_equal(s->row->pairs->stop(s->e, w->now, row_number(s, 0), ENGINE_ERROR), 0);
	w->pair[0][0].due = 3;
	for (uint32_t i = 0; i < 3; i++)
		expect(ENGINE_DONE_SENT, i,
		       i == 1 && takes_sends_back() ? ENGINE_CANCELLED : ENGINE_FLUSHED);
	for (uint32_t i = 0; i < 3; i++)
		expect(ENGINE_DONE_RECEIVED, i, i == 1 ? ENGINE_CANCELLED : ENGINE_FLUSHED);
	expect_none();
	assert_int_equal(cancel(true, 2), -ENOENT);
}

static void a_failure_flushes_the_rest(void **state)
{
	(void)state;
	for_each(failed);
}

static void nobodys(void)
{
	struct row_end *s = &w->end[0];
	struct op op = {.qp = row_number(s, 1)};

	assert_int_equal(s->ops->cancel(s->e, w->now, &op), -ENOENT);
	op.code = ENGINE_RECV;
	assert_int_equal(s->ops->cancel(s->e, w->now, &op), -ENOENT);
}

static void there_is_no_such_queue(void **state)
{
	(void)state;
	for_each(nobodys);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(what_is_out_stays),
	cmocka_unit_test(the_first_ends_at_once),
	cmocka_unit_test(receives_end_in_their_turn),
	cmocka_unit_test(a_receive_in_use_stays),
	cmocka_unit_test(what_came_ahead_keeps_a_receive),
	cmocka_unit_test(a_failure_flushes_the_rest),
	cmocka_unit_test(there_is_no_such_queue),
};

CHECK_MAIN(cases)
