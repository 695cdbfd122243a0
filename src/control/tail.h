/* Reads files that other processes write meanwhile, and rings in them: entry k of a ring is in
 * place k modulo their number, until its writer begins the one that takes its place. */
#ifndef WEFT_CONTROL_TAIL_H
#define WEFT_CONTROL_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All of it, or false. */
bool tail_read(int fd, void *out, size_t at, size_t len);

struct tail_ring {
	int fd;
	size_t at; /* of place 0 in the file */
	uint32_t entry_bytes, n;
};

/* Where its reader is. */
struct tail {
	uint64_t next; /* entry to be taken */
	uint64_t lost; /* before it: overwritten before they were taken */
};

/* Moves on to the oldest entry that is there; how many that skips. */
uint64_t tail_skip(struct tail *t, uint64_t oldest);

/* Reads entries from next on, before end, that lie one behind the other: at most *n, which then
 * says how many. They may be half old: tail_keep drops those that were overwritten meanwhile. */
bool tail_take(const struct tail_ring *r, const struct tail *t, uint64_t end, void *out,
	       uint32_t *n);

/* Drops what is no longer there, now that oldest is; how many of n are left, at the start of out.
 */
uint32_t tail_keep(const struct tail_ring *r, struct tail *t, uint64_t oldest, void *out,
		   uint32_t n);

#endif
