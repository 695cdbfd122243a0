/* What a device counted, for whoever asks when it is closed: a program that was never written for
 * weft has no other way to tell. */
#include "nic/inside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE_BYTES 8192u

struct line {
	char bytes[LINE_BYTES];
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *l, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(l->bytes + l->len, LINE_BYTES - l->len, format, args);

	va_end(args);
	if (n > 0)
		l->len += (size_t)n;
	if (l->len >= LINE_BYTES)
		l->len = LINE_BYTES - 1;
}

static void add_rc(struct line *l, const struct rc_counters *c)
{
#define ADD(name, text) add(l, "\"" #name "\":%" PRIu64 ",", c->name);
	RC_COUNTERS(ADD)
#undef ADD
}

static void add_mrc(struct line *l, const struct mrc_counters *c)
{
#define ADD(name, text) add(l, "\"" #name "\":%" PRIu64 ",", c->name);
	MRC_COUNTERS(ADD)
#undef ADD
}

static void add_driver(struct line *l, const struct driver_counters *c)
{
#define ADD(name, text) add(l, "\"" #name "\":%" PRIu64 ",", c->name);
	DRIVER_COUNTERS(ADD)
#undef ADD
}

/* One write, so that lines of processes that share the file stay whole. */
void device_tell_counters(const struct device *d)
{
	const char *path = getenv("WEFT_COUNTERS");
	struct line l = {.len = 0};

	if (!path)
		return;
	add(&l, "{\"device\":\"%s\",\"pid\":%d,\"driver\":\"%s\",\"%s\":{", d->info.name,
	    (int)getpid(), d->io->ops->name, d->transport->name);
	if (d->transport == &nic_transport_rc)
		add_rc(&l, rc_counters(d->engine));
	else
		add_mrc(&l, mrc_counters(d->engine));
	l.len--;
	add(&l, "},\"io\":{");
	add_driver(&l, &d->io->count);
	l.len--;
	add(&l, "}}\n");
	FILE *f = fopen(path, "ae");

	if (!f) {
		nic_fail(errno, "WEFT_COUNTERS=%s: cannot be written", path);
		return;
	}
	fwrite(l.bytes, 1, l.len, f);
	fclose(f);
}
