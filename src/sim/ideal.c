#include "sim/ideal.h"

#include "wire/net.h"

#define HOPS_MAX 16u

/* Packets that follow each other along a path: so many full ones, then one of last_bytes. */
struct train {
	uint64_t full;
	uint32_t full_bytes, last_bytes;
};

/* When the last bit of the last packet is there. The full ones keep the distance of the slowest
 * link so far; the last waits for them at every hop, and may be too short to catch up. */
static psec time_of(const struct sim *s, const uint32_t *hops, uint32_t n,
		    const struct train *train)
{
	psec first = 0, slowest = 0, last = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct sim_port *port = &s->ports[hops[i]];
		uint32_t around = s->cfg.overhead_bytes;
		psec full_ps = psec_of_bytes(train->full_bytes + around, port->rate_bps);

		slowest = full_ps > slowest ? full_ps : slowest;
		first += full_ps;
		if (train->full && first + (train->full - 1) * slowest > last)
			last = first + (train->full - 1) * slowest;
		first += port->delay_ps;
		last += psec_of_bytes(train->last_bytes + around, port->rate_bps) + port->delay_ps;
	}
	return last;
}

psec ideal_time(const struct sim *s, uint32_t src, uint32_t dst, uint64_t bytes)
{
	const struct sim_transport *t = s->cfg.transport;
	uint32_t hops[HOPS_MAX], back[HOPS_MAX];
	uint32_t n = routing_hops(s->cfg.routing, src, 0, dst, 0, hops, HOPS_MAX);
	uint32_t n_back = routing_hops(s->cfg.routing, dst, 0, src, 0, back, HOPS_MAX);
	uint32_t ports = s->cfg.topology->nodes[src].n_ports;
	uint64_t full = (bytes - 1) / t->payload_bytes; /* packets before the last */
	uint32_t around = s->encap_bytes + t->data_head_bytes;
	struct train ack = {.last_bytes = s->encap_bytes + t->ack_bytes};
	struct train data = {
		.full = full / ports,
		.full_bytes = around + t->payload_bytes,
		.last_bytes = around + (uint32_t)(bytes - full * t->payload_bytes),
	};

	/* Ports that do not have the last packet have a full one as their last. */
	if (full % ports)
		data.last_bytes = data.full_bytes;
	return time_of(s, hops, n, &data) + time_of(s, back, n_back, &ack);
}
