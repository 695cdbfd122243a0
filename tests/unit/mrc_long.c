/* What shows only after a while: packets that are trimmed without end, an exchange that goes on and
 * on, answers that overtake each other, and an answer that is missed before failed work. */
#include "mrc_peer.h"

#define TIMEOUT  6u /* 65.5 us: dozens of round trips */
#define LINEAR   3u
#define EXP      4u
#define TRIES    (LINEAR + EXP)
#define ALL      (LINEAR + (UINT32_C(2) << EXP) - 1) /* base timeouts that all tries take */
#define MANY     48u                                 /* packets of a work: more than a batch */
#define TICK     1000u
#define ROUNDS   100u
#define NO_LIMIT (UINT64_C(1) << 24)

static uint64_t n_trimmed, n_whole; /* data packets of end 0, by their fate */

static void begin_long(void)
{
	begin();
	for (uint32_t i = 0; i < 2; i++) {
		struct end *s = &w.end[i];

		s->is_virtual = true;
		s->cfg.cc.window_bytes = NO_LIMIT;
		s->qp[0].attr.timeout = TIMEOUT;
		s->qp[0].attr.linear_retries = LINEAR;
		s->qp[0].attr.exp_retries = EXP;
	}
	w.is_held[1] = false;
	n_trimmed = n_whole = 0;
}

static void trim_all(uint32_t from, const struct end_pkt *p, struct fate *fate)
{
	if (from == 0 && is_data(p->h.bth.opcode)) {
		fate->trimmed = NET_TRIMMED;
		n_trimmed++;
	}
}

static void trim_first(uint32_t from, const struct end_pkt *p, struct fate *fate)
{
	if (from != 0 || !is_data(p->h.bth.opcode))
		return;
	if (p->h.bth.psn == psn_of(0)) {
		fate->trimmed = NET_TRIMMED;
		n_trimmed++;
	} else {
		n_whole++;
	}
}

/* 7.4.2: that the peer asks for packets again and again is no progress. There are always others
 * that it asks for while one is on its way, and the end comes all the same: when as many timeouts
 * would have passed as there are tries, and not much later. */
static void what_is_trimmed_without_end_is_given_up(void **state)
{
	(void)state;
	begin_long();
	connect();
	post_packets(MANY);
	post_packets(1);
	w.script = trim_all;
	w.is_held[0] = true;
	nsec from = w.now;

	while (end_state(&w.end[0], 0) == MRC_RTS) {
		assert_true(w.now < from + (ALL + 2) * TIMEOUT_NS(TIMEOUT));
		run_until(w.now + TICK);
		send_some(0, wide, END_BATCH);
		check_records(0);
	}
	assert_true(w.now >= from + ALL * TIMEOUT_NS(TIMEOUT));
	expect_end(1, ENGINE_RETRY_EXCEEDED);
	expect_end(2, ENGINE_FLUSHED);
	expect_nothing(0);
	/* All of them were retransmitted all the while, and it was no silence. */
	assert_int_equal(w.n_new[0], MANY + 1);
	assert_true(n_trimmed > 10 * (MANY + 1));
	assert_int_equal(COUNT(timeouts), 0);
	assert_int_equal(COUNT(failed), 1);
	w.is_held[0] = false;
	run();
	check_idle(&w.end[0]);
	check_ends();
}

/* The same for one packet, while others behind it arrive: the first that is out counts (M-59), and
 * that it is trimmed costs it one try in the time of a timeout. */
static void progress_elsewhere_does_not_keep_it_alive(void **state)
{
	(void)state;
	begin_long();
	w.end[1].qp[0].attr.mpr = w.end[1].qp[0].caps.max_mpr = 16;
	connect();
	w.script = trim_first;
	w.is_held[0] = true;
	post_packets(1500);
	nsec from = w.now;

	while (end_state(&w.end[0], 0) == MRC_RTS) {
		assert_true(w.now < from + (ALL + 3) * TIMEOUT_NS(TIMEOUT));
		run_until(w.now + TICK);
		send_some(0, wide, 2);
		check_records(0);
	}
	assert_true(w.now >= from + ALL * TIMEOUT_NS(TIMEOUT));
	assert_true(n_trimmed > 10 * TRIES);
	assert_in_range(n_whole, 100, 1499);
	expect_end(1, ENGINE_RETRY_EXCEEDED);
	expect_nothing(0);
	assert_int_equal(COUNT(timeouts), 0);
}

/* How often end `from` used each EV for data, or for answers: evenly. EVs of data are drawn anew
 * each round, and one that would come twice in a row loses a turn. */
static void expect_all_evs(uint32_t from, bool is_of_data)
{
	uint32_t n[END_EVS] = {0}, total = 0;

	for (uint32_t i = 0; i < w.n_log; i++) {
		if (w.log[i].from != from || is_data(w.log[i].h.bth.opcode) != is_of_data)
			continue;
		n[w.log[i].ev - w.end[from].evs[0].value]++;
		total++;
	}
	assert_true(total >= ROUNDS && w.n_log < SIGHTINGS);
	for (uint32_t i = 0; i < END_EVS; i++)
		assert_in_range(n[i], total / END_EVS - (is_of_data ? 2 : 0),
				total / END_EVS + (is_of_data ? 3 : 1));
}

/* Each answers a message with one of its own: two packets and as many answers, time after time.
 * Data takes all EVs, and so do answers. */
static void ping_pong_takes_all_evs(void **state)
{
	(void)state;
	begin_long();
	connect();
	for (uint32_t i = 0; i < ROUNDS; i++)
		for (uint8_t side = 0; side < 2; side++) {
			struct work k = {.cookie = i,
					 .len = 2 * PMTU,
					 .side = side,
					 .code = ENGINE_WRITE_IMM,
					 .imm = i};

			post_recv(1u - side, 0, i);
			post(k);
			run();
			expect_sent(&k, ENGINE_OK);
			expect_received(&k, i);
		}
	for (uint32_t side = 0; side < 2; side++) {
		assert_int_equal(w.n_new[side], 2 * ROUNDS);
		assert_int_equal(w.n_retx[side], 0);
		expect_all_evs(side, true);
		expect_all_evs(side, false);
	}
	check_ends();
}

/* 7.5.4: the range that a SACK tells counts, though the Transport ACK was faster, and its packets
 * are known to have arrived. One that an answer of its own kind overtook tells nothing new. */
static void the_range_is_learnt_behind_a_transport_ack(void **state)
{
	(void)state;
	begin_by_hand(0);
	q->attr.flags |= MRC_DYNAMIC_MPR;
	post_packets(4);
	assert_int_equal(pull_all(), 4);
	ack(4);
	assert_int_equal(q->req.sent.una, 5);
	SACK(.cack = 4, .from = 4, .acked = 4, .mpr = 2);
	assert_int_equal(q->attr.mpr_dest, 2);
	assert_int_equal(q->req.range, 2 * MRC_MPR_UNIT);
	post_packets(300);
	assert_int_equal(pull_all(), 2 * MRC_MPR_UNIT);
	/* Time after time. */
	ack(99);
	SACK(.cack = 89, .from = 89, .acked = 89, .mpr = 3);
	assert_int_equal(q->req.range, 3 * MRC_MPR_UNIT);
	SACK(.cack = 79, .from = 79, .acked = 79, .mpr = 4);
	SACK(.cack = 89, .from = 89, .acked = 89, .mpr = 4);
	assert_int_equal(q->req.range, 3 * MRC_MPR_UNIT);
	assert_int_equal(q->attr.mpr_dest, 3);
	SACK(.cack = 99, .from = 99, .acked = 99, .mpr = 1);
	assert_int_equal(q->req.range, MRC_MPR_UNIT);
	expect_no_event(&w.end[0]);
}

/* A work of two packets, whose second cannot be read. */
static void post_half(void)
{
	struct sge sg[2] = {area_piece(&w.end[0], SOURCE, 0, PMTU),
			    area_piece(&w.end[0], SOURCE, 0, PMTU)};
	struct op op = {
		.code = ENGINE_WRITE, .qp = OURS, .sg = sg, .n_sg = 2, .cookie = next_cookie()};

	sg[1].lkey += 17;
	assert_int_equal(mrc_ops.post(w.end[0].e, w.now, &op), 0);
}

/* All that went arrived, and the Transport ACK is lost. The last packet is of work that failed here
 * and goes no more: the oldest asks in its place, well before the timeout. */
static void a_transport_ack_is_asked_for_before_failed_work(void **state)
{
	(void)state;
	begin_long();
	w.end[0].qp[0].attr.timeout = 14;
	w.is_held[1] = true;
	connect();
	post_packets(1);
	post_packets(1);
	post_half();
	assert_int_equal(pull_all(), 3);
	nsec sent = w.now;

	w.now += 10000;
	sack_all(2);
	assert_int_equal(q->req.sent.una, q->req.sent.next);
	expect_nothing(0);
	/* Twice, for an answer may be lost again. */
	for (uint32_t i = 0; i < 2; i++) {
		do {
			assert_true(w.now < sent + TIMEOUT_NS(14));
			w.now = mrc_ops.deadline(w.end[0].e, ALL_FREE);
		} while (pull() == 0);
		assert_int_equal(w.end[0].n_out, 1);
		const struct mrc_bth *bth = &w.end[0].out[0].h.bth;

		assert_int_equal(bth->psn, psn_of(0));
		assert_int_equal(bth->rtx, 1);
		assert_int_equal(bth->ack_req, 1);
	}
	ack(1);
	expect_end(1, ENGINE_OK);
	expect_end(2, ENGINE_OK);
	expect_end(3, ENGINE_LOCAL_PROTECTION);
	expect_nothing(0);
	assert_int_equal(COUNT(timeouts), 0);
	check_idle(&w.end[0]);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(what_is_trimmed_without_end_is_given_up),
	cmocka_unit_test(progress_elsewhere_does_not_keep_it_alive),
	cmocka_unit_test(ping_pong_takes_all_evs),
	cmocka_unit_test(the_range_is_learnt_behind_a_transport_ack),
	cmocka_unit_test(a_transport_ack_is_asked_for_before_failed_work),
};

CHECK_MAIN(cases)
