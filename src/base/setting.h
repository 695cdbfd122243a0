/* Settings that a person writes down, as data: what each is called, what may stand behind it, and
 * where in a struct it goes. Who reads a language of files, options or variables goes through such
 * a list, and need not know what the settings mean. */
#ifndef WEFT_BASE_SETTING_H
#define WEFT_BASE_SETTING_H

#include <stdint.h>

enum setting_unit {
	UNIT_COUNT,
	UNIT_COUNT_OR_NONE, /* 0 is kept as all ones: for places where 0 says nothing */
	UNIT_BYTES,
	UNIT_TIME,     /* in nanoseconds */
	UNIT_RATE,     /* in bits a second */
	UNIT_FRACTION, /* a number in fixed point, the nearest that is not 0; its bounds are whole
			*/
	UNIT_FLAG,
	UNIT_NO_FLAG, /* the opposite of what it says is kept */
	UNIT_WORD,    /* one of some words, by its place among them */
};

struct setting {
	const char *name;
	const char *old; /* what it was called before; NULL: nothing else */
	uint8_t unit;    /* enum setting_unit */
	uint8_t bits;    /* UNIT_FRACTION: behind the point */
	uint8_t bytes;   /* 1, 2, 4 or 8: where it goes is a number of so many, ... */
	uint16_t place;  /* ... so far from the beginning */
	uint64_t least, most, fallback;
	const char *const *words; /* UNIT_WORD; NULL behind the last */
};

/* Where a member of a struct is. */
#define SETTING_AT(type, member) \
	.bytes = sizeof(((type *)0)->member), .place = (uint16_t) __builtin_offsetof(type, member)

struct settings {
	const struct setting *at;
	uint32_t n;
};

void setting_put(const struct setting *k, void *to, uint64_t value);
uint64_t setting_get(const struct setting *k, const void *from);

#endif
