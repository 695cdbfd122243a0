/* The lists of what a context has made. */
#include "verbs/inside.h"

uint32_t verbs_join(struct ibv_context *context, enum verbs_kind kind, struct verbs_link *link)
{
	struct verbs_opened *opened = verbs_opened(context);

	pthread_mutex_lock(&opened->lock);
	struct verbs_link **first = &opened->objects[kind];

	link->next = *first;
	link->back = first;
	if (link->next)
		link->next->back = &link->next;
	*first = link;
	uint32_t handle = opened->n_handles++;

	pthread_mutex_unlock(&opened->lock);
	return handle;
}

void verbs_leave(struct ibv_context *context, struct verbs_link *link)
{
	struct verbs_opened *opened = verbs_opened(context);

	pthread_mutex_lock(&opened->lock);
	*link->back = link->next;
	if (link->next)
		link->next->back = link->back;
	pthread_mutex_unlock(&opened->lock);
}
