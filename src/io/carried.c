#include "io/carried.h"

#include <assert.h>
#include <errno.h>

#include "engine/engine.h"
#include "io/say.h"

int carried_check(const struct carrier *c, char *error, size_t error_len)
{
	if (!c)
		return say(-EINVAL, error, error_len,
			   "no carrier is named: who opens a driver says what its packets go by");
	assert(c->payload_max <= CARRIER_PAYLOAD_MAX && c->pad_max <= CARRIER_PAD_MAX);
	assert(c->pieces_max <= ENGINE_BODY);
	if (carrier_plain_seal(c)->sum == SEAL_CIPHER)
		return say(-ENOTSUP, error, error_len,
			   "packets by %s are sealed by a cipher, and there is no key for it",
			   c->name);
	return 0;
}
