/* Queue pairs, as far as they are the same for every transport: their making and their end, and
 * where their completions go. */
#include "nic/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int qp_make(struct nic_qp *qp, void *memory)
{
	struct device *d = qp->user->device;
	struct shard *s = qp->shard;
	uint32_t number = d->n_qps < NIC_MAX_QPS ? shard_draw_qp(s) : 0;

	if (!number) {
		nic_fail(ENOSPC, "%u queue pairs are in use: no more", d->n_qps);
		return -ENOSPC;
	}
	int r = d->transport->pairs->make(s->engine, number, &qp->caps, memory);

	if (r)
		return nic_fail(-r, "no queue pair: %s", strerror(-r));
	qp->number = number;
	qp->life = ++d->last_life;
	s->qps[number % NIC_LOW_NUMBERS] = qp;
	d->n_qps++;
	qp->pd->n_users++;
	qp->send_cq->n_users++;
	qp->recv_cq->n_users++;
	if (qp->srq)
		qp->srq->n_users++;
	qp->user->n_objects++;
	return 0;
}

static int check(const struct nic_user *u, const struct nic_qp_spec *spec)
{
	bool is_ours = spec->pd->user == u ||
		       (u->device->ops->shares_domains && spec->pd->user->device == u->device);

	if (!is_ours || spec->send_cq->user != u || spec->recv_cq->user != u ||
	    (spec->srq && spec->srq->pd->user != u))
		return nic_fail(EINVAL, "domain or queues of another user");
	if (spec->send_cq->events || spec->recv_cq->events)
		return nic_fail(EINVAL, "a queue of events has no completions");
	if (spec->max_inline > u->device->transport->pairs->most.max_inline)
		return nic_fail(EINVAL, "%u bytes inline: at most %u", spec->max_inline,
				u->device->transport->pairs->most.max_inline);
	return 0;
}

static int too_much(const struct transport *t, const struct transport_caps *caps)
{
	const struct transport_caps *most = &t->pairs->most;
	char ahead[NIC_SENTENCE_MAX / 2] = "";

	if (transport_has(t, TRANSPORT_AHEAD))
		snprintf(ahead, sizeof ahead,
			 "; ahead of a gap %u packets and %u pieces of immediate data: at most %u "
			 "and %u",
			 caps->ahead_pkts, caps->ahead_imm, most->ahead_pkts, most->ahead_imm);
	return nic_fail(EINVAL,
			"a queue pair of %u sends (%u pieces) and %u receives (%u pieces): at most "
			"%u (%u) and %u (%u)%s",
			caps->max_send, caps->max_send_sge, caps->max_recv, caps->max_recv_sge,
			most->max_send, most->max_send_sge, most->max_recv, most->max_recv_sge,
			ahead);
}

/* Fills in what it has at least, and its caps. *bytes: that the engine needs for it. */
static int grant(const struct nic_user *u, struct nic_qp_spec *spec, struct transport_caps *caps,
		 size_t *bytes)
{
	const struct device *d = u->device;

	*caps = (struct transport_caps){
		.max_send = spec->max_send,
		.max_recv = spec->max_recv,
		.max_send_sge = spec->max_send_sge,
		.max_recv_sge = spec->max_recv_sge,
		.max_inline = spec->max_inline,
		.pd = spec->pd->number,
		.srq = spec->srq ? spec->srq->number : TRANSPORT_NO_SRQ,
		.ahead_pkts = spec->ahead_pkts,
		.ahead_imm = spec->ahead_imm,
		.max_evs = d->ops->most_evs ? d->ops->most_evs(d) : 0,
	};
	*bytes = d->transport->pairs->grant(caps);
	if (!*bytes)
		return too_much(d->transport, caps);
	spec->max_send = caps->max_send;
	spec->max_recv = caps->max_recv;
	spec->max_send_sge = caps->max_send_sge;
	spec->max_recv_sge = caps->max_recv_sge;
	spec->ahead_pkts = caps->ahead_pkts;
	spec->ahead_imm = caps->ahead_imm;
	return 0;
}

static struct nic_qp *qp_from(struct nic_user *u, const struct nic_qp_spec *spec,
			      const struct transport_caps *caps)
{
	struct nic_qp *qp = calloc(1, sizeof *qp);

	if (!qp)
		return NULL;
	*qp = (struct nic_qp){
		.user = u,
		.shard = spec->srq ? spec->srq->shard : device_next_shard(u->device),
		.pd = spec->pd,
		.send_cq = spec->send_cq,
		.recv_cq = spec->recv_cq,
		.srq = spec->srq,
		.source = {.object = qp, .context = spec->context},
		.is_all_signaled = spec->is_all_signaled,
		.caps = *caps,
		.addrs = NO_ADDR_PAIR,
	};
	return qp;
}

struct nic_qp *nic_qp_new(struct nic_user *u, struct nic_qp_spec *spec)
{
	struct transport_caps caps;
	size_t bytes = 0;
	int r = device_check(u->device);

	if (!r)
		r = check(u, spec);
	if (!r)
		r = grant(u, spec, &caps, &bytes);
	struct nic_qp *qp = r ? NULL : qp_from(u, spec, &caps);
	void *memory = qp ? calloc(1, bytes) : NULL;

	if (memory) {
		device_enter(u->device);
		r = qp_make(qp, memory);
		if (!r)
			device_changed(u->device);
		device_leave(u->device);
	} else if (!r) {
		r = -ENOMEM;
	}
	if (!r)
		return qp;
	free(memory);
	free(qp);
	errno = -r;
	return NULL;
}

/* Completions that are out already stay in their queues: they name it by number. */
int nic_qp_free(struct nic_qp *qp)
{
	struct nic_user *u = qp->user;
	struct device *d = u->device;
	struct shard *s = qp->shard;
	int r = device_check(d);

	if (r)
		return r;
	device_enter(d);
	shard_flush(s);
	void *memory = d->transport->pairs->end(s->engine, qp->number);

	s->qps[qp->number % NIC_LOW_NUMBERS] = NULL;
	d->n_qps--;
	if (d->ops->qp_end)
		d->ops->qp_end(qp);
	addr_pair_close(s, &qp->addrs);
	qp->pd->n_users--;
	qp->send_cq->n_users--;
	qp->recv_cq->n_users--;
	if (qp->srq)
		qp->srq->n_users--;
	device_leave(d);
	source_end(u, &qp->source);
	device_enter(d);
	u->n_objects--;
	device_leave(d);
	free(memory);
	free(qp);
	return 0;
}

uint32_t nic_qp_number(const struct nic_qp *qp)
{
	return qp->number;
}
