#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/capture.h"
#include "tools/command.h"
#include "tools/print.h"

#define PROGRESS_MIN_BYTES (50u << 20)
#define PROGRESS_EVERY     256u /* packets */

static const char help[] =
	"usage: weft decode [-v] [--json] [--count N] [--port N] [--trimmed DSCP]\n"
	"                   [--trimmed-lasthop DSCP] [--usid f3216|f1616] FILE...\n"
	"\n"
	"Prints the RoCEv2 and MRC packets of pcap and pcapng captures, one line each,\n"
	"and says what is wrong with those that are malformed. FILE - is standard input.\n"
	"\n"
	"  -v, --verbose           every header and field under the packet's line\n"
	"  --json                  one JSON object a line: the packets, then a summary\n"
	"  --count N               stop after N packets of each file\n"
	"  --port N                UDP destination port of RoCE (default 4791)\n"
	"  --trimmed DSCP          packets with this DSCP were trimmed by a switch\n"
	"  --trimmed-lasthop DSCP  the same, by the last switch\n"
	"  --usid FORMAT           uSID containers: f3216 (default) or f1616\n"
	"\n"
	"exit status:\n"
	"  0  every packet is right, or is none of ours\n"
	"  1  at least one packet is malformed\n"
	"  2  the command line is wrong\n"
	"  3  a file cannot be read, is not a capture or ends in mid-packet,\n"
	"     or the output cannot be written\n"
	"\n"
	"examples:\n"
	"  tcpdump -U -w - udp port 4791 | weft decode -\n"
	"  weft decode --json FILE | jq 'select(.verdict == \"malformed\") | .fault'\n";

/* One run of the command. record and tally are large, so the job is not on the stack. */
struct job {
	const char *name; /* "weft decode" */
	struct net_cfg net;
	uint64_t count;
	bool help, json, verbose, headings, progress;
	struct view view;
	struct record record;
	struct tally tally;
};

enum { OPT_JSON = 256, OPT_COUNT, OPT_PORT, OPT_TRIMMED, OPT_LASTHOP, OPT_USID };

static const struct option options[] = {
	{"verbose", no_argument, NULL, 'v'},
	{"json", no_argument, NULL, OPT_JSON},
	{"count", required_argument, NULL, OPT_COUNT},
	{"port", required_argument, NULL, OPT_PORT},
	{"trimmed", required_argument, NULL, OPT_TRIMMED},
	{"trimmed-lasthop", required_argument, NULL, OPT_LASTHOP},
	{"usid", required_argument, NULL, OPT_USID},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int set_number(struct job *job, int option)
{
	static const struct {
		int option;
		const char *name;
		uint64_t low, high;
	} ranges[] = {
		{OPT_COUNT, "--count", 1, 1000000000000},
		{OPT_PORT, "--port", 1, 65535},
		{OPT_TRIMMED, "--trimmed", 0, 63},
		{OPT_LASTHOP, "--trimmed-lasthop", 0, 63},
	};
	unsigned i = 0;
	uint64_t value;

	while (ranges[i].option != option)
		i++;
	if (!parse_number(optarg, ranges[i].low, ranges[i].high, &value))
		return usage_error(job->name,
				   "%s takes a number from %" PRIu64 " to %" PRIu64 ", not '%s'",
				   ranges[i].name, ranges[i].low, ranges[i].high, optarg);
	switch (option) {
	case OPT_COUNT: job->count = value; break;
	case OPT_PORT: job->net.roce_port = (uint16_t)value; break;
	case OPT_TRIMMED: job->net.dscp_trimmed = (uint8_t)value; break;
	default: job->net.dscp_trimmed_lasthop = (uint8_t)value; break;
	}
	return STATUS_OK;
}

static int set_usid(struct job *job)
{
	if (strcmp(optarg, usid_format_name(USID_F3216)) == 0)
		job->view.usid = USID_F3216;
	else if (strcmp(optarg, usid_format_name(USID_F1616)) == 0)
		job->view.usid = USID_F1616;
	else
		return usage_error(job->name, "--usid takes f3216 or f1616, not '%s'", optarg);
	return STATUS_OK;
}

/* arg is the argument that getopt read last. */
static int set_option(struct job *job, int option, const char *arg)
{
	switch (option) {
	case 'v': job->verbose = true; return STATUS_OK;
	case 'h': job->help = true; return STATUS_OK;
	case OPT_JSON: job->json = true; return STATUS_OK;
	case OPT_USID: return set_usid(job);
	case ':': return usage_error(job->name, "%s needs a value", arg);
	case '?': return usage_bad_option(job->name, options, arg);
	default: return set_number(job, option);
	}
}

/* A percentage, for a large file on a terminal where nothing else moves. */
static void show_progress(const struct job *job, const struct capture *c, unsigned *shown)
{
	uint64_t size = capture_size(c);

	if (size < PROGRESS_MIN_BYTES || !job->progress)
		return;
	unsigned percent = (unsigned)(capture_position(c) * 100 / size);

	if (percent != *shown)
		fprintf(stderr, "\rdecoding: %u%%", percent);
	*shown = percent;
}

static void erase_progress(unsigned shown)
{
	if (shown)
		fputs("\r\033[K", stderr);
}

static void print_packet(struct job *job)
{
	struct record *r = &job->record;

	if (r->number == 1) {
		job->view.first_sec = r->cap.sec;
		job->view.first_nsec = r->cap.nsec;
	}
	if (job->json) {
		json_print(job->view.out, r);
		return;
	}
	line_print(&job->view, r);
	if (job->verbose)
		tree_print(&job->view, r);
}

/* Prints the packets of an open capture; CAPTURE_BROKEN when it ended badly. */
static enum capture_step decode_packets(struct job *job, struct capture *c, struct text *why)
{
	struct record *r = &job->record;
	struct capture_link link = capture_link(c);
	enum capture_step step = CAPTURE_END;
	unsigned percent = 0;

	for (r->number = 1; job->count == 0 || r->number <= job->count; r->number++) {
		step = capture_next(c, &r->cap, why);
		if (step != CAPTURE_PACKET)
			break;
		record_decode(r, link, &job->net);
		tally_add(&job->tally, r);
		print_packet(job);
		if (is_output_broken())
			break;
		if (r->number % PROGRESS_EVERY == 0)
			show_progress(job, c, &percent);
	}
	erase_progress(percent);
	return step;
}

static void print_summary(struct job *job, const char *file)
{
	if (job->json)
		json_summary(job->view.out, file, &job->tally);
	else
		line_summary(&job->view, file, &job->tally);
}

/* What was printed so far comes first where both streams share a terminal. */
static void begin_error(const struct job *job, const char *file)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", job->name);
	text_put_safe(stderr, file);
	fputs(": ", stderr);
}

static int decode_file(struct job *job, const char *path)
{
	const char *shown = strcmp(path, "-") == 0 ? "standard input" : path;
	struct text why;
	struct capture *c = capture_open(path, &why);

	if (!c) {
		begin_error(job, shown);
		fprintf(stderr, "%s\n", why.at);
		return STATUS_FILE;
	}
	memset(&job->tally, 0, sizeof job->tally);
	if (job->headings && !job->json) {
		text_put_safe(job->view.out, shown);
		fputs(":\n", job->view.out);
	}
	enum capture_step step = decode_packets(job, c, &why);

	capture_close(c);
	if (!is_output_broken())
		print_summary(job, shown);
	if (step == CAPTURE_BROKEN) {
		begin_error(job, shown);
		fprintf(stderr,
			"stopped after packet %" PRIu64 ": %s; the rest of the capture is lost\n",
			job->tally.packets, why.at);
		return STATUS_FILE;
	}
	return job->tally.by_verdict[VERDICT_MALFORMED] ? STATUS_MALFORMED : STATUS_OK;
}

static int decode_files(struct job *job, int n, char **paths)
{
	int worst = STATUS_OK;

	job->headings = n > 1;
	for (int i = 0; i < n && !is_output_broken(); i++) {
		int status = decode_file(job, paths[i]);

		worst = status > worst ? status : worst;
	}
	return worst;
}

static bool wants_color(void)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color) && term &&
	       strcmp(term, "dumb") != 0;
}

/* Reads the options; optind then stands on the first file. */
static int read_options(struct job *job, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, ":vh", options, NULL)) != -1) {
		int status = set_option(job, option, argv[optind - 1]);

		if (status != STATUS_OK)
			return status;
	}
	if (job->help)
		return STATUS_OK;
	if (optind == argc)
		return usage_error(job->name,
				   "name at least one capture file, or - for standard input");
	if (job->net.dscp_trimmed != NET_DSCP_NONE &&
	    job->net.dscp_trimmed == job->net.dscp_trimmed_lasthop)
		return usage_error(job->name, "--trimmed and --trimmed-lasthop must differ");
	return STATUS_OK;
}

static int run(int argc, char **argv)
{
	struct job *job = calloc(1, sizeof *job);

	if (!job) {
		fprintf(stderr, "%s: out of memory\n", argv[0]);
		return STATUS_FILE;
	}
	job->name = argv[0];
	job->net = net_cfg_default();
	job->view.out = stdout;
	job->view.color = wants_color();
	job->progress = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	int status = read_options(job, argc, argv);

	if (status == STATUS_OK && job->help)
		fputs(help, stdout);
	else if (status == STATUS_OK)
		status = decode_files(job, argc - optind, argv + optind);
	int written = finish_output(job->name);

	free(job);
	return written > status ? written : status;
}

const struct command decode_command = {
	"decode",
	"print the packets of a capture, and what is wrong with them",
	help,
	run,
};
