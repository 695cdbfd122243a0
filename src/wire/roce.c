#include "wire/roce.h"

WIRE_DEFINE(bth, BTH_FIELDS)
WIRE_DEFINE(reth, RETH_FIELDS)
WIRE_DEFINE(aeth, AETH_FIELDS)
WIRE_DEFINE(atomic_eth, ATOMIC_ETH_FIELDS)
WIRE_DEFINE(atomic_ack_eth, ATOMIC_ACK_ETH_FIELDS)
WIRE_DEFINE(immdt, IMMDT_FIELDS)
WIRE_DEFINE(ieth, IETH_FIELDS)
WIRE_DEFINE(cnp, CNP_FIELDS)

/* RC knows no trimming: all its headers must be there. */
#define STACK_CUT 0u

struct opcode {
	const char *name;
	uint16_t stack;
};

static const struct opcode opcodes[256] = {
#define OPCODE(value, id, text, stack) [value] = {text, stack},
	ROCE_OPCODES(OPCODE)
#undef OPCODE
};

const char *roce_opcode_name(uint8_t opcode)
{
	return opcodes[opcode].name;
}

bool roce_opcode_is_other_service(uint8_t opcode)
{
	unsigned service = opcode >> 5;

	return (service >= 1 && service <= 3) || service == 5;
}

bool roce_opcode_stack(uint8_t opcode, uint16_t *stack)
{
	*stack = opcodes[opcode].stack;
	return opcodes[opcode].name != NULL;
}

struct wire_fault roce_payload_get(struct cursor *c, uint8_t pad, struct cspan *payload)
{
	if (cursor_left(c) % 4 != 0)
		return fault_at(WIRE_DROP_PAYLOAD_LENGTH, c->at, NULL);
	if (pad > cursor_left(c))
		return fault_at(WIRE_DROP_PAD, c->at, NULL);
	*payload = cursor_rest(c);
	payload->len -= pad;
	return no_fault();
}

struct wire_fault roce_head_get(struct cursor *c, struct roce_pkt *pkt, struct wire_trail *trail)
{
	const bool trimmed = false;
	uint32_t at = c->at;
	const uint8_t *p = TAKE(c, trail, bth);

	if (!p)
		return fault_at(WIRE_DROP_TRUNCATED, at, bth_layout());
	bth_get(p, &pkt->bth);
	if (pkt->bth.tver != 0)
		return fault_at(WIRE_DROP_BTH_VERSION, at + 1, bth_layout());
	if (!roce_opcode_stack(pkt->bth.opcode, &pkt->has))
		return fault_at(WIRE_DROP_OPCODE, at, bth_layout());
	ROCE_STACK(STACK_GET)
	return no_fault();
}

struct wire_fault roce_pkt_get(struct cursor *c, struct roce_pkt *pkt, struct wire_trail *trail)
{
	struct wire_fault fault = roce_head_get(c, pkt, trail);

	pkt->payload = (struct cspan){NULL, 0};
	if (fault.why != WIRE_DROP_NONE)
		return fault;
	if (pkt->has & ROCE_PAYLOAD)
		return roce_payload_get(c, pkt->bth.pad, &pkt->payload);
	if (cursor_left(c) > 0)
		return fault_at(WIRE_DROP_EXCESS, c->at, NULL);
	return no_fault();
}

uint32_t roce_head_put(const struct roce_pkt *pkt, struct span out)
{
	uint32_t used = bth_bytes;
	uint16_t has;

	if (out.len < bth_bytes || !roce_opcode_stack(pkt->bth.opcode, &has))
		return 0;
	bth_put(&pkt->bth, out.at);
	ROCE_STACK(STACK_PUT)
	return used;
}
