/* engine/done.h: what a completion says, and those that are forgotten. */
#include "check.h"
#include "engine/done.h"

static void a_completion_says_what_the_work_did(void **state)
{
	struct engine_work sent = {
		.cookie = 5,
		.imm = 6,
		.len = 7,
		.op = ENGINE_WRITE,
		.flags = ENGINE_SOLICITED | ENGINE_FENCE | ENGINE_TRUSTED,
		.status = ENGINE_FLUSHED,
	};
	struct engine_work received = {
		.is_recv = true,
		.op = ENGINE_RECV,
		.flags = ENGINE_HAS_IMM | ENGINE_HAS_INV,
	};
	struct list all = {0};
	struct done done;

	(void)state;
	engine_done_push(&all, &sent);
	engine_done_push(&all, &received);
	assert_ptr_equal(engine_done_pop(&all, &done), &sent);
	assert_int_equal(done.cookie, 5);
	assert_int_equal(done.imm, 6);
	assert_int_equal(done.len, 7);
	assert_int_equal(done.op, ENGINE_WRITE);
	assert_int_equal(done.code, ENGINE_DONE_SENT);
	assert_int_equal(done.status, ENGINE_FLUSHED);
	assert_int_equal(done.flags, ENGINE_SOLICITED);
	assert_int_equal(done.qp | done.peer | done.tag | done.ticket, 0);
	assert_ptr_equal(engine_done_pop(&all, &done), &received);
	assert_int_equal(done.code, ENGINE_DONE_RECEIVED);
	assert_int_equal(done.flags, ENGINE_HAS_IMM | ENGINE_HAS_INV);
	assert_null(engine_done_pop(&all, &done));
}

static void those_of_one_owner_are_forgotten(void **state)
{
	struct engine_work w[6] = {0};
	struct list all = {0};
	struct done done;
	int owners[2];

	(void)state;
	for (int i = 0; i < 6; i++) {
		w[i].owner = &owners[i % 3 == 1];
		engine_done_push(&all, &w[i]);
	}
	engine_done_forget(&all, &owners[1]);
	for (int i = 0; i < 6; i++) {
		if (i % 3 == 1)
			assert_false(list_is_linked(&w[i].link));
		else
			assert_ptr_equal(engine_done_pop(&all, &done), &w[i]);
	}
	engine_done_forget(&all, &owners[0]);
	assert_null(engine_done_pop(&all, &done));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_completion_says_what_the_work_did),
	cmocka_unit_test(those_of_one_owner_are_forgotten),
};

CHECK_MAIN(cases)
