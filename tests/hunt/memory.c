#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES (3 * HUNT_ENDS + 1 + HUNT_WINDOWS)
#define CANARY  0xa5

int hunt_memory_init(struct hunt_memory *m, const struct hunt_plan *s)
{
	*m = (struct hunt_memory){.plan = s, .table = calloc(1, mem_bytes(ENTRIES))};
	if (!m->table)
		return -ENOMEM;
	m->mem = mem_init(m->table, ENTRIES);
	return 0;
}

static bool is_whole(const uint8_t *at)
{
	for (uint32_t i = 0; i < HUNT_GUARD; i++)
		if (at[i] != CANARY)
			return false;
	return true;
}

const char *hunt_memory_fini(struct hunt_memory *m)
{
	const char *problem = NULL;

	for (uint32_t i = 0; i < m->n_blocks; i++) {
		uint8_t *at = m->blocks[i].memory;

		if (!is_whole(at) || !is_whole(at + HUNT_GUARD + m->blocks[i].bytes))
			problem = "the engine wrote beside a queue's memory";
		free(at);
	}
	free(m->table);
	return problem;
}

/* HUNT_GUARD is a multiple of the strictest alignment. */
void *hunt_memory_block(struct hunt_memory *m, size_t bytes)
{
	uint8_t *at = bytes && m->n_blocks < HUNT_BLOCKS ? malloc(bytes + 2 * HUNT_GUARD) : NULL;

	if (!at)
		return NULL;
	memset(at, CANARY, bytes + 2 * HUNT_GUARD);
	m->blocks[m->n_blocks].memory = at;
	m->blocks[m->n_blocks++].bytes = bytes;
	return at + HUNT_GUARD;
}

static int add_region(struct hunt_memory *m, const struct hunt_arena *a, struct hunt_piece part,
		      uint64_t iova, uint32_t key, uint8_t access)
{
	struct mem_entry entry = {
		.at = a->bytes + part.at,
		.iova = iova,
		.len = part.len,
		.key = key,
		.pd = a->pd,
		.qp = MEM_ANY_QP,
		.access = access,
	};

	return mem_add(m->mem, &entry);
}

/* Addresses of our own work are where the bytes are. */
static int add_local(struct hunt_memory *m, const struct hunt_arena *a)
{
	return add_region(m, a, a->local, (uintptr_t)(a->bytes + a->local.at), a->local_key,
			  MEM_LOCAL_WRITE);
}

static int add_windows(struct hunt_memory *m, uint32_t end)
{
	int error = 0;

	for (uint32_t i = 0; i < m->plan->n_windows && !error; i++) {
		const struct hunt_window *w = &m->plan->windows[i];
		struct mem_entry entry = {
			.key = w->key, .kind = w->kind, .pd = m->plan->arenas[end].pd};

		if (w->end == end)
			error = mem_add(m->mem, &entry);
	}
	return error;
}

int hunt_memory_add_end(struct hunt_memory *m, uint32_t end)
{
	const struct hunt_arena *a = &m->plan->arenas[end];
	int error = add_local(m, a);

	if (!error)
		error = add_region(m, a, a->remote, a->iova, a->remote_key,
				   MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ |
					   MEM_REMOTE_ATOMIC | MEM_BIND);
	if (!error)
		error = add_region(m, a, a->closed, a->iova, a->closed_key, a->closed_access);
	return error ? error : add_windows(m, end);
}

int hunt_memory_add_shared(struct hunt_memory *m, uint32_t host)
{
	return add_local(m, &m->plan->arenas[HUNT_ENDS + host]);
}
