#include "control/members_trace.h"

#include <errno.h>
#include <unistd.h>

#include "control/member_file.h"

#define RING  offsetof(struct member_shown_file, trace)
#define ADDED (RING + offsetof(struct trace_ring, added))

/* It grows all the time: right is what comes again, or a little more. */
static bool read_added(int fd, uint64_t *added)
{
	uint64_t later;

	for (uint32_t i = 0; i < MEMBER_TRIES; i++) {
		if (!tail_read(fd, added, ADDED, sizeof *added) ||
		    !tail_read(fd, &later, ADDED, sizeof later))
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
	t->at.next = added - oldest > last ? added - last : oldest;
	return 0;
}

void members_trace_close(struct members_trace *t)
{
	close(t->fd);
	t->fd = -1;
}

/* Those from next on that lie one behind the other, at most *n, as far as they were not overwritten
 * meanwhile; false: there are none to be read. */
static bool read_batch(struct members_trace *t, struct trace_event *out, uint32_t *n)
{
	const struct tail_ring ring = {t->fd, RING + offsetof(struct trace_ring, slots),
				       sizeof *out, MEMBER_TRACE};
	uint64_t added;

	if (!read_added(t->fd, &added) || added <= t->at.next)
		return false;
	tail_skip(&t->at, trace_oldest(added, MEMBER_TRACE));
	if (!tail_take(&ring, &t->at, added, out, n) || !read_added(t->fd, &added))
		return false;
	*n = tail_keep(&ring, &t->at, trace_oldest(added, MEMBER_TRACE), out, *n);
	t->at.next += *n;
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
