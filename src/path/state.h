/* What path.c and recover.c share. Three rows of bits, one bit for each EV: out, mark and denied;
 * a word of each in turn, then four words with four bits of burden for each of these EVs.
 *
 * out 0: usable; mark says that it is to be skipped.
 * out 1, denied 0: assumed bad; mark says that it has a record of its own, else it waits for the
 * sweep of its port. out 1, denied 1: denied. The burden is path.c's, and outlasts these. */
#ifndef WEFT_PATH_STATE_H
#define WEFT_PATH_STATE_H

#include "path/path.h"

enum path_row { PATH_OUT, PATH_MARK, PATH_DENY, PATH_BURDEN, PATH_ROWS = PATH_BURDEN + 4 };

static inline uint64_t *path_word(const struct path *p, enum path_row row, uint32_t ev)
{
	return &p->bits[ev / 64 * PATH_ROWS + (uint32_t)row];
}

static inline bool path_bit(const struct path *p, enum path_row row, uint32_t ev)
{
	return *path_word(p, row, ev) >> ev % 64 & 1;
}

static inline void path_put_bit(struct path *p, enum path_row row, uint32_t ev, bool is_set)
{
	uint64_t *word = path_word(p, row, ev), bit = UINT64_C(1) << ev % 64;

	*word = is_set ? *word | bit : *word & ~bit;
}

static inline uint32_t path_port(const struct path *p, uint32_t ev)
{
	return p->profile->set.evs[ev].port;
}

/* The next number of a sender's own, 32 bits. */
uint32_t path_draw(struct path *p);

/* A packet of this EV was trimmed or lost: it gives up half of its turns more, as far as it may.
 */
void path_burden(struct path *p, uint32_t ev);

/* Takes an EV out of use, or back. */
void path_put_out(struct path *p, uint32_t ev, bool is_out);

/* Counts a port in or out after its usable EVs, the blocked or the dead ports changed. */
void path_refresh(struct path *p, uint32_t port);

/* From now on the rounds of these ports are narrow, and of no others; and over how many EVs the
 * rounds of all ports go. */
void path_narrow(struct path *p, uint32_t ports);
uint32_t path_spread(const struct path *p);

/* The usable EVs behind these ports, if packets may take them. */
uint32_t path_usable(const struct path *p, uint32_t ports);

/* The first EV of a port at or after EV `from` that has these two bits, or PATH_NONE. */
uint32_t path_find_bits(const struct path *p, uint32_t port, uint32_t from, bool is_out,
			bool is_marked);

/* recover.c: forgets what it knows of an EV that is denied; brings EVs back until there are
 * enough; has what waits behind a port probed at once. */
void path_forget(struct path *p, uint32_t ev);
void path_uphold(struct path *p, nsec now);
void path_kick(struct path *p, uint32_t ports, nsec now);

#endif
