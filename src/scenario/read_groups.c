#include "scenario/reader.h"
#include "sim/groups_build.h"

#define SILENT_AFTER 4 /* below the 8 tries of a source (T-19) */

/* The first entry of the workload that has a group is to blame: every other may do without. */
static void check_groups(struct reader *r)
{
	const struct transport *row = r->s->transport.row;

	if (!row || !transport_has(row, TRANSPORT_GROUPS))
		conf_fail_key(&r->conf, r->transport ? r->transport : r->conf.root,
			      r->transport ? "kind" : "transport",
			      "has no multicast groups, which the workload asks for; use rc");
	else if (r->s->routing.mode != ROUTING_ECMP && r->s->routing.mode != ROUTING_STRUCTURED)
		conf_fail_key(&r->conf, r->fabric, "routing",
			      "uses segments of its own; multicast groups need ecmp or structured");
}

void read_groups(struct reader *r, struct conf_node *map)
{
	static const char *const receivers[] = {"table", "tlv", NULL};
	static const char *const naks[] = {"waiting", "printed", NULL};
	struct conf *c = &r->conf;
	struct scenario_groups *g = &r->s->groups;

	if (c->status)
		return;
	r->s->routing.max_groups = r->s->workload.n_groups;
	if (r->s->workload.n_groups > 0)
		check_groups(r);
	else if (map)
		conf_fail(c, map, "there are no groups; write by: end-mt in the workload");
	g->by_tlv = conf_get_choice(c, map, "receivers", receivers, 0) == 1;
	g->as_printed = conf_get_choice(c, map, "naks", naks, 0) == 1;
	g->ejects = conf_get_flag(c, map, "eject", false);
	g->silent_after = (uint8_t)conf_get_u32(c, map, "silent_after",
						(struct conf_range){1, UINT8_MAX, SILENT_AFTER});
	g->window_ps =
		conf_get_number(c, map, "cnp_window", UNITS_TIME,
				(struct conf_range){PSEC_US, READER_TIME_MAX, GROUPS_WINDOW_PS});
	conf_finish(c, map, "groups");
}
