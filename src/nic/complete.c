/* Completions go from the engine to the queues of their queue pairs. */
#include "nic/inside.h"
#include "nic/trace_file.h"

#include <assert.h>

enum engine_state qp_state(const struct nic_qp *qp)
{
	const struct device *d = qp->user->device;

	return d->transport->pairs->state(d->engine, qp->number);
}

void qp_failed(const struct nic_qp *qp)
{
	if (qp_state(qp) == ENGINE_ERROR)
		trace_file_failed(qp->user->device, qp->number);
}

/* What it flushes comes out of the engine later than what is being given out now. */
static void fail(struct nic_qp *qp)
{
	struct device *d = qp->user->device;

	d->transport->pairs->stop(d->engine, d->clock, qp->number, ENGINE_ERROR);
	source_raise(qp->user, &qp->source, NIC_EVENT_QP_FATAL);
	qp_failed(qp);
	d->is_behind = true;
}

/* A completion of qp is lost, and with it the sense of all that follows: whoever uses the queue can
 * no longer tell what became of its work (IBTA 10.2.6.3, 11.6.3.4). One in RESET has none yet,
 * and fails with its first. */
static void on_overrun(struct nic_cq *cq, struct nic_qp *qp)
{
	struct device *d = cq->user->device;

	if (cq->is_overrun) {
		if (qp_state(qp) != ENGINE_ERROR)
			fail(qp);
		return;
	}
	cq->is_overrun = true;
	source_raise(cq->user, &cq->source, NIC_EVENT_CQ_ERROR);
	for (uint32_t i = 0; i < NIC_LOW_NUMBERS; i++) {
		struct nic_qp *other = d->qps[i];

		if (other && (other->send_cq == cq || other->recv_cq == cq) &&
		    qp_state(other) != ENGINE_RESET)
			fail(other);
	}
}

void device_complete(struct device *d, const struct done *done)
{
	struct nic_qp *qp = d->qps[done->qp % NIC_LOW_NUMBERS];

	assert(qp);
	if (done->status != ENGINE_OK && done->status != ENGINE_FLUSHED)
		qp_failed(qp);
	struct nic_cq *cq = done->code == ENGINE_DONE_SENT ? qp->send_cq : qp->recv_cq;

	if (!cq_push(cq, done))
		on_overrun(cq, qp);
}
