#include "fwd/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"

enum { ROUTES_MAX = 600 };

/* The table under test beside a list of routes that is searched from end to end. */
struct pair {
	struct fwd_routes t;
	void *memory;
	uint32_t n, max;
	struct {
		struct fwd_prefix prefix;
		uint32_t value;
	} list[ROUTES_MAX];
};

static struct pair pair;

static void start(uint32_t max)
{
	memset(&pair, 0, sizeof pair);
	pair.max = max;
	pair.memory = malloc(fwd_routes_bytes(max));
	assert_non_null(pair.memory);
	/* Memory comes dirty; init must not trust it. */
	memset(pair.memory, 0x5a, fwd_routes_bytes(max));
	fwd_routes_init(&pair.t, pair.memory, max);
}

static void stop(void)
{
	free(pair.memory);
}

/* Whether the first len bits of two addresses are the same, bit by bit. */
static bool bits_equal(const uint8_t *a, const uint8_t *b, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if ((a[i / 8] ^ b[i / 8]) & 0x80 >> i % 8)
			return false;
	return true;
}

static int model_add(const struct fwd_prefix *prefix, uint32_t value)
{
	if (prefix->len > 128 || value == FWD_ROUTE_NONE)
		return -EINVAL;
	for (uint32_t i = 0; i < pair.n; i++) {
		if (pair.list[i].prefix.len != prefix->len)
			continue;
		if (bits_equal(pair.list[i].prefix.address, prefix->address, prefix->len)) {
			pair.list[i].value = value;
			return 0;
		}
	}
	if (pair.n == pair.max)
		return -ENOSPC;
	pair.list[pair.n].prefix = *prefix;
	pair.list[pair.n++].value = value;
	return 0;
}

static uint32_t model_find(const uint8_t *address)
{
	uint32_t value = FWD_ROUTE_NONE;
	int best = -1;

	for (uint32_t i = 0; i < pair.n; i++) {
		const struct fwd_prefix *p = &pair.list[i].prefix;

		if (p->len > best && bits_equal(p->address, address, p->len)) {
			best = p->len;
			value = pair.list[i].value;
		}
	}
	return value;
}

/* Addresses of few bits, so that prefixes cover each other and are met again. */
static void any_address(struct prng *p, uint8_t address[16])
{
	if (prng_chance(p, 1, 8)) {
		prng_fill(p, address, 16);
		return;
	}
	memset(address, 0, 16);
	for (uint32_t n = (uint32_t)prng_below(p, 4); n > 0; n--) {
		uint32_t bit = (uint32_t)prng_below(p, 12) * 11;

		address[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	}
}

static void random_routes_agree_with_model(void **state)
{
	static const uint8_t few[] = {128, 64, 48, 112, 0, 127, 65, 63, 1};
	struct prng p;
	uint8_t address[16];

	(void)state;
	prng_init(&p, check_seed(0x4001), 0);
	for (uint32_t round = 0; round < 60; round++) {
		uint32_t n_few = (uint32_t)prng_range(&p, 1, sizeof few);

		start((uint32_t)prng_range(&p, 1, ROUTES_MAX));
		for (uint32_t i = 0; i < 700; i++) {
			struct fwd_prefix prefix;
			uint32_t value = prng_chance(&p, 1, 50) ? FWD_ROUTE_NONE : prng_u32(&p);

			any_address(&p, prefix.address);
			prefix.len = round & 1 ? few[prng_below(&p, n_few)]
					       : (uint8_t)prng_below(&p, 140);
			assert_int_equal(fwd_routes_add(&pair.t, &prefix, value),
					 model_add(&prefix, value));
			assert_int_equal(pair.t.n, pair.n);
			for (uint32_t k = 0; k < 3; k++) {
				any_address(&p, address);
				assert_int_equal(fwd_routes_find(&pair.t, address),
						 model_find(address));
			}
		}
		for (uint32_t i = 0; i < pair.n; i++)
			assert_int_equal(fwd_routes_find(&pair.t, pair.list[i].prefix.address),
					 model_find(pair.list[i].prefix.address));
		stop();
	}
}

/* Prefixes of every length over one address, added in any order: what differs from it first in bit
 * number len is covered by the prefix of len bits, and no longer one. */
static void every_length_is_told_apart(void **state)
{
	struct prng p;
	struct fwd_prefix prefix;
	uint8_t order[129], probe[16];

	(void)state;
	prng_init(&p, check_seed(0x4002), 0);
	start(129);
	prng_fill(&p, prefix.address, 16);
	for (uint32_t i = 0; i < 129; i++)
		order[i] = (uint8_t)i;
	for (uint32_t i = 128; i > 0; i--) {
		uint32_t other = (uint32_t)prng_below(&p, i + 1);
		uint8_t swap = order[i];

		order[i] = order[other];
		order[other] = swap;
	}
	for (uint32_t i = 0; i < 129; i++) {
		prefix.len = order[i];
		assert_int_equal(fwd_routes_add(&pair.t, &prefix, 1000u + prefix.len), 0);
	}
	for (uint32_t len = 0; len < 128; len++) {
		memcpy(probe, prefix.address, 16);
		probe[len / 8] ^= (uint8_t)(0x80 >> len % 8);
		assert_int_equal(fwd_routes_find(&pair.t, probe), 1000 + len);
	}
	assert_int_equal(fwd_routes_find(&pair.t, prefix.address), 1128);
	stop();
}

static void an_empty_table_has_no_route(void **state)
{
	static const uint8_t zero[16];

	(void)state;
	start(1);
	assert_int_equal(fwd_routes_find(&pair.t, zero), FWD_ROUTE_NONE);
	stop();
}

static void default_route_takes_what_is_left(void **state)
{
	static const struct fwd_prefix all = {.address = {0xff, 1, 2, 3}, .len = 0};
	static const struct fwd_prefix net = {.address = {0x20, 0x01, 0x0d, 0xb8}, .len = 32};
	static const uint8_t inside[16] = {0x20, 0x01, 0x0d, 0xb8, 9};
	static const uint8_t outside[16] = {0x20, 0x01, 0x0d, 0xb9, 9};

	(void)state;
	start(2);
	assert_int_equal(fwd_routes_add(&pair.t, &net, 7), 0);
	assert_int_equal(fwd_routes_find(&pair.t, outside), FWD_ROUTE_NONE);
	assert_int_equal(fwd_routes_add(&pair.t, &all, 0), 0);
	assert_int_equal(fwd_routes_find(&pair.t, outside), 0);
	assert_int_equal(fwd_routes_find(&pair.t, inside), 7);
	stop();
}

/* A full table still replaces what it has, and refuses the rest unchanged. */
static void full_and_replaced(void **state)
{
	struct fwd_prefix prefix = {.len = 128};

	(void)state;
	for (uint32_t max = 1; max <= 33; max++) {
		start(max);
		for (uint32_t i = 0; i < max; i++) {
			prefix.address[15] = (uint8_t)i;
			assert_int_equal(fwd_routes_add(&pair.t, &prefix, i), 0);
		}
		prefix.address[15] = (uint8_t)max;
		assert_int_equal(fwd_routes_add(&pair.t, &prefix, 99), -ENOSPC);
		assert_int_equal(fwd_routes_find(&pair.t, prefix.address), FWD_ROUTE_NONE);
		prefix.len = 64;
		assert_int_equal(fwd_routes_add(&pair.t, &prefix, 99), -ENOSPC);
		prefix.len = 128;
		assert_int_equal(fwd_routes_find(&pair.t, prefix.address), FWD_ROUTE_NONE);
		for (uint32_t i = 0; i < max; i++) {
			prefix.address[15] = (uint8_t)i;
			assert_int_equal(fwd_routes_find(&pair.t, prefix.address), i);
			assert_int_equal(fwd_routes_add(&pair.t, &prefix, 500u + i), 0);
			assert_int_equal(fwd_routes_find(&pair.t, prefix.address), 500 + i);
		}
		stop();
	}
}

static void refused_routes(void **state)
{
	struct fwd_prefix prefix = {.len = 129};

	(void)state;
	start(4);
	assert_int_equal(fwd_routes_add(&pair.t, &prefix, 1), -EINVAL);
	prefix.len = 255;
	assert_int_equal(fwd_routes_add(&pair.t, &prefix, 1), -EINVAL);
	prefix.len = 128;
	assert_int_equal(fwd_routes_add(&pair.t, &prefix, FWD_ROUTE_NONE), -EINVAL);
	assert_int_equal(pair.t.n, 0);
	assert_int_equal(fwd_routes_find(&pair.t, prefix.address), FWD_ROUTE_NONE);
	assert_int_equal(fwd_routes_add(&pair.t, &prefix, FWD_ROUTE_NONE - 1), 0);
	assert_int_equal(fwd_routes_find(&pair.t, prefix.address), FWD_ROUTE_NONE - 1);
	stop();
}

static void ipv4_lives_in_its_mapped_prefix(void **state)
{
	static const uint8_t want[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3};
	struct fwd_prefix net = {.len = 96 + 24};
	uint8_t address[16];

	(void)state;
	memset(address, 0xa5, sizeof address);
	fwd_route_map_ipv4(address, (const uint8_t[4]){10, 1, 2, 3});
	assert_memory_equal(address, want, 16);
	start(1);
	fwd_route_map_ipv4(net.address, (const uint8_t[4]){10, 1, 2, 0});
	assert_int_equal(fwd_routes_add(&pair.t, &net, 5), 0);
	assert_int_equal(fwd_routes_find(&pair.t, want), 5);
	fwd_route_map_ipv4(address, (const uint8_t[4]){10, 1, 3, 3});
	assert_int_equal(fwd_routes_find(&pair.t, address), FWD_ROUTE_NONE);
	stop();
}

static void init_for_none(void *memory)
{
	struct fwd_routes t;

	fwd_routes_init(&t, memory, 0);
}

static void mistakes_abort(void **state)
{
	(void)state;
	start(1);
	assert_true(check_aborts(init_for_none, pair.memory));
	stop();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(random_routes_agree_with_model),
	cmocka_unit_test(every_length_is_told_apart),
	cmocka_unit_test(an_empty_table_has_no_route),
	cmocka_unit_test(default_route_takes_what_is_left),
	cmocka_unit_test(full_and_replaced),
	cmocka_unit_test(refused_routes),
	cmocka_unit_test(ipv4_lives_in_its_mapped_prefix),
	cmocka_unit_test(mistakes_abort),
};

CHECK_MAIN(cases)
