/* What a program says of ranges and immediate data, as the engine has it: looked at from inside,
 * where both are seen (MRC Table 10-1, 10.2.1). */
#include "mrcapi_rig.h"

#include <stdio.h>
#include <unistd.h>

#include "mrcapi/inside.h"
#include "nic/mrc/nic_mrc.h"

#define NOT_SAID UINT16_MAX

/* What is said on the way to RTR and to RTS, and what comes of it; of ranges 0 is not said. */
struct said {
	uint8_t mpr, mpr_dest;
	uint16_t wimm, wimm_dest;
	bool is_dynamic;
	uint8_t sends, tracks; /* units of packets */
	uint16_t immediates, kept;
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
	int dest = (s->mpr_dest ? MRC_QP_MPR_DEST : 0) |
		   (s->wimm_dest != NOT_SAID ? MRC_QP_MAX_WIMM_DEST : 0);
	int ours = (s->mpr ? MRC_QP_MPR : 0) | (s->wimm != NOT_SAID ? MRC_QP_MAX_WIMM : 0);
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

/* mpr is what we send by, mpr_dest what we track, each by itself and whether or not the range is
 * dynamic. So are max_wimm and max_wimm_dest, the latter up to the receives that there may be; 0 is
 * none (M-61). */
static void each_role_has_its_own_limits(void **state)
{
	static const struct said all[] = {
		{0, 0, NOT_SAID, NOT_SAID, true, 32, 32, 512, RIG_DEPTH},
		{9, 0, NOT_SAID, NOT_SAID, true, 9, 32, 512, RIG_DEPTH},
		{0, 9, NOT_SAID, NOT_SAID, true, 32, 9, 512, RIG_DEPTH},
		{9, 100, NOT_SAID, NOT_SAID, true, 9, 100, 512, RIG_DEPTH},
		{100, 9, NOT_SAID, NOT_SAID, true, 100, 9, 512, RIG_DEPTH},
		{0, 0, NOT_SAID, NOT_SAID, false, 32, 32, 512, RIG_DEPTH},
		{9, 0, NOT_SAID, NOT_SAID, false, 9, 32, 512, RIG_DEPTH},
		{0, 255, NOT_SAID, NOT_SAID, false, 32, 255, 512, RIG_DEPTH},
		{100, 9, NOT_SAID, NOT_SAID, false, 100, 9, 512, RIG_DEPTH},
		{1, 255, NOT_SAID, NOT_SAID, false, 1, 255, 512, RIG_DEPTH},
		{0, 0, 7, NOT_SAID, true, 32, 32, 7, RIG_DEPTH},
		{0, 0, NOT_SAID, 3, true, 32, 32, 512, 3},
		{0, 0, 100, 2, true, 32, 32, 100, 2},
		{0, 0, 2, 512, true, 32, 32, 2, RIG_DEPTH},
		{0, 0, 0, 1, true, 32, 32, 0, 1},
		{0, 0, 1, 0, true, 32, 32, 1, 0},
	};
	struct lone l;

	(void)state;
	lone_start(&l);
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		struct mrc_attr is = engine_attr(&l.rig, &l.end, &all[i]);

		assert_int_equal(is.mpr_dest, all[i].sends);
		assert_int_equal(is.mpr, all[i].tracks);
		assert_int_equal(is.wimm_dest, all[i].immediates);
		assert_int_equal(is.wimm, all[i].kept);
		assert_int_equal(!!(is.flags & MRC_DYNAMIC_MPR), all[i].is_dynamic);
	}
	lone_drop(&l);
}

static uint8_t tracked(struct mrc_qp *qp)
{
	struct mrc_attr is;

	assert_int_equal(nic_mrc_qp_query(qp->nic, &is, NULL, NULL), 0);
	return is.mpr;
}

/* 7.5.4: with the capability of both ends the range of a responder changes while packets flow, in
 * RTR, RTS and SQD and on the way; else it stays. That of a requester is set until RTS. */
static void range_changes_only_if_agreed(void **state)
{
	static const uint8_t ranges[] = {11, 5, 200, 7};
	struct lone l;

	(void)state;
	lone_start(&l);
	for (int is_dynamic = 0; is_dynamic < 2; is_dynamic++) {
		struct mrc_qp_attr mrc = {.mpr = {9, 9},
					  .cap = is_dynamic ? MRC_QP_CAP_DYNAMIC_MPR : 0};
		struct mrc_qp *qp = rig_qp(&l.rig, &l.end);
		struct ibv_qp_attr attr = good_attr(&l.rig, qp, 0x123);
		int refused = is_dynamic ? 0 : EINVAL, mask = MRC_QP_MPR | MRC_QP_MPR_DEST;

		bring_to(&l.rig, qp, 0x123, IBV_QPS_INIT);
		attr.qp_state = IBV_QPS_RTR;
		assert_int_equal(mrc_modify_qp(qp, &attr, RTR_MASK, &mrc, MRC_QP_CAP | mask), 0);
		for (uint32_t i = 0; i < sizeof ranges; i++) {
			mrc.mpr.mpr_dest = 9;
			if (i == 1) {
				attr.qp_state = IBV_QPS_RTS;
				assert_int_equal(mrc_modify_qp(qp, &attr, RTS_MASK, &mrc, mask), 0);
			}
			if (i == 3) {
				attr.qp_state = IBV_QPS_SQD;
				assert_int_equal(mrc_modify_qp(qp, &attr, IBV_QP_STATE, NULL, 0),
						 0);
			}
			/* The same again is no change. */
			assert_int_equal(mrc_modify_qp(qp, NULL, 0, &mrc, MRC_QP_MPR_DEST), 0);
			mrc.mpr.mpr_dest = ranges[i];
			assert_int_equal(mrc_modify_qp(qp, NULL, 0, &mrc, MRC_QP_MPR_DEST),
					 refused);
			assert_int_equal(tracked(qp), is_dynamic ? ranges[i] : 9);
			if (i > 0)
				assert_int_equal(mrc_modify_qp(qp, NULL, 0, &mrc, MRC_QP_MPR),
						 EINVAL);
		}
		assert_int_equal(mrc_query_qp(qp, NULL, 0, &mrc, MRC_QP_MPR, NULL), 0);
		assert_int_equal(mrc.mpr.mpr_dest, is_dynamic ? 7 : 9);
		assert_int_equal(mrc.mpr.mpr, 9);
		assert_int_equal(mrc_destroy_qp(qp), 0);
	}
	lone_drop(&l);
}

/* The flags of a new pair in the engine, for what is said of the peer. */
static uint8_t flags_for(struct rig *rig, struct end *end, uint32_t cap)
{
	struct mrc_qp *qp = rig_qp(rig, end);
	struct ibv_qp_attr attr = good_attr(rig, qp, 0x123);
	struct mrc_qp_attr mrc = {.cap = cap};
	struct mrc_attr is;

	bring_to(rig, qp, 0x123, IBV_QPS_INIT);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(mrc_modify_qp(qp, &attr, RTR_MASK, &mrc, MRC_QP_CAP), 0);
	assert_int_equal(nic_mrc_qp_query(qp->nic, &is, NULL, NULL), 0);
	assert_int_equal(mrc_destroy_qp(qp), 0);
	return is.flags;
}

/* What the peer is said not to do is not counted on. */
static void what_the_peer_lacks_is_known(void **state)
{
	struct lone l;

	(void)state;
	lone_start(&l);
	assert_true(flags_for(&l.rig, &l.end, 0) & MRC_PEER_SERVICE_TIME);
	assert_false(flags_for(&l.rig, &l.end, MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED) &
		     MRC_PEER_SERVICE_TIME);
	lone_drop(&l);
}

/* A peer that answers no trimmed packets gets none that may be trimmed; of a device that never
 * learns of them nothing else can be said. */
static void trimming_needs_the_peer(void **state)
{
	const uint8_t both = MRC_PEER_TRIM_NACK | MRC_NO_TRIM;
	struct lone l;

	(void)state;
	lone_start(&l);
	assert_int_equal(flags_for(&l.rig, &l.end, 0) & both, MRC_NO_TRIM);
	lone_drop(&l);
	setenv("WEFT_DRIVER", "raw", 1);
	struct ibv_context *context = rig_try("weft_mrc0");

	if (!context) {
		print_message("frames are not permitted here: not tried\n");
		skip();
		return;
	}
	assert_int_equal(ibv_close_device(context), 0);
	lone_start(&l);
	assert_int_equal(flags_for(&l.rig, &l.end, 0) & both, MRC_PEER_TRIM_NACK);
	assert_int_equal(flags_for(&l.rig, &l.end, MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED) & both,
			 MRC_NO_TRIM);
	lone_drop(&l);
	unsetenv("WEFT_DRIVER");
}

/* 7.5.5.1: a program names a service level by the address, and the device's setup has its DSCPs;
 * one without has the device's. The address is told as it was given. */
static void service_levels_name_classes(void **state)
{
	static const struct {
		uint8_t sl;
		uint8_t classes[3];
	} all[] = {{0, {0, 0, 0}},
		   {3, {ENGINE_DSCP + 20, ENGINE_DSCP + 21, ENGINE_DSCP + 22}},
		   {4, {0, 0, 0}},
		   {15, {ENGINE_DSCP + 8, ENGINE_DSCP + 8, ENGINE_DSCP + 8}}};
	char path[] = "/tmp/weft-sl-XXXXXX";
	int fd = mkstemp(path);
	struct lone l;

	(void)state;
	assert_true(fd >= 0);
	dprintf(fd, "[weft_mrc0]\nports = lo\nservice-levels = 3:20:21:22 15:8\n");
	close(fd);
	setenv("WEFT_CONFIG", path, 1);
	lone_start(&l);
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		struct mrc_qp *qp = rig_qp(&l.rig, &l.end);
		struct ibv_qp_attr attr = good_attr(&l.rig, qp, 0x123);
		struct mrc_attr is;

		bring_to(&l.rig, qp, 0x123, IBV_QPS_INIT);
		attr.qp_state = IBV_QPS_RTR;
		attr.ah_attr.sl = 16;
		assert_errno(mrc_modify_qp(qp, &attr, RTR_MASK, NULL, 0), EINVAL);
		attr.ah_attr.sl = all[i].sl;
		attr.ah_attr.grh.traffic_class = 106;
		assert_int_equal(mrc_modify_qp(qp, &attr, RTR_MASK, NULL, 0), 0);
		assert_int_equal(nic_mrc_qp_query(qp->nic, &is, NULL, NULL), 0);
		assert_memory_equal(is.tclass, all[i].classes, sizeof is.tclass);
		assert_int_equal(mrc_query_qp(qp, &attr, IBV_QP_AV, NULL, 0, NULL), 0);
		assert_int_equal(attr.ah_attr.sl, all[i].sl);
		assert_int_equal(attr.ah_attr.grh.traffic_class, 106);
		assert_int_equal(mrc_destroy_qp(qp), 0);
	}
	lone_drop(&l);
	setenv("WEFT_CONFIG", "/dev/null", 1);
	unlink(path);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(each_role_has_its_own_limits),
	cmocka_unit_test(range_changes_only_if_agreed),
	cmocka_unit_test(what_the_peer_lacks_is_known),
	cmocka_unit_test(trimming_needs_the_peer),
	cmocka_unit_test(service_levels_name_classes),
};

ISOLATED_MAIN(cases)
