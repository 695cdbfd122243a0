#include "tools/top/top.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nic/nic.h"
#include "tools/clock.h"
#include "tools/command.h"
#include "tools/ends.h"

#define MS_NS     UINT64_C(1000000)
#define INTERVAL  1000u
#define EVENTS_MS 100u /* between two looks for events */

static const char usage[] =
	"usage: weft top [OPTION...]\n"
	"\n"
	"Shows how the queue pairs of all processes on devices fare, MRC and RC, again each\n"
	"second: goodput, window, round trip, packets retransmitted, and of MRC each EV's "
	"state.\n"
	"With --events, what their engines recorded of each packet, timeout and failure.\n";

static const char notes[] =
	"An EV is a character in the row of its port: . good, s skipped for a turn, X assumed\n"
	"bad, d denied; ! behind a port says that no EV of it is usable. RC has no EVs.\n"
	"`retx` and `timeouts` count since the queue pair was made.\n"
	"\n"
	"On a terminal the view has as many columns as fit, and keys: q ends it, s sorts by\n"
	"the next of rate, QP number, peer, packets retransmitted and round trip (r n p x t: by\n"
	"that one), w hides the EVs, arrows, PgUp, PgDn, Home and End scroll. Elsewhere looks\n"
	"follow each other. Queue pairs are shown to their own user, and to root those of all.\n"
	"\n"
	"Of each process the last 4096 events can be read. --events begins with the last 20\n"
	"and goes on, with the processes that come, until the user ends it; with --once it shows\n"
	"all there are. A device file's `trace = off`, or WEFT_TRACE=off, records none.\n"
	"\n"
	"exit status:\n"
	"  0    the view ended as it should\n"
	"  3    the configuration is wrong, or processes cannot be looked at\n"
	"\n"
	"examples:\n"
	"  weft top\n"
	"  weft top --device weft_mrc0 --interval 200\n"
	"  weft top --events --qp 0x11\n"
	"  weft top --events --json | jq 'select(.event == \"failed\")'\n"
	"  weft top --once --json | jq '.devices[].processes[].pairs[].tx_bps'\n";

struct job {
	const char *device;
	bool is_once, has_json, is_brief, has_events;
	uint32_t count, interval_ms, qp;
};

static const struct command_option options[] = {
	{"device", "NAME", "only this device", OPTION_INTO(device)},
	{"events", NULL, "what engines recorded, as it happens", OPTION_INTO(has_events)},
	{"qp", "NUMBER", "with --events, of this queue pair alone", OPTION_INTO(qp), .low = 1,
	 .high = 0xffffff},
	{"interval", "MS", "between two looks (default 1000, with --events 100)",
	 OPTION_INTO(interval_ms), .low = 20, .high = 3600000},
	{"count", "N", "end after so many views, or events", OPTION_INTO(count), .low = 1,
	 .high = UINT32_MAX},
	{"once", NULL, "one view, of two looks; all events there are", OPTION_INTO(is_once)},
	{"brief", NULL, "without the rows of EVs", OPTION_INTO(is_brief)},
	{"json", NULL, "one JSON document a line instead", OPTION_INTO(has_json)},
	{.name = NULL},
};

static int add_device(const char *name, struct top *t, const struct nic_info *info)
{
	struct top_device *d = &t->devices[t->n];
	const struct config_setup *s = &info->setup;
	int r;

	d->transport = s->transport;
	d->is_governed = transport_has(s->transport, TRANSPORT_CONTROL);
	if (d->is_governed)
		r = store_name(d->store, s->interfaces, s->n_ports);
	else
		r = store_name_apart(d->store, d->transport->name, s->interfaces, s->n_ports);
	memcpy(d->name, info->name, sizeof d->name);
	if (!r) {
		d->members = members_open(d->store);
		r = d->members ? 0 : -errno;
	}
	if (r)
		return command_error(name, STATUS_FILE, info->name, strerror(-r));
	t->n++;
	return STATUS_OK;
}

/* The devices there are, those that controllers govern first, or the one that is wanted. */
static int open_devices(const char *name, const char *wanted, struct top *t)
{
	struct nic_info *list = NULL;
	int n = nic_list(&list), status = STATUS_OK;

	if (n < 0)
		return command_error(name, STATUS_FILE, NULL, nic_error());
	t->devices = calloc((size_t)n + 1, sizeof *t->devices);
	if (!t->devices)
		status = memory_error(name);
	for (uint32_t rest = 0; rest < 2; rest++)
		for (int i = 0; i < n && status == STATUS_OK; i++)
			if (transport_has(list[i].setup.transport, TRANSPORT_CONTROL) != rest &&
			    (!wanted || strcmp(wanted, list[i].name) == 0))
				status = add_device(name, t, &list[i]);
	free(list);
	if (status == STATUS_OK && wanted && !t->n)
		return usage_error(name, "there is no device '%s'", wanted);
	return status;
}

static bool is_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
}

/* When the next look is due: looks that were missed while the process was stopped are not made up
 * for. */
static nsec next_look(nsec last, const struct job *job)
{
	nsec now = clock_now(), next = last + job->interval_ms * MS_NS;

	return next > now ? next : now;
}

static uint32_t views_wanted(const struct job *job)
{
	return job->is_once ? 1 : job->count ? job->count : UINT32_MAX;
}

/* Until it is time for the next look; false: to end. */
static bool wait_at(struct top_screen *s, struct top *t, nsec until)
{
	/* Whoever has the keys is somebody else, or nobody: then it ends by a signal. */
	bool has_keys = isatty(STDIN_FILENO);

	while (clock_now() < until) {
		struct pollfd keys = {STDIN_FILENO, POLLIN, 0};

		ends_poll(&keys, has_keys, until);
		if (ends_wanted() || keys.revents & (POLLHUP | POLLERR | POLLNVAL) ||
		    !top_screen_keys(s, t))
			return false;
	}
	return true;
}

static int watch_screen(struct top_screen *s, struct top *t, const struct job *job)
{
	uint32_t left = views_wanted(job);
	nsec next = clock_now();
	int r = top_look(t, clock_now());

	while (!r) {
		top_screen_draw(s, t);
		next = next_look(next, job);
		if (!left || !wait_at(s, t, next))
			break;
		left -= job->count > 0;
		r = top_look(t, clock_now());
	}
	return r;
}

/* One look before the first view, so that it has rates. */
static int write_looks(struct top *t, const struct job *job, const struct top_style *style)
{
	uint32_t left = views_wanted(job);
	nsec next = clock_now();
	int r = top_look(t, clock_now());

	while (!r && left && !is_output_broken()) {
		next = next_look(next, job);
		ends_poll(NULL, 0, next);
		if (ends_wanted())
			break;
		r = top_look(t, clock_now());
		if (r)
			break;
		if (job->has_json)
			top_json(t, stdout);
		else
			top_text(t, style, stdout);
		fflush(stdout);
		left -= job->is_once || job->count;
	}
	return r;
}

static int follow_events(const char *name, struct top *t, const struct job *job)
{
	const struct top_events wanted = {
		.has_json = job->has_json,
		.is_once = job->is_once,
		.qp = job->qp,
		.count = job->count,
		.interval_ms = job->interval_ms,
	};
	int r = top_events(t, &wanted, stdout);

	return r ? command_error(name, STATUS_FILE, NULL, strerror(-r)) : STATUS_OK;
}

static int follow(const char *name, struct top *t, const struct job *job)
{
	const char *no_color = getenv("NO_COLOR");
	const struct top_style style = {is_terminal() && !(no_color && no_color[0]), job->is_brief};
	struct top_screen *s =
		is_terminal() && !job->is_once && !job->has_json ? top_screen_open(&style) : NULL;
	int r = s ? watch_screen(s, t, job) : write_looks(t, job, &style);

	top_screen_close(s);
	return r ? command_error(name, STATUS_FILE, NULL, strerror(-r)) : STATUS_OK;
}

static int run_top(int argc, char **argv)
{
	struct job job = {.count = 0};
	struct top t = {0};
	int status = command_options(&top_command, argc, argv, &job);

	if (status != STATUS_OK)
		return status == STATUS_HELP ? finish_output(argv[0]) : status;
	if (optind < argc)
		return usage_error(argv[0], "takes no arguments");
	if (job.qp && !job.has_events)
		return usage_error(argv[0], "--qp goes with --events");
	if (!job.interval_ms)
		job.interval_ms = job.has_events ? EVENTS_MS : INTERVAL;
	ends_catch();
	status = open_devices(argv[0], job.device, &t);
	if (status == STATUS_OK)
		status = (job.has_events ? follow_events : follow)(argv[0], &t, &job);
	top_fini(&t);
	int written = finish_output(argv[0]);

	return written > status ? written : status;
}

const struct command top_command = {
	.name = "top",
	.brief = "show live how queue pairs and paths fare, and what engines recorded",
	.usage = usage,
	.options = options,
	.notes = notes,
	.run = run_top,
};
