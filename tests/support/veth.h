/* Two network namespaces of this process, and veth pairs between them: a cable for each port, by
 * the name w0, w1, ... at both ends. Nothing is left behind when the process ends.
 *
 * Side s of port p has the addresses 10.9.p.(s+1)/24 and fd09:p::(s+1)/64 and the MAC
 * 02:09:00:00:0p:0(s+1). Include this first: it asks for what is not in POSIX. */
#ifndef WEFT_TESTS_SUPPORT_VETH_H
#define WEFT_TESTS_SUPPORT_VETH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct veth {
	int ns[2]; /* namespaces, as open files */
};

/* This thread, and the sockets it opens from now on, are on that side. */
static inline bool veth_enter(const struct veth *v, unsigned side)
{
	return setns(v->ns[side], CLONE_NEWNET) == 0;
}

/* Makes the namespaces and enters side 0; false: not permitted. */
static inline bool veth_open(struct veth *v)
{
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	v->ns[0] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (v->ns[0] < 0 || unshare(CLONE_NEWNET))
		return false;
	v->ns[1] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	return v->ns[1] >= 0 && veth_enter(v, 0);
}

static inline void veth_close(struct veth *v)
{
	close(v->ns[0]);
	close(v->ns[1]);
}

/* Runs a program on the side that this thread is on, with this for its input and nothing of what it
 * says; true: it is there, and all went well. */
static inline bool veth_run(char *const words[], const char *input)
{
	posix_spawn_file_actions_t actions;
	size_t len = strlen(input);
	int ends[2], status = -1;
	bool is_done;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	is_done = posix_spawnp(&pid, words[0], &actions, NULL, words, environ) == 0;
	posix_spawn_file_actions_destroy(&actions);
	close(ends[0]);
	if (is_done)
		is_done = write(ends[1], input, len) == (ssize_t)len;
	close(ends[1]);
	return is_done && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Runs lines of commands of ip(8) on a side, which is then the one this thread is on; false: ip is
 * not there, or one failed. */
__attribute__((format(printf, 3, 4))) static inline bool
veth_ip(const struct veth *v, unsigned side, const char *format, ...)
{
	char ip[] = "ip", batch[] = "-batch", from[] = "-";
	char *const words[] = {ip, batch, from, NULL};
	char lines[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(lines, sizeof lines, format, args);
	va_end(args);
	return veth_enter(v, side) && veth_run(words, lines);
}

/* Takes one end of a cable up and gives it its addresses. None of IPv6 waits to be verified, which
 * would take a second, and the neighbours could not be found meanwhile. */
static inline bool veth_set_up(const struct veth *v, unsigned side, unsigned port)
{
	return veth_ip(v, side,
		       "link set w%u addrgenmode none up\n"
		       "address replace fe80::9:%u:%u/64 dev w%u nodad\n"
		       "address replace 10.9.%u.%u/24 dev w%u\n"
		       "address replace fd09:%u::%u/64 dev w%u nodad\n",
		       port, port, side + 1, port, port, side + 1, port, port, side + 1, port);
}

/* A new cable, both ends up; then this thread is on side 1. */
static inline bool veth_add(const struct veth *v, unsigned port, unsigned mtu)
{
	return veth_ip(v, 0,
		       "link add w%u mtu %u address 02:09:00:00:%02x:01 type veth peer name w%u "
		       "mtu %u address 02:09:00:00:%02x:02 netns /proc/%d/fd/%d\n",
		       port, mtu, port, port, mtu, port, (int)getpid(), v->ns[1]) &&
	       veth_set_up(v, 0, port) && veth_set_up(v, 1, port);
}

#endif
