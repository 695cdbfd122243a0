/* The profiles that MRC's queue pairs name: of entropy values, and of congestion control (MRC 9.4,
 * 10.2.2). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nic/mrc/inside.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* NSCC as it serves here. The round trip of an idle path is some 10 us, which is measured; but one
 * of a busy path is made of batches, wakeups and other programs on the processor, 200 us and far
 * more, which no smaller window makes shorter. So a window may be many times what the idle path
 * holds, up to the device's, and a millisecond of delay is no sign of congestion. */
#define BASE_RTT_NS  (200 * US)
#define TARGET_NS    (1 * MS)
#define WINDOWS_MOST 32u /* MaxWnd, which NSCC scales with the round trip it found */
#define WINDOW_MOST  (UINT32_C(1) << 26) /* of those that NSCC is to know */

#define Q24         16777216.0f
#define Q32         4294967296.0f
#define NUMBER_MOST 8589934592.0f /* of what becomes a fixed point */

/* What one call asks for. */
struct asked {
	const uint64_t *ev, *cc;
	bool has_ev, has_cc; /* such a profile is there, and counted as in use */
	struct mrc_evs *evs;
	struct cc_cfg cfg;
};

static const char *kind_name(enum control_kind kind)
{
	return kind == CONTROL_EV ? "EV" : "CC";
}

/* A number of the control interface as a fixed point; 0 stays the default, and whatever is more
 * than that is at least the least there is. */
static bool to_fixed(uint64_t *to, float number, float one)
{
	if (number >= NUMBER_MOST)
		return false;
	if (number > 0) {
		uint64_t fixed = (uint64_t)(number * one);

		*to = fixed ? fixed : 1;
	}
	return true;
}

static void set_if(uint32_t *to, uint32_t value)
{
	if (value)
		*to = value;
}

static void set_ns_if(nsec *to, uint32_t value)
{
	if (value)
		*to = value;
}

/* What a profile sets, over what the device has. */
static bool override(struct nscc_cfg *to, const struct control_nscc *from)
{
	to->has_no_quick_adapt = from->has_no_quick_adapt;
	set_if(&to->qa_gate, from->qa_gate);
	set_if(&to->adjust_bytes, from->adjust_bytes);
	set_if(&to->max_wnd_bytes, from->max_cwnd_bytes);
	/* A window holds a packet, whatever a controller thinks of our packets. */
	if (to->max_wnd_bytes < to->mtu_bytes)
		to->max_wnd_bytes = to->mtu_bytes;
	set_ns_if(&to->adjust_period_ns, from->adjust_period_ns);
	set_ns_if(&to->base_rtt_ns, from->base_rtt_ns);
	set_ns_if(&to->qa_threshold_ns, from->qa_threshold_ns);
	set_ns_if(&to->target_qdelay_ns, from->target_delay_ns);
	return to_fixed(&to->eta_q24, from->eta, Q24) && to_fixed(&to->fi_q24, from->fi, Q24) &&
	       to_fixed(&to->fi_scale_q32, from->fi_scale, Q32) &&
	       to_fixed(&to->gamma_q32, from->gamma, Q32) &&
	       to_fixed(&to->max_md_jump_q32, from->max_md_jump, Q32);
}

void mrc_configure_cc(const struct device *d, struct cc_cfg *cc)
{
	cc->nscc.base_rtt_ns = BASE_RTT_NS;
	cc->nscc.target_qdelay_ns = TARGET_NS;
	cc->nscc.qa_threshold_ns = 4 * TARGET_NS;
	cc->nscc.bdp_bytes =
		(uint32_t)(cc->window_bytes < WINDOW_MOST ? cc->window_bytes : WINDOW_MOST);
	cc->nscc.max_wnd_bytes = WINDOWS_MOST * cc->nscc.bdp_bytes;
	cc->nscc.mtu_bytes = NIC_MRC_PACKET_BYTES;
	cc->nscc.has_trimming = d->info.setup.has_trim;
}

static int make_cc(const struct device *d, const struct control_cc *p, struct cc_cfg *cc)
{
	const char *problem = NULL;

	*cc = (struct cc_cfg){0};
	device_cc(&d->info.setup, cc);
	mrc_configure_cc(d, cc);
	cc->kind = p->is_nscc ? CC_NSCC : CC_FIXED;
	if (p->is_nscc && p->has_config && !override(&cc->nscc, &p->nscc))
		problem = "a number above 2^33";
	if (!problem)
		problem = cc_cfg_problem(cc);
	if (problem)
		return nic_fail(EINVAL, "%s cannot do what the CC profile says: %s", d->info.name,
				problem);
	return 0;
}

/* In use before the state is read: a controller that changes the profile afterwards sees it. */
static int use(struct device *d, enum control_kind kind, uint64_t id)
{
	const struct mrc_control *c = mrc_device_of(d)->control;
	int r = c && c->show.member ? member_use(c->show.member, kind, id, 1) : -ENOENT;

	if (r == -ENOSPC)
		return nic_fail(EINVAL, "%s: too many profiles are in use by this process",
				d->info.name);
	return r;
}

static void unuse(struct device *d, enum control_kind kind, uint64_t id)
{
	member_use(mrc_device_of(d)->control->show.member, kind, id, -1);
}

/* What is found of a profile: 1, 0: none, and the device's own will do; or -EINVAL. */
static int judge(const struct device *d, enum control_kind kind, uint64_t id, bool is_there,
		 uint8_t phase)
{
	if (is_there && phase == CONTROL_ONLINE)
		return 1;
	if (!is_there && id == 0)
		return 0;
	return nic_fail(EINVAL, "%s profile %#llx of %s is not online: %s", kind_name(kind),
			(unsigned long long)id, d->info.name,
			is_there ? "a controller has to take it there"
				 : "there is no such profile");
}

static int take_ev(struct device *d, struct control *c, struct asked *a)
{
	struct control_profile *p = control_find_profile(c, *a->ev);
	int r = judge(d, CONTROL_EV, *a->ev, p != NULL, p ? p->phase : 0);

	if (r <= 0 || !p)
		return r;
	a->evs = mrc_evs_get(d, c, p);
	return a->evs ? 1 : -errno;
}

static int take_cc(struct device *d, struct control *c, struct asked *a)
{
	const struct control_cc *p = control_find_cc(c, *a->cc);
	int r = judge(d, CONTROL_CC, *a->cc, p != NULL, p ? p->phase : 0);

	if (r <= 0 || !p)
		return r;
	r = make_cc(d, p, &a->cfg);
	return r ? r : 1;
}

/* Reads what controllers have set, and makes of it what was asked for. */
static int read_profiles(struct device *d, struct asked *a)
{
	struct control *c = store_read(mrc_device_of(d)->control->store);

	if (!c)
		return nic_fail(EINVAL, "%s: what controllers set cannot be read: %s", d->info.name,
				strerror(errno));
	int ev = a->ev ? take_ev(d, c, a) : 0, cc = ev >= 0 && a->cc ? take_cc(d, c, a) : 0;

	control_free(c);
	if (ev < 0 || cc < 0)
		return -EINVAL;
	/* Where there is none the device's own is not in use by anybody's count. */
	if (a->has_ev && !ev) {
		unuse(d, CONTROL_EV, *a->ev);
		a->has_ev = false;
	}
	if (a->has_cc && !cc) {
		unuse(d, CONTROL_CC, *a->cc);
		a->has_cc = false;
	}
	return 0;
}

static void undo(struct device *d, const struct asked *a)
{
	if (a->has_ev)
		unuse(d, CONTROL_EV, *a->ev);
	if (a->has_cc)
		unuse(d, CONTROL_CC, *a->cc);
	if (a->evs)
		mrc_evs_put(d, a->evs);
}

static int find(struct device *d, struct asked *a)
{
	int r = a->ev ? use(d, CONTROL_EV, *a->ev) : 0;

	a->has_ev = a->ev && !r;
	if (!r && a->cc)
		r = use(d, CONTROL_CC, *a->cc);
	a->has_cc = a->cc && !r;
	/* Without a place for them there are no profiles at all. */
	if (r == -ENOENT && !(a->ev && *a->ev) && !(a->cc && *a->cc))
		return 0;
	if (r == -ENOENT)
		r = nic_fail(EINVAL, "%s has no profiles: %s cannot be used", d->info.name,
			     store_directory());
	if (!r)
		r = read_profiles(d, a);
	if (r)
		undo(d, a);
	return r;
}

static void leave_cc(struct nic_qp *qp)
{
	struct mrc_naming *n = mrc_naming_of(qp);

	if (n->has_cc)
		unuse(qp->user->device, CONTROL_CC, n->cc_id);
	n->has_cc = false;
}

static void leave_ev(struct nic_qp *qp)
{
	struct device *d = qp->user->device;
	struct mrc_naming *n = mrc_naming_of(qp);

	if (!n->evs)
		return;
	uint64_t id = n->evs->id;

	mrc_evs_leave(d, n);
	unuse(d, CONTROL_EV, id);
}

/* What was found is the queue pair's; what it named before no longer is. */
static void adopt(struct nic_qp *qp, const struct asked *a)
{
	struct mrc_naming *n = mrc_naming_of(qp);
	struct device *d = qp->user->device;

	if (a->ev) {
		struct mrc_naming hold = {.qp = qp};

		/* EVs that nobody uses are gone: these may be those that it had. */
		if (a->evs)
			mrc_evs_join(a->evs, &hold);
		leave_ev(qp);
		if (a->evs) {
			mrc_evs_join(a->evs, n);
			mrc_evs_leave(d, &hold);
		}
	}
	if (!a->cc)
		return;
	leave_cc(qp);
	n->has_cc = a->has_cc;
	n->cc_id = *a->cc;
	n->cc = a->cfg;
	const struct mrc_attr attr = {.cc = a->has_cc ? &n->cc : NULL};

	mrc_qp_modify(qp->shard->engine, qp->shard->clock, qp->number, &attr, MRC_SET_CC);
}

static int name_profiles(struct nic_qp *qp, struct asked *a)
{
	struct device *d = qp->user->device;
	struct mrc_attr is;

	mrc_qp_query(qp->shard->engine, qp->number, &is, NULL, NULL);
	if (is.state > MRC_INIT || is.evs)
		return nic_fail(EINVAL, "queue pair %#x is connected: it is too late for profiles",
				qp->number);
	if (!qp->own)
		qp->own = calloc(1, sizeof(struct mrc_naming));
	if (!qp->own)
		return nic_fail(ENOMEM, "no memory for queue pair %#x", qp->number);
	mrc_naming_of(qp)->qp = qp;
	int r = find(d, a);

	if (!r)
		adopt(qp, a);
	return r;
}

int nic_mrc_qp_profiles(struct nic_qp *qp, const uint64_t *ev, const uint64_t *cc)
{
	struct device *d = qp->user->device;
	struct asked a = {.ev = ev, .cc = cc};
	int r = device_check_for(d, &transport_mrc);

	if (r || (!ev && !cc))
		return r;
	device_enter(d);
	r = name_profiles(qp, &a);
	device_leave(d);
	return r;
}

void mrc_unname(struct nic_qp *qp)
{
	device_changed(qp->user->device);
	if (!qp->own)
		return;
	leave_ev(qp);
	leave_cc(qp);
	free(qp->own);
	qp->own = NULL;
}
