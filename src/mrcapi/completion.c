/* Completion channels and queues. */
#include <stdlib.h>

#include "mrcapi/inside.h"

int mrc_create_comp_channel(struct mrc_context *context, struct mrc_comp_channel **made)
{
	if (!context || !made)
		return verbs_minus_one(EINVAL);
	struct mrc_comp_channel *channel = calloc(1, sizeof *channel);

	if (!channel)
		return verbs_minus_one(ENOMEM);
	channel->nic = nic_channel_new(context->user);
	if (!channel->nic) {
		int error = errno;

		free(channel);
		return verbs_minus_one(error);
	}
	channel->context = context;
	mrcapi_join(context, MRCAPI_CHANNEL, &channel->link);
	*made = channel;
	return 0;
}

int mrc_get_comp_channel_fd(struct mrc_comp_channel *channel, int *fd)
{
	if (!channel || !fd)
		return verbs_minus_one(EINVAL);
	*fd = nic_channel_fd(channel->nic);
	return *fd < 0 ? verbs_minus_one(-*fd) : 0;
}

int mrc_destroy_comp_channel(struct mrc_comp_channel *channel)
{
	if (!channel)
		return verbs_answer(-EINVAL);
	int error = nic_channel_free(channel->nic);

	if (error)
		return verbs_answer(error);
	mrcapi_leave(channel->context, &channel->link);
	free(channel);
	return 0;
}

int mrc_get_cq_event(struct mrc_comp_channel *channel, struct mrc_cq **cq, void **cq_context)
{
	struct nic_cq *nic;
	void *context;

	if (!channel || !cq || !cq_context)
		return verbs_minus_one(EINVAL);
	int error = nic_channel_get(channel->nic, &nic, &context);

	if (error)
		return verbs_minus_one(-error);
	*cq = context;
	__atomic_fetch_add(&(*cq)->n_taken, 1, __ATOMIC_RELAXED);
	*cq_context = (*cq)->cq_context;
	return 0;
}

/* More than were taken cannot be meant. The last one may let somebody destroy the queue: it is not
 * touched after that. */
void mrc_ack_cq_events(struct mrc_cq *cq, unsigned nevents)
{
	if (!cq)
		return;
	uint32_t taken = __atomic_load_n(&cq->n_taken, __ATOMIC_RELAXED);
	uint32_t n;

	do
		n = nevents < taken ? nevents : taken;
	while (!__atomic_compare_exchange_n(&cq->n_taken, &taken, taken - n, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	nic_cq_ack(cq->nic, n);
}

struct mrc_cq *mrcapi_queue_new(struct mrc_context *context, const struct mrcapi_queue_spec *spec)
{
	struct mrc_comp_channel *channel = spec->channel;

	if (!context || spec->cqe < 1 || (uint32_t)spec->cqe > NIC_MAX_CQE ||
	    spec->comp_vector < 0 || spec->comp_vector >= context->verbs->num_comp_vectors ||
	    (channel && channel->context != context))
		return verbs_null(EINVAL);
	struct mrc_cq *cq = calloc(1, sizeof *cq);

	if (!cq)
		return verbs_null(ENOMEM);
	cq->context = context;
	cq->cq_context = spec->cq_context;
	cq->is_of_events = spec->is_of_events;
	cq->nic = spec->make(context->user, (uint32_t)spec->cqe, channel ? channel->nic : NULL, cq);
	if (!cq->nic) {
		int error = errno;

		free(cq);
		return verbs_null(error);
	}
	mrcapi_join(context, MRCAPI_QUEUE, &cq->link);
	return cq;
}

struct mrc_cq *mrc_create_cq(struct mrc_context *context, int cqe, void *cq_context,
			     struct mrc_comp_channel *channel, int comp_vector)
{
	const struct mrcapi_queue_spec spec = {
		.cqe = cqe,
		.comp_vector = comp_vector,
		.cq_context = cq_context,
		.channel = channel,
		.make = nic_cq_new,
	};

	return mrcapi_queue_new(context, &spec);
}

int mrc_destroy_cq(struct mrc_cq *cq)
{
	if (!cq)
		return verbs_answer(-EINVAL);
	int error = nic_cq_free(cq->nic);

	if (error)
		return verbs_answer(error);
	mrcapi_leave(cq->context, &cq->link);
	free(cq);
	return 0;
}

int mrc_poll_cq(struct mrc_cq *cq, int num_entries, struct ibv_wc *wc)
{
	if (!cq || num_entries < 0 || (num_entries > 0 && !wc) || cq->is_of_events)
		return verbs_minus_one(EINVAL);
	return verbs_take(cq->nic, num_entries, wc);
}

int mrc_req_notify_cq(struct mrc_cq *cq, int solicited_only)
{
	return verbs_answer(cq ? nic_cq_arm(cq->nic, solicited_only != 0) : -EINVAL);
}
