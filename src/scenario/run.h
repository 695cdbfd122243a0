/* A scenario set up and run: topology, routes, transport, traffic and faults around one simulation.
 * Read only for its caller, who steps it and reads results out of its parts. */
#ifndef WEFT_SCENARIO_RUN_H
#define WEFT_SCENARIO_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario/hosts.h"
#include "scenario/scenario.h"
#include "scenario/watch.h"
#include "sim/impair.h"
#include "sim/sim.h"
#include "sim/traffic.h"

/* Frames at tapped ports; see sim_hooks.tap. */
struct run_tap {
	void *context;
	void (*frame)(void *context, uint32_t port, bool is_out, psec at, struct cspan frame);
	struct trace *trace; /* lent: for what hosts record, numbered as nodes; or NULL */
};

struct run {
	const struct scenario *scenario;
	struct routing routing;
	struct hosts hosts;
	struct traffic traffic;
	struct sim_groups groups; /* of the workload, if it has some */
	struct sim sim;
	struct fault *faults; /* the scenario's, and those drawn */
	uint32_t n_faults;
	struct impair_plan *impair;
	struct run_tap tap;
	struct watch watch; /* where a target asks for it */
	bool is_ended;
};

/* Sets everything up at time 0. The scenario is lent. tapped, when not NULL, has a byte per port.
 * 0, -ENOMEM, or -EINVAL with a sentence in error. */
int run_init(struct run *r, const struct scenario *s, const struct run_tap *tap,
	     const uint8_t *tapped, char *error, size_t error_len);
void run_fini(struct run *r);

/* A flow moves real bytes: the workload's so many, from the sender's memory to the receiver's, both
 * lent for life. Before the first step, once for each of up to PAIRS_REAL flows. 0, -EEXIST for a
 * flow that has its memory, -ENOSPC for one too many, -EINVAL for a transport without memory. */
int run_use_memory(struct run *r, uint32_t flow, uint8_t *from, uint8_t *to);

/* Part of run_init: makes the trees of the workload's groups. 0, -ENOMEM, or -EINVAL and such with
 * a sentence. */
int run_init_groups(struct run *r, char *error, size_t error_len);

/* Goes on until simulated time `until`, or until sim.pause_at events have fired, which the caller
 * then raises. True while there is something left to do: up to the first full microsecond at which
 * traffic is over, or to the scenario's end. */
bool run_step(struct run *r, psec until);

/* What a run amounts to, for one flow. */
struct run_flow {
	psec fct_ps;   /* mean over its repetitions; 0: did not complete */
	psec ideal_ps; /* alone on the fabric */
};
struct run_flow run_flow(const struct run *r, uint32_t flow);

/* The time that the bytes of a flow take alone on the fabric; to a group, to its farthest receiver.
 */
psec run_ideal(const struct run *r, const struct workload_flow *flow);

/* Packets sent more than once, and to ask something, by all hosts. */
uint64_t run_retransmitted(const struct run *r);
uint64_t run_retransmitted_by(const struct run *r, uint32_t host);
uint64_t run_probes(const struct run *r);

#endif
