/* Work requests by calls: ibv_wr_start, builders and setters, ibv_wr_complete. What is built lies
 * in the pair's draft, which was allocated with it; a mistake is kept until the end, and then
 * nothing is posted, nor when it does not all fit the queue. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/inside.h"

static struct verbs_pair *pair_of(struct ibv_qp_ex *ex)
{
	return verbs_pair_of(&ex->qp_base);
}

static void fail(struct verbs_draft *draft, int error)
{
	if (!draft->error)
		draft->error = error;
}

/* Starts a work request, or NULL: there is no place for it. */
static struct op *begin(struct ibv_qp_ex *ex, enum engine_op code)
{
	struct verbs_pair *pair = pair_of(ex);
	struct verbs_draft *draft = pair->draft;

	if (draft->n == pair->cap.max_send_wr)
		fail(draft, ENOMEM);
	if (ex->wr_flags & IBV_SEND_IP_CSUM)
		fail(draft, EINVAL);
	if (draft->error)
		return NULL;
	struct nic_work *work = &draft->work[draft->n];

	draft->window[draft->n++] = NULL;
	*work = (struct nic_work){.op = {.cookie = ex->wr_id,
					 .code = (uint8_t)code,
					 .flags = verbs_flags(ex->wr_flags & ~IBV_SEND_INLINE)}};
	return &work->op;
}

static struct op *begin_rdma(struct ibv_qp_ex *ex, enum engine_op code, uint64_t remote,
			     uint32_t key)
{
	struct op *op = begin(ex, code);

	if (op) {
		op->remote = remote;
		op->key = key;
	}
	return op;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(ex, ENGINE_WRITE, remote_addr, rkey);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	struct op *op = begin_rdma(ex, ENGINE_WRITE_IMM, remote_addr, rkey);

	if (op)
		op->imm = ntohl(imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(ex, ENGINE_READ, remote_addr, rkey);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	struct op *op = begin_rdma(ex, ENGINE_ATOMIC, remote_addr, rkey);

	if (!op)
		return;
	op->atomic_op = ENGINE_COMPARE_SWAP;
	memcpy(op->operand[0], &compare, sizeof compare);
	memcpy(op->operand[1], &swap, sizeof swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	struct op *op = begin_rdma(ex, ENGINE_ATOMIC, remote_addr, rkey);

	if (!op)
		return;
	op->atomic_op = ENGINE_FETCH_ADD;
	memcpy(op->operand[0], &add, sizeof add);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	begin(ex, ENGINE_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct op *op = begin(ex, ENGINE_SEND_IMM);

	if (op)
		op->imm = ntohl(imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct op *op = begin(ex, ENGINE_SEND_INV);

	if (op)
		op->imm = invalidate_rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct op *op = begin(ex, ENGINE_LOCAL_INV);

	if (op)
		op->imm = invalidate_rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct verbs_draft *draft = pair_of(ex)->draft;
	struct verbs_bind what = {verbs_window_of(mw), info, rkey};

	if (mw->type != IBV_MW_TYPE_2)
		fail(draft, EINVAL);
	if (!begin(ex, ENGINE_BIND))
		return;
	uint32_t last = draft->n - 1;
	int error = verbs_fill_bind(&what, &draft->work[last], &draft->bind[last]);

	if (error)
		fail(draft, error);
	draft->window[last] = what.window;
}

static void wr_send_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	(void)hdr, (void)hdr_sz, (void)mss;
	fail(pair_of(ex)->draft, EOPNOTSUPP);
}

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			    const void *atomic_wr)
{
	(void)rkey, (void)remote_addr, (void)atomic_wr;
	fail(pair_of(ex)->draft, EOPNOTSUPP);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	(void)ah, (void)remote_qpn, (void)remote_qkey;
	fail(pair_of(ex)->draft, EOPNOTSUPP);
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	(void)remote_srqn;
	fail(pair_of(ex)->draft, EOPNOTSUPP);
}

static bool takes_data(uint8_t code)
{
	return code != ENGINE_BIND && code != ENGINE_LOCAL_INV;
}

/* The work request that a setter is for, or NULL. */
static struct nic_work *last_work(struct verbs_draft *draft)
{
	if (!draft->error && (!draft->n || !takes_data(draft->work[draft->n - 1].op.code)))
		fail(draft, EINVAL);
	return draft->error ? NULL : &draft->work[draft->n - 1];
}

static struct sge *last_pieces(struct verbs_draft *draft)
{
	return &draft->sg[(size_t)(draft->n - 1) * draft->n_sg];
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct verbs_pair *pair = pair_of(ex);
	struct nic_work *work = last_work(pair->draft);

	if (!work)
		return;
	if (num_sge > pair->cap.max_send_sge) {
		fail(pair->draft, EINVAL);
		return;
	}
	struct sge *to = last_pieces(pair->draft);

	for (size_t i = 0; i < num_sge; i++)
		to[i] = (struct sge){(void *)(uintptr_t)sg_list[i].addr, sg_list[i].length,
				     sg_list[i].lkey};
	work->op.sg = to;
	work->op.n_sg = (uint16_t)num_sge;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge one = {.addr = addr, .length = length, .lkey = lkey};

	wr_set_sge_list(ex, 1, &one);
}

/* The bytes are copied now, and once more by the post: the application may change its own. */
static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct verbs_pair *pair = pair_of(ex);
	struct verbs_draft *draft = pair->draft;
	struct nic_work *work = last_work(draft);
	size_t most = pair->cap.max_inline_data, len = 0;

	if (!work)
		return;
	uint8_t *to = &draft->data[(draft->n - 1) * most];

	if (work->op.code == ENGINE_READ || work->op.code == ENGINE_ATOMIC)
		fail(draft, EINVAL);
	for (size_t i = 0; i < num_buf && !draft->error; i++) {
		if (buf_list[i].length > most - len) {
			fail(draft, EINVAL);
			break;
		}
		memcpy(to + len, buf_list[i].addr, buf_list[i].length);
		len += buf_list[i].length;
	}
	struct sge *sg = last_pieces(draft);

	*sg = (struct sge){to, (uint32_t)len, 0};
	work->op.sg = sg;
	work->op.n_sg = len > 0;
	work->op.flags |= ENGINE_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf one = {.addr = addr, .length = length};

	wr_set_inline_data_list(ex, 1, &one);
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct verbs_draft *draft = pair_of(ex)->draft;

	pthread_mutex_lock(&draft->lock);
	draft->n = 0;
	draft->error = 0;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	pthread_mutex_unlock(&pair_of(ex)->draft->lock);
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct verbs_pair *pair = pair_of(ex);
	struct verbs_draft *draft = pair->draft;
	int error = -draft->error;

	if (!error && draft->n)
		error = nic_post_all(pair->nic, draft->work, draft->n);
	for (uint32_t i = 0; i < draft->n && !error; i++)
		if (draft->window[i])
			verbs_show_key(draft->window[i]);
	pthread_mutex_unlock(&draft->lock);
	return verbs_answer(error);
}

static void fill_calls(struct ibv_qp_ex *ex)
{
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_send_tso = wr_send_tso;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_atomic_write = wr_atomic_write;
}

static void free_arrays(struct verbs_draft *draft)
{
	free(draft->work);
	free(draft->bind);
	free(draft->window);
	free(draft->sg);
	free(draft->data);
	free(draft);
}

bool verbs_draft_new(struct verbs_pair *pair)
{
	struct verbs_draft *draft = calloc(1, sizeof *draft);
	size_t n = pair->cap.max_send_wr;

	if (!draft)
		return false;
	/* Inline data needs a piece even where the application wanted none. */
	draft->n_sg = pair->cap.max_send_sge ? pair->cap.max_send_sge : 1;
	draft->work = calloc(n, sizeof draft->work[0]);
	draft->bind = calloc(n, sizeof draft->bind[0]);
	draft->window = calloc(n, sizeof(void *));
	draft->sg = calloc(n * draft->n_sg, sizeof draft->sg[0]);
	draft->data = calloc(n * pair->cap.max_inline_data + 1, 1);
	if (!draft->work || !draft->bind || !draft->window || !draft->sg || !draft->data) {
		free_arrays(draft);
		return false;
	}
	pthread_mutex_init(&draft->lock, NULL);
	pair->draft = draft;
	fill_calls(&pair->ex);
	return true;
}

void verbs_draft_free(struct verbs_pair *pair)
{
	if (!pair->draft)
		return;
	pthread_mutex_destroy(&pair->draft->lock);
	free_arrays(pair->draft);
}
