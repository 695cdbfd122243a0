/* Where the controls of a device are: its state (control/store.h) and who uses it
 * (control/members.h).
 *
 * Controllers of several processes may be at it: each change is made on the state as it is under
 * the lock. Queue pairs take no lock. One says first that it uses a profile, and then looks whether
 * that is online; so a change that nobody may be in the way of looks for users before and after,
 * and takes itself back if one came in between. */
#ifndef WEFT_MRCAPI_CTL_PLACE_H
#define WEFT_MRCAPI_CTL_PLACE_H

#include "control/store.h"
#include "mrcapi/ctl/ctl.h"

struct ctl_place {
	char name[STORE_NAME_MAX]; /* of the device's files */
	struct ctl_device device;
};

/* -EPERM without CAP_NET_ADMIN, which a process may lose at any time (MRC 10.2). */
int ctl_may(void);

/* What of a profile is to be done, by the functions of ctl.h. kind: CONTROL_KINDS is no profile's
 * matter. */
struct ctl_call {
	enum control_kind kind;
	uint64_t id;
	int mask;
	int (*modify)(struct ctl_edit *e, void *attr);
	int (*query)(const struct ctl_edit *e, void *attr);
};

/* 0 or a negative errno: that of the function, -EPERM: the state may not be written, -EAGAIN:
 * another controller keeps it, -EIO: it cannot be read or written. */
int ctl_place_modify(const struct ctl_place *place, const struct ctl_call *call, void *attr);
int ctl_place_query(const struct ctl_place *place, const struct ctl_call *call, void *attr);

/* How many more entropy values there may be. */
int ctl_place_free(const struct ctl_place *place, uint32_t *n);

#endif
