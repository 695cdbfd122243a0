/* The headers a host puts in front of its packets, made when a destination, port and path are first
 * used: a small table per host. */
#ifndef WEFT_SIM_PEERS_H
#define WEFT_SIM_PEERS_H

#include <stdint.h>

#include "encap/encap.h"
#include "sim/routing.h"

struct sim_peers;

/* An empty table, or NULL without memory. */
struct sim_peers *sim_peers_new(void);
void sim_peers_free(struct sim_peers *peers);

/* A way out of a host. Entropy picks among the paths under SRv6, and only goes into the packet
 * elsewhere. */
struct sim_way {
	uint32_t src, port, dst; /* hosts, and the port of src */
	uint32_t ev;
};

/* The headers for a way; NULL without memory. Valid until the next call. */
const struct encap_head *sim_peers_head(struct sim_peers *peers, const struct routing *r,
					const struct sim_way *way);

#endif
