/* Which class of a port sends next: strict priority between levels, deficit round robin by weight
 * within a level (UE 3.6.17, 4.1.5). One struct per port. */
#ifndef WEFT_FWD_SCHED_H
#define WEFT_FWD_SCHED_H

#include <stdint.h>

#include "fwd/qos.h"

#define FWD_SCHED_NONE (-1)

/* All zeros is a fresh scheduler. */
struct fwd_sched {
	uint64_t deficit[FWD_CLASSES]; /* bytes a class may still send in this round */
	uint8_t turn[FWD_CLASSES];     /* by level: 1 + the class whose turn it is; 0: nobody's */
	uint8_t funded;                /* bit per class: its deficit may be other than 0 */
};

/* The class that sends the next packet, or FWD_SCHED_NONE when ready is 0. Bit c of ready: class c
 * has a packet and may send; next_bytes[c] is the length of its first packet, read for those
 * classes only. Charges the packet to its class. A class that has nothing to send loses its
 * deficit. quantum_bytes, at least the largest packet, is what weight 1 earns in a round. */
int fwd_sched_next(struct fwd_sched *s, const struct fwd_qos *qos, uint32_t ready,
		   const uint32_t next_bytes[FWD_CLASSES], uint32_t quantum_bytes);

#endif
