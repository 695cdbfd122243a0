#include <errno.h>
#include <weft/weft.h>

#include "wire/packet.h"

const char *weft_version(void)
{
	return WEFT_VERSION;
}

int weft_check_frame(const void *frame, size_t len, struct weft_verdict *out)
{
	struct net_cfg cfg = net_cfg_default();
	struct wire_packet pkt;

	if (!frame || !out || len > UINT32_MAX)
		return -EINVAL;
	struct cspan bytes = {frame, (uint32_t)len};
	struct wire_fault fault = wire_packet_get(bytes, NET_LINK_ETHERNET, &cfg, &pkt, NULL);
	struct cspan payload = wire_packet_payload(&pkt);
	bool has_icrc = pkt.has_crc && pkt.seal == &seal_icrc;

	*out = (struct weft_verdict){
		.packet_name = wire_packet_name(&pkt),
		.fault_name = wire_drop_name(fault.why),
		.fault_text = wire_drop_text(fault.why),
		.fault_header = fault.in ? fault.in->name : NULL,
		.fault_at = fault.at,
		.payload_at = payload.at ? (uint32_t)(payload.at - bytes.at) : 0,
		.payload_len = payload.len,
		.icrc_carried = has_icrc ? pkt.crc : 0,
		.icrc_right = has_icrc ? pkt.crc_right : 0,
	};
	if (fault.why == WIRE_DROP_NONE)
		return 0;
	return wire_drop_is_foreign(fault.why) ? 1 : -EBADMSG;
}

/* The first byte of an IPv4 header of 20 bytes. */
#define IPV4_NO_OPTIONS 0x45

int weft_icrc(const void *ip_packet, size_t len, uint32_t *icrc)
{
	const uint8_t *ip = ip_packet;
	uint8_t protocol;

	if (!ip || !icrc || len < ipv4_bytes || len > UINT32_MAX)
		return -EINVAL;
	bool is_v4 = ip[0] == IPV4_NO_OPTIONS;

	if (!is_v4 && ip[0] >> 4 != 6)
		return -EINVAL;
	protocol = is_v4 ? ip[9] : ip[6];
	if (protocol != IPPROTO_UDP_IN || len < seal_least(&seal_icrc, is_v4))
		return -EINVAL;
	*icrc = seal_sum(&seal_icrc, &(struct cspan){ip, (uint32_t)len}, 1);
	return 0;
}
