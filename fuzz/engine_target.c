#include "engine_target.h"

void driven_post(struct subject *s, uint8_t what, uint8_t size)
{
	struct driven *d = driven_of(s);
	const struct engine_target *t = d->target;
	/* The region's addresses are not those of the process. */
	struct sge sge = {(void *)(uintptr_t)(TARGET_VA + size), 3u * size, TARGET_KEY};

	if (t->post_other && t->post_other(d, what, size))
		return;
	struct op op = t->op(what, &sge);
	uint32_t kind = op.code == ENGINE_RECV;

	op.cookie = d->n_posted[kind];
	if (s->e->ops->post(s->e, s->now, &op) == 0)
		d->n_posted[kind]++;
}

void driven_begin(struct driven *d, const struct engine_target *t)
{
	struct mem_entry entry = {.at = d->region,
				  .iova = TARGET_VA,
				  .len = TARGET_BYTES,
				  .key = TARGET_KEY,
				  .access = t->access};

	d->target = t;
	d->table = calloc(1, mem_bytes(4));
	d->pair = malloc(t->pair_bytes());
	must(d->table && d->pair);
	struct mem *mem = mem_init(d->table, 4);
	const void *cfg = t->configure(mem);

	d->s.e = malloc(t->row->engine->size(cfg));
	must(d->s.e && mem_add(mem, &entry) == 0);
	d->s.e->ops = t->row->engine;
	must(t->row->engine->init(d->s.e, cfg, 0) == 0);
	must(t->make(d->s.e, d->pair) == 0 && t->connect(d->s.e, 0) == 0);
	d->s.now = t->start;
	for (uint32_t i = 0; i < t->n_out; i++)
		driven_post(&d->s, t->out[i], t->out_size);
}

void driven_end(struct driven *d)
{
	const struct engine_target *t = d->target;

	must(t->row->pairs->end(d->s.e, TARGET_QP) == d->pair);
	if (t->check_idle)
		t->check_idle(d->s.e);
	free(d->s.e);
	free(d->pair);
	free(d->table);
}
