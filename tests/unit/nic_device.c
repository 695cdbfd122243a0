/* nic/nic.h: devices: what there are, opened, idle, across a fork, and when the network changes. */
#include "nic_stage.h"

#include <dirent.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rc/rc.h"

static uint32_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint32_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void loopback_is_a_device(void **state)
{
	static const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1};
	struct nic_info info = stage_info("lo");

	(void)state;
	assert_int_equal(strncmp(info.name, "weft_rc", 7), 0);
	assert_int_equal(info.ifindex, if_nametoindex("lo"));
	assert_true(info.mtu >= 1500);
	assert_true(info.is_up);
	assert_int_not_equal(info.guid, 0);
	assert_memory_equal(info.gids[stage_gid(&info, AF_INET)].raw, v4, 16);
	assert_int_equal(nic_info_refresh(&info), 0);
	assert_true(info.n_gids >= 1);
	info.ports[0].ifindex = 0x7ffffff0;
	assert_int_equal(nic_info_refresh(&info), 0); /* by its name */
	assert_int_equal(info.ports[0].ifindex, if_nametoindex("lo"));
	info.ports[0].ifindex = 0x7ffffff0;
	strcpy(info.setup.interfaces[0], "no-such-if0");
	assert_int_equal(nic_info_refresh(&info), -ENODEV);
}

static void the_environment_chooses_interfaces(void **state)
{
	struct nic_info *list = NULL;

	(void)state;
	setenv("WEFT_INTERFACES", "lo", 1);
	assert_int_equal(nic_list(&list), TRANSPORTS);
	for (uint32_t i = 0; i < TRANSPORTS; i++) {
		char name[32];

		snprintf(name, sizeof name, "weft_%s0", transport_names[i]);
		assert_string_equal(list[i].interface, "lo");
		assert_string_equal(list[i].name, name);
	}
	free(list);
	setenv("WEFT_INTERFACES", "lo,none-such", 1);
	assert_int_equal(nic_list(&list), -ENODEV);
	assert_non_null(strstr(nic_error(), "none-such"));
	setenv("WEFT_INTERFACES", "lo,lo", 1);
	assert_int_equal(nic_list(&list), -ENODEV);
	setenv("WEFT_INTERFACES", "", 1);
	assert_int_equal(nic_list(&list), 0);
	free(list);
	unsetenv("WEFT_INTERFACES");
}

static void check_bad(const char *name, const char *value)
{
	struct nic_info *list = NULL;

	setenv(name, value, 1);
	assert_int_equal(nic_list(&list), -EINVAL);
	assert_null(list);
	assert_non_null(strstr(nic_error(), name));
	unsetenv(name);
}

static void the_environment_is_checked(void **state)
{
	(void)state;
	uint32_t fds = count_fds();

	check_bad("WEFT_WINDOW", "");
	check_bad("WEFT_WINDOW", "64k");
	check_bad("WEFT_WINDOW", "-1");
	check_bad("WEFT_WINDOW", "100");
	check_bad("WEFT_WINDOW", "99999999999999999999999");
	check_bad("WEFT_CC", "cubic");
	assert_int_equal(count_fds(), fds);
	setenv("WEFT_WINDOW", "65536", 1);
	setenv("WEFT_CC", "dcqcn", 1);
	struct nic_info info = stage_info("lo");
	struct nic_user *u = nic_open(&info);

	assert_int_equal(info.setup.window_bytes, 65536);
	assert_int_equal(info.setup.cc, CC_DCQCN);

	if (u)
		assert_int_equal(nic_close(u), 0);
	else
		fail_msg("%s", nic_error());
	unsetenv("WEFT_WINDOW");
	unsetenv("WEFT_CC");
}

static void two_users_share_a_device(void **state)
{
	struct nic_info info = stage_info("lo"), got;
	uint32_t fds = count_fds();
	struct end e[2];

	(void)state;
	for (uint32_t round = 0; round < 5; round++) {
		stage_open(&e[0], &info, NULL);
		stage_open(&e[1], &info, NULL);
		/* One engine: numbers of both have one tag. */
		assert_int_equal(nic_qp_number(e[0].qp) >> 16, nic_qp_number(e[1].qp) >> 16);
		assert_int_equal(nic_close(e[0].user), -EBUSY);
		stage_close(&e[0]);
		assert_int_equal(nic_query(e[1].user, &got), 0);
		assert_string_equal(got.interface, "lo");
		stage_close(&e[1]);
	}
	assert_int_equal(count_fds(), fds);
}

/* So that the kernel's order of processes on an address is that of their tags. */
static void an_open_device_holds_its_addresses(void **state)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(4791),
	};
	struct nic_info info = stage_info("lo");
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct nic_user *u = nic_open(&info);

	(void)state;
	assert_non_null(u);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(nic_close(u), 0);
	close(fd);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void an_idle_device_costs_nothing(void **state)
{
	struct timespec nap = {0, 300000000};
	struct done done;
	struct end e[2];

	(void)state;
	stage_pair(e, AF_INET);
	struct sge piece = stage_piece(&e[0], 0, 16);

	assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)), 0);
	stage_one(e[0].cq);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(nic_cq_poll(e[0].cq, &done, 1), 0);
	uint64_t before = cpu_ns();

	nanosleep(&nap, NULL);
	/* One percent of a core. */
	assert_true(cpu_ns() - before < 3000000);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* What a child may do with what it inherited: nothing; and open its own. Returns an exit status. */
static int in_child(const struct end e[2], uint32_t fds)
{
	struct done done;
	struct nic_event event;
	uint32_t posted;
	struct nic_work work = {.op = {.code = ENGINE_RECV}};

	/* All of the device's are closed. */
	if (count_fds() != fds)
		return 1;
	if (nic_cq_poll(e[0].cq, &done, 1) != -ENODEV || nic_qp_free(e[0].qp) != -ENODEV ||
	    nic_post(e[0].qp, &work, 1, &posted) != -ENODEV || nic_close(e[0].user) != -ENODEV ||
	    nic_mr_free(e[0].mr) != -ENODEV || nic_event_get(e[0].user, &event) != -ENODEV ||
	    nic_pd_new(e[0].user) || nic_cq_arm(e[0].cq, false) != -ENODEV)
		return 2;
	struct end own[2];

	stage_pair(own, AF_INET);
	if (nic_qp_number(own[0].qp) >> 16 == nic_qp_number(e[0].qp) >> 16)
		return 3;
	struct sge piece = stage_piece(&own[0], 0, 5000);

	stage_fill(own[0].bytes, 5000, 6);
	if (stage_post(own[0].qp, stage_op(&own[1], ENGINE_WRITE, &piece)) ||
	    stage_one(own[0].cq).status != ENGINE_OK ||
	    memcmp(own[0].bytes, own[1].bytes, 5000) != 0)
		return 4;
	stage_close(&own[0]);
	stage_close(&own[1]);
	return 0;
}

static void a_forked_child_starts_anew(void **state)
{
	struct end e[2];
	int status;

	(void)state;
	uint32_t fds = count_fds();

	stage_pair(e, AF_INET);
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		alarm(10);
		_exit(in_child(e, fds));
	}
	/* The parent goes on, during the child's life and after. */
	struct sge piece = stage_piece(&e[0], 0, 5000);

	for (uint32_t i = 0; i < 20; i++) {
		stage_fill(e[0].bytes, 5000, i);
		assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)), 0);
		assert_int_equal(stage_one(e[0].cq).status, ENGINE_OK);
		assert_memory_equal(e[0].bytes, e[1].bytes, 5000);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)), 0);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_OK);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* Processes that are killed with a device open, one after another: more of them than there are
 * places for at one time. */
static void a_killed_process_leaves_nothing(void **state)
{
	struct nic_info info = stage_info("lo");

	(void)state;
	for (uint32_t i = 0; i < 260; i++) {
		int pipes[2], status;
		char is_open = 0;

		assert_int_equal(pipe(pipes), 0);
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0) {
			alarm(10);
			is_open = nic_open(&info) != NULL;
			if (write(pipes[1], &is_open, 1) == 1)
				pause();
			_exit(1);
		}
		close(pipes[1]);
		assert_int_equal(read(pipes[0], &is_open, 1), 1);
		close(pipes[0]);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_true(is_open);
	}
}

/* Writes for a while, with timeouts of 16 ms; returns how many there were, or 255. */
static int write_for_a_while(void)
{
	struct nic_info info = stage_info("lo");
	struct rc_counters count;
	struct end e[2];

	stage_open(&e[0], &info, NULL);
	stage_open(&e[1], &info, NULL);
	for (uint32_t i = 0; i < 2; i++) {
		struct engine_attr attr = stage_attr(nic_qp_number(e[1 - i].qp));

		attr.timeout = 12;
		stage_aim(e[i].qp, attr, &info, 0);
	}
	struct sge piece = stage_piece(&e[0], 0, 1u << 18);
	uint64_t end = stage_now() + 400000000;

	while (stage_now() < end) {
		if (stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)) ||
		    stage_one(e[0].cq).status != ENGINE_OK)
			return 255;
	}
	nic_counters(e[0].user, &count, sizeof count, NULL);
	return count.timeouts < 255 ? (int)count.timeouts : 254;
}

/* A process that was stopped for longer than its timeouts finds the answers waiting: it takes none
 * of them for silence. */
static void not_having_looked_is_not_silence(void **state)
{
	struct timespec run = {0, 20000000}, stop = {0, 50000000};
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		alarm(10);
		_exit(write_for_a_while());
	}
	for (uint32_t i = 0; i < 5; i++) {
		nanosleep(&run, NULL);
		kill(child, SIGSTOP);
		nanosleep(&stop, NULL);
		kill(child, SIGCONT);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* 0 takes the one away that the name has. */
static bool set_address(int fd, const char *name, uint32_t address)
{
	struct ifreq request = {.ifr_flags = 0};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};

	memcpy(request.ifr_name, name, strlen(name) + 1);
	memcpy(&request.ifr_addr, &in, sizeof in);
	return ioctl(fd, SIOCSIFADDR, &request) == 0;
}

/* Takes events until all of want (bits) were seen. */
static bool wait_events(struct nic_user *u, uint32_t want)
{
	struct pollfd p = {.fd = nic_event_fd(u), .events = POLLIN};
	uint32_t seen = 0;

	while ((seen & want) != want && poll(&p, 1, 1000) == 1) {
		struct nic_event event;

		if (nic_event_get(u, &event))
			return false;
		seen |= 1u << event.kind;
		nic_event_ack(u, &event);
	}
	return (seen & want) == want;
}

/* In a network namespace of its own: its loopback comes up, gets an address, goes down. */
static int in_namespace(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0)
		return 1;
	struct nic_info info = stage_info("lo"), now;
	struct nic_user *u = nic_open(&info);
	static const struct nic_gid none;

	if (!u)
		return 2;
	if (!set_address(fd, "lo:1", 0x0a090909) || !wait_events(u, 1u << NIC_EVENT_GID_CHANGE))
		return 3;
	if (nic_query(u, &now) || now.n_gids != info.n_gids + 1 ||
	    memcmp(now.gids, info.gids, info.n_gids * sizeof *info.gids) != 0)
		return 4;
	/* The first of IPv4 goes: its place is empty, and the others keep theirs. */
	info = now;
	memset(&info.gids[1], 0, sizeof info.gids[1]);
	if (!set_address(fd, "lo", 0) || !wait_events(u, 1u << NIC_EVENT_GID_CHANGE) ||
	    nic_query(u, &now) || memcmp(now.gids, info.gids, sizeof info.gids) != 0)
		return 10;
	if (!set_address(fd, "lo", 0x7f000001) || !wait_events(u, 1u << NIC_EVENT_GID_CHANGE))
		return 11;
	if (nic_query(u, &now) || now.gids[1].address.ss_family != AF_INET)
		return 12;
	if (!isolate_set_up(false) || !wait_events(u, 1u << NIC_EVENT_PORT_DOWN))
		return 5;
	/* IPv6's address went with the link: no other takes the first place. */
	if (nic_query(u, &now) || now.is_up || memcmp(&now.gids[0], &none, sizeof none) != 0)
		return 6;
	if (!set_address(fd, "lo:2", 0x0a090908) || !wait_events(u, 1u << NIC_EVENT_GID_CHANGE) ||
	    nic_query(u, &now) || memcmp(&now.gids[0], &none, sizeof none) != 0)
		return 13;
	if (!isolate_set_up(true) || !wait_events(u, 1u << NIC_EVENT_PORT_UP))
		return 7;
	if (nic_query(u, &now) || !now.is_up || now.gids[0].address.ss_family != AF_INET6)
		return 8;
	return nic_close(u) ? 9 : 0;
}

static void the_network_changes(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		alarm(10);
		if (!isolate())
			_exit(77);
		_exit(in_namespace());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_killed_process_leaves_nothing),
	cmocka_unit_test(loopback_is_a_device),
	cmocka_unit_test(the_environment_chooses_interfaces),
	cmocka_unit_test(the_environment_is_checked),
	cmocka_unit_test(two_users_share_a_device),
	cmocka_unit_test(an_open_device_holds_its_addresses),
	cmocka_unit_test(an_idle_device_costs_nothing),
	cmocka_unit_test(a_forked_child_starts_anew),
	cmocka_unit_test(not_having_looked_is_not_silence),
	cmocka_unit_test(the_network_changes),
};
ISOLATED_MAIN(cases)
