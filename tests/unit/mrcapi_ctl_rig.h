/* A device of two ports that writes whole frames, its state in memory, and calls as a controller
 * makes them: what is refused leaves the state as it was. */
#ifndef WEFT_TESTS_UNIT_MRCAPI_CTL_RIG_H
#define WEFT_TESTS_UNIT_MRCAPI_CTL_RIG_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "mrcapi/ctl/ctl.h"

#define INIT    MRC_CTL_PROFILE_INIT
#define OFFLINE MRC_CTL_PROFILE_OFFLINE
#define ONLINE  MRC_CTL_PROFILE_ONLINE

static struct ctl_device rig_device = {.n_ports = 2, .has_segments = true};
static struct control *rig_state;
static uint32_t rig_users;
static uint64_t rig_bad_evs; /* bit per EV that some queue pair assumes bad */
static struct ctl_edit rig_last;

static inline int rig_setup(void **state)
{
	(void)state;
	rig_device = (struct ctl_device){.n_ports = 2, .has_segments = true};
	rig_users = 0;
	rig_bad_evs = 0;
	rig_state = control_new();
	return rig_state ? 0 : -1;
}

static inline int rig_teardown(void **state)
{
	(void)state;
	control_free(rig_state);
	return 0;
}

static inline bool rig_is_bad(void *whom, uint64_t id, uint32_t ev)
{
	(void)whom;
	(void)id;
	return ev < 64 && rig_bad_evs >> ev & 1;
}

static inline struct ctl_edit rig_edit(uint64_t id, int mask)
{
	return (struct ctl_edit){
		.c = rig_state,
		.device = &rig_device,
		.id = id,
		.mask = mask,
		.n_users = rig_users,
		.is_bad = rig_is_bad,
	};
}

/* Runs a modify on a copy, that becomes the state only if it may. */
#define RIG_MODIFY(name, function, type)                                               \
	static inline int name(uint64_t id, type *a, int mask)                         \
	{                                                                              \
		struct control *copy = control_copy(rig_state);                        \
                                                                                       \
		assert_non_null(copy);                                                 \
		rig_last = rig_edit(id, mask);                                         \
		rig_last.c = copy;                                                     \
		int error = function(&rig_last, a);                                    \
		bool is_kept = !error || rig_last.is_partial;                          \
                                                                                       \
		assert_true(!is_kept || control_is_whole(copy));                       \
		assert_true(is_kept ? error != 0 || !rig_last.is_partial : error < 0); \
		control_free(is_kept ? rig_state : copy);                              \
		rig_state = is_kept ? copy : rig_state;                                \
		return error;                                                          \
	}
RIG_MODIFY(rig_modify_format, ctl_format_modify, struct mrc_ctl_ev_fmt_profile_attr)
RIG_MODIFY(rig_modify_ev, ctl_ev_modify, struct mrc_ctl_ev_profile_attr)
RIG_MODIFY(rig_modify_cc, ctl_cc_modify, struct mrc_ctl_cc_profile_attr)
RIG_MODIFY(rig_modify_port, ctl_port_modify, struct mrc_ctl_port_attr)

#define RIG_QUERY(name, function, type)                        \
	static inline int name(uint64_t id, type *a, int mask) \
	{                                                      \
		struct ctl_edit e = rig_edit(id, mask);        \
                                                               \
		return function(&e, a);                        \
	}
RIG_QUERY(rig_query_format, ctl_format_query, struct mrc_ctl_ev_fmt_profile_attr)
RIG_QUERY(rig_query_ev, ctl_ev_query, struct mrc_ctl_ev_profile_attr)
RIG_QUERY(rig_query_cc, ctl_cc_query, struct mrc_ctl_cc_profile_attr)
RIG_QUERY(rig_query_port, ctl_port_query, struct mrc_ctl_port_attr)

/* A format of these widths, online. */
static inline void rig_format(uint64_t id, enum mrc_ctl_ev_fmt_mode mode,
			      const struct mrc_ctl_ev_fmt_field *fields, int n)
{
	struct mrc_ctl_ev_fmt_field room[PATH_FIELDS_MAX];
	struct mrc_ctl_ev_fmt_profile_attr a = {.profile_state = OFFLINE, .ev_fmt_mode = mode};

	memcpy(room, fields, (size_t)n * sizeof *fields);
	a.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
	a.ev_fmt_op.fmt_fields = room;
	a.ev_fmt_op.fmt_field_count = n;
	assert_int_equal(rig_modify_format(id, &a,
					   MRC_CTL_EV_FMT_PROFILE_STATE |
						   MRC_CTL_EV_FMT_PROFILE_MODE |
						   MRC_CTL_EV_FMT_PROFILE_OP),
			 0);
	a.profile_state = ONLINE;
	assert_int_equal(rig_modify_format(id, &a, MRC_CTL_EV_FMT_PROFILE_STATE), 0);
}

#endif
