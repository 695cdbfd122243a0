#include "tools/amount.h"

#include <inttypes.h>
#include <stdio.h>

/* units ends with NULL; the first one is whole. */
static struct amount scaled(uint64_t value, const char *const *units)
{
	struct amount a;
	uint64_t scale = 1;

	while (units[1] && value / scale >= 1000) {
		scale *= 1000;
		units++;
	}
	uint64_t decimals = scale == 1 ? 0 : value % scale / (scale / 1000);

	if (value % scale == 0)
		snprintf(a.at, sizeof a.at, "%" PRIu64 "%s", value / scale, *units);
	else
		snprintf(a.at, sizeof a.at, "%" PRIu64 ".%03" PRIu64 "%s", value / scale, decimals,
			 *units);
	return a;
}

struct amount amount_time(psec time)
{
	static const char *const units[] = {" ps", " ns", " us", " ms", " s", NULL};

	return scaled(time, units);
}

struct amount amount_bytes(uint64_t bytes)
{
	static const char *const units[] = {" B", " kB", " MB", " GB", " TB", " PB", NULL};

	return scaled(bytes, units);
}

struct amount amount_rate(uint64_t bps)
{
	static const char *const units[] = {" b/s",  " kb/s", " Mb/s", " Gb/s",
					    " Tb/s", " Pb/s", NULL};

	return scaled(bps, units);
}

struct amount amount_count(uint64_t n)
{
	static const char *const units[] = {"", " k", " M", " G", NULL};

	return scaled(n, units);
}

struct amount amount_ratio(uint64_t thousandths)
{
	struct amount a;

	snprintf(a.at, sizeof a.at, "%" PRIu64 ".%03" PRIu64, thousandths / 1000,
		 thousandths % 1000);
	return a;
}

struct amount amount_bound(uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
	struct amount a = {"more"};
	uint32_t unit = 0;

	if (bytes == UINT64_MAX)
		return a;
	while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(a.at, sizeof a.at, "%" PRIu64 " %s", bytes, units[unit]);
	return a;
}
