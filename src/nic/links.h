/* The interfaces of this machine with their addresses, as they are at one moment. The list of
 * devices is made of them. */
#ifndef WEFT_NIC_LINKS_H
#define WEFT_NIC_LINKS_H

#include "nic/inside.h"

struct link {
	struct nic_port port;
	uint64_t guid; /* EUI-64 */
	uint32_t n_gids;
	struct nic_gid gids[NIC_GIDS_MAX];
};

struct links {
	struct link *at; /* by interface number; malloced */
	uint32_t n;
};

/* 0 or a negative errno. */
int links_find(struct links *s);

/* The one of that name, of len bytes, or NULL. */
const struct link *link_named(const struct links *s, const char *name, size_t len);

#endif
