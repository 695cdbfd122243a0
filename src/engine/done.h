/* Completions: work that ended, until poll tells of it, the oldest first.
 *
 * They are a list (base/list.h) of struct engine_work, linked by their own links, so one more
 * always fits. Engines call this. */
#ifndef WEFT_ENGINE_DONE_H
#define WEFT_ENGINE_DONE_H

#include "base/list.h"
#include "engine/engine.h"
#include "engine/work.h"

/* Work that ended, and is in no list, waits for poll. */
void engine_done_push(struct list *all, struct engine_work *w);

/* The oldest work of the ring that is not done, which there is, ends with this status, and waits
 * for poll if it is to be reported; behind it, so do those that were taken back. */
void engine_done_end(struct list *all, struct engine_ring *r, enum engine_status status);

/* Work of the ring, as engine_ring_find found it, is taken back, and ends at once if nothing that
 * is not done is before it. */
void engine_done_cancel(struct list *all, struct engine_ring *r, uint64_t at);

/* Takes the oldest out, or NULL. *done is what is known of any work; qp, peer, source, tag and
 * what else a transport has of its own are 0, and the engine's to say. So is it to free the place.
 */
struct engine_work *engine_done_pop(struct list *all, struct done *done);

/* Those of this owner are forgotten; the others keep their order. Looks at all. */
void engine_done_forget(struct list *all, const void *owner);

#endif
