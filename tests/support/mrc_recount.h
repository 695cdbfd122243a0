/* The requestor's records of packets, held against a recount: what mrc keeps as sums must be the
 * sums of what it keeps for each packet, at any moment. For tests on the stage of mrc_stage.h. */
#ifndef WEFT_TESTS_SUPPORT_MRC_RECOUNT_H
#define WEFT_TESTS_SUPPORT_MRC_RECOUNT_H

#include "mrc/state.h"
#include "mrc_stage.h"

static inline struct mrc *engine_of(uint32_t side)
{
	return mrc_of(w.end[side].e);
}

static inline struct mrc_qp *pair_of(uint32_t side, uint32_t i)
{
	return mrc_find(engine_of(side), w.end[side].qp[i].number);
}

/* The packets from n on that come before `end`, as bits of n's chunk. */
static inline uint64_t packets_before(uint64_t n, uint64_t end)
{
	uint64_t count = end > n ? end - n : 0;
	uint64_t bits = count < ENGINE_SENT_PKTS ? (UINT64_C(1) << count) - 1 : UINT64_MAX;

	return bits << engine_sent_place(n);
}

static inline uint64_t bytes_of(const struct engine_sent_chunk *c, uint64_t packets)
{
	uint64_t bytes = 0;

	for (; packets; packets &= packets - 1)
		bytes += c->pkts[__builtin_ctzll(packets)].bytes;
	return bytes;
}

/* Returns how many chunks the packets that are out need. */
static inline uint32_t check_requester(const struct mrc *m, const struct mrc_qp *q)
{
	const struct mrc_requester *req = &q->req;
	uint64_t bytes = 0;
	uint32_t n_lost = 0, n_early = 0, n_chunks = 0;

	assert_true(req->works.freed <= req->works.done && req->works.done <= req->works.current);
	assert_true(req->works.current <= req->works.posted &&
		    req->works.posted - req->works.freed <= q->caps.max_send);
	assert_true(req->executed <= req->sent.una && req->sent.una <= req->sent.next &&
		    req->sent.next <= req->end);
	for (uint64_t n = req->sent.una; n < req->sent.next;
	     n += ENGINE_SENT_PKTS - engine_sent_place(n)) {
		const struct engine_sent_chunk *c = engine_sent_chunk(&req->sent, n);
		uint64_t out = packets_before(n, req->sent.next);

		n_chunks++;
		n_lost += (uint32_t)__builtin_popcountll(c->lost & out);
		n_early += (uint32_t)__builtin_popcountll(c->acked & out);
		bytes += bytes_of(c, out & ~(c->lost | c->acked));
		assert_false(c->lost & c->acked & out);
		assert_false(c->lost & packets_before(n, req->sent.lost_from) & out);
		assert_false(packets_before(n, req->judged) & out &
			     ~(c->lost | c->acked | c->retx));
	}
	assert_int_equal(req->sent.out_bytes, bytes);
	assert_int_equal(req->sent.n_lost, n_lost);
	assert_int_equal(req->sent.n_early, n_early);
	if (req->sent.una < req->sent.next)
		assert_false(engine_sent_is_acked(&req->sent, req->sent.una));
	/* Silence counts while something is out, or a whole message is yet to be executed, or what
	 * waits has no port. */
	bool is_owed =
		req->executed < req->sent.next &&
		mrc_send_at(q, req->works.done)->first + mrc_send_at(q, req->works.done)->n_pkts <=
			req->sent.next;

	uint32_t ports = q->attr.evs ? q->attr.evs->set.ports : 0;
	uint32_t allowed = ports & ~(uint32_t)req->path.blocked[PATH_BLOCK_DENIED];
	bool is_shut_out = q->state == MRC_RTS && req->sent.next < req->end &&
			   !((allowed ? allowed : ports) & mrc_ports_up(m) &
			     ~(uint32_t)req->path.blocked[PATH_BLOCK_PEER]);

	assert_int_equal(req->due != NSEC_NEVER,
			 req->sent.una < req->sent.next || is_owed || is_shut_out);
	return n_chunks;
}

/* Whatever is retransmitted has a reason that is counted; n_lost packets still wait for it. */
static inline void check_reasons(const struct mrc *m, uint64_t n_lost)
{
	const struct mrc_counters *c = &m->count;
	uint64_t reasons = c->lost_gap + c->lost_probe + c->lost_nack + c->lost_port +
			   c->lost_timeout + c->retx_for_ack;

	/* Not equal: a queue pair that fails, or is reset, forgets what it had to send. */
	assert_true(c->tx_retx + c->spared + n_lost <= reasons);
}

static inline void check_records(uint32_t side)
{
	const struct mrc *m = engine_of(side);
	uint64_t n_lost = 0;
	uint32_t n_chunks = 0;

	for (uint32_t i = 0; i < w.end[side].n_qps; i++) {
		n_chunks += check_requester(m, pair_of(side, i));
		n_lost += pair_of(side, i)->req.sent.n_lost;
	}
	check_reasons(m, n_lost);
	assert_int_equal(mrc_usage(w.end[side].e).out_chunks, n_chunks);
}

#endif
