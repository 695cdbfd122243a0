/* The udp driver by other carriers than RoCE's: other ports, seals in front and behind, other
 * places of whose a packet is, larger packets; and those that cannot go over a socket. */
#include "isolate.h"

#include "check.h"
#include "udp_pair.h"

#include <errno.h>

#include "carriers.h"

enum { HEAD = 24, MOST = HEAD + CARRIER_PAYLOAD_MAX };

static const struct carrier carriers_bare = {
	.name = "bare",
	.port = CARRIERS_TOY_PORT,
	.protocol = CARRIER_UDP,
	.head_least = 4,
	.head_most = 24,
	.payload_max = 200,
	.pieces_max = 2,
	.spare = 0xff,
	.tag_bits = 8,
	.number = {.at = 0, .width = 8},
	.rules = {{.owner = CARRIER_NUMBER, .bits = {.at = 0, .width = 8}}},
	.n_rules = 1,
	.seals = {{.seal = &seal_none}},
	.n_seals = 1,
};

static const struct carrier *const all[] = {&carrier_roce, &carriers_uet, &carriers_toy,
					    &carriers_bare};
#define N_ALL (sizeof all / sizeof all[0])

/* A packet to the owner of a tag, with a head that no rule takes for another's or a cipher's. */
static struct tx_pkt packet_by(const struct carrier *c, uint32_t number, uint32_t len, uint8_t tag)
{
	struct tx_pkt p = packet(number, len);

	for (uint32_t i = 0; i < HEAD; i++)
		p.head[i] = (uint8_t)(0x38 + number + i);
	p.head[0] = 0x18;
	p.head_len = HEAD;
	p.ev = number << 16;
	if (c == &carrier_roce)
		p.head[5] = tag;
	else if (c == &carriers_uet)
		p.head[10] = (uint8_t)(tag << 4 | (p.head[10] & 0xf));
	else if (c == &carriers_toy)
		p.head[7] = (uint8_t)(tag << 7 | (p.head[7] & 0x7f));
	else
		p.head[3] = tag;
	return p;
}

/* Receives n packets and finds them as they were sent, in order. */
static void assert_received(struct driver *u, uint32_t n, const struct carrier *c)
{
	static uint8_t want[MOST], got[MOST];
	const struct seal *seal = carrier_plain_seal(c);
	int64_t end = now_ms() + WAIT_MS;
	uint32_t have = 0;

	while (have < n && now_ms() <= end) {
		struct pollfd p = {driver_fd(u), POLLIN, 0};
		struct rx_pkt pkts[DRIVER_BATCH];
		uint32_t k = driver_receive(u, 0, pkts, DRIVER_BATCH);

		for (uint32_t i = 0; i < k; i++, have++) {
			const struct rx_pkt *rx = &pkts[i];
			uint32_t len = flatten(&out[have], want);

			assert_int_equal(rx->head.len + rx->body[0].len, len);
			memcpy(got, rx->head.at, rx->head.len);
			memcpy(got + rx->head.len, rx->body[0].at, rx->body[0].len);
			assert_memory_equal(got, want, len);
			assert_int_equal(rx->udp_len,
					 8 + seal->head_bytes + len + seal->tail_bytes);
		}
		if (k == 0)
			poll(&p, 1, 1);
	}
	assert_int_equal(have, n);
}

static void cross_by(const struct carrier *c)
{
	const uint32_t sizes[] = {0, 1, 3, 17, 100, c->payload_max / 2u, c->payload_max};
	uint8_t tag = driver_tag(b);
	uint32_t n = 0;

	for (; n < sizeof sizes / sizeof sizes[0]; n++)
		out[n] = packet_by(c, n, sizes[n], tag);
	send_all(a, out, n);
	assert_received(b, n, c);
	/* A burst, of which the kernel makes packets where it can; a piece of it is virtual. */
	for (uint32_t i = 0; i < 40; i++) {
		out[i] = packet_by(c, i, c->payload_max / 2u, tag);
		out[i].ev = 0;
		out[i].body[out[i].n_body++] = (struct cspan){NULL, c->payload_max / 2u};
	}
	send_all(a, out, 40);
	assert_received(b, 40, c);
}

static void round_trips_by_every_carrier(void **state)
{
	(void)state;
	fill_data();
	for (uint32_t i = 0; i < N_ALL * 4; i++) {
		struct udp_cfg cfg = {.carrier = all[i % N_ALL], .is_offload_off = i / N_ALL & 1};
		bool is_v6 = i / N_ALL >= 2;

		if (is_v6 && !has_ipv6())
			continue;
		open_pair(&cfg, &cfg, is_v6);
		cross_by(cfg.carrier);
		assert_int_equal(driver_pmtu(a, a_local, b_of_a, error, sizeof error),
				 cfg.carrier->payload_max);
		close_pair();
	}
}

/* Bytes that a socket of anybody's sent to b. */
static void send_bytes(int fd, const uint8_t *bytes, uint32_t len)
{
	struct sockaddr_storage to = address("127.0.0.3", port);
	struct rx_pkt pkts[DRIVER_BATCH];
	uint64_t rx = b->count.rx;
	int64_t end = now_ms() + WAIT_MS;

	assert_int_equal(sendto(fd, bytes, len, 0, (struct sockaddr *)&to, length_of(&to)), len);
	while (b->count.rx == rx && now_ms() < end)
		driver_receive(b, 0, pkts, DRIVER_BATCH);
}

/* What is too short, what is sealed wrongly, and what is sealed by a cipher, for which there is no
 * key. */
static void bad_packets_are_counted(void **state)
{
	static uint8_t bytes[64];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_true(fd >= 0);
	for (uint32_t i = 0; i < N_ALL; i++) {
		struct udp_cfg cfg = {.carrier = all[i]};
		const struct seal *seal = carrier_plain_seal(all[i]);
		uint32_t least = (uint32_t)all[i]->head_least + seal->tail_bytes;

		open_pair(&cfg, &cfg, false);
		memset(bytes, 0, sizeof bytes);
		struct tx_pkt p = packet_by(all[i], 1, 0, driver_tag(b));

		memcpy(bytes + seal->head_bytes, p.head, HEAD);
		for (uint32_t len = 1; len <= least; len++)
			send_bytes(fd, bytes, len);
		assert_int_equal(b->count.drop_short, least - 1);
		assert_int_equal(b->count.drop_icrc, seal != &seal_none);
		assert_int_equal(b->count.rx_delivered, seal == &seal_none);
		if (all[i] == &carriers_uet) {
			bytes[0] = 1 << 3; /* TSS: its number is whose domain it is of */
			bytes[1] = (uint8_t)(driver_tag(b) << 4);
			send_bytes(fd, bytes, 24 + 15);
			assert_int_equal(b->count.drop_short, least);
			send_bytes(fd, bytes, sizeof bytes);
			assert_int_equal(b->count.drop_icrc, 2);
		}
		close_pair();
	}
	close(fd);
}

/* Of UET's control packets nothing tells whose they are, nor here of those to a name. */
static void who_gets_what_nobody_owns_looks_at_it(void **state)
{
	struct udp_cfg cfg = {.carrier = &carriers_uet};

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	for (uint32_t i = 0; i < 4; i++) {
		out[i] = packet_by(&carriers_uet, i, 100, (uint8_t)(driver_tag(b) + i));
		out[i].head[0] = i % 2 ? 6 << 3 : 2 << 3;
		out[i].head[1] = 0x04;
	}
	send_all(a, out, 4);
	assert_received(b, 4, &carriers_uet);
	close_pair();
}

/* As many processes share an address as there are tags, and each gets its own. */
static void tags_are_as_wide_as_the_carrier_says(void **state)
{
	static struct driver *sharers[17];

	(void)state;
	fill_data();
	for (uint32_t i = 1; i < 3; i++) {
		const struct carrier *c = all[i];
		struct udp_cfg cfg = {.carrier = c, .max_peers = 8, .max_locals = 2};
		uint32_t n = 1u << c->tag_bits;

		port = free_port();
		for (uint32_t k = 0; k < n; k++) {
			sharers[k] = new_driver(&cfg);
			assert_int_equal(driver_tag(sharers[k]), k);
			b_local = open_at(sharers[k], "127.0.0.3");
		}
		cfg.port = port;
		assert_int_equal(udp_new(&sharers[n], &cfg, error, sizeof error), -EBUSY);
		a = sharers[0];
		b = sharers[1];
		a_local = open_at(a, "127.0.0.2");
		b_of_a = peer_of(a, "127.0.0.3");
		for (uint32_t k = 0; k < n; k++) {
			struct rx_pkt pkts[DRIVER_BATCH];

			for (uint32_t m = 0; m < 4; m++)
				out[m] = packet_by(c, m, 100, (uint8_t)k);
			send_all(a, out, 4);
			/* What comes to another process is passed on by it. */
			for (uint32_t m = 0; m < n; m++)
				if (m != k)
					assert_int_equal(
						driver_receive(sharers[m], 0, pkts, DRIVER_BATCH),
						0);
			assert_received(sharers[k], 4, c);
		}
		for (uint32_t k = 0; k < n; k++) {
			assert_int_equal(sharers[k]->count.drop_stray, 0);
			assert_balance(sharers[k]);
			driver_free(sharers[k]);
		}
	}
}

static void what_no_socket_can_carry_is_refused(void **state)
{
	struct carrier c = carriers_toy;
	struct seal s = carriers_toy_seal;
	struct driver *u = NULL;

	(void)state;
	assert_int_equal(udp_new(&u, &(struct udp_cfg){.port = 4791}, error, sizeof error),
			 -EINVAL);
	assert_non_null(strstr(error, "no carrier"));
	assert_int_equal(
		udp_new(&u, &(struct udp_cfg){.carrier = &carriers_falcon}, error, sizeof error),
		-ENOTSUP);
	assert_non_null(strstr(error, "Falcon are sealed by a cipher"));
	assert_int_equal(udp_new(&u, &(struct udp_cfg){.carrier = &carriers_uet_native}, error,
				 sizeof error),
			 -ENOTSUP);
	assert_non_null(strstr(error, "UET over IP go without UDP"));
	/* The UDP checksum, which the kernel makes of the seal, too. */
	s.front[0] = (struct seal_front){.from = 16, .to = 16};
	c.seals[0].seal = &s;
	assert_int_equal(udp_new(&u, &(struct udp_cfg){.carrier = &c}, error, sizeof error),
			 -ENOTSUP);
	assert_non_null(strstr(error, "the seal of packets by toy"));
	assert_null(u);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(round_trips_by_every_carrier),
	cmocka_unit_test(bad_packets_are_counted),
	cmocka_unit_test(who_gets_what_nobody_owns_looks_at_it),
	cmocka_unit_test(tags_are_as_wide_as_the_carrier_says),
	cmocka_unit_test(what_no_socket_can_carry_is_refused),
};

ISOLATED_MAIN(cases)
