/* One to many: broadcasts and all-gathers. */
#include <stdlib.h>

#include "base/prng.h"
#include "flows.h"

#define MEMBERS_MAX 40u
#define CHUNKS_MAX  8u

static uint32_t hosts_of(const struct workload_cfg *cfg)
{
	return cfg->members ? cfg->members : cfg->hosts;
}

static uint32_t chunks_of(const struct workload_cfg *cfg)
{
	uint64_t chunk =
		cfg->by == WORKLOAD_BY_UNICAST || !cfg->chunk_bytes ? cfg->bytes : cfg->chunk_bytes;

	return (uint32_t)((cfg->bytes + chunk - 1) / chunk);
}

/* Which broadcast and chunk a flow is of: the order that its header promises. */
static uint32_t broadcast_of(const struct workload_cfg *cfg, uint32_t flow)
{
	return flow / (hosts_of(cfg) - 1) / chunks_of(cfg);
}

static uint32_t chunk_of(const struct workload_cfg *cfg, uint32_t flow)
{
	return flow / (hosts_of(cfg) - 1) % chunks_of(cfg);
}

static uint32_t root_of(const struct workload_cfg *cfg, uint32_t broadcast)
{
	return cfg->kind == WORKLOAD_BROADCAST ? cfg->src : broadcast % hosts_of(cfg);
}

/* The place of a host in a broadcast, the root's being 0; and the one next to the root on its way.
 */
static uint32_t place_of(const struct workload_cfg *cfg, uint32_t broadcast, uint32_t host)
{
	uint32_t around = cfg->kind == WORKLOAD_BROADCAST ? cfg->hosts : hosts_of(cfg);

	return (host + around - root_of(cfg, broadcast)) % around;
}

static uint32_t side_of(const struct workload_cfg *cfg, uint32_t place)
{
	if (cfg->by == WORKLOAD_BY_RING)
		return 1;
	while (cfg->by == WORKLOAD_BY_TREE && place > 2)
		place = (place - 1) / 2;
	return place;
}

/* What has happened, while flows run in an order drawn from a seed. */
struct progress {
	const struct workload_cfg *cfg;
	uint32_t chunks, n;            /* broadcasts */
	uint8_t *has;                  /* by broadcast, chunk, host */
	uint32_t (*done)[MEMBERS_MAX]; /* flows by broadcast and side */
	uint32_t all[MEMBERS_MAX];     /* flows of a side */
};

/* Broadcasts that have begun on a side of their root, and are not done there. */
static uint32_t under_way(const struct progress *p, uint32_t side)
{
	uint32_t n = 0;

	for (uint32_t b = 0; b < p->n; b++)
		n += p->done[b][side] > 0 && p->done[b][side] < p->all[side];
	return n;
}

/* Whoever sends a chunk must have it; everybody gets each once; on no side are more broadcasts
 * under way than may be. */
static void on_flow(struct progress *p, const struct workload *w, uint32_t i)
{
	const struct workload_flow *f = &w->flows[i];
	uint32_t b = broadcast_of(p->cfg, i), n = hosts_of(p->cfg), most = n;
	uint32_t side = side_of(p->cfg, place_of(p->cfg, b, f->dst));
	uint8_t *has = p->has + ((size_t)b * p->chunks + chunk_of(p->cfg, i)) * p->cfg->hosts;

	assert_true(f->src == root_of(p->cfg, b) || has[f->src]);
	assert_true(f->dst != root_of(p->cfg, b) && !has[f->dst]);
	has[f->dst] = 1;
	p->done[b][side]++;
	if (p->cfg->kind == WORKLOAD_BROADCAST)
		most = 1;
	else if (p->cfg->at_a_time)
		most = p->cfg->at_a_time;
	assert_true(under_way(p, side) <= most);
}

/* Whether the chunk before came by the same queue pair: messages keep their order there. */
static bool is_next(const struct progress *p, const struct workload *w, uint32_t i)
{
	uint32_t b = broadcast_of(p->cfg, i), chunk = chunk_of(p->cfg, i);

	return chunk == 0 ||
	       p->has[((size_t)b * p->chunks + chunk - 1) * p->cfg->hosts + w->flows[i].dst];
}

static void run(const struct workload *w, struct progress *progress, uint64_t seed)
{
	uint32_t *left = calloc(w->n, sizeof *left), *ready = calloc(w->n, sizeof *ready);
	uint32_t n_ready = 0, done = 0;
	struct prng p;

	assert_true(left && ready);
	prng_init(&p, seed, 0);
	for (uint32_t i = 0; i < w->n; i++) {
		left[i] = w->flows[i].n_before;
		if (left[i] == 0)
			ready[n_ready++] = i;
	}
	while (n_ready > 0) {
		uint32_t at = (uint32_t)prng_below(&p, n_ready), i = ready[at];
		const struct workload_flow *f = &w->flows[i];

		if (!is_next(progress, w, i))
			continue;
		ready[at] = ready[--n_ready];
		done++;
		on_flow(progress, w, i);
		for (uint32_t k = 0; k < f->n_after; k++) {
			uint32_t later = w->after[f->first_after + k];

			assert_true(left[later] > 0);
			if (--left[later] == 0)
				ready[n_ready++] = later;
		}
	}
	assert_int_equal(done, w->n);
	free(left);
	free(ready);
}

static void run_from(const struct workload *w, const struct workload_cfg *cfg, uint64_t seed)
{
	uint32_t n = hosts_of(cfg), chunks = chunks_of(cfg);
	struct progress p = {.cfg = cfg, .chunks = chunks, .n = w->n / ((n - 1) * chunks)};

	p.has = calloc((size_t)p.n * chunks * cfg->hosts, 1);
	p.done = calloc(p.n, sizeof *p.done);
	assert_true(p.has && p.done);
	for (uint32_t place = 1; place < n; place++)
		p.all[side_of(cfg, place)] += chunks;
	run(w, &p, seed);
	free(p.has);
	free(p.done);
}

/* Whom a host may get the bytes from. */
static void check_way(const struct workload *w, const struct workload_cfg *cfg)
{
	uint32_t n = hosts_of(cfg);

	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t b = broadcast_of(cfg, i);
		uint32_t from = place_of(cfg, b, w->flows[i].src);
		uint32_t to = place_of(cfg, b, w->flows[i].dst);

		assert_true(to > 0 && to < n);
		switch (cfg->by) {
		case WORKLOAD_BY_UNICAST: assert_int_equal(from, 0); break;
		case WORKLOAD_BY_RING: assert_int_equal(from, to - 1); break;
		case WORKLOAD_BY_TREE: assert_int_equal(from, (to - 1) / 2); break;
		case WORKLOAD_BY_GROUP: fail(); break;
		}
	}
}

static void check(const struct workload_cfg *cfg, uint64_t seed)
{
	struct workload w = flows_build(cfg, seed);
	uint32_t n = hosts_of(cfg), roots = cfg->kind == WORKLOAD_BROADCAST ? 1 : n;
	uint64_t bytes = 0;

	assert_int_equal(w.n, roots * cfg->repeat * (n - 1) * chunks_of(cfg));
	for (uint32_t i = 0; i < w.n; i++) {
		bytes += w.flows[i].bytes;
		assert_int_equal(w.flows[i].repeat, 1);
		assert_int_equal(w.flows[i].start_ps,
				 cfg->start_ps + broadcast_of(cfg, i) * cfg->stagger_ps);
	}
	assert_int_equal(bytes, cfg->bytes * roots * cfg->repeat * (n - 1));
	check_way(&w, cfg);
	run_from(&w, cfg, seed);
	workload_fini(&w);
}

static void everybody_gets_every_byte_once(void **state)
{
	uint64_t seed = check_seed(0x5b7ead);
	struct prng p;

	(void)state;
	prng_init(&p, seed, 0);
	for (uint32_t round = 0; round < 600; round++) {
		struct workload_cfg cfg = flows_plain(
			round % 2 ? WORKLOAD_BROADCAST : WORKLOAD_ALL_GATHER, MEMBERS_MAX);

		cfg.by = (enum workload_by)(round / 2 % 3);
		cfg.members = 2 + (uint32_t)prng_below(&p, MEMBERS_MAX - 1);
		cfg.members = prng_below(&p, 8) ? cfg.members : 0;
		cfg.src = (uint32_t)prng_below(&p, MEMBERS_MAX);
		cfg.bytes = 1 + prng_below(&p, 1000);
		cfg.chunk_bytes =
			(uint32_t)(prng_below(&p, 3) ? cfg.bytes / (1 + prng_below(&p, CHUNKS_MAX))
						     : 0);
		cfg.repeat = 1 + (uint32_t)prng_below(&p, 3);
		cfg.at_a_time = (uint32_t)prng_below(&p, hosts_of(&cfg) + 1);
		cfg.stagger_ps = prng_below(&p, 2) * 13;
		check(&cfg, seed + round);
	}
}

static void check_group(const struct workload *w, const struct workload_cfg *cfg, uint32_t flow)
{
	const struct workload_flow *f = &w->flows[flow];
	const struct workload_group *g = workload_group_of(w, f);
	uint32_t n = hosts_of(cfg), has_dst = 0;

	assert_non_null(g);
	assert_int_equal(g->src, f->src);
	assert_int_equal(g->n, n - 1);
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t host = w->receivers[g->first + i];
		uint32_t place = place_of(cfg, flow, host);

		assert_true(i == 0 || host > w->receivers[g->first + i - 1]);
		assert_true(place > 0 && place < n);
		has_dst += host == f->dst;
	}
	assert_int_equal(has_dst, 1);
}

/* One flow for each broadcast, and each waits for the one so many before. */
static void a_group_has_all_others(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 40; round++) {
		struct workload_cfg cfg =
			flows_plain(round % 2 ? WORKLOAD_BROADCAST : WORKLOAD_ALL_GATHER, 12);
		uint32_t roots = round % 2 ? 1 : 2 + round % 10;

		cfg.by = WORKLOAD_BY_GROUP;
		cfg.members = 2 + round % 10;
		cfg.src = 9;
		cfg.chunk_bytes = 10;
		cfg.repeat = 1 + round % 3;
		cfg.at_a_time = round % 4;
		uint32_t most = round % 2 ? 1 : round % 4 && round % 4 < roots ? round % 4 : roots;
		struct workload w = flows_build(&cfg, round);

		assert_int_equal(w.n_groups, roots);
		assert_int_equal(w.n, roots * cfg.repeat);
		for (uint32_t i = 0; i < w.n; i++) {
			assert_int_equal(w.flows[i].src, root_of(&cfg, i));
			assert_int_equal(w.flows[i].bytes, cfg.bytes);
			assert_int_equal(w.flows[i].n_before, i >= most);
			assert_int_equal(w.flows[i].n_after, i + most < w.n);
			if (i + most < w.n)
				assert_int_equal(w.after[w.flows[i].first_after], i + most);
			check_group(&w, &cfg, i);
		}
		workload_fini(&w);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_group_has_all_others),
	cmocka_unit_test(everybody_gets_every_byte_once),
};
CHECK_MAIN(cases)
