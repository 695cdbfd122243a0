/* The interfaces of this machine as devices, and news of them. */
#include "nic/inside.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LIST_MOST 4096u /* interfaces with addresses: a bound for a broken system's sake */

struct scan {
	struct nic_info *list;
	uint32_t n;
};

/* The entry of an interface, made if need be; NULL: no memory, or it went away meanwhile. The name
 * of an IPv4 address may be a label: the interface's, a colon, and more (ip-address(8)). */
static struct nic_info *scan_entry(struct scan *s, const char *name)
{
	char interface[IF_NAMESIZE] = "";
	struct nic_info *list;

	memcpy(interface, name, strnlen(name, IF_NAMESIZE - 1));
	interface[strcspn(interface, ":")] = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		if (!strcmp(s->list[i].interface, interface))
			return &s->list[i];
	}
	uint32_t ifindex = if_nametoindex(interface);

	if (!ifindex || s->n == LIST_MOST)
		return NULL;
	list = realloc(s->list, (s->n + 1) * sizeof *list);
	if (!list)
		return NULL;
	s->list = list;
	list[s->n] = (struct nic_info){.ifindex = ifindex};
	memcpy(list[s->n].interface, interface, sizeof interface);
	return &s->list[s->n++];
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

/* IPv4 first, then IPv6, then those of one link only: what works in most places comes first. */
static int gid_rank(const struct nic_gid *gid)
{
	if (gid->address.ss_family == AF_INET)
		return 0;
	return gid_is_of_link(gid->raw) ? 2 : 1;
}

static void gid_insert(struct nic_info *info, const struct nic_gid *gid)
{
	uint32_t at = info->n_gids;

	if (at == NIC_GIDS_MAX)
		return;
	for (; at && gid_rank(&info->gids[at - 1]) > gid_rank(gid); at--)
		info->gids[at] = info->gids[at - 1];
	info->gids[at] = *gid;
	info->n_gids++;
}

static void scan_address(struct scan *s, const struct ifaddrs *a)
{
	struct nic_info *info = scan_entry(s, a->ifa_name);
	struct sockaddr_ll ll;
	struct nic_gid gid;

	if (!info)
		return;
	info->is_up = (a->ifa_flags & IFF_UP) && (a->ifa_flags & IFF_RUNNING);
	if (a->ifa_addr->sa_family == AF_PACKET) {
		memcpy(&ll, a->ifa_addr, sizeof ll);
		info->guid = guid_of(ll.sll_halen == 6 ? ll.sll_addr : NULL, info->ifindex);
		return;
	}
	gid_from(&gid, a->ifa_addr);
	gid_insert(info, &gid);
}

static void scan_mtu(struct nic_info *info, int fd)
{
	struct ifreq request = {0};

	memcpy(request.ifr_name, info->interface, sizeof info->interface);
	if (!ioctl(fd, SIOCGIFMTU, &request) && request.ifr_mtu > 0)
		info->mtu = (uint32_t)request.ifr_mtu;
	if (!info->guid)
		info->guid = guid_of(NULL, info->ifindex);
}

static int by_ifindex(const void *left, const void *right)
{
	const struct nic_info *a = left, *b = right;

	return (a->ifindex > b->ifindex) - (a->ifindex < b->ifindex);
}

/* All interfaces with an address, by number. */
static int scan(struct scan *s)
{
	struct ifaddrs *all;
	uint32_t n = 0;

	*s = (struct scan){0};
	if (getifaddrs(&all))
		return nic_fail(errno, "no list of addresses: %s", strerror(errno));
	for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
		int family = a->ifa_addr ? a->ifa_addr->sa_family : AF_UNSPEC;

		if (family == AF_INET || family == AF_INET6 || family == AF_PACKET)
			scan_address(s, a);
	}
	freeifaddrs(all);
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->list[i].n_gids)
			s->list[n++] = s->list[i];
	}
	s->n = n;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (uint32_t i = 0; i < n && fd >= 0; i++)
		scan_mtu(&s->list[i], fd);
	if (fd >= 0)
		close(fd);
	if (n)
		qsort(s->list, n, sizeof *s->list, by_ifindex);
	return 0;
}

/* The entries that names lists, in its order, to the front. */
static int select_named(struct scan *s, const char *names)
{
	uint32_t n = 0;

	for (const char *at = names; *at;) {
		size_t len = strcspn(at, ",");
		uint32_t i = n;

		while (i < s->n && (strlen(s->list[i].interface) != len ||
				    memcmp(s->list[i].interface, at, len) != 0))
			i++;
		if (len && i == s->n)
			return nic_fail(ENODEV,
					"WEFT_INTERFACES: no interface %.*s that has an address, "
					"or it stands there twice",
					(int)len, at);
		if (len) {
			struct nic_info found = s->list[i];

			memmove(&s->list[n + 1], &s->list[n], (i - n) * sizeof *s->list);
			s->list[n++] = found;
		}
		at += len + (at[len] == ',');
	}
	s->n = n;
	return 0;
}

int nic_list(struct nic_info **list)
{
	const char *names = getenv("WEFT_INTERFACES");
	struct scan s;
	int r = scan(&s);

	if (!r && names)
		r = select_named(&s, names);
	if (r) {
		free(s.list);
		return r;
	}
	for (uint32_t i = 0; i < s.n; i++)
		snprintf(s.list[i].name, sizeof s.list[i].name, "weft_rc%u", i);
	*list = s.list;
	return (int)s.n;
}

static bool has_gid(const struct nic_info *info, const struct nic_gid *gid)
{
	for (uint32_t i = 0; i < info->n_gids; i++) {
		if (!memcmp(&info->gids[i], gid, sizeof *gid))
			return true;
	}
	return false;
}

/* Addresses keep their places, as in the table of a RoCE NIC: programs know them by number. Those
 * that are gone leave an empty place, new ones take the first. */
static void renew_gids(struct nic_info *info, const struct nic_info *fresh)
{
	static const struct nic_gid none;

	for (uint32_t i = 0; i < info->n_gids; i++) {
		if (!has_gid(fresh, &info->gids[i]))
			info->gids[i] = none;
	}
	for (uint32_t i = 0, at = 0; i < fresh->n_gids; i++) {
		if (has_gid(info, &fresh->gids[i]))
			continue;
		while (at < NIC_GIDS_MAX && info->gids[at].address.ss_family != AF_UNSPEC)
			at++;
		if (at == NIC_GIDS_MAX)
			break;
		info->gids[at] = fresh->gids[i];
		if (at == info->n_gids)
			info->n_gids++;
	}
	while (info->n_gids && info->gids[info->n_gids - 1].address.ss_family == AF_UNSPEC)
		info->n_gids--;
}

int nic_info_refresh(struct nic_info *info)
{
	struct scan s = {0};
	uint32_t i = 0;
	int r = scan(&s);

	while (!r && i < s.n && s.list[i].ifindex != info->ifindex)
		i++;
	if (!r && i == s.n)
		r = nic_fail(ENODEV, "%s: %s is gone, or has no address", info->name,
			     info->interface);
	if (!r && s.list) {
		info->mtu = s.list[i].mtu;
		info->guid = s.list[i].guid;
		info->is_up = s.list[i].is_up;
		memcpy(info->interface, s.list[i].interface, sizeof info->interface);
		renew_gids(info, &s.list[i]);
	}
	free(s.list);
	return r;
}

int watch_open(void)
{
	const struct sockaddr_nl address = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0)
		return -1;
	if (!bind(fd, (const struct sockaddr *)&address, sizeof address))
		return fd;
	close(fd);
	return -1;
}

/* The interface that a message is about; 0: none. */
static uint32_t message_ifindex(const struct nlmsghdr *h)
{
	struct ifinfomsg link;
	struct ifaddrmsg address;

	switch (h->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		if (h->nlmsg_len < NLMSG_LENGTH(sizeof link))
			return 0;
		memcpy(&link, (const uint8_t *)h + NLMSG_HDRLEN, sizeof link);
		return (uint32_t)link.ifi_index;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		if (h->nlmsg_len < NLMSG_LENGTH(sizeof address))
			return 0;
		memcpy(&address, (const uint8_t *)h + NLMSG_HDRLEN, sizeof address);
		return address.ifa_index;
	default: return 0;
	}
}

bool watch_has_news(int fd, uint32_t ifindex)
{
	union {
		struct nlmsghdr first;
		char bytes[8192];
	} buffer;
	bool has_news = false;

	/* A bound on one visit; what is left makes the descriptor readable again. */
	for (int i = 0; i < 64; i++) {
		ssize_t n = recv(fd, &buffer, sizeof buffer, 0);

		/* ENOBUFS: messages were lost, so anything may have changed (netlink(7)). */
		if (n < 0 && errno == ENOBUFS)
			has_news = true;
		else if (n <= 0)
			break;
		struct nlmsghdr *h = &buffer.first;

		for (uint32_t left = n > 0 ? (uint32_t)n : 0; NLMSG_OK(h, left);
		     h = NLMSG_NEXT(h, left))
			has_news |= message_ifindex(h) == ifindex;
	}
	return has_news;
}
