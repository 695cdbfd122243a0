/* Two ends of MRC and a wire between them; see two_ends.h. Besides, inject hands an end a packet
 * that nobody sent. */
#ifndef WEFT_TESTS_SUPPORT_MRC_STAGE_H
#define WEFT_TESTS_SUPPORT_MRC_STAGE_H

#include "mrc_end.h"

#define TRIM_BYTES 20u /* BTH, METH and TSETH: what a trimming switch leaves at least */

#include "two_ends.h"

static inline void agree(const struct end *a, const struct end_qp *of, struct end_qp *peer)
{
	peer->attr.rq_psn = of->attr.sq_psn;
	peer->attr.mpr_dest = of->attr.mpr;
	peer->attr.wimm_dest = of->caps.max_wimm;
	if (a->cfg.has_trim_nack)
		peer->attr.flags |= MRC_PEER_TRIM_NACK;
	if (a->cfg.has_service_time)
		peer->attr.flags |= MRC_PEER_SERVICE_TIME;
}

/* Those retransmitted have a mark, and no others (7.4.4). */
static inline void check_psn(uint32_t from, const struct end_pkt *p)
{
	if (!is_data(p->h.bth.opcode) || w.is_loose)
		return;
	uint32_t i = (uint32_t)(qp_to(&w.end[from], p->h.bth.dest_qp) - w.end[from].qp);
	psn24 psn = psn24_of(p->h.bth.psn), *next = &w.next_psn[from][i];

	assert_true(psn24_le(psn, *next));
	assert_int_equal(p->h.bth.rtx, !psn24_eq(psn, *next));
	if (psn24_eq(psn, *next)) {
		*next = psn24_next(psn);
		w.n_new[from]++;
	} else {
		w.n_retx[from]++;
	}
}

static inline void draw_fate(const struct end_pkt *p, struct fate *fate)
{
	if (is_endpoint(p->h.bth.opcode))
		fate->is_forged = false;
	if (is_data(p->h.bth.opcode) && chance(w.trim))
		fate->trimmed = chance(500) ? NET_TRIMMED : NET_TRIMMED_LASTHOP;
}

/* Hands end `to` a packet that nobody sent: headers as h->bth.opcode calls for, zeros of h->bth.pad
 * behind h->payload (at NULL: virtual). rx: see end_input; its peer and local as they stand. */
static inline void inject_as(uint32_t to, const struct mrc_pkt *h, struct rx_pkt rx)
{
	static uint8_t bytes[PACKET_MAX * 2];
	uint32_t head = mrc_head_put(h, (struct span){bytes, ENGINE_HEAD_MAX});
	uint32_t len = head + h->payload.len + h->bth.pad;

	assert_true(head > 0 && len <= sizeof bytes);
	memset(bytes + head, 0, len - head);
	if (h->payload.at)
		memcpy(bytes + head, h->payload.at, h->payload.len);
	end_input(&w.end[to], w.now, rx, bytes, len,
		  h->payload.at || h->payload.len == 0 ? len : head);
}

/* The same, from the peer, by EV number 0 and port 0. */
static inline void inject(uint32_t to, const struct mrc_pkt *h)
{
	inject_as(to, h,
		  (struct rx_pkt){.peer = PEER,
				  .local = LOCAL,
				  .ev = w.end[1 - to].evs[0].value,
				  .ttl = 64,
				  .ecn = 2});
}

/* Raw bytes from the peer, whatever they are. */
static inline void inject_bytes(uint32_t to, const uint8_t *bytes, uint32_t len)
{
	end_input(&w.end[to], w.now, (struct rx_pkt){.peer = PEER, .local = LOCAL, .ttl = 64},
		  bytes, len, len);
}

static inline int try_post_recv(uint32_t side, uint32_t qp, uint64_t cookie)
{
	struct op op = {.code = ENGINE_RECV, .qp = w.end[side].qp[qp].number, .cookie = cookie};

	return end_post(&w.end[side], w.now, op);
}

static inline void post_recv(uint32_t side, uint32_t qp, uint64_t cookie)
{
	assert_int_equal(try_post_recv(side, qp, cookie), 0);
}

/* The work's peer is told of it, in the receive with this cookie. */
static inline void expect_received(const struct work *k, uint64_t cookie)
{
	expect_done(1u - k->side, (struct done){.cookie = cookie,
						.code = ENGINE_DONE_RECEIVED,
						.qp = w.end[1 - k->side].qp[k->qp].number,
						.op = ENGINE_WRITE_IMM,
						.len = k->len,
						.imm = k->imm,
						.flags = (uint8_t)(ENGINE_HAS_IMM |
								   (k->flags & ENGINE_SOLICITED))});
}

static inline void expect_flushed_recv(uint32_t side, uint32_t qp, uint64_t cookie)
{
	expect_done(side, (struct done){.cookie = cookie,
					.code = ENGINE_DONE_RECEIVED,
					.status = ENGINE_FLUSHED,
					.op = ENGINE_RECV,
					.qp = w.end[side].qp[qp].number});
}

#endif
