#include "frame.h"

#include <assert.h>
#include <string.h>

#include "wire/icrc.h"

/* Addresses of documentation ranges: nothing here is ever sent beyond a test. */
static const uint8_t host_a[16] = {0xfd, 0, [15] = 2};
static const uint8_t host_b[16] = {0xfd, 0, [15] = 1};
static const uint8_t path[16] = {0xfc, 0, 0, 0, 0x01, 0x01, 0x02, 0x11, 0x03, 0x21};
static const uint8_t path_more[16] = {0xfc, 0, 0, 0, 0x04, 0x31, 0x05, 0x41};

static uint8_t *grow(struct frame *f, uint32_t n)
{
	assert(f->len + n <= FRAME_MAX);
	uint8_t *p = f->bytes + f->len;

	f->len += n;
	return p;
}

static void add_link(struct frame *f, const struct frame_spec *spec)
{
	uint16_t type = spec->ip_version == 4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6;
	struct eth eth = {0x020000000001, 0x020000000002, spec->n_vlan ? ETHERTYPE_VLAN : type};

	if (spec->srv6 != FRAME_NATIVE)
		type = ETHERTYPE_IPV6;
	if (spec->n_vlan == 2)
		eth.type = ETHERTYPE_QINQ;
	else if (spec->n_vlan == 0)
		eth.type = type;
	eth_put(&eth, grow(f, eth_bytes));
	for (unsigned i = 0; i < spec->n_vlan; i++) {
		bool last = i + 1 == spec->n_vlan;
		struct vlan vlan = {3, 0, (uint16_t)(100 + i), last ? type : ETHERTYPE_VLAN};

		vlan_put(&vlan, grow(f, vlan_bytes));
	}
}

static void add_ipv6(struct frame *f, const struct frame_spec *spec, uint8_t next, uint32_t length)
{
	struct ipv6 ip = {
		.version = 6,
		.dscp = spec->dscp,
		.ecn = spec->ecn,
		.flow_label = spec->flow_label,
		.length = (uint16_t)length,
		.next_header = next,
		.hop_limit = 64,
	};
	bool is_outer = next != IPPROTO_UDP_IN;

	memcpy(ip.src, host_a, 16);
	memcpy(ip.dst, is_outer ? path : host_b, 16);
	ipv6_put(&ip, grow(f, ipv6_bytes));
}

static void add_ipv4(struct frame *f, const struct frame_spec *spec, uint32_t length)
{
	struct ipv4 ip = {
		.version = 4,
		.ihl = 5,
		.dscp = spec->dscp,
		.ecn = spec->ecn,
		.length = (uint16_t)(length + ipv4_bytes),
		.id = 0x1234,
		.df = 1,
		.ttl = 64,
		.protocol = IPPROTO_UDP_IN,
		.src = 0xc0000201,
		.dst = 0xc0000202,
	};
	uint32_t at = f->len;

	ipv4_put(&ip, grow(f, ipv4_bytes));
	frame_fix_ipv4(f, at);
}

static uint32_t srh_length(enum frame_srv6 srv6)
{
	switch (srv6) {
	case FRAME_USID_SRH: return srh_bytes + srh_segment_bytes;
	case FRAME_USID_SRH_TLV: return srh_bytes + srh_segment_bytes + srh_hmac_bytes + 32 + 8;
	default: return 0;
	}
}

static void add_srh(struct frame *f, const struct frame_spec *spec)
{
	uint32_t length = srh_length(spec->srv6);
	struct srh srh = {
		.next_header = spec->ip_version == 4 ? IPPROTO_IPV4_IN : IPPROTO_IPV6_IN,
		.ext_len = (uint8_t)(length / 8 - 1),
		.routing_type = SRH_ROUTING_TYPE,
		.segments_left = 1,
		.tag = 0x77,
	};

	if (length == 0)
		return;
	srh_put(&srh, grow(f, srh_bytes));
	memcpy(grow(f, srh_segment_bytes), path_more, srh_segment_bytes);
	if (spec->srv6 != FRAME_USID_SRH_TLV)
		return;
	/* Three Pad1, a PadN of 5 bytes, then the HMAC on an 8-byte boundary. */
	static const uint8_t padding[8] = {0, 0, 0, SRH_TLV_PADN, 3};
	struct srh_hmac hmac = {SRH_TLV_HMAC, srh_hmac_bytes - srh_tlv_bytes + 32, 1, 0, 0xcafe};

	memcpy(grow(f, sizeof padding), padding, sizeof padding);
	srh_hmac_put(&hmac, grow(f, srh_hmac_bytes));
	memset(grow(f, 32), 0x5a, 32);
}

void frame_build(struct frame *f, const struct frame_spec *spec, struct cspan transport,
		 struct cspan payload)
{
	uint32_t udp_len = udp_bytes + transport.len + payload.len + icrc_bytes;
	uint32_t ip_len = udp_len + (spec->ip_version == 4 ? ipv4_bytes : ipv6_bytes);
	struct udp udp = {
		.sport = spec->sport,
		.dport = NET_ROCE_PORT,
		.length = spec->udp_length ? spec->udp_length : (uint16_t)udp_len,
	};

	f->len = 0;
	add_link(f, spec);
	f->ip_at = f->len;
	if (spec->srv6 != FRAME_NATIVE) {
		uint32_t srh_len = srh_length(spec->srv6);
		uint8_t inner = spec->ip_version == 4 ? IPPROTO_IPV4_IN : IPPROTO_IPV6_IN;

		add_ipv6(f, spec, srh_len ? IPPROTO_ROUTING_IN : inner, srh_len + ip_len);
		add_srh(f, spec);
	}
	uint32_t inner_at = f->len;

	if (spec->ip_version == 4)
		add_ipv4(f, spec, udp_len);
	else
		add_ipv6(f, spec, IPPROTO_UDP_IN, udp_len);
	udp_put(&udp, grow(f, udp_bytes));
	memcpy(grow(f, transport.len), transport.at, transport.len);
	if (payload.len)
		memcpy(grow(f, payload.len), payload.at, payload.len);
	grow(f, icrc_bytes);
	frame_fix_icrc(f, inner_at);
}

void frame_insert(struct frame *f, uint32_t at, const void *bytes, uint32_t n)
{
	assert(at <= f->len && f->len + n <= FRAME_MAX);
	memmove(f->bytes + at + n, f->bytes + at, f->len - at);
	memcpy(f->bytes + at, bytes, n);
	f->len += n;
}

void frame_fix_length(struct frame *f)
{
	uint8_t *ip = f->bytes + f->ip_at;

	if (ip[0] >> 4 == 4) {
		put_be16(ip + 2, (uint16_t)(f->len - f->ip_at));
		frame_fix_ipv4(f, f->ip_at);
	} else {
		put_be16(ip + 4, (uint16_t)(f->len - f->ip_at - ipv6_bytes));
	}
}

void frame_fix_ipv4(struct frame *f, uint32_t at)
{
	put_be16(f->bytes + at + 10, 0);
	put_be16(f->bytes + at + 10, ipv4_checksum(f->bytes + at));
}

void frame_fix_icrc(struct frame *f, uint32_t ip_at)
{
	uint32_t end = f->len - icrc_bytes;

	icrc_put(f->bytes + end, icrc_of((struct cspan){f->bytes + ip_at, end - ip_at}));
}

void frame_trim(struct frame *f, uint8_t dscp, uint32_t keep)
{
	uint8_t *ip = f->bytes + f->ip_at;

	if (ip[0] >> 4 == 4) {
		struct ipv4 h;

		ipv4_get(ip, &h);
		h.dscp = dscp;
		h.length = (uint16_t)(ipv4_bytes + keep);
		ipv4_put(&h, ip);
		frame_fix_ipv4(f, f->ip_at);
		f->len = f->ip_at + ipv4_bytes + keep;
	} else {
		struct ipv6 h;

		ipv6_get(ip, &h);
		h.dscp = dscp;
		h.length = (uint16_t)keep;
		ipv6_put(&h, ip);
		f->len = f->ip_at + ipv6_bytes + keep;
	}
}

void frame_decapsulate(struct frame *f)
{
	struct ipv6 outer, inner;
	uint32_t inner_at = f->ip_at + ipv6_bytes;

	ipv6_get(f->bytes + f->ip_at, &outer);
	if (outer.next_header == IPPROTO_ROUTING_IN)
		inner_at += 8u + 8u * f->bytes[inner_at + 1];
	ipv6_get(f->bytes + inner_at, &inner);
	inner.dscp = outer.dscp;
	ipv6_put(&inner, f->bytes + inner_at);
	memmove(f->bytes + f->ip_at, f->bytes + inner_at, f->len - inner_at);
	f->len -= inner_at - f->ip_at;
}
