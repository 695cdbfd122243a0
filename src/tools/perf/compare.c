/* The same way, measured with what everybody knows: iperf3 over TCP, and bare UDP. */
#define _GNU_SOURCE /* pipe2(2) */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/perf/perf.h"
#include "tools/text.h"

#define START_US     300000
#define LEAST_MS     1000u
#define UDP_PING_MAX 60000u
#define JSON_MAX     262144u

extern char **environ;

/* Starts a program with its output in out; its process number or a negative errno. */
static pid_t start(char *const argv[], int out)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
	int why = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);

	posix_spawn_file_actions_destroy(&actions);
	return why == 0 ? pid : -why;
}

/* The number behind the last "bits_per_second" of iperf3's report after "sum_received". */
static uint64_t received_bps(const char *json)
{
	const char *sum = strstr(json, "\"sum_received\"");
	const char *bps = sum ? strstr(sum, "\"bits_per_second\":") : NULL;

	return bps ? (uint64_t)strtod(bps + strlen("\"bits_per_second\":"), NULL) : 0;
}

/* iperf3 without a result mostly says why; nothing: it did not even start. */
static void say_no_result(const struct perf_link *l, const char *json)
{
	const char *error = strstr(json, "\"error\":");
	const char *from = error ? strchr(error + strlen("\"error\":"), '"') : NULL;
	char text[PERF_LINE_MAX];

	if (!from) {
		fprintf(stderr, "%s: iperf3 gave no result here; is it installed?\n", l->name);
		return;
	}
	snprintf(text, sizeof text, "%.*s", (int)strcspn(from + 1, "\""), from + 1);
	fprintf(stderr, "%s: iperf3 gave no result: ", l->name);
	text_put_safe(stderr, text);
	fputc('\n', stderr);
}

static uint64_t run_iperf(const struct perf_link *l, const char *host, uint16_t port, uint32_t ms)
{
	char port_text[8], seconds[16];
	char *json = calloc(1, JSON_MAX);
	size_t len = 0;
	ssize_t got;
	int pipes[2];

	snprintf(port_text, sizeof port_text, "%u", port);
	snprintf(seconds, sizeof seconds, "%u", (ms + 999) / 1000);
	char *const argv[] = {(char[]){"iperf3"},
			      (char[]){"-J"},
			      (char[]){"-c"},
			      strdup(host),
			      (char[]){"-p"},
			      port_text,
			      (char[]){"-t"},
			      seconds,
			      (char[]){"--connect-timeout"},
			      (char[]){"3000"},
			      NULL};

	if (!json || !argv[3] || pipe2(pipes, O_CLOEXEC) != 0) {
		free(json);
		free(argv[3]);
		return 0;
	}
	pid_t pid = start(argv, pipes[1]);

	close(pipes[1]);
	while (pid > 0 && len < JSON_MAX - 1 &&
	       (got = read(pipes[0], json + len, JSON_MAX - 1 - len)) > 0)
		len += (size_t)got;
	close(pipes[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	uint64_t bps = received_bps(json);

	if (bps == 0)
		say_no_result(l, json);
	free(argv[3]);
	free(json);
	return bps;
}

static int compare_tcp(struct perf_link *l, uint32_t ms, uint64_t *bps)
{
	uint16_t ours = perf_port(&l->remote);
	uint16_t port = (uint16_t)(ours < UINT16_MAX ? ours + 1 : ours - 1);
	char line[PERF_LINE_MAX], host[INET6_ADDRSTRLEN];
	int answer = perf_send_line(l, "iperf3 %u", port);

	if (answer == 0)
		answer = perf_read_line(l, line);
	if (answer != 0)
		return answer;
	if (strcmp(line, "ready") != 0) {
		fprintf(stderr, "%s: no iperf3 at the other side; install it to compare\n",
			l->name);
		return 0;
	}
	perf_address_text(&l->remote, host);
	*bps = run_iperf(l, host, port, ms);
	answer = perf_send_line(l, "stop");
	return answer != 0 ? answer : perf_read_line(l, line);
}

/* Asks for one of the UDP services and runs our side of it. */
static int compare_udp(struct perf_link *l, const char *service, uint32_t size, uint32_t ms,
		       uint64_t *figure)
{
	struct sockaddr_storage to = l->remote;
	char line[PERF_LINE_MAX];
	uint64_t port;
	uint16_t mine;
	uint64_t got[2];
	int answer = perf_send_line(l, "%s", service);

	if (answer != 0 || (answer = perf_read_line(l, line)) != 0)
		return answer;
	if (!perf_numbers(line, "port", &port, 1) || port > UINT16_MAX) {
		fprintf(stderr, "%s: the other side named no UDP port\n", l->name);
		return -EPROTO;
	}
	perf_set_port(&to, (uint16_t)port);
	int fd = perf_udp_open(&l->local, &mine);

	if (fd >= 0 && strcmp(service, "udp-echo") == 0)
		*figure = perf_udp_ping(fd, &to, size, ms);
	else if (fd >= 0)
		perf_udp_blast(fd, &to, size, ms);
	if (fd >= 0)
		close(fd);
	answer = perf_send_line(l, "stop");
	if (answer != 0 || (answer = perf_read_line(l, line)) != 0)
		return answer;
	if (perf_numbers(line, "bytes-ns", got, 2) && got[1] > 0)
		*figure = (uint64_t)((double)got[0] * 8e9 / (double)got[1]);
	if (*figure == 0)
		fprintf(stderr, "%s: bare UDP gave no result\n", l->name);
	return 0;
}

int perf_compare(struct perf_link *l, const struct perf_test *test, struct perf_baseline *b)
{
	uint32_t ms = test->duration_ms > LEAST_MS ? test->duration_ms : LEAST_MS;
	uint32_t segment = test->size < test->pmtu ? test->size : test->pmtu;

	*b = (struct perf_baseline){.tcp_bps = 0};
	if (test->mode == PERF_LATENCY)
		return compare_udp(l, "udp-echo",
				   test->size < UDP_PING_MAX ? test->size : UDP_PING_MAX, ms,
				   &b->udp_ping_ns);
	int answer = compare_tcp(l, ms, &b->tcp_bps);

	return answer != 0 ? answer : compare_udp(l, "udp-sink", segment, ms, &b->udp_bps);
}

static int serve_iperf(struct perf_link *l, const char *line)
{
	char port[8], address[INET6_ADDRSTRLEN], reply[PERF_LINE_MAX];
	uint64_t number;

	if (!perf_numbers(line, "iperf3", &number, 1) || number == 0 || number > UINT16_MAX)
		return perf_send_line(l, "none");
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return perf_send_line(l, "none");
	snprintf(port, sizeof port, "%u", (unsigned)number);
	perf_address_text(&l->local, address);
	char *const argv[] = {(char[]){"iperf3"},
			      (char[]){"-s"},
			      (char[]){"-1"},
			      (char[]){"-p"},
			      port,
			      (char[]){"-B"},
			      address,
			      NULL};
	pid_t pid = start(argv, null);

	close(null);
	/* It tells nobody that it listens. */
	usleep(START_US);
	if (pid < 0 || waitpid(pid, NULL, WNOHANG) != 0)
		return perf_send_line(l, "none");
	int answer = perf_send_line(l, "ready");

	/* It takes as long as the client likes. */
	if (answer == 0) {
		perf_await_call(l);
		answer = perf_read_line(l, reply);
	}
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	return answer != 0 ? answer : perf_send_line(l, "bye");
}

static int serve_udp(struct perf_link *l, bool is_echo)
{
	char line[PERF_LINE_MAX];
	uint64_t bytes = 0, ns = 0;
	uint16_t port;
	int fd = perf_udp_open(&l->local, &port);

	if (fd < 0)
		return perf_send_line(l, "error no UDP socket: %s", strerror(-fd));
	int answer = perf_send_line(l, "port %u", port);

	if (answer == 0 && is_echo)
		perf_udp_echo(fd, l);
	else if (answer == 0)
		bytes = perf_udp_sink(fd, l, &ns);
	close(fd);
	if (answer == 0)
		answer = perf_read_line(l, line);
	return answer != 0 ? answer : perf_send_line(l, "bytes-ns %" PRIu64 " %" PRIu64, bytes, ns);
}

int perf_compare_serve(struct perf_link *l, const char *line)
{
	if (strncmp(line, "iperf3 ", 7) == 0)
		return serve_iperf(l, line);
	if (strcmp(line, "udp-echo") == 0)
		return serve_udp(l, true);
	if (strcmp(line, "udp-sink") == 0)
		return serve_udp(l, false);
	return -ENOTSUP;
}
