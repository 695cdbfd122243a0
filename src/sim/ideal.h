/* How fast a flow could be at best: alone on an idle fabric that is no bottleneck, at the rate of
 * its hosts' ports, store and forward along the fastest path, the last byte acknowledged at once. A
 * lower bound: what measured completion times are compared with. */
#ifndef WEFT_SIM_IDEAL_H
#define WEFT_SIM_IDEAL_H

#include <stdint.h>

#include "sim/sim.h"

/* The completion time, at the sender, of `bytes` from src to dst, sprayed over all ports of the
 * hosts. */
psec ideal_time(const struct sim *s, uint32_t src, uint32_t dst, uint64_t bytes);

#endif
