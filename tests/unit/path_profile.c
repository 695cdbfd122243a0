/* Entropy values: what the fields of a format make of a number, which profiles are good, and that
 * their EVs are as many as wanted, none twice, and spread over the ports. */
#include "path/profile.h"

#include <string.h>

#include "base/prng.h"
#include "check.h"

static uint64_t memory[PATH_EVS_MAX * 2];

/* Table 9-2: hops of 10, 8 and 4 bits. */
static const struct path_field hops[] = {
	{10, 0, 0x3ff, 0, 0x3ff},
	{8, 0, 0xff, 16, 31},
	{4, 0, 0xf, 1, 1},
};

static const struct path_format three = {PATH_STRUCTURED, hops, 3};

static void fields_in_their_places(void **state)
{
	uint8_t value[PATH_VALUE_BYTES];
	uint64_t n = 0;

	(void)state;
	assert_int_equal(path_format_check(&three, &n), PATH_OK);
	assert_int_equal(n, 1024 * 16);
	/* The last field that varies counts fastest. */
	assert_int_equal(path_format_ev(&three, 0), 0 << 22 | 16 << 14 | 1 << 10);
	assert_int_equal(path_format_ev(&three, 1), 0 << 22 | 17 << 14 | 1 << 10);
	assert_int_equal(path_format_ev(&three, 16 * 0x2a5u + 3),
			 0x2a5u << 22 | 19 << 14 | 1 << 10);
	path_format_value(&three, 16 * 0x2a5u + 3, value);
	static const uint8_t wanted[] = {0xa9, 0x44, 0xc4, 0x00, 0};

	assert_memory_equal(value, wanted, sizeof wanted);
	/* ECMP: the source port, which is the upper half. */
	const struct path_field port[] = {{2, 3, 0, 0, 0}, {14, 0, 0x3fff, 5, 0x3fff}};
	const struct path_format ecmp = {PATH_ECMP, port, 2};

	assert_int_equal(path_format_check(&ecmp, &n), PATH_OK);
	assert_int_equal(n, 0x3fff - 4);
	assert_int_equal(path_format_ev(&ecmp, 2), 0xc0070000);
}

/* A mask takes bits of the number in their order and leaves the others as they are. */
static void masks(void **state)
{
	const struct path_field f[] = {{8, 0xa5, 0x3c, 0, 15}, {12, 0xfff, 0x801, 1, 2}};
	const struct path_format format = {PATH_STRUCTURED, f, 2};
	uint8_t bare[PATH_VALUE_BYTES] = {0}, value[PATH_VALUE_BYTES], other[PATH_VALUE_BYTES];
	uint64_t n = 0;

	(void)state;
	assert_int_equal(path_format_check(&format, &n), PATH_OK);
	assert_int_equal(n, 16 * 2);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t a = i / 2, b = 1 + i % 2;
		uint32_t first = (0xa5u & ~0x3cu) | a << 2;
		uint32_t second = (0xfffu & ~0x801u) | (b & 2) << 10 | (b & 1);

		path_format_value(&format, i, value);
		assert_int_equal(value[0], first);
		assert_int_equal(value[1], second >> 4);
		assert_int_equal(value[2], (second & 15) << 4);
		assert_int_equal(path_format_ev(&format, i), first << 24 | second << 12);
		/* In short: four bits of the first field, two of the second. */
		bare[0] = (uint8_t)(a << 4 | b << 2);
		path_format_expand(&format, bare, other);
		assert_memory_equal(value, other, sizeof value);
	}
}

/* Wide ones are named by the number of their combination. */
static void wide(void **state)
{
	struct path_field usid[16];
	const struct path_format f = {PATH_USID_SRH, usid, 16};
	uint8_t value[PATH_VALUE_BYTES];
	uint64_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < 16; i++)
		usid[i] = (struct path_field){16, 0xe000 + i, i % 8 == 7 ? 0xff : 0, 0, 0};
	usid[7].max = 3;
	usid[15].max = 9;
	assert_int_equal(path_format_check(&f, &n), PATH_OK);
	assert_int_equal(n, 40);
	assert_int_equal(path_format_ev(&f, 23), 23);
	path_format_value(&f, 23, value);
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t low = i == 7 ? 2 : i == 15 ? 3 : i;

		assert_int_equal(value[2 * i], 0xe0);
		assert_int_equal(value[2 * i + 1], low);
	}
}

static void bad_formats(void **state)
{
	static const struct {
		enum path_encoding encoding;
		uint32_t n;
		struct path_field f[3];
		enum path_error error;
	} cases[] = {
		{PATH_ECMP, 0, {{8, 0, 0xff, 0, 255}}, PATH_BAD_ENCODING},
		{PATH_ECMP, PATH_FIELDS_MAX + 1, {{8, 0, 0xff, 0, 255}}, PATH_BAD_ENCODING},
		{PATH_ENCODINGS, 1, {{8, 0, 0xff, 0, 255}}, PATH_BAD_ENCODING},
		{PATH_ECMP, 1, {{0, 0, 0, 0, 0}}, PATH_BAD_WIDTH},
		{PATH_USID, 1, {{33, 0, 0, 0, 0}}, PATH_BAD_WIDTH},
		{PATH_ECMP, 1, {{16, 0, 0xffff, 0, 0xffff}}, PATH_OK},
		{PATH_ECMP, 2, {{16, 0, 0, 0, 0}, {1, 0, 0, 0, 0}}, PATH_TOO_WIDE},
		{PATH_STRUCTURED, 1, {{32, 0, UINT32_MAX, 0, UINT32_MAX}}, PATH_OK},
		{PATH_STRUCTURED, 2, {{32, 0, 0, 0, 0}, {1, 0, 0, 0, 0}}, PATH_TOO_WIDE},
		{PATH_STRUCTURED, 1, {{8, 256, 0, 0, 0}}, PATH_BAD_FIELD},
		{PATH_STRUCTURED, 1, {{8, 0, 256, 0, 0}}, PATH_BAD_FIELD},
		{PATH_STRUCTURED, 1, {{8, 0, 0xff, 2, 1}}, PATH_BAD_RANGE},
		{PATH_STRUCTURED, 1, {{8, 0, 0xff, 0, 256}}, PATH_BAD_RANGE},
		{PATH_STRUCTURED, 1, {{8, 0, 0x70, 0, 8}}, PATH_BAD_RANGE},
		{PATH_STRUCTURED, 1, {{8, 0, 0x70, 0, 7}}, PATH_OK},
		{PATH_USID,
		 2,
		 {{32, 0, UINT32_MAX, 0, UINT32_MAX}, {1, 0, 1, 0, 1}},
		 PATH_TOO_VARIED},
		{PATH_USID,
		 3,
		 {{32, 0, UINT32_MAX, 0, UINT32_MAX},
		  {32, 0, UINT32_MAX, 0, UINT32_MAX},
		  {1, 0, 0, 0, 0}},
		 PATH_TOO_VARIED},
		{PATH_USID, 2, {{32, 0, UINT32_MAX, 0, UINT32_MAX}, {32, 9, 0, 0, 0}}, PATH_OK},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct path_format f = {cases[i].encoding, cases[i].f, cases[i].n};
		uint64_t n;

		assert_int_equal(path_format_check(&f, &n), cases[i].error);
	}
	for (uint32_t i = 0; i < PATH_ERRORS; i++)
		assert_non_null(path_error_name((enum path_error)i));
	static const uint32_t bits[] = {16, 32, 128, 256, 0};

	for (uint32_t i = 0; i <= PATH_ENCODINGS; i++)
		assert_int_equal(path_encoding_bits((enum path_encoding)i), bits[i]);
}

/* As many EVs as said, grouped by port, each port with its share, no value twice, all found. */
static void check_set(const struct path_profile *f, uint32_t n, uint32_t ports)
{
	uint32_t n_ports = (uint32_t)__builtin_popcount(ports), last = 0;

	assert_int_equal(f->set.n, n);
	assert_int_equal(f->set.ports, n < n_ports ? f->set.ports & ports : ports);
	for (uint32_t port = 0; port < PATH_PORTS; port++) {
		uint32_t share = f->first[port + 1] - (uint32_t)f->first[port];

		assert_int_equal(f->first[port], last);
		last = f->first[port + 1];
		assert_true(ports >> port & 1
				    ? share >= n / n_ports && share <= (n + n_ports - 1) / n_ports
				    : share == 0);
		for (uint32_t i = f->first[port]; i < last; i++) {
			assert_int_equal(f->set.evs[i].port, port);
			assert_int_equal(path_profile_find(f, f->set.evs[i].value, port), i);
			assert_int_equal(path_profile_find(f, f->set.evs[i].value, PATH_ANY_PORT),
					 i);
			assert_int_equal(path_profile_find(f, f->set.evs[i].value, port + 1),
					 PATH_NONE);
			assert_int_equal(path_profile_copy(f, i), PATH_NONE);
		}
	}
	assert_int_equal(last, n);
}

static void automatic(void **state)
{
	static const uint32_t ports[] = {1, 0xff, 0x07, 0x92, 0x80};
	static const uint32_t counts[] = {0, 1, 5, 64, 250, PATH_EVS_MAX};
	uint64_t seed = check_seed(41);
	struct path_profile f, g;
	static uint64_t other[PATH_EVS_MAX * 2];

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t k = 0; k < 6; k++) {
			struct path_wanted w = {counts[k], ports[i], seed + i};
			uint32_t n = w.n ? w.n : path_profile_default(w.ports);

			assert_true(path_profile_size(w.n) <= sizeof memory);
			assert_int_equal(path_profile_auto(&f, memory, &w), PATH_OK);
			check_set(&f, n, w.ports);
			assert_int_equal(f.min_active, 1);
			for (uint32_t ev = 0; ev < n; ev++)
				assert_true(f.set.evs[ev].value >= 0xc0000000);
			/* The seed says which, and nothing else. */
			assert_int_equal(path_profile_auto(&g, other, &w), PATH_OK);
			assert_memory_equal(f.set.evs, g.set.evs, n * sizeof *f.set.evs);
			w.seed ^= 1;
			assert_int_equal(path_profile_auto(&g, other, &w), PATH_OK);
			assert_memory_not_equal(f.set.evs, g.set.evs, n * sizeof *f.set.evs);
		}
	assert_int_equal(path_profile_default(0xff), 128);
	assert_int_equal(path_profile_default(0x7), 129);
	assert_int_equal(path_profile_default(0x1f), 130);
	assert_int_equal(path_profile_auto(&f, memory, &(struct path_wanted){8, 0, 1}),
			 PATH_BAD_PORT);
	assert_int_equal(path_profile_auto(&f, memory, &(struct path_wanted){8, 0x101, 1}),
			 PATH_BAD_PORT);
	assert_int_equal(
		path_profile_auto(&f, memory, &(struct path_wanted){PATH_EVS_MAX + 1, 1, 1}),
		PATH_TOO_MANY);
}

static void explicit_ones(void **state)
{
	static struct path_ev evs[PATH_EVS_MAX + 1];
	struct path_profile f;

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		evs[i] = (struct path_ev){100 - i, i * 5 % 4};
	assert_int_equal(path_profile_explicit(&f, memory, evs, 0), PATH_NO_EVS);
	assert_int_equal(path_profile_explicit(&f, memory, evs, PATH_EVS_MAX + 1), PATH_TOO_MANY);
	assert_int_equal(path_profile_explicit(&f, memory, evs, 10), PATH_OK);
	check_set(&f, 10, 15);
	assert_true(path_profile_is_split(&f));
	/* In their order within a port. */
	static const uint32_t order[] = {100, 96, 92, 99, 95, 91, 98, 94, 97, 93};

	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(f.set.evs[i].value, order[i]);
	assert_int_equal(path_profile_find(&f, 90, PATH_ANY_PORT), PATH_NONE);
	evs[9].port = PATH_PORTS;
	assert_int_equal(path_profile_explicit(&f, memory, evs, 10), PATH_BAD_PORT);
	/* Copies, and the same value behind two ports. */
	for (uint32_t i = 0; i < PATH_EVS_MAX; i++)
		evs[i] = (struct path_ev){7, i % 3};
	assert_int_equal(path_profile_explicit(&f, memory, evs, PATH_EVS_MAX), PATH_OK);
	assert_false(path_profile_is_split(&f));
	for (uint32_t port = 0; port < 3; port++) {
		uint32_t n = 0;

		for (uint32_t ev = path_profile_find(&f, 7, port); ev != PATH_NONE;
		     ev = path_profile_copy(&f, ev), n++)
			assert_int_equal(ev, f.first[port] + n);
		assert_int_equal(n, f.first[port + 1] - f.first[port]);
	}
	assert_int_equal(path_profile_find(&f, 7, 3), PATH_NONE);
	assert_int_equal(path_profile_set_min_active(&f, PATH_EVS_MAX + 1), PATH_TOO_MANY);
	assert_int_equal(path_profile_set_min_active(&f, PATH_EVS_MAX), PATH_OK);
	assert_int_equal(f.min_active, PATH_EVS_MAX);
	assert_int_equal(path_profile_set_min_active(&f, 0), PATH_OK);
	assert_int_equal(f.min_active, 1);
}

static void generated(void **state)
{
	uint64_t seed = check_seed(42);
	struct path_profile f;

	(void)state;
	for (uint32_t n = 0; n <= PATH_EVS_MAX; n = n * 3 + 1) {
		struct path_wanted w = {n, 0xff, seed};
		uint32_t hop0[16] = {0};

		assert_int_equal(path_profile_generated(&f, memory, &three, &w), PATH_OK);
		check_set(&f, n ? n : 128, 0xff);
		for (uint32_t i = 0; i < f.set.n; i++) {
			uint32_t ev = f.set.evs[i].value;

			assert_in_range(ev >> 14 & 0xff, 16, 31);
			assert_int_equal(ev & 0x3fff, 1 << 10);
			hop0[ev >> 28]++;
		}
		/* Drawn from everywhere. */
		for (uint32_t i = 0; i < 16 && n > 300; i++)
			assert_in_range(hop0[i], n / 32, n / 8);
	}
	/* Fewer combinations than wanted: all of them. */
	struct path_field few = {5, 0, 0x1f, 2, 21};
	const struct path_format format = {PATH_ECMP, &few, 1};
	uint32_t seen = 0;

	assert_int_equal(
		path_profile_generated(&f, memory, &format, &(struct path_wanted){64, 0x5, seed}),
		PATH_OK);
	check_set(&f, 20, 5);
	for (uint32_t i = 0; i < 20; i++)
		seen |= UINT32_C(1) << (f.set.evs[i].value >> 27);
	assert_int_equal(seen, 0x3ffffc);
	few.max = 32;
	assert_int_equal(
		path_profile_generated(&f, memory, &format, &(struct path_wanted){64, 0x5, seed}),
		PATH_BAD_RANGE);
	/* The whole 32 bits. */
	few = (struct path_field){32, 0, UINT32_MAX, 0, UINT32_MAX};
	const struct path_format all = {PATH_STRUCTURED, &few, 1};

	assert_int_equal(
		path_profile_generated(&f, memory, &all, &(struct path_wanted){256, 0xff, seed}),
		PATH_OK);
	check_set(&f, 256, 0xff);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(fields_in_their_places),
	cmocka_unit_test(masks),
	cmocka_unit_test(wide),
	cmocka_unit_test(bad_formats),
	cmocka_unit_test(automatic),
	cmocka_unit_test(explicit_ones),
	cmocka_unit_test(generated),
};

CHECK_MAIN(cases)
