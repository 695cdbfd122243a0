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
	const struct device *d = qp->user->device;
	struct nic_mw *mw = work->window;
	int r = check_bind(qp, work);

	if (r)
		return r;
	uint32_t key = mw->post == d->n_posts ? mw->post_key : mw_key(mw);

	if (mw->kind == MEM_WINDOW_1)
		work->bind->new_key = key - key % NIC_LOW_KEYS + (key + 1) % NIC_LOW_KEYS;
	mw->post = d->n_posts;
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
	struct device *d = qp->user->device;
	int r = 0;

	d->n_posts++;
	for (uint32_t i = 0; i < n && !r; i++) {
		work[i].op.next = i + 1 < n ? &work[i + 1].op : NULL;
		r = prepare(qp, &work[i]);
	}
	if (work->op.code != ENGINE_RECV)
		d->posted_at = now;
	if (!r)
		r = d->engine->ops->post(d->engine, now, &work->op);
	for (uint32_t i = 0; i < n && !r; i++)
		if (work[i].op.code == ENGINE_BIND)
			mw_bound(work[i].window, qp, work[i].bind->new_key);
	return r;
}

int nic_post(struct nic_qp *qp, struct nic_work *work, uint32_t n, uint32_t *posted)
{
	struct device *d = qp->user->device;
	int r = device_check(d);
	uint32_t i = 0;

	*posted = 0;
	if (r)
		return r;
	device_enter(d);
	nsec now = device_catch_up(d);

	for (; i < n && !r; i += !r)
		r = post(qp, now, &work[i], 1);
	device_flush(d);
	device_leave(d);
	*posted = i;
	return r;
}

int nic_post_all(struct nic_qp *qp, struct nic_work *work, uint32_t n)
{
	struct device *d = qp->user->device;
	int r = device_check(d);

	if (r || n == 0)
		return r;
	device_enter(d);
	r = post(qp, device_catch_up(d), work, n);
	device_flush(d);
	device_leave(d);
	return r;
}
