#include "sim/ideal.h"

#include <stdbool.h>

#define HOPS_MAX  16u
#define PATHS_MAX 64u

/* A message cut into packets: so many full ones, then the last. Frame bytes. */
struct cut {
	uint64_t full;
	uint32_t full_bytes, last_bytes;
};

static psec time_of(const struct sim *s, uint32_t port, uint32_t frame_bytes)
{
	return psec_of_bytes(frame_bytes + s->cfg.overhead_bytes, s->ports[port].rate_bps);
}

/* How long one packet takes from a port of src to dst, by the fastest of its paths: they differ
 * where links do. */
static psec latency(const struct sim *s, uint32_t src, uint32_t port, uint32_t dst,
		    uint32_t frame_bytes)
{
	const struct routing *r = s->cfg.routing;
	uint32_t n_paths = routing_n_paths(r, src, port, dst), hops[HOPS_MAX];
	psec least = PSEC_NEVER;

	for (uint32_t path = 0; path < n_paths && path < PATHS_MAX; path++) {
		uint32_t n = routing_hops(r, src, port, dst, path, hops, HOPS_MAX);
		psec sum = 0;

		for (uint32_t i = 0; i < n; i++)
			sum += s->ports[hops[i]].delay_ps + time_of(s, hops[i], frame_bytes);
		if (n && sum < least)
			least = sum;
	}
	return least;
}

static psec least_latency(const struct sim *s, uint32_t src, uint32_t dst, uint32_t frame_bytes)
{
	psec least = PSEC_NEVER;

	for (uint32_t port = 0; port < s->cfg.topology->nodes[src].n_ports; port++) {
		psec here = latency(s, src, port, dst, frame_bytes);

		least = here < least ? here : least;
	}
	return least == PSEC_NEVER ? 0 : least;
}

/* When the last packet of a train has arrived that takes one path: full packet j leaves hop h a
 * slowest hop's time after packet j - 1, and the last one comes behind it. */
static psec train_on_path(const struct sim *s, const uint32_t *hops, uint32_t n,
			  const struct cut *cut)
{
	psec first = 0, slowest = 0, last = 0;

	for (uint32_t i = 0; i < n; i++) {
		psec t = time_of(s, hops[i], cut->full_bytes);

		slowest = t > slowest ? t : slowest;
		first += t;
		psec free_at = cut->full ? first + (cut->full - 1) * slowest : 0;

		last = last > free_at ? last : free_at;
		last += time_of(s, hops[i], cut->last_bytes) + s->ports[hops[i]].delay_ps;
		first += s->ports[hops[i]].delay_ps;
	}
	return last;
}

/* The same for a port whose packets are sprayed over several paths: only its own link and the last
 * one are shared by all of them. */
static psec train_sprayed(const struct sim *s, uint32_t src, uint32_t port, uint32_t dst,
			  const struct cut *cut)
{
	uint32_t hops[HOPS_MAX], own = s->cfg.topology->nodes[src].first_port + port;
	uint32_t n = routing_hops(s->cfg.routing, src, port, dst, 0, hops, HOPS_MAX);
	psec out = time_of(s, own, cut->full_bytes);
	psec in = time_of(s, hops[n - 1], cut->full_bytes);
	psec behind = cut->full * out + latency(s, src, port, dst, cut->last_bytes);

	if (cut->full == 0)
		return behind;
	psec queued = latency(s, src, port, dst, cut->full_bytes) +
		      (cut->full - 1) * (out > in ? out : in) +
		      time_of(s, hops[n - 1], cut->last_bytes);

	return behind > queued ? behind : queued;
}

static psec train(const struct sim *s, uint32_t src, uint32_t port, uint32_t dst,
		  const struct cut *cut)
{
	uint32_t hops[HOPS_MAX];
	uint32_t n = routing_hops(s->cfg.routing, src, port, dst, 0, hops, HOPS_MAX);

	if (n == 0)
		return 0;
	if (routing_n_paths(s->cfg.routing, src, port, dst) == 1)
		return train_on_path(s, hops, n, cut);
	return train_sprayed(s, src, port, dst, cut);
}

/* Whether all ports of src are as good as each other on the way to dst. */
static bool are_ports_equal(const struct sim *s, uint32_t src, uint32_t dst, uint32_t frame_bytes)
{
	const struct topology_node *node = &s->cfg.topology->nodes[src];

	for (uint32_t i = 1; i < node->n_ports; i++)
		if (s->ports[node->first_port + i].rate_bps !=
			    s->ports[node->first_port].rate_bps ||
		    latency(s, src, i, dst, frame_bytes) != latency(s, src, 0, dst, frame_bytes))
			return false;
	return true;
}

/* All of a message through ports that differ: no faster than their rates together, nor than the
 * first packet by the fastest of them. */
static psec through_unequal_ports(const struct sim *s, uint32_t src, uint32_t dst,
				  const struct cut *cut)
{
	const struct topology_node *node = &s->cfg.topology->nodes[src];
	uint64_t total_bps = 0,
		 beyond = cut->full + 1 > node->n_ports ? cut->full + 1 - node->n_ports : 0;
	psec first = least_latency(s, src, dst, cut->last_bytes);

	for (uint32_t i = 0; i < node->n_ports; i++)
		total_bps += s->ports[node->first_port + i].rate_bps;
	uint64_t bits = 8 * ((uint64_t)cut->full_bytes + s->cfg.overhead_bytes);

	return first + (psec)((unsigned __int128)beyond * bits * PSEC_S / total_bps);
}

psec ideal_time(const struct sim *s, uint32_t src, uint32_t dst, uint64_t bytes)
{
	const struct sim_transport *t = s->cfg.transport;
	uint32_t around = s->encap_bytes + t->data_head_bytes;
	uint32_t ports = s->cfg.topology->nodes[src].n_ports;
	uint64_t full = (bytes - 1) / t->payload_bytes;
	struct cut all = {
		.full = full,
		.full_bytes = around + t->payload_bytes,
		.last_bytes = around + (uint32_t)(bytes - full * t->payload_bytes),
	};
	psec ack = least_latency(s, dst, src, s->encap_bytes + t->ack_bytes);

	if (!are_ports_equal(s, src, dst, all.full_bytes))
		return through_unequal_ports(s, src, dst, &all) + ack;
	/* Dealt out in turn: the port that gets the last packet, and the one with most full ones.
	 */
	struct cut with_last = {full / ports, all.full_bytes, all.last_bytes};
	struct cut fullest = {(full + ports - 1) / ports, all.full_bytes, all.full_bytes};
	psec time = train(s, src, 0, dst, &with_last);

	if (ports > 1 && full > 0) {
		fullest.full--;
		psec other = train(s, src, 0, dst, &fullest);

		time = other > time ? other : time;
	}
	return time + ack;
}
