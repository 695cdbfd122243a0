#include "io/osrandom.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/types.h>

int osrandom_key(uint8_t *out, size_t n)
{
	int idle = 0;

	if (!out && n > 0)
		return -EINVAL;
	while (n > 0) {
		ssize_t got = getrandom(out, n, 0);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (got <= 0) {
			if (++idle == OSRANDOM_TRIES)
				return -EINTR;
			continue;
		}
		/* A signal, or the kernel's limit on one call, ends a long read early. */
		idle = 0;
		out += got;
		n -= (size_t)got;
	}
	return 0;
}
