/* libweft-verbs: devices, contexts, the port. */
#include "verbs_rig.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* Not in the header, see src/verbs/inside.h. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned index, int *type);

static void list_names_our_devices(void **state)
{
	int n = -1;

	(void)state;
	setenv("WEFT_INTERFACES", "lo", 1);
	struct ibv_device **list = ibv_get_device_list(&n);

	assert_non_null(list);
	assert_true(n >= 1);
	assert_null(list[n]);
	assert_string_equal(ibv_get_device_name(list[0]), "weft_rc0");
	assert_int_equal(list[0]->node_type, IBV_NODE_CA);
	assert_int_equal(list[0]->transport_type, IBV_TRANSPORT_IB);
	assert_int_equal(ibv_get_device_index(list[0]), -1);
	assert_int_not_equal(ibv_get_device_guid(list[0]), 0);
	ibv_free_device_list(list);
	list = ibv_get_device_list(NULL);
	assert_non_null(list);
	ibv_free_device_list(list);
}

static void one_interface_is_one_device(void **state)
{
	(void)state;
	setenv("WEFT_INTERFACES", "lo", 1);
	struct ibv_device **first = ibv_get_device_list(NULL);
	struct ibv_device **second = ibv_get_device_list(NULL);

	assert_ptr_not_equal(first, second);
	assert_ptr_equal(first[0], second[0]);
	ibv_free_device_list(second);
	struct ibv_context *context = ibv_open_device(first[0]);
	struct ibv_device *device = first[0];

	/* The context keeps its device when the list has gone. */
	ibv_free_device_list(first);
	assert_ptr_equal(context->device, device);
	assert_string_equal(ibv_get_device_name(context->device), "weft_rc0");
	first = ibv_get_device_list(NULL);
	assert_ptr_equal(first[0], device);
	ibv_free_device_list(first);
	assert_int_equal(ibv_close_device(context), 0);
}

static void unknown_interfaces_make_an_empty_list(void **state)
{
	int n = -1;

	(void)state;
	setenv("WEFT_INTERFACES", "no-such-if0", 1);
	struct ibv_device **list = ibv_get_device_list(&n);

	assert_non_null(list);
	for (int i = 0; i < n; i++)
		assert_null(strstr(ibv_get_device_name(list[i]), "weft_"));
	ibv_free_device_list(list);
	setenv("WEFT_INTERFACES", "lo", 1);
}

static void device_describes_itself(void **state)
{
	struct ibv_context *context = rig_open();
	struct ibv_device_attr attr;
	struct {
		struct ibv_device_attr_ex attr;
		uint8_t more[32];
	} ex;

	(void)state;
	assert_int_equal(ibv_query_device(context, &attr), 0);
	assert_string_equal(attr.fw_ver, WEFT_VERSION);
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(attr.max_pkeys, 1);
	assert_int_equal(attr.atomic_cap, IBV_ATOMIC_HCA);
	assert_true(attr.max_qp > 1000 && attr.max_qp_wr >= 8192 && attr.max_sge >= 4);
	assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	assert_int_equal(attr.node_guid, ibv_get_device_guid(context->device));

	memset(&ex, 0xaa, sizeof ex);
	assert_int_equal(ibv_query_device_ex(context, NULL, &ex.attr), 0);
	assert_string_equal(ex.attr.orig_attr.fw_ver, attr.fw_ver);
	assert_int_equal(ex.attr.orig_attr.node_guid, attr.node_guid);
	assert_int_equal(ex.attr.orig_attr.max_qp, attr.max_qp);
	assert_int_equal(ex.attr.orig_attr.max_cqe, attr.max_cqe);
	assert_int_equal(ex.attr.orig_attr.device_cap_flags, attr.device_cap_flags);
	assert_int_equal(ex.attr.orig_attr.phys_port_cnt, attr.phys_port_cnt);
	assert_int_equal(ex.attr.completion_timestamp_mask, UINT64_MAX);
	assert_int_equal(ex.attr.hca_core_clock, 1000000);
	assert_int_equal(ex.attr.odp_caps.general_caps, 0);
	assert_int_equal(ex.more[0], 0xaa);
	/* A program with a larger struct finds zeros, one with a smaller one keeps what follows. */
	struct verbs_context *extended = verbs_get_ctx(context);

	assert_int_equal(extended->query_device_ex(context, NULL, &ex.attr, sizeof ex), 0);
	assert_int_equal(ex.more[31], 0);
	memset(&ex, 0xaa, sizeof ex);
	assert_int_equal(extended->query_device_ex(context, NULL, &ex.attr, sizeof attr), 0);
	assert_int_equal(ex.attr.hca_core_clock, 0xaaaaaaaaaaaaaaaa);
	assert_int_equal(extended->query_device_ex(context, NULL, &ex.attr, 8), EINVAL);
	struct ibv_query_device_ex_input input = {.comp_mask = 1};

	assert_int_equal(ibv_query_device_ex(context, &input, &ex.attr), EINVAL);
	assert_int_equal(ibv_close_device(context), 0);
}

static void clock_is_in_nanoseconds(void **state)
{
	struct ibv_context *context = rig_open();
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	struct timespec t;

	(void)state;
	assert_int_equal(ibv_query_rt_values_ex(context, &values), 0);
	clock_gettime(CLOCK_MONOTONIC, &t);
	int64_t at = values.raw_clock.tv_sec * 1000000000 + values.raw_clock.tv_nsec;
	int64_t late = t.tv_sec * 1000000000 + t.tv_nsec - at;

	assert_true(late >= 0 && late < 1000000000);
	values.comp_mask = 2;
	assert_int_equal(ibv_query_rt_values_ex(context, &values), EINVAL);
	assert_int_equal(ibv_close_device(context), 0);
}

static void port_is_ethernet(void **state)
{
	struct ibv_context *context = rig_open();
	struct ibv_port_attr attr;

	(void)state;
	assert_int_equal(ibv_query_port(context, 1, &attr), 0);
	assert_int_equal(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(attr.state, IBV_PORT_ACTIVE);
	assert_int_equal(attr.active_mtu, IBV_MTU_4096);
	assert_int_equal(attr.pkey_tbl_len, 1);
	assert_int_equal(attr.lid, 0);
	assert_true(attr.flags & IBV_QPF_GRH_REQUIRED);
	assert_int_equal(attr.max_msg_sz, 1u << 30);
	assert_int_equal(ibv_query_port(context, 0, &attr), EINVAL);
	assert_int_equal(ibv_query_port(context, 2, &attr), EINVAL);
	/* The function under the macro serves programs whose struct ends before port_cap_flags2. */
	attr.port_cap_flags2 = 0x5555;
	assert_int_equal((ibv_query_port)(context, 1, (struct _compat_ibv_port_attr *)&attr), 0);
	assert_int_equal(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(attr.port_cap_flags2, 0x5555);
	assert_int_equal(context->ops._compat_query_port(context, 1, (void *)&attr), 0);
	struct ibv_device_attr device;

	assert_int_equal(context->ops._compat_query_device(context, &device), 0);
	assert_int_equal(ibv_close_device(context), 0);
}

static void gids_are_addresses(void **state)
{
	static const uint8_t v4[16] = {[10] = 0xff, 0xff, 127, 0, 0, 1}, v6[16] = {[15] = 1};
	struct ibv_context *context = rig_open();
	struct ibv_port_attr port;
	struct ibv_gid_entry entry, table[8];
	union ibv_gid gid;
	int type = -1;

	(void)state;
	/* Loopback has no address of the link: its own IPv6 address is in the place of that. Each
	 * stands there as version 1 and as version 2. */
	for (uint32_t i = 0; i < 4; i++) {
		bool is_v2 = i % 2;

		assert_int_equal(ibv_query_gid(context, 1, (int)i, &gid), 0);
		assert_memory_equal(gid.raw, i < 2 ? v6 : v4, 16);
		assert_int_equal(ibv_query_gid_ex(context, 1, i, &entry, 0), 0);
		assert_memory_equal(entry.gid.raw, i < 2 ? v6 : v4, 16);
		assert_int_equal(entry.gid_type,
				 is_v2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1);
		assert_int_equal(entry.gid_index, i);
		assert_int_equal(entry.port_num, 1);
		assert_int_equal(entry.ndev_ifindex, 1);
		assert_int_equal(ibv_query_gid_type(context, 1, i, &type), 0);
		assert_int_equal(type, is_v2);
	}

	/* An empty place is a GID of zeros to one function, and nothing to the other. */
	assert_int_equal(ibv_query_port(context, 1, &port), 0);
	memset(&gid, 0xff, sizeof gid);
	assert_int_equal(ibv_query_gid(context, 1, port.gid_tbl_len - 1, &gid), 0);
	assert_int_equal(gid.global.interface_id | gid.global.subnet_prefix, 0);
	assert_int_equal(ibv_query_gid_ex(context, 1, 127, &entry, 0), ENODATA);
	assert_int_equal(ibv_query_gid_type(context, 1, 127, &type), 0);
	assert_int_equal(type, 0);

	assert_int_equal(ibv_query_gid(context, 1, port.gid_tbl_len, &gid), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_query_gid(context, 1, -1, &gid), -1);
	assert_int_equal(ibv_query_gid(context, 2, 0, &gid), -1);
	assert_int_equal(ibv_query_gid_ex(context, 1, 1000, &entry, 0), EINVAL);
	assert_int_equal(ibv_query_gid_ex(context, 1, 0, &entry, 1), EINVAL);
	assert_int_equal(ibv_query_gid_type(context, 2, 0, &type), -1);
	assert_int_equal(ibv_query_gid_table(context, table, 8, 0), 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(table[i].gid_index, i);
		assert_memory_equal(table[i].gid.raw, i < 2 ? v6 : v4, 16);
		assert_int_equal(table[i].gid_type,
				 i % 2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1);
	}
	assert_int_equal(ibv_query_gid_table(context, table, 1, 0), 1);
	assert_int_equal(ibv_query_gid_table(context, table, 0, 0), -EINVAL);
	assert_int_equal(ibv_query_gid_table(context, NULL, 8, 0), -EINVAL);
	assert_int_equal(ibv_query_gid_table(context, table, 8, 7), -EINVAL);
	assert_int_equal(ibv_close_device(context), 0);
}

static void there_is_one_partition(void **state)
{
	struct ibv_context *context = rig_open();
	__be16 pkey = 0;

	(void)state;
	assert_int_equal(ibv_query_pkey(context, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(ibv_query_pkey(context, 1, 1, &pkey), -1);
	assert_int_equal(ibv_query_pkey(context, 2, 0, &pkey), -1);
	assert_int_equal(ibv_get_pkey_index(context, 1, htons(0xffff)), 0);
	assert_int_equal(ibv_get_pkey_index(context, 1, htons(0x8001)), -1);
	assert_int_equal(ibv_close_device(context), 0);
}

/* The inline functions of the header ask the table, and find nothing there. */
static void what_there_is_not_is_refused(void **state)
{
	struct rig rig;
	struct ibv_td_init_attr td = {0};
	struct ibv_parent_domain_init_attr parent = {0};
	struct ibv_alloc_dm_attr dm = {.length = 64};
	struct ibv_xrcd_init_attr xrcd = {.comp_mask = 3, .fd = -1};
	struct ibv_wq_init_attr wq = {0};
	struct ibv_rwq_ind_table_init_attr table = {0};
	struct ibv_counters_init_attr counters = {0};
	struct ibv_qp_open_attr open = {0};
	struct ibv_flow_action_esp_attr esp = {0};

	(void)state;
	rig_start(&rig);
#define REFUSED(call)                                \
	do {                                         \
		errno = 0;                           \
		assert_null(call);                   \
		assert_int_equal(errno, EOPNOTSUPP); \
	} while (0)
	REFUSED(ibv_alloc_td(rig.context, &td));
	REFUSED(ibv_alloc_parent_domain(rig.context, &parent));
	REFUSED(ibv_alloc_dm(rig.context, &dm));
	REFUSED(ibv_open_xrcd(rig.context, &xrcd));
	REFUSED(ibv_create_wq(rig.context, &wq));
	REFUSED(ibv_create_rwq_ind_table(rig.context, &table));
	REFUSED(ibv_create_counters(rig.context, &counters));
	REFUSED(ibv_open_qp(rig.context, &open));
	REFUSED(ibv_create_flow_action_esp(rig.context, &esp));
	REFUSED(ibv_import_pd(rig.context, 1));
	REFUSED(ibv_import_mr(rig.pd, 1));
	REFUSED(ibv_import_dm(rig.context, 1));
	REFUSED(ibv_reg_dmabuf_mr(rig.pd, 0, 4096, 0, 0, 0));
	struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1};
	struct ibv_wc wc = {0};
	uint8_t mac[6];
	uint16_t vid;

	REFUSED(ibv_create_ah(rig.pd, &ah));
	REFUSED(ibv_create_ah_from_wc(rig.pd, &wc, NULL, 1));
	assert_int_equal(ibv_init_ah_from_wc(rig.context, 1, &wc, NULL, &ah), EOPNOTSUPP);
	assert_int_equal(ibv_resolve_eth_l2_from_gid(rig.context, &ah, mac, &vid), EOPNOTSUPP);
	struct ibv_ah none = {.context = rig.context};

	assert_int_equal(ibv_destroy_ah(&none), EOPNOTSUPP);
	ibv_unimport_pd(rig.pd);
	ibv_unimport_mr(rig.mr);
	rig_stop(&rig);
}

/* A program that shares its device hands a copy of the descriptor on: the copy can be made, and
 * the first that fails is the import, which says so. */
static void copy_of_the_command_descriptor_is_not_imported(void **state)
{
	struct ibv_context *context = rig_open(), *other = rig_open();
	int copy = dup(context->cmd_fd);

	(void)state;
	assert_true(context->cmd_fd >= 0);
	assert_int_not_equal(context->cmd_fd, other->cmd_fd);
	assert_true(fcntl(context->cmd_fd, F_GETFD) & FD_CLOEXEC);
	assert_true(copy >= 0);
	errno = 0;
	assert_null(ibv_import_device(copy));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_close_device(other), 0);
	int fd = context->cmd_fd;

	assert_int_equal(ibv_close_device(context), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	errno = 0;
	assert_null(ibv_import_device(copy));
	assert_int_equal(errno, EOPNOTSUPP);
	close(copy);
}

/* As the kernel does for a program that ends so, with events not acknowledged and all. */
static void closing_cleans_up(void **state)
{
	struct rig_pair p;
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_async_event event;
	struct ibv_send_wr *bad;
	struct ibv_cq *cq;
	void *context;

	(void)state;
	pair_start(&p);
	assert_non_null(ibv_create_srq(p.rig.pd, &init));
	assert_non_null(ibv_alloc_mw(p.rig.pd, IBV_MW_TYPE_1));
	struct ibv_sge sge = piece(&p.rig, 0, 8);
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};

	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = (uintptr_t)p.rig.memory;
	wr.wr.rdma.rkey = p.rig.mr->rkey;
	assert_int_equal(ibv_req_notify_cq(p.a.send_cq, 0), 0);
	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), 0);
	assert_int_equal(ibv_get_cq_event(p.a.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(wait_wc(p.a.send_cq).status, IBV_WC_SUCCESS);
	wr.wr.rdma.rkey ^= 0x5500;
	assert_int_equal(ibv_req_notify_cq(p.a.send_cq, 0), 0);
	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), 0);
	assert_int_equal(ibv_get_cq_event(p.a.channel, &cq, &context), 0);
	assert_int_equal(wait_wc(p.a.send_cq).status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_get_async_event(p.rig.context, &event), 0);
	assert_int_equal(ibv_close_device(p.rig.context), 0);
	free(p.rig.memory);
}

static void no_event_is_no_wait_when_asked_for(void **state)
{
	struct ibv_context *context = rig_open();
	struct ibv_async_event event;
	struct pollfd p = {.fd = context->async_fd, .events = POLLIN};

	(void)state;
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(
		fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK),
		0);
	assert_int_equal(ibv_get_async_event(context, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(ibv_close_device(context), 0);
}

struct asker {
	struct ibv_device *device;
	atomic_bool is_over;
};

/* Has the list of devices locked most of the time. */
static void *ask_without_end(void *context)
{
	struct asker *a = context;

	while (!atomic_load(&a->is_over))
		ibv_get_device_guid(a->device);
	return NULL;
}

/* Whatever other threads do at that moment, a child can use the list. */
static void a_child_is_not_locked_out(void **state)
{
	enum { ASKERS = 3, CHILDREN = 60 };
	struct asker a = {0};
	pthread_t threads[ASKERS];
	int status = 0;

	(void)state;
	setenv("WEFT_INTERFACES", "lo", 1);
	struct ibv_device **list = ibv_get_device_list(NULL);

	a.device = list[0];
	for (int i = 0; i < ASKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_without_end, &a), 0);
	for (int i = 0; i < CHILDREN && status == 0; i++) {
		pid_t child = fork();

		if (child == 0) {
			alarm(2);
			_exit(ibv_get_device_guid(a.device) ? 0 : 1);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
	}
	atomic_store(&a.is_over, true);
	for (int i = 0; i < ASKERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(status, 0);
	ibv_free_device_list(list);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(list_names_our_devices),
	cmocka_unit_test(one_interface_is_one_device),
	cmocka_unit_test(unknown_interfaces_make_an_empty_list),
	cmocka_unit_test(device_describes_itself),
	cmocka_unit_test(clock_is_in_nanoseconds),
	cmocka_unit_test(port_is_ethernet),
	cmocka_unit_test(gids_are_addresses),
	cmocka_unit_test(there_is_one_partition),
	cmocka_unit_test(what_there_is_not_is_refused),
	cmocka_unit_test(copy_of_the_command_descriptor_is_not_imported),
	cmocka_unit_test(closing_cleans_up),
	cmocka_unit_test(no_event_is_no_wait_when_asked_for),
	cmocka_unit_test(a_child_is_not_locked_out),
};

ISOLATED_MAIN(cases)
