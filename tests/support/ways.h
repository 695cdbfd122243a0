/* A profile of a few given ways, with its memory. */
#ifndef WEFT_TESTS_SUPPORT_WAYS_H
#define WEFT_TESTS_SUPPORT_WAYS_H

#include "check.h"
#include "path/profile.h"

#define WAYS_MOST 64u

struct ways {
	struct path_profile profile;
	uint64_t memory[WAYS_MOST * 4];
};

static inline void ways_make(struct ways *w, const struct path_way *list, uint32_t n)
{
	assert_true(n <= WAYS_MOST && path_profile_size(n) <= sizeof w->memory);
	assert_int_equal(path_profile_explicit(&w->profile, w->memory, list, n), PATH_OK);
}

#endif
