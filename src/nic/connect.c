/* Two queue pairs become a connection, whatever their transport. */
#include <errno.h>
#include <string.h>

#include "nic/inside.h"

int nic_qp_end(struct nic_qp *qp, struct transport_end *end)
{
	struct device *d = qp->user->device;
	int r = device_check(d);

	if (r)
		return r;
	device_enter(d);
	const struct transport_self self = {
		.number = qp->number,
		.psn = keystream_u32(&d->random),
		.does = d->ops->does ? d->ops->does(d) : 0,
		.caps = &qp->caps,
	};

	d->transport->pairs->tell(&self, end);
	device_leave(d);
	return 0;
}

static void take_path(struct nic_qp *qp, const struct nic_path *path, struct addr_pair addrs)
{
	struct addr_pair before = qp->addrs;

	qp->addrs = addrs;
	qp->path = *path;
	qp->user->device->ops->path_close(qp, &before);
}

int qp_set(struct nic_qp *qp, const struct qp_setting *setting, int r)
{
	struct device *d = qp->user->device;
	struct addr_pair addrs = setting->addrs;

	if (r) {
		d->ops->path_close(qp, &addrs);
		return nic_fail(-r, "queue pair %#x does not take these attributes: %s", qp->number,
				strerror(-r));
	}
	if (setting->path)
		take_path(qp, setting->path, addrs);
	if (setting->remote_qp)
		qp->remote_qp = *setting->remote_qp;
	if (setting->is_reset)
		qp->life = ++d->last_life;
	device_changed(d);
	shard_flush(qp->shard);
	return 0;
}

static int join(struct nic_qp *qp, const struct nic_link *link)
{
	struct device *d = qp->user->device;
	const struct transport_pair_ops *pairs = d->transport->pairs;
	struct shard *s = qp->shard;
	nsec now = shard_catch_up(s);
	const struct path_use use = {link->pmtu, transport_end_number(&link->theirs)};
	struct transport_link as = {
		.mine = link->mine,
		.theirs = link->theirs,
		.pmtu = link->pmtu,
		.access = link->access,
		.manner = {.trim = d->info.setup.has_trim ? TRANSPORT_TRIM_ANSWERED
							  : TRANSPORT_TRIM_NEVER},
	};
	struct addr_pair addrs;

	if (qp_state(qp) != ENGINE_RESET)
		return nic_fail(EINVAL, "queue pair %#x is in use: reset it first", qp->number);
	int r = d->ops->path_open(qp, &link->path, use, &as.path, &addrs);

	if (r)
		return r;
	r = pairs->connect(s->engine, now, qp->number, &as);
	if (r) {
		pairs->stop(s->engine, now, qp->number, ENGINE_RESET);
		d->ops->path_close(qp, &addrs);
		return nic_fail(-r, "queue pair %#x cannot be connected: %s", qp->number,
				r == -EPROTO ? "what its peer told makes no sense" : strerror(-r));
	}
	const struct qp_setting setting = {
		.path = &link->path, .addrs = addrs, .remote_qp = &use.remote_qp};

	return qp_set(qp, &setting, 0);
}

int nic_qp_connect(struct nic_qp *qp, const struct nic_link *link)
{
	struct device *d = qp->user->device;
	int r = device_check(d);

	if (r)
		return r;
	device_enter(d);
	r = join(qp, link);
	device_leave(d);
	return r;
}

int nic_qp_progress(struct nic_qp *qp, struct transport_progress *progress)
{
	struct device *d = qp->user->device;
	int r = device_check(d);

	if (r)
		return r;
	shard_enter(qp->shard);
	r = d->transport->pairs->progress(qp->shard->engine, qp->number, progress);
	shard_leave(qp->shard);
	return r;
}
