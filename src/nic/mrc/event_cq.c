/* Queues of what the processes on a device tell: their making, and who takes from them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/members.h"
#include "nic/mrc/inside.h"

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
	int error = event_ring_look(r);

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
	int r = device_check(d);

	if (r)
		return r;
	if (!ring)
		return nic_fail(EINVAL, "not a queue of events");
	if (n <= 0)
		return 0;
	device_enter(d);
	device_take_events(d);
	r = event_ring_take(ring, events, n);
	device_leave(d);
	return r;
}
