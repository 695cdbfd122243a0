/* Writes of peers that stop and wait was never told of: contexts opened, held and released. */
#include <errno.h>

#include "check.h"
#include "row_end.h"
#include "stopwait.h"

#define BYTES   64u
#define KEY     (1 + ROW_TARGET)
#define STRANGE 900u /* the driver's handle of the first stranger */
#define FULL    16u
#define LONG_NS UINT64_C(1100000000) /* longer than a context is held */

static struct row_end s;
static nsec now;

static int begin(void **state)
{
	(void)state;
	now = 1000;
	return row_end_init(&s, &stopwait, 1, 5) ? 0 : -1;
}

static int finish(void **state)
{
	(void)state;
	bool is_guarded = row_end_is_guarded(&s);

	row_end_fini(&s);
	return is_guarded ? 0 : -1;
}

static const struct stopwait_counters *counts(void)
{
	return (const void *)s.ops->count(s.e);
}

/* The header of a stranger's packet. */
static struct stopwait_head head_of(uint32_t seq, uint32_t offset)
{
	return (struct stopwait_head){
		.kind = STOPWAIT_WRITE,
		.to = STOPWAIT_OPEN,
		.is_last = 1,
		.from = 0x1234,
		.seq = seq,
		.offset = offset,
		.key = KEY,
		.va = row_va(ROW_TARGET) + offset,
	};
}

static void feed(uint32_t peer, struct stopwait_head h)
{
	uint8_t bytes[stopwait_head_bytes + BYTES];
	struct rx_pkt rx = {.head = {bytes, sizeof bytes}, .at = now, .peer = peer, .ev = 7};

	stopwait_head_put(&h, bytes);
	memset(bytes + stopwait_head_bytes, (int)h.seq, BYTES);
	s.ops->input(s.e, now, &rx, 1);
}

/* The answers there are, the last one into *h and *tx. */
static uint32_t answers(struct stopwait_head *h, struct tx_pkt *tx)
{
	static const struct engine_room room = {.pkts = {1}, .may = UINT32_MAX};
	static uint8_t head[ENGINE_HEAD_MAX];
	uint32_t n = 0;

	tx->head = head;
	while (n < FULL + 2 && s.ops->pull(s.e, now, &room, tx, 1) == 1) {
		stopwait_head_get(tx->head, h);
		n++;
	}
	return n;
}

/* The next event is this one, of this stranger. */
static void expect_event(uint8_t kind, uint32_t peer)
{
	struct engine_event event = {0};

	assert_int_equal(s.ops->events(s.e, &event, 1), 1);
	assert_int_equal(event.kind, kind);
	assert_int_equal(event.number, peer);
}

static void expect_released(uint32_t n)
{
	struct engine_event event = {0};
	uint32_t seen = 0;

	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(s.ops->events(s.e, &event, 1), 1);
		assert_int_equal(event.kind, ENGINE_EVENT_PEER_RELEASED);
		assert_in_range(event.number, STRANGE, STRANGE + FULL);
		assert_false(seen >> (event.number - STRANGE) & 1);
		seen |= 1u << (event.number - STRANGE);
	}
}

static void expect_no_event(void)
{
	struct engine_event event;

	assert_int_equal(s.ops->events(s.e, &event, 1), 0);
}

static void a_write_opens_a_context(void **state)
{
	struct stopwait_head h;
	struct tx_pkt tx;

	(void)state;
	feed(STRANGE, head_of(41, 0));
	assert_int_equal(counts()->held, 1);
	expect_event(ENGINE_EVENT_PEER_HELD, STRANGE);
	assert_int_equal(counts()->rx_bytes, BYTES);
	assert_int_equal(s.area[ROW_TARGET][BYTES - 1], 41);
	assert_int_equal(answers(&h, &tx), 1);
	assert_int_equal(h.kind, STOPWAIT_ACK);
	assert_int_equal(h.to, 0x1234);
	assert_int_equal(h.from, STOPWAIT_OPEN);
	assert_int_equal(h.seq, 41);
	assert_int_equal(tx.peer, STRANGE);
	assert_int_equal(tx.ev, 7);
	/* It goes on there, and what comes again is answered and not placed. */
	feed(STRANGE, head_of(42, BYTES));
	s.area[ROW_TARGET][BYTES] = 1;
	feed(STRANGE, head_of(42, BYTES));
	assert_int_equal(answers(&h, &tx), 1);
	assert_int_equal(counts()->rx_duplicate, 1);
	assert_int_equal(s.area[ROW_TARGET][BYTES], 1);
	assert_int_equal(counts()->held, 1);
	expect_no_event();
}

static void what_is_not_allowed_opens_none(void **state)
{
	struct stopwait_head h = head_of(1, 0);
	struct tx_pkt tx;

	(void)state;
	h.key = 1 + ROW_INBOX;
	feed(STRANGE, h);
	assert_int_equal(counts()->drop_access, 1);
	/* The middle of a message, of which nothing is known. */
	feed(STRANGE, head_of(1, BYTES));
	assert_int_equal(counts()->drop_seq, 1);
	h = head_of(1, 0);
	h.kind = STOPWAIT_SEND;
	feed(STRANGE, h);
	assert_int_equal(counts()->drop_not_ready, 1);
	assert_int_equal(counts()->held, 0);
	expect_no_event();
	assert_int_equal(answers(&h, &tx), 0);
	assert_true(s.ops->deadline(s.e, engine_may_all(1)) == NSEC_NEVER);
}

static struct stopwait_head imm_of(uint32_t seq)
{
	struct stopwait_head h = head_of(seq, 0);

	h.kind = STOPWAIT_WRITE_IMM;
	h.imm = 1000 + seq;
	return h;
}

static void expect_reported(uint32_t peer, uint32_t seq)
{
	struct done done;

	assert_int_equal(s.ops->poll(s.e, &done, 1), 1);
	assert_int_equal(done.status, ENGINE_OK);
	assert_int_equal(done.code, ENGINE_DONE_RECEIVED);
	assert_int_equal(done.op, ENGINE_WRITE_IMM);
	assert_int_equal(done.qp, STOPWAIT_OPEN);
	assert_int_equal(done.peer, peer);
	assert_int_equal(done.source, 0x1234);
	assert_int_equal(done.flags, ENGINE_HAS_IMM);
	assert_int_equal(done.imm, 1000 + seq);
	assert_int_equal(done.len, BYTES);
}

static void immediate_data_waits_for_a_completion(void **state)
{
	struct stopwait_head h = imm_of(5);
	struct done done;
	struct tx_pkt tx;

	(void)state;
	s.area[ROW_TARGET][0] = 1;
	feed(STRANGE, h);
	assert_int_equal(counts()->drop_not_ready, 1);
	assert_int_equal(counts()->held, 0);
	assert_int_equal(s.area[ROW_TARGET][0], 1);
	assert_int_equal(answers(&h, &tx), 0);
	/* It comes again, and twice, and has one. */
	assert_int_equal(s.ops->lend(s.e, STOPWAIT_OPEN, 2), 0);
	feed(STRANGE, imm_of(5));
	assert_int_equal(s.area[ROW_TARGET][0], 5);
	assert_int_equal(answers(&h, &tx), 1);
	feed(STRANGE, imm_of(5));
	assert_int_equal(counts()->rx_duplicate, 1);
	expect_reported(STRANGE, 5);
	feed(STRANGE + 1, imm_of(5));
	expect_reported(STRANGE + 1, 5);
	/* None is left: a message of two packets needs one for the last. */
	h = imm_of(6);
	h.is_last = 0;
	feed(STRANGE, h);
	assert_int_equal(counts()->drop_not_ready, 1);
	h = imm_of(7);
	h.offset = BYTES;
	feed(STRANGE, h);
	assert_int_equal(counts()->drop_not_ready, 2);
	assert_int_equal(s.ops->poll(s.e, &done, 1), 0);
	assert_int_equal(s.ops->lend(s.e, STOPWAIT_OPEN, 1), 0);
	feed(STRANGE, h);
	assert_int_equal(s.ops->poll(s.e, &done, 1), 1);
	assert_int_equal(done.len, 2 * BYTES);
}

static void so_many_completions_can_be_lent(void **state)
{
	(void)state;
	assert_int_equal(s.ops->lend(s.e, ROW_FIRST, 1), -ENOENT);
	assert_int_equal(s.ops->lend(s.e, STOPWAIT_OPEN, STOPWAIT_LENT_MOST + 1), -ENOMEM);
	assert_int_equal(s.ops->lend(s.e, STOPWAIT_OPEN, STOPWAIT_LENT_MOST), 0);
	assert_int_equal(s.ops->lend(s.e, STOPWAIT_OPEN, 1), -ENOMEM);
	/* One that is not polled is still the engine's. */
	feed(STRANGE, imm_of(5));
	assert_int_equal(s.ops->lend(s.e, STOPWAIT_OPEN, 1), -ENOMEM);
	expect_reported(STRANGE, 5);
	assert_int_equal(s.ops->lend(s.e, STOPWAIT_OPEN, 1), 0);
}

static void contexts_are_bounded_and_released(void **state)
{
	struct stopwait_head h;
	struct tx_pkt tx;

	(void)state;
	for (uint32_t i = 0; i <= FULL; i++)
		feed(STRANGE + i, head_of(1, 0));
	for (uint32_t i = 0; i < FULL; i++)
		expect_event(ENGINE_EVENT_PEER_HELD, STRANGE + i);
	assert_int_equal(counts()->held, FULL);
	assert_int_equal(counts()->drop_full, 1);
	assert_int_equal(answers(&h, &tx), FULL);
	/* Who goes on is held; who is silent is not. */
	now += LONG_NS / 2;
	feed(STRANGE, head_of(2, 0));
	assert_int_equal(answers(&h, &tx), 1);
	now += LONG_NS / 2 + 1;
	assert_int_equal(answers(&h, &tx), 0);
	assert_int_equal(counts()->released, FULL - 1);
	/* Until that was told of, whoever drives it holds them still. */
	feed(STRANGE + FULL, head_of(1, 0));
	assert_int_equal(counts()->drop_full, 2);
	expect_released(FULL - 1);
	feed(STRANGE, head_of(3, BYTES));
	assert_int_equal(counts()->rx_data, FULL + 2);
	feed(STRANGE + FULL, head_of(1, 0));
	assert_int_equal(counts()->held, FULL + 1);
	expect_event(ENGINE_EVENT_PEER_HELD, STRANGE + FULL);
	assert_int_equal(answers(&h, &tx), 2);
	now += 2 * LONG_NS;
	assert_int_equal(answers(&h, &tx), 0);
	assert_int_equal(counts()->released, FULL + 1);
	expect_released(2);
	expect_no_event();
	assert_true(s.ops->deadline(s.e, engine_may_all(1)) == NSEC_NEVER);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, finish)

static const struct CMUnitTest cases[] = {
	CASE(a_write_opens_a_context),
	CASE(what_is_not_allowed_opens_none),
	CASE(immediate_data_waits_for_a_completion),
	CASE(so_many_completions_can_be_lent),
	CASE(contexts_are_bounded_and_released),
};
CHECK_MAIN(cases)
