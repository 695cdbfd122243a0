/* Queue pairs whose attributes are set one by one, as the verbs have it. */
#include <errno.h>

#include "nic/inside.h"

/* Handles and entropy for a path into attr. */
static int find_path(struct nic_qp *qp, const struct nic_path *path, struct engine_attr *attr,
		     uint32_t set, struct addr_pair *addrs)
{
	struct device *d = qp->user->device;
	struct path_use use = {attr->pmtu, attr->remote_qp};
	struct transport_path to = {.peer = DRIVER_NO_HANDLE};
	struct engine_attr has;

	if (!path)
		return nic_fail(EINVAL, "no path was given");
	d->transport->verbs->query(qp->shard->engine, qp->number, &has, NULL);
	if (!(set & ENGINE_SET_PMTU))
		use.pmtu = has.pmtu;
	if (!(set & ENGINE_SET_REMOTE_QP))
		use.remote_qp = qp->remote_qp;
	int r = d->ops->path_open(qp, path, use, &to, addrs);

	if (r)
		return r;
	attr->local = to.local;
	attr->peer = to.peer;
	attr->port = to.port;
	attr->ev = to.ev;
	return 0;
}

static int modify(struct nic_qp *qp, struct engine_attr *attr, uint32_t set,
		  const struct nic_path *path)
{
	struct device *d = qp->user->device;
	nsec now = shard_catch_up(qp->shard);
	struct addr_pair addrs = NO_ADDR_PAIR;
	int r = set & ENGINE_SET_PATH ? find_path(qp, path, attr, set, &addrs) : 0;

	if (r)
		return r;
	const struct qp_setting setting = {
		.path = set & ENGINE_SET_PATH ? path : NULL,
		.addrs = addrs,
		.remote_qp = set & ENGINE_SET_REMOTE_QP ? &attr->remote_qp : NULL,
		.is_reset = set & ENGINE_SET_STATE && attr->state == ENGINE_RESET,
	};

	r = d->transport->verbs->modify(qp->shard->engine, now, qp->number, attr, set);
	return qp_set(qp, &setting, r);
}

int nic_qp_modify(struct nic_qp *qp, const struct engine_attr *attr, uint32_t set,
		  const struct nic_path *path)
{
	struct device *d = qp->user->device;
	struct engine_attr want = *attr;
	int r = device_check_verbs(d);

	if (r)
		return r;
	device_enter(d);
	r = modify(qp, &want, set, path);
	device_leave(d);
	return r;
}

int nic_qp_query(struct nic_qp *qp, struct engine_attr *attr, struct nic_path *path,
		 bool *is_draining)
{
	struct device *d = qp->user->device;
	int r = device_check_verbs(d);

	if (r)
		return r;
	shard_enter(qp->shard);
	r = d->transport->verbs->query(qp->shard->engine, qp->number, attr, is_draining);
	if (path)
		*path = qp->path;
	shard_leave(qp->shard);
	return r;
}
