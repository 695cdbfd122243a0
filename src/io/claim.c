#include "io/claim.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "io/driver.h"

socklen_t claim_name(const char *all, uint8_t tag, struct sockaddr_un *name)
{
	int len;

	memset(name, 0, sizeof *name);
	name->sun_family = AF_UNIX;
	/* A zero first byte makes it abstract. */
	len = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "%s-%u", all, tag);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

int claim_first(int fd, const char *all, uint8_t *tag)
{
	for (unsigned i = 0; i < DRIVER_TAGS; i++) {
		struct sockaddr_un name;
		socklen_t len = claim_name(all, (uint8_t)i, &name);

		if (bind(fd, (struct sockaddr *)&name, len) == 0) {
			*tag = (uint8_t)i;
			return 0;
		}
		if (errno != EADDRINUSE)
			return -errno;
	}
	return -EBUSY;
}
