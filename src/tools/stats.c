#include "tools/stats.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* From 1 to n. */
static uint64_t rank_of(uint64_t n, uint32_t which)
{
	return (uint64_t)(((stats_wide)n * which + 9999) / 10000);
}

uint64_t stats_percentile(const uint64_t *sorted, size_t n, uint32_t which)
{
	return n ? sorted[rank_of(n, which) - 1] : 0;
}

struct stats stats_of(uint64_t *values, size_t n)
{
	stats_wide sum = 0;

	if (n == 0)
		return (struct stats){0};
	qsort(values, n, sizeof *values, by_value);
	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return (struct stats){
		.n = n,
		.min = values[0],
		.mean = (uint64_t)(sum / n),
		.p50 = stats_percentile(values, n, 5000),
		.p99 = stats_percentile(values, n, 9900),
		.max = values[n - 1],
	};
}

uint32_t stats_bucket(const uint64_t *counts, uint32_t n, uint32_t which)
{
	uint64_t all = 0, seen = 0;

	for (uint32_t i = 0; i < n; i++)
		all += counts[i];
	for (uint32_t i = 0; i < n && all; i++) {
		seen += counts[i];
		if (seen >= rank_of(all, which))
			return i;
	}
	return 0;
}
