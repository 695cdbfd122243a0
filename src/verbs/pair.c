/* Queue pairs: made, changed, asked, ended. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/inside.h"

static_assert((int)ENGINE_RESET == IBV_QPS_RESET && (int)ENGINE_INIT == IBV_QPS_INIT &&
		      (int)ENGINE_RTR == IBV_QPS_RTR && (int)ENGINE_RTS == IBV_QPS_RTS &&
		      (int)ENGINE_SQD == IBV_QPS_SQD,
	      "the states have the header's numbers but for the last");

#define NUMBER_MASK 0xffffffu /* of queue pairs and packets (IBTA 9.2) */

#define SEND_OPS                                                                                \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND | \
	 IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |                              \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |              \
	 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV)

static enum ibv_qp_state their_state(uint8_t state)
{
	return state == ENGINE_ERROR ? IBV_QPS_ERR : (enum ibv_qp_state)state;
}

/* What a pair may be asked for; 0 or an errno value. */
static int check_init(const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	struct ibv_context *context = attr->pd->context;
	const struct transport *transport = verbs_opened(context)->transport;
	const struct transport_caps *most = &transport->pairs->most;

	if (attr->qp_type != IBV_QPT_RC || !transport->verbs)
		return EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq || attr->send_cq->context != context ||
	    attr->recv_cq->context != context || (attr->srq && attr->srq->context != context))
		return EINVAL;
	if (cap->max_send_wr > most->max_send || cap->max_send_sge > most->max_send_sge ||
	    cap->max_inline_data > most->max_inline)
		return EINVAL;
	if (!attr->srq &&
	    (cap->max_recv_wr > most->max_recv || cap->max_recv_sge > most->max_recv_sge))
		return EINVAL;
	return 0;
}

static struct nic_qp_spec make_spec(const struct ibv_qp_init_attr_ex *attr, void *context)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	return (struct nic_qp_spec){
		.pd = verbs_domain_of(attr->pd)->nic,
		.send_cq = verbs_queue_of(attr->send_cq)->nic,
		.recv_cq = verbs_queue_of(attr->recv_cq)->nic,
		.srq = attr->srq ? verbs_shared_of(attr->srq)->nic : NULL,
		/* A pair that only receives still has a send queue, if a short one. */
		.max_send = cap->max_send_wr ? cap->max_send_wr : 1,
		.max_recv = attr->srq ? 0 : cap->max_recv_wr,
		.max_send_sge = cap->max_send_sge,
		.max_recv_sge = attr->srq ? 0 : cap->max_recv_sge,
		.max_inline = cap->max_inline_data,
		.is_all_signaled = attr->sq_sig_all != 0,
		.context = context,
	};
}

static void fill_pair(struct verbs_pair *pair, const struct ibv_qp_init_attr_ex *attr,
		      const struct nic_qp_spec *spec)
{
	struct ibv_qp *qp = &pair->ex.qp_base;

	pair->is_all_signaled = spec->is_all_signaled;
	pair->cap = (struct ibv_qp_cap){
		.max_send_wr = spec->max_send,
		.max_recv_wr = spec->max_recv,
		.max_send_sge = spec->max_send_sge,
		.max_recv_sge = spec->max_recv_sge,
		.max_inline_data = spec->max_inline,
	};
	qp->context = attr->pd->context;
	qp->qp_context = attr->qp_context;
	qp->pd = attr->pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->handle = verbs_join(qp->context, VERBS_PAIR, &pair->link);
	qp->qp_num = nic_qp_number(pair->nic);
	qp->state = IBV_QPS_RESET;
	qp->qp_type = IBV_QPT_RC;
	pthread_mutex_init(&qp->mutex, NULL);
	pthread_cond_init(&qp->cond, NULL);
	pthread_mutex_init(&pair->modify, NULL);
}

static struct verbs_pair *pair_new(const struct ibv_qp_init_attr_ex *attr)
{
	int error = check_init(attr);

	if (error)
		return verbs_null(error);
	struct verbs_pair *pair = calloc(1, sizeof *pair);

	if (!pair)
		return verbs_null(ENOMEM);
	struct nic_qp_spec spec = make_spec(attr, pair);

	pair->nic = nic_qp_new(verbs_opened(attr->pd->context)->user, &spec);
	if (!pair->nic) {
		free(pair);
		return NULL;
	}
	fill_pair(pair, attr, &spec);
	return pair;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	if (!verbs_is_ours(pd->context))
		return VERBS_PASS_POINTER(ibv_create_qp, pd, attr);
	struct ibv_qp_init_attr_ex all = {.pd = pd};

	static_assert(offsetof(struct ibv_qp_init_attr_ex, comp_mask) >=
			      sizeof(struct ibv_qp_init_attr) - sizeof(int),
		      "the extended struct begins with the plain one");
	memcpy(&all, attr, offsetof(struct ibv_qp_init_attr_ex, comp_mask));
	struct verbs_pair *pair = pair_new(&all);

	if (!pair)
		return NULL;
	attr->cap = pair->cap;
	return &pair->ex.qp_base;
}

struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	bool has_draft = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if (attr->comp_mask & ~known ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags) ||
	    (has_draft && attr->send_ops_flags & ~(uint64_t)SEND_OPS))
		return verbs_null(EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || attr->pd->context != context)
		return verbs_null(EINVAL);
	struct verbs_pair *pair = pair_new(attr);

	if (!pair)
		return NULL;
	if (has_draft && !verbs_draft_new(pair)) {
		ibv_destroy_qp(&pair->ex.qp_base);
		return verbs_null(ENOMEM);
	}
	attr->cap = pair->cap;
	return &pair->ex.qp_base;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	if (!verbs_is_ours(qp->context))
		return VERBS_PASS_POINTER(ibv_qp_to_qp_ex, qp);
	struct verbs_pair *pair = verbs_pair_of(qp);

	return pair->draft ? &pair->ex : NULL;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	if (!verbs_is_ours(qp->context))
		return VERBS_PASS(ibv_destroy_qp, ENOSYS, qp);
	struct verbs_pair *pair = verbs_pair_of(qp);
	int error = nic_qp_free(pair->nic);

	if (error)
		return verbs_answer(error);
	verbs_leave(qp->context, &pair->link);
	verbs_draft_free(pair);
	pthread_mutex_destroy(&pair->modify);
	pthread_cond_destroy(&qp->cond);
	pthread_mutex_destroy(&qp->mutex);
	free(pair);
	return 0;
}

/* The values of what the mask names. */
static bool is_sound(const struct ibv_qp_attr *a, int mask, enum ibv_qp_state state)
{
	if (mask & IBV_QP_CUR_STATE && a->cur_qp_state != state)
		return false;
	if ((mask & IBV_QP_PKEY_INDEX && a->pkey_index != 0) ||
	    (mask & IBV_QP_PORT && a->port_num != VERBS_PORT))
		return false;
	/* No second path: the device does not offer IBV_DEVICE_AUTO_PATH_MIG. */
	if (mask & IBV_QP_ALT_PATH ||
	    (mask & IBV_QP_PATH_MIG_STATE && a->path_mig_state != IBV_MIG_MIGRATED))
		return false;
	/* A packet of RoCE is addressed by GIDs, always (IBTA annex A17). */
	if (mask & IBV_QP_AV && (!a->ah_attr.is_global || a->ah_attr.port_num != VERBS_PORT ||
				 a->ah_attr.grh.sgid_index >= NIC_GID_TABLE))
		return false;
	if (mask & IBV_QP_PATH_MTU && (a->path_mtu < IBV_MTU_256 || a->path_mtu > IBV_MTU_4096))
		return false;
	return !((mask & IBV_QP_MIN_RNR_TIMER && a->min_rnr_timer > 31) ||
		 (mask & IBV_QP_TIMEOUT && a->timeout > 31) ||
		 (mask & IBV_QP_RETRY_CNT && a->retry_cnt > 7) ||
		 (mask & IBV_QP_RNR_RETRY && a->rnr_retry > 7) ||
		 (mask & IBV_QP_DEST_QPN && a->dest_qp_num > NUMBER_MASK));
}

/* The attributes as the engine has them; only those that set names are looked at. Devices take the
 * low 24 bits of a packet number. */
static struct engine_attr our_attr(const struct ibv_qp_attr *a)
{
	const unsigned rights = MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC;

	return (struct engine_attr){
		.state = a->qp_state == IBV_QPS_ERR ? (uint8_t)ENGINE_ERROR : (uint8_t)a->qp_state,
		.access = (uint8_t)(a->qp_access_flags & rights),
		.pmtu = (uint16_t)(128u << (a->path_mtu & 7u)),
		.remote_qp = a->dest_qp_num,
		.rq_psn = a->rq_psn & NUMBER_MASK,
		.sq_psn = a->sq_psn & NUMBER_MASK,
		.rd_atomic = a->max_rd_atomic,
		.dest_rd_atomic = a->max_dest_rd_atomic,
		.rnr_timer = a->min_rnr_timer,
		.timeout = a->timeout,
		.retries = a->retry_cnt,
		.rnr_retries = a->rnr_retry,
		.wants_drained = a->en_sqd_async_notify != 0,
	};
}

static uint32_t our_set(int mask)
{
	static const struct {
		int theirs;
		uint32_t ours;
	} map[] = {
		{IBV_QP_STATE, ENGINE_SET_STATE},
		{IBV_QP_ACCESS_FLAGS, ENGINE_SET_ACCESS},
		{IBV_QP_PATH_MTU, ENGINE_SET_PMTU},
		{IBV_QP_AV, ENGINE_SET_PATH},
		{IBV_QP_DEST_QPN, ENGINE_SET_REMOTE_QP},
		{IBV_QP_RQ_PSN, ENGINE_SET_RQ_PSN},
		{IBV_QP_SQ_PSN, ENGINE_SET_SQ_PSN},
		{IBV_QP_MAX_QP_RD_ATOMIC, ENGINE_SET_RD_ATOMIC},
		{IBV_QP_MAX_DEST_RD_ATOMIC, ENGINE_SET_DEST_RD_ATOMIC},
		{IBV_QP_MIN_RNR_TIMER, ENGINE_SET_RNR_TIMER},
		{IBV_QP_TIMEOUT, ENGINE_SET_TIMEOUT},
		{IBV_QP_RETRY_CNT, ENGINE_SET_RETRIES},
		{IBV_QP_RNR_RETRY, ENGINE_SET_RNR_RETRIES},
		{IBV_QP_EN_SQD_ASYNC_NOTIFY, ENGINE_SET_WANTS_DRAINED},
	};
	uint32_t set = 0;

	for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
		set |= mask & map[i].theirs ? map[i].ours : 0;
	return set;
}

static struct nic_path our_path(const struct ibv_ah_attr *ah)
{
	struct nic_path path = {
		.gid_index = ah->grh.sgid_index,
		.traffic_class = ah->grh.traffic_class,
		.hop_limit = ah->grh.hop_limit,
		.flow_label = ah->grh.flow_label & 0xfffff,
	};

	memcpy(path.dgid, ah->grh.dgid.raw, sizeof path.dgid);
	return path;
}

/* Under the pair's lock. 0 or a negative errno; then nothing changed. */
static int modify(struct verbs_pair *pair, const struct ibv_qp_attr *attr, int mask)
{
	struct engine_attr is, want = our_attr(attr);
	struct nic_path path = {0};
	bool is_draining;
	int error = nic_qp_query(pair->nic, &is, &path, &is_draining);

	if (error)
		return error;
	enum ibv_qp_state from = their_state(is.state);
	enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;

	if (!verbs_may_modify(from, to, mask) || !is_sound(attr, mask, from))
		return -EINVAL;
	uint32_t set = our_set(mask);

	if (mask & IBV_QP_AV)
		path = our_path(&attr->ah_attr);
	if (set)
		error = nic_qp_modify(pair->nic, &want, set, mask & IBV_QP_AV ? &path : NULL);
	if (!error)
		pair->ex.qp_base.state = to;
	return error;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
	if (!verbs_is_ours(qp->context))
		return VERBS_PASS(ibv_modify_qp, ENOSYS, qp, attr, attr_mask);
	struct verbs_pair *pair = verbs_pair_of(qp);

	pthread_mutex_lock(&pair->modify);
	int error = modify(pair, attr, attr_mask);

	pthread_mutex_unlock(&pair->modify);
	return verbs_answer(error);
}

static void fill_attr(struct ibv_qp_attr *attr, const struct engine_attr *is,
		      const struct nic_path *path)
{
	int mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && (128u << mtu) < is->pmtu)
		mtu++;
	*attr = (struct ibv_qp_attr){
		.qp_state = their_state(is->state),
		.cur_qp_state = their_state(is->state),
		.path_mtu = (enum ibv_mtu)mtu,
		.path_mig_state = IBV_MIG_MIGRATED,
		.rq_psn = is->rq_psn,
		.sq_psn = is->sq_psn,
		.dest_qp_num = is->remote_qp,
		.qp_access_flags = is->access,
		.en_sqd_async_notify = is->wants_drained,
		.max_rd_atomic = is->rd_atomic,
		.max_dest_rd_atomic = is->dest_rd_atomic,
		.min_rnr_timer = is->rnr_timer,
		.port_num = VERBS_PORT,
		.timeout = is->timeout,
		.retry_cnt = is->retries,
		.rnr_retry = is->rnr_retries,
		.ah_attr = {.grh = {.flow_label = path->flow_label,
				    .sgid_index = (uint8_t)path->gid_index,
				    .hop_limit = path->hop_limit,
				    .traffic_class = path->traffic_class},
			    .is_global = 1,
			    .port_num = VERBS_PORT},
	};
	memcpy(attr->ah_attr.grh.dgid.raw, path->dgid, sizeof path->dgid);
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr)
{
	if (!verbs_is_ours(qp->context))
		return VERBS_PASS(ibv_query_qp, ENOSYS, qp, attr, attr_mask, init_attr);
	struct verbs_pair *pair = verbs_pair_of(qp);
	struct nic_path path = {0};
	struct engine_attr is;
	bool is_draining = false;
	int error = nic_qp_query(pair->nic, &is, &path, &is_draining);

	if (error)
		return verbs_answer(error);
	fill_attr(attr, &is, &path);
	attr->sq_draining = is_draining;
	attr->cap = pair->cap;
	qp->state = attr->qp_state;
	*init_attr = (struct ibv_qp_init_attr){
		.qp_context = qp->qp_context,
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.srq = qp->srq,
		.cap = pair->cap,
		.qp_type = qp->qp_type,
		.sq_sig_all = pair->is_all_signaled,
	};
	return 0;
}

/* Packets are placed in order, but the bytes of one by memcpy, which promises nothing. */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	if (!verbs_is_ours(qp->context))
		return VERBS_PASS(ibv_query_qp_data_in_order, 0, qp, op, flags);
	return 0;
}

/* Enhanced connection establishment is the vendors' own: we have nothing to negotiate. */
int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (!verbs_is_ours(qp->context))
		return VERBS_PASS(ibv_set_ece, ENOSYS, qp, ece);
	return verbs_answer(-EOPNOTSUPP);
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (!verbs_is_ours(qp->context))
		return VERBS_PASS(ibv_query_ece, ENOSYS, qp, ece);
	return verbs_answer(-EOPNOTSUPP);
}
