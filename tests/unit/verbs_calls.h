/* What the tests of the single calls of libweft-verbs share: each call once as it is meant, and
 * once with each kind of argument that is wrong, as drivers of the kernel answer it. The header's
 * own conventions are three, and a fourth for the table of GIDs; every macro below is one of them.
 */
#ifndef WEFT_TESTS_UNIT_VERBS_CALLS_H
#define WEFT_TESTS_UNIT_VERBS_CALLS_H

#include "verbs_rig.h"

/* Not in the header, see src/verbs/inside.h. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned index, int *type);

/* An errno value is the answer, and errno has it as well: programs look at either. */
#define SAYS(error, call)                                                                  \
	do {                                                                               \
		errno = 0;                                                                 \
		int answer = (call);                                                       \
		if (answer != (error) || errno != (error))                                 \
			fail_msg("%s: %d, errno %d, not %d", #call, answer, errno, error); \
	} while (0)

/* -1, and errno. */
#define MINUS_ONE(error, call)                                                                    \
	do {                                                                                      \
		errno = 0;                                                                        \
		int answer = (call);                                                              \
		if (answer != -1 || errno != (error))                                             \
			fail_msg("%s: %d, errno %d, not -1 and %d", #call, answer, errno, error); \
	} while (0)

/* NULL, and errno. */
#define NOTHING(error, call)                                                                \
	do {                                                                                \
		errno = 0;                                                                  \
		const void *answer = (call);                                                \
		if (answer || errno != (error))                                             \
			fail_msg("%s: %p, errno %d, not NULL and %d", #call, answer, errno, \
				 error);                                                    \
	} while (0)

#define FINE(call) assert_int_equal(call, 0)

/* The first device of MRC, which has no queue pairs, windows or shared queues of the verbs. */
static inline struct ibv_context *open_mrc(void)
{
	setenv("WEFT_INTERFACES", "lo", 1);
	struct ibv_device **list = ibv_get_device_list(NULL);

	assert_non_null(list);
	assert_string_equal(ibv_get_device_name(list[1]), "weft_mrc0");
	struct ibv_context *context = ibv_open_device(list[1]);

	assert_non_null(context);
	ibv_free_device_list(list);
	return context;
}

#endif
