/* Carries out a list of faults (sim/fault.h) on a running simulation: switches state on time, and
 * decides the fate of each packet that leaves an impaired port. Draws from one random stream per
 * fault, so that one fault more shifts no other. */
#ifndef WEFT_SIM_IMPAIR_H
#define WEFT_SIM_IMPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/fault.h"
#include "sim/sim.h"

struct impair_plan;

/* What each fault did, for the report. */
struct impair_count {
	uint64_t touched; /* packets dropped, changed, copied or delayed; state changes */
};

/* Takes the faults (copied), each one that fault_problem accepts, into a simulation that has not
 * started: arms a timer for what starts and ends. NULL without memory. Control packets are those of
 * the control DSCP and the trimmed ones. The plan is freed after the last sim_run. */
struct impair_plan *impair_plan_new(struct sim *s, const struct fault *faults, uint32_t n,
				    uint64_t seed);
void impair_plan_free(struct impair_plan *plan);

/* The hook for timers: true when the timer is the plan's, and was handled. */
bool impair_timer(struct impair_plan *plan, struct sim *s, uint32_t timer);

const struct impair_count *impair_counts(const struct impair_plan *plan);

/* Called by sim for each packet that leaves a port with faults on it, to arrive at `at`. True: the
 * packet, perhaps changed, goes on in turn; false: it was dropped or sent late. */
bool impair_send(struct sim *s, uint32_t port, struct packet *p, psec at);

#endif
