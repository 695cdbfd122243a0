/* The reference transport with a witness: every call that the simulator makes is held against the
 * laws of engine/engine.h, on both sides of the contract. */
#ifndef WEFT_TESTS_SUPPORT_WATCHED_H
#define WEFT_TESTS_SUPPORT_WATCHED_H

#include "check.h"
#include "ref/ref.h"
#include "room.h"

#define WATCHED_ENGINES 256u

/* One engine, and what was promised when it was last asked. */
struct watched {
	const struct engine *engine;
	nsec now, deadline;
	uint64_t posts, refused, pulls, inputs;
};

/* Jumping clocks may pass a deadline. */
static struct watched watched_table[WATCHED_ENGINES];
static uint32_t n_watched;
static bool watched_may_jump;

static inline void watched_clear(bool may_jump)
{
	n_watched = 0;
	watched_may_jump = may_jump;
}

static inline struct watched *watched_find(const struct engine *e)
{
	uint32_t i = 0;

	while (i < n_watched && watched_table[i].engine != e)
		i++;
	assert_in_range(i, 0, WATCHED_ENGINES - 1);
	if (i == n_watched)
		watched_table[n_watched++] = (struct watched){.engine = e, .deadline = NSEC_NEVER};
	return &watched_table[i];
}

/* Time does not go back, and nobody sleeps through a deadline. */
static inline struct watched *watched_at(const struct engine *e, nsec now)
{
	struct watched *w = watched_find(e);

	assert_true(now >= w->now);
	assert_true(now <= w->deadline || watched_may_jump);
	w->now = now;
	return w;
}

static inline size_t watched_size(const void *cfg)
{
	return ref_ops.size(cfg);
}

static inline int watched_post(struct engine *e, nsec now, const struct op *op)
{
	struct watched *w = watched_at(e, now);
	int answer = ref_ops.post(e, now, op);

	w->posts += answer == 0;
	w->refused += answer != 0;
	w->deadline = NSEC_NEVER;
	return answer;
}

static inline void watched_input(struct engine *e, nsec now, const struct rx_pkt *pkts, uint32_t n)
{
	struct watched *w = watched_at(e, now);

	w->inputs += n;
	for (uint32_t i = 0; i < n; i++) {
		assert_true(pkts[i].at <= now);
		assert_in_range(pkts[i].port, 0, ENGINE_PORTS - 1);
		assert_in_range(pkts[i].dscp, 0, 63);
	}
	ref_ops.input(e, now, pkts, n);
	w->deadline = NSEC_NEVER;
}

/* Laws 3 and 4. */
static inline uint32_t watched_pull(struct engine *e, nsec now, const struct engine_room *room,
				    struct tx_pkt *pkts, uint32_t n)
{
	struct watched *w = watched_at(e, now);
	nsec before = ref_ops.deadline(e, engine_may(room));
	uint32_t got = ref_ops.pull(e, now, room, pkts, n), total = 0;
	struct engine_room left = *room;

	w->pulls++;
	assert_in_range(got, 0, n);
	assert_true(before <= now || got == 0);
	for (uint32_t p = 0; p < ENGINE_PORTS; p++)
		total += room->pkts[p];
	assert_in_range(n, 0, total);
	for (uint32_t i = 0; i < got; i++) {
		assert_true(room_take(&left, &pkts[i]));
		assert_in_range(pkts[i].head_len, 1, ENGINE_HEAD_MAX);
		assert_in_range(pkts[i].tclass, 0, ENGINE_TCLASSES - 1);
	}
	if (got < n)
		assert_true(ref_ops.deadline(e, engine_may(&left)) > now);
	w->deadline = NSEC_NEVER;
	return got;
}

static inline uint32_t watched_poll(struct engine *e, struct done *done, uint32_t n)
{
	return ref_ops.poll(e, done, n);
}

static inline nsec watched_deadline(const struct engine *e, uint32_t may)
{
	nsec deadline = ref_ops.deadline(e, may);

	/* What is due at once is seen when the time does not move on. */
	watched_find(e)->deadline = deadline > watched_find(e)->now ? deadline : NSEC_NEVER;
	return deadline;
}

static inline int watched_init(struct engine *e, const void *cfg, nsec now);

static const struct engine_ops watched_ops = {
	.size = watched_size,
	.init = watched_init,
	.post = watched_post,
	.input = watched_input,
	.pull = watched_pull,
	.poll = watched_poll,
	.deadline = watched_deadline,
};

/* A NIC that restarted keeps its clock and forgets what it was going to do. */
static inline int watched_init(struct engine *e, const void *cfg, nsec now)
{
	int answer = ref_ops.init(e, cfg, now);

	assert_true(now >= watched_find(e)->now);
	*watched_find(e) = (struct watched){.engine = e, .now = now, .deadline = NSEC_NEVER};
	e->ops = &watched_ops;
	return answer;
}

#endif
