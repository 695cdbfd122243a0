/* The values of EV profiles, one by one: what they are, and whether they may be used (MRC 9.4.2,
 * 9.3.2.1). */
#include <errno.h>
#include <string.h>

#include "mrcapi/ctl/ctl.h"

#define NOWHERE     UINT32_MAX
#define N_GOOD_MASK 127u

static bool is_same(const struct control_ev *a, const struct mrc_ctl_ev *b)
{
	return a->port == b->port && memcmp(a->val, b->val, sizeof a->val) == 0;
}

/* The first place from at on with this value. */
static uint32_t find(const struct control_profile *p, const struct mrc_ctl_ev *ev, uint32_t at)
{
	for (; at < p->count; at++)
		if (is_same(&p->evs[at], ev))
			return at;
	return NOWHERE;
}

static bool has_bits_from(const uint8_t val[PATH_VALUE_BYTES], uint32_t bits)
{
	for (uint32_t i = bits; i < 8 * PATH_VALUE_BYTES; i++)
		if (val[i / 8] & 0x80u >> i % 8)
			return true;
	return false;
}

/* The bits that a given value may have: with fields, those that their masks leave open. */
static uint32_t given_bits(struct control *c, const struct control_profile *p)
{
	uint32_t bits = 0;

	if (p->n_fields == 0)
		return ctl_format_bits(control_find_format(c, p->format_id));
	for (uint32_t i = 0; i < p->n_fields; i++)
		bits += (uint32_t)__builtin_popcount(p->fields[i].mask);
	return bits;
}

/* Whether an entry takes the value out of place i; at is the first that it is for. */
static bool is_leaving(const struct control_profile *p, const struct mrc_ctl_ev_op_entry *entry,
		       uint32_t at, uint32_t i)
{
	return i == at ||
	       (entry->flags & MRC_CTL_EV_OP_F_ALL_COPIES && is_same(&p->evs[i], &entry->ev));
}

/* 9.3.2: with several planes each value belongs to one of them. Whether this one is by another port
 * too, in a place that the entry leaves as it is; NULL: in any. Segments are no values of packets:
 * those are made up for them, another one for each. */
static bool is_elsewhere(struct control *c, const struct control_profile *p,
			 const struct control_ev *ev, const struct mrc_ctl_ev_op_entry *entry)
{
	const struct control_format *f = control_find_format(c, p->format_id);
	uint32_t at = entry ? find(p, &entry->ev, 0) : NOWHERE;

	if (ev->port == 0 || (f && f->wide == CONTROL_SRV6))
		return false;
	for (uint32_t i = 0; i < p->count; i++)
		if (p->evs[i].port != 0 && p->evs[i].port != ev->port &&
		    memcmp(p->evs[i].val, ev->val, sizeof ev->val) == 0 &&
		    !(entry && is_leaving(p, entry, at, i)))
			return true;
	return false;
}

/* GOOD or DENIED; who replaces a value need not say that the new one is good. */
static int read_state(const struct mrc_ctl_ev_op_entry *entry, bool *is_denied)
{
	*is_denied = entry->state == MRC_CTL_EV_DENIED;
	return *is_denied || entry->state == MRC_CTL_EV_GOOD ? 0 : -EINVAL;
}

static int read_value(struct ctl_edit *e, const struct control_profile *p,
		      const struct mrc_ctl_ev_op_entry *entry, struct control_ev *to)
{
	*to = (struct control_ev){.port = entry->ev_new.port};
	memcpy(to->val, entry->ev_new.val, sizeof to->val);
	if (to->port > e->device->n_ports)
		return -EINVAL;
	if (has_bits_from(to->val, to->port == 0 ? 0 : given_bits(e->c, p)))
		return -EINVAL;
	/* A profile in use by name has no empty places. */
	if (to->port == 0 && p->phase == CONTROL_ONLINE)
		return -EINVAL;
	if (entry->state != 0 && read_state(entry, &to->is_denied))
		return -EINVAL;
	return to->port == 0 && to->is_denied ? -EINVAL : 0;
}

static int replace(struct ctl_edit *e, struct control_profile *p,
		   const struct mrc_ctl_ev_op_entry *entry)
{
	struct control_ev to;
	uint32_t at = find(p, &entry->ev, 0);
	int error = read_value(e, p, entry, &to);

	if (error || at == NOWHERE)
		return error ? error : -ENOENT;
	/* Offline they may come in any order: that they are whole is looked at on the way out. */
	if (p->phase == CONTROL_ONLINE && is_elsewhere(e->c, p, &to, entry))
		return -EINVAL;
	do {
		/* A process may not have seen yet that the place was good. */
		to.n_good = p->evs[at].n_good;
		p->evs[at] = to;
		at = find(p, &entry->ev, at + 1);
	} while (at != NOWHERE && entry->flags & MRC_CTL_EV_OP_F_ALL_COPIES);
	return 0;
}

static int set_state(struct control_profile *p, const struct mrc_ctl_ev_op_entry *entry)
{
	bool is_denied;
	uint32_t at = find(p, &entry->ev, 0);
	int error = read_state(entry, &is_denied);

	if (error)
		return error;
	/* There is no path behind an empty place. */
	if (at == NOWHERE || entry->ev.port == 0)
		return -ENOENT;
	do {
		p->evs[at].is_denied = is_denied;
		/* GOOD is news for those who assume it bad, though it was not denied. */
		p->evs[at].n_good = (uint8_t)((p->evs[at].n_good + !is_denied) & N_GOOD_MASK);
		at = find(p, &entry->ev, at + 1);
	} while (at != NOWHERE && entry->flags & MRC_CTL_EV_OP_F_ALL_COPIES);
	return 0;
}

int ctl_values_modify(struct ctl_edit *e, struct control_profile *p,
		      const struct mrc_ctl_ev_profile_attr *a, uint32_t *n_done)
{
	bool is_replace = a->ev_op.op == MRC_CTL_EV_OP_REPLACE_EV;
	int n = a->ev_op.entry_count;

	if (n < 0 || (n > 0 && !a->ev_op.entries))
		return -EINVAL;
	if (is_replace && p->mode != CONTROL_EXPLICIT)
		return -EINVAL;
	for (int i = 0; i < n; i++) {
		const struct mrc_ctl_ev_op_entry *entry = &a->ev_op.entries[i];
		int error = -EINVAL;

		if (!(entry->flags & ~(uint32_t)MRC_CTL_EV_OP_F_ALL_COPIES))
			error = is_replace ? replace(e, p, entry) : set_state(p, entry);
		if (error)
			return error;
		++*n_done;
	}
	return 0;
}

static enum mrc_ctl_ev_state state_of(const struct ctl_edit *e, const struct control_profile *p,
				      uint32_t at)
{
	if (p->evs[at].port == 0)
		return MRC_CTL_EV_UNKNOWN;
	if (p->evs[at].is_denied)
		return MRC_CTL_EV_DENIED;
	if (p->phase == CONTROL_ONLINE && e->is_bad && e->is_bad(e->whom, e->id, at))
		return MRC_CTL_EV_ASSUMED_BAD;
	return MRC_CTL_EV_GOOD;
}

static int query_array(const struct ctl_edit *e, const struct control_profile *p,
		       struct mrc_ctl_ev_profile_attr *a)
{
	int room = a->ev_op.entry_count;

	if (room < 0 || (room > 0 && !a->ev_op.entries))
		return -EINVAL;
	a->ev_op.entry_count = (int)p->count;
	if ((uint32_t)room < p->count)
		return -E2BIG;
	for (uint32_t i = 0; i < p->count; i++) {
		struct mrc_ctl_ev_op_entry *entry = &a->ev_op.entries[i];

		entry->ev.port = p->evs[i].port;
		memcpy(entry->ev.val, p->evs[i].val, sizeof entry->ev.val);
		entry->state = state_of(e, p, i);
	}
	return 0;
}

int ctl_values_query(const struct ctl_edit *e, const struct control_profile *p,
		     struct mrc_ctl_ev_profile_attr *a)
{
	int n = a->ev_op.entry_count;

	if (a->ev_op.op == MRC_CTL_EV_OP_QUERY_EV_ARRAY)
		return query_array(e, p, a);
	if (n < 0 || (n > 0 && !a->ev_op.entries))
		return -EINVAL;
	for (int i = 0; i < n; i++) {
		struct mrc_ctl_ev_op_entry *entry = &a->ev_op.entries[i];
		uint32_t at = find(p, &entry->ev, 0);

		if (at == NOWHERE)
			return -ENOENT;
		entry->state = state_of(e, p, at);
	}
	return 0;
}

int ctl_values_check(struct control *c, const struct control_profile *p)
{
	uint32_t bits = given_bits(c, p);

	for (uint32_t i = 0; i < p->count; i++)
		if (p->evs[i].port == 0 || has_bits_from(p->evs[i].val, bits) ||
		    is_elsewhere(c, p, &p->evs[i], NULL))
			return -EINVAL;
	return 0;
}
