/* The patterns behind workload_build, one entry for each enum workload_kind. workload.c checks what
 * all patterns share and calls these; nobody else does. */
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

#endif
