/* Which of the words there are somebody meant who wrote another, for messages. */
#ifndef WEFT_BASE_EDITS_H
#define WEFT_BASE_EDITS_H

#include <stdint.h>

#define EDITS_MOST 32u /* letters; longer words are never near */

/* The nearest of the words offered so far: NULL, while none is near enough to be what was meant. */
struct edits_guess {
	const char *word, *nearest;
	uint32_t least;
};

/* Begins with no word offered; word is lent. */
struct edits_guess edits_guess(const char *word);

/* Takes name, which is lent, for the nearest if fewer slips lie between the word and it than to any
 * before: a letter too many, missing or wrong, or two swapped; one in a short word, two or three in
 * a long one. Case counts for nothing, nor does _ for -; an abbreviation is one slip. */
void edits_offer(struct edits_guess *guess, const char *name);

#endif
