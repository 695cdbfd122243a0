/* The patterns behind workload_build, one entry for each enum workload_kind, and what their files
 * share. workload.c checks what all patterns have and calls these; nobody else does. */
#ifndef WEFT_SIM_PATTERNS_H
#define WEFT_SIM_PATTERNS_H

#include <stddef.h>
#include <stdint.h>

#include "sim/workload.h"

/* Where a refusal is told. */
struct pattern_error {
	char *text;
	size_t len;
};

struct pattern {
	/* 0, or -EINVAL with a sentence; *flows is how many make will add, where chance decides it
	 * about how many, and UINT64_MAX for more than that. */
	int (*check)(const struct workload_cfg *cfg, uint64_t *flows, struct pattern_error *e);
	/* Adds the flows of a checked cfg. 0, -ENOMEM, or -EINVAL with a sentence. */
	int (*make)(struct workload *w, const struct workload_cfg *cfg, uint64_t seed,
		    struct pattern_error *e);
	const char *key; /* to blame when the flows are too many */
};

/* kind is one of the enumeration. */
const struct pattern *pattern_of(enum workload_kind kind);

/* Writes the sentence and returns -EINVAL. */
int pattern_refuse(struct pattern_error *e, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A product, or UINT64_MAX when it is larger. */
uint64_t pattern_times(uint64_t a, uint64_t b);

/* One flow's size, where `message` may say that it travels as one message. */
int pattern_check_message(const struct workload_cfg *cfg, uint64_t bytes, struct pattern_error *e);

/* How many hosts take part, and whether there are so many. */
uint32_t pattern_members(const struct workload_cfg *cfg);
int pattern_check_members(const struct workload_cfg *cfg, struct pattern_error *e);

/* What all flows of a pattern share. rank: how many staggers late it starts. */
struct workload_flow pattern_flow(const struct workload_cfg *cfg, const struct workload *w,
				  uint32_t rank);
/* 0 or -ENOMEM. */
int pattern_add(struct workload *w, const struct workload_flow *flow);

/* One to many: patterns_spread.c. */
int broadcast_check(const struct workload_cfg *cfg, uint64_t *flows, struct pattern_error *e);
int broadcast_make(struct workload *w, const struct workload_cfg *cfg, uint64_t seed,
		   struct pattern_error *e);
int all_gather_check(const struct workload_cfg *cfg, uint64_t *flows, struct pattern_error *e);
int all_gather_make(struct workload *w, const struct workload_cfg *cfg, uint64_t seed,
		    struct pattern_error *e);

#endif
