/* How a host's packets start: the headers in front of them, made when a destination, port and path
 * are first used, and the ports they will take, worked out when an entropy value is.
 * Small tables of each host's own. */
#ifndef WEFT_SIM_PEERS_H
#define WEFT_SIM_PEERS_H

#include <stdint.h>

#include "encap/encap.h"
#include "sim/routing.h"

struct sim_peers;

/* An empty table, or NULL without memory; packets go by `via`. */
struct sim_peers *sim_peers_new(const struct carrier_use *via);
void sim_peers_free(struct sim_peers *peers);

/* How a packet leaves a host. Entropy picks among the paths under SRv6, and only goes into the
 * packet elsewhere. */
struct sim_egress {
	uint32_t src, port, dst; /* hosts, and the port of src */
	uint32_t ev;
};

/* The headers for an egress; NULL without memory. Valid until the next call. */
const struct encap_head *sim_peers_head(struct sim_peers *peers, const struct routing *r,
					const struct sim_egress *egress);

/* Fetches what sim_peers_hops will need: it is far away in memory, and there is other work to do
 * meanwhile. */
void sim_peers_fetch(const struct sim_peers *peers, const struct sim_egress *egress);

/* The hops of routing_walk for packets with the headers of an egress; 0 when they are not known in
 * advance. sim_peers_head was called for it. */
uint64_t sim_peers_hops(struct sim_peers *peers, const struct routing *r,
			const struct sim_egress *egress);

#endif
