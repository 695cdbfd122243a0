#include "wire/seal.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/icrc.h"
#include "wire/net.h"

enum {
	V4_SRC = 12,
	V6_SRC = 8,
	V4_CHECKSUM = ipv4_bytes + 6, /* of UDP */
	V6_CHECKSUM = ipv6_bytes + 6,
};

const struct seal seal_none = {.name = "none", .sum = SEAL_NONE};

const struct seal seal_uet = {
	.name = "crc32c",
	.sum = SEAL_CRC32C,
	.tail_bytes = 4,
	.is_msb_first = true,
	.front = {{.from = V4_SRC,
		   .to = V4_CHECKSUM + 2,
		   .zeros = {[V4_CHECKSUM] = 0xff, [V4_CHECKSUM + 1] = 0xff}},
		  {.from = V6_SRC,
		   .to = V6_CHECKSUM + 2,
		   .zeros = {[V6_CHECKSUM] = 0xff, [V6_CHECKSUM + 1] = 0xff}}},
};

const struct seal seal_uet_native = {
	.name = "crc32c",
	.sum = SEAL_CRC32C,
	.tail_bytes = 4,
	.is_msb_first = true,
	.front = {{.from = V4_SRC, .to = V4_SRC}, {.from = V6_SRC, .to = V6_SRC}},
};

const struct seal seal_psp = {"psp", SEAL_CIPHER, .head_bytes = 16, .tail_bytes = 16};
const struct seal seal_psp_cookie = {"psp", SEAL_CIPHER, .head_bytes = 24, .tail_bytes = 16};
const struct seal seal_tss = {"tss", SEAL_CIPHER, .head_bytes = 12, .tail_bytes = 16};
const struct seal seal_tss_ssi = {"tss", SEAL_CIPHER, .head_bytes = 16, .tail_bytes = 16};

static inline const struct seal_front *front_of(const struct seal *s, bool is_v4)
{
	/* A jump that is foreseen, in place of an address that waits for the packet's first byte.
	 */
	if (__builtin_expect(is_v4, 0))
		return &s->front[0];
	return &s->front[1];
}

uint32_t seal_least(const struct seal *s, bool is_v4)
{
	return front_of(s, is_v4)->to;
}

/* The bytes that masks reach, from however many pieces; *piece and *at go to what follows them. */
static void gather(uint8_t out[SEAL_FRONT_MAX], uint32_t n, const struct cspan *pieces,
		   uint32_t *piece, uint32_t *at)
{
	memset(out, 0, SEAL_FRONT_MAX);
	for (*piece = 0;; ++*piece) {
		const struct cspan *p = &pieces[*piece];
		uint32_t here = p->len < n ? p->len : n;

		*at = here;
		if (p->at)
			memcpy(out, p->at, here);
		out += here;
		n -= here;
		if (n == 0)
			return;
	}
}

/* The CRC of the first bytes, at least as many as masks reach: of all there is room for, so that
 * the compiler knows how many it masks at once. */
static inline uint32_t front_sum(const struct seal *s, const struct seal_front *f,
				 const uint8_t *first)
{
	_Alignas(SEAL_FRONT_MAX) uint8_t bytes[SEAL_FRONT_MAX];

	memcpy(bytes, first, sizeof bytes);
	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)((bytes[i] & ~f->zeros[i]) | f->ones[i]);
	return seal_update(s, s->start, bytes + f->from, f->to - f->from);
}

static uint32_t sum_pieces(const struct seal *s, const struct cspan *pieces, uint32_t n)
{
	const struct seal_front *f = front_of(s, pieces[0].at[0] >> 4 == 4);
	uint8_t bytes[SEAL_FRONT_MAX];
	uint32_t i, at;

	gather(bytes, f->to, pieces, &i, &at);
	uint32_t crc = front_sum(s, f, bytes);

	for (; i < n; i++, at = 0) {
		struct cspan rest = pieces[i];

		if (rest.at)
			crc = seal_update(s, crc, rest.at + at, rest.len - at);
		else
			crc = seal_zeros(s, crc, rest.len - at);
	}
	return crc;
}

uint32_t seal_sum(const struct seal *s, const struct cspan *pieces, uint32_t n)
{
	struct cspan all = pieces[0];

	assert(seal_is_crc(s));
	if (n > 1 || all.len < SEAL_FRONT_MAX)
		return sum_pieces(s, pieces, n);
	const struct seal_front *f = front_of(s, all.at[0] >> 4 == 4);

	return seal_update(s, front_sum(s, f, all.at), all.at + f->to, all.len - f->to);
}

uint32_t seal_copy(const struct seal *s, uint32_t crc, uint8_t *to, struct cspan from)
{
	if (!from.at) {
		memset(to, 0, from.len);
		return seal_zeros(s, crc, from.len);
	}
	return s->sum == SEAL_CRC32 ? crc32_copy(crc, to, from.at, from.len)
				    : crc32c_copy(crc, to, from.at, from.len);
}

uint32_t seal_get(const struct seal *s, const uint8_t *tail)
{
	return s->is_msb_first ? get_be32(tail) : icrc_get(tail);
}

void seal_put(const struct seal *s, uint8_t *tail, uint32_t crc)
{
	if (s->is_msb_first)
		put_be32(tail, crc);
	else
		icrc_put(tail, crc);
}

uint32_t seal_difference(const struct seal *s, const struct seal_change *c)
{
	const struct seal_front *f = front_of(s, c->is_v4);
	/* A CRC is linear but for its first and last complement: of these there is none. */
	uint32_t crc = UINT32_MAX;

	assert(seal_is_crc(s) && c->end >= c->at && c->end - c->at >= c->len);
	for (uint32_t done = 0; done < c->len;) {
		uint8_t bytes[SEAL_FRONT_MAX];
		uint32_t n = c->len - done < sizeof bytes ? c->len - done : sizeof bytes;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t at = c->at + done + i;
			uint8_t bits = (uint8_t)(c->was[done + i] ^ c->is[done + i]);

			if (at < f->from)
				bits = 0;
			else if (at < f->to)
				bits &= (uint8_t) ~(f->ones[at] | f->zeros[at]);
			bytes[i] = bits;
		}
		crc = seal_update(s, crc, bytes, n);
		done += n;
	}
	return ~seal_zeros(s, crc, c->end - c->at - c->len);
}
