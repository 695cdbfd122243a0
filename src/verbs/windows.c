/* Memory windows: of type 1, bound by ibv_bind_mw, and of type 2, bound by a work request. */
#include <stdlib.h>

#include "verbs/inside.h"

struct ibv_mw *verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return verbs_null(EINVAL);
	if (!transport_takes(verbs_opened(pd->context)->transport, ENGINE_BIND))
		return verbs_null(EOPNOTSUPP);
	struct verbs_window *window = calloc(1, sizeof *window);

	if (!window)
		return verbs_null(ENOMEM);
	window->nic = nic_mw_new(verbs_domain_of(pd)->nic,
				 type == IBV_MW_TYPE_1 ? MEM_WINDOW_1 : MEM_WINDOW_2);
	if (!window->nic) {
		free(window);
		return NULL;
	}
	window->mw.context = pd->context;
	window->mw.pd = pd;
	window->mw.type = type;
	window->mw.rkey = nic_mw_key(window->nic);
	window->mw.handle = verbs_join(pd->context, VERBS_WINDOW, &window->link);
	return &window->mw;
}

int verbs_dealloc_mw(struct ibv_mw *mw)
{
	struct verbs_window *window = verbs_window_of(mw);
	int error = nic_mw_free(window->nic);

	if (error)
		return verbs_answer(error);
	verbs_leave(mw->context, &window->link);
	free(window);
	return 0;
}

int verbs_fill_bind(const struct verbs_bind *what, struct nic_work *work, struct mem_binding *to)
{
	const struct ibv_mw_bind_info *info = what->info;
	const unsigned rights =
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	/* The null region has no rkey, and no window. */
	if (info->length && (!info->mr || !info->mr->rkey))
		return EINVAL;
	if (info->mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return EOPNOTSUPP;
	/* A window is for peers: local writing, which drivers of the kernel take, adds nothing. */
	if (info->mw_access_flags & ~(rights | IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	*to = (struct mem_binding){
		.va = info->addr,
		.len = info->length,
		.region = info->mr ? info->mr->rkey : 0,
		.new_key = what->new_key,
		.access = (uint8_t)(info->mw_access_flags & rights),
	};
	work->op.code = ENGINE_BIND;
	work->bind = to;
	work->window = what->window->nic;
	return 0;
}

/* It may be sent behind the binding before that is complete; if it fails, the application puts the
 * old one back (man ibv_bind_mw). A binding that has failed already never had a new one. */
void verbs_show_key(struct verbs_window *window)
{
	window->mw.rkey = nic_mw_key(window->nic);
}

/* The header's inline function has looked at type and domain. */
int verbs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct verbs_pair *pair = verbs_pair_of(qp);
	struct verbs_window *window = verbs_window_of(mw);
	struct verbs_bind what = {window, &bind->bind_info, 0};
	struct nic_work work = {
		.op = {.cookie = bind->wr_id,
		       .flags = verbs_flags(bind->send_flags & ~(unsigned)IBV_SEND_INLINE)}};
	struct mem_binding to;
	uint32_t posted = 0;
	int error = verbs_fill_bind(&what, &work, &to);

	if (error)
		return verbs_answer(-error);
	error = nic_post(pair->nic, &work, 1, &posted);
	if (error)
		return verbs_answer(error);
	verbs_show_key(window);
	return 0;
}
