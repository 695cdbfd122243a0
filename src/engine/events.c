#include "engine/events.h"

void engine_event_raise(struct list *all, struct engine_events *e, uint8_t kind)
{
	e->kinds = (uint16_t)(e->kinds | 1u << kind);
	list_join(all, &e->link);
}

struct engine_events *engine_event_take(struct list *all, uint8_t *kind)
{
	struct list_link *link = list_first(all);

	if (!link)
		return NULL;
	struct engine_events *e = LIST_OWNER(link, engine_events, link);

	*kind = (uint8_t)__builtin_ctz(e->kinds);
	e->kinds = (uint16_t)(e->kinds & (e->kinds - 1));
	if (e->kinds == 0)
		list_pop(all);
	return e;
}

void engine_event_forget(struct list *all, struct engine_events *e)
{
	e->kinds = 0;
	list_leave(all, &e->link);
}
