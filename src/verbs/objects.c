/* What a context has made. A program may close its device without destroying all of it, as perftest
 * does with a queue, and the kernel then cleans up after it; so do we. */
#include "verbs/inside.h"

/* The object that a link is in. */
#define HOLDER(type, link) ((struct type *)(void *)((uint8_t *)(link)-offsetof(struct type, link)))

/* Events that were taken and never acknowledged would keep an object for ever. */
static void acknowledge(struct nic_user *user, const struct verbs_link *link,
			struct nic_event event)
{
	for (uint32_t i = link->n_events; i > 0; i--)
		nic_event_ack(user, &event);
}

static int destroy(struct nic_user *user, enum verbs_kind kind, struct verbs_link *link)
{
	struct verbs_pair *pair = HOLDER(verbs_pair, link);
	struct verbs_shared *shared = HOLDER(verbs_shared, link);
	struct verbs_queue *queue = HOLDER(verbs_queue, link);

	switch (kind) {
	case VERBS_PAIR:
		acknowledge(user, link, (struct nic_event){NIC_EVENT_QP_FATAL, pair->nic, pair, 0});
		return ibv_destroy_qp(&pair->ex.qp_base);
	case VERBS_SHARED:
		acknowledge(user, link,
			    (struct nic_event){NIC_EVENT_SRQ_LIMIT, shared->nic, shared, 0});
		return ibv_destroy_srq(&shared->srq);
	case VERBS_QUEUE:
		acknowledge(user, link,
			    (struct nic_event){NIC_EVENT_CQ_ERROR, queue->nic, queue, 0});
		nic_cq_ack(queue->nic, queue->n_taken);
		return ibv_destroy_cq(&queue->cq);
	case VERBS_CHANNEL: return ibv_destroy_comp_channel(&HOLDER(verbs_channel, link)->channel);
	case VERBS_WINDOW: return verbs_dealloc_mw(&HOLDER(verbs_window, link)->mw);
	case VERBS_REGION: return ibv_dereg_mr(&HOLDER(verbs_region, link)->mr);
	case VERBS_DOMAIN: return ibv_dealloc_pd(&HOLDER(verbs_domain, link)->pd);
	case VERBS_KINDS: break;
	}
	return EINVAL;
}

void verbs_destroy_all(struct ibv_context *context)
{
	struct verbs_opened *opened = verbs_opened(context);

	/* Users before what they use. One that cannot be destroyed is forgotten. */
	for (int kind = 0; kind < VERBS_KINDS; kind++)
		while (opened->objects[kind]) {
			struct verbs_link *link = opened->objects[kind];

			if (destroy(opened->user, (enum verbs_kind)kind, link) != 0)
				verbs_leave(context, link);
		}
}
