/* The receiver's record of packets: which of those at or after `expected` came.
 *
 * Packets are counted from 0 in 64 bits. One in order moves expected and leaves no trace; chunks of
 * a pool are taken for those ahead of a gap alone, and given back as soon as expected is past them.
 * Beside the bit that says that it came, each has a mark of the user's, of which is told when
 * expected moves over it. Invariants: expected <= end, and n_early packets between them came; none
 * at or after end did; n_held chunks are held, and none where n_early is 0. Engines call this for
 * every packet that they take, and do what follows. */
#ifndef WEFT_ENGINE_SEEN_H
#define WEFT_ENGINE_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"

#define ENGINE_SEEN_PKTS 128u /* that a chunk is for */

/* Bit i of word i / 64 is of the count 128 * n + i. */
struct engine_seen_chunk {
	uint64_t got[2];
	uint64_t marks[2]; /* the user's; 0 where got is */
};

struct engine_seen {
	struct pool *pool; /* of chunks; others may share it */
	uint32_t *chunks;  /* those held, by count / ENGINE_SEEN_PKTS modulo n_chunks */
	uint32_t n_chunks; /* a power of two */
	uint32_t n_held;
	uint64_t expected, end;
	uint32_t n_early; /* received at or after expected */
};

/* Makes a record that begins at count 0. chunks: n_chunks places, the record's for its life; counts
 * less than (n_chunks - 1) * ENGINE_SEEN_PKTS from expected on may be tracked, so that no two of
 * them share a place. */
void engine_seen_init(struct engine_seen *s, struct pool *pool, uint32_t *chunks,
		      uint32_t n_chunks);

/* Everything is forgotten, as engine_seen_init has it. */
void engine_seen_reset(struct engine_seen *s);

/* What came early is forgotten, and all chunks go back: expected and end stay. */
void engine_seen_clear(struct engine_seen *s);

/* Whether count n, expected <= n, is here. */
bool engine_seen_has(const struct engine_seen *s, uint64_t n);

/* Room to track count n, expected <= n; false: no chunk is free. One in order needs none. */
bool engine_seen_reserve(struct engine_seen *s, uint64_t n);

/* That room is not used after all. */
void engine_seen_cancel(struct engine_seen *s, uint64_t n);

/* Count n, which was not, is here now, marked or not; there is room. end and n_early follow; where
 * n is expected, so does that, but not yet over what came ahead of it. Returns how many marked ones
 * expected moved over. */
uint32_t engine_seen_add(struct engine_seen *s, uint64_t n, bool is_marked);

/* expected moves over what came ahead of it, but not beyond `limit`. Returns how many marked ones
 * it moved over. */
uint32_t engine_seen_run(struct engine_seen *s, uint64_t limit);

/* 64 counts from `from` on, expected - 1 <= from: bit i says that from + i is here. */
uint64_t engine_seen_map(const struct engine_seen *s, uint64_t from);

#endif
