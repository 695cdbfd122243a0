/* RC behind the seam: one memory table a host, one region for each of an arena's parts, queue pairs
 * in memory with guards around it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_rc.h"
#include "rc/rc.h"

#define ENTRIES (3 * HUNT_ENDS + 1)
#define BLOCKS  (HUNT_ENDS + 1)
#define CANARY  0xa5

/* Memory that the engine has, with a guard on either side. */
struct block {
	uint8_t *memory;
	size_t bytes;
};

struct hunt_device {
	const struct hunt_story *story;
	uint32_t host;
	struct mem *mem;
	void *table;
	struct rc_cfg cfg;
	struct block blocks[BLOCKS];
	uint32_t n_blocks;
};

static struct hunt_device *device_new(const struct hunt_story *s, uint32_t host)
{
	struct hunt_device *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->table = calloc(1, mem_bytes(ENTRIES));
	if (!d->table) {
		free(d);
		return NULL;
	}
	d->story = s;
	d->host = host;
	d->mem = mem_init(d->table, ENTRIES);
	d->cfg = (struct rc_cfg){
		.mem = d->mem,
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
	return d;
}

static bool is_whole(const uint8_t *at)
{
	for (uint32_t i = 0; i < HUNT_GUARD; i++)
		if (at[i] != CANARY)
			return false;
	return true;
}

static const char *device_free(struct hunt_device *d)
{
	const char *problem = NULL;

	for (uint32_t i = 0; i < d->n_blocks; i++) {
		uint8_t *at = d->blocks[i].memory;

		if (!is_whole(at) || !is_whole(at + HUNT_GUARD + d->blocks[i].bytes))
			problem = "the engine wrote beside a queue's memory";
		free(at);
	}
	free(d->table);
	free(d);
	return problem;
}

static const void *cfg(struct hunt_device *d)
{
	return &d->cfg;
}

/* HUNT_GUARD is a multiple of the strictest alignment. */
static void *block_new(struct hunt_device *d, size_t bytes)
{
	uint8_t *at = bytes ? malloc(bytes + 2 * HUNT_GUARD) : NULL;

	if (!at)
		return NULL;
	memset(at, CANARY, bytes + 2 * HUNT_GUARD);
	d->blocks[d->n_blocks++] = (struct block){at, bytes};
	return at + HUNT_GUARD;
}

static int add_region(struct hunt_device *d, const struct hunt_arena *a, struct hunt_piece part,
		      uint64_t iova, uint32_t key, uint8_t access)
{
	struct mem_entry entry = {
		.at = a->bytes + part.at,
		.iova = iova,
		.len = part.len,
		.key = key,
		.pd = a->pd,
		.qp = MEM_ANY_QP,
		.access = access,
	};

	return mem_add(d->mem, &entry);
}

/* Addresses of our own work are where the bytes are. */
static int add_local(struct hunt_device *d, const struct hunt_arena *a)
{
	return add_region(d, a, a->local, (uintptr_t)(a->bytes + a->local.at), a->local_key,
			  MEM_LOCAL_WRITE);
}

static int add_arena(struct hunt_device *d, const struct hunt_arena *a)
{
	int error = add_local(d, a);

	if (!error)
		error = add_region(d, a, a->remote, a->iova, a->remote_key,
				   MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ |
					   MEM_REMOTE_ATOMIC);
	if (!error)
		error = add_region(d, a, a->closed, a->iova, a->closed_key, MEM_LOCAL_WRITE);
	return error;
}

static int go_to(struct engine *e, uint32_t qp, nsec now, struct rc_attr *attr, uint8_t state,
		 uint32_t set)
{
	attr->state = state;
	return rc_qp_modify(e, now, qp, attr, RC_SET_STATE | set);
}

static int connect(const struct hunt_device *d, struct engine *e, uint32_t end, nsec now)
{
	const struct hunt_end *own = &d->story->ends[end], *peer = &d->story->ends[end ^ 1];
	const struct topology *t = &d->story->topology;
	struct rc_attr attr = {
		.access = MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC,
		.pmtu = (uint16_t)d->story->pmtu,
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
	int error = go_to(e, own->qp, now, &attr, RC_INIT, RC_SET_ACCESS);

	if (!error)
		error = go_to(e, own->qp, now, &attr, RC_RTR,
			      RC_SET_PMTU | RC_SET_PATH | RC_SET_REMOTE_QP | RC_SET_RQ_PSN |
				      RC_SET_DEST_RD_ATOMIC | RC_SET_RNR_TIMER);
	if (!error)
		error = go_to(e, own->qp, now, &attr, RC_RTS,
			      RC_SET_SQ_PSN | RC_SET_RD_ATOMIC | RC_SET_TIMEOUT | RC_SET_RETRIES |
				      RC_SET_RNR_RETRIES);
	return error;
}

static int open_end(struct hunt_device *d, struct engine *e, uint32_t end, nsec now)
{
	const struct hunt_end *own = &d->story->ends[end];
	struct rc_caps caps = {
		.max_send = own->max_send,
		.max_recv = own->has_srq ? 0 : own->max_recv,
		.max_send_sge = HUNT_SGE,
		.max_recv_sge = HUNT_SGE,
		.pd = d->story->arenas[end].pd,
		.srq = own->has_srq ? own->host : RC_NO_SRQ,
	};
	void *memory = block_new(d, rc_qp_size(&caps));
	int error = memory ? add_arena(d, &d->story->arenas[end]) : -ENOMEM;

	if (!error)
		error = rc_qp_new(e, own->qp, &caps, memory);
	return error ? error : connect(d, e, end, now);
}

static int open_shared(struct hunt_device *d, struct engine *e, uint32_t host)
{
	const struct hunt_arena *a = &d->story->arenas[HUNT_ENDS + host];
	struct rc_srq_caps caps = {.max_recv = HUNT_RECVS, .max_sge = HUNT_SGE, .pd = a->pd};
	void *memory = block_new(d, rc_srq_size(&caps));
	int error = memory ? add_local(d, a) : -ENOMEM;

	return error ? error : rc_srq_new(e, host, &caps, memory);
}

static int fail(struct engine *e, uint32_t qp, nsec now)
{
	struct rc_attr attr = {.state = RC_ERROR};

	return rc_qp_modify(e, now, qp, &attr, RC_SET_STATE);
}

static void count(const struct engine *e, struct hunt_counts *n)
{
	const struct rc_counters *c = rc_counters(e);

	n->rx += c->rx;
#define HUNT_ACCEPTED(name, text) n->accepted += c->name;
	RC_ACCEPTED(HUNT_ACCEPTED)
#undef HUNT_ACCEPTED
#define HUNT_DROPPED(name, text) n->dropped += c->name;
	RC_DROPS(HUNT_DROPPED)
#undef HUNT_DROPPED
	n->tx += c->tx_request + c->tx_again + c->tx_ack + c->tx_nak + c->tx_response + c->tx_cnp;
	n->rx_bytes += c->rx_bytes;
	n->again += c->tx_again;
	n->timeouts += c->timeouts;
	n->duplicates += c->rx_duplicate;
	n->rnr += c->rx_rnr;
	n->naks += c->rx_nak;
}

const struct hunt_transport hunt_rc = {
	.name = "rc",
	.ops = &rc_ops,
	.head_bytes = RC_HEAD_BYTES,
	.is_in_order = true,
	.device_new = device_new,
	.device_free = device_free,
	.cfg = cfg,
	.open = open_end,
	.open_shared = open_shared,
	.fail = fail,
	.count = count,
	.on_output = oracle_rc_output,
	.on_input = oracle_rc_input,
	.end_of = oracle_rc_end_of,
	.print = oracle_rc_print,
};
