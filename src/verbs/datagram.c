/* What only datagrams need: addresses, multicast. Our devices have reliable connections alone, and
 * refuse politely. */
#include "verbs/inside.h"

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	if (!verbs_is_ours(pd->context))
		return VERBS_PASS_POINTER(ibv_create_ah, pd, attr);
	return verbs_null(EOPNOTSUPP);
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port_num)
{
	if (!verbs_is_ours(pd->context))
		return VERBS_PASS_POINTER(ibv_create_ah_from_wc, pd, wc, grh, port_num);
	return verbs_null(EOPNOTSUPP);
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *ah_attr)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS(ibv_init_ah_from_wc, ENOSYS, context, port_num, wc, grh, ah_attr);
	return verbs_answer(-EOPNOTSUPP);
}

/* There is none of ours. */
int ibv_destroy_ah(struct ibv_ah *ah)
{
	if (!verbs_is_ours(ah->context))
		return VERBS_PASS(ibv_destroy_ah, ENOSYS, ah);
	return verbs_answer(-EOPNOTSUPP);
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	if (!verbs_is_ours(qp->context))
		return VERBS_PASS(ibv_attach_mcast, ENOSYS, qp, gid, lid);
	return verbs_answer(-EOPNOTSUPP);
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	if (!verbs_is_ours(qp->context))
		return VERBS_PASS(ibv_detach_mcast, ENOSYS, qp, gid, lid);
	return verbs_answer(-EOPNOTSUPP);
}

int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS(ibv_resolve_eth_l2_from_gid, ENOSYS, context, attr, eth_mac, vid);
	return verbs_answer(-EOPNOTSUPP);
}
