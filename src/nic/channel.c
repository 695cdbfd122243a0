#include "nic/inside.h"

#include <errno.h>
#include <stdlib.h>

struct nic_channel *nic_channel_new(struct nic_user *u)
{
	int r = device_check(u->device);
	struct nic_channel *c = r ? NULL : calloc(1, sizeof *c);

	if (!c) {
		errno = r ? -r : ENOMEM;
		return NULL;
	}
	c->user = u;
	device_enter(u->device);
	r = bell_open(u->device, &c->bell);
	if (!r)
		u->n_objects++;
	device_leave(u->device);
	if (!r)
		return c;
	free(c);
	errno = -r;
	return NULL;
}

int nic_channel_free(struct nic_channel *c)
{
	struct nic_user *u = c->user;
	int r = device_check(u->device);

	if (r)
		return r;
	device_enter(u->device);
	if (c->n_cqs) {
		r = nic_fail(EBUSY, "the completion channel is in use by %u queues", c->n_cqs);
	} else {
		bell_close(u->device, &c->bell);
		u->n_objects--;
	}
	device_leave(u->device);
	if (!r)
		free(c);
	return r;
}

int nic_channel_fd(const struct nic_channel *c)
{
	return c->user->device->is_dead ? -ENODEV : c->bell.fd;
}

void channel_raise(struct nic_cq *cq)
{
	struct device *d = cq->user->device;

	pthread_mutex_lock(&d->bell_lock);
	if (cq->n_waiting++ == 0)
		list_push(&cq->channel->cqs, &cq->link);
	bell_ring(&cq->channel->bell);
	pthread_mutex_unlock(&d->bell_lock);
}

static void forget(struct nic_cq *cq)
{
	struct nic_channel *c = cq->channel;

	if (!cq->n_waiting)
		return;
	cq->n_waiting = 0;
	list_remove(&c->cqs, &cq->link);
	if (list_is_empty(&c->cqs))
		bell_silence(&c->bell);
}

void channel_end(struct nic_cq *cq)
{
	struct device *d = cq->user->device;

	pthread_mutex_lock(&d->bell_lock);
	forget(cq);
	while (cq->n_taken != cq->n_acked)
		pthread_cond_wait(&d->acked, &d->bell_lock);
	pthread_mutex_unlock(&d->bell_lock);
}

/* The queue that waits longest; it goes to the end if it has more. */
static struct nic_cq *channel_take(struct nic_channel *c)
{
	struct list_link *link = list_pop(&c->cqs);

	if (!link)
		return NULL;
	struct nic_cq *cq = LIST_OWNER(link, nic_cq, link);

	if (list_is_empty(&c->cqs))
		bell_silence(&c->bell);
	cq->n_taken++;
	if (--cq->n_waiting) {
		list_push(&c->cqs, link);
		bell_ring(&c->bell);
	}
	return cq;
}

int nic_channel_get(struct nic_channel *c, struct nic_cq **cq, void **context)
{
	struct device *d = c->user->device;
	int r = device_check(d);

	while (!r) {
		pthread_mutex_lock(&d->bell_lock);
		*cq = channel_take(c);
		if (*cq)
			*context = (*cq)->source.context;
		pthread_mutex_unlock(&d->bell_lock);
		if (*cq)
			return 0;
		r = bell_wait(&c->bell);
	}
	return r;
}

void nic_cq_ack(struct nic_cq *cq, uint32_t n)
{
	struct device *d = cq->user->device;

	if (device_check(d))
		return;
	pthread_mutex_lock(&d->bell_lock);
	cq->n_acked += n;
	pthread_cond_broadcast(&d->acked);
	pthread_mutex_unlock(&d->bell_lock);
}
