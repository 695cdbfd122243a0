/* The End.MT TLV of a segment routing header: which receivers an edge node serves, with their
 * addresses and queue pair numbers (SRv6 multicast draft 7.2; T-01, T-02, T-08, T-25).
 *
 * endmt_receivers_get checks all End.MT TLVs of a header before it hands out the first receiver,
 * so that a node makes either all copies of a packet or none. Whoever replicates at an edge calls
 * it; decoders call it by way of srh_view_get. */
#ifndef WEFT_WIRE_ENDMT_H
#define WEFT_WIRE_ENDMT_H

#include "base/span.h"
#include "wire/drop.h"
#include "wire/header.h"
#include "wire/trail.h"

/* clang-format off */
/* The TLV, fixed part; the receivers follow. length counts what stands behind itself (T-01). */
#define ENDMT_TLV_FIELDS(F) \
	F(type,              0,  8) \
	F(length,            8,  8) \
	F(rsv0,             16, 16) \
	F(edge,             32, 128) \
	F(n_receivers,     160,  8) \
	F(rsv1,            168, 24)
WIRE_HEADER(endmt_tlv, 24, ENDMT_TLV_FIELDS)

#define ENDMT_RECEIVER_FIELDS(F) \
	F(address,           0, 128) \
	F(qpn,             128, 24) \
	F(rsv0,            152,  8)
WIRE_HEADER(endmt_receiver, 20, ENDMT_RECEIVER_FIELDS)
/* clang-format on */

enum {
	ENDMT_TLV_TYPE = 0x7c,    /* experimental, until one is assigned (T-03) */
	ENDMT_TLV_RECEIVERS = 11, /* most that a length of 8 bits has room for (T-01) */
	/* Most in the longest header there can be, 2,048 bytes: 8 full TLVs and one of 2. */
	ENDMT_RECEIVERS_MAX = 90,
};

/* Who asks: an End.MT TLV is this edge's if it names either of the two, 16 bytes each (T-08). */
struct endmt_edge {
	const uint8_t *address; /* the node's own */
	const uint8_t *sid;     /* by which the packet came */
};

/* The receivers of one edge, in the order of the TLVs; no address is there twice. */
struct endmt_receivers {
	struct cspan tlvs;
	uint32_t n;
	uint16_t at[ENDMT_RECEIVERS_MAX]; /* bytes of tlvs */
};

/* Finds the edge's receivers in the TLVs of a header that srh_view_get accepted (srh.tlvs). Several
 * TLVs of one edge are united; of an address that is there twice the first entry counts. A TLV of
 * `type` that is malformed (T-01), whoever's it is, is a fault (at: byte of tlvs) and nobody is
 * served. No fault and n == 0: the header says nothing for this edge. tlvs must outlive *to. */
struct wire_fault endmt_receivers_get(struct cspan tlvs, uint8_t type,
				      const struct endmt_edge *edge, struct endmt_receivers *to);

/* Receiver i, below receivers->n. */
struct endmt_receiver endmt_receiver_at(const struct endmt_receivers *receivers, uint32_t i);

/* Checks one whole TLV, from its type on, of which at least type and length are there. at: its
 * first byte in the frame. trail may be NULL; else it names the TLV and each receiver. */
struct wire_fault endmt_tlv_check(struct cspan tlv, uint32_t at, struct wire_trail *trail);

#endif
