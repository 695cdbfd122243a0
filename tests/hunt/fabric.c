/* The fabric of a plan: its shape, its routes and its queues. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "expand.h"

#define LONG_PKTS  60u /* of a plan with long messages, and at most ... */
#define LONG_WORKS 16u /* ... so many of them */
#define PORTS_MOST 4u

static const struct fwd_names names = {0, HUNT_DSCP_DATA, 12, 18, 20, 46};

static void draw_shape(struct hunt_plan *s, struct prng *p)
{
	static const uint64_t rates[] = {10, 25, 100, 400};
	struct topology_link link = {
		.rate_bps = rates[hunt_draw(p, 0, 3)] * UINT64_C(1000000000),
		.delay_ps = hunt_draw(p, 50, 2000) * PSEC_NS,
	};
	uint32_t planes = prng_chance(p, 1, 3) ? 2 : 1;
	struct topology_cfg *t = &s->shape;

	*t = (struct topology_cfg){
		.kind = (enum topology_kind)hunt_draw(p, TOPOLOGY_WIRE, TOPOLOGY_FAT_TREE),
		.hosts = 2,
		.hosts_per_leaf = hunt_draw(p, 1, 2),
		.spines = hunt_draw(p, 1, 2),
		.leaves_per_pod = hunt_draw(p, 1, 2),
		.planes = planes,
		.nic_ports = planes * hunt_draw(p, 1, 2),
		.uplinks = 1,
		.links = {link, link, link},
		.switch_delay_ps = hunt_draw(p, 0, 300) * PSEC_NS,
	};
	t->cores = t->spines;
	if (t->kind == TOPOLOGY_LEAF_SPINE)
		t->hosts = t->hosts_per_leaf * hunt_draw(p, 2, 4);
	if (t->kind == TOPOLOGY_FAT_TREE)
		t->hosts = t->hosts_per_leaf * t->leaves_per_pod * 2;
}

/* What a transport needs that sprays: ports and planes, EVs, and now and then more packets than a
 * window or a range lets out. */
static void widen(struct hunt_plan *s, struct prng *p)
{
	struct topology_cfg *t = &s->shape;

	t->planes = hunt_draw(p, 1, PORTS_MOST);
	t->nic_ports = t->planes * hunt_draw(p, 1, PORTS_MOST / t->planes);
	t->spines = t->cores = hunt_draw(p, 1, 4);
	s->is_long = prng_chance(p, 1, 4);
	if (!s->is_long)
		return;
	s->message_pkts = LONG_PKTS;
	s->end_works = LONG_WORKS;
	/* So much is on the way at a time that a gap has many behind it. */
	for (uint32_t i = 0; i < TOPOLOGY_TIERS; i++) {
		t->links[i].rate_bps = UINT64_C(400000000000);
		t->links[i].delay_ps += 500 * PSEC_NS;
	}
}

int hunt_draw_fabric(struct hunt_plan *s, struct prng *p, struct prng *spray)
{
	static const enum routing_mode modes[] = {ROUTING_ECMP, ROUTING_ECMP, ROUTING_STRUCTURED,
						  ROUTING_USID};
	char error[256];

	draw_shape(s, p);
	if (s->transport->is_sprayed)
		widen(s, spray);
	s->routing_cfg = (struct routing_cfg){
		.mode = s->shape.kind == TOPOLOGY_WIRE ? ROUTING_ECMP : modes[hunt_draw(p, 0, 3)],
		.hash_fields = FWD_HASH_5TUPLE | FWD_HASH_FLOW_LABEL,
		.ev_layout = {3, {10, 8, 4}},
		.trims = net_trims_of(names.trimmed, names.trimmed_lasthop),
	};
	struct fwd_bdp bdp = {
		.plane_bytes = hunt_draw(p, 20000, 200000),
		.trimming = prng_chance(p, 1, 2),
		.three_classes = true,
		.min_trim_bytes = 92,
	};

	/* Small queues, so that packets are marked and trimmed. */
	if (s->transport->is_sprayed && prng_chance(spray, 2, 3)) {
		bdp.plane_bytes = hunt_draw(spray, 1000, 15000);
		bdp.trimming = prng_chance(spray, 3, 4);
	}
	s->is_trimming = bdp.trimming;
	fwd_qos_recommended(&s->qos, &names, &bdp);
	s->buffer_bytes = prng_chance(p, 1, 2) ? 0 : hunt_draw(p, 50000, 1000000);
	s->nic_queue_pkts = hunt_draw(p, 1, 4);
	if (topology_build(&s->topology, &s->shape, error, sizeof error) ||
	    routing_build(&s->routing, &s->topology, &s->routing_cfg, prng_u64(p), error,
			  sizeof error)) {
		fprintf(stderr, "seed %" PRIu64 ": %s\n", s->seed, error);
		return -EINVAL;
	}
	return 0;
}
