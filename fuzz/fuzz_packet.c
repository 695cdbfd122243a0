/* Whole packets. A right ICRC is out of a fuzzer's reach, so a packet that is whole but for it must
 * be accepted once the ICRC is made right; every header of the trail prints. */
#include "fuzz.h"

#include "catalog.h"
#include "wire/icrc.h"

static void print_trail(const struct wire_trail *trail, struct cspan frame)
{
	uint8_t h[256], text[64];

	for (uint32_t i = 0; i < trail->n; i++) {
		const struct wire_layout *l = trail->layer[i].layout;

		l->get(frame.at + trail->layer[i].at, h);
		must(wire_print(l, h, (struct span){text, sizeof text}) > 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t copy[4096];
	const struct net_cfg cfg = catalog_cfg();
	struct cspan frame = {data, (uint32_t)size};
	struct wire_packet pkt;
	struct wire_trail trail;
	struct wire_fault fault = wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, &trail);

	fuzz_check_fault(&fault, frame);
	fuzz_check_trail(&trail, frame);
	print_trail(&trail, frame);
	if (fault.why == WIRE_DROP_NONE)
		must(!pkt.has_crc || pkt.crc == pkt.crc_right);
	if (fault.why != WIRE_DROP_ICRC || size > sizeof copy)
		return 0;
	memcpy(copy, data, size);
	icrc_put(copy + pkt.seal_at, pkt.crc_right);
	frame.at = copy;
	must(wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, NULL).why == WIRE_DROP_NONE);
	return 0;
}
