#include "engine/cut.h"

#include <assert.h>
#include <errno.h>

int engine_cut_check(const struct op *op, struct engine_cut_limits most, uint32_t *len)
{
	uint64_t total = 0;

	if (op->n_sg > most.pieces || (op->n_sg > 0 && !op->sg))
		return -EINVAL;
	for (uint32_t i = 0; i < op->n_sg; i++)
		total += op->sg[i].len;
	if (total > most.bytes || (total > 0 && op->remote > UINT64_MAX - (total - 1)))
		return -EINVAL;
	*len = (uint32_t)total;
	return 0;
}

bool engine_cut_out(const struct engine_cut *c, struct tx_pkt *tx)
{
	const struct place how = {
		.mem = c->mem,
		.pd = c->pd,
		.qp = c->qp,
		.is_local = true,
		.is_trusted = c->is_trusted,
	};

	tx->n_body = 0;
	return c->from.len == 0 || place_gather(&how, &c->from, tx->body, &tx->n_body) == MEM_OK;
}

/* Seldom called, and as a part of what finishes each packet it keeps that from being inlined. */
__attribute__((noinline)) void engine_cut_pad(struct tx_pkt *tx, uint8_t n)
{
	static const uint8_t zeros[ENGINE_PAD_MAX];

	assert(n <= ENGINE_PAD_MAX && tx->n_body < ENGINE_PIECES);
	tx->body[tx->n_body++] = (struct cspan){zeros, n};
}

bool engine_cut_in(struct engine_payload *p, const struct rx_pkt *rx, struct cspan rest,
		   uint32_t pad)
{
	const struct cspan pieces[] = {rest, rx->body[0], rx->body[1], rx->body[2]};
	uint64_t total = rest.len + engine_body_bytes(rx);

	p->n = p->len = 0;
	if (total % 4 != 0 || pad > total || total > UINT32_MAX)
		return false;
	uint32_t left = p->len = (uint32_t)total - pad;

	for (uint32_t i = 0; i <= ENGINE_BODY && left > 0; i++) {
		struct cspan piece = pieces[i];

		if (piece.len > left)
			piece.len = left;
		if (piece.len > 0)
			p->pieces[p->n++] = piece;
		left -= piece.len;
	}
	return true;
}
