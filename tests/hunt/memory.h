/* The memory of one host, for any transport whose engine has a memory table (mem/mem.h): regions of
 * arenas, windows, and blocks for queues with a guard on either side. */
#ifndef WEFT_TESTS_HUNT_MEMORY_H
#define WEFT_TESTS_HUNT_MEMORY_H

#include "hunt.h"
#include "mem/mem.h"

#define HUNT_BLOCKS (HUNT_ENDS + 1)

struct hunt_memory {
	const struct hunt_plan *plan;
	struct mem *mem; /* for the engine's configuration */
	void *table;
	struct {
		uint8_t *memory;
		size_t bytes;
	} blocks[HUNT_BLOCKS];
	uint32_t n_blocks;
};

/* Makes an empty table. 0 or -ENOMEM. */
int hunt_memory_init(struct hunt_memory *m, const struct hunt_plan *s);

/* Frees all. The sentence that says what the engine did to memory that is not its own, or NULL. */
const char *hunt_memory_fini(struct hunt_memory *m);

/* A block of so many bytes at max_align_t, freed by hunt_memory_fini; NULL for 0 of them. */
void *hunt_memory_block(struct hunt_memory *m, size_t bytes);

/* Adds the regions and windows of an end, or the region of a host's shared receive queue. Answers
 * as mem_add. */
int hunt_memory_add_end(struct hunt_memory *m, uint32_t end);
int hunt_memory_add_shared(struct hunt_memory *m, uint32_t host);

#endif
