#include <errno.h>
#include <string.h>

#include "fwd/mt_parts.h"

int mt_merge_join(struct mt_merge *m, uint32_t branch)
{
	if (branch >= m->cfg.n_branches)
		return -EINVAL;
	struct mt_branch_state *b = &m->branches[branch];

	if (b->state != MT_FREE)
		return -EBUSY;
	if (m->is_over)
		return -ESHUTDOWN;
	if (m->has_highest && !m->cfg.has_start)
		return -EOPNOTSUPP;
	if (m->has_highest) {
		b->state = MT_WAITING;
		m->n_waiting++;
		return 0;
	}
	struct mt_step step = mt_step_begin(m);

	b->state = MT_LIVE;
	m->n_live++;
	if (m->cfg.has_start) {
		b->is_known = true;
		b->acked = psn24_prev(m->cfg.start);
		mt_note_lead(m, b->acked);
	} else {
		m->n_unknown++;
	}
	mt_survey(m, NULL, &step);
	return 0;
}

int mt_merge_leave(struct mt_merge *m, uint32_t branch, struct mt_out *out)
{
	struct mt_step step = mt_step_begin(m);

	*out = (struct mt_out){0};
	if (branch >= m->cfg.n_branches)
		return -EINVAL;
	struct mt_branch_state *b = &m->branches[branch];

	if (b->state == MT_FREE)
		return -ENOENT;
	mt_remove(m, b, MT_FREE);
	mt_report(m, b, MT_EVENT_LEFT);
	*b = (struct mt_branch_state){.events = b->events};
	if (m->congested == branch)
		m->congested = MT_NO_BRANCH;
	mt_survey(m, NULL, &step);
	mt_up(m, &step, out);
	return 0;
}

int mt_merge_eject(struct mt_merge *m, uint32_t branch, struct mt_out *out)
{
	struct mt_step step = mt_step_begin(m);

	*out = (struct mt_out){0};
	if (branch >= m->cfg.n_branches)
		return -EINVAL;
	struct mt_branch_state *b = &m->branches[branch];

	if (b->state != MT_LIVE && b->state != MT_WAITING)
		return -ENOENT;
	mt_remove(m, b, MT_EJECTED);
	mt_report(m, b, MT_EVENT_EJECTED);
	mt_survey(m, NULL, &step);
	mt_up(m, &step, out);
	return 0;
}

uint32_t mt_merge_holder(const struct mt_merge *m, uint32_t *behind)
{
	*behind = 0;
	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		const struct mt_branch_state *b = &m->branches[i];

		if (b->state != MT_LIVE)
			continue;
		if (m->n_unknown > 0 && !b->is_known)
			return i;
		if (m->n_unknown > 0 || !psn24_eq(b->acked, m->least.acked))
			continue;
		if (m->has_highest)
			*behind = psn24_dist(b->acked, m->highest);
		return i;
	}
	return MT_NO_BRANCH;
}

bool mt_merge_event(struct mt_merge *m, uint32_t *branch, enum mt_event *event)
{
	for (uint32_t i = 0; m->n_events > 0 && i < m->cfg.n_branches; i++) {
		struct mt_branch_state *b = &m->branches[i];
		unsigned bit = 0;

		if (b->events == 0)
			continue;
		while (!(b->events >> bit & 1))
			bit++;
		b->events &= (uint8_t) ~(1u << bit);
		m->n_events -= b->events == 0;
		*branch = i;
		*event = (enum mt_event)bit;
		return true;
	}
	return false;
}
