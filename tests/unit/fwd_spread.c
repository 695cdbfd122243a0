#include "fwd/spread.h"

#include <string.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "check.h"

enum { ENTROPIES = 64, FLOWS = 1024, SAMPLES = ENTROPIES * FLOWS, PORTS_MAX = 16 };

static const uint64_t seeds[] = {0, 1, 2, 0x8000000000000000, 0x5eed};
enum { SEEDS = sizeof seeds / sizeof seeds[0] };

/* An IP header and the view of it. Only the addresses are read from the bytes. */
struct sample {
	uint8_t ip[40];
	struct fwd_view v;
};

static void put_addresses(struct sample *s, uint32_t src, uint32_t dst)
{
	static const uint8_t prefix[4] = {0x20, 0x01, 0x0d, 0xb8};

	memset(s->ip, 0, sizeof s->ip);
	if (s->v.version == 4) {
		put_be32(s->ip + 12, 0x0a000000 + src);
		put_be32(s->ip + 16, 0x0a000000 + dst);
		return;
	}
	memcpy(s->ip + 8, prefix, 4);
	memcpy(s->ip + 24, prefix, 4);
	put_be32(s->ip + 20, src);
	put_be32(s->ip + 36, dst);
}

/* The flows of a fabric: hosts and entropies are numbered one by one, as operators do. */
static void start_flow(struct sample *s, uint8_t version, uint32_t flow)
{
	s->v = (struct fwd_view){.ip = s->ip, .version = version, .protocol = 17, .dport = 4791};
	put_addresses(s, flow / 32, 64 + flow % 32);
}

static void put_entropy(struct sample *s, uint32_t fields, uint32_t entropy)
{
	if (fields & FWD_HASH_FLOW_LABEL)
		s->v.flow_label = entropy;
	else
		s->v.sport = (uint16_t)(0xc000 + entropy);
}

/* The sum of (seen - total / n)^2 / (total / n), written without fractions. */
static uint64_t chi_square(const uint32_t *seen, uint32_t n, uint64_t total)
{
	uint64_t squares = 0;

	for (uint32_t i = 0; i < n; i++)
		squares += (uint64_t)seen[i] * seen[i];
	return (n * squares - total * total) / total;
}

/* Mean plus six standard deviations of a chi-square of so many degrees, rounded up: the mean is the
 * number of degrees, the variance twice that. */
static uint64_t too_much(uint64_t degrees)
{
	uint64_t root = 0;

	while (root * root < 72 * degrees)
		root++;
	return degrees + root;
}

static const struct {
	uint8_t version;
	uint32_t fields;
} inputs[] = {
	{6, FWD_HASH_5TUPLE},
	{4, FWD_HASH_5TUPLE},
	{6, FWD_HASH_5TUPLE | FWD_HASH_FLOW_LABEL},
	{6, FWD_HASH_SRC | FWD_HASH_DST | FWD_HASH_FLOW_LABEL},
};
enum { INPUTS = sizeof inputs / sizeof inputs[0] };

static void known_hashes(void **state)
{
	static const struct {
		uint64_t seed;
		uint32_t fields, v6, v4;
	} table[] = {
		{0, FWD_HASH_5TUPLE, 0xd67bb1af, 0xe76a5747},
		{0, FWD_HASH_5TUPLE | FWD_HASH_FLOW_LABEL, 0xdc0145fe, 0xe76a5747},
		{0, FWD_HASH_FLOW_LABEL, 0xfdcc6402, 0x00000000},
		{1, FWD_HASH_5TUPLE, 0x03a0d807, 0x82eb265d},
		{1, FWD_HASH_5TUPLE | FWD_HASH_FLOW_LABEL, 0x17dfafdc, 0x82eb265d},
		{1, FWD_HASH_FLOW_LABEL, 0xb8644b41, 0x6e37de4f},
		{0xfeedfacecafebeef, FWD_HASH_5TUPLE, 0xd74f194b, 0xd3de0b5c},
		{0xfeedfacecafebeef, FWD_HASH_FLOW_LABEL, 0x2a092e1e, 0xf201e7f6},
	};
	uint8_t v6[40] = "\x60\x0a\xbc\xde\x00\x0c\x11\x40"
			 "\x20\x01\x0d\xb8\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01"
			 "\x20\x01\x0d\xb8\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x02";
	uint8_t v4[20] = "\x45\x00\x00\x73\x00\x00\x40\x00\x40\x11\x00\x00"
			 "\x0a\x00\x00\x01\x0a\x00\x01\x02";
	struct fwd_view view6 = {.ip = v6,
				 .version = 6,
				 .protocol = 17,
				 .sport = 0xc001,
				 .dport = 4791,
				 .flow_label = 0xabcde};
	struct fwd_view view4 = {
		.ip = v4, .version = 4, .protocol = 17, .sport = 0xc001, .dport = 4791};

	(void)state;
	for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		assert_int_equal(fwd_hash(&view6, table[i].fields, table[i].seed), table[i].v6);
		assert_int_equal(fwd_hash(&view4, table[i].fields, table[i].seed), table[i].v4);
	}
}

/* Flips one bit of one field. */
static void change(struct prng *p, struct sample *s, uint32_t field)
{
	uint32_t bytes = s->v.version == 4 ? 4 : 16;
	uint8_t *src = s->ip + (s->v.version == 4 ? 12 : 8), *dst = src + bytes;
	uint32_t bit = (uint32_t)prng_below(p, 8 * bytes);

	switch (field) {
	case FWD_HASH_SRC: src[bit / 8] ^= (uint8_t)(1 << bit % 8); break;
	case FWD_HASH_DST: dst[bit / 8] ^= (uint8_t)(1 << bit % 8); break;
	case FWD_HASH_PROTOCOL: s->v.protocol ^= (uint8_t)(1 << bit % 8); break;
	case FWD_HASH_SPORT: s->v.sport ^= (uint16_t)(1 << bit % 16); break;
	case FWD_HASH_DPORT: s->v.dport ^= (uint16_t)(1 << bit % 16); break;
	default: s->v.flow_label ^= 1u << prng_below(p, 20); break;
	}
}

static void only_chosen_fields_count(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0x59e0), 0);
	for (uint32_t i = 0; i < 40000; i++) {
		uint64_t seed = prng_u64(&p);
		uint32_t fields = i & 63, field = 1u << prng_below(&p, 6);
		struct sample s = {.v = {.version = prng_chance(&p, 1, 2) ? 4 : 6,
					 .protocol = (uint8_t)prng_u32(&p),
					 .sport = (uint16_t)prng_u32(&p),
					 .dport = (uint16_t)prng_u32(&p),
					 .flow_label = prng_u32(&p) & 0xfffff}};

		s.v.ip = s.ip;
		prng_fill(&p, s.ip, sizeof s.ip);
		uint32_t hash = fwd_hash(&s.v, fields, seed);

		/* What changes on the way must not move a flow. */
		s.v.hop_limit ^= 1, s.v.ecn ^= 3, s.v.dscp ^= 5, s.v.ip_len ^= 7;
		prng_fill(&p, s.ip, 8);
		assert_int_equal(fwd_hash(&s.v, fields, seed), hash);
		change(&p, &s, field);
		if (fields & field)
			assert_int_not_equal(fwd_hash(&s.v, fields, seed), hash);
		else
			assert_int_equal(fwd_hash(&s.v, fields, seed), hash);
	}
}

/* All flows together fill the ports evenly; and so do the entropies of one flow, no worse and no
 * better than chance would. */
static void ports_are_filled_evenly(void **state)
{
	static const uint32_t ports[] = {2, 3, 5, 16};

	(void)state;
	for (uint32_t i = 0; i < SEEDS * INPUTS * 4; i++) {
		uint32_t n = ports[i % 4], fields = inputs[i / 4 % INPUTS].fields;
		uint64_t seed = seeds[i / 4 / INPUTS], sum = 0;
		uint32_t all[PORTS_MAX] = {0};
		uint64_t degrees = (uint64_t)FLOWS * (n - 1);

		for (uint32_t flow = 0; flow < FLOWS; flow++) {
			uint32_t one[PORTS_MAX] = {0};
			struct sample s;

			start_flow(&s, inputs[i / 4 % INPUTS].version, flow);
			for (uint32_t e = 0; e < ENTROPIES; e++) {
				put_entropy(&s, fields, e);
				uint32_t port = fwd_pick(fwd_hash(&s.v, fields, seed), n);

				assert_true(port < n);
				one[port]++;
				all[port]++;
			}
			for (uint32_t k = 0; k < n; k++)
				sum += (uint64_t)one[k] * one[k] * n;
		}
		sum = sum / ENTROPIES - (uint64_t)FLOWS * ENTROPIES;
		assert_true(chi_square(all, n, SAMPLES) <= too_much(n - 1));
		assert_true(sum <= too_much(degrees));
		assert_true(sum >= 2 * degrees - too_much(degrees));
	}
}

/* What one switch chose tells nothing about what the next chooses: all pairs are as likely. */
static void two_switches_choose_independently(void **state)
{
	static const uint32_t ports[] = {5, 16};
	static uint32_t both[PORTS_MAX * PORTS_MAX];

	(void)state;
	for (uint32_t i = 0; i < SEEDS * SEEDS * INPUTS * 2; i++) {
		uint32_t n = ports[i % 2], fields = inputs[i / 2 % INPUTS].fields;
		uint64_t first = seeds[i / 2 / INPUTS % SEEDS],
			 second = seeds[i / 2 / INPUTS / SEEDS];

		if (first <= second)
			continue;
		memset(both, 0, sizeof both);
		for (uint32_t k = 0; k < SAMPLES; k++) {
			struct sample s;

			start_flow(&s, inputs[i / 2 % INPUTS].version, k / ENTROPIES);
			put_entropy(&s, fields, k % ENTROPIES);
			both[fwd_pick(fwd_hash(&s.v, fields, first), n) * n +
			     fwd_pick(fwd_hash(&s.v, fields, second), n)]++;
		}
		assert_true(chi_square(both, n * n, SAMPLES) <= too_much(n * n - 1));
	}
}

/* Each bit of the hash is set half the time, and a bit of the seed or of the entropy flips it half
 * the time: 65536 throws lie within six deviations of 128 each. */
static void every_bit_of_the_hash_is_good(void **state)
{
	uint32_t set[32] = {0}, by_seed[32] = {0}, by_entropy[32] = {0};

	(void)state;
	for (uint32_t k = 0; k < SAMPLES; k++) {
		struct sample s;

		start_flow(&s, 6, k / ENTROPIES);
		put_entropy(&s, FWD_HASH_SPORT, k % ENTROPIES);
		uint32_t hash = fwd_hash(&s.v, FWD_HASH_5TUPLE, 7);
		uint32_t other = hash ^ fwd_hash(&s.v, FWD_HASH_5TUPLE, 7 ^ UINT64_C(1) << k % 64);

		s.v.sport ^= (uint16_t)(1 << k % 16);
		uint32_t moved = hash ^ fwd_hash(&s.v, FWD_HASH_5TUPLE, 7);

		for (uint32_t bit = 0; bit < 32; bit++) {
			set[bit] += hash >> bit & 1;
			by_seed[bit] += other >> bit & 1;
			by_entropy[bit] += moved >> bit & 1;
		}
	}
	for (uint32_t bit = 0; bit < 32; bit++) {
		assert_in_range(set[bit], SAMPLES / 2 - 768, SAMPLES / 2 + 768);
		assert_in_range(by_seed[bit], SAMPLES / 2 - 768, SAMPLES / 2 + 768);
		assert_in_range(by_entropy[bit], SAMPLES / 2 - 768, SAMPLES / 2 + 768);
	}
}

static void picks(void **state)
{
	static const struct {
		uint32_t hash, n, pick;
	} table[] = {
		{0, 1, 0},           {UINT32_MAX, 1, 0},  {0, 5, 0},
		{UINT32_MAX, 5, 4},  {0x7fffffff, 2, 0},  {0x80000000, 2, 1},
		{0x33333333, 5, 0},  {0x33333334, 5, 1},  {0xffffffff, UINT32_MAX, UINT32_MAX - 1},
		{0x10000000, 16, 1}, {0x0fffffff, 16, 0},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++)
		assert_int_equal(fwd_pick(table[i].hash, table[i].n), table[i].pick);
}

/* MRC Table 9-2: 1010101011 11001101 1001, then ten bits that nobody looks at. */
static void structured_ev_of_table_9_2(void **state)
{
	static const struct fwd_ev_layout layout = {.n = 3, .widths = {10, 8, 4}};
	static const uint32_t values[] = {0x2ab, 0xcd, 0x9};

	(void)state;
	assert_true(fwd_ev_layout_ok(&layout, 6));
	assert_int_equal(fwd_ev_make(&layout, values), 0xaaf36400);
	assert_int_equal(fwd_ev_field(&layout, 0xaaf36400, 0), 0x2ab);
	assert_int_equal(fwd_ev_field(&layout, 0xaaf36400, 1), 0xcd);
	assert_int_equal(fwd_ev_field(&layout, 0xaaf36400, 2), 0x9);
	assert_int_equal(fwd_ev_field(&layout, 0xaaf367ff, 2), 0x9);
	assert_int_equal(fwd_ev_field(&layout, 0x000003ff, 2), 0);
	assert_int_equal(fwd_ev_field(&layout, 0xffffffff, 0), 0x3ff);
}

static void ev_of_a_packet(void **state)
{
	struct fwd_view v = {.version = 6,
			     .protocol = 17,
			     .sport = 0xaaf3,
			     .dport = 4791,
			     .flow_label = 0xf6400};

	(void)state;
	assert_int_equal(fwd_ev_of(&v), 0xaaf36400);
	v.version = 4, v.flow_label = 0;
	assert_int_equal(fwd_ev_of(&v), 0xaaf30000);
	/* The source port of TCP is no entropy. */
	v.version = 6, v.flow_label = 0x12345, v.protocol = 6;
	assert_int_equal(fwd_ev_of(&v), 0x2345);
	/* That of native IP is. */
	v.protocol = 253;
	assert_int_equal(fwd_ev_of(&v), 0xaaf32345);
}

static void layouts_that_fit(void **state)
{
	static const struct {
		struct fwd_ev_layout layout;
		bool ok6, ok4;
	} table[] = {
		{{1, {1}}, true, true},
		{{1, {16}}, true, true},
		{{1, {17}}, false, false},
		{{1, {0}}, false, false},
		{{0, {4}}, false, false},
		{{2, {8, 8}}, true, true},
		{{2, {8, 9}}, true, false},
		{{2, {16, 16}}, true, false},
		{{3, {16, 15, 1}}, true, false},
		{{3, {16, 16, 1}}, false, false},
		{{3, {10, 8, 4}}, true, false},
		{{3, {5, 0, 5}}, false, false},
		{{8, {4, 4, 4, 4, 4, 4, 4, 4}}, true, false},
		{{8, {2, 2, 2, 2, 2, 2, 2, 2}}, true, true},
		{{9, {1, 1, 1, 1, 1, 1, 1, 1}}, false, false},
		{{255, {1, 1, 1, 1, 1, 1, 1, 1}}, false, false},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		assert_int_equal(fwd_ev_layout_ok(&table[i].layout, 6), table[i].ok6);
		assert_int_equal(fwd_ev_layout_ok(&table[i].layout, 4), table[i].ok4);
		assert_false(fwd_ev_layout_ok(&table[i].layout, 0));
	}
}

/* The EV as a string of 32 digits that the fields are cut from, one digit at a time. */
static void fields_agree_with_a_string_of_bits(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0x59e1), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		struct fwd_ev_layout layout = {.n = (uint8_t)prng_range(&p, 1, FWD_EV_HOPS_MAX)};
		uint32_t ev = prng_u32(&p), values[FWD_EV_HOPS_MAX], used = 0;

		for (uint32_t hop = 0; hop < layout.n; hop++)
			layout.widths[hop] = (uint8_t)prng_range(&p, 1, 16);
		if (!fwd_ev_layout_ok(&layout, 6))
			continue;
		for (uint32_t hop = 0; hop < layout.n; hop++) {
			values[hop] = 0;
			for (uint32_t k = 0; k < layout.widths[hop]; k++, used++)
				values[hop] = 2 * values[hop] + (ev >> (31 - used) & 1);
			assert_int_equal(fwd_ev_field(&layout, ev, hop), values[hop]);
		}
		assert_int_equal(fwd_ev_make(&layout, values),
				 used == 32 ? ev : ev & ~(UINT32_MAX >> used));
	}
}

static const struct fwd_ev_layout two = {.n = 2, .widths = {4, 4}};

static void field_beyond(void *context)
{
	(void)context;
	fwd_ev_field(&two, 0, 2);
}

static void value_beyond(void *context)
{
	(void)context;
	fwd_ev_make(&two, (const uint32_t[]){3, 16});
}

static void mistakes_abort(void **state)
{
	(void)state;
	assert_true(check_aborts(field_beyond, NULL));
	assert_true(check_aborts(value_beyond, NULL));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(known_hashes),
	cmocka_unit_test(only_chosen_fields_count),
	cmocka_unit_test(ports_are_filled_evenly),
	cmocka_unit_test(two_switches_choose_independently),
	cmocka_unit_test(every_bit_of_the_hash_is_good),
	cmocka_unit_test(picks),
	cmocka_unit_test(structured_ev_of_table_9_2),
	cmocka_unit_test(ev_of_a_packet),
	cmocka_unit_test(layouts_that_fit),
	cmocka_unit_test(fields_agree_with_a_string_of_bits),
	cmocka_unit_test(mistakes_abort),
};

CHECK_MAIN(cases)
