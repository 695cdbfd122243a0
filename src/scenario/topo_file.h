/* Topologies in the .topo format of htsim: a header (Nodes, Tiers, Podsize) and one section for
 * each tier of switches from the hosts up (Tier 0, 1, 2), each with its ports and the links below
 * it. Two tiers are leaves and spines, three a fat tree. */
#ifndef WEFT_SCENARIO_TOPO_FILE_H
#define WEFT_SCENARIO_TOPO_FILE_H

#include <stddef.h>

#include "sim/topology.h"

struct topo_file {
	const char *name; /* for messages */
	const char *text;
	size_t len;
};

/* Fills in everything of cfg but planes and nic_ports. 0, or -EINVAL with "file:line: what is
 * wrong; what would be right" in error. */
int topo_file_read(struct topology_cfg *cfg, const struct topo_file *file, char *error,
		   size_t error_len);

#endif
