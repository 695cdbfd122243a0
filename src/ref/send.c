#include "ref/state.h"
#include "wire/mrc.h"

#define HEAD_BYTES (mrc_bth_bytes + meth_bytes + reth_bytes)

static bool can_send(const struct ref *r, const struct ref_qp *q)
{
	return q->n_lost > 0 || (q->next < q->end && q->next - q->una < r->cfg.window_pkts);
}

static void queue(struct ref *r, struct ref_qp *q)
{
	q->queued = true;
	q->ready_next = REF_NONE;
	if (r->ready_head == REF_NONE)
		r->ready_head = q->num;
	else
		r->qps[r->ready_tail].ready_next = q->num;
	r->ready_tail = q->num;
}

void ref_wake(struct ref *r, struct ref_qp *q)
{
	if (!q->queued && can_send(r, q))
		queue(r, q);
}

/* The first port from the queue pair's turn on that is free, and its next entropy value. */
static void choose_path(const struct ref *r, struct ref_qp *q, uint32_t free, struct tx_pkt *t)
{
	uint32_t n = r->cfg.n_ports, later = free >> q->turn << q->turn;
	uint32_t port = (uint32_t)__builtin_ctz(later ? later : free);
	uint32_t at = q->order_at[port];

	t->port = (uint8_t)port;
	t->ev = r->cfg.evs[q->order[at]];
	q->order_at[port] = (uint16_t)(at + n < r->cfg.n_evs ? at + n : port);
	q->turn = (uint8_t)(port + 1 < n ? port + 1 : 0);
}

/* Points t at len bytes of the message from offset on, and at its padding behind them. */
static void put_body(const struct ref_op *w, uint32_t offset, uint32_t len, struct tx_pkt *t)
{
	static const uint8_t zeros[4];
	uint32_t i = 0, n = 0, pad = -len & 3u;

	for (; len > 0 && offset >= w->sg[i].len; i++)
		offset -= w->sg[i].len;
	for (; len > 0; i++, offset = 0) {
		struct cspan s = w->sg[i];

		s.len -= offset;
		s.len = s.len < len ? s.len : len;
		s.at = s.at ? s.at + offset : NULL;
		t->body[n++] = s;
		len -= s.len;
	}
	if (pad > 0 && !t->body[n - 1].at)
		t->body[n - 1].len += pad;
	else if (pad > 0)
		t->body[n++] = (struct cspan){zeros, pad};
	t->n_body = (uint8_t)n;
}

static uint8_t opcode_of(const struct ref_op *w, uint32_t index)
{
	if (index + 1 < w->n_pkts)
		return index == 0 ? MRC_OP_WRITE_FIRST : MRC_OP_WRITE_MIDDLE;
	if (index == 0)
		return w->has_imm ? MRC_OP_WRITE_ONLY_IMM : MRC_OP_WRITE_ONLY;
	return w->has_imm ? MRC_OP_WRITE_LAST_IMM : MRC_OP_WRITE_LAST;
}

/* Writes packet `number` of q, which is part of w. */
static void put_data(const struct ref *r, const struct ref_qp *q, const struct ref_op *w,
		     uint64_t number, struct tx_pkt *t)
{
	uint32_t index = (uint32_t)(number - w->first), offset = index * r->cfg.payload_bytes;
	uint32_t left = w->len - offset;
	uint32_t len = left < r->cfg.payload_bytes ? left : r->cfg.payload_bytes;
	bool retx = number != q->next;
	struct mrc_bth bth = {
		.opcode = opcode_of(w, index),
		.pad = -len & 3u,
		.pkey = MRC_PKEY_DEFAULT,
		.dest_qp = q->remote_qp,
		.ack_req = retx || number + 1 == q->una + r->cfg.window_pkts,
		.rtx = retx,
		.psn = ref_psn(q, number).v,
	};
	struct meth meth = {.rqmsn = w->rqmsn, .msn = w->msn};
	struct reth reth = {.va = w->remote + offset, .rkey = w->key, .dmalen = w->len};

	mrc_bth_put(&bth, t->head);
	meth_put(&meth, t->head + mrc_bth_bytes);
	reth_put(&reth, t->head + mrc_bth_bytes + meth_bytes);
	t->head_len = HEAD_BYTES;
	if (w->has_imm && index + 1 == w->n_pkts) {
		immdt_put(&(struct immdt){w->imm}, t->head + HEAD_BYTES);
		t->head_len += immdt_bytes;
	}
	put_body(w, offset, len, t);
	t->tclass = retx ? ENGINE_RETX : ENGINE_DATA;
	t->not_ect = 0;
}

/* Sends the oldest lost packet of q, or the next new one; one of them may go. */
static void send_one(struct ref *r, struct ref_qp *q, nsec now, struct tx_pkt *t)
{
	if (q->n_lost > 0) {
		uint32_t i = window_next_set(&q->lost, 0);
		const struct ref_sent *s = &q->sent[(q->una + i) & r->slot_mask];

		window_unset(&q->lost, i);
		q->n_lost--;
		if (s->timed_out)
			r->count.tx_retx_timeout++;
		else
			r->count.tx_retx_nack++;
		put_data(r, q, &r->ops[s->op], q->una + i, t);
		return;
	}
	const struct ref_op *w = &r->ops[q->op_next];

	q->sent[q->next & r->slot_mask] = (struct ref_sent){.op = q->op_next};
	put_data(r, q, w, q->next, t);
	q->next++;
	if (q->next == w->first + w->n_pkts)
		q->op_next = w->next;
	if (q->timer_at == REF_NONE)
		ref_timer_start(r, q, now);
	r->count.tx_data++;
}

/* 64 bits of what came, from the lowest that was not yet acknowledged on (MRC 7.5.2.2). */
static void put_sack(struct ref_qp *q, const struct ref_control *c, uint8_t *head)
{
	psn24 cack = psn24_prev(q->expected);
	int32_t from = q->has_fresh ? psn24_diff(q->fresh_first, q->expected) : 0;

	if (from < 0)
		from = 0;
	struct mrc_bth bth = {
		.opcode = MRC_OP_SACK,
		.pkey = MRC_PKEY_DEFAULT,
		.dest_qp = q->remote_qp,
		.psn = cack.v,
	};
	struct seth seth = {
		.m = c->mark,
		.ack_psn_offset = (uint16_t)psn24_diff((psn24){c->psn}, cack),
		.entropy = c->ev,
		.spdcid = (uint16_t)q->num,
		.dpdcid = (uint16_t)q->remote_qp,
		.cack_psn = cack.v,
		.sack_offset = (uint16_t)(from + 1),
		.sack_bitmap = q->n_seen > 0 ? window_get64(&q->seen, (uint32_t)from) : 0,
	};
	struct cc_state cc = {.ooo_count = (uint16_t)q->n_seen};

	mrc_bth_put(&bth, head);
	seth_put(&seth, head + mrc_bth_bytes);
	cc_state_put(&cc, head + mrc_bth_bytes + seth_bytes);
	q->has_fresh = false;
}

static void put_nack(const struct ref_qp *q, const struct ref_control *c, uint8_t *head)
{
	struct mrc_bth bth = {
		.opcode = MRC_OP_NACK,
		.pkey = MRC_PKEY_DEFAULT,
		.dest_qp = q->remote_qp,
		.psn = c->psn,
	};
	struct neth neth = {
		.nack_reason = c->nack,
		.entropy = c->ev,
		.spdcid = (uint16_t)q->num,
		.dpdcid = (uint16_t)q->remote_qp,
		.nack_psn = c->psn,
		.cc_type = MRC_CC_TYPE_TIMESTAMP,
	};

	mrc_bth_put(&bth, head);
	neth_put(&neth, head + mrc_bth_bytes);
}

static const struct ref_qp *send_control(struct ref *r, uint32_t port, struct tx_pkt *t)
{
	struct ref_lane *lane = &r->lanes[port];
	const struct ref_control *c = &lane->ring[lane->head];
	struct ref_qp *q = &r->qps[c->qp];

	if (c->nack) {
		put_nack(q, c, t->head);
		t->head_len = mrc_bth_bytes + neth_bytes;
		r->count.tx_nack++;
	} else {
		put_sack(q, c, t->head);
		t->head_len = mrc_bth_bytes + seth_bytes + cc_state_bytes;
		r->count.tx_ack++;
	}
	t->udp_len = c->udp_len;
	t->ev = c->ev;
	t->port = (uint8_t)port;
	t->peer = q->peer;
	t->local = q->local;
	t->tclass = ENGINE_CONTROL;
	t->n_body = 0;
	t->not_ect = 1;
	lane->head = lane->head + 1 < r->cfg.max_controls ? lane->head + 1 : 0;
	if (--lane->count == 0)
		r->lanes_waiting &= ~(UINT32_C(1) << port);
	return q;
}

static const struct ref_qp *send_data(struct ref *r, nsec now, uint32_t free, struct tx_pkt *t)
{
	struct ref_qp *q = &r->qps[r->ready_head];

	send_one(r, q, now, t);
	choose_path(r, q, free, t);
	t->udp_len = 0;
	t->peer = q->peer;
	t->local = q->local;
	return q;
}

/* Drops the first of the ready list, and queues it again behind the others if it has more. */
static void next_ready(struct ref *r)
{
	struct ref_qp *q = &r->qps[r->ready_head];

	if (q->ready_next == REF_NONE && can_send(r, q))
		return;
	r->ready_head = q->ready_next;
	q->queued = false;
	ref_wake(r, q);
}

static void trace(const struct ref *r, const struct ref_qp *q, const struct tx_pkt *t)
{
	struct mrc_bth bth;
	uint32_t body = 0;

	mrc_bth_get(t->head, &bth);
	for (uint32_t i = 0; i < t->n_body; i++)
		body += t->body[i].len;
	const struct traced_pkt p = {r->now, q->num, bth.psn, body - bth.pad, bth.opcode};

	traced_sent(&r->cfg.trace, &p, t, t->tclass == ENGINE_RETX);
}

uint32_t ref_pull(struct engine *e, nsec now, const struct engine_room *room, struct tx_pkt *pkts,
		  uint32_t n)
{
	struct ref *r = ref_of(e);
	struct engine_room left = *room;
	uint32_t sent = 0;

	r->now = now;
	ref_timers_run(r, now);
	left.may = engine_may(room) & engine_may_all((UINT32_C(1) << r->cfg.n_ports) - 1);
	while (sent < n && left.may) {
		struct tx_pkt *t = &pkts[sent];
		const struct ref_qp *q;
		uint32_t waiting = r->lanes_waiting & engine_ports_of(left.may, ENGINE_CONTROL);
		uint32_t free = engine_data_ports(left.may);

		if (waiting) {
			q = send_control(r, (uint32_t)__builtin_ctz(waiting), t);
		} else if (!free || r->ready_head == REF_NONE) {
			break;
		} else if (!can_send(r, &r->qps[r->ready_head])) {
			next_ready(r);
			continue;
		} else {
			q = send_data(r, now, free, t);
			next_ready(r);
		}
		t->sa = 0;
		t->stamp = 0;
		if (trace_is_on(&r->cfg.trace))
			trace(r, q, t);
		sent++;
		if (--left.pkts[t->port] == 0)
			left.may &= ~engine_may_all(UINT32_C(1) << t->port);
	}
	return sent;
}
