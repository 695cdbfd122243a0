/* Queue pairs and shared receive queues: how they are made, change state and end. */
#include <errno.h>

#include "engine/layout.h"
#include "rc/state.h"

#define NEEDED_RTR (ENGINE_SET_PMTU | ENGINE_SET_PATH | ENGINE_SET_REMOTE_QP | ENGINE_SET_RQ_PSN)

static size_t send_stride(const struct rc_caps *caps)
{
	return engine_aligned(sizeof(struct rc_send) + engine_cut_room(rc_send_limits(caps)));
}

static size_t send_bytes(const struct rc_caps *caps)
{
	return engine_ring_bytes(caps->max_send, send_stride(caps));
}

size_t rc_qp_size(const struct rc_caps *caps)
{
	if (caps->max_send == 0 || caps->max_send > RC_WR_MAX || caps->max_recv > RC_WR_MAX ||
	    caps->max_send_sge > ENGINE_SGE || caps->max_recv_sge > ENGINE_SGE ||
	    caps->max_inline > ENGINE_INLINE_MAX)
		return 0;
	return engine_aligned(sizeof(struct rc_qp)) + send_bytes(caps) +
	       caps->max_recv * rc_recv_stride(caps->max_recv_sge);
}

static void make_queues(struct rc_qp *q, struct rc_rq *shared)
{
	uint8_t *at = (uint8_t *)q + engine_aligned(sizeof *q);

	engine_ring_init(&q->req.works, at, q->caps.max_send, send_stride(&q->caps));
	q->resp.own = (struct rc_rq){
		.slots = at + send_bytes(&q->caps),
		.stride = rc_recv_stride(q->caps.max_recv_sge),
		.max = q->caps.max_recv,
		.max_sge = q->caps.max_recv_sge,
		.pd = q->caps.pd,
	};
	rc_empty_queue(&q->resp.own);
	q->resp.queue = shared ? shared : &q->resp.own;
}

int rc_qp_new(struct engine *e, uint32_t number, const struct rc_caps *caps, void *memory)
{
	struct rc *r = rc_of(e);
	struct rc_rq *shared = NULL;

	if (number >= RC_NUMBERS || rc_qp_size(caps) == 0)
		return -EINVAL;
	if (caps->srq != RC_NO_SRQ) {
		shared = rc_find_srq(r, caps->srq);
		if (!shared)
			return -ENOENT;
	}
	int problem = engine_numbers_problem(&r->qps, number);

	if (problem)
		return problem;
	struct rc_qp *q = memory;

	*q = (struct rc_qp){.caps = *caps};
	engine_number_add(&r->qps, &q->id, number);
	if (shared)
		shared->n_users++;
	make_queues(q, shared);
	rc_requester_reset(r, q);
	rc_responder_reset(q);
	return 0;
}

/* A message that was arriving is forgotten like all work of a reset. The slot of a shared receive
 * that it had taken is free again; those of its own queue are freed together. */
static void drop_recv(struct rc_qp *q)
{
	struct rc_recv *recv = q->resp.recv;

	if (!recv || q->resp.queue == &q->resp.own)
		return;
	list_push_front(&q->resp.queue->free, &recv->wr.link);
}

/* Back to the beginning: no work, no packets, no events. */
static void reset(struct rc *r, struct rc_qp *q)
{
	rc_unlist_turns(r, q);
	engine_event_forget(&r->events, &q->events);
	rc_set_state(r, q, ENGINE_RESET);
	q->known = 0;
	drop_recv(q);
	rc_requester_reset(r, q);
	rc_responder_reset(q);
	engine_done_forget(&r->done, q);
	engine_done_forget(&r->done, &q->resp.own);
	rc_empty_queue(&q->resp.own);
}

void *rc_qp_free(struct engine *e, uint32_t number)
{
	struct rc *r = rc_of(e);
	struct rc_qp *q = rc_find(r, number);

	if (!q)
		return NULL;
	reset(r, q);
	engine_number_remove(&r->qps, &q->id);
	if (q->resp.queue != &q->resp.own)
		q->resp.queue->n_users--;
	return q;
}

#define IN(state) (1u << ENGINE_##state)
#define EARLY     (IN(RESET) | IN(INIT))
#define ALWAYS    (2 * IN(ERROR) - 1)

/* clang-format off */
/* Every attribute: its bit, its member, the states in which it may change, not under packets that
 * are on their way, and what is right of its value v in a move to the state `to`. */
#define ATTRIBUTES(A) \
	A(ACCESS,         access,         ALWAYS,                      true) \
	A(PMTU,           pmtu,           EARLY,                       engine_is_pmtu(v)) \
	A(PATH,           peer,           EARLY | IN(SQD),             true) \
	A(PATH,           local,          EARLY | IN(SQD),             true) \
	A(PATH,           port,           EARLY | IN(SQD),             v < r->cfg.n_ports) \
	A(PATH,           ev,             EARLY | IN(SQD),             true) \
	A(REMOTE_QP,      remote_qp,      EARLY,                       v < RC_NUMBERS) \
	A(RQ_PSN,         rq_psn,         EARLY,                       v < RC_NUMBERS) \
	A(SQ_PSN,         sq_psn,         EARLY | IN(RTR),             v < RC_NUMBERS) \
	A(RD_ATOMIC,      rd_atomic,      EARLY | IN(RTR) | IN(SQD),   v <= RC_RD_ATOMIC_MAX) \
	A(DEST_RD_ATOMIC, dest_rd_atomic, EARLY | IN(SQD),             v <= RC_RD_ATOMIC_MAX) \
	A(RNR_TIMER,      rnr_timer,      ALWAYS,                      v <= 31) \
	A(TIMEOUT,        timeout,        ALWAYS,                      v <= 31) \
	A(RETRIES,        retries,        ALWAYS,                      v <= 7) \
	A(RNR_RETRIES,    rnr_retries,    ALWAYS,                      v <= 7) \
	A(WANTS_DRAINED,  wants_drained,  IN(RTS),                     to == ENGINE_SQD)
/* clang-format on */

static bool may_assign(const struct rc *r, const struct rc_qp *q, const struct engine_attr *attr,
		       uint32_t set, uint8_t to)
{
#define MAY_ASSIGN(bit, member, states, is_right)               \
	if (set & ENGINE_SET_##bit) {                           \
		const uint32_t v = attr->member;                \
                                                                \
		(void)v;                                        \
		if (!((states) >> q->state & 1) || !(is_right)) \
			return false;                           \
	}
	ATTRIBUTES(MAY_ASSIGN)
#undef MAY_ASSIGN
	return true;
}

static void assign(struct rc_qp *q, const struct engine_attr *attr, uint32_t set)
{
#define ASSIGN(bit, member, states, is_right) \
	if (set & ENGINE_SET_##bit)           \
		q->attr.member = attr->member;
	ATTRIBUTES(ASSIGN)
#undef ASSIGN
}

static void enter(struct rc *r, struct rc_qp *q, uint8_t state)
{
	enum engine_begin begins = engine_begins((struct engine_move){q->state, state});

	rc_set_state(r, q, state);
	/* Asked for with the move to ENGINE_SQD, each time anew (IBTA 10.3.1.5). */
	if (state == ENGINE_RTS)
		q->attr.wants_drained = false;
	switch (begins) {
	case ENGINE_BEGINS_TO_TAKE: rc_responder_start(q); break;
	case ENGINE_BEGINS_TO_SEND: rc_requester_start(q); break;
	case ENGINE_BEGINS_TO_DRAIN:
		q->req.is_draining = true;
		rc_check_drained(r, q);
		break;
	case ENGINE_BEGINS_TO_RESUME:
		q->req.is_draining = false;
		rc_wake_send(r, q);
		break;
	case ENGINE_BEGINS_TO_FAIL: rc_flush(r, q); break;
	default: break;
	}
}

int rc_qp_modify(struct engine *e, nsec now, uint32_t number, const struct engine_attr *attr,
		 uint32_t set)
{
	struct rc *r = rc_of(e);
	struct rc_qp *q = rc_find(r, number);

	if (!q)
		return -ENOENT;
	uint8_t to = set & ENGINE_SET_STATE ? attr->state : q->state;

	r->now = now;
	if (to == ENGINE_RESET && (set & ENGINE_SET_STATE)) {
		reset(r, q);
		return 0;
	}
	if (!engine_may_move((struct engine_move){q->state, to}) ||
	    !may_assign(r, q, attr, set, to))
		return -EINVAL;
	uint32_t known = q->known | (set & ~(uint32_t)ENGINE_SET_STATE);

	if ((to == ENGINE_RTR && (known & NEEDED_RTR) != NEEDED_RTR) ||
	    (to == ENGINE_RTS && !(known & ENGINE_SET_SQ_PSN)))
		return -EINVAL;
	bool is_moving = (set & ENGINE_SET_PATH) && attr->port != q->attr.port;
	bool was_sending = list_is_linked(&q->send_link);
	bool was_answering = list_is_linked(&q->answer_link);
	bool had_cnp = list_is_linked(&q->cnp_link);

	if (is_moving)
		rc_unlist_turns(r, q);
	assign(q, attr, set);
	if (is_moving && was_sending)
		rc_wake_send(r, q);
	if (is_moving && was_answering)
		rc_wake_answer(r, q);
	if (is_moving && had_cnp)
		rc_wake_cnp(r, q);
	/* Its turn may have been one to take room, and its new port is shut. */
	if (is_moving)
		rc_offer_room(r);
	q->known = (uint16_t)known;
	enter(r, q, to);
	rc_clock_follow(r, q);
	return 0;
}

int rc_qp_progress(const struct engine *e, uint32_t number, struct rc_progress *p)
{
	const struct rc_qp *q = rc_find((const struct rc *)e, number);

	if (!q)
		return -ENOENT;
	*p = q->progress;
	p->inflight_bytes = q->req.out_bytes;
	p->silent = q->req.works.silent;
	return 0;
}

int rc_qp_query(const struct engine *e, uint32_t number, struct engine_attr *attr,
		struct rc_caps *caps, bool *is_draining)
{
	const struct rc_qp *q = rc_find((const struct rc *)e, number);

	if (!q)
		return -ENOENT;
	if (attr) {
		*attr = q->attr;
		attr->state = q->state;
		attr->sq_psn = rc_psn(q, q->req.next).v;
		if (q->state >= ENGINE_RTR)
			attr->rq_psn = q->resp.expected.v;
	}
	if (caps)
		*caps = q->caps;
	if (is_draining)
		*is_draining = q->state == ENGINE_SQD && q->req.is_draining;
	return 0;
}
