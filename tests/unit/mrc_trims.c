/* Trim NACKs as tries (Table 7-3): to the letter with MRC_COUNT_TRIMS; without it only those that
 * come while nothing else arrives, one in the time of a timeout. And what else they tell. The peer
 * is made by hand. */
#include "mrc_evs.h"

#define RETRIES 3u
#define PACKETS 12u
#define VICTIM  9u /* packet and work, from 0; not the first that is out */

static const uint8_t reasons[] = {MRC_NACK_TRIMMED, MRC_NACK_TRIMMED_LASTHOP};

/* All packets are out, each a work. */
static void begin_out(uint8_t flags, uint8_t exponential)
{
	begin();
	w.end[0].qp[0].caps.max_send = 64;
	w.end[0].qp[0].caps.max_send_sge = 1;
	w.end[0].qp[0].attr.timeout = 14;
	w.end[0].qp[0].attr.linear_retries = 1;
	w.end[0].qp[0].attr.exp_retries = exponential;
	w.end[0].qp[0].attr.flags = flags;
	w.end[0].is_virtual = w.end[1].is_virtual = true;
	connect();
	for (uint32_t i = 0; i < PACKETS; i++)
		post_packets(1);
	assert_int_equal(pull_all(), PACKETS);
}

/* The packet was trimmed, and is retransmitted at once. */
static void trim(int64_t count, uint8_t reason)
{
	nack(count, reason);
	assert_int_equal(pull(), 1);
	assert_int_equal(w.end[0].out[0].h.bth.psn, psn_of(count));
	assert_int_equal(w.end[0].out[0].h.bth.rtx, 1);
}

/* One too many for a packet, and its work fails; those around it are flushed. */
static void expect_failed(uint32_t from, uint32_t victim)
{
	for (uint32_t i = from; i < PACKETS; i++)
		expect_end(i + 1, i == victim ? ENGINE_RETRY_EXCEEDED : ENGINE_FLUSHED);
	expect_nothing(0);
	assert_int_equal(end_state(&w.end[0], 0), MRC_ERROR);
	assert_int_equal(COUNT(failed), 1);
	check_idle(&w.end[0]);
}

/* MRC-7.4.4-08, -09: each is a try of its packet, whichever that is and whatever else arrives, but
 * the first that is out: then all count anew (M-59). */
static void each_is_a_try_where_they_are_counted(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof reasons; i++) {
		begin_out(MRC_COUNT_TRIMS, RETRIES - 1);
		trim(VICTIM, reasons[i]);
		ack(0);
		expect_end(1, ENGINE_OK);
		for (uint32_t k = 0; k < RETRIES; k++) {
			trim(VICTIM, reasons[i]);
			SACK(.cack = 0, .from = k + 2, .acked = k + 2);
			/* The others have a count of their own; one is told once. */
			trim(VICTIM - 1, reasons[i]);
			nack(VICTIM - 2, reasons[i]);
			nack(VICTIM - 2, reasons[i]);
			assert_int_equal(pull_all(), 1);
		}
		assert_int_equal(COUNT(lost_nack), 3 * RETRIES + 1);
		assert_int_equal(end_state(&w.end[0], 0), MRC_RTS);
		nack(VICTIM, reasons[i]);
		expect_failed(1, VICTIM);
		/* The first that is out is no exception. */
		begin_out(MRC_COUNT_TRIMS, RETRIES - 1);
		for (uint32_t k = 0; k < RETRIES; k++)
			trim(0, reasons[i]);
		nack(0, reasons[i]);
		expect_failed(0, 0);
	}
}

/* Both kinds are one counter, that of Table 7-1. */
static void tries_of_both_kinds_add_up(void **state)
{
	(void)state;
	for (uint8_t exponential = 0; exponential < 20; exponential++) {
		begin_out(MRC_COUNT_TRIMS, exponential);
		for (uint32_t k = 0; k < 1u + exponential; k++)
			trim(VICTIM, reasons[k % 2]);
		nack(VICTIM, MRC_NACK_TRIMMED);
		expect_failed(0, VICTIM);
	}
}

static void what_arrives_in_time_is_no_failure(void **state)
{
	(void)state;
	begin_out(MRC_COUNT_TRIMS, RETRIES - 1);
	for (uint32_t k = 0; k < RETRIES; k++)
		trim(VICTIM, MRC_NACK_TRIMMED);
	SACK(.cack = -1, .from = VICTIM, .acked = VICTIM);
	nack(VICTIM, MRC_NACK_TRIMMED);
	assert_int_equal(end_state(&w.end[0], 0), MRC_RTS);
	ack(PACKETS - 1);
	for (uint32_t i = 0; i < PACKETS; i++)
		expect_end(i + 1, ENGINE_OK);
}

/* Retries without end are so for those who count, too. */
static void there_may_be_no_end(void **state)
{
	(void)state;
	begin_out(MRC_COUNT_TRIMS, MRC_EXP_MAX);
	for (uint32_t k = 0; k < 300; k++)
		trim(VICTIM, reasons[k % 2]);
	ack(PACKETS - 1);
	for (uint32_t i = 0; i < PACKETS; i++)
		expect_end(i + 1, ENGINE_OK);
}

/* By default a packet may be trimmed as often as it likes while others arrive, and other NACKs are
 * what they were. The flag may change at any time. */
static void by_default_congestion_is_no_reason(void **state)
{
	struct mrc_attr attr = {0};

	(void)state;
	for (uint32_t i = 0; i < sizeof reasons; i++) {
		begin_out(0, RETRIES - 1);
		for (uint32_t k = 0; k < 100; k++) {
			trim(VICTIM, reasons[i]);
			trim(0, reasons[i]);
		}
		assert_int_equal(end_state(&w.end[0], 0), MRC_RTS);
		attr.flags = q->attr.flags | MRC_COUNT_TRIMS;
		assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, OURS, &attr, MRC_SET_FLAGS), 0);
		for (uint32_t k = 0; k < RETRIES; k++)
			trim(VICTIM, reasons[i]);
		nack(VICTIM, reasons[i]);
		expect_failed(0, VICTIM);
	}
}

/* The first trim of a packet begins the time of its first try, and costs none, however often others
 * were the oldest before it. */
static void a_first_trim_costs_nothing(void **state)
{
	(void)state;
	for (uint32_t n_before = 0; n_before < 520; n_before += 4) {
		begin();
		w.end[0].qp[0].caps.max_send = 1024;
		w.end[0].qp[0].caps.max_send_sge = 1;
		w.end[0].qp[0].attr.timeout = 14;
		w.end[0].qp[0].attr.linear_retries = w.end[0].qp[0].attr.exp_retries = 0;
		w.end[0].is_virtual = w.end[1].is_virtual = true;
		connect();
		for (uint32_t i = 0; i <= n_before + 1; i++)
			post_packets(1);
		pull_all();
		trim(0, MRC_NACK_TRIMMED);
		w.now += 1000;
		for (uint32_t i = 0; i < n_before; i++)
			sack_all(i);
		w.now += TIMEOUT_NS(14) / 2;
		trim(n_before, MRC_NACK_TRIMMED);
		assert_int_equal(end_state(&w.end[0], 0), MRC_RTS);
	}
}

/* Of 30 packets one is cut by the last switch, and one is missing. */
static void lose_among_trims(bool is_trimmed)
{
	int64_t first = (int64_t)q->req.sent.next;

	send_each(30);
	w.now += 10000;
	if (is_trimmed)
		nack(first + 20, MRC_NACK_TRIMMED_LASTHOP);
	SACK(.cack = first + 1, .from = first + 3, .acked = first + 29,
	     .map = ((1u << 27) - 1) ^ (is_trimmed ? 1u << 17 : 0));
	gather();
	w.now += RTT;
	sack_all(first + 29);
	ack_and_poll(first + 29);
}

/* Where switches cut packets, they may drop some too: that is congestion, as with the trims, and
 * not the fault of an EV. At any other time it is. */
static void a_loss_among_trims_takes_nothing_out(void **state)
{
	(void)state;
	begin_evs(1);
	warm();
	lose_among_trims(true);
	assert_int_equal(COUNT(lost_gap), 1);
	assert_int_equal(COUNT(lost_nack), 1);
	assert_int_equal(fare().evs[PATH_ASSUMED_BAD], 0);
	w.now += 5 * RTT;
	lose_among_trims(false);
	assert_int_equal(COUNT(lost_gap), 2);
	assert_int_equal(fare().evs[PATH_ASSUMED_BAD], 1);
}

/* All of a first window may be cut: a trim is a round trip until a SACK brings a better one, so
 * that a probe asks what became of the others. A refusal is not: the peer may have taken its time.
 */
static void a_trim_is_a_round_trip(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		begin_out(0, 0);
		w.now += RTT;
		nack(0, i == 0 ? MRC_NACK_TRIMMED_LASTHOP : MRC_NACK_NO_RESOURCE);
		assert_in_range(q->req.srtt, i == 0 ? RTT - 64 : 0, i == 0 ? RTT + 64 : 0);
		pull_all();
		w.now += 8 * RTT;
		pull_all();
		assert_int_equal(COUNT(tx_probe), i == 0);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(each_is_a_try_where_they_are_counted),
	cmocka_unit_test(tries_of_both_kinds_add_up),
	cmocka_unit_test(what_arrives_in_time_is_no_failure),
	cmocka_unit_test(there_may_be_no_end),
	cmocka_unit_test(by_default_congestion_is_no_reason),
	cmocka_unit_test(a_first_trim_costs_nothing),
	cmocka_unit_test(a_loss_among_trims_takes_nothing_out),
	cmocka_unit_test(a_trim_is_a_round_trip),
};
CHECK_MAIN(cases)
