/* What a requestor makes of its peer's answers: SACKs, NACKs and Transport ACKs, right ones and
 * others, all made by hand. */
#include "mrc_peer.h"

#define TIMEOUT 10u
#define UNIT    128u /* ns of a timestamp */

/* With few tries, and no bytes. */
static void begin_here(void)
{
	begin();
	w.end[0].qp[0].caps.max_send = 512;
	w.end[0].qp[0].caps.max_send_sge = 1;
	w.end[0].qp[0].attr.timeout = TIMEOUT;
	w.end[0].qp[0].attr.linear_retries = 1;
	w.end[0].qp[0].attr.exp_retries = 2;
	w.end[0].is_virtual = w.end[1].is_virtual = true;
}

/* n works of one packet each are out. */
static void begin_sent(uint32_t n)
{
	begin_here();
	connect();
	for (uint32_t i = 0; i < n; i++)
		post_packets(1);
	assert_int_equal(pull_all(), n);
}

/* The packet that goes next, alone, goes again. */
static void expect_again(int64_t count)
{
	assert_int_equal(pull(), 1);
	const struct mrc_bth *bth = &w.end[0].out[0].h.bth;

	assert_int_equal(bth->opcode, MRC_OP_WRITE_ONLY);
	assert_int_equal(bth->psn, psn_of(count));
	assert_int_equal(bth->rtx, 1);
}

/* What the peer refused waits; no longer. */
static void pass_pause(void)
{
	if (w.now < q->req.pause_until)
		w.now = q->req.pause_until;
}

/* MRC-7.2.1-02: a SACK says that packets arrived, the Transport ACK that they were executed. */
static void works_end_with_the_transport_ack_alone(void **state)
{
	(void)state;
	begin_sent(5);
	sack_all(2);
	assert_int_equal(q->req.una, 3);
	expect_nothing(0);
	ack(1);
	expect_end(1, ENGINE_OK);
	expect_end(2, ENGINE_OK);
	expect_nothing(0);
	/* And it says that they arrived (MRC-7.2.1-03). */
	ack(4);
	assert_int_equal(q->req.una, 5);
	for (uint64_t i = 3; i <= 5; i++)
		expect_end(i, ENGINE_OK);
	check_idle(&w.end[0]);
	assert_int_equal(COUNT(rx_sack), 1);
	assert_int_equal(COUNT(rx_ack), 2);
}

static void a_work_of_many_packets_ends_with_its_last(void **state)
{
	(void)state;
	begin_here();
	connect();
	post_packets(4);
	post_packets(1);
	pull_all();
	ack(2);
	expect_nothing(0);
	ack(3);
	struct done done;

	assert_true(end_poll(&w.end[0], &done));
	assert_int_equal(done.len, 4 * PMTU);
	expect_nothing(0);
}

static void maps_and_the_packet_that_caused_count(void **state)
{
	(void)state;
	begin_sent(200);
	SACK(.cack = 9, .from = 9, .map = 1 | UINT64_C(0xf0) | UINT64_C(1) << 63, .acked = 150);
	assert_int_equal(q->req.una, 10);
	assert_int_equal(q->req.n_early, 6);
	/* What is missing arrives: una passes what was known. */
	SACK(.cack = 11, .from = 12, .map = 1, .acked = 11);
	assert_int_equal(q->req.una, 17);
	assert_int_equal(q->req.n_early, 2);
	/* A map of any base, also one that is no multiple of anything (M-18). */
	SACK(.cack = 16, .from = 101, .map = UINT64_MAX >> 1, .acked = 163);
	assert_int_equal(q->req.n_early, 64);
	SACK(.cack = 16, .from = 20, .map = UINT64_MAX, .acked = 83);
	assert_int_equal(q->req.n_early, 127);
	SACK(.cack = 199, .from = 199, .acked = 199, .map = 1);
	assert_int_equal(q->req.una, 200);
	assert_int_equal(q->req.out_bytes, 0);
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
	assert_int_equal(q->req.una, 101);
	assert_int_equal(q->req.n_early, 2);
	/* All before una: nothing new, nothing wrong. */
	SACK(.cack = -1, .from = -1, .acked = 0, .map = 0xff);
	SACK(.cack = 10, .from = -60, .acked = 3, .map = UINT64_MAX);
	assert_int_equal(q->req.n_early, 2);
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
	assert_true(mrc_flight_of(engine_of(0), q, 0)->lost & 1);
}

/* Older than offsets reach. */
static void ancient_answers_are_stale(void **state)
{
	(void)state;
	begin_sent(40);
	uint64_t una = 40;

	ack(39);
	for (struct done done; end_poll(&w.end[0], &done);)
		continue;
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

/* Table 7-3: all but one want the packet again. */
static void nacks_ask_for_packets(void **state)
{
	static const uint8_t reasons[] = {
		MRC_NACK_TRIMMED,       MRC_NACK_TRIMMED_LASTHOP, MRC_NACK_NO_BITMAP,
		MRC_NACK_NO_PKT_BUFFER, MRC_NACK_NO_RESOURCE,     MRC_NACK_PSN_OOR_WINDOW,
	};

	(void)state;
	begin_sent(10);
	for (uint32_t i = 0; i < sizeof reasons; i++) {
		nack(i + 1, reasons[i]);
		assert_int_equal(COUNT(lost_nack), i + 1);
		/* One that is to be sent is not counted twice. */
		nack(i + 1, reasons[i]);
		assert_int_equal(COUNT(lost_nack), i + 1);
		pass_pause();
		expect_again(i + 1);
	}
	assert_int_equal(COUNT(rx_nack), 2 * sizeof reasons);
	/* What arrived is not wanted. */
	SACK(.cack = -1, .from = 7, .acked = 7);
	nack(7, MRC_NACK_TRIMMED);
	assert_int_equal(pull_all(), 0);
	assert_int_equal(COUNT(rx_nack), 2 * sizeof reasons + 1);
	/* Never sent, or settled. */
	nack(10, MRC_NACK_TRIMMED);
	ack(2);
	nack(2, MRC_NACK_UNEXP_EVENT);
	nack(-1, MRC_NACK_UNEXP_EVENT);
	assert_int_equal(COUNT(drop_stale), 3);
	assert_int_equal(end_state(&w.end[0], 0), MRC_RTS);
}

/* The first packet that is out stands for all: one NACK too many for it, and nothing else comes,
 * ends the queue pair. Others may be refused as often as they like. */
static void expect_end_by_nacks(uint8_t reason)
{
	begin_sent(3);
	ack(0);
	expect_end(1, ENGINE_OK);
	for (uint32_t i = 0; i < 4; i++) {
		nack(2, reason);
		pass_pause();
		expect_again(2);
	}
	/* Sent before the answer about packet 0 came, so that this one is no try. */
	nack(1, reason);
	pass_pause();
	expect_again(1);
	for (uint32_t i = 1; i < 3; i++) {
		nack(1, reason);
		pass_pause();
		expect_again(1);
	}
	nack(1, reason);
	expect_end(2, ENGINE_RETRY_EXCEEDED);
	expect_end(3, ENGINE_FLUSHED);
	expect_nothing(0);
	assert_int_equal(end_state(&w.end[0], 0), MRC_ERROR);
	assert_int_equal(COUNT(failed), 1);
	check_idle(&w.end[0]);
}

static void nacks_have_an_end(void **state)
{
	static const uint8_t reasons[] = {MRC_NACK_NO_BITMAP, MRC_NACK_NO_PKT_BUFFER,
					  MRC_NACK_NO_RESOURCE, MRC_NACK_PSN_OOR_WINDOW};

	(void)state;
	for (uint32_t i = 0; i < sizeof reasons; i++)
		expect_end_by_nacks(reasons[i]);
	/* Without end. */
	begin_here();
	w.end[0].qp[0].attr.exp_retries = MRC_EXP_MAX;
	connect();
	post_packets(1);
	pull_all();
	for (uint32_t i = 0; i < 300; i++) {
		nack(0, MRC_NACK_NO_BITMAP);
		expect_again(0);
	}
	ack(0);
	expect_end(1, ENGINE_OK);
}

static void an_unexpected_event_ends_the_queue_pair(void **state)
{
	(void)state;
	begin_sent(4);
	ack(0);
	nack(2, MRC_NACK_UNEXP_EVENT);
	expect_end(1, ENGINE_OK);
	expect_end(2, ENGINE_FLUSHED);
	expect_end(3, ENGINE_REMOTE_OPERATION);
	expect_end(4, ENGINE_FLUSHED);
	expect_nothing(0);
	assert_int_equal(end_state(&w.end[0], 0), MRC_ERROR);
	assert_int_equal(COUNT(rx_nack), 1);
}

static void odd_acks_are_harmless(void **state)
{
	(void)state;
	begin_sent(10);
	/* Nothing yet. */
	ack(-1);
	/* Never sent. */
	ack(10);
	ack(1 << 22);
	assert_int_equal(COUNT(drop_stale), 2);
	assert_int_equal(q->req.una, 0);
	ack(5);
	/* Back, and again. */
	ack(3);
	ack(5);
	ack(-1);
	assert_int_equal(q->req.heard, 6);
	assert_int_equal(COUNT(rx_ack), 5);
	ack(-2);
	assert_int_equal(COUNT(drop_stale), 3);
	/* Neither ACK nor NAK of MRC. */
	aeth(7, AETH_RNR_NAK, 3);
	aeth(7, AETH_RESERVED, 3);
	aeth(7, AETH_NAK, AETH_NAK_SEQUENCE);
	aeth(7, AETH_NAK, AETH_NAK_INVALID_RD);
	aeth(7, AETH_NAK, 31);
	assert_int_equal(COUNT(drop_malformed), 5);
	assert_int_equal(q->req.una, 6);
	assert_int_equal(end_state(&w.end[0], 0), MRC_RTS);
}

/* M-40: a NAK names the packet; nothing before it is thereby done. */
static void naks_end_the_queue_pair(void **state)
{
	static const uint8_t codes[][2] = {
		{AETH_NAK_INVALID_REQUEST, ENGINE_REMOTE_INVALID},
		{AETH_NAK_REMOTE_ACCESS, ENGINE_REMOTE_ACCESS},
		{AETH_NAK_REMOTE_OPERATION, ENGINE_REMOTE_OPERATION},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		begin_sent(5);
		ack(0);
		SACK(.cack = 1, .from = 2, .map = 2, .acked = 1);
		aeth(0, AETH_NAK, codes[i][0]);
		aeth(5, AETH_NAK, codes[i][0]);
		assert_int_equal(COUNT(drop_stale), 2);
		/* Received long ago, and refused all the same. */
		aeth(3 - (int64_t)i, AETH_NAK, codes[i][0]);
		assert_int_equal(COUNT(rx_nak), 1);
		expect_end(1, ENGINE_OK);
		for (uint64_t k = 2; k <= 5; k++)
			expect_end(k, k == 4 - i ? codes[i][1] : ENGINE_FLUSHED);
		expect_nothing(0);
		assert_int_equal(COUNT(failed), 1);
		check_idle(&w.end[0]);
	}
}

/* A first round trip of 40 us, so that probes are 120 us after what was heard last at most. */
static void begin_timed(uint8_t flags)
{
	begin_here();
	w.end[0].qp[0].attr.flags = flags;
	connect();
	post_packets(1);
	pull_all();
	uint16_t stamp = mrc_stamp(w.now);

	w.now += 40000;
	SACK(.cack = 0, .from = 0, .acked = 0, .stamp = flags & MRC_NO_TIMESTAMPS ? 0 : stamp);
	ack(0);
	assert_in_range(q->req.srtt, 40000, 40063);
	expect_end(1, ENGINE_OK);
}

/* While the peer has no room only una goes, which needs none; the rest waits, ever longer. */
static void a_peer_without_room_is_given_time(void **state)
{
	static const uint8_t reasons[] = {MRC_NACK_NO_BITMAP, MRC_NACK_NO_PKT_BUFFER,
					  MRC_NACK_NO_RESOURCE, MRC_NACK_PSN_OOR_WINDOW};

	(void)state;
	for (uint32_t i = 0; i < sizeof reasons; i++) {
		begin_timed(0);
		for (uint32_t k = 0; k < 4; k++)
			post_packets(1);
		pull_all();
		nack(3, reasons[i]);
		for (uint32_t k = 1; k < 3; k++) {
			nsec until = w.now + (q->req.srtt << k);

			post_packets(1);
			assert_int_equal(pull_all(), 0);
			w.now = until - WIDTH;
			assert_int_equal(pull_all(), 0);
			w.now = until;
			assert_int_equal(pull_all(), 2);
			nack(3, reasons[i]);
		}
		nsec until = q->req.pause_until;

		nack(1, reasons[i]);
		assert_int_equal(q->req.pause_until, until);
		expect_again(1);
		/* What is new would need room too, and might push out the first that is missing. */
		begin_timed(0);
		post_packets(1);
		pull_all();
		nack(1, reasons[i]);
		post_packets(1);
		expect_again(1);
		pass_pause();
		assert_int_equal(pull_all(), 0);
		ack(1);
		assert_int_equal(pull_all(), 1);
	}
	/* A switch that trims is another matter. */
	begin_timed(0);
	for (uint32_t k = 0; k < 3; k++)
		post_packets(1);
	pull_all();
	nack(3, MRC_NACK_TRIMMED);
	assert_int_equal(pull_all(), 1);
}

static void wait_for_probe(void)
{
	for (uint32_t i = 0; pull() == 0; i++) {
		assert_true(i < 10000);
		w.now += 1000;
	}
	assert_int_equal(w.end[0].n_out, 1);
	assert_int_equal(w.end[0].out[0].h.bth.opcode, MRC_OP_PROBE_REQUEST);
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
	assert_int_equal(q->req.una, 1);
	/* It does not matter that the id, taken for an offset, makes no sense. */
	SACK(.cack = 1, .from = 1, .is_probed = true, .probe_id = id);
	assert_int_equal(q->req.una, 2);
	assert_int_equal(COUNT(lost_probe), 2);
	SACK(.cack = 1, .from = 1, .is_probed = true, .probe_id = id);
	assert_int_equal(COUNT(drop_unasked), 3);
	assert_int_equal(COUNT(rx_sack), 2);
	assert_int_equal(pull_all(), 2);
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
	assert_int_equal(q->req.n_lost, 2);
	/* That they go again begins silence anew (M-23). */
	assert_int_equal(q->req.due, w.now + TIMEOUT_NS(TIMEOUT));
}

/* A peer that answers probes, but has the packet never: tries of the packet end, then silence
 * counts. */
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
	/* Three by probes, three by timeouts. */
	assert_int_equal(COUNT(tx_again), 6);
	assert_int_equal(COUNT(lost_probe), 3);
	assert_int_equal(COUNT(lost_timeout), 3);
}

/* One packet goes, and is answered after rtt with a stamp that is later by `moved`, or with `told`
 * where we send none. Returns what the round trip is taken for: the weight of a sample is 1/8. */
struct trip {
	uint8_t flags;
	nsec rtt;
	uint32_t moved, told;
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
	     .stamp = t.flags & MRC_NO_TIMESTAMPS ? t.told : stamp);
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
		uint16_t moved, told;
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

		answer_packet(has_stamp ? stamp : cases[i].told, k % 2);
		assert_in_range(spied.rtt_ns, 50000, 50063);
		assert_in_range(spied.held_ns + 2 * UNIT, cases[i].held, cases[i].held + 4 * UNIT);
		if (cases[i].held == 0)
			assert_true(spied.held_ns < 2 * UNIT);
	}
}

/* 8.4: a round trip of a packet that was sent twice counts only if it is known of which time. */
static void repeated_packets_are_timed_with_care(void **state)
{
	static const struct {
		uint8_t flags;
		bool is_again, is_late; /* the answer's mark; its stamp is of the second time */
		bool counts;
	} cases[] = {
		{0, true, true, true},
		{0, true, false, false},
		{0, false, true, false},
		{0, false, false, false},
		{MRC_NO_TIMESTAMPS, true, true, false},
		{MRC_NO_TIMESTAMPS, false, false, false},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		begin_timed(cases[i].flags);
		place_spy();
		post_packets(1);
		pull_all();
		uint16_t first = mrc_stamp(w.now), second;

		w.now += 20000;
		nack(1, MRC_NACK_TRIMMED);
		pull_all();
		second = mrc_stamp(w.now);
		w.now += 30000;
		SACK(.cack = 1, .from = 1, .acked = 1, .is_again = cases[i].is_again,
		     .stamp = cases[i].is_late ? second : first);
		if (cases[i].counts)
			assert_in_range(spied.rtt_ns, 30000, 30063);
		else
			assert_int_equal(spied.rtt_ns, 0);
		assert_int_equal(spied.pkts, 1);
	}
}

/* A Transport ACK measures too, unless it waited for a packet to be sent again. */
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
	cmocka_unit_test(works_end_with_the_transport_ack_alone),
	cmocka_unit_test(a_work_of_many_packets_ends_with_its_last),
	cmocka_unit_test(maps_and_the_packet_that_caused_count),
	cmocka_unit_test(senseless_sacks_change_nothing),
	cmocka_unit_test(old_sacks_count_for_their_bits),
	cmocka_unit_test(the_first_map_says_nothing_of_what_is_behind_it),
	cmocka_unit_test(ancient_answers_are_stale),
	cmocka_unit_test(nacks_ask_for_packets),
	cmocka_unit_test(nacks_have_an_end),
	cmocka_unit_test(an_unexpected_event_ends_the_queue_pair),
	cmocka_unit_test(odd_acks_are_harmless),
	cmocka_unit_test(naks_end_the_queue_pair),
	cmocka_unit_test(a_peer_without_room_is_given_time),
	cmocka_unit_test(answers_to_probes_are_matched),
	cmocka_unit_test(a_probe_judges_what_was_sent_well_before_it),
	cmocka_unit_test(probes_do_not_go_on_for_ever),
	cmocka_unit_test(round_trips_are_measured),
	cmocka_unit_test(service_time_is_told_to_the_controller),
	cmocka_unit_test(repeated_packets_are_timed_with_care),
	cmocka_unit_test(transport_acks_are_timed_with_care),
	cmocka_unit_test(the_controller_is_told_all),
};

CHECK_MAIN(cases)
