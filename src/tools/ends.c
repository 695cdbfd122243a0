#define _GNU_SOURCE /* ppoll */
#include "tools/ends.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "tools/clock.h"

#define SECOND_NS UINT64_C(1000000000)

static volatile sig_atomic_t is_wanted;

static void end(int number)
{
	(void)number;
	is_wanted = 1;
}

/* No SA_RESTART: a wait has to end with the signal. */
void ends_catch(void)
{
	struct sigaction act = {.sa_handler = end};
	sigset_t ends;

	sigemptyset(&act.sa_mask);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
}

bool ends_wanted(void)
{
	sigset_t waiting;

	sigemptyset(&waiting);
	sigpending(&waiting);
	return is_wanted || sigismember(&waiting, SIGINT) == 1 ||
	       sigismember(&waiting, SIGTERM) == 1;
}

int ends_poll(struct pollfd *fds, uint32_t n, nsec until)
{
	nsec now = clock_now(), left = until > now ? until - now : 0;
	struct timespec t = {(time_t)(left / SECOND_NS), (long)(left % SECOND_NS)};
	sigset_t open;

	if (is_wanted) {
		errno = EINTR;
		return -1;
	}
	sigprocmask(SIG_BLOCK, NULL, &open);
	sigdelset(&open, SIGINT);
	sigdelset(&open, SIGTERM);
	return ppoll(fds, n, until == NSEC_NEVER ? NULL : &t, &open);
}
