#include "fwd_mt_rig.h"

#define RUN(scripts) rig_run_all(scripts, sizeof(scripts) / sizeof *(scripts))

static void the_minimum_goes_up(void **state)
{
	static const struct rig_case scripts[] = {
		{"of two",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, ASKS)},
			  {ACK(0, 1)},
			  {ACK(1, 0)},
			  {ACK(1, 1), UP_ACK(1)}}},
		{"of four, whoever is last",
		 {0},
		 .n = 4,
		 .rows = {{DOWN(0, ASKS)},
			  {ACK(3, 0)},
			  {ACK(0, 0)},
			  {ACK(2, 0)},
			  {ACK(1, 0), UP_ACK(0)}}},
		{"nothing while one is unknown",
		 {0},
		 .is_startless = true,
		 .rows = {{DOWN(0, ASKS)},
			  {DOWN(1, ASKS)},
			  {ACK(0, 0)},
			  {ACK(0, 1)},
			  {ACK(1, 0), UP_ACK(0)},
			  {ACK(1, 1), UP_ACK(1)}}},
		{"a NAK makes known too",
		 {0},
		 .is_startless = true,
		 .rows = {{DOWN(0, 0)}, {DOWN(1, ASKS)}, {ACK(0, 1)}, {SEQ(1, 1), UP_SEQ(1)}}},
	};

	(void)state;
	RUN(scripts);
}

static void an_ack_goes_up_where_it_is_awaited(void **state)
{
	static const struct rig_case scripts[] = {
		{"advances that nobody asked for do not",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, ASKS)},
			  {DOWN(2, 0)},
			  {DOWN(3, 0)},
			  {ACK(0, 3)},
			  {ACK(1, 0)},
			  {ACK(1, 2), UP_ACK(2)},
			  {ACK(1, 3), UP_ACK(3)}}},
		{"repeats of receivers do not",
		 {0},
		 .rows = {{DOWN(0, ASKS)},
			  {ACK(0, 0)},
			  {ACK(0, 0), IS(MT_REPEATED)},
			  {ACK(1, 0), UP_ACK(0)},
			  {ACK(0, 0), IS(MT_REPEATED)},
			  {ACK(1, 0), IS(MT_REPEATED)}}},
		{"one ACK is for all that asked",
		 {0},
		 .rows = {{DOWN(0, ASKS)},
			  {DOWN(1, ASKS)},
			  {DOWN(2, 0)},
			  {DOWN(3, 0)},
			  {ACK(0, 3)},
			  {ACK(1, 1), UP_ACK(1)},
			  {ACK(1, 2)}}},
		{"a PSN that asks twice is answered once",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, ASKS)},
			  {DOWN(1, ASKS)},
			  {DOWN(2, 0)},
			  {ACK(0, 2)},
			  {ACK(1, 1), UP_ACK(1)}}},
	};

	(void)state;
	RUN(scripts);
}

/* T-16: what the source repeats although all have it shows that an answer was lost. */
static void repeats_of_the_source_are_answered(void **state)
{
	static const struct rig_case scripts[] = {
		{"once for a run, and for each that asks",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {DOWN(2, ASKS)},
			  {ACK(0, 2)},
			  {ACK(1, 2), UP_ACK(2)},
			  {DOWN(0, 0), UP_ACK(2)},
			  {DOWN(1, 0)},
			  {DOWN(2, ASKS), UP_ACK(2)},
			  {ACK(0, 2), IS(MT_REPEATED)}}},
		{"a run that begins again is another one",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {ACK(0, 0)},
			  {ACK(1, 0), UP_ACK(0)},
			  {DOWN(0, 0), UP_ACK(0)},
			  {DOWN(0, 0), UP_ACK(0)}}},
		{"new data ends a run",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {ACK(0, 1)},
			  {ACK(1, 1), UP_ACK(1)},
			  {DOWN(0, 0), UP_ACK(1)},
			  {DOWN(2, 0)},
			  {DOWN(1, 0), UP_ACK(1)}}},
		{"with what all have, sent up or not",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {DOWN(2, 0)},
			  {ACK(0, 1)},
			  {ACK(1, 1)},
			  {DOWN(1, 0), UP_ACK(1)}}},
	};

	(void)state;
	RUN(scripts);
}

/* What is above the highest counts as the highest, and no more. */
static void after_a_restart_receivers_have_more(void **state)
{
	static const struct rig_case scripts[] = {
		{"of what passed before a restart",
		 {0},
		 .is_startless = true,
		 .rows = {{DOWN(0, 0)},
			  {ACK(0, 9)},
			  {ACK(1, -1)},
			  {ACK(1, 20), UP_ACK(0), .up_msn_more = 9},
			  {ACK(1, 20), IS(MT_REPEATED)},
			  {SEQ(1, 21), IS(MT_BEYOND)},
			  {DOWN(1, 0)},
			  {ACK(0, 9)},
			  {ACK(1, 1), UP_ACK(1)}}},
	};

	(void)state;
	RUN(scripts);
}

static void only_answers_within_bounds_count(void **state)
{
	static const struct rig_case scripts[] = {
		{"before anything passed", {0}, .rows = {{ACK(0, -1), IS(MT_BEYOND)}}},
		{"an ACK",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {ACK(0, 2), IS(MT_BEYOND)},
			  {ACK(0, 0x7ffffe), IS(MT_BEYOND)},
			  {ACK(0, 1)},
			  {ACK(0, 0), IS(MT_STALE)},
			  {ACK(0, -1), IS(MT_STALE)},
			  {ACK(0, 1), IS(MT_REPEATED)},
			  {ACK(1, 1), UP_ACK(1)}}},
		{"a NAK",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {SEQ(0, 3), IS(MT_BEYOND)},
			  {SEQ(0, 2)},
			  {SEQ(0, 2)},
			  {SEQ(0, 1), IS(MT_STALE)},
			  {ACK(1, 1), UP_SEQ(2)}}},
		{"of one that is unknown",
		 {0},
		 .is_startless = true,
		 .rows = {{DOWN(0, 0)},
			  {SEQ(0, 2), IS(MT_BEYOND)},
			  {ACK(0, 0x400000), IS(MT_BEYOND)},
			  {ACK(0, -7)},
			  {ACK(1, 0)},
			  {ACK(0, 0), UP_ACK(0)}}},
		{"of members",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {ACK(2, 0), IS(MT_STRANGER)},
			  {ACK(9, 0), IS(MT_STRANGER)}}},
		{"of known syndromes",
		 {0},
		 .rows = {{DOWN(0, ASKS)},
			  {ACK(1, 0)},
			  {NAK(0, 0, SYN_NAK(5)), IS(MT_INVALID)},
			  {NAK(0, 0, SYN_NAK(31)), IS(MT_INVALID)},
			  {NAK(0, 0, 0x40), IS(MT_INVALID)},
			  {NAK(0, 0, 0x9f), IS(MT_INVALID)},
			  {NAK(0, 0, 0xff), IS(MT_INVALID)},
			  {ACK(0, 0), UP_ACK(0)}}},
	};

	(void)state;
	RUN(scripts);
}

static void a_nak_waits_for_the_minimum(void **state)
{
	static const struct rig_case scripts[] = {
		{"and acknowledges what lies before it",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {DOWN(2, ASKS)},
			  {SEQ(0, 1)},
			  {ACK(1, 0), UP_SEQ(1)},
			  {ACK(1, 2)}}},
		{"and is forgotten when an ACK passes it",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {DOWN(2, ASKS)},
			  {SEQ(0, 1)},
			  {ACK(0, 1)},
			  {ACK(1, 0)},
			  {ACK(1, 1)},
			  {ACK(0, 2)},
			  {ACK(1, 2), UP_ACK(2)}}},
		{"goes up once",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {SEQ(0, 0), UP_SEQ(0)},
			  {SEQ(0, 0)},
			  {SEQ(1, 0)},
			  {DOWN(0, 0)},
			  {SEQ(0, 0), UP_SEQ(0)},
			  {SEQ(1, 0)},
			  {ACK(1, 1)},
			  {ACK(0, 1), UP_ACK(1)}}},
		{"is answered by its PSN, of whatever branch",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {DOWN(2, ASKS)},
			  {SEQ(0, 1)},
			  {SEQ(1, 0), UP_SEQ(0)},
			  {DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {ACK(1, 0)},
			  {ACK(1, 2)},
			  {ACK(0, 2), UP_ACK(2)}}},
	};

	(void)state;
	RUN(scripts);
}

/* T-18 */
static void naks_of_one_psn_have_an_order(void **state)
{
	static const struct rig_case scripts[] = {
		{"RNR is not an ACK",
		 {0},
		 .rows = {{DOWN(0, ASKS)},
			  {ACK(1, 0)},
			  {NAK(0, 0, SYN_RNR(5)), UP(0, SYN_RNR(5))}}},
		{"RNR before sequence",
		 {0},
		 .n = 3,
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {SEQ(0, 1)},
			  {NAK(1, 1, SYN_RNR(5))},
			  {ACK(2, 0), UP(1, SYN_RNR(5))}}},
		{"whichever branch it is of",
		 {0},
		 .n = 3,
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {NAK(0, 1, SYN_RNR(5))},
			  {SEQ(1, 1)},
			  {ACK(2, 0), UP(1, SYN_RNR(5))}}},
		{"the longest by time",
		 {0},
		 .n = 4,
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {NAK(0, 1, SYN_RNR(30))},
			  {NAK(1, 1, SYN_RNR(0))},
			  {NAK(3, 1, SYN_RNR(31))},
			  {ACK(2, 0), UP(1, SYN_RNR(0))}}},
	};

	(void)state;
	RUN(scripts);
}

static void a_failure_of_one_ends_the_group(void **state)
{
	static const struct rig_case scripts[] = {
		{"fatal first, and the group is over",
		 {0},
		 .n = 4,
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {NAK(0, 1, SYN_RNR(0))},
			  {NAK(1, 1, SYN_NAK(2))},
			  {SEQ(3, 1)},
			  {ACK(2, 0), UP(1, SYN_NAK(2))},
			  {ACK(2, 1)},
			  {DOWN(1, ASKS), IS(MT_ALONE), UP(1, SYN_NAK(2))},
			  {DOWN(2, 0), IS(MT_ALONE), UP(1, SYN_NAK(2))},
			  {ACK(1, 1)},
			  {ACK(0, 1)},
			  {ACK(3, 1)}}},
		{"the latest of a branch counts, but a failure stays",
		 {0},
		 .n = 3,
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {SEQ(0, 1)},
			  {NAK(0, 1, SYN_RNR(3))},
			  {SEQ(1, 0), UP_SEQ(0)},
			  {ACK(1, 0)},
			  {ACK(2, 0), UP(1, SYN_RNR(3))},
			  {NAK(0, 1, SYN_NAK(3))},
			  {SEQ(0, 1)},
			  {DOWN(1, 0), UP(1, SYN_NAK(3))}}},
	};

	(void)state;
	RUN(scripts);
}

static void as_printed_a_nak_goes_up_at_once(void **state)
{
	static const struct rig_case scripts[] = {
		{"with the least of all",
		 {.as_printed = true},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {DOWN(2, 0)},
			  {SEQ(0, 2), UP_SEQ(0)},
			  {SEQ(0, 2)},
			  {SEQ(1, 1), UP_SEQ(1)},
			  {ACK(1, 1), UP_SEQ(2)}}},
		{"once",
		 {.as_printed = true},
		 .n = 3,
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {DOWN(2, 0)},
			  {SEQ(0, 2), UP_SEQ(0)},
			  {ACK(1, 0)},
			  {ACK(2, 0)},
			  {SEQ(0, 2)},
			  {SEQ(0, 3), UP_SEQ(1)}}},
		{"but for RNR and failures",
		 {.as_printed = true},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {NAK(0, 1, SYN_RNR(9))},
			  {ACK(1, 0), UP(1, SYN_RNR(9))}}},
	};

	(void)state;
	RUN(scripts);
}

/* Codes 4, 5 and 6 say 4, 6 and 8 receives. */
static void the_scarcest_credits_go_up(void **state)
{
	static const struct rig_case scripts[] = {
		{"counted from the least MSN, rounded down",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {DOWN(2, ASKS)},
			  {CACK(0, 2, 4)},
			  {CACK(1, 1, 10)},
			  {CACK(1, 2, 10), UP(2, SYN_ACK(4))}}},
		{"that nobody said is none",
		 {0},
		 .rows = {{DOWN(0, ASKS)},
			  {DOWN(1, 0)},
			  {SEQ(0, 1)},
			  {CACK(1, 1, 10), UP_SEQ(1)},
			  {DOWN(1, 0)},
			  {DOWN(0, 0), UP(0, SYN_ACK(0))}}},
		{"less than nothing is none",
		 {0},
		 .rows = {{DOWN(0, ASKS)},
			  {DOWN(1, 0)},
			  {CACK(1, 1, 1)},
			  {CACK(0, 0, 1), .msn_more = 50, UP(0, SYN_ACK(0)), .up_msn_more = 50}}},
		{"a rise goes up by itself",
		 {0},
		 .rows = {{DOWN(0, ASKS)},
			  {CACK(0, 0, 4)},
			  {CACK(1, 0, 10), UP(0, SYN_ACK(4))},
			  {CACK(1, 0, 11), IS(MT_REPEATED)},
			  {CACK(0, 0, 4), IS(MT_REPEATED)},
			  {CACK(0, 0, 3), IS(MT_REPEATED)},
			  {CACK(0, 0, 6), IS(MT_REPEATED), UP(0, SYN_ACK(6))},
			  {ACK(0, 0), IS(MT_REPEATED), UP(0, SYN_ACK(11))},
			  {ACK(1, 0), IS(MT_REPEATED), UP_ACK(0)}}},
		{"one that counts again counts",
		 {0},
		 .rows = {{DOWN(0, ASKS)},
			  {ACK(0, 0)},
			  {ACK(1, 0), UP_ACK(0)},
			  {CACK(0, 0, 2), IS(MT_REPEATED)},
			  {DOWN(0, 0), UP(0, SYN_ACK(2))},
			  {DOWN(1, ASKS)},
			  {CACK(0, 1, 2)},
			  {ACK(1, 1), UP(1, SYN_ACK(2))}}},
	};

	(void)state;
	RUN(scripts);
}

/* Codes 6, 7 and 8 say 8, 12 and 16 receives: up to 9, 13 and 21 here. */
static void a_rise_of_credits_waits_until_half_are_used(void **state)
{
	static const struct rig_case scripts[] = {
		{"while data is on its way, once half is used up",
		 {0},
		 .n = 1,
		 .rows = {{DOWN(0, ASKS)},
			  {CACK(0, 0, 6), UP(0, SYN_ACK(6))},
			  {DOWN(1, 0)},
			  {DOWN(2, 0)},
			  {DOWN(3, 0)},
			  {DOWN(4, 0)},
			  {DOWN(5, 0)},
			  {CACK(0, 1, 6)},
			  {CACK(0, 2, 6)},
			  {CACK(0, 3, 6)},
			  {CACK(0, 4, 6), UP(4, SYN_ACK(6))},
			  {CACK(0, 4, 7), IS(MT_REPEATED)},
			  {CACK(0, 4, 8), IS(MT_REPEATED), UP(4, SYN_ACK(8))},
			  {CACK(0, 5, 7), UP(5, SYN_ACK(7))}}},
		{"but not once all is acknowledged",
		 {0},
		 .n = 1,
		 .rows = {{DOWN(0, ASKS)},
			  {CACK(0, 0, 6), UP(0, SYN_ACK(6))},
			  {CACK(0, 0, 7), IS(MT_REPEATED), UP(0, SYN_ACK(7))}}},
	};

	(void)state;
	RUN(scripts);
}

/* The MSN of the answer that set the minimum: T-04. */
static void the_msn_is_that_of_the_minimum(void **state)
{
	static const struct rig_case scripts[] = {
		{"not of who is ahead, nor a later one",
		 {0},
		 .rows = {{DOWN(0, FIRST)},
			  {DOWN(1, MIDDLE)},
			  {DOWN(2, LAST | ASKS)},
			  {ACK(1, 1), .msn_more = -2},
			  {ACK(1, 1), .msn_more = 5, IS(MT_REPEATED)},
			  {ACK(0, 2), .msn_more = -2},
			  {DOWN(0, ASKS | FIRST), UP_ACK(1), .up_msn_more = -2},
			  {ACK(1, 2), .msn_more = -2, UP_ACK(2), .up_msn_more = -2}}},
		{"the least of several",
		 {0},
		 .n = 3,
		 .rows = {{DOWN(0, ASKS)},
			  {ACK(0, 0), .msn_more = 1},
			  {ACK(1, 0)},
			  {ACK(2, 0), .msn_more = 2, UP_ACK(0)}}},
	};

	(void)state;
	RUN(scripts);
}

static void more_ask_than_there_is_room(void **state)
{
	static const struct rig_case c = {"ring", {0}, .n = 1};
	struct rig r;

	(void)state;
	rig_init(&r, &c, 0xffffd0);
	for (uint32_t i = 0; i < 2 * MT_ASKED; i++)
		rig_down(&r, 1, ASKS);
	assert_int_equal(r.m.n_asked, 1);
	for (int32_t i = 0; i < 2 * (int32_t)MT_ASKED; i++) {
		rig_down(&r, 2 * i, 0);
		rig_down(&r, 2 * i + 1, ASKS);
	}
	rig_down(&r, 4 * (int32_t)MT_ASKED, 0);
	/* Every advance is answered until the last that asked is, and then none is. */
	for (int32_t i = 0; i < 4 * (int32_t)MT_ASKED; i++) {
		rig_answer(&r, &(struct rig_row){ACK(0, i)});
		assert_true(r.out.has_answer);
	}
	assert_int_equal(r.m.n_asked, 0);
	for (int32_t i = 1; i < 4; i++)
		rig_down(&r, 4 * (int32_t)MT_ASKED + i, 0);
	rig_answer(&r, &(struct rig_row){ACK(0, 4 * (int32_t)MT_ASKED + 1)});
	assert_false(r.out.has_answer);
	/* One that asks below others takes its place. */
	rig_down(&r, 4 * (int32_t)MT_ASKED + 3, ASKS);
	rig_down(&r, 4 * (int32_t)MT_ASKED + 2, ASKS);
	rig_answer(&r, &(struct rig_row){ACK(0, 4 * (int32_t)MT_ASKED + 2)});
	assert_true(r.out.has_answer);
}

/* T-29 */
static void what_groups_cannot_do_is_refused(void **state)
{
	static const struct rig_case scripts[] = {
		{"once all before it is acknowledged",
		 {.is_first = true},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {DOWN(2, READ), IS(MT_REFUSED)},
			  {DOWN(3, 0), IS(MT_REFUSED)},
			  {ACK(0, 1)},
			  {SEQ(1, 1), UP_SEQ(1)},
			  {DOWN(1, 0)},
			  {ACK(1, 1), UP(2, SYN_NAK(1))},
			  {ACK(1, 1), IS(MT_REPEATED)},
			  {DOWN(3, 0), IS(MT_REFUSED)},
			  {DOWN(2, READ), IS(MT_REFUSED), UP(2, SYN_NAK(1))},
			  {DOWN(2, 0), IS(MT_REFUSED), UP(2, SYN_NAK(1))}}},
		{"the least of several",
		 {.is_first = true},
		 .n = 1,
		 .rows = {{DOWN(0, 0)},
			  {DOWN(3, READ), IS(MT_REFUSED)},
			  {DOWN(2, READ), IS(MT_REFUSED)},
			  {DOWN(4, READ), IS(MT_REFUSED)},
			  {DOWN(1, 0)},
			  {ACK(0, 0)},
			  {ACK(0, 1), UP(2, SYN_NAK(1))}}},
	};

	(void)state;
	RUN(scripts);
}

static void a_refusal_goes_before_other_naks(void **state)
{
	static const struct rig_case scripts[] = {
		{"before a NAK of that PSN",
		 {.is_first = true},
		 .n = 1,
		 .rows = {{DOWN(0, 0)},
			  {DOWN(2, 0)},
			  {SEQ(0, 1), UP_SEQ(1)},
			  {DOWN(1, READ), IS(MT_REFUSED), UP(1, SYN_NAK(1))},
			  {SEQ(0, 1)}}},
		{"before a NAK that waited",
		 {.is_first = true},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(2, 0)},
			  {SEQ(0, 1)},
			  {DOWN(1, READ), IS(MT_REFUSED)},
			  {ACK(1, 0), UP(1, SYN_NAK(1))}}},
	};

	(void)state;
	RUN(scripts);
}

static void a_refusal_has_its_place(void **state)
{
	static const struct rig_case scripts[] = {
		{"what all have is a repeat",
		 {.is_first = true},
		 .n = 1,
		 .rows = {{DOWN(0, 0)},
			  {ACK(0, 0), UP_ACK(0)},
			  {DOWN(0, READ), IS(MT_REFUSED)},
			  {DOWN(1, 0)}}},
		{"elsewhere it is only dropped",
		 {0},
		 .n = 1,
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, READ), IS(MT_REFUSED)},
			  {ACK(0, 0), UP_ACK(0)},
			  {DOWN(1, 0)},
			  {ACK(0, 1), UP_ACK(1)}}},
	};

	(void)state;
	RUN(scripts);
}

/* By serial order, what lies more than half the range ahead is a repeat, and at half it is neither.
 * Neither becomes the highest. */
static void a_psn_far_ahead_moves_nothing(void **state)
{
	static const struct rig_case scripts[] = {
		{"far",
		 {0},
		 .rows = {{DOWN(-5, 0), UP(-1, SYN_ACK(0))},
			  {ACK(0, -1), IS(MT_BEYOND)},
			  {DOWN(0, 0)},
			  {DOWN(0x400000, 0)},
			  {DOWN(0x7fffff, 0)},
			  {DOWN(0x800000, 0), UP(-1, SYN_ACK(0))},
			  {ACK(0, 0x400001), IS(MT_BEYOND)},
			  {ACK(0, 0x400000)},
			  {ACK(1, 0x400000), UP_ACK(0x400000)}}},
		{"first of all",
		 {0},
		 .n = 1,
		 .rows = {{DOWN(0x7fffff, 0)},
			  {ACK(0, 0x7fffff), IS(MT_BEYOND)},
			  {DOWN(0x7ffffe, 0)},
			  {ACK(0, 0x7fffff), IS(MT_BEYOND)},
			  {ACK(0, 0x7ffffe), UP_ACK(0x7ffffe)}}},
	};

	(void)state;
	RUN(scripts);
}

/* A thousand branches are not looked at for each answer of one of them, nor for new data. Here one
 * is changed behind the group's back, and nothing comes of it. */
static void others_are_not_looked_at(void **state)
{
	static const struct rig_case c = {
		"data", {0}, .n = 4, .rows = {{DOWN(0, 0)}, {DOWN(1, 0)}, {DOWN(2, 0)}}};
	struct rig r;

	(void)state;
	rig_run(&r, &c, 0);
	r.branches[3].acked = rig_psn(&r, -9);
	/* Three hold the minimum; while one of them does, it is what it is. */
	for (uint32_t b = 0; b < 3; b++) {
		assert_int_equal(rig_answer(&r, &(struct rig_row){ACK(b, 1)}), MT_TAKEN);
		assert_true(psn24_eq(r.m.least.acked, rig_psn(&r, -1)));
	}
	/* Nor when they say again that they do not count receives. */
	for (uint32_t b = 0; b < 3; b++) {
		assert_int_equal(rig_answer(&r, &(struct rig_row){ACK(b, 1)}), MT_REPEATED);
		assert_true(psn24_eq(r.m.least.acked, rig_psn(&r, -1)));
	}
	/* New data is what none can lack yet. */
	r.branches[3].acked = rig_psn(&r, 2);
	rig_down(&r, 3, 0);
	assert_int_equal(r.branches[3].passes, 1);
	r.branches[3].acked = rig_psn(&r, -1);
	assert_int_equal(rig_answer(&r, &(struct rig_row){ACK(3, 2)}), MT_TAKEN);
	assert_true(psn24_eq(r.m.least.acked, rig_psn(&r, 1)));
}

static enum mt_fate cnp(struct rig *r, uint32_t branch, bool opens)
{
	memset(&r->out, 0xff, sizeof r->out);
	enum mt_fate fate = mt_merge_cnp(&r->m, branch, &r->out);

	assert_int_equal(r->out.opens_window, opens);
	assert_false(r->out.has_cnp || r->out.has_answer);
	return fate;
}

static void close_window(struct rig *r, uint32_t most)
{
	memset(&r->out, 0xff, sizeof r->out);
	mt_merge_window(&r->m, &r->out);
	assert_int_equal(r->out.has_cnp, most != MT_NO_BRANCH);
	assert_false(r->out.opens_window || r->out.has_answer);
	assert_int_equal(mt_merge_most_congested(&r->m), most);
}

/* T-10, T-20 */
static void one_cnp_goes_up_in_a_window(void **state)
{
	static const struct rig_case c = {"cnp", {.cnps_most = 3}, .n = 3};
	struct rig r;

	(void)state;
	rig_init(&r, &c, 0);
	close_window(&r, MT_NO_BRANCH);
	assert_int_equal(cnp(&r, 0, true), MT_TAKEN);
	assert_int_equal(cnp(&r, 2, false), MT_TAKEN);
	assert_int_equal(cnp(&r, 2, false), MT_TAKEN);
	assert_int_equal(cnp(&r, 1, false), MT_TAKEN);
	assert_int_equal(cnp(&r, 1, false), MT_TAKEN);
	assert_int_equal(cnp(&r, 3, false), MT_STRANGER);
	close_window(&r, 1); /* the lowest of two */
	assert_int_equal(r.branches[2].cnps_last, 2);
	assert_int_equal(r.branches[2].cnps, 0);
	/* Of one branch no more than a few count. */
	for (int i = 0; i < 9; i++)
		assert_int_equal(cnp(&r, 2, i == 0), i < 3 ? MT_TAKEN : MT_INVALID);
	assert_int_equal(cnp(&r, 1, false), MT_TAKEN);
	close_window(&r, 2);
	assert_int_equal(r.branches[2].cnps_last, 3);
	assert_int_equal(r.branches[2].cnps_all, 5);
	assert_int_equal(r.branches[1].cnps_last, 1);
	/* Who has left does not count, and is nobody's name any more. */
	mt_merge_leave(&r.m, 2, &r.out);
	assert_int_equal(mt_merge_most_congested(&r.m), MT_NO_BRANCH);
	assert_int_equal(cnp(&r, 1, true), MT_TAKEN);
	mt_merge_leave(&r.m, 1, &r.out);
	close_window(&r, MT_NO_BRANCH);
	assert_int_equal(mt_merge_join(&r.m, 2), 0);
	assert_int_equal(cnp(&r, 2, true), MT_TAKEN);
	assert_int_equal(mt_merge_eject(&r.m, 2, &r.out), 0);
	close_window(&r, MT_NO_BRANCH);
	assert_int_equal(r.m.counts.cnps_up, 2);
}

static void no_cnp_goes_up_when_the_group_is_over(void **state)
{
	static const struct rig_case c = {
		"over",
		{0},
		.n = 1,
		.rows = {{DOWN(0, 0)}, {NAK(0, 0, SYN_NAK(2)), UP(0, SYN_NAK(2))}}};
	struct rig r;

	(void)state;
	rig_run(&r, &c, 0);
	assert_int_equal(cnp(&r, 0, true), MT_TAKEN);
	mt_merge_window(&r.m, &r.out);
	assert_false(r.out.has_cnp);
	rig_init(&r, &c, 0);
	for (int i = 0; i < 300; i++)
		assert_int_equal(cnp(&r, 0, i == 0), i < 255 ? MT_TAKEN : MT_INVALID);
}

static void counts_add_up(void **state)
{
	static const struct rig_case c = {
		"counts",
		{.is_first = true},
		.rows = {{DOWN(0, ASKS)},
			 {ACK(0, 0)},
			 {ACK(0, 0), IS(MT_REPEATED)},
			 {ACK(1, 1), IS(MT_BEYOND)},
			 {ACK(1, 0), UP_ACK(0)},
			 {SEQ(1, 1), UP_SEQ(1)},
			 {DOWN(1, READ), IS(MT_REFUSED), UP(1, SYN_NAK(1))},
			 {NAK(1, 1, 0x40), IS(MT_INVALID)},
			 {ACK(1, -1), IS(MT_STALE)},
			 {ACK(3, 0), IS(MT_STRANGER)},
			 {LEAVE(0)},
			 {LEAVE(1)},
			 {DOWN(1, 0), IS(MT_ALONE), UP(1, SYN_NAK(3))}},
	};
	struct rig r;

	(void)state;
	rig_run(&r, &c, 0);
	const struct mt_counts want = {
		.fates = {3, 1, 1, 1, 1, 1},
		.passed = 1,
		.refused = 1,
		.alone = 1,
		.acks_up = 1,
		.naks_up = 3,
	};

	assert_memory_equal(&r.m.counts, &want, sizeof want);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(the_minimum_goes_up),
	cmocka_unit_test(an_ack_goes_up_where_it_is_awaited),
	cmocka_unit_test(repeats_of_the_source_are_answered),
	cmocka_unit_test(only_answers_within_bounds_count),
	cmocka_unit_test(after_a_restart_receivers_have_more),
	cmocka_unit_test(a_nak_waits_for_the_minimum),
	cmocka_unit_test(naks_of_one_psn_have_an_order),
	cmocka_unit_test(a_failure_of_one_ends_the_group),
	cmocka_unit_test(as_printed_a_nak_goes_up_at_once),
	cmocka_unit_test(the_scarcest_credits_go_up),
	cmocka_unit_test(a_rise_of_credits_waits_until_half_are_used),
	cmocka_unit_test(the_msn_is_that_of_the_minimum),
	cmocka_unit_test(more_ask_than_there_is_room),
	cmocka_unit_test(what_groups_cannot_do_is_refused),
	cmocka_unit_test(a_refusal_goes_before_other_naks),
	cmocka_unit_test(a_refusal_has_its_place),
	cmocka_unit_test(a_psn_far_ahead_moves_nothing),
	cmocka_unit_test(others_are_not_looked_at),
	cmocka_unit_test(one_cnp_goes_up_in_a_window),
	cmocka_unit_test(no_cnp_goes_up_when_the_group_is_over),
	cmocka_unit_test(counts_add_up),
};

CHECK_MAIN(cases)
