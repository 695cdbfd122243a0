/* The device's lock, and when its thread has to be awake. */
#include "nic/inside.h"

#include <time.h>
#include <unistd.h>

nsec device_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (nsec)t.tv_sec * 1000000000u + (nsec)t.tv_nsec;
}

void device_enter(struct device *d)
{
	if (!pthread_mutex_trylock(&d->lock))
		return;
	atomic_fetch_add_explicit(&d->n_waiting, 1, memory_order_relaxed);
	pthread_mutex_lock(&d->lock);
	atomic_fetch_sub_explicit(&d->n_waiting, 1, memory_order_relaxed);
}

void device_kick(struct device *d)
{
	const uint64_t one = 1;

	/* Fails only when full of kicks, and then it is readable. */
	if (write(d->kick_fd, &one, sizeof one) < 0)
		return;
}

nsec device_deadline(const struct device *d)
{
	const struct engine *e = d->engine;

	if (d->backlog.n)
		return d->retry_at;
	nsec at = e->ops->deadline(e, d->free_ports);

	if (!d->full_ports || at <= d->retry_at)
		return at;
	nsec full = e->ops->deadline(e, d->free_ports | d->full_ports);

	if (full < d->retry_at)
		full = d->retry_at;
	return at < full ? at : full;
}

/* Whether the device's thread would wake too late; it is then to be kicked. */
static bool take_lateness(struct device *d)
{
	bool is_late = d->wake_at && (d->is_behind || device_deadline(d) < d->wake_at);

	if (is_late)
		d->wake_at = 0;
	return is_late;
}

void device_leave(struct device *d)
{
	bool is_late = take_lateness(d);

	pthread_mutex_unlock(&d->lock);
	if (is_late)
		device_kick(d);
}

void device_wait(struct device *d, nsec until)
{
	const struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};

	if (take_lateness(d))
		device_kick(d);
	pthread_cond_timedwait(&d->answered, &d->lock, &at);
}

void device_changed(struct device *d)
{
	d->n_changes++;
	/* The thread, which shows it, may sleep for long. */
	d->is_behind = true;
}
