/* What a program says of ranges and immediate data, as the engine has it: looked at from inside,
 * where both are seen (MRC Table 10-1, 10.2.1). */
#include "mrcapi_rig.h"

#include "mrcapi/inside.h"
#include "nic/nic_mrc.h"

/* What is said on the way to RTR and to RTS, and what comes of it. 0 is not said. */
struct said {
	uint8_t mpr, mpr_dest;
	uint16_t wimm, wimm_dest;
	bool is_dynamic;
	uint8_t sends, tracks; /* units of packets */
	uint16_t immediates;
};

static struct mrc_attr engine_attr(struct rig *rig, struct end *end, const struct said *s)
{
	struct mrc_qp *qp = rig_qp(rig, end);
	struct ibv_qp_attr attr = good_attr(rig, qp, 0x123);
	struct mrc_qp_attr mrc = {
		.mpr = {s->mpr, s->mpr_dest},
		.wimm = {s->wimm, s->wimm_dest},
		.cap = s->is_dynamic ? MRC_QP_CAP_DYNAMIC_MPR : 0,
	};
	int dest = (s->mpr_dest ? MRC_QP_MPR_DEST : 0) | (s->wimm_dest ? MRC_QP_MAX_WIMM_DEST : 0);
	int ours = (s->mpr ? MRC_QP_MPR : 0) | (s->wimm ? MRC_QP_MAX_WIMM : 0);
	struct mrc_attr is;

	bring_to(rig, qp, 0x123, IBV_QPS_INIT);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(mrc_modify_qp(qp, &attr, RTR_MASK, &mrc, dest | MRC_QP_CAP), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(mrc_modify_qp(qp, &attr, RTS_MASK, &mrc, ours), 0);
	assert_int_equal(nic_mrc_qp_query(qp->nic, &is, NULL, NULL), 0);
	assert_int_equal(mrc_destroy_qp(qp), 0);
	return is;
}

/* Whichever way a program reads the names, it sends no more than the smaller and tracks no less
 * than the larger. */
static void smaller_is_sent_and_larger_tracked(void **state)
{
	static const struct said all[] = {
		{0, 0, 0, 0, true, 32, 32, 512},      {9, 0, 0, 0, true, 9, 9, 512},
		{0, 9, 0, 0, true, 9, 9, 512},        {9, 100, 0, 0, true, 9, 100, 512},
		{100, 9, 0, 0, true, 9, 100, 512},    {100, 9, 0, 0, false, 9, 255, 512},
		{0, 255, 0, 0, false, 255, 255, 512}, {0, 0, 7, 0, true, 32, 32, 7},
		{0, 0, 0, 7, true, 32, 32, 7},        {0, 0, 32, 100, true, 32, 32, 32},
		{0, 0, 100, 32, true, 32, 32, 32},
	};
	struct rig rig;
	struct end end;

	(void)state;
	rig_start(&rig);
	end_queues(&rig, &end);
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		struct mrc_attr is = engine_attr(&rig, &end, &all[i]);

		assert_int_equal(is.mpr_dest, all[i].sends);
		assert_int_equal(is.mpr, all[i].tracks);
		assert_int_equal(is.wimm_dest, all[i].immediates);
		assert_int_equal(!!(is.flags & MRC_DYNAMIC_MPR), all[i].is_dynamic);
	}
	assert_int_equal(mrc_destroy_context(rig.mrc), 0);
	rig.mrc = mrc_create_context(rig.verbs, NULL);
	rig_stop(&rig);
}

/* What the peer is said not to do is not counted on. */
static void what_the_peer_lacks_is_known(void **state)
{
	struct rig rig;
	struct end end;

	(void)state;
	rig_start(&rig);
	end_queues(&rig, &end);
	for (unsigned lacks = 0; lacks < 2; lacks++) {
		struct mrc_qp *qp = rig_qp(&rig, &end);
		struct ibv_qp_attr attr = good_attr(&rig, qp, 0x123);
		struct mrc_qp_attr mrc = {.cap = lacks ? MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED : 0};
		struct mrc_attr is;

		bring_to(&rig, qp, 0x123, IBV_QPS_INIT);
		attr.qp_state = IBV_QPS_RTR;
		assert_int_equal(mrc_modify_qp(qp, &attr, RTR_MASK, &mrc, MRC_QP_CAP), 0);
		assert_int_equal(nic_mrc_qp_query(qp->nic, &is, NULL, NULL), 0);
		assert_int_equal(!!(is.flags & MRC_PEER_SERVICE_TIME), !lacks);
		assert_int_equal(mrc_destroy_qp(qp), 0);
	}
	assert_int_equal(mrc_destroy_context(rig.mrc), 0);
	rig.mrc = mrc_create_context(rig.verbs, NULL);
	rig_stop(&rig);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(smaller_is_sent_and_larger_tracked),
	cmocka_unit_test(what_the_peer_lacks_is_known),
};

ISOLATED_MAIN(cases)
