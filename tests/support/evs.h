/* A profile of a few given EVs, with its memory. */
#ifndef WEFT_TESTS_SUPPORT_EVS_H
#define WEFT_TESTS_SUPPORT_EVS_H

#include "check.h"
#include "path/profile.h"

#define EVS_MOST 64u

struct evs {
	struct path_profile profile;
	uint64_t memory[EVS_MOST * 4];
};

static inline void evs_make(struct evs *w, const struct path_ev *list, uint32_t n)
{
	assert_true(n <= EVS_MOST && path_profile_size(n) <= sizeof w->memory);
	assert_int_equal(path_profile_explicit(&w->profile, w->memory, list, n), PATH_OK);
}

#endif
