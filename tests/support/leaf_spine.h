/* The smallest regular fabric, for tests that build their topology themselves. */
#ifndef WEFT_TESTS_SUPPORT_LEAF_SPINE_H
#define WEFT_TESTS_SUPPORT_LEAF_SPINE_H

#include "sim/topology.h"

/* Two tiers in one plane, every link alike. */
static inline struct topology_cfg leaf_spine_of(uint32_t hosts, uint32_t hosts_per_leaf,
						uint32_t spines, struct topology_link link)
{
	return (struct topology_cfg){
		.kind = TOPOLOGY_LEAF_SPINE,
		.hosts = hosts,
		.hosts_per_leaf = hosts_per_leaf,
		.spines = spines,
		.planes = 1,
		.nic_ports = 1,
		.uplinks = 1,
		.links = {link, link, link},
	};
}

#endif
