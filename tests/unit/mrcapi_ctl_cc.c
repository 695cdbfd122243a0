/* CC profiles and ports: every step with every set of attributes, the numbers of NSCC, and the
 * administrative state of ports. */
#include <math.h>

#include "mrcapi_ctl_rig.h"

#define STATE     MRC_CTL_CC_PROFILE_STATE
#define CUR       MRC_CTL_CC_PROFILE_CUR_STATE
#define ALGORITHM MRC_CTL_CC_PROFILE_ALGORITHM
#define CONFIG    MRC_CTL_CC_PROFILE_CONFIG
#define VENDOR    MRC_CTL_CC_PROFILE_VENDOR_CFG
#define ALIEN     (1 << 4)

static const struct place {
	enum mrc_ctl_profile_state state;
	bool is_nscc, has_config;
} places[] = {
	{INIT, true, false},    {INIT, false, false},    {OFFLINE, true, false},
	{OFFLINE, true, true},  {OFFLINE, false, false}, {ONLINE, true, true},
	{ONLINE, false, false},
};
#define PLACES (sizeof places / sizeof places[0])

static void put(const struct place *at)
{
	control_remove(rig_state, CONTROL_CC, 7);
	if (at->state == INIT)
		return;
	struct control_cc *p = control_add_cc(rig_state, 7);

	p->phase = (uint8_t)at->state;
	p->is_nscc = at->is_nscc;
	p->has_config = at->has_config;
}

static int expect(const struct place *at, int mask, uint32_t target, bool has_users)
{
	uint32_t from = (uint32_t)at->state, to = mask & STATE ? target : from;

	if (mask & ALIEN || to > 2 || (from == 0 && to == 2) || (from == 2 && to == 0))
		return -EINVAL;
	if (from == 0 && to == 0)
		return mask & ~(STATE | CUR) ? -EINVAL : 0;
	if ((from == 0 && !(mask & ALGORITHM)) || (from == 2 && mask & (ALGORITHM | VENDOR)))
		return -EINVAL;
	if (from == 2 && has_users && (to != 2 || mask & CONFIG))
		return -EBUSY;
	if (from == 1 && to == 2 && at->is_nscc && !at->has_config && !(mask & CONFIG))
		return -EINVAL;
	return 0;
}

static void one(const struct place *at, int mask, uint32_t target, bool has_users)
{
	const struct mrc_ctl_cc_nscc_cfg config = {.base_rtt = 5000};
	struct mrc_ctl_cc_profile_attr a = {
		.profile_state = (enum mrc_ctl_profile_state)target,
		.cur_profile_state = at->state,
		.algorithm = at->is_nscc ? "uet-1.0-nscc" : NULL,
		.cc_config = at->is_nscc ? &config : NULL,
	};
	int wanted = expect(at, mask, target, has_users);

	put(at);
	rig_users = has_users;
	int got = rig_modify_cc(7, &a, mask);
	const struct control_cc *p = control_find_cc(rig_state, 7);

	if (got != wanted)
		fail_msg("state %d nscc %d mask %x target %u users %d: %d, not %d", at->state,
			 at->is_nscc, (unsigned)mask, target, has_users, got, wanted);
	assert_int_equal(p ? p->phase : CONTROL_INIT,
			 !got && mask & STATE ? target : (uint32_t)at->state);
	if (p && at->is_nscc)
		assert_int_equal(p->nscc.base_rtt_ns, !got && mask & CONFIG ? 5000 : 0);
}

static void every_step_with_everything(void **state)
{
	static const int bits[] = {STATE, CUR, ALGORITHM, CONFIG, VENDOR, ALIEN};

	(void)state;
	for (uint32_t n = 0; n < PLACES * 64 * 4 * 2; n++) {
		int mask = 0;

		for (uint32_t i = 0; i < 6; i++)
			mask |= n / 8 >> i & 1 ? bits[i] : 0;
		one(&places[n / 512], mask, n % 4, n / 4 % 2);
	}
}

static int configure(struct mrc_ctl_cc_nscc_cfg config)
{
	static const struct place offline = {OFFLINE, true, false};
	struct mrc_ctl_cc_profile_attr a = {.cc_config = &config};

	put(&offline);
	return rig_modify_cc(7, &a, CONFIG);
}

static void numbers_of_nscc(void **state)
{
	static const struct mrc_ctl_cc_nscc_cfg good[] = {
		{.disable_qa = 0},
		{.base_rtt = 1000},
		{.base_rtt = 10000000},
		{.qa_gate = 31},
		{.gamma = 1},
		{.max_md_jump = 1},
		{.max_cwnd = 256},
		{.target_delay = 1000000000},
		{.eta = 1e9f},
		{.qa_threshold = 1000000000},
		{.adjust_bytes_threshold = UINT32_MAX},
	};
	static const struct mrc_ctl_cc_nscc_cfg bad[] = {
		{.base_rtt = 999},
		{.base_rtt = 10000001},
		{.qa_gate = 32},
		{.gamma = 1.01f},
		{.max_md_jump = 1.5f},
		{.gamma = -0.5f},
		{.max_cwnd = 255},
		{.target_delay = 1000000001},
		{.eta = 1e10f},
		{.qa_threshold = 1000000001},
		{.adjust_period_threshold = 1000000001},
		{.fi = NAN},
		{.fi_scale = INFINITY},
		{.fi_scale = 4e7f},
		{.eta = -1},
		{.gamma = NAN},
		{.fi = 9e9f},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof good / sizeof good[0]; i++)
		assert_int_equal(configure(good[i]), 0);
	for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(configure(bad[i]), -EINVAL);
}

/* Everything that is set is told. */
static void queries(void **state)
{
	static const struct mrc_ctl_cc_nscc_cfg config = {
		.disable_qa = 1,
		.adjust_bytes_threshold = 2,
		.adjust_period_threshold = 3,
		.base_rtt = 4000,
		.eta = 5,
		.fi = 6,
		.fi_scale = 7,
		.gamma = 0.5f,
		.max_md_jump = 0.25f,
		.max_cwnd = 1000,
		.qa_gate = 11,
		.qa_threshold = 12,
		.target_delay = 13,
	};
	struct mrc_ctl_cc_nscc_cfg got;
	struct mrc_ctl_cc_profile_attr a = {.cc_config = &got};

	(void)state;
	memset(&got, 0xff, sizeof got);
	assert_int_equal(rig_query_cc(7, &a, CUR), 0);
	assert_int_equal(a.cur_profile_state, INIT);
	assert_int_equal(rig_query_cc(7, &a, ALGORITHM), -EINVAL);
	assert_int_equal(configure(config), 0);
	assert_int_equal(rig_query_cc(7, &a, STATE | CUR | ALGORITHM | CONFIG | VENDOR), 0);
	assert_int_equal(a.cur_profile_state, OFFLINE);
	assert_string_equal(a.algorithm, "uet-1.0-nscc");
	assert_memory_equal(&got, &config, sizeof got);
	assert_int_equal(rig_query_cc(7, &a, ALIEN), -EINVAL);
	a.cc_config = NULL;
	assert_int_equal(rig_query_cc(7, &a, CONFIG), -EINVAL);
	/* Without an algorithm there are no numbers. */
	a.algorithm = NULL;
	assert_int_equal(rig_modify_cc(7, &a, ALGORITHM | CONFIG), 0);
	assert_int_equal(rig_query_cc(7, &a, ALGORITHM | CONFIG), 0);
	assert_null(a.algorithm);
	a.cc_config = &got;
	assert_int_equal(rig_modify_cc(7, &a, CONFIG), -EINVAL);
	a.algorithm = "dcqcn";
	assert_int_equal(rig_modify_cc(7, &a, ALGORITHM), -EINVAL);
	/* What was set for NSCC before is not there again. */
	a.algorithm = "uet-1.0-nscc";
	a.profile_state = ONLINE;
	assert_int_equal(rig_modify_cc(7, &a, ALGORITHM | STATE), -EINVAL);
	a.vendor_cfg[0] = 1;
	assert_int_equal(rig_modify_cc(7, &a, VENDOR), -EINVAL);
}

static void full_table(void **state)
{
	struct mrc_ctl_cc_profile_attr a = {.profile_state = OFFLINE};

	(void)state;
	for (uint64_t id = 0; id < CONTROL_PROFILES; id++)
		assert_int_equal(rig_modify_cc(id, &a, STATE | ALGORITHM), 0);
	assert_int_equal(rig_modify_cc(99, &a, STATE | ALGORITHM), -ENOMEM);
}

static void ports(void **state)
{
	struct mrc_ctl_port_attr a = {MRC_CTL_PORT_ADMIN_DISABLED};

	(void)state;
	assert_int_equal(rig_modify_port(2, &a, MRC_CTL_PORT_ADMIN_STATE), 0);
	assert_true(rig_last.is_changed);
	assert_int_equal(rig_state->disabled_ports, 1 << 1);
	assert_int_equal(rig_modify_port(2, &a, MRC_CTL_PORT_ADMIN_STATE), 0);
	assert_false(rig_last.is_changed);
	assert_int_equal(rig_query_port(1, &a, MRC_CTL_PORT_ADMIN_STATE), 0);
	assert_int_equal(a.port_admin_state, MRC_CTL_PORT_ADMIN_ENABLED);
	assert_int_equal(rig_query_port(2, &a, MRC_CTL_PORT_ADMIN_STATE), 0);
	assert_int_equal(a.port_admin_state, MRC_CTL_PORT_ADMIN_DISABLED);
	assert_int_equal(rig_query_port(2, &a, 0), 0);
	for (uint64_t port = 0; port < 256; port++) {
		int wanted = port == 1 || port == 2 ? 0 : -EINVAL;

		a.port_admin_state = MRC_CTL_PORT_ADMIN_ENABLED;
		assert_int_equal(rig_modify_port(port, &a, MRC_CTL_PORT_ADMIN_STATE), wanted);
		assert_int_equal(rig_query_port(port, &a, MRC_CTL_PORT_ADMIN_STATE), wanted);
	}
	assert_int_equal(rig_state->disabled_ports, 0);
	assert_int_equal(rig_modify_port(1, &a, 2), -EINVAL);
	assert_int_equal(rig_query_port(1, &a, 2), -EINVAL);
	a.port_admin_state = (enum mrc_ctl_port_admin_state)2;
	assert_int_equal(rig_modify_port(1, &a, MRC_CTL_PORT_ADMIN_STATE), -EINVAL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
static const struct CMUnitTest cases[] = {
	CASE(every_step_with_everything),
	CASE(numbers_of_nscc),
	CASE(queries),
	CASE(full_table),
	CASE(ports),
};
CHECK_MAIN(cases)
