/* A network namespace for each test program, where that is permitted. Tests run side by side, and
 * processes of one user share an address and its port: a datagram that comes while another of them
 * leaves may be lost, which a test that expects one certain answer does not forgive. Nor does it
 * see the devices that this machine's configuration describes.
 *
 * Include this first: it asks for what is not in POSIX. */
#ifndef WEFT_TESTS_SUPPORT_ISOLATE_H
#define WEFT_TESTS_SUPPORT_ISOLATE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "check.h"

#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Takes the loopback interface of this network namespace up or down. */
static inline bool isolate_set_up(bool is_up)
{
	struct ifreq request = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	request.ifr_flags = (short)(is_up ? IFF_UP | IFF_RUNNING : 0);
	bool is_done = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;

	close(fd);
	return is_done;
}

/* A network namespace of its own for this process; false: not permitted. */
static inline bool isolate(void)
{
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	return isolate_set_up(true);
}

#define ISOLATED_MAIN(cases)                                                            \
	int main(int argc, char **argv)                                                 \
	{                                                                               \
		isolate();                                                              \
		setenv("WEFT_CONFIG", "/dev/null", 1);                                  \
		return check_main(argc, argv, cases, sizeof(cases) / sizeof(cases)[0]); \
	}

#endif
