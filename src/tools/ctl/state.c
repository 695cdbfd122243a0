/* What a device has, by the queries of mrc_ctl.h. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/ctl.h"

void ctl_state_fini(struct ctl_state *s)
{
	for (uint32_t i = 0; i < s->n_profiles; i++) {
		free(s->profiles[i].values);
		free(s->profiles[i].denied);
	}
	free(s->formats);
	free(s->profiles);
	free(s->ccs);
	*s = (struct ctl_state){0};
}

struct ctl_format *ctl_find_format(const struct ctl_state *s, uint64_t id)
{
	for (uint32_t i = 0; i < s->n_formats; i++) {
		if (s->formats[i].id == id)
			return &s->formats[i];
	}
	return NULL;
}

struct ctl_profile *ctl_find_profile(const struct ctl_state *s, uint64_t id)
{
	for (uint32_t i = 0; i < s->n_profiles; i++) {
		if (s->profiles[i].id == id)
			return &s->profiles[i];
	}
	return NULL;
}

struct ctl_cc *ctl_find_cc(const struct ctl_state *s, uint64_t id)
{
	for (uint32_t i = 0; i < s->n_ccs; i++) {
		if (s->ccs[i].id == id)
			return &s->ccs[i];
	}
	return NULL;
}

static int read_ports(struct mrc_context *mrc, uint32_t ports, struct ctl_state *s)
{
	s->said_ports = ports;
	for (uint8_t port = 1; port <= ENGINE_PORTS; port++) {
		struct mrc_ctl_port_attr attr = {0};

		if (!(ports >> port & 1))
			continue;
		if (mrc_ctl_query_port(mrc, port, &attr, MRC_CTL_PORT_ADMIN_STATE))
			return -1;
		if (attr.port_admin_state == MRC_CTL_PORT_ADMIN_ENABLED)
			s->enabled_ports |= 1u << port;
	}
	return 0;
}

/* Reads one format into *f, whose state is MRC_CTL_PROFILE_INIT if there is none. */
static int read_format(struct mrc_context *mrc, struct ctl_format *f)
{
	struct mrc_ctl_ev_fmt_profile_attr attr = {
		.ev_fmt_op = {MRC_CTL_EV_FMT_OP_QUERY_FIELDS, f->fields, PATH_FIELDS_MAX}};

	if (mrc_ctl_query_ev_fmt_profile(mrc, f->id, &attr, MRC_CTL_EV_FMT_PROFILE_CUR_STATE))
		return -1;
	f->state = attr.cur_profile_state;
	if (f->state == MRC_CTL_PROFILE_INIT)
		return 0;
	if (mrc_ctl_query_ev_fmt_profile(mrc, f->id, &attr,
					 MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP))
		return -1;
	f->mode = attr.ev_fmt_mode;
	f->n_fields = (uint32_t)attr.ev_fmt_op.fmt_field_count;
	return 0;
}

static int read_formats(struct mrc_context *mrc, const struct ctl_ids *ids, struct ctl_state *s)
{
	s->formats = calloc(ids->n[CONTROL_FORMAT] + 1, sizeof *s->formats);
	if (!s->formats)
		return -1;
	for (uint32_t i = 0; i < ids->n[CONTROL_FORMAT]; i++) {
		struct ctl_format *f = &s->formats[s->n_formats];

		f->id = ids->at[CONTROL_FORMAT][i];
		if (read_format(mrc, f))
			return -1;
		s->n_formats += f->state != MRC_CTL_PROFILE_INIT;
	}
	return 0;
}

/* Values there are once they were named, or made. */
static bool has_values(const struct ctl_profile *p)
{
	return p->mode == MRC_CTL_EV_MODE_EXP || p->state == MRC_CTL_PROFILE_ONLINE;
}

int ctl_values_read(struct mrc_context *mrc, struct ctl_profile *p)
{
	struct mrc_ctl_ev_profile_attr attr = {0};

	if (mrc_ctl_query_ev_profile(mrc, p->id, &attr, MRC_CTL_EV_PROFILE_COUNT))
		return -1;
	p->count = attr.ev_count;
	p->values = calloc(p->count + 1, sizeof *p->values);
	if (!p->values)
		return -1;
	attr.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_ARRAY;
	attr.ev_op.entries = p->values;
	attr.ev_op.entry_count = (int)p->count;
	if (mrc_ctl_query_ev_profile(mrc, p->id, &attr, MRC_CTL_EV_PROFILE_EV_OP))
		return -1;
	p->n_values = (uint32_t)attr.ev_op.entry_count;
	return 0;
}

/* Which of the values are denied, as a file would say it: so that it can be made so again. */
static int list_denied(struct ctl_profile *p)
{
	p->denied = calloc(p->n_values + 1, sizeof *p->denied);
	if (!p->denied)
		return -1;
	p->has_denied = true;
	for (uint32_t i = 0; i < p->n_values; i++) {
		if (p->values[i].state == MRC_CTL_EV_DENIED)
			p->denied[p->n_denied++] = p->values[i].ev;
	}
	return 0;
}

static int read_fields(struct mrc_context *mrc, struct ctl_profile *p)
{
	struct mrc_ctl_ev_profile_attr attr = {0};

	attr.ev_fields_op.op = MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS;
	attr.ev_fields_op.fields = p->fields;
	attr.ev_fields_op.field_count = PATH_FIELDS_MAX;
	if (mrc_ctl_query_ev_profile(mrc, p->id, &attr, MRC_CTL_EV_PROFILE_EV_FIELDS_OP))
		return -1;
	p->n_fields = (uint32_t)attr.ev_fields_op.field_count;
	return 0;
}

static int read_profile(struct mrc_context *mrc, const struct ctl_state *s, struct ctl_profile *p)
{
	struct mrc_ctl_ev_profile_attr attr = {0};
	int mask = MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_COUNT |
		   MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK;

	if (mrc_ctl_query_ev_profile(mrc, p->id, &attr, MRC_CTL_EV_PROFILE_CUR_STATE))
		return -1;
	p->state = attr.cur_profile_state;
	if (p->state == MRC_CTL_PROFILE_INIT)
		return 0;
	if (mrc_ctl_query_ev_profile(mrc, p->id, &attr, mask))
		return -1;
	p->mode = attr.ev_mode;
	p->count = attr.ev_count;
	p->min_active = attr.ev_min_active;
	p->events = attr.ev_event_mask;
	/* Those that the device makes up are source ports and flow labels. */
	p->format_mode = MRC_CTL_EV_FMT_MODE_STEV;
	if (p->mode != MRC_CTL_EV_MODE_AUTO) {
		if (mrc_ctl_query_ev_profile(mrc, p->id, &attr, MRC_CTL_EV_PROFILE_FMT_ID))
			return -1;
		const struct ctl_format *f = ctl_find_format(s, attr.ev_fmt_profile_id);

		p->format = attr.ev_fmt_profile_id;
		p->format_mode = f ? f->mode : MRC_CTL_EV_FMT_MODE_STEV;
	}
	if (p->mode != MRC_CTL_EV_MODE_AUTO && read_fields(mrc, p))
		return -1;
	if (!has_values(p))
		return 0;
	return ctl_values_read(mrc, p) ? -1 : list_denied(p);
}

static int read_profiles(struct mrc_context *mrc, const struct ctl_ids *ids, struct ctl_state *s)
{
	s->profiles = calloc(ids->n[CONTROL_EV] + 1, sizeof *s->profiles);
	if (!s->profiles)
		return -1;
	for (uint32_t i = 0; i < ids->n[CONTROL_EV]; i++) {
		struct ctl_profile *p = &s->profiles[s->n_profiles];

		p->id = ids->at[CONTROL_EV][i];
		if (read_profile(mrc, s, p)) {
			free(p->values);
			free(p->denied);
			return -1;
		}
		s->n_profiles += p->state != MRC_CTL_PROFILE_INIT;
	}
	return 0;
}

static int read_cc(struct mrc_context *mrc, struct ctl_cc *cc)
{
	struct mrc_ctl_cc_profile_attr attr = {.cc_config = &cc->nscc};

	if (mrc_ctl_query_cc_profile(mrc, cc->id, &attr, MRC_CTL_CC_PROFILE_CUR_STATE))
		return -1;
	cc->state = attr.cur_profile_state;
	if (cc->state == MRC_CTL_PROFILE_INIT)
		return 0;
	if (mrc_ctl_query_cc_profile(mrc, cc->id, &attr, MRC_CTL_CC_PROFILE_ALGORITHM))
		return -1;
	cc->is_nscc = attr.algorithm != NULL;
	/* One that is offline may have none yet. */
	if (cc->is_nscc &&
	    mrc_ctl_query_cc_profile(mrc, cc->id, &attr, MRC_CTL_CC_PROFILE_CONFIG) &&
	    cc->state == MRC_CTL_PROFILE_ONLINE)
		return -1;
	return 0;
}

static int read_ccs(struct mrc_context *mrc, const struct ctl_ids *ids, struct ctl_state *s)
{
	s->ccs = calloc(ids->n[CONTROL_CC] + 1, sizeof *s->ccs);
	if (!s->ccs)
		return -1;
	for (uint32_t i = 0; i < ids->n[CONTROL_CC]; i++) {
		struct ctl_cc *cc = &s->ccs[s->n_ccs];

		cc->id = ids->at[CONTROL_CC][i];
		if (read_cc(mrc, cc))
			return -1;
		s->n_ccs += cc->state != MRC_CTL_PROFILE_INIT;
	}
	return 0;
}

/* Their numbers come first in all three. */
static int compare_ids(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return x < y ? -1 : x > y;
}

static_assert(offsetof(struct ctl_format, id) == 0 && offsetof(struct ctl_profile, id) == 0 &&
		      offsetof(struct ctl_cc, id) == 0,
	      "compare_ids finds them");

static void sort(struct ctl_state *s)
{
	qsort(s->formats, s->n_formats, sizeof *s->formats, compare_ids);
	qsort(s->profiles, s->n_profiles, sizeof *s->profiles, compare_ids);
	qsort(s->ccs, s->n_ccs, sizeof *s->ccs, compare_ids);
}

int ctl_state_read(struct mrc_context *mrc, uint32_t ports, const struct ctl_ids *ids,
		   struct ctl_state *s)
{
	*s = (struct ctl_state){0};
	if (!read_ports(mrc, ports, s) && !read_formats(mrc, ids, s) &&
	    !read_profiles(mrc, ids, s) && !read_ccs(mrc, ids, s)) {
		sort(s);
		return 0;
	}
	int number = errno;

	ctl_state_fini(s);
	errno = number;
	return -1;
}
