/* MRC's queue pairs on the device: made, connected, asked how they fare. */
#include <errno.h>
#include <string.h>

#include "nic/mrc/inside.h"

#define BURST_BYTES 61440u /* payload that one call with offload takes at the least */
#define BURST_MOST  60u    /* packets that a device sends in one go */

/* One of the addresses that the device holds becomes that of a pair in the plane of a port: as
 * driver_local_address. An address that is only held is free for it. */
static int local_address(struct shard *s, const struct addr_pair *addrs, uint32_t port,
			 const struct nic_gid *gid)
{
	const struct sockaddr *address = (const struct sockaddr *)&gid->address;
	uint32_t *held = &s->held[gid - s->device->info.gids];
	int r = driver_local_address(s->io, addrs->local, port, address);

	if (r != -EINVAL || *held == DRIVER_NO_HANDLE || *held == addrs->local)
		return r;
	driver_unbind(s->io, *held);
	*held = DRIVER_NO_HANDLE;
	/* Questions may have it open, too; they open it again. */
	mrc_forget_ends(s->device);
	return driver_local_address(s->io, addrs->local, port, address);
}

static int check(const struct device *d)
{
	return device_check_for(d, &transport_mrc);
}

uint32_t mrc_most_evs(const struct device *d)
{
	uint32_t own = mrc_device_of(d)->evs->profile.set.n;

	return own > CONTROL_EVS ? own : CONTROL_EVS;
}

static int no_address(const struct device *d, int r, uint32_t port)
{
	return nic_fail(-r, "%s: no addresses of its own for port %u: %s", d->info.name, port,
			r == -ENOTSUP ? "this driver leaves that to the kernel's routes"
				      : strerror(-r));
}

/* Both ends' addresses in the planes of single ports. */
static int set_planes(struct shard *s, const struct nic_path *path, const struct addr_pair *addrs)
{
	const struct device *d = s->device;

	for (uint32_t port = 0; port < ENGINE_PORTS; port++) {
		const struct nic_plane *plane = &path->plane[port];

		if (!(path->planes >> port & 1))
			continue;
		struct sockaddr_storage to = gid_address(plane->dgid, d->info.ifindex);
		int r;
		const struct nic_gid *gid = gid_find(d, plane->gid_index, &r);

		if (!gid)
			return r;
		r = port < d->n_ports ? local_address(s, addrs, port, gid) : -EINVAL;
		if (!r)
			r = driver_peer_address(s->io, addrs->peer, port,
						(const struct sockaddr *)&to);
		if (r)
			return no_address(d, r, port);
	}
	return 0;
}

void mrc_path_close(struct nic_qp *qp, struct addr_pair *addrs)
{
	if (addrs->peer != DRIVER_NO_HANDLE)
		mrc_evs_lift(qp->shard, mrc_evs_of(qp), addrs->peer);
	addr_pair_close(qp->shard, addrs);
}

/* What the device cannot do, whatever the ends agreed on. */
static uint8_t flags_of(const struct device *d, uint8_t flags)
{
	if (d->info.setup.has_trim)
		return flags;
	return (uint8_t)((flags | MRC_NO_TRIM) & ~MRC_PEER_TRIM_NACK);
}

/* Packets in a row that take one EV. With segmentation offload those of one source port cost one
 * call to the kernel: a turn of the EVs is as long as the longest of them. Elsewhere a packet
 * costs the same whichever EV it takes. */
static uint16_t burst_of(const struct config_setup *s, uint16_t pmtu)
{
	if (s->ev_burst)
		return s->ev_burst;
	if (s->driver != CONFIG_UDP)
		return 1;
	return (uint16_t)(pmtu * BURST_MOST < BURST_BYTES ? BURST_MOST : BURST_BYTES / pmtu);
}

/* What data of a service level leaves as: by DSCPs of its own, or as that of the device does. */
static void put_classes(const struct config_setup *s, uint32_t sl, uint8_t tclass[ENGINE_CONTROL])
{
	for (uint32_t i = 0; i < ENGINE_CONTROL; i++)
		tclass[i] = s->sls >> sl & 1 ? (uint8_t)(ENGINE_DSCP + s->sl_dscp[sl][i]) : 0;
}

int mrc_path_open(struct nic_qp *qp, const struct nic_path *path, struct path_use use,
		  struct transport_path *to, struct addr_pair *addrs)
{
	struct shard *s = qp->shard;
	const struct config_setup *setup = &s->device->info.setup;
	const struct mrc_evs *evs = mrc_evs_of(qp);

	*addrs = NO_ADDR_PAIR;
	if (path->sl >= CONFIG_SLS)
		return nic_fail(EINVAL, "service level %u: there are 0 to %u", path->sl,
				CONFIG_SLS - 1);
	int r = addr_pair_open(s, path->gid_index, path->dgid, addrs);

	if (r)
		return r;
	r = set_planes(s, path, addrs);
	if (!r)
		r = mrc_evs_lay(s, evs, addrs->peer);
	if (!r)
		r = addr_pair_check(s, addrs, use.pmtu);
	if (r) {
		mrc_path_close(qp, addrs);
		return r;
	}
	*to = (struct transport_path){
		.local = addrs->local,
		.peer = addrs->peer,
		.evs = &evs->profile,
		.burst = burst_of(setup, use.pmtu),
	};
	put_classes(setup, path->sl, to->tclass);
	return 0;
}

/* Handles and EVs for a path into attr. */
static int find_path(struct nic_qp *qp, const struct nic_path *path, struct mrc_attr *attr,
		     uint32_t set, struct addr_pair *addrs)
{
	struct transport_path to = {.peer = DRIVER_NO_HANDLE};
	struct mrc_attr has;

	if (!path)
		return nic_fail(EINVAL, "no path was given");
	mrc_qp_query(qp->shard->engine, qp->number, &has, NULL, NULL);
	const struct path_use use = {set & MRC_SET_PMTU ? attr->pmtu : has.pmtu, qp->remote_qp};
	int r = mrc_path_open(qp, path, use, &to, addrs);

	if (r)
		return r;
	attr->local = to.local;
	attr->peer = to.peer;
	attr->evs = to.evs;
	attr->burst = to.burst;
	memcpy(attr->tclass, to.tclass, sizeof attr->tclass);
	return 0;
}

static int modify(struct nic_qp *qp, struct mrc_attr *attr, uint32_t set,
		  const struct nic_path *path)
{
	struct device *d = qp->user->device;
	nsec now = shard_catch_up(qp->shard);
	struct addr_pair addrs = NO_ADDR_PAIR;

	if (set & MRC_SET_CC)
		return nic_fail(EINVAL, "the congestion control of a queue pair is a profile's");
	int r = set & MRC_SET_PATH ? find_path(qp, path, attr, set, &addrs) : 0;

	if (r)
		return r;
	attr->flags = flags_of(d, attr->flags);
	const struct qp_setting setting = {
		.path = set & MRC_SET_PATH ? path : NULL,
		.addrs = addrs,
		.remote_qp = set & MRC_SET_REMOTE_QP ? &attr->remote_qp : NULL,
		.is_reset = set & MRC_SET_STATE && attr->state == MRC_RESET,
	};

	r = mrc_qp_modify(qp->shard->engine, now, qp->number, attr, set);
	if (!r && setting.is_reset)
		mrc_unname(qp);
	return qp_set(qp, &setting, r);
}

int nic_mrc_qp_modify(struct nic_qp *qp, const struct mrc_attr *attr, uint32_t set,
		      const struct nic_path *path)
{
	struct device *d = qp->user->device;
	struct mrc_attr want = *attr;
	int r = check(d);

	if (r)
		return r;
	device_enter(d);
	r = modify(qp, &want, set, path);
	device_leave(d);
	return r;
}

int nic_mrc_qp_query(struct nic_qp *qp, struct mrc_attr *attr, struct mrc_caps *caps,
		     bool *is_draining)
{
	struct device *d = qp->user->device;
	int r = check(d);

	if (r)
		return r;
	shard_enter(qp->shard);
	r = mrc_qp_query(qp->shard->engine, qp->number, attr, caps, is_draining);
	shard_leave(qp->shard);
	return r;
}
