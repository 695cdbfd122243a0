/* A controller of multicast groups: trees over a topology, and what each node of them is told
 * (draft 5.1; T-09, T-11, T-21, T-24).
 *
 * A tree joins the switch of the source with those of the receivers by shortest paths; which of
 * them differs from group to group, and each switch has one parent. Every switch of it is a node
 * that replicates and aggregates; the source's is the headend, a receiver's an edge, and one may be
 * all of that. Group number g, counted from 0, is what hosts address as n_hosts + g
 * (sim/routing.h). */
#ifndef WEFT_SIM_GROUPS_BUILD_H
#define WEFT_SIM_GROUPS_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/groups.h"
#include "sim/routing.h"

#define GROUPS_WINDOW_PS (50 * PSEC_US) /* T-10 */

struct groups_cfg {
	psec window_ps; /* T; 0: GROUPS_WINDOW_PS */
	uint8_t dscp;   /* of answers that nodes make */
};

/* A queue pair of a host, that sends and receives by one of the host's ports. */
struct groups_member {
	uint32_t host, port, qpn;
};

struct groups_one {
	struct groups_member source; /* its QPN is the Designated QPN: no other group's */
	const struct groups_member *receivers;
	uint32_t n_receivers;
	bool by_tlv; /* who receives is said in each packet (draft 7.2), else to the edges */
	uint32_t most_bytes;       /* of a request, from its IP header on (T-30); 0: any */
	struct mt_merge_cfg merge; /* but for n_branches and is_first; silent_after is of edges, and
				    * others wait longer */
};

/* Starts without groups, above routing that was built for cfg.max_groups and lives as long. 0 or
 * -ENOMEM; groups_fini frees what there is either way. */
int groups_init(struct sim_groups *g, struct routing *r, const struct groups_cfg *cfg);
void groups_fini(struct sim_groups *g);

/* Adds a group and its routes; its number. -EINVAL, -EEXIST, -ENOSPC, -EMSGSIZE or -ENOMEM with a
 * sentence: members that are no hosts, are named twice, cannot be reached or are in another plane
 * than the source; a Designated QPN that is taken; more groups than routing was built for; more
 * receivers than a segment routing header names. g is then good for groups_fini alone. */
int groups_add(struct sim_groups *g, const struct groups_one *one, char *error, size_t error_len);

/* What sim_cfg.headroom must be. */
uint32_t groups_headroom(const struct sim_groups *g);

#endif
