#include "tools/perf.h"

#include <errno.h>
#include <getopt.h>
#include <unistd.h>

#include "tools/command.h"

#define STATUS_FAILED 1 /* a test did not come to its end */
#define VERSION       1
#define SWEEP_LAST    (UINT32_C(1) << 23)

static const char usage[] =
	"usage: weft perf --server [OPTION...]\n"
	"       weft perf [OPTION...] HOST\n"
	"\n"
	"Measures a transport of weft between two processes: a server that waits, and a\n"
	"client that runs the tests against it and prints the figures. The device is the\n"
	"one with the address of the connection between them.\n";

static const char notes[] = "exit status:\n"
			    "  0    every test ran to its end\n"
			    "  1    a test failed; standard error says why\n"
			    "  2    the command line is wrong\n"
			    "  3    the output cannot be written\n"
			    "\n"
			    "examples:\n"
			    "  weft perf --server &\n"
			    "  weft perf --sweep 127.0.0.1\n"
			    "  weft perf --op read --size 1048576 --qps 4 --json 127.0.0.1\n"
			    "  weft perf --latency --compare ::1\n";

struct job {
	const char *name;
	bool is_server, is_once, has_sweep, has_compare, json;
	const char *address, *host;
	uint16_t port;
	struct perf_test test;
};

static int set_pmtu(void *context, char *text)
{
	struct job *job = context;
	uint64_t value = 0;

	if (!parse_number(text, 256, 4096, &value) || (value & (value - 1)) != 0)
		return usage_error(job->name, "--pmtu takes 256, 512, 1024, 2048 or 4096, not '%s'",
				   text);
	job->test.pmtu = (uint16_t)value;
	return STATUS_OK;
}

static const char *const transports[] = {"rc", NULL};

static const struct command_option options[] = {
	{"server", NULL, "wait for clients, one after another", OPTION_INTO(is_server)},
	{"once", NULL, "the server ends with its first client", OPTION_INTO(is_once)},
	{"bind", "ADDRESS", "where the server listens (default: everywhere)", OPTION_INTO(address)},
	{"port", "N", "TCP port of the set-up connection (default: 18515)", OPTION_INTO(port),
	 .low = 1, .high = 65535},
	{"op", "OP", "write, read, send or atomic (default: write)", OPTION_INTO(test.op),
	 .words = perf_op_names},
	{"latency", NULL, "one message at a time, and percentiles", OPTION_INTO(test.mode)},
	{"size", "BYTES", "of a message (default: 65536; 64 with --latency; atomics: 8)",
	 OPTION_INTO(test.size), .low = 1, .high = PERF_SIZE_MAX},
	{"sweep", NULL, "every power of two from 2 bytes to 8 MiB", OPTION_INTO(has_sweep)},
	{"count", "N", "messages of each test", OPTION_INTO(test.count), .low = 1,
	 .high = UINT64_C(1) << 40},
	{"duration", "MS", "or so long (default: 1000)", OPTION_INTO(test.duration_ms), .low = 1,
	 .high = 3600000},
	{"qps", "N", "queue pairs (default: 1)", OPTION_INTO(test.qps), .low = 1,
	 .high = PERF_QPS_MAX},
	{"depth", "N", "messages out at once on each (default: 128)", OPTION_INTO(test.depth),
	 .low = 1, .high = PERF_DEPTH_MAX},
	{"pmtu", "BYTES", "256, 512, 1024, 2048, 4096 (default: what fits the interface)",
	 .read = set_pmtu},
	{"transport", "rc", "the transport; rc is the only one there is", .words = transports},
	{"compare", NULL, "run iperf3 over TCP and bare UDP beside it, print ratios",
	 OPTION_INTO(has_compare)},
	{"json", NULL, "a JSON object a line instead of the table", OPTION_INTO(json)},
	{.name = NULL},
};
_Static_assert(PERF_LATENCY == 1, "--latency makes the mode 1");

static int read_options(struct job *job, int argc, char **argv)
{
	int status = command_options(&perf_command, argc, argv, job);

	if (status != STATUS_OK)
		return status;
	if (job->is_server && optind < argc)
		return usage_error(job->name, "--server takes no host");
	if (!job->is_server && optind + 1 != argc)
		return usage_error(job->name, "name one host, or say --server");
	if (!job->is_server && job->is_once)
		return usage_error(job->name, "--once is for the server");
	job->host = argv[optind];
	if (job->test.op == PERF_ATOMIC &&
	    (job->test.size != 0 ? job->test.size != 8 : job->has_sweep))
		return usage_error(job->name, "an atomic has 8 bytes");
	if (job->test.op == PERF_ATOMIC)
		job->test.size = 8;
	else if (job->test.size == 0)
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
	int listener = perf_listen(job->name, job->address, job->port);

	if (listener < 0)
		return STATUS_FAILED;
	fprintf(stderr, "%s: waiting on port %u\n", job->name, job->port);
	do {
		struct perf_link l = {.name = job->name};

		if (perf_link_take(&l, listener) != 0) {
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
	int answer = perf_link_open(&l, job->host, job->port);

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

	if (status == STATUS_OK)
		status = job.is_server ? run_server(&job) : run_client(&job);
	int printed = finish_output(job.name);

	return status > STATUS_OK ? status : printed;
}

const struct command perf_command = {
	.name = "perf",
	.brief = "measure bandwidth, latency and message rate between two processes",
	.usage = usage,
	.options = options,
	.notes = notes,
	.run = run,
};
