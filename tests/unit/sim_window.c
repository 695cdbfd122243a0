/* Node by node is event by event: whatever the fabric, the traffic and the faults, a run in windows
 * (sim/window.h) ends as one without, to the bit, and so does one that its caller cuts into pieces.
 * Everything that a run leaves behind is noted as numbers, and the notes are compared. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/prng.h"
#include "check.h"
#include "runs.h"

#define BOUND     (5 * PSEC_MS)
#define STEPS_MAX 200000u
#define NOTES_MAX 32768u
#define LONG_STEP (2 * PSEC_US) /* more than any packet takes to leave */
#define N_OF(a)   (sizeof(a) / sizeof(a)[0])

/* The scenario at work, for the log of a run that breaks off. */
static struct {
	char at[4096];
	size_t len;
	uint64_t seed;
	bool is_broken; /* until it ends well */
} text;

struct note {
	const char *what;
	uint32_t of, word;
	uint64_t value;
};

struct notes {
	struct note at[NOTES_MAX];
	uint32_t n;
};

static struct notes whole, other;

/* What the runs of a test have come across: a test of what never happens tests nothing. */
static struct {
	struct sim_totals totals;
	uint64_t windowed, pauses, begun, ended, kinds, retx, done, failed;
} met;

/* Also when an assert of the simulator's fails, which leaves no time for more. */
static void say_which(int number)
{
	(void)number;
	if (text.is_broken && write(STDERR_FILENO, text.at, text.len) < 0)
		_exit(1);
}

static int after_case(void **state)
{
	(void)state;
	say_which(0);
	text.is_broken = false;
	return 0;
}

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(text.at + text.len, sizeof text.at - text.len, format, args);

	va_end(args);
	assert_true(n >= 0 && (size_t)n < sizeof text.at - text.len);
	text.len += (size_t)n;
}

static uint32_t draw(struct prng *p, uint32_t low, uint32_t high)
{
	return (uint32_t)prng_range(p, low, high);
}

/* One draw each: the compiler chooses the order of those in one call. */
static void put_number(struct prng *p, const char *before, uint32_t low, uint32_t high,
		       const char *behind)
{
	put("%s%u%s", before, draw(p, low, high), behind);
}

/* One of words that are separated by bars. */
static void put_one(struct prng *p, const char *before, const char *words)
{
	uint32_t n = 1;

	for (const char *at = words; *at; at++)
		n += *at == '|';
	for (n = draw(p, 0, n - 1); n > 0; n--)
		words = strchr(words, '|') + 1;
	put("%s%.*s", before, (int)strcspn(words, "|"), words);
}

static void put_rate(struct prng *p)
{
	put_one(p, ", rate: ", "400Gbps|200Gbps|100Gbps|70Gbps|33Gbps|90Gbps|123456789kbps");
}

/* One fabric in a few has links too short for windows. */
static void put_delay(struct prng *p, const char *before, bool is_short)
{
	put_one(p, before,
		is_short ? "0|20ns|99999ps|100ns"
			 : "100ns|100001ps|130ns|311ns|500ns|1us|1234567ps|4us");
}

static void put_link(struct prng *p, const char *name, bool is_short)
{
	if (prng_chance(p, 1, 2))
		return;
	put(", %s: {buffer: %s", name, prng_chance(p, 1, 8) ? "20KB" : "0");
	put_rate(p);
	put_delay(p, ", delay: ", is_short);
	put("}");
}

static void put_graph(struct prng *p, bool is_short)
{
	static const char *const ends[] = {"s0, t0", "h4, s1", "h0, s0", "h1, s1", "s1, t0",
					   "h3, s1", "s0, t1", "h2, s0", "s1, t1"};
	bool is_even = prng_chance(p, 1, 2);

	put("topology:\n  kind: graph\n  hosts: 5\n"
	    "  switches: [{name: t1, tier: 1}, s0, s1, {name: t0, tier: 1}]\n  links:\n");
	for (uint32_t i = 0; i < N_OF(ends); i++) {
		put("    - {between: [%s]", ends[i]);
		if (!is_even) {
			put_rate(p);
			put_delay(p, ", delay: ", is_short);
		}
		put_number(p, ", count: ", 1, 2, "}\n");
	}
}

enum kind { WIRE, GRAPH, TREE, LEAF_SPINE };

static void put_regular(struct prng *p, enum kind kind, bool is_short)
{
	uint32_t planes = draw(p, 1, 2), per_leaf = draw(p, 1, 4), leaves = draw(p, 2, 4);

	put("topology: {planes: %u, nic_ports: %u", planes, planes * draw(p, 1, 2));
	put_rate(p);
	put_delay(p, ", delay: ", is_short);
	put_link(p, "host_link", is_short);
	if (kind == WIRE)
		put(", kind: wire");
	else
		put_link(p, "spine_link", is_short);
	if (kind == TREE) {
		put(", kind: fat-tree, hosts: %u, leaves_per_pod: 2, spines: 2", 4 * per_leaf);
		put_one(p, ", cores: ", "2|4");
		put_link(p, "core_link", is_short);
	} else if (kind == LEAF_SPINE) {
		put(", kind: leaf-spine, hosts: %u", leaves * per_leaf);
		put_number(p, ", spines: ", 1, 3, "");
		put_number(p, ", uplinks: ", 1, 2, "");
	}
	if (kind != WIRE)
		put(", hosts_per_leaf: %u", per_leaf);
	if (prng_chance(p, 1, 3))
		put_delay(p, ", switch_delay: ", prng_chance(p, 1, 2));
	if (prng_chance(p, 1, 3)) {
		put_delay(p, ", links: [{match: \"h1>*\", delay: ", is_short);
		put("}, {match: \"*>h0\"");
		put_rate(p);
		put("}]");
	}
	put("}\n");
}

/* Small queues and memories, so that packets are marked, trimmed and dropped. */
static void put_fabric(struct prng *p, enum kind kind)
{
	bool is_srv6 = kind != GRAPH && prng_chance(p, 1, 2);

	put_one(p, "fabric: {routing: ",
		is_srv6         ? "usid|usid+srh"
		: kind == GRAPH ? "ecmp"
				: "ecmp|structured");
	put_one(p, ", trimming: ", "true|true|false");
	if (is_srv6) {
		put_one(p, ", decapsulate: ", "leaf|host");
		put_one(p, ", adjacency: ", "true|false");
	}
	put_one(p, ", ecn: ", "off|{min: 1, max: 4KB}|{min: 3KB, max: 20KB}|{min: 9KB, max: 9KB}");
	put_one(p, ", buffer: {kind: ", "shared|port");
	put_one(p, ", size: ", "12KB}|25KB}|60KB}|200KB}|1MB}|1MB}|1MB}|1MB}");
	if (prng_chance(p, 2, 3)) {
		put_number(p, ", threshold: {data: ", 8, 40, "KB");
		put_number(p, ", control: 20KB, trimmed: ", 1, 4, "KB}");
	}
	put_one(p, ", ",
		"classes: 2|classes: 3|scheduling: wrr|scheduling: wrr, weights: {med: 1}");
	if (prng_chance(p, 1, 5))
		put_one(p, ", alpha: ", "1|0.25");
	put_one(p, ", overhead: ", "0|24|24|31");
	put("}\n");
}

static void put_transport(struct prng *p)
{
	put_one(p, "transport: {payload: ", "256|1024|1500|4096|4096");
	put_one(p, ", timeout: ", "15us|40us|100us");
	put_number(p, ", entropies: ", 8, 64, "");
	put_number(p, ", ack_every: ", 1, 6, "");
	if (prng_chance(p, 2, 3))
		put_number(p, ", window: ", 1, 60, "");
	put_number(p, ", retries: ", 1, 7, "}\n");
}

static void put_workload(struct prng *p)
{
	put("workload:\n");
	for (uint32_t n = draw(p, 1, 3); n > 0; n--) {
		if (prng_chance(p, 1, 5)) {
			put("  - {kind: random, load: 60%%, duration: 3us, "
			    "sizes: [[100, 30%%], [30KB, 100%%]]");
		} else {
			bool is_dependent = prng_chance(p, 1, 6);

			put_one(p, "  - {kind: ",
				is_dependent ? "ring|tree" : "permutation|incast|all-to-all");
			put_number(p, ", bytes: ", is_dependent ? 100 : 1,
				   prng_chance(p, 1, 3) ? 500 : 40000, "");
			put_number(p, ", stagger: ", 0, draw(p, 0, 1) * 900000, "ps");
			put_one(p, ", repeat: ", "1|1|1|1|2");
			put_number(p, ", gap: ", 0, is_dependent ? 0 : 2000, "ns");
		}
		put_number(p, ", message: ", 1500, 9000, "");
		put_number(p, ", window: ", 1, 4, "");
		put_number(p, ", start: ", 0, draw(p, 0, 1) * 9000, "ns}\n");
	}
}

/* They come and go while there is traffic; every other one where there surely is some. */
static void put_faults(struct prng *p, bool has_switches)
{
	put("faults:\n");
	for (uint32_t n = draw(p, 1, 4); n > 0; n--) {
		uint32_t kind = (uint32_t)((text.seed + 7 * n) % FAULT_KIND_COUNT);
		uint32_t from = draw(p, 0, 6000);

		if (prng_chance(p, 1, 8) || (kind == FAULT_REBOOT && !has_switches))
			kind = FAULT_DROP;
		put("  - {from: %uns", from);
		if (kind >= FAULT_FLAP || kind == FAULT_BLACK_HOLE || prng_chance(p, 1, 2)) {
			put(", kind: random, kinds: [%s]", fault_kind_name(kind));
			put_number(p, ", count: ", 1, 4, "");
			put_number(p, ", until: ", 8, 25, "us}\n");
			continue;
		}
		put(", kind: %s, until: %uns", fault_kind_name(kind), from + draw(p, 1, 9000));
		put_one(p, ", at: ", "\"*>h0\"|\"h0>*\"|\"*>h1\"|\"h1>*\"");
		if (kind != FAULT_DELAY)
			put_number(p, ", chance: ", 5, 30, "%");
		if (kind == FAULT_DELAY || kind == FAULT_REORDER)
			put_number(p, ", delay: ", 1, 3000, "ns");
		put("}\n");
	}
}

static void put_scenario(uint64_t seed, bool has_faults)
{
	static const enum kind kinds[] = {WIRE, GRAPH, TREE, TREE, LEAF_SPINE, LEAF_SPINE};
	struct prng p;

	prng_init(&p, seed, 0);
	text.len = 0;
	text.seed = seed;
	text.is_broken = true;
	signal(SIGABRT, say_which);
	put("seed: %" PRIu64 "\nend: %uus\n", seed, prng_chance(&p, 1, 5) ? draw(&p, 5, 40) : 700);
	enum kind kind = kinds[draw(&p, 0, N_OF(kinds) - 1)];
	bool is_short = prng_chance(&p, 1, 10);

	if (kind == GRAPH)
		put_graph(&p, is_short);
	else
		put_regular(&p, kind, is_short);
	put_fabric(&p, kind);
	put_transport(&p);
	put_workload(&p);
	if (has_faults)
		put_faults(&p, kind != WIRE);
}

static void note(struct notes *n, const char *what, uint32_t of, uint64_t value)
{
	assert_true(n->n < NOTES_MAX);
	n->at[n->n++] = (struct note){what, of, 0, value};
}

/* A struct or table of 64-bit words. */
static void note_words(struct notes *n, const char *what, uint32_t of, const void *words,
		       size_t bytes)
{
	for (uint32_t i = 0; i < bytes / sizeof(uint64_t); i++) {
		note(n, what, of, 0);
		n->at[n->n - 1].word = i;
		memcpy(&n->at[n->n - 1].value, (const uint64_t *)words + i, sizeof(uint64_t));
	}
}

static void note_flows(struct notes *n, const struct traffic *t)
{
	for (uint32_t i = 0; i < runs_scenario.workload.n; i++) {
		const struct traffic_flow *f = &t->flows[i];

		note(n, "flow: started", i, f->started_ps);
		note(n, "flow: delivered", i, f->delivered_ps);
		note(n, "flow: completed", i, f->completed_ps);
		note(n, "flow: bytes", i, f->total_bytes);
		note(n, "flow: status", i, (uint64_t)f->status);
		note(n, "flow: state", i, f->state);
	}
	note_words(n, "ticks", 0, t->ticks, t->n_ticks * sizeof t->ticks[0]);
}

static void note_nodes(struct notes *n, const struct sim *s)
{
	for (uint32_t i = 0; i < s->n_ports; i++) {
		const struct sim_port *port = &s->ports[i];

		note_words(n, "port: counts", i, &port->counts, sizeof port->counts);
		note(n, "port: free at", i, port->free_at);
		note(n, "port: bytes queued", i, port->queued_bytes);
		note(n, "port: on the link", i, port->wire.n);
	}
	for (uint32_t h = 0; h < s->n_hosts; h++) {
		const struct ref_counters *c = ref_counters(s->hosts[h].engine);

		note_words(n, "host: counters", h, c, sizeof *c);
		note(n, "host: received", h, s->hosts[h].received_bytes);
	}
}

static void take_notes(struct notes *n)
{
	const struct sim *s = &runs_run.sim;

	runs_audit(s);
	n->n = 0;
	note(n, "trace hash", 0, s->trace_hash);
	note(n, "events", 0, s->agenda.n_fired);
	note(n, "now", 0, sim_now(s));
	note(n, "has more", 0, sim_has_more(s));
	note(n, "retransmitted", 0, run_retransmitted(&runs_run));
	note_words(n, "totals", 0, &s->totals, sizeof s->totals);
	note_words(n, "queue lengths", 0, s->queue_lengths, sizeof s->queue_lengths);
	note_nodes(n, s);
	note_flows(n, &runs_run.traffic);
	note_words(n, "faults", 0, impair_counts(runs_run.impair),
		   runs_run.n_faults * sizeof(struct impair_count));
}

/* How a run is cut by its caller; each with windows or without. */
enum cut { UNCUT, SLICED, PAUSED };

static void compare(const struct notes *a, const struct notes *b, const char *how)
{
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < a->n && i < b->n && wrong < 10; i++) {
		const struct note *x = &a->at[i], *y = &b->at[i];

		assert_string_equal(x->what, y->what);
		if (x->value == y->value)
			continue;
		print_error("%s %u.%u: %" PRIu64 " is %" PRIu64 " %s\n", x->what, x->of, x->word,
			    x->value, y->value, how);
		wrong++;
	}
	assert_int_equal(wrong, 0);
	assert_int_equal(a->n, b->n);
}

static psec full_microsecond(psec at)
{
	return (at + PSEC_US - 1) / PSEC_US * PSEC_US;
}

static void begin(const char *yaml, bool is_local)
{
	runs_read(yaml, "");
	runs_begin(NULL, NULL);
	runs_run.sim.cfg.hooks.is_local &= is_local;
}

static psec last_completion(void)
{
	psec last = 0;

	for (uint32_t i = 0; i < runs_scenario.workload.n; i++)
		if (runs_run.traffic.flows[i].completed_ps > last)
			last = runs_run.traffic.flows[i].completed_ps;
	return last;
}

static bool step(struct prng *p, enum cut cut)
{
	struct sim *s = &runs_run.sim;
	bool was_windowed = s->is_windowed, is_first = sim_now(s) == 0;

	s->pause_at = cut == PAUSED ? s->agenda.n_fired + draw(p, 1, 200) : UINT64_MAX;
	bool has_more =
		run_step(&runs_run, cut == SLICED ? sim_now(s) + draw(p, 1, 3000000) : BOUND);

	if (cut == SLICED)
		runs_audit(s);
	assert_true(sim_now(s) >= last_completion());
	met.windowed += s->is_windowed;
	met.pauses += cut == PAUSED && s->is_windowed;
	met.begun += !is_first && s->is_windowed && !was_windowed;
	met.ended += was_windowed && !s->is_windowed;
	return has_more;
}

static void finish(struct prng *p, enum cut cut)
{
	for (uint32_t n = 0; step(p, cut); n++)
		assert_true(n < STEPS_MAX);
}

static void run_to(struct notes *n, bool is_local, enum cut cut)
{
	struct prng p;

	prng_init(&p, text.seed, 1);
	begin(text.at, is_local);
	finish(&p, cut);
	take_notes(n);
}

/* A run ends with the microsecond of its last completion, or at its end. */
static void check_end(void)
{
	const struct traffic *t = &runs_run.traffic;
	psec last = last_completion();

	if (!traffic_is_over(t) || full_microsecond(last) > runs_scenario.end_ps)
		assert_int_equal(sim_now(&runs_run.sim), runs_scenario.end_ps);
	else if (t->n_failed == 0)
		assert_int_equal(sim_now(&runs_run.sim), full_microsecond(last));
}

static void meet(void)
{
	const struct sim_totals *t = &runs_run.sim.totals;

	for (uint32_t i = 0; i < SIM_DROP_COUNT; i++)
		met.totals.drops[i] += t->drops[i];
	met.totals.trimmed += t->trimmed;
	met.totals.marked += t->marked;
	for (uint32_t i = 0; i < runs_run.n_faults; i++)
		if (impair_counts(runs_run.impair)[i].touched)
			met.kinds |= UINT64_C(1) << runs_run.faults[i].kind;
	met.retx += run_retransmitted(&runs_run);
	met.done += runs_run.traffic.n_done;
	met.failed += runs_run.traffic.n_failed;
}

static void compare_all(void)
{
	static const char *const hows[] = {"by events", "by events, sliced",  "by events, paused",
					   "again",     "in windows, sliced", "in windows, paused"};

	run_to(&whole, true, UNCUT);
	check_end();
	meet();
	runs_end();
	for (uint32_t i = 0; i < 6; i++) {
		run_to(&other, i >= 3, (enum cut)(i % 3));
		compare(&whole, &other, hows[i]);
		runs_end();
	}
}

static void any_run_is_the_same_in_windows(void **state)
{
	uint64_t first = check_seed(0x31d0), *drops = met.totals.drops;

	(void)state;
	memset(&met, 0, sizeof met);
	for (uint64_t seed = first; seed < first + 40; seed++) {
		put_scenario(seed, false);
		compare_all();
	}
	assert_true(met.windowed > 300 && met.pauses > 300 && met.done > 300);
	assert_true(drops[SIM_DROP_THRESHOLD] + drops[SIM_DROP_MEMORY] > 20);
	assert_true(met.retx > 100);
	assert_true(met.totals.trimmed > 100 && met.totals.marked > 100);
	text.is_broken = false;
}

static void faults_begin_and_end_windows(void **state)
{
	uint64_t first = check_seed(0xfa17);

	(void)state;
	memset(&met, 0, sizeof met);
	for (uint64_t seed = first; seed < first + 50; seed++) {
		put_scenario(seed, true);
		compare_all();
	}
	assert_true(met.begun > 30 && met.ended > 30);
	assert_true(__builtin_popcountll(met.kinds) >= FAULT_KIND_COUNT - 4);
	assert_true(met.done > 300 && met.failed > 0);
	text.is_broken = false;
}

/* What a caller may do to the fabric between two calls of sim_run, every other time there and back
 * at once. */
static void change_something(struct prng *p, struct sim *s)
{
	uint32_t what = draw(p, 0, 5), i = draw(p, 0, s->n_ports - 1);
	uint32_t node = draw(p, 0, s->cfg.topology->n_nodes - 1);
	const struct sim_port *port = &s->ports[i];

	for (uint32_t times = draw(p, 1, 2); times > 0; times--)
		switch (what) {
		case 0: sim_port_set_down(s, i, !port->is_down); break;
		case 1: sim_port_set_down(s, port->peer, !s->ports[port->peer].is_down); break;
		case 2: sim_port_set_halted(s, i, !port->is_halted); break;
		case 3: sim_port_set_impaired(s, i, !port->is_impaired); break;
		case 4:
			if (node < s->n_hosts)
				sim_host_restart(s, node);
			else
				sim_switch_clear(s, node);
			break;
		default: sim_host_jump(s, node % s->n_hosts, draw(p, 0, 2000)); break;
		}
}

static bool is_odd(const struct sim *s)
{
	uint32_t i = 0;

	while (i < s->n_ports && !s->ports[i].odd)
		i++;
	return i < s->n_ports;
}

static void run_changed(struct notes *n, bool is_local)
{
	struct sim *s = &runs_run.sim;
	struct prng p;

	prng_init(&p, text.seed, 2);
	begin(text.at, is_local);
	for (uint32_t i = 0; i < 30; i++) {
		psec length = draw(&p, 1, 2 * LONG_STEP);

		if (!run_step(&runs_run, sim_now(s) + length))
			break;
		runs_audit(s);
		assert_false(s->is_windowed && (!is_local || is_odd(s) || s->window_ps == 0));
		if (length >= LONG_STEP && is_local && !is_odd(s) && s->window_ps)
			assert_true(s->is_windowed);
		*(s->is_windowed ? &met.windowed : &met.ended) += is_local;
		for (uint32_t k = draw(&p, 0, 3); k > 0; k--)
			change_something(&p, s);
		/* Nothing stays broken for long. */
		bool is_healed = prng_chance(&p, 1, 2);

		for (uint32_t k = 0; k < s->n_ports && is_healed; k++) {
			sim_port_set_down(s, k, false);
			sim_port_set_halted(s, k, false);
			sim_port_set_impaired(s, k, false);
		}
	}
	finish(&p, SLICED);
	take_notes(n);
	runs_end();
}

static void changes_between_runs_are_the_same(void **state)
{
	uint64_t first = check_seed(0xc4a);

	(void)state;
	memset(&met, 0, sizeof met);
	for (uint64_t seed = first; seed < first + 50; seed++) {
		put_scenario(seed, false);
		run_changed(&whole, true);
		run_changed(&other, false);
		compare(&whole, &other, "by events, changed");
	}
	assert_true(met.windowed > 150 && met.ended > 150);
	text.is_broken = false;
}

#define LEAVES    "topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4}\n"
#define EVERYBODY "workload: {kind: permutation, bytes: 1MiB}\n"
#define BUSY      LEAVES EVERYBODY
#define RING      "workload: {kind: ring, bytes: 4MiB}\n"

/* Whether a run is in windows at 2, 6 and 12 us. */
static uint32_t when_windowed(const char *yaml, const char *settings, uint32_t tapped_port)
{
	static const psec moments[] = {2 * PSEC_US, 6 * PSEC_US, 12 * PSEC_US};
	static uint8_t tapped[256];
	uint32_t found = 0;

	runs_read(yaml, settings);
	memset(tapped, 0, sizeof tapped);
	assert_in_range(runs_scenario.topology.n_ports, 1, sizeof tapped);
	if (tapped_port < sizeof tapped)
		tapped[tapped_port] = 1;
	runs_begin(NULL, tapped);
	assert_false(runs_run.sim.is_windowed);
	for (uint32_t i = 0; i < N_OF(moments); i++) {
		assert_true(run_step(&runs_run, moments[i]));
		found |= (uint32_t)runs_run.sim.is_windowed << i;
	}
	runs_end();
	return found;
}

static void windows_need_a_quiet_fabric(void **state)
{
	static const struct {
		const char *yaml, *settings;
		uint32_t expected;
	} table[] = {
		{BUSY, "", 7},
		{BUSY, "topology.delay=100ns", 7},
		{BUSY, "topology.delay=99999ps", 0},
		{BUSY, "topology.spine_link.delay=99ns topology.switch_delay=1ns", 7},
		{BUSY, "fabric.pfc=on", 0},
		{BUSY, "workload.repeat=2", 7},
		{"topology: {kind: wire}\n" EVERYBODY, "", 7},
		{LEAVES RING, "", 7},
		{BUSY "faults: {kind: corrupt, at: h0-*, chance: 1%, from: 1s}\n", "", 0},
		{BUSY "faults: {kind: drop, at: h0-*, chance: 1%, from: 3us}\n", "", 1},
		{BUSY "faults: {kind: down, at: h0-*, from: 3us, until: 10us}\n", "", 5},
		{BUSY "faults: {kind: reboot, at: spine0, from: 3us, until: 10us}\n", "", 5},
		{BUSY "faults: {kind: restart, at: h0, from: 3us}\n", "", 7},
	};

	(void)state;
	for (uint32_t i = 0; i < N_OF(table); i++) {
		uint32_t found = when_windowed(table[i].yaml, table[i].settings, UINT32_MAX);

		if (found != table[i].expected)
			fail_msg("%s%s: %u, not %u", table[i].yaml, table[i].settings, found,
				 table[i].expected);
	}
	assert_int_equal(when_windowed(BUSY, "", 0) + when_windowed(BUSY, "", 20), 0);
}

/* Packets that a fault holds back keep windows off after it has ended, until they are there. */
static void late_packets_come_first(void **state)
{
	const struct sim *s = &runs_run.sim;

	(void)state;
	begin(BUSY "faults: {kind: delay, at: \"h0>*\", delay: 5us, from: 2us, until: 4us}\n",
	      true);
	run_step(&runs_run, 5 * PSEC_US);
	assert_false(is_odd(s) || s->is_windowed);
	run_step(&runs_run, 11 * PSEC_US);
	run_step(&runs_run, 12 * PSEC_US);
	assert_true(s->is_windowed);
	runs_end();
}

/* A fault that ends just after it took a packet, while the one before is still on a short link: the
 * next one leaves when the transmitter is free, though nothing arrives that says so. */
static void those_behind_a_lost_packet_leave(void **state)
{
	(void)state;
	for (uint32_t from = 40000; from < 41200; from += 37) {
		text.len = 0;
		put("end: 1ms\ntopology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, spines: "
		    "4,\n"
		    "           host_link: {rate: 33Gbps, delay: 100ns}}\n"
		    "fabric: {trimming: false, threshold: {data: 5MB}}\n"
		    "transport: {window: 1000, timeout: 1ms}\n"
		    "workload: {kind: incast, bytes: 40KB}\n"
		    "faults: {kind: drop, at: \"*>h0\", chance: 100%%, from: %uns, until: %uns}\n",
		    from, from + 60);
		compare_all();
	}
}

/* Who ends a run from a timer, whatever is not over yet. */
static struct {
	struct sim_hooks hooks;
	uint32_t flow, timer;
	bool is_late; /* the timer went off when the flow had completed */
} stopper;

static void stop_on_timer(void *context, struct sim *s, uint32_t timer)
{
	stopper.hooks.timer(context, s, timer);
	if (timer != stopper.timer)
		return;
	stopper.is_late = runs_run.traffic.flows[stopper.flow].state == TRAFFIC_DONE;
	sim_stop(s);
}

static void begin_stopped(const char *yaml, bool is_local)
{
	struct sim *s = &runs_run.sim;

	begin(yaml, is_local);
	stopper.hooks = s->cfg.hooks;
	stopper.flow = 0;
	s->cfg.hooks.is_over = NULL;
	s->cfg.hooks.timer = stop_on_timer;
	stopper.timer = sim_timer_add(s);
}

/* At the first full microsecond at or after the timer, and going on from there changes nothing. A
 * completion of that very moment comes first. */
static void a_run_stops_with_the_microsecond(void **state)
{
	static const char yaml[] =
		"end: 1ms\n" LEAVES "workload: {kind: permutation, bytes: 30KB, stagger: 777ns}\n";
	struct sim *s = &runs_run.sim;
	psec completed[8];

	(void)state;
	begin_stopped(yaml, true);
	sim_timer_arm(s, stopper.timer, 1);
	sim_run(s, BOUND);
	sim_run(s, BOUND);
	check_end();
	sim_run(s, PSEC_NEVER); /* to the last event */
	take_notes(&whole);
	for (uint32_t i = 0; i < 8; i++)
		completed[i] = runs_run.traffic.flows[i].completed_ps;
	runs_end();
	for (uint32_t i = 0; i < 16; i++) {
		begin_stopped(yaml, i & 1);
		stopper.flow = i / 2;
		sim_timer_arm(s, stopper.timer, completed[i / 2]);
		sim_run(s, BOUND);
		assert_true(stopper.is_late);
		assert_int_equal(s->is_windowed, i & 1);
		assert_int_equal(sim_now(s), full_microsecond(completed[i / 2]));
		if (!traffic_is_over(&runs_run.traffic))
			sim_run(s, BOUND);
		check_end();
		sim_run(s, PSEC_NEVER);
		take_notes(&other);
		compare(&whole, &other, "when stopped");
		runs_end();
	}
}

static void a_full_microsecond_is_one(void **state)
{
	static const struct {
		psec at, until, expected;
	} table[] = {
		{0, BOUND, 0},
		{1, BOUND, PSEC_US},
		{3 * PSEC_US, BOUND, 3 * PSEC_US},
		{3 * PSEC_US + 1, BOUND, 4 * PSEC_US},
		{3 * PSEC_US + 1, 3 * PSEC_US + 500, 3 * PSEC_US + 500},
		{3 * PSEC_US + 1, 4 * PSEC_US + 1, 4 * PSEC_US},
		{3 * PSEC_US + 1, 4 * PSEC_US + 1, 4 * PSEC_US + 1},
	};

	(void)state;
	for (uint32_t i = 0; i < 2 * N_OF(table); i++) {
		struct sim *s = &runs_run.sim;

		begin_stopped(BUSY, i & 1);
		/* Flows are still running: it is denied. */
		if (table[i / 2].expected > full_microsecond(table[i / 2].at))
			s->cfg.hooks.is_over = stopper.hooks.is_over;
		sim_timer_arm(s, stopper.timer, table[i / 2].at);
		assert_true(sim_run(s, table[i / 2].until));
		assert_int_equal(sim_now(s), table[i / 2].expected);
		assert_int_equal(s->is_windowed, i & 1);
		runs_audit(s);
		runs_end();
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test_teardown(any_run_is_the_same_in_windows, after_case),
	cmocka_unit_test_teardown(faults_begin_and_end_windows, after_case),
	cmocka_unit_test_teardown(changes_between_runs_are_the_same, after_case),
	cmocka_unit_test(windows_need_a_quiet_fabric),
	cmocka_unit_test(late_packets_come_first),
	cmocka_unit_test(those_behind_a_lost_packet_leave),
	cmocka_unit_test(a_run_stops_with_the_microsecond),
	cmocka_unit_test(a_full_microsecond_is_one),
};

CHECK_MAIN(cases)
