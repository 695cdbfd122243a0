#include "raw_pair.h"

#include <linux/capability.h>
#include <net/ethernet.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "io/udp.h"

static const struct shape four_v6 = {0, 4, true};

/* b sleeps until there is a packet. */
static void assert_wakes(void)
{
	assert_sleeps(b);
	out[0] = packet(1, 64);
	assert_int_equal(driver_send(a, out, 1), 1);
	assert_int_equal(poll(&(struct pollfd){driver_fd(b), POLLIN, 0}, 1, WAIT_MS), 1);
	assert_int_equal(receive(1, WAIT_MS), 1);
}

static void test_crosses_by_both_kinds_of_ip(void **state)
{
	(void)state;
	for (int is_v6 = 0; is_v6 < 2; is_v6++) {
		struct sockaddr_storage s = address(0, 0, is_v6);

		open_pair(is_v6 ? &one_v6 : &one_v4);
		cross_sizes();
		/* The peer is the one that b would name. */
		assert_int_equal(in[0].pkt.peer, driver_peer_get(b, (struct sockaddr *)&s));
		assert_int_equal(a->count.tx_failed + a->count.tx_down, 0);
		assert_true(a->count.tx_calls < a->count.tx);
		assert_int_equal(b->count.rx_delivered, b->count.rx);
		close_pair();
	}
}

static void test_answers_cross_back(void **state)
{
	struct rx_pkt pkts[DRIVER_BATCH] = {{.port = 0}};
	struct tx_pkt p;
	int64_t end = now_ms() + WAIT_MS;
	uint32_t got = 0;

	(void)state;
	open_pair(&one_v6);
	out[0] = packet(7, 100);
	cross(1);
	p = packet(8, 200);
	put_be32(p.head + 4, (uint32_t)driver_tag(a) << 16 | QP);
	p.local = b_local;
	p.peer = in[0].pkt.peer;
	/* The handle is good until b receives again; its next hop may have to be found. */
	while (!got && now_ms() < end) {
		struct sockaddr_storage s = address(0, 0, true);

		p.peer = driver_peer_get(b, (struct sockaddr *)&s);
		assert_int_equal(driver_send(b, &p, 1), 1);
		poll(&(struct pollfd){driver_fd(a), POLLIN, 0}, 1, 5);
		got = driver_receive(a, now_ns(), pkts, DRIVER_BATCH);
		idle(b);
	}
	assert_int_equal(got, 1);
	assert_int_equal(pkts[0].local, a_local);
	assert_int_equal(pkts[0].peer, b_of_a);
	close_pair();
}

static void cross_by_all(const struct shape *shape)
{
	uint32_t seen[PORTS] = {0};

	open_pair(shape);
	assert_int_equal(driver_ports_up(a), (1u << shape->n) - 1);
	for (uint32_t i = 0; i < DRIVER_BATCH; i++) {
		out[i] = packet(i, 4096);
		out[i].port = (uint8_t)(i % shape->n);
	}
	assert_int_equal(driver_send(a, out, DRIVER_BATCH), DRIVER_BATCH);
	assert_int_equal(a->count.tx_calls, shape->n);
	assert_int_equal(receive(DRIVER_BATCH, WAIT_MS), DRIVER_BATCH);
	for (uint32_t i = 0; i < DRIVER_BATCH; i++) {
		assert_arrived(&in[i], &out[in[i].number]);
		/* In order by each port. */
		assert_int_equal(in[i].number / shape->n, seen[in[i].pkt.port]++);
	}
	close_pair();
}

static void test_ports_are_apart(void **state)
{
	(void)state;
	cross_by_all(&two_v4);
	cross_by_all(&four_v6);
}

static void test_pmtu_fits_the_mtu(void **state)
{
	static const struct {
		unsigned mtu, pmtu;
	} cases[] = {{9000, 4096}, {4500, 4096}, {4100, 2048}, {1500, 1024}};

	(void)state;
	if (!has_net)
		skip();
	open_pair(&one_v6);
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int64_t end = now_ms() + WAIT_MS;

		set_mtu(cases[i].mtu);
		while (driver_pmtu(a, a_local, b_of_a, error, sizeof error) != cases[i].pmtu &&
		       now_ms() < end)
			idle(a);
		assert_int_equal(driver_pmtu(a, a_local, b_of_a, error, sizeof error),
				 cases[i].pmtu);
		assert_true(is_connected(0));
		out[0] = packet(1, cases[i].pmtu);
		cross(1);
	}
	close_pair();
	set_mtu(MTU);
}

static void test_segments_and_entropy_of_each_packet(void **state)
{
	const struct sockaddr_storage s = address(1, 0, true);
	struct encap_segments segments = {0};

	(void)state;
	open_pair(&one_v6);
	for (uint8_t n = 0; n <= 2; n++) {
		/* Both are b's own address, which ends the way there and then. */
		segments.n = n;
		for (unsigned i = 0; i < n; i++)
			memcpy(segments.at[i], &((const struct sockaddr_in6 *)&s)->sin6_addr, 16);
		for (uint32_t i = 0; i < 16; i++) {
			out[i] = packet(i, 4096);
			out[i].ev = 0xc0010000u + i * 0x00010003u;
			if (n > 0)
				assert_int_equal(
					driver_peer_segments(a, b_of_a, 0, out[i].ev, &segments),
					0);
		}
		cross(16);
		for (uint32_t i = 0; i < 16; i++)
			assert_int_equal(in[i].pkt.ev, out[i].ev);
	}
	/* A tag that nobody has, under the encapsulation too: the filter sees it. */
	uint64_t rx = b->count.rx;

	put_be32(out[0].head + 4, 0xee0000u | QP);
	assert_int_equal(driver_send(a, out, 1), 1);
	assert_int_equal(receive(1, QUIET_MS), 0);
	assert_int_equal(b->count.rx, rx);
	close_pair();
}

static void test_marks_are_seen(void **state)
{
	(void)state;
	for (int is_v6 = 0; is_v6 < 2; is_v6++) {
		open_pair(is_v6 ? &one_v6 : &one_v4);
		for (uint32_t i = 0; i < 2 * ENGINE_TCLASSES; i++) {
			out[i] = packet(i, 32);
			out[i].tclass = (uint8_t)(i / 2);
			out[i].not_ect = i % 2;
			out[i].ev = (40000 + i) << 16;
		}
		cross(2 * ENGINE_TCLASSES);
		for (uint32_t i = 0; i < 2 * ENGINE_TCLASSES; i++) {
			assert_int_equal(in[i].pkt.dscp, 10 + i / 2);
			assert_int_equal(in[i].pkt.ecn, i % 2 ? 0 : 2);
			assert_int_equal(in[i].pkt.ev >> 16, out[i].ev >> 16);
			assert_int_equal(in[i].pkt.ttl, 64);
		}
		/* A DSCP of its own. */
		for (uint32_t i = 0; i < ENGINE_TCLASSES; i++) {
			out[i] = packet(i, 32);
			out[i].tclass = (uint8_t)(ENGINE_DSCP + 10 + i);
		}
		cross(ENGINE_TCLASSES);
		for (uint32_t i = 0; i < ENGINE_TCLASSES; i++)
			assert_int_equal(in[i].pkt.dscp, 10 + i);
		close_pair();
	}
}

/* In another process: says its tag, and then the number of each packet, n of them in all. */
static void be_third(int to, uint32_t n)
{
	const struct raw_cfg cfg = config(&one_v4);
	int64_t end = now_ms() + WAIT_MS;
	struct rx_pkt pkts[DRIVER_BATCH];
	uint32_t local, peer, number;
	struct driver *c = open_end(&cfg, &one_v4, 1, &local, &peer);

	number = driver_tag(c);
	if (write(to, &number, sizeof number) != sizeof number)
		_exit(1);
	while (n > 0 && now_ms() < end) {
		uint32_t k = driver_receive(c, now_ns(), pkts, DRIVER_BATCH);

		for (uint32_t i = 0; i < k && n > 0; i++, n--) {
			number = get_be32(pkts[i].head.at + 8);
			if (write(to, &number, sizeof number) != sizeof number)
				_exit(1);
		}
		poll(&(struct pollfd){driver_fd(c), POLLIN, 0}, 1, 5);
	}
	_exit(n > 0);
}

static void test_processes_share_an_address(void **state)
{
	uint32_t tag = 0, number = 0;
	int ends[2], status;
	pid_t pid;

	(void)state;
	open_pair(&one_v4);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_third(ends[1], 3);
	assert_int_equal(read(ends[0], &tag, sizeof tag), sizeof tag);
	assert_int_not_equal(tag, driver_tag(b));
	for (uint32_t i = 0; i < 4; i++) {
		out[i] = packet(100 + i, 64);
		if (i == 1 || i == 3)
			put_be32(out[i].head + 4, tag << 16 | QP);
		if (i == 2)
			put_be32(out[i].head + 4, 2);
	}
	/* 100 is b's, 101 and 103 the other's, 102 both's: queue pair 2 has no owner. */
	assert_int_equal(driver_send(a, out, 4), 4);
	assert_int_equal(receive(3, QUIET_MS), 2);
	assert_int_equal(in[0].number, 100);
	assert_int_equal(in[1].number, 102);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(read(ends[0], &number, sizeof number), sizeof number);
		assert_int_equal(number, 101 + i);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(ends[0]);
	close(ends[1]);
	close_pair();
}

static void test_a_forked_child_frees(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	open_pair(&one_v4);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		driver_free(a);
		driver_free(b);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_wakes();
	cross_sizes();
	close_pair();
}

static void test_port_of_another_program(void **state)
{
	struct sockaddr_storage s = address(99, 0, false);
	struct raw_cfg cfg = config(&one_v4);
	struct driver *d = NULL;
	uint32_t handle;
	int fd;

	(void)state;
	if (!has_net)
		skip();
	assert_true(veth_ip(&net, 0, "address add 10.9.0.100/32 dev w0\n"));
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&s, sizeof(struct sockaddr_in)), 0);
	assert_int_equal(raw_new(&d, &cfg, error, sizeof error), 0);
	assert_int_equal(driver_bind(d, (struct sockaddr *)&s, &handle, error, sizeof error),
			 -EADDRINUSE);
	assert_non_null(strstr(error, "4791"));
	assert_non_null(strstr(error, "another program"));
	close(fd);
	assert_int_equal(driver_bind(d, (struct sockaddr *)&s, &handle, error, sizeof error), 0);
	driver_free(d);
}

/* The number in the column of values that a name has in the column of names. */
static uint64_t value_of(const char *name, char *names, char *values)
{
	char *names_at, *values_at;
	const char *n = strtok_r(names, " \n", &names_at), *v = strtok_r(values, " \n", &values_at);

	while (n && v && strcmp(n, name) != 0) {
		n = strtok_r(NULL, " \n", &names_at);
		v = strtok_r(NULL, " \n", &values_at);
	}
	if (!v)
		fail_msg("no %s in /proc/net/snmp", name);
	return v ? strtoull(v, NULL, 10) : 0;
}

/* How often this side said that a UDP port is not there. */
static uint64_t unreachables(bool is_v6)
{
	FILE *f = fopen(is_v6 ? "/proc/thread-self/net/snmp6" : "/proc/thread-self/net/snmp", "r");
	const char *start = is_v6 ? "Icmp6OutDestUnreachs" : "Icmp:";
	char lines[2][2048] = {"", ""};
	unsigned n = 0;

	while (f && n < (is_v6 ? 1 : 2) && fgets(lines[n], sizeof lines[n], f))
		n += strncmp(lines[n], start, strlen(start)) == 0;
	if (f)
		fclose(f);
	assert_int_equal(n, is_v6 ? 1 : 2);
	return is_v6 ? strtoull(lines[0] + strlen(start), NULL, 10)
		     : value_of("OutDestUnreachs", lines[0], lines[1]);
}

static void test_the_kernel_does_not_answer(void **state)
{
	(void)state;
	for (int is_v6 = 0; is_v6 < 2; is_v6++) {
		struct sockaddr_storage s = address(1, 0, is_v6);
		socklen_t len = is_v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
		int64_t end = now_ms() + WAIT_MS;
		uint64_t before;
		int fd;

		open_pair(is_v6 ? &one_v6 : &one_v4);
		assert_true(veth_enter(&net, 1));
		before = unreachables(is_v6);
		cross_sizes();
		assert_int_equal(unreachables(is_v6), before);
		/* Another port, that nobody holds: or the count above would prove nothing. */
		((struct sockaddr_in *)&s)->sin_port = htons(ROCE + 1);
		assert_true(veth_enter(&net, 0));
		fd = socket(s.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_int_equal(sendto(fd, data, 100, 0, (struct sockaddr *)&s, len), 100);
		assert_true(veth_enter(&net, 1));
		while (unreachables(is_v6) == before && now_ms() < end)
			usleep(1000);
		assert_int_equal(unreachables(is_v6), before + 1);
		close(fd);
		close_pair();
	}
}

/* A socket that sees or sends whole frames of a side. */
static int tap(unsigned side)
{
	struct sockaddr_ll name = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int fd;

	assert_true(veth_enter(&net, side));
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	name.sll_ifindex = (int)if_nametoindex("w0");
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
	return fd;
}

/* The frame of a packet from a to b with so much data, as b's interface sees it. */
static uint32_t frame_of(uint32_t len, uint8_t *frame, uint32_t room)
{
	const ssize_t least = (ssize_t)len + BTH + 4;
	int fd = tap(1);
	ssize_t got = 0;

	out[0] = packet(77, len);
	cross(1);
	for (unsigned i = 0; i < 1000 && got < least; i++)
		got = recv(fd, frame, room, 0);
	close(fd);
	assert_true(got >= least);
	return (uint32_t)got;
}

enum change { NONE, PADDED, CUT, BIT, MAC, VLAN, PRIORITY, UDP_PORT, TAG, QP_2, FRAGMENT, ARP };

/* Changes a frame over IPv4; its new length. */
static uint32_t change_frame(uint8_t *f, uint32_t len, enum change change)
{
	enum { IP = 14, UDP = IP + 20, AT_BTH = UDP + 8 };

	if (change == VLAN || change == PRIORITY) {
		memmove(f + 16, f + 12, len - 12);
		put_be16(f + 12, 0x8100);
		put_be16(f + 14, change == VLAN ? 5 : 3 << 13);
		return len + 4;
	}
	if (change == PADDED) {
		memset(f + len, 0xa5, 6);
		return len + 6;
	}
	f[5] ^= change == MAC;
	f[12] ^= change == ARP;
	f[IP + 6] = change == FRAGMENT ? 0x20 : f[IP + 6];
	f[UDP + 3] ^= change == UDP_PORT;
	f[AT_BTH + 5] = (uint8_t)(f[AT_BTH + 5] ^ (change == TAG ? 0x80 : 0));
	if (change == QP_2)
		put_be32(f + AT_BTH + 4, 2);
	f[len - 8] ^= change == BIT;
	return change == CUT ? len - 5 : len;
}

struct change_case {
	enum change change;
	uint8_t rx, delivered; /* seen by the driver, given to the engine */
};

static void throw_changed(const struct shape *shape, const struct change_case *at, unsigned n)
{
	uint8_t frame[256], changed[512];
	uint32_t len;
	int fd;

	open_pair(shape);
	len = frame_of(0, frame, sizeof frame);
	fd = tap(0);
	for (unsigned i = 0; i < n; i++) {
		const struct driver_counters before = b->count;

		memcpy(changed, frame, len);
		uint32_t bytes = change_frame(changed, len, at[i].change);

		assert_int_equal(send(fd, changed, bytes, 0), bytes);
		receive(1, at[i].delivered ? WAIT_MS : QUIET_MS / 3);
		if (b->count.rx - before.rx != at[i].rx ||
		    b->count.rx_delivered - before.rx_delivered != at[i].delivered)
			fail_msg("case %u: %u seen, %u given", i,
				 (unsigned)(b->count.rx - before.rx),
				 (unsigned)(b->count.rx_delivered - before.rx_delivered));
	}
	close(fd);
	close_pair();
}

static void test_takes_only_its_own(void **state)
{
	/* Without data a frame over IPv4 is shorter than Ethernet allows, and is padded by many
	 * devices. */
	static const struct change_case v4[] = {
		{NONE, 1, 1}, {PADDED, 1, 1}, {CUT, 1, 0},      {BIT, 1, 0},
		{MAC, 0, 0},  {VLAN, 0, 0},   {PRIORITY, 1, 1}, {UDP_PORT, 0, 0},
		{TAG, 0, 0},  {QP_2, 1, 0},   {FRAGMENT, 0, 0}, {ARP, 0, 0},
	};
	static const struct change_case v6[] = {
		{NONE, 1, 1}, {PADDED, 1, 1}, {MAC, 0, 0}, {VLAN, 0, 0}, {ARP, 0, 0}};

	(void)state;
	throw_changed(&one_v4, v4, sizeof v4 / sizeof v4[0]);
	throw_changed(&one_v6, v6, sizeof v6 / sizeof v6[0]);
}

static void test_frames_larger_than_a_slot(void **state)
{
	struct sockaddr_storage s = address(1, 0, false);
	enum { SEGMENT_OPTION = 103 };
	int fd;

	(void)state;
	open_pair(&one_v4);
	assert_true(veth_enter(&net, 0));
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&s, sizeof(struct sockaddr_in)), 0);
	uint64_t rx = b->count.rx, drops = b->count.drop_headers;
	uint8_t big[8000] = {0};

	big[5] = driver_tag(b);
	big[7] = QP;
	assert_int_equal(send(fd, big, 6000, 0), 6000);
	assert_int_equal(receive(1, QUIET_MS), 0);
	assert_int_equal(b->count.rx, rx + 1);
	assert_int_equal(b->count.drop_headers, drops + 1);
	/* What the sender left to be cut arrives in one piece, or in some that are not ours. */
	if (setsockopt(fd, IPPROTO_UDP, SEGMENT_OPTION, &(int){1000}, sizeof(int)) == 0)
		assert_int_equal(send(fd, big, sizeof big, 0), sizeof big);
	assert_int_equal(receive(1, QUIET_MS), 0);
	assert_balance(b);
	close(fd);
	cross_sizes();
	close_pair();
}

static void test_random_frames(void **state)
{
	uint64_t seed = check_seed(20261);
	uint8_t frames[2][256], changed[512];
	uint32_t lens[2];
	struct prng r;
	int fd;

	(void)state;
	prng_init(&r, seed, 0);
	for (int is_v6 = 0; is_v6 < 2; is_v6++) {
		open_pair(is_v6 ? &one_v6 : &one_v4);
		lens[is_v6] = frame_of(40, frames[is_v6], sizeof frames[is_v6]);
		fd = tap(0);
		for (uint32_t i = 0; i < 1500; i++) {
			uint32_t len = lens[is_v6], which = (uint32_t)prng_u64(&r);

			memcpy(changed, frames[is_v6], len);
			if (which % 8 == 0) {
				prng_fill(&r, changed + 14, sizeof changed - 14);
				len = 14 + which / 8 % 480;
			}
			for (uint32_t n = which / 16 % 6; n > 0; n--)
				changed[12 + prng_u64(&r) % (len - 12)] = (uint8_t)prng_u64(&r);
			if (which % 5 == 0)
				len = 14 + which / 64 % (len - 13);
			(void)!send(fd, changed, len, 0);
			if (i % 64 == 0)
				receive(DRIVER_BATCH, 0);
		}
		while (receive(DRIVER_BATCH, 1))
			;
		assert_true(b->count.rx > b->count.rx_delivered);
		assert_balance(b);
		close(fd);
		cross_sizes();
		close_pair();
	}
}

/* In a child, which loses its rights. */
static void be_powerless(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};
	const struct raw_cfg cfg = config(&one_v4);
	struct driver *d = NULL;

	if (syscall(SYS_capset, &head, none))
		_exit(2);
	_exit(raw_new(&d, &cfg, error, sizeof error) != -EPERM || d || !strstr(error, "setcap") ||
	      !strstr(error, "udp driver"));
}

static void test_without_the_right(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (!has_net)
		skip();
	assert_true(veth_enter(&net, 0));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_powerless();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_bad_configurations(void **state)
{
	struct raw_cfg cfg = config(&one_v4), few = cfg, many = cfg;
	struct driver *d = NULL;

	(void)state;
	if (!has_net)
		skip();
	assert_true(veth_enter(&net, 0));
	strcpy(cfg.frames.interfaces[0], "nobody0");
	assert_int_equal(raw_new(&d, &cfg, error, sizeof error), -ENODEV);
	assert_non_null(strstr(error, "nobody0"));
	few.tx_slots = 63;
	assert_int_equal(raw_new(&d, &few, error, sizeof error), -EINVAL);
	many.rx_slots = 65537;
	assert_int_equal(raw_new(&d, &many, error, sizeof error), -EINVAL);
	assert_null(d);
}

static void test_sleeps_until_a_packet(void **state)
{
	(void)state;
	open_pair(&one_v6);
	assert_wakes();
	close_pair();
}

/* Whoever comes second is refused, and says why: one of the two would have nothing left. */
static void test_udp_and_raw_share_no_address(void **state)
{
	struct sockaddr_storage taken = address(0, 0, false), free_one = address(76, 0, false);
	const struct sockaddr *t = (const struct sockaddr *)&taken;
	const struct sockaddr *f = (const struct sockaddr *)&free_one;
	struct udp_cfg cfg = {.carrier = &carrier_roce};
	struct driver *u = NULL;
	uint32_t handle;

	(void)state;
	open_pair(&one_v4);
	assert_true(veth_ip(&net, 0, "address add 10.9.0.77/24 dev w0\n"));
	assert_true(veth_enter(&net, 0));
	assert_int_equal(udp_new(&u, &cfg, error, sizeof error), 0);
	assert_int_equal(driver_bind(u, t, &handle, error, sizeof error), -EADDRINUSE);
	assert_non_null(strstr(error, "in use by another"));
	assert_int_equal(driver_bind(u, f, &handle, error, sizeof error), 0);
	assert_int_equal(driver_bind(a, f, &handle, error, sizeof error), -EADDRINUSE);
	assert_non_null(strstr(error, "use"));
	driver_free(u);
	assert_int_equal(driver_bind(a, f, &handle, error, sizeof error), 0);
	driver_unbind(a, handle);
	assert_true(veth_ip(&net, 0, "address del 10.9.0.77/24 dev w0\n"));
	for (uint32_t i = 0; i < 8; i++)
		out[i] = packet(i, 1000);
	cross(8);
	close_pair();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(test_crosses_by_both_kinds_of_ip),
	cmocka_unit_test(test_answers_cross_back),
	cmocka_unit_test(test_ports_are_apart),
	cmocka_unit_test(test_pmtu_fits_the_mtu),
	cmocka_unit_test(test_segments_and_entropy_of_each_packet),
	cmocka_unit_test(test_marks_are_seen),
	cmocka_unit_test(test_processes_share_an_address),
	cmocka_unit_test(test_a_forked_child_frees),
	cmocka_unit_test(test_port_of_another_program),
	cmocka_unit_test(test_the_kernel_does_not_answer),
	cmocka_unit_test(test_takes_only_its_own),
	cmocka_unit_test(test_frames_larger_than_a_slot),
	cmocka_unit_test(test_random_frames),
	cmocka_unit_test(test_without_the_right),
	cmocka_unit_test(test_bad_configurations),
	cmocka_unit_test(test_sleeps_until_a_packet),
	cmocka_unit_test(test_udp_and_raw_share_no_address),
};

int main(int argc, char **argv)
{
	return raw_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
