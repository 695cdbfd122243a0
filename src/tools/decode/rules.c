#include "tools/decode/rules.h"

#include <string.h>

#include "tools/decode/rules_endmt.h"

enum {
	PMTU_LEAST = 256,
	PMTU_MOST = 4096,
	/* UDP, BTH, METH, RETH and ICRC; with TSETH, immediate data and the longest payload */
	DATA_UDP_LEAST = udp_bytes + mrc_bth_bytes + meth_bytes + reth_bytes + 4,
	DATA_UDP_MOST = DATA_UDP_LEAST + tseth_bytes + immdt_bytes + PMTU_MOST,
	MESSAGE_MOST_LOG2 = 31,
};

/* ----------------------------------------------------------------- lengths */

enum part { PART_NONE, PART_FIRST, PART_MIDDLE, PART_LAST, PART_ONLY };

/* Which part of a message a request is; MRC's opcodes are RC's plus 0xC0. */
static enum part part_of(uint8_t opcode)
{
	switch (mrc_opcode_is_ours(opcode) ? opcode & 0x1f : opcode) {
	case ROCE_OP_SEND_FIRST:
	case ROCE_OP_WRITE_FIRST: return PART_FIRST;
	case ROCE_OP_SEND_MIDDLE:
	case ROCE_OP_WRITE_MIDDLE: return PART_MIDDLE;
	case ROCE_OP_SEND_LAST:
	case ROCE_OP_SEND_LAST_IMM:
	case ROCE_OP_SEND_LAST_INV:
	case ROCE_OP_WRITE_LAST:
	case ROCE_OP_WRITE_LAST_IMM: return PART_LAST;
	case ROCE_OP_SEND_ONLY:
	case ROCE_OP_SEND_ONLY_IMM:
	case ROCE_OP_SEND_ONLY_INV:
	case ROCE_OP_WRITE_ONLY:
	case ROCE_OP_WRITE_ONLY_IMM: return PART_ONLY;
	default: return PART_NONE;
	}
}

static bool is_pmtu(uint32_t n)
{
	return n >= PMTU_LEAST && n <= PMTU_MOST && (n & (n - 1)) == 0;
}

/* Full packets have one of the path MTUs that there are. */
static bool is_full_off(enum part part, uint32_t payload)
{
	return (part == PART_FIRST || part == PART_MIDDLE) && !is_pmtu(payload);
}

static bool is_empty_last(enum part part, uint32_t payload)
{
	return part == PART_LAST && payload == 0;
}

static bool is_beyond_pmtu(enum part part, uint32_t payload)
{
	return (part == PART_LAST || part == PART_ONLY) && payload > PMTU_MOST;
}

/* A last packet has what full packets of any path MTU leave of the message. */
static bool is_rest(uint32_t payload, uint32_t dmalen)
{
	for (uint32_t pmtu = PMTU_LEAST; pmtu <= PMTU_MOST; pmtu *= 2)
		if (dmalen > pmtu && payload == (dmalen - 1) % pmtu + 1)
			return true;
	return false;
}

static bool mrc_full_off(const struct wire_packet *p)
{
	return is_full_off(part_of(p->mrc.bth.opcode), p->mrc.payload.len);
}

static bool mrc_empty_last(const struct wire_packet *p)
{
	return is_empty_last(part_of(p->mrc.bth.opcode), p->mrc.payload.len);
}

static bool mrc_beyond_pmtu(const struct wire_packet *p)
{
	return is_beyond_pmtu(part_of(p->mrc.bth.opcode), p->mrc.payload.len);
}

static bool mrc_too_long(const struct wire_packet *p)
{
	return p->mrc.reth.dmalen > 1u << MESSAGE_MOST_LOG2;
}

/* What the lengths alone say against a packet is not said again. */
static bool mrc_payload_off(const struct wire_packet *p)
{
	uint32_t payload = p->mrc.payload.len, dmalen = p->mrc.reth.dmalen;

	switch (part_of(p->mrc.bth.opcode)) {
	case PART_FIRST: return is_pmtu(payload) && dmalen <= payload;
	case PART_MIDDLE: return is_pmtu(payload) && dmalen <= 2 * payload;
	case PART_LAST: return payload > 0 && payload <= PMTU_MOST && !is_rest(payload, dmalen);
	case PART_ONLY: return payload != dmalen;
	default: return false;
	}
}

static bool roce_length_off(const struct wire_packet *p)
{
	enum part part = part_of(p->roce.bth.opcode);
	uint32_t payload = p->roce.payload.len;

	return is_full_off(part, payload) || is_empty_last(part, payload) ||
	       is_beyond_pmtu(part, payload);
}

static bool roce_write_off(const struct wire_packet *p)
{
	uint32_t payload = p->roce.payload.len, dmalen = p->roce.reth.dmalen;

	return part_of(p->roce.bth.opcode) == PART_ONLY ? payload != dmalen
							: is_pmtu(payload) && dmalen <= payload;
}

/* --------------------------------------------------------- network headers */

static bool udp_sum(const struct wire_packet *p)
{
	return p->net.udp.checksum != 0;
}

static bool is_data_udp_length(uint32_t n)
{
	return n >= DATA_UDP_LEAST && n <= DATA_UDP_MOST && n % 4 == 0;
}

static bool is_trim_nack(const struct wire_packet *p)
{
	return p->mrc.neth.nack_reason == MRC_NACK_TRIMMED ||
	       p->mrc.neth.nack_reason == MRC_NACK_TRIMMED_LASTHOP;
}

static bool nack_length_forged(const struct wire_packet *p)
{
	return !is_trim_nack(p) && p->net.udp.length != p->net.end - p->net.udp_at;
}

static bool nack_length_of_no_data(const struct wire_packet *p)
{
	return is_trim_nack(p) && !is_data_udp_length(p->net.udp.length);
}

static bool trimmed_length_off(const struct wire_packet *p)
{
	uint32_t there = p->net.end - p->net.udp_at;

	return p->net.trim != NET_WHOLE &&
	       (p->net.udp.length < there || !is_data_udp_length(p->net.udp.length));
}

/* Requests of a connection have the same IP version as their answers; the label is the lower half
 * of what is reflected (M-08). */
static bool is_label_of_ipv4(const struct wire_packet *p, uint32_t entropy)
{
	return net_ip(&p->net)->version == 4 && (entropy & 0xffff) != 0;
}

static bool seth_label(const struct wire_packet *p)
{
	return is_label_of_ipv4(p, p->mrc.seth.entropy);
}

static bool neth_label(const struct wire_packet *p)
{
	return is_label_of_ipv4(p, p->mrc.neth.entropy);
}

/* -------------------------------------------------- base transport headers */

/* Those that Table 7-11 is about; data and acknowledgements have the header of Table 6-3. */
static bool is_control(const struct wire_packet *p)
{
	return p->mrc.bth.opcode > MRC_OP_ACKNOWLEDGE;
}

/* Fields of the base transport header that must be zero, in the one kind of packets or the other.
 */
#define BTH_ZEROS(Z)                                                           \
	Z("M-02", false, m, "the migration bit is set")                        \
	Z("MRC-6.2.2.1-03", false, rsv_var, "variant reserved bits are set")   \
	Z("MRC-6.2.2.1-07", false, rsv0, "the reserved bit R is set")          \
	Z("MRC-6.2.2.1-10", false, rsv_inv, "invariant reserved bits are set") \
	Z("MRC-7.5.5.3-06", true, m, "the migration bit is set")               \
	Z("MRC-7.5.5.3-07", true, se, "the solicited event bit is set")        \
	Z("MRC-7.5.5.3-08", true, pad, "the pad count is not zero")            \
	Z("MRC-7.5.5.3-11", true, rsv_var, "variant reserved bits are set")    \
	Z("MRC-7.5.5.3-14", true, rsv0, "the reserved bit R is set")           \
	Z("M-43", true, ts, "the bit of a TSETH is set")                       \
	Z("MRC-7.5.5.3-17", true, rsv_inv, "invariant reserved bits are set")

#define BTH_CHECK(id, control, field, text)                              \
	static bool bth_##control##_##field(const struct wire_packet *p) \
	{                                                                \
		return is_control(p) == (control) && p->mrc.bth.field;   \
	}
BTH_ZEROS(BTH_CHECK)

static bool endpoint_qp(const struct wire_packet *p)
{
	return p->mrc.bth.dest_qp != MRC_ENDPOINT_QP;
}

/* Identifiers have the low 16 bits of the PSN. */
static bool endpoint_psn(const struct wire_packet *p)
{
	return p->mrc.bth.psn >> 16 != 0;
}

static bool is_no_pkey(uint16_t pkey)
{
	return (pkey & 0x7fff) == 0;
}

/* That of control packets is what was provisioned (M-04). */
static bool mrc_pkey(const struct wire_packet *p)
{
	return !is_control(p) && is_no_pkey(p->mrc.bth.pkey);
}

static bool roce_pkey(const struct wire_packet *p)
{
	return is_no_pkey(p->roce.bth.pkey);
}

static bool roce_bth_reserved(const struct wire_packet *p)
{
	return p->roce.bth.rsv0 || p->roce.bth.rsv1;
}

/* ---------------------------------------------------------- other headers */

#define RESERVED(R)                               \
	R("MRC-6.2.2.3-05", TSETH, tseth, rsv0)   \
	R("MRC-7.5.5.5-10", SETH, seth, rsv_type) \
	R("MRC-7.5.5.5-11", SETH, seth, rsv_nh)   \
	R("MRC-7.5.5.5-13", SETH, seth, rsv0)     \
	R("MRC-7.5.5.5-14", SETH, seth, rsv1)     \
	R("MRC-7.5.5.5-15", SETH, seth, rsv2)     \
	R("MRC-7.5.5.5-17", SETH, seth, rsv3)     \
	R("MRC-7.5.5.5-22", SETH, seth, rsv4)     \
	R("MRC-7.5.5.4-04", CC_STATE, cc, rsv0)   \
	R("MRC-7.5.5.6-07", NETH, neth, rsv_type) \
	R("MRC-7.5.5.6-08", NETH, neth, rsv_nxt)  \
	R("MRC-7.5.5.6-09", NETH, neth, rsv0)     \
	R("MRC-7.5.5.6-15", NETH, neth, rsv1)     \
	R("MRC-7.5.5.6-19", NETH, neth, rsv2)     \
	R("MRC-7.5.5.7-05", PETH, peth, rsv_type) \
	R("MRC-7.5.5.7-06", PETH, peth, rsv_nh)   \
	R("MRC-7.5.5.7-07", PETH, peth, rsv0)     \
	R("MRC-7.5.5.7-08", PETH, peth, rsv1)     \
	R("MRC-7.5.5.7-11", PETH, peth, rsv2)     \
	R("MRC-7.5.5.7-16", PETH, peth, rsv3)     \
	R("MRC-7.5.6.1-05", ERTH, erth, rsv_type) \
	R("MRC-7.5.6.1-06", ERTH, erth, rsv_nh)   \
	R("MRC-7.5.6.1-07", ERTH, erth, rsv0)     \
	R("MRC-7.5.6.1-09", ERTH, erth, rsv1)     \
	R("MRC-7.5.6.1-12", ERTH, erth, rsv2)     \
	R("MRC-7.5.6.1-15", ERTH, erth, rsv3)     \
	R("MRC-7.5.6.2-10", EETH, eeth, rsv_type) \
	R("MRC-7.5.6.2-11", EETH, eeth, rsv_nh)   \
	R("MRC-7.5.6.2-12", EETH, eeth, rsv0)     \
	R("M-11", EETH, eeth, rsv1)               \
	R("M-11", EETH, eeth, rsv2)               \
	R("MRC-7.5.6.2-14", EETH, eeth, rsv3)     \
	R("MRC-7.5.6.2-15", EETH, eeth, rsv4)     \
	R("MRC-7.5.6.2-16", EETH, eeth, rsv5)     \
	R("MRC-7.5.6.2-17", EETH, eeth, rsv6)     \
	R("MRC-7.5.6.2-18", EETH, eeth, rsv7)     \
	R("MRC-7.5.6.2-19", EETH, eeth, rsv8)     \
	R("MRC-7.5.6.2-21", EETH, eeth, rsv9)     \
	R("MRC-7.5.6.2-22", EETH, eeth, rsv10)

#define RESERVED_CHECK(id, bit, member, field)                    \
	static bool member##_##field(const struct wire_packet *p) \
	{                                                         \
		return p->mrc.member.field != 0;                  \
	}
RESERVED(RESERVED_CHECK)

static bool cnp_reserved(const struct wire_packet *p)
{
	static const uint8_t zeros[cnp_bytes];

	return memcmp(p->roce.cnp.rsv0, zeros, sizeof zeros) != 0;
}

static bool is_strange_syndrome(const struct aeth *a)
{
	return a->rsv0 || a->type == AETH_RESERVED ||
	       (a->type == AETH_NAK && a->value > AETH_NAK_REMOTE_OPERATION);
}

static bool mrc_syndrome(const struct wire_packet *p)
{
	return is_strange_syndrome(&p->mrc.aeth);
}

static bool roce_syndrome(const struct wire_packet *p)
{
	return is_strange_syndrome(&p->roce.aeth);
}

static bool aeth_credit(const struct wire_packet *p)
{
	return p->mrc.aeth.type == AETH_ACK && p->mrc.aeth.value != MRC_AETH_NO_CREDIT;
}

static bool aeth_rnr(const struct wire_packet *p)
{
	return p->mrc.aeth.type == AETH_RNR_NAK;
}

static bool aeth_sequence(const struct wire_packet *p)
{
	return p->mrc.aeth.type == AETH_NAK && p->mrc.aeth.value == AETH_NAK_SEQUENCE;
}

static bool tseth_ftype(const struct wire_packet *p)
{
	return p->mrc.tseth.ftype != MRC_FTYPE_TIMESTAMP;
}

/* Without a timestamp it is 0. */
static bool peth_ftype(const struct wire_packet *p)
{
	return p->mrc.peth.ftype > MRC_FTYPE_TIMESTAMP;
}

static bool erth_ftype(const struct wire_packet *p)
{
	return p->mrc.erth.ftype > MRC_FTYPE_TIMESTAMP;
}

static bool peth_context(const struct wire_packet *p)
{
	return p->mrc.peth.dpdcid != (p->mrc.bth.dest_qp & 0xffff);
}

static bool erth_op(const struct wire_packet *p)
{
	return p->mrc.erth.op > MRC_ENDPOINT_EV_PROBE;
}

static bool eeth_op(const struct wire_packet *p)
{
	return p->mrc.eeth.op > MRC_ENDPOINT_EV_PROBE;
}

static bool erth_mask(const struct wire_packet *p)
{
	return p->mrc.erth.op == MRC_ENDPOINT_EV_PROBE && p->mrc.erth.port_status_mask != 0;
}

static bool neth_psn(const struct wire_packet *p)
{
	return p->mrc.neth.nack_psn != p->mrc.bth.psn;
}

static bool neth_context(const struct wire_packet *p)
{
	return p->mrc.neth.dpdcid != (p->mrc.bth.dest_qp & 0xffff);
}

static bool neth_reason(const struct wire_packet *p)
{
	return !mrc_nack_name(p->mrc.neth.nack_reason);
}

static bool neth_cc_type(const struct wire_packet *p)
{
	return p->mrc.neth.cc_type != MRC_CC_TYPE_TIMESTAMP;
}

static bool neth_cc_flags(const struct wire_packet *p)
{
	return p->mrc.neth.cc_fl != 0;
}

/* ------------------------------------------------------------------- SACKs */

static bool seth_psn(const struct wire_packet *p)
{
	return !p->mrc.seth.pr && p->mrc.seth.cack_psn != p->mrc.bth.psn;
}

static bool seth_context(const struct wire_packet *p)
{
	return p->mrc.seth.dpdcid != (p->mrc.bth.dest_qp & 0xffff);
}

static bool seth_mark(const struct wire_packet *p)
{
	return p->mrc.seth.m == MRC_MARK_RESERVED;
}

static bool seth_cc_type(const struct wire_packet *p)
{
	return p->mrc.seth.cc_type != MRC_CC_TYPE_NSCC;
}

static bool seth_cc_flags(const struct wire_packet *p)
{
	return p->mrc.seth.cc_fl != 0;
}

static bool seth_base(const struct wire_packet *p)
{
	return (int16_t)p->mrc.seth.sack_offset < 0;
}

/* Whether the map has a bit for cack_psn + offset, and what it says. */
static bool map_covers(const struct seth *s, int32_t offset)
{
	int32_t bit = offset - (int16_t)s->sack_offset;

	return bit >= 0 && bit < 64;
}

static bool map_says(const struct seth *s, int32_t offset)
{
	return map_covers(s, offset) && s->sack_bitmap >> (offset - (int16_t)s->sack_offset) & 1;
}

/* In the place of the offset a probe's answer has an identifier. */
static int32_t ack_offset(const struct seth *s)
{
	return s->pr ? 0 : (int16_t)s->ack_psn_offset;
}

/* cack_psn is the last one before the first gap. */
static bool seth_no_gap(const struct wire_packet *p)
{
	return map_says(&p->mrc.seth, 1) || ack_offset(&p->mrc.seth) == 1;
}

/* Where nothing is out of order, something received was received up to cack_psn; before the first
 * packet of all cack_psn is none. */
static bool map_lacks_cack(const struct wire_packet *p)
{
	const struct seth *s = &p->mrc.seth;
	bool is_received = p->mrc.cc.ooo_count == 0 && p->mrc.cc.rcvd_bytes != 0;

	return is_received && map_covers(s, 0) && !map_says(s, 0);
}

static bool map_lacks_ack(const struct wire_packet *p)
{
	const struct seth *s = &p->mrc.seth;
	int32_t ack = ack_offset(s);

	return ack > 0 && map_covers(s, ack) && !map_says(s, ack);
}

/* The packets above cack_psn are at least those that the SACK itself names. */
static bool ooo_too_few(const struct wire_packet *p)
{
	const struct seth *s = &p->mrc.seth;
	int32_t ack = ack_offset(s);
	uint32_t named = ack > 0 && !map_says(s, ack);

	for (int32_t bit = 0; bit < 64; bit++)
		named += (int16_t)s->sack_offset + bit > 0 && s->sack_bitmap >> bit & 1;
	return p->mrc.cc.ooo_count < named;
}

/* --------------------------------------------------------- several packets */

static bool rkey_other(const struct message_facts *f)
{
	return f->is_rkey_other;
}

static bool dmalen_other(const struct message_facts *f)
{
	return f->is_dmalen_other;
}

static bool pmtu_other(const struct message_facts *f)
{
	return f->is_pmtu_other;
}

static bool va_off(const struct message_facts *f)
{
	return f->is_va_off;
}

static bool tail_off(const struct message_facts *f)
{
	return f->is_tail_off;
}

static bool original_other(const struct message_facts *f)
{
	return f->is_original_other;
}

static bool answer_in_data_class(const struct message_facts *f)
{
	return f->is_answer_in_data_class;
}

static bool status_in_data_class(const struct message_facts *f)
{
	return f->is_status_in_data_class;
}

/* --------------------------------------------------------------- the table */

#define BTH_ROW(id, control, field, text) \
	{id, "BTH: " text, WIRE_MRC, 0, bth_##control##_##field, NULL},

#define RESERVED_ROW(id, bit, member, field)                                                       \
	{id,  "reserved and not zero: " #field " of " #bit, WIRE_MRC, MRC_##bit, member##_##field, \
	 NULL},

#define MRC_REQUEST (MRC_RETH | MRC_PAYLOAD)
#define MRC_SACKED  (MRC_SETH | MRC_CC_STATE)

static const struct packet_rule table[] = {
	{"IBTA-9.2", "BTH: reserved bits are set", WIRE_ROCE, 0, roce_bth_reserved, NULL},
	{"IBTA-9.7.4.1.6", "the payload is not as long as this part of a message must be",
	 WIRE_ROCE, ROCE_PAYLOAD, roce_length_off, NULL},
	{"IBTA-9.7.4.1.6", "the payload does not fit dmalen", WIRE_ROCE, ROCE_RETH | ROCE_PAYLOAD,
	 roce_write_off, NULL},
	{"IBTA-9.7.5.2.1", "a syndrome that is reserved, or none of RC's", WIRE_ROCE, ROCE_AETH,
	 roce_syndrome, NULL},
	{"IBTA-9.7.5.2.1", "a syndrome that is reserved, or none of RC's", WIRE_MRC, MRC_AETH,
	 mrc_syndrome, NULL},
	{"IBTA-10.9.1.2", "no partition has this P_Key", WIRE_ROCE, 0, roce_pkey, NULL},
	{"IBTA-10.9.1.2", "no partition has this P_Key", WIRE_MRC, 0, mrc_pkey, NULL},
	{"MT-7.2-01", "reserved bits of an End.MT TLV are set", WIRE_ROCE, 0, endmt_reserved, NULL},
	{"T-08", "an End.MT TLV, but no segment is left", WIRE_ROCE, 0, endmt_no_segment, NULL},
	{"T-25", "End.MT TLVs have two receivers at one address", WIRE_ROCE, 0, endmt_twice, NULL},
	{"IBTA-A17", "the reserved bytes of a CNP are not zero", WIRE_ROCE, ROCE_CNP, cnp_reserved,
	 NULL},
	{"MRC-5.1-X04", "an RNR NAK, which MRC does not have", WIRE_MRC, MRC_AETH, aeth_rnr, NULL},
	{"MRC-6.2.2.2-02", "r_key is another one than in the message's other packets", WIRE_MRC,
	 MRC_REQUEST, NULL, rkey_other},
	{"MRC-6.2.2.2-03", "dmalen is another one than in the message's other packets", WIRE_MRC,
	 MRC_REQUEST, NULL, dmalen_other},
	{"MRC-6.2.2.2-04", "the payload is longer or shorter than in the message's other packets",
	 WIRE_MRC, MRC_REQUEST, NULL, pmtu_other},
	{"MRC-6.2.2.2-04", "the payload of a First or Middle packet is no path MTU", WIRE_MRC,
	 MRC_REQUEST, mrc_full_off, NULL},
	{"MRC-6.2.2.2-05", "va is not where the message's other packets say that it must be",
	 WIRE_MRC, MRC_REQUEST, NULL, va_off},
	{"M-06", "the payload does not fit dmalen", WIRE_MRC, MRC_REQUEST, mrc_payload_off, NULL},
	{"M-06", "the payload is not what the message's full packets leave of dmalen", WIRE_MRC,
	 MRC_REQUEST, NULL, tail_off},
	{"MRC-6.2.2.3-06", "ftype of TSETH is not 1", WIRE_MRC, MRC_TSETH, tseth_ftype, NULL},
	{"MRC-6.2.4-X01", "a NAK of a PSN sequence error, which MRC does not have", WIRE_MRC,
	 MRC_AETH, aeth_sequence, NULL},
	{"MRC-6.3.5-X12", "a Last packet without payload", WIRE_MRC, MRC_REQUEST, mrc_empty_last,
	 NULL},
	{"MRC-6.3.5-X12", "the payload is longer than any path MTU", WIRE_MRC, MRC_REQUEST,
	 mrc_beyond_pmtu, NULL},
	{"MRC-6.3.5-X12", "dmalen is beyond the longest message, 2^31 bytes", WIRE_MRC, MRC_RETH,
	 mrc_too_long, NULL},
	{"MRC-6.4-01", "the credits of an ACK are not 0x1f", WIRE_MRC, MRC_AETH, aeth_credit, NULL},
	{"MRC-7.3-02", "an endpoint request to another queue pair than 2", WIRE_MRC, MRC_ERTH,
	 endpoint_qp, NULL},
	{"MRC-7.3-03", "an endpoint response to another queue pair than 2", WIRE_MRC, MRC_EETH,
	 endpoint_qp, NULL},
	{"MRC-7.4.8-X03", "a port status operation with a DSCP that data has", WIRE_MRC, 0, NULL,
	 status_in_data_class},
	{"MRC-7.5-X01", "cack_psn is not the last PSN before a gap: the next one was received",
	 WIRE_MRC, MRC_SETH, seth_no_gap, NULL},
	{"MRC-7.5.2.1-02", "a SACK reflects a flow label, which IPv4 does not have", WIRE_MRC,
	 MRC_SETH, seth_label, NULL},
	{"MRC-7.5.2.1-02", "a NACK reflects a flow label, which IPv4 does not have", WIRE_MRC,
	 MRC_NETH, neth_label, NULL},
	{"MRC-7.5.2.2-02", "ooo_count is less than the packets above cack_psn that the SACK names",
	 WIRE_MRC, MRC_SACKED, ooo_too_few, NULL},
	{"MRC-7.5.2.2-X05", "the map of a SACK begins before cack_psn", WIRE_MRC, MRC_SETH,
	 seth_base, NULL},
	{"MRC-7.5.5-02", "the PSN of a SACK is not its cack_psn", WIRE_MRC, MRC_SETH, seth_psn,
	 NULL},
	{"MRC-7.5.5-03", "the PSN of a NACK is not its nack_psn", WIRE_MRC, MRC_NETH, neth_psn,
	 NULL},
	{"MRC-7.5.5-06", "the identifier of an endpoint request has more than 16 bits", WIRE_MRC,
	 MRC_ERTH, endpoint_psn, NULL},
	{"MRC-7.5.5-07", "the identifier of an endpoint response has more than 16 bits", WIRE_MRC,
	 MRC_EETH, endpoint_psn, NULL},
	{"MRC-7.5.5-08", "dpdcid of a SACK is not the low half of its queue pair", WIRE_MRC,
	 MRC_SETH, seth_context, NULL},
	{"MRC-7.5.5-08", "dpdcid of a NACK is not the low half of its queue pair", WIRE_MRC,
	 MRC_NETH, neth_context, NULL},
	{"MRC-7.5.5.1-12", "an ACK, SACK or NACK with a DSCP that data has", WIRE_MRC, 0, NULL,
	 answer_in_data_class},
	{"MRC-7.5.5.2-02", "the UDP checksum is not zero", WIRE_MRC, 0, udp_sum, NULL},
	{"MRC-7.5.5.2-X01", "the UDP length of a trimmed packet is that of no data packet",
	 WIRE_MRC, 0, trimmed_length_off, NULL},
	{"MRC-7.5.5.4-X01", "cc_type of a SACK is not 0", WIRE_MRC, MRC_SETH, seth_cc_type, NULL},
	{"MRC-7.5.5.5-12", "m of a SACK has the reserved value", WIRE_MRC, MRC_SETH, seth_mark,
	 NULL},
	{"MRC-7.5.5.5-26", "cc_fl of a SACK is not 0", WIRE_MRC, MRC_SETH, seth_cc_flags, NULL},
	{"MRC-7.5.5.5-29", "the map of a SACK says that cack_psn was not received", WIRE_MRC,
	 MRC_SACKED, map_lacks_cack, NULL},
	{"MRC-7.5.5.5-29", "the map of a SACK says that ack_psn was not received", WIRE_MRC,
	 MRC_SETH, map_lacks_ack, NULL},
	{"MRC-7.5.5.6-01", "the UDP length of a NACK of a trimmed packet is that of no data packet",
	 WIRE_MRC, MRC_NETH, nack_length_of_no_data, NULL},
	{"MRC-7.5.5.6-01", "the UDP length of a NACK is not that of the packet that was trimmed",
	 WIRE_MRC, MRC_NETH, NULL, original_other},
	{"M-13", "the UDP length of a NACK is not its own, and no trimmed packet's", WIRE_MRC,
	 MRC_NETH, nack_length_forged, NULL},
	{"MRC-7.5.5.6-10", "a NACK for a reserved reason", WIRE_MRC, MRC_NETH, neth_reason, NULL},
	{"MRC-7.5.5.6-17", "cc_type of a NACK is not 2", WIRE_MRC, MRC_NETH, neth_cc_type, NULL},
	{"MRC-7.5.5.6-18", "cc_fl of a NACK is not 0", WIRE_MRC, MRC_NETH, neth_cc_flags, NULL},
	{"MRC-7.5.5.7-13", "dpdcid of a probe is not the low half of its queue pair", WIRE_MRC,
	 MRC_PETH, peth_context, NULL},
	{"MRC-7.5.5.7-17", "ftype of a probe is neither 0 nor 1", WIRE_MRC, MRC_PETH, peth_ftype,
	 NULL},
	{"MRC-7.5.6.1-08", "an endpoint request of a reserved operation", WIRE_MRC, MRC_ERTH,
	 erth_op, NULL},
	{"MRC-7.5.6.1-11", "an EV probe with a port status mask", WIRE_MRC, MRC_ERTH, erth_mask,
	 NULL},
	{"MRC-7.5.6.1-16", "ftype of an endpoint request is neither 0 nor 1", WIRE_MRC, MRC_ERTH,
	 erth_ftype, NULL},
	{"MRC-7.5.6.2-13", "an endpoint response of a reserved operation", WIRE_MRC, MRC_EETH,
	 eeth_op, NULL},
	BTH_ZEROS(BTH_ROW) RESERVED(RESERVED_ROW)};

#define N_RULES (sizeof table / sizeof table[0])
_Static_assert(N_RULES <= RULES_MAX, "a packet's warnings may be all rules");

uint32_t rules_count(void)
{
	return N_RULES;
}

const struct packet_rule *rules_at(uint32_t i)
{
	return &table[i];
}

bool rules_ignore(struct rules *r, const char *id)
{
	bool is_known = false;

	for (uint32_t i = 0; i < N_RULES; i++)
		if (strcmp(table[i].id, id) == 0)
			is_known = r->is_ignored[i] = true;
	return is_known;
}

void rules_restart(struct rules *r)
{
	memset(&r->messages, 0, sizeof r->messages);
}

static bool is_broken(const struct packet_rule *rule, const struct wire_packet *pkt,
		      const struct message_facts *facts)
{
	return rule->is_broken ? rule->is_broken(pkt) : rule->is_odd(facts);
}

void rules_check(struct rules *r, const struct wire_packet *pkt, struct warnings *w)
{
	struct message_facts facts = {0};
	uint16_t has = pkt->family == WIRE_ROCE  ? pkt->roce.has
		       : pkt->family == WIRE_MRC ? pkt->mrc.has
						 : 0;

	if (pkt->family == WIRE_MRC)
		facts = messages_note(&r->messages, pkt);
	w->n = 0;
	for (uint32_t i = 0; i < N_RULES; i++) {
		const struct packet_rule *rule = &table[i];

		if (rule->family == pkt->family && (has & rule->needs) == rule->needs &&
		    !r->is_ignored[i] && is_broken(rule, pkt, &facts))
			w->rule[w->n++] = (uint8_t)i;
	}
}
