/* What engines with queue pairs of their own memory need in a simulation: the memory, host by host,
 * and one region of virtual memory that covers every address. */
#ifndef WEFT_SCENARIO_PAIRS_H
#define WEFT_SCENARIO_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "mem/mem.h"
#include "sim/sim.h"

#define PAIRS_KEY  1u /* of that region */
#define PAIRS_REAL 8u /* regions of real memory besides: see run_use_memory */

struct pairs_block;

struct pairs {
	struct mem *mem; /* read only, so one will do for all hosts */
	struct pairs_block **blocks;
	uint32_t n_hosts;
};

/* 0 or -ENOMEM; pairs_fini in either case. */
int pairs_init(struct pairs *p, uint32_t n_hosts);
void pairs_fini(struct pairs *p);

/* Memory at max_align_t, until pairs_forget or pairs_fini; NULL without. */
void *pairs_new(struct pairs *p, uint32_t host, size_t bytes);

/* Takes back what pairs_new gave this host last. */
void pairs_undo(struct pairs *p, uint32_t host);

/* Posts n receives without room for data on a queue pair that was just made. 0 or a negative errno.
 */
int pairs_receive(struct engine *e, const struct sim_qp *qp, uint32_t n);

/* The host's engine starts afresh: whatever queue pairs there were are gone. */
void pairs_forget(struct pairs *p, uint32_t host);

#endif
