/* Queue pairs and shared receive queues: how they are made, change state and end. */
#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <string.h>

#include "rc/state.h"

#define NEEDED_RTR (RC_SET_PMTU | RC_SET_PATH | RC_SET_REMOTE_QP | RC_SET_RQ_PSN)

static size_t aligned(size_t bytes)
{
	return (bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

static size_t send_stride(uint32_t sges)
{
	return aligned(sizeof(struct rc_send) + sges * sizeof(struct sge));
}

static size_t recv_stride(uint32_t sges)
{
	return aligned(sizeof(struct rc_recv) + sges * sizeof(struct sge));
}

size_t rc_qp_size(const struct rc_caps *caps)
{
	if (caps->max_send == 0 || caps->max_send > RC_WR_MAX || caps->max_recv > RC_WR_MAX ||
	    caps->max_send_sge > ENGINE_SGE || caps->max_recv_sge > ENGINE_SGE)
		return 0;
	return aligned(sizeof(struct rc_qp)) + caps->max_send * send_stride(caps->max_send_sge) +
	       caps->max_recv * recv_stride(caps->max_recv_sge);
}

size_t rc_srq_size(const struct rc_srq_caps *caps)
{
	if (caps->max_recv == 0 || caps->max_recv > RC_WR_MAX || caps->max_sge > ENGINE_SGE)
		return 0;
	return aligned(sizeof(struct rc_rq)) + caps->max_recv * recv_stride(caps->max_sge);
}

/* Makes every slot of a receive queue free, the first one to be taken first. */
static void empty_queue(struct rc_rq *queue)
{
	queue->head = queue->tail = queue->free = NULL;
	queue->n_posted = 0;
	for (uint32_t i = queue->max; i-- > 0;) {
		struct rc_wr *wr = (void *)(queue->slots + i * queue->stride);

		wr->next = queue->free;
		queue->free = wr;
	}
}

int rc_srq_new(struct engine *e, uint32_t number, const struct rc_srq_caps *caps, void *memory)
{
	struct rc *r = rc_of(e);

	if (number >= r->cfg.max_srqs || rc_srq_size(caps) == 0)
		return -EINVAL;
	if (r->srqs[number])
		return -EEXIST;
	struct rc_rq *s = memory;

	*s = (struct rc_rq){
		.slots = (uint8_t *)memory + aligned(sizeof *s),
		.stride = recv_stride(caps->max_sge),
		.max = caps->max_recv,
		.max_sge = caps->max_sge,
		.pd = caps->pd,
		.number = number,
	};
	empty_queue(s);
	r->srqs[number] = s;
	return 0;
}

/* Completions that are not polled yet and whose memory goes, or whose queue pair begins anew. */
static void forget_done(struct rc *r, const struct rc_qp *q, const struct rc_rq *queue)
{
	struct rc_wr **link = &r->done_head;

	r->done_tail = NULL;
	while (*link) {
		struct rc_wr *wr = *link;

		if ((q && wr->owner == q) || (queue && !wr->owner && wr->queue == queue)) {
			*link = wr->next;
			continue;
		}
		r->done_tail = wr;
		link = &wr->next;
	}
}

static void forget_srq_event(struct rc *r, const struct rc_rq *s)
{
	struct rc_rq **link = &r->srq_event_head;

	r->srq_event_tail = NULL;
	while (*link) {
		if (*link == s) {
			*link = s->event_next;
			continue;
		}
		r->srq_event_tail = *link;
		link = &(*link)->event_next;
	}
}

void *rc_srq_free(struct engine *e, uint32_t number)
{
	struct rc *r = rc_of(e);
	struct rc_rq *s = rc_find_srq(r, number);

	if (!s || s->n_users > 0)
		return NULL;
	forget_done(r, NULL, s);
	forget_srq_event(r, s);
	r->srqs[number] = NULL;
	return s;
}

int rc_srq_limit(struct engine *e, uint32_t number, uint32_t limit)
{
	struct rc_rq *s = rc_find_srq(rc_of(e), number);

	if (!s)
		return -ENOENT;
	if (limit > s->max)
		return -EINVAL;
	s->limit = limit;
	return 0;
}

int rc_srq_query(const struct engine *e, uint32_t number, struct rc_srq_caps *caps, uint32_t *limit)
{
	const struct rc_rq *s = rc_find_srq((const struct rc *)e, number);

	if (!s)
		return -ENOENT;
	*caps = (struct rc_srq_caps){s->max, s->max_sge, s->pd};
	*limit = s->limit;
	return 0;
}

static void raise_limit(struct rc *r, struct rc_rq *s)
{
	s->limit = 0;
	if (s->is_listed)
		return;
	s->is_listed = true;
	s->event_next = NULL;
	if (r->srq_event_head)
		r->srq_event_tail->event_next = s;
	else
		r->srq_event_head = s;
	r->srq_event_tail = s;
}

struct rc_recv *rc_take_recv(struct rc *r, struct rc_qp *q)
{
	struct rc_rq *queue = q->resp.queue;
	struct rc_wr *wr = queue->head;

	if (!wr)
		return NULL;
	queue->head = wr->next;
	queue->n_posted--;
	if (queue->n_posted < queue->limit)
		raise_limit(r, queue);
	wr->qp = q->number;
	wr->peer = q->attr.peer;
	return (struct rc_recv *)wr;
}

static void make_queues(struct rc_qp *q, struct rc_rq *shared)
{
	uint8_t *at = (uint8_t *)q + aligned(sizeof *q);

	q->req.slots = at;
	q->req.stride = send_stride(q->caps.max_send_sge);
	q->resp.own = (struct rc_rq){
		.slots = at + q->caps.max_send * q->req.stride,
		.stride = recv_stride(q->caps.max_recv_sge),
		.max = q->caps.max_recv,
		.max_sge = q->caps.max_recv_sge,
		.pd = q->caps.pd,
	};
	empty_queue(&q->resp.own);
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
	if (rc_find(r, number))
		return -EEXIST;
	if (r->n_qps == r->cfg.max_qps)
		return -ENOSPC;
	struct rc_qp *q = memory;
	struct rc_qp **head = &r->qps[rc_head_of(r, number)];

	*q = (struct rc_qp){.number = number, .caps = *caps, .memory = memory, .hash_next = *head};
	*head = q;
	r->n_qps++;
	if (shared)
		shared->n_users++;
	make_queues(q, shared);
	rc_requester_reset(r, q);
	rc_responder_reset(r, q);
	return 0;
}

static void unlist_sender(struct rc_list *list, const struct rc_qp *q)
{
	struct rc_qp **link = &list->head;

	list->tail = NULL;
	while (*link) {
		if (*link == q) {
			*link = q->send_next;
			continue;
		}
		list->tail = *link;
		link = &(*link)->send_next;
	}
}

static void unlist_answerer(struct rc_list *list, const struct rc_qp *q)
{
	struct rc_qp **link = &list->head;

	list->tail = NULL;
	while (*link) {
		if (*link == q) {
			*link = q->answer_next;
			continue;
		}
		list->tail = *link;
		link = &(*link)->answer_next;
	}
}

/* q has no turn any more; it gets a new one with new work. Also before its port changes. */
static void unlist_turns(struct rc *r, struct rc_qp *q)
{
	if (q->is_sending)
		unlist_sender(&r->sending[q->attr.port], q);
	if (q->is_answering)
		unlist_answerer(&r->answering[q->attr.port], q);
	q->is_sending = q->is_answering = false;
}

static void unlist_events(struct rc *r, const struct rc_qp *q)
{
	struct rc_qp **link = &r->event_head;

	r->event_tail = NULL;
	while (*link) {
		if (*link == q) {
			*link = q->event_next;
			continue;
		}
		r->event_tail = *link;
		link = &(*link)->event_next;
	}
}

/* A message that was arriving is forgotten like all work of a reset. The slot of a shared receive
 * that it had taken is free again; those of its own queue are freed together. */
static void drop_recv(struct rc_qp *q)
{
	struct rc_recv *recv = q->resp.recv;

	if (!recv || q->resp.queue == &q->resp.own)
		return;
	recv->wr.next = q->resp.queue->free;
	q->resp.queue->free = &recv->wr;
}

/* Back to the beginning: no work, no packets, no events. */
static void reset(struct rc *r, struct rc_qp *q)
{
	unlist_turns(r, q);
	if (q->is_listed)
		unlist_events(r, q);
	q->is_listed = false;
	q->events = 0;
	q->state = RC_RESET;
	q->known = 0;
	drop_recv(q);
	rc_requester_reset(r, q);
	rc_responder_reset(r, q);
	forget_done(r, q, &q->resp.own);
	empty_queue(&q->resp.own);
}

void *rc_qp_free(struct engine *e, uint32_t number)
{
	struct rc *r = rc_of(e);
	struct rc_qp *q = rc_find(r, number);

	if (!q)
		return NULL;
	struct rc_qp **link = &r->qps[rc_head_of(r, number)];

	reset(r, q);
	while (*link != q)
		link = &(*link)->hash_next;
	*link = q->hash_next;
	r->n_qps--;
	if (q->resp.queue != &q->resp.own)
		q->resp.queue->n_users--;
	return q->memory;
}

/* Whether the state machine of IBTA 10.3.1 has this step. */
static bool is_step(uint8_t from, uint8_t to)
{
	switch (to) {
	case RC_RESET:
	case RC_ERROR: return true;
	case RC_INIT: return from == RC_RESET || from == RC_INIT;
	case RC_RTR: return from == RC_INIT;
	case RC_RTS: return from == RC_RTR || from == RC_RTS || from == RC_SQD;
	case RC_SQD: return from == RC_RTS || from == RC_SQD;
	default: return false;
	}
}

static bool is_pmtu(uint16_t pmtu)
{
	return pmtu >= 256 && pmtu <= 4096 && (pmtu & (pmtu - 1)) == 0;
}

static bool is_in_range(const struct rc *r, const struct rc_attr *a, uint32_t set)
{
	return !((set & RC_SET_PMTU && !is_pmtu(a->pmtu)) ||
		 (set & RC_SET_PATH && a->port >= r->cfg.n_ports) ||
		 (set & RC_SET_REMOTE_QP && a->remote_qp >= RC_NUMBERS) ||
		 (set & RC_SET_RQ_PSN && a->rq_psn >= RC_NUMBERS) ||
		 (set & RC_SET_SQ_PSN && a->sq_psn >= RC_NUMBERS) ||
		 (set & RC_SET_RD_ATOMIC && a->rd_atomic > RC_RD_ATOMIC_MAX) ||
		 (set & RC_SET_DEST_RD_ATOMIC && a->dest_rd_atomic > RC_RD_ATOMIC_MAX) ||
		 (set & RC_SET_RNR_TIMER && a->rnr_timer > 31) ||
		 (set & RC_SET_TIMEOUT && a->timeout > 31) ||
		 (set & RC_SET_RETRIES && a->retries > 7) ||
		 (set & RC_SET_RNR_RETRIES && a->rnr_retries > 7));
}

/* What may not change under packets that are on their way. */
static bool is_timely(uint8_t state, uint32_t set)
{
	const uint32_t receiving = RC_SET_PMTU | RC_SET_REMOTE_QP | RC_SET_RQ_PSN;
	const uint32_t quiet = RC_SET_RD_ATOMIC | RC_SET_DEST_RD_ATOMIC | RC_SET_PATH;

	if (state == RC_SQD || state < RC_RTR)
		return state < RC_RTR || !(set & (receiving | RC_SET_SQ_PSN));
	if (state == RC_RTR)
		return !(set & (receiving | RC_SET_PATH | RC_SET_DEST_RD_ATOMIC));
	return !(set & (receiving | quiet | RC_SET_SQ_PSN));
}

static void assign(struct rc_attr *to, const struct rc_attr *a, uint32_t set)
{
	if (set & RC_SET_ACCESS)
		to->access = a->access;
	if (set & RC_SET_PMTU)
		to->pmtu = a->pmtu;
	if (set & RC_SET_PATH) {
		to->peer = a->peer;
		to->local = a->local;
		to->port = a->port;
		to->ev = a->ev;
	}
	if (set & RC_SET_REMOTE_QP)
		to->remote_qp = a->remote_qp;
	if (set & RC_SET_RQ_PSN)
		to->rq_psn = a->rq_psn;
	if (set & RC_SET_SQ_PSN)
		to->sq_psn = a->sq_psn;
	if (set & RC_SET_RD_ATOMIC)
		to->rd_atomic = a->rd_atomic;
	if (set & RC_SET_DEST_RD_ATOMIC)
		to->dest_rd_atomic = a->dest_rd_atomic;
	if (set & RC_SET_RNR_TIMER)
		to->rnr_timer = a->rnr_timer;
	if (set & RC_SET_TIMEOUT)
		to->timeout = a->timeout;
	if (set & RC_SET_RETRIES)
		to->retries = a->retries;
	if (set & RC_SET_RNR_RETRIES)
		to->rnr_retries = a->rnr_retries;
}

static void flush(struct rc *r, struct rc_qp *q)
{
	q->state = RC_ERROR;
	rc_flush_send(r, q);
	rc_flush_recv(r, q);
	if (q->resp.queue != &q->resp.own)
		rc_raise(r, q, RC_EVENT_LAST_RECEIVE);
}

void rc_fail(struct rc *r, struct rc_qp *q)
{
	if (q->state == RC_ERROR)
		return;
	r->count.failed++;
	flush(r, q);
}

static void enter(struct rc *r, struct rc_qp *q, uint8_t state)
{
	uint8_t from = q->state;

	if (state == RC_ERROR && from != RC_ERROR) {
		flush(r, q);
		return;
	}
	q->state = state;
	if (state == RC_RTR && from == RC_INIT)
		rc_responder_start(r, q);
	if (state == RC_RTS && from == RC_RTR)
		rc_requester_start(r, q);
	if (state == RC_SQD && from == RC_RTS) {
		q->req.is_draining = true;
		rc_check_drained(r, q);
	}
	if (state == RC_RTS && from == RC_SQD) {
		q->req.is_draining = false;
		rc_wake_send(r, q);
	}
}

int rc_qp_modify(struct engine *e, nsec now, uint32_t number, const struct rc_attr *attr,
		 uint32_t set)
{
	struct rc *r = rc_of(e);
	struct rc_qp *q = rc_find(r, number);

	if (!q)
		return -ENOENT;
	uint8_t to = set & RC_SET_STATE ? attr->state : q->state;

	r->now = now;
	if (to == RC_RESET && (set & RC_SET_STATE)) {
		reset(r, q);
		return 0;
	}
	if (!is_step(q->state, to) || !is_in_range(r, attr, set) || !is_timely(q->state, set))
		return -EINVAL;
	uint32_t known = q->known | (set & ~(uint32_t)RC_SET_STATE);

	if ((to == RC_RTR && (known & NEEDED_RTR) != NEEDED_RTR) ||
	    (to == RC_RTS && !(known & RC_SET_SQ_PSN)))
		return -EINVAL;
	bool is_moving = (set & RC_SET_PATH) && attr->port != q->attr.port;
	bool was_sending = q->is_sending, was_answering = q->is_answering;

	if (is_moving)
		unlist_turns(r, q);
	assign(&q->attr, attr, set);
	if (is_moving && was_sending)
		rc_wake_send(r, q);
	if (is_moving && was_answering)
		rc_wake_answer(r, q);
	q->known = (uint16_t)known;
	enter(r, q, to);
	return 0;
}

int rc_qp_query(const struct engine *e, uint32_t number, struct rc_attr *attr, struct rc_caps *caps,
		bool *is_draining)
{
	const struct rc_qp *q = rc_find((const struct rc *)e, number);

	if (!q)
		return -ENOENT;
	if (attr) {
		*attr = q->attr;
		attr->state = q->state;
		attr->sq_psn = rc_psn(q, q->req.next).v;
		if (q->state >= RC_RTR)
			attr->rq_psn = q->resp.expected.v;
	}
	if (caps)
		*caps = q->caps;
	if (is_draining)
		*is_draining = q->state == RC_SQD && q->req.is_draining;
	return 0;
}
