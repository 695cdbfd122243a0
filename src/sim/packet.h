/* A packet inside the simulator: its header bytes, and a payload that is virtual zeros or a buffer.
 *
 * The frame on the wire is head[start .. start + stored), then the body's bytes if it has one, then
 * zeros up to len; the last bytes of a packet that was not trimmed are those of its carrier's seal,
 * known good, and by a CRC computed when somebody looks (a cipher's are zeros: nobody has keys
 * here). Only of a packet made real does the body hold every byte, the seal's included, right or
 * wrong. A body may be longer than what is left of a packet that was cut. Packets come from a pool
 * that grows; who holds one passes it on or gives it back. */
#ifndef WEFT_SIM_PACKET_H
#define WEFT_SIM_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "fwd/frame.h"
#include "wire/carrier.h"

/* Bytes behind the stored ones. Shared by copies of a packet, changed only while held once. */
struct packet_body {
	uint32_t refs, len;
	uint8_t bytes[];
};

/* In a queue or on a link. A switch touches what stands here and the first bytes of the headers: in
 * the common case one cache line. */
struct packet {
	union {
		struct packet_body *body; /* NULL: none */
		struct packet *next;      /* in the pool, or among the pause frames of a port */
	};
	uint32_t len;     /* of the frame, without FCS */
	uint32_t in_port; /* where this node got it; own packets: UINT32_MAX */
	uint64_t hops;    /* that are before it: see routing_walk */
	uint16_t start, stored;
	uint8_t dscp; /* of the outermost header, while it waits in a queue */
	bool is_free : 1;
	bool is_fcs_bad : 1; /* the next receiver drops it */
	bool is_pause : 1;   /* a PFC frame: between two ports, counted nowhere */
	bool is_real : 1;    /* stored and body bytes are the whole frame, seal as it is */
	bool is_cut : 1;     /* its end was cut off, and the seal's bytes there */
	uint8_t carrier : 3; /* its place among the fabric's */
	uint8_t head[];
};

struct packet_pool {
	struct packet *free;
	void **chunks;
	uint32_t n_chunks, chunk_room;
	uint32_t head_bytes; /* room for stored bytes */
	size_t stride;
	uint64_t in_use, most; /* packets */
};

/* A segment routing header may have 2048 bytes, and what hosts send stands behind it. */
#define PACKET_HEAD_MAX 2304u

_Static_assert(CARRIERS_MAX <= 8, "a place among them has three bits of a packet");

/* Packets with room for head_bytes of headers each, <= PACKET_HEAD_MAX. */
void packet_pool_init(struct packet_pool *pool, uint32_t head_bytes);
/* Frees all, also packets still in use, which nobody may touch any more. */
void packet_pool_fini(struct packet_pool *pool);

/* An empty packet, or NULL without memory. */
struct packet *packet_get(struct packet_pool *pool);
void packet_put(struct packet_pool *pool, struct packet *p);

/* Another packet with the same bytes, or NULL without memory. */
struct packet *packet_copy(struct packet_pool *pool, const struct packet *p);

/* Gives a packet a body of len zeroed bytes; false without memory. */
bool packet_add_body(struct packet *p, uint32_t len);
void packet_drop_body(struct packet *p);

/* Makes every byte of the frame real, the seal's too, in memory of its own; false without memory.
 */
bool packet_make_real(struct packet *p, const struct carriers *known);

/* Writes the whole frame, p->len bytes, to out. */
void packet_bytes(const struct packet *p, const struct carriers *known, uint8_t *out);

/* Where things stand in a frame. */
struct packet_places {
	uint32_t ip;        /* the innermost IP header */
	uint32_t transport; /* behind UDP, or the entropy header of native IP */
};

/* Finds what its carrier carries among the stored bytes, through VLAN tags and one encapsulation;
 * false when there is none. Lengths and UDP ports are not looked at. */
bool packet_find(const struct packet *p, const struct carriers *known,
		 struct packet_places *places);

/* Byte number `at` of a real packet, < p->len. */
static inline uint8_t *packet_byte(struct packet *p, uint32_t at)
{
	return at < p->stored ? p->head + p->start + at : p->body->bytes + (at - p->stored);
}

/* The seal that is on a packet by its bytes, of which the carried ones begin at `transport`. */
const struct seal *packet_seal(const struct packet *p, const struct carriers *known,
			       uint32_t transport);

/* Makes the seal of a real packet right again; one that has none stays as it is. */
void packet_repair(struct packet *p, const struct carriers *known);

/* The frame as a switch sees it. */
static inline struct fwd_frame packet_frame(struct packet *p)
{
	return (struct fwd_frame){p->head + p->start, p->stored, p->len};
}

/* Takes over what a switch made of the frame: bytes removed in front, or behind. */
void packet_set_frame(struct packet *p, const struct fwd_frame *f);

#endif
