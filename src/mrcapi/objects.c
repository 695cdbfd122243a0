/* What a context has made, which ends with it. */
#include "mrcapi/inside.h"

void mrcapi_join(struct mrc_context *context, enum mrcapi_kind kind, struct verbs_link *link)
{
	pthread_mutex_lock(&context->lock);
	struct verbs_link **first = &context->objects[kind];

	link->next = *first;
	link->back = first;
	if (link->next)
		link->next->back = &link->next;
	*first = link;
	pthread_mutex_unlock(&context->lock);
}

void mrcapi_leave(struct mrc_context *context, struct verbs_link *link)
{
	pthread_mutex_lock(&context->lock);
	*link->back = link->next;
	if (link->next)
		link->next->back = link->back;
	pthread_mutex_unlock(&context->lock);
}

/* The object that a link is in. */
#define HOLDER(type, link) ((struct type *)(void *)((uint8_t *)(link)-offsetof(struct type, link)))

/* Events that were taken and never acknowledged would keep an object for ever. */
static void acknowledge(struct nic_user *user, const struct verbs_link *link,
			struct nic_event event)
{
	for (uint32_t i = link->n_events; i > 0; i--)
		nic_event_ack(user, &event);
}

static int destroy(struct nic_user *user, enum mrcapi_kind kind, struct verbs_link *link)
{
	struct mrc_qp *qp = HOLDER(mrc_qp, link);
	struct mrc_cq *cq = HOLDER(mrc_cq, link);

	switch (kind) {
	case MRCAPI_PAIR:
		acknowledge(user, link, (struct nic_event){NIC_EVENT_QP_FATAL, qp->nic, qp, 0});
		return mrc_destroy_qp(qp);
	case MRCAPI_HINT: return mrc_destroy_qp_hint(HOLDER(mrc_qp_hint, link));
	case MRCAPI_QUEUE:
		acknowledge(user, link, (struct nic_event){NIC_EVENT_CQ_ERROR, cq->nic, cq, 0});
		nic_cq_ack(cq->nic, cq->n_taken);
		return mrc_destroy_cq(cq);
	case MRCAPI_CHANNEL: return mrc_destroy_comp_channel(HOLDER(mrc_comp_channel, link));
	case MRCAPI_KINDS: break;
	}
	return EINVAL;
}

void mrcapi_destroy_all(struct mrc_context *context)
{
	/* Users before what they use. One that cannot be destroyed is forgotten. */
	for (int kind = 0; kind < MRCAPI_KINDS; kind++)
		while (context->objects[kind]) {
			struct verbs_link *link = context->objects[kind];

			if (destroy(context->user, (enum mrcapi_kind)kind, link) != 0)
				mrcapi_leave(context, link);
		}
}
