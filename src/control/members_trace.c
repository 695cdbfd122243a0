#include "control/members_trace.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "control/member_file.h"

#define RING  offsetof(struct member_shown_file, trace)
#define ADDED (RING + offsetof(struct trace_ring, added))

static bool read_part(int fd, void *out, size_t at, size_t len)
{
	return pread(fd, out, len, (off_t)at) == (ssize_t)len;
}

/* It grows all the time: right is what comes again, or a little more. */
static bool read_added(int fd, uint64_t *added)
{
	uint64_t later;

	for (uint32_t i = 0; i < MEMBER_TRIES; i++) {
		if (!read_part(fd, added, ADDED, sizeof *added) ||
		    !read_part(fd, &later, ADDED, sizeof later))
			return false;
		if (later >= *added && later - *added < MEMBER_TRACE)
			return true;
	}
	return false;
}

int members_trace_open(struct members_trace *t, const struct members *m, uint32_t i, uint32_t last)
{
	uint64_t added = 0, oldest;

	*t = (struct members_trace){.fd = members_open_shown(m, i)};
	if (t->fd < 0)
		return t->fd;
	if (!read_added(t->fd, &added)) {
		members_trace_close(t);
		return -ENODATA;
	}
	oldest = trace_oldest(added, MEMBER_TRACE);
	t->next = added - oldest > last ? added - last : oldest;
	return 0;
}

void members_trace_close(struct members_trace *t)
{
	close(t->fd);
	t->fd = -1;
}

/* Moves on to the oldest event that is still whole. */
static void skip_lost(struct members_trace *t, uint64_t added)
{
	uint64_t oldest = trace_oldest(added, MEMBER_TRACE);

	if (oldest > t->next) {
		t->n_lost += oldest - t->next;
		t->next = oldest;
	}
}

/* Those from next on that lie one behind the other, at most n, as far as they were not overwritten
 * meanwhile; false: there are none to be read. */
static bool read_batch(struct members_trace *t, struct trace_event *out, uint32_t *n)
{
	uint64_t added, first;
	uint32_t place, most = *n;

	if (!read_added(t->fd, &added) || added <= t->next)
		return false;
	skip_lost(t, added);
	first = t->next;
	place = (uint32_t)(first % MEMBER_TRACE);
	if (most > added - first)
		most = (uint32_t)(added - first);
	if (most > MEMBER_TRACE - place)
		most = MEMBER_TRACE - place;
	size_t at = RING + offsetof(struct trace_ring, slots) + place * sizeof *out;

	if (!read_part(t->fd, out, at, most * sizeof *out) || !read_added(t->fd, &added))
		return false;
	skip_lost(t, added);
	uint64_t gone = t->next - first;

	*n = gone < most ? most - (uint32_t)gone : 0;
	memmove(out, out + (*n ? gone : 0), *n * sizeof *out);
	t->next += *n;
	return true;
}

uint32_t members_trace_take(struct members_trace *t, struct trace_event *out, uint32_t n)
{
	/* A batch comes back empty from a process that adds faster than this reads. */
	for (uint32_t i = 0; i < MEMBER_TRIES; i++) {
		uint32_t got = n;

		if (!read_batch(t, out, &got))
			return 0;
		if (got)
			return got;
	}
	return 0;
}
