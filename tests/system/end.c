#define _GNU_SOURCE
#include "end.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/udp.h"
#include "rc/rc.h"

#define IDLE_POLLS  64u
#define NAP_NS      100000
#define NSEC_PER_MS UINT64_C(1000000)
#define BAD_SAID    10u /* the rest is only counted */

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* SplitMix64's step. */
static uint64_t mix(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

void fill(uint8_t *at, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i += sizeof seed) {
		uint64_t x = mix(&seed);

		memcpy(at + i, &x, n - i < sizeof x ? n - i : sizeof x);
	}
}

bool is_filled(const uint8_t *at, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i += sizeof seed) {
		uint64_t x = mix(&seed);

		if (memcmp(at + i, &x, n - i < sizeof x ? n - i : sizeof x) != 0)
			return false;
	}
	return true;
}

void bad(struct end *e, const char *format, ...)
{
	va_list args;

	if (e->n_bad++ >= BAD_SAID)
		return;
	fputs("end: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void answer(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* Works on while nothing is to be read, at most ms; false: the time is over. */
static bool is_over_in(struct end *e, uint32_t ms)
{
	uint64_t until = now_ns() + ms * NSEC_PER_MS;

	while (!traffic_is_over(e)) {
		if (traffic_step(e) <= 0 && now_ns() > until)
			return false;
	}
	return true;
}

static int reap(struct end *e, uint32_t ms)
{
	uint64_t until = now_ns() + ms * NSEC_PER_MS;
	int status = 0;
	pid_t got = 0;

	while ((got = waitpid(e->child, &status, WNOHANG)) == 0 && now_ns() < until)
		traffic_step(e);
	if (got != e->child)
		return got == 0 ? -ETIMEDOUT : -errno;
	e->child = 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

/* The two commands with a list behind them. */
static int connect_pairs(struct end *e, const char *line)
{
	char word[16], address[64];
	int at = 0;

	if (sscanf(line, "%15s %63s %" SCNu64 " %" SCNu32 " %n", word, address, &e->peer_va,
		   &e->peer_key, &at) < 4)
		return -EINVAL;
	return pairs_connect(e, address, line + at, strcmp(word, "connect") == 0);
}

static int open_pairs(struct end *e, const char *line)
{
	uint32_t n;

	if (sscanf(line, "pairs %u %u %u %u %u", &n, &e->size, &e->depth, &e->timeout,
		   &e->retries) != 5 ||
	    n == 0 || n > PAIRS_MAX || e->size == 0 || e->size % sizeof(uint64_t) != 0)
		return -EINVAL;
	return pairs_open(e, n);
}

static int start_job(struct end *e, const char *kind, uint64_t limit)
{
	if (strcmp(kind, "rounds") == 0)
		return traffic_start(e, JOB_ROUNDS, limit);
	if (strcmp(kind, "writes") == 0)
		return traffic_start(e, JOB_WRITES, limit);
	return strcmp(kind, "reads") == 0 ? traffic_start(e, JOB_READS, limit) : -EINVAL;
}

static void print_counters(const struct end *e)
{
	struct rc_counters rc;
	struct driver_counters udp;

	nic_counters(e->user, &rc, sizeof rc, &udp);
	printf("ok");
#define PRINT_RC(name, text)  printf(" rc_" #name "=%" PRIu64, rc.name);
#define PRINT_UDP(name, text) printf(" udp_" #name "=%" PRIu64, udp.name);
	RC_COUNTERS(PRINT_RC)
	DRIVER_COUNTERS(PRINT_UDP)
	answer("%s", "");
}

/* Commands that give their own answer: 0 or an error; 1: not one of them. */
static int obey_speaking(struct end *e, const char *line)
{
	uint64_t va;
	uint32_t a, b;

	if (strncmp(line, "pairs ", 6) == 0) {
		int r = open_pairs(e, line);

		if (r == 0)
			pairs_print(e);
		return r;
	}
	if (sscanf(line, "wait %u", &a) == 1) {
		traffic_print(e, is_over_in(e, a) ? "ok" : "late");
		return 0;
	}
	if (strcmp(line, "stop") == 0) {
		answer("ok limit=%" PRIu64, traffic_stop(e));
		return 0;
	}
	if (strcmp(line, "counters") == 0) {
		print_counters(e);
		return 0;
	}
	if (strcmp(line, "state") == 0) {
		traffic_print(e, "ok");
		return 0;
	}
	if (sscanf(line, "watch %u", &a) == 1) {
		answer("ok changes=%d", traffic_changes(e, a));
		return 0;
	}
	if (sscanf(line, "crowd-open %u %u", &a, &b) == 2)
		return crowd_open(e, a, b);
	if (sscanf(line, "crowd-go %" SCNu64 " %u %u", &va, &a, &b) == 3)
		return crowd_go(e, va, a, b);
	return strcmp(line, "crowd-check") == 0 ? crowd_check(e) : 1;
}

/* 0 or a negative errno. */
static int obey_silent(struct end *e, const char *line)
{
	char word[64];
	uint64_t limit;
	uint32_t a, b;

	if (sscanf(line, "open %63s", word) == 1)
		return end_open(e, word);
	if (strncmp(line, "connect", 7) == 0)
		return connect_pairs(e, line);
	if (sscanf(line, "start %63s %" SCNu64, word, &limit) == 2)
		return start_job(e, word, limit);
	if (sscanf(line, "nudge %u %u", &a, &b) == 2)
		return traffic_nudge(e, a, b);
	if (sscanf(line, "drop %u %u", &a, &b) == 2)
		return pairs_drop(e, a, b);
	if (strcmp(line, "close-pairs") == 0) {
		crowd_close(e);
		return pairs_close(e);
	}
	if (strcmp(line, "close") == 0)
		return end_close(e);
	if (sscanf(line, "deregister %u", &a) == 1)
		return traffic_deregister(e, a);
	if (sscanf(line, "churn %u %u", &a, &b) == 2)
		return churn(e, a, b);
	if (sscanf(line, "fork %63s", word) == 1)
		return forked_start(e, word);
	return sscanf(line, "reap %u", &a) == 1 ? reap(e, a) : -EINVAL;
}

static void obey(struct end *e, const char *line)
{
	int r = obey_speaking(e, line);

	if (r == 0)
		return;
	if (r > 0)
		r = obey_silent(e, line);
	if (r == 0)
		answer("ok");
	else
		answer("error %.20s: %s; %s", line, strerror(-r), nic_error());
}

/* Reads what there is; false: the input is at its end. Lines go out as they are complete. */
static bool listen_to(struct end *e, char *text, size_t *len)
{
	ssize_t got = read(STDIN_FILENO, text + *len, LINE_MAX_BYTES - 1 - *len);
	char *line = text, *end;

	if (got <= 0)
		return false;
	*len += (size_t)got;
	text[*len] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		if (strcmp(line, "quit") == 0)
			return false;
		obey(e, line);
		line = end + 1;
	}
	*len -= (size_t)(line - text);
	memmove(text, line, *len);
	return *len < LINE_MAX_BYTES - 1;
}

int main(void)
{
	static char text[LINE_MAX_BYTES];
	static struct end e;
	size_t len = 0;
	uint32_t idle = 0;

	/* The test that started it may die. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		const struct timespec nap = {.tv_nsec = idle < IDLE_POLLS ? 0 : NAP_NS};
		struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

		if (ppoll(&p, 1, &nap, NULL) > 0 && !listen_to(&e, text, &len))
			break;
		idle = traffic_step(&e) > 0 ? 0 : idle + 1;
	}
	int r = end_close(&e);

	if (r != 0)
		fprintf(stderr, "end: cannot close: %s; %s\n", strerror(-r), nic_error());
	return r == 0 && e.n_bad == 0 ? 0 : 1;
}
