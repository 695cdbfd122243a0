#include "fwd/buffer.h"

#include <assert.h>

/* Even one eighth of so much is more than any queue holds; less of it, times any alpha, fits 64
 * bits. */
#define PLENTY_BYTES (UINT64_C(8) << 32)

static bool is_over_share(const struct fwd_class *c, uint64_t free_bytes, uint32_t queue_bytes)
{
	if (c->alpha_eighths == 0 || free_bytes >= PLENTY_BYTES)
		return false;
	return (uint64_t)queue_bytes * 8 >= c->alpha_eighths * free_bytes;
}

enum fwd_admission fwd_admit(const struct fwd_qos *qos, const struct fwd_buffer *buffer,
			     uint32_t queue_bytes, uint8_t dscp, uint32_t packet_bytes)
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

	if (is_over_share(c, free_bytes, queue_bytes))
		return FWD_OVER_THRESHOLD;
	return packet_bytes <= free_bytes ? FWD_ADMIT : FWD_NO_MEMORY;
}
