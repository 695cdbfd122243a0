/* Queue pairs of RC, as all transports have them. */
#include <errno.h>

#include "base/bytes.h"
#include "rc/rc.h"
#include "transport/rows.h"
#include "wire/aeth.h"

#define TIMEOUT_CODE    14u /* 67 ms: well above what a busy machine makes a packet wait */
#define RETRIES         7u
#define RNR_CODE        12u /* 640 us */
#define RNR_WITHOUT_END 7u

/* Where what an end tells stands, behind its number. */
#define AT_PSN       4u
#define AT_RD_ATOMIC 8u /* reads and atomics that it takes at once */

static struct rc_caps caps_of(const struct transport_caps *caps)
{
	return (struct rc_caps){
		.max_send = caps->max_send,
		.max_recv = caps->max_recv,
		.max_send_sge = caps->max_send_sge,
		.max_inline = caps->max_inline,
		.max_recv_sge = caps->max_recv_sge,
		.pd = caps->pd,
		.srq = caps->srq == TRANSPORT_NO_SRQ ? RC_NO_SRQ : caps->srq,
	};
}

static size_t grant(struct transport_caps *caps)
{
	rows_grant_sends(caps);
	if (caps->srq != TRANSPORT_NO_SRQ)
		caps->max_recv = caps->max_recv_sge = 0;
	else if (caps->max_recv && !caps->max_recv_sge)
		caps->max_recv_sge = 1;
	const struct rc_caps rc = caps_of(caps);

	return rc_qp_size(&rc);
}

static int make(struct engine *e, uint32_t number, const struct transport_caps *caps, void *memory)
{
	const struct rc_caps rc = caps_of(caps);

	return rc_qp_new(e, number, &rc, memory);
}

static enum engine_state state(const struct engine *e, uint32_t number)
{
	struct engine_attr is = {.state = ENGINE_ERROR};

	rc_qp_query(e, number, &is, NULL, NULL);
	return (enum engine_state)is.state;
}

static int stop(struct engine *e, nsec now, uint32_t number, enum engine_state state)
{
	const struct engine_attr attr = {.state = (uint8_t)state};

	return rc_qp_modify(e, now, number, &attr, ENGINE_SET_STATE);
}

static void tell(const struct transport_self *self, struct transport_end *end)
{
	*end = (struct transport_end){{0}};
	put_be32(end->bytes, self->number);
	put_be32(end->bytes + AT_PSN, self->psn % RC_NUMBERS);
	end->bytes[AT_RD_ATOMIC] = RC_RD_ATOMIC_MAX;
}

/* The first code whose time is not shorter, or the last. */
static uint8_t code_of(nsec (*time)(uint8_t code), nsec ns)
{
	uint32_t code = 1;

	while (code < RC_TIMER_LAST && time((uint8_t)code) < ns)
		code++;
	return (uint8_t)code;
}

static nsec timeout(nsec ns)
{
	return rc_timeout_ns(code_of(rc_timeout_ns, ns));
}

static void put_manner(const struct transport_manner *m, struct engine_attr *attr)
{
	attr->timeout = m->timeout_ns ? code_of(rc_timeout_ns, m->timeout_ns) : TIMEOUT_CODE;
	attr->retries = m->timeout_ns ? (uint8_t)m->retries : RETRIES;
	attr->rnr_timer = m->not_ready_ns ? code_of(aeth_rnr_ns, m->not_ready_ns) : RNR_CODE;
	attr->rnr_retries = RNR_WITHOUT_END;
}

static int go_to(struct engine *e, nsec now, uint32_t number, struct engine_attr *attr,
		 uint8_t state, uint32_t set)
{
	attr->state = state;
	return rc_qp_modify(e, now, number, attr, ENGINE_SET_STATE | set);
}

static int connect(struct engine *e, nsec now, uint32_t number, const struct transport_link *link)
{
	const uint8_t *mine = link->mine.bytes, *theirs = link->theirs.bytes;
	struct engine_attr attr = {
		.access = link->access,
		.pmtu = link->pmtu,
		.peer = link->path.peer,
		.local = link->path.local,
		.port = link->path.port,
		.ev = link->path.ev,
		.remote_qp = transport_end_number(&link->theirs),
		.rq_psn = get_be32(theirs + AT_PSN),
		.sq_psn = get_be32(mine + AT_PSN),
		.rd_atomic = theirs[AT_RD_ATOMIC],
		.dest_rd_atomic = mine[AT_RD_ATOMIC],
	};

	if (attr.remote_qp >= RC_NUMBERS || attr.rq_psn >= RC_NUMBERS ||
	    attr.rd_atomic > RC_RD_ATOMIC_MAX)
		return -EPROTO;
	put_manner(&link->manner, &attr);
	int r = go_to(e, now, number, &attr, ENGINE_INIT, ENGINE_SET_ACCESS);

	if (!r)
		r = go_to(e, now, number, &attr, ENGINE_RTR,
			  ENGINE_SET_PMTU | ENGINE_SET_PATH | ENGINE_SET_REMOTE_QP |
				  ENGINE_SET_RQ_PSN | ENGINE_SET_DEST_RD_ATOMIC |
				  ENGINE_SET_RNR_TIMER);
	if (!r)
		r = go_to(e, now, number, &attr, ENGINE_RTS,
			  ENGINE_SET_SQ_PSN | ENGINE_SET_RD_ATOMIC | ENGINE_SET_TIMEOUT |
				  ENGINE_SET_RETRIES | ENGINE_SET_RNR_RETRIES);
	return r;
}

static int progress(const struct engine *e, uint32_t number, struct transport_progress *p)
{
	struct rc_progress rc;
	struct engine_attr attr;
	int r = rc_qp_progress(e, number, &rc);

	if (r)
		return r;
	rc_qp_query(e, number, &attr, NULL, NULL);
	*p = (struct transport_progress){
		.state = attr.state,
		.open_ports = 1u << attr.port,
		.inflight_bytes = rc.inflight_bytes,
		.srtt_ns = rc.srtt_ns,
		.sent_bytes = rc.sent_bytes,
		.got_bytes = rc.got_bytes,
		.sent_packets = rc.sent_packets,
		.retx_packets = rc.retx_packets,
		.timeouts = rc.timeouts,
		.silent = rc.silent,
	};
	return 0;
}

const struct transport_pair_ops transport_rc_pairs = {
	.most =
		{
			.max_send = RC_WR_MAX,
			.max_recv = RC_WR_MAX,
			.max_send_sge = ENGINE_SGE,
			.max_inline = ENGINE_INLINE_MAX,
			.max_recv_sge = ENGINE_SGE,
		},
	.grant = grant,
	.make = make,
	.end = rc_qp_free,
	.state = state,
	.stop = stop,
	.tell = tell,
	.connect = connect,
	.timeout = timeout,
	.progress = progress,
	.ports_down = rc_ports_down,
};
