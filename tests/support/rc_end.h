/* One end of RC connections for tests; see end.h. */
#ifndef WEFT_TESTS_SUPPORT_RC_END_H
#define WEFT_TESTS_SUPPORT_RC_END_H

#include "rc/rc.h"
#include "wire/roce.h"

#define ALL_ACCESS       (MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC)
#define TIMEOUT_NS(code) (UINT64_C(4096) << (code))

#define END_ROW          (&transport_rc)
#define END_OF(name)     rc_##name
#define END_ATTR         struct engine_attr
#define END_HEADERS      struct roce_pkt
#define END_ACCESS       (ALL_ACCESS | MEM_BIND)
#define END_PUT          roce_head_put
#define END_FORGET(attr) ((void)(attr))

static const uint32_t end_sets[] = {
	[ENGINE_INIT] = ENGINE_SET_ACCESS,
	[ENGINE_RTR] = ENGINE_SET_PMTU | ENGINE_SET_PATH | ENGINE_SET_REMOTE_QP |
		       ENGINE_SET_RQ_PSN | ENGINE_SET_DEST_RD_ATOMIC | ENGINE_SET_RNR_TIMER,
	[ENGINE_RTS] = ENGINE_SET_SQ_PSN | ENGINE_SET_RD_ATOMIC | ENGINE_SET_TIMEOUT |
		       ENGINE_SET_RETRIES | ENGINE_SET_RNR_RETRIES,
};

#include "end.h"

/* What an end is before a test changes it: queue pair i is number + i, peer is its peer's. */
static inline void end_defaults(struct end *s, uint32_t number, uint32_t peer)
{
	end_begin(s, number << 12);
	s->cfg = (struct rc_cfg){
		.max_qps = END_QPS,
		.max_srqs = 2,
		.n_ports = 1,
		.cc = {.kind = CC_FIXED, .window_bytes = 65536},
	};
	for (uint32_t i = 0; i < END_QPS; i++)
		s->qp[i] = (struct end_qp){
			.number = number + i,
			.caps = {.max_send = 64,
				 .max_recv = 64,
				 .max_send_sge = ENGINE_SGE,
				 .max_recv_sge = ENGINE_SGE,
				 .pd = PD,
				 .srq = RC_NO_SRQ},
			.attr = {.access = ALL_ACCESS,
				 .pmtu = 1024,
				 .peer = PEER,
				 .local = LOCAL,
				 .ev = 0xc0de + i,
				 .remote_qp = peer + i,
				 .rq_psn = peer * 256 + i,
				 .sq_psn = number * 256 + i,
				 .rd_atomic = RC_RD_ATOMIC_MAX,
				 .dest_rd_atomic = RC_RD_ATOMIC_MAX,
				 .rnr_timer = 1,
				 .timeout = 8,
				 .retries = 7,
				 .rnr_retries = 7},
		};
}

static inline int end_set(struct end *s, nsec now, uint32_t i, uint8_t state, uint32_t set)
{
	struct engine_attr attr = s->qp[i].attr;

	attr.state = state;
	return rc_qp_modify(s->e, now, s->qp[i].number, &attr, set | ENGINE_SET_STATE);
}

static inline bool is_partial(uint8_t opcode)
{
	return opcode == ROCE_OP_SEND_FIRST || opcode == ROCE_OP_SEND_MIDDLE ||
	       opcode == ROCE_OP_WRITE_FIRST || opcode == ROCE_OP_WRITE_MIDDLE ||
	       opcode == ROCE_OP_READ_RESPONSE_FIRST || opcode == ROCE_OP_READ_RESPONSE_MIDDLE;
}

static inline bool is_answer(uint8_t opcode)
{
	return opcode >= ROCE_OP_READ_RESPONSE_FIRST && opcode <= ROCE_OP_ATOMIC_ACKNOWLEDGE;
}

/* What every packet of RC is: it decodes, in the default partition, to a peer, no longer than the
 * PMTU and exactly that where more follows, zeros as padding (IBTA 9.2, 9.7.2). */
static inline void check_packet(struct end *s, struct end_pkt *p)
{
	struct cursor c = cursor_of((struct cspan){p->bytes, p->len});

	assert_int_equal(roce_pkt_get(&c, &p->h, NULL).why, WIRE_DROP_NONE);
	const struct bth *bth = &p->h.bth;
	const struct end_qp *q = qp_to(s, bth->dest_qp);

	assert_int_equal(bth->tver, 0);
	assert_int_equal(bth->pkey, RC_PKEY);
	assert_int_equal(bth->rsv0, 0);
	assert_int_equal(bth->rsv1, 0);
	assert_int_equal(bth->fecn, 0);
	assert_int_equal(bth->becn, bth->opcode == ROCE_OP_CNP);
	if (is_partial(bth->opcode))
		assert_int_equal(p->h.payload.len, q->attr.pmtu);
	assert_true(p->h.payload.len <= q->attr.pmtu);
	assert_int_equal(p->len % 4, 0);
	for (uint32_t i = p->len - bth->pad; i < p->len; i++)
		assert_int_equal(p->bytes[i], 0);
	assert_int_equal(p->tx.peer, q->attr.peer);
	assert_int_equal(p->tx.local, q->attr.local);
	assert_int_equal(p->tx.ev, q->attr.ev);
	assert_int_equal(p->tx.port, q->attr.port);
	assert_true(p->tx.tclass < ENGINE_TCLASSES);
	assert_int_equal(p->tx.udp_len, 0);
	if (is_answer(bth->opcode) || bth->opcode == ROCE_OP_CNP)
		assert_int_equal(bth->ack_req, 0);
}

/* A receive of one piece of INBOX on queue pair i. */
static inline int end_recv(struct end *s, nsec now, uint32_t i, uint32_t at, uint32_t len,
			   uint64_t cookie)
{
	struct sge sg = area_piece(s, INBOX, at, len);

	return end_post(s, now,
			(struct op){.code = ENGINE_RECV,
				    .qp = s->qp[i].number,
				    .cookie = cookie,
				    .sg = &sg,
				    .n_sg = 1});
}

#endif
