#include "io/udp_pseudo.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/crc32.h"
#include "wire/icrc.h"
#include "wire/net.h"
#include "wire/roce.h"

#define CRC32_POLY UINT32_C(0xedb88320) /* 0x04c11db7, its lowest power in the highest bit */

static_assert((int)UDP_IPV4_BYTES == (int)ipv4_bytes && (int)UDP_IPV6_BYTES == (int)ipv6_bytes &&
		      (int)UDP_HEADER_BYTES == (int)udp_bytes &&
		      (int)UDP_BTH_BYTES == (int)bth_bytes &&
		      (int)UDP_ROCE_PORT == (int)NET_ROCE_PORT,
	      "the wire's own numbers");

/* Packets of forgers come in any length, each with a wrong CRC: only the delta of the highest bit
 * is carried over all the bytes. The CRC takes a byte's lowest bit first, so the delta of the next
 * lower bit is one more multiplication by x. */
void udp_deltas_make(struct udp_deltas *d, uint32_t bytes)
{
	uint32_t highest = UDP_SEGMENTS_MAX / 2, one[UDP_SEGMENTS_MAX];
	uint32_t zero = crc32_update(0, &(uint8_t){0}, 1);

	if (d->bytes == bytes)
		return;
	one[highest] = crc32_update(0, &(uint8_t){(uint8_t)highest}, 1) ^ zero;
	one[highest] = crc32_combine(one[highest], 0, bytes);
	for (uint32_t bit = highest; bit > 1; bit /= 2)
		one[bit / 2] = one[bit] >> 1 ^ (one[bit] & 1 ? CRC32_POLY : 0);
	d->bytes = bytes;
	d->of[0] = 0;
	for (uint32_t bit = 1; bit < UDP_SEGMENTS_MAX; bit *= 2)
		for (uint32_t i = 0; i < bit; i++)
			d->of[bit + i] = d->of[i] ^ one[bit];
}

/* Fields that the ICRC masks are left as they are: icrc_front replaces them. */
void udp_pseudo_make(struct udp_pseudo *p, const struct udp_ends *ends)
{
	uint8_t at[sizeof p->at] = {0};
	uint32_t ip_len;

	if (ends->from->family == AF_INET) {
		ip_len = ipv4_bytes;
		at[0] = 0x45;
		at[6] = 0x40; /* the sockets forbid fragments */
		at[9] = IPPROTO_UDP_IN;
		memcpy(at + 12, ends->from->ip, 4);
		memcpy(at + 16, ends->to->ip, 4);
	} else {
		ip_len = ipv6_bytes;
		at[0] = 0x60;
		at[6] = IPPROTO_UDP_IN;
		memcpy(at + 8, ends->from->ip, 16);
		memcpy(at + 24, ends->to->ip, 16);
	}
	put_be16(at + ip_len, ends->sport);
	put_be16(at + ip_len + 2, ends->dport);
	if (memcmp(p->at, at, sizeof at) == 0)
		return;
	memcpy(p->at, at, sizeof at);
	p->ip_len = ip_len;
	memset(p->fronts, 0, sizeof p->fronts);
	/* To the UDP header's end from the identification's second byte, which is the sixth. */
	udp_deltas_make(&p->ids, ipv4_bytes - 6 + udp_bytes);
}

static uint32_t front_of(const struct udp_pseudo *p, uint32_t bytes)
{
	uint16_t udp_len = (uint16_t)(udp_bytes + bytes);
	uint8_t at[sizeof p->at];

	memcpy(at, p->at, sizeof at);
	if (p->ip_len == ipv4_bytes)
		put_be16(at + 2, (uint16_t)(ipv4_bytes + udp_len));
	else
		put_be16(at + 4, udp_len);
	put_be16(at + p->ip_len + 4, udp_len);
	return icrc_front(at);
}

uint32_t udp_pseudo_crc(struct udp_pseudo *p, uint32_t bytes, uint8_t id, const uint8_t *bth)
{
	uint32_t i = (bytes ^ bytes >> 4) % UDP_FRONTS;

	assert(id < UDP_SEGMENTS_MAX);
	if (p->fronts[i].bytes != bytes) {
		p->fronts[i].bytes = bytes;
		p->fronts[i].crc = front_of(p, bytes);
	}
	uint32_t front = p->fronts[i].crc;

	return icrc_bth(p->ip_len == ipv4_bytes ? front ^ p->ids.of[id] : front, bth);
}
