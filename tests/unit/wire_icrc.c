/* The invariant CRC against packets computed elsewhere and against its own definition. */
#include "check.h"

#include <string.h>

#include "base/crc32.h"
#include "catalog.h"
#include "vectors.h"
#include "wire/icrc.h"
#include "wire/roce.h"

static const uint8_t cnp_connectx[] = {VECTOR_CNP};
static const uint8_t sack_ipv6[] = {VECTOR_SACK};
static const uint8_t write_ipv4[] = {VECTOR_WRITE};

static const struct cspan vectors[] = {
	{cnp_connectx, sizeof cnp_connectx},
	{sack_ipv6, sizeof sack_ipv6},
	{write_ipv4, sizeof write_ipv4},
};

static void known_packets(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct cspan packet = {vectors[i].at, vectors[i].len - icrc_bytes};
		uint8_t wire[4];

		assert_int_equal(icrc_of(packet), icrc_get(vectors[i].at + packet.len));
		icrc_put(wire, icrc_of(packet));
		assert_memory_equal(wire, vectors[i].at + packet.len, 4);
	}
}

/* One bit at a time over the packet, every bit of it: what changes the ICRC is exactly what the
 * rule covers. */
static void check_mask(struct cspan v, const uint8_t *masked, uint32_t n_masked)
{
	uint8_t copy[256];
	uint32_t len = v.len - icrc_bytes;

	memcpy(copy, v.at, len);
	uint32_t right = icrc_of((struct cspan){copy, len});

	/* Byte 0 holds the version, which says how to read the rest: its low half is tried only. */
	for (uint32_t bit = 4; bit < len * 8; bit++) {
		uint8_t one = (uint8_t)(0x80 >> bit % 8);
		bool covered = true;

		for (uint32_t k = 0; k < n_masked; k++)
			if (masked[k] == bit / 8)
				covered = false;
		/* Of byte 0 of IPv6 the lower half is traffic class. */
		if (bit < 8 && v.at[0] >> 4 == 6)
			covered = false;
		copy[bit / 8] ^= one;
		bool changed = icrc_of((struct cspan){copy, len}) != right;

		copy[bit / 8] ^= one;
		if (changed != covered)
			fail_msg("byte %u bit %u: covered %d, changes the ICRC %d", bit / 8,
				 bit % 8, covered, changed);
	}
}

static void covers_exactly_the_invariant_fields(void **state)
{
	/* IPv4: type of service, TTL, checksum; UDP checksum; BTH byte 4 */
	static const uint8_t v4[] = {1, 8, 10, 11, 26, 27, 32};
	/* IPv6: traffic class and flow label, hop limit; UDP checksum; BTH byte 4 */
	static const uint8_t v6[] = {1, 2, 3, 7, 46, 47, 52};

	(void)state;
	check_mask(vectors[0], v4, sizeof v4);
	check_mask(vectors[1], v6, sizeof v6);
	check_mask(vectors[2], v4, sizeof v4);
}

/* M-25: the outer header and the segment routing header are not part of it. */
static void srv6_counts_the_inner_packet(void **state)
{
	static const char *const names[] = {"MRC WRITE Only, SRv6 uSID",
					    "MRC WRITE Only, SRv6 uSID SRH",
					    "MRC WRITE Only, SRv6 uSID SRH HMAC"};
	static struct sample native, s;
	struct net_cfg cfg = catalog_cfg();

	(void)state;
	catalog_find("MRC WRITE Only, IPv6", &native);
	for (size_t i = 0; i < 3; i++) {
		struct wire_packet pkt;
		struct cspan frame;

		catalog_find(names[i], &s);
		frame = (struct cspan){s.frame.bytes, s.frame.len};
		/* As hops do: shift the container, use up the segment, count down the hop limit. */
		memset(s.frame.bytes + s.frame.ip_at + 28, 0, 12);
		s.frame.bytes[s.frame.ip_at + 7] = 3;
		if (i > 0)
			s.frame.bytes[s.frame.ip_at + ipv6_bytes + 3] = 0;
		assert_int_equal(wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, NULL).why,
				 WIRE_DROP_NONE);
		assert_memory_equal(s.frame.bytes + s.frame.len - 4,
				    native.frame.bytes + native.frame.len - 4, 4);
	}
}

/* A sender that streams its payload gets the same value. */
static void begin_then_update(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		uint32_t covered = 0;
		uint32_t crc = icrc_begin(vectors[i].at, &covered);
		uint32_t len = vectors[i].len - icrc_bytes;

		for (uint32_t k = covered; k < len; k++)
			crc = crc32_update(crc, vectors[i].at + k, 1);
		assert_int_equal(crc, icrc_get(vectors[i].at + len));
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(known_packets),
	cmocka_unit_test(covers_exactly_the_invariant_fields),
	cmocka_unit_test(srv6_counts_the_inner_packet),
	cmocka_unit_test(begin_then_update),
};
CHECK_MAIN(cases)
