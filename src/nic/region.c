#include "nic/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct nic_pd *nic_pd_new(struct nic_user *u)
{
	struct device *d = u->device;
	int r = device_check(d);
	struct nic_pd *pd = r ? NULL : calloc(1, sizeof *pd);

	if (!pd) {
		errno = r ? -r : ENOMEM;
		return NULL;
	}
	device_enter(d);
	pd->user = u;
	pd->number = ++d->last_pd;
	u->n_objects++;
	device_leave(d);
	return pd;
}

int nic_pd_free(struct nic_pd *pd)
{
	struct nic_user *u = pd->user;
	int r = device_check(u->device);

	if (r)
		return r;
	device_enter(u->device);
	if (pd->n_users)
		r = nic_fail(EBUSY, "the protection domain is in use by %u objects", pd->n_users);
	else
		u->n_objects--;
	device_leave(u->device);
	if (!r)
		free(pd);
	return r;
}

/* Draws a key and adds the entry under it. */
static int add_entry(struct nic_pd *pd, struct mem_entry *entry)
{
	struct device *d = pd->user->device;

	entry->pd = pd->number;
	entry->qp = MEM_ANY_QP;
	entry->key = device_draw_key(d);
	int r = entry->key ? mem_add(d->mem, entry) : -ENOSPC;

	if (!r) {
		pd->n_users++;
		return 0;
	}
	if (entry->key)
		device_return_key(d, entry->key);
	return nic_fail(-r, "no such region or window: %s", strerror(-r));
}

/* Remote writes and atomics change memory: the owner must be able to, too (IBTA 10.6.3.1). */
static bool is_access_wrong(uint8_t access)
{
	return (access & (MEM_REMOTE_WRITE | MEM_REMOTE_ATOMIC)) && !(access & MEM_LOCAL_WRITE);
}

/* An object of so many bytes, whose entry is in the table under a key that was drawn. */
static void *object_new(struct nic_pd *pd, size_t bytes, struct mem_entry *entry)
{
	struct device *d = pd->user->device;
	int r = device_check(d);
	void *object = r ? NULL : calloc(1, bytes);

	if (object) {
		device_enter(d);
		r = add_entry(pd, entry);
		device_leave(d);
		if (!r)
			return object;
	}
	free(object);
	errno = r ? -r : ENOMEM;
	return NULL;
}

static struct nic_mr *region_new(struct nic_pd *pd, struct mem_entry *entry)
{
	struct nic_mr *mr = object_new(pd, sizeof *mr, entry);

	if (mr) {
		mr->pd = pd;
		mr->key = entry->key;
	}
	return mr;
}

static int check_spec(const struct nic_mr_spec *spec)
{
	if (is_access_wrong(spec->access))
		return nic_fail(EINVAL, "remote writes and atomics need local write, too");
	/* Without an address the table takes a region for virtual memory, see nic_mr_new_null. */
	if (!spec->at && spec->len)
		return nic_fail(EFAULT, "a region at address 0");
	return 0;
}

static struct mem_entry entry_of(const struct nic_mr_spec *spec)
{
	return (struct mem_entry){
		.at = spec->at,
		.iova = spec->iova,
		.len = spec->len,
		.kind = MEM_REGION,
		.access = spec->access,
	};
}

struct nic_mr *nic_mr_new(struct nic_pd *pd, const struct nic_mr_spec *spec)
{
	struct mem_entry entry = entry_of(spec);
	int r = check_spec(spec);

	if (r) {
		errno = -r;
		return NULL;
	}
	return region_new(pd, &entry);
}

/* With the locks held nobody has an address of the region, see nic_mr_free: packets before this one
 * used what it was, those after it find what it is. */
int nic_mr_change(struct nic_mr *mr, struct nic_pd *pd, const struct nic_mr_spec *spec)
{
	struct device *d = mr->pd->user->device;
	struct mem_entry entry = entry_of(spec);
	int r = device_check(d);

	if (!r)
		r = check_spec(spec);
	if (r)
		return r;
	if (pd->user != mr->pd->user)
		return nic_fail(EINVAL, "the protection domain is of another context");
	device_enter(d);
	entry.key = mr->key;
	entry.pd = pd->number;
	r = mem_change(d->mem, &entry);
	if (!r) {
		mr->pd->n_users--;
		pd->n_users++;
		mr->pd = pd;
	}
	device_leave(d);
	if (r)
		return nic_fail(-r, "the region stays as it is: %s",
				r == -EBUSY ? "a window is bound to it" : strerror(-r));
	return 0;
}

struct nic_mr *nic_mr_new_null(struct nic_pd *pd)
{
	struct mem_entry entry = {.len = UINT64_MAX, .kind = MEM_REGION, .access = MEM_LOCAL_WRITE};

	return region_new(pd, &entry);
}

/* Packets are placed, and read for sending, only with a lock held, and the key is looked up for
 * each: once it is out of the table and all locks were ours, nobody is left who has the address. */
int nic_mr_free(struct nic_mr *mr)
{
	struct device *d = mr->pd->user->device;
	int r = device_check(d);

	if (r)
		return r;
	device_enter(d);
	r = mem_remove(d->mem, mr->key);
	if (!r) {
		device_return_key(d, mr->key);
		mr->pd->n_users--;
	}
	device_leave(d);
	if (r)
		return nic_fail(-r, "the region stays: %s",
				r == -EBUSY ? "a window is bound to it" : strerror(-r));
	free(mr);
	return 0;
}

uint32_t nic_mr_key(const struct nic_mr *mr)
{
	return mr->key;
}

struct nic_mw *nic_mw_new(struct nic_pd *pd, enum mem_kind kind)
{
	struct mem_entry entry = {.kind = (uint8_t)kind};

	if (kind != MEM_WINDOW_1 && kind != MEM_WINDOW_2)
		return nic_fail_null(EINVAL, "no such kind of window");
	struct nic_mw *mw = object_new(pd, sizeof *mw, &entry);

	if (mw) {
		mw->pd = pd;
		mw->kind = (uint8_t)kind;
		mw->key = entry.key;
	}
	return mw;
}

/* Whether the last binding that was posted may still be executed: not when its queue pair failed,
 * was reset, or is gone. */
static bool is_pending(const struct nic_mw *mw)
{
	const struct nic_qp *qp = mw->shard ? shard_qp(mw->shard, mw->qp) : NULL;

	return qp && qp->life == mw->life && qp_state(qp) != ENGINE_ERROR;
}

/* The table changes a key when the binding is executed. If the last one never is, the window has
 * one of the others that share the upper bits, as no other entry does. */
uint32_t mw_key(struct nic_mw *mw)
{
	const struct mem *mem = mw->pd->user->device->mem;
	uint32_t first = mw->key - mw->key % NIC_LOW_KEYS;

	if (mem_entry(mem, mw->key) || is_pending(mw))
		return mw->key;
	for (uint32_t key = first; key - first < NIC_LOW_KEYS; key++) {
		if (mem_entry(mem, key))
			mw->key = key;
	}
	return mw->key;
}

void mw_bound(struct nic_mw *mw, const struct nic_qp *qp, uint32_t key)
{
	mw->key = key;
	mw->shard = qp->shard;
	mw->qp = qp->number;
	mw->life = qp->life;
}

/* Whichever of its keys it has now, with bindings of it still to be executed or not. */
static int remove_window(struct device *d, uint32_t key)
{
	uint32_t first = key - key % NIC_LOW_KEYS;
	int r = -ENOENT;

	for (uint32_t low = 0; low < NIC_LOW_KEYS && r == -ENOENT; low++)
		r = mem_remove(d->mem, first + low);
	return r;
}

int nic_mw_free(struct nic_mw *mw)
{
	struct device *d = mw->pd->user->device;
	int r = device_check(d);

	if (r)
		return r;
	device_enter(d);
	r = remove_window(d, mw->key);
	if (!r) {
		device_return_key(d, mw->key);
		mw->pd->n_users--;
	}
	device_leave(d);
	if (r)
		return nic_fail(-r, "the window stays: %s", strerror(-r));
	free(mw);
	return 0;
}

uint32_t nic_mw_key(struct nic_mw *mw)
{
	struct device *d = mw->pd->user->device;

	if (device_check(d))
		return 0;
	device_enter(d);
	uint32_t key = mw_key(mw);

	device_leave(d);
	return key;
}
