#include "scenario/pairs.h"

#include <errno.h>
#include <stdlib.h>

/* A queue pair's memory, in the list of its host's. */
struct pairs_block {
	struct pairs_block *next;
	max_align_t memory[];
};

int pairs_init(struct pairs *p, uint32_t n_hosts)
{
	struct mem_entry all = {
		.len = UINT64_MAX,
		.key = PAIRS_KEY,
		.qp = MEM_ANY_QP,
		.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE,
	};
	void *table = calloc(1, mem_bytes(1 + PAIRS_REAL));

	*p = (struct pairs){.n_hosts = n_hosts};
	if (!table)
		return -ENOMEM;
	p->mem = mem_init(table, 1 + PAIRS_REAL);
	p->blocks = calloc(n_hosts, sizeof(struct pairs_block *));
	return p->blocks ? mem_add(p->mem, &all) : -ENOMEM;
}

void pairs_fini(struct pairs *p)
{
	for (uint32_t h = 0; p->blocks && h < p->n_hosts; h++)
		pairs_forget(p, h);
	free(p->blocks);
	free(p->mem);
}

void *pairs_new(struct pairs *p, uint32_t host, size_t bytes)
{
	struct pairs_block *block = malloc(sizeof *block + bytes);

	if (!block)
		return NULL;
	block->next = p->blocks[host];
	p->blocks[host] = block;
	return block->memory;
}

void pairs_undo(struct pairs *p, uint32_t host)
{
	struct pairs_block *block = p->blocks[host];

	p->blocks[host] = block->next;
	free(block);
}

void pairs_forget(struct pairs *p, uint32_t host)
{
	while (p->blocks[host])
		pairs_undo(p, host);
}

int pairs_receive(struct engine *e, const struct sim_qp *qp, uint32_t n)
{
	const struct op op = {.code = ENGINE_RECV, .qp = qp->qp};
	int error = 0;

	for (uint32_t i = 0; i < n && !error; i++)
		error = e->ops->post(e, qp->now, &op);
	return error;
}
