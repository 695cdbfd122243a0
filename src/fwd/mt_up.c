#include "fwd/mt_parts.h"
#include "wire/aeth.h"
#include "wire/roce.h"

static psn24 *asked_at(struct mt_merge *m, uint32_t i)
{
	return &m->asked[(m->asked_head + i) % MT_ASKED];
}

void mt_asked_add(struct mt_merge *m, psn24 psn)
{
	uint32_t i = m->n_asked;

	/* Nearly always it is above all others. */
	while (i > 0 && psn24_gt(*asked_at(m, i - 1), psn))
		i--;
	if (i > 0 && psn24_eq(*asked_at(m, i - 1), psn))
		return;
	if (m->n_asked == MT_ASKED) {
		/* The last stays the highest of all: what is lost lies below it, and until it is
		 * acknowledged every advance counts as asked for. */
		m->asked_overflowed = true;
		if (i == MT_ASKED)
			*asked_at(m, MT_ASKED - 1) = psn;
		return;
	}
	for (uint32_t n = m->n_asked++; n > i; n--)
		*asked_at(m, n) = *asked_at(m, n - 1);
	*asked_at(m, i) = psn;
}

/* Everything up to the minimum is acknowledged by what goes up. */
static void note_sent(struct mt_merge *m)
{
	m->has_sent = true;
	m->sent = m->least.acked;
	m->sent_msn = m->least.msn;
	while (m->n_asked > 0 && psn24_le(*asked_at(m, 0), m->sent)) {
		m->asked_head = (m->asked_head + 1) % MT_ASKED;
		m->n_asked--;
	}
	m->asked_overflowed &= m->n_asked > 0;
}

/* The messages that the scarcest receiver has receives for, beyond the MSN that is said with it. */
static uint8_t credit_code(const struct mt_merge *m)
{
	int32_t n = psn24_diff(m->least.limit, m->least.msn);

	if (m->least.n_limit == 0)
		return AETH_NO_CREDITS;
	return aeth_credit_code(n > 0 ? (uint32_t)n : 0);
}

static psn24 limit_of(const struct mt_merge *m, uint8_t code)
{
	return psn24_add(m->least.msn, (int32_t)aeth_credits(code));
}

static bool is_all_had(const struct mt_merge *m)
{
	return m->has_highest && psn24_eq(m->least.acked, m->highest);
}

/* A source that waits for credits has nothing in flight that would bring an answer (T-16). One that
 * has is not short of them while more than half remains of what was said last, and needs no answer
 * for each message that a receiver, each in its own phase, completes. */
static bool limit_rises(const struct mt_merge *m)
{
	if (!m->has_sent_limit || m->sent_unbounded)
		return false;
	if (m->least.n_limit == 0)
		return true;
	if (!psn24_gt(m->least.limit, m->sent_limit) && !psn24_gt(m->least.msn, m->sent_limit))
		return false;
	uint8_t code = credit_code(m);
	int32_t left = psn24_diff(m->sent_limit, m->least.msn);

	return psn24_gt(limit_of(m, code), m->sent_limit) &&
	       (is_all_had(m) || left <= (int32_t)(aeth_credits(code) / 2));
}

static void send_ack(struct mt_merge *m, struct mt_out *out)
{
	uint8_t code = credit_code(m);

	out->has_answer = true;
	out->answer = (struct mt_answer){
		.psn = m->least.acked,
		.syndrome = aeth_syndrome(AETH_ACK, code),
		.msn = m->least.msn,
	};
	m->has_sent_limit = true;
	m->sent_unbounded = code == AETH_NO_CREDITS;
	if (!m->sent_unbounded)
		m->sent_limit = limit_of(m, code);
	m->counts.acks_up++;
	note_sent(m);
}

static void send_nak(struct mt_merge *m, uint8_t syndrome, struct mt_out *out)
{
	out->has_answer = true;
	out->answer = (struct mt_answer){
		.psn = psn24_next(m->least.acked),
		.syndrome = syndrome,
		.msn = m->least.msn,
	};
	m->has_sent_nak = true;
	m->counts.naks_up++;
	note_sent(m);
}

static void send_branch_nak(struct mt_merge *m, uint32_t branch, struct mt_out *out)
{
	struct mt_branch_state *b = &m->branches[branch];

	send_nak(m, b->nak, out);
	if (!mt_is_fatal(b->nak))
		return;
	m->is_over = true;
	m->over_syndrome = b->nak;
	mt_report(m, b, MT_EVENT_FAILED);
}

/* Each receiver coalesces as it likes: what the source waits for is an answer to what asked for
 * one, or to all that it has sent (T-34). */
static bool is_awaited(struct mt_merge *m)
{
	return m->asked_overflowed ||
	       (m->n_asked > 0 && psn24_le(*asked_at(m, 0), m->least.acked)) || is_all_had(m);
}

void mt_up(struct mt_merge *m, const struct mt_step *step, struct mt_out *out)
{
	if (m->is_over || !mt_has_least(m))
		return;
	bool has_moved = !step->was_known || !psn24_eq(step->was, m->least.acked);
	bool is_refused = m->is_refusing && psn24_eq(psn24_next(m->least.acked), m->refused);

	if (has_moved)
		m->has_sent_nak = false;
	if (is_refused && (has_moved || step->is_refusal))
		send_nak(m, aeth_syndrome(AETH_NAK, AETH_NAK_INVALID_REQUEST), out);
	else if (step->nak != MT_NO_BRANCH && !m->has_sent_nak)
		send_branch_nak(m, step->nak, out);
	else if (step->is_new_nak && m->cfg.as_printed && !m->has_sent_nak)
		send_nak(m, aeth_syndrome(AETH_NAK, AETH_NAK_SEQUENCE), out);
	else if ((has_moved && is_awaited(m)) || step->asks_repeat || limit_rises(m))
		send_ack(m, out);
}

void mt_up_over(struct mt_merge *m, struct mt_out *out)
{
	if (!m->has_sent && !m->cfg.has_start)
		return;
	out->has_answer = true;
	out->answer = (struct mt_answer){
		.psn = psn24_next(m->sent),
		.syndrome = m->over_syndrome,
		.msn = m->sent_msn,
	};
	m->counts.naks_up++;
}
