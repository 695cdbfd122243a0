/* RC below the verbs: they are what it was made for. */
#include "rc/rc.h"
#include "transport/rows.h"

static int query(const struct engine *e, uint32_t number, struct engine_attr *attr,
		 bool *is_draining)
{
	return rc_qp_query(e, number, attr, NULL, is_draining);
}

const struct transport_verbs_ops transport_rc_verbs = {
	.rd_atomic_max = RC_RD_ATOMIC_MAX,
	.modify = rc_qp_modify,
	.query = query,
	.most = {.max_recv = RC_WR_MAX, .max_sge = ENGINE_SGE},
	.shared_bytes = rc_srq_size,
	.shared_make = rc_srq_new,
	.shared_end = rc_srq_free,
	.shared_limit = rc_srq_limit,
	.shared_query = rc_srq_query,
};
