/* Copies of requests: what each of them is, byte for byte. What is dropped: fwd_mt_drops.c. */
#include "base/prng.h"
#include "mt_stage.h"
#include "vectors.h"

static const uint8_t golden_srh[] = {
	0x29, 0x0a, 0x04, 0x01, 0x01, 0x00, 0x00, 0x00, 0xfd, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xfc, 0xbb, 0xbb, 0x00, 0xe0, 0x01,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x7c, 0x2a, 0x00, 0x00, 0xfc,
	0xbb, 0xbb, 0x00, 0xe0, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x01, 0x00, 0x00, 0x00, 0xfd, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x01, 0x0b, 0x00, 0x01, 0x00, 0x04, 0x02, 0x00, 0x00};
static const uint8_t golden_in[] = {VECTOR_COPIED}, golden_out[] = {VECTOR_COPY};

static const uint8_t passing[] = {
	ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE,    ROCE_OP_SEND_LAST,   ROCE_OP_SEND_LAST_IMM,
	ROCE_OP_SEND_ONLY,  ROCE_OP_SEND_ONLY_IMM,  ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE,
	ROCE_OP_WRITE_LAST, ROCE_OP_WRITE_LAST_IMM, ROCE_OP_WRITE_ONLY,  ROCE_OP_WRITE_ONLY_IMM,
};
enum { PASSING = sizeof passing };

static int stop(void **state)
{
	(void)state;
	close_stage();
	return 0;
}

/* The frame that a receiver should get of a request, made afresh. */
static uint32_t expected(const struct stage_packet *p, uint32_t branch, uint32_t qpn, uint8_t *out)
{
	const struct mt_branch *b = &st.branches[branch];
	struct stage_packet q = *p;

	q.src = st.group.keeps_source ? q.src : stage_proxy;
	q.dst = b->address;
	q.hops--;
	q.roce.bth.dest_qp = qpn;
	q.roce.bth.psn = (q.roce.bth.psn + b->shift.psn) & 0xffffff;
	q.roce.reth.va += b->shift.va;
	q.roce.reth.rkey = b->shift.has_rkey ? b->shift.rkey : q.roce.reth.rkey;
	make(&q);
	memcpy(out, st.in, st.len);
	memcpy(out, st.ports[STAGE_RECEIVERS].neighbour, 6);
	memcpy(out + 6, st.ports[STAGE_RECEIVERS].mac, 6);
	return st.len;
}

/* All three receivers get what they should of a request that comes wrapped. */
static void check_copies(const struct stage_packet *p)
{
	static uint8_t want[3][STAGE_FRAME];
	uint32_t len = 0;

	for (uint32_t i = 0; i < 3; i++)
		len = expected(p, i, 0x0b0001 + i, want[i]);
	make(p);
	wrap();
	assert_int_equal(take_it(), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(st.copies[i].is.branch, i);
		assert_int_equal(st.copies[i].is.port, STAGE_RECEIVERS);
		assert_int_equal(st.copies[i].is.len, len);
		assert_memory_equal(st.copies[i].bytes, want[i], len);
	}
}

static void the_golden_copy(void **state)
{
	(void)state;
	open_stage(STAGE_BY_TLV | STAGE_HAS_RECEIVERS);
	memcpy(st.srh, golden_srh, sizeof golden_srh);
	st.srh_len = sizeof golden_srh;
	const struct stage_packet any = stage_request(ROCE_OP_SEND_ONLY, 0);

	make(&any);
	memcpy(st.in + IP_AT, golden_in, sizeof golden_in);
	st.len = IP_AT + sizeof golden_in;
	wrap();
	assert_int_equal(take_it(), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 1);
	assert_int_equal(st.copies[0].is.len, IP_AT + sizeof golden_out);
	assert_memory_equal(st.copies[0].bytes + IP_AT, golden_out, sizeof golden_out);
	assert_int_equal(st.branches[0].qpn, 0x0b0001);
}

static void requests_of_every_opcode_and_size(void **state)
{
	(void)state;
	for (uint32_t mode = 0; mode < 2; mode++) {
		open_stage(STAGE_HAS_RECEIVERS | (mode ? STAGE_BY_TLV : 0));
		for (uint32_t i = 0; i < PASSING * 40; i++) {
			struct stage_packet p = stage_request(passing[i % PASSING], i);
			uint32_t bytes = i / PASSING < 20 ? i / PASSING : 4096 - i / PASSING;

			p.payload = (bytes + 3) / 4 * 4;
			p.roce.bth.pad = (uint8_t)(p.payload - bytes);
			p.has_checksum = i & 1;
			check_copies(&p);
		}
	}
}

/* What is not named in T-11 and T-13 stays as it is, whatever it is. */
static void every_other_field_stays(void **state)
{
	struct prng rng;

	(void)state;
	open_stage(STAGE_BY_TLV | STAGE_HAS_RECEIVERS);
	prng_init(&rng, check_seed(0x3171), 0);
	for (uint32_t i = 0; i < 4000; i++) {
		struct stage_packet p = stage_request(passing[prng_below(&rng, PASSING)],
						      (uint32_t)prng_below(&rng, 1 << 22));
		uint8_t address[16];

		stage_address(address, 0xa, (uint32_t)prng_u64(&rng));
		p.src = address;
		p.dscp = (uint8_t)prng_below(&rng, 64);
		p.hops = (uint8_t)(2 + prng_below(&rng, 254));
		p.label = (uint32_t)prng_below(&rng, 1 << 20);
		p.payload = 4 * (uint32_t)prng_below(&rng, 300);
		p.roce.bth.pad = p.payload ? (uint8_t)prng_below(&rng, 4) : 0;
		p.roce.bth.se = prng_u64(&rng) & 1;
		p.roce.bth.m = prng_u64(&rng) & 1;
		p.roce.bth.pkey = (uint16_t)prng_u64(&rng);
		p.roce.bth.fecn = prng_u64(&rng) & 1;
		p.roce.bth.becn = prng_u64(&rng) & 1;
		p.roce.bth.rsv0 = prng_u64(&rng) & 0x3f;
		p.roce.bth.rsv1 = prng_u64(&rng) & 0x7f;
		p.roce.bth.ack_req = prng_u64(&rng) & 1;
		p.roce.imm.immdt = (uint32_t)prng_u64(&rng);
		p.has_checksum = prng_u64(&rng) & 1;
		check_copies(&p);
	}
}

/* T-13: one bit of the payload, of the seal, or of the checksum is wrong, and stays so. */
static void damage_stays_damage(void **state)
{
	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	for (uint32_t bit = 0; bit < 8 * 24; bit++) {
		struct stage_packet p = stage_request(ROCE_OP_SEND_ONLY, 5);
		static uint8_t whole[STAGE_FRAME];
		uint32_t at = 40 + 8 + 12 + bit / 8;

		p.payload = 20;
		p.has_checksum = true;
		make(&p);
		wrap();
		assert_int_equal(take_it(), MT_DROP_NONE);
		memcpy(whole, st.copies[1].bytes, st.copies[1].is.len);
		make(&p);
		st.in[IP_AT + at] ^= (uint8_t)(1 << bit % 8);
		wrap();
		assert_int_equal(take_it(), MT_DROP_NONE);
		uint8_t *ip = st.copies[1].bytes + IP_AT;
		uint32_t end = st.copies[1].is.len - IP_AT - 4;

		assert_true(icrc_of((struct cspan){ip, end}) != icrc_get(ip + end));
		assert_true(stage_checksum(ip) != get_be16(ip + 46));
		/* The very bit, and nothing else but the checksum's word of the tail. */
		ip[at] ^= (uint8_t)(1 << bit % 8);
		memcpy(whole + IP_AT + 46, ip + 46, 2);
		assert_memory_equal(ip, whole + IP_AT, end + 4);
	}
}

/* A sum that comes out as 0 would say that there is no checksum. */
static void a_checksum_of_zero_is_ffff(void **state)
{
	struct stage_packet p = stage_request(ROCE_OP_SEND_ONLY, 5);
	uint32_t seen = 0;

	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	p.has_checksum = true;
	p.payload = 4;
	for (p.label = 0; p.label < 200000 && seen < 2; p.label++) {
		p.roce.bth.rsv0 = p.label & 0x3f;
		p.roce.bth.pkey = (uint16_t)(p.label >> 6);
		make(&p);
		wrap();
		assert_int_equal(take_it(), MT_DROP_NONE);
		for (uint32_t i = 0; i < 3; i++) {
			const uint8_t *ip = st.copies[i].bytes + IP_AT;

			assert_int_equal(get_be16(ip + 46), stage_checksum(ip));
			seen += get_be16(ip + 46) == 0xffff;
		}
	}
	assert_true(seen > 0);
}

static void provisioned_receivers_have_numbers_of_their_own(void **state)
{
	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	st.branches[0].shift = (struct mt_shift){.psn = 0xfffff0, .va = UINT64_MAX};
	st.branches[1].shift = (struct mt_shift){.psn = 0x10, .rkey = 0x77, .has_rkey = true};
	st.branches[2].shift = (struct mt_shift){.va = 1ull << 63, .has_rkey = true};
	assert_null(mt_node_fault(&st.node));
	for (uint32_t i = 0; i < 2 * PASSING; i++) {
		struct stage_packet p = stage_request(passing[i / 2], 0xffffff - i);

		p.has_checksum = i & 1;
		check_copies(&p);
	}
}

static void a_source_that_sends_as_the_proxy(void **state)
{
	struct stage_packet p = stage_request(ROCE_OP_WRITE_ONLY, 1);

	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	st.group.keeps_source = true;
	check_copies(&p);
}

/* RFC 6040: what the tree marked reaches the receivers. [inner][outer]; 4: dropped. */
static void congestion_goes_inward(void **state)
{
	static const uint8_t want[4][4] = {{0, 0, 0, 4}, {1, 1, 1, 3}, {2, 1, 2, 3}, {3, 3, 3, 3}};

	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	for (uint32_t i = 0; i < 16; i++) {
		struct stage_packet p = stage_request(ROCE_OP_SEND_ONLY, i);

		p.ecn = (uint8_t)(i / 4);
		make(&p);
		wrap();
		st.in[IP_AT + 1] = (uint8_t)((st.in[IP_AT + 1] & 0xcf) | i % 4 << 4);
		enum mt_drop drop = take_it();

		if (want[i / 4][i % 4] == 4) {
			assert_int_equal(drop, MT_DROP_ECN);
			continue;
		}
		assert_int_equal(drop, MT_DROP_NONE);
		const uint8_t *ip = st.copies[0].bytes + IP_AT;

		assert_int_equal(ip[1] >> 4 & 3, want[i / 4][i % 4]);
		assert_int_equal(get_be16(ip) >> 6 & 0x3f, p.dscp);
		assert_int_equal(get_be32(ip) & 0xfffff, p.label);
	}
}

/* Tags in front stay, link padding behind goes. */
static void what_the_link_adds(void **state)
{
	const struct stage_packet p = stage_request(ROCE_OP_SEND_ONLY, 9);
	static const uint8_t tags[8] = {0x88, 0xa8, 0x20, 5, 0x81, 0, 0x60, 7};
	static uint8_t want[STAGE_FRAME];

	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	uint32_t len = expected(&p, 0, 0x0b0001, want);

	make(&p);
	wrap();
	memmove(st.in + 20, st.in + 12, st.len - 12);
	memcpy(st.in + 12, tags, 8);
	memset(st.in + st.len + 8, 0x99, 30);
	st.len += 38;
	assert_int_equal(take_it(), MT_DROP_NONE);
	assert_int_equal(st.copies[0].is.len, len + 8);
	assert_memory_equal(st.copies[0].bytes, want, 12);
	assert_memory_equal(st.copies[0].bytes + 12, tags, 8);
	assert_memory_equal(st.copies[0].bytes + 20, want + 12, len - 12);
}

/* RFC 9524: outer destination and hop limit, and nothing else but the link's addresses. */
static void nodes_get_it_as_it_came(void **state)
{
	const struct stage_packet p = stage_request(ROCE_OP_WRITE_FIRST, 9);

	(void)state;
	for (uint32_t mode = 0; mode < 3; mode++) {
		open_stage(STAGE_HAS_NODES | (mode ? STAGE_HAS_RECEIVERS : 0) |
			   (mode == 2 ? STAGE_BY_TLV : 0));
		make(&p);
		wrap();
		put_be16(inner_ip() + 46, 0x1234); /* whatever is wrong inside */
		assert_int_equal(take_it(), MT_DROP_NONE);
		assert_int_equal(st.n_copies, mode ? 5 : 2);
		for (uint32_t i = 0; i < st.n_copies; i++) {
			struct stage_copy *c = &st.copies[i];

			if (c->is.branch < 4) {
				assert_int_equal(c->bytes[IP_AT + 6], IPPROTO_UDP_IN);
				continue;
			}
			assert_int_equal(c->is.port, STAGE_NODES);
			assert_int_equal(c->is.len, st.len);
			assert_memory_equal(c->bytes, st.ports[STAGE_NODES].neighbour, 6);
			assert_memory_equal(c->bytes + IP_AT + 24, st.branches[c->is.branch].sid,
					    16);
			assert_int_equal(c->bytes[IP_AT + 7], 49);
			memcpy(c->bytes, st.in, 12);
			memcpy(c->bytes + IP_AT + 24, stage_sid, 16);
			c->bytes[IP_AT + 7] = 50;
			assert_memory_equal(c->bytes, st.in, st.len);
		}
	}
}

/* RFC 9524 asks for no segment routing header where no receiver is. */
static void a_transit_node_needs_no_srh(void **state)
{
	const struct stage_packet p = stage_request(ROCE_OP_SEND_ONLY, 9);

	(void)state;
	open_stage(STAGE_HAS_NODES);
	st.srh_len = 0;
	make(&p);
	wrap();
	st.in[IP_AT + 6] = IPPROTO_IPV6_IN;
	assert_int_equal(take_it(), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 2);
	assert_int_equal(st.copies[0].is.len, st.len);
}

/* T-32: class and flow label outward, a hop limit of its own; T-21: the SRH as it was prepared. */
static void the_headend_wraps(void **state)
{
	struct stage_packet p = stage_request(ROCE_OP_SEND_ONLY, 9);
	static uint8_t native[STAGE_FRAME];

	(void)state;
	open_stage(STAGE_HEADEND | STAGE_HAS_NODES);
	p.ecn = FWD_ECN_CE;
	make(&p);
	memcpy(native, st.in, st.len);
	assert_int_equal(take_it(), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const uint8_t *at = st.copies[i].bytes, *ip = at + IP_AT;
		uint32_t inner = st.len - IP_AT;

		assert_int_equal(st.copies[i].is.len, st.len + 40 + st.srh_len);
		assert_int_equal(get_be16(at + 12), ETHERTYPE_IPV6);
		assert_int_equal(get_be32(ip), 6u << 28 | 26u << 22 | 3u << 20 | 0x12345);
		assert_int_equal(get_be16(ip + 4), inner + st.srh_len);
		assert_int_equal(ip[6], IPPROTO_ROUTING_IN);
		assert_int_equal(ip[7], 99);
		assert_memory_equal(ip + 8, stage_headend, 16);
		assert_memory_equal(ip + 24, st.branches[4 + i].sid, 16);
		assert_memory_equal(ip + 40, st.srh, st.srh_len);
		assert_memory_equal(ip + 40 + st.srh_len, native + IP_AT, inner);
	}
}

/* T-21: one node may be headend, transit and edge. */
static void the_headend_may_be_an_edge(void **state)
{
	const struct stage_packet p = stage_request(ROCE_OP_SEND_ONLY, 9);
	static uint8_t want[STAGE_FRAME];

	(void)state;
	for (uint32_t mode = 0; mode < 4; mode++) {
		bool has_nodes = mode & 1;

		open_stage(STAGE_HEADEND | STAGE_HAS_RECEIVERS | (has_nodes ? STAGE_HAS_NODES : 0) |
			   (mode & 2 ? STAGE_BY_TLV : 0));
		uint32_t len = expected(&p, 2, 0x0b0003, want);

		make(&p);
		assert_int_equal(take_it(), MT_DROP_NONE);
		assert_int_equal(st.n_copies, has_nodes ? 5 : 3);
		for (uint32_t i = 0; i < st.n_copies; i++)
			if (st.copies[i].is.branch == 2)
				assert_memory_equal(st.copies[i].bytes, want, len);
	}
}

static void the_next_message_is_for_who_joined_late(void **state)
{
	struct stage_packet p = stage_request(ROCE_OP_SEND_ONLY, 9);

	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	const struct mt_merge_cfg cfg = {
		.n_branches = STAGE_BRANCHES, .has_start = true, .start = {9}};

	mt_merge_init(&st.group.merge, &cfg, st.states);
	assert_int_equal(mt_merge_join(&st.group.merge, 0), 0);
	make(&p);
	wrap();
	assert_int_equal(take_it(), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 1);
	assert_int_equal(mt_merge_join(&st.group.merge, 2), 0);
	assert_int_equal(take_it(), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 1);
	p.roce.bth.psn = 10;
	make(&p);
	wrap();
	assert_int_equal(take_it(), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 2);
	assert_int_equal(st.copies[1].is.branch, 2);
}

/* S11; the others go on. What is this node's own, by whatever route, is nobody's to receive. */
static void who_has_no_route_is_passed_over(void **state)
{
	const struct stage_packet p = stage_request(ROCE_OP_SEND_ONLY, 9);
	static const uint32_t here[] = {FWD_LOCAL, FWD_MULTICAST};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		open_stage(STAGE_HAS_RECEIVERS);
		stage_address(st.branches[1].address, 0x77, 1);
		stage_route(st.branches[2].address, 128, here[i]);
		mt_group_index(&st.group);
		make(&p);
		wrap();
		assert_int_equal(take_it(), MT_DROP_NONE);
		assert_int_equal(st.n_copies, 1);
		assert_int_equal(st.copies[0].is.branch, 0);
		assert_int_equal(st.node.skips[MT_DROP_NO_ROUTE], 1);
		assert_int_equal(st.node.skips[MT_DROP_ADDRESS], 1);
	}
}

/* Only headers are in memory: the seal is known by its difference all the same. */
static void payload_need_not_be_there(void **state)
{
	struct stage_packet p = stage_request(ROCE_OP_WRITE_ONLY, 9);
	static uint8_t want[STAGE_FRAME];

	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	p.payload = 4096;
	p.roce.bth.pad = 0;
	uint32_t len = expected(&p, 0, 0x0b0001, want), from;

	make(&p);
	uint32_t crc = icrc_get(st.in + st.len - 4);

	wrap();
	from = (uint32_t)(inner_ip() - st.in) + 40 + 8 + 12 + 16;
	memset(st.in + from, 0xaa, st.len - from);
	st.stored = from;
	st.is_known_good = true;
	assert_int_equal(take_it(), MT_DROP_NONE);
	const struct mt_copy *c = &st.copies[0].is;

	assert_int_equal(c->len, len);
	assert_memory_equal(st.copies[0].bytes, want, c->front_len);
	assert_int_equal(c->from, from);
	assert_int_equal(crc ^ c->seal, icrc_get(want + c->seal_at));
}

static void a_thousand_receivers(void **state)
{
	const struct stage_packet p = stage_request(ROCE_OP_WRITE_ONLY, 9);
	static uint8_t front[MT_FRONT_MAX], made[STAGE_FRAME], want[STAGE_FRAME];
	struct fwd_view view;
	struct mt_copy copy;
	uint32_t n = 0;

	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	for (uint32_t i = 3; i < STAGE_BRANCHES; i++)
		stage_join(i, false);
	assert_null(mt_node_fault(&st.node));
	make(&p);
	wrap();
	struct fwd_frame f = {st.in, st.len, st.len};
	static uint8_t in[STAGE_FRAME];

	assert_int_equal(fwd_view_get(&f, &view), FWD_DROP_NONE);
	mt_node_take(&st.node, &(struct mt_input){STAGE_UP, &f, &view, false}, &st.r);
	memcpy(in, st.in, st.len);
	for (; mt_node_copy(&st.node, &st.r, &copy, front); n++) {
		memcpy(made, front, copy.front_len);
		memcpy(made + copy.front_len, in + copy.from, copy.len - copy.front_len);
		mt_copy_finish(&copy, made);
		uint32_t len = expected(&p, n, 0x0b0001 + n, want);

		assert_int_equal(copy.len, len);
		assert_memory_equal(made, want, len);
		memcpy(st.in, in, sizeof in);
	}
	assert_int_equal(n, STAGE_BRANCHES);
}

#define CASE(name) cmocka_unit_test_teardown(name, stop)

static const struct CMUnitTest cases[] = {
	CASE(the_golden_copy),
	CASE(requests_of_every_opcode_and_size),
	CASE(every_other_field_stays),
	CASE(damage_stays_damage),
	CASE(a_checksum_of_zero_is_ffff),
	CASE(provisioned_receivers_have_numbers_of_their_own),
	CASE(a_source_that_sends_as_the_proxy),
	CASE(congestion_goes_inward),
	CASE(what_the_link_adds),
	CASE(nodes_get_it_as_it_came),
	CASE(a_transit_node_needs_no_srh),
	CASE(the_headend_wraps),
	CASE(the_headend_may_be_an_edge),
	CASE(the_next_message_is_for_who_joined_late),
	CASE(who_has_no_route_is_passed_over),
	CASE(payload_need_not_be_there),
	CASE(a_thousand_receivers),
};

CHECK_MAIN(cases)
