/* cc/nscc.h: random events, in configurations up to the corners, beside a model in double precision
 * that keeps every delay. */
#include "cc/nscc.h"

#include <string.h>

#include "base/prng.h"
#include "cc/cc.h"
#include "check.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define T0 (UINT64_C(5000) * US)

static double bytes_of(uint64_t q24)
{
	return (double)q24 / (1 << 24);
}

static double cwnd_of(const struct cc *c)
{
	return bytes_of(c->u.nscc.cwnd_q24);
}

static double off(double a, double b)
{
	return a > b ? a - b : b - a;
}

/* The model: the text of 3.6.13 in double precision, with every delay kept. */
#define SAMPLES 4096
struct model {
	double base, target, qa_threshold, period, near, mtu, max_wnd_cfg, adjust_bytes;
	double gamma, jump, alpha, fi, fi_scale, eta;
	uint32_t gate;
	bool no_qa;
	double cwnd, saved, inc, achieved, received, ignored, to_ignore, fi_count;
	double base_rtt, max_wnd;
	uint64_t base_ns, qa_end, adjusted, eta_at, cut, stretch_at, stretch;
	bool trigger, fast;
	uint32_t n, n_inc; /* samples; acknowledgements in inc */
	double error;      /* how far off our cwnd may be after this event */
	struct {
		double delay, pkts;
		uint64_t stretch;
	} sample[SAMPLES];
	/* How often each branch was taken. */
	uint32_t n_qa, n_ignore, n_cut, n_jump, n_fast, n_fair, n_prop, n_eta, n_saved, n_restored;
	uint32_t n_base, n_trim_less;
};

static double dmin(double a, double b)
{
	return a < b ? a : b;
}

static double dmax(double a, double b)
{
	return a > b ? a : b;
}

static double whole(double v)
{
	return (double)(uint64_t)v;
}

/* Something was added to cwnd whose factors are off by 3 millionths. */
static void model_add(struct model *o, double more)
{
	o->cwnd += more;
	o->error += 3e-6 * more;
}

static double or_else(double v, double otherwise)
{
	return v > 0 ? v : otherwise;
}

/* Table 3-76, in seconds and bytes per second. */
static void model_start(struct model *o, const struct cc_cfg *cfg, nsec now)
{
	const struct nscc_cfg *f = &cfg->nscc;
	double q32 = 4294967296.0, q24 = 16777216.0;
	double sender = or_else((double)f->sender_bps, (double)cfg->line_rate_bps) / 8;
	double receiver = or_else((double)f->receiver_bps / 8, sender);
	double rtt = (double)f->base_rtt_ns * 1e-9, mtu = f->mtu_bytes;
	/* An unsigned integer; the addend stands in for the error of the product. */
	double bdp = or_else(f->bdp_bytes, whole(dmin(sender, receiver) * rtt + 1e-6));
	double target =
		or_else((double)f->target_qdelay_ns * 1e-9,
			whole((double)f->base_rtt_ns * (f->has_trimming ? 0.75 : 1)) * 1e-9);
	double a =
		or_else((double)f->scaling_a_q32 / q32, bdp / or_else(f->base_bdp_bytes, 150000));
	double b = or_else((double)f->scaling_b_q32 / q32, target / 0.000012);

	*o = (struct model){
		.base = (double)f->base_rtt_ns,
		.target = whole(target * 1e9 + 0.5),
		.qa_threshold = or_else((double)f->qa_threshold_ns,
					f->has_trimming ? 1e300 : 4 * (double)f->base_rtt_ns),
		.period = or_else((double)f->adjust_period_ns, (double)f->base_rtt_ns),
		.mtu = mtu,
		.max_wnd_cfg = or_else(f->max_wnd_bytes, dmax(mtu, whole(1.5 * bdp))),
		.adjust_bytes = or_else(f->adjust_bytes, 8 * mtu),
		.gamma = or_else((double)f->gamma_q32 / q32, 0.8),
		.jump = or_else((double)f->max_md_jump_q32 / q32, 0.5),
		.alpha = or_else((double)f->alpha_q40 / 1099511627776.0 * 1e9,
				 4.0 * a * b * mtu / target),
		.fi = or_else((double)f->fi_q24 / q24, 5 * mtu * a),
		.fi_scale = or_else((double)f->fi_scale_q32 / q32, 0.25 * a),
		.eta = or_else((double)f->eta_q24 / q24, 0.15 * mtu * a),
		.gate = f->qa_gate ? f->qa_gate : 3,
		.no_qa = f->has_no_quick_adapt,
		.base_ns = f->base_rtt_ns,
		.adjusted = now,
		.eta_at = now,
		.cut = now,
		.stretch_at = now,
		.stretch = 1,
	};
	o->near = or_else((double)f->near_ns, dmax(256, whole(o->target / 2)));
	o->cwnd = o->max_wnd = o->max_wnd_cfg;
}

static void model_clamp(struct model *o)
{
	o->cwnd = dmax(dmin(o->cwnd, o->max_wnd), o->mtu);
}

static void model_stop(struct model *o)
{
	o->fast = false;
	o->fi_count = 0;
}

static void model_turn(struct model *o, nsec now)
{
	if (now >= o->stretch_at + 2 * o->base_ns) {
		o->stretch += 2;
		o->stretch_at = now;
	} else if (now >= o->stretch_at + o->base_ns) {
		o->stretch++;
		o->stretch_at += o->base_ns;
	}
}

static void model_delay(struct model *o, nsec now, double delay, double pkts)
{
	model_turn(o, now);
	o->sample[o->n].delay = dmin(delay, 1e9);
	o->sample[o->n].pkts = pkts;
	o->sample[o->n++].stretch = o->stretch;
}

static double model_mean(struct model *o, nsec now)
{
	double base = (double)o->base_ns, sum = 0, count = 0;
	double share = whole((base - (double)(now - o->stretch_at)) * 256 / base) / 256;

	for (uint32_t i = o->n; i-- > 0 && o->sample[i].stretch + 1 >= o->stretch;) {
		double weight = o->sample[i].stretch == o->stretch ? 1 : share;

		weight *= o->sample[i].pkts;
		sum += weight * o->sample[i].delay;
		count += weight;
	}
	return count > 0 ? whole(sum / count) : 0;
}

static void model_base(struct model *o, nsec rtt)
{
	if (rtt == 0 || rtt >= o->base_ns)
		return;
	o->base_ns = rtt;
	o->max_wnd = dmax(o->mtu, whole(o->max_wnd_cfg * (double)rtt / o->base));
	model_clamp(o);
	o->n_base++;
}

static bool model_qa(struct model *o, const struct cc_ack *e, bool is_loss, bool is_marked)
{
	bool is_done = false;

	if (o->no_qa)
		return false;
	if (o->ignored < o->to_ignore && is_marked) {
		is_done = true;
		o->n_ignore++;
	} else if (e->now >= o->qa_end) {
		bool is_bad = o->trigger || is_loss || model_mean(o, e->now) > o->qa_threshold;

		if (o->qa_end != 0 && is_bad &&
		    o->achieved < (double)((uint64_t)o->max_wnd >> o->gate)) {
			o->cwnd = dmax(o->achieved, o->mtu);
			o->to_ignore = e->out_bytes;
			o->ignored = 0;
			o->trigger = false;
			is_done = true;
			model_stop(o);
			o->n_qa++;
		}
		o->achieved = 0;
		o->qa_end = e->now + o->base_ns + (nsec)o->target;
	}
	if (is_done) {
		o->inc = o->received = 0;
		o->n_inc = 0;
	}
	return is_done;
}

static void model_penalty(struct model *o, const struct cc_ack *e)
{
	if (e->penalty > 0) {
		o->n_saved += o->saved == 0;
		o->saved = o->saved > 0 ? o->saved : o->cwnd;
		o->cwnd = dmin(o->cwnd, e->out_bytes);
		o->cwnd -= whole((double)e->penalty * e->bytes / 128);
		model_clamp(o);
		model_stop(o);
	} else if (e->is_restored && o->saved > 0) {
		o->cwnd = o->saved;
		o->saved = 0;
		model_clamp(o);
		o->n_restored++;
	}
}

static void model_rise(struct model *o, const struct cc_ack *e, double delay)
{
	if (delay >= o->target) {
		model_stop(o);
		o->inc += o->fi * e->bytes;
		o->n_fair++;
		o->n_inc++;
		return;
	}
	if (delay <= o->near) {
		o->fi_count += e->bytes;
		if (2 * o->fi_count > o->cwnd || o->fast) {
			model_add(o, e->bytes * o->fi_scale);
			model_clamp(o);
			o->fast = true;
			o->n_fast++;
			return;
		}
	} else {
		model_stop(o);
	}
	o->inc += o->alpha * e->bytes * (o->target - delay) * 1e-9;
	o->n_prop++;
	o->n_inc++;
}

static void model_cut(struct model *o, nsec now)
{
	double mean = model_mean(o, now);

	if (mean <= o->target || now - o->cut <= o->base_ns)
		return;
	double factor = 1 - o->gamma * (mean - o->target) / mean;

	o->n_jump += factor < o->jump;
	o->error += o->cwnd * 4e-10; /* 2^-32, and half of that in gamma */
	o->cwnd = dmax(o->cwnd * dmax(factor, o->jump), o->mtu);
	o->cut = now;
	o->n_cut++;
}

static void model_ack(struct model *o, const struct cc_ack *e)
{
	nsec rtt = e->rtt_ns > e->held_ns ? e->rtt_ns - e->held_ns : 0;

	o->ignored += e->bytes;
	o->received += e->bytes;
	o->achieved += e->bytes;
	model_penalty(o, e);
	if (e->is_marked)
		model_stop(o);
	if (rtt == 0)
		return;
	model_base(o, rtt);
	double delay = (double)(rtt - o->base_ns);

	model_delay(o, e->now, delay, e->is_marked ? 1 : dmax(e->pkts, 1));
	if (model_qa(o, e, false, e->is_marked))
		return;
	if (e->is_marked && delay >= o->target)
		model_cut(o, e->now);
	else if (!e->is_marked && e->penalty == 0)
		model_rise(o, e, delay);
	bool is_time = (double)(e->now - o->adjusted) >= o->period;

	if (!is_time && o->received <= dmin(o->adjust_bytes, o->cwnd / 8))
		return;
	o->error += o->n_inc / o->cwnd;
	model_add(o, o->inc / o->cwnd);
	double age = (double)(e->now - o->eta_at), period = dmax((double)rtt, o->period);

	if (age >= period) {
		model_add(o, o->eta);
		o->eta_at = age < 2 * period ? o->eta_at + (uint64_t)period : e->now;
		o->n_eta++;
	}
	o->adjusted = e->now;
	model_clamp(o);
	o->inc = o->received = 0;
	o->n_inc = 0;
}

static void model_loss(struct model *o, const struct cc_ack *e, enum cc_loss loss)
{
	if (loss == CC_LOSS_GAP || loss == CC_LOSS_TIMEOUT) {
		model_stop(o);
		o->cwnd -= e->bytes;
		model_clamp(o);
		o->ignored += e->bytes;
		return;
	}
	model_base(o, e->rtt_ns > e->held_ns ? e->rtt_ns - e->held_ns : 0);
	if (loss == CC_LOSS_REFUSED)
		return;
	model_stop(o);
	model_delay(o, e->now, o->base, 1);
	o->ignored += e->bytes;
	o->trigger = true;
	if (model_qa(o, e, true, true))
		return;
	o->cwnd -= e->bytes;
	if (o->cwnd > e->out_bytes + o->mtu)
		o->cwnd = e->out_bytes + o->mtu;
	model_clamp(o);
	o->n_trim_less++;
}

static double share_off(double value, double model)
{
	return off(value, model) / model;
}

static void check_terms(const struct nscc *n, const struct model *o)
{
	const struct nscc_cfg *a = &n->all;

	assert_true(a->target_qdelay_ns == (nsec)o->target && a->near_ns == (nsec)o->near);
	assert_true(a->max_wnd_bytes == (uint32_t)o->max_wnd_cfg && a->mtu_bytes >= 256);
	assert_true(share_off((double)a->alpha_q40 / 1099511627776.0 * 1e9, o->alpha) < 3e-6);
	assert_true(share_off((double)a->fi_q24 / 16777216.0, o->fi) < 3e-6);
	assert_true(share_off((double)a->fi_scale_q32 / 4294967296.0, o->fi_scale) < 3e-6);
	assert_true(share_off((double)a->eta_q24 / 16777216.0, o->eta) < 3e-6);
}

/* cwnd to what nscc.c says one event may be off, all else exactly. The model goes on from our cwnd,
 * so that no comparison falls out otherwise for a rounding. */
static bool agrees(const struct nscc *n, struct model *o)
{
	double cwnd = bytes_of(n->cwnd_q24), most = o->error + cwnd * 1e-12 + 1e-6;

	if (off(cwnd, o->cwnd) > most)
		return false;
	o->cwnd = cwnd;
	o->error = 0;
	return n->base_rtt_ns == o->base_ns && n->max_wnd_bytes == (uint32_t)o->max_wnd &&
	       n->qa_end == o->qa_end && n->adjusted_at == o->adjusted && n->eta_at == o->eta_at &&
	       n->cut_at == o->cut && (double)n->achieved_bytes == o->achieved &&
	       (double)n->received_bytes == o->received && (double)n->fi_bytes == o->fi_count &&
	       (double)n->ignored_bytes == o->ignored &&
	       (double)n->to_ignore_bytes == o->to_ignore && bytes_of(n->saved_q24) == o->saved &&
	       n->has_trigger == o->trigger && n->is_fast_increase == o->fast;
}

static uint64_t draw_log(struct prng *p, uint64_t low, uint64_t high)
{
	uint64_t top = low;

	while (top < high && prng_chance(p, 4, 5))
		top = top * 2 < high ? top * 2 : high;
	return prng_range(p, low, top);
}

static void draw_cfg(struct prng *p, struct cc_cfg *cfg)
{
	bool is_corner = prng_chance(p, 1, 4);
	nsec rtt = draw_log(p, NSCC_RTT_MIN_NS, NSCC_RTT_MAX_NS);

	*cfg = (struct cc_cfg){
		.kind = CC_NSCC,
		.window_bytes = UINT64_MAX,
		.line_rate_bps = draw_log(p, NSCC_BPS_MIN, NSCC_BPS_MAX),
		.nscc = {.base_rtt_ns = rtt,
			 .mtu_bytes = (uint32_t)prng_range(p, NSCC_MTU_MIN, 9000),
			 .has_trimming = prng_chance(p, 1, 2),
			 .has_no_quick_adapt = prng_chance(p, 1, 8)},
	};
	if (is_corner) {
		cfg->line_rate_bps = prng_chance(p, 1, 2) ? NSCC_BPS_MIN : NSCC_BPS_MAX;
		cfg->nscc.base_rtt_ns = prng_chance(p, 1, 2) ? NSCC_RTT_MIN_NS : NSCC_RTT_MAX_NS;
		cfg->nscc.mtu_bytes = prng_chance(p, 1, 2) ? NSCC_MTU_MIN : NSCC_MTU_MAX;
	}
	if (prng_chance(p, 1, 2))
		return;
	cfg->nscc.receiver_bps = draw_log(p, NSCC_BPS_MIN, NSCC_BPS_MAX);
	cfg->nscc.target_qdelay_ns = prng_range(p, 128, 4 * cfg->nscc.base_rtt_ns);
	cfg->nscc.qa_threshold_ns = prng_range(p, 1, 8 * cfg->nscc.base_rtt_ns);
	cfg->nscc.adjust_period_ns = prng_range(p, 1, 4 * cfg->nscc.base_rtt_ns);
	cfg->nscc.near_ns = prng_range(p, 1, cfg->nscc.base_rtt_ns);
	cfg->nscc.max_wnd_bytes = cfg->nscc.mtu_bytes + (uint32_t)prng_below(p, 1 << 22);
	cfg->nscc.adjust_bytes = (uint32_t)prng_range(p, 1, 1 << 18);
	cfg->nscc.qa_gate = (uint32_t)prng_range(p, 1, 5);
	cfg->nscc.gamma_q32 = prng_range(p, 1, UINT64_C(1) << 32);
	cfg->nscc.max_md_jump_q32 = prng_range(p, 1, UINT64_C(1) << 32);
}

static nsec draw_delay(struct prng *p, const struct nscc *n)
{
	nsec target = n->all.target_qdelay_ns;

	switch (prng_below(p, 8)) {
	case 0: return 0;
	case 1: return prng_range(p, 0, n->all.near_ns);
	case 2: return prng_range(p, 0, target);
	case 3: return target - prng_below(p, 2);
	case 4: return prng_range(p, target, 2 * target);
	case 5: return prng_range(p, 0, 20 * target);
	case 6: return prng_range(p, 0, prng_chance(p, 1, 50) ? 2000 * MS : target);
	default: return prng_range(p, n->all.near_ns, n->all.near_ns + target);
	}
}

/* Phases of calm, of queues and of trouble, so that each mode lasts for some events. */
static struct cc_ack draw_event(struct prng *p, const struct nscc *n, nsec now, uint32_t phase)
{
	bool is_calm = phase == 0;
	uint64_t cwnd = n->cwnd_q24 >> 24, mtu = n->all.mtu_bytes;
	nsec delay = is_calm ? prng_below(p, n->all.near_ns + 1) : draw_delay(p, n);
	struct cc_ack e = {
		.now = now,
		.rtt_ns = n->base_rtt_ns + delay,
		.bytes = (uint32_t)prng_below(p, prng_chance(p, 1, 30) ? UINT32_MAX : 2 * mtu),
		.pkts = (uint32_t)prng_below(p, 9),
		.out_bytes = (uint32_t)prng_below(p, cwnd + 1),
		.is_marked = prng_chance(p, is_calm ? 0 : phase, 3),
		.is_restored = prng_chance(p, 1, 4),
		.penalty =
			prng_chance(p, 1, is_calm ? 400 : 20) ? (uint8_t)prng_range(p, 1, 127) : 0,
	};

	if (prng_chance(p, 1, 5)) {
		e.held_ns = prng_below(p, 2 * US);
		e.rtt_ns += e.held_ns;
	}
	if (prng_chance(p, 1, 200))
		e.rtt_ns -= prng_below(p, n->base_rtt_ns / 8 + 1);
	if (prng_chance(p, 1, 25))
		e.rtt_ns = prng_chance(p, 1, 2) ? 0 : e.held_ns;
	return e;
}

static void random_events_agree_with_model(void **state)
{
	static struct model o, sum;
	uint64_t seed = check_seed(0x25cc);

	(void)state;
	memset(&sum, 0, sizeof sum);
	for (uint32_t k = 0; k < 800; k++) {
		struct cc_cfg cfg;
		uint32_t phase = 0;
		nsec now = T0;
		struct prng p;
		struct cc c;

		prng_init(&p, seed, k);
		draw_cfg(&p, &cfg);
		assert_null(cc_cfg_problem(&cfg));
		cc_start(&c, &cfg, now);
		model_start(&o, &cfg, now);
		check_terms(&c.u.nscc, &o);
		for (uint32_t i = 0; i < 1500; i++) {
			if (prng_chance(&p, 1, 60))
				phase = (uint32_t)prng_below(&p, 4);
			now += prng_below(&p, cfg.nscc.base_rtt_ns / 8);
			now += prng_chance(&p, 1, 80) ? prng_below(&p, 4 * cfg.nscc.base_rtt_ns)
						      : 0;
			struct cc_ack e = draw_event(&p, &c.u.nscc, now, phase);

			if (prng_chance(&p, phase == 0 ? 0 : 1, 12)) {
				enum cc_loss loss = (enum cc_loss)prng_below(&p, 5);

				e.bytes = (uint32_t)prng_below(&p, cfg.nscc.mtu_bytes + 1);
				cc_on_loss(&c, &e, loss);
				model_loss(&o, &e, loss);
			} else {
				cc_on_ack(&c, &e);
				model_ack(&o, &e);
			}
			if (!agrees(&c.u.nscc, &o))
				fail_msg("configuration %u, event %u: %.9f, model %.9f", k, i,
					 cwnd_of(&c), o.cwnd);
			assert_in_range(c.u.nscc.cwnd_q24, (uint64_t)cfg.nscc.mtu_bytes << 24,
					(uint64_t)c.u.nscc.max_wnd_bytes << 24);
		}
#define SUM(field) sum.field += o.field
		SUM(n_qa), SUM(n_ignore), SUM(n_cut), SUM(n_jump), SUM(n_fast), SUM(n_fair);
		SUM(n_prop), SUM(n_eta), SUM(n_saved), SUM(n_restored), SUM(n_base);
		SUM(n_trim_less);
	}
	/* Each branch was there, and often. */
	assert_true(sum.n_qa > 100 && sum.n_ignore > 100 && sum.n_cut > 100 && sum.n_jump > 100);
	assert_true(sum.n_fast > 100 && sum.n_fair > 100 && sum.n_prop > 100 && sum.n_eta > 100);
	assert_true(sum.n_saved > 100 && sum.n_restored > 100 && sum.n_base > 100);
	assert_true(sum.n_trim_less > 100);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(random_events_agree_with_model),
};

CHECK_MAIN(cases)
