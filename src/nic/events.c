#include "nic/inside.h"

#include <errno.h>
#include <string.h>

int nic_event_fd(const struct nic_user *u)
{
	return u->device->is_dead ? -ENODEV : u->bell.fd;
}

int nic_event_get(struct nic_user *u, struct nic_event *event)
{
	int r = device_check(u->device);

	while (!r) {
		if (source_take(u, event))
			return 0;
		r = bell_wait(&u->bell);
	}
	return r;
}

static struct source *source_of(struct nic_user *u, const struct nic_event *event)
{
	switch ((enum nic_event_kind)event->kind) {
	case NIC_EVENT_CQ_ERROR: return &((struct nic_cq *)event->object)->source;
	case NIC_EVENT_QP_FATAL:
	case NIC_EVENT_QP_INVALID:
	case NIC_EVENT_QP_ACCESS:
	case NIC_EVENT_ESTABLISHED:
	case NIC_EVENT_DRAINED:
	case NIC_EVENT_QP_NO_RANGE:
	case NIC_EVENT_LAST_WQE: return &((struct nic_qp *)event->object)->source;
	case NIC_EVENT_SRQ_LIMIT: return &((struct nic_srq *)event->object)->source;
	case NIC_EVENT_PORT_UP:
	case NIC_EVENT_PORT_DOWN:
	case NIC_EVENT_GID_CHANGE: break;
	}
	return &u->ports[event->port];
}

void nic_event_ack(struct nic_user *u, const struct nic_event *event)
{
	if (!device_check(u->device))
		source_ack(u, source_of(u, event));
}

static void raise_event(struct shard *s, const struct engine_event *event)
{
	static const uint8_t kinds[ENGINE_EVENTS] = {
		[ENGINE_EVENT_ESTABLISHED] = NIC_EVENT_ESTABLISHED,
		[ENGINE_EVENT_DRAINED] = NIC_EVENT_DRAINED,
		[ENGINE_EVENT_FATAL] = NIC_EVENT_QP_FATAL,
		[ENGINE_EVENT_INVALID] = NIC_EVENT_QP_INVALID,
		[ENGINE_EVENT_ACCESS] = NIC_EVENT_QP_ACCESS,
		[ENGINE_EVENT_LAST_RECEIVE] = NIC_EVENT_LAST_WQE,
		[ENGINE_EVENT_QUEUE_LIMIT] = NIC_EVENT_SRQ_LIMIT,
		[ENGINE_EVENT_NO_RANGE] = NIC_EVENT_QP_NO_RANGE,
	};
	enum nic_event_kind kind = (enum nic_event_kind)kinds[event->kind];

	if (event->kind == ENGINE_EVENT_PEER_HELD) {
		driver_peer_hold(s->io, event->number);
		return;
	}
	if (event->kind == ENGINE_EVENT_PEER_RELEASED) {
		driver_peer_put(s->io, event->number);
		return;
	}
	if (event->kind == ENGINE_EVENT_QUEUE_LIMIT) {
		struct nic_srq *srq = s->srqs[event->number];

		source_raise(srq->pd->user, &srq->source, kind);
		return;
	}
	struct nic_qp *qp = shard_qp(s, event->number);

	if (event->kind == ENGINE_EVENT_FATAL || event->kind == ENGINE_EVENT_INVALID ||
	    event->kind == ENGINE_EVENT_ACCESS)
		qp_failed(qp);
	if (event->kind == ENGINE_EVENT_EV_STATE)
		s->device->ops->ev_state(qp);
	else
		source_raise(qp->user, &qp->source, kind);
}

/* Bounded by the kinds of events there are for each queue. */
void shard_take_engine_events(struct shard *s)
{
	const struct nic_transport_ops *ops = s->device->ops;
	struct engine_event events[16];
	uint32_t n;

	do {
		n = s->engine->ops->events(s->engine, events, 16);
		for (uint32_t i = 0; i < n; i++)
			raise_event(s, &events[i]);
	} while (n == 16);
	if (ops->take_answers)
		ops->take_answers(s);
}

/* Only the newest state counts, should the older one not have been taken. */
static void report_port(struct device *d, uint32_t port, bool is_up)
{
	enum nic_event_kind now = is_up ? NIC_EVENT_PORT_UP : NIC_EVENT_PORT_DOWN;
	enum nic_event_kind before = is_up ? NIC_EVENT_PORT_DOWN : NIC_EVENT_PORT_UP;

	for (struct nic_user *u = d->users; u; u = u->next)
		source_turn(u, &u->ports[port], now, before);
}

/* The ports that are up, as users see them: a device of one port is up with it. */
static uint32_t shown_ports(const struct device *d)
{
	uint32_t up = 0;

	if (d->info.n_ports == 1)
		return d->info.is_up;
	for (uint32_t i = 0; i < d->info.n_ports; i++)
		up |= (uint32_t)d->info.ports[i].is_up << i;
	return up;
}

static void report_ports(struct device *d, uint32_t before)
{
	uint32_t now = shown_ports(d);

	if (now != before)
		device_changed(d);
	for (uint32_t left = before ^ now; left; left &= left - 1) {
		uint32_t port = (uint32_t)__builtin_ctz(left);

		report_port(d, port, now >> port & 1);
	}
}

/* The engine's ports that are disabled. The udp driver has one, whichever interface the kernel
 * takes. */
static uint32_t disabled_ports(const struct device *d)
{
	uint32_t all = (UINT32_C(1) << d->info.n_ports) - 1;

	if (d->info.setup.driver == CONFIG_UDP)
		return (d->disabled_ports & all) == all;
	return d->disabled_ports & all;
}

void device_note_links(struct device *d)
{
	d->is_linked = d->info.is_up;
	d->links_up = 0;
	for (uint32_t i = 0; i < d->info.n_ports; i++)
		d->links_up |= (uint32_t)d->info.ports[i].is_up << i;
}

/* What users are shown of the ports. What the driver says of them is newer than what the list of
 * interfaces does, and includes whether there is a carrier; the udp driver has no word on that. */
static void mark_ports(struct device *d)
{
	bool is_udp = d->info.setup.driver == CONFIG_UDP;
	uint32_t up = is_udp ? d->links_up & ~d->disabled_ports : d->ports_up;

	for (uint32_t i = 0; i < d->info.n_ports; i++)
		d->info.ports[i].is_up = up >> i & 1;
	d->info.is_up = d->ports_up && (!is_udp || d->is_linked);
}

void device_renew(struct device *d, const struct nic_info *info)
{
	uint32_t before = shown_ports(d);
	bool has_new_gids = memcmp(d->info.gids, info->gids, sizeof info->gids) != 0;

	d->info = *info;
	device_note_links(d);
	mark_ports(d);
	for (struct nic_user *u = d->users; u && has_new_gids; u = u->next)
		source_raise(u, &u->ports[0], NIC_EVENT_GID_CHANGE);
	report_ports(d, before);
}

static void tell_ports(struct shard *s)
{
	const struct transport *t = s->device->transport;

	s->free_ports = s->device->ports_up;
	if (t->pairs->ports_down)
		t->pairs->ports_down(s->engine, s->clock, ~s->device->ports_up);
}

static void set_ports(struct device *d)
{
	uint32_t up = d->ports_linked & ~disabled_ports(d), before = shown_ports(d);

	if (up != d->ports_up) {
		d->ports_up = up;
		for (uint32_t i = 0; i < NIC_SHARDS; i++)
			tell_ports(device_shard(d, i));
	}
	mark_ports(d);
	report_ports(d, before);
}

uint32_t device_linked_ports(const struct device *d)
{
	uint32_t linked = (UINT32_C(1) << d->n_ports) - 1;

	if (d->info.setup.driver == CONFIG_UDP)
		return linked;
	for (uint32_t i = 0; i < NIC_SHARDS; i++)
		linked &= driver_ports_up(device_shard(d, i)->io);
	return linked;
}

void device_follow_ports(struct device *d)
{
	WITH_ONE_SHARD("whoever sees a link change has its shard's lock, and so the device's");
	uint32_t linked = device_linked_ports(d);

	if (linked == d->ports_linked)
		return;
	d->ports_linked = linked;
	set_ports(d);
}

void device_disable_ports(struct device *d, uint32_t ports)
{
	d->disabled_ports = ports;
	set_ports(d);
}
