/* What a requestor tells its congestion controller of answers made by hand: round trips, bytes,
 * marks. */
#include "mrc_word.h"

#define UNIT 128u /* ns of a timestamp */

/* One packet goes, and is answered after rtt with a stamp that is later by `moved`, or with `told`
 * where we send none. Returns what the round trip is taken for: the weight of a sample is 1/8. */
struct trip {
	uint8_t flags;
	nsec rtt;
	uint32_t moved, reported;
	bool is_other, is_ack_first;
};

static int64_t learn(struct trip t)
{
	begin_timed(t.flags);
	post_packets(1);
	pull_all();
	uint16_t stamp = (uint16_t)(mrc_stamp(w.now) + t.moved);
	int64_t before = (int64_t)q->req.srtt;

	w.now += t.rtt;
	if (t.is_ack_first) {
		ack(1);
		before = (int64_t)q->req.srtt;
	}
	SACK(.cack = 1, .from = 1, .acked = 1, .is_other = t.is_other,
	     .stamp = t.flags & MRC_NO_TIMESTAMPS ? t.reported : stamp);
	return before + 8 * ((int64_t)q->req.srtt - before);
}

static void round_trips_are_measured(void **state)
{
	const nsec few = 200;

	(void)state;
	/* By our own record, whether the stamp comes back or not. */
	assert_in_range(learn((struct trip){.rtt = 80000}), 80000 - few, 80000 + few);
	assert_in_range(learn((struct trip){.rtt = 80000, .flags = MRC_NO_TIMESTAMPS}), 80000 - few,
			80000 + few);
	/* A stamp wraps after 8.4 ms; the record does not. */
	assert_in_range(learn((struct trip){.rtt = 20000000}), 20000000 - few, 20000000 + few);
	/* Without a record, by the stamp. */
	assert_in_range(learn((struct trip){.rtt = 80000, .is_ack_first = true}), 80000 - few,
			80000 + few);
	/* But not where round trips are long enough to wrap it. */
	int64_t rtt = learn((struct trip){.rtt = 20000000, .is_ack_first = true});

	assert_int_equal(rtt, q->req.srtt);
	/* Which may be one that we do not understand, or none. */
	assert_in_range(learn((struct trip){.rtt = 80000, .is_ack_first = true, .is_other = true}),
			45000 - few, 45000 + few);
	assert_in_range(learn((struct trip){
				.rtt = 80000, .is_ack_first = true, .flags = MRC_NO_TIMESTAMPS}),
			45000 - few, 45000 + few);
}

/* The cc sees what the peer took (7.5.5.8): a spy in its place. */
static struct cc_ack spied;

static void spy_on_ack(struct cc *c, const struct cc_ack *ack)
{
	(void)c;
	spied = *ack;
}

static void spy_on_loss(struct cc *c, const struct cc_ack *ack, enum cc_loss loss)
{
	(void)c;
	spied = *ack;
	spied.level = (uint8_t)loss;
}

static struct cc_ops spy;

static void place_spy(void)
{
	spy = *q->req.cc.ops;
	spy.on_ack = spy_on_ack;
	spy.on_loss = spy_on_loss;
	q->req.cc.ops = &spy;
	spied = (struct cc_ack){0};
}

/* Packet 1, which was sent now, is answered 50 us later by a SACK, or by a trim NACK. */
static void answer_packet(uint16_t stamp, bool is_nack)
{
	w.now += 50000;
	if (!is_nack)
		SACK(.cack = 1, .from = 1, .acked = 1, .stamp = stamp);
	else
		say((struct mrc_pkt){.bth = {.opcode = MRC_OP_NACK},
				     .neth = {.nack_reason = MRC_NACK_TRIMMED,
					      .nack_psn = psn_of(1),
					      .cc_type = MRC_CC_TYPE_TIMESTAMP,
					      .tx_timestamp = stamp}});
}

static void service_time_is_told_to_the_controller(void **state)
{
	static const struct {
		uint8_t flags;
		uint16_t moved, reported;
		nsec held;
	} cases[] = {
		{0, 0, 0, 0},
		{0, 40, 0, 0},
		{MRC_PEER_SERVICE_TIME, 0, 0, 0},
		{MRC_PEER_SERVICE_TIME, 40, 0, 40 * UNIT},
		{MRC_PEER_SERVICE_TIME | MRC_NO_TIMESTAMPS, 0, 40, 40 * UNIT},
		{MRC_PEER_SERVICE_TIME | MRC_NO_TIMESTAMPS, 0, 40000, 0},
		{MRC_NO_TIMESTAMPS, 0, 40, 0},
	};

	(void)state;
	for (uint32_t k = 0; k < 2 * sizeof cases / sizeof cases[0]; k++) {
		uint32_t i = k / 2;

		begin_timed(cases[i].flags);
		place_spy();
		post_packets(1);
		pull_all();
		uint16_t stamp = (uint16_t)(mrc_stamp(w.now) + cases[i].moved);
		bool has_stamp = !(cases[i].flags & MRC_NO_TIMESTAMPS);

		answer_packet(has_stamp ? stamp : cases[i].reported, k % 2);
		assert_in_range(spied.rtt_ns, 50000, 50063);
		assert_in_range(spied.held_ns + 2 * UNIT, cases[i].held, cases[i].held + 4 * UNIT);
		if (cases[i].held == 0)
			assert_true(spied.held_ns < 2 * UNIT);
	}
}

/* MRC-7.5.5.8-06: also of the answer to a probe, which a peer may take its time for. */
static void service_time_of_probes_is_left_out(void **state)
{
	static const uint8_t flags[] = {0, MRC_PEER_SERVICE_TIME,
					MRC_PEER_SERVICE_TIME | MRC_NO_TIMESTAMPS};
	const uint32_t held = 400; /* units */

	(void)state;
	for (uint32_t i = 0; i < sizeof flags; i++) {
		begin_timed(flags[i]);
		post_packets(1);
		pull_all();
		wait_for_probe();
		uint32_t sent = w.end[0].out[0].h.peth.tx_timestamp;
		int64_t before = (int64_t)q->req.srtt;

		w.now += 100000;
		SACK(.cack = 1, .from = 1, .is_probed = true, .probe_id = q->req.probe_id,
		     .stamp = flags[i] & MRC_NO_TIMESTAMPS ? held : (uint16_t)(sent + held));
		int64_t rtt = before + 8 * ((int64_t)q->req.srtt - before);

		assert_in_range(rtt, 100000 - (i > 0) * held * UNIT - 300,
				100000 - (i > 0) * held * UNIT + 300);
	}
}

/* 8.4: with timestamps each answer is a measure, of whichever copy; without, of a packet
 * retransmitted only one that says so, if there were no more copies. */
static void repeated_packets_are_timed_with_care(void **state)
{
	static const struct {
		uint8_t flags, n_retx;
		bool is_retx, is_late; /* the answer's mark; its stamp is of the last time */
		nsec rtt;
	} cases[] = {
		{0, 1, true, true, 30000},
		{0, 1, false, false, 50000},
		/* The stamp counts, also where the mark speaks of another copy. */
		{0, 1, true, false, 50000},
		{0, 1, false, true, 30000},
		{0, 2, true, true, 30000},
		{0, 2, false, false, 70000},
		{MRC_NO_TIMESTAMPS, 1, true, false, 30000},
		{MRC_NO_TIMESTAMPS, 1, false, false, 0},
		{MRC_NO_TIMESTAMPS, 2, true, false, 0},
		{MRC_NO_TIMESTAMPS, 2, false, false, 0},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		begin_timed(cases[i].flags);
		place_spy();
		post_packets(1);
		pull_all();
		uint16_t first = stamp_of(1);

		for (uint32_t k = 0; k < cases[i].n_retx; k++) {
			w.now += 20000;
			nack(1, MRC_NACK_TRIMMED);
			pull_all();
		}
		w.now += 30000;
		SACK(.cack = 1, .from = 1, .acked = 1, .is_retx = cases[i].is_retx,
		     .stamp = cases[i].is_late ? stamp_of(1) : first);
		if (cases[i].rtt > 0)
			assert_in_range(spied.rtt_ns, cases[i].rtt - UNIT, cases[i].rtt + UNIT);
		else
			assert_int_equal(spied.rtt_ns, 0);
		assert_int_equal(spied.pkts, 1);
	}
}

/* M-51: a SACK that names the packet acknowledged last may be about another, as its entropy tells:
 * then its stamp alone is the measure. */
static void answers_to_others_are_timed_by_their_stamps(void **state)
{
	(void)state;
	begin_timed(0);
	place_spy();
	post_packets(1);
	pull_all();
	w.now += 90000;
	SACK(.cack = 1, .from = 1, .acked = 1, .ev = ~ev_of(1), .stamp = mrc_stamp(w.now - 50000));
	assert_in_range(spied.rtt_ns, 50000 - UNIT, 50000 + UNIT);
	/* One that names the packet itself is believed, whatever became of its entropy. */
	begin_timed(0);
	place_spy();
	post_packets(3);
	pull_all();
	w.now += 90000;
	SACK(.cack = 1, .from = 1, .acked = 3, .ev = ~ev_of(1), .stamp = mrc_stamp(w.now - 50000));
	assert_in_range(spied.rtt_ns, 90000 - UNIT, 90000 + UNIT);
}

/* A Transport ACK measures too, unless it waited for a packet to be retransmitted. */
static void transport_acks_are_timed_with_care(void **state)
{
	(void)state;
	for (uint32_t is_repaired = 0; is_repaired < 2; is_repaired++) {
		begin_timed(0);
		place_spy();
		nsec srtt = q->req.srtt;

		post_packets(2);
		pull_all();
		w.now += 20000;
		if (is_repaired)
			nack(1, MRC_NACK_TRIMMED);
		pull_all();
		w.now += 30000;
		ack(2);
		if (is_repaired)
			assert_int_equal(q->req.srtt, srtt);
		else
			assert_in_range(8 * (q->req.srtt - srtt + srtt / 8), 50000 - 8, 50063);
		/* What it is told comes with the SACK. */
		assert_int_equal(spied.pkts, is_repaired);
	}
}

static void the_controller_is_told_all(void **state)
{
	(void)state;
	begin_sent(20);
	place_spy();
	say((struct mrc_pkt){
		.bth = {.opcode = MRC_OP_SACK},
		.seth = {.cack_psn = psn_of(2),
			 .ack_psn_offset = 4,
			 .m = MRC_MARK_SKIP,
			 .cc_type = MRC_CC_TYPE_NSCC},
		.cc = {.restore_cwnd = 1, .rcv_cwnd_pen = 77},
	});
	uint32_t one = w.end[0].out[0].len + UDP_MORE + 40;

	assert_int_equal(spied.pkts, 4);
	assert_int_equal(spied.bytes, 4 * one);
	assert_int_equal(spied.out_bytes, 16 * one);
	assert_true(spied.is_marked && spied.is_restored);
	assert_int_equal(spied.penalty, 77);
	nack(8, MRC_NACK_TRIMMED);
	assert_int_equal(spied.level, CC_LOSS_TRIM);
	assert_int_equal(spied.bytes, one);
	assert_int_equal(spied.out_bytes, 15 * one);
	nack(9, MRC_NACK_TRIMMED_LASTHOP);
	assert_int_equal(spied.level, CC_LOSS_TRIM_LAST_HOP);
	nack(10, MRC_NACK_NO_BITMAP);
	assert_int_equal(spied.level, CC_LOSS_REFUSED);
	/* 8.5: of each NACK, also one of a packet that is to be sent, or that arrived, or of a copy
	 * that was retransmitted: without bytes then. */
	spied.level = UINT8_MAX;
	nack(8, MRC_NACK_TRIMMED);
	assert_int_equal(spied.level, CC_LOSS_TRIM);
	assert_int_equal(spied.bytes, 0);
	spied.level = UINT8_MAX;
	nack(2, MRC_NACK_TRIMMED_LASTHOP);
	assert_int_equal(spied.level, CC_LOSS_TRIM_LAST_HOP);
	assert_int_equal(spied.bytes, 0);
	spied.level = UINT8_MAX;
	nack(6, MRC_NACK_TRIMMED);
	assert_int_equal(spied.level, CC_LOSS_TRIM);
	assert_int_equal(spied.bytes, 0);
	spied.level = UINT8_MAX;
	nack_copy(11, MRC_NACK_NO_BITMAP, true, 0);
	assert_int_equal(spied.level, CC_LOSS_REFUSED);
	assert_int_equal(spied.bytes, 0);
	/* A Transport ACK says nothing of how packets came through: the SACK behind it does, and
	 * has all their bytes (8.4). */
	ack(19);
	assert_int_equal(spied.level, CC_LOSS_REFUSED);
	say((struct mrc_pkt){
		.bth = {.opcode = MRC_OP_SACK},
		.seth = {.cack_psn = psn_of(19), .cc_type = MRC_CC_TYPE_NSCC},
	});
	assert_int_equal(spied.pkts, 0);
	assert_int_equal(spied.bytes, 16 * one);
	assert_int_equal(spied.out_bytes, 0);
	assert_false(spied.is_marked);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(round_trips_are_measured),
	cmocka_unit_test(service_time_is_told_to_the_controller),
	cmocka_unit_test(service_time_of_probes_is_left_out),
	cmocka_unit_test(repeated_packets_are_timed_with_care),
	cmocka_unit_test(answers_to_others_are_timed_by_their_stamps),
	cmocka_unit_test(transport_acks_are_timed_with_care),
	cmocka_unit_test(the_controller_is_told_all),
};

CHECK_MAIN(cases)
