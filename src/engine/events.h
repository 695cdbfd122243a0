/* Things that happen to a queue pair, and not to work of it: each kind is remembered until it was
 * told of, and told of once however often it happened meanwhile. So none is ever lost, and none
 * takes memory.
 *
 * Those that have some stand in a list (base/list.h), the one that was first without any in front.
 * Engines call this. */
#ifndef WEFT_ENGINE_EVENTS_H
#define WEFT_ENGINE_EVENTS_H

#include <stdint.h>

#include "base/list.h"

/* Embedded in what things happen to. All zeros: nothing did. */
struct engine_events {
	struct list_link link;
	uint16_t kinds; /* a bit for each enum engine_event_kind */
};

/* One of this kind happened. */
void engine_event_raise(struct list *all, struct engine_events *e, uint8_t kind);

/* Takes the lowest kind of the first in the list, which leaves it with its last; NULL: none has
 * any. */
struct engine_events *engine_event_take(struct list *all, uint8_t *kind);

/* What happened is forgotten. */
void engine_event_forget(struct list *all, struct engine_events *e);

#endif
