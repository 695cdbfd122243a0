#include "sim/workload.h"

#include <errno.h>
#include <string.h>

#include "flows.h"

static void flows_and_waits_are_kept(void **state)
{
	struct workload_flow flow = {.bytes = 1,
				     .window = 1,
				     .repeat = 1,
				     .n_before = 9,
				     .first_after = 9,
				     .n_after = 9};
	struct workload w;

	(void)state;
	workload_init(&w);
	for (uint32_t i = 0; i < 1000; i++) {
		flow.bytes = i + 1;
		flow.id = 5000 + i;
		assert_int_equal(workload_add(&w, &flow), i);
	}
	for (uint32_t before = 0; before < 1000; before += 3)
		for (uint32_t later = before + 1; later < 1000 && later < before + 4; later++)
			assert_int_equal(workload_wait(&w, before, later), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(w.flows[i].bytes, i + 1);
		assert_int_equal(w.flows[i].id, 5000 + i);
		assert_int_equal(w.flows[i].n_before, i == 0 ? 0 : 1);
		assert_int_equal(w.flows[i].n_after, i % 3 > 0 ? 0 : i == 999 ? 0 : 3);
		for (uint32_t k = 0; k < w.flows[i].n_after; k++)
			assert_int_equal(w.after[w.flows[i].first_after + k], i + 1 + k);
	}
	workload_fini(&w);
	assert_int_equal(w.n, 0);
}

static void patterns_add_up(void **state)
{
	struct workload_cfg ring = flows_plain(WORKLOAD_RING, 4),
			    tree = flows_plain(WORKLOAD_TREE, 4);
	struct workload w = flows_build(&ring, 1);
	char error[100];

	(void)state;
	assert_int_equal(workload_build(&w, &tree, 1, error, sizeof error), 0);
	assert_int_equal(workload_build(&w, &ring, 1, error, sizeof error), 0);
	assert_int_equal(w.n, 24 + 6 + 24);
	assert_int_equal(w.flows[30].id, 30);
	for (uint32_t i = 0; i < w.n_after; i++)
		assert_int_equal(w.after[i] < 24, i < 20);
	workload_fini(&w);
}

/* A cfg with one thing wrong, and how the sentence starts. */
struct wrong {
	const char *says;
	void (*spoil)(struct workload_cfg *);
	enum workload_kind kind;
};

#define SPOIL(name, change)                      \
	static void name(struct workload_cfg *c) \
	{                                        \
		change;                          \
	}

static const struct workload_size falls[] = {{10, 500000}, {5, 1000000}};
static const struct workload_size drops[] = {{10, 500000}, {20, 400000}, {30, 1000000}};
static const struct workload_size ends_low[] = {{10, 999999}};
static const struct workload_size empty[] = {{0, 1}, {10, 1000000}};
static const struct workload_size giant[] = {{WORKLOAD_BYTES_MAX + 1, 1000000}};
static const struct workload_size large[] = {{WORKLOAD_MESSAGE_MAX + 1, 1000000}};
static const struct workload_size tiny[] = {{1, 1000000}};

static void set_sizes(struct workload_cfg *c, const struct workload_size *sizes, uint32_t n)
{
	c->sizes = sizes;
	c->n_sizes = n;
}

SPOIL(no_hosts, c->hosts = 1)
SPOIL(many_hosts, c->hosts = WORKLOAD_FLOWS_MAX + 1)
SPOIL(long_message, c->message_bytes = WORKLOAD_MESSAGE_MAX + 1)
SPOIL(no_window, c->window = 0)
SPOIL(no_repeat, c->repeat = 0)
SPOIL(late_start, c->start_ps = WORKLOAD_TIME_MAX + 1)
SPOIL(long_gap, c->gap_ps = WORKLOAD_TIME_MAX + 1)
SPOIL(no_bytes, c->bytes = 0)
SPOIL(many_bytes, c->bytes = WORKLOAD_BYTES_MAX + 1)
SPOIL(many_repeats, c->bytes = WORKLOAD_BYTES_MAX / 2; c->repeat = 3)
SPOIL(one_large_message, c->message_bytes = 0; c->bytes = WORKLOAD_MESSAGE_MAX + 1)
SPOIL(one_large_share, c->message_bytes = 0; c->bytes = 4 * (uint64_t)WORKLOAD_MESSAGE_MAX + 1)
SPOIL(wide_stagger, c->stagger_ps = WORKLOAD_TIME_MAX / 4 + 1)
SPOIL(wider_stagger, c->stagger_ps = WORKLOAD_TIME_MAX)
SPOIL(far_src, c->src = 4)
SPOIL(far_dst, c->dst = 4)
SPOIL(to_itself, c->src = 1)
SPOIL(no_fan_in, c->fan_in = 0)
SPOIL(all_fan_in, c->fan_in = 4)
SPOIL(two_victims, c->victims = 2)
SPOIL(no_third, c->victims = 1; c->hosts = 2)
SPOIL(no_leaves, c->victims = 1; c->hosts_per_leaf = 0)
SPOIL(lone_leaves, c->victims = 1; c->hosts_per_leaf = 1)
SPOIL(lone_host, c->victims = 1; c->hosts_per_leaf = 3; c->dst = 3)
SPOIL(one_member, c->members = 1)
SPOIL(many_members, c->members = 5)
SPOIL(many_pairs, c->hosts = 4098)
SPOIL(most_pairs, c->hosts = WORKLOAD_FLOWS_MAX; c->bytes = WORKLOAD_BYTES_MAX)
SPOIL(few_bytes, c->bytes = 3)
SPOIL(gap_between, c->repeat = 2; c->gap_ps = 1)
SPOIL(many_chunks, c->chunk_bytes = 1; c->bytes = WORKLOAD_BYTES_MAX)
SPOIL(many_pieces, c->chunk_bytes = 1; c->by = WORKLOAD_BY_RING; c->bytes = WORKLOAD_BYTES_MAX)
SPOIL(many_passes, c->repeat = UINT32_MAX; c->bytes = 65536; c->chunk_bytes = 1)
/* 2^64 flows, which is 0 to whoever lets it wrap. */
SPOIL(wrapping, c->hosts = (1u << 23) + 1; c->repeat = 1u << 20; c->bytes = c->repeat;
      c->chunk_bytes = 1)
SPOIL(no_load, c->load_percent = 0)
SPOIL(over_load, c->load_percent = 101)
SPOIL(no_duration, c->duration_ps = 0)
SPOIL(long_duration, c->duration_ps = WORKLOAD_TIME_MAX + 1)
/* A byte each 40 ps: 2^23 flows of each of the 4 hosts. */
SPOIL(endless, c->duration_ps = UINT64_C(40) << 23; set_sizes(c, tiny, 1))
SPOIL(no_gaps, c->rate_bps = UINT64_MAX; set_sizes(c, tiny, 1))
SPOIL(random_twice, c->repeat = 2)
SPOIL(no_sizes, (void)c)
SPOIL(falling, set_sizes(c, falls, 2))
SPOIL(dropping, set_sizes(c, drops, 3))
SPOIL(ending_low, set_sizes(c, ends_low, 1))
SPOIL(sizeless, set_sizes(c, empty, 2))
SPOIL(gigantic, set_sizes(c, giant, 1))
SPOIL(too_large, c->message_bytes = 0; set_sizes(c, large, 1))

static const struct wrong wrongs[] = {
	{"hosts: 1,", no_hosts, WORKLOAD_SINGLE},
	{"hosts: 16777217,", many_hosts, WORKLOAD_INCAST},
	{"message: 1073741825 bytes", long_message, WORKLOAD_SINGLE},
	{"window: 0", no_window, WORKLOAD_RING},
	{"repeat: 0", no_repeat, WORKLOAD_TREE},
	{"start: ", late_start, WORKLOAD_SINGLE},
	{"gap: more", long_gap, WORKLOAD_SINGLE},
	{"bytes: 0,", no_bytes, WORKLOAD_SINGLE},
	{"bytes: 281474976710657,", many_bytes, WORKLOAD_SINGLE},
	{"repeat: 3 times", many_repeats, WORKLOAD_SINGLE},
	{"message: not given", one_large_message, WORKLOAD_SINGLE},
	{"message: not given", one_large_message, WORKLOAD_PERMUTATION},
	{"message: not given", one_large_message, WORKLOAD_INCAST},
	{"message: not given", one_large_message, WORKLOAD_ALL_TO_ALL},
	{"message: not given", one_large_message, WORKLOAD_TREE},
	{"message: not given", one_large_share, WORKLOAD_RING},
	{"message: not given", too_large, WORKLOAD_RANDOM},
	{"stagger: the last of 4 flows", wide_stagger, WORKLOAD_PERMUTATION},
	{"stagger: the last of 4 flows", wider_stagger, WORKLOAD_PERMUTATION},
	{"src: host 4 of 4", far_src, WORKLOAD_SINGLE},
	{"dst: host 4 of 4", far_dst, WORKLOAD_SINGLE},
	{"dst: host 1 is src", to_itself, WORKLOAD_SINGLE},
	{"dst: host 4 of 4", far_dst, WORKLOAD_INCAST},
	{"fan_in: 0,", no_fan_in, WORKLOAD_INCAST},
	{"fan_in: 4,", all_fan_in, WORKLOAD_INCAST},
	{"victim: 2,", two_victims, WORKLOAD_INCAST},
	{"victim: needs a third", no_third, WORKLOAD_INCAST},
	{"victim: host 1 is alone", no_leaves, WORKLOAD_INCAST},
	{"victim: host 1 is alone", lone_leaves, WORKLOAD_INCAST},
	{"victim: host 3 is alone", lone_host, WORKLOAD_INCAST},
	{"members: 1,", one_member, WORKLOAD_RING},
	{"members: 5,", many_members, WORKLOAD_TREE},
	{"members: 5,", many_members, WORKLOAD_ALL_TO_ALL},
	{"members: more than 16777216", many_pairs, WORKLOAD_ALL_TO_ALL},
	{"members: more than 16777216", most_pairs, WORKLOAD_RING},
	{"bytes: 3, but each of 4", few_bytes, WORKLOAD_RING},
	{"gap: ring and tree", gap_between, WORKLOAD_RING},
	{"gap: ring and tree", gap_between, WORKLOAD_TREE},
	{"chunk: more than 16777216", many_chunks, WORKLOAD_TREE},
	{"chunk: more than 16777216", many_passes, WORKLOAD_TREE},
	{"chunk: more than 16777216", wrapping, WORKLOAD_TREE},
	{"src: host 4 of 4", far_src, WORKLOAD_BROADCAST},
	{"members: 5,", many_members, WORKLOAD_BROADCAST},
	{"members: 1,", one_member, WORKLOAD_ALL_GATHER},
	{"gap: broadcast and all-gather", gap_between, WORKLOAD_BROADCAST},
	{"gap: broadcast and all-gather", gap_between, WORKLOAD_ALL_GATHER},
	{"message: not given", one_large_message, WORKLOAD_ALL_GATHER},
	{"chunk: more than 16777216", many_pieces, WORKLOAD_BROADCAST},
	{"load: 0 %,", no_load, WORKLOAD_RANDOM},
	{"load: 101 %,", over_load, WORKLOAD_RANDOM},
	{"duration: must", no_duration, WORKLOAD_RANDOM},
	{"duration: must", long_duration, WORKLOAD_RANDOM},
	{"duration: more than 16777216", endless, WORKLOAD_RANDOM},
	{"duration: more than 16777216", no_gaps, WORKLOAD_RANDOM},
	{"repeat: random", random_twice, WORKLOAD_RANDOM},
	{"sizes: needs", no_sizes, WORKLOAD_RANDOM},
	{"sizes: point 2 falls", falling, WORKLOAD_RANDOM},
	{"sizes: point 2 falls", dropping, WORKLOAD_RANDOM},
	{"sizes: the last point must have 100 %", ending_low, WORKLOAD_RANDOM},
	{"sizes: point 1 has flows", sizeless, WORKLOAD_RANDOM},
	{"sizes: point 1 is above", gigantic, WORKLOAD_RANDOM},
};

static void each_mistake_is_named(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
		struct workload_cfg cfg = flows_plain(wrongs[i].kind, 4),
				    before = flows_plain(WORKLOAD_RING, 4);
		struct workload w = flows_build(&before, 1);
		uint32_t n = w.n, n_after = w.n_after;
		char error[256] = "", brief[4];

		wrongs[i].spoil(&cfg);
		assert_int_equal(workload_build(&w, &cfg, 1, error, sizeof error), -EINVAL);
		if (strncmp(error, wrongs[i].says, strlen(wrongs[i].says)) != 0)
			fail_msg("\"%s\" instead of \"%s\"", error, wrongs[i].says);
		assert_int_equal(w.n, n);
		assert_int_equal(w.n_after, n_after);
		assert_int_equal(workload_build(&w, &cfg, 1, brief, sizeof brief), -EINVAL);
		assert_int_equal(strlen(brief), 3);
		workload_fini(&w);
	}
}

/* At the limit, not beyond it. */
static void the_largest_values_work(void **state)
{
	struct workload_cfg cfg = flows_plain(WORKLOAD_PERMUTATION, 4);

	(void)state;
	cfg.bytes = WORKLOAD_BYTES_MAX / 2;
	cfg.repeat = 2;
	cfg.message_bytes = WORKLOAD_MESSAGE_MAX;
	cfg.start_ps = cfg.gap_ps = WORKLOAD_TIME_MAX;
	cfg.stagger_ps = WORKLOAD_TIME_MAX / 4;
	struct workload w = flows_build(&cfg, 1);

	assert_int_equal(w.flows[3].start_ps, WORKLOAD_TIME_MAX + WORKLOAD_TIME_MAX / 4 * 3);
	workload_fini(&w);

	static const struct workload_size most[] = {{WORKLOAD_BYTES_MAX, 1000000}};

	cfg = flows_plain(WORKLOAD_RANDOM, 4);
	set_sizes(&cfg, most, 1);
	cfg.rate_bps = 1;
	cfg.load_percent = 1;
	w = flows_build(&cfg, 1);
	assert_int_equal(w.n, 0);
	workload_fini(&w);
}

/* A workload that claims to be full cannot grow, and loses nothing by trying. */
static void without_memory_nothing_changes(void **state)
{
	struct workload_cfg ring = flows_plain(WORKLOAD_RING, 4);
	struct workload_flow flow = {.bytes = 1, .window = 1, .repeat = 1};
	struct workload w = flows_build(&ring, 1);
	uint32_t n = w.n, room = w.room, n_after = w.n_after, after_room = w.after_room;
	char error[100] = "";

	(void)state;
	w.n = w.room = WORKLOAD_FLOWS_MAX;
	assert_int_equal(workload_add(&w, &flow), UINT32_MAX);
	ring.kind = WORKLOAD_SINGLE;
	assert_int_equal(workload_build(&w, &ring, 1, error, sizeof error), -EINVAL);
	assert_string_equal(error, "hosts: more than 16777216 flows in all");

	/* About 0.9 flows of each host: none to be sure of, but some come. */
	ring.kind = WORKLOAD_RANDOM;
	set_sizes(&ring, tiny, 1);
	ring.duration_ps = 36;
	assert_int_equal(workload_build(&w, &ring, 1, error, sizeof error), -EINVAL);
	assert_string_equal(error, "duration: more than 16777216 flows in all");
	w.n = n;
	w.room = room;

	ring.kind = WORKLOAD_RING;
	w.n_after = w.after_room = UINT32_MAX;
	assert_int_equal(workload_wait(&w, n - 1, 0), -ENOMEM);
	assert_int_equal(w.flows[n - 1].n_after, 0);
	assert_int_equal(w.flows[0].n_before, 0);
	assert_int_equal(workload_build(&w, &ring, 1, error, sizeof error), -ENOMEM);
	assert_int_equal(w.n, n);
	assert_int_equal(w.n_after, UINT32_MAX);
	w.n_after = n_after;
	w.after_room = after_room;
	workload_fini(&w);
}

static struct workload three(void)
{
	struct workload_flow flow = {.bytes = 1, .window = 1, .repeat = 1};
	struct workload w;

	workload_init(&w);
	for (int i = 0; i < 3; i++)
		workload_add(&w, &flow);
	return w;
}

static void wait_for_itself(void *context)
{
	struct workload w = three();

	(void)context;
	workload_wait(&w, 1, 1);
}

static void wait_out_of_order(void *context)
{
	struct workload w = three();

	(void)context;
	workload_wait(&w, 0, 1);
	workload_wait(&w, 1, 2);
	workload_wait(&w, 0, 2);
}

static void wait_for_none(void *context)
{
	struct workload w = three();

	(void)context;
	workload_wait(&w, 3, 1);
}

static void add_nothing(void *context)
{
	struct workload_flow flow = {.window = 1, .repeat = 1};
	struct workload w = three();

	(void)context;
	workload_add(&w, &flow);
}

static void no_such_kind(void *context)
{
	struct workload_cfg cfg = flows_plain((enum workload_kind)(WORKLOAD_ALL_GATHER + 1), 4);
	struct workload w = three();

	workload_build(&w, &cfg, 1, context, 0);
}

static void no_rate(void *context)
{
	struct workload_cfg cfg = flows_plain(WORKLOAD_RANDOM, 4);
	struct workload w = three();

	set_sizes(&cfg, tiny, 1);
	cfg.rate_bps = 0;
	workload_build(&w, &cfg, 1, context, 0);
}

static void mistakes_abort(void **state)
{
	static void (*const mistakes[])(void *) = {
		wait_for_itself, wait_out_of_order, wait_for_none,
		add_nothing,     no_such_kind,      no_rate,
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
		assert_true(check_aborts(mistakes[i], NULL));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(flows_and_waits_are_kept),       cmocka_unit_test(patterns_add_up),
	cmocka_unit_test(each_mistake_is_named),          cmocka_unit_test(the_largest_values_work),
	cmocka_unit_test(without_memory_nothing_changes), cmocka_unit_test(mistakes_abort),
};

CHECK_MAIN(cases)
