/* What the kernel had no room for: kept whole, whatever becomes of the application's memory, and
 * sent first, in order. */
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "io/udp.h"
#include "nic/inside.h"

#define PEER  7u
#define LOCAL 3u

static struct backlog b;
static uint8_t heads[DRIVER_BATCH][ENGINE_HEAD_MAX];
static uint8_t memory[4096];

/* Packet i: a head of i, a piece of memory, a virtual one, and padding. */
static struct tx_pkt packet(uint32_t i)
{
	static const uint8_t zeros[3];

	memset(heads[i], (int)i, ENGINE_HEAD_MAX);
	return (struct tx_pkt){
		.head = heads[i],
		.head_len = (uint16_t)(12 + i),
		.tclass = ENGINE_NO_TRIM,
		.peer = PEER + i % 2,
		.local = LOCAL,
		.n_body = 3,
		.body = {{memory, 100 + i}, {NULL, 10}, {zeros, 2}},
	};
}

static void keep(uint32_t n)
{
	struct tx_pkt pkts[DRIVER_BATCH];

	for (uint32_t i = 0; i < n; i++)
		pkts[i] = packet(i);
	backlog_keep(&b, pkts, n);
	/* Nothing of it is the application's any more. */
	memset(memory, 0xee, sizeof memory);
	memset(heads, 0xee, sizeof heads);
}

static int set_up(void **state)
{
	(void)state;
	memset(&b, 0, sizeof b);
	memset(memory, 0x5a, sizeof memory);
	return backlog_init(&b, &carrier_roce) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	backlog_fini(&b);
	return 0;
}

static void expect_packet(const struct tx_pkt *p, uint32_t i)
{
	assert_int_equal(p->head_len, 12 + i);
	assert_int_equal(p->peer, PEER + i % 2);
	for (uint32_t k = 0; k < p->head_len; k++)
		assert_int_equal(p->head[k], i);
	assert_int_equal(p->n_body, 1);
	assert_int_equal(p->body[0].len, 112 + i);
	for (uint32_t k = 0; k < p->body[0].len; k++)
		assert_int_equal(p->body[0].at[k], k < 100 + i ? 0x5a : 0);
}

static void packets_are_kept_whole(void **state)
{
	(void)state;
	keep(DRIVER_BATCH);
	assert_int_equal(b.n, DRIVER_BATCH);
	for (uint32_t i = 0; i < DRIVER_BATCH; i++)
		expect_packet(&b.pkts[b.at + i], i);
}

static void packets_of_a_peer_that_ends_are_forgotten(void **state)
{
	(void)state;
	keep(5);
	backlog_forget(&b, PEER + 1, LOCAL + 1);
	assert_int_equal(b.n, 3);
	for (uint32_t i = 0; i < 3; i++)
		expect_packet(&b.pkts[b.at + i], 2 * i);
	backlog_forget(&b, DRIVER_NO_HANDLE, LOCAL);
	assert_int_equal(b.n, 0);
}

static void what_was_kept_is_sent(void **state)
{
	const struct udp_cfg cfg = {.carrier = &carrier_roce,
				    .port = (uint16_t)(20000 + getpid() % 20000)};
	struct sockaddr_in here = {.sin_family = AF_INET};
	struct driver *u;
	char error[200];
	uint32_t local, peer, got = 0;

	(void)state;
	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(udp_new(&u, &cfg, error, sizeof error), 0);
	assert_int_equal(driver_bind(u, (struct sockaddr *)&here, &local, error, sizeof error), 0);
	peer = driver_peer_get(u, (struct sockaddr *)&here);
	assert_true(backlog_send(&b, u));
	keep(4);
	for (uint32_t i = 0; i < 4; i++) {
		b.pkts[i].local = local;
		b.pkts[i].peer = peer;
		b.bytes[(b.pkts[i].head - b.bytes) + 5] = driver_tag(u);
	}
	assert_true(backlog_send(&b, u));
	assert_int_equal(b.n, 0);
	for (uint32_t tries = 0; got < 4 && tries < 1000000; tries++) {
		struct rx_pkt rx[DRIVER_BATCH];
		uint32_t n = driver_receive(u, tries, rx, DRIVER_BATCH);

		for (uint32_t k = 0; k < n; k++, got++)
			assert_int_equal(rx[k].head.at[0], got);
	}
	assert_int_equal(got, 4);
	driver_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(packets_are_kept_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(packets_of_a_peer_that_ends_are_forgotten, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_was_kept_is_sent, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
