/* Addresses, routes and paths of a topology: fills in the forwarding tables of every switch, and
 * for hosts the step from (destination, port, entropy) to the headers a packet starts with.
 *
 * Routes are all shortest paths, fixed for the whole run. A host has one address per plane:
 * fd00:0:PLANE:LEAF::HOST+1, LEAF being the number among the plane's switches with hosts of the one
 * it is attached to there. A switch routes by /128 to its own hosts, by /64 to leaves, and by one
 * /48 for the plane to all that lies up behind the same ports.
 *
 * Where there are multicast groups, group g has the Proxy Address fd00:1::g+1, which only nodes of
 * its tree have a route to, and switch s the prefix fd00:2:S:S::/64, S:S being s + 1, to which its
 * neighbours have routes.
 *
 * The block of segment identifiers is fcbb:bb00::/32 (F3216) or fcbb::/16 (F1616); a switch's uSID
 * is its number among all switches + 1. A path has one uSID for each switch and, where the NIC
 * decapsulates, one for the host, to which the last switch has a route. */
#ifndef WEFT_SIM_ROUTING_H
#define WEFT_SIM_ROUTING_H

#include <stddef.h>
#include <stdint.h>

#include "fwd/switch.h"
#include "sim/topology.h"

enum routing_mode {
	ROUTING_ECMP,       /* hash */
	ROUTING_STRUCTURED, /* structured EV upwards, routes downwards (MRC 9.3.4) */
	ROUTING_USID,       /* SRv6, one container (MRC 9.3.5) */
	ROUTING_USID_SRH,   /* SRv6, the second half of the path in an SRH */
};

enum routing_decap {
	ROUTING_DECAP_HOST, /* the NIC takes the outer header off */
	ROUTING_DECAP_LEAF, /* the last switch does: End.DT6 there */
};

struct routing_cfg {
	enum routing_mode mode;
	enum fwd_sid_format format;
	enum routing_decap decap;
	bool uses_adjacency;  /* SRv6: name links (uA) instead of nodes (uN) where a switch has a
				 choice */
	bool psp;             /* pop the SRH early */
	uint32_t hash_fields; /* FWD_HASH_... */
	struct fwd_ev_layout ev_layout;
	struct net_trims trims;   /* what says of a packet that it was trimmed */
	struct carriers carriers; /* what hosts send by, and the numbers it has here */
	uint32_t max_groups;      /* multicast groups (sim/groups_build.h); none under SRv6 */
};

struct routing {
	const struct topology *topology;
	struct routing_cfg cfg;
	struct fwd_switch *switches; /* node n_hosts + i is switches[i] */
	uint8_t (*macs)[6];          /* per port */
	void *memory;                /* tables behind switches */
};

static inline bool routing_is_srv6(const struct routing *r)
{
	return r->cfg.mode == ROUTING_USID || r->cfg.mode == ROUTING_USID_SRH;
}

/* The outer headers of one path. */
struct routing_path {
	uint8_t n_segments; /* 0: native; 1: container in the destination; 2: and one in an SRH */
	uint8_t container[2][16]; /* [0]: outer destination address; [1]: the SRH's segment */
};

/* Computes everything. seed gives each switch its hash seed. 0, -ENOMEM, or -EINVAL with a
 * sentence: a path with more segments than the containers hold, a structured EV too narrow for the
 * fabric, a host on two switches of one plane, groups under SRv6. */
int routing_build(struct routing *r, const struct topology *t, const struct routing_cfg *cfg,
		  uint64_t seed, char *error, size_t error_len);
void routing_fini(struct routing *r);

/* The address of a host in a plane, and back: the host, or UINT32_MAX. Beyond the hosts stand the
 * Proxy Addresses of multicast groups: whoever sends to number n_hosts + g sends to group g. */
void routing_address(const struct routing *r, uint32_t host, uint32_t plane, uint8_t address[16]);
uint32_t routing_host_of(const struct routing *r, const uint8_t address[16]);

/* The address number `which` of a switch, by which only the switches next to it reach it: 1 is its
 * own, others may be segments. It takes all of them for packets of multicast trees. */
void routing_node_address(uint32_t sw, uint16_t which, uint8_t address[16]);

/* Makes a switch a node of group g's tree to which the group's Proxy Address is local. 0, or
 * -ENOSPC: there are no more than cfg.max_groups. Before packets move. */
int routing_add_proxy(struct routing *r, uint32_t sw, uint32_t group);

/* True when packets from src's port reach dst. */
bool routing_reaches(const struct routing *r, uint32_t src, uint32_t src_port, uint32_t dst);

/* The different paths from src, leaving by src_port (0 .. its n_ports - 1), to dst: at least 1. */
uint32_t routing_n_paths(const struct routing *r, uint32_t src, uint32_t src_port, uint32_t dst);

/* SRv6: path number path, modulo how many there are. Other modes: no segments. */
void routing_path(const struct routing *r, uint32_t src, uint32_t src_port, uint32_t dst,
		  uint32_t path, struct routing_path *out);

/* The ports a packet leaves by on path number path, from the host's own to the last switch's: at
 * most max, the number is returned. For ideal times and reports. */
uint32_t routing_hops(const struct routing *r, uint32_t src, uint32_t src_port, uint32_t dst,
		      uint32_t path, uint32_t *ports, uint32_t max);

/* The hops through the switches, worked out once for all packets with the same headers: tables are
 * fixed. The number, among its switch's, of the port that the next switch sends the packet out by,
 * and 1, in the lowest 12 bits; those behind it above. 0: the end, or not known. */
#define ROUTING_HOP_BITS 12u

/* The hops of an untagged frame that leaves a host by `port`, as switches decide by its headers,
 * which are changed. 0 when it is dropped, needs more than addresses and a hop limit changed, or
 * does not fit the word. */
uint64_t routing_walk(const struct routing *r, uint32_t port, uint8_t *headers, uint32_t len);

/* Takes the next of the hops that are known: the number of the port. */
static inline uint32_t routing_hop_take(uint64_t *hops)
{
	uint32_t port = (uint32_t)(*hops & ((1u << ROUTING_HOP_BITS) - 1)) - 1;

	*hops >>= ROUTING_HOP_BITS;
	return port;
}

/* Entropy value number i that makes sense in this mode on a fabric of this shape: source port
 * (0xc000 and up) and flow label drawn from seed for ECMP, legal hop fields in rotation for
 * structured EVs, a path number for SRv6. */
uint32_t routing_entropy(const struct routing *r, uint64_t seed, uint32_t i);

#endif
