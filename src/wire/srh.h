/* The IPv6 segment routing header (RFC 8754) with its segments and TLVs, and the uSID containers
 * that MRC puts into addresses (MRC 9.2, 9.3.5, 11.4; RFC 9800). */
#ifndef WEFT_WIRE_SRH_H
#define WEFT_WIRE_SRH_H

#include "base/span.h"
#include "wire/drop.h"
#include "wire/header.h"
#include "wire/trail.h"

/* clang-format off */
#define SRH_FIELDS(F) \
	F(next_header,       0,  8) \
	F(ext_len,           8,  8) \
	F(routing_type,     16,  8) \
	F(segments_left,    24,  8) \
	F(last_entry,       32,  8) \
	F(flags,            40,  8) \
	F(tag,              48, 16)
WIRE_HEADER(srh, 8, SRH_FIELDS)

#define SRH_SEGMENT_FIELDS(F) \
	F(address,           0, 128)
WIRE_HEADER(srh_segment, 16, SRH_SEGMENT_FIELDS)

/* Type and length of every TLV but Pad1, which is one zero byte. */
#define SRH_TLV_FIELDS(F) \
	F(type,              0,  8) \
	F(length,            8,  8)
WIRE_HEADER(srh_tlv, 2, SRH_TLV_FIELDS)

/* HMAC TLV, fixed part (RFC 8754 2.1.2): the HMAC follows, a multiple of 8 bytes up to 32. */
#define SRH_HMAC_FIELDS(F) \
	F(type,              0,  8) \
	F(length,            8,  8) \
	F(d,                16,  1) \
	F(rsv0,             17, 15) \
	F(key_id,           32, 32)
WIRE_HEADER(srh_hmac, 8, SRH_HMAC_FIELDS)

/* uSID containers: a block common to the fabric, then the node or adjacency of each hop. */
#define USID_F3216_FIELDS(F) \
	F(block,             0, 32) \
	F(usid0,            32, 16) \
	F(usid1,            48, 16) \
	F(usid2,            64, 16) \
	F(usid3,            80, 16) \
	F(usid4,            96, 16) \
	F(usid5,           112, 16)
WIRE_HEADER(usid_f3216, 16, USID_F3216_FIELDS)

#define USID_F1616_FIELDS(F) \
	F(block,             0, 16) \
	F(usid0,            16, 16) \
	F(usid1,            32, 16) \
	F(usid2,            48, 16) \
	F(usid3,            64, 16) \
	F(usid4,            80, 16) \
	F(usid5,            96, 16) \
	F(usid6,           112, 16)
WIRE_HEADER(usid_f1616, 16, USID_F1616_FIELDS)
/* clang-format on */

enum {
	SRH_ROUTING_TYPE = 4,
	SRH_TLV_PAD1 = 0,
	SRH_TLV_PADN = 4,
	SRH_TLV_HMAC = 5,
	SRH_HMAC_MAX = 32,
	SRH_MAX = 2048, /* bytes; ext_len is one of them */
	SRH_TLVS_MAX = SRH_MAX - srh_bytes - srh_segment_bytes,
};

/* A segment routing header whose parts are known to fit it. Spans lie in the packet. */
struct srh_view {
	struct srh head;
	uint32_t at;           /* byte of the frame */
	uint8_t endmt_type;    /* by which TLVs of End.MT were known; 0: none were */
	struct cspan segments; /* 16 bytes each; segment 0 is the last to visit */
	struct cspan tlvs;
	bool has_hmac;
	struct srh_hmac hmac;
	struct cspan hmac_value;
};

/* Takes a whole segment routing header from c. Every TLV is checked to fit; Pad1, PadN, HMAC and
 * that of End.MT, which has endmt_type (0: there is none), are understood, others are passed over
 * (RFC 8754 2.1). trail may be NULL. */
struct wire_fault srh_view_get(struct cursor *c, uint8_t endmt_type, struct srh_view *srh,
			       struct wire_trail *trail);

/* Takes the next TLV that is not Pad1 from t, which walks a header's TLVs: *tlv is all of it, from
 * its type on. False, and t stands at its first byte, where there is none or it does not fit. */
bool srh_tlv_next(struct cursor *t, struct cspan *tlv);

/* How many segments the list holds. */
static inline uint32_t srh_n_segments(const struct srh_view *srh)
{
	return srh->segments.len / srh_segment_bytes;
}

#endif
