/* The table of a context, which the inline functions of the header call. */
#include "verbs/inside.h"

/* For programs so old that they call it without a function between. */
static int old_query_port(struct ibv_context *context, uint8_t port,
			  struct _compat_ibv_port_attr *attr)
{
	return ibv_query_port(context, port, attr);
}

static int old_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	return ibv_query_device(context, attr);
}

void verbs_fill_table(struct verbs_context *extended)
{
	struct ibv_context_ops *ops = &extended->context.ops;

	ops->_compat_query_device = old_query_device;
	ops->_compat_query_port = old_query_port;
	ops->alloc_mw = verbs_alloc_mw;
	ops->bind_mw = verbs_bind_mw;
	ops->dealloc_mw = verbs_dealloc_mw;
	ops->poll_cq = verbs_poll;
	ops->req_notify_cq = verbs_notify;
	ops->post_srq_recv = verbs_post_srq_recv;
	ops->post_send = verbs_post_send;
	ops->post_recv = verbs_post_recv;

	extended->query_port = verbs_query_port;
	extended->alloc_null_mr = verbs_alloc_null_mr;
	extended->advise_mr = verbs_advise_mr;
	extended->query_rt_values = verbs_query_rt_values;
	extended->create_cq_ex = verbs_create_cq_ex;
	extended->query_device_ex = verbs_query_device_ex;
	extended->create_qp_ex = verbs_create_qp_ex;
	extended->get_srq_num = verbs_get_srq_num;
	extended->create_srq_ex = verbs_create_srq_ex;
}
