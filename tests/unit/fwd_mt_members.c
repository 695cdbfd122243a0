#include <errno.h>

#include "fwd_mt_rig.h"

#define RUN(scripts) rig_run_all(scripts, sizeof(scripts) / sizeof *(scripts))

static void members_come_and_go(void **state)
{
	static const struct rig_case scripts[] = {
		{"by number, once",
		 {0},
		 .rows = {{JOIN(0), IS(-EBUSY)},
			  {JOIN(RIG_BRANCHES), IS(-EINVAL)},
			  {LEAVE(RIG_BRANCHES), IS(-EINVAL)},
			  {EJECT(RIG_BRANCHES), IS(-EINVAL)},
			  {LEAVE(2), IS(-ENOENT)},
			  {EJECT(2), IS(-ENOENT)},
			  {JOIN(2)},
			  {LEAVE(2)},
			  {JOIN(2)}}},
		{"late ones only where messages are counted",
		 {0},
		 .is_startless = true,
		 .rows = {{JOIN(2)}, {DOWN(0, 0)}, {JOIN(3), IS(-EOPNOTSUPP)}}},
		{"leaving before anything passed ends nothing",
		 {0},
		 .rows = {{LEAVE(0)},
			  {LEAVE(1)},
			  {DOWN(0, 0), IS(MT_ALONE)},
			  {JOIN(2)},
			  {DOWN(0, ASKS)},
			  {ACK(2, 0), UP_ACK(0)}}},
		{"the last that leaves ends the group",
		 {0},
		 .rows = {{DOWN(0, ASKS)},
			  {ACK(0, 0)},
			  {ACK(1, 0), UP_ACK(0)},
			  {DOWN(1, ASKS)},
			  {JOIN(2)},
			  {LEAVE(0)},
			  {LEAVE(1)},
			  {DOWN(1, ASKS), IS(MT_ALONE), UP(1, SYN_NAK(3))},
			  {DOWN(2, ASKS), IS(MT_ALONE), UP(1, SYN_NAK(3))},
			  {JOIN(3), IS(-ESHUTDOWN)}}},
		{"silently where no PSN is known to say",
		 {0},
		 .is_startless = true,
		 .rows = {{DOWN(0, ASKS)}, {LEAVE(0)}, {LEAVE(1)}, {DOWN(0, ASKS), IS(MT_ALONE)}}},
		{"with the start when nothing went up",
		 {0},
		 .rows = {{DOWN(0, ASKS)},
			  {LEAVE(0)},
			  {LEAVE(1)},
			  {DOWN(0, ASKS), IS(MT_ALONE), UP(0, SYN_NAK(3))}}},
	};

	(void)state;
	RUN(scripts);
}

/* T-19: what only the one that leaves had not acknowledged is free to go up. */
static void leaving_releases_the_minimum(void **state)
{
	static const struct rig_case scripts[] = {
		{"an ACK",
		 {0},
		 .rows = {{DOWN(0, 0)}, {DOWN(1, ASKS)}, {ACK(0, 1)}, {LEAVE(1), UP_ACK(1)}}},
		{"an ACK, by hand",
		 {0},
		 .rows = {{DOWN(0, 0)},
			  {DOWN(1, ASKS)},
			  {ACK(0, 1)},
			  {EJECT(1), UP_ACK(1)},
			  {ACK(1, 1), IS(MT_STRANGER)},
			  {EJECT(1), IS(-ENOENT)},
			  {JOIN(1), IS(-EBUSY)},
			  {LEAVE(1)},
			  {JOIN(1)}}},
		{"one that nobody knew",
		 {0},
		 .is_startless = true,
		 .rows = {{DOWN(0, ASKS)}, {ACK(0, 0)}, {LEAVE(1), UP_ACK(0)}}},
		{"a NAK",
		 {0},
		 .rows = {{DOWN(0, 0)}, {DOWN(1, ASKS)}, {SEQ(0, 1)}, {LEAVE(1), UP_SEQ(1)}}},
		{"nothing that others lack",
		 {0},
		 .n = 3,
		 .rows = {{DOWN(0, ASKS)},
			  {ACK(0, 0)},
			  {LEAVE(1)},
			  {LEAVE(0)},
			  {ACK(2, 0), UP_ACK(0)}}},
		{"its credits",
		 {0},
		 .rows = {{DOWN(0, ASKS)},
			  {CACK(0, 0, 4)},
			  {CACK(1, 0, 10), UP(0, SYN_ACK(4))},
			  {LEAVE(0), UP(0, SYN_ACK(10))},
			  {DOWN(1, ASKS)},
			  {CACK(1, 1, 2), UP(1, SYN_ACK(9))}}},
	};

	(void)state;
	RUN(scripts);
}

static void expect_event(struct rig *r, uint32_t branch, enum mt_event event)
{
	enum mt_event got = MT_EVENTS;
	uint32_t at = MT_NO_BRANCH;

	assert_true(mt_merge_event(&r->m, &at, &got));
	assert_int_equal(at, branch);
	assert_int_equal(got, event);
}

static void expect_no_event(struct rig *r)
{
	enum mt_event got;
	uint32_t at;

	assert_false(mt_merge_event(&r->m, &at, &got));
}

/* A late branch has the queue pair of who was there from a message's start on (T-19, T-28). */
static void a_late_branch_begins_with_a_message(void **state)
{
	static const struct rig_case c = {
		"late",
		{0},
		.n = 1,
		.rows = {{DOWN(0, 0)},
			 {DOWN(1, FIRST)},
			 {JOIN(1)},
			 {JOIN(2)},
			 {DOWN(2, MIDDLE)},
			 {ACK(1, 2), IS(MT_STRANGER)},
			 {DOWN(1, FIRST)}, /* a repeat begins nothing */
			 {DOWN(4, ASKS)},  /* 3, the end, was lost */
			 {DOWN(3, LAST)},  /* now it is in order: two messages */
			 {DOWN(4, 0)},     /* but this is a repeat */
			 {LEAVE(2)},
			 {ACK(0, 4), UP_ACK(4), .msn_more = -2, .up_msn_more = -2},
			 {DOWN(5, ASKS)}, /* three messages before it */
			 {DOWN(6, ASKS)},
			 {ACK(0, 6), .msn_more = -2},
			 {ACK(1, 3), IS(MT_STALE)},
			 {SEQ(1, 5), UP(5, SYN_SEQ), .up_msn_more = -2},
			 {ACK(1, 6), .msn_more = -2, UP_ACK(6), .up_msn_more = -2}},
	};
	static const uint32_t bases[] = {0, 0x7ffffd, 0xfffffc};
	struct rig r;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		rig_run(&r, &c, bases[i]);
		assert_int_equal(r.branches[1].state, MT_LIVE);
		assert_true(psn24_eq(r.branches[1].first, rig_psn(&r, 5)));
		assert_false(mt_merge_takes(&r.m, 1, rig_psn(&r, 4)));
		assert_true(mt_merge_takes(&r.m, 1, rig_psn(&r, 5)));
		assert_true(mt_merge_takes(&r.m, 0, rig_psn(&r, 4)));
		assert_false(mt_merge_takes(&r.m, 2, rig_psn(&r, 5)));
		expect_event(&r, 1, MT_EVENT_LIVE);
		expect_event(&r, 2, MT_EVENT_LEFT);
		expect_no_event(&r);
	}
}

static void a_late_branch_is_as_others_in_the_end(void **state)
{
	static const struct rig_case c = {
		"late", {0}, .n = 1, .rows = {{DOWN(0, 0)}, {JOIN(1)}, {DOWN(1, 0)}}};
	struct rig r;

	(void)state;
	rig_run(&r, &c, 0xfffffe);
	for (int32_t n = 1; n < 0x1000000; n += 0x10000) {
		rig_down(&r, n, ASKS);
		assert_true(mt_merge_takes(&r.m, 1, rig_psn(&r, n)));
		assert_false(mt_merge_takes(&r.m, 1, rig_psn(&r, 0)) && n < 0x300000);
		for (uint32_t b = 0; b < 2; b++)
			rig_answer(&r, &(struct rig_row){ACK(b, n)});
		assert_true(r.out.has_answer);
	}
	assert_false(r.branches[1].has_first);
}

/* T-19: silent is who does not answer what it lacks, however much passes beyond it. */
static void silence_is_of_what_a_branch_lacks(void **state)
{
	static const struct rig_case idle = {
		"idle",
		{0},
		.rows = {{DOWN(0, ASKS)},
			 {ACK(0, 0)},
			 {DOWN(1, 0)},
			 {DOWN(2, 0)},
			 {DOWN(3, 0)},
			 {DOWN(4, 0)},
			 {DOWN(5, 0)},
			 {ACK(1, 0), UP_ACK(0)},
			 {DOWN(0, 0), UP_ACK(0)},
			 {DOWN(0, 0), UP_ACK(0)},
			 {DOWN(0, 0), UP_ACK(0)},
			 {DOWN(0, 0), UP_ACK(0)},
			 {DOWN(0, 0), UP_ACK(0)}},
	};
	static const struct rig_case silent = {
		"silent",
		{0},
		.rows = {{DOWN(0, ASKS)}, {ACK(0, 0)}, {DOWN(0, ASKS)}, {DOWN(0, ASKS)}},
	};
	struct rig r;

	(void)state;
	rig_run(&r, &idle, 0xfffffe);
	expect_no_event(&r);
	assert_int_equal(r.branches[0].passes, 1);
	rig_run(&r, &silent, 0xfffffe);
	expect_no_event(&r);
	rig_down(&r, 0, ASKS);
	expect_event(&r, 1, MT_EVENT_SILENT);
	assert_true(r.branches[1].is_silent);
	assert_int_equal(r.branches[1].state, MT_LIVE);
	rig_down(&r, 0, ASKS);
	expect_no_event(&r);
	rig_answer(&r, &(struct rig_row){ACK(1, 0)});
	expect_event(&r, 1, MT_EVENT_ANSWERED);
	expect_no_event(&r);
	assert_false(r.branches[1].is_silent);
	assert_int_equal(r.branches[1].passes, 0);
}

/* What passes may lie between what two branches have. */
static void silence_is_not_of_what_passes_beyond(void **state)
{
	static const struct rig_case between = {
		"between",
		{0},
		.rows = {{DOWN(0, 0)},
			 {DOWN(1, 0)},
			 {DOWN(2, 0)},
			 {ACK(0, 2)},
			 {DOWN(1, 0)},
			 {DOWN(2, 0)},
			 {DOWN(2, 0)},
			 {DOWN(2, 0)},
			 {DOWN(2, 0)}},
	};
	struct rig r;

	(void)state;
	rig_run(&r, &between, 0xfffffe);
	expect_no_event(&r);
}

/* A stale one may be older than the silence. */
static void stale_answers_do_not_end_silence(void **state)
{
	static const struct rig_case c = {
		"stale",
		{.silent_after = 3},
		.n = 1,
		.rows = {{DOWN(0, ASKS)},
			 {DOWN(1, ASKS)},
			 {ACK(0, 1), UP_ACK(1)},
			 {DOWN(2, 0)},
			 {ACK(0, 0), IS(MT_STALE)},
			 {DOWN(2, 0)},
			 {ACK(0, 3), IS(MT_BEYOND)},
			 {DOWN(2, 0)}},
	};
	struct rig r;

	(void)state;
	rig_run(&r, &c, 0);
	expect_event(&r, 0, MT_EVENT_SILENT);
	expect_no_event(&r);
}

static void a_late_branch_may_be_silent_at_once(void **state)
{
	static const struct rig_case c = {
		"late",
		{0},
		.n = 1,
		.rows = {{DOWN(0, 0)}, {JOIN(1)}, {DOWN(1, 0)}, {DOWN(1, 0)}, {DOWN(1, 0)}},
	};
	struct rig r;

	(void)state;
	rig_run(&r, &c, 0xfffffe);
	expect_event(&r, 1, MT_EVENT_LIVE);
	expect_no_event(&r);
	rig_down(&r, 1, 0);
	expect_event(&r, 1, MT_EVENT_SILENT);
	expect_no_event(&r);
}

/* A node that was restarted knows no PSN of its branches: the first that passes is what a dead one
 * lacks, as the source begins with it each time. */
static void an_unknown_branch_may_be_silent_too(void **state)
{
	static const struct rig_case c = {
		"unknown",
		{0},
		.is_startless = true,
		.rows = {{DOWN(0, 0)},
			 {DOWN(1, ASKS)},
			 {ACK(0, 1)},
			 {DOWN(0, 0)},
			 {DOWN(1, ASKS)},
			 {DOWN(0, 0)},
			 {DOWN(0, 0)}},
	};
	struct rig r;

	(void)state;
	rig_run(&r, &c, 0xffffff);
	expect_no_event(&r);
	rig_down(&r, 0, 0);
	expect_event(&r, 1, MT_EVENT_SILENT);
	expect_no_event(&r);
}

static void who_is_silent_or_failed_may_be_given_up(void **state)
{
	static const struct rig_case silent = {
		"silent",
		{.ejects = true},
		.rows = {{DOWN(0, ASKS)},
			 {ACK(0, 0)},
			 {DOWN(0, ASKS)},
			 {DOWN(0, ASKS)},
			 {DOWN(0, ASKS), UP_ACK(0)},
			 {ACK(1, 0), IS(MT_STRANGER)},
			 {DOWN(1, ASKS)},
			 {DOWN(1, ASKS)},
			 {DOWN(1, ASKS)},
			 {DOWN(1, ASKS), IS(MT_ALONE), UP(1, SYN_NAK(3))}},
	};
	static const struct rig_case failed = {
		"failed",
		{.ejects = true},
		.rows = {{DOWN(0, ASKS)},
			 {DOWN(1, ASKS)},
			 {ACK(0, 1)},
			 {NAK(1, 1, SYN_NAK(2)), UP_ACK(1)},
			 {NAK(0, 2, SYN_NAK(2))},
			 {DOWN(2, ASKS), IS(MT_ALONE), UP(2, SYN_NAK(3))}},
	};
	struct rig r;

	(void)state;
	rig_run(&r, &silent, 0xffffff);
	assert_false(mt_merge_takes(&r.m, 1, rig_psn(&r, 0)));
	expect_event(&r, 0, MT_EVENT_SILENT);
	expect_event(&r, 0, MT_EVENT_EJECTED);
	expect_event(&r, 1, MT_EVENT_SILENT);
	expect_event(&r, 1, MT_EVENT_EJECTED);
	expect_no_event(&r);
	rig_run(&r, &failed, 0xffffff);
	expect_event(&r, 0, MT_EVENT_EJECTED);
	expect_event(&r, 1, MT_EVENT_EJECTED);
	expect_no_event(&r);
}

static void a_failure_is_reported_once_it_went_up(void **state)
{
	static const struct rig_case c = {
		"failed",
		{0},
		.rows = {{DOWN(0, ASKS)}, {DOWN(1, ASKS)}, {NAK(0, 1, SYN_NAK(2))}},
	};
	struct rig r;

	(void)state;
	rig_run(&r, &c, 0);
	expect_no_event(&r);
	assert_true(rig_row_holds(&r, &(struct rig_row){ACK(1, 0), UP(1, SYN_NAK(2))}));
	expect_event(&r, 0, MT_EVENT_FAILED);
	expect_no_event(&r);
	assert_true(rig_row_holds(&r, &(struct rig_row){LEAVE(0)}));
	assert_true(rig_row_holds(&r, &(struct rig_row){JOIN(0), IS(-ESHUTDOWN)}));
}

static void expect_holder(const struct rig *r, uint32_t branch, uint32_t behind)
{
	uint32_t got;

	assert_int_equal(mt_merge_holder(&r->m, &got), branch);
	assert_int_equal(got, behind);
}

static void the_holder_of_the_minimum_is_named(void **state)
{
	static const struct rig_case known = {"known", {0}, .n = 3};
	static const struct rig_case unknown = {"unknown", {0}, .is_startless = true, .n = 3};
	struct rig r;

	(void)state;
	rig_init(&r, &known, 0xffffff);
	expect_holder(&r, 0, 0);
	rig_down(&r, 0, 0);
	rig_down(&r, 1, 0);
	expect_holder(&r, 0, 2);
	rig_answer(&r, &(struct rig_row){ACK(0, 1)});
	expect_holder(&r, 1, 2);
	rig_answer(&r, &(struct rig_row){ACK(1, 0)});
	rig_answer(&r, &(struct rig_row){ACK(2, 1)});
	expect_holder(&r, 1, 1);
	for (uint32_t b = 0; b < 3; b++)
		mt_merge_leave(&r.m, b, &r.out);
	expect_holder(&r, MT_NO_BRANCH, 0);
	rig_init(&r, &unknown, 0xffffff);
	rig_down(&r, 0, 0);
	rig_answer(&r, &(struct rig_row){ACK(0, 0)});
	rig_answer(&r, &(struct rig_row){ACK(2, 0)});
	expect_holder(&r, 1, 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(members_come_and_go),
	cmocka_unit_test(leaving_releases_the_minimum),
	cmocka_unit_test(a_late_branch_begins_with_a_message),
	cmocka_unit_test(a_late_branch_is_as_others_in_the_end),
	cmocka_unit_test(silence_is_of_what_a_branch_lacks),
	cmocka_unit_test(silence_is_not_of_what_passes_beyond),
	cmocka_unit_test(stale_answers_do_not_end_silence),
	cmocka_unit_test(a_late_branch_may_be_silent_at_once),
	cmocka_unit_test(an_unknown_branch_may_be_silent_too),
	cmocka_unit_test(who_is_silent_or_failed_may_be_given_up),
	cmocka_unit_test(a_failure_is_reported_once_it_went_up),
	cmocka_unit_test(the_holder_of_the_minimum_is_named),
};

CHECK_MAIN(cases)
