#include "base/edits.h"

#include <string.h>

uint32_t edits(const char *a, const char *b)
{
	uint32_t row[EDITS_MOST + 1], n = (uint32_t)strlen(b);

	for (uint32_t j = 0; j <= n; j++)
		row[j] = j;
	for (uint32_t i = 0; a[i]; i++) {
		uint32_t corner = row[0];

		row[0] = i + 1;
		for (uint32_t j = 0; j < n; j++) {
			uint32_t least = corner + (a[i] != b[j]);

			corner = row[j + 1];
			if (row[j] + 1 < least)
				least = row[j] + 1;
			if (corner + 1 < least)
				least = corner + 1;
			row[j + 1] = least;
		}
	}
	return row[n];
}
