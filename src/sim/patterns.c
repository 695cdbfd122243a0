#include "sim/patterns.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"

__extension__ typedef unsigned __int128 u128;

/* One stream of the seed per use, and in random traffic one per host: more hosts, or a longer run,
 * leave the arrivals of the others alone. */
enum { STREAM_ORDER = 0x776f726b, STREAM_HOSTS };

/* 2^64 ln 2 */
#define LN2 UINT64_C(0xb17217f7d1cf79ab)

#define ALL UINT32_C(1000000) /* millionths */

int pattern_refuse(struct pattern_error *e, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(e->text, e->len, format, args);
	va_end(args);
	return -EINVAL;
}

uint64_t pattern_times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

int pattern_check_message(const struct workload_cfg *cfg, uint64_t bytes, struct pattern_error *e)
{
	if (cfg->message_bytes == 0 && bytes > WORKLOAD_MESSAGE_MAX)
		return pattern_refuse(e,
				      "message: not given, and a flow of %" PRIu64
				      " bytes exceeds the 1 GiB of one message",
				      bytes);
	return 0;
}

uint32_t pattern_members(const struct workload_cfg *cfg)
{
	return cfg->members > 0 ? cfg->members : cfg->hosts;
}

int pattern_check_members(const struct workload_cfg *cfg, struct pattern_error *e)
{
	uint32_t n = pattern_members(cfg);

	if (n < 2 || n > cfg->hosts)
		return pattern_refuse(e, "members: %" PRIu32 ", but there must be 2 to %" PRIu32, n,
				      cfg->hosts);
	return 0;
}

struct workload_flow pattern_flow(const struct workload_cfg *cfg, const struct workload *w,
				  uint32_t rank)
{
	return (struct workload_flow){
		.bytes = cfg->bytes,
		.message_bytes = cfg->message_bytes,
		.window = cfg->window,
		.qp = cfg->qp,
		.repeat = cfg->repeat,
		.start_ps = cfg->start_ps + rank * cfg->stagger_ps,
		.gap_ps = cfg->gap_ps,
		.id = w->n,
	};
}

int pattern_add(struct workload *w, const struct workload_flow *flow)
{
	return workload_add(w, flow) == UINT32_MAX ? -ENOMEM : 0;
}

static int single_check(const struct workload_cfg *cfg, uint64_t *flows, struct pattern_error *e)
{
	if (cfg->src >= cfg->hosts)
		return pattern_refuse(e, "src: host %" PRIu32 " of %" PRIu32 ", counted from 0",
				      cfg->src, cfg->hosts);
	if (cfg->dst >= cfg->hosts)
		return pattern_refuse(e, "dst: host %" PRIu32 " of %" PRIu32 ", counted from 0",
				      cfg->dst, cfg->hosts);
	if (cfg->src == cfg->dst)
		return pattern_refuse(e, "dst: host %" PRIu32 " is src itself", cfg->dst);
	*flows = 1;
	return pattern_check_message(cfg, cfg->bytes, e);
}

static int single_make(struct workload *w, const struct workload_cfg *cfg, uint64_t seed,
		       struct pattern_error *e)
{
	struct workload_flow flow = pattern_flow(cfg, w, 0);

	(void)seed;
	(void)e;
	flow.src = cfg->src;
	flow.dst = cfg->dst;
	return pattern_add(w, &flow);
}

static int permutation_check(const struct workload_cfg *cfg, uint64_t *flows,
			     struct pattern_error *e)
{
	*flows = cfg->hosts;
	return pattern_check_message(cfg, cfg->bytes, e);
}

/* Numbers 0 .. n - 1 in order, or NULL. */
static uint32_t *numbers(uint32_t n)
{
	uint32_t *list = malloc(n * sizeof *list);

	for (uint32_t i = 0; list && i < n; i++)
		list[i] = i;
	return list;
}

static void swap(uint32_t *list, uint32_t a, uint32_t b)
{
	uint32_t kept = list[a];

	list[a] = list[b];
	list[b] = kept;
}

/* Sattolo's shuffle: a place is never exchanged with itself, which leaves one cycle through all
 * hosts and so no host that sends to itself. */
static int permutation_make(struct workload *w, const struct workload_cfg *cfg, uint64_t seed,
			    struct pattern_error *e)
{
	uint32_t *to = numbers(cfg->hosts);
	struct prng p;
	int error = to ? 0 : -ENOMEM;

	(void)e;
	prng_init(&p, seed, STREAM_ORDER);
	for (uint32_t i = cfg->hosts - 1; to && i > 0; i--)
		swap(to, i, (uint32_t)prng_below(&p, i));
	for (uint32_t i = 0; !error && i < cfg->hosts; i++) {
		struct workload_flow flow = pattern_flow(cfg, w, i);

		flow.src = i;
		flow.dst = to[i];
		error = pattern_add(w, &flow);
	}
	free(to);
	return error;
}

static bool same_leaf(const struct workload_cfg *cfg, uint32_t a, uint32_t b)
{
	return a / cfg->hosts_per_leaf == b / cfg->hosts_per_leaf;
}

static int incast_check(const struct workload_cfg *cfg, uint64_t *flows, struct pattern_error *e)
{
	if (cfg->dst >= cfg->hosts)
		return pattern_refuse(e, "dst: host %" PRIu32 " of %" PRIu32 ", counted from 0",
				      cfg->dst, cfg->hosts);
	if (cfg->fan_in == 0 || cfg->fan_in >= cfg->hosts)
		return pattern_refuse(e,
				      "fan_in: %" PRIu32 ", but there are 1 to %" PRIu32 " senders",
				      cfg->fan_in, cfg->hosts - 1);
	if (cfg->victims > 1)
		return pattern_refuse(e, "victim: %" PRIu32 ", but there is at most 1",
				      cfg->victims);
	if (cfg->victims > 0 && cfg->hosts < 3)
		return pattern_refuse(e, "victim: needs a third host");
	/* A leaf is full but for the last one, so a neighbour stands right beside. */
	if (cfg->victims > 0 &&
	    (cfg->hosts_per_leaf < 2 ||
	     (cfg->dst + 1 == cfg->hosts && !same_leaf(cfg, cfg->dst - 1, cfg->dst))))
		return pattern_refuse(e, "victim: host %" PRIu32 " is alone on its leaf", cfg->dst);
	*flows = (uint64_t)cfg->fan_in + cfg->victims;
	return pattern_check_message(cfg, cfg->bytes, e);
}

/* The hosts in drawn order: list[0] is dst, then the senders, then all that stay out. */
struct incast {
	const struct workload_cfg *cfg;
	uint32_t *list;
};

static bool is_sender(const struct incast *in, uint32_t place)
{
	return place > 0 && place <= in->cfg->fan_in;
}

/* The leaf mate of dst that the victim flow goes to: rather one that does not send. */
static uint32_t victim_dst(const struct incast *in)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < in->cfg->hosts; i++)
		if (same_leaf(in->cfg, in->list[i], in->cfg->dst))
			best = i;
	assert(best > 0);
	return in->list[best];
}

/* How well a host serves as the victim's source, 0 for not at all. Crossing the fabric counts most,
 * else the flow meets the incast nowhere; then a link of its own; then a leaf whose uplinks the
 * incast uses. */
static uint32_t victim_rank(const struct incast *in, uint32_t place, const uint8_t *busy)
{
	uint32_t host = in->list[place], rank = 1;

	if (!same_leaf(in->cfg, host, in->cfg->dst))
		rank += 4;
	if (!is_sender(in, place))
		rank += 2;
	if (busy[host / in->cfg->hosts_per_leaf])
		rank += 1;
	return rank;
}

static int victim_src(const struct incast *in, uint32_t dst, uint32_t *src)
{
	uint32_t best = 0;
	uint8_t *busy = calloc(in->cfg->hosts / in->cfg->hosts_per_leaf + 1, sizeof *busy);

	if (!busy)
		return -ENOMEM;
	for (uint32_t i = 1; i <= in->cfg->fan_in; i++)
		busy[in->list[i] / in->cfg->hosts_per_leaf] = 1;
	for (uint32_t i = 1; i < in->cfg->hosts; i++) {
		uint32_t rank = in->list[i] == dst ? 0 : victim_rank(in, i, busy);

		if (rank > best) {
			best = rank;
			*src = in->list[i];
		}
	}
	assert(best > 0);
	free(busy);
	return 0;
}

static int add_victim(struct workload *w, const struct incast *in)
{
	struct workload_flow flow = pattern_flow(in->cfg, w, in->cfg->fan_in);
	int error;

	flow.role = WORKLOAD_VICTIM;
	flow.dst = victim_dst(in);
	error = victim_src(in, flow.dst, &flow.src);
	return error ? error : pattern_add(w, &flow);
}

static int incast_make(struct workload *w, const struct workload_cfg *cfg, uint64_t seed,
		       struct pattern_error *e)
{
	struct incast in = {cfg, numbers(cfg->hosts)};
	struct prng p;
	int error = 0;

	(void)e;
	if (!in.list)
		return -ENOMEM;
	prng_init(&p, seed, STREAM_ORDER);
	swap(in.list, 0, cfg->dst);
	/* The whole list, because the victim is chosen from the rest: its place must not tell. */
	for (uint32_t i = 1; i < cfg->hosts; i++)
		swap(in.list, i, (uint32_t)prng_range(&p, i, cfg->hosts - 1));
	for (uint32_t i = 1; !error && i <= cfg->fan_in; i++) {
		struct workload_flow flow = pattern_flow(cfg, w, i - 1);

		flow.src = in.list[i];
		flow.dst = cfg->dst;
		error = pattern_add(w, &flow);
	}
	if (!error && cfg->victims > 0)
		error = add_victim(w, &in);
	free(in.list);
	return error;
}

static int all_check(const struct workload_cfg *cfg, uint64_t *flows, struct pattern_error *e)
{
	uint64_t n = pattern_members(cfg);
	int error = pattern_check_members(cfg, e);

	*flows = n * (n - 1);
	return error ? error : pattern_check_message(cfg, cfg->bytes, e);
}

/* In the order of the shift, so that of flows started one after the other no two in a row meet at
 * one receiver. */
static int all_make(struct workload *w, const struct workload_cfg *cfg, uint64_t seed,
		    struct pattern_error *e)
{
	uint32_t n = pattern_members(cfg), rank = 0;
	int error = 0;

	(void)seed;
	(void)e;
	for (uint32_t shift = 1; !error && shift < n; shift++) {
		for (uint32_t i = 0; !error && i < n; i++) {
			struct workload_flow flow = pattern_flow(cfg, w, rank++);

			flow.src = i;
			flow.dst = (i + shift) % n;
			error = pattern_add(w, &flow);
		}
	}
	return error;
}

/* What ring and tree ask alike. */
static int reduce_check(const struct workload_cfg *cfg, struct pattern_error *e)
{
	int error = pattern_check_members(cfg, e);

	if (!error && cfg->repeat > 1 && cfg->gap_ps > 0)
		return pattern_refuse(e, "gap: ring and tree repeat without one");
	return error;
}

static int ring_check(const struct workload_cfg *cfg, uint64_t *flows, struct pattern_error *e)
{
	uint64_t n = pattern_members(cfg);
	int error = reduce_check(cfg, e);

	if (error)
		return error;
	if (cfg->bytes < n)
		return pattern_refuse(e,
				      "bytes: %" PRIu64 ", but each of %" PRIu64
				      " members has a share of at least 1",
				      cfg->bytes, n);
	*flows = pattern_times(pattern_times(2 * (n - 1), n), cfg->repeat);
	return pattern_check_message(cfg, (cfg->bytes + n - 1) / n, e);
}

/* In step s host i passes on share i - s: first the sum that grows on its way around, then, from
 * step n - 1 on, the finished one. It is what host i - 1 sent in the step before. Flow s * n + i.
 */
static int ring_make(struct workload *w, const struct workload_cfg *cfg, uint64_t seed,
		     struct pattern_error *e)
{
	uint32_t n = pattern_members(cfg), base = w->n;
	uint32_t steps = 2 * (n - 1), all = steps * cfg->repeat;
	int error = 0;

	(void)seed;
	(void)e;
	for (uint32_t step = 0; !error && step < all; step++) {
		for (uint32_t i = 0; !error && i < n; i++) {
			struct workload_flow flow = pattern_flow(cfg, w, i);
			uint32_t share = (i + 2 * n - step % steps) % n;

			flow.src = i;
			flow.dst = (i + 1) % n;
			flow.bytes = cfg->bytes / n + (share < cfg->bytes % n);
			flow.repeat = 1;
			error = pattern_add(w, &flow);
		}
	}
	for (uint32_t step = 1; !error && step < all; step++) {
		uint32_t last = base + (step - 1) * n;

		for (uint32_t i = 0; !error && i < n; i++)
			error = workload_wait(w, last + i, last + n + (i + 1) % n);
	}
	return error;
}

/* One pass of one chunk: flows base .. base + 2 (n - 1) - 1, first up, the deepest node first, then
 * down, the root's children first. Node v's parent is (v - 1) / 2. */
struct tree {
	uint32_t n, base;
};

static uint32_t tree_up(const struct tree *t, uint32_t v)
{
	return t->base + t->n - 1 - v;
}

static uint32_t tree_down(const struct tree *t, uint32_t v)
{
	return t->base + t->n - 1 + v - 1;
}

static uint32_t tree_flows(uint32_t n)
{
	return 2 * (n - 1);
}

static uint64_t tree_chunk(const struct workload_cfg *cfg)
{
	return cfg->chunk_bytes > 0 && cfg->chunk_bytes < cfg->bytes ? cfg->chunk_bytes
								     : cfg->bytes;
}

static uint64_t tree_chunks(const struct workload_cfg *cfg)
{
	return (cfg->bytes + tree_chunk(cfg) - 1) / tree_chunk(cfg);
}

static int tree_check(const struct workload_cfg *cfg, uint64_t *flows, struct pattern_error *e)
{
	uint64_t n = pattern_members(cfg);
	int error = reduce_check(cfg, e);

	if (error)
		return error;
	*flows = pattern_times(pattern_times(2 * (n - 1), cfg->repeat), tree_chunks(cfg));
	return pattern_check_message(cfg, tree_chunk(cfg), e);
}

static int tree_add(struct workload *w, const struct workload_cfg *cfg, uint64_t bytes)
{
	uint32_t n = pattern_members(cfg);
	int error = 0;

	for (uint32_t i = 0; !error && i < tree_flows(n); i++) {
		bool is_up = i < n - 1;
		uint32_t v = is_up ? n - 1 - i : i - (n - 1) + 1, parent = (v - 1) / 2;
		struct workload_flow flow = pattern_flow(cfg, w, is_up ? v : parent);

		flow.src = is_up ? v : parent;
		flow.dst = is_up ? parent : v;
		flow.bytes = bytes;
		flow.repeat = 1;
		error = pattern_add(w, &flow);
	}
	return error;
}

/* Upward a node waits for its children, downward for its own share of the result; the root turns
 * the first into the second. A node without children starts the next pass of its chunk, if there is
 * one, when the result of this one reached it. */
static int tree_wait(struct workload *w, const struct tree *t, const struct tree *next)
{
	int error = 0;

	for (uint32_t v = t->n - 1; !error && v > 0; v--) {
		uint32_t parent = (v - 1) / 2;

		if (parent > 0) {
			error = workload_wait(w, tree_up(t, v), tree_up(t, parent));
			continue;
		}
		for (uint32_t child = 1; !error && child <= 2 && child < t->n; child++)
			error = workload_wait(w, tree_up(t, v), tree_down(t, child));
	}
	for (uint32_t v = 1; !error && v < t->n; v++) {
		uint64_t left = 2 * (uint64_t)v + 1;

		for (uint64_t child = left; !error && child <= left + 1 && child < t->n; child++)
			error = workload_wait(w, tree_down(t, v), tree_down(t, (uint32_t)child));
		if (!error && next && left >= t->n)
			error = workload_wait(w, tree_down(t, v), tree_up(next, v));
	}
	return error;
}

static int tree_make(struct workload *w, const struct workload_cfg *cfg, uint64_t seed,
		     struct pattern_error *e)
{
	uint32_t n = pattern_members(cfg), base = w->n, chunks = (uint32_t)tree_chunks(cfg);
	uint32_t passes = chunks * cfg->repeat;
	uint64_t chunk = tree_chunk(cfg), rest = cfg->bytes - (chunks - 1) * chunk;
	int error = 0;

	(void)seed;
	(void)e;
	for (uint32_t pass = 0; !error && pass < passes; pass++)
		error = tree_add(w, cfg, pass % chunks == chunks - 1 ? rest : chunk);
	for (uint32_t pass = 0; !error && pass < passes; pass++) {
		struct tree t = {n, base + pass * tree_flows(n)};
		struct tree next = {n, t.base + chunks * tree_flows(n)};

		error = tree_wait(w, &t, passes - pass > chunks ? &next : NULL);
	}
	return error;
}

static int check_sizes(const struct workload_cfg *cfg, struct pattern_error *e)
{
	const struct workload_size *s = cfg->sizes;

	if (cfg->n_sizes == 0)
		return pattern_refuse(e, "sizes: needs at least one point");
	for (uint32_t i = 0; i < cfg->n_sizes; i++) {
		if (s[i].bytes == 0 && s[i].millionths > 0)
			return pattern_refuse(
				e, "sizes: point %" PRIu32 " has flows without a byte", i + 1);
		if (s[i].bytes > WORKLOAD_BYTES_MAX)
			return pattern_refuse(e, "sizes: point %" PRIu32 " is above 256 TiB",
					      i + 1);
		if (i > 0 && (s[i].bytes < s[i - 1].bytes || s[i].millionths < s[i - 1].millionths))
			return pattern_refuse(
				e, "sizes: point %" PRIu32 " falls below the one before", i + 1);
	}
	if (s[cfg->n_sizes - 1].millionths != ALL)
		return pattern_refuse(e, "sizes: the last point must have 100 %%");
	return pattern_check_message(cfg, s[cfg->n_sizes - 1].bytes, e);
}

/* Two million times the mean size: the mean between two points is half their sum, weighed with the
 * chance to fall there. Sizes below the first point do not occur: its chance is all its own. */
static u128 sum_of_sizes(const struct workload_cfg *cfg)
{
	const struct workload_size *s = cfg->sizes;
	u128 sum = (u128)s[0].millionths * 2 * s[0].bytes;

	for (uint32_t i = 1; i < cfg->n_sizes; i++)
		sum += (u128)(s[i].millionths - s[i - 1].millionths) *
		       (s[i].bytes + s[i - 1].bytes);
	return sum;
}

/* A size from the distribution. Chances are drawn in 2^-20 of a millionth, so that also a wide
 * piece of it gives every size. */
static uint64_t draw_size(struct prng *p, const struct workload_cfg *cfg)
{
	const struct workload_size *s = cfg->sizes;
	uint64_t at = prng_below(p, (uint64_t)ALL << 20);
	uint32_t i = 0;

	while (at >= (uint64_t)s[i].millionths << 20)
		i++;
	if (i == 0)
		return s[0].bytes;
	uint64_t from = (uint64_t)s[i - 1].millionths << 20;
	uint64_t width = ((uint64_t)s[i].millionths << 20) - from;
	u128 more = ((u128)(at - from) * (s[i].bytes - s[i - 1].bytes) + width / 2) / width;
	uint64_t bytes = s[i - 1].bytes + (uint64_t)more;

	return bytes > 0 ? bytes : 1;
}

/* -ln(u) in 2^-32, u uniform in (0, 1]. log() of libm may differ in its last bit from one machine
 * to the next, and one arrival moved by a picosecond is another run; integers do not differ.
 * Squaring a number in [1, 2) doubles its logarithm: each time the square reaches 2, that is one
 * more binary digit of it. 32 digits keep the error below 2^-32. */
static uint64_t draw_exponential(struct prng *p)
{
	uint64_t u = prng_u64(p) | 1;
	unsigned zeros = (unsigned)__builtin_clzll(u);
	uint64_t m = u << zeros; /* 2^63 times a number in [1, 2) */
	uint64_t log2 = 63 - zeros;

	for (int digit = 0; digit < 32; digit++) {
		u128 square = (u128)m * m;
		bool is_two = square >> 127;

		m = (uint64_t)(square >> (is_two ? 64 : 63));
		log2 = log2 << 1 | is_two;
	}
	return (uint64_t)((u128)((UINT64_C(64) << 32) - log2) * LN2 >> 64);
}

/* The mean time between two flows of a host, in 2^-16 ps. Cut where times draw_exponential it would
 * not fit: 2000 times the longest run. */
static u128 mean_gap(const struct workload_cfg *cfg)
{
	/* mean size * 8 bits * 10^12 ps * 100 percent, over 2 * 10^6 of sum_of_sizes */
	u128 gap = (sum_of_sizes(cfg) * UINT64_C(400000000) << 16) /
		   ((u128)cfg->rate_bps * cfg->load_percent);
	u128 most = (u128)1 << 89;

	return gap < most ? gap : most;
}

/* How many flows to expect, or UINT64_MAX: what would run out of memory is refused before. */
static uint64_t expected_flows(const struct workload_cfg *cfg)
{
	u128 mean = mean_gap(cfg), end = (u128)cfg->duration_ps << 16;
	u128 flows = mean > 0 ? end / mean * cfg->hosts : UINT64_MAX;

	return flows < UINT64_MAX ? (uint64_t)flows : UINT64_MAX;
}

static int random_check(const struct workload_cfg *cfg, uint64_t *flows, struct pattern_error *e)
{
	assert(cfg->rate_bps > 0);
	if (cfg->load_percent == 0 || cfg->load_percent > 100)
		return pattern_refuse(e, "load: %" PRIu32 " %%, but there are 1 to 100",
				      cfg->load_percent);
	if (cfg->duration_ps == 0 || cfg->duration_ps > WORKLOAD_TIME_MAX)
		return pattern_refuse(e, "duration: must be above 0 and at most 53 days");
	/* Repetitions would come on top of the load asked for. */
	if (cfg->repeat != 1)
		return pattern_refuse(e, "repeat: random flows come once");
	int error = check_sizes(cfg, e);

	if (!error)
		*flows = expected_flows(cfg);
	return error;
}

/* Between two flows a host waits for a time that does not depend on the past: Poisson arrivals. */
static int random_make(struct workload *w, const struct workload_cfg *cfg, uint64_t seed,
		       struct pattern_error *e)
{
	u128 mean = mean_gap(cfg), end = (u128)cfg->duration_ps << 16;
	struct prng hosts, p;

	prng_init(&hosts, seed, STREAM_HOSTS);
	for (uint32_t host = 0; host < cfg->hosts; host++) {
		prng_split(&p, &hosts, host);
		for (u128 at = mean * draw_exponential(&p) >> 32; at < end;
		     at += mean * draw_exponential(&p) >> 32) {
			struct workload_flow flow = pattern_flow(cfg, w, 0);

			flow.src = host;
			flow.dst = (uint32_t)prng_below(&p, cfg->hosts - 1);
			flow.dst += flow.dst >= host;
			flow.bytes = draw_size(&p, cfg);
			flow.start_ps += (psec)(at >> 16);
			if (w->n == WORKLOAD_FLOWS_MAX)
				return pattern_refuse(
					e, "duration: more than %" PRIu32 " flows in all",
					WORKLOAD_FLOWS_MAX);
			if (pattern_add(w, &flow))
				return -ENOMEM;
		}
	}
	return 0;
}

const struct pattern *pattern_of(enum workload_kind kind)
{
	static const struct pattern patterns[] = {
		[WORKLOAD_SINGLE] = {single_check, single_make, "hosts"},
		[WORKLOAD_PERMUTATION] = {permutation_check, permutation_make, "hosts"},
		[WORKLOAD_INCAST] = {incast_check, incast_make, "fan_in"},
		[WORKLOAD_ALL_TO_ALL] = {all_check, all_make, "members"},
		[WORKLOAD_RING] = {ring_check, ring_make, "members"},
		[WORKLOAD_TREE] = {tree_check, tree_make, "chunk"},
		[WORKLOAD_RANDOM] = {random_check, random_make, "duration"},
		[WORKLOAD_BROADCAST] = {broadcast_check, broadcast_make, "chunk"},
		[WORKLOAD_ALL_GATHER] = {all_gather_check, all_gather_make, "chunk"},
	};

	assert((unsigned)kind < sizeof patterns / sizeof patterns[0]);
	return &patterns[kind];
}
