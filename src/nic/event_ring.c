/* Queues of what the processes on a device tell of their paths (control/members.h).
 *
 * Each queue reads for itself: what one takes is there for the others. The device's thread takes
 * events when the files of the processes ring, and so does one who polls. What has no room in a
 * queue is left where its process wrote it, where it is lost only when many more follow, which is
 * counted there. */
#include <stdlib.h>

#include "control/store.h"
#include "nic/inside.h"

#define LATE_NS UINT64_C(250000000) /* between two looks where nobody tells of news */

int device_event_fd(const struct device *d)
{
	return d->event_store ? store_fd(d->event_store) : -1;
}

/* As many as there are and have room. */
void event_ring_fill(struct event_ring *r)
{
	struct nic_cq *cq = r->cq;

	pthread_mutex_lock(&cq->lock);
	uint32_t before = cq_count(cq), count = before, got = 1;

	/* Up to the end of the ring, and then from its start. */
	while (got > 0 && count < cq->cqe) {
		uint32_t at = cq_place(cq, count);
		uint32_t room = at < cq->head ? cq->head - at : cq->cqe - at;

		got = members_take(r->members, r->at + at, room);
		count += got;
	}
	cq_set_count(cq, count);
	r->is_behind = count == cq->cqe;
	if (count > before)
		cq_wake(cq);
	pthread_mutex_unlock(&cq->lock);
}

int event_ring_take(struct event_ring *r, struct control_event *events, int n)
{
	struct nic_cq *cq = r->cq;

	pthread_mutex_lock(&cq->lock);
	uint32_t count = cq_count(cq);
	int got = 0;

	for (; got < n && count > 0; got++, count--) {
		events[got] = r->at[cq->head];
		cq->head = cq_place(cq, 1);
	}
	cq_set_count(cq, count);
	pthread_mutex_unlock(&cq->lock);
	if (r->is_behind)
		event_ring_fill(r);
	return got;
}

int event_ring_look(struct event_ring *r)
{
	int error = members_look(r->members);

	r->is_blind = error != 0;
	event_ring_fill(r);
	return error;
}

void device_take_events(struct device *d)
{
	/* Where nobody tells of news, there may be some. */
	bool has_news = d->event_store &&
			(device_event_fd(d) < 0 || store_has_news(d->event_store) & STORE_MEMBERS);

	for (struct event_ring *r = d->events; r; r = r->next)
		if (has_news || r->is_blind)
			event_ring_look(r);
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
