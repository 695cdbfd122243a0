/* The way up: whose answers count, and what the answers that are made look like. */
#include "mt_stage.h"

static int stop(void **state)
{
	(void)state;
	close_stage();
	return 0;
}

static void send_down(uint32_t psn)
{
	struct stage_packet p = stage_request(ROCE_OP_SEND_ONLY, psn);

	p.roce.bth.m = 1;
	make(&p);
	if (!st.group.wrap)
		wrap();
	assert_int_equal(take_it(), MT_DROP_NONE);
}

static enum mt_drop take_answer(uint32_t branch, uint8_t opcode, uint32_t psn)
{
	const struct stage_packet p = stage_answer(branch, opcode, psn);

	make(&p);
	return take_from(branch);
}

static enum mt_drop take_ack(uint32_t branch, uint32_t psn)
{
	return take_answer(branch, ROCE_OP_ACKNOWLEDGE, psn);
}

/* Nothing but a count comes of it. */
static void assert_ignored(enum mt_drop want, uint16_t port)
{
	static struct mt_group before;
	static struct mt_branch branches[STAGE_BRANCHES];
	static struct mt_branch_state states[STAGE_BRANCHES];

	before = st.group;
	memcpy(states, st.states, sizeof states);
	memcpy(branches, st.branches, sizeof branches);
	assert_int_equal(take_by(port), want);
	assert_memory_equal(&before, &st.group, sizeof before);
	assert_memory_equal(states, st.states, sizeof states);
	assert_memory_equal(branches, st.branches, sizeof branches);
	assert_int_equal(st.answer_len, 0);
	assert_int_equal(st.cnp_len, 0);
}

/* T-11, T-24, T-35, every byte; the CRC is a fresh one. */
static void check_front(const uint8_t *at, uint32_t len, bool is_first)
{
	const uint8_t *ip = at + IP_AT;
	uint32_t end = len - IP_AT - 4;

	assert_memory_equal(at, st.ports[STAGE_UP].neighbour, 6);
	assert_memory_equal(at + 6, st.ports[STAGE_UP].mac, 6);
	assert_int_equal(get_be16(at + 12), ETHERTYPE_IPV6);
	assert_int_equal(get_be32(ip), 6u << 28 | 48u << 22);
	assert_int_equal(get_be16(ip + 4), len - IP_AT - 40);
	assert_int_equal(ip[6], IPPROTO_UDP_IN);
	assert_int_equal(ip[7], 64);
	assert_memory_equal(ip + 8, is_first ? stage_proxy : stage_node, 16);
	assert_memory_equal(ip + 24, is_first ? stage_source : stage_above, 16);
	assert_int_equal(get_be16(ip + 40), 0xc123);
	assert_int_equal(get_be16(ip + 42), 4791);
	assert_int_equal(get_be16(ip + 44), len - IP_AT - 40);
	assert_int_equal(get_be16(ip + 46), 0);
	assert_int_equal(get_be24(ip + 53), is_first ? STAGE_SOURCE_QPN : STAGE_QPN);
	assert_int_equal(icrc_of((struct cspan){ip, end}), icrc_get(ip + end));
}

static void an_ack_is_made(void **state)
{
	(void)state;
	for (uint32_t first = 0; first < 2; first++) {
		open_stage(STAGE_HAS_RECEIVERS | STAGE_HAS_NODES | (first ? STAGE_HEADEND : 0));
		send_down(0xfffffe);
		for (uint32_t i = 0; i < 6; i++) {
			if (i == 3)
				continue;
			assert_int_equal(st.answer_len, 0);
			assert_int_equal(take_ack(i, 0xfffffe), MT_DROP_NONE);
		}
		assert_int_equal(st.answer_len, 14 + 40 + 8 + 12 + 4 + 4);
		assert_int_equal(st.answer_port, STAGE_UP);
		check_front(st.answer, st.answer_len, first);
		const uint8_t want[16] = {0x11, 0x40, 0xff, 0xff, 0,    0,  first ? 0x50 : 0xd0,
					  1,    0,    0xff, 0xff, 0xfe, 31, 0,
					  0,    7};

		assert_memory_equal(st.answer + IP_AT + 48, want, 16);
		assert_int_equal(st.cnp_len, 0);
	}
}

/* T-35: in the name of the branch whose answer it is. */
static void p_key_and_mig_req_are_the_branchs(void **state)
{
	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	send_down(1);
	for (uint32_t i = 0; i < 3; i++) {
		struct stage_packet p = stage_answer(i, ROCE_OP_ACKNOWLEDGE, 1);

		p.roce.bth.pkey = (uint16_t)(0x8001 + i);
		p.roce.bth.m = i == 0;
		make(&p);
		assert_int_equal(take_from(i), MT_DROP_NONE);
	}
	const uint8_t *bth = st.answer + IP_AT + 48;

	/* All hold the minimum: the lowest. */
	assert_int_equal(get_be16(bth + 2), 0x8001);
	assert_int_equal(bth[1], 0x40);
	struct stage_packet p = stage_answer(2, ROCE_OP_CNP, 0);

	p.roce.bth.pkey = 0x8123;
	p.roce.bth.m = 0;
	make(&p);
	assert_int_equal(take_from(2), MT_DROP_NONE);
	struct mt_out out;

	mt_merge_window(&st.group.merge, &out);
	assert_true(out.has_cnp);
	st.cnp_len = mt_node_cnp(&st.node, &st.group, st.cnp, &st.cnp_port);
	assert_int_equal(get_be16(st.cnp + IP_AT + 48 + 2), 0x8123);
	assert_int_equal(st.cnp[IP_AT + 48 + 1], 0);
}

static void a_cnp_is_made(void **state)
{
	(void)state;
	for (uint32_t first = 0; first < 2; first++) {
		struct mt_out out;

		open_stage(STAGE_HAS_RECEIVERS | (first ? STAGE_HEADEND : 0));
		send_down(1);
		assert_int_equal(take_answer(1, ROCE_OP_CNP, 77), MT_DROP_NONE);
		assert_true(st.r.out.opens_window);
		mt_merge_window(&st.group.merge, &out);
		assert_true(out.has_cnp);
		uint32_t len = mt_node_cnp(&st.node, &st.group, st.cnp, &st.cnp_port);

		assert_int_equal(len, MT_ANSWER_MAX);
		assert_int_equal(st.cnp_port, STAGE_UP);
		check_front(st.cnp, len, first);
		const uint8_t want[28] = {0x81, 0x40, 0xff, 0xff, 0x40, 0, first ? 0x50 : 0xd0, 1};

		assert_memory_equal(st.cnp + IP_AT + 48, want, 28);
	}
}

static void a_nak_is_made(void **state)
{
	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	send_down(1);
	send_down(2);
	assert_int_equal(take_ack(0, 2), MT_DROP_NONE);
	assert_int_equal(take_ack(1, 1), MT_DROP_NONE);
	struct stage_packet p = stage_answer(2, ROCE_OP_ACKNOWLEDGE, 2);

	p.roce.aeth.type = AETH_NAK;
	p.roce.aeth.value = AETH_NAK_SEQUENCE;
	make(&p);
	assert_int_equal(take_from(2), MT_DROP_NONE);
	assert_true(st.answer_len > 0);
	assert_int_equal(get_be24(st.answer + IP_AT + 48 + 9), 2);
	assert_int_equal(st.answer[IP_AT + 48 + 12], 0x60);
}

/* T-26, draft 9: forged answers. */
static void whose_answers_count(void **state)
{
	(void)state;
	open_stage(STAGE_HAS_RECEIVERS | STAGE_HAS_NODES);
	send_down(1);
	for (uint32_t i = 0; i < 5; i += 4) {
		struct stage_packet p = stage_answer(i, ROCE_OP_ACKNOWLEDGE, 1);
		uint8_t stranger[16];

		make(&p);
		assert_ignored(MT_DROP_PORT, st.branches[i].port + 1);
		p.dst = i ? stage_proxy : stage_node; /* a receiver as a node, and the reverse */
		make(&p);
		assert_ignored(MT_DROP_PROXY, st.branches[i].port);
		p = stage_answer(i, ROCE_OP_ACKNOWLEDGE, 1);
		stage_address(stranger, i ? 0xc : 0xb, 99);
		p.src = stranger;
		make(&p);
		assert_ignored(MT_DROP_SOURCE, st.branches[i].port);
		p = stage_answer(i, ROCE_OP_ACKNOWLEDGE, 1);
		p.roce.bth.dest_qp++;
		make(&p);
		assert_ignored(MT_DROP_GROUP, st.branches[i].port);
		p = stage_answer(i, ROCE_OP_ACKNOWLEDGE, 1);
		p.dst = stranger;
		make(&p);
		assert_ignored(MT_DROP_PROXY, st.branches[i].port);
		st.branches[i].port = MT_ANY_PORT;
		assert_int_equal(take_ack(i, 1), MT_DROP_NONE);
	}
	/* Those whose branch has left. */
	struct mt_out out;

	assert_int_equal(mt_merge_leave(&st.group.merge, 1, &out), 0);
	const struct stage_packet p = stage_answer(1, ROCE_OP_ACKNOWLEDGE, 1);

	make(&p);
	assert_int_equal(take_from(1), MT_DROP_STRANGER);
}

/* T-24: 0x11 and 0x81 only, right seal or not. */
static void every_opcode(void **state)
{
	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	send_down(1);
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		bool is_known = roce_opcode_name((uint8_t)opcode);
		const struct stage_packet p =
			stage_answer(0, is_known ? (uint8_t)opcode : ROCE_OP_SEND_ONLY, 1);

		make(&p);
		st.in[IP_AT + 48] = (uint8_t)opcode;
		stage_seal(st.in + IP_AT);
		if (opcode == ROCE_OP_ACKNOWLEDGE || opcode == ROCE_OP_CNP)
			assert_int_equal(take_from(0), MT_DROP_NONE);
		else
			assert_ignored(MT_DROP_OPCODE, STAGE_RECEIVERS);
	}
}

/* T-26: any bit that the CRC covers. */
static void answers_with_a_wrong_seal(void **state)
{
	const struct stage_packet p = stage_answer(0, ROCE_OP_ACKNOWLEDGE, 1);

	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	send_down(1);
	make(&p);
	for (uint32_t bit = 0; bit < 8 * 12; bit++) {
		uint32_t at = IP_AT + 48 + 8 + bit / 8; /* AckReq, PSN, AETH, seal */

		make(&p);
		st.in[at] ^= (uint8_t)(1 << bit % 8);
		assert_ignored(MT_DROP_SEAL, STAGE_RECEIVERS);
	}
	/* In a simulator it may be known good without its bytes. */
	make(&p);
	st.in[st.len - 1] ^= 1;
	st.is_known_good = true;
	assert_int_equal(take_from(0), MT_DROP_NONE);
}

/* T-27, T-28: what a receiver answers comes back in the source's numbers. */
static void numbers_of_its_own(void **state)
{
	static const uint32_t psns[] = {0, 1, 0x7fffff, 0x800000, 0xfffffe, 0xffffff};

	(void)state;
	for (uint32_t i = 0; i < 36; i++) {
		uint32_t psn = psns[i % 6], shift = psns[i / 6];

		open_stage(STAGE_HAS_RECEIVERS);
		for (uint32_t k = 0; k < 3; k++)
			st.branches[k].shift = (struct mt_shift){.psn = shift, .msn = shift ^ 5};
		send_down(psn);
		for (uint32_t k = 0; k < 3; k++) {
			const uint8_t *copy = st.copies[k].bytes + IP_AT + 48;
			struct stage_packet p =
				stage_answer(k, ROCE_OP_ACKNOWLEDGE, (psn + shift) & 0xffffff);

			if (k == 0)
				assert_int_equal(get_be24(copy + 9), p.roce.bth.psn);
			p.roce.aeth.msn = (0x123456 + (shift ^ 5)) & 0xffffff;
			make(&p);
			assert_int_equal(take_from(k), MT_DROP_NONE);
		}
		assert_true(st.answer_len > 0);
		assert_int_equal(get_be24(st.answer + IP_AT + 48 + 9), psn);
		assert_int_equal(get_be24(st.answer + IP_AT + 48 + 13), 0x123456);
		close_stage();
	}
}

/* Each fate that is no answer counts as a drop. */
static void answers_that_do_not_fit(void **state)
{
	struct stage_packet p;

	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	for (uint32_t psn = 1; psn < 6; psn++)
		send_down(psn);
	assert_int_equal(take_ack(0, 3), MT_DROP_NONE);
	assert_int_equal(take_ack(0, 3), MT_DROP_NONE);
	assert_int_equal(take_ack(0, 2), MT_DROP_STALE);
	p = stage_answer(0, ROCE_OP_ACKNOWLEDGE, 7);
	p.roce.aeth = (struct aeth){.type = AETH_NAK, .value = AETH_NAK_SEQUENCE};
	make(&p);
	assert_int_equal(take_from(0), MT_DROP_BEYOND);
	p = stage_answer(0, ROCE_OP_ACKNOWLEDGE, 4);
	p.roce.aeth.type = AETH_RESERVED;
	make(&p);
	assert_int_equal(take_from(0), MT_DROP_INVALID);
	p = stage_answer(0, ROCE_OP_ACKNOWLEDGE, 4);
	p.payload = 4;
	make(&p);
	assert_ignored(MT_DROP_MALFORMED, STAGE_RECEIVERS);
	/* An answer inside an outer header is none. */
	p = stage_answer(0, ROCE_OP_ACKNOWLEDGE, 4);
	make(&p);
	wrap();
	assert_ignored(MT_DROP_OPCODE, STAGE_UP);
}

static void an_answer_without_a_route(void **state)
{
	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	stage_address(st.group.up.address, 0x77, 1);
	send_down(1);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(take_ack(i, 1), MT_DROP_NONE);
	assert_true(st.r.out.has_answer);
	assert_int_equal(st.answer_len, 0);
	assert_int_equal(st.node.skips[MT_DROP_NO_ROUTE], 1);
}

/* A tree of two nodes: what one makes, the other takes. */
static void a_node_understands_another(void **state)
{
	static uint8_t answer[MT_ANSWER_MAX];
	uint32_t len;

	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	send_down(5);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(take_ack(i, 5), MT_DROP_NONE);
	len = st.answer_len;
	memcpy(answer, st.answer, sizeof answer);

	/* The one above: its address is stage_above, its only branch stage_node. */
	open_stage(STAGE_HEADEND);
	memcpy(st.node.address, stage_above, 16);
	stage_join(4, true);
	memcpy(st.branches[4].address, stage_node, 16);
	mt_group_index(&st.group);
	assert_null(mt_node_fault(&st.node));
	send_down(5);
	assert_int_equal(st.n_copies, 1);
	memcpy(st.in, answer, len);
	st.len = len;
	assert_int_equal(take_from(4), MT_DROP_NONE);
	check_front(st.answer, st.answer_len, true);
	assert_int_equal(get_be24(st.answer + IP_AT + 48 + 9), 5);
}

#define CASE(name) cmocka_unit_test_teardown(name, stop)

static const struct CMUnitTest cases[] = {
	CASE(an_ack_is_made),
	CASE(p_key_and_mig_req_are_the_branchs),
	CASE(a_cnp_is_made),
	CASE(a_nak_is_made),
	CASE(whose_answers_count),
	CASE(every_opcode),
	CASE(answers_with_a_wrong_seal),
	CASE(numbers_of_its_own),
	CASE(answers_that_do_not_fit),
	CASE(an_answer_without_a_route),
	CASE(a_node_understands_another),
};

CHECK_MAIN(cases)
