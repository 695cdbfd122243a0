/* A transport of which the device knows nothing but its row. */
#include "nic/plain.h"

#include "nic/members.h"

static void configure(const struct shard *s, struct transport_host *host)
{
	(void)s;
	(void)host;
}

/* The driver chooses a source port by it: queue pairs spread over the paths there are. */
static uint32_t entropy(const struct nic_path *path, uint32_t local_qp, uint32_t remote_qp)
{
	if (path->flow_label)
		return path->flow_label;
	return (local_qp ^ remote_qp * UINT32_C(0x85ebca6b)) * UINT32_C(0x9e3779b1);
}

int plain_path_open(struct nic_qp *qp, const struct nic_path *path, struct path_use use,
		    struct transport_path *to, struct addr_pair *addrs)
{
	struct shard *s = qp->shard;
	int r = addr_pair_open(s, path->gid_index, path->dgid, addrs);

	if (!r)
		r = addr_pair_check(s, addrs, use.pmtu);
	if (r) {
		addr_pair_close(s, addrs);
		return r;
	}
	*to = (struct transport_path){
		.local = addrs->local,
		.peer = addrs->peer,
		.ev = entropy(path, qp->number, use.remote_qp),
	};
	return 0;
}

void plain_path_close(struct nic_qp *qp, struct addr_pair *addrs)
{
	addr_pair_close(qp->shard, addrs);
}

const struct nic_transport_ops nic_transport_plain = {
	.configure = configure,
	.path_open = plain_path_open,
	.path_close = plain_path_close,
	.end = members_end,
	.govern = members_begin,
	.abandon = members_abandon,
	.show = members_show,
};
