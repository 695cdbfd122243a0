#include "mrcapi/ctl/place.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "control/members.h"

int ctl_may(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (syscall(SYS_capget, &head, data))
		return -EPERM;
	return data[CAP_TO_INDEX(CAP_NET_ADMIN)].effective & CAP_TO_MASK(CAP_NET_ADMIN) ? 0
											: -EPERM;
}

/* What an error of a file is to a controller. */
static int answer(int error)
{
	switch (error) {
	case 0:
	case -EAGAIN:
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM: return error;
	case -EACCES:
	case -EPERM: return -EPERM;
	default: return -EIO;
	}
}

/* A change under way. */
struct work {
	struct store *store;
	struct members *members; /* NULL: nobody can use this */
	struct control *c;
	struct control *before; /* NULL: it will not be needed */
};

static bool is_bad(void *whom, uint64_t id, uint32_t ev)
{
	return members_find_bad(whom, id, ev);
}

static int look_for_users(const struct work *w, const struct ctl_call *call, uint32_t *n)
{
	int error = w->members ? members_look(w->members) : 0;

	*n = !error && w->members ? members_using(w->members, call->kind, call->id) : 0;
	return answer(error);
}

static void finish(struct work *w)
{
	control_free(w->c);
	control_free(w->before);
	if (w->members)
		members_close(w->members);
	if (w->store)
		store_close(w->store);
}

static int start(struct work *w, const struct ctl_place *place, const struct ctl_call *call)
{
	*w = (struct work){.store = store_open_quiet(place->name)};
	if (!w->store)
		return answer(-errno);
	if (call->kind == CONTROL_EV || call->kind == CONTROL_CC) {
		w->members = members_open(place->name);
		if (!w->members)
			return answer(-errno);
	}
	return 0;
}

/* The phase of the profile that a call is about; NULL: it has none. */
static uint8_t *phase_of(const struct work *w, const struct ctl_call *call)
{
	struct control_profile *ev = NULL;
	struct control_cc *cc = NULL;

	if (call->kind == CONTROL_EV)
		ev = control_find_profile(w->c, call->id);
	else if (call->kind == CONTROL_CC)
		cc = control_find_cc(w->c, call->id);
	return ev ? &ev->phase : cc ? &cc->phase : NULL;
}

/* The state is again what it was, or the error of that. A generation of its own: who has read the
 * other one must read again. */
static int write_back(struct work *w, int error)
{
	if (!w->before)
		return error;
	w->before->generation = w->c->generation;
	int status = answer(store_commit(w->store, w->before));

	return status ? status : error;
}

/* Writes the new state, and where a user came meanwhile, the old one again. A profile that is to be
 * changed online is offline until nobody is seen to use it: else one might begin with values that
 * are taken back. */
static int commit(struct work *w, const struct ctl_call *call, bool is_exclusive)
{
	uint8_t *phase = is_exclusive ? phase_of(w, call) : NULL;
	bool is_to_stay = phase && *phase == CONTROL_ONLINE;
	uint32_t n_users = 0;

	if (is_to_stay)
		*phase = CONTROL_OFFLINE;
	int error = answer(store_commit(w->store, w->c));

	if (error || !is_exclusive)
		return error;
	error = look_for_users(w, call, &n_users);
	if (error || n_users > 0)
		return write_back(w, error ? error : -EBUSY);
	if (!is_to_stay)
		return 0;
	*phase = CONTROL_ONLINE;
	error = answer(store_commit(w->store, w->c));
	return error ? write_back(w, error) : 0;
}

static int change(struct work *w, const struct ctl_place *place, const struct ctl_call *call,
		  void *attr)
{
	struct ctl_edit e = {
		.c = w->c,
		.device = &place->device,
		.id = call->id,
		.mask = call->mask,
		.is_bad = w->members ? is_bad : NULL,
		.whom = w->members,
	};
	int error = look_for_users(w, call, &e.n_users);

	if (error)
		return error;
	w->before = w->members ? control_copy(w->c) : NULL;
	if (w->members && !w->before)
		return -ENOMEM;
	error = call->modify(&e, attr);
	if (!e.is_changed || (error && !e.is_partial))
		return error;
	int status = commit(w, call, e.is_exclusive);

	return status ? status : error;
}

int ctl_place_modify(const struct ctl_place *place, const struct ctl_call *call, void *attr)
{
	struct work w;
	int error = start(&w, place, call);

	if (!error)
		error = answer(store_begin(w.store, &w.c));
	if (!error) {
		error = change(&w, place, call, attr);
		store_end(w.store);
	}
	finish(&w);
	return error;
}

int ctl_place_query(const struct ctl_place *place, const struct ctl_call *call, void *attr)
{
	struct work w;
	struct ctl_edit e = {.device = &place->device, .id = call->id, .mask = call->mask};
	int error = start(&w, place, call);

	if (!error) {
		w.c = store_read(w.store);
		error = w.c ? look_for_users(&w, call, &e.n_users) : answer(-errno);
	}
	if (!error) {
		e.c = w.c;
		e.is_bad = w.members ? is_bad : NULL;
		e.whom = w.members;
		error = call->query(&e, attr);
	}
	finish(&w);
	return error;
}

int ctl_place_free(const struct ctl_place *place, uint32_t *n)
{
	struct store *store = store_open_quiet(place->name);
	struct control *c = store ? store_read(store) : NULL;
	int error = c ? 0 : answer(-errno);

	if (c)
		*n = CONTROL_EVS_ALL - control_count_evs(c);
	control_free(c);
	if (store)
		store_close(store);
	return error;
}
