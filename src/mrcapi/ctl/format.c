/* EV format profiles: the mode and the widths of entropy values (MRC 9.4.3). */
#include <errno.h>
#include <string.h>

#include "mrcapi/ctl/ctl.h"

#define KNOWN                                                                   \
	(CTL_STATES | MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP | \
	 MRC_CTL_EV_FMT_VENDOR_CFG)

uint32_t ctl_mode_bits(const struct control_format *f)
{
	static const uint16_t bits[] = {
		[CONTROL_STRUCTURED] = 32,
		[CONTROL_SRV6] = 256,
		[CONTROL_UDP] = 16,
	};

	return bits[f->wide];
}

uint32_t ctl_format_bits(const struct control_format *f)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < f->n_fields; i++)
		bits += f->width[i];
	return f->n_fields > 0 ? bits : ctl_mode_bits(f);
}

static int set_mode(const struct ctl_edit *e, struct control_format *f,
		    const struct mrc_ctl_ev_fmt_profile_attr *a)
{
	switch (a->ev_fmt_mode) {
	case MRC_CTL_EV_FMT_MODE_STEV: f->wide = CONTROL_STRUCTURED; return 0;
	case MRC_CTL_EV_FMT_MODE_UDP: f->wide = CONTROL_UDP; return 0;
	case MRC_CTL_EV_FMT_MODE_SRV6:
		f->wide = CONTROL_SRV6;
		return e->device->has_segments ? 0 : -EOPNOTSUPP;
	default: return -EINVAL;
	}
}

static int set_fields(struct control_format *f, const struct mrc_ctl_ev_fmt_profile_attr *a)
{
	int n = a->ev_fmt_op.fmt_field_count;

	if (n <= 0 || !a->ev_fmt_op.fmt_fields)
		return -EINVAL;
	if ((uint32_t)n > PATH_FIELDS_MAX)
		return -E2BIG;
	memset(f->width, 0, sizeof f->width);
	f->n_fields = (uint8_t)n;
	for (int i = 0; i < n; i++) {
		uint8_t width = a->ev_fmt_op.fmt_fields[i].width;

		if (width == 0)
			return -EINVAL;
		if (width > PATH_FIELD_WIDTH)
			return -E2BIG;
		f->width[i] = width;
	}
	return 0;
}

/* E2BIG: how many there are. */
static int query_fields(const struct control_format *f, struct mrc_ctl_ev_fmt_profile_attr *a)
{
	int room = a->ev_fmt_op.fmt_field_count;

	if (room < 0 || (f->n_fields > 0 && room > 0 && !a->ev_fmt_op.fmt_fields))
		return -EINVAL;
	a->ev_fmt_op.fmt_field_count = f->n_fields;
	if (room < f->n_fields)
		return -E2BIG;
	for (uint32_t i = 0; i < f->n_fields; i++)
		a->ev_fmt_op.fmt_fields[i].width = f->width[i];
	return 0;
}

/* Whether an EV profile names the format, in this state or beyond. */
static bool is_named(const struct control *c, uint64_t id, enum control_phase least)
{
	for (uint32_t i = 0; i < c->n_profiles; i++) {
		const struct control_profile *p = &c->profiles[i];

		if (p->mode != CONTROL_AUTO && p->format_id == id && p->phase >= least)
			return true;
	}
	return false;
}

static int step(struct ctl_edit *e, struct control_format *f, enum control_phase to)
{
	if (f->phase == CONTROL_ONLINE && to < CONTROL_ONLINE &&
	    is_named(e->c, e->id, CONTROL_ONLINE))
		return -EBUSY;
	if (to == CONTROL_INIT && is_named(e->c, e->id, CONTROL_OFFLINE))
		return -EBUSY;
	if (to == CONTROL_ONLINE && f->n_fields == 0)
		return -EINVAL;
	if (to == CONTROL_INIT)
		control_remove(e->c, CONTROL_FORMAT, e->id);
	else
		f->phase = (uint8_t)to;
	return 0;
}

static int set_attributes(struct ctl_edit *e, struct control_format *f,
			  const struct mrc_ctl_ev_fmt_profile_attr *a)
{
	bool is_set = e->mask & MRC_CTL_EV_FMT_PROFILE_OP &&
		      a->ev_fmt_op.op == MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
	int error = 0;

	if (e->mask & MRC_CTL_EV_FMT_PROFILE_MODE)
		error = set_mode(e, f, a);
	if (!error && is_set)
		error = set_fields(f, a);
	if (!error && ctl_format_bits(f) > ctl_mode_bits(f))
		error = -E2BIG;
	e->is_changed |=
		is_set || e->mask & (MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_VENDOR_CFG);
	return error;
}

int ctl_format_modify(struct ctl_edit *e, struct mrc_ctl_ev_fmt_profile_attr *a)
{
	const struct ctl_wish wish = {e->mask, KNOWN, a->profile_state, a->cur_profile_state,
				      a->vendor_cfg};
	struct control_format *f = control_find_format(e->c, e->id);
	enum control_phase from = f ? (enum control_phase)f->phase : CONTROL_INIT, to;
	int error = ctl_read_step(&wish, from, &to);

	if (error || (!f && to == CONTROL_INIT))
		return error;
	if (e->mask & MRC_CTL_EV_FMT_PROFILE_OP &&
	    (uint32_t)a->ev_fmt_op.op > MRC_CTL_EV_FMT_OP_QUERY_FIELDS)
		return -EINVAL;
	if (!f && !(e->mask & MRC_CTL_EV_FMT_PROFILE_MODE))
		return -EINVAL;
	if (!f)
		f = control_add_format(e->c, e->id);
	if (!f)
		return -ENOMEM;
	error = set_attributes(e, f, a);
	if (!error && from == CONTROL_ONLINE && e->is_changed)
		error = -EINVAL;
	if (!error && e->mask & MRC_CTL_EV_FMT_PROFILE_OP &&
	    a->ev_fmt_op.op == MRC_CTL_EV_FMT_OP_QUERY_FIELDS)
		error = query_fields(f, a);
	e->is_changed |= from != to;
	return error || from == to ? error : step(e, f, to);
}

int ctl_format_query(const struct ctl_edit *e, struct mrc_ctl_ev_fmt_profile_attr *a)
{
	static const enum mrc_ctl_ev_fmt_mode modes[] = {
		[CONTROL_STRUCTURED] = MRC_CTL_EV_FMT_MODE_STEV,
		[CONTROL_SRV6] = MRC_CTL_EV_FMT_MODE_SRV6,
		[CONTROL_UDP] = MRC_CTL_EV_FMT_MODE_UDP,
	};
	const struct control_format *f = control_find_format(e->c, e->id);

	if (e->mask & ~(f ? KNOWN : CTL_STATES))
		return -EINVAL;
	if (e->mask & MRC_CTL_EV_FMT_PROFILE_OP &&
	    a->ev_fmt_op.op != MRC_CTL_EV_FMT_OP_QUERY_FIELDS)
		return -EINVAL;
	if (f && e->mask & MRC_CTL_EV_FMT_PROFILE_OP) {
		int error = query_fields(f, a);

		if (error)
			return error;
	}
	if (e->mask & MRC_CTL_EV_FMT_PROFILE_STATE)
		a->profile_state = (enum mrc_ctl_profile_state)(f ? f->phase : CONTROL_INIT);
	if (e->mask & MRC_CTL_EV_FMT_PROFILE_CUR_STATE)
		a->cur_profile_state = (enum mrc_ctl_profile_state)(f ? f->phase : CONTROL_INIT);
	if (f && e->mask & MRC_CTL_EV_FMT_PROFILE_MODE)
		a->ev_fmt_mode = modes[f->wide];
	if (f && e->mask & MRC_CTL_EV_FMT_VENDOR_CFG)
		memcpy(a->vendor_cfg, f->vendor, sizeof a->vendor_cfg);
	return 0;
}
