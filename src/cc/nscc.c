#include "cc/nscc.h"

#include <stddef.h>

#include "cc/cc.h"

__extension__ typedef unsigned __int128 u128;

/* How large each number may be, in bits, so that nothing overflows. Given:
 *   bytes of an event, cwnd, MaxWnd, BDP 32; MTU 17; times, delays included, 30
 *   speed 41 (1.6e12), base_rtt 24 (1e7): their product 1.6e19 is below 2^64 = 1.84e19
 *   scaling_a_q32 48, scaling_b_q32 50, alpha_q40 60, fi_q24 57, fi_scale_q32 57, eta_q24 57
 * Then, in 128 bits:
 *   alpha_q40    4 scaling_a scaling_b MTU       3 + 48 + 50 + 17 = 118
 *   fi, eta      5 MTU scaling_a                 3 + 17 + 48      = 68
 *   inc          alpha * bytes * delay           60 + 32 + 30     = 122
 *                fi * bytes                      57 + 32          = 89
 *   cwnd         inc * 2^48 / cwnd_q24           64 + 48          = 112
 *                fi_scale * bytes                57 + 32          = 89
 *                cwnd_q24 * factor_q32           56 + 33          = 89
 * and in 64:
 *   gamma        gamma_q32 * delay               33 + 30          = 63
 *   max_wnd      MaxWnd * base_rtt               32 + 24          = 56
 *   mean delay   sum * 256, two of them          30 + 25 + 8 + 1  = 64
 * inc stays in 64 bits by saturation, which changes nothing: 2^64 - 1 divided by cwnd is 2^32 or
 * more, and that is beyond max_wnd.
 *
 * A scaling_a of more bits, from a BDP far beyond base_BDP, is refused before anything uses it.
 *
 * Errors: a default is low by less than 3 millionths, beside what BDP lacks as the whole number
 * that the table makes it. An acknowledgement adds to inc less than 1 too little, so less than 1 /
 * cwnd bytes. A change of cwnd is less than 2^-24 bytes too low, and a decrease less than 2^-32 of
 * cwnd too small. The mean delay, taken over the stretches that mean_delay says, is less than 1 ns
 * too low. */
#define SCALING_A_BITS 48
#define SCALING_B_BITS 50
#define ALPHA_BITS     60
#define STEP_BITS      57

#define Q24           24
#define ONE_Q32       (UINT64_C(1) << 32)
#define BIT_NS_PER_S  UINT64_C(8000000000) /* bits per byte, and nanoseconds per second */
#define SAMPLES_MAX   (UINT32_C(1) << 24)
#define STAMP_NS      UINT64_C(128) /* what a wire's time stamps count in (3.6.13.3) */
#define BASE_DELAY_NS UINT64_C(12000)

static uint64_t either(uint64_t value, uint64_t otherwise)
{
	return value ? value : otherwise;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t narrow(u128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static uint64_t times_shift(uint64_t a, uint64_t b, uint32_t shift)
{
	return narrow((u128)a * b >> shift);
}

/* Table 3-76 and 3.6.13.3. The text gives quick adapt's threshold as 4 base round trips in its
 * formula, and as 4 target_qdelay in the next sentence, which is the same while target_qdelay has
 * its own default. The formula is taken: a switch drops at a depth that no target of ours moves.
 *
 * "delay ~= 0" has no number in the text. Time stamps are off by a unit at either end; beyond that
 * it is half of the target: flows that stay where others end take up the link in time, and any mark
 * ends it. */
struct nscc_cfg nscc_complete(const struct nscc_cfg *cfg, uint64_t line_rate_bps)
{
	struct nscc_cfg a = *cfg;
	uint64_t bdp, target, quarters = cfg->has_trimming ? 3 : 4;

	a.sender_bps = either(a.sender_bps, line_rate_bps);
	a.receiver_bps = either(a.receiver_bps, a.sender_bps);
	bdp = least(a.sender_bps, a.receiver_bps) * a.base_rtt_ns / BIT_NS_PER_S;
	bdp = a.bdp_bytes = (uint32_t)either(a.bdp_bytes, bdp);
	bdp = least(most(bdp + bdp / 2, a.mtu_bytes), UINT32_MAX);
	a.max_wnd_bytes = (uint32_t)either(a.max_wnd_bytes, bdp);
	target = a.target_qdelay_ns = either(a.target_qdelay_ns, a.base_rtt_ns * quarters / 4);
	a.qa_threshold_ns =
		either(a.qa_threshold_ns, a.has_trimming ? NSEC_NEVER : 4 * a.base_rtt_ns);
	a.adjust_period_ns = either(a.adjust_period_ns, a.base_rtt_ns);
	a.near_ns = either(a.near_ns, most(target / 2, 2 * STAMP_NS));
	a.base_bdp_bytes = (uint32_t)either(a.base_bdp_bytes, 150000);
	a.adjust_bytes = (uint32_t)either(a.adjust_bytes, 8 * a.mtu_bytes);
	a.qa_gate = (uint32_t)either(a.qa_gate, 3);
	a.gamma_q32 = either(a.gamma_q32, (ONE_Q32 * 4 + 2) / 5);
	a.max_md_jump_q32 = either(a.max_md_jump_q32, ONE_Q32 / 2);
	a.scaling_a_q32 = either(a.scaling_a_q32, a.bdp_bytes * ONE_Q32 / a.base_bdp_bytes);
	a.scaling_b_q32 = either(a.scaling_b_q32, target * ONE_Q32 / BASE_DELAY_NS);
	u128 ab = (u128)a.scaling_a_q32 * a.scaling_b_q32;

	a.alpha_q40 = either(a.alpha_q40, narrow(ab * (4 * a.mtu_bytes) / target >> 24));
	a.fi_q24 = either(a.fi_q24, times_shift(5 * a.mtu_bytes, a.scaling_a_q32, 8));
	a.fi_scale_q32 = either(a.fi_scale_q32, a.scaling_a_q32 / 4);
	a.eta_q24 = either(a.eta_q24, times_shift(3 * a.mtu_bytes, a.scaling_a_q32, 8) / 20);
	return a;
}

/* What the text calls an unsigned integer; with these in range nscc_complete may be asked. */
static const char *problem_of_units(const struct nscc_cfg *cfg, uint64_t line_rate_bps)
{
	uint64_t sender = either(cfg->sender_bps, line_rate_bps);
	uint64_t receiver = either(cfg->receiver_bps, sender);

	if (cfg->base_rtt_ns < NSCC_RTT_MIN_NS || cfg->base_rtt_ns > NSCC_RTT_MAX_NS)
		return "NSCC's base round trip is not 1 us to 10 ms";
	if (cfg->mtu_bytes < NSCC_MTU_MIN || cfg->mtu_bytes > NSCC_MTU_MAX)
		return "NSCC's MTU is not 256 to 65536 bytes";
	if (sender < NSCC_BPS_MIN || sender > NSCC_BPS_MAX)
		return "the sender's speed of NSCC is not 1 Gb/s to 1.6 Tb/s";
	if (receiver < NSCC_BPS_MIN || receiver > NSCC_BPS_MAX)
		return "the receiver's speed of NSCC is not 1 Gb/s to 1.6 Tb/s";
	if (cfg->max_wnd_bytes > 0 && cfg->max_wnd_bytes < cfg->mtu_bytes)
		return "NSCC's largest window is below one MTU";
	if (cfg->target_qdelay_ns > NSCC_NS_MAX)
		return "NSCC's target delay is above 1 s";
	if (cfg->qa_threshold_ns > NSCC_NS_MAX && cfg->qa_threshold_ns != NSEC_NEVER)
		return "NSCC's delay for quick adapt is above 1 s";
	if (cfg->adjust_period_ns > NSCC_NS_MAX)
		return "the time between NSCC's adjustments is above 1 s";
	if (cfg->near_ns > NSCC_NS_MAX)
		return "the delay that NSCC takes for none is above 1 s";
	if (cfg->qa_gate > 31)
		return "NSCC's gate of quick adapt is above 31";
	if (cfg->gamma_q32 > ONE_Q32)
		return "NSCC's gamma is above 1";
	if (cfg->max_md_jump_q32 > ONE_Q32)
		return "NSCC's max_md_jump is above 1";
	/* A product of two such is what nscc_complete can still hold. */
	if (cfg->scaling_a_q32 >> SCALING_A_BITS)
		return "NSCC's scaling_a is not below 65536";
	if (cfg->scaling_b_q32 >> SCALING_B_BITS)
		return "NSCC's scaling_b is not below 262144";
	return NULL;
}

const char *nscc_cfg_problem(const struct nscc_cfg *cfg, uint64_t line_rate_bps)
{
	const char *problem = problem_of_units(cfg, line_rate_bps);

	if (problem)
		return problem;
	const struct nscc_cfg all = nscc_complete(cfg, line_rate_bps);

	if (all.scaling_a_q32 >> SCALING_A_BITS)
		return "NSCC's scaling_a is not below 65536";
	if (all.alpha_q40 >> ALPHA_BITS)
		return "NSCC's alpha is not below 2^20 bytes per ns";
	if (all.fi_q24 >> STEP_BITS)
		return "NSCC's fi is not below 8 GiB";
	if (all.fi_scale_q32 >> STEP_BITS)
		return "NSCC's fi_scale is not below 2^25";
	if (all.eta_q24 >> STEP_BITS)
		return "NSCC's eta is not below 8 GiB";
	return NULL;
}

static uint64_t mtu_q24(const struct nscc *n)
{
	return (uint64_t)n->all.mtu_bytes << Q24;
}

static uint64_t max_q24(const struct nscc *n)
{
	return (uint64_t)n->max_wnd_bytes << Q24;
}

static void set_cwnd(struct nscc *n, uint64_t cwnd_q24)
{
	n->cwnd_q24 = most(least(cwnd_q24, max_q24(n)), mtu_q24(n));
}

static void raise_cwnd(struct nscc *n, u128 more_q24)
{
	set_cwnd(n, narrow(n->cwnd_q24 + more_q24));
}

static void lower_cwnd(struct nscc *n, uint32_t bytes)
{
	uint64_t less_q24 = (uint64_t)bytes << Q24;

	set_cwnd(n, n->cwnd_q24 > less_q24 ? n->cwnd_q24 - less_q24 : 0);
}

static void add_inc(struct nscc *n, u128 more)
{
	n->inc = narrow(n->inc + more);
}

/* A new stretch begins once this one is base_rtt old. */
static void turn(struct nscc *n, nsec now)
{
	nsec age = now - n->delays_at, length = n->base_rtt_ns;

	if (age < length)
		return;
	bool is_next = age - length < length;

	n->last = is_next ? n->this : (struct nscc_delays){0};
	n->this = (struct nscc_delays){0};
	n->delays_at = is_next ? n->delays_at + length : now;
}

/* This delay is that of so many packets, which n counts. */
static void update_delay(struct nscc *n, nsec now, nsec delay_ns, uint32_t pkts)
{
	turn(n, now);
	if (n->this.n >= SAMPLES_MAX) {
		n->this.n /= 2;
		n->this.sum_ns /= 2;
	}
	n->this.n += pkts;
	n->this.sum_ns += least(delay_ns, NSCC_NS_MAX) * pkts;
}

/* How many packets the delay of an acknowledgement is taken for. A mark is told at once
 * (MRC 7.5.2), so of marked packets each brings its own delay, of others one in several, for all
 * that are told with it. Counted alike, one slow path of many would make up half of the mean, and
 * windows shrink for what the load balancer is there to mend. */
static uint32_t pkts_like_it(const struct cc_ack *ack)
{
	return ack->is_marked ? 1 : (uint32_t)least(most(ack->pkts, 1), SAMPLES_MAX);
}

/* get_avg_delay. Time is cut into stretches of base_rtt; of the last one only the sum is known, so
 * it counts with the share of it, in 256ths, that is not older than base_rtt by now. That is the
 * mean of the last base_rtt where the packets of a stretch arrive evenly, costs two sums and no
 * list, and may be asked at any time. */
static nsec mean_delay(struct nscc *n, nsec now)
{
	turn(n, now);
	nsec left = n->base_rtt_ns - (now - n->delays_at);
	uint64_t share = left * 256 / n->base_rtt_ns;
	uint64_t count = (uint64_t)n->this.n * 256 + n->last.n * share;

	return count > 0 ? (n->this.sum_ns * 256 + n->last.sum_ns * share) / count : 0;
}

/* "Terminated by any sign of incipient congestion" (3.6.13): the pseudo code ends fast increase
 * when the window is cut and when an unmarked packet was late below the target. A mark, a delay
 * beyond the target, a trim, a loss and a penalty are such signs no less, and fi_count is of bytes
 * that saw none (Table 3-77). The code's ccc.increase is that table's increase_mode. */
static void end_fast_increase(struct nscc *n)
{
	n->is_fast_increase = false;
	n->fi_bytes = 0;
}

/* The code sets max_wnd to 1.5 times what the sender's link carries in base_rtt. Table 3-77 has it
 * as MaxWnd scaled to the measured round trip: the same by default, and right where MaxWnd was set
 * or the receiver's link is the slower one. It binds cwnd at once, not at the next increase. */
static void update_base_rtt(struct nscc *n, nsec rtt_ns)
{
	if (rtt_ns >= n->base_rtt_ns)
		return;
	uint64_t scaled = n->all.max_wnd_bytes * rtt_ns / n->all.base_rtt_ns;

	n->base_rtt_ns = rtt_ns;
	n->max_wnd_bytes = (uint32_t)most(scaled, n->all.mtu_bytes);
	set_cwnd(n, n->cwnd_q24);
}

/* Whether the peer holds the flow back. As in the code, what was saved when it began to stays saved
 * until a restore is told, however long after the last penalty that is. */
static bool apply_cwnd_penalty(struct nscc *n, const struct cc_ack *ack)
{
	uint64_t penalty = least(ack->penalty, 127);

	if (penalty > 0) {
		n->saved_q24 = either(n->saved_q24, n->cwnd_q24);
		set_cwnd(n, least(n->cwnd_q24, (uint64_t)ack->out_bytes << Q24));
		lower_cwnd(n, (uint32_t)(penalty * ack->bytes >> 7));
		end_fast_increase(n);
	} else if (ack->is_restored && n->saved_q24 > 0) {
		set_cwnd(n, n->saved_q24);
		n->saved_q24 = 0;
	}
	return penalty > 0;
}

/* eta, which makes flows equal, comes once in a round trip as it was measured now, or in a period
 * if that is longer. By the period alone, which is a round trip without a queue, a flow whose
 * packets come in one bunch per round trip would get it half as often as one whose packets are
 * spread. The text has one last_adjust_time for both. */
static void fulfill_adjustment(struct nscc *n, nsec now, nsec rtt_ns)
{
	raise_cwnd(n, ((u128)n->inc << 2 * Q24) / n->cwnd_q24);
	nsec age = now - n->eta_at, period = most(rtt_ns, n->all.adjust_period_ns);

	/* From when it was due: a flow with few acknowledgements learns of it late. */
	if (age >= period) {
		n->eta_at = age < 2 * period ? n->eta_at + period : now;
		raise_cwnd(n, n->all.eta_q24);
	}
	n->adjusted_at = now;
	n->inc = 0;
	n->received_bytes = 0;
}

static void fair_increase(struct nscc *n, uint32_t bytes)
{
	end_fast_increase(n);
	add_inc(n, (u128)n->all.fi_q24 * bytes >> Q24);
}

/* Whether the window grew by it. "delay ~= 0" is "approximately", as Table 3-77 says of fi_count:
 * read as "not equal" the window would grow fast on queues only.
 *
 * The code waits for a whole window without congestion (fi_count > cwnd), so for a round trip in
 * which a link that others left is not filled. Half of one is enough here. */
static bool fast_increase(struct nscc *n, uint32_t bytes, nsec delay_ns)
{
	if (delay_ns > n->all.near_ns) {
		end_fast_increase(n);
		return false;
	}
	n->fi_bytes += bytes;
	if (2 * n->fi_bytes <= n->cwnd_q24 >> Q24 && !n->is_fast_increase)
		return false;
	raise_cwnd(n, (u128)n->all.fi_scale_q32 * bytes >> (32 - Q24));
	n->is_fast_increase = true;
	return true;
}

static void proportional_increase(struct nscc *n, uint32_t bytes, nsec delay_ns)
{
	nsec room = n->all.target_qdelay_ns - delay_ns;

	if (!fast_increase(n, bytes, delay_ns))
		add_inc(n, (u128)n->all.alpha_q40 * bytes * room >> 40);
}

/* The table's Gamma is the code's gamma. */
static void multiplicative_decrease(struct nscc *n, nsec now)
{
	nsec mean = mean_delay(n, now), target = n->all.target_qdelay_ns;

	if (mean <= target || now - n->cut_at <= n->base_rtt_ns)
		return;
	uint64_t factor_q32 = ONE_Q32 - n->all.gamma_q32 * (mean - target) / mean;

	factor_q32 = most(factor_q32, n->all.max_md_jump_q32);
	set_cwnd(n, times_shift(n->cwnd_q24, factor_q32, 32));
	n->cut_at = now;
}

/* Whether it set the window, or marks still come from before it did. The delay it looks at is the
 * mean: the code hands on the packet's own, but Table 3-76 ("average queuing delay"), 3.6.13
 * ("across many paths") and the note on get_avg_delay say otherwise, and one slow path of many is
 * for the load balancer. */
static bool quick_adapt(struct nscc *n, const struct cc_ack *event, bool is_loss, bool is_marked)
{
	bool is_done = false;

	if (n->all.has_no_quick_adapt)
		return false;
	if (n->ignored_bytes < n->to_ignore_bytes && is_marked) {
		is_done = true;
	} else if (event->now >= n->qa_end) {
		bool is_bad = n->has_trigger || is_loss ||
			      mean_delay(n, event->now) > n->all.qa_threshold_ns;

		if (n->qa_end != 0 && is_bad &&
		    n->achieved_bytes < n->max_wnd_bytes >> n->all.qa_gate) {
			set_cwnd(n, n->achieved_bytes << Q24);
			n->to_ignore_bytes = event->out_bytes;
			n->ignored_bytes = 0;
			n->has_trigger = false;
			is_done = true;
			end_fast_increase(n);
		}
		n->achieved_bytes = 0;
		n->qa_end = event->now + n->base_rtt_ns + n->all.target_qdelay_ns;
	}
	if (is_done) {
		n->inc = 0;
		n->received_bytes = 0;
	}
	return is_done;
}

/* The time on the way. 0: not known; also where the peer claims more of it than there was. */
static nsec round_trip(const struct cc_ack *event)
{
	return event->rtt_ns > event->held_ns ? event->rtt_ns - event->held_ns : 0;
}

static void start(struct cc *c, nsec now)
{
	const struct nscc_cfg all = nscc_complete(&c->cfg->nscc, c->cfg->line_rate_bps);

	c->u.nscc = (struct nscc){
		.all = all,
		.cwnd_q24 = (uint64_t)all.max_wnd_bytes << Q24,
		.base_rtt_ns = all.base_rtt_ns,
		.adjusted_at = now,
		.eta_at = now,
		.cut_at = now,
		.delays_at = now,
		.max_wnd_bytes = all.max_wnd_bytes,
	};
}

/* "Potentially done per packet or at a lower frequency (RTT/4, RTT/2 and so on)": the threshold's 8
 * packets are more than a round trip of a smaller window brings, and what the others of a bunch
 * bring would wait a round trip for the first of the next. */
static bool is_adjustment_due(const struct nscc *n, nsec now)
{
	uint64_t eighth = (n->cwnd_q24 >> Q24) / 8;

	return now - n->adjusted_at >= n->all.adjust_period_ns ||
	       n->received_bytes > least(n->all.adjust_bytes, eighth);
}

/* OnACK; the four cases of ECN and delay (Table 8-1 of MRC, whose "RTT" is the delay here). */
static void on_ack(struct cc *c, const struct cc_ack *ack)
{
	struct nscc *n = &c->u.nscc;
	nsec rtt_ns = round_trip(ack), target = n->all.target_qdelay_ns;

	n->ignored_bytes += ack->bytes;
	n->received_bytes += ack->bytes;
	n->achieved_bytes += ack->bytes;
	bool is_held_back = apply_cwnd_penalty(n, ack);

	if (ack->is_marked)
		end_fast_increase(n);
	if (rtt_ns == 0)
		return;
	update_base_rtt(n, rtt_ns);
	nsec delay_ns = rtt_ns - n->base_rtt_ns;

	update_delay(n, ack->now, delay_ns, pkts_like_it(ack));
	if (quick_adapt(n, ack, false, ack->is_marked))
		return;
	if (ack->is_marked) {
		if (delay_ns >= target)
			multiplicative_decrease(n, ack->now);
	} else if (!is_held_back) {
		if (delay_ns >= target)
			fair_increase(n, ack->bytes);
		else
			proportional_increase(n, ack->bytes, delay_ns);
	}
	if (is_adjustment_due(n, ack->now))
		fulfill_adjustment(n, ack->now, rtt_ns);
}

/* OnNACK, of a packet that was trimmed. */
static void on_trim(struct nscc *n, const struct cc_ack *nack)
{
	end_fast_increase(n);
	update_delay(n, nack->now, n->all.base_rtt_ns, 1);
	n->ignored_bytes += nack->bytes;
	n->has_trigger = true;
	if (quick_adapt(n, nack, true, true))
		return;
	lower_cwnd(n, nack->bytes);
	/* What of the window was never in flight is not known to fit: where many send to one, the
	 * first trims come back when a sender has sent one BDP of its first 1.5, and the rest would
	 * be cut too. A penalty does the same (apply_cwnd_penalty). One packet may go: it is
	 * retransmitted, and asks for an answer, which nothing that is in flight may have done. */
	set_cwnd(n, least(n->cwnd_q24, ((uint64_t)nack->out_bytes << Q24) + mtu_q24(n)));
}

/* OnNACK and OnInferredLoss. A NACK for want of room at the peer says nothing of the network but
 * its round trip. */
static void on_loss(struct cc *c, const struct cc_ack *event, enum cc_loss loss)
{
	struct nscc *n = &c->u.nscc;

	if (loss == CC_LOSS_GAP || loss == CC_LOSS_TIMEOUT) {
		end_fast_increase(n);
		n->ignored_bytes += event->bytes;
		lower_cwnd(n, event->bytes);
		return;
	}
	nsec rtt_ns = round_trip(event);

	if (rtt_ns > 0)
		update_base_rtt(n, rtt_ns);
	if (loss != CC_LOSS_REFUSED)
		on_trim(n, event);
}

/* CanSend is inflight + MTU <= cwnd, so that a window of one MTU lets one packet go; the text
 * before it has a strict comparison, by which none ever would. */
static struct cc_grant grant(const struct cc *c)
{
	const struct nscc *n = &c->u.nscc;
	uint64_t window = (n->cwnd_q24 >> Q24) - n->all.mtu_bytes + 1;

	return (struct cc_grant){least(window, c->cfg->window_bytes), CC_UNPACED};
}

const struct cc_ops nscc_ops = {
	.name = "nscc",
	.start = start,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.grant = grant,
};
