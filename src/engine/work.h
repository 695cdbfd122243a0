/* Posted work from post until poll, and the ring that a queue keeps it in: one of work to be sent,
 * or of receives that are taken in their order.
 *
 * The place of work in its ring is that of its completion too: post takes none when the ring is
 * full, so completions cannot overrun (law 5). Work ends in the order it was posted, and its place
 * is free when it was polled, or, with ENGINE_SILENT, when what was posted before it is free. Work
 * that is taken back keeps its place, and ends when what was posted before it has ended: the oldest
 * that is not done is never such work.
 * Invariant: freed <= done <= current <= posted, and posted - freed <= max. Engines call this and
 * say what is to be done by its answers. */
#ifndef WEFT_ENGINE_WORK_H
#define WEFT_ENGINE_WORK_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "engine/engine.h"

/* How work of every kind begins, so that its address is that of its place. */
struct engine_work {
	struct list_link link; /* among the completions, or in a list of the engine's */
	void *owner;           /* the queue pair, or the queue, that it was posted to */
	uint64_t cookie, imm;
	uint32_t len;       /* of the message; of a receive, of what arrived */
	uint32_t flags;     /* enum engine_flag */
	uint16_t peer_code; /* as that of struct done */
	bool is_recv;
	uint8_t op;     /* enum engine_op; of a receive: RECV, or WRITE_IMM for what consumed it */
	uint8_t status; /* enum engine_status */
};

struct engine_ring {
	uint8_t *slots; /* places of stride bytes each */
	size_t stride;
	uint32_t mask; /* places - 1: a power of two, so that one is a mask away */
	uint32_t max;  /* works at once */
	/* Counts of works: freed ... done - 1 are done and wait for poll, done ... posted - 1 are
	 * not; current is the first of which something is still to be sent. */
	uint64_t freed, done, current, posted;
	uint64_t silent;    /* works that ended in success, and of which nobody is told */
	uint32_t cancelled; /* of those that are not done: taken back */
};

/* The bytes that the places of a ring need. */
size_t engine_ring_bytes(uint32_t max, size_t stride);

/* Makes an empty ring in memory, which is the ring's for its life. stride: a multiple of what the
 * works' type is aligned to. */
void engine_ring_init(struct engine_ring *r, void *memory, uint32_t max, size_t stride);

/* All works are forgotten. */
void engine_ring_clear(struct engine_ring *r);

/* What every transport asks of send work before what is its own: 0; -EINVAL: none is taken in this
 * state (enum engine_state), a key, or immediate data, has more than 32 bits, or there is nothing
 * that could be copied inline. */
int engine_send_check(const struct op *op, uint8_t state);

/* Whether two works are for the same queue. */
static inline bool engine_is_same_queue(const struct op *a, const struct op *b)
{
	return a->qp == b->qp && (a->code == ENGINE_RECV) == (b->code == ENGINE_RECV) &&
	       !((a->flags ^ b->flags) & ENGINE_SHARED);
}

/* Whether all works that are posted together can be taken where there is room for so many, and
 * `check`, of the engine's own, has nothing against any: 0, -EINVAL, or -ENOMEM. */
static inline int engine_works_check(const struct op *first, uint32_t room, const void *queue,
				     int (*check)(const void *queue, const struct op *op))
{
	for (const struct op *op = first; op; op = op->next, room--) {
		if (!engine_is_same_queue(op, first) || check(queue, op))
			return -EINVAL;
		if (room == 0)
			return -ENOMEM;
	}
	return 0;
}

/* Work of op as it begins, posted to owner: len bytes long, or a receive that nothing came for. */
struct engine_work engine_work_of(const struct op *op, void *owner, uint32_t len);

/* The same in the next place of the ring, posted; what the engine has behind it is the engine's to
 * fill. The ring has room. */
struct engine_work *engine_ring_post(struct engine_ring *r, const struct op *op, void *owner,
				     uint32_t len);

/* The oldest work that is not done, which there is, ends with this status. Returns it if that is to
 * be reported, or NULL. */
struct engine_work *engine_ring_end(struct engine_ring *r, enum engine_status status);

/* Finds the oldest work with this cookie that can be taken back, where nothing has happened of
 * those from count `from` on: 0, its count in *at; -EBUSY: there is one of which something has;
 * -ENOENT. Looks at all that is not done. */
int engine_ring_find(const struct engine_ring *r, uint64_t from, uint64_t cookie, uint64_t *at);

/* Work at that count, found so, is taken back: it ends with ENGINE_CANCELLED, whatever is said
 * then.
 */
void engine_ring_cancel(struct engine_ring *r, uint64_t at);

/* Whether the oldest that is not done is taken back: it is to end now. */
bool engine_ring_is_cancelled(const struct engine_ring *r);

/* Work that was reported was polled: its place is free, and those of the works around it that
 * nobody is told of. */
void engine_ring_release(struct engine_ring *r, const struct engine_work *w);

static inline void *engine_ring_at(const struct engine_ring *r, uint64_t count)
{
	return r->slots + (count & r->mask) * r->stride;
}

/* Works that it takes now. */
static inline uint32_t engine_ring_room(const struct engine_ring *r)
{
	return r->max - (uint32_t)(r->posted - r->freed);
}

#endif
