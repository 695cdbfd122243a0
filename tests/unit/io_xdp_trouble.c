/* io/xdp.h where something is wrong: interfaces that go and come, frames of others and of nobody.
 * Needs root. */
#include "xdp_pair.h"

#include <linux/if_packet.h>
#include <poll.h>
#include <sys/socket.h>

enum {
	RANDOM_FRAMES = 3000,
	FRAME_MOST = 8900,
};

static void send_some(uint32_t n, uint32_t len)
{
	struct tx_pkt out[DRIVER_BATCH];

	for (uint32_t i = 0; i < n; i++)
		out[i] = pair_packet(0, i, len);
	assert_int_equal(driver_send(ends[0], out, n), n);
}

static void removed_and_made_again(void **state)
{
	struct rx_pkt in[DRIVER_BATCH];
	uint16_t room[ENGINE_PORTS];
	uint64_t down;

	(void)state;
	need_privilege();
	open_pair(2, 9000, false);
	warm_up(0);
	for (unsigned round = 0; round < 2; round++) {
		send_some(40, 4096);
		/* Some are lent, some wait, and some are on their way. */
		assert_true(pair_receive(1, in, 4) <= 4);
		assert_true(veth_ip(&cables, 0, "link del w1\n"));
		await_ports(0, 1);
		await_ports(1, 1);
		driver_room(ends[0], room);
		assert_true(room[0] > 0);
		assert_int_equal(room[1], 0);
		down = ends[0]->count.tx_down;
		send_some(2, 100);
		assert_int_equal(ends[0]->count.tx_down, down + 1);
		assert_true(veth_add(&cables, 1, 9000));
		await_ports(0, 3);
		await_ports(1, 3);
		warm_up(0);
		assert_int_equal(carry(0, 40, 4096, false), 40);
	}
	close_pair();
}

/* Its sleeper wakes, and does not wake for ever. */
static void removed_while_asleep(void **state)
{
	struct rx_pkt in[DRIVER_BATCH];
	struct pollfd fd = {.events = POLLIN};
	unsigned wakes = 0;

	(void)state;
	need_privilege();
	open_pair(1, 1500, false);
	warm_up(0);
	fd.fd = driver_fd(ends[0]);
	for (unsigned i = 0; i < 100 && poll(&fd, 1, 0) > 0; i++)
		pair_receive(0, in, DRIVER_BATCH);
	assert_true(veth_ip(&cables, 0, "link del w0\n"));
	while (poll(&fd, 1, 20) > 0 && wakes < 200) {
		wakes++;
		pair_receive(0, in, DRIVER_BATCH);
	}
	assert_in_range(wakes, 1, 199);
	assert_int_equal(driver_ports_up(ends[0]), 0);
}

static void carrier_lost(void **state)
{
	uint16_t room[ENGINE_PORTS];

	(void)state;
	need_privilege();
	open_pair(1, 4500, true);
	warm_up(0);
	assert_true(veth_ip(&cables, 1, "link set w0 down\n"));
	await_ports(0, 0);
	driver_room(ends[0], room);
	assert_int_equal(room[0], 0);
	send_some(3, 100);
	assert_int_equal(ends[0]->count.tx_down, 3);
	assert_true(veth_set_up(&cables, 1, 0));
	await_ports(0, 1);
	await_ports(1, 1);
	warm_up(0);
	assert_int_equal(carry(0, 20, 4096, true), 20);
	close_pair();
}

/* What waits in the ring when the interface goes down leaves when it is back, though nothing more
 * is sent. */
static void left_while_down(void **state)
{
	struct rx_pkt in[DRIVER_BATCH];
	int64_t end = pair_ms() + PAIR_WAIT_MS;
	uint64_t before;

	(void)state;
	need_privilege();
	open_pair(1, 4500, true);
	warm_up(0);
	pair_receive(1, in, DRIVER_BATCH);
	before = ends[1]->count.rx_delivered;
	/* Nobody told the driver yet. */
	assert_true(veth_ip(&cables, 0, "link set w0 down\n"));
	send_some(5, 4096);
	assert_int_equal(ends[0]->count.tx_down, 0);
	assert_true(veth_set_up(&cables, 0, 0));
	while (ends[1]->count.rx_delivered - before < 5) {
		assert_true(pair_ms() < end);
		pair_receive(0, in, DRIVER_BATCH);
		pair_receive(1, in, DRIVER_BATCH);
	}
	warm_up(0);
	close_pair();
}

static void mtu_lowered(void **state)
{
	struct rx_pkt in[DRIVER_BATCH];
	int64_t end = pair_ms() + PAIR_WAIT_MS;

	(void)state;
	need_privilege();
	open_pair(1, 9000, false);
	warm_up(0);
	assert_int_equal(carry(0, 20, 4096, false), 20);
	assert_true(veth_ip(&cables, 0, "link set w0 mtu 1500\n"));
	while (frames_port(xdp_of(ends[0])->frames, 0)->mtu != 1500) {
		assert_true(pair_ms() < end);
		pair_receive(0, in, DRIVER_BATCH);
	}
	send_some(5, 4096);
	assert_int_equal(ends[0]->count.tx_too_long, 5);
	assert_int_equal(carry(0, 20, 1024, false), 20);
	close_pair();
}

static int packet_socket(unsigned side)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET};
	int fd;

	assert_true(veth_enter(&cables, side));
	at.sll_ifindex = (int)if_nametoindex("w0");
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	return fd;
}

static uint64_t drain(unsigned side)
{
	struct rx_pkt in[DRIVER_BATCH];
	uint64_t got = 0;

	for (unsigned i = 0; i < 40; i++)
		got += pair_receive(side, in, DRIVER_BATCH);
	return got;
}

/* Headers of a packet to us, for fields to be wrong in: returns their length. */
static uint32_t put_headers(struct prng *r, uint8_t *at, uint32_t len)
{
	static const uint8_t eth[] = {2, 9, 0, 0, 0, 2, 2, 9, 0, 0, 0, 1, 0x86, 0xdd};
	struct sockaddr_storage to = pair_address(false, 0, 1);
	struct sockaddr_in6 v6;
	bool is_under = prng_below(r, 2), has_srh = prng_below(r, 2);
	uint32_t n = sizeof eth;

	memcpy(&v6, &to, sizeof v6);
	memcpy(at, eth, n);
	for (unsigned i = is_under ? 0 : 1; i < 2; i++) {
		memset(at + n, 0, 40);
		at[n] = 0x60;
		put_be16(at + n + 4, (uint16_t)(len - n - 40));
		at[n + 6] = i == 1 ? 17 : has_srh ? 43 : 41;
		memcpy(at + n + 24, &v6.sin6_addr, 16);
		n += 40;
		if (i == 0 && has_srh) {
			memset(at + n, 0, 24);
			at[n] = 41;
			at[n + 1] = 2;
			at[n + 2] = 4;
			n += 24;
		}
	}
	put_be16(at + n, 50000);
	put_be16(at + n + 2, 4791);
	put_be16(at + n + 4, (uint16_t)(len - n));
	put_be16(at + n + 6, 0);
	return n + 8;
}

/* Frames with everything wrong that can be: nothing is lost, all is counted, packets still cross.
 */
static void random_frames(void **state)
{
	uint64_t seed = check_seed(20261116);
	uint8_t frame[FRAME_MOST];
	struct prng r;
	uint64_t delivered, bare = 0;
	int fd;

	(void)state;
	need_privilege();
	open_pair(1, 9000, false);
	warm_up(0);
	prng_init(&r, seed, 0);
	fd = packet_socket(0);
	delivered = ends[1]->count.rx_delivered;
	for (uint32_t i = 0; i < RANDOM_FRAMES; i++) {
		uint32_t len = 150 + (uint32_t)prng_below(&r, i % 4 ? 1300 : FRAME_MOST - 150);
		uint32_t n;

		prng_fill(&r, frame, len);
		n = put_headers(&r, frame, len);
		for (uint64_t k = prng_below(&r, 4); k > 0; k--)
			frame[12 + prng_below(&r, n - 12)] = (uint8_t)prng_below(&r, 256);
		if (prng_below(&r, 8) == 0)
			len = 14 + (uint32_t)prng_below(&r, len - 14);
		bare += send(fd, frame, len, MSG_DONTWAIT) == (ssize_t)len;
		if (i % 50 == 0)
			drain(1);
	}
	drain(1);
	close(fd);
	/* No ICRC is right by chance, and most were ours to look at. */
	assert_int_equal(ends[1]->count.rx_delivered, delivered);
	assert_true(bare > RANDOM_FRAMES * 9 / 10);
	assert_true(ends[1]->count.rx > RANDOM_FRAMES / 4);
	assert_true(ends[1]->count.drop_icrc > 0 && ends[1]->count.drop_headers > 0);
	assert_balance(ends[1]);
	assert_int_equal(carry(0, 40, 4096, false), 40);
	assert_int_equal(carry(1, 40, 4096, false), 40);
	close_pair();
}

/* A datagram from side 0 to a socket of the kernel's at side 1; true: it came. */
static bool kernel_udp(const char *to, uint16_t port, uint32_t len)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct pollfd p = {.events = POLLIN};
	int in, out;
	bool came;

	assert_int_equal(inet_pton(AF_INET, to, &at.sin_addr), 1);
	assert_true(veth_enter(&cables, 1));
	in = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(in, (struct sockaddr *)&at, sizeof at), 0);
	assert_true(veth_enter(&cables, 0));
	out = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(sendto(out, pair_data, len, 0, (struct sockaddr *)&at, sizeof at), len);
	p.fd = in;
	came = poll(&p, 1, PAIR_WAIT_MS) == 1;
	close(in);
	close(out);
	return came;
}

/* A datagram of three fragments to our port, which arrives before whatever is sent next. */
static void send_fragments(const char *to)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(4791)};
	int out;

	assert_int_equal(inet_pton(AF_INET, to, &at.sin_addr), 1);
	assert_true(veth_enter(&cables, 0));
	out = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(sendto(out, pair_data, 4000, 0, (struct sockaddr *)&at, sizeof at), 4000);
	close(out);
}

static void kernel_tcp(void)
{
	struct sockaddr_storage to = pair_address(false, 0, 1);
	struct sockaddr_in6 at;
	struct pollfd p = {.events = POLLIN};
	int listener, out;

	memcpy(&at, &to, sizeof at);
	at.sin6_port = htons(4791);
	assert_true(veth_enter(&cables, 1));
	listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_true(veth_enter(&cables, 0));
	out = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(connect(out, (struct sockaddr *)&at, sizeof at) == 0 || errno == EINPROGRESS);
	p.fd = listener;
	assert_int_equal(poll(&p, 1, PAIR_WAIT_MS), 1);
	close(out);
	close(listener);
}

/* All that is not ours is the kernel's, over the same interface and meanwhile. */
static void others_pass(void **state)
{
	uint64_t before;

	(void)state;
	need_privilege();
	open_pair(1, 1500, true);
	assert_true(veth_ip(&cables, 1, "address add 10.9.0.77/24 dev w0\n"));
	warm_up(0);
	before = ends[1]->count.rx;
	kernel_tcp();
	assert_true(kernel_udp("10.9.0.2", 4790, 100));
	assert_true(kernel_udp("10.9.0.77", 4791, 100));
	/* In fragments: to our port and address too, and still the kernel's. */
	send_fragments("10.9.0.2");
	assert_true(kernel_udp("10.9.0.77", 4791, 4000));
	assert_true(kernel_udp("10.9.0.2", 4790, 4000));
	drain(1);
	assert_int_equal(ends[1]->count.rx, before);
	assert_int_equal(carry(0, 20, 1000, true), 20);
	close_pair();
}

/* An address is ours while it is open, however often. */
static void address_closed(void **state)
{
	struct sockaddr_storage second = pair_address(true, 0, 76);
	uint32_t handle, again;
	uint64_t before;

	(void)state;
	need_privilege();
	open_pair(1, 1500, true);
	assert_true(veth_ip(&cables, 1, "address add 10.9.0.77/24 dev w0\n"));
	warm_up(0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(driver_bind(ends[1], (struct sockaddr *)&second,
					     i ? &again : &handle, pair_error, sizeof pair_error),
				 0);
	assert_int_equal(handle, again);
	assert_int_equal(xdp_of(ends[1])->n_addresses, 2);
	driver_unbind(ends[1], handle);
	assert_int_equal(xdp_of(ends[1])->n_addresses, 2);
	driver_unbind(ends[1], handle);
	assert_int_equal(xdp_of(ends[1])->n_addresses, 1);
	before = ends[1]->count.rx;
	assert_true(kernel_udp("10.9.0.77", 4791, 100));
	drain(1);
	assert_int_equal(ends[1]->count.rx, before);
	assert_int_equal(carry(0, 20, 1000, true), 20);
	close_pair();
}

static const struct CMUnitTest cases[] = {
	XDP_PAIR_CASE(removed_and_made_again), XDP_PAIR_CASE(removed_while_asleep),
	XDP_PAIR_CASE(carrier_lost),           XDP_PAIR_CASE(mtu_lowered),
	XDP_PAIR_CASE(random_frames),          XDP_PAIR_CASE(others_pass),
	XDP_PAIR_CASE(address_closed),         XDP_PAIR_CASE(left_while_down),
};
XDP_PAIR_MAIN(cases)
