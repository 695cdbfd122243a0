/* Asynchronous events. */
#include "verbs/inside.h"

enum subject { PORT, QUEUE, PAIR, SHARED };

static const struct kind {
	enum ibv_event_type type;
	enum subject subject;
} kinds[] = {
	[NIC_EVENT_CQ_ERROR] = {IBV_EVENT_CQ_ERR, QUEUE},
	[NIC_EVENT_QP_FATAL] = {IBV_EVENT_QP_FATAL, PAIR},
	[NIC_EVENT_QP_INVALID] = {IBV_EVENT_QP_REQ_ERR, PAIR},
	[NIC_EVENT_QP_ACCESS] = {IBV_EVENT_QP_ACCESS_ERR, PAIR},
	[NIC_EVENT_ESTABLISHED] = {IBV_EVENT_COMM_EST, PAIR},
	[NIC_EVENT_DRAINED] = {IBV_EVENT_SQ_DRAINED, PAIR},
	/* Of those that leave a queue pair as it is, the one that can mean nothing else here: there
	 * are no paths to migrate to. */
	[NIC_EVENT_QP_NO_RANGE] = {IBV_EVENT_PATH_MIG_ERR, PAIR},
	[NIC_EVENT_LAST_WQE] = {IBV_EVENT_QP_LAST_WQE_REACHED, PAIR},
	[NIC_EVENT_SRQ_LIMIT] = {IBV_EVENT_SRQ_LIMIT_REACHED, SHARED},
	[NIC_EVENT_PORT_UP] = {IBV_EVENT_PORT_ACTIVE, PORT},
	[NIC_EVENT_PORT_DOWN] = {IBV_EVENT_PORT_ERR, PORT},
	[NIC_EVENT_GID_CHANGE] = {IBV_EVENT_GID_CHANGE, PORT},
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

enum ibv_event_type verbs_event_type(const struct nic_event *event)
{
	return kinds[event->kind].type;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS(ibv_get_async_event, verbs_minus_one(ENOSYS), context, event);
	struct nic_event got;
	int error = nic_event_get(verbs_opened(context)->user, &got);

	if (error)
		return verbs_minus_one(-error);
	struct verbs_queue *queue = got.context;
	struct verbs_pair *pair = got.context;
	struct verbs_shared *shared = got.context;
	struct verbs_link *link = NULL;

	event->event_type = verbs_event_type(&got);
	switch (kinds[got.kind].subject) {
	case PORT: event->element.port_num = VERBS_PORT + got.port; break;
	case QUEUE:
		event->element.cq = &queue->cq;
		link = &queue->link;
		break;
	case PAIR:
		event->element.qp = &pair->ex.qp_base;
		link = &pair->link;
		break;
	case SHARED:
		event->element.srq = &shared->srq;
		link = &shared->link;
		break;
	}
	if (link)
		__atomic_fetch_add(&link->n_events, 1, __ATOMIC_RELAXED);
	return 0;
}

/* The kind of an event of the header; N_KINDS: we make no such event. */
static size_t find_kind(enum ibv_event_type type)
{
	size_t i = 0;

	while (i < N_KINDS && kinds[i].type != type)
		i++;
	return i;
}

/* The object that an event is about. context NULL: a port, or nothing that we tell of. */
struct object {
	struct ibv_context *context;
	struct verbs_link *link; /* these two only if the context is ours */
	void *nic;
};

static struct object find_object(const struct ibv_async_event *event, size_t kind)
{
	struct verbs_queue *queue = verbs_queue_of(event->element.cq);
	struct verbs_pair *pair = verbs_pair_of(event->element.qp);
	struct verbs_shared *shared = verbs_shared_of(event->element.srq);
	struct object object = {0};

	switch (kind < N_KINDS ? kinds[kind].subject : PORT) {
	case PORT: break;
	case QUEUE:
		object.context = event->element.cq->context;
		if (verbs_is_ours(object.context))
			object = (struct object){object.context, &queue->link, queue->nic};
		break;
	case PAIR:
		object.context = event->element.qp->context;
		if (verbs_is_ours(object.context))
			object = (struct object){object.context, &pair->link, pair->nic};
		break;
	case SHARED:
		object.context = event->element.srq->context;
		if (verbs_is_ours(object.context))
			object = (struct object){object.context, &shared->link, shared->nic};
		break;
	}
	return object;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	size_t kind = find_kind(event->event_type);
	struct object object = find_object(event, kind);

	if (!object.link) {
		/* One of a port, of either library, is acknowledged by doing nothing. */
		if (verbs_foreign()->ibv_ack_async_event)
			verbs_foreign()->ibv_ack_async_event(event);
		return;
	}
	struct nic_event ack = {.kind = (uint8_t)kind, .object = object.nic};

	/* The last one may let somebody destroy the object: it is not touched after that. */
	__atomic_fetch_sub(&object.link->n_events, 1, __ATOMIC_RELAXED);
	nic_event_ack(verbs_opened(object.context)->user, &ack);
}
