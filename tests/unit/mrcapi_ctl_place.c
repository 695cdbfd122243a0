/* Controllers of several processes on one device, the processes that use it, and the files that
 * they all share: what is set stays, what is used is left alone, and who may not is told so. */
#define _GNU_SOURCE /* setresuid(2) */

#include "mrcapi/ctl/place.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "control/members.h"
#include "control_stage.h"

#define OFFLINE MRC_CTL_PROFILE_OFFLINE
#define ONLINE  MRC_CTL_PROFILE_ONLINE
#define STATE   MRC_CTL_EV_PROFILE_STATE
#define CUR     MRC_CTL_EV_PROFILE_CUR_STATE
#define VALUES  MRC_CTL_EV_PROFILE_EV_OP
#define NEW     (STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_COUNT)
#define NOBODY  65534

static struct ctl_place place = {.device = {.n_ports = 2, .has_segments = true}};

static int setup(void **state)
{
	static const char interfaces[][IF_NAMESIZE] = {"test0", "test1"};

	/* Others look at it too. */
	if (stage_up(state) || chmod(stage_directory, 0755))
		return -1;
	return store_name(place.name, interfaces, 2);
}

static int modify_ev(struct ctl_edit *e, void *attr)
{
	return ctl_ev_modify(e, attr);
}

static int query_ev(const struct ctl_edit *e, void *attr)
{
	return ctl_ev_query(e, attr);
}

static int modify_cc(struct ctl_edit *e, void *attr)
{
	return ctl_cc_modify(e, attr);
}

static int modify_port(struct ctl_edit *e, void *attr)
{
	return ctl_port_modify(e, attr);
}

static int query_port(const struct ctl_edit *e, void *attr)
{
	return ctl_port_query(e, attr);
}

static int ev(uint64_t id, struct mrc_ctl_ev_profile_attr *a, int mask)
{
	const struct ctl_call call = {CONTROL_EV, id, mask, modify_ev, NULL};

	return ctl_place_modify(&place, &call, a);
}

static int cc(uint64_t id, struct mrc_ctl_cc_profile_attr *a, int mask)
{
	const struct ctl_call call = {CONTROL_CC, id, mask, modify_cc, NULL};

	return ctl_place_modify(&place, &call, a);
}

/* The state of a profile as a query has it, or a negative errno. */
static int state_of(uint64_t id)
{
	const struct ctl_call call = {CONTROL_EV, id, CUR, NULL, query_ev};
	struct mrc_ctl_ev_profile_attr a = {0};
	int error = ctl_place_query(&place, &call, &a);

	return error ? error : (int)a.cur_profile_state;
}

static int go(uint64_t id, enum mrc_ctl_profile_state to)
{
	struct mrc_ctl_ev_profile_attr a = {.profile_state = to};

	return ev(id, &a, STATE);
}

/* A profile that the device makes up, online. */
static void make(uint64_t id)
{
	struct mrc_ctl_ev_profile_attr a = {
		.profile_state = OFFLINE,
		.ev_mode = MRC_CTL_EV_MODE_AUTO,
		.ev_count = 8,
	};

	assert_int_equal(ev(id, &a, NEW), 0);
	assert_int_equal(go(id, ONLINE), 0);
}

static struct control *read_state(void)
{
	struct store *s = store_open_quiet(place.name);

	assert_non_null(s);
	struct control *c = store_read(s);

	assert_non_null(c);
	store_close(s);
	return c;
}

static uint64_t generation(void)
{
	struct control *c = read_state();
	uint64_t n = c->generation;

	control_free(c);
	return n;
}

/* Value number i of a profile, as a controller names it. */
static struct mrc_ctl_ev value_of(uint64_t id, uint32_t i)
{
	struct control *c = read_state();
	const struct control_profile *p = control_find_profile(c, id);
	struct mrc_ctl_ev value = {.port = p->evs[i].port};

	memcpy(value.val, p->evs[i].val, sizeof value.val);
	control_free(c);
	return value;
}

static int set_state(uint64_t id, struct mrc_ctl_ev *values, int n)
{
	struct mrc_ctl_ev_op_entry entries[4] = {0};
	struct mrc_ctl_ev_profile_attr a = {
		.ev_op = {MRC_CTL_EV_OP_MODIFY_EV_STATE, entries, n},
	};

	for (int i = 0; i < n; i++)
		entries[i] =
			(struct mrc_ctl_ev_op_entry){.ev = values[i], .state = MRC_CTL_EV_DENIED};
	return ev(id, &a, VALUES);
}

static int control_and_end(void *context)
{
	const struct ctl_call call = {CONTROL_KINDS, 2, MRC_CTL_PORT_ADMIN_STATE, modify_port,
				      NULL};
	struct mrc_ctl_port_attr port = {MRC_CTL_PORT_ADMIN_DISABLED};

	(void)context;
	make(5);
	return -ctl_place_modify(&place, &call, &port);
}

static void what_is_set_outlives_its_controller(void **state)
{
	const struct ctl_call call = {CONTROL_KINDS, 2, MRC_CTL_PORT_ADMIN_STATE, NULL, query_port};
	struct mrc_ctl_port_attr port = {MRC_CTL_PORT_ADMIN_ENABLED};
	uint32_t n_free = 0;

	(void)state;
	assert_int_equal(state_of(5), MRC_CTL_PROFILE_INIT);
	assert_int_equal(ctl_place_free(&place, &n_free), 0);
	assert_int_equal(n_free, CONTROL_EVS_ALL);
	assert_int_equal(stage_wait(stage_fork(control_and_end, NULL)), 0);
	assert_int_equal(state_of(5), ONLINE);
	assert_int_equal(ctl_place_query(&place, &call, &port), 0);
	assert_int_equal(port.port_admin_state, MRC_CTL_PORT_ADMIN_DISABLED);
	assert_int_equal(ctl_place_free(&place, &n_free), 0);
	assert_int_equal(n_free, CONTROL_EVS_ALL - 8);
}

/* What fails changes nothing, and neither does what was so already. */
static void no_change_is_no_news(void **state)
{
	struct mrc_ctl_ev_profile_attr a = {.cur_profile_state = ONLINE};

	(void)state;
	make(5);
	uint64_t before = generation();

	assert_int_equal(go(5, ONLINE), 0);
	assert_int_equal(go(5, MRC_CTL_PROFILE_INIT), -EINVAL);
	assert_int_equal(ev(5, &a, CUR), 0);
	a.ev_event_mask = 4;
	assert_int_equal(ev(5, &a, MRC_CTL_EV_PROFILE_EVENT_MASK), -EINVAL);
	assert_int_equal(generation(), before);
	a.ev_event_mask = 1;
	assert_int_equal(ev(5, &a, MRC_CTL_EV_PROFILE_EVENT_MASK), 0);
	assert_int_equal(generation(), before + 1);
}

/* Entries before the one that failed are done, and stay done. */
static void part_of_an_operation(void **state)
{
	(void)state;
	make(5);
	struct mrc_ctl_ev values[] = {value_of(5, 0), {{1, 2, 3}, 1}, value_of(5, 1)};

	assert_int_equal(set_state(5, values, 3), -ENOENT);
	struct control *c = read_state();

	assert_true(c->profiles[0].evs[0].is_denied);
	assert_false(c->profiles[0].evs[1].is_denied);
	control_free(c);
}

#define ROUNDS 4

static int control_much(void *context)
{
	uint64_t first = *(const uint64_t *)context;

	for (uint64_t i = 0; i < ROUNDS; i++)
		make(first + i);
	for (uint64_t i = 1; i < ROUNDS; i++)
		if (go(first + i, OFFLINE) || go(first + i, MRC_CTL_PROFILE_INIT))
			return 1;
	return 0;
}

/* Every change is made on what the other one left. */
static void two_controllers_at_once(void **state)
{
	uint64_t low = 0, high = 1000;
	pid_t one = stage_fork(control_much, &low), other = stage_fork(control_much, &high);

	(void)state;
	assert_int_equal(stage_wait(one), 0);
	assert_int_equal(stage_wait(other), 0);
	struct control *c = read_state();

	assert_int_equal(c->n_profiles, 2);
	assert_non_null(control_find_profile(c, 0));
	assert_non_null(control_find_profile(c, 1000));
	assert_int_equal(c->generation, 2 * (2 * ROUNDS + 2 * (ROUNDS - 1)));
	control_free(c);
}

/* A process with a queue pair that uses both profiles, assumes EV 2 bad, and lives until it is
 * killed. */
static int use_both(void *context)
{
	int ready = *(const int *)context;
	struct member *m = member_join(place.name, "weft_mrc0");

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* it must not outlive a test that failed */
	if (!m || member_use(m, CONTROL_EV, 5, 1) || member_use(m, CONTROL_CC, 7, 1))
		return 1;
	member_set_bad(m, 5, 2, true);
	if (write(ready, "x", 1) != 1)
		return 1;
	for (;;)
		pause();
}

static pid_t start_user(void)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = stage_fork(use_both, &ready[1]);

	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void stop(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_true(WIFSIGNALED(stage_wait(pid)));
}

static int ask_state(uint64_t id, uint32_t i)
{
	struct mrc_ctl_ev_op_entry entry = {.ev = value_of(id, i)};
	struct mrc_ctl_ev_profile_attr a = {
		.ev_op = {MRC_CTL_EV_OP_QUERY_EV_STATE, &entry, 1},
	};
	const struct ctl_call call = {CONTROL_EV, id, VALUES, NULL, query_ev};

	assert_int_equal(ctl_place_query(&place, &call, &a), 0);
	return entry.state;
}

static void what_is_used_is_left_alone(void **state)
{
	struct mrc_ctl_cc_nscc_cfg config = {0};
	struct mrc_ctl_cc_profile_attr a = {
		.profile_state = OFFLINE,
		.algorithm = CTL_NSCC,
		.cc_config = &config,
	};

	(void)state;
	make(5);
	assert_int_equal(cc(7, &a, MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM), 0);
	a.profile_state = ONLINE;
	assert_int_equal(cc(7, &a, MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_CONFIG), 0);
	pid_t user = start_user();
	uint64_t before = generation();

	a.profile_state = OFFLINE;
	assert_int_equal(go(5, OFFLINE), -EBUSY);
	assert_int_equal(cc(7, &a, MRC_CTL_CC_PROFILE_STATE), -EBUSY);
	assert_int_equal(cc(7, &a, MRC_CTL_CC_PROFILE_CONFIG), -EBUSY);
	assert_int_equal(generation(), before);
	assert_int_equal(ask_state(5, 1), MRC_CTL_EV_GOOD);
	assert_int_equal(ask_state(5, 2), MRC_CTL_EV_ASSUMED_BAD);
	struct mrc_ctl_ev third = value_of(5, 2);

	assert_int_equal(set_state(5, &third, 1), 0);
	assert_int_equal(ask_state(5, 2), MRC_CTL_EV_DENIED);
	/* Whoever was killed uses nothing. */
	stop(user);
	assert_int_equal(cc(7, &a, MRC_CTL_CC_PROFILE_STATE), 0);
	assert_int_equal(go(5, OFFLINE), 0);
	assert_int_equal(go(5, MRC_CTL_PROFILE_INIT), 0);
}

static struct member *latecomer;

/* A user who came after the controller had looked, and found the profile online. */
static int modify_as_one_comes(struct ctl_edit *e, void *attr)
{
	assert_int_equal(member_use(latecomer, CONTROL_EV, 5, 1), 0);
	return ctl_ev_modify(e, attr);
}

static void a_user_comes_in_between(void **state)
{
	struct mrc_ctl_ev_profile_attr a = {.profile_state = OFFLINE};
	const struct ctl_call call = {CONTROL_EV, 5, STATE, modify_as_one_comes, NULL};

	(void)state;
	make(5);
	uint64_t before = generation();

	latecomer = member_join(place.name, "weft_mrc0");
	assert_non_null(latecomer);
	assert_int_equal(ctl_place_modify(&place, &call, &a), -EBUSY);
	assert_int_equal(state_of(5), ONLINE);
	/* Two changes: nobody takes the second for the first. */
	assert_int_equal(generation(), before + 2);
	assert_int_equal(member_use(latecomer, CONTROL_EV, 5, -1), 0);
	assert_int_equal(go(5, OFFLINE), 0);
	member_leave(latecomer);
}

static int may_as_nobody(void *context)
{
	(void)context;
	if (setresuid(NOBODY, NOBODY, NOBODY))
		return 1;
	return ctl_may() == -EPERM && go(5, OFFLINE) == -EPERM && state_of(5) == ONLINE ? 0 : 2;
}

/* Root that gave the capability up is no controller either. */
static int may_without_capability(void *context)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	(void)context;
	if (syscall(SYS_capget, &head, data))
		return 1;
	data[CAP_TO_INDEX(CAP_NET_ADMIN)].effective &= ~CAP_TO_MASK(CAP_NET_ADMIN);
	if (ctl_may() || syscall(SYS_capset, &head, data))
		return 2;
	return ctl_may() == -EPERM ? 0 : 3;
}

static void who_may_not(void **state)
{
	(void)state;
	if (geteuid() != 0 || ctl_may()) {
		assert_int_equal(ctl_may(), -EPERM);
		skip();
	}
	make(5);
	assert_int_equal(stage_wait(stage_fork(may_as_nobody, NULL)), 0);
	assert_int_equal(stage_wait(stage_fork(may_without_capability, NULL)), 0);
	assert_int_equal(state_of(5), ONLINE);
}

static void damaged_file(void **state)
{
	char file[STORE_NAME_MAX + 8];
	uint32_t n_free;

	(void)state;
	make(5);
	snprintf(file, sizeof file, "%s.state", place.name);
	stage_write(file, "what", 4);
	assert_int_equal(state_of(5), -EIO);
	assert_int_equal(go(5, OFFLINE), -EIO);
	assert_int_equal(ctl_place_free(&place, &n_free), -EIO);
	setenv("WEFT_STATE_DIR", "/nowhere", 1);
	assert_int_equal(state_of(5), -EIO);
	assert_int_equal(go(5, OFFLINE), -EIO);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, stage_down)
static const struct CMUnitTest cases[] = {
	CASE(what_is_set_outlives_its_controller),
	CASE(no_change_is_no_news),
	CASE(part_of_an_operation),
	CASE(two_controllers_at_once),
	CASE(what_is_used_is_left_alone),
	CASE(a_user_comes_in_between),
	CASE(who_may_not),
	CASE(damaged_file),
};
CHECK_MAIN(cases)
