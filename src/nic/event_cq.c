/* Queues of what the processes on a device tell of their paths (control/members.h).
 *
 * Each queue reads for itself: what one takes is there for the others. The device's thread takes
 * events when the files of the processes ring, and so does one who polls. What has no room in a
 * queue is left where its process wrote it, where it is lost only when many more follow, which is
 * counted there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/members.h"
#include "nic/mrc_inside.h"

#define LATE_NS UINT64_C(250000000) /* between two looks where nobody tells of news */

struct event_ring {
	struct event_ring *next; /* of the device */
	struct nic_cq *cq;
	struct members *members;
	bool is_behind; /* there was no room for all */
	bool is_blind;  /* not everybody could be looked at */
	struct control_event at[];
};

int device_event_fd(const struct device *d)
{
	return d->event_store ? store_fd(d->event_store) : -1;
}

/* As many as there are and have room. */
static void fill(struct event_ring *r)
{
	struct nic_cq *cq = r->cq;
	uint32_t before = cq->count, got = 1;

	/* Up to the end of the ring, and then from its start. */
	while (got > 0 && cq->count < cq->cqe) {
		uint32_t at = (cq->head + cq->count) % cq->cqe;
		uint32_t room = at < cq->head ? cq->head - at : cq->cqe - at;

		got = members_take(r->members, r->at + at, room);
		cq->count += got;
	}
	r->is_behind = cq->count == cq->cqe;
	if (cq->count > before)
		cq_wake(cq);
}

static int look(struct event_ring *r)
{
	int error = members_look(r->members);

	r->is_blind = error != 0;
	fill(r);
	return error;
}

void device_take_events(struct device *d)
{
	/* Where nobody tells of news, there may be some. */
	bool has_news = d->event_store &&
			(device_event_fd(d) < 0 || store_has_news(d->event_store) & STORE_MEMBERS);

	for (struct event_ring *r = d->events; r; r = r->next)
		if (has_news || r->is_blind)
			look(r);
}

nsec device_look_for_events(struct device *d, nsec now)
{
	bool is_notified = device_event_fd(d) >= 0;

	for (const struct event_ring *r = d->events; r && is_notified; r = r->next)
		is_notified = !r->is_blind;
	if (!d->events || is_notified)
		return NSEC_NEVER;
	if (now >= d->events_at) {
		device_take_events(d);
		d->events_at = now + LATE_NS;
	}
	return d->events_at;
}

void device_drop_events(struct device *d)
{
	for (struct event_ring *r = d->events; r; r = r->next)
		members_close(r->members);
	if (d->event_store)
		store_close(d->event_store);
	d->events = NULL;
	d->event_store = NULL;
}

void event_ring_free(struct device *d, struct event_ring *r)
{
	struct event_ring **at = &d->events;

	while (*at && *at != r)
		at = &(*at)->next;
	if (*at)
		*at = r->next;
	members_close(r->members);
	if (!d->events)
		device_drop_events(d);
	free(r);
}

/* A ring that reads from now on; NULL and errno. */
static struct event_ring *ring_new(const char *name, uint32_t cqe)
{
	struct event_ring *r = calloc(1, sizeof *r + cqe * sizeof r->at[0]);

	if (!r)
		return nic_fail_null(ENOMEM, "no memory for %u events", cqe);
	r->members = members_open(name);
	if (r->members)
		return r;
	int number = errno;

	free(r);
	return nic_fail_null(number, "the processes on the device cannot be watched in %s",
			     store_directory());
}

/* It is one of the device's from now on, whose thread is to watch. */
static int begin(struct device *d, const char *name, struct nic_cq *cq)
{
	struct event_ring *r = cq->events;

	if (!d->event_store)
		d->event_store = store_open(name);
	if (!d->event_store)
		return nic_fail(errno, "the processes on %s cannot be watched in %s", d->info.name,
				store_directory());
	r->cq = cq;
	r->next = d->events;
	d->events = r;
	/* What was told before the watch began, and after the ring did. */
	int error = look(r);

	return error ? nic_fail(-error, "not all processes on %s can be watched: %s", d->info.name,
				strerror(-error))
		     : 0;
}

struct nic_cq *nic_mrc_event_cq_new(struct nic_user *u, uint32_t cqe, struct nic_channel *channel,
				    void *context)
{
	struct device *d = u->device;
	char name[STORE_NAME_MAX];
	int r = device_check_for(d, &transport_mrc);

	if (!r && (cqe < 1 || cqe > NIC_MAX_CQE))
		r = nic_fail(EINVAL, "a queue of %u events: 1 to %u are possible", cqe,
			     NIC_MAX_CQE);
	if (!r)
		r = store_name(name, d->info.setup.interfaces, d->info.setup.n_ports);
	struct event_ring *ring = r ? NULL : ring_new(name, cqe);

	if (!ring) {
		errno = r ? -r : errno;
		return NULL;
	}
	struct nic_cq *cq = cq_new(u, cqe, channel, context, ring);

	if (!cq) {
		r = -errno;
		members_close(ring->members);
		free(ring);
		errno = -r;
		return NULL;
	}
	device_enter(d);
	r = begin(d, name, cq);
	device_leave(d);
	device_kick(d);
	if (!r)
		return cq;
	nic_cq_free(cq);
	errno = -r;
	return NULL;
}

int nic_mrc_event_poll(struct nic_cq *cq, struct control_event *events, int n)
{
	struct device *d = cq->user->device;
	struct event_ring *ring = cq->events;
	int r = device_check(d), got = 0;

	if (r)
		return r;
	if (!ring)
		return nic_fail(EINVAL, "not a queue of events");
	if (n <= 0)
		return 0;
	device_enter(d);
	device_take_events(d);
	for (; got < n && cq->count > 0; got++) {
		events[got] = ring->at[cq->head];
		cq->head = (cq->head + 1) % cq->cqe;
		cq->count--;
	}
	if (ring->is_behind)
		fill(ring);
	device_leave(d);
	return got;
}
