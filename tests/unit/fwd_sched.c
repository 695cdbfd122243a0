#include "fwd/sched.h"

#include <string.h>

#include "base/prng.h"
#include "check.h"

enum { QUANTUM = 9216 };

/* Weights and levels of up to FWD_CLASSES classes. */
struct shape {
	uint8_t n;
	uint8_t level[FWD_CLASSES];
	uint16_t weight[FWD_CLASSES];
};

static struct fwd_qos table(const struct shape *shape)
{
	struct fwd_qos qos = {.n_classes = shape->n};

	for (uint32_t c = 0; c < shape->n; c++) {
		qos.classes[c].level = shape->level[c];
		qos.classes[c].weight = shape->weight[c];
	}
	return qos;
}

static const uint32_t kilo[FWD_CLASSES] = {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000};

/* What a fresh scheduler sends, a digit per packet: the i-th digit of ready, in hexadecimal, says
 * which classes have packets then. Its last digit stands for all that follow. */
static void check_order(const struct shape *shape, const uint32_t *bytes, const char *ready,
			const char *want)
{
	struct fwd_qos qos = table(shape);
	struct fwd_sched s = {0};
	char got[64] = "";

	for (uint32_t i = 0; want[i]; i++) {
		char digit = ready[i < strlen(ready) ? i : strlen(ready) - 1];
		uint32_t mask = (uint32_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
		int c = fwd_sched_next(&s, &qos, mask, bytes, 1000);

		got[i] = c == FWD_SCHED_NONE ? '-' : (char)('0' + c);
	}
	assert_string_equal(got, want);
}

static void orders_are_as_written_by_hand(void **state)
{
	static const struct shape flat = {3, {0, 0, 0}, {1, 1, 1}};
	static const struct shape weighted = {3, {0, 0, 0}, {1, 3, 2}};
	static const struct shape strict = {3, {0, 1, 2}, {1, 1, 1}};
	static const struct shape mixed = {4, {0, 3, 0, 3}, {2, 1, 1, 1}};
	static const uint32_t halves[FWD_CLASSES] = {500, 1000, 400};

	(void)state;
	check_order(&flat, kilo, "7", "012012012012");
	check_order(&flat, halves, "7", "001220012220012200122");
	check_order(&flat, kilo, "0", "---");
	check_order(&flat, kilo, "02040700", "-1-2-0--");
	check_order(&weighted, kilo, "7", "011122011122");
	check_order(&weighted, kilo, "5", "022022");
	check_order(&strict, kilo, "7", "22222");
	check_order(&strict, kilo, "3", "11111");
	check_order(&strict, kilo, "13731", "01210");
	check_order(&mixed, kilo, "f", "131313");
	/* The urgent level comes and goes, and the turns of the other stay where they were. Class 0
	 * goes away in the middle of a turn, at the eighth packet, and comes back without credit.
	 */
	check_order(&mixed, kilo, "5755ff5455505", "01023102002-0");
}

/* Not to be: a quantum is at least a packet. But no packet waits for ever. */
static void a_packet_beyond_the_quantum_waits_for_more_rounds(void **state)
{
	static const struct shape flat = {2, {0, 0}, {1, 1}};
	static const uint32_t bytes[FWD_CLASSES] = {2500, 1000};

	(void)state;
	check_order(&flat, bytes, "3", "1101101110");
	/* What it earned while it waited is lost when it goes. */
	check_order(&flat, bytes, "32333", "11110");
	check_order(&flat, bytes, "1", "0000");
}

/* The scheduler in its plainest words, held against the real one. */
struct model {
	int64_t deficit[FWD_CLASSES];
	int turn[FWD_CLASSES];
};

static void model_init(struct model *m)
{
	*m = (struct model){0};
	for (uint32_t level = 0; level < FWD_CLASSES; level++)
		m->turn[level] = -1;
}

static int model_next(struct model *m, const struct shape *shape, uint32_t ready,
		      const uint32_t *bytes)
{
	int level = -1;

	for (uint32_t c = 0; c < shape->n; c++)
		if (!(ready >> c & 1))
			m->deficit[c] = 0;
		else if (shape->level[c] > level)
			level = shape->level[c];
	if (level < 0)
		return FWD_SCHED_NONE;
	int c = m->turn[level];
	bool is_fresh = false;

	for (;;) {
		if (c >= 0 && ready >> c & 1 && shape->level[c] == level) {
			m->deficit[c] += is_fresh ? (int64_t)shape->weight[c] * QUANTUM : 0;
			if (m->deficit[c] >= bytes[c])
				break;
		}
		c = (c + 1) % (int)FWD_CLASSES;
		is_fresh = true;
	}
	m->turn[level] = c;
	m->deficit[c] -= bytes[c];
	return c;
}

static struct shape any_shape(struct prng *p)
{
	struct shape shape = {.n = (uint8_t)prng_range(p, 1, FWD_CLASSES)};
	uint64_t levels = prng_range(p, 1, FWD_CLASSES), weights = prng_chance(p, 1, 4) ? 65535 : 5;

	for (uint32_t c = 0; c < shape.n; c++) {
		shape.level[c] = (uint8_t)prng_below(p, levels);
		shape.weight[c] = (uint16_t)prng_range(p, 1, weights);
	}
	return shape;
}

/* No packet waits while the link is idle, and none while a less urgent one is sent. */
static void check_choice(const struct shape *shape, uint32_t ready, int c)
{
	assert_int_equal(c == FWD_SCHED_NONE, ready == 0);
	if (c == FWD_SCHED_NONE)
		return;
	assert_in_range(c, 0, shape->n - 1);
	assert_true(ready >> c & 1);
	for (uint32_t other = 0; other < shape->n; other++)
		if (ready >> other & 1)
			assert_true(shape->level[other] <= shape->level[c]);
}

static void random_queues_agree_with_model(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0x5c4ed), 0);
	for (uint32_t run = 0; run < 200; run++) {
		struct shape shape = any_shape(&p);
		struct fwd_qos qos = table(&shape);
		struct fwd_sched s = {0};
		struct model m;
		uint32_t queue[FWD_CLASSES] = {0}, bytes[FWD_CLASSES];
		uint64_t busy = prng_range(&p, 1, 12);

		model_init(&m);
		for (uint32_t c = 0; c < FWD_CLASSES; c++)
			bytes[c] = (uint32_t)prng_range(&p, 1, QUANTUM);
		for (uint32_t i = 0; i < 1000; i++) {
			uint32_t ready = 0, lengths[FWD_CLASSES];

			for (uint32_t c = 0; c < shape.n; c++) {
				queue[c] += prng_chance(&p, busy, 24) ? 1 : 0;
				ready |= queue[c] ? 1u << c : 0;
			}
			/* The length of a packet that is not there is anything. */
			for (uint32_t c = 0; c < FWD_CLASSES; c++)
				lengths[c] = ready >> c & 1 ? bytes[c] : prng_u32(&p);
			int got = fwd_sched_next(&s, &qos, ready, lengths, QUANTUM);

			check_choice(&shape, ready, got);
			assert_int_equal(got, model_next(&m, &shape, ready, lengths));
			for (uint32_t c = 0; c < FWD_CLASSES; c++)
				assert_int_equal(s.deficit[c], m.deficit[c]);
			if (got == FWD_SCHED_NONE)
				continue;
			queue[got]--;
			bytes[got] = (uint32_t)prng_range(&p, 1, QUANTUM);
		}
	}
}

/* Between two classes that always have packets, what each sent by its weight differs by no more
 * than a quantum and a packet: that is as near as whole turns and whole packets come. */
static void backlogged_classes_share_by_weight(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0x5c4ee), 0);
	for (uint32_t run = 0; run < 40; run++) {
		struct shape shape = {.n = (uint8_t)prng_range(&p, 2, FWD_CLASSES)};
		uint64_t sent[FWD_CLASSES] = {0};
		uint32_t bytes[FWD_CLASSES], longest[FWD_CLASSES];
		struct fwd_sched s = {0};

		for (uint32_t c = 0; c < FWD_CLASSES; c++) {
			shape.weight[c] = (uint16_t)prng_range(&p, 1, 10);
			longest[c] = (uint32_t)prng_range(&p, 1, QUANTUM);
			bytes[c] = longest[c];
		}
		struct fwd_qos qos = table(&shape);

		for (uint32_t i = 0; i < 1500; i++) {
			int c = fwd_sched_next(&s, &qos, (1u << shape.n) - 1, bytes, QUANTUM);

			sent[c] += bytes[c];
			bytes[c] = (uint32_t)prng_range(&p, (longest[c] + 1) / 2, longest[c]);
			for (uint32_t a = 0; a < shape.n; a++)
				for (uint32_t b = 0; b < shape.n; b++) {
					uint64_t wa = shape.weight[a], wb = shape.weight[b];
					uint64_t slack = QUANTUM * wa * wb + QUANTUM * wa;

					assert_true(sent[a] * wb <= sent[b] * wa + slack);
				}
		}
	}
}

/* A light class that comes back the moment it was served gets its share and no more. */
static void a_class_that_comes_and_goes_takes_no_more_than_its_share(void **state)
{
	static const struct shape shape = {2, {0, 0}, {9, 1}};
	struct fwd_qos qos = table(&shape);
	struct fwd_sched s = {0};
	uint32_t light = 0;
	bool is_away = false;

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		int c = fwd_sched_next(&s, &qos, is_away ? 1 : 3, kilo, 1000);

		is_away = c == 1;
		light += c == 1;
	}
	assert_in_range(light, 999, 1001);
}

/* Time alone is neither saved up nor owed: whoever joins late waits for one turn at most. */
static void time_alone_is_not_held_against_anyone(void **state)
{
	static const struct shape shape = {2, {0, 0}, {4, 4}};
	struct fwd_qos qos = table(&shape);

	(void)state;
	for (uint32_t alone = 0; alone < 50; alone++) {
		struct fwd_sched s = {0};
		int32_t lead = 0;

		for (uint32_t i = 0; i < alone; i++)
			assert_int_equal(fwd_sched_next(&s, &qos, 1, kilo, 1000), 0);
		for (uint32_t i = 0; i < 100; i++) {
			lead += fwd_sched_next(&s, &qos, 3, kilo, 1000) == 0 ? 1 : -1;
			assert_in_range(lead + 4, 0, 8);
		}
	}
}

/* The largest weight earns more than 32 bits hold in one turn, and all of it counts. */
static void the_largest_turn_is_served_whole(void **state)
{
	static const struct shape shape = {2, {7, 7}, {UINT16_MAX, 1}};
	static const uint32_t bytes[FWD_CLASSES] = {65600, 65600};
	struct fwd_qos qos = table(&shape);
	struct fwd_sched s = {0};

	(void)state;
	for (uint32_t i = 0; i < UINT16_MAX; i++)
		assert_int_equal(fwd_sched_next(&s, &qos, 3, bytes, 65600), 0);
	assert_int_equal(fwd_sched_next(&s, &qos, 3, bytes, 65600), 1);
	assert_int_equal(fwd_sched_next(&s, &qos, 3, bytes, 65600), 0);
}

static void ready_beyond_classes(void *context)
{
	struct fwd_sched s = {0};

	fwd_sched_next(&s, context, 4, kilo, 1000);
}

static void nothing_to_earn(void *context)
{
	struct fwd_sched s = {0};

	fwd_sched_next(&s, context, 1, kilo, 0);
}

static void mistakes_abort(void **state)
{
	static const struct shape shape = {2, {0, 0}, {1, 1}};
	struct fwd_qos qos = table(&shape);

	(void)state;
	qos.classes[2].weight = 1; /* nothing but the number of classes is wrong */
	assert_true(check_aborts(ready_beyond_classes, &qos));
	assert_true(check_aborts(nothing_to_earn, &qos));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(orders_are_as_written_by_hand),
	cmocka_unit_test(a_packet_beyond_the_quantum_waits_for_more_rounds),
	cmocka_unit_test(random_queues_agree_with_model),
	cmocka_unit_test(backlogged_classes_share_by_weight),
	cmocka_unit_test(a_class_that_comes_and_goes_takes_no_more_than_its_share),
	cmocka_unit_test(time_alone_is_not_held_against_anyone),
	cmocka_unit_test(the_largest_turn_is_served_whole),
	cmocka_unit_test(mistakes_abort),
};

CHECK_MAIN(cases)
