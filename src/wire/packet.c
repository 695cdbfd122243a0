#include "wire/packet.h"

#include "wire/icrc.h"

/* Cuts the ICRC, known to be there, off the end of the packet. A fault of the transport headers
 * comes first in what a reader is told, so this only records. */
static void get_icrc(struct cursor *c, struct wire_packet *pkt)
{
	const struct net_ip *ip = net_ip(&pkt->net);

	cursor_trim(c, icrc_bytes);
	pkt->has_icrc = true;
	pkt->icrc_at = c->len;
	pkt->icrc = icrc_get(c->base + c->len);
	pkt->icrc_right = icrc_of((struct cspan){c->base + ip->at, c->len - ip->at});
}

/* A NACK may carry the length of the packet it answers (M-13), a trimmed packet keeps its own. */
static struct wire_fault check_udp_length(const struct wire_packet *pkt, uint8_t opcode)
{
	return opcode == MRC_OP_NACK ? no_fault() : net_udp_length_fault(&pkt->net);
}

static struct wire_fault get_family(struct cursor *c, uint8_t opcode, struct wire_packet *pkt,
				    struct wire_trail *trail)
{
	if (mrc_opcode_is_ours(opcode)) {
		pkt->family = WIRE_MRC;
		return mrc_pkt_get(c, net_is_cut(&pkt->net), &pkt->mrc, trail);
	}
	if (roce_opcode_is_other_service(opcode)) {
		uint32_t at = c->at;

		TAKE(c, trail, bth);
		return fault_at(WIRE_DROP_OTHER_SERVICE, at, bth_layout());
	}
	if (pkt->net.trim != NET_WHOLE)
		return fault_at(WIRE_DROP_TRIMMED, c->at, bth_layout());
	pkt->family = WIRE_ROCE;
	return roce_pkt_get(c, &pkt->roce, trail);
}

struct wire_fault wire_packet_get(struct cspan frame, uint16_t link, const struct net_cfg *cfg,
				  struct wire_packet *pkt, struct wire_trail *trail)
{
	memset(pkt, 0, sizeof *pkt);
	if (trail)
		trail->n = 0, trail->full = false;
	struct wire_fault fault = net_get(frame, link, cfg, &pkt->net, trail);

	if (fault.why != WIRE_DROP_NONE)
		return fault;
	struct cursor c = {frame.at, pkt->net.transport, pkt->net.end};
	const uint8_t *bth = peek(&c, bth_bytes);

	if (!bth)
		return fault_at(WIRE_DROP_TRUNCATED, c.at, bth_layout());
	fault = check_udp_length(pkt, bth[0]);
	if (fault.why != WIRE_DROP_NONE)
		return fault;
	if (!net_is_cut(&pkt->net)) {
		if (cursor_left(&c) < bth_bytes + icrc_bytes)
			return fault_at(WIRE_DROP_NO_ICRC, c.at + bth_bytes, NULL);
		get_icrc(&c, pkt);
	}
	fault = get_family(&c, bth[0], pkt, trail);
	if (fault.why == WIRE_DROP_NONE && pkt->has_icrc && pkt->icrc != pkt->icrc_right)
		return fault_at(WIRE_DROP_ICRC, pkt->icrc_at, NULL);
	return fault;
}

struct cspan wire_packet_payload(const struct wire_packet *pkt)
{
	if (pkt->family == WIRE_ROCE && pkt->roce.has & ROCE_PAYLOAD)
		return pkt->roce.payload;
	if (pkt->family == WIRE_MRC && pkt->mrc.has & MRC_PAYLOAD)
		return pkt->mrc.payload;
	return (struct cspan){NULL, 0};
}

const char *wire_packet_name(const struct wire_packet *pkt)
{
	switch (pkt->family) {
	case WIRE_ROCE: return roce_opcode_name(pkt->roce.bth.opcode);
	case WIRE_MRC: return mrc_opcode_name(pkt->mrc.bth.opcode);
	default: return NULL;
	}
}
