#include "engine/done.h"

void engine_done_push(struct list *all, struct engine_work *w)
{
	list_push(all, &w->link);
}

static void end_cancelled(struct list *all, struct engine_ring *r)
{
	while (engine_ring_is_cancelled(r))
		engine_done_push(all, engine_ring_end(r, ENGINE_CANCELLED));
}

void engine_done_end(struct list *all, struct engine_ring *r, enum engine_status status)
{
	struct engine_work *w = engine_ring_end(r, status);

	if (w)
		engine_done_push(all, w);
	if (r->cancelled > 0)
		end_cancelled(all, r);
}

void engine_done_cancel(struct list *all, struct engine_ring *r, uint64_t at)
{
	engine_ring_cancel(r, at);
	end_cancelled(all, r);
}

struct engine_work *engine_done_pop(struct list *all, struct done *done)
{
	struct list_link *link = list_pop(all);

	if (!link)
		return NULL;
	struct engine_work *w = LIST_OWNER(link, engine_work, link);

	*done = (struct done){
		.cookie = w->cookie,
		.imm = w->imm,
		.len = w->len,
		.status = w->status,
		.peer_code = w->peer_code,
		.code = w->is_recv ? ENGINE_DONE_RECEIVED : ENGINE_DONE_SENT,
		.flags = w->flags & (ENGINE_SOLICITED | ENGINE_HAS_IMM | ENGINE_HAS_INV),
		.op = w->op,
	};
	return w;
}

void engine_done_forget(struct list *all, const void *owner)
{
	struct list old = *all;
	struct list_link *link;

	*all = (struct list){0};
	while ((link = list_pop(&old)))
		if (LIST_OWNER(link, engine_work, link)->owner != owner)
			list_push(all, link);
}
