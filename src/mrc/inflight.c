/* What is in flight (8.3.1): which packets are taken for lost, what the peer says that it received,
 * and what the congestion controller is told of both. What is lost is for others to decide. */
#include "mrc/state.h"

#define RCVD_MASK 0xffffffu

/* Where nothing is out any more, what the peer is ahead by is forgotten, but for the way it rounds
 * (M-62). */
bool mrc_lose(struct mrc_requester *req, uint64_t n, struct mrc_losses *l)
{
	if (!engine_sent_lost(&req->sent, n))
		return false;
	if (req->sent.out_bytes == 0 && req->reported_bytes > req->sent.acked_bytes + MRC_RCVD_UNIT)
		req->reported_bytes = req->sent.acked_bytes;
	l->pkts++;
	l->bytes += engine_sent_at(&req->sent, n)->bytes;
	return true;
}

bool mrc_report_loss(struct mrc *m, struct mrc_qp *q, const struct mrc_losses *l, enum cc_loss why)
{
	struct mrc_requester *req = &q->req;
	struct cc_ack ack = {
		.now = m->now,
		.bytes = l->bytes,
		.pkts = l->pkts,
		.out_bytes = mrc_inflight(req),
	};

	if (l->pkts == 0)
		return false;
	cc_on_loss(&req->cc, &ack, why);
	return true;
}

/* A peer may count duplicates as received: what it is ahead of our records by is no more than what
 * is out, so that it is forgotten when nothing is (M-62). */
void mrc_bound_received(struct mrc_requester *req)
{
	uint64_t most = req->sent.acked_bytes + req->sent.out_bytes;

	if (req->reported_bytes > most)
		req->reported_bytes = most;
}

/* 8.4: rcvd_bytes counts up, modulo 2^24 units; one that is behind is out of date. */
void mrc_take_received(struct mrc_requester *req, uint32_t rcvd_bytes)
{
	uint32_t units = (rcvd_bytes - req->rcvd_units) & RCVD_MASK;

	if (units > RCVD_MASK / 2)
		return;
	req->rcvd_units = rcvd_bytes;
	req->reported_bytes += (uint64_t)units * MRC_RCVD_UNIT;
	mrc_bound_received(req);
}

/* Where the map is ahead of rcvd_bytes, as with a peer that does not tell them, it counts. */
uint32_t mrc_newly_received(struct mrc_requester *req)
{
	uint64_t all = req->reported_bytes > req->sent.acked_bytes ? req->reported_bytes
								   : req->sent.acked_bytes;
	uint64_t fresh = all > req->known_bytes ? all - req->known_bytes : 0;

	req->known_bytes += fresh;
	return fresh < UINT32_MAX ? (uint32_t)fresh : UINT32_MAX;
}
