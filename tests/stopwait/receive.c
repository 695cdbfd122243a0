/* What arrives: all of a packet is looked at before the first thing changes. */
#include "state.h"

/* A packet, read but not yet believed. */
struct in {
	const struct rx_pkt *rx;
	struct stopwait_head h;
	struct engine_payload payload;
};

static bool read_in(struct in *in, const struct rx_pkt *rx)
{
	struct cspan rest;

	in->rx = rx;
	if (rx->head.len < stopwait_head_bytes)
		return false;
	stopwait_head_get(rx->head.at, &in->h);
	if (rx->trimmed && !rx->is_uncut)
		return false;
	rest = (struct cspan){rx->head.at + stopwait_head_bytes,
			      rx->head.len - stopwait_head_bytes};
	if (!engine_cut_in(&in->payload, rx, rest, in->h.pad) ||
	    in->payload.len > STOPWAIT_PAYLOAD_MAX)
		return false;
	if (in->h.kind == STOPWAIT_ACK)
		return in->payload.len == 0 && in->h.imm < ENGINE_CANCELLED;
	return in->h.kind < STOPWAIT_ACK && (in->h.is_last || in->payload.len > 0) &&
	       in->h.offset <= UINT32_MAX - in->payload.len;
}

static void owe(struct stopwait *s, struct stopwait_end *end, uint32_t seq, uint32_t status)
{
	end->ack_seq = seq;
	end->ack_status = status;
	end->used_at = s->now;
	list_join(&s->acks, &end->ack_turn);
}

/* The context of who sent a packet; NULL: none, and *room is one that may become it, or NULL. */
static struct stopwait_end *stranger_of(const struct stopwait *s, const struct in *in,
					struct stopwait_end **room)
{
	*room = NULL;
	for (uint32_t i = 0; i < s->cfg.max_strangers; i++) {
		struct stopwait_end *end = &s->strangers[i];

		if (end->is_held && end->peer == in->rx->peer && end->remote == in->h.from)
			return end;
		/* One that is still to be told of stays as it is told of. */
		if (!end->is_held && !end->events.kinds)
			*room = end;
	}
	return NULL;
}

static struct stopwait_end *hold(struct stopwait *s, struct stopwait_end *end, const struct in *in)
{
	*end = (struct stopwait_end){
		.number = STOPWAIT_OPEN,
		.remote = in->h.from,
		.peer = in->rx->peer,
		.local = in->rx->local,
		.ev = in->rx->ev,
		.expected = in->h.seq,
		.is_stranger = true,
		.is_held = true,
	};
	wheel_arm_by(&s->wheel, s->now, &end->timer, s->now + s->cfg.hold_ns);
	s->count.held++;
	engine_event_raise(&s->told, &end->events, ENGINE_EVENT_PEER_HELD);
	return end;
}

static bool has_some(const struct engine_ring *ring)
{
	return ring->done < ring->posted;
}

/* Whether there is what a message must have: a receive; of a stranger, a completion, and what has
 * no place has none at all. */
static bool is_ready(const struct stopwait *s, const struct stopwait_pair *p, const struct in *in)
{
	if (in->h.kind == STOPWAIT_SEND)
		return p && has_some(&p->recvs);
	return in->h.kind == STOPWAIT_WRITE || !in->h.is_last || has_some(p ? &p->recvs : &s->lent);
}

/* Of what access is asked: strangers have domain 0. */
static struct place place_of(const struct stopwait *s, const struct stopwait_pair *p,
			     uint8_t access)
{
	return (struct place){
		.mem = s->cfg.mem,
		.pd = p ? p->caps.pd : 0,
		.qp = p ? p->id.number : MEM_ANY_QP,
		.access = access,
	};
}

static enum engine_status place_write(const struct stopwait *s, const struct stopwait_pair *p,
				      const struct in *in)
{
	const struct place how = place_of(s, p, MEM_REMOTE_WRITE);
	const struct place_payload payload = engine_payload_of(&in->payload);

	if (p && !(p->access & MEM_REMOTE_WRITE))
		return ENGINE_REMOTE_ACCESS;
	return place_region(&how, &payload, in->h.key, in->h.va) == MEM_OK ? ENGINE_OK
									   : ENGINE_REMOTE_ACCESS;
}

static enum engine_status place_send(const struct stopwait *s, const struct stopwait_pair *p,
				     const struct in *in)
{
	const struct stopwait_work *recv = engine_ring_at(&p->recvs, p->recvs.done);
	struct place how = place_of(s, p, MEM_LOCAL_WRITE);
	const struct place_list to = {recv->sg, recv->n_sg, in->h.offset, in->payload.len};
	const struct place_payload payload = engine_payload_of(&in->payload);
	uint64_t room = 0;

	how.is_local = true;
	how.is_trusted = recv->wr.flags & ENGINE_TRUSTED;
	for (uint32_t i = 0; i < recv->n_sg; i++)
		room += recv->sg[i].len;
	if ((uint64_t)to.at + to.len > room)
		return ENGINE_REMOTE_INVALID;
	return place_pieces(&how, &payload, &to) == MEM_OK ? ENGINE_OK : ENGINE_REMOTE_OPERATION;
}

/* The oldest receive of a ring, or completion that was lent, is of the message that ends here. */
static void complete(struct stopwait *s, struct engine_ring *ring, const struct in *in)
{
	struct engine_work *wr = engine_ring_at(ring, ring->done);

	wr->len = in->h.offset + in->payload.len;
	if (in->h.kind == STOPWAIT_WRITE_IMM) {
		wr->op = ENGINE_WRITE_IMM;
		wr->imm = in->h.imm;
		wr->flags |= ENGINE_HAS_IMM;
	}
	engine_done_end(&s->done, ring, ENGINE_OK);
}

static void complete_strangers(struct stopwait *s, const struct stopwait_end *end,
			       const struct in *in)
{
	struct stopwait_lent *lent = engine_ring_at(&s->lent, s->lent.done);

	lent->peer = end->peer;
	lent->source = end->remote;
	complete(s, &s->lent, in);
}

/* The next packet of whom we know, or the first of a stranger, whose context is in room. */
static uint64_t *take_next(struct stopwait *s, struct stopwait_pair *p, struct stopwait_end *end,
			   const struct in *in, struct stopwait_end *room)
{
	bool is_send = in->h.kind == STOPWAIT_SEND;
	bool ends = in->h.kind != STOPWAIT_WRITE && in->h.is_last;
	enum engine_status status;

	if (!is_ready(s, p, in))
		return &s->count.drop_not_ready;
	status = p && is_send ? place_send(s, p, in) : place_write(s, p, in);
	if (status != ENGINE_OK && !p)
		return &s->count.drop_access;
	if (status != ENGINE_OK) {
		owe(s, end, in->h.seq, status);
		return &s->count.rx_refused;
	}
	if (!end)
		end = hold(s, room, in);
	end->expected++;
	owe(s, end, in->h.seq, ENGINE_OK);
	s->count.rx_bytes += in->payload.len;
	if (p)
		p->progress.got_bytes += in->payload.len;
	if (p && is_send)
		p->is_receiving = !in->h.is_last;
	if (ends && p)
		complete(s, &p->recvs, in);
	else if (ends)
		complete_strangers(s, end, in);
	return &s->count.rx_data;
}

/* Whether a packet is of the queue pair's peer. */
static bool is_of_peer(const struct stopwait_pair *p, const struct in *in)
{
	return in->rx->peer == p->end.peer && in->h.from == p->end.remote;
}

static uint64_t *take_data(struct stopwait *s, const struct in *in)
{
	struct stopwait_pair *p = NULL;
	struct stopwait_end *end, *room = NULL;

	if (in->h.to == STOPWAIT_OPEN) {
		end = stranger_of(s, in, &room);
		if (!end && in->h.offset > 0)
			return &s->count.drop_seq;
		if (!end && !room)
			return &s->count.drop_full;
	} else {
		p = stopwait_find(s, in->h.to);
		if (!p || !engine_is_receiving(p->state))
			return &s->count.drop_pair;
		if (!is_of_peer(p, in))
			return &s->count.drop_stranger;
		end = &p->end;
	}
	if (end && in->h.seq + 1 == end->expected) {
		owe(s, end, in->h.seq, ENGINE_OK);
		return &s->count.rx_duplicate;
	}
	if (end && in->h.seq != end->expected)
		return &s->count.drop_seq;
	return take_next(s, p, end, in, room);
}

static uint64_t *take_ack(struct stopwait *s, const struct in *in)
{
	struct stopwait_pair *p = stopwait_find(s, in->h.to);

	if (!p)
		p = stopwait_find_address(s, in->h.to);
	if (!p || !engine_is_sending(p->state))
		return &s->count.drop_pair;
	if (!is_of_peer(p, in))
		return &s->count.drop_stranger;
	if (!p->is_out || in->h.seq != p->seq)
		return &s->count.drop_ack;
	if (in->h.imm != ENGINE_OK) {
		stopwait_fail(s, p, (enum engine_status)in->h.imm);
		return &s->count.rx_ack;
	}
	const struct stopwait_work *w = engine_ring_at(&p->sends, p->sends.done);

	p->is_out = false;
	p->seq++;
	p->tries = 0;
	p->offset += p->out_bytes;
	p->progress.sent_bytes += p->out_bytes;
	wheel_cancel(&s->wheel, &p->end.timer);
	list_leave(&s->data, &p->data_turn);
	if (p->offset == w->wr.len) {
		p->offset = 0;
		engine_done_end(&s->done, &p->sends, ENGINE_OK);
	}
	stopwait_wake(s, p);
	return &s->count.rx_ack;
}

static void trace(const struct stopwait *s, const struct in *in, uint32_t verdict)
{
	const struct stopwait_head *h = &in->h;
	const struct traced_pkt p = {s->now, h->to, h->seq, in->payload.len, (uint8_t)h->kind};

	traced_received(&s->cfg.trace, &p, in->rx, verdict);
}

void stopwait_input(struct engine *e, nsec now, const struct rx_pkt *pkts, uint32_t n)
{
	struct stopwait *s = stopwait_of(e);
	s->now = now;
	for (uint32_t i = 0; i < n; i++) {
		struct in in = {0};
		uint64_t *verdict = &s->count.drop_malformed;

		if (read_in(&in, &pkts[i]))
			verdict = in.h.kind == STOPWAIT_ACK ? take_ack(s, &in) : take_data(s, &in);
		s->count.rx++;
		++*verdict;
		if (trace_is_on(&s->cfg.trace))
			trace(s, &in, traced_place(verdict, &s->count.rx_data));
	}
}
