/* The rings of completion queues: what is added, and the event that it makes. */
#include "nic/inside.h"

uint32_t cq_place(const struct nic_cq *cq, uint32_t i)
{
	uint32_t at = cq->head + i;

	return at < cq->cqe ? at : at - cq->cqe;
}

void cq_arm(struct nic_cq *cq, bool is_solicited_only)
{
	if (cq->armed == CQ_NOT_ARMED)
		atomic_fetch_add(&cq->user->device->n_armed, 1);
	if (!is_solicited_only)
		cq->armed = CQ_ARMED;
	else if (cq->armed == CQ_NOT_ARMED)
		cq->armed = CQ_ARMED_SOLICITED;
}

void cq_disarm(struct nic_cq *cq)
{
	if (cq->armed != CQ_NOT_ARMED)
		atomic_fetch_sub(&cq->user->device->n_armed, 1);
	cq->armed = CQ_NOT_ARMED;
}

void cq_wake(struct nic_cq *cq)
{
	if (cq->armed == CQ_NOT_ARMED)
		return;
	cq_disarm(cq);
	channel_raise(cq);
}

static bool is_woken_by(const struct nic_cq *cq, const struct done *done)
{
	return cq->armed == CQ_ARMED || done->status != ENGINE_OK ||
	       (done->code == ENGINE_DONE_RECEIVED && done->flags & ENGINE_SOLICITED);
}

/* Nobody takes an entry, or adds one, between the completion that is lost and the word of it. */
static enum cq_pushed push(struct nic_cq *cq, const struct done *done)
{
	uint32_t count = cq_count(cq);

	if (cq->is_overrun)
		return CQ_OVERRUN_BEFORE;
	if (count == cq->cqe) {
		cq->is_overrun = true;
		return CQ_OVERRUN_NOW;
	}
	cq->ring[cq_place(cq, count)] = *done;
	cq_set_count(cq, count + 1);
	if (cq->armed != CQ_NOT_ARMED && is_woken_by(cq, done))
		cq_wake(cq);
	return CQ_PUSHED;
}

enum cq_pushed cq_push(struct nic_cq *cq, const struct done *done)
{
	pthread_mutex_lock(&cq->lock);
	enum cq_pushed pushed = push(cq, done);

	pthread_mutex_unlock(&cq->lock);
	return pushed;
}
