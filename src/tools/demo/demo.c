#include "tools/demo/demo.h"

#include <getopt.h>
#include <stdlib.h>
#include <time.h>

#include "tools/clock.h"
#include "tools/command.h"

#define STATUS_UNPROVEN 1 /* bytes were lost or changed, or a queue pair failed */

/* About 3 ms of simulated time in about 20 s. */
#define FRAME_STEPS 10u
#define FRAME_NS    UINT64_C(66000000)
#define LINE_STEPS  (DEMO_SLICE_PS / DEMO_STEP_PS)

static const char usage[] =
	"usage: weft demo [OPTION...]\n"
	"\n"
	"Shows what MRC is for: one queue pair moves 128 MiB over a simulated fabric of\n"
	"eight planes, steered by SRv6, while a plane fails and comes back, a link turns\n"
	"gray and a path congests. RC with DCQCN does the same beside it, with one queue\n"
	"pair and with eight, one by each plane. At the end the receivers' memory is\n"
	"compared with the senders' by SHA-256.\n";

static const char notes[] =
	"On a terminal the view is redrawn in place, for about 20 seconds; elsewhere it\n"
	"is a line for each 100 us of simulated time and one for each event.\n"
	"\n"
	"exit status:\n"
	"  0    MRC delivered everything, intact, and no queue pair failed\n"
	"  1    it did not: a mistake in weft\n"
	"  3    a file cannot be written\n"
	"\n"
	"examples:\n"
	"  weft demo\n"
	"  weft demo --fast --seed 7\n"
	"  weft demo --json | jq '.events[].text'\n";

struct job {
	bool is_fast, has_json;
	uint64_t seed;
	const char *capture;
};

static const struct command_option options[] = {
	{"seed", "N", "seed of everything random (default 1)", OPTION_INTO(seed), .low = 0,
	 .high = UINT64_MAX},
	{"fast", NULL, "no pauses: as fast as this machine can", OPTION_INTO(is_fast)},
	{"capture", "FILE",
	 "write the frames of MRC's sending host to a pcapng capture,\n"
	 "about 140 MB",
	 OPTION_INTO(capture)},
	{"json", NULL, "a record of everything as one JSON document instead",
	 OPTION_INTO(has_json)},
	{.name = NULL},
};

static void sleep_until(nsec when)
{
	nsec now = clock_now();

	if (when <= now)
		return;
	struct timespec pause = {.tv_sec = (time_t)((when - now) / 1000000000u),
				 .tv_nsec = (long)((when - now) % 1000000000u)};

	nanosleep(&pause, NULL);
}

static void run_silently(struct demo *d)
{
	while (demo_step(d))
		continue;
}

/* Ends early where nobody looks any more. */
static void run_visibly(struct demo *d, struct demo_view *v, bool is_paced)
{
	uint32_t every = v->is_panel ? FRAME_STEPS : (uint32_t)LINE_STEPS;
	nsec next = clock_now();

	while (demo_step(d) && !is_output_broken()) {
		if (d->n_steps % every != 0)
			continue;
		demo_view_show(v, d);
		next += FRAME_NS;
		if (is_paced && v->is_panel)
			sleep_until(next);
	}
	demo_view_show(v, d);
}

static int show(struct demo *d, const struct job *job)
{
	struct demo_view view;

	if (job->has_json) {
		run_silently(d);
	} else {
		demo_view_begin(&view, d);
		run_visibly(d, &view, !job->is_fast);
	}
	if (d->capture && pcapng_error(d->capture))
		return STATUS_FILE; /* demo_fini says why */
	if (is_output_broken())
		return STATUS_OK; /* finish_output says whether it is */
	demo_verify(d);
	if (job->has_json)
		demo_json(d);
	else
		demo_view_end(&view, d);
	return demo_is_proven(d) ? STATUS_OK : STATUS_UNPROVEN;
}

static int run_demo(int argc, char **argv)
{
	struct job job = {.seed = 1};
	int status = command_options(&demo_command, argc, argv, &job);

	if (status != STATUS_OK)
		return status == STATUS_HELP ? finish_output(argv[0]) : status;
	if (optind < argc)
		return usage_error(argv[0], "takes no arguments");
	struct demo *d = calloc(1, sizeof *d);

	if (!d)
		return memory_error(argv[0]);
	d->name = argv[0];
	d->seed = job.seed;
	d->capture_path = job.capture;
	status = demo_init(d);
	if (status == STATUS_OK)
		status = show(d, &job);
	int closed = demo_fini(d), written = finish_output(argv[0]);

	free(d);
	status = closed > status ? closed : status;
	return written > status ? written : status;
}

const struct command demo_command = {
	.name = "demo",
	.brief = "show MRC move data past a lost plane, a gray link and congestion",
	.usage = usage,
	.options = options,
	.notes = notes,
	.run = run_demo,
};
