/* What happened since the last look, while a test runs. The intervals of a test add up to it: the
 * last ends with the test. */
#include <inttypes.h>

#include "tools/json_file.h"
#include "tools/perf/perf.h"
#include "tools/stats.h"

#define NSEC_PER_MS UINT64_C(1000000)

static void take_counts(const struct perf_end *e, uint64_t *retx, uint64_t *received)
{
	const struct transport *t = transports[e->test.transport];

	*retx = nic_count(e->user, t->count_retx);
	*received = nic_count(e->user, t->count_received);
}

/* A server of reads and atomics, whose messages go the other way, sees nothing to report. */
static bool is_reported(const struct perf_link *l, const struct perf_test *t)
{
	bool is_sent = t->op == PERF_WRITE || t->op == PERF_SEND || t->op == PERF_WRITE_IMM;

	return l->interval_ms != 0 && (!l->door || (is_sent && t->mode == PERF_BANDWIDTH));
}

void perf_interval_begin(struct perf_interval *i, const struct perf_end *e,
			 const struct perf_link *l, uint64_t now)
{
	*i = (struct perf_interval){.start_ns = now, .from_ns = now, .next_ns = UINT64_MAX};
	if (!is_reported(l, &e->test))
		return;
	i->next_ns = now + l->interval_ms * NSEC_PER_MS;
	if (!l->door || l->json)
		return;
	printf("%s of %u bytes, by %s:\n", perf_op_names[e->test.op], e->test.size,
	       transport_names[e->test.transport]);
	perf_print_head(stdout, e->test.mode);
}

static void print(FILE *out, const struct perf_interval *i, const struct perf_interval_figures *f)
{
	char span[40];

	snprintf(span, sizeof span, "  %.2f-%.2f s", (double)(i->from_ns - i->start_ns) / 1e9,
		 (double)(f->to_ns - i->start_ns) / 1e9);
	if (f->is_latency)
		fprintf(out, "%-18s %10" PRIu64 " %8s %8.2f   retx %" PRIu64 "\n", span,
			f->messages, "", (double)f->mean_ns / 1e3, f->retx);
	else
		fprintf(out, "%-24s %12" PRIu64 " %12.3f %14" PRIu64 " %9" PRIu64 "\n", span,
			f->messages, (double)f->bits_per_second / 1e9, f->messages_per_second,
			f->retx);
	fflush(out);
}

static void print_json(FILE *out, const struct perf_interval *i,
		       const struct perf_interval_figures *f)
{
	struct json_writer w = json_file(out);

	json_object(&w, NULL, JSON_INLINE);
	json_number(&w, "interval", i->n);
	json_number(&w, "from_ns", i->from_ns - i->start_ns);
	json_number(&w, "to_ns", f->to_ns - i->start_ns);
	json_number(&w, "messages", f->messages);
	json_number(&w, "retransmitted", f->retx);
	if (f->is_latency) {
		json_number(&w, "mean_ns", f->mean_ns);
	} else {
		json_number(&w, "bits_per_second", f->bits_per_second);
		json_number(&w, "messages_per_second", f->messages_per_second);
	}
	json_close(&w);
	json_end(&w);
	fflush(out);
}

void perf_interval_end(struct perf_interval *i, const struct perf_end *e, const struct perf_link *l,
		       struct perf_so_far so_far)
{
	const struct perf_test *t = &e->test;
	uint64_t retx, received, ns = so_far.now - i->from_ns;

	if (i->next_ns == UINT64_MAX || ns == 0)
		return;
	take_counts(e, &retx, &received);
	uint64_t messages = l->door ? received / t->size : so_far.messages;
	struct perf_interval_figures f = {
		.to_ns = so_far.now,
		.messages = messages - i->messages,
		.retx = retx - i->retx,
		.is_latency = t->mode == PERF_LATENCY,
	};

	f.bits_per_second = stats_scale(f.messages * t->size, UINT64_C(8000000000), ns);
	f.messages_per_second = stats_scale(f.messages, UINT64_C(1000000000), ns);
	f.mean_ns = f.messages ? ns / f.messages / so_far.legs : 0;
	i->n++;
	if (l->json)
		print_json(stdout, i, &f);
	else
		print(stdout, i, &f);
	i->messages = messages;
	i->retx = retx;
	i->from_ns = so_far.now;
	while (i->next_ns <= so_far.now)
		i->next_ns += l->interval_ms * NSEC_PER_MS;
}
