/* Groups as data: branches by their addresses, and what is refused at set-up. */
#include "base/prng.h"
#include "mt_stage.h"

static int stop(void **state)
{
	(void)state;
	close_stage();
	return 0;
}

/* Against a look at all of them, with slots that are empty and come and go. */
static void branches_are_found_by_address(void **state)
{
	struct prng rng;

	(void)state;
	prng_init(&rng, check_seed(0x3173), 0);
	open_stage(0);
	for (uint32_t round = 0; round < 60; round++) {
		uint32_t n = round < 10 ? round : (uint32_t)prng_below(&rng, STAGE_BRANCHES + 1);
		uint32_t n_there = 0, n_receivers = 0;

		memset(st.branches, 0, sizeof st.branches);
		for (uint32_t i = 0; i < n; i++) {
			struct mt_branch *b = &st.branches[i];

			if (prng_below(&rng, 4) == 0)
				continue;
			b->is_node = prng_u64(&rng) & 1;
			stage_address(b->address, 0xb, i);
			b->address[prng_below(&rng, 8) + 4] = (uint8_t)prng_u64(&rng);
			n_there++;
			n_receivers += !b->is_node;
		}
		mt_group_index(&st.group);
		assert_int_equal(st.group.n_by_address, n_there);
		assert_int_equal(st.group.n_receivers, n_receivers);
		for (uint32_t i = 0; i < n; i++) {
			uint8_t address[16];

			memcpy(address, st.branches[i].address, 16);
			bool is_there = address[0] != 0;

			assert_int_equal(mt_group_find(&st.group, address),
					 is_there ? i : MT_NO_BRANCH);
			address[0] ^= 1;
			assert_int_equal(mt_group_find(&st.group, address), MT_NO_BRANCH);
		}
	}
}

static void addresses_of_hosts(void **state)
{
	static const struct {
		uint8_t address[16];
		bool is_usable;
	} table[] = {
		{{0}, false},
		{{[15] = 1}, false},
		{{[10] = 0xff, 0xff, 1, 2, 3, 4}, false},
		{{[11] = 1}, true},
		{{[7] = 1, [15] = 1}, true},
		{{0xff, 2, [15] = 1}, false},
		{{0xfe, 0x80, [15] = 1}, false},
		{{0xfe, 0xbf, [15] = 1}, false},
		{{0xfe, 0xc0, [15] = 1}, true},
		{{0xfe, 0x7f, [15] = 1}, true},
		{{0x20, 1}, true},
		{{0xfc, 1}, true},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++)
		assert_int_equal(mt_address_is_usable(table[i].address), table[i].is_usable);
}

static const uint8_t multicast[16] = {0xff, 0x0e, [15] = 1};

static void bad_qpn(void)
{
	st.group.qpn = 1;
}
static void long_qpn(void)
{
	st.group.qpn = 1 << 24;
}
static void bad_proxy(void)
{
	memcpy(st.group.proxy, multicast, 16);
}
static void own_proxy(void)
{
	memcpy(st.group.proxy, stage_node, 16);
}
static void bad_segment(void)
{
	memset(st.group.sid, 0, 16);
}
static void segment_is_proxy(void)
{
	memcpy(st.group.sid, stage_proxy, 16);
}
static void bad_up(void)
{
	memcpy(st.group.up.address, multicast, 16);
}
static void own_up(void)
{
	memcpy(st.group.up.address, stage_node, 16);
}
static void bad_source_qpn(void)
{
	st.group.up.qpn = 0;
}
static void any_source_port(void)
{
	st.group.up.port = MT_ANY_PORT;
}
static void bad_dscp(void)
{
	st.group.dscp = 64;
}
static void bad_length(void)
{
	st.group.most_bytes = 63;
}
static void long_length(void)
{
	st.group.most_bytes = 65576;
}
static void long_with_srh(void)
{
	st.group.most_bytes = 65535 - st.srh_len + 1;
}
static void over_mtu(void)
{
	st.group.mtu = st.group.most_bytes + 40 + st.srh_len - 1;
}
static void short_srh(void)
{
	st.wrap.srh.len = 4;
}
/* Its own receivers are said there and nowhere else. */
static void no_srh(void)
{
	st.wrap.srh.len = 0;
}
static void cut_srh(void)
{
	st.wrap.srh.len -= 8;
}
static void long_srh(void)
{
	st.wrap.srh.len += 8;
}
static void other_srh(void)
{
	st.srh[0] = 17;
}
static void srh_at_its_end(void)
{
	st.srh[3] = 0;
}
static void reduced_srh(void)
{
	st.srh[3] = 2;
}
static void srh_with_a_bad_tlv(void)
{
	st.srh[8 + 32 + 20]++;
}
static void bad_wrap_source(void)
{
	memcpy(st.wrap.src, multicast, 16);
}
static void no_hops(void)
{
	st.wrap.hop_limit = 1;
}
static void short_hmac(void)
{
	st.group.guard.hmac.len = 16;
}
static void no_hmac(void)
{
	st.group.guard.hmac.len = 0;
}
static void few_segments(void)
{
	st.group.guard.segments.len = 16;
}
static void set_branch(const uint8_t *address)
{
	memcpy(st.branches[1].address, address, 16);
	mt_group_index(&st.group);
}
static void two_on_one_address(void)
{
	set_branch(st.branches[0].address);
}
static void multicast_branch(void)
{
	set_branch(multicast);
}
static void proxy_branch(void)
{
	set_branch(stage_proxy);
}
static void own_branch(void)
{
	set_branch(stage_node);
}
static void segment_branch(void)
{
	set_branch(stage_sid);
}
static void source_branch(void)
{
	set_branch(st.group.up.address);
}
static void branch_without_qpn(void)
{
	st.branches[0].qpn = 0;
}
static void node_without_segment(void)
{
	memset(st.branches[4].sid, 0, 16);
}
static void node_with_our_segment(void)
{
	memcpy(st.branches[4].sid, stage_sid, 16);
}
static void node_with_shift(void)
{
	st.branches[4].shift.psn = 1;
}
static void shift(void)
{
	st.branches[0].shift.psn = 1;
}
static void long_shift(void)
{
	st.branches[0].shift.msn = 1 << 24;
}
static void bad_node(void)
{
	memcpy(st.node.address, multicast, 16);
}
static void changing_type(void)
{
	st.node.tlv_type = 0x80;
}
static void hmac_type(void)
{
	st.node.tlv_type = 5;
}

enum {
	TABLE = STAGE_HAS_RECEIVERS | STAGE_HAS_NODES,
	TLV = TABLE | STAGE_BY_TLV,
	HEAD = TABLE | STAGE_HEADEND,
	GUARD = TABLE | STAGE_IS_GUARDED,
};

static const struct {
	uint32_t what;
	void (*spoil)(void);
	const char *word; /* of the sentence */
} faults[] = {
	{TABLE, bad_qpn, "Designated"},
	{TABLE, long_qpn, "Designated"},
	{TABLE, bad_proxy, "Proxy"},
	{TABLE, own_proxy, "own"},
	{TABLE, bad_segment, "segment"},
	{TABLE, segment_is_proxy, "segment"},
	{TABLE, bad_up, "above"},
	{TABLE, own_up, "above"},
	{HEAD, bad_source_qpn, "source's QPN"},
	{HEAD, any_source_port, "T-12"},
	{TABLE, bad_dscp, "DSCP"},
	{TABLE, bad_length, "T-30"},
	{TABLE, long_length, "T-30"},
	{HEAD, long_with_srh, "longer"},
	{HEAD, over_mtu, "MTU"},
	{HEAD, short_srh, "length"},
	{HEAD, no_srh, "length"},
	{STAGE_HEADEND | STAGE_HAS_RECEIVERS | STAGE_BY_TLV, no_srh, "length"},
	{HEAD, cut_srh, "malformed"},
	{HEAD, long_srh, "malformed"},
	{HEAD, other_srh, "IPv6 follows"},
	{HEAD, srh_at_its_end, "T-08"},
	{HEAD, reduced_srh, "T-08"},
	{HEAD, srh_with_a_bad_tlv, "malformed"},
	{HEAD, bad_wrap_source, "source address"},
	{HEAD, no_hops, "hop limit"},
	{GUARD, short_hmac, "32 bytes"},
	{GUARD, no_hmac, "32 bytes"},
	{GUARD, few_segments, "last entry"},
	{TABLE, two_on_one_address, "T-25"},
	{TLV, two_on_one_address, "T-25"},
	{TABLE, multicast_branch, "unicast"},
	{TABLE, proxy_branch, "Proxy"},
	{TABLE, own_branch, "this node"},
	{TABLE, segment_branch, "this node"},
	{HEAD, source_branch, "come from"},
	{TABLE, branch_without_qpn, "receiver's QPN"},
	{TABLE, node_without_segment, "node's segment"},
	{TABLE, node_with_our_segment, "node's segment"},
	{TABLE, node_with_shift, "T-27"},
	{TLV, shift, "T-27"},
	{TABLE, long_shift, "24 bits"},
	{TABLE, bad_node, "node's address"},
	{TABLE, changing_type, "T-03"},
	{TABLE, hmac_type, "T-03"},
};

static void what_is_refused_at_set_up(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
		/* Which says of what nothing is wrong with that there is none. */
		open_stage(faults[i].what);
		st.group.mtu = st.group.most_bytes + 40 + st.srh_len + 8;
		assert_null(mt_node_fault(&st.node));
		faults[i].spoil();
		const char *fault = mt_node_fault(&st.node);

		if (!fault || !strstr(fault, faults[i].word))
			fail_msg("row %u: %s", i, fault ? fault : "no fault");
	}
}

/* What is allowed: numbers of one's own by provisioning, no SRH without nodes. */
static void what_is_not_refused(void **state)
{
	(void)state;
	open_stage(TABLE);
	shift();
	assert_null(mt_node_fault(&st.node));
	open_stage(STAGE_HEADEND | STAGE_HAS_RECEIVERS);
	st.wrap = (struct mt_wrap){.hop_limit = 0};
	assert_null(mt_node_fault(&st.node));
	st.node.n_groups = 0;
	assert_null(mt_node_fault(&st.node));
}

/* A node's groups: found by their numbers, and neither one's Proxy the other's receiver. */
static void groups_of_one_node(void **state)
{
	static struct mt_group groups[3];
	const struct stage_packet p = stage_request(ROCE_OP_SEND_ONLY, 1);

	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	for (uint32_t i = 0; i < 3; i++) {
		groups[i] = st.group;
		groups[i].qpn = STAGE_QPN - 1 + i;
		groups[i].n_by_address = groups[i].n_receivers = 0;
	}
	groups[1] = st.group;
	st.node.groups = groups;
	st.node.n_groups = 3;
	assert_null(mt_node_fault(&st.node));
	make(&p);
	wrap();
	assert_int_equal(take_it(), MT_DROP_NONE);
	assert_ptr_equal(st.r.group, &groups[1]);
	for (uint32_t i = 0; i < 5; i++) {
		struct stage_packet other = p;

		other.roce.bth.dest_qp = STAGE_QPN - 2 + i;
		make(&other);
		wrap();
		take_it();
		assert_ptr_equal(st.r.group, i == 0 || i == 4 ? NULL : &groups[i - 1]);
	}
	memcpy(groups[2].proxy, st.branches[0].address, 16);
	assert_non_null(strstr(mt_node_fault(&st.node), "Proxy"));
	memcpy(groups[2].proxy, stage_proxy, 16);
	groups[2].qpn = groups[1].qpn;
	assert_non_null(strstr(mt_node_fault(&st.node), "sorted"));
}

#define CASE(name) cmocka_unit_test_teardown(name, stop)

static const struct CMUnitTest cases[] = {
	CASE(branches_are_found_by_address),
	CASE(addresses_of_hosts),
	CASE(what_is_refused_at_set_up),
	CASE(what_is_not_refused),
	CASE(groups_of_one_node),
};

CHECK_MAIN(cases)
