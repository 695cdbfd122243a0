/* How a switch picks one of several equal ports: a hash of header fields (MRC 9.3.3), or a field of
 * the structured entropy value (MRC 9.1, 9.3.4). */
#ifndef WEFT_FWD_SPREAD_H
#define WEFT_FWD_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "fwd/frame.h"

/* Fields that may go into the hash. */
enum {
	FWD_HASH_SRC = 1 << 0,
	FWD_HASH_DST = 1 << 1,
	FWD_HASH_PROTOCOL = 1 << 2,
	FWD_HASH_SPORT = 1 << 3,
	FWD_HASH_DPORT = 1 << 4,
	FWD_HASH_FLOW_LABEL = 1 << 5,
	FWD_HASH_5TUPLE =
		FWD_HASH_SRC | FWD_HASH_DST | FWD_HASH_PROTOCOL | FWD_HASH_SPORT | FWD_HASH_DPORT,
};

/* A hash of the chosen fields of the outermost headers and of the switch's own seed. 32 bits, each
 * as good as another; the same on every machine. */
uint32_t fwd_hash(const struct fwd_view *view, uint32_t fields, uint64_t seed);

/* Which of n equal choices a hash picks; n >= 1. Uses the top bits. */
static inline uint32_t fwd_pick(uint32_t hash, uint32_t n)
{
	return (uint32_t)((uint64_t)hash * n >> 32);
}

#define FWD_EV_HOPS_MAX 8u

/* The fabric-wide layout of a structured EV: widths of the hop fields, from the top bit of the
 * 32-bit value (Table 9-1: source port, then the low 16 bits of the flow label) down. */
struct fwd_ev_layout {
	uint8_t n;
	uint8_t widths[FWD_EV_HOPS_MAX]; /* bits, each 1 .. 16 */
};

/* True when the layout has 1 to FWD_EV_HOPS_MAX fields of legal widths that fit 32 bits, or 16
 * where the fabric is IPv4 (ip_version 4, not 6), which has no flow label. */
bool fwd_ev_layout_ok(const struct fwd_ev_layout *layout, uint8_t ip_version);

/* The value of hop field number hop < layout->n in a 32-bit structured EV. */
uint32_t fwd_ev_field(const struct fwd_ev_layout *layout, uint32_t ev, uint32_t hop);

/* The EV whose fields have these values, each within its width; unused low bits are 0. */
uint32_t fwd_ev_make(const struct fwd_ev_layout *layout, const uint32_t *values);

/* The 32-bit structured EV of a packet: its UDP source port, or the entropy of native IP, and the
 * low 16 bits of its flow label, 0 over IPv4. What has neither has 0 in its place. */
uint32_t fwd_ev_of(const struct fwd_view *view);

#endif
