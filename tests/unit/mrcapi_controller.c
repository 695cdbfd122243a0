/* libmrc as a controller has it: what the exported functions answer, who may call them, queues of
 * events for programs of two versions, and questions to peers. */
#include "mrcapi_rig.h"

#include <linux/capability.h>
#include <mrc_ctl.h>
#include <sys/syscall.h>

#include "control/member.h"
#include "control_stage.h"

#define STATE MRC_CTL_EV_PROFILE_STATE
#define CUR   MRC_CTL_EV_PROFILE_CUR_STATE
#define MODE  MRC_CTL_EV_PROFILE_MODE

static struct rig rig;

static int setup(void **state)
{
	if (stage_up(state))
		return -1;
	rig_start(&rig);
	return 0;
}

static int teardown(void **state)
{
	rig_stop(&rig);
	return stage_down(state);
}

/* Gives CAP_NET_ADMIN up, or takes it back. */
static void set_privileged(bool is_privileged)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	uint32_t bit = CAP_TO_MASK(CAP_NET_ADMIN);

	assert_int_equal(syscall(SYS_capget, &head, data), 0);
	data[0].effective = is_privileged ? data[0].effective | bit : data[0].effective & ~bit;
	assert_int_equal(syscall(SYS_capset, &head, data), 0);
}

static int make(uint64_t id)
{
	struct mrc_ctl_ev_profile_attr a = {
		.profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_mode = MRC_CTL_EV_MODE_AUTO,
	};

	return mrc_ctl_modify_ev_profile(rig.mrc, id, &a, STATE | MODE);
}

static void versions(void **state)
{
	uint32_t current = 0, oldest = 1, vendor = 0, oldest_vendor = 1;

	(void)state;
	mrc_ctl_query_version(&current, &oldest, &vendor, &oldest_vendor);
	assert_int_equal(current, MRC_CTL_API_VER(1, 0, 1));
	assert_int_equal(oldest, 0);
	assert_int_equal(vendor, MRC_CTL_API_VER(1, 0, 0));
	assert_int_equal(oldest_vendor, 0);
	mrc_ctl_query_version(NULL, NULL, NULL, NULL);
}

static void what_a_device_tells(void **state)
{
	struct mrc_ctl_device_attr a;
	int supported = 0;

	(void)state;
	memset(&a, 0xff, sizeof a);
	assert_int_equal(mrc_ctl_query_device_ex(rig.verbs, rig.mrc, &a, &supported), 0);
	assert_int_equal(supported, 1);
	assert_int_equal(a.mrc_ctl_protocol_version, MRC_CTL_PROTOCOL_VERSION_1);
	assert_int_equal(a.ev.ev_max_fmt_profiles, 64);
	assert_int_equal(a.ev.ev_max_profiles, 64);
	assert_int_equal(a.ev.ev_max_count, 16384);
	assert_int_equal(a.ev.ev_free_count, 16384);
	assert_int_equal(a.ev.ev_max_count_profile, 1024);
	assert_int_equal(a.ev.ev_count_align, 1);
	assert_int_equal(a.ev.ev_max_width, 32); /* the udp driver writes no segments */
	assert_int_equal(a.ev.ev_fmt_mode_mask, MRC_CTL_EV_FMT_MODE_STEV | MRC_CTL_EV_FMT_MODE_UDP);
	assert_int_equal(a.ev.ev_mode_mask, 7);
	assert_int_equal(a.ev.ev_op_max_entries, 0);
	assert_int_equal(a.cc.cc_max_profiles, 64);
	assert_string_equal(a.cc.algorithms[0], "uet-1.0-nscc");
	assert_null(a.cc.algorithms[1]);
	assert_int_equal(a.phy_port_mask, 1 << 1);
	assert_int_equal(a.opt_attr, 1 | 2 | 4 | 16 | 32);
	assert_int_equal(make(5), 0);
	assert_int_equal(mrc_ctl_query_device(rig.verbs, &a), 0);
	assert_int_equal(a.ev.ev_free_count, 16384 - 64);
	assert_minus_one(mrc_ctl_query_device_ex(NULL, NULL, &a, &supported), EINVAL);
	assert_minus_one(mrc_ctl_query_device_ex(rig.verbs, NULL, NULL, &supported), EINVAL);
	assert_minus_one(mrc_ctl_query_device_ex(rig.verbs, NULL, &a, NULL), EINVAL);
	assert_minus_one(mrc_ctl_query_device(NULL, &a), EINVAL);
}

/* A device that does no MRC has no control either; the two versions say so in their own ways. */
static void another_device(void **state)
{
	struct ibv_context *rc = rig_device("weft_rc0");
	struct mrc_ctl_device_attr a;
	int supported = 1;

	(void)state;
	memset(&a, 0xee, sizeof a);
	assert_int_equal(mrc_ctl_query_device_ex(rc, NULL, &a, &supported), 0);
	assert_int_equal(supported, 0);
	assert_int_equal(a.opt_attr, 0xeeeeeeee);
	assert_minus_one(mrc_ctl_query_device(rc, &a), EOPNOTSUPP);
	assert_minus_one(mrc_ctl_query_device_ex(rc, rig.mrc, &a, &supported), EINVAL);
	assert_int_equal(ibv_close_device(rc), 0);
}

static void ports(void **state)
{
	struct mrc_ctl_port_attr a = {MRC_CTL_PORT_ADMIN_DISABLED};

	(void)state;
	assert_int_equal(mrc_ctl_modify_port(rig.mrc, 1, &a, MRC_CTL_PORT_ADMIN_STATE), 0);
	a.port_admin_state = MRC_CTL_PORT_ADMIN_ENABLED;
	assert_int_equal(mrc_ctl_query_port(rig.mrc, 1, &a, MRC_CTL_PORT_ADMIN_STATE), 0);
	assert_int_equal(a.port_admin_state, MRC_CTL_PORT_ADMIN_DISABLED);
	a.port_admin_state = MRC_CTL_PORT_ADMIN_ENABLED;
	assert_int_equal(mrc_ctl_modify_port(rig.mrc, 1, &a, MRC_CTL_PORT_ADMIN_STATE), 0);
	assert_minus_one(mrc_ctl_modify_port(rig.mrc, 2, &a, MRC_CTL_PORT_ADMIN_STATE), EINVAL);
	assert_minus_one(mrc_ctl_query_port(rig.mrc, 0, &a, MRC_CTL_PORT_ADMIN_STATE), EINVAL);
}

/* One of each kind, through all of its states and back. */
static void profiles_of_each_kind(void **state)
{
	struct mrc_ctl_ev_fmt_field widths[] = {{4}, {12}};
	struct mrc_ctl_ev_fmt_profile_attr f = {
		.profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP,
		.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, widths, 2},
	};
	struct mrc_ctl_cc_nscc_cfg config = {.base_rtt = 8000};
	struct mrc_ctl_cc_profile_attr c = {
		.profile_state = MRC_CTL_PROFILE_OFFLINE,
		.algorithm = "uet-1.0-nscc",
		.cc_config = &config,
	};
	struct mrc_ctl_ev_profile_attr e = {.profile_state = MRC_CTL_PROFILE_ONLINE};

	(void)state;
	assert_int_equal(mrc_ctl_modify_ev_fmt_profile(rig.mrc, 1, &f, STATE | MODE | 8), 0);
	f.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_QUERY_FIELDS;
	f.ev_fmt_op.fmt_field_count = 1;
	assert_minus_one(mrc_ctl_query_ev_fmt_profile(rig.mrc, 1, &f, 8), E2BIG);
	assert_int_equal(f.ev_fmt_op.fmt_field_count, 2);
	assert_int_equal(mrc_ctl_query_ev_fmt_profile(rig.mrc, 1, &f, CUR | 8), 0);
	assert_int_equal(f.cur_profile_state, MRC_CTL_PROFILE_OFFLINE);
	assert_int_equal(mrc_ctl_modify_cc_profile(rig.mrc, 2, &c, STATE | 4 | 8), 0);
	config.base_rtt = 0;
	assert_int_equal(mrc_ctl_query_cc_profile(rig.mrc, 2, &c, CUR | 4 | 8), 0);
	assert_int_equal(config.base_rtt, 8000);
	assert_int_equal(make(3), 0);
	assert_int_equal(mrc_ctl_modify_ev_profile(rig.mrc, 3, &e, STATE), 0);
	assert_int_equal(mrc_ctl_query_ev_profile(rig.mrc, 3, &e, CUR | 16), 0);
	assert_int_equal(e.cur_profile_state, MRC_CTL_PROFILE_ONLINE);
	assert_int_equal(e.ev_count, 64);
	e.profile_state = MRC_CTL_PROFILE_INIT;
	assert_minus_one(mrc_ctl_modify_ev_profile(rig.mrc, 3, &e, STATE), EINVAL);
	assert_minus_one(mrc_ctl_modify_ev_profile(rig.mrc, 3, NULL, STATE), EINVAL);
	assert_minus_one(mrc_ctl_modify_ev_profile(NULL, 3, &e, STATE), EINVAL);
	assert_minus_one(mrc_ctl_query_cc_profile(rig.mrc, 99, &c, 4), EINVAL);
}

/* Everything but what a device is. */
static void privilege_at_each_call(void **state)
{
	struct mrc_ctl_port_attr port = {MRC_CTL_PORT_ADMIN_ENABLED};
	struct mrc_ctl_ev_fmt_profile_attr f = {.profile_state = MRC_CTL_PROFILE_INIT};
	struct mrc_ctl_ev_profile_attr e = {.profile_state = MRC_CTL_PROFILE_INIT};
	struct mrc_ctl_cc_profile_attr c = {.profile_state = MRC_CTL_PROFILE_INIT};
	struct mrc_ctl_ep_req req = {.req_id = 1};
	struct mrc_ctl_device_attr device;
	struct mrc_ctl_ep_rsp rsp;
	struct mrc_ctl_ev_event event;
	struct mrc_cq *cq = mrc_ctl_create_ev_event_cq(rig.mrc, 4, NULL, NULL, 0);
	int n;

	(void)state;
	assert_non_null(cq);
	set_privileged(false);
	assert_int_equal(mrc_ctl_query_device(rig.verbs, &device), 0);
	assert_minus_one(mrc_ctl_query_port(rig.mrc, 1, &port, 1), EPERM);
	assert_minus_one(mrc_ctl_modify_port(rig.mrc, 1, &port, 1), EPERM);
	assert_minus_one(mrc_ctl_query_ev_fmt_profile(rig.mrc, 1, &f, CUR), EPERM);
	assert_minus_one(mrc_ctl_modify_ev_fmt_profile(rig.mrc, 1, &f, STATE), EPERM);
	assert_minus_one(mrc_ctl_query_ev_profile(rig.mrc, 1, &e, CUR), EPERM);
	assert_minus_one(mrc_ctl_modify_ev_profile(rig.mrc, 1, &e, STATE), EPERM);
	assert_minus_one(mrc_ctl_query_cc_profile(rig.mrc, 1, &c, CUR), EPERM);
	assert_minus_one(mrc_ctl_modify_cc_profile(rig.mrc, 1, &c, STATE), EPERM);
	assert_minus_one(mrc_ctl_ep_batch_send_wait(rig.mrc, 0, MRC_CTL_EP_OP_EV_PROBE, &req, 1,
						    1000, &rsp, &n),
			 EPERM);
	assert_no_pointer(mrc_ctl_create_ev_event_cq(rig.mrc, 4, NULL, NULL, 0), EPERM);
	assert_int_equal(mrc_ctl_poll_ev_event(cq, 1, &event), -EPERM);
	set_privileged(true);
	assert_int_equal(mrc_ctl_query_ev_profile(rig.mrc, 1, &e, CUR), 0);
	assert_int_equal(mrc_ctl_poll_ev_event(cq, 1, &event), 0);
	assert_int_equal(mrc_destroy_cq(cq), 0);
}

/* Some process on the device, that has something to tell. */
static struct member *join(void)
{
	static const char lo[][IF_NAMESIZE] = {"lo"};
	char name[STORE_NAME_MAX];

	assert_int_equal(store_name(name, lo, 1), 0);
	struct member *m = member_join(name, "weft_mrc0");

	assert_non_null(m);
	return m;
}

static int wait_events(struct mrc_cq *cq, int n, void *events, size_t len)
{
	int64_t end = now_ms() + WAIT_MS;
	int taken = 0;

	while (taken < n && now_ms() < end) {
		int got = mrc_ctl_poll_ev_event(cq, n - taken,
						(void *)((uint8_t *)events + (size_t)taken * len));

		assert_true(got >= 0);
		taken += got;
	}
	return taken;
}

/* Programs of 1.0.0 and 1.0.1 on one device at the same time: each in its own stride. */
static void events_of_two_versions(void **state)
{
	struct mrc_context_attr old = {MRC_API_VER(1, 0, 0), MRC_API_VER(1, 0, 0)};
	struct mrc_context *before = mrc_create_context(rig.verbs, &old);

	(void)state;
	assert_non_null(before);
	struct mrc_cq *cq = mrc_ctl_create_ev_event_cq(rig.mrc, 64, NULL, NULL, 0);
	struct mrc_cq *old_cq = mrc_ctl_create_ev_event_cq(before, 64, NULL, NULL, 0);
	struct member *m = join();
	struct mrc_ctl_ev_event now[20];
	uint8_t then[20 * 48 + 1];

	assert_true(cq && old_cq);
	for (uint32_t i = 0; i < 20; i++) {
		const struct control_event e = {
			.profile_id = 1000 + i,
			.ev = {.val = {(uint8_t)i}, .port = 1},
			.state = i % 2 ? CONTROL_REPORT_GOOD : CONTROL_REPORT_BAD,
		};

		member_report(m, &e);
	}
	then[sizeof then - 1] = 0xee;
	assert_int_equal(wait_events(cq, 20, now, sizeof now[0]), 20);
	assert_int_equal(wait_events(old_cq, 20, then, 48), 20);
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(now[i].profile_id, 1000 + i);
		assert_int_equal(now[i].ev.val[0], i);
		assert_int_equal(now[i].ev.port, 1);
		assert_int_equal(now[i].drop_count, 0);
		assert_int_equal(now[i].state, i % 2 ? MRC_CTL_EV_GOOD : MRC_CTL_EV_ASSUMED_BAD);
		assert_memory_equal(then + 48 * i, &now[i], 48);
	}
	assert_int_equal(then[sizeof then - 1], 0xee);
	member_leave(m);
	assert_int_equal(mrc_destroy_cq(cq), 0);
	assert_int_equal(mrc_destroy_cq(old_cq), 0);
	assert_int_equal(mrc_destroy_context(before), 0);
}

/* Queues of events have no completions, and the other way round. */
static void two_kinds_of_queues(void **state)
{
	struct mrc_cq *events = mrc_ctl_create_ev_event_cq(rig.mrc, 4, NULL, NULL, 0);
	struct mrc_cq *cq = mrc_create_cq(rig.mrc, 4, NULL, NULL, 0);
	struct mrc_ctl_ev_event event;
	struct ibv_wc wc;

	(void)state;
	assert_true(events && cq);
	assert_minus_one(mrc_poll_cq(events, 1, &wc), EINVAL);
	assert_int_equal(mrc_ctl_poll_ev_event(cq, 1, &event), -EINVAL);
	assert_int_equal(mrc_ctl_poll_ev_event(NULL, 1, &event), -EINVAL);
	assert_int_equal(mrc_ctl_poll_ev_event(events, -1, &event), -EINVAL);
	assert_int_equal(mrc_ctl_poll_ev_event(events, 1, NULL), -EINVAL);
	assert_int_equal(mrc_ctl_poll_ev_event(events, 0, NULL), 0);
	assert_int_equal(mrc_ctl_poll_ev_event(events, 1, &event), 0);
	assert_no_pointer(mrc_ctl_create_ev_event_cq(NULL, 4, NULL, NULL, 0), EINVAL);
	assert_no_pointer(mrc_ctl_create_ev_event_cq(rig.mrc, 0, NULL, NULL, 0), EINVAL);
	assert_int_equal(mrc_destroy_cq(events), 0);
	assert_int_equal(mrc_destroy_cq(cq), 0);
}

#define ASKED 32

static void fill_requests(struct mrc_ctl_ep_req *req)
{
	for (uint32_t i = 0; i < ASKED; i++) {
		req[i] = (struct mrc_ctl_ep_req){
			.req_id = (uint16_t)(7 * i + 65000),
			.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV,
			.req_ev = {{(uint8_t)(0xc0 + i), 1}, 1},
		};
		assert_int_equal(ibv_query_gid(rig.verbs, 1, RIG_GID, &req[i].sgid), 0);
		req[i].dgid = req[i].sgid;
	}
}

static int ask(struct mrc_ctl_ep_req *req, int n, struct mrc_ctl_ep_rsp *rsp, int *n_rsp)
{
	return mrc_ctl_ep_batch_send_wait(rig.mrc, 46, MRC_CTL_EP_OP_EV_PROBE, req, n, 2000000000,
					  rsp, n_rsp);
}

static void questions_are_answered(void **state)
{
	struct mrc_ctl_ep_req req[ASKED];
	struct mrc_ctl_ep_rsp rsp[ASKED];
	uint32_t seen = 0;
	int n = -1;

	(void)state;
	fill_requests(req);
	assert_int_equal(ask(req, ASKED, rsp, &n), 0);
	assert_int_equal(n, ASKED);
	for (uint32_t i = 0; i < ASKED; i++) {
		seen |= 1u << (uint16_t)(rsp[i].req_id - 65000) / 7;
		assert_int_equal(rsp[i].port, 1);
		assert_true(rsp[i].rtt > 0);
	}
	assert_int_equal(seen, UINT32_MAX);
	/* Nobody is there: what came is told all the same. */
	req[3].dgid.raw[15] = 77;
	assert_minus_one(mrc_ctl_ep_batch_send_wait(rig.mrc, 0, MRC_CTL_EP_OP_EV_PROBE, req, 4,
						    100000000, rsp, &n),
			 ETIMEDOUT);
	assert_int_equal(n, 3);
}

static void questions_that_cannot_be(void **state)
{
	struct mrc_ctl_ep_req req[ASKED];
	struct mrc_ctl_ep_rsp rsp[ASKED];
	int n = -1;

	(void)state;
	fill_requests(req);
	assert_minus_one(ask(req, 0, rsp, &n), EINVAL);
	assert_minus_one(ask(req, -1, rsp, &n), EINVAL);
	assert_minus_one(ask(NULL, 1, rsp, &n), EINVAL);
	assert_minus_one(ask(req, 1, NULL, &n), EINVAL);
	assert_minus_one(ask(req, 1, rsp, NULL), EINVAL);
	assert_minus_one(
		mrc_ctl_ep_batch_send_wait(NULL, 0, MRC_CTL_EP_OP_EV_PROBE, req, 1, 1, rsp, &n),
		EINVAL);
	req[1].req_id = req[0].req_id;
	assert_minus_one(ask(req, 2, rsp, &n), EINVAL);
	assert_int_equal(n, 0);
	req[0].req_ev.port = 2;
	assert_minus_one(ask(req, 1, rsp, &n), EINVAL);
	req[0].req_ev.port = 1;
	req[0].ev_fmt_mode = MRC_CTL_EV_FMT_MODE_SRV6; /* not with this driver */
	assert_minus_one(ask(req, 1, rsp, &n), ENOTSUP);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest cases[] = {
	CASE(versions),
	CASE(what_a_device_tells),
	CASE(another_device),
	CASE(ports),
	CASE(profiles_of_each_kind),
	CASE(privilege_at_each_call),
	CASE(events_of_two_versions),
	CASE(two_kinds_of_queues),
	CASE(questions_are_answered),
	CASE(questions_that_cannot_be),
};

ISOLATED_MAIN(cases)
