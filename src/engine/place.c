#include "engine/place.h"

#include <assert.h>
#include <string.h>

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

static struct reader reader_of(const struct place_payload *payload)
{
	return (struct reader){.pieces = payload->pieces, .n = payload->n};
}

enum mem_fault place_region(const struct place *how, const struct place_payload *payload,
			    uint32_t key, uint64_t va)
{
	struct mem_want want = {
		.va = va,
		.len = payload->len,
		.key = key,
		.pd = how->pd,
		.qp = how->qp,
		.access = how->access,
		.is_local = how->is_local,
	};
	uint8_t *at = NULL;
	enum mem_fault fault = mem_find(how->mem, &want, &at);

	if (fault != MEM_OK || payload->len == 0)
		return fault;
	struct reader from = reader_of(payload);

	copy(&from, (struct span){at, payload->len});
	return MEM_OK;
}

/* Where `len` bytes of a piece are, from byte `at` of it on. */
static enum mem_fault find_piece(const struct place *how, const struct sge *sg, struct run run,
				 uint8_t **at)
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
		return mem_find(how->mem, &want, at);
	*at = sg->at ? (uint8_t *)sg->at + run.at : NULL;
	return MEM_OK;
}

/* The run of bytes as at most ENGINE_SGE spans, none empty. */
static enum mem_fault find_pieces(const struct place *how, const struct place_list *list,
				  struct span *out, uint8_t *n_out)
{
	struct run run = {list->at, list->len};

	assert(list->n <= ENGINE_SGE);
	*n_out = 0;
	for (uint32_t i = 0; i < list->n && run.len > 0; i++) {
		const struct sge *sg = &list->sg[i];

		if (run.at >= sg->len) {
			run.at -= sg->len;
			continue;
		}
		uint32_t left = sg->len - run.at;
		struct run part = {run.at, run.len < left ? run.len : left};
		enum mem_fault fault = find_piece(how, sg, part, &out[*n_out].at);

		if (fault != MEM_OK)
			return fault;
		out[(*n_out)++].len = part.len;
		run.len -= part.len;
		run.at = 0;
	}
	assert(run.len == 0);
	return MEM_OK;
}

enum mem_fault place_pieces(const struct place *how, const struct place_payload *payload,
			    const struct place_list *to)
{
	struct span at[ENGINE_SGE];
	uint8_t n;
	struct reader from = reader_of(payload);
	enum mem_fault fault = find_pieces(how, to, at, &n);

	if (fault != MEM_OK)
		return fault;
	for (uint8_t i = 0; i < n; i++)
		copy(&from, at[i]);
	return MEM_OK;
}

enum mem_fault place_gather(const struct place *how, const struct place_list *from,
			    struct cspan *out, uint8_t *n_out)
{
	struct span at[ENGINE_SGE];
	enum mem_fault fault = find_pieces(how, from, at, n_out);

	for (uint8_t i = 0; fault == MEM_OK && i < *n_out; i++)
		out[i] = (struct cspan){at[i].at, at[i].len};
	return fault;
}
