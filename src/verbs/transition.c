/* Which attributes ibv_modify_qp must and may be given for each change of a reliable connection's
 * state (IBTA table 91, "QP state transition properties"). */
#include "verbs/inside.h"

#define ALWAYS IBV_QP_STATE

static const struct {
	uint8_t from, to;
	int required, optional;
} transitions[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
	{IBV_QPS_INIT, IBV_QPS_RTR,
	 IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		 IBV_QP_MIN_RNR_TIMER,
	 IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
	{IBV_QPS_RTR, IBV_QPS_RTS,
	 IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		 IBV_QP_MAX_QP_RD_ATOMIC,
	 IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
		 IBV_QP_PATH_MIG_STATE},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0,
	 IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
		 IBV_QP_PATH_MIG_STATE},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0,
	 IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
		 IBV_QP_PATH_MIG_STATE},
	{IBV_QPS_SQD, IBV_QPS_SQD, 0,
	 IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH |
		 IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER |
		 IBV_QP_PATH_MIG_STATE},
};

bool verbs_may_modify(enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	/* Every state can be left this way, and with nothing else. */
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return (mask & ~(ALWAYS | IBV_QP_CUR_STATE)) == 0;
	for (size_t i = 0; i < sizeof transitions / sizeof transitions[0]; i++) {
		int required = transitions[i].required;

		if (transitions[i].from == from && transitions[i].to == to)
			return (mask & required) == required &&
			       (mask & ~(ALWAYS | required | transitions[i].optional)) == 0;
	}
	return false;
}
