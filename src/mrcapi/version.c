/* The versions of the interface that this library serves. */
#include "mrcapi/inside.h"

void mrc_query_version(uint32_t *current_version, uint32_t *last_supported_version,
		       uint32_t *vendor_version, uint32_t *last_supported_vendor_version)
{
	if (current_version)
		*current_version = MRC_API_CURRENT_VERSION;
	if (last_supported_version)
		*last_supported_version = MRC_API_LAST_SUPPORTED_VERSION;
	if (vendor_version)
		*vendor_version = MRC_VENDOR_API_CURRENT_VERSION;
	if (last_supported_vendor_version)
		*last_supported_vendor_version = MRC_VENDOR_API_LAST_SUPPORTED_VERSION;
}
