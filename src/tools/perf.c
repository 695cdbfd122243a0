#include "tools/perf.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command.h"

#define STATUS_FAILED 1 /* a test did not come to its end */
#define VERSION       1
#define SWEEP_LAST    (UINT32_C(1) << 23)

static const char help[] =
	"usage: weft perf --server [OPTION...]\n"
	"       weft perf [OPTION...] HOST\n"
	"\n"
	"Measures a transport of weft between two processes: a server that waits, and a\n"
	"client that runs the tests against it and prints the figures. The device is the\n"
	"one with the address of the connection between them.\n"
	"\n"
	"  --server          wait for clients, one after another\n"
	"  --once            the server ends with its first client\n"
	"  --bind ADDRESS    where the server listens (default: everywhere)\n"
	"  --port N          TCP port of the set-up connection (default: 18515)\n"
	"  --op OP           write, read, send or atomic (default: write)\n"
	"  --latency         one message at a time, and percentiles\n"
	"  --size BYTES      of a message (default: 65536; 64 with --latency; atomics: 8)\n"
	"  --sweep           every power of two from 2 bytes to 8 MiB\n"
	"  --count N         messages of each test\n"
	"  --duration MS     or so long (default: 1000)\n"
	"  --qps N           queue pairs (default: 1)\n"
	"  --depth N         messages out at once on each (default: 128)\n"
	"  --pmtu BYTES      256, 512, 1024, 2048, 4096 (default: what fits the interface)\n"
	"  --transport rc    the transport; rc is the only one there is\n"
	"  --compare         run iperf3 over TCP and bare UDP beside it, print ratios\n"
	"  --json            a JSON object a line instead of the table\n"
	"\n"
	"exit status:\n"
	"  0    every test ran to its end\n"
	"  1    a test failed; standard error says why\n"
	"  2    the command line is wrong\n"
	"\n"
	"examples:\n"
	"  weft perf --server &\n"
	"  weft perf --sweep 127.0.0.1\n"
	"  weft perf --op read --size 1048576 --qps 4 --json 127.0.0.1\n"
	"  weft perf --latency --compare ::1\n";

struct job {
	const char *name;
	bool help, is_server, is_once, has_sweep, has_compare, json, has_size;
	const char *address, *host;
	uint64_t port;
	struct perf_test test;
};

enum {
	OPT_SERVER = 256,
	OPT_ONCE,
	OPT_BIND,
	OPT_PORT,
	OPT_OP,
	OPT_LATENCY,
	OPT_SIZE,
	OPT_SWEEP,
	OPT_COUNT,
	OPT_DURATION,
	OPT_QPS,
	OPT_DEPTH,
	OPT_PMTU,
	OPT_TRANSPORT,
	OPT_COMPARE,
	OPT_JSON,
};

static const struct option options[] = {
	{"server", no_argument, NULL, OPT_SERVER},
	{"once", no_argument, NULL, OPT_ONCE},
	{"bind", required_argument, NULL, OPT_BIND},
	{"port", required_argument, NULL, OPT_PORT},
	{"op", required_argument, NULL, OPT_OP},
	{"latency", no_argument, NULL, OPT_LATENCY},
	{"size", required_argument, NULL, OPT_SIZE},
	{"sweep", no_argument, NULL, OPT_SWEEP},
	{"count", required_argument, NULL, OPT_COUNT},
	{"duration", required_argument, NULL, OPT_DURATION},
	{"qps", required_argument, NULL, OPT_QPS},
	{"depth", required_argument, NULL, OPT_DEPTH},
	{"pmtu", required_argument, NULL, OPT_PMTU},
	{"transport", required_argument, NULL, OPT_TRANSPORT},
	{"compare", no_argument, NULL, OPT_COMPARE},
	{"json", no_argument, NULL, OPT_JSON},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* A number in [low, high] for the option last read. */
static int number(const struct job *job, const char *option, uint64_t low, uint64_t high,
		  uint64_t *value)
{
	if (parse_number(optarg, low, high, value))
		return STATUS_OK;
	return usage_error(job->name, "%s takes a number from %" PRIu64 " to %" PRIu64 ", not '%s'",
			   option, low, high, optarg);
}

static int set_op(struct job *job)
{
	for (uint32_t op = 0; op < PERF_OPS; op++)
		if (strcmp(optarg, perf_op_name((uint8_t)op)) == 0) {
			job->test.op = (uint8_t)op;
			return STATUS_OK;
		}
	return usage_error(job->name, "--op takes write, read, send or atomic, not '%s'", optarg);
}

static int set_pmtu(struct job *job)
{
	uint64_t value = 0;

	if (!parse_number(optarg, 256, 4096, &value) || (value & (value - 1)) != 0)
		return usage_error(job->name, "--pmtu takes 256, 512, 1024, 2048 or 4096, not '%s'",
				   optarg);
	job->test.pmtu = (uint16_t)value;
	return STATUS_OK;
}

static int set_number(struct job *job, int option)
{
	struct perf_test *t = &job->test;
	uint64_t value = 0;
	int status;

	switch (option) {
	case OPT_PORT: return number(job, "--port", 1, 65535, &job->port);
	case OPT_COUNT: return number(job, "--count", 1, UINT64_C(1) << 40, &t->count);
	case OPT_SIZE:
		status = number(job, "--size", 1, PERF_SIZE_MAX, &value);
		t->size = (uint32_t)value;
		job->has_size = true;
		return status;
	case OPT_DURATION:
		status = number(job, "--duration", 1, 3600000, &value);
		t->duration_ms = (uint32_t)value;
		return status;
	case OPT_QPS:
		status = number(job, "--qps", 1, PERF_QPS_MAX, &value);
		t->qps = (uint32_t)value;
		return status;
	default:
		status = number(job, "--depth", 1, PERF_DEPTH_MAX, &value);
		t->depth = (uint32_t)value;
		return status;
	}
}

static int set_option(struct job *job, int option, const char *arg)
{
	switch (option) {
	case OPT_SERVER: job->is_server = true; return STATUS_OK;
	case OPT_ONCE: job->is_once = true; return STATUS_OK;
	case OPT_BIND: job->address = optarg; return STATUS_OK;
	case OPT_OP: return set_op(job);
	case OPT_LATENCY: job->test.mode = PERF_LATENCY; return STATUS_OK;
	case OPT_SWEEP: job->has_sweep = true; return STATUS_OK;
	case OPT_PMTU: return set_pmtu(job);
	case OPT_COMPARE: job->has_compare = true; return STATUS_OK;
	case OPT_JSON: job->json = true; return STATUS_OK;
	case OPT_TRANSPORT:
		return strcmp(optarg, "rc") == 0
			       ? STATUS_OK
			       : usage_error(job->name, "--transport takes rc, not '%s'", optarg);
	case OPT_PORT:
	case OPT_COUNT:
	case OPT_SIZE:
	case OPT_DURATION:
	case OPT_QPS:
	case OPT_DEPTH: return set_number(job, option);
	case 'h': job->help = true; return STATUS_OK;
	case ':': return usage_error(job->name, "%s needs a value", arg);
	default: return usage_bad_option(job->name, options, arg);
	}
}

static int read_options(struct job *job, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		int status = set_option(job, option, argv[optind - 1]);

		if (status != STATUS_OK)
			return status;
	}
	if (job->help)
		return STATUS_OK;
	if (job->is_server && optind < argc)
		return usage_error(job->name, "--server takes no host");
	if (!job->is_server && optind + 1 != argc)
		return usage_error(job->name, "name one host, or say --server");
	if (!job->is_server && job->is_once)
		return usage_error(job->name, "--once is for the server");
	job->host = argv[optind];
	if (job->test.op == PERF_ATOMIC && (job->has_size ? job->test.size != 8 : job->has_sweep))
		return usage_error(job->name, "an atomic has 8 bytes");
	if (job->test.op == PERF_ATOMIC)
		job->test.size = 8;
	else if (!job->has_size)
		job->test.size = job->test.mode == PERF_LATENCY ? 64 : 65536;
	if (job->test.mode == PERF_LATENCY && job->test.qps > 1)
		return usage_error(job->name, "--latency uses one queue pair");
	const char *why = perf_too_large(&job->test);

	return why ? usage_error(job->name, "%s", why) : STATUS_OK;
}

/* The server's side of one test. */
static int serve_test(struct perf_link *l, const char *line)
{
	struct perf_test t = {.op = 0};
	struct perf_end end;
	char word[PERF_LINE_MAX];
	uint64_t v[6];

	if (!perf_numbers(line, "test", v, 6) || v[0] >= PERF_OPS || v[1] >= PERF_MODES ||
	    v[2] > 4096 || v[3] == 0 || v[3] > PERF_SIZE_MAX || v[4] == 0 || v[4] > PERF_QPS_MAX ||
	    v[5] == 0 || v[5] > PERF_DEPTH_MAX)
		return perf_tell(l, "error a test that this server does not know");
	t.op = (uint8_t)v[0];
	t.mode = (uint8_t)v[1];
	t.pmtu = (uint16_t)v[2];
	t.size = (uint32_t)v[3];
	t.qps = (uint32_t)v[4];
	t.depth = (uint32_t)v[5];
	if (perf_too_large(&t))
		return perf_tell(l, "error %s", perf_too_large(&t));
	int answer = perf_end_open(&end, l, &t);

	if (answer != 0)
		return answer;
	answer = perf_serve(&end, l);
	perf_end_close(&end);
	if (answer != 0)
		return answer;
	answer = perf_hear(l, word);
	return answer != 0 ? answer : perf_tell(l, "bye");
}

/* Everything one client asks for. */
static void serve_client(struct perf_link *l)
{
	char line[PERF_LINE_MAX];

	if (perf_tell(l, "weft-perf %d", VERSION) != 0)
		return;
	while (perf_hear_more(l, line) == 0) {
		int answer = perf_compare_serve(l, line);

		if (answer == -ENOTSUP)
			answer = serve_test(l, line);
		if (answer != 0)
			break;
	}
}

static int run_server(const struct job *job)
{
	int listener = perf_listen(job->name, job->address, (uint16_t)job->port);

	if (listener < 0)
		return STATUS_FAILED;
	fprintf(stderr, "%s: waiting on port %u\n", job->name, (unsigned)job->port);
	do {
		struct perf_link l = {.name = job->name};
		int answer = perf_link_take(&l, listener);

		if (answer == -EINTR || answer == -ECONNABORTED)
			continue;
		if (answer != 0) {
			close(listener);
			return STATUS_FAILED;
		}
		serve_client(&l);
		perf_link_close(&l);
	} while (!job->is_once);
	close(listener);
	return STATUS_OK;
}

static int run_test(struct perf_link *l, const struct job *job, const struct perf_test *t)
{
	struct perf_result result;
	struct perf_baseline baseline = {.tcp_bps = 0};
	struct perf_end end;
	char line[PERF_LINE_MAX];
	int answer = perf_tell(l, "test %u %u %u %u %u %u", t->op, t->mode, t->pmtu, t->size,
			       t->qps, t->depth);

	if (answer == 0)
		answer = perf_end_open(&end, l, t);
	if (answer != 0)
		return answer;
	answer = perf_hear(l, line);
	if (answer == 0)
		answer = perf_drive(&end, l, &result);
	/* The server has posted nothing that we still owe an answer to. */
	if (answer == 0)
		answer = perf_tell(l, "stop");
	if (answer == 0)
		answer = perf_hear(l, line);
	perf_end_close(&end);
	if (answer == 0 && job->has_compare)
		answer = perf_compare(l, t, &baseline);
	if (answer != 0)
		return answer;
	if (job->json) {
		perf_json(stdout, &result, &baseline);
		return 0;
	}
	perf_print(stdout, &result);
	perf_print_baseline(stdout, &result, &baseline);
	return 0;
}

static int run_tests(struct perf_link *l, const struct job *job)
{
	struct perf_test t = job->test;
	uint32_t last = job->has_sweep ? SWEEP_LAST : t.size;
	int answer = 0;

	if (t.pmtu == 0)
		t.pmtu = perf_best_pmtu(l);
	if (t.pmtu == 0)
		return -ENODEV;
	if (!job->json)
		perf_print_head(stdout, t.mode);
	if (job->has_sweep)
		t.size = 2;
	for (; answer == 0 && t.size <= last; t.size *= 2)
		answer = run_test(l, job, &t);
	return answer;
}

static int run_client(const struct job *job)
{
	struct perf_link l = {.name = job->name};
	char line[PERF_LINE_MAX];
	uint64_t version;
	int answer = perf_link_open(&l, job->host, (uint16_t)job->port);

	if (answer != 0)
		return STATUS_FAILED;
	answer = perf_hear(&l, line);
	if (answer == 0 && (!perf_numbers(line, "weft-perf", &version, 1) || version != VERSION)) {
		fprintf(stderr, "%s: the server speaks another version: %.40s\n", job->name, line);
		answer = -EPROTO;
	}
	if (answer == 0)
		answer = run_tests(&l, job);
	perf_link_close(&l);
	return answer == 0 ? STATUS_OK : STATUS_FAILED;
}

static int run(int argc, char **argv)
{
	struct job job = {
		.name = argv[0],
		.port = PERF_PORT,
		.test = {.qps = 1, .depth = 128, .duration_ms = 1000},
	};
	int status = read_options(&job, argc, argv);

	if (status != STATUS_OK)
		return status;
	if (job.help) {
		fputs(help, stdout);
		return finish_output(job.name);
	}
	/* A side that goes away is an answer of write, not the end of the program. */
	signal(SIGPIPE, SIG_IGN);
	status = job.is_server ? run_server(&job) : run_client(&job);
	int printed = finish_output(job.name);

	return status != STATUS_OK ? status : printed;
}

const struct command perf_command = {
	"perf",
	"measure bandwidth, latency and message rate between two processes",
	help,
	run,
};
