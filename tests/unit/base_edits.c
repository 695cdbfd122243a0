/* base/edits.h: what is near enough to be meant. */
#include "base/edits.h"
#include "check.h"

#include <string.h>

static const char *const names[] = {"top",    "decode",          "demo",    "devices",
				    "device", "trimmed-lasthop", "trimmed", "x"};

static const char *nearest(const char *word)
{
	struct edits_guess guess = edits_guess(word);

	for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++)
		edits_offer(&guess, names[i]);
	return guess.nearest ? guess.nearest : "";
}

static void slips_are_forgiven(void **state)
{
	static const struct {
		const char *word, *name;
	} pairs[] = {
		{"decod", "decode"},
		{"decodee", "decode"},
		{"dekode", "decode"},
		{"edcode", "decode"},
		{"DECODE", "decode"},
		{"tpo", "top"},
		{"deevcie", "device"},
		{"devics", "devices"},
		{"trimmed_last", "trimmed-lasthop"},
		{"tr", "trimmed-lasthop"},
		{"trimed", "trimmed"},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		assert_string_equal(nearest(pairs[i].word), pairs[i].name);
}

/* One slip in a short word, three in a long one; and never as many as the name has letters. */
static void other_words_stay_unknown(void **state)
{
	static const char *const words[] = {"",
					    "y",
					    "xy",
					    "fly",
					    "pot-",
					    "t",
					    "foo",
					    "dcd",
					    "dvcs",
					    "trmd-lsthp",
					    "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"};

	(void)state;
	for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++)
		assert_string_equal(nearest(words[i]), "");
}

/* Words of the most letters that are compared, and one more. */
static void long_words_have_an_end(void **state)
{
	char word[EDITS_MOST + 2] = "", name[EDITS_MOST + 2] = "";

	(void)state;
	memset(word, 'a', EDITS_MOST);
	memset(name, 'a', EDITS_MOST);
	name[3] = 'b';
	struct edits_guess guess = edits_guess(word);

	edits_offer(&guess, name);
	assert_ptr_equal(guess.nearest, name);
	word[EDITS_MOST] = 'a';
	guess = edits_guess(word);
	edits_offer(&guess, name);
	assert_null(guess.nearest);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(slips_are_forgiven),
	cmocka_unit_test(other_words_stay_unknown),
	cmocka_unit_test(long_words_have_an_end),
};

CHECK_MAIN(cases)
