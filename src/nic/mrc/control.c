/* An MRC device under the eyes of controllers: what they set takes effect on queue pairs that run
 * (MRC 9.3.2.1), and they are told of EVs that fail.
 *
 * A device works without all of it, where the files cannot be had. */
#include <stdlib.h>
#include <string.h>

#include "nic/mrc/inside.h"

#define LOOK_NS UINT64_C(250000000) /* between two looks at a state of which nobody tells */

/* Values that a controller denies, or allows again, for all who use their profile. */
static void follow_denials(struct mrc_evs *w, const struct control_profile *p)
{
	for (uint32_t ev = 0; ev < w->profile.set.n; ev++) {
		bool was_denied = w->profile.denied[ev / 64] >> ev % 64 & 1;

		if (p->evs[w->values[ev]].is_denied == was_denied)
			continue;
		path_profile_deny(&w->profile, ev, !was_denied);
		/* One that is not connected begins as the profile has it. */
		for (const struct mrc_naming *user = w->users; user; user = user->next)
			mrc_qp_deny(user->qp->shard->engine, user->qp->shard->clock,
				    user->qp->number, ev, !was_denied);
	}
}

/* Values that a controller says are good, whatever queue pairs assume of them (10.2.2). */
static void follow_pardons(struct mrc_evs *w, const struct control_profile *p)
{
	for (uint32_t ev = 0; ev < w->profile.set.n; ev++) {
		uint8_t n_good = p->evs[w->values[ev]].n_good;

		if (n_good == w->evs[ev].n_good)
			continue;
		w->evs[ev].n_good = n_good;
		for (const struct mrc_naming *user = w->users; user; user = user->next)
			mrc_qp_judge(user->qp->shard->engine, user->qp->shard->clock,
				     user->qp->number, ev, false);
	}
}

static void follow(struct device *d, struct control *c)
{
	struct mrc_evs *next;

	for (struct mrc_evs *w = mrc_device_of(d)->control->evs; w; w = next) {
		const struct control_profile *p = control_find_profile(c, w->id);

		next = w->next;
		if (!p || !p->evs)
			continue;
		/* Those that took the place of w begin as the profile has it. */
		if (!mrc_evs_are(w, p)) {
			mrc_evs_replace(d, c, p, w);
			continue;
		}
		w->event_mask = p->event_mask;
		follow_denials(w, p);
		follow_pardons(w, p);
	}
	if (c->disabled_ports != d->disabled_ports)
		device_disable_ports(d, c->disabled_ports);
}

/* The state as it is now, and again before long where nobody tells when it changes. One that cannot
 * be read changes nothing, and is tried again as well. */
static void look(struct device *d)
{
	struct mrc_control *own = mrc_device_of(d)->control;
	struct control *c = store_read(own->store);
	bool is_notified = c && store_fd(own->store) >= 0;

	own->look_at = is_notified ? NSEC_NEVER : device_now() + LOOK_NS;
	if (!c)
		return;
	follow(d, c);
	control_free(c);
}

nsec mrc_look_late(struct device *d, nsec now)
{
	struct mrc_control *c = mrc_device_of(d)->control;

	if (!c || !c->store)
		return NSEC_NEVER;
	if (now >= c->look_at) {
		device_catch_up(d);
		look(d);
	}
	return c->look_at;
}

void mrc_govern(struct device *d)
{
	const struct config_setup *setup = &d->info.setup;
	struct mrc_control *c = calloc(1, sizeof *c);

	if (!c)
		return;
	if (store_name(c->name, setup->interfaces, setup->n_ports)) {
		free(c);
		return;
	}
	mrc_device_of(d)->control = c;
	c->store = store_open(c->name);
	if (!c->store)
		return;
	c->show.fill = mrc_fill_pair;
	show_begin(d, &c->show, c->name);
	look(d);
}

void mrc_ungovern(struct device *d)
{
	struct mrc_control *c = mrc_device_of(d)->control;

	if (!c)
		return;
	show_end(d, &c->show);
	if (c->store)
		store_close(c->store);
	free(c);
	mrc_device_of(d)->control = NULL;
}

/* The parent's place among the processes stays its own. */
void mrc_abandon(struct device *d)
{
	struct mrc_control *c = mrc_device_of(d)->control;

	if (!c)
		return;
	show_abandon(d, &c->show);
	if (c->store)
		store_close(c->store);
	c->store = NULL;
}

int mrc_news_fd(const struct device *d)
{
	const struct mrc_control *c = mrc_device_of(d)->control;

	return c && c->store ? store_fd(c->store) : -1;
}

void mrc_take_news(struct device *d)
{
	if (!(store_has_news(mrc_device_of(d)->control->store) & STORE_CHANGED))
		return;
	device_catch_up(d);
	look(d);
	device_changed(d);
}

int nic_mrc_store_name(struct nic_user *u, char name[STORE_NAME_MAX])
{
	struct device *d = u->device;
	int r = device_check_for(d, &transport_mrc);

	if (r)
		return r;
	if (mrc_device_of(d)->control) {
		memcpy(name, mrc_device_of(d)->control->name, STORE_NAME_MAX);
		return 0;
	}
	return store_name(name, d->info.setup.interfaces, d->info.setup.n_ports);
}
