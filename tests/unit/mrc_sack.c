/* What a requestor makes of SACKs, right ones and others, all made by hand. */
#include "mrc_word.h"

static void maps_and_the_packet_that_caused_count(void **state)
{
	(void)state;
	begin_sent(200);
	SACK(.cack = 9, .from = 9, .map = 1 | UINT64_C(0xf0) | UINT64_C(1) << 63, .acked = 150);
	assert_int_equal(q->req.sent.una, 10);
	assert_int_equal(q->req.sent.n_early, 6);
	/* What is missing arrives: una passes what was known. */
	SACK(.cack = 11, .from = 12, .map = 1, .acked = 11);
	assert_int_equal(q->req.sent.una, 17);
	assert_int_equal(q->req.sent.n_early, 2);
	/* A map of any base, also one that is no multiple of anything (M-18). */
	SACK(.cack = 16, .from = 101, .map = UINT64_MAX >> 1, .acked = 163);
	assert_int_equal(q->req.sent.n_early, 64);
	SACK(.cack = 16, .from = 20, .map = UINT64_MAX, .acked = 83);
	assert_int_equal(q->req.sent.n_early, 127);
	SACK(.cack = 199, .from = 199, .acked = 199, .map = 1);
	assert_int_equal(q->req.sent.una, 200);
	assert_int_equal(q->req.sent.out_bytes, 0);
	assert_int_equal(COUNT(rx_sack), 5);
}

/* Whatever a SACK says must be about packets that were sent; else nothing of it is believed. */
static void senseless_sacks_change_nothing(void **state)
{
	static const struct word words[] = {
		{.cack = 300, .from = 300, .acked = 300},
		{.cack = 300, .from = 299, .acked = 299},
		{.cack = 1 << 22, .from = 1 << 22, .acked = 1 << 22},
		{.cack = 299, .from = 299, .acked = 300},
		{.cack = 299, .from = 299, .acked = 299, .map = 2},
		{.cack = 100, .from = 101, .acked = 100 + 32767},
		{.cack = 150, .from = 237, .acked = 150, .map = UINT64_C(1) << 63},
		{.cack = 150, .from = 150 + 32767, .acked = 150, .map = 1},
		{.cack = 150, .from = 150 + 32767, .acked = 150, .map = UINT64_MAX},
		{.cack = 250, .from = 250, .acked = 250, .map = UINT64_MAX},
		{.cack = -2, .from = 0, .acked = 0},
		{.cack = -70, .from = 0, .acked = 0, .map = 1},
		{.cack = -(1 << 23), .from = 0, .acked = 0, .map = 1},
	};

	(void)state;
	begin_sent(300);
	sack_all(99);
	for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		struct mrc_requester before = q->req;

		sack(words[i]);
		assert_memory_equal(&q->req, &before, sizeof before);
		assert_int_equal(COUNT(drop_stale), i + 1);
	}
	/* The same distances, within what was sent. */
	SACK(.cack = 150, .from = 236, .acked = 150, .map = UINT64_C(1) << 63);
	SACK(.cack = 150, .from = 150, .acked = 299);
	assert_int_equal(COUNT(rx_sack), 3);
}

/* Of an old SACK, what it says of una and after still counts; nothing else. */
static void old_sacks_count_for_their_bits(void **state)
{
	(void)state;
	begin_sent(200);
	sack_all(100);
	SACK(.cack = 50, .from = 90, .acked = 60, .map = UINT64_C(3) << 20);
	assert_int_equal(q->req.sent.una, 101);
	assert_int_equal(q->req.sent.n_early, 2);
	/* All before una: nothing new, nothing wrong. */
	SACK(.cack = -1, .from = -1, .acked = 0, .map = 0xff);
	SACK(.cack = 10, .from = -60, .acked = 3, .map = UINT64_MAX);
	assert_int_equal(q->req.sent.n_early, 2);
	assert_int_equal(COUNT(rx_sack), 4);
}

/* A map that begins before the first packet ends before the 64th. */
static void the_first_map_says_nothing_of_what_is_behind_it(void **state)
{
	(void)state;
	begin_here();
	connect();
	for (uint32_t i = 0; i < 200; i++) {
		post_packets(1);
		w.now += 1000;
		assert_int_equal(pull_all(), 1);
	}
	w.now += 1000;
	SACK(.cack = -1, .from = -10, .map = UINT64_MAX ^ UINT64_C(1) << 10, .acked = 199,
	     .ooo = 9);
	assert_int_equal(COUNT(lost_gap), 1);
	assert_true(engine_sent_is_lost(&q->req.sent, 0));
}

/* Older than offsets reach. */
static void ancient_answers_are_stale(void **state)
{
	(void)state;
	begin_sent(40);
	uint64_t una = 40;

	ack_and_poll(39);
	while (una < 32768 + 20) {
		post_packets(1);
		pull_all();
		ack((int64_t)una++);
		struct done done;

		assert_true(end_poll(&w.end[0], &done));
	}
	post_packets(1);
	pull_all();
	sack_all(19);
	ack(20);
	assert_int_equal(COUNT(drop_stale), 0);
	sack_all(18);
	ack(19);
	assert_int_equal(COUNT(drop_stale), 2);
}

static void answers_to_probes_are_matched(void **state)
{
	(void)state;
	begin_timed(0);
	post_packets(3);
	pull_all();
	/* None is out. */
	SACK(.cack = 0, .from = 0, .is_probed = true, .probe_id = q->req.probe_id);
	assert_int_equal(COUNT(drop_unasked), 1);
	wait_for_probe();
	const struct peth *h = &w.end[0].out[0].h.peth;
	uint16_t id = h->probe_id;

	assert_int_equal(h->spdcid, OURS);
	assert_int_equal(h->dpdcid, w.end[0].qp[0].attr.remote_qp);
	assert_int_equal(h->tx_timestamp, mrc_stamp(w.now));
	w.now += 40000;
	SACK(.cack = 1, .from = 1, .is_probed = true, .probe_id = (uint16_t)(id + 1));
	assert_int_equal(COUNT(drop_unasked), 2);
	assert_int_equal(q->req.sent.una, 1);
	/* It does not matter that the id, taken for an offset, makes no sense. */
	SACK(.cack = 1, .from = 1, .is_probed = true, .probe_id = id);
	assert_int_equal(q->req.sent.una, 2);
	assert_int_equal(COUNT(lost_probe), 2);
	/* The same once more is a SACK like others. */
	SACK(.cack = 1, .from = 1, .is_probed = true, .probe_id = id);
	assert_int_equal(COUNT(drop_unasked), 2);
	assert_int_equal(COUNT(lost_probe), 2);
	assert_int_equal(COUNT(rx_sack), 3);
	assert_int_equal(pull_all(), 2);
}

/* A peer that never told of packets behind a gap may not count them: what its map does not show is
 * not known to be missing. */
static void who_does_not_count_says_less(void **state)
{
	(void)state;
	for (uint32_t does_count = 0; does_count < 2; does_count++) {
		begin_timed(0);
		for (uint32_t i = 0; i < 140; i++)
			post_packets(1);
		pull_all();
		if (does_count)
			SACK(.cack = 0, .from = 0, .acked = 0, .ooo = 1);
		wait_for_probe();
		w.now += 40000;
		SACK(.cack = 0, .from = 1, .is_probed = true, .probe_id = q->req.probe_id);
		assert_int_equal(COUNT(lost_probe), does_count ? 140 : 64);
	}
}

/* Each has an identifier of its own, and the answer to one that others followed still tells what
 * arrived; but not what is lost. */
static void late_answers_to_probes_count(void **state)
{
	uint16_t first;

	(void)state;
	begin_timed(0);
	post_packets(4);
	pull_all();
	wait_for_probe();
	first = w.end[0].out[0].h.peth.probe_id;
	wait_for_probe();
	assert_int_equal(w.end[0].out[0].h.peth.probe_id, first + 1);
	SACK(.cack = 1, .from = 3, .map = 1, .is_probed = true, .probe_id = first);
	assert_int_equal(q->req.sent.una, 2);
	assert_int_equal(q->req.sent.n_early, 1);
	assert_int_equal(COUNT(lost_probe), 0);
	assert_true(q->req.is_probing);
	/* One that was never sent, or is long gone. */
	SACK(.cack = 2, .from = 2, .is_probed = true, .probe_id = (uint16_t)(first - 1));
	SACK(.cack = 2, .from = 2, .is_probed = true, .probe_id = (uint16_t)(first + 2));
	SACK(.cack = 2, .from = 2, .is_probed = true, .probe_id = (uint16_t)(first + 0x8000));
	assert_int_equal(COUNT(drop_unasked), 3);
	assert_int_equal(q->req.sent.una, 2);
}

/* What was sent at the time of the probe, or behind it, may be on its way still. */
static void a_probe_judges_what_was_sent_well_before_it(void **state)
{
	(void)state;
	begin_timed(0);
	post_packets(2);
	pull_all();
	wait_for_probe();
	uint16_t id = w.end[0].out[0].h.peth.probe_id;

	post_packets(2);
	pull_all();
	w.now += 40000;
	SACK(.cack = 0, .from = 0, .is_probed = true, .probe_id = id);
	assert_int_equal(COUNT(lost_probe), 2);
	assert_int_equal(q->req.sent.n_lost, 2);
	/* That they are retransmitted begins silence anew (M-23). */
	assert_int_equal(q->req.due, w.now + TIMEOUT_NS(TIMEOUT));
}

/* A peer that answers probes, but has the packet never: a probe has it retransmitted once, then its
 * timeouts count. */
static void probes_do_not_go_on_for_ever(void **state)
{
	(void)state;
	begin_timed(0);
	post_packets(1);
	pull_all();
	for (uint32_t i = 0; i < 100000 && end_state(&w.end[0], 0) == MRC_RTS; i++) {
		w.now += 20000;
		if (pull() == 0)
			continue;
		if (w.end[0].out[0].h.bth.opcode != MRC_OP_PROBE_REQUEST)
			continue;
		uint16_t id = w.end[0].out[0].h.peth.probe_id;

		w.now += 40000;
		SACK(.cack = 0, .from = 0, .is_probed = true, .probe_id = id);
	}
	expect_end(2, ENGINE_RETRY_EXCEEDED);
	assert_int_equal(COUNT(tx_retx), 4);
	assert_int_equal(COUNT(lost_probe), 1);
	assert_int_equal(COUNT(lost_timeout), 3);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(maps_and_the_packet_that_caused_count),
	cmocka_unit_test(senseless_sacks_change_nothing),
	cmocka_unit_test(old_sacks_count_for_their_bits),
	cmocka_unit_test(the_first_map_says_nothing_of_what_is_behind_it),
	cmocka_unit_test(ancient_answers_are_stale),
	cmocka_unit_test(answers_to_probes_are_matched),
	cmocka_unit_test(who_does_not_count_says_less),
	cmocka_unit_test(late_answers_to_probes_count),
	cmocka_unit_test(a_probe_judges_what_was_sent_well_before_it),
	cmocka_unit_test(probes_do_not_go_on_for_ever),
};

CHECK_MAIN(cases)
