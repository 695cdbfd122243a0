/* Segment identifiers at a switch, byte by byte: shifts, promotions, pops and decapsulations. */
#include "fwd/sid.h"

#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "shape.h"

enum { NO_PORT = 0, TRIMMED = 5, TRIMMED_LASTHOP = 7, TRIMMED_TOO = 44 };

struct packet {
	uint8_t *memory; /* exactly as long as what is stored */
	struct fwd_frame f;
	struct fwd_view view;
};

static const struct fwd_sid nodes[] = {
	{.usid = 0x0001, .behaviour = FWD_SID_UN},
	{.usid = 0x0002, .behaviour = FWD_SID_UN, .psp = true},
	{.usid = 0xe003, .behaviour = FWD_SID_UA, .port = 3},
	{.usid = 0xe004, .behaviour = FWD_SID_UA, .port = 4, .psp = true},
	{.usid = 0x0d06, .behaviour = FWD_SID_DT6},
	{.usid = 0x0d07, .behaviour = FWD_SID_DX6, .port = 7},
};
static const struct fwd_sids f3216 = {
	.block = 0xfcbbbb00,
	.format = FWD_F3216,
	.sids = nodes,
	.n = sizeof nodes / sizeof nodes[0],
	.trims = {UINT64_C(1) << TRIMMED | UINT64_C(1) << TRIMMED_TOO, UINT64_C(1)
									       << TRIMMED_LASTHOP},
};
static const struct fwd_sids f1616 = {
	.block = 0xfcbb,
	.format = FWD_F1616,
	.sids = nodes,
	.n = sizeof nodes / sizeof nodes[0],
};

/* The first stored bytes of the frame in memory that ends where they end. */
static void open_packet(struct packet *p, const uint8_t *bytes, uint32_t stored, uint32_t len)
{
	p->memory = malloc(stored);
	assert_non_null(p->memory);
	memcpy(p->memory, bytes, stored);
	p->f = (struct fwd_frame){p->memory, stored, len};
	p->view = (struct fwd_view){0};
}

static struct fwd_sid_result run(const struct fwd_sids *sids, const struct shape *s,
				 struct packet *p)
{
	uint8_t bytes[SHAPE_BYTES_MAX];
	uint32_t len = shape_build(bytes, s);

	open_packet(p, bytes, len, len);
	assert_int_equal(fwd_view_get(&p->f, &p->view), FWD_DROP_NONE);
	return fwd_sid_execute(sids, &p->f, &p->view);
}

static void close_packet(struct packet *p)
{
	free(p->memory);
}

/* The frame has these bytes, and its view is what reading it anew gives. */
static void expect_frame(const struct packet *p, const uint8_t *bytes, uint32_t len)
{
	struct fwd_view again;

	assert_int_equal(p->f.len, len);
	assert_int_equal(p->f.stored, len);
	assert_memory_equal(p->f.at, bytes, len);
	assert_int_equal(fwd_view_get(&p->f, &again), FWD_DROP_NONE);
	assert_ptr_equal(p->view.ip, again.ip);
	assert_int_equal(p->view.ip_at, again.ip_at);
	assert_int_equal(p->view.ip_len, again.ip_len);
	assert_int_equal(p->view.flow_label, again.flow_label);
	assert_int_equal(p->view.sport, again.sport);
	assert_int_equal(p->view.dport, again.dport);
	assert_int_equal(p->view.version, again.version);
	assert_int_equal(p->view.dscp, again.dscp);
	assert_int_equal(p->view.ecn, again.ecn);
	assert_int_equal(p->view.hop_limit, again.hop_limit);
	assert_int_equal(p->view.protocol, again.protocol);
}

static void expect_shape(const struct packet *p, const struct shape *s)
{
	uint8_t bytes[SHAPE_BYTES_MAX];

	expect_frame(p, bytes, shape_build(bytes, s));
}

static void expect_result(struct fwd_sid_result r, enum fwd_sid_next next, uint16_t port)
{
	assert_int_equal(r.drop, FWD_DROP_NONE);
	assert_int_equal(r.next, next);
	if (next == FWD_SID_PORT)
		assert_int_equal(r.port, port);
}

static enum fwd_drop drop_of(const struct fwd_sids *sids, const struct shape *s)
{
	struct packet p;
	struct fwd_sid_result r = run(sids, s, &p);

	close_packet(&p);
	return r.drop;
}

/* Each hop of the path is its own switch, with the one uSID of the row. */
static void hop_by_hop(const struct fwd_sids *like, const char *const *dsts, const uint16_t *usids,
		       uint32_t n, uint8_t behaviour)
{
	for (uint32_t i = 0; i + 1 < n; i++) {
		struct fwd_sid sid = {.usid = usids[i], .behaviour = behaviour, .port = 9};
		struct fwd_sids here = *like;
		struct shape before = shape_plain(dsts[i]), after = shape_plain(dsts[i + 1]);
		struct packet p;

		here.sids = &sid;
		here.n = 1;
		expect_result(run(&here, &before, &p),
			      behaviour == FWD_SID_UN ? FWD_SID_ROUTE : FWD_SID_PORT, 9);
		expect_shape(&p, &after);
		close_packet(&p);
	}
	struct fwd_sid last = {.usid = usids[n - 1], .behaviour = behaviour};
	struct fwd_sids here = *like;
	struct shape s = shape_plain(dsts[n - 1]);

	here.sids = &last;
	here.n = 1;
	assert_int_equal(drop_of(&here, &s), FWD_DROP_SID_END);
}

static void six_usids_of_f3216(void **state)
{
	static const char *const dsts[] = {
		"fcbbbb00010102020303040405050606", "fcbbbb00020203030404050506060000",
		"fcbbbb00030304040505060600000000", "fcbbbb00040405050606000000000000",
		"fcbbbb00050506060000000000000000", "fcbbbb00060600000000000000000000",
	};
	static const uint16_t usids[] = {0x0101, 0x0202, 0x0303, 0x0404, 0x0505, 0x0606};

	(void)state;
	hop_by_hop(&f3216, dsts, usids, 6, FWD_SID_UN);
	hop_by_hop(&f3216, dsts, usids, 6, FWD_SID_UA);
}

static void seven_usids_of_f1616(void **state)
{
	static const char *const dsts[] = {
		"fcbb0101020203030404050506060707", "fcbb0202030304040505060607070000",
		"fcbb0303040405050606070700000000", "fcbb0404050506060707000000000000",
		"fcbb0505060607070000000000000000", "fcbb0606070700000000000000000000",
		"fcbb0707000000000000000000000000",
	};
	static const uint16_t usids[] = {0x0101, 0x0202, 0x0303, 0x0404, 0x0505, 0x0606, 0x0707};

	(void)state;
	hop_by_hop(&f1616, dsts, usids, 7, FWD_SID_UN);
	hop_by_hop(&f1616, dsts, usids, 7, FWD_SID_UA);
}

/* A zero uSID with others behind it is an argument that is not zero (RFC 9800 4.1.1). */
static void a_gap_in_the_container(void **state)
{
	struct shape before = shape_plain("fcbbbb00000100000000000000000009");
	struct shape after = shape_plain("fcbbbb00000000000000000000090000");
	struct packet p;

	(void)state;
	expect_result(run(&f3216, &before, &p), FWD_SID_ROUTE, NO_PORT);
	expect_shape(&p, &after);
	close_packet(&p);
}

static void what_is_not_ours(void **state)
{
	static const char *const dsts[] = {
		"fcbbbb01000100020000000000000000", /* another block */
		"fcbbbb00000900020000000000000000", /* another node */
		"fcbbbb00000000010000000000000000", /* uSID 0 */
		"fcbb0001000200000000000000000000", /* the block of the other format */
	};
	struct packet p;

	(void)state;
	for (size_t i = 0; i < sizeof dsts / sizeof dsts[0]; i++) {
		struct shape s = shape_plain(dsts[i]);

		expect_result(run(&f3216, &s, &p), FWD_SID_NOT_OURS, NO_PORT);
		expect_shape(&p, &s);
		close_packet(&p);
	}
	struct shape s = shape_plain("fcbbbb00000100020000000000000000");
	struct fwd_sids none = f3216;

	none.n = 0;
	expect_result(run(&none, &s, &p), FWD_SID_NOT_OURS, NO_PORT);
	expect_shape(&p, &s);
	close_packet(&p);
	/* not before its format is asked for: fcbb:bb00 is block and uSID there */
	expect_result(run(&f1616, &s, &p), FWD_SID_NOT_OURS, NO_PORT);
	close_packet(&p);
}

static void not_ipv6(void **state)
{
	uint8_t ip[40] = {0};
	struct fwd_frame f = {ip, sizeof ip, sizeof ip};
	struct fwd_view view = {.ip = ip, .ip_len = sizeof ip, .version = 4};

	(void)state;
	shape_hex(ip + 24, "fcbbbb00000100020000000000000000");
	expect_result(fwd_sid_execute(&f3216, &f, &view), FWD_SID_NOT_OURS, NO_PORT);
	assert_int_equal(ip[24 + 7], 2);
}

/* RFC 8986 4.1 with RFC 8754 4.1.1: three segments in the list, the first destination is not among
 * them. The used-up container gives way to segments 2, 1 and 0. */
#define SEGMENT_0 "fcbbbb00000100010000000000000000"
#define SEGMENT_1 SHAPE_ONLY("e003")
#define SEGMENT_2 SHAPE_ONLY("0001")

static void promotion_in_a_reduced_header(void **state)
{
	const char *list = SEGMENT_0 SEGMENT_1 SEGMENT_2;
	struct shape steps[] = {
		shape_routed(SHAPE_ONLY("0001"), 3, 3, list), shape_routed(SEGMENT_2, 3, 2, list),
		shape_routed(SEGMENT_1, 3, 1, list),          shape_routed(SEGMENT_0, 3, 0, list),
		shape_routed(SHAPE_ONLY("0001"), 3, 0, list),
	};
	struct packet p;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		expect_result(run(&f3216, &steps[i], &p), i == 2 ? FWD_SID_PORT : FWD_SID_ROUTE, 3);
		expect_shape(&p, &steps[i + 1]);
		close_packet(&p);
	}
	assert_int_equal(drop_of(&f3216, &steps[4]), FWD_DROP_SID_END);
}

static void promotion_in_a_full_header(void **state)
{
	const char *list = SEGMENT_0 SEGMENT_1;
	struct shape before = shape_routed(SHAPE_ONLY("e003"), 2, 1, list);
	struct shape after = shape_routed(SEGMENT_0, 2, 0, list);
	struct packet p;

	(void)state;
	before.n_tlvs = after.n_tlvs = 1; /* an odd header length */
	before.n_vlan = after.n_vlan = 1;
	expect_result(run(&f3216, &before, &p), FWD_SID_PORT, 3);
	expect_shape(&p, &after);
	close_packet(&p);
}

/* F1616 uses up its seven before it asks for more. */
static void promotion_in_f1616(void **state)
{
	struct shape before = shape_routed("fcbb0001000000000000000000000000", 1, 1,
					   "fcbb0001000200030004000500060007");
	struct shape after = shape_routed("fcbb0001000200030004000500060007", 1, 0,
					  "fcbb0001000200030004000500060007");
	struct shape then = shape_routed("fcbb0002000300040005000600070000", 1, 0,
					 "fcbb0001000200030004000500060007");
	struct packet p;

	(void)state;
	expect_result(run(&f1616, &before, &p), FWD_SID_ROUTE, NO_PORT);
	expect_shape(&p, &after);
	expect_result(fwd_sid_execute(&f1616, &p.f, &p.view), FWD_SID_ROUTE, NO_PORT);
	expect_shape(&p, &then);
	close_packet(&p);
}

/* With uSIDs left the header is not looked at, be it a copy or broken (RFC 9800 4.1.1 before S01).
 */
static void a_shift_leaves_the_header_alone(void **state)
{
	struct shape before = shape_routed("fcbbbb00000200030000000000000000", 1, 0, SEGMENT_0);
	struct shape after = shape_routed(SHAPE_ONLY("0003"), 1, 0, SEGMENT_0);
	struct packet p;

	(void)state;
	for (uint8_t left = 0; left < 3; left++) {
		before.segments_left = after.segments_left = left;
		expect_result(run(&f3216, &before, &p), FWD_SID_ROUTE, NO_PORT);
		expect_shape(&p, &after);
		close_packet(&p);
	}
}

/* RFC 8986 4.16.1, written out: 24 of 44 bytes go. */
static void psp_byte_by_byte(void **state)
{
	static const char before[] = "02020202020204040404040486dd"
				     "60012345002c2b4020010db8000000000000000000000001"
				     "fcbbbb00000200000000000000000000"
				     "1102040100000000fcbbbb00000900000000000000000000"
				     "123412b700140000000102030405060708090a0b";
	static const char after[] = "02020202020204040404040486dd"
				    "600123450014114020010db8000000000000000000000001"
				    "fcbbbb00000900000000000000000000"
				    "123412b700140000000102030405060708090a0b";
	uint8_t bytes[SHAPE_BYTES_MAX];
	uint32_t len = (uint32_t)(sizeof before - 1) / 2;
	struct packet p;

	(void)state;
	shape_hex(bytes, before);
	open_packet(&p, bytes, len, len);
	assert_int_equal(fwd_view_get(&p.f, &p.view), FWD_DROP_NONE);
	assert_int_equal(p.view.sport, 0);
	expect_result(fwd_sid_execute(&f3216, &p.f, &p.view), FWD_SID_ROUTE, NO_PORT);
	shape_hex(bytes, after);
	expect_frame(&p, bytes, (uint32_t)(sizeof after - 1) / 2);
	assert_int_equal(p.view.sport, 0x1234);
	assert_int_equal(p.view.dport, 4791);
	close_packet(&p);
}

static void psp_waits_for_the_last_segment(void **state)
{
	struct shape before = shape_routed(SHAPE_ONLY("e004"), 2, 2, SEGMENT_0 SHAPE_ONLY("0002"));
	struct shape middle = before, after = shape_plain(SEGMENT_0);
	struct packet p;

	(void)state;
	shape_hex(middle.dst, SHAPE_ONLY("0002"));
	middle.segments_left = 1;
	before.n_vlan = middle.n_vlan = after.n_vlan = 2;
	before.n_tlvs = middle.n_tlvs = 1;
	expect_result(run(&f3216, &before, &p), FWD_SID_PORT, 4);
	expect_shape(&p, &middle);
	expect_result(fwd_sid_execute(&f3216, &p.f, &p.view), FWD_SID_ROUTE, NO_PORT);
	expect_shape(&p, &after);
	close_packet(&p);
}

static void the_list_ends_at_a_transit_node(void **state)
{
	static const char *const dsts[] = {
		SHAPE_ONLY("0001"),
		SHAPE_ONLY("0002"),
		SHAPE_ONLY("e003"),
		SHAPE_ONLY("e004"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof dsts / sizeof dsts[0]; i++) {
		struct shape bare = shape_plain(dsts[i]),
			     copy = shape_routed(dsts[i], 1, 0, SEGMENT_0);

		assert_int_equal(drop_of(&f3216, &bare), FWD_DROP_SID_END);
		assert_int_equal(drop_of(&f3216, &copy), FWD_DROP_SID_END);
	}
}

/* One byte of a good header changed. Offsets count from the header's first byte. */
static void headers_that_are_malformed(void **state)
{
	static const struct {
		uint8_t at, value;
	} bad[] = {
		{2, 3},   /* another routing type */
		{2, 0},   /* the one RFC 5095 forbids */
		{1, 2},   /* room for one segment of two */
		{1, 3},   /* and a half */
		{1, 0},   /* for none */
		{1, 30},  /* beyond the packet */
		{1, 255}, /* far beyond */
		{4, 2},   /* a third segment of two */
		{4, 255}, /* all of them */
		{3, 3},   /* two past the list */
		{3, 255},
	};
	static const char *const dsts[] = {
		SHAPE_ONLY("0001"), SHAPE_ONLY("0002"), SHAPE_ONLY("e003"),
		SHAPE_ONLY("0d06"), SHAPE_ONLY("0d07"),
	};

	(void)state;
	for (size_t d = 0; d < sizeof dsts / sizeof dsts[0]; d++)
		for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
			struct shape s = shape_routed(dsts[d], 2, 1, SEGMENT_0 SEGMENT_1);
			uint8_t bytes[SHAPE_BYTES_MAX];
			uint32_t len = shape_build(bytes, &s);
			struct packet p;

			bytes[14 + 40 + bad[i].at] = bad[i].value;
			open_packet(&p, bytes, len, len);
			assert_int_equal(fwd_view_get(&p.f, &p.view), FWD_DROP_NONE);
			assert_int_equal(fwd_sid_execute(&f3216, &p.f, &p.view).drop,
					 FWD_DROP_SID_HEADER);
			close_packet(&p);
		}
}

/* The header ends with the IP packet, not with the frame. */
static void a_header_in_the_padding(void **state)
{
	struct shape s = shape_routed(SHAPE_ONLY("0001"), 1, 1, SEGMENT_0);
	uint8_t bytes[SHAPE_BYTES_MAX];
	uint32_t len = shape_build(bytes, &s);
	struct packet p;

	(void)state;
	for (uint16_t length = 0; length < 24; length++) {
		put_be16(bytes + 14 + 4, length);
		open_packet(&p, bytes, len, len);
		assert_int_equal(fwd_view_get(&p.f, &p.view), FWD_DROP_NONE);
		assert_int_equal(fwd_sid_execute(&f3216, &p.f, &p.view).drop, FWD_DROP_SID_HEADER);
		close_packet(&p);
	}
}

static void decapsulations(void **state)
{
	static const char *const dsts[] = {
		SHAPE_ONLY("0d06"), SHAPE_ONLY("0d07"),
		"fcbbbb000d0700000000000000000001", /* an argument means nothing to them */
	};
	struct packet p;

	(void)state;
	for (uint32_t i = 0; i < 36; i++) {
		const char *dst = dsts[i % 3];
		bool has_srh = i / 3 % 2, has_padding = i / 6 % 2;
		struct shape s =
			has_srh ? shape_routed(dst, 2, 0, SEGMENT_0 SEGMENT_1) : shape_plain(dst);

		s.n_vlan = (uint8_t)(i / 12);
		s.padding = has_padding ? 11 : 0;
		s.inner_class = 0xb8;
		struct shape inner = shape_inner(&s);
		struct fwd_sid_result r = run(&f3216, &s, &p);

		expect_result(r, i % 3 ? FWD_SID_PORT : FWD_SID_ROUTE, 7);
		assert_true(r.decapsulated);
		expect_shape(&p, &inner);
		assert_int_equal(p.view.sport, 0x4041);
		assert_int_equal(p.view.dport, 0x4243);
		close_packet(&p);
	}
}

static void decapsulations_refused(void **state)
{
	static const char *const dsts[] = {
		SHAPE_ONLY("0d06"),
		SHAPE_ONLY("0d07"),
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct shape left = shape_routed(dsts[i], 2, 1, SEGMENT_0 SEGMENT_1);
		struct shape udp = shape_plain(dsts[i]), ipv4 = udp, behind = udp, bare = udp,
			     long_one = udp;

		assert_int_equal(drop_of(&f3216, &left), FWD_DROP_SID_LEFT);
		left.segments_left = 2;
		assert_int_equal(drop_of(&f3216, &left), FWD_DROP_SID_LEFT);
		udp.has_inner = ipv4.has_inner = false;
		assert_int_equal(drop_of(&f3216, &udp), FWD_DROP_SID_UPPER);
		ipv4.upper = IPPROTO_IPV4_IN;
		assert_int_equal(drop_of(&f3216, &ipv4), FWD_DROP_SID_UPPER);
		behind = shape_routed(dsts[i], 1, 0, SEGMENT_0);
		behind.has_inner = false;
		assert_int_equal(drop_of(&f3216, &behind), FWD_DROP_SID_UPPER);
		/* announced as IPv6, but the payload opens with 0x40, or is too short */
		bare.has_inner = false;
		bare.upper = IPPROTO_IPV6_IN;
		bare.payload = 40;
		assert_int_equal(drop_of(&f3216, &bare), FWD_DROP_SID_UPPER);
		bare.payload = 39;
		assert_int_equal(drop_of(&f3216, &bare), FWD_DROP_MALFORMED);
		/* padding is no room */
		long_one.inner_excess = 1;
		long_one.padding = 20;
		assert_int_equal(drop_of(&f3216, &long_one), FWD_DROP_MALFORMED);
	}
}

/* RFC 6040, Figure 4, in its own order: rows are inner, columns outer; Not-ECT, ECT(0), ECT(1), CE.
 */
static void congestion_goes_inward(void **state)
{
	enum { NOT = 0, E0 = 2, E1 = 1, CE = 3, DROP = 4 };
	static const uint8_t order[4] = {NOT, E0, E1, CE};
	static const uint8_t figure[4][4] = {
		{NOT, NOT, NOT, DROP},
		{E0, E0, E1, CE},
		{E1, E1, E1, CE},
		{CE, CE, CE, CE},
	};

	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		struct shape s = shape_plain(SHAPE_ONLY("0d06"));
		uint8_t want = figure[i / 4][i % 4];
		struct packet p;

		s.tclass = (uint8_t)(46 << 2 | order[i % 4]);
		s.inner_class = (uint8_t)(11 << 2 | order[i / 4]);
		struct fwd_sid_result r = run(&f3216, &s, &p);

		if (want == DROP) {
			assert_int_equal(r.drop, FWD_DROP_SID_ECN);
		} else {
			expect_result(r, FWD_SID_ROUTE, NO_PORT);
			s.inner_class = (uint8_t)(11 << 2 | want);
			struct shape inner = shape_inner(&s);

			expect_shape(&p, &inner);
		}
		close_packet(&p);
	}
}

/* UE 4.1.3, M-42: the DSCP goes inward; the inner length keeps its original value, more than there
 * is, and the view is bounded by what there is. */
static void trimmed_packets(void **state)
{
	static const uint8_t dscps[] = {TRIMMED, TRIMMED_LASTHOP, TRIMMED_TOO};
	uint8_t bytes[SHAPE_BYTES_MAX];
	struct packet p;

	(void)state;
	for (uint32_t i = 0; i < 12; i++) {
		const char *dst = SHAPE_ONLY("0d07");
		struct shape s = i / 3 % 2 ? shape_routed(dst, 1, 0, SEGMENT_0) : shape_plain(dst);

		s.tclass = (uint8_t)(dscps[i % 3] << 2 | FWD_ECN_CE);
		s.inner_class = 46 << 2 | FWD_ECN_ECT0;
		s.inner_excess = i / 6 ? 4000 : 0;
		s.padding = 9;
		expect_result(run(&f3216, &s, &p), FWD_SID_PORT, 7);
		s.inner_class = s.tclass;
		struct shape inner = shape_inner(&s);
		uint32_t len = shape_build(bytes, &inner);

		assert_int_equal(p.f.len, len);
		assert_int_equal(p.f.stored, len);
		assert_memory_equal(p.f.at, bytes, len);
		assert_ptr_equal(p.view.ip, p.f.at + 14);
		assert_int_equal(p.view.ip_at, 14);
		assert_int_equal(p.view.ip_len, 40 + 24);
		assert_int_equal(p.view.dscp, dscps[i % 3]);
		assert_int_equal(p.view.ecn, FWD_ECN_CE);
		assert_int_equal(p.view.hop_limit, 9);
		assert_int_equal(p.view.flow_label, 0xa5c3e);
		assert_int_equal(p.view.sport, 0x4041);
		assert_int_equal(p.view.protocol, IPPROTO_UDP_IN);
		close_packet(&p);
	}
	/* where trimming is not configured, the same packet is broken */
	struct shape s = shape_plain("fcbb0d06000000000000000000000000");

	s.tclass = TRIMMED << 2;
	s.inner_excess = 1;
	assert_int_equal(drop_of(&f1616, &s), FWD_DROP_MALFORMED);
	/* and any other DSCP stays outside */
	s.inner_excess = 0;
	assert_int_equal(run(&f1616, &s, &p).drop, FWD_DROP_NONE);
	assert_int_equal(p.view.dscp, 0);
	close_packet(&p);
}

/* Whatever of the headers is in memory, nothing behind it is touched (the sanitizer watches), and
 * what is not there is never guessed. */
static void every_truncation(void **state)
{
	static const struct {
		const char *dst;
		bool has_srh;
		uint32_t needs; /* bytes behind the outer IPv6 header */
		enum fwd_drop drop;
	} rows[] = {
		{"fcbbbb00000100020000000000000000", true, 0, FWD_DROP_NONE},
		{SHAPE_ONLY("0001"), true, 40, FWD_DROP_SID_HEADER},
		{SHAPE_ONLY("0002"), true, 40, FWD_DROP_SID_HEADER},
		{SHAPE_ONLY("e004"), true, 40, FWD_DROP_SID_HEADER},
		{SHAPE_ONLY("0d06"), false, 44, FWD_DROP_MALFORMED},
		{SHAPE_ONLY("0d07"), true, 84, FWD_DROP_MALFORMED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct shape s = shape_plain(rows[i].dst);
		uint8_t bytes[SHAPE_BYTES_MAX];

		if (rows[i].has_srh)
			s = shape_routed(rows[i].dst, 2, rows[i].needs == 84 ? 0 : 1,
					 SEGMENT_0 SEGMENT_1);
		uint32_t len = shape_build(bytes, &s);

		for (uint32_t stored = 54; stored <= len; stored++) {
			struct packet p;
			enum fwd_drop want = FWD_DROP_NONE;

			if (stored < 54 + rows[i].needs)
				want = rows[i].has_srh && stored < 54 + 40 ? FWD_DROP_SID_HEADER
									   : rows[i].drop;
			open_packet(&p, bytes, stored, len);
			assert_int_equal(fwd_view_get(&p.f, &p.view), FWD_DROP_NONE);
			assert_int_equal(fwd_sid_execute(&f3216, &p.f, &p.view).drop, want);
			if (want == FWD_DROP_NONE)
				assert_true(p.f.at + p.f.stored == p.memory + stored);
			close_packet(&p);
		}
	}
}

/* PSP uncovers a UDP header: its ports must be in memory, as fwd_view_get wants. */
static void ports_uncovered(void **state)
{
	struct shape s = shape_routed(SHAPE_ONLY("0002"), 1, 1, SEGMENT_0);
	uint8_t bytes[SHAPE_BYTES_MAX];
	struct packet p;

	(void)state;
	s.has_inner = false;
	for (s.payload = 0; s.payload < 10; s.payload++) {
		uint32_t len = shape_build(bytes, &s);

		for (uint32_t stored = 54 + 24; stored <= len; stored++) {
			bool lacks = s.payload >= 4 && stored < 54 + 24 + 4;

			open_packet(&p, bytes, stored, len);
			assert_int_equal(fwd_view_get(&p.f, &p.view), FWD_DROP_NONE);
			assert_int_equal(fwd_sid_execute(&f3216, &p.f, &p.view).drop,
					 lacks ? FWD_DROP_MALFORMED : FWD_DROP_NONE);
			if (!lacks)
				assert_int_equal(p.view.dport, s.payload < 4 ? 0 : 0x4243);
			close_packet(&p);
		}
	}
}

static void random_shape(struct prng *r, struct shape *s)
{
	static const char *const dsts[] = {
		"fcbbbb000001", "fcbbbb000002", "fcbbbb00e003", "fcbbbb00e004", "fcbbbb000009",
	};

	*s = (struct shape){
		.n_vlan = (uint8_t)prng_below(r, 3),
		.tclass = (uint8_t)prng_below(r, 256),
		.has_srh = prng_below(r, 4) != 0,
		.n_segments = (uint8_t)(1 + prng_below(r, SHAPE_SEGMENTS_MAX)),
		.n_tlvs = (uint8_t)prng_below(r, 3),
		.has_inner = prng_below(r, 2),
		.upper = prng_below(r, 2) ? IPPROTO_UDP_IN : 59,
		.payload = (uint32_t)prng_below(r, 40),
		.padding = (uint32_t)prng_below(r, 2) * 7,
	};
	s->segments_left = (uint8_t)prng_below(r, s->n_segments + 2u);
	for (uint32_t i = 0; i < SHAPE_SEGMENTS_MAX; i++)
		for (uint32_t b = 0; b < 16; b++)
			s->segments[i][b] = (uint8_t)prng_u32(r);
	shape_hex(s->dst, dsts[prng_below(r, sizeof dsts / sizeof dsts[0])]);
	for (uint32_t b = 6 + 2 * (uint32_t)prng_below(r, 6); b < 16; b++)
		s->dst[b] = prng_below(r, 3) ? 0 : (uint8_t)prng_u32(r);
}

/* What the words of the RFCs make of a shape, on lists instead of bytes. */
static enum fwd_drop model(struct shape *s)
{
	uint16_t usids[6], first;
	uint32_t last = 0;

	for (uint32_t i = 0; i < 6; i++) {
		usids[i] = (uint16_t)(s->dst[4 + 2 * i] << 8 | s->dst[5 + 2 * i]);
		if (usids[i])
			last = i;
	}
	first = usids[0];
	if (first == 9)
		return FWD_DROP_NONE;
	if (last > 0) {
		fwd_container_put(s->dst, 0xfcbbbb00, FWD_F3216, usids + 1, 5);
		return FWD_DROP_NONE;
	}
	if (!s->has_srh)
		return FWD_DROP_SID_END;
	if (s->segments_left > s->n_segments)
		return FWD_DROP_SID_HEADER;
	if (s->segments_left == 0)
		return FWD_DROP_SID_END;
	memcpy(s->dst, s->segments[--s->segments_left], 16);
	if (s->segments_left == 0 && (first == 2 || first == 0xe004))
		s->has_srh = false;
	return FWD_DROP_NONE;
}

static void random_packets(void **state)
{
	struct prng r;
	uint32_t seen[FWD_DROP_COUNT] = {0}, popped = 0;

	(void)state;
	prng_init(&r, check_seed(0x51d), 0);
	for (int i = 0; i < 50000; i++) {
		struct shape s, after;
		struct packet p;

		random_shape(&r, &s);
		after = s;
		enum fwd_drop want = model(&after);
		struct fwd_sid_result got = run(&f3216, &s, &p);

		assert_int_equal(got.drop, want);
		if (want == FWD_DROP_NONE)
			expect_shape(&p, &after);
		close_packet(&p);
		seen[want]++;
		popped += s.has_srh && !after.has_srh;
	}
	assert_true(seen[FWD_DROP_NONE] > 1000 && seen[FWD_DROP_SID_END] > 1000);
	assert_true(seen[FWD_DROP_SID_HEADER] > 1000 && popped > 1000);
}

static void too_many(void *format)
{
	static const uint16_t usids[8];
	uint8_t address[16];
	enum fwd_sid_format f = *(enum fwd_sid_format *)format;

	fwd_container_put(address, 0, f, usids, fwd_sid_capacity(f) + 1);
}

static void containers(void **state)
{
	static const uint16_t usids[] = {0x0102, 0x0304, 0x0506, 0x0708, 0x090a, 0x0b0c, 0x0d0e};
	enum fwd_sid_format a = FWD_F3216, b = FWD_F1616;
	uint8_t got[16], want[16];

	(void)state;
	assert_int_equal(fwd_sid_capacity(a), 6);
	assert_int_equal(fwd_sid_capacity(b), 7);
	memset(got, 0xff, 16);
	fwd_container_put(got, 0xfcbbbb00, a, usids, 2);
	shape_hex(want, "fcbbbb00010203040000000000000000");
	assert_memory_equal(got, want, 16);
	fwd_container_put(got, 0xfcbbbb00, a, usids, 6);
	shape_hex(want, "fcbbbb000102030405060708090a0b0c");
	assert_memory_equal(got, want, 16);
	fwd_container_put(got, 0xfcbb, b, usids, 7);
	shape_hex(want, "fcbb0102030405060708090a0b0c0d0e");
	assert_memory_equal(got, want, 16);
	fwd_container_put(got, 0xfcbb, b, usids, 0);
	shape_hex(want, "fcbb0000000000000000000000000000");
	assert_memory_equal(got, want, 16);
	assert_true(check_aborts(too_many, &a));
	assert_true(check_aborts(too_many, &b));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(six_usids_of_f3216),
	cmocka_unit_test(seven_usids_of_f1616),
	cmocka_unit_test(a_gap_in_the_container),
	cmocka_unit_test(what_is_not_ours),
	cmocka_unit_test(not_ipv6),
	cmocka_unit_test(promotion_in_a_reduced_header),
	cmocka_unit_test(promotion_in_a_full_header),
	cmocka_unit_test(promotion_in_f1616),
	cmocka_unit_test(a_shift_leaves_the_header_alone),
	cmocka_unit_test(psp_byte_by_byte),
	cmocka_unit_test(psp_waits_for_the_last_segment),
	cmocka_unit_test(the_list_ends_at_a_transit_node),
	cmocka_unit_test(headers_that_are_malformed),
	cmocka_unit_test(a_header_in_the_padding),
	cmocka_unit_test(decapsulations),
	cmocka_unit_test(decapsulations_refused),
	cmocka_unit_test(congestion_goes_inward),
	cmocka_unit_test(trimmed_packets),
	cmocka_unit_test(every_truncation),
	cmocka_unit_test(ports_uncovered),
	cmocka_unit_test(random_packets),
	cmocka_unit_test(containers),
};
CHECK_MAIN(cases)
