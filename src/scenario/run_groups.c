/* The multicast groups of a run: their trees, and what their members go by. */
#include <errno.h>
#include <stdio.h>

#include "scenario/run.h"
#include "wire/net.h"

/* The port of a host in a plane; UINT32_MAX: it has none. */
static uint32_t port_in(const struct topology *t, uint32_t host, uint32_t plane)
{
	const struct topology_node *node = &t->nodes[host];

	for (uint32_t i = 0; i < node->n_ports; i++)
		if (t->ports[node->first_port + i].plane == plane)
			return i;
	return UINT32_MAX;
}

/* A group lives in the plane of the port that its source draws. */
static int place_members(struct run *r, struct traffic_group *g, char *error, size_t error_len)
{
	const struct topology *t = &r->scenario->topology;
	uint32_t first = r->hosts.sim.first_qp;

	g->source.qpn += first;
	g->source.port = hosts_draw(&r->hosts, g->source.host, g->source.qpn, HOSTS_DRAW_PORT) %
			 t->nodes[g->source.host].n_ports;
	g->psn = hosts_draw(&r->hosts, g->source.host, g->source.qpn, HOSTS_DRAW_PSN) & 0xffffff;
	uint32_t plane = t->ports[t->nodes[g->source.host].first_port + g->source.port].plane;

	for (uint32_t i = 0; i < g->n_receivers; i++) {
		g->receivers[i].qpn += first;
		g->receivers[i].port = port_in(t, g->receivers[i].host, plane);
		if (g->receivers[i].port == UINT32_MAX) {
			snprintf(error, error_len,
				 "workload: %s has no port in plane %u of its group",
				 t->labels[g->receivers[i].host], plane);
			return -EINVAL;
		}
	}
	return 0;
}

int run_init_groups(struct run *r, char *error, size_t error_len)
{
	const struct scenario *s = r->scenario;
	const struct scenario_groups *how = &s->groups;
	const struct sim_transport *t = &r->hosts.sim;
	struct groups_cfg cfg = {.window_ps = how->window_ps, .dscp = s->names.control};
	int answer = groups_init(&r->groups, &r->routing, &cfg);

	for (uint32_t i = 0; !answer && i < s->workload.n_groups; i++) {
		struct traffic_group *g = &r->traffic.groups[i];

		answer = place_members(r, g, error, error_len);
		if (answer)
			break;
		struct groups_one one = {
			.source = g->source,
			.receivers = g->receivers,
			.n_receivers = g->n_receivers,
			.by_tlv = how->by_tlv,
			.most_bytes = ipv6_bytes + udp_bytes + carrier_around_bytes(t->carrier) +
				      t->payload_bytes,
			.merge =
				{
					.has_start = true,
					.start = psn24_of(g->psn),
					.as_printed = how->as_printed,
					.ejects = how->ejects,
					.silent_after = how->silent_after,
				},
		};

		int number = groups_add(&r->groups, &one, error, error_len);

		answer = number < 0 ? number : 0;
	}
	return answer;
}
