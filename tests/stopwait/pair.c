/* Queue pairs, as all transports have them. */
#include <errno.h>

#include "base/bytes.h"
#include "engine/layout.h"
#include "state.h"

#define WORKS_MAX   16384u
#define TIMEOUT_NS  UINT64_C(20000000)
#define TIMEOUT_MAX (UINT64_C(1) << 40)
#define RETRIES     15u
#define AT_SEQ      4u /* where what an end tells stands, behind its number */

void stopwait_quiet(struct stopwait *s, struct stopwait_pair *p)
{
	p->is_out = p->is_receiving = false;
	p->tries = 0;
	p->offset = 0;
	wheel_cancel(&s->wheel, &p->end.timer);
	list_leave(&s->acks, &p->end.ack_turn);
	list_leave(&s->data, &p->data_turn);
}

void stopwait_set_state(const struct stopwait *s, struct stopwait_pair *p, uint8_t state)
{
	const struct traced_qp of = stopwait_traced(s, p);

	traced_move(&s->cfg.trace, &of, &p->state, state);
}

void stopwait_fail(struct stopwait *s, struct stopwait_pair *p, enum engine_status status)
{
	const struct traced_qp of = stopwait_traced(s, p);

	if (trace_is_on(&s->cfg.trace) && status != ENGINE_FLUSHED)
		traced_failed(&s->cfg.trace, &of, status, 0);
	stopwait_quiet(s, p);
	stopwait_set_state(s, p, ENGINE_ERROR);
	for (; p->sends.done < p->sends.posted; status = ENGINE_FLUSHED)
		engine_done_end(&s->done, &p->sends, status);
	while (p->recvs.done < p->recvs.posted)
		engine_done_end(&s->done, &p->recvs, ENGINE_FLUSHED);
}

static size_t stride(struct engine_cut_limits most)
{
	return engine_aligned(sizeof(struct stopwait_work) + engine_cut_room(most));
}

size_t stopwait_sends_bytes(const struct transport_caps *caps)
{
	return engine_ring_bytes(caps->max_send, stride(stopwait_send_limits(caps)));
}

static uint8_t *behind(struct stopwait_pair *p)
{
	return (uint8_t *)p + engine_aligned(sizeof *p);
}

void stopwait_init_sends(struct stopwait_pair *p)
{
	engine_ring_init(&p->sends, behind(p), p->caps.max_send,
			 stride(stopwait_send_limits(&p->caps)));
}

static size_t grant(struct transport_caps *caps)
{
	caps->max_send = caps->max_send ? caps->max_send : 1;
	caps->max_send_sge = caps->max_send_sge ? caps->max_send_sge : 1;
	if (caps->max_recv && !caps->max_recv_sge)
		caps->max_recv_sge = 1;
	caps->ahead_pkts = caps->ahead_imm = caps->max_evs = 0;
	if (caps->max_send > WORKS_MAX || caps->max_recv > WORKS_MAX ||
	    caps->max_send_sge > ENGINE_SGE || caps->max_recv_sge > ENGINE_SGE ||
	    caps->max_inline > ENGINE_INLINE_MAX || caps->srq != TRANSPORT_NO_SRQ)
		return 0;
	return engine_aligned(sizeof(struct stopwait_pair)) + stopwait_sends_bytes(caps) +
	       engine_ring_bytes(caps->max_recv ? caps->max_recv : 1,
				 stride(stopwait_recv_limits(caps)));
}

static int make(struct engine *e, uint32_t number, const struct transport_caps *caps, void *memory)
{
	struct stopwait *s = stopwait_of(e);
	struct stopwait_pair *p = memory;
	int problem = engine_numbers_problem(&s->pairs, number);

	if (number <= STOPWAIT_OPEN || number >= STOPWAIT_NUMBERS)
		return -EINVAL;
	if (problem)
		return problem;
	if (stopwait_find_address(s, number))
		return -EEXIST;
	*p = (struct stopwait_pair){.caps = *caps, .end.number = number};
	stopwait_init_sends(p);
	engine_ring_init(&p->recvs, behind(p) + stopwait_sends_bytes(caps), caps->max_recv,
			 stride(stopwait_recv_limits(caps)));
	engine_number_add(&s->pairs, &p->id, number);
	return 0;
}

static void reset(struct stopwait *s, struct stopwait_pair *p)
{
	stopwait_quiet(s, p);
	engine_done_forget(&s->done, p);
	engine_ring_clear(&p->sends);
	engine_ring_clear(&p->recvs);
	p->state = ENGINE_RESET;
}

static void *end(struct engine *e, uint32_t number)
{
	struct stopwait *s = stopwait_of(e);
	struct stopwait_pair *p = stopwait_find(s, number);

	if (!p)
		return NULL;
	reset(s, p);
	engine_number_remove(&s->pairs, &p->id);
	return p;
}

static enum engine_state state(const struct engine *e, uint32_t number)
{
	const struct stopwait_pair *p = stopwait_find((const struct stopwait *)e, number);

	return p ? (enum engine_state)p->state : ENGINE_ERROR;
}

static int stop(struct engine *e, nsec now, uint32_t number, enum engine_state to)
{
	struct stopwait *s = stopwait_of(e);
	struct stopwait_pair *p = stopwait_find(s, number);

	s->now = now;
	if (!p)
		return -ENOENT;
	if (to == ENGINE_RESET)
		reset(s, p);
	else if (p->state != ENGINE_ERROR)
		stopwait_fail(s, p, ENGINE_FLUSHED);
	return 0;
}

static void tell(const struct transport_self *self, struct transport_end *end)
{
	*end = (struct transport_end){{0}};
	put_be32(end->bytes, self->number);
	put_be32(end->bytes + AT_SEQ, self->psn);
}

static nsec timeout(nsec ns)
{
	return ns < TIMEOUT_MAX ? ns : TIMEOUT_MAX;
}

bool stopwait_is_link_good(const struct transport_link *link)
{
	return link->path.port == 0 && link->pmtu > 0 && link->pmtu <= STOPWAIT_PAYLOAD_MAX &&
	       link->pmtu % 4 == 0;
}

void stopwait_take_link(struct stopwait_pair *p, const struct transport_link *link)
{
	const struct transport_manner *m = &link->manner;

	p->end.remote = transport_end_number(&link->theirs);
	p->end.peer = link->path.peer;
	p->end.local = link->path.local;
	p->end.ev = link->path.ev;
	p->end.expected = get_be32(link->theirs.bytes + AT_SEQ);
	p->seq = get_be32(link->mine.bytes + AT_SEQ);
	p->access = link->access;
	p->pmtu = link->pmtu;
	p->timeout_ns = m->timeout_ns ? timeout(m->timeout_ns) : TIMEOUT_NS;
	p->retries = m->timeout_ns ? m->retries : RETRIES;
}

static int connect(struct engine *e, nsec now, uint32_t number, const struct transport_link *link)
{
	struct stopwait *s = stopwait_of(e);
	struct stopwait_pair *p = stopwait_find(s, number);
	uint32_t remote = transport_end_number(&link->theirs);

	s->now = now;
	if (!p)
		return -ENOENT;
	if (remote == 0 || remote >= STOPWAIT_NUMBERS)
		return -EPROTO;
	if (p->state != ENGINE_RESET || !stopwait_is_link_good(link))
		return -EINVAL;
	stopwait_take_link(p, link);
	stopwait_set_state(s, p, ENGINE_RTS);
	return 0;
}

static int progress(const struct engine *e, uint32_t number, struct transport_progress *to)
{
	const struct stopwait_pair *p = stopwait_find((const struct stopwait *)e, number);

	if (!p)
		return -ENOENT;
	*to = p->progress;
	to->state = p->state;
	to->open_ports = 1;
	to->inflight_bytes = p->is_out ? p->out_bytes : 0;
	to->window_bytes = p->pmtu;
	to->silent = p->sends.silent;
	return 0;
}

const struct transport_pair_ops stopwait_pairs = {
	.most = {.max_send = WORKS_MAX,
		 .max_recv = WORKS_MAX,
		 .max_send_sge = ENGINE_SGE,
		 .max_recv_sge = ENGINE_SGE,
		 .max_inline = ENGINE_INLINE_MAX},
	.grant = grant,
	.make = make,
	.end = end,
	.state = state,
	.stop = stop,
	.tell = tell,
	.connect = connect,
	.timeout = timeout,
	.progress = progress,
};
