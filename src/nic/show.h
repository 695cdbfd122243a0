/* How a device fares, for whoever looks from another process (control/member.h): what transports
 * share of it. Called with the device's lock; the device's thread calls show_device. */
#ifndef WEFT_NIC_SHOW_H
#define WEFT_NIC_SHOW_H

#include "control/member.h"
#include "nic/inside.h"

#define SHOW_ERROR 6u /* as IBTA 10.3.1 numbers states; those before it are the same */

struct nic_show {
	struct member *member; /* NULL: none can be had, and a device works without */
	/* What a queue pair shows that its transport alone has; NULL: nothing. */
	void (*fill)(const struct nic_qp *qp, struct member_pair *pair);
	struct member_pair *pairs; /* MEMBER_PAIRS of them */
	nsec shown_at;
	uint64_t shown; /* how much had happened then */
};

/* Joins the processes of that name, as member_join, and lends the device's trace memory that they
 * can read, unless its setup says otherwise. 0 or -ENOMEM; show_end in either case. */
int show_begin(struct device *d, struct nic_show *s, const char *name);
void show_end(struct device *d, struct nic_show *s);
/* In a child of fork, in place of that. */
void show_abandon(struct device *d, struct nic_show *s);

/* Shows the device now and then; when it is to be called next, or NSEC_NEVER: not before something
 * happens. Gives the lock back now and then. */
nsec show_device(struct device *d, struct nic_show *s, nsec now);

#endif
