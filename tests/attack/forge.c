/* Sends forged packets from an address of this machine, at a rate, and counts what comes back.
 *
 *	forge KIND [--NAME VALUE]...
 *	forge --check
 *
 * The datagrams leave by the kernel's UDP, so that whoever may bind an address may be this program.
 * Answers of RoCEv2 go to port 4791 of the address that a packet seems to come from: where nobody
 * has that port, this program takes it and counts them. At its end, or at SIGTERM, it prints one
 * line of JSON. */
#define _GNU_SOURCE /* sendmmsg */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/in6.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "codec.h"

enum {
	PORT = 4791,
	BATCH = 64,
	PSNS = 1 << 24,
	LENGTHS = 201,       /* 0 to 200 bytes */
	LINGER_MS = 30,      /* for the last answers */
	PACE_NS = 500000,    /* what is due for so long leaves together */
	DRAIN_MOST = 100000, /* answers that are taken at a time */
	DSCP_TRIMMED = 18,   /* as devices have it that nobody told otherwise */
};

#define SEC_NS 1000000000ull

struct job {
	const char *from, *to;
	enum codec_kind kind;
	uint64_t count, rate, seconds_ns, seed;
	uint64_t qp, body, stride, start, tag;
	bool has_qp, is_icrc_wrong, is_every_length, is_unsealed, is_rc;
	uint64_t burst; /* packets of one call that the kernel cuts apart */
	uint64_t cut;   /* bytes that a switch left of the payload; 0: all of it */
};

struct ends {
	struct codec_ends ends;
	struct sockaddr_storage from, to;
	socklen_t len;
	int out, raw;
	int answers; /* -1: somebody else has the port */
};

struct tally {
	uint64_t sent, failed, answers, answer_bytes, answers_to_sender;
};

static volatile sig_atomic_t is_over;

static void on_end(int number)
{
	(void)number;
	is_over = 1;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SEC_NS + (uint64_t)t.tv_nsec;
}

static void give_up(const char *what)
{
	fprintf(stderr, "forge: %s: %s\n", what, strerror(errno));
	exit(1);
}

static socklen_t address_of(const char *text, uint16_t port, struct sockaddr_storage *a,
			    uint8_t bytes[16])
{
	struct sockaddr_in *v4 = (void *)a;
	struct sockaddr_in6 *v6 = (void *)a;

	memset(a, 0, sizeof *a);
	if (inet_pton(AF_INET, text, bytes) == 1) {
		*v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
		memcpy(&v4->sin_addr, bytes, 4);
		return sizeof *v4;
	}
	if (inet_pton(AF_INET6, text, bytes) != 1) {
		fprintf(stderr, "forge: '%s' is no address\n", text);
		exit(2);
	}
	*v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
	memcpy(&v6->sin6_addr, bytes, 16);
	return sizeof *v6;
}

/* Without a connection, and forbidden to be cut, packets over IPv4 have the identification 0. Over
 * IPv6 an address may be local without being an interface's. */
static int open_socket(int family)
{
	int fd = socket(family, SOCK_DGRAM, 0), always = IP_PMTUDISC_DO, on = 1;

	if (fd < 0)
		give_up("a socket");
	if (family == AF_INET)
		setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &always, sizeof always);
	else
		setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof on);
	return fd;
}

static void open_ends(struct ends *e, const struct job *job)
{
	struct sockaddr_in6 at = {.sin6_port = 0};
	struct sockaddr_in *v4 = (void *)&e->from;
	socklen_t len = sizeof at;

	e->len = address_of(job->to, PORT, &e->to, e->ends.to);
	if (address_of(job->from, 0, &e->from, e->ends.from) != e->len) {
		fprintf(stderr, "forge: both addresses must be of one kind\n");
		exit(2);
	}
	e->ends.is_v6 = e->to.ss_family == AF_INET6;
	e->ends.dport = PORT;
	e->out = open_socket(e->to.ss_family);
	if (bind(e->out, (struct sockaddr *)&e->from, e->len) ||
	    getsockname(e->out, (struct sockaddr *)&at, &len))
		give_up(job->from);
	e->ends.sport = ntohs(at.sin6_port); /* at the same place in both kinds */
	setsockopt(e->out, SOL_SOCKET, SO_SNDBUF, &(int){4 << 20}, sizeof(int));
	e->raw = job->cut ? socket(AF_INET, SOCK_RAW, IPPROTO_RAW) : -1;
	if (job->cut && e->raw < 0)
		give_up("a raw socket");
	e->answers = open_socket(e->to.ss_family);
	v4->sin_port = htons(PORT);
	if (bind(e->answers, (struct sockaddr *)&e->from, e->len)) {
		close(e->answers);
		e->answers = -1;
	}
}

static void drain(int fd, uint64_t *n, uint64_t *bytes)
{
	char buffer[CODEC_MOST];

	for (unsigned i = 0; fd >= 0 && i < DRAIN_MOST; i++) {
		ssize_t got = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT | MSG_TRUNC);
		if (got < 0)
			return;
		++*n;
		*bytes += (uint64_t)got;
	}
}

/* A packet of every kind of the transport, cut or filled to one length after the other, sealed and
 * not: what a parser meets that trusts a header. */
static void write_length(struct codec_packet *p, const struct job *job, const struct ends *e,
			 const struct codec_guess *guess, struct codec_random *random, uint64_t i)
{
	unsigned first = job->is_rc ? CODEC_RC_WRITE : CODEC_MRC_WRITE;
	unsigned kinds = (job->is_rc ? CODEC_MRC_WRITE : CODEC_KINDS) - first;
	uint32_t len = (uint32_t)(i / (2 * kinds) % LENGTHS);

	codec_write(p, (enum codec_kind)(first + i / 2 % kinds), guess, random);
	while (p->len < len)
		p->bytes[p->len++] = (uint8_t)codec_draw(random);
	p->len = len;
	if (i % 2 && len >= 4) {
		p->len -= 4;
		codec_seal(p, &e->ends);
	}
}

static void write_one(struct codec_packet *p, const struct job *job, const struct ends *e,
		      struct codec_random *random, uint64_t i)
{
	struct codec_guess guess = {.qp = (uint32_t)job->qp, .body = (uint32_t)job->body};

	if (!job->has_qp)
		guess.qp = (uint32_t)job->tag << 16 | (codec_draw(random) & 0xffff);
	guess.psn = job->stride ? (uint32_t)((job->start + i * job->stride) % PSNS)
				: codec_draw(random) % PSNS;
	if (job->is_every_length) {
		write_length(p, job, e, &guess, random, i);
		return;
	}
	codec_write(p, job->kind, &guess, random);
	if (job->is_unsealed || job->kind == CODEC_RANDOM)
		return;
	codec_seal(p, &e->ends);
	if (job->is_icrc_wrong)
		p->bytes[p->len - 1] ^= 1 + (uint8_t)(codec_draw(random) % 255);
}

/* Sends the next n packets. */
static void send_batch(struct ends *e, const struct job *job, struct codec_random *random,
		       unsigned n, struct tally *tally)
{
	static struct codec_packet packets[BATCH];
	struct iovec iov[BATCH];
	struct mmsghdr msgs[BATCH] = {0};
	unsigned at = 0;

	for (unsigned k = 0; k < n; k++) {
		write_one(&packets[k], job, e, random, tally->sent + k);
		iov[k] = (struct iovec){packets[k].bytes, packets[k].len};
		msgs[k].msg_hdr = (struct msghdr){.msg_name = &e->to,
						  .msg_namelen = e->len,
						  .msg_iov = &iov[k],
						  .msg_iovlen = 1};
	}
	while (at < n) {
		int sent = sendmmsg(e->out, msgs + at, n - at, 0);

		/* One that the kernel refuses (an ICMP error of the one before) is left out. */
		tally->failed += sent <= 0;
		at += sent > 0 ? (unsigned)sent : 1;
	}
	tally->sent += n;
}

/* The same with all packets in one datagram that the kernel cuts apart, which is the cheapest way
 * to send many; they are of one length. */
static void send_burst(const struct ends *e, const struct job *job, struct codec_random *random,
		       struct tally *tally)
{
	static uint8_t bytes[1 << 16];
	uint16_t each = (uint16_t)job->body;
	size_t len = 0;

	for (unsigned k = 0; k < job->burst && len + each <= sizeof bytes; k++) {
		struct codec_packet p;

		write_one(&p, job, e, random, tally->sent + k);
		memcpy(bytes + len, p.bytes, each);
		len += each;
	}
	setsockopt(e->out, IPPROTO_UDP, UDP_SEGMENT, &(int){each}, sizeof(int));
	if (sendto(e->out, bytes, len, 0, (const struct sockaddr *)&e->to, e->len) < 0)
		tally->failed += job->burst;
	tally->sent += job->burst;
}

/* As a switch leaves a packet that it trimmed (MRC 7.5.3): the IP header tells the new length and
 * says by its DSCP that the packet was cut, the UDP header has the old length, and the ICRC is gone
 * with the rest. The kernel fills in the checksum of IP. Over IPv4 only. */
static void send_cut(const struct ends *e, const struct job *job, struct codec_random *random,
		     struct tally *tally)
{
	const uint16_t whole = 8 + 1024 + 36, ports[2] = {e->ends.sport, PORT};
	uint8_t bytes[28 + CODEC_MOST] = {0x45, DSCP_TRIMMED << 2};
	struct codec_packet p;

	write_one(&p, job, e, random, tally->sent);
	if (p.len > job->cut)
		p.len = (uint32_t)job->cut;
	bytes[6] = 0x40;
	bytes[8] = 64;
	bytes[9] = IPPROTO_UDP;
	memcpy(bytes + 12, e->ends.from, 4);
	memcpy(bytes + 16, e->ends.to, 4);
	for (unsigned i = 0; i < 2; i++) {
		bytes[20 + 2 * i] = (uint8_t)(ports[i] >> 8);
		bytes[21 + 2 * i] = (uint8_t)ports[i];
	}
	bytes[24] = (uint8_t)(whole >> 8);
	bytes[25] = (uint8_t)whole;
	memcpy(bytes + 28, p.bytes, p.len);
	if (sendto(e->raw, bytes, 28 + p.len, 0, (const struct sockaddr *)&e->to, e->len) < 0)
		tally->failed++;
	tally->sent++;
}

static void wait_until(uint64_t at)
{
	struct timespec t = {(time_t)(at / SEC_NS), (long)(at % SEC_NS)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void collect(const struct ends *e, struct tally *tally)
{
	uint64_t bytes = 0;

	drain(e->answers, &tally->answers, &tally->answer_bytes);
	drain(e->out, &tally->answers_to_sender, &bytes);
	tally->answer_bytes += bytes;
}

static void flood(struct ends *e, const struct job *job, struct tally *tally)
{
	struct codec_random random = {job->seed};
	uint64_t start = now_ns();

	while (!is_over && tally->sent < job->count) {
		uint64_t passed = now_ns() - start;
		uint64_t due = job->rate ? passed * job->rate / SEC_NS + 1 : UINT64_MAX;
		uint64_t left = job->count - tally->sent;

		if (passed >= job->seconds_ns)
			break;
		if (due <= tally->sent) {
			wait_until(start + passed + PACE_NS);
			continue;
		}
		due -= tally->sent;
		due = due < left ? due : left;
		if (job->cut)
			send_cut(e, job, &random, tally);
		else if (job->burst)
			send_burst(e, job, &random, tally);
		else
			send_batch(e, job, &random, (unsigned)(due < BATCH ? due : BATCH), tally);
		collect(e, tally);
	}
}

struct option {
	const char *name;
	uint64_t *value;
};

static void read_option(struct job *job, const char *name, char *text)
{
	const struct option options[] = {
		{"--count", &job->count}, {"--rate", &job->rate},   {"--seed", &job->seed},
		{"--qp", &job->qp},       {"--body", &job->body},   {"--stride", &job->stride},
		{"--start", &job->start}, {"--burst", &job->burst}, {"--tag", &job->tag},
		{"--cut", &job->cut},
	};

	if (!strcmp(name, "--from"))
		job->from = text;
	else if (!strcmp(name, "--to"))
		job->to = text;
	else if (!strcmp(name, "--ms"))
		job->seconds_ns = strtoull(text, NULL, 0) * 1000000;
	job->has_qp |= !strcmp(name, "--qp");
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (!strcmp(name, options[i].name))
			*options[i].value = strtoull(text, NULL, 0);
}

static void read_job(struct job *job, int argc, char **argv)
{
	job->is_every_length = !strcmp(argv[1], "rc-lengths") || !strcmp(argv[1], "mrc-lengths");
	job->is_rc = argv[1][0] == 'r';
	job->kind = job->is_every_length ? CODEC_RANDOM : codec_find(argv[1]);
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--wrong-icrc"))
			job->is_icrc_wrong = true;
		else if (!strcmp(argv[i], "--no-icrc"))
			job->is_unsealed = true;
		else if (i + 1 < argc)
			read_option(job, argv[i], argv[i + 1]), i++;
	}
	if (job->kind == CODEC_KINDS || !job->from || !job->to || job->body > CODEC_MOST / 2 ||
	    job->burst > BATCH) {
		fprintf(stderr, "usage: forge KIND --from ADDRESS --to ADDRESS [--qp N | --tag N] "
				"[--body BYTES] [--count N] [--ms N] [--rate N] [--seed N]\n"
				"[--stride N --start PSN] [--burst N | --cut BYTES]\n[--wrong-icrc "
				"| --no-icrc]\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct job job = {.count = 1000000, .seconds_ns = 10 * SEC_NS, .seed = 1, .body = 64};
	struct tally tally = {0};
	struct ends ends;
	uint64_t start;

	if (argc < 2 || !strcmp(argv[1], "--check"))
		return codec_check() ? 0 : 1;
	read_job(&job, argc, argv);
	signal(SIGTERM, on_end);
	open_ends(&ends, &job);
	start = now_ns();
	flood(&ends, &job, &tally);
	uint64_t took = now_ns() - start;

	wait_until(now_ns() + LINGER_MS * 1000000ull);
	collect(&ends, &tally);
	printf("{\"sent\":%llu,\"failed\":%llu,\"ns\":%llu,\"answers\":%llu,\"answer_bytes\":%llu,"
	       "\"has_answers\":%s}\n",
	       (unsigned long long)(tally.sent - tally.failed), (unsigned long long)tally.failed,
	       (unsigned long long)took,
	       (unsigned long long)(tally.answers + tally.answers_to_sender),
	       (unsigned long long)tally.answer_bytes, ends.answers >= 0 ? "true" : "false");
	return 0;
}
