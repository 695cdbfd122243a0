/* Traffic matrices in the .cm format of htsim: "Nodes N", "Connections M", then M lines
 * "src->dst id K start T size BYTES", T in picoseconds. Triggers become dependencies: see
 * docs/scenarios.md. */
#ifndef WEFT_SCENARIO_MATRIX_H
#define WEFT_SCENARIO_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#include "sim/workload.h"

struct matrix {
	const char *name; /* of the file, for messages */
	const char *text;
	size_t len;
	uint32_t hosts;            /* of the fabric */
	struct workload_flow like; /* what the file does not say; start_ps is added */
};

/* Adds the flows to w. 0, -ENOMEM, or -EINVAL with "file:line: what is wrong; what would be right"
 * in error; w is only good for workload_fini then. */
int matrix_read(struct workload *w, const struct matrix *m, char *error, size_t error_len);

#endif
