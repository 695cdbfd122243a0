/* What a device lets a controller do. */
#include "mrcapi/ctl/inside.h"

static const char *algorithms[] = {CTL_NSCC, NULL};

static void fill(struct mrc_ctl_device_attr *attr, const struct ctl_device *d, uint32_t n_free)
{
	*attr = (struct mrc_ctl_device_attr){
		.mrc_ctl_protocol_version = MRC_CTL_PROTOCOL_VERSION_1,
		.ev =
			{
				.ev_max_fmt_profiles = CONTROL_PROFILES,
				.ev_max_profiles = CONTROL_PROFILES,
				.ev_max_count = CONTROL_EVS_ALL,
				.ev_free_count = n_free,
				.ev_max_count_profile = CONTROL_EVS,
				.ev_count_align = 1,
				.ev_max_width = d->has_segments ? 256 : 32,
				.ev_fmt_mode_mask =
					MRC_CTL_EV_FMT_MODE_STEV | MRC_CTL_EV_FMT_MODE_UDP,
				.ev_mode_mask = MRC_CTL_EV_MODE_AUTO | MRC_CTL_EV_MODE_EXP |
						MRC_CTL_EV_MODE_GEN,
			},
		.cc = {.cc_max_profiles = CONTROL_PROFILES, .algorithms = algorithms},
		.phy_port_mask = ((1u << d->n_ports) - 1) << 1,
		.opt_attr = MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE |
			    MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE | MRC_CTL_OPT_CAP_EV_EVENT |
			    MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT |
			    MRC_CTL_OPT_CAP_EP_OP_EV_PROBE,
	};
	if (d->has_segments)
		attr->ev.ev_fmt_mode_mask |= MRC_CTL_EV_FMT_MODE_SRV6;
}

int mrc_ctl_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext,
			    struct mrc_ctl_device_attr *ctl_attr, int *supported)
{
	struct ctl_place place;
	uint32_t n_free = 0;

	if (!context || !ctl_attr || !supported || (mcontext && mcontext->verbs != context))
		return verbs_minus_one(EINVAL);
	*supported = 0;
	if (!mrcapi_is_mrc(context))
		return 0;
	int error = ctl_find_place(verbs_opened(context)->user, &place);

	if (!error)
		error = ctl_with_sentence(ctl_place_free(&place, &n_free), &place);
	if (error)
		return ctl_answer(error);
	fill(ctl_attr, &place.device, n_free);
	*supported = 1;
	return 0;
}

int mrc_ctl_query_device(struct ibv_context *context, struct mrc_ctl_device_attr *ctl_attr)
{
	int supported = 0, error = mrc_ctl_query_device_ex(context, NULL, ctl_attr, &supported);

	return error || supported ? error : verbs_minus_one(EOPNOTSUPP);
}

void mrc_ctl_query_version(uint32_t *current_version, uint32_t *last_supported_version,
			   uint32_t *vendor_version, uint32_t *last_supported_vendor_version)
{
	if (current_version)
		*current_version = MRC_CTL_API_CURRENT_VERSION;
	if (last_supported_version)
		*last_supported_version = MRC_CTL_API_LAST_SUPPORTED_VERSION;
	if (vendor_version)
		*vendor_version = MRC_CTL_VENDOR_API_CURRENT_VERSION;
	if (last_supported_vendor_version)
		*last_supported_vendor_version = MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION;
}
