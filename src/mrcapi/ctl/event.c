/* Queues of what happens to entropy values. */
#include "mrcapi/ctl/inside.h"

#include "mrcapi/ctl/map.h"

#define BATCH 16

struct mrc_cq *mrc_ctl_create_ev_event_cq(struct mrc_context *context, int cqe, void *cq_context,
					  struct mrc_comp_channel *channel, int comp_vector)
{
	const struct mrcapi_queue_spec spec = {
		.cqe = cqe,
		.comp_vector = comp_vector,
		.cq_context = cq_context,
		.channel = channel,
		.is_of_events = true,
		.make = nic_mrc_event_cq_new,
	};
	int error = ctl_check(context);

	return error ? verbs_null(-error) : mrcapi_queue_new(context, &spec);
}

int mrc_ctl_poll_ev_event(struct mrc_cq *ev_cq, int num_entries, struct mrc_ctl_ev_event *ev_event)
{
	struct control_event events[BATCH];
	uint8_t *to = (uint8_t *)ev_event;
	int taken = 0;

	if (!ev_cq)
		return -EINVAL;
	int error = ctl_check(ev_cq->context);

	if (error)
		return error;
	if (!ev_cq->is_of_events || num_entries < 0 || (num_entries > 0 && !ev_event))
		return -EINVAL;
	size_t len = ctl_event_bytes(ev_cq->context->version);

	while (taken < num_entries) {
		int left = num_entries - taken, most = left < BATCH ? left : BATCH;
		int got = nic_mrc_event_poll(ev_cq->nic, events, most);

		/* What was taken comes first; the error will still be there. */
		if (got < 0)
			return taken ? taken : got;
		for (int i = 0; i < got; i++, to += len)
			ctl_fill_event(to, len, &events[i]);
		taken += got;
		if (got < most)
			break;
	}
	return taken;
}
