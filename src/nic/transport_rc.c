/* RC as a device's transport: its engine's configuration, and its queue pairs. */
#include <errno.h>
#include <string.h>

#include "nic/inside.h"
#include "nic/rc_show.h"

static int configure(struct device *d, union transport_cfg *cfg)
{
	cfg->rc = (struct rc_cfg){
		.mem = d->mem,
		.max_qps = NIC_MAX_QPS,
		.max_srqs = NIC_MAX_SRQS,
		.n_ports = d->n_ports,
	};
	device_configure(&d->info.setup, &cfg->rc);
	return 0;
}

static int make(struct engine *e, uint32_t number, const void *caps, void *memory)
{
	return rc_qp_new(e, number, caps, memory);
}

static enum qp_phase phase(const struct engine *e, uint32_t number)
{
	struct rc_attr is;

	rc_qp_query(e, number, &is, NULL, NULL);
	return is.state == RC_RESET ? QP_RESET : is.state == RC_ERROR ? QP_ERROR : QP_AT_WORK;
}

static void fail(struct engine *e, nsec now, uint32_t number)
{
	const struct rc_attr error = {.state = RC_ERROR};

	rc_qp_modify(e, now, number, &error, RC_SET_STATE);
}

static void raise_event(struct device *d, const struct rc_event *event)
{
	static const uint8_t kinds[RC_EVENT_KINDS] = {
		[RC_EVENT_ESTABLISHED] = NIC_EVENT_ESTABLISHED,
		[RC_EVENT_DRAINED] = NIC_EVENT_DRAINED,
		[RC_EVENT_FATAL] = NIC_EVENT_QP_FATAL,
		[RC_EVENT_INVALID] = NIC_EVENT_QP_INVALID,
		[RC_EVENT_ACCESS] = NIC_EVENT_QP_ACCESS,
		[RC_EVENT_LAST_RECEIVE] = NIC_EVENT_LAST_WQE,
		[RC_EVENT_SRQ_LIMIT] = NIC_EVENT_SRQ_LIMIT,
	};
	enum nic_event_kind kind = (enum nic_event_kind)kinds[event->kind];

	if (event->kind == RC_EVENT_SRQ_LIMIT) {
		struct nic_srq *s = d->srqs[event->number];

		source_raise(s->pd->user, &s->source, kind);
		return;
	}
	device_raise(d, event->number, kind);
}

/* Bounded by the kinds of events there are for each queue. */
static void raise_events(struct device *d)
{
	struct rc_event events[16];
	uint32_t n;

	do {
		n = rc_events(d->engine, events, 16);
		for (uint32_t i = 0; i < n; i++)
			raise_event(d, &events[i]);
	} while (n == 16);
}

const struct nic_transport_ops nic_transport_rc = {
	.transport = &transport_rc,
	.configure = configure,
	.qp_new = make,
	.qp_free = rc_qp_free,
	.qp_phase = phase,
	.qp_fail = fail,
	.events = raise_events,
	.ports_down = rc_ports_down,
	.end = rc_show_end,
	.govern = rc_show_begin,
	.abandon = rc_show_abandon,
	.show = rc_show,
};

/* The driver chooses a source port by it: queue pairs spread over the paths there are. */
static uint32_t entropy(const struct nic_path *path, uint32_t local_qp, uint32_t remote_qp)
{
	if (path->flow_label)
		return path->flow_label;
	return (local_qp ^ remote_qp * UINT32_C(0x85ebca6b)) * UINT32_C(0x9e3779b1);
}

/* Handles and entropy for a path into attr. */
static int addr_pair_find(struct nic_qp *qp, const struct nic_path *path, struct rc_attr *attr,
			  uint32_t set, struct addr_pair *addrs)
{
	struct device *d = qp->user->device;
	uint32_t remote = set & RC_SET_REMOTE_QP ? attr->remote_qp : qp->remote_qp;
	uint16_t pmtu = attr->pmtu;
	struct rc_attr has;

	if (!path)
		return nic_fail(EINVAL, "no path was given");
	int r = addr_pair_open(d, path->gid_index, path->dgid, addrs);

	if (r)
		return r;
	if (!(set & RC_SET_PMTU)) {
		rc_qp_query(d->engine, qp->number, &has, NULL, NULL);
		pmtu = has.pmtu;
	}
	r = addr_pair_check(d, addrs, pmtu);
	if (r) {
		addr_pair_close(d, addrs);
		return r;
	}
	attr->local = addrs->local;
	attr->peer = addrs->peer;
	attr->port = 0;
	attr->ev = entropy(path, qp->number, remote);
	return 0;
}

static int modify(struct nic_qp *qp, struct rc_attr *attr, uint32_t set,
		  const struct nic_path *path)
{
	struct device *d = qp->user->device;
	nsec now = device_catch_up(d);
	struct addr_pair addrs = NO_ADDR_PAIR;
	int r = set & RC_SET_PATH ? addr_pair_find(qp, path, attr, set, &addrs) : 0;

	if (r)
		return r;
	r = rc_qp_modify(d->engine, now, qp->number, attr, set);
	if (r) {
		addr_pair_close(d, &addrs);
		return nic_fail(-r, "queue pair %#x does not take these attributes: %s", qp->number,
				strerror(-r));
	}
	if (set & RC_SET_PATH) {
		addr_pair_close(d, &qp->addrs);
		qp->addrs = addrs;
		qp->path = *path;
	}
	if (set & RC_SET_REMOTE_QP)
		qp->remote_qp = attr->remote_qp;
	if (set & RC_SET_STATE && attr->state == RC_RESET)
		qp->life = ++d->last_life;
	device_changed(d);
	device_flush(d);
	return 0;
}

int nic_qp_modify(struct nic_qp *qp, const struct rc_attr *attr, uint32_t set,
		  const struct nic_path *path)
{
	struct device *d = qp->user->device;
	struct rc_attr want = *attr;
	int r = device_check_for(d, &transport_rc);

	if (r)
		return r;
	device_enter(d);
	r = modify(qp, &want, set, path);
	device_leave(d);
	return r;
}

int nic_qp_query(struct nic_qp *qp, struct rc_attr *attr, struct nic_path *path, bool *is_draining)
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

/* Fills in what a queue pair has at least; its caps for the engine. 0 or -EINVAL. */
static int grant(const struct nic_user *u, struct nic_qp_spec *spec, struct rc_caps *caps)
{
	int r = qp_grant(u, spec);

	if (r)
		return r;
	if (spec->srq)
		spec->max_recv = spec->max_recv_sge = 0;
	else if (spec->max_recv && spec->max_recv_sge == 0)
		spec->max_recv_sge = 1;
	*caps = (struct rc_caps){
		.max_send = spec->max_send,
		.max_recv = spec->max_recv,
		.max_send_sge = spec->max_send_sge,
		.max_recv_sge = spec->max_recv_sge,
		.pd = spec->pd->number,
		.srq = spec->srq ? spec->srq->number : RC_NO_SRQ,
	};
	if (!rc_qp_size(caps))
		return nic_fail(EINVAL,
				"a queue pair of %u sends (%u pieces) and %u receives (%u pieces): "
				"at most %u and %u",
				spec->max_send, spec->max_send_sge, spec->max_recv,
				spec->max_recv_sge, RC_WR_MAX, ENGINE_SGE);
	return 0;
}

struct nic_qp *nic_qp_new(struct nic_user *u, struct nic_qp_spec *spec)
{
	struct rc_caps caps;
	int r = device_check_for(u->device, &transport_rc);

	if (!r)
		r = grant(u, spec, &caps);
	if (!r)
		return qp_new(u, spec, &caps, rc_qp_size(&caps));
	errno = -r;
	return NULL;
}

void nic_counters(struct nic_user *u, struct rc_counters *rc, struct driver_counters *io)
{
	struct device *d = u->device;

	if (device_check(d))
		return;
	device_enter(d);
	if (rc)
		*rc = d->transport == &transport_rc ? *rc_counters(d->engine)
						    : (struct rc_counters){0};
	if (io)
		*io = d->io->count;
	device_leave(d);
}
