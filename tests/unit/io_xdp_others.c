/* io/xdp.h and others: what cannot be opened and why, sockets and programs of other processes,
 * missing privilege, processes that are killed or forked. Needs root. */
#include "xdp_pair.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void bad_configuration(void **state)
{
	struct xdp_cfg cfg = pair_cfg(1);
	struct driver *d = NULL;

	(void)state;
	need_privilege();
	cfg.rx_chunks = 300;
	assert_int_equal(xdp_new(&d, &cfg, pair_error, sizeof pair_error), -EINVAL);
	cfg = pair_cfg(1);
	cfg.queue = STEER_QUEUES;
	assert_int_equal(xdp_new(&d, &cfg, pair_error, sizeof pair_error), -EINVAL);
	cfg = pair_cfg(1);
	assert_int_equal(xdp_new(&d, &cfg, pair_error, sizeof pair_error), -ENODEV);
	assert_non_null(strstr(pair_error, "w0"));
	assert_int_equal(xdp_probe("w0", 1500, pair_error, sizeof pair_error), -ENODEV);
	assert_int_equal(xdp_probe("lo", 1500, pair_error, sizeof pair_error), -ENODEV);
	lay_cables(1, 1500);
	cfg.queue = 1;
	assert_int_equal(xdp_new(&d, &cfg, pair_error, sizeof pair_error), -EINVAL);
	assert_non_null(strstr(pair_error, "no queue 1"));
	assert_null(d);
}

/* A socket of another program without a program of its own. */
static void queue_busy(void **state)
{
	struct xdp_cfg cfg = pair_cfg(1);
	struct xsk_umem_config memory = {64, 64, XDP_CHUNK, 0, 0};
	struct xsk_socket_config config = {
		.rx_size = 64, .tx_size = 64, .libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD};
	struct xsk_ring_prod fill, tx;
	struct xsk_ring_cons done, rx;
	struct xsk_umem *umem = NULL;
	struct xsk_socket *other = NULL;
	struct driver *d = NULL;
	void *area;

	(void)state;
	need_privilege();
	lay_cables(1, 1500);
	area = aligned_alloc(XDP_CHUNK, (size_t)16 * XDP_CHUNK);
	assert_non_null(area);
	assert_int_equal(
		xsk_umem__create(&umem, area, (uint64_t)16 * XDP_CHUNK, &fill, &done, &memory), 0);
	assert_int_equal(xsk_socket__create(&other, "w0", 0, umem, &rx, &tx, &config), 0);
	assert_int_equal(xdp_new(&d, &cfg, pair_error, sizeof pair_error), -EBUSY);
	assert_non_null(strstr(pair_error, "queue 0 of w0"));
	assert_int_equal(xdp_probe("w0", 1500, pair_error, sizeof pair_error), -EBUSY);
	assert_non_null(strstr(pair_error, "queue 0 of w0"));
	xsk_socket__delete(other);
	xsk_umem__delete(umem);
	/* A moment later it is free, and nothing of ours was left on the interface. */
	assert_int_equal(xdp_new(&d, &cfg, pair_error, sizeof pair_error), 0);
	driver_free(d);
	free(area);
}

static void program_of_another(void **state)
{
	struct xdp_cfg cfg = pair_cfg(1);
	const struct steer_carrier by = {.port = 1, .protocol = CARRIER_UDP};
	struct bpf_object *program = NULL;
	struct driver *d = NULL;

	(void)state;
	need_privilege();
	lay_cables(1, 9000);
	for (int native = 0; native < 2; native++) {
		bool is_native = native;
		int fd;

		assert_int_equal(xdp_program_load(&program, &by, NULL, 0), 0);
		fd = xdp_program_attach(program, if_nametoindex("w0"), &is_native, NULL, 0);
		assert_true(fd >= 0);
		assert_int_equal(is_native, native);
		assert_int_equal(xdp_new(&d, &cfg, pair_error, sizeof pair_error), -EBUSY);
		assert_non_null(strstr(pair_error, "another XDP program is on w0"));
		assert_int_equal(xdp_probe("w0", 9000, pair_error, sizeof pair_error), -EBUSY);
		assert_non_null(strstr(pair_error, "another XDP program is on w0"));
		close(fd);
		bpf_object__close(program);
	}
	assert_int_equal(xdp_probe("w0", 9000, pair_error, sizeof pair_error), 0);
	assert_string_equal(pair_error, "");
}

/* An interface without XDP of its own, and which does not tell how many queues it has. */
static void no_native_xdp(void **state)
{
	struct xdp_cfg cfg = pair_cfg(1);
	struct driver *d = NULL;
	char text[128];

	(void)state;
	need_privilege();
	if (!veth_ip(&cables, 0, "link add w0 type bridge\n")) {
		print_message("skipped: no bridge can be made here\n");
		skip();
	}
	assert_in_range(xdp_probe("w0", 1500, pair_error, sizeof pair_error), 0, 1);
	assert_int_equal(xdp_new(&d, &cfg, pair_error, sizeof pair_error), 0);
	xdp_port_text(d, 0, text, sizeof text);
	assert_non_null(strstr(text, "generic, copied"));
	assert_non_null(strstr(text, "1 queue"));
	driver_free(d);
}

/* The same interface twice: the second is told, the first goes on. */
static void opened_twice(void **state)
{
	struct xdp_cfg cfg = pair_cfg(1);
	struct driver *d = NULL;

	(void)state;
	need_privilege();
	open_pair(1, 9000, false);
	assert_true(veth_enter(&cables, 1));
	assert_int_equal(xdp_new(&d, &cfg, pair_error, sizeof pair_error), -EBUSY);
	warm_up(0);
	assert_int_equal(carry(0, 20, 4096, false), 20);
	close_pair();
}

static void not_permitted(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	need_privilege();
	lay_cables(1, 1500);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct xdp_cfg cfg = pair_cfg(1);
		struct driver *d;
		bool is_right = setresuid(65534, 65534, 65534) == 0 &&
				xdp_probe("w0", 1500, pair_error, sizeof pair_error) == -EPERM &&
				strstr(pair_error, "CAP_NET_RAW") &&
				xdp_new(&d, &cfg, pair_error, sizeof pair_error) == -EPERM &&
				strstr(pair_error, "CAP_BPF");

		_exit(is_right ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A process that is killed leaves neither program nor socket. */
static void killed(void **state)
{
	struct xdp_cfg cfg = pair_cfg(1);
	int ready[2];
	char byte;
	pid_t child;

	(void)state;
	need_privilege();
	lay_cables(1, 9000);
	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		open_end(1, &cfg, false);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_true(veth_enter(&cables, 1));
	assert_int_equal(xdp_probe("w0", 9000, pair_error, sizeof pair_error), -EBUSY);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	open_end(0, &cfg, false);
	open_end(1, &cfg, false);
	warm_up(0);
	assert_int_equal(carry(0, 20, 4096, false), 20);
	close_pair();
}

/* What a child frees is still the parent's. */
static void forked(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	need_privilege();
	open_pair(2, 9000, false);
	warm_up(0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		driver_free(ends[0]);
		driver_free(ends[1]);
		_exit(0);
	}
	assert_int_equal(carry(0, 40, 4096, false), 40);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(carry(0, 40, 4096, false), 40);
	assert_int_equal(carry(1, 40, 1000, false), 40);
	/* And wakes who sleeps. */
	assert_true(is_woken(0));
	assert_true(is_woken(1));
	close_pair();
}

/* While a child that was forked lives on with copies of all descriptors, closing still frees. */
static void forked_and_kept(void **state)
{
	struct xdp_cfg cfg = pair_cfg(1);
	pid_t child;

	(void)state;
	need_privilege();
	open_pair(1, 9000, false);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		/* Whatever becomes of the test. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	close_end(0);
	close_end(1);
	/* Its sockets hold the queues, which is said; its program holds nothing. */
	assert_int_equal(xdp_new(&ends[0], &cfg, pair_error, sizeof pair_error), -EBUSY);
	assert_non_null(strstr(pair_error, "queue 0"));
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	take_cables(1);
}

static const struct CMUnitTest cases[] = {
	XDP_PAIR_CASE(bad_configuration),
	XDP_PAIR_CASE(queue_busy),
	XDP_PAIR_CASE(program_of_another),
	XDP_PAIR_CASE(no_native_xdp),
	XDP_PAIR_CASE(opened_twice),
	XDP_PAIR_CASE(not_permitted),
	XDP_PAIR_CASE(killed),
	XDP_PAIR_CASE(forked),
	XDP_PAIR_CASE(forked_and_kept),
};
XDP_PAIR_MAIN(cases)
