/* Values of an EV profile that a controller replaces while queue pairs use them (MRC 10.2.2): their
 * EVs become others under their packets. */
#include <string.h>

#include "nic/mrc/inside.h"

static bool is_value(const struct control_ev *a, const struct control_ev *b)
{
	return a->port == b->port && memcmp(a->val, b->val, sizeof a->val) == 0;
}

bool mrc_evs_are(const struct mrc_evs *evs, const struct control_profile *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->count; i++)
		n += p->evs[i].port != 0;
	if (n != evs->profile.set.n)
		return false;
	for (uint32_t ev = 0; ev < n; ev++)
		if (evs->values[ev] >= p->count ||
		    !is_value(&evs->evs[ev], &p->evs[evs->values[ev]]))
			return false;
	return true;
}

/* The EV that is value number `value` of its profile, if it is this one; else PATH_NONE. */
static uint32_t find(const struct mrc_evs *evs, uint32_t value, const struct control_ev *ev)
{
	for (uint32_t i = 0; i < evs->profile.set.n; i++)
		if (evs->values[i] == value)
			return is_value(&evs->evs[i], ev) ? i : PATH_NONE;
	return PATH_NONE;
}

/* What a user assumes of its EVs goes over to those that are the same: nobody is told of these. Of
 * a value that is gone nobody assumes anything. */
static void carry_over(struct device *d, struct mrc_naming *user, struct mrc_evs *to,
		       uint64_t bad[CONTROL_EVS / 64])
{
	struct mrc_evs *from = user->evs;

	for (uint32_t ev = 0; ev < from->profile.set.n; ev++) {
		if (!(user->bad[ev / 64] >> ev % 64 & 1))
			continue;
		uint32_t now = find(to, from->values[ev], &from->evs[ev]);

		from->n_bad[ev]--;
		if (now != PATH_NONE) {
			to->n_bad[now]++;
			bad[now / 64] |= UINT64_C(1) << now % 64;
		} else if (!from->n_bad[ev]) {
			member_set_bad(mrc_device_of(d)->control->show.member, from->id,
				       from->values[ev], false);
		}
	}
	memset(user->bad, 0, sizeof user->bad);
}

/* The engine takes the new EVs, if it has begun with the old; false: it does not. */
static bool take_evs(const struct nic_qp *qp, const struct mrc_evs *to)
{
	struct shard *s = qp->shard;
	struct mrc_attr attr;

	mrc_qp_query(s->engine, qp->number, &attr, NULL, NULL);
	if (!attr.evs)
		return true;
	if (mrc_evs_lay(s, to, qp->addrs.peer))
		return false;
	attr.evs = &to->profile;
	return mrc_qp_modify(s->engine, s->clock, qp->number, &attr, MRC_SET_PATH) == 0;
}

static void move(struct device *d, struct mrc_naming *user, struct mrc_evs *to)
{
	const struct nic_qp *qp = user->qp;
	uint64_t bad[CONTROL_EVS / 64] = {0};

	if (!take_evs(qp, to))
		return;
	carry_over(d, user, to, bad);
	/* The old ones are gone with the last of their users. */
	mrc_evs_leave(d, user);
	mrc_evs_join(to, user);
	memcpy(user->bad, bad, sizeof bad);
	for (uint32_t ev = 0; ev < to->profile.set.n; ev++)
		if (bad[ev / 64] >> ev % 64 & 1)
			mrc_qp_judge(qp->shard->engine, qp->shard->clock, qp->number, ev, true);
}

void mrc_evs_replace(struct device *d, struct control *c, const struct control_profile *p,
		     struct mrc_evs *old)
{
	struct mrc_evs *to = mrc_evs_get(d, c, p);
	struct mrc_naming *next;

	if (!to || to == old)
		return;
	for (struct mrc_naming *user = old->users; user; user = next) {
		next = user->next;
		move(d, user, to);
	}
	mrc_evs_put(d, to);
}
