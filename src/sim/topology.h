/* The shape of a fabric: hosts, switches and the links between them. Nothing moves here.
 *
 * Every end of a link is a port; a node's ports are numbered in a row. A topology is built from a
 * few parameters (topology_build) or from a list of links (topology_begin, _host, _switch, _link,
 * _end), then read only. Hosts come first among the nodes: node h < n_hosts is host h.
 *
 * Names: host h3; switches leaf2, spine0, core1 by tier, p1.leaf2 with several planes; a port is
 * "h3>leaf0": from its own node towards the other. Parallel links get "#2", "#3". */
#ifndef WEFT_SIM_TOPOLOGY_H
#define WEFT_SIM_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/psec.h"

#define TOPOLOGY_TIERS    3u
#define TOPOLOGY_PLANES   8u
#define TOPOLOGY_NAME_MAX 48u
#define TOPOLOGY_HOSTS    65536u

struct topology_node {
	uint8_t is_host;
	uint8_t tier;   /* switches: 0 next to hosts */
	uint8_t plane;  /* switches */
	uint32_t index; /* host number, or number among the switches of its tier and plane */
	uint32_t first_port;
	uint16_t n_ports;
};

struct topology_port {
	uint32_t node;
	uint32_t peer; /* the port at the other end */
	uint64_t rate_bps;
	psec delay_ps;         /* propagation */
	uint32_t buffer_bytes; /* packet memory behind this port; 0: as the switch's configuration
				  says */
	uint8_t plane;
	uint8_t is_up;     /* leads away from the hosts */
	uint16_t parallel; /* which of the links between its two nodes: 0, 1, ... */
};

struct topology {
	struct topology_node *nodes;
	struct topology_port *ports;
	char (*labels)[TOPOLOGY_NAME_MAX]; /* per node */
	uint32_t n_nodes, n_hosts, n_ports;
	uint8_t n_planes, n_tiers;
	psec switch_delay_ps; /* from the last bit in to the egress queue */
};

enum topology_kind { TOPOLOGY_WIRE, TOPOLOGY_LEAF_SPINE, TOPOLOGY_FAT_TREE };

/* One tier of links: between hosts and tier 0, tier 0 and 1, tier 1 and 2. */
struct topology_link {
	uint64_t rate_bps;
	psec delay_ps;
	uint32_t buffer_bytes;
};

/* Parameters of a regular fabric. Those of the kind are needed, 0 is an error; those of other kinds
 * are not looked at: a wire has hosts, planes, nic_ports and links[0]. Delays and buffers may be 0.
 */
struct topology_cfg {
	enum topology_kind kind;
	uint32_t hosts; /* wire: 2 */
	uint32_t hosts_per_leaf;
	uint32_t spines;         /* per plane; fat tree: per pod */
	uint32_t leaves_per_pod; /* fat tree */
	uint32_t cores;          /* fat tree: per plane; a multiple of spines: spine s of each pod
				    links to cores s * cores / spines ... */
	uint32_t planes;         /* 1 .. TOPOLOGY_PLANES */
	uint32_t nic_ports;      /* of each host; planes divide it */
	uint32_t uplinks;        /* parallel links between each leaf and each of its spines, >= 1 */
	struct topology_link links[TOPOLOGY_TIERS];
	psec switch_delay_ps;
};

/* Builds a regular fabric, every node and port in an order that depends on the parameters only.
 * Port p of a host is in plane p / (nic_ports / planes), on leaf host / hosts_per_leaf. 0, or
 * -EINVAL with a sentence in error that names the parameter, or -ENOMEM. */
int topology_build(struct topology *t, const struct topology_cfg *cfg, char *error,
		   size_t error_len);

/* A fabric from a list of links. Hosts are all added before the first switch; nodes and ports keep
 * the order in which they are added. Names are unique, shorter than TOPOLOGY_NAME_MAX, made of
 * letters, digits, '.', '_' and '-'; "plane2" is no name. A link joins two switches of one plane.
 * Each answers 0 or a negative errno with a sentence in error; the draft is then as it was. */
struct topology_draft;
struct topology_draft *topology_begin(void);
int topology_host(struct topology_draft *d, const char *name, char *error, size_t error_len);
int topology_switch(struct topology_draft *d, const char *name, uint8_t tier, uint8_t plane,
		    char *error, size_t error_len);
int topology_link(struct topology_draft *d, const char *a, const char *b,
		  const struct topology_link *link, char *error, size_t error_len);
/* Moves the draft into *t and frees it, also on failure. */
int topology_end(struct topology_draft *d, struct topology *t, char *error, size_t error_len);
void topology_discard(struct topology_draft *d);

void topology_fini(struct topology *t);

/* Writes a port's name into text. */
void topology_port_name(const struct topology *t, uint32_t port, char *text, size_t text_len);

/* The node or port of that name; UINT32_MAX when there is none. */
uint32_t topology_find_node(const struct topology *t, const char *name);
uint32_t topology_find_port(const struct topology *t, const char *name);

/* Marks in set[port] every port whose name matches a shell pattern ("h0>*", "*>spine1", "p2.*"); a
 * link "a-b", with patterns on either side of the dash, means both of its ports, a bare node name
 * all ports of and towards it, "plane2" every port of that plane. Returns how many matched. */
uint32_t topology_match_ports(const struct topology *t, const char *pattern, uint8_t *set);

#endif
