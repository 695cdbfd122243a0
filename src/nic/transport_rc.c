/* RC as a device's transport. */
#include "nic/inside.h"
#include "nic/members.h"
#include "nic/plain.h"

#define WINDOW_OWN 16384u

/* A peer that is slow or silent shall not stop all the others. */
static void configure(const struct shard *s, struct transport_host *host)
{
	const uint64_t window = host->cc.window_bytes;

	(void)s;
	host->total_window_bytes = 2 * window;
	host->own_window_bytes = WINDOW_OWN < window ? WINDOW_OWN : window;
}

const struct nic_transport_ops nic_transport_rc = {
	.transport = &transport_rc,
	.configure = configure,
	.path_open = plain_path_open,
	.path_close = plain_path_close,
	.end = members_end,
	.govern = members_begin,
	.abandon = members_abandon,
	.show = members_show,
};
