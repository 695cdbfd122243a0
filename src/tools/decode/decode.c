#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/decode/capture.h"
#include "tools/decode/print.h"

#define PROGRESS_MIN_BYTES (50u << 20)
#define PROGRESS_EVERY     256u /* packets */

static const char usage[] =
	"usage: weft decode [-v] [--json] [--count N] [--port N] [--trimmed DSCPS]\n"
	"                   [--trimmed-lasthop DSCPS] [--usid f3216|f1616]\n"
	"                   [--endmt-type N] [--ignore RULE] FILE...\n"
	"       weft decode --rules [--json]\n"
	"\n"
	"Prints the RoCEv2 and MRC packets of pcap and pcapng captures, one line each,\n"
	"says what is wrong with those that are malformed, and which rules the others\n"
	"break. FILE - is standard input.\n"
	"Captures of weft sim and weft demo say themselves which port and DSCPs they use;\n"
	"options count before that.\n";

static const char notes[] =
	"exit status:\n"
	"  0  every packet is right as far as it was captured, or is none of ours\n"
	"  1  at least one packet is malformed, or has a warning: it breaks a rule\n"
	"  2  the command line is wrong\n"
	"  3  a file cannot be read, is not a capture or ends in mid-packet,\n"
	"     or the output cannot be written\n"
	"\n"
	"examples:\n"
	"  tcpdump -U -w - udp port 4791 | weft decode -\n"
	"  weft decode --json FILE | jq 'select(.verdict == \"malformed\") | .fault'\n"
	"  weft decode --ignore MRC-7.5.5.2-02 FILE     of the udp driver: kernel checksums\n";

/* One run of the command. record and tally are large, so the job is not on the stack. */
struct job {
	const char *name;     /* "weft decode" */
	struct net_cfg given; /* on the command line, but for the port */
	uint16_t port;        /* 0: not given */
	struct net_cfg net;   /* of the file at hand */
	uint64_t count;
	bool json, verbose, list_rules, headings, progress;
	struct view view;
	struct record record;
	struct tally tally;
	struct rules rules;
};

static int read_ignored(void *job, char *value)
{
	struct job *j = job;

	if (rules_ignore(&j->rules, value))
		return STATUS_OK;
	return usage_error(
		j->name, "--ignore: there is no rule '%s'; weft decode --rules lists them", value);
}

static int read_dscps(struct job *job, const char *option, char *value, uint64_t *dscps)
{
	struct text shown;

	text_clear(&shown);
	text_add(&shown, "%s", value);
	if (dscps_parse(value, dscps))
		return STATUS_OK;
	return usage_error(job->name,
			   "--%s takes numbers from 0 to 63, with commas between them, "
			   "not '%s'",
			   option, shown.at);
}

static int read_trimmed(void *job, char *value)
{
	struct job *j = job;

	return read_dscps(j, "trimmed", value, &j->given.trims.trimmed);
}

static int read_lasthop(void *job, char *value)
{
	struct job *j = job;

	return read_dscps(j, "trimmed-lasthop", value, &j->given.trims.lasthop);
}

/* Those of padding and HMAC cannot be its own, and from 128 on what a TLV says may change on the
 * way (T-03). */
static int read_endmt_type(void *job, char *value)
{
	struct job *j = job;
	uint64_t n;

	if (!parse_number(value, 0, 127, &n) || n == SRH_TLV_PADN || n == SRH_TLV_HMAC)
		return usage_error(
			j->name,
			"--endmt-type takes a number from 0 to 127 but %d and %d, not '%s'",
			SRH_TLV_PADN, SRH_TLV_HMAC, value);
	j->given.endmt_type = (uint8_t)n;
	return STATUS_OK;
}

static const struct command_option options[] = {
	{"verbose", NULL, "every header and field under the packet's line", OPTION_INTO(verbose),
	 .letter = 'v'},
	{"json", NULL, "one JSON object a line: the packets, then a summary", OPTION_INTO(json)},
	{"count", "N", "stop after N packets of each file", OPTION_INTO(count), .low = 1,
	 .high = 1000000000000},
	{"port", "N", "UDP destination port of RoCE (default 4791)", OPTION_INTO(port), .low = 1,
	 .high = 65535},
	{"trimmed", "DSCPS", "packets with these DSCPs (18,22) were trimmed by a switch",
	 .read = read_trimmed},
	{"trimmed-lasthop", "DSCPS", "the same, by the last switch", .read = read_lasthop},
	{"usid", "FORMAT", "uSID containers: f3216 (default) or f1616", OPTION_INTO(view.usid),
	 .words = usid_format_names},
	{"endmt-type", "N", "the TLV of End.MT in routing headers (default 124; 0: none)",
	 .read = read_endmt_type},
	{"ignore", "RULE", "no warnings of this rule (may be repeated)", .read = read_ignored},
	{"rules", NULL, "list the rules that packets are held against", OPTION_INTO(list_rules)},
	{.name = NULL},
};

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
		record_decode(r, link, &job->net, &job->rules);
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

/* The command line counts before what the file says of itself. */
static void choose_net(struct job *job, struct net_cfg found)
{
	job->net = job->given;
	*net_cfg_port(&job->net) = job->port ? job->port : *net_cfg_port(&found);
	struct net_trims *trims = &job->net.trims;

	if (!trims->trimmed)
		trims->trimmed = found.trims.trimmed & ~trims->lasthop;
	if (!trims->lasthop)
		trims->lasthop = found.trims.lasthop & ~trims->trimmed;
}

static int decode_file(struct job *job, const char *path)
{
	const char *shown = strcmp(path, "-") == 0 ? "standard input" : path;
	struct text why;
	struct capture *c = capture_open(path, &why);

	if (!c)
		return command_error(job->name, STATUS_FILE, shown, why.at);
	choose_net(job, capture_net(c));
	memset(&job->tally, 0, sizeof job->tally);
	rules_restart(&job->rules);
	if (job->headings && !job->json) {
		text_put_safe(job->view.out, shown);
		fputs(":\n", job->view.out);
	}
	enum capture_step step = decode_packets(job, c, &why);

	capture_close(c);
	if (!is_output_broken())
		print_summary(job, shown);
	if (step == CAPTURE_BROKEN) {
		struct text says;

		text_clear(&says);
		text_add(&says, "stopped after packet %" PRIu64 ": ", job->tally.packets);
		text_add(&says, "%s; the rest of the capture is lost", why.at);
		return command_error(job->name, STATUS_FILE, shown, says.at);
	}
	bool is_right = !job->tally.by_verdict[VERDICT_MALFORMED] && !job->tally.warnings;

	return is_right ? STATUS_OK : STATUS_MALFORMED;
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

static void list_rules(const struct job *job)
{
	if (job->json)
		json_rules(job->view.out);
	else
		line_rules(&job->view);
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
	int status = command_options(&decode_command, argc, argv, job);

	if (status != STATUS_OK || job->list_rules)
		return status;
	if (optind == argc)
		return usage_error(job->name,
				   "name at least one capture file, or - for standard input");
	if (job->given.trims.trimmed & job->given.trims.lasthop)
		return usage_error(job->name, "--trimmed and --trimmed-lasthop must differ");
	return STATUS_OK;
}

static int run(int argc, char **argv)
{
	struct job *job = calloc(1, sizeof *job);

	if (!job)
		return memory_error(argv[0]);
	job->name = argv[0];
	job->given = net_cfg_default();
	job->view.out = stdout;
	job->view.color = wants_color();
	job->progress = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	int status = read_options(job, argc, argv);

	if (status == STATUS_OK && job->list_rules)
		list_rules(job);
	else if (status == STATUS_OK)
		status = decode_files(job, argc - optind, argv + optind);
	int written = finish_output(job->name);

	free(job);
	return written > status ? written : status;
}

const struct command decode_command = {
	.name = "decode",
	.brief = "print the packets of a capture, and what is wrong with them",
	.usage = usage,
	.options = options,
	.notes = notes,
	.run = run,
};
