/* Headers as they are made once and completed for each packet, read back by the parser of wire. */
#include <string.h>

#include "carriers.h"
#include "check.h"
#include "encap/encap.h"
#include "wire/net.h"

static const struct encap_ends ends = {
	.src_mac = {2, 0, 0, 0, 0, 1},
	.dst_mac = {2, 0, 0, 0, 0, 2},
	.src = {0xfd, 1, [15] = 3},
	.dst = {0xfd, 1, [15] = 4},
	.dport = NET_ROCE_PORT,
	.hop_limit = 61,
};

static const struct encap_segments segments = {
	.at = {{0xfc, 0, 0, 1, 0x11, 0x22}, {0xfc, 0, 0, 1, 0x33, 0x44}},
};

static const uint8_t lens[] = {62, 102, 126};

/* Writes headers with so many segments in front of 100 bytes. */
static struct net_pkt round_trip(uint8_t n, const struct encap_packet *p, uint8_t frame[256])
{
	struct net_cfg cfg = net_cfg_default();
	struct encap_segments s = segments;
	struct encap_head head;
	struct net_pkt net;

	s.n = n;
	memset(&head, 0xee, sizeof head);
	memset(frame, 0, 256);
	encap_make(&head, &ends, &s);
	assert_int_equal(head.len, lens[n]);
	encap_write(&head, p, frame);
	assert_int_equal(
		net_get((struct cspan){frame, head.len + 100u}, NET_LINK_ETHERNET, &cfg, &net, NULL)
			.why,
		WIRE_DROP_NONE);
	assert_int_equal(net.transport, head.len);
	assert_int_equal(net.end, head.len + 100u);
	assert_int_equal(net.udp_at, head.front_at);
	return net;
}

static void headers_read_back(void **state)
{
	struct encap_packet p = {.ev = 0x12345678, .transport_bytes = 100, .dscp = 10, .ecn = 2};

	(void)state;
	for (uint8_t n = 0; n < 3; n++) {
		uint8_t frame[256];
		struct net_pkt net = round_trip(n, &p, frame);

		assert_memory_equal(frame, ends.dst_mac, 6);
		assert_memory_equal(frame + 6, ends.src_mac, 6);
		assert_int_equal(net.n_ip, n ? 2 : 1);
		assert_int_equal(net.has_srh, n == 2);
		for (uint32_t i = 0; i < net.n_ip; i++) {
			const struct ipv6 *ip = &net.ip[i].v6;
			bool is_inner = i + 1u == net.n_ip;

			assert_memory_equal(ip->src, ends.src, 16);
			assert_memory_equal(ip->dst, is_inner ? ends.dst : segments.at[0], 16);
			assert_int_equal(ip->hop_limit, 61);
			assert_int_equal(ip->flow_label, 0x5678);
			assert_int_equal(ip->length, lens[n] + 100u - net.ip[i].at - 40);
		}
		assert_int_equal(net_dscp(&net), 10);
		assert_int_equal(net_ecn(&net), 2);
		assert_int_equal(net_entropy(&net), 0x12345678);
		assert_int_equal(net.udp.sport, 0x1234);
		assert_int_equal(net.udp.dport, NET_ROCE_PORT);
		assert_int_equal(net.udp.length, 108);
		if (n == 2)
			assert_memory_equal(frame + 14 + 40 + 8, segments.at[1], 16);
	}
}

/* A packet that answers a trimmed one carries another length (M-13). */
static void udp_says_another_length(void **state)
{
	struct encap_packet p = {.transport_bytes = 100, .udp_len = 4242};
	uint8_t frame[256];

	(void)state;
	for (uint8_t n = 0; n < 3; n++) {
		struct net_pkt net = round_trip(n, &p, frame);

		assert_int_equal(net.udp.length, 4242);
	}
}

/* Native IP has its entropy where UDP has the source port, and no length of its own. */
static void native_headers_read_back(void **state)
{
	struct encap_packet p = {.ev = 0x12345678, .transport_bytes = 100, .udp_len = 4242};
	struct net_cfg cfg = net_cfg_default();
	struct encap_ends native = ends;

	(void)state;
	carriers_add(&cfg.carriers, &carriers_uet_native, 0);
	native.native = CARRIERS_UET_PROTOCOL;
	for (uint8_t n = 0; n < 4; n++) {
		struct encap_segments s = segments;
		struct encap_head head;
		uint8_t frame[256] = {0};
		struct net_pkt net;

		s.n = n < 3 ? n : 0;
		native.is_v4 = n == 3;
		memset(&head, 0xee, sizeof head);
		encap_make(&head, &native, &s);
		assert_int_equal(head.len, n < 3 ? lens[n] - 4 : 14 + 20 + 4);
		encap_write(&head, &p, frame);
		assert_int_equal(net_get((struct cspan){frame, head.len + 100u}, NET_LINK_ETHERNET,
					 &cfg, &net, NULL)
					 .why,
				 WIRE_DROP_NONE);
		assert_ptr_equal(net.carrier, &carriers_uet_native);
		assert_int_equal(net.transport, head.len);
		assert_int_equal(net.end, head.len + 100u);
		assert_int_equal(net_entropy(&net), n < 3 ? 0x12345678 : 0x12340000);
		assert_int_equal(net.entropy.entropy, 0x1234);
		assert_int_equal(net.entropy.rsv0, 0);
	}
}

static const struct encap_ends ends_v4 = {
	.src_mac = {2, 0, 0, 0, 0, 1},
	.dst_mac = {2, 0, 0, 0, 0, 2},
	.src = {10, 1, 2, 3, 0xff},
	.dst = {10, 4, 5, 6, 0xff},
	.dport = NET_ROCE_PORT,
	.hop_limit = 61,
	.is_v4 = true,
};

/* The same headers for every size and class: each has a checksum of its own. */
static void ipv4_headers_read_back(void **state)
{
	static const struct encap_segments none;
	struct net_cfg cfg = net_cfg_default();
	struct encap_head head;
	uint8_t frame[2048] = {0};

	(void)state;
	memset(&head, 0xee, sizeof head);
	encap_make(&head, &ends_v4, &none);
	assert_int_equal(head.len, 14 + 20 + 8);
	for (uint32_t n = 0; n < 2000; n++) {
		struct encap_packet p = {
			.ev = 0x12345678 + (n << 16),
			.transport_bytes = n,
			.dscp = n % 64,
			.ecn = n % 4,
		};
		struct net_pkt net;

		encap_write(&head, &p, frame);
		assert_int_equal(net_get((struct cspan){frame, head.len + n}, NET_LINK_ETHERNET,
					 &cfg, &net, NULL)
					 .why,
				 WIRE_DROP_NONE);
		const struct ipv4 *ip = &net.ip[0].v4;

		assert_int_equal(net.n_ip, 1);
		assert_int_equal(net.transport, head.len);
		assert_int_equal(net.end, head.len + n);
		assert_int_equal(ip->src, 0x0a010203);
		assert_int_equal(ip->dst, 0x0a040506);
		assert_int_equal(ip->id, 0);
		assert_int_equal(ip->df, 1);
		assert_int_equal(ip->ttl, 61);
		assert_int_equal(net_dscp(&net), n % 64);
		assert_int_equal(net_ecn(&net), n % 4);
		assert_int_equal(net.udp.sport, p.ev >> 16);
		assert_int_equal(net.udp.dport, NET_ROCE_PORT);
		assert_int_equal(net.udp.length, 8 + n);
		assert_int_equal(net.udp.checksum, 0);
	}
}

static void make_v4_with_segments(void *context)
{
	struct encap_segments s = segments;

	s.n = 1;
	encap_make(context, &ends_v4, &s);
}

static void ipv4_has_no_segments(void **state)
{
	struct encap_head head;

	(void)state;
	assert_true(check_aborts(make_v4_with_segments, &head));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(headers_read_back),        cmocka_unit_test(udp_says_another_length),
	cmocka_unit_test(native_headers_read_back), cmocka_unit_test(ipv4_headers_read_back),
	cmocka_unit_test(ipv4_has_no_segments),
};

CHECK_MAIN(cases)
