/* Packets of other carriers than RoCE's in the simulator and in its switches. */
#include <string.h>

#include "base/bytes.h"
#include "carriers.h"
#include "check.h"
#include "encap/encap.h"
#include "sim/packet.h"
#include "wire/net.h"

static const struct carrier *const all[] = {&carrier_roce, &carriers_uet, &carriers_uet_native,
					    &carriers_toy};
#define N_ALL (sizeof all / sizeof all[0])

static struct packet_pool pool;
static struct carriers known;
static uint8_t out[256];

static int start(void **state)
{
	(void)state;
	packet_pool_init(&pool, PACKET_HEAD_MAX);
	known = (struct carriers){.n = 0};
	for (uint32_t i = 0; i < N_ALL; i++)
		carriers_add(&known, all[i], 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	packet_pool_fini(&pool);
	return 0;
}

/* A packet by one of them with 24 bytes of headers, 40 of a payload, of which a body has the first
 * n, and a seal. */
static struct packet *packet_by(uint8_t carrier, bool is_v4, uint32_t n)
{
	const struct carrier_use *via = &known.use[carrier];
	uint32_t around = 24 + carrier_plain_seal(via->is)->tail_bytes;
	struct encap_ends ends = {.src = {0xfd, 1},
				  .dst = {0xfd, 2},
				  .hop_limit = 61,
				  .dport = via->port,
				  .is_v4 = is_v4,
				  .native = via->port ? 0 : via->protocol};
	struct encap_packet what = {.ev = 0x12345678, .transport_bytes = around + 40};
	static const struct encap_segments none;
	struct encap_head head;
	uint8_t bytes[ENCAP_BYTES_MAX + 64];

	encap_make(&head, &ends, &none);
	encap_write(&head, &what, bytes);
	for (uint32_t i = 0; i < 64; i++)
		bytes[head.len + i] = (uint8_t)(i < 24 + n ? 0x60 + i : 0);
	struct packet *p = packet_get(&pool);

	assert_non_null(p);
	p->carrier = carrier & (CARRIERS_MAX - 1u);
	p->len = head.len + around + 40;
	p->stored = (uint16_t)(head.len + 24);
	memcpy(p->head, bytes, p->stored);
	if (n > 0) {
		assert_true(packet_add_body(p, n));
		memcpy(p->body->bytes, bytes + p->stored, n);
	}
	return p;
}

/* The seal at the end is the carrier's own, whether payload is virtual, in a body or both. */
static void packets_end_with_the_seal_of_their_carrier(void **state)
{
	struct net_cfg cfg = {.carriers = known};

	(void)state;
	for (uint32_t i = 0; i < N_ALL * 2 * 3; i++) {
		const struct seal *seal = carrier_plain_seal(all[i % N_ALL]);
		struct packet *p =
			packet_by((uint8_t)(i % N_ALL), i / N_ALL % 2, 20 * (i / N_ALL / 2));
		struct packet_places places;
		struct net_pkt net;

		assert_true(packet_find(p, &known, &places));
		assert_ptr_equal(packet_seal(p, &known, places.transport), seal);
		packet_bytes(p, &known, out);
		assert_int_equal(
			net_get((struct cspan){out, p->len}, NET_LINK_ETHERNET, &cfg, &net, NULL)
				.why,
			WIRE_DROP_NONE);
		assert_ptr_equal(net.carrier, all[i % N_ALL]);
		assert_int_equal(places.transport, net.transport);
		assert_int_equal(places.ip, net_ip(&net)->at);
		uint32_t end = p->len - seal->tail_bytes;
		struct cspan covered = {out + places.ip, end - places.ip};

		assert_int_equal(seal_get(seal, out + end), seal_sum(seal, &covered, 1));
		assert_true(packet_make_real(p, &known));
		assert_memory_equal(p->body->bytes, out + p->stored, p->len - p->stored);
		*packet_byte(p, end - 1) ^= 0x80;
		packet_repair(p, &known);
		packet_bytes(p, &known, out);
		assert_int_equal(seal_get(seal, out + end), seal_sum(seal, &covered, 1));
		packet_put(&pool, p);
	}
}

/* A cipher's end is not made up: nobody has keys here. */
static void what_a_cipher_seals_ends_with_zeros(void **state)
{
	static const uint8_t zeros[16];
	struct packet *p = packet_by(1, false, 40);
	struct packet_places places;

	(void)state;
	assert_true(packet_find(p, &known, &places));
	p->head[places.transport] = 1 << 3; /* TSS */
	assert_ptr_equal(packet_seal(p, &known, places.transport), &seal_tss);
	p->len += 16 - 4;
	memset(out, 0xa5, sizeof out);
	packet_bytes(p, &known, out);
	assert_memory_equal(out + p->len - 16, zeros, 16);
	assert_memory_equal(out + p->stored, p->body->bytes, 40);
	packet_put(&pool, p);
}

/* Without a carrier's least header there is nothing that a seal could be known by. */
static void what_is_too_short_has_no_seal(void **state)
{
	static const uint8_t zeros[4];
	struct packet *p = packet_by(2, false, 0);
	struct packet_places places;

	(void)state;
	assert_true(packet_find(p, &known, &places));
	p->len = places.transport + 24 + 3;
	p->stored = (uint16_t)places.transport;
	packet_bytes(p, &known, out);
	assert_memory_equal(out + p->len - 4, zeros, 4);
	/* What goes by UDP is not what goes without. */
	p->carrier = 1;
	assert_false(packet_find(p, &known, &places));
	packet_put(&pool, p);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, end)

static const struct CMUnitTest cases[] = {
	CASE(packets_end_with_the_seal_of_their_carrier),
	CASE(what_a_cipher_seals_ends_with_zeros),
	CASE(what_is_too_short_has_no_seal),
};

CHECK_MAIN(cases)
