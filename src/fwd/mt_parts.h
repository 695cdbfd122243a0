/* What the parts of mt_merge share, and nobody else includes: the minimum over the branches
 * (mt_least.c) and what goes up (mt_up.c). */
#ifndef WEFT_FWD_MT_PARTS_H
#define WEFT_FWD_MT_PARTS_H

#include "fwd/mt_merge.h"

/* An input at work. */
struct mt_step {
	bool was_known; /* the minimum was, before: */
	psn24 was;
	uint32_t nak;     /* branch that holds the minimum and whose NAK goes first; MT_NO_BRANCH */
	bool asks_repeat; /* an ACK is due for what all have already */
	bool is_new_nak;  /* a sequence NAK came that did not wait yet */
	bool is_refusal;  /* the refused PSN came */
};

/* Whether the minimum is known. */
static inline bool mt_has_least(const struct mt_merge *m)
{
	return m->n_live > 0 && m->n_unknown == 0;
}

/* Whether all live branches have that PSN. */
static inline bool mt_all_have(const struct mt_merge *m, psn24 psn)
{
	return mt_has_least(m) && psn24_le(psn, m->least.acked);
}

/* Only the receiver's own failure, which repeating does not mend. */
bool mt_is_fatal(uint8_t syndrome);

static inline void mt_note_lead(struct mt_merge *m, psn24 acked)
{
	if (!m->has_lead || psn24_gt(acked, m->lead))
		m->lead = acked;
	m->has_lead = true;
}

struct mt_step mt_step_begin(const struct mt_merge *m);

/* A request that passes, as branches see it. */
struct mt_passing {
	psn24 psn;
	bool lets_in; /* waiting branches become live with it */
	bool repeats_origin;
};

/* Looks at all branches once: those that a request (NULL: none) meets are changed as it says, some
 * perhaps given up; the minimum of those that are then live is taken, and step->nak. */
void mt_survey(struct mt_merge *m, const struct mt_passing *passing, struct mt_step *step);

/* A branch has become what it is from what it was. True: the minimum must be taken anew. */
bool mt_least_moved(struct mt_merge *m, const struct mt_branch_state *was,
		    const struct mt_branch_state *is);

/* Reports an event of a branch. */
void mt_report(struct mt_merge *m, struct mt_branch_state *b, enum mt_event event);

/* Takes a member out of the counts, and gives it that state. The minimum is not touched. */
void mt_remove(struct mt_merge *m, struct mt_branch_state *b, enum mt_state state);

/* Says what goes up after an input, and takes note of it. */
void mt_up(struct mt_merge *m, const struct mt_step *step, struct mt_out *out);

/* Answers a request of a group that is over: the source is not left to its timeouts. */
void mt_up_over(struct mt_merge *m, struct mt_out *out);

/* Notes that a PSN asked for an answer (T-34). */
void mt_asked_add(struct mt_merge *m, psn24 psn);

#endif
