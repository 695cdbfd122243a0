/* RC behind the seam: its device, and how its queue pairs are made and connected. */
#include <errno.h>

#include "memory.h"
#include "oracle_rc.h"
#include "rc/rc.h"

struct hunt_device {
	struct hunt_memory memory;
	struct rc_cfg cfg;
};

static const void *configure(struct hunt_device *d, uint32_t host, struct trace *events)
{
	const struct hunt_plan *s = d->memory.plan;

	d->cfg = (struct rc_cfg){
		.trace = {events, host},
		.mem = d->memory.mem,
		.max_qps = HUNT_ENDS,
		.max_srqs = HUNT_HOSTS,
		.n_ports = s->shape.nic_ports,
		.cc =
			{
				.kind = s->has_dcqcn ? CC_DCQCN : CC_FIXED,
				.window_bytes = s->window_bytes,
				.line_rate_bps = s->shape.links[0].rate_bps,
			},
		.ack_every_pkts = s->ack_every,
	};
	return &d->cfg;
}

static int go_to(struct engine *e, uint32_t qp, nsec now, struct engine_attr *attr, uint8_t state,
		 uint32_t set)
{
	attr->state = state;
	return rc_qp_modify(e, now, qp, attr, ENGINE_SET_STATE | set);
}

static int connect(const struct hunt_device *d, struct engine *e, uint32_t end, nsec now)
{
	const struct hunt_end *own = &d->memory.plan->ends[end],
			      *peer = &d->memory.plan->ends[end ^ 1];
	const struct topology *t = &d->memory.plan->topology;
	struct engine_attr attr = {
		.access = MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC,
		.pmtu = (uint16_t)d->memory.plan->pmtu,
		.peer = peer->host,
		/* The address in the plane that the peer sends by. */
		.local = t->ports[t->nodes[peer->host].first_port + peer->port].plane,
		.port = own->port,
		.ev = own->ev,
		.remote_qp = peer->qp,
		.rq_psn = peer->psn,
		.sq_psn = own->psn,
		.rd_atomic = own->rd_atomic,
		.dest_rd_atomic = own->dest_rd_atomic,
		.rnr_timer = own->rnr_timer,
		.timeout = own->timeout,
		.retries = own->retries,
		.rnr_retries = own->rnr_retries,
	};
	int error = go_to(e, own->qp, now, &attr, ENGINE_INIT, ENGINE_SET_ACCESS);

	if (!error)
		error = go_to(e, own->qp, now, &attr, ENGINE_RTR,
			      ENGINE_SET_PMTU | ENGINE_SET_PATH | ENGINE_SET_REMOTE_QP |
				      ENGINE_SET_RQ_PSN | ENGINE_SET_DEST_RD_ATOMIC |
				      ENGINE_SET_RNR_TIMER);
	if (!error)
		error = go_to(e, own->qp, now, &attr, ENGINE_RTS,
			      ENGINE_SET_SQ_PSN | ENGINE_SET_RD_ATOMIC | ENGINE_SET_TIMEOUT |
				      ENGINE_SET_RETRIES | ENGINE_SET_RNR_RETRIES);
	return error;
}

static int open_end(struct hunt_device *d, struct engine *e, uint32_t end, nsec now)
{
	const struct hunt_end *own = &d->memory.plan->ends[end];
	struct rc_caps caps = {
		.max_send = own->max_send,
		.max_recv = own->has_srq ? 0 : own->max_recv,
		.max_send_sge = HUNT_SGE,
		.max_recv_sge = HUNT_SGE,
		.pd = d->memory.plan->arenas[end].pd,
		.srq = own->has_srq ? own->host : RC_NO_SRQ,
	};
	void *memory = hunt_memory_block(&d->memory, rc_qp_size(&caps));
	int error = memory ? hunt_memory_add_end(&d->memory, end) : -ENOMEM;

	if (!error)
		error = rc_qp_new(e, own->qp, &caps, memory);
	return error ? error : connect(d, e, end, now);
}

static int open_shared(struct hunt_device *d, struct engine *e, uint32_t host)
{
	const struct hunt_arena *a = &d->memory.plan->arenas[HUNT_ENDS + host];
	struct engine_srq_caps caps = {.max_recv = HUNT_RECVS, .max_sge = HUNT_SGE, .pd = a->pd};
	void *memory = hunt_memory_block(&d->memory, rc_srq_size(&caps));
	int error = memory ? hunt_memory_add_shared(&d->memory, host) : -ENOMEM;

	return error ? error : rc_srq_new(e, host, &caps, memory);
}

static void count(const struct engine *e, struct hunt_counts *n)
{
	const struct rc_counters *c = rc_counters(e);

	n->tx += c->tx_request + c->tx_retx + c->tx_ack + c->tx_nak + c->tx_response + c->tx_cnp;
	n->timeouts += c->timeouts;
	n->duplicates += c->rx_duplicate;
	n->naks += c->rx_nak;
	n->more[ORACLE_RC_RNR] += c->rx_rnr;
}

/* Timeouts may be four times what was asked for (IBTA 9.7.6.1.3). */
static nsec try_ns(const struct hunt_plan *s, uint32_t end)
{
	return 5 * hunt_timeout_ns(s->ends[end].timeout) +
	       2 * hunt_rnr_ns(s->ends[end ^ 1].rnr_timer);
}

/* A forged RNR NAK may ask for the longest wait that there is. */
static nsec give_up_ns(const struct hunt_plan *s, uint32_t end)
{
	const struct hunt_end *own = &s->ends[end];
	nsec forged = s->has_forgery ? hunt_rnr_ns(0) : 0;

	return forged + 4 * hunt_timeout_ns(own->timeout) * (own->retries + 2u) +
	       hunt_rnr_ns(s->ends[end ^ 1].rnr_timer) * (own->rnr_retries + 2u);
}

static const char *const more[] = {[ORACLE_RC_RNR] = "RNR NAKs", NULL};

const struct hunt_transport hunt_rc = {
	.row = &transport_rc,
	.more = more,
	.try_ns = try_ns,
	.give_up_ns = give_up_ns,
	.device_bytes = sizeof(struct hunt_device),
	.configure = configure,
	.open = open_end,
	.open_shared = open_shared,
	.count = count,
	.wire_new = oracle_rc_new,
	.wire_free = oracle_rc_free,
	.on_output = oracle_rc_output,
	.on_input = oracle_rc_input,
	.on_taken = oracle_rc_taken,
	.end_of = oracle_rc_end_of,
	.print = oracle_rc_print,
};
