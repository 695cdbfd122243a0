/* Others that live beside the two drivers of udp_pair.h: sockets made by hand, and a process. For
 * tests of the udp driver: each includes this once. */
#ifndef WEFT_TESTS_SUPPORT_UDP_OTHERS_H
#define WEFT_TESTS_SUPPORT_UDP_OTHERS_H

#include "udp_pair.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { OTHER_UID = 12345 };

static inline int plain_socket(const char *from)
{
	struct sockaddr_storage s = address(from, 0);
	int fd = socket(s.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&s, length_of(&s)), 0);
	return fd;
}

static inline void plain_send(int fd, const char *to, const uint8_t *bytes, uint32_t len)
{
	struct sockaddr_storage s = address(to, port);

	assert_int_equal(sendto(fd, bytes, len, 0, (struct sockaddr *)&s, length_of(&s)), len);
}

/* The name of a tag's socket; returns its length. */
static inline socklen_t tag_name(struct sockaddr_un *name, unsigned tag)
{
	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(name->sun_path + 1, sizeof name->sun_path - 1,
					    "weft-udp-2-%u-%u-0-%u", (unsigned)geteuid(), port,
					    tag));
}

static inline int seqpacket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	return fd;
}

static inline bool send_message(unsigned tag, const uint8_t *bytes, size_t len)
{
	struct sockaddr_un name;
	socklen_t name_len = tag_name(&name, tag);
	int fd = seqpacket();
	bool is_sent = connect(fd, (struct sockaddr *)&name, name_len) == 0 &&
		       send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;

	close(fd);
	return is_sent;
}

/* The same by another user, times over, which only root can do. */
static inline bool send_as_other_user(unsigned tag, const uint8_t *bytes, size_t len,
				      unsigned times)
{
	struct sockaddr_un name;
	socklen_t name_len = tag_name(&name, tag);
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		bool is_sent = setuid(OTHER_UID) == 0;

		for (unsigned i = 0; is_sent && i < times; i++) {
			int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

			is_sent = connect(fd, (struct sockaddr *)&name, name_len) == 0 &&
				  send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
		}
		_exit(!is_sent);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

/* In the place of a driver with a tag. */
struct other {
	int fd;   /* listens, under the name */
	int from; /* a connection, or -1 */
};

static inline struct other tag_socket(unsigned tag)
{
	struct sockaddr_un name;
	socklen_t len = tag_name(&name, tag);
	struct other o = {seqpacket(), -1};

	assert_int_equal(bind(o.fd, (struct sockaddr *)&name, len), 0);
	assert_int_equal(listen(o.fd, 8), 0);
	return o;
}

static inline void tag_close(struct other *o)
{
	if (o->from >= 0)
		close(o->from);
	close(o->fd);
}

/* The next message of those who connected, one after the other; -1: there is none. */
static inline ssize_t tag_recv(struct other *o, uint8_t *bytes, size_t most)
{
	for (unsigned i = 0; i < 10; i++) {
		ssize_t got;

		if (o->from < 0)
			o->from = accept(o->fd, NULL, NULL);
		if (o->from < 0)
			return -1;
		got = recv(o->from, bytes, most, MSG_DONTWAIT);
		if (got != 0)
			return got;
		close(o->from);
		o->from = -1;
	}
	return -1;
}

/* Once it has done what it began, it has nothing more to do. */
static inline void assert_asleep(struct driver *u, nsec now)
{
	struct pollfd p = {driver_fd(u), POLLIN, 0};
	struct rx_pkt pkts[DRIVER_BATCH];

	for (unsigned i = 0; i < 10 && poll(&p, 1, QUIET_MS) > 0; i++)
		assert_int_equal(driver_receive(u, now, pkts, DRIVER_BATCH), 0);
	assert_int_equal(poll(&p, 1, QUIET_MS), 0);
}

/* A child with a driver of its own at b's address, which answers what it gets and counts. */
static inline pid_t start_child(int *ready)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct udp_cfg cfg = {0};
		struct driver *u = new_driver(&cfg);
		uint32_t local = open_at(u, "127.0.0.3"), peer = peer_of(u, "127.0.0.2");
		uint8_t tag = driver_tag(u);
		int64_t end = now_ms() + 5000;

		driver_free(a);
		driver_free(b);
		if (write(ends[1], &tag, 1) != 1)
			_exit(1);
		while (now_ms() < end) {
			struct pollfd p = {driver_fd(u), POLLIN, 0};
			struct rx_pkt pkts[DRIVER_BATCH];
			uint32_t n = driver_receive(u, 0, pkts, DRIVER_BATCH);

			for (uint32_t i = 0; i < n; i++) {
				struct tx_pkt answer = {.head = heads[0], .head_len = BTH};

				memcpy(heads[0], pkts[i].head.at, BTH);
				heads[0][5] = 0;
				answer.peer = peer;
				answer.local = local;
				driver_send(u, &answer, 1);
			}
			if (n == 0)
				poll(&p, 1, 20);
		}
		_exit(0);
	}
	close(ends[1]);
	*ready = ends[0];
	return pid;
}

#endif
