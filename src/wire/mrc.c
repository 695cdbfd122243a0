#include "wire/mrc.h"

#include <assert.h>

WIRE_DEFINE(mrc_bth, MRC_BTH_FIELDS)
WIRE_DEFINE(meth, METH_FIELDS)
WIRE_DEFINE(tseth, TSETH_FIELDS)
WIRE_DEFINE(seth, SETH_FIELDS)
WIRE_DEFINE(cc_state, CC_STATE_FIELDS)
WIRE_DEFINE(neth, NETH_FIELDS)
WIRE_DEFINE(peth, PETH_FIELDS)
WIRE_DEFINE(erth, ERTH_FIELDS)
WIRE_DEFINE(eeth, EETH_FIELDS)

#define FIRST_OPCODE 0xc0u

/* A trimming switch should leave BTH, METH and TSETH (M-27), but one that counts BTH and TSETH
 * alone, as 7.5.3 has it, cuts TSETH off; a NACK needs no more than BTH (M-49). */
#define STACK_CUT (MRC_METH | MRC_TSETH | MRC_RETH | MRC_IMMDT)

struct opcode {
	const char *name;
	uint16_t stack;
};

static const struct opcode opcodes[32] = {
#define OPCODE(value, id, text, stack) [(value)-FIRST_OPCODE] = {text, stack},
	MRC_OPCODES(OPCODE)
#undef OPCODE
};

const char *mrc_opcode_name(uint8_t opcode)
{
	return mrc_opcode_is_ours(opcode) ? opcodes[opcode - FIRST_OPCODE].name : NULL;
}

const char *mrc_nack_name(uint8_t reason)
{
	switch (reason) {
#define NACK(value, id) \
	case value: return #id;
		MRC_NACKS(NACK)
#undef NACK
	default: return NULL;
	}
}

bool mrc_opcode_stack(uint8_t opcode, uint16_t *stack)
{
	if (!mrc_opcode_name(opcode))
		return false;
	*stack = opcodes[opcode - FIRST_OPCODE].stack;
	return true;
}

/* What a sender always writes: the compiler knows its headers, and drops what the others need. */
#define STACK_DATA (MRC_METH | MRC_TSETH | MRC_RETH)
#define STACK_SACK (MRC_SETH | MRC_CC_STATE)

/* Both return where the headers end. */
WIRE_INLINE const uint8_t *read_stack(uint16_t has, const uint8_t *p, struct mrc_pkt *pkt)
{
	MRC_STACK(STACK_READ)
	return p;
}

WIRE_INLINE uint8_t *write_stack(uint16_t has, const struct mrc_pkt *pkt, uint8_t *p)
{
	MRC_STACK(STACK_WRITE)
	return p;
}

static uint32_t stack_bytes(uint16_t has)
{
	switch (has & ~MRC_PAYLOAD) {
	case STACK_DATA: has = STACK_DATA; return 0 MRC_STACK(STACK_BYTES);
	case STACK_SACK: has = STACK_SACK; return 0 MRC_STACK(STACK_BYTES);
	default: return 0 MRC_STACK(STACK_BYTES);
	}
}

struct wire_fault mrc_rest_get(struct cursor *c, bool trimmed, struct mrc_pkt *pkt,
			       struct wire_trail *trail)
{
	uint32_t at = c->at - mrc_bth_bytes;

	if (!mrc_opcode_stack(pkt->bth.opcode, &pkt->has))
		return fault_at(WIRE_DROP_OPCODE, at, mrc_bth_layout());
	/* Only data is ever trimmed. A trimmed packet has no ICRC, so taking another kind as
	 * trimmed would let a changed DSCP switch off the only check that a control packet has. */
	if (trimmed && !(pkt->has & MRC_PAYLOAD))
		return fault_at(WIRE_DROP_TRIMMED, at, mrc_bth_layout());
	/* The bit means something in data only; probe and endpoint packets carry their timestamp in
	 * a word of their own, and ignore it (M-43). */
	if (!pkt->bth.ts)
		pkt->has &= (uint16_t)~MRC_TSETH;
	const uint8_t *all = trail ? NULL : take(c, stack_bytes(pkt->has)), *end;

	if (!all) {
		MRC_STACK(STACK_GET)
		return no_fault();
	}
	switch (pkt->has & ~MRC_PAYLOAD) {
	case STACK_DATA: end = read_stack(STACK_DATA, all, pkt); break;
	case STACK_SACK: end = read_stack(STACK_SACK, all, pkt); break;
	default: end = read_stack(pkt->has, all, pkt); break;
	}
	assert(end == c->base + c->at);
	return no_fault();
}

struct wire_fault mrc_head_get(struct cursor *c, bool trimmed, struct mrc_pkt *pkt,
			       struct wire_trail *trail)
{
	uint32_t at = c->at;
	const uint8_t *p = TAKE(c, trail, mrc_bth);

	if (!p)
		return fault_at(WIRE_DROP_TRUNCATED, at, mrc_bth_layout());
	mrc_bth_get(p, &pkt->bth);
	if (pkt->bth.tver != 0)
		return fault_at(WIRE_DROP_BTH_VERSION, at + 1, mrc_bth_layout());
	return mrc_rest_get(c, trimmed, pkt, trail);
}

struct wire_fault mrc_pkt_get(struct cursor *c, bool trimmed, struct mrc_pkt *pkt,
			      struct wire_trail *trail)
{
	struct wire_fault fault = mrc_head_get(c, trimmed, pkt, trail);

	pkt->payload = (struct cspan){NULL, 0};
	if (fault.why != WIRE_DROP_NONE)
		return fault;
	if (trimmed) {
		pkt->has &= (uint16_t)~MRC_PAYLOAD;
		return no_fault();
	}
	if (pkt->has & MRC_PAYLOAD)
		return roce_payload_get(c, pkt->bth.pad, &pkt->payload);
	/* Control packets: the pad field is ignored (Table 7-11), and nothing follows. */
	if (cursor_left(c) > 0)
		return fault_at(WIRE_DROP_EXCESS, c->at, NULL);
	return no_fault();
}

uint32_t mrc_head_put(const struct mrc_pkt *pkt, struct span out)
{
	uint8_t *rest = out.at + mrc_bth_bytes, *end;
	uint16_t has;

	if (!mrc_opcode_stack(pkt->bth.opcode, &has))
		return 0;
	if (!pkt->bth.ts)
		has &= (uint16_t)~MRC_TSETH;
	uint32_t bytes = mrc_bth_bytes + stack_bytes(has);

	if (out.len < bytes)
		return 0;
	mrc_bth_put(&pkt->bth, out.at);
	switch (has & ~MRC_PAYLOAD) {
	case STACK_DATA: end = write_stack(STACK_DATA, pkt, rest); break;
	case STACK_SACK: end = write_stack(STACK_SACK, pkt, rest); break;
	default: end = write_stack(has, pkt, rest); break;
	}
	assert(end == out.at + bytes);
	return bytes;
}
