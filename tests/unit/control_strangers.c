/* control/members.h where files are of users who mean no good: what they say and how many they are.
 */
#define _GNU_SOURCE /* F_OFD_SETLK */

#include "control_stage.h"

#include <errno.h>
#include <sys/resource.h>

#include "control/member_file.h"
#include "control/members.h"

#define STRANGER 12345
#define FORGED   STAGE_NAME ".99.0123456789abcdef"

/* Leaves a file as of a process that lives and has filled its ring, but counts no event; its
 * descriptor. */
static int forge(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	const struct member_counts none = {0};
	struct member *m = member_join(STAGE_NAME, "forged");
	char part[64], name[256];
	size_t len;

	assert_non_null(m);
	for (uint64_t k = 0; k < MEMBER_EVENTS; k++) {
		const struct control_event e = {.profile_id = k, .state = CONTROL_REPORT_BAD};

		member_report(m, &e);
	}
	snprintf(part, sizeof part, "%s.%d.", STAGE_NAME, getpid());
	assert_int_equal(stage_count(part, name), 1);
	uint8_t *bytes = stage_read(name, &len);

	member_leave(m);
	memcpy(bytes + offsetof(struct member_file, events), &none, sizeof none);
	stage_write(FORGED, bytes, len);
	free(bytes);
	int fd = open(stage_path(FORGED), O_RDWR | O_CLOEXEC);

	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	return fd;
}

static void unlock(int fd)
{
	struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
}

static void claim(int fd, uint64_t reported)
{
	assert_int_equal(pwrite(fd, &reported, 8, offsetof(struct member_file, events.reported)),
			 8);
}

/* However many it says it told: as many as its file can hold, and after its end no more. */
static void a_forger_is_heard_once(void **state)
{
	struct members *all = members_open(STAGE_NAME);
	static struct control_event got[2 * MEMBER_EVENTS];
	int fd = forge();

	(void)state;
	claim(fd, UINT64_C(1) << 63);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 1);
	assert_int_equal(members_take(all, got, 2 * MEMBER_EVENTS), MEMBER_EVENTS);
	assert_int_equal(got[0].n_lost, UINT32_MAX);
	assert_int_equal(members_take(all, got, 2 * MEMBER_EVENTS), 0);
	claim(fd, (UINT64_C(1) << 63) + 10);
	unlock(fd);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 1);
	claim(fd, UINT64_MAX);
	assert_int_equal(members_take(all, got, 2 * MEMBER_EVENTS), 10);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 0);
	close(fd);
	members_close(all);
}

static void the_dead_without_a_ring_are_forgotten(void **state)
{
	struct members *all = members_open(STAGE_NAME);
	struct control_event got[8];
	int fd = forge();

	(void)state;
	claim(fd, 5);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(ftruncate(fd, offsetof(struct member_file, ring)), 0);
	assert_int_equal(members_take(all, got, 8), 0);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 1);
	unlock(fd);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_take(all, got, 8), 0);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 0);
	close(fd);
	members_close(all);
}

/* Nor does half a number count. */
static void the_dead_without_a_count_are_forgotten(void **state)
{
	struct members *all = members_open(STAGE_NAME);
	int fd = forge();

	(void)state;
	claim(fd, 5);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 1);
	assert_int_equal(ftruncate(fd, offsetof(struct member_file, events.reported) + 4), 0);
	unlock(fd);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 0);
	close(fd);
	members_close(all);
}

/* n files of one user, all of them as if of one process that lives: links to one. Its descriptor.
 */
static int crowd(uid_t owner, uint32_t n)
{
	int fd = forge();
	char first[512], name[64];

	assert_int_equal(fchown(fd, owner, owner), 0);
	snprintf(first, sizeof first, "%s", stage_path(FORGED));
	for (uint32_t i = 0; i < n; i++) {
		/* No process has such a number. */
		snprintf(name, sizeof name, "%s.0%u.%016x", STAGE_NAME, owner, i);
		assert_int_equal(link(first, stage_path(name)), 0);
	}
	assert_int_equal(unlink(first), 0);
	return fd;
}

/* Each has its bound, and all together leave room for root and ourselves. */
static void no_stranger_takes_all_places(void **state)
{
	struct members *all;
	int fds[8];

	(void)state;
	if (geteuid() != 0)
		skip();
	fds[0] = crowd(STRANGER, 1100);
	all = members_open(STAGE_NAME);
	assert_non_null(all);
	assert_int_equal(members_n(all), 512);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 512);
	stage_clear();
	for (uint32_t i = 1; i < 8; i++)
		fds[i] = crowd(STRANGER + i, 128);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 896);
	struct member *m = member_join(STAGE_NAME, "a");

	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 897);
	member_leave(m);
	members_close(all);
	for (uint32_t i = 0; i < 8; i++)
		close(fds[i]);
}

/* Leaves this process so many descriptors. */
static bool keep_descriptors(uint32_t n)
{
	const struct rlimit few = {48, 48};
	int last = -1;

	if (setrlimit(RLIMIT_NOFILE, &few))
		return false;
	for (int fd; (fd = dup(STDIN_FILENO)) >= 0;)
		last = fd;
	for (uint32_t i = 0; i < n; i++)
		close(last - (int)i);
	return last >= (int)n;
}

/* Ends with the number of the error, or 0. */
static int look_with_few(void *context)
{
	struct members *all;

	(void)context;
	if (!keep_descriptors(40))
		return 255;
	all = members_open(STAGE_NAME);
	if (!all)
		return errno;
	/* Some are left for this process, and the next look is as good. */
	for (uint32_t i = 0; i < 8; i++)
		if (dup(STDIN_FILENO) < 0)
			return 254;
	return members_n(all) > 0 ? -members_look(all) : 253;
}

/* One for the directory, and one for its names. */
static int look_with_two(void *context)
{
	struct members *all;

	(void)context;
	if (!keep_descriptors(2))
		return 255;
	all = members_open(STAGE_NAME);
	return !all || members_n(all) ? errno : 0;
}

static void strangers_do_not_take_all_descriptors(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	int fd = crowd(STRANGER, 100);

	assert_int_equal(WEXITSTATUS(stage_wait(stage_fork(look_with_few, NULL))), 0);
	assert_int_equal(WEXITSTATUS(stage_wait(stage_fork(look_with_two, NULL))), 0);
	close(fd);
	/* Of our own none is missed. */
	stage_clear();
	fd = crowd(0, 100);
	assert_int_equal(WEXITSTATUS(stage_wait(stage_fork(look_with_few, NULL))), EMFILE);
	assert_int_equal(WEXITSTATUS(stage_wait(stage_fork(look_with_two, NULL))), EMFILE);
	close(fd);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, stage_up, stage_down)

static const struct CMUnitTest cases[] = {
	CASE(a_forger_is_heard_once),
	CASE(the_dead_without_a_ring_are_forgotten),
	CASE(the_dead_without_a_count_are_forgotten),
	CASE(no_stranger_takes_all_places),
	CASE(strangers_do_not_take_all_descriptors),
};

CHECK_MAIN(cases)
