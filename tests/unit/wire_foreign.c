/* Foreign traffic is not damage: what our parsers do not follow is called malformed only where it
 * leads to the RoCE port. */
#include "check.h"

#include <string.h>

#include "catalog.h"
#include "wire/foreign.h"

enum { TCP = 6, IGMP = 2, ICMP6 = 58, ESP = 50 };

static struct wire_fault walk(const struct frame *f)
{
	struct net_cfg cfg = catalog_cfg();
	struct net_pkt pkt;

	return net_get((struct cspan){f->bytes, f->len}, NET_LINK_ETHERNET, &cfg, &pkt, NULL);
}

static struct frame *ipv4(void)
{
	static struct sample s;

	catalog_find("RoCE SEND Only, IPv4", &s);
	return &s.frame;
}

static struct frame *ipv6(void)
{
	static struct sample s;

	catalog_find("RoCE SEND Only, IPv6", &s);
	return &s.frame;
}

static void set_ipv4(struct frame *f, uint32_t offset, uint8_t value)
{
	f->bytes[f->ip_at + offset] = value;
	frame_fix_ipv4(f, f->ip_at);
}

/* Puts an extension header of 8 bytes behind the IPv6 header. */
static void extend(struct frame *f, uint8_t type, uint8_t next)
{
	const uint8_t header[8] = {next};

	frame_insert(f, f->ip_at + ipv6_bytes, header, sizeof header);
	f->bytes[f->ip_at + 6] = type;
	frame_fix_length(f);
}

static void ipv4_options(void **state)
{
	static const uint8_t router_alert[4] = {148, 4, 0, 0};

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		struct frame *f = ipv4();

		frame_insert(f, f->ip_at + ipv4_bytes, router_alert, 4);
		f->bytes[f->ip_at] = 0x46;
		if (k == 0)
			f->bytes[f->ip_at + 9] = IGMP;
		if (k == 1)
			put_be16(f->bytes + f->ip_at + ipv4_bytes + 4 + 2, 53);
		frame_fix_length(f);
		assert_int_equal(walk(f).why, k == 0   ? WIRE_DROP_NOT_UDP
					      : k == 1 ? WIRE_DROP_NOT_ROCE
						       : WIRE_DROP_IP4_OPTIONS);
	}
}

static void ipv4_fragments(void **state)
{
	struct frame *f = ipv4();

	(void)state;
	set_ipv4(f, 6, 0x20);
	assert_int_equal(walk(f).why, WIRE_DROP_IP_FRAGMENT);
	set_ipv4(f, 9, TCP);
	assert_int_equal(walk(f).why, WIRE_DROP_NOT_UDP);
	/* a later one has no UDP header: whose it is cannot be seen */
	f = ipv4();
	set_ipv4(f, 7, 9);
	assert_int_equal(walk(f).why, WIRE_DROP_NOT_UDP);
}

static void broken_ipv4_of_others(void **state)
{
	struct frame *f = ipv4();

	(void)state;
	set_ipv4(f, 9, TCP);
	f->bytes[f->ip_at + 10] ^= 0xff;
	assert_int_equal(walk(f).why, WIRE_DROP_NOT_UDP);
	f = ipv4();
	put_be16(f->bytes + f->ip_at + ipv4_bytes + 2, 53);
	set_ipv4(f, 2, 0x7f);
	assert_int_equal(walk(f).why, WIRE_DROP_NOT_ROCE);
}

static void ipv6_extensions(void **state)
{
	static const uint8_t types[] = {0, IPPROTO_ROUTING_IN, 44, 51, 60, 135, 139, 140};

	(void)state;
	for (size_t i = 0; i < sizeof types; i++) {
		struct frame *f = ipv6();

		extend(f, types[i], ICMP6);
		assert_int_equal(walk(f).why, WIRE_DROP_NOT_UDP);
		f = ipv6();
		extend(f, types[i], IPPROTO_UDP_IN);
		put_be16(f->bytes + f->ip_at + ipv6_bytes + 8 + 2, 53);
		assert_int_equal(walk(f).why, WIRE_DROP_NOT_ROCE);
		f = ipv6();
		extend(f, types[i], IPPROTO_UDP_IN);
		assert_false(wire_drop_is_foreign(walk(f).why));
	}
	struct frame *f = ipv6();

	f->bytes[f->ip_at + 6] = ESP;
	assert_int_equal(walk(f).why, WIRE_DROP_NOT_UDP);
	/* a later IPv6 fragment */
	f = ipv6();
	extend(f, 44, IPPROTO_UDP_IN);
	put_be16(f->bytes + f->ip_at + ipv6_bytes + 2, 9 << 3);
	assert_int_equal(walk(f).why, WIRE_DROP_NOT_UDP);
}

static void routing_headers(void **state)
{
	static struct sample s;

	(void)state;
	catalog_find("MRC SACK, SRv6 uSID SRH", &s);
	s.frame.bytes[s.frame.ip_at + ipv6_bytes] = ICMP6;
	assert_int_equal(walk(&s.frame).why, WIRE_DROP_NOT_UDP);
	catalog_find("MRC SACK, SRv6 uSID SRH", &s);
	s.frame.bytes[s.frame.ip_at + ipv6_bytes + 2] = 2;
	assert_int_equal(walk(&s.frame).why, WIRE_DROP_SRH_TYPE);
	s.frame.bytes[s.frame.ip_at + ipv6_bytes + 24 + 6] = TCP;
	assert_int_equal(walk(&s.frame).why, WIRE_DROP_NOT_UDP);
}

static void deep_tags_and_tunnels(void **state)
{
	static struct sample s;

	(void)state;
	catalog_damaged(WIRE_DROP_VLAN_DEPTH, &s);
	const uint32_t ip_at = 14 + 3 * vlan_bytes;

	s.frame.bytes[ip_at + 6] = TCP;
	assert_int_equal(walk(&s.frame).why, WIRE_DROP_NOT_UDP);
	put_be16(s.frame.bytes + ip_at - 2, 0x0806);
	assert_int_equal(walk(&s.frame).why, WIRE_DROP_NOT_IP);
	/* one tag more, of the other kind */
	static const uint8_t service_tag[vlan_bytes] = {0, 7, ETHERTYPE_IPV6 >> 8,
							ETHERTYPE_IPV6 & 0xff};

	catalog_damaged(WIRE_DROP_VLAN_DEPTH, &s);
	put_be16(s.frame.bytes + ip_at - 2, ETHERTYPE_QINQ);
	frame_insert(&s.frame, ip_at, service_tag, vlan_bytes);
	assert_int_equal(walk(&s.frame).why, WIRE_DROP_VLAN_DEPTH);
	s.frame.bytes[ip_at + vlan_bytes + 6] = TCP;
	assert_int_equal(walk(&s.frame).why, WIRE_DROP_NOT_UDP);
	/* tags to the end of the frame */
	catalog_damaged(WIRE_DROP_VLAN_DEPTH, &s);
	s.frame.len = ip_at;
	put_be16(s.frame.bytes + ip_at - 2, ETHERTYPE_VLAN);
	assert_int_equal(walk(&s.frame).why, WIRE_DROP_VLAN_DEPTH);
	put_be16(s.frame.bytes + ip_at - 2, ETHERTYPE_IPV4);
	assert_int_equal(walk(&s.frame).why, WIRE_DROP_VLAN_DEPTH);
	catalog_damaged(WIRE_DROP_IP_DEPTH, &s);
	s.frame.bytes[s.frame.ip_at + 2 * ipv6_bytes + 6] = TCP;
	assert_int_equal(walk(&s.frame).why, WIRE_DROP_NOT_UDP);
}

/* What cannot be seen is not guessed at: the fault stands. */
static void unclear_stays_a_fault(void **state)
{
	struct net_cfg cfg = net_cfg_default();
	uint8_t bytes[40 + 8 * 20] = {0x60, [6] = 60};
	struct cspan all = {bytes, sizeof bytes};

	(void)state;
	/* options behind options, more than are followed */
	for (unsigned i = 40; i < sizeof bytes; i += 8)
		bytes[i] = 60;
	assert_int_equal(foreign_fault(cursor_of(all), 6, &cfg).why, WIRE_DROP_NONE);
	/* cut at any byte before the protocol is known */
	bytes[40] = TCP;
	for (uint32_t len = 0; len < 48; len++)
		assert_int_equal(foreign_fault(cursor_of((struct cspan){bytes, len}), 6, &cfg).why,
				 WIRE_DROP_NONE);
	all.len = 48;
	assert_int_equal(foreign_fault(cursor_of(all), 6, &cfg).why, WIRE_DROP_NOT_UDP);
	/* a header that claims more than there is; a UDP header cut before its port */
	bytes[41] = 200;
	assert_int_equal(foreign_fault(cursor_of(all), 6, &cfg).why, WIRE_DROP_NONE);
	bytes[6] = IPPROTO_UDP_IN;
	all.len = 43;
	assert_int_equal(foreign_fault(cursor_of(all), 6, &cfg).why, WIRE_DROP_NONE);
}

/* UC, RD, UD and XRC are good packets of somebody else: every rdma_cm handshake is UD. */
static void other_services(void **state)
{
	struct net_cfg cfg = catalog_cfg();

	(void)state;
	for (unsigned op = 0; op < 256; op++) {
		struct frame *f = ipv4();
		struct wire_packet pkt;
		bool other = (op >= 0x20 && op < 0x80) || (op >= 0xa0 && op < 0xc0);

		f->bytes[f->ip_at + 28] = (uint8_t)op;
		frame_fix_icrc(f, f->ip_at);
		struct wire_fault fault = wire_packet_get((struct cspan){f->bytes, f->len},
							  NET_LINK_ETHERNET, &cfg, &pkt, NULL);

		assert_int_equal(fault.why == WIRE_DROP_OTHER_SERVICE, other);
		assert_int_equal(wire_drop_is_foreign(fault.why), other);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(ipv4_options),          cmocka_unit_test(ipv4_fragments),
	cmocka_unit_test(broken_ipv4_of_others), cmocka_unit_test(ipv6_extensions),
	cmocka_unit_test(routing_headers),       cmocka_unit_test(deep_tags_and_tunnels),
	cmocka_unit_test(unclear_stays_a_fault), cmocka_unit_test(other_services),
};
CHECK_MAIN(cases)
