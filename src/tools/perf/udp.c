/* Bare UDP sockets, as fast as this machine lets a program use them: no reliability, no check of
 * the bytes. What a transport over UDP is measured against. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/clock.h"
#include "tools/perf/perf.h"

#define BURST_BYTES  65000u /* of one call with segmentation offload */
#define BURST_MAX    64u    /* segments */
#define BUFFER_BYTES (4 << 20)
#define LOOK_EVERY   1024u
#define NSEC_PER_MS  UINT64_C(1000000)

int perf_udp_open(const struct sockaddr_storage *local, uint16_t *port)
{
	struct sockaddr_storage a = *local;
	socklen_t len = sizeof a;
	int bytes = BUFFER_BYTES, on = 1;
	int fd = socket(a.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	perf_set_port(&a, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)&a, len) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) != 0) {
		int why = errno;

		close(fd);
		return -why;
	}
	*port = perf_port(&a);
	return fd;
}

/* The segment size for offload, in the form sendmsg takes it. */
struct segment {
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(uint16_t))];
};

static void add_segment(struct msghdr *m, struct segment *s, uint16_t size)
{
	m->msg_control = s->control;
	m->msg_controllen = sizeof s->control;
	struct cmsghdr *c = CMSG_FIRSTHDR(m);

	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof size);
	memcpy(CMSG_DATA(c), &size, sizeof size);
}

int perf_udp_blast(int fd, const struct sockaddr_storage *to, uint32_t size, uint32_t ms)
{
	static uint8_t bytes[BURST_BYTES];
	struct sockaddr_storage name = *to;
	uint32_t n = BURST_BYTES / size < BURST_MAX ? BURST_BYTES / size : BURST_MAX;
	struct iovec iov = {bytes, (size_t)n * size};
	struct segment segment;
	struct msghdr m = {
		.msg_name = &name, .msg_namelen = sizeof name, .msg_iov = &iov, .msg_iovlen = 1};

	add_segment(&m, &segment, (uint16_t)size);
	for (uint64_t until = clock_now() + ms * NSEC_PER_MS; clock_now() < until;)
		if (sendmsg(fd, &m, 0) < 0 && errno != EAGAIN && errno != ENOBUFS)
			return -errno;
	return 0;
}

uint64_t perf_udp_sink(int fd, struct perf_link *l, uint64_t *elapsed_ns)
{
	static uint8_t bytes[65536];
	uint64_t total = 0, first = 0, last = 0;

	for (uint64_t n = 1;; n++) {
		ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);

		if (got > 0) {
			last = clock_now();
			if (first == 0)
				first = last;
			else
				total += (uint64_t)got;
		}
		if (n % LOOK_EVERY == 0 && perf_is_called(l))
			break;
	}
	*elapsed_ns = last - first;
	return total;
}

uint64_t perf_udp_ping(int fd, const struct sockaddr_storage *to, uint32_t size, uint32_t ms)
{
	uint8_t bytes[65536] = {0};
	uint64_t start = clock_now(), now = start, n = 0;

	while (now - start < ms * NSEC_PER_MS) {
		if (sendto(fd, bytes, size, 0, (const struct sockaddr *)to, sizeof *to) < 0)
			return 0;
		ssize_t got = -1;

		/* A lost packet ends the measurement, not the program. */
		for (uint64_t until = now + 1000 * NSEC_PER_MS; got < 0 && now < until;
		     now = clock_now())
			got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
		if (got < 0)
			return 0;
		n++;
	}
	return n ? (now - start) / n / 2 : 0;
}

void perf_udp_echo(int fd, struct perf_link *l)
{
	uint8_t bytes[65536];

	for (uint64_t n = 1;; n++) {
		struct sockaddr_storage from;
		socklen_t len = sizeof from;
		ssize_t got = recvfrom(fd, bytes, sizeof bytes, MSG_DONTWAIT,
				       (struct sockaddr *)&from, &len);

		if (got >= 0)
			sendto(fd, bytes, (size_t)got, 0, (struct sockaddr *)&from, len);
		if (n % LOOK_EVERY == 0 && perf_is_called(l))
			break;
	}
}
