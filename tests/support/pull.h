/* Pulling from an engine under the laws of engine/engine.h, and what comes out as a run of bytes.
 * Fixtures that drive an engine themselves pull through here. */
#ifndef WEFT_TESTS_SUPPORT_PULL_H
#define WEFT_TESTS_SUPPORT_PULL_H

#include <string.h>

#include "check.h"
#include "room.h"

#define ALL_FREE engine_may_all(0xff)

static const uint16_t wide[ENGINE_PORTS] = {100, 100, 100, 100, 100, 100, 100, 100};

/* When the engine wants to be pulled next, were all ports free. */
static inline nsec deadline_of(const struct engine *e)
{
	return e->ops->deadline(e, ALL_FREE);
}

/* Pulls up to n packets, holding laws 3 and 4 against them. tx: n of them, with heads; all else is
 * spoiled first, for it is the engine's to say. */
static inline uint32_t lawful_pull(struct engine *e, nsec now, const struct engine_room *room,
				   struct tx_pkt *tx, uint32_t n)
{
	struct engine_room left = *room;
	nsec before = e->ops->deadline(e, engine_may(room));

	for (uint32_t i = 0; i < n; i++)
		tx[i] = (struct tx_pkt){
			.head = tx[i].head, .n_body = 9, .not_ect = 1, .udp_len = 9};
	uint32_t got = e->ops->pull(e, now, room, tx, n);

	assert_true(got <= n);
	if (before > now)
		assert_int_equal(got, 0);
	for (uint32_t i = 0; i < got; i++)
		assert_true(room_take(&left, &tx[i]));
	if (got < n)
		assert_true(e->ops->deadline(e, engine_may(&left)) > now);
	return got;
}

/* A packet as one run of at most `most` bytes, what is virtual as zeros. How many it has. */
static inline uint32_t flatten(const struct tx_pkt *t, uint8_t *to, uint32_t most)
{
	uint32_t len = t->head_len;

	assert_true(t->n_body <= ENGINE_PIECES && len <= most);
	memcpy(to, t->head, len);
	for (uint32_t i = 0; i < t->n_body; i++) {
		assert_true(t->body[i].len <= most - len);
		if (t->body[i].at)
			memcpy(to + len, t->body[i].at, t->body[i].len);
		else
			memset(to + len, 0, t->body[i].len);
		len += t->body[i].len;
	}
	return len;
}

#endif
