#include "nic/inside.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* So many polls in vain, and the processor is offered to others: on a machine with few of them the
 * peer, or our own thread, may be who waits for it. */
#define POLLS_IN_VAIN 64u

static int check_cqe(uint32_t cqe)
{
	if (cqe >= 1 && cqe <= NIC_MAX_CQE)
		return 0;
	return nic_fail(EINVAL, "a completion queue of %u entries: 1 to %u are possible", cqe,
			NIC_MAX_CQE);
}

static int cq_join(struct nic_cq *cq)
{
	struct device *d = cq->user->device;

	if (d->n_cqs == NIC_MAX_CQS)
		return nic_fail(ENOSPC, "%u completion queues are in use: no more", NIC_MAX_CQS);
	d->n_cqs++;
	cq->user->n_objects++;
	if (cq->channel)
		cq->channel->n_cqs++;
	return 0;
}

struct nic_cq *cq_new(struct nic_user *u, uint32_t cqe, struct nic_channel *channel, void *context,
		      struct event_ring *events)
{
	int r = device_check(u->device);

	if (!r)
		r = check_cqe(cqe);
	if (!r && channel && channel->user != u)
		r = nic_fail(EINVAL, "the completion channel belongs to another user");
	struct nic_cq *cq = r ? NULL : calloc(1, sizeof *cq);
	struct done *ring = cq && !events ? calloc(cqe, sizeof *ring) : NULL;

	if (!cq || (!ring && !events)) {
		free(cq);
		errno = r ? -r : ENOMEM;
		return NULL;
	}
	cq->user = u;
	cq->channel = channel;
	cq->source.object = cq;
	cq->source.context = context;
	cq->ring = ring;
	cq->events = events;
	cq->cqe = cqe;
	short_lock_init(&cq->lock);
	device_enter(u->device);
	r = cq_join(cq);
	device_leave(u->device);
	if (!r)
		return cq;
	pthread_mutex_destroy(&cq->lock);
	free(ring);
	free(cq);
	errno = -r;
	return NULL;
}

struct nic_cq *nic_cq_new(struct nic_user *u, uint32_t cqe, struct nic_channel *channel,
			  void *context)
{
	return cq_new(u, cqe, channel, context, NULL);
}

static int not_of_completions(void)
{
	return nic_fail(EINVAL, "a queue of events has no completions");
}

int nic_cq_resize(struct nic_cq *cq, uint32_t cqe)
{
	struct device *d = cq->user->device;
	int r = device_check(d);

	if (!r)
		r = check_cqe(cqe);
	if (!r && cq->events)
		r = not_of_completions();
	if (r)
		return r;
	struct done *ring = calloc(cqe, sizeof *ring), *old = ring;

	if (!ring)
		return nic_fail(ENOMEM, "no memory for %u completions", cqe);
	pthread_mutex_lock(&cq->lock);
	uint32_t count = cq_count(cq);

	if (count > cqe) {
		r = nic_fail(EINVAL, "%u completions are waiting: they do not fit %u", count, cqe);
	} else {
		for (uint32_t i = 0; i < count; i++)
			ring[i] = cq->ring[cq_place(cq, i)];
		old = cq->ring;
		cq->ring = ring;
		cq->head = 0;
		cq->cqe = cqe;
	}
	pthread_mutex_unlock(&cq->lock);
	free(old);
	return r;
}

uint32_t nic_cq_cqe(struct nic_cq *cq)
{
	if (device_check(cq->user->device))
		return 0;
	pthread_mutex_lock(&cq->lock);
	uint32_t cqe = cq->cqe;

	pthread_mutex_unlock(&cq->lock);
	return cqe;
}

/* Without queue pairs, nobody adds to it; and armed it is no more. */
static int quiesce(struct nic_cq *cq)
{
	struct device *d = cq->user->device;
	int r = 0;

	device_enter(d);
	if (cq->n_users)
		r = nic_fail(EBUSY, "the completion queue is in use by queue pairs");
	device_leave(d);
	if (r)
		return r;
	pthread_mutex_lock(&cq->lock);
	cq_disarm(cq);
	pthread_mutex_unlock(&cq->lock);
	return 0;
}

int nic_cq_free(struct nic_cq *cq)
{
	struct nic_user *u = cq->user;
	struct device *d = u->device;
	int r = device_check(d);

	if (!r)
		r = quiesce(cq);
	if (r)
		return r;
	channel_end(cq);
	source_end(u, &cq->source);
	device_enter(d);
	if (cq->events)
		event_ring_free(d, cq->events);
	if (cq->channel)
		cq->channel->n_cqs--;
	u->n_objects--;
	d->n_cqs--;
	device_leave(d);
	pthread_mutex_destroy(&cq->lock);
	free(cq->ring);
	free(cq);
	return 0;
}

/* is_vain: once more nothing was there, after many times. */
static int cq_take(struct nic_cq *cq, struct done *done, uint32_t n, bool *is_vain)
{
	pthread_mutex_lock(&cq->lock);
	uint32_t count = cq_count(cq);
	bool is_overrun = cq->is_overrun;

	if (is_overrun)
		n = 0;
	else if (n > count)
		n = count;
	for (uint32_t i = 0; i < n; i++)
		done[i] = cq->ring[cq_place(cq, i)];
	cq->head = cq_place(cq, n);
	cq_set_count(cq, count - n);
	*is_vain = !is_overrun && n == 0 && ++cq->n_vain % POLLS_IN_VAIN == 0;
	pthread_mutex_unlock(&cq->lock);
	return is_overrun ? -EOVERFLOW : (int)n;
}

/* A round of work on all shards, as any may have what comes next; with a queue, as long as it is
 * empty. Waiting for a lock is better than looking again: whoever has it may be waiting for our
 * processor, and a scheduler that is fair to threads that spin lets it wait for long. */
static void make_progress(struct device *d, const struct nic_cq *cq)
{
	for (uint32_t i = 0; i < NIC_SHARDS; i++) {
		struct shard *s = device_shard(d, i);

		shard_enter(s);
		if (!cq || !cq_count(cq))
			shard_poll(s);
		shard_leave(s);
	}
}

/* Whoever found it has told of it when this returns. */
static int overrun(struct device *d)
{
	device_enter(d);
	device_leave(d);
	return nic_fail(EOVERFLOW, "the completion queue has overrun");
}

int nic_cq_poll(struct nic_cq *cq, struct done *done, int n)
{
	struct device *d = cq->user->device;
	bool is_vain;
	int r = device_check(d);

	if (!r && cq->events)
		r = not_of_completions();
	if (r || n <= 0)
		return r;
	if (!cq_count(cq))
		make_progress(d, cq);
	r = cq_take(cq, done, (uint32_t)n, &is_vain);
	if (is_vain)
		sched_yield();
	return r < 0 ? overrun(d) : r;
}

int nic_progress(struct nic_user *u)
{
	int r = device_check(u->device);

	if (r)
		return r;
	make_progress(u->device, NULL);
	if ((atomic_fetch_add_explicit(&u->n_polls, 1, memory_order_relaxed) + 1) % POLLS_IN_VAIN ==
	    0)
		sched_yield();
	return 0;
}

/* The application is about to sleep: the thread takes over. */
static void take_over(struct shard *s)
{
	shard_enter(s);
	s->armed_at = device_now();
	bool is_kick = s->is_back;

	s->is_back = false;
	shard_leave(s);
	if (is_kick)
		shard_kick(s);
}

/* It counts as armed before any thread is asked whether it stands back, so none does later. */
int nic_cq_arm(struct nic_cq *cq, bool is_solicited_only)
{
	struct device *d = cq->user->device;
	int r = device_check(d);

	if (r || !cq->channel)
		return r;
	pthread_mutex_lock(&cq->lock);
	cq_arm(cq, is_solicited_only);
	pthread_mutex_unlock(&cq->lock);
	for (uint32_t i = 0; i < NIC_SHARDS; i++)
		take_over(device_shard(d, i));
	return 0;
}
