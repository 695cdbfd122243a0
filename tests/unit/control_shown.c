/* control/member.h: what a process shows is for its user and for root, and goes with it. Whoever
 * else looks learns no number of a queue pair, and nobody's file stands in for another's. */
#define _GNU_SOURCE /* F_OFD_SETLK, memmem */

#include "control_stage.h"

#include <errno.h>
#include <time.h>

#include "base/prng.h"
#include "control/member_file.h"
#include "control/members.h"

#define STRANGER 12345
#define THIRD    12346
#define NUMBER   UINT32_C(0x5abcde)
#define REMOTE   UINT32_C(0x6bcdef)
#define PACKETS  UINT64_C(0x0102030405060708)

static void show(struct member *m)
{
	const struct member_device device = {.at = 1, .n_pairs = 1, .tx_packets = PACKETS};
	const struct member_pair pair = {
		.number = NUMBER, .remote = REMOTE, .sent_packets = PACKETS, .profile = 7};

	member_show(m, &device, &pair, 1);
}

static int read_first(struct members *all, struct member_pair *pair, uint32_t *n)
{
	struct member_device device;

	return members_read(all, 0, &device, pair, 1, n);
}

/* Whether some file that this process may read has any of it. */
static bool is_shown(void)
{
	const uint32_t number = NUMBER, remote = REMOTE;
	const uint64_t packets = PACKETS;
	DIR *list = opendir(stage_directory);
	static uint8_t bytes[1 << 20];
	bool is_found = false;

	for (const struct dirent *e; list && (e = readdir(list));) {
		int fd = openat(dirfd(list), e->d_name, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, bytes, sizeof bytes);
		size_t len = n > 0 ? (size_t)n : 0;

		is_found |= memmem(bytes, len, &number, sizeof number) ||
			    memmem(bytes, len, &remote, sizeof remote) ||
			    memmem(bytes, len, &packets, sizeof packets);
		if (fd >= 0)
			close(fd);
	}
	if (list)
		closedir(list);
	return is_found;
}

/* As another user: who is there and what it uses can be seen, and nothing else. */
static int look_as_stranger(void *context)
{
	struct member_pair pair;
	uint32_t n;

	(void)context;
	if (setgid(STRANGER) || setuid(STRANGER))
		return 1;
	struct members *all = members_open(STAGE_NAME);

	if (!all || members_n(all) != 1 || members_who(all, 0)->uid != 0)
		return 2;
	if (members_using(all, CONTROL_EV, 7) != 3 ||
	    members_using_of(all, 0, CONTROL_EV, 7) != 3 || !members_find_bad(all, 7, 5))
		return 3;
	if (read_first(all, &pair, &n) != -EACCES)
		return 4;
	return is_shown() ? 5 : 0;
}

static void strangers_learn_no_number(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(stage_directory, 01777), 0);
	mode_t mask = umask(0);
	struct member *m = member_join(STAGE_NAME, "a");

	assert_int_equal(member_use(m, CONTROL_EV, 7, 3), 0);
	member_set_bad(m, 7, 5, true);
	/* Before it has shown anything as well: that it has no queue pairs is not known. */
	assert_int_equal(stage_wait(stage_fork(look_as_stranger, NULL)), 0);
	show(m);
	umask(mask);
	assert_true(is_shown());
	assert_int_equal(stage_wait(stage_fork(look_as_stranger, NULL)), 0);
	member_leave(m);
	assert_int_equal(stage_count("", NULL), 0);
}

static void the_private_file_is_private(void **state)
{
	char name[256];
	struct stat st;
	mode_t mask = umask(0);
	struct member *m = member_join(STAGE_NAME, "a");

	(void)state;
	assert_int_equal(stage_count(MEMBER_SHOWN_END, NULL), 0);
	show(m);
	umask(mask);
	assert_int_equal(stage_count(MEMBER_SHOWN_END, name), 1);
	assert_int_equal(stat(stage_path(name), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	show(m);
	assert_int_equal(stage_count("", NULL), 2);
	member_leave(m);
	assert_int_equal(stage_count("", NULL), 0);
}

struct pipes {
	int up[2];
};

/* As another user: shows itself, and waits to be killed. */
static int show_as_stranger(void *context)
{
	struct pipes *p = context;
	char byte = 0;

	if (setgid(STRANGER) || setuid(STRANGER))
		return 1;
	struct member *m = member_join(STAGE_NAME, "stranger");

	if (!m)
		return 2;
	show(m);
	if (write(p->up[1], &byte, 1) != 1)
		return 3;
	pause();
	return 0;
}

static pid_t begin_stranger(struct pipes *p)
{
	char byte;

	assert_int_equal(pipe(p->up), 0);
	assert_int_equal(chmod(stage_directory, 01777), 0);
	pid_t pid = stage_fork(show_as_stranger, p);

	assert_int_equal(read(p->up[0], &byte, 1), 1);
	return pid;
}

static void end_stranger(struct pipes *p, pid_t pid)
{
	kill(pid, SIGKILL);
	stage_wait(pid);
	close(p->up[0]);
	close(p->up[1]);
}

/* And what it leaves when it is killed is all removed. */
static void root_sees_all(void **state)
{
	struct member_pair pair;
	struct pipes p;
	uint32_t n = 0;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid_t pid = begin_stranger(&p);
	struct members *all = members_open(STAGE_NAME);

	assert_int_equal(members_n(all), 1);
	assert_int_equal(members_who(all, 0)->uid, STRANGER);
	assert_int_equal(read_first(all, &pair, &n), 0);
	assert_true(n == 1 && pair.number == NUMBER && pair.remote == REMOTE);
	assert_int_equal(stage_count("", NULL), 2);
	end_stranger(&p, pid);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(stage_count("", NULL), 0);
	members_close(all);
}

#define FORGED STAGE_NAME ".99.0123456789abcdef"

/* A file of that user, as of a process that lives if its descriptor is not closed, that names a
 * private file. */
static int forge(uid_t owner, uint64_t shown_in)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	const uint64_t magic = MEMBER_MAGIC;

	stage_write(FORGED, "", 0);
	int fd = open(stage_path(FORGED), O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, sizeof(struct member_file)), 0);
	assert_int_equal(pwrite(fd, &magic, 8, offsetof(struct member_file, magic)), 8);
	assert_int_equal(pwrite(fd, &shown_in, 8, offsetof(struct member_file, shown_in)), 8);
	if (geteuid() == 0)
		assert_int_equal(fchown(fd, owner, owner), 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	return fd;
}

/* The number that a private file has in its name, given the same process. */
static uint64_t steal(const char *as)
{
	char name[256], path[512];

	assert_int_equal(stage_count(MEMBER_SHOWN_END, name), 1);
	snprintf(path, sizeof path, "%s", stage_path(name));
	assert_int_equal(rename(path, stage_path(as)), 0);
	return strtoull(strrchr(as, '.') - 16, NULL, 16);
}

/* Who names another user's private file is not shown as that one, nor does it cost the other his.
 */
static void nobodys_file_stands_in_for_anothers(void **state)
{
	static const char private[] = STAGE_NAME ".99.00000000000000aa" MEMBER_SHOWN_END;
	struct members *all = members_open(STAGE_NAME);
	struct member_pair pair;
	struct pipes p;
	uint32_t n;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid_t pid = begin_stranger(&p);
	uint64_t number = steal(private);

	assert_int_equal(number, 0xaa);
	end_stranger(&p, pid);
	assert_int_equal(members_look(all), 0);
	int fd = forge(THIRD, number);

	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 1);
	assert_int_equal(read_first(all, &pair, &n), -ENODATA);
	close(fd);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(stage_count(FORGED, NULL), 0);
	assert_int_equal(stage_count(MEMBER_SHOWN_END, NULL), 1);
	/* Of the same user it is its own, and goes with it. */
	fd = forge(STRANGER, number);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(read_first(all, &pair, &n), 0);
	close(fd);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(stage_count("", NULL), 0);
	members_close(all);
}

/* Whatever stands in it, however short it is, and whatever else has its name. */
static void garbage_is_harmless(void **state)
{
	static const char private[] = STAGE_NAME ".99.00000000000000aa" MEMBER_SHOWN_END;
	static struct member_pair pairs[MEMBER_PAIRS];
	const size_t size = sizeof(struct member_shown_file);
	uint8_t *bytes = calloc(1, size), *spoiled = malloc(size);
	const uint64_t magic = MEMBER_SHOWN_MAGIC;
	struct member_device device;
	struct prng p;
	uint32_t n = 0;

	(void)state;
	prng_init(&p, check_seed(1), 0);
	int fd = forge(geteuid(), 0xaa);
	struct members *all = members_open(STAGE_NAME);

	assert_int_equal(members_n(all), 1);
	assert_int_equal(members_read(all, 0, &device, pairs, MEMBER_PAIRS, &n), -ENODATA);
	memcpy(bytes, &magic, sizeof magic);
	bytes[8] = 2;
	for (size_t len = 0; len < size; len += prng_range(&p, 1, 999)) {
		stage_write(private, bytes, len);
		members_read(all, 0, &device, pairs, MEMBER_PAIRS, &n);
	}
	for (uint32_t i = 0; i < 100; i++) {
		prng_fill(&p, spoiled, size);
		memcpy(spoiled, bytes, 16);
		stage_write(private, spoiled, size);
		if (members_read(all, 0, &device, pairs, MEMBER_PAIRS, &n) == 0)
			assert_true(n <= MEMBER_PAIRS && device.n_ports <= MEMBER_PORTS);
	}
	assert_int_equal(unlink(stage_path(private)), 0);
	assert_int_equal(mkfifo(stage_path(private), 0600), 0);
	assert_int_equal(members_read(all, 0, &device, pairs, MEMBER_PAIRS, &n), -ENODATA);
	assert_int_equal(unlink(stage_path(private)), 0);
	assert_int_equal(symlink("/dev/zero", stage_path(private)), 0);
	assert_int_equal(members_read(all, 0, &device, pairs, MEMBER_PAIRS, &n), -ENODATA);
	free(bytes);
	free(spoiled);
	close(fd);
	members_close(all);
}

static void make_old(const char *name)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - 3600}};

	assert_int_equal(utimensat(AT_FDCWD, stage_path(name), times, 0), 0);
}

/* One whose process was killed before it could say that it is its own; but not of the living. */
static void the_long_dead_are_swept(void **state)
{
	static const char orphan[] = STAGE_NAME ".99.0123456789abcdef" MEMBER_SHOWN_END;
	struct member *alive = member_join("weft.3.eth0", "alive");
	char living[256];

	(void)state;
	show(alive);
	assert_int_equal(stage_count(MEMBER_SHOWN_END, living), 1);
	stage_write(orphan, "x", 1);
	make_old(living);
	make_old(orphan);
	struct member *m = member_join(STAGE_NAME, "m");

	assert_int_equal(stage_count(orphan, NULL), 0);
	assert_int_equal(stage_count(living, NULL), 1);
	member_leave(m);
	member_leave(alive);
	assert_int_equal(stage_count("", NULL), 0);
}

static int leave(void *context)
{
	member_leave(context);
	return 0;
}

static void a_child_does_no_harm(void **state)
{
	struct member *m = member_join(STAGE_NAME, "parent");
	struct members *all = members_open(STAGE_NAME);
	struct member_pair pair;
	uint32_t n = 0;

	(void)state;
	show(m);
	assert_int_equal(stage_wait(stage_fork(leave, m)), 0);
	assert_int_equal(stage_count("", NULL), 2);
	assert_int_equal(read_first(all, &pair, &n), 0);
	member_leave(m);
	members_close(all);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, stage_up, stage_down)

static const struct CMUnitTest cases[] = {
	CASE(strangers_learn_no_number),
	CASE(the_private_file_is_private),
	CASE(root_sees_all),
	CASE(nobodys_file_stands_in_for_anothers),
	CASE(garbage_is_harmless),
	CASE(the_long_dead_are_swept),
	CASE(a_child_does_no_harm),
};

CHECK_MAIN(cases)
