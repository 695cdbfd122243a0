/* What data leaves as: the classes of a service level, which a queue pair has with its path. */
#include "mrc_peer.h"

/* 7.5.5.1: data, the same again and probes leave by the DSCPs of a service level, answers do not.
 */
static void data_has_the_class_of_its_service_level(void **state)
{
	const uint16_t room[ENGINE_PORTS] = {8, 8, 8, 8};
	static uint8_t head[ENGINE_HEAD_MAX];
	struct tx_pkt tx = {.head = head};
	struct mrc_attr attr;

	(void)state;
	begin();
	connect();
	assert_int_equal(mrc_qp_query(w.end[0].e, w.end[0].qp[0].number, &attr, NULL, NULL), 0);
	for (uint32_t i = 0; i < ENGINE_CONTROL; i++)
		attr.tclass[i] = (uint8_t)(ENGINE_DSCP + 40 + i);
	for (uint32_t is_whole = 0; is_whole < 2; is_whole++) {
		attr.flags = (uint8_t)(attr.flags | (is_whole ? MRC_NO_TRIM : 0));
		assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, w.end[0].qp[0].number, &attr,
					       MRC_SET_PATH | MRC_SET_FLAGS),
				 0);
		post((struct work){.len = 1, .code = ENGINE_WRITE});
		assert_int_equal(mrc_ops.pull(w.end[0].e, w.now, room, &tx, 1), 1);
		assert_int_equal(tx.tclass, ENGINE_DSCP + (is_whole ? 42 : 40));
		engine_sent_lost(&pair_of(0, 0)->req.sent, is_whole);
		mrc_wake_send(mrc_of(w.end[0].e), pair_of(0, 0));
		assert_int_equal(mrc_ops.pull(w.end[0].e, w.now, room, &tx, 1), 1);
		assert_int_equal(tx.tclass, ENGINE_DSCP + (is_whole ? 42 : 41));
	}
	attr.tclass[ENGINE_RETX] = ENGINE_TCLASSES;
	assert_int_equal(
		mrc_qp_modify(w.end[0].e, w.now, w.end[0].qp[0].number, &attr, MRC_SET_PATH),
		-EINVAL);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(data_has_the_class_of_its_service_level),
};

CHECK_MAIN(cases)
