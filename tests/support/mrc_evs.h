/* A requestor with EVs, whose peer is a script (mrc_peer.h): what left, by which EV, and the
 * peer's words about that. */
#ifndef WEFT_TESTS_SUPPORT_MRC_EVS_H
#define WEFT_TESTS_SUPPORT_MRC_EVS_H

#include "mrc_peer.h"

#define RTT          40000u
#define TRAIN        40u /* clean probes that bring an EV back which failed once */
#define GONE_MOST    1024u
#define LONG_TIMEOUT 14u /* 16.8 ms */

/* A packet that left. */
struct gone {
	struct mrc_pkt h;
	nsec at;
	uint32_t ev, peer;
	uint32_t ev_number; /* of queue pair 0, or PATH_NONE */
	uint8_t port, tclass, not_ect;
	bool is_probe; /* a reliability probe of an EV, or of a port */
};

static struct gone gone[GONE_MOST]; /* with the last gather */
static uint32_t n_gone;

static inline void begin_evs(uint32_t n_ports)
{
	begin();
	w.end[0].cfg.n_ports = n_ports;
	w.end[0].cfg.max_probes = 64;
	for (uint32_t i = 0; i < END_QPS; i++) {
		w.end[0].qp[i].caps.max_send = 512;
		w.end[0].qp[i].caps.max_send_sge = 1;
		w.end[0].qp[i].attr.timeout = LONG_TIMEOUT;
	}
	w.end[0].is_virtual = w.end[1].is_virtual = true;
}

/* The queue pair that sent a reliability probe for the sake of an EV or a port; NULL: it asks what
 * arrived, or is none. */
static inline struct mrc_qp *prober_of(const struct mrc_pkt *h)
{
	if (h->bth.opcode != MRC_OP_PROBE_REQUEST)
		return NULL;
	for (uint32_t i = 0; i < w.end[0].n_qps; i++)
		if ((uint16_t)pair_of(0, i)->id.number == h->peth.spdcid &&
		    mrc_probe_find(pair_of(0, i), h->peth.probe_id))
			return pair_of(0, i);
	return NULL;
}

/* Everything that can go does, and is kept; returns how many packets that were. */
static inline uint32_t gather(void)
{
	n_gone = 0;
	while (pull() > 0)
		for (uint32_t i = 0; i < w.end[0].n_out; i++) {
			const struct end_pkt *p = &w.end[0].out[i];

			assert_true(n_gone < GONE_MOST);
			gone[n_gone++] = (struct gone){
				.h = p->h,
				.at = w.now,
				.ev = p->tx.ev,
				.peer = p->tx.peer,
				.ev_number = path_profile_find(q->attr.evs, p->tx.ev, p->tx.port),
				.port = p->tx.port,
				.tclass = p->tx.tclass,
				.not_ect = p->tx.not_ect,
				.is_probe = prober_of(&p->h) != NULL,
			};
		}
	return n_gone;
}

static inline bool is_request(const struct gone *g, uint8_t op)
{
	return g->h.bth.opcode == MRC_OP_ENDPOINT_REQUEST && g->h.erth.op == op;
}

static inline uint32_t n_requests(uint8_t op)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_gone; i++)
		n += is_request(&gone[i], op);
	return n;
}

/* Of EVs and ports. */
static inline uint32_t n_probes(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_gone; i++)
		n += gone[i].is_probe;
	return n;
}

static inline uint32_t n_data(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_gone; i++)
		n += is_data(gone[i].h.bth.opcode);
	return n;
}

/* The peer's response to an endpoint request that left. */
static inline void respond_to(const struct gone *g)
{
	struct mrc_pkt h = {
		.bth = {.opcode = MRC_OP_ENDPOINT_RESPONSE,
			.psn = g->h.bth.psn,
			.dest_qp = MRC_ENDPOINT_QP},
		.eeth = {.op = g->h.erth.op, .tx_timestamp = g->h.erth.tx_timestamp},
	};

	inject_as(0, &h,
		  (struct rx_pkt){.peer = g->peer, .local = LOCAL, .ev = g->ev, .port = g->port});
	check_records(0);
	check_balance(&w.end[0]);
}

/* The peer's SACK for a reliability probe that left, with what it says of the EV: of packets no
 * more than is known. The queue pair may have ended meanwhile. */
static inline void answer_probe(const struct gone *g, uint8_t m)
{
	for (uint32_t i = 0; i < END_QPS; i++) {
		const struct mrc_qp *asker = mrc_find(engine_of(0), w.end[0].qp[i].number);

		if ((uint16_t)w.end[0].qp[i].number != g->h.peth.spdcid)
			continue;
		say_to(i, (struct mrc_pkt){
				  .bth = {.opcode = MRC_OP_SACK},
				  .seth = {.pr = 1,
					   .m = m,
					   .cack_psn = psn_of(
						   asker ? (int64_t)asker->req.sent.una - 1 : 0),
					   .ack_psn_offset = g->h.peth.probe_id,
					   .entropy = g->ev,
					   .cc_type = MRC_CC_TYPE_NSCC},
				  .cc = {.ooo_count = UINT16_MAX},
			  });
	}
}

/* To all of them, and to all endpoint requests. */
static inline void respond(void)
{
	for (uint32_t i = 0; i < n_gone; i++) {
		if (gone[i].is_probe)
			answer_probe(&gone[i], MRC_MARK_NONE);
		else if (gone[i].h.bth.opcode == MRC_OP_ENDPOINT_REQUEST)
			respond_to(&gone[i]);
	}
}

/* Connected; a round trip of 40 us is known. Packet 0 is done. */
static inline void warm(void)
{
	connect();
	post_packets(1);
	assert_int_equal(gather(), 1);
	w.now += RTT;
	sack_all(0);
	ack(0);
	expect_end(1, ENGINE_OK);
}

/* The peer says which of its ports are up, as anybody could; it answers nothing yet. */
static inline void say_ports(uint32_t up)
{
	struct mrc_pkt h = {
		.bth = {.opcode = MRC_OP_ENDPOINT_REQUEST, .dest_qp = MRC_ENDPOINT_QP},
		.erth = {.op = MRC_ENDPOINT_PORT_STATUS, .port_status_mask = up << 1},
	};

	inject(0, &h);
	check_records(0);
}

/* It answers what left by these ports to ask for an EV or a port. */
static inline void answer_by(uint32_t ports)
{
	for (uint32_t i = 0; i < n_gone; i++)
		if (gone[i].is_probe && ports >> gone[i].port & 1)
			answer_probe(&gone[i], MRC_MARK_NONE);
}

/* The same, and it is so: it is asked, and answers by those ports alone. */
static inline void report_ports(uint32_t up)
{
	say_ports(up);
	gather();
	w.now += 1;
	answer_by(up);
	w.now += mrc_probe_timeout_ns(q) + 1000;
	gather();
	check_records(0);
}

/* n works of one packet each, a microsecond apart. */
static inline void send_each(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		post_packets(1);
		w.now += 1000;
		gather();
		assert_true(n_data() >= 1);
	}
}

/* The EV that a packet which is out took. */
static inline uint32_t ev_taken(uint64_t n)
{
	return engine_sent_at(&q->req.sent, n)->user;
}

static inline struct mrc_progress fare(void)
{
	struct mrc_progress p;

	assert_int_equal(mrc_qp_progress(w.end[0].e, OURS, &p), 0);
	return p;
}

struct states {
	uint32_t good, skip, bad, denied;
};

static inline void expect_evs(struct states s)
{
	struct mrc_progress p = fare();

	assert_int_equal(p.evs[PATH_GOOD], s.good);
	assert_int_equal(p.evs[PATH_SKIP], s.skip);
	assert_int_equal(p.evs[PATH_ASSUMED_BAD], s.bad);
	assert_int_equal(p.evs[PATH_DENIED], s.denied);
}

#define EXPECT_EVS(...) expect_evs((struct states){__VA_ARGS__})

static inline enum path_state state_of(uint32_t ev)
{
	return path_state(&q->req.path, ev);
}

/* A SACK for packet n alone, with what it says of the path; of entropy 0: of that which n took. */
static inline void sack_marked(uint64_t n, uint8_t m, uint32_t entropy)
{
	uint64_t una = q->req.sent.una;

	say((struct mrc_pkt){
		.bth = {.opcode = MRC_OP_SACK},
		.seth = {.cack_psn = psn_of((int64_t)una - 1),
			 .ack_psn_offset = (uint16_t)(n - una + 1),
			 .entropy = entropy ? entropy : ev_of((int64_t)n),
			 .m = m,
			 .cc_type = MRC_CC_TYPE_NSCC},
		.cc = {.ooo_count = UINT16_MAX},
	});
}

static inline void nack_marked(uint64_t n, uint8_t reason, uint32_t entropy)
{
	say((struct mrc_pkt){.bth = {.opcode = MRC_OP_NACK},
			     .neth = {.nack_reason = reason,
				      .nack_psn = psn_of((int64_t)n),
				      .entropy = entropy,
				      .cc_type = MRC_CC_TYPE_TIMESTAMP}});
}

/* Packet 3 of those that are out from 1 on is missing, though 27 that left later arrived. */
static inline uint32_t lose_by_gap(void)
{
	send_each(30);
	uint32_t ev = ev_taken(3);

	w.now += 10000;
	SACK(.cack = 2, .from = 4, .map = (1u << 27) - 1, .acked = 30);
	assert_int_equal(COUNT(lost_gap), 1);
	return ev;
}

static inline void set_evs(const struct path_profile *evs, uint16_t burst)
{
	struct mrc_attr attr = q->attr;

	attr.evs = evs;
	attr.burst = burst;
	w.end[0].qp[0].attr.evs = evs;
	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, OURS, &attr, MRC_SET_PATH), 0);
	check_records(0);
}

static inline void deny_ports(uint8_t ports)
{
	struct mrc_attr attr = {.denied_ports = ports};

	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, OURS, &attr, MRC_SET_DENIED_PORTS), 0);
	check_records(0);
}

#endif
