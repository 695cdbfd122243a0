/* The calls of libweft-verbs about devices, contexts and ports, one by one: see verbs_calls.h. */
#include "verbs_calls.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/resource.h>

static void devices(void **state)
{
	int n = -1;

	(void)state;
	setenv("WEFT_INTERFACES", "lo", 1);
	errno = EBADF;
	struct ibv_device **list = ibv_get_device_list(&n);

	assert_non_null(list);
	assert_int_equal(errno, 0);
	assert_true(n >= 2 && !list[n]);
	assert_string_equal(ibv_get_device_name(list[0]), "weft_rc0");
	assert_int_not_equal(ibv_get_device_guid(list[0]), 0);
	/* The kernel has given it no number. */
	assert_int_equal(ibv_get_device_index(list[0]), -1);
	assert_int_equal(list[0]->node_type, IBV_NODE_CA);
	assert_int_equal(list[0]->transport_type, IBV_TRANSPORT_IB);
	/* A device that is open outlives its list, and a list its devices' contexts. */
	struct ibv_context *context = ibv_open_device(list[0]);

	assert_non_null(context);
	assert_ptr_equal(context->device, list[0]);
	ibv_free_device_list(list);
	assert_string_equal(ibv_get_device_name(context->device), "weft_rc0");
	FINE(ibv_close_device(context));
	/* A list may be had without its length. */
	list = ibv_get_device_list(NULL);
	assert_non_null(list);
	ibv_free_device_list(list);
}

/* With no descriptor left. What failed leaves nothing behind: the next attempt works. */
static void open_device(void **state)
{
	(void)state;
	setenv("WEFT_INTERFACES", "lo", 1);
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct rlimit limit, none;

	assert_non_null(list);
	FINE(getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = 3;
	FINE(setrlimit(RLIMIT_NOFILE, &none));
	NOTHING(EMFILE, ibv_open_device(list[0]));
	FINE(setrlimit(RLIMIT_NOFILE, &limit));
	struct ibv_context *context = ibv_open_device(list[0]);

	assert_non_null(context);
	FINE(setrlimit(RLIMIT_NOFILE, &none));
	NOTHING(EMFILE, ibv_create_comp_channel(context));
	FINE(setrlimit(RLIMIT_NOFILE, &limit));
	FINE(ibv_close_device(context));
	ibv_free_device_list(list);
}

static void no_device(void **state)
{
	(void)state;
	setenv("WEFT_INTERFACES", "no-such-if0", 1);
	int n = -1;
	struct ibv_device **list = ibv_get_device_list(&n);

	/* No device of ours is not an error: there may be others. */
	assert_non_null(list);
	assert_int_equal(n, 0);
	assert_null(list[0]);
	ibv_free_device_list(list);
}

static void query_device(void **state)
{
	struct ibv_context *context = rig_open(), *mrc = open_mrc();
	struct ibv_device_attr attr;
	struct ibv_device_attr_ex ex;
	struct ibv_query_device_ex_input input = {.comp_mask = 1};

	(void)state;
	FINE(ibv_query_device(context, &attr));
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(attr.max_pkeys, 1);
	assert_true(attr.max_qp > 0 && attr.max_mw > 0 && attr.max_srq > 0);
	FINE(ibv_query_device(mrc, &attr));
	assert_true(attr.max_mw == 0 && attr.max_srq == 0);
	FINE(ibv_query_device_ex(context, NULL, &ex));
	assert_int_equal(ex.phys_port_cnt_ex, 1);
	/* The header looks at this one, and leaves errno alone. */
	assert_int_equal(ibv_query_device_ex(context, &input, &ex), EINVAL);
	FINE(ibv_close_device(mrc));
	FINE(ibv_close_device(context));
}

static void query_rt_values_ex(void **state)
{
	struct ibv_context *context = rig_open();
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	(void)state;
	FINE(ibv_query_rt_values_ex(context, &values));
	assert_true(values.raw_clock.tv_nsec > 0);
	values.comp_mask = 1u << 7;
	SAYS(EINVAL, ibv_query_rt_values_ex(context, &values));
	FINE(ibv_close_device(context));
}

static void query_port(void **state)
{
	struct ibv_context *context = rig_open();
	struct ibv_port_attr attr;

	(void)state;
	FINE(ibv_query_port(context, 1, &attr));
	assert_int_equal(attr.gid_tbl_len, 128);
	assert_int_equal(attr.pkey_tbl_len, 1);
	assert_int_equal(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	SAYS(EINVAL, ibv_query_port(context, 0, &attr));
	SAYS(EINVAL, ibv_query_port(context, 2, &attr));
	SAYS(EINVAL, ibv_query_port(context, 255, &attr));
	FINE(ibv_close_device(context));
}

static void query_gid(void **state)
{
	struct ibv_context *context = rig_open();
	union ibv_gid gid;
	int type = -1;

	(void)state;
	FINE(ibv_query_gid(context, 1, RIG_GID, &gid));
	MINUS_ONE(EINVAL, ibv_query_gid(context, 0, RIG_GID, &gid));
	MINUS_ONE(EINVAL, ibv_query_gid(context, 2, RIG_GID, &gid));
	MINUS_ONE(EINVAL, ibv_query_gid(context, 1, -1, &gid));
	MINUS_ONE(EINVAL, ibv_query_gid(context, 1, 128, &gid));
	/* A hole is a GID of zeros. */
	FINE(ibv_query_gid(context, 1, 127, &gid));
	assert_int_equal(gid.global.subnet_prefix | gid.global.interface_id, 0);
	FINE(ibv_query_gid_type(context, 1, RIG_GID, &type));
	assert_int_equal(type, 1);
	FINE(ibv_query_gid_type(context, 1, RIG_GID - 1, &type));
	assert_int_equal(type, 0);
	MINUS_ONE(EINVAL, ibv_query_gid_type(context, 2, RIG_GID, &type));
	MINUS_ONE(EINVAL, ibv_query_gid_type(context, 1, 128, &type));
	FINE(ibv_close_device(context));
}

static void query_gid_entries(void **state)
{
	struct ibv_context *context = rig_open();
	struct ibv_gid_entry entry, table[8];

	(void)state;
	FINE(ibv_query_gid_ex(context, 1, RIG_GID, &entry, 0));
	SAYS(EINVAL, ibv_query_gid_ex(context, 0, RIG_GID, &entry, 0));
	SAYS(EINVAL, ibv_query_gid_ex(context, 2, RIG_GID, &entry, 0));
	SAYS(EINVAL, ibv_query_gid_ex(context, 1, 128, &entry, 0));
	SAYS(EINVAL, ibv_query_gid_ex(context, 1, RIG_GID, &entry, 1));
	SAYS(ENODATA, ibv_query_gid_ex(context, 1, 127, &entry, 0));
	/* The one that answers a negative errno. */
	assert_int_equal(ibv_query_gid_table(context, table, 8, 0), 4);
	assert_int_equal(ibv_query_gid_table(context, table, 3, 0), 3);
	assert_int_equal(ibv_query_gid_table(context, table, 0, 0), -EINVAL);
	assert_int_equal(ibv_query_gid_table(context, NULL, 8, 0), -EINVAL);
	assert_int_equal(ibv_query_gid_table(context, table, 8, 1), -EINVAL);
	assert_int_equal(_ibv_query_gid_table(context, table, 8, 0, sizeof entry - 1), -EINVAL);
	FINE(ibv_close_device(context));
}

static void partitions(void **state)
{
	struct ibv_context *context = rig_open();
	__be16 pkey = 0;

	(void)state;
	FINE(ibv_query_pkey(context, 1, 0, &pkey));
	assert_int_equal(pkey, 0xffff);
	MINUS_ONE(EINVAL, ibv_query_pkey(context, 1, 1, &pkey));
	MINUS_ONE(EINVAL, ibv_query_pkey(context, 1, -1, &pkey));
	MINUS_ONE(EINVAL, ibv_query_pkey(context, 2, 0, &pkey));
	FINE(ibv_get_pkey_index(context, 1, htons(0xffff)));
	MINUS_ONE(EINVAL, ibv_get_pkey_index(context, 1, htons(0x7fff)));
	MINUS_ONE(EINVAL, ibv_get_pkey_index(context, 2, htons(0xffff)));
	FINE(ibv_close_device(context));
}

/* Without anything to tell, and without waiting for it. */
static void async_events(void **state)
{
	struct ibv_context *context = rig_open();
	struct ibv_async_event event = {.event_type = IBV_EVENT_PORT_ACTIVE};

	(void)state;
	assert_int_equal(fcntl(context->async_fd, F_SETFL, O_NONBLOCK), 0);
	MINUS_ONE(EAGAIN, ibv_get_async_event(context, &event));
	/* One of a port needs no acknowledgement; giving it does no harm. */
	ibv_ack_async_event(&event);
	FINE(ibv_close_device(context));
}

static void imports(void **state)
{
	struct rig rig;

	(void)state;
	rig_start(&rig);
	NOTHING(EOPNOTSUPP, ibv_import_device(rig.context->cmd_fd));
	NOTHING(EOPNOTSUPP, ibv_import_pd(rig.context, rig.pd->handle));
	NOTHING(EOPNOTSUPP, ibv_import_mr(rig.pd, rig.mr->handle));
	NOTHING(EOPNOTSUPP, ibv_import_dm(rig.context, 0));
	/* Nothing was imported, so there is nothing to give back; the objects stay. */
	ibv_unimport_pd(rig.pd);
	ibv_unimport_mr(rig.mr);
	rig_stop(&rig);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(devices),
	cmocka_unit_test(open_device),
	cmocka_unit_test(no_device),
	cmocka_unit_test(query_device),
	cmocka_unit_test(query_rt_values_ex),
	cmocka_unit_test(query_port),
	cmocka_unit_test(query_gid),
	cmocka_unit_test(query_gid_entries),
	cmocka_unit_test(partitions),
	cmocka_unit_test(async_events),
	cmocka_unit_test(imports),
};

ISOLATED_MAIN(cases)
