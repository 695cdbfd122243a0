/* How an RC device fares: see transport.h, whose functions these are. */
#ifndef WEFT_NIC_RC_SHOW_H
#define WEFT_NIC_RC_SHOW_H

#include "nic/inside.h"

void rc_show_begin(struct device *d);
void rc_show_end(struct device *d);
void rc_show_abandon(struct device *d);
nsec rc_show(struct device *d, nsec now);

#endif
