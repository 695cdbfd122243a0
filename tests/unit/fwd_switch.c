#include "fwd/switch.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "carriers.h"
#include "check.h"
#include "wire/net.h"

enum { ROOM = 512, PORTS = 24, BLOCK = 0x5f001000 };
enum { UN = 0x0100, UA = 0xe001, DT6 = 0xd006, DX6 = 0xd007, ELSEWHERE = 0x0200 };
enum { GROUP_16, GROUP_5, GROUP_1, GROUP_EV, GROUP_EV_1, GROUPS };

/* The one switch all cases use; start() sets it up, a case may change it. */
static struct fwd_switch sw;
static struct fwd_port ports[PORTS];
static struct fwd_sid sids[] = {
	{.usid = UN, .behaviour = FWD_SID_UN},
	{.usid = UA, .behaviour = FWD_SID_UA, .port = 7},
	{.usid = DT6, .behaviour = FWD_SID_DT6},
	{.usid = DX6, .behaviour = FWD_SID_DX6, .port = 9},
};
static const uint16_t members[] = {4,  5,  6,  7, 8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
				   18, 19, 23, 3, 21, 0, 11, 2,  20, 1,  5,  22, 6,  8};
static const struct fwd_group groups[GROUPS] = {
	[GROUP_16] = {0, 16, false}, [GROUP_5] = {16, 5, false},   [GROUP_1] = {21, 1, false},
	[GROUP_EV] = {22, 5, true},  [GROUP_EV_1] = {27, 1, true},
};

/* 2001:db8:0:net::host */
#define HOST(net, host)                                                             \
	{                                                                           \
		0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, (net), 0, 0, 0, 0, 0, 0, 0, (host) \
	}
#define MAPPED(a, b, c, d)                                           \
	{                                                            \
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d \
	}

static const struct {
	struct fwd_prefix prefix;
	uint32_t value;
} routes[] = {
	{{HOST(1, 0), 64}, GROUP_16},
	{{HOST(2, 0), 64}, GROUP_5},
	{{HOST(2, 7), 128}, GROUP_1},
	{{HOST(3, 0), 64}, GROUP_EV},
	{{HOST(4, 0), 64}, GROUP_EV_1},
	{{HOST(0, 1), 128}, FWD_LOCAL},
	{{MAPPED(10, 1, 0, 0), 112}, GROUP_16},
	{{MAPPED(10, 1, 5, 5), 128}, GROUP_1},
	{{MAPPED(10, 3, 0, 0), 112}, GROUP_EV},
	{{MAPPED(10, 0, 0, 1), 128}, FWD_LOCAL},
	{{{0x5f, 0x00, 0x10, 0x00, 0x02, 0x00}, 48}, GROUP_1}, /* ELSEWHERE */
};
enum { ROUTES = sizeof routes / sizeof routes[0] };

static int start(void **state)
{
	void *memory = malloc(fwd_routes_bytes(ROUTES + 1));

	(void)state;
	assert_non_null(memory);
	for (uint32_t i = 0; i < PORTS; i++)
		ports[i] = (struct fwd_port){
			{2, 0xaa, 0, 0, 0, (uint8_t)i}, {2, 0xbb, 0, 0, 0, (uint8_t)i}, false};
	sw = (struct fwd_switch){
		.ports = ports,
		.groups = groups,
		.members = members,
		.ev_layout = {3, {10, 8, 4}},
		.hash_seed = 0x1234,
		.hash_fields = FWD_HASH_5TUPLE | FWD_HASH_FLOW_LABEL,
		.n_ports = PORTS,
		.sids = {.block = BLOCK,
			 .format = FWD_F3216,
			 .sids = sids,
			 .n = sizeof sids / sizeof sids[0]},
	};
	/* One is left for a case to add. */
	fwd_routes_init(&sw.routes, memory, ROUTES + 1);
	for (uint32_t i = 0; i < ROUTES; i++)
		assert_int_equal(fwd_routes_add(&sw.routes, &routes[i].prefix, routes[i].value), 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	free(sw.routes.slots);
	return 0;
}

/* A frame under construction, from the Ethernet header on. */
struct draft {
	uint8_t bytes[ROOM];
	uint32_t len;
	struct fwd_frame f;
	struct fwd_view v;
	struct fwd_verdict verdict;
};

static void open_draft(struct draft *d, uint16_t type)
{
	memset(d, 0, sizeof *d);
	memset(d->bytes, 0xee, 12);
	put_be16(d->bytes + 12, type);
	d->len = 14;
}

static const uint8_t source[16] = HOST(9, 9);

/* An IPv6 header whose payload is what will be put behind it. */
static void put_ipv6(struct draft *d, const uint8_t *dst, uint8_t next, uint16_t payload)
{
	uint8_t *ip = d->bytes + d->len;

	put_be32(ip, 6u << 28);
	put_be16(ip + 4, payload);
	ip[6] = next;
	ip[7] = 64;
	memcpy(ip + 8, source, 16);
	memcpy(ip + 24, dst, 16);
	d->len += 40;
}

static void put_ipv4(struct draft *d, const uint8_t *dst)
{
	static const uint8_t head[16] = {0x45, 0,  0, 40, 0x12, 0x34, 0x40, 0,
					 64,   17, 0, 0,  10,   9,    9,    9};
	uint8_t *ip = d->bytes + d->len;

	memcpy(ip, head, sizeof head);
	memcpy(ip + 16, dst, 4);
	put_be16(ip + 10, ipv4_checksum(ip));
	d->len += 20;
}

/* Ports and a little payload: 20 bytes. */
static void put_udp(struct draft *d, uint16_t sport)
{
	uint8_t *udp = d->bytes + d->len;

	memset(udp, 0x77, 20);
	put_be16(udp, sport);
	put_be16(udp + 2, 4791);
	put_be16(udp + 4, 20);
	d->len += 20;
}

static void plain_ipv6(struct draft *d, const uint8_t *dst, uint32_t ev)
{
	open_draft(d, ETHERTYPE_IPV6);
	put_ipv6(d, dst, IPPROTO_UDP_IN, 20);
	put_be32(d->bytes + 14, 6u << 28 | (ev & 0xffff));
	put_udp(d, (uint16_t)(ev >> 16));
}

static void plain_ipv4(struct draft *d, const uint8_t *dst, uint16_t sport)
{
	open_draft(d, ETHERTYPE_IPV4);
	put_ipv4(d, dst);
	put_udp(d, sport);
}

static void container(uint8_t *address, const uint16_t *usids, uint32_t n)
{
	fwd_container_put(address, sw.sids.block, (enum fwd_sid_format)sw.sids.format, usids, n);
}

/* An outer header with one container, n_lists more in a segment routing header (in the order they
 * are visited), and an inner packet. */
static void encapsulated(struct draft *d, const uint8_t *first, const uint8_t (*lists)[16],
			 uint8_t n_lists, const uint8_t *inner_dst)
{
	uint16_t srh_len = n_lists ? (uint16_t)(8 + 16 * n_lists) : 0;

	open_draft(d, ETHERTYPE_IPV6);
	put_ipv6(d, first, n_lists ? IPPROTO_ROUTING_IN : IPPROTO_IPV6_IN,
		 (uint16_t)(srh_len + 60));
	if (n_lists) {
		uint8_t *srh = d->bytes + d->len;

		srh[0] = IPPROTO_IPV6_IN;
		srh[1] = (uint8_t)(2 * n_lists);
		srh[2] = 4;
		srh[3] = n_lists;
		srh[4] = (uint8_t)(n_lists - 1);
		for (uint32_t i = 0; i < n_lists; i++)
			memcpy(srh + 8 + 16 * i, lists[n_lists - 1 - i], 16);
		d->len += srh_len;
	}
	put_ipv6(d, inner_dst, IPPROTO_UDP_IN, 20);
	put_udp(d, 0xc001);
}

static void forward(struct draft *d)
{
	d->f = (struct fwd_frame){d->bytes, d->len, d->len};
	d->verdict = fwd_switch_forward(&sw, &d->f, &d->v);
}

/* The frame left by port: with its addresses, and *view is what a parser finds in it. */
static void assert_left_by(struct draft *d, uint16_t port)
{
	struct fwd_view again;

	assert_int_equal(d->verdict.drop, FWD_DROP_NONE);
	assert_false(d->verdict.local);
	assert_int_equal(d->verdict.port, port);
	assert_memory_equal(d->f.at, ports[port].neighbour, 6);
	assert_memory_equal(d->f.at + 6, ports[port].mac, 6);
	assert_int_equal(fwd_view_get(&d->f, &again), FWD_DROP_NONE);
	assert_ptr_equal(d->v.ip, again.ip);
	assert_int_equal(d->v.ip_at, again.ip_at);
	assert_int_equal(d->v.ip_len, again.ip_len);
	assert_int_equal(d->v.hop_limit, again.hop_limit);
	assert_int_equal(d->v.sport, again.sport);
	assert_int_equal(d->v.flow_label, again.flow_label);
}

static const uint8_t to_16[16] = HOST(1, 5), to_5[16] = HOST(2, 6), to_1[16] = HOST(2, 7),
		     to_ev[16] = HOST(3, 1), to_ev_1[16] = HOST(4, 1), to_us[16] = HOST(0, 1),
		     to_nowhere[16] = HOST(8, 8);

static void a_frame_is_rewritten_and_nothing_else(void **state)
{
	struct draft d;
	uint8_t want[ROOM];

	(void)state;
	plain_ipv6(&d, to_1, 0xc0010203);
	memcpy(want, d.bytes, ROOM);
	memcpy(want, ports[2].neighbour, 6);
	memcpy(want + 6, ports[2].mac, 6);
	want[14 + 7] = 63;
	forward(&d);
	assert_left_by(&d, 2);
	assert_memory_equal(d.bytes, want, ROOM);

	plain_ipv4(&d, (const uint8_t[]){10, 1, 5, 5}, 0xc001);
	memcpy(want, d.bytes, ROOM);
	memcpy(want, ports[2].neighbour, 6);
	memcpy(want + 6, ports[2].mac, 6);
	want[14 + 8] = 63;
	put_be16(want + 14 + 10, 0);
	put_be16(want + 14 + 10, ipv4_checksum(want + 14));
	forward(&d);
	assert_left_by(&d, 2);
	assert_memory_equal(d.bytes, want, ROOM);
}

/* Of a packet whose port is known, passing it on makes what deciding about it would have made. */
static void passing_on_writes_what_forwarding_writes(void **state)
{
	static const uint8_t *const to[] = {to_16, to_5, to_1, to_ev};
	uint64_t seed = check_seed(0x9a55);
	uint8_t elsewhere[16], passed[ROOM];
	struct draft d;
	struct prng p;

	(void)state;
	prng_init(&p, seed, 0);
	container(elsewhere, (const uint16_t[]){ELSEWHERE, UN}, 2);
	for (uint32_t i = 0; i < 5000; i++) {
		/* The first field of a structured EV names one of five. */
		uint32_t ev = (uint32_t)prng_below(&p, 5) << 22 | prng_u32(&p) >> 10;

		if (i % 10 == 0)
			encapsulated(&d, elsewhere, NULL, 0, to_16);
		else
			plain_ipv6(&d, to[prng_below(&p, 4)], ev);
		/* Traffic class. */
		d.bytes[14] |= (uint8_t)prng_below(&p, 16);
		d.bytes[14 + 1] |= (uint8_t)(prng_below(&p, 16) << 4);
		d.bytes[14 + 7] = (uint8_t)(i < 254 ? 2 + i : prng_range(&p, 2, 255));
		memcpy(passed, d.bytes, ROOM);
		forward(&d);
		assert_left_by(&d, d.verdict.port);
		fwd_switch_pass(&ports[d.verdict.port], passed);
		assert_memory_equal(passed, d.bytes, ROOM);
	}
}

static void tags_stay_in_place(void **state)
{
	struct draft d;

	(void)state;
	for (uint32_t tags = 1; tags <= 3; tags++) {
		plain_ipv6(&d, to_1, 0);
		memmove(d.bytes + 12 + 4 * tags, d.bytes + 12, d.len - 12);
		for (uint32_t i = 0; i < tags; i++)
			put_be32(d.bytes + 12 + 4 * i, 0x81000000 + i);
		d.len += 4 * tags;
		forward(&d);
		if (tags == 3) {
			assert_int_equal(d.verdict.drop, FWD_DROP_NOT_IP);
			break;
		}
		assert_left_by(&d, 2);
		assert_int_equal(d.v.ip_at, 14 + 4 * tags);
		for (uint32_t i = 0; i < tags; i++)
			assert_int_equal(get_be32(d.bytes + 12 + 4 * i), 0x81000000 + i);
	}
}

static void hash_picks_a_member(void **state)
{
	uint32_t seen[PORTS] = {0};
	struct fwd_view v;
	struct draft d;

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		const struct fwd_group *g = &groups[i % 3 == 1 ? GROUP_5 : GROUP_16];

		if (i % 3 == 2)
			plain_ipv4(&d, (const uint8_t[]){10, 1, 2, 3}, (uint16_t)i);
		else
			plain_ipv6(&d, i % 3 ? to_5 : to_16, i << 16 | i / 7);
		d.f = (struct fwd_frame){d.bytes, d.len, d.len};
		assert_int_equal(fwd_view_get(&d.f, &v), FWD_DROP_NONE);
		uint32_t hash = fwd_hash(&v, sw.hash_fields, sw.hash_seed);

		forward(&d);
		assert_left_by(&d, members[g->first + fwd_pick(hash, g->n)]);
		seen[d.verdict.port] |= 1u << i % 3;
	}
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(seen[members[i]] & 5, 5);
	for (uint32_t i = 16; i < 21; i++)
		assert_int_equal(seen[members[i]] & 2, 2);
}

/* The same packet as native IP: the entropy is where UDP has its source port. */
static void make_native(struct draft *d, uint8_t protocol)
{
	if (d->bytes[14] >> 4 == 6) {
		d->bytes[14 + 6] = protocol;
		return;
	}
	d->bytes[14 + 9] = protocol;
	put_be16(d->bytes + 14 + 10, 0);
	put_be16(d->bytes + 14 + 10, ipv4_checksum(d->bytes + 14));
}

/* Native IP of a known carrier is spread by its entropy header, by hash and by structured value; of
 * others nothing behind the IP header counts. */
static void native_ip_is_spread_by_its_entropy(void **state)
{
	static const uint8_t protocols[] = {CARRIERS_UET_PROTOCOL, CARRIERS_UET_PROTOCOL + 1};
	struct carriers known = {.n = 0};
	struct draft d;

	(void)state;
	carriers_add(&known, &carrier_roce, 0);
	carriers_add(&known, &carriers_uet_native, 0);
	sw.carriers = &known;
	for (uint32_t n = 0; n < 4; n++) {
		uint32_t seen = 0;

		for (uint16_t i = 0; i < 1000; i++) {
			if (n / 2)
				plain_ipv4(&d, (const uint8_t[]){10, 1, 2, 3}, i);
			else
				plain_ipv6(&d, to_16, (uint32_t)i << 16 | 7);
			make_native(&d, protocols[n % 2]);
			forward(&d);
			assert_int_equal(d.verdict.drop, FWD_DROP_NONE);
			assert_int_equal(d.v.sport, n % 2 ? 0 : i);
			assert_int_equal(d.v.dport, 0);
			seen |= 1u << d.verdict.port;
		}
		assert_int_equal(__builtin_popcount(seen), n % 2 ? 1 : 16);
	}
	for (uint32_t field = 0; field < 5; field++) {
		const uint32_t values[] = {field, 3, 3};

		plain_ipv6(&d, to_ev, fwd_ev_make(&sw.ev_layout, values));
		make_native(&d, CARRIERS_UET_PROTOCOL);
		forward(&d);
		assert_int_equal(d.verdict.drop, FWD_DROP_NONE);
		assert_int_equal(d.verdict.port, members[groups[GROUP_EV].first + field]);
	}
	/* Of a packet without the header, and of one whose header is not in memory. */
	plain_ipv6(&d, to_16, 0x12340000);
	make_native(&d, CARRIERS_UET_PROTOCOL);
	put_be16(d.bytes + 14 + 4, 3);
	forward(&d);
	assert_int_equal(d.verdict.drop, FWD_DROP_NONE);
	assert_int_equal(d.v.sport, 0);
	plain_ipv6(&d, to_16, 0x12340000);
	make_native(&d, CARRIERS_UET_PROTOCOL);
	d.f = (struct fwd_frame){d.bytes, 14 + 40 + 3, d.len};
	assert_int_equal(fwd_switch_forward(&sw, &d.f, &d.v).drop, FWD_DROP_MALFORMED);
	/* The middle of a payload is no header. */
	plain_ipv4(&d, (const uint8_t[]){10, 1, 2, 3}, 0x1234);
	d.bytes[14 + 7] = 1;
	make_native(&d, CARRIERS_UET_PROTOCOL);
	forward(&d);
	assert_int_equal(d.v.sport, 0);
}

/* The switch's own seed and its own choice of fields count. */
static void hash_is_configured(void **state)
{
	uint32_t moved = 0, still = 0;
	struct draft d;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		plain_ipv6(&d, to_16, i << 16);
		forward(&d);
		uint16_t port = d.verdict.port;

		sw.hash_seed ^= 1;
		plain_ipv6(&d, to_16, i << 16);
		forward(&d);
		moved += d.verdict.port != port;
		sw.hash_fields = FWD_HASH_SRC | FWD_HASH_DST;
		plain_ipv6(&d, to_16, i << 16);
		forward(&d);
		port = d.verdict.port;
		plain_ipv6(&d, to_16, (i + 1) << 16);
		forward(&d);
		still += d.verdict.port == port;
		sw.hash_seed ^= 1;
		sw.hash_fields = FWD_HASH_5TUPLE;
	}
	assert_true(moved > 150 && moved < 200);
	assert_int_equal(still, 200);
}

static void structured_ev_names_the_member(void **state)
{
	struct draft d;

	(void)state;
	for (sw.ev_hop = 0; sw.ev_hop < 3; sw.ev_hop++) {
		for (uint32_t value = 0; value < 16; value++) {
			uint32_t values[3] = {0x155, 0xaa, 0x5};

			values[sw.ev_hop] = value;
			uint32_t ev = fwd_ev_make(&sw.ev_layout, values);

			plain_ipv6(&d, to_ev, ev);
			forward(&d);
			if (value < 5)
				assert_left_by(&d, members[22 + value]);
			else
				assert_int_equal(d.verdict.drop, FWD_DROP_EV_RANGE);
			plain_ipv6(&d, to_ev_1, ev);
			forward(&d);
			if (value < 1)
				assert_left_by(&d, members[27]);
			else
				assert_int_equal(d.verdict.drop, FWD_DROP_EV_RANGE);
		}
	}
	/* IPv4: the source port is all there is. */
	sw.ev_layout = (struct fwd_ev_layout){2, {8, 8}};
	sw.ev_hop = 1;
	plain_ipv4(&d, (const uint8_t[]){10, 3, 0, 1}, 0x0904);
	forward(&d);
	assert_left_by(&d, members[22 + 4]);
	plain_ipv4(&d, (const uint8_t[]){10, 3, 0, 1}, 0x0005);
	forward(&d);
	assert_int_equal(d.verdict.drop, FWD_DROP_EV_RANGE);
}

static void packets_for_the_node_itself(void **state)
{
	uint8_t before[ROOM];
	struct draft d;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		if (i == 0)
			plain_ipv6(&d, to_us, 0);
		else
			plain_ipv4(&d, (const uint8_t[]){10, 0, 0, 1}, 0);
		/* A hop limit of 1 is enough to arrive. */
		d.bytes[14 + (i ? 8 : 7)] = 1;
		if (i) {
			put_be16(d.bytes + 14 + 10, 0);
			put_be16(d.bytes + 14 + 10, ipv4_checksum(d.bytes + 14));
		}
		memcpy(before, d.bytes, ROOM);
		forward(&d);
		assert_int_equal(d.verdict.drop, FWD_DROP_NONE);
		assert_true(d.verdict.local);
		assert_int_equal(d.v.hop_limit, 1);
		assert_memory_equal(d.bytes, before, ROOM);
	}
}

static void each_drop_of_plain_packets(void **state)
{
	struct draft d;

	(void)state;
	plain_ipv6(&d, to_nowhere, 0);
	/* The route is looked for before the hop limit is. */
	d.bytes[14 + 7] = 1;
	forward(&d);
	assert_int_equal(d.verdict.drop, FWD_DROP_NO_ROUTE);
	plain_ipv4(&d, (const uint8_t[]){10, 2, 0, 1}, 0);
	forward(&d);
	assert_int_equal(d.verdict.drop, FWD_DROP_NO_ROUTE);
	for (uint8_t limit = 0; limit < 3; limit++) {
		plain_ipv6(&d, to_1, 0);
		d.bytes[14 + 7] = limit;
		forward(&d);
		assert_int_equal(d.verdict.drop, limit < 2 ? FWD_DROP_HOP_LIMIT : FWD_DROP_NONE);
	}
	plain_ipv4(&d, (const uint8_t[]){10, 1, 0, 1}, 0);
	d.bytes[14 + 8]++;
	forward(&d);
	assert_int_equal(d.verdict.drop, FWD_DROP_CHECKSUM);
	plain_ipv6(&d, to_1, 0);
	put_be16(d.bytes + 12, 0x0806);
	forward(&d);
	assert_int_equal(d.verdict.drop, FWD_DROP_NOT_IP);
	plain_ipv6(&d, to_1, 0);
	d.len--;
	forward(&d);
	assert_int_equal(d.verdict.drop, FWD_DROP_MALFORMED);
	/* Padding is no fault. */
	plain_ipv6(&d, to_1, 0);
	d.len += 10;
	forward(&d);
	assert_left_by(&d, 2);
	assert_int_equal(d.f.len, 14 + 60 + 10);
}

/* Segments that this node executes, one after another, cost one hop. */
static void segments_of_one_node_cost_one_hop(void **state)
{
	static const struct {
		uint8_t n;
		uint16_t usids[6];
		uint16_t port, left; /* left: uSIDs that remain */
	} table[] = {
		{1, {ELSEWHERE}, 2, 1},
		{2, {UN, ELSEWHERE}, 2, 1},
		{3, {UN, ELSEWHERE, UN}, 2, 2},
		{3, {UN, UN, ELSEWHERE}, 2, 1},
		{3, {UN, UA, ELSEWHERE}, 7, 1},
		{2, {UA, ELSEWHERE}, 7, 1},
		{4, {UA, UN, UA, ELSEWHERE}, 7, 3}, /* what follows is for the other end */
		{6, {UN, UN, UN, UN, UN, ELSEWHERE}, 2, 1},
		{6, {UN, UN, UN, UN, UA, ELSEWHERE}, 7, 1},
	};
	uint8_t first[16], want[16];
	struct draft d;

	(void)state;
	for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		container(first, table[i].usids, table[i].n);
		container(want, table[i].usids + table[i].n - table[i].left, table[i].left);
		encapsulated(&d, first, NULL, 0, to_16);
		forward(&d);
		assert_left_by(&d, table[i].port);
		assert_int_equal(d.v.hop_limit, 63);
		assert_memory_equal(d.v.ip + 24, want, 16);
		/* The inner packet is payload. */
		assert_int_equal(d.v.ip[40 + 7], 64);

		encapsulated(&d, first, NULL, 0, to_16);
		d.bytes[14 + 7] = 1;
		forward(&d);
		assert_int_equal(d.verdict.drop, FWD_DROP_HOP_LIMIT);
	}
}

static void decapsulated_packets_are_routed_by_the_inner_header(void **state)
{
	static const struct {
		uint16_t usids[2];
		const uint8_t *inner;
		int port; /* -1: local */
	} table[] = {
		{{DT6, 0}, to_1, 2}, {{UN, DT6}, to_1, 2},  {{DT6, 0}, to_us, -1},
		{{DX6, 0}, to_1, 9}, {{UN, DX6}, to_us, 9}, {{DX6, 0}, to_nowhere, 9},
	};
	uint8_t first[16];
	struct draft d;

	(void)state;
	for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		container(first, table[i].usids, table[i].usids[1] ? 2 : 1);
		encapsulated(&d, first, NULL, 0, table[i].inner);
		/* The outer hop limit goes with the outer header; the inner one is what counts. */
		d.bytes[14 + 7] = 2;
		d.bytes[14 + 40 + 7] = 17;
		forward(&d);
		assert_ptr_equal(d.f.at, d.bytes + 40);
		assert_int_equal(d.f.len, 14 + 60);
		assert_memory_equal(d.v.ip + 24, table[i].inner, 16);
		if (table[i].port < 0) {
			assert_int_equal(d.verdict.drop, FWD_DROP_NONE);
			assert_true(d.verdict.local);
			assert_int_equal(d.v.hop_limit, 17);
			continue;
		}
		assert_left_by(&d, (uint16_t)table[i].port);
		assert_int_equal(d.v.hop_limit, 16);
		assert_int_equal(d.v.sport, 0xc001);

		encapsulated(&d, first, NULL, 0, table[i].inner);
		d.bytes[14 + 40 + 7] = 1;
		forward(&d);
		assert_int_equal(d.verdict.drop, FWD_DROP_HOP_LIMIT);
	}
}

static void what_was_inside_may_name_us_again(void **state)
{
	uint8_t outer[16], inner[16];
	struct draft d;

	(void)state;
	container(outer, (const uint16_t[]){DT6}, 1);
	container(inner, (const uint16_t[]){UN, UA, ELSEWHERE}, 3);
	encapsulated(&d, outer, NULL, 0, inner);
	forward(&d);
	assert_left_by(&d, 7);
	assert_int_equal(d.v.hop_limit, 63);
	container(inner, (const uint16_t[]){ELSEWHERE}, 1);
	assert_memory_equal(d.v.ip + 24, inner, 16);
}

static void segment_drops_are_passed_on(void **state)
{
	uint8_t first[16];
	struct draft d;

	(void)state;
	container(first, (const uint16_t[]){UN}, 1);
	encapsulated(&d, first, NULL, 0, to_1);
	forward(&d);
	assert_int_equal(d.verdict.drop, FWD_DROP_SID_END);
	container(first, (const uint16_t[]){UN, DT6}, 2);
	encapsulated(&d, first, NULL, 0, to_1);
	d.bytes[14 + 6] = IPPROTO_UDP_IN;
	forward(&d);
	assert_int_equal(d.verdict.drop, FWD_DROP_SID_UPPER);
	/* In our block, but nobody's route and not ours. */
	container(first, (const uint16_t[]){0x0999}, 1);
	encapsulated(&d, first, NULL, 0, to_1);
	forward(&d);
	assert_int_equal(d.verdict.drop, FWD_DROP_NO_ROUTE);
}

/* A list that names this node over and over is given up after a container's worth and two. */
static void rounds_are_bounded(void **state)
{
	static const uint16_t own[7] = {UN, UN, UN, UN, UN, UN, UN};
	const uint16_t tail[] = {UN, UN, UN, ELSEWHERE};
	uint8_t first[16], lists[2][16];
	struct draft d;

	(void)state;
	for (uint32_t format = FWD_F3216; format <= FWD_F1616; format++) {
		uint32_t capacity = fwd_sid_capacity((enum fwd_sid_format)format);
		struct fwd_prefix elsewhere = {.len = format == FWD_F3216 ? 48 : 32};

		stop(NULL);
		start(NULL);
		sw.sids.format = (uint8_t)format;
		sw.sids.block = format == FWD_F3216 ? BLOCK : BLOCK >> 16;
		container(elsewhere.address, (const uint16_t[]){ELSEWHERE}, 1);
		assert_int_equal(fwd_routes_add(&sw.routes, &elsewhere, GROUP_1), 0);
		container(first, own, capacity);
		for (uint32_t more = 0; more <= 3; more++) {
			container(lists[0], tail + 3 - more, more + 1);
			encapsulated(&d, first, (const uint8_t(*)[16])lists, 1, to_1);
			forward(&d);
			if (more < 2) {
				assert_left_by(&d, 2);
				assert_int_equal(d.v.hop_limit, 63);
			} else {
				assert_int_equal(d.verdict.drop, FWD_DROP_SID_HEADER);
			}
		}
	}
}

static void without_segments_a_container_is_an_address(void **state)
{
	uint8_t first[16];
	struct draft d;

	(void)state;
	sw.sids.n = 0;
	container(first, (const uint16_t[]){ELSEWHERE, UN}, 2);
	encapsulated(&d, first, NULL, 0, to_16);
	forward(&d);
	assert_left_by(&d, 2);
	assert_memory_equal(d.v.ip + 24, first, 16);
	container(first, (const uint16_t[]){UN, ELSEWHERE}, 2);
	encapsulated(&d, first, NULL, 0, to_16);
	forward(&d);
	assert_int_equal(d.verdict.drop, FWD_DROP_NO_ROUTE);
}

/* Every cut of every kind of packet, in memory of just that size. */
static void truncations_are_dropped_in_bounds(void **state)
{
	uint8_t first[16], lists[2][16];
	struct draft d;

	(void)state;
	container(lists[0], (const uint16_t[]){UN, UA, ELSEWHERE}, 3);
	container(lists[1], (const uint16_t[]){DT6}, 1);
	for (uint32_t kind = 0; kind < 5; kind++) {
		container(first, (const uint16_t[]){kind == 4 ? DT6 : UN}, 1);
		switch (kind) {
		case 0: plain_ipv6(&d, to_16, 0x12345678); break;
		case 1: plain_ipv4(&d, (const uint8_t[]){10, 1, 2, 3}, 5); break;
		case 2: encapsulated(&d, first, (const uint8_t(*)[16])lists, 2, to_16); break;
		case 3: encapsulated(&d, lists[1], NULL, 0, to_16); break;
		default: encapsulated(&d, first, NULL, 0, lists[0]); break;
		}
		for (uint32_t i = 0; i < 2 * d.len; i++) {
			uint32_t stored = i / 2, len = i & 1 ? d.len : stored;
			uint8_t *copy = malloc(stored ? stored : 1);
			struct fwd_frame f = {copy, stored, len};

			assert_non_null(copy);
			memcpy(copy, d.bytes, stored);
			struct fwd_verdict got = fwd_switch_forward(&sw, &f, &d.v);

			if (len == stored || stored < 14 + (kind == 1 ? 24 : 40))
				assert_int_equal(got.drop, FWD_DROP_MALFORMED);
			free(copy);
		}
		forward(&d);
		assert_int_equal(d.verdict.drop, FWD_DROP_NONE);
	}
}

static void forward_beyond_ports(void *draft)
{
	struct draft *d = draft;

	forward(d);
}

static void mistakes_abort(void **state)
{
	struct draft d;

	(void)state;
	sw.n_ports = 2;
	plain_ipv6(&d, to_1, 0);
	assert_true(check_aborts(forward_beyond_ports, &d));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest cases[] = {
	CASE(a_frame_is_rewritten_and_nothing_else),
	CASE(passing_on_writes_what_forwarding_writes),
	CASE(tags_stay_in_place),
	CASE(hash_picks_a_member),
	CASE(native_ip_is_spread_by_its_entropy),
	CASE(hash_is_configured),
	CASE(structured_ev_names_the_member),
	CASE(packets_for_the_node_itself),
	CASE(each_drop_of_plain_packets),
	CASE(segments_of_one_node_cost_one_hop),
	CASE(decapsulated_packets_are_routed_by_the_inner_header),
	CASE(what_was_inside_may_name_us_again),
	CASE(segment_drops_are_passed_on),
	CASE(rounds_are_bounded),
	CASE(without_segments_a_container_is_an_address),
	CASE(truncations_are_dropped_in_bounds),
	CASE(mistakes_abort),
};

CHECK_MAIN(cases)
