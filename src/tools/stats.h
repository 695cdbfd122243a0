/* Smallest, mean, percentiles and largest of many integers. A percentile is one of the values: the
 * smallest that so many of them do not exceed (the nearest rank). Which one is said in hundredths
 * of a percent, in [1, 10000]: 9990 is the 99.9th. */
#ifndef WEFT_TOOLS_STATS_H
#define WEFT_TOOLS_STATS_H

#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 stats_wide;

struct stats {
	uint64_t n, min, mean, p50, p99, max; /* all 0 without values; the mean is cut */
};

/* Sorts the values in place. */
struct stats stats_of(uint64_t *values, size_t n);

/* A percentile of values that are sorted; 0 without values. */
uint64_t stats_percentile(const uint64_t *sorted, size_t n, uint32_t which);

/* The bucket in which a percentile of counted things lies; 0 when nothing was counted. */
uint32_t stats_bucket(const uint64_t *counts, uint32_t n, uint32_t which);

/* a * b / c, cut; UINT64_MAX when it does not fit, 0 when c is 0. */
static inline uint64_t stats_scale(uint64_t a, uint64_t b, stats_wide c)
{
	stats_wide value = c ? (stats_wide)a * b / c : 0;

	return value < UINT64_MAX ? (uint64_t)value : UINT64_MAX;
}

#endif
