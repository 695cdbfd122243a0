/* Messages cut into packets: how many there are, which bytes of the application's memory each
 * carries, and what of a packet that arrived is payload. Padding fills a payload to whole words
 * (IBTA 9.6.1.1.5). Engines call this. */
#ifndef WEFT_ENGINE_CUT_H
#define WEFT_ENGINE_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "engine/engine.h"
#include "engine/place.h"
#include "mem/mem.h"

#define ENGINE_PAD_MAX 3u

/* Packets that carry len bytes: one at least (IBTA 9.7.2). */
static inline uint32_t engine_packets(uint32_t len, uint32_t pmtu)
{
	return len == 0 ? 1 : (uint32_t)(((uint64_t)len + pmtu - 1) / pmtu);
}

/* Bytes of padding behind a payload. */
static inline uint8_t engine_pad_of(uint32_t len)
{
	return (uint8_t)(-len & ENGINE_PAD_MAX);
}

static inline bool engine_is_pmtu(uint32_t pmtu)
{
	return pmtu >= 256 && pmtu <= 4096 && (pmtu & (pmtu - 1)) == 0;
}

/* What a queue pair takes of one message: pieces and bytes, or bytes to be copied. */
struct engine_cut_limits {
	uint32_t pieces, bytes, inline_bytes;
};

/* The length of the message that op names. */
uint64_t engine_cut_bytes(const struct op *op);

/* 0; -EINVAL: the message is beyond the limits, its list of pieces is not there, or its range at
 * the peer wraps around. */
int engine_cut_check(const struct op *op, struct engine_cut_limits most);

/* Bytes of what a work within the limits keeps of its pieces: their list, and what is copied. */
size_t engine_cut_room(struct engine_cut_limits most);

/* Keeps the pieces of op, which is within the limits, in such a room. How many those are then. */
uint8_t engine_cut_keep(const struct op *op, struct engine_cut_limits most, struct sge *sg);

/* Part of a message that goes out: len bytes from byte `at` of its pieces on, which they have. */
struct engine_cut {
	const struct mem *mem;
	uint32_t pd, qp;
	bool is_trusted; /* no lkey is looked at */
	struct place_list from;
};

/* Makes it the body of tx. False: a key does not cover its piece. */
bool engine_cut_out(const struct engine_cut *c, struct tx_pkt *tx);

/* Adds n > 0 bytes of padding to the body of tx. */
void engine_cut_pad(struct tx_pkt *tx, uint8_t n);

/* The payload of a packet that arrived, without padding; pieces may be virtual. */
struct engine_payload {
	struct cspan pieces[1 + ENGINE_BODY];
	uint32_t n, len;
};

/* What stands behind the headers of rx: `rest` of its head and its body, but for pad bytes. False:
 * the lengths contradict. */
bool engine_cut_in(struct engine_payload *p, const struct rx_pkt *rx, struct cspan rest,
		   uint32_t pad);

static inline struct place_payload engine_payload_of(const struct engine_payload *p)
{
	return (struct place_payload){p->pieces, p->n, p->len};
}

#endif
