#define _GNU_SOURCE
#include <arpa/inet.h>
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

#include "tools/perf/perf.h"
#include "tools/text.h"

#define TIMEOUT_S     60 /* nobody takes longer to set up a test */
#define FIRST_S       5  /* nor so long to ask for the first: it is all that a client came for */
#define BACKLOG       4
#define DOOR_EVERY_MS 200 /* looks for another client, where nothing else is to be done */
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

void perf_address_text(const struct sockaddr_storage *a, char *text)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in *four = (const struct sockaddr_in *)a;

	if (a->ss_family == AF_INET)
		inet_ntop(AF_INET, &four->sin_addr, text, INET6_ADDRSTRLEN);
	else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		inet_ntop(AF_INET, six->sin6_addr.s6_addr + 12, text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, &six->sin6_addr, text, INET6_ADDRSTRLEN);
}

/* 0: for ever. */
static void set_timeout(int fd, int seconds)
{
	const struct timeval timeout = {.tv_sec = seconds};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

static void set_options(int fd)
{
	const int on = 1, idle = KEEP_IDLE_S, every = KEEP_EVERY_S, tries = KEEP_TRIES;

	set_timeout(fd, TIMEOUT_S);
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
			/* A client that is gone when it is taken keeps nobody waiting. */
			fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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

/* A client that comes while another is served is told so, and waits; beyond so many they wait
 * without a word, in the kernel. */
static void mind_door(const struct perf_link *l)
{
	struct perf_door *d = l->door;
	char who[INET6_ADDRSTRLEN], line[PERF_LINE_MAX];

	if (!d || d->n_waiting == PERF_WAITING_MAX)
		return;
	int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	perf_address_text(&l->remote, who);
	int n = d->is_once ? snprintf(line, sizeof line,
				      "error this server ends with its first client (--once), "
				      "which is at %s\n",
				      who)
			   : snprintf(line, sizeof line, "busy %s\n", who);
	bool is_sent = send(fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n;

	if (is_sent && !d->is_once)
		d->waiting[d->n_waiting++] = fd;
	else
		close(fd);
}

int perf_link_take(struct perf_link *l)
{
	struct perf_door *d = l->door;
	int fd = d->waiting[0];

	if (d->n_waiting > 0) {
		d->n_waiting--;
		memmove(d->waiting, d->waiting + 1, d->n_waiting * sizeof d->waiting[0]);
		return adopt(l, fd);
	}
	/* A client that gave up while it waited is none. */
	do {
		struct pollfd p = {.fd = d->listener, .events = POLLIN};

		poll(&p, 1, -1);
		fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);
	} while (fd < 0 && (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED));
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

int perf_send_line(struct perf_link *l, const char *format, ...)
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

int perf_read_line(struct perf_link *l, char text[PERF_LINE_MAX])
{
	int answer = perf_read_line_or_end(l, text);

	if (answer != -ENOTCONN)
		return answer;
	fprintf(stderr, "%s: the other side is gone\n", l->name);
	return -ECONNRESET;
}

int perf_read_first_line(struct perf_link *l, char text[PERF_LINE_MAX])
{
	set_timeout(l->fd, FIRST_S);
	int answer = perf_read_line_or_end(l, text);

	set_timeout(l->fd, TIMEOUT_S);
	return answer;
}

int perf_read_greeting(struct perf_link *l, char text[PERF_LINE_MAX])
{
	int answer = perf_read_line(l, text);

	for (bool is_said = false; answer == 0 && strncmp(text, "busy ", 5) == 0; is_said = true) {
		if (!is_said) {
			fprintf(stderr, "%s: the server is busy with a client at ", l->name);
			text_put_safe(stderr, text + 5);
			fputs("; waiting for it\n", stderr);
		}
		/* Nobody knows how long that one wants to measure. */
		set_timeout(l->fd, 0);
		answer = perf_read_line(l, text);
		set_timeout(l->fd, TIMEOUT_S);
	}
	return answer;
}

int perf_read_line_or_end(struct perf_link *l, char text[PERF_LINE_MAX])
{
	if (!fgets(text, PERF_LINE_MAX, l->in)) {
		struct timeval timeout = {.tv_sec = TIMEOUT_S};
		socklen_t len = sizeof timeout;

		if (feof(l->in) || (errno != EAGAIN && errno != EWOULDBLOCK))
			return -ENOTCONN;
		getsockopt(l->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, &len);
		fprintf(stderr, "%s: the other side has said nothing for %ld s\n", l->name,
			(long)timeout.tv_sec);
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
	struct pollfd p[] = {{.fd = l->fd, .events = POLLIN},
			     {.fd = l->door ? l->door->listener : -1, .events = POLLIN}};

	if (poll(p, 2, 0) <= 0)
		return false;
	if (p[1].revents)
		mind_door(l);
	return p[0].revents != 0;
}

void perf_await_call(struct perf_link *l)
{
	struct pollfd p = {.fd = l->fd, .events = POLLIN};

	while (!perf_is_called(l))
		poll(&p, 1, DOOR_EVERY_MS);
}
