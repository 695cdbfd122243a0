/* File descriptors that ring, and where asynchronous events wait until they are taken. */
#include "nic/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int bell_open(struct device *d, struct bell *b)
{
	b->fd = eventfd(0, EFD_CLOEXEC);
	if (b->fd < 0)
		return nic_fail(errno, "no file descriptor for events: %s", strerror(errno));
	b->is_rung = false;
	pthread_mutex_lock(&d->bell_lock);
	b->next = d->bells;
	b->back = &d->bells;
	if (b->next)
		b->next->back = &b->next;
	d->bells = b;
	pthread_mutex_unlock(&d->bell_lock);
	return 0;
}

void bell_close(struct device *d, struct bell *b)
{
	pthread_mutex_lock(&d->bell_lock);
	*b->back = b->next;
	if (b->next)
		b->next->back = b->back;
	pthread_mutex_unlock(&d->bell_lock);
	close(b->fd);
	b->fd = -1;
}

/* The counter is 1 while it rings, else 0: neither the write nor the read can block, whatever flags
 * the application gave the descriptor. */
void bell_ring(struct bell *b)
{
	const uint64_t one = 1;

	if (!b->is_rung)
		b->is_rung = write(b->fd, &one, sizeof one) == (ssize_t)sizeof one;
}

void bell_silence(struct bell *b)
{
	uint64_t one;

	if (b->is_rung)
		b->is_rung = read(b->fd, &one, sizeof one) != (ssize_t)sizeof one;
}

int bell_wait(const struct bell *b)
{
	struct pollfd p = {.fd = b->fd, .events = POLLIN};
	int flags = fcntl(b->fd, F_GETFL);

	if (flags < 0)
		return nic_fail(errno, "the events' file descriptor is not ours: %s",
				strerror(errno));
	if (flags & O_NONBLOCK)
		return -EAGAIN;
	return poll(&p, 1, -1) < 0 ? -errno : 0;
}

static void raise_in_place(struct nic_user *u, struct source *s, enum nic_event_kind kind,
			   uint32_t before)
{
	pthread_mutex_lock(&u->device->bell_lock);
	list_join(&u->sources, &s->link);
	s->waiting = (s->waiting & ~before) | 1u << kind;
	bell_ring(&u->bell);
	pthread_mutex_unlock(&u->device->bell_lock);
}

void source_raise(struct nic_user *u, struct source *s, enum nic_event_kind kind)
{
	raise_in_place(u, s, kind, 0);
}

void source_turn(struct nic_user *u, struct source *s, enum nic_event_kind kind,
		 enum nic_event_kind before)
{
	raise_in_place(u, s, kind, 1u << before);
}

void source_end(struct nic_user *u, struct source *s)
{
	pthread_mutex_lock(&u->device->bell_lock);
	if (s->waiting) {
		list_remove(&u->sources, &s->link);
		s->waiting = 0;
		if (list_is_empty(&u->sources))
			bell_silence(&u->bell);
	}
	while (s->n_taken != s->n_acked)
		pthread_cond_wait(&u->device->acked, &u->device->bell_lock);
	pthread_mutex_unlock(&u->device->bell_lock);
}

void source_ack(struct nic_user *u, struct source *s)
{
	pthread_mutex_lock(&u->device->bell_lock);
	s->n_acked++;
	pthread_cond_broadcast(&u->device->acked);
	pthread_mutex_unlock(&u->device->bell_lock);
}

/* The oldest source's first event, and the source goes to the end of the line. */
static bool take_first(struct nic_user *u, struct nic_event *event)
{
	struct list_link *link = list_pop(&u->sources);

	if (!link)
		return false;
	struct source *s = LIST_OWNER(link, source, link);
	uint32_t kind = (uint32_t)__builtin_ctz(s->waiting);

	s->waiting &= s->waiting - 1;
	s->n_taken++;
	if (s->waiting)
		list_push(&u->sources, &s->link);
	if (list_is_empty(&u->sources))
		bell_silence(&u->bell);
	*event = (struct nic_event){(uint8_t)kind, s->object, s->context, 0};
	if (!s->object)
		event->port = (uint8_t)(s - u->ports);
	return true;
}

bool source_take(struct nic_user *u, struct nic_event *event)
{
	pthread_mutex_lock(&u->device->bell_lock);
	bool has = take_first(u, event);

	pthread_mutex_unlock(&u->device->bell_lock);
	return has;
}
