#include "fwd/mark.h"

bool fwd_mark_wanted(const struct fwd_class *c, uint32_t queue_bytes, uint32_t random)
{
	if (!c->ecn)
		return false;
	if (queue_bytes >= c->ecn_max_bytes)
		return true;
	if (queue_bytes <= c->ecn_min_bytes)
		return false;
	uint64_t width = c->ecn_max_bytes - c->ecn_min_bytes;
	uint64_t above = queue_bytes - c->ecn_min_bytes;

	return random * width < above << 32;
}

bool fwd_mark(const struct fwd_qos *qos, struct fwd_view *view)
{
	if (qos->dscps[view->dscp].trim == FWD_TRIM_TRIMMED)
		return false;
	if (view->ecn != FWD_ECN_ECT0 && view->ecn != FWD_ECN_ECT1)
		return false;
	fwd_set_ecn(view, FWD_ECN_CE);
	return true;
}
