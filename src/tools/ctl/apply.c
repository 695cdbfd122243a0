/* The way from what a device has to what a file wants. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/ctl.h"

/* Both ends of the way, and where we are on it. */
struct work {
	struct mrc_context *mrc;
	const struct ctl_state *now, *wanted;
	struct ctl_report *report;
	/* Of now: those that are built anew or removed, and of these the ones we took offline. */
	bool goes[CONTROL_KINDS][CONTROL_PROFILES];
	bool went[CONTROL_KINDS][CONTROL_PROFILES];
};

static void note(struct work *w, uint32_t kind, uint64_t id, enum ctl_deed deed)
{
	w->report->list[w->report->n++] = (struct ctl_done){kind, id, deed};
}

/* Keeps the step that fails, while errno says why. Returns -1. */
static int fail(struct work *w, uint32_t kind, uint64_t id, const char *step)
{
	struct ctl_report *r = w->report;

	r->kind = kind;
	r->id = id;
	snprintf(r->what, sizeof r->what, "%s %llu: %s", ctl_kind_word(kind),
		 (unsigned long long)id, step);
	return -1;
}

static bool is_same_format(const struct ctl_format *a, const struct ctl_format *b)
{
	return a->state == b->state && a->mode == b->mode && a->n_fields == b->n_fields &&
	       memcmp(a->fields, b->fields, a->n_fields * sizeof a->fields[0]) == 0;
}

/* The place of the next value from at on: one that is offline may have places without. */
static uint32_t next_value(const struct ctl_profile *p, uint32_t at)
{
	while (at < p->n_values && !p->values[at].ev.port)
		at++;
	return at;
}

static bool has_same_values(const struct ctl_profile *a, const struct ctl_profile *b)
{
	uint32_t i = next_value(a, 0), k = next_value(b, 0);

	while (i < a->n_values && k < b->n_values) {
		const struct mrc_ctl_ev *x = &a->values[i].ev, *y = &b->values[k].ev;

		if (x->port != y->port || memcmp(x->val, y->val, sizeof x->val) != 0)
			return false;
		i = next_value(a, i + 1);
		k = next_value(b, k + 1);
	}
	return i == a->n_values && k == b->n_values;
}

/* How many values the fields of a profile make at most. */
static uint64_t combinations(const struct ctl_profile *p)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < p->n_fields && n < UINT32_MAX; i++) {
		const struct mrc_ctl_ev_field *f = &p->fields[i];

		if (f->mask)
			n *= (uint64_t)f->max_val - f->min_val + 1;
	}
	return n;
}

/* Once it was online a device has no more generated values than there are, and keeps no more of
 * them in use than it has. */
static bool is_same_count(const struct ctl_profile *have, const struct ctl_profile *want)
{
	uint64_t count = want->count ? want->count : have->count, least = want->min_active;

	if (want->mode == MRC_CTL_EV_MODE_GEN && have->count < count && combinations(want) < count)
		count = combinations(want);
	if (least > count)
		least = count;
	return have->count == count && have->min_active == least;
}

/* But for what is denied, which changes while a profile is online. */
static bool is_same_profile(const struct ctl_profile *have, const struct ctl_profile *want)
{
	if (have->state != want->state || have->mode != want->mode || !is_same_count(have, want) ||
	    have->events != want->events)
		return false;
	if (want->mode == MRC_CTL_EV_MODE_AUTO)
		return true;
	if (have->format != want->format)
		return false;
	if (want->mode == MRC_CTL_EV_MODE_EXP && !has_same_values(have, want))
		return false;
	return have->n_fields == want->n_fields &&
	       memcmp(have->fields, want->fields, have->n_fields * sizeof have->fields[0]) == 0;
}

static bool is_same_cc(const struct ctl_cc *a, const struct ctl_cc *b)
{
	if (a->state != b->state || a->is_nscc != b->is_nscc)
		return false;
	for (const struct ctl_nscc_key *k = ctl_nscc_keys; a->is_nscc && k->name; k++) {
		if (ctl_nscc_get(&a->nscc, k) != ctl_nscc_get(&b->nscc, k))
			return false;
	}
	return true;
}

static int step_format(struct work *w, uint64_t id, enum mrc_ctl_profile_state to)
{
	struct mrc_ctl_ev_fmt_profile_attr attr = {.profile_state = to};

	return mrc_ctl_modify_ev_fmt_profile(w->mrc, id, &attr, MRC_CTL_EV_FMT_PROFILE_STATE);
}

static int step_profile(struct work *w, uint64_t id, enum mrc_ctl_profile_state to)
{
	struct mrc_ctl_ev_profile_attr attr = {.profile_state = to};

	return mrc_ctl_modify_ev_profile(w->mrc, id, &attr, MRC_CTL_EV_PROFILE_STATE);
}

static int step_cc(struct work *w, uint64_t id, enum mrc_ctl_profile_state to)
{
	struct mrc_ctl_cc_profile_attr attr = {.profile_state = to};

	return mrc_ctl_modify_cc_profile(w->mrc, id, &attr, MRC_CTL_CC_PROFILE_STATE);
}

static int step(struct work *w, uint32_t kind, uint64_t id, enum mrc_ctl_profile_state to)
{
	int r = kind == CONTROL_FORMAT ? step_format(w, id, to)
		: kind == CONTROL_EV   ? step_profile(w, id, to)
				       : step_cc(w, id, to);

	if (!r)
		return 0;
	return fail(w, kind, id,
		    to == MRC_CTL_PROFILE_ONLINE    ? "cannot go online"
		    : to == MRC_CTL_PROFILE_OFFLINE ? "cannot go offline"
						    : "cannot be removed");
}

/* Number i of a kind of what there is; false: there are no more. */
static bool find_now(const struct work *w, uint32_t kind, uint32_t i, uint64_t *id, bool *is_online)
{
	const struct ctl_state *s = w->now;
	const uint32_t n[] = {[CONTROL_FORMAT] = s->n_formats,
			      [CONTROL_EV] = s->n_profiles,
			      [CONTROL_CC] = s->n_ccs};
	enum mrc_ctl_profile_state state;

	if (i >= n[kind])
		return false;
	if (kind == CONTROL_FORMAT) {
		*id = s->formats[i].id;
		state = s->formats[i].state;
	} else if (kind == CONTROL_EV) {
		*id = s->profiles[i].id;
		state = s->profiles[i].state;
	} else {
		*id = s->ccs[i].id;
		state = s->ccs[i].state;
	}
	*is_online = state == MRC_CTL_PROFILE_ONLINE;
	return true;
}

/* A profile that names a format which goes, goes as well: it is what holds the format. */
static bool has_going_format(const struct work *w, const struct ctl_profile *p)
{
	for (uint32_t i = 0; i < w->now->n_formats; i++) {
		if (w->goes[CONTROL_FORMAT][i] && w->now->formats[i].id == p->format)
			return p->mode != MRC_CTL_EV_MODE_AUTO;
	}
	return false;
}

static void find_going(struct work *w, bool is_exact)
{
	for (uint32_t i = 0; i < w->now->n_formats; i++) {
		const struct ctl_format *have = &w->now->formats[i],
					*want = ctl_find_format(w->wanted, have->id);

		w->goes[CONTROL_FORMAT][i] = want ? !is_same_format(have, want) : is_exact;
	}
	for (uint32_t i = 0; i < w->now->n_profiles; i++) {
		const struct ctl_profile *have = &w->now->profiles[i],
					 *want = ctl_find_profile(w->wanted, have->id);

		w->goes[CONTROL_EV][i] = (want ? !is_same_profile(have, want) : is_exact) ||
					 has_going_format(w, have);
	}
	for (uint32_t i = 0; i < w->now->n_ccs; i++) {
		const struct ctl_cc *have = &w->now->ccs[i],
				    *want = ctl_find_cc(w->wanted, have->id);

		w->goes[CONTROL_CC][i] = want ? !is_same_cc(have, want) : is_exact;
	}
}

/* Number i of a kind goes online again. Values that the device makes up are the same ones then, but
 * none of them is denied. */
static bool put_one_back(struct work *w, uint32_t kind, uint32_t i, uint64_t id)
{
	uint32_t changed;

	if (step(w, kind, id, MRC_CTL_PROFILE_ONLINE))
		return false;
	return kind != CONTROL_EV || !ctl_settle_denied(w->mrc, &w->now->profiles[i], &changed);
}

/* Whatever was taken offline goes back; errno stays what it was. Whether all is as it was. */
static bool put_back(struct work *w)
{
	static const uint8_t order[] = {CONTROL_FORMAT, CONTROL_EV, CONTROL_CC};
	struct ctl_report said = *w->report;
	bool is_online, is_whole = true;
	int number = errno;
	uint64_t id;

	for (uint32_t k = 0; k < sizeof order; k++) {
		for (uint32_t i = 0; find_now(w, order[k], i, &id, &is_online); i++) {
			if (w->went[order[k]][i] && !put_one_back(w, order[k], i, id))
				is_whole = false;
		}
	}
	*w->report = said;
	errno = number;
	return is_whole;
}

/* EV profiles first: an online one holds its format. */
static const uint8_t down_order[] = {CONTROL_EV, CONTROL_CC, CONTROL_FORMAT};

static int take_offline(struct work *w)
{
	bool is_online;
	uint64_t id;

	for (uint32_t k = 0; k < sizeof down_order; k++) {
		uint32_t kind = down_order[k];

		for (uint32_t i = 0; find_now(w, kind, i, &id, &is_online); i++) {
			if (!w->goes[kind][i] || !is_online)
				continue;
			if (step(w, kind, id, MRC_CTL_PROFILE_OFFLINE)) {
				w->report->is_untouched = put_back(w);
				return -1;
			}
			w->went[kind][i] = true;
		}
	}
	return 0;
}

static int remove_going(struct work *w)
{
	bool is_online;
	uint64_t id;

	for (uint32_t k = 0; k < sizeof down_order; k++) {
		for (uint32_t i = 0; find_now(w, down_order[k], i, &id, &is_online); i++) {
			if (w->goes[down_order[k]][i] &&
			    step(w, down_order[k], id, MRC_CTL_PROFILE_INIT))
				return -1;
		}
	}
	return 0;
}

static int build_format(struct work *w, const struct ctl_format *f)
{
	struct ctl_format copy = *f;
	struct mrc_ctl_ev_fmt_profile_attr attr = {
		.profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_fmt_mode = f->mode,
		.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, copy.fields, (int)f->n_fields}};

	if (mrc_ctl_modify_ev_fmt_profile(w->mrc, f->id, &attr,
					  MRC_CTL_EV_FMT_PROFILE_STATE |
						  MRC_CTL_EV_FMT_PROFILE_MODE))
		return fail(w, CONTROL_FORMAT, f->id, "cannot be made");
	if (f->n_fields &&
	    mrc_ctl_modify_ev_fmt_profile(w->mrc, f->id, &attr, MRC_CTL_EV_FMT_PROFILE_OP))
		return fail(w, CONTROL_FORMAT, f->id, "its fields are refused");
	return f->state == MRC_CTL_PROFILE_ONLINE
		       ? step(w, CONTROL_FORMAT, f->id, MRC_CTL_PROFILE_ONLINE)
		       : 0;
}

/* The values of an explicit profile, in the places that were made for them: each REPLACE takes the
 * first one that is still unpopulated. */
static int set_values(struct work *w, const struct ctl_profile *p)
{
	struct mrc_ctl_ev_profile_attr attr = {0};

	if (!p->n_values)
		return 0;
	attr.ev_op.op = MRC_CTL_EV_OP_REPLACE_EV;
	attr.ev_op.entries = calloc(p->n_values, sizeof *attr.ev_op.entries);
	attr.ev_op.entry_count = (int)p->n_values;
	if (!attr.ev_op.entries)
		return fail(w, CONTROL_EV, p->id, "no memory for its values");
	for (uint32_t i = 0; i < p->n_values; i++) {
		attr.ev_op.entries[i].ev = MRC_CTL_EV_UNPOPULATED;
		attr.ev_op.entries[i].ev_new = p->values[i].ev;
		attr.ev_op.entries[i].state = p->values[i].state == MRC_CTL_EV_DENIED
						      ? MRC_CTL_EV_DENIED
						      : MRC_CTL_EV_GOOD;
	}
	int r = mrc_ctl_modify_ev_profile(w->mrc, p->id, &attr, MRC_CTL_EV_PROFILE_EV_OP);
	int number = errno;

	free(attr.ev_op.entries);
	errno = number;
	return r ? fail(w, CONTROL_EV, p->id, "its values are refused") : 0;
}

static int set_fields(struct work *w, const struct ctl_profile *p)
{
	struct ctl_profile copy = *p;
	struct mrc_ctl_ev_profile_attr attr = {0};

	attr.ev_fields_op.op = MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS;
	attr.ev_fields_op.fields = copy.fields;
	attr.ev_fields_op.field_count = (int)copy.n_fields;
	if (mrc_ctl_modify_ev_profile(w->mrc, p->id, &attr, MRC_CTL_EV_PROFILE_EV_FIELDS_OP))
		return fail(w, CONTROL_EV, p->id, "its fields are refused");
	return 0;
}

static int build_profile(struct work *w, const struct ctl_profile *p)
{
	struct mrc_ctl_ev_profile_attr attr = {.profile_state = MRC_CTL_PROFILE_OFFLINE,
					       .ev_mode = p->mode,
					       .ev_fmt_profile_id = p->format,
					       .ev_count = p->count,
					       .ev_min_active = p->min_active,
					       .ev_event_mask = p->events};
	int mask = MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE |
		   MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK;

	if (p->count)
		mask |= MRC_CTL_EV_PROFILE_COUNT;
	if (p->mode != MRC_CTL_EV_MODE_AUTO)
		mask |= MRC_CTL_EV_PROFILE_FMT_ID;
	if (mrc_ctl_modify_ev_profile(w->mrc, p->id, &attr, mask))
		return fail(w, CONTROL_EV, p->id, "cannot be made");
	if (p->n_fields && set_fields(w, p))
		return -1;
	if (p->mode == MRC_CTL_EV_MODE_EXP && set_values(w, p))
		return -1;
	return p->state == MRC_CTL_PROFILE_ONLINE
		       ? step(w, CONTROL_EV, p->id, MRC_CTL_PROFILE_ONLINE)
		       : 0;
}

static int build_cc(struct work *w, const struct ctl_cc *cc)
{
	struct mrc_ctl_cc_profile_attr attr = {.profile_state = MRC_CTL_PROFILE_OFFLINE,
					       .algorithm = cc->is_nscc ? "uet-1.0-nscc" : NULL,
					       .cc_config = &cc->nscc};
	int mask = MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM;

	if (mrc_ctl_modify_cc_profile(w->mrc, cc->id, &attr, mask))
		return fail(w, CONTROL_CC, cc->id, "cannot be made");
	if (cc->is_nscc &&
	    mrc_ctl_modify_cc_profile(w->mrc, cc->id, &attr, MRC_CTL_CC_PROFILE_CONFIG))
		return fail(w, CONTROL_CC, cc->id, "its numbers are refused");
	return cc->state == MRC_CTL_PROFILE_ONLINE
		       ? step(w, CONTROL_CC, cc->id, MRC_CTL_PROFILE_ONLINE)
		       : 0;
}

static int build_formats(struct work *w)
{
	for (uint32_t i = 0; i < w->wanted->n_formats; i++) {
		const struct ctl_format *want = &w->wanted->formats[i],
					*have = ctl_find_format(w->now, want->id);
		bool is_same = have && !w->goes[CONTROL_FORMAT][have - w->now->formats];

		if (!is_same && build_format(w, want))
			return -1;
		note(w, CONTROL_FORMAT, want->id,
		     is_same ? CTL_SAME
		     : have  ? CTL_CHANGED
			     : CTL_MADE);
	}
	return 0;
}

/* What is denied is what wanted says, or else stays as it is, as far as there are such values.
 * *changed: how many are not as they were in a profile that was not built anew. */
static int settle(struct work *w, const struct ctl_profile *want, const struct ctl_profile *rebuilt,
		  uint32_t *changed)
{
	int r = want->has_denied ? ctl_settle_denied(w->mrc, want, changed)
		: rebuilt        ? ctl_keep_denied(w->mrc, rebuilt)
				 : 0;

	return r ? fail(w, CONTROL_EV, want->id, "cannot deny what it should") : 0;
}

static int build_profiles(struct work *w)
{
	for (uint32_t i = 0; i < w->wanted->n_profiles; i++) {
		const struct ctl_profile *want = &w->wanted->profiles[i],
					 *have = ctl_find_profile(w->now, want->id);
		bool is_same = have && !w->goes[CONTROL_EV][have - w->now->profiles];
		uint32_t changed = 0;

		if (!is_same && build_profile(w, want))
			return -1;
		if (settle(w, want, is_same ? NULL : have, &changed))
			return -1;
		note(w, CONTROL_EV, want->id,
		     !have                 ? CTL_MADE
		     : is_same && !changed ? CTL_SAME
					   : CTL_CHANGED);
	}
	return 0;
}

/* Profiles that had to go for their format alone come back as they were. */
static int build_again(struct work *w, bool is_exact)
{
	for (uint32_t i = 0; i < w->now->n_profiles && !is_exact; i++) {
		const struct ctl_profile *p = &w->now->profiles[i];

		if (!w->goes[CONTROL_EV][i] || ctl_find_profile(w->wanted, p->id))
			continue;
		if (build_profile(w, p))
			return -1;
		if (ctl_keep_denied(w->mrc, p))
			return fail(w, CONTROL_EV, p->id, "cannot deny what it should");
		note(w, CONTROL_EV, p->id, CTL_CHANGED);
	}
	return 0;
}

static int build_ccs(struct work *w)
{
	for (uint32_t i = 0; i < w->wanted->n_ccs; i++) {
		const struct ctl_cc *want = &w->wanted->ccs[i],
				    *have = ctl_find_cc(w->now, want->id);
		bool is_same = have && !w->goes[CONTROL_CC][have - w->now->ccs];

		if (!is_same && build_cc(w, want))
			return -1;
		note(w, CONTROL_CC, want->id, is_same ? CTL_SAME : have ? CTL_CHANGED : CTL_MADE);
	}
	return 0;
}

/* What wanted does not have, once it is gone. */
static void note_removed(struct work *w)
{
	bool is_online;
	uint64_t id;

	for (uint32_t kind = 0; kind < CONTROL_KINDS; kind++) {
		for (uint32_t i = 0; find_now(w, kind, i, &id, &is_online); i++) {
			bool is_wanted =
				kind == CONTROL_FORMAT ? ctl_find_format(w->wanted, id) != NULL
				: kind == CONTROL_EV   ? ctl_find_profile(w->wanted, id) != NULL
						       : ctl_find_cc(w->wanted, id) != NULL;

			if (!is_wanted && w->goes[kind][i])
				note(w, kind, id, CTL_REMOVED);
		}
	}
}

static int set_ports(struct work *w)
{
	for (uint8_t port = 1; port <= ENGINE_PORTS; port++) {
		uint32_t bit = 1u << port;
		bool is_enabled = w->wanted->enabled_ports & bit;
		struct mrc_ctl_port_attr attr = {is_enabled ? MRC_CTL_PORT_ADMIN_ENABLED
							    : MRC_CTL_PORT_ADMIN_DISABLED};

		if (!(w->wanted->said_ports & bit))
			continue;
		bool is_same = is_enabled == !!(w->now->enabled_ports & bit);

		if (!is_same && mrc_ctl_modify_port(w->mrc, port, &attr, MRC_CTL_PORT_ADMIN_STATE))
			return fail(w, CTL_OF_PORT, port,
				    is_enabled ? "cannot go up" : "cannot go down");
		note(w, CTL_OF_PORT, port, is_same ? CTL_SAME : CTL_CHANGED);
	}
	return 0;
}

static int apply(struct work *w, bool is_exact)
{
	find_going(w, is_exact);
	if (take_offline(w) || remove_going(w))
		return -1;
	if (is_exact)
		note_removed(w);
	if (build_formats(w) || build_profiles(w) || build_again(w, is_exact) || build_ccs(w))
		return -1;
	return set_ports(w);
}

/* Room for what is done on the way from one state to another. */
static struct ctl_done *make_list(const struct ctl_state *a, const struct ctl_state *b)
{
	uint32_t n = a->n_formats + a->n_profiles + a->n_ccs + b->n_formats + b->n_profiles +
		     b->n_ccs + ENGINE_PORTS;

	return calloc(n, sizeof(struct ctl_done));
}

static int travel(struct mrc_context *mrc, const struct ctl_state *now,
		  const struct ctl_state *wanted, bool is_exact, struct ctl_report *report)
{
	struct work *w = calloc(1, sizeof *w);
	int r = -1;

	*report = (struct ctl_report){.list = make_list(now, wanted)};
	if (w && report->list) {
		*w = (struct work){.mrc = mrc, .now = now, .wanted = wanted, .report = report};
		r = apply(w, is_exact);
	} else {
		errno = ENOMEM;
	}
	int number = errno;

	free(w);
	errno = number;
	return r;
}

static void add_ids(struct ctl_ids *ids, const struct ctl_state *s)
{
	for (uint32_t i = 0; i < s->n_formats; i++)
		ids->at[CONTROL_FORMAT][ids->n[CONTROL_FORMAT]++] = s->formats[i].id;
	for (uint32_t i = 0; i < s->n_profiles; i++)
		ids->at[CONTROL_EV][ids->n[CONTROL_EV]++] = s->profiles[i].id;
	for (uint32_t i = 0; i < s->n_ccs; i++)
		ids->at[CONTROL_CC][ids->n[CONTROL_CC]++] = s->ccs[i].id;
}

/* The numbers of what was there and of what is wanted, each once. */
static bool gather_ids(struct ctl_ids *ids, const struct ctl_state *now,
		       const struct ctl_state *wanted)
{
	*ids = (struct ctl_ids){.n = {0}};
	for (uint32_t kind = 0; kind < CONTROL_KINDS; kind++) {
		ids->at[kind] = calloc(2 * CONTROL_PROFILES, sizeof *ids->at[kind]);
		if (!ids->at[kind])
			return false;
	}
	add_ids(ids, now);
	add_ids(ids, wanted);
	for (uint32_t kind = 0; kind < CONTROL_KINDS; kind++) {
		uint32_t kept = 0;

		for (uint32_t i = 0; i < ids->n[kind]; i++) {
			uint32_t k = 0;

			while (k < kept && ids->at[kind][k] != ids->at[kind][i])
				k++;
			if (k == kept)
				ids->at[kind][kept++] = ids->at[kind][i];
		}
		ids->n[kind] = kept;
	}
	return true;
}

/* Goes back to what was there, from wherever the way ended: also to what was denied. */
static bool turn_back(struct mrc_context *mrc, const struct ctl_state *was,
		      const struct ctl_state *wanted)
{
	struct ctl_report report = {.list = NULL};
	struct ctl_state s = {0};
	struct ctl_ids ids;
	bool is_back = gather_ids(&ids, was, wanted) &&
		       !ctl_state_read(mrc, was->said_ports, &ids, &s) &&
		       !travel(mrc, &s, was, true, &report);

	for (uint32_t kind = 0; kind < CONTROL_KINDS; kind++)
		free(ids.at[kind]);
	ctl_state_fini(&s);
	ctl_report_fini(&report);
	return is_back;
}

int ctl_apply(struct mrc_context *mrc, const struct ctl_state *now, const struct ctl_state *wanted,
	      bool is_exact, struct ctl_report *report)
{
	int r = travel(mrc, now, wanted, is_exact, report), number = errno;

	if (!r)
		return 0;
	report->n = 0;
	if (!report->is_untouched)
		report->is_untouched = turn_back(mrc, now, wanted);
	errno = number;
	return r;
}

void ctl_report_fini(struct ctl_report *r)
{
	free(r->list);
	r->list = NULL;
}
