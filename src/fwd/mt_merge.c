#include "fwd/mt_merge.h"

#include <string.h>

#include "fwd/mt_parts.h"
#include "wire/aeth.h"
#include "wire/roce.h"

#define CNPS_MOST 255u

/* No source has so many packets out: no repeat of its reaches that far back. Serial order would
 * turn round beyond twice as far. */
#define OUT_MOST (UINT32_C(1) << 22)

void mt_merge_init(struct mt_merge *m, const struct mt_merge_cfg *cfg,
		   struct mt_branch_state *branches)
{
	memset(m, 0, sizeof *m);
	if (cfg->n_branches > 0)
		memset(branches, 0, cfg->n_branches * sizeof *branches);
	m->cfg = *cfg;
	m->branches = branches;
	m->next = cfg->start;
	m->sent = psn24_prev(cfg->start);
	m->over_syndrome = aeth_syndrome(AETH_NAK, AETH_NAK_REMOTE_OPERATION);
	m->congested = MT_NO_BRANCH;
}

/* T-29. What stands in the way of what comes later is the first of them. */
static bool refuses(struct mt_merge *m, const struct mt_data *data, struct mt_step *step)
{
	if (!m->cfg.is_first || (data->is_refused && mt_all_have(m, data->psn)))
		return data->is_refused;
	if (data->is_refused && (!m->is_refusing || psn24_lt(data->psn, m->refused))) {
		m->is_refusing = true;
		m->refused = data->psn;
	}
	if (!m->is_refusing || psn24_lt(data->psn, m->refused))
		return false;
	step->is_refusal = psn24_eq(data->psn, m->refused);
	return true;
}

/* A PSN half the range ahead is no longer above the minimum and must not become the highest. Before
 * anything passed, the minimum is what lies before the start. */
static bool is_above_all(const struct mt_merge *m, psn24 psn)
{
	return (!m->has_highest || psn24_gt(psn, m->highest)) &&
	       (!mt_has_least(m) || psn24_gt(psn, m->least.acked));
}

static void note_highest(struct mt_merge *m, psn24 psn)
{
	if (!is_above_all(m, psn))
		return;
	if (!m->has_highest)
		m->origin = psn;
	m->has_highest = true;
	m->highest = psn;
}

static void count_message(struct mt_merge *m, const struct mt_data *data)
{
	if (!m->cfg.has_start || !psn24_eq(data->psn, m->next))
		return;
	m->next = psn24_next(m->next);
	m->messages += data->ends;
}

/* Shows the request to the branches, unless none can be concerned: most are new and beyond what any
 * branch could lack next. */
static void meet_branches(struct mt_merge *m, const struct mt_passing *passing,
			  struct mt_step *step)
{
	if (!passing->lets_in && !passing->repeats_origin &&
	    (!m->has_lead || mt_all_have(m, passing->psn) ||
	     psn24_gt(passing->psn, psn24_next(m->lead))))
		return;
	mt_survey(m, passing, step);
	if (passing->lets_in)
		mt_note_lead(m, psn24_prev(passing->psn));
	if (mt_has_least(m) && psn24_eq(passing->psn, psn24_next(m->least.acked)))
		m->has_sent_nak = false;
}

/* All have it already, so an answer was lost on the way up: one for a run of them, and one for each
 * that asks (T-16). A source that begins again from the same PSN has not seen that one either. */
static void note_repeat(struct mt_merge *m, const struct mt_data *data, struct mt_step *step)
{
	bool is_repeat = mt_all_have(m, data->psn);
	bool is_in_run = m->in_repeats && psn24_gt(data->psn, m->repeated);

	step->asks_repeat = is_repeat && (!is_in_run || data->asks);
	m->in_repeats = is_repeat;
	m->repeated = data->psn;
}

static enum mt_pass stay_alone(struct mt_merge *m, struct mt_out *out)
{
	m->counts.alone++;
	if (m->is_over)
		mt_up_over(m, out);
	return MT_ALONE;
}

enum mt_pass mt_merge_down(struct mt_merge *m, const struct mt_data *data, struct mt_out *out)
{
	struct mt_step step = mt_step_begin(m);
	struct mt_passing passing = {
		.psn = data->psn,
		.lets_in = m->n_waiting > 0 && m->cfg.has_start && data->begins &&
			   psn24_eq(data->psn, m->next) &&
			   (!m->has_highest || psn24_gt(data->psn, m->highest)),
		.repeats_origin =
			m->n_unknown > 0 && m->has_highest && psn24_eq(data->psn, m->origin),
	};

	*out = (struct mt_out){0};
	/* Who joins later must not find that something has passed that nobody got. */
	if (m->is_over || m->n_live == 0)
		return stay_alone(m, out);
	if (refuses(m, data, &step)) {
		m->counts.refused++;
		mt_up(m, &step, out);
		return MT_REFUSED;
	}
	note_highest(m, data->psn);
	meet_branches(m, &passing, &step);
	if (m->is_over)
		return stay_alone(m, out);
	m->counts.passed++;
	count_message(m, data);
	note_repeat(m, data, &step);
	mt_up(m, &step, out);
	if (data->asks && !mt_all_have(m, data->psn))
		mt_asked_add(m, data->psn);
	return MT_PASS;
}

bool mt_merge_takes(const struct mt_merge *m, uint32_t branch, psn24 psn)
{
	const struct mt_branch_state *b = &m->branches[branch];

	return b->state == MT_LIVE && (!b->has_first || psn24_ge(psn, b->first));
}

/* What an answer says; of a NAK, psn is the one before that it expects. */
struct said {
	bool is_nak;
	psn24 psn;
	uint32_t credits; /* UINT32_MAX: it does not count */
};

static bool read_answer(const struct mt_answer *answer, struct said *said)
{
	const uint8_t type = answer->syndrome >> 5, value = answer->syndrome & 0x1f;

	*said = (struct said){type != AETH_ACK, answer->psn, 0};
	if (type == AETH_ACK) {
		said->credits = aeth_credits(value);
		return true;
	}
	said->psn = psn24_prev(answer->psn);
	return type == AETH_RNR_NAK || (type == AETH_NAK && value <= AETH_NAK_INVALID_RD);
}

/* A minimum that takes the latest of each branch never goes back: what was not sent down must not
 * count, or one forged answer acknowledges what nobody has (T-15, T-26). */
static enum mt_fate judge(const struct mt_merge *m, const struct mt_branch_state *b,
			  const struct said *said)
{
	if (!m->has_highest)
		return MT_BEYOND;
	if (!b->is_known)
		return psn24_le(said->psn, m->highest) ? MT_TAKEN : MT_BEYOND;
	if (psn24_lt(said->psn, b->acked))
		return MT_STALE;
	if (psn24_dist(b->acked, said->psn) > psn24_dist(b->acked, m->highest))
		return MT_BEYOND;
	return psn24_eq(said->psn, b->acked) && !said->is_nak ? MT_REPEATED : MT_TAKEN;
}

/* A node that restarted hears of more than has passed since. Who has that has all that passed, and
 * no more counts (T-26); but for this, a source that repeats one packet at a time would never get
 * on (T-05). */
static void bound_early(const struct mt_merge *m, struct said *said)
{
	if (m->cfg.has_start || said->is_nak || !m->has_highest)
		return;
	if (psn24_gt(said->psn, m->highest) && psn24_dist(m->highest, said->psn) < OUT_MOST)
		said->psn = m->highest;
}

/* Stores an answer that counts. */
static void store(struct mt_merge *m, struct mt_branch_state *b, const struct said *said,
		  const struct mt_answer *answer)
{
	bool is_fatal = b->has_nak && mt_is_fatal(b->nak);
	bool counts = said->credits != UINT32_MAX;
	psn24 limit = psn24_add(answer->msn, counts ? (int32_t)said->credits : 0);

	b->limit = b->is_known ? psn24_max(b->limit, limit) : limit;
	if (!said->is_nak)
		b->is_unbounded = !counts;
	if (!b->is_known || !psn24_eq(said->psn, b->acked)) {
		m->n_unknown -= !b->is_known;
		b->is_known = true;
		b->acked = said->psn;
		b->msn = answer->msn;
		b->has_nak = is_fatal = false; /* it lay at or below this (T-15) */
		b->has_first = b->has_first && psn24_dist(b->first, b->acked) < OUT_MOST;
		mt_note_lead(m, b->acked);
	}
	/* One that failed says so once; an earlier NAK may come after it. */
	if (said->is_nak && !is_fatal) {
		b->has_nak = true;
		b->nak = answer->syndrome;
	}
}

/* An answer that counts changes its branch, and perhaps the minimum. */
static void take_answer(struct mt_merge *m, uint32_t branch, const struct said *said,
			const struct mt_answer *answer, struct mt_step *step)
{
	struct mt_branch_state *b = &m->branches[branch];
	const struct mt_branch_state was = *b;

	store(m, b, said, answer);
	b->passes = 0;
	if (b->is_silent)
		mt_report(m, b, MT_EVENT_ANSWERED);
	b->is_silent = false;
	step->is_new_nak = said->is_nak && answer->syndrome >> 5 == AETH_NAK &&
			   !mt_is_fatal(answer->syndrome) &&
			   !(was.has_nak && psn24_eq(was.acked, b->acked));
	if (m->cfg.ejects && b->has_nak && mt_is_fatal(b->nak)) {
		mt_remove(m, b, MT_EJECTED);
		mt_report(m, b, MT_EVENT_EJECTED);
		mt_survey(m, NULL, step);
	} else if (mt_least_moved(m, &was, b)) {
		mt_survey(m, NULL, step);
	} else if (b->has_nak && mt_has_least(m) && psn24_eq(b->acked, m->least.acked)) {
		step->nak = branch;
	}
}

enum mt_fate mt_merge_answer(struct mt_merge *m, uint32_t branch, const struct mt_answer *answer,
			     struct mt_out *out)
{
	struct mt_step step = mt_step_begin(m);
	enum mt_fate fate = MT_STRANGER;
	struct said said;

	*out = (struct mt_out){0};
	if (branch < m->cfg.n_branches && m->branches[branch].state == MT_LIVE) {
		fate = MT_INVALID;
		if (read_answer(answer, &said)) {
			bound_early(m, &said);
			fate = judge(m, &m->branches[branch], &said);
		}
	}
	m->counts.fates[fate]++;
	if (fate != MT_TAKEN && fate != MT_REPEATED)
		return fate;
	take_answer(m, branch, &said, answer, &step);
	mt_up(m, &step, out);
	return fate;
}

enum mt_fate mt_merge_cnp(struct mt_merge *m, uint32_t branch, struct mt_out *out)
{
	const uint32_t most = m->cfg.cnps_most ? m->cfg.cnps_most : CNPS_MOST;
	enum mt_fate fate = MT_STRANGER;

	*out = (struct mt_out){0};
	if (branch < m->cfg.n_branches && m->branches[branch].state == MT_LIVE)
		fate = m->branches[branch].cnps < most ? MT_TAKEN : MT_INVALID;
	m->counts.fates[fate]++;
	if (fate != MT_TAKEN)
		return fate;
	m->branches[branch].cnps++;
	m->branches[branch].cnps_all++;
	out->opens_window = !m->is_window_open;
	m->is_window_open = true;
	return fate;
}

void mt_merge_window(struct mt_merge *m, struct mt_out *out)
{
	uint32_t most = 0;

	*out = (struct mt_out){0};
	m->is_window_open = false;
	m->congested = MT_NO_BRANCH;
	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		struct mt_branch_state *b = &m->branches[i];

		if (b->cnps > most) {
			most = b->cnps;
			m->congested = i;
		}
		b->cnps_last = b->cnps;
		b->cnps = 0;
	}
	out->has_cnp = most > 0 && !m->is_over;
	m->counts.cnps_up += out->has_cnp;
}

uint32_t mt_merge_most_congested(const struct mt_merge *m)
{
	return m->congested;
}
