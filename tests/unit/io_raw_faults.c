#include "raw_pair.h"

static const struct shape away = {PORTS, 1, false}; /* a cable of its own, which is cut */
static const struct shape small = {0, 1, false};    /* with rings as small as can be */

static void open_small(void)
{
	struct raw_cfg cfg = config(&small);

	cfg.rx_slots = cfg.tx_slots = DRIVER_BATCH;
	open_with(&cfg, &small);
}

static void wait_for_ports(uint32_t up)
{
	int64_t end = now_ms() + WAIT_MS;

	while (driver_ports_up(a) != up && now_ms() < end) {
		poll(&(struct pollfd){driver_fd(a), POLLIN, 0}, 1, 5);
		idle(a);
	}
	assert_int_equal(driver_ports_up(a), up);
}

/* A burst by port 0 and one by port 1, while the first is down: this side knows, or not yet. */
static void send_half(void)
{
	uint64_t down = a->count.tx_down;

	for (uint32_t i = 0; i < 16; i++) {
		out[i] = packet(i, 1000);
		out[i].port = (uint8_t)(i % 2);
	}
	assert_int_equal(driver_send(a, out, 16), 16);
	assert_int_equal(a->count.tx_down, down + 8);
	assert_int_equal(receive(16, QUIET_MS), 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(in[i].pkt.port, 1);
}

/* Slots that were looked at are not looked at again before the kernel had them back. */
static void test_ring_full_of_what_is_dropped(void **state)
{
	struct sockaddr_storage here = address(1, small.first, small.is_v6);
	uint32_t again;
	struct rx_pkt got[DRIVER_BATCH];

	(void)state;
	open_small();
	cross(1);
	/* The kernel has every slot again, and can fill them all. */
	catch_up(b);
	uint64_t drops = b->count.drop_headers;

	driver_unbind(b, b_local);
	for (uint32_t i = 0; i < 2 * DRIVER_BATCH; i++) {
		out[0] = packet(i, 100);
		driver_send(a, out, 1);
	}
	assert_int_equal(driver_receive(b, now_ns(), got, DRIVER_BATCH), 0);
	assert_in_range(b->count.drop_headers - drops, DRIVER_BATCH, 2 * DRIVER_BATCH - 1);
	assert_true(veth_enter(&net, 1));
	assert_int_equal(driver_bind(b, (struct sockaddr *)&here, &again, error, sizeof error), 0);
	assert_int_equal(again, b_local);
	catch_up(b);
	cross(8);
	close_pair();
}

static void test_links_go_down_and_up(void **state)
{
	uint16_t room[ENGINE_PORTS];

	(void)state;
	open_pair(&two_v4);
	for (unsigned side = 0; side < 2; side++) {
		assert_sleeps(a);
		assert_true(veth_ip(&net, side, "link set w0 down\n"));
		assert_int_equal(poll(&(struct pollfd){driver_fd(a), POLLIN, 0}, 1, WAIT_MS), 1);
		/* Of our own interface the kernel knows at once, of the cable we learn. */
		if (side == 1)
			wait_for_ports(2);
		send_half();
		wait_for_ports(2);
		driver_room(a, room);
		assert_int_equal(room[0], 0);
		assert_int_equal(room[1], DRIVER_BATCH);
		send_half();
		assert_sleeps(a);
		assert_true(veth_set_up(&net, side, 0));
		wait_for_ports(3);
		assert_true(is_connected(0));
		assert_true(is_connected(1));
		for (uint32_t i = 0; i < DRIVER_BATCH; i++)
			out[i] = packet(i, 4096);
		cross(DRIVER_BATCH);
	}
	close_pair();
}

static void test_a_link_that_was_down_for_a_moment(void **state)
{
	(void)state;
	open_pair(&two_v4);
	assert_true(veth_ip(&net, 0, "link set w0 down\nlink set w0 up\n"));
	/* The socket remembers an error, which is of the past. */
	for (uint32_t i = 0; i < 8; i++)
		out[i] = packet(i, 1000);
	assert_int_equal(driver_send(a, out, 8), 8);
	assert_int_equal(a->count.tx_down, 0);
	assert_int_equal(a->count.tx, 8);
	assert_true(veth_set_up(&net, 0, 0));
	assert_true(is_connected(0));
	close_pair();
}

static void test_an_interface_goes_and_comes_back(void **state)
{
	(void)state;
	open_pair(&away);
	for (unsigned turn = 0; turn < 2; turn++) {
		assert_true(veth_ip(&net, 0, "link del w%d\n", PORTS));
		for (uint32_t i = 0; i < 8; i++)
			out[i] = packet(i, 1000);
		assert_int_equal(driver_send(a, out, 8), 8);
		wait_for_ports(0);
		assert_int_equal(driver_send(a, out, 8), 8);
		assert_true(a->count.tx_down + a->count.tx_no_route >= 16);
		assert_sleeps(a);
		assert_sleeps(b);
		assert_true(veth_add(&net, PORTS, MTU));
		assert_true(is_connected(0));
		cross_sizes();
	}
	close_pair();
}

static void test_an_interface_visits_another_namespace(void **state)
{
	struct veth there = net;

	(void)state;
	open_pair(&away);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	there.ns[0] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	/* Away and back with its number, and so soon that nobody has seen it gone. */
	assert_true(veth_ip(&there, 1, "link set w%d netns /proc/%d/fd/%d\n", PORTS, (int)getpid(),
			    there.ns[0]));
	assert_true(veth_ip(&there, 0, "link set w%d netns /proc/%d/fd/%d\n", PORTS, (int)getpid(),
			    there.ns[1]));
	close(there.ns[0]);
	assert_true(veth_set_up(&net, 1, PORTS));
	assert_true(is_connected(0));
	cross_sizes();
	close_pair();
}

static void test_a_lower_mtu(void **state)
{
	(void)state;
	open_pair(&one_v4);
	assert_true(veth_ip(&net, 0, "link set w0 mtu 1500\n"));
	/* Nobody told the driver yet: the kernel refuses what is too long, and only that. */
	for (uint32_t i = 0; i < 12; i++)
		out[i] = packet(i, i % 3 == 1 ? 4096 : i % 3 == 2 ? 2000 + i : 512 + i);
	assert_int_equal(driver_send(a, out, 12), 12);
	assert_int_equal(a->count.tx_failed, 8);
	assert_int_equal(receive(12, QUIET_MS), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_arrived(&in[i], &out[3 * i]);
	int64_t end = now_ms() + WAIT_MS;

	while (driver_pmtu(a, a_local, b_of_a, error, sizeof error) != 1024 && now_ms() < end)
		idle(a);
	assert_int_equal(driver_pmtu(a, a_local, b_of_a, error, sizeof error), 1024);
	assert_int_equal(driver_send(a, out + 1, 1), 1);
	assert_int_equal(a->count.tx_too_long, 1);
	assert_int_equal(a->count.tx_failed, 8);
	set_mtu(MTU);
	close_pair();
}

/* Has frames of side 0 wait for their turn, and be refused beyond so many bytes; false:
 * the kernel cannot. */
static bool slow_down(const char *rate, const char *limit)
{
	enum { WORDS = 13, RATE = 8, LIMIT = 12 };
	char text[WORDS][10] = {"tc",   "qdisc", "replace", "dev", "w0",    "root", "tbf",
				"rate", "",      "burst",   "9k",  "limit", ""};
	char *words[WORDS + 1];

	snprintf(text[RATE], sizeof text[RATE], "%s", rate);
	snprintf(text[LIMIT], sizeof text[LIMIT], "%s", limit);
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = text[i];
	words[WORDS] = NULL;
	return veth_enter(&net, 0) && veth_run(words, "");
}

static void speed_up(void)
{
	char tc[] = "tc", qdisc[] = "qdisc", del[] = "del", dev[] = "dev", w0[] = "w0",
	     r[] = "root";
	char *const words[] = {tc, qdisc, del, dev, w0, r, NULL};

	assert_true(veth_enter(&net, 0) && veth_run(words, ""));
}

static void test_a_full_ring_loses_nothing(void **state)
{
	uint32_t sent = 0, n = DRIVER_BATCH;
	uint16_t room[ENGINE_PORTS];

	(void)state;
	open_small();
	if (!slow_down("60mbit", "10m")) {
		close_pair();
		skip();
	}
	for (uint32_t i = 0; i < DRIVER_BATCH; i++)
		out[i] = packet(i, 4096);
	while (n == DRIVER_BATCH && sent < 8 * DRIVER_BATCH) {
		n = driver_send(a, out, DRIVER_BATCH);
		sent += n;
	}
	assert_true(n < DRIVER_BATCH);
	driver_room(a, room);
	assert_int_equal(room[0], 0);
	assert_int_equal(driver_send(a, out, 1), 0);
	assert_int_equal(receive(sent, WAIT_MS), sent);
	for (uint32_t i = 0; i < sent; i++)
		assert_int_equal(in[i].number, i % DRIVER_BATCH);
	driver_room(a, room);
	assert_true(room[0] > 0);
	assert_int_equal(a->count.tx_failed, 0);
	speed_up();
	close_pair();
}

/* The kernel's log from here on; < 0: not ours to read. */
static int open_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

static void assert_not_logged(int fd, const char *words)
{
	char line[1024];
	ssize_t n;

	for (unsigned i = 0; i < 1000 && (n = read(fd, line, sizeof line - 1)) > 0; i++) {
		line[n] = 0;
		assert_null(strstr(line, words));
	}
	if (fd >= 0)
		close(fd);
}

static void test_a_queue_that_refuses(void **state)
{
	uint32_t got;
	int log = open_log();

	(void)state;
	open_pair(&one_v4);
	if (!slow_down("100mbit", "20k")) {
		close_pair();
		skip();
	}
	uint64_t before = a->count.tx;

	for (uint32_t i = 0; i < DRIVER_BATCH; i++)
		out[i] = packet(i, 4096);
	assert_int_equal(driver_send(a, out, DRIVER_BATCH), DRIVER_BATCH);
	assert_true(a->count.tx_failed > 0);
	assert_int_equal(a->count.tx - before + a->count.tx_failed, DRIVER_BATCH);
	got = receive(DRIVER_BATCH, QUIET_MS);
	assert_int_equal(got, a->count.tx - before);
	assert_not_logged(log, "packet size");
	speed_up();
	assert_true(is_connected(0));
	cross_sizes();
	close_pair();
}

static void test_losses_are_told(void **state)
{
	uint64_t arrived = 0, sent = 0;
	int64_t end = now_ms() + WAIT_MS;

	(void)state;
	open_small();
	uint64_t before = b->count.rx_missed;

	for (uint32_t i = 0; i < DRIVER_BATCH; i++)
		out[i] = packet(i, 64);
	for (uint32_t i = 0; i < 4; i++)
		sent += driver_send(a, out, DRIVER_BATCH);
	while (arrived + b->count.rx_missed - before < sent && now_ms() < end)
		arrived += receive(DRIVER_BATCH, 1);
	assert_true(b->count.rx_missed > before);
	assert_int_equal(arrived + b->count.rx_missed - before, sent);
	close_pair();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(test_links_go_down_and_up),
	cmocka_unit_test(test_ring_full_of_what_is_dropped),
	cmocka_unit_test(test_a_link_that_was_down_for_a_moment),
	cmocka_unit_test(test_an_interface_goes_and_comes_back),
	cmocka_unit_test(test_an_interface_visits_another_namespace),
	cmocka_unit_test(test_a_lower_mtu),
	cmocka_unit_test(test_a_full_ring_loses_nothing),
	cmocka_unit_test(test_a_queue_that_refuses),
	cmocka_unit_test(test_losses_are_told),
};

int main(int argc, char **argv)
{
	return raw_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
