/* cc/dcqcn.h: a sequence worked out by hand, the bounds, and random calls beside a model that runs
 * every timer one by one. */
#include "cc/dcqcn.h"

#include "base/prng.h"
#include "cc/cc.h"
#include "check.h"

__extension__ typedef unsigned __int128 u128;

#define US   UINT64_C(1000)
#define GBS  UINT64_C(1000000000)
#define LINE (40 * GBS)
#define T0   (UINT64_C(1000) * US)

/* All defaults. */
static const struct cc_cfg plain = {
	.kind = CC_DCQCN, .window_bytes = 1 << 20, .line_rate_bps = LINE};

static uint64_t rate_of(const struct cc *c)
{
	return cc_grant(c).rate_bps;
}

static void a_flow_starts_at_line_rate(void **state)
{
	struct cc c;

	(void)state;
	cc_start(&c, &plain, T0);
	assert_string_equal(c.ops->name, "dcqcn");
	assert_int_equal(cc_grant(&c).window_bytes, 1 << 20);
	assert_int_equal(rate_of(&c), CC_UNPACED);
	assert_int_equal(cc_deadline(&c), NSEC_NEVER);
	assert_int_equal(cc_next_send(&c), T0);
	/* Nothing but a notice changes that. */
	cc_on_sent(&c, T0, 1 << 30);
	cc_on_ack(&c, &(struct cc_ack){.now = T0 + 5, .bytes = 1 << 20, .is_marked = true});
	for (enum cc_loss loss = CC_LOSS_GAP; loss <= CC_LOSS_REFUSED; loss++)
		cc_on_loss(&c, &(struct cc_ack){.now = T0 + 6, .bytes = 1 << 20}, loss);
	cc_on_timer(&c, T0 + 1000 * US);
	assert_int_equal(rate_of(&c), CC_UNPACED);
	assert_int_equal(cc_deadline(&c), NSEC_NEVER);
}

/* Two cuts by half, as alpha starts at 1 and does not decay in 4 us; five rounds halfway back;
 * steps of 40 Mb/s; hyper increase once both counters are beyond five; a third cut by an alpha that
 * decayed 49 times. */
static void a_known_sequence_gives_known_rates(void **state)
{
	static const uint64_t by_timer[] = {
		15000000000, 17500000000, 18750000000, 19375000000,
		19687500000, 19863750000, 19971875000, 20045937500,
	};
	static const uint64_t by_bytes[] = {
		20102968750, 20151484375, 20195742188, 20237871094,
		20278935547, 20319467774, 20539733887, 20849866944,
	};
	nsec cut = T0 + 4 * US, at = cut;
	struct cc c;

	(void)state;
	cc_start(&c, &plain, 0);
	cc_on_notice(&c, T0);
	assert_int_equal(rate_of(&c), LINE / 2);
	assert_int_equal(cc_deadline(&c), T0 + 300 * US);
	cc_on_notice(&c, cut);
	assert_int_equal(rate_of(&c), LINE / 4);
	for (uint32_t i = 0; i < 8; i++) {
		at += 300 * US;
		assert_int_equal(cc_deadline(&c), at);
		cc_on_timer(&c, at - 1);
		assert_int_equal(rate_of(&c), i == 0 ? LINE / 4 : by_timer[i - 1]);
		cc_on_timer(&c, at);
		assert_int_equal(rate_of(&c), by_timer[i]);
	}
	for (uint32_t i = 0; i < 8; i++) {
		cc_on_sent(&c, at, (10 << 20) - 1);
		assert_int_equal(rate_of(&c), i == 0 ? by_timer[7] : by_bytes[i - 1]);
		cc_on_sent(&c, at, 1);
		assert_int_equal(rate_of(&c), by_bytes[i]);
	}
	cc_on_timer(&c, at + 300 * US);
	assert_int_equal(rate_of(&c), 21204933472);
	cc_on_notice(&c, cut + 2710 * US);
	assert_int_equal(rate_of(&c), 12452728735);
	assert_int_equal(cc_deadline(&c), cut + 3010 * US);
	/* Its target is the rate before it, and the rounds start anew. */
	cc_on_timer(&c, cut + 3010 * US);
	assert_int_equal(rate_of(&c), (12452728735 + UINT64_C(21204933472) + 1) / 2);
}

/* 20 Gb/s below line rate, halved: the 35th round arrives. 10.5 ms are 190 decays of alpha, and it
 * decays on where no timer runs: 55 us later once more, in an hour to nearly nothing. */
static void timers_stop_at_line_rate(void **state)
{
	nsec back = T0 + 35 * 300 * US, hour = UINT64_C(3600) * GBS;
	struct cc c, early, late;

	(void)state;
	cc_start(&c, &plain, 0);
	cc_on_notice(&c, T0);
	cc_on_timer(&c, back - 1);
	assert_int_equal(rate_of(&c), LINE - 1);
	assert_int_equal(cc_deadline(&c), back);
	cc_on_timer(&c, back);
	assert_int_equal(rate_of(&c), CC_UNPACED);
	assert_int_equal(cc_deadline(&c), NSEC_NEVER);
	cc_on_timer(&c, back + hour);
	cc_on_sent(&c, back + hour, 64 << 20);
	assert_int_equal(cc_deadline(&c), NSEC_NEVER);
	early = late = c;
	cc_on_notice(&early, T0 + 191 * 55 * US - 1);
	assert_int_equal(rate_of(&early), 30492399466);
	cc_on_notice(&late, T0 + 191 * 55 * US);
	assert_int_equal(rate_of(&late), 30529538524);
	cc_on_notice(&c, back + hour);
	assert_int_equal(rate_of(&c), 39999995251);
	assert_int_equal(cc_deadline(&c), back + hour + 300 * US);
}

/* Alpha is one at the first notice, however late that comes. */
static void alpha_waits_for_the_first_notice(void **state)
{
	struct cc c;

	(void)state;
	cc_start(&c, &plain, 0);
	cc_on_timer(&c, 1000 * T0);
	cc_on_notice(&c, 1000 * T0);
	assert_int_equal(rate_of(&c), LINE / 2);
}

static void a_flood_of_notices_cuts_every_4_us(void **state)
{
	uint64_t last = CC_UNPACED;
	uint32_t cuts = 0;
	struct cc c;

	(void)state;
	cc_start(&c, &plain, T0);
	for (nsec now = T0; now < T0 + 20 * US; now += 10) {
		cc_on_notice(&c, now);
		if (rate_of(&c) == last)
			continue;
		assert_true(rate_of(&c) < last);
		assert_int_equal((now - T0) % (4 * US), 0);
		last = rate_of(&c);
		cuts++;
	}
	assert_int_equal(cuts, 5);
	for (nsec now = T0 + 20 * US; now < T0 + 10000 * US; now += 1000) {
		cc_on_notice(&c, now);
		cc_on_sent(&c, now, 1 << 20);
		assert_true(rate_of(&c) >= 100000000);
	}
	assert_int_equal(rate_of(&c), 100000000);
	/* What comes too early to cut does not put off the way back either. */
	cc_on_notice(&c, T0 + 10000 * US - 1);
	assert_int_equal(cc_deadline(&c), T0 + (9996 + 300) * US);
}

static void the_least_rate_may_be_the_line_rate(void **state)
{
	struct cc_cfg cfg = plain;
	struct cc c;

	(void)state;
	cfg.line_rate_bps = 50000000; /* below the default of the least */
	cc_start(&c, &cfg, T0);
	cc_on_notice(&c, T0);
	assert_int_equal(rate_of(&c), CC_UNPACED);
	assert_int_equal(cc_deadline(&c), NSEC_NEVER);
	cfg.dcqcn.least_bps = 30000000;
	cc_on_notice(&c, T0 + 10 * US);
	assert_int_equal(rate_of(&c), 30000000);
}

/* A second call finds nothing to do, and so does one before the deadline. */
static void check_quiet(const struct cc *c, nsec now)
{
	struct cc again = *c;

	assert_true(cc_deadline(c) > now);
	cc_on_timer(&again, now);
	assert_int_equal(rate_of(&again), rate_of(c));
	assert_int_equal(cc_deadline(&again), cc_deadline(c));
	if (cc_deadline(c) == NSEC_NEVER)
		return;
	cc_on_timer(&again, cc_deadline(c) - 1);
	assert_int_equal(rate_of(&again), rate_of(c));
	assert_int_equal(cc_deadline(&again), cc_deadline(c));
}

/* Half a Pb/s to go in steps of 1 b/s, every microsecond: the 5e14 rounds of sixteen years, after
 * five of fast recovery and one to arrive, run in one call. */
static void a_long_idle_flow_catches_up_in_one_call(void **state)
{
	const struct cc_cfg cfg = {
		.kind = CC_DCQCN,
		.window_bytes = 1,
		.line_rate_bps = CC_BPS_MAX,
		.dcqcn = {.increase_ns = US, .additive_bps = 1, .cut_every_ns = 1},
	};
	const nsec back = 1 + (CC_BPS_MAX / 2 + 6) * US;
	struct cc c, early, late;

	(void)state;
	cc_start(&c, &cfg, 0);
	cc_on_notice(&c, 0);
	cc_on_notice(&c, 1);
	assert_int_equal(rate_of(&c), CC_BPS_MAX / 4);
	early = late = c;
	for (uint64_t rounds = 100; rounds < CC_BPS_MAX / 2; rounds *= 7) {
		cc_on_timer(&early, 1 + rounds * US);
		check_quiet(&early, 1 + rounds * US);
		/* One step behind its target. */
		assert_int_equal(rate_of(&early), CC_BPS_MAX / 2 + rounds - 5 - 1);
		assert_int_equal(cc_deadline(&early), 1 + (rounds + 1) * US);
	}
	cc_on_timer(&late, back - 1);
	assert_int_equal(rate_of(&late), CC_BPS_MAX - 1);
	assert_int_equal(cc_deadline(&late), back);
	cc_on_timer(&late, back);
	assert_int_equal(rate_of(&late), CC_UNPACED);
	cc_on_timer(&c, back);
	assert_int_equal(rate_of(&c), CC_UNPACED);
	cc_on_notice(&c, back);
	cc_on_notice(&late, back);
	assert_int_equal(rate_of(&c), rate_of(&late));
}

/* Steady at additive increase by bytes alone, a flow that falls idle still changes to hyper
 * increase as the timer's rounds add up. */
static void catching_up_does_not_skip_a_stage(void **state)
{
	struct cc timely, lazy;

	(void)state;
	cc_start(&timely, &plain, 0);
	for (uint32_t i = 0; i < 8; i++)
		cc_on_notice(&timely, T0 + i * 4 * US);
	cc_on_sent(&timely, T0 + 100 * US, 60 * (10 << 20));
	lazy = timely;
	for (uint32_t i = 0; i < 20; i++)
		cc_on_timer(&timely, T0 + 28 * US + (i + 1) * 300 * US);
	cc_on_timer(&lazy, T0 + 28 * US + 20 * 300 * US);
	assert_int_equal(rate_of(&lazy), rate_of(&timely));
	assert_int_equal(cc_deadline(&lazy), cc_deadline(&timely));
}

/* A notice, or bytes, find the timers run that were due before them. */
static void events_meet_the_timers_in_order(void **state)
{
	struct cc timely, lazy;

	(void)state;
	cc_start(&timely, &plain, 0);
	cc_on_notice(&timely, T0);
	lazy = timely;
	for (uint32_t i = 1; i <= 3; i++)
		cc_on_timer(&timely, T0 + i * 300 * US);
	cc_on_notice(&timely, T0 + 1000 * US);
	cc_on_notice(&lazy, T0 + 1000 * US);
	assert_int_equal(rate_of(&lazy), rate_of(&timely));
	for (uint32_t i = 1; i <= 7; i++)
		cc_on_timer(&timely, T0 + 1000 * US + i * 300 * US);
	cc_on_sent(&timely, T0 + 3200 * US, 10 << 20);
	cc_on_sent(&lazy, T0 + 3200 * US, 10 << 20);
	assert_int_equal(rate_of(&lazy), rate_of(&timely));
	assert_int_equal(cc_deadline(&lazy), cc_deadline(&timely));
}

static void many_bytes_at_once_are_as_many_rounds(void **state)
{
	struct cc whole, parts;

	(void)state;
	cc_start(&whole, &plain, 0);
	cc_on_notice(&whole, T0);
	cc_on_notice(&whole, T0 + 4 * US);
	parts = whole;
	cc_on_sent(&whole, T0 + 5 * US, 21 * (10 << 20) + 12345);
	for (uint32_t i = 0; i < 21; i++)
		cc_on_sent(&parts, T0 + 5 * US, 10 << 20);
	cc_on_sent(&parts, T0 + 5 * US, 12345);
	assert_int_equal(rate_of(&whole), rate_of(&parts));
	cc_on_sent(&whole, T0 + 6 * US, (10 << 20) - 12346);
	assert_int_equal(rate_of(&whole), rate_of(&parts));
	cc_on_sent(&whole, T0 + 6 * US, 1);
	assert_true(rate_of(&whole) > rate_of(&parts));
}

/* The model: every timer by itself, alpha's too, each at its time. */
struct model {
	struct dcqcn_cfg cfg; /* without zeros */
	uint64_t line, rate, target, alpha, sent;
	uint64_t timer_rounds, byte_rounds;
	nsec alpha_at, increase_at, cut_after;
};

static void model_round(struct model *o, uint64_t *rounds)
{
	uint64_t f = o->cfg.fast_rounds;

	if (o->timer_rounds > f && o->byte_rounds > f)
		o->target += o->cfg.hyper_bps;
	else if (o->timer_rounds >= f || o->byte_rounds >= f)
		o->target += o->cfg.additive_bps;
	if (o->target > o->line)
		o->target = o->line;
	o->rate = (o->rate + o->target + 1) / 2;
	++*rounds;
	if (o->rate == o->line)
		o->increase_at = NSEC_NEVER;
}

static void model_run(struct model *o, nsec now)
{
	while (o->alpha_at <= now || o->increase_at <= now) {
		if (o->alpha_at <= o->increase_at) {
			o->alpha_at += o->cfg.alpha_ns;
			o->alpha -= o->alpha >> o->cfg.g_shift;
		} else {
			o->increase_at += o->cfg.increase_ns;
			model_round(o, &o->timer_rounds);
		}
	}
}

static void model_sent(struct model *o, nsec now, uint32_t bytes)
{
	model_run(o, now);
	if (o->rate == o->line)
		return;
	for (o->sent += bytes; o->sent >= o->cfg.increase_bytes; o->sent -= o->cfg.increase_bytes)
		if (o->rate < o->line)
			model_round(o, &o->byte_rounds);
}

static void model_notice(struct model *o, nsec now)
{
	model_run(o, now);
	if (now < o->cut_after)
		return;
	o->target = o->rate;
	o->rate -= (uint64_t)((u128)o->rate * o->alpha / (UINT64_C(2) * DCQCN_ALPHA_ONE));
	if (o->rate < o->cfg.least_bps)
		o->rate = o->cfg.least_bps;
	o->alpha += (DCQCN_ALPHA_ONE - o->alpha) >> o->cfg.g_shift;
	o->timer_rounds = o->byte_rounds = o->sent = 0;
	o->cut_after = now + o->cfg.cut_every_ns;
	o->alpha_at = now + o->cfg.alpha_ns;
	o->increase_at = o->rate < o->line ? now + o->cfg.increase_ns : NSEC_NEVER;
}

static void draw_cfg(struct prng *p, struct cc_cfg *cfg)
{
	uint64_t line = prng_range(p, 1, 400) * GBS + prng_below(p, 1000);

	*cfg = (struct cc_cfg){
		.kind = CC_DCQCN,
		.window_bytes = 1 << 20,
		.line_rate_bps = line,
		.dcqcn =
			{
				.g_shift = (uint32_t)prng_range(p, 1, 10),
				.cut_every_ns = prng_range(p, 1, 50) * US,
				.alpha_ns = prng_range(p, 1, 100) * US,
				.increase_ns = prng_range(p, 1, 400) * US + prng_below(p, 2),
				.increase_bytes = (uint32_t)prng_range(p, 65536, 4 << 20),
				.fast_rounds = (uint32_t)prng_range(p, 1, 8),
				.additive_bps = prng_range(p, 1, line / 50),
				.hyper_bps = prng_range(p, 1, line / 5),
				.least_bps = prng_range(p, 1000, line),
			},
	};
	if (prng_chance(p, 1, 2))
		cfg->dcqcn.least_bps = 1000000;
}

static void step(struct cc *c, struct model *o, struct prng *p, nsec *now)
{
	uint32_t bytes = (uint32_t)prng_below(p, prng_chance(p, 1, 20) ? 8 << 20 : 65536);

	switch (prng_below(p, 16)) {
	case 0: *now += prng_below(p, 20000 * US); break;
	case 1 ... 6: *now += prng_below(p, 400 * US); break;
	case 7 ... 12: *now += prng_below(p, 5 * US); break;
	case 13:
		if (cc_deadline(c) != NSEC_NEVER && cc_deadline(c) > *now)
			*now = cc_deadline(c);
		break;
	default: break;
	}
	switch (prng_below(p, 8)) {
	case 0:
		cc_on_notice(c, *now);
		model_notice(o, *now);
		break;
	case 1 ... 4:
		cc_on_sent(c, *now, bytes);
		model_sent(o, *now, bytes);
		break;
	default: break;
	}
	cc_on_timer(c, *now);
	model_run(o, *now);
}

static void random_calls_agree_with_model(void **state)
{
	uint64_t seed = check_seed(0xdc9c);

	(void)state;
	for (uint32_t n = 0; n < 400; n++) {
		struct cc_cfg cfg;
		nsec now = 12345;
		struct prng p;
		struct cc c;

		prng_init(&p, seed, n);
		draw_cfg(&p, &cfg);
		assert_null(cc_cfg_problem(&cfg));
		struct model o = {
			.cfg = cfg.dcqcn,
			.line = cfg.line_rate_bps,
			.rate = cfg.line_rate_bps,
			.target = cfg.line_rate_bps,
			.alpha = DCQCN_ALPHA_ONE,
			.alpha_at = NSEC_NEVER,
			.increase_at = NSEC_NEVER,
		};

		cc_start(&c, &cfg, now);
		for (uint32_t i = 0; i < 2000; i++) {
			step(&c, &o, &p, &now);
			if (rate_of(&c) != (o.rate == o.line ? CC_UNPACED : o.rate) ||
			    cc_deadline(&c) != o.increase_at)
				fail_msg("configuration %u, step %u", n, i);
			assert_in_range(c.u.dcqcn.rate_bps, cfg.dcqcn.least_bps, o.line);
			assert_in_range(c.u.dcqcn.target_bps, c.u.dcqcn.rate_bps, o.line);
			assert_in_range(c.u.dcqcn.alpha, 0, DCQCN_ALPHA_ONE);
			check_quiet(&c, now);
		}
	}
}

static void one_cnp_in_an_interval(void **state)
{
	struct dcqcn_np np = {0};
	uint32_t sent = 0;

	(void)state;
	assert_true(dcqcn_np_notify(&np, 0, 50 * US));
	assert_false(dcqcn_np_notify(&np, 0, 50 * US));
	assert_false(dcqcn_np_notify(&np, 50 * US - 1, 50 * US));
	assert_true(dcqcn_np_notify(&np, 50 * US, 50 * US));
	/* The interval runs from the CNP sent, not from a marked packet between. */
	assert_false(dcqcn_np_notify(&np, 99 * US, 50 * US));
	assert_true(dcqcn_np_notify(&np, 120 * US, 50 * US));
	assert_false(dcqcn_np_notify(&np, 169 * US, 50 * US));
	for (nsec now = 200 * US; now < 1200 * US; now += 100)
		sent += dcqcn_np_notify(&np, now, 50 * US);
	assert_int_equal(sent, 20);
	/* No interval: one for every marked packet. */
	np = (struct dcqcn_np){0};
	assert_true(dcqcn_np_notify(&np, 7, 0));
	assert_true(dcqcn_np_notify(&np, 7, 0));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_flow_starts_at_line_rate),
	cmocka_unit_test(a_known_sequence_gives_known_rates),
	cmocka_unit_test(timers_stop_at_line_rate),
	cmocka_unit_test(alpha_waits_for_the_first_notice),
	cmocka_unit_test(a_flood_of_notices_cuts_every_4_us),
	cmocka_unit_test(the_least_rate_may_be_the_line_rate),
	cmocka_unit_test(a_long_idle_flow_catches_up_in_one_call),
	cmocka_unit_test(catching_up_does_not_skip_a_stage),
	cmocka_unit_test(events_meet_the_timers_in_order),
	cmocka_unit_test(many_bytes_at_once_are_as_many_rounds),
	cmocka_unit_test(random_calls_agree_with_model),
	cmocka_unit_test(one_cnp_in_an_interval),
};

CHECK_MAIN(cases)
