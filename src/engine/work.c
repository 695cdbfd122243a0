#include "engine/work.h"

#include <assert.h>

#include "base/places.h"

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
	r->freed = r->done = r->current = r->posted = 0;
}

static bool is_silent(const struct engine_work *w)
{
	return (w->flags & ENGINE_SILENT) && w->status == ENGINE_OK;
}

struct engine_work *engine_ring_end(struct engine_ring *r, enum engine_status status)
{
	struct engine_work *w = engine_ring_at(r, r->done);

	assert(r->done < r->posted);
	w->status = (uint8_t)status;
	r->done++;
	/* What ended need not be come by again, also where sending had gone back to before it. */
	if (r->current < r->done)
		r->current = r->done;
	if (!is_silent(w))
		return w;
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
