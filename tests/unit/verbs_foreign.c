/* libweft-verbs before a libibverbs that has a device: what is not ours goes there, by every
 * function, and its devices stand behind ours in the list. */
#include "verbs_foreign.h"
#include "check.h"

#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* Not in the header, see src/verbs/inside.h. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned index, int *type);

/* Objects as the real library makes them: they name a context that is not ours. */
struct foreign {
	struct ibv_device device;
	struct ibv_context context;
	struct ibv_pd pd;
	struct ibv_mr mr;
	struct ibv_ah ah;
	struct ibv_comp_channel channel;
	struct ibv_cq cq;
	struct ibv_srq srq;
	struct ibv_qp qp;
};

static struct foreign make_foreign(void)
{
	return (struct foreign){.device = {.name = "foreign0"}};
}

static void connect_foreign(struct foreign *f)
{
	f->context.device = &f->device;
	f->pd.context = f->mr.context = f->ah.context = f->channel.context = &f->context;
	f->cq.context = f->srq.context = f->qp.context = &f->context;
}

static void came_by(const char *name, long answer)
{
	assert_non_null(foreign_called);
	assert_string_equal(foreign_called, name);
	assert_int_equal(answer, FOREIGN_ANSWER);
	foreign_called = NULL;
}

#define PASSES(name, ...)         came_by(#name, (long)name(__VA_ARGS__))
#define PASSES_POINTER(name, ...) came_by(#name, (long)(intptr_t)name(__VA_ARGS__))
#define PASSES_VOID(name, ...)                  \
	do {                                    \
		name(__VA_ARGS__);              \
		came_by(#name, FOREIGN_ANSWER); \
	} while (0)

static void numbers_come_from_there(void **state)
{
	struct foreign f = make_foreign();
	uint8_t mac[ETHERNET_LL_SIZE];

	(void)state;
	connect_foreign(&f);
	PASSES(_ibv_query_gid_ex, &f.context, 1, 0, NULL, 0, 0);
	PASSES(_ibv_query_gid_table, &f.context, NULL, 0, 0, 0);
	PASSES(ibv_attach_mcast, &f.qp, NULL, 0);
	PASSES(ibv_close_device, &f.context);
	PASSES(ibv_dealloc_pd, &f.pd);
	PASSES(ibv_dereg_mr, &f.mr);
	PASSES(ibv_destroy_ah, &f.ah);
	PASSES(ibv_destroy_comp_channel, &f.channel);
	PASSES(ibv_destroy_cq, &f.cq);
	PASSES(ibv_destroy_qp, &f.qp);
	PASSES(ibv_destroy_srq, &f.srq);
	PASSES(ibv_detach_mcast, &f.qp, NULL, 0);
	PASSES(ibv_get_async_event, &f.context, NULL);
	PASSES(ibv_get_cq_event, &f.channel, NULL, NULL);
	PASSES(ibv_get_device_guid, &f.device);
	PASSES(ibv_get_device_index, &f.device);
	PASSES(ibv_get_pkey_index, &f.context, 1, 0);
	PASSES(ibv_init_ah_from_wc, &f.context, 1, NULL, NULL, NULL);
	PASSES(ibv_modify_qp, &f.qp, NULL, 0);
	PASSES(ibv_modify_srq, &f.srq, NULL, 0);
	PASSES(ibv_query_device, &f.context, NULL);
	PASSES(ibv_query_ece, &f.qp, NULL);
	PASSES(ibv_query_gid, &f.context, 1, 0, NULL);
	PASSES(ibv_query_gid_type, &f.context, 1, 0, NULL);
	PASSES(ibv_query_pkey, &f.context, 1, 0, NULL);
	PASSES(ibv_query_port, &f.context, 1, NULL);
	PASSES(ibv_query_qp, &f.qp, NULL, 0, NULL);
	PASSES(ibv_query_qp_data_in_order, &f.qp, IBV_WR_SEND, 0);
	PASSES(ibv_query_srq, &f.srq, NULL);
	PASSES(ibv_rereg_mr, &f.mr, 0, NULL, NULL, 0, 0);
	PASSES(ibv_resize_cq, &f.cq, 1);
	PASSES(ibv_resolve_eth_l2_from_gid, &f.context, NULL, mac, NULL);
	PASSES(ibv_set_ece, &f.qp, NULL);
}

static void objects_come_from_there(void **state)
{
	struct foreign f = make_foreign();

	(void)state;
	connect_foreign(&f);
	PASSES_POINTER(ibv_alloc_pd, &f.context);
	PASSES_POINTER(ibv_create_ah, &f.pd, NULL);
	PASSES_POINTER(ibv_create_ah_from_wc, &f.pd, NULL, NULL, 1);
	PASSES_POINTER(ibv_create_comp_channel, &f.context);
	PASSES_POINTER(ibv_create_cq, &f.context, 1, NULL, NULL, 0);
	PASSES_POINTER(ibv_create_qp, &f.pd, NULL);
	PASSES_POINTER(ibv_create_srq, &f.pd, NULL);
	PASSES_POINTER(ibv_get_device_name, &f.device);
	PASSES_POINTER(ibv_import_device, -1);
	PASSES_POINTER(ibv_import_device, 0);
	PASSES_POINTER(ibv_import_dm, &f.context, 1);
	PASSES_POINTER(ibv_import_mr, &f.pd, 1);
	PASSES_POINTER(ibv_import_pd, &f.context, 1);
	PASSES_POINTER(ibv_open_device, &f.device);
	PASSES_POINTER(ibv_qp_to_qp_ex, &f.qp);
	PASSES_POINTER(ibv_reg_dmabuf_mr, &f.pd, 0, 0, 0, 0, 0);
	PASSES_POINTER(ibv_reg_mr, &f.pd, NULL, 0, 0);
	PASSES_POINTER(ibv_reg_mr_iova, &f.pd, NULL, 0, 0, 0);
	PASSES_POINTER(ibv_reg_mr_iova2, &f.pd, NULL, 0, 0, 0);
}

static void what_answers_nothing_goes_there(void **state)
{
	struct foreign f = make_foreign();
	struct ibv_device *list[1] = {NULL};
	struct ibv_async_event events[] = {
		{.element = {.cq = &f.cq}, .event_type = IBV_EVENT_CQ_ERR},
		{.element = {.qp = &f.qp}, .event_type = IBV_EVENT_QP_FATAL},
		{.element = {.qp = &f.qp}, .event_type = IBV_EVENT_PATH_MIG},
		{.element = {.srq = &f.srq}, .event_type = IBV_EVENT_SRQ_LIMIT_REACHED},
		{.element = {.srq = &f.srq}, .event_type = IBV_EVENT_SRQ_ERR},
		{.element = {.port_num = 1}, .event_type = IBV_EVENT_PORT_ERR},
		{.element = {.port_num = 1}, .event_type = IBV_EVENT_LID_CHANGE},
	};

	(void)state;
	connect_foreign(&f);
	PASSES_VOID(ibv_ack_cq_events, &f.cq, 1);
	PASSES_VOID(ibv_unimport_mr, &f.mr);
	PASSES_VOID(ibv_unimport_pd, &f.pd);
	for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
		PASSES_VOID(ibv_ack_async_event, &events[i]);
	/* A list that we did not make. */
	PASSES_VOID(ibv_free_device_list, list);
}

static void its_devices_follow_ours(void **state)
{
	int n = 0;

	(void)state;
	setenv("WEFT_INTERFACES", "lo", 1);
	struct ibv_device **list = ibv_get_device_list(&n);

	assert_int_equal(n, 4);
	assert_string_equal(list[0]->name, "weft_rc0");
	assert_string_equal(list[1]->name, "weft_mrc0");
	assert_string_equal(list[2]->name, "foreign0");
	assert_string_equal(list[3]->name, "foreign1");
	assert_null(list[4]);
	foreign_called = NULL;
	ibv_free_device_list(list);
	assert_string_equal(foreign_called, "ibv_free_device_list");
	foreign_called = NULL;
}

/* Nothing of ours goes there: not even a question. */
static void ours_do_not_go_there(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device_attr attr;
	union ibv_gid gid;

	(void)state;
	foreign_called = NULL;
	struct ibv_context *context = ibv_open_device(list[0]);

	assert_non_null(context);
	assert_int_equal(ibv_query_device(context, &attr), 0);
	assert_int_equal(ibv_query_gid(context, 1, 0, &gid), 0);
	struct ibv_pd *pd = ibv_alloc_pd(context);

	assert_non_null(pd);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(context), 0);
	assert_null(foreign_called);
	ibv_free_device_list(list);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(numbers_come_from_there),
	cmocka_unit_test(objects_come_from_there),
	cmocka_unit_test(what_answers_nothing_goes_there),
	cmocka_unit_test(its_devices_follow_ours),
	cmocka_unit_test(ours_do_not_go_there),
};

CHECK_MAIN(cases)
