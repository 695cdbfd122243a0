/* Several runs of one scenario side by side: the scenario itself and its variants, a row for each,
 * then every target beside its result. `weft sim` calls this for scenarios that have either.
 *
 * Order: study_init, study_begin, study_add after each run while it still stands, study_end. */
#ifndef WEFT_TOOLS_SIM_STUDY_H
#define WEFT_TOOLS_SIM_STUDY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "scenario/metric.h"
#include "tools/sim/report.h"

/* The figures of a target: of the runs it is about, and of the one it is compared with. */
struct study_figure {
	struct metric in[SCENARIO_GROUP], of;
	uint32_t n_in; /* runs that were neither left out nor interrupted, */
	bool has_of;   /* nor was that one */
};

/* What a run counted besides its flows. */
struct study_count {
	psec ended_ps;
	uint64_t retx, trimmed, marked, dropped; /* packets */
};

struct study {
	const struct scenario *main;
	const char *summary;
	bool is_json, has_all, is_interrupted;
	struct scenario *variants; /* those to run, in the order of main->beside */
	uint32_t *numbers;         /* of each, from 1: its place in main->beside */
	uint32_t n_variants;
	struct study_figure *figures; /* by target */
	struct study_count *counts;   /* by run */
	uint32_t n_done;              /* runs so far */
	struct json_writer json;      /* open from study_begin to study_end, if is_json */
};

/* Whether a scenario is more than one run and its report. */
bool study_is_one(const struct scenario *s);

/* Reads the variants, those that are long only if has_all; main is lent. 0, -ENOMEM, or -EINVAL
 * with a sentence in error. Call study_fini in any case. */
int study_init(struct study *st, const struct scenario *main, const struct scenario_source *source,
	       char *error, size_t error_len);
void study_fini(struct study *st);

/* Run i of 1 + n_variants: its scenario and name. */
const struct scenario *study_scenario(const struct study *st, uint32_t i);
const char *study_name(const struct study *st, uint32_t i);

/* What will be run and asked, for --check. */
void study_plan(FILE *out, const struct study *st);

void study_begin(FILE *out, struct study *st);

/* Takes in the next run's results; the report was gathered. */
void study_add(FILE *out, struct study *st, const struct report *r);

/* Prints the targets. Whether all are met that are about runs that were made. */
bool study_end(FILE *out, struct study *st);

#endif
