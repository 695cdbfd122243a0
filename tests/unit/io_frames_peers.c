/* Who is where, for those who write and read frames: peers, addresses, segment lists, and what is
 * refused. */
#include "frames_pair.h"

#include <stdio.h>

/* The outer destination of the frame of a value. */
static void check_segment(uint32_t ev, const uint8_t *segment)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;
	struct rx_pkt rx;
	uint32_t len;

	make_packet(&s, ev, 64);
	s.tx.ev = ev;
	len = write_whole(&s.tx, frame);
	assert_true(len > 0);
	assert_int_equal(frame[20], segment ? 41 : 17);
	if (segment)
		assert_memory_equal(frame + 14 + 24, segment, 16);
	frames_settle(b);
	assert_true(read_whole(frame, len, &rx));
	check_received(&s, &rx, USID);
}

/* An answer may outlast the handle that its question had. */
static void an_end_that_is_gone(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;

	(void)state;
	open_pair(IPV4);
	uint32_t passing = peer_of(a, "127.0.0.9");

	make_packet(&s, 1, 64);
	s.tx.peer = passing;
	frames_peer_put(a, passing);
	assert_int_equal(write_whole(&s.tx, frame), 0);
	assert_int_equal(count_a.tx_no_route, 1);
	s.tx.peer = b_of_a;
	assert_true(write_whole(&s.tx, frame) > 0);
	close_pair();
}

static void segments_by_entropy(void **state)
{
	enum { LISTS = 300 };
	struct encap_segments list = {.n = 1, .at = {{0xfc, 0, 0, 1}}};

	(void)state;
	if (is_missing(IPV6))
		skip();
	open_pair(IPV6);
	check_segment(5, NULL);
	for (uint32_t i = 0; i < LISTS; i++) {
		put_be32(list.at[0] + 12, i);
		assert_int_equal(frames_peer_segments(a, b_of_a, 0, i << 16 | 7, &list), 0);
	}
	for (uint32_t i = 0; i < LISTS; i++) {
		put_be32(list.at[0] + 12, i);
		check_segment(i << 16 | 7, list.at[0]);
	}
	/* Named again it is replaced; one that was not named takes one that was. */
	put_be32(list.at[0] + 12, 0x1000);
	assert_int_equal(frames_peer_segments(a, b_of_a, 0, 3u << 16 | 7, &list), 0);
	check_segment(3u << 16 | 7, list.at[0]);
	bool is_seen[LISTS] = {false};
	uint32_t n_seen = 0;

	for (uint32_t i = 0; i < 8 * LISTS; i++) {
		static uint8_t frame[FRAME_BYTES];
		static struct sample_packet s;

		make_packet(&s, i, 64);
		s.tx.ev = i * 0x10001 + 8;
		assert_true(write_whole(&s.tx, frame) > 0);
		assert_int_equal(frame[20], 41);
		uint32_t which = get_be32(frame + 14 + 24 + 12);

		n_seen += which < LISTS && !is_seen[which];
		if (which < LISTS)
			is_seen[which] = true;
	}
	assert_true(n_seen > LISTS / 2);
	/* Taken away one by one, down to none. */
	list.n = 0;
	for (uint32_t i = 1; i < LISTS; i++)
		assert_int_equal(frames_peer_segments(a, b_of_a, 0, i << 16 | 7, &list), 0);
	put_be32(list.at[0] + 12, 0);
	check_segment(9u << 16 | 7, list.at[0]);
	assert_int_equal(frames_peer_segments(a, b_of_a, 0, 12345, &list), 0);
	check_segment(7, list.at[0]);
	assert_int_equal(frames_peer_segments(a, b_of_a, 0, 7, &list), 0);
	check_segment(7, NULL);
	close_pair();
}

/* From DRIVER_EV_ALONE on a list is for its own packets: others go as if it were not there. */
static void segments_for_nobody_else(void **state)
{
	struct encap_segments open = {.n = 1, .at = {{0xfc, 0, 0, 1}}};
	struct encap_segments alone = {.n = 1, .at = {{0xfc, 0, 0, 2}}};
	const struct encap_segments none = {.n = 0};

	(void)state;
	if (is_missing(IPV6))
		skip();
	open_pair(IPV6);
	for (uint32_t i = 0; i < 40; i++) {
		put_be32(alone.at[0] + 12, i);
		assert_int_equal(frames_peer_segments(a, b_of_a, 0, DRIVER_EV_ALONE + i, &alone),
				 0);
	}
	check_segment(7, NULL);
	check_segment(DRIVER_EV_ALONE + 99, NULL);
	assert_int_equal(frames_peer_segments(a, b_of_a, 0, 7, &open), 0);
	for (uint32_t i = 0; i < 40; i++) {
		put_be32(alone.at[0] + 12, i);
		check_segment(DRIVER_EV_ALONE + i, alone.at[0]);
		check_segment(1000 + i, open.at[0]);
	}
	for (uint32_t i = 0; i < 39; i++)
		assert_int_equal(frames_peer_segments(a, b_of_a, 0, DRIVER_EV_ALONE + i, &none), 0);
	check_segment(1000, open.at[0]);
	assert_int_equal(frames_peer_segments(a, b_of_a, 0, 7, &none), 0);
	check_segment(7, NULL);
	check_segment(DRIVER_EV_ALONE + 39, alone.at[0]);
	assert_int_equal(frames_peer_segments(a, b_of_a, 0, DRIVER_EV_ALONE + 39, &none), 0);
	check_segment(DRIVER_EV_ALONE + 39, NULL);
	close_pair();
}

/* Another address of the peer stands in the inner header of what its lists carry. */
static void segments_carry_another_address(void **state)
{
	struct sockaddr_storage moved = address("fd00::9", 0);
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;

	(void)state;
	if (is_missing(IPV6))
		skip();
	open_pair(USID);
	make_packet(&s, 1, 64);
	assert_true(write_whole(&s.tx, frame) > 0);
	assert_int_equal(frame[54 + 24], 0);
	assert_int_equal(frames_peer_address(a, b_of_a, 0, (struct sockaddr *)&moved), 0);
	assert_true(write_whole(&s.tx, frame) > 0);
	assert_int_equal(frame[54 + 24], 0xfd);
	assert_int_equal(frame[54 + 39], 9);
	close_pair();
}

static void segments_need_ipv6(void **state)
{
	struct encap_segments list = segments;

	(void)state;
	open_pair(IPV4);
	assert_int_equal(frames_peer_segments(a, b_of_a, 0, 1, &list), -EINVAL);
	close_pair();
	if (is_missing(IPV6))
		return;
	open_pair(IPV6);
	list.n = 3;
	assert_int_equal(frames_peer_segments(a, b_of_a, 0, 1, &list), -EINVAL);
	close_pair();
}

/* Handles: of packets until settle, of holders until put, and no more than there is room for. */
static void peers_come_and_go(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;
	struct rx_pkt rx;

	(void)state;
	open_pair(IPV4);
	make_packet(&s, 1, 64);
	uint32_t len = write_whole(&s.tx, frame);

	for (uint32_t round = 0; round < 3; round++) {
		uint32_t n = 0;

		for (uint8_t i = 0; i < 20; i++) {
			frame[14 + 15] = (uint8_t)(100 + i);
			fix_v4(frame);
			fix_icrc(frame, len);
			bool is_read = read_whole(frame, len, &rx);

			assert_int_equal(is_read, i < 7); /* a_of_b is the eighth */
			n += is_read;
			assert_true(!is_read || rx.peer != a_of_b);
		}
		assert_int_equal(n, 7);
		assert_int_equal(count_b.drop_peers, 13 * (round + 1));
		frames_settle(b);
	}
	for (uint32_t i = 0; i < 7; i++) {
		char text[32];

		snprintf(text, sizeof text, "127.0.1.%u", i);
		assert_int_not_equal(peer_of(b, text), DRIVER_NO_HANDLE);
	}
	assert_int_equal(peer_of(b, "127.0.2.1"), DRIVER_NO_HANDLE);
	assert_int_equal(peer_of(b, "224.0.0.1"), DRIVER_NO_HANDLE);
	assert_int_equal(peer_of(b, "0.0.0.0"), DRIVER_NO_HANDLE);
	assert_int_equal(peer_of(b, "fe80::1"), DRIVER_NO_HANDLE);
	close_pair();
}

/* A handle of a packet that somebody holds, knowing its address or not. */
static void strangers_are_held(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;
	struct rx_pkt rx;
	uint32_t held;

	(void)state;
	open_pair(IPV4);
	make_packet(&s, 1, 64);
	uint32_t len = write_whole(&s.tx, frame);

	/* Held while a packet names it, it stays; put again, it lasts for the packet. */
	frame[14 + 15] = 100;
	fix_v4(frame);
	fix_icrc(frame, len);
	assert_true(read_whole(frame, len, &rx));
	held = peer_of(b, "127.0.0.100");
	assert_int_equal(held, rx.peer);
	frames_settle(b);
	assert_true(read_whole(frame, len, &rx));
	assert_int_equal(held, rx.peer);
	frames_peer_put(b, held);
	assert_int_equal(peer_of(b, "127.0.0.100"), held);
	frames_peer_put(b, held);
	frames_settle(b);
	/* The same by its handle, as who does not know its address holds it. */
	assert_true(read_whole(frame, len, &rx));
	held = rx.peer;
	frames_peer_hold(b, held);
	frames_settle(b);
	assert_int_equal(peer_of(b, "127.0.0.100"), held);
	frames_peer_put(b, held);
	frames_peer_put(b, held);
	close_pair();
}

/* Other addresses of both ends: packets name them, and are the same handles'. */
static void addresses_of_a_port(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;
	struct sockaddr_storage other_a = address("127.0.7.2", 0),
				other_b = address("127.0.7.3", 0);
	struct sockaddr_storage v6 = address("::1", 0), moved = address("127.0.8.3", 0);
	struct rx_pkt rx;

	(void)state;
	open_pair(IPV4);
	assert_int_equal(frames_local_address(a, a_local, 0, (struct sockaddr *)&other_a), 0);
	assert_int_equal(frames_peer_address(a, b_of_a, 0, (struct sockaddr *)&other_b), 0);
	assert_int_equal(frames_local_address(b, b_local, 0, (struct sockaddr *)&other_b), 0);
	assert_int_equal(frames_peer_address(b, a_of_b, 0, (struct sockaddr *)&other_a), 0);
	make_packet(&s, 1, 64);
	uint32_t len = write_whole(&s.tx, frame);

	assert_memory_equal(frame + 14 + 12, ((uint8_t[]){127, 0, 7, 2, 127, 0, 7, 3}), 8);
	assert_true(read_whole(frame, len, &rx));
	check_received(&s, &rx, IPV4);
	/* The first ones still count. */
	memcpy(frame + 14 + 12, (uint8_t[]){127, 0, 0, 2, 127, 0, 0, 3}, 8);
	fix_v4(frame);
	fix_icrc(frame, len);
	assert_true(read_whole(frame, len, &rx));
	check_received(&s, &rx, IPV4);
	assert_int_equal(peer_of(b, "127.0.7.2"), a_of_b);
	frames_peer_put(b, a_of_b);
	/* Replaced, the one before is nobody's. */
	assert_int_equal(frames_peer_address(a, b_of_a, 0, (struct sockaddr *)&moved), 0);
	len = write_whole(&s.tx, frame);
	assert_memory_equal(frame + 14 + 16, ((uint8_t[]){127, 0, 8, 3}), 4);
	assert_false(read_whole(frame, len, &rx));
	assert_int_equal(frames_peer_address(a, b_of_a, 0, (struct sockaddr *)&v6), -EINVAL);
	assert_int_equal(frames_local_address(a, a_local, 0, (struct sockaddr *)&v6), -EINVAL);
	uint32_t another = peer_of(a, "127.0.7.3");

	assert_int_not_equal(another, b_of_a);
	assert_int_equal(frames_peer_address(a, b_of_a, 0, (struct sockaddr *)&other_b), -EINVAL);
	frames_peer_put(a, another);
	close_pair();
}

/* Two addresses of ours send to one peer, by turns. */
static void locals_take_turns(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;

	(void)state;
	open_pair(IPV4);
	uint32_t other = open_at(a, "127.0.0.4");

	assert_int_not_equal(other, a_local);
	make_packet(&s, 1, 64);
	for (uint8_t i = 0; i < 6; i++) {
		s.tx.local = i & 1 ? other : a_local;
		assert_true(write_whole(&s.tx, frame) > 0);
		assert_int_equal(frame[14 + 15], i & 1 ? 4 : 2);
	}
	/* Its handle goes to another address: nothing of the one before is left. */
	frames_unbind(a, other);
	assert_int_equal(open_at(a, "127.0.0.5"), other);
	assert_true(write_whole(&s.tx, frame) > 0);
	assert_int_equal(frame[14 + 15], 5);
	close_pair();
}

/* An address that only a packet named becomes another peer's in mid-air. */
static void address_of_a_passing_peer(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;
	struct sockaddr_storage other = address("127.0.0.99", 0);
	struct rx_pkt rx;

	(void)state;
	open_pair(IPV4);
	make_packet(&s, 1, 64);
	uint32_t len = write_whole(&s.tx, frame);

	frame[14 + 15] = 99;
	fix_v4(frame);
	fix_icrc(frame, len);
	assert_true(read_whole(frame, len, &rx));
	assert_int_not_equal(rx.peer, a_of_b);
	assert_int_equal(frames_peer_address(b, a_of_b, 0, (struct sockaddr *)&other), 0);
	assert_true(read_whole(frame, len, &rx));
	assert_int_equal(rx.peer, a_of_b);
	frames_settle(b);
	assert_true(read_whole(frame, len, &rx));
	assert_int_equal(rx.peer, a_of_b);
	close_pair();
}

static void writing_is_refused(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;
	struct frames_out out = {{frame, frame + 300}, {300, 100}};

	(void)state;
	open_pair(IPV4);
	make_packet(&s, 1, 64);
	s.tx.body[0] = (struct cspan){NULL, 70000};
	assert_int_equal(write_whole(&s.tx, frame), 0);
	assert_int_equal(count_a.tx_too_long, 1);
	make_packet(&s, 1, 500);
	assert_int_equal(frames_write(a, NOW, &s.tx, &out), 0);
	assert_int_equal(count_a.tx_failed, 1);
	if (!is_missing(IPV6)) {
		/* The ends are of different kinds. */
		make_packet(&s, 1, 64);
		s.tx.peer = peer_of(a, "::1");
		assert_int_equal(write_whole(&s.tx, frame), 0);
		assert_int_equal(count_a.tx_no_route, 1);
		assert_int_equal(frames_pmtu(a, a_local, s.tx.peer, error, sizeof error), 0);
		assert_non_null(strstr(error, "not of one kind"));
		frames_peer_put(a, s.tx.peer);
	}
	assert_int_equal(frames_pmtu(a, a_local, b_of_a, error, sizeof error), 4096);
	close_pair();
}

static int try_bind(struct frames *f, const char *text)
{
	struct sockaddr_storage s = address(text, 0);
	uint32_t handle;

	error[0] = 0;
	return frames_bind(f, (struct sockaddr *)&s, &handle, error, sizeof error);
}

static void binding_is_refused(void **state)
{
	struct frames_cfg cfg = cfg_of("lo");
	struct sockaddr_storage at = address("127.0.0.2", PORT);
	struct sockaddr_in in;

	(void)state;
	open_pair(IPV4);
	assert_int_equal(try_bind(a, "192.0.2.77"), -EADDRNOTAVAIL);
	assert_non_null(strstr(error, "192.0.2.77 is not an address of this machine"));
	assert_int_equal(try_bind(a, "0.0.0.0"), -EINVAL);
	assert_int_equal(try_bind(a, "fe80::1"), -EINVAL);
	assert_int_equal(try_bind(a, "::ffff:127.0.0.1"), -EINVAL);
	/* Twice is counted twice. */
	assert_int_equal(open_at(a, "127.0.0.2"), a_local);
	frames_unbind(a, a_local);
	/* One that does not share finds the port in use, until nobody has it. */
	cfg.is_shared = false;
	struct driver_counters count;
	struct frames *c = new_frames(&cfg, &count);

	assert_int_equal(try_bind(c, "127.0.0.2"), -EADDRINUSE);
	assert_non_null(strstr(error, "in use"));
	close_pair();
	assert_int_equal(try_bind(c, "127.0.0.2"), 0);
	/* Held: the kernel has the port for no other, and answers nobody. */
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(&in, &at, sizeof in);
	in.sin_port = htons(PORT);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), -1);
	assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(send(fd, "x", 1, 0), 1);
	assert_int_equal(send(fd, "x", 1, 0), 1);
	close(fd);
	frames_free(c);
}

static void opening_is_refused(void **state)
{
	struct frames_cfg cfg = cfg_of("nosuch0");
	struct driver_counters count;
	struct frames *f = NULL;

	(void)state;
	assert_int_equal(frames_new(&f, &cfg, &count, error, sizeof error), -ENODEV);
	assert_non_null(strstr(error, "nosuch0"));
	cfg = cfg_of("lo");
	cfg.n_ports = 2;
	memcpy(cfg.interfaces[1], "lo", 3);
	assert_int_equal(frames_new(&f, &cfg, &count, error, sizeof error), -EINVAL);
	assert_non_null(strstr(error, "twice"));
	cfg.n_ports = 0;
	assert_int_equal(frames_new(&f, &cfg, &count, error, sizeof error), -EINVAL);
	cfg = cfg_of("lo");
	cfg.dscp[1] = 64;
	assert_int_equal(frames_new(&f, &cfg, &count, error, sizeof error), -EINVAL);
	assert_null(f);
	frames_free(NULL);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(an_end_that_is_gone),
	cmocka_unit_test(segments_by_entropy),
	cmocka_unit_test(segments_for_nobody_else),
	cmocka_unit_test(segments_carry_another_address),
	cmocka_unit_test(segments_need_ipv6),
	cmocka_unit_test(peers_come_and_go),
	cmocka_unit_test(strangers_are_held),
	cmocka_unit_test(addresses_of_a_port),
	cmocka_unit_test(locals_take_turns),
	cmocka_unit_test(address_of_a_passing_peer),
	cmocka_unit_test(writing_is_refused),
	cmocka_unit_test(binding_is_refused),
	cmocka_unit_test(opening_is_refused),
};

ISOLATED_MAIN(cases)
