/* What a device counted, for whoever asks when it is closed: a program that was never written for
 * weft has no other way to tell. */
#include "nic/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_writer.h"

#define LINE_BYTES 8192u

struct line {
	char bytes[LINE_BYTES];
	size_t len;
};

/* What does not fit is left out. */
static void put(void *to, const char *bytes, size_t n)
{
	struct line *l = to;
	size_t left = LINE_BYTES - l->len;

	n = n < left ? n : left;
	memcpy(l->bytes + l->len, bytes, n);
	l->len += n;
}

static void add_rc(struct json_writer *w, const struct rc_counters *c)
{
#define ADD(name, text) json_number(w, #name, c->name);
	RC_COUNTERS(ADD)
#undef ADD
}

static void add_mrc(struct json_writer *w, const struct mrc_counters *c)
{
#define ADD(name, text) json_number(w, #name, c->name);
	MRC_COUNTERS(ADD)
#undef ADD
}

static void add_driver(struct json_writer *w, const struct driver_counters *c)
{
#define ADD(name, text) json_number(w, #name, c->name);
	DRIVER_COUNTERS(ADD)
#undef ADD
}

/* One write, so that lines of processes that share the file stay whole. */
void device_tell_counters(const struct device *d)
{
	const char *path = getenv("WEFT_COUNTERS");
	struct line l = {.len = 0};
	struct json_writer w = json_writer(put, &l);

	if (!path)
		return;
	json_object(&w, NULL, JSON_INLINE);
	json_text(&w, "device", d->info.name);
	json_signed(&w, "pid", getpid());
	json_text(&w, "driver", d->io->ops->name);
	json_object(&w, d->transport->name, JSON_INLINE);
	if (d->transport == &nic_transport_rc)
		add_rc(&w, rc_counters(d->engine));
	else
		add_mrc(&w, mrc_counters(d->engine));
	json_close(&w);
	json_object(&w, "io", JSON_INLINE);
	add_driver(&w, &d->io->count);
	json_close(&w);
	json_close(&w);
	json_end(&w);
	FILE *f = fopen(path, "ae");

	if (!f) {
		nic_fail(errno, "WEFT_COUNTERS=%s: cannot be written", path);
		return;
	}
	fwrite(l.bytes, 1, l.len, f);
	fclose(f);
}
