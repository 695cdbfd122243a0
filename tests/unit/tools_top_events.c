/* `weft top`: which processes it follows, those that have one number or ended among them, and that
 * with --events it gets to the end of what each recorded. */
#include "tools/top/top.h"

#include "control_stage.h"

#include "trace/ring.h"

#define MANY 18u

/* A device with some processes on it, by what they say all of the same number. */
struct rig {
	struct top top;
	struct top_device *device; /* its only one */
	struct member *members[MANY];
	struct trace traces[MANY];
	uint32_t n;
};

static void open_rig(struct rig *r)
{
	*r = (struct rig){.top = {.devices = calloc(1, sizeof *r->device), .n = 1}};
	r->device = r->top.devices;
	assert_non_null(r->device);
	*r->device = (struct top_device){.name = "weft_rc0",
					 .transport = &transport_rc,
					 .members = members_open(STAGE_NAME)};
	strcpy(r->device->store, STAGE_NAME);
	assert_non_null(r->device->members);
}

static void close_rig(struct rig *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		member_leave(r->members[i]);
	top_fini(&r->top);
}

/* One more process, that records so many events of the queue pair with its place as number. */
static void join(struct rig *r, uint32_t n_events)
{
	const struct tracer tracer = {.to = &r->traces[r->n]};

	r->members[r->n] = member_join(STAGE_NAME, "weft_rc0");
	assert_non_null(r->members[r->n]);
	void *memory = member_trace(r->members[r->n]);

	assert_non_null(memory);
	trace_lend(&r->traces[r->n], memory, MEMBER_TRACE);
	for (uint32_t i = 0; i < n_events; i++)
		trace_add(&tracer,
			  &(struct trace_event){.at = i, .qp = r->n + 1, .kind = TRACE_TIMEOUT});
	r->n++;
}

/* All events there are, as JSON, and how many lines that is; free them. */
static char *follow(struct rig *r, uint32_t *n_lines)
{
	const struct top_events wanted = {.has_json = true, .is_once = true, .interval_ms = 20};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(top_events(&r->top, &wanted, out), 0);
	fclose(out);
	*n_lines = 0;
	for (size_t i = 0; i < len; i++)
		*n_lines += text[i] == '\n';
	return text;
}

/* Numbers of processes are not their own: of other namespaces they are the same, one may have the
 * device twice, or again, and a stranger says whatever it likes. */
static void processes_of_one_number_are_apart(void **state)
{
	struct rig r;
	uint32_t n;

	(void)state;
	open_rig(&r);
	join(&r, 1);
	join(&r, 1);
	char *text = follow(&r, &n);

	assert_int_equal(n, 2);
	assert_non_null(strstr(text, "\"qp\":1,"));
	assert_non_null(strstr(text, "\"qp\":2,"));
	free(text);
	close_rig(&r);
}

/* Comes, tells controllers of a path, and is killed. */
static int tell_and_die(void *context)
{
	struct member *m = member_join(STAGE_NAME, "weft_rc0");
	const struct control_event event = {.state = CONTROL_REPORT_BAD};

	(void)context;
	if (!m || !member_trace(m))
		return 1;
	member_report(m, &event);
	return 0;
}

/* Whoever looks for days on end keeps no files of those that are gone. */
static void who_ended_is_forgotten(void **state)
{
	struct rig r;
	uint32_t n;

	(void)state;
	open_rig(&r);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(stage_wait(stage_fork(tell_and_die, NULL)), 0);
		free(follow(&r, &n));
	}
	free(follow(&r, &n));
	assert_int_equal(members_n(r.device->members), 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(stage_wait(stage_fork(tell_and_die, NULL)), 0);
		assert_int_equal(top_look(&r.top, i), 0);
	}
	assert_int_equal(top_look(&r.top, 3), 0);
	assert_int_equal(members_n(r.device->members), 0);
	close_rig(&r);
}

/* What a process showed before is not another's, though that says it has its number. */
static void rates_are_of_one_process(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	for (uint32_t i = 0; i < 2; i++)
		join(&r, 0);
	for (uint64_t look = 1; look <= 2; look++) {
		for (uint32_t i = 0; i < 2; i++) {
			const struct member_device device = {.at = look, .n_pairs = 1};
			const struct member_pair pair = {.number = 10 + i};

			member_show(r.members[i], &device, &pair, 1);
		}
		assert_int_equal(top_look(&r.top, look), 0);
	}
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(r.device->list[i].n, 1);
		assert_true(r.device->list[i].pairs[0].has_rate);
	}
	close_rig(&r);
}

/* However many processes there are: all of each is read, the last as well as the first. */
static void many_are_read_to_the_end(void **state)
{
	struct rig r;
	uint32_t n;

	(void)state;
	open_rig(&r);
	for (uint32_t i = 0; i < MANY; i++)
		join(&r, MEMBER_TRACE - 1);
	free(follow(&r, &n));
	assert_int_equal(n, MANY * (MEMBER_TRACE - 1));
	close_rig(&r);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, stage_up, stage_down)

static const struct CMUnitTest cases[] = {
	CASE(processes_of_one_number_are_apart),
	CASE(who_ended_is_forgotten),
	CASE(rates_are_of_one_process),
	CASE(many_are_read_to_the_end),
};

CHECK_MAIN(cases)
