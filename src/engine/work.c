#include "engine/work.h"

#include <assert.h>
#include <errno.h>

#include "base/places.h"
#include "engine/ladder.h"

#define SEND_FLAGS (ENGINE_SILENT | ENGINE_SOLICITED | ENGINE_FENCE | ENGINE_TRUSTED)
#define RECV_FLAGS ENGINE_TRUSTED

size_t engine_ring_bytes(uint32_t max, size_t stride)
{
	return places_for(max) * stride;
}

void engine_ring_init(struct engine_ring *r, void *memory, uint32_t max, size_t stride)
{
	*r = (struct engine_ring){
		.slots = memory,
		.stride = stride,
		.mask = places_for(max) - 1,
		.max = max,
	};
}

void engine_ring_clear(struct engine_ring *r)
{
	r->freed = r->done = r->current = r->posted = r->silent = 0;
	r->cancelled = 0;
}

static bool may_be_inline(uint8_t code)
{
	return code == ENGINE_WRITE || code == ENGINE_WRITE_IMM || code == ENGINE_SEND ||
	       code == ENGINE_SEND_IMM || code == ENGINE_SEND_INV;
}

int engine_send_check(const struct op *op, uint8_t state)
{
	if (!engine_takes_sends(state) || op->key > UINT32_MAX || op->imm > UINT32_MAX)
		return -EINVAL;
	return op->flags & ENGINE_INLINE && !may_be_inline(op->code) ? -EINVAL : 0;
}

/* Bytes that were copied are the engine's own. */
static uint32_t flags_of(const struct op *op)
{
	if (op->code == ENGINE_RECV)
		return op->flags & RECV_FLAGS;
	return (op->flags & SEND_FLAGS) | (op->flags & ENGINE_INLINE ? ENGINE_TRUSTED : 0);
}

struct engine_work engine_work_of(const struct op *op, void *owner, uint32_t len)
{
	bool is_recv = op->code == ENGINE_RECV;

	return (struct engine_work){
		.owner = owner,
		.cookie = op->cookie,
		.imm = is_recv ? 0 : op->imm,
		.len = len,
		.is_recv = is_recv,
		.op = op->code,
		.flags = flags_of(op),
		.status = ENGINE_OK,
	};
}

struct engine_work *engine_ring_post(struct engine_ring *r, const struct op *op, void *owner,
				     uint32_t len)
{
	assert(engine_ring_room(r) > 0);
	struct engine_work *w = engine_ring_at(r, r->posted++);

	*w = engine_work_of(op, owner, len);
	return w;
}

static bool is_silent(const struct engine_work *w)
{
	return (w->flags & ENGINE_SILENT) && w->status == ENGINE_OK;
}

int engine_ring_find(const struct engine_ring *r, uint64_t from, uint64_t cookie, uint64_t *at)
{
	int problem = -ENOENT;

	for (uint64_t i = r->done; i < r->posted; i++) {
		const struct engine_work *w = engine_ring_at(r, i);

		if (w->cookie != cookie || w->status == ENGINE_CANCELLED)
			continue;
		if (i >= from) {
			*at = i;
			return 0;
		}
		problem = -EBUSY;
	}
	return problem;
}

void engine_ring_cancel(struct engine_ring *r, uint64_t at)
{
	struct engine_work *w = engine_ring_at(r, at);

	assert(at >= r->done && at < r->posted && w->status == ENGINE_OK);
	w->status = ENGINE_CANCELLED;
	r->cancelled++;
}

bool engine_ring_is_cancelled(const struct engine_ring *r)
{
	const struct engine_work *w = engine_ring_at(r, r->done);

	return r->cancelled > 0 && w->status == ENGINE_CANCELLED;
}

struct engine_work *engine_ring_end(struct engine_ring *r, enum engine_status status)
{
	struct engine_work *w = engine_ring_at(r, r->done);

	assert(r->done < r->posted);
	if (r->cancelled > 0 && w->status == ENGINE_CANCELLED) {
		status = ENGINE_CANCELLED;
		r->cancelled--;
	}
	w->status = (uint8_t)status;
	r->done++;
	/* What ended need not be come by again, also where sending had gone back to before it. */
	if (r->current < r->done)
		r->current = r->done;
	if (!is_silent(w))
		return w;
	r->silent++;
	if (r->freed == r->done - 1)
		r->freed = r->done;
	return NULL;
}

void engine_ring_release(struct engine_ring *r, const struct engine_work *w)
{
	while (engine_ring_at(r, r->freed) != (const void *)w)
		r->freed++;
	r->freed++;
	while (r->freed < r->done && is_silent(engine_ring_at(r, r->freed)))
		r->freed++;
	assert(r->freed <= r->done);
}
