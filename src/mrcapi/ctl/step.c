/* The states of profiles, and the steps between them. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "mrcapi/ctl/ctl.h"

static_assert((int)MRC_CTL_PROFILE_INIT == CONTROL_INIT &&
		      (int)MRC_CTL_PROFILE_OFFLINE == CONTROL_OFFLINE &&
		      (int)MRC_CTL_PROFILE_ONLINE == CONTROL_ONLINE,
	      "one numbering of states");
static_assert((int)MRC_CTL_EV_FMT_PROFILE_STATE == MRC_CTL_EV_PROFILE_STATE &&
		      (int)MRC_CTL_CC_PROFILE_STATE == MRC_CTL_EV_PROFILE_STATE &&
		      (int)MRC_CTL_EV_FMT_PROFILE_CUR_STATE == MRC_CTL_EV_PROFILE_CUR_STATE &&
		      (int)MRC_CTL_CC_PROFILE_CUR_STATE == MRC_CTL_EV_PROFILE_CUR_STATE &&
		      (int)MRC_CTL_EV_FMT_VENDOR_CFG == MRC_CTL_EV_PROFILE_VENDOR_CFG &&
		      (int)MRC_CTL_CC_PROFILE_VENDOR_CFG == MRC_CTL_EV_PROFILE_VENDOR_CFG,
	      "one numbering of masks");

/* There is nothing of a vendor's own here, so that anything but zeros would be ignored. */
static bool is_all_zero(const uint8_t vendor[MRC_CTL_MAX_VENDOR_CFG_SIZE])
{
	static const uint8_t zeros[MRC_CTL_MAX_VENDOR_CFG_SIZE];

	return memcmp(vendor, zeros, sizeof zeros) == 0;
}

int ctl_read_step(const struct ctl_wish *w, enum control_phase from, enum control_phase *to)
{
	*to = from;
	if (w->mask & ~w->known)
		return -EINVAL;
	if (w->mask & MRC_CTL_EV_PROFILE_CUR_STATE && (uint32_t)w->current != (uint32_t)from)
		return -EINVAL;
	if (w->mask & MRC_CTL_EV_PROFILE_STATE) {
		if ((uint32_t)w->state > CONTROL_ONLINE)
			return -EINVAL;
		*to = (enum control_phase)w->state;
	}
	if (*to > from + 1 || from > *to + 1)
		return -EINVAL;
	/* In INIT there is nothing that could have attributes. */
	if (from == CONTROL_INIT && *to == CONTROL_INIT && w->mask & ~CTL_STATES)
		return -EINVAL;
	return w->mask & MRC_CTL_EV_PROFILE_VENDOR_CFG && !is_all_zero(w->vendor) ? -EINVAL : 0;
}
