/* Two ends of RC and a wire between them; see two_ends.h. */
#ifndef WEFT_TESTS_SUPPORT_RC_PAIR_H
#define WEFT_TESTS_SUPPORT_RC_PAIR_H

#include "rc_end.h"

#define TRIM_BYTES 32u

#include "two_ends.h"

static inline void agree(const struct end *a, const struct end_qp *of, struct end_qp *peer)
{
	(void)a;
	peer->attr.rq_psn = of->attr.sq_psn;
}

/* How many PSNs a request takes: a read as many as its response (IBTA 9.7.3.1). */
static inline uint32_t psns_of(const struct roce_pkt *h, uint32_t pmtu)
{
	if (h->bth.opcode != ROCE_OP_READ_REQUEST || h->reth.dmalen == 0)
		return 1;
	return (h->reth.dmalen + pmtu - 1) / pmtu;
}

static inline void check_psn(uint32_t from, const struct end_pkt *p)
{
	if (is_answer(p->h.bth.opcode) || p->h.bth.opcode == ROCE_OP_CNP)
		return;
	uint32_t i = (uint32_t)(qp_to(&w.end[from], p->h.bth.dest_qp) - w.end[from].qp);
	psn24 psn = psn24_of(p->h.bth.psn), *next = &w.next_psn[from][i];
	uint32_t n = psns_of(&p->h, w.end[from].qp[i].attr.pmtu);

	assert_true(psn24_le(psn, *next));
	if (psn24_gt(psn24_add(psn, (int32_t)n), *next))
		*next = psn24_add(psn, (int32_t)n);
}

static inline void draw_fate(const struct end_pkt *p, struct fate *fate)
{
	(void)p;
	if (chance(w.trim))
		fate->trimmed = chance(500) ? NET_TRIMMED : NET_TRIMMED_LASTHOP;
	fate->is_garbled = fate->trimmed;
}

/* A receive at `at` of side's INBOX, cut in n pieces. */
static inline void post_recv(uint32_t side, uint32_t at, uint32_t len, uint32_t n, uint64_t cookie)
{
	struct sge sg[ENGINE_SGE];
	struct op op = {.code = ENGINE_RECV,
			.qp = w.end[side].qp[0].number,
			.cookie = cookie,
			.sg = sg,
			.n_sg = (uint16_t)cut(sg, &w.end[side], INBOX, at, len, n)};

	assert_int_equal(end_post(&w.end[side], w.now, op), 0);
}

/* The message of work k arrives at `at` of the peer's INBOX. */
static inline void imagine_arrival(const struct work *k, uint32_t at)
{
	memcpy(w.end[1 - k->side].image[INBOX] + at, w.end[k->side].image[SOURCE] + k->at, k->len);
}

#endif
