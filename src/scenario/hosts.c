#include "scenario/hosts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/prng.h"
#include "wire/icrc.h"
#include "wire/mrc.h"

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

uint32_t hosts_draw(const struct hosts *t, uint32_t host, uint32_t qp, enum hosts_draw what)
{
	uint64_t state = t->cfg.seed ^ ((uint64_t)host << 32 | (uint64_t)qp << 2 | what);

	return (uint32_t)(prng_splitmix64(&state) >> 32);
}

static const void *ref_host_cfg(void *context, uint32_t host, uint64_t seed)
{
	struct hosts *t = context;
	uint64_t state = seed ^ (uint64_t)host << 20;

	t->host = (struct ref_cfg){
		.seed = prng_splitmix64(&state),
		.max_qps = t->cfg.qps[host] ? t->cfg.qps[host] : 1,
		.max_ops = t->cfg.ops[host] ? t->cfg.ops[host] : 1,
		.payload_bytes = t->cfg.payload_bytes,
		.window_pkts = t->cfg.window_pkts,
		.ack_every = t->cfg.ack_every,
		.evs = t->evs,
		.n_evs = t->cfg.entropies,
		.n_ports = t->cfg.routing->topology->nodes[host].n_ports,
		.retries = t->cfg.retries,
		.rto_ns = t->cfg.timeout_ns,
	};
	return &t->host;
}

static int ref_open_qp(void *context, struct engine *e, const struct sim_qp *qp)
{
	struct ref_peer peer = {.qp = qp->qp, .peer = qp->peer, .remote_qp = qp->peer_qp};

	(void)context;
	return ref_open(e, &peer);
}

static uint64_t ref_retransmitted(const struct engine *e)
{
	const struct ref_counters *c = ref_counters(e);

	return c->tx_retx_nack + c->tx_retx_timeout;
}

static uint64_t ref_received(const struct engine *e)
{
	return ref_counters(e)->rx_bytes;
}

int hosts_init_ref(struct hosts *t, const struct hosts_cfg *cfg)
{
	*t = (struct hosts){.cfg = *cfg};
	t->sim = (struct sim_transport){
		.name = "ref",
		.ops = &ref_ops,
		.carrier = &carrier_roce,
		.head_bytes = mrc_bth_bytes + seth_bytes + cc_state_bytes,
		.payload_bytes = cfg->payload_bytes,
		.data_head_bytes = mrc_bth_bytes + meth_bytes + reth_bytes + icrc_bytes,
		.ack_bytes = mrc_bth_bytes + seth_bytes + cc_state_bytes + icrc_bytes,
		.context = t,
		.host_cfg = ref_host_cfg,
		.open = ref_open_qp,
		.retransmitted = ref_retransmitted,
		.received = ref_received,
	};
	t->evs = malloc(cfg->entropies * sizeof *t->evs);
	if (!t->evs)
		return -ENOMEM;
	uint32_t n_ports = cfg->routing->topology->nodes[0].n_ports;

	/* Value i belongs to port i % n_ports: those of one port follow each other, or a port would
	 * miss the paths between. */
	for (uint32_t i = 0; i < cfg->entropies; i++)
		t->evs[i] = routing_entropy(cfg->routing, cfg->seed + i % n_ports, i / n_ports);
	return 0;
}

void hosts_fini(struct hosts *t)
{
	hosts_fini_rc(t);
	hosts_fini_mrc(t);
	free(t->evs);
	*t = (struct hosts){0};
}
