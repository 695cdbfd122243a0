/* engine/ladder.h: every move between states, drawn from IBTA 10.3.1 by hand. */
#include "check.h"
#include "engine/ladder.h"

#define STATES (ENGINE_ERROR + 1)

/* By row from where, by column to where, in the order of enum engine_state; '.': there is no such
 * move; '-': nothing begins; else what does. */
static const char *const moves[STATES] = {
	[ENGINE_RESET] = "--...-", [ENGINE_INIT] = "--t..-", [ENGINE_RTR] = "-..s.-",
	[ENGINE_RTS] = "-..-d-",   [ENGINE_SQD] = "-..r--",  [ENGINE_ERROR] = "-....-",
};

static char letter_of(struct engine_move m)
{
	switch (engine_begins(m)) {
	case ENGINE_BEGINS_TO_TAKE: return 't';
	case ENGINE_BEGINS_TO_SEND: return 's';
	case ENGINE_BEGINS_TO_DRAIN: return 'd';
	case ENGINE_BEGINS_TO_RESUME: return 'r';
	case ENGINE_BEGINS_TO_FAIL: return 'f';
	default: return '-';
	}
}

static void every_move(void **state)
{
	(void)state;
	for (uint32_t from = 0; from < STATES; from++)
		for (uint32_t to = 0; to < STATES; to++) {
			struct engine_move m = {(uint8_t)from, (uint8_t)to};
			bool is_end = to == ENGINE_ERROR && from != ENGINE_ERROR;

			assert_int_equal(engine_may_move(m), moves[from][to] != '.');
			if (engine_may_move(m))
				assert_int_equal(letter_of(m), is_end ? 'f' : moves[from][to]);
		}
	assert_false(engine_may_move((struct engine_move){ENGINE_RTS, STATES}));
}

/* An engine may change other things than the state, in any of them. */
static void to_stay_begins_nothing(void **state)
{
	(void)state;
	for (uint32_t at = 0; at < STATES; at++)
		assert_int_equal(engine_begins((struct engine_move){(uint8_t)at, (uint8_t)at}),
				 ENGINE_BEGINS_NOTHING);
}

/* IBTA tables 91 and 10.3.1: RESET, INIT, RTR, RTS, SQD, ERROR. */
static void what_each_state_takes(void **state)
{
	static const bool receiving[STATES] = {0, 0, 1, 1, 1, 0};
	static const bool sending[STATES] = {0, 0, 0, 1, 1, 0};
	static const bool sends[STATES] = {0, 0, 0, 1, 1, 1};
	static const bool receives[STATES] = {0, 1, 1, 1, 1, 1};

	(void)state;
	for (uint32_t at = 0; at < STATES; at++) {
		assert_int_equal(engine_is_receiving((uint8_t)at), receiving[at]);
		assert_int_equal(engine_is_sending((uint8_t)at), sending[at]);
		assert_int_equal(engine_takes_sends((uint8_t)at), sends[at]);
		assert_int_equal(engine_takes_receives((uint8_t)at), receives[at]);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(every_move),
	cmocka_unit_test(to_stay_begins_nothing),
	cmocka_unit_test(what_each_state_takes),
};

CHECK_MAIN(cases)
