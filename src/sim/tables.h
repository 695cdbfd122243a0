/* What routing_build keeps behind struct routing, for routing.c and paths.c alone. */
#ifndef WEFT_SIM_TABLES_H
#define WEFT_SIM_TABLES_H

#include <stdint.h>

#include "sim/routing.h"

#define ROUTING_NONE UINT32_MAX

/* Counts of paths stop here; the bit above says that the choices lead to different numbers of
 * paths. */
#define ROUTING_PATHS_MAX    UINT32_C(0x7fffffff)
#define ROUTING_PATHS_UNEVEN UINT32_C(0x80000000)

/* Where a host is attached in one plane. */
struct routing_place {
	uint32_t leaf; /* the switch, or ROUTING_NONE */
	uint32_t slot; /* number among the leaf's hosts */
	uint32_t edge; /* the leaf's group of ports to it */
};

struct routing_plane {
	uint32_t n_switches, n_leaves;
	uint32_t *n_paths; /* [leaf's number][switch's number in the plane]: shortest paths; 0: none
			    */
};

/* Switches go by their number among all of them. All share the arrays of groups and members, so a
 * route's value is a place in groups. */
struct routing_tables {
	struct fwd_port *ports; /* of all switches: the first is the topology's port first_port */
	uint32_t first_port;
	struct fwd_group *groups;
	uint16_t *members;
	struct fwd_sid *sids;
	struct carriers carriers;
	void **routes;          /* per switch */
	uint32_t *numbers;      /* per switch: number in its plane */
	uint32_t *leaf_numbers; /* per switch: number among the plane's switches with hosts, or NONE
				 */
	struct routing_place *places; /* [host][plane] */
	struct routing_plane planes[TOPOLOGY_PLANES];
	/* The first uSID of each kind: the switch's own + 1, then decapsulation at a switch; then,
	 * meant by one switch only, its ports and its hosts. */
	uint32_t usid_decap, usid_port, usid_host;
	uint32_t ev_choices[TOPOLOGY_TIERS]; /* values every switch of the tier understands */
};

/* The block of segment identifiers. */
uint32_t routing_block(const struct routing *r);

static inline const struct routing_tables *routing_tables(const struct routing *r)
{
	return r->memory;
}

static inline const struct routing_place *routing_place(const struct routing *r, uint32_t host,
							uint32_t plane)
{
	return &routing_tables(r)->places[(size_t)host * r->topology->n_planes + plane];
}

#endif
