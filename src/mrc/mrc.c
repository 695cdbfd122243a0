#include "mrc/mrc.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>

#include "engine/layout.h"
#include "mrc/state.h"

#define PACKETS_MAX      (UINT32_C(1) << 30)
#define ANSWERS_MAX      (UINT32_C(1) << 20)
#define PROBES_MAX       (UINT32_C(1) << 15) /* half of the ids (7.3) */
#define PACKETS          65536u
#define ANSWERS          4096u
#define PROBES           256u
#define EV_FAULTS        4096u
#define EV_FAULTS_MAX    (UINT32_C(1) << 28)
#define SACK_EVERY_BYTES 16384u /* M-38 */
#define STRANGER_RATE    20000u
#define SACK_LEAST_BYTES 1024u /* MIN_ACK_PACKET_SIZE (7.5.2) */

/* The parts of the one block of memory, as offsets from its start. */
struct layout {
	struct engine_layout all;
	size_t qps, flights, tracks, answers, ev_faults, endpoints, peers;
	struct pool_shape flight_shape, track_shape, answer_shape, ev_fault_shape;
};

static struct layout layout_of(const struct mrc_cfg *cfg)
{
	struct layout l = {
		.flight_shape = {sizeof(struct engine_sent_chunk),
				 alignof(struct engine_sent_chunk),
				 (cfg->max_out_pkts + ENGINE_SENT_PKTS - 1) / ENGINE_SENT_PKTS},
		.track_shape = {sizeof(struct engine_seen_chunk), alignof(struct engine_seen_chunk),
				(cfg->max_early_pkts + ENGINE_SEEN_PKTS - 1) / ENGINE_SEEN_PKTS},
		.answer_shape = {sizeof(struct mrc_answer), alignof(struct mrc_answer),
				 cfg->max_answers},
		.ev_fault_shape = {sizeof(struct path_ev_fault), alignof(struct path_ev_fault),
				   cfg->max_ev_faults},
	};

	engine_reserve(&l.all, sizeof(struct mrc));
	l.qps = engine_reserve(&l.all, engine_numbers_bytes(cfg->max_qps));
	l.flights = engine_reserve(&l.all, pool_bytes(&l.flight_shape));
	l.tracks = engine_reserve(&l.all, pool_bytes(&l.track_shape));
	l.answers = engine_reserve(&l.all, pool_bytes(&l.answer_shape));
	l.ev_faults = engine_reserve(&l.all, pool_bytes(&l.ev_fault_shape));
	l.endpoints = engine_reserve(&l.all, mrc_endpoint_bytes(cfg));
	l.peers = engine_reserve(&l.all, mrc_peers_bytes(cfg));
	return l;
}

static void use_default(uint32_t *value, uint32_t fallback)
{
	if (*value == 0)
		*value = fallback;
}

static void use_default_ns(nsec *value, nsec fallback)
{
	if (*value == 0)
		*value = fallback;
}

static void complete_path(struct path_cfg *cfg)
{
	const struct path_cfg whole = PATH_CFG_DEFAULT;

	use_default_ns(&cfg->backoff_ns, whole.backoff_ns);
	use_default_ns(&cfg->backoff_max_ns, whole.backoff_max_ns);
	use_default_ns(&cfg->backoff_port_ns, whole.backoff_port_ns);
	use_default_ns(&cfg->probe_gap_ns, whole.probe_gap_ns);
	use_default_ns(&cfg->memory_ns, whole.memory_ns);
	use_default_ns(&cfg->witness_ns, whole.witness_ns);
	use_default_ns(&cfg->suspect_ns, whole.suspect_ns);
}

/* The configuration with its defaults filled in; false when it is bad. */
static bool complete_cfg(struct mrc_cfg *cfg, const struct mrc_cfg *from)
{
	*cfg = *from;
	use_default(&cfg->n_ports, 1);
	use_default(&cfg->max_out_pkts, PACKETS);
	use_default(&cfg->max_early_pkts, PACKETS);
	use_default(&cfg->max_answers, ANSWERS);
	use_default(&cfg->max_ev_faults, EV_FAULTS);
	use_default(&cfg->max_probes, PROBES);
	use_default(&cfg->stranger_rate, STRANGER_RATE);
	complete_path(&cfg->path);
	use_default(&cfg->sack_every_bytes, SACK_EVERY_BYTES);
	use_default(&cfg->sack_least_bytes, SACK_LEAST_BYTES);
	if (cfg->pkey == 0)
		cfg->pkey = MRC_PKEY_DEFAULT;
	return cfg->mem && cfg->max_qps > 0 && cfg->max_qps <= ENGINE_NUMBERS_MOST &&
	       cfg->n_ports <= ENGINE_PORTS && cfg->max_out_pkts <= PACKETS_MAX &&
	       cfg->max_early_pkts <= PACKETS_MAX && cfg->max_answers <= ANSWERS_MAX &&
	       cfg->max_ev_faults <= EV_FAULTS_MAX &&
	       cfg->max_probes <= (cfg->has_id_tag ? MRC_TAGGED_IDS : PROBES_MAX) &&
	       (cfg->stranger_rate <= MRC_RATE_MAX || cfg->stranger_rate == MRC_NO_STRANGERS) &&
	       cc_cfg_problem(&cfg->cc) == NULL;
}

static size_t mrc_size(const void *cfg)
{
	struct mrc_cfg full;

	return complete_cfg(&full, cfg) ? layout_of(&full).all.used : 0;
}

static int mrc_init(struct engine *e, const void *cfg, nsec now)
{
	struct mrc *m = mrc_of(e);
	struct mrc_cfg full;

	if (!complete_cfg(&full, cfg))
		return -EINVAL;
	struct layout l = layout_of(&full);
	uint8_t *block = (uint8_t *)m;

	*m = (struct mrc){
		.engine.ops = &mrc_ops,
		.cfg = full,
		.now = now,
	};
	engine_numbers_init(&m->qps, block + l.qps, full.max_qps);
	pool_init_empty(&m->flights, block + l.flights, &l.flight_shape);
	pool_init_empty(&m->tracks, block + l.tracks, &l.track_shape);
	pool_init(&m->answers, block + l.answers, &l.answer_shape);
	pool_init_empty(&m->ev_faults, block + l.ev_faults, &l.ev_fault_shape);
	m->cfg.path.ev_faults = &m->ev_faults;
	mrc_endpoint_init(m, block + l.endpoints);
	mrc_peers_init(m, block + l.peers);
	wheel_init(&m->wheel,
		   (struct wheel_cfg){
			   .now = now, .shift = MRC_WHEEL_SHIFT, .levels = MRC_WHEEL_LEVELS},
		   m->wheel_slots);
	return 0;
}

bool mrc_has_qp(const struct engine *e, uint32_t number)
{
	return number == MRC_ENDPOINT_QP || mrc_find((const struct mrc *)e, number) != NULL;
}

static int mrc_post(struct engine *e, nsec now, const struct op *op)
{
	struct mrc *m = mrc_of(e);
	struct mrc_qp *q = mrc_find(m, op->qp);

	m->now = now;
	if (!q)
		return -ENOENT;
	return op->code == ENGINE_RECV ? mrc_take_recv(m, q, op) : mrc_take_send(m, q, op);
}

/* Work to be sent has its number, and its place among the packets, from post on (table 6-9). */
static int mrc_cancel(struct engine *e, nsec now, const struct op *op)
{
	struct mrc *m = mrc_of(e);
	struct mrc_qp *q = mrc_find(m, op->qp);
	uint64_t at;

	m->now = now;
	if (!q)
		return -ENOENT;
	return op->code == ENGINE_RECV
		       ? mrc_cancel_recv(m, q, op->cookie)
		       : engine_ring_find(&q->req.works, q->req.works.posted, op->cookie, &at);
}

static uint32_t mrc_poll(struct engine *e, struct done *done, uint32_t n)
{
	struct mrc *m = mrc_of(e);
	uint32_t got = 0;

	for (; got < n; got++) {
		const struct engine_work *wr = engine_done_pop(&m->done, &done[got]);

		if (!wr)
			break;
		struct mrc_qp *q = wr->owner;

		done[got].qp = q->id.number;
		done[got].peer = q->attr.peer;
		done[got].source = wr->is_recv ? q->attr.remote_qp : 0;
		engine_ring_release(wr->is_recv ? &q->resp.receives : &q->req.works, wr);
	}
	return got;
}

/* A pull under way. */
struct pulling {
	struct tx_pkt *pkts;
	uint32_t n, got;
	struct engine_room left;
	uint32_t data, control; /* bit per port with room by which requests, or answers, may go */
};

static uint32_t ports_for(const struct pulling *p, bool is_answer)
{
	return is_answer ? p->control : p->data;
}

static struct tx_pkt *fresh_packet(const struct pulling *p)
{
	struct tx_pkt *tx = &p->pkts[p->got];

	tx->udp_len = 0;
	tx->tclass = ENGINE_DATA;
	tx->n_body = tx->not_ect = 0;
	tx->sa = 0;
	tx->stamp = 0;
	return tx;
}

/* The packet in hand goes. */
static void count_packet(struct pulling *p)
{
	uint32_t port = p->pkts[p->got++].port, bit = UINT32_C(1) << port;

	assert((p->data | p->control) & bit);
	if (--p->left.pkts[port] > 0)
		return;
	p->left.may &= ~engine_may_all(bit);
	p->data &= ~bit;
	p->control &= ~bit;
}

/* What is pulled together leaves together, and a burst that began in the pull before would cut
 * every later one in two where both are of one length. */
static void begin_burst(const struct mrc *m, struct mrc_requester *req)
{
	if (req->pull != m->n_pulls)
		path_end_burst(&req->path);
	req->pull = m->n_pulls;
}

/* Lets q send, or answer, a burst; it has a turn again if it stopped for lack of room. */
static void take_turn(struct mrc *m, struct mrc_qp *q, struct pulling *p, bool is_answer)
{
	uint32_t end = p->n - p->got < MRC_BURST ? p->n : p->got + MRC_BURST;

	if (!is_answer)
		begin_burst(m, &q->req);
	while (p->got < end && (mrc_ports_of(m, q, is_answer) & ports_for(p, is_answer))) {
		struct tx_pkt *tx = fresh_packet(p);
		bool is_blocked = false;

		if (!(is_answer ? mrc_answer_next(m, q, p->control, tx, &is_blocked)
				: mrc_request_next(m, q, p->data, tx, &is_blocked))) {
			assert(!is_blocked);
			return;
		}
		if (!is_answer)
			mrc_put_class(q, tx);
		count_packet(p);
	}
	if (is_answer)
		mrc_wake_answer(m, q);
	else
		mrc_wake_send(m, q);
}

/* A turn of one kind of packets; false: it has none that may go. */
static bool take_turn_of(struct mrc *m, struct pulling *p, uint8_t kind)
{
	if (kind == MRC_TURN_ENDPOINTS) {
		if (!mrc_endpoint_next(m, p->left.may, fresh_packet(p)))
			return false;
		count_packet(p);
		return true;
	}
	bool is_answer = kind == MRC_TURN_ANSWERS;
	struct mrc_turns *t = is_answer ? &m->answering : &m->sending;

	if (!mrc_has_turns(t, ports_for(p, is_answer)))
		return false;
	take_turn(m, mrc_next_turn(t, ports_for(p, is_answer), is_answer), p, is_answer);
	if (!is_answer)
		mrc_offer_chunk(m);
	return true;
}

/* Answers, requests and endpoint packets take turns, so that none starves another (law 4). The
 * order goes on from pull to pull: a driver may have room for one packet at a time. */
static void take_turns(struct mrc *m, struct pulling *p)
{
	for (uint32_t idle = 0; p->got < p->n && idle < MRC_TURNS;) {
		idle = take_turn_of(m, p, m->turn) ? 0 : idle + 1;
		m->turn = (uint8_t)((m->turn + 1) % MRC_TURNS);
	}
}

static uint32_t mrc_pull(struct engine *e, nsec now, const struct engine_room *room,
			 struct tx_pkt *pkts, uint32_t n)
{
	struct mrc *m = mrc_of(e);
	struct pulling p = {.pkts = pkts, .n = n, .left = *room};

	m->now = now;
	m->n_pulls++;
	mrc_timers_run(m, now);
	p.left.may = engine_may(room) & engine_may_all(mrc_all_ports(m));
	p.data = engine_data_ports(p.left.may);
	p.control = engine_ports_of(p.left.may, ENGINE_CONTROL);
	take_turns(m, &p);
	return p.got;
}

static nsec mrc_deadline(const struct engine *e, uint32_t may)
{
	const struct mrc *m = (const struct mrc *)e;

	may &= engine_may_all(mrc_all_ports(m));
	if (mrc_has_turns(&m->sending, engine_data_ports(may)) ||
	    mrc_has_turns(&m->answering, engine_ports_of(may, ENGINE_CONTROL)) ||
	    mrc_endpoint_waits(m, may))
		return m->now;
	return wheel_next(&m->wheel);
}

static uint32_t take_events(struct engine *e, struct engine_event *events, uint32_t n)
{
	struct mrc *m = mrc_of(e);
	struct engine_events *of;
	uint32_t got = 0;
	uint8_t kind;

	for (; got < n && (of = engine_event_take(&m->events, &kind)); got++)
		events[got] =
			(struct engine_event){LIST_OWNER(of, mrc_qp, events)->id.number, kind};
	return got;
}

const struct mrc_counters *mrc_counters(const struct engine *e)
{
	return &((const struct mrc *)e)->count;
}

struct mrc_usage mrc_usage(const struct engine *e)
{
	const struct mrc *m = (const struct mrc *)e;

	return (struct mrc_usage){
		.out_chunks = pool_in_use(&m->flights),
		.early_chunks = pool_in_use(&m->tracks),
		.answers = pool_in_use(&m->answers),
		.probes = pool_in_use(&m->endpoints.requests),
		.ev_faults = pool_in_use(&m->ev_faults),
		.max_out_chunks = pool_limit(&m->flights),
		.max_early_chunks = pool_limit(&m->tracks),
		.max_ev_faults = pool_limit(&m->ev_faults),
	};
}

static const uint64_t *count(const struct engine *e)
{
	return (const uint64_t *)(const void *)mrc_counters(e);
}

const struct engine_ops mrc_ops = {
	.size = mrc_size,
	.init = mrc_init,
	.post = mrc_post,
	.cancel = mrc_cancel,
	.input = mrc_input,
	.pull = mrc_pull,
	.poll = mrc_poll,
	.deadline = mrc_deadline,
	.events = take_events,
	.count = count,
};
