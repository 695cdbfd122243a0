/* The forwarding decision of one switch: static tables in, a rewritten frame and a port out.
 *
 * Order: parse; local segment identifiers; longest-prefix route; one port of the route's group, by
 * hash or by structured entropy; hop limit; Ethernet addresses. Queues are not looked at here. A
 * packet that executes one local segment after another takes one hop all the same; one that would
 * execute two more than a container holds is dropped (FWD_DROP_SID_HEADER). */
#ifndef WEFT_FWD_SWITCH_H
#define WEFT_FWD_SWITCH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "fwd/frame.h"
#include "fwd/route.h"
#include "fwd/sid.h"
#include "fwd/spread.h"
#include "wire/carrier.h"

struct fwd_port {
	uint8_t neighbour[6]; /* whoever is at the other end */
	uint8_t mac[6];       /* ours on this link */
	bool is_edge;         /* an end station is at the other end: the last hop */
};

/* Ports that lead to one place at equal cost: members[first .. first + n). */
struct fwd_group {
	uint32_t first;
	uint16_t n; /* >= 1 */
	bool by_ev; /* member number = the field of the structured EV; else by hash */
};

#define FWD_IPV6_HOP_LIMIT_AT 21u /* in an untagged frame */

/* Route values are group numbers. FWD_LOCAL: the packet is for this node itself. FWD_MULTICAST: it
 * is for this node to replicate or to aggregate (fwd/mt_node.h). */
#define FWD_LOCAL     (UINT32_MAX - 1)
#define FWD_MULTICAST (UINT32_MAX - 2)

struct fwd_switch {
	struct fwd_routes routes;
	struct fwd_sids sids;
	const struct fwd_port *ports;
	const struct fwd_group *groups;
	const uint16_t *members;
	const struct carriers *carriers; /* whose native IP it spreads by entropy; NULL: none */
	struct fwd_ev_layout ev_layout;
	uint64_t hash_seed;
	uint32_t hash_fields; /* FWD_HASH_... */
	uint16_t n_ports;
	uint8_t ev_hop; /* which field of the structured EV is this switch's */
};

struct fwd_verdict {
	enum fwd_drop drop;
	bool local;     /* for this node: no port, hop limit and addresses left alone */
	bool multicast; /* the same, of a packet of a multicast tree */
	uint16_t port;
};

/* Decides and rewrites. *view is filled in for the caller: of the frame as it leaves. On a drop the
 * frame's bytes are undefined. */
struct fwd_verdict fwd_switch_forward(const struct fwd_switch *sw, struct fwd_frame *f,
				      struct fwd_view *view);

/* Decides by routes alone about a packet that is made here, whose hop limit is the one that it
 * leaves with, and writes its Ethernet addresses. Only headers need be in memory. */
struct fwd_verdict fwd_switch_send(const struct fwd_switch *sw, struct fwd_frame *f);

/* What is left to do with an untagged IPv6 frame whose decision is known from another with the same
 * headers: hop limit, which is above 1, and Ethernet addresses. */
static inline void fwd_switch_pass(const struct fwd_port *port, uint8_t *frame)
{
	memcpy(frame, port->neighbour, 6);
	memcpy(frame + 6, port->mac, 6);
	frame[FWD_IPV6_HOP_LIMIT_AT]--;
}

#endif
