#include "catalog.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "catalog_endmt.h"

#define PMTU  256u
#define TAIL  21u
#define TOTAL (2 * PMTU + TAIL)

/* A variant of a packet type: how it is carried and, for some types, what it says. */
struct variant {
	const char *what;
	uint8_t n_vlan, ip_version;
	enum frame_srv6 srv6;
};

static const struct variant carriers[] = {
	{"IPv4", 0, 4, FRAME_NATIVE},
	{"IPv6", 0, 6, FRAME_NATIVE},
	{"VLAN IPv4", 1, 4, FRAME_NATIVE},
	{"QinQ IPv6", 2, 6, FRAME_NATIVE},
	{"SRv6 uSID", 0, 6, FRAME_USID},
	{"SRv6 uSID SRH", 0, 6, FRAME_USID_SRH},
	{"SRv6 uSID SRH HMAC", 0, 6, FRAME_USID_SRH_TLV},
};

#define N_CARRIERS     (sizeof carriers / sizeof carriers[0])
#define N_ROCE_CARRIER 4u /* RoCE RC as its peers send it: without SRv6 */

static const uint8_t roce_opcodes[] = {
#define VALUE(value, id, text, stack) value,
	ROCE_OPCODES(VALUE)
#undef VALUE
};

/* An opcode of MRC and, where one header says different things, which of them. */
struct mrc_form {
	uint8_t opcode;
	const char *what;
	uint8_t form;
};

enum { PLAIN, STAMPED, RESENT, NAK, PROBE_ANSWER, TRIM_NACK, PORT_STATUS };

static const struct mrc_form mrc_forms[] = {
	{MRC_OP_WRITE_FIRST, "", PLAIN},
	{MRC_OP_WRITE_FIRST, " timestamp", STAMPED},
	{MRC_OP_WRITE_MIDDLE, "", PLAIN},
	{MRC_OP_WRITE_MIDDLE, " retransmitted", RESENT},
	{MRC_OP_WRITE_LAST, "", PLAIN},
	{MRC_OP_WRITE_LAST, " timestamp", STAMPED},
	{MRC_OP_WRITE_LAST_IMM, "", PLAIN},
	{MRC_OP_WRITE_LAST_IMM, " timestamp", STAMPED},
	{MRC_OP_WRITE_ONLY, "", PLAIN},
	{MRC_OP_WRITE_ONLY, " timestamp", STAMPED},
	{MRC_OP_WRITE_ONLY_IMM, "", PLAIN},
	{MRC_OP_WRITE_ONLY_IMM, " timestamp", STAMPED},
	{MRC_OP_ACKNOWLEDGE, "", PLAIN},
	{MRC_OP_ACKNOWLEDGE, " NAK", NAK},
	{MRC_OP_ENDPOINT_REQUEST, " EV probe", PLAIN},
	{MRC_OP_ENDPOINT_REQUEST, " port status", PORT_STATUS},
	{MRC_OP_ENDPOINT_RESPONSE, " EV probe", PLAIN},
	{MRC_OP_ENDPOINT_RESPONSE, " port status", PORT_STATUS},
	{MRC_OP_SACK, "", PLAIN},
	{MRC_OP_SACK, " probe response", PROBE_ANSWER},
	{MRC_OP_NACK, " no resource", PLAIN},
	{MRC_OP_NACK, " trimmed", TRIM_NACK},
	{MRC_OP_PROBE_REQUEST, "", PLAIN},
};

#define N_ROCE    ((uint32_t)sizeof roce_opcodes * N_ROCE_CARRIER)
#define N_MRC     ((uint32_t)(sizeof mrc_forms / sizeof mrc_forms[0] * N_CARRIERS))
#define N_TRIMMED 6u

static const uint8_t text[TOTAL + 1] =
	"One warp thread after another, the loom makes cloth of paths: each packet takes its own "
	"way, and the far side lays the bytes where they belong. ";

struct net_cfg catalog_cfg(void)
{
	struct net_cfg cfg = net_cfg_default();

	cfg.trims = net_trims_of(CATALOG_DSCP_TRIMMED, CATALOG_DSCP_TRIMMED_LASTHOP);
	return cfg;
}

uint32_t catalog_size(void)
{
	return N_ROCE + N_MRC + N_TRIMMED + CATALOG_ENDMT;
}

/* "MRC WRITE Only Imm" -> "mrc-write-only-imm" */
static void file_name(struct sample *s, const char *prefix, const char *name)
{
	size_t n = (size_t)snprintf(s->file, sizeof s->file, "%s%s", prefix, name);

	assert(n < sizeof s->file);
	for (size_t i = 0; i < n; i++)
		s->file[i] = s->file[i] == ' ' ? '-' : (char)tolower((unsigned char)s->file[i]);
}

/* How much payload a packet of this opcode carries: first and middle ones a PMTU, others what is
 * left, with a pad of 3. MRC opcodes are RC's plus 0xC0 here. */
static uint32_t payload_length(uint8_t opcode)
{
	switch (opcode & 0x1f) {
	case ROCE_OP_SEND_FIRST:
	case ROCE_OP_SEND_MIDDLE:
	case ROCE_OP_WRITE_FIRST:
	case ROCE_OP_WRITE_MIDDLE:
	case ROCE_OP_READ_RESPONSE_FIRST:
	case ROCE_OP_READ_RESPONSE_MIDDLE: return PMTU;
	default: return TAIL;
	}
}

static void build(struct sample *s, struct frame_spec *spec, const struct variant *v,
		  struct cspan head, uint32_t payload)
{
	static const uint8_t zeros[4];
	uint8_t padded[PMTU];
	uint32_t len = (payload + 3) & ~3u;

	spec->n_vlan = v->n_vlan;
	spec->ip_version = v->ip_version;
	spec->srv6 = v->srv6;
	spec->sport = 0xc123;
	spec->flow_label = 0x12345;
	memcpy(padded, text, payload);
	memcpy(padded + payload, zeros, len - payload);
	frame_build(&s->frame, spec, head, (struct cspan){padded, len});
}

static void roce_sample(struct sample *s, uint8_t opcode, const struct variant *v)
{
	uint8_t head[64];
	uint16_t stack;
	struct frame_spec spec = {.ecn = 2};

	roce_opcode_stack(opcode, &stack);
	uint32_t payload = stack & ROCE_PAYLOAD ? payload_length(opcode) : 0;
	struct roce_pkt p = {
		.bth = {.opcode = opcode,
			.se = opcode == ROCE_OP_SEND_ONLY,
			.m = 1,
			.pad = (uint8_t)(-payload & 3),
			.pkey = 0xffff,
			.dest_qp = 0x000118,
			.ack_req = opcode != ROCE_OP_ACKNOWLEDGE,
			.psn = 0x00a196},
		.reth = {0x00007f0000001000, 0x00000a0b, payload == TAIL ? TAIL : TOTAL},
		.atomic = {0x00007f0000002008, 0x00000a0c, 0x1122334455667788, 0x99aabbccddeeff00},
		.aeth = {.type = AETH_ACK, .value = 14, .msn = 0x000321},
		.atomic_ack = {0x0102030405060708},
		.imm = {0xdeadbeef},
		.ieth = {0x00000a0d},
	};

	if (opcode == ROCE_OP_CNP) {
		p.bth = (struct bth){
			.opcode = opcode, .pkey = 0xffff, .becn = 1, .dest_qp = 0x000118};
		spec.dscp = CATALOG_DSCP_CONTROL;
	}
	uint32_t n = roce_head_put(&p, (struct span){head, sizeof head});

	s->family = WIRE_ROCE;
	s->opcode = opcode;
	file_name(s, "roce-", roce_opcode_name(opcode));
	snprintf(s->name, sizeof s->name, "RoCE %s, %s", roce_opcode_name(opcode), v->what);
	build(s, &spec, v, (struct cspan){head, n}, payload);
}

static struct mrc_pkt mrc_fields(const struct mrc_form *form, uint32_t payload)
{
	struct mrc_pkt p = {
		.bth = {.opcode = form->opcode,
			.pad = (uint8_t)(-payload & 3),
			.pkey = MRC_PKEY_DEFAULT,
			.dest_qp = 0x000222,
			.ack_req = form->form == STAMPED,
			.rtx = form->form == RESENT || form->form == TRIM_NACK,
			.ts = form->form == STAMPED,
			.psn = 0x000196},
		.meth = {3, 7},
		.tseth = {0x1234, 0, 0, MRC_FTYPE_TIMESTAMP},
		.reth = {0x00007f0000001000, 0x00000a0b, payload == PMTU ? TOTAL : payload},
		.imm = {0xdeadbeef},
		.aeth = {.type = AETH_ACK, .value = MRC_AETH_NO_CREDIT, .msn = 8},
		.seth = {.m = MRC_MARK_SKIP,
			 .ack_psn_offset = 275,
			 .entropy = 0xc0010203,
			 .spdcid = 0x0222,
			 .dpdcid = 0x0111,
			 .cack_psn = 405,
			 .mpr = 8,
			 .sack_offset = 268,
			 .sack_bitmap = 0x0000000180000081},
		.cc = {0x1234, 0, 4, 1, 5, 0x00abcd},
		.neth = {.nack_reason = MRC_NACK_NO_RESOURCE,
			 .vendor_info = 0x42,
			 .entropy = 0xc0010203,
			 .spdcid = 0x0222,
			 .dpdcid = 0x0111,
			 .nack_psn = 0x000196,
			 .cc_type = MRC_CC_TYPE_TIMESTAMP,
			 .tx_timestamp = 0x1234},
		.peth = {.vendor_info = 0x42,
			 .probe_id = 0xbeef,
			 .spdcid = 0x0111,
			 .dpdcid = 0x0222,
			 .tx_timestamp = 0x1234,
			 .ftype = MRC_FTYPE_TIMESTAMP},
		.erth = {.op = MRC_ENDPOINT_EV_PROBE,
			 .tx_timestamp = 0x1234,
			 .ftype = MRC_FTYPE_TIMESTAMP},
		.eeth = {.op = MRC_ENDPOINT_EV_PROBE, .tx_timestamp = 0x1234},
	};
	return p;
}

/* What sets one form of a packet type apart from the plain one. */
static void mrc_adjust(struct mrc_pkt *p, const struct mrc_form *form)
{
	uint8_t op = p->bth.opcode;

	if (op == MRC_OP_WRITE_LAST || op == MRC_OP_WRITE_LAST_IMM)
		p->reth.va += 2 * PMTU, p->reth.dmalen = TOTAL;
	if (op == MRC_OP_WRITE_MIDDLE)
		p->reth.va += PMTU;
	if (op == MRC_OP_ACKNOWLEDGE || op == MRC_OP_SACK)
		p->bth.psn = p->seth.cack_psn;
	if (op == MRC_OP_ACKNOWLEDGE || op == MRC_OP_SACK || op == MRC_OP_NACK)
		p->bth.dest_qp = p->seth.dpdcid;
	if (op == MRC_OP_ENDPOINT_REQUEST || op == MRC_OP_ENDPOINT_RESPONSE)
		p->bth.dest_qp = MRC_ENDPOINT_QP;
	switch (form->form) {
	case NAK: /* names the packet it refuses (M-40) */
		p->bth.psn = p->neth.nack_psn;
		p->aeth.type = AETH_NAK;
		p->aeth.value = AETH_NAK_REMOTE_ACCESS;
		break;
	case PROBE_ANSWER:
		p->bth.psn = 0;
		p->seth.pr = 1;
		p->seth.m = MRC_MARK_NONE;
		p->seth.ack_psn_offset = 0xbeef;
		break;
	case TRIM_NACK: p->neth.nack_reason = MRC_NACK_TRIMMED; break;
	case PORT_STATUS:
		p->erth = (struct erth){.op = MRC_ENDPOINT_PORT_STATUS, .port_status_mask = 0x1ee};
		p->eeth = (struct eeth){.op = MRC_ENDPOINT_PORT_STATUS};
		break;
	}
}

static uint8_t mrc_dscp(const struct mrc_pkt *p)
{
	if (!(p->bth.opcode < MRC_OP_ACKNOWLEDGE))
		return p->bth.opcode == MRC_OP_PROBE_REQUEST ? CATALOG_DSCP_TRIMMABLE
							     : CATALOG_DSCP_CONTROL;
	return p->bth.rtx ? CATALOG_DSCP_RETX : CATALOG_DSCP_TRIMMABLE;
}

static void mrc_sample(struct sample *s, const struct mrc_form *form, const struct variant *v)
{
	uint16_t stack;
	uint8_t head[64];

	mrc_opcode_stack(form->opcode, &stack);
	uint32_t payload = stack & MRC_PAYLOAD ? payload_length(form->opcode) : 0;
	struct mrc_pkt p = mrc_fields(form, payload);

	mrc_adjust(&p, form);
	/* There is no flow label to reflect (MRC-7.5.2.1-02). */
	if (v->ip_version == 4)
		p.seth.entropy &= 0xffff0000, p.neth.entropy &= 0xffff0000;
	struct frame_spec spec = {
		.dscp = mrc_dscp(&p), .ecn = 2, .udp_length = form->form == TRIM_NACK ? 308 : 0};
	uint32_t n = mrc_head_put(&p, (struct span){head, sizeof head});

	s->family = WIRE_MRC;
	s->opcode = form->opcode;
	file_name(s, "", mrc_opcode_name(form->opcode));
	snprintf(s->name, sizeof s->name, "%s%s, %s", mrc_opcode_name(form->opcode), form->what,
		 v->what);
	build(s, &spec, v, (struct cspan){head, n}, payload);
}

/* A data packet after a trimming switch. The least that may be left is UDP, BTH, METH and TSETH:
 * 28 bytes, plus what stands before the inner UDP (M-27). */
static void trimmed_sample(struct sample *s, uint32_t i)
{
	static const struct mrc_form form = {MRC_OP_WRITE_FIRST, "", STAMPED};
	static const struct {
		const char *what;
		uint8_t carrier, dscp;
		uint32_t keep;
		bool decapsulated;
	} cut[N_TRIMMED] = {
		{"IPv4, least", 0, CATALOG_DSCP_TRIMMED, 28, false},
		{"IPv6, all headers", 1, CATALOG_DSCP_TRIMMED, 44, false},
		{"IPv6, last hop", 1, CATALOG_DSCP_TRIMMED_LASTHOP, 64, false},
		{"SRv6 uSID, least", 4, CATALOG_DSCP_TRIMMED, 68, false},
		{"SRv6 uSID SRH, least", 5, CATALOG_DSCP_TRIMMED, 92, false},
		{"SRv6 uSID, decapsulated", 4, CATALOG_DSCP_TRIMMED, 100, true},
	};

	mrc_sample(s, &form, &carriers[cut[i].carrier]);
	frame_trim(&s->frame, cut[i].dscp, cut[i].keep);
	if (cut[i].decapsulated)
		frame_decapsulate(&s->frame);
	snprintf(s->file, sizeof s->file, "mrc-trimmed");
	snprintf(s->name, sizeof s->name, "MRC WRITE First trimmed, %s", cut[i].what);
}

void catalog_get(uint32_t i, struct sample *s)
{
	memset(s, 0, sizeof *s);
	assert(i < catalog_size());
	if (i < N_ROCE) {
		roce_sample(s, roce_opcodes[i / N_ROCE_CARRIER], &carriers[i % N_ROCE_CARRIER]);
		return;
	}
	i -= N_ROCE;
	if (i < N_MRC) {
		mrc_sample(s, &mrc_forms[i / N_CARRIERS], &carriers[i % N_CARRIERS]);
		return;
	}
	i -= N_MRC;
	if (i < N_TRIMMED)
		trimmed_sample(s, i);
	else
		catalog_endmt(i - N_TRIMMED, s);
}

void catalog_find(const char *name, struct sample *s)
{
	for (uint32_t i = 0; i < catalog_size(); i++) {
		catalog_get(i, s);
		if (strcmp(s->name, name) == 0)
			return;
	}
	fprintf(stderr, "no sample is called %s\n", name);
	abort();
}
