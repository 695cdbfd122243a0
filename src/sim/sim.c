#include "sim/sim.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/groups.h"
#include "sim/inside.h"
#include "sim/ring.h"
#include "sim/window.h"

/* Streams of the seed. Engines and faults have their own; topology and workload drew before. */
enum { STREAM_MARK = 0x6d61726b };

#define FRAME_MAX     65600u /* more than an IPv6 packet without jumbo payload can be */
#define NO_EXTRA      UINT32_MAX
#define STAMP_WAIT_NS 500u

static const char *const drop_names[] = {
#define SIM_DROP_NAME(id, name, text) name,
	SIM_DROPS(SIM_DROP_NAME)
#undef SIM_DROP_NAME
};

static const char *const drop_texts[] = {
#define SIM_DROP_TEXT(id, name, text) text,
	SIM_DROPS(SIM_DROP_TEXT)
#undef SIM_DROP_TEXT
};

const char *sim_drop_name(uint32_t drop)
{
	if (drop < FWD_DROP_COUNT)
		return fwd_drop_name((enum fwd_drop)drop);
	return drop < SIM_DROP_COUNT ? drop_names[drop - FWD_DROP_COUNT] : NULL;
}

const char *sim_drop_text(uint32_t drop)
{
	if (drop < FWD_DROP_COUNT)
		return fwd_drop_text((enum fwd_drop)drop);
	return drop < SIM_DROP_COUNT ? drop_texts[drop - FWD_DROP_COUNT] : NULL;
}

/* Ports at the same step of the way, up and down the tree. */
static uint8_t group_of(const struct topology_node *node, const struct topology_port *port)
{
	if (node->is_host)
		return 0;
	return (uint8_t)(port->is_up ? 1u + node->tier : 2u * TOPOLOGY_TIERS - node->tier);
}

/* As many as are asked for, unless their bits take longer than a stamp should wait
 * (MRC-6.2.2.3-08); one in any case. */
static uint32_t room_of(const struct sim *s, uint64_t rate_bps)
{
	const struct sim_transport *t = s->cfg.transport;
	uint32_t full =
		s->encap_bytes + t->data_head_bytes + t->payload_bytes + s->cfg.overhead_bytes;
	psec fit = STAMP_WAIT_NS * PSEC_NS / psec_of_bytes(full, rate_bps);

	if (fit >= s->cfg.nic_queue_pkts)
		return s->cfg.nic_queue_pkts;
	return fit ? (uint32_t)fit : 1;
}

static int init_ports(struct sim *s)
{
	const struct topology *t = s->cfg.topology;
	uint32_t n_buffers = s->cfg.is_buffer_shared ? t->n_nodes : t->n_ports;

	s->n_ports = t->n_ports;
	s->ports = aligned_alloc(64, t->n_ports * sizeof *s->ports);
	s->buffers = calloc(n_buffers, sizeof *s->buffers);
	if (s->ports)
		memset(s->ports, 0, t->n_ports * sizeof *s->ports);
	if (!s->ports || !s->buffers)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_buffers; i++)
		s->buffers[i].total_bytes = s->cfg.buffer_bytes;
	for (uint32_t i = 0; i < t->n_ports; i++) {
		const struct topology_port *from = &t->ports[i];
		const struct topology_node *node = &t->nodes[from->node];
		const struct topology_node *other = &t->nodes[t->ports[from->peer].node];
		struct sim_port *port = &s->ports[i];
		uint64_t bits = 8 * PSEC_S;

		port->node = from->node;
		port->peer = from->peer;
		port->rate_bps = from->rate_bps;
		port->ps_per_byte = bits % from->rate_bps ? 0 : (uint32_t)(bits / from->rate_bps);
		port->work_ps = other->is_host ? 0 : t->switch_delay_ps;
		port->delay_ps = from->delay_ps + port->work_ps;
		port->is_host = node->is_host;
		port->link.is_edge = other->is_host;
		memcpy(port->link.mac, s->cfg.routing->macs[i], 6);
		memcpy(port->link.neighbour, s->cfg.routing->macs[from->peer], 6);
		port->group = group_of(node, from);
		port->buffer = &s->buffers[s->cfg.is_buffer_shared ? from->node : i];
		port->most_queued_bytes = from->buffer_bytes;
		port->room_pkts = room_of(s, from->rate_bps);
	}
	return 0;
}

static int init_pfc(struct sim *s)
{
	bool is_wanted = false;

	for (uint32_t c = 0; c < s->cfg.qos.n_classes; c++)
		is_wanted |= s->cfg.qos.classes[c].pfc_xoff_bytes != 0;
	if (!is_wanted)
		return 0;
	s->pfcs = calloc(s->n_ports, sizeof *s->pfcs);
	if (!s->pfcs)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_ports; i++) {
		s->ports[i].pfc = &s->pfcs[i];
		s->ports[i].is_watched = true;
		for (uint32_t c = 0; c < FWD_CLASSES; c++)
			s->pfcs[i].sent_at[c] = PSEC_NEVER;
	}
	return 0;
}

static void init_classes(struct sim *s)
{
	const struct fwd_names *n = &s->cfg.names;

	s->dscp_of[ENGINE_DATA] = n->trimmable;
	s->dscp_of[ENGINE_RETX] = n->trimmable_rtx;
	s->dscp_of[ENGINE_NO_TRIM] = n->no_trim;
	s->dscp_of[ENGINE_CONTROL] = n->control;
	struct net_trims named = net_trims_of(n->trimmed, n->trimmed_lasthop);
	struct net_trims trims = fwd_qos_trims(&s->cfg.qos);

	/* Those that are named also where nothing is trimmed. */
	trims.trimmed |= named.trimmed;
	trims.lasthop |= named.lasthop;
	s->net = (struct net_cfg){.carriers = s->cfg.routing->cfg.carriers, .trims = trims};
}

/* The place of the hosts' carrier among those of the fabric, which get it if they lack it. */
static void init_carrier(struct sim *s)
{
	struct carriers *all = &s->net.carriers;
	const struct carrier *c = s->cfg.transport->carrier;

	const struct seal *seal = carrier_plain_seal(c);
	uint8_t i = 0;

	while (i < all->n && all->use[i].is != c)
		i++;
	if (i == all->n)
		carriers_add(all, c, 0);
	s->by.place = i;
	s->by.port = all->use[i].port;
	s->by.protocol = all->use[i].protocol;
	s->by.head_bytes = seal->head_bytes;
	s->by.tail_bytes = seal->tail_bytes;
	s->by.from = eth_bytes + ipv6_bytes + carrier_front_bytes(c) + seal->head_bytes;
}

static int init_events(struct sim *s)
{
	uint32_t n = 2 * s->n_ports + s->n_hosts + s->cfg.topology->n_nodes;

	if (agenda_init(&s->agenda, n))
		return -ENOMEM;
	s->first_arrive = s->n_ports;
	s->first_wake = 2 * s->n_ports;
	s->first_alarm = s->first_wake + s->n_hosts;
	s->first_extra = n;
	s->free_extra = NO_EXTRA;
	return agenda_add(&s->agenda, n) == AGENDA_NONE ? -ENOMEM : 0;
}

static uint32_t encap_bytes(const struct routing *r)
{
	switch (r->cfg.mode) {
	case ROUTING_USID: return eth_bytes + 2 * ipv6_bytes + udp_bytes;
	case ROUTING_USID_SRH:
		return eth_bytes + 2 * ipv6_bytes + srh_bytes + srh_segment_bytes + udp_bytes;
	default: return eth_bytes + ipv6_bytes + udp_bytes;
	}
}

static int init_hosts(struct sim *s)
{
	s->hosts = calloc(s->n_hosts, sizeof *s->hosts);
	if (!s->hosts)
		return -ENOMEM;
	for (uint32_t h = 0; h < s->n_hosts; h++) {
		int error = host_init(s, h);

		if (error)
			return error;
	}
	return 0;
}

static int init_all(struct sim *s)
{
	uint32_t head = s->encap_bytes + s->cfg.transport->head_bytes + s->cfg.headroom;
	int error;

	head = head > PFC_FRAME_BYTES ? head : PFC_FRAME_BYTES;
	if (s->cfg.groups && head < MT_ANSWER_MAX)
		head = MT_ANSWER_MAX;
	if (head > PACKET_HEAD_MAX)
		return -EINVAL;
	packet_pool_init(&s->packets, head);
	s->scratch_len = FRAME_MAX;
	s->scratch = malloc(FRAME_MAX);
	if (!s->scratch)
		return -ENOMEM;
	error = init_ports(s);
	if (!error)
		error = init_pfc(s);
	if (!error)
		error = init_events(s);
	if (!error)
		error = windows_init(s);
	if (!error)
		error = init_hosts(s);
	return error;
}

static bool is_strict(const struct fwd_qos *qos)
{
	for (uint32_t a = 0; a < qos->n_classes; a++)
		for (uint32_t b = 0; b < a; b++)
			if (qos->classes[a].level == qos->classes[b].level)
				return false;
	return true;
}

/* Strict classes need no scheduler: who goes first follows from who is ready. */
static void init_strict(struct sim *s)
{
	const struct fwd_class *classes = s->cfg.qos.classes;

	s->is_strict = is_strict(&s->cfg.qos);
	for (uint32_t ready = 1; ready < 1u << s->cfg.qos.n_classes; ready++) {
		uint32_t first = (uint32_t)__builtin_ctz(ready);

		for (uint32_t c = first + 1; c < s->cfg.qos.n_classes; c++)
			if (ready >> c & 1 && classes[c].level > classes[first].level)
				first = c;
		s->strict_class[ready] = (uint8_t)first;
	}
}

int sim_init(struct sim *s, const struct sim_cfg *cfg)
{
	*s = (struct sim){
		.cfg = *cfg,
		.n_hosts = cfg->topology->n_hosts,
		.stop_at = PSEC_NEVER,
		.window_node = UINT32_MAX,
		.pause_at = UINT64_MAX,
	};
	if (fwd_qos_fault(&cfg->qos) || cfg->nic_queue_pkts == 0)
		return -EINVAL;
	if (cfg->groups && cfg->transport->carrier != &carrier_roce)
		return -EINVAL;
	for (uint32_t h = 0; h < s->n_hosts; h++)
		if (cfg->topology->nodes[h].n_ports > ENGINE_PORTS)
			return -EINVAL;
	struct prng random;

	prng_init(&random, cfg->seed, STREAM_MARK);
	s->mark_seed = prng_u64(&random);
	init_classes(s);
	init_carrier(s);
	s->quantum_bytes = FRAME_MAX;
	init_strict(s);
	s->encap_bytes = encap_bytes(cfg->routing) + s->by.head_bytes;
	int error = init_all(s);

	if (error)
		sim_fini(s);
	return error;
}

void sim_fini(struct sim *s)
{
	for (uint32_t h = 0; s->hosts && h < s->n_hosts; h++)
		host_fini(s, h);
	for (uint32_t i = 0; s->ports && i < s->n_ports; i++) {
		free(s->ports[i].wire.slots);
		for (uint32_t c = 0; c < FWD_CLASSES; c++)
			free(s->ports[i].queues[c].slots);
	}
	packet_pool_fini(&s->packets);
	agenda_fini(&s->agenda);
	free(s->hosts);
	free(s->ports);
	free(s->buffers);
	free(s->pfcs);
	free(s->extra);
	free(s->scratch);
	windows_fini(s);
	*s = (struct sim){0};
}

static uint32_t extra_get(struct sim *s)
{
	uint32_t i = s->free_extra;

	if (i != NO_EXTRA) {
		s->free_extra = s->extra[i].port;
		return i;
	}
	if (s->n_extra == s->extra_room) {
		uint32_t room = s->extra_room ? 2 * s->extra_room : 64;
		struct sim_extra *extra = realloc(s->extra, room * sizeof *extra);

		if (!extra)
			return NO_EXTRA;
		s->extra = extra;
		s->extra_room = room;
	}
	if (agenda_add(&s->agenda, 1) == AGENDA_NONE)
		return NO_EXTRA;
	return s->n_extra++;
}

uint32_t sim_timer_add(struct sim *s)
{
	uint32_t i = extra_get(s);

	if (i != NO_EXTRA)
		s->extra[i] = (struct sim_extra){.is_timer = true};
	return i;
}

void sim_timer_arm(struct sim *s, uint32_t timer, psec at)
{
	assert(s->window_node == UINT32_MAX);
	agenda_arm(&s->agenda, s->first_extra + timer, at);
}

void sim_alarm_arm(struct sim *s, uint32_t node, psec at)
{
	assert(s->window_node == UINT32_MAX || s->window_node == node);
	sim_arm(s, s->first_alarm + node, node, at);
}

void sim_send_late(struct sim *s, uint32_t port, struct packet *p, psec at)
{
	uint32_t i = extra_get(s);

	if (i == NO_EXTRA) {
		sim_drop(s, &s->ports[port], p, SIM_DROP_NO_HOST_MEMORY);
		return;
	}
	s->extra[i] = (struct sim_extra){.late = p, .port = port};
	agenda_arm(&s->agenda, s->first_extra + i, at);
}

/* Takes the packet of an event that is not needed any more. */
static struct packet *extra_put(struct sim *s, uint32_t i)
{
	struct packet *p = s->extra[i].late;

	s->extra[i] = (struct sim_extra){.port = s->free_extra};
	s->free_extra = i;
	return p;
}

void sim_drop_late(struct sim *s, uint32_t port)
{
	for (uint32_t i = 0; i < s->n_extra; i++) {
		if (!s->extra[i].late || s->extra[i].port != port)
			continue;
		agenda_cancel(&s->agenda, s->first_extra + i);
		sim_drop(s, &s->ports[port], extra_put(s, i), SIM_DROP_LINK_DOWN);
	}
}

static void on_extra(struct sim *s, uint32_t i)
{
	uint32_t port = s->extra[i].port;

	if (s->extra[i].is_timer)
		s->cfg.hooks.timer(s->cfg.hooks.context, s, i);
	else
		port_on_late(s, port, extra_put(s, i));
}

#define ENGINE_HOT 768u /* bytes at the front of an engine's block that most packets touch */

static inline __attribute__((always_inline)) void fetch_engine(const struct sim *s,
							       const struct sim_port *port)
{
	if (!port->is_host)
		return;
	const char *engine = (const char *)s->hosts[port->node].engine;

	for (uint32_t i = 0; i < ENGINE_HOT; i += 64)
		__builtin_prefetch(engine + i);
}

/* Most time goes into waiting for memory, and the events to come say what will be touched: a port,
 * the packets on its link, the first of these packets. Each step needs the one before to have
 * arrived. Inlined, as gcc drops the call of a function that only prefetches: it sees no effect. */
static inline __attribute__((always_inline)) void look_ahead(const struct sim *s)
{
	uint32_t third = agenda_ahead(&s->agenda, 9), second = agenda_ahead(&s->agenda, 6);
	uint32_t first = agenda_ahead(&s->agenda, 3);

	if (third < s->first_wake) {
		uint32_t n = third < s->first_arrive ? third : third - s->first_arrive;
		const char *port = (const char *)&s->ports[n];

		__builtin_prefetch(port);
		__builtin_prefetch(port + 64);
		__builtin_prefetch(port + 128);
	}
	if (second >= s->first_arrive && second < s->first_wake) {
		const struct sim_port *port = &s->ports[second - s->first_arrive];

		__builtin_prefetch(ring_at(&port->wire, 0));
		__builtin_prefetch(&s->ports[port->peer]);
	}
	if (first >= s->first_arrive && first < s->first_wake) {
		const struct sim_ring *wire = &s->ports[first - s->first_arrive].wire;
		const char *packet = (const char *)ring_at(wire, 0)->packet;

		__builtin_prefetch(packet);
		__builtin_prefetch(packet + 64);
		fetch_engine(s, &s->ports[s->ports[first - s->first_arrive].peer]);
	} else if (first < s->first_arrive) {
		fetch_engine(s, &s->ports[first]);
	}
}

/* When the first of the caller's timers goes off. */
static psec next_timer(const struct sim *s)
{
	psec next = PSEC_NEVER;

	for (uint32_t i = 0; i < s->n_extra; i++)
		if (agenda_at(&s->agenda, s->first_extra + i) < next)
			next = agenda_at(&s->agenda, s->first_extra + i);
	return next;
}

/* Nothing is left up to `until`, or up to a stop that was asked for: whether that is the end. A
 * stop that does not stand any more is forgotten. */
static bool is_end(struct sim *s, psec until)
{
	const struct sim_hooks *hooks = &s->cfg.hooks;

	if (s->stop_at == PSEC_NEVER || s->stop_at > until)
		return true;
	s->stop_at = PSEC_NEVER;
	s->is_stopped = !hooks->is_over || hooks->is_over(hooks->context);
	return s->is_stopped;
}

/* Handles one event up to `until`; false when there is none. */
static bool run_event(struct sim *s, psec until)
{
	uint32_t event = agenda_next(&s->agenda, until);

	look_ahead(s);
	if (event < s->first_arrive)
		port_on_free(s, event);
	else if (event < s->first_wake)
		port_on_arrive(s, event - s->first_arrive);
	else if (event < s->first_extra)
		node_on_event(s, event);
	else if (event != AGENDA_NONE)
		on_extra(s, event - s->first_extra);
	return event != AGENDA_NONE;
}

bool sim_run(struct sim *s, psec until)
{
	bool is_done = false;

	s->is_stopped = false;
	s->is_choice_due = true;
	while (!is_done && s->agenda.n_fired < s->pause_at) {
		if (s->is_choice_due)
			windows_choose(s);
		s->is_choice_due = false;
		if (s->is_windowed)
			windows_run(s, psec_sooner(until, next_timer(s)));
		if (s->agenda.n_fired < s->pause_at &&
		    !run_event(s, psec_sooner(until, s->stop_at)))
			is_done = is_end(s, until);
	}
	/* Other events of this very moment may still come, and come first: ports that start now
	 * would overtake them. */
	for (uint32_t i = 0; i < s->n_ports && s->agenda.n_fired < s->pause_at; i++)
		port_settle(s, &s->ports[i]);
	return sim_has_more(s);
}

bool sim_has_more(const struct sim *s)
{
	if (s->agenda.n_armed != 0 || s->stop_at != PSEC_NEVER)
		return true;
	for (uint32_t i = 0; s->is_windowed && i < s->n_ports; i++)
		if (s->ports[i].wire.n)
			return true;
	return false;
}

static uint64_t count_ring(const struct sim_ring *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->n; i++)
		n += !ring_at(r, i)->packet->is_pause;
	return n;
}

uint64_t sim_in_flight(const struct sim *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n_ports; i++) {
		n += count_ring(&s->ports[i].wire);
		for (uint32_t c = 0; c < FWD_CLASSES; c++)
			n += count_ring(&s->ports[i].queues[c]);
	}
	for (uint32_t i = 0; i < s->n_extra; i++)
		n += s->extra[i].late != NULL;
	return n;
}

bool sim_is_conserved(const struct sim *s)
{
	const struct sim_totals *t = &s->totals;
	uint64_t begun = t->injected + t->copied + t->replicated + t->answered;
	uint64_t ended = t->delivered + t->absorbed;

	for (uint32_t i = 0; i < SIM_DROP_COUNT; i++)
		ended += t->drops[i];
	return begun == ended + sim_in_flight(s);
}

void sim_stop(struct sim *s)
{
	s->stop_at = psec_sooner(s->stop_at, psec_full_us(s->agenda.now));
}

static bool is_by_fault(uint32_t reason)
{
	return reason == SIM_DROP_LINK_DOWN || reason == SIM_DROP_FAULT ||
	       reason == SIM_DROP_BLACK_HOLE || reason == SIM_DROP_REBOOT;
}

void sim_drop(struct sim *s, struct sim_port *port, struct packet *p, uint32_t reason)
{
	if (!p->is_pause) {
		if (s->cfg.hooks.lost && is_by_fault(reason))
			s->cfg.hooks.lost(s->cfg.hooks.context, s, p);
		port->counts.dropped++;
		s->totals.drops[reason]++;
		sim_trace(s, SIM_DROPPED, port_number(s, port) ^ reason << 18, s->agenda.now,
			  shape_of(p));
	}
	packet_put(&s->packets, p);
}
