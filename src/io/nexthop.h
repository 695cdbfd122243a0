/* Where a packet goes first: the links of a driver's ports, routes by them, and the MAC addresses
 * of neighbours. The kernel keeps all three; this asks it, receives its news, and has it find out
 * who does not answer yet. What packets need is read from here without a system call.
 *
 * A route is known by a port and a destination, a neighbour by a port and its address; both are
 * counted by who holds them. Whatever was made of them is good as long as struct nexthops' gen and
 * the neighbour's gen stay as they were. To have the kernel resolve a neighbour takes
 * CAP_NET_ADMIN; without it only those that the kernel knows from other traffic are reached.
 *
 * The frames of io call this, from one thread. */
#ifndef WEFT_IO_NEXTHOP_H
#define WEFT_IO_NEXTHOP_H

#include "base/nsec.h"
#include "io/addrs.h"
#include "io/frames.h"
#include "io/netlink.h"

#define NEXTHOP_NONE UINT32_MAX

struct nexthop_port {
	struct frames_port port;
	char name[IF_NAMESIZE];
	bool is_loopback;    /* all that is sent comes back: no route is asked for */
	bool has_neighbours; /* else frames go to the zero MAC */
};

struct nexthop_route {
	uint32_t refs, next;
	uint32_t neighbour; /* NEXTHOP_NONE: no route, and number says why */
	uint32_t mtu;       /* that a router or the administrator said; 0: the port's */
	uint32_t seen;      /* routes_gen when the kernel answered; 0: not yet */
	int number;
	nsec asked_at;
	bool is_queued;
};

struct nexthop_neighbour {
	uint32_t gen; /* goes on for ever, also from one neighbour to the next at this place */
	uint32_t refs, next;
	uint8_t mac[6];
	bool is_known;  /* mac is good, even if the kernel has not verified it lately */
	bool is_static; /* and an administrator said so */
	bool is_used;   /* by a packet since asked_at */
	bool is_queued;
	nsec asked_at;
};

struct nexthop_queue {
	uint32_t first, last;
};

struct nexthops {
	uint32_t gen;        /* of ports and routes, never 0 */
	uint32_t routes_gen; /* what was answered before it may have changed */
	int ask_fd, news_fd;
	uint32_t n_ports;
	struct nexthop_port ports[ENGINE_PORTS];
	struct addrs route_addrs, neighbour_addrs; /* where: port + 1 */
	struct nexthop_route *routes;
	struct nexthop_neighbour *neighbours;
	struct nexthop_queue route_queue, neighbour_queue; /* to be asked for */
	uint32_t touch_at, sweep_at;
	bool has_link_news;
	struct netlink_message message;
};

/* Looks the interfaces up; n is zeros. 0, or a negative errno and a sentence. */
int nexthops_init(struct nexthops *n, const struct frames_cfg *cfg, char *error, size_t error_len);
void nexthops_fini(struct nexthops *n);

/* Reads news and asks what is to be asked, some of each; now drives what is done again. */
void nexthops_step(struct nexthops *n, nsec now);

/* What was made of routes and ports before is to be made again. */
void nexthops_change(struct nexthops *n);

/* The route by a port to a destination, held until nexthop_put; NEXTHOP_NONE: there are too many.
 * The kernel is asked by the next step, or at once by nexthop_ask. */
uint32_t nexthop_get(struct nexthops *n, uint32_t port, const struct addr *to);
void nexthop_put(struct nexthops *n, uint32_t route);
void nexthop_ask(struct nexthops *n, uint32_t route, nsec now);

/* The neighbour that a route leads to, or NEXTHOP_NONE. Sees to it that a route or neighbour of
 * which nothing is known, or nothing certain any more, is asked for by the next step, now and then
 * again. */
uint32_t nexthop_want(struct nexthops *n, uint32_t route, nsec now);

#endif
