#define _GNU_SOURCE /* CPU_SET */
#include "io_apart.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#define WINDOW 256u /* frames on their way: within the rings of either kind */
#define LOST_S 0.01 /* a frame that did not come by then will not */

struct receiver {
	const struct io_flow *flow;
	_Atomic uint64_t got;
	_Atomic bool is_over;
};

static double clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The last core of the set, or its first. */
static void stay_on(const cpu_set_t *set, bool is_last)
{
	cpu_set_t one;
	int at = -1;

	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, set) && (at < 0 || is_last))
			at = i;
	CPU_ZERO(&one);
	CPU_SET(at, &one);
	pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static void *receive(void *arg)
{
	struct receiver *r = arg;

	while (!r->is_over)
		r->got += r->flow->receive(r->flow->of);
	return NULL;
}

/* Sends while less than a window is out, and takes what is overdue for lost. Frames that arrived in
 * a second. */
static double send_for(struct receiver *r, double seconds)
{
	const struct io_flow *flow = r->flow;
	uint64_t begun_with = r->got, sent = begun_with, before = begun_with;
	double begin = clock_now(), now = begin, moved_at = begin;

	while (now < begin + seconds) {
		uint64_t got = r->got;

		if (got != before)
			moved_at = now;
		if (now > moved_at + LOST_S || got > sent)
			sent = got;
		if (sent - got <= WINDOW - IO_BURST)
			sent += flow->send(flow->of, IO_BURST);
		flow->tend(flow->of);
		before = got;
		now = clock_now();
	}
	return (double)(r->got - begun_with) / (now - begin);
}

bool io_can_be_apart(void)
{
	cpu_set_t ours;

	return pthread_getaffinity_np(pthread_self(), sizeof ours, &ours) == 0 &&
	       CPU_COUNT(&ours) > 1;
}

double io_apart(const struct io_flow *flow, double seconds)
{
	struct receiver r = {.flow = flow};
	cpu_set_t ours;
	pthread_t thread;

	if (pthread_getaffinity_np(pthread_self(), sizeof ours, &ours))
		return 0;
	stay_on(&ours, true);
	/* The thread inherits the core that it is made on. */
	int error = pthread_create(&thread, NULL, receive, &r);

	stay_on(&ours, false);
	double rate = error ? 0 : send_for(&r, seconds);

	r.is_over = true;
	if (!error)
		pthread_join(thread, NULL);
	pthread_setaffinity_np(pthread_self(), sizeof ours, &ours);
	return rate;
}
