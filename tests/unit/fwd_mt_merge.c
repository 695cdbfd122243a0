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

/* T-16: what the source repeats although all have it tells that an answer was lost. */
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
			  {ACK(0, 1), IS(MT_BEYOND)},
			  {SEQ(0, 2), IS(MT_BEYOND)},
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
		{"the longest by time",
		 {0},
		 .n = 4,
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, 0)},
			  {NAK(0, 1, SYN_RNR(30))},
			  {NAK(1, 1, SYN_RNR(0))},
			  {NAK(3, 1, SYN_RNR(31))},
			  {ACK(2, 0), UP(1, SYN_RNR(0))}}},
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
			  {ACK(1, 1)}}},
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
			  {DOWN(1, ASKS)},
			  {CACK(0, 1, 2)},
			  {ACK(1, 1), UP(1, SYN_ACK(2))}}},
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
			  {DOWN(1, 0)},
			  {ACK(0, 0)},
			  {ACK(0, 1), UP(2, SYN_NAK(1))}}},
		{"before a NAK of that PSN",
		 {.is_first = true},
		 .n = 1,
		 .rows = {{DOWN(0, 0)},
			  {DOWN(2, 0)},
			  {SEQ(0, 1), UP_SEQ(1)},
			  {DOWN(1, READ), IS(MT_REFUSED), UP(1, SYN_NAK(1))},
			  {SEQ(0, 1)}}},
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
	};

	(void)state;
	RUN(scripts);
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
	cmocka_unit_test(a_nak_waits_for_the_minimum),
	cmocka_unit_test(naks_of_one_psn_have_an_order),
	cmocka_unit_test(as_printed_a_nak_goes_up_at_once),
	cmocka_unit_test(the_scarcest_credits_go_up),
	cmocka_unit_test(the_msn_is_that_of_the_minimum),
	cmocka_unit_test(more_ask_than_there_is_room),
	cmocka_unit_test(what_groups_cannot_do_is_refused),
	cmocka_unit_test(a_psn_far_ahead_moves_nothing),
	cmocka_unit_test(counts_add_up),
};

CHECK_MAIN(cases)
