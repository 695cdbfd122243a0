/* What a transport does for the verbs (IBTA chapters 10 and 11) beyond queue pairs as all of them
 * have them: attributes one by one, and shared receive queues. */
#ifndef WEFT_TRANSPORT_VERBS_H
#define WEFT_TRANSPORT_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/attr.h"
#include "engine/engine.h"

/* Numbers are those of the engine; -ENOENT: there is none. */
struct transport_verbs_ops {
	uint8_t rd_atomic_max; /* reads and atomics out at once, each way */
	/* Sets what `set` names (enum engine_set), and moves to attr->state if that is named: the
	 * transitions of IBTA 10.3.1. 0, or -EINVAL and nothing changed. */
	int (*modify)(struct engine *e, nsec now, uint32_t number, const struct engine_attr *attr,
		      uint32_t set);
	/* ENGINE_SQD counts as draining while *is_draining; may be NULL. */
	int (*query)(const struct engine *e, uint32_t number, struct engine_attr *attr,
		     bool *is_draining);

	/* Shared receive queues, and the most of each number (a domain is nothing here). */
	struct engine_srq_caps most;
	/* The memory that make needs, or 0: more than `most`. */
	size_t (*shared_bytes)(const struct engine_srq_caps *caps);
	/* Makes one in memory that is the engine's until it ends. 0 or a negative errno. */
	int (*shared_make)(struct engine *e, uint32_t number, const struct engine_srq_caps *caps,
			   void *memory);
	/* Ends it: its memory, or NULL: there is none, or a queue pair uses it. */
	void *(*shared_end)(struct engine *e, uint32_t number);
	/* Arms ENGINE_EVENT_QUEUE_LIMIT, once, for when fewer receives are left; 0 disarms. */
	int (*shared_limit)(struct engine *e, uint32_t number, uint32_t limit);
	int (*shared_query)(const struct engine *e, uint32_t number, struct engine_srq_caps *caps,
			    uint32_t *limit);
};

#endif
