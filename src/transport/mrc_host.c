/* Hosts that run MRC. */
#include "mrc/mrc.h"
#include "transport/rows.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* An answer of software costs a call to the kernel at either end: one for two bursts of
 * segmentation offload is enough, and the packet that fills a window asks for one. */
#define SACK_EVERY_BYTES 131072u

#define POOL_MAX      (UINT64_C(1) << 25) /* packets of a host's pools: 1024 largest ranges */
#define EV_FAULTS_MIN 4096u
#define EV_FAULTS_MAX (UINT64_C(1) << 22)
#define SLACK_PKTS    128u /* of each queue pair: chunks are seldom full */

/* A process that waits for a processor is away for milliseconds without anything being wrong with
 * an EV. */
static const struct path_cfg software_path = {
	.backoff_ns = 2 * MS,
	.backoff_max_ns = 100 * MS,
	.backoff_port_ns = 20 * MS,
	.probe_gap_ns = 20 * US,
	.memory_ns = 1000 * MS,
	.witness_ns = 2 * MS,
	.suspect_ns = 10 * MS,
};

static uint32_t pool_pkts(uint32_t pairs, uint32_t each)
{
	uint64_t pkts = (uint64_t)pairs * (each + SLACK_PKTS);

	return (uint32_t)(pkts < POOL_MAX ? pkts : POOL_MAX);
}

/* A record for every EV of every queue pair, and each of its ports. */
static uint32_t pool_ev_faults(uint32_t pairs, uint32_t evs)
{
	uint64_t n = (uint64_t)pairs * (evs + PATH_PORTS);

	return (uint32_t)(n < EV_FAULTS_MIN   ? EV_FAULTS_MIN
			  : n < EV_FAULTS_MAX ? n
					      : EV_FAULTS_MAX);
}

/* Room for what all queue pairs have under way: the block is as large as the most that there may be
 * need, and its pages cost nothing until a queue pair uses them. */
static void size_pools(const struct transport_host *host, struct mrc_cfg *mrc)
{
	if (host->device.pool_bytes) {
		mrc_cfg_fit(mrc, host->device.pool_bytes, host->pair_evs);
		return;
	}
	mrc->max_ev_faults = pool_ev_faults(host->max_pairs, host->pair_evs);
	mrc->max_out_pkts = pool_pkts(host->max_pairs, host->pair_out_pkts);
	mrc->max_early_pkts = pool_pkts(host->max_pairs, host->pair_ahead_pkts);
}

static void configure(const struct transport_host *host, void *cfg)
{
	struct mrc_cfg *mrc = cfg;

	*mrc = (struct mrc_cfg){
		.mem = host->mem,
		.trace = host->trace,
		.max_qps = host->max_pairs,
		.n_ports = host->n_ports,
		.cc = host->cc,
		.stranger_rate = host->device.stranger_rate == TRANSPORT_NO_STRANGERS
					 ? MRC_NO_STRANGERS
					 : host->device.stranger_rate,
		.seed = host->seed,
		.has_id_tag = host->shares_address,
		.id_tag = host->tag,
		.has_trim_nack = host->does & TRANSPORT_ANSWERS_TRIMS,
		.has_service_time = host->does & TRANSPORT_TELLS_TIME,
	};
	if (host->is_software) {
		mrc->path = software_path;
		mrc->sack_every_bytes = SACK_EVERY_BYTES;
		/* One that takes a turn of the EVs would cut bursts for good. */
		mrc->has_base_probe = !host->has_bursts;
	}
	size_pools(host, mrc);
}

const struct transport_host_ops transport_mrc_hosts = {
	.cfg_bytes = sizeof(struct mrc_cfg),
	.configure = configure,
};
