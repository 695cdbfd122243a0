#include "tools/perf/perf.h"

#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command.h"

#define STATUS_FAILED 1 /* a test did not come to its end */
#define VERSION       3
#define TEST_NUMBERS  8u /* of the line that names a test */
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
			    "  1    a test failed, or --once met a client that ran none; standard\n"
			    "       error says why\n"
			    "  2    the command line is wrong\n"
			    "  3    the output cannot be written\n"
			    "\n"
			    "examples:\n"
			    "  weft perf --server &\n"
			    "  weft perf --sweep 127.0.0.1\n"
			    "  weft perf --op read --size 1048576 --qps 4 --json 127.0.0.1\n"
			    "  weft perf --latency --compare ::1\n"
			    "  weft perf --transport mrc --verify --driver raw 192.0.2.1\n"
			    "  weft perf -i 1 --duration 10000 127.0.0.1\n"
			    "  weft perf --transport mrc --profile 7 127.0.0.1\n";

struct job {
	const char *name;
	bool is_server, is_once, has_sweep, has_compare, json;
	const char *address, *host;
	uint16_t port;
	struct perf_choice choice;
	uint8_t driver; /* enum config_driver; CONFIG_DRIVERS: the device's own */
	uint32_t interval_ms;
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

static int set_interval(void *context, char *text)
{
	struct job *job = context;
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= 0.1) || !(seconds <= 3600))
		return usage_error(job->name, "--interval takes seconds from 0.1 to 3600, not '%s'",
				   text);
	job->interval_ms = (uint32_t)(seconds * 1e3 + 0.5);
	return STATUS_OK;
}

static int set_profile(void *context, char *text)
{
	struct job *job = context;

	job->choice.has_profile = true;
	return parse_number(text, 0, UINT64_MAX, &job->choice.profile)
		       ? STATUS_OK
		       : usage_error(job->name,
				     "--profile takes the number of an EV profile, not '%s'; 'weft "
				     "ctl show' lists them",
				     text);
}

static const struct command_option options[] = {
	{"server", NULL, "wait for clients, one after another", OPTION_INTO(is_server)},
	{"once", NULL,
	 "the server ends with its first client, and says by its exit\n"
	 "status how that went",
	 OPTION_INTO(is_once)},
	{"bind", "ADDRESS", "where the server listens (default: everywhere)", OPTION_INTO(address)},
	{"port", "N", "TCP port of the set-up connection (default: 18515)", OPTION_INTO(port),
	 .low = 1, .high = 65535},
	{"op", "OP",
	 "write, read, send, atomic or write-imm (default: write);\nmrc: write or write-imm",
	 OPTION_INTO(test.op), .words = perf_op_names},
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
	{"transport", "NAME", "rc or mrc (default: rc; a server takes what the client wants)",
	 OPTION_INTO(choice.transport), .words = transport_names},
	{"driver", "NAME", "udp, raw or xdp (default: what the device is set up with)",
	 OPTION_INTO(driver), .words = config_driver_names},
	{"device", "NAME", "of 'weft devices' (default: the one with the address)",
	 OPTION_INTO(choice.device)},
	{"profile", "ID", "the EV profile of 'weft ctl' that this side's queue pairs use (mrc)",
	 .read = set_profile},
	{"interval", "SECONDS", "report also while a test runs; a server, what arrives",
	 .letter = 'i', .read = set_interval},
	{"verify", NULL, "check by SHA-256 that what was sent is what arrived",
	 OPTION_INTO(test.is_verified)},
	{"compare", NULL, "run iperf3 over TCP and bare UDP beside it, print ratios",
	 OPTION_INTO(has_compare)},
	{"json", NULL, "a JSON object a line instead of the table", OPTION_INTO(json)},
	{.name = NULL},
};
_Static_assert(PERF_LATENCY == 1, "--latency makes the mode 1");

static const enum engine_op engine_ops[PERF_OPS] = {
	[PERF_WRITE] = ENGINE_WRITE,         [PERF_READ] = ENGINE_READ,
	[PERF_SEND] = ENGINE_SEND,           [PERF_ATOMIC] = ENGINE_ATOMIC,
	[PERF_WRITE_IMM] = ENGINE_WRITE_IMM,
};

/* An operation that the transport does not have, and those that it has. */
static int refuse_op(const struct job *job)
{
	const struct transport *t = transports[job->test.transport];
	char list[128] = "";
	size_t len = 0;

	for (uint32_t op = 0; op < PERF_OPS && len < sizeof list; op++)
		if (transport_takes(t, engine_ops[op]))
			len += (size_t)snprintf(list + len, sizeof list - len, "%s--op %s",
						len ? " and " : "", perf_op_names[op]);
	return usage_error(job->name, "%s has no %s: it does %s", t->name,
			   perf_op_names[job->test.op], list);
}

/* What does not go together. */
static int check_test(const struct job *job)
{
	const struct perf_test *t = &job->test;
	bool is_sent = t->op == PERF_WRITE || t->op == PERF_SEND || t->op == PERF_WRITE_IMM;

	if (!transport_takes(transports[t->transport], engine_ops[t->op]))
		return refuse_op(job);
	if (t->is_verified && (!is_sent || t->mode == PERF_LATENCY))
		return usage_error(job->name,
				   "--verify is for the bandwidth of write, send and write-imm");
	if (t->mode == PERF_LATENCY && t->qps > 1)
		return usage_error(job->name, "--latency uses one queue pair");
	const char *why = perf_too_large(t);

	return why ? usage_error(job->name, "%s", why) : STATUS_OK;
}

/* A server that waits for what a client wants may be asked for any transport. */
static bool may_have_profile(const struct job *job)
{
	return (job->is_server && job->choice.transport == TRANSPORTS) ||
	       transport_has(transports[job->test.transport], TRANSPORT_PROFILES);
}

static int read_options(struct job *job, int argc, char **argv)
{
	int status = command_options(&perf_command, argc, argv, job);

	if (status != STATUS_OK)
		return status;
	/* What else a device has depends on its driver: it is to be known when they are listed. */
	if (job->driver != CONFIG_DRIVERS &&
	    setenv("WEFT_DRIVER", config_driver_names[job->driver], 1))
		return usage_error(job->name, "--driver: %s", strerror(errno));
	if (job->choice.transport != TRANSPORTS)
		job->test.transport = job->choice.transport;
	if (job->choice.has_profile && !may_have_profile(job))
		return usage_error(job->name, "--profile is for --transport mrc");
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
	return check_test(job);
}

/* What a client's line asks for; false: nothing that makes sense. */
static bool read_test(const char *line, struct perf_test *t)
{
	uint64_t v[TEST_NUMBERS];

	if (!perf_numbers(line, "test", v, TEST_NUMBERS) || v[0] >= PERF_OPS ||
	    v[1] >= PERF_MODES || v[2] > 4096 || v[3] == 0 || v[3] > PERF_SIZE_MAX || v[4] == 0 ||
	    v[4] > PERF_QPS_MAX || v[5] == 0 || v[5] > PERF_DEPTH_MAX || v[6] >= TRANSPORTS ||
	    v[7] > 1)
		return false;
	*t = (struct perf_test){
		.op = (uint8_t)v[0],
		.mode = (uint8_t)v[1],
		.pmtu = (uint16_t)v[2],
		.size = (uint32_t)v[3],
		.qps = (uint32_t)v[4],
		.depth = (uint32_t)v[5],
		.transport = (uint8_t)v[6],
		.is_verified = (uint8_t)v[7],
	};
	return t->size <= transports[t->transport]->message_max &&
	       transport_takes(transports[t->transport], engine_ops[t->op]);
}

/* Says to the client, and to whoever looks at the server, why a test is not run. */
__attribute__((format(printf, 2, 3))) static int refuse(struct perf_link *l, const char *format,
							...)
{
	char why[PERF_LINE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	fprintf(stderr, "%s: refused a test: %s\n", l->name, why);
	perf_send_line(l, "error %.400s", why);
	return -EPROTO;
}

/* The server's side of one test. */
static int serve_test(struct perf_link *l, const char *line)
{
	uint8_t only = l->choice.transport;
	char word[PERF_LINE_MAX], digest[PERF_DIGEST_TEXT] = "";
	struct perf_test t;
	struct perf_end end;

	if (!read_test(line, &t))
		return refuse(l, "a test that this server does not know");
	if (only != TRANSPORTS && only != t.transport)
		return refuse(l,
			      "this server was started with --transport %s, and the test is one of "
			      "%s",
			      transport_names[only], transport_names[t.transport]);
	if (perf_too_large(&t))
		return refuse(l, "%s", perf_too_large(&t));
	int answer = perf_end_open(&end, l, &t);

	if (answer != 0)
		return answer;
	answer = perf_serve(&end, l);
	if (answer == 0 && t.is_verified)
		answer = perf_digest(&end, true, digest);
	perf_end_close(&end);
	if (answer != 0)
		return answer;
	answer = perf_read_line(l, word);
	return answer != 0 ? answer : perf_send_line(l, "bye%s%s", *digest ? " " : "", digest);
}

/* Everything one client asks for. STATUS_OK: it ran a test, and none failed. */
static int serve_client(struct perf_link *l)
{
	char line[PERF_LINE_MAX], who[INET6_ADDRSTRLEN];
	uint32_t n_tests = 0;

	if (perf_send_line(l, "weft-perf %d", VERSION) != 0)
		return STATUS_FAILED;
	int answer = perf_read_first_line(l, line);

	while (answer == 0) {
		answer = perf_compare_serve(l, line);
		if (answer == -ENOTSUP) {
			answer = serve_test(l, line);
			n_tests += answer == 0;
		}
		if (answer == 0)
			answer = perf_read_line_or_end(l, line);
	}
	if (n_tests == 0 && answer == -ENOTCONN) {
		perf_address_text(&l->remote, who);
		fprintf(stderr, "%s: the client at %s left without a test\n", l->name, who);
	}
	return n_tests > 0 && answer == -ENOTCONN ? STATUS_OK : STATUS_FAILED;
}

static int run_server(const struct job *job)
{
	struct perf_door door = {.listener = perf_listen(job->name, job->address, job->port),
				 .is_once = job->is_once};
	int status;

	if (door.listener < 0)
		return STATUS_FAILED;
	fprintf(stderr, "%s: waiting on port %u\n", job->name, job->port);
	do {
		struct perf_link l = {.name = job->name,
				      .choice = job->choice,
				      .door = &door,
				      .interval_ms = job->interval_ms,
				      .json = job->json};

		if (perf_link_take(&l) != 0) {
			close(door.listener);
			return STATUS_FAILED;
		}
		status = serve_client(&l);
		perf_link_close(&l);
	} while (!job->is_once);
	close(door.listener);
	return status;
}

/* Whether the other side has what was sent, by its last line. */
static int check_payload(struct perf_link *l, const struct perf_end *e, const char *line,
			 struct perf_result *r)
{
	const char *theirs = strchr(line, ' ');
	int answer = perf_digest(e, false, r->digest);

	if (answer != 0)
		return answer;
	if (theirs && strcmp(theirs + 1, r->digest) == 0)
		return 0;
	fprintf(stderr, "%s: the payload is not what was sent: SHA-256 %s here, %s there\n",
		l->name, r->digest, theirs ? theirs + 1 : "none");
	return -EBADMSG;
}

/* One test, from its first word to its last. */
static int measure(struct perf_link *l, const struct perf_test *t, struct perf_result *result)
{
	struct perf_end end;
	char line[PERF_LINE_MAX];
	int answer = perf_send_line(l, "test %u %u %u %u %u %u %u %u", t->op, t->mode, t->pmtu,
				    t->size, t->qps, t->depth, t->transport, t->is_verified);

	if (answer == 0)
		answer = perf_end_open(&end, l, t);
	if (answer != 0)
		return answer;
	answer = perf_read_line(l, line);
	if (answer == 0)
		answer = perf_drive(&end, l, result);
	/* The server has posted nothing that we still owe an answer to. */
	if (answer == 0)
		answer = perf_send_line(l, "stop");
	if (answer == 0)
		answer = perf_read_line(l, line);
	if (answer == 0 && t->is_verified)
		answer = check_payload(l, &end, line, result);
	perf_end_close(&end);
	return answer;
}

static int run_test(struct perf_link *l, const struct job *job, const struct perf_test *wanted)
{
	struct perf_test t = *wanted;
	struct perf_result result;
	struct perf_baseline baseline = {.tcp_bps = 0};

	t.depth = perf_depth(&t);
	int answer = measure(l, &t, &result);

	if (answer == 0 && job->has_compare)
		answer = perf_compare(l, &t, &baseline);
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
		t.pmtu = perf_best_pmtu(l, t.transport);
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
	struct perf_link l = {.name = job->name,
			      .choice = job->choice,
			      .interval_ms = job->interval_ms,
			      .json = job->json};
	char line[PERF_LINE_MAX];
	uint64_t version;
	int answer = perf_link_open(&l, job->host, job->port);

	if (answer != 0)
		return STATUS_FAILED;
	answer = perf_read_greeting(&l, line);
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
		.choice = {.transport = TRANSPORTS},
		.driver = CONFIG_DRIVERS,
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
