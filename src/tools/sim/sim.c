#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/units.h"
#include "tools/clock.h"
#include "tools/command.h"
#include "tools/input.h"
#include "tools/json_file.h"
#include "tools/pcapng.h"
#include "tools/sim/events.h"
#include "tools/sim/progress.h"
#include "tools/sim/report.h"
#include "tools/sim/study.h"
#include "tools/text.h"
#include "wire/net.h"

#define STATUS_MISSED      1   /* a target is not met, ... */
#define STATUS_UNSOUND     1   /* ... or a packet was lost track of: our mistake */
#define STATUS_INTERRUPTED 130 /* as a shell says of a command that SIGINT ended */
#define OVERRIDES_MAX      256u

/* A slice of a run is so many events that it takes about so long on this machine's clock: short
 * enough for progress and for Ctrl-C. */
#define SLICE_NS          UINT64_C(50000000)
#define SLICE_EVENTS      UINT64_C(4096) /* the first */
#define SLICE_MOST_EVENTS (UINT64_C(1) << 24)

static const char usage[] =
	"usage: weft sim [OPTION...] SCENARIO\n"
	"       weft sim --list [--json]\n"
	"       weft sim --show NAME\n"
	"\n"
	"Runs a simulation of a fabric and reports what became of its flows, packets,\n"
	"queues and links. SCENARIO is a YAML file, - for standard input, or the name\n"
	"of a built-in scenario. One with targets or variants is a study: a row for each\n"
	"run, then each target beside its result.\n";

static const char notes[] =
	"exit status:\n"
	"  0    the simulation ran, whether or not its flows completed, and every target\n"
	"       of the scenario is met\n"
	"  1    a target is not met, or the simulator lost track of a packet: a mistake\n"
	"       in weft\n"
	"  2    the command line or the scenario is wrong; nothing was run\n"
	"  3    a file cannot be read or written\n"
	"  130  interrupted by SIGINT or SIGTERM; the report says how far it came. A\n"
	"       second signal changes nothing, a third ends weft without a report\n"
	"\n"
	"examples:\n"
	"  weft sim permutation\n"
	"  weft sim --set workload.bytes=64KiB --seed 7 --pcap h0.pcapng --ports 'h0>*' incast\n"
	"  weft sim --show gray > mine.yaml && weft sim mine.yaml\n"
	"  weft sim mrc-permutation\n";

struct job {
	const char *name; /* "weft sim" */
	bool list, check, json, has_all_flows, has_all_runs, quiet;
	const char *show, *csv, *pcap, *ports, *events_file, *scenario;
	struct events events;
	struct scenario_override overrides[OVERRIDES_MAX];
	uint32_t n_overrides;
	char texts[OVERRIDES_MAX][24]; /* of numbers among their values */
	struct pcapng *capture;
	uint32_t *interface_of; /* by port */
	uint64_t n_frames;
	struct study *study; /* NULL: a single run */
	uint32_t n_run;      /* of a study, from 0 */
};

static int add_override(struct job *job, const char *key, const char *value)
{
	if (job->n_overrides == OVERRIDES_MAX)
		return usage_error(job->name, "more than %u changes; write them into the scenario",
				   OVERRIDES_MAX);
	job->overrides[job->n_overrides++] = (struct scenario_override){key, value};
	return STATUS_OK;
}

/* The argument is ours to cut in two. */
static int set_key(void *context, char *text)
{
	struct job *job = context;
	char *equals = strchr(text, '=');

	if (!equals || equals == text)
		return usage_error(job->name, "--set takes KEY=VALUE, not '%s'", text);
	*equals = '\0';
	return add_override(job, text, equals + 1);
}

static int set_seed(void *context, char *text)
{
	struct job *job = context;
	char *decimal = job->texts[job->n_overrides % OVERRIDES_MAX];
	uint64_t seed;

	if (!parse_number(text, 0, UINT64_MAX, &seed))
		return usage_error(job->name,
				   "--seed takes a number from 0 to %" PRIu64 ", not '%s'",
				   UINT64_MAX, text);
	snprintf(decimal, sizeof job->texts[0], "%" PRIu64, seed);
	return add_override(job, "seed", decimal);
}

static int set_end(void *context, char *text)
{
	struct job *job = context;
	uint64_t end;
	const char *wrong = units_read(UNITS_TIME, text, &end);

	if (wrong || end == 0)
		return usage_error(job->name, "--end takes %s, not '%s'", units_like(UNITS_TIME),
				   text);
	return add_override(job, "end", text);
}

static const struct command_option options[] = {
	{"list", NULL, "the built-in scenarios", OPTION_INTO(list)},
	{"show", "NAME", "the YAML text of a built-in scenario, to start from", OPTION_INTO(show)},
	{"check", NULL, "read the scenario and say what would be run", OPTION_INTO(check)},
	{"set", "KEY=VALUE", "change the scenario: --set topology.hosts=64 (may be repeated)",
	 .read = set_key},
	{"seed", "N", "seed of everything random", .read = set_seed},
	{"end", "TIME", "stop at this simulated time, like 250us", .read = set_end},
	{"json", NULL, "one JSON document instead of the table", OPTION_INTO(json)},
	{"csv", "DIR",
	 "write flows, goodput, queues, links, paths, drops and faults\n"
	 "there",
	 OPTION_INTO(csv)},
	{"flows", NULL, "list every flow, in JSON also every link, however many",
	 OPTION_INTO(has_all_flows)},
	{"all", NULL, "of a study, also the runs that take long", OPTION_INTO(has_all_runs)},
	{"pcap", "FILE", "write the frames at some ports to a pcapng capture", OPTION_INTO(pcap)},
	{"events", "FILE", "write what hosts record of each packet, lines of JSON",
	 OPTION_INTO(events_file)},
	{"ports", "PATTERN",
	 "which ports: 'h0>*', '*>spine1', leaf0-spine1, p2.*; several\n"
	 "with commas (default: every port of a host)",
	 OPTION_INTO(ports)},
	{"quiet", NULL, "no progress on a terminal", OPTION_INTO(quiet)},
	{.name = NULL},
};

static int read_options(struct job *job, int argc, char **argv)
{
	int status = command_options(&sim_command, argc, argv, job);

	if (status != STATUS_OK)
		return status;
	if (job->list || job->show) {
		if (optind < argc)
			return usage_error(job->name, "%s takes no scenario",
					   job->list ? "--list" : "--show NAME");
		return STATUS_OK;
	}
	if (optind + 1 != argc)
		return usage_error(job->name, optind == argc
						      ? "name a scenario, a file or a built-in one"
						      : "one scenario at a time");
	if (job->ports && !job->pcap)
		return usage_error(job->name, "--ports says what --pcap writes; give both");
	job->scenario = argv[optind];
	return STATUS_OK;
}

static void list_json(void)
{
	struct json_writer w = json_file(stdout);
	const struct scenario_builtin *b;

	json_array(&w, NULL, JSON_LINES);
	for (uint32_t i = 0; (b = scenario_builtin_at(i)); i++) {
		json_object(&w, NULL, JSON_INLINE);
		json_text(&w, "name", b->name);
		json_text(&w, "summary", b->summary);
		json_truth(&w, "study", scenario_builtin_is_study(b));
		json_close(&w);
	}
	json_close(&w);
	json_end(&w);
}

static int print_list(const struct job *job)
{
	const struct scenario_builtin *b;

	if (job->json)
		list_json();
	for (uint32_t i = 0; !job->json && (b = scenario_builtin_at(i)); i++)
		printf("%-16s %s\n", b->name, b->summary);
	return STATUS_OK;
}

static int print_builtin(const struct job *job)
{
	const struct scenario_builtin *b = scenario_builtin_find(job->show);

	if (!b)
		return usage_error(job->name,
				   "there is no built-in scenario '%s'%s; weft sim --list",
				   job->show, input_guess(job->show).at);
	printf("# %s\n%s", b->summary, b->yaml);
	return STATUS_OK;
}

static void on_frame(void *context, uint32_t port, bool is_out, psec at, struct cspan frame)
{
	struct job *job = context;

	job->n_frames++;
	pcapng_write(job->capture,
		     &(struct pcapng_frame){job->interface_of[port], is_out, at / PSEC_NS, frame});
}

/* Marks the ports to capture at in set. */
static int choose_ports(const struct job *job, const struct topology *t, uint8_t *set)
{
	char *patterns = job->ports ? strdup(job->ports) : NULL, *rest;
	int status = STATUS_OK;

	for (uint32_t i = 0; !job->ports && i < t->n_ports; i++)
		set[i] = t->nodes[t->ports[i].node].is_host;
	if (!job->ports)
		return STATUS_OK;
	if (!patterns)
		return memory_error(job->name);
	for (char *at = strtok_r(patterns, ",", &rest); at; at = strtok_r(NULL, ",", &rest))
		if (topology_match_ports(t, at, set) == 0)
			status = usage_error(job->name,
					     "--ports: no port is called '%s'; like h0>leaf0, "
					     "'*>spine1' or leaf0-spine1",
					     at);
	free(patterns);
	return status;
}

/* Opens the capture, with an interface for each chosen port. */
static int open_capture(struct job *job, const struct scenario *s, const uint8_t *set)
{
	const struct net_cfg net =
		net_cfg_of(s->udp_port, s->names.trimmed, s->names.trimmed_lasthop);
	const struct topology *t = &s->topology;
	char name[2 * TOPOLOGY_NAME_MAX + 16];

	job->interface_of = calloc(t->n_ports, sizeof *job->interface_of);
	if (!job->interface_of)
		return memory_error(job->name);
	job->capture = pcapng_create(job->pcap, &net);
	if (!job->capture)
		return command_error(job->name, STATUS_FILE, job->pcap, strerror(errno));
	for (uint32_t i = 0; i < t->n_ports; i++) {
		if (!set[i])
			continue;
		topology_port_name(t, i, name, sizeof name);
		job->interface_of[i] = pcapng_interface(job->capture, name, t->ports[i].rate_bps);
	}
	return STATUS_OK;
}

static int close_capture(struct job *job)
{
	bool has_one = job->capture;
	int error = has_one ? pcapng_close(job->capture) : 0;

	free(job->interface_of);
	job->interface_of = NULL;
	job->capture = NULL;
	if (error)
		return command_error(job->name, STATUS_FILE, job->pcap, strerror(error));
	if (!has_one || job->json || job->study)
		return STATUS_OK;
	printf("%" PRIu64 " frames in ", job->n_frames);
	text_put_safe(stdout, job->pcap);
	puts("; weft decode prints them");
	return STATUS_OK;
}

/* The first signal asks for a report. So does the second, which many send to be sure, and which
 * must not cost that report; the third ends weft at once. */
#define SIGNALS_MAX 3

static volatile sig_atomic_t was_interrupted; /* so often */

static void on_signal(int number)
{
	was_interrupted++;
	if (was_interrupted < SIGNALS_MAX)
		return;
	signal(number, SIG_DFL);
	raise(number);
}

static void watch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESTART};

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* A file of what happens did not take all of it, and more would be lost. */
static bool has_lost(const struct job *job)
{
	return (job->capture && pcapng_error(job->capture)) || job->events.out.error;
}

/* Runs to the end, or until somebody or something objects. */
static void run_slices(struct job *job, struct run *run)
{
	struct progress progress = {0};
	uint64_t slice = SLICE_EVENTS;
	bool goes_on = true;

	if (!job->quiet && progress_is_wanted())
		progress_begin(&progress, run,
			       job->study ? study_name(job->study, job->n_run) : NULL);
	while (goes_on && !was_interrupted && !has_lost(job)) {
		nsec before = clock_now();

		/* What is recorded between two slices has its room. */
		if (job->events.is_open && slice > EVENTS_SLICE)
			slice = EVENTS_SLICE;
		run->sim.pause_at = run->sim.agenda.n_fired + slice;
		goes_on = run_step(run, PSEC_NEVER);
		nsec took = clock_now() - before;

		if (job->events.is_open)
			events_write(&job->events);

		if (took > 2 * SLICE_NS && slice > 1)
			slice /= 2;
		else if (took < SLICE_NS / 2 && slice < SLICE_MOST_EVENTS)
			slice *= 2;
		progress_show(&progress);
	}
	progress_end(&progress);
}

static bool is_terminal_unicode(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool is_unicode = locale && strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;

	if (locale)
		freelocale(locale);
	return is_unicode;
}

static int print_report(const struct job *job, struct report *report)
{
	const char *file = NULL;
	int status = STATUS_OK;

	if (report_gather(report))
		return memory_error(job->name);
	if (job->study) {
		study_add(stdout, job->study, report);
	} else if (job->json) {
		struct json_writer w = json_file(stdout);

		report_json(&w, NULL, report);
		json_end(&w);
	} else {
		report_table(stdout, report, is_terminal_unicode());
		report_wall(stdout, report);
	}
	if (!report->is_conserved)
		status = command_error(job->name, STATUS_UNSOUND, NULL,
				       "packets are not conserved: a mistake in weft, not in the "
				       "scenario; please report it with the scenario and its seed");
	int error = job->csv && job->n_run == 0 ? report_csv(job->csv, report, &file) : 0;

	if (error) {
		fprintf(stderr, "%s: %s in ", job->name, file);
		text_put_safe(stderr, job->csv);
		fprintf(stderr, ": %s\n", strerror(error));
		status = STATUS_FILE;
	}
	return report->end == REPORT_INTERRUPTED ? STATUS_INTERRUPTED : status;
}

static int run_and_report(struct job *job, struct run *run, const char *summary)
{
	struct report *report = calloc(1, sizeof *report);

	if (!report)
		return memory_error(job->name);
	nsec began = clock_now();

	watch_signals();
	run_slices(job, run);
	if (has_lost(job)) {
		free(report);
		return STATUS_FILE; /* who closes the file says why */
	}
	report->run = run;
	report->summary = summary;
	report->is_interrupted = was_interrupted != 0;
	report->has_all_flows = job->has_all_flows;
	report->wall_ns = clock_now() - began;
	int status = print_report(job, report);

	free(report);
	return status;
}

static void print_plan(const struct job *job, const struct run *run, const char *summary)
{
	char text[REPORT_FAULT_TEXT];

	if (job->json) {
		report_json_plan(stdout, run, summary);
		return;
	}
	report_plan(stdout, run, summary);
	for (uint32_t i = 0; i < run->n_faults; i++) {
		fault_print(&run->faults[i], &run->scenario->topology, text, sizeof text);
		printf("             %s\n", text);
	}
}

static int open_events(struct job *job, const struct scenario *s)
{
	int error = events_open(&job->events, job->events_file, s);

	return error ? command_error(job->name, STATUS_FILE, job->events_file, strerror(error))
		     : STATUS_OK;
}

static int close_events(struct job *job)
{
	bool has_one = job->events.is_open;
	int error = events_close(&job->events);

	if (error)
		return command_error(job->name, STATUS_FILE, job->events_file, strerror(error));
	if (job->events.n_lost)
		return command_error(job->name, STATUS_FILE, job->events_file,
				     "some events were not written: too many at a time");
	if (!has_one || job->json || job->study)
		return STATUS_OK;
	printf("%" PRIu64 " events in ", job->events.n_written);
	text_put_safe(stdout, job->events_file);
	putchar('\n');
	return STATUS_OK;
}

/* Sets the run up before the first file is made, so that what is wrong leaves no traces. */
static int prepare(struct job *job, struct run *run, const struct scenario *s, uint8_t *set)
{
	struct run_tap tap = {.context = job, .frame = on_frame, .trace = &job->events.trace};
	char error[SCENARIO_ERROR_MAX];
	int status = job->pcap ? choose_ports(job, &s->topology, set) : STATUS_OK;

	if (status != STATUS_OK)
		return status;
	int answer = run_init(run, s, &tap, set, error, sizeof error);

	if (answer)
		return command_error(job->name, answer == -ENOMEM ? STATUS_FILE : STATUS_USAGE,
				     s->name, error);
	answer = job->csv && !job->check ? report_csv_folder(job->csv) : 0;
	if (answer)
		status = command_error(job->name, STATUS_FILE, job->csv, strerror(answer));
	else if (job->pcap && !job->check)
		status = open_capture(job, s, set);
	if (status == STATUS_OK && job->events_file && !job->check)
		status = open_events(job, s);
	if (status != STATUS_OK)
		run_fini(run);
	return status;
}

static int simulate(struct job *job, const struct scenario *s, const char *summary)
{
	uint8_t *set = calloc(s->topology.n_ports + 1u, 1);
	struct run *run = calloc(1, sizeof *run);
	int status = set && run ? prepare(job, run, s, set) : memory_error(job->name);

	if (status == STATUS_OK) {
		if (job->check)
			print_plan(job, run, summary);
		else
			status = run_and_report(job, run, summary);
		run_fini(run);
	}
	int written = close_capture(job), recorded = close_events(job);

	free(set);
	free(run);
	written = recorded > written ? recorded : written;
	return written > status ? written : status;
}

/* All runs of a study. Files are about the first: --csv, --pcap and --events say nothing of the
 * others. */
static int run_all(struct job *job, struct study *st)
{
	int status = STATUS_OK;

	job->study = st;
	study_begin(stdout, st);
	for (uint32_t i = 0; i <= st->n_variants && status <= STATUS_UNSOUND; i++) {
		job->n_run = i;
		if (i > 0)
			job->pcap = job->events_file = NULL;
		int answer = simulate(job, study_scenario(st, i), st->summary);

		status = answer > status ? answer : status;
		if (was_interrupted)
			status = STATUS_INTERRUPTED;
	}
	if (!study_end(stdout, st) && status == STATUS_OK)
		status = STATUS_MISSED;
	return status;
}

static int simulate_study(struct job *job, const struct scenario *s,
			  const struct scenario_source *source, const char *summary)
{
	struct study st = {.summary = summary, .is_json = job->json, .has_all = job->has_all_runs};
	char error[SCENARIO_ERROR_MAX + SCENARIO_NAME_MAX + 16];
	int answer = study_init(&st, s, source, error, sizeof error), status;

	if (answer) {
		status = command_error(job->name, answer == -ENOMEM ? STATUS_FILE : STATUS_USAGE,
				       NULL, error);
	} else if (job->check) {
		status = simulate(job, s, summary);
		if (status == STATUS_OK && !job->json)
			study_plan(stdout, &st);
	} else {
		status = run_all(job, &st);
	}
	study_fini(&st);
	return status;
}

static int read_and_simulate(struct job *job)
{
	char error[SCENARIO_ERROR_MAX];
	struct input in;
	struct scenario s;

	if (input_read(&in, job->scenario, error, sizeof error))
		return command_error(job->name, STATUS_FILE, job->scenario, error);
	struct scenario_source source = {
		.file = in.shown,
		.text = in.text,
		.len = in.len,
		.overrides = job->overrides,
		.n_overrides = job->n_overrides,
		.read_file = input_read_near,
	};
	int answer = scenario_read(&s, &source, error, sizeof error);

	if (answer) {
		input_fini(&in);
		return command_error(job->name, answer == -ENOMEM ? STATUS_FILE : STATUS_USAGE,
				     NULL, error);
	}
	const char *summary = s.summary[0] ? s.summary : in.summary;
	int status = study_is_one(&s) ? simulate_study(job, &s, &source, summary)
				      : simulate(job, &s, summary);

	scenario_fini(&s);
	input_fini(&in);
	return status;
}

static int run_sim(int argc, char **argv)
{
	struct job *job = calloc(1, sizeof *job);

	if (!job)
		return memory_error(argv[0]);
	job->name = argv[0];
	int status = read_options(job, argc, argv);

	if (status == STATUS_OK) {
		if (job->list)
			status = print_list(job);
		else if (job->show)
			status = print_builtin(job);
		else
			status = read_and_simulate(job);
	}
	int written = finish_output(job->name);

	free(job);
	return written > status ? written : status;
}

const struct command sim_command = {
	.name = "sim",
	.brief = "simulate a fabric, and report what became of its traffic",
	.usage = usage,
	.options = options,
	.notes = notes,
	.run = run_sim,
};
