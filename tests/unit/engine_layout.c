/* engine/layout.h: parts of a block. */
#include <stdalign.h>

#include "check.h"
#include "engine/layout.h"

#define ALIGN alignof(max_align_t)

static void parts_stand_in_a_row(void **state)
{
	static const size_t sizes[] = {1, ALIGN, ALIGN + 1, 0, 1000};
	struct engine_layout l = {0};
	size_t end = 0;

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		size_t at = engine_reserve(&l, sizes[i]);

		assert_int_equal(at, end);
		assert_int_equal(at % ALIGN, 0);
		assert_true(l.used >= at + sizes[i] && l.used < at + sizes[i] + ALIGN);
		end = l.used;
	}
}

static void sizes_are_rounded_up(void **state)
{
	(void)state;
	assert_int_equal(engine_aligned(0), 0);
	assert_int_equal(engine_aligned(1), ALIGN);
	assert_int_equal(engine_aligned(ALIGN), ALIGN);
	assert_int_equal(engine_aligned(ALIGN + 1), 2 * ALIGN);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(parts_stand_in_a_row),
	cmocka_unit_test(sizes_are_rounded_up),
};

CHECK_MAIN(cases)
