#include "scenario/hosts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/prng.h"
#include "wire/net.h"

uint64_t hosts_line_rate(const struct topology *t, uint32_t host)
{
	const struct topology_node *node = &t->nodes[host];
	uint64_t rate = UINT64_MAX;

	for (uint32_t i = 0; i < node->n_ports; i++)
		if (t->ports[node->first_port + i].rate_bps < rate)
			rate = t->ports[node->first_port + i].rate_bps;
	return rate;
}

uint64_t hosts_rate(const struct topology *t, uint32_t host)
{
	const struct topology_node *node = &t->nodes[host];
	uint64_t rate = 0;

	for (uint32_t i = 0; i < node->n_ports; i++)
		rate += t->ports[node->first_port + i].rate_bps;
	return rate;
}

struct trace_words hosts_words(const struct transport *t)
{
	return t ? transport_words(t) : ref_words();
}

const struct carrier *hosts_carrier(const struct transport *t)
{
	return t ? t->carrier : &carrier_roce;
}

uint32_t hosts_nominal(const struct transport *t, uint32_t payload_bytes)
{
	return payload_bytes + t->data_around_bytes + udp_bytes + ipv6_bytes;
}

uint32_t hosts_draw(const struct hosts *t, uint32_t host, uint32_t qp, enum hosts_draw what)
{
	uint64_t state = t->cfg.seed ^ ((uint64_t)host << 32 | (uint64_t)qp << 2 | what);

	return (uint32_t)(prng_splitmix64(&state) >> 32);
}

uint32_t hosts_entropy(const struct hosts *t, uint32_t i)
{
	uint32_t n_ports = t->cfg.routing->topology->nodes[0].n_ports;

	return routing_entropy(t->cfg.routing, t->cfg.seed + i % n_ports, i / n_ports);
}

int hosts_init(struct hosts *t, const struct hosts_cfg *cfg)
{
	*t = (struct hosts){.cfg = *cfg};
	return cfg->transport ? hosts_init_row(t) : hosts_init_ref(t);
}

void hosts_fini(struct hosts *t)
{
	pairs_fini(&t->pairs);
	free(t->profile_memory);
	free(t->host);
	free(t->evs);
	*t = (struct hosts){0};
}
