/* RC as a device's transport. */
#include <errno.h>
#include <string.h>

#include "nic/inside.h"
#include "nic/members.h"
#include "nic/plain.h"

#define WINDOW_OWN 16384u

/* A peer that is slow or silent shall not stop all the others. */
static int configure(struct device *d, struct transport_host *host)
{
	const uint64_t window = host->cc.window_bytes;

	(void)d;
	host->total_window_bytes = 2 * window;
	host->own_window_bytes = WINDOW_OWN < window ? WINDOW_OWN : window;
	return 0;
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

/* Handles and entropy for a path into attr. */
static int find_path(struct nic_qp *qp, const struct nic_path *path, struct engine_attr *attr,
		     uint32_t set, struct addr_pair *addrs)
{
	struct path_use use = {attr->pmtu, attr->remote_qp};
	struct transport_path to = {.peer = DRIVER_NO_HANDLE};
	struct engine_attr has;

	if (!path)
		return nic_fail(EINVAL, "no path was given");
	rc_qp_query(qp->user->device->engine, qp->number, &has, NULL, NULL);
	if (!(set & ENGINE_SET_PMTU))
		use.pmtu = has.pmtu;
	if (!(set & ENGINE_SET_REMOTE_QP))
		use.remote_qp = qp->remote_qp;
	int r = plain_path_open(qp, path, use, &to, addrs);

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
	nsec now = device_catch_up(d);
	struct addr_pair addrs = NO_ADDR_PAIR;
	int r = set & ENGINE_SET_PATH ? find_path(qp, path, attr, set, &addrs) : 0;

	if (r)
		return r;
	r = rc_qp_modify(d->engine, now, qp->number, attr, set);
	if (r) {
		addr_pair_close(d, &addrs);
		return nic_fail(-r, "queue pair %#x does not take these attributes: %s", qp->number,
				strerror(-r));
	}
	if (set & ENGINE_SET_PATH)
		qp_take_path(qp, path, addrs);
	if (set & ENGINE_SET_REMOTE_QP)
		qp->remote_qp = attr->remote_qp;
	if (set & ENGINE_SET_STATE && attr->state == ENGINE_RESET)
		qp->life = ++d->last_life;
	device_changed(d);
	device_flush(d);
	return 0;
}

int nic_qp_modify(struct nic_qp *qp, const struct engine_attr *attr, uint32_t set,
		  const struct nic_path *path)
{
	struct device *d = qp->user->device;
	struct engine_attr want = *attr;
	int r = device_check_for(d, &transport_rc);

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
	int r = device_check_for(d, &transport_rc);

	if (r)
		return r;
	device_enter(d);
	r = rc_qp_query(d->engine, qp->number, attr, NULL, is_draining);
	if (path)
		*path = qp->path;
	device_leave(d);
	return r;
}
