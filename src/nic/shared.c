#include "nic/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int srq_make(struct nic_srq *s, const struct engine_srq_caps *caps, void *memory)
{
	struct shard *shard = s->shard;
	uint32_t number = 0;

	while (number < NIC_MAX_SRQS && shard->srqs[number])
		number++;
	if (number == NIC_MAX_SRQS)
		return nic_fail(ENOSPC, "%u shared receive queues are in use: no more",
				NIC_MAX_SRQS);
	int r = shard->device->transport->verbs->shared_make(shard->engine, number, caps, memory);

	if (r)
		return nic_fail(-r, "no shared receive queue: %s", strerror(-r));
	s->number = number;
	shard->srqs[number] = s;
	s->pd->n_users++;
	s->pd->user->n_objects++;
	return 0;
}

struct nic_srq *nic_srq_new(struct nic_pd *pd, const struct engine_srq_caps *caps, void *context)
{
	struct device *d = pd->user->device;
	struct engine_srq_caps want = *caps;
	int r = device_check_verbs(d);

	want.pd = pd->number;
	size_t bytes = r ? 0 : d->transport->verbs->shared_bytes(&want);

	if (!r && !bytes)
		r = nic_fail(EINVAL, "a shared receive queue of %u receives with %u pieces each",
			     want.max_recv, want.max_sge);
	struct nic_srq *s = r ? NULL : calloc(1, sizeof *s);
	void *memory = s && bytes ? calloc(1, bytes) : NULL;

	if (!memory) {
		free(s);
		errno = r ? -r : ENOMEM;
		return NULL;
	}
	s->pd = pd;
	s->shard = device_next_shard(d);
	s->source.object = s;
	s->source.context = context;
	device_enter(d);
	r = srq_make(s, &want, memory);
	device_leave(d);
	if (!r)
		return s;
	free(memory);
	free(s);
	errno = -r;
	return NULL;
}

int nic_srq_free(struct nic_srq *s)
{
	struct nic_user *u = s->pd->user;
	struct device *d = u->device;
	void *memory = NULL;
	int r = device_check(d);

	if (r)
		return r;
	device_enter(d);
	if (s->n_users) {
		r = nic_fail(EBUSY, "the shared receive queue is in use by %u queue pairs",
			     s->n_users);
	} else {
		memory = d->transport->verbs->shared_end(s->shard->engine, s->number);
		s->shard->srqs[s->number] = NULL;
		s->pd->n_users--;
	}
	device_leave(d);
	if (r)
		return r;
	source_end(u, &s->source);
	device_enter(d);
	u->n_objects--;
	device_leave(d);
	free(memory);
	free(s);
	return 0;
}

int nic_srq_limit(struct nic_srq *s, uint32_t limit)
{
	struct device *d = s->pd->user->device;
	int r = device_check(d);

	if (r)
		return r;
	shard_enter(s->shard);
	r = d->transport->verbs->shared_limit(s->shard->engine, s->number, limit);
	shard_flush(s->shard);
	shard_leave(s->shard);
	return r ? nic_fail(-r, "a limit of %u receives", limit) : 0;
}

int nic_srq_query(struct nic_srq *s, struct engine_srq_caps *caps, uint32_t *limit)
{
	struct device *d = s->pd->user->device;
	int r = device_check(d);

	if (r)
		return r;
	shard_enter(s->shard);
	r = d->transport->verbs->shared_query(s->shard->engine, s->number, caps, limit);
	shard_leave(s->shard);
	return r;
}

uint32_t nic_srq_number(const struct nic_srq *s)
{
	return s->number;
}

int nic_srq_post(struct nic_srq *s, struct nic_work *work, uint32_t n, uint32_t *posted)
{
	struct shard *shard = s->shard;
	int r = device_check(shard->device);
	uint32_t i = 0;

	*posted = 0;
	if (r)
		return r;
	shard_enter(shard);
	nsec now = shard_catch_up(shard);

	for (; i < n && !r; i += !r) {
		struct op *op = &work[i].op;

		op->qp = s->number;
		op->flags = ENGINE_SHARED;
		r = op->code == ENGINE_RECV ? shard->engine->ops->post(shard->engine, now, op)
					    : -EINVAL;
	}
	shard_flush(shard);
	shard_leave(shard);
	*posted = i;
	return r;
}
