#include "fwd/buffer.h"

/* Even one eighth of so much is more than any queue holds; less of it, times any alpha, fits 64
 * bits. */
#define PLENTY_BYTES (UINT64_C(8) << 32)

bool fwd_is_over_share(const struct fwd_class *c, uint64_t free_bytes, uint32_t queue_bytes)
{
	if (free_bytes >= PLENTY_BYTES)
		return false;
	return (uint64_t)queue_bytes * 8 >= c->alpha_eighths * free_bytes;
}
