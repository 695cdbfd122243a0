/* Queues of events (nic_mrc_event_cq_new): what processes on the device tell, in a child and in
 * this process, is there once for each queue; what is lost is counted; arms and channels. */
#include "nic_stage.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/wait.h>

#include "control/member.h"
#include "control/store.h"
#include "nic/mrc/nic_mrc.h"

#define WAIT_MS 2000

static char directory[64];

static struct nic_info mrc_info(void)
{
	struct nic_info *list = NULL, found = {.ifindex = 0};
	int n = nic_list(&list);

	for (int i = 0; i < n; i++)
		if (!strcmp(list[i].interface, "lo") && list[i].setup.transport == &transport_mrc)
			found = list[i];
	free(list);
	assert_true(found.ifindex > 0);
	return found;
}

static struct nic_user *open_mrc(void)
{
	struct nic_info info = mrc_info();
	struct nic_user *u = nic_open(&info);

	if (!u)
		fail_msg("%s", nic_error());
	return u;
}

static struct member *join(void)
{
	const char interface[1][IF_NAMESIZE] = {"lo"};
	char name[STORE_NAME_MAX];

	assert_int_equal(store_name(name, interface, 1), 0);
	struct member *m = member_join(name, "weft_mrc0");

	if (!m)
		fail_msg("member_join: %s", strerror(errno));
	return m;
}

static void tell(struct member *m, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct control_event e = {
			.profile_id = first + i, .ev = {.port = 1}, .state = CONTROL_REPORT_BAD};

		member_report(m, &e);
	}
}

/* Takes events until there are n, or time is up; how many. */
static uint32_t take_events(struct nic_cq *cq, struct control_event *events, uint32_t n)
{
	uint64_t end = stage_now() + STAGE_NS;
	uint32_t got = 0;

	while (got < n && stage_now() < end) {
		int r = nic_mrc_event_poll(cq, events + got, (int)(n - got));

		assert_true(r >= 0);
		got += (uint32_t)r;
	}
	return got;
}

static void each_queue_has_all(void **state)
{
	struct nic_user *u = open_mrc();
	struct member *m = join();
	struct control_event e[64];

	(void)state;
	tell(m, 1, 5);
	struct nic_cq *a = nic_mrc_event_cq_new(u, 16, NULL, NULL);
	struct nic_cq *b = nic_mrc_event_cq_new(u, 64, NULL, NULL);

	if (!a || !b) {
		fail_msg("%s", nic_error());
		return;
	}
	/* From now on. */
	assert_int_equal(nic_mrc_event_poll(a, e, 64), 0);
	tell(m, 100, 40);
	/* More than has room comes later, and is not lost. */
	for (uint32_t k = 0; k < 2; k++) {
		assert_int_equal(take_events(k ? b : a, e, 40), 40);
		for (uint32_t i = 0; i < 40; i++) {
			assert_int_equal(e[i].profile_id, 100 + i);
			assert_int_equal(e[i].n_lost, 0);
			assert_int_equal(e[i].state, CONTROL_REPORT_BAD);
		}
	}
	assert_int_equal(nic_mrc_event_poll(a, e, 64), 0);
	assert_int_equal(nic_cq_free(a), 0);
	tell(m, 200, 1);
	assert_int_equal(take_events(b, e, 1), 1);
	assert_int_equal(e[0].profile_id, 200);
	assert_int_equal(nic_cq_free(b), 0);
	member_leave(m);
	assert_int_equal(nic_close(u), 0);
}

/* Nobody polls while so many are told that the process' own ring overruns. */
static void what_is_lost_is_counted(void **state)
{
	const uint32_t all = 5 * MEMBER_EVENTS;
	struct nic_user *u = open_mrc();
	struct member *m = join();
	struct nic_cq *cq = nic_mrc_event_cq_new(u, 8, NULL, NULL);
	struct control_event e;
	uint64_t seen = 0, lost = 0;

	(void)state;
	assert_non_null(cq);
	tell(m, 1, all);
	while (seen + lost < all && take_events(cq, &e, 1) == 1) {
		lost += e.n_lost;
		seen++;
		assert_int_equal(e.profile_id, seen + lost);
	}
	assert_int_equal(seen + lost, all);
	assert_true(lost > 0 && seen >= 8);
	assert_int_equal(nic_cq_free(cq), 0);
	member_leave(m);
	assert_int_equal(nic_close(u), 0);
}

/* Whether the system has news of files to give. */
static bool has_watches = true;

/* The names that the linker gives. NOLINTBEGIN(bugprone-reserved-identifier) */
int __real_inotify_init1(int flags);
int __wrap_inotify_init1(int flags);

int __wrap_inotify_init1(int flags)
{
	errno = EMFILE;
	return has_watches ? __real_inotify_init1(flags) : -1;
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* The device's thread learns of it, and whoever armed the queue is woken once. */
static void an_armed_queue_wakes(void **state)
{
	struct nic_user *u = open_mrc();
	struct nic_channel *channel = nic_channel_new(u);
	struct nic_cq *cq = nic_mrc_event_cq_new(u, 8, channel, &channel), *woken;
	struct pollfd news = {.fd = nic_channel_fd(channel), .events = POLLIN};
	struct control_event e[8];
	void *context;

	(void)state;
	assert_non_null(cq);
	assert_int_equal(nic_channel_free(channel), -EBUSY);
	for (uint32_t round = 0; round < 2; round++) {
		assert_int_equal(nic_cq_arm(cq, round), 0);
		pid_t child = fork();

		if (child == 0) {
			struct member *m = join();

			tell(m, 7, 2);
			_exit(0); /* without a word: its events are there all the same */
		}
		assert_int_equal(poll(&news, 1, WAIT_MS), 1);
		assert_int_equal(nic_channel_get(channel, &woken, &context), 0);
		assert_ptr_equal(woken, cq);
		assert_ptr_equal(context, &channel);
		nic_cq_ack(cq, 1);
		assert_int_equal(waitpid(child, NULL, 0), child);
		assert_int_equal(take_events(cq, e, 2), 2);
		assert_int_equal(e[1].profile_id, 8);
		/* Not armed: no more. */
		assert_int_equal(poll(&news, 1, 0), 0);
	}
	assert_int_equal(nic_cq_free(cq), 0);
	assert_int_equal(nic_channel_free(channel), 0);
	assert_int_equal(nic_close(u), 0);
}

/* As many watches as a user may have are soon gone: one for each process on a device. */
static void it_wakes_where_nobody_tells(void **state)
{
	has_watches = false;
	an_armed_queue_wakes(state);
	has_watches = true;
}

static void kinds_of_queues_are_told_apart(void **state)
{
	struct nic_user *u = open_mrc();
	struct nic_cq *events = nic_mrc_event_cq_new(u, 8, NULL, NULL);
	struct nic_cq *plain = nic_cq_new(u, 8, NULL, NULL);
	struct nic_pd *pd = nic_pd_new(u);
	struct nic_qp_spec spec = {.pd = pd, .send_cq = plain, .recv_cq = events};
	struct control_event e;
	struct done done;

	(void)state;
	assert_int_equal(nic_cq_poll(events, &done, 1), -EINVAL);
	assert_int_equal(nic_cq_resize(events, 16), -EINVAL);
	assert_int_equal(nic_mrc_event_poll(plain, &e, 1), -EINVAL);
	assert_int_equal(nic_mrc_event_poll(events, &e, 0), 0);
	assert_int_equal(nic_cq_cqe(events), 8);
	assert_null(nic_qp_new(u, &spec));
	assert_int_equal(errno, EINVAL);
	assert_null(nic_mrc_event_cq_new(u, 0, NULL, NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(nic_close(u), -EBUSY);
	assert_int_equal(nic_pd_free(pd), 0);
	assert_int_equal(nic_cq_free(plain), 0);
	assert_int_equal(nic_cq_free(events), 0);
	assert_int_equal(nic_close(u), 0);
	struct nic_info rc = stage_info("lo");

	u = nic_open(&rc);
	assert_null(nic_mrc_event_cq_new(u, 8, NULL, NULL));
	assert_int_equal(errno, ENOTSUP);
	assert_int_equal(nic_close(u), 0);
}

static void nowhere_to_look_is_said(void **state)
{
	struct nic_user *u = open_mrc();

	(void)state;
	setenv("WEFT_STATE_DIR", "/nowhere/at/all", 1);
	assert_null(nic_mrc_event_cq_new(u, 8, NULL, NULL));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(nic_error(), "/nowhere/at/all"));
	setenv("WEFT_STATE_DIR", directory, 1);
	assert_int_equal(nic_close(u), 0);
}

static void a_forked_child_has_no_queues(void **state)
{
	struct nic_user *u = open_mrc();
	struct member *m = join();
	struct nic_cq *cq = nic_mrc_event_cq_new(u, 8, NULL, NULL);
	struct control_event e = {0};
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(nic_mrc_event_poll(cq, &e, 1) != -ENODEV);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	tell(m, 5, 1);
	assert_int_equal(take_events(cq, &e, 1), 1);
	assert_int_equal(e.profile_id, 5);
	assert_int_equal(nic_cq_free(cq), 0);
	member_leave(m);
	assert_int_equal(nic_close(u), 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(each_queue_has_all),
	cmocka_unit_test(what_is_lost_is_counted),
	cmocka_unit_test(an_armed_queue_wakes),
	cmocka_unit_test(kinds_of_queues_are_told_apart),
	cmocka_unit_test(nowhere_to_look_is_said),
	cmocka_unit_test(a_forked_child_has_no_queues),
	cmocka_unit_test(it_wakes_where_nobody_tells),
};

static void remove_directory(void)
{
	DIR *d = opendir(directory);
	char path[400];

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
		unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(directory);
}

int main(int argc, char **argv)
{
	isolate();
	setenv("WEFT_CONFIG", "/dev/null", 1);
	snprintf(directory, sizeof directory, "/tmp/weft-events-XXXXXX");
	if (!mkdtemp(directory))
		return 1;
	setenv("WEFT_STATE_DIR", directory, 1);
	int status = check_main(argc, argv, cases, sizeof cases / sizeof cases[0]);

	remove_directory();
	return status;
}
