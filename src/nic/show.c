/* How a device fares, for whoever looks from another process (control/member.h).
 *
 * The device's thread gathers it, at most every SHOW_NS and only after something happened: whoever
 * sends and receives notices none of it, but for short waits for the lock. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nic/show.h"

#define SHOW_NS     UINT64_C(250000000)
#define SLICE_QPS   16u   /* queue pairs that the lock is held for at most, ... */
#define SLICE_SLOTS 4096u /* ... or places where one might be */

/* Nothing that it counts ever goes back. */
static uint64_t happened(const struct device *d)
{
	uint64_t sum = d->last_life + d->n_changes;

	for (uint32_t i = 0; i < NIC_SHARDS; i++) {
		const struct driver_counters *c = &device_shard(d, i)->io->count;

		sum += c->rx + c->tx;
	}
	return sum;
}

static void fill_progress(const struct nic_qp *qp, struct member_pair *pair)
{
	struct transport_progress p = {.state = ENGINE_ERROR};

	qp->shard->device->transport->pairs->progress(qp->shard->engine, qp->number, &p);
	pair->state = p.state == ENGINE_ERROR ? SHOW_ERROR : p.state;
	pair->open_ports = (uint8_t)p.open_ports;
	pair->sent_bytes = p.sent_bytes;
	pair->got_bytes = p.got_bytes;
	pair->sent_packets = p.sent_packets;
	pair->retx_packets = p.retx_packets;
	pair->timeouts = p.timeouts;
	pair->window_bytes = p.window_bytes;
	pair->inflight_bytes = p.inflight_bytes;
	pair->srtt_ns = p.srtt_ns;
	memcpy(pair->evs, p.evs, sizeof pair->evs);
}

static void fill(const struct nic_show *s, const struct nic_qp *qp, struct member_pair *pair)
{
	*pair = (struct member_pair){.number = qp->number, .remote = qp->remote_qp};
	memcpy(pair->peer, qp->path.dgid, sizeof pair->peer);
	fill_progress(qp, pair);
	if (s->fill)
		s->fill(qp, pair);
}

/* All queue pairs, as far as there are places left behind n; the lock is given to others now and
 * then. Returns how many there are now. */
static uint32_t gather(struct device *d, const struct shard *from, const struct nic_show *s,
		       uint32_t n)
{
	uint32_t slice = 0;

	for (uint32_t i = 0; i < NIC_LOW_NUMBERS && n < MEMBER_PAIRS && !d->is_stopping; i++) {
		if (from->qps[i]) {
			fill(s, from->qps[i], &s->pairs[n++]);
			slice++;
		}
		if (slice < SLICE_QPS && (i + 1) % SLICE_SLOTS)
			continue;
		slice = 0;
		device_leave(d);
		device_enter(d);
	}
	return n;
}

static uint64_t count_drops(const struct driver_counters *c)
{
#define ADD(name, text) +c->name
	return 0 DRIVER_DROPS(ADD);
#undef ADD
}

static struct member_device describe(const struct device *d, nsec now)
{
	const struct nic_info *info = &d->info;
	const struct driver_counters c = device_driver_counters(d);
	struct member_device m = {
		.at = now,
		.n_ports = info->n_ports,
		.n_pairs = d->n_qps,
		.rx_packets = c.rx,
		.tx_packets = c.tx,
		.rx_dropped = count_drops(&c),
		.rx_missed = c.rx_missed,
	};

	for (uint32_t i = 0; i < info->n_ports && i < MEMBER_PORTS; i++) {
		m.ports_up |= (uint32_t)info->ports[i].is_up << i;
		memcpy(m.port[i], info->ports[i].interface, sizeof m.port[i]);
	}
	strncpy(m.driver, device_shard(d, 0)->io->ops->name, sizeof m.driver - 1);
	return m;
}

/* What the engine records goes there from now on; nowhere: NULL. */
static void lend(struct device *d, void *memory, uint32_t slots)
{
	WITH_ONE_SHARD("the ring of a member's file has one writer");
	trace_lend(&device_shard(d, 0)->trace, memory, slots);
}

int show_begin(struct device *d, struct nic_show *s, const char *name)
{
	s->pairs = calloc(MEMBER_PAIRS, sizeof *s->pairs);
	s->member = s->pairs ? member_join(name, d->info.name) : NULL;
	if (s->member && !d->info.setup.is_untraced)
		lend(d, member_trace(s->member), MEMBER_TRACE);
	return s->pairs ? 0 : -ENOMEM;
}

void show_end(struct device *d, struct nic_show *s)
{
	lend(d, NULL, 0);
	if (s->member)
		member_leave(s->member);
	s->member = NULL;
	free(s->pairs);
}

void show_abandon(struct device *d, struct nic_show *s)
{
	lend(d, NULL, 0);
	if (s->member)
		member_abandon(s->member);
	s->member = NULL;
}

nsec show_device(struct device *d, struct nic_show *s, nsec now)
{
	uint64_t until_now = s->member ? happened(d) : 0;

	if (!until_now || until_now == s->shown)
		return NSEC_NEVER;
	if (now < s->shown_at + SHOW_NS)
		return s->shown_at + SHOW_NS;
	uint32_t n = 0;

	device_shard(d, 0)->wake_at = 0;
	for (uint32_t i = 0; i < NIC_SHARDS; i++)
		n = gather(d, device_shard(d, i), s, n);
	const struct member_device device = describe(d, now);

	member_show(s->member, &device, s->pairs, n);
	s->shown = until_now;
	s->shown_at = now;
	return NSEC_NEVER;
}
