/* MRC behind the seam: its device, and how its queue pairs are made and connected. */
#include <errno.h>

#include "memory.h"
#include "mrc/state.h"
#include "oracle_mrc.h"
#include "plan_mrc.h"

struct hunt_evs {
	struct path_profile profile;
	uint64_t memory[PLAN_MRC_EVS * 4];
};

struct hunt_device {
	struct hunt_memory memory;
	struct mrc_cfg cfg;
	struct hunt_evs sets[HUNT_ENDS][2]; /* of its own ends */
	uint8_t turn[HUNT_ENDS];            /* which of them is in use */
	uint32_t n_changed;                 /* of the plan's changes, all hosts' counted */
};

static const void *configure(struct hunt_device *d, uint32_t host, struct trace *events)
{
	const struct hunt_plan *s = d->memory.plan;
	const struct plan_mrc_host *h = &plan_mrc(s)->hosts[host];

	d->cfg = (struct mrc_cfg){
		.trace = {events, host},
		.mem = d->memory.mem,
		.max_qps = HUNT_ENDS,
		.n_ports = s->shape.nic_ports,
		.cc = plan_mrc(s)->cc,
		.max_ev_faults = h->max_ev_faults,
		.max_out_pkts = h->max_out,
		.max_early_pkts = h->max_early,
		.max_answers = h->max_answers,
		.max_probes = h->max_probes,
		.sack_every_bytes = h->sack_every,
		.sack_least_bytes = h->sack_least,
		.pkey = h->pkey,
		.first_msn = h->first_msn,
		.has_service_time = h->has_service_time,
		.has_trim_nack = h->has_trim_nack,
		.has_base_probe = h->has_base_probe,
		.seed = s->seed * HUNT_HOSTS + host,
	};
	return &d->cfg;
}

static int go_to(struct engine *e, uint32_t qp, nsec now, struct mrc_attr *attr, uint8_t state,
		 uint32_t set)
{
	attr->state = state;
	return mrc_qp_modify(e, now, qp, attr, MRC_SET_STATE | set);
}

static uint8_t flags_of(const struct hunt_plan *s, uint32_t end)
{
	const struct plan_mrc_end *own = &plan_mrc(s)->ends[end];
	const struct plan_mrc_host *peer = &plan_mrc(s)->hosts[s->ends[end ^ 1].host];

	return (uint8_t)((own->is_dynamic ? MRC_DYNAMIC_MPR : 0) |
			 (peer->has_trim_nack ? MRC_PEER_TRIM_NACK : 0) |
			 (peer->has_service_time ? MRC_PEER_SERVICE_TIME : 0) |
			 (own->has_stamps ? 0 : MRC_NO_TIMESTAMPS) |
			 (own->is_trimmable ? 0 : MRC_NO_TRIM) |
			 (own->is_restoring ? MRC_RESTORE_CWND : 0) |
			 (own->is_oblivious ? MRC_OBLIVIOUS : 0));
}

static int connect(struct hunt_device *d, struct engine *e, uint32_t end, nsec now)
{
	const struct hunt_plan *s = d->memory.plan;
	const struct plan_mrc_end *own = &plan_mrc(s)->ends[end];
	const struct hunt_end *peer = &s->ends[end ^ 1];
	uint32_t qp = s->ends[end].qp;
	struct mrc_attr attr = {
		.access = MEM_REMOTE_WRITE,
		.pmtu = (uint16_t)s->pmtu,
		.peer = peer->host,
		.evs = &d->sets[end][0].profile,
		.burst = own->burst,
		.denied_ports = own->denied_ports,
		.remote_qp = peer->qp,
		.rq_psn = peer->psn,
		.sq_psn = s->ends[end].psn,
		.timeout = own->timeout,
		.linear_retries = own->linear,
		.exp_retries = own->exponential,
		.mpr = own->mpr,
		.mpr_dest = plan_mrc(s)->ends[end ^ 1].mpr,
		.wimm_dest = own->wimm_dest,
		.penalty = own->penalty,
		.flags = flags_of(s, end),
	};
	int error = go_to(e, qp, now, &attr, MRC_INIT, MRC_SET_ACCESS);

	if (!error)
		error = go_to(e, qp, now, &attr, MRC_RTR,
			      MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP | MRC_SET_RQ_PSN |
				      MRC_SET_MPR | MRC_SET_FLAGS | MRC_SET_PENALTY |
				      MRC_SET_DENIED_PORTS);
	if (!error)
		error = go_to(e, qp, now, &attr, MRC_RTS,
			      MRC_SET_SQ_PSN | MRC_SET_MPR_DEST | MRC_SET_TIMEOUT |
				      MRC_SET_RETRIES | MRC_SET_WIMM_DEST);
	return error;
}

static int make_evs(struct hunt_evs *to, const struct plan_mrc_evs *w)
{
	struct path_profile *f = &to->profile;

	if (path_profile_explicit(f, to->memory, w->evs, w->n) != PATH_OK ||
	    path_profile_set_min_active(f, w->min_active) != PATH_OK)
		return -EINVAL;
	for (uint32_t i = 0; i < w->n; i++)
		path_profile_deny(f, i, w->denied[i / 64] >> i % 64 & 1);
	path_profile_deny_ports(f, w->denied_ports);
	return 0;
}

static int open_end(struct hunt_device *d, struct engine *e, uint32_t end, nsec now)
{
	const struct hunt_end *own = &d->memory.plan->ends[end];
	const struct plan_mrc_end *more = &plan_mrc(d->memory.plan)->ends[end];
	struct mrc_caps caps = {
		.max_send = own->max_send,
		.max_recv = own->max_recv,
		.max_send_sge = HUNT_SGE,
		.pd = d->memory.plan->arenas[end].pd,
		.max_mpr = more->max_mpr,
		.max_wimm = more->max_wimm,
	};
	void *memory = hunt_memory_block(&d->memory, mrc_qp_size(&caps));
	int error = memory ? hunt_memory_add_end(&d->memory, end) : -ENOMEM;

	for (uint32_t i = 0; i < 2 && !error; i++)
		error = make_evs(&d->sets[end][i], &more->evs[i]);
	if (!error)
		error = mrc_qp_new(e, own->qp, &caps, memory);
	return error ? error : connect(d, e, end, now);
}

static int make_change(struct hunt_device *d, struct engine *e, nsec now,
		       const struct plan_mrc_change *c)
{
	const struct hunt_plan *s = d->memory.plan;
	uint32_t qp = s->ends[c->end].qp;
	struct mrc_attr attr = {
		.mpr = c->mpr,
		.peer = s->ends[c->end ^ 1].host,
		.burst = plan_mrc(s)->ends[c->end].burst,
		.denied_ports = c->ports,
	};

	switch (c->what) {
	case PLAN_MRC_RESIZE: return mrc_qp_modify(e, now, qp, &attr, MRC_SET_MPR);
	case PLAN_MRC_TURN:
		d->turn[c->end] ^= 1;
		attr.evs = &d->sets[c->end][d->turn[c->end]].profile;
		return mrc_qp_modify(e, now, qp, &attr, MRC_SET_PATH);
	case PLAN_MRC_DENY: return mrc_qp_deny(e, now, qp, c->ev, true);
	case PLAN_MRC_ALLOW: return mrc_qp_deny(e, now, qp, c->ev, false);
	case PLAN_MRC_PORTS: return mrc_qp_modify(e, now, qp, &attr, MRC_SET_DENIED_PORTS);
	case PLAN_MRC_DOWN: mrc_ports_down(e, now, c->ports); return 0;
	case PLAN_MRC_DRAIN: return go_to(e, qp, now, &attr, MRC_SQD, 0);
	default: return go_to(e, qp, now, &attr, MRC_RTS, 0);
	}
}

/* What the engine tells of queue pairs and not of work. */
static void take_events(struct hunt_device *d, struct engine *e, struct hunt_oracle *o,
			uint32_t host)
{
	static const uint8_t news[ENGINE_EVENTS] = {
		[ENGINE_EVENT_DRAINED] = ORACLE_MRC_DRAINED,
		[ENGINE_EVENT_FATAL] = ORACLE_MRC_FATAL,
		[ENGINE_EVENT_INVALID] = ORACLE_MRC_INVALID,
		[ENGINE_EVENT_ACCESS] = ORACLE_MRC_ACCESS,
		[ENGINE_EVENT_EV_STATE] = ORACLE_MRC_EV_STATE,
	};
	struct engine_event event;

	while (e->ops->events(e, &event, 1))
		oracle_mrc_event(o, hunt_find_end(d->memory.plan, host, event.number),
				 news[event.kind]);
}

/* Things change when the plan says so. */
static psec stir(struct hunt_device *d, struct engine *e, struct hunt_oracle *o, uint32_t host,
		 nsec now)
{
	const struct hunt_plan *s = d->memory.plan;
	const struct plan_mrc *m = plan_mrc(s);

	take_events(d, e, o, host);
	for (; d->n_changed < m->n_changes; d->n_changed++) {
		const struct plan_mrc_change *c = &m->changes[d->n_changed];
		struct mrc_attr attr;

		if (s->ends[c->end].host != host || o->ends[c->end].is_gone)
			continue;
		if (c->at > o->now(o->clock))
			return c->at;
		if (mrc_qp_query(e, s->ends[c->end].qp, &attr, NULL, NULL))
			oracle_fail(o, "end %u: it is unknown", c->end);
		if (attr.state == MRC_ERROR && c->what != PLAN_MRC_DOWN)
			continue;
		if (make_change(d, e, now, c))
			oracle_fail(o, "end %u: it cannot change", c->end);
		oracle_mrc_changed(o, c);
		/* Two changes may come at once. */
		take_events(d, e, o, host);
	}
	return PSEC_NEVER;
}

bool oracle_mrc_view(const struct hunt_oracle *o, uint32_t end, struct oracle_mrc_view *v)
{
	const struct hunt_end *own = &o->plan->ends[end];
	struct mrc_progress p;

	if (mrc_qp_progress(o->engines[own->host], own->qp, &p))
		return false;
	*v = (struct oracle_mrc_view){
		.inflight_bytes = p.inflight_bytes,
		.window_bytes = p.window_bytes,
		.n_usable = p.evs[PATH_GOOD] + p.evs[PATH_SKIP],
		.open_ports = p.open_ports,
		.srtt_ns = p.srtt_ns,
	};
	return true;
}

static const struct mrc_requester *requester_of(const struct hunt_oracle *o, uint32_t end)
{
	const struct hunt_end *own = &o->plan->ends[end];

	return &mrc_find((const struct mrc *)o->engines[own->host], own->qp)->req;
}

enum path_state oracle_mrc_ev(const struct hunt_oracle *o, uint32_t end, uint32_t ev)
{
	return path_state(&requester_of(o, end)->path, ev);
}

uint32_t oracle_mrc_dead_ports(const struct hunt_oracle *o, uint32_t end)
{
	return path_dead(&requester_of(o, end)->path);
}

uint32_t oracle_mrc_peer_ports_down(const struct hunt_oracle *o, uint32_t end)
{
	return requester_of(o, end)->path.blocked[PATH_BLOCK_PEER];
}

uint64_t oracle_mrc_port_losses(const struct hunt_oracle *o, uint32_t end)
{
	return mrc_counters(o->engines[o->plan->ends[end].host])->lost_port;
}

uint32_t oracle_mrc_ports(const struct hunt_oracle *o, uint32_t end)
{
	return path_ports(&requester_of(o, end)->path);
}

uint64_t oracle_mrc_window(const struct hunt_oracle *o, uint32_t end)
{
	return cc_grant(&requester_of(o, end)->cc).window_bytes;
}

static const char *left_over(const struct engine *e)
{
	struct mrc_usage use = mrc_usage(e);

	if (use.out_chunks > 0)
		return "room for packets out is not given back";
	if (use.early_chunks > 0)
		return "room for early packets is not given back";
	if (use.answers > 0)
		return "answers are not given back";
	return use.probes > 0 ? "probes are not given back" : NULL;
}

static void count(const struct engine *e, struct hunt_counts *n)
{
	const struct mrc_counters *c = mrc_counters(e);

	n->tx += c->tx_data + c->tx_retx + c->tx_sack + c->tx_nack + c->tx_ack + c->tx_nak +
		 c->tx_probe + c->tx_fault_probe + c->tx_endpoint + c->tx_endpoint_re;
	n->timeouts += c->timeouts;
	n->duplicates += c->rx_duplicate;
	n->naks += c->rx_nak;
	n->more[MET_DATA] += c->rx_data;
	n->more[MET_DUPLICATE] += c->rx_duplicate;
	n->more[MET_TRIMMED] += c->rx_trimmed;
	n->more[MET_NACKED] += c->rx_nacked;
	n->more[MET_REFUSED] += c->rx_nak_sent;
	n->more[MET_EARLY] += c->drop_early;
	n->more[MET_PROBE] += c->rx_probe;
	n->more[MET_SACK] += c->rx_sack;
	n->more[MET_NACK] += c->rx_nack;
	n->more[MET_ACK] += c->rx_ack;
	n->more[MET_NAK] += c->rx_nak;
	n->more[MET_LOST_GAP] += c->lost_gap + c->lost_port;
	n->more[MET_LOST_PROBE] += c->lost_probe;
	n->more[MET_LOST_NACK] += c->lost_nack;
	n->more[MET_LOST_TIMEOUT] += c->lost_timeout;
	n->more[MET_SPARED] += c->spared;
	n->more[MET_ANSWERS_FULL] += c->drop_busy;
	n->more[MET_COMMON] += c->rx_endpoint;
	n->more[MET_COMMON_RE] += c->rx_endpoint_re;
}

static const char *const more[] = {
#define MET_NAME(id, name) [MET_##id] = name,
	ORACLE_MRC_MET(MET_NAME)
#undef MET_NAME
#define ODD_NAME(id, name) [MET_ODD + ODD_##id] = name,
		ODD_MRC(ODD_NAME)
#undef ODD_NAME
			NULL,
};

/* Silence begins when nothing is news any more: when all works were posted, and a window that
 * losses made small has let all packets go, one in a round trip or two. */
static nsec slow_ns(const struct hunt_plan *s, uint32_t end)
{
	const struct hunt_work *last = &s->works[s->ends[end].first_work + s->ends[end].n_works];
	nsec tail = s->n_tail * s->tail_gap / PSEC_NS;

	if (plan_mrc(s)->cc.kind != CC_NSCC || s->ends[end].n_works == 0)
		return tail;
	return tail + (last[-1].first + last[-1].n_pkts) * 4 * plan_mrc(s)->rtt_ns;
}

static nsec try_ns(const struct hunt_plan *s, uint32_t end)
{
	const struct plan_mrc_end *e = &plan_mrc(s)->ends[end];

	if (e->exponential == PLAN_MRC_ENDLESS)
		return plan_mrc_give_up_ns(e, s->healed_at / PSEC_NS);
	return plan_mrc_silence_ns(e, (uint32_t)e->linear + e->exponential) + slow_ns(s, end);
}

static nsec give_up_ns(const struct hunt_plan *s, uint32_t end)
{
	return plan_mrc_give_up_ns(&plan_mrc(s)->ends[end], s->healed_at / PSEC_NS);
}

const struct hunt_transport hunt_mrc = {
	.row = &transport_mrc,
	.is_sprayed = true,
	.more = more,
	.draw = plan_mrc_draw,
	.print_own = plan_mrc_print,
	.try_ns = try_ns,
	.give_up_ns = give_up_ns,
	.device_bytes = sizeof(struct hunt_device),
	.configure = configure,
	.open = open_end,
	.stir = stir,
	.left_over = left_over,
	.count = count,
	.wire_new = oracle_mrc_new,
	.wire_free = oracle_mrc_free,
	.on_output = oracle_mrc_output,
	.on_input = oracle_mrc_input,
	.on_taken = oracle_mrc_taken,
	.packet_of = oracle_mrc_packet_of,
	.is_reported = oracle_mrc_is_reported,
	.may_give_up = oracle_mrc_may_give_up,
	.at_rest = oracle_mrc_at_rest,
	.is_shut = oracle_mrc_is_shut,
	.is_sheltered = oracle_mrc_is_sheltered,
	.on_pulled = oracle_mrc_pulled,
	.on_common = oracle_mrc_common,
	.end_of = oracle_mrc_end_of,
	.odd_output = odd_mrc_output,
	.odd_input = odd_mrc_input,
	.odd_late = odd_mrc_late,
	.print = oracle_mrc_print,
};
