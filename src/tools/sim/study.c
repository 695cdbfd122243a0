#include "tools/sim/study.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/units.h"
#include "tools/amount.h"
#include "tools/json_file.h"
#include "tools/text.h"

#define FIGURE_MAX 48u
#define NAME_WIDTH 22 /* of a row of at most 100 columns */

bool study_is_one(const struct scenario *s)
{
	return s->n_targets || s->n_beside;
}

/* Whether a target is about this run, or it and others. */
static bool is_about(const struct scenario_target *t, uint32_t number)
{
	return number >= t->in && number - t->in < t->n_in;
}

/* Whether a target's selectors fit the variants it is about; main's were checked as it was read. */
static const char *problem_of(const struct study *st, uint32_t i)
{
	uint32_t number = st->numbers[i];

	for (uint32_t k = 0; k < st->main->n_targets; k++) {
		const struct scenario_target *t = &st->main->targets[k];
		const char *problem = is_about(t, number) || t->of == number
					      ? scenario_target_problem(&st->variants[i], t)
					      : NULL;

		if (problem)
			return problem;
	}
	return NULL;
}

int study_init(struct study *st, const struct scenario *main, const struct scenario_source *source,
	       char *error, size_t error_len)
{
	st->main = main;
	st->variants = calloc(main->n_beside + 1, sizeof *st->variants);
	st->numbers = calloc(main->n_beside + 1, sizeof *st->numbers);
	st->figures = calloc(main->n_targets + 1, sizeof *st->figures);
	st->counts = calloc(main->n_beside + 1, sizeof *st->counts);
	if (!st->variants || !st->numbers || !st->figures || !st->counts) {
		snprintf(error, error_len, "out of memory");
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < main->n_beside; i++) {
		const struct scenario_variant *v = &main->beside[i];
		struct scenario *s = &st->variants[st->n_variants];

		if (v->is_long && !st->has_all)
			continue;
		int answer = scenario_read_variant(s, source, v, error, error_len);

		if (answer)
			return answer;
		st->numbers[st->n_variants++] = i + 1;
		const char *problem = problem_of(st, st->n_variants - 1);

		if (problem) {
			snprintf(error, error_len, "beside %s: targets: %s", v->name, problem);
			return -EINVAL;
		}
	}
	return 0;
}

void study_fini(struct study *st)
{
	for (uint32_t i = 0; i < st->n_variants; i++)
		scenario_fini(&st->variants[i]);
	free(st->variants);
	free(st->numbers);
	free(st->figures);
	free(st->counts);
}

const struct scenario *study_scenario(const struct study *st, uint32_t i)
{
	return i == 0 ? st->main : &st->variants[i - 1];
}

static uint32_t number_of(const struct study *st, uint32_t i)
{
	return i == 0 ? SCENARIO_MAIN : st->numbers[i - 1];
}

/* The name of a run by its number among all that the scenario has. */
static const char *name_of(const struct study *st, uint32_t number)
{
	return number == SCENARIO_MAIN ? "main" : st->main->beside[number - 1].name;
}

const char *study_name(const struct study *st, uint32_t i)
{
	return name_of(st, number_of(st, i));
}

/* Millionths as a decimal number, with as many digits as it has, three at least. */
static void write_ratio(uint64_t millionths, char text[FIGURE_MAX])
{
	int len = snprintf(text, FIGURE_MAX, "%" PRIu64 ".%06" PRIu64, millionths / 1000000,
			   millionths % 1000000);

	for (int i = 0; i < 3 && text[len - 1] == '0'; i++)
		text[--len] = '\0';
}

static enum units_kind unit_of(const struct scenario_target *t)
{
	return t->of == SCENARIO_NONE ? scenario_metric_unit(t->metric) : UNITS_RATIO;
}

static void write_value(const struct scenario_target *t, uint64_t value, char text[FIGURE_MAX])
{
	switch (unit_of(t)) {
	case UNITS_RATIO: write_ratio(value, text); break;
	case UNITS_TIME: snprintf(text, FIGURE_MAX, "%s", amount_time(value).at); break;
	case UNITS_RATE: snprintf(text, FIGURE_MAX, "%s", amount_rate(value).at); break;
	default: snprintf(text, FIGURE_MAX, "%" PRIu64, value); break;
	}
}

/* A target in words: "goodput in loss 1% of main". */
static void put_what(FILE *out, const struct study *st, const struct scenario_target *t)
{
	fputs(scenario_metric_name(t->metric), out);
	if (t->entry != SCENARIO_NONE)
		fprintf(out, " of entry %u", t->entry);
	if (t->metric == SCENARIO_RATE_AFTER) {
		fprintf(out, " from %s", amount_time(t->from_ps).at);
		fprintf(out, " to %s", amount_time(t->to_ps).at);
		fprintf(out, ", before %s", amount_time(t->before_ps).at);
	}
	if (t->n_in > 1)
		fprintf(out, ", median of %u from ", t->n_in);
	else if (t->in != SCENARIO_MAIN)
		fputs(", in ", out);
	if (t->in != SCENARIO_MAIN)
		text_put_safe(out, name_of(st, t->in));
	if (t->of != SCENARIO_NONE) {
		fputs(", over ", out);
		text_put_safe(out, name_of(st, t->of));
	}
}

static void put_asked(FILE *out, const struct scenario_target *t)
{
	char text[FIGURE_MAX];

	write_value(t, t->bound, text);
	fprintf(out, "at %s %s", t->is_most ? "most" : "least", text);
}

void study_plan(FILE *out, const struct study *st)
{
	for (uint32_t i = 1; i <= st->n_variants; i++) {
		fputs("  beside     ", out);
		text_put_safe(out, study_name(st, i));
		fputc('\n', out);
	}
	if (st->n_variants < st->main->n_beside)
		fprintf(out, "             %u more with --all\n",
			st->main->n_beside - st->n_variants);
	for (uint32_t i = 0; i < st->main->n_targets; i++) {
		fputs("  target     ", out);
		put_what(out, st, &st->main->targets[i]);
		fputs(": ", out);
		put_asked(out, &st->main->targets[i]);
		fputc('\n', out);
	}
}

void study_begin(FILE *out, struct study *st)
{
	if (st->is_json) {
		st->json = json_file(out);
		json_object(&st->json, NULL, JSON_LINES);
		json_object(&st->json, "study", JSON_INLINE);
		json_text(&st->json, "name", st->main->name);
		json_text(&st->json, "summary", st->summary);
		json_close(&st->json);
		json_array(&st->json, "runs", JSON_LINES);
		return;
	}
	text_put_safe(out, st->main->name[0] ? st->main->name : "scenario");
	fputs(st->summary[0] ? ": " : "", out);
	text_put_safe(out, st->summary);
	fprintf(out, "\n\n%*s%32s%25s%20s\n", NAME_WIDTH, "", "completion", "slowdown", "flows");
	fprintf(out, "%-*s %10s %10s %10s %7s %7s %7s %12s %6s\n", NAME_WIDTH, "run", "mean", "p99",
		"max", "mean", "p99", "max", "goodput", "failed");
}

static void put_name(FILE *out, const char *name)
{
	int behind = NAME_WIDTH - (int)strlen(name);

	text_put_safe(out, name);
	fprintf(out, "%*s", behind > 0 ? behind : 0, "");
}

static void put_row(FILE *out, const char *name, const struct report *r)
{
	struct metric goodput = metric_of(
		r->run,
		&(struct scenario_target){.metric = SCENARIO_GOODPUT, .entry = SCENARIO_NONE},
		r->wall_ns);

	put_name(out, name);
	/* Of the flows that are done, if any is. */
	if (r->fct_ps.n) {
		fprintf(out, " %10s %10s %10s", amount_time(r->fct_ps.mean).at,
			amount_time(r->fct_ps.p99).at, amount_time(r->fct_ps.max).at);
		fprintf(out, " %7s %7s %7s", amount_ratio(r->slowdown.mean).at,
			amount_ratio(r->slowdown.p99).at, amount_ratio(r->slowdown.max).at);
	} else {
		fprintf(out, " %10s %10s %10s %7s %7s %7s", "-", "-", "-", "-", "-", "-");
	}
	fprintf(out, " %12s %6u\n", amount_rate(goodput.value).at,
		r->run->traffic.n_failed + r->n_unfinished);
	fflush(out);
}

/* What there is no room for in the rows that appear as runs end. */
static void put_counts(FILE *out, const struct study *st)
{
	fprintf(out, "\n%*s%42s\n", NAME_WIDTH, "", "packets");
	fprintf(out, "%-*s %10s %10s %10s %10s %10s\n", NAME_WIDTH, "run", "end", "retx", "trimmed",
		"marked", "dropped");
	for (uint32_t i = 0; i < st->n_done; i++) {
		const struct study_count *c = &st->counts[i];

		put_name(out, study_name(st, i));
		fprintf(out, " %10s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n",
			amount_time(c->ended_ps).at, c->retx, c->trimmed, c->marked, c->dropped);
	}
}

void study_add(FILE *out, struct study *st, const struct report *r)
{
	uint32_t number = number_of(st, st->n_done);
	const char *name = name_of(st, number);

	for (uint32_t i = 0; i < st->main->n_targets; i++) {
		const struct scenario_target *t = &st->main->targets[i];
		struct study_figure *f = &st->figures[i];

		if (is_about(t, number) && !r->is_interrupted)
			f->in[f->n_in++] = metric_of(r->run, t, r->wall_ns);
		if (t->of == number) {
			f->of = metric_of(r->run, t, r->wall_ns);
			f->has_of = !r->is_interrupted;
		}
	}
	st->is_interrupted |= r->is_interrupted;
	st->counts[st->n_done] = (struct study_count){
		.ended_ps = r->ended_ps,
		.retx = r->retransmitted,
		.trimmed = r->run->sim.totals.trimmed,
		.marked = r->run->sim.totals.marked,
		.dropped = r->dropped,
	};
	if (st->is_json) {
		json_object(&st->json, NULL, JSON_INLINE);
		json_text(&st->json, "run", name);
		report_json(&st->json, "report", r);
		json_close(&st->json);
	} else {
		put_row(out, name, r);
	}
	st->n_done++;
}

/* Whether all that a target is about was run, and to its end. */
static bool was_run(const struct study *st, uint32_t i)
{
	const struct study_figure *f = &st->figures[i];

	return f->n_in == st->main->targets[i].n_in &&
	       (f->has_of || st->main->targets[i].of == SCENARIO_NONE);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = ((const struct metric *)a)->value, y = ((const struct metric *)b)->value;

	return (x > y) - (x < y);
}

/* Of an even number the mean of the two in the middle; unknown if one of them is. */
static struct metric median_of(const struct study_figure *f)
{
	struct metric all[SCENARIO_GROUP] = {{0}};
	uint32_t n = f->n_in;

	for (uint32_t i = 0; i < n; i++) {
		if (!f->in[i].is_known)
			return (struct metric){0};
		all[i] = f->in[i];
	}
	if (n == 0)
		return (struct metric){0};
	qsort(all, n, sizeof *all, by_value);
	return (struct metric){(all[(n - 1) / 2].value + all[n / 2].value) / 2, true};
}

static struct metric result_of(const struct study *st, uint32_t i)
{
	const struct study_figure *f = &st->figures[i];
	struct metric in = median_of(f);

	return st->main->targets[i].of == SCENARIO_NONE ? in : metric_ratio(in, f->of);
}

static void put_json_value(struct json_writer *w, const char *key, const struct scenario_target *t,
			   uint64_t value)
{
	if (unit_of(t) == UNITS_RATIO)
		json_decimal(w, key, value, 6);
	else
		json_number(w, key, value);
}

static void put_json_target(struct json_writer *w, const struct study *st, uint32_t i, bool is_met)
{
	const struct scenario_target *t = &st->main->targets[i];
	struct metric m = result_of(st, i);

	json_object(w, NULL, JSON_INLINE);
	json_text(w, "what", scenario_metric_name(t->metric));
	json_text(w, "in", name_of(st, t->in));
	if (t->n_in > 1)
		json_number(w, "runs", t->n_in);
	if (t->of != SCENARIO_NONE)
		json_text(w, "of", name_of(st, t->of));
	if (t->entry != SCENARIO_NONE)
		json_number(w, "entry", t->entry);
	if (t->metric == SCENARIO_RATE_AFTER) {
		json_number(w, "from_ps", t->from_ps);
		json_number(w, "to_ps", t->to_ps);
		json_number(w, "before_ps", t->before_ps);
	}
	if (m.is_known)
		put_json_value(w, "result", t, m.value);
	else
		json_null(w, "result");
	put_json_value(w, t->is_most ? "most" : "least", t, t->bound);
	if (was_run(st, i))
		json_truth(w, "met", is_met);
	else
		json_null(w, "met");
	json_close(w);
}

static void put_target(FILE *out, const struct study *st, uint32_t i, bool is_met)
{
	const struct scenario_target *t = &st->main->targets[i];
	struct metric m = result_of(st, i);
	char text[FIGURE_MAX] = "unknown";

	if (m.is_known)
		write_value(t, m.value, text);
	fprintf(out, "  %-8s %12s  ",
		!was_run(st, i) ? "not run"
		: is_met        ? "met"
				: "NOT MET",
		text);
	put_asked(out, t);
	fputs(": ", out);
	put_what(out, st, t);
	fputc('\n', out);
}

/* Of the targets, those that were run and are not met, and those that were not run. */
struct study_targets {
	uint32_t n_missed, n_unrun;
};

static bool is_target_met(const struct study *st, uint32_t i)
{
	return metric_is_met(&st->main->targets[i], result_of(st, i));
}

static struct study_targets count_targets(const struct study *st)
{
	struct study_targets t = {0};

	for (uint32_t i = 0; i < st->main->n_targets; i++) {
		t.n_missed += !is_target_met(st, i) && was_run(st, i);
		t.n_unrun += !was_run(st, i);
	}
	return t;
}

/* Whether it ended before all was run. */
static bool is_cut(const struct study *st)
{
	return st->is_interrupted || st->n_done <= st->n_variants;
}

/* Runs that nobody waited for. */
static void put_left(FILE *out, const struct study *st)
{
	if (!is_cut(st))
		return;
	fputs(st->is_interrupted ? "\ninterrupted: the last row is partial" : "\nended early", out);
	for (uint32_t i = st->n_done; i <= st->n_variants; i++) {
		fputs(i == st->n_done ? "; not run: " : ", ", out);
		text_put_safe(out, study_name(st, i));
	}
	fputc('\n', out);
}

/* The last line, about all targets. */
static void put_verdict(FILE *out, const struct study *st, struct study_targets t)
{
	uint32_t n = st->main->n_targets;

	if (t.n_missed)
		fprintf(out, "\nNOT MET: %u of %u targets", t.n_missed, n);
	else if (t.n_unrun == 0)
		fprintf(out, "\nmet: all %u targets", n);
	else if (t.n_unrun < n)
		fprintf(out, "\nmet: %u of %u targets", n - t.n_unrun, n);
	else
		fputs("\nmet: none known", out);
	if (t.n_unrun)
		fprintf(out, "; %u not run%s", t.n_unrun,
			is_cut(st) ? " to their end" : ": they need --all");
	fputc('\n', out);
}

static void end_json(struct study *st, struct study_targets t)
{
	struct json_writer *w = &st->json;

	json_close(w);
	json_array(w, "targets", JSON_LINES);
	for (uint32_t i = 0; i < st->main->n_targets; i++)
		put_json_target(w, st, i, is_target_met(st, i));
	json_close(w);
	json_array(w, "not_run", JSON_INLINE);
	for (uint32_t i = st->n_done; i <= st->n_variants; i++)
		json_text(w, NULL, study_name(st, i));
	json_close(w);
	if (!t.n_missed && t.n_unrun && is_cut(st))
		json_null(w, "met");
	else
		json_truth(w, "met", t.n_missed == 0);
	json_close(w);
	json_end(w);
}

bool study_end(FILE *out, struct study *st)
{
	const struct study_targets t = count_targets(st);
	uint32_t n = st->main->n_targets;

	if (st->is_json) {
		end_json(st, t);
		return t.n_missed == 0;
	}
	put_left(out, st);
	put_counts(out, st);
	fputs(n ? "\ntargets\n" : "", out);
	for (uint32_t i = 0; i < n; i++)
		put_target(out, st, i, is_target_met(st, i));
	if (n)
		put_verdict(out, st, t);
	return t.n_missed == 0;
}
