/* control/store.h: a state that is old or new and never a part, whoever writes, and whose word
 * counts. */
#include "isolate.h"

#include "control_stage.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>

#include "control_sample.h"

#define STATE    STAGE_NAME ".state"
#define LOCK     STAGE_NAME ".lock"
#define STRANGER 12345

static void names_tell_devices_apart(void **state)
{
	static const char two[2][IF_NAMESIZE] = {"eth0", "eth1.100"};
	static const char bad[3][IF_NAMESIZE] = {"", "a/b", "0123456789abcdef"};
	char many[32][IF_NAMESIZE], name[STORE_NAME_MAX], other[STORE_NAME_MAX];

	(void)state;
	assert_int_equal(store_name(name, two, 2), 0);
	assert_int_equal(strncmp(name, "weft.", 5), 0);
	assert_string_equal(strrchr(name, '+') - 4, "eth0+eth1.100");
	assert_int_equal(store_name(other, two, 1), 0);
	assert_string_not_equal(name, other);
	/* Those of RC are no others' files. */
	assert_int_equal(store_name_apart(other, "rc", two, 2), 0);
	assert_memory_equal(other, name, strlen(name));
	assert_string_equal(other + strlen(name), ":rc");
	assert_int_equal(store_name_apart(name, "rc", two, 0), -EINVAL);
	assert_int_equal(store_name(name, two, 0), -EINVAL);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(store_name(name, &bad[i], 1), -EINVAL);
	memset(many, 'x', sizeof many);
	for (uint32_t i = 0; i < 32; i++)
		many[i][IF_NAMESIZE - 1] = '\0';
	assert_int_equal(store_name(name, (const char(*)[IF_NAMESIZE])many, 8), 0);
	assert_true(strlen(name) < STORE_NAME_MAX);
	assert_int_equal(store_name(name, (const char(*)[IF_NAMESIZE])many, 32), -ENAMETOOLONG);
}

static int name_elsewhere(void *context)
{
	static const char one[1][IF_NAMESIZE] = {"eth0"};
	char name[STORE_NAME_MAX];

	if (!isolate())
		return 77;
	return store_name(name, one, 1) || !strcmp(name, context);
}

static void names_tell_namespaces_apart(void **state)
{
	static const char one[1][IF_NAMESIZE] = {"eth0"};
	char name[STORE_NAME_MAX];

	(void)state;
	assert_int_equal(store_name(name, one, 1), 0);
	int status = WEXITSTATUS(stage_wait(stage_fork(name_elsewhere, name)));

	if (status == 77)
		skip();
	assert_int_equal(status, 0);
}

static void bad_places_are_refused(void **state)
{
	char name[STORE_NAME_MAX + 1];

	(void)state;
	memset(name, 'x', STORE_NAME_MAX);
	name[STORE_NAME_MAX] = '\0';
	assert_null(store_open(name));
	assert_int_equal(errno, EINVAL);
	assert_null(store_open(""));
	assert_null(store_open("../x"));
	assert_int_equal(errno, EINVAL);
	setenv("WEFT_STATE_DIR", stage_path("nowhere"), 1);
	assert_null(store_open(STAGE_NAME));
	assert_int_equal(errno, ENOENT);
	setenv("WEFT_STATE_DIR", "", 1);
	assert_string_equal(store_directory(), "/dev/shm");
	setenv("WEFT_STATE_DIR", stage_directory, 1);
	assert_string_equal(store_directory(), stage_directory);
}

static void check_generation(struct store *s, uint64_t generation)
{
	struct control *c = store_read(s);

	assert_non_null(c);
	assert_int_equal(c->generation, generation);
	control_free(c);
}

static void commit(struct store *s)
{
	struct control *c;

	assert_int_equal(store_begin(s, &c), 0);
	assert_int_equal(store_commit(s, c), 0);
	store_end(s);
	control_free(c);
}

static void what_is_committed_is_read(void **state)
{
	struct store *s = store_open(STAGE_NAME), *other = store_open(STAGE_NAME);
	struct control *c;
	struct stat st;

	(void)state;
	check_generation(s, 0);
	/* Nothing is there before. */
	assert_int_equal(stage_count("", NULL), 0);
	mode_t mask = umask(077);

	assert_int_equal(store_begin(s, &c), 0);
	assert_int_equal(c->generation, 0);
	c->disabled_ports = 5;
	control_add_cc(c, 77)->phase = CONTROL_ONLINE;
	assert_int_equal(store_commit(s, c), 0);
	assert_int_equal(c->generation, 1);
	/* Twice under one lock. */
	assert_int_equal(store_commit(s, c), 0);
	umask(mask);
	assert_int_equal(store_begin(s, &c), -EBUSY);
	store_end(s);
	control_free(c);
	c = store_read(other);
	assert_non_null(c);
	assert_true(c->generation == 2 && c->disabled_ports == 5 && control_find_cc(c, 77));
	control_free(c);
	assert_int_equal(stat(stage_path(STATE), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(stat(stage_path(LOCK), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stage_count("", NULL), 2);
	store_close(s);
	store_close(other);
	store_close(NULL);
}

static void only_what_is_whole_is_committed(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	struct control *c;

	(void)state;
	commit(s);
	assert_int_equal(store_begin(s, &c), 0);
	control_add_profile(c, 1);
	assert_int_equal(store_commit(s, c), -EINVAL);
	assert_int_equal(c->generation, 1);
	control_remove(c, CONTROL_EV, 1);
	store_end(s);
	/* Nor without the lock. */
	assert_int_equal(store_commit(s, c), -EINVAL);
	check_generation(s, 1);
	control_free(c);
	store_close(s);
}

static void damage_is_told(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	struct control *c;
	size_t len;

	(void)state;
	commit(s);
	uint8_t *bytes = stage_read(STATE, &len);

	bytes[len / 2] ^= 1;
	stage_write(STATE, bytes, len);
	assert_null(store_read(s));
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(store_begin(s, &c), -EBADMSG);
	stage_write(STATE, bytes, 0);
	assert_null(store_read(s));
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(truncate(stage_path(STATE), CONTROL_BYTES + 1), 0);
	assert_null(store_read(s));
	assert_int_equal(errno, EBADMSG);
	/* It is for a person to remove; then all is well. */
	assert_int_equal(unlink(stage_path(STATE)), 0);
	commit(s);
	check_generation(s, 1);
	free(bytes);
	store_close(s);
}

/* What anybody may put under a name before its owner comes. */
enum squat { SQUAT_LINK, SQUAT_PIPE, SQUAT_SOCKET, SQUAT_DIRECTORY, SQUATS };

static void squat(const char *file, enum squat kind)
{
	const char *path = stage_path(file);
	int status = -1;

	switch (kind) {
	case SQUAT_LINK: status = symlink("target", path); break;
	case SQUAT_PIPE: status = mkfifo(path, 0644); break;
	case SQUAT_SOCKET: status = mknod(path, S_IFSOCK | 0644, 0); break;
	default: status = mkdir(path, 0755);
	}
	assert_int_equal(status, 0);
}

static void squatters_are_no_state(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	struct stat st;

	(void)state;
	for (enum squat kind = 0; kind < SQUATS; kind++) {
		squat(STATE, kind);
		check_generation(s, 0);
		commit(s);
		check_generation(s, 1);
		assert_int_equal(lstat(stage_path(STATE), &st), 0);
		assert_true(S_ISREG(st.st_mode));
		assert_int_equal(stage_count("", NULL), 2);
		assert_int_equal(unlink(stage_path(STATE)), 0);
	}
	store_close(s);
}

/* They are as none, and a commit takes their place. */
static void links_and_pipes_are_no_state(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	char target[512];

	(void)state;
	commit(s);
	commit(s);
	snprintf(target, sizeof target, "%s", stage_path("target"));
	assert_int_equal(rename(stage_path(STATE), target), 0);
	assert_int_equal(symlink(target, stage_path(STATE)), 0);
	check_generation(s, 0);
	assert_int_equal(unlink(stage_path(STATE)), 0);
	assert_int_equal(mkfifo(stage_path(STATE), 0644), 0);
	check_generation(s, 0);
	commit(s);
	check_generation(s, 1);
	store_close(s);
}

static int read_as_stranger(void *context)
{
	struct store *s = store_open(STAGE_NAME);
	struct control *c;

	(void)context;
	if (!s || setuid(STRANGER))
		return 1;
	c = store_read(s);
	if (!c || c->generation != 1)
		return 2;
	/* The state is root's, and so is the lock. */
	return store_begin(s, &c) == -EACCES ? 0 : 3;
}

static void only_root_and_oneself_count(void **state)
{
	struct store *s = store_open(STAGE_NAME);

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(stage_directory, 01777), 0);
	commit(s);
	assert_int_equal(stage_wait(stage_fork(read_as_stranger, NULL)), 0);
	commit(s);
	assert_int_equal(chown(stage_path(STATE), STRANGER, STRANGER), 0);
	check_generation(s, 0);
	commit(s);
	check_generation(s, 1);
	store_close(s);
}

static int read_what_is_locked_away(void *context)
{
	struct store *s = store_open(STAGE_NAME);
	struct control *c;

	(void)context;
	if (!s || setuid(STRANGER + 1))
		return 1;
	c = store_read(s);
	return c && c->generation == 0 ? 0 : 2;
}

static void a_file_that_may_not_be_read_is_no_state(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(stage_directory, 01777), 0);
	stage_write(STATE, "x", 1);
	assert_int_equal(chmod(stage_path(STATE), 0600), 0);
	assert_int_equal(chown(stage_path(STATE), STRANGER, STRANGER), 0);
	assert_int_equal(stage_wait(stage_fork(read_what_is_locked_away, NULL)), 0);
}

static int change_many(void *context)
{
	struct store *s = store_open(STAGE_NAME);

	(void)context;
	for (uint32_t i = 0; s && i < 40; i++) {
		struct control *c;

		if (store_begin(s, &c))
			return 1;
		c->disabled_ports++;
		/* Here the other one would come between. */
		sched_yield();
		if (store_commit(s, c))
			return 2;
		store_end(s);
		control_free(c);
	}
	store_close(s);
	return !s;
}

static void controllers_exclude_each_other(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	struct control *c;
	pid_t pids[3];

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		pids[i] = stage_fork(change_many, NULL);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(stage_wait(pids[i]), 0);
	c = store_read(s);
	assert_non_null(c);
	assert_true(c->generation == 120 && c->disabled_ports == 120);
	assert_int_equal(stage_count("", NULL), 2);
	control_free(c);
	store_close(s);
}

static int hold_and_die(void *context)
{
	struct store *s = store_open(STAGE_NAME);
	struct control *c;

	(void)context;
	if (s && store_begin(s, &c) == 0)
		raise(SIGKILL);
	return 1;
}

static void the_lock_dies_with_its_holder(void **state)
{
	struct store *s = store_open(STAGE_NAME);

	(void)state;
	assert_int_equal(WTERMSIG(stage_wait(stage_fork(hold_and_die, NULL))), SIGKILL);
	commit(s);
	check_generation(s, 1);
	store_close(s);
}

static int sleep_on(void *context)
{
	(void)context;
	pause();
	return 0;
}

/* A child of fork that has the lock file open does not hold it on. */
static void the_lock_ends_with_its_end(void **state)
{
	struct store *s = store_open(STAGE_NAME), *other = store_open(STAGE_NAME);
	struct control *c;

	(void)state;
	assert_int_equal(store_begin(s, &c), 0);
	pid_t child = stage_fork(sleep_on, NULL);

	control_free(c);
	store_end(s);
	commit(other);
	assert_int_equal(kill(child, SIGKILL), 0);
	stage_wait(child);
	store_close(s);
	store_close(other);
}

static void a_strangers_lock_is_removed(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	stage_write(LOCK, "", 0);
	assert_int_equal(chown(stage_path(LOCK), STRANGER, STRANGER), 0);
	/* However long he holds it. */
	int fd = open(stage_path(LOCK), O_RDWR | O_CLOEXEC);

	assert_int_equal(flock(fd, LOCK_EX), 0);
	commit(s);
	assert_int_equal(stat(stage_path(LOCK), &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(stage_count("", NULL), 2);
	close(fd);
	store_close(s);
}

static void squatters_are_no_lock(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	struct stat st;

	(void)state;
	for (enum squat kind = 0; kind < SQUATS; kind++) {
		squat(LOCK, kind);
		commit(s);
		check_generation(s, 1 + kind);
		assert_int_equal(lstat(stage_path(LOCK), &st), 0);
		assert_true(S_ISREG(st.st_mode));
		assert_int_equal(stage_count("", NULL), 2);
		assert_int_equal(unlink(stage_path(LOCK)), 0);
	}
	store_close(s);
}

/* It is nobody's to empty, but out of the way; once it is empty it goes. */
static void a_full_directory_is_moved_aside(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	char aside[256], inside[300];

	(void)state;
	squat(LOCK, SQUAT_DIRECTORY);
	stage_write(LOCK "/x", "", 0);
	commit(s);
	assert_int_equal(stage_count(".new.", aside), 1);
	assert_int_equal(stage_count("", NULL), 3);
	snprintf(inside, sizeof inside, "%s/x", aside);
	assert_int_equal(unlink(stage_path(inside)), 0);
	commit(s);
	check_generation(s, 2);
	assert_int_equal(stage_count("", NULL), 2);
	store_close(s);
}

static void who_lost_the_lock_changes_nothing(void **state)
{
	struct store *s = store_open(STAGE_NAME), *other = store_open(STAGE_NAME);
	struct control *c;

	(void)state;
	assert_int_equal(store_begin(s, &c), 0);
	assert_int_equal(unlink(stage_path(LOCK)), 0);
	assert_int_equal(store_commit(s, c), -EAGAIN);
	commit(other);
	assert_int_equal(store_commit(s, c), -EAGAIN);
	assert_int_equal(c->generation, 0);
	store_end(s);
	control_free(c);
	check_generation(s, 1);
	commit(s);
	check_generation(s, 2);
	store_close(s);
	store_close(other);
}

static void leftovers_are_removed(void **state)
{
	static const char *const stay[] = {
		STAGE_NAME ".new.0123456789abcde", STAGE_NAME ".new.0123456789abcdef0",
		STAGE_NAME "2.new.0123456789abcdef", STAGE_NAME ".new.new.0123456789abcdef"};
	struct store *s = store_open(STAGE_NAME);

	(void)state;
	stage_write(STAGE_NAME ".new.0123456789abcdef", "x", 1);
	stage_write(STAGE_NAME ".new.0000000000000000", "x", 1);
	for (uint32_t i = 0; i < 4; i++)
		stage_write(stay[i], "x", 1);
	commit(s);
	assert_int_equal(stage_count(".new.", NULL), 4);
	store_close(s);
}

static void news_are_told(void **state)
{
	static const char *const others[] = {STAGE_NAME "2.state",
					     STAGE_NAME "xstate",
					     STAGE_NAME ".12.0123456789abcdef.x",
					     STAGE_NAME ".100.state",
					     STAGE_NAME ".x.0123456789abcdef",
					     STAGE_NAME ".12.0123456789abcde",
					     STAGE_NAME ".1.2.0123456789abcdef",
					     "other"};
	struct store *s = store_open(STAGE_NAME), *writer = store_open(STAGE_NAME);
	struct pollfd fd = {store_fd(s), POLLIN, 0};

	(void)state;
	assert_true(fd.fd >= 0);
	assert_int_equal(poll(&fd, 1, 0), 0);
	assert_int_equal(store_has_news(s), 0);
	commit(writer);
	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_int_equal(store_has_news(s), STORE_CHANGED);
	assert_int_equal(poll(&fd, 1, 0), 0);
	for (uint32_t i = 0; i < sizeof others / sizeof others[0]; i++)
		stage_write(others[i], "x", 1);
	assert_int_equal(store_has_news(s), 0);
	stage_write(STAGE_NAME ".12.0123456789abcdef", "x", 1);
	assert_int_equal(store_has_news(s), STORE_MEMBERS);
	assert_int_equal(unlink(stage_path(STAGE_NAME ".12.0123456789abcdef")), 0);
	commit(writer);
	assert_int_equal(store_has_news(s), STORE_MEMBERS | STORE_CHANGED);
	assert_int_equal(unlink(stage_path(STATE)), 0);
	assert_int_equal(store_has_news(s), STORE_CHANGED);
	store_close(s);
	store_close(writer);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, stage_up, stage_down)

static const struct CMUnitTest cases[] = {
	CASE(names_tell_devices_apart),
	CASE(names_tell_namespaces_apart),
	CASE(bad_places_are_refused),
	CASE(what_is_committed_is_read),
	CASE(only_what_is_whole_is_committed),
	CASE(damage_is_told),
	CASE(links_and_pipes_are_no_state),
	CASE(only_root_and_oneself_count),
	CASE(controllers_exclude_each_other),
	CASE(the_lock_dies_with_its_holder),
	CASE(the_lock_ends_with_its_end),
	CASE(a_strangers_lock_is_removed),
	CASE(leftovers_are_removed),
	CASE(news_are_told),
	CASE(squatters_are_no_state),
	CASE(a_file_that_may_not_be_read_is_no_state),
	CASE(squatters_are_no_lock),
	CASE(a_full_directory_is_moved_aside),
	CASE(who_lost_the_lock_changes_nothing),
};

CHECK_MAIN(cases)
