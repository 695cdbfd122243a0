/* cc/nscc.h: the defaults worked out by hand, each rule by itself, the corners of what may be
 * configured, and the mean delay beside one that keeps every packet. cc_nscc_model.c has random
 * events, cc_nscc_queue.c flows that share a queue. */
#include "cc/nscc.h"

#include <string.h>

#include "base/prng.h"
#include "cc/cc.h"
#include "check.h"

#define US  UINT64_C(1000)
#define GBS UINT64_C(1000000000)
#define ONE (UINT64_C(1) << 32)
#define MTU 4000u
#define T0  (UINT64_C(5000) * US)

/* 100 Gb/s and 12 us: BDP is base_BDP, both scalings are 1, and MaxWnd is 225000. */
#define BASE 12000u
static const struct cc_cfg plain = {
	.kind = CC_NSCC,
	.window_bytes = UINT64_MAX,
	.line_rate_bps = 100 * GBS,
	.nscc = {.base_rtt_ns = BASE, .mtu_bytes = MTU},
};

/* Within the errors that nscc.c states for one acknowledgement. */
static void assert_cwnd(const struct cc *c, double expected)
{
	double cwnd = (double)c->u.nscc.cwnd_q24 / (1 << 24);
	double most = 1 / expected + expected * 1e-9 + 1e-6;

	if (cwnd < expected - most || cwnd > expected + most)
		fail_msg("cwnd is %.6f, not %.6f", cwnd, expected);
	assert_int_equal(cc_grant(c).window_bytes, (c->u.nscc.cwnd_q24 >> 24) - MTU + 1);
}

static void start_at(struct cc *c, const struct cc_cfg *cfg, uint32_t cwnd)
{
	cc_start(c, cfg, T0);
	c->u.nscc.cwnd_q24 = (uint64_t)cwnd << 24;
}

/* An acknowledgement, 50000 bytes still out. */
static struct cc_ack late(nsec now, nsec delay, uint32_t bytes)
{
	return (struct cc_ack){
		.now = now, .rtt_ns = BASE + delay, .bytes = bytes, .out_bytes = 50000};
}

static void ack(struct cc *c, nsec now, nsec delay, uint32_t bytes)
{
	struct cc_ack a = late(now, delay, bytes);

	cc_on_ack(c, &a);
}

static void ack_marked(struct cc *c, nsec now, nsec delay, uint32_t bytes)
{
	struct cc_ack a = late(now, delay, bytes);

	a.is_marked = true;
	cc_on_ack(c, &a);
}

static void defaults_of_400_gbs_and_12_us(void **state)
{
	const struct nscc_cfg cfg = {.base_rtt_ns = 12000, .mtu_bytes = 4096};
	struct nscc_cfg a = nscc_complete(&cfg, 400 * GBS);

	(void)state;
	assert_int_equal(a.sender_bps, 400 * GBS);
	assert_int_equal(a.receiver_bps, 400 * GBS);
	assert_int_equal(a.bdp_bytes, 600000);
	assert_int_equal(a.max_wnd_bytes, 900000);
	assert_int_equal(a.base_bdp_bytes, 150000);
	assert_int_equal(a.target_qdelay_ns, 12000);
	assert_int_equal(a.qa_threshold_ns, 48000);
	assert_int_equal(a.adjust_period_ns, 12000);
	assert_int_equal(a.near_ns, 6000);
	assert_int_equal(a.adjust_bytes, 32768);
	assert_int_equal(a.qa_gate, 3);
	assert_int_equal(a.gamma_q32, 3435973837); /* 0.8 */
	assert_int_equal(a.max_md_jump_q32, ONE / 2);
	assert_int_equal(a.scaling_a_q32, 4 * ONE);
	assert_int_equal(a.scaling_b_q32, ONE);
	/* 4 * 4 * 1 * 4096 / 12000 = 5.461333 bytes per ns */
	assert_int_equal(a.alpha_q40, UINT64_C(65536) * (UINT64_C(1) << 40) / 12000);
	assert_int_equal(a.fi_q24, UINT64_C(81920) << 24);
	assert_int_equal(a.fi_scale_q32, ONE);
	assert_int_equal(a.eta_q24, UINT64_C(24576) * (1 << 24) / 10); /* 2457.6 bytes */
}

static void defaults_of_100_gbs_and_5_us_with_trimming(void **state)
{
	const struct nscc_cfg cfg = {.base_rtt_ns = 5000, .mtu_bytes = 4096, .has_trimming = true};
	struct nscc_cfg a = nscc_complete(&cfg, 100 * GBS), again;

	(void)state;
	assert_int_equal(a.bdp_bytes, 62500);
	assert_int_equal(a.max_wnd_bytes, 93750);
	assert_int_equal(a.target_qdelay_ns, 3750);
	assert_int_equal(a.qa_threshold_ns, NSEC_NEVER);
	assert_int_equal(a.adjust_period_ns, 5000);
	assert_int_equal(a.near_ns, 1875);
	assert_int_equal(a.scaling_a_q32, UINT64_C(1789569706));  /* 0.416667 */
	assert_int_equal(a.scaling_b_q32, UINT64_C(1342177280));  /* 0.3125 */
	assert_in_range(a.alpha_q40, 625499947000, 625499948246); /* 0.568889 */
	assert_in_range(a.fi_q24, 143165576000, 143165576534);    /* 8533.33 */
	assert_int_equal(a.fi_scale_q32, 447392426);              /* 0.104167 */
	assert_in_range(a.eta_q24, 4294967200, 4294967296);       /* 256 */
	/* What is complete stays as it is. */
	again = nscc_complete(&a, 1);
	assert_true(again.alpha_q40 == a.alpha_q40 && again.eta_q24 == a.eta_q24);
	assert_true(again.sender_bps == a.sender_bps && again.near_ns == a.near_ns);
}

/* The receiver's speed and each parameter set moves what is derived from it, and nothing else. */
static void what_is_set_is_what_others_derive_from(void **state)
{
	struct nscc_cfg cfg = plain.nscc;
	struct nscc_cfg a;

	(void)state;
	cfg.receiver_bps = 25 * GBS;
	a = nscc_complete(&cfg, 100 * GBS);
	assert_int_equal(a.bdp_bytes, 37500);
	assert_int_equal(a.scaling_a_q32, ONE / 4);
	cfg.receiver_bps = 400 * GBS;
	assert_int_equal(nscc_complete(&cfg, 100 * GBS).bdp_bytes, 150000);
	cfg.bdp_bytes = 300000;
	a = nscc_complete(&cfg, 100 * GBS);
	assert_int_equal(a.max_wnd_bytes, 450000);
	assert_int_equal(a.fi_q24, UINT64_C(40000) << 24);
	cfg.base_bdp_bytes = 300000;
	assert_int_equal(nscc_complete(&cfg, 100 * GBS).scaling_a_q32, ONE);
	cfg.target_qdelay_ns = 6000;
	a = nscc_complete(&cfg, 100 * GBS);
	assert_int_equal(a.scaling_b_q32, ONE / 2);
	/* By scaling_b alpha does not depend on the target; quick adapt neither. */
	assert_int_equal(a.alpha_q40, UINT64_C(16000) * (UINT64_C(1) << 40) / 12000);
	assert_int_equal(a.qa_threshold_ns, 48000);
	assert_int_equal(a.near_ns, 3000);
	cfg.has_trimming = true;
	assert_int_equal(nscc_complete(&cfg, 100 * GBS).target_qdelay_ns, 6000);
	/* A product below one MTU leaves a window of one. */
	cfg = (struct nscc_cfg){.base_rtt_ns = 1000, .mtu_bytes = 4096};
	a = nscc_complete(&cfg, GBS);
	assert_int_equal(a.bdp_bytes, 125);
	assert_int_equal(a.max_wnd_bytes, 4096);
}

static void a_flow_starts_with_the_largest_window(void **state)
{
	struct cc_cfg cfg = plain;
	struct cc c;

	(void)state;
	cc_start(&c, &cfg, T0);
	assert_string_equal(c.ops->name, "nscc");
	assert_cwnd(&c, 225000);
	assert_int_equal(cc_grant(&c).window_bytes, 221001);
	assert_int_equal(cc_grant(&c).rate_bps, CC_UNPACED);
	assert_int_equal(cc_deadline(&c), NSEC_NEVER);
	cc_on_sent(&c, T0, 1 << 30);
	cc_on_notice(&c, T0);
	cc_on_timer(&c, T0);
	assert_cwnd(&c, 225000);
	/* A window of one MTU lets one packet go when nothing is out. */
	start_at(&c, &cfg, MTU);
	assert_int_equal(cc_grant(&c).window_bytes, 1);
	/* The engine's own limit holds here too. */
	cfg.window_bytes = 5000;
	cc_start(&c, &cfg, T0);
	assert_int_equal(cc_grant(&c).window_bytes, 5000);
}

/* fi 20000, alpha 4/3 bytes per ns, eta 600, adjustments after more than 32000 bytes, more than an
 * eighth of the window, or 12 us. */
static void increases_by_hand(void **state)
{
	struct cc_cfg cfg = plain;
	struct cc c;

	(void)state;
	cfg.nscc.max_wnd_bytes = 400000;
	start_at(&c, &cfg, 300000);
	for (uint32_t i = 0; i < 8; i++)
		ack(&c, T0, 13000, 4000);
	assert_cwnd(&c, 300000);
	ack(&c, T0, 12000, 4000); /* the target itself counts as late */
	assert_cwnd(&c, 300000 + 20000.0 * 36000 / 300000);
	/* What packets of a bunch of twelve bring does not wait for the next bunch. */
	start_at(&c, &plain, 48000);
	ack(&c, T0, 12000, 6000);
	assert_cwnd(&c, 48000);
	ack(&c, T0, 12000, 2000);
	assert_cwnd(&c, 48000 + 20000.0 * 8000 / 48000);
	start_at(&c, &plain, 100000);
	ack(&c, T0, 9000, 32001);
	assert_cwnd(&c, 100000 + 16000.0 / 12000 * 3000 * 32001 / 100000);
	/* After a round trip without a queue whatever there is counts. */
	start_at(&c, &plain, 100000);
	ack(&c, T0 + BASE - 1, 11999, 300);
	assert_cwnd(&c, 100000);
	ack(&c, T0 + BASE, 11999, 300);
	assert_cwnd(&c, 100000 + 16000.0 / 12000 * 600 / 100000);
	ack(&c, T0 + 2 * BASE - 1, 11999, 300);
	assert_cwnd(&c, 100000 + 16000.0 / 12000 * 600 / 100000);
	/* Never beyond the largest. */
	start_at(&c, &plain, 224999);
	ack(&c, T0 + BASE, 12000, UINT32_MAX);
	assert_cwnd(&c, 225000);
	/* Marked, and not late: nothing but eta. */
	start_at(&c, &plain, 100000);
	ack_marked(&c, T0 + BASE + 11998, 11999, 40000);
	assert_cwnd(&c, 100000);
	ack_marked(&c, T0 + BASE + 11999, 11999, 40000);
	assert_cwnd(&c, 100600);
}

/* eta comes once in a round trip as the last acknowledgement measured it, so as often for a flow
 * whose packets come in bunches as for one whose packets are spread. */
static void eta_comes_once_in_a_round_trip(void **state)
{
	struct cc_cfg cfg = plain;
	struct cc c;

	(void)state;
	start_at(&c, &cfg, 100000);
	ack_marked(&c, T0 + 17999, 6000, 40000);
	assert_cwnd(&c, 100000);
	ack_marked(&c, T0 + 18000, 6000, 40000);
	assert_cwnd(&c, 100600);
	/* A queue that is gone makes it shorter again, at once. */
	ack_marked(&c, T0 + 18000 + BASE - 1, 0, 40000);
	assert_cwnd(&c, 100600);
	ack_marked(&c, T0 + 18000 + BASE, 0, 40000);
	assert_cwnd(&c, 101200);
	/* From when it was due, however late its acknowledgement is. */
	ack_marked(&c, T0 + 18000 + 2 * BASE + BASE / 2, 0, 40000);
	ack_marked(&c, T0 + 18000 + 3 * BASE, 0, 40000);
	assert_cwnd(&c, 102400);
	/* Not for times in which nothing came. */
	ack_marked(&c, T0 + 18000 + 7 * BASE, 0, 40000);
	ack_marked(&c, T0 + 18000 + 8 * BASE - 1, 0, 40000);
	assert_cwnd(&c, 103000);
	/* A longer period counts instead. */
	cfg.nscc.adjust_period_ns = 3 * BASE;
	start_at(&c, &cfg, 100000);
	ack_marked(&c, T0 + 3 * BASE - 1, 6000, 40000);
	assert_cwnd(&c, 100000);
	ack_marked(&c, T0 + 3 * BASE, 6000, 40000);
	assert_cwnd(&c, 100600);
}

static void fast_increase_ends_at_any_sign(void **state)
{
	struct cc c;

	(void)state;
	for (uint32_t sign = 0; sign < 9; sign++) {
		struct cc_ack bad = late(T0, 0, 0);

		start_at(&c, &plain, 40000);
		/* fi_count must pass half of cwnd, which grows meanwhile by the other rule. */
		ack(&c, T0, 750, 20000);
		assert_cwnd(&c, 40000 + 16000.0 / 12000 * 11250 / 2);
		ack(&c, T0, 750, 3700);
		assert_false(c.u.nscc.is_fast_increase);
		ack(&c, T0, 0, 100);
		assert_true(c.u.nscc.is_fast_increase);
		assert_cwnd(&c, 47500 + 25);
		ack(&c, T0, 750, 2000);
		assert_cwnd(&c, 48025);
		switch (sign) {
		case 0: bad.rtt_ns += 6001; break;
		case 1: bad.rtt_ns += 12000; break;
		case 2: bad.is_marked = true; break;
		case 3: bad.rtt_ns = 0, bad.is_marked = true; break;
		case 4: bad.penalty = 1; break;
		default: break;
		}
		if (sign < 5)
			cc_on_ack(&c, &bad);
		else
			cc_on_loss(&c, &bad, (enum cc_loss)(sign - 5));
		assert_false(c.u.nscc.is_fast_increase);
		assert_int_equal(c.u.nscc.fi_bytes, 0);
	}
	/* A peer without room is no sign of the network. */
	start_at(&c, &plain, 40000);
	ack(&c, T0, 0, 20001);
	assert_true(c.u.nscc.is_fast_increase);
	struct cc_ack refused = late(T0, 0, 4000);

	cc_on_loss(&c, &refused, CC_LOSS_REFUSED);
	assert_true(c.u.nscc.is_fast_increase);
	assert_cwnd(&c, 40000 + 5000.25);
}

static void a_cut_once_in_a_round_trip_and_by_half_at_most(void **state)
{
	struct cc_cfg cfg = plain;
	struct cc c;

	(void)state;
	cfg.nscc.has_no_quick_adapt = true;
	start_at(&c, &cfg, 100000);
	/* Not in the first round trip, and not at base_rtt exactly. */
	ack_marked(&c, T0 + BASE, 24000, 1);
	assert_cwnd(&c, 100000);
	ack_marked(&c, T0 + BASE + 1, 24000, 1);
	assert_cwnd(&c, 60000);
	ack_marked(&c, T0 + 2 * BASE, 24000, 1);
	ack_marked(&c, T0 + 2 * BASE + 1, 24000, 1);
	assert_cwnd(&c, 60000);
	/* 0.8 * 9 / 10 would leave 0.28. */
	ack_marked(&c, T0 + 5 * BASE, 120000, 1);
	assert_cwnd(&c, 30000);
	/* Late itself, but the mean is not. */
	start_at(&c, &cfg, 100000);
	ack(&c, T0 + 2 * BASE, 1000, 1);
	ack_marked(&c, T0 + 2 * BASE, 23000, 1);
	assert_int_equal(c.u.nscc.cut_at, T0);
	ack_marked(&c, T0 + 2 * BASE, 12003, 1);
	assert_int_equal(c.u.nscc.cut_at, T0 + 2 * BASE);
	/* Never below one MTU. */
	start_at(&c, &cfg, MTU + 1);
	ack_marked(&c, T0 + 2 * BASE, 120000, 1);
	assert_cwnd(&c, MTU);
}

/* gate: less than 225000 / 8 = 28125 bytes in a stretch of base_rtt + target. */
static void quick_adapt_by_hand(void **state)
{
	struct cc_ack trim = late(T0, 0, 4000);
	struct cc c;

	(void)state;
	start_at(&c, &plain, 225000);
	/* The first trim begins a stretch: no more than the packet is taken off. */
	trim.rtt_ns = 0;
	trim.out_bytes = 300000;
	cc_on_loss(&c, &trim, CC_LOSS_TRIM);
	assert_cwnd(&c, 221000);
	assert_int_equal(c.u.nscc.qa_end, T0 + 24000);
	ack(&c, T0 + 23999, 12000, 20000);
	assert_cwnd(&c, 221000 + 20000.0 * 20000 / 221000);
	/* trigger_qa is remembered; what arrived since then is the window. */
	ack(&c, T0 + 24000, 0, 1000);
	assert_cwnd(&c, 21000);
	assert_int_equal(c.u.nscc.to_ignore_bytes, 50000);
	assert_int_equal(c.u.nscc.qa_end, T0 + 48000);
	/* 50000 bytes more do not count if marked, acknowledged or trimmed. */
	ack_marked(&c, T0 + 40000, 48000, 45000);
	assert_cwnd(&c, 21000);
	assert_int_equal(c.u.nscc.received_bytes, 0);
	trim.now = T0 + 40000;
	cc_on_loss(&c, &trim, CC_LOSS_TRIM_LAST_HOP);
	assert_cwnd(&c, 21000);
	trim.bytes = 1000;
	cc_on_loss(&c, &trim, CC_LOSS_TRIM);
	assert_cwnd(&c, 20000);
	/* 45000 arrived in this stretch: too many to be an incast. */
	trim.now = T0 + 48000;
	cc_on_loss(&c, &trim, CC_LOSS_TRIM);
	assert_cwnd(&c, 19000);
	assert_int_equal(c.u.nscc.qa_end, T0 + 72000);
	trim.now = T0 + 72000;
	cc_on_loss(&c, &trim, CC_LOSS_TRIM);
	assert_cwnd(&c, MTU);
}

/* A trim tells that there is no room for more than is in flight, whatever the window was; one
 * packet may follow. What is lost without a word does not tell that. */
static void a_trim_takes_what_was_never_in_flight(void **state)
{
	struct cc_ack trim = late(T0, 0, 4000);
	struct cc c;

	(void)state;
	start_at(&c, &plain, 225000);
	trim.rtt_ns = 0;
	trim.out_bytes = 96000;
	cc_on_loss(&c, &trim, CC_LOSS_GAP);
	assert_cwnd(&c, 221000);
	cc_on_loss(&c, &trim, CC_LOSS_TRIM_LAST_HOP);
	assert_cwnd(&c, 96000 + MTU);
	/* In step with what is in flight from then on. */
	trim.out_bytes = 92000 + MTU;
	cc_on_loss(&c, &trim, CC_LOSS_TRIM);
	assert_cwnd(&c, 92000 + MTU);
}

/* Without trims the mean delay is the sign: above 48 us, and of the mean, not of one packet. */
static void quick_adapt_by_delay(void **state)
{
	struct cc_cfg cfg = plain;
	struct cc c;

	(void)state;
	cfg.nscc.adjust_period_ns = NSCC_NS_MAX;
	for (uint32_t i = 0; i < 3; i++) {
		start_at(&c, &cfg, 225000);
		ack(&c, T0, 40000, 1);
		ack(&c, T0 + 20000, i == 0 ? 48001 : 47999, 10000);
		ack(&c, T0 + 24000, i < 2 ? 48001 : 900000, 10000);
		if (i == 1)
			assert_cwnd(&c, 225000);
		else
			assert_cwnd(&c, 20000);
	}
	/* Switches that trim say so themselves. */
	cfg.nscc.has_trimming = true;
	start_at(&c, &cfg, 200000);
	ack(&c, T0, 900000, 1);
	ack(&c, T0 + 24000, 900000, 1);
	assert_cwnd(&c, 200000);
}

static void losses_take_their_bytes_off(void **state)
{
	struct cc_ack lost = late(T0, 0, 5000);
	struct cc c;

	(void)state;
	start_at(&c, &plain, 100000);
	cc_on_loss(&c, &lost, CC_LOSS_GAP);
	assert_cwnd(&c, 95000);
	assert_int_equal(c.u.nscc.ignored_bytes, 5000);
	cc_on_loss(&c, &lost, CC_LOSS_TIMEOUT);
	assert_cwnd(&c, 90000);
	/* No sample of the path, whatever it carries. */
	lost.rtt_ns = 6000;
	cc_on_loss(&c, &lost, CC_LOSS_TIMEOUT);
	assert_int_equal(c.u.nscc.base_rtt_ns, BASE);
	cc_on_loss(&c, &lost, CC_LOSS_REFUSED);
	assert_int_equal(c.u.nscc.base_rtt_ns, 6000);
	assert_cwnd(&c, 85000);
	assert_int_equal(c.u.nscc.ignored_bytes, 15000);
	lost.bytes = UINT32_MAX;
	cc_on_loss(&c, &lost, CC_LOSS_TIMEOUT);
	assert_cwnd(&c, MTU);
}

static void a_shorter_path_shrinks_the_largest_window(void **state)
{
	struct cc_ack a = late(T0, 0, 0);
	struct cc c;

	(void)state;
	cc_start(&c, &plain, T0);
	a.held_ns = 3000;
	cc_on_ack(&c, &a);
	assert_int_equal(c.u.nscc.base_rtt_ns, 9000);
	assert_int_equal(c.u.nscc.max_wnd_bytes, 168750);
	assert_cwnd(&c, 168750);
	/* All of it held, or more than that: no sample. */
	a.held_ns = 12000;
	cc_on_ack(&c, &a);
	a.held_ns = 12001;
	cc_on_ack(&c, &a);
	assert_int_equal(c.u.nscc.base_rtt_ns, 9000);
	a.held_ns = 11999;
	cc_on_ack(&c, &a);
	assert_int_equal(c.u.nscc.base_rtt_ns, 1);
	assert_cwnd(&c, MTU);
}

static void a_penalty_shrinks_and_restores(void **state)
{
	struct cc_ack a = late(T0, 1000, 32000);
	struct cc c;

	(void)state;
	start_at(&c, &plain, 100000);
	a.out_bytes = 80000;
	a.penalty = 64;
	cc_on_ack(&c, &a);
	assert_cwnd(&c, 80000 - 16000); /* from what is out, and no increase beside it */
	a.out_bytes = 200000;
	a.penalty = 127;
	a.is_restored = true; /* not yet */
	cc_on_ack(&c, &a);
	assert_cwnd(&c, 64000 - 31750);
	a.penalty = 255; /* seven bits */
	a.bytes = 12800;
	cc_on_ack(&c, &a);
	assert_cwnd(&c, 32250 - 12700);
	a.bytes = UINT32_MAX;
	cc_on_ack(&c, &a);
	assert_cwnd(&c, MTU);
	a.penalty = 0;
	a.bytes = 0;
	a.is_restored = false;
	cc_on_ack(&c, &a);
	assert_cwnd(&c, MTU);
	a.is_restored = true;
	cc_on_ack(&c, &a);
	assert_cwnd(&c, 100000);
	a.rtt_ns = 0;
	cc_on_ack(&c, &a);
	assert_cwnd(&c, 100000);
	/* A path found shorter meanwhile bounds what is restored. */
	a.penalty = 1;
	cc_on_ack(&c, &a);
	a = late(T0, 0, 0);
	a.rtt_ns = BASE / 4;
	a.is_restored = true;
	cc_on_loss(&c, &a, CC_LOSS_REFUSED);
	cc_on_ack(&c, &a);
	assert_cwnd(&c, 56250);
}

/* Beside the mean of exactly the last base_rtt. Delays that rise and fall within four round trips
 * are met to a tenth; those that stay, exactly. */
static void the_mean_is_of_the_last_round_trip(void **state)
{
	static nsec delays[4096];
	struct cc_cfg cfg = plain;
	struct prng p;
	struct cc c;

	(void)state;
	prng_init(&p, check_seed(0x25cd), 0);
	cfg.nscc.has_no_quick_adapt = true;
	/* 60 packets in a round trip. Each is marked, and cuts: from that the mean is seen. */
	for (uint32_t is_wave = 0; is_wave < 2; is_wave++) {
		cc_start(&c, &cfg, T0);
		for (uint32_t i = 0; i < 4096; i++) {
			nsec now = T0 + 200 * (nsec)i, sum = 0;
			uint32_t at = i % 240, rise = at < 120 ? at : 240 - at;

			delays[i] = is_wave ? 20000 + 100 * rise + prng_below(&p, 1000) : 16000;
			c.u.nscc.cwnd_q24 = UINT64_C(100000) << 24;
			c.u.nscc.cut_at = 0;
			c.u.nscc.eta_at = now;
			ack_marked(&c, now, delays[i], 1);
			for (uint32_t k = 0; k < 60 && k <= i; k++)
				sum += delays[i - k];
			double mean = (double)sum / (i < 60 ? i + 1 : 60);
			double cut = 1 - (double)c.u.nscc.cwnd_q24 / (1 << 24) / 100000;
			double seen = 12000 / (1 - cut / 0.8);

			if (seen < mean * 0.9 || seen > mean * 1.1)
				fail_msg("packet %u: mean %.0f, seen %.0f", i, mean, seen);
			if (!is_wave)
				assert_true(seen > 15999 && seen < 16001);
		}
	}
}

/* A path of six is slow, and marked, so each of its packets is told of at once, with those before
 * it. Every fifth of the others is told of: by samples the mean would be 30500, by packets told of
 * 34333. */
static void a_delay_counts_for_the_packets_that_have_it(void **state)
{
	struct cc_ack good = late(T0 + 2 * BASE, 1000, 5 * MTU);
	struct cc_ack slow = late(T0 + 2 * BASE, 60000, 6 * MTU);
	struct cc_cfg cfg = plain;
	struct cc c;

	(void)state;
	cfg.nscc.has_no_quick_adapt = true;
	good.pkts = 5;
	slow.pkts = 6;
	slow.is_marked = true;
	start_at(&c, &cfg, 100000);
	cc_on_ack(&c, &good);
	cc_on_ack(&c, &slow);
	/* 65000 / 6 is below the target. */
	assert_int_equal(c.u.nscc.cut_at, T0);
	/* 125000 / 7 = 17857 is not. */
	c.u.nscc.cwnd_q24 = UINT64_C(100000) << 24;
	slow.bytes = 0;
	cc_on_ack(&c, &slow);
	assert_cwnd(&c, 100000 * (1 - 0.8 * 5857 / 17857));
	/* One that tells of nothing new has a delay no less. */
	start_at(&c, &cfg, 100000);
	good.pkts = 0;
	cc_on_ack(&c, &good);
	assert_int_equal(c.u.nscc.this.n, 1);
}

/* As many samples as there may be at one time: the sums do not overflow. */
static void endless_samples_at_one_time(void **state)
{
	struct cc_ack all = {.now = T0 + 10, .pkts = UINT32_MAX};
	struct cc c;

	(void)state;
	cc_start(&c, &plain, T0);
	c.u.nscc.this = (struct nscc_delays){.sum_ns = NSCC_NS_MAX << 24, .n = 1 << 24};
	c.u.nscc.last = c.u.nscc.this;
	c.u.nscc.cut_at = 0;
	ack_marked(&c, T0 + 10, NSEC_NEVER / 2, 1);
	assert_int_equal(c.u.nscc.this.n, (1 << 23) + 1);
	assert_int_equal(c.u.nscc.this.sum_ns, NSCC_NS_MAX * ((1 << 23) + 1));
	assert_cwnd(&c, 112500);
	/* Nor if one acknowledgement tells of as many. */
	all.rtt_ns = NSEC_NEVER / 2;
	c.u.nscc.this = (struct nscc_delays){.sum_ns = NSCC_NS_MAX << 25, .n = 1 << 25};
	cc_on_ack(&c, &all);
	assert_int_equal(c.u.nscc.this.n, 1 << 25);
	assert_int_equal(c.u.nscc.this.sum_ns, NSCC_NS_MAX << 25);
	c.u.nscc.last = c.u.nscc.this;
	c.u.nscc.cwnd_q24 = UINT64_C(225000) << 24;
	c.u.nscc.cut_at = 0;
	ack_marked(&c, T0 + 10, NSEC_NEVER / 2, 1);
	assert_cwnd(&c, 112500);
}

/* The largest of everything: what is added cannot wrap, and ends at the largest window. */
static void corners_do_not_overflow(void **state)
{
	struct cc_cfg cfg = plain;

	(void)state;
	for (uint32_t corner = 0; corner < 32; corner++) {
		bool is_max = corner >> 3 & 1, is_late = corner >> 4 & 1;
		struct cc_ack a = {.now = T0, .bytes = UINT32_MAX};
		struct cc c;

		cfg.line_rate_bps = corner & 1 ? NSCC_BPS_MAX : NSCC_BPS_MIN;
		cfg.nscc = (struct nscc_cfg){
			.base_rtt_ns = corner & 2 ? NSCC_RTT_MAX_NS : NSCC_RTT_MIN_NS,
			.mtu_bytes = corner & 4 ? NSCC_MTU_MAX : NSCC_MTU_MIN,
			.near_ns = 1,
			.max_wnd_bytes = is_max ? UINT32_MAX : 0,
			.target_qdelay_ns = is_max ? NSCC_NS_MAX : 0,
			.alpha_q40 = is_max ? (UINT64_C(1) << 60) - 1 : 0,
			.fi_q24 = is_max ? (UINT64_C(1) << 57) - 1 : 0,
			.fi_scale_q32 = is_max ? (UINT64_C(1) << 57) - 1 : 0,
			.eta_q24 = is_max ? (UINT64_C(1) << 57) - 1 : 0,
		};
		assert_null(cc_cfg_problem(&cfg));
		cc_start(&c, &cfg, T0);
		struct nscc *n = &c.u.nscc;
		uint64_t most = (uint64_t)n->max_wnd_bytes << 24;

		for (uint32_t i = 0; i < 12; i++) {
			a.now += NSCC_NS_MAX / 2;
			a.rtt_ns = n->base_rtt_ns + (is_late ? n->all.target_qdelay_ns : i % 3);
			n->cwnd_q24 = (uint64_t)n->all.mtu_bytes << 24;
			cc_on_ack(&c, &a);
			/* 4 GB of news cannot but fill the window. */
			assert_int_equal(n->cwnd_q24, most);
		}
	}
}

static void each_bad_field_is_named(void **state)
{
	struct cc_cfg cfg;

	(void)state;
	assert_null(cc_cfg_problem(&plain));
#define CHECK_FIELD(field, value, word)                                                           \
	do {                                                                                      \
		cfg = plain;                                                                      \
		cfg.field = (value);                                                              \
		const char *problem = cc_cfg_problem(&cfg);                                       \
		const char *expected = (word);                                                    \
		if (!problem != !expected || (problem && expected && !strstr(problem, expected))) \
			fail_msg("%s = %s: %s", #field, #value, problem);                         \
	} while (0)
	CHECK_FIELD(nscc.base_rtt_ns, 0, "base round trip");
	CHECK_FIELD(nscc.base_rtt_ns, 999, "base round trip");
	CHECK_FIELD(nscc.base_rtt_ns, 10000001, "base round trip");
	CHECK_FIELD(nscc.mtu_bytes, 0, "MTU");
	CHECK_FIELD(nscc.mtu_bytes, 255, "MTU");
	CHECK_FIELD(nscc.mtu_bytes, 65537, "MTU");
	CHECK_FIELD(line_rate_bps, 0, "sender");
	CHECK_FIELD(nscc.sender_bps, GBS - 1, "sender");
	CHECK_FIELD(nscc.sender_bps, 1600 * GBS + 1, "sender");
	CHECK_FIELD(nscc.receiver_bps, GBS - 1, "receiver");
	CHECK_FIELD(nscc.receiver_bps, 1600 * GBS + 1, "receiver");
	CHECK_FIELD(nscc.max_wnd_bytes, MTU - 1, "largest window");
	CHECK_FIELD(nscc.max_wnd_bytes, MTU, NULL);
	CHECK_FIELD(nscc.bdp_bytes, UINT32_MAX, NULL);
	CHECK_FIELD(nscc.base_bdp_bytes, 1, "scaling_a");
	CHECK_FIELD(nscc.target_qdelay_ns, NSCC_NS_MAX, NULL);
	CHECK_FIELD(nscc.target_qdelay_ns, NSCC_NS_MAX + 1, "target");
	CHECK_FIELD(nscc.qa_threshold_ns, NSCC_NS_MAX + 1, "quick adapt");
	CHECK_FIELD(nscc.qa_threshold_ns, NSEC_NEVER, NULL);
	CHECK_FIELD(nscc.adjust_period_ns, NSCC_NS_MAX + 1, "adjustments");
	CHECK_FIELD(nscc.near_ns, NSCC_NS_MAX + 1, "none");
	CHECK_FIELD(nscc.qa_gate, 31, NULL);
	CHECK_FIELD(nscc.qa_gate, 32, "gate");
	CHECK_FIELD(nscc.gamma_q32, ONE, NULL);
	CHECK_FIELD(nscc.gamma_q32, ONE + 1, "gamma");
	CHECK_FIELD(nscc.max_md_jump_q32, ONE, NULL);
	CHECK_FIELD(nscc.max_md_jump_q32, ONE + 1, "max_md_jump");
	CHECK_FIELD(nscc.scaling_a_q32, UINT64_C(1) << 48, "scaling_a");
	CHECK_FIELD(nscc.scaling_b_q32, UINT64_C(1) << 50, "scaling_b");
	CHECK_FIELD(nscc.alpha_q40, UINT64_C(1) << 60, "alpha");
	CHECK_FIELD(nscc.fi_q24, UINT64_C(1) << 57, "fi is");
	CHECK_FIELD(nscc.fi_scale_q32, UINT64_C(1) << 57, "fi_scale");
	CHECK_FIELD(nscc.eta_q24, UINT64_C(1) << 57, "eta");
	/* Others do not look at it. */
	CHECK_FIELD(kind, CC_FIXED, NULL);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(defaults_of_400_gbs_and_12_us),
	cmocka_unit_test(defaults_of_100_gbs_and_5_us_with_trimming),
	cmocka_unit_test(what_is_set_is_what_others_derive_from),
	cmocka_unit_test(a_flow_starts_with_the_largest_window),
	cmocka_unit_test(increases_by_hand),
	cmocka_unit_test(eta_comes_once_in_a_round_trip),
	cmocka_unit_test(fast_increase_ends_at_any_sign),
	cmocka_unit_test(a_cut_once_in_a_round_trip_and_by_half_at_most),
	cmocka_unit_test(quick_adapt_by_hand),
	cmocka_unit_test(a_trim_takes_what_was_never_in_flight),
	cmocka_unit_test(quick_adapt_by_delay),
	cmocka_unit_test(losses_take_their_bytes_off),
	cmocka_unit_test(a_shorter_path_shrinks_the_largest_window),
	cmocka_unit_test(a_penalty_shrinks_and_restores),
	cmocka_unit_test(the_mean_is_of_the_last_round_trip),
	cmocka_unit_test(a_delay_counts_for_the_packets_that_have_it),
	cmocka_unit_test(endless_samples_at_one_time),
	cmocka_unit_test(corners_do_not_overflow),
	cmocka_unit_test(each_bad_field_is_named),
};

CHECK_MAIN(cases)
