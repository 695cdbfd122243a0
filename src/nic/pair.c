#include "nic/inside.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static const struct way no_way = {DRIVER_NO_HANDLE, DRIVER_NO_HANDLE};

static void way_close(struct device *d, struct way *w)
{
	if (w->peer != DRIVER_NO_HANDLE || w->local != DRIVER_NO_HANDLE)
		backlog_forget(&d->backlog, w->peer, w->local);
	if (w->peer != DRIVER_NO_HANDLE)
		driver_peer_put(d->io, w->peer);
	if (w->local != DRIVER_NO_HANDLE)
		driver_unbind(d->io, w->local);
	*w = no_way;
}

/* A GID as a socket address: IPv4 inside IPv6 is IPv4 (RoCEv2 annex A17.4.5.2); one of the link is
 * of this interface's. */
static struct sockaddr_storage address_of(const uint8_t gid[16], uint32_t ifindex)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	struct sockaddr_storage address = {0};
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

	if (!memcmp(gid, v4, sizeof v4)) {
		memcpy(&in.sin_addr, gid + sizeof v4, 4);
		memcpy(&address, &in, sizeof in);
		return address;
	}
	memcpy(&in6.sin6_addr, gid, 16);
	if (gid_is_of_link(gid))
		in6.sin6_scope_id = ifindex;
	memcpy(&address, &in6, sizeof in6);
	return address;
}

static int way_open(struct device *d, const struct nic_path *path, struct way *w)
{
	struct sockaddr_storage to = address_of(path->dgid, d->info.ifindex);
	char error[NIC_SENTENCE_MAX] = "";

	*w = no_way;
	if (path->gid_index >= d->info.n_gids ||
	    d->info.gids[path->gid_index].address.ss_family == AF_UNSPEC)
		return nic_fail(EINVAL, "%s has no GID number %u", d->info.name, path->gid_index);
	const struct nic_gid *gid = &d->info.gids[path->gid_index];

	if (gid->address.ss_family != to.ss_family)
		return nic_fail(EINVAL, "GID number %u of %s and the peer's are not of one family",
				path->gid_index, d->info.name);
	int r = driver_bind(d->io, (const struct sockaddr *)&gid->address, &w->local, error,
			    sizeof error);

	if (r) {
		w->local = DRIVER_NO_HANDLE;
		return nic_fail(-r, "%s: %s", d->info.name, error);
	}
	w->peer = driver_peer_get(d->io, (const struct sockaddr *)&to);
	if (w->peer != DRIVER_NO_HANDLE)
		return 0;
	way_close(d, w);
	return nic_fail(EINVAL, "%s: not an address of a peer, or too many peers", d->info.name);
}

static int way_check(struct device *d, const struct way *w, uint16_t pmtu)
{
	char error[NIC_SENTENCE_MAX] = "";
	uint16_t most = driver_pmtu(d->io, w->local, w->peer, error, sizeof error);

	if (!most)
		return nic_fail(ENETUNREACH, "%s: %s", d->info.name, error);
	if (pmtu > most)
		return nic_fail(EMSGSIZE,
				"%s: a path MTU of %u does not fit the way to the peer, "
				"%u does",
				d->info.name, pmtu, most);
	return 0;
}

/* The driver chooses a source port by it: queue pairs spread over the ways there are. */
static uint32_t entropy(const struct nic_path *path, uint32_t local_qp, uint32_t remote_qp)
{
	if (path->flow_label)
		return path->flow_label;
	return (local_qp ^ remote_qp * UINT32_C(0x85ebca6b)) * UINT32_C(0x9e3779b1);
}

/* Handles and entropy for a path into attr. */
static int way_find(struct nic_qp *qp, const struct nic_path *path, struct rc_attr *attr,
		    uint32_t set, struct way *w)
{
	struct device *d = qp->user->device;
	uint32_t remote = set & RC_SET_REMOTE_QP ? attr->remote_qp : qp->remote_qp;
	uint16_t pmtu = attr->pmtu;
	struct rc_attr has;

	if (!path)
		return nic_fail(EINVAL, "no path was given");
	int r = way_open(d, path, w);

	if (r)
		return r;
	if (!(set & RC_SET_PMTU)) {
		rc_qp_query(d->engine, qp->number, &has, NULL, NULL);
		pmtu = has.pmtu;
	}
	r = way_check(d, w, pmtu);
	if (r) {
		way_close(d, w);
		return r;
	}
	attr->local = w->local;
	attr->peer = w->peer;
	attr->port = 0;
	attr->ev = entropy(path, qp->number, remote);
	return 0;
}

static int modify(struct nic_qp *qp, struct rc_attr *attr, uint32_t set,
		  const struct nic_path *path)
{
	struct device *d = qp->user->device;
	nsec now = device_catch_up(d);
	struct way w = no_way;
	int r = set & RC_SET_PATH ? way_find(qp, path, attr, set, &w) : 0;

	if (r)
		return r;
	r = rc_qp_modify(d->engine, now, qp->number, attr, set);
	if (r) {
		way_close(d, &w);
		return nic_fail(-r, "queue pair %#x does not take these attributes: %s", qp->number,
				strerror(-r));
	}
	if (set & RC_SET_PATH) {
		way_close(d, &qp->way);
		qp->way = w;
		qp->path = *path;
	}
	if (set & RC_SET_REMOTE_QP)
		qp->remote_qp = attr->remote_qp;
	if (set & RC_SET_STATE && attr->state == RC_RESET)
		qp->life = ++d->last_life;
	device_flush(d);
	return 0;
}

int nic_qp_modify(struct nic_qp *qp, const struct rc_attr *attr, uint32_t set,
		  const struct nic_path *path)
{
	struct device *d = qp->user->device;
	struct rc_attr want = *attr;
	int r = device_check(d);

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
	int r = device_check(d);

	if (r)
		return r;
	device_enter(d);
	r = rc_qp_query(d->engine, qp->number, attr, NULL, is_draining);
	if (path)
		*path = qp->path;
	device_leave(d);
	return r;
}

static int qp_make(struct nic_qp *qp, const struct rc_caps *caps, void *memory)
{
	struct device *d = qp->user->device;
	uint32_t number = d->n_qps < NIC_MAX_QPS ? device_draw_qp(d) : 0;

	if (!number) {
		nic_fail(ENOSPC, "%u queue pairs are in use: no more", d->n_qps);
		return -ENOSPC;
	}
	int r = rc_qp_new(d->engine, number, caps, memory);

	if (r)
		return nic_fail(-r, "no queue pair: %s", strerror(-r));
	qp->number = number;
	qp->life = ++d->last_life;
	d->qps[number % NIC_LOW_NUMBERS] = qp;
	d->n_qps++;
	qp->pd->n_users++;
	qp->send_cq->n_users++;
	qp->recv_cq->n_users++;
	if (qp->srq)
		qp->srq->n_users++;
	qp->user->n_objects++;
	return 0;
}

/* Fills in what a queue pair has at least; its caps for the engine. 0 or -EINVAL. */
static int grant(const struct nic_user *u, struct nic_qp_spec *spec, struct rc_caps *caps)
{
	if (spec->pd->user != u || spec->send_cq->user != u || spec->recv_cq->user != u ||
	    (spec->srq && spec->srq->pd->user != u))
		return nic_fail(EINVAL, "domain or queues of another user");
	if (spec->max_inline > NIC_MAX_INLINE)
		return nic_fail(EINVAL, "%u bytes inline: at most %u", spec->max_inline,
				NIC_MAX_INLINE);
	if (spec->max_send == 0)
		spec->max_send = 1;
	if (spec->max_send_sge == 0)
		spec->max_send_sge = 1;
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

static struct nic_qp *qp_from(struct nic_user *u, const struct nic_qp_spec *spec)
{
	struct nic_qp *qp = calloc(1, sizeof *qp);

	if (!qp)
		return NULL;
	*qp = (struct nic_qp){
		.user = u,
		.pd = spec->pd,
		.send_cq = spec->send_cq,
		.recv_cq = spec->recv_cq,
		.srq = spec->srq,
		.source = {.object = qp, .context = spec->context},
		.is_all_signaled = spec->is_all_signaled,
		.way = no_way,
		.max_send = spec->max_send,
		.max_inline = spec->max_inline,
	};
	if (!spec->max_inline)
		return qp;
	qp->inline_ring = calloc(spec->max_send, spec->max_inline);
	if (qp->inline_ring)
		return qp;
	free(qp);
	return NULL;
}

struct nic_qp *nic_qp_new(struct nic_user *u, struct nic_qp_spec *spec)
{
	struct rc_caps caps;
	int r = device_check(u->device);

	if (!r)
		r = grant(u, spec, &caps);
	if (r) {
		errno = -r;
		return NULL;
	}
	struct nic_qp *qp = qp_from(u, spec);
	void *memory = qp ? calloc(1, rc_qp_size(&caps)) : NULL;

	r = -ENOMEM;
	if (memory) {
		device_enter(u->device);
		r = qp_make(qp, &caps, memory);
		device_leave(u->device);
	}
	if (!r)
		return qp;
	free(memory);
	if (qp)
		free(qp->inline_ring);
	free(qp);
	errno = -r;
	return NULL;
}

/* Completions that are out already stay in their queues: they name it by number. */
int nic_qp_free(struct nic_qp *qp)
{
	struct nic_user *u = qp->user;
	struct device *d = u->device;
	int r = device_check(d);

	if (r)
		return r;
	device_enter(d);
	device_flush(d);
	void *memory = rc_qp_free(d->engine, qp->number);

	d->qps[qp->number % NIC_LOW_NUMBERS] = NULL;
	d->n_qps--;
	way_close(d, &qp->way);
	qp->pd->n_users--;
	qp->send_cq->n_users--;
	qp->recv_cq->n_users--;
	if (qp->srq)
		qp->srq->n_users--;
	source_end(u, &qp->source);
	u->n_objects--;
	device_leave(d);
	free(memory);
	free(qp->inline_ring);
	free(qp);
	return 0;
}

uint32_t nic_qp_number(const struct nic_qp *qp)
{
	return qp->number;
}

enum rc_state qp_state(const struct nic_qp *qp)
{
	struct rc_attr is;

	rc_qp_query(qp->user->device->engine, qp->number, &is, NULL, NULL);
	return (enum rc_state)is.state;
}

/* What it flushes comes out of the engine later than what is being given out now. */
static void fail(struct nic_qp *qp)
{
	const struct rc_attr error = {.state = RC_ERROR};
	struct device *d = qp->user->device;

	rc_qp_modify(d->engine, d->clock, qp->number, &error, RC_SET_STATE);
	source_raise(qp->user, &qp->source, NIC_EVENT_QP_FATAL);
	d->is_behind = true;
}

/* A completion of qp is lost, and with it the sense of all that follows: whoever uses the queue can
 * no longer tell what became of its work (IBTA 10.2.6.3, 11.6.3.4). One in RC_RESET has none yet,
 * and fails with its first. */
static void on_overrun(struct nic_cq *cq, struct nic_qp *qp)
{
	struct device *d = cq->user->device;

	if (cq->is_overrun) {
		if (qp_state(qp) != RC_ERROR)
			fail(qp);
		return;
	}
	cq->is_overrun = true;
	source_raise(cq->user, &cq->source, NIC_EVENT_CQ_ERROR);
	for (uint32_t i = 0; i < NIC_LOW_NUMBERS; i++) {
		struct nic_qp *other = d->qps[i];

		if (other && (other->send_cq == cq || other->recv_cq == cq) &&
		    qp_state(other) != RC_RESET)
			fail(other);
	}
}

void device_complete(struct device *d, const struct done *done)
{
	struct nic_qp *qp = d->qps[done->qp % NIC_LOW_NUMBERS];
	struct nic_done nic = {.done = *done};

	assert(qp);
	bool is_sent = done->code == ENGINE_DONE_SENT;
	struct nic_cq *cq = is_sent ? qp->send_cq : qp->recv_cq;

	if (!is_sent)
		nic.src_qp = qp->remote_qp;
	if (!cq_push(cq, &nic))
		on_overrun(cq, qp);
}
