/* The End.MT TLV of a segment routing header: which receivers an edge node serves, with their
 * addresses and queue pair numbers (SRv6 multicast draft 7.2; T-01, T-02, T-08, T-25).
 *
 * Decoders check it by way of srh_view_get. */
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
};

/* Checks one whole TLV, from its type on, of which at least type and length are there. at: its
 * first byte in the frame. trail may be NULL; else it names the TLV and each receiver. */
struct wire_fault endmt_tlv_check(struct cspan tlv, uint32_t at, struct wire_trail *trail);

#endif
