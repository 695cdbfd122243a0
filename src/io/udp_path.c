#include "io/udp_inside.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

/* The kernel's word on the path: the interface's MTU, or less when a router said so. Connecting a
 * socket sends nothing, it only looks up the route. */
static int path_mtu(struct udp_driver *u, const struct udp_local *l, const struct udp_peer *p)
{
	bool is_v4 = l->addr.family == AF_INET;
	union udp_name name;
	socklen_t name_len = udp_name_of(&l->addr, 0, &name), len;
	int fd = udp_socket(u, l->addr.family), mtu = 0, result = 0;

	if (fd < 0)
		return -errno;
	len = sizeof mtu;
	if (bind(fd, &name.any, name_len) || connect(fd, &p->name.any, name_len) ||
	    getsockopt(fd, is_v4 ? IPPROTO_IP : IPPROTO_IPV6, is_v4 ? IP_MTU : IPV6_MTU, &mtu,
		       &len))
		result = -errno;
	close(fd);
	return result ? result : mtu;
}

uint16_t udp_pmtu(struct driver *d, uint32_t local, uint32_t peer, char *error, size_t error_len)
{
	struct udp_driver *u = udp_of(d);
	const struct udp_local *l = &u->locals[local];
	const struct udp_peer *p = &u->peers[peer];
	char from[UDP_ADDR_TEXT], to[UDP_ADDR_TEXT];
	uint32_t ip_len, around, least, most;
	uint16_t pmtu;
	int mtu;

	assert(local < u->cfg.max_locals && l->refs && peer < u->fresh_peer && p->is_used);
	udp_addr_text(&l->addr, from);
	udp_addr_text(&p->addr, to);
	if (l->addr.family != p->addr.family) {
		say(0, error, error_len,
		    "%s and %s are not of one kind: use two IPv4 or two "
		    "IPv6 addresses",
		    from, to);
		return 0;
	}
	mtu = path_mtu(u, l, p);
	if (mtu < 0) {
		say(0, error, error_len,
		    "no route from %s to %s (%s): see `ip route get %s from %s`", from, to,
		    strerror(-mtu), to, from);
		return 0;
	}
	/* The largest header of all operations, so that one PMTU serves every one of them. */
	ip_len = l->addr.family == AF_INET ? UDP_IPV4_BYTES : UDP_IPV6_BYTES;
	around = ip_len + UDP_HEADER_BYTES + carrier_around_bytes(u->carrier);
	pmtu = carrier_payload(u->carrier, (uint32_t)mtu < around ? 0 : (uint32_t)mtu - around);
	if (pmtu)
		return pmtu;
	least = carrier_payload_least(u->carrier);
	most = u->carrier->payload_max;
	say(0, error, error_len,
	    "the path from %s to %s takes packets of %d bytes, and the smallest PMTU, %u, "
	    "needs "
	    "%u: raise the MTU of the interface (%u needs %u)",
	    from, to, mtu, least, least + around, most, most + around);
	return 0;
}
