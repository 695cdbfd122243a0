#include "wire/foreign.h"

/* More headers than any honest packet stacks. */
#define HEADERS_MAX 16u

/* Protocol numbers that only this walk knows: the IPv6 extension headers. */
enum { HOP_BY_HOP = 0, FRAGMENT = 44, AUTHENTICATION = 51, DESTINATION = 60, MOBILITY = 135 };
enum { HIP = 139, SHIM6 = 140 };

/* A later fragment has no UDP header to look at: what it belongs to was told by the first. */
static bool is_later_fragment(const uint8_t *p, unsigned protocol)
{
	if (protocol == IPPROTO_IPV4_IN)
		return (get_be16(p + 6) & 0x1fff) != 0;
	return protocol == FRAGMENT && get_be16(p + 2) >> 3 != 0;
}

/* How many bytes of a header must be seen to pass it; 0 for a protocol that is no such header. */
static uint32_t bytes_to_see(unsigned protocol)
{
	switch (protocol) {
	case IPPROTO_IPV4_IN: return ipv4_bytes;
	case IPPROTO_IPV6_IN: return ipv6_bytes;
	case HOP_BY_HOP:
	case IPPROTO_ROUTING_IN:
	case DESTINATION:
	case MOBILITY:
	case HIP:
	case SHIM6:
	case FRAGMENT:
	case AUTHENTICATION: return 8;
	default: return 0;
	}
}

/* Its length, and the protocol it announces. */
static uint32_t header_length(const uint8_t *p, unsigned protocol, unsigned *next)
{
	switch (protocol) {
	case IPPROTO_IPV4_IN: *next = p[9]; return (p[0] & 15) < 5 ? ipv4_bytes : 4u * (p[0] & 15);
	case IPPROTO_IPV6_IN: *next = p[6]; return ipv6_bytes;
	case FRAGMENT: *next = p[0]; return 8;
	case AUTHENTICATION: *next = p[0]; return 4u * (p[1] + 2u);
	default: *next = p[0]; return 8u + 8u * p[1];
	}
}

static struct wire_fault udp_fault(struct cursor c, const struct net_cfg *cfg)
{
	const uint8_t *p = peek(&c, 4);

	if (!p || carrier_of_udp(&cfg->carriers, get_be16(p + 2)))
		return no_fault();
	return fault_at(WIRE_DROP_NOT_ROCE, c.at + 2, udp_layout());
}

struct wire_fault foreign_fault(struct cursor c, uint8_t version, const struct net_cfg *cfg)
{
	unsigned protocol = version == 4 ? IPPROTO_IPV4_IN : IPPROTO_IPV6_IN;

	for (unsigned n = 0; n < HEADERS_MAX; n++) {
		uint32_t see = bytes_to_see(protocol);

		if (protocol == IPPROTO_UDP_IN)
			return udp_fault(c, cfg);
		if (see == 0 && carrier_of_ip(&cfg->carriers, (uint8_t)protocol))
			return no_fault();
		if (see == 0)
			return fault_at(WIRE_DROP_NOT_UDP, c.at, NULL);
		const uint8_t *p = peek(&c, see);

		if (!p)
			return no_fault();
		if (is_later_fragment(p, protocol))
			return fault_at(WIRE_DROP_NOT_UDP, c.at, NULL);
		if (!take(&c, header_length(p, protocol, &protocol)))
			return no_fault();
	}
	return no_fault();
}

struct wire_fault foreign_vlan_fault(struct cursor c, const struct net_cfg *cfg)
{
	struct wire_fault deep = fault_at(WIRE_DROP_VLAN_DEPTH, c.at, vlan_layout());
	struct vlan vlan;

	do {
		const uint8_t *p = take(&c, vlan_bytes);

		if (!p)
			return deep;
		vlan_get(p, &vlan);
	} while (vlan.type == ETHERTYPE_VLAN || vlan.type == ETHERTYPE_QINQ);
	if (vlan.type != ETHERTYPE_IPV4 && vlan.type != ETHERTYPE_IPV6)
		return fault_at(WIRE_DROP_NOT_IP, c.at, NULL);
	struct wire_fault foreign = foreign_fault(c, vlan.type == ETHERTYPE_IPV4 ? 4 : 6, cfg);

	return foreign.why != WIRE_DROP_NONE ? foreign : deep;
}
