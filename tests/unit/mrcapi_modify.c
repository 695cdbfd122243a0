/* libmrc: every step of a queue pair's state, legal and not, with every attribute. */
#include "mrcapi_rig.h"

#define N_STATES  7u
#define ANY_RIGHT (IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER)

/* The steps there are: what each needs and takes of the verbs, and takes of MRC. Written from IBTA
 * table 91, without what MRC does not have, and from mrc.h. */
#define MRC_LATE  (MRC_QP_MAX_WIMM | MRC_QP_TIMEOUT | MRC_QP_HINT | MRC_QP_RETRY_CNT)
#define MRC_FIRST (MRC_LATE | MRC_QP_MAX_WIMM_DEST | MRC_QP_MPR | MRC_QP_MPR_DEST | MRC_QP_CAP)
#define MRC_ALL   (MRC_FIRST | MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID)

static const struct step {
	enum ibv_qp_state from, to;
	int needs, takes, mrc;
} steps[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	 MRC_ALL},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	 MRC_ALL},
	{IBV_QPS_INIT, IBV_QPS_RTR, RTR_MASK & ~IBV_QP_STATE,
	 ANY_RIGHT | IBV_QP_PKEY_INDEX | IBV_QP_MAX_DEST_RD_ATOMIC, MRC_FIRST},
	{IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN,
	 ANY_RIGHT | IBV_QP_CUR_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		 IBV_QP_MAX_QP_RD_ATOMIC,
	 MRC_LATE | MRC_QP_MPR},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, ANY_RIGHT | IBV_QP_CUR_STATE, MRC_LATE},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY, 0},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0, ANY_RIGHT | IBV_QP_CUR_STATE, MRC_LATE},
	{IBV_QPS_SQD, IBV_QPS_SQD, 0,
	 ANY_RIGHT | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT |
		 IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
		 IBV_QP_MAX_DEST_RD_ATOMIC,
	 MRC_LATE},
};

static const enum ibv_qp_state states[N_STATES] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
						   IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_SQE,
						   IBV_QPS_ERR};

/* What a step takes; NULL: there is no such step. Out of every state one may go to RESET and to
 * ERR, with nothing but the state. */
static const struct step *find(enum ibv_qp_state from, enum ibv_qp_state to)
{
	static const struct step out = {.takes = IBV_QP_CUR_STATE};

	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return &out;
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
		if (steps[i].from == from && steps[i].to == to)
			return &steps[i];
	return NULL;
}

/* A call on a new pair in a state, with good values of all attributes: its answer. */
struct call {
	enum ibv_qp_state from, to;
	int vmask, mmask;
};

static int try(struct lone *l, const struct call *c)
{
	struct mrc_qp *qp = rig_qp(&l->rig, &l->end);
	struct ibv_qp_attr attr = good_attr(&l->rig, qp, 0x123);
	struct mrc_qp_attr mrc = {.mpr = {9, 9}, .wimm = {9, 9}, .timeout = 9, .retry = {1, 1}};

	bring_to(&l->rig, qp, 0x123, c->from);
	attr.qp_state = c->to;
	attr.cur_qp_state = c->from;
	errno = 0;
	int answer = mrc_modify_qp(qp, &attr, c->vmask, &mrc, c->mmask);

	if (answer)
		assert_int_equal(errno, answer);
	/* A refusal leaves all as it was. */
	assert_int_equal(state_of(qp), answer || !(c->vmask & IBV_QP_STATE) ? c->from : c->to);
	assert_int_equal(mrc_destroy_qp(qp), 0);
	return answer;
}

static void expect(struct lone *l, struct call c, bool is_good)
{
	int answer = try(l, &c);

	if (answer != (is_good ? 0 : EINVAL))
		fail_msg("from %d to %d with %#x and %#x: %d", c.from, c.to, (unsigned)c.vmask,
			 (unsigned)c.mmask, answer);
}

static void every_step_with_every_attribute_of_the_verbs(void **state)
{
	struct lone l;

	(void)state;
	lone_start(&l);
	for (uint32_t i = 0; i < N_STATES; i++)
		for (uint32_t j = 0; j < N_STATES; j++) {
			enum ibv_qp_state from = states[i], to = states[j];
			const struct step *s = find(from, to);
			int needs = IBV_QP_STATE | (s ? s->needs : 0);

			/* Nothing of ours is ever in SQE: completions in error end in ERR. */
			if (from == IBV_QPS_SQE)
				continue;
			expect(&l, (struct call){from, to, needs, 0}, s);
			for (int bit = 1; bit <= IBV_QP_RATE_LIMIT; bit <<= 1) {
				if (bit == IBV_QP_STATE)
					continue;
				if (needs & bit)
					expect(&l, (struct call){from, to, needs & ~bit, 0}, false);
				else
					expect(&l, (struct call){from, to, needs | bit, 0},
					       s && s->takes & bit);
			}
		}
	lone_drop(&l);
}

static void every_step_with_every_attribute_of_mrc(void **state)
{
	struct lone l;

	(void)state;
	lone_start(&l);
	for (uint32_t i = 0; i < N_STATES; i++)
		for (uint32_t j = 0; j < N_STATES; j++) {
			enum ibv_qp_state from = states[i], to = states[j];
			const struct step *s = find(from, to);
			int needs = IBV_QP_STATE | (s ? s->needs : 0);

			if (from == IBV_QPS_SQE)
				continue;
			for (int bit = 0; bit < 31; bit++)
				expect(&l, (struct call){from, to, needs, (int)(1u << bit)},
				       s && s->mrc & 1 << bit);
		}
	lone_drop(&l);
}

/* Without IBV_QP_STATE a pair stays where it is. */
static void attributes_without_a_step(void **state)
{
	struct lone l;

	(void)state;
	lone_start(&l);
	for (uint32_t i = 0; i < N_STATES; i++) {
		const struct step *s = find(states[i], states[i]);

		if (states[i] == IBV_QPS_SQE)
			continue;
		expect(&l, (struct call){states[i], states[i], 0, 0}, s);
		expect(&l, (struct call){states[i], states[i], 0, MRC_QP_TIMEOUT},
		       s && s->mrc & MRC_QP_TIMEOUT);
	}
	lone_drop(&l);
}

/* One call on a pair that is on its way to a state, with one value changed. */
static int set_one(struct lone *l, enum ibv_qp_state to, const struct mrc_qp_attr *mrc, int mask)
{
	struct mrc_qp *qp = rig_qp(&l->rig, &l->end);
	struct ibv_qp_attr attr = good_attr(&l->rig, qp, 0x123);
	struct mrc_qp_attr before, after;
	static const int masks[] = {0, IBV_QP_STATE, RTR_MASK, RTS_MASK};

	bring_to(&l->rig, qp, 0x123, (enum ibv_qp_state)(to - 1));
	attr.qp_state = to;
	assert_int_equal(mrc_query_qp(qp, NULL, 0, &before, mask, NULL), 0);
	struct mrc_qp_attr want = *mrc;
	int answer = mrc_modify_qp(qp, &attr, masks[to], &want, mask);

	assert_int_equal(mrc_query_qp(qp, NULL, 0, &after, mask, NULL), 0);
	if (answer)
		assert_memory_equal(&before, &after, sizeof after);
	assert_int_equal(mrc_destroy_qp(qp), 0);
	return answer;
}

static void ranges_are_checked(void **state)
{
	static const struct {
		struct mrc_qp_attr attr;
		int mask, answer;
	} cases[] = {
		{{.mpr = {1, 0}}, MRC_QP_MPR, 0},
		{{.mpr = {255, 0}}, MRC_QP_MPR, 0},
		{{.mpr = {0, 9}}, MRC_QP_MPR, EINVAL},
		{{.mpr = {9, 0}}, MRC_QP_MPR_DEST, EINVAL},
		{{.wimm = {0, 0}}, MRC_QP_MAX_WIMM, 0},
		{{.wimm = {0, 0}}, MRC_QP_MAX_WIMM_DEST, 0},
		{{.wimm = {512, 0}}, MRC_QP_MAX_WIMM, 0},
		{{.wimm = {513, 0}}, MRC_QP_MAX_WIMM, EINVAL},
		{{.wimm = {0, 512}}, MRC_QP_MAX_WIMM_DEST, 0},
		{{.wimm = {0, 513}}, MRC_QP_MAX_WIMM_DEST, EINVAL},
		{{.timeout = 24}, MRC_QP_TIMEOUT, 0},
		{{.timeout = 25}, MRC_QP_TIMEOUT, EINVAL},
		{{.retry = {7, 25}}, MRC_QP_RETRY_CNT, 0},
		{{.retry = {8, 0}}, MRC_QP_RETRY_CNT, EINVAL},
		{{.retry = {0, 26}}, MRC_QP_RETRY_CNT, EINVAL},
		{{.cap = 7}, MRC_QP_CAP, 0},
		{{.cap = 8}, MRC_QP_CAP, EINVAL},
		{{.vendor_cfg = {0}}, MRC_QP_VENDOR_CFG, 0},
		{{.vendor_cfg = {1}}, MRC_QP_VENDOR_CFG, EINVAL},
		{{.vendor_cfg = {[127] = 1}}, MRC_QP_VENDOR_CFG, EINVAL},
		{{.profile = {0, 0}}, MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID, 0},
		{{.profile = {77, 0}}, MRC_QP_EV_PROFILE_ID, EINVAL},
		{{.profile = {0, 77}}, MRC_QP_CC_PROFILE_ID, EINVAL},
	};
	struct lone l;

	(void)state;
	lone_start(&l);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(set_one(&l, IBV_QPS_INIT, &cases[i].attr, cases[i].mask),
				 cases[i].answer);
	lone_drop(&l);
}

/* Values of the verbs, each alone wrong. */
static void values_of_the_verbs_are_checked(void **state)
{
	struct lone l;

	(void)state;
	lone_start(&l);
	struct mrc_qp *qp = rig_qp(&l.rig, &l.end);
	const struct ibv_qp_attr good = good_attr(&l.rig, qp, 0x123);
	struct ibv_qp_attr bad = good;
	int init = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX;

	bad.qp_state = IBV_QPS_INIT;
	bad.port_num = 2;
	assert_errno(mrc_modify_qp(qp, &bad, init, NULL, 0), EINVAL);
	bad.port_num = 1;
	bad.pkey_index = 1;
	assert_errno(mrc_modify_qp(qp, &bad, init, NULL, 0), EINVAL);
	bring_to(&l.rig, qp, 0x123, IBV_QPS_INIT);
	bad = good;
	bad.qp_state = IBV_QPS_RTR;
	bad.ah_attr.is_global = 0;
	assert_errno(mrc_modify_qp(qp, &bad, RTR_MASK, NULL, 0), EINVAL);
	bad.ah_attr.is_global = 1;
	bad.ah_attr.grh.sgid_index = 200;
	assert_errno(mrc_modify_qp(qp, &bad, RTR_MASK, NULL, 0), EINVAL);
	bad.ah_attr.grh.sgid_index = RIG_GID;
	bad.path_mtu = (enum ibv_mtu)6;
	assert_errno(mrc_modify_qp(qp, &bad, RTR_MASK, NULL, 0), EINVAL);
	bad.path_mtu = IBV_MTU_1024;
	bad.dest_qp_num = 1u << 24;
	assert_errno(mrc_modify_qp(qp, &bad, RTR_MASK, NULL, 0), EINVAL);
	bad.dest_qp_num = 0x123;
	bad.ah_attr.port_num = 99; /* nobody looks at it */
	assert_int_equal(mrc_modify_qp(qp, &bad, RTR_MASK, NULL, 0), 0);
	bad.qp_state = IBV_QPS_RTS;
	bad.cur_qp_state = IBV_QPS_INIT;
	assert_errno(mrc_modify_qp(qp, &bad, RTS_MASK | IBV_QP_CUR_STATE, NULL, 0), EINVAL);
	bad.cur_qp_state = IBV_QPS_RTR;
	assert_int_equal(mrc_modify_qp(qp, &bad, RTS_MASK | IBV_QP_CUR_STATE, NULL, 0), 0);
	assert_int_equal(mrc_destroy_qp(qp), 0);
	lone_drop(&l);
}

/* A path that cannot be had is an error of its own, and the pair can try another. */
static void a_bad_path_leaves_the_pair_as_it_was(void **state)
{
	struct lone l;

	(void)state;
	lone_start(&l);
	struct mrc_qp *qp = rig_qp(&l.rig, &l.end);
	struct ibv_qp_attr attr = good_attr(&l.rig, qp, 0x123);

	bring_to(&l.rig, qp, 0x123, IBV_QPS_INIT);
	attr.qp_state = IBV_QPS_RTR;
	attr.ah_attr.grh.sgid_index = 63;
	assert_int_not_equal(mrc_modify_qp(qp, &attr, RTR_MASK, NULL, 0), 0);
	assert_int_equal(state_of(qp), IBV_QPS_INIT);
	/* Version 1 of the same address. */
	attr.ah_attr.grh.sgid_index = RIG_GID - 1;
	assert_errno(mrc_modify_qp(qp, &attr, RTR_MASK, NULL, 0), EOPNOTSUPP);
	assert_int_equal(state_of(qp), IBV_QPS_INIT);
	attr.ah_attr.grh.sgid_index = RIG_GID;
	assert_int_equal(mrc_modify_qp(qp, &attr, RTR_MASK, NULL, 0), 0);
	assert_int_equal(mrc_destroy_qp(qp), 0);
	lone_drop(&l);
}

/* RC's own masks, as programs in the field have them. */
static void masks_of_rc_are_taken(void **state)
{
	struct lone l;

	(void)state;
	lone_start(&l);
	struct mrc_qp *qp = rig_qp(&l.rig, &l.end);
	struct ibv_qp_attr attr = good_attr(&l.rig, qp, 0x123);

	attr.qp_state = IBV_QPS_INIT;
	assert_int_equal(
		mrc_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			      NULL, 0),
		0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(mrc_modify_qp(qp, &attr,
				       RTR_MASK | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
				       NULL, 0),
			 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(mrc_modify_qp(qp, &attr,
				       RTS_MASK | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
				       NULL, 0),
			 0);
	assert_int_equal(mrc_destroy_qp(qp), 0);
	lone_drop(&l);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(every_step_with_every_attribute_of_the_verbs),
	cmocka_unit_test(every_step_with_every_attribute_of_mrc),
	cmocka_unit_test(attributes_without_a_step),
	cmocka_unit_test(ranges_are_checked),
	cmocka_unit_test(values_of_the_verbs_are_checked),
	cmocka_unit_test(a_bad_path_leaves_the_pair_as_it_was),
	cmocka_unit_test(masks_of_rc_are_taken),
};

ISOLATED_MAIN(cases)
