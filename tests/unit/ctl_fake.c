#include "ctl_fake.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 16u

void fake_init(struct mrc_context *m)
{
	*m = (struct mrc_context){.s.formats = calloc(ROOM, sizeof *m->s.formats),
				  .s.profiles = calloc(ROOM, sizeof *m->s.profiles),
				  .s.ccs = calloc(ROOM, sizeof *m->s.ccs)};
	assert(m->s.formats && m->s.profiles && m->s.ccs);
}

void fake_fini(struct mrc_context *m)
{
	ctl_state_fini(&m->s);
}

void fake_ids(const struct mrc_context *m, struct ctl_ids *ids)
{
	*ids = (struct ctl_ids){.n = {0}};
	for (uint32_t k = 0; k < CONTROL_KINDS; k++) {
		ids->at[k] = calloc(ROOM, sizeof *ids->at[k]);
		assert(ids->at[k]);
	}
	for (uint32_t i = 0; i < m->s.n_formats; i++)
		ids->at[CONTROL_FORMAT][ids->n[CONTROL_FORMAT]++] = m->s.formats[i].id;
	for (uint32_t i = 0; i < m->s.n_profiles; i++)
		ids->at[CONTROL_EV][ids->n[CONTROL_EV]++] = m->s.profiles[i].id;
	for (uint32_t i = 0; i < m->s.n_ccs; i++)
		ids->at[CONTROL_CC][ids->n[CONTROL_CC]++] = m->s.ccs[i].id;
}

static int fail(int number)
{
	errno = number;
	return -1;
}

/* One step at a time, up or down. */
static bool is_step(enum mrc_ctl_profile_state from, enum mrc_ctl_profile_state to)
{
	return (int)to - (int)from == 1 || (int)from - (int)to == 1;
}

int mrc_ctl_query_port(struct mrc_context *m, uint8_t port, struct mrc_ctl_port_attr *attr,
		       int attr_mask)
{
	if (attr_mask != MRC_CTL_PORT_ADMIN_STATE || port < 1 || port > 2)
		return fail(EINVAL);
	attr->port_admin_state =
		m->disabled >> port & 1 ? MRC_CTL_PORT_ADMIN_DISABLED : MRC_CTL_PORT_ADMIN_ENABLED;
	return 0;
}

int mrc_ctl_modify_port(struct mrc_context *m, uint8_t port, struct mrc_ctl_port_attr *attr,
			int attr_mask)
{
	if (attr_mask != MRC_CTL_PORT_ADMIN_STATE || port < 1 || port > 2)
		return fail(EINVAL);
	m->n_modified++;
	if (attr->port_admin_state == MRC_CTL_PORT_ADMIN_ENABLED)
		m->disabled &= ~(1u << port);
	else
		m->disabled |= 1u << port;
	return 0;
}

static bool is_format_held(const struct mrc_context *m, uint64_t id, bool by_any)
{
	for (uint32_t i = 0; i < m->s.n_profiles; i++) {
		const struct ctl_profile *p = &m->s.profiles[i];

		if (p->mode != MRC_CTL_EV_MODE_AUTO && p->format == id &&
		    (by_any || p->state == MRC_CTL_PROFILE_ONLINE))
			return true;
	}
	return false;
}

static int step_format(struct mrc_context *m, struct ctl_format *f, enum mrc_ctl_profile_state to)
{
	if (!is_step(f->state, to) || (to == MRC_CTL_PROFILE_ONLINE && !f->n_fields))
		return fail(EINVAL);
	if (to < f->state && is_format_held(m, f->id, to == MRC_CTL_PROFILE_INIT))
		return fail(EBUSY);
	f->state = to;
	if (to == MRC_CTL_PROFILE_INIT)
		*f = m->s.formats[--m->s.n_formats];
	return 0;
}

int mrc_ctl_modify_ev_fmt_profile(struct mrc_context *m, uint64_t id,
				  struct mrc_ctl_ev_fmt_profile_attr *attr, int mask)
{
	struct ctl_format *f = ctl_find_format(&m->s, id);

	if (!f) {
		if (mask != (MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE) ||
		    attr->profile_state != MRC_CTL_PROFILE_OFFLINE || m->s.n_formats == ROOM)
			return fail(EINVAL);
		m->s.formats[m->s.n_formats++] = (struct ctl_format){
			.id = id, .state = MRC_CTL_PROFILE_OFFLINE, .mode = attr->ev_fmt_mode};
	} else if (mask == MRC_CTL_EV_FMT_PROFILE_STATE) {
		if (step_format(m, f, attr->profile_state))
			return -1;
	} else if (mask == MRC_CTL_EV_FMT_PROFILE_OP && f->state == MRC_CTL_PROFILE_OFFLINE) {
		if (m->refuses_fields)
			return fail(E2BIG);
		f->n_fields = (uint32_t)attr->ev_fmt_op.fmt_field_count;
		memcpy(f->fields, attr->ev_fmt_op.fmt_fields, f->n_fields * sizeof f->fields[0]);
	} else {
		return fail(EINVAL);
	}
	m->n_modified++;
	return 0;
}

int mrc_ctl_query_ev_fmt_profile(struct mrc_context *m, uint64_t id,
				 struct mrc_ctl_ev_fmt_profile_attr *attr, int mask)
{
	const struct ctl_format *f = ctl_find_format(&m->s, id);

	attr->cur_profile_state = f ? f->state : MRC_CTL_PROFILE_INIT;
	if (!f)
		return mask == MRC_CTL_EV_FMT_PROFILE_CUR_STATE ? 0 : fail(EINVAL);
	attr->ev_fmt_mode = f->mode;
	if (mask & MRC_CTL_EV_FMT_PROFILE_OP) {
		if ((uint32_t)attr->ev_fmt_op.fmt_field_count < f->n_fields)
			return fail(E2BIG);
		memcpy(attr->ev_fmt_op.fmt_fields, f->fields, f->n_fields * sizeof f->fields[0]);
		attr->ev_fmt_op.fmt_field_count = (int)f->n_fields;
	}
	return 0;
}

/* Values of its own making, as the profile goes online. */
static void draw(struct ctl_profile *p)
{
	if (p->mode == MRC_CTL_EV_MODE_EXP)
		return;
	for (uint32_t i = 0; i < p->count; i++) {
		p->values[i] = (struct mrc_ctl_ev_op_entry){.state = MRC_CTL_EV_GOOD};
		p->values[i].ev.val[0] = 0xc0;
		p->values[i].ev.val[1] = (uint8_t)i;
		p->values[i].ev.port = (uint8_t)(1 + i % 2);
	}
	p->n_values = p->count;
}

static bool is_populated(const struct ctl_profile *p)
{
	for (uint32_t i = 0; i < p->n_values; i++) {
		if (!p->values[i].ev.port)
			return false;
	}
	return true;
}

static int step_profile(struct mrc_context *m, struct ctl_profile *p, enum mrc_ctl_profile_state to)
{
	if (!is_step(p->state, to))
		return fail(EINVAL);
	if (p->state == MRC_CTL_PROFILE_ONLINE && p->id == m->busy)
		return fail(EBUSY);
	if (to == MRC_CTL_PROFILE_ONLINE && m->stuck && p->id == m->stuck)
		return fail(EIO);
	if (to == MRC_CTL_PROFILE_ONLINE) {
		const struct ctl_format *f = ctl_find_format(&m->s, p->format);

		if (p->mode != MRC_CTL_EV_MODE_AUTO && f->state != MRC_CTL_PROFILE_ONLINE)
			return fail(EINVAL);
		if (!is_populated(p) || (p->mode == MRC_CTL_EV_MODE_GEN && !p->n_fields))
			return fail(EINVAL);
		draw(p);
	}
	p->state = to;
	if (to == MRC_CTL_PROFILE_INIT) {
		free(p->values);
		*p = m->s.profiles[--m->s.n_profiles];
	}
	return 0;
}

static int make_profile(struct mrc_context *m, uint64_t id,
			const struct mrc_ctl_ev_profile_attr *attr, int mask)
{
	const int least = MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE;
	const int most = least | MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT |
			 MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK;
	bool is_auto = attr->ev_mode == MRC_CTL_EV_MODE_AUTO;

	if ((mask & least) != least || mask & ~most || m->s.n_profiles == ROOM ||
	    attr->profile_state != MRC_CTL_PROFILE_OFFLINE)
		return fail(EINVAL);
	if (!is_auto &&
	    (!(mask & MRC_CTL_EV_PROFILE_FMT_ID) || !(mask & MRC_CTL_EV_PROFILE_COUNT) ||
	     !ctl_find_format(&m->s, attr->ev_fmt_profile_id)))
		return fail(EINVAL);
	struct ctl_profile p = {.id = id,
				.state = MRC_CTL_PROFILE_OFFLINE,
				.mode = attr->ev_mode,
				.format = is_auto ? 0 : attr->ev_fmt_profile_id,
				.count = mask & MRC_CTL_EV_PROFILE_COUNT ? attr->ev_count : 8,
				.min_active = attr->ev_min_active,
				.events = attr->ev_event_mask};

	p.values = calloc(p.count, sizeof *p.values);
	assert(p.values);
	p.n_values = p.mode == MRC_CTL_EV_MODE_EXP ? p.count : 0;
	m->s.profiles[m->s.n_profiles++] = p;
	return 0;
}

static int change_value(struct ctl_profile *p, const struct mrc_ctl_ev_op_entry *e, bool is_new)
{
	bool is_there = false;

	for (uint32_t i = 0; i < p->n_values; i++) {
		struct mrc_ctl_ev_op_entry *v = &p->values[i];

		if (memcmp(v->ev.val, e->ev.val, sizeof v->ev.val) != 0 || v->ev.port != e->ev.port)
			continue;
		v->state = e->state;
		if (is_new)
			v->ev = e->ev_new;
		is_there = true;
		if (!(e->flags & MRC_CTL_EV_OP_F_ALL_COPIES))
			break;
	}
	return is_there ? 0 : fail(ENOENT);
}

int mrc_ctl_modify_ev_profile(struct mrc_context *m, uint64_t id,
			      struct mrc_ctl_ev_profile_attr *attr, int mask)
{
	struct ctl_profile *p = ctl_find_profile(&m->s, id);
	bool is_new = attr->ev_op.op == MRC_CTL_EV_OP_REPLACE_EV;

	m->n_modified++;
	if (!p)
		return make_profile(m, id, attr, mask);
	if (mask == MRC_CTL_EV_PROFILE_STATE)
		return step_profile(m, p, attr->profile_state);
	if (mask == MRC_CTL_EV_PROFILE_EV_OP) {
		if (is_new && p->state == MRC_CTL_PROFILE_ONLINE)
			return fail(EBUSY);
		for (int i = 0; i < attr->ev_op.entry_count; i++) {
			if (change_value(p, &attr->ev_op.entries[i], is_new))
				return -1;
		}
		return 0;
	}
	if (mask != MRC_CTL_EV_PROFILE_EV_FIELDS_OP || p->state != MRC_CTL_PROFILE_OFFLINE)
		return fail(EINVAL);
	p->n_fields = (uint32_t)attr->ev_fields_op.field_count;
	memcpy(p->fields, attr->ev_fields_op.fields, p->n_fields * sizeof p->fields[0]);
	return 0;
}

int mrc_ctl_query_ev_profile(struct mrc_context *m, uint64_t id,
			     struct mrc_ctl_ev_profile_attr *attr, int mask)
{
	const struct ctl_profile *p = ctl_find_profile(&m->s, id);

	attr->cur_profile_state = p ? p->state : MRC_CTL_PROFILE_INIT;
	if (!p)
		return mask == MRC_CTL_EV_PROFILE_CUR_STATE ? 0 : fail(EINVAL);
	if (mask & MRC_CTL_EV_PROFILE_FMT_ID && p->mode == MRC_CTL_EV_MODE_AUTO)
		return fail(EINVAL);
	attr->ev_mode = p->mode;
	attr->ev_fmt_profile_id = p->format;
	attr->ev_count = p->count;
	attr->ev_min_active = p->min_active;
	attr->ev_event_mask = p->events;
	if (mask & MRC_CTL_EV_PROFILE_EV_OP) {
		if ((uint32_t)attr->ev_op.entry_count < p->n_values)
			return fail(E2BIG);
		memcpy(attr->ev_op.entries, p->values, p->n_values * sizeof *p->values);
		attr->ev_op.entry_count = (int)p->n_values;
	}
	if (mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP) {
		if ((uint32_t)attr->ev_fields_op.field_count < p->n_fields)
			return fail(E2BIG);
		memcpy(attr->ev_fields_op.fields, p->fields, p->n_fields * sizeof p->fields[0]);
		attr->ev_fields_op.field_count = (int)p->n_fields;
	}
	return 0;
}

int mrc_ctl_modify_cc_profile(struct mrc_context *m, uint64_t id,
			      struct mrc_ctl_cc_profile_attr *attr, int mask)
{
	struct ctl_cc *cc = ctl_find_cc(&m->s, id);

	m->n_modified++;
	if (m->refused_cc && id == m->refused_cc)
		return fail(ENOMEM);
	if (!cc) {
		if (mask != (MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM) ||
		    m->s.n_ccs == ROOM)
			return fail(EINVAL);
		m->s.ccs[m->s.n_ccs++] = (struct ctl_cc){.id = id,
							 .state = MRC_CTL_PROFILE_OFFLINE,
							 .is_nscc = attr->algorithm != NULL};
		return 0;
	}
	if (mask == MRC_CTL_CC_PROFILE_STATE) {
		if (!is_step(cc->state, attr->profile_state))
			return fail(EINVAL);
		cc->state = attr->profile_state;
		if (cc->state == MRC_CTL_PROFILE_INIT)
			*cc = m->s.ccs[--m->s.n_ccs];
		return 0;
	}
	if (mask != MRC_CTL_CC_PROFILE_CONFIG || cc->state != MRC_CTL_PROFILE_OFFLINE)
		return fail(EINVAL);
	memcpy(&cc->nscc, attr->cc_config, sizeof cc->nscc);
	return 0;
}

int mrc_ctl_query_cc_profile(struct mrc_context *m, uint64_t id,
			     struct mrc_ctl_cc_profile_attr *attr, int mask)
{
	const struct ctl_cc *cc = ctl_find_cc(&m->s, id);

	attr->cur_profile_state = cc ? cc->state : MRC_CTL_PROFILE_INIT;
	if (!cc)
		return mask == MRC_CTL_CC_PROFILE_CUR_STATE ? 0 : fail(EINVAL);
	attr->algorithm = cc->is_nscc ? "uet-1.0-nscc" : NULL;
	/* The room is behind a pointer to const, see mrc_ctl.h. */
	if (mask & MRC_CTL_CC_PROFILE_CONFIG)
		memcpy((void *)(uintptr_t)attr->cc_config, &cc->nscc, sizeof cc->nscc);
	return 0;
}
