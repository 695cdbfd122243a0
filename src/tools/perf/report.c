#include <inttypes.h>

#include "tools/json_file.h"
#include "tools/perf/perf.h"
#include "tools/stats.h"

const char *const perf_op_names[PERF_OPS + 1] = {"write",  "read",      "send",
						 "atomic", "write-imm", NULL};
static const char *const mode_names[PERF_MODES] = {"bandwidth", "latency"};

const struct perf_percentile perf_percentiles[PERF_PERCENTILES] = {
	{"p50", 5000}, {"p90", 9000}, {"p99", 9900}, {"p999", 9990}, {"p9999", 9999}};

static uint64_t bits_per_second(const struct perf_result *r)
{
	return stats_scale(r->messages * r->test.size, UINT64_C(8000000000), r->elapsed_ns);
}

static uint64_t messages_per_second(const struct perf_result *r)
{
	return stats_scale(r->messages, UINT64_C(1000000000), r->elapsed_ns);
}

void perf_print_head(FILE *out, uint8_t mode)
{
	if (mode == PERF_LATENCY)
		fprintf(out, "%-9s %8s %10s %8s %8s %8s %8s %8s %8s %8s\n", "op", "bytes",
			"messages", "min us", "mean", "p50", "p90", "p99", "p99.9", "max");
	else
		fprintf(out, "%-9s %8s %5s %12s %12s %14s %9s\n", "op", "bytes", "qps", "messages",
			"Gb/s", "messages/s", "retx");
	fflush(out);
}

static const char *reason_name(const struct transport *t, uint32_t i)
{
	return t->counters[t->retx_reasons[i]].name;
}

static void print_reasons(FILE *out, const struct perf_result *r)
{
	const struct transport *t = transports[r->test.transport];
	const char *between = ": ";

	fprintf(out, "  retransmitted %" PRIu64, r->retransmitted);
	for (uint32_t i = 0; i < t->n_retx_reasons && i < PERF_REASONS_MAX; i++) {
		if (!r->reasons[i])
			continue;
		fprintf(out, "%s%s %" PRIu64, between, reason_name(t, i), r->reasons[i]);
		between = ", ";
	}
	fputc('\n', out);
}

static void print_evs(FILE *out, const struct perf_result *r)
{
	fprintf(out, "  EVs in use %" PRIu64 " of %" PRIu64 "\n", r->evs_used, r->evs);
}

void perf_print(FILE *out, const struct perf_result *r)
{
	const struct perf_test *t = &r->test;

	if (t->mode == PERF_LATENCY)
		fprintf(out, "%-9s %8u %10" PRIu64 " %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f\n",
			perf_op_names[t->op], t->size, r->messages, (double)r->least_ns / 1e3,
			(double)r->mean_ns / 1e3, (double)r->percentile_ns[0] / 1e3,
			(double)r->percentile_ns[1] / 1e3, (double)r->percentile_ns[2] / 1e3,
			(double)r->percentile_ns[3] / 1e3, (double)r->most_ns / 1e3);
	else
		fprintf(out, "%-9s %8u %5u %12" PRIu64 " %12.3f %14" PRIu64 " %9" PRIu64 "\n",
			perf_op_names[t->op], t->size, t->qps, r->messages,
			(double)bits_per_second(r) / 1e9, messages_per_second(r), r->retransmitted);
	if (transport_has(transports[t->transport], TRANSPORT_PROFILES))
		print_evs(out, r);
	if (transports[t->transport]->n_retx_reasons)
		print_reasons(out, r);
	if (*r->digest)
		fprintf(out, "  payload verified: SHA-256 %s\n", r->digest);
	fflush(out);
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

void perf_print_baseline(FILE *out, const struct perf_result *r, const struct perf_baseline *b)
{
	if (b->tcp_bps)
		fprintf(out, "  iperf3 TCP, one stream   %10.3f Gb/s   weft is %.2f of it\n",
			(double)b->tcp_bps / 1e9, ratio(bits_per_second(r), b->tcp_bps));
	if (b->udp_bps)
		fprintf(out, "  bare UDP, as received    %10.3f Gb/s   weft is %.2f of it\n",
			(double)b->udp_bps / 1e9, ratio(bits_per_second(r), b->udp_bps));
	if (b->udp_ping_ns)
		fprintf(out, "  bare UDP ping-pong, half %10.2f us     weft takes %.2f of it\n",
			(double)b->udp_ping_ns / 1e3, ratio(r->mean_ns, b->udp_ping_ns));
}

static void json_latency(struct json_writer *w, const struct perf_result *r)
{
	char key[32];

	json_number(w, "min_ns", r->least_ns);
	json_number(w, "mean_ns", r->mean_ns);
	for (uint32_t i = 0; i < PERF_PERCENTILES; i++) {
		snprintf(key, sizeof key, "%s_ns", perf_percentiles[i].name);
		json_number(w, key, r->percentile_ns[i]);
	}
	json_number(w, "max_ns", r->most_ns);
}

static void json_evs(struct json_writer *w, const struct perf_result *r)
{
	/* As weft ctl writes it: it may have 64 bits. */
	if (r->has_profile)
		json_number_text(w, "profile", r->profile);
	json_number(w, "evs", r->evs);
	json_number(w, "evs_used", r->evs_used);
}

static void json_reasons(struct json_writer *w, const struct perf_result *r)
{
	const struct transport *t = transports[r->test.transport];

	for (uint32_t i = 0; i < t->n_retx_reasons && i < PERF_REASONS_MAX; i++)
		json_number(w, reason_name(t, i), r->reasons[i]);
}

static void json_baseline(struct json_writer *w, const struct perf_result *r,
			  const struct perf_baseline *b)
{
	if (b->tcp_bps) {
		json_number(w, "tcp_bits_per_second", b->tcp_bps);
		json_measured(w, "ratio_tcp", ratio(bits_per_second(r), b->tcp_bps), 3);
	}
	if (b->udp_bps) {
		json_number(w, "udp_bits_per_second", b->udp_bps);
		json_measured(w, "ratio_udp", ratio(bits_per_second(r), b->udp_bps), 3);
	}
	if (b->udp_ping_ns) {
		json_number(w, "udp_ping_ns", b->udp_ping_ns);
		json_measured(w, "ratio_udp_ping", ratio(r->mean_ns, b->udp_ping_ns), 3);
	}
}

void perf_json(FILE *out, const struct perf_result *r, const struct perf_baseline *b)
{
	const struct perf_test *t = &r->test;
	struct json_writer w = json_file(out);

	json_object(&w, NULL, JSON_INLINE);
	json_text(&w, "op", perf_op_names[t->op]);
	json_text(&w, "mode", mode_names[t->mode]);
	json_text(&w, "transport", transport_names[t->transport]);
	json_text(&w, "driver", r->driver);
	json_number(&w, "bytes", t->size);
	json_number(&w, "qps", t->qps);
	json_number(&w, "depth", t->depth);
	json_number(&w, "pmtu", t->pmtu);
	json_number(&w, "messages", r->messages);
	json_number(&w, "elapsed_ns", r->elapsed_ns);
	json_number(&w, "retransmitted", r->retransmitted);
	if (transport_has(transports[t->transport], TRANSPORT_PROFILES))
		json_evs(&w, r);
	json_reasons(&w, r);
	if (*r->digest)
		json_text(&w, "payload_sha256", r->digest);
	if (t->mode == PERF_LATENCY) {
		json_latency(&w, r);
	} else {
		json_number(&w, "bits_per_second", bits_per_second(r));
		json_number(&w, "messages_per_second", messages_per_second(r));
	}
	if (b)
		json_baseline(&w, r, b);
	json_close(&w);
	json_end(&w);
	fflush(out);
}
