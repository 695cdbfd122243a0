/* Queue pairs: how they are made, change state and end. */
#include <errno.h>
#include <string.h>

#include "base/places.h"
#include "engine/layout.h"
#include "mrc/state.h"

#define ALL_SET      ((MRC_SET_WIMM << 1) - 1)
#define FIRST_NUMBER 3u /* 0 and 1: IBTA 3.5.1, 2: endpoint operations (M-28) */

static const uint32_t needed_rtr =
	MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP | MRC_SET_RQ_PSN | MRC_SET_MPR;
static const uint32_t needed_rts = MRC_SET_SQ_PSN | MRC_SET_MPR_DEST;

/* The parts of a queue pair's memory, as offsets from its start. */
struct layout {
	struct engine_layout all;
	size_t sends, receives, stash, flights, tracks, evs;
	size_t stride;
	uint32_t n_flights, n_tracks;
};

static uint32_t most_evs(const struct mrc_caps *caps)
{
	return caps->max_evs ? caps->max_evs : MRC_EVS;
}

static const size_t recv_stride = sizeof(struct engine_work);

/* Chunks are reserved for nobody: only their places are. A window that is not at a chunk's border
 * has a part of one more. */
static struct layout layout_of(const struct mrc_caps *caps)
{
	struct layout l = {
		.stride = engine_aligned(sizeof(struct mrc_send) +
					 engine_cut_room(mrc_send_limits(caps))),
		.n_flights = places_for(caps->max_mpr * (MRC_MPR_UNIT / ENGINE_SENT_PKTS) + 1),
		.n_tracks = places_for(caps->max_mpr * (MRC_MPR_UNIT / ENGINE_SEEN_PKTS) + 1),
	};

	engine_reserve(&l.all, sizeof(struct mrc_qp));
	l.sends = engine_reserve(&l.all, engine_ring_bytes(caps->max_send, l.stride));
	l.receives = engine_reserve(&l.all, engine_ring_bytes(caps->max_recv, recv_stride));
	l.stash = engine_reserve(&l.all, caps->max_wimm * sizeof(struct mrc_stash));
	l.flights = engine_reserve(&l.all, l.n_flights * sizeof(uint32_t));
	l.tracks = engine_reserve(&l.all, l.n_tracks * sizeof(uint32_t));
	l.evs = engine_reserve(&l.all, path_words(most_evs(caps)) * sizeof(uint64_t));
	return l;
}

size_t mrc_qp_size(const struct mrc_caps *caps)
{
	if (caps->max_send == 0 || caps->max_send > MRC_WR_MAX || caps->max_recv > MRC_WR_MAX ||
	    caps->max_send_sge > ENGINE_SGE || caps->max_inline > ENGINE_INLINE_MAX ||
	    caps->max_mpr == 0 || caps->max_wimm > MRC_WIMM_MAX || caps->max_evs > PATH_EVS_MAX)
		return 0;
	return layout_of(caps).all.used;
}

static void make_rings(struct mrc *m, struct mrc_qp *q)
{
	struct layout l = layout_of(&q->caps);
	uint8_t *at = q->memory;

	engine_ring_init(&q->req.works, at + l.sends, q->caps.max_send, l.stride);
	engine_sent_init(&q->req.sent, &m->flights, (void *)(at + l.flights), l.n_flights);
	engine_ring_init(&q->resp.receives, at + l.receives, q->caps.max_recv, recv_stride);
	q->resp.stash = (void *)(at + l.stash);
	engine_seen_init(&q->resp.seen, &m->tracks, (void *)(at + l.tracks), l.n_tracks);
	q->ev_bits = (void *)(at + l.evs);
}

int mrc_qp_new(struct engine *e, uint32_t number, const struct mrc_caps *caps, void *memory)
{
	struct mrc *m = mrc_of(e);

	if (number < FIRST_NUMBER || number >= MRC_NUMBERS || mrc_qp_size(caps) == 0)
		return -EINVAL;
	int problem = engine_numbers_problem(&m->qps, number);

	if (problem)
		return problem;
	struct mrc_qp *q = memory;

	*q = (struct mrc_qp){
		.caps = *caps,
		.attr.wimm = caps->max_wimm,
		.memory = memory,
	};
	engine_number_add(&m->qps, &q->id, number);
	make_rings(m, q);
	mrc_pools_take(m, q);
	mrc_requester_reset(m, q);
	mrc_responder_reset(m, q);
	return 0;
}

/* Back to the beginning: no work, no packets, no events, no attributes. */
static void reset(struct mrc *m, struct mrc_qp *q)
{
	mrc_unlist_turns(m, q);
	mrc_unlist_starved(m, q);
	engine_event_forget(&m->events, &q->events);
	engine_done_forget(&m->done, q);
	mrc_evs_stop(m, q);
	mrc_requester_reset(m, q);
	mrc_responder_reset(m, q);
	mrc_set_state(m, q, MRC_RESET);
	q->known = 0;
	q->attr = (struct mrc_attr){.state = MRC_RESET, .wimm = q->caps.max_wimm};
	/* It may have had a turn to take a chunk: the next that starves gets it. */
	mrc_offer_chunk(m);
}

void *mrc_qp_free(struct engine *e, uint32_t number)
{
	struct mrc *m = mrc_of(e);
	struct mrc_qp *q = mrc_find(m, number);

	if (!q)
		return NULL;
	reset(m, q);
	engine_number_remove(&m->qps, &q->id);
	mrc_pools_leave(m, q);
	return q->memory;
}

static bool are_evs(const struct mrc *m, const struct mrc_qp *q, const struct path_profile *evs)
{
	return evs && evs->set.n > 0 && evs->set.n <= most_evs(&q->caps) && evs->set.ports != 0 &&
	       evs->set.ports >> m->cfg.n_ports == 0;
}

static bool are_classes(const uint8_t tclass[ENGINE_CONTROL])
{
	for (uint32_t i = 0; i < ENGINE_CONTROL; i++)
		if (!engine_is_tclass(tclass[i]))
			return false;
	return true;
}

static bool is_in_range(const struct mrc *m, const struct mrc_qp *q, const struct mrc_attr *a,
			uint32_t set)
{
	return !((set & MRC_SET_PMTU && !engine_is_pmtu(a->pmtu)) ||
		 (set & MRC_SET_PATH && (!are_evs(m, q, a->evs) || !are_classes(a->tclass))) ||
		 (set & MRC_SET_REMOTE_QP && a->remote_qp >= MRC_NUMBERS) ||
		 (set & MRC_SET_RQ_PSN && a->rq_psn >= MRC_NUMBERS) ||
		 (set & MRC_SET_SQ_PSN && a->sq_psn >= MRC_NUMBERS) ||
		 (set & MRC_SET_TIMEOUT && a->timeout > MRC_TIMEOUT_MAX) ||
		 (set & MRC_SET_RETRIES &&
		  (a->linear_retries > MRC_LINEAR_MAX || a->exp_retries > MRC_EXP_MAX)) ||
		 (set & MRC_SET_MPR && (a->mpr == 0 || a->mpr > q->caps.max_mpr)) ||
		 (set & MRC_SET_MPR_DEST && a->mpr_dest == 0) ||
		 (set & MRC_SET_WIMM && a->wimm > q->caps.max_wimm) ||
		 (set & MRC_SET_PENALTY && a->penalty > MRC_PENALTY_MAX) ||
		 (set & MRC_SET_DENIED_PORTS && a->denied_ports >> m->cfg.n_ports != 0) ||
		 (set & MRC_SET_CC && a->cc && cc_cfg_problem(a->cc)));
}

/* What may not change under packets that are on their way, or after the ends agreed on it. Other
 * EVs to the same peer may be set at any time, and our range where that is dynamic (7.5.4). */
static bool is_timely(const struct mrc_qp *q, const struct mrc_attr *a, uint32_t set)
{
	const uint32_t receiving = MRC_SET_PMTU | MRC_SET_REMOTE_QP | MRC_SET_RQ_PSN | MRC_SET_WIMM;
	const uint32_t sending = MRC_SET_SQ_PSN | MRC_SET_MPR_DEST | MRC_SET_CC;
	const uint8_t agreed =
		MRC_DYNAMIC_MPR | MRC_PEER_TRIM_NACK | MRC_PEER_SERVICE_TIME | MRC_NO_TIMESTAMPS;
	uint8_t flags = set & MRC_SET_FLAGS ? a->flags : q->attr.flags;

	if (q->state < MRC_RTR)
		return true;
	if (set & receiving)
		return false;
	if (set & MRC_SET_PATH && q->state != MRC_SQD && a->peer != q->attr.peer)
		return false;
	if (set & MRC_SET_MPR && a->mpr != q->attr.mpr && !(flags & MRC_DYNAMIC_MPR))
		return false;
	return q->state == MRC_RTR || (!(set & sending) && !((flags ^ q->attr.flags) & agreed));
}

static void assign(struct mrc_attr *to, const struct mrc_attr *a, uint32_t set)
{
	if (set & MRC_SET_ACCESS)
		to->access = a->access;
	if (set & MRC_SET_PMTU)
		to->pmtu = a->pmtu;
	if (set & MRC_SET_PATH) {
		to->peer = a->peer;
		to->local = a->local;
		to->evs = a->evs;
		to->burst = a->burst;
		memcpy(to->tclass, a->tclass, sizeof to->tclass);
	}
	if (set & MRC_SET_REMOTE_QP)
		to->remote_qp = a->remote_qp;
	if (set & MRC_SET_RQ_PSN)
		to->rq_psn = a->rq_psn;
	if (set & MRC_SET_SQ_PSN)
		to->sq_psn = a->sq_psn;
	if (set & MRC_SET_TIMEOUT)
		to->timeout = a->timeout;
	if (set & MRC_SET_RETRIES) {
		to->linear_retries = a->linear_retries;
		to->exp_retries = a->exp_retries;
	}
	if (set & MRC_SET_MPR)
		to->mpr = a->mpr;
	if (set & MRC_SET_MPR_DEST)
		to->mpr_dest = a->mpr_dest;
	if (set & MRC_SET_WIMM)
		to->wimm = a->wimm;
	if (set & MRC_SET_WIMM_DEST)
		to->wimm_dest = a->wimm_dest;
	if (set & MRC_SET_PENALTY)
		to->penalty = a->penalty;
	if (set & MRC_SET_FLAGS)
		to->flags = a->flags;
	if (set & MRC_SET_DENIED_PORTS)
		to->denied_ports = a->denied_ports;
	if (set & MRC_SET_CC)
		to->cc = a->cc;
}

/* A queue pair that has a turn keeps one, on the ports of its new EVs. */
static void take_evs(struct mrc *m, struct mrc_qp *q, const struct mrc_attr *a, uint32_t set)
{
	bool was_sending = list_is_linked(&q->send_link);
	bool was_answering = list_is_linked(&q->answer_link);
	bool is_same_peer = q->attr.evs && q->attr.peer == a->peer;

	if (set & MRC_SET_PATH)
		mrc_unlist_turns(m, q);
	assign(&q->attr, a, set);
	if (!(set & MRC_SET_PATH)) {
		if (set & MRC_SET_DENIED_PORTS && q->attr.evs)
			mrc_evs_deny_ports(m, q);
		return;
	}
	mrc_evs_start(m, q, is_same_peer);
	if (was_sending)
		mrc_wake_send(m, q);
	if (was_answering)
		mrc_wake_answer(m, q);
	/* Its turn may have been one to take a chunk, and its new port is shut. */
	mrc_offer_chunk(m);
}

static void enter(struct mrc *m, struct mrc_qp *q, uint8_t state)
{
	enum engine_begin begins = engine_begins((struct engine_move){q->state, state});

	mrc_set_state(m, q, state);
	switch (begins) {
	case ENGINE_BEGINS_TO_TAKE: mrc_responder_start(m, q); break;
	case ENGINE_BEGINS_TO_SEND: mrc_requester_start(m, q); break;
	case ENGINE_BEGINS_TO_DRAIN:
		q->req.is_draining = true;
		mrc_check_drained(m, q);
		break;
	case ENGINE_BEGINS_TO_RESUME: q->req.is_draining = false; break;
	case ENGINE_BEGINS_TO_FAIL: mrc_flush(m, q); break;
	default: break;
	}
	/* A limit may have gone up. */
	if (state == MRC_RTS)
		mrc_wake_send(m, q);
}

int mrc_qp_modify(struct engine *e, nsec now, uint32_t number, const struct mrc_attr *attr,
		  uint32_t set)
{
	struct mrc *m = mrc_of(e);
	struct mrc_qp *q = mrc_find(m, number);

	if (!q)
		return -ENOENT;
	bool is_stepping = set & MRC_SET_STATE;
	uint8_t to = is_stepping ? attr->state : q->state;

	if (set > ALL_SET || (is_stepping && !engine_may_move((struct engine_move){q->state, to})))
		return -EINVAL;
	m->now = now;
	if (is_stepping && to == MRC_RESET) {
		reset(m, q);
		return 0;
	}
	if (!is_in_range(m, q, attr, set) || !is_timely(q, attr, set))
		return -EINVAL;
	uint32_t known = q->known | (set & ~(uint32_t)MRC_SET_STATE);

	if ((to == MRC_RTR && (known & needed_rtr) != needed_rtr) ||
	    (to == MRC_RTS && (known & needed_rts) != needed_rts))
		return -EINVAL;
	bool is_resizing =
		engine_is_receiving(q->state) && (set & MRC_SET_MPR) && attr->mpr != q->attr.mpr;

	take_evs(m, q, attr, set);
	if (set & MRC_SET_CC)
		cc_start(&q->req.cc, attr->cc ? attr->cc : &m->cfg.cc, now);
	q->known = known;
	if (is_resizing)
		mrc_responder_resize(m, q);
	enter(m, q, to);
	mrc_clock_follow(m, q);
	return 0;
}

int mrc_qp_query(const struct engine *e, uint32_t number, struct mrc_attr *attr,
		 struct mrc_caps *caps, bool *is_draining)
{
	const struct mrc_qp *q = mrc_find((const struct mrc *)e, number);

	if (!q)
		return -ENOENT;
	if (attr) {
		*attr = q->attr;
		attr->state = q->state;
		attr->sq_psn = mrc_psn(q->attr.sq_psn, q->req.sent.next).v;
		attr->rq_psn = mrc_psn(q->attr.rq_psn, q->resp.seen.expected).v;
	}
	if (caps)
		*caps = q->caps;
	if (is_draining)
		*is_draining = q->state == MRC_SQD && q->req.is_draining;
	return 0;
}

/* 8.3, Figure 4. */
static enum mrc_activity activity_of(const struct mrc_qp *q)
{
	const struct mrc_requester *req = &q->req;

	if (req->sent.n_lost > 0 || req->sent.next < req->end)
		return mrc_inflight(req) < cc_grant(&req->cc).window_bytes ? MRC_READY : MRC_ACTIVE;
	return req->executed < req->sent.next ? MRC_PENDING : MRC_IDLE;
}

int mrc_qp_progress(const struct engine *e, uint32_t number, struct mrc_progress *p)
{
	const struct mrc_qp *q = mrc_find((const struct mrc *)e, number);

	if (!q)
		return -ENOENT;
	*p = (struct mrc_progress){
		.activity = (uint8_t)activity_of(q),
		.inflight_bytes = mrc_inflight(&q->req),
		.backlog_bytes = q->req.backlog_bytes,
		.window_bytes = cc_grant(&q->req.cc).window_bytes,
		.srtt_ns = q->req.srtt,
		.sent_bytes = q->req.done_bytes + mrc_part_bytes(q),
		.got_bytes = q->resp.got_bytes,
		.sent_packets = q->req.sent.next - q->req.unsent_pkts,
		.retx_packets = q->req.n_retx,
		.timeouts = q->req.n_timeouts,
		.silent = q->req.works.silent,
	};
	if (q->attr.evs) {
		path_count(&q->req.path, p->evs);
		p->open_ports = path_ports(&q->req.path);
	}
	return 0;
}

int mrc_qp_evs(const struct engine *e, uint32_t number, uint8_t *states, uint32_t room, uint32_t *n)
{
	const struct mrc_qp *q = mrc_find((const struct mrc *)e, number);

	if (!q)
		return -ENOENT;
	*n = q->attr.evs ? q->attr.evs->set.n : 0;
	for (uint32_t ev = 0; ev < *n && ev < room; ev++)
		states[ev] = (uint8_t)path_state(&q->req.path, ev);
	return 0;
}

int mrc_qp_judge(struct engine *e, nsec now, uint32_t number, uint32_t ev, bool is_bad)
{
	struct mrc *m = mrc_of(e);
	struct mrc_qp *q;
	int answer = mrc_find_with_ev(m, number, ev, &q);

	if (answer)
		return answer;
	m->now = now;
	if (is_bad)
		path_on_avoid(&q->req.path, ev, now);
	else
		path_pardon(&q->req.path, ev, now);
	mrc_evs_changed(m, q);
	return 0;
}
