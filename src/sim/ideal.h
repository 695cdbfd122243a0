/* How fast a flow could be at best: alone on an idle fabric, store and forward, the last byte
 * acknowledged at once. What measured completion times are compared with. Packets stay in order: a
 * short last one that overtakes on another path may save its own length. */
#ifndef WEFT_SIM_IDEAL_H
#define WEFT_SIM_IDEAL_H

#include <stdint.h>

#include "sim/sim.h"

/* The completion time, at the sender, of `bytes` from src to dst, sprayed over all ports of the
 * hosts. */
psec ideal_time(const struct sim *s, uint32_t src, uint32_t dst, uint64_t bytes);

#endif
