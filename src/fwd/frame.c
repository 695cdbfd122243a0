#include "fwd/frame.h"

#include <assert.h>
#include <stddef.h>

#include "base/bytes.h"
#include "wire/net.h"

enum {
	IPV4_LENGTH_AT = 2,
	IPV4_FRAGMENT_AT = 6,
	IPV4_TTL_AT = 8,
	IPV4_CHECKSUM_AT = 10,
	IPV6_LENGTH_AT = 4,
	IPV6_HOP_LIMIT_AT = 7,
	PORTS_BYTES = 4, /* both ports open a UDP header and a TCP header alike */
	WORD_MAX = 0xffff,
};

static const struct {
	const char *name, *text;
} drops[FWD_DROP_COUNT] = {
#define DROP_TEXT(id, sentence) [FWD_DROP_##id].text = sentence,
	FWD_DROPS(DROP_TEXT)
#undef DROP_TEXT
		[FWD_DROP_NONE]
			.name = "none",
	[FWD_DROP_MALFORMED].name = "malformed",
	[FWD_DROP_NOT_IP].name = "not-ip",
	[FWD_DROP_CHECKSUM].name = "checksum",
	[FWD_DROP_HOP_LIMIT].name = "hop-limit",
	[FWD_DROP_NO_ROUTE].name = "no-route",
	[FWD_DROP_EV_RANGE].name = "ev-range",
	[FWD_DROP_SID_END].name = "sid-end",
	[FWD_DROP_SID_LEFT].name = "sid-left",
	[FWD_DROP_SID_HEADER].name = "sid-header",
	[FWD_DROP_SID_UPPER].name = "sid-upper",
	[FWD_DROP_SID_ECN].name = "sid-ecn",
};

const char *fwd_drop_name(enum fwd_drop drop)
{
	return (unsigned)drop < FWD_DROP_COUNT ? drops[drop].name : NULL;
}

const char *fwd_drop_text(enum fwd_drop drop)
{
	return (unsigned)drop < FWD_DROP_COUNT ? drops[drop].text : NULL;
}

uint8_t fwd_ecn_inward(uint8_t inner, uint8_t outer)
{
	/* Figure 4: [inner][outer] */
	static const uint8_t ecn[4][4] = {
		[FWD_ECN_NOT_ECT] = {[FWD_ECN_CE] = FWD_ECN_DROP},
		[FWD_ECN_ECT1] = {FWD_ECN_ECT1, FWD_ECN_ECT1, FWD_ECN_ECT1, FWD_ECN_CE},
		[FWD_ECN_ECT0] = {FWD_ECN_ECT0, FWD_ECN_ECT1, FWD_ECN_ECT0, FWD_ECN_CE},
		[FWD_ECN_CE] = {FWD_ECN_CE, FWD_ECN_CE, FWD_ECN_CE, FWD_ECN_CE},
	};

	return ecn[inner & 3][outer & 3];
}

static uint16_t fold16(uint64_t sum)
{
	while (sum > WORD_MAX)
		sum = (sum & WORD_MAX) + (sum >> 16);
	return (uint16_t)sum;
}

/* RFC 1071 over the whole header, options included; its 32-bit words may be summed as they are,
 * because 2^16 is 1 in one's complement. */
static bool ipv4_is_sound(const uint8_t *ip, uint32_t bytes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < bytes; i += 4)
		sum += get_be32(ip + i);
	return fold16(sum) == WORD_MAX;
}

/* A packet too short for ports has none; ports that the packet has but memory has not break the
 * promise of struct fwd_frame. */
static inline enum fwd_drop get_ports(const struct fwd_frame *f, struct fwd_view *view,
				      uint32_t header)
{
	if (view->protocol != IPPROTO_UDP_IN && view->protocol != IPPROTO_TCP_IN)
		return FWD_DROP_NONE;
	if (view->ip_len < header + PORTS_BYTES)
		return FWD_DROP_NONE;
	if (f->stored - view->ip_at < header + PORTS_BYTES)
		return FWD_DROP_MALFORMED;
	view->sport = get_be16(view->ip + header);
	view->dport = get_be16(view->ip + header + 2);
	return FWD_DROP_NONE;
}

static enum fwd_drop get_ipv6(const struct fwd_frame *f, uint32_t at, struct fwd_view *view)
{
	if (f->stored - at < ipv6_bytes)
		return FWD_DROP_MALFORMED;
	uint8_t *ip = f->at + at;
	uint32_t word = get_be32(ip);

	if (word >> 28 != 6)
		return FWD_DROP_NOT_IP;
	*view = (struct fwd_view){
		.ip = ip,
		.ip_at = at,
		.ip_len = (uint32_t)get_be16(ip + IPV6_LENGTH_AT) + ipv6_bytes,
		.flow_label = word & 0xfffff,
		.version = 6,
		.dscp = word >> 22 & 0x3f,
		.ecn = word >> 20 & 3,
		.hop_limit = ip[IPV6_HOP_LIMIT_AT],
		.protocol = ip[6],
	};
	if (view->ip_len > f->len - at)
		return FWD_DROP_MALFORMED;
	return get_ports(f, view, ipv6_bytes);
}

/* The checks of RFC 1812 5.2.2. Options are passed over, not obeyed. */
static enum fwd_drop get_ipv4(const struct fwd_frame *f, uint32_t at, struct fwd_view *view)
{
	if (f->stored - at < ipv4_bytes)
		return FWD_DROP_MALFORMED;
	uint8_t *ip = f->at + at;
	uint32_t header = 4u * (ip[0] & 0xf);

	if (ip[0] >> 4 != 4)
		return FWD_DROP_NOT_IP;
	*view = (struct fwd_view){
		.ip = ip,
		.ip_at = at,
		.ip_len = get_be16(ip + IPV4_LENGTH_AT),
		.version = 4,
		.dscp = ip[1] >> 2,
		.ecn = ip[1] & 3,
		.hop_limit = ip[IPV4_TTL_AT],
		.protocol = ip[9],
	};
	if (header < ipv4_bytes || header > f->stored - at)
		return FWD_DROP_MALFORMED;
	if (view->ip_len < header || view->ip_len > f->len - at)
		return FWD_DROP_MALFORMED;
	if (!ipv4_is_sound(ip, header))
		return FWD_DROP_CHECKSUM;
	/* Behind the header of a later fragment lies the middle of a payload, not ports. */
	if (get_be16(ip + IPV4_FRAGMENT_AT) & 0x1fff)
		return FWD_DROP_NONE;
	return get_ports(f, view, header);
}

enum fwd_drop fwd_view_get(const struct fwd_frame *f, struct fwd_view *view)
{
	uint32_t at = eth_bytes;

	assert(f->stored <= f->len);
	if (f->stored < at)
		return FWD_DROP_MALFORMED;
	uint16_t type = get_be16(f->at + at - 2);

	for (uint32_t tags = 0; type == ETHERTYPE_VLAN || type == ETHERTYPE_QINQ; tags++) {
		if (tags == NET_VLANS_MAX)
			return FWD_DROP_NOT_IP;
		at += vlan_bytes;
		if (f->stored < at)
			return FWD_DROP_MALFORMED;
		type = get_be16(f->at + at - 2);
	}
	if (type == ETHERTYPE_IPV6)
		return get_ipv6(f, at, view);
	return type == ETHERTYPE_IPV4 ? get_ipv4(f, at, view) : FWD_DROP_NOT_IP;
}

/* Replaces the 16-bit word at a place of an IPv4 header. RFC 1624 equation 3, which is right also
 * where the older one gives 0xffff for 0. */
static void replace_word(uint8_t *ip, uint32_t at, uint16_t word)
{
	uint32_t sum = (uint32_t)(uint16_t)~get_be16(ip + IPV4_CHECKSUM_AT) +
		       (uint16_t)~get_be16(ip + at) + word;

	put_be16(ip + at, word);
	put_be16(ip + IPV4_CHECKSUM_AT, (uint16_t)~fold16(sum));
}

static void put_class(struct fwd_view *view)
{
	uint8_t *ip = view->ip, class = (uint8_t)(view->dscp << 2 | view->ecn);

	if (view->version == 4)
		replace_word(ip, 0, (uint16_t)(ip[0] << 8 | class));
	else
		put_be16(ip, (uint16_t)(6 << 12 | class << 4 | (ip[1] & 0xf)));
}

void fwd_set_dscp(struct fwd_view *view, uint8_t dscp)
{
	assert(dscp < 64);
	view->dscp = dscp;
	put_class(view);
}

void fwd_set_ecn(struct fwd_view *view, uint8_t ecn)
{
	assert(ecn < 4);
	view->ecn = ecn;
	put_class(view);
}

void fwd_set_ip_len(struct fwd_view *view, uint32_t ip_len)
{
	if (view->version == 4) {
		assert(ip_len >= 4u * (view->ip[0] & 0xf) && ip_len <= WORD_MAX);
		replace_word(view->ip, IPV4_LENGTH_AT, (uint16_t)ip_len);
	} else {
		assert(ip_len >= ipv6_bytes && ip_len - ipv6_bytes <= WORD_MAX);
		put_be16(view->ip + IPV6_LENGTH_AT, (uint16_t)(ip_len - ipv6_bytes));
	}
	view->ip_len = ip_len;
}

enum fwd_drop fwd_take_hop(struct fwd_view *view)
{
	if (view->hop_limit <= 1)
		return FWD_DROP_HOP_LIMIT;
	view->hop_limit--;
	if (view->version == 4)
		replace_word(view->ip, IPV4_TTL_AT,
			     (uint16_t)(view->hop_limit << 8 | view->protocol));
	else
		view->ip[IPV6_HOP_LIMIT_AT] = view->hop_limit;
	return FWD_DROP_NONE;
}
