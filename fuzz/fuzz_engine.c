/* Any packets into a connected queue pair of a transport with work out: every packet is counted
 * once, the laws of engine/engine.h hold, completions come once and in order, and nothing outside
 * the region is touched. The engine, its table, its queue pair, the region and each packet have
 * blocks of their own size. A queue pair that failed is connected anew. */
#include "engine_target.h"

#include <errno.h>

static uint64_t count(const struct engine *e)
{
	const struct transport *t = ENGINE_TARGET.row;
	const uint64_t *counts = e->ops->count(e);

	must(counts[t->count_rx] == transport_verdicts(t, counts));
	return counts[t->count_rx];
}

/* Payload comes from the region, and padding from the engine. */
static void check(const struct subject *s, const struct tx_pkt *tx)
{
	const struct driven *d = (const struct driven *)s;
	const uint8_t *region = d->region, *end = region + TARGET_BYTES;

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

	must(done->qp == TARGET_QP && done->code <= ENGINE_DONE_RECEIVED);
	must(done->cookie >= d->next_cookie[kind] && done->cookie < d->n_posted[kind]);
	must(kind == 0 || done->cookie == d->next_cookie[1]);
	must(done->status >= 0 && done->status < ENGINE_STATUSES);
	d->next_cookie[kind] = done->cookie + 1;
}

/* The oldest send, or receive, that was not told of, or one behind it, perhaps one that there is
 * not. */
static void cancel(struct subject *s, uint8_t what, uint8_t ahead)
{
	const struct driven *d = driven_of(s);
	uint32_t kind = what % 2;
	const struct op op = {.qp = TARGET_QP,
			      .cookie = d->next_cookie[kind] + ahead % 16u,
			      .code = kind ? ENGINE_RECV : ENGINE_SEND};
	int answer = s->e->ops->cancel(s->e, s->now, &op);

	must(answer == 0 || answer == -EBUSY || answer == -ENOENT);
	must(answer != 0 || op.cookie < d->n_posted[kind]);
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
	if (t->row->pairs->state(s->e, TARGET_QP) != ENGINE_ERROR)
		return;
	/* Flushed: everything has come back. */
	must(d->next_cookie[1] == d->n_posted[1]);
	must(t->connect(s->e, s->now) == 0);
	if (t->check_idle)
		t->check_idle(s->e);
	d->next_cookie[0] = d->n_posted[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct engine_target *t = &ENGINE_TARGET;
	struct subject_ops ops = t->subject;
	struct driven d = {.s.ops = &ops, .region = calloc(1, TARGET_BYTES)};

	ops.count = count;
	ops.check = check;
	ops.post = driven_post;
	ops.cancel = t->row->engine->cancel ? cancel : NULL;
	ops.poll = poll;
	must(d.region != NULL);
	driven_begin(&d, t);
	subject_pull(&d.s);
	subject_run(&d.s, data, size);
	subject_pull(&d.s);
	driven_end(&d);
	free(d.region);
	return 0;
}
