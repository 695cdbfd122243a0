#include "fwd/spread.h"

#include <assert.h>

#include "base/bytes.h"
#include "wire/net.h"

/* Odd numbers without pattern: 64 bits of the fractions of pi, e, the golden ratio and the square
 * roots of 3, 5 and 7. */
#define MIX_PI   UINT64_C(0x243f6a8885a308d3)
#define MIX_E    UINT64_C(0xb7e151628aed2a6b)
#define MIX_GOLD UINT64_C(0x9e3779b97f4a7c15)
#define MIX_3    UINT64_C(0xbb67ae8584caa73b)
#define MIX_5    UINT64_C(0x3c6ef372fe94f82b)
#define MIX_7    UINT64_C(0xa54ff53a5f1d36f1)

/* An odd factor loses no bit and carries each upward: what differs in one word differs in the
 * sum. */
static inline uint64_t source_sum(const struct fwd_view *view)
{
	const uint8_t *ip = view->ip;

	if (view->version == 4)
		return get_be32(ip + 12) * MIX_E;
	return get_be64(ip + 8) * MIX_PI + get_be64(ip + 16) * MIX_E;
}

static inline uint64_t destination_sum(const struct fwd_view *view)
{
	const uint8_t *ip = view->ip;

	if (view->version == 4)
		return get_be32(ip + 16) * MIX_3;
	return get_be64(ip + 24) * MIX_GOLD + get_be64(ip + 32) * MIX_3;
}

/* Turns a number into another, one to one, so that a change of any bit changes each bit of the
 * result with probability one half, or very nearly. */
static inline uint64_t scatter(uint64_t v)
{
	v = (v ^ v >> 32) * MIX_7;
	v = (v ^ v >> 29) * MIX_PI;
	return v ^ v >> 32;
}

uint32_t fwd_hash(const struct fwd_view *view, uint32_t fields, uint64_t seed)
{
	/* One word for the small fields: 8, 16, 16 and 20 bits, side by side. */
	uint64_t small = 0, sum = 0;

	if (fields & FWD_HASH_PROTOCOL)
		small |= view->protocol;
	if (fields & FWD_HASH_SPORT)
		small |= (uint64_t)view->sport << 8;
	if (fields & FWD_HASH_DPORT)
		small |= (uint64_t)view->dport << 24;
	if (fields & FWD_HASH_FLOW_LABEL)
		small |= (uint64_t)view->flow_label << 40;
	if (fields & FWD_HASH_SRC)
		sum += source_sum(view);
	if (fields & FWD_HASH_DST)
		sum += destination_sum(view);
	sum += small * MIX_5;

	/* Switches number their seeds as they like: 1 and 2 must be as far apart as any. */
	return (uint32_t)(scatter(sum ^ seed * MIX_GOLD) >> 32);
}

bool fwd_ev_layout_ok(const struct fwd_ev_layout *layout, uint8_t ip_version)
{
	uint32_t bits = 0;

	if (layout->n < 1 || layout->n > FWD_EV_HOPS_MAX)
		return false;
	for (uint32_t i = 0; i < layout->n; i++) {
		if (layout->widths[i] < 1 || layout->widths[i] > 16)
			return false;
		bits += layout->widths[i];
	}
	return (ip_version == 6 && bits <= 32) || (ip_version == 4 && bits <= 16);
}

/* Where the field ends: bits of the value below it. hop0 is on top (Table 9-2, M-08). */
static uint32_t bits_below(const struct fwd_ev_layout *layout, uint32_t hop)
{
	uint32_t bits = 32;

	assert(hop < layout->n);
	for (uint32_t i = 0; i <= hop; i++)
		bits -= layout->widths[i];
	return bits;
}

uint32_t fwd_ev_field(const struct fwd_ev_layout *layout, uint32_t ev, uint32_t hop)
{
	return ev >> bits_below(layout, hop) & ((1u << layout->widths[hop]) - 1);
}

uint32_t fwd_ev_make(const struct fwd_ev_layout *layout, const uint32_t *values)
{
	uint32_t ev = 0;

	for (uint32_t i = 0; i < layout->n; i++) {
		assert(values[i] >> layout->widths[i] == 0);
		ev |= values[i] << bits_below(layout, i);
	}
	return ev;
}

uint32_t fwd_ev_of(const struct fwd_view *view)
{
	uint32_t sport = view->protocol == IPPROTO_TCP_IN ? 0 : view->sport;

	return sport << 16 | (view->flow_label & 0xffff);
}
