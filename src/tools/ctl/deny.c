/* Values that are denied, and allowed again: also while queue pairs use them (MRC 9.3.2.1). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/ctl.h"

/* Whether one of n is this value; port 0 is any. A place without a value has no port either, and is
 * none of them. */
static bool is_named(const struct mrc_ctl_ev *evs, uint32_t n, const struct mrc_ctl_ev *value)
{
	for (uint32_t i = 0; value->port && i < n; i++) {
		if (memcmp(evs[i].val, value->val, sizeof value->val) == 0 &&
		    (!evs[i].port || evs[i].port == value->port))
			return true;
	}
	return false;
}

/* Whether one of the profile's values is what ev names. */
static bool is_value(const struct ctl_profile *p, const struct mrc_ctl_ev *ev)
{
	for (uint32_t i = 0; i < p->n_values; i++) {
		if (is_named(ev, 1, &p->values[i].ev))
			return true;
	}
	return false;
}

/* Frees the entries. */
static int modify_states(struct mrc_context *mrc, uint64_t id, struct mrc_ctl_ev_op_entry *entries,
			 uint32_t n)
{
	struct mrc_ctl_ev_profile_attr attr = {0};

	attr.ev_op.op = MRC_CTL_EV_OP_MODIFY_EV_STATE;
	attr.ev_op.entries = entries;
	attr.ev_op.entry_count = (int)n;
	int r = n ? mrc_ctl_modify_ev_profile(mrc, id, &attr, MRC_CTL_EV_PROFILE_EV_OP) : 0;
	int number = errno;

	free(entries);
	errno = number;
	return r;
}

static struct mrc_ctl_ev_op_entry entry_of(const struct mrc_ctl_ev *ev, bool is_denied)
{
	return (struct mrc_ctl_ev_op_entry){.ev = *ev,
					    .state =
						    is_denied ? MRC_CTL_EV_DENIED : MRC_CTL_EV_GOOD,
					    .flags = MRC_CTL_EV_OP_F_ALL_COPIES};
}

int ctl_deny(struct mrc_context *mrc, const struct ctl_denial *denial, uint32_t *failed)
{
	const struct ctl_profile *p = denial->profile;
	uint32_t n = 0;

	for (uint32_t k = 0; k < denial->n; k++) {
		if (is_value(p, &denial->evs[k]))
			continue;
		*failed = k;
		errno = ENOENT;
		return -1;
	}
	struct mrc_ctl_ev_op_entry *entries = calloc(p->n_values + 1, sizeof *entries);

	if (!entries)
		return -1;
	for (uint32_t i = 0; i < p->n_values; i++) {
		if (is_named(denial->evs, denial->n, &p->values[i].ev))
			entries[n++] = entry_of(&p->values[i].ev, denial->is_denied);
	}
	return modify_states(mrc, p->id, entries, n);
}

static bool has_all_denied(const struct ctl_profile *want, const struct ctl_profile *have)
{
	for (uint32_t k = 0; k < want->n_denied; k++) {
		if (!is_value(have, &want->denied[k]))
			return false;
	}
	return true;
}

static int settle(struct mrc_context *mrc, const struct ctl_profile *want,
		  const struct ctl_profile *have, uint32_t *changed)
{
	struct mrc_ctl_ev_op_entry *entries = calloc(have->n_values + 1, sizeof *entries);
	uint32_t n = 0;

	if (!entries)
		return -1;
	for (uint32_t i = 0; i < have->n_values; i++) {
		bool is_denied = have->values[i].state == MRC_CTL_EV_DENIED;
		bool should = is_named(want->denied, want->n_denied, &have->values[i].ev);

		if (is_denied != should)
			entries[n++] = entry_of(&have->values[i].ev, should);
	}
	*changed = n;
	return modify_states(mrc, want->id, entries, n);
}

/* The values as they stand, and then what is denied of them; is_strict: all of it must be there. */
static int read_and_settle(struct mrc_context *mrc, const struct ctl_profile *want, bool is_strict,
			   uint32_t *changed)
{
	struct ctl_profile have = {.id = want->id};
	int r = ctl_values_read(mrc, &have);

	if (!r && is_strict && !has_all_denied(want, &have)) {
		errno = ENOENT;
		r = -1;
	}
	if (!r)
		r = settle(mrc, want, &have, changed);
	int number = errno;

	free(have.values);
	errno = number;
	return r;
}

int ctl_settle_denied(struct mrc_context *mrc, const struct ctl_profile *want, uint32_t *changed)
{
	return read_and_settle(mrc, want, true, changed);
}

int ctl_keep_denied(struct mrc_context *mrc, const struct ctl_profile *was)
{
	uint32_t changed;

	return was->n_denied ? read_and_settle(mrc, was, false, &changed) : 0;
}
