/* How an MRC device fares, for whoever looks from another process (control/member.h).
 *
 * The device's thread gathers it, at most every SHOW_NS and only after something happened: whoever
 * sends and receives notices none of it, but for short waits for the lock. */
#include <assert.h>
#include <string.h>

#include "nic/mrc_inside.h"

#define SHOW_NS     UINT64_C(250000000)
#define SLICE_QPS   16u   /* queue pairs that the lock is held for at most, ... */
#define SLICE_SLOTS 4096u /* ... or places where one might be */
#define IBTA_ERROR  6u    /* as it numbers states; the others are the same (IBTA 10.3.1) */
#define STATE_BITS  2u

static_assert(MEMBER_WAYS <= CONTROL_EVS && PATH_STATES <= 1u << STATE_BITS,
	      "a state has two bits");

/* Nothing that it counts ever goes back. */
static uint64_t happened(const struct device *d)
{
	return d->io->count.rx + d->io->count.tx + d->last_life + d->n_changes;
}

static void fill_ways(const struct device *d, const struct nic_qp *qp, struct member_pair *pair)
{
	uint8_t states[MEMBER_WAYS];
	uint32_t n = 0;

	mrc_qp_ways(d->engine, qp->number, states, MEMBER_WAYS, &n);
	pair->n_ways = (uint16_t)n;
	for (uint32_t i = 0; i < n && i < MEMBER_WAYS; i++)
		pair->way_state[i / 4] |= (uint8_t)(states[i] << i % 4 * STATE_BITS);
}

static void fill_pair(const struct device *d, const struct nic_qp *qp, struct member_pair *pair)
{
	struct mrc_progress p;
	struct mrc_attr attr;

	mrc_qp_progress(d->engine, qp->number, &p);
	mrc_qp_query(d->engine, qp->number, &attr, NULL, NULL);
	*pair = (struct member_pair){
		.number = qp->number,
		.remote = qp->remote_qp,
		.state = attr.state == MRC_ERROR ? IBTA_ERROR : attr.state,
		.open_ports = (uint8_t)p.open_ports,
		.profile = qp->naming && qp->naming->ways ? qp->naming->ways->id : 0,
		.sent_bytes = p.sent_bytes,
		.got_bytes = p.got_bytes,
		.sent_packets = p.sent_packets,
		.again_packets = p.again_packets,
		.timeouts = p.timeouts,
		.window_bytes = p.window_bytes,
		.inflight_bytes = p.inflight_bytes,
		.srtt_ns = p.srtt_ns,
	};
	memcpy(pair->peer, qp->path.dgid, sizeof pair->peer);
	memcpy(pair->ways, p.ways, sizeof pair->ways);
	fill_ways(d, qp, pair);
}

/* All queue pairs, as far as there are places; the lock is given to others now and then. */
static uint32_t gather(struct device *d)
{
	uint32_t n = 0, slice = 0;

	for (uint32_t i = 0; i < NIC_LOW_NUMBERS && n < MEMBER_PAIRS && !d->is_stopping; i++) {
		if (d->qps[i]) {
			fill_pair(d, d->qps[i], &d->control->pairs[n++]);
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
	struct member_device m = {
		.at = now,
		.n_ports = info->n_ports,
		.n_pairs = d->n_qps,
		.rx_packets = d->io->count.rx,
		.tx_packets = d->io->count.tx,
		.rx_dropped = count_drops(&d->io->count),
	};

	for (uint32_t i = 0; i < info->n_ports && i < MEMBER_PORTS; i++) {
		m.ports_up |= (uint32_t)info->ports[i].is_up << i;
		memcpy(m.port[i], info->ports[i].interface, sizeof m.port[i]);
	}
	strncpy(m.driver, d->io->ops->name, sizeof m.driver - 1);
	return m;
}

/* Returns when there is something to be shown, later. */
static nsec show(struct device *d, nsec now)
{
	struct mrc_control *c = d->control;
	uint64_t until_now = c && c->member ? happened(d) : 0;

	if (!until_now || until_now == c->shown)
		return NSEC_NEVER;
	if (now < c->shown_at + SHOW_NS)
		return c->shown_at + SHOW_NS;
	d->wake_at = 0;
	uint32_t n = gather(d);
	const struct member_device device = describe(d, now);

	member_show(c->member, &device, c->pairs, n);
	c->shown = until_now;
	c->shown_at = now;
	return NSEC_NEVER;
}

nsec mrc_show(struct device *d, nsec now)
{
	nsec look = mrc_look_late(d, now), next = show(d, now);

	return look < next ? look : next;
}
