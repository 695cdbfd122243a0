#include "sim/fault.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ALL        UINT32_C(1000000) /* millionths */
#define COUNT_MAX  UINT32_C(1000000)
#define FLIPS_MAX  64u
#define AMOUNT_MAX (1000 * PSEC_S)
#define GRAY_LEAST 100u
#define GRAY_MOST  300000u
#define SKEW_MOST  1000u
#define PORT_NAME  (2 * TOPOLOGY_NAME_MAX + 16) /* both nodes, ">", "#" and a number */

/* What a kind needs to know. */
enum {
	HAS_PORT = 1 << 0,
	HAS_PLANE = 1 << 1,
	HAS_HOST = 1 << 2,
	HAS_SWITCH = 1 << 3,
	HAS_CRC = 1 << 4,
	HAS_MATCH = 1 << 5,
	HAS_SIGN = 1 << 6,
	IS_MOMENT = 1 << 7, /* over as soon as it happened */
};

/* Ranges; a most of 0 means that the field says nothing to the kind. draw_count and draw_amount_ps
 * bound what fault_draw picks: enough to hurt, short enough to be over within a small run. */
struct rule {
	uint32_t has;
	uint32_t ppm_least, ppm_most;
	uint32_t count_most, draw_count;
	psec draw_amount_ps;
};

#define ON_PACKETS (HAS_PORT | HAS_MATCH)

static const struct rule rules[FAULT_KIND_COUNT] = {
	[FAULT_DROP] = {ON_PACKETS, 1, ALL, 0, 0, 0},
	[FAULT_BURST] = {ON_PACKETS, 1, ALL, COUNT_MAX, 64, 0},
	[FAULT_DUPLICATE] = {ON_PACKETS, 1, ALL, 0, 0, 0},
	[FAULT_REORDER] = {ON_PACKETS, 1, ALL, 0, 0, 100 * PSEC_US},
	[FAULT_DELAY] = {ON_PACKETS, 0, 0, 0, 0, 100 * PSEC_US},
	[FAULT_CORRUPT] = {ON_PACKETS | HAS_CRC, 1, ALL, FLIPS_MAX, 8, 0},
	[FAULT_TRUNCATE] = {ON_PACKETS, 1, ALL, 0, 0, 0},
	[FAULT_BLACK_HOLE] = {ON_PACKETS, 0, 0, 0, 0, 0},
	[FAULT_GRAY] = {ON_PACKETS, GRAY_LEAST, GRAY_MOST, 0, 0, 0},
	[FAULT_FORGE] = {ON_PACKETS, 1, ALL, 0, 0, 0},
	[FAULT_FLAP] = {HAS_PORT, 0, 0, COUNT_MAX, 8, 100 * PSEC_US},
	[FAULT_DOWN] = {HAS_PORT, 0, 0, 0, 0, 0},
	[FAULT_PLANE] = {HAS_PLANE, 0, 0, 0, 0, 0},
	[FAULT_PAUSE] = {HAS_PORT, 0, 0, 0, 0, 0},
	[FAULT_REBOOT] = {HAS_SWITCH, 0, 0, 0, 0, 0},
	[FAULT_RESTART] = {HAS_HOST | IS_MOMENT, 0, 0, 0, 0, 0},
	[FAULT_SKEW] = {HAS_HOST | HAS_SIGN, 1, SKEW_MOST, 0, 0, 0},
	[FAULT_JUMP] = {HAS_HOST | IS_MOMENT, 0, 0, 0, 0, PSEC_MS},
};

static const char *const kind_names[FAULT_KIND_COUNT] = {
#define FAULT_KIND_NAME(id, name, acts) name,
	FAULT_KINDS(FAULT_KIND_NAME)
#undef FAULT_KIND_NAME
};

const char *fault_kind_name(enum fault_kind kind)
{
	assert((unsigned)kind < FAULT_KIND_COUNT);
	return kind_names[kind];
}

int fault_kind_find(const char *name)
{
	for (int kind = 0; kind < FAULT_KIND_COUNT; kind++)
		if (strcmp(kind_names[kind], name) == 0)
			return kind;
	return -1;
}

static const char *place_problem(const struct fault *f, const struct topology *t, uint32_t has)
{
	if (has & HAS_PORT && f->port >= t->n_ports)
		return "at: there is no such port";
	if (has & HAS_PLANE && f->node >= t->n_planes)
		return "at: there is no such plane";
	if (has & (HAS_HOST | HAS_SWITCH) && f->node >= t->n_nodes)
		return "at: there is no such node";
	if (has & HAS_HOST && f->node >= t->n_hosts)
		return "at: must be a host";
	if (has & HAS_SWITCH && f->node < t->n_hosts)
		return "at: must be a switch";
	return NULL;
}

static const char *strength_problem(const struct fault *f, const struct rule *rule)
{
	if (rule->ppm_most > 0 && (f->ppm < rule->ppm_least || f->ppm > rule->ppm_most)) {
		if (f->kind == FAULT_GRAY)
			return "chance: a gray link loses 0.01 % to 30 %";
		if (f->kind == FAULT_SKEW)
			return "ppm: a clock is 1 to 1000 millionths fast or slow";
		return "chance: must be above 0 and at most 100 %";
	}
	if (rule->count_most > 0 && (f->count == 0 || f->count > rule->count_most))
		return f->kind == FAULT_CORRUPT ? "count: must be 1 to 64 bits"
						: "count: must be 1 to 1000000";
	if (rule->draw_amount_ps > 0 && (f->amount_ps == 0 || f->amount_ps > AMOUNT_MAX))
		return "amount: must be above 0 and at most 1000 s";
	if (f->kind == FAULT_JUMP && f->amount_ps < PSEC_NS)
		return "amount: a clock jumps by at least 1 ns";
	if (rule->has & HAS_SIGN && f->sign != 1 && f->sign != -1)
		return "sign: must be +1 or -1";
	return NULL;
}

/* The longest that the link may stay down, and up, each time: from the first loss to the last
 * return is one time less than twice the count. */
static psec flap_most(psec length_ps, uint32_t count)
{
	return length_ps / (2 * count - 1);
}

const char *fault_problem(const struct fault *f, const struct topology *t)
{
	if (f->kind >= FAULT_KIND_COUNT)
		return "kind: there is no such fault";
	const struct rule *rule = &rules[f->kind];
	const char *problem = place_problem(f, t, rule->has);

	if (!problem)
		problem = strength_problem(f, rule);
	if (problem)
		return problem;
	if (f->match > FAULT_CONTROL)
		return "match: must be any, data or control";
	if (f->match != FAULT_ANY && !(rule->has & HAS_MATCH))
		return "match: the fault does not act on packets";
	if (f->crc > FAULT_CRC_ALL_REPAIRED)
		return "crc: must be bad, fcs or all";
	if (f->crc != FAULT_CRC_BAD && !(rule->has & HAS_CRC))
		return "crc: only corrupt has a choice";
	if (f->until_ps <= f->from_ps)
		return "until: must be after from";
	if (f->kind == FAULT_FLAP && f->amount_ps > flap_most(f->until_ps - f->from_ps, f->count))
		return "until: comes before the last flap is over";
	return NULL;
}

/* Text that grows to the right of a buffer and counts on beyond its end. */
struct line {
	char *text;
	size_t room, len;
};

__attribute__((format(printf, 2, 3))) static void put(struct line *l, const char *format, ...)
{
	size_t left = l->len < l->room ? l->room - l->len : 0;
	va_list args;

	va_start(args, format);
	int n = vsnprintf(left > 0 ? l->text + l->len : NULL, left, format, args);

	va_end(args);
	assert(n >= 0);
	l->len += (size_t)n;
}

/* value / unit, exactly, without zeros at the end. unit is a power of ten. */
static void put_decimal(struct line *l, uint64_t value, uint64_t unit)
{
	uint64_t rest = value % unit;

	put(l, "%" PRIu64, value / unit);
	if (rest > 0)
		put(l, ".");
	for (; rest > 0; rest %= unit) {
		unit /= 10;
		put(l, "%" PRIu64, rest / unit);
	}
}

static void put_time(struct line *l, psec at)
{
	static const struct {
		psec unit;
		const char *name;
	} units[] = {{PSEC_S, "s"}, {PSEC_MS, "ms"}, {PSEC_US, "us"}, {PSEC_NS, "ns"}, {1, "ps"}};
	uint32_t i = 0;

	while (at > 0 && at < units[i].unit)
		i++;
	put_decimal(l, at, units[i].unit);
	put(l, " %s", units[i].name);
}

static void put_chance(struct line *l, uint32_t ppm)
{
	put(l, " ");
	put_decimal(l, ppm, ALL / 100);
	put(l, " %%");
}

static void put_place(struct line *l, const struct fault *f, const struct topology *t)
{
	uint32_t has = rules[f->kind].has;

	if (has & HAS_PORT) {
		char name[PORT_NAME];

		topology_port_name(t, f->port, name, sizeof name);
		put(l, " %s", name);
	} else if (has & HAS_PLANE) {
		put(l, " %" PRIu32, f->node);
	} else {
		put(l, " %s", t->labels[f->node]);
	}
}

static void put_strength(struct line *l, const struct fault *f)
{
	static const char *const crcs[] = {"", ", FCS repaired", ", all checksums repaired"};
	static const char *const matches[] = {"", " of data", " of control"};
	const struct rule *rule = &rules[f->kind];

	if (f->kind == FAULT_SKEW)
		put(l, " %c%" PRIu32 " ppm", f->sign < 0 ? '-' : '+', f->ppm);
	else if (rule->ppm_most > 0)
		put_chance(l, f->ppm);
	put(l, "%s", matches[f->match]);
	if (f->kind == FAULT_BURST)
		put(l, ", %" PRIu32 " in a row", f->count);
	if (f->kind == FAULT_CORRUPT)
		put(l, ", %" PRIu32 " bit%s", f->count, f->count == 1 ? "" : "s");
	if (f->kind == FAULT_FLAP)
		put(l, " %" PRIu32 " time%s", f->count, f->count == 1 ? "" : "s");
	if (rule->draw_amount_ps > 0) {
		put(l, "%s",
		    f->kind == FAULT_REORDER ? " by up to "
		    : f->kind == FAULT_FLAP  ? " for "
					     : " by ");
		put_time(l, f->amount_ps);
	}
	put(l, "%s", crcs[f->crc]);
}

static void put_when(struct line *l, const struct fault *f)
{
	put(l, "%s", rules[f->kind].has & IS_MOMENT ? " at " : " from ");
	put_time(l, f->from_ps);
	if (rules[f->kind].has & IS_MOMENT)
		return;
	if (f->until_ps == PSEC_NEVER) {
		put(l, " on");
		return;
	}
	put(l, " until ");
	put_time(l, f->until_ps);
}

size_t fault_print(const struct fault *f, const struct topology *t, char *text, size_t text_len)
{
	struct line line = {text, text_len, 0};

	assert(!fault_problem(f, t));
	put(&line, "%s", kind_names[f->kind]);
	put_place(&line, f, t);
	put_strength(&line, f);
	put_when(&line, f);
	return line.len;
}

static bool is_drawable(const struct topology *t, uint32_t has)
{
	if (has & HAS_PORT)
		return t->n_ports > 0;
	if (has & HAS_PLANE)
		return t->n_planes > 0;
	return has & HAS_HOST ? t->n_hosts > 0 : t->n_nodes > t->n_hosts;
}

static uint8_t draw_kind(struct prng *p, const struct topology *t, uint64_t kinds)
{
	uint8_t list[FAULT_KIND_COUNT] = {0};
	uint32_t n = 0;

	for (uint32_t kind = 0; kind < FAULT_KIND_COUNT; kind++)
		if (kinds >> kind & 1 && is_drawable(t, rules[kind].has))
			list[n++] = (uint8_t)kind;
	assert(n > 0);
	return list[prng_below(p, n)];
}

/* A number in [least, most], every order of magnitude about as likely: weak faults show other bugs
 * than strong ones. */
static uint64_t draw_magnitude(struct prng *p, uint64_t least, uint64_t most)
{
	uint64_t top = most >> prng_below(p, 12);

	return prng_range(p, least, top > least ? top : least);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void draw_place(struct fault *f, struct prng *p, const struct topology *t)
{
	uint32_t has = rules[f->kind].has;

	if (has & HAS_PORT)
		f->port = (uint32_t)prng_below(p, t->n_ports);
	else if (has & HAS_PLANE)
		f->node = (uint32_t)prng_below(p, t->n_planes);
	else if (has & HAS_HOST)
		f->node = (uint32_t)prng_below(p, t->n_hosts);
	else
		f->node = (uint32_t)prng_range(p, t->n_hosts, t->n_nodes - 1);
}

/* length_ps: of the fault, into which flaps must fit. */
static void draw_strength(struct fault *f, struct prng *p, psec length_ps)
{
	const struct rule *rule = &rules[f->kind];
	psec amount_ps = rule->draw_amount_ps;
	uint32_t count = rule->draw_count;

	if (rule->ppm_most > 0)
		f->ppm = (uint32_t)draw_magnitude(p, rule->ppm_least, rule->ppm_most);
	if (f->kind == FAULT_FLAP)
		count = (uint32_t)smaller(count, (length_ps - 1) / 2 + 1);
	if (count > 0)
		f->count = (uint32_t)prng_range(p, 1, count);
	if (f->kind == FAULT_FLAP)
		amount_ps = smaller(amount_ps, flap_most(length_ps, f->count));
	if (amount_ps > 0)
		f->amount_ps = draw_magnitude(p, f->kind == FAULT_JUMP ? PSEC_NS : 1, amount_ps);
	if (rule->has & HAS_SIGN)
		f->sign = prng_chance(p, 1, 2) ? 1 : -1;
	if (rule->has & HAS_CRC)
		f->crc = (uint8_t)prng_below(p, FAULT_CRC_ALL_REPAIRED + 1);
	/* Half of them touch everything. A black hole always does. */
	if (rule->has & HAS_MATCH && f->kind != FAULT_BLACK_HOLE && prng_chance(p, 1, 2))
		f->match = prng_chance(p, 1, 2) ? FAULT_DATA : FAULT_CONTROL;
}

void fault_draw(struct fault *f, struct prng *p, const struct topology *t, uint64_t kinds,
		psec from_ps, psec until_ps)
{
	assert(from_ps < until_ps);
	psec length_ps = draw_magnitude(p, 1, until_ps - from_ps);

	*f = (struct fault){.kind = draw_kind(p, t, kinds)};
	draw_place(f, p, t);
	draw_strength(f, p, length_ps);
	f->from_ps = prng_range(p, from_ps, until_ps - length_ps);
	f->until_ps = f->from_ps + length_ps;
}
