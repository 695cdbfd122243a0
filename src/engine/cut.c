#include "engine/cut.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

uint64_t engine_cut_bytes(const struct op *op)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < op->n_sg; i++)
		total += op->sg[i].len;
	return total;
}

int engine_cut_check(const struct op *op, struct engine_cut_limits most)
{
	bool is_inline = op->flags & ENGINE_INLINE;

	if ((op->n_sg > most.pieces && !is_inline) || (op->n_sg > 0 && !op->sg))
		return -EINVAL;
	uint64_t total = engine_cut_bytes(op);

	if (total > (is_inline ? most.inline_bytes : most.bytes) ||
	    (total > 0 && op->remote > UINT64_MAX - (total - 1)))
		return -EINVAL;
	return 0;
}

/* Bytes that are copied are one piece, and stand behind the list. */
static uint32_t pieces_kept(struct engine_cut_limits most)
{
	return most.pieces == 0 && most.inline_bytes > 0 ? 1 : most.pieces;
}

size_t engine_cut_room(struct engine_cut_limits most)
{
	return pieces_kept(most) * sizeof(struct sge) + most.inline_bytes;
}

static uint8_t keep_inline(const struct op *op, struct engine_cut_limits most, struct sge *sg)
{
	uint8_t *at = (uint8_t *)(sg + pieces_kept(most));
	uint32_t len = 0;

	for (uint32_t i = 0; i < op->n_sg; i++) {
		const struct sge *from = &op->sg[i];

		if (from->len && from->at)
			memcpy(at + len, from->at, from->len);
		else
			memset(at + len, 0, from->len);
		len += from->len;
	}
	if (len == 0)
		return 0;
	*sg = (struct sge){.at = at, .len = len};
	return 1;
}

uint8_t engine_cut_keep(const struct op *op, struct engine_cut_limits most, struct sge *sg)
{
	if (op->flags & ENGINE_INLINE)
		return keep_inline(op, most, sg);
	if (op->n_sg > 0)
		memcpy(sg, op->sg, op->n_sg * sizeof *sg);
	return (uint8_t)op->n_sg;
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
