#include <inttypes.h>

#include "tools/perf.h"
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
			"Gb/s", "messages/s", "resent");
}

static void print_ways(FILE *out, const struct perf_result *r)
{
	fprintf(out,
		"  ways in use %" PRIu64 " of %" PRIu64 "; sent again %" PRIu64
		"; taken for lost: by a gap %" PRIu64 ", by a probe %" PRIu64 ", by a NACK %" PRIu64
		", by their port %" PRIu64 ", in silence %" PRIu64 "; spared %" PRIu64 "\n",
		r->ways_used, r->ways, r->retransmitted, r->lost_gap, r->lost_probe, r->lost_nack,
		r->lost_port, r->lost_timeout, r->spared);
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
	if (t->transport == NIC_MRC)
		print_ways(out, r);
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

static void json_latency(FILE *out, const struct perf_result *r)
{
	fprintf(out, ",\"min_ns\":%" PRIu64 ",\"mean_ns\":%" PRIu64, r->least_ns, r->mean_ns);
	for (uint32_t i = 0; i < PERF_PERCENTILES; i++)
		fprintf(out, ",\"%s_ns\":%" PRIu64, perf_percentiles[i].name, r->percentile_ns[i]);
	fprintf(out, ",\"max_ns\":%" PRIu64, r->most_ns);
}

static void json_ways(FILE *out, const struct perf_result *r)
{
	fprintf(out,
		",\"ways\":%" PRIu64 ",\"ways_used\":%" PRIu64 ",\"lost_gap\":%" PRIu64
		",\"lost_probe\":%" PRIu64 ",\"lost_nack\":%" PRIu64 ",\"lost_port\":%" PRIu64
		",\"lost_timeout\":%" PRIu64 ",\"spared\":%" PRIu64,
		r->ways, r->ways_used, r->lost_gap, r->lost_probe, r->lost_nack, r->lost_port,
		r->lost_timeout, r->spared);
}

void perf_json(FILE *out, const struct perf_result *r, const struct perf_baseline *b)
{
	const struct perf_test *t = &r->test;

	fprintf(out,
		"{\"op\":\"%s\",\"mode\":\"%s\",\"transport\":\"%s\",\"driver\":\"%s\","
		"\"bytes\":%u,\"qps\":%u,\"depth\":%u,\"pmtu\":%u,\"messages\":%" PRIu64
		",\"elapsed_ns\":%" PRIu64 ",\"retransmitted\":%" PRIu64,
		perf_op_names[t->op], mode_names[t->mode], nic_transport_names[t->transport],
		r->driver, t->size, t->qps, t->depth, t->pmtu, r->messages, r->elapsed_ns,
		r->retransmitted);
	if (t->transport == NIC_MRC)
		json_ways(out, r);
	if (*r->digest)
		fprintf(out, ",\"payload_sha256\":\"%s\"", r->digest);
	if (t->mode == PERF_LATENCY)
		json_latency(out, r);
	else
		fprintf(out, ",\"bits_per_second\":%" PRIu64 ",\"messages_per_second\":%" PRIu64,
			bits_per_second(r), messages_per_second(r));
	if (b && b->tcp_bps)
		fprintf(out, ",\"tcp_bits_per_second\":%" PRIu64 ",\"ratio_tcp\":%.3f", b->tcp_bps,
			ratio(bits_per_second(r), b->tcp_bps));
	if (b && b->udp_bps)
		fprintf(out, ",\"udp_bits_per_second\":%" PRIu64 ",\"ratio_udp\":%.3f", b->udp_bps,
			ratio(bits_per_second(r), b->udp_bps));
	if (b && b->udp_ping_ns)
		fprintf(out, ",\"udp_ping_ns\":%" PRIu64 ",\"ratio_udp_ping\":%.3f", b->udp_ping_ns,
			ratio(r->mean_ns, b->udp_ping_ns));
	fprintf(out, "}\n");
	fflush(out);
}
