/* CC profiles: an algorithm and its numbers (MRC 8, 10.2.2). */
#include <errno.h>
#include <float.h>
#include <string.h>

#include "cc/nscc.h"
#include "mrcapi/ctl/ctl.h"

#define DESCRIBING (MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_VENDOR_CFG)
#define KNOWN      (CTL_STATES | DESCRIBING | MRC_CTL_CC_PROFILE_CONFIG)

/* What a window's steps and their scale stay below, in bytes and as a number (cc/nscc.h). */
#define STEP_END  8589934592.0f
#define SCALE_END 33554432.0f

static bool is_below(float f, float end)
{
	return f >= 0 && f < end;
}

static bool is_share(float f)
{
	return f >= 0 && f <= 1;
}

/* Zero is the default of each, so that there is no lower bound but for the round trip's. */
static bool is_good(const struct mrc_ctl_cc_nscc_cfg *n)
{
	if (n->base_rtt && (n->base_rtt < NSCC_RTT_MIN_NS || n->base_rtt > NSCC_RTT_MAX_NS))
		return false;
	if (n->adjust_period_threshold > NSCC_NS_MAX || n->qa_threshold > NSCC_NS_MAX ||
	    n->target_delay > NSCC_NS_MAX)
		return false;
	if (n->qa_gate > 31 || (n->max_cwnd && n->max_cwnd < NSCC_MTU_MIN))
		return false;
	return is_share(n->gamma) && is_share(n->max_md_jump) && is_below(n->eta, STEP_END) &&
	       is_below(n->fi, STEP_END) && is_below(n->fi_scale, SCALE_END);
}

static int set_config(struct control_cc *p, const struct mrc_ctl_cc_nscc_cfg *n)
{
	/* Without an algorithm there is nothing to configure. */
	if (!p->is_nscc)
		return n ? -EINVAL : 0;
	if (!n || !is_good(n))
		return -EINVAL;
	p->has_config = true;
	p->nscc = (struct control_nscc){
		.has_no_quick_adapt = n->disable_qa != 0,
		.qa_gate = n->qa_gate,
		.adjust_bytes = n->adjust_bytes_threshold,
		.adjust_period_ns = n->adjust_period_threshold,
		.base_rtt_ns = n->base_rtt,
		.max_cwnd_bytes = n->max_cwnd,
		.qa_threshold_ns = n->qa_threshold,
		.target_delay_ns = n->target_delay,
		.eta = n->eta,
		.fi = n->fi,
		.fi_scale = n->fi_scale,
		.gamma = n->gamma,
		.max_md_jump = n->max_md_jump,
	};
	return 0;
}

/* What lies between the members is zero too: programs compare such structs as a whole. */
static void report_config(const struct control_nscc *n, void *config)
{
	struct mrc_ctl_cc_nscc_cfg out;

	memset(&out, 0, sizeof out);
	out.disable_qa = n->has_no_quick_adapt;
	out.adjust_bytes_threshold = n->adjust_bytes;
	out.adjust_period_threshold = n->adjust_period_ns;
	out.base_rtt = n->base_rtt_ns;
	out.eta = n->eta;
	out.fi = n->fi;
	out.fi_scale = n->fi_scale;
	out.gamma = n->gamma;
	out.max_md_jump = n->max_md_jump;
	out.max_cwnd = n->max_cwnd_bytes;
	out.qa_gate = n->qa_gate;
	out.qa_threshold = n->qa_threshold_ns;
	out.target_delay = n->target_delay_ns;
	memcpy(config, &out, sizeof out);
}

static int set_algorithm(struct control_cc *p, const char *name)
{
	bool is_nscc = name != NULL;

	if (is_nscc && strcmp(name, CTL_NSCC) != 0)
		return -EINVAL;
	/* The numbers of one algorithm mean nothing to the other. */
	if (is_nscc != p->is_nscc) {
		p->has_config = false;
		p->nscc = (struct control_nscc){0};
	}
	p->is_nscc = is_nscc;
	return 0;
}

static int change(struct ctl_edit *e, struct control_cc *p, const struct mrc_ctl_cc_profile_attr *a,
		  enum control_phase to)
{
	bool is_online = p->phase == CONTROL_ONLINE;
	int error = 0;

	if (is_online && e->mask & DESCRIBING)
		return -EINVAL;
	e->is_exclusive =
		is_online && (to != CONTROL_ONLINE || e->mask & MRC_CTL_CC_PROFILE_CONFIG);
	if (e->is_exclusive && e->n_users > 0)
		return -EBUSY;
	if (e->mask & MRC_CTL_CC_PROFILE_ALGORITHM)
		error = set_algorithm(p, a->algorithm);
	if (!error && e->mask & MRC_CTL_CC_PROFILE_CONFIG)
		error = set_config(p, a->cc_config);
	if (error)
		return error;
	e->is_changed = p->phase != to || e->mask & (DESCRIBING | MRC_CTL_CC_PROFILE_CONFIG);
	if (to == CONTROL_ONLINE && p->is_nscc && !p->has_config)
		return -EINVAL;
	if (to == CONTROL_INIT)
		control_remove(e->c, CONTROL_CC, e->id);
	else
		p->phase = (uint8_t)to;
	return 0;
}

int ctl_cc_modify(struct ctl_edit *e, const struct mrc_ctl_cc_profile_attr *a)
{
	const struct ctl_wish wish = {e->mask, KNOWN, a->profile_state, a->cur_profile_state,
				      a->vendor_cfg};
	struct control_cc *p = control_find_cc(e->c, e->id);
	enum control_phase to;
	int error = ctl_read_step(&wish, p ? (enum control_phase)p->phase : CONTROL_INIT, &to);

	if (error || (!p && to == CONTROL_INIT))
		return error;
	if (!p && !(e->mask & MRC_CTL_CC_PROFILE_ALGORITHM))
		return -EINVAL;
	if (!p)
		p = control_add_cc(e->c, e->id);
	return p ? change(e, p, a, to) : -ENOMEM;
}

int ctl_cc_query(const struct ctl_edit *e, struct mrc_ctl_cc_profile_attr *a)
{
	const struct control_cc *p = control_find_cc(e->c, e->id);
	/* Room for the answer, though the struct that modify reads says const. */
	union {
		const void *given;
		void *room;
	} config = {a->cc_config};

	if (e->mask & ~(p ? KNOWN : CTL_STATES))
		return -EINVAL;
	if (p && p->is_nscc && e->mask & MRC_CTL_CC_PROFILE_CONFIG) {
		if (!config.room)
			return -EINVAL;
		report_config(&p->nscc, config.room);
	}
	if (p && e->mask & MRC_CTL_CC_PROFILE_ALGORITHM)
		a->algorithm = p->is_nscc ? CTL_NSCC : NULL;
	if (p && e->mask & MRC_CTL_CC_PROFILE_VENDOR_CFG)
		memcpy(a->vendor_cfg, p->vendor, sizeof a->vendor_cfg);
	if (e->mask & MRC_CTL_CC_PROFILE_STATE)
		a->profile_state = (enum mrc_ctl_profile_state)(p ? p->phase : CONTROL_INIT);
	if (e->mask & MRC_CTL_CC_PROFILE_CUR_STATE)
		a->cur_profile_state = (enum mrc_ctl_profile_state)(p ? p->phase : CONTROL_INIT);
	return 0;
}
