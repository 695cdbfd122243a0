/* nic/nic.h: interfaces as devices, with several ports and addresses elsewhere, and news of them.
 * Each case makes the interfaces it needs in a network namespace of its own. */
#include "isolate.h"

#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nic/inside.h"

/* Runs ip with words; whether it succeeded. */
static bool ip(const char *words)
{
	char text[256], *argv[24] = {NULL}, *rest = NULL;
	int n = 0, status = 0;
	pid_t child;

	snprintf(text, sizeof text, "ip %s", words);
	for (char *at = strtok_r(text, " ", &rest); at && n < 23; at = strtok_r(NULL, " ", &rest))
		argv[n++] = at;
	if (posix_spawnp(&child, "ip", NULL, NULL, argv, environ))
		return false;
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* The kernel tells of a carrier when it finds the time. */
static void wait_for_carrier(const char *interface)
{
	struct ifreq request = {.ifr_flags = 0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
	for (int i = 0; i < 300 && !(request.ifr_flags & IFF_RUNNING); i++) {
		if (ioctl(fd, SIOCGIFFLAGS, &request))
			break;
		usleep(request.ifr_flags & IFF_RUNNING ? 0 : 10000);
	}
	close(fd);
}

/* Two pairs of interfaces, va and vb ours; vb has no address. What the last case left goes with its
 * namespace. */
static int set_up(void **state)
{
	(void)state;
	if (!isolate() || !ip("link add va type veth peer name pa") ||
	    !ip("link add vb type veth peer name pb"))
		return 0;
	ip("link set va mtu 9000 addrgenmode none");
	ip("link set vb addrgenmode none");
	ip("link set pa addrgenmode none");
	ip("link set pb addrgenmode none");
	ip("link set va up");
	ip("link set pa up");
	ip("link set vb up");
	ip("link set pb up");
	ip("addr add 10.0.0.1/24 dev va");
	ip("addr add 2001:db8::1/64 dev va nodad");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unsetenv("WEFT_INTERFACES");
	unsetenv("WEFT_DRIVER");
	setenv("WEFT_CONFIG", "/dev/null", 1);
	return 0;
}

static void need_interfaces(void)
{
	if (if_nametoindex("va") && if_nametoindex("vb"))
		return;
	print_message("no network namespace, or no `ip` to make interfaces with\n");
	skip();
}

/* The device of that name; its list is malloced. */
static struct nic_info find(const char *name)
{
	struct nic_info *list = NULL, found = {.n_ports = 0};
	int n = nic_list(&list);

	if (n < 0)
		fail_msg("%s", nic_error());
	for (int i = 0; i < n; i++) {
		if (!strcmp(list[i].name, name))
			found = list[i];
	}
	free(list);
	if (!found.n_ports)
		fail_msg("no device %s", name);
	return found;
}

static bool has_address(const struct nic_info *info, int family, const char *text)
{
	uint8_t raw[16] = {[10] = 0xff, [11] = 0xff};

	assert_int_equal(inet_pton(family, text, family == AF_INET ? raw + 12 : raw), 1);
	for (uint32_t i = 0; i < info->n_gids; i++) {
		if (!memcmp(info->gids[i].raw, raw, 16))
			return true;
	}
	return false;
}

static char path[] = "/tmp/weft-nic-list-XXXXXX";

/* With a file of these devices. */
static void configure(const char *text)
{
	snprintf(path + strlen(path) - 6, 7, "XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	setenv("WEFT_CONFIG", path, 1);
}

static void unconfigure(void)
{
	unlink(path);
	setenv("WEFT_CONFIG", "/dev/null", 1);
}

/* vb has no address, and is none by itself. */
static void each_interface_is_one_of_each_transport(void **state)
{
	static const char *const interfaces[] = {"lo", "va"};
	struct nic_info *list = NULL;

	(void)state;
	need_interfaces();
	wait_for_carrier("va");
	assert_int_equal(nic_list(&list), 2 * TRANSPORTS);
	for (uint32_t i = 0; i < 2 * TRANSPORTS; i++) {
		char name[32];

		snprintf(name, sizeof name, "weft_%s%u", transport_names[i / 2], i % 2);
		assert_string_equal(list[i].name, name);
		assert_string_equal(list[i].interface, interfaces[i % 2]);
		assert_ptr_equal(list[i].setup.transport, transports[i / 2]);
		assert_int_equal(list[i].n_ports, 1);
		assert_string_equal(list[i].why, "udp: the default");
	}
	assert_int_equal(list[1].mtu, 9000);
	assert_int_equal(list[1].ports[0].mtu, 9000);
	assert_int_equal(list[1].ports[0].ifindex, if_nametoindex("va"));
	assert_true(list[1].ports[0].is_up && list[1].is_up);
	assert_int_equal(list[1].n_gids, 2);
	assert_true(list[1].gids[0].address.ss_family == AF_INET6);
	assert_true(list[1].gids[1].address.ss_family == AF_INET);
	free(list);
}

static void interfaces_are_joined(void **state)
{
	(void)state;
	need_interfaces();
	setenv("WEFT_INTERFACES", "lo,vb+va", 1);
	struct nic_info *list = NULL, *d = NULL;
	int n = nic_list(&list);
	uint32_t more = 0;

	/* Of lo every transport has one, of several ports those that can. */
	for (uint32_t i = 0; i < TRANSPORTS; i++)
		more += transports[i]->ports_max > 1;
	assert_int_equal(n, TRANSPORTS + more);
	for (int i = 0; i < n; i++)
		if (!strcmp(list[i].name, "weft_mrc1"))
			d = &list[i];
	if (!d) {
		fail_msg("there is no weft_mrc1");
		return;
	}
	assert_int_equal(d->n_ports, 2);
	assert_string_equal(d->ports[0].interface, "vb");
	assert_string_equal(d->ports[1].interface, "va");
	assert_string_equal(d->interface, "vb");
	assert_int_equal(d->mtu, 1500); /* the least */
	assert_int_equal(d->setup.driver, CONFIG_RAW);
	assert_string_equal(d->why, "raw: it has several ports, and udp has one");
	assert_int_equal(d->n_gids, 2);
	assert_true(has_address(d, AF_INET, "10.0.0.1"));
	assert_true(has_address(d, AF_INET6, "2001:db8::1"));
	free(list);
}

static void check_refused(const char *interfaces, int error, const char *part)
{
	struct nic_info *list = NULL;

	setenv("WEFT_INTERFACES", interfaces, 1);
	assert_int_equal(nic_list(&list), -error);
	assert_null(list);
	if (!strstr(nic_error(), part))
		fail_msg("%s: %s", interfaces, nic_error());
}

static void lists_of_interfaces_are_checked(void **state)
{
	(void)state;
	need_interfaces();
	check_refused("va,va", ENODEV, "va stands there twice");
	check_refused("va+va", ENODEV, "va stands there twice");
	check_refused("lo,va+vb,va", ENODEV, "va stands there twice");
	check_refused("vb", ENODEV, "interface vb has no address");
	check_refused("vb+pb", ENODEV, "none of vb and those joined to it has an address");
	check_refused("va+vx", ENODEV, "there is no interface 'vx'");
	check_refused("va+", ENODEV, "there is no interface ''");
	setenv("WEFT_DRIVER", "udp", 1);
	check_refused("va+vb", EINVAL, "WEFT_DRIVER: weft_mrc0: it has several ports");
	setenv("WEFT_DRIVER", "xdp", 1);
	setenv("WEFT_INTERFACES", ",va,", 1);
	struct nic_info d = find("weft_rc0");

	assert_string_equal(d.why, "xdp: asked for by WEFT_DRIVER");
}

/* A host's own address in a fabric of SRv6 is on lo. */
static void addresses_may_be_elsewhere(void **state)
{
	(void)state;
	need_interfaces();
	ip("addr add fc00:1::1/128 dev lo nodad");
	ip("addr add 192.0.2.9/32 dev lo");
	configure("[a]\ntransport = mrc\nports = va vb\naddresses = lo\n"
		  "[b]\ntransport = mrc\nports = vb\naddresses = fc00:1::1 fc00:1::2\n"
		  "[c]\ntransport = mrc\nports = va vb\n");
	struct nic_info d = find("a");

	assert_int_equal(d.n_gids, 4);
	assert_true(has_address(&d, AF_INET6, "fc00:1::1"));
	assert_true(has_address(&d, AF_INET, "192.0.2.9"));
	assert_true(has_address(&d, AF_INET, "10.0.0.1"));
	assert_false(has_address(&d, AF_INET, "127.0.0.1"));
	assert_false(has_address(&d, AF_INET6, "::1"));
	/* An IPv6 address, then those of IPv4, whichever interface has them. */
	assert_true(d.gids[0].address.ss_family == AF_INET6);
	assert_true(d.gids[1].address.ss_family == AF_INET);
	assert_true(d.gids[2].address.ss_family == AF_INET);
	assert_true(d.gids[3].address.ss_family == AF_INET6);
	d = find("b");
	assert_int_equal(d.n_gids, 1);
	assert_true(has_address(&d, AF_INET6, "fc00:1::1"));
	d = find("c");
	assert_int_equal(d.n_gids, 2);
	unconfigure();
}

/* The addresses of a device in their places, as text: "-" where nothing stands. */
static void check_places(const struct nic_info *d, const char *want)
{
	char text[INET6_ADDRSTRLEN], all[512] = "";

	for (uint32_t i = 0; i < d->n_gids; i++) {
		const struct nic_gid *gid = &d->gids[i];
		bool is_v4 = gid->address.ss_family == AF_INET;

		if (gid->address.ss_family == AF_UNSPEC)
			snprintf(text, sizeof text, "-");
		else
			inet_ntop(is_v4 ? AF_INET : AF_INET6, gid->raw + (is_v4 ? 12 : 0), text,
				  sizeof text);
		strncat(all, i ? " " : "", sizeof all - strlen(all) - 1);
		strncat(all, text, sizeof all - strlen(all) - 1);
	}
	assert_string_equal(all, want);
}

/* Where programs that were written for NICs look: the address of the link, IPv4, the rest. */
static void addresses_stand_where_nics_have_them(void **state)
{
	(void)state;
	need_interfaces();
	setenv("WEFT_INTERFACES", "va", 1);
	ip("addr add 2001:db8::2/64 dev va nodad");
	ip("addr add 10.0.0.2/24 dev va");
	struct nic_info d = find("weft_rc0");

	check_places(&d, "2001:db8::1 10.0.0.1 10.0.0.2 2001:db8::2");
	ip("addr add fe80::1/64 dev va nodad");
	d = find("weft_rc0");
	check_places(&d, "fe80::1 10.0.0.1 10.0.0.2 2001:db8::1 2001:db8::2");
	setenv("WEFT_INTERFACES", "va+vb", 1);
	ip("addr add fe80::2/64 dev vb nodad");
	ip("addr add 10.0.1.1/24 dev vb");
	d = find("weft_mrc0");
	check_places(&d, "fe80::1 10.0.0.1 10.0.0.2 10.0.1.1 2001:db8::1 2001:db8::2 fe80::2");
	/* Without IPv6 the first place is empty, and IPv4 where it always is. */
	setenv("WEFT_INTERFACES", "vb", 1);
	ip("-6 addr flush dev vb");
	d = find("weft_rc0");
	check_places(&d, "- 10.0.1.1");
}

/* Numbers that programs have stay right: who goes leaves a gap, who comes takes one, and nobody but
 * IPv6 the first. */
static void places_are_kept(void **state)
{
	(void)state;
	need_interfaces();
	setenv("WEFT_INTERFACES", "va", 1);
	ip("addr add fe80::1/64 dev va nodad");
	ip("addr add 10.0.0.2/24 dev va");
	struct nic_info d = find("weft_rc0");

	check_places(&d, "fe80::1 10.0.0.1 10.0.0.2 2001:db8::1");
	ip("addr del 10.0.0.2/24 dev va");
	ip("addr del fe80::1/64 dev va");
	assert_int_equal(nic_info_refresh(&d), 0);
	check_places(&d, "- 10.0.0.1 - 2001:db8::1");
	ip("addr add 10.0.0.3/24 dev va");
	ip("addr add 10.0.0.4/24 dev va");
	assert_int_equal(nic_info_refresh(&d), 0);
	check_places(&d, "- 10.0.0.1 10.0.0.3 2001:db8::1 10.0.0.4");
	ip("addr add fe80::1/64 dev va nodad");
	assert_int_equal(nic_info_refresh(&d), 0);
	check_places(&d, "fe80::1 10.0.0.1 10.0.0.3 2001:db8::1 10.0.0.4");
}

static void a_missing_port_is_shown(void **state)
{
	(void)state;
	need_interfaces();
	wait_for_carrier("va");
	configure("[a]\ntransport = mrc\nports = gone va\n[b]\nports = gone\n");
	struct nic_info d = find("a");

	assert_int_equal(d.n_ports, 2);
	assert_string_equal(d.ports[0].interface, "gone");
	assert_int_equal(d.ports[0].ifindex, 0);
	assert_false(d.ports[0].is_up);
	assert_true(d.ports[1].is_up && d.is_up);
	assert_string_equal(d.interface, "va");
	assert_int_equal(d.ifindex, if_nametoindex("va"));
	assert_int_equal(d.mtu, 9000);
	d = find("b");
	assert_false(d.is_up);
	assert_int_equal(d.n_gids, 0);
	assert_int_equal(nic_info_refresh(&d), -ENODEV);
	unconfigure();
}

static void refresh_follows_every_port(void **state)
{
	(void)state;
	need_interfaces();
	wait_for_carrier("va");
	wait_for_carrier("vb");
	setenv("WEFT_INTERFACES", "va+vb", 1);
	struct nic_info d = find("weft_mrc0"), before;
	uint32_t number = d.ports[1].ifindex;

	assert_int_equal(d.mtu, 1500); /* that of the second */
	ip("link set vb down");
	assert_int_equal(nic_info_refresh(&d), 0);
	assert_true(d.is_up && d.ports[0].is_up);
	assert_false(d.ports[1].is_up);
	ip("link set va mtu 1400");
	ip("addr add 10.0.1.1/24 dev vb");
	assert_int_equal(nic_info_refresh(&d), 0);
	assert_int_equal(d.mtu, 1400);
	assert_int_equal(d.n_gids, 3);
	assert_true(has_address(&d, AF_INET, "10.0.1.1"));
	ip("link set va down");
	assert_int_equal(nic_info_refresh(&d), 0);
	assert_false(d.is_up);
	/* Removed, and there again under its name with another number. */
	assert_true(ip("link del vb"));
	assert_int_equal(nic_info_refresh(&d), 0);
	assert_int_equal(d.ports[1].ifindex, 0);
	assert_string_equal(d.ports[1].interface, "vb");
	assert_false(has_address(&d, AF_INET, "10.0.1.1"));
	assert_true(ip("link add vb type veth peer name pb"));
	assert_int_equal(nic_info_refresh(&d), 0);
	assert_int_not_equal(d.ports[1].ifindex, 0);
	assert_int_not_equal(d.ports[1].ifindex, number);
	before = d;
	ip("addr flush dev va");
	assert_int_equal(nic_info_refresh(&d), -ENODEV);
	assert_string_equal(nic_error(), "weft_mrc0: va has no address");
	assert_memory_equal(&d, &before, sizeof d);
	ip("link del va");
	ip("link del vb");
	assert_int_equal(nic_info_refresh(&d), -ENODEV);
	assert_memory_equal(&d, &before, sizeof d);
}

/* Whether news came within a second; more of them may follow. */
static bool has_news_soon(int fd, const struct nic_info *info)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (int i = 0; i < 20; i++) {
		if (poll(&p, 1, 50) > 0 && watch_has_news(fd, info))
			return true;
	}
	return false;
}

/* What is still to be learnt of things long done. */
static void settle(int fd, const struct nic_info *info)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (int i = 0; i < 20 && poll(&p, 1, 20) > 0; i++)
		watch_has_news(fd, info);
}

static void news_are_those_of_ports(void **state)
{
	struct pollfd p = {.events = POLLIN};

	(void)state;
	need_interfaces();
	setenv("WEFT_INTERFACES", "va+vb", 1);
	struct nic_info d = find("weft_mrc0");

	p.fd = watch_open();
	assert_true(p.fd >= 0);
	settle(p.fd, &d);
	ip("addr add 10.9.9.9/32 dev lo");
	ip("link set lo mtu 60000");
	assert_int_equal(poll(&p, 1, 1000), 1);
	assert_false(watch_has_news(p.fd, &d));
	ip("addr add 10.0.1.1/24 dev vb");
	assert_true(has_news_soon(p.fd, &d));
	settle(p.fd, &d);
	ip("link set va mtu 1400");
	assert_true(has_news_soon(p.fd, &d));
	/* By name: its number is not known yet. */
	ip("link del vb");
	assert_true(has_news_soon(p.fd, &d));
	assert_int_equal(nic_info_refresh(&d), 0);
	settle(p.fd, &d);
	ip("link add vb type veth peer name pb");
	assert_true(has_news_soon(p.fd, &d));
	settle(p.fd, &d);
	d.setup.has_lo = true;
	ip("addr add 10.9.9.8/32 dev lo");
	assert_true(has_news_soon(p.fd, &d));
	close(p.fd);
}

static void drivers_are_probed(void **state)
{
	char why[CONFIG_WHY_MAX] = "";

	(void)state;
	need_interfaces();
	assert_int_equal(nic_probe(CONFIG_UDP, "va", why, sizeof why), 0);
	assert_string_equal(why, "needs no privilege");
	assert_int_equal(nic_probe(CONFIG_RAW, "va", why, sizeof why), 0);
	assert_string_equal(why, "packet sockets are permitted");
	assert_int_equal(nic_probe(CONFIG_RAW, "lo", why, sizeof why), 0);
	ip("tuntap add dev tun7 mode tun");
	if (if_nametoindex("tun7")) {
		assert_int_equal(nic_probe(CONFIG_RAW, "tun7", why, sizeof why), -EOPNOTSUPP);
		assert_string_equal(why, "tun7 is neither an Ethernet interface nor lo: use the "
					 "driver udp");
	}
	for (uint32_t driver = 0; driver < CONFIG_DRIVERS; driver++) {
		int r = nic_probe((enum config_driver)driver, "no-such-if0", why, sizeof why);

		assert_int_equal(r, -ENODEV);
		assert_string_equal(why, "no interface no-such-if0: No such device");
	}

	setenv("WEFT_DRIVER", "xdp", 1);
	setenv("WEFT_INTERFACES", "lo", 1);
	struct nic_info d = find("weft_rc0");

	assert_int_equal(d.setup.driver, CONFIG_XDP);
	nic_settle(&d);
	assert_int_equal(d.setup.driver, CONFIG_RAW);
	assert_int_equal(strncmp(d.why, "raw: xdp was asked for, but ", 28), 0);
	assert_true(strlen(d.why) > 40);
	/* One that is not there speaks against none. */
	configure("[a]\nports = gone\ndriver = xdp\n");
	unsetenv("WEFT_INTERFACES");
	unsetenv("WEFT_DRIVER");
	d = find("a");
	nic_settle(&d);
	assert_int_equal(d.setup.driver, CONFIG_XDP);
	unconfigure();
}

static void pmtus_leave_room_for_headers(void **state)
{
	struct config_setup s = {.transport = &transport_rc};

	(void)state;
	assert_int_equal(nic_pmtu(&s, 4096 + 40 + 8 + 40 + 4), 4096);
	assert_int_equal(nic_pmtu(&s, 4096 + 40 + 8 + 40 + 3), 2048);
	assert_int_equal(nic_pmtu(&s, 256 + 92), 256);
	assert_int_equal(nic_pmtu(&s, 256 + 91), 0);
	s.transport = &transport_mrc;
	assert_int_equal(nic_pmtu(&s, 4096 + 100), 4096);
	assert_int_equal(nic_pmtu(&s, 4096 + 99), 2048);
	s.evs = (struct config_evs){.is_generated = true, .encoding = PATH_STRUCTURED};
	assert_int_equal(nic_pmtu(&s, 4096 + 100), 4096);
	s.evs.encoding = PATH_USID;
	assert_int_equal(nic_pmtu(&s, 4096 + 140), 4096);
	assert_int_equal(nic_pmtu(&s, 4096 + 139), 2048);
	s.evs.encoding = PATH_USID_SRH;
	assert_int_equal(nic_pmtu(&s, 4096 + 164), 4096);
	assert_int_equal(nic_pmtu(&s, 4096 + 163), 2048);
}

#define WITH_INTERFACES(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static const struct CMUnitTest cases[] = {
	WITH_INTERFACES(each_interface_is_one_of_each_transport),
	WITH_INTERFACES(interfaces_are_joined),
	WITH_INTERFACES(lists_of_interfaces_are_checked),
	WITH_INTERFACES(addresses_may_be_elsewhere),
	WITH_INTERFACES(addresses_stand_where_nics_have_them),
	WITH_INTERFACES(places_are_kept),
	WITH_INTERFACES(a_missing_port_is_shown),
	WITH_INTERFACES(refresh_follows_every_port),
	WITH_INTERFACES(news_are_those_of_ports),
	WITH_INTERFACES(drivers_are_probed),
	cmocka_unit_test(pmtus_leave_room_for_headers),
};

ISOLATED_MAIN(cases)
