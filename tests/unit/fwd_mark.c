#include "fwd/mark.h"

#include <string.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "check.h"
#include "wire/net.h"

enum { DSCP_PLAIN = 0, DSCP_TRIMMABLE = 10, DSCP_TRIMMED = 20 };

static struct fwd_class marking(uint32_t min, uint32_t max)
{
	return (struct fwd_class){.ecn = true, .ecn_min_bytes = min, .ecn_max_bytes = max};
}

/* Below the lowest byte above min nothing is marked, from max on everything; in between, last_yes
 * is the largest random number that marks. */
static void thresholds_are_exact_to_the_byte(void **state)
{
	static const struct {
		uint32_t min, max, queue, last_yes;
	} rows[] = {
		{1000, 1003, 1001, 1431655765},       /* 2^32 / 3 = 1431655765.3 */
		{1000, 1003, 1002, 2863311530},       /* 2^33 / 3 = 2863311530.7 */
		{1000, 1004, 1001, 0x3fffffff},       /* a quarter of all */
		{1000, 1004, 1003, 0xbfffffff},       /* three quarters */
		{200000, 800000, 200001, 7158},       /* 2^32 / 600000 = 7158.3 */
		{200000, 800000, 500000, 0x7fffffff}, /* half way */
		{200000, 800000, 799999, 4294960137}, /* 2^32 - 7158.3 */
		{0, UINT32_MAX, 1, 1},                /* 2^32 / (2^32 - 1) = 1.0.. */
		{0, UINT32_MAX, 0xfffffffe, 0xfffffffe},
		{0, 2, 1, 0x7fffffff},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fwd_class c = marking(rows[i].min, rows[i].max);

		assert_false(fwd_mark_wanted(&c, 0, 0));
		assert_false(fwd_mark_wanted(&c, rows[i].min, 0));
		assert_true(fwd_mark_wanted(&c, rows[i].queue, 0));
		assert_true(fwd_mark_wanted(&c, rows[i].queue, rows[i].last_yes));
		assert_false(fwd_mark_wanted(&c, rows[i].queue, rows[i].last_yes + 1));
		assert_false(fwd_mark_wanted(&c, rows[i].queue, UINT32_MAX));
		assert_true(fwd_mark_wanted(&c, rows[i].max, UINT32_MAX));
		assert_true(fwd_mark_wanted(&c, UINT32_MAX, UINT32_MAX));
	}
}

static void equal_thresholds_are_a_step(void **state)
{
	struct fwd_class c = marking(500000, 500000), zero = marking(0, 0);

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t random = i ? UINT32_MAX : 0;

		assert_false(fwd_mark_wanted(&c, 499999, random));
		assert_true(fwd_mark_wanted(&c, 500000, random));
		assert_true(fwd_mark_wanted(&c, 500001, random));
		assert_true(fwd_mark_wanted(&zero, 0, random));
	}
}

static void a_class_without_ecn_marks_nothing(void **state)
{
	struct fwd_class c = marking(0, 1);

	(void)state;
	c.ecn = false;
	assert_false(fwd_mark_wanted(&c, 1, 0));
	assert_false(fwd_mark_wanted(&c, UINT32_MAX, 0));
}

/* The rule written as long division: is random / 2^32 below above / width? */
static bool model_wanted(uint32_t min, uint32_t max, uint32_t queue, uint32_t random)
{
	if (queue >= max)
		return true;
	if (queue <= min)
		return false;
	uint64_t width = max - min, rest = queue - min, quotient = 0;

	for (int bit = 0; bit < 32; bit++) {
		rest *= 2;
		quotient = quotient << 1 | (rest >= width);
		rest -= rest >= width ? width : 0;
	}
	return random < quotient || (random == quotient && rest > 0);
}

static void random_queues_agree_with_long_division(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0xec41), 0);
	for (uint32_t i = 0; i < 300000; i++) {
		uint32_t limit = prng_chance(&p, 1, 2) ? 16 : UINT32_MAX;
		uint32_t max = (uint32_t)prng_range(&p, 0, limit);
		uint32_t min = (uint32_t)prng_range(&p, 0, max);
		uint32_t queue = (uint32_t)prng_range(&p, min, max);
		struct fwd_class c = marking(min, max);
		uint32_t random = prng_u32(&p);

		/* The numbers next to the border are the ones that tell. */
		if (queue > min && queue < max && prng_chance(&p, 1, 2))
			random = (uint32_t)(((uint64_t)(queue - min) << 32) / (max - min)) +
				 (uint32_t)prng_below(&p, 3) - 1;
		assert_int_equal(fwd_mark_wanted(&c, queue, random),
				 model_wanted(min, max, queue, random));
	}
}

/* 100,000 draws at each tenth of the way: within five standard deviations, at most 800 marks, of
 * what the chance promises. */
static void marks_are_as_frequent_as_the_chance_says(void **state)
{
	struct fwd_class c = marking(200000, 800000);
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0xec42), 0);
	for (uint32_t tenth = 0; tenth <= 10; tenth++) {
		uint32_t queue = 200000 + tenth * 60000;
		int32_t marks = 0, want = (int32_t)tenth * 10000;

		for (uint32_t i = 0; i < 100000; i++)
			marks += fwd_mark_wanted(&c, queue, prng_u32(&p));
		assert_in_range(marks - want + 800, tenth % 10 ? 0 : 800, tenth % 10 ? 1600 : 800);
	}
}

static struct fwd_qos kinds(void)
{
	struct fwd_qos qos = {.n_classes = 1};

	qos.dscps[DSCP_TRIMMABLE].trim = FWD_TRIM_TRIMMABLE;
	qos.dscps[DSCP_TRIMMED].trim = FWD_TRIM_TRIMMED;
	return qos;
}

/* A frame of 60 bytes with an empty UDP packet, of either version. */
static struct fwd_frame make(uint8_t bytes[62], uint8_t version, uint8_t dscp, uint8_t ecn)
{
	struct eth eth = {1, 2, version == 4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6};
	struct ipv4 v4 = {.version = 4, .ihl = 5, .dscp = dscp, .ecn = ecn, .length = 28};
	struct ipv6 v6 = {.version = 6, .dscp = dscp, .ecn = ecn, .length = 8};

	memset(bytes, 0, 62);
	eth_put(&eth, bytes);
	v4.protocol = v6.next_header = IPPROTO_UDP_IN;
	v4.ttl = v6.hop_limit = 64;
	v6.flow_label = 0xfffff;
	if (version == 6) {
		ipv6_put(&v6, bytes + 14);
	} else {
		ipv4_put(&v4, bytes + 14);
		put_be16(bytes + 24, ipv4_checksum(bytes + 14));
	}
	return (struct fwd_frame){bytes, 62, 62};
}

/* RFC 3168 5 and UE 4.1.1: only an ECN-capable packet that was not trimmed changes. */
static void only_ecn_capable_whole_packets_are_marked(void **state)
{
	static const uint8_t dscps[] = {DSCP_PLAIN, DSCP_TRIMMABLE, DSCP_TRIMMED};
	struct fwd_qos qos = kinds();

	(void)state;
	for (uint32_t i = 0; i < 3u * 4 * 2; i++) {
		uint8_t dscp = dscps[i % 3], ecn = (uint8_t)(i / 3 % 4), version = i < 12 ? 4 : 6;
		bool marks = dscp != DSCP_TRIMMED && (ecn == 1 || ecn == 2);
		uint8_t bytes[62], want[62];
		struct fwd_frame f = make(bytes, version, dscp, ecn);
		struct fwd_view view, again;

		make(want, version, dscp, marks ? 3 : ecn);
		assert_int_equal(fwd_view_get(&f, &view), FWD_DROP_NONE);
		assert_int_equal(fwd_mark(&qos, &view), marks);
		assert_memory_equal(bytes, want, sizeof want);
		assert_int_equal(fwd_view_get(&f, &again), FWD_DROP_NONE);
		assert_int_equal(view.ecn, again.ecn);
		assert_int_equal(view.dscp, dscp);
		assert_false(fwd_mark(&qos, &view));
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(thresholds_are_exact_to_the_byte),
	cmocka_unit_test(equal_thresholds_are_a_step),
	cmocka_unit_test(a_class_without_ecn_marks_nothing),
	cmocka_unit_test(random_queues_agree_with_long_division),
	cmocka_unit_test(marks_are_as_frequent_as_the_chance_says),
	cmocka_unit_test(only_ecn_capable_whole_packets_are_marked),
};

CHECK_MAIN(cases)
