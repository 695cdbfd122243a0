#include "sim/patterns.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "flows.h"

#define SEEDS 200u

/* Every flow has what cfg says, and runs between two hosts. */
static void check_common(const struct workload *w, const struct workload_cfg *cfg)
{
	for (uint32_t i = 0; i < w->n; i++) {
		const struct workload_flow *f = &w->flows[i];

		assert_true(f->src < cfg->hosts && f->dst < cfg->hosts && f->src != f->dst);
		assert_true(f->bytes >= 1);
		assert_int_equal(f->message_bytes, cfg->message_bytes);
		assert_int_equal(f->window, cfg->window);
		assert_int_equal(f->gap_ps, cfg->gap_ps);
		assert_int_equal(f->id, i);
	}
}

/* Starts flows as the ones they wait for are done, in an order of its own; every one must get its
 * turn. step[i] becomes the length of the longest chain that ends at flow i. */
static uint32_t run(const struct workload *w, uint32_t *step)
{
	uint32_t *left = calloc(w->n + 1, sizeof *left), *ready = calloc(w->n + 1, sizeof *ready);
	uint32_t n = 0, done = 0, longest = 0;

	assert_true(left && ready);
	for (uint32_t i = 0; i < w->n; i++) {
		left[i] = w->flows[i].n_before;
		step[i] = 1;
		if (left[i] == 0)
			ready[n++] = i;
	}
	while (n > 0) {
		uint32_t i = ready[--n];
		const struct workload_flow *f = &w->flows[i];

		done++;
		longest = step[i] > longest ? step[i] : longest;
		assert_true(f->first_after + f->n_after <= w->n_after);
		for (uint32_t k = 0; k < f->n_after; k++) {
			uint32_t later = w->after[f->first_after + k];

			assert_true(later < w->n && left[later] > 0);
			step[later] = step[i] + 1 > step[later] ? step[i] + 1 : step[later];
			if (--left[later] == 0)
				ready[n++] = later;
		}
	}
	assert_int_equal(done, w->n);
	free(left);
	free(ready);
	return longest;
}

static bool waits(const struct workload *w, uint32_t later, uint32_t before)
{
	const struct workload_flow *f = &w->flows[before];

	for (uint32_t k = 0; k < f->n_after; k++)
		if (w->after[f->first_after + k] == later)
			return true;
	return false;
}

static uint64_t total(const struct workload *w)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < w->n; i++)
		bytes += w->flows[i].bytes * w->flows[i].repeat;
	return bytes;
}

static void a_single_flow(void **state)
{
	struct workload_cfg cfg = flows_plain(WORKLOAD_SINGLE, 4);

	(void)state;
	cfg.src = 3;
	cfg.repeat = 5;
	cfg.gap_ps = 11;
	cfg.stagger_ps = 99;
	struct workload w = flows_build(&cfg, 1);

	assert_int_equal(w.n, 1);
	check_common(&w, &cfg);
	assert_int_equal(w.flows[0].src, 3);
	assert_int_equal(w.flows[0].dst, 1);
	assert_int_equal(w.flows[0].repeat, 5);
	assert_int_equal(w.flows[0].start_ps, 7 * PSEC_US);
	assert_int_equal(total(&w), 5000);
	workload_fini(&w);
}

static void a_permutation_has_no_fixed_point(void **state)
{
	uint64_t seed = check_seed(0x3071);
	uint32_t met[5] = {0};

	(void)state;
	for (uint32_t round = 0; round < SEEDS; round++) {
		struct workload_cfg cfg = flows_plain(WORKLOAD_PERMUTATION, 2 + round % 70);
		uint8_t receives[72] = {0};

		cfg.stagger_ps = 13;
		struct workload w = flows_build(&cfg, seed + round);

		assert_int_equal(w.n, cfg.hosts);
		check_common(&w, &cfg);
		for (uint32_t i = 0; i < w.n; i++) {
			assert_int_equal(w.flows[i].src, i);
			assert_int_equal(receives[w.flows[i].dst]++, 0);
			assert_int_equal(w.flows[i].start_ps, 7 * PSEC_US + 13 * i);
		}
		workload_fini(&w);
	}
	/* Host 0 of five sends to each of the others about as often. */
	for (uint32_t round = 0; round < 4000; round++) {
		struct workload_cfg cfg = flows_plain(WORKLOAD_PERMUTATION, 5);
		struct workload w = flows_build(&cfg, round);

		met[w.flows[0].dst]++;
		workload_fini(&w);
	}
	for (uint32_t i = 1; i < 5; i++)
		assert_in_range(met[i], 880, 1120);
}

static uint32_t victim_of(const struct workload *w)
{
	assert_int_equal(w->flows[w->n - 1].role, WORKLOAD_VICTIM);
	return w->n - 1;
}

static void check_incast(const struct workload *w, const struct workload_cfg *cfg, uint8_t *sends)
{
	assert_int_equal(w->n, cfg->fan_in + cfg->victims);
	check_common(w, cfg);
	for (uint32_t i = 0; i < cfg->fan_in; i++) {
		assert_int_equal(w->flows[i].dst, cfg->dst);
		assert_int_equal(w->flows[i].role, WORKLOAD_FLOW);
		assert_int_equal(w->flows[i].start_ps, cfg->start_ps + i * cfg->stagger_ps);
		assert_int_equal(sends[w->flows[i].src]++, 0);
	}
}

/* A victim's source as good as there is one. */
static void check_victim(const struct workload *w, const struct workload_cfg *cfg,
			 const uint8_t *sends)
{
	const struct workload_flow *v = &w->flows[victim_of(w)];
	uint32_t per_leaf = cfg->hosts_per_leaf, leaf = cfg->dst / per_leaf;
	bool has_far = false, has_far_idle = false, is_far = v->src / per_leaf != leaf;

	assert_int_equal(v->dst / per_leaf, leaf);
	assert_true(v->dst != cfg->dst && v->src != cfg->dst);
	for (uint32_t i = 0; i < cfg->hosts; i++) {
		has_far = has_far || i / per_leaf != leaf;
		has_far_idle = has_far_idle || (i / per_leaf != leaf && !sends[i]);
		if (i / per_leaf == leaf && i != cfg->dst && !sends[i])
			assert_false(sends[v->dst]);
	}
	assert_int_equal(is_far, has_far);
	if (has_far_idle)
		assert_false(sends[v->src]);
}

static void an_incast_and_its_victim(void **state)
{
	uint64_t seed = check_seed(0x3072);
	uint32_t dst_met[16] = {0}, victims = 0;
	struct prng p;

	(void)state;
	prng_init(&p, seed, 0);
	for (uint32_t round = 0; round < 20 * SEEDS; round++) {
		struct workload_cfg cfg =
			flows_plain(WORKLOAD_INCAST, 3 + (uint32_t)prng_below(&p, 14));
		uint8_t sends[16 + 1] = {0};

		cfg.dst = (uint32_t)prng_below(&p, cfg.hosts);
		cfg.fan_in = (uint32_t)prng_range(&p, 1, cfg.hosts - 1);
		cfg.hosts_per_leaf = (uint32_t)prng_range(&p, 2, 6);
		cfg.victims = (uint32_t)prng_below(&p, 2);
		cfg.stagger_ps = prng_below(&p, 1000);
		if (cfg.dst + 1 == cfg.hosts && cfg.dst % cfg.hosts_per_leaf == 0)
			cfg.victims = 0;
		struct workload w = flows_build(&cfg, prng_u64(&p));

		check_incast(&w, &cfg, sends);
		if (cfg.victims) {
			check_victim(&w, &cfg, sends);
			victims++;
		}
		workload_fini(&w);
	}
	assert_true(victims > SEEDS);
	/* Each of the 15 others is one of 5 senders a third of the time. */
	for (uint32_t round = 0; round < 3000; round++) {
		struct workload_cfg cfg = flows_plain(WORKLOAD_INCAST, 16);

		cfg.fan_in = 5;
		struct workload w = flows_build(&cfg, round);

		for (uint32_t i = 0; i < w.n; i++)
			dst_met[w.flows[i].src]++;
		workload_fini(&w);
	}
	for (uint32_t i = 0; i < 16; i++)
		assert_in_range(dst_met[i], i == 1 ? 0 : 900, i == 1 ? 0 : 1100);
}

/* Leaf 0 has dst, leaf 1 a sender and two idle hosts, leaf 2 only idle ones: the victim starts
 * where the incast does. */
static void a_victim_shares_the_senders_uplinks(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		struct workload_cfg cfg = flows_plain(WORKLOAD_INCAST, 12);

		cfg.fan_in = 1;
		cfg.victims = 1;
		struct workload w = flows_build(&cfg, seed);
		uint32_t sender = w.flows[0].src, source = w.flows[1].src;

		if (sender / 4 > 0)
			assert_int_equal(source / 4, sender / 4);
		assert_true(source != sender && source / 4 > 0);
		workload_fini(&w);
	}
}

static void all_to_all_in_shifted_order(void **state)
{
	(void)state;
	for (uint32_t n = 2; n < 20; n++) {
		struct workload_cfg cfg = flows_plain(WORKLOAD_ALL_TO_ALL, 20);
		uint8_t met[20][20] = {{0}};

		cfg.members = n;
		cfg.stagger_ps = 3;
		cfg.repeat = 2;
		struct workload w = flows_build(&cfg, 1);

		assert_int_equal(w.n, n * (n - 1));
		assert_int_equal(w.n_after, 0);
		check_common(&w, &cfg);
		assert_int_equal(total(&w), 2000 * n * (n - 1));
		for (uint32_t i = 0; i < w.n; i++) {
			const struct workload_flow *f = &w.flows[i];

			assert_int_equal(f->src, i % n);
			assert_int_equal(f->dst, (i % n + 1 + i / n) % n);
			assert_int_equal(met[f->src][f->dst]++, 0);
			assert_int_equal(f->start_ps, 7 * PSEC_US + 3 * i);
		}
		workload_fini(&w);
	}
	struct workload_cfg cfg = flows_plain(WORKLOAD_ALL_TO_ALL, 9);
	struct workload w = flows_build(&cfg, 1);

	assert_int_equal(w.n, 72);
	workload_fini(&w);
}

/* Carries the shares around: host h holds in sum[h][share] the set of hosts whose part it has added
 * up. Flows carry the share whose size and number the pattern implies, in dependency order, which
 * for a ring is the order of the flows. */
static void check_ring_result(const struct workload *w, uint32_t n)
{
	uint32_t sum[8][8], steps = 2 * (n - 1);

	assert(n >= 2 && n <= 8);
	for (uint32_t h = 0; h < n; h++)
		for (uint32_t share = 0; share < n; share++)
			sum[h][share] = 1u << h;
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t src = w->flows[i].src, step = i / n % steps;
		uint32_t share = (src + steps + 2 - step) % n;

		if (step < n - 1)
			sum[w->flows[i].dst][share] |= sum[src][share];
		else
			sum[w->flows[i].dst][share] = sum[src][share];
	}
	for (uint32_t h = 0; h < n; h++)
		for (uint32_t share = 0; share < n; share++)
			assert_int_equal(sum[h][share], (1u << n) - 1);
}

static void a_ring_reduces(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 7 * 9; round++) {
		struct workload_cfg cfg = flows_plain(WORKLOAD_RING, 8);
		uint32_t n = 2 + round % 7, steps = 2 * (n - 1), step[8 * 14 * 3];

		cfg.members = n;
		cfg.bytes = n + round;
		cfg.repeat = 1 + round % 3;
		cfg.stagger_ps = 5;
		struct workload w = flows_build(&cfg, 1);

		assert_int_equal(w.n, steps * n * cfg.repeat);
		check_common(&w, &cfg);
		assert_int_equal(run(&w, step), steps * cfg.repeat);
		assert_int_equal(total(&w), steps * cfg.bytes * cfg.repeat);
		for (uint32_t i = 0; i < w.n; i++) {
			const struct workload_flow *f = &w.flows[i];
			uint32_t share = (f->src + 2 * n - i / n % steps) % n;

			assert_int_equal(f->dst, (f->src + 1) % n);
			assert_int_equal(f->repeat, 1);
			assert_int_equal(step[i], i / n + 1);
			assert_int_equal(f->n_before, i >= n);
			assert_int_equal(f->start_ps, 7 * PSEC_US + 5 * f->src);
			assert_int_equal(f->bytes, cfg.bytes / n + (share < cfg.bytes % n));
			/* What a host sends it got from the one before it. */
			if (i >= n)
				assert_true(waits(&w, i, i / n * n - n + (i % n + n - 1) % n));
		}
		check_ring_result(&w, n);
		workload_fini(&w);
	}
}

/* A tree's flows in words: which chunk, whether up, of which node. */
static void check_tree_flow(const struct workload *w, const struct workload_cfg *cfg, uint32_t i)
{
	const struct workload_flow *f = &w->flows[i];
	uint32_t n = cfg->members, group = i / (2 * (n - 1)), at = i % (2 * (n - 1));
	uint32_t base = group * 2 * (n - 1), chunks = w->n / (2 * (n - 1)) / cfg->repeat;
	bool is_up = at < n - 1;
	uint32_t v = is_up ? f->src : f->dst, parent = is_up ? f->dst : f->src, before = 0;

	assert_int_equal(parent, (v - 1) / 2);
	assert_int_equal(f->start_ps, cfg->start_ps + f->src * cfg->stagger_ps);
	for (uint32_t k = base; k < base + 2 * (n - 1); k++) {
		const struct workload_flow *g = &w->flows[k];
		bool k_up = k < base + n - 1, must;

		/* Up: after the children's; down: after the parent's, or at the root after all
		 * that came up to it. */
		if (is_up)
			must = k_up && g->dst == v;
		else
			must = parent == 0 ? k_up && g->dst == 0 : !k_up && g->dst == parent;
		assert_int_equal(waits(w, i, k), must);
		before += must;
	}
	/* The lowest nodes also wait for the last pass of their chunk. */
	if (is_up && 2 * v + 1 >= n && group >= chunks) {
		uint32_t last = base - chunks * 2 * (n - 1);

		assert_true(waits(w, i, last + n - 1 + v - 1));
		before++;
	}
	assert_int_equal(f->n_before, before);
}

static void a_tree_reduces_and_broadcasts(void **state)
{
	static uint32_t step[20000];

	(void)state;
	for (uint32_t n = 2; n < 18; n++) {
		for (uint32_t chunks = 1; chunks < 5; chunks++) {
			struct workload_cfg cfg = flows_plain(WORKLOAD_TREE, 18);
			uint32_t depth = 31 - (uint32_t)__builtin_clz(n);

			cfg.members = n;
			cfg.chunk_bytes = chunks == 1 ? (n % 2 ? 0 : 5000) : 100;
			cfg.bytes = chunks == 1 ? 1000 : 100 * chunks - n;
			cfg.repeat = 1 + n % 3;
			cfg.stagger_ps = 17;
			struct workload w = flows_build(&cfg, 1);
			uint32_t flows = 2 * (n - 1) * chunks * cfg.repeat;

			assert_int_equal(w.n, flows);
			check_common(&w, &cfg);
			assert_int_equal(total(&w), 2 * (n - 1) * cfg.bytes * cfg.repeat);
			assert_int_equal(run(&w, step), 2 * depth * cfg.repeat);
			for (uint32_t i = 0; i < flows; i++) {
				uint32_t chunk = i / (2 * (n - 1)) % chunks;

				check_tree_flow(&w, &cfg, i);
				if (chunks > 1)
					assert_int_equal(w.flows[i].bytes,
							 chunk < chunks - 1 ? 100 : 100 - n);
			}
			workload_fini(&w);
		}
	}
}

/* Fixed sizes at half of 400 Gb/s: 10,000 bytes each 400 ns. */
static void arrivals_are_poisson(void **state)
{
	static const struct workload_size fixed[] = {{10000, 1000000}};
	struct workload_cfg cfg = flows_plain(WORKLOAD_RANDOM, 8);
	/* A gap is longer than k ln 2 means with chance 2^-k, and shorter than ln(4/3) means with
	 * chance 1/4; counted of 2^16 gaps per row. */
	static const struct {
		uint64_t above_ps;
		uint32_t chance; /* of 65536 */
	} tails[] = {
		{115073, 49152}, {277259, 32768}, {554518, 16384}, {1109035, 4096}, {2218071, 256}};
	uint32_t above[5] = {0}, to[8] = {0}, gaps = 0;

	(void)state;
	cfg.sizes = fixed;
	cfg.n_sizes = 1;
	cfg.duration_ps = 8192 * 400 * PSEC_NS;
	cfg.stagger_ps = WORKLOAD_TIME_MAX;
	struct workload w = flows_build(&cfg, 0x3073);
	psec last = 0;

	check_common(&w, &cfg);
	/* 65536 expected, standard deviation 256. */
	assert_in_range(w.n, 65536 - 1024, 65536 + 1024);
	for (uint32_t i = 0; i < w.n; i++) {
		const struct workload_flow *f = &w.flows[i];
		bool is_first = i == 0 || w.flows[i - 1].src != f->src;
		psec at = f->start_ps - cfg.start_ps;

		assert_true(f->start_ps >= cfg.start_ps && at < cfg.duration_ps);
		assert_true(is_first || at >= last);
		/* Hosts draw on their own. */
		assert_true(!is_first || i == 0 || f->start_ps != w.flows[0].start_ps);
		assert_true(i == 0 || f->src >= w.flows[i - 1].src);
		for (uint32_t k = 0; k < 5; k++)
			above[k] += at - (is_first ? 0 : last) > tails[k].above_ps;
		gaps++;
		last = at;
		assert_int_equal(f->bytes, 10000);
		to[f->dst]++;
	}
	for (uint32_t k = 0; k < 5; k++) {
		int64_t expected = (int64_t)gaps * tails[k].chance / 65536;
		int64_t off = (int64_t)above[k] - expected;

		/* Four standard deviations of a count are at most four roots of it. */
		assert_true(off * off <= 16 * expected);
	}
	for (uint32_t i = 0; i < 8; i++)
		assert_in_range(to[i], 8192 - 450, 8192 + 450);
	workload_fini(&w);
}

/* The load offered is the load asked for, whatever the distribution, and sizes follow it. */
static void random_sizes_follow_their_distribution(void **state)
{
	static const struct workload_size sizes[] = {
		{0, 0},          {2000, 250000},  {10000, 500000},
		{50000, 500000}, {50000, 750000}, {300000, 1000000},
	};
	struct workload_cfg cfg = flows_plain(WORKLOAD_RANDOM, 16);
	uint64_t bytes = 0, offered;
	uint32_t n[4] = {0};

	(void)state;
	cfg.sizes = sizes;
	cfg.n_sizes = sizeof sizes / sizeof sizes[0];
	cfg.load_percent = 80;
	cfg.message_bytes = 0;
	cfg.duration_ps = 20 * PSEC_MS;
	struct workload w = flows_build(&cfg, 0x3074);

	for (uint32_t i = 0; i < w.n; i++) {
		uint64_t size = w.flows[i].bytes;

		assert_true(size >= 1 && size <= 300000);
		assert_false(size > 10000 && size < 50000);
		n[size <= 2000 ? 0 : size <= 10000 ? 1 : size == 50000 ? 2 : 3]++;
		bytes += size;
	}
	for (uint32_t i = 0; i < 4; i++)
		assert_in_range(n[i], w.n / 4 - w.n / 50, w.n / 4 + w.n / 50);
	/* 16 hosts * 400 Gb/s * 80 % * 20 ms */
	offered = UINT64_C(16) * 800000000;
	assert_in_range(bytes, offered - offered / 50, offered + offered / 50);
	workload_fini(&w);
}

/* The first flows of host 0, calculated apart with fifty decimal digits: they must come out on
 * every machine. */
static void known_arrivals(void **state)
{
	static const struct workload_size sizes[] = {{1000, 500000}, {100000, 1000000}};
	static const struct {
		psec start_ps;
		uint64_t bytes;
		uint32_t dst;
	} known[] = {
		{9254110, 84387, 4}, {9555067, 1000, 2},  {10345475, 37528, 4},
		{11191104, 1000, 1}, {11234030, 1000, 2}, {11567636, 28046, 4},
	};
	struct workload_cfg cfg = flows_plain(WORKLOAD_RANDOM, 5);

	(void)state;
	cfg.sizes = sizes;
	cfg.n_sizes = 2;
	struct workload w = flows_build(&cfg, 42);

	for (uint32_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		assert_int_equal(w.flows[i].start_ps, known[i].start_ps);
		assert_int_equal(w.flows[i].bytes, known[i].bytes);
		assert_int_equal(w.flows[i].dst, known[i].dst);
	}
	workload_fini(&w);
}

static void a_seed_is_a_workload(void **state)
{
	static const struct workload_size sizes[] = {{1000, 500000}, {100000, 1000000}};
	static const enum workload_kind kinds[] = {WORKLOAD_PERMUTATION, WORKLOAD_INCAST,
						   WORKLOAD_RANDOM};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct workload_cfg cfg = flows_plain(kinds[i], 32);

		cfg.fan_in = 16;
		cfg.sizes = sizes;
		cfg.n_sizes = 2;
		struct workload a = flows_build(&cfg, 1), b = flows_build(&cfg, 1),
				c = flows_build(&cfg, 2);

		assert_int_equal(a.n, b.n);
		assert_memory_equal(a.flows, b.flows, a.n * sizeof a.flows[0]);
		assert_true(a.n != c.n || memcmp(a.flows, c.flows, a.n * sizeof a.flows[0]) != 0);
		workload_fini(&a);
		workload_fini(&b);
		workload_fini(&c);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_single_flow),
	cmocka_unit_test(a_permutation_has_no_fixed_point),
	cmocka_unit_test(an_incast_and_its_victim),
	cmocka_unit_test(a_victim_shares_the_senders_uplinks),
	cmocka_unit_test(all_to_all_in_shifted_order),
	cmocka_unit_test(a_ring_reduces),
	cmocka_unit_test(a_tree_reduces_and_broadcasts),
	cmocka_unit_test(arrivals_are_poisson),
	cmocka_unit_test(random_sizes_follow_their_distribution),
	cmocka_unit_test(known_arrivals),
	cmocka_unit_test(a_seed_is_a_workload),
};

CHECK_MAIN(cases)
