/* What a controller may do to a device (mrc_ctl.h), as functions on a struct control.
 *
 * Each takes a struct ctl_edit, that says which profile of which state of a device is meant, and
 * the caller's struct of attributes. Nothing here reads or writes a file, and nothing is kept. The
 * state is a copy: one that a function refused to change as a whole is thrown away, so none of them
 * has to put back what it began. The exported functions call them (place.h). */
#ifndef WEFT_MRCAPI_CTL_CTL_H
#define WEFT_MRCAPI_CTL_CTL_H

#include <mrc_ctl.h>
#include <stdbool.h>
#include <stdint.h>

#include "control/control.h"

#define CTL_NSCC      "uet-1.0-nscc"
#define CTL_AUTO_EVS  64u /* of a profile that leaves their number to the device */
#define CTL_EV_EVENTS (MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD)

/* Of a device, as far as it says what profiles may be. */
struct ctl_device {
	uint32_t n_ports;
	bool has_segments; /* its driver writes SRv6 */
};

struct ctl_edit {
	struct control *c;
	const struct ctl_device *device;
	uint64_t id;
	int mask;
	uint32_t n_users; /* queue pairs that use the profile */
	/* Whether some queue pair assumes EV number ev bad; NULL: nobody is asked. */
	bool (*is_bad)(void *whom, uint64_t id, uint32_t ev);
	void *whom;
	/* What the function says of its work. */
	bool is_changed;   /* c is another than before */
	bool is_exclusive; /* the change holds only if nobody uses the profile */
	bool is_partial;   /* it failed, and what was done before stays done */
};

/* 0, and c is as it shall be; or a negative errno, and c is to be thrown away unless is_partial. */
int ctl_format_modify(struct ctl_edit *e, struct mrc_ctl_ev_fmt_profile_attr *a);
int ctl_ev_modify(struct ctl_edit *e, struct mrc_ctl_ev_profile_attr *a);
int ctl_cc_modify(struct ctl_edit *e, const struct mrc_ctl_cc_profile_attr *a);
/* id: the port, from 1. */
int ctl_port_modify(struct ctl_edit *e, const struct mrc_ctl_port_attr *a);

/* 0 or a negative errno; c stays as it is. */
int ctl_format_query(const struct ctl_edit *e, struct mrc_ctl_ev_fmt_profile_attr *a);
int ctl_ev_query(const struct ctl_edit *e, struct mrc_ctl_ev_profile_attr *a);
int ctl_cc_query(const struct ctl_edit *e, struct mrc_ctl_cc_profile_attr *a);
int ctl_port_query(const struct ctl_edit *e, struct mrc_ctl_port_attr *a);

/* What all three kinds of profiles have in common: masks with the same bits for the two states and
 * the vendor's part. */
struct ctl_wish {
	int mask, known; /* bits asked for, and that there are */
	enum mrc_ctl_profile_state state, current;
	const uint8_t *vendor;
};
#define CTL_STATES (MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_CUR_STATE)

/* The step that a wish takes from a state, none where it names none; 0 or -EINVAL: there is no such
 * step, or what comes with it makes no sense. */
int ctl_read_step(const struct ctl_wish *w, enum control_phase from, enum control_phase *to);

/* The bits of a format's values: of its fields, or before it has any, all of its mode. */
uint32_t ctl_mode_bits(const struct control_format *f);
uint32_t ctl_format_bits(const struct control_format *f);

/* The fields of an EV profile. Set: 0, -EINVAL, -E2BIG. Check: that they suit the format as it is
 * now. */
int ctl_fields_set(struct ctl_edit *e, struct control_profile *p,
		   const struct mrc_ctl_ev_profile_attr *a);
int ctl_fields_check(struct control *c, const struct control_profile *p);
int ctl_fields_query(const struct control_profile *p, struct mrc_ctl_ev_profile_attr *a);

/* Makes up the values of a profile that is not explicit; there may be fewer than wanted. */
int ctl_draw(struct ctl_edit *e, struct control_profile *p);

/* The entries of an operation on values, one by one: 0, or the error of the first that failed and
 * in *n_done how many were done before. */
int ctl_values_modify(struct ctl_edit *e, struct control_profile *p,
		      const struct mrc_ctl_ev_profile_attr *a, uint32_t *n_done);
int ctl_values_query(const struct ctl_edit *e, const struct control_profile *p,
		     struct mrc_ctl_ev_profile_attr *a);
/* That all values are there and suit the format. */
int ctl_values_check(struct control *c, const struct control_profile *p);

#endif
