/* MRC's queue pairs on the device: made, connected, asked how they fare. */
#include <errno.h>
#include <string.h>

#include "nic/mrc_inside.h"

#define MPR_DEFAULT  32u /* 4096 packets: a window of 1 MiB at the smallest PMTU */
#define WIMM_DEFAULT 512u
#define BURST_BYTES  61440u /* payload that one call with offload takes at the least */
#define BURST_MOST   60u    /* packets that a device sends in one go */
#define TIMEOUT_CODE 16u    /* 67 ms, as long as a busy machine may make a packet wait */
#define LINEAR       4u
#define EXPONENTIAL  5u /* all in all 4.5 s */

static int check(const struct device *d)
{
	return device_check_for(d, &transport_mrc);
}

uint32_t mrc_most_evs(const struct device *d)
{
	return d->evs->set.n > CONTROL_EVS ? d->evs->set.n : CONTROL_EVS;
}

static int grant(const struct nic_user *u, struct nic_mrc_spec *spec, struct nic_qp_spec *common,
		 struct mrc_caps *caps)
{
	*common = (struct nic_qp_spec){
		.pd = spec->pd,
		.send_cq = spec->send_cq,
		.recv_cq = spec->recv_cq,
		.max_send = spec->max_send,
		.max_recv = spec->max_recv,
		.max_send_sge = spec->max_send_sge,
		.max_inline = spec->max_inline,
		.is_all_signaled = spec->is_all_signaled,
		.context = spec->context,
	};
	int r = qp_grant(u, common);

	if (r)
		return r;
	spec->max_send = common->max_send;
	spec->max_send_sge = common->max_send_sge;
	if (!spec->max_mpr)
		spec->max_mpr = MPR_DEFAULT;
	if (!spec->max_wimm)
		spec->max_wimm =
			(uint16_t)(spec->max_recv < WIMM_DEFAULT ? spec->max_recv : WIMM_DEFAULT);
	*caps = (struct mrc_caps){
		.max_send = spec->max_send,
		.max_recv = spec->max_recv,
		.max_send_sge = spec->max_send_sge,
		.pd = spec->pd->number,
		.max_mpr = spec->max_mpr,
		.max_wimm = spec->max_wimm,
		.max_evs = (uint16_t)mrc_most_evs(u->device),
	};
	if (mrc_qp_size(caps))
		return 0;
	return nic_fail(EINVAL,
			"a queue pair of %u sends (%u pieces), %u receives, a range of %u and %u "
			"pieces of immediate data ahead of a gap: at most %u, %u, %u, %u and %u",
			spec->max_send, spec->max_send_sge, spec->max_recv, spec->max_mpr,
			spec->max_wimm, MRC_WR_MAX, ENGINE_SGE, MRC_WR_MAX, MRC_MPR_MAX,
			MRC_WIMM_MAX);
}

struct nic_qp *nic_mrc_qp_new(struct nic_user *u, struct nic_mrc_spec *spec)
{
	struct nic_qp_spec common;
	struct mrc_caps caps;
	int r = check(u->device);

	if (!r)
		r = grant(u, spec, &common, &caps);
	if (!r)
		return qp_new(u, &common, &caps, mrc_qp_size(&caps));
	errno = -r;
	return NULL;
}

static int no_address(const struct device *d, int r, uint32_t port)
{
	return nic_fail(-r, "%s: no addresses of its own for port %u: %s", d->info.name, port,
			r == -ENOTSUP ? "this driver leaves that to the kernel's routes"
				      : strerror(-r));
}

/* Both ends' addresses in the planes of single ports. */
static int set_planes(struct device *d, const struct nic_mrc_path *path,
		      const struct addr_pair *addrs)
{
	for (uint32_t port = 0; port < ENGINE_PORTS; port++) {
		const struct nic_mrc_plane *plane = &path->plane[port];

		if (!(path->planes >> port & 1))
			continue;
		struct sockaddr_storage to = gid_address(plane->dgid, d->info.ifindex);
		int r;
		const struct nic_gid *gid = gid_find(d, plane->gid_index, &r);

		if (!gid)
			return r;
		r = port < d->n_ports ? addr_pair_local_address(d, addrs, port, gid) : -EINVAL;
		if (!r)
			r = driver_peer_address(d->io, addrs->peer, port,
						(const struct sockaddr *)&to);
		if (r)
			return no_address(d, r, port);
	}
	return 0;
}

/* Closes addresses that are not the queue pair's, or no longer. */
static void close_addrs(struct nic_qp *qp, struct addr_pair *addrs)
{
	struct device *d = qp->user->device;

	if (addrs->peer != DRIVER_NO_HANDLE)
		mrc_evs_lift(d, mrc_evs_of(qp), addrs->peer);
	addr_pair_close(d, addrs);
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
static uint16_t burst_of(const struct nic_setup *s, uint16_t pmtu)
{
	if (s->ev_burst)
		return s->ev_burst;
	if (s->driver != NIC_UDP)
		return 1;
	return (uint16_t)(pmtu * BURST_MOST < BURST_BYTES ? BURST_MOST : BURST_BYTES / pmtu);
}

/* What data of a service level leaves as: by DSCPs of its own, or as that of the device does. */
static void put_classes(const struct nic_setup *s, uint32_t sl, uint8_t tclass[ENGINE_CONTROL])
{
	for (uint32_t i = 0; i < ENGINE_CONTROL; i++)
		tclass[i] = s->sls >> sl & 1 ? (uint8_t)(ENGINE_DSCP + s->sl_dscp[sl][i]) : 0;
}

/* Handles and EVs for a path into attr. */
static int addr_pair_find(struct nic_qp *qp, const struct nic_mrc_path *path, struct mrc_attr *attr,
			  uint32_t set, struct addr_pair *addrs)
{
	struct device *d = qp->user->device;
	const struct mrc_evs *evs = mrc_evs_of(qp);
	struct mrc_attr has;

	if (!path)
		return nic_fail(EINVAL, "no path was given");
	if (path->sl >= NIC_SLS)
		return nic_fail(EINVAL, "service level %u: there are 0 to %u", path->sl,
				NIC_SLS - 1);
	int r = addr_pair_open(d, path->gid_index, path->dgid, addrs);

	if (r)
		return r;
	mrc_qp_query(d->engine, qp->number, &has, NULL, NULL);
	const uint16_t pmtu = set & MRC_SET_PMTU ? attr->pmtu : has.pmtu;

	r = set_planes(d, path, addrs);
	if (!r)
		r = mrc_evs_lay(d, evs, addrs->peer);
	if (!r)
		r = addr_pair_check(d, addrs, pmtu);
	if (r) {
		close_addrs(qp, addrs);
		return r;
	}
	attr->local = addrs->local;
	attr->peer = addrs->peer;
	attr->evs = &evs->profile;
	attr->burst = burst_of(&d->info.setup, pmtu);
	put_classes(&d->info.setup, path->sl, attr->tclass);
	return 0;
}

static int modify(struct nic_qp *qp, struct mrc_attr *attr, uint32_t set,
		  const struct nic_mrc_path *path)
{
	struct device *d = qp->user->device;
	nsec now = device_catch_up(d);
	struct addr_pair addrs = NO_ADDR_PAIR;

	if (set & MRC_SET_CC)
		return nic_fail(EINVAL, "the congestion control of a queue pair is a profile's");
	int r = set & MRC_SET_PATH ? addr_pair_find(qp, path, attr, set, &addrs) : 0;

	if (r)
		return r;
	attr->flags = flags_of(d, attr->flags);
	r = mrc_qp_modify(d->engine, now, qp->number, attr, set);
	if (r) {
		close_addrs(qp, &addrs);
		return nic_fail(-r, "queue pair %#x does not take these attributes: %s", qp->number,
				strerror(-r));
	}
	if (set & MRC_SET_PATH) {
		struct addr_pair before = qp->addrs;

		qp->addrs = addrs;
		close_addrs(qp, &before);
		memcpy(qp->path.dgid, path->dgid, sizeof qp->path.dgid);
	}
	if (set & MRC_SET_REMOTE_QP)
		qp->remote_qp = attr->remote_qp;
	if (set & MRC_SET_STATE && attr->state == MRC_RESET) {
		qp->life = ++d->last_life;
		mrc_unname(qp);
	}
	device_changed(d);
	device_flush(d);
	return 0;
}

int nic_mrc_qp_modify(struct nic_qp *qp, const struct mrc_attr *attr, uint32_t set,
		      const struct nic_mrc_path *path)
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
	device_enter(d);
	r = mrc_qp_query(d->engine, qp->number, attr, caps, is_draining);
	device_leave(d);
	return r;
}

int nic_mrc_qp_end(struct nic_qp *qp, struct nic_mrc_end *end)
{
	struct device *d = qp->user->device;
	struct mrc_caps caps;
	int r = check(d);

	if (r)
		return r;
	device_enter(d);
	r = mrc_qp_query(d->engine, qp->number, NULL, &caps, NULL);
	*end = (struct nic_mrc_end){
		.number = qp->number,
		.psn = keystream_u32(&d->random) % MRC_NUMBERS,
		.mpr = caps.max_mpr,
		.wimm = caps.max_wimm,
		.caps = (uint8_t)(MRC_PEER_SERVICE_TIME |
				  (d->info.setup.has_trim ? MRC_PEER_TRIM_NACK : 0)),
	};
	device_leave(d);
	return r;
}

/* What the peer does as a responder is agreed on for each connection and direction (Table 10-1); to
 * one that answers no trimmed packets none that may be trimmed are sent (7.5.3). */
static uint8_t agreed(uint8_t caps)
{
	const uint8_t known = MRC_PEER_TRIM_NACK | MRC_PEER_SERVICE_TIME;

	return (uint8_t)((caps & known) | (caps & MRC_PEER_TRIM_NACK ? 0 : MRC_NO_TRIM));
}

int nic_mrc_qp_connect(struct nic_qp *qp, const struct nic_mrc_link *link)
{
	struct mrc_attr attr = {
		.state = MRC_INIT,
		.access = link->access,
		.pmtu = link->pmtu,
		.remote_qp = link->theirs.number,
		.rq_psn = link->theirs.psn,
		.sq_psn = link->mine.psn,
		.timeout = TIMEOUT_CODE,
		.linear_retries = LINEAR,
		.exp_retries = EXPONENTIAL,
		.mpr = link->mine.mpr,
		.mpr_dest = link->theirs.mpr,
		.wimm_dest = link->theirs.wimm,
		.flags = agreed(link->theirs.caps),
	};
	int r = nic_mrc_qp_modify(qp, &attr, MRC_SET_STATE | MRC_SET_ACCESS, NULL);

	attr.state = MRC_RTR;
	if (!r)
		r = nic_mrc_qp_modify(qp, &attr,
				      MRC_SET_STATE | MRC_SET_PMTU | MRC_SET_PATH |
					      MRC_SET_REMOTE_QP | MRC_SET_RQ_PSN | MRC_SET_MPR |
					      MRC_SET_FLAGS,
				      &link->path);
	attr.state = MRC_RTS;
	if (!r)
		r = nic_mrc_qp_modify(qp, &attr,
				      MRC_SET_STATE | MRC_SET_SQ_PSN | MRC_SET_MPR_DEST |
					      MRC_SET_WIMM_DEST | MRC_SET_TIMEOUT | MRC_SET_RETRIES,
				      NULL);
	return r;
}

int nic_mrc_qp_progress(struct nic_qp *qp, struct mrc_progress *progress)
{
	struct device *d = qp->user->device;
	int r = check(d);

	if (r)
		return r;
	device_enter(d);
	r = mrc_qp_progress(d->engine, qp->number, progress);
	device_leave(d);
	return r;
}

void nic_mrc_counters(struct nic_user *u, struct mrc_counters *mrc, struct driver_counters *io)
{
	struct device *d = u->device;

	if (check(d))
		return;
	device_enter(d);
	if (mrc)
		*mrc = *mrc_counters(d->engine);
	if (io)
		*io = d->io->count;
	device_leave(d);
}
