#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tools/perf.h"
#include "tools/text.h"

#define PATIENCE_S 60 /* nobody takes longer to set up a test */
#define BACKLOG    4
/* A machine that vanished without a word is noticed within half a minute. */
#define KEEP_IDLE_S  10
#define KEEP_EVERY_S 5
#define KEEP_TRIES   4

uint16_t perf_port(const struct sockaddr_storage *a)
{
	return ntohs(a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
					      : ((const struct sockaddr_in *)a)->sin_port);
}

void perf_set_port(struct sockaddr_storage *a, uint16_t port)
{
	if (a->ss_family == AF_INET6)
		((struct sockaddr_in6 *)a)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)a)->sin_port = htons(port);
}

static void set_options(int fd)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	const int on = 1, idle = KEEP_IDLE_S, every = KEEP_EVERY_S, tries = KEEP_TRIES;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
	/* Lines are short, and each is waited for. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* Takes over fd. */
static int adopt(struct perf_link *l, int fd)
{
	socklen_t len = sizeof l->local;
	int second = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	l->fd = fd;
	l->in = fdopen(fd, "r");
	l->out = second < 0 ? NULL : fdopen(second, "w");
	if (!l->in || !l->out) {
		int why = errno;

		fprintf(stderr, "%s: %s\n", l->name, strerror(why));
		if (!l->out && second >= 0)
			close(second);
		if (!l->in)
			close(fd);
		perf_link_close(l);
		return -why;
	}
	set_options(fd);
	getsockname(fd, (struct sockaddr *)&l->local, &len);
	len = sizeof l->remote;
	getpeername(fd, (struct sockaddr *)&l->remote, &len);
	return 0;
}

static void say_host(const char *name, const char *host, const char *why)
{
	fprintf(stderr, "%s: '", name);
	text_put_safe(stderr, host);
	fprintf(stderr, "': %s\n", why);
}

int perf_link_open(struct perf_link *l, const char *host, uint16_t port)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	char service[8];
	int fd = -1, why = 0;

	snprintf(service, sizeof service, "%u", port);
	int answer = getaddrinfo(host, service, &hints, &found);

	if (answer != 0) {
		say_host(l->name, host, gai_strerror(answer));
		return -ENOENT;
	}
	for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0)
			break;
		why = errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	if (fd < 0) {
		fprintf(stderr, "%s: cannot reach port %u of ", l->name, port);
		text_put_safe(stderr, host);
		fprintf(stderr, ": %s; is 'weft perf --server' running there?\n", strerror(why));
		return -why;
	}
	return adopt(l, fd);
}

int perf_listen(const char *name, const char *address, uint16_t port)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *found;
	char service[8];
	int on = 1;

	snprintf(service, sizeof service, "%u", port);
	int answer = getaddrinfo(address, service, &hints, &found);

	if (answer != 0) {
		say_host(name, address ? address : "", gai_strerror(answer));
		return -ENOENT;
	}
	/* An IPv6 socket takes IPv4 too; where the machine has none, the next address will do. */
	int fd = -1;

	for (int family = AF_INET6; fd < 0; family = AF_INET) {
		for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
			if (a->ai_family != family)
				continue;
			fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
			if (fd < 0)
				continue;
			setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
			if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
				break;
			int why = errno;

			close(fd);
			errno = why;
			fd = -1;
		}
		if (family == AF_INET)
			break;
	}
	int why = errno;

	freeaddrinfo(found);
	if (fd >= 0)
		return fd;
	fprintf(stderr, "%s: cannot listen on port %u: %s; choose another with --port\n", name,
		port, strerror(why));
	return -why;
}

int perf_link_take(struct perf_link *l, int listener)
{
	int fd;

	/* A client that gave up while it waited is none. */
	do
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd >= 0)
		return adopt(l, fd);
	int why = errno;

	fprintf(stderr, "%s: cannot take a client: %s\n", l->name, strerror(why));
	return -why;
}

void perf_link_close(struct perf_link *l)
{
	if (l->in)
		fclose(l->in);
	if (l->out)
		fclose(l->out);
	l->in = l->out = NULL;
}

int perf_tell(struct perf_link *l, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vfprintf(l->out, format, args);

	va_end(args);
	if (n >= 0 && fputc('\n', l->out) != EOF && fflush(l->out) == 0)
		return 0;
	fprintf(stderr, "%s: the other side is gone\n", l->name);
	return -ECONNRESET;
}

int perf_hear(struct perf_link *l, char text[PERF_LINE_MAX])
{
	int answer = perf_hear_more(l, text);

	if (answer != -ENOTCONN)
		return answer;
	fprintf(stderr, "%s: the other side is gone\n", l->name);
	return -ECONNRESET;
}

int perf_hear_more(struct perf_link *l, char text[PERF_LINE_MAX])
{
	if (!fgets(text, PERF_LINE_MAX, l->in)) {
		if (feof(l->in) || (errno != EAGAIN && errno != EWOULDBLOCK))
			return -ENOTCONN;
		fprintf(stderr, "%s: the other side has said nothing for %d s\n", l->name,
			PATIENCE_S);
		return -ECONNRESET;
	}
	size_t len = strlen(text);

	if (len == 0 || text[len - 1] != '\n') {
		fprintf(stderr, "%s: the other side does not speak weft perf\n", l->name);
		return -EPROTO;
	}
	text[len - 1] = '\0';
	if (strncmp(text, "error ", 6) != 0)
		return 0;
	fprintf(stderr, "%s: the other side: ", l->name);
	text_put_safe(stderr, text + 6);
	fputc('\n', stderr);
	return -EPROTO;
}

bool perf_numbers(const char *line, const char *word, uint64_t *values, uint32_t n)
{
	size_t len = strlen(word);

	if (strncmp(line, word, len) != 0)
		return false;
	line += len;
	for (uint32_t i = 0; i < n; i++) {
		char *end;

		if (line[0] != ' ' || line[1] < '0' || line[1] > '9')
			return false;
		errno = 0;
		values[i] = strtoull(line + 1, &end, 10);
		if (errno != 0)
			return false;
		line = end;
	}
	return *line == '\0';
}

bool perf_is_called(struct perf_link *l)
{
	struct pollfd p = {.fd = l->fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

void perf_await_call(struct perf_link *l)
{
	struct pollfd p = {.fd = l->fd, .events = POLLIN};

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
}
