#include "fwd/route.h"

#include <assert.h>
#include <errno.h>

#include "base/bytes.h"

/* A slot with the value FWD_ROUTE_NONE is free. */
struct fwd_route_slot {
	uint64_t hi, lo; /* the prefix, zeros behind its length */
	uint32_t value;
	uint32_t len;
};

struct key {
	uint64_t hi, lo;
	uint32_t len;
};

static inline uint64_t top_bits(uint32_t n)
{
	return n < 64 ? ~(UINT64_MAX >> n) : UINT64_MAX;
}

static inline struct key key_of(uint64_t hi, uint64_t lo, uint32_t len)
{
	uint32_t low_len = len > 64 ? len - 64 : 0;

	return (struct key){hi & top_bits(len), lo & top_bits(low_len), len};
}

/* At most half of the slots are ever used, so a search soon meets a free one; fewer slots than
 * twice the routes would cost probes, more would cost cache. */
static uint64_t slots_for(uint32_t max)
{
	uint64_t n = 2;

	while (n < 2 * (uint64_t)max)
		n *= 2;
	return n;
}

/* The slot of the key, or the free one where it would go. Subnets are numbered at the low end of
 * one word and hosts at that of the other: turned by half a word they do not meet, and the top bits
 * of the product depend on both. */
static inline struct fwd_route_slot *slot_of(const struct fwd_routes *t, struct key k)
{
	uint64_t mixed = (k.hi ^ (k.lo << 32 | k.lo >> 32)) + k.len;
	uint64_t product = mixed * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i = (uint32_t)(product >> (32 + __builtin_clz(t->mask)));

	for (;; i++) {
		struct fwd_route_slot *s = &t->slots[i & t->mask];

		if (s->value == FWD_ROUTE_NONE)
			return s;
		if (((s->hi ^ k.hi) | (s->lo ^ k.lo) | (s->len ^ k.len)) == 0)
			return s;
	}
}

size_t fwd_routes_bytes(uint32_t max)
{
	return slots_for(max) * sizeof(struct fwd_route_slot);
}

void fwd_routes_init(struct fwd_routes *t, void *memory, uint32_t max)
{
	uint64_t n = slots_for(max);

	/* Slot numbers are 32 bits wide. */
	assert(max >= 1 && n <= UINT64_C(1) << 32);
	*t = (struct fwd_routes){.slots = memory, .mask = (uint32_t)(n - 1), .max = max};
	for (uint64_t i = 0; i < n; i++)
		t->slots[i] = (struct fwd_route_slot){.value = FWD_ROUTE_NONE};
}

/* Keeps lens in falling order. */
static void count_len(struct fwd_routes *t, uint8_t len)
{
	uint32_t at = t->n_lens;

	if (t->count[len]++ > 0)
		return;
	for (; at > 0 && t->lens[at - 1] < len; at--)
		t->lens[at] = t->lens[at - 1];
	t->lens[at] = len;
	t->n_lens++;
}

int fwd_routes_add(struct fwd_routes *t, const struct fwd_prefix *prefix, uint32_t value)
{
	if (prefix->len > 128 || value == FWD_ROUTE_NONE)
		return -EINVAL;
	struct key k =
		key_of(get_be64(prefix->address), get_be64(prefix->address + 8), prefix->len);
	struct fwd_route_slot *s = slot_of(t, k);

	if (s->value == FWD_ROUTE_NONE) {
		if (t->n == t->max)
			return -ENOSPC;
		t->n++;
		count_len(t, prefix->len);
	}
	*s = (struct fwd_route_slot){k.hi, k.lo, value, k.len};
	return 0;
}

uint32_t fwd_routes_find(const struct fwd_routes *t, const uint8_t address[16])
{
	uint64_t hi = get_be64(address), lo = get_be64(address + 8);

	for (uint32_t i = 0; i < t->n_lens; i++) {
		uint32_t value = slot_of(t, key_of(hi, lo, t->lens[i]))->value;

		if (value != FWD_ROUTE_NONE)
			return value;
	}
	return FWD_ROUTE_NONE;
}

void fwd_route_map_ipv4(uint8_t address[16], const uint8_t ipv4[4])
{
	put_be64(address, 0);
	put_be64(address + 8, UINT64_C(0xffff) << 32 | get_be32(ipv4));
}
