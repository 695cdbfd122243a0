/* What a report says of multicast groups. */
#include <string.h>

#include "tools/sim/report.h"

/* What happened to the branches of a node, by what is not over yet or was not fetched: nobody else
 * fetches events of a simulated group. */
static void add_branches(struct report_trees *trees, const struct mt_merge *m)
{
	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		const struct mt_branch_state *b = &m->branches[i];

		trees->silent += b->is_silent;
		trees->ejected += b->state == MT_EJECTED;
		trees->failed += b->events >> MT_EVENT_FAILED & 1;
	}
}

void report_trees(const struct report *r, uint32_t group, struct report_trees *trees)
{
	const struct sim_groups *g = &r->run->groups;
	const struct topology *t = &r->run->scenario->topology;

	memset(trees, 0, sizeof *trees);
	for (uint32_t s = 0; s < t->n_nodes - t->n_hosts; s++) {
		const struct mt_node *n = &g->nodes[s].mt;

		for (uint32_t i = 0; i < n->n_groups; i++) {
			const struct mt_group *one = &n->groups[i];

			if (group != REPORT_ALL_TREES &&
			    one->qpn != r->run->traffic.groups[group].source.qpn)
				continue;
			add_branches(trees, &one->merge);
			if (!one->is_first)
				continue;
			trees->acks += one->merge.counts.acks_up;
			trees->naks += one->merge.counts.naks_up;
			trees->cnps += one->merge.counts.cnps_up;
		}
	}
}

uint64_t report_tree_drops(const struct report *r, enum mt_drop reason)
{
	const struct topology *t = &r->run->scenario->topology;
	uint64_t n = 0;

	for (uint32_t s = 0; s < t->n_nodes - t->n_hosts; s++) {
		const struct mt_node *node = &r->run->groups.nodes[s].mt;

		n += node->drops[reason] + node->skips[reason];
	}
	return n;
}
