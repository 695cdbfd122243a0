/* Who gets copies where TLVs say so: this edge's receivers, those that the group allows, each once.
 */
#include "mt_stage.h"

static int start(void **state)
{
	(void)state;
	open_stage(STAGE_BY_TLV | STAGE_HAS_RECEIVERS);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	close_stage();
	return 0;
}

static struct endmt_receiver receiver(uint32_t host, uint32_t qpn)
{
	struct endmt_receiver r = {.qpn = qpn};

	stage_address(r.address, 0xb, host);
	return r;
}

static struct srh_edge edge_of(const uint8_t address[16], const struct endmt_receiver *receivers,
			       uint32_t n)
{
	struct srh_edge edge = {.receivers = receivers, .n = n};

	memcpy(edge.address, address, 16);
	return edge;
}

static enum mt_drop take_request(uint32_t psn)
{
	const struct stage_packet p = stage_request(ROCE_OP_SEND_ONLY, psn);

	make(&p);
	wrap();
	return take_it();
}

static uint32_t qpn_of(uint32_t copy)
{
	return get_be24(st.copies[copy].bytes + IP_AT + 40 + 8 + 5);
}

/* Byte `at` of the TLVs of the header at hand. */
static uint8_t *tlv_byte(uint32_t at)
{
	return st.srh + srh_bytes + 2 * srh_segment_bytes + at;
}

/* T-08: by the node's address or by its segment. */
static void each_edge_has_its_own(void **state)
{
	static const uint8_t other[16] = STAGE_SID(2);
	const struct endmt_receiver theirs[] = {receiver(1, 0x111), receiver(2, 0x222)};
	const struct endmt_receiver ours[] = {receiver(3, 0x333)};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		const struct srh_edge mine = edge_of(i & 1 ? stage_node : stage_sid, ours, 1);
		const struct srh_edge another = edge_of(other, theirs, 2);
		const struct srh_edge edges[2] = {i & 2 ? mine : another, i & 2 ? another : mine};

		stage_srh(edges, 2, false);
		assert_int_equal(take_request(i), MT_DROP_NONE);
		assert_int_equal(st.n_copies, 1);
		assert_int_equal(st.copies[0].is.branch, 2);
		assert_int_equal(qpn_of(0), 0x333);
		assert_int_equal(st.branches[2].qpn, 0x333);
		assert_int_equal(st.branches[0].qpn, 0);
	}
	const struct srh_edge another = edge_of(other, theirs, 2);

	stage_srh(&another, 1, false);
	assert_int_equal(take_request(9), MT_DROP_NO_TLV);
	stage_srh(NULL, 0, false);
	assert_int_equal(take_request(9), MT_DROP_NO_TLV);
}

/* T-01, T-25: TLVs of one edge are united; of an address that is there twice the first counts. */
static void an_address_is_served_once(void **state)
{
	struct endmt_receiver ours[13];

	(void)state;
	for (uint32_t i = 0; i < 13; i++)
		ours[i] = receiver(i + 1, 0x100 + i);
	for (uint32_t i = 3; i < 13; i++)
		stage_join(i, false);
	const struct srh_edge mine = edge_of(stage_sid, ours, 13);

	stage_srh(&mine, 1, false);
	assert_int_equal(take_request(1), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 13);
	/* The second TLV begins behind 11 receivers; its first becomes the first one's. */
	memcpy(tlv_byte(24 + 11 * 20 + 24), ours[0].address, 16);
	assert_int_equal(take_request(2), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 12);
	assert_int_equal(qpn_of(0), 0x100);
	for (uint32_t i = 1; i < 12; i++)
		assert_true(st.copies[i].is.branch != 0);
}

/* T-12: the HMAC does not cover TLVs, so that each receiver is held against the group's. */
static void who_is_not_allowed_gets_nothing(void **state)
{
	const struct endmt_receiver ours[] = {receiver(1, 0x111), receiver(77, 0x222)};
	const struct srh_edge mine = edge_of(stage_sid, ours, 2),
			      alone = edge_of(stage_sid, ours + 1, 1);

	(void)state;
	stage_join(4, true);
	stage_srh(&mine, 1, false);
	assert_int_equal(take_request(1), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 2);
	assert_int_equal(st.copies[0].is.branch, 4);
	assert_int_equal(st.copies[1].is.branch, 0);
	assert_int_equal(st.node.skips[MT_DROP_RECEIVER], 1);

	/* A node further down is no receiver. */
	memcpy(tlv_byte(24 + 20), st.branches[4].address, 16);
	assert_int_equal(take_request(2), MT_DROP_NONE);
	assert_int_equal(st.node.skips[MT_DROP_RECEIVER], 2);
	assert_int_equal(st.n_copies, 2);

	stage_srh(&alone, 1, false);
	assert_int_equal(take_request(3), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 1);
	assert_int_equal(st.copies[0].is.branch, 4);
	assert_int_equal(st.node.skips[MT_DROP_RECEIVER], 3);
}

/* Copies that are not made are those of packets that go on. */
static void what_is_dropped_skips_nobody(void **state)
{
	const struct endmt_receiver ours[] = {receiver(1, 0x111), receiver(77, 0x222)};
	const struct srh_edge mine = edge_of(stage_sid, ours, 2);
	struct mt_out out;

	(void)state;
	stage_srh(&mine, 1, false);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(mt_merge_leave(&st.group.merge, i, &out), 0);
	assert_int_equal(take_request(1), MT_DROP_ALONE);
	assert_int_equal(st.node.skips[MT_DROP_RECEIVER], 0);
}

/* Who left is not allowed from then on. */
static void who_left_is_not_allowed(void **state)
{
	(void)state;
	memset(st.branches[1].address, 0, 16);
	mt_group_index(&st.group);
	assert_int_equal(take_request(1), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 2);
	assert_int_equal(st.node.skips[MT_DROP_RECEIVER], 1);
}

static void addresses_that_no_receiver_has(void **state)
{
	static const uint8_t bad[][16] = {
		STAGE_ADDRESS(0x9, 1), /* the Proxy */
		STAGE_ADDRESS(0xe, 9), /* the node's own */
		STAGE_SID(1),
		{0},
		{[15] = 1},
		{0xff, 0x0e, [15] = 1},
		{0xfe, 0x80, [15] = 1},
		{0xfe, 0xbf, [15] = 1},
		{[10] = 0xff, 0xff, 10, 0, 0, 1},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		stage_usual_srh(false);
		memcpy(tlv_byte(24 + 20), bad[i], 16);
		assert_int_equal(take_request(i), MT_DROP_NONE);
		assert_int_equal(st.n_copies, 2);
		assert_int_equal(st.node.skips[MT_DROP_ADDRESS], i + 1);
	}
}

/* T-01. */
static void malformed_tlvs_serve_nobody(void **state)
{
	static const uint8_t other[16] = STAGE_SID(2);
	const struct endmt_receiver all[] = {receiver(1, 1), receiver(2, 2), receiver(3, 3),
					     receiver(4, 4)};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		/* Whoever's it is. */
		const struct srh_edge edges[2] = {edge_of(i ? other : stage_sid, all, 2),
						  edge_of(i ? stage_sid : other, all + 2, 2)};

		stage_srh(edges, 2, false);
		assert_int_equal(take_request(1), MT_DROP_NONE);
		*tlv_byte(20) = 1;
		assert_int_equal(take_request(2), MT_DROP_TLV);
		*tlv_byte(20) = 0;
		assert_int_equal(take_request(2), MT_DROP_TLV);
		*tlv_byte(20) = 2;
		*tlv_byte(1) = 22 + 39;
		assert_int_equal(take_request(2), MT_DROP_TLV);
		*tlv_byte(1) = 0xff;
		assert_int_equal(take_request(2), MT_DROP_SRH);
	}
	assert_int_equal(st.group.merge.highest.v, 1);
}

/* T-08, RFC 8754 erratum 7081. */
static void a_list_that_leaves_out_its_first_segment(void **state)
{
	(void)state;
	st.srh[3] = 2;
	assert_int_equal(take_request(1), MT_DROP_SRH);
	st.srh[3] = 1;
	assert_int_equal(take_request(1), MT_DROP_NONE);
}

/* Reserved bits and another type's TLV are not looked at; the type is configured (T-03). */
static void the_type_is_configured(void **state)
{
	(void)state;
	memset(tlv_byte(2), 0xff, 2);
	memset(tlv_byte(21), 0xff, 3);
	*tlv_byte(24 + 19) = 0xff;
	assert_int_equal(take_request(1), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 3);
	st.node.tlv_type = 0x7d;
	assert_int_equal(take_request(2), MT_DROP_NO_TLV);
	*tlv_byte(0) = 0x7d;
	assert_int_equal(take_request(2), MT_DROP_NONE);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest cases[] = {
	CASE(each_edge_has_its_own),           CASE(an_address_is_served_once),
	CASE(who_is_not_allowed_gets_nothing), CASE(what_is_dropped_skips_nobody),
	CASE(who_left_is_not_allowed),         CASE(addresses_that_no_receiver_has),
	CASE(malformed_tlvs_serve_nobody),     CASE(a_list_that_leaves_out_its_first_segment),
	CASE(the_type_is_configured),
};

CHECK_MAIN(cases)
