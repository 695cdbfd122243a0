/* Two drivers on the loopback interface, a and b, and packets from a to b. For tests of the udp
 * driver: each includes this once. */
#ifndef WEFT_TESTS_SUPPORT_UDP_PAIR_H
#define WEFT_TESTS_SUPPORT_UDP_PAIR_H

#include "check.h"
#include "io/udp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/prng.h"

enum {
	BYTES = 4400,   /* most of a packet here */
	WAIT_MS = 2000, /* for what must arrive */
	QUIET_MS = 30,  /* for what must not */
	BTH = 12,
	UDP_SEGMENT_OPTION = 103,
};

static struct driver *a, *b;
static uint32_t a_local, b_local, a_of_b, b_of_a; /* b_of_a: a's handle of b */
static uint16_t port;
static char error[512];

static inline int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline struct sockaddr_storage address(const char *text, uint16_t at_port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(at_port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(at_port)};
	struct sockaddr_storage s = {0};

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
		memcpy(&s, &v4, sizeof v4);
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
		memcpy(&s, &v6, sizeof v6);
	}
	return s;
}

static inline socklen_t length_of(const struct sockaddr_storage *s)
{
	return s->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* A port that nobody has now, so that tests can run side by side. */
static inline uint16_t free_port(void)
{
	struct sockaddr_storage s = address("127.0.0.1", 0);
	socklen_t len = sizeof s;
	struct sockaddr_in got;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&s, length_of(&s)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&s, &len), 0);
	close(fd);
	memcpy(&got, &s, sizeof got);
	return ntohs(got.sin_port);
}

static inline struct driver *new_driver(const struct udp_cfg *cfg)
{
	struct udp_cfg mine = *cfg;
	struct driver *u = NULL;

	mine.port = port;
	if (!mine.carrier)
		mine.carrier = &carrier_roce;
	mine.is_tag_in_order = true;
	if (udp_new(&u, &mine, error, sizeof error))
		fail_msg("%s", error);
	return u;
}

static inline uint32_t open_at(struct driver *u, const char *text)
{
	struct sockaddr_storage s = address(text, 0);
	uint32_t handle = DRIVER_NO_HANDLE;

	if (driver_bind(u, (struct sockaddr *)&s, &handle, error, sizeof error))
		fail_msg("%s: %s", text, error);
	return handle;
}

static inline uint32_t peer_of(struct driver *u, const char *text)
{
	struct sockaddr_storage s = address(text, 0);

	return driver_peer_get(u, (struct sockaddr *)&s);
}

static inline bool has_ipv6(void)
{
	struct sockaddr_storage s = address("::1", 0);
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool has = fd >= 0 && bind(fd, (struct sockaddr *)&s, length_of(&s)) == 0;

	if (fd >= 0)
		close(fd);
	return has;
}

/* The loopback interface has one address of IPv6: there b shares it with a. */
static inline void open_pair(const struct udp_cfg *cfg_a, const struct udp_cfg *cfg_b, bool is_v6)
{
	const char *at_a = is_v6 ? "::1" : "127.0.0.2", *at_b = is_v6 ? "::1" : "127.0.0.3";

	port = free_port();
	a = new_driver(cfg_a);
	b = new_driver(cfg_b);
	a_local = open_at(a, at_a);
	b_local = open_at(b, at_b);
	b_of_a = peer_of(a, at_b);
	a_of_b = peer_of(b, at_a);
}

static inline void assert_balance(const struct driver *u)
{
	const struct driver_counters *c = &u->count;
	uint64_t sum = c->rx_delivered + c->rx_passed_on;

#define ADD(name, text) sum += c->name;
	DRIVER_DROPS(ADD)
#undef ADD
	assert_int_equal(c->rx, sum);
}

static inline void close_pair(void)
{
	assert_balance(a);
	assert_balance(b);
	driver_free(a);
	driver_free(b);
	a = b = NULL;
}

static uint8_t heads[DRIVER_BATCH][ENGINE_HEAD_MAX];
static uint8_t data[1 << 16];
static struct tx_pkt out[DRIVER_BATCH];

struct got {
	struct rx_pkt pkt;
	uint32_t len;
	uint8_t bytes[BYTES];
};
static struct got in[DRIVER_BATCH * 16];

/* A packet from a to b with a header of BTH bytes that says number, and one piece of data. */
static inline struct tx_pkt packet(uint32_t number, uint32_t len)
{
	struct tx_pkt p = {
		.head = heads[number % DRIVER_BATCH],
		.head_len = BTH,
		.peer = b_of_a,
		.local = a_local,
		.n_body = 1,
		.body = {{data + number % 251, len}},
	};

	memset(p.head, 0, BTH);
	p.head[4] = (uint8_t)(number * 7);
	p.head[5] = driver_tag(b);
	put_be32(p.head + 8, number);
	return p;
}

static inline uint32_t flatten(const struct tx_pkt *p, uint8_t *to)
{
	uint32_t len = p->head_len;

	memcpy(to, p->head, len);
	for (unsigned i = 0; i < p->n_body; i++) {
		if (p->body[i].at)
			memcpy(to + len, p->body[i].at, p->body[i].len);
		else
			memset(to + len, 0, p->body[i].len);
		len += p->body[i].len;
	}
	return len;
}

static inline void keep(const struct rx_pkt *p, struct got *g)
{
	g->pkt = *p;
	g->len = p->head.len + p->body[0].len;
	assert_true(g->len <= BYTES);
	assert_int_equal(p->body[1].len, 0);
	memcpy(g->bytes, p->head.at, p->head.len);
	memcpy(g->bytes + p->head.len, p->body[0].at, p->body[0].len);
	assert_int_equal(p->head.len, g->len < ENGINE_HEAD_MAX ? g->len : ENGINE_HEAD_MAX);
	assert_int_equal(p->udp_len, g->len + 8 + 4);
}

/* Receives until n packets came or the time is over, at most most at once. other, if any, is kept
 * going meanwhile: it may hold packets for u. */
static inline uint32_t receive(struct driver *u, struct driver *other, uint32_t n, uint32_t most,
			       int wait_ms)
{
	int64_t end = now_ms() + wait_ms;
	uint32_t have = 0;

	while (have < n && now_ms() <= end) {
		struct rx_pkt pkts[DRIVER_BATCH];
		struct pollfd p[2] = {{driver_fd(u), POLLIN, 0},
				      {other ? driver_fd(other) : -1, POLLIN, 0}};
		uint32_t k =
			driver_receive(u, 1000 + have, pkts, n - have < most ? n - have : most);

		for (uint32_t i = 0; i < k; i++) {
			assert_int_equal(pkts[i].at, 1000 + have);
			keep(&pkts[i], &in[have + i]);
		}
		have += k;
		if (other)
			assert_int_equal(driver_receive(other, 0, pkts, DRIVER_BATCH), 0);
		if (k == 0)
			poll(p, 2, 1);
	}
	return have;
}

static inline void send_all(struct driver *u, const struct tx_pkt *pkts, uint32_t n)
{
	assert_int_equal(driver_send(u, pkts, n), n);
}

static inline void assert_arrived(const struct got *g, const struct tx_pkt *p)
{
	uint8_t want[BYTES];
	uint32_t len = flatten(p, want);

	assert_int_equal(g->len, len);
	assert_memory_equal(g->bytes, want, len);
	assert_int_equal(g->pkt.peer, a_of_b);
	assert_int_equal(g->pkt.local, b_local);
}

/* out[0 .. n) from a to b, and b has them all in order. */
static inline void cross(uint32_t n)
{
	send_all(a, out, n);
	assert_int_equal(receive(b, NULL, n, DRIVER_BATCH, WAIT_MS), n);
	for (uint32_t i = 0; i < n; i++)
		assert_arrived(&in[i], &out[i]);
}

static inline void fill_data(void)
{
	struct prng r;

	prng_init(&r, 7, 0);
	prng_fill(&r, data, sizeof data);
}

#endif
