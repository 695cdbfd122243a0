#include "wire/packet.h"

/* Cuts what a seal puts behind, known to be there, off the end of the packet. A fault of the
 * transport headers comes first in what a reader is told, so this only records. A cipher is for
 * those to check who have the key. */
static void get_tail(struct cursor *c, const struct seal *seal, struct wire_packet *pkt)
{
	uint32_t ip_at = net_ip(&pkt->net)->at;

	cursor_trim(c, seal->tail_bytes);
	pkt->seal_at = c->len;
	pkt->has_crc = seal_is_crc(seal);
	if (!pkt->has_crc)
		return;
	pkt->crc = seal_get(seal, c->base + c->len);
	pkt->crc_right = seal_sum(seal, &(struct cspan){c->base + ip_at, c->len - ip_at}, 1);
}

static const struct wire_layout *first_layout(const struct carrier *carrier)
{
	return carrier->headers == CARRIER_ROCE ? bth_layout() : NULL;
}

static struct wire_fault get_roce(struct cursor *c, uint8_t opcode, struct wire_packet *pkt,
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
	struct wire_fault fault = net_get_into(frame, link, cfg, &pkt->net, trail);

	if (fault.why != WIRE_DROP_NONE)
		return fault;
	const struct carrier *carrier = pkt->net.carrier;
	struct cursor c = {frame.at, pkt->net.transport, pkt->net.end};
	const uint8_t *head = peek(&c, carrier->head_least);

	if (!head)
		return fault_at(WIRE_DROP_TRUNCATED, c.at, first_layout(carrier));
	fault = net_udp_length_fault(&pkt->net, head);
	if (fault.why != WIRE_DROP_NONE)
		return fault;
	pkt->seal = carrier_seal_of(carrier, head);
	if (!net_is_cut(&pkt->net)) {
		if (cursor_left(&c) < carrier->head_least + pkt->seal->tail_bytes)
			return fault_at(WIRE_DROP_NO_ICRC, c.at + carrier->head_least, NULL);
		get_tail(&c, pkt->seal, pkt);
	}
	if (carrier->headers == CARRIER_ROCE)
		fault = get_roce(&c, head[0], pkt, trail);
	if (fault.why == WIRE_DROP_NONE && pkt->has_crc && pkt->crc != pkt->crc_right)
		return fault_at(WIRE_DROP_ICRC, pkt->seal_at, NULL);
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
