/* Numbers as people write them: "1.5us", "400Gbps", "4KiB", "0.01%", "1.5bdp". Everything is exact:
 * digits are kept as integers, and what is no whole number of the smallest unit is refused, never
 * rounded. Readers of configuration call this. */
#ifndef WEFT_SCENARIO_UNITS_H
#define WEFT_SCENARIO_UNITS_H

#include <stdbool.h>
#include <stdint.h>

enum units_kind {
	UNITS_COUNT,  /* a whole number, no unit */
	UNITS_BYTES,  /* bytes; KB is 1000, KiB 1024; a bare number is bytes */
	UNITS_TIME,   /* picoseconds; only 0 may do without a unit */
	UNITS_RATE,   /* bits per second; a unit is needed */
	UNITS_CHANCE, /* millionths: "1%", "100ppm"; only 0 may do without a unit */
	UNITS_RATIO,  /* millionths: "1.5" */
	UNITS_BDP,    /* millionths of a bandwidth-delay product: "1.5bdp" */
};

/* Reads all of text. NULL and the number in *value, or what is wrong with the text in a few words
 * ("needs a unit", "is negative"); *value is left alone then. */
const char *units_read(enum units_kind kind, const char *text, uint64_t *value);

/* What would be right: "a time like 1.5us (ps, ns, us, ms or s)". */
const char *units_like(enum units_kind kind);

/* Writes value as a person would, with the largest unit that keeps it whole: "1500ns", "400Gbps".
 */
void units_write(enum units_kind kind, uint64_t value, char *text, uint32_t text_len);

/* True when the text ends in "bdp". */
bool units_is_bdp(const char *text);

#endif
