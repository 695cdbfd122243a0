/* What a device says of its MRC. */
#include "mrcapi/inside.h"

bool mrcapi_is_mrc(struct ibv_context *context)
{
	return verbs_is_ours(context) && verbs_opened(context)->transport == &transport_mrc;
}

static void fill_device(struct mrc_device_attr *attr, const struct config_setup *setup)
{
	*attr = (struct mrc_device_attr){
		.mrc_protocol_version = MRC_PROTOCOL_VERSION_1,
		.wimm_attr = {.max_wimm = MRCAPI_MAX_WIMM, .max_wimm_dest = MRCAPI_MAX_WIMM},
		.mpr_attr = {.max_mpr = MRC_MPR_MAX, .mpr_resolution = 1},
		.qp_attr = {.max_qp_hint = MRCAPI_MAX_HINTS},
		.cap = MRC_DEVICE_CAP_DYNAMIC_MPR | MRC_DEVICE_CAP_SVC_TIME,
	};
	if (setup->has_trim)
		attr->cap |= MRC_DEVICE_CAP_TRIM_NACK;
}

int mrc_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext,
			struct mrc_device_attr *attr, int *supported)
{
	struct nic_info info;

	if (!context || !attr || !supported || (mcontext && mcontext->verbs != context))
		return verbs_answer(-EINVAL);
	*supported = 0;
	if (!mrcapi_is_mrc(context))
		return 0;
	int error = nic_query(verbs_opened(context)->user, &info);

	if (error)
		return verbs_answer(error);
	fill_device(attr, &info.setup);
	*supported = 1;
	return 0;
}

/* What 1.0.1 tells of a device is what 1.0.0 told. */
int mrc_query_device(struct ibv_context *context, struct mrc_device_attr *attr, int *supported)
{
	return mrc_query_device_ex(context, NULL, attr, supported);
}
