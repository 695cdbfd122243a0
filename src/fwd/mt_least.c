#include "fwd/mt_parts.h"
#include "wire/aeth.h"
#include "wire/roce.h"

#define SILENT_AFTER 4 /* T-19 */

bool mt_is_fatal(uint8_t syndrome)
{
	return syndrome >> 5 == AETH_NAK && syndrome != aeth_syndrome(AETH_NAK, AETH_NAK_SEQUENCE);
}

struct mt_step mt_step_begin(const struct mt_merge *m)
{
	return (struct mt_step){
		.was_known = mt_has_least(m),
		.was = m->least.acked,
		.nak = MT_NO_BRANCH,
	};
}

void mt_report(struct mt_merge *m, struct mt_branch_state *b, enum mt_event event)
{
	m->n_events += b->events == 0;
	b->events |= (uint8_t)(1u << event);
}

void mt_remove(struct mt_merge *m, struct mt_branch_state *b, enum mt_state state)
{
	if (b->state == MT_WAITING)
		m->n_waiting--;
	if (b->state == MT_LIVE) {
		m->n_live--;
		m->n_unknown -= !b->is_known;
		/* What nobody is there to receive must fail, not seem to arrive (T-19). */
		m->is_over |= m->n_live == 0 && m->has_highest;
	}
	b->state = (uint8_t)state;
	b->cnps = 0;
}

/* A NAK that goes up hides the others of its PSN: the one that ends the group comes first, then
 * the one that makes the source wait, the longest by time, as code 0 is the longest (T-18). */
static bool goes_before(uint8_t nak, uint8_t other)
{
	if (mt_is_fatal(nak) || mt_is_fatal(other))
		return !mt_is_fatal(other);
	if (nak >> 5 != AETH_RNR_NAK)
		return false;
	return other >> 5 != AETH_RNR_NAK || aeth_rnr_ns(nak & 0x1f) > aeth_rnr_ns(other & 0x1f);
}

/* Counts a known live branch into the minimum. */
static void fold(struct mt_merge *m, uint32_t i, struct mt_step *step)
{
	const struct mt_branch_state *b = &m->branches[i];
	struct mt_least *l = &m->least;

	if (l->n_holders == 0 || psn24_lt(b->acked, l->acked)) {
		l->acked = b->acked;
		l->n_holders = 0;
		step->nak = MT_NO_BRANCH;
	}
	if (psn24_eq(b->acked, l->acked)) {
		if (l->n_holders == 0 || psn24_lt(b->msn, l->msn)) {
			l->msn = b->msn;
			l->n_holders = 0;
		}
		l->n_holders += psn24_eq(b->msn, l->msn);
		if (b->has_nak &&
		    (step->nak == MT_NO_BRANCH || goes_before(b->nak, m->branches[step->nak].nak)))
			step->nak = i;
	}
	if (b->is_unbounded)
		return;
	if (l->n_limit == 0 || psn24_lt(b->limit, l->limit)) {
		l->limit = b->limit;
		l->n_limit = 0;
	}
	l->n_limit += psn24_eq(b->limit, l->limit);
}

static void let_in(struct mt_merge *m, struct mt_branch_state *b, psn24 psn)
{
	m->n_waiting--;
	m->n_live++;
	b->state = MT_LIVE;
	b->is_known = b->has_first = true;
	b->first = psn;
	b->acked = psn24_prev(psn);
	b->msn = b->limit = psn24_of(m->messages);
	mt_report(m, b, MT_EVENT_LIVE);
}

/* The PSN that the branch lacks goes down to it: what it said of it is answered, except that it
 * failed; or it says nothing (T-19, T-23). */
static void pass_lacked(struct mt_merge *m, struct mt_branch_state *b)
{
	const unsigned most = m->cfg.silent_after ? m->cfg.silent_after : SILENT_AFTER;

	b->has_nak = b->has_nak && mt_is_fatal(b->nak);
	if (b->passes < UINT8_MAX)
		b->passes++;
	if (b->passes < most || b->is_silent)
		return;
	b->is_silent = true;
	mt_report(m, b, MT_EVENT_SILENT);
	if (!m->cfg.ejects)
		return;
	mt_remove(m, b, MT_EJECTED);
	mt_report(m, b, MT_EVENT_EJECTED);
}

static bool lacks(const struct mt_branch_state *b, const struct mt_passing *passing)
{
	if (!b->is_known)
		return passing->repeats_origin;
	return psn24_eq(psn24_next(b->acked), passing->psn);
}

void mt_survey(struct mt_merge *m, const struct mt_passing *passing, struct mt_step *step)
{
	m->least.n_holders = m->least.n_limit = 0;
	step->nak = MT_NO_BRANCH;
	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		struct mt_branch_state *b = &m->branches[i];

		if (b->state == MT_WAITING && passing && passing->lets_in)
			let_in(m, b, passing->psn);
		if (b->state == MT_LIVE && passing && lacks(b, passing))
			pass_lacked(m, b);
		if (b->state == MT_LIVE && b->is_known)
			fold(m, i, step);
	}
}

bool mt_least_moved(struct mt_merge *m, const struct mt_branch_state *was,
		    const struct mt_branch_state *is)
{
	struct mt_least *l = &m->least;
	const bool held_limit = !was->is_unbounded && psn24_eq(was->limit, l->limit);
	const bool holds_limit = !is->is_unbounded && psn24_eq(is->limit, l->limit);

	if (!mt_has_least(m))
		return false;
	/* The last that was unknown, or one that counts receives after all: a value of its own
	 * comes in. Else values only rise, and the minimum with the last that held it. */
	if (!was->is_known || (was->is_unbounded && !is->is_unbounded))
		return true;
	if (psn24_eq(was->acked, l->acked) && !psn24_eq(is->acked, l->acked))
		l->n_holders -= psn24_eq(was->msn, l->msn);
	if (held_limit && !holds_limit && --l->n_limit == 0)
		return true;
	return l->n_holders == 0;
}
