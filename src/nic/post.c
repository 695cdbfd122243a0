/* Posting: send work and receives of a queue pair. */
#include "nic/inside.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define ATOMIC_BYTES 8u

static bool may_be_inline(uint8_t code)
{
	return code == ENGINE_WRITE || code == ENGINE_WRITE_IMM || code == ENGINE_SEND ||
	       code == ENGINE_SEND_IMM || code == ENGINE_SEND_INV;
}

static uint64_t bytes_of(const struct op *op)
{
	uint64_t len = 0;

	for (uint16_t i = 0; i < op->n_sg; i++)
		len += op->sg[i].len;
	return len;
}

static int check_inline(const struct nic_qp *qp, const struct op *op)
{
	return may_be_inline(op->code) && bytes_of(op) <= qp->max_inline ? 0 : -EINVAL;
}

/* The engine takes a work only when a place in its ring is free, and frees places in order: then
 * the slot of the same number is free, too. So the bytes go there after the engine said yes, and
 * before it is asked for packets. */
static int post_inline(struct nic_qp *qp, nsec now, struct op *op)
{
	struct device *d = qp->user->device;
	const struct sge *sg = op->sg;
	uint16_t n_sg = op->n_sg;
	struct sge piece = {.at = qp->inline_ring + (size_t)qp->slot * qp->max_inline};
	int r = check_inline(qp, op);

	if (r)
		return r;
	piece.len = (uint32_t)bytes_of(op);
	op->sg = &piece;
	op->n_sg = piece.len > 0;
	op->flags |= ENGINE_TRUSTED;
	r = d->engine->ops->post(d->engine, now, op);
	op->sg = sg;
	op->n_sg = n_sg;
	if (r)
		return r;
	uint8_t *to = piece.at;

	for (uint16_t i = 0; i < n_sg; i++) {
		if (sg[i].len)
			memcpy(to, sg[i].at, sg[i].len);
		to += sg[i].len;
	}
	return 0;
}

static int check_bind(const struct nic_qp *qp, const struct nic_work *work)
{
	const struct nic_mw *mw = work->window;
	const struct mem_binding *to = work->op.bind;

	if (!to || !mw || mw->pd->user->device != qp->user->device || work->is_inline)
		return -EINVAL;
	if (mw->kind == MEM_WINDOW_2 && to->new_key / NIC_LOW_KEYS != mw->key / NIC_LOW_KEYS)
		return -EINVAL;
	return 0;
}

/* The engine looks the window up in its turn, by the key that it has then. */
static int post_bind(struct nic_qp *qp, nsec now, struct nic_work *work)
{
	struct device *d = qp->user->device;
	struct op *op = &work->op;
	const struct mem_binding *wanted = op->bind;
	int r = check_bind(qp, work);

	if (r)
		return r;
	uint32_t key = mw_key(work->window);
	struct mem_binding to = *wanted;

	if (work->window->kind == MEM_WINDOW_1)
		to.new_key = key - key % NIC_LOW_KEYS + (key + 1) % NIC_LOW_KEYS;
	op->imm = key;
	op->bind = &to;
	r = d->engine->ops->post(d->engine, now, op);
	op->bind = wanted;
	if (!r)
		mw_bound(work->window, qp, to.new_key);
	return r;
}

static int post_one(struct nic_qp *qp, nsec now, struct nic_work *work)
{
	struct device *d = qp->user->device;
	struct op *op = &work->op;
	int r;

	op->qp = qp->number;
	op->flags &= ENGINE_SILENT | ENGINE_SOLICITED | ENGINE_FENCE;
	if (op->code == ENGINE_RECV)
		return d->engine->ops->post(d->engine, now, op);
	d->posted_at = now;
	if (qp->is_all_signaled)
		op->flags &= ~(uint32_t)ENGINE_SILENT;
	if (op->code == ENGINE_BIND)
		r = post_bind(qp, now, work);
	else if (work->is_inline)
		r = post_inline(qp, now, op);
	else
		r = d->engine->ops->post(d->engine, now, op);
	if (!r)
		qp->slot = qp->slot + 1 == qp->max_send ? 0 : qp->slot + 1;
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
		r = post_one(qp, now, &work[i]);
	device_flush(d);
	device_leave(d);
	*posted = i;
	return r;
}

/* What the queue pair is, for a check of much work. */
struct limits {
	struct rc_attr attr;
	struct rc_caps caps;
};

/* What the engine's post will answer to work for which there is room (rc.h). */
static int check_send(const struct nic_qp *qp, const struct limits *is, const struct nic_work *work)
{
	const struct op *op = &work->op;
	bool is_fetch = op->code == ENGINE_READ || op->code == ENGINE_ATOMIC;

	if (op->code > ENGINE_BIND || op->key > UINT32_MAX || op->imm > UINT32_MAX)
		return -EINVAL;
	if (op->code == ENGINE_BIND)
		return check_bind(qp, work);
	if (work->is_inline && check_inline(qp, op))
		return -EINVAL;
	if (op->code == ENGINE_LOCAL_INV)
		return 0;
	if (!work->is_inline && (op->n_sg > is->caps.max_send_sge || (op->n_sg && !op->sg)))
		return -EINVAL;
	uint64_t len = bytes_of(op);

	if (len > RC_MESSAGE_MAX || (len && op->remote > UINT64_MAX - (len - 1)))
		return -EINVAL;
	if (is_fetch && !is->attr.rd_atomic)
		return -EINVAL;
	if (op->code == ENGINE_ATOMIC &&
	    (op->n_sg != 1 || len != ATOMIC_BYTES || op->atomic_op > ENGINE_FETCH_ADD))
		return -EINVAL;
	return 0;
}

/* Everything is looked at before the first is posted: what the engine has taken it has, and may
 * send at once. */
static int check_all(const struct nic_qp *qp, const struct nic_work *work, uint32_t n)
{
	const struct engine *e = qp->user->device->engine;
	struct limits is;
	uint32_t room = 0;
	int r = rc_qp_query(e, qp->number, &is.attr, &is.caps, NULL);

	if (!r)
		r = rc_qp_room(e, qp->number, &room);
	if (!r && is.attr.state != RC_RTS && is.attr.state != RC_SQD && is.attr.state != RC_ERROR)
		r = -EINVAL;
	for (uint32_t i = 0; i < n && !r; i++)
		r = check_send(qp, &is, &work[i]);
	if (!r && n > room)
		r = -ENOMEM;
	return r;
}

int nic_post_all(struct nic_qp *qp, struct nic_work *work, uint32_t n)
{
	struct device *d = qp->user->device;
	int r = device_check_for(d, &transport_rc);

	if (r)
		return r;
	device_enter(d);
	nsec now = device_catch_up(d);

	r = check_all(qp, work, n);
	for (uint32_t i = 0; i < n && !r; i++) {
		r = post_one(qp, now, &work[i]);
		assert(!r);
	}
	device_flush(d);
	device_leave(d);
	return r;
}
