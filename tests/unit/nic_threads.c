/* nic/nic.h: many threads on one queue pair and one completion queue. */
#include "nic_stage.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 8, WORKS = 500 };

struct crowd {
	struct end *end;
	uint32_t thread;
	atomic_uint *n_done;
	atomic_uint *seen; /* a count for each work of each thread */
};

static void take_some(struct crowd *c)
{
	struct done done[8];
	int n = nic_cq_poll(c->end[0].cq, done, 8);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		assert_int_equal(done[i].status, ENGINE_OK);
		assert_true(done[i].cookie < THREADS * WORKS);
		atomic_fetch_add(&c->seen[done[i].cookie], 1);
		atomic_fetch_add(c->n_done, 1);
	}
	if (n == 0)
		sched_yield();
}

/* Each thread writes its own numbers to its own places, and takes whatever is complete. */
static void *post_and_take(void *context)
{
	struct crowd *c = context;
	uint64_t end = stage_now() + STAGE_NS * 4;

	for (uint32_t i = 0; i < WORKS && stage_now() < end;) {
		uint32_t at = (c->thread * WORKS + i) * 4;
		struct sge piece = stage_piece(&c->end[0], at, 4);
		struct op op = stage_op(&c->end[1], ENGINE_WRITE, &piece);
		int r;

		memcpy(c->end[0].bytes + at, &at, 4);
		op.remote += at;
		op.cookie = c->thread * WORKS + i;
		r = stage_post(c->end[0].qp, op);
		if (r == 0)
			i++;
		else
			assert_int_equal(r, -ENOMEM);
		take_some(c);
	}
	while (atomic_load(c->n_done) < THREADS * WORKS && stage_now() < end)
		take_some(c);
	return NULL;
}

static void eight_threads_on_one_pair(void **state)
{
	static atomic_uint seen[THREADS * WORKS], n_done;
	struct crowd crowds[THREADS];
	pthread_t threads[THREADS];
	struct end e[2];

	(void)state;
	stage_pair(e, AF_INET);
	memset(e[1].bytes, 0xff, STAGE_BYTES);
	for (uint32_t i = 0; i < THREADS; i++) {
		crowds[i] = (struct crowd){e, i, &n_done, seen};
		assert_int_equal(pthread_create(&threads[i], NULL, post_and_take, &crowds[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&n_done), THREADS * WORKS);
	for (uint32_t i = 0; i < THREADS * WORKS; i++) {
		uint32_t got;

		assert_int_equal(atomic_load(&seen[i]), 1);
		memcpy(&got, e[1].bytes + (size_t)i * 4, 4);
		assert_int_equal(got, i * 4);
	}
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* Everything made and ended by several threads at once, on one device. */
static void *make_and_end(void *context)
{
	struct nic_info info = stage_info("lo");
	struct end e[2];

	(void)context;
	for (uint32_t i = 0; i < 10; i++) {
		stage_open(&e[0], &info, NULL);
		stage_open(&e[1], &info, NULL);
		stage_connect(e[0].qp, e[1].qp, &info, 0);
		struct sge piece = stage_piece(&e[0], 0, 5000);

		stage_fill(e[0].bytes, 5000, i);
		assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)), 0);
		assert_int_equal(stage_one(e[0].cq).status, ENGINE_OK);
		assert_memory_equal(e[0].bytes, e[1].bytes, 5000);
		stage_close(&e[0]);
		stage_close(&e[1]);
	}
	return NULL;
}

static void four_threads_make_and_end(void **state)
{
	pthread_t threads[4];

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_and_end, NULL), 0);
	for (uint32_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(eight_threads_on_one_pair),
	cmocka_unit_test(four_threads_make_and_end),
};
ISOLATED_MAIN(cases)
