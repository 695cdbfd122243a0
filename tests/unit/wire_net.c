/* Link, IP and UDP: what the walk accepts beyond the samples, and what it says of a packet. */
#include "check.h"

#include <string.h>

#include "catalog.h"

static struct wire_fault walk(const struct frame *f, struct net_pkt *pkt)
{
	struct net_cfg cfg = catalog_cfg();

	return net_get((struct cspan){f->bytes, f->len}, NET_LINK_ETHERNET, &cfg, pkt, NULL);
}

static void finds_udp_payload(void **state)
{
	static struct sample s;
	struct net_pkt pkt;

	(void)state;
	catalog_find("MRC SACK, SRv6 uSID SRH", &s);
	assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_NONE);
	assert_int_equal(pkt.n_ip, 2);
	assert_true(pkt.has_srh);
	assert_int_equal(pkt.udp_at, 14 + 40 + 24 + 40);
	assert_int_equal(pkt.transport, pkt.udp_at + 8);
	assert_int_equal(pkt.end, s.frame.len);
	assert_int_equal(net_dscp(&pkt), CATALOG_DSCP_CONTROL);
	assert_int_equal(net_ecn(&pkt), 2);
	catalog_find("RoCE SEND Only, VLAN IPv4", &s);
	assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_NONE);
	assert_int_equal(pkt.n_vlan, 1);
	assert_int_equal(pkt.vlan[0].vid, 100);
	assert_int_equal(net_ecn(&pkt), 2);
	assert_int_equal(net_dscp(&pkt), 0);
}

/* A link whose header was taken off: its EtherType says what comes, tags included. */
static void link_may_be_an_ethertype(void **state)
{
	static const struct {
		const char *name;
		uint16_t link;
		enum wire_drop why;
	} want[] = {
		{"RoCE SEND Only, IPv4", ETHERTYPE_IPV4, WIRE_DROP_NONE},
		{"RoCE SEND Only, IPv6", ETHERTYPE_IPV6, WIRE_DROP_NONE},
		{"RoCE SEND Only, VLAN IPv4", ETHERTYPE_VLAN, WIRE_DROP_NONE},
		{"RoCE SEND Only, QinQ IPv6", ETHERTYPE_QINQ, WIRE_DROP_NONE},
		{"RoCE SEND Only, IPv6", 0x0806, WIRE_DROP_NOT_IP},
		/* only where the type is believed can it be wrong */
		{"RoCE SEND Only, IPv6", NET_LINK_IP, WIRE_DROP_NONE},
		{"RoCE Acknowledge, IPv4", ETHERTYPE_VLAN, WIRE_DROP_NOT_IP},
	};
	static struct sample s;
	struct net_cfg cfg = catalog_cfg();

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		struct net_pkt pkt;

		catalog_find(want[i].name, &s);
		struct cspan rest = {s.frame.bytes + eth_bytes, s.frame.len - eth_bytes};

		assert_int_equal(net_get(rest, want[i].link, &cfg, &pkt, NULL).why, want[i].why);
		assert_false(pkt.has_eth);
	}
	/* the version must be the one announced; the rest of this header is right for IPv6 */
	struct net_pkt pkt;

	catalog_find("RoCE SEND Only, IPv6", &s);
	s.frame.bytes[eth_bytes] = 0x45;
	struct cspan rest = {s.frame.bytes + eth_bytes, s.frame.len - eth_bytes};

	assert_int_equal(net_get(rest, ETHERTYPE_IPV6, &cfg, &pkt, NULL).why, WIRE_DROP_IP_VERSION);
}

/* MRC Table 9-1 (M-08): source port first, then the low 16 bits of the flow label; over IPv4 the
 * port alone; under SRv6 the inner header (M-26). */
static void entropy_is_port_and_label(void **state)
{
	static const struct {
		const char *name;
		uint32_t entropy;
	} want[] = {
		{"MRC WRITE Only, IPv6", 0xc1232345},
		{"MRC WRITE Only, IPv4", 0xc1230000},
		{"MRC WRITE Only, SRv6 uSID", 0xc1232345},
	};
	static struct sample s;
	struct net_pkt pkt;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		catalog_find(want[i].name, &s);
		if (i == 2) /* a hop may hash its own label into the outer header */
			s.frame.bytes[s.frame.ip_at + 3] ^= 0xff;
		assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_NONE);
		assert_int_equal(net_entropy(&pkt), want[i].entropy);
	}
	struct ev32 ev;
	uint8_t wire[4];

	put_be32(wire, want[0].entropy);
	ev32_get(wire, &ev);
	assert_int_equal(ev.udp_sport, 0xc123);
	assert_int_equal(ev.flow_label, 0x2345);
}

/* M-42: trimmed is what the outermost DSCP says; its end is the outermost length, or the frame. */
static void trimming_is_told_by_dscp(void **state)
{
	static const struct {
		const char *name;
		enum net_trim trim;
	} want[] = {
		{"MRC WRITE First trimmed, IPv4, least", NET_TRIMMED},
		{"MRC WRITE First trimmed, IPv6, last hop", NET_TRIMMED_LASTHOP},
		{"MRC WRITE First trimmed, SRv6 uSID, least", NET_TRIMMED},
		{"MRC WRITE First trimmed, SRv6 uSID, decapsulated", NET_TRIMMED},
		{"MRC WRITE First, IPv6", NET_WHOLE},
	};
	static struct sample s;
	struct net_pkt pkt;

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		catalog_find(want[i].name, &s);
		assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_NONE);
		assert_int_equal(pkt.trim, want[i].trim);
		assert_int_equal(pkt.end, s.frame.len);
		assert_int_equal(net_udp_length_fault(&pkt, s.frame.bytes + pkt.transport).why,
				 WIRE_DROP_NONE);
		/* what arrived is less, what was sent is still known */
		if (pkt.trim != NET_WHOLE)
			assert_true(pkt.udp.length > pkt.end - pkt.udp_at);
	}
}

static void set_dscp(struct frame *f, uint8_t dscp)
{
	uint8_t *ip = f->bytes + f->ip_at;

	ip[0] = (uint8_t)(0x60 | dscp >> 2);
	ip[1] = (uint8_t)((ip[1] & 0x3f) | dscp << 6);
}

/* The numbers are a deployment's choice (MRC-7.5.3-11, -14): every DSCP may be one of the two. */
static void trimming_dscps_are_configurable(void **state)
{
	static struct sample s;
	struct net_pkt pkt;

	(void)state;
	catalog_find("MRC WRITE First trimmed, IPv6, all headers", &s);
	struct cspan frame = {s.frame.bytes, s.frame.len};

	for (uint8_t dscp = 0; dscp < 64; dscp++) {
		struct net_cfg cfg = net_cfg_of(NET_ROCE_PORT, dscp, (uint8_t)((dscp + 1) % 64));

		for (uint8_t sent = 0; sent < 64; sent++) {
			set_dscp(&s.frame, sent);
			net_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, NULL);
			assert_int_equal(pkt.trim, sent == dscp              ? NET_TRIMMED
						   : sent == (dscp + 1) % 64 ? NET_TRIMMED_LASTHOP
									     : NET_WHOLE);
		}
	}
}

/* UE 4.1: each DSCP that may be trimmed has one that says it was, several of them or one for all.
 */
static void trimming_dscps_may_be_many(void **state)
{
	struct net_cfg cfg = net_cfg_default();
	static struct sample s;
	struct net_pkt pkt;

	(void)state;
	catalog_find("MRC WRITE First trimmed, IPv6, all headers", &s);
	struct cspan frame = {s.frame.bytes, s.frame.len};

	cfg.trims = (struct net_trims){UINT64_C(0x8000000100000021), UINT64_C(0x4000000000000140)};
	for (uint8_t sent = 0; sent < 64; sent++) {
		bool is_trimmed = sent == 0 || sent == 5 || sent == 32 || sent == 63;
		bool is_lasthop = sent == 6 || sent == 8 || sent == 62;

		set_dscp(&s.frame, sent);
		net_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, NULL);
		assert_int_equal(pkt.trim, is_trimmed   ? NET_TRIMMED
					   : is_lasthop ? NET_TRIMMED_LASTHOP
							: NET_WHOLE);
	}
}

/* M-42: a trimmed packet ends where its outermost IP length says, not where the frame does. */
static void trimming_ends_before_link_padding(void **state)
{
	static const char *const names[] = {"MRC WRITE First trimmed, IPv4, least",
					    "MRC WRITE First trimmed, IPv6, last hop",
					    "MRC WRITE First trimmed, SRv6 uSID, least"};
	static struct sample s;
	struct net_pkt pkt;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		catalog_find(names[i], &s);
		uint32_t end = s.frame.len;

		memset(s.frame.bytes + end, 0xee, 18);
		s.frame.len += 18;
		assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_NONE);
		assert_int_equal(pkt.end, end);
	}
	/* and a length that does not even hold its own header is damage, trimmed or not */
	catalog_find(names[0], &s);
	put_be16(s.frame.bytes + s.frame.ip_at + 2, 19);
	frame_fix_ipv4(&s.frame, s.frame.ip_at);
	assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_IP_LENGTH);
}

/* What the fabric says about a packet stands in the outermost header. */
static void marks_come_from_the_outermost_header(void **state)
{
	static struct sample s;
	struct net_pkt pkt;

	(void)state;
	catalog_find("MRC WRITE First, SRv6 uSID", &s);
	uint8_t *outer = s.frame.bytes + s.frame.ip_at;

	outer[0] = 0x60 | 33 >> 2;
	outer[1] = (uint8_t)((outer[1] & 0x0f) | (33 & 3) << 6 | 3 << 4);
	assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_NONE);
	assert_int_equal(net_dscp(&pkt), 33);
	assert_int_equal(net_ecn(&pkt), 3);
	assert_int_equal(pkt.ip[1].v6.dscp, CATALOG_DSCP_TRIMMABLE);
	assert_int_equal(pkt.ip[1].v6.ecn, 2);
}

/* In a trimmed packet the inner length says nothing any more, whatever it says. */
static void trimming_ignores_inner_lengths(void **state)
{
	static const uint16_t lengths[] = {0, 8, 60, 0xffff};
	static struct sample s;
	struct net_pkt pkt;

	(void)state;
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		catalog_find("MRC WRITE First trimmed, SRv6 uSID, least", &s);
		put_be16(s.frame.bytes + s.frame.ip_at + ipv6_bytes + 4, lengths[i]);
		assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_NONE);
		assert_int_equal(pkt.end, s.frame.len);
	}
}

/* An inner DSCP does not make a packet trimmed, and a deployment without trimming sees none. */
static void trimming_needs_the_outer_dscp(void **state)
{
	static struct sample s;
	struct net_pkt pkt;
	struct net_cfg none = net_cfg_default();

	(void)state;
	catalog_find("MRC WRITE First, SRv6 uSID", &s);
	uint8_t *inner = s.frame.bytes + s.frame.ip_at + ipv6_bytes;

	inner[0] = (uint8_t)(0x60 | CATALOG_DSCP_TRIMMED >> 2);
	inner[1] = (uint8_t)((inner[1] & 0x3f) | CATALOG_DSCP_TRIMMED << 6);
	assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_NONE);
	assert_int_equal(pkt.ip[1].v6.dscp, CATALOG_DSCP_TRIMMED);
	assert_int_equal(pkt.trim, NET_WHOLE);
	catalog_find("MRC WRITE First trimmed, IPv6, last hop", &s);
	struct cspan frame = {s.frame.bytes, s.frame.len};

	assert_int_equal(net_get(frame, NET_LINK_ETHERNET, &none, &pkt, NULL).why, WIRE_DROP_NONE);
	assert_int_equal(pkt.trim, NET_WHOLE);
	assert_int_equal(net_udp_length_fault(&pkt, s.frame.bytes + pkt.transport).why,
			 WIRE_DROP_UDP_LENGTH);
}

/* Without trimming the inner length must be what the outer one leaves, to the byte. */
static void inner_length_must_agree(void **state)
{
	static struct sample s;
	struct net_pkt pkt;

	(void)state;
	for (int delta = -1; delta <= 1; delta += 2) {
		catalog_find("MRC WRITE First, SRv6 uSID", &s);
		uint8_t *length = s.frame.bytes + s.frame.ip_at + ipv6_bytes + 4;

		put_be16(length, (uint16_t)(get_be16(length) + delta));
		assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_IP_LENGTH);
	}
}

static void ipv4_length_below_its_header(void **state)
{
	static struct sample s;
	struct net_pkt pkt;

	(void)state;
	catalog_find("RoCE SEND Only, IPv4", &s);
	put_be16(s.frame.bytes + s.frame.ip_at + 2, 19);
	frame_fix_ipv4(&s.frame, s.frame.ip_at);
	assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_IP_LENGTH);
}

static void fragments_are_dropped(void **state)
{
	static struct sample s;
	struct net_pkt pkt;

	(void)state;
	catalog_find("RoCE SEND Only, IPv4", &s);
	put_be16(s.frame.bytes + s.frame.ip_at + 6, 0x2000); /* the first of several */
	frame_fix_ipv4(&s.frame, s.frame.ip_at);
	assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_IP_FRAGMENT);
}

/* The version in the header must be the one that was announced. */
static void version_mismatch(void **state)
{
	static struct sample s;
	struct net_pkt pkt;

	(void)state;
	catalog_find("RoCE SEND Only, IPv6", &s);
	s.frame.bytes[s.frame.ip_at] = 0x45;
	assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_IP_VERSION);
	catalog_find("MRC SACK, SRv6 uSID", &s);
	s.frame.bytes[s.frame.ip_at + ipv6_bytes] = 0x45;
	assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_IP_VERSION);
}

/* IPv4 inside an SRv6 encapsulation is followed too; IPv6 inside IPv4 as well. */
static void ipv4_inside_srv6(void **state)
{
	static const enum frame_srv6 kinds[] = {FRAME_USID, FRAME_USID_SRH, FRAME_USID_SRH_TLV};
	static struct frame f;
	uint8_t head[32];
	struct roce_pkt ack = {.bth = {.opcode = ROCE_OP_ACKNOWLEDGE, .pkey = 0xffff}};
	uint32_t n = roce_head_put(&ack, (struct span){head, sizeof head});

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct frame_spec spec = {.ip_version = 4, .srv6 = kinds[i], .sport = 0xc000};
		struct net_cfg cfg = catalog_cfg();
		struct wire_packet pkt;

		frame_build(&f, &spec, (struct cspan){head, n}, (struct cspan){NULL, 0});
		struct cspan frame = {f.bytes, f.len};

		assert_int_equal(wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, NULL).why,
				 WIRE_DROP_NONE);
		assert_int_equal(net_ip(&pkt.net)->version, 4);
	}
}

/* Every extension header but one segment routing header, wherever it stands before RoCE. */
static void extension_headers_are_dropped(void **state)
{
	static const uint8_t extensions[] = {0, 44, 51, 60, 135, 139, 140};
	static const uint8_t header[8] = {IPPROTO_UDP_IN}, to_inner[8] = {IPPROTO_IPV6_IN};
	static struct sample s;
	struct net_pkt pkt;

	(void)state;
	for (size_t i = 0; i < sizeof extensions; i++) {
		catalog_find("RoCE SEND Only, IPv6", &s);
		frame_insert(&s.frame, s.frame.ip_at + ipv6_bytes, header, sizeof header);
		s.frame.bytes[s.frame.ip_at + 6] = extensions[i];
		frame_fix_length(&s.frame);
		assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_IP6_EXTENSION);
	}
	/* a second routing header, and one on the inner packet */
	catalog_find("MRC SACK, SRv6 uSID SRH", &s);
	frame_insert(&s.frame, s.frame.ip_at + ipv6_bytes + 24, to_inner, sizeof to_inner);
	s.frame.bytes[s.frame.ip_at + ipv6_bytes] = IPPROTO_ROUTING_IN;
	frame_fix_length(&s.frame);
	assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_IP6_EXTENSION);
	catalog_find("MRC SACK, SRv6 uSID", &s);
	frame_insert(&s.frame, s.frame.ip_at + 2 * ipv6_bytes, header, sizeof header);
	uint8_t *inner = s.frame.bytes + s.frame.ip_at + ipv6_bytes;

	inner[6] = IPPROTO_ROUTING_IN;
	put_be16(inner + 4, (uint16_t)(get_be16(inner + 4) + sizeof header));
	frame_fix_length(&s.frame);
	assert_int_equal(walk(&s.frame, &pkt).why, WIRE_DROP_IP6_EXTENSION);
}

static void checksum_of_a_known_header(void **state)
{
	/* from RFC 1071's method worked by hand on a common example */
	static const uint8_t header[] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40,
					 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8,
					 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};
	uint8_t copy[20];

	(void)state;
	assert_int_equal(ipv4_checksum(header), 0);
	memcpy(copy, header, 20);
	put_be16(copy + 10, 0);
	assert_int_equal(ipv4_checksum(copy), 0xb861);
	memset(copy, 0xff, 20);
	assert_int_equal(ipv4_checksum(copy), 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(finds_udp_payload),
	cmocka_unit_test(link_may_be_an_ethertype),
	cmocka_unit_test(entropy_is_port_and_label),
	cmocka_unit_test(trimming_is_told_by_dscp),
	cmocka_unit_test(trimming_dscps_are_configurable),
	cmocka_unit_test(trimming_dscps_may_be_many),
	cmocka_unit_test(trimming_ends_before_link_padding),
	cmocka_unit_test(marks_come_from_the_outermost_header),
	cmocka_unit_test(trimming_ignores_inner_lengths),
	cmocka_unit_test(trimming_needs_the_outer_dscp),
	cmocka_unit_test(inner_length_must_agree),
	cmocka_unit_test(ipv4_length_below_its_header),
	cmocka_unit_test(fragments_are_dropped),
	cmocka_unit_test(version_mismatch),
	cmocka_unit_test(ipv4_inside_srv6),
	cmocka_unit_test(extension_headers_are_dropped),
	cmocka_unit_test(checksum_of_a_known_header),
};
CHECK_MAIN(cases)
