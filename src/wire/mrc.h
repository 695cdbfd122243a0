/* OCP MRC 1.0 on the wire: its transport, reliability and endpoint headers (sections 6.2.2, 7.5.5
 * and 7.5.6), after UDP port 4791 beside plain RoCE, told apart by the opcode (0b110 on top).
 *
 * Same shape as wire/roce.h. Where the text contradicts itself the resolution is named by its id;
 * docs/wire-notes.md lists them. */
#ifndef WEFT_WIRE_MRC_H
#define WEFT_WIRE_MRC_H

#include "base/span.h"
#include "wire/drop.h"
#include "wire/header.h"
#include "wire/roce.h"
#include "wire/stack.h"
#include "wire/trail.h"

/* clang-format off */
/* Tables 6-3, 6-4, 7-10 and 7-11; byte 1 as IBTA has it (M-02), ts is one bit under four names
 * (M-03), var_res is IBTA's FECN, BECN and six reserved bits. */
#define MRC_BTH_FIELDS(F) \
	F(opcode,            0,  8) \
	F(se,                8,  1) \
	F(m,                 9,  1) \
	F(pad,              10,  2) \
	F(tver,             12,  4) \
	F(pkey,             16, 16) \
	F(rsv_var,          32,  8) \
	F(dest_qp,          40, 24) \
	F(ack_req,          64,  1) \
	F(rsv0,             65,  1) \
	F(rtx,              66,  1) \
	F(ts,               67,  1) \
	F(rsv_inv,          68,  4) \
	F(psn,              72, 24)
WIRE_HEADER(mrc_bth, 12, MRC_BTH_FIELDS)

#define METH_FIELDS(F) \
	F(rqmsn,             0, 16) \
	F(msn,              16, 16)
WIRE_HEADER(meth, 4, METH_FIELDS)

#define TSETH_FIELDS(F) \
	F(tx_timestamp,      0, 16) \
	F(tsr,              16,  1) \
	F(rsv0,             17, 11) \
	F(ftype,            28,  4)
WIRE_HEADER(tseth, 4, TSETH_FIELDS)

/* Table 7-14; the stray "res 6" row of Table 7-15 exists in no drawing (M-10), and the cc_state
 * drawn inside is a header of its own (M-34). */
#define SETH_FIELDS(F) \
	F(rsv_type,          0,  4) \
	F(rsv_nh,            4,  5) \
	F(m,                 9,  2) \
	F(rsv0,             11,  1) \
	F(rsv1,             12,  1) \
	F(rsv2,             13,  1) \
	F(pr,               14,  1) \
	F(rsv3,             15,  1) \
	F(ack_psn_offset,   16, 16) \
	F(entropy,          32, 32) \
	F(spdcid,           64, 16) \
	F(dpdcid,           80, 16) \
	F(rsv4,             96,  8) \
	F(cack_psn,        104, 24) \
	F(cc_type,         128,  4) \
	F(cc_fl,           132,  4) \
	F(mpr,             136,  8) \
	F(sack_offset,     144, 16) \
	F(sack_bitmap,     160, 64)
WIRE_HEADER(seth, 28, SETH_FIELDS)

#define CC_STATE_FIELDS(F) \
	F(tx_timestamp,      0, 16) \
	F(rsv0,             16,  1) \
	F(ooo_count,        17, 15) \
	F(restore_cwnd,     32,  1) \
	F(rcv_cwnd_pen,     33,  7) \
	F(rcvd_bytes,       40, 24)
WIRE_HEADER(cc_state, 8, CC_STATE_FIELDS)

#define NETH_FIELDS(F) \
	F(rsv_type,          0,  4) \
	F(rsv_nxt,           4,  5) \
	F(rsv0,              9,  7) \
	F(nack_reason,      16,  8) \
	F(vendor_info,      24,  8) \
	F(entropy,          32, 32) \
	F(spdcid,           64, 16) \
	F(dpdcid,           80, 16) \
	F(rsv1,             96,  8) \
	F(nack_psn,        104, 24) \
	F(cc_type,         128,  4) \
	F(cc_fl,           132,  4) \
	F(rsv2,            136,  8) \
	F(tx_timestamp,    144, 16)
WIRE_HEADER(neth, 20, NETH_FIELDS)

#define PETH_FIELDS(F) \
	F(rsv_type,          0,  4) \
	F(rsv_nh,            4,  5) \
	F(rsv0,              9,  7) \
	F(rsv1,             16,  8) \
	F(vendor_info,      24,  8) \
	F(probe_id,         32, 16) \
	F(rsv2,             48, 16) \
	F(spdcid,           64, 16) \
	F(dpdcid,           80, 16) \
	F(tx_timestamp,     96, 16) \
	F(tsr,             112,  1) \
	F(rsv3,            113, 11) \
	F(ftype,           124,  4)
WIRE_HEADER(peth, 16, PETH_FIELDS)

/* op stands at other bits here than in the response (M-11). */
#define ERTH_FIELDS(F) \
	F(rsv_type,          0,  4) \
	F(rsv_nh,            4,  5) \
	F(rsv0,              9,  5) \
	F(op,               14,  2) \
	F(rsv1,             16,  8) \
	F(vendor_info,      24,  8) \
	F(port_status_mask, 32, 32) \
	F(rsv2,             64, 32) \
	F(tx_timestamp,     96, 16) \
	F(tsr,             112,  1) \
	F(rsv3,            113, 11) \
	F(ftype,           124,  4)
WIRE_HEADER(erth, 16, ERTH_FIELDS)

#define EETH_FIELDS(F) \
	F(rsv_type,          0,  4) \
	F(rsv_nh,            4,  5) \
	F(rsv0,              9,  3) \
	F(op,               12,  2) \
	F(rsv1,             14,  2) \
	F(rsv2,             16, 16) \
	F(rsv3,             32, 32) \
	F(rsv4,             64, 32) \
	F(rsv5,             96, 32) \
	F(rsv6,            128, 32) \
	F(rsv7,            160, 32) \
	F(rsv8,            192, 32) \
	F(tx_timestamp,    224, 16) \
	F(rsv9,            240, 16) \
	F(rsv10,           256, 32)
WIRE_HEADER(eeth, 36, EETH_FIELDS)

/* Headers after the base transport header, in the order they stand on the wire. TSETH follows
 * METH where BTH.ts is set: the stack allows it, the packet decides. */
#define MRC_METH     0x0001u
#define MRC_TSETH    0x0002u
#define MRC_RETH     0x0004u
#define MRC_IMMDT    0x0008u
#define MRC_AETH     0x0010u
#define MRC_SETH     0x0020u
#define MRC_CC_STATE 0x0040u
#define MRC_NETH     0x0080u
#define MRC_PETH     0x0100u
#define MRC_ERTH     0x0200u
#define MRC_EETH     0x0400u
#define MRC_PAYLOAD  0x0800u
#define MRC_STACK(S) \
	S(MRC_METH,     meth,     meth) \
	S(MRC_TSETH,    tseth,    tseth) \
	S(MRC_RETH,     reth,     reth) \
	S(MRC_IMMDT,    immdt,    imm) \
	S(MRC_AETH,     aeth,     aeth) \
	S(MRC_SETH,     seth,     seth) \
	S(MRC_CC_STATE, cc_state, cc) \
	S(MRC_NETH,     neth,     neth) \
	S(MRC_PETH,     peth,     peth) \
	S(MRC_ERTH,     erth,     erth) \
	S(MRC_EETH,     eeth,     eeth)

#define MRC_WRITE    (MRC_METH | MRC_TSETH | MRC_RETH | MRC_PAYLOAD)

/* Table 6-2 */
#define MRC_OPCODES(O) \
	O(0xc6, WRITE_FIRST,       "MRC WRITE First",       MRC_WRITE) \
	O(0xc7, WRITE_MIDDLE,      "MRC WRITE Middle",      MRC_WRITE) \
	O(0xc8, WRITE_LAST,        "MRC WRITE Last",        MRC_WRITE) \
	O(0xc9, WRITE_LAST_IMM,    "MRC WRITE Last Imm",    MRC_WRITE | MRC_IMMDT) \
	O(0xca, WRITE_ONLY,        "MRC WRITE Only",        MRC_WRITE) \
	O(0xcb, WRITE_ONLY_IMM,    "MRC WRITE Only Imm",    MRC_WRITE | MRC_IMMDT) \
	O(0xd1, ACKNOWLEDGE,       "MRC Acknowledge",       MRC_AETH) \
	O(0xd8, ENDPOINT_REQUEST,  "MRC Endpoint Request",  MRC_ERTH) \
	O(0xd9, ENDPOINT_RESPONSE, "MRC Endpoint Response", MRC_EETH) \
	O(0xdc, SACK,              "MRC SACK",              MRC_SETH | MRC_CC_STATE) \
	O(0xdd, NACK,              "MRC NACK",              MRC_NETH) \
	O(0xde, PROBE_REQUEST,     "MRC Probe Request",     MRC_PETH)

/* Table 7-17 */
#define MRC_NACKS(N) \
	N(0x01, TRIMMED) \
	N(0x02, TRIMMED_LASTHOP) \
	N(0x06, NO_BITMAP) \
	N(0x07, NO_PKT_BUFFER) \
	N(0x0a, NO_RESOURCE) \
	N(0x0b, PSN_OOR_WINDOW) \
	N(0x19, UNEXP_EVENT)
/* clang-format on */

enum mrc_opcode {
#define MRC_OPCODE_ENUM(value, id, text, stack) MRC_OP_##id = (value),
	MRC_OPCODES(MRC_OPCODE_ENUM)
#undef MRC_OPCODE_ENUM
};

enum mrc_nack {
#define MRC_NACK_ENUM(value, id) MRC_NACK_##id = (value),
	MRC_NACKS(MRC_NACK_ENUM)
#undef MRC_NACK_ENUM
};

enum mrc_mark { MRC_MARK_NONE, MRC_MARK_SKIP, MRC_MARK_ALWAYS_SKIP, MRC_MARK_RESERVED };
enum mrc_endpoint_op { MRC_ENDPOINT_PORT_STATUS, MRC_ENDPOINT_EV_PROBE };

enum {
	MRC_ENDPOINT_QP = 2,       /* 7.3: endpoint operations address no connection (M-28) */
	MRC_FTYPE_TIMESTAMP = 1,   /* Table 6-7: the timestamp is carried */
	MRC_CC_TYPE_NSCC = 0,      /* Table 7-12 */
	MRC_CC_TYPE_TIMESTAMP = 2, /* Table 7-17 */
	MRC_AETH_NO_CREDIT = 0x1f, /* 6.4: end-to-end flow control is not used */
	MRC_PKEY_DEFAULT = 0xffff, /* Table 7-11 names no number (M-04) */
};

/* A decoded packet. has says which headers are set; payload is without its padding. */
struct mrc_pkt {
	uint16_t has;
	struct mrc_bth bth;
	struct meth meth;
	struct tseth tseth;
	struct reth reth;
	struct immdt imm;
	struct aeth aeth;
	struct seth seth;
	struct cc_state cc;
	struct neth neth;
	struct peth peth;
	struct erth erth;
	struct eeth eeth;
	struct cspan payload;
};

/* The name of an opcode or a NACK reason, or NULL where none is assigned. */
const char *mrc_opcode_name(uint8_t opcode);
const char *mrc_nack_name(uint8_t reason);

/* True for 0xC0 to 0xDF: MRC's part of the opcode space, assigned or not (6.2.2). */
static inline bool mrc_opcode_is_ours(uint8_t opcode)
{
	return opcode >> 5 == 6;
}

/* Which headers may follow the base transport header; false where the opcode is not assigned. */
bool mrc_opcode_stack(uint8_t opcode, uint16_t *stack);

/* Takes the header stack from c, which stands on the base transport header. Sets has and the
 * headers, not the payload. Of a trimmed data packet BTH must be there; what the switch cut behind
 * it is not in has (M-49). trimmed: net_is_cut. trail may be NULL. */
struct wire_fault mrc_head_get(struct cursor *c, bool trimmed, struct mrc_pkt *pkt,
			       struct wire_trail *trail);

/* The same for one whose base transport header was taken and is good: c stands behind it, pkt->bth
 * is set. An opcode that is not assigned is a WIRE_DROP_OPCODE. */
struct wire_fault mrc_rest_get(struct cursor *c, bool trimmed, struct mrc_pkt *pkt,
			       struct wire_trail *trail);

/* The same as mrc_head_get for a packet that ends where c ends, without its ICRC: headers, payload
 * and padding fill it exactly. What is left of a trimmed packet's payload is not offered to anyone.
 */
struct wire_fault mrc_pkt_get(struct cursor *c, bool trimmed, struct mrc_pkt *pkt,
			      struct wire_trail *trail);

/* Writes the stack that pkt->bth.opcode and pkt->bth.ts call for; has is not consulted. Returns
 * its length, or 0 where the opcode is not assigned or out is too short. */
uint32_t mrc_head_put(const struct mrc_pkt *pkt, struct span out);

/* Serial arithmetic of the two signed offsets in a SACK: cack_psn + offset modulo 2^24. */
static inline uint32_t mrc_offset_psn(uint32_t cack_psn, uint16_t offset)
{
	return (cack_psn + (uint32_t)(int16_t)offset) & 0xffffff;
}

#endif
