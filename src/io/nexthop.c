#include "io/nexthop.h"

#include <assert.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/say.h"

enum {
	ROUTES = 1 << 18,
	NEIGHBOURS = 1 << 17,
	NEWS_AT_ONCE = 64,   /* messages read by one step */
	ASKED_AT_ONCE = 64,  /* routes, and neighbours, asked for by one step */
	LOOKED_AT_ONCE = 64, /* neighbours that one step looks at for other reasons */
	GOOD_STATES = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP,
};

/* Between two questions for what does not answer, or for what is in use. */
#define AGAIN_NS UINT64_C(1000000000)

static const uint32_t groups = RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE |
			       RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;

void nexthops_change(struct nexthops *n)
{
	if (++n->gen == 0)
		n->gen = 1;
}

/* Routes may lead elsewhere; each is asked for anew when it is next needed. */
static void routes_change(struct nexthops *n)
{
	if (++n->routes_gen == 0)
		n->routes_gen = 1;
	nexthops_change(n);
}

/* Queues are linked by place + 1, 0 ends them. */
static void queue_route(struct nexthops *n, uint32_t place)
{
	struct nexthop_route *r = &n->routes[place];
	struct nexthop_queue *q = &n->route_queue;

	if (r->is_queued)
		return;
	r->is_queued = true;
	r->next = 0;
	if (q->last)
		n->routes[q->last - 1].next = place + 1;
	else
		q->first = place + 1;
	q->last = place + 1;
}

static void queue_neighbour(struct nexthops *n, uint32_t place)
{
	struct nexthop_neighbour *b = &n->neighbours[place];
	struct nexthop_queue *q = &n->neighbour_queue;

	if (b->is_queued)
		return;
	b->is_queued = true;
	b->next = 0;
	if (q->last)
		n->neighbours[q->last - 1].next = place + 1;
	else
		q->first = place + 1;
	q->last = place + 1;
}

static const struct nexthop_port *port_of(const struct nexthops *n, const struct addr *a)
{
	return &n->ports[a->where - 1];
}

/* What the kernel says of a neighbour: valid with its MAC, or not. */
static void set_neighbour(struct nexthop_neighbour *b, const uint8_t *mac, uint32_t state)
{
	b->is_static = mac && (state & (NUD_PERMANENT | NUD_NOARP));
	if (b->is_known == (mac != NULL) && (!mac || !memcmp(b->mac, mac, sizeof b->mac)))
		return;
	b->is_known = mac != NULL;
	if (mac)
		memcpy(b->mac, mac, sizeof b->mac);
	b->gen++;
}

/* Reads a message about a neighbour; a deleted one is not valid. */
static void read_neighbour(struct nexthops *n, const struct nlmsghdr *h)
{
	struct addr a = {0};
	struct ndmsg nd;
	uint32_t len, mac_len, place;
	const uint8_t *dst, *mac;

	if (!netlink_fixed(h, &nd, sizeof nd) || (nd.ndm_flags & NTF_PROXY))
		return;
	dst = netlink_get(h, sizeof nd, NDA_DST, &len);
	if (!dst || len != (nd.ndm_family == AF_INET ? 4 : 16))
		return;
	a.family = nd.ndm_family;
	memcpy(a.ip, dst, len);
	mac = netlink_get(h, sizeof nd, NDA_LLADDR, &mac_len);
	if (mac && (mac_len != 6 || h->nlmsg_type == RTM_DELNEIGH || !(nd.ndm_state & GOOD_STATES)))
		mac = NULL;
	for (uint32_t i = 0; i < n->n_ports; i++) {
		if (n->ports[i].port.ifindex != (uint32_t)nd.ndm_ifindex)
			continue;
		a.where = i + 1;
		place = addrs_find(&n->neighbour_addrs, &a);
		if (place == ADDRS_NONE)
			continue;
		set_neighbour(&n->neighbours[place], mac, nd.ndm_state);
		/* Somebody cleared the table: who is still needed is asked for at once. */
		if (h->nlmsg_type == RTM_DELNEIGH)
			queue_neighbour(n, place);
	}
}

static void begin_neighbour(const struct nexthops *n, const struct addr *a, uint16_t type,
			    struct netlink_message *m)
{
	bool is_use = type == RTM_NEWNEIGH;
	struct ndmsg nd = {
		.ndm_family = (uint8_t)a->family,
		.ndm_ifindex = (int)port_of(n, a)->port.ifindex,
		.ndm_flags = is_use ? NTF_USE : 0,
	};

	netlink_begin(m, type, is_use ? NLM_F_CREATE | NLM_F_ACK : 0, &nd, sizeof nd);
	netlink_put(m, NDA_DST, a->ip, a->family == AF_INET ? 4 : 16);
}

/* An answer that was not had, and so says nothing. */
static bool is_passing(int result)
{
	return result == -EAGAIN || result == -ENOBUFS || result == -ENOMEM || result == -EINTR;
}

/* Finds out what the kernel knows of a neighbour. Where that is nothing, or packets go there, it is
 * told that the neighbour is in use, which makes it resolve or verify it as for packets of its own.
 * One that an administrator set would lose that by it. */
static void ask_neighbour(struct nexthops *n, uint32_t place, nsec now)
{
	struct nexthop_neighbour *b = &n->neighbours[place];
	const struct addr *a = addrs_at(&n->neighbour_addrs, place);
	struct netlink_message *m = &n->message;
	int result;

	if (a->family == AF_UNSPEC || !port_of(n, a)->port.ifindex)
		return;
	begin_neighbour(n, a, RTM_GETNEIGH, m);
	result = netlink_ask(n->ask_fd, m);
	/* What was known stays, and is asked for again soon. */
	if (is_passing(result))
		return;
	b->asked_at = now;
	if (result == 0 && m->head.nlmsg_type == RTM_NEWNEIGH)
		read_neighbour(n, &m->head);
	else
		set_neighbour(b, NULL, 0);
	if (b->is_static || (b->is_known && !b->is_used))
		return;
	b->is_used = false;
	begin_neighbour(n, a, RTM_NEWNEIGH, m);
	netlink_ask(n->ask_fd, m);
}

static uint32_t neighbour_get(struct nexthops *n, const struct addr *a)
{
	uint32_t place = addrs_find(&n->neighbour_addrs, a);
	struct nexthop_neighbour *b;

	if (place == ADDRS_NONE) {
		place = addrs_add(&n->neighbour_addrs, a);
		if (place == ADDRS_NONE)
			return NEXTHOP_NONE;
		b = &n->neighbours[place];
		/* A place may still stand in the queue from its last owner. */
		b->gen++;
		b->is_known = b->is_static = a->family == AF_UNSPEC;
		b->is_used = false;
		b->asked_at = 0;
		memset(b->mac, 0, sizeof b->mac);
	}
	n->neighbours[place].refs++;
	return place;
}

static void neighbour_put(struct nexthops *n, uint32_t place)
{
	if (place == NEXTHOP_NONE || --n->neighbours[place].refs > 0)
		return;
	n->neighbours[place].gen++;
	addrs_remove(&n->neighbour_addrs, place);
}

/* The address that the kernel would hand a packet on this route to; false: there is none here. */
static bool read_route(const struct nlmsghdr *h, uint32_t ifindex, struct addr *hop, uint32_t *mtu)
{
	struct rtmsg rt;
	uint32_t len;
	const uint8_t *at;

	if (h->nlmsg_type != RTM_NEWROUTE || !netlink_fixed(h, &rt, sizeof rt) ||
	    rt.rtm_type != RTN_UNICAST || netlink_get_u32(h, sizeof rt, RTA_OIF, 0) != ifindex)
		return false;
	at = netlink_get(h, sizeof rt, RTA_METRICS, &len);
	if (at)
		at = netlink_find(at, len, RTAX_MTU, &len);
	if (at && len == sizeof *mtu)
		memcpy(mtu, at, sizeof *mtu);
	at = netlink_get(h, sizeof rt, RTA_GATEWAY, &len);
	if (at && len == (rt.rtm_family == AF_INET ? 4 : 16)) {
		memset(hop->ip, 0, sizeof hop->ip);
		memcpy(hop->ip, at, len);
		return true;
	}
	/* IPv4 by a gateway of IPv6 (RFC 5549). */
	at = netlink_get(h, sizeof rt, RTA_VIA, &len);
	if (at && len == sizeof(uint16_t) + 16) {
		uint16_t family;

		memcpy(&family, at, sizeof family);
		hop->family = family;
		memcpy(hop->ip, at + sizeof family, 16);
		return family == AF_INET6;
	}
	return !at;
}

/* Asks the kernel for the next hop: its address to *hop. 0 or a negative errno. */
static int look_up(struct nexthops *n, const struct addr *to, struct addr *hop, uint32_t *mtu)
{
	const struct nexthop_port *p = port_of(n, to);
	struct netlink_message *m = &n->message;
	struct rtmsg rt = {
		.rtm_family = (uint8_t)to->family,
		.rtm_dst_len = to->family == AF_INET ? 32 : 128,
	};
	int result;

	*hop = *to;
	*mtu = 0;
	if (!p->port.ifindex)
		return -ENODEV;
	if (!p->is_loopback) {
		netlink_begin(m, RTM_GETROUTE, 0, &rt, sizeof rt);
		netlink_put(m, RTA_DST, to->ip, rt.rtm_dst_len / 8);
		netlink_put(m, RTA_OIF, &p->port.ifindex, sizeof p->port.ifindex);
		result = netlink_ask(n->ask_fd, m);
		if (result)
			return result;
		if (!read_route(&m->head, p->port.ifindex, hop, mtu))
			return -EHOSTUNREACH;
	}
	if (!p->has_neighbours)
		*hop = (struct addr){.where = to->where, .family = AF_UNSPEC};
	return 0;
}

void nexthop_ask(struct nexthops *n, uint32_t route, nsec now)
{
	struct nexthop_route *r = &n->routes[route];
	uint32_t before = r->neighbour, mtu;
	struct addr hop;
	int number = look_up(n, addrs_at(&n->route_addrs, route), &hop, &mtu);

	if (is_passing(number))
		return;
	r->neighbour = number ? NEXTHOP_NONE : neighbour_get(n, &hop);
	r->number = number;
	r->mtu = mtu;
	/* Nothing was made of a route before its first answer. */
	if (r->seen && r->neighbour != before)
		nexthops_change(n);
	r->seen = n->routes_gen;
	r->asked_at = now;
	if (r->neighbour != NEXTHOP_NONE && !n->neighbours[r->neighbour].is_known)
		ask_neighbour(n, r->neighbour, now);
	neighbour_put(n, before);
}

uint32_t nexthop_get(struct nexthops *n, uint32_t port, const struct addr *to)
{
	struct addr a = *to;
	uint32_t place;

	a.where = port + 1;
	place = addrs_find(&n->route_addrs, &a);
	if (place == ADDRS_NONE) {
		place = addrs_add(&n->route_addrs, &a);
		if (place == ADDRS_NONE)
			return NEXTHOP_NONE;
		/* It may still stand in the queue from its last owner. */
		struct nexthop_route *r = &n->routes[place];

		r->refs = r->seen = r->mtu = 0;
		r->neighbour = NEXTHOP_NONE;
		r->number = 0;
		r->asked_at = 0;
		queue_route(n, place);
	}
	n->routes[place].refs++;
	return place;
}

void nexthop_put(struct nexthops *n, uint32_t route)
{
	struct nexthop_route *r;

	if (route == NEXTHOP_NONE)
		return;
	r = &n->routes[route];
	assert(r->refs > 0);
	if (--r->refs > 0)
		return;
	neighbour_put(n, r->neighbour);
	r->neighbour = NEXTHOP_NONE;
	addrs_remove(&n->route_addrs, route);
}

uint32_t nexthop_want(struct nexthops *n, uint32_t route, nsec now)
{
	struct nexthop_route *r = &n->routes[route];
	struct nexthop_neighbour *b;

	if (r->seen != n->routes_gen ||
	    (r->neighbour == NEXTHOP_NONE && now - r->asked_at > AGAIN_NS))
		queue_route(n, route);
	if (r->neighbour == NEXTHOP_NONE)
		return NEXTHOP_NONE;
	b = &n->neighbours[r->neighbour];
	if (!b->is_known && now - b->asked_at > AGAIN_NS)
		queue_neighbour(n, r->neighbour);
	return r->neighbour;
}

/* What a port's link is like, by its name. 0, -ENODEV: there is none such, or -EPROTONOSUPPORT: it
 * is of a kind that has no Ethernet header. */
static int read_link(struct nexthops *n, struct nexthop_port *p)
{
	struct netlink_message *m = &n->message;
	struct ifinfomsg link = {.ifi_family = AF_UNSPEC};
	const uint8_t *mac;
	uint32_t len;
	int result;

	netlink_begin(m, RTM_GETLINK, 0, &link, sizeof link);
	netlink_put(m, IFLA_IFNAME, p->name, (uint32_t)strlen(p->name) + 1);
	result = netlink_ask(n->ask_fd, m);
	if (result)
		return result;
	if (m->head.nlmsg_type != RTM_NEWLINK || !netlink_fixed(&m->head, &link, sizeof link))
		return -EPROTO;
	if (link.ifi_type != ARPHRD_ETHER && link.ifi_type != ARPHRD_LOOPBACK)
		return -EPROTONOSUPPORT;
	mac = netlink_get(&m->head, sizeof link, IFLA_ADDRESS, &len);
	p->port.ifindex = (uint32_t)link.ifi_index;
	p->port.mtu = netlink_get_u32(&m->head, sizeof link, IFLA_MTU, 0);
	p->port.is_up = (link.ifi_flags & IFF_UP) && (link.ifi_flags & IFF_RUNNING);
	memset(p->port.mac, 0, sizeof p->port.mac);
	if (mac && len == sizeof p->port.mac)
		memcpy(p->port.mac, mac, sizeof p->port.mac);
	p->is_loopback = link.ifi_type == ARPHRD_LOOPBACK;
	p->has_neighbours = !p->is_loopback && !(link.ifi_flags & IFF_NOARP);
	return 0;
}

/* An interface that is another one now has none of the neighbours of before. */
static void forget_neighbours(struct nexthops *n, uint32_t port)
{
	for (uint32_t i = 0; i < addrs_end(&n->neighbour_addrs); i++) {
		if (!addrs_is_taken(&n->neighbour_addrs, i))
			continue;
		const struct addr *a = addrs_at(&n->neighbour_addrs, i);

		if (a->where != port + 1 || a->family == AF_UNSPEC)
			continue;
		set_neighbour(&n->neighbours[i], NULL, 0);
		queue_neighbour(n, i);
	}
}

static bool is_same(const struct nexthop_port *p, const struct nexthop_port *q)
{
	return p->port.ifindex == q->port.ifindex && p->port.mtu == q->port.mtu &&
	       p->port.is_up == q->port.is_up && p->is_loopback == q->is_loopback &&
	       p->has_neighbours == q->has_neighbours &&
	       !memcmp(p->port.mac, q->port.mac, sizeof p->port.mac);
}

static void renew_ports(struct nexthops *n)
{
	for (uint32_t i = 0; i < n->n_ports; i++) {
		struct nexthop_port *p = &n->ports[i];
		const struct nexthop_port before = *p;
		int result = read_link(n, p);

		/* No answer for want of memory says nothing about the link. */
		if (result == -ENODEV || result == -EPROTONOSUPPORT) {
			p->port.ifindex = 0;
			p->port.is_up = false;
		} else if (result) {
			n->has_link_news = true;
		}
		if (p->port.ifindex != before.port.ifindex)
			forget_neighbours(n, i);
		if (!is_same(p, &before))
			routes_change(n);
	}
}

static int open_port(struct nexthops *n, uint32_t port, char *error, size_t error_len)
{
	struct nexthop_port *p = &n->ports[port];
	int result;

	for (uint32_t i = 0; i < port; i++)
		if (!strcmp(n->ports[i].name, p->name))
			return say(-EINVAL, error, error_len,
				   "%s stands twice among the interfaces: a device has each once",
				   p->name);
	result = read_link(n, p);
	if (result == -ENODEV)
		return say(result, error, error_len,
			   "there is no interface %s (in this network namespace): `ip link` lists "
			   "those there are",
			   p->name);
	if (result == -EPROTONOSUPPORT)
		return say(result, error, error_len,
			   "%s is not an Ethernet interface: frames can only be sent by one that "
			   "is, or by lo; the udp driver takes any",
			   p->name);
	if (result)
		return say(result, error, error_len, "cannot ask for the interface %s: %s", p->name,
			   strerror(-result));
	return 0;
}

int nexthops_init(struct nexthops *n, const struct frames_cfg *cfg, char *error, size_t error_len)
{
	int result;

	n->gen = n->routes_gen = 1;
	n->sweep_at = UINT32_MAX;
	n->n_ports = cfg->n_ports;
	n->ask_fd = netlink_open(0);
	n->news_fd = netlink_open(groups);
	if (n->ask_fd < 0 || n->news_fd < 0)
		return say(n->ask_fd < 0 ? n->ask_fd : n->news_fd, error, error_len,
			   "cannot ask the kernel for routes and neighbours (netlink): %s; a "
			   "sandbox may forbid it, and the udp driver does without",
			   strerror(n->ask_fd < 0 ? -n->ask_fd : -n->news_fd));
	n->routes = calloc(ROUTES, sizeof *n->routes);
	n->neighbours = calloc(NEIGHBOURS, sizeof *n->neighbours);
	if (!n->routes || !n->neighbours || addrs_init(&n->route_addrs, ROUTES) ||
	    addrs_init(&n->neighbour_addrs, NEIGHBOURS))
		return say(-ENOMEM, error, error_len, "out of memory");
	for (uint32_t i = 0; i < n->n_ports; i++) {
		memcpy(n->ports[i].name, cfg->interfaces[i], IF_NAMESIZE - 1);
		result = open_port(n, i, error, error_len);
		if (result)
			return result;
	}
	return 0;
}

void nexthops_fini(struct nexthops *n)
{
	if (n->ask_fd >= 0)
		close(n->ask_fd);
	if (n->news_fd >= 0)
		close(n->news_fd);
	addrs_fini(&n->route_addrs);
	addrs_fini(&n->neighbour_addrs);
	free(n->routes);
	free(n->neighbours);
}

static void read_news(struct nexthops *n)
{
	for (unsigned i = 0; i < NEWS_AT_ONCE; i++) {
		int result = netlink_read(n->news_fd, &n->message);

		if (result == 0)
			break;
		if (result < 0) {
			/* Some were lost: anything may have changed. */
			n->has_link_news = true;
			n->sweep_at = 0;
			routes_change(n);
			continue;
		}
		for (const struct nlmsghdr *h = netlink_next(&n->message, NULL); h;
		     h = netlink_next(&n->message, h)) {
			switch (h->nlmsg_type) {
			case RTM_NEWNEIGH:
			case RTM_DELNEIGH: read_neighbour(n, h); break;
			case RTM_NEWLINK:
			case RTM_DELLINK: n->has_link_news = true; break;
			case RTM_NEWROUTE:
			case RTM_DELROUTE:
			case RTM_NEWADDR:
			case RTM_DELADDR: routes_change(n); break;
			default: break;
			}
		}
	}
}

static void ask_queued(struct nexthops *n, nsec now)
{
	struct nexthop_queue *q = &n->route_queue;

	for (unsigned i = 0; i < ASKED_AT_ONCE && q->first; i++) {
		uint32_t place = q->first - 1;

		q->first = n->routes[place].next;
		if (!q->first)
			q->last = 0;
		struct nexthop_route *r = &n->routes[place];

		r->is_queued = false;
		/* It may have been asked for since, or be gone. */
		if (addrs_is_taken(&n->route_addrs, place) &&
		    (r->seen != n->routes_gen || r->neighbour == NEXTHOP_NONE))
			nexthop_ask(n, place, now);
	}
	q = &n->neighbour_queue;
	for (unsigned i = 0; i < ASKED_AT_ONCE && q->first; i++) {
		uint32_t place = q->first - 1;

		q->first = n->neighbours[place].next;
		if (!q->first)
			q->last = 0;
		n->neighbours[place].is_queued = false;
		if (addrs_is_taken(&n->neighbour_addrs, place))
			ask_neighbour(n, place, now);
	}
}

/* Neighbours go unverified as long as nobody but us uses them, for the kernel sees none of our
 * packets: it is told. */
static void touch(struct nexthops *n, nsec now)
{
	uint32_t end = addrs_end(&n->neighbour_addrs);

	for (unsigned i = 0; i < LOOKED_AT_ONCE && i < end; i++) {
		uint32_t place = n->touch_at < end ? n->touch_at : 0;
		struct nexthop_neighbour *b = &n->neighbours[place];

		n->touch_at = place + 1;
		if (b->is_used && b->is_known && !b->is_static && now - b->asked_at >= AGAIN_NS &&
		    addrs_is_taken(&n->neighbour_addrs, place))
			ask_neighbour(n, place, now);
	}
}

/* After lost news all neighbours are asked for again, some at a time. */
static void sweep(struct nexthops *n)
{
	uint32_t end = addrs_end(&n->neighbour_addrs);

	for (unsigned i = 0; i < LOOKED_AT_ONCE && n->sweep_at < end; i++, n->sweep_at++)
		if (addrs_is_taken(&n->neighbour_addrs, n->sweep_at))
			queue_neighbour(n, n->sweep_at);
	if (n->sweep_at >= end)
		n->sweep_at = UINT32_MAX;
}

void nexthops_step(struct nexthops *n, nsec now)
{
	read_news(n);
	if (n->has_link_news) {
		n->has_link_news = false;
		renew_ports(n);
	}
	sweep(n);
	ask_queued(n, now);
	touch(n, now);
}
