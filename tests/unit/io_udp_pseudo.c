/* The CRC of headers that a socket does not show, against that of the whole packet. */
#include "check.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/crc32.h"
#include "base/prng.h"
#include "carriers.h"
#include "io/udp_pseudo.h"
#include "wire/icrc.h"

enum { PAYLOAD_MAX = 200, PACKETS = 20000, PLACES = 3, BTH = 12 };

static struct udp_addr address(struct prng *random, uint32_t family)
{
	struct udp_addr a = {.family = family};

	for (unsigned i = 0; i < (family == AF_INET ? 4u : 16u); i++)
		a.ip[i] = (uint8_t)prng_u64(random);
	return a;
}

static const struct seal *const seals[] = {&seal_icrc, &seal_uet, &carriers_toy_seal};

/* The seal of a packet with these ends, as it is on the wire: all headers, then the payload. What
 * the kernel writes, and a seal masks, is anything. */
static uint32_t whole(const struct udp_ends *ends, uint8_t id, const uint8_t *payload, uint32_t n)
{
	uint8_t packet[UDP_IPV6_BYTES + UDP_HEADER_BYTES + PAYLOAD_MAX] = {0};
	bool is_v4 = ends->from->family == AF_INET;
	uint32_t ip_len = is_v4 ? UDP_IPV4_BYTES : UDP_IPV6_BYTES, a = is_v4 ? 4 : 16;
	uint16_t udp_len = (uint16_t)(UDP_HEADER_BYTES + n + ends->seal->tail_bytes);

	packet[0] = is_v4 ? 0x45 : 0x60;
	if (is_v4) {
		put_be16(packet + 2, (uint16_t)(ip_len + udp_len));
		packet[5] = id;
		packet[6] = 0x40;
		packet[8] = 63;
		packet[9] = IPPROTO_UDP;
		put_be16(packet + 10, 0x1234);
	} else {
		put_be16(packet + 4, udp_len);
		packet[6] = IPPROTO_UDP;
		packet[7] = 63;
	}
	memcpy(packet + ip_len - 2 * a, ends->from->ip, a);
	memcpy(packet + ip_len - a, ends->to->ip, a);
	put_be16(packet + ip_len, ends->sport);
	put_be16(packet + ip_len + 2, ends->dport);
	put_be16(packet + ip_len + 4, udp_len);
	put_be16(packet + ip_len + 6, 0xabcd);
	memcpy(packet + ip_len + UDP_HEADER_BYTES, payload, n);
	return seal_sum(ends->seal, &(struct cspan){packet, ip_len + UDP_HEADER_BYTES + n}, 1);
}

/* Lengths come again, and more of them than are remembered; ends change and come back. */
static void as_the_whole_packet(uint32_t family)
{
	struct prng random;
	struct udp_addr from[PLACES], to[PLACES];
	struct udp_pseudo pseudo = {0};
	uint8_t payload[PAYLOAD_MAX];

	prng_init(&random, check_seed(0x9d0), family);
	for (unsigned i = 0; i < PLACES; i++) {
		from[i] = address(&random, family);
		to[i] = address(&random, family);
	}
	for (unsigned i = 0; i < PACKETS; i++) {
		uint32_t n = BTH + (uint32_t)prng_below(&random, 40) * 4;
		uint32_t place = (uint32_t)prng_below(&random, PLACES);
		uint8_t id = (uint8_t)prng_below(&random, UDP_SEGMENTS_MAX);
		const struct seal *seal = seals[prng_below(&random, 3)];
		struct udp_ends ends = {&from[place], &to[place], (uint16_t)(49152 + place), 4791,
					seal};

		for (uint32_t k = 0; k < n; k++)
			payload[k] = (uint8_t)prng_u64(&random);
		udp_pseudo_make(&pseudo, &ends);
		uint32_t crc = udp_pseudo_crc(&pseudo, n + seal->tail_bytes, id, payload);

		uint32_t done = pseudo.covered;

		crc = seal_update(seal, crc, payload + done, n - done);
		assert_int_equal(crc, whole(&ends, id, payload, n));
		assert_int_equal(pseudo.has_ids, seal == &seal_icrc && family == AF_INET);
	}
}

static void ipv4(void **state)
{
	(void)state;
	as_the_whole_packet(AF_INET);
}

static void ipv6(void **state)
{
	(void)state;
	as_the_whole_packet(AF_INET6);
}

/* The deltas that find an identification nobody told. */
static void deltas_of_every_length(void **state)
{
	struct udp_deltas deltas = {0};
	uint8_t bytes[128] = {0};

	(void)state;
	for (uint32_t behind = 1; behind < sizeof bytes; behind++) {
		bytes[0] = 0;
		uint32_t zero = crc32_update(0, bytes, 1 + behind);

		udp_deltas_make(&deltas, behind);
		for (unsigned id = 0; id < UDP_SEGMENTS_MAX; id++) {
			bytes[0] = (uint8_t)id;
			assert_int_equal(zero ^ deltas.of[id], crc32_update(0, bytes, 1 + behind));
		}
	}
}

/* A seal must mask what only the kernel sees; of the identification the ICRC alone makes do with
 * guesses. */
static void what_seals_may_cover(void **state)
{
	static const uint32_t unseen_v4[] = {1, 4, 5, 8, 10, 11, 26, 27};
	static const uint32_t unseen_v6[] = {0, 1, 2, 3, 7, 46, 47};
	struct seal s = seal_icrc;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		assert_true(udp_pseudo_knows(seals[i]));
	assert_false(udp_pseudo_knows(&s));
	s.front[0].zeros[4] = s.front[0].zeros[5] = 0xff;
	assert_true(udp_pseudo_knows(&s));
	for (uint32_t i = 0; i < sizeof unseen_v4 / sizeof *unseen_v4; i++) {
		struct seal t = s;

		t.front[0].ones[unseen_v4[i]] = t.front[0].zeros[unseen_v4[i]] = 0;
		assert_false(udp_pseudo_knows(&t));
	}
	for (uint32_t i = 0; i < sizeof unseen_v6 / sizeof *unseen_v6; i++) {
		struct seal t = s;

		t.front[1].ones[unseen_v6[i]] = t.front[1].zeros[unseen_v6[i]] = 0;
		assert_false(udp_pseudo_knows(&t));
	}
	s.front[0].to = 26;
	assert_false(udp_pseudo_knows(&s));
	s.front[0].from = s.front[0].to = 29;
	assert_false(udp_pseudo_knows(&s));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(ipv4),
	cmocka_unit_test(ipv6),
	cmocka_unit_test(deltas_of_every_length),
	cmocka_unit_test(what_seals_may_cover),
};
CHECK_MAIN(cases)
