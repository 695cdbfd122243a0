/* Work of RC that is taken back: what was posted behind it goes as if it had never been. */
#include "laws.h"

#include <errno.h>

#include "rc/rc.h"

#define SEED 5u

static const struct engine_room wide = {.pkts = {8, 8}, .may = UINT32_MAX};

static struct laws_world *w;

static int begin(void **state)
{
	(void)state;
	w = laws_begin(&transport_rc, 1, SEED, 1);
	return 0;
}

static int end(void **state)
{
	(void)state;
	laws_end(w);
	return 0;
}

static void post(uint8_t code)
{
	assert_int_equal(laws_post(w, 0, 0, code, 100), 0);
}

static void post_send(void)
{
	w->pair[1][0].due++;
	post(ENGINE_SEND);
}

static void cancel(uint64_t cookie)
{
	assert_int_equal(laws_cancel(w, 0, 0, false, cookie), 0);
}

/* All that was posted is done, but what was taken back, in that order. */
static void expect_all(uint64_t taken_back)
{
	const struct laws_pair *p = &w->pair[0][0];
	uint32_t turns = 0;
	struct done done;

	while (laws_step(w))
		assert_in_range(++turns, 0, LAWS_TURNS);
	while (laws_poll(w, 0, &done))
		assert_int_equal(done.status,
				 taken_back >> done.cookie & 1 ? ENGINE_CANCELLED : ENGINE_OK);
	assert_int_equal(p->done, p->posted);
}

/* What a fence kept back keeps back what is behind it; both may go without it. */
static void what_is_behind_goes_at_once(void **state)
{
	(void)state;
	post(ENGINE_READ);
	w->flags = ENGINE_FENCE;
	post(ENGINE_WRITE);
	w->flags = 0;
	post(ENGINE_WRITE);
	assert_int_equal(laws_pull(w, 0, &wide, 8), 1);
	assert_int_equal(laws_pull(w, 0, &wide, 8), 0);
	cancel(1);
	assert_int_equal(laws_pull(w, 0, &wide, 8), 1);
	expect_all(1 << 1);
}

/* An acknowledgement that covers what was before a read and behind it: no answer is owed for that.
 */
static void nobody_answers_a_read_that_was_taken_back(void **state)
{
	(void)state;
	post(ENGINE_WRITE);
	post(ENGINE_READ);
	post(ENGINE_WRITE);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(laws_pull(w, 0, &wide, 1), 1);
		laws_deliver(w);
		if (i == 0)
			cancel(1);
	}
	for (uint32_t i = 0; i < RC_RD_ATOMIC_MAX && i < ROW_SENDS - 3; i++)
		post(ENGINE_READ);
	assert_int_equal(laws_pull(w, 1, &wide, 8), 1);
	laws_deliver(w);
	assert_int_equal(laws_pull(w, 0, &wide, 8), ROW_SENDS - 3);
	expect_all(1 << 1);
}

/* The peer has two receives left: the two messages that come now have them, whatever was to come
 * before. */
static void credits_are_for_what_is_left(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(laws_post_recv(w, 1, 0), 0);
	post_send();
	for (uint32_t i = 0; i < 3; i++)
		laws_step(w);
	assert_int_equal(w->n_flights, 0);
	for (uint32_t i = 0; i < 4; i++)
		post_send();
	cancel(1);
	cancel(2);
	assert_int_equal(laws_pull(w, 0, &wide, 8), 2);
	expect_all(1 << 1 | 1 << 2);
}

/* Those that were sent, and are to be sent again, have happened. */
static void what_was_sent_once_stays(void **state)
{
	(void)state;
	w->lose = 1000;
	post(ENGINE_WRITE);
	post(ENGINE_WRITE);
	post(ENGINE_WRITE);
	assert_int_equal(laws_pull(w, 0, &wide, 2), 2);
	w->now = laws_deadline(w, 0, 0);
	laws_pull(w, 0, &(struct engine_room){0}, 0);
	for (uint32_t cookie = 0; cookie < 2; cookie++)
		assert_int_equal(laws_cancel(w, 0, 0, false, cookie), -EBUSY);
	cancel(2);
	w->lose = 0;
	expect_all(1 << 2);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

static const struct CMUnitTest cases[] = {
	CASE(what_is_behind_goes_at_once),
	CASE(nobody_answers_a_read_that_was_taken_back),
	CASE(credits_are_for_what_is_left),
	CASE(what_was_sent_once_stays),
};

CHECK_MAIN(cases)
