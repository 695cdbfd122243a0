#include "tools/ping/ping.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/clock.h"
#include "tools/command.h"
#include "tools/devices/devices.h"
#include "tools/ends.h"
#include "tools/sim/progress.h"

#define MS         UINT64_C(1000000)
#define WARM_TRIES 4u
#define WARM_MS    50u

static const char usage[] =
	"usage: weft ping [OPTION...] PEER...\n"
	"       weft ping --answer [--device NAME]\n"
	"\n"
	"Sends EV probes of MRC over every path from a device to a peer, and shows which of\n"
	"them are answered, and how fast, by plane. With one PEER for each port of the\n"
	"device, each is asked in the plane of its port.\n";

static const char notes[] =
	"At the peer some process must have its MRC device open: a program at work, or\n"
	"`weft ping --answer`. Its own time is taken off the round trips. The paths are\n"
	"those of the device's entropy values (see `weft devices --config`), or of an EV\n"
	"profile that a controller made.\n"
	"\n"
	"exit status:\n"
	"  0    every path was answered, at least once\n"
	"  1    one was not, or nothing was asked before an interrupt\n"
	"  3    the device, the profile or the peer cannot be used, or --answer has none of\n"
	"       the device's addresses: standard error says why\n"
	"\n"
	"examples:\n"
	"  weft ping 192.0.2.7\n"
	"  weft ping --count 100 --interval 10 --paths --device weft_mrc0 2001:db8::7\n"
	"  weft ping --json 2001:db8:0:1::7 2001:db8:0:2::7 | jq .ports\n";

struct job {
	const char *device;
	uint64_t profile;
	uint32_t count, interval_ms, timeout_ms;
	uint8_t dscp;
	bool has_profile, has_dscp, has_json, has_paths, has_answer;
};

static int read_profile(void *at, char *value)
{
	struct job *job = at;

	job->has_profile = true;
	return parse_number(value, 0, UINT64_MAX, &job->profile)
		       ? STATUS_OK
		       : usage_error("weft ping", "--profile: '%s' is not a number", value);
}

static int read_dscp(void *at, char *value)
{
	struct job *job = at;
	uint64_t dscp = 0;

	job->has_dscp = true;
	if (!parse_number(value, 0, 63, &dscp))
		return usage_error("weft ping", "--dscp: '%s' is not a number in 0 .. 63", value);
	job->dscp = (uint8_t)dscp;
	return STATUS_OK;
}

static const struct command_option options[] = {
	{"device", "NAME", "an MRC device [the one with the address of the way to PEER]",
	 OPTION_INTO(device)},
	{"profile", "ID", "the paths of this EV profile", .read = read_profile},
	{"count", "N", "so many questions by each path, 1 .. 10000 [5]", OPTION_INTO(count),
	 .low = 1, .high = 10000},
	{"interval", "MS", "from one round to the next, 0 .. 60000 [100]", OPTION_INTO(interval_ms),
	 .low = 0, .high = 60000},
	{"timeout", "MS", "the longest that a round waits, 1 .. 60000 [500]",
	 OPTION_INTO(timeout_ms), .low = 1, .high = 60000},
	{"dscp", "N", "of the probes [the device's for control]", .read = read_dscp},
	{"paths", NULL, "a line for each path as well", OPTION_INTO(has_paths)},
	{"json", NULL, "one JSON document instead", OPTION_INTO(has_json)},
	{"answer", NULL, "be the peer: answer until interrupted", OPTION_INTO(has_answer)},
	{.name = NULL},
};

static void show_progress(const struct ping *p, uint32_t n_answers, bool is_over)
{
	if (!progress_is_wanted())
		return;
	if (is_over)
		fputs("\r\033[K", stderr);
	else
		fprintf(stderr, "\rround %u of %u: %u of %u paths answered\033[K", p->n_rounds,
			p->most_rounds, n_answers, p->n_paths);
	fflush(stderr);
}

static int ask_round(struct ping *p, const struct job *job,
		     const struct nic_mrc_question *questions, struct nic_mrc_answer *answers)
{
	uint32_t n = 0;

	ends_expose();
	int r = nic_mrc_ask(p->user, questions, p->n_paths, job->timeout_ms * MS, answers, &n);

	ends_cover();
	if (r && r != -ETIMEDOUT)
		return command_error(p->name, STATUS_FILE, NULL, nic_error());
	p->n_rounds++;
	for (uint32_t i = 0; i < n; i++) {
		struct ping_path *path = &p->paths[answers[i].question];

		path->rtt_ns[path->n_answers++] = answers[i].rtt_ns;
	}
	show_progress(p, n, false);
	return STATUS_OK;
}

/* Both ends may have to look for their next hops first, which costs the first packets: the first
 * path of each port is asked, until it answers or seems to be silent, and that does not count. */
static void warm_up(const struct ping *p)
{
	struct nic_mrc_question q[ENGINE_PORTS];
	struct nic_mrc_answer answers[ENGINE_PORTS];
	uint32_t n = 0, got = 0, ports = 0;

	for (uint32_t i = 0; i < p->n_paths; i++) {
		uint32_t port = UINT32_C(1) << p->paths[i].question.port % ENGINE_PORTS;

		if (!(ports & port))
			q[n++] = p->paths[i].question;
		ports |= port;
	}
	for (uint32_t i = 0; got < n && i < WARM_TRIES && !ends_wanted(); i++)
		nic_mrc_ask(p->user, q, n, WARM_MS * MS, answers, &got);
}

static int ask_all(struct ping *p, const struct job *job)
{
	struct nic_mrc_question *questions = calloc(p->n_paths, sizeof *questions);
	struct nic_mrc_answer *answers = calloc(p->n_paths, sizeof *answers);
	uint64_t *times = calloc((size_t)p->n_paths * job->count, sizeof *times);
	int status = questions && answers && times ? STATUS_OK : memory_error(p->name);

	for (uint32_t i = 0; !status && i < p->n_paths; i++) {
		p->paths[i].rtt_ns = times + (size_t)i * job->count;
		if (job->has_dscp)
			p->paths[i].question.dscp = job->dscp;
		questions[i] = p->paths[i].question;
	}
	p->most_rounds = job->count;
	if (!status)
		warm_up(p);
	while (!status && !ends_wanted() && p->n_rounds < job->count) {
		nsec began = clock_now();

		status = ask_round(p, job, questions, answers);
		if (!status && p->n_rounds < job->count)
			ends_poll(NULL, 0, began + job->interval_ms * MS);
	}
	show_progress(p, 0, true);
	free(questions);
	free(answers);
	if (!status && !p->n_rounds)
		status = command_error(p->name, STATUS_MALFORMED, NULL,
				       "interrupted before anything was asked");
	if (status) {
		free(times);
		return status;
	}
	status = job->has_json ? ping_json(p) : ping_table(p, job->has_paths);
	for (uint32_t i = 0; !status && i < p->n_paths; i++)
		if (p->paths[i].n_answers == 0)
			status = STATUS_MALFORMED;
	free(times);
	return status;
}

static int open_device(struct ping *p)
{
	p->user = nic_open(&p->info);
	return p->user ? STATUS_OK : command_error(p->name, STATUS_FILE, NULL, nic_error());
}

/* Whether that socket keeps us from the address: its own, or all of its family. */
static bool is_in_the_way(const struct port_holder *h, const char *address)
{
	bool is_all = strcmp(h->address, "::") == 0 ||
		      (strcmp(h->address, "0.0.0.0") == 0 && !strchr(address, ':'));

	return h->pid != (uint32_t)getpid() && (is_all || strcmp(h->address, address) == 0);
}

static void say_no_answer(const struct ping *p, const char *address, int why)
{
	struct port_holder holders[DEVICES_HOLDERS];
	uint32_t n = why == -EADDRINUSE ? devices_holders(holders) : 0, i = 0;
	char says[512];

	while (i < n && !is_in_the_way(&holders[i], address))
		i++;
	if (i == n)
		snprintf(says, sizeof says, "does not answer at %s: %s", address, nic_error());
	else if (!holders[i].pid)
		snprintf(says, sizeof says,
			 "does not answer at %s: a program of user %u has its UDP port %u; end "
			 "that, or choose another device with --device",
			 address, holders[i].uid, DEVICES_PORT);
	else
		snprintf(says, sizeof says,
			 "does not answer at %s: %s (process %u, user %u) has its UDP port %u; end "
			 "that, or choose another device with --device",
			 address, holders[i].program, holders[i].pid, holders[i].uid, DEVICES_PORT);
	command_error(p->name, STATUS_FILE, p->info.name, says);
}

static int answer(const struct ping *p)
{
	char address[64];
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->info.n_gids; i++) {
		if (p->info.gids[i].address.ss_family == AF_UNSPEC)
			continue;
		devices_address(&p->info.gids[i], address);
		int why = nic_mrc_check_address(p->user, nic_gid_index(i));

		if (why)
			say_no_answer(p, address, why);
		else
			printf("%s answers at %s\n", p->info.name, address);
		n += !why;
	}
	fflush(stdout);
	if (n == 0)
		return STATUS_FILE;
	while (!ends_wanted())
		ends_poll(NULL, 0, NSEC_NEVER);
	return STATUS_OK;
}

static int run_job(const struct job *job, struct ping *p, char *const *peers, int n_peers)
{
	int status = ping_find_device(p, job->device, peers, n_peers);

	/* An interrupt ends it with the round that is under way, and what came until then is shown;
	 * a second one ends it at once. */
	ends_catch();
	if (!status)
		status = open_device(p);
	if (!status)
		nic_query(p->user, &p->info);
	if (!status && job->has_answer)
		return answer(p);
	if (!status)
		status = ping_find_paths(p, peers, n_peers);
	return status ? status : ask_all(p, job);
}

static int run_ping(int argc, char **argv)
{
	struct job job = {.count = 5, .interval_ms = 100, .timeout_ms = 500};
	int status = command_options(&ping_command, argc, argv, &job);

	if (status != STATUS_OK)
		return status == STATUS_HELP ? finish_output(argv[0]) : status;
	struct ping p = {
		.name = argv[0],
		.profile = job.profile,
		.has_profile = job.has_profile,
	};
	int n_peers = argc - optind;

	if (job.has_answer ? n_peers > 0 : n_peers < 1)
		return usage_error(argv[0], job.has_answer ? "--answer takes no peer"
							   : "name a peer to be asked");
	if (n_peers > (int)ENGINE_PORTS)
		return usage_error(argv[0], "at most %u peers", ENGINE_PORTS);
	status = run_job(&job, &p, argv + optind, n_peers);
	free(p.paths);
	if (p.user)
		nic_close(p.user);
	int written = finish_output(argv[0]);

	return written > status ? written : status;
}

const struct command ping_command = {
	.name = "ping",
	.brief = "ask a peer over every path of a device which of them work, and how fast",
	.usage = usage,
	.options = options,
	.notes = notes,
	.run = run_ping,
};
