/* control/member.h and control/members.h: processes that show themselves, and those who look. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_OFD_SETLK, program_invocation_short_name */
#endif

#include "control_stage.h"

#include <errno.h>
#include <sys/resource.h>
#include <time.h>

#include "base/prng.h"
#include "control/member_file.h"
#include "control/members.h"

#define STRANGER 12345
#define HAMMERED 100000u /* events */

static struct control_event event(uint64_t k)
{
	struct control_event e = {.profile_id = k, .state = k % 2 ? CONTROL_REPORT_GOOD : 2};

	memset(e.ev.val, (int)(k % 251), sizeof e.ev.val);
	e.ev.port = (uint8_t)(1 + k % 8);
	return e;
}

static void tell(struct member *m, uint64_t first, uint64_t n)
{
	for (uint64_t k = first; k < first + n; k++) {
		struct control_event e = event(k);

		member_report(m, &e);
	}
}

/* Takes all events: they are as told, and from `first` on each one is there or counted as lost.
 * Returns the number that is next. */
static uint64_t take_all(struct members *all, uint64_t first, uint64_t *lost)
{
	struct control_event got[100];
	uint32_t n;

	while ((n = members_take(all, got, 100)) > 0) {
		for (uint32_t i = 0; i < n; i++) {
			struct control_event want = event(got[i].profile_id);

			assert_int_equal(got[i].profile_id, first + got[i].n_lost);
			assert_memory_equal(&got[i].ev, &want.ev, sizeof want.ev);
			assert_int_equal(got[i].state, want.state);
			first = got[i].profile_id + 1;
			*lost += got[i].n_lost;
		}
	}
	return first;
}

static void processes_come_and_go(void **state)
{
	struct store *s = store_open(STAGE_NAME);
	struct members *all = members_open(STAGE_NAME);
	char name[256], command[16];
	struct stat st;

	(void)state;
	snprintf(command, sizeof command, "%s", program_invocation_short_name);
	assert_int_equal(members_n(all), 0);
	assert_null(members_who(all, 0));
	assert_int_equal(store_has_news(s), 0);
	mode_t mask = umask(077);
	struct member *m = member_join(STAGE_NAME, "weft_mrc0");

	umask(mask);
	assert_non_null(m);
	assert_int_equal(store_has_news(s), STORE_MEMBERS);
	assert_int_equal(stage_count(".", name), 1);
	assert_int_equal(stat(stage_path(name), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 1);
	const struct member_who *who = members_who(all, 0);

	assert_true(who->pid == getpid() && who->uid == geteuid());
	assert_string_equal(who->device, "weft_mrc0");
	assert_string_equal(who->command, command);
	member_leave(m);
	assert_int_equal(store_has_news(s), STORE_MEMBERS);
	assert_int_equal(stage_count("", NULL), 0);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 0);
	members_close(all);
	members_close(NULL);
	member_leave(NULL);
	member_abandon(NULL);
	store_close(s);
}

static void without_a_place_there_is_none(void **state)
{
	(void)state;
	setenv("WEFT_STATE_DIR", stage_path("nowhere"), 1);
	assert_null(member_join(STAGE_NAME, "x"));
	assert_int_equal(errno, ENOENT);
	assert_null(members_open(STAGE_NAME));
	assert_int_equal(errno, ENOENT);
}

static void uses_are_counted(void **state)
{
	struct member *a = member_join(STAGE_NAME, "a"), *b = member_join(STAGE_NAME, "b");
	struct members *all = members_open(STAGE_NAME);

	(void)state;
	assert_int_equal(members_n(all), 2);
	assert_int_equal(member_use(a, CONTROL_EV, 7, 1), 0);
	assert_int_equal(member_use(a, CONTROL_EV, 7, 1), 0);
	assert_int_equal(member_use(b, CONTROL_EV, 7, 1), 0);
	assert_int_equal(member_use(b, CONTROL_CC, 7, 1), 0);
	assert_int_equal(members_using(all, CONTROL_EV, 7), 3);
	assert_int_equal(members_using(all, CONTROL_CC, 7), 1);
	assert_int_equal(members_using(all, CONTROL_EV, 8), 0);
	assert_int_equal(member_use(a, CONTROL_EV, 7, -1), 0);
	assert_int_equal(member_use(a, CONTROL_CC, 7, -1), -EINVAL);
	assert_int_equal(members_using(all, CONTROL_EV, 7), 2);
	member_leave(b);
	assert_int_equal(members_using(all, CONTROL_EV, 7), 1);
	/* As many as there are places, and one again when one is given up. */
	for (uint64_t id = 1; id < MEMBER_USES; id++)
		assert_int_equal(member_use(a, CONTROL_EV, 100 + id, 1), 0);
	assert_int_equal(member_use(a, CONTROL_EV, 99, 1), -ENOSPC);
	assert_int_equal(member_use(a, CONTROL_EV, 101, -1), 0);
	assert_int_equal(member_use(a, CONTROL_EV, 99, 1), 0);
	assert_int_equal(members_using(all, CONTROL_EV, 99), 1);
	assert_int_equal(members_using(all, CONTROL_EV, 101), 0);
	member_leave(a);
	members_close(all);
}

static void bad_evs_are_found(void **state)
{
	struct member *a = member_join(STAGE_NAME, "a"), *b = member_join(STAGE_NAME, "b");
	struct members *all = members_open(STAGE_NAME);

	(void)state;
	/* Of a profile that is not in use nothing is kept. */
	member_set_bad(a, 7, 0, true);
	assert_int_equal(member_use(a, CONTROL_CC, 7, 1), 0);
	assert_int_equal(member_use(a, CONTROL_EV, 7, 1), 0);
	assert_int_equal(member_use(b, CONTROL_EV, 7, 1), 0);
	assert_false(members_find_bad(all, 7, 0));
	member_set_bad(a, 7, 1023, true);
	member_set_bad(b, 7, 65, true);
	member_set_bad(b, 7, CONTROL_EVS, true);
	for (uint32_t ev = 0; ev < CONTROL_EVS + 64; ev++)
		assert_int_equal(members_find_bad(all, 7, ev), ev == 65 || ev == 1023);
	assert_false(members_find_bad(all, 8, 65));
	member_set_bad(b, 7, 65, false);
	assert_false(members_find_bad(all, 7, 65));
	assert_true(members_find_bad(all, 7, 1023));
	/* Who uses it anew begins anew. */
	assert_int_equal(member_use(a, CONTROL_EV, 7, -1), 0);
	assert_int_equal(member_use(a, CONTROL_EV, 7, 1), 0);
	assert_false(members_find_bad(all, 7, 1023));
	member_leave(a);
	member_leave(b);
	members_close(all);
}

static void events_come_from_now_on(void **state)
{
	struct member *m = member_join(STAGE_NAME, "a");
	struct store *s = store_open(STAGE_NAME);
	uint64_t lost = 0;

	(void)state;
	tell(m, 0, 10);
	assert_int_equal(store_has_news(s), STORE_MEMBERS);
	struct members *all = members_open(STAGE_NAME);

	assert_int_equal(take_all(all, 0, &lost), 0);
	tell(m, 10, 5);
	assert_int_equal(take_all(all, 10, &lost), 15);
	assert_int_equal(take_all(all, 15, &lost), 15);
	member_leave(m);
	/* One that comes later counts from its first. */
	m = member_join(STAGE_NAME, "b");
	tell(m, 0, 3);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(take_all(all, 0, &lost), 3);
	assert_int_equal(lost, 0);
	member_leave(m);
	members_close(all);
	store_close(s);
}

static void lost_events_are_counted(void **state)
{
	struct member *m = member_join(STAGE_NAME, "a");
	struct members *all = members_open(STAGE_NAME);
	struct control_event e;
	uint64_t next = 0;

	(void)state;
	for (uint32_t n = MEMBER_EVENTS - 2; n < MEMBER_EVENTS + 3; n++) {
		uint64_t lost = 0;

		tell(m, next, n);
		assert_int_equal(take_all(all, next, &lost), next + n);
		assert_int_equal(lost, n > MEMBER_EVENTS ? n - MEMBER_EVENTS : 0);
		next += n;
	}
	tell(m, next, 5000);
	/* One by one: the loss is told once. */
	assert_int_equal(members_take(all, &e, 1), 1);
	assert_int_equal(e.n_lost, 5000 - MEMBER_EVENTS);
	assert_int_equal(members_take(all, &e, 1), 1);
	assert_int_equal(e.n_lost, 0);
	assert_int_equal(members_take(all, &e, 0), 0);
	/* What its reporter lost before counts as well. */
	uint64_t lost = 0;

	take_all(all, next + 5000 - MEMBER_EVENTS + 2, &lost);
	e = event(1);
	e.n_lost = 9;
	member_report(m, &e);
	assert_int_equal(members_take(all, &e, 1), 1);
	assert_int_equal(e.n_lost, 9);
	member_leave(m);
	members_close(all);
}

static void each_process_has_its_turn(void **state)
{
	struct member *a = member_join(STAGE_NAME, "a"), *b = member_join(STAGE_NAME, "b");
	struct members *all = members_open(STAGE_NAME);
	struct control_event got[50];
	uint32_t n_of_b = 0;

	(void)state;
	tell(b, 1000000, 200);
	for (uint32_t round = 0; round < 10; round++) {
		tell(a, 100 * round, 100);
		assert_int_equal(members_take(all, got, 50), 50);
		for (uint32_t i = 0; i < 50; i++)
			n_of_b += got[i].profile_id >= 1000000;
	}
	assert_int_equal(n_of_b, 200);
	member_leave(a);
	member_leave(b);
	members_close(all);
}

static int join_small(void *context)
{
	const struct rlimit little = {4096, 4096};

	(void)context;
	if (setrlimit(RLIMIT_FSIZE, &little) || member_join(STAGE_NAME, "a"))
		return 1;
	return errno == EFBIG ? 0 : 2;
}

static void files_may_be_limited(void **state)
{
	(void)state;
	assert_int_equal(stage_wait(stage_fork(join_small, NULL)), 0);
	assert_int_equal(stage_count("", NULL), 0);
}

static int report_and_die(void *context)
{
	struct member *m = member_join(STAGE_NAME, "dying");

	(void)context;
	if (!m || member_use(m, CONTROL_EV, 7, 1))
		return 1;
	tell(m, 0, 3);
	raise(SIGKILL);
	return 2;
}

static void the_dead_are_noticed(void **state)
{
	struct member *m = member_join(STAGE_NAME, "a");
	struct members *all = members_open(STAGE_NAME);
	uint64_t lost = 0;

	(void)state;
	assert_int_equal(WTERMSIG(stage_wait(stage_fork(report_and_die, NULL))), SIGKILL);
	assert_int_equal(stage_count("", NULL), 2);
	assert_int_equal(members_look(all), 0);
	/* What it told is there to be read, though it was never seen alive; what it used is free.
	 */
	assert_int_equal(stage_count("", NULL), 1);
	assert_int_equal(members_n(all), 2);
	assert_int_equal(members_using(all, CONTROL_EV, 7), 0);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 2);
	assert_int_equal(take_all(all, 0, &lost), 3);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 1);
	assert_string_equal(members_who(all, 0)->device, "a");
	member_leave(m);
	members_close(all);
	/* One who opens now finds nobody. */
	stage_wait(stage_fork(report_and_die, NULL));
	all = members_open(STAGE_NAME);
	assert_int_equal(members_n(all), 0);
	assert_int_equal(stage_count("", NULL), 0);
	members_close(all);
}

struct pipes {
	int up[2], down[2];
};

static int report_when_asked(void *context)
{
	struct pipes *p = context;
	struct member *m = member_join(STAGE_NAME, "asked");
	char byte = 0;

	if (!m || member_use(m, CONTROL_EV, 7, 2) || write(p->up[1], &byte, 1) != 1 ||
	    read(p->down[0], &byte, 1) != 1)
		return 1;
	tell(m, 0, 2000);
	if (write(p->up[1], &byte, 1) != 1)
		return 2;
	pause();
	return 0;
}

static void one_that_is_killed_leaves_its_events(void **state)
{
	struct members *all = members_open(STAGE_NAME);
	struct pipes p;
	uint64_t lost = 0;
	char byte = 0;

	(void)state;
	assert_int_equal(pipe(p.up) | pipe(p.down), 0);
	pid_t pid = stage_fork(report_when_asked, &p);

	assert_int_equal(read(p.up[0], &byte, 1), 1);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 1);
	assert_int_equal(members_who(all, 0)->pid, pid);
	assert_int_equal(members_using(all, CONTROL_EV, 7), 2);
	assert_int_equal(write(p.down[1], &byte, 1), 1);
	assert_int_equal(read(p.up[0], &byte, 1), 1);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 1);
	kill(pid, SIGKILL);
	stage_wait(pid);
	/* Before anyone looks again. */
	assert_int_equal(members_using(all, CONTROL_EV, 7), 0);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(stage_count("", NULL), 0);
	assert_int_equal(take_all(all, 0, &lost), 2000);
	assert_int_equal(lost, 2000 - MEMBER_EVENTS);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 0);
	for (uint32_t i = 0; i < 2; i++) {
		close(p.up[i]);
		close(p.down[i]);
	}
	members_close(all);
}

static int abandon(void *context)
{
	member_abandon(context);
	pause();
	return 0;
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

	(void)state;
	assert_int_equal(stage_wait(stage_fork(leave, m)), 0);
	pid_t pid = stage_fork(abandon, m);

	/* It is still the parent's, and locked, whatever its children did. */
	assert_int_equal(member_use(m, CONTROL_EV, 7, 1), 0);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_using(all, CONTROL_EV, 7), 1);
	assert_int_equal(stage_count("", NULL), 1);
	member_leave(m);
	assert_int_equal(stage_count("", NULL), 0);
	kill(pid, SIGKILL);
	stage_wait(pid);
	members_close(all);
}

static void what_is_shown_is_read(void **state)
{
	struct member *m = member_join(STAGE_NAME, "a");
	struct members *all = members_open(STAGE_NAME);
	static struct member_pair pairs[MEMBER_PAIRS + 1], got[MEMBER_PAIRS];
	struct member_device device = {.at = 5, .n_ports = 2, .port = {"eth0", "e\x1b[2J"}}, d;
	uint32_t n = 0;

	(void)state;
	assert_int_equal(members_read(all, 0, &d, got, 4, &n), -ENODATA);
	assert_int_equal(members_read(all, 1, &d, got, 4, &n), -ENODATA);
	for (uint32_t i = 0; i <= MEMBER_PAIRS; i++)
		pairs[i] = (struct member_pair){.number = 1 + i, .srtt_ns = i};
	member_show(m, &device, NULL, 0);
	assert_int_equal(members_read(all, 0, &d, NULL, 0, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(d.at, 5);
	assert_string_equal(d.port[0], "eth0");
	/* Terminals are spared. */
	assert_string_equal(d.port[1], "e?[2J");
	member_show(m, &device, pairs, MEMBER_PAIRS + 1);
	assert_int_equal(members_read(all, 0, &d, got, MEMBER_PAIRS, &n), 0);
	assert_int_equal(n, MEMBER_PAIRS);
	assert_memory_equal(got, pairs, sizeof got);
	assert_int_equal(members_read(all, 0, &d, got, 10, &n), 0);
	assert_int_equal(n, 10);
	device.n_ports = 99;
	member_show(m, &device, pairs + 1, 1);
	assert_int_equal(members_read(all, 0, &d, got, 10, &n), 0);
	assert_true(n == 1 && got[0].number == 2 && d.n_ports == MEMBER_PORTS);
	member_leave(m);
	assert_int_equal(members_read(all, 0, &d, got, 10, &n), -ENODATA);
	members_close(all);
}

/* Tells and shows without end, as fast as it goes. */
static int hammer(void *context)
{
	struct member *m = member_join(STAGE_NAME, "hammer");
	struct member_device device = {0};
	static struct member_pair pairs[8];
	uint64_t k = 0;

	(void)context;
	if (!m)
		return 1;
	for (; k < HAMMERED; k++) {
		struct control_event e = event(k);

		member_report(m, &e);
		if (k % 8)
			continue;
		device.at = k;
		for (uint32_t i = 0; i < 8; i++)
			pairs[i].srtt_ns = pairs[i].sent_bytes = k;
		member_show(m, &device, pairs, 8);
		member_set_bad(m, 7, 3, k % 16);
	}
	raise(SIGKILL);
	return 2;
}

static void check_shown(struct members *all)
{
	struct member_device d;
	struct member_pair got[8];
	uint32_t n;

	if (members_read(all, 0, &d, got, 8, &n))
		return;
	assert_int_equal(n, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_true(got[i].srtt_ns == d.at && got[i].sent_bytes == d.at);
}

static void readers_get_it_whole(void **state)
{
	struct members *all = members_open(STAGE_NAME);
	uint64_t next = 0, lost = 0;
	pid_t pid = stage_fork(hammer, NULL);

	(void)state;
	for (uint32_t i = 0; i < 10000000 && next < HAMMERED; i++) {
		assert_int_equal(members_look(all), 0);
		next = take_all(all, next, &lost);
		check_shown(all);
	}
	assert_int_equal(next, HAMMERED);
	assert_int_equal(WTERMSIG(stage_wait(pid)), SIGKILL);
	members_close(all);
}

/* Whatever stands in a file that is locked as if its process lived. */
static void look_at_garbage(const uint8_t *bytes, size_t len)
{
	static const char file[] = STAGE_NAME ".99.0123456789abcdef";
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct members *early = members_open(STAGE_NAME);
	static struct member_pair pairs[MEMBER_PAIRS];
	static struct control_event events[2 * MEMBER_EVENTS];
	struct member_device device;
	uint32_t n = 0;

	stage_write(file, bytes, len);
	int fd = open(stage_path(file), O_RDWR | O_CLOEXEC);

	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	assert_int_equal(members_look(early), 0);
	struct members *late = members_open(STAGE_NAME);

	for (uint32_t i = 0; i < 2; i++) {
		struct members *m = i ? late : early;

		for (uint32_t k = 0; k < members_n(m); k++) {
			const struct member_who *who = members_who(m, k);

			assert_true(strlen(who->device) < sizeof who->device);
			assert_true(strlen(who->command) < sizeof who->command);
			if (members_read(m, k, &device, pairs, MEMBER_PAIRS, &n) == 0)
				assert_true(n <= MEMBER_PAIRS && device.n_ports <= MEMBER_PORTS);
		}
		n = members_take(m, events, 2 * MEMBER_EVENTS);
		for (uint32_t k = 0; k < n; k++)
			assert_true(events[k].state == 1 || events[k].state == 2);
		members_using(m, CONTROL_EV, 7);
		members_find_bad(m, 7, 3);
		members_close(m);
	}
	close(fd);
	assert_int_equal(unlink(stage_path(file)), 0);
}

static uint8_t *good_file(size_t *len)
{
	struct member *m = member_join(STAGE_NAME, "good");
	struct member_device device = {.at = 1};
	struct member_pair pairs[3] = {{.number = 1}};
	char name[256];

	assert_non_null(m);
	assert_int_equal(member_use(m, CONTROL_EV, 7, 1), 0);
	tell(m, 0, 100);
	assert_int_equal(stage_count(".", name), 1);
	member_show(m, &device, pairs, 3);
	uint8_t *bytes = stage_read(name, len);

	member_leave(m);
	return bytes;
}

static void garbage_is_harmless(void **state)
{
	uint64_t seed = check_seed(1);
	struct prng p;
	size_t len;
	uint8_t *bytes = good_file(&len);

	(void)state;
	prng_init(&p, seed, 0);
	for (size_t n = 0; n < 400; n++)
		look_at_garbage(bytes, n);
	for (size_t n = 400; n < len; n += prng_range(&p, 1, 3000))
		look_at_garbage(bytes, n);
	look_at_garbage(bytes, len);
	/* All but the magic. */
	for (uint32_t i = 0; i < 100; i++) {
		size_t at = prng_range(&p, 8, len - 1), n = prng_range(&p, 1, len - at);
		uint8_t *spoiled = malloc(len);

		memcpy(spoiled, bytes, len);
		if (i % 2) {
			at = prng_range(&p, 8, 300);
			n = prng_range(&p, 1, 64);
		}
		if (i % 4 < 2)
			prng_fill(&p, spoiled + at, n);
		else
			memset(spoiled + at, 0xff, n);
		look_at_garbage(spoiled, len);
		free(spoiled);
	}
	free(bytes);
}

/* A count of events that goes back makes none. */
static void counts_do_not_go_back(void **state)
{
	struct member *m = member_join(STAGE_NAME, "a");
	struct members *all = members_open(STAGE_NAME);
	const uint64_t none = 0;
	uint64_t lost = 0;
	char name[256];

	(void)state;
	tell(m, 0, 5);
	assert_int_equal(take_all(all, 0, &lost), 5);
	assert_int_equal(stage_count(".", name), 1);
	int fd = open(stage_path(name), O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, &none, 8, offsetof(struct member_file, events.reported)), 8);
	close(fd);
	assert_int_equal(take_all(all, 5, &lost), 5);
	member_leave(m);
	members_close(all);
}

static void other_files_are_left_alone(void **state)
{
	static const char *const others[] = {
		STAGE_NAME ".state", STAGE_NAME ".100.12.0123456789abcdef",
		STAGE_NAME ".x.0123456789abcdef", "other.12.0123456789abcdef"};
	struct members *all = members_open(STAGE_NAME);

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		stage_write(others[i], "x", 1);
	stage_write(STAGE_NAME ".12.0123456789abcdef", "x", 1);
	assert_int_equal(mkfifo(stage_path(STAGE_NAME ".13.0123456789abcdef"), 0644), 0);
	assert_int_equal(members_look(all), 0);
	assert_int_equal(members_n(all), 0);
	assert_int_equal(stage_count("", NULL), 5);
	members_close(all);
}

/* Sets a file's age in seconds. */
static void make_old(const char *name, long seconds)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = 0}};

	times[1].tv_sec = time(NULL) - seconds;
	assert_int_equal(utimensat(AT_FDCWD, stage_path(name), times, 0), 0);
}

/* Of whichever device; but not the young, the living, and what only looks like one. */
static void the_long_dead_are_swept(void **state)
{
	static const char *const stay[] = {"weft.2.eth0.state", "weft.2.eth0.12.0123",
					   "other.2.eth0.12.0123456789abcdef"};
	struct member *alive = member_join("weft.3.eth0", "alive");
	char living[256], dead[256];

	(void)state;
	assert_int_equal(stage_count("weft.3.", living), 1);
	make_old(living, 3600);
	for (uint32_t i = 0; i < 3; i++) {
		stage_write(stay[i], "x", 1);
		make_old(stay[i], 3600);
	}
	assert_int_equal(WTERMSIG(stage_wait(stage_fork(report_and_die, NULL))), SIGKILL);
	assert_int_equal(stage_count(STAGE_NAME, dead), 1);
	make_old(dead, 30);
	struct member *m = member_join("weft.4.eth0", "m");

	assert_int_equal(stage_count(STAGE_NAME, NULL), 1);
	member_leave(m);
	make_old(dead, 3600);
	m = member_join("weft.4.eth0", "m");
	assert_int_equal(stage_count(STAGE_NAME, NULL), 0);
	assert_int_equal(stage_count("", NULL), 5);
	member_leave(m);
	member_leave(alive);
}

static int look_as_stranger(void *context)
{
	struct members *all;
	struct control_event e[8];

	(void)context;
	if (setuid(STRANGER))
		return 1;
	all = members_open(STAGE_NAME);
	if (!all || members_n(all) != 1 || members_who(all, 0)->uid != 0)
		return 2;
	/* The file of the dead stays, and is not read again and again. */
	if (members_look(all) || members_take(all, e, 8) || members_n(all) != 1)
		return 3;
	members_close(all);
	return 0;
}

static void strangers_may_look(void **state)
{
	struct member *m = member_join(STAGE_NAME, "a");

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(stage_directory, 01777), 0);
	stage_wait(stage_fork(report_and_die, NULL));
	assert_int_equal(stage_wait(stage_fork(look_as_stranger, NULL)), 0);
	assert_int_equal(stage_count("", NULL), 2);
	member_leave(m);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, stage_up, stage_down)

static const struct CMUnitTest cases[] = {
	CASE(processes_come_and_go),     CASE(without_a_place_there_is_none),
	CASE(uses_are_counted),          CASE(bad_evs_are_found),
	CASE(events_come_from_now_on),   CASE(lost_events_are_counted),
	CASE(each_process_has_its_turn), CASE(files_may_be_limited),
	CASE(the_dead_are_noticed),      CASE(one_that_is_killed_leaves_its_events),
	CASE(a_child_does_no_harm),      CASE(what_is_shown_is_read),
	CASE(readers_get_it_whole),      CASE(garbage_is_harmless),
	CASE(counts_do_not_go_back),     CASE(other_files_are_left_alone),
	CASE(strangers_may_look),        CASE(the_long_dead_are_swept),
};

CHECK_MAIN(cases)
