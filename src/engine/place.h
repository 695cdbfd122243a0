/* Payload between packets and the memory of applications: every engine that has regions calls this.
 *
 * All keys are checked before the first byte is written. Virtual bytes are zeros where they are
 * read; what is written to virtual memory is forgotten. */
#ifndef WEFT_ENGINE_PLACE_H
#define WEFT_ENGINE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "engine/engine.h"
#include "mem/mem.h"

/* On whose account, and with which right. */
struct place {
	const struct mem *mem;
	uint32_t pd, qp;
	uint8_t access; /* enum mem_access */
	bool is_local;
	bool is_trusted; /* pieces only: keys are not looked at */
};

/* The payload of a packet, in order; pieces may be virtual. */
struct place_payload {
	const struct cspan *pieces;
	uint32_t n, len;
};

/* Copies payload to va of the region behind key. MEM_OK, or why not, and then nothing was
 * written. */
enum mem_fault place_region(const struct place *how, const struct place_payload *payload,
			    uint32_t key, uint64_t va);

/* Part of a list of pieces: len bytes from byte `at` of them on, which the list has. */
struct place_list {
	const struct sge *sg;
	uint32_t n, at, len;
};

/* Copies payload, to.len bytes, into the pieces. */
enum mem_fault place_pieces(const struct place *how, const struct place_payload *payload,
			    const struct place_list *to);

/* The bytes as spans, none empty, at most ENGINE_SGE of them. */
enum mem_fault place_gather(const struct place *how, const struct place_list *from,
			    struct cspan *out, uint8_t *n_out);

#endif
