/* Who may enter a switch's packet memory. One pool per switch, shared by its ports or cut into
 * equal parts; thresholds per queue, static, and dynamic ones relative to what is free. Counts
 * bytes of frames without FCS. */
#ifndef WEFT_FWD_BUFFER_H
#define WEFT_FWD_BUFFER_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "fwd/qos.h"

/* Packet memory. A shared one belongs to a switch; a private one to a port. total_bytes 0:
 * unbounded, only thresholds count. Invariant: used_bytes <= total_bytes unless unbounded. */
struct fwd_buffer {
	uint64_t total_bytes, used_bytes;
};

enum fwd_admission {
	FWD_ADMIT,
	FWD_OVER_THRESHOLD, /* the queue is too long for this packet */
	FWD_NO_MEMORY,      /* the packet does not fit the buffer */
};

/* Whether a queue has more than its class's share of what is free: for fwd_admit alone. */
bool fwd_is_over_share(const struct fwd_class *c, uint64_t free_bytes, uint32_t queue_bytes);

/* The pseudocode of UE 4.1: admitted while the queue is below its threshold, before the packet is
 * counted; and only if the packet fits the memory. dscp < FWD_DSCPS decides class and threshold. */
static inline enum fwd_admission fwd_admit(const struct fwd_qos *qos,
					   const struct fwd_buffer *buffer, uint32_t queue_bytes,
					   uint8_t dscp, uint32_t packet_bytes)
{
	assert(dscp < FWD_DSCPS);
	const struct fwd_dscp *d = &qos->dscps[dscp];
	const struct fwd_class *c = &qos->classes[d->tclass];
	uint32_t threshold = d->threshold_bytes ? d->threshold_bytes : c->threshold_bytes;

	if (threshold != 0 && queue_bytes >= threshold)
		return FWD_OVER_THRESHOLD;
	if (buffer->total_bytes == 0)
		return FWD_ADMIT;
	assert(buffer->used_bytes <= buffer->total_bytes);
	uint64_t free_bytes = buffer->total_bytes - buffer->used_bytes;

	if (c->alpha_eighths != 0 && fwd_is_over_share(c, free_bytes, queue_bytes))
		return FWD_OVER_THRESHOLD;
	return packet_bytes <= free_bytes ? FWD_ADMIT : FWD_NO_MEMORY;
}

#endif
