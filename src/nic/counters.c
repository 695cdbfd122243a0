/* What a device counted, for whoever asks when it is closed: a program that was never written for
 * weft has no other way to tell. */
#define _GNU_SOURCE /* secure_getenv(3) */

#include "nic/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_writer.h"
#include "nic/append.h"

#define VARIABLE   "WEFT_COUNTERS"
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

uint64_t device_count(const struct device *d, uint32_t place)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < NIC_SHARDS; i++) {
		const struct engine *e = device_shard(d, i)->engine;

		sum += e->ops->count(e)[place];
	}
	return sum;
}

struct driver_counters device_driver_counters(const struct device *d)
{
	struct driver_counters sum = {0};

	for (uint32_t i = 0; i < NIC_SHARDS; i++) {
		const struct driver_counters *c = &device_shard(d, i)->io->count;

#define ADD(name, text) sum.name += c->name;
		DRIVER_COUNTERS(ADD)
#undef ADD
	}
	return sum;
}

static void add_engine(struct json_writer *w, const struct device *d)
{
	for (uint32_t i = 0; i < d->transport->n_counters; i++)
		json_number(w, d->transport->counters[i].name, device_count(d, i));
}

static void add_driver(struct json_writer *w, const struct driver_counters *c)
{
#define ADD(name, text) json_number(w, #name, c->name);
	DRIVER_COUNTERS(ADD)
#undef ADD
}

static void append(const char *path, const struct line *l)
{
	int fd = append_open_for(VARIABLE, path, 0666);

	if (fd < 0)
		return;
	/* One write, so that lines of processes that share the file stay whole. */
	if (write(fd, l->bytes, l->len) != (ssize_t)l->len)
		nic_fail(EIO, VARIABLE "=%s: a line was not written whole; the disk may be full",
			 path);
	close(fd);
}

void device_print_counters(const struct device *d)
{
	const char *path = secure_getenv(VARIABLE);
	struct line l = {.len = 0};
	struct json_writer w = json_writer(put, &l);

	if (!path)
		return;
	const struct driver_counters c = device_driver_counters(d);

	json_object(&w, NULL, JSON_INLINE);
	json_text(&w, "device", d->info.name);
	json_signed(&w, "pid", getpid());
	json_text(&w, "driver", device_shard(d, 0)->io->ops->name);
	json_object(&w, d->transport->name, JSON_INLINE);
	add_engine(&w, d);
	json_close(&w);
	json_object(&w, "io", JSON_INLINE);
	add_driver(&w, &c);
	json_close(&w);
	json_close(&w);
	json_end(&w);
	append(path, &l);
}

void nic_counters(struct nic_user *u, void *engine, size_t bytes, struct driver_counters *io)
{
	struct device *d = u->device;
	uint64_t *counts = engine;

	if (device_check(d))
		return;
	device_enter(d);
	for (uint32_t i = 0; engine && i < d->transport->n_counters && i < bytes / sizeof *counts;
	     i++)
		counts[i] = device_count(d, i);
	if (io)
		*io = device_driver_counters(d);
	device_leave(d);
}

uint64_t nic_count(struct nic_user *u, uint32_t place)
{
	struct device *d = u->device;

	if (device_check(d) || place >= d->transport->n_counters)
		return 0;
	device_enter(d);
	uint64_t n = device_count(d, place);

	device_leave(d);
	return n;
}
