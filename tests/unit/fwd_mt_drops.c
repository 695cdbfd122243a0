/* What is not passed down: each reason, and that nothing is learnt from it. */
#include "base/prng.h"
#include "mt_stage.h"

static int stop(void **state)
{
	(void)state;
	close_stage();
	return 0;
}

enum { GUARDED = STAGE_BY_TLV | STAGE_HAS_RECEIVERS | STAGE_IS_GUARDED };

static void make_request(uint8_t opcode, uint32_t psn)
{
	const struct stage_packet p = stage_request(opcode, psn);

	make(&p);
}

static void make_wrapped(uint8_t opcode, uint32_t psn)
{
	make_request(opcode, psn);
	wrap();
}

/* The drop, after which the group knows what it knew. */
static void assert_drop(enum mt_drop want, uint16_t port)
{
	static struct mt_group before;
	static struct mt_branch_state states[STAGE_BRANCHES];

	before = st.group;
	memcpy(states, st.states, sizeof states);
	assert_int_equal(take_by(port), want);
	assert_memory_equal(&before, &st.group, sizeof before);
	assert_memory_equal(states, st.states, sizeof states);
	assert_false(st.r.out.has_answer || st.r.out.has_cnp || st.r.out.opens_window);
}

static void every_drop_has_a_name_and_a_sentence(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MT_DROP_COUNT; i++) {
		assert_true(strlen(mt_drop_name((enum mt_drop)i)) >= 3);
		assert_true(strlen(mt_drop_text((enum mt_drop)i)) >= 10);
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(mt_drop_name((enum mt_drop)i),
						mt_drop_name((enum mt_drop)j));
	}
	assert_string_equal(mt_drop_name(MT_DROP_HOP_LIMIT), "hop-limit");
	assert_null(mt_drop_name(MT_DROP_COUNT));
	assert_null(mt_drop_text(MT_DROP_COUNT));
}

enum { OUTER, SRH, INNER };

/* One byte of a request that is right becomes another. */
static const struct {
	uint8_t where, at, byte;
	enum mt_drop drop;
} wrong_bytes[] = {
	{OUTER, 7, 1, MT_DROP_HOP_LIMIT},
	{OUTER, 7, 0, MT_DROP_HOP_LIMIT},
	{OUTER, 6, 59, MT_DROP_UPPER},
	{OUTER, 6, 0, MT_DROP_UPPER},     /* hop-by-hop options */
	{OUTER, 6, 44, MT_DROP_UPPER},    /* a fragment */
	{OUTER, 24 + 15, 9, MT_DROP_SID}, /* to a neighbouring segment */
	{OUTER, 8 + 15, 9, MT_DROP_GUARD},
	{SRH, 0, 17, MT_DROP_UPPER},
	{SRH, 0, 60, MT_DROP_UPPER}, /* destination options */
	{SRH, 1, 255, MT_DROP_SRH},
	{SRH, 1, 3, MT_DROP_SRH},
	{SRH, 2, 3, MT_DROP_SRH},
	{SRH, 3, 0, MT_DROP_NO_SEGMENTS},
	{SRH, 3, 2, MT_DROP_SRH},
	{SRH, 3, 3, MT_DROP_SRH},
	{SRH, 4, 255, MT_DROP_SRH},
	{SRH, 5, 0, MT_DROP_GUARD},
	{SRH, 8 + 15, 2, MT_DROP_GUARD},  /* a segment */
	{SRH, 24 + 15, 2, MT_DROP_GUARD}, /* the other */
	{INNER, 0, 0x40, MT_DROP_UPPER},
	{INNER, 6, 44, MT_DROP_UPPER},
	{INNER, 6, 0, MT_DROP_UPPER},
	{INNER, 6, 6, MT_DROP_UPPER},
	{INNER, 6, 43, MT_DROP_UPPER},
	{INNER, 5, 200, MT_DROP_MALFORMED},
	{INNER, 5, 4, MT_DROP_MALFORMED},
	{INNER, 7, 1, MT_DROP_HOP_LIMIT},
	{INNER, 7, 0, MT_DROP_HOP_LIMIT},
	{INNER, 24 + 15, 2, MT_DROP_PROXY},
	{INNER, 40 + 3, 0xb8, MT_DROP_UPPER},
	{INNER, 40 + 5, 200, MT_DROP_MALFORMED},
	{INNER, 40 + 5, 28, MT_DROP_MALFORMED},
	{INNER, 48 + 1, 0x31, MT_DROP_MALFORMED}, /* a version of transport */
	{INNER, 48 + 7, 2, MT_DROP_GROUP},
	{INNER, 48 + 5, 1, MT_DROP_GROUP},
};

static void each_byte_that_is_checked(void **state)
{
	(void)state;
	open_stage(GUARDED);
	for (uint32_t i = 0; i < sizeof wrong_bytes / sizeof wrong_bytes[0]; i++) {
		make_wrapped(ROCE_OP_SEND_ONLY, 5);
		uint8_t *at = wrong_bytes[i].where == OUTER ? st.in + IP_AT
			      : wrong_bytes[i].where == SRH ? st.in + IP_AT + 40
							    : inner_ip();

		at[wrong_bytes[i].at] = wrong_bytes[i].byte;
		assert_drop(wrong_bytes[i].drop, STAGE_UP);
	}
	make_wrapped(ROCE_OP_SEND_ONLY, 5);
	assert_int_equal(take_it(), MT_DROP_NONE);
	assert_int_equal(st.n_copies, 3);
}

/* T-12: the HMAC and its key. With the D bit or another tag, which it does not cover, all is well.
 */
static void what_the_hmac_covers(void **state)
{
	(void)state;
	open_stage(GUARDED);
	for (uint32_t i = 0; i < 40; i++) {
		make_wrapped(ROCE_OP_SEND_ONLY, i);
		st.in[IP_AT + 40 + st.srh_len - 40 + i] ^= i < 2 ? 3 : 1;
		/* Type, length: not an HMAC any more; then the D bit and 15 reserved ones. */
		if (i == 2 || i == 3)
			assert_int_equal(take_it(), MT_DROP_NONE);
		else if (i != 1)
			assert_drop(MT_DROP_GUARD, STAGE_UP);
		else
			assert_drop(MT_DROP_SRH, STAGE_UP);
	}
	make_wrapped(ROCE_OP_SEND_ONLY, 50);
	st.in[IP_AT + 40 + 6] = 0x77;
	assert_int_equal(take_it(), MT_DROP_NONE);
	/* Before any TLV is believed (draft 9). */
	make_wrapped(ROCE_OP_SEND_ONLY, 51);
	st.in[IP_AT + 40 + 8 + 32 + 20]++;
	st.in[IP_AT + 40 + st.srh_len - 1]++;
	assert_drop(MT_DROP_GUARD, STAGE_UP);
	/* One without an HMAC is not the one that it was made for; at a transit node alike. */
	stage_usual_srh(false);
	make_wrapped(ROCE_OP_SEND_ONLY, 52);
	assert_drop(MT_DROP_GUARD, STAGE_UP);
	open_stage(STAGE_HAS_NODES | STAGE_IS_GUARDED);
	make_wrapped(ROCE_OP_SEND_ONLY, 52);
	assert_int_equal(take_it(), MT_DROP_NONE);
	st.in[IP_AT + 40 + st.srh_len - 1]++;
	assert_drop(MT_DROP_GUARD, STAGE_UP);
	st.srh_len = 0;
	make_wrapped(ROCE_OP_SEND_ONLY, 52);
	st.in[IP_AT + 6] = IPPROTO_IPV6_IN;
	assert_drop(MT_DROP_NO_SRH, STAGE_UP);
}

/* Draft 6.2 S14, by provisioning too. */
static void without_an_srh(void **state)
{
	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	const uint32_t len = st.srh_len;

	st.srh_len = 0;
	make_wrapped(ROCE_OP_SEND_ONLY, 1);
	st.in[IP_AT + 6] = IPPROTO_IPV6_IN;
	assert_drop(MT_DROP_NO_SRH, STAGE_UP);
	make_request(ROCE_OP_SEND_ONLY, 1);
	memcpy(st.in + IP_AT + 24, stage_sid, 16);
	assert_drop(MT_DROP_NO_SRH, STAGE_UP);
	st.srh_len = len;
	make_wrapped(ROCE_OP_SEND_ONLY, 1);
	st.in[IP_AT + 40 + 3] = 0;
	assert_drop(MT_DROP_NO_SEGMENTS, STAGE_UP);
}

static bool is_refused(uint32_t opcode)
{
	return opcode == ROCE_OP_READ_REQUEST || opcode == ROCE_OP_COMPARE_SWAP ||
	       opcode == ROCE_OP_FETCH_ADD || opcode == ROCE_OP_SEND_LAST_INV ||
	       opcode == ROCE_OP_SEND_ONLY_INV;
}

static void every_opcode(void **state)
{
	uint32_t n_passed = 0, n_refused = 0;

	(void)state;
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		open_stage(STAGE_HAS_RECEIVERS);
		struct stage_packet p = stage_request(
			roce_opcode_name((uint8_t)opcode) ? (uint8_t)opcode : 4, opcode);

		make(&p);
		st.in[IP_AT + 48] = (uint8_t)opcode;
		wrap();
		if (opcode < ROCE_OP_READ_REQUEST) {
			assert_int_equal(take_it(), MT_DROP_NONE);
			n_passed++;
		} else if (is_refused(opcode)) {
			assert_int_equal(take_it(), MT_DROP_REFUSED);
			n_refused++;
		} else {
			assert_drop(MT_DROP_OPCODE, STAGE_UP);
		}
		close_stage();
	}
	assert_int_equal(n_passed, 12);
	assert_int_equal(n_refused, 5);
}

/* T-29: the node next to the source refuses once all before is acknowledged. */
static void what_groups_cannot_do_is_refused(void **state)
{
	(void)state;
	open_stage(STAGE_HEADEND | STAGE_HAS_RECEIVERS);
	make_request(ROCE_OP_SEND_ONLY, 9);
	assert_int_equal(take_it(), MT_DROP_NONE);
	make_request(ROCE_OP_READ_REQUEST, 10);
	assert_int_equal(take_it(), MT_DROP_REFUSED);
	assert_int_equal(st.answer_len, 0);
	for (uint32_t i = 0; i < 3; i++) {
		const struct stage_packet ack = stage_answer(i, ROCE_OP_ACKNOWLEDGE, 9);

		make(&ack);
		assert_int_equal(take_from(i), MT_DROP_NONE);
	}
	assert_true(st.answer_len > 0);
	assert_int_equal(get_be24(st.answer + IP_AT + 48 + 9), 10);
	assert_int_equal(st.answer[IP_AT + 48 + 12],
			 aeth_syndrome(AETH_NAK, AETH_NAK_INVALID_REQUEST));
}

/* One bit away from a WRITE stands a READ. Receivers would drop it as damaged; so must who refuses
 * what they never see, or the source's group would end. */
static void damage_refuses_nothing(void **state)
{
	struct stage_packet p = stage_request(ROCE_OP_WRITE_LAST, 10);

	(void)state;
	open_stage(STAGE_HEADEND | STAGE_HAS_RECEIVERS);
	make_request(ROCE_OP_SEND_ONLY, 9);
	assert_int_equal(take_it(), MT_DROP_NONE);
	p.payload = reth_bytes;
	p.roce.bth.pad = 0;
	make(&p);
	st.in[IP_AT + 48] ^= ROCE_OP_WRITE_LAST ^ ROCE_OP_READ_REQUEST;
	assert_drop(MT_DROP_SEAL, STAGE_UP);
	stage_seal(st.in + IP_AT);
	assert_int_equal(take_it(), MT_DROP_REFUSED);
	/* Whoever hands it in may know that it is right. */
	make_request(ROCE_OP_READ_REQUEST, 10);
	st.stored = st.len - 4;
	st.is_known_good = true;
	assert_int_equal(take_it(), MT_DROP_REFUSED);
}

/* What jumps ahead must be right: the source would be far behind what it seems to have sent. What
 * is next, or came before, goes down with its damage (T-13). */
static void damage_does_not_jump_ahead(void **state)
{
	struct mt_merge_cfg cfg;

	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	cfg = st.group.merge.cfg;
	cfg.has_start = true;
	cfg.start = psn24_of(0xfffffe);
	mt_merge_init(&st.group.merge, &cfg, st.states);
	assert_int_equal(mt_merge_join(&st.group.merge, 0), 0);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t next = psn24_add(cfg.start, (int32_t)i).v;

		make_wrapped(ROCE_OP_SEND_ONLY, next + 1);
		inner_ip()[60]++; /* payload */
		assert_drop(MT_DROP_SEAL, STAGE_UP);
		make_wrapped(ROCE_OP_SEND_ONLY, next);
		put_be24(inner_ip() + 48 + 9, next + 0x200000);
		assert_drop(MT_DROP_SEAL, STAGE_UP);
		make_wrapped(ROCE_OP_SEND_ONLY, next);
		inner_ip()[60]++;
		assert_int_equal(take_it(), MT_DROP_NONE);
		assert_int_equal(take_it(), MT_DROP_NONE);
		assert_int_equal(st.group.merge.highest.v, next);
	}
	/* A gap of the source's own. */
	make_wrapped(ROCE_OP_SEND_ONLY, 100);
	assert_int_equal(take_it(), MT_DROP_NONE);
	assert_int_equal(st.group.merge.highest.v, 100);
}

/* T-12: with provisioning one forged packet would become the whole group's. */
static void who_may_send_to_the_headend(void **state)
{
	(void)state;
	open_stage(STAGE_HEADEND | STAGE_HAS_RECEIVERS);
	make_request(ROCE_OP_SEND_ONLY, 9);
	assert_drop(MT_DROP_PORT, STAGE_UP + 1);
	st.in[IP_AT + 8 + 15]++;
	assert_drop(MT_DROP_SOURCE, STAGE_UP);
	/* A receiver's request (T-29). */
	memcpy(st.in + IP_AT + 8, st.branches[1].address, 16);
	assert_drop(MT_DROP_OPCODE, STAGE_RECEIVERS);
	/* The source's answers and CNPs are nobody's. */
	make_request(ROCE_OP_ACKNOWLEDGE, 9);
	assert_drop(MT_DROP_OPCODE, STAGE_UP);
	make_request(ROCE_OP_CNP, 9);
	assert_drop(MT_DROP_OPCODE, STAGE_UP);
	make_request(ROCE_OP_SEND_ONLY, 9);
	st.in[IP_AT + 7] = 1;
	assert_drop(MT_DROP_HOP_LIMIT, STAGE_UP);
	/* What is wrapped already is not for a headend. */
	make_wrapped(ROCE_OP_SEND_ONLY, 9);
	assert_drop(MT_DROP_SID, STAGE_UP);
	make_request(ROCE_OP_SEND_ONLY, 9);
	assert_int_equal(take_it(), MT_DROP_NONE);
	/* And elsewhere nobody's native request is one. */
	open_stage(STAGE_HAS_RECEIVERS);
	make_request(ROCE_OP_SEND_ONLY, 9);
	assert_drop(MT_DROP_SOURCE, STAGE_UP);
	make_wrapped(ROCE_OP_SEND_ONLY, 9);
	assert_drop(MT_DROP_PORT, STAGE_UP + 1);
	st.group.up.port = MT_ANY_PORT;
	assert_int_equal(take_by(STAGE_UP + 1), MT_DROP_NONE);
}

/* T-30: from the native IP header on. */
static void too_long(void **state)
{
	(void)state;
	for (uint32_t mode = 0; mode < 2; mode++) {
		open_stage(STAGE_HAS_RECEIVERS | (mode ? STAGE_HEADEND : 0));
		make_request(ROCE_OP_SEND_ONLY, 1);
		st.group.most_bytes = st.len - IP_AT;
		if (!mode)
			wrap();
		assert_int_equal(take_it(), MT_DROP_NONE);
		st.group.most_bytes--;
		assert_drop(MT_DROP_TOO_LONG, STAGE_UP);
	}
}

/* T-31: by the DSCP, outer or inner, and by lengths where nobody says it. */
static void trimmed(void **state)
{
	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	st.sw.sids.trims = net_trims_of(27, 28);
	for (uint32_t i = 0; i < 4; i++) {
		make_wrapped(ROCE_OP_SEND_ONLY, 1);
		uint8_t *ip = i < 2 ? st.in + IP_AT : inner_ip();

		put_be16(ip, (uint16_t)(6 << 12 | (27 + (i & 1)) << 6 | 2 << 4 | 1));
		assert_drop(MT_DROP_TRIMMED, STAGE_UP);
	}
	/* The cut lies in the list of segments. */
	make_wrapped(ROCE_OP_SEND_ONLY, 1);
	put_be16(st.in + IP_AT, 6 << 12 | 27 << 6);
	put_be16(st.in + IP_AT + 4, 20);
	st.len = IP_AT + 60;
	assert_drop(MT_DROP_TRIMMED, STAGE_UP);
	make_wrapped(ROCE_OP_SEND_ONLY, 1);
	put_be16(st.in + IP_AT + 4, (uint16_t)(get_be16(st.in + IP_AT + 4) - 4));
	st.len -= 4;
	assert_drop(MT_DROP_MALFORMED, STAGE_UP);
}

/* The segment routing header says that it is longer than what there is of it: by its packet's
 * length, with padding behind, and in memory. */
static void an_srh_that_is_cut(void **state)
{
	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	for (uint32_t cut = 8; cut < st.srh_len; cut += 8) {
		make_wrapped(ROCE_OP_SEND_ONLY, 1);
		const uint32_t len = IP_AT + 40 + st.srh_len - cut;

		st.stored = len;
		st.is_known_good = true;
		assert_drop(MT_DROP_SRH, STAGE_UP);
		st.stored = 0;
		st.is_known_good = false;
		put_be16(st.in + IP_AT + 4, (uint16_t)(st.srh_len - cut));
		assert_drop(MT_DROP_SRH, STAGE_UP);
		st.len = len;
		assert_drop(MT_DROP_SRH, STAGE_UP);
	}
}

static void payload_and_padding_must_fit(void **state)
{
	(void)state;
	open_stage(STAGE_HAS_RECEIVERS);
	for (uint32_t payload = 0; payload < 12; payload++)
		for (uint8_t pad = 0; pad < 4; pad++) {
			struct stage_packet p = stage_request(ROCE_OP_SEND_ONLY, payload);

			p.payload = payload;
			p.roce.bth.pad = pad;
			make(&p);
			wrap();
			bool is_right = payload % 4 == 0 && pad <= payload;

			if (is_right)
				assert_int_equal(take_it(), MT_DROP_NONE);
			else
				assert_drop(MT_DROP_MALFORMED, STAGE_UP);
		}
	/* Where none may follow. */
	struct stage_packet p = stage_request(ROCE_OP_READ_REQUEST, 1);

	p.payload = 4;
	make(&p);
	wrap();
	assert_drop(MT_DROP_MALFORMED, STAGE_UP);
}

static void nobody_is_there(void **state)
{
	(void)state;
	open_stage(0);
	make_wrapped(ROCE_OP_SEND_ONLY, 1);
	assert_int_equal(take_it(), MT_DROP_ALONE);
	/* IPv4 is nothing of trees. */
	memset(st.in + IP_AT, 0, 60);
	put_be16(st.in + 12, ETHERTYPE_IPV4);
	st.in[IP_AT] = 0x45;
	put_be16(st.in + IP_AT + 2, 20);
	put_be16(st.in + IP_AT + 10, ipv4_checksum(st.in + IP_AT));
	assert_drop(MT_DROP_UPPER, STAGE_UP);
}

/* In memory of just that size, so that sanitizers see a step beyond it. */
static void take_exactly(uint32_t stored, uint32_t len)
{
	uint8_t *bytes = malloc(stored ? stored : 1);
	static uint8_t front[MT_FRONT_MAX];
	struct fwd_frame f = {bytes, stored, len};
	struct fwd_view view;
	struct mt_copy copy;

	assert_non_null(bytes);
	memcpy(bytes, st.in, stored);
	if (fwd_view_get(&f, &view) == FWD_DROP_NONE) {
		mt_node_take(&st.node, &(struct mt_input){STAGE_UP, &f, &view, stored != len},
			     &st.r);
		while (mt_node_copy(&st.node, &st.r, &copy, front))
			assert_true(copy.from <= stored);
	}
	free(bytes);
}

static void every_cut_and_many_flips(void **state)
{
	struct prng rng;

	(void)state;
	prng_init(&rng, check_seed(0x3172), 0);
	for (uint32_t mode = 0; mode < 3; mode++) {
		open_stage(mode == 0   ? GUARDED
			   : mode == 1 ? STAGE_HEADEND | STAGE_HAS_RECEIVERS | STAGE_HAS_NODES
				       : STAGE_HAS_RECEIVERS | STAGE_HAS_NODES | STAGE_BY_TLV);
		for (uint32_t i = 0; i < 6000; i++) {
			make_request(i & 1 ? ROCE_OP_WRITE_ONLY : ROCE_OP_SEND_ONLY, i);
			if (mode != 1)
				wrap();
			if (i < 2 * st.len) {
				take_exactly(i / 2, i & 1 ? st.len : i / 2);
				continue;
			}
			for (uint64_t n = 1 + prng_below(&rng, 3); n > 0; n--)
				st.in[12 + prng_below(&rng, st.len - 12)] ^=
					(uint8_t)(1u << prng_below(&rng, 8));
			take_exactly(st.len, st.len);
		}
	}
}

#define CASE(name) cmocka_unit_test_teardown(name, stop)

static const struct CMUnitTest cases[] = {
	CASE(every_drop_has_a_name_and_a_sentence),
	CASE(each_byte_that_is_checked),
	CASE(what_the_hmac_covers),
	CASE(without_an_srh),
	CASE(every_opcode),
	CASE(what_groups_cannot_do_is_refused),
	CASE(damage_refuses_nothing),
	CASE(damage_does_not_jump_ahead),
	CASE(who_may_send_to_the_headend),
	CASE(too_long),
	CASE(trimmed),
	CASE(an_srh_that_is_cut),
	CASE(payload_and_padding_must_fit),
	CASE(nobody_is_there),
	CASE(every_cut_and_many_flips),
};

CHECK_MAIN(cases)
