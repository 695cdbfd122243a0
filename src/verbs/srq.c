/* Shared receive queues. */
#include <stdlib.h>

#include "verbs/inside.h"

static struct ibv_srq *srq_new(struct ibv_pd *pd, struct ibv_srq_attr *attr, void *srq_context)
{
	struct engine_srq_caps caps = {.max_recv = attr->max_wr, .max_sge = attr->max_sge};
	struct verbs_shared *shared = calloc(1, sizeof *shared);
	uint32_t limit;

	if (!shared)
		return verbs_null(ENOMEM);
	shared->nic = nic_srq_new(verbs_domain_of(pd)->nic, &caps, shared);
	if (!shared->nic) {
		free(shared);
		return NULL;
	}
	if (nic_srq_query(shared->nic, &caps, &limit) == 0) {
		attr->max_wr = caps.max_recv;
		attr->max_sge = caps.max_sge;
	}
	shared->max_sge = attr->max_sge;
	shared->srq.context = pd->context;
	shared->srq.srq_context = srq_context;
	shared->srq.pd = pd;
	shared->srq.handle = verbs_join(pd->context, VERBS_SHARED, &shared->link);
	pthread_mutex_init(&shared->srq.mutex, NULL);
	pthread_cond_init(&shared->srq.cond, NULL);
	return &shared->srq;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *srq_init_attr)
{
	if (!verbs_is_ours(pd->context))
		return VERBS_PASS_POINTER(ibv_create_srq, pd, srq_init_attr);
	return srq_new(pd, &srq_init_attr->attr, srq_init_attr->srq_context);
}

struct ibv_srq *verbs_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;

	if (attr->comp_mask & ~known ||
	    (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC))
		return verbs_null(EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || attr->pd->context != context)
		return verbs_null(EINVAL);
	return srq_new(attr->pd, &attr->attr, attr->srq_context);
}

/* The limit can be armed, the size cannot be changed (IBV_DEVICE_SRQ_RESIZE is not offered). */
int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr, int srq_attr_mask)
{
	if (!verbs_is_ours(srq->context))
		return VERBS_PASS(ibv_modify_srq, ENOSYS, srq, srq_attr, srq_attr_mask);
	struct verbs_shared *shared = verbs_shared_of(srq);

	if (srq_attr_mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return verbs_answer(-EINVAL);
	if (srq_attr_mask & IBV_SRQ_MAX_WR)
		return verbs_answer(-EOPNOTSUPP);
	if (!(srq_attr_mask & IBV_SRQ_LIMIT))
		return 0;
	return verbs_answer(nic_srq_limit(shared->nic, srq_attr->srq_limit));
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr)
{
	if (!verbs_is_ours(srq->context))
		return VERBS_PASS(ibv_query_srq, ENOSYS, srq, srq_attr);
	struct engine_srq_caps caps;
	uint32_t limit;
	int error = nic_srq_query(verbs_shared_of(srq)->nic, &caps, &limit);

	if (!error)
		*srq_attr = (struct ibv_srq_attr){caps.max_recv, caps.max_sge, limit};
	return verbs_answer(error);
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	if (!verbs_is_ours(srq->context))
		return VERBS_PASS(ibv_destroy_srq, ENOSYS, srq);
	struct verbs_shared *shared = verbs_shared_of(srq);
	int error = nic_srq_free(shared->nic);

	if (error)
		return verbs_answer(error);
	verbs_leave(srq->context, &shared->link);
	pthread_cond_destroy(&srq->cond);
	pthread_mutex_destroy(&srq->mutex);
	free(shared);
	return 0;
}

int verbs_get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	*number = nic_srq_number(verbs_shared_of(srq)->nic);
	return 0;
}
