/* Work requests as lists of structs. */
#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

#include "verbs/inside.h"

#define BATCH 8

/* Lists of pieces are passed on as they are. */
static_assert(sizeof(struct ibv_sge) == sizeof(struct sge) && sizeof(void *) == sizeof(uint64_t) &&
		      offsetof(struct ibv_sge, addr) == offsetof(struct sge, at) &&
		      offsetof(struct ibv_sge, length) == offsetof(struct sge, len) &&
		      offsetof(struct ibv_sge, lkey) == offsetof(struct sge, lkey),
	      "a piece is the same struct here and there");

static void fill_atomic(struct op *op, const struct ibv_send_wr *wr)
{
	op->code = ENGINE_ATOMIC;
	op->atomic_op =
		wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? ENGINE_COMPARE_SWAP : ENGINE_FETCH_ADD;
	op->remote = wr->wr.atomic.remote_addr;
	op->key = wr->wr.atomic.rkey;
	memcpy(op->operand[0], &wr->wr.atomic.compare_add, sizeof wr->wr.atomic.compare_add);
	memcpy(op->operand[1], &wr->wr.atomic.swap, sizeof wr->wr.atomic.swap);
}

static void fill_rdma(struct op *op, const struct ibv_send_wr *wr, enum engine_op code)
{
	op->code = (uint8_t)code;
	op->remote = wr->wr.rdma.remote_addr;
	op->key = wr->wr.rdma.rkey;
}

/* A window of type 2; the application chooses the low byte of its next key. */
static int fill_bind(struct nic_work *work, const struct ibv_send_wr *wr, struct mem_binding *to)
{
	struct ibv_mw *mw = wr->bind_mw.mw;
	struct verbs_bind what = {verbs_window_of(mw), &wr->bind_mw.bind_info, wr->bind_mw.rkey};

	return mw->type == IBV_MW_TYPE_2 ? verbs_fill_bind(&what, work, to) : EINVAL;
}

/* 0 or an errno value. */
static int fill_send(const struct verbs_pair *pair, const struct ibv_send_wr *wr,
		     struct nic_work *work, struct mem_binding *to)
{
	struct op *op = &work->op;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > pair->cap.max_send_sge ||
	    wr->send_flags & IBV_SEND_IP_CSUM)
		return EINVAL;
	*work = (struct nic_work){
		.op = {.cookie = wr->wr_id,
		       .sg = (const struct sge *)(const void *)wr->sg_list,
		       .n_sg = (uint16_t)wr->num_sge,
		       .flags = verbs_flags(wr->send_flags)},
	};
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE: fill_rdma(op, wr, ENGINE_WRITE); return 0;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		fill_rdma(op, wr, ENGINE_WRITE_IMM);
		op->imm = ntohl(wr->imm_data);
		return 0;
	case IBV_WR_SEND: op->code = ENGINE_SEND; return 0;
	case IBV_WR_SEND_WITH_IMM:
		op->code = ENGINE_SEND_IMM;
		op->imm = ntohl(wr->imm_data);
		return 0;
	case IBV_WR_SEND_WITH_INV:
		op->code = ENGINE_SEND_INV;
		op->imm = wr->invalidate_rkey;
		return 0;
	case IBV_WR_RDMA_READ: fill_rdma(op, wr, ENGINE_READ); return 0;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD: fill_atomic(op, wr); return 0;
	case IBV_WR_LOCAL_INV:
		op->code = ENGINE_LOCAL_INV;
		op->imm = wr->invalidate_rkey;
		op->n_sg = 0;
		return 0;
	case IBV_WR_BIND_MW: op->n_sg = 0; return fill_bind(work, wr, to);
	default: return EINVAL;
	}
}

int verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct verbs_pair *pair = verbs_pair_of(qp);
	struct nic_work work[BATCH];
	struct mem_binding to[BATCH];
	int error = 0;

	while (wr && !error) {
		struct ibv_send_wr *first = wr;
		uint32_t n = 0, posted = 0;

		for (; wr && n < BATCH; wr = wr->next) {
			error = fill_send(pair, wr, &work[n], &to[n]);
			if (error)
				break;
			n++;
		}
		if (n) {
			int refused = nic_post(pair->nic, work, n, &posted);

			error = refused ? -refused : error;
		}
		for (; posted > 0 && first; posted--, first = first->next)
			if (first->opcode == IBV_WR_BIND_MW)
				verbs_show_key(verbs_window_of(first->bind_mw.mw));
		if (error)
			*bad = first;
	}
	return verbs_answer(-error);
}

/* Posts a list of receives to whichever queue. */
struct target {
	struct nic_qp *qp;
	struct nic_srq *srq;
	uint32_t max_sge;
};

static int post_recv(const struct target *target, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct nic_work work[BATCH];
	int error = 0;

	while (wr && !error) {
		struct ibv_recv_wr *first = wr;
		uint32_t n = 0, posted = 0;

		for (; wr && n < BATCH; wr = wr->next) {
			if (wr->num_sge < 0 || (uint32_t)wr->num_sge > target->max_sge) {
				error = EINVAL;
				break;
			}
			work[n++] = (struct nic_work){
				.op = {.cookie = wr->wr_id,
				       .sg = (const struct sge *)(const void *)wr->sg_list,
				       .n_sg = (uint16_t)wr->num_sge,
				       .code = ENGINE_RECV}};
		}
		if (n) {
			int refused = target->srq ? nic_srq_post(target->srq, work, n, &posted)
						  : nic_post(target->qp, work, n, &posted);

			error = refused ? -refused : error;
		}
		for (; posted > 0 && first; posted--)
			first = first->next;
		if (error)
			*bad = first;
	}
	return verbs_answer(-error);
}

int verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct verbs_pair *pair = verbs_pair_of(qp);
	struct target target = {.qp = pair->nic, .max_sge = pair->cap.max_recv_sge};

	if (qp->srq) {
		*bad = wr;
		return verbs_answer(-EINVAL);
	}
	return post_recv(&target, wr, bad);
}

int verbs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct verbs_shared *shared = verbs_shared_of(srq);
	struct target target = {.srq = shared->nic, .max_sge = shared->max_sge};

	return post_recv(&target, wr, bad);
}
