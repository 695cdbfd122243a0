/* Any packets into a connected queue pair of a transport with work out: every packet is counted
 * once, the laws of engine/engine.h hold, completions come once and in order, and nothing outside
 * the region is touched. The engine, its table, its queue pair, the region and each packet have
 * blocks of their own size. A queue pair that failed is connected anew. */
#include "engine_target.h"

static uint64_t count(const struct engine *e)
{
	const struct transport *t = engine_target.row;
	const uint64_t *counts = e->ops->count(e);

	must(counts[t->count_rx] == transport_verdicts(t, counts));
	return counts[t->count_rx];
}

/* Payload comes from the region, and padding from the engine. */
static void check(const struct subject *s, const struct tx_pkt *tx)
{
	const struct driven *d = (const struct driven *)s;
	const uint8_t *region = d->region, *end = region + d->target->region_bytes;

	for (uint32_t i = 0; i < tx->n_body; i++) {
		const uint8_t *at = tx->body[i].at;
		bool is_ours = at >= region && at + tx->body[i].len <= end;

		must(is_ours || (i + 1u == tx->n_body && tx->body[i].len < 4));
	}
	if (d->target->check)
		d->target->check(tx);
}

/* Work that was silent and went well is skipped, never doubled. */
static void take_done(struct driven *d, const struct done *done)
{
	uint32_t kind = done->code == ENGINE_DONE_SENT ? 0 : 1;

	must(done->qp == d->target->number && done->code <= ENGINE_DONE_RECEIVED);
	must(done->cookie >= d->next_cookie[kind] && done->cookie < d->n_posted[kind]);
	must(kind == 0 || done->cookie == d->next_cookie[1]);
	must(done->status >= 0 && done->status < ENGINE_STATUSES);
	d->next_cookie[kind] = done->cookie + 1;
}

static void poll(struct subject *s)
{
	struct driven *d = driven_of(s);
	const struct engine_target *t = d->target;
	struct engine_event events[4];
	struct done done;

	while (s->e->ops->poll(s->e, &done, 1) > 0)
		take_done(d, &done);
	if (t->poll_other)
		t->poll_other(d);
	must(s->e->ops->events(s->e, events, 4) <= 4);
	if (t->row->pairs->state(s->e, t->number) != ENGINE_ERROR)
		return;
	/* Flushed: everything has come back. */
	must(d->next_cookie[1] == d->n_posted[1]);
	must(t->connect(s->e, s->now) == 0);
	if (t->check_idle)
		t->check_idle(s->e);
	d->next_cookie[0] = d->n_posted[0];
}

static void post(struct subject *s, uint8_t what, uint8_t size)
{
	struct driven *d = driven_of(s);
	const struct engine_target *t = d->target;
	/* The region's addresses are not those of the process. */
	struct sge sge = {(void *)(uintptr_t)(t->va + size), 3u * size, t->key};

	if (t->post_other && t->post_other(d, what, size))
		return;
	struct op op = t->op(what, &sge);
	uint32_t kind = op.code == ENGINE_RECV;

	op.cookie = d->n_posted[kind];
	if (s->e->ops->post(s->e, s->now, &op) == 0)
		d->n_posted[kind]++;
}

static void begin(struct driven *d, struct mem *mem, void *pair)
{
	const struct engine_target *t = d->target;
	const void *cfg = t->configure(mem);
	struct mem_entry entry = {.at = d->region,
				  .iova = t->va,
				  .len = t->region_bytes,
				  .key = t->key,
				  .access = t->access};

	d->s.e = malloc(t->row->engine->size(cfg));
	must(d->s.e && mem_add(mem, &entry) == 0);
	d->s.e->ops = t->row->engine;
	must(t->row->engine->init(d->s.e, cfg, 0) == 0);
	must(t->make(d->s.e, pair) == 0 && t->connect(d->s.e, 0) == 0);
	d->s.now = t->start;
	for (uint32_t i = 0; i < t->n_out; i++)
		post(&d->s, t->out[i], t->out_size);
	subject_pull(&d->s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct engine_target *t = &engine_target;
	struct subject_ops ops = t->subject;
	void *table = calloc(1, mem_bytes(4)), *pair = malloc(t->pair_bytes());
	struct driven d = {.s.ops = &ops, .target = t, .region = calloc(1, t->region_bytes)};

	ops.count = count;
	ops.check = check;
	ops.post = post;
	ops.poll = poll;
	must(table && pair && d.region);
	begin(&d, mem_init(table, 4), pair);
	subject_run(&d.s, data, size);
	subject_pull(&d.s);
	must(t->row->pairs->end(d.s.e, t->number) == pair);
	if (t->check_idle)
		t->check_idle(d.s.e);
	free(d.s.e);
	free(pair);
	free(table);
	free(d.region);
	return 0;
}
