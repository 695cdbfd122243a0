#include "fwd/pfc.h"

#include "wire/net.h"

WIRE_DEFINE(pfc, PFC_FIELDS)

/* Bridges do not forward it: a PFC frame lives on one link. */
#define MAC_CONTROL_ADDRESS UINT64_C(0x0180c2000001)

void fwd_pfc_put(uint8_t frame[PFC_FRAME_BYTES], const uint8_t mac[6],
		 const struct fwd_pause *pause)
{
	struct eth eth = {
		.dst = MAC_CONTROL_ADDRESS,
		.src = (uint64_t)get_be16(mac) << 32 | get_be32(mac + 2),
		.type = ETHERTYPE_MAC_CONTROL,
	};
	uint16_t t[8];

	for (unsigned i = 0; i < 8; i++)
		t[i] = pause->classes >> i & 1 ? pause->quanta[i] : 0;
	struct pfc pfc = {PFC_OPCODE, pause->classes, t[0], t[1], t[2],
			  t[3],       t[4],           t[5], t[6], t[7]};

	memset(frame, 0, PFC_FRAME_BYTES);
	eth_put(&eth, frame);
	pfc_put(&pfc, frame + eth_bytes);
}

bool fwd_pfc_get(const struct fwd_frame *f, struct fwd_pause *pause)
{
	struct eth eth;
	struct pfc pfc;

	if (f->len < PFC_FRAME_BYTES || f->stored < eth_bytes + pfc_bytes)
		return false;
	eth_get(f->at, &eth);
	pfc_get(f->at + eth_bytes, &pfc);
	if (eth.dst != MAC_CONTROL_ADDRESS || eth.type != ETHERTYPE_MAC_CONTROL ||
	    pfc.opcode != PFC_OPCODE)
		return false;
	const uint16_t t[8] = {pfc.time0, pfc.time1, pfc.time2, pfc.time3,
			       pfc.time4, pfc.time5, pfc.time6, pfc.time7};

	/* The upper half of the vector is reserved; a time counts only beside its bit. */
	pause->classes = (uint8_t)pfc.enable;
	for (unsigned i = 0; i < 8; i++)
		pause->quanta[i] = pause->classes >> i & 1 ? t[i] : 0;
	return true;
}
