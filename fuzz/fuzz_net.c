/* Frames down to UDP, from every kind of start, with and without trimming: what net_get accepts
 * lies inside the frame, and so does every fault and every header of the trail. */
#include "fuzz.h"

#include "catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t starts[] = {NET_LINK_ETHERNET, NET_LINK_IP, ETHERTYPE_VLAN,
					  ETHERTYPE_IPV6};
	const struct net_cfg trims = catalog_cfg(), plain = net_cfg_default();
	struct cspan frame = {data, (uint32_t)size};

	for (unsigned k = 0; k < 8; k++) {
		struct net_pkt pkt;
		struct wire_trail trail = {.n = 0};
		struct wire_fault fault =
			net_get(frame, starts[k / 2], k & 1 ? &trims : &plain, &pkt, &trail);

		fuzz_check_fault(&fault, frame);
		fuzz_check_trail(&trail, frame);
		if (fault.why != WIRE_DROP_NONE)
			continue;
		must(pkt.n_ip >= 1 && pkt.n_ip <= 2);
		must(pkt.udp_at + udp_bytes == pkt.transport);
		must(pkt.transport <= pkt.end && pkt.end <= frame.len);
		must(pkt.ip[0].at < pkt.udp_at && net_ip(&pkt)->at < pkt.udp_at);
		net_entropy(&pkt);
	}
	return 0;
}
