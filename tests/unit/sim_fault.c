#include "sim/fault.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

#define EVERY_KIND ((UINT64_C(1) << FAULT_KIND_COUNT) - 1)

/* Four hosts on two leaves below one spine, in two planes: hosts 0 .. 3, p0.leaf0 is node 4. */
static const struct topology_cfg small = {
	.kind = TOPOLOGY_LEAF_SPINE,
	.hosts = 4,
	.hosts_per_leaf = 2,
	.spines = 1,
	.planes = 2,
	.nic_ports = 2,
	.uplinks = 1,
	.links = {{UINT64_C(400000000000), PSEC_US, 0}, {UINT64_C(400000000000), PSEC_US, 0}},
};

static const struct topology_cfg wire = {
	.kind = TOPOLOGY_WIRE,
	.hosts = 2,
	.planes = 1,
	.nic_ports = 1,
	.links = {{UINT64_C(400000000000), PSEC_US, 0}},
};

static struct topology make(const struct topology_cfg *cfg)
{
	char error[256] = "";
	struct topology t;

	if (topology_build(&t, cfg, error, sizeof error) != 0)
		fail_msg("%s", error);
	return t;
}

/* A fault of each kind with nothing wrong, in the small fabric. */
static struct fault plain(enum fault_kind kind)
{
	struct fault f = {.kind = (uint8_t)kind, .from_ps = 10 * PSEC_US, .until_ps = 2 * PSEC_MS};

	switch (kind) {
	case FAULT_REORDER:
		f.ppm = 10000;
		f.amount_ps = 1500 * PSEC_NS;
		break;
	case FAULT_DELAY: f.amount_ps = PSEC_US; break;
	case FAULT_BURST:
	case FAULT_CORRUPT:
		f.ppm = 10000;
		f.count = 3;
		break;
	case FAULT_FLAP:
		f.count = 2;
		f.amount_ps = 20 * PSEC_US;
		break;
	case FAULT_SKEW:
		f.ppm = 100;
		f.sign = -1;
		break;
	case FAULT_JUMP: f.amount_ps = PSEC_MS; break;
	case FAULT_REBOOT: f.node = 4; break;
	case FAULT_PLANE: f.node = 1; break;
	case FAULT_BLACK_HOLE:
	case FAULT_DOWN:
	case FAULT_PAUSE:
	case FAULT_RESTART: break;
	default: f.ppm = 10000; break;
	}
	return f;
}

static void names_are_found(void **state)
{
	(void)state;
	for (int kind = 0; kind < FAULT_KIND_COUNT; kind++)
		assert_int_equal(fault_kind_find(fault_kind_name((enum fault_kind)kind)), kind);
	assert_string_equal(fault_kind_name(FAULT_DROP), "drop");
	assert_string_equal(fault_kind_name(FAULT_BLACK_HOLE), "black-hole");
	assert_string_equal(fault_kind_name(FAULT_JUMP), "jump");
	assert_int_equal(fault_kind_find(""), -1);
	assert_int_equal(fault_kind_find("dro"), -1);
	assert_int_equal(fault_kind_find("drops"), -1);
	assert_int_equal(fault_kind_find("Drop"), -1);
}

static void plain_faults_are_accepted(void **state)
{
	struct topology t = make(&small);

	(void)state;
	for (int kind = 0; kind < FAULT_KIND_COUNT; kind++) {
		struct fault f = plain((enum fault_kind)kind);

		assert_null(fault_problem(&f, &t));
		f.until_ps = PSEC_NEVER;
		assert_null(fault_problem(&f, &t));
	}
	topology_fini(&t);
}

enum field { KIND, MATCH, CRC, PORT, NODE, FROM, UNTIL, PPM, COUNT, AMOUNT, SIGN };

static void set(struct fault *f, enum field field, uint64_t value)
{
	switch (field) {
	case KIND: f->kind = (uint8_t)value; break;
	case MATCH: f->match = (uint8_t)value; break;
	case CRC: f->crc = (uint8_t)value; break;
	case PORT: f->port = (uint32_t)value; break;
	case NODE: f->node = (uint32_t)value; break;
	case FROM: f->from_ps = value; break;
	case UNTIL: f->until_ps = value; break;
	case PPM: f->ppm = (uint32_t)value; break;
	case COUNT: f->count = (uint32_t)value; break;
	case AMOUNT: f->amount_ps = value; break;
	case SIGN: f->sign = (int8_t)value; break;
	}
}

/* One field changed in a plain fault: the last value that is fine and the first that is not, each
 * where there is one. */
struct edge {
	enum fault_kind kind;
	enum field field;
	uint64_t good, bad;
	const char *says;
};

#define NO_CHANCE "chance: must be above 0 and at most 100 %"
#define NO_AMOUNT "amount: must be above 0 and at most 1000 s"
#define NO_COUNT  "count: must be 1 to 1000000"
#define NO_PORT   "at: there is no such port"
#define NO_GRAY   "chance: a gray link loses 0.01 % to 30 %"
#define NO_SKEW   "ppm: a clock is 1 to 1000 millionths fast or slow"

static const struct edge edges[] = {
	{FAULT_DROP, KIND, FAULT_DROP, FAULT_KIND_COUNT, "kind: there is no such fault"},
	{FAULT_DROP, MATCH, FAULT_CONTROL, 3, "match: must be any, data or control"},
	{FAULT_DOWN, MATCH, FAULT_ANY, FAULT_DATA, "match: the fault does not act on packets"},
	{FAULT_RESTART, MATCH, FAULT_ANY, FAULT_DATA, "match: the fault does not act on packets"},
	{FAULT_CORRUPT, CRC, FAULT_CRC_ALL_REPAIRED, 3, "crc: must be bad, fcs or all"},
	{FAULT_DROP, CRC, FAULT_CRC_BAD, FAULT_CRC_FCS_REPAIRED, "crc: only corrupt has a choice"},
	{FAULT_DROP, UNTIL, 10 * PSEC_US + 1, 10 * PSEC_US, "until: must be after from"},
	{FAULT_RESTART, FROM, 2 * PSEC_MS - 1, 2 * PSEC_MS, "until: must be after from"},
	{FAULT_JUMP, FROM, 0, PSEC_NEVER, "until: must be after from"},
	{FAULT_DROP, PPM, 1, 0, NO_CHANCE},
	{FAULT_DROP, PPM, 1000000, 1000001, NO_CHANCE},
	{FAULT_BURST, PPM, 1, 0, NO_CHANCE},
	{FAULT_DUPLICATE, PPM, 1, 0, NO_CHANCE},
	{FAULT_REORDER, PPM, 1, 0, NO_CHANCE},
	{FAULT_CORRUPT, PPM, 1, 0, NO_CHANCE},
	{FAULT_TRUNCATE, PPM, 1, 0, NO_CHANCE},
	{FAULT_FORGE, PPM, 1, 0, NO_CHANCE},
	{FAULT_GRAY, PPM, 100, 99, NO_GRAY},
	{FAULT_GRAY, PPM, 300000, 300001, NO_GRAY},
	{FAULT_SKEW, PPM, 1, 0, NO_SKEW},
	{FAULT_SKEW, PPM, 1000, 1001, NO_SKEW},
	{FAULT_SKEW, SIGN, 1, 0, "sign: must be +1 or -1"},
	{FAULT_SKEW, SIGN, (uint64_t)-1, 2, "sign: must be +1 or -1"},
	{FAULT_BURST, COUNT, 1, 0, NO_COUNT},
	{FAULT_BURST, COUNT, 1000000, 1000001, NO_COUNT},
	{FAULT_FLAP, COUNT, 1, 0, NO_COUNT},
	{FAULT_CORRUPT, COUNT, 1, 0, "count: must be 1 to 64 bits"},
	{FAULT_CORRUPT, COUNT, 64, 65, "count: must be 1 to 64 bits"},
	{FAULT_REORDER, AMOUNT, 1, 0, NO_AMOUNT},
	{FAULT_DELAY, AMOUNT, 1, 0, NO_AMOUNT},
	{FAULT_DELAY, AMOUNT, 1000 * PSEC_S, 1000 * PSEC_S + 1, NO_AMOUNT},
	{FAULT_FLAP, AMOUNT, 1, 0, NO_AMOUNT},
	{FAULT_JUMP, AMOUNT, PSEC_NS, 0, NO_AMOUNT},
	{FAULT_JUMP, AMOUNT, PSEC_NS, PSEC_NS - 1, "amount: a clock jumps by at least 1 ns"},
	/* Down, up, down take 60 us of 20 each; 1.99 ms hold 50 downs and 49 ups. */
	{FAULT_FLAP, UNTIL, 70 * PSEC_US, 70 * PSEC_US - 1,
	 "until: comes before the last flap is over"},
	{FAULT_FLAP, COUNT, 50, 51, "until: comes before the last flap is over"},
	{FAULT_FLAP, AMOUNT, 1990 * PSEC_US / 3, 1990 * PSEC_US / 3 + 1,
	 "until: comes before the last flap is over"},
	{FAULT_DROP, PORT, 0, UINT32_MAX, NO_PORT},
	{FAULT_BLACK_HOLE, PORT, 1, UINT32_MAX, NO_PORT},
	{FAULT_FLAP, PORT, 1, UINT32_MAX, NO_PORT},
	{FAULT_DOWN, PORT, 1, UINT32_MAX, NO_PORT},
	{FAULT_PAUSE, PORT, 1, UINT32_MAX, NO_PORT},
	{FAULT_PLANE, NODE, 0, 2, "at: there is no such plane"},
	{FAULT_REBOOT, NODE, 9, 10, "at: there is no such node"},
	{FAULT_REBOOT, NODE, 4, 3, "at: must be a switch"},
	{FAULT_RESTART, NODE, 3, 4, "at: must be a host"},
	{FAULT_RESTART, NODE, 3, 10, "at: there is no such node"},
	{FAULT_SKEW, NODE, 3, 4, "at: must be a host"},
	{FAULT_JUMP, NODE, 3, 4, "at: must be a host"},
};

static void edges_are_where_they_should_be(void **state)
{
	struct topology t = make(&small);
	struct fault f = plain(FAULT_DROP);

	(void)state;
	assert_int_equal(t.n_nodes, 10);
	for (uint32_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
		struct fault good = plain(edges[i].kind), bad = good;
		const char *problem;

		set(&good, edges[i].field, edges[i].good);
		problem = fault_problem(&good, &t);
		if (problem)
			fail_msg("edge %u: %s", i, problem);
		set(&bad, edges[i].field, edges[i].bad);
		problem = fault_problem(&bad, &t);
		if (!problem || strcmp(problem, edges[i].says) != 0)
			fail_msg("edge %u: %s", i, problem ? problem : "accepted");
	}
	f.port = t.n_ports - 1;
	assert_null(fault_problem(&f, &t));
	f.port = t.n_ports;
	assert_string_equal(fault_problem(&f, &t), NO_PORT);
	topology_fini(&t);
}

/* Products of the largest values must not wrap into something small. */
static void flaps_without_end_are_refused(void **state)
{
	struct topology t = make(&small);
	struct fault f = plain(FAULT_FLAP);

	(void)state;
	f.count = 1000000;
	f.amount_ps = UINT64_MAX / (2 * f.count - 1) + 1;
	assert_string_equal(fault_problem(&f, &t), "until: comes before the last flap is over");
	f.amount_ps = 1000 * PSEC_S;
	assert_string_equal(fault_problem(&f, &t), "until: comes before the last flap is over");
	topology_fini(&t);
}

struct text_case {
	struct fault fault;
	const char *line;
};

/* Port 0 of the small fabric is h0>p0.leaf0. */
static const struct text_case texts[] = {
	{{.kind = FAULT_GRAY, .ppm = 15000, .from_ps = 10 * PSEC_US, .until_ps = 2 * PSEC_MS},
	 "gray h0>p0.leaf0 1.5 % from 10 us until 2 ms"},
	{{.kind = FAULT_DROP, .ppm = 1, .match = FAULT_DATA, .until_ps = 1},
	 "drop h0>p0.leaf0 0.0001 % of data from 0 s until 1 ps"},
	{{.kind = FAULT_DROP, .ppm = 1000000, .from_ps = 1001, .until_ps = PSEC_NEVER},
	 "drop h0>p0.leaf0 100 % from 1.001 ns on"},
	{{.kind = FAULT_BURST, .ppm = 120050, .count = 7, .from_ps = 999, .until_ps = PSEC_S},
	 "burst h0>p0.leaf0 12.005 %, 7 in a row from 999 ps until 1 s"},
	{{.kind = FAULT_DUPLICATE, .ppm = 10, .match = FAULT_CONTROL, .until_ps = 61 * PSEC_S},
	 "duplicate h0>p0.leaf0 0.001 % of control from 0 s until 61 s"},
	{{.kind = FAULT_REORDER, .ppm = 20000, .amount_ps = 1500 * PSEC_NS, .until_ps = PSEC_MS},
	 "reorder h0>p0.leaf0 2 % by up to 1.5 us from 0 s until 1 ms"},
	{{.kind = FAULT_DELAY, .amount_ps = 3 * PSEC_US, .until_ps = 1000000000001},
	 "delay h0>p0.leaf0 by 3 us from 0 s until 1.000000000001 s"},
	{{.kind = FAULT_CORRUPT, .ppm = 10000, .count = 1, .until_ps = PSEC_MS},
	 "corrupt h0>p0.leaf0 1 %, 1 bit from 0 s until 1 ms"},
	{{.kind = FAULT_CORRUPT,
	  .ppm = 10000,
	  .count = 3,
	  .crc = FAULT_CRC_FCS_REPAIRED,
	  .until_ps = PSEC_MS},
	 "corrupt h0>p0.leaf0 1 %, 3 bits, FCS repaired from 0 s until 1 ms"},
	{{.kind = FAULT_FORGE, .ppm = 10000, .until_ps = PSEC_MS},
	 "forge h0>p0.leaf0 1 % from 0 s until 1 ms"},
	{{.kind = FAULT_TRUNCATE, .ppm = 10000, .until_ps = PSEC_MS},
	 "truncate h0>p0.leaf0 1 % from 0 s until 1 ms"},
	{{.kind = FAULT_BLACK_HOLE, .port = 1, .until_ps = PSEC_MS},
	 "black-hole h0>p1.leaf0 from 0 s until 1 ms"},
	{{.kind = FAULT_FLAP, .count = 2, .amount_ps = PSEC_US, .until_ps = PSEC_MS},
	 "flap h0>p0.leaf0 2 times for 1 us from 0 s until 1 ms"},
	{{.kind = FAULT_FLAP, .count = 1, .amount_ps = PSEC_US, .until_ps = PSEC_MS},
	 "flap h0>p0.leaf0 1 time for 1 us from 0 s until 1 ms"},
	{{.kind = FAULT_DOWN, .until_ps = PSEC_MS}, "down h0>p0.leaf0 from 0 s until 1 ms"},
	{{.kind = FAULT_PLANE, .node = 1, .until_ps = PSEC_MS}, "plane 1 from 0 s until 1 ms"},
	{{.kind = FAULT_PAUSE, .until_ps = PSEC_MS}, "pause h0>p0.leaf0 from 0 s until 1 ms"},
	{{.kind = FAULT_REBOOT, .node = 4, .until_ps = PSEC_MS},
	 "reboot p0.leaf0 from 0 s until 1 ms"},
	{{.kind = FAULT_RESTART, .node = 3, .from_ps = PSEC_US, .until_ps = PSEC_MS},
	 "restart h3 at 1 us"},
	{{.kind = FAULT_SKEW, .node = 2, .ppm = 50, .sign = 1, .until_ps = PSEC_MS},
	 "skew h2 +50 ppm from 0 s until 1 ms"},
	{{.kind = FAULT_SKEW, .node = 2, .ppm = 1000, .sign = -1, .until_ps = PSEC_MS},
	 "skew h2 -1000 ppm from 0 s until 1 ms"},
	{{.kind = FAULT_JUMP,
	  .node = 1,
	  .amount_ps = 250 * PSEC_US,
	  .from_ps = 5,
	  .until_ps = PSEC_MS},
	 "jump h1 by 250 us at 5 ps"},
};

static void faults_are_told(void **state)
{
	struct topology t = make(&small);
	uint64_t seen = 0;

	(void)state;
	for (uint32_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		size_t len = strlen(texts[i].line);
		char text[200], whole[200];

		assert_int_equal(fault_print(&texts[i].fault, &t, text, sizeof text), len);
		assert_string_equal(text, texts[i].line);
		seen |= UINT64_C(1) << texts[i].fault.kind;
		/* In less room: the start of it, ended, and nothing behind. */
		for (size_t room = 0; room <= len; room++) {
			memset(whole, '~', sizeof whole);
			assert_int_equal(fault_print(&texts[i].fault, &t, whole, room), len);
			if (room > 0) {
				assert_int_equal(strlen(whole), room - 1);
				assert_memory_equal(whole, text, room - 1);
			}
			assert_int_equal(whole[room], '~');
		}
		assert_int_equal(fault_print(&texts[i].fault, &t, NULL, 0), len);
	}
	assert_int_equal(seen, EVERY_KIND);
	topology_fini(&t);
}

static struct topology_cfg any_fabric(struct prng *p)
{
	struct topology_cfg cfg = small;

	if (prng_chance(p, 1, 4))
		return wire;
	cfg.hosts_per_leaf = (uint32_t)prng_range(p, 1, 4);
	cfg.hosts = cfg.hosts_per_leaf * (uint32_t)prng_range(p, 2, 4);
	cfg.spines = (uint32_t)prng_range(p, 1, 3);
	cfg.planes = cfg.nic_ports = (uint32_t)prng_range(p, 1, 4);
	cfg.uplinks = (uint32_t)prng_range(p, 1, 2);
	return cfg;
}

static void check_drawn(const struct fault *f, const struct topology *t, psec from, psec until)
{
	const char *problem = fault_problem(f, t);
	char text[300];

	if (problem)
		fail_msg("%s: %s", fault_kind_name((enum fault_kind)f->kind), problem);
	assert_true(f->from_ps >= from && f->until_ps <= until && f->until_ps != PSEC_NEVER);
	assert_true(fault_print(f, t, text, sizeof text) < sizeof text);
}

/* Fabrics, windows from a picosecond to a second, masks: what is drawn always makes sense. */
static void every_fault_drawn_makes_sense(void **state)
{
	uint64_t seed = check_seed(0xfa017), seen = 0, seen_on_wire = 0;

	(void)state;
	for (uint32_t round = 0; round < 100; round++) {
		struct prng p;

		prng_init(&p, seed, 1000000 + round);
		struct topology_cfg cfg = any_fabric(&p);
		struct topology t = make(&cfg);

		for (uint32_t i = 0; i < 100; i++) {
			psec from = prng_below(&p, PSEC_MS);
			psec until = from + 1 + (prng_below(&p, PSEC_S) >> prng_below(&p, 41));
			/* A drop can always be drawn. */
			uint64_t kinds = prng_chance(&p, 1, 2) ? UINT64_MAX : prng_u64(&p) | 1;
			struct fault f;

			prng_init(&p, seed, round * 100 + i);
			fault_draw(&f, &p, &t, kinds, from, until);
			assert_true(kinds >> f.kind & 1);
			check_drawn(&f, &t, from, until);
			*(cfg.kind == TOPOLOGY_WIRE ? &seen_on_wire : &seen) |= UINT64_C(1)
										<< f.kind;
		}
		topology_fini(&t);
	}
	assert_int_equal(seen, EVERY_KIND);
	assert_int_equal(seen_on_wire, EVERY_KIND & ~(UINT64_C(1) << FAULT_REBOOT));
}

/* What was drawn so far: a bit per value, and extremes. */
struct cover {
	uint64_t ports, nodes, matches, crcs, signs, counts;
	psec first, last, shortest, longest;
	uint32_t weakest, strongest;
};

static void note(uint64_t *bits, uint64_t value)
{
	*bits |= UINT64_C(1) << value % 64;
}

static void widen(psec *least, psec *most, psec value)
{
	*least = value < *least ? value : *least;
	*most = value > *most ? value : *most;
}

static void note_fault(struct cover *c, const struct fault *f)
{
	psec unused = 0;

	note(&c->ports, f->port);
	note(&c->nodes, f->node);
	note(&c->matches, f->match);
	note(&c->crcs, f->crc);
	note(&c->signs, (uint64_t)(f->sign + 1));
	note(&c->counts, f->count);
	widen(&c->first, &unused, f->from_ps);
	widen(&unused, &c->last, f->until_ps);
	widen(&c->shortest, &c->longest, f->until_ps - f->from_ps);
	c->weakest = f->ppm < c->weakest ? f->ppm : c->weakest;
	c->strongest = f->ppm > c->strongest ? f->ppm : c->strongest;
}

static void check_cover(const struct cover *c, enum fault_kind kind, const struct topology *t)
{
	bool has_match = kind < FAULT_FLAP && kind != FAULT_BLACK_HOLE;

	assert_true(c->first < 50 * PSEC_US && c->last > 950 * PSEC_US);
	assert_true(c->shortest < PSEC_US && c->longest > 900 * PSEC_US);
	assert_int_equal(c->matches, has_match ? 7 : 1);
	assert_int_equal(c->crcs, kind == FAULT_CORRUPT ? 7 : 1);
	assert_int_equal(c->signs, kind == FAULT_SKEW ? 5 : 2);
	if (kind <= FAULT_DOWN || kind == FAULT_PAUSE)
		assert_int_equal(c->ports, (UINT64_C(1) << t->n_ports) - 1);
	else if (kind == FAULT_PLANE)
		assert_int_equal(c->nodes, 0x3);
	else
		assert_int_equal(c->nodes, kind == FAULT_REBOOT ? 0x3f0 : 0xf);
	if (kind == FAULT_BURST)
		assert_int_equal(c->counts, UINT64_MAX);
	if (kind == FAULT_CORRUPT || kind == FAULT_FLAP)
		assert_int_equal(c->counts, 0x1fe);
	if (kind == FAULT_GRAY)
		assert_true(c->weakest < 300 && c->strongest > 200000);
	if (kind == FAULT_DROP)
		assert_true(c->weakest < 300 && c->strongest > 900000);
}

/* Alone in the mask, a kind is drawn in all its variety, and by the seed alone. */
static void draws_cover_places_times_and_strengths(void **state)
{
	struct topology t = make(&small);

	(void)state;
	for (uint32_t kind = 0; kind < FAULT_KIND_COUNT; kind++) {
		struct cover c = {
			.first = PSEC_NEVER, .shortest = PSEC_NEVER, .weakest = UINT32_MAX};

		for (uint32_t seed = 0; seed < 2000; seed++) {
			struct fault f, same;
			struct prng p, q;

			prng_init(&p, seed, kind);
			prng_init(&q, seed, kind);
			memset(&same, 0xff, sizeof same);
			fault_draw(&f, &p, &t, UINT64_C(1) << kind, PSEC_US, PSEC_MS);
			fault_draw(&same, &q, &t, UINT64_C(1) << kind, PSEC_US, PSEC_MS);
			assert_int_equal(f.kind, kind);
			assert_int_equal(same.from_ps, f.from_ps);
			assert_int_equal(same.ppm, f.ppm);
			check_drawn(&f, &t, PSEC_US, PSEC_MS);
			note_fault(&c, &f);
		}
		check_cover(&c, (enum fault_kind)kind, &t);
	}
	topology_fini(&t);
}

static void draw_none(void *context)
{
	struct prng p;
	struct fault f;

	prng_init(&p, 1, 1);
	fault_draw(&f, &p, context, ~EVERY_KIND, 0, 1);
}

static void draw_a_reboot_on_a_wire(void *context)
{
	struct prng p;
	struct fault f;

	prng_init(&p, 1, 1);
	fault_draw(&f, &p, context, UINT64_C(1) << FAULT_REBOOT, 0, 1);
}

static void draw_in_no_time(void *context)
{
	struct prng p;
	struct fault f;

	prng_init(&p, 1, 1);
	fault_draw(&f, &p, context, EVERY_KIND, 5, 5);
}

static void print_nonsense(void *context)
{
	struct fault f = plain(FAULT_DROP);
	char text[10];

	f.ppm = 0;
	fault_print(&f, context, text, sizeof text);
}

static void name_nothing(void *context)
{
	(void)context;
	fault_kind_name(FAULT_KIND_COUNT);
}

static void mistakes_abort(void **state)
{
	static void (*const mistakes[])(void *) = {
		draw_none, draw_a_reboot_on_a_wire, draw_in_no_time, print_nonsense, name_nothing,
	};
	struct topology t = make(&wire);

	(void)state;
	for (uint32_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
		assert_true(check_aborts(mistakes[i], &t));
	topology_fini(&t);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(names_are_found),
	cmocka_unit_test(plain_faults_are_accepted),
	cmocka_unit_test(edges_are_where_they_should_be),
	cmocka_unit_test(flaps_without_end_are_refused),
	cmocka_unit_test(faults_are_told),
	cmocka_unit_test(every_fault_drawn_makes_sense),
	cmocka_unit_test(draws_cover_places_times_and_strengths),
	cmocka_unit_test(mistakes_abort),
};

CHECK_MAIN(cases)
