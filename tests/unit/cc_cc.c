/* cc/cc.h: the fixed window, the pacer, and every field of a configuration. The pacer is seen
 * through a DCQCN flow whose rate a test holds still. */
#include "cc/cc.h"

#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"

__extension__ typedef unsigned __int128 u128;

static const struct cc_cfg fixed_cfg = {.kind = CC_FIXED, .window_bytes = 123456};

/* Cut once, its rate is (line + 1) / 2 and stays so for 10 s. */
static struct cc_cfg still_cfg(uint64_t rate_bps, nsec slack_ns)
{
	return (struct cc_cfg){
		.kind = CC_DCQCN,
		.window_bytes = 1 << 20,
		.line_rate_bps = 2 * rate_bps,
		.slack_ns = slack_ns,
		.dcqcn = {.increase_ns = DCQCN_NS_MAX,
			  .increase_bytes = UINT32_MAX,
			  .least_bps = CC_BPS_MIN},
	};
}

static void start_still(struct cc *c, const struct cc_cfg *cfg, nsec now)
{
	cc_start(c, cfg, now);
	cc_on_notice(c, now);
	assert_int_equal(cc_grant(c).rate_bps, cfg->line_rate_bps / 2);
}

static void the_fixed_window_never_moves(void **state)
{
	struct cc_ack ack = {.now = 2000, .rtt_ns = 900, .bytes = 4096, .is_marked = true};
	struct cc c;

	(void)state;
	cc_start(&c, &fixed_cfg, 1000);
	assert_string_equal(c.ops->name, "fixed");
	for (nsec now = 1000; now < 100000; now += 1000) {
		cc_on_sent(&c, now, 1 << 20);
		assert_true(cc_next_send(&c) <= now);
		ack.now = now;
		cc_on_ack(&c, &ack);
		cc_on_notice(&c, now);
		for (enum cc_loss loss = CC_LOSS_GAP; loss <= CC_LOSS_REFUSED; loss++)
			cc_on_loss(&c, &ack, loss);
		cc_on_timer(&c, now);
		assert_int_equal(cc_grant(&c).window_bytes, 123456);
		assert_int_equal(cc_grant(&c).rate_bps, CC_UNPACED);
		assert_int_equal(cc_deadline(&c), NSEC_NEVER);
	}
}

/* What the bytes sent so far take at this rate, to the nanosecond begun. */
static nsec time_of(uint64_t bytes, uint64_t rate_bps)
{
	return (nsec)((u128)bytes * 8 * 1000000000 / rate_bps);
}

/* A million packets, each sent at its time: the last is where one sum puts it. */
static void pacing_does_not_drift(void **state)
{
	static const uint64_t rates[] = {
		CC_BPS_MIN,           999983,
		UINT64_C(7777777777), UINT64_C(33333333333),
		UINT64_C(8000000000), UINT64_C(399999999989),
	};
	const nsec start = 123456789;
	uint64_t seed = check_seed(0xcc0);

	(void)state;
	for (uint32_t n = 0; n < sizeof rates / sizeof rates[0]; n++) {
		struct cc_cfg cfg = still_cfg(rates[n], 0);
		/* The slow ones would outlive their 10 s. */
		uint32_t packets = n < 2 ? 300 : 1000000;
		uint64_t bytes = 0;
		struct prng p;
		struct cc c;

		prng_init(&p, seed, n);
		start_still(&c, &cfg, start);
		assert_int_equal(cc_next_send(&c), start);
		for (uint32_t i = 0; i < packets; i++) {
			uint32_t len = n < 2 ? 1 + i % 3 : 64 + (uint32_t)prng_below(&p, 4096);

			cc_on_sent(&c, cc_next_send(&c), len);
			bytes += len;
			assert_int_equal(cc_next_send(&c), start + time_of(bytes, rates[n]));
		}
	}
}

/* Also when the driver takes the packets in bursts, ahead of their time. */
static void a_burst_is_paid_for_whole(void **state)
{
	struct cc_cfg cfg = still_cfg(10000000000, 0);
	struct cc c;

	(void)state;
	start_still(&c, &cfg, 5000);
	for (uint32_t i = 1; i <= 1000; i++) {
		cc_on_sent(&c, 5000, 4170);
		assert_int_equal(cc_next_send(&c), 5000 + time_of(UINT64_C(4170) * i, 10000000000));
	}
	/* The largest there is. */
	start_still(&c, &cfg, 5000);
	cc_on_sent(&c, 5000, INT32_MAX);
	assert_int_equal(cc_next_send(&c), 5000 + time_of(INT32_MAX, 10000000000));
}

static void idling_earns_nothing(void **state)
{
	struct cc_cfg cfg = still_cfg(3000000000, 0);
	nsec now = 1000;
	struct cc c;

	(void)state;
	start_still(&c, &cfg, now);
	/* 1 ns late or a second late: the next waits for the whole packet, 333.33 ns. */
	for (nsec late = 1; late < 5000000000; late *= 10) {
		now = cc_next_send(&c) + late;
		cc_on_sent(&c, now, 125);
		assert_int_equal(cc_next_send(&c), now + 333);
		/* On time: the thirds add up. */
		cc_on_sent(&c, now + 333, 125);
		assert_int_equal(cc_next_send(&c), now + 666);
		cc_on_sent(&c, now + 666, 125);
		assert_int_equal(cc_next_send(&c), now + 1000);
		/* The third left over here is forgotten by the next, which is late. */
		cc_on_sent(&c, now + 1000, 125);
		assert_int_equal(cc_next_send(&c), now + 1333);
	}
}

/* A driver that wakes every 50 us, with a slack of 60, sends what the rate allows. */
static void slack_makes_up_for_late_waking(void **state)
{
	const uint64_t rate = 10000000000;
	struct cc_cfg cfg = still_cfg(rate, 60000);
	uint64_t bytes = 0;
	struct cc c;

	(void)state;
	start_still(&c, &cfg, 1000000);
	for (nsec now = 1000000; now <= 101000000; now += 50000) {
		uint32_t burst = 0;

		for (; cc_next_send(&c) <= now; burst++) {
			cc_on_sent(&c, now, 4170);
			bytes += 4170;
		}
		assert_in_range(burst, now == 1000000 ? 1 : 14, now == 1000000 ? 1 : 15);
		assert_int_equal(cc_next_send(&c), 1000000 + time_of(bytes, rate));
	}
	assert_in_range(bytes, 125000000, 125000000 + 4170);
}

static void slack_has_its_bound(void **state)
{
	const uint64_t rate = 8000000000; /* a byte per nanosecond */
	struct cc_cfg cfg = still_cfg(rate, 60000);
	struct cc c;

	(void)state;
	start_still(&c, &cfg, 1000000);
	cc_on_sent(&c, 1000000, 1000);
	assert_int_equal(cc_next_send(&c), 1001000);
	/* Exactly as late as allowed, then one later. */
	cc_on_sent(&c, 1061000, 1000);
	assert_int_equal(cc_next_send(&c), 1002000);
	cc_on_sent(&c, 1062001, 1000);
	assert_int_equal(cc_next_send(&c), 1003001);
	cc_on_sent(&c, 900000000, 1000);
	assert_int_equal(cc_next_send(&c), 900000000 - 60000 + 1000);
	/* Near the epoch there is nothing before it. */
	start_still(&c, &cfg, 10);
	cc_on_sent(&c, 20, 1000);
	assert_int_equal(cc_next_send(&c), 1010);
}

/* What was sent unpaced is no saving: after the cut the next packet is due at once, one only. */
static void a_cut_starts_with_empty_hands(void **state)
{
	struct cc_cfg cfg = still_cfg(8000000000, 60000);
	struct cc c;

	(void)state;
	cc_start(&c, &cfg, 0);
	for (nsec now = 0; now <= 1000000; now += 1000) {
		assert_true(cc_next_send(&c) <= now);
		cc_on_sent(&c, now, 4096);
	}
	cc_on_notice(&c, 1000000);
	assert_int_equal(cc_next_send(&c), 1000000);
	cc_on_sent(&c, 1000000, 4096);
	assert_int_equal(cc_next_send(&c), 1004096);
}

/* Each change of rate may cost or win less than a nanosecond; packets between are exact. */
static void pacing_survives_changes_of_rate(void **state)
{
	struct cc_cfg cfg = {
		.kind = CC_DCQCN,
		.window_bytes = 1,
		.line_rate_bps = 399999999989,
		.dcqcn = {.cut_every_ns = 1, .alpha_ns = 1000, .least_bps = 999983},
	};
	struct prng p;
	nsec at = 777;
	struct cc c;

	(void)state;
	prng_init(&p, check_seed(0xcc1), 0);
	cc_start(&c, &cfg, at);
	cc_on_notice(&c, at);
	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t len = 64 + (uint32_t)prng_below(&p, 9000);
		nsec before = cc_next_send(&c);
		uint64_t rate;

		at = before > at ? before : at;
		cc_on_timer(&c, at);
		if (prng_chance(&p, 1, 50) || cc_deadline(&c) == NSEC_NEVER)
			cc_on_notice(&c, at);
		rate = cc_grant(&c).rate_bps;
		cc_on_sent(&c, at, len);
		assert_in_range(cc_next_send(&c) - at, time_of(len, rate), time_of(len, rate) + 1);
	}
}

static void each_bad_field_is_named(void **state)
{
	const struct cc_cfg good = {
		.kind = CC_DCQCN, .window_bytes = 1, .line_rate_bps = 100000000000};
	struct cc_cfg cfg;

	(void)state;
	assert_null(cc_cfg_problem(&good));
	assert_null(cc_cfg_problem(&fixed_cfg));
#define CHECK_FIELD(field, value, word)                                                           \
	do {                                                                                      \
		cfg = good;                                                                       \
		cfg.field = (value);                                                              \
		const char *problem = cc_cfg_problem(&cfg);                                       \
		const char *expected = (word);                                                    \
		if (!problem != !expected || (problem && expected && !strstr(problem, expected))) \
			fail_msg("%s = %s: %s", #field, #value, problem);                         \
	} while (0)
	CHECK_FIELD(kind, CC_NSCC + 1, "controller");
	CHECK_FIELD(kind, 255, "controller");
	CHECK_FIELD(window_bytes, 0, "window");
	CHECK_FIELD(window_bytes, UINT64_MAX, NULL);
	CHECK_FIELD(slack_ns, CC_SLACK_MAX_NS, NULL);
	CHECK_FIELD(slack_ns, CC_SLACK_MAX_NS + 1, "slack");
	CHECK_FIELD(line_rate_bps, 0, "line rate");
	CHECK_FIELD(line_rate_bps, CC_BPS_MIN - 1, "line rate");
	CHECK_FIELD(line_rate_bps, CC_BPS_MIN, NULL);
	CHECK_FIELD(line_rate_bps, CC_BPS_MAX, NULL);
	CHECK_FIELD(line_rate_bps, CC_BPS_MAX + 1, "line rate");
	CHECK_FIELD(dcqcn.g_shift, 1, NULL);
	CHECK_FIELD(dcqcn.g_shift, 10, NULL);
	CHECK_FIELD(dcqcn.g_shift, 11, "alpha");
	CHECK_FIELD(dcqcn.g_shift, UINT32_MAX, "alpha");
	CHECK_FIELD(dcqcn.cut_every_ns, DCQCN_NS_MAX, NULL);
	CHECK_FIELD(dcqcn.cut_every_ns, DCQCN_NS_MAX + 1, "cuts");
	CHECK_FIELD(dcqcn.alpha_ns, DCQCN_NS_MAX, NULL);
	CHECK_FIELD(dcqcn.alpha_ns, DCQCN_NS_MAX + 1, "alpha decays");
	CHECK_FIELD(dcqcn.increase_ns, DCQCN_NS_MAX, NULL);
	CHECK_FIELD(dcqcn.increase_ns, NSEC_NEVER, "increase timer");
	CHECK_FIELD(dcqcn.increase_bytes, 65536, NULL);
	CHECK_FIELD(dcqcn.increase_bytes, 65535, "byte counter");
	CHECK_FIELD(dcqcn.increase_bytes, UINT32_MAX, NULL);
	CHECK_FIELD(dcqcn.fast_rounds, 255, NULL);
	CHECK_FIELD(dcqcn.fast_rounds, 256, "fast recovery");
	CHECK_FIELD(dcqcn.additive_bps, 1, NULL);
	CHECK_FIELD(dcqcn.additive_bps, CC_BPS_MAX + 1, "additive");
	CHECK_FIELD(dcqcn.hyper_bps, 1, NULL);
	CHECK_FIELD(dcqcn.hyper_bps, CC_BPS_MAX + 1, "hyper");
	CHECK_FIELD(dcqcn.least_bps, CC_BPS_MIN - 1, "least");
	CHECK_FIELD(dcqcn.least_bps, 100000000000, NULL);
	CHECK_FIELD(dcqcn.least_bps, 100000000001, "least");
	/* The fixed window does not look at what it has no use for. */
	cfg = fixed_cfg;
	cfg.dcqcn.g_shift = 99;
	assert_null(cc_cfg_problem(&cfg));
}

static void start_without_window(void *context)
{
	struct cc_cfg cfg = {.kind = CC_FIXED};

	cc_start(context, &cfg, 0);
}

static void send_too_much(void *context)
{
	cc_start(context, &fixed_cfg, 0);
	cc_on_sent(context, 0, UINT32_C(1) << 31);
}

static void mistakes_abort(void **state)
{
	struct cc c;

	(void)state;
	assert_true(check_aborts(start_without_window, &c));
	assert_true(check_aborts(send_too_much, &c));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(the_fixed_window_never_moves),
	cmocka_unit_test(pacing_does_not_drift),
	cmocka_unit_test(a_burst_is_paid_for_whole),
	cmocka_unit_test(idling_earns_nothing),
	cmocka_unit_test(slack_makes_up_for_late_waking),
	cmocka_unit_test(slack_has_its_bound),
	cmocka_unit_test(a_cut_starts_with_empty_hands),
	cmocka_unit_test(pacing_survives_changes_of_rate),
	cmocka_unit_test(each_bad_field_is_named),
	cmocka_unit_test(mistakes_abort),
};

CHECK_MAIN(cases)
