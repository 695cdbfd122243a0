#define _GNU_SOURCE /* secure_getenv(3), program_invocation_short_name */

#include "nic/trace_file.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/lines.h"
#include "nic/append.h"
#include "nic/inside.h"

#define VARIABLE    "WEFT_TRACE_FILE"
#define MODE        0600 /* who knows numbers and PSNs can forge packets */
#define WATCHED_MAX 64u
#define WAIT_MS     10000u /* for another thread that writes */
#define FAILED_MOST 1024u  /* events of a queue pair that fails */

static _Atomic(struct device *) watched[WATCHED_MAX];

static void put_event(struct lines *l, const struct device *d, const struct trace_event *e)
{
	const struct trace_words words = transport_words(d->transport);
	struct json_writer w = json_writer(lines_put, l);

	json_object(&w, NULL, JSON_INLINE);
	json_text(&w, "device", d->info.name);
	json_signed(&w, "pid", getpid());
	json_text(&w, "command", program_invocation_short_name);
	trace_json(&w, e, &words, NULL);
	json_close(&w);
	json_end(&w);
}

/* Where the last so many events of a queue pair begin, or of all by 0, once so many were added. */
static uint64_t begin_of(const struct trace *t, uint32_t qp, uint32_t most, uint64_t added)
{
	const struct trace_ring *ring = t->ring;
	uint64_t i = added;
	uint64_t oldest = added > t->mask ? added - t->mask : 0;

	for (uint32_t n = 0; i > oldest && n < most; i--)
		n += !qp || ring->slots[(i - 1) & t->mask].qp == qp;
	return i;
}

/* Those that there are now: in an abort other threads may add more as fast as these are written. */
static void put_events(struct lines *l, const struct shard *s, uint32_t qp, uint32_t most)
{
	struct trace_event e;
	uint64_t lost = 0;

	if (!s->trace.ring)
		return;
	uint64_t added = atomic_load_explicit(&s->trace.ring->added, memory_order_relaxed);
	uint64_t next = begin_of(&s->trace, qp, most, added);

	while (next < added && trace_take(&s->trace, &next, &e, 1, &lost))
		if (!qp || e.qp == qp)
			put_event(l, s->device, &e);
	lines_flush(l);
}

void trace_file_failed(const struct shard *s, uint32_t qp)
{
	const char *path = secure_getenv(VARIABLE);
	struct lines l = {0};

	if (!path || !s->trace.ring)
		return;
	l.fd = append_open_for(VARIABLE, path, MODE);
	if (l.fd < 0)
		return;
	put_events(&l, s, qp, FAILED_MOST);
	if (l.error)
		nic_fail(l.error, VARIABLE "=%s: not all was written: %s", path, strerror(l.error));
	close(l.fd);
}

static struct sigaction before;

/* Whoever failed may have the lock of a device: nothing is locked here, and what stands in the ring
 * is whole but for an event that was being added. */
static void put_all(void)
{
	static struct lines l;
	const char *path = secure_getenv(VARIABLE);

	l.fd = path ? append_open(path, MODE) : -1;
	for (uint32_t i = 0; i < WATCHED_MAX && l.fd >= 0; i++) {
		const struct device *d = atomic_load(&watched[i]);

		for (uint32_t n = 0; d && n < NIC_SHARDS; n++)
			put_events(&l, device_shard(d, n), 0, UINT32_MAX);
	}
	if (l.fd >= 0)
		close(l.fd);
}

/* The first thread that comes writes, and others wait for it, or they would end the process before
 * it is done. One that fails while it writes comes again, and leaves it at that. */
static void on_abort(int signal)
{
	static _Atomic pid_t writer;
	static atomic_bool is_written;
	pid_t first = 0, self = gettid();
	int error = errno;

	if (atomic_compare_exchange_strong(&writer, &first, self)) {
		put_all();
		atomic_store(&is_written, true);
	}
	for (uint32_t i = 0; first && first != self && !atomic_load(&is_written) && i < WAIT_MS;
	     i++)
		poll(NULL, 0, 1);
	errno = error;
	/* It is delivered when this returns, to whoever had it before. */
	sigaction(signal, &before, NULL);
	raise(signal);
}

static void catch_abort(void)
{
	struct sigaction action = {.sa_handler = on_abort};

	sigemptyset(&action.sa_mask);
	sigaction(SIGABRT, &action, &before);
}

void trace_file_join(struct device *d)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!secure_getenv(VARIABLE))
		return;
	pthread_once(&once, catch_abort);
	for (uint32_t i = 0; i < WATCHED_MAX; i++) {
		struct device *none = NULL;

		if (atomic_compare_exchange_strong(&watched[i], &none, d))
			return;
	}
}

void trace_file_leave(struct device *d)
{
	for (uint32_t i = 0; i < WATCHED_MAX; i++) {
		struct device *is = d;

		if (atomic_compare_exchange_strong(&watched[i], &is, NULL))
			return;
	}
}
