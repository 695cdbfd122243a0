#include <assert.h>
#include <string.h>

#include "rc/state.h"

#define PAD_MAX 3u

/* Where a run of bytes starts, and how many they are. */
struct run {
	uint32_t at, len;
};

/* Reads the pieces of a payload front to back. Invariant: used bytes of piece i are behind it. */
struct reader {
	const struct cspan *pieces;
	uint32_t n, i, used;
};

/* Copies to `to` until it is full; virtual bytes are zeros, and those for virtual memory are only
 * passed over. Bounded by to.len and the pieces. */
static void copy(struct reader *from, struct span to)
{
	uint32_t done = 0;

	while (done < to.len) {
		assert(from->i < from->n);
		const struct cspan *p = &from->pieces[from->i];
		uint32_t left = p->len - from->used,
			 n = to.len - done < left ? to.len - done : left;

		if (to.at && n > 0 && p->at)
			memcpy(to.at + done, p->at + from->used, n);
		else if (to.at && n > 0)
			memset(to.at + done, 0, n);
		done += n;
		from->used += n;
		if (from->used == p->len) {
			from->i++;
			from->used = 0;
		}
	}
}

static struct reader reader_of(const struct rc_in *in)
{
	return (struct reader){.pieces = in->payload, .n = in->n_payload};
}

enum mem_fault rc_place_region(struct rc *r, const struct rc_in *in, const struct rc_place *how,
			       uint32_t key, uint64_t va)
{
	struct mem_want want = {
		.va = va,
		.len = in->len,
		.key = key,
		.pd = how->pd,
		.qp = how->qp,
		.access = how->access,
		.is_local = how->is_local,
	};
	uint8_t *at = NULL;
	enum mem_fault fault = mem_find(r->cfg.mem, &want, &at);

	if (fault != MEM_OK || in->len == 0)
		return fault;
	struct reader from = reader_of(in);

	copy(&from, (struct span){at, in->len});
	return MEM_OK;
}

/* Where `len` bytes of a piece are, from byte `at` of it on. */
static enum mem_fault find_piece(struct rc *r, const struct rc_place *how, const struct sge *sg,
				 struct run run, uint8_t **at)
{
	struct mem_want want = {
		.va = (uintptr_t)sg->at + run.at,
		.len = run.len,
		.key = sg->lkey,
		.pd = how->pd,
		.qp = how->qp,
		.access = how->access,
		.is_local = true,
	};

	if (!how->is_trusted)
		return mem_find(r->cfg.mem, &want, at);
	*at = sg->at ? (uint8_t *)sg->at + run.at : NULL;
	return MEM_OK;
}

/* The run of bytes as at most ENGINE_SGE spans, none empty. */
static enum mem_fault find_pieces(struct rc *r, const struct rc_place *how, const struct sge *sg,
				  uint32_t n, struct run run, struct span *out, uint8_t *n_out)
{
	assert(n <= ENGINE_SGE);
	*n_out = 0;
	for (uint32_t i = 0; i < n && run.len > 0; i++) {
		if (run.at >= sg[i].len) {
			run.at -= sg[i].len;
			continue;
		}
		uint32_t left = sg[i].len - run.at;
		struct run part = {run.at, run.len < left ? run.len : left};
		enum mem_fault fault = find_piece(r, how, &sg[i], part, &out[*n_out].at);

		if (fault != MEM_OK)
			return fault;
		out[(*n_out)++].len = part.len;
		run.len -= part.len;
		run.at = 0;
	}
	assert(run.len == 0);
	return MEM_OK;
}

enum mem_fault rc_place_pieces(struct rc *r, const struct rc_in *in, const struct rc_place *how,
			       const struct sge *sg, uint32_t n, uint32_t at)
{
	struct span to[ENGINE_SGE];
	uint8_t n_to;
	struct reader from = reader_of(in);
	enum mem_fault fault = find_pieces(r, how, sg, n, (struct run){at, in->len}, to, &n_to);

	if (fault != MEM_OK)
		return fault;
	for (uint8_t i = 0; i < n_to; i++)
		copy(&from, to[i]);
	return MEM_OK;
}

enum mem_fault rc_gather(struct rc *r, const struct rc_place *how, const struct sge *sg, uint32_t n,
			 uint32_t at, uint32_t len, struct cspan *out, uint8_t *n_out)
{
	struct span from[ENGINE_SGE];
	enum mem_fault fault = find_pieces(r, how, sg, n, (struct run){at, len}, from, n_out);

	for (uint8_t i = 0; fault == MEM_OK && i < *n_out; i++)
		out[i] = (struct cspan){from[i].at, from[i].len};
	return fault;
}

void rc_finish_packet(const struct rc_qp *q, struct roce_pkt *h, uint32_t payload,
		      struct tx_pkt *tx)
{
	static const uint8_t zeros[PAD_MAX];

	h->bth.pad = rc_pad(payload);
	h->bth.pkey = RC_PKEY;
	h->bth.dest_qp = q->attr.remote_qp;
	tx->head_len = (uint16_t)roce_head_put(h, (struct span){tx->head, ENGINE_HEAD_MAX});
	assert(tx->head_len > 0);
	if (h->bth.pad > 0)
		tx->body[tx->n_body++] = (struct cspan){zeros, h->bth.pad};
	tx->udp_len = 0;
	tx->port = q->attr.port;
	tx->tclass = ENGINE_NO_TRIM;
	tx->not_ect = 0;
	tx->peer = q->attr.peer;
	tx->local = q->attr.local;
	tx->ev = q->attr.ev;
	tx->sa = 0;
	tx->stamp = 0;
}
