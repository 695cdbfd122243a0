#include "wire/roce.h"

WIRE_DEFINE(bth, BTH_FIELDS)
WIRE_DEFINE(reth, RETH_FIELDS)
WIRE_DEFINE(aeth, AETH_FIELDS)
WIRE_DEFINE(atomic_eth, ATOMIC_ETH_FIELDS)
WIRE_DEFINE(atomic_ack_eth, ATOMIC_ACK_ETH_FIELDS)
WIRE_DEFINE(immdt, IMMDT_FIELDS)
WIRE_DEFINE(ieth, IETH_FIELDS)
WIRE_DEFINE(cnp, CNP_FIELDS)

struct opcode {
	const char *name;
	uint8_t stack;
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

bool roce_opcode_stack(uint8_t opcode, uint8_t *stack)
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

/* One optional header: present when its bit is in the stack, a fault when it does not fit. */
#define GET(bit, header, member)                                                        \
	if (pkt->has & (bit)) {                                                         \
		p = TAKE(c, trail, header);                                             \
		if (!p)                                                                 \
			return fault_at(WIRE_DROP_TRUNCATED, c->at, header##_layout()); \
		header##_get(p, &pkt->member);                                          \
	}

struct wire_fault roce_head_get(struct cursor *c, struct roce_pkt *pkt, struct wire_trail *trail)
{
	uint32_t at = c->at;
	const uint8_t *p = TAKE(c, trail, bth);

	if (!p)
		return fault_at(WIRE_DROP_TRUNCATED, at, bth_layout());
	bth_get(p, &pkt->bth);
	if (pkt->bth.tver != 0)
		return fault_at(WIRE_DROP_BTH_VERSION, at + 1, bth_layout());
	if (!roce_opcode_stack(pkt->bth.opcode, &pkt->has))
		return fault_at(WIRE_DROP_OPCODE, at, bth_layout());
	GET(ROCE_RETH, reth, reth)
	GET(ROCE_ATOMIC, atomic_eth, atomic)
	GET(ROCE_AETH, aeth, aeth)
	GET(ROCE_ATOMIC_ACK, atomic_ack_eth, atomic_ack)
	GET(ROCE_IMMDT, immdt, imm)
	GET(ROCE_IETH, ieth, ieth)
	if (pkt->has & ROCE_CNP && !TAKE(c, trail, cnp))
		return fault_at(WIRE_DROP_TRUNCATED, c->at, cnp_layout());
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

#define PUT(bit, header, member)                           \
	if (stack & (bit)) {                               \
		if (out.len - used < header##_bytes)       \
			return 0;                          \
		header##_put(&pkt->member, out.at + used); \
		used += header##_bytes;                    \
	}

uint32_t roce_head_put(const struct roce_pkt *pkt, struct span out)
{
	uint32_t used = bth_bytes;
	uint8_t stack;

	if (out.len < bth_bytes || !roce_opcode_stack(pkt->bth.opcode, &stack))
		return 0;
	bth_put(&pkt->bth, out.at);
	PUT(ROCE_RETH, reth, reth)
	PUT(ROCE_ATOMIC, atomic_eth, atomic)
	PUT(ROCE_AETH, aeth, aeth)
	PUT(ROCE_ATOMIC_ACK, atomic_ack_eth, atomic_ack)
	PUT(ROCE_IMMDT, immdt, imm)
	PUT(ROCE_IETH, ieth, ieth)
	if (stack & ROCE_CNP) {
		if (out.len - used < cnp_bytes)
			return 0;
		memset(out.at + used, 0, cnp_bytes);
		used += cnp_bytes;
	}
	return used;
}
