/* Room for packets out, when it is short: whoever starves for a chunk gets one in the end, whatever
 * becomes of those who were offered it first. */
#include "mrc_peer.h"

#define TIMEOUT 10u
#define PAIRS   3u

/* One chunk for three queue pairs, all of whose packets leave by port 0. */
static void begin_short(void)
{
	static const struct path_ev ev = {0xaaaa0000, 0};
	static struct evs set;

	begin();
	w.end[0].n_qps = w.end[1].n_qps = PAIRS;
	w.end[0].cfg.max_out_pkts = ENGINE_SENT_PKTS;
	w.end[0].cfg.n_ports = 2;
	w.end[0].is_virtual = w.end[1].is_virtual = true;
	evs_make(&set, &ev, 1);
	for (uint32_t i = 0; i < PAIRS; i++) {
		w.end[0].qp[i].attr.timeout = TIMEOUT;
		w.end[0].qp[i].attr.evs = &set.profile;
	}
	connect();
}

static void post_on(uint32_t qp, uint32_t n_pkts)
{
	post((struct work){.qp = qp, .cookie = qp + 1, .len = n_pkts * PMTU, .code = ENGINE_WRITE});
}

static void expect_starved(bool second, bool third)
{
	assert_int_equal(list_is_linked(&pair_of(0, 1)->starved_link), second);
	assert_int_equal(list_is_linked(&pair_of(0, 2)->starved_link), third);
}

/* n packets of queue pair 2 go now, without a clock to help. */
static void expect_third(uint32_t n)
{
	static const uint16_t only_0[ENGINE_PORTS] = {END_BATCH};

	assert_int_equal(end_pull(&w.end[0], w.now, only_0, END_BATCH), n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(w.end[0].out[i].h.bth.dest_qp, w.end[1].qp[2].number);
	check_records(0);
}

static void reset_second(void)
{
	struct mrc_attr attr = {.state = MRC_RESET};
	uint32_t number = w.end[0].qp[1].number;

	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, number, &attr, MRC_SET_STATE), 0);
}

/* Queue pair 1 was offered the chunk, and begins anew before its turn. */
static void an_offer_goes_on_when_a_pair_is_reset(void **state)
{
	(void)state;
	begin_short();
	for (uint32_t i = 0; i < PAIRS; i++)
		post_on(i, 1);
	assert_int_equal(pull_all(), 1);
	expect_starved(true, true);
	ack(0);
	expect_starved(false, true);
	reset_second();
	expect_third(1);
}

/* The same for the second half of a message, whose first half arrived: no clock runs for it. */
static void an_offer_goes_on_to_half_a_message(void **state)
{
	(void)state;
	begin_short();
	/* Turns of the start are over: now they come in the order of posts. */
	assert_int_equal(pull_all(), 0);
	post_on(2, 4);
	post_on(0, 1);
	post_on(1, 1);
	assert_int_equal(end_pull(&w.end[0], w.now, wide, 2), 2);
	say_to(2, (struct mrc_pkt){.bth = {.opcode = MRC_OP_SACK},
				   .seth = {.cack_psn = psn_of(1), .cc_type = MRC_CC_TYPE_NSCC}});
	assert_int_equal(pair_of(0, 2)->req.sent.una, 2);
	assert_int_equal(pull_all(), 1);
	expect_starved(true, true);
	assert_int_equal(pair_of(0, 2)->req.due, NSEC_NEVER);
	ack(0);
	expect_starved(false, true);
	reset_second();
	expect_third(2);
}

/* Queue pair 1 was offered it, and moves to a port that is shut. */
static void an_offer_goes_on_when_a_pair_moves(void **state)
{
	static const struct path_ev other = {0xaaaa0001, 1};
	struct evs set;
	struct mrc_attr attr;

	(void)state;
	begin_short();
	evs_make(&set, &other, 1);
	for (uint32_t i = 0; i < PAIRS; i++)
		post_on(i, 1);
	assert_int_equal(pull_all(), 1);
	ack(0);
	attr = pair_of(0, 1)->attr;
	attr.evs = &set.profile;
	assert_int_equal(
		mrc_qp_modify(w.end[0].e, w.now, w.end[0].qp[1].number, &attr, MRC_SET_PATH), 0);
	expect_third(1);
}

/* Queue pair 0 ends with its packet out: the chunk is for the next. */
static void what_a_pair_gives_up_is_offered(void **state)
{
	struct mrc_attr attr = {.state = MRC_ERROR};

	(void)state;
	begin_short();
	for (uint32_t i = 0; i < PAIRS; i++)
		post_on(i, 1);
	assert_int_equal(pull_all(), 1);
	assert_int_equal(
		mrc_qp_modify(w.end[0].e, w.now, w.end[0].qp[0].number, &attr, MRC_SET_STATE), 0);
	expect_starved(false, true);
	assert_true(list_is_linked(&pair_of(0, 1)->send_link));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(an_offer_goes_on_when_a_pair_is_reset),
	cmocka_unit_test(an_offer_goes_on_to_half_a_message),
	cmocka_unit_test(an_offer_goes_on_when_a_pair_moves),
	cmocka_unit_test(what_a_pair_gives_up_is_offered),
};

CHECK_MAIN(cases)
