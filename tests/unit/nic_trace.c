/* What a device recorded, for whoever asks when something fails: nic/trace_file.h. */
#include "nic_stage.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "nic/inside.h"

#define TEXT_MAX  (2u << 20)
#define FILE_MOST (16u << 20)        /* bytes: more than all events of a device */
#define ALL       (MEMBER_TRACE - 1) /* lines of a full ring: the oldest place may be half new */
#define STRANGER  65534u
#define NOBODY    0xabcdefu

static char path[64];

/* The file's text; empty if there is none. */
static const char *text(void)
{
	static char bytes[TEXT_MAX];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(bytes, 1, sizeof bytes - 1, f) : 0;

	bytes[n] = '\0';
	if (f)
		fclose(f);
	return bytes;
}

static uint32_t count(const char *in, const char *what)
{
	uint32_t n = 0;

	for (; (in = strstr(in, what)); in++)
		n++;
	return n;
}

/* Sends to a queue pair that answers to somebody else, with two tries. */
static void fail_one(struct end e[2])
{
	struct nic_info info = stage_info("lo");
	struct engine_attr attr;

	stage_open(&e[0], &info, NULL);
	stage_open(&e[1], &info, NULL);
	attr = stage_attr(nic_qp_number(e[1].qp));
	attr.timeout = 8;
	attr.retries = 2;
	stage_aim(e[0].qp, attr, &info, stage_gid(&info, AF_INET));
	stage_aim(e[1].qp, stage_attr(NOBODY), &info, stage_gid(&info, AF_INET));
	struct sge piece = stage_piece(&e[0], 0, 64);

	assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)), 0);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_RETRY_EXCEEDED);
}

static void a_queue_pair_that_fails_is_told_of(void **state)
{
	struct end e[2];
	struct stat st;
	char qp[32];

	(void)state;
	assert_int_equal(setenv("WEFT_TRACE_FILE", path, 1), 0);
	fail_one(e);
	const char *told = text();

	snprintf(qp, sizeof qp, "\"qp\":%u,", nic_qp_number(e[0].qp));
	assert_int_equal(count(told, qp), count(told, "\n"));
	assert_int_equal(count(told, "\"event\":\"sent\""), 1);
	assert_int_equal(count(told, "\"event\":\"resent\""), 2);
	assert_int_equal(count(told, "\"event\":\"timeout\""), 3);
	assert_int_equal(count(told, "\"status\":\"RETRY_EXCEEDED\""), 1);
	assert_int_equal(count(told, "\"from\":\"RTS\",\"to\":\"ERROR\""), 1);
	/* Whoever reads it could forge packets. */
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	stage_close(&e[0]);
	stage_close(&e[1]);
	unlink(path);
}

/* Nobody polls, and there is no place for the second completion. */
static void an_overrun_is_told_of(void **state)
{
	struct engine_attr attr = {.state = ENGINE_RTS};
	struct end e[2];

	(void)state;
	assert_int_equal(setenv("WEFT_TRACE_FILE", path, 1), 0);
	stage_pair(e, AF_INET);
	assert_int_equal(nic_cq_resize(e[0].cq, 1), 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct sge piece = stage_piece(&e[0], 0, 64);

		assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)), 0);
	}
	for (uint32_t i = 0; i < 5000 && attr.state != ENGINE_ERROR; i++) {
		usleep(1000);
		assert_int_equal(nic_qp_query(e[0].qp, &attr, NULL, NULL), 0);
	}
	assert_int_equal(attr.state, ENGINE_ERROR);
	assert_int_equal(count(text(), "\"from\":\"RTS\",\"to\":\"ERROR\""), 1);
	stage_close(&e[0]);
	stage_close(&e[1]);
	unlink(path);
}

/* Work that was flushed tells nothing more; and nobody is told who did not ask. */
static void it_is_told_once(void **state)
{
	struct nic_info info = stage_info("lo");
	struct end e[2];

	(void)state;
	unsetenv("WEFT_TRACE_FILE");
	fail_one(e);
	assert_int_equal(access(path, F_OK), -1);
	stage_close(&e[0]);
	stage_close(&e[1]);
	assert_int_equal(setenv("WEFT_TRACE_FILE", path, 1), 0);
	fail_one(e);
	struct sge piece = stage_piece(&e[0], 0, 64);
	struct engine_attr attr = {.state = ENGINE_RESET};

	assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)), 0);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_FLUSHED);
	assert_int_equal(count(text(), "\"event\":\"failed\""), 1);
	assert_int_equal(nic_qp_modify(e[0].qp, &attr, ENGINE_SET_STATE, NULL), 0);
	attr = stage_attr(nic_qp_number(e[1].qp));
	attr.timeout = 8;
	attr.retries = 0;
	stage_aim(e[0].qp, attr, &info, stage_gid(&info, AF_INET));
	assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)), 0);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_RETRY_EXCEEDED);
	/* The first one, once more, and the second. */
	assert_int_equal(count(text(), "\"event\":\"failed\""), 3);
	stage_close(&e[0]);
	stage_close(&e[1]);
	unlink(path);
}

static void a_device_that_is_not_traced_tells_nothing(void **state)
{
	struct end e[2];

	(void)state;
	assert_int_equal(setenv("WEFT_TRACE_FILE", path, 1), 0);
	assert_int_equal(setenv("WEFT_TRACE", "off", 1), 0);
	fail_one(e);
	unsetenv("WEFT_TRACE");
	assert_int_equal(count(text(), "\n"), 0);
	stage_close(&e[0]);
	stage_close(&e[1]);
	unlink(path);
}

/* A link of somebody else's is not written through, and that is said. */
static void only_a_regular_file_is_written(void **state)
{
	struct end e[2];
	char other[80];

	(void)state;
	snprintf(other, sizeof other, "%s.other", path);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(setenv("WEFT_TRACE_FILE", path, 1), 0);
	fail_one(e);
	stage_close(&e[0]);
	stage_close(&e[1]);
	assert_int_equal(access(other, F_OK), -1);
	unlink(path);
}

/* Nor is a file of another user, who waits for it where all may make files. Who is not root cannot
 * make one. */
static void no_file_of_others_is_written(void **state)
{
	struct end e[2];

	(void)state;
	if (geteuid() != 0)
		skip();
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, STRANGER, STRANGER), 0);
	assert_int_equal(setenv("WEFT_TRACE_FILE", path, 1), 0);
	fail_one(e);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	unlink(path);
	stage_close(&e[0]);
	stage_close(&e[1]);
	assert_int_equal(st.st_size, 0);
}

static volatile sig_atomic_t n_aborts;

static void on_abort(int signal)
{
	(void)signal;
	n_aborts++;
	_exit(7);
}

/* A child whose engine fails an assertion, as far as anybody can tell; with a handler of its own,
 * which it had before. */
static int abort_in_child(bool has_handler)
{
	struct end e[2];
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		return status;
	}
	setrlimit(RLIMIT_CORE, &(struct rlimit){0});
	signal(SIGABRT, has_handler ? on_abort : SIG_DFL);
	stage_pair(e, AF_INET);
	abort();
}

static void what_aborts_leaves_its_events(void **state)
{
	(void)state;
	assert_int_equal(setenv("WEFT_TRACE_FILE", path, 1), 0);
	int status = abort_in_child(false);

	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	/* Of both queue pairs. */
	assert_int_equal(count(text(), "\"from\":\"RTR\",\"to\":\"RTS\""), 2);
	unlink(path);
	status = abort_in_child(true);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	assert_int_equal(count(text(), "\"from\":\"RTR\",\"to\":\"RTS\""), 2);
	unlink(path);
}

/* A thread that uses the shard when the process aborts, and goes on with it. */
static void *add_for_ever(void *shard)
{
	const struct tracer tracer = {.to = &((struct shard *)shard)->trace};

	for (uint32_t i = 0;; i++)
		trace_add(&tracer, &(struct trace_event){.number = i, .kind = TRACE_TIMEOUT});
	return NULL;
}

static pthread_barrier_t both;

static void *abort_too(void *nothing)
{
	(void)nothing;
	pthread_barrier_wait(&both);
	abort();
}

enum busy { ADDS, ABORTS };

static int abort_busily(enum busy how)
{
	struct end e[2];
	pthread_t thread;
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		return status;
	}
	setrlimit(RLIMIT_CORE, &(struct rlimit){0});
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){FILE_MOST, FILE_MOST});
	signal(SIGABRT, SIG_DFL);
	stage_pair(e, AF_INET);
	struct shard *s = e[0].qp->shard;
	const struct tracer tracer = {.to = &s->trace};

	for (uint32_t i = 0; i < MEMBER_TRACE; i++)
		trace_add(&tracer, &(struct trace_event){.number = i, .kind = TRACE_TIMEOUT});
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&thread, NULL, how == ADDS ? add_for_ever : abort_too, s);
	if (how == ABORTS)
		pthread_barrier_wait(&both);
	abort();
}

/* What is added meanwhile does not keep it from its end. */
static void an_abort_ends_while_others_go_on(void **state)
{
	(void)state;
	assert_int_equal(setenv("WEFT_TRACE_FILE", path, 1), 0);
	int status = abort_busily(ADDS);

	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_in_range(count(text(), "\n"), 1, MEMBER_TRACE);
	unlink(path);
}

/* Whichever thread is first writes everything, once. */
static void threads_that_abort_at_once_write_once(void **state)
{
	(void)state;
	assert_int_equal(setenv("WEFT_TRACE_FILE", path, 1), 0);
	for (uint32_t i = 0; i < 8; i++) {
		int status = abort_busily(ABORTS);
		const char *told = text();

		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		assert_int_equal(count(told, "\n"), ALL);
		assert_int_equal(count(told, "{\"device\""), ALL);
		assert_int_equal(count(told, "}\n"), ALL);
		unlink(path);
	}
}

static const struct CMUnitTest cases[] = {
	/* First: they fork, and have no threads yet. */
	cmocka_unit_test(what_aborts_leaves_its_events),
	cmocka_unit_test(an_abort_ends_while_others_go_on),
	cmocka_unit_test(threads_that_abort_at_once_write_once),
	cmocka_unit_test(a_queue_pair_that_fails_is_told_of),
	cmocka_unit_test(an_overrun_is_told_of),
	cmocka_unit_test(it_is_told_once),
	cmocka_unit_test(a_device_that_is_not_traced_tells_nothing),
	cmocka_unit_test(only_a_regular_file_is_written),
	cmocka_unit_test(no_file_of_others_is_written),
};

int main(int argc, char **argv)
{
	char folder[] = "/tmp/weft-trace-XXXXXX";

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof path, "%s/events.json", folder);
	isolate();
	setenv("WEFT_CONFIG", "/dev/null", 1);
	int status = check_main(argc, argv, cases, sizeof cases / sizeof cases[0]);

	rmdir(folder);
	return status;
}
