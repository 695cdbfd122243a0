/* What the requester of RC makes of ports that are down. */
#include "rc_requester.h"

/* Nothing leaves for so many timeouts. */
static void shut_for(uint32_t timeouts)
{
	static const uint16_t shut[ENGINE_PORTS] = {0};

	for (uint32_t i = 0; i < timeouts; i++) {
		now += TIMEOUT_NS(TIMEOUT) + WIDTH;
		assert_int_equal(end_pull(&s, now, shut, 0), 0);
	}
}

/* As if packets were sent to nowhere, whether the work was there before the port went or came
 * after. A port that is back in time is in time, and one that is only full is waited for. */
static void silence_of_a_port_that_is_down(void **state)
{
	(void)state;
	for (uint32_t order = 0; order < 2; order++) {
		begin_connected();
		if (order)
			POST(.code = ENGINE_WRITE);
		shut_for(10);
		rc_ports_down(s.e, now, 1);
		if (!order)
			POST(.code = ENGINE_WRITE);
		shut_for(3);
		EXPECT_COUNT(timeouts, 3);
		rc_ports_down(s.e, now, 0);
		shut_for(10);
		EXPECT_COUNT(timeouts, 3);
		expect_counts(1, 0);
		ack(0);
		expect_sent(1, ENGINE_WRITE, ENGINE_OK);
		rc_ports_down(s.e, now, 1);
		shut_for(10);
		POST(.code = ENGINE_WRITE);
		shut_for(4);
		expect_sent(2, ENGINE_WRITE, ENGINE_RETRY_EXCEEDED);
		check_end();
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(silence_of_a_port_that_is_down),
};

CHECK_MAIN(cases)
