/* Completion channels and queues. */
#include <stdlib.h>

#include "verbs/inside.h"

#define POLL_BATCH 16

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS_POINTER(ibv_create_comp_channel, context);
	struct verbs_channel *channel = calloc(1, sizeof *channel);

	if (!channel)
		return verbs_null(ENOMEM);
	channel->nic = nic_channel_new(verbs_opened(context)->user);
	if (!channel->nic) {
		free(channel);
		return NULL;
	}
	channel->channel.context = context;
	channel->channel.fd = nic_channel_fd(channel->nic);
	verbs_join(context, VERBS_CHANNEL, &channel->link);
	return &channel->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	if (!verbs_is_ours(channel->context))
		return VERBS_PASS(ibv_destroy_comp_channel, ENOSYS, channel);
	struct verbs_channel *ours = verbs_channel_of(channel);
	int error = nic_channel_free(ours->nic);

	if (error)
		return verbs_answer(error);
	verbs_leave(channel->context, &ours->link);
	free(ours);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	if (!verbs_is_ours(channel->context))
		return VERBS_PASS(ibv_get_cq_event, verbs_minus_one(ENOSYS), channel, cq,
				  cq_context);
	struct nic_cq *nic;
	void *context;
	int error = nic_channel_get(verbs_channel_of(channel)->nic, &nic, &context);

	if (error)
		return verbs_minus_one(-error);
	struct verbs_queue *queue = context;

	__atomic_fetch_add(&queue->n_taken, 1, __ATOMIC_RELAXED);
	*cq = &queue->cq;
	*cq_context = queue->cq.cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned nevents)
{
	if (!verbs_is_ours(cq->context)) {
		if (verbs_foreign()->ibv_ack_cq_events)
			verbs_foreign()->ibv_ack_cq_events(cq, nevents);
		return;
	}
	struct verbs_queue *queue = verbs_queue_of(cq);

	/* The last one may let somebody destroy the queue: it is not touched after that. */
	__atomic_fetch_sub(&queue->n_taken, nevents, __ATOMIC_RELAXED);
	nic_cq_ack(queue->nic, nevents);
}

static struct verbs_queue *queue_new(struct ibv_context *context,
				     const struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_comp_channel *channel = attr->channel;

	if (attr->cqe < 1 || attr->cqe > NIC_MAX_CQE ||
	    attr->comp_vector >= (uint32_t)context->num_comp_vectors ||
	    (channel && channel->context != context))
		return verbs_null(EINVAL);
	struct verbs_queue *queue = calloc(1, sizeof *queue);

	if (!queue)
		return verbs_null(ENOMEM);
	queue->nic = nic_cq_new(verbs_opened(context)->user, attr->cqe,
				channel ? verbs_channel_of(channel)->nic : NULL, queue);
	if (!queue->nic) {
		free(queue);
		return NULL;
	}
	queue->cq.context = context;
	queue->cq.channel = channel;
	queue->cq.cq_context = attr->cq_context;
	queue->cq.handle = verbs_join(context, VERBS_QUEUE, &queue->link);
	queue->cq.cqe = (int)nic_cq_cqe(queue->nic);
	pthread_mutex_init(&queue->cq.mutex, NULL);
	pthread_cond_init(&queue->cq.cond, NULL);
	pthread_mutex_init(&queue->poll, NULL);
	verbs_fill_readers(queue);
	return queue;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS_POINTER(ibv_create_cq, context, cqe, cq_context, channel,
					  comp_vector);
	struct ibv_cq_init_attr_ex attr = {
		.cqe = (uint32_t)cqe,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = (uint32_t)comp_vector,
	};
	struct verbs_queue *queue = queue_new(context, &attr);

	return queue ? &queue->cq : NULL;
}

struct ibv_cq_ex *verbs_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t times =
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	bool has_flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS;

	if (attr->wc_flags & ~(IBV_WC_STANDARD_FLAGS | times) ||
	    attr->comp_mask & ~(uint32_t)IBV_CQ_INIT_ATTR_MASK_FLAGS ||
	    (has_flags && attr->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return verbs_null(EOPNOTSUPP);
	struct verbs_queue *queue = queue_new(context, attr);

	if (!queue)
		return NULL;
	queue->has_time = attr->wc_flags & times;
	queue->is_unlocked = has_flags && attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	return &queue->ex;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	if (!verbs_is_ours(cq->context))
		return VERBS_PASS(ibv_resize_cq, ENOSYS, cq, cqe);
	if (cqe < 1 || (uint32_t)cqe > NIC_MAX_CQE)
		return verbs_answer(-EINVAL);
	struct verbs_queue *queue = verbs_queue_of(cq);
	int error = nic_cq_resize(queue->nic, (uint32_t)cqe);

	if (!error)
		cq->cqe = (int)nic_cq_cqe(queue->nic);
	return verbs_answer(error);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	if (!verbs_is_ours(cq->context))
		return VERBS_PASS(ibv_destroy_cq, ENOSYS, cq);
	struct verbs_queue *queue = verbs_queue_of(cq);
	int error = nic_cq_free(queue->nic);

	if (error)
		return verbs_answer(error);
	verbs_leave(cq->context, &queue->link);
	pthread_mutex_destroy(&queue->poll);
	pthread_cond_destroy(&cq->cond);
	pthread_mutex_destroy(&cq->mutex);
	free(queue);
	return 0;
}

int verbs_take(struct nic_cq *queue, int n, struct ibv_wc *wc)
{
	struct done done[POLL_BATCH];
	int taken = 0;

	while (taken < n) {
		int most = n - taken < POLL_BATCH ? n - taken : POLL_BATCH;
		int got = nic_cq_poll(queue, done, most);

		/* What was taken comes first; the error will still be there. */
		if (got < 0)
			return taken ? taken : verbs_minus_one(-got);
		for (int i = 0; i < got; i++)
			verbs_fill_wc(&wc[taken + i], &done[i]);
		taken += got;
		if (got < most)
			break;
	}
	return taken;
}

int verbs_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	return verbs_take(verbs_queue_of(cq)->nic, n, wc);
}

int verbs_notify(struct ibv_cq *cq, int solicited_only)
{
	return verbs_answer(nic_cq_arm(verbs_queue_of(cq)->nic, solicited_only != 0));
}
