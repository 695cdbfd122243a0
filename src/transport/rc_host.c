/* Hosts that run RC. */
#include "rc/rc.h"
#include "transport/rows.h"

static void configure(const struct transport_host *host, void *cfg)
{
	struct rc_cfg *rc = cfg;

	*rc = (struct rc_cfg){
		.mem = host->mem,
		.trace = host->trace,
		.max_qps = host->max_pairs,
		.max_srqs = host->max_srqs,
		.n_ports = host->n_ports,
		.cc = host->cc,
		.total_window_bytes = host->total_window_bytes,
		.own_window_bytes = host->own_window_bytes,
		.cnp_every_ns = host->cnp_every_ns,
		.is_cnp_port_checked = host->device.is_cnp_port_checked,
		.ack_every_pkts = host->ack_every_pkts,
	};
}

const struct transport_host_ops transport_rc_hosts = {
	.cfg_bytes = sizeof(struct rc_cfg),
	.configure = configure,
};
