/* Hosts that run the reference transport. */
#include <errno.h>
#include <stdlib.h>

#include "base/prng.h"
#include "scenario/hosts.h"
#include "wire/icrc.h"
#include "wire/mrc.h"

static const void *host_cfg(void *context, uint32_t host, uint64_t seed)
{
	struct hosts *t = context;
	uint64_t state = seed ^ (uint64_t)host << 20;
	struct ref_cfg *cfg = t->host;

	*cfg = (struct ref_cfg){
		.seed = prng_splitmix64(&state),
		.max_qps = t->cfg.qps[host] ? t->cfg.qps[host] : 1,
		.max_ops = t->cfg.ops[host] ? t->cfg.ops[host] : 1,
		.payload_bytes = t->cfg.payload_bytes,
		.window_pkts = t->cfg.window_pkts,
		.ack_every = t->cfg.options.ack_every_pkts,
		.evs = t->evs,
		.n_evs = t->cfg.entropies,
		.n_ports = t->cfg.routing->topology->nodes[host].n_ports,
		.retries = t->cfg.options.retries,
		.rto_ns = t->cfg.timeout_ns,
		.trace = {t->cfg.trace, host},
	};
	return cfg;
}

static int open_qp(void *context, struct engine *e, const struct sim_qp *qp)
{
	struct ref_peer peer = {.qp = qp->qp, .peer = qp->peer, .remote_qp = qp->peer_qp};

	(void)context;
	return ref_open(e, &peer);
}

static uint64_t retransmitted(void *context, const struct engine *e)
{
	const struct ref_counters *c = ref_counters(e);

	(void)context;
	return c->tx_retx_nack + c->tx_retx_timeout;
}

static uint64_t received(void *context, const struct engine *e)
{
	(void)context;
	return ref_counters(e)->rx_bytes;
}

int hosts_init_ref(struct hosts *t)
{
	const struct hosts_cfg *cfg = &t->cfg;

	t->sim = (struct sim_transport){
		.name = "ref",
		.ops = &ref_ops,
		.carrier = hosts_carrier(NULL),
		.head_bytes = mrc_bth_bytes + seth_bytes + cc_state_bytes,
		.payload_bytes = cfg->payload_bytes,
		.data_head_bytes = mrc_bth_bytes + meth_bytes + reth_bytes + icrc_bytes,
		.ack_bytes = mrc_bth_bytes + seth_bytes + cc_state_bytes + icrc_bytes,
		.context = t,
		.host_cfg = host_cfg,
		.open = open_qp,
		.retransmitted = retransmitted,
		.received = received,
	};
	t->host = calloc(1, sizeof(struct ref_cfg));
	t->evs = malloc(cfg->entropies * sizeof *t->evs);
	if (!t->host || !t->evs)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->entropies; i++)
		t->evs[i] = hosts_entropy(t, i);
	return 0;
}
