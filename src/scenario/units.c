#include "scenario/units.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/psec.h"

/* Behind the point: 10 to that power is a uint64_t. */
#define SCALE_MAX 17u

struct unit {
	const char *name;
	uint64_t factor;
};

/* The first name of each factor is the one units_write uses. */
static const struct unit none[] = {{"", 1}, {NULL, 0}};
static const struct unit bytes[] = {
	{"GiB", UINT64_C(1) << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", UINT64_C(1000000000000)},
	{"GB", 1000000000},
	{"MB", 1000000},
	{"KB", 1000},
	{"kB", 1000},
	{"B", 1},
	{"", 1},
	{NULL, 0},
};
static const struct unit times[] = {
	{"s", PSEC_S},          {"ms", PSEC_MS}, {"us", PSEC_US}, {"\xc2\xb5s", PSEC_US},
	{"\xce\xbcs", PSEC_US}, {"ns", PSEC_NS}, {"ps", 1},       {NULL, 0},
};
static const struct unit rates[] = {
	{"Tbps", UINT64_C(1000000000000)},
	{"Gbps", 1000000000},
	{"Mbps", 1000000},
	{"kbps", 1000},
	{"Kbps", 1000},
	{"bps", 1},
	{"Tb/s", UINT64_C(1000000000000)},
	{"Gb/s", 1000000000},
	{"Mb/s", 1000000},
	{"kb/s", 1000},
	{"b/s", 1},
	{NULL, 0},
};
static const struct unit chances[] = {{"%", 10000}, {"ppm", 1}, {NULL, 0}};
static const struct unit ratios[] = {{"", 1000000}, {NULL, 0}};
static const struct unit bdps[] = {{"bdp", 1000000}, {"BDP", 1000000}, {NULL, 0}};

struct kind {
	const struct unit *units;
	const char *like, *smallest;
};

static const struct kind kinds[] = {
	[UNITS_COUNT] = {none, "a whole number", "is not a whole number"},
	[UNITS_BYTES] = {bytes, "a size like 4KiB or 2MB (B, KB, KiB, MB, MiB, GB, GiB)",
			 "is not a whole number of bytes"},
	[UNITS_TIME] = {times, "a time like 1.5us (ps, ns, us, ms or s)",
			"is not a whole number of picoseconds"},
	[UNITS_RATE] = {rates, "a rate like 400Gbps (bps, kbps, Mbps, Gbps or Tbps)",
			"is not a whole number of bits per second"},
	[UNITS_CHANCE] = {chances, "a chance like 1% or 100ppm", "is finer than a millionth"},
	[UNITS_RATIO] = {ratios, "a number like 2 or 1.5", "is finer than a millionth"},
	[UNITS_BDP] = {bdps, "a multiple like 1.5bdp", "is finer than a millionth"},
};

/* A decimal number: digits / 10^scale. */
struct decimal {
	uint64_t digits;
	uint32_t scale;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static uint64_t power_of_ten(uint32_t n)
{
	uint64_t power = 1;

	while (n-- > 0)
		power *= 10;
	return power;
}

/* Appends one digit; false when there is no room for it. */
static bool push_digit(struct decimal *d, char c)
{
	return !__builtin_mul_overflow(d->digits, UINT64_C(10), &d->digits) &&
	       !__builtin_add_overflow(d->digits, (uint64_t)(c - '0'), &d->digits);
}

/* Reads digits, a point and more digits at *text and moves it behind them. */
static const char *read_decimal(const char **text, struct decimal *d)
{
	const char *at = *text;
	uint32_t zeros = 0;

	*d = (struct decimal){0, 0};
	for (; is_digit(*at); at++)
		if (!push_digit(d, *at))
			return "is too large";
	if (*at == '.') {
		at++;
		if (!is_digit(*at))
			return "has no digit behind the point";
		/* Zeros at the end mean nothing and must not use up the room. */
		for (; is_digit(*at); at++) {
			if (*at == '0') {
				zeros++;
				continue;
			}
			for (; zeros > 0; zeros--, d->scale++)
				if (d->scale >= SCALE_MAX || !push_digit(d, '0'))
					return "has too many digits";
			if (d->scale >= SCALE_MAX || !push_digit(d, *at))
				return "has too many digits";
			d->scale++;
		}
	}
	*text = at;
	return NULL;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b > 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* digits * factor / 10^scale, when that is a whole number. */
static const char *multiply(struct decimal d, uint64_t factor, const char *not_whole,
			    uint64_t *value)
{
	uint64_t tens = power_of_ten(d.scale), common = common_divisor(tens, factor);

	if (d.digits % (tens / common) != 0)
		return not_whole;
	if (__builtin_mul_overflow(d.digits / (tens / common), factor / common, value))
		return "is too large";
	return NULL;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
	for (; units->name; units++)
		if (strcmp(units->name, name) == 0)
			return units;
	return NULL;
}

const char *units_read(enum units_kind kind, const char *text, uint64_t *value)
{
	const struct kind *k = &kinds[kind];
	struct decimal number;
	uint64_t result = 0;

	if (*text == '-')
		return "is negative";
	if (!is_digit(*text))
		return *text == '\0' ? "is empty" : "is not a number";
	const char *problem = read_decimal(&text, &number);

	if (problem)
		return problem;
	while (*text == ' ')
		text++;
	const struct unit *unit = find_unit(k->units, text);

	if (!unit && *text == '\0' && number.digits == 0 && kind != UNITS_RATE && kind != UNITS_BDP)
		unit = &none[0];
	if (!unit) {
		if (*text == '\0')
			return "needs a unit";
		return kind == UNITS_COUNT || kind == UNITS_RATIO ? "is not a number"
								  : "has an unknown unit";
	}
	problem = multiply(number, unit->factor, k->smallest, &result);
	if (!problem)
		*value = result;
	return problem;
}

const char *units_like(enum units_kind kind)
{
	return kinds[kind].like;
}

void units_write(enum units_kind kind, uint64_t value, char *text, uint32_t text_len)
{
	const struct unit *unit = kinds[kind].units;

	if (value == 0 && (kind == UNITS_TIME || kind == UNITS_BYTES)) {
		snprintf(text, text_len, "0");
		return;
	}
	while (value % unit->factor != 0 && unit[1].name)
		unit++;
	if (value % unit->factor == 0)
		snprintf(text, text_len, "%" PRIu64 "%s", value / unit->factor, unit->name);
	else
		snprintf(text, text_len, "%" PRIu64 ".%06" PRIu64 "%s", value / 1000000,
			 value % 1000000, unit->name);
}

bool units_is_bdp(const char *text)
{
	size_t len = strlen(text);

	return len >= 3 &&
	       (strcmp(text + len - 3, "bdp") == 0 || strcmp(text + len - 3, "BDP") == 0);
}
