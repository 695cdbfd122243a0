#include "transport/transport.h"

#include <assert.h>

#include "base/bytes.h"

/* Devices of RC had the first numbers before there were others. */
const struct transport *const transports[TRANSPORTS] = {&transport_rc, &transport_mrc};
const char *const transport_names[TRANSPORTS + 1] = {"rc", "mrc", NULL};

uint32_t transport_around_bytes(const struct transport *t)
{
	return t->head_bytes + carrier_plain_seal(t->carrier)->tail_bytes;
}

bool transport_has_key(const struct transport *t, const struct transport_key *key)
{
	for (const struct transport_key *const *k = t->keys; k && *k; k++)
		if (*k == key)
			return true;
	return false;
}

void transport_fall_back(const struct transport *t, struct transport_device *device)
{
	for (const struct transport_key *const *k = t->keys; k && *k; k++)
		if (!setting_get(&(*k)->setting, device))
			setting_put(&(*k)->setting, device, (*k)->setting.fallback);
}

uint64_t transport_verdicts(const struct transport *t, const uint64_t *counts)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i <= t->n_verdicts; i++)
		sum += counts[t->count_rx + i];
	return sum;
}

uint32_t transport_place(const struct transport *t)
{
	uint32_t i = 0;

	while (i < TRANSPORTS && transports[i] != t)
		i++;
	assert(i < TRANSPORTS);
	return i;
}

uint32_t transport_end_number(const struct transport_end *end)
{
	return get_be32(end->bytes);
}
