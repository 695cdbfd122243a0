/* Numbers of queue pairs and keys of regions, drawn at random. */
#include "nic/inside.h"

#define MULTICAST_QP UINT32_C(0xffffff) /* of unreliable datagrams: no queue pair is that */
#define DRAWS        256u /* at most a quarter of what there is to draw from is ever in use */

static bool is_taken(const struct device *d, uint32_t low)
{
	for (uint32_t i = 0; i < NIC_SHARDS; i++)
		if (device_shard(d, i)->qps[low])
			return true;
	return false;
}

/* Who does not know a number must guess all of its bits, but for those that packets are steered
 * by: the driver's tag, which is random as well. */
uint32_t shard_draw_qp(struct shard *s)
{
	struct device *d = s->device;

	for (uint32_t i = 0; i < DRAWS; i++) {
		uint32_t number = keystream_u32(&d->random) >> 8;
		uint32_t low = number % NIC_LOW_NUMBERS;

		if (driver_is_shared(s->io))
			number = (uint32_t)driver_tag(s->io) << 16 | low;

		if (number >= d->transport->first_number && number != MULTICAST_QP &&
		    !is_taken(d, low))
			return number;
	}
	return 0;
}

/* The low byte of a window's key is the application's to change, so no two entries share the rest
 * of their keys. */
uint32_t device_draw_key(struct device *d)
{
	for (uint32_t i = 0; i < DRAWS; i++) {
		uint32_t key = keystream_u32(&d->random), stem = key >> (32 - NIC_STEM_BITS);
		uint64_t bit = UINT64_C(1) << stem % 64;

		if (stem == 0 || d->stems[stem / 64] & bit)
			continue;
		d->stems[stem / 64] |= bit;
		return key;
	}
	return 0;
}

void device_return_key(struct device *d, uint32_t key)
{
	uint32_t stem = key >> (32 - NIC_STEM_BITS);

	d->stems[stem / 64] &= ~(UINT64_C(1) << stem % 64);
}
