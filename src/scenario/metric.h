/* The figures that targets of a scenario are about, from a run that has ended. Integers: ratios in
 * millionths, times in picoseconds, rates in bits per second, counts. */
#ifndef WEFT_SCENARIO_METRIC_H
#define WEFT_SCENARIO_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "scenario/run.h"

struct metric {
	uint64_t value;
	bool is_known; /* false: not every flow it is about is done, or nothing to compare with */
};

/* The figure of one run that target->metric names; target->of is the caller's business. wall_ns is
 * how long the run took on this machine. scenario_target_problem has nothing against it. Without
 * memory nothing is known. */
struct metric metric_of(const struct run *r, const struct scenario_target *target,
			uint64_t wall_ns);

/* One over another, in millionths. */
struct metric metric_ratio(struct metric of, struct metric over);

/* Whether a figure is what the target asks for. */
bool metric_is_met(const struct scenario_target *target, struct metric figure);

/* The time in which the flows of a run, all started together, could be done at best: no host sends
 * or takes faster than its ports. has_leaves: nor does a leaf, through its links upwards. */
psec metric_ideal_last(const struct run *r, bool has_leaves);

/* The same where sending takes no time: each host takes in what it lacks as fast as its ports, as
 * if somebody copied it on the way. is_wrapped: packets of multicast groups are as long as they are
 * inside the fabric. */
psec metric_ideal_spread(const struct run *r, bool is_wrapped);

/* The fair share of every flow, with all of them at work, where hosts' ports are what they share:
 * max-min, in bits per second. shares has room for each flow. 0 or -ENOMEM. */
int metric_fair_shares(const struct run *r, uint64_t *shares);

#endif
