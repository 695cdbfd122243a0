/* The locks of a device's shards, and when their threads have to be awake. */
#include "nic/inside.h"

#include <time.h>
#include <unistd.h>

nsec device_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (nsec)t.tv_sec * 1000000000u + (nsec)t.tv_nsec;
}

void short_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

void shard_enter(struct shard *s)
{
	if (!pthread_mutex_trylock(&s->lock))
		return;
	atomic_fetch_add_explicit(&s->n_waiting, 1, memory_order_relaxed);
	pthread_mutex_lock(&s->lock);
	atomic_fetch_sub_explicit(&s->n_waiting, 1, memory_order_relaxed);
}

void shard_kick(struct shard *s)
{
	const uint64_t one = 1;

	/* Fails only when full of kicks, and then it is readable. */
	if (write(s->kick_fd, &one, sizeof one) < 0)
		return;
}

nsec shard_deadline(const struct shard *s)
{
	const struct engine *e = s->engine;

	if (s->backlog.n)
		return s->retry_at;
	nsec at = e->ops->deadline(e, engine_may_all(s->free_ports));

	if (!s->full_ports || at <= s->retry_at)
		return at;
	nsec full = e->ops->deadline(e, engine_may_all(s->free_ports | s->full_ports));

	if (full < s->retry_at)
		full = s->retry_at;
	return at < full ? at : full;
}

/* Whether the shard's thread would wake too late; it is then to be kicked. */
static bool take_lateness(struct shard *s)
{
	bool is_late = s->wake_at && (s->is_behind || shard_deadline(s) < s->wake_at);

	if (is_late)
		s->wake_at = 0;
	return is_late;
}

void shard_leave(struct shard *s)
{
	bool is_late = take_lateness(s);

	pthread_mutex_unlock(&s->lock);
	if (is_late)
		shard_kick(s);
}

void shard_wait(struct shard *s, nsec until)
{
	const struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};

	if (take_lateness(s))
		shard_kick(s);
	pthread_cond_timedwait(&s->answered, &s->lock, &at);
}

void device_enter(struct device *d)
{
	for (uint32_t i = 0; i < NIC_SHARDS; i++)
		shard_enter(device_shard(d, i));
}

void device_leave(struct device *d)
{
	for (uint32_t i = NIC_SHARDS; i > 0; i--)
		shard_leave(device_shard(d, i - 1));
}

void device_kick(struct device *d)
{
	for (uint32_t i = 0; i < NIC_SHARDS; i++)
		shard_kick(device_shard(d, i));
}

void device_changed(struct device *d)
{
	d->n_changes++;
	/* The thread of the first, which shows it, may sleep for long. */
	device_shard(d, 0)->is_behind = true;
}
