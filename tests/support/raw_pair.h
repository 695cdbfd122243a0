/* Two raw drivers at the ends of the cables of veth.h, a and b, and packets from a to b. For tests
 * of that driver: each includes this once, and first. */
#ifndef WEFT_TESTS_SUPPORT_RAW_PAIR_H
#define WEFT_TESTS_SUPPORT_RAW_PAIR_H

#include "veth.h"

#include "check.h"
#include "io/raw.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/prng.h"

enum {
	PORTS = 4,
	MTU = 9000,
	BTH = 12,
	BYTES = 4400,   /* most of a packet here */
	WAIT_MS = 3000, /* for what must arrive */
	QUIET_MS = 30,  /* for what must not */
	ROCE = 4791,
	QP = 3, /* of each process, with its tag */
};

static struct veth net;
static bool has_net;
static struct driver *a, *b;
static uint32_t a_local, b_local, b_of_a; /* the last: a's handle of b */
static char error[512];

static inline int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline nsec now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (nsec)t.tv_sec * 1000000000u + (nsec)t.tv_nsec;
}

/* Of a side, by a port. */
static inline struct sockaddr_storage address(unsigned side, unsigned port, bool is_v6)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(ROCE)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(ROCE)};
	struct sockaddr_storage s = {0};

	v4.sin_addr.s_addr = htonl(0x0a090001u + (port << 8) + side);
	v6.sin6_addr = (struct in6_addr){{{0xfd, 9, 0, (uint8_t)port}}};
	v6.sin6_addr.s6_addr[15] = (uint8_t)(side + 1);
	if (is_v6)
		memcpy(&s, &v6, sizeof v6);
	else
		memcpy(&s, &v4, sizeof v4);
	return s;
}

/* n ports from first on. */
struct shape {
	unsigned first, n;
	bool is_v6;
};

static inline struct raw_cfg config(const struct shape *shape)
{
	struct raw_cfg cfg = {
		.frames = {.n_ports = shape->n, .carrier = &carrier_roce, .is_shared = true}};

	for (unsigned i = 0; i < shape->n; i++)
		snprintf(cfg.frames.interfaces[i], IF_NAMESIZE, "w%u", shape->first + i);
	for (unsigned i = 0; i < ENGINE_TCLASSES; i++)
		cfg.frames.dscp[i] = (uint8_t)(10 + i);
	return cfg;
}

/* A driver on a side, with an address and a peer for each port. */
static inline struct driver *open_end(const struct raw_cfg *cfg, const struct shape *shape,
				      unsigned side, uint32_t *local, uint32_t *peer)
{
	struct driver *d = NULL;

	assert_true(veth_enter(&net, side));
	if (raw_new(&d, cfg, error, sizeof error))
		fail_msg("%s", error);
	for (unsigned i = 0; i < shape->n; i++) {
		struct sockaddr_storage ours = address(side, shape->first + i, shape->is_v6);
		struct sockaddr_storage theirs = address(!side, shape->first + i, shape->is_v6);
		const struct sockaddr *o = (const struct sockaddr *)&ours;
		const struct sockaddr *t = (const struct sockaddr *)&theirs;

		if (i == 0) {
			if (driver_bind(d, o, local, error, sizeof error))
				fail_msg("%s", error);
			*peer = driver_peer_get(d, t);
		} else {
			assert_int_equal(driver_local_address(d, *local, i, o), 0);
			assert_int_equal(driver_peer_address(d, *peer, i, t), 0);
		}
	}
	return d;
}

static uint8_t heads[DRIVER_BATCH][BTH];
static uint8_t data[1 << 16];
static struct tx_pkt out[DRIVER_BATCH];

struct got {
	struct rx_pkt pkt;
	uint32_t len, number;
	uint8_t bytes[BYTES];
};
static struct got in[DRIVER_BATCH * 8];

/* A packet from a to b's queue pair, its header saying number, and one piece of data. */
static inline struct tx_pkt packet(uint32_t number, uint32_t len)
{
	struct tx_pkt p = {
		.head = heads[number % DRIVER_BATCH],
		.head_len = BTH,
		.peer = b_of_a,
		.local = a_local,
		.ev = number,
		.n_body = 1,
		.body = {{data + number % 251, len}},
	};

	memset(p.head, 0, BTH);
	put_be32(p.head + 4, (uint32_t)driver_tag(b) << 16 | QP);
	put_be32(p.head + 8, number);
	return p;
}

static inline void keep(const struct rx_pkt *p, struct got *g)
{
	g->pkt = *p;
	g->len = p->head.len + p->body[0].len;
	assert_true(p->head.len >= BTH && g->len <= BYTES);
	assert_int_equal(p->body[1].len, 0);
	memcpy(g->bytes, p->head.at, p->head.len);
	if (p->body[0].len)
		memcpy(g->bytes + p->head.len, p->body[0].at, p->body[0].len);
	g->number = get_be32(g->bytes + 8);
}

/* Lets a driver that expects nothing look at the news. */
static inline void idle(struct driver *d)
{
	struct rx_pkt pkts[DRIVER_BATCH];

	driver_receive(d, now_ns(), pkts, DRIVER_BATCH);
}

/* Lets a driver receive all the news there are: old ones of a neighbour would be believed for a
 * moment.
 */
static inline void catch_up(struct driver *d)
{
	struct pollfd p = {driver_fd(d), POLLIN, 0};
	int64_t end = now_ms() + WAIT_MS;

	while (poll(&p, 1, 0) > 0 && now_ms() < end)
		idle(d);
}

/* What b receives until it has n packets or the time is over. */
static inline uint32_t receive(uint32_t n, int wait_ms)
{
	int64_t end = now_ms() + wait_ms;
	uint32_t have = 0;

	while (have < n && now_ms() <= end) {
		struct rx_pkt pkts[DRIVER_BATCH];
		uint32_t want = n - have < DRIVER_BATCH ? n - have : DRIVER_BATCH;
		uint32_t k = driver_receive(b, now_ns(), pkts, want);

		for (uint32_t i = 0; i < k; i++)
			keep(&pkts[i], &in[have + i]);
		have += k;
		idle(a);
		if (k == 0)
			poll(&(struct pollfd){driver_fd(b), POLLIN, 0}, 1, 1);
	}
	return have;
}

static inline void assert_arrived(const struct got *g, const struct tx_pkt *p)
{
	assert_int_equal(g->len, BTH + p->body[0].len);
	assert_memory_equal(g->bytes, p->head, BTH);
	assert_memory_equal(g->bytes + BTH, p->body[0].at, p->body[0].len);
	assert_int_equal(g->pkt.local, b_local);
	assert_int_equal(g->pkt.port, p->port);
	assert_int_equal(g->pkt.udp_len, g->len + 8 + 4);
}

/* out[0 .. n) from a to b, of one port: they arrive in order. */
static inline void cross(uint32_t n)
{
	assert_int_equal(driver_send(a, out, n), n);
	assert_int_equal(receive(n, WAIT_MS), n);
	for (uint32_t i = 0; i < n; i++)
		assert_arrived(&in[i], &out[i]);
}

/* Sends a packet by a port until one arrives: neighbours are found, interfaces come back. What
 * another test left behind, or was sent before, comes to nothing here. */
static inline bool is_connected(unsigned port)
{
	static uint32_t beat = 1u << 31;
	int64_t end = now_ms() + WAIT_MS;
	uint32_t first = beat;
	bool is_here = false;

	while (!is_here && now_ms() <= end) {
		out[0] = packet(beat++, 64);
		out[0].port = (uint8_t)port;
		driver_send(a, out, 1);
		while (!is_here && receive(1, 10) == 1)
			is_here = in[0].number >= first;
	}
	receive(DRIVER_BATCH, 2);
	return is_here;
}

static inline void assert_balance(const struct driver *d)
{
	const struct driver_counters *c = &d->count;
	uint64_t sum = c->rx_delivered + c->rx_passed_on;

#define ADD(name, text) sum += c->name;
	DRIVER_DROPS(ADD)
#undef ADD
	assert_int_equal(c->rx, sum);
}

/* Opening a packet socket, its rings and closing it take the kernel long: pairs stay open for the
 * tests that follow, of the same shape. */
static struct kept {
	const struct shape *shape;
	struct driver *a, *b;
	uint32_t a_local, b_local, b_of_a;
} kept[8];
static unsigned n_kept;

/* A pair of this shape, its counters at 0, over which packets cross. cfg only matters to the first
 * who asks for the shape. */
static inline void open_with(const struct raw_cfg *cfg, const struct shape *shape)
{
	struct kept *k = kept;
	uint32_t peer;

	if (!has_net)
		skip();
	while (k < kept + n_kept && k->shape != shape)
		k++;
	if (k == kept + n_kept) {
		assert_true(n_kept < sizeof kept / sizeof kept[0]);
		k->a = open_end(cfg, shape, 0, &k->a_local, &k->b_of_a);
		k->b = open_end(cfg, shape, 1, &k->b_local, &peer);
		k->shape = shape;
		n_kept++;
	}
	a = k->a;
	b = k->b;
	a_local = k->a_local;
	b_local = k->b_local;
	b_of_a = k->b_of_a;
	catch_up(a);
	catch_up(b);
	for (unsigned i = 0; i < shape->n; i++)
		if (!is_connected(i))
			fail_msg("nothing arrives by port %u", i);
	a->count = b->count = (struct driver_counters){0};
}

static inline void open_pair(const struct shape *shape)
{
	const struct raw_cfg cfg = config(shape);

	open_with(&cfg, shape);
}

static inline void close_pair(void)
{
	assert_balance(a);
	assert_balance(b);
}

static inline void close_kept(void)
{
	for (; n_kept > 0; n_kept--) {
		driver_free(kept[n_kept - 1].a);
		driver_free(kept[n_kept - 1].b);
	}
}

/* Nothing keeps a driver awake that has nothing to do. */
static inline void assert_sleeps(struct driver *d)
{
	struct pollfd p = {driver_fd(d), POLLIN, 0};
	int64_t end = now_ms() + WAIT_MS;
	int quiet = 0;

	while (quiet < 3 && now_ms() <= end) {
		idle(d);
		quiet = poll(&p, 1, 5) == 0 ? quiet + 1 : 0;
	}
	assert_int_equal(quiet, 3);
}

static const struct shape one_v4 = {0, 1, false}, one_v6 = {0, 1, true}, two_v4 = {0, 2, false};

/* Packets of many sizes, and a burst of the largest. */
static inline void cross_sizes(void)
{
	static const uint32_t sizes[] = {0, 1, 3, 4, 64, 255, 1024, 4095, 4096};

	for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		out[i] = packet(i, sizes[i]);
	cross(sizeof sizes / sizeof sizes[0]);
	for (uint32_t i = 0; i < DRIVER_BATCH; i++)
		out[i] = packet(i, 4096);
	cross(DRIVER_BATCH);
}

/* Of both ends of cable 0. */
static inline void set_mtu(unsigned mtu)
{
	for (unsigned side = 0; side < 2; side++)
		assert_true(veth_ip(&net, side, "link set w0 mtu %u\n", mtu));
}

/* Runs the cases with PORTS + 1 cables; without the right to have them, each is skipped. */
static inline int raw_main(int argc, char **argv, const struct CMUnitTest *cases, size_t n)
{
	struct prng r;
	int result;

	prng_init(&r, 7, 0);
	prng_fill(&r, data, sizeof data);
	has_net = veth_open(&net);
	for (unsigned i = 0; has_net && i <= PORTS; i++)
		has_net = veth_add(&net, i, MTU);
	if (!has_net)
		print_message("not permitted to make network namespaces, or no ip(8): skipped\n");
	result = check_main(argc, argv, cases, n);
	close_kept();
	return result;
}

#endif
