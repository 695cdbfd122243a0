/* Contexts: one more user of a device that the verbs have opened. */
#include <stdlib.h>

#include "mrcapi/inside.h"

/* Whether there is such a version; *used becomes the one that a program is served by. The oldest is
 * 0, which is also that of a program that says nothing, or uses nothing of a vendor. */
static bool serve(uint32_t *used, uint32_t current)
{
	if (*used == MRC_API_VER_LATEST)
		*used = current;
	return *used <= current;
}

static int check_context(struct ibv_context *verbs)
{
	if (!verbs)
		return EINVAL;
	if (!verbs_is_ours(verbs))
		return -nic_fail(EOPNOTSUPP, "libmrc was given a device of another library: link "
					     "-lmrc before -libverbs, or preload it");
	if (!mrcapi_is_mrc(verbs))
		return -nic_fail(EOPNOTSUPP, "%s does no MRC: open a device whose transport is mrc",
				 verbs->device->name);
	return 0;
}

/* 0 or an errno value. */
static int open_user(struct mrc_context *context)
{
	struct verbs_opened *opened = verbs_opened(context->verbs);
	struct nic_info info;
	int error = nic_query(opened->user, &info);

	if (error)
		return -error;
	context->user = nic_open(&info);
	if (!context->user)
		return errno;
	__atomic_fetch_add(&opened->n_above, 1, __ATOMIC_RELAXED);
	return 0;
}

struct mrc_context *mrc_create_context(struct ibv_context *vcontext,
				       struct mrc_context_attr *context_attr)
{
	struct mrc_context_attr used = {MRC_API_VER_LATEST, MRC_API_VER_LATEST};
	int error = check_context(vcontext);

	if (error)
		return verbs_null(error);
	if (context_attr)
		used = *context_attr;
	if (!serve(&used.mrc_api_version_used, MRC_API_CURRENT_VERSION) ||
	    !serve(&used.mrc_vendor_api_version_used, MRC_VENDOR_API_CURRENT_VERSION))
		return verbs_null(EINVAL);
	struct mrc_context *context = calloc(1, sizeof *context);

	if (!context)
		return verbs_null(ENOMEM);
	context->verbs = vcontext;
	context->version = used.mrc_api_version_used;
	context->vendor_version = used.mrc_vendor_api_version_used;
	error = open_user(context);
	if (error) {
		free(context);
		return verbs_null(error);
	}
	pthread_mutex_init(&context->lock, NULL);
	return context;
}

int mrc_destroy_context(struct mrc_context *context)
{
	if (!context)
		return verbs_minus_one(EINVAL);
	mrcapi_destroy_all(context);
	int error = nic_close(context->user);

	if (error)
		return verbs_minus_one(-error);
	__atomic_fetch_sub(&verbs_opened(context->verbs)->n_above, 1, __ATOMIC_RELAXED);
	pthread_mutex_destroy(&context->lock);
	free(context);
	return 0;
}
