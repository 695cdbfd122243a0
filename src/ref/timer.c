/* Retransmission timers of all queue pairs: a heap, so that the first deadline is at hand. An
 * acknowledgement only moves `due`; the heap keeps the older `wake` and looks again when that has
 * come, which spares the common case any work here. */
#include <errno.h>

#include "ref/state.h"

static struct ref_qp *at(const struct ref *r, uint32_t i)
{
	return &r->qps[r->timers[i]];
}

static void place(struct ref *r, uint32_t i, struct ref_qp *q)
{
	r->timers[i] = q->num;
	q->timer_at = i;
}

/* Puts q where place i is free, moving others up or down until the heap is in order again. */
static void settle(struct ref *r, uint32_t i, struct ref_qp *q)
{
	while (i > 0 && at(r, (i - 1) / 2)->wake > q->wake) {
		place(r, i, at(r, (i - 1) / 2));
		i = (i - 1) / 2;
	}
	for (uint32_t child; (child = 2 * i + 1) < r->n_timers; i = child) {
		if (child + 1 < r->n_timers && at(r, child + 1)->wake < at(r, child)->wake)
			child++;
		if (at(r, child)->wake >= q->wake)
			break;
		place(r, i, at(r, child));
	}
	place(r, i, q);
}

void ref_timer_start(struct ref *r, struct ref_qp *q, nsec now)
{
	q->due = now + (r->cfg.rto_ns << q->tries);
	if (q->timer_at != REF_NONE && q->wake <= q->due)
		return;
	q->wake = q->due;
	settle(r, q->timer_at != REF_NONE ? q->timer_at : r->n_timers++, q);
}

void ref_timer_stop(struct ref *r, struct ref_qp *q)
{
	uint32_t i = q->timer_at;

	if (i == REF_NONE)
		return;
	struct ref_qp *last = at(r, --r->n_timers);

	q->timer_at = REF_NONE;
	if (last != q)
		settle(r, i, last);
}

/* Everything that is out and not acknowledged is taken for lost. */
static void time_out(struct ref *r, struct ref_qp *q, nsec now)
{
	uint32_t out = (uint32_t)(q->next - q->una);

	/* Counted also when what was lost before has not left yet: a port that stays shut must not
	 * keep a queue pair for ever. */
	r->count.timeouts++;
	if (q->tries == r->cfg.retries) {
		r->count.failed++;
		q->failed = true;
		q->una = q->end = q->next;
		q->op_next = REF_NONE;
		window_clear(&q->acked);
		window_clear(&q->lost);
		q->n_acked = 0;
		q->n_lost = 0;
		while (q->op_head != REF_NONE)
			ref_complete(r, q, -ETIMEDOUT);
		ref_timer_stop(r, q);
		return;
	}
	q->tries++;
	for (uint32_t i = window_next_hole(&q->acked, 0); i < out;
	     i = window_next_hole(&q->acked, i + 1)) {
		q->n_lost += !window_test(&q->lost, i);
		window_set(&q->lost, i);
		q->sent[(q->una + i) & r->slot_mask].timed_out = true;
	}
	ref_timer_start(r, q, now);
	ref_wake(r, q);
}

void ref_timers_run(struct ref *r, nsec now)
{
	while (r->n_timers > 0 && at(r, 0)->wake <= now) {
		struct ref_qp *q = at(r, 0);

		if (q->due > now) {
			q->wake = q->due;
			settle(r, 0, q);
		} else {
			time_out(r, q, now);
		}
	}
}
