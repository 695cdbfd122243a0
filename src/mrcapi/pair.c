/* Queue pairs: made, asked, ended. */
#include <stdlib.h>
#include <string.h>

#include "mrcapi/inside.h"

#define SEND_OPS ((uint64_t)IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)

/* What a pair may be asked for; 0 or an errno value. */
static int check_init(const struct mrc_context *context, const struct mrc_qp_init_attr *init)
{
	const struct ibv_qp_cap *cap = &init->cap;

	if (!init->send_cq || !init->recv_cq || !init->pd || init->send_cq->context != context ||
	    init->recv_cq->context != context || init->send_cq->is_of_events ||
	    init->recv_cq->is_of_events || init->pd->context != context->verbs)
		return EINVAL;
	if (init->send_ops_flags & ~SEND_OPS || init->protocol_version > MRC_PROTOCOL_VERSION_1)
		return EOPNOTSUPP;
	if (cap->max_send_wr > MRC_WR_MAX || cap->max_recv_wr > MRC_WR_MAX ||
	    cap->max_send_sge > ENGINE_SGE || cap->max_recv_sge > ENGINE_SGE ||
	    cap->max_inline_data > NIC_MAX_INLINE)
		return EINVAL;
	return 0;
}

/* The largest range: places for it cost little, and which of it is used is said when the ends are
 * connected. As many immediates may be ahead of a gap as there may be receives for them. */
static struct nic_qp_spec make_spec(const struct mrc_qp_init_attr *init, struct mrc_qp *qp)
{
	return (struct nic_qp_spec){
		.pd = verbs_domain_of(init->pd)->nic,
		.send_cq = init->send_cq->nic,
		.recv_cq = init->recv_cq->nic,
		.max_send = init->cap.max_send_wr,
		.max_recv = init->cap.max_recv_wr,
		.max_send_sge = init->cap.max_send_sge,
		.max_inline = init->cap.max_inline_data,
		.ahead_pkts = MRC_MPR_MAX * MRC_MPR_UNIT,
		.is_all_signaled = init->sq_sig_all != 0,
		.context = qp,
	};
}

static struct mrc_qp *pair_new(struct mrc_context *context, const struct mrc_qp_init_attr *init)
{
	struct mrc_qp *qp = calloc(1, sizeof *qp);

	if (!qp)
		return verbs_null(ENOMEM);
	struct nic_qp_spec spec = make_spec(init, qp);

	qp->nic = nic_qp_new(context->user, &spec);
	if (!qp->nic) {
		int error = errno;

		free(qp);
		return verbs_null(error);
	}
	qp->context = context;
	qp->init = *init;
	qp->init.cap.max_send_wr = spec.max_send;
	qp->init.cap.max_send_sge = spec.max_send_sge;
	qp->init.protocol_version = MRC_PROTOCOL_VERSION_1;
	qp->attr = mrcapi_defaults();
	qp->said.port_num = VERBS_PORT;
	pthread_mutex_init(&qp->modify, NULL);
	mrcapi_join(context, MRCAPI_PAIR, &qp->link);
	return qp;
}

struct mrc_qp *mrc_create_qp(struct mrc_context *context, struct mrc_qp_init_attr *init)
{
	int error = context && init ? check_init(context, init) : EINVAL;

	if (error)
		return verbs_null(error);
	struct mrc_qp *qp = pair_new(context, init);

	if (qp)
		init->cap = qp->init.cap;
	return qp;
}

int mrc_destroy_qp(struct mrc_qp *qp)
{
	if (!qp)
		return verbs_answer(-EINVAL);
	int error = nic_qp_free(qp->nic);

	if (error)
		return verbs_answer(error);
	mrcapi_hint_swap(qp->context, &qp->attr.qp_hint, NULL);
	mrcapi_leave(qp->context, &qp->link);
	pthread_mutex_destroy(&qp->modify);
	free(qp);
	return 0;
}

int mrc_get_qpn(struct mrc_qp *qp, uint32_t *qpn)
{
	if (!qp || !qpn)
		return verbs_minus_one(EINVAL);
	*qpn = nic_qp_number(qp->nic);
	return 0;
}

/* What the program said, and over it what the engine knows better. */
static void fill_verbs(const struct mrc_qp *qp, const struct mrc_attr *is, struct ibv_qp_attr *attr)
{
	*attr = qp->said;
	attr->qp_state = attr->cur_qp_state = mrcapi_state(is->state);
	attr->path_mig_state = IBV_MIG_MIGRATED;
	attr->qp_access_flags = is->access;
	attr->rq_psn = is->rq_psn;
	attr->sq_psn = is->sq_psn;
	attr->cap = qp->init.cap;
}

/* As in ibv_query_qp the masks are wishes: everything there is to tell is told. */
int mrc_query_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
		 struct mrc_qp_attr *mrc_attr, int mrc_attr_mask,
		 struct mrc_qp_init_attr *init_attr)
{
	struct mrc_attr is;
	bool is_draining = false;

	if (!qp || (!vattr && vattr_mask) || (!mrc_attr && mrc_attr_mask))
		return verbs_answer(-EINVAL);
	pthread_mutex_lock(&qp->modify);
	int error = nic_mrc_qp_query(qp->nic, &is, NULL, &is_draining);

	if (!error && vattr) {
		fill_verbs(qp, &is, vattr);
		vattr->sq_draining = is_draining;
	}
	if (!error && mrc_attr)
		*mrc_attr = qp->attr;
	if (!error && init_attr)
		*init_attr = qp->init;
	pthread_mutex_unlock(&qp->modify);
	return verbs_answer(error);
}
