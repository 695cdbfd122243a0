/* Asynchronous events. */
#include "mrcapi/inside.h"

/* The engine tells of every drain; a program learns of those that it asked to learn of. */
static bool is_unasked(const struct nic_event *event)
{
	struct mrc_qp *qp = event->context;

	if (event->kind != NIC_EVENT_DRAINED)
		return false;
	pthread_mutex_lock(&qp->modify);
	bool is_asked = qp->said.en_sqd_async_notify != 0;

	pthread_mutex_unlock(&qp->modify);
	return !is_asked;
}

static int next_event(struct nic_user *user, struct nic_event *event)
{
	int error;

	while (!(error = nic_event_get(user, event)) && is_unasked(event))
		nic_event_ack(user, event);
	return error;
}

int mrc_get_async_event(struct mrc_context *context, struct mrc_async_event *event)
{
	struct nic_event got;

	if (!context || !event)
		return verbs_minus_one(EINVAL);
	int error = next_event(context->user, &got);

	if (error)
		return verbs_minus_one(-error);
	struct verbs_link *link = NULL;

	*event = (struct mrc_async_event){.event_type = verbs_event_type(&got)};
	if (!got.object) {
		event->element.port_num = VERBS_PORT + got.port;
	} else if (got.kind == NIC_EVENT_CQ_ERROR) {
		event->element.cq = got.context;
		link = &event->element.cq->link;
	} else {
		event->element.qp = got.context;
		link = &event->element.qp->link;
	}
	if (link)
		__atomic_fetch_add(&link->n_events, 1, __ATOMIC_RELAXED);
	return 0;
}

/* Which of a pair's events it is makes no difference to who waits for it. The last one may let
 * somebody destroy the object: it is not touched after that. */
void mrc_ack_async_event(struct mrc_async_event *event)
{
	if (!event)
		return;
	struct mrc_cq *cq = event->element.cq;
	struct mrc_qp *qp = event->element.qp;

	switch (event->event_type) {
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_GID_CHANGE: return;
	case IBV_EVENT_CQ_ERR:
		__atomic_fetch_sub(&cq->link.n_events, 1, __ATOMIC_RELAXED);
		nic_event_ack(cq->context->user,
			      &(struct nic_event){NIC_EVENT_CQ_ERROR, cq->nic, cq, 0});
		return;
	default:
		__atomic_fetch_sub(&qp->link.n_events, 1, __ATOMIC_RELAXED);
		nic_event_ack(qp->context->user,
			      &(struct nic_event){NIC_EVENT_QP_FATAL, qp->nic, qp, 0});
	}
}
