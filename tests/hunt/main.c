/* hunt: runs seeds and says what went wrong. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "events.h"
#include "hunt.h"
#include "tools/json_file.h"

#define TWICE_EVERY  16u   /* so many seeds, one is run twice */
#define SEED_SECONDS 30u   /* no plan takes so long */
#define ENOUGH       1000u /* so many seeds must meet everything */
#define FAILED_MOST  20u
#define RANGES_MOST  100u

enum status { STATUS_OK, STATUS_FAILED, STATUS_USAGE };

struct range {
	uint64_t first, last;
};

struct job {
	const struct hunt_transport *transport;
	struct range ranges[RANGES_MOST];
	uint32_t n_ranges;
	uint64_t n_seeds; /* of all ranges */
	bool is_traced, is_json, is_plain;
	struct json_writer *json; /* of the report, if is_json */
	struct hunt_met met;
	uint64_t n_run, n_failed;
	uint64_t failed[FAILED_MOST];
	uint64_t hash; /* of the traces of all seeds, whatever their order */
	double seconds;
};

/* For the handler of signals, which has nothing else. */
static char replay[128];

static const struct hunt_transport *const hunted[] = {&hunt_rc, &hunt_mrc};

static void usage(FILE *out)
{
	fputs("usage: hunt [--transport NAME] [--plain] --seed N [--seed N ...] [--trace]\n"
	      "       hunt [--transport NAME] [--plain] --seeds A..B [--json]\n"
	      "\n"
	      "Expands each seed into a fabric, work and faults, runs it, and checks it against\n"
	      "an oracle. The environment's HUNT_SEEDS overrides how many of A..B are run.\n"
	      "--plain: no plan has peers that behave in another way than weft.\n",
	      out);
}

/* An assert of the engine's, a wild pointer, or no end. */
static void on_signal(int number)
{
	static const char what[] = "\nhunt: a signal ended it; replay: ";
	ssize_t n = write(STDERR_FILENO, what, sizeof what - 1);

	n = write(STDERR_FILENO, replay, strlen(replay));
	(void)n;
	hunt_events_tell(STDERR_FILENO);
	raise(number);
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

	sigemptyset(&action.sa_mask);
	sigaction(SIGABRT, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
}

static bool read_number(const char *text, uint64_t *value, char **end)
{
	errno = 0;
	*value = strtoull(text, end, 0);
	return errno == 0 && *end != text && text[0] != '-';
}

static bool add_range(struct job *job, struct range r)
{
	if (r.last < r.first || job->n_ranges == RANGES_MOST)
		return false;
	job->ranges[job->n_ranges++] = r;
	job->n_seeds += r.last - r.first + 1;
	return true;
}

static bool read_range(struct job *job, const char *text)
{
	struct range r;
	char *end;

	if (!read_number(text, &r.first, &end) || strncmp(end, "..", 2) != 0 ||
	    !read_number(end + 2, &r.last, &end) || *end)
		return false;
	const char *limit = getenv("HUNT_SEEDS");
	uint64_t n;

	if (limit && read_number(limit, &n, &end) && n > 0 && n <= r.last - r.first)
		r.last = r.first + n - 1;
	return add_range(job, r);
}

static bool read_seed(struct job *job, const char *text)
{
	struct range r;
	char *end;

	if (!read_number(text, &r.first, &end) || *end)
		return false;
	r.last = r.first;
	return add_range(job, r);
}

static bool read_transport(struct job *job, const char *name)
{
	for (uint32_t i = 0; i < sizeof hunted / sizeof hunted[0]; i++)
		if (strcmp(hunted[i]->row->name, name) == 0) {
			job->transport = hunted[i];
			return true;
		}
	return false;
}

static bool read_options(struct job *job, int argc, char **argv)
{
	static const struct option options[] = {
		{"seed", required_argument, NULL, 's'},
		{"seeds", required_argument, NULL, 'r'},
		{"trace", no_argument, NULL, 't'},
		{"json", no_argument, NULL, 'j'},
		{"plain", no_argument, NULL, 'p'},
		{"transport", required_argument, NULL, 'T'},
		{"help", no_argument, NULL, 'h'},
		{"list", no_argument, NULL, 'l'},
		{NULL, 0, NULL, 0},
	};
	bool is_good = true;

	for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		switch (option) {
		case 's': is_good &= read_seed(job, optarg); break;
		case 'r': is_good &= read_range(job, optarg); break;
		case 'T': is_good &= read_transport(job, optarg); break;
		case 't': job->is_traced = true; break;
		case 'p': job->is_plain = true; break;
		case 'j': job->is_json = true; break;
		case 'l': puts("seeds_hold"); exit(STATUS_OK);
		case 'h': usage(stdout); exit(STATUS_OK);
		default: is_good = false; break;
		}
	}
	return is_good && job->n_seeds > 0 && optind == argc;
}

static void add(struct hunt_met *sum, const struct hunt_met *met)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)met;

	for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
		to[i] += from[i];
}

/* Runs a seed; true when all held. */
static bool run_once(const struct job *job, uint64_t seed, bool is_traced,
		     struct hunt_result *result)
{
	static struct hunt_plan plan;
	struct trace *events = hunt_events_begin(job->transport);
	int error = hunt_expand(&plan, job->transport, seed, job->is_plain);

	if (error) {
		*result = (struct hunt_result){.has_failed = true};
		snprintf(result->why, sizeof result->why, "no plan: %s", strerror(-error));
	} else {
		if (is_traced)
			hunt_print(&plan);
		hunt_run(&plan, job->transport, events, is_traced, result);
	}
	hunt_plan_free(&plan);
	return !result->has_failed;
}

/* Behind what is printed so far. */
static void tell_events(void)
{
	fflush(stdout);
	hunt_events_tell(STDOUT_FILENO);
}

static void print_failure(const struct job *job, uint64_t seed, const char *why)
{
	static struct hunt_plan plan;

	printf("FAILED seed %" PRIu64 ": %s\n", seed, why);
	if (hunt_expand(&plan, job->transport, seed, job->is_plain) == 0)
		hunt_print(&plan);
	hunt_plan_free(&plan);
	tell_events();
	printf("replay: hunt --transport %s%s --seed %" PRIu64 " --trace\n",
	       job->transport->row->name, job->is_plain ? " --plain" : "", seed);
	fflush(stdout);
}

static void run_seed(struct job *job, uint64_t seed)
{
	struct hunt_result result, again;
	const char *why = NULL;

	snprintf(replay, sizeof replay, "hunt --transport %s%s --seed %" PRIu64 " --trace\n",
		 job->transport->row->name, job->is_plain ? " --plain" : "", seed);
	alarm(SEED_SECONDS);
	if (!run_once(job, seed, job->is_traced, &result))
		why = result.why;
	else if (seed % TWICE_EVERY == 0 && (run_once(job, seed, false, &again), true) &&
		 (again.hash != result.hash || again.has_failed))
		why = "the same seed ran differently the second time";
	alarm(0);
	add(&job->met, &result.met);
	job->hash += result.hash;
	job->n_run++;
	if (!why)
		return;
	if (job->n_failed < FAILED_MOST)
		job->failed[job->n_failed] = seed;
	job->n_failed++;
	if (job->is_traced) {
		printf("FAILED seed %" PRIu64 ": %s\n", seed, why);
		tell_events();
	} else if (!job->is_json && job->n_failed <= FAILED_MOST) {
		print_failure(job, seed, why);
	}
}

static void show_progress(const struct job *job, uint64_t seed)
{
	if (!isatty(STDERR_FILENO) || job->n_seeds == 1 || seed % 50)
		return;
	fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " seeds, %" PRIu64 " failed ", job->n_run,
		job->n_seeds, job->n_failed);
}

static void run_range(struct job *job, struct range r)
{
	for (uint64_t seed = r.first;; seed++) {
		run_seed(job, seed);
		show_progress(job, seed);
		if (seed == r.last)
			return;
	}
}

/* A number, and HUNT_OP of the operations that a transport must have for it not to be 0. */
struct figure {
	const char *name;
	uint64_t value;
	uint32_t codes;
};
#define NEVER_DUE UINT32_MAX

static void print_figures(const struct job *job, const char *title, const struct figure *f,
			  uint32_t n)
{
	if (job->is_json)
		json_object(job->json, title, JSON_INLINE);
	else
		printf("%s\n", title);
	for (uint32_t i = 0; i < n; i++)
		if (job->is_json)
			json_number(job->json, f[i].name, f[i].value);
		else
			printf("  %-24s %12" PRIu64 "\n", f[i].name, f[i].value);
	if (job->is_json)
		json_close(job->json);
}

static const char *const status_names[ENGINE_STATUSES] = {"ok",
							  "local-length",
							  "local-qp",
							  "local-protection",
							  "flushed",
							  "bind-failed",
							  "bad-response",
							  "local-access",
							  "remote-invalid",
							  "remote-access",
							  "remote-operation",
							  "retry-exceeded",
							  "rnr-exceeded",
							  "fatal",
							  "cancelled"};

/* The operations without which a flaw cannot be. */
static uint32_t codes_of(const struct job *job, enum hunt_flaw flaw)
{
	if (flaw == HUNT_MISALIGNED)
		return HUNT_OP(ENGINE_ATOMIC);
	if (flaw == HUNT_SHORT)
		return HUNT_OP(ENGINE_SEND);
	if (flaw == HUNT_NO_RECV)
		return transport_has(job->transport->row, TRANSPORT_NOT_READY) ? NEVER_DUE : 0;
	return flaw >= HUNT_UNBOUND ? HUNT_OP(ENGINE_BIND) | HUNT_OP(ENGINE_LOCAL_INV) : 0;
}

/* Prints figures, and returns how many are 0 of those that are for operations of the transport. */
static uint32_t print_due(const struct job *job, const char *title, const struct figure *f,
			  uint32_t n)
{
	uint32_t missed = 0;

	for (uint32_t i = 0; i < n; i++)
		missed += f[i].value == 0 && !(f[i].codes & ~job->transport->row->ops);
	print_figures(job, title, f, n);
	return missed;
}

static uint32_t print_totals(const struct job *job)
{
	const struct hunt_met *m = &job->met;
	const struct figure totals[] = {
		{"seeds", job->n_run, 0},
		{"failed", job->n_failed, NEVER_DUE},
		{"milliseconds", (uint64_t)(job->seconds * 1000), 0},
		{"packets", m->packets, 0},
		{"packets lost", m->dropped, 0},
		{"retransmitted", m->counts.retx, 0},
		{"timeouts", m->counts.timeouts, 0},
		{"duplicates", m->counts.duplicates, 0},
		{"NAKs", m->counts.naks, 0},
		{"works", m->works, 0},
		{"messages received", m->receives, 0},
		{"through windows, type 1", m->through[0], HUNT_OP(ENGINE_BIND)},
		{"through windows, type 2", m->through[1], HUNT_OP(ENGINE_BIND)},
		{"connections forged at", m->tainted, 0},
		{"restarts", m->restarted, 0},
	};

	return print_due(job, "totals", totals, sizeof totals / sizeof totals[0]);
}

static uint32_t print_more(const struct job *job)
{
	struct figure more[HUNT_MORE];
	uint32_t n = 0;

	for (; n < HUNT_MORE && job->transport->more[n]; n++)
		more[n] = (struct figure){job->transport->more[n], job->met.counts.more[n], 0};
	return print_due(job, job->transport->row->name, more, n);
}

static uint32_t print_works(const struct job *job)
{
	const struct hunt_met *m = &job->met;
	struct figure ops[ENGINE_RECV + 1], flaws[HUNT_FLAWS], refused[HUNT_FLAWS - 1];
	uint32_t n = 0, missed;

	for (unsigned code = 0; code < ENGINE_RECV; code++) {
		struct hunt_work w = {.code = (uint8_t)code};
		bool is_atomic = code == ENGINE_ATOMIC;

		for (w.atomic_op = 0; w.atomic_op < (is_atomic ? 2 : 1); w.atomic_op++)
			ops[n++] = (struct figure){
				.name = hunt_op_name(&w),
				.value = is_atomic ? m->atomics[w.atomic_op] : m->ops[code],
				.codes = HUNT_OP(code),
			};
	}
	for (enum hunt_flaw i = HUNT_SOUND; i < HUNT_FLAWS; i++) {
		flaws[i] = (struct figure){hunt_flaw_name(i), m->flaws[i], codes_of(job, i)};
		if (i > HUNT_SOUND)
			refused[i - 1] =
				(struct figure){hunt_flaw_name(i), m->refused[i], codes_of(job, i)};
	}
	missed = print_due(job, "work by operation", ops, n);
	missed += print_due(job, "work that cannot succeed", flaws, HUNT_FLAWS);
	return missed + print_due(job, "work that failed for that", refused, HUNT_FLAWS - 1);
}

/* Everything that a hunt of this size has to meet; returns how much it did not. */
static uint32_t print_report(const struct job *job)
{
	const struct hunt_met *m = &job->met;
	struct figure statuses[ENGINE_STATUSES], faults[FAULT_KIND_COUNT];
	char hash[17];
	uint32_t missed;

	snprintf(hash, sizeof hash, "%016" PRIx64, job->hash);
	for (uint32_t i = 0; i < ENGINE_STATUSES; i++)
		statuses[i] = (struct figure){status_names[i], m->statuses[i], 0};
	for (uint32_t i = 0; i < FAULT_KIND_COUNT; i++)
		faults[i] = (struct figure){fault_kind_name(i), m->touched[i], 0};
	if (job->is_json) {
		json_object(job->json, NULL, JSON_LINES);
		json_text(job->json, "transport", job->transport->row->name);
	}
	missed = print_totals(job);
	missed += print_more(job);
	missed += print_works(job);
	print_figures(job, "completions by status", statuses, ENGINE_STATUSES);
	missed += print_due(job, "what faults touched", faults, FAULT_KIND_COUNT);
	if (job->is_json) {
		json_array(job->json, "failed_seeds", JSON_INLINE);
		for (uint64_t i = 0; i < job->n_failed && i < FAILED_MOST; i++)
			json_number(job->json, NULL, job->failed[i]);
		json_close(job->json);
		json_text(job->json, "trace_hash", hash);
		json_close(job->json);
		json_end(job->json);
	} else {
		printf("trace hash %s\n", hash);
	}
	return missed;
}

int main(int argc, char **argv)
{
	struct json_writer json = json_file(stdout);
	struct job job = {.transport = &hunt_rc, .json = &json};
	struct timespec from, until;

	if (!read_options(&job, argc, argv)) {
		usage(stderr);
		return STATUS_USAGE;
	}
	catch_signals();
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (uint32_t i = 0; i < job.n_ranges; i++)
		run_range(&job, job.ranges[i]);
	clock_gettime(CLOCK_MONOTONIC, &until);
	job.seconds =
		(double)(until.tv_sec - from.tv_sec) + (double)(until.tv_nsec - from.tv_nsec) / 1e9;
	if (isatty(STDERR_FILENO))
		fputc('\n', stderr);
	uint32_t missed = print_report(&job);

	if (job.n_run >= ENOUGH && missed > 0) {
		printf("%u of the figures above are 0: the hunt does not meet everything\n",
		       missed);
		return STATUS_FAILED;
	}
	return job.n_failed ? STATUS_FAILED : STATUS_OK;
}
