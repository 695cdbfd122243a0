#include "io/udp_pseudo.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/crc32.h"
#include "wire/net.h"

#define CRC32_POLY UINT32_C(0xedb88320) /* 0x04c11db7, its lowest power in the highest bit */

static_assert((int)UDP_IPV4_BYTES == (int)ipv4_bytes && (int)UDP_IPV6_BYTES == (int)ipv6_bytes &&
		      (int)UDP_HEADER_BYTES == (int)udp_bytes,
	      "the wire's own numbers");

enum { V4_ID = 4, HEADERS_MAX = ipv6_bytes + udp_bytes };

static_assert(HEADERS_MAX + UDP_MASKED <= SEAL_FRONT_MAX, "masks reach so far");

/* Bits of the headers that hops change or the kernel chooses, over IPv4 and over IPv6. */
static const uint8_t hidden[2][HEADERS_MAX] = {
	{[1] = 0xff, /* type of service */
	 [V4_ID] = 0xff,
	 [V4_ID + 1] = 0xff,
	 [8] = 0xff, /* time to live */
	 [10] = 0xff,
	 [11] = 0xff, /* header checksum */
	 [ipv4_bytes + 6] = 0xff,
	 [ipv4_bytes + 7] = 0xff},
	{[0] = 0x0f,
	 [1] = 0xff,
	 [2] = 0xff,
	 [3] = 0xff, /* traffic class, flow label */
	 [7] = 0xff, /* hop limit */
	 [ipv6_bytes + 6] = 0xff,
	 [ipv6_bytes + 7] = 0xff},
};

static const struct seal_front *front_for(const struct seal *s, uint32_t ip_len)
{
	return &s->front[ip_len == ipv4_bytes ? 0 : 1];
}

/* Of a byte in front of the carried ones: which bits a seal covers as they are. */
static uint8_t covered_bits(const struct seal_front *f, uint32_t at)
{
	if (at < f->from)
		return 0;
	return at < f->to ? (uint8_t) ~(f->ones[at] | f->zeros[at]) : 0xff;
}

static bool has_ids(const struct seal *s, uint32_t ip_len)
{
	return s == &seal_icrc && ip_len == ipv4_bytes;
}

bool udp_pseudo_knows(const struct seal *s)
{
	for (uint32_t v = 0; v < 2; v++) {
		uint32_t ip_len = v == 0 ? ipv4_bytes : ipv6_bytes;
		const struct seal_front *f = front_for(s, ip_len);

		if (f->from > ip_len + udp_bytes || f->to > ip_len + udp_bytes + UDP_MASKED)
			return false;
		for (uint32_t at = 0; at < ip_len + udp_bytes; at++) {
			bool is_id = at == V4_ID || at == V4_ID + 1;

			if (covered_bits(f, at) & hidden[v][at] && !(is_id && has_ids(s, ip_len)))
				return false;
		}
	}
	return true;
}

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

/* Fields that are hidden stay zero: the seal masks them. */
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
	if (p->seal == ends->seal && memcmp(p->at, at, sizeof at) == 0)
		return;
	memcpy(p->at, at, sizeof at);
	p->seal = ends->seal;
	p->ip_len = ip_len;
	p->has_ids = has_ids(p->seal, ip_len);
	const struct seal_front *f = front_for(p->seal, ip_len);
	uint32_t end = ip_len + udp_bytes;

	p->covered = f->to > end ? f->to - end : 0;
	memcpy(p->zeros, f->zeros + end, sizeof p->zeros);
	memcpy(p->ones, f->ones + end, sizeof p->ones);
	memset(p->fronts, 0, sizeof p->fronts);
	/* To the UDP header's end from the identification's second byte, which is the sixth. */
	if (p->has_ids)
		udp_deltas_make(&p->ids, ipv4_bytes - 6 + udp_bytes);
}

static uint32_t front_of(const struct udp_pseudo *p, uint32_t bytes)
{
	const struct seal_front *f = front_for(p->seal, p->ip_len);
	uint16_t udp_len = (uint16_t)(udp_bytes + bytes);
	uint32_t end = p->ip_len + udp_bytes;
	uint8_t at[SEAL_FRONT_MAX] = {0};

	memcpy(at, p->at, sizeof p->at);
	if (p->ip_len == ipv4_bytes)
		put_be16(at + 2, (uint16_t)(ipv4_bytes + udp_len));
	else
		put_be16(at + 4, udp_len);
	put_be16(at + p->ip_len + 4, udp_len);
	for (uint32_t i = 0; i < f->to && i < sizeof at; i++)
		at[i] = (uint8_t)((at[i] & ~f->zeros[i]) | f->ones[i]);
	return seal_update(p->seal, p->seal->start, at + f->from, end - f->from);
}

uint32_t udp_pseudo_crc(struct udp_pseudo *p, uint32_t bytes, uint8_t id, const uint8_t *carried)
{
	uint32_t i = (bytes ^ bytes >> 4) % UDP_FRONTS, crc;
	uint8_t first[UDP_MASKED];

	assert(id < UDP_SEGMENTS_MAX);
	if (p->fronts[i].bytes != bytes) {
		p->fronts[i].bytes = bytes;
		p->fronts[i].crc = front_of(p, bytes);
	}
	crc = p->fronts[i].crc;
	if (p->has_ids)
		crc ^= p->ids.of[id];
	if (p->covered == 0)
		return crc;
	/* As many as the compiler knows. */
	for (uint32_t k = 0; k < sizeof first; k++)
		first[k] = (uint8_t)((carried[k] & ~p->zeros[k]) | p->ones[k]);
	return seal_update(p->seal, crc, first, p->covered);
}
