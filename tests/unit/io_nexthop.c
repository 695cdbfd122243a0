/* Next hops as the kernel has them: two namespaces, and between them a link that comes, goes and
 * changes. */
#include "frames_pair.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>

enum { WAIT_MS = 1000, TRIES = 500 };

static int ns_a = -1, ns_b = -1; /* we are in a, but for moments */
static nsec now;                 /* of the steps: goes on by itself */

__attribute__((format(printf, 2, 3))) static void run(int ns, const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof command, format, args);
	va_end(args);
	assert_int_equal(setns(ns, CLONE_NEWNET), 0);
	int result =
		system(command); /* NOLINT(cert-env33-c): our own words, in our own namespace */

	assert_int_equal(setns(ns_a, CLONE_NEWNET), 0);
	if (result)
		fail_msg("%s: %d", command, result);
}

/* va0 with MAC 2::a here and vb0 with MAC 2::b there, and as many more pairs. No two interfaces
 * have one number: the kernel would be slow to tell of a carrier. */
static void add_link(unsigned i)
{
	static unsigned number = 10;

	number += 2;
	run(ns_a,
	    "ip link add va%u index %u address 02:00:00:00:%02x:0a type veth peer name vb%u "
	    "index %u address 02:00:00:00:%02x:0b netns /proc/self/fd/%d && "
	    "ip addr add 10.0.%u.1/24 dev va%u && ip -6 addr add fd00:%u::1/64 dev va%u nodad && "
	    "ip link set va%u up && "
	    "ip ntable change name arp_cache dev va%u retrans 20 mcast_probes 1 ucast_probes 1 "
	    "delay_probe 20 && "
	    "ip ntable change name ndisc_cache dev va%u retrans 20 mcast_probes 1 ucast_probes 1 "
	    "delay_probe 20",
	    i, number, i, i, number + 1, i, ns_b, i, i, i, i, i, i, i);
	run(ns_b,
	    "ip addr add 10.0.%u.2/24 dev vb%u && ip -6 addr add fd00:%u::2/64 dev vb%u nodad && "
	    "ip link set vb%u up",
	    i, i, i, i, i);
}

static int set_up(void **state)
{
	static const char quiet[] =
		"{ echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad; } 2>/dev/null; true";

	(void)state;
	if (ns_a < 0)
		return 0;
	run(ns_a, "%s", quiet);
	run(ns_b, "%s", quiet);
	add_link(0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (ns_a < 0)
		return 0;
	run(ns_a, "for i in 0 1; do ip link del va$i 2>/dev/null; done; true");
	return 0;
}

/* A second namespace; false: not permitted, or no tool for it. */
static bool prepare(void)
{
	char command[128];

	if (!isolate() || access("/usr/sbin/ip", X_OK) != 0)
		return false;
	ns_a = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (ns_a < 0 || unshare(CLONE_NEWNET))
		return false;
	ns_b = open("/proc/self/ns/net", O_RDONLY);
	if (ns_b < 0 || setns(ns_a, CLONE_NEWNET))
		return false;
	snprintf(command, sizeof command,
		 "{ ip link add va0 type veth peer name vb0 netns /proc/self/fd/%d && "
		 "ip link del va0; } 2>/dev/null",
		 ns_b);
	return system(command) == 0; /* NOLINT(cert-env33-c): our own words */
}

static bool is_ready;

#define NEEDS_NAMESPACES()                                                                     \
	do {                                                                                   \
		if (!is_ready) {                                                               \
			print_message("two network namespaces are not permitted, or there is " \
				      "no ip(8)\n");                                           \
			skip();                                                                \
		}                                                                              \
	} while (0)

static void step(struct frames *f)
{
	now += 100000000;
	frames_step(f, now);
}

static struct frames *open_a(const char *local, uint32_t n_ports)
{
	struct frames_cfg cfg = cfg_of("va0");

	cfg.n_ports = n_ports;
	memcpy(cfg.interfaces[1], "va1", 4);
	a = new_frames(&cfg, &count_a);
	a_local = open_at(a, local);
	return a;
}

/* The destination MAC of a packet to the peer, or none. */
static bool write_to(uint32_t peer, uint32_t port, uint32_t ev, uint8_t mac[6])
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;
	struct frames_out out = {.at = {frame}, .room = {FRAME_BYTES}};

	make_packet(&s, 1, 64);
	s.tx.peer = peer;
	s.tx.port = (uint8_t)port;
	s.tx.ev = ev;
	if (!frames_write(a, now, &s.tx, &out))
		return false;
	memcpy(mac, frame, 6);
	assert_memory_equal(frame + 6, frames_port(a, port)->mac, 6);
	return true;
}

/* Steps until packets to the peer go to this MAC; an empty one: nowhere. */
static void await_mac(uint32_t peer, uint32_t port, uint32_t ev, const char *want)
{
	char got[24] = "";

	for (int i = 0; i < TRIES; i++) {
		uint8_t m[6];
		struct pollfd poll_fd = {.fd = frames_fd(a), .events = POLLIN};

		got[0] = 0;
		if (write_to(peer, port, ev, m))
			snprintf(got, sizeof got, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2],
				 m[3], m[4], m[5]);
		if (!strcmp(got, want))
			return;
		poll(&poll_fd, 1, WAIT_MS / TRIES);
		step(a);
	}
	fail_msg("to '%s', not '%s'", got, want);
}

static void await_up(uint32_t ports)
{
	for (int i = 0; i < TRIES && frames_ports_up(a) != ports; i++) {
		struct pollfd poll_fd = {.fd = frames_fd(a), .events = POLLIN};

		poll(&poll_fd, 1, WAIT_MS / TRIES);
		step(a);
	}
	assert_int_equal(frames_ports_up(a), ports);
}

static void neighbours_are_resolved(void **state)
{
	static const char *const ends[2][2] = {{"10.0.0.1", "10.0.0.2"},
					       {"fd00:0::1", "fd00:0::2"}};

	(void)state;
	NEEDS_NAMESPACES();
	for (unsigned i = 0; i < 2; i++) {
		open_a(ends[i][0], 1);
		uint32_t peer = peer_of(a, ends[i][1]);

		await_mac(peer, 0, 0, "02:00:00:00:00:0b");
		assert_int_equal(frames_pmtu(a, a_local, peer, error, sizeof error), 1024);
		/* Another MAC at the same address is taken over. */
		run(ns_b, "ip link set vb0 address 02:00:00:00:00:0c");
		run(ns_a, "ip neigh replace %s lladdr 02:00:00:00:00:0c nud reachable dev va0",
		    ends[i][1]);
		await_mac(peer, 0, 0, "02:00:00:00:00:0c");
		/* One that the kernel has not verified for long is used on, and verified. */
		run(ns_a, "ip neigh replace %s lladdr 02:00:00:00:00:0c nud stale dev va0",
		    ends[i][1]);
		for (int k = 0; k < 5; k++) {
			uint8_t mac[6] = {0};

			step(a);
			assert_true(write_to(peer, 0, 0, mac));
			assert_int_equal(mac[5], 0x0c);
		}
		run(ns_b, "ip link set vb0 address 02:00:00:00:00:0b");
		run(ns_a, "ip neigh flush dev va0");
		await_mac(peer, 0, 0, "02:00:00:00:00:0b");
		frames_peer_put(a, peer);
		frames_free(a);
	}
}

static char *output_of(const char *command, char *text, size_t len)
{
	FILE *p = popen(command, "re"); /* NOLINT(cert-env33-c): our own words */
	size_t n = p ? fread(text, 1, len - 1, p) : 0;

	text[n] = 0;
	if (p)
		pclose(p);
	return text;
}

/* A neighbour that only our frames use leaves the stale state: the kernel is told of its use. */
static void stale_neighbours_are_verified(void **state)
{
	char text[256] = "";

	(void)state;
	NEEDS_NAMESPACES();
	open_a("10.0.0.1", 1);
	uint32_t peer = peer_of(a, "10.0.0.2");

	await_mac(peer, 0, 0, "02:00:00:00:00:0b");
	run(ns_a, "ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:0b nud stale dev va0");
	now += 2000000000;
	for (int i = 0; i < 30 && !strstr(text, "REACHABLE"); i++) {
		await_mac(peer, 0, 0, "02:00:00:00:00:0b");
		step(a);
		poll(NULL, 0, 10);
		output_of("ip neigh show 10.0.0.2 dev va0", text, sizeof text);
	}
	assert_non_null(strstr(text, "REACHABLE"));
	frames_free(a);
}

static void neighbours_fail(void **state)
{
	(void)state;
	NEEDS_NAMESPACES();
	open_a("10.0.0.1", 1);
	uint32_t peer = peer_of(a, "10.0.0.77");
	char text[256] = "";
	uint64_t before;

	for (int i = 0; i < 50 && !strstr(text, "FAILED"); i++) {
		await_mac(peer, 0, 0, "");
		step(a);
		poll(NULL, 0, 10);
		output_of("ip neigh show 10.0.0.77 dev va0", text, sizeof text);
	}
	assert_non_null(strstr(text, "FAILED"));
	before = count_a.tx_no_route;
	await_mac(peer, 0, 0, "");
	assert_int_equal(count_a.tx_no_route, before + 1);
	/* It appears: asked for again after a while, it answers. */
	run(ns_b, "ip addr add 10.0.0.77/24 dev vb0");
	now += 2000000000;
	await_mac(peer, 0, 0, "02:00:00:00:00:0b");
	/* One that was known and fails is no route any more. */
	run(ns_a, "ip neigh replace 10.0.0.77 nud failed dev va0");
	step(a);
	await_mac(peer, 0, 0, "");
	frames_free(a);
}

static void routes_change(void **state)
{
	struct encap_segments list = {.n = 1, .at = {{0xfc, 0, 0, 1}}};
	char text[256];

	(void)state;
	NEEDS_NAMESPACES();
	run(ns_a, "ip neigh add 10.0.0.3 lladdr 02:00:00:00:00:33 dev va0 && "
		  "ip -6 neigh add fd00:0::3 lladdr 02:00:00:00:00:36 dev va0 && "
		  "ip route add 10.9.0.0/16 via 10.0.0.2 && "
		  "ip -6 route add fd99::/16 via fd00:0::2");
	open_a("10.0.0.1", 1);
	uint32_t v4_local = a_local, v6_local = open_at(a, "fd00:0::1");
	uint32_t v4 = peer_of(a, "10.9.1.2"), v6 = peer_of(a, "fd99::2");

	await_mac(v4, 0, 0, "02:00:00:00:00:0b");
	a_local = v6_local;
	await_mac(v6, 0, 0, "02:00:00:00:00:0b");
	run(ns_a, "ip route replace 10.9.0.0/16 via 10.0.0.3 && "
		  "ip -6 route replace fd99::/16 via fd00:0::3");
	await_mac(v6, 0, 0, "02:00:00:00:00:36");
	a_local = v4_local;
	await_mac(v4, 0, 0, "02:00:00:00:00:33");
	/* What an administrator set stays as it was set, however long it is used. */
	for (int i = 0; i < 30; i++) {
		await_mac(v4, 0, 0, "02:00:00:00:00:33");
		step(a);
	}
	output_of("ip neigh show 10.0.0.3 dev va0", text, sizeof text);
	assert_non_null(strstr(text, "PERMANENT"));
	/* IPv4 by a gateway of IPv6, and a route that says its MTU. */
	run(ns_a, "ip route replace 10.9.0.0/16 via inet6 fd00:0::3 mtu 700");
	await_mac(v4, 0, 0, "02:00:00:00:00:36");
	assert_int_equal(frames_pmtu(a, a_local, v4, error, sizeof error), 512);
	/* Under segments the first one is what is looked up. */
	a_local = v6_local;
	run(ns_a, "ip -6 route del fd99::/16");
	await_mac(v6, 0, 0, "");
	assert_int_equal(frames_pmtu(a, a_local, v6, error, sizeof error), 0);
	assert_non_null(strstr(error, "no route from fd00::1 to fd99::2 by va0"));
	run(ns_a, "ip -6 route add fc00:1::/32 via fd00:0::3");
	assert_int_equal(frames_peer_segments(a, v6, 0, 5, &list), 0);
	await_mac(v6, 0, 5, "02:00:00:00:00:36");
	/* They take room: 4096 bytes fit without them. */
	run(ns_a, "ip -6 route add fd99::/16 via fd00:0::3 && ip link set va0 mtu 4200");
	for (int i = 0; i < TRIES && frames_port(a, 0)->mtu != 4200; i++)
		step(a);
	assert_int_equal(frames_pmtu(a, a_local, v6, error, sizeof error), 2048);
	list.n = 0;
	assert_int_equal(frames_peer_segments(a, v6, 0, 5, &list), 0);
	assert_int_equal(frames_pmtu(a, a_local, v6, error, sizeof error), 4096);
	frames_free(a);
}

/* Deleted in mid-transfer, and made again under the same name with another number. */
static void interfaces_come_and_go(void **state)
{
	(void)state;
	NEEDS_NAMESPACES();
	open_a("10.0.0.1", 1);
	uint32_t peer = peer_of(a, "10.0.0.2"), before = frames_port(a, 0)->ifindex;

	await_up(1);
	await_mac(peer, 0, 0, "02:00:00:00:00:0b");
	run(ns_a, "ip link del va0");
	await_up(0);
	assert_int_equal(frames_port(a, 0)->ifindex, 0);
	await_mac(peer, 0, 0, "");
	assert_int_equal(count_a.tx_down, 1);
	add_link(0);
	await_up(1);
	assert_int_not_equal(frames_port(a, 0)->ifindex, before);
	await_mac(peer, 0, 0, "02:00:00:00:00:0b");
	/* Down here, up again; no carrier when the other end is down. */
	run(ns_a, "ip link set va0 down");
	await_up(0);
	run(ns_a, "ip link set va0 up");
	await_up(1);
	await_mac(peer, 0, 0, "02:00:00:00:00:0b");
	run(ns_b, "ip link set vb0 down");
	await_up(0);
	run(ns_b, "ip link set vb0 up");
	await_up(1);
	await_mac(peer, 0, 0, "02:00:00:00:00:0b");
	frames_free(a);
}

static void mtu_is_followed(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;

	(void)state;
	NEEDS_NAMESPACES();
	run(ns_a, "ip link set va0 mtu 4200");
	open_a("10.0.0.1", 1);
	uint32_t peer = peer_of(a, "10.0.0.2");

	assert_int_equal(frames_port(a, 0)->mtu, 4200);
	await_mac(peer, 0, 0, "02:00:00:00:00:0b");
	assert_int_equal(frames_pmtu(a, a_local, peer, error, sizeof error), 4096);
	make_packet(&s, 1, 4096);
	s.tx.peer = peer;
	assert_true(write_whole(&s.tx, frame) > 0);
	run(ns_a, "ip link set va0 mtu 1303");
	for (int i = 0; i < TRIES && frames_port(a, 0)->mtu != 1303; i++)
		step(a);
	assert_int_equal(frames_port(a, 0)->mtu, 1303);
	assert_int_equal(write_whole(&s.tx, frame), 0);
	assert_int_equal(count_a.tx_too_long, 1);
	/* As long as allowed, and a byte more. */
	make_packet(&s, 1, 1300 - 20 - 8 - BTH - 4);
	s.tx.peer = peer;
	assert_int_equal(write_whole(&s.tx, frame), 1314);
	make_packet(&s, 1, 1304 - 20 - 8 - BTH - 4);
	s.tx.peer = peer;
	assert_int_equal(write_whole(&s.tx, frame), 0);
	assert_int_equal(frames_pmtu(a, a_local, peer, error, sizeof error), 1024);
	run(ns_a, "ip link set va0 mtu 300");
	for (int i = 0; i < TRIES && frames_port(a, 0)->mtu != 300; i++)
		step(a);
	assert_int_equal(frames_pmtu(a, a_local, peer, error, sizeof error), 0);
	assert_non_null(strstr(error, "needs an MTU of 328"));
	frames_free(a);
}

/* Two planes, each with its own addresses: a packet names those of its port. */
static void ports_have_their_own_routes(void **state)
{
	struct sockaddr_storage plane_a = address("10.0.1.1", 0), plane_b = address("10.0.1.2", 0);

	(void)state;
	NEEDS_NAMESPACES();
	add_link(1);
	open_a("10.0.0.1", 2);
	uint32_t peer = peer_of(a, "10.0.0.2");

	assert_int_equal(frames_local_address(a, a_local, 1, (struct sockaddr *)&plane_a), 0);
	assert_int_equal(frames_peer_address(a, peer, 1, (struct sockaddr *)&plane_b), 0);
	await_up(3);
	await_mac(peer, 0, 0, "02:00:00:00:00:0b");
	await_mac(peer, 1, 0, "02:00:00:00:01:0b");
	/* The better route is by the other port. */
	run(ns_a, "ip route add 10.9.0.0/16 via 10.0.0.2 dev va0 metric 10 && "
		  "ip route add 10.9.0.0/16 via 10.0.1.2 dev va1 metric 20");
	uint32_t far = peer_of(a, "10.9.1.1");

	await_mac(far, 1, 0, "02:00:00:00:01:0b");
	await_mac(far, 0, 0, "02:00:00:00:00:0b");
	run(ns_a, "ip link set va1 mtu 600");
	for (int i = 0; i < TRIES && frames_port(a, 1)->mtu != 600; i++)
		step(a);
	assert_int_equal(frames_pmtu(a, a_local, peer, error, sizeof error), 512);
	run(ns_a, "ip link set va1 down");
	await_up(1);
	await_mac(peer, 0, 0, "02:00:00:00:00:0b");
	await_mac(peer, 1, 0, "");
	frames_free(a);
}

/* Addresses of one link belong to the port that has it. */
static void addresses_of_one_link(void **state)
{
	struct sockaddr_storage s;
	uint32_t peer, before;

	(void)state;
	NEEDS_NAMESPACES();
	run(ns_a, "ip -6 addr add fe80::1/64 dev va0 nodad");
	run(ns_b, "ip -6 addr add fe80::2/64 dev vb0 nodad");
	open_a("10.0.0.1", 1);
	before = if_nametoindex("va0");
	s = address("fe80::1", before);
	assert_int_equal(frames_bind(a, (struct sockaddr *)&s, &a_local, error, sizeof error), 0);
	s = address("fe80::2", before);
	peer = frames_peer_get(a, (struct sockaddr *)&s);
	assert_int_not_equal(peer, DRIVER_NO_HANDLE);
	await_mac(peer, 0, 0, "02:00:00:00:00:0b");
	s = address("fe80::2", before + 1000);
	assert_int_equal(frames_peer_get(a, (struct sockaddr *)&s), DRIVER_NO_HANDLE);
	/* The link is made anew, under another number: it is still this port's. */
	run(ns_a, "ip link del va0");
	await_up(0);
	add_link(0);
	run(ns_b, "ip -6 addr add fe80::2/64 dev vb0 nodad");
	await_up(1);
	await_mac(peer, 0, 0, "02:00:00:00:00:0b");
	s = address("fe80::2", if_nametoindex("va0"));
	assert_int_equal(frames_peer_get(a, (struct sockaddr *)&s), peer);
	frames_free(a);
}

/* An interface that resolves nobody sends to the zero MAC; one that is not Ethernet is refused. */
static void interfaces_without_neighbours(void **state)
{
	struct frames_cfg cfg = cfg_of("tun0");
	struct driver_counters count;
	struct frames *f;

	(void)state;
	NEEDS_NAMESPACES();
	run(ns_a, "ip link set va0 arp off");
	open_a("10.0.0.1", 1);
	await_mac(peer_of(a, "10.0.0.2"), 0, 0, "00:00:00:00:00:00");
	frames_free(a);
	if (system("ip tuntap add tun0 mode tun 2>/dev/null")) /* NOLINT(cert-env33-c) */
		return;
	assert_int_equal(frames_new(&f, &cfg, &count, error, sizeof error), -EPROTONOSUPPORT);
	assert_non_null(strstr(error, "not an Ethernet interface"));
	run(ns_a, "ip link del tun0");
}

/* More news than the socket holds: what was lost is found out. */
static void lost_news_are_made_up_for(void **state)
{
	int small = 1;
	uint8_t mac[6] = {0};

	(void)state;
	NEEDS_NAMESPACES();
	open_a("10.0.0.1", 1);
	uint32_t peer = peer_of(a, "10.0.0.2");

	await_mac(peer, 0, 0, "02:00:00:00:00:0b");
	setsockopt(frames_fd(a), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
	run(ns_a, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
		  "echo addr add 10.5.5.$i/32 dev va0; done | ip -batch - && "
		  "ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:44 nud permanent dev va0 && "
		  "ip link set va0 mtu 1400");
	/* At once: time stands still here. */
	for (int i = 0; i < 10; i++)
		frames_step(a, now);
	assert_int_equal(frames_port(a, 0)->mtu, 1400);
	assert_true(write_to(peer, 0, 0, mac));
	assert_int_equal(mac[5], 0x44);
	frames_free(a);
}

/* Steps until the route's neighbour has a MAC that ends so; its place. */
static uint32_t await_neighbour(struct nexthops *n, uint32_t route, uint8_t last)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t place = nexthop_want(n, route, now);

		if (place != NEXTHOP_NONE && n->neighbours[place].is_known &&
		    n->neighbours[place].mac[5] == last)
			return place;
		poll(&(struct pollfd){n->news_fd, POLLIN, 0}, 1, WAIT_MS / TRIES);
		now += 100000000;
		nexthops_step(n, now);
	}
	fail_msg("no neighbour with a MAC that ends in %02x", last);
	return NEXTHOP_NONE;
}

/* A kernel that does not answer for a while has said nothing: what was known holds. */
static void no_answer_forgets_nothing(void **state)
{
	struct frames_cfg cfg = cfg_of("va0");
	static struct nexthops n;
	struct addr to = {{10, 0, 0, 2}, 0, AF_INET};
	int silent[2], ask_fd;
	uint32_t route, place;

	(void)state;
	NEEDS_NAMESPACES();
	assert_int_equal(nexthops_init(&n, &cfg, error, sizeof error), 0);
	route = nexthop_get(&n, 0, &to);
	place = await_neighbour(&n, route, 0x0b);
	ask_fd = n.ask_fd;
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, silent), 0);
	n.ask_fd = silent[0];
	run(ns_a, "ip route add 10.77.0.0/16 via 10.0.0.2");
	for (int i = 0; i < 25; i++) {
		n.neighbours[place].is_used = true;
		now += 100000000;
		nexthops_step(&n, now);
		assert_int_equal(nexthop_want(&n, route, now), place);
		assert_true(n.neighbours[place].is_known);
	}
	n.ask_fd = ask_fd;
	close(silent[0]);
	close(silent[1]);
	/* And from then on it is asked again. */
	run(ns_a, "ip route add 10.0.0.2/32 via 10.0.0.3 && "
		  "ip neigh replace 10.0.0.3 lladdr 02:00:00:00:00:33 nud permanent dev va0");
	await_neighbour(&n, route, 0x33);
	nexthops_fini(&n);
}

/* Held by many, by one, by none: tables end empty. */
static void routes_are_given_back(void **state)
{
	struct frames_cfg cfg = cfg_of("lo");
	static struct nexthops n;
	struct addr to = {{127, 0, 0, 1}, 0, AF_INET};
	uint32_t first, second;

	(void)state;
	assert_int_equal(nexthops_init(&n, &cfg, error, sizeof error), 0);
	first = nexthop_get(&n, 0, &to);
	assert_int_equal(nexthop_get(&n, 0, &to), first);
	nexthop_ask(&n, first, 1);
	nexthop_ask(&n, first, 1);
	assert_int_not_equal(nexthop_want(&n, first, 1), NEXTHOP_NONE);
	to.ip[3] = 2;
	second = nexthop_get(&n, 0, &to);
	assert_int_not_equal(second, first);
	assert_int_equal(nexthop_want(&n, second, 1), NEXTHOP_NONE);
	nexthops_step(&n, 2);
	assert_int_equal(nexthop_want(&n, second, 2), nexthop_want(&n, first, 2));
	nexthop_put(&n, first);
	nexthop_put(&n, second);
	assert_int_equal(n.route_addrs.n, 1);
	assert_int_equal(n.neighbour_addrs.n, 1);
	/* One that was queued may be gone when its turn comes. */
	second = nexthop_get(&n, 0, &to);
	nexthop_put(&n, second);
	nexthop_put(&n, first);
	nexthops_step(&n, 3);
	assert_int_equal(n.route_addrs.n, 0);
	assert_int_equal(n.neighbour_addrs.n, 0);
	nexthops_fini(&n);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct CMUnitTest cases[] = {
	CASE(neighbours_are_resolved),
	CASE(stale_neighbours_are_verified),
	CASE(neighbours_fail),
	CASE(routes_change),
	CASE(interfaces_come_and_go),
	CASE(mtu_is_followed),
	CASE(ports_have_their_own_routes),
	CASE(addresses_of_one_link),
	CASE(interfaces_without_neighbours),
	CASE(lost_news_are_made_up_for),
	CASE(no_answer_forgets_nothing),
	cmocka_unit_test(routes_are_given_back),
};

int main(int argc, char **argv)
{
	is_ready = prepare();
	if (!is_ready)
		ns_a = -1;
	now = 1;
	return check_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
