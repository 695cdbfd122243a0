/* RoCEv2 Reliable Connection on the wire: the InfiniBand transport headers (IBTA volume 1, chapter
 * 9) and the notification packet of RoCEv2 congestion management (IBTA annex A17).
 *
 * roce_head_get walks the header stack that an opcode calls for; roce_pkt_get adds the payload
 * rules. Engines and the whole-packet parser call them with bytes from the base transport header
 * on; nothing here knows a connection. */
#ifndef WEFT_WIRE_ROCE_H
#define WEFT_WIRE_ROCE_H

#include "base/span.h"
#include "wire/drop.h"
#include "wire/header.h"
#include "wire/stack.h"
#include "wire/trail.h"

/* clang-format off */
#define BTH_FIELDS(F) \
	F(opcode,            0,  8) \
	F(se,                8,  1) \
	F(m,                 9,  1) \
	F(pad,              10,  2) \
	F(tver,             12,  4) \
	F(pkey,             16, 16) \
	F(fecn,             32,  1) \
	F(becn,             33,  1) \
	F(rsv0,             34,  6) \
	F(dest_qp,          40, 24) \
	F(ack_req,          64,  1) \
	F(rsv1,             65,  7) \
	F(psn,              72, 24)
WIRE_HEADER(bth, 12, BTH_FIELDS)

#define RETH_FIELDS(F) \
	F(va,                0, 64) \
	F(rkey,             64, 32) \
	F(dmalen,           96, 32)
WIRE_HEADER(reth, 16, RETH_FIELDS)

/* type and value together are the syndrome. */
#define AETH_FIELDS(F) \
	F(rsv0,              0,  1) \
	F(type,              1,  2) \
	F(value,             3,  5) \
	F(msn,               8, 24)
WIRE_HEADER(aeth, 4, AETH_FIELDS)

#define ATOMIC_ETH_FIELDS(F) \
	F(va,                0, 64) \
	F(rkey,             64, 32) \
	F(swap_add,         96, 64) \
	F(compare,         160, 64)
WIRE_HEADER(atomic_eth, 28, ATOMIC_ETH_FIELDS)

#define ATOMIC_ACK_ETH_FIELDS(F) \
	F(original,          0, 64)
WIRE_HEADER(atomic_ack_eth, 8, ATOMIC_ACK_ETH_FIELDS)

#define IMMDT_FIELDS(F) \
	F(immdt,             0, 32)
WIRE_HEADER(immdt, 4, IMMDT_FIELDS)

#define IETH_FIELDS(F) \
	F(rkey,              0, 32)
WIRE_HEADER(ieth, 4, IETH_FIELDS)

/* What follows the base transport header of a congestion notification packet. */
#define CNP_FIELDS(F) \
	F(rsv0,              0, 128)
WIRE_HEADER(cnp, 16, CNP_FIELDS)

/* Headers after the base transport header, in the order they stand on the wire. */
#define ROCE_RETH       0x01u
#define ROCE_ATOMIC     0x02u
#define ROCE_AETH       0x04u
#define ROCE_ATOMIC_ACK 0x08u
#define ROCE_IMMDT      0x10u
#define ROCE_IETH       0x20u
#define ROCE_CNP        0x40u
#define ROCE_PAYLOAD    0x80u
#define ROCE_WRITE_IMM  (ROCE_RETH | ROCE_IMMDT | ROCE_PAYLOAD)

#define ROCE_STACK(S) \
	S(ROCE_RETH,       reth,           reth) \
	S(ROCE_ATOMIC,     atomic_eth,     atomic) \
	S(ROCE_AETH,       aeth,           aeth) \
	S(ROCE_ATOMIC_ACK, atomic_ack_eth, atomic_ack) \
	S(ROCE_IMMDT,      immdt,          imm) \
	S(ROCE_IETH,       ieth,           ieth) \
	S(ROCE_CNP,        cnp,            cnp)

/*                 value  id                     what a person calls it     header stack */
#define ROCE_OPCODES(O) \
	O(0x00, SEND_FIRST,           "SEND First",              ROCE_PAYLOAD) \
	O(0x01, SEND_MIDDLE,          "SEND Middle",             ROCE_PAYLOAD) \
	O(0x02, SEND_LAST,            "SEND Last",               ROCE_PAYLOAD) \
	O(0x03, SEND_LAST_IMM,        "SEND Last Imm",           ROCE_IMMDT | ROCE_PAYLOAD) \
	O(0x04, SEND_ONLY,            "SEND Only",               ROCE_PAYLOAD) \
	O(0x05, SEND_ONLY_IMM,        "SEND Only Imm",           ROCE_IMMDT | ROCE_PAYLOAD) \
	O(0x06, WRITE_FIRST,          "WRITE First",             ROCE_RETH | ROCE_PAYLOAD) \
	O(0x07, WRITE_MIDDLE,         "WRITE Middle",            ROCE_PAYLOAD) \
	O(0x08, WRITE_LAST,           "WRITE Last",              ROCE_PAYLOAD) \
	O(0x09, WRITE_LAST_IMM,       "WRITE Last Imm",          ROCE_IMMDT | ROCE_PAYLOAD) \
	O(0x0a, WRITE_ONLY,           "WRITE Only",              ROCE_RETH | ROCE_PAYLOAD) \
	O(0x0b, WRITE_ONLY_IMM,       "WRITE Only Imm",          ROCE_WRITE_IMM) \
	O(0x0c, READ_REQUEST,         "READ Request",            ROCE_RETH) \
	O(0x0d, READ_RESPONSE_FIRST,  "READ Response First",     ROCE_AETH | ROCE_PAYLOAD) \
	O(0x0e, READ_RESPONSE_MIDDLE, "READ Response Middle",    ROCE_PAYLOAD) \
	O(0x0f, READ_RESPONSE_LAST,   "READ Response Last",      ROCE_AETH | ROCE_PAYLOAD) \
	O(0x10, READ_RESPONSE_ONLY,   "READ Response Only",      ROCE_AETH | ROCE_PAYLOAD) \
	O(0x11, ACKNOWLEDGE,          "Acknowledge",             ROCE_AETH) \
	O(0x12, ATOMIC_ACKNOWLEDGE,   "Atomic Acknowledge",      ROCE_AETH | ROCE_ATOMIC_ACK) \
	O(0x13, COMPARE_SWAP,         "Compare Swap",            ROCE_ATOMIC) \
	O(0x14, FETCH_ADD,            "Fetch Add",               ROCE_ATOMIC) \
	O(0x16, SEND_LAST_INV,        "SEND Last Invalidate",    ROCE_IETH | ROCE_PAYLOAD) \
	O(0x17, SEND_ONLY_INV,        "SEND Only Invalidate",    ROCE_IETH | ROCE_PAYLOAD) \
	O(0x81, CNP,                  "Congestion Notification", ROCE_CNP)
/* clang-format on */

enum roce_opcode {
#define ROCE_OPCODE_ENUM(value, id, text, stack) ROCE_OP_##id = (value),
	ROCE_OPCODES(ROCE_OPCODE_ENUM)
#undef ROCE_OPCODE_ENUM
};

/* AETH syndromes: type in the upper bits, value below (IBTA 9.7.5.2.1). */
enum aeth_type { AETH_ACK, AETH_RNR_NAK, AETH_RESERVED, AETH_NAK };
enum aeth_nak {
	AETH_NAK_SEQUENCE,
	AETH_NAK_INVALID_REQUEST,
	AETH_NAK_REMOTE_ACCESS,
	AETH_NAK_REMOTE_OPERATION,
	AETH_NAK_INVALID_RD,
};
static inline uint8_t aeth_syndrome(enum aeth_type type, uint8_t value)
{
	return (uint8_t)(type << 5 | (value & 0x1fu));
}

/* The one partition of RoCEv2, and whether a packet is of it: the top bit of a key only tells full
 * members, of which we are one, from limited ones (IBTA 10.9.1). */
enum { ROCE_PKEY_DEFAULT = 0xffff };
static inline bool roce_is_default_partition(uint16_t pkey)
{
	return (pkey | 0x8000u) == ROCE_PKEY_DEFAULT;
}

/* A decoded packet. has says which headers are set; payload is without its padding. */
struct roce_pkt {
	uint16_t has;
	struct bth bth;
	struct reth reth;
	struct atomic_eth atomic;
	struct aeth aeth;
	struct atomic_ack_eth atomic_ack;
	struct immdt imm;
	struct ieth ieth;
	struct cnp cnp;
	struct cspan payload;
};

/* The name of an opcode, or NULL where none is assigned. */
const char *roce_opcode_name(uint8_t opcode);

/* True for the opcodes of UC, RD, UD and XRC (IBTA 9.2.1): good packets, but not ours. */
bool roce_opcode_is_other_service(uint8_t opcode);

/* Which headers follow the base transport header; false where the opcode is not assigned. */
bool roce_opcode_stack(uint8_t opcode, uint16_t *stack);

/* Takes the header stack from c, which stands on the base transport header. Sets has and the
 * headers, not the payload. trail may be NULL. */
struct wire_fault roce_head_get(struct cursor *c, struct roce_pkt *pkt, struct wire_trail *trail);

/* The same for a packet that ends where c ends, without its ICRC: headers, payload and padding
 * fill it exactly. */
struct wire_fault roce_pkt_get(struct cursor *c, struct roce_pkt *pkt, struct wire_trail *trail);

/* Writes the stack that pkt->bth.opcode calls for; has is not consulted. Returns its length, or 0
 * where the opcode is not assigned or out is too short. */
uint32_t roce_head_put(const struct roce_pkt *pkt, struct span out);

/* What remains in c is payload and bth.pad bytes of padding: shared by RC and MRC data. */
struct wire_fault roce_payload_get(struct cursor *c, uint8_t pad, struct cspan *payload);

#endif
