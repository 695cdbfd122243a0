/* libmrc: devices, versions, contexts, hints. */
#include "mrcapi_rig.h"

#include <stdio.h>
#include <unistd.h>

#include "veth.h"

static void list_has_devices_of_both(void **state)
{
	int n = 0, n_rc = 0, n_mrc = 0;

	(void)state;
	setenv("WEFT_INTERFACES", "lo", 1);
	struct ibv_device **list = ibv_get_device_list(&n);

	assert_non_null(list);
	assert_string_equal(ibv_get_device_name(list[0]), "weft_rc0");
	for (int i = 0; i < n; i++) {
		const char *name = ibv_get_device_name(list[i]);

		n_rc += !strncmp(name, "weft_rc", 7);
		n_mrc += !strncmp(name, "weft_mrc", 8);
		if (!strncmp(name, "weft_rc", 7))
			assert_int_equal(n_mrc, 0);
	}
	assert_int_equal(n_rc, 1);
	assert_int_equal(n_mrc, 1);
	ibv_free_device_list(list);
}

static void mrc_device_has_no_verbs_pairs(void **state)
{
	struct ibv_context *context = rig_device("weft_mrc0");
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC};
	struct ibv_srq_init_attr shared = {.attr = {.max_wr = 1, .max_sge = 1}};
	struct ibv_device_attr attr;

	(void)state;
	assert_no_pointer(ibv_create_qp(pd, &init), EOPNOTSUPP);
	assert_no_pointer(ibv_create_srq(pd, &shared), EOPNOTSUPP);
	assert_int_equal(ibv_query_device(context, &attr), 0);
	assert_int_equal(attr.atomic_cap, IBV_ATOMIC_NONE);
	assert_int_equal(attr.max_srq, 0);
	assert_int_equal(attr.max_mw, 0);
	assert_int_equal(attr.max_qp_rd_atom, 0);
	assert_true(attr.max_qp >= 1024 && attr.max_qp_wr >= 1024);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(context), 0);
}

static void ports_are_counted_from_1(void **state)
{
	struct ibv_context *context = rig_device("weft_mrc0");
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;

	(void)state;
	assert_int_equal(ibv_query_device(context, &attr), 0);
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(ibv_query_port(context, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_errno(ibv_query_port(context, 0, &port), EINVAL);
	assert_errno(ibv_query_port(context, 2, &port), EINVAL);
	assert_int_equal(ibv_query_gid(context, 1, 0, &gid), 0);
	assert_minus_one(ibv_query_gid(context, 2, 0, &gid), EINVAL);
	assert_int_equal(ibv_close_device(context), 0);
}

static void device_says_what_it_does(void **state)
{
	struct ibv_context *mrc = rig_device("weft_mrc0"), *rc = rig_device("weft_rc0");
	struct mrc_context *context = mrc_create_context(mrc, NULL);
	struct mrc_device_attr attr = {0}, ex = {0};
	int supported = -1;

	(void)state;
	assert_int_equal(mrc_query_device(mrc, &attr, &supported), 0);
	assert_int_equal(supported, 1);
	assert_int_equal(attr.mrc_protocol_version, MRC_PROTOCOL_VERSION_1);
	assert_int_equal(attr.wimm_attr.max_wimm, 512);
	assert_int_equal(attr.wimm_attr.max_wimm_dest, 512);
	assert_int_equal(attr.mpr_attr.max_mpr, 255);
	assert_int_equal(attr.mpr_attr.mpr_resolution, 1);
	assert_true(attr.qp_attr.max_qp_hint >= 1024);
	/* Nothing trims on this device. */
	assert_int_equal(attr.cap, MRC_DEVICE_CAP_DYNAMIC_MPR | MRC_DEVICE_CAP_SVC_TIME);
	assert_int_equal(mrc_query_device_ex(mrc, context, &ex, &supported), 0);
	assert_memory_equal(&attr, &ex, sizeof ex);
	assert_int_equal(mrc_query_device_ex(mrc, NULL, &ex, &supported), 0);

	memset(&ex, 0xaa, sizeof ex);
	assert_int_equal(mrc_query_device(rc, &ex, &supported), 0);
	assert_int_equal(supported, 0);
	assert_int_equal(ex.cap, 0xaaaaaaaa);
	assert_errno(mrc_query_device_ex(rc, context, &ex, &supported), EINVAL);
	assert_errno(mrc_query_device(NULL, &attr, &supported), EINVAL);
	assert_errno(mrc_query_device(mrc, NULL, &supported), EINVAL);
	assert_errno(mrc_query_device(mrc, &attr, NULL), EINVAL);
	assert_int_equal(mrc_destroy_context(context), 0);
	assert_int_equal(ibv_close_device(mrc), 0);
	assert_int_equal(ibv_close_device(rc), 0);
}

/* A device of two ports, by a driver that learns of trimmed packets; NULL: not permitted here. */
static struct ibv_context *open_described(struct veth *v)
{
	char name[] = "/tmp/mrcapi-XXXXXX";

	if (!veth_open(v) || !veth_add(v, 0, 4096) || !veth_add(v, 1, 1500) || !veth_enter(v, 0))
		return NULL;
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "[weft_mrc0]\ndriver = raw\nports = w0 w1\n") > 0);
	close(fd);
	unsetenv("WEFT_INTERFACES");
	setenv("WEFT_CONFIG", name, 1);
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;

	setenv("WEFT_CONFIG", "/dev/null", 1);
	unlink(name);
	ibv_free_device_list(list);
	return context;
}

static void await_port(struct ibv_context *context, uint8_t number, enum ibv_port_state wanted)
{
	int64_t end = now_ms() + WAIT_MS;
	struct ibv_port_attr port;

	do
		assert_int_equal(ibv_query_port(context, number, &port), 0);
	while (port.state != wanted && now_ms() < end);
	assert_int_equal(port.state, wanted);
}

/* Addresses come and go with a port. */
static void expect_port_event(struct ibv_context *context, int port, enum ibv_event_type wanted)
{
	struct ibv_async_event event;

	do {
		assert_int_equal(ibv_get_async_event(context, &event), 0);
		ibv_ack_async_event(&event);
	} while (event.event_type == IBV_EVENT_GID_CHANGE);
	assert_int_equal(event.event_type, wanted);
	assert_int_equal(event.element.port_num, port);
}

/* The table has the GIDs of each port, one port after the other. */
static void check_gids_of_ports(struct ibv_context *context)
{
	struct ibv_gid_entry table[64];
	ssize_t n = ibv_query_gid_table(context, table, 64, 0);

	assert_true(n >= 4 && n % 4 == 0);
	for (ssize_t i = 0; i < n; i++) {
		const struct ibv_gid_entry *twin = &table[(i + n / 2) % n];

		assert_int_equal(table[i].port_num, i < n / 2 ? 1 : 2);
		assert_int_equal(table[i].gid_index, twin->gid_index);
		assert_int_equal(table[i].gid_type, twin->gid_type);
		assert_memory_equal(table[i].gid.raw, twin->gid.raw, 16);
	}
}

static void ports_and_trimming_are_as_set_up(void **state)
{
	struct veth v = {{-1, -1}};
	struct ibv_context *context = open_described(&v);
	struct ibv_device_attr device;
	struct mrc_device_attr attr;
	struct ibv_port_attr port[2];
	union ibv_gid gid[2];
	int supported = 0;

	(void)state;
	if (!context) {
		print_message("frames are not permitted here: not tried\n");
		skip();
		return;
	}
	assert_int_equal(ibv_query_device(context, &device), 0);
	assert_int_equal(device.phys_port_cnt, 2);
	for (uint8_t i = 0; i < 2; i++) {
		await_port(context, (uint8_t)(i + 1), IBV_PORT_ACTIVE);
		assert_int_equal(ibv_query_port(context, (uint8_t)(i + 1), &port[i]), 0);
		assert_int_equal(ibv_query_gid(context, (uint8_t)(i + 1), RIG_GID, &gid[i]), 0);
	}
	assert_int_equal(port[0].active_mtu, IBV_MTU_2048);
	assert_int_equal(port[1].active_mtu, IBV_MTU_1024);
	assert_errno(ibv_query_port(context, 3, &port[0]), EINVAL);
	assert_memory_equal(gid[0].raw, gid[1].raw, 16);
	check_gids_of_ports(context);
	assert_int_equal(mrc_query_device(context, &attr, &supported), 0);
	assert_true(attr.cap & MRC_DEVICE_CAP_TRIM_NACK);
	/* Each port has a state of its own. */
	assert_true(veth_ip(&v, 0, "link set w1 down\n"));
	await_port(context, 2, IBV_PORT_DOWN);
	await_port(context, 1, IBV_PORT_ACTIVE);
	expect_port_event(context, 2, IBV_EVENT_PORT_ERR);
	assert_int_equal(ibv_close_device(context), 0);
	veth_close(&v);
}

static void versions_are_told(void **state)
{
	uint32_t v[4] = {1, 1, 1, 1};

	(void)state;
	mrc_query_version(&v[0], &v[1], &v[2], &v[3]);
	assert_int_equal(v[0], 0x01000001);
	assert_int_equal(v[1], 0);
	assert_int_equal(v[2], 0x01000000);
	assert_int_equal(v[3], 0);
	mrc_query_version(NULL, NULL, NULL, NULL);
}

static void versions_are_checked(void **state)
{
	const uint32_t v100 = MRC_API_VER(1, 0, 0), v101 = MRC_API_VER(1, 0, 1);
	const struct {
		uint32_t api, vendor;
		int error;
	} cases[] = {
		{v100, v100, 0},
		{v101, v100, 0},
		{v101, 0, 0},
		{MRC_API_VER_LATEST, MRC_API_VER_LATEST, 0},
		{0, 0, 0},
		{0, v100, 0},
		{MRC_API_VER(1, 0, 2), v100, EINVAL},
		{MRC_API_VER(2, 0, 0), v100, EINVAL},
		{v101, v101, EINVAL},
		{v101, MRC_API_VER(7, 1, 0), EINVAL},
		{MRC_API_VER(0xff, 0, 0), v100, EINVAL},
	};
	struct ibv_context *context = rig_device("weft_mrc0");

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct mrc_context_attr attr = {cases[i].api, cases[i].vendor};

		errno = 0;
		struct mrc_context *mrc = mrc_create_context(context, &attr);

		assert_int_equal(mrc ? 0 : errno, cases[i].error);
		if (mrc)
			assert_int_equal(mrc_destroy_context(mrc), 0);
	}
	assert_int_equal(ibv_close_device(context), 0);
}

/* Programs of both versions in one process. */
static void versions_live_side_by_side(void **state)
{
	struct ibv_context *verbs = rig_device("weft_mrc0");
	struct mrc_context_attr attr[2] = {{MRC_API_VER(1, 0, 0), MRC_API_VER(1, 0, 0)},
					   {MRC_API_VER(1, 0, 1), MRC_API_VER(1, 0, 0)}};
	struct mrc_context *mrc[2];
	struct mrc_cq *cq[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		mrc[i] = mrc_create_context(verbs, &attr[i]);
		assert_non_null(mrc[i]);
		cq[i] = mrc_create_cq(mrc[i], 8, NULL, NULL, 0);
		assert_non_null(cq[i]);
	}
	assert_int_equal(mrc_destroy_cq(cq[0]), 0);
	assert_int_equal(mrc_destroy_context(mrc[0]), 0);
	assert_int_equal(mrc_poll_cq(cq[1], 1, &(struct ibv_wc){0}), 0);
	assert_int_equal(mrc_destroy_cq(cq[1]), 0);
	assert_int_equal(mrc_destroy_context(mrc[1]), 0);
	assert_int_equal(ibv_close_device(verbs), 0);
}

static void context_needs_a_device_of_ours_with_mrc(void **state)
{
	struct ibv_context *rc = rig_device("weft_rc0"), foreign = {.cmd_fd = -1};
	struct mrc_device_attr attr;
	int supported = -1;

	(void)state;
	assert_no_pointer(mrc_create_context(NULL, NULL), EINVAL);
	assert_no_pointer(mrc_create_context(rc, NULL), EOPNOTSUPP);
	assert_no_pointer(mrc_create_context(&foreign, NULL), EOPNOTSUPP);
	assert_int_equal(mrc_query_device(&foreign, &attr, &supported), 0);
	assert_int_equal(supported, 0);
	assert_minus_one(mrc_destroy_context(NULL), EINVAL);
	assert_int_equal(ibv_close_device(rc), 0);
}

/* Its pairs have domains of the verbs' context. */
static void device_is_closed_after_its_contexts(void **state)
{
	struct ibv_context *verbs = rig_device("weft_mrc0");
	struct mrc_context *mrc = mrc_create_context(verbs, NULL);
	struct ibv_pd *pd = ibv_alloc_pd(verbs);

	(void)state;
	assert_minus_one(ibv_close_device(verbs), EBUSY);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(mrc_destroy_context(mrc), 0);
	assert_int_equal(ibv_close_device(verbs), 0);
}

static void context_takes_its_objects_along(void **state)
{
	struct rig_pair p;
	struct mrc_qp_hint_init_attr init = {{0}};
	struct mrc_qp_attr attr = {.qp_hint = NULL};

	(void)state;
	rig_start(&p.rig);
	end_queues(&p.rig, &p.a);
	p.a.qp = rig_qp(&p.rig, &p.a);
	attr.qp_hint = mrc_create_qp_hint(p.rig.mrc, &init);
	assert_non_null(attr.qp_hint);
	struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT};

	assert_int_equal(mrc_modify_qp(p.a.qp, &to, IBV_QP_STATE, &attr, MRC_QP_HINT), 0);
	assert_errno(ibv_dealloc_pd(p.rig.pd), EBUSY);
	assert_int_equal(mrc_destroy_context(p.rig.mrc), 0);
	p.rig.mrc = mrc_create_context(p.rig.verbs, NULL);
	rig_stop(&p.rig);
}

static void hints_are_kept(void **state)
{
	struct rig rig;
	struct mrc_qp_hint_init_attr init = {{.num_qps_per_peer = 4, .num_send_peers = 7}};
	struct mrc_qp_hint_attr attr = {.num_send_peers = -5};
	const int all = MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_NUM_SEND_PEERS |
			MRC_QP_HINT_NUM_REMOTE_RECV_PEERS | MRC_QP_HINT_VENDOR_CFG;

	(void)state;
	rig_start(&rig);
	struct mrc_qp_hint *hint = mrc_create_qp_hint(rig.mrc, &init);

	assert_non_null(hint);
	assert_int_equal(mrc_query_qp_hint(hint, &attr, MRC_QP_HINT_NUM_QPS_PER_PEER), 0);
	assert_int_equal(attr.num_qps_per_peer, 4);
	assert_int_equal(attr.num_send_peers, -5);
	attr = (struct mrc_qp_hint_attr){.num_qps_per_peer = 1, .num_remote_recv_peers = 9};
	assert_int_equal(mrc_modify_qp_hint(hint, &attr, MRC_QP_HINT_NUM_REMOTE_RECV_PEERS), 0);
	assert_int_equal(mrc_query_qp_hint(hint, &attr, all), 0);
	assert_int_equal(attr.num_qps_per_peer, 4);
	assert_int_equal(attr.num_send_peers, 7);
	assert_int_equal(attr.num_remote_recv_peers, 9);
	assert_int_equal(mrc_destroy_qp_hint(hint), 0);
	rig_stop(&rig);
}

static void hints_refuse_nonsense(void **state)
{
	struct rig rig;
	struct mrc_qp_hint_init_attr init = {{0}}, bad = {{.num_send_peers = -1}};
	struct mrc_qp_hint_attr attr = {.vendor_cfg = {[127] = 1}};

	(void)state;
	rig_start(&rig);
	assert_no_pointer(mrc_create_qp_hint(NULL, &init), EINVAL);
	assert_no_pointer(mrc_create_qp_hint(rig.mrc, NULL), EINVAL);
	assert_no_pointer(mrc_create_qp_hint(rig.mrc, &bad), EINVAL);
	struct mrc_qp_hint *hint = mrc_create_qp_hint(rig.mrc, &init);

	assert_non_null(hint);
	assert_minus_one(mrc_modify_qp_hint(hint, &attr, MRC_QP_HINT_VENDOR_CFG), EINVAL);
	assert_int_equal(mrc_modify_qp_hint(hint, &attr, MRC_QP_HINT_NUM_SEND_PEERS), 0);
	assert_minus_one(mrc_modify_qp_hint(hint, &attr, 1 << 3), EINVAL);
	assert_minus_one(mrc_modify_qp_hint(hint, NULL, MRC_QP_HINT_NUM_SEND_PEERS), EINVAL);
	assert_minus_one(mrc_modify_qp_hint(NULL, &attr, MRC_QP_HINT_NUM_SEND_PEERS), EINVAL);
	assert_minus_one(mrc_query_qp_hint(hint, &attr, 1 << 30), EINVAL);
	assert_minus_one(mrc_query_qp_hint(hint, NULL, 1), EINVAL);
	assert_minus_one(mrc_query_qp_hint(NULL, &attr, 1), EINVAL);
	attr.num_qps_per_peer = -1;
	assert_minus_one(mrc_modify_qp_hint(hint, &attr, MRC_QP_HINT_NUM_QPS_PER_PEER), EINVAL);
	assert_minus_one(mrc_destroy_qp_hint(NULL), EINVAL);
	assert_int_equal(mrc_destroy_qp_hint(hint), 0);
	rig_stop(&rig);
}

static void hints_are_limited(void **state)
{
	struct rig rig;
	struct mrc_qp_hint_init_attr init = {{0}};
	struct mrc_device_attr device;
	struct mrc_qp_hint *last = NULL;
	int supported;

	(void)state;
	rig_start(&rig);
	assert_int_equal(mrc_query_device(rig.verbs, &device, &supported), 0);
	for (uint32_t i = 0; i < device.qp_attr.max_qp_hint; i++) {
		last = mrc_create_qp_hint(rig.mrc, &init);
		assert_non_null(last);
	}
	assert_no_pointer(mrc_create_qp_hint(rig.mrc, &init), ENOSPC);
	assert_int_equal(mrc_destroy_qp_hint(last), 0);
	assert_non_null(mrc_create_qp_hint(rig.mrc, &init));
	rig_stop(&rig);
}

static void hints_in_use_stay(void **state)
{
	struct rig_pair p;
	struct mrc_qp_hint_init_attr init = {{0}};
	struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT};
	struct mrc_qp_attr attr = {0};

	(void)state;
	rig_start(&p.rig);
	end_queues(&p.rig, &p.a);
	p.a.qp = rig_qp(&p.rig, &p.a);
	struct mrc_qp_hint *hint = mrc_create_qp_hint(p.rig.mrc, &init);

	attr.qp_hint = hint;
	assert_int_equal(mrc_modify_qp(p.a.qp, &to, IBV_QP_STATE, &attr, MRC_QP_HINT), 0);
	assert_minus_one(mrc_destroy_qp_hint(hint), EBUSY);
	attr.qp_hint = NULL;
	assert_int_equal(mrc_modify_qp(p.a.qp, NULL, 0, &attr, MRC_QP_HINT), 0);
	assert_int_equal(mrc_destroy_qp_hint(hint), 0);
	attr.qp_hint = hint = mrc_create_qp_hint(p.rig.mrc, &init);
	assert_int_equal(mrc_modify_qp(p.a.qp, NULL, 0, &attr, MRC_QP_HINT), 0);
	to.qp_state = IBV_QPS_RESET;
	assert_int_equal(mrc_modify_qp(p.a.qp, &to, IBV_QP_STATE, NULL, 0), 0);
	assert_int_equal(mrc_destroy_qp_hint(hint), 0);
	/* One of another context is none of ours. */
	struct mrc_context *other = mrc_create_context(p.rig.verbs, NULL);

	attr.qp_hint = mrc_create_qp_hint(other, &init);
	to.qp_state = IBV_QPS_INIT;
	assert_errno(mrc_modify_qp(p.a.qp, &to, IBV_QP_STATE, &attr, MRC_QP_HINT), EINVAL);
	assert_int_equal(mrc_destroy_context(other), 0);
	/* The end of a pair lets go of its hint. */
	attr.qp_hint = hint = mrc_create_qp_hint(p.rig.mrc, &init);
	assert_int_equal(mrc_modify_qp(p.a.qp, &to, IBV_QP_STATE, &attr, MRC_QP_HINT), 0);
	end_stop(&p.a);
	assert_int_equal(mrc_destroy_qp_hint(hint), 0);
	rig_stop(&p.rig);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(list_has_devices_of_both),
	cmocka_unit_test(mrc_device_has_no_verbs_pairs),
	cmocka_unit_test(ports_are_counted_from_1),
	cmocka_unit_test(device_says_what_it_does),
	cmocka_unit_test(versions_are_told),
	cmocka_unit_test(versions_are_checked),
	cmocka_unit_test(versions_live_side_by_side),
	cmocka_unit_test(context_needs_a_device_of_ours_with_mrc),
	cmocka_unit_test(device_is_closed_after_its_contexts),
	cmocka_unit_test(context_takes_its_objects_along),
	cmocka_unit_test(hints_are_kept),
	cmocka_unit_test(hints_refuse_nonsense),
	cmocka_unit_test(hints_are_limited),
	cmocka_unit_test(hints_in_use_stay),
	/* Leaves this process in namespaces of its own: last. */
	cmocka_unit_test(ports_and_trimming_are_as_set_up),
};

ISOLATED_MAIN(cases)
