/* What the files of frames share: the state, and the small functions between them.
 *
 * frames.c opens and closes, frames_peers.c knows who is where and by which segments,
 * frames_write.c and frames_read.c are the two directions. Nobody else includes this. */
#ifndef WEFT_IO_FRAMES_INSIDE_H
#define WEFT_IO_FRAMES_INSIDE_H

#include "io/addrs.h"
#include "io/frames.h"
#include "io/nexthop.h"
#include "io/say.h"

enum {
	FRAMES_LOCALS = 256,
	FRAMES_STRANGERS = 64, /* that were answered last */
};

/* The headers to one peer by one port, and perhaps by a list, and what they were made of: they are
 * good as long as that is. */
struct frames_headers {
	struct encap_head head;
	uint32_t gen;                      /* of nexthops; 0: to be made */
	uint32_t neighbour, neighbour_gen; /* the one it leads to */
	uint32_t local;
	uint32_t route; /* + 1; 0: none is held */
};

/* A segment list, its headers and the entropy value that it is for. */
struct frames_list {
	uint32_t ev;
	struct encap_segments segments;
	struct frames_headers headers;
};

/* All lists to a peer by a port: by their places, those that others may take first, and by their
 * values in a table that is at most half full, of places + 1. */
struct frames_lists {
	struct frames_list *at;
	uint32_t *slots;
	uint32_t n, n_open, room, slot_mask;
};

/* addresses: place + 1 of the one in the plane of each port, 0: none but the first. */
struct frames_peer {
	uint32_t refs, next;
	uint32_t first, addresses[ENGINE_PORTS];
	bool is_used;
	bool is_answered, is_kept; /* nobody's, but one of the strangers */
	bool is_passing;           /* in the list of those that packets named, by next_passing */
	uint32_t next_passing;
	struct frames_lists *lists[ENGINE_PORTS]; /* NULL: none */
};

struct frames_local {
	uint32_t refs;
	uint32_t first, addresses[ENGINE_PORTS];
};

struct frames {
	struct frames_cfg cfg;
	struct driver_counters *count;
	const struct driver_guard *guard; /* NULL: none */
	struct net_cfg net;
	struct carrier_use via;  /* net's only one */
	const struct seal *seal; /* of what leaves, in clear */
	nsec now;                /* of the last step */
	struct nexthops hops;

	/* Addresses of peers and of ours: where is 0, or port + 1 of one of a link. Each place has
	 * its owner's handle. */
	struct addrs peer_addrs, local_addrs;
	uint32_t *peer_owners, *local_owners;
	uint32_t last_local; /* the place that the last packet was to, if it is taken still */
	int *holds;          /* by place of local_addrs: the socket that holds the port */

	struct frames_peer *peers;
	struct frames_headers *headers; /* of peers without lists: by peer, then port */
	uint32_t free_peer, fresh_peer, passing, last_peer;
	uint32_t strangers[FRAMES_STRANGERS], n_strangers; /* kept: their routes stay known */
	struct frames_local locals[FRAMES_LOCALS];
};

/* The address in a name, its link as a port; false: not one host's address, or of a link that is no
 * port's. */
bool frames_addr_of(const struct frames *f, const struct sockaddr *name, struct addr *a);

/* frames_peers.c */
int frames_peers_init(struct frames *f);
void frames_peers_fini(struct frames *f);
/* The handle of an address that has one, or DRIVER_NO_HANDLE. */
uint32_t frames_peers_known(const struct frames *f, const struct addr *a);
/* A packet came from a: its handle, made until frames_settle if need be, or DRIVER_NO_HANDLE. */
uint32_t frames_peers_seen(struct frames *f, const struct addr *a);
static inline const struct addr *frames_peer_addr(const struct frames *f,
						  const struct frames_peer *p, uint32_t port)
{
	uint32_t place = p->addresses[port] ? p->addresses[port] - 1 : p->first;

	return addrs_at(&f->peer_addrs, place);
}
static inline const struct addr *frames_local_addr(const struct frames *f,
						   const struct frames_local *l, uint32_t port)
{
	uint32_t place = l->addresses[port] ? l->addresses[port] - 1 : l->first;

	return addrs_at(&f->local_addrs, place);
}
/* The list for packets of this value: the one that was named, or another by the value; NULL: none.
 */
struct frames_list *frames_list_of(struct frames_lists *l, uint32_t ev);
/* The route to an address for headers, which then hold it; DRIVER_NO_HANDLE: there are too many. */
uint32_t frames_headers_route(struct frames *f, struct frames_headers *h, uint32_t port,
			      const struct addr *to);

#endif
