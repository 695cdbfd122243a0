/* What the engines of processes recorded, as it happens: of all processes together, in the order of
 * time, as far as it was read in one look: LOOK_MOST of them at a time. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/members_trace.h"
#include "tools/clock.h"
#include "tools/command.h"
#include "tools/ends.h"
#include "tools/json_file.h"
#include "tools/text.h"
#include "tools/top/top.h"

#define MS_NS     UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)
#define BEGIN     20u /* events of a process that was there before */
#define LOOK_MOST 65536u

/* A process whose events are read, also when it has ended, to the last. */
struct followed {
	const struct top_device *device;
	struct member_who who;
	struct members_trace trace;
	uint64_t n_told; /* of what was lost */
	bool is_there;
};

struct seen {
	struct trace_event event;
	uint32_t of; /* place in the list of processes */
	uint32_t turn;
};

struct following {
	const struct top_events *wanted;
	FILE *out;
	struct followed *list;
	uint32_t n, room;
	struct seen *seen; /* LOOK_MOST of them */
	uint32_t n_seen;
	uint64_t n_written;
	bool has_heading, has_hidden;
};

static struct followed *find(const struct following *f, const struct top_device *d, uint64_t id)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (f->list[i].device == d && f->list[i].who.id == id)
			return &f->list[i];
	return NULL;
}

/* Process i of a device is new. One that has nothing to be read yet is looked at again. */
static int add(struct following *f, const struct top_device *d, uint32_t i, bool is_first)
{
	uint32_t last = is_first && !f->wanted->is_once ? BEGIN : MEMBER_TRACE;
	struct followed new = {.device = d, .who = *members_who(d->members, i), .is_there = true};
	int r = members_trace_open(&new.trace, d->members, i, last);

	if (r) {
		f->has_hidden |= r == -EACCES;
		return r == -ENOMEM ? r : 0;
	}
	if (f->n == f->room) {
		struct followed *list = realloc(f->list, (f->room + 16) * sizeof *f->list);

		if (!list) {
			members_trace_close(&new.trace);
			return -ENOMEM;
		}
		f->list = list;
		f->room += 16;
	}
	f->list[f->n++] = new;
	return 0;
}

static int find_processes(struct following *f, const struct top *t, bool is_first)
{
	int r = 0;

	for (uint32_t i = 0; i < f->n; i++)
		f->list[i].is_there = false;
	for (uint32_t i = 0; i < t->n && !r; i++) {
		const struct top_device *d = &t->devices[i];

		r = top_find(d->members);
		for (uint32_t k = 0; k < members_n(d->members) && !r; k++) {
			struct followed *p = find(f, d, members_who(d->members, k)->id);

			if (p)
				p->is_there = true;
			else
				r = add(f, d, k, is_first);
		}
	}
	return r;
}

static bool is_wanted(const struct following *f, const struct trace_event *e)
{
	return !f->wanted->qp || f->wanted->qp == e->qp;
}

static int by_time(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->event.at != y->event.at)
		return x->event.at < y->event.at ? -1 : 1;
	return x->turn < y->turn ? -1 : x->turn > y->turn;
}

static void put_whose(struct json_writer *w, const struct followed *p)
{
	json_text(w, "device", p->device->name);
	json_signed(w, "pid", p->who.pid);
	json_text(w, "command", p->who.command);
}

static void write_json(const struct following *f, const struct followed *p,
		       const struct trace_event *e)
{
	const struct trace_words words = transport_words(p->device->transport);
	struct json_writer w = json_file(f->out);

	json_object(&w, NULL, JSON_INLINE);
	put_whose(&w, p);
	trace_json(&w, e, &words, NULL);
	json_close(&w);
	json_end(&w);
}

static void write_lost_json(const struct following *f, const struct followed *p, uint64_t n)
{
	struct json_writer w = json_file(f->out);

	json_object(&w, NULL, JSON_INLINE);
	put_whose(&w, p);
	json_number(&w, "lost", n);
	json_close(&w);
	json_end(&w);
}

static void write_heading(struct following *f)
{
	if (!f->has_heading)
		fputs("          seconds  device         process                   QP        event"
		      "     packet\n",
		      f->out);
	f->has_heading = true;
}

static void write_whose(const struct following *f, const struct followed *p)
{
	fprintf(f->out, "%-13s  ", p->device->name);
	text_put_safe(f->out, p->who.command);
	fprintf(f->out, "[%d]%*s", (int)p->who.pid,
		(int)(15 - strnlen(p->who.command, sizeof p->who.command)), "");
}

static void write_text(struct following *f, const struct followed *p, const struct trace_event *e)
{
	const struct trace_words words = transport_words(p->device->transport);
	struct text text;

	write_heading(f);
	fprintf(f->out, "%7" PRIu64 ".%09" PRIu64 "  ", e->at / NS_PER_S, e->at % NS_PER_S);
	write_whose(f, p);
	trace_text(e, &words, text.at, sizeof text.at);
	fprintf(f->out, "  0x%06x  %s\n", e->qp, text.at);
}

static void write_lost(struct following *f, struct followed *p)
{
	uint64_t n = p->trace.at.lost - p->n_told;

	if (!n)
		return;
	p->n_told = p->trace.at.lost;
	if (f->wanted->has_json) {
		write_lost_json(f, p, n);
		return;
	}
	write_heading(f);
	fprintf(f->out, "%17s  ", "...");
	write_whose(f, p);
	fprintf(f->out, "  %" PRIu64 " events were overwritten before they were read\n", n);
}

static bool is_enough(const struct following *f)
{
	return f->wanted->count && f->n_written >= f->wanted->count;
}

static void write_seen(struct following *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		write_lost(f, &f->list[i]);
	qsort(f->seen, f->n_seen, sizeof *f->seen, by_time);
	for (uint32_t i = 0; i < f->n_seen && !is_enough(f); i++) {
		const struct followed *p = &f->list[f->seen[i].of];

		if (f->wanted->has_json)
			write_json(f, p, &f->seen[i].event);
		else
			write_text(f, p, &f->seen[i].event);
		f->n_written++;
	}
	f->n_seen = 0;
	fflush(f->out);
}

/* Adds what there is of one; when there is no more room, what was gathered is written first. */
static void gather(struct following *f, uint32_t of)
{
	struct trace_event batch[256];
	uint32_t n = 1;

	/* What comes meanwhile is for the next look. */
	for (uint32_t got = 0; n && got < MEMBER_TRACE; got += n) {
		if (LOOK_MOST - f->n_seen < sizeof batch / sizeof batch[0])
			write_seen(f);
		n = members_trace_take(&f->list[of].trace, batch, sizeof batch / sizeof batch[0]);
		for (uint32_t i = 0; i < n; i++)
			if (is_wanted(f, &batch[i])) {
				f->seen[f->n_seen] = (struct seen){batch[i], of, f->n_seen};
				f->n_seen++;
			}
	}
}

/* Those that ended, and were read to the end. */
static void forget_ended(struct following *f)
{
	for (uint32_t i = f->n; i-- > 0;)
		if (!f->list[i].is_there) {
			members_trace_close(&f->list[i].trace);
			f->list[i] = f->list[--f->n];
		}
}

static int look(struct following *f, const struct top *t, bool is_first)
{
	int r = find_processes(f, t, is_first);

	for (uint32_t i = 0; i < f->n; i++)
		gather(f, i);
	write_seen(f);
	forget_ended(f);
	return r;
}

/* Tell when processes come and go, some of which are there for a moment only. Where there is no
 * word of that, looks now and then must do. */
struct watch {
	struct watched {
		struct store *store;
	} * list;
	struct pollfd *fds; /* of each */
	uint32_t n;
};

static void watch_end(struct watch *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		store_close(w->list[i].store);
	free(w->list);
	free(w->fds);
}

static int watch_begin(struct watch *w, const struct top *t)
{
	*w = (struct watch){.list = calloc(t->n + 1, sizeof *w->list),
			    .fds = calloc(t->n + 1, sizeof *w->fds)};
	if (!w->list || !w->fds)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++) {
		struct store *s = store_open(t->devices[i].store);

		if (!s)
			continue;
		w->fds[w->n] = (struct pollfd){store_fd(s), POLLIN, 0};
		w->list[w->n++].store = s;
	}
	return 0;
}

static void wait_for_news(struct watch *w, nsec until)
{
	ends_poll(w->fds, w->n, until);
	for (uint32_t i = 0; i < w->n; i++)
		store_has_news(w->list[i].store);
}

int top_events(struct top *t, const struct top_events *wanted, FILE *out)
{
	struct following f = {
		.wanted = wanted, .out = out, .seen = calloc(LOOK_MOST, sizeof *f.seen)};
	struct watch watch;
	int r = watch_begin(&watch, t);

	if (!r)
		r = f.seen ? look(&f, t, true) : -ENOMEM;

	while (!r && !wanted->is_once && !is_enough(&f) && !ends_wanted() && !is_output_broken()) {
		wait_for_news(&watch, clock_now() + wanted->interval_ms * MS_NS);
		r = look(&f, t, false);
	}
	if (f.has_hidden)
		fprintf(stderr, "weft top: some processes are " TOP_HIDDEN "\n");
	for (uint32_t i = 0; i < f.n; i++)
		members_trace_close(&f.list[i].trace);
	watch_end(&watch);
	free(f.list);
	free(f.seen);
	return r;
}
