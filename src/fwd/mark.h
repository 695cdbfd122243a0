/* ECN marking on dequeue: RED on the instantaneous queue (UE 3.6.4.1, 3.6.17). */
#ifndef WEFT_FWD_MARK_H
#define WEFT_FWD_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "fwd/frame.h"
#include "fwd/qos.h"

/* Whether a packet that leaves a queue of this class gets marked. queue_bytes is what stays behind
 * it; random is uniform over 32 bits. At ecn_min_bytes or below never; at ecn_max_bytes or above
 * always; between them with chance (queue - min) / (max - min), exactly: marked iff
 * random * (max - min) < (queue - min) * 2^32. With min == max: iff queue >= max. */
bool fwd_mark_wanted(const struct fwd_class *c, uint32_t queue_bytes, uint32_t random);

/* Sets Congestion Experienced on an ECN-capable packet that was not trimmed; true when the packet
 * changed. Not-ECT stays (RFC 3168), CE stays, trimmed packets keep the bits they had (UE 4.1.1).
 */
bool fwd_mark(const struct fwd_qos *qos, struct fwd_view *view);

#endif
