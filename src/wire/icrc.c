#include "wire/icrc.h"

#include <assert.h>

#include "base/crc32.h"
#include "wire/net.h"
#include "wire/roce.h"
#include "wire/seal.h"

enum {
	FRONT_V4 = ipv4_bytes + udp_bytes,
	FRONT_V6 = ipv6_bytes + udp_bytes,
	COVERED_V4 = FRONT_V4 + bth_bytes,
	COVERED_V6 = FRONT_V6 + bth_bytes,
};

/* Of the eight bytes of ones that stand for the local route header of InfiniBand. */
#define CRC_OF_ONES 0x2144df1cu

/* What counts as ones, because hops change it: of the IP header, the UDP checksum, and in the base
 * transport header FECN, BECN and six reserved bits. */
const struct seal seal_icrc = {
	.name = "icrc",
	.sum = SEAL_CRC32,
	.tail_bytes = icrc_bytes,
	.start = CRC_OF_ONES,
	.front = {{.to = COVERED_V4,
		   .ones = {[1] = 0xff, /* type of service */
			    [8] = 0xff, /* time to live */
			    [10] = 0xff,
			    [11] = 0xff, /* header checksum */
			    [ipv4_bytes + 6] = 0xff,
			    [ipv4_bytes + 7] = 0xff,
			    [FRONT_V4 + 4] = 0xff}},
		  {.to = COVERED_V6,
		   .ones = {[0] = 0x0f,
			    [1] = 0xff,
			    [2] = 0xff,
			    [3] = 0xff, /* traffic class, flow label */
			    [7] = 0xff, /* hop limit */
			    [ipv6_bytes + 6] = 0xff,
			    [ipv6_bytes + 7] = 0xff,
			    [FRONT_V6 + 4] = 0xff}}},
};

#define ONES_V4 seal_icrc.front[0].ones
#define ONES_V6 seal_icrc.front[1].ones

/* Lengths that the compiler knows, so that many bytes are joined at once. */
static inline uint32_t masked(uint32_t crc, const uint8_t *at, const uint8_t *ones, uint32_t n)
{
	uint8_t bytes[COVERED_V6];

	for (uint32_t i = 0; i < n; i++)
		bytes[i] = at[i] | ones[i];
	return crc32_update(crc, bytes, n);
}

static bool is_v4(const uint8_t *ip)
{
	return ip[0] >> 4 == 4;
}

uint32_t icrc_begin(const uint8_t *ip, uint32_t *covered)
{
	*covered = is_v4(ip) ? COVERED_V4 : COVERED_V6;
	return is_v4(ip) ? masked(CRC_OF_ONES, ip, ONES_V4, COVERED_V4)
			 : masked(CRC_OF_ONES, ip, ONES_V6, COVERED_V6);
}

uint32_t icrc_of(struct cspan packet)
{
	uint32_t covered;

	assert(packet.len >= ipv4_bytes + udp_bytes + bth_bytes);
	assert(packet.at[0] >> 4 == 4 || packet.len >= ipv6_bytes + udp_bytes + bth_bytes);
	uint32_t crc = icrc_begin(packet.at, &covered);

	return crc32_update(crc, packet.at + covered, packet.len - covered);
}

uint32_t icrc_get(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

void icrc_put(uint8_t *p, uint32_t icrc)
{
	p[0] = (uint8_t)icrc;
	p[1] = (uint8_t)(icrc >> 8);
	p[2] = (uint8_t)(icrc >> 16);
	p[3] = (uint8_t)(icrc >> 24);
}
