/* News of the interfaces of a device, from the kernel. */
#include "nic/inside.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Whether the name in a link's message is that of a port: one that was made anew has another
 * number.
 */
static bool is_port_name(const struct nic_info *info, const struct nlmsghdr *h)
{
	const uint8_t *bytes = (const uint8_t *)h;
	struct rtattr a;

	for (size_t at = NLMSG_SPACE(sizeof(struct ifinfomsg)); at + sizeof a <= h->nlmsg_len;
	     at += RTA_ALIGN(a.rta_len)) {
		memcpy(&a, bytes + at, sizeof a);
		if (a.rta_len < sizeof a || at + a.rta_len > h->nlmsg_len)
			return false;
		if (a.rta_type != IFLA_IFNAME)
			continue;
		for (uint32_t i = 0; i < info->setup.n_ports; i++) {
			size_t len = strlen(info->setup.interfaces[i]) + 1;

			if (a.rta_len >= sizeof a + len &&
			    !memcmp(bytes + at + sizeof a, info->setup.interfaces[i], len))
				return true;
		}
		return false;
	}
	return false;
}

static bool is_port(const struct nic_info *info, uint32_t ifindex)
{
	for (uint32_t i = 0; i < info->n_ports; i++) {
		if (ifindex && info->ports[i].ifindex == ifindex)
			return true;
	}
	return false;
}

static bool is_news(const struct nic_info *info, const struct nlmsghdr *h)
{
	struct ifinfomsg link;
	struct ifaddrmsg address;

	switch (h->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		if (h->nlmsg_len < NLMSG_LENGTH(sizeof link))
			return false;
		memcpy(&link, (const uint8_t *)h + NLMSG_HDRLEN, sizeof link);
		return is_port(info, (uint32_t)link.ifi_index) || is_port_name(info, h);
	case RTM_NEWADDR:
	case RTM_DELADDR:
		if (h->nlmsg_len < NLMSG_LENGTH(sizeof address))
			return false;
		memcpy(&address, (const uint8_t *)h + NLMSG_HDRLEN, sizeof address);
		/* Addresses beside those of its ports may be anywhere. */
		return is_port(info, address.ifa_index) || info->setup.has_lo ||
		       info->setup.n_addresses;
	default: return false;
	}
}

bool watch_has_news(int fd, const struct nic_info *info)
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
			has_news |= is_news(info, h);
	}
	return has_news;
}
