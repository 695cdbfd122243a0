/* The udp driver: what it is told to open, and what it says of that. */
#include "isolate.h"

#include "check.h"
#include "udp_pair.h"

#include <errno.h>

static void assert_refused(struct driver *u, const char *at, int number, const char *why)
{
	struct sockaddr_storage s = address(at, 0);
	uint32_t handle;

	assert_int_equal(driver_bind(u, (struct sockaddr *)&s, &handle, error, sizeof error),
			 number);
	if (!strstr(error, why))
		fail_msg("\"%s\" is not in: %s", why, error);
}

static void addresses_are_refused_with_a_sentence(void **state)
{
	struct udp_cfg cfg = {.max_locals = 2}, low = {.carrier = &carrier_roce, .port = 7};
	struct sockaddr_storage s;
	struct driver *u;
	int fd;

	(void)state;
	open_pair(&cfg, &cfg, false);
	assert_refused(a, "192.0.2.1", -EADDRNOTAVAIL, "not an address of this machine");
	assert_refused(a, "2001:db8::1", -EADDRNOTAVAIL, "not an address of this machine");
	assert_refused(a, "0.0.0.0", -EINVAL, "single address");
	assert_refused(a, "::", -EINVAL, "single address");
	assert_refused(a, "224.0.0.1", -EINVAL, "single address");
	assert_refused(a, "::ffff:127.0.0.1", -EINVAL, "single address");
	/* A socket that does not share. */
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	s = address("127.0.0.8", port);
	assert_int_equal(bind(fd, (struct sockaddr *)&s, length_of(&s)), 0);
	assert_refused(a, "127.0.0.8", -EADDRINUSE, "in use by another user");
	close(fd);
	open_at(a, "127.0.0.8");
	assert_refused(a, "127.0.0.10", -ENOSPC, "max_locals");
	close_pair();
	if (geteuid() == 0)
		return;
	assert_int_equal(udp_new(&u, &low, error, sizeof error), 0);
	assert_refused(u, "127.0.0.2", -EACCES, "not permitted");
	driver_free(u);
}

static void configurations_are_checked(void **state)
{
	static const struct udp_cfg wrong[] = {
		{.carrier = &carrier_roce, .sources = 65},
		{.carrier = &carrier_roce, .max_peers = (1u << 24) + 1},
		{.carrier = &carrier_roce, .max_locals = 4097},
		{.carrier = &carrier_roce, .dscp = {0, 64}},
		{.port = 4791},
	};
	struct driver *u = NULL;

	(void)state;
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		assert_int_equal(udp_new(&u, &wrong[i], error, sizeof error), -EINVAL);
	assert_null(u);
	assert_int_equal(udp_new(&u, &wrong[0], NULL, 0), -EINVAL);
}

static void the_path_says_which_pmtu_fits(void **state)
{
	struct udp_cfg cfg = {0};

	(void)state;
	open_pair(&cfg, &cfg, false);
	assert_int_equal(driver_pmtu(a, a_local, b_of_a, error, sizeof error), 4096);
	/* From a loopback address no other machine is reached. */
	assert_int_equal(driver_pmtu(a, a_local, peer_of(a, "192.0.2.9"), error, sizeof error), 0);
	assert_non_null(strstr(error, "ip route get"));
	assert_int_equal(driver_pmtu(a, a_local, peer_of(a, "::1"), error, sizeof error), 0);
	assert_non_null(strstr(error, "not of one kind"));
	close_pair();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(addresses_are_refused_with_a_sentence),
	cmocka_unit_test(configurations_are_checked),
	cmocka_unit_test(the_path_says_which_pmtu_fits),
};

ISOLATED_MAIN(cases)
