/* nic/nic.h: many threads on one queue pair, and on one completion queue. */
#include "nic_stage.h"

#include "nic/inside.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 8, WORKS = 500, PAIRS = 3, TAKERS = 3, TURNS = 300 };

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

/* Queue pairs that share one completion queue, one for each thread that posts, and threads that
 * take what is complete. */
struct shared {
	struct end e[2];
	struct nic_qp *qp[PAIRS], *peer[PAIRS];
	atomic_uint n_posted, n_taken, n_slept;
	uint32_t n_works; /* of each queue pair */
	bool is_by_turns; /* the next is posted when all that was posted is taken */
};

static void shared_open(struct shared *s)
{
	struct nic_info info = stage_info("lo");

	stage_pair(s->e, AF_INET);
	for (uint32_t i = 0; i < PAIRS; i++) {
		s->qp[i] = stage_qp(&s->e[0], NULL);
		s->peer[i] = stage_qp(&s->e[1], NULL);
		stage_connect(s->qp[i], s->peer[i], &info, stage_gid(&info, AF_INET));
	}
}

static void shared_close(struct shared *s)
{
	for (uint32_t i = 0; i < PAIRS; i++) {
		assert_int_equal(nic_qp_free(s->qp[i]), 0);
		assert_int_equal(nic_qp_free(s->peer[i]), 0);
	}
	stage_close(&s->e[0]);
	stage_close(&s->e[1]);
}

struct poster {
	struct shared *s;
	uint32_t i;
};

static void *post_all(void *context)
{
	const struct poster *p = context;
	struct shared *s = p->s;
	uint64_t end = stage_now() + STAGE_NS * 4;

	for (uint32_t n = 0; n < s->n_works && stage_now() < end;) {
		struct sge piece = stage_piece(&s->e[0], p->i * 64, 64);
		int r = s->is_by_turns && atomic_load(&s->n_taken) < atomic_load(&s->n_posted)
				? -EAGAIN
				: stage_post(s->qp[p->i], stage_op(&s->e[1], ENGINE_WRITE, &piece));

		if (r)
			sched_yield();
		else
			atomic_fetch_add(&s->n_posted, 1);
		n += !r;
	}
	return NULL;
}

/* Returns whether there was anything. */
static bool take_what_there_is(struct shared *s)
{
	struct done done[4];
	int n = nic_cq_poll(s->e[0].cq, done, 4);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++)
		assert_int_equal(done[i].status, ENGINE_OK);
	atomic_fetch_add(&s->n_taken, (uint32_t)n);
	return n > 0;
}

static void *take_all(void *context)
{
	struct shared *s = context;
	uint64_t end = stage_now() + STAGE_NS * 4;

	while (atomic_load(&s->n_taken) < PAIRS * s->n_works && stage_now() < end)
		if (!take_what_there_is(s))
			sched_yield();
	return NULL;
}

/* Takes an event of the channel; false: none came in time. */
static bool sleep_for_one(struct shared *s, int milliseconds)
{
	struct nic_channel *channel = s->e[0].channel;
	struct pollfd p = {.fd = nic_channel_fd(channel), .events = POLLIN};
	struct nic_cq *cq;
	void *of;

	if (poll(&p, 1, milliseconds) != 1)
		return false;
	assert_int_equal(nic_channel_get(channel, &cq, &of), 0);
	assert_ptr_equal(cq, s->e[0].cq);
	nic_cq_ack(cq, 1);
	atomic_fetch_add(&s->n_slept, 1);
	return true;
}

/* As programs do that sleep: arms the queue, takes what came before, and sleeps. */
static void *arm_and_take(void *context)
{
	struct shared *s = context;

	while (atomic_load(&s->n_taken) < PAIRS * s->n_works) {
		assert_int_equal(nic_cq_arm(s->e[0].cq, false), 0);
		while (take_what_there_is(s))
			continue;
		bool is_over = atomic_load(&s->n_taken) == PAIRS * s->n_works;

		if (!is_over && !sleep_for_one(s, STAGE_NS / 1000000))
			break;
	}
	return NULL;
}

static void run_shared(struct shared *s, uint32_t n_takers)
{
	pthread_t posters[PAIRS], takers[TAKERS], sleeper;
	struct poster p[PAIRS];

	shared_open(s);
	for (uint32_t i = 0; i < PAIRS; i++) {
		p[i] = (struct poster){s, i};
		assert_int_equal(pthread_create(&posters[i], NULL, post_all, &p[i]), 0);
	}
	for (uint32_t i = 0; i < n_takers; i++)
		assert_int_equal(pthread_create(&takers[i], NULL, take_all, s), 0);
	assert_int_equal(pthread_create(&sleeper, NULL, arm_and_take, s), 0);
	for (uint32_t i = 0; i < PAIRS; i++)
		pthread_join(posters[i], NULL);
	for (uint32_t i = 0; i < n_takers; i++)
		pthread_join(takers[i], NULL);
	pthread_join(sleeper, NULL);
	assert_int_equal(atomic_load(&s->n_taken), PAIRS * s->n_works);
	shared_close(s);
}

static void takers_share_a_queue_with_posters(void **state)
{
	static struct shared s = {.n_works = WORKS};

	(void)state;
	run_shared(&s, TAKERS);
}

/* Nobody but the sleeper takes: what is pushed as it arms the queue must wake it. */
static void no_wakeup_is_lost(void **state)
{
	static struct shared s = {.n_works = TURNS, .is_by_turns = true};

	(void)state;
	run_shared(&s, 0);
	assert_true(atomic_load(&s.n_slept) > 0);
}

static void *take_one_and_its_event(void *context)
{
	struct shared *s = context;

	take_what_there_is(s);
	sleep_for_one(s, 0);
	return NULL;
}

/* Somebody who sends and receives for long keeps nobody from what is complete already. */
static void entries_are_taken_while_others_work(void **state)
{
	static struct shared s;
	uint64_t end = stage_now() + STAGE_NS;
	pthread_t taker;

	(void)state;
	shared_open(&s);
	struct sge piece = stage_piece(&s.e[0], 0, 64);
	struct device *d = s.e[0].user->device;

	assert_int_equal(nic_cq_arm(s.e[0].cq, false), 0);
	assert_int_equal(stage_post(s.qp[0], stage_op(&s.e[1], ENGINE_WRITE, &piece)), 0);
	while (!cq_count(s.e[0].cq) && stage_now() < end)
		assert_int_equal(nic_progress(s.e[0].user), 0);
	device_enter(d);
	assert_int_equal(pthread_create(&taker, NULL, take_one_and_its_event, &s), 0);
	while (!atomic_load(&s.n_slept) && stage_now() < end)
		sched_yield();
	uint32_t n_taken = atomic_load(&s.n_taken), n_slept = atomic_load(&s.n_slept);

	device_leave(d);
	pthread_join(taker, NULL);
	assert_int_equal(n_taken, 1);
	assert_int_equal(n_slept, 1);
	shared_close(&s);
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
	cmocka_unit_test(takers_share_a_queue_with_posters),
	cmocka_unit_test(no_wakeup_is_lost),
	cmocka_unit_test(entries_are_taken_while_others_work),
	cmocka_unit_test(four_threads_make_and_end),
};
ISOLATED_MAIN(cases)
