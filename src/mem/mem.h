/* Memory that queue pairs may touch: regions and windows, each behind a 32-bit key, in protection
 * domains.
 *
 * A key is both the lkey and the rkey of a region. Who makes a key chooses it, at random where a
 * peer must not guess it. The table only finds, checks and forgets: the bytes belong to the
 * application. Invariant: a range that mem_find accepts lies inside one entry that is live, of the
 * asked domain, and grants every asked right. One thread at a time calls this: an engine's. */
#ifndef WEFT_MEM_MEM_H
#define WEFT_MEM_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEM_ANY_QP UINT32_MAX

/* Rights, with the meaning of their namesakes in the verbs (IBTA 10.6.3). */
enum mem_access {
	MEM_LOCAL_WRITE = 1,
	MEM_REMOTE_WRITE = 2,
	MEM_REMOTE_READ = 4,
	MEM_REMOTE_ATOMIC = 8,
	MEM_BIND = 16, /* windows may be bound to it */
};

enum mem_kind {
	MEM_REGION,
	MEM_WINDOW_1, /* bound by the application alone; of a domain */
	MEM_WINDOW_2, /* bound by a work request; of a queue pair, and a peer may invalidate it */
};

/* One entry. Addresses iova ... iova + len - 1 of the peer, and of sge, are bytes at[0 ... len - 1]
 * of ours; at NULL: virtual memory, where what is written is forgotten and zeros are read. */
struct mem_entry {
	uint8_t *at;
	uint64_t iova, len; /* iova + len <= 2^64 */
	uint32_t key, pd;
	uint32_t qp;      /* MEM_WINDOW_2: the one that may use it; else MEM_ANY_QP */
	uint32_t parent;  /* windows: the key of the region; 0: not bound, grants nothing */
	uint32_t n_bound; /* regions: windows bound to it */
	uint8_t kind;     /* enum mem_kind */
	uint8_t access;   /* enum mem_access, ored */
};

/* What a work request or a packet wants to touch. */
struct mem_want {
	uint64_t va, len;
	uint32_t key, pd, qp;
	uint8_t access; /* all of these */
	bool is_local;  /* a key in an sge: windows do not count */
};

enum mem_fault {
	MEM_OK,
	MEM_NO_KEY,    /* unknown, or a window that is not bound */
	MEM_NO_DOMAIN, /* of another protection domain or queue pair */
	MEM_NO_RANGE,  /* not inside, or it wraps */
	MEM_NO_ACCESS, /* a right is missing */
};

struct mem;

/* The bytes a table of so many entries needs, at max_align_t; 0: none, or too many. Memory of
 * entries never used is never touched. */
size_t mem_bytes(uint32_t max_entries);

/* Makes an empty table in that memory, which must be zero, as the operating system gives it. */
struct mem *mem_init(void *memory, uint32_t max_entries);

/* Adds an entry: a region, or a window without its binding (parent 0, len 0; no rights yet). Copies
 * it, but for qp: nothing is of a queue pair before mem_bind. 0, -ENOSPC, -EEXIST when the key is
 * in use or 0, -EINVAL for addresses that wrap, an unknown kind, or what is bound already. */
int mem_add(struct mem *m, const struct mem_entry *e);

/* Gives the region of to's key its bytes, addresses, rights and domain in place of what it had; who
 * has the key keeps it. 0, or with nothing changed: -ENOENT for a key that is no region, -EBUSY
 * while a window is bound to it, -EINVAL for addresses that wrap. */
int mem_change(struct mem *m, const struct mem_entry *to);

/* Takes an entry out; later uses of its key find nothing. 0, -ENOENT, -EBUSY while a window is
 * bound to it. A bound window is unbound first. */
int mem_remove(struct mem *m, uint32_t key);

/* Binds a window to part of a region, replacing what it was bound to; new_key replaces its key and
 * may be equal to it. to->len 0 unbinds: only new_key counts then. 0, or with nothing changed:
 * -ENOENT for a key that is no window, or no region; -EEXIST for a new key in use or 0; -EACCES
 * when the region is of another domain, does not allow MEM_BIND, or a right is not to be had: only
 * remote ones are, and writing and atomics need the region's MEM_LOCAL_WRITE (IBTA 10.6.7.2);
 * -EINVAL out of its range. */
struct mem_binding {
	uint64_t va, len;
	uint32_t region, new_key, qp; /* qp: MEM_WINDOW_2 only */
	uint8_t access;
};
int mem_bind(struct mem *m, uint32_t window, const struct mem_binding *to);

/* A window of type 2 loses its binding, by a peer's wish or a work request's: MEM_OK, MEM_NO_KEY,
 * MEM_NO_DOMAIN when it is not of that domain and queue pair, MEM_NO_ACCESS for what cannot be
 * invalidated: a region, a window of type 1. */
enum mem_fault mem_invalidate(struct mem *m, uint32_t key, uint32_t pd, uint32_t qp);

/* Whether want may be touched; if so, *at is where it starts (NULL: virtual). A want of no bytes is
 * always MEM_OK: its key is not looked at (IBTA 9.7.4.1.3, C9-88). */
enum mem_fault mem_find(const struct mem *m, const struct mem_want *want, uint8_t **at);

/* The entry of that key, or NULL. It may move with the next change of the table. */
const struct mem_entry *mem_entry(const struct mem *m, uint32_t key);

uint32_t mem_count(const struct mem *m);

#endif
