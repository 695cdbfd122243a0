#include <errno.h>
#include <stdlib.h>

#include "mrc/mrc.h"
#include "scenario/hosts.h"
#include "scenario/pairs.h"
#include "wire/icrc.h"
#include "wire/mrc.h"
#include "wire/net.h"

#define TIMEOUT_UNIT  UINT64_C(1024)
#define POOL_MAX      (UINT64_C(1) << 25) /* packets of a host's pools: 1024 largest ranges */
#define EV_FAULTS_MIN 4096u
#define EV_FAULTS_MAX (UINT64_C(1) << 22)
#define SLACK_PKTS    128u /* of each queue pair: chunks are seldom full */
#define FIRST_QP      3u   /* lower ones are special on the wire (M-28) */
#define DATA_HEAD     (mrc_bth_bytes + meth_bytes + tseth_bytes + reth_bytes + icrc_bytes)

struct hosts_mrc {
	struct mrc_cfg host; /* of the host asked for last */
	struct pairs pairs;
	struct path_profile profile; /* hosts of a fabric have the same ports */
	void *profile_memory;
};

uint8_t hosts_mrc_timeout(nsec ns)
{
	uint8_t code = 0;

	while (code < MRC_TIMEOUT_MAX && hosts_mrc_timeout_ns(code) < ns)
		code++;
	return code;
}

nsec hosts_mrc_timeout_ns(uint8_t code)
{
	return TIMEOUT_UNIT << code;
}

uint32_t hosts_mrc_nominal(uint32_t payload_bytes)
{
	return payload_bytes + DATA_HEAD + udp_bytes + ipv6_bytes;
}

static uint32_t pool_pkts(uint32_t qps, uint32_t each)
{
	uint64_t pkts = (uint64_t)qps * (each + SLACK_PKTS);

	return (uint32_t)(pkts < POOL_MAX ? pkts : POOL_MAX);
}

/* A record for every EV of every queue pair, and each of its ports. */
static uint32_t pool_ev_faults(uint32_t qps, uint32_t evs)
{
	uint64_t n = (uint64_t)qps * (evs + PATH_PORTS);

	return (uint32_t)(n < EV_FAULTS_MIN   ? EV_FAULTS_MIN
			  : n < EV_FAULTS_MAX ? n
					      : EV_FAULTS_MAX);
}

static const void *mrc_host_cfg(void *context, uint32_t host, uint64_t seed)
{
	struct hosts *t = context;
	const struct topology *topology = t->cfg.routing->topology;
	uint32_t qps = t->cfg.qps[host] ? t->cfg.qps[host] : 1;

	pairs_forget(&t->mrc->pairs, host);
	t->mrc->host = (struct mrc_cfg){
		.mem = t->mrc->pairs.mem,
		.max_qps = qps,
		.n_ports = topology->nodes[host].n_ports,
		.cc =
			{
				.kind = t->cfg.cc,
				.window_bytes = t->cfg.window_bytes,
				.line_rate_bps = hosts_rate(topology, host),
				.nscc = t->cfg.nscc,
			},
		.max_ev_faults = pool_ev_faults(qps, t->cfg.entropies),
		.max_out_pkts = pool_pkts(qps, t->cfg.window_pkts),
		.max_early_pkts = pool_pkts(qps, t->cfg.mpr * MRC_MPR_UNIT),
		.has_trim_nack = t->cfg.has_trim_nack,
		.seed = seed,
	};
	return &t->mrc->host;
}

static uint32_t capped(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

static int go_to(struct engine *e, const struct sim_qp *qp, struct mrc_attr *attr, uint8_t state,
		 uint32_t set)
{
	attr->state = state;
	return mrc_qp_modify(e, qp->now, qp->qp, attr, MRC_SET_STATE | set);
}

/* From MRC_RESET to MRC_RTS. */
static int connect(const struct hosts *t, struct engine *e, const struct sim_qp *qp)
{
	struct mrc_attr attr = {
		.access = MEM_REMOTE_WRITE,
		.pmtu = (uint16_t)t->cfg.payload_bytes,
		.peer = qp->peer,
		.evs = &t->mrc->profile,
		.remote_qp = qp->peer_qp,
		.rq_psn = hosts_draw(t, qp->peer, qp->peer_qp, HOSTS_DRAW_PSN) % MRC_NUMBERS,
		.sq_psn = hosts_draw(t, qp->host, qp->qp, HOSTS_DRAW_PSN) % MRC_NUMBERS,
		.timeout = hosts_mrc_timeout(t->cfg.timeout_ns),
		.linear_retries = (uint8_t)t->cfg.retries,
		.exp_retries = (uint8_t)t->cfg.exp_retries,
		.mpr = (uint8_t)t->cfg.mpr,
		.mpr_dest = (uint8_t)t->cfg.mpr,
		.wimm_dest = (uint16_t)capped(qp->sends, MRC_WIMM_MAX),
		.flags = (uint8_t)((t->cfg.has_trim_nack ? MRC_PEER_TRIM_NACK : 0) |
				   (t->cfg.counts_trims ? MRC_COUNT_TRIMS : 0) |
				   (t->cfg.is_oblivious ? MRC_OBLIVIOUS : 0)),
	};
	int error = go_to(e, qp, &attr, MRC_INIT, MRC_SET_ACCESS);

	if (!error)
		error = go_to(e, qp, &attr, MRC_RTR,
			      MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP | MRC_SET_RQ_PSN |
				      MRC_SET_MPR | MRC_SET_FLAGS);
	if (!error)
		error = go_to(e, qp, &attr, MRC_RTS,
			      MRC_SET_SQ_PSN | MRC_SET_MPR_DEST | MRC_SET_WIMM_DEST |
				      MRC_SET_TIMEOUT | MRC_SET_RETRIES);
	return error;
}

static int mrc_open(void *context, struct engine *e, const struct sim_qp *qp)
{
	struct hosts *t = context;
	struct mrc_caps caps = {
		.max_send = qp->sends ? capped(qp->sends, MRC_WR_MAX) : 1,
		.max_recv = capped(qp->takes, MRC_WR_MAX),
		.max_send_sge = 1,
		.max_mpr = (uint8_t)t->cfg.mpr,
		.max_wimm = (uint16_t)capped(qp->takes, MRC_WIMM_MAX),
		.max_evs = (uint16_t)t->cfg.entropies,
	};
	size_t bytes = mrc_qp_size(&caps);
	void *memory = bytes ? pairs_new(&t->mrc->pairs, qp->host, bytes) : NULL;

	if (!memory)
		return bytes ? -ENOMEM : -EINVAL;
	int error = mrc_qp_new(e, qp->qp, &caps, memory);

	if (error) {
		pairs_undo(&t->mrc->pairs, qp->host);
		return error;
	}
	error = connect(t, e, qp);
	return error ? error : pairs_receive(e, qp, caps.max_recv);
}

static uint64_t mrc_retransmitted(const struct engine *e)
{
	return mrc_counters(e)->tx_retx;
}

static uint64_t mrc_probes(const struct engine *e)
{
	const struct mrc_counters *c = mrc_counters(e);

	return c->tx_probe + c->tx_fault_probe + c->tx_endpoint + c->tx_endpoint_re;
}

static bool mrc_is_probe(uint8_t opcode)
{
	return opcode == MRC_OP_PROBE_REQUEST;
}

static uint64_t mrc_received(const struct engine *e)
{
	return mrc_counters(e)->rx_bytes;
}

/* EV i leaves by port i modulo their number: those of one port follow each other, or a port would
 * miss the paths between. */
static int init_evs(struct hosts_mrc *mrc, const struct hosts_cfg *cfg)
{
	uint32_t n_ports = cfg->routing->topology->nodes[0].n_ports;
	struct path_ev *evs = malloc(cfg->entropies * sizeof *evs);

	mrc->profile_memory = malloc(path_profile_size(cfg->entropies));
	if (!evs || !mrc->profile_memory) {
		free(evs);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < cfg->entropies; i++) {
		uint64_t seed = cfg->seed + i % n_ports;

		evs[i].value = routing_entropy(cfg->routing, seed, i / n_ports);
		evs[i].port = i % n_ports;
	}
	enum path_error error =
		path_profile_explicit(&mrc->profile, mrc->profile_memory, evs, cfg->entropies);

	free(evs);
	return error == PATH_OK ? 0 : -EINVAL;
}

int hosts_init_mrc(struct hosts *t, const struct hosts_cfg *cfg)
{
	*t = (struct hosts){.cfg = *cfg};
	t->sim = (struct sim_transport){
		.name = "mrc",
		.ops = &mrc_ops,
		.carrier = &carrier_roce,
		.head_bytes = MRC_HEAD_BYTES,
		.payload_bytes = cfg->payload_bytes,
		.data_head_bytes = DATA_HEAD,
		.ack_bytes = mrc_bth_bytes + seth_bytes + cc_state_bytes + icrc_bytes,
		.first_qp = FIRST_QP,
		.key = PAIRS_KEY,
		.takes_receives = true,
		.context = t,
		.host_cfg = mrc_host_cfg,
		.open = mrc_open,
		.retransmitted = mrc_retransmitted,
		.received = mrc_received,
		.probes = mrc_probes,
		.is_probe = mrc_is_probe,
	};
	t->mrc = calloc(1, sizeof *t->mrc);
	if (!t->mrc)
		return -ENOMEM;
	int error = pairs_init(&t->mrc->pairs, cfg->routing->topology->n_hosts);

	t->mem = t->mrc->pairs.mem;
	return error ? error : init_evs(t->mrc, cfg);
}

void hosts_fini_mrc(struct hosts *t)
{
	if (t->mrc) {
		pairs_fini(&t->mrc->pairs);
		free(t->mrc->profile_memory);
	}
	free(t->mrc);
}
