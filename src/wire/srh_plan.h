/* A segment routing header as a controller wants it, written whole: segments, the TLVs of End.MT
 * for each edge node, padding and room for an HMAC (RFC 8754 2, draft 7; T-01, T-02, T-12, T-21).
 *
 * What is written can be read back: every limit is checked before the first byte, and what does not
 * fit is refused, never left out. Whoever sets up the headend of a group calls this. */
#ifndef WEFT_WIRE_SRH_PLAN_H
#define WEFT_WIRE_SRH_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "wire/endmt.h"
#include "wire/srh.h"

/* Linux verifies an HMAC only where this flag is set; RFC 8754 leaves it 0 (T-12). */
#define SRH_FLAG_HMAC 0x08u

/* The receivers that one edge node serves; reserved bits of an entry are not looked at. */
struct srh_edge {
	uint8_t address[16]; /* the node's, or its SID (T-08) */
	const struct endmt_receiver *receivers;
	uint32_t n;
};

struct srh_plan {
	uint8_t next_header, segments_left, flags;
	uint16_t tag;
	const struct srh_segment *segments; /* the last to visit first */
	uint32_t n_segments;
	uint8_t endmt_type;
	const struct srh_edge *edges;
	uint32_t n_edges; /* 0: no TLV of End.MT */
	bool has_hmac;
	uint32_t key_id;
};

/* How many bytes the header takes, a multiple of 8, or why there is none: -EINVAL for no segment,
 * or segments left beyond the list, and with edges for fewer than two segments, none of them left
 * (T-08), a type that is taken or may change on the way (T-03), an edge without a receiver, an
 * address that is not one host's, a number above 24 bits; -EEXIST for two receivers at one address
 * (T-25); -EMSGSIZE for more than 2,048 bytes (T-21). */
int srh_plan_bytes(const struct srh_plan *plan);

/* Writes it to out. An edge's receivers stand in TLVs of at most 11; the HMAC is last, its 32 bytes
 * zeros, to be filled in by who has the key. The length, an error of srh_plan_bytes, or -ENOSPC:
 * out is too short. On an error nothing is written. */
int srh_plan_put(const struct srh_plan *plan, struct span out);

#endif
