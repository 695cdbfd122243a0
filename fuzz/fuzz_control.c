/* The state of a device's control from any bytes: it is refused, or everything in it is in range
 * and it is written as it was read. The CRC is mended, so that more than chance gets past it. */
#include "fuzz.h"

#include <errno.h>

#include "base/crc32.h"
#include "control/control.h"

#define CRC_BYTES 4u

static void check_decoded(const uint8_t *bytes, size_t len)
{
	struct control *c = control_decode(bytes, len);

	if (!c) {
		must(errno == EBADMSG || errno == ENOMEM);
		return;
	}
	size_t again = 0;
	void *same = control_encode(c, &again);
	struct control *copy = control_copy(c);

	must(control_is_whole(c) && copy && control_is_whole(copy));
	must(same && again == len && !memcmp(same, bytes, len));
	for (uint32_t i = 0; i < c->n_profiles; i++)
		must(control_find_profile(c, c->profiles[i].id) == &c->profiles[i]);
	free(same);
	control_free(copy);
	control_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);

	must(bytes != NULL);
	memcpy(bytes, data, size);
	check_decoded(bytes, size);
	if (size >= CRC_BYTES) {
		uint32_t crc = crc32_update(0, bytes, size - CRC_BYTES);

		for (uint32_t i = 0; i < CRC_BYTES; i++)
			bytes[size - CRC_BYTES + i] = (uint8_t)(crc >> 8 * i);
		check_decoded(bytes, size);
	}
	free(bytes);
	return 0;
}
