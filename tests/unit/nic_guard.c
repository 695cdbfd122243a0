/* Whose packets a device's queue pairs take: forged packets on loopback, by a plain socket, and the
 * counter that each ends in. */
#include "nic_stage.h"

#include <arpa/inet.h>
#include <time.h>
#include <unistd.h>

#include "nic/inside.h"
#include "wire/mrc.h"

#define ROCE_PORT 4791u
#define BYTES     64u

static struct driver_counters counters(const struct end *e)
{
	struct device *d = e->user->device;

	device_enter(d);
	struct driver_counters now = device_driver_counters(d);

	device_leave(d);
	return now;
}

/* A packet that has nothing but a base header with an RC opcode, and a wrong ICRC. */
static void forge(const char *from, uint32_t qp)
{
	struct sockaddr_in source = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
	uint8_t bytes[BYTES] = {
		4, 0, 0xff, 0xff, 0, (uint8_t)(qp >> 16), (uint8_t)(qp >> 8), (uint8_t)qp};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	inet_pton(AF_INET, from, &source.sin_addr);
	inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
	to.sin_port = htons(ROCE_PORT);
	assert_int_equal(bind(fd, (struct sockaddr *)&source, sizeof source), 0);
	assert_int_equal(sendto(fd, bytes, BYTES, 0, (struct sockaddr *)&to, sizeof to), BYTES);
	close(fd);
}

/* Forges one, and waits until it was dropped. */
static struct driver_counters after(struct end *e, const char *from, uint32_t qp)
{
	struct driver_counters before = counters(e), now = before;
	const struct timespec ms = {.tv_nsec = 1000000};

	forge(from, qp);
	for (uint32_t i = 0; i < 5000 && now.rx == before.rx; i++) {
		nanosleep(&ms, NULL);
		now = counters(e);
	}
	assert_int_equal(now.rx, before.rx + 1);
	return now;
}

static bool expects(const struct device *d, uint32_t qp, uint32_t peer, uint32_t len)
{
	return driver_guard_expects(&device_shard(d, 0)->io->guard,
				    &(struct driver_call){qp, peer, len});
}

static void who_knows_too_little_is_dropped_unread(void **state)
{
	struct nic_info info = stage_info("lo");
	struct driver_counters now;
	struct end e[2];

	(void)state;
	stage_pair(e, AF_INET);
	uint32_t number = nic_qp_number(e[0].qp), other = number ^ 1;
	struct nic_qp *idle = stage_qp(&e[0], NULL);

	while (other == nic_qp_number(e[1].qp) || other == nic_qp_number(idle))
		other ^= other % 64 + 2;
	now = after(&e[0], "127.0.0.1", other);
	assert_int_equal(now.drop_stranger, 1);
	now = after(&e[0], "127.0.0.9", number);
	assert_int_equal(now.drop_stranger, 2);
	/* One that has no peer yet expects nobody, not even who has no handle. */
	now = after(&e[0], "127.0.0.9", nic_qp_number(idle));
	assert_int_equal(now.drop_stranger, 3);
	now = after(&e[0], "127.0.0.1", nic_qp_number(idle));
	assert_int_equal(now.drop_stranger, 4);
	assert_int_equal(now.drop_icrc, 0);
	/* Drivers that nobody shares have no other look at the upper bits. */
	assert_true(expects(e[0].user->device, number, e[0].qp->addrs.peer, BYTES));
	assert_false(expects(e[0].user->device, number ^ 0x10000, e[0].qp->addrs.peer, BYTES));
	/* In the peer's name it is read, and its ICRC is wrong. */
	now = after(&e[0], "127.0.0.1", number);
	assert_int_equal(now.drop_icrc, 1);
	assert_int_equal(now.drop_stranger, 4);
	stage_aim(idle, stage_attr(number), &info, stage_gid(&info, AF_INET));
	now = after(&e[0], "127.0.0.1", nic_qp_number(idle));
	assert_int_equal(now.drop_icrc, 2);
	assert_int_equal(nic_qp_free(idle), 0);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* Questions of MRC are for a number that is no queue pair's, and from anybody; they are short. */
static void anybody_may_ask_an_endpoint(void **state)
{
	const struct nic_info rc = stage_device(&transport_rc, "lo"),
			      mrc = stage_device(&transport_mrc, "lo");
	struct nic_user *users[2] = {nic_open(&rc), nic_open(&mrc)};

	(void)state;
	if (!users[0] || !users[1]) {
		fail_msg("%s", nic_error());
		return;
	}
	for (uint32_t qp = 0; qp < 4; qp++) {
		assert_false(expects(users[0]->device, qp, DRIVER_NO_HANDLE, 32));
		assert_int_equal(expects(users[1]->device, qp, DRIVER_NO_HANDLE, 52),
				 qp == MRC_ENDPOINT_QP);
		assert_false(expects(users[1]->device, qp, DRIVER_NO_HANDLE, 53));
	}
	nic_close(users[0]);
	nic_close(users[1]);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(who_knows_too_little_is_dropped_unread),
	cmocka_unit_test(anybody_may_ask_an_endpoint),
};

ISOLATED_MAIN(cases)
