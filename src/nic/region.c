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

struct nic_mr *nic_mr_new(struct nic_pd *pd, const struct nic_mr_spec *spec)
{
	struct device *d = pd->user->device;
	struct mem_entry entry = {
		.at = spec->at,
		.iova = spec->iova,
		.len = spec->len,
		.kind = MEM_REGION,
		.access = spec->access,
	};
	int r = device_check(d);

	if (!r && is_access_wrong(spec->access))
		r = nic_fail(EINVAL, "remote writes and atomics need local write, too");
	/* Without an address the table takes a region for virtual memory, that nobody has. */
	if (!r && !spec->at && spec->len)
		r = nic_fail(EFAULT, "a region at address 0");
	struct nic_mr *mr = r ? NULL : calloc(1, sizeof *mr);

	if (!mr) {
		errno = r ? -r : ENOMEM;
		return NULL;
	}
	device_enter(d);
	r = add_entry(pd, &entry);
	device_leave(d);
	if (r) {
		free(mr);
		errno = -r;
		return NULL;
	}
	mr->pd = pd;
	mr->key = entry.key;
	return mr;
}

/* Packets are placed, and read for sending, only with the lock held, and the key is looked up for
 * each: once it is out of the table and the lock was ours, nobody is left who has the address. */
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
	struct device *d = pd->user->device;
	struct mem_entry entry = {.kind = (uint8_t)kind};
	int r = device_check(d);

	if (!r && kind != MEM_WINDOW_1 && kind != MEM_WINDOW_2)
		r = nic_fail(EINVAL, "no such kind of window");
	struct nic_mw *mw = r ? NULL : calloc(1, sizeof *mw);

	if (!mw) {
		errno = r ? -r : ENOMEM;
		return NULL;
	}
	device_enter(d);
	r = add_entry(pd, &entry);
	device_leave(d);
	if (r) {
		free(mw);
		errno = -r;
		return NULL;
	}
	mw->pd = pd;
	mw->kind = (uint8_t)kind;
	mw->key = entry.key;
	return mw;
}

/* The key in the table changes when a bind is executed, not when it was posted: the one it has now
 * is any of those that share the upper bits, and no other entry does. */
static int remove_window(struct device *d, uint32_t key)
{
	for (uint32_t low = 0; low < 256; low++) {
		int r = mem_remove(d->mem, (key & ~UINT32_C(255)) | low);

		if (r != -ENOENT)
			return r;
	}
	return -ENOENT;
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

uint32_t nic_mw_key(const struct nic_mw *mw)
{
	return atomic_load(&mw->key);
}

uint32_t nic_mw_next_key(const struct nic_mw *mw)
{
	uint32_t key = nic_mw_key(mw);

	return (key & ~UINT32_C(255)) | ((key + 1) & 255);
}

void nic_mw_set_key(struct nic_mw *mw, uint32_t key)
{
	atomic_store(&mw->key, key);
}
