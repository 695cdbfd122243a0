/* Which EVs of MRC's queue pairs are assumed bad, as controllers are told (MRC 9.3.2.1). */
#include "nic/mrc/inside.h"

static void report(struct device *d, const struct mrc_evs *w, uint32_t ev, uint8_t state)
{
	const struct control_event event = {
		.profile_id = w->id,
		.ev = w->evs[ev],
		.state = state,
	};

	if (w->event_mask & state)
		member_report(mrc_device_of(d)->control->show.member, &event);
}

/* What one queue pair assumes is the device's word if it is the first to, or the last. */
static void set_bad(struct device *d, struct mrc_naming *user, uint32_t ev, bool is_bad)
{
	struct mrc_evs *w = user->evs;
	bool was_bad = w->n_bad[ev] > 0;

	user->bad[ev / 64] ^= UINT64_C(1) << ev % 64;
	w->n_bad[ev] = (uint16_t)(w->n_bad[ev] + (is_bad ? 1 : -1));
	if (was_bad != (w->n_bad[ev] > 0))
		member_set_bad(mrc_device_of(d)->control->show.member, w->id, w->values[ev],
			       is_bad);
}

/* Where it was the last to assume a value bad, nobody does any more. */
void mrc_forget_bad(struct device *d, struct mrc_naming *user)
{
	for (uint32_t ev = 0; ev < user->evs->profile.set.n; ev++) {
		if (!(user->bad[ev / 64] >> ev % 64 & 1))
			continue;
		set_bad(d, user, ev, false);
		if (!user->evs->n_bad[ev])
			report(d, user->evs, ev, CONTROL_REPORT_GOOD);
	}
}

void mrc_follow_evs(struct nic_qp *qp)
{
	struct mrc_naming *user = mrc_naming_of(qp);
	struct device *d = qp->user->device;
	uint8_t states[CONTROL_EVS];
	uint32_t n = 0;

	device_changed(d);
	if (!user || !user->evs)
		return;
	WITH_ONE_SHARD("an EV is counted bad for all queue pairs under the lock of one");
	if (qp_state(qp) == ENGINE_ERROR) {
		mrc_forget_bad(d, user);
		return;
	}
	mrc_qp_evs(qp->shard->engine, qp->number, states, CONTROL_EVS, &n);
	for (uint32_t ev = 0; ev < n; ev++) {
		bool was_bad = user->bad[ev / 64] >> ev % 64 & 1;
		bool is_bad = states[ev] == PATH_ASSUMED_BAD;
		uint32_t before = user->evs->n_bad[ev];

		if (is_bad == was_bad)
			continue;
		set_bad(d, user, ev, is_bad);
		if (!before)
			report(d, user->evs, ev, CONTROL_REPORT_BAD);
		else if (!user->evs->n_bad[ev])
			report(d, user->evs, ev, CONTROL_REPORT_GOOD);
	}
}
