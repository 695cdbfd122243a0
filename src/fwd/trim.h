/* Packet trimming, UE 4.1: a packet that fails admission loses its payload and goes on as a small,
 * urgent one. */
#ifndef WEFT_FWD_TRIM_H
#define WEFT_FWD_TRIM_H

#include <stdbool.h>
#include <stdint.h>

#include "fwd/frame.h"
#include "fwd/qos.h"

/* True for a packet that may be cut: its DSCP is trimmable, and its IP payload is longer than the
 * least its class keeps. What is shorter is dropped (UE 4.1 leaves the choice). */
bool fwd_trim_may(const struct fwd_qos *qos, const struct fwd_view *view);

/* Cuts the outermost IP payload to the class's min_trim_bytes, rewrites DSCP, IP length and IPv4
 * checksum of the outermost header and nothing else: the UDP length and inner headers keep saying
 * what the packet was (M-42), ECN bits stay. is_last_hop: the port leads to an end station. The
 * caller made sure that fwd_trim_may. f->stored and f->len shrink; what was cut is the caller's to
 * forget. A later admission sees an ordinary packet of the trimmed DSCP. */
void fwd_trim(const struct fwd_qos *qos, struct fwd_frame *f, struct fwd_view *view,
	      bool is_last_hop);

#endif
