/* Hints: what a program expects of its queue pairs. Kept, told back, and otherwise of no effect:
 * the soft device reserves nothing by peers. */
#include <stdlib.h>
#include <string.h>

#include "mrcapi/inside.h"

#define KNOWN                                                                  \
	((unsigned)MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_NUM_SEND_PEERS | \
	 MRC_QP_HINT_NUM_REMOTE_RECV_PEERS | (unsigned)MRC_QP_HINT_VENDOR_CFG)

static bool is_sound(const struct mrc_qp_hint_attr *a, unsigned mask)
{
	return !((mask & MRC_QP_HINT_NUM_QPS_PER_PEER && a->num_qps_per_peer < 0) ||
		 (mask & MRC_QP_HINT_NUM_SEND_PEERS && a->num_send_peers < 0) ||
		 (mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS && a->num_remote_recv_peers < 0) ||
		 (mask & (unsigned)MRC_QP_HINT_VENDOR_CFG && !mrcapi_is_empty(a->vendor_cfg)));
}

static bool count_up(struct mrc_context *context)
{
	pthread_mutex_lock(&context->lock);
	bool has_room = context->n_hints < MRCAPI_MAX_HINTS;

	context->n_hints += has_room;
	pthread_mutex_unlock(&context->lock);
	return has_room;
}

static void count_down(struct mrc_context *context)
{
	pthread_mutex_lock(&context->lock);
	context->n_hints--;
	pthread_mutex_unlock(&context->lock);
}

struct mrc_qp_hint *mrc_create_qp_hint(struct mrc_context *context,
				       struct mrc_qp_hint_init_attr *init_attr)
{
	if (!context || !init_attr || !is_sound(&init_attr->attr, KNOWN))
		return verbs_null(EINVAL);
	if (!count_up(context))
		return verbs_null(ENOSPC);
	struct mrc_qp_hint *hint = calloc(1, sizeof *hint);

	if (!hint) {
		count_down(context);
		return verbs_null(ENOMEM);
	}
	hint->context = context;
	hint->attr = init_attr->attr;
	mrcapi_join(context, MRCAPI_HINT, &hint->link);
	return hint;
}

int mrc_destroy_qp_hint(struct mrc_qp_hint *hint)
{
	if (!hint)
		return verbs_minus_one(EINVAL);
	struct mrc_context *context = hint->context;

	pthread_mutex_lock(&context->lock);
	bool is_used = hint->n_users > 0;

	pthread_mutex_unlock(&context->lock);
	if (is_used)
		return verbs_minus_one(EBUSY);
	mrcapi_leave(context, &hint->link);
	count_down(context);
	free(hint);
	return 0;
}

static bool is_asked_well(const struct mrc_qp_hint *hint, const struct mrc_qp_hint_attr *attr,
			  unsigned mask)
{
	return hint && attr && !(mask & ~KNOWN);
}

/* Copies what the mask names. */
static void copy(struct mrc_qp_hint_attr *to, const struct mrc_qp_hint_attr *from, unsigned mask)
{
	if (mask & MRC_QP_HINT_NUM_QPS_PER_PEER)
		to->num_qps_per_peer = from->num_qps_per_peer;
	if (mask & MRC_QP_HINT_NUM_SEND_PEERS)
		to->num_send_peers = from->num_send_peers;
	if (mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS)
		to->num_remote_recv_peers = from->num_remote_recv_peers;
	if (mask & (unsigned)MRC_QP_HINT_VENDOR_CFG)
		memcpy(to->vendor_cfg, from->vendor_cfg, sizeof to->vendor_cfg);
}

int mrc_query_qp_hint(struct mrc_qp_hint *hint, struct mrc_qp_hint_attr *attr, int mask)
{
	if (!is_asked_well(hint, attr, (unsigned)mask))
		return verbs_minus_one(EINVAL);
	pthread_mutex_lock(&hint->context->lock);
	copy(attr, &hint->attr, (unsigned)mask);
	pthread_mutex_unlock(&hint->context->lock);
	return 0;
}

int mrc_modify_qp_hint(struct mrc_qp_hint *hint, struct mrc_qp_hint_attr *attr, int mask)
{
	if (!is_asked_well(hint, attr, (unsigned)mask) || !is_sound(attr, (unsigned)mask))
		return verbs_minus_one(EINVAL);
	pthread_mutex_lock(&hint->context->lock);
	copy(&hint->attr, attr, (unsigned)mask);
	pthread_mutex_unlock(&hint->context->lock);
	return 0;
}

void mrcapi_hint_swap(struct mrc_context *context, struct mrc_qp_hint **had,
		      struct mrc_qp_hint *has)
{
	pthread_mutex_lock(&context->lock);
	if (*had)
		(*had)->n_users--;
	if (has)
		has->n_users++;
	*had = has;
	pthread_mutex_unlock(&context->lock);
}
