/* Completions go from the engine to the queues of their queue pairs. */
#include "nic/inside.h"
#include "nic/trace_file.h"

#include <assert.h>

enum engine_state qp_state(const struct nic_qp *qp)
{
	return qp->user->device->transport->pairs->state(qp->shard->engine, qp->number);
}

void qp_failed(const struct nic_qp *qp)
{
	if (qp_state(qp) == ENGINE_ERROR)
		trace_file_failed(qp->shard, qp->number);
}

/* What it flushes comes out of the engine later than what is being given out now. */
static void fail(struct nic_qp *qp)
{
	struct shard *s = qp->shard;

	s->device->transport->pairs->stop(s->engine, s->clock, qp->number, ENGINE_ERROR);
	source_raise(qp->user, &qp->source, NIC_EVENT_QP_FATAL);
	qp_failed(qp);
	s->is_behind = true;
}

static void fail_users(const struct shard *s, const struct nic_cq *cq)
{
	for (uint32_t i = 0; i < NIC_LOW_NUMBERS; i++) {
		struct nic_qp *qp = s->qps[i];

		if (qp && (qp->send_cq == cq || qp->recv_cq == cq) && qp_state(qp) != ENGINE_RESET)
			fail(qp);
	}
}

/* A completion of qp is lost, and with it the sense of all that follows: whoever uses the queue can
 * no longer tell what became of its work (IBTA 10.2.6.3, 11.6.3.4). One in RESET has none yet,
 * and fails with its first. */
static void on_overrun(struct nic_cq *cq)
{
	source_raise(cq->user, &cq->source, NIC_EVENT_CQ_ERROR);
	WITH_ONE_SHARD("the others' queue pairs fail with the others' locks held");
	for (uint32_t i = 0; i < NIC_SHARDS; i++)
		fail_users(device_shard(cq->user->device, i), cq);
}

void shard_complete(struct shard *s, const struct done *done)
{
	struct nic_qp *qp = shard_qp(s, done->qp);

	assert(qp);
	if (done->status != ENGINE_OK && done->status != ENGINE_FLUSHED &&
	    done->status != ENGINE_CANCELLED)
		qp_failed(qp);
	struct nic_cq *cq = done->code == ENGINE_DONE_SENT ? qp->send_cq : qp->recv_cq;

	enum cq_pushed pushed = cq_push(cq, done);

	if (pushed == CQ_OVERRUN_NOW)
		on_overrun(cq);
	else if (pushed == CQ_OVERRUN_BEFORE && qp_state(qp) != ENGINE_ERROR)
		fail(qp);
}
