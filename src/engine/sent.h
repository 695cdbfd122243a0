/* The sender's record of packets: which are out, when each was sent, and what became of it.
 *
 * Packets are counted from 0 in 64 bits: before una the peer has all, next was never sent. Each
 * count una <= n < next has a record in a chunk of a pool, which is taken when its first one is
 * reserved and given back when una is past it, or nothing is out. Invariants: una is not acked; a
 * packet is acked, or lost, or counts in out_bytes; n_lost and n_early count the lost and the acked
 * ones, and none before lost_from is lost. Engines call this for every packet and do what follows
 * of the answers: it knows of no timers, paths or windows. */
#ifndef WEFT_ENGINE_SENT_H
#define WEFT_ENGINE_SENT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"
#include "base/pool.h"

#define ENGINE_SENT_PKTS  64u /* of a chunk: a word of each kind of bit */
#define ENGINE_SENT_SHIFT 6u  /* times are kept in units of 64 ns: 274 s before they wrap */
#define ENGINE_SENT_NONE  UINT64_MAX

/* A packet that is out. */
struct engine_sent_pkt {
	uint32_t at;    /* when it was sent last, in units of 2^ENGINE_SENT_SHIFT, modulo 2^32 */
	uint32_t user;  /* the user's */
	uint16_t bytes; /* as the user counts them */
	uint8_t tries;  /* the user's, see engine_sent_tries */
	uint8_t moves;  /* n_moves then */
};

/* Bit i and pkts[i] are of the count 64 * n + i. */
struct engine_sent_chunk {
	uint64_t acked; /* the peer has it */
	uint64_t lost;  /* taken for lost and not sent again yet */
	uint64_t retx;  /* sent more than once ... */
	uint64_t more;  /* ... and more than twice */
	uint64_t marks; /* the user's; 0 when it is sent first */
	struct engine_sent_pkt pkts[ENGINE_SENT_PKTS];
};

struct engine_sent {
	struct pool *pool; /* of chunks; others may share it */
	uint32_t *chunks;  /* those held, by count / ENGINE_SENT_PKTS modulo n_chunks */
	uint32_t n_chunks; /* a power of two */
	uint8_t n_moves;   /* times that una moved, modulo 2^8 */
	uint64_t una, next;
	uint32_t n_early;     /* acked at or after una */
	uint32_t n_lost;      /* lost and not sent again yet, ... */
	uint64_t lost_from;   /* ... none of them before this */
	uint64_t out_bytes;   /* of packets sent, neither acked nor lost */
	uint64_t acked_bytes; /* of packets acked */
};

/* What the peer was not known to have before. All zeros: nothing; it adds up over calls. */
struct engine_sent_news {
	uint32_t pkts;
	uint32_t spared;     /* of them lost, and now not to be sent again */
	nsec oldest, newest; /* when the first and last of them that were sent once were; 0: none */
	uint64_t newest_end; /* one past that last one */
	nsec retx_at;        /* when the last of them that were sent more than once was; 0: none */
};

/* Makes a record that begins at count 0. chunks: n_chunks places, the record's for its life; fewer
 * than (n_chunks - 1) * ENGINE_SENT_PKTS packets may be out, so that no two share a place. */
void engine_sent_init(struct engine_sent *s, struct pool *pool, uint32_t *chunks,
		      uint32_t n_chunks);

/* Makes room for packet next; false: no chunk is free. */
bool engine_sent_reserve(struct engine_sent *s);

/* Packet n goes out now: n == next, for which there is room and which then moves on; or one that is
 * lost, which then is not. */
void engine_sent_sent(struct engine_sent *s, nsec now, uint64_t n, uint32_t user, uint32_t bytes);

/* Of the packets from + i, for bits i of map, those from una on that are not acked and were sent
 * once, as bits: what of a map is news, and of whose arrival it is known when it was sent. All are
 * before next. */
uint64_t engine_sent_once(const struct engine_sent *s, uint64_t from, uint64_t map);

/* The peer has the packets from + i for bits i of map: those from una on are news, or are not; all
 * are before next. Not lost any more, if they were. una stays. */
void engine_sent_acked(struct engine_sent *s, nsec now, uint64_t from, uint64_t map,
		       struct engine_sent_news *news);

/* The peer has all before `to`, una <= to <= next: una moves there, and on over what is acked.
 * Returns how many chunks went back. */
uint32_t engine_sent_advance(struct engine_sent *s, nsec now, uint64_t to,
			     struct engine_sent_news *news);

/* Takes packet n for lost, una <= n < next; false if it is acked, or lost already. */
bool engine_sent_lost(struct engine_sent *s, uint64_t n);

/* The first packet to be sent again, or ENGINE_SENT_NONE. */
uint64_t engine_sent_next_lost(struct engine_sent *s);

/* Nothing is out any more, and packet `next`, which is not before those that were, is the next to
 * be sent. Returns how many chunks went back. */
uint32_t engine_sent_clear(struct engine_sent *s, uint64_t next);

/* Everything is forgotten, as engine_sent_init has it; returns the same. */
uint32_t engine_sent_reset(struct engine_sent *s);

/* How often packet n, una <= n < next, was tried as the user counts it, who may change it; all
 * tries begin anew when una moves. */
uint8_t *engine_sent_tries(struct engine_sent *s, uint64_t n);

static inline uint32_t engine_sent_place(uint64_t n)
{
	return (uint32_t)(n % ENGINE_SENT_PKTS);
}

/* The chunk of packet n, una <= n < next. */
static inline struct engine_sent_chunk *engine_sent_chunk(const struct engine_sent *s, uint64_t n)
{
	return pool_at(s->pool, s->chunks[n / ENGINE_SENT_PKTS & (s->n_chunks - 1)]);
}

/* Its record. */
static inline struct engine_sent_pkt *engine_sent_at(const struct engine_sent *s, uint64_t n)
{
	assert(n >= s->una && n < s->next);
	return &engine_sent_chunk(s, n)->pkts[engine_sent_place(n)];
}

/* Whether the peer has it; it is lost and not sent again yet; it was sent more than once, and more
 * than twice. */
static inline bool engine_sent_is_acked(const struct engine_sent *s, uint64_t n)
{
	assert(n >= s->una && n < s->next);
	return engine_sent_chunk(s, n)->acked >> engine_sent_place(n) & 1;
}

static inline bool engine_sent_is_lost(const struct engine_sent *s, uint64_t n)
{
	assert(n >= s->una && n < s->next);
	return engine_sent_chunk(s, n)->lost >> engine_sent_place(n) & 1;
}

static inline bool engine_sent_is_retx(const struct engine_sent *s, uint64_t n)
{
	assert(n >= s->una && n < s->next);
	return engine_sent_chunk(s, n)->retx >> engine_sent_place(n) & 1;
}

static inline bool engine_sent_is_thrice(const struct engine_sent *s, uint64_t n)
{
	assert(n >= s->una && n < s->next);
	return engine_sent_chunk(s, n)->more >> engine_sent_place(n) & 1;
}

/* Times of packets are kept short: what is now tells the rest. */
static inline nsec engine_sent_whole(nsec now, uint32_t at)
{
	uint64_t units = now >> ENGINE_SENT_SHIFT;

	return (units - ((uint32_t)units - at)) << ENGINE_SENT_SHIFT;
}

/* When packet n was sent last. */
static inline nsec engine_sent_time(const struct engine_sent *s, nsec now, uint64_t n)
{
	return engine_sent_whole(now, engine_sent_chunk(s, n)->pkts[engine_sent_place(n)].at);
}

#endif
