#include "encap/encap.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/net.h"
#include "wire/srh.h"

static uint8_t *put_ipv6(uint8_t *at, const struct ipv6 *ip)
{
	ipv6_put(ip, at);
	return at + ipv6_bytes;
}

static uint8_t *put_srh(uint8_t *at, const uint8_t segment[16])
{
	struct srh srh = {
		.next_header = IPPROTO_IPV6_IN,
		.ext_len = srh_segment_bytes / 8,
		.routing_type = SRH_ROUTING_TYPE,
		.segments_left = 1,
	};

	srh_put(&srh, at);
	memcpy(at + srh_bytes, segment, srh_segment_bytes);
	return at + srh_bytes + srh_segment_bytes;
}

static uint8_t protocol_of(const struct encap_ends *ends)
{
	return ends->native ? ends->native : IPPROTO_UDP_IN;
}

static uint8_t *put_ipv4(uint8_t *at, const struct encap_ends *ends)
{
	struct ipv4 ip = {
		.version = 4,
		.ihl = ipv4_bytes / 4,
		.df = 1,
		.ttl = ends->hop_limit,
		.protocol = protocol_of(ends),
		.src = get_be32(ends->src),
		.dst = get_be32(ends->dst),
	};

	ipv4_put(&ip, at);
	return at + ipv4_bytes;
}

/* The encapsulation, where there is one, and the IPv6 header that belongs to what is carried. */
static uint8_t *put_ipv6s(struct encap_head *h, uint8_t *at, const struct encap_ends *ends,
			  const struct encap_segments *segments)
{
	struct ipv6 ip = {.version = 6, .hop_limit = ends->hop_limit};

	memcpy(ip.src, ends->src, sizeof ip.src);
	if (segments->n > 0) {
		memcpy(ip.dst, segments->at[0], sizeof ip.dst);
		ip.next_header = segments->n > 1 ? IPPROTO_ROUTING_IN : IPPROTO_IPV6_IN;
		at = put_ipv6(at, &ip);
		if (segments->n > 1)
			at = put_srh(at, segments->at[1]);
	}
	h->inner_at = (uint8_t)(at - h->bytes);
	memcpy(ip.dst, ends->dst, sizeof ip.dst);
	ip.next_header = protocol_of(ends);
	return put_ipv6(at, &ip);
}

void encap_make(struct encap_head *h, const struct encap_ends *ends,
		const struct encap_segments *segments)
{
	static const struct entropy none;
	struct udp udp = {.dport = ends->dport};
	uint8_t *at = h->bytes;

	assert(segments->n <= (ends->is_v4 ? 0 : 2));
	memcpy(at, ends->dst_mac, 6);
	memcpy(at + 6, ends->src_mac, 6);
	put_be16(at + 12, ends->is_v4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6);
	at += eth_bytes;
	h->is_v4 = ends->is_v4;
	h->outer_at = h->inner_at = (uint8_t)(at - h->bytes);
	at = ends->is_v4 ? put_ipv4(at, ends) : put_ipv6s(h, at, ends, segments);
	h->front_at = (uint8_t)(at - h->bytes);
	h->is_native = ends->native != 0;
	if (h->is_native)
		entropy_put(&none, at);
	else
		udp_put(&udp, at);
	h->len = (uint8_t)(h->front_at + (h->is_native ? entropy_bytes : udp_bytes));
}

static void complete_ipv4(uint8_t *ip, const struct encap_packet *p, uint32_t payload_bytes)
{
	ip[1] = (uint8_t)(p->dscp << 2 | p->ecn);
	put_be16(ip + 2, (uint16_t)(ipv4_bytes + payload_bytes));
	put_be16(ip + 10, ipv4_checksum(ip));
}

static void complete_ipv6(uint8_t *ip, const struct encap_packet *p, uint32_t payload_bytes)
{
	uint32_t tclass = (uint32_t)p->dscp << 2 | p->ecn;

	put_be32(ip, UINT32_C(6) << 28 | tclass << 20 | (p->ev & 0xffff));
	put_be16(ip + 4, (uint16_t)payload_bytes);
}

void encap_write(const struct encap_head *h, const struct encap_packet *p, uint8_t *out)
{
	uint32_t ip_len = h->len - h->front_at + p->transport_bytes; /* its payload */
	uint8_t *front = out + h->front_at;

	memcpy(out, h->bytes, h->len);
	if (h->outer_at != h->inner_at)
		complete_ipv6(out + h->outer_at, p, ip_len + h->inner_at - h->outer_at);
	if (h->is_v4)
		complete_ipv4(out + h->inner_at, p, ip_len);
	else
		complete_ipv6(out + h->inner_at, p, ip_len);
	put_be16(front, (uint16_t)(p->ev >> 16));
	if (!h->is_native)
		put_be16(front + 4, p->udp_len ? p->udp_len : (uint16_t)ip_len);
}
