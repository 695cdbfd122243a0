/* transport/addresses.h, as stop and wait has them: writes to a peer that was told nothing of us.
 */
#include "laws.h"

#include <errno.h>

#include "stopwait.h"

#define SEED   5u
#define NUMBER 0x500u /* of a handle */

static const struct engine_room wide = {.pkts = {8}, .may = UINT32_MAX};

static struct laws_world *w;
static uint8_t *memory[STOPWAIT_ADDRESSES + 1];

static size_t bytes(void)
{
	return stopwait.addresses->bytes();
}

static int begin(void **state)
{
	struct prng fill;

	(void)state;
	prng_init(&fill, SEED, 0);
	w = laws_begin(&stopwait, 1, SEED, 1);
	for (uint32_t i = 0; i <= STOPWAIT_ADDRESSES; i++)
		memory[i] = row_guarded(bytes(), &fill);
	return 0;
}

static int end(void **state)
{
	bool is_guarded = true;

	(void)state;
	for (uint32_t i = 0; i <= STOPWAIT_ADDRESSES; i++) {
		is_guarded &= row_is_guarded(memory[i], bytes());
		row_free(memory[i]);
	}
	laws_end(w);
	return is_guarded ? 0 : -1;
}

/* Of a peer that serves strangers. */
static struct transport_address address(void)
{
	return (struct transport_address){
		.theirs = row_told(&stopwait, STOPWAIT_OPEN),
		.path = {.peer = ROW_PEER, .local = ROW_LOCAL, .ev = 3},
		.manner = {.timeout_ns = 1000000, .retries = 7},
		.pmtu = ROW_PMTU,
	};
}

static int make(uint32_t number, const struct transport_address *to)
{
	return stopwait.addresses->make(w->end[0].e, w->now, number, to,
					memory[number % (STOPWAIT_ADDRESSES + 1)]);
}

static int end_address(uint32_t number)
{
	void *back = NULL;
	int r = stopwait.addresses->end(w->end[0].e, w->now, number, &back);

	assert_ptr_equal(back, r ? NULL : memory[number % (STOPWAIT_ADDRESSES + 1)]);
	return r;
}

static void make_one(uint32_t number)
{
	const struct transport_address to = address();

	assert_int_equal(make(number, &to), 0);
}

/* A write of `len` bytes to the start of the peer's TARGET. */
static struct op write_to(uint32_t number, uint8_t code, const struct sge *sge)
{
	return (struct op){.code = code,
			   .qp = STOPWAIT_OPEN,
			   .peer = number,
			   .cookie = 40 + number,
			   .remote = row_va(ROW_TARGET),
			   .key = 1 + ROW_TARGET,
			   .imm = 9,
			   .sg = sge,
			   .n_sg = 1};
}

static int post(uint32_t number, uint8_t code, uint32_t len)
{
	const struct sge sge = row_piece(&w->end[0], ROW_SOURCE, 0, len);
	const struct op op = write_to(number, code, &sge);

	return w->end[0].ops->post(w->end[0].e, w->now, &op);
}

static bool poll(uint32_t side, struct done *done)
{
	return w->end[side].ops->poll(w->end[side].e, done, 1) == 1;
}

static void expect_sent(uint32_t number, enum engine_status status)
{
	struct done done;
	uint32_t turns = 0;

	while (!poll(0, &done)) {
		assert_true(laws_step(w));
		assert_in_range(++turns, 0, 1000);
	}
	assert_int_equal(done.code, ENGINE_DONE_SENT);
	assert_int_equal(done.qp, STOPWAIT_OPEN);
	assert_int_equal(done.peer, number);
	assert_int_equal(done.cookie, 40 + number);
	assert_int_equal(done.status, status);
}

static uint64_t count(uint32_t side, const char *name)
{
	return laws_count(&w->end[side], name, true);
}

static void a_stranger_is_written_to(void **state)
{
	(void)state;
	w->lose = w->twice = 100;
	make_one(NUMBER);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(post(NUMBER, ENGINE_WRITE, 3 * ROW_PMTU), 0);
	for (uint32_t i = 0; i < 8; i++)
		expect_sent(NUMBER, ENGINE_OK);
	assert_memory_equal(w->end[1].area[ROW_TARGET], w->end[0].area[ROW_SOURCE], 3 * ROW_PMTU);
	assert_int_equal(count(1, "held"), 1);
	assert_int_equal(count(1, "rx_bytes"), 8 * 3 * ROW_PMTU);
}

/* What the peer lends no completion for goes again until it does. */
static void immediate_data_is_reported_to_it(void **state)
{
	struct done done;

	(void)state;
	make_one(NUMBER);
	make_one(NUMBER + 1);
	assert_int_equal(post(NUMBER, ENGINE_WRITE_IMM, 100), 0);
	for (uint32_t i = 0; i < 6; i++)
		laws_step(w);
	assert_true(count(1, "drop_not_ready") > 1);
	assert_int_equal(laws_lend(w, 1, STOPWAIT_OPEN, 2), 0);
	expect_sent(NUMBER, ENGINE_OK);
	assert_int_equal(post(NUMBER + 1, ENGINE_WRITE_IMM, 100), 0);
	expect_sent(NUMBER + 1, ENGINE_OK);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(poll(1, &done));
		assert_int_equal(done.code, ENGINE_DONE_RECEIVED);
		assert_int_equal(done.qp, STOPWAIT_OPEN);
		assert_int_equal(done.peer, ROW_PEER);
		assert_int_equal(done.source, NUMBER + i);
		assert_int_equal(done.imm, 9);
		assert_int_equal(done.len, 100);
	}
}

static void bad_handles_change_nothing(void **state)
{
	const struct sge sge = row_piece(&w->end[0], ROW_SOURCE, 0, 100);
	struct op second = write_to(NUMBER + 1, ENGINE_WRITE, &sge);
	struct op first = write_to(NUMBER, ENGINE_WRITE, &sge);

	(void)state;
	assert_int_equal(post(NUMBER, ENGINE_WRITE, 100), -EINVAL);
	make_one(NUMBER);
	make_one(NUMBER + 1);
	assert_int_equal(post(ROW_FIRST, ENGINE_WRITE, 100), -EINVAL);
	assert_int_equal(post(NUMBER, ENGINE_SEND, 100), -EINVAL);
	/* Two receivers of what is posted together; and a handle is not a queue. */
	first.next = &second;
	assert_int_equal(w->end[0].ops->post(w->end[0].e, w->now, &first), -EINVAL);
	second.qp = NUMBER;
	assert_int_equal(w->end[0].ops->post(w->end[0].e, w->now, &second), -ENOENT);
	assert_int_equal(laws_pull(w, 0, &wide, 8), 0);
	assert_true(laws_deadline(w, 0, LAWS_ALL) == NSEC_NEVER);
	assert_int_equal(end_address(NUMBER), 0);
	assert_int_equal(end_address(NUMBER), -ENOENT);
	assert_int_equal(post(NUMBER, ENGINE_WRITE, 100), -EINVAL);
}

static void bad_addresses_make_none(void **state)
{
	struct transport_address to = address();

	(void)state;
	assert_int_equal(make(STOPWAIT_OPEN, &to), -EINVAL);
	assert_int_equal(make(STOPWAIT_NUMBERS, &to), -EINVAL);
	assert_int_equal(make(ROW_FIRST, &to), -EEXIST);
	to.pmtu = 3;
	assert_int_equal(make(NUMBER, &to), -EINVAL);
	to = address();
	to.path.port = 1;
	assert_int_equal(make(NUMBER, &to), -EINVAL);
	to = address();
	to.theirs = row_told(&stopwait, ROW_FIRST);
	assert_int_equal(make(NUMBER, &to), -EPROTO);
	to = address();
	for (uint32_t i = 0; i < stopwait.addresses->most; i++)
		assert_int_equal(make(NUMBER + i, &to), 0);
	assert_int_equal(make(NUMBER, &to), -EEXIST);
	assert_int_equal(make(NUMBER + stopwait.addresses->most, &to), -ENOSPC);
	/* Nor is its number a queue pair's. */
	struct transport_caps caps = {.srq = TRANSPORT_NO_SRQ};
	void *pair = malloc(stopwait.pairs->grant(&caps));

	assert_int_equal(stopwait.pairs->make(w->end[0].e, NUMBER, &caps, pair), -EEXIST);
	free(pair);
}

static void a_handle_in_use_is_not_ended(void **state)
{
	(void)state;
	make_one(NUMBER);
	assert_int_equal(post(NUMBER, ENGINE_WRITE, 100), 0);
	assert_int_equal(end_address(NUMBER), -EBUSY);
	while (laws_step(w))
		;
	assert_int_equal(end_address(NUMBER), -EBUSY);
	expect_sent(NUMBER, ENGINE_OK);
	assert_int_equal(end_address(NUMBER), 0);
	assert_true(laws_deadline(w, 0, LAWS_ALL) == NSEC_NEVER);
}

/* Of one receiver that is silent the others notice nothing. */
static void silence_fails_the_handle_alone(void **state)
{
	(void)state;
	make_one(NUMBER);
	make_one(NUMBER + 1);
	w->lose = 1000;
	assert_int_equal(post(NUMBER, ENGINE_WRITE, 100), 0);
	expect_sent(NUMBER, ENGINE_RETRY_EXCEEDED);
	w->lose = 0;
	assert_int_equal(post(NUMBER, ENGINE_WRITE, 100), 0);
	expect_sent(NUMBER, ENGINE_FLUSHED);
	assert_int_equal(post(NUMBER + 1, ENGINE_WRITE, 100), 0);
	expect_sent(NUMBER + 1, ENGINE_OK);
	assert_int_equal(end_address(NUMBER), 0);
}

static void work_by_address_is_taken_back(void **state)
{
	struct op back = write_to(NUMBER, ENGINE_WRITE, NULL);

	(void)state;
	make_one(NUMBER);
	make_one(NUMBER + 1);
	assert_int_equal(post(NUMBER, ENGINE_WRITE, 100), 0);
	back.peer++;
	assert_int_equal(w->end[0].ops->cancel(w->end[0].e, w->now, &back), -ENOENT);
	back.peer--;
	assert_int_equal(w->end[0].ops->cancel(w->end[0].e, w->now, &back), 0);
	expect_sent(NUMBER, ENGINE_CANCELLED);
	assert_int_equal(laws_pull(w, 0, &wide, 8), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

static const struct CMUnitTest cases[] = {
	CASE(a_stranger_is_written_to),      CASE(immediate_data_is_reported_to_it),
	CASE(bad_handles_change_nothing),    CASE(bad_addresses_make_none),
	CASE(a_handle_in_use_is_not_ended),  CASE(silence_fails_the_handle_alone),
	CASE(work_by_address_is_taken_back),
};

CHECK_MAIN(cases)
