/* A hash table with open addressing and linear probing; each slot is an entry, so that a key that
 * is found is one place touched. It is at most half full, and an entry that goes leaves no mark:
 * those behind it move up, so lookups never grow longer with the table's age. */
#include "mem/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>

#define MEM_ENTRIES_MAX (UINT32_C(1) << 24)
#define MEM_REMOTE      (MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC)

struct mem {
	uint32_t max, count;
	uint32_t mask;            /* slots - 1; slots is a power of two >= 2 * max */
	uint32_t shift;           /* 32 - log2(slots) */
	struct mem_entry slots[]; /* key 0: free */
};

/* log2 of the number of slots. */
static uint32_t slot_bits(uint32_t max_entries)
{
	return 32 - (uint32_t)__builtin_clz(2 * max_entries - 1);
}

size_t mem_bytes(uint32_t max_entries)
{
	if (max_entries == 0 || max_entries > MEM_ENTRIES_MAX)
		return 0;
	return sizeof(struct mem) + (sizeof(struct mem_entry) << slot_bits(max_entries));
}

struct mem *mem_init(void *memory, uint32_t max_entries)
{
	struct mem *m = memory;

	assert(mem_bytes(max_entries) > 0);
	assert((uintptr_t)memory % alignof(max_align_t) == 0);
	m->max = max_entries;
	m->count = 0;
	m->mask = (UINT32_C(1) << slot_bits(max_entries)) - 1;
	m->shift = 32 - slot_bits(max_entries);
	return m;
}

/* Where the search for a key starts. Keys need not be random in every bit: those of verbs often
 * differ in the upper ones only. The multiplier is 2^32 divided by the golden ratio. */
static uint32_t home(const struct mem *m, uint32_t key)
{
	return key * UINT32_C(0x9e3779b1) >> m->shift;
}

/* The slot of the key, or the free one where it would be. */
static uint32_t seek(const struct mem *m, uint32_t key)
{
	uint32_t i = home(m, key);

	while (m->slots[i].key != key && m->slots[i].key != 0)
		i = (i + 1) & m->mask;
	return i;
}

static struct mem_entry *lookup(struct mem *m, uint32_t key)
{
	struct mem_entry *e = &m->slots[seek(m, key)];

	return key != 0 && e->key == key ? e : NULL;
}

const struct mem_entry *mem_entry(const struct mem *m, uint32_t key)
{
	const struct mem_entry *e = &m->slots[seek(m, key)];

	return key != 0 && e->key == key ? e : NULL;
}

static void insert(struct mem *m, const struct mem_entry *e)
{
	m->slots[seek(m, e->key)] = *e;
}

/* Frees a slot. An entry behind it, before the next free slot, moves into the gap unless its home
 * lies after the gap; what it leaves is the gap then. */
static void erase(struct mem *m, uint32_t gap)
{
	for (uint32_t i = (gap + 1) & m->mask; m->slots[i].key != 0; i = (i + 1) & m->mask) {
		uint32_t from_home = (i - home(m, m->slots[i].key)) & m->mask;

		if (from_home < ((i - gap) & m->mask))
			continue;
		m->slots[gap] = m->slots[i];
		gap = i;
	}
	m->slots[gap] = (struct mem_entry){0};
}

/* Whether len > 0 bytes from va on lie inside the entry, without wrapping. An address before it is
 * at an offset that no entry reaches, as none wraps. */
static bool is_inside(const struct mem_entry *e, uint64_t va, uint64_t len)
{
	uint64_t offset = va - e->iova;

	return offset <= e->len && len <= e->len - offset;
}

/* Whether len bytes from there on reach beyond the last address. */
static bool wraps(uint64_t from, uint64_t len)
{
	return len > 0 && len - 1 > UINT64_MAX - from;
}

static bool is_place_wrong(const struct mem_entry *e)
{
	return wraps(e->iova, e->len) || wraps((uintptr_t)e->at, e->len);
}

int mem_add(struct mem *m, const struct mem_entry *e)
{
	bool is_window = e->kind != MEM_REGION;

	if (e->kind > MEM_WINDOW_2 || is_place_wrong(e))
		return -EINVAL;
	if (e->parent != 0 || e->n_bound != 0 || (is_window && e->len != 0))
		return -EINVAL;
	if (e->key == 0 || lookup(m, e->key))
		return -EEXIST;
	if (m->count == m->max)
		return -ENOSPC;
	struct mem_entry copy = *e;

	copy.qp = MEM_ANY_QP;
	if (is_window)
		copy.access = 0;
	insert(m, &copy);
	m->count++;
	return 0;
}

int mem_change(struct mem *m, const struct mem_entry *to)
{
	struct mem_entry *e = lookup(m, to->key);

	if (!e || e->kind != MEM_REGION)
		return -ENOENT;
	/* A window has the region's bytes and rights as they were when it was bound. */
	if (e->n_bound > 0)
		return -EBUSY;
	if (is_place_wrong(to))
		return -EINVAL;
	e->at = to->at;
	e->iova = to->iova;
	e->len = to->len;
	e->pd = to->pd;
	e->access = to->access;
	return 0;
}

/* Ends what a window was bound to; nothing if it was not. */
static void unbind(struct mem *m, struct mem_entry *window)
{
	if (window->parent != 0) {
		struct mem_entry *region = lookup(m, window->parent);

		assert(region && region->n_bound > 0);
		region->n_bound--;
	}
	window->at = NULL;
	window->iova = window->len = 0;
	window->parent = 0;
	window->qp = MEM_ANY_QP;
	window->access = 0;
}

int mem_remove(struct mem *m, uint32_t key)
{
	struct mem_entry *e = lookup(m, key);

	if (!e)
		return -ENOENT;
	if (e->n_bound > 0)
		return -EBUSY;
	unbind(m, e);
	erase(m, (uint32_t)(e - m->slots));
	m->count--;
	return 0;
}

/* Whether a region of that domain may be bound so. */
static int bind_error(const struct mem_entry *region, uint32_t pd, const struct mem_binding *to)
{
	bool writes = to->access & (MEM_REMOTE_WRITE | MEM_REMOTE_ATOMIC);

	if (!region || region->kind != MEM_REGION)
		return -ENOENT;
	if (region->pd != pd || !(region->access & MEM_BIND) || to->access & ~MEM_REMOTE)
		return -EACCES;
	if (writes && !(region->access & MEM_LOCAL_WRITE))
		return -EACCES;
	return is_inside(region, to->va, to->len) ? 0 : -EINVAL;
}

int mem_bind(struct mem *m, uint32_t window, const struct mem_binding *to)
{
	struct mem_entry *w = lookup(m, window), *region = lookup(m, to->region);

	if (!w || w->kind == MEM_REGION)
		return -ENOENT;
	if (to->new_key == 0 || (to->new_key != window && lookup(m, to->new_key)))
		return -EEXIST;
	int error = to->len > 0 ? bind_error(region, w->pd, to) : 0;

	if (error)
		return error;
	unbind(m, w);
	if (to->len > 0) {
		region->n_bound++;
		w->at = region->at ? region->at + (to->va - region->iova) : NULL;
		w->iova = to->va;
		w->len = to->len;
		w->parent = to->region;
		w->qp = w->kind == MEM_WINDOW_2 ? to->qp : MEM_ANY_QP;
		w->access = to->access;
	}
	if (to->new_key != window) {
		struct mem_entry moved = *w;

		moved.key = to->new_key;
		erase(m, (uint32_t)(w - m->slots));
		insert(m, &moved);
	}
	return 0;
}

enum mem_fault mem_invalidate(struct mem *m, uint32_t key, uint32_t pd, uint32_t qp)
{
	struct mem_entry *e = lookup(m, key);

	if (!e)
		return MEM_NO_KEY;
	if (e->kind != MEM_WINDOW_2)
		return MEM_NO_ACCESS;
	if (e->parent == 0)
		return MEM_NO_KEY;
	if (e->pd != pd || (e->qp != MEM_ANY_QP && e->qp != qp))
		return MEM_NO_DOMAIN;
	unbind(m, e);
	return MEM_OK;
}

enum mem_fault mem_find(const struct mem *m, const struct mem_want *want, uint8_t **at)
{
	*at = NULL;
	if (want->len == 0)
		return MEM_OK;
	const struct mem_entry *e = mem_entry(m, want->key);

	if (!e || (e->kind != MEM_REGION && (want->is_local || e->parent == 0)))
		return MEM_NO_KEY;
	if (e->pd != want->pd || (e->qp != MEM_ANY_QP && e->qp != want->qp))
		return MEM_NO_DOMAIN;
	if (!is_inside(e, want->va, want->len))
		return MEM_NO_RANGE;
	if ((e->access & want->access) != want->access)
		return MEM_NO_ACCESS;
	if (e->at)
		*at = e->at + (want->va - e->iova);
	return MEM_OK;
}

uint32_t mem_count(const struct mem *m)
{
	return m->count;
}
