/* fwd/mt_merge.h: random members, requests, answers and CNPs, valid and wild, beside a model that
 * counts without end. Both must say the same, and what goes up must hold what draft 5.3 asks for,
 * whatever both say. */
#include "fwd/mt_merge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "mt_model.h"

#define SEEDS  400u
#define STEPS  400u
#define SPAN   16384 /* PSNs that one run may see */
#define AHEAD  64    /* PSNs that may stand between the minimum and the highest */
#define WRAP   (INT64_C(1) << 24)
#define ACK_OF 31u

enum op { JOIN, LEAVE, EJECT, DOWN, ANSWER, CNP, WINDOW, OPS };

/* One input, as it is printed when a run fails. */
struct step {
	enum op op;
	uint32_t branch;
	int64_t psn, msn;
	uint8_t syndrome;
	struct mt_data data;
};

static struct lockstep {
	uint64_t seed;
	struct prng p;
	struct mt_merge_cfg cfg;
	struct mt_merge engine;
	struct mt_branch_state states[MT_MODEL_BRANCHES];
	struct mt_model model;
	int64_t start, first_msn; /* of the group, counted on */
	int64_t top;              /* the highest that the source has sent */
	bool is_calm;             /* no branch is given up or leaves */
	bool is_odd; /* answers say MSNs that do not go with their PSNs: what goes up for them is
		      * nobody's promise, but for draft 5.3 */
	struct step steps[STEPS];
	uint32_t n_steps;
	/* For draft 5.3: what each branch has confirmed, PSN by PSN from start - AHEAD on. */
	bool has[MT_MODEL_BRANCHES][SPAN];
	int64_t told;
	bool has_told;
} run;

static uint32_t below(uint32_t bound)
{
	return (uint32_t)prng_below(&run.p, bound);
}

static bool chance(uint32_t num, uint32_t den)
{
	return prng_chance(&run.p, num, den);
}

static psn24 wire(int64_t psn)
{
	return psn24_of((uint32_t)(uint64_t)psn);
}

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void print_step(const struct step *s)
{
	static const char *const names[OPS] = {"join",   "leave", "eject", "down",
					       "answer", "cnp",   "window"};

	print_error("  %s", names[s->op]);
	if (s->op == DOWN)
		print_error(" %lld%s%s%s%s", (long long)(s->psn - run.start),
			    s->data.begins ? " begins" : "", s->data.ends ? " ends" : "",
			    s->data.asks ? " asks" : "", s->data.is_refused ? " refused" : "");
	else if (s->op != WINDOW)
		print_error(" branch %u", s->branch);
	if (s->op == ANSWER)
		print_error(" psn %lld syndrome %02x msn %lld", (long long)(s->psn - run.start),
			    s->syndrome, (long long)(s->msn - run.first_msn));
	print_error("\n");
}

/* Says how to repeat a run, with PSNs counted from the start. */
static void differ(const char *what, int64_t engine, int64_t model)
{
	const struct mt_merge_cfg *c = &run.cfg;

	for (uint32_t i = 0; i < run.n_steps; i++)
		print_step(&run.steps[i]);
	fail_msg("seed %llu, %u branches, start %06x%s%s%s%s, silent after %u, CNPs %u: step %u: "
		 "%s: engine %lld, model %lld",
		 (unsigned long long)run.seed, c->n_branches, wire(run.start).v,
		 c->has_start ? " told" : "", c->is_first ? ", first" : "",
		 c->as_printed ? ", as printed" : "", c->ejects ? ", ejects" : "", c->silent_after,
		 c->cnps_most, run.n_steps, what, (long long)engine, (long long)model);
}

static void same(const char *what, int64_t engine, int64_t model)
{
	if (engine != model)
		differ(what, engine, model);
}

static void same_psn(const char *what, psn24 engine, int64_t model)
{
	same(what, engine.v, wire(model).v);
}

static void same_out(const struct mt_out *a, const struct mt_out *b)
{
	if (run.is_odd)
		return;
	same("answers up", a->has_answer, b->has_answer);
	if (a->has_answer) {
		same("PSN up", a->answer.psn.v, b->answer.psn.v);
		same("syndrome up", a->answer.syndrome, b->answer.syndrome);
		same("MSN up", a->answer.msn.v, b->answer.msn.v);
	}
	same("CNP up", a->has_cnp, b->has_cnp);
	same("window", a->opens_window, b->opens_window);
}

static void same_branch(const struct mt_branch_state *a, const struct mt_model_branch *b)
{
	same("state", a->state, b->state);
	if (b->state != MT_LIVE)
		return;
	same("passes", a->passes, b->passes < UINT8_MAX ? b->passes : UINT8_MAX);
	same("is silent", a->is_silent, b->is_silent);
	same("is known", a->is_known, b->is_known);
	same("has first", a->has_first, b->has_first);
	same("CNPs", a->cnps, b->cnps);
	if (b->has_first)
		same_psn("first", a->first, b->first);
	if (!b->is_known)
		return;
	same_psn("acked", a->acked, b->acked);
	same_psn("msn", a->msn, b->msn);
	same("is unbounded", a->is_unbounded, b->is_unbounded);
	if (!b->is_unbounded)
		same_psn("limit", a->limit, b->limit);
	same("has nak", a->has_nak, b->has_nak);
	if (b->has_nak)
		same("nak", a->nak, b->nak);
}

static void same_counts(const struct mt_counts *a, const struct mt_counts *b)
{
	for (int i = 0; i < MT_FATES; i++)
		same("fates", (int64_t)a->fates[i], (int64_t)b->fates[i]);
	same("passed", (int64_t)a->passed, (int64_t)b->passed);
	same("refused", (int64_t)a->refused, (int64_t)b->refused);
	same("alone", (int64_t)a->alone, (int64_t)b->alone);
	if (run.is_odd)
		return;
	same("ACKs up", (int64_t)a->acks_up, (int64_t)b->acks_up);
	same("NAKs up", (int64_t)a->naks_up, (int64_t)b->naks_up);
	same("CNPs up", (int64_t)a->cnps_up, (int64_t)b->cnps_up);
}

static void same_group(void)
{
	const struct mt_merge *a = &run.engine;
	const struct mt_model *b = &run.model;
	uint32_t behind, behind_model, n_live = 0;

	for (uint32_t i = 0; i < run.cfg.n_branches; i++) {
		same_branch(&a->branches[i], &b->branch[i]);
		n_live += b->branch[i].state == MT_LIVE;
	}
	same("live", a->n_live, n_live);
	same("is over", a->is_over, b->is_over);
	same("has told", a->has_sent, b->has_told);
	if (b->has_told && !run.is_odd)
		same_psn("told", a->sent, b->told);
	same("has highest", a->has_highest, b->has_passed);
	if (b->has_passed)
		same_psn("highest", a->highest, b->highest);
	same("is refusing", a->is_refusing, b->is_refusing);
	same("most congested", mt_merge_most_congested(a), mt_model_most_congested(b));
	same("holder", mt_merge_holder(a, &behind), mt_model_holder(b, &behind_model));
	same("behind", behind, behind_model);
	same_counts(&a->counts, &b->counts);
}

static void same_events(void)
{
	uint32_t branch = 0, branch_model = 0;
	enum mt_event event = MT_EVENTS, event_model = MT_EVENTS;
	bool has = false;

	do {
		has = mt_merge_event(&run.engine, &branch, &event);
		same("has event", has, mt_model_event(&run.model, &branch_model, &event_model));
		same("event of branch", branch, branch_model);
		same("event", event, event_model);
	} while (has);
}

static bool *confirmed(uint32_t branch, int64_t psn)
{
	int64_t at = psn - run.start + SPAN / 2;

	assert_in_range(at, 0, SPAN - 1);
	return &run.has[branch][at];
}

static void confirm(uint32_t branch, int64_t acked)
{
	/* Wild answers of branches that are not known yet reach beyond all that is sent. */
	if (acked > run.start + SPAN / 2 - 1)
		acked = run.start + SPAN / 2 - 1;
	for (int64_t psn = run.start - SPAN / 2; psn <= acked; psn++)
		*confirmed(branch, psn) = true;
}

/* Draft 5.3.1 and 5.3.2, and no PSN is taken back once it was acknowledged. */
static void check_invariants(const struct mt_out *out)
{
	if (!out->has_answer)
		return;
	bool is_ack = (out->answer.syndrome >> 5 & 3) == 0;
	int64_t top = run.top;
	int64_t up = top + psn24_diff(out->answer.psn, wire(top)) - (is_ack ? 0 : 1);

	for (uint32_t i = 0; i < run.cfg.n_branches; i++) {
		if (run.engine.branches[i].state == MT_LIVE && !*confirmed(i, up))
			differ("a branch lacks what goes up", up - run.start, (int64_t)i);
	}
	if (run.has_told && up < run.told)
		differ("taken back", up - run.start, run.told - run.start);
	run.has_told = true;
	run.told = up;
}

/* Messages are cut by a hash of their PSN, so that repeats are cut alike. */
static bool ends(int64_t psn)
{
	uint64_t state = (uint64_t)psn ^ run.seed << 32;

	return prng_splitmix64(&state) % 3 == 0;
}

static int64_t messages(int64_t acked)
{
	int64_t n = run.first_msn;

	for (int64_t psn = run.start - 1; psn > acked && psn > run.start - AHEAD; psn--)
		n -= ends(psn);
	for (int64_t psn = run.start; psn <= min64(acked, run.top + AHEAD); psn++)
		n += ends(psn);
	return n;
}

static int64_t least(void)
{
	int64_t minimum;

	return mt_model_minimum(&run.model, &minimum) ? minimum : run.start - 1;
}

static void draw_down(struct step *s)
{
	int64_t low = max64(run.start, least() - 3);

	if (chance(3, 5) || run.top < low)
		s->psn = run.top + 1;
	else if (chance(1, 8))
		s->psn = run.top + 1 + below(6);
	else
		s->psn = low + below((uint32_t)(run.top - low + 1));
	/* The source's window. */
	if (s->psn > max64(run.start, least()) + 3 * AHEAD)
		s->psn = low;
	s->data = (struct mt_data){.psn = wire(s->psn),
				   .begins = ends(s->psn - 1) || s->psn == run.start,
				   .ends = ends(s->psn),
				   .asks = chance(1, 4),
				   .is_refused = chance(1, 150)};
}

static uint8_t draw_syndrome(void)
{
	switch (below(16)) {
	case 0: return (uint8_t)below(256);
	case 1: return (uint8_t)(chance(1, 6) ? 0x60 + below(6) : 0x60);
	case 2:
	case 3:
	case 4: return 0x60;
	case 5:
	case 6: return (uint8_t)(0x20 + below(32));
	case 7:
	case 8: return (uint8_t)below(8);
	default: return ACK_OF;
	}
}

static void draw_answer(struct step *s)
{
	const struct mt_model_branch *b = &run.model.branch[s->branch];
	int64_t acked = b->is_known ? b->acked : run.top - 4;

	s->syndrome = draw_syndrome();
	if (chance(1, 2))
		s->psn = min64(acked + (int64_t)below(6), run.top);
	else if (chance(1, 2))
		s->psn = run.top - 2 + below(5);
	else
		s->psn = acked - 2 + below(8);
	if (chance(1, 30))
		s->psn += (int64_t)below(1 << 22) - (1 << 21);
	/* An unknown branch may be anywhere; what it confirmed is kept for some PSNs only. */
	if (!b->is_known && s->psn < run.start - AHEAD)
		s->psn = run.start - 1;
	bool is_ack = (s->syndrome >> 5 & 3) == 0;

	s->msn = messages(is_ack ? s->psn : s->psn - 1);
	if (run.is_odd && chance(1, 10))
		s->msn += (int64_t)below(64) - 32;
}

static struct step draw(void)
{
	static const uint8_t weights[OPS] = {8, 1, 1, 60, 90, 10, 3};
	struct step s = {.branch = below(run.cfg.n_branches)};
	uint32_t at = below(173);

	while (at >= weights[s.op])
		at -= weights[s.op++];
	if (run.is_calm && (s.op == LEAVE || s.op == EJECT))
		s.op = DOWN;
	if (s.op == DOWN)
		draw_down(&s);
	else if (s.op == ANSWER)
		draw_answer(&s);
	else if (s.op <= EJECT && chance(1, 20))
		s.branch = run.cfg.n_branches;
	return s;
}

static void do_join(const struct step *s)
{
	int was = mt_merge_join(&run.engine, s->branch);

	same("join", was, mt_model_join(&run.model, s->branch));
	if (was != 0)
		return;
	memset(run.has[s->branch], 0, sizeof run.has[s->branch]);
	if (run.cfg.has_start)
		confirm(s->branch, run.start - 1);
}

static void do_down(const struct step *s, struct mt_out *a, struct mt_out *b)
{
	bool was_waiting[MT_MODEL_BRANCHES] = {0};

	for (uint32_t i = 0; i < run.cfg.n_branches; i++)
		was_waiting[i] = run.engine.branches[i].state == MT_WAITING;
	run.top = max64(run.top, s->psn);
	same("pass", mt_merge_down(&run.engine, &s->data, a),
	     mt_model_down(&run.model, &s->data, s->psn, b));
	for (uint32_t i = 0; i < run.cfg.n_branches; i++) {
		same("takes", mt_merge_takes(&run.engine, i, s->data.psn),
		     mt_model_takes(&run.model, i, s->psn));
		/* What passed before a late branch came is none of its business. */
		if (was_waiting[i] && run.engine.branches[i].state == MT_LIVE)
			confirm(i, s->psn - 1);
	}
}

static void do_answer(const struct step *s, struct mt_out *a, struct mt_out *b)
{
	struct mt_answer answer = {wire(s->psn), s->syndrome, wire(s->msn)};
	enum mt_fate fate = mt_merge_answer(&run.engine, s->branch, &answer, a);
	bool is_ack = (s->syndrome >> 5 & 3) == 0;

	same("fate", fate, mt_model_answer(&run.model, s->branch, s->psn, s->syndrome, s->msn, b));
	if (fate == MT_TAKEN || fate == MT_REPEATED)
		confirm(s->branch, is_ack ? s->psn : s->psn - 1);
}

static void do_step(const struct step *s)
{
	struct mt_out a, b = {0};

	memset(&a, 0xa5, sizeof a);
	run.steps[run.n_steps++] = *s;
	if (s->op == JOIN) {
		do_join(s);
		same_group();
		return;
	}
	if (s->op == LEAVE)
		same("leave", mt_merge_leave(&run.engine, s->branch, &a),
		     mt_model_leave(&run.model, s->branch, &b));
	else if (s->op == EJECT)
		same("eject", mt_merge_eject(&run.engine, s->branch, &a),
		     mt_model_eject(&run.model, s->branch, &b));
	else if (s->op == DOWN)
		do_down(s, &a, &b);
	else if (s->op == ANSWER)
		do_answer(s, &a, &b);
	else if (s->op == CNP)
		same("fate of a CNP", mt_merge_cnp(&run.engine, s->branch, &a),
		     mt_model_cnp(&run.model, s->branch, &b));
	else {
		mt_merge_window(&run.engine, &a);
		mt_model_window(&run.model, &b);
	}
	same_out(&a, &b);
	same_group();
	check_invariants(&a);
}

static void start(uint64_t seed)
{
	memset(&run, 0, sizeof run);
	run.seed = seed;
	prng_init(&run.p, seed, 0);
	uint32_t first = chance(1, 2) ? (uint32_t)(WRAP - 1 - below(40)) : below(WRAP);

	run.start = WRAP + first;
	run.top = run.start - 1;
	run.is_calm = chance(1, 2);
	run.is_odd = chance(1, 8);
	run.cfg = (struct mt_merge_cfg){
		.n_branches = 1 + below(MT_MODEL_BRANCHES),
		.has_start = chance(3, 4),
		.start = wire(run.start),
		.is_first = chance(1, 2),
		.as_printed = chance(1, 4),
		.ejects = chance(1, 4),
		.silent_after = (uint8_t)below(6),
		.cnps_most = (uint16_t)below(5),
	};
	/* Without a start the MSN may be anything. */
	run.first_msn = run.cfg.has_start ? 0 : WRAP + below(WRAP);
	memset(run.states, 0xa5, sizeof run.states);
	mt_merge_init(&run.engine, &run.cfg, run.states);
	mt_model_init(&run.model, &run.cfg, run.start);
}

static void random_steps(void **state)
{
	(void)state;
	uint64_t seed = check_seed(1);

	for (uint32_t i = 0; i < SEEDS; i++) {
		start(seed + i);
		for (uint32_t b = 0; b < run.cfg.n_branches; b++) {
			if (chance(3, 4))
				do_step(&(struct step){.op = JOIN, .branch = b});
		}
		while (run.n_steps < STEPS) {
			struct step s = draw();

			do_step(&s);
			if (chance(1, 4))
				same_events();
		}
		same_events();
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(random_steps),
};

CHECK_MAIN(cases)
