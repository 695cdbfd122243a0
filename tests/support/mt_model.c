/* See mt_model.h. Each function reads as the rule that it states. */
#include "mt_model.h"

#include <errno.h>
#include <string.h>

#define MOST_OUT  (1 << 22) /* packets that a source has out */
#define ACK_TYPE  0u
#define RNR_TYPE  1u
#define NAK_TYPE  3u
#define TYPE(s)   ((s) >> 5 & 3)
#define VALUE(s)  ((s)&31u)
#define UNLIMITED 31u
#define SEQUENCE  0x60u
#define INVALID   0x61u
#define REMOTE_OP 0x63u

static psn24 wire(int64_t psn)
{
	return psn24_of((uint32_t)(uint64_t)psn);
}

/* IBTA table 49, as it is printed. */
static const uint16_t credits_of[31] = {0,    1,    2,    3,     4,     6,     8,    12,
					16,   24,   32,   48,    64,    96,    128,  192,
					256,  384,  512,  768,   1024,  1536,  2048, 3072,
					4096, 6144, 8192, 12288, 16384, 24576, 32768};

static bool is_live(const struct mt_model_branch *b)
{
	return b->state == MT_LIVE;
}

static bool is_member(const struct mt_model_branch *b)
{
	return is_live(b) || b->state == MT_WAITING;
}

static bool any_live(const struct mt_model *m)
{
	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		if (is_live(&m->branch[i]))
			return true;
	}
	return false;
}

static void tell(struct mt_model_branch *b, enum mt_event event)
{
	b->events |= 1u << event;
}

bool mt_model_minimum(const struct mt_model *m, int64_t *psn)
{
	*psn = INT64_MAX;
	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		const struct mt_model_branch *b = &m->branch[i];

		if (is_live(b) && !b->is_known)
			return false;
		if (is_live(b) && b->acked < *psn)
			*psn = b->acked;
	}
	return *psn != INT64_MAX;
}

/* The least MSN of those that hold the minimum. */
static int64_t msn_up(const struct mt_model *m, int64_t minimum)
{
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		const struct mt_model_branch *b = &m->branch[i];

		if (is_live(b) && b->acked == minimum && b->msn < least)
			least = b->msn;
	}
	return least;
}

/* The credit code for an ACK that says so many messages (T-18). */
static uint8_t code_up(const struct mt_model *m, int64_t msn)
{
	int64_t least = INT64_MAX;
	uint8_t code = 0;

	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		const struct mt_model_branch *b = &m->branch[i];

		if (is_live(b) && !b->is_unbounded && b->limit - msn < least)
			least = b->limit - msn;
	}
	if (least == INT64_MAX)
		return UNLIMITED;
	for (uint8_t c = 0; c < UNLIMITED; c++) {
		if (credits_of[c] <= least)
			code = c;
	}
	return code;
}

/* How urgent a NAK is among those of one PSN: fatal, then RNR by its time, then sequence. */
static int urgency(uint8_t syndrome)
{
	if (TYPE(syndrome) == NAK_TYPE)
		return VALUE(syndrome) == 0 ? 1 : 100;
	return VALUE(syndrome) == 0 ? 50 : 10 + (int)VALUE(syndrome);
}

static bool is_fatal(uint8_t syndrome)
{
	return urgency(syndrome) == 100;
}

/* The branch whose NAK goes up next; NULL: none waits at the minimum. */
static struct mt_model_branch *first_nak(struct mt_model *m, int64_t minimum)
{
	struct mt_model_branch *best = NULL;

	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		struct mt_model_branch *b = &m->branch[i];

		if (is_live(b) && b->has_nak && b->acked == minimum &&
		    (!best || urgency(b->nak) > urgency(best->nak)))
			best = b;
	}
	return best;
}

static void forget_asked(struct mt_model *m)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < m->n_asked; i++) {
		if (m->asked[i] > m->told)
			m->asked[kept++] = m->asked[i];
	}
	m->n_asked = kept;
	if (kept == 0)
		m->overflowed = false;
}

static void send_up(struct mt_model *m, struct mt_out *out, int64_t minimum, uint8_t syndrome)
{
	bool is_ack = TYPE(syndrome) == ACK_TYPE;

	m->told_msn = msn_up(m, minimum);
	out->has_answer = true;
	out->answer = (struct mt_answer){wire(is_ack ? minimum : minimum + 1), syndrome,
					 wire(m->told_msn)};
	m->has_told = true;
	m->told = minimum;
	forget_asked(m);
	if (!is_ack) {
		m->counts.naks_up++;
		m->has_nak_told = true;
		m->nak_told = minimum + 1;
		return;
	}
	m->counts.acks_up++;
	m->is_limit_told = true;
	m->told_unbounded = VALUE(syndrome) == UNLIMITED;
	m->told_limit = m->told_unbounded ? 0 : m->told_msn + credits_of[VALUE(syndrome)];
}

/* What the input at hand was, as far as it matters for what goes up. */
struct cause {
	bool had;           /* the minimum was known before it */
	int64_t before;     /* then this */
	bool wants_ack;     /* a repeat that is answered */
	bool wants_refusal; /* the refused request, once more */
	bool has_new_nak;   /* a sequence NAK that did not wait yet */
};

static bool asked_passed(const struct mt_model *m, int64_t minimum)
{
	for (unsigned i = 0; i < m->n_asked; i++) {
		if (m->asked[i] <= minimum)
			return true;
	}
	return false;
}

/* A higher limit goes up by itself only where the source may be short of credits: it waits for the
 * last that it sent, or has used half of what it was told. */
static bool limit_rises(const struct mt_model *m, int64_t minimum)
{
	int64_t msn = msn_up(m, minimum);
	uint8_t code = code_up(m, msn);

	if (!m->is_limit_told || m->told_unbounded)
		return false;
	if (code == UNLIMITED)
		return true;
	if (msn + credits_of[code] <= m->told_limit)
		return false;
	return (m->has_passed && minimum == m->highest) ||
	       2 * (m->told_limit - msn) <= credits_of[code];
}

/* Sends the NAK that is due; false: none is. */
static bool nak_up(struct mt_model *m, struct mt_out *out, int64_t minimum,
		   const struct cause *cause)
{
	struct mt_model_branch *b = first_nak(m, minimum);
	bool is_told = m->has_nak_told && m->nak_told == minimum + 1;

	if (m->is_refusing && m->refused == minimum + 1 &&
	    (!m->is_refusal_told || cause->wants_refusal)) {
		send_up(m, out, minimum, INVALID);
		m->is_refusal_told = true;
		return true;
	}
	if (is_told || (!b && !cause->has_new_nak))
		return false;
	send_up(m, out, minimum, b ? b->nak : SEQUENCE);
	if (b && is_fatal(b->nak)) {
		tell(b, MT_EVENT_FAILED);
		m->is_over = true;
		m->over_by = b->nak;
	}
	return true;
}

static struct cause cause_of(const struct mt_model *m)
{
	struct cause cause = {0};

	cause.had = mt_model_minimum(m, &cause.before);
	return cause;
}

/* The one decision at the end of each input: NAK, ACK, or nothing. */
static void decide(struct mt_model *m, struct mt_out *out, const struct cause *cause)
{
	int64_t minimum;

	if (m->is_over || !mt_model_minimum(m, &minimum))
		return;
	bool rose = !cause->had || minimum > cause->before;

	if (rose)
		m->has_nak_told = false;
	if (nak_up(m, out, minimum, cause))
		return;
	bool advance = rose && m->has_passed &&
		       (m->overflowed || asked_passed(m, minimum) || minimum == m->highest);

	if (advance || cause->wants_ack || (m->has_told && limit_rises(m, minimum)))
		send_up(m, out, minimum, code_up(m, msn_up(m, minimum)));
}

void mt_model_init(struct mt_model *m, const struct mt_merge_cfg *cfg, int64_t start)
{
	memset(m, 0, sizeof(*m));
	m->cfg = *cfg;
	m->is_counted = cfg->has_start;
	m->next = start;
	if (cfg->silent_after == 0)
		m->cfg.silent_after = 4;
	if (cfg->cnps_most == 0)
		m->cfg.cnps_most = 255;
	m->over_by = REMOTE_OP;
	m->congested = MT_NO_BRANCH;
}

static void make_known(struct mt_model *m, struct mt_model_branch *b)
{
	b->is_known = true;
	b->acked = m->next - 1;
	b->msn = b->limit = m->messages;
}

int mt_model_join(struct mt_model *m, uint32_t branch)
{
	if (branch >= m->cfg.n_branches)
		return -EINVAL;
	struct mt_model_branch *b = &m->branch[branch];

	if (b->state != MT_FREE)
		return -EBUSY;
	if (m->is_over)
		return -ESHUTDOWN;
	if (m->has_passed && !m->is_counted)
		return -EOPNOTSUPP;
	*b = (struct mt_model_branch){.events = b->events};
	b->state = m->has_passed ? MT_WAITING : MT_LIVE;
	if (!m->has_passed && m->is_counted)
		make_known(m, b);
	return 0;
}

/* Whoever waits cannot stand for those that went: nobody has what only they were sent. */
static void check_over(struct mt_model *m)
{
	if (m->has_passed && !any_live(m))
		m->is_over = true;
}

static void give_up(struct mt_model *m, struct mt_model_branch *b)
{
	b->state = MT_EJECTED;
	b->cnps = 0;
	tell(b, MT_EVENT_EJECTED);
	check_over(m);
}

int mt_model_leave(struct mt_model *m, uint32_t branch, struct mt_out *out)
{
	memset(out, 0, sizeof(*out));
	if (branch >= m->cfg.n_branches)
		return -EINVAL;
	if (m->branch[branch].state == MT_FREE)
		return -ENOENT;
	struct cause cause = cause_of(m);

	m->branch[branch].state = MT_FREE;
	m->branch[branch].cnps = 0;
	if (m->congested == branch)
		m->congested = MT_NO_BRANCH;
	tell(&m->branch[branch], MT_EVENT_LEFT);
	check_over(m);
	decide(m, out, &cause);
	return 0;
}

int mt_model_eject(struct mt_model *m, uint32_t branch, struct mt_out *out)
{
	memset(out, 0, sizeof(*out));
	if (branch >= m->cfg.n_branches)
		return -EINVAL;
	if (!is_member(&m->branch[branch]))
		return -ENOENT;
	struct cause cause = cause_of(m);

	give_up(m, &m->branch[branch]);
	decide(m, out, &cause);
	return 0;
}

/* A group that is over answers each request that nothing above what was told will come of. */
static enum mt_pass alone(struct mt_model *m, struct mt_out *out)
{
	m->counts.alone++;
	if (!m->has_told && !m->cfg.has_start)
		return MT_ALONE;
	out->has_answer = true;
	out->answer.syndrome = m->over_by;
	out->answer.psn = m->has_told ? wire(m->told + 1) : m->cfg.start;
	out->answer.msn = wire(m->told_msn);
	m->counts.naks_up++;
	return MT_ALONE;
}

static bool is_refused(struct mt_model *m, const struct mt_data *data, int64_t psn)
{
	int64_t minimum;
	bool has_minimum = mt_model_minimum(m, &minimum);

	if (!m->cfg.is_first)
		return data->is_refused;
	if (data->is_refused && has_minimum && psn <= minimum)
		return true;
	if (data->is_refused && (!m->is_refusing || psn < m->refused)) {
		m->is_refusing = true;
		m->is_refusal_told = false;
		m->refused = psn;
	}
	return m->is_refusing && psn >= m->refused;
}

static void wake(struct mt_model *m, const struct mt_data *data, int64_t psn)
{
	if (!m->is_counted || !data->begins || psn != m->next || psn <= m->highest)
		return;
	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		struct mt_model_branch *b = &m->branch[i];

		if (b->state != MT_WAITING)
			continue;
		make_known(m, b);
		b->state = MT_LIVE;
		b->has_first = true;
		b->first = psn;
		tell(b, MT_EVENT_LIVE);
	}
}

static void count(struct mt_model *m, const struct mt_data *data, int64_t psn)
{
	m->counts.passed++;
	int64_t minimum;
	bool is_new = !mt_model_minimum(m, &minimum) || psn > minimum;

	if (is_new && (!m->has_passed || psn > m->highest)) {
		m->highest = psn;
		m->has_passed = true;
	}
	if (m->is_counted && psn == m->next) {
		m->next++;
		m->messages += data->ends;
	}
}

/* T-19: who lacks this PSN had one more chance. */
static void count_passes(struct mt_model *m, int64_t psn)
{
	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		struct mt_model_branch *b = &m->branch[i];

		if (!is_live(b))
			continue;
		if (!b->is_known && !b->has_lacked) {
			b->has_lacked = true;
			b->lacked = psn;
			continue;
		}
		if (psn != (b->is_known ? b->acked + 1 : b->lacked))
			continue;
		b->passes++;
		if (b->passes < m->cfg.silent_after || b->is_silent)
			continue;
		b->is_silent = true;
		tell(b, MT_EVENT_SILENT);
		if (m->cfg.ejects)
			give_up(m, b);
	}
}

/* T-23: whoever asked for this PSN gets it now. */
static void answer_naks(struct mt_model *m, int64_t psn)
{
	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		struct mt_model_branch *b = &m->branch[i];

		if (b->has_nak && b->acked + 1 == psn && !is_fatal(b->nak))
			b->has_nak = false;
	}
	if (m->has_nak_told && m->nak_told == psn)
		m->has_nak_told = false;
}

static void ask(struct mt_model *m, int64_t psn)
{
	for (unsigned i = 0; i < m->n_asked; i++) {
		if (m->asked[i] == psn)
			return;
	}
	if (m->n_asked < MT_ASKED) {
		m->asked[m->n_asked++] = psn;
		return;
	}
	/* The ring is full. It keeps the highest, and is not empty before that is covered. */
	unsigned highest = 0;

	for (unsigned i = 1; i < m->n_asked; i++) {
		if (m->asked[i] > m->asked[highest])
			highest = i;
	}
	if (psn > m->asked[highest])
		m->asked[highest] = psn;
	m->overflowed = true;
}

enum mt_pass mt_model_down(struct mt_model *m, const struct mt_data *data, int64_t psn,
			   struct mt_out *out)
{
	memset(out, 0, sizeof(*out));
	if (m->is_over)
		return alone(m, out);
	if (!any_live(m)) {
		m->counts.alone++;
		return MT_ALONE;
	}
	struct cause cause = cause_of(m);
	int64_t minimum;

	if (is_refused(m, data, psn)) {
		m->counts.refused++;
		cause.wants_refusal = psn == m->refused;
		decide(m, out, &cause);
		return MT_REFUSED;
	}
	wake(m, data, psn);
	count(m, data, psn);
	count_passes(m, psn);
	if (m->is_over) {
		m->counts.passed--;
		return alone(m, out);
	}
	answer_naks(m, psn);
	bool is_repeat = mt_model_minimum(m, &minimum) && psn <= minimum;

	/* The first of a run, each that asks, and who begins the run anew. */
	cause.wants_ack = is_repeat && (!m->in_repeats || data->asks || psn <= m->last);
	m->in_repeats = is_repeat;
	m->last = psn;
	if (data->asks && !is_repeat)
		ask(m, psn);
	decide(m, out, &cause);
	return MT_PASS;
}

bool mt_model_takes(const struct mt_model *m, uint32_t branch, int64_t psn)
{
	const struct mt_model_branch *b = &m->branch[branch];

	return is_live(b) && (!b->has_first || psn >= b->first);
}

static bool is_valid(uint8_t syndrome)
{
	if (syndrome & 0x80)
		return false;
	return TYPE(syndrome) == ACK_TYPE || TYPE(syndrome) == RNR_TYPE ||
	       (TYPE(syndrome) == NAK_TYPE && VALUE(syndrome) <= 4);
}

static void renew_credits(struct mt_model_branch *b, uint8_t syndrome, int64_t msn)
{
	if (msn > b->limit)
		b->limit = msn;
	if (TYPE(syndrome) != ACK_TYPE)
		return;
	b->is_unbounded = VALUE(syndrome) == UNLIMITED;
	if (!b->is_unbounded && msn + credits_of[VALUE(syndrome)] > b->limit)
		b->limit = msn + credits_of[VALUE(syndrome)];
}

/* acked: what the answer acknowledges. */
static enum mt_fate judge(const struct mt_model *m, const struct mt_model_branch *b, int64_t acked,
			  uint8_t syndrome)
{
	if (!is_live(b))
		return MT_STRANGER;
	if (!is_valid(syndrome))
		return MT_INVALID;
	if (!m->has_passed || acked > m->highest)
		return MT_BEYOND;
	if (b->is_known && acked < b->acked)
		return MT_STALE;
	if (b->is_known && acked == b->acked && TYPE(syndrome) == ACK_TYPE)
		return MT_REPEATED;
	return MT_TAKEN;
}

static void take(struct mt_model *m, struct mt_model_branch *b, int64_t acked, uint8_t syndrome,
		 int64_t msn, struct cause *cause)
{
	bool is_nak = TYPE(syndrome) != ACK_TYPE, waited = b->has_nak && acked == b->acked;

	if (!b->is_known || acked > b->acked) {
		if (!b->is_known)
			b->limit = msn;
		b->is_known = true;
		b->acked = acked;
		b->msn = msn;
		b->has_nak = false;
	}
	if (!is_nak)
		return;
	if (m->cfg.ejects && is_fatal(syndrome)) {
		give_up(m, b);
		return;
	}
	/* A fatal one is the last word of a receiver: what comes behind it was overtaken. */
	if (!waited || !is_fatal(b->nak))
		b->nak = syndrome;
	b->has_nak = true;
	cause->has_new_nak = m->cfg.as_printed && syndrome == SEQUENCE && !waited;
}

enum mt_fate mt_model_answer(struct mt_model *m, uint32_t branch, int64_t psn, uint8_t syndrome,
			     int64_t msn, struct mt_out *out)
{
	struct mt_model_branch *b = &m->branch[branch];
	int64_t acked = TYPE(syndrome) == ACK_TYPE ? psn : psn - 1;
	/* After a restart: who has more than has passed since has all of that. */
	if (!m->cfg.has_start && TYPE(syndrome) == ACK_TYPE && m->has_passed &&
	    acked > m->highest && acked - m->highest < MOST_OUT)
		acked = m->highest;
	enum mt_fate fate = judge(m, b, acked, syndrome);
	struct cause cause = cause_of(m);

	memset(out, 0, sizeof(*out));
	m->counts.fates[fate]++;
	if (fate != MT_TAKEN && fate != MT_REPEATED)
		return fate;
	b->passes = 0;
	if (b->is_silent)
		tell(b, MT_EVENT_ANSWERED);
	b->is_silent = false;
	if (fate == MT_TAKEN)
		take(m, b, acked, syndrome, msn, &cause);
	renew_credits(b, syndrome, msn);
	decide(m, out, &cause);
	return fate;
}

enum mt_fate mt_model_cnp(struct mt_model *m, uint32_t branch, struct mt_out *out)
{
	struct mt_model_branch *b = &m->branch[branch];
	enum mt_fate fate = !is_live(b)                   ? MT_STRANGER
			    : b->cnps >= m->cfg.cnps_most ? MT_INVALID
							  : MT_TAKEN;

	memset(out, 0, sizeof(*out));
	m->counts.fates[fate]++;
	if (fate != MT_TAKEN)
		return fate;
	b->cnps++;
	out->opens_window = !m->is_window_open;
	m->is_window_open = true;
	return fate;
}

void mt_model_window(struct mt_model *m, struct mt_out *out)
{
	uint32_t most = 0;

	memset(out, 0, sizeof(*out));
	m->is_window_open = false;
	m->congested = MT_NO_BRANCH;
	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		struct mt_model_branch *b = &m->branch[i];

		if (b->cnps > most) {
			most = b->cnps;
			m->congested = i;
		}
		b->cnps = 0;
	}
	out->has_cnp = most > 0 && !m->is_over;
	m->counts.cnps_up += out->has_cnp;
}

uint32_t mt_model_most_congested(const struct mt_model *m)
{
	return m->congested;
}

uint32_t mt_model_holder(const struct mt_model *m, uint32_t *behind)
{
	uint32_t holder = MT_NO_BRANCH;
	int64_t least = INT64_MAX;

	*behind = 0;
	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		const struct mt_model_branch *b = &m->branch[i];
		int64_t acked = b->is_known ? b->acked : INT64_MIN;

		if (is_live(b) && acked < least) {
			least = acked;
			holder = i;
		}
	}
	if (holder != MT_NO_BRANCH && m->branch[holder].is_known && m->has_passed)
		*behind = (uint32_t)(m->highest - least);
	return holder;
}

bool mt_model_event(struct mt_model *m, uint32_t *branch, enum mt_event *event)
{
	for (uint32_t i = 0; i < m->cfg.n_branches; i++) {
		for (int e = 0; e < MT_EVENTS; e++) {
			if (m->branch[i].events & 1u << e) {
				m->branch[i].events &= ~(1u << e);
				*branch = i;
				*event = (enum mt_event)e;
				return true;
			}
		}
	}
	return false;
}
