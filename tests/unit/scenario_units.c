#include "scenario/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"

struct good {
	enum units_kind kind;
	const char *text;
	uint64_t value;
};

static void known(void **state)
{
	static const struct good table[] = {
		{UNITS_COUNT, "0", 0},
		{UNITS_COUNT, "128", 128},
		{UNITS_COUNT, "999999999999999999", UINT64_C(999999999999999999)},
		{UNITS_COUNT, "9999999999999999999", UINT64_C(9999999999999999999)},
		{UNITS_COUNT, "18446744073709551615", UINT64_MAX},
		{UNITS_COUNT, "000018446744073709551615", UINT64_MAX},
		{UNITS_COUNT, "3.000", 3},
		{UNITS_BYTES, "4096", 4096},
		{UNITS_BYTES, "0", 0},
		{UNITS_BYTES, "1B", 1},
		{UNITS_BYTES, "4KiB", 4096},
		{UNITS_BYTES, "1.5 KiB", 1536},
		{UNITS_BYTES, "0.5KB", 500},
		{UNITS_BYTES, "2kB", 2000},
		{UNITS_BYTES, "2MB", 2000000},
		{UNITS_BYTES, "2MiB", 2097152},
		{UNITS_BYTES, "1GB", 1000000000},
		{UNITS_BYTES, "3GiB", UINT64_C(3221225472)},
		{UNITS_BYTES, "0.0009765625MiB", 1024},
		{UNITS_TIME, "0", 0},
		{UNITS_TIME, "0.0", 0},
		{UNITS_TIME, "1ps", 1},
		{UNITS_TIME, "1.5us", 1500000},
		{UNITS_TIME, "0.001ns", 1},
		{UNITS_TIME, "0.100ns", 100},
		{UNITS_TIME, "10 ms", UINT64_C(10000000000)},
		{UNITS_TIME, "2s", UINT64_C(2000000000000)},
		{UNITS_TIME, "3\xc2\xb5s", 3000000},
		{UNITS_RATE, "400Gbps", UINT64_C(400000000000)},
		{UNITS_RATE, "1.6Tbps", UINT64_C(1600000000000)},
		{UNITS_RATE, "100Gb/s", UINT64_C(100000000000)},
		{UNITS_RATE, "56kbps", 56000},
		{UNITS_CHANCE, "1%", 10000},
		{UNITS_CHANCE, "0.01%", 100},
		{UNITS_CHANCE, "0.0001%", 1},
		{UNITS_CHANCE, "25ppm", 25},
		{UNITS_CHANCE, "0", 0},
		{UNITS_RATIO, "1.5", 1500000},
		{UNITS_RATIO, "2", 2000000},
		{UNITS_BDP, "1.5bdp", 1500000},
		{UNITS_BDP, "0.2bdp", 200000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		uint64_t value = 77;
		const char *problem = units_read(table[i].kind, table[i].text, &value);

		if (problem || value != table[i].value)
			fail_msg("%s: %s, %" PRIu64, table[i].text, problem ? problem : "read",
				 value);
	}
}

static void refused(void **state)
{
	static const struct {
		enum units_kind kind;
		const char *text, *problem;
	} table[] = {
		{UNITS_COUNT, "", "is empty"},
		{UNITS_COUNT, "x", "is not a number"},
		{UNITS_COUNT, "1x", "is not a number"},
		{UNITS_COUNT, "-1", "is negative"},
		{UNITS_COUNT, "1.5", "is not a whole number"},
		{UNITS_COUNT, "+1", "is not a number"},
		{UNITS_COUNT, ".5", "is not a number"},
		{UNITS_COUNT, "1.", "has no digit behind the point"},
		{UNITS_COUNT, "18446744073709551616", "is too large"},
		{UNITS_COUNT, "18446744073709551620", "is too large"},
		{UNITS_COUNT, "1000000000000000000000", "is too large"},
		{UNITS_COUNT, "18446744073709551615.5", "has too many digits"},
		{UNITS_BYTES, "1KIB", "has an unknown unit"},
		{UNITS_BYTES, "0.3KiB", "is not a whole number of bytes"},
		{UNITS_BYTES, "-4KiB", "is negative"},
		{UNITS_BYTES, "99999999999999999GiB", "is too large"},
		{UNITS_TIME, "10", "needs a unit"},
		{UNITS_TIME, "10m", "has an unknown unit"},
		{UNITS_TIME, "0.5ps", "is not a whole number of picoseconds"},
		{UNITS_TIME, "0.0000000000000000001s", "has too many digits"},
		{UNITS_TIME, "1us 2", "has an unknown unit"},
		{UNITS_RATE, "400", "needs a unit"},
		{UNITS_RATE, "0", "needs a unit"},
		{UNITS_RATE, "400GBps", "has an unknown unit"},
		{UNITS_CHANCE, "0.5", "needs a unit"},
		{UNITS_CHANCE, "0.00001%", "is finer than a millionth"},
		{UNITS_RATIO, "2x", "is not a number"},
		{UNITS_BDP, "2", "needs a unit"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		uint64_t value = 77;
		const char *problem = units_read(table[i].kind, table[i].text, &value);

		if (!problem || strcmp(problem, table[i].problem) != 0)
			fail_msg("%s: %s", table[i].text, problem ? problem : "was read");
		assert_int_equal(value, 77);
	}
}

/* Every number of picoseconds, written with any unit and as many digits as it needs, comes back. */
static void exact(void **state)
{
	static const struct {
		const char *name;
		uint64_t factor;
		int digits;
	} units[] = {{"ps", 1, 0}, {"ns", 1000, 3}, {"us", 1000000, 6}, {"ms", 1000000000, 9}};
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(41), 0);
	for (uint32_t round = 0; round < 20000; round++) {
		uint32_t u = (uint32_t)prng_below(&p, 4);
		uint64_t want = prng_u64(&p) >> prng_range(&p, 5, 60), value = 0;
		char text[64];

		want %= UINT64_C(100000000000000000);
		if (units[u].digits == 0)
			snprintf(text, sizeof text, "%" PRIu64 "ps", want);
		else
			snprintf(text, sizeof text, "%" PRIu64 ".%0*" PRIu64 "%s",
				 want / units[u].factor, units[u].digits, want % units[u].factor,
				 units[u].name);
		assert_null(units_read(UNITS_TIME, text, &value));
		assert_int_equal(value, want);
	}
}

/* What is written is read back as the same number. */
static void written(void **state)
{
	static const struct good table[] = {
		{UNITS_TIME, "1500ns", 1500000},
		{UNITS_TIME, "0", 0},
		{UNITS_RATE, "400Gbps", UINT64_C(400000000000)},
		{UNITS_BYTES, "4KiB", 4096},
		{UNITS_BYTES, "1001B", 1001},
		{UNITS_CHANCE, "1%", 10000},
		{UNITS_CHANCE, "123ppm", 123},
		{UNITS_COUNT, "7", 7},
		{UNITS_RATIO, "1.500000", 1500000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		char text[40];
		uint64_t value = 0;

		units_write(table[i].kind, table[i].value, text, sizeof text);
		assert_string_equal(text, table[i].text);
		assert_null(units_read(table[i].kind, text, &value));
		assert_int_equal(value, table[i].value);
	}
	assert_true(units_is_bdp("1.5bdp") && units_is_bdp("bdp"));
	assert_false(units_is_bdp("1.5b") || units_is_bdp(""));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(known),
	cmocka_unit_test(refused),
	cmocka_unit_test(exact),
	cmocka_unit_test(written),
};

CHECK_MAIN(cases)
