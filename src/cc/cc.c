#include "cc/cc.h"

#include <assert.h>
#include <stddef.h>

#define NSEC_PER_S UINT64_C(1000000000)

/* The fixed window: nothing that happens changes it. */

static struct cc_grant fixed_grant(const struct cc *c)
{
	return (struct cc_grant){c->cfg->window_bytes, CC_UNPACED};
}

static const struct cc_ops fixed_ops = {.name = "fixed", .grant = fixed_grant};

static const struct cc_ops *const kinds[] = {
	[CC_FIXED] = &fixed_ops,
	[CC_DCQCN] = &dcqcn_ops,
	[CC_NSCC] = &nscc_ops,
};

const char *cc_cfg_problem(const struct cc_cfg *cfg)
{
	if (cfg->kind >= sizeof kinds / sizeof kinds[0])
		return "no such congestion controller";
	if (cfg->window_bytes == 0)
		return "the window is 0";
	if (cfg->slack_ns > CC_SLACK_MAX_NS)
		return "the slack of pacing is above 1 s";
	if (cfg->kind == CC_DCQCN)
		return dcqcn_cfg_problem(&cfg->dcqcn, cfg->line_rate_bps);
	if (cfg->kind == CC_NSCC)
		return nscc_cfg_problem(&cfg->nscc, cfg->line_rate_bps);
	return NULL;
}

void cc_start(struct cc *c, const struct cc_cfg *cfg, nsec now)
{
	assert(!cc_cfg_problem(cfg));
	*c = (struct cc){.ops = kinds[cfg->kind], .cfg = cfg, .free_at = now};
	if (c->ops->start)
		c->ops->start(c, now);
}

/* Keeps the next packet away for as long as these bytes take. The part of a nanosecond that is left
 * over is carried on, so that however many packets leave, their sum is not off by one byte. */
static void charge(struct cc *c, nsec now, uint32_t bytes, uint64_t rate_bps)
{
	bool is_paced = rate_bps != CC_UNPACED;
	/* What leaves unpaced earns nothing for the time after a cut. */
	nsec slack = is_paced ? c->cfg->slack_ns : 0, earliest = now > slack ? now - slack : 0;

	assert(rate_bps > 0);
	if (c->free_at < earliest) {
		c->free_at = earliest;
		c->part = 0;
	}
	if (!is_paced)
		return;
	/* After a cut the parts are larger; it was less than a nanosecond, and stays so. */
	if (c->part >= rate_bps)
		c->part = rate_bps - 1;
	uint64_t parts = UINT64_C(8) * bytes * NSEC_PER_S + c->part;

	c->free_at += parts / rate_bps;
	c->part = parts % rate_bps;
}

void cc_on_new(struct cc *c, nsec now, uint64_t bytes)
{
	if (c->ops->on_new)
		c->ops->on_new(c, now, bytes);
}

void cc_on_sent(struct cc *c, nsec now, uint32_t bytes)
{
	assert(bytes < UINT32_C(1) << 31);
	charge(c, now, bytes, c->ops->grant(c).rate_bps);
	if (c->ops->on_sent)
		c->ops->on_sent(c, now, bytes);
}

void cc_on_ack(struct cc *c, const struct cc_ack *ack)
{
	if (c->ops->on_ack)
		c->ops->on_ack(c, ack);
}

void cc_on_notice(struct cc *c, nsec now)
{
	if (c->ops->on_notice)
		c->ops->on_notice(c, now);
}

void cc_on_loss(struct cc *c, const struct cc_ack *ack, enum cc_loss loss)
{
	if (c->ops->on_loss)
		c->ops->on_loss(c, ack, loss);
}

void cc_on_timer(struct cc *c, nsec now)
{
	if (cc_deadline(c) <= now)
		c->ops->on_timer(c, now);
}

nsec cc_deadline(const struct cc *c)
{
	return c->ops->deadline ? c->ops->deadline(c) : NSEC_NEVER;
}

struct cc_grant cc_grant(const struct cc *c)
{
	return c->ops->grant(c);
}

nsec cc_next_send(const struct cc *c)
{
	return c->free_at;
}
