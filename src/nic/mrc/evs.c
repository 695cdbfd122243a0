/* The EVs of MRC's queue pairs (MRC 9.4): the device's own, as its setup says, and those of
 * profiles that controllers made, shared by all queue pairs that name the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nic/mrc/inside.h"

#define UDP_EVS 64u /* as many as the driver has sources */

/* A profile that EVs are made of. */
struct source_list {
	const struct control *control;
	const struct control_profile *profile;
	const struct control_format *format; /* NULL: structured */
};

/* Room for n EVs: the profile's memory is behind the struct, and behind that the rest. */
static struct mrc_evs *evs_new(uint32_t n, bool has_segments)
{
	size_t profile = (path_profile_size(n) + 7) & ~(size_t)7;
	size_t segments = has_segments ? (n * sizeof(struct encap_segments) + 7) & ~(size_t)7 : 0;
	size_t each = 2 * sizeof(uint16_t) + sizeof(struct control_ev);
	struct mrc_evs *w = calloc(1, sizeof *w + profile + segments + n * each);

	if (!w)
		return NULL;
	uint8_t *at = (uint8_t *)(w + 1) + profile;

	w->segments = has_segments ? (void *)at : NULL;
	w->values = (void *)(at + segments);
	w->n_bad = w->values + n;
	w->evs = (void *)(w->n_bad + n);
	return w;
}

/* A value's bits, which are its segments (9.4.3). */
static struct encap_segments segments_of(const uint8_t value[PATH_VALUE_BYTES], uint32_t n)
{
	struct encap_segments s = {.n = (uint8_t)n};

	memcpy(s.at[0], value, sizeof s.at[0]);
	memcpy(s.at[1], value + sizeof s.at[0], sizeof s.at[1]);
	return s;
}

/* Those of a generated entropy value, which is the number of a combination (path/format.h). */
static struct encap_segments generated_segments(const struct path_format *format, uint32_t ev)
{
	uint8_t value[PATH_VALUE_BYTES];

	path_format_value(format, ev, value);
	return segments_of(value, format->encoding == PATH_USID_SRH ? 2 : 1);
}

int mrc_make_own_evs(struct device *d)
{
	const struct config_evs *evs = &d->info.setup.evs;
	struct path_wanted wanted = {
		.n = evs->n,
		.ports = (UINT32_C(1) << d->n_ports) - 1,
		.seed = (uint64_t)keystream_u32(&d->random) << 32 | keystream_u32(&d->random),
	};
	const struct path_format format = mrc_format(evs);

	if (!evs->n && !evs->is_generated && d->info.setup.driver == CONFIG_UDP)
		wanted.n = UDP_EVS;
	uint32_t most = wanted.n ? wanted.n : path_profile_default(wanted.ports);
	struct mrc_evs *w = evs_new(most, evs->is_generated && evs->encoding >= PATH_USID);

	if (!w)
		return nic_fail(ENOMEM, "no memory for the EVs of %s", d->info.name);
	struct path_profile *f = &w->profile;
	enum path_error error = evs->is_generated
					? path_profile_generated(f, w + 1, &format, &wanted)
					: path_profile_auto(f, w + 1, &wanted);

	mrc_device_of(d)->evs = w;
	if (!error)
		error = path_profile_set_min_active(f, evs->min_active);
	if (error)
		return nic_fail(EINVAL, "%s: no entropy values can be made: %s", d->info.name,
				path_error_name(error));
	for (uint32_t i = 0; w->segments && i < f->set.n; i++)
		w->segments[i] = generated_segments(&format, f->set.evs[i].value);
	return 0;
}

void mrc_free_own_evs(struct device *d)
{
	free(mrc_device_of(d)->evs);
	mrc_device_of(d)->evs = NULL;
}

const struct mrc_evs *mrc_evs_of(const struct nic_qp *qp)
{
	const struct mrc_naming *n = mrc_naming_of(qp);

	return n && n->evs ? n->evs : mrc_device_of(qp->user->device)->evs;
}

/* An entropy value for segments: what it is does not matter, as long as no other list to the same
 * peer has it. Far from each other, for they are source ports too, below the segments. */
static uint32_t new_ev(struct device *d)
{
	const struct path_profile *own = &mrc_device_of(d)->evs->profile;
	uint32_t ev;

	do
		ev = ++mrc_device_of(d)->control->n_evs * UINT32_C(0x9e3779b1);
	while (ev >= DRIVER_EV_ALONE || path_profile_find(own, ev, PATH_ANY_PORT) != PATH_NONE);
	return ev;
}

/* MRC Table 9-1: the source port, then the flow label's low 16 bits. */
static uint32_t ev_of(const struct source_list *from, uint32_t i)
{
	uint8_t value[PATH_VALUE_BYTES];

	control_expand(from->control, from->profile, i, value);
	uint32_t port = (uint32_t)value[0] << 8 | value[1];
	uint32_t label = (uint32_t)value[2] << 8 | value[3];

	return port << 16 | (from->format && from->format->wide == CONTROL_UDP ? 0 : label);
}

/* The EVs of a list by port, as path_profile_explicit groups them; w->values tells which is which.
 * -EINVAL: a port that there is not. */
static int fill_evs(struct device *d, const struct source_list *from, struct path_ev *evs,
		    struct mrc_evs *w)
{
	bool is_udp = d->info.setup.driver == CONFIG_UDP;
	const struct control_profile *p = from->profile;
	uint32_t n = 0;

	for (uint32_t port = 1; port <= ENGINE_PORTS; port++)
		for (uint32_t i = 0; i < p->count; i++) {
			const struct control_ev *v = &p->evs[i];

			if (v->port != port)
				continue;
			if (port > d->info.n_ports)
				return nic_fail(EINVAL,
						"%s has %u ports, and value %u of the profile is "
						"for port %u",
						d->info.name, d->info.n_ports, i, port);
			evs[n].value = w->segments ? new_ev(d) : ev_of(from, i);
			evs[n].port = is_udp ? 0 : port - 1;
			w->values[n] = (uint16_t)i;
			w->evs[n] = *v;
			w->evs[n++].is_denied = false;
		}
	return (int)n;
}

/* The segments of EV i. */
static void lay_out(const struct source_list *from, struct mrc_evs *w, uint32_t i)
{
	bool has_two = control_encoding(from->format) == PATH_USID_SRH;
	uint8_t value[PATH_VALUE_BYTES];

	control_expand(from->control, from->profile, w->values[i], value);
	w->segments[i] = segments_of(value, has_two ? 2 : 1);
}

static int fill(struct device *d, const struct source_list *from, struct mrc_evs *w)
{
	const struct control_profile *p = from->profile;
	struct path_ev evs[CONTROL_EVS];
	int n = fill_evs(d, from, evs, w);

	if (n < 0)
		return n;
	enum path_error error = path_profile_explicit(&w->profile, w + 1, evs, (uint32_t)n);

	if (!error)
		error = path_profile_set_min_active(
			&w->profile, p->min_active < (uint32_t)n ? p->min_active : (uint32_t)n);
	if (error)
		return nic_fail(EINVAL, "the profile has no entropy values that can be used: %s",
				path_error_name(error));
	if (!path_profile_is_split(&w->profile))
		return nic_fail(EINVAL, "the profile has one entropy value for several ports: give "
					"each plane its own (MRC 9.3.2)");
	w->id = p->id;
	w->event_mask = p->event_mask;
	for (uint32_t i = 0; i < (uint32_t)n; i++) {
		path_profile_deny(&w->profile, i, p->evs[w->values[i]].is_denied);
		if (w->segments)
			lay_out(from, w, i);
	}
	return 0;
}

/* Whether both are the same EVs. Entropy values for segments are made up, and no matter. */
static bool is_same_ev(const struct mrc_evs *a, const struct mrc_evs *b, uint32_t i)
{
	if (a->evs[i].port != b->evs[i].port ||
	    memcmp(a->evs[i].val, b->evs[i].val, sizeof a->evs[i].val) != 0)
		return false;
	return a->segments ? memcmp(&a->segments[i], &b->segments[i], sizeof a->segments[i]) == 0
			   : a->profile.set.evs[i].value == b->profile.set.evs[i].value;
}

static bool are_same(const struct mrc_evs *a, const struct mrc_evs *b)
{
	uint32_t n = a->profile.set.n;

	if (a->id != b->id || b->profile.set.n != n || !a->segments != !b->segments ||
	    a->profile.min_active != b->profile.min_active ||
	    memcmp(a->values, b->values, n * sizeof *a->values) != 0)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!is_same_ev(a, b, i))
			return false;
	return true;
}

struct mrc_evs *mrc_evs_get(struct device *d, struct control *c, const struct control_profile *p)
{
	const struct source_list from = {
		.control = c,
		.profile = p,
		.format = p->mode == CONTROL_AUTO ? NULL : control_find_format(c, p->format_id),
	};
	bool has_segments = from.format && from.format->wide == CONTROL_SRV6;

	if (has_segments && d->info.setup.driver == CONFIG_UDP)
		return nic_fail_null(EINVAL,
				     "%s: the profile's values are SRv6, which needs the raw or "
				     "the xdp driver",
				     d->info.name);
	struct mrc_evs *w = evs_new(p->count, has_segments);

	if (!w)
		return nic_fail_null(ENOMEM, "no memory for %u EVs", p->count);
	int r = fill(d, &from, w);

	if (r) {
		free(w);
		errno = -r;
		return NULL;
	}
	for (struct mrc_evs *other = mrc_device_of(d)->control->evs; other; other = other->next)
		if (are_same(w, other)) {
			free(w);
			return other;
		}
	w->next = mrc_device_of(d)->control->evs;
	mrc_device_of(d)->control->evs = w;
	return w;
}

void mrc_evs_join(struct mrc_evs *evs, struct mrc_naming *user)
{
	user->evs = evs;
	user->next = evs->users;
	evs->users = user;
}

void mrc_evs_leave(struct device *d, struct mrc_naming *user)
{
	struct mrc_evs *evs = user->evs;
	struct mrc_naming **at = &evs->users;

	mrc_forget_bad(d, user);
	while (*at != user)
		at = &(*at)->next;
	*at = user->next;
	user->evs = NULL;
	if (user->qp->addrs.peer != DRIVER_NO_HANDLE)
		mrc_evs_lift(user->qp->shard, evs, user->qp->addrs.peer);
	mrc_evs_put(d, evs);
}

void mrc_evs_put(struct device *d, struct mrc_evs *evs)
{
	struct mrc_evs **at = &mrc_device_of(d)->control->evs;

	if (evs->users)
		return;
	while (*at != evs)
		at = &(*at)->next;
	*at = evs->next;
	free(evs);
}

int mrc_evs_lay(struct shard *s, const struct mrc_evs *evs, uint32_t peer)
{
	const struct path_set *set = &evs->profile.set;

	for (uint32_t i = 0; evs->segments && i < set->n; i++) {
		int r = driver_peer_segments(s->io, peer, set->evs[i].port, set->evs[i].value,
					     &evs->segments[i]);

		if (!r)
			continue;
		mrc_evs_lift(s, evs, peer);
		return nic_fail(-r, "%s: no segments for EV %u: %s", s->device->info.name, i,
				r == -ENOTSUP ? "SRv6 needs the raw or the xdp driver"
					      : strerror(-r));
	}
	return 0;
}

void mrc_evs_lift(struct shard *s, const struct mrc_evs *evs, uint32_t peer)
{
	static const struct encap_segments none;
	const struct path_set *set = &evs->profile.set;

	/* The device's own serve every peer that it has. */
	if (!evs->segments || evs == mrc_device_of(s->device)->evs)
		return;
	for (const struct mrc_naming *user = evs->users; user; user = user->next)
		if (user->qp->shard == s && user->qp->addrs.peer == peer)
			return;
	for (uint32_t i = 0; i < set->n; i++)
		driver_peer_segments(s->io, peer, set->evs[i].port, set->evs[i].value, &none);
}
