/* One end of MRC connections for tests; see end.h. */
#ifndef WEFT_TESTS_SUPPORT_MRC_END_H
#define WEFT_TESTS_SUPPORT_MRC_END_H

#include "mrc/mrc.h"
#include "wire/mrc.h"

#define ALL_ACCESS       (MEM_LOCAL_WRITE | MEM_REMOTE_WRITE)
#define TIMEOUT_NS(code) (UINT64_C(1024) << (code))

#define END_ROW          (&transport_mrc)
#define END_OF(name)     mrc_##name
#define END_ATTR         struct mrc_attr
#define END_HEADERS      struct mrc_pkt
#define END_ACCESS       ALL_ACCESS
#define END_PUT          mrc_head_put
#define END_FORGET(attr) ((attr)->evs = NULL)

static const uint32_t end_sets[] = {
	[MRC_INIT] = MRC_SET_ACCESS,
	[MRC_RTR] = MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP | MRC_SET_RQ_PSN | MRC_SET_MPR |
		    MRC_SET_PENALTY | MRC_SET_FLAGS,
	[MRC_RTS] = MRC_SET_SQ_PSN | MRC_SET_MPR_DEST | MRC_SET_WIMM_DEST | MRC_SET_TIMEOUT |
		    MRC_SET_RETRIES,
};

#include "end.h"

/* What an end is before a test changes it: queue pair i is number + i, peer is its peer's. */
static inline void end_defaults(struct end *s, uint32_t number, uint32_t peer)
{
	end_begin(s, number << 8);
	s->cfg = (struct mrc_cfg){
		.max_qps = END_QPS,
		.n_ports = 1,
		.cc = {.kind = CC_FIXED, .window_bytes = 65536},
		.max_out_pkts = 8192,
		.max_early_pkts = 8192,
		.max_answers = 512,
		.max_probes = 16,
		.has_trim_nack = true,
	};
	for (uint32_t i = 0; i < END_QPS; i++)
		s->qp[i] = (struct end_qp){
			.number = number + i,
			.caps = {.max_send = 64,
				 .max_recv = 64,
				 .max_send_sge = ENGINE_SGE,
				 .pd = PD,
				 .max_mpr = 16,
				 .max_wimm = 64},
			.attr = {.access = ALL_ACCESS,
				 .pmtu = 1024,
				 .peer = PEER,
				 .local = LOCAL,
				 .remote_qp = peer + i,
				 .rq_psn = (peer * 256 + i) % MRC_NUMBERS,
				 .sq_psn = (number * 256 + i) % MRC_NUMBERS,
				 .timeout = 8,
				 .linear_retries = 3,
				 .exp_retries = 4,
				 .mpr = 8,
				 .wimm_dest = 64},
		};
}

static inline int end_set(struct end *s, nsec now, uint32_t i, uint8_t state, uint32_t set)
{
	struct mrc_attr attr = s->qp[i].attr;

	attr.state = state;
	if (!attr.evs)
		attr.evs = &s->set.profile;
	return mrc_qp_modify(s->e, now, s->qp[i].number, &attr, set | MRC_SET_STATE);
}

static inline bool is_data(uint8_t opcode)
{
	return opcode >= MRC_OP_WRITE_FIRST && opcode <= MRC_OP_WRITE_ONLY_IMM;
}

static inline bool is_endpoint(uint8_t opcode)
{
	return opcode == MRC_OP_ENDPOINT_REQUEST || opcode == MRC_OP_ENDPOINT_RESPONSE;
}

static inline bool is_ev(const struct end *s, uint32_t ev, uint32_t port)
{
	for (uint32_t i = 0; i < s->n_evs; i++)
		if (s->evs[i].value == ev && s->evs[i].port == port)
			return true;
	return false;
}

/* What every packet between queue pairs is: to a peer, on one of its EVs, no longer than the PMTU
 * and exactly that where more follows, of its class (Table 7-8). */
static inline void check_pair_packet(const struct end *s, const struct end_pkt *p)
{
	const struct mrc_bth *bth = &p->h.bth;
	const struct end_qp *q = qp_to(s, bth->dest_qp);

	if (!q->attr.evs)
		assert_true(is_ev(s, p->tx.ev, p->tx.port));
	assert_int_equal(p->tx.peer, q->attr.peer);
	assert_int_equal(p->tx.local, q->attr.local);
	assert_true(p->h.payload.len <= q->attr.pmtu);
	if (bth->opcode == MRC_OP_WRITE_FIRST || bth->opcode == MRC_OP_WRITE_MIDDLE)
		assert_int_equal(p->h.payload.len, q->attr.pmtu);
	if (bth->opcode != MRC_OP_NACK)
		assert_int_equal(p->tx.udp_len, 0);
	if (is_data(bth->opcode) || bth->opcode == MRC_OP_PROBE_REQUEST) {
		assert_int_not_equal(p->tx.tclass, ENGINE_CONTROL);
		assert_int_equal(p->tx.not_ect, 0);
	} else {
		assert_int_equal(p->tx.tclass, ENGINE_CONTROL);
		assert_int_equal(p->tx.not_ect, 1);
	}
	if (is_data(bth->opcode))
		assert_true(p->tx.tclass >= ENGINE_DSCP ||
			    (p->tx.tclass == ENGINE_RETX) ==
				    (bth->rtx && !(q->attr.flags & MRC_NO_TRIM)));
	else
		assert_int_equal(bth->ack_req | bth->se | bth->ts, 0);
}

/* What every packet of MRC is: it decodes to its last byte, with zeros for what is reserved and as
 * padding. */
static inline void check_packet(struct end *s, struct end_pkt *p)
{
	struct cursor c = cursor_of((struct cspan){p->bytes, p->len});

	assert_int_equal(mrc_pkt_get(&c, false, &p->h, NULL).why, WIRE_DROP_NONE);
	const struct mrc_bth *bth = &p->h.bth;

	/* Only control packets carry what the engine was given for them (M-04). */
	if (is_data(bth->opcode) || bth->opcode == MRC_OP_ACKNOWLEDGE || !s->cfg.pkey)
		assert_int_equal(bth->pkey, 0xffff);
	else
		assert_int_equal(bth->pkey, s->cfg.pkey);
	assert_int_equal(bth->rsv_var | bth->rsv0 | bth->rsv_inv | bth->m, 0);
	assert_int_equal(p->len % 4, 0);
	for (uint32_t i = p->len - bth->pad; i < p->len; i++)
		assert_int_equal(p->bytes[i], 0);
	assert_true(engine_is_tclass(p->tx.tclass));
	if (!is_endpoint(bth->opcode))
		check_pair_packet(s, p);
	p->h.payload.at = NULL;
}

/* Nothing of any pool is in use: all that was sent is acknowledged, all that came is in order. */
static inline void check_idle(const struct end *s)
{
	struct mrc_usage use = mrc_usage(s->e);

	assert_int_equal(use.out_chunks, 0);
	assert_int_equal(use.early_chunks, 0);
	assert_int_equal(use.answers, 0);
	assert_int_equal(use.probes, 0);
}

#endif
