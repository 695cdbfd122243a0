#include "control/tail.h"

#include <string.h>
#include <unistd.h>

bool tail_read(int fd, void *out, size_t at, size_t len)
{
	return pread(fd, out, len, (off_t)at) == (ssize_t)len;
}

uint64_t tail_skip(struct tail *t, uint64_t oldest)
{
	uint64_t gone = oldest > t->next ? oldest - t->next : 0;

	t->lost += gone;
	t->next += gone;
	return gone;
}

bool tail_take(const struct tail_ring *r, const struct tail *t, uint64_t end, void *out,
	       uint32_t *n)
{
	uint32_t place = (uint32_t)(t->next % r->n);

	if (*n > end - t->next)
		*n = (uint32_t)(end - t->next);
	if (*n > r->n - place)
		*n = r->n - place;
	return tail_read(r->fd, out, r->at + (size_t)place * r->entry_bytes,
			 (size_t)*n * r->entry_bytes);
}

uint32_t tail_keep(const struct tail_ring *r, struct tail *t, uint64_t oldest, void *out,
		   uint32_t n)
{
	uint64_t gone = tail_skip(t, oldest);
	uint32_t left = gone < n ? n - (uint32_t)gone : 0;

	if (left && gone)
		memmove(out, (uint8_t *)out + gone * r->entry_bytes, (size_t)left * r->entry_bytes);
	return left;
}
