/* engine/work.h: work from post until poll, in random order, against what was counted. */
#include <errno.h>

#include "base/prng.h"
#include "check.h"
#include "engine/done.h"
#include "engine/ladder.h"
#include "engine/work.h"

#define MAX   11u /* not a power of two: its places are */
#define OPS   200000u
#define EXTRA 7u

struct job {
	struct engine_work wr;
	uint8_t more[EXTRA];
};

#define STRIDE (sizeof(struct job) + 8)

struct world {
	struct engine_ring ring;
	struct list done;
	struct prng rng;
	uint64_t posted, told; /* cookies */
	_Alignas(max_align_t) uint8_t memory[16 * STRIDE];
};

static void start(struct world *w)
{
	*w = (struct world){0};
	assert_int_equal(engine_ring_bytes(MAX, STRIDE), sizeof w->memory);
	engine_ring_init(&w->ring, w->memory, MAX, STRIDE);
}

static struct engine_work *post(struct world *w, uint8_t flags)
{
	struct op op = {.cookie = w->posted++, .flags = flags};

	return engine_ring_post(&w->ring, &op, w, 0);
}

static void end(struct world *w, enum engine_status status)
{
	engine_done_end(&w->done, &w->ring, status);
}

/* Takes one back that is not done, whichever it is; false: it was already. */
static bool cancel_one(struct world *w)
{
	struct engine_ring *r = &w->ring;
	uint64_t at = r->done + prng_below(&w->rng, r->posted - r->done), found;
	uint64_t cookie = ((struct engine_work *)engine_ring_at(r, at))->cookie;

	if (engine_ring_find(r, r->done, cookie, &found))
		return false;
	assert_int_equal(found, at);
	engine_done_cancel(&w->done, r, at);
	return true;
}

/* Polls one; false: there is none. */
static bool poll_one(struct world *w, struct done *done)
{
	struct engine_work *wr = engine_done_pop(&w->done, done);

	if (!wr)
		return false;
	assert_true(done->cookie >= w->told);
	w->told = done->cookie + 1;
	engine_ring_release(&w->ring, wr);
	return true;
}

static void check_counts(const struct world *w)
{
	const struct engine_ring *r = &w->ring;

	uint32_t n = 0;

	assert_true(r->freed <= r->done && r->done <= r->current && r->current <= r->posted);
	for (uint64_t i = r->done; i < r->posted; i++)
		n += ((struct engine_work *)engine_ring_at(r, i))->status == ENGINE_CANCELLED;
	assert_int_equal(r->cancelled, n);
	assert_false(engine_ring_is_cancelled(r));
	assert_int_equal(engine_ring_room(r), MAX - (r->posted - r->freed));
	/* Nothing keeps a place but what is not done, or not polled, and what stands behind it. */
	if (list_is_empty(&w->done))
		assert_int_equal(r->freed, r->done);
}

static void each_is_told_once_and_its_place_is_free(void **state)
{
	struct world w;
	struct done done;
	uint64_t loud = 0, told = 0, back = 0;

	(void)state;
	start(&w);
	prng_init(&w.rng, check_seed(2), 0);
	for (uint32_t op = 0; op < OPS; op++) {
		uint32_t kind = (uint32_t)prng_below(&w.rng, 9) / 2;
		bool is_silent = prng_below(&w.rng, 2);

		if (kind <= 1 && engine_ring_room(&w.ring) > 0) {
			assert_non_null(post(&w, is_silent ? ENGINE_SILENT : 0));
		} else if (kind == 2 && w.ring.done < w.ring.posted) {
			const struct engine_work *wr = engine_ring_at(&w.ring, w.ring.done);
			bool is_ok = prng_below(&w.rng, 8) > 0;

			loud += !is_ok || !(wr->flags & ENGINE_SILENT);
			end(&w, is_ok ? ENGINE_OK : ENGINE_FLUSHED);
		} else if (kind == 3) {
			told += poll_one(&w, &done);
		} else if (kind == 4 && w.ring.done < w.ring.posted) {
			back += cancel_one(&w);
		}
		check_counts(&w);
	}
	while (w.ring.done < w.ring.posted) {
		end(&w, ENGINE_FATAL);
		loud++;
	}
	while (poll_one(&w, &done))
		told++;
	assert_int_equal(told, loud + back);
	assert_true(back > OPS / 64);
	assert_int_equal(told + w.ring.silent, w.ring.done);
	assert_true(told > OPS / 16);
}

static void a_silent_place_waits_for_those_before_it(void **state)
{
	struct world w;
	struct done done;

	(void)state;
	start(&w);
	post(&w, 0);
	post(&w, ENGINE_SILENT);
	post(&w, ENGINE_SILENT);
	for (int i = 0; i < 3; i++)
		end(&w, ENGINE_OK);
	assert_int_equal(engine_ring_room(&w.ring), MAX - 3);
	assert_true(poll_one(&w, &done));
	assert_int_equal(engine_ring_room(&w.ring), MAX);
	assert_false(poll_one(&w, &done));
}

static void silence_is_of_successes(void **state)
{
	struct world w;
	struct done done;

	(void)state;
	start(&w);
	post(&w, ENGINE_SILENT);
	end(&w, ENGINE_RETRY_EXCEEDED);
	assert_true(poll_one(&w, &done));
	assert_int_equal(done.status, ENGINE_RETRY_EXCEEDED);
	assert_int_equal(w.ring.silent, 0);
	post(&w, ENGINE_SILENT);
	end(&w, ENGINE_OK);
	assert_false(poll_one(&w, &done));
	assert_int_equal(w.ring.silent, 1);
	engine_ring_clear(&w.ring);
	assert_int_equal(w.ring.silent, 0);
}

static void what_ended_is_not_current(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	post(&w, 0);
	post(&w, 0);
	end(&w, ENGINE_OK);
	assert_int_equal(w.ring.current, 1);
	w.ring.current = 2;
	end(&w, ENGINE_OK);
	assert_int_equal(w.ring.current, 2);
	engine_ring_clear(&w.ring);
	assert_int_equal(w.ring.posted, 0);
	assert_int_equal(engine_ring_room(&w.ring), MAX);
}

/* Two works of one cookie: of the first something has happened. */
static void the_first_that_can_be_is_taken_back(void **state)
{
	struct world w;
	struct done done;
	uint64_t at;

	(void)state;
	start(&w);
	for (int i = 0; i < 2; i++) {
		w.posted = 5;
		post(&w, ENGINE_SILENT);
	}
	assert_int_equal(engine_ring_find(&w.ring, 1, 6, &at), -ENOENT);
	assert_int_equal(engine_ring_find(&w.ring, 2, 5, &at), -EBUSY);
	assert_int_equal(engine_ring_find(&w.ring, 1, 5, &at), 0);
	assert_int_equal(at, 1);
	engine_done_cancel(&w.done, &w.ring, at);
	assert_int_equal(engine_ring_find(&w.ring, 1, 5, &at), -EBUSY);
	assert_false(poll_one(&w, &done));
	/* It is its turn when the other is done, and no failure of that is its own. */
	end(&w, ENGINE_RETRY_EXCEEDED);
	assert_true(poll_one(&w, &done));
	assert_int_equal(done.status, ENGINE_RETRY_EXCEEDED);
	w.told = 0;
	assert_true(poll_one(&w, &done));
	assert_int_equal(done.status, ENGINE_CANCELLED);
	assert_int_equal(w.ring.freed, 2);
	assert_int_equal(engine_ring_find(&w.ring, 1, 5, &at), -ENOENT);
}

static void a_full_ring_takes_no_more(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	for (uint32_t i = 0; i < MAX; i++)
		assert_non_null(post(&w, 0));
	assert_int_equal(engine_ring_room(&w.ring), 0);
	assert_int_equal(w.ring.posted, MAX);
}

static void work_begins_as_it_was_posted(void **state)
{
	struct op op = {
		.cookie = 5, .imm = 6, .code = ENGINE_WRITE_IMM, .flags = UINT8_MAX, .n_sg = 1};
	struct world w;

	(void)state;
	start(&w);
	struct engine_work *wr = engine_ring_post(&w.ring, &op, &op, 77);

	assert_ptr_equal(wr, w.memory);
	assert_ptr_equal(wr->owner, &op);
	assert_int_equal(wr->cookie, 5);
	assert_int_equal(wr->imm, 6);
	assert_int_equal(wr->len, 77);
	assert_int_equal(wr->op, ENGINE_WRITE_IMM);
	assert_int_equal(wr->flags,
			 ENGINE_SILENT | ENGINE_SOLICITED | ENGINE_FENCE | ENGINE_TRUSTED);
	assert_false(wr->is_recv);
	/* What comes for a receive is not known yet, and each is reported. */
	op.code = ENGINE_RECV;
	wr = engine_ring_post(&w.ring, &op, &op, 0);
	assert_true(wr->is_recv);
	assert_int_equal(wr->imm, 0);
	assert_int_equal(wr->flags, ENGINE_TRUSTED);
}

static void what_no_send_queue_takes(void **state)
{
	struct op op = {.key = UINT32_MAX, .imm = UINT32_MAX};

	(void)state;
	for (uint32_t at = ENGINE_RESET; at <= ENGINE_ERROR; at++)
		assert_int_equal(engine_send_check(&op, (uint8_t)at),
				 at < ENGINE_RTS ? -EINVAL : 0);
	op.key++;
	assert_int_equal(engine_send_check(&op, ENGINE_RTS), -EINVAL);
	op = (struct op){.imm = UINT64_C(1) << 32};
	assert_int_equal(engine_send_check(&op, ENGINE_RTS), -EINVAL);
}

static void end_none(void *ring)
{
	engine_ring_end(ring, ENGINE_OK);
}

static void nothing_ends_that_was_not_posted(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	assert_true(check_aborts(end_none, &w.ring));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(each_is_told_once_and_its_place_is_free),
	cmocka_unit_test(a_silent_place_waits_for_those_before_it),
	cmocka_unit_test(silence_is_of_successes),
	cmocka_unit_test(what_ended_is_not_current),
	cmocka_unit_test(the_first_that_can_be_is_taken_back),
	cmocka_unit_test(a_full_ring_takes_no_more),
	cmocka_unit_test(work_begins_as_it_was_posted),
	cmocka_unit_test(what_no_send_queue_takes),
	cmocka_unit_test(nothing_ends_that_was_not_posted),
};

CHECK_MAIN(cases)
