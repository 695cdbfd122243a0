#include "cc/dcqcn.h"

#include <assert.h>
#include <stddef.h>

#include "cc/cc.h"

__extension__ typedef unsigned __int128 u128;

#define US  UINT64_C(1000)
#define MBS UINT64_C(1000000)

static uint64_t either(uint64_t value, uint64_t otherwise)
{
	return value ? value : otherwise;
}

/* The configuration with its defaults. */
static struct dcqcn_cfg settle(const struct dcqcn_cfg *cfg, uint64_t line_bps)
{
	uint64_t least_bps = line_bps < 100 * MBS ? line_bps : 100 * MBS;

	return (struct dcqcn_cfg){
		.g_shift = (uint32_t)either(cfg->g_shift, 8),
		.cut_every_ns = either(cfg->cut_every_ns, 4 * US),
		.alpha_ns = either(cfg->alpha_ns, 55 * US),
		.increase_ns = either(cfg->increase_ns, 300 * US),
		.increase_bytes = (uint32_t)either(cfg->increase_bytes, 10 << 20),
		.fast_rounds = (uint32_t)either(cfg->fast_rounds, 5),
		.additive_bps = either(cfg->additive_bps, 40 * MBS),
		.hyper_bps = either(cfg->hyper_bps, 400 * MBS),
		.least_bps = either(cfg->least_bps, least_bps),
	};
}

const char *dcqcn_cfg_problem(const struct dcqcn_cfg *cfg, uint64_t line_rate_bps)
{
	const struct dcqcn_cfg all = settle(cfg, line_rate_bps);

	if (line_rate_bps < CC_BPS_MIN || line_rate_bps > CC_BPS_MAX)
		return "the line rate is not 1 kb/s to 1 Pb/s";
	if (all.g_shift > 10)
		return "the gain of DCQCN's alpha is below 2^-10";
	if (all.cut_every_ns > DCQCN_NS_MAX)
		return "the time between DCQCN's cuts is above 10 s";
	if (all.alpha_ns > DCQCN_NS_MAX)
		return "the time in which DCQCN's alpha decays is above 10 s";
	if (all.increase_ns > DCQCN_NS_MAX)
		return "DCQCN's increase timer is above 10 s";
	if (all.increase_bytes < 65536)
		return "DCQCN's byte counter is below 64 KiB";
	if (all.fast_rounds > 255)
		return "DCQCN has more than 255 rounds of fast recovery";
	if (all.additive_bps > CC_BPS_MAX)
		return "DCQCN's additive increase is above 1 Pb/s";
	if (all.hyper_bps > CC_BPS_MAX)
		return "DCQCN's hyper increase is above 1 Pb/s";
	if (all.least_bps < CC_BPS_MIN || all.least_bps > line_rate_bps)
		return "DCQCN's least rate is not 1 kb/s to the line rate";
	return NULL;
}

/* What one round adds to the target: nothing in fast recovery. Rounds of the timer and of the byte
 * counter count separately; one of them beyond fast recovery makes the increase additive, both make
 * it hyper (Zhu et al., section 3.1). */
static uint64_t step_bps(const struct dcqcn *d, const struct dcqcn_cfg *cfg)
{
	uint32_t timer = d->timer_rounds, byte = d->byte_rounds;
	uint32_t most = timer > byte ? timer : byte, fewest = timer > byte ? byte : timer;

	if (most < cfg->fast_rounds)
		return 0;
	return fewest > cfg->fast_rounds ? cfg->hyper_bps : cfg->additive_bps;
}

static void count(uint32_t *rounds, uint64_t more)
{
	*rounds = more > UINT32_MAX - *rounds ? UINT32_MAX : *rounds + (uint32_t)more;
}

/* Lets alpha decay for the whole periods up to now, at line rate too: silence is all that counts
 * (Zhu et al., section 3.1). Nobody sees alpha between two cuts, so it needs no timer of its own.
 * Ends at an alpha too small to decay, after less than 2^15 steps. */
static void decay(struct dcqcn *d, const struct dcqcn_cfg *cfg, nsec now)
{
	if (d->alpha_at == NSEC_NEVER)
		return;
	uint64_t periods = (now - d->alpha_at) / cfg->alpha_ns;

	for (; periods > 0 && d->alpha >> cfg->g_shift > 0; periods--)
		d->alpha -= d->alpha >> cfg->g_shift;
}

/* One round: the rate goes half the way to the target, upwards if that is not whole, or it would
 * never arrive. At line rate the flow is let go. */
static void increase(struct cc *c, const struct dcqcn_cfg *cfg, uint32_t *rounds)
{
	struct dcqcn *d = &c->u.dcqcn;
	uint64_t line_bps = c->cfg->line_rate_bps, step = step_bps(d, cfg);

	count(rounds, 1);
	d->target_bps = step < line_bps - d->target_bps ? d->target_bps + step : line_bps;
	d->rate_bps += (d->target_bps - d->rate_bps + 1) / 2;
	if (d->rate_bps == line_bps)
		d->increase_at = NSEC_NEVER;
}

/* Runs the increase timer up to now. Once in its last stage a flow soon trails its target by the
 * same distance in every round; from there on the rounds that are due are taken in one. So what is
 * left are fast_rounds, and less than 64 each to settle in a stage, in the next, and to arrive. */
static void run_timer(struct cc *c, const struct dcqcn_cfg *cfg, nsec now)
{
	struct dcqcn *d = &c->u.dcqcn;

	while (d->increase_at <= now) {
		uint64_t trail = d->target_bps - d->rate_bps;

		d->increase_at += cfg->increase_ns;
		increase(c, cfg, &d->timer_rounds);
		bool is_last_stage = d->timer_rounds > cfg->fast_rounds + 1;

		if (!is_last_stage || d->increase_at > now || d->target_bps - d->rate_bps != trail)
			continue;
		uint64_t step = step_bps(d, cfg);

		assert(step > 0);
		uint64_t due = (now - d->increase_at) / cfg->increase_ns + 1;
		uint64_t room = (c->cfg->line_rate_bps - d->target_bps) / step;
		uint64_t n = due < room ? due : room;

		d->target_bps += n * step;
		d->rate_bps += n * step;
		d->increase_at += n * cfg->increase_ns;
		count(&d->timer_rounds, n);
	}
}

static void start(struct cc *c, nsec now)
{
	c->u.dcqcn = (struct dcqcn){
		.rate_bps = c->cfg->line_rate_bps,
		.target_bps = c->cfg->line_rate_bps,
		.alpha = DCQCN_ALPHA_ONE,
		.alpha_at = NSEC_NEVER,
		.cut_after = now,
		.increase_at = NSEC_NEVER,
	};
}

static void on_sent(struct cc *c, nsec now, uint32_t bytes)
{
	struct dcqcn *d = &c->u.dcqcn;

	if (d->increase_at == NSEC_NEVER)
		return;
	const struct dcqcn_cfg cfg = settle(&c->cfg->dcqcn, c->cfg->line_rate_bps);

	run_timer(c, &cfg, now);
	uint64_t sent = (uint64_t)d->bytes + bytes;

	for (; sent >= cfg.increase_bytes && d->increase_at != NSEC_NEVER;
	     sent -= cfg.increase_bytes)
		increase(c, &cfg, &d->byte_rounds);
	d->bytes = (uint32_t)(sent % cfg.increase_bytes);
}

static void on_notice(struct cc *c, nsec now)
{
	const struct dcqcn_cfg cfg = settle(&c->cfg->dcqcn, c->cfg->line_rate_bps);
	struct dcqcn *d = &c->u.dcqcn;

	if (now < d->cut_after)
		return;
	run_timer(c, &cfg, now);
	decay(d, &cfg, now);
	uint64_t rate_bps = d->rate_bps - (uint64_t)((u128)d->rate_bps * d->alpha >> 31);

	d->target_bps = d->rate_bps;
	d->rate_bps = rate_bps > cfg.least_bps ? rate_bps : cfg.least_bps;
	d->alpha += (DCQCN_ALPHA_ONE - d->alpha) >> cfg.g_shift;
	d->alpha_at = now;
	d->timer_rounds = d->byte_rounds = d->bytes = 0;
	d->cut_after = now + cfg.cut_every_ns;
	d->increase_at = d->rate_bps < c->cfg->line_rate_bps ? now + cfg.increase_ns : NSEC_NEVER;
}

static void on_timer(struct cc *c, nsec now)
{
	const struct dcqcn_cfg cfg = settle(&c->cfg->dcqcn, c->cfg->line_rate_bps);

	run_timer(c, &cfg, now);
}

static nsec deadline(const struct cc *c)
{
	return c->u.dcqcn.increase_at;
}

static struct cc_grant grant(const struct cc *c)
{
	const struct dcqcn *d = &c->u.dcqcn;
	bool is_cut = d->increase_at != NSEC_NEVER;

	return (struct cc_grant){c->cfg->window_bytes, is_cut ? d->rate_bps : CC_UNPACED};
}

const struct cc_ops dcqcn_ops = {
	.name = "dcqcn",
	.start = start,
	.on_sent = on_sent,
	.on_notice = on_notice,
	.on_timer = on_timer,
	.deadline = deadline,
	.grant = grant,
};

bool dcqcn_np_notify(struct dcqcn_np *np, nsec now, nsec interval_ns)
{
	if (now < np->next_at)
		return false;
	np->next_at = now + interval_ns;
	return true;
}
