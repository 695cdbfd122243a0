#include <errno.h>
#include <stdlib.h>

#include "rc/rc.h"
#include "scenario/hosts.h"
#include "scenario/pairs.h"
#include "wire/icrc.h"
#include "wire/roce.h"

#define TIMEOUT_UNIT UINT64_C(4096)
#define TIMEOUT_LAST 31u
#define RNR_TIMER    1u /* 10 us; each message finds a receive, unless packets are forged */
#define RNR_RETRIES  7u

struct hosts_rc {
	struct rc_cfg host; /* of the host asked for last */
	struct pairs pairs;
};

uint8_t hosts_rc_timeout(nsec ns)
{
	uint8_t code = 1;

	while (code < TIMEOUT_LAST && hosts_rc_timeout_ns(code) < ns)
		code++;
	return code;
}

nsec hosts_rc_timeout_ns(uint8_t code)
{
	return TIMEOUT_UNIT << code;
}

static const void *rc_host_cfg(void *context, uint32_t host, uint64_t seed)
{
	struct hosts *t = context;
	const struct topology *topology = t->cfg.routing->topology;

	(void)seed;
	pairs_forget(&t->rc->pairs, host);
	t->rc->host = (struct rc_cfg){
		.mem = t->rc->pairs.mem,
		.max_qps = t->cfg.qps[host] ? t->cfg.qps[host] : 1,
		.n_ports = topology->nodes[host].n_ports,
		.cc =
			{
				.kind = t->cfg.has_dcqcn ? CC_DCQCN : CC_FIXED,
				.window_bytes = (uint64_t)t->cfg.window_pkts * t->cfg.payload_bytes,
				.line_rate_bps = hosts_line_rate(topology, host),
				.dcqcn = t->cfg.dcqcn,
			},
		.cnp_every_ns = t->cfg.cnp_every_ns,
		.ack_every_pkts = t->cfg.ack_every,
	};
	return &t->rc->host;
}

static uint32_t capped(uint32_t n)
{
	return n < RC_WR_MAX ? n : RC_WR_MAX;
}

static int go_to(struct engine *e, const struct sim_qp *qp, struct rc_attr *attr, uint8_t state,
		 uint32_t set)
{
	attr->state = state;
	return rc_qp_modify(e, qp->now, qp->qp, attr, RC_SET_STATE | set);
}

/* The port that an end of a connection sends by, among its host's. */
static uint8_t port_of(const struct hosts *t, uint32_t host, uint32_t qp)
{
	return (uint8_t)(hosts_draw(t, host, qp, HOSTS_DRAW_PORT) %
			 t->cfg.routing->topology->nodes[host].n_ports);
}

/* The address of ours that its peer sends to is the one in the plane of the peer's port. */
static uint32_t address_of(const struct hosts *t, const struct sim_qp *qp)
{
	const struct topology *topology = t->cfg.routing->topology;
	uint32_t port = port_of(t, qp->peer, qp->peer_qp);

	return topology->ports[topology->nodes[qp->peer].first_port + port].plane;
}

/* From RC_RESET to RC_RTS. */
static int connect(const struct hosts *t, struct engine *e, const struct sim_qp *qp)
{
	uint32_t path = hosts_draw(t, qp->host, qp->qp, HOSTS_DRAW_PATH) & 0xffff;
	struct rc_attr attr = {
		.access = MEM_REMOTE_WRITE,
		.pmtu = (uint16_t)t->cfg.payload_bytes,
		.peer = qp->peer,
		.local = address_of(t, qp),
		.port = port_of(t, qp->host, qp->qp),
		.ev = routing_entropy(t->cfg.routing, t->cfg.seed, path),
		.remote_qp = qp->peer_qp,
		.rq_psn = hosts_draw(t, qp->peer, qp->peer_qp, HOSTS_DRAW_PSN) % RC_NUMBERS,
		.sq_psn = hosts_draw(t, qp->host, qp->qp, HOSTS_DRAW_PSN) % RC_NUMBERS,
		.rnr_timer = RNR_TIMER,
		.timeout = hosts_rc_timeout(t->cfg.timeout_ns),
		.retries = (uint8_t)t->cfg.retries,
		.rnr_retries = RNR_RETRIES,
	};

	int error = go_to(e, qp, &attr, RC_INIT, RC_SET_ACCESS);

	if (!error)
		error = go_to(e, qp, &attr, RC_RTR,
			      RC_SET_PMTU | RC_SET_PATH | RC_SET_REMOTE_QP | RC_SET_RQ_PSN |
				      RC_SET_DEST_RD_ATOMIC | RC_SET_RNR_TIMER);
	if (!error)
		error = go_to(e, qp, &attr, RC_RTS,
			      RC_SET_SQ_PSN | RC_SET_RD_ATOMIC | RC_SET_TIMEOUT | RC_SET_RETRIES |
				      RC_SET_RNR_RETRIES);
	return error;
}

static int rc_open(void *context, struct engine *e, const struct sim_qp *qp)
{
	struct hosts *t = context;
	struct rc_caps caps = {
		.max_send = qp->sends ? capped(qp->sends) : 1,
		.max_recv = capped(qp->takes),
		.max_send_sge = 1,
		.srq = RC_NO_SRQ,
	};
	size_t bytes = rc_qp_size(&caps);
	void *memory = bytes ? pairs_new(&t->rc->pairs, qp->host, bytes) : NULL;

	if (!memory)
		return bytes ? -ENOMEM : -EINVAL;
	int error = rc_qp_new(e, qp->qp, &caps, memory);

	if (error) {
		pairs_undo(&t->rc->pairs, qp->host);
		return error;
	}
	error = connect(t, e, qp);
	return error ? error : pairs_receive(e, qp, caps.max_recv);
}

static uint64_t rc_retransmitted(const struct engine *e)
{
	return rc_counters(e)->tx_retx;
}

static uint64_t rc_received(const struct engine *e)
{
	return rc_counters(e)->rx_bytes;
}

int hosts_init_rc(struct hosts *t, const struct hosts_cfg *cfg)
{
	*t = (struct hosts){.cfg = *cfg};
	t->sim = (struct sim_transport){
		.name = "rc",
		.ops = &rc_ops,
		.carrier = &carrier_roce,
		.head_bytes = RC_HEAD_BYTES,
		.payload_bytes = cfg->payload_bytes,
		.data_head_bytes = bth_bytes + icrc_bytes,
		.ack_bytes = bth_bytes + aeth_bytes + icrc_bytes,
		.key = PAIRS_KEY,
		.takes_receives = true,
		.context = t,
		.host_cfg = rc_host_cfg,
		.open = rc_open,
		.retransmitted = rc_retransmitted,
		.received = rc_received,
	};
	t->rc = calloc(1, sizeof *t->rc);
	if (!t->rc)
		return -ENOMEM;
	int error = pairs_init(&t->rc->pairs, cfg->routing->topology->n_hosts);

	t->mem = t->rc->pairs.mem;
	return error;
}

void hosts_fini_rc(struct hosts *t)
{
	if (t->rc)
		pairs_fini(&t->rc->pairs);
	free(t->rc);
}
