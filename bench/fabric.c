/* How fast the fabric simulator is: a permutation at full load through a two-tier fabric, header
 * bytes real, payload virtual, ECN on, one core. A packet-hop is any packet, data or
 * acknowledgement, that leaves a queue.
 *
 * Beside it, in the same run, the event queue alone with as many events armed: what a simulator
 * that does nothing at an event would reach. Each case runs in a process of its own, so that its
 * memory can be told.
 *
 * bench-fabric [--quick] [--json]. Times are reported, never judged. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/prng.h"
#include "scenario/run.h"
#include "scenario/scenario.h"
#include "tools/json_file.h"

struct bench_case {
	const char *hosts, *hosts_per_leaf, *bytes, *quick_bytes;
	double aim_mhops; /* 0: only memory is asked for */
	double aim_mib;   /* 0: none */
};

static const struct bench_case cases[] = {
	{"128", "16", "16MiB", "1MiB", 5, 0},
	{"1024", "32", "4MiB", "256KiB", 3, 0},
	{"8192", "64", "512KiB", "32KiB", 0, 2048},
};

struct figures {
	uint64_t hops, events;
	double seconds;
	double mib;                   /* the process at its largest */
	double bytes_per_pkt;         /* of memory, per packet in flight at the most */
	double fabric_bytes_per_host; /* engines, ports and tables */
	uint64_t most_pkts;
	double empty_events_per_s;
};

static const char text[] = "name: permutation\n"
			   "topology: {kind: leaf-spine, oversubscription: 1}\n"
			   "workload: {kind: permutation}\n";

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double peak_mib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

static void fail(const char *what)
{
	fprintf(stderr, "bench-fabric: %s\n", what);
	exit(1);
}

/* Events that do nothing but arm themselves again, a packet's time later. */
static double empty_loop(uint32_t n_events)
{
	uint32_t n = 2000000;
	struct agenda a;
	struct prng p;

	if (agenda_init(&a, n_events) || agenda_add(&a, n_events) == AGENDA_NONE)
		fail("no memory");
	prng_init(&p, 1, 1);
	for (uint32_t i = 0; i < n_events; i++)
		agenda_arm(&a, i, prng_below(&p, 84000));
	double start = cpu_seconds();

	for (uint32_t i = 0; i < n; i++) {
		uint32_t id = agenda_next(&a, PSEC_NEVER);

		agenda_arm(&a, id, a.now + 84000 + (id & 63));
	}
	double seconds = cpu_seconds() - start;

	agenda_fini(&a);
	return n / seconds;
}

static struct figures measure(const struct bench_case *c, bool is_quick)
{
	struct scenario_override overrides[] = {
		{"topology.hosts", c->hosts},
		{"topology.hosts_per_leaf", c->hosts_per_leaf},
		{"workload.bytes", is_quick ? c->quick_bytes : c->bytes},
	};
	struct scenario_source source = {
		.file = "bench",
		.text = text,
		.len = sizeof text - 1,
		.overrides = overrides,
		.n_overrides = 3,
	};
	static struct scenario s;
	static struct run r;
	struct figures f = {0};
	char error[SCENARIO_ERROR_MAX];

	if (scenario_read(&s, &source, error, sizeof error) ||
	    run_init(&r, &s, NULL, NULL, error, sizeof error))
		fail(error);
	double start = cpu_seconds(), idle_mib = peak_mib();

	while (run_step(&r, sim_now(&r.sim) + PSEC_MS))
		;
	f.seconds = cpu_seconds() - start;
	if (!sim_is_conserved(&r.sim) || r.traffic.n_done != s.workload.n)
		fail("the run did not end as it should");
	f.hops = r.sim.totals.hops;
	f.events = r.sim.agenda.n_fired;
	f.mib = peak_mib();
	f.most_pkts = r.sim.packets.most;
	f.bytes_per_pkt = (double)r.sim.packets.stride;
	f.fabric_bytes_per_host = idle_mib * 1048576 / s.topology.n_hosts;
	f.empty_events_per_s = empty_loop(r.sim.first_extra);
	return f;
}

/* In a child, so that one case's memory does not show in the next one's. */
static struct figures measure_apart(const struct bench_case *c, bool is_quick)
{
	struct figures f;
	int fds[2], status;

	fflush(stdout);
	if (pipe(fds))
		fail("cannot make a pipe");
	pid_t child = fork();

	if (child < 0)
		fail("cannot fork");
	if (child == 0) {
		f = measure(c, is_quick);
		_exit(write(fds[1], &f, sizeof f) == (ssize_t)sizeof f ? 0 : 1);
	}
	close(fds[1]);
	ssize_t got = read(fds[0], &f, sizeof f);

	close(fds[0]);
	if (waitpid(child, &status, 0) != child || got != (ssize_t)sizeof f)
		fail("a case failed");
	return f;
}

static void print_row(const struct bench_case *c, const struct figures *f)
{
	double mhops = (double)f->hops / f->seconds / 1e6;
	double ratio = (double)f->events / f->seconds / f->empty_events_per_s;

	printf("%6s  %9.2f  ", c->hosts, mhops);
	if (c->aim_mhops > 0)
		printf("%5.1f", c->aim_mhops);
	else
		printf("%5s", "-");
	printf("  %9.2f  %8.2f  %8.3f  %9llu  %9.0f  %8.1f", (double)f->events / f->seconds / 1e6,
	       f->empty_events_per_s / 1e6, ratio, (unsigned long long)f->most_pkts,
	       f->bytes_per_pkt, f->mib);
	if (c->aim_mib > 0)
		printf("  %7.0f\n", c->aim_mib);
	else
		printf("  %7s\n", "-");
}

static void put_case(struct json_writer *w, const struct bench_case *c, const struct figures *f)
{
	json_object(w, NULL, JSON_INLINE);
	json_number(w, "hosts", strtoul(c->hosts, NULL, 10));
	json_number(w, "hops_per_s", (uint64_t)((double)f->hops / f->seconds));
	json_number(w, "events_per_s", (uint64_t)((double)f->events / f->seconds));
	json_number(w, "empty_events_per_s", (uint64_t)f->empty_events_per_s);
	json_number(w, "packets_most", f->most_pkts);
	json_number(w, "bytes_per_packet", (uint64_t)f->bytes_per_pkt);
	json_measured(w, "peak_mib", f->mib, 1);
	json_close(w);
}

int main(int argc, char **argv)
{
	bool is_quick = false, is_json = false;
	uint32_t n = sizeof cases / sizeof cases[0];
	struct json_writer w = json_file(stdout);

	for (int i = 1; i < argc; i++) {
		is_quick |= strcmp(argv[i], "--quick") == 0;
		is_json |= strcmp(argv[i], "--json") == 0;
	}
	if (is_json)
		json_array(&w, NULL, JSON_LINES);
	else
		puts(" hosts    M hops/s    aim  M events/s   empty M/s   ratio    packets  bytes "
		     "each"
		     "  peak MiB  at most");
	for (uint32_t i = 0; i < n; i++) {
		struct figures f = measure_apart(&cases[i], is_quick);

		if (is_json)
			put_case(&w, &cases[i], &f);
		else
			print_row(&cases[i], &f);
		fflush(stdout);
	}
	if (is_json) {
		json_close(&w);
		json_end(&w);
	}
	return 0;
}
