#include "io/lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A file that takes nothing, and does not say why, is full. */
static void write_all(struct lines *l, const char *bytes, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t done = write(l->fd, bytes + at, n - at);

		if (done > 0) {
			at += (size_t)done;
		} else if (done == 0 || errno != EINTR) {
			if (!l->error)
				l->error = done ? errno : ENOSPC;
			return;
		}
	}
}

void lines_flush(struct lines *l)
{
	size_t n = l->len;

	l->len = 0;
	write_all(l, l->bytes, n);
}

void lines_put(void *lines, const char *bytes, size_t n)
{
	struct lines *l = lines;

	if (n > sizeof l->bytes - l->len)
		lines_flush(l);
	if (n > sizeof l->bytes) {
		write_all(l, bytes, n);
		return;
	}
	memcpy(l->bytes + l->len, bytes, n);
	l->len += n;
}
