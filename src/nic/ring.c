/* The rings of completion queues: what is added, and the event that it makes. */
#include "nic/inside.h"

uint32_t cq_place(const struct nic_cq *cq, uint32_t i)
{
	uint32_t at = cq->head + i;

	return at < cq->cqe ? at : at - cq->cqe;
}

void cq_disarm(struct nic_cq *cq)
{
	if (cq->armed != CQ_NOT_ARMED)
		cq->user->device->n_armed--;
	cq->armed = CQ_NOT_ARMED;
}

void cq_wake(struct nic_cq *cq)
{
	if (cq->armed == CQ_NOT_ARMED)
		return;
	cq_disarm(cq);
	channel_raise(cq);
}

bool cq_push(struct nic_cq *cq, const struct done *done)
{
	if (cq->is_overrun || cq->count == cq->cqe)
		return false;
	cq->ring[cq_place(cq, cq->count++)] = *done;
	if (cq->armed == CQ_NOT_ARMED)
		return true;
	if (cq->armed == CQ_ARMED || done->status != ENGINE_OK ||
	    (done->code == ENGINE_DONE_RECEIVED && done->flags & ENGINE_SOLICITED))
		cq_wake(cq);
	return true;
}
