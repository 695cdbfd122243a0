/* What data leaves as: the classes of a service level, which a queue pair has with its path. */
#include "mrc_peer.h"

/* 7.5.5.1: data, the same again and probes leave by the DSCPs of a service level, answers do not.
 */
static void data_has_the_class_of_its_service_level(void **state)
{
	const struct engine_room room = {.pkts = {8, 8, 8, 8}, .may = UINT32_MAX};
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
		assert_int_equal(mrc_ops.pull(w.end[0].e, w.now, &room, &tx, 1), 1);
		assert_int_equal(tx.tclass, ENGINE_DSCP + (is_whole ? 42 : 40));
		engine_sent_lost(&pair_of(0, 0)->req.sent, is_whole);
		mrc_wake_send(mrc_of(w.end[0].e), pair_of(0, 0));
		assert_int_equal(mrc_ops.pull(w.end[0].e, w.now, &room, &tx, 1), 1);
		assert_int_equal(tx.tclass, ENGINE_DSCP + (is_whole ? 42 : 41));
	}
	attr.tclass[ENGINE_RETX] = ENGINE_TCLASSES;
	assert_int_equal(
		mrc_qp_modify(w.end[0].e, w.now, w.end[0].qp[0].number, &attr, MRC_SET_PATH),
		-EINVAL);
}

/* How many packets of end 0 leave of what may go. */
static uint32_t pull_of(uint32_t may, struct tx_pkt tx[END_BATCH])
{
	static uint8_t heads[END_BATCH][ENGINE_HEAD_MAX];
	const struct engine_room room = {.pkts = {8, 8, 8, 8}, .may = may};
	const struct engine *e = w.end[0].e;
	bool is_due = mrc_ops.deadline(e, may) <= w.now;

	for (uint32_t i = 0; i < END_BATCH; i++)
		tx[i].head = heads[i];
	uint32_t n = mrc_ops.pull(w.end[0].e, w.now, &room, tx, END_BATCH);

	assert_true(is_due || n == 0);
	assert_true(mrc_ops.deadline(e, may) > w.now);
	return n;
}

/* Endpoint packets of a port leave in their order, where the first may: a probe goes with data,
 * with whichever DSCP, and all others with control. */
static void endpoint_packets_go_where_their_class_may(void **state)
{
	const uint32_t control = UINT32_C(0xff) << ENGINE_CONTROL * ENGINE_PORTS;
	static const uint8_t classes[] = {ENGINE_CONTROL, ENGINE_DATA, ENGINE_CONTROL,
					  ENGINE_DSCP + 5};
	struct mrc_endpoint r = {.peer = PEER, .local = LOCAL, .op = MRC_ENDPOINT_EV_PROBE};
	struct tx_pkt tx[END_BATCH];

	(void)state;
	begin();
	connect();
	for (uint32_t i = 0; i < 4; i++) {
		r.tclass = classes[i];
		assert_int_equal(mrc_endpoint_post(w.end[0].e, w.now, &r), 0);
	}
	assert_int_equal(pull_of(control, tx), 1);
	assert_int_equal(tx[0].tclass, ENGINE_CONTROL);
	assert_int_equal(pull_of(control, tx), 0);
	assert_int_equal(pull_of(~control, tx), 1);
	assert_int_equal(tx[0].tclass, ENGINE_DATA);
	assert_int_equal(pull_of(~control, tx), 0);
	assert_int_equal(pull_of(control, tx), 1);
	assert_int_equal(pull_of(control, tx), 0);
	assert_int_equal(pull_of(~control, tx), 1);
	assert_int_equal(tx[0].tclass, ENGINE_DSCP + 5);
	assert_int_equal(pull_of(UINT32_MAX, tx), 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(endpoint_packets_go_where_their_class_may),
	cmocka_unit_test(data_has_the_class_of_its_service_level),
};

CHECK_MAIN(cases)
