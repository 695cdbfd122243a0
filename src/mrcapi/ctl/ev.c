/* EV profiles: how many entropy values of which kind, and their steps (MRC 9.4, 10.2.2). */
#include <errno.h>
#include <string.h>

#include "mrcapi/ctl/ctl.h"

/* What describes a profile, and may be changed while it is offline only. */
#define DESCRIBING                                                                        \
	(MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT | \
	 MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_VENDOR_CFG)
#define OPS   (MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_EV_FIELDS_OP)
#define KNOWN (CTL_STATES | DESCRIBING | MRC_CTL_EV_PROFILE_EVENT_MASK | OPS)

/* The operation that comes along. */
enum deed { NOTHING, SET_VALUES, SET_STATES, ASK_VALUES, SET_FIELDS, ASK_FIELDS };

static int read_deed(const struct ctl_edit *e, const struct mrc_ctl_ev_profile_attr *a,
		     enum deed *deed)
{
	static const enum deed of_values[] = {
		[MRC_CTL_EV_OP_REPLACE_EV] = SET_VALUES,
		[MRC_CTL_EV_OP_MODIFY_EV_STATE] = SET_STATES,
		[MRC_CTL_EV_OP_QUERY_EV_STATE] = ASK_VALUES,
		[MRC_CTL_EV_OP_QUERY_EV_ARRAY] = ASK_VALUES,
	};
	static const enum deed of_fields[] = {
		[MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS] = SET_FIELDS,
		[MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS] = ASK_FIELDS,
	};

	*deed = NOTHING;
	if ((e->mask & OPS) == OPS)
		return -EINVAL;
	if (e->mask & MRC_CTL_EV_PROFILE_EV_OP) {
		if ((uint32_t)a->ev_op.op > MRC_CTL_EV_OP_QUERY_EV_ARRAY)
			return -EINVAL;
		*deed = of_values[a->ev_op.op];
	}
	if (e->mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP) {
		if ((uint32_t)a->ev_fields_op.op > MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS)
			return -EINVAL;
		*deed = of_fields[a->ev_fields_op.op];
	}
	return 0;
}

static int ask(const struct ctl_edit *e, const struct control_profile *p,
	       struct mrc_ctl_ev_profile_attr *a, enum deed deed)
{
	if (deed == ASK_FIELDS)
		return ctl_fields_query(p, a);
	return deed == ASK_VALUES ? ctl_values_query(e, p, a) : 0;
}

static int read_mode(enum mrc_ctl_ev_mode mode, uint8_t *to)
{
	switch (mode) {
	case MRC_CTL_EV_MODE_AUTO: *to = CONTROL_AUTO; return 0;
	case MRC_CTL_EV_MODE_EXP: *to = CONTROL_EXPLICIT; return 0;
	case MRC_CTL_EV_MODE_GEN: *to = CONTROL_GENERATED; return 0;
	default: return -EINVAL;
	}
}

/* Values that the device makes up for ECMP follow no format. */
static int set_format(struct ctl_edit *e, struct control_profile *p,
		      const struct mrc_ctl_ev_profile_attr *a, bool has_format)
{
	if (p->mode == CONTROL_AUTO) {
		p->format_id = 0;
		return 0;
	}
	if (e->mask & MRC_CTL_EV_PROFILE_FMT_ID)
		p->format_id = a->ev_fmt_profile_id;
	else if (!has_format)
		return -EINVAL;
	return control_find_format(e->c, p->format_id) ? 0 : -EINVAL;
}

/* Another number of values, or values that come about in another way, are all new. */
static int set_count(struct ctl_edit *e, struct control_profile *p,
		     const struct mrc_ctl_ev_profile_attr *a, uint8_t mode_before)
{
	uint32_t count = p->count;

	if (e->mask & MRC_CTL_EV_PROFILE_COUNT)
		count = a->ev_count;
	else if (count == 0 && p->mode == CONTROL_AUTO)
		count = CTL_AUTO_EVS;
	if (count == 0 || count > CONTROL_EVS)
		return -EINVAL;
	if (count == p->count && p->mode == mode_before)
		return 0;
	int error = control_set_count(e->c, p, count);

	return error ? -ENOMEM : 0;
}

static int describe(struct ctl_edit *e, struct control_profile *p,
		    const struct mrc_ctl_ev_profile_attr *a)
{
	bool is_new = p->count == 0, has_format = !is_new && p->mode != CONTROL_AUTO;
	uint8_t before = p->mode;
	int error = 0;

	if (e->mask & MRC_CTL_EV_PROFILE_MODE)
		error = read_mode(a->ev_mode, &p->mode);
	else if (is_new)
		error = -EINVAL;
	/* What one mode generates from is what another takes for short forms. */
	if (p->mode != before)
		p->n_fields = 0;
	if (!error)
		error = set_format(e, p, a, has_format);
	if (!error)
		error = set_count(e, p, a, before);
	if (error)
		return error;
	if (e->mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE)
		p->min_active = a->ev_min_active;
	return p->min_active > p->count ? -EINVAL : 0;
}

/* What a profile must have before queue pairs may name it; values that nobody gave are made up. */
static int complete(struct ctl_edit *e, struct control_profile *p)
{
	const struct control_format *f = control_find_format(e->c, p->format_id);

	if (p->mode == CONTROL_AUTO)
		return ctl_draw(e, p);
	if (f->phase != CONTROL_ONLINE)
		return -EINVAL;
	int error = ctl_fields_check(e->c, p);

	if (error)
		return error;
	return p->mode == CONTROL_GENERATED ? ctl_draw(e, p) : ctl_values_check(e->c, p);
}

static int step(struct ctl_edit *e, struct control_profile *p, enum control_phase to)
{
	if (to == CONTROL_INIT) {
		control_remove(e->c, CONTROL_EV, e->id);
		return 0;
	}
	if (to == CONTROL_ONLINE) {
		int error = complete(e, p);

		if (error)
			return error;
	} else if (p->phase == CONTROL_ONLINE && p->mode != CONTROL_EXPLICIT) {
		memset(p->evs, 0, p->count * sizeof *p->evs);
	}
	p->phase = (uint8_t)to;
	return 0;
}

static int set_attributes(struct ctl_edit *e, struct control_profile *p,
			  const struct mrc_ctl_ev_profile_attr *a)
{
	if (e->mask & MRC_CTL_EV_PROFILE_EVENT_MASK) {
		if (a->ev_event_mask & ~CTL_EV_EVENTS)
			return -EINVAL;
		p->event_mask = (uint8_t)a->ev_event_mask;
	}
	e->is_changed |= (e->mask & (DESCRIBING | MRC_CTL_EV_PROFILE_EVENT_MASK)) != 0;
	return p->phase == CONTROL_ONLINE ? 0 : describe(e, p, a);
}

static int set_values(struct ctl_edit *e, struct control_profile *p,
		      const struct mrc_ctl_ev_profile_attr *a)
{
	uint32_t n_done = 0;
	int error = ctl_values_modify(e, p, a, &n_done);

	e->is_changed |= n_done > 0;
	/* Nothing stays of a profile that does not come out of INIT. */
	e->is_partial = error && e->is_changed && p->phase != CONTROL_INIT;
	return error;
}

/* Fields of a profile that is online: its values are those of the new fields at once. */
static int set_fields(struct ctl_edit *e, struct control_profile *p,
		      const struct mrc_ctl_ev_profile_attr *a)
{
	int error = ctl_fields_set(e, p, a);

	e->is_changed = true;
	return error || p->phase != CONTROL_ONLINE ? error : complete(e, p);
}

static int change(struct ctl_edit *e, struct control_profile *p, struct mrc_ctl_ev_profile_attr *a,
		  enum control_phase to)
{
	enum deed deed;
	int error = read_deed(e, a, &deed);
	bool is_online = p->phase == CONTROL_ONLINE;

	if (error || (is_online && e->mask & DESCRIBING))
		return error ? error : -EINVAL;
	/* A value may be replaced under those who use it (10.2.2); fields make all values anew. */
	e->is_exclusive = is_online && (to != CONTROL_ONLINE || deed == SET_FIELDS);
	if (e->is_exclusive && e->n_users > 0)
		return -EBUSY;
	error = set_attributes(e, p, a);
	if (!error && deed == SET_FIELDS)
		error = set_fields(e, p, a);
	if (!error && (deed == SET_VALUES || deed == SET_STATES))
		error = set_values(e, p, a);
	if (!error)
		error = ask(e, p, a, deed);
	if (error || p->phase == to)
		return error;
	e->is_changed = true;
	return step(e, p, to);
}

int ctl_ev_modify(struct ctl_edit *e, struct mrc_ctl_ev_profile_attr *a)
{
	const struct ctl_wish wish = {e->mask, KNOWN, a->profile_state, a->cur_profile_state,
				      a->vendor_cfg};
	struct control_profile *p = control_find_profile(e->c, e->id);
	enum control_phase to;
	int error = ctl_read_step(&wish, p ? (enum control_phase)p->phase : CONTROL_INIT, &to);

	if (error || (!p && to == CONTROL_INIT))
		return error;
	if (!p)
		p = control_add_profile(e->c, e->id);
	return p ? change(e, p, a, to) : -ENOMEM;
}

static void report(const struct ctl_edit *e, const struct control_profile *p,
		   struct mrc_ctl_ev_profile_attr *a)
{
	static const enum mrc_ctl_ev_mode modes[] = {
		[CONTROL_AUTO] = MRC_CTL_EV_MODE_AUTO,
		[CONTROL_EXPLICIT] = MRC_CTL_EV_MODE_EXP,
		[CONTROL_GENERATED] = MRC_CTL_EV_MODE_GEN,
	};

	if (e->mask & MRC_CTL_EV_PROFILE_MODE)
		a->ev_mode = modes[p->mode];
	if (e->mask & MRC_CTL_EV_PROFILE_FMT_ID)
		a->ev_fmt_profile_id = p->format_id;
	if (e->mask & MRC_CTL_EV_PROFILE_COUNT)
		a->ev_count = p->count;
	if (e->mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE)
		a->ev_min_active = p->min_active;
	if (e->mask & MRC_CTL_EV_PROFILE_EVENT_MASK)
		a->ev_event_mask = p->event_mask;
	if (e->mask & MRC_CTL_EV_PROFILE_VENDOR_CFG)
		memcpy(a->vendor_cfg, p->vendor, sizeof a->vendor_cfg);
}

int ctl_ev_query(const struct ctl_edit *e, struct mrc_ctl_ev_profile_attr *a)
{
	const struct control_profile *p = control_find_profile(e->c, e->id);
	enum deed deed;
	int error = read_deed(e, a, &deed);

	if (error || e->mask & ~(p ? KNOWN : CTL_STATES))
		return -EINVAL;
	if (deed == SET_VALUES || deed == SET_STATES || deed == SET_FIELDS)
		return -EINVAL;
	if (p) {
		error = ask(e, p, a, deed);
		if (error)
			return error;
		report(e, p, a);
	}
	if (e->mask & MRC_CTL_EV_PROFILE_STATE)
		a->profile_state = (enum mrc_ctl_profile_state)(p ? p->phase : CONTROL_INIT);
	if (e->mask & MRC_CTL_EV_PROFILE_CUR_STATE)
		a->cur_profile_state = (enum mrc_ctl_profile_state)(p ? p->phase : CONTROL_INIT);
	return 0;
}
