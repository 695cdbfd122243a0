#include "base/edits.h"

#include <stdbool.h>
#include <string.h>

/* Writing and reading names, people mix up case, - and _. */
static char plain(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '-' ? '_' : c;
}

static uint32_t least_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Slips from a to b, of at most EDITS_MOST letters each. Row i has those of the first i letters of
 * a to every beginning of b. */
static uint32_t slips(const char *a, const char *b)
{
	uint32_t rows[3][EDITS_MOST + 1], n = (uint32_t)strlen(b), i;

	for (uint32_t j = 0; j <= n; j++)
		rows[0][j] = j;
	for (i = 1; a[i - 1]; i++) {
		uint32_t *row = rows[i % 3];
		const uint32_t *before = rows[(i + 2) % 3], *swap = rows[(i + 1) % 3];

		row[0] = i;
		for (uint32_t j = 1; j <= n; j++) {
			char mine = plain(a[i - 1]), theirs = plain(b[j - 1]);

			row[j] = least_of(before[j], row[j - 1]) + 1;
			row[j] = least_of(row[j], before[j - 1] + (mine != theirs));
			if (i > 1 && j > 1 && plain(a[i - 2]) == theirs && mine == plain(b[j - 2]))
				row[j] = least_of(row[j], swap[j - 2] + 1);
		}
	}
	return rows[(i + 2) % 3][n];
}

struct edits_guess edits_guess(const char *word)
{
	size_t len = strlen(word);

	return (struct edits_guess){.word = word, .least = len < 4 ? 2 : len < 9 ? 3 : 4};
}

void edits_offer(struct edits_guess *guess, const char *name)
{
	size_t len = strlen(guess->word), name_len = strlen(name);

	if (len > EDITS_MOST || name_len > EDITS_MOST)
		return;
	bool is_short = len > 1 && len < name_len && strncmp(guess->word, name, len) == 0;
	uint32_t n = is_short ? 1 : slips(guess->word, name);

	if (n >= guess->least || n >= name_len)
		return;
	guess->least = n;
	guess->nearest = name;
}
