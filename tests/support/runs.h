/* Whole runs of scenarios that are written as text, and what holds between any two of their
 * events. */
#ifndef WEFT_TESTS_SUPPORT_RUNS_H
#define WEFT_TESTS_SUPPORT_RUNS_H

#include <errno.h>
#include <string.h>

#include "check.h"
#include "scenario/run.h"
#include "transport/transport.h"

#define RUNS_SETS 4u

/* One run at a time, and its scenario. */
static struct scenario runs_scenario;
static struct run runs_run;
static char runs_error[SCENARIO_ERROR_MAX];

/* Reads a scenario; 0, or a negative errno and what is wrong in runs_error. */
static inline int runs_try(const char *text)
{
	struct scenario_source source = {.file = "f.yaml", .text = text, .len = strlen(text)};

	runs_error[0] = '\0';
	return scenario_read(&runs_scenario, &source, runs_error, sizeof runs_error);
}

/* Number i of a table of mistakes. What would be right is said by others, and may change. */
static inline void runs_refused(uint32_t i, const char *text, const char *want)
{
	assert_int_equal(runs_try(text), -EINVAL);
	if (strncmp(runs_error, want, strlen(want)) != 0)
		fail_msg("case %u: \"%s\"\n   instead of \"%s\"", i, runs_error, want);
}

/* Reads a scenario, with "key=value" settings on top, separated by spaces. */
static inline void runs_read(const char *yaml, const char *settings)
{
	struct scenario_override sets[RUNS_SETS];
	char text[256];
	uint32_t n = 0;

	assert_in_range(strlen(settings), 0, sizeof text - 1);
	memcpy(text, settings, strlen(settings) + 1);
	for (char *at = strtok(text, " "); at; at = strtok(NULL, " ")) {
		char *value = strchr(at, '=');

		assert_in_range(n, 0, RUNS_SETS - 1);
		assert_non_null(value);
		*value = '\0';
		sets[n++] = (struct scenario_override){at, value + 1};
	}
	struct scenario_source source = {.file = "test",
					 .text = yaml,
					 .len = strlen(yaml),
					 .overrides = sets,
					 .n_overrides = n};

	if (scenario_read(&runs_scenario, &source, runs_error, sizeof runs_error))
		fail_msg("%s", runs_error);
}

static inline void runs_begin(const struct run_tap *tap, const uint8_t *tapped)
{
	if (run_init(&runs_run, &runs_scenario, tap, tapped, runs_error, sizeof runs_error))
		fail_msg("%s", runs_error);
}

static inline void runs_end(void)
{
	run_fini(&runs_run);
	scenario_fini(&runs_scenario);
}

/* The packets of a queue. */
static inline const struct packet *runs_queued(const struct sim_ring *q, uint32_t i)
{
	return q->slots[(q->head + i) & q->mask].packet;
}

static inline uint64_t runs_bytes(const struct sim_ring *q)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < q->n; i++)
		bytes += runs_queued(q, i)->len;
	return bytes;
}

static inline uint64_t runs_pauses(const struct sim_port *port)
{
	uint64_t n = 0;

	for (const struct packet *p = port->control_head; p; p = p->next)
		n++;
	return n;
}

/* Every packet and every byte is where the counters say. */
static inline void runs_audit(const struct sim *s)
{
	uint32_t n_buffers = s->cfg.is_buffer_shared ? s->cfg.topology->n_nodes : s->n_ports;
	uint64_t held = 0, in_queues = 0, in_buffers = 0;

	for (uint32_t i = 0; i < s->n_ports; i++) {
		const struct sim_port *port = &s->ports[i];
		uint64_t bytes = 0, pkts = 0;

		for (uint32_t c = 0; c < FWD_CLASSES; c++) {
			const struct sim_ring *q = &port->queues[c];

			assert_int_equal(q->bytes, runs_bytes(q));
			assert_int_equal(port->ready >> c & 1, q->n > 0);
			bytes += q->bytes;
			pkts += q->n;
		}
		assert_int_equal(port->queued_bytes, bytes);
		assert_int_equal(port->queued_pkts, pkts);
		assert_true(port->counts.most_bytes >= bytes);
		in_queues += port->is_host ? 0 : bytes;
		held += pkts + port->wire.n + runs_pauses(port);
	}
	for (uint32_t i = 0; i < n_buffers; i++)
		in_buffers += s->buffers[i].used_bytes;
	for (uint32_t i = 0; i < s->n_extra; i++)
		held += s->extra[i].late != NULL;
	assert_int_equal(in_buffers, in_queues);
	assert_int_equal(s->packets.in_use, held);
	assert_true(sim_is_conserved(s));
}

/* What of each class came in by each port and waits: what flow control goes by. */
static inline void runs_audit_pfc(const struct sim *s)
{
	for (uint32_t in = 0; s->pfcs && in < s->n_ports; in++) {
		uint64_t bytes[FWD_CLASSES] = {0};
		const struct topology_node *node = &s->cfg.topology->nodes[s->ports[in].node];

		for (uint32_t i = 0; i < node->n_ports && !node->is_host; i++)
			for (uint32_t c = 0; c < FWD_CLASSES; c++) {
				const struct sim_ring *q =
					&s->ports[node->first_port + i].queues[c];

				for (uint32_t k = 0; k < q->n; k++)
					if (runs_queued(q, k)->in_port == in)
						bytes[c] += runs_queued(q, k)->len;
			}
		for (uint32_t c = 0; c < FWD_CLASSES; c++)
			if (s->cfg.qos.classes[c].pfc_xoff_bytes)
				assert_int_equal(s->pfcs[in].came_in[c], bytes[c]);
	}
}

/* Runs to the end in slices, with a look at everything after each. */
static inline void runs_finish(psec slice, psec bound)
{
	struct sim *s = &runs_run.sim;

	while (run_step(&runs_run, slice == PSEC_NEVER ? bound : sim_now(s) + slice)) {
		runs_audit(s);
		runs_audit_pfc(s);
		if (sim_now(s) >= bound)
			fail_msg("not over at %llu ps", (unsigned long long)bound);
	}
	runs_audit(s);
	runs_audit_pfc(s);
}

static inline uint64_t runs_drops(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < SIM_DROP_COUNT; i++)
		n += runs_run.sim.totals.drops[i];
	return n;
}

/* Counters of all hosts together, bytes of them; each host's must balance. */
static inline void runs_sum(const struct transport *row, void *sum, size_t bytes)
{
	assert_int_equal(bytes, row->n_counters * sizeof(uint64_t));
	memset(sum, 0, bytes);
	for (uint32_t h = 0; h < runs_run.sim.n_hosts; h++) {
		const struct engine *e = runs_run.sim.hosts[h].engine;
		const uint64_t *counts = e->ops->count(e);

		assert_int_equal(transport_verdicts(row, counts), counts[row->count_rx]);
		for (uint32_t i = 0; i < row->n_counters; i++)
			((uint64_t *)sum)[i] += counts[i];
	}
}

/* The same of the reference transport, which has no row. */
static inline struct ref_counters runs_counters(void)
{
	struct ref_counters sum = {0};

	for (uint32_t h = 0; h < runs_run.sim.n_hosts; h++) {
		const struct ref_counters *c = ref_counters(runs_run.sim.hosts[h].engine);
		uint64_t ended = 0;

#define RUNS_ENDED(name, text) ended += c->name;
		REF_ACCEPTED(RUNS_ENDED)
		REF_DROPS(RUNS_ENDED)
#undef RUNS_ENDED
		assert_int_equal(c->rx, ended);
#define RUNS_ADD(name, text) sum.name += c->name;
		REF_COUNTERS(RUNS_ADD)
#undef RUNS_ADD
	}
	return sum;
}

/* Every flow was delivered whole, and nothing of another. */
static inline void runs_all_done(void)
{
	const struct traffic *t = &runs_run.traffic;

	assert_int_equal(t->n_done, runs_scenario.workload.n);
	assert_int_equal(t->n_failed, 0);
	for (uint32_t i = 0; i < runs_scenario.workload.n; i++) {
		const struct workload_flow *w = &runs_scenario.workload.flows[i];

		assert_int_equal(t->flows[i].state, TRAFFIC_DONE);
		assert_int_equal(t->flows[i].total_bytes, w->bytes * w->repeat);
		assert_true(t->flows[i].completed_ps >= t->flows[i].delivered_ps);
	}
}

#endif
