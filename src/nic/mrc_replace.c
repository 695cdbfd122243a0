/* Values of an EV profile that a controller replaces while queue pairs use them (MRC 10.2.2): their
 * ways become others under their packets. */
#include <string.h>

#include "nic/mrc_inside.h"

static bool is_value(const struct control_ev *a, const struct control_ev *b)
{
	return a->port == b->port && memcmp(a->val, b->val, sizeof a->val) == 0;
}

bool mrc_ways_are(const struct mrc_ways *ways, const struct control_profile *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->count; i++)
		n += p->evs[i].port != 0;
	if (n != ways->profile.set.n)
		return false;
	for (uint32_t way = 0; way < n; way++)
		if (ways->values[way] >= p->count ||
		    !is_value(&ways->evs[way], &p->evs[ways->values[way]]))
			return false;
	return true;
}

/* The way that is value number `value` of its profile, if it is this one; else PATH_NONE. */
static uint32_t find(const struct mrc_ways *ways, uint32_t value, const struct control_ev *ev)
{
	for (uint32_t way = 0; way < ways->profile.set.n; way++)
		if (ways->values[way] == value)
			return is_value(&ways->evs[way], ev) ? way : PATH_NONE;
	return PATH_NONE;
}

/* What a user assumes of its ways goes over to those that are the same: nobody is told of these. Of
 * a value that is gone nobody assumes anything. */
static void carry_over(struct device *d, struct mrc_naming *user, struct mrc_ways *to,
		       uint64_t bad[CONTROL_EVS / 64])
{
	struct mrc_ways *from = user->ways;

	for (uint32_t way = 0; way < from->profile.set.n; way++) {
		if (!(user->bad[way / 64] >> way % 64 & 1))
			continue;
		uint32_t now = find(to, from->values[way], &from->evs[way]);

		from->n_bad[way]--;
		if (now != PATH_NONE) {
			to->n_bad[now]++;
			bad[now / 64] |= UINT64_C(1) << now % 64;
		} else if (!from->n_bad[way]) {
			member_set_bad(d->control->show.member, from->id, from->values[way], false);
		}
	}
	memset(user->bad, 0, sizeof user->bad);
}

/* The engine takes the new ways, if it has begun with the old; false: it does not. */
static bool take_ways(struct device *d, const struct nic_qp *qp, const struct mrc_ways *to)
{
	struct mrc_attr attr;

	mrc_qp_query(d->engine, qp->number, &attr, NULL, NULL);
	if (!attr.ways)
		return true;
	if (mrc_ways_lay(d, to, qp->addrs.peer))
		return false;
	attr.ways = &to->profile;
	return mrc_qp_modify(d->engine, d->clock, qp->number, &attr, MRC_SET_PATH) == 0;
}

static void move(struct device *d, struct mrc_naming *user, struct mrc_ways *to)
{
	const struct nic_qp *qp = user->qp;
	uint64_t bad[CONTROL_EVS / 64] = {0};

	if (!take_ways(d, qp, to))
		return;
	carry_over(d, user, to, bad);
	/* The old ones are gone with the last of their users. */
	mrc_ways_leave(d, user);
	mrc_ways_join(to, user);
	memcpy(user->bad, bad, sizeof bad);
	for (uint32_t way = 0; way < to->profile.set.n; way++)
		if (bad[way / 64] >> way % 64 & 1)
			mrc_qp_judge(d->engine, d->clock, qp->number, way, true);
}

void mrc_ways_replace(struct device *d, struct control *c, const struct control_profile *p,
		      struct mrc_ways *old)
{
	struct mrc_ways *to = mrc_ways_get(d, c, p);
	struct mrc_naming *next;

	if (!to || to == old)
		return;
	for (struct mrc_naming *user = old->users; user; user = next) {
		next = user->next;
		move(d, user, to);
	}
	mrc_ways_put(d, to);
}
