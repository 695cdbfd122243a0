/* Values as a person writes them: numbers, amounts, words; and settings, by what they say of
 * themselves. */
#include "config/inside.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit bytes_units[] = {
	{"", 1}, {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30}, {NULL, 0}};
static const struct unit rate_units[] = {{"", 1},
					 {"kb/s", 1000},
					 {"Mb/s", 1000000},
					 {"Gb/s", 1000000000},
					 {"Tb/s", UINT64_C(1000000000000)},
					 {NULL, 0}};

static const struct unit time_units[] = {
	{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0}};
static const char *const flag_words[] = {"off", "on", NULL};

bool config_wrong(struct config_why *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->at, sizeof why->at, format, args);
	va_end(args);
	return false;
}

static uint32_t digit_of(char c, uint32_t base)
{
	uint32_t digit = base;

	if (c >= '0' && c <= '9')
		digit = (uint32_t)(c - '0');
	else if (c >= 'a' && c <= 'f')
		digit = (uint32_t)(c - 'a') + 10;
	else if (c >= 'A' && c <= 'F')
		digit = (uint32_t)(c - 'A') + 10;
	return digit < base ? digit : base;
}

bool config_take_number(const char **at, uint64_t most, uint64_t *value)
{
	const char *p = *at;
	uint32_t base = 10;
	uint64_t v = 0;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		base = 16;
		p += 2;
	}
	const char *first = p;

	for (uint32_t digit; (digit = digit_of(*p, base)) < base; p++) {
		if (v > (most - digit) / base || digit > most)
			return false;
		v = v * base + digit;
	}
	if (p == first)
		return false;
	*at = p;
	*value = v;
	return true;
}

bool config_read_number(const char *text, uint64_t low, uint64_t high, uint64_t *value,
			struct config_why *why)
{
	const char *at = text;

	if (config_take_number(&at, high, value) && !*at && *value >= low)
		return true;
	return config_wrong(why, "give a number from %llu to %llu", (unsigned long long)low,
			    (unsigned long long)high);
}

/* A number and one of the units; false: anything else. */
static bool read_amount(const char *text, const struct unit *units, uint64_t most, uint64_t *value)
{
	const char *at = text;
	uint64_t v;

	if (!config_take_number(&at, most, &v))
		return false;
	at += strspn(at, " ");
	for (; units->name; units++) {
		if (strcmp(at, units->name) != 0)
			continue;
		*value = v * units->factor;
		return v <= most / units->factor;
	}
	return false;
}

/* The number of a word among some, "a, b or c". */
bool config_read_word(const char *value, const char *const *words, uint64_t *number,
		      struct config_why *why)
{
	char list[CONFIG_WHY_MAX / 2] = "";
	size_t len = 0;

	for (uint32_t i = 0; words[i]; i++) {
		if (!strcmp(words[i], value)) {
			*number = i;
			return true;
		}
	}
	for (uint32_t i = 0; words[i] && len < sizeof list; i++) {
		const char *between = i == 0 ? "" : words[i + 1] ? ", " : " or ";
		int n = snprintf(list + len, sizeof list - len, "%s%s", between, words[i]);

		len += n > 0 ? (size_t)n : 0;
	}
	return config_wrong(why, "give %s", list);
}

/* An amount in the largest unit of which it is a whole number. */
static void say_amount(char *text, size_t len, const struct unit *units, uint64_t amount)
{
	const struct unit *best = units;

	for (const struct unit *u = units; amount && u->name; u++)
		if (amount % u->factor == 0)
			best = u;
	snprintf(text, len, "%" PRIu64 "%s", amount / best->factor, best->name);
}

static bool read_bounded(const struct setting *k, const char *text, const struct unit *units,
			 uint64_t *value, struct config_why *why)
{
	char least[32], most[32];

	if (read_amount(text, units, k->most, value) && *value >= k->least)
		return true;
	say_amount(least, sizeof least, units, k->least);
	say_amount(most, sizeof most, units, k->most);
	if (k->unit == UNIT_BYTES)
		return config_wrong(why, "give bytes, %s to %s; KiB, MiB and GiB may follow", least,
				    most);
	return config_wrong(why, "give a time, %s to %s, with ns, us, ms or s behind it", least,
			    most);
}

static bool read_rate(const struct setting *k, const char *text, uint64_t *value,
		      struct config_why *why)
{
	if (read_amount(text, rate_units, k->most, value) && *value >= k->least)
		return true;
	return config_wrong(why, "give bits per second, from %" PRIu64 " on, or say 100Gb/s",
			    k->least);
}

bool config_read_setting(const struct setting *k, const char *text, void *to,
			 struct config_why *why)
{
	uint64_t v = 0;
	bool is_good;

	switch ((enum setting_unit)k->unit) {
	case UNIT_BYTES: is_good = read_bounded(k, text, bytes_units, &v, why); break;
	case UNIT_TIME: is_good = read_bounded(k, text, time_units, &v, why); break;
	case UNIT_RATE: is_good = read_rate(k, text, &v, why); break;
	case UNIT_FLAG:
	case UNIT_NO_FLAG: is_good = config_read_word(text, flag_words, &v, why); break;
	case UNIT_WORD: is_good = config_read_word(text, k->words, &v, why); break;
	default: is_good = config_read_number(text, k->least, k->most, &v, why);
	}
	if (!is_good)
		return false;
	if (k->unit == UNIT_NO_FLAG)
		v = !v;
	if (k->unit == UNIT_COUNT_OR_NONE && !v)
		v = UINT64_MAX;
	setting_put(k, to, v);
	return true;
}

void config_print_setting(const struct setting *k, const void *from, struct config_page *page)
{
	uint64_t v = setting_get(k, from);

	if (k->unit == UNIT_WORD)
		config_add(page, "%s", k->words[v]);
	else if (k->unit == UNIT_FLAG || k->unit == UNIT_NO_FLAG)
		config_add(page, "%s", flag_words[(k->unit == UNIT_FLAG) == (v != 0)]);
	else if (k->unit == UNIT_COUNT_OR_NONE && v > k->most)
		config_add(page, "0");
	else
		config_add(page, "%" PRIu64 "%s", v, k->unit == UNIT_TIME ? "ns" : "");
}

void config_add(struct config_page *page, const char *format, ...)
{
	size_t used = page->len < page->room ? page->len : page->room;
	va_list args;

	va_start(args, format);
	int n = vsnprintf(page->at + used, page->room - used, format, args);

	va_end(args);
	page->len += n > 0 ? (size_t)n : 0;
}
