/* Which attributes mrc_modify_qp must and may be given for each change of state.
 *
 * Of the verbs' attributes (IBTA table 91) those that MRC has no use for are taken where a reliable
 * connection takes them, and never required. Those of MRC are taken wherever they can still take
 * effect: what a requester sends by at any time, what both ends agree on until there is a responder
 * (RTR), and the profiles until the first address is given. */
#include "mrcapi/inside.h"

#define ALWAYS IBV_QP_STATE

/* The second part comes with RC's masks, and means nothing here. */
#define TO_INIT (IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define TO_RTR  (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define WITH_RTR \
	(IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define WITH_RTS  (IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER)
#define REQUESTER (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define WITH_SQD                                                                         \
	(IBV_QP_PORT | IBV_QP_AV | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | REQUESTER | \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

/* Of MRC. Whether the responder's range may change while packets flow depends on what the ends
 * agreed on (7.5.4); that of the requester is the peer's to change. */
#define AT_WORK                                                                            \
	((unsigned)MRC_QP_MAX_WIMM | MRC_QP_MPR_DEST | MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT | \
	 MRC_QP_HINT | (unsigned)MRC_QP_VENDOR_CFG)
#define STARTING (AT_WORK | MRC_QP_MPR)
#define AGREED   (STARTING | MRC_QP_MAX_WIMM_DEST | MRC_QP_CAP)
#define PROFILES (AGREED | MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID)

static const struct {
	uint8_t from, to;
	int required, optional;
	unsigned mrc;
} steps[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, 0, TO_INIT, PROFILES},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, TO_INIT, PROFILES},
	{IBV_QPS_INIT, IBV_QPS_RTR, TO_RTR, WITH_RTR, AGREED},
	{IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, WITH_RTS | REQUESTER, STARTING},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, WITH_RTS, AT_WORK},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY, 0},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0, WITH_RTS, AT_WORK},
	{IBV_QPS_SQD, IBV_QPS_SQD, 0, WITH_SQD, AT_WORK},
};

bool mrcapi_may_modify(enum ibv_qp_state from, enum ibv_qp_state to, int vmask, int mmask)
{
	/* Every state can be left this way, and with nothing else. */
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return (vmask & ~(ALWAYS | IBV_QP_CUR_STATE)) == 0 && mmask == 0;
	/* A responder changes its range in RTR too (7.5.4), which is no step. */
	if (from == IBV_QPS_RTR && to == IBV_QPS_RTR)
		return vmask == 0 && mmask == MRC_QP_MPR_DEST;
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		int required = steps[i].required;

		if (steps[i].from == from && steps[i].to == to)
			return (vmask & required) == required &&
			       (vmask & ~(ALWAYS | required | steps[i].optional)) == 0 &&
			       ((unsigned)mmask & ~steps[i].mrc) == 0;
	}
	return false;
}
