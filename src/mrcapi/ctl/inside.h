/* What the exported functions of a controller share. */
#ifndef WEFT_MRCAPI_CTL_INSIDE_H
#define WEFT_MRCAPI_CTL_INSIDE_H

#include "mrcapi/inside.h"

#include "mrcapi/ctl/place.h"

/* Whether the caller may control the device of a context at all: 0, -EINVAL (there is none) or
 * -EPERM. */
int ctl_check(const struct mrc_context *context);

/* The place of a device that some user has open. 0 or a negative errno. */
int ctl_find_place(struct nic_user *user, struct ctl_place *place);

/* The same error, and for those of the files at that place a sentence. */
int ctl_with_sentence(int error, const struct ctl_place *place);

/* 0, or -1 and errno, of a negative errno. */
static inline int ctl_answer(int error)
{
	return error ? verbs_minus_one(-error) : 0;
}

#endif
