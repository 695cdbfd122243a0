/* Work requests: writes with and without immediate data, and receives for the latter. */
#include <arpa/inet.h>

#include "mrcapi/inside.h"

#define BATCH 8

/* 0 or an errno value. A fence has nothing to wait for: there are no reads. */
static int fill_send(const struct mrc_qp *qp, const struct ibv_send_wr *wr, struct nic_work *work)
{
	const unsigned known =
		IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
	bool has_imm = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	if ((!has_imm && wr->opcode != IBV_WR_RDMA_WRITE) || wr->send_flags & ~known ||
	    wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->init.cap.max_send_sge ||
	    (wr->num_sge && !wr->sg_list))
		return EINVAL;
	*work = (struct nic_work){
		.op = {.code = has_imm ? ENGINE_WRITE_IMM : ENGINE_WRITE,
		       .cookie = wr->wr_id,
		       .sg = (const struct sge *)(const void *)wr->sg_list,
		       .n_sg = (uint16_t)wr->num_sge,
		       .flags = verbs_flags(wr->send_flags & ~(unsigned)IBV_SEND_FENCE),
		       .remote = wr->wr.rdma.remote_addr,
		       .key = wr->wr.rdma.rkey,
		       .imm = has_imm ? ntohl(wr->imm_data) : 0},
	};
	return 0;
}

/* How many of n are taken. *error, that of the request behind them, or of the first that is
 * refused.
 */
static uint32_t hand_over(struct mrc_qp *qp, struct nic_work *work, uint32_t n, int *error)
{
	uint32_t posted = 0;
	int refused = n ? nic_post(qp->nic, work, n, &posted) : 0;

	if (refused)
		*error = -refused;
	return posted;
}

int mrc_post_send(struct mrc_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct nic_work work[BATCH];
	int error = 0;

	if (!qp || !wr || !bad)
		return verbs_answer(-EINVAL);
	while (wr && !error) {
		struct ibv_send_wr *first = wr;
		uint32_t n = 0;

		for (; wr && n < BATCH; wr = wr->next) {
			error = fill_send(qp, wr, &work[n]);
			if (error)
				break;
			n++;
		}
		for (uint32_t left = hand_over(qp, work, n, &error); left > 0 && first; left--)
			first = first->next;
		if (error)
			*bad = first;
	}
	return verbs_answer(-error);
}

/* Its pieces have no use: the data of a write went where the writer said. */
static int fill_recv(const struct mrc_qp *qp, const struct ibv_recv_wr *wr, struct nic_work *work)
{
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->init.cap.max_recv_sge)
		return EINVAL;
	*work = (struct nic_work){.op = {.code = ENGINE_RECV, .cookie = wr->wr_id}};
	return 0;
}

int mrc_post_recv(struct mrc_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct nic_work work[BATCH];
	int error = 0;

	if (!qp || !wr || !bad)
		return verbs_minus_one(EINVAL);
	while (wr && !error) {
		struct ibv_recv_wr *first = wr;
		uint32_t n = 0;

		for (; wr && n < BATCH; wr = wr->next) {
			error = fill_recv(qp, wr, &work[n]);
			if (error)
				break;
			n++;
		}
		for (uint32_t left = hand_over(qp, work, n, &error); left > 0 && first; left--)
			first = first->next;
		if (error)
			*bad = first;
	}
	return error ? verbs_minus_one(error) : 0;
}
