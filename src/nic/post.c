/* Posting: send work and receives of a queue pair. */
#include "nic/inside.h"

#include <errno.h>

static int check_bind(const struct nic_qp *qp, const struct nic_work *work)
{
	const struct nic_mw *mw = work->window;
	const struct mem_binding *to = work->bind;

	if (!to || !mw || mw->pd->user->device != qp->user->device)
		return -EINVAL;
	if (mw->kind == MEM_WINDOW_2 && to->new_key / NIC_LOW_KEYS != mw->key / NIC_LOW_KEYS)
		return -EINVAL;
	return 0;
}

/* The engine looks the window up in its turn, by the key that it has then: if what is posted
 * together binds it more than once, the one that the last of these gave it. */
static int prepare_bind(struct nic_qp *qp, struct nic_work *work)
{
	const struct shard *s = qp->shard;
	struct nic_mw *mw = work->window;
	int r = check_bind(qp, work);

	if (r)
		return r;
	WITH_ONE_SHARD("a window has a shard's lock, and its number of a post");
	uint32_t key = mw->post == s->n_posts ? mw->post_key : mw_key(mw);

	if (mw->kind == MEM_WINDOW_1)
		work->bind->new_key = key - key % NIC_LOW_KEYS + (key + 1) % NIC_LOW_KEYS;
	mw->post = s->n_posts;
	mw->post_key = work->bind->new_key;
	work->op.imm = key;
	work->op.bind = work->bind;
	return 0;
}

static int prepare(struct nic_qp *qp, struct nic_work *work)
{
	struct op *op = &work->op;

	op->qp = qp->number;
	op->flags &= ENGINE_SILENT | ENGINE_SOLICITED | ENGINE_FENCE | ENGINE_INLINE;
	if (qp->is_all_signaled)
		op->flags &= ~(uint32_t)ENGINE_SILENT;
	return op->code == ENGINE_BIND ? prepare_bind(qp, work) : 0;
}

/* All n > 0, or none. */
static int post(struct nic_qp *qp, nsec now, struct nic_work *work, uint32_t n)
{
	struct shard *s = qp->shard;
	int r = 0;

	s->n_posts++;
	for (uint32_t i = 0; i < n && !r; i++) {
		work[i].op.next = i + 1 < n ? &work[i + 1].op : NULL;
		r = prepare(qp, &work[i]);
	}
	if (work->op.code != ENGINE_RECV)
		s->posted_at = now;
	if (!r)
		r = s->engine->ops->post(s->engine, now, &work->op);
	for (uint32_t i = 0; i < n && !r; i++)
		if (work[i].op.code == ENGINE_BIND)
			mw_bound(work[i].window, qp, work[i].bind->new_key);
	return r;
}

int nic_post(struct nic_qp *qp, struct nic_work *work, uint32_t n, uint32_t *posted)
{
	struct shard *s = qp->shard;
	int r = device_check(s->device);
	uint32_t i = 0;

	*posted = 0;
	if (r)
		return r;
	shard_enter(s);
	nsec now = shard_catch_up(s);

	for (; i < n && !r; i += !r)
		r = post(qp, now, &work[i], 1);
	shard_flush(s);
	shard_leave(s);
	*posted = i;
	return r;
}

int nic_post_all(struct nic_qp *qp, struct nic_work *work, uint32_t n)
{
	struct shard *s = qp->shard;
	int r = device_check(s->device);

	if (r || n == 0)
		return r;
	shard_enter(s);
	r = post(qp, shard_catch_up(s), work, n);
	shard_flush(s);
	shard_leave(s);
	return r;
}

int nic_cancel(struct nic_qp *qp, uint64_t cookie, bool is_recv)
{
	struct shard *s = qp->shard;
	const struct op op = {
		.qp = qp->number, .cookie = cookie, .code = is_recv ? ENGINE_RECV : ENGINE_SEND};
	int r = device_check(s->device);

	if (r)
		return r;
	if (!s->engine->ops->cancel)
		return -ENOTSUP;
	shard_enter(s);
	r = s->engine->ops->cancel(s->engine, shard_catch_up(s), &op);
	shard_flush(s);
	shard_leave(s);
	return r;
}
