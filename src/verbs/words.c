/* What the verbs call otherwise than engines do: flags of work, and what is in a completion. */
#include <arpa/inet.h>

#include "verbs/inside.h"

uint32_t verbs_flags(unsigned flags)
{
	uint32_t ours = 0;

	if (!(flags & IBV_SEND_SIGNALED))
		ours |= ENGINE_SILENT;
	if (flags & IBV_SEND_SOLICITED)
		ours |= ENGINE_SOLICITED;
	if (flags & IBV_SEND_FENCE)
		ours |= ENGINE_FENCE;
	if (flags & IBV_SEND_INLINE)
		ours |= ENGINE_INLINE;
	return ours;
}

static enum ibv_wc_status wc_status(int16_t status)
{
	static const uint8_t map[ENGINE_STATUSES] = {
		[ENGINE_OK] = IBV_WC_SUCCESS,
		[ENGINE_LOCAL_LENGTH] = IBV_WC_LOC_LEN_ERR,
		[ENGINE_LOCAL_QP] = IBV_WC_LOC_QP_OP_ERR,
		[ENGINE_LOCAL_PROTECTION] = IBV_WC_LOC_PROT_ERR,
		[ENGINE_FLUSHED] = IBV_WC_WR_FLUSH_ERR,
		[ENGINE_BIND_FAILED] = IBV_WC_MW_BIND_ERR,
		[ENGINE_BAD_RESPONSE] = IBV_WC_BAD_RESP_ERR,
		[ENGINE_LOCAL_ACCESS] = IBV_WC_LOC_ACCESS_ERR,
		[ENGINE_REMOTE_INVALID] = IBV_WC_REM_INV_REQ_ERR,
		[ENGINE_REMOTE_ACCESS] = IBV_WC_REM_ACCESS_ERR,
		[ENGINE_REMOTE_OPERATION] = IBV_WC_REM_OP_ERR,
		[ENGINE_RETRY_EXCEEDED] = IBV_WC_RETRY_EXC_ERR,
		[ENGINE_RNR_EXCEEDED] = IBV_WC_RNR_RETRY_EXC_ERR,
		[ENGINE_FATAL] = IBV_WC_FATAL_ERR,
		/* The verbs take nothing back, and have no word for it. */
		[ENGINE_CANCELLED] = IBV_WC_WR_FLUSH_ERR,
	};

	if (status < 0 || status >= ENGINE_STATUSES)
		return IBV_WC_GENERAL_ERR;
	return (enum ibv_wc_status)map[status];
}

static enum ibv_wc_opcode wc_opcode(const struct done *done)
{
	if (done->code == ENGINE_DONE_RECEIVED)
		return done->op == ENGINE_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	switch (done->op) {
	case ENGINE_WRITE:
	case ENGINE_WRITE_IMM: return IBV_WC_RDMA_WRITE;
	case ENGINE_READ: return IBV_WC_RDMA_READ;
	case ENGINE_ATOMIC:
		return done->atomic_op == ENGINE_COMPARE_SWAP ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD;
	case ENGINE_LOCAL_INV: return IBV_WC_LOCAL_INV;
	case ENGINE_BIND: return IBV_WC_BIND_MW;
	default: return IBV_WC_SEND;
	}
}

void verbs_fill_wc(struct ibv_wc *wc, const struct done *done)
{
	bool has_len = done->code == ENGINE_DONE_RECEIVED || done->op == ENGINE_READ ||
		       done->op == ENGINE_ATOMIC;

	*wc = (struct ibv_wc){
		.wr_id = done->cookie,
		.status = wc_status(done->status),
		.opcode = wc_opcode(done),
		.vendor_err = done->status < 0 ? (uint32_t)-done->status : done->peer_code,
		.byte_len = has_len ? done->len : 0,
		.qp_num = done->qp,
		.src_qp = done->source,
	};
	if (done->flags & ENGINE_HAS_IMM) {
		wc->imm_data = htonl((uint32_t)done->imm);
		wc->wc_flags = IBV_WC_WITH_IMM;
	} else if (done->flags & ENGINE_HAS_INV) {
		wc->invalidated_rkey = (uint32_t)done->imm;
		wc->wc_flags = IBV_WC_WITH_INV;
	}
}
