#include "fwd/sched.h"

#include <assert.h>

static uint32_t lowest(uint32_t mask)
{
	return (uint32_t)__builtin_ctz(mask);
}

/* The ready classes of the highest level that has any. */
static uint32_t top_level(const struct fwd_qos *qos, uint32_t ready)
{
	uint32_t top = 0, level = 0;

	if ((ready & (ready - 1)) == 0)
		return ready;
	for (uint32_t left = ready; left; left &= left - 1) {
		uint32_t c = lowest(left), its = qos->classes[c].level;

		if (its > level) {
			level = its;
			top = 0;
		}
		if (its == level)
			top |= 1u << c;
	}
	return top;
}

/* What a class did not use while it had packets is no credit for later. */
static void forfeit(struct fwd_sched *s, uint32_t ready)
{
	for (uint32_t lost = s->funded & ~ready; lost; lost &= lost - 1)
		s->deficit[lowest(lost)] = 0;
	s->funded &= (uint8_t)ready;
}

/* A class alone in its level takes turns with itself. It pays for what it sends all the same: were
 * it to start afresh when another joins, a light class that comes and goes would be served at every
 * coming, and take far more than its weight from a heavy one. */
int fwd_sched_next(struct fwd_sched *s, const struct fwd_qos *qos, uint32_t ready,
		   const uint32_t next_bytes[FWD_CLASSES], uint32_t quantum_bytes)
{
	assert(ready < 1u << qos->n_classes);
	if (s->funded & ~ready)
		forfeit(s, ready);
	if (ready == 0)
		return FWD_SCHED_NONE;
	uint32_t top = top_level(qos, ready);
	uint8_t *turn = &s->turn[qos->classes[lowest(top)].level];
	uint32_t c = *turn - 1u;
	bool has_turn = top << 1 >> *turn & 1; /* no bit for nobody: c is not looked at then */

	/* Once, as a quantum pays for any packet; a longer one waits for more rounds. */
	while (!has_turn || s->deficit[c] < next_bytes[c]) {
		uint32_t after = top >> *turn << *turn;

		c = lowest(after ? after : top);
		*turn = (uint8_t)(c + 1);
		uint64_t earned = (uint64_t)qos->classes[c].weight * quantum_bytes;

		assert(earned > 0);
		s->deficit[c] += earned;
		s->funded |= (uint8_t)(1u << c);
		has_turn = true;
	}
	s->deficit[c] -= next_bytes[c];
	return (int)c;
}
