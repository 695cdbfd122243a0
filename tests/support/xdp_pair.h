/* Two xdp drivers in two network namespaces, veth pairs between them: what the tests of io/xdp.h
 * stand on. Side 0 sends unless a test says otherwise. Every clock here is the test's own.
 *
 * Include this first: veth.h asks for what is not in POSIX. */
#ifndef WEFT_TESTS_SUPPORT_XDP_PAIR_H
#define WEFT_TESTS_SUPPORT_XDP_PAIR_H

#include "veth.h"

#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "io/xdp_inside.h"

enum {
	PAIR_HEAD = 28,    /* of the packets here: base header and more */
	PAIR_FIRST = 0x18, /* its first byte, by which no carrier has a cipher */
	PAIR_MOST = CARRIER_PAYLOAD_MAX + 200,
	PAIR_STEP_NS = 1000000,
	PAIR_WAIT_MS = 10000, /* for what must happen */
	PAIR_CHUNKS = 256,    /* small, so that all are used */
};

static struct veth cables;
static char pair_error[512];
static struct driver *ends[2];
static uint32_t locals[2], peers[2]; /* handles: our own address, and the other side */
static uint32_t n_ports;
static nsec pair_now = 1;
static const uint8_t pair_dscps[ENGINE_TCLASSES] = {10, 12, 14, 46};
static uint8_t pair_data[PAIR_MOST];
static uint8_t pair_heads[DRIVER_BATCH][ENGINE_HEAD_MAX];
static const char *why_not; /* this process may not do what the tests need */

static inline int64_t pair_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline struct sockaddr_storage pair_address(bool is_v4, uint32_t port, unsigned side)
{
	struct sockaddr_storage s = {0};
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	char text[64];

	snprintf(text, sizeof text, is_v4 ? "10.9.%u.%u" : "fd09:%u::%u", port, side + 1);
	if (is_v4) {
		assert_int_equal(inet_pton(AF_INET, text, &v4.sin_addr), 1);
		memcpy(&s, &v4, sizeof v4);
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
		memcpy(&s, &v6, sizeof v6);
	}
	return s;
}

static inline struct xdp_cfg pair_cfg(uint32_t ports)
{
	struct xdp_cfg cfg = {
		.frames = {.n_ports = ports,
			   .carrier = &carrier_roce,
			   .max_peers = 64,
			   .trims = net_trims_of(20, 21)},
		.rx_chunks = PAIR_CHUNKS,
		.tx_chunks = PAIR_CHUNKS,
	};

	memcpy(cfg.frames.dscp, pair_dscps, sizeof pair_dscps);
	for (uint32_t i = 0; i < ports; i++)
		snprintf(cfg.frames.interfaces[i], IF_NAMESIZE, "w%u", i);
	return cfg;
}

/* A driver on its side with all its addresses and its peer's. */
static inline void open_end(unsigned side, const struct xdp_cfg *cfg, bool is_v4)
{
	struct sockaddr_storage ours = pair_address(is_v4, 0, side);
	struct sockaddr_storage theirs = pair_address(is_v4, 0, !side);
	int result;

	n_ports = cfg->frames.n_ports;
	pair_error[0] = 0;
	assert_true(veth_enter(&cables, side));
	result = xdp_new(&ends[side], cfg, pair_error, sizeof pair_error);
	if (result)
		fail_msg("%s", pair_error);
	result = driver_bind(ends[side], (struct sockaddr *)&ours, &locals[side], pair_error,
			     sizeof pair_error);
	if (result)
		fail_msg("%s", pair_error);
	peers[side] = driver_peer_get(ends[side], (struct sockaddr *)&theirs);
	assert_int_not_equal(peers[side], DRIVER_NO_HANDLE);
	for (uint32_t i = 1; i < n_ports; i++) {
		ours = pair_address(is_v4, i, side);
		theirs = pair_address(is_v4, i, !side);
		assert_int_equal(
			driver_local_address(ends[side], locals[side], i, (struct sockaddr *)&ours),
			0);
		assert_int_equal(
			driver_peer_address(ends[side], peers[side], i, (struct sockaddr *)&theirs),
			0);
	}
}

static inline void lay_cables(uint32_t ports, uint32_t mtu)
{
	for (uint32_t i = 0; i < ports; i++)
		assert_true(veth_add(&cables, i, mtu));
}

static inline void take_cables(uint32_t ports)
{
	for (uint32_t i = 0; i < ports; i++)
		assert_true(veth_ip(&cables, 0, "link del w%u\n", i));
}

static inline void open_pair(uint32_t ports, uint32_t mtu, bool is_v4)
{
	struct xdp_cfg cfg = pair_cfg(ports);

	lay_cables(ports, mtu);
	open_end(0, &cfg, is_v4);
	open_end(1, &cfg, is_v4);
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

static inline uint32_t pair_receive(unsigned side, struct rx_pkt *pkts, uint32_t n)
{
	pair_now += PAIR_STEP_NS;
	assert_true(veth_enter(&cables, side));
	return driver_receive(ends[side], pair_now, pkts, n);
}

/* Every chunk of a driver is where it may be: none is lost, none is there twice. */
static inline void assert_chunks(unsigned side)
{
	struct xdp_driver *x = xdp_of(ends[side]);
	struct rx_pkt pkts[DRIVER_BATCH];
	int64_t end = pair_ms() + PAIR_WAIT_MS;

	while (pair_receive(side, pkts, DRIVER_BATCH) > 0)
		assert_true(pair_ms() < end);
	for (uint32_t i = 0; i < x->cfg.frames.n_ports; i++) {
		struct xdp_port *p = &x->ports[i];
		uint8_t seen[2 * PAIR_CHUNKS * STEER_QUEUES] = {0};

		if (p->ifindex == 0)
			continue;
		for (; p->n_free < x->cfg.tx_chunks; xdp_reap(p)) {
			assert_true(pair_ms() < end);
			xdp_kick(x, i);
		}
		assert_int_equal(p->n_free, x->cfg.tx_chunks);
		for (uint32_t k = 0; k < p->n_free; k++) {
			assert_true(p->free[k] + XDP_CHUNK <= p->memory_bytes);
			assert_int_equal(seen[p->free[k] / XDP_CHUNK]++, 0);
		}
		for (uint32_t k = 0; k < p->n_queues; k++)
			assert_int_equal(*p->queues[k].fill.producer - *p->queues[k].rx.consumer,
					 p->rx_each);
	}
}

static inline void close_end(unsigned side)
{
	if (!ends[side])
		return;
	assert_balance(ends[side]);
	assert_chunks(side);
	assert_true(veth_enter(&cables, side));
	driver_free(ends[side]);
	ends[side] = NULL;
}

static inline void close_pair(void)
{
	uint32_t ports = n_ports;

	close_end(0);
	close_end(1);
	take_cables(ports);
}

/* A packet that says number, of so much payload, by a port and with an entropy of its own. */
static inline struct tx_pkt pair_packet(unsigned side, uint32_t number, uint32_t len)
{
	struct tx_pkt p = {
		.head = pair_heads[number % DRIVER_BATCH],
		.head_len = PAIR_HEAD,
		.port = (uint8_t)(number % n_ports),
		.tclass = (uint8_t)(number % ENGINE_TCLASSES),
		.peer = peers[side],
		.local = locals[side],
		.ev = number * UINT32_C(0x9e3779b1),
		.n_body = 2,
		.body = {{pair_data + number % 64, len / 3},
			 {pair_data + number % 64 + len / 3, len - len / 3}},
	};

	memset(p.head, (int)(number & 0x3f), PAIR_HEAD);
	p.head[0] = PAIR_FIRST;
	p.head[5] = 0;
	put_be32(p.head + 8, number);
	return p;
}

static inline uint32_t flatten(const struct rx_pkt *p, uint8_t *to)
{
	const struct cspan *spans[] = {&p->head, &p->body[0], &p->body[1], &p->body[2]};
	uint32_t len = 0;

	for (unsigned i = 0; i < 1 + ENGINE_BODY; i++) {
		assert_true(len + spans[i]->len <= PAIR_MOST);
		if (spans[i]->len)
			memcpy(to + len, spans[i]->at, spans[i]->len);
		len += spans[i]->len;
	}
	return len;
}

/* The packet is the one that pair_packet(number, len) was, as side has it. */
static inline void assert_arrived(unsigned side, const struct rx_pkt *p, uint32_t len, bool is_v4)
{
	uint8_t got[PAIR_MOST], want[PAIR_HEAD];
	uint32_t number = get_be32(p->head.at + 8);
	uint32_t ev = number * UINT32_C(0x9e3779b1);

	assert_int_equal(flatten(p, got), PAIR_HEAD + len);
	memset(want, (int)(number & 0x3f), PAIR_HEAD);
	want[0] = PAIR_FIRST;
	want[5] = 0;
	put_be32(want + 8, number);
	assert_memory_equal(got, want, PAIR_HEAD);
	assert_memory_equal(got + PAIR_HEAD, pair_data + number % 64, len);
	assert_int_equal(p->local, locals[side]);
	assert_int_equal(p->peer, peers[side]);
	assert_int_equal(p->port, number % n_ports);
	assert_int_equal(p->dscp, engine_dscp(number % ENGINE_TCLASSES, pair_dscps));
	assert_int_equal(p->trimmed, 0);
	/* Over IPv4 a packet has no flow label, and so half of it. */
	assert_int_equal(is_v4 ? p->ev >> 16 : p->ev, is_v4 ? ev >> 16 : ev);
}

/* Sends n packets of a length; all arrive, each once, in order by port. Returns how many did. */
static inline uint32_t carry(unsigned from, uint32_t n, uint32_t len, bool is_v4)
{
	struct tx_pkt out[DRIVER_BATCH];
	struct rx_pkt in[DRIVER_BATCH];
	uint32_t last[ENGINE_PORTS] = {0}, sent, got = 0;
	int64_t end = pair_ms() + PAIR_WAIT_MS;

	assert_true(n < DRIVER_BATCH);
	for (uint32_t i = 0; i < n; i++)
		out[i] = pair_packet(from, i + 1, len);
	sent = driver_send(ends[from], out, n);
	assert_int_equal(sent, n);
	while (got < n && pair_ms() < end) {
		uint32_t k = pair_receive(!from, in, DRIVER_BATCH);

		for (uint32_t i = 0; i < k; i++) {
			uint32_t number = get_be32(in[i].head.at + 8);

			assert_arrived(!from, &in[i], len, is_v4);
			assert_true(number > last[in[i].port]);
			last[in[i].port] = number;
		}
		got += k;
	}
	return got;
}

/* Until a packet crosses by each port: next hops are asked for by the first. */
static inline void warm_up(unsigned from)
{
	uint32_t open = (UINT32_C(1) << n_ports) - 1;
	int64_t end = pair_ms() + PAIR_WAIT_MS;
	struct rx_pkt in[DRIVER_BATCH];

	while (open) {
		struct tx_pkt out[ENGINE_PORTS];
		uint32_t n = 0, k;

		assert_true(pair_ms() < end);
		for (uint32_t i = 0; i < n_ports; i++)
			if (open & UINT32_C(1) << i)
				out[n++] = pair_packet(from, n_ports + i, 8);
		driver_send(ends[from], out, n);
		pair_receive(from, in, DRIVER_BATCH);
		k = pair_receive(!from, in, DRIVER_BATCH);
		for (uint32_t i = 0; i < k; i++)
			open &= ~(UINT32_C(1) << in[i].port);
	}
	/* Those that were still under way. */
	for (unsigned i = 0; i < 50; i++)
		pair_receive(!from, in, DRIVER_BATCH);
}

/* A packet from the other side wakes who sleeps on the descriptor of this one. */
static inline bool is_woken(unsigned side)
{
	struct pollfd fd = {.fd = driver_fd(ends[side]), .events = POLLIN};
	int64_t end = pair_ms() + PAIR_WAIT_MS;
	struct tx_pkt p = pair_packet(!side, n_ports, 100);
	struct rx_pkt in[DRIVER_BATCH];

	while (poll(&fd, 1, 0) > 0) {
		assert_true(pair_ms() < end);
		pair_receive(side, in, DRIVER_BATCH);
	}
	assert_int_equal(driver_send(ends[!side], &p, 1), 1);
	return poll(&fd, 1, PAIR_WAIT_MS) == 1 && pair_receive(side, in, DRIVER_BATCH) == 1;
}

/* Runs a side until it says that these ports are up. */
static inline void await_ports(unsigned side, uint32_t ports)
{
	int64_t end = pair_ms() + PAIR_WAIT_MS;
	struct rx_pkt in[DRIVER_BATCH];

	while (driver_ports_up(ends[side]) != ports) {
		assert_true(pair_ms() < end);
		pair_receive(side, in, DRIVER_BATCH);
		usleep(200);
	}
}

static inline void fill_data(void)
{
	struct prng r;

	prng_init(&r, 7, 0);
	prng_fill(&r, pair_data, sizeof pair_data);
}

/* Namespaces of our own and the right to use AF_XDP in them; else why_not says what is missing. */
static inline void pair_prepare(void)
{
	static char why[512];
	int result;

	fill_data();
	if (!veth_open(&cables)) {
		why_not = "not permitted to make network namespaces";
		return;
	}
	if (!veth_add(&cables, 0, 9000)) {
		why_not = "no veth pairs can be made here: not permitted, or no ip(8)";
		return;
	}
	veth_enter(&cables, 0);
	result = xdp_probe("w0", 9000, why, sizeof why);
	if (result)
		why_not = why;
	veth_ip(&cables, 0, "link del w0\n");
}

static inline void need_privilege(void)
{
	if (!why_not)
		return;
	print_message("skipped: %s\n", why_not);
	skip();
}

/* After each case: one that failed leaves nothing to the next. */
static inline int pair_clear(void **state)
{
	(void)state;
	for (unsigned side = 0; side < 2; side++) {
		driver_free(ends[side]);
		ends[side] = NULL;
	}
	for (uint32_t i = 0; i < ENGINE_PORTS && !why_not; i++) {
		char name[IF_NAMESIZE];

		snprintf(name, sizeof name, "w%u", i);
		veth_enter(&cables, 0);
		if (if_nametoindex(name))
			veth_ip(&cables, 0, "link del %s\n", name);
	}
	return 0;
}

#define XDP_PAIR_CASE(name) cmocka_unit_test_teardown(name, pair_clear)

#define XDP_PAIR_MAIN(cases)                                                            \
	int main(int argc, char **argv)                                                 \
	{                                                                               \
		if (argc < 2 || argv[1][0] != '-')                                      \
			pair_prepare();                                                 \
		return check_main(argc, argv, cases, sizeof(cases) / sizeof(cases)[0]); \
	}

#endif
