/* Programs of the packet filter, run by a second reading of what the kernel says of them, against
 * the carriers' rules and the parser. */
#include "filter_run.h"

#include <string.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "carriers.h"
#include "check.h"
#include "io/raw_inside.h"
#include "wire/mrc.h"
#include "wire/net.h"

enum { ANYONE = 1001, UNKNOWN, TAGGED = 2000 };

static const struct carrier *const all[] = {&carrier_roce, &carriers_uet, &carriers_uet_native,
					    &carriers_falcon, &carriers_toy};
#define N_ALL (sizeof all / sizeof all[0])

/* The program of the rules alone: what it returns is what the rules say, of any bytes. Bytes that
 * the rules look at are often as they want them. */
static void owners_are_as_the_rules_say(void **state)
{
	static const struct filter_ends ends = {ANYONE, UNKNOWN};
	uint64_t seed = check_seed(0xf11);
	struct prng random;

	(void)state;
	prng_init(&random, seed, 0);
	for (uint32_t n = 0; n < 200000; n++) {
		const struct carrier *c = all[n % N_ALL];
		uint32_t at = (uint32_t)prng_below(&random, 40), want = UNKNOWN;
		struct filter f = {.n = 0};
		uint8_t bytes[128];

		for (uint32_t i = 0; i < sizeof bytes; i++)
			bytes[i] = prng_chance(&random, 1, 2) ? 0 : (uint8_t)prng_u32(&random);
		for (uint32_t r = 0; r < c->n_rules; r++)
			for (uint32_t k = 0; k < c->rules[r].n_match; k++) {
				const struct carrier_match *m = &c->rules[r].match[k];
				uint8_t *word = bytes + at + m->at;

				if (prng_chance(&random, 1, 2))
					put_be32(word, (get_be32(word) & ~m->mask) | m->value);
			}
		const struct carrier_rule *rule = carrier_rule_of(c, bytes + at);

		if (rule && rule->owner == CARRIER_NUMBER)
			want = TAGGED + carrier_tag(c, rule, bytes + at);
		else if (rule && rule->owner == CARRIER_ANYONE)
			want = ANYONE;
		filter_owner(&f, c, &ends);
		filter_step(&f, BPF_ALU | BPF_ADD, TAGGED);
		filter_step(&f, BPF_RET | BPF_A, 0);
		assert_int_equal(filter_run(&f, (struct cspan){bytes, sizeof bytes}, at), want);
		/* What is too short for the rule that holds is nobody's. */
		uint32_t got = filter_run(
			&f, (struct cspan){bytes, at + (uint32_t)prng_below(&random, 60)}, at);

		assert_true(got == want || got == 0 || got == UNKNOWN);
	}
}

/* The raw driver's program takes what the parser takes and the rules give to its tag, and what
 * belongs to everyone; under encapsulations and bare, by UDP and without. */
static void raw_frames_are_taken_by_tag(void **state)
{
	uint64_t seed = check_seed(0xf12);
	uint32_t taken = 0, left = 0;
	struct prng random;

	(void)state;
	prng_init(&random, seed, 0);
	for (uint32_t n = 0; n < 20000; n++) {
		const struct carrier *c = all[n % N_ALL];
		struct carriers known = {.n = 0};
		struct filter f;
		uint8_t frame[256] = {0};
		uint32_t transport, len;

		carriers_add(&known, c, 0);
		len = filter_frame(&known.use[0], n / N_ALL % FILTER_SHAPES, NULL, frame,
				   &transport);
		for (uint32_t i = transport; i < len; i++)
			frame[i] = prng_chance(&random, 1, 2) ? 0 : (uint8_t)prng_u32(&random);
		const struct carrier_rule *rule = carrier_rule_of(c, frame + transport);
		bool is_tagged = rule && rule->owner == CARRIER_NUMBER;
		uint8_t own = is_tagged ? carrier_tag(c, rule, frame + transport) : 7;
		uint8_t tag = prng_chance(&random, 1, 2) ? own : (uint8_t)(own ^ 1);
		struct cspan packet = {frame, len};

		raw_filter_make(&f, &known.use[0], tag);
		assert_int_equal(filter_run(&f, packet, 0) != 0, !is_tagged || tag == own);
		taken += !is_tagged || tag == own;
		left += is_tagged && tag != own;
		/* To another port or protocol, and what ends before its number. */
		raw_filter_make(&f, &known.use[0], own);
		if (c->port)
			frame[transport - 5] ^= 1;
		else if (n / N_ALL % 4 == 3)
			frame[14 + 9] ^= 1;
		else
			frame[transport - 4 - 40 + 6] ^= 1;
		assert_int_equal(filter_run(&f, packet, 0), 0);
		packet.len = transport - 1;
		assert_int_equal(filter_run(&f, packet, 0), 0);
	}
	assert_true(taken > 1000 && left > 1000);
}

/* Of RoCE the numbers below 3 are nobody's own, but answers to endpoint operations are to who
 * asked, whose tag the id begins with. */
static void roce_by_its_words(void **state)
{
	static const struct {
		uint8_t opcode, qp[3], id;
		uint32_t want;
	} rows[] = {
		{0x04, {0x42, 0, 9}, 0, TAGGED + 0x42}, {0x04, {0, 0, 3}, 0, TAGGED},
		{0x04, {0, 0, 0}, 0x42, UNKNOWN},       {0x04, {0, 0, 1}, 0x42, UNKNOWN},
		{0x04, {0, 0, 2}, 0x42, UNKNOWN},       {0, {0, 0, 2}, 0x42, ANYONE},
		{0, {0, 0, 2}, 0x42, TAGGED + 0x42},
	};
	static const struct filter_ends ends = {ANYONE, UNKNOWN};
	struct filter f = {.n = 0};

	(void)state;
	filter_owner(&f, &carrier_roce, &ends);
	filter_step(&f, BPF_ALU | BPF_ADD, TAGGED);
	filter_step(&f, BPF_RET | BPF_A, 0);
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint8_t bth[12] = {rows[i].opcode};

		if (rows[i].opcode == 0)
			bth[0] = i == 5 ? MRC_OP_ENDPOINT_REQUEST : MRC_OP_ENDPOINT_RESPONSE;
		memcpy(bth + 5, rows[i].qp, 3);
		bth[10] = rows[i].id;
		assert_int_equal(filter_run(&f, (struct cspan){bth, sizeof bth}, 0), rows[i].want);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(owners_are_as_the_rules_say),
	cmocka_unit_test(raw_frames_are_taken_by_tag),
	cmocka_unit_test(roce_by_its_words),
};

CHECK_MAIN(cases)
