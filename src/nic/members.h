/* Who is on a device, and how it fares, where no controller governs it: see transport.h, whose
 * functions these are. */
#ifndef WEFT_NIC_MEMBERS_H
#define WEFT_NIC_MEMBERS_H

#include "nic/inside.h"

void members_begin(struct device *d);
void members_end(struct device *d);
void members_abandon(struct device *d);
nsec members_show(struct device *d, nsec now);

#endif
