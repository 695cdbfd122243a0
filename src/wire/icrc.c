#include "wire/icrc.h"

#include <assert.h>
#include <string.h>

#include "base/crc32.h"
#include "wire/net.h"
#include "wire/roce.h"

enum {
	ONES = 8, /* stand for the local route header of InfiniBand */
	HEAD_MAX = ONES + ipv6_bytes + udp_bytes + bth_bytes,
};

uint32_t icrc_begin(const uint8_t *ip, uint32_t *covered)
{
	bool is_v4 = ip[0] >> 4 == 4;
	uint32_t ip_len = is_v4 ? ipv4_bytes : ipv6_bytes;
	uint8_t head[HEAD_MAX];
	uint8_t *h = head + ONES;

	*covered = ip_len + udp_bytes + bth_bytes;
	memset(head, 0xff, ONES);
	memcpy(h, ip, *covered);
	if (is_v4) {
		h[1] = 0xff;             /* type of service */
		h[8] = 0xff;             /* time to live */
		memset(h + 10, 0xff, 2); /* header checksum */
	} else {
		h[0] |= 0x0f; /* traffic class, flow label */
		memset(h + 1, 0xff, 3);
		h[7] = 0xff; /* hop limit */
	}
	memset(h + ip_len + 6, 0xff, 2);  /* UDP checksum */
	h[ip_len + udp_bytes + 4] = 0xff; /* FECN, BECN and six reserved bits */
	return crc32_update(0, head, ONES + *covered);
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
