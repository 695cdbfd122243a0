/* io/udp.h among others: packets that are wrong, processes that share an address, and users that do
 * not. Loopback only; needs no privilege, but without it there are no other users. */
#include "isolate.h"

#include "check.h"
#include "udp_others.h"
#include "udp_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "wire/icrc.h"

/* ---- packets by hand, from a plain socket ---------------------------------------------------- */

static uint16_t port_of(int fd)
{
	struct sockaddr_storage s;
	struct sockaddr_in v4;
	socklen_t len = sizeof s;

	assert_int_equal(getsockname(fd, (struct sockaddr *)&s, &len), 0);
	memcpy(&v4, &s, sizeof v4); /* both kinds have the port at one place */
	return ntohs(v4.sin_port);
}

/* The ICRC of payload as RoCEv2 defines it, from headers written out in full: nothing of the
 * driver's code. The last four of the len bytes are its place. */
static void close_packet(int fd, const char *from, const char *to, uint16_t id, uint8_t *payload,
			 uint32_t len)
{
	struct sockaddr_storage s = address(from, 0), d = address(to, 0);
	bool is_v4 = s.ss_family == AF_INET;
	uint32_t ip_len = is_v4 ? 20 : 40;
	uint8_t ip[BYTES] = {is_v4 ? 0x45 : 0x60};

	if (is_v4) {
		put_be16(ip + 2, (uint16_t)(20 + 8 + len));
		put_be16(ip + 4, id);
		ip[6] = 0x40;
		ip[9] = 17;
		memcpy(ip + 12, (uint8_t *)&s + offsetof(struct sockaddr_in, sin_addr), 4);
		memcpy(ip + 16, (uint8_t *)&d + offsetof(struct sockaddr_in, sin_addr), 4);
	} else {
		put_be16(ip + 4, (uint16_t)(8 + len));
		ip[6] = 17;
		memcpy(ip + 8, (uint8_t *)&s + offsetof(struct sockaddr_in6, sin6_addr), 16);
		memcpy(ip + 24, (uint8_t *)&d + offsetof(struct sockaddr_in6, sin6_addr), 16);
	}
	put_be16(ip + ip_len, port_of(fd));
	put_be16(ip + ip_len + 2, port);
	put_be16(ip + ip_len + 4, (uint16_t)(8 + len));
	memcpy(ip + ip_len + 8, payload, len - 4);
	icrc_put(payload + len - 4, icrc_of((struct cspan){ip, ip_len + 8 + len - 4}));
}

static uint32_t make_payload(uint8_t *payload, uint32_t len)
{
	memcpy(payload, data, len);
	payload[0] = 4; /* whatever bit of it changes, it is no probe */
	payload[5] = driver_tag(b);
	return len;
}

/* Whether packets leave with a UDP checksum. RoCEv2 has none, and a peer's kernel need not have. */
static void set_checksum(int fd, bool is_v6, bool has_checksum)
{
	enum { NO_CHECK6_TX = 101 };
	const int without = !has_checksum;

	assert_int_equal(setsockopt(fd, is_v6 ? IPPROTO_UDP : SOL_SOCKET,
				    is_v6 ? NO_CHECK6_TX : SO_NO_CHECK, &without, sizeof without),
			 0);
}

static void a_right_packet_of_anyone_is_taken(void **state)
{
	static const uint32_t lens[] = {16, 17, 100, 144, 1040, 4112};
	struct udp_cfg cfg = {0};

	(void)state;
	fill_data();
	for (unsigned is_v6 = 0; is_v6 <= (has_ipv6() ? 1u : 0u); is_v6++) {
		const char *to = is_v6 ? "::1" : "127.0.0.3", *from = is_v6 ? "::1" : "127.0.0.9";
		int fd = plain_socket(from);

		open_pair(&cfg, &cfg, is_v6);
		for (unsigned i = 0; i < sizeof lens / sizeof lens[0]; i++) {
			uint8_t payload[BYTES];
			uint32_t len = make_payload(payload, lens[i]);

			close_packet(fd, from, to, 0, payload, len);
			set_checksum(fd, is_v6, i % 2);
			plain_send(fd, to, payload, len);
			assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1);
			assert_int_equal(in[0].len, len - 4);
			assert_memory_equal(in[0].bytes, payload, len - 4);
			assert_int_equal(in[0].pkt.ev >> 16, port_of(fd));
		}
		close_pair();
		close(fd);
	}
}

/* A receiver is not told the identification; it finds 0 .. 63, and takes no other, nor one that no
 * packet of this size can have: 65507 bytes are 15 packets of 4112 with their ICRC. */
static void identifications_of_a_burst_are_found(void **state)
{
	static const uint32_t lens[] = {16, 116, 4112, 132};
	struct udp_cfg cfg = {0};
	int fd = plain_socket("127.0.0.9");

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	for (uint32_t id = 0; id < 80; id++) {
		uint8_t payload[BYTES];
		uint32_t len = make_payload(payload, lens[id % 4]);

		close_packet(fd, "127.0.0.9", "127.0.0.3", (uint16_t)id, payload, len);
		plain_send(fd, "127.0.0.3", payload, len);
		if (id < (lens[id % 4] > 4000 ? 15 : 64))
			assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1);
	}
	assert_int_equal(receive(b, NULL, 1, 1, QUIET_MS), 0);
	assert_int_equal(b->count.drop_icrc, 16 + 12);
	close_pair();
	close(fd);
}

static void any_changed_bit_is_seen(void **state)
{
	enum { LEN = 148 };
	struct udp_cfg cfg = {0};
	uint8_t payload[BYTES];

	(void)state;
	fill_data();
	for (unsigned is_v6 = 0; is_v6 <= (has_ipv6() ? 1u : 0u); is_v6++) {
		const char *to = is_v6 ? "::1" : "127.0.0.3", *from = is_v6 ? "::1" : "127.0.0.9";
		int fd = plain_socket(from);
		uint32_t wrong = 0;

		open_pair(&cfg, &cfg, is_v6);
		for (uint32_t i = 0; i < LEN; i++) {
			make_payload(payload, LEN);
			close_packet(fd, from, to, 0, payload, LEN);
			payload[i] ^= (uint8_t)(1u << i % 8);
			/* Byte 4 is masked; byte 5 chooses the process. */
			if (i == 4 || i == 5)
				continue;
			plain_send(fd, to, payload, LEN);
			wrong++;
		}
		assert_int_equal(receive(b, NULL, 1, 1, QUIET_MS), 0);
		assert_int_equal(b->count.drop_icrc, wrong);
		make_payload(payload, LEN);
		close_packet(fd, from, to, 0, payload, LEN);
		payload[4] ^= 0xff;
		plain_send(fd, to, payload, LEN);
		assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1);
		close_pair();
		close(fd);
	}
}

static void short_packets_are_dropped(void **state)
{
	struct udp_cfg cfg = {0};
	uint8_t payload[BYTES];
	int fd = plain_socket("127.0.0.9");

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	for (uint32_t len = 0; len < 16; len++) {
		make_payload(payload, 16);
		plain_send(fd, "127.0.0.3", payload, len);
	}
	assert_int_equal(receive(b, NULL, 1, 1, QUIET_MS), 0);
	assert_int_equal(b->count.drop_short, 16);
	close_pair();
	close(fd);
}

static void a_tag_of_nobody_is_a_stray(void **state)
{
	struct udp_cfg cfg = {0};

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	for (uint32_t i = 0; i < 10; i++) {
		out[i] = packet(i, 100);
		out[i].head[5] = (uint8_t)(100 + i / 5);
	}
	send_all(a, out, 10);
	assert_int_equal(receive(b, NULL, 1, 1, QUIET_MS), 0);
	assert_int_equal(b->count.drop_stray, 10);
	close_pair();
}

/* ---- several on one address ------------------------------------------------------------------ */

/* The kernel takes a tag for a place in the order of opening; here the order is the wrong one. */
static void strays_reach_their_owner(void **state)
{
	struct udp_cfg cfg = {.dscp = {3, 0, 0, 48}, .hop_limit = 9};
	struct driver *c;
	uint32_t local;

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	c = new_driver(&cfg);
	assert_int_equal(driver_tag(a), 0);
	assert_int_equal(driver_tag(b), 1);
	assert_int_equal(driver_tag(c), 2);
	driver_unbind(b, b_local);
	local = open_at(c, "127.0.0.4"); /* so that it has another handle there */
	local = open_at(c, "127.0.0.3");
	b_local = open_at(b, "127.0.0.3");
	open_at(a, "127.0.0.3");
	for (uint32_t i = 0; i < 60; i++) {
		out[i] = packet(i, i < 30 ? 4096 : i);
		out[i].tclass = i & 1 ? ENGINE_CONTROL : ENGINE_DATA;
	}
	send_all(a, out, 60);
	assert_int_equal(receive(b, a, 60, DRIVER_BATCH, 200), 60);
	for (uint32_t i = 0; i < 60; i++) {
		assert_arrived(&in[i], &out[i]);
		assert_int_equal(in[i].pkt.dscp, engine_dscp(out[i].tclass, cfg.dscp));
		assert_int_equal(in[i].pkt.ttl, 9);
	}
	/* Tag 1 is the second place: b itself. Tag 2 is the third: a, which passes it on. */
	assert_int_equal(b->count.rx_passed_on, 0);
	for (uint32_t i = 0; i < 60; i++)
		out[i].head[5] = 2;
	send_all(a, out, 60);
	assert_int_equal(receive(c, a, 60, DRIVER_BATCH, WAIT_MS), 60);
	for (uint32_t i = 0; i < 60; i++) {
		assert_int_equal(in[i].pkt.local, local);
		assert_int_equal(in[i].pkt.dscp, engine_dscp(out[i].tclass, cfg.dscp));
		assert_int_equal(in[i].pkt.ecn, 2);
		assert_int_equal(in[i].pkt.ttl, 9);
		assert_true(in[i].pkt.ev >> 16 >= 49152);
		assert_memory_equal(in[i].bytes + BTH, out[i].body[0].at, out[i].body[0].len);
	}
	assert_int_equal(a->count.rx_passed_on, 60);
	assert_balance(c);
	driver_free(c);
	close_pair();
}

static void processes_share_an_address_and_die(void **state)
{
	struct udp_cfg cfg = {0};
	struct driver *again;
	uint8_t tag = 0;
	int ready, status;
	pid_t pid;

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	pid = start_child(&ready);
	assert_int_equal(read(ready, &tag, 1), 1);
	assert_int_equal(tag, 2);
	/* To b and the child by turns; the child answers to a. Two sockets are at the address, so
	 * tag 2 is no place, and the kernel chooses any: what reaches b is passed on. */
	for (uint32_t i = 0; i < 40; i++) {
		out[i] = packet(i, 200);
		out[i].ev = i << 16;
		out[i].head[5] = i & 1 ? tag : driver_tag(b);
	}
	send_all(a, out, 40);
	assert_int_equal(receive(b, NULL, 20, DRIVER_BATCH, WAIT_MS), 20);
	assert_int_equal(receive(a, b, 20, DRIVER_BATCH, WAIT_MS), 20);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(get_be32(in[i].bytes + 8) % 2, 1);

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(ready);
	/* b goes on, what was for the dead is dropped, and its tag is free. */
	send_all(a, out, 40);
	assert_int_equal(receive(b, NULL, 20, DRIVER_BATCH, WAIT_MS), 20);
	assert_int_equal(receive(b, NULL, 1, DRIVER_BATCH, QUIET_MS), 0);
	assert_int_equal(b->count.drop_stray, 20);
	again = new_driver(&cfg);
	assert_int_equal(driver_tag(again), tag);
	driver_free(again);
	close_pair();
}

/* A child that frees what it inherited, or closes an address of it, does the parent no harm. */
static void a_forked_child_leaves_the_parent_alone(void **state)
{
	struct udp_cfg cfg = {0};
	struct driver *next;
	int status;
	pid_t pid;

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		driver_unbind(b, b_local);
		driver_free(a);
		driver_free(b);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	for (uint32_t i = 0; i < 5; i++)
		out[i] = packet(i, 100);
	send_all(a, out, 5);
	assert_int_equal(receive(b, NULL, 5, DRIVER_BATCH, WAIT_MS), 5);
	next = new_driver(&cfg);
	assert_int_equal(driver_tag(next), 2);
	driver_free(next);
	close_pair();
}

/* Messages that no driver wrote. */
static void other_messages_are_ignored(void **state)
{
	struct udp_cfg cfg = {0};

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	for (uint32_t n = 0; n < 200; n += 7) {
		/* Also as large as it gets, cut off by the reader. */
		assert_true(send_message(driver_tag(b), data, n == 7 ? 40000 : n));
		assert_int_equal(receive(b, NULL, 1, 1, 0), 0);
	}
	assert_int_equal(b->count.rx_delivered, 0);
	out[0] = packet(0, 100);
	send_all(a, out, 1);
	assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1);
	close_pair();
}

/* Several owners at once: each gets its own packets, in order. */
static void strays_go_each_to_their_owner(void **state)
{
	struct udp_cfg cfg = {0};
	uint8_t bytes[BYTES];
	struct other five, six;
	ssize_t one;

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	five = tag_socket(5);
	six = tag_socket(6);
	for (uint32_t i = 0; i < 6; i++) {
		out[i] = packet(i, 100);
		out[i].head[5] = i == 2 ? 6 : 5;
	}
	send_all(a, out, 6);
	assert_int_equal(receive(b, NULL, 1, DRIVER_BATCH, QUIET_MS), 0);
	one = tag_recv(&six, bytes, sizeof bytes);
	assert_true(one > 0);
	for (ssize_t all = 0; all < 5 * one;) {
		ssize_t got = tag_recv(&five, bytes, sizeof bytes);

		assert_true(got > 0 && got % one == 0);
		all += got;
	}
	assert_int_equal(tag_recv(&five, bytes, sizeof bytes), -1);
	assert_int_equal(tag_recv(&six, bytes, sizeof bytes), -1);
	assert_int_equal(b->count.rx_passed_on, 6);
	tag_close(&five);
	tag_close(&six);
	close_pair();
}

/* A message as a driver writes it, caught on its way to a tag. */
static size_t catch_message(unsigned tag, uint8_t *bytes, size_t most)
{
	struct other owner = tag_socket(tag);
	ssize_t got;

	out[0] = packet(0, 100);
	out[0].head[5] = (uint8_t)tag;
	send_all(a, out, 1);
	assert_int_equal(receive(b, NULL, 1, 1, QUIET_MS), 0);
	got = tag_recv(&owner, bytes, most);
	assert_true(got > 0);
	/* To a wrong one, it is not passed on a second time. */
	assert_true(send_message(driver_tag(b), bytes, (size_t)got));
	assert_int_equal(receive(b, NULL, 1, 1, QUIET_MS), 0);
	assert_int_equal(tag_recv(&owner, bytes, most), -1);
	assert_int_equal(b->count.drop_stray, 1);
	assert_int_equal(b->count.rx_passed_on, 1);
	tag_close(&owner);
	return (size_t)got;
}

/* The same message is taken from this user, at any address that is open, and not from another. */
static void only_messages_of_this_user_are_taken(void **state)
{
	struct udp_cfg cfg = {0};
	uint8_t bytes[BYTES];
	struct driver *c;
	struct rx_pkt pkt;
	size_t len;

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	len = catch_message(2, bytes, sizeof bytes);
	c = new_driver(&cfg);
	assert_int_equal(driver_tag(c), 2);
	assert_true(send_message(2, bytes, len));
	assert_int_equal(receive(c, NULL, 1, 1, QUIET_MS), 0);
	assert_int_equal(c->count.drop_stray, 1); /* it has not opened the address */
	open_at(c, "127.0.0.3");
	assert_true(send_message(2, bytes, len));
	assert_int_equal(receive(c, NULL, 1, 1, WAIT_MS), 1);
	/* Cut short it is nothing. */
	assert_true(send_message(2, bytes, len - 1));
	assert_int_equal(receive(c, NULL, 1, 1, QUIET_MS), 0);
	assert_int_equal(c->count.rx, 2);
	if (geteuid() == 0) {
		/* More of them than there are connections to be had. */
		assert_true(send_as_other_user(2, bytes, len, DRIVER_TAGS + 10));
		assert_int_equal(receive(c, NULL, 1, 1, QUIET_MS), 0);
		assert_int_equal(c->count.rx, 2);
		assert_true(send_message(2, bytes, len));
		assert_int_equal(receive(c, NULL, 1, 1, WAIT_MS), 1);
	} else {
		print_message("not root: no message of another user was tried\n");
	}
	/* Whoever passes on to it may not survey; then it does so itself, if not at once. */
	driver_receive(c, 100000000, &pkt, 1);
	driver_receive(c, 100000000, &pkt, 1);
	assert_true(c->count.rx_probes > 0);
	assert_balance(c);
	driver_free(c);
	close_pair();
}

/* What a right packet brings to an owner, a wrong one does not. */
static void wrong_packets_are_not_passed_on(void **state)
{
	enum { LEN = 116 };
	struct udp_cfg cfg = {0};
	uint8_t payload[BYTES], bytes[BYTES];
	int fd = plain_socket("127.0.0.9");
	struct other five;

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	five = tag_socket(5);
	make_payload(payload, LEN);
	payload[5] = 5;
	close_packet(fd, "127.0.0.9", "127.0.0.3", 9, payload, LEN);
	for (uint32_t i = 6; i < LEN; i++) {
		payload[i] ^= 0x10;
		plain_send(fd, "127.0.0.3", payload, LEN);
		payload[i] ^= 0x10;
	}
	assert_int_equal(receive(b, NULL, 1, 1, QUIET_MS), 0);
	assert_int_equal(b->count.drop_icrc, LEN - 6);
	assert_int_equal(tag_recv(&five, bytes, sizeof bytes), -1);
	plain_send(fd, "127.0.0.3", payload, LEN);
	assert_int_equal(receive(b, NULL, 1, 1, QUIET_MS), 0);
	assert_true(tag_recv(&five, bytes, sizeof bytes) > LEN);
	assert_int_equal(b->count.rx_passed_on, 1);
	tag_close(&five);
	close(fd);
	close_pair();
}

/* ---- names are nobody's --------------------------------------------------------------------- */

struct squatter {
	pid_t pid;
	int fd;
};

struct loot {
	uint32_t connections, bytes;
};

/* Another user, who has the name of a tag of ours. Told to, by a byte, he says what he got. */
static struct squatter start_squatter(unsigned tag)
{
	struct sockaddr_un name;
	socklen_t len = tag_name(&name, tag);
	char ready = 0;
	int ends[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct loot loot = {0};
		uint8_t bytes[BYTES];
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0), from;
		ssize_t got;

		close(ends[0]);
		if (setuid(OTHER_UID) || bind(fd, (struct sockaddr *)&name, len) || listen(fd, 8) ||
		    write(ends[1], &ready, 1) != 1 || read(ends[1], &ready, 1) != 1)
			_exit(1);
		for (; (from = accept(fd, NULL, NULL)) >= 0; loot.connections++)
			while ((got = recv(from, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
				loot.bytes += (uint32_t)got;
		_exit(write(ends[1], &loot, sizeof loot) != sizeof loot);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &ready, 1), 1);
	return (struct squatter){pid, ends[0]};
}

static struct loot end_squatter(const struct squatter *s)
{
	struct loot loot;
	int status;

	assert_int_equal(write(s->fd, "", 1), 1);
	assert_int_equal(read(s->fd, &loot, sizeof loot), sizeof loot);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_int_equal(status, 0);
	close(s->fd);
	return loot;
}

static void a_squatter_gets_nothing(void **state)
{
	struct udp_cfg cfg = {0};
	struct squatter squatter;
	struct driver *c;
	struct loot loot;

	(void)state;
	if (geteuid() != 0) {
		print_message("not root: no other user can be had\n");
		skip();
	}
	fill_data();
	open_pair(&cfg, &cfg, false);
	squatter = start_squatter(2);
	/* His is no tag of ours. */
	c = new_driver(&cfg);
	assert_int_equal(driver_tag(c), 3);
	for (uint32_t i = 0; i < 10; i++) {
		out[i] = packet(i, 100);
		out[i].head[5] = 2;
		send_all(a, &out[i], 1);
		assert_int_equal(receive(b, NULL, 1, 1, 1), 0);
	}
	assert_int_equal(receive(b, NULL, 1, 1, QUIET_MS), 0);
	assert_int_equal(b->count.drop_stray, 10);
	loot = end_squatter(&squatter);
	assert_true(loot.connections > 0);
	assert_int_equal(loot.bytes, 0);
	driver_free(c);
	close_pair();
}

/* In namespaces of its own, where it is a user without a name: how many of one stray are passed on;
 * a negative number where that cannot be tried. */
static int strays_of_nobody(int namespaces)
{
	struct udp_cfg cfg = {0};
	struct ifreq lo = {.ifr_name = "lo"};
	struct other five;
	int fd;

	if (unshare(namespaces))
		return -1;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	lo.ifr_flags = IFF_UP;
	if (namespaces & CLONE_NEWNET && ioctl(fd, SIOCSIFFLAGS, &lo))
		return -1;
	open_pair(&cfg, &cfg, false);
	five = tag_socket(5);
	out[0] = packet(0, 100);
	out[0].head[5] = 5;
	send_all(a, out, 1);
	receive(b, NULL, 1, 1, QUIET_MS);
	tag_close(&five);
	return (int)b->count.rx_passed_on;
}

/* The kernel has one number for all the users that have none in a user namespace. Where others may
 * be, it proves nothing. */
static void a_number_of_many_users_proves_nothing(void **state)
{
	static const int namespaces[] = {CLONE_NEWUSER | CLONE_NEWNET, CLONE_NEWUSER};

	(void)state;
	fill_data();
	for (unsigned i = 0; i < 2; i++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(strays_of_nobody(namespaces[i]) & 0xff);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 0xff) {
			print_message("no user namespace is to be had here\n");
			skip();
		}
		assert_int_equal(WEXITSTATUS(status), i == 0);
	}
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static unsigned open_files(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Connections to many owners at once, then to none. */
static void connections_end_when_they_were_read(void **state)
{
	enum { OWNERS = 30 };
	struct udp_cfg cfg = {0};
	struct other owners[OWNERS];
	uint8_t bytes[BYTES];
	unsigned before;

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	out[0] = packet(0, 100);
	cross(1); /* which opens what a sends by */
	for (uint32_t i = 0; i < OWNERS; i++) {
		owners[i] = tag_socket(i + 5);
		out[i] = packet(i, 100);
		out[i].head[5] = (uint8_t)(i + 5);
	}
	before = open_files();
	for (unsigned round = 0; round < 3; round++) {
		send_all(a, out, OWNERS);
		assert_int_equal(receive(b, NULL, 1, DRIVER_BATCH, QUIET_MS), 0);
		if (round == 0)
			assert_in_range(open_files(), before + 1, before + 16);
		for (uint32_t i = 0; i < OWNERS; i++) {
			assert_true(tag_recv(&owners[i], bytes, sizeof bytes) > 0);
			assert_int_equal(tag_recv(&owners[i], bytes, sizeof bytes), -1);
		}
	}
	assert_int_equal(b->count.rx_passed_on, 3 * OWNERS);
	assert_int_equal(receive(b, NULL, 1, DRIVER_BATCH, QUIET_MS), 0);
	for (uint32_t i = 0; i < OWNERS; i++)
		tag_close(&owners[i]);
	assert_int_equal(open_files(), before - OWNERS);
	close_pair();
}

/* A connection that has ended ends here too, though a child has it still. */
static void a_forked_child_keeps_no_one_awake(void **state)
{
	struct udp_cfg cfg = {0};
	struct sockaddr_un name;
	int fd = seqpacket(), ends[2], status;
	unsigned before;
	pid_t pid;

	(void)state;
	open_pair(&cfg, &cfg, false);
	before = open_files();
	assert_int_equal(connect(fd, (struct sockaddr *)&name, tag_name(&name, driver_tag(b))), 0);
	assert_int_equal(receive(b, NULL, 1, 1, QUIET_MS), 0);
	assert_int_equal(open_files(), before + 1);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fd);
		close(ends[1]);
		_exit(read(ends[0], &status, 1) != 0);
	}
	close(fd);
	close(ends[0]);
	assert_asleep(b, 1000);
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(open_files(), before - 1);
	close_pair();
}

/* A connection that cannot be had waits for the next, and does not keep the process awake. */
static void without_descriptors_it_sleeps(void **state)
{
	static const uint8_t nothing[64]; /* as a message: a packet of no bytes */
	struct udp_cfg cfg = {0};
	struct rlimit limit, none;
	int lowest;

	(void)state;
	open_pair(&cfg, &cfg, false);
	assert_true(send_message(driver_tag(b), nothing, sizeof nothing));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	lowest = seqpacket();
	close(lowest);
	none = (struct rlimit){(rlim_t)lowest, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_asleep(b, 1000);
	assert_int_equal(b->count.rx, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(send_message(driver_tag(b), nothing, sizeof nothing));
	assert_asleep(b, 1000);
	assert_int_equal(b->count.rx, 2);
	close_pair();
}

static void there_are_only_so_many_tags(void **state)
{
	static struct driver *all[DRIVER_TAGS + 1];
	struct udp_cfg cfg = {.carrier = &carrier_roce, .max_peers = 1, .max_locals = 1};
	struct rlimit limit;
	unsigned n = 0;
	int result = 0;

	(void)state;
	port = free_port();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	cfg.port = port;
	for (; result == 0 && n <= DRIVER_TAGS; n += result == 0)
		result = udp_new(&all[n], &cfg, error, sizeof error);
	if (limit.rlim_cur > 3 * DRIVER_TAGS) {
		assert_int_equal(result, -EBUSY);
		assert_int_equal(n, DRIVER_TAGS);
		assert_non_null(strstr(error, "choose another port"));
	} else {
		assert_true(result == -EMFILE && strstr(error, "ulimit -n"));
	}
	for (unsigned i = 0; i < n; i++)
		driver_free(all[i]);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_right_packet_of_anyone_is_taken),
	cmocka_unit_test(identifications_of_a_burst_are_found),
	cmocka_unit_test(any_changed_bit_is_seen),
	cmocka_unit_test(short_packets_are_dropped),
	cmocka_unit_test(a_tag_of_nobody_is_a_stray),
	cmocka_unit_test(strays_reach_their_owner),
	cmocka_unit_test(processes_share_an_address_and_die),
	cmocka_unit_test(a_forked_child_leaves_the_parent_alone),
	cmocka_unit_test(other_messages_are_ignored),
	cmocka_unit_test(strays_go_each_to_their_owner),
	cmocka_unit_test(only_messages_of_this_user_are_taken),
	cmocka_unit_test(wrong_packets_are_not_passed_on),
	cmocka_unit_test(a_squatter_gets_nothing),
	cmocka_unit_test(a_number_of_many_users_proves_nothing),
	cmocka_unit_test(connections_end_when_they_were_read),
	cmocka_unit_test(a_forked_child_keeps_no_one_awake),
	cmocka_unit_test(without_descriptors_it_sleeps),
	cmocka_unit_test(there_are_only_so_many_tags),
};

ISOLATED_MAIN(cases)
