/* IPv6 packets with segment routing in words, and the bytes they stand for: what tests of the
 * forwarding plane compare with. Written with the codecs, not with the code under test. */
#ifndef WEFT_TESTS_SUPPORT_SHAPE_H
#define WEFT_TESTS_SUPPORT_SHAPE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "check.h"
#include "wire/net.h"
#include "wire/srh.h"

enum { SHAPE_SEGMENTS_MAX = 4, SHAPE_BYTES_MAX = 512 };

/* A packet in words: what shape_build() writes down. */
struct shape {
	bool is_inner; /* the outermost header has what an inner one has */
	uint8_t n_vlan;
	uint8_t dst[16];
	uint8_t tclass;
	bool has_srh;
	uint8_t n_segments, segments_left, n_tlvs; /* TLVs in units of 8 bytes, all padding */
	uint8_t segments[SHAPE_SEGMENTS_MAX][16];
	bool has_inner;
	uint8_t inner_class;
	uint8_t upper; /* behind it all */
	uint32_t payload;
	uint32_t excess, inner_excess; /* the length claims so much more than there is */
	uint32_t padding;
};

/* A container of one uSID. */
#define SHAPE_ONLY(usid) "fcbbbb00" usid "00000000000000000000"

static inline void shape_hex(uint8_t *out, const char *hex)
{
	for (unsigned byte; *hex; hex += 2) {
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		*out++ = (uint8_t)byte;
	}
}

static inline uint32_t shape_put_ipv6(uint8_t *out, bool is_inner, uint8_t tclass, uint8_t next,
				      uint32_t length)
{
	struct ipv6 ip = {
		.version = 6,
		.dscp = tclass >> 2,
		.ecn = tclass & 3,
		.flow_label = is_inner ? 0xa5c3e : 0x71902,
		.length = (uint16_t)length,
		.next_header = next,
		.hop_limit = is_inner ? 9 : 64,
	};

	ipv6_put(&ip, out);
	memset(out + 8, 0x20, 16);
	memset(out + 24, 0x30, 16);
	return ipv6_bytes;
}

static inline uint32_t shape_put_srh(uint8_t *out, const struct shape *s, uint8_t next)
{
	struct srh srh = {
		.next_header = next,
		.ext_len = (uint8_t)(2 * s->n_segments + s->n_tlvs),
		.routing_type = SRH_ROUTING_TYPE,
		.segments_left = s->segments_left,
		.last_entry = (uint8_t)(s->n_segments - 1),
		.flags = 0x80,
		.tag = 0xbeef,
	};

	srh_put(&srh, out);
	for (uint32_t i = 0; i < s->n_segments; i++)
		memcpy(out + srh_bytes + srh_segment_bytes * i, s->segments[i], 16);
	uint32_t n = (uint32_t)srh_bytes + srh_segment_bytes * s->n_segments;

	memset(out + n, 0, 8u * s->n_tlvs);
	return n + 8u * s->n_tlvs;
}

static inline uint32_t shape_build(uint8_t *out, const struct shape *s)
{
	uint8_t *p = out;
	uint32_t inner = s->has_inner ? ipv6_bytes : 0;
	uint32_t srh = s->has_srh ? 8u + 16u * s->n_segments + 8u * s->n_tlvs : 0;
	uint8_t upper = s->has_inner ? IPPROTO_IPV6_IN : s->upper;

	memset(p, 0x02, 6);
	memset(p + 6, 0x04, 6);
	for (p += 12; p < out + 12 + 4 * s->n_vlan; p += 4)
		put_be32(p, 0x81000064);
	put_be16(p, ETHERTYPE_IPV6);
	p += 2;
	shape_put_ipv6(p, s->is_inner, s->tclass, s->has_srh ? IPPROTO_ROUTING_IN : upper,
		       srh + inner + s->payload + s->excess);
	memcpy(p + 24, s->dst, 16);
	p += ipv6_bytes;
	if (s->has_srh)
		p += shape_put_srh(p, s, upper);
	if (s->has_inner)
		p += shape_put_ipv6(p, true, s->inner_class, s->upper,
				    s->payload + s->inner_excess);
	for (uint32_t i = 0; i < s->payload; i++)
		*p++ = (uint8_t)(0x40 + i);
	memset(p, 0xee, s->padding);
	return (uint32_t)(p - out) + s->padding;
}

static inline struct shape shape_plain(const char *dst)
{
	struct shape s = {.has_inner = true, .upper = IPPROTO_UDP_IN, .payload = 24};

	shape_hex(s.dst, dst);
	return s;
}

/* segments: hex of 16 bytes each, segment 0 first. */
static inline struct shape shape_routed(const char *dst, uint8_t n, uint8_t left,
					const char *segments)
{
	struct shape s = shape_plain(dst);

	s.has_srh = true;
	s.n_segments = n;
	s.segments_left = left;
	shape_hex((uint8_t *)s.segments, segments);
	return s;
}

/* What is left of a packet without its outer headers. */
static inline struct shape shape_inner(const struct shape *s)
{
	struct shape inner = {
		.is_inner = true,
		.n_vlan = s->n_vlan,
		.tclass = s->inner_class,
		.upper = s->upper,
		.payload = s->payload,
		.excess = s->inner_excess,
	};

	memset(inner.dst, 0x30, 16);
	return inner;
}

#endif
