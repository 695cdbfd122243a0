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

/* The oldest receive, or NULL. */
static struct stopwait_work *receive_of(const struct stopwait_pair *p)
{
	return p->recvs.done < p->recvs.posted ? engine_ring_at(&p->recvs, p->recvs.done) : NULL;
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
				     const struct in *in, const struct stopwait_work *recv)
{
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

static void complete_receive(struct stopwait *s, struct stopwait_pair *p, const struct in *in,
			     struct stopwait_work *recv)
{
	recv->wr.len = in->h.offset + in->payload.len;
	if (in->h.kind == STOPWAIT_WRITE_IMM) {
		recv->wr.op = ENGINE_WRITE_IMM;
		recv->wr.imm = in->h.imm;
		recv->wr.flags |= ENGINE_HAS_IMM;
	}
	engine_done_end(&s->done, &p->recvs, ENGINE_OK);
}

/* The next packet of whom we know, or the first of a stranger, whose context is in room. */
static uint64_t *take_next(struct stopwait *s, struct stopwait_pair *p, struct stopwait_end *end,
			   const struct in *in, struct stopwait_end *room)
{
	struct stopwait_work *recv = p ? receive_of(p) : NULL;
	bool is_send = in->h.kind == STOPWAIT_SEND;
	bool needs_recv = is_send || (in->h.kind == STOPWAIT_WRITE_IMM && in->h.is_last);
	enum engine_status status;

	if (needs_recv && !recv)
		return &s->count.drop_not_ready;
	status = is_send ? place_send(s, p, in, recv) : place_write(s, p, in);
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
	if (is_send)
		p->is_receiving = !in->h.is_last;
	if (needs_recv && in->h.is_last)
		complete_receive(s, p, in, recv);
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
