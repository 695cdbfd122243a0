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
	if (is_wanted) {
		signal(number, SIG_DFL);
		raise(number);
	}
	is_wanted = 1;
}

static void block(int how, bool has_hangup)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	if (has_hangup)
		sigaddset(&ends, SIGHUP);
	sigprocmask(how, &ends, NULL);
}

/* No SA_RESTART: a wait has to end with the signal. */
void ends_catch(void)
{
	struct sigaction act = {.sa_handler = end};

	sigemptyset(&act.sa_mask);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	block(SIG_BLOCK, false);
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

void ends_hold(void)
{
	block(SIG_BLOCK, true);
}

void ends_release(void)
{
	block(SIG_UNBLOCK, true);
}

void ends_expose(void)
{
	block(SIG_UNBLOCK, false);
}

void ends_cover(void)
{
	block(SIG_BLOCK, false);
}
