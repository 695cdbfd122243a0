#include "nic/links.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINKS_MOST 4096u /* a bound for a broken system's sake */

/* The entry of an interface, made if need be; NULL: no memory, or it went away meanwhile. The name
 * of an IPv4 address may be a label: the interface's, a colon, and more (ip-address(8)). */
static struct link *link_entry(struct links *s, const char *name)
{
	char interface[IF_NAMESIZE] = "";
	struct link *links;

	memcpy(interface, name, strnlen(name, IF_NAMESIZE - 1));
	interface[strcspn(interface, ":")] = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		if (!strcmp(s->at[i].port.interface, interface))
			return &s->at[i];
	}
	uint32_t ifindex = if_nametoindex(interface);

	if (!ifindex || s->n == LINKS_MOST)
		return NULL;
	links = realloc(s->at, (s->n + 1) * sizeof *links);
	if (!links)
		return NULL;
	s->at = links;
	links[s->n] = (struct link){.port.ifindex = ifindex};
	memcpy(links[s->n].port.interface, interface, sizeof interface);
	return &s->at[s->n++];
}

/* EUI-64 from EUI-48, as IPv6 does (RFC 4291, appendix A). Who has no such address gets one of
 * local meaning, from its number. */
static uint64_t guid_of(const uint8_t *mac, uint32_t ifindex)
{
	static const uint8_t none[6];
	uint8_t bytes[8] = {2, 0, 0, 0xff, 0xfe, 0, (uint8_t)(ifindex >> 8), (uint8_t)ifindex};
	uint64_t guid;

	if (mac && memcmp(mac, none, sizeof none) != 0) {
		memcpy(bytes, mac, 3);
		memcpy(bytes + 5, mac + 3, 3);
		bytes[0] ^= 2;
	}
	memcpy(&guid, bytes, sizeof guid);
	return guid;
}

static void gid_from(struct nic_gid *gid, const struct sockaddr *address)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	memset(gid, 0, sizeof *gid);
	if (address->sa_family == AF_INET) {
		memcpy(&in, address, sizeof in);
		in.sin_port = 0;
		memcpy(gid->raw, v4, sizeof v4);
		memcpy(gid->raw + sizeof v4, &in.sin_addr, 4);
		memcpy(&gid->address, &in, sizeof in);
	} else {
		memcpy(&in6, address, sizeof in6);
		in6.sin6_port = 0;
		in6.sin6_flowinfo = 0;
		memcpy(gid->raw, &in6.sin6_addr, 16);
		memcpy(&gid->address, &in6, sizeof in6);
	}
}

/* The kernel lists the newest address of IPv6 first, and that of IPv4 last. Here the oldest comes
 * first, so that those which are there keep their order, and their GIDs, in processes to come. */
static void link_gid(struct link *link, const struct sockaddr *address)
{
	uint32_t at = link->n_gids;

	if (at == NIC_GIDS_MAX)
		return;
	while (address->sa_family == AF_INET6 && at &&
	       link->gids[at - 1].address.ss_family == AF_INET6)
		at--;
	memmove(&link->gids[at + 1], &link->gids[at], (link->n_gids - at) * sizeof link->gids[0]);
	gid_from(&link->gids[at], address);
	link->n_gids++;
}

static void link_address(struct links *s, const struct ifaddrs *a)
{
	struct link *link = link_entry(s, a->ifa_name);
	struct sockaddr_ll ll;

	if (!link)
		return;
	link->port.is_up = (a->ifa_flags & IFF_UP) && (a->ifa_flags & IFF_RUNNING);
	if (a->ifa_addr->sa_family == AF_PACKET) {
		memcpy(&ll, a->ifa_addr, sizeof ll);
		link->guid = guid_of(ll.sll_halen == 6 ? ll.sll_addr : NULL, link->port.ifindex);
	} else {
		link_gid(link, a->ifa_addr);
	}
}

/* Megabits per second; interfaces that have no such thing say -1, 0 or nothing. */
static uint64_t speed_of(const char *interface, int fd)
{
	struct ethtool_cmd settings = {.cmd = ETHTOOL_GSET};
	struct ifreq request = {0};

	memcpy(request.ifr_name, interface, IF_NAMESIZE);
	request.ifr_data = (void *)&settings;
	if (ioctl(fd, SIOCETHTOOL, &request))
		return 0;
	uint32_t speed = (uint32_t)settings.speed_hi << 16 | settings.speed;

	return speed == (uint32_t)SPEED_UNKNOWN ? 0 : speed * UINT64_C(1000000);
}

static void link_more(struct link *link, int fd)
{
	struct ifreq request = {0};

	memcpy(request.ifr_name, link->port.interface, sizeof link->port.interface);
	if (!ioctl(fd, SIOCGIFMTU, &request) && request.ifr_mtu > 0)
		link->port.mtu = (uint32_t)request.ifr_mtu;
	link->port.speed_bps = speed_of(link->port.interface, fd);
	if (!link->guid)
		link->guid = guid_of(NULL, link->port.ifindex);
}

static int by_ifindex(const void *left, const void *right)
{
	const struct link *a = left, *b = right;

	return (a->port.ifindex > b->port.ifindex) - (a->port.ifindex < b->port.ifindex);
}

int links_find(struct links *s)
{
	struct ifaddrs *all;

	*s = (struct links){0};
	if (getifaddrs(&all))
		return nic_fail(errno, "no list of addresses: %s", strerror(errno));
	for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
		int family = a->ifa_addr ? a->ifa_addr->sa_family : AF_UNSPEC;

		if (family == AF_INET || family == AF_INET6 || family == AF_PACKET)
			link_address(s, a);
	}
	freeifaddrs(all);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (uint32_t i = 0; i < s->n && fd >= 0; i++)
		link_more(&s->at[i], fd);
	if (fd >= 0)
		close(fd);
	if (s->n)
		qsort(s->at, s->n, sizeof *s->at, by_ifindex);
	return 0;
}

const struct link *link_named(const struct links *s, const char *name, size_t len)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const char *interface = s->at[i].port.interface;

		if (strlen(interface) == len && !memcmp(interface, name, len))
			return &s->at[i];
	}
	return NULL;
}
