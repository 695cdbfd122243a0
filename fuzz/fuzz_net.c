/* Frames down to UDP, both link types, with and without trimming: what net_get accepts lies inside
 * the frame, and so does every fault and every header of the trail. */
#include "fuzz.h"

#include "catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct net_cfg plain = {NET_ROCE_PORT, NET_DSCP_NONE, NET_DSCP_NONE};
	const struct net_cfg trims = catalog_cfg();
	struct cspan frame = {data, (uint32_t)size};

	for (unsigned k = 0; k < 4; k++) {
		struct net_pkt pkt;
		struct wire_trail trail = {.n = 0};
		struct wire_fault fault = net_get(frame, k & 1 ? NET_LINK_IP : NET_LINK_ETHERNET,
						  k & 2 ? &trims : &plain, &pkt, &trail);

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
