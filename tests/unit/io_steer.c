/* The program that the kernel runs for each frame of the xdp driver, compiled as a part of this
 * test and not loaded: what it takes against the parser and the program of packet sockets, by every
 * carrier. What the kernel makes of it is for the tests of io/xdp.h. */
#include "filter_run.h"

#include <linux/bpf.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "carriers.h"
#include "io/raw_inside.h"
#include "wire/net.h"

/* In place of bpf/bpf_helpers.h: maps are what a case says.
 * NOLINTBEGIN(bugprone-reserved-identifier)
 */
#define __BPF_HELPERS__
#undef __always_inline
#define __always_inline inline
/* NOLINTEND(bugprone-reserved-identifier) */
#define SEC(name)
#define __uint(name, value) int(*name)[value]

static void *bpf_map_lookup_elem(const void *map, const void *key);
static long bpf_redirect_map(const void *map, __u64 key, __u64 otherwise);
int steer(struct xdp_md *context);

#include "io/steer.bpf.c" /* NOLINT(bugprone-suspicious-include) */

enum {
	OURS = 3,  /* addresses */
	ALIGN = 2, /* an IPv6 address of a frame then lies as eight bytes should */
};

static const struct carrier *const all[] = {&carrier_roce, &carriers_uet, &carriers_uet_native,
					    &carriers_falcon, &carriers_toy};
#define N_ALL (sizeof all / sizeof all[0])

static _Alignas(8) uint8_t ours[OURS][STEER_KEY_BYTES], looked_first[STEER_KEY_BYTES];
static uint32_t n_searches;

static void *bpf_map_lookup_elem(const void *map, const void *key)
{
	if (map == &likely)
		return looked_first;
	assert_ptr_equal(map, &addresses);
	n_searches++;
	for (uint32_t i = 0; i < OURS; i++)
		if (memcmp(ours[i], key, STEER_KEY_BYTES) == 0)
			return ours[i];
	return NULL;
}

static long bpf_redirect_map(const void *map, __u64 key, __u64 otherwise)
{
	(void)map;
	(void)key;
	return (long)otherwise;
}

static bool is_taken(const struct carrier_use *via, const uint8_t *frame, uint32_t len)
{
	const struct steer_carrier by = {.port = via->port, .protocol = via->protocol};

	return is_ours((struct rest){frame, frame + len}, by);
}

/* Addresses of each kind, ours and one of another's, as headers have them. */
static void make_address(struct prng *random, bool is_v4, uint32_t which, uint8_t *dst)
{
	uint8_t key[STEER_KEY_BYTES] = {[10] = 0xff, [11] = 0xff};

	prng_fill(random, dst, STEER_KEY_BYTES);
	if (is_v4) {
		memset(dst + 4, 0, 12);
		memcpy(key + 12, dst, 4);
	} else {
		memcpy(key, dst, STEER_KEY_BYTES);
	}
	if (which < OURS)
		memcpy(ours[which], key, STEER_KEY_BYTES);
}

/* What the parser says, but for lengths: whether the carrier's packet lies there. */
static bool is_parsed(const struct carriers *known, const uint8_t *frame, uint32_t len)
{
	struct net_cfg cfg = {.carriers = *known};
	struct net_pkt net;

	return net_get((struct cspan){frame, len}, NET_LINK_ETHERNET, &cfg, &net, NULL).why ==
	       WIRE_DROP_NONE;
}

static bool is_filtered(const struct carrier_use *via, const uint8_t *frame, uint32_t len,
			uint32_t transport)
{
	const struct carrier_rule *rule = carrier_rule_of(via->is, frame + transport);
	bool is_tagged = rule && rule->owner == CARRIER_NUMBER;
	struct filter f;

	raw_filter_make(&f, via, is_tagged ? carrier_tag(via->is, rule, frame + transport) : 0);
	return filter_run(&f, (struct cspan){frame, len}, 0) != 0;
}

/* A change that makes another's of a frame. */
static void make_strange(struct prng *random, const struct carrier *c, uint32_t shape,
			 uint8_t *frame, uint32_t transport)
{
	uint32_t ip = transport - carrier_front_bytes(c) - (shape == 3 ? 20 : 40);

	uint64_t what = prng_below(random, 3);

	if (what == 0)
		frame[12] ^= 1; /* neither IPv4 nor IPv6 */
	else if (what == 1 && !carrier_is_native(c))
		frame[transport - 5] ^= (uint8_t)(1u << prng_below(random, 8)); /* another port */
	else
		frame[ip + (shape == 3 ? 9 : 6)] ^= 1; /* another protocol */
}

static void frames_are_taken_as_others_take_them(void **state)
{
	static _Alignas(8) uint8_t memory[256 + ALIGN];
	uint32_t taken = 0, strange = 0, unaddressed = 0;
	uint8_t *frame = memory + ALIGN;
	struct prng random;

	(void)state;
	prng_init(&random, check_seed(0xf13), 0);
	for (uint32_t n = 0; n < 40000; n++) {
		const struct carrier *c = all[n % N_ALL];
		uint32_t shape = n / N_ALL % FILTER_SHAPES, transport, len;
		uint32_t which = (uint32_t)prng_below(&random, OURS + 1);
		struct carriers known = {.n = 0};
		uint8_t dst[STEER_KEY_BYTES];
		bool is_strange = prng_chance(&random, 1, 3);

		carriers_add(&known, c, 0);
		for (uint32_t i = 0; i <= OURS; i++)
			make_address(&random, shape == 3, (which + 1 + i) % (OURS + 1), dst);
		/* The last that was made is the frame's. */
		memset(looked_first, 0, sizeof looked_first);
		if (prng_chance(&random, 1, 2))
			memcpy(looked_first, ours[0], sizeof looked_first);
		len = filter_frame(&known.use[0], shape, dst, frame, &transport);
		prng_fill(&random, frame + transport, FILTER_CARRIED);
		if (is_strange)
			make_strange(&random, c, shape, frame, transport);
		bool want = !is_strange && which < OURS;

		assert_int_equal(is_taken(&known.use[0], frame, len), want);
		assert_int_equal(is_parsed(&known, frame, len), !is_strange);
		assert_int_equal(is_filtered(&known.use[0], frame, len, transport), !is_strange);
		taken += want;
		strange += is_strange;
		unaddressed += which == OURS;
		/* Of a frame in pieces it sees the first; without all headers it leaves it. */
		uint32_t cut = (uint32_t)prng_below(&random, len);

		assert_int_equal(is_taken(&known.use[0], frame, cut), want && cut >= transport);
	}
	assert_true(taken > 1000 && strange > 1000 && unaddressed > 1000 && n_searches > 1000);
}

/* IPv4 inside IPv6, with a segment routing header or without; fragments; options. */
static void other_shapes(void **state)
{
	static _Alignas(8) uint8_t bare[256 + ALIGN], memory[256 + ALIGN];
	uint8_t *v4 = bare + ALIGN, *frame = memory + ALIGN, dst[STEER_KEY_BYTES];
	struct prng random;

	(void)state;
	prng_init(&random, check_seed(0xf14), 0);
	for (uint32_t n = 0; n < N_ALL; n++) {
		struct carriers known = {.n = 0};
		uint32_t transport, len;

		carriers_add(&known, all[n], 0);
		make_address(&random, true, 0, dst);
		len = filter_frame(&known.use[0], 3, dst, v4, &transport);
		assert_true(is_taken(&known.use[0], v4, len));
		for (uint32_t srh = 0; srh <= 24; srh += 24) {
			/* Room for its headers, then the packet. */
			filter_frame(&known.use[0], srh ? 2 : 1, dst, frame, &transport);
			frame[14 + 6] = srh ? 43 : 4;
			frame[14 + 40] = 4;
			memcpy(frame + 14 + 40 + srh, v4 + 14, len - 14);
			assert_true(is_taken(&known.use[0], frame, len + 40 + srh));
			if (!srh)
				continue;
			frame[14 + 40 + 2] ^= 1; /* another kind of routing header */
			assert_false(is_taken(&known.use[0], frame, len + 40 + srh));
			frame[14 + 40 + 2] ^= 1;
			frame[14 + 40 + 1] = 60; /* one that is longer than the frame */
			assert_false(is_taken(&known.use[0], frame, len + 40 + srh));
		}
		v4[14] = 0x46;
		assert_false(is_taken(&known.use[0], v4, len));
		v4[14] = 0x45;
		for (uint32_t bit = 0; bit < 16; bit++) {
			put_be16(v4 + 14 + 6, (uint16_t)(1u << bit));
			/* What forbids fragments, and what is reserved, make none. */
			assert_int_equal(is_taken(&known.use[0], v4, len), bit >= 14);
		}
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(frames_are_taken_as_others_take_them),
	cmocka_unit_test(other_shapes),
};

CHECK_MAIN(cases)
