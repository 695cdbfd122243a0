/* The raw driver by other carriers than RoCE's: larger packets, native IP, tags of fewer bits. */
#include "raw_pair.h"

#include "carriers.h"

enum { HEAD = 24, ROUNDS = 30 };

static const struct carrier *const all[] = {&carriers_uet, &carriers_uet_native, &carriers_toy};
static const struct shape shapes[] = {{0, 1, false}, {0, 1, true}};
static const struct carrier *by;
static uint8_t long_heads[DRIVER_BATCH][ENGINE_HEAD_MAX];

/* A packet from a to b's tag, as the carrier has that in its numbers. */
static struct tx_pkt packet_by(uint32_t number, uint32_t len)
{
	struct tx_pkt p = packet(number, len);
	uint8_t tag = driver_tag(b);

	p.head = long_heads[number % DRIVER_BATCH];
	p.head_len = HEAD;
	memset(p.head, 0x18, HEAD);
	put_be32(p.head + 12, number);
	p.head[10] = (uint8_t)(tag << 4);
	p.head[7] = (uint8_t)(tag << 7);
	return p;
}

/* Receives n packets of out, in order; false: not in time. */
static bool has_received(uint32_t n, int wait_ms)
{
	int64_t end = now_ms() + wait_ms;
	uint32_t have = 0;

	while (have < n && now_ms() <= end) {
		struct rx_pkt pkts[DRIVER_BATCH];
		uint32_t k = driver_receive(b, now_ns(), pkts, n - have);

		for (uint32_t i = 0; i < k; i++, have++) {
			const struct tx_pkt *p = &out[have];
			uint32_t near = pkts[i].head.len - HEAD;

			assert_int_equal(pkts[i].head.len + pkts[i].body[0].len,
					 HEAD + p->body[0].len);
			assert_memory_equal(pkts[i].head.at, p->head, HEAD);
			assert_memory_equal(pkts[i].head.at + HEAD, p->body[0].at, near);
			if (pkts[i].body[0].len)
				assert_memory_equal(pkts[i].body[0].at, p->body[0].at + near,
						    pkts[i].body[0].len);
		}
		idle(a);
		if (k == 0)
			poll(&(struct pollfd){driver_fd(b), POLLIN, 0}, 1, 1);
	}
	return have == n;
}

/* Until the kernel knows the neighbour, packets are gone. */
static void warm_up(void)
{
	int64_t end = now_ms() + WAIT_MS;
	bool is_here = false;

	while (!is_here && now_ms() < end) {
		out[0] = packet_by(0, 64);
		driver_send(a, out, 1);
		is_here = has_received(1, 20);
	}
	assert_true(is_here);
}

static void cross_by(void)
{
	const uint32_t sizes[] = {0, 1, 255, by->payload_max - 1u, by->payload_max};
	uint32_t n = sizeof sizes / sizeof sizes[0];

	warm_up();
	for (uint32_t i = 0; i < n; i++)
		out[i] = packet_by(i, sizes[i]);
	assert_int_equal(driver_send(a, out, n), n);
	assert_true(has_received(n, WAIT_MS));
	/* Around the rings, several times. */
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < DRIVER_BATCH / 2; i++)
			out[i] = packet_by(round * DRIVER_BATCH + i, by->payload_max);
		assert_int_equal(driver_send(a, out, DRIVER_BATCH / 2), DRIVER_BATCH / 2);
		assert_true(has_received(DRIVER_BATCH / 2, WAIT_MS));
	}
	assert_int_equal(driver_pmtu(a, a_local, b_of_a, error, sizeof error), by->payload_max);
}

static void packets_of_every_size_cross(void **state)
{
	(void)state;
	if (!has_net)
		skip();
	for (uint32_t i = 0; i < sizeof all / sizeof all[0] * 2; i++) {
		const struct shape *shape = &shapes[i % 2];
		struct raw_cfg cfg = config(shape);
		uint32_t peer;

		by = cfg.frames.carrier = all[i / 2];
		cfg.rx_slots = cfg.tx_slots = DRIVER_BATCH;
		a = open_end(&cfg, shape, 0, &a_local, &b_of_a);
		b = open_end(&cfg, shape, 1, &b_local, &peer);
		assert_true(driver_tag(a) < 1u << by->tag_bits);
		assert_true(driver_tag(b) < 1u << by->tag_bits);
		cross_by();
		assert_int_equal(b->count.drop_icrc + b->count.drop_headers, 0);
		close_pair();
		driver_free(a);
		driver_free(b);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(packets_of_every_size_cross),
};

int main(int argc, char **argv)
{
	return raw_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
