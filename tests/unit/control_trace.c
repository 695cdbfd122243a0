/* control/members_trace.h: the trace of another process, read while it grows, and to its end. */
#include "control_stage.h"

#include <errno.h>

#include "control/members_trace.h"
#include "trace/ring.h"

#define BATCH 300u
#define MANY  200000u

static struct trace_event event_of(uint64_t i)
{
	return (struct trace_event){
		.at = i, .qp = (uint32_t)i, .number = ~(uint32_t)i, .a = 3 * (uint32_t)i};
}

static void is_event(const struct trace_event *e, uint64_t i)
{
	const struct trace_event want = event_of(i);

	assert_memory_equal(e, &want, sizeof want);
}

static void add(const struct tracer *t, uint64_t from, uint64_t to)
{
	for (; from < to; from++) {
		const struct trace_event e = event_of(from);

		trace_add(t, &e);
	}
}

static struct member *join(struct trace *trace)
{
	struct member *m = member_join(STAGE_NAME, "a");

	assert_non_null(m);
	void *memory = member_trace(m);

	assert_non_null(memory);
	trace_lend(trace, memory, MEMBER_TRACE);
	return m;
}

static struct members *find(void)
{
	struct members *all = members_open(STAGE_NAME);

	assert_non_null(all);
	assert_int_equal(members_n(all), 1);
	return all;
}

/* What was added lately is there, as many as are asked for; later ones follow. */
static void begins_with_the_last(void **state)
{
	struct trace trace = {0};
	const struct tracer tracer = {.to = &trace};
	struct trace_event out[BATCH];
	struct members_trace t;
	struct member *m = join(&trace);
	struct members *all = find();

	(void)state;
	assert_int_equal(members_trace_open(&t, all, 0, 20), 0);
	assert_int_equal(members_trace_take(&t, out, BATCH), 0);
	members_trace_close(&t);
	add(&tracer, 0, 100);
	assert_int_equal(members_trace_open(&t, all, 0, 20), 0);
	assert_int_equal(members_trace_take(&t, out, BATCH), 20);
	is_event(&out[0], 80);
	is_event(&out[19], 99);
	assert_int_equal(members_trace_take(&t, out, BATCH), 0);
	add(&tracer, 100, 101);
	assert_int_equal(members_trace_take(&t, out, BATCH), 1);
	is_event(&out[0], 100);
	assert_int_equal(t.at.lost, 0);
	members_trace_close(&t);
	assert_int_equal(members_trace_open(&t, all, 1, 20), -ENODATA);
	members_close(all);
	member_leave(m);
	assert_int_equal(stage_count("", NULL), 0);
}

/* Of more than the ring holds the last are read, but for the place that is written next. */
static void what_was_overwritten_is_counted(void **state)
{
	struct trace trace = {0};
	const struct tracer tracer = {.to = &trace};
	static struct trace_event out[MEMBER_TRACE];
	struct members_trace t;
	struct member *m = join(&trace);
	struct members *all = find();

	(void)state;
	add(&tracer, 0, 10);
	assert_int_equal(members_trace_open(&t, all, 0, UINT32_MAX), 0);
	assert_int_equal(members_trace_take(&t, out, 10), 10);
	add(&tracer, 10, 10 + MEMBER_TRACE + 5);
	uint32_t n = members_trace_take(&t, out, MEMBER_TRACE);

	is_event(&out[0], 16);
	assert_int_equal(t.at.lost, 6);
	/* To the end of the ring, and then from its beginning. */
	assert_int_equal(n, MEMBER_TRACE - 16);
	assert_int_equal(members_trace_take(&t, out, MEMBER_TRACE), 15);
	is_event(&out[14], MEMBER_TRACE + 14);
	members_trace_close(&t);
	members_close(all);
	member_leave(m);
}

/* As another process: adds many as fast as it can, once it is told, and leaves. */
static int add_many(void *context)
{
	const int *go = context;
	struct trace trace = {0};
	const struct tracer tracer = {.to = &trace};
	struct member *m = join(&trace);
	char byte = 1;

	if (write(go[1], &byte, 1) != 1 || read(go[2], &byte, 1) != 1)
		return 1;
	add(&tracer, 0, MANY);
	member_leave(m);
	return 0;
}

/* Nothing that is read was being written, and what a process added before it left is read after. */
static void reads_a_process_to_its_end(void **state)
{
	int up[2], down[2];
	struct trace_event out[BATCH];
	struct members_trace t;
	uint64_t next = 0;
	char byte = 1;
	bool has_ended = false;

	(void)state;
	assert_int_equal(pipe(up) | pipe(down), 0);
	int go[3] = {up[0], up[1], down[0]};
	pid_t pid = stage_fork(add_many, go);

	assert_int_equal(read(up[0], &byte, 1), 1);
	struct members *all = find();

	assert_int_equal(members_trace_open(&t, all, 0, UINT32_MAX), 0);
	assert_int_equal(write(down[1], &byte, 1), 1);
	while (!has_ended || next < MANY) {
		uint32_t n = members_trace_take(&t, out, BATCH);

		assert_true(n > 0 || !has_ended);
		for (uint32_t i = 0; i < n; i++) {
			is_event(&out[i], out[i].at);
			assert_true(out[i].at >= next);
			next = out[i].at + 1;
		}
		if (n == 0 && waitpid(pid, NULL, WNOHANG) == pid)
			has_ended = true;
	}
	assert_int_equal(next, MANY);
	assert_int_equal(stage_count("", NULL), 0);
	members_trace_close(&t);
	members_close(all);
	for (uint32_t i = 0; i < 2; i++) {
		close(up[i]);
		close(down[i]);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, stage_up, stage_down)

static const struct CMUnitTest cases[] = {
	CASE(begins_with_the_last),
	CASE(what_was_overwritten_is_counted),
	CASE(reads_a_process_to_its_end),
};

CHECK_MAIN(cases)
