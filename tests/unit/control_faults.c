/* The room control where the system's calls fail, where a process is killed between any two of
 * them, and where another comes between. The linker puts the functions below in place of the
 * system's. */
#define _GNU_SOURCE /* F_OFD_SETLK */

#include "control_stage.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/file.h>
#include <time.h>

#include "control/members.h"

#define STATE STAGE_NAME ".state"
#define LOCK  STAGE_NAME ".lock"

enum fate { NOTHING, DIE, FAIL, SHORT };

static struct {
	enum fate fate;
	uint32_t at, n; /* of the calls that change something */
	void (*before_read)(void), (*after_read)(void), (*after_open)(void), (*after_pages)(void);
	void (*before_lock)(void), (*before_share)(void), (*at_nap)(void);
	void (*before_open)(void), (*before_rename)(void), (*after_rename)(void);
	uint32_t naps, pages; /* pages: calls that still find some */
} plan;

/* Whether this call is to fail. */
static bool step(void)
{
	if (plan.fate == NOTHING || plan.n++ != plan.at)
		return false;
	if (plan.fate == DIE)
		raise(SIGKILL);
	errno = ENOSPC;
	return plan.fate == FAIL;
}

/* Once. */
static void call(void (**hook)(void))
{
	void (*run)(void) = *hook;

	*hook = NULL;
	if (run)
		run();
}

/* The names that the linker gives. NOLINTBEGIN(bugprone-reserved-identifier) */
int __real_fchmod(int fd, mode_t mode);
int __real_fcntl64(int fd, int command, ...);
int __real_flock(int fd, int operation);
int __real_fsync(int fd);
int __real_openat64(int directory, const char *name, int flags, ...);
int __real_posix_fallocate64(int fd, off_t at, off_t len);
ssize_t __real_pread64(int fd, void *to, size_t n, off_t at);
int __real_renameat(int from, const char *name, int to, const char *as);
int __real_unlinkat(int directory, const char *name, int flags);
ssize_t __real_write(int fd, const void *from, size_t n);

int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_flock(int fd, int operation);
int __wrap_fsync(int fd);
int __wrap_nanosleep(const struct timespec *nap, struct timespec *left);
int __wrap_openat64(int directory, const char *name, int flags, ...);
int __wrap_posix_fallocate64(int fd, off_t at, off_t len);
ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at);
int __wrap_renameat(int from, const char *name, int to, const char *as);
int __wrap_unlinkat(int directory, const char *name, int flags);
ssize_t __wrap_write(int fd, const void *from, size_t n);

int __wrap_fchmod(int fd, mode_t mode)
{
	return step() ? -1 : __real_fchmod(fd, mode);
}

int __wrap_fcntl64(int fd, int command, ...)
{
	va_list args;

	va_start(args, command);
	struct flock *lock = va_arg(args, struct flock *);

	va_end(args);
	if (command == F_OFD_SETLK && lock->l_type == F_RDLCK)
		call(&plan.before_share);
	return __real_fcntl64(fd, command, lock);
}

int __wrap_flock(int fd, int operation)
{
	call(&plan.before_lock);
	return step() ? -1 : __real_flock(fd, operation);
}

int __wrap_fsync(int fd)
{
	return step() ? -1 : __real_fsync(fd);
}

int __wrap_nanosleep(const struct timespec *nap, struct timespec *left)
{
	(void)nap;
	(void)left;
	if (plan.naps++ == 3)
		call(&plan.at_nap);
	return 0;
}

int __wrap_openat64(int directory, const char *name, int flags, ...)
{
	call(&plan.before_open);
	if (!(flags & O_CREAT))
		return __real_openat64(directory, name, flags);
	va_list args;

	va_start(args, flags);
	mode_t mode = va_arg(args, mode_t);

	va_end(args);
	if (step())
		return -1;
	int fd = __real_openat64(directory, name, flags, mode);

	call(&plan.after_open);
	return fd;
}

int __wrap_posix_fallocate64(int fd, off_t at, off_t len)
{
	if (plan.pages == 0)
		return ENOSPC;
	plan.pages--;
	int status = __real_posix_fallocate64(fd, at, len);

	call(&plan.after_pages);
	return status;
}

ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at)
{
	/* Single numbers are read before and behind. */
	if (n == sizeof(uint64_t))
		return __real_pread64(fd, to, n, at);
	call(&plan.before_read);
	ssize_t got = __real_pread64(fd, to, n, at);

	call(&plan.after_read);
	return got;
}

int __wrap_renameat(int from, const char *name, int to, const char *as)
{
	call(&plan.before_rename);
	int status = step() ? -1 : __real_renameat(from, name, to, as);

	call(&plan.after_rename);
	return status;
}

int __wrap_unlinkat(int directory, const char *name, int flags)
{
	return step() ? -1 : __real_unlinkat(directory, name, flags);
}

ssize_t __wrap_write(int fd, const void *from, size_t n)
{
	if (plan.fate != NOTHING && plan.n == plan.at && n > 1) {
		/* Half of it gets there in any case. */
		ssize_t half = __real_write(fd, from, n / 2);

		return step() ? -1 : half;
	}
	return step() ? -1 : __real_write(fd, from, n);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static int begin(void **state)
{
	memset(&plan, 0, sizeof plan);
	plan.pages = UINT32_MAX;
	return stage_up(state);
}

static int end(void **state)
{
	memset(&plan, 0, sizeof plan);
	return stage_down(state);
}

/* One change under the lock. 0 or a negative errno. */
static int change(struct store *s)
{
	struct control *c;
	int status = store_begin(s, &c);

	if (status)
		return status;
	c->disabled_ports++;
	control_add_cc(c, c->disabled_ports)->phase = CONTROL_ONLINE;
	uint64_t generation = c->generation;

	status = store_commit(s, c);
	if (c->generation != generation + (status == 0))
		status = -EPROTO;
	store_end(s);
	control_free(c);
	return status;
}

/* How many changes the state has had: it is whole. */
static uint32_t changes(struct store *s)
{
	struct control *c = store_read(s);

	assert_non_null(c);
	uint32_t n = c->disabled_ports;

	assert_true(c->generation == n && c->n_ccs == n);
	control_free(c);
	return n;
}

static int change_and_die(void *context)
{
	plan.fate = DIE;
	plan.at = *(uint32_t *)context;
	struct store *s = store_open(STAGE_NAME);

	return s ? -change(s) : 1;
}

static void killed_at_every_call(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	uint32_t k = 0, was = 0;
	bool is_done = false;

	(void)state;
	for (; !is_done && k < 20; k++) {
		is_done = stage_wait(stage_fork(change_and_die, &k)) == 0;
		uint32_t now = changes(s);

		assert_true(now == was || now == was + 1);
		assert_true(!is_done || now == was + 1);
		/* The next one works, and sweeps up. */
		assert_int_equal(change(s), 0);
		assert_int_equal(changes(s), now + 1);
		assert_int_equal(stage_count("", NULL), 2);
		was = now + 1;
	}
	/* Lock file, lock, new file, write, mode, sync and name; the first made the lock file. */
	assert_true(is_done);
	assert_in_range(k, 7, 9);
	store_close(s);
}

static void a_call_that_fails_changes_nothing(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	int status = -1;
	uint32_t k = 0;

	(void)state;
	assert_int_equal(change(s), 0);
	for (; status && k < 20; k++) {
		plan.fate = FAIL;
		plan.at = k;
		plan.n = 0;
		status = change(s);
		plan.fate = NOTHING;
		assert_true(status == 0 || status == -ENOSPC);
		assert_int_equal(changes(s), status ? 1 : 2);
		assert_int_equal(stage_count("", NULL), 2);
	}
	assert_int_equal(status, 0);
	assert_in_range(k, 6, 9);
	store_close(s);
}

static void short_writes_are_continued(void **state)
{
	struct store *s = store_open(STAGE_NAME);

	(void)state;
	for (uint32_t k = 0; k < 8; k++) {
		plan.fate = SHORT;
		plan.at = k;
		plan.n = 0;
		assert_int_equal(change(s), 0);
		assert_int_equal(changes(s), k + 1);
	}
	store_close(s);
}

static struct store *holder;

static void waiting_has_an_end(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	struct control *c;

	(void)state;
	holder = store_open(STAGE_NAME);
	assert_int_equal(store_begin(holder, &c), 0);
	assert_int_equal(change(s), -EAGAIN);
	assert_in_range(plan.naps, 100, 10000);
	store_end(holder);
	assert_int_equal(change(s), 0);
	control_free(c);
	store_close(holder);
	store_close(s);
}

static void let_go(void)
{
	store_end(holder);
}

static void who_waits_gets_it(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	struct control *c;

	(void)state;
	holder = store_open(STAGE_NAME);
	assert_int_equal(store_begin(holder, &c), 0);
	plan.at_nap = let_go;
	assert_int_equal(change(s), 0);
	assert_int_equal(plan.naps, 4);
	control_free(c);
	store_close(holder);
	store_close(s);
}

static void remove_lock(void)
{
	assert_int_equal(unlink(stage_path(LOCK)), 0);
}

/* A lock on a file that has lost its name excludes nobody. */
static void a_lock_has_its_name(void **state)
{
	struct store *s = store_open(STAGE_NAME), *other = store_open(STAGE_NAME);
	struct control *c;

	(void)state;
	plan.before_lock = remove_lock;
	assert_int_equal(store_begin(s, &c), 0);
	assert_null(plan.before_lock);
	assert_int_equal(change(other), -EAGAIN);
	control_free(c);
	store_close(s);
	store_close(other);
}

static void put_directory(void)
{
	assert_int_equal(mkdir(stage_path(LOCK), 0755), 0);
}

/* A squatter who comes after the look at the name is found at the next try. */
static void squatters_may_be_quick(void **state)
{
	struct store *s = store_open(STAGE_NAME);

	(void)state;
	plan.before_open = put_directory;
	assert_int_equal(change(s), 0);
	assert_null(plan.before_open);
	assert_int_equal(plan.naps, 1);
	assert_int_equal(stage_count("", NULL), 2);
	store_close(s);
}

static struct control *held;

/* Another controller does away with the squatter first, and has the lock. */
static void put_lock(void)
{
	assert_int_equal(rmdir(stage_path(LOCK)), 0);
	assert_int_equal(store_begin(holder, &held), 0);
}

static void let_go_with_a_change(void)
{
	assert_int_equal(store_commit(holder, held), 0);
	store_end(holder);
}

static void a_good_lock_is_put_back(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	struct control *c;

	(void)state;
	holder = store_open(STAGE_NAME);
	put_directory();
	plan.before_rename = put_lock;
	plan.at_nap = let_go_with_a_change;
	assert_int_equal(store_begin(s, &c), 0);
	assert_null(plan.before_rename);
	assert_int_equal(plan.naps, 4);
	assert_int_equal(c->generation, 1);
	assert_int_equal(stage_count("", NULL), 2);
	control_free(held);
	control_free(c);
	store_close(holder);
	store_close(s);
}

static int third;

static void lock_anew(void)
{
	third = open(stage_path(LOCK), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(third >= 0);
	assert_int_equal(flock(third, LOCK_EX), 0);
}

/* And where a third one has locked anew meanwhile, the one without a name has no say. */
static void of_two_locks_one_counts(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	struct control *c;

	(void)state;
	holder = store_open(STAGE_NAME);
	put_directory();
	plan.before_rename = put_lock;
	plan.after_rename = lock_anew;
	assert_int_equal(store_begin(s, &c), -EAGAIN);
	assert_null(plan.after_rename);
	assert_int_equal(store_commit(holder, held), -EAGAIN);
	assert_int_equal(stage_count("", NULL), 1);
	close(third);
	assert_int_equal(change(s), 0);
	control_free(held);
	store_close(holder);
	store_close(s);
}

static struct member *reporter;
static uint64_t reported;

static void report(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, reported++) {
		struct control_event e = {.profile_id = reported, .state = CONTROL_REPORT_BAD};

		memset(e.ev.val, (int)(reported % 251), sizeof e.ev.val);
		member_report(reporter, &e);
	}
}

static void report_some(void)
{
	report(MEMBER_EVENTS - 20);
}

static void report_many(void)
{
	report(3 * MEMBER_EVENTS + 7);
}

/* Told while they were read: what was overwritten counts as lost, and nothing comes half. */
static void events_overtake_their_reader(void **state)
{
	struct members *all;
	struct control_event got[64];
	uint64_t next = 0;

	(void)state;
	reported = 0;
	reporter = member_join(STAGE_NAME, "a");
	all = members_open(STAGE_NAME);
	for (uint32_t round = 0; round < 20; round++) {
		uint32_t n;

		report(30 + 100 * round);
		plan.before_read = round % 3 ? report_some : report_many;
		plan.after_read = round % 2 ? report_some : report_many;
		while ((n = members_take(all, got, 64)) > 0)
			for (uint32_t i = 0; i < n; i++) {
				assert_int_equal(got[i].profile_id, next + got[i].n_lost);
				assert_int_equal(got[i].ev.val[0], got[i].profile_id % 251);
				assert_int_equal(got[i].ev.val[31], got[i].profile_id % 251);
				next = got[i].profile_id + 1;
			}
		assert_null(plan.after_read);
		assert_int_equal(next, reported);
	}
	member_leave(reporter);
	members_close(all);
}

static void show(uint32_t v)
{
	struct member_device device = {.at = v};
	struct member_pair pairs[2] = {{.number = v}, {.number = v}};

	member_show(reporter, &device, pairs, 2);
}

static void show_two(void)
{
	show(2);
}

static void show_again(void)
{
	show(3);
	plan.after_read = show_again;
}

static void what_is_shown_comes_whole(void **state)
{
	struct members *all;
	struct member_pair pairs[2];
	struct member_device device;
	uint32_t n;

	(void)state;
	reporter = member_join(STAGE_NAME, "a");
	all = members_open(STAGE_NAME);
	show(1);
	plan.after_read = show_two;
	assert_int_equal(members_read(all, 0, &device, pairs, 2, &n), 0);
	assert_true(device.at == 2 && n == 2 && pairs[0].number == 2 && pairs[1].number == 2);
	plan.after_read = show_again;
	assert_int_equal(members_read(all, 0, &device, pairs, 2, &n), -EAGAIN);
	plan.after_read = NULL;
	member_leave(reporter);
	members_close(all);
}

static void use_other(void)
{
	member_use(reporter, CONTROL_EV, 7, -1);
	member_use(reporter, CONTROL_EV, 8, 1);
	member_use(reporter, CONTROL_EV, 7, 1);
}

static void uses_come_whole(void **state)
{
	struct members *all;

	(void)state;
	reporter = member_join(STAGE_NAME, "a");
	all = members_open(STAGE_NAME);
	assert_int_equal(member_use(reporter, CONTROL_EV, 7, 1), 0);
	plan.after_read = use_other;
	assert_int_equal(members_using(all, CONTROL_EV, 8), 1);
	assert_null(plan.after_read);
	member_leave(reporter);
	members_close(all);
}

/* Memory that is short is an error now, not a signal later. */
static void pages_may_be_short(void **state)
{
	static struct member_pair pairs[200], got[200];
	struct member_device device = {.at = 1};
	uint32_t n;

	(void)state;
	plan.pages = 0;
	assert_null(member_join(STAGE_NAME, "a"));
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(stage_count("", NULL), 0);
	plan.pages = 3;
	reporter = member_join(STAGE_NAME, "a");
	assert_non_null(reporter);
	struct members *all = members_open(STAGE_NAME);

	member_show(reporter, &device, pairs, 200);
	assert_int_equal(members_read(all, 0, &device, got, 200, &n), 0);
	assert_int_equal(n, 64);
	plan.pages = 10;
	member_show(reporter, &device, pairs, 200);
	assert_int_equal(members_read(all, 0, &device, got, 200, &n), 0);
	assert_int_equal(n, 200);
	member_leave(reporter);
	members_close(all);
}

static struct members *looker;

static void look(void)
{
	assert_int_equal(members_look(looker), 0);
	assert_int_equal(stage_count("", NULL), 1);
}

/* A file that is not locked yet looks dead: it is left alone while it is new. */
static void joining_while_others_look(void **state)
{
	(void)state;
	looker = members_open(STAGE_NAME);
	plan.after_open = look;
	reporter = member_join(STAGE_NAME, "a");
	assert_non_null(reporter);
	assert_null(plan.after_open);
	assert_int_equal(stage_count("", NULL), 1);
	assert_int_equal(members_look(looker), 0);
	assert_int_equal(members_n(looker), 1);
	member_leave(reporter);
	members_close(looker);
}

static struct store *listener;

static void receive(void)
{
	assert_int_equal(store_has_news(listener), STORE_MEMBERS);
}

/* Who looked when the file was made, and found it not ready, is told again when it is. */
static void who_joined_is_told(void **state)
{
	(void)state;
	listener = store_open(STAGE_NAME);
	plan.after_pages = receive;
	reporter = member_join(STAGE_NAME, "a");
	assert_null(plan.after_pages);
	assert_int_equal(store_has_news(listener), STORE_MEMBERS);
	member_leave(reporter);
	store_close(listener);
}

#define JOINING STAGE_NAME ".99.0123456789abcdef"
static int joining;

static void lock_it(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	assert_int_equal(fcntl(joining, F_OFD_SETLK, &lock), 0);
}

/* Locked between the look and the removal. */
static void who_lives_is_not_removed(void **state)
{
	const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

	(void)state;
	stage_write(JOINING, "", 0);
	assert_int_equal(utimensat(AT_FDCWD, stage_path(JOINING), long_ago, 0), 0);
	joining = open(stage_path(JOINING), O_RDWR | O_CLOEXEC);
	assert_true(joining >= 0);
	plan.before_share = lock_it;
	looker = members_open(STAGE_NAME);
	assert_null(plan.before_share);
	assert_int_equal(stage_count("", NULL), 1);
	assert_int_equal(members_look(looker), 0);
	assert_int_equal(stage_count("", NULL), 1);
	close(joining);
	assert_int_equal(members_look(looker), 0);
	assert_int_equal(stage_count("", NULL), 0);
	members_close(looker);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

static const struct CMUnitTest cases[] = {
	CASE(killed_at_every_call),       CASE(a_call_that_fails_changes_nothing),
	CASE(short_writes_are_continued), CASE(waiting_has_an_end),
	CASE(who_waits_gets_it),          CASE(a_lock_has_its_name),
	CASE(squatters_may_be_quick),     CASE(a_good_lock_is_put_back),
	CASE(of_two_locks_one_counts),    CASE(events_overtake_their_reader),
	CASE(what_is_shown_comes_whole),  CASE(uses_come_whole),
	CASE(pages_may_be_short),         CASE(joining_while_others_look),
	CASE(who_joined_is_told),         CASE(who_lives_is_not_removed),
};

CHECK_MAIN(cases)
