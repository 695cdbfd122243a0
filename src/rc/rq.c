/* Receive queues, of a queue pair or shared by several: how they are made, filled, and emptied. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "engine/layout.h"
#include "rc/state.h"

size_t rc_recv_stride(uint32_t sges)
{
	return engine_aligned(sizeof(struct rc_recv) + sges * sizeof(struct sge));
}

size_t rc_srq_size(const struct engine_srq_caps *caps)
{
	if (caps->max_recv == 0 || caps->max_recv > RC_WR_MAX || caps->max_sge > ENGINE_SGE)
		return 0;
	return engine_aligned(sizeof(struct rc_rq)) +
	       caps->max_recv * rc_recv_stride(caps->max_sge);
}

void rc_empty_queue(struct rc_rq *queue)
{
	queue->posted = queue->free = (struct list){0};
	queue->n_posted = queue->n_cancelled = 0;
	for (uint32_t i = 0; i < queue->max; i++) {
		struct engine_work *wr = (void *)(queue->slots + i * queue->stride);

		wr->link = (struct list_link){0};
		list_push(&queue->free, &wr->link);
	}
}

int rc_srq_new(struct engine *e, uint32_t number, const struct engine_srq_caps *caps, void *memory)
{
	struct rc *r = rc_of(e);

	if (number >= r->cfg.max_srqs || rc_srq_size(caps) == 0)
		return -EINVAL;
	if (r->srqs[number])
		return -EEXIST;
	struct rc_rq *s = memory;

	*s = (struct rc_rq){
		.slots = (uint8_t *)memory + engine_aligned(sizeof *s),
		.stride = rc_recv_stride(caps->max_sge),
		.max = caps->max_recv,
		.max_sge = caps->max_sge,
		.pd = caps->pd,
		.number = number,
	};
	rc_empty_queue(s);
	r->srqs[number] = s;
	return 0;
}

void *rc_srq_free(struct engine *e, uint32_t number)
{
	struct rc *r = rc_of(e);
	struct rc_rq *s = rc_find_srq(r, number);

	if (!s || s->n_users > 0)
		return NULL;
	engine_done_forget(&r->done, s);
	engine_event_forget(&r->srq_events, &s->events);
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

int rc_srq_query(const struct engine *e, uint32_t number, struct engine_srq_caps *caps,
		 uint32_t *limit)
{
	const struct rc_rq *s = rc_find_srq((const struct rc *)e, number);

	if (!s)
		return -ENOENT;
	*caps = (struct engine_srq_caps){s->max, s->max_sge, s->pd};
	*limit = s->limit;
	return 0;
}

static int check_receives(const struct rc_rq *queue, const struct op *first)
{
	const struct list_link *place = list_first(&queue->free);

	for (const struct op *op = first; op; op = op->next) {
		if (!engine_is_same_queue(op, first) || op->n_sg > queue->max_sge ||
		    (op->n_sg > 0 && !op->sg))
			return -EINVAL;
		if (!place)
			return -ENOMEM;
		place = list_after(&queue->free, place);
	}
	return 0;
}

static void take_place(struct rc *r, struct rc_qp *q, struct rc_rq *queue, const struct op *op)
{
	uint64_t room = engine_cut_bytes(op);
	struct list_link *place = list_pop(&queue->free);

	assert(place);
	struct rc_recv *w = LIST_OWNER(place, rc_recv, wr.link);

	w->wr = engine_work_of(op, queue, 0);
	w->n_sg = (uint8_t)op->n_sg;
	/* No message is longer than this, so what is beyond it need not be counted. */
	w->room = room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
	if (op->n_sg > 0)
		memcpy(w->sg, op->sg, op->n_sg * sizeof *op->sg);
	if (q && q->state == ENGINE_ERROR) {
		rc_complete_recv(r, q, w, ENGINE_FLUSHED);
		return;
	}
	list_push(&queue->posted, &w->wr.link);
	queue->n_posted++;
}

int rc_post_recv(struct rc *r, struct rc_qp *q, struct rc_rq *queue, const struct op *op)
{
	int problem = check_receives(queue, op);

	if (problem)
		return problem;
	for (; op; op = op->next)
		take_place(r, q, queue, op);
	return 0;
}

static void raise_limit(struct rc *r, struct rc_rq *s)
{
	s->limit = 0;
	engine_event_raise(&r->srq_events, &s->events, ENGINE_EVENT_QUEUE_LIMIT);
}

struct rc_recv *rc_take_recv(struct rc *r, struct rc_qp *q)
{
	struct rc_rq *queue = q->resp.queue;
	struct list_link *link = list_pop(&queue->posted);

	if (!link)
		return NULL;
	struct rc_recv *recv = LIST_OWNER(link, rc_recv, wr.link);

	assert(recv->wr.status == ENGINE_OK);
	queue->n_posted--;
	if (queue->n_posted < queue->limit)
		raise_limit(r, queue);
	return recv;
}

static void complete(struct rc *r, const struct rc_qp *q, struct rc_recv *recv,
		     enum engine_status status)
{
	recv->qp = q->id.number;
	recv->peer = q->attr.peer;
	recv->source = q->attr.remote_qp;
	recv->wr.status = (uint8_t)status;
	engine_done_push(&r->done, &recv->wr);
}

/* Receives that were taken back, and have nothing before them any more. */
static void end_cancelled(struct rc *r, struct rc_qp *q)
{
	struct rc_rq *queue = &q->resp.own;
	struct list_link *link;

	while (queue->n_cancelled > 0 && (link = list_first(&queue->posted))) {
		struct rc_recv *recv = LIST_OWNER(link, rc_recv, wr.link);

		if (recv->wr.status != ENGINE_CANCELLED)
			return;
		list_pop(&queue->posted);
		queue->n_cancelled--;
		complete(r, q, recv, ENGINE_CANCELLED);
	}
}

void rc_complete_recv(struct rc *r, struct rc_qp *q, struct rc_recv *recv,
		      enum engine_status status)
{
	complete(r, q, recv, status);
	if (q->resp.own.n_cancelled > 0)
		end_cancelled(r, q);
}

static struct rc_recv *find_posted(const struct rc_rq *queue, uint64_t cookie)
{
	struct list_link *link = list_first(&queue->posted);

	for (; link; link = list_after(&queue->posted, link)) {
		struct rc_recv *recv = LIST_OWNER(link, rc_recv, wr.link);

		if (recv->wr.cookie == cookie && recv->wr.status != ENGINE_CANCELLED)
			return recv;
	}
	return NULL;
}

/* The peer may have been told of it, and send a message that finds none: an RNR NAK says so. */
int rc_cancel_recv(struct rc *r, struct rc_qp *q, uint64_t cookie)
{
	struct rc_rq *queue = &q->resp.own;
	const struct rc_recv *in_use = q->resp.recv;

	if (q->caps.srq != RC_NO_SRQ)
		return -ENOTSUP;
	struct rc_recv *recv = find_posted(queue, cookie);

	if (!recv)
		return in_use && in_use->wr.cookie == cookie ? -EBUSY : -ENOENT;
	recv->wr.status = ENGINE_CANCELLED;
	queue->n_posted--;
	queue->n_cancelled++;
	if (!in_use)
		end_cancelled(r, q);
	return 0;
}
