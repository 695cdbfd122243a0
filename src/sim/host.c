/* A host: an engine between its ports and whoever posts work. The loop of the engine contract,
 * driven by arrivals, by free ports and by the engine's own deadline. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32.h"
#include "sim/inside.h"
#include "sim/peers.h"

#define BATCH     8u
#define DONE_MAX  16u
#define MILLION   1000000  /* skew is in parts of it */
#define PUMPS_MAX 1000000u /* an engine that breaks law 3 is found, not waited for */

/* The exact product, rounded down: a slow clock must not go back either. */
static nsec clock_at(const struct sim_host *h, psec at)
{
	uint64_t elapsed = at - h->clock_from_ps;

	if (h->skew_ppm == 0)
		return h->clock_base_ns + elapsed / PSEC_NS;
	uint64_t rate = (uint64_t)(MILLION + h->skew_ppm);

	elapsed = elapsed / MILLION * rate + elapsed % MILLION * rate / MILLION;
	return h->clock_base_ns + elapsed / PSEC_NS;
}

nsec sim_host_now(const struct sim *s, uint32_t host)
{
	return clock_at(&s->hosts[host], s->agenda.now);
}

/* The first moment at which the host's clock shows `when` or more. */
static psec moment_of(const struct sim_host *h, nsec when)
{
	if (when <= h->clock_base_ns)
		return h->clock_from_ps;
	uint64_t wanted = (when - h->clock_base_ns) * PSEC_NS;

	if (h->skew_ppm == 0)
		return h->clock_from_ps + wanted;
	uint64_t rate = (uint64_t)(MILLION + h->skew_ppm);

	wanted = wanted / rate * MILLION + (wanted % rate * MILLION + rate - 1) / rate;
	return h->clock_from_ps + wanted;
}

static void rebase_clock(struct sim *s, struct sim_host *h)
{
	h->clock_base_ns = clock_at(h, s->agenda.now);
	h->clock_from_ps = s->agenda.now;
}

void sim_host_skew(struct sim *s, uint32_t host, int32_t ppm)
{
	assert(ppm >= -SIM_SKEW_MAX && ppm <= SIM_SKEW_MAX);
	rebase_clock(s, &s->hosts[host]);
	s->hosts[host].skew_ppm = ppm;
	host_pump(s, host, true);
}

void sim_host_jump(struct sim *s, uint32_t host, nsec ahead)
{
	rebase_clock(s, &s->hosts[host]);
	s->hosts[host].clock_base_ns += ahead;
	host_pump(s, host, true);
}

int host_init(struct sim *s, uint32_t host)
{
	const struct sim_transport *t = s->cfg.transport;
	const struct topology_node *node = &s->cfg.topology->nodes[host];
	struct sim_host *h = &s->hosts[host];
	const void *cfg = t->host_cfg(t->context, host, s->cfg.seed);
	size_t bytes = cfg ? t->ops->size(cfg) : 0;

	if (bytes == 0)
		return -EINVAL;
	h->first_port = node->first_port;
	h->n_ports = (uint8_t)node->n_ports;
	h->engine_bytes = bytes;
	h->engine = malloc(bytes);
	h->peers = sim_peers_new(&s->net.carriers.use[s->by.place]);
	if (!h->engine || !h->peers)
		return -ENOMEM;
	h->engine->ops = t->ops;
	return t->ops->init(h->engine, cfg, clock_at(h, s->agenda.now));
}

void host_fini(struct sim *s, uint32_t host)
{
	free(s->hosts[host].engine);
	sim_peers_free(s->hosts[host].peers);
	s->hosts[host].engine = NULL;
	s->hosts[host].peers = NULL;
}

/* Payload that is real is copied: the engine's pointers end with the call. */
static bool take_body(struct packet *p, const struct tx_pkt *tx, uint32_t payload_bytes)
{
	bool is_real = false;
	uint32_t at = 0;

	for (uint32_t i = 0; i < tx->n_body; i++)
		is_real |= tx->body[i].at != NULL && tx->body[i].len != 0;
	if (!is_real)
		return true;
	if (!packet_add_body(p, payload_bytes))
		return false;
	for (uint32_t i = 0; i < tx->n_body; i++) {
		if (tx->body[i].at)
			memcpy(p->body->bytes + at, tx->body[i].at, tx->body[i].len);
		at += tx->body[i].len;
	}
	return true;
}

static void send(struct sim *s, uint32_t host, const struct tx_pkt *tx, struct packet *p)
{
	struct sim_host *h = &s->hosts[host];
	struct sim_egress egress = {host, tx->port, tx->peer, tx->ev};
	uint32_t payload = 0;

	sim_peers_fetch(h->peers, &egress);
	const struct encap_head *head = sim_peers_head(h->peers, s->cfg.routing, &egress);

	for (uint32_t i = 0; i < tx->n_body; i++)
		payload += tx->body[i].len;
	s->totals.injected++;
	if (!head || !take_body(p, tx, payload)) {
		sim_drop(s, &s->ports[h->first_port + tx->port], p, SIM_DROP_NO_HOST_MEMORY);
		return;
	}
	struct encap_packet encap = {
		.ev = tx->ev,
		.transport_bytes = s->by.head_bytes + tx->head_len + payload + s->by.tail_bytes,
		.udp_len = tx->udp_len,
		.dscp = engine_dscp(tx->tclass, s->dscp_of),
		.ecn = tx->not_ect ? FWD_ECN_NOT_ECT : FWD_ECN_ECT0,
	};

	/* The engine wrote where the longest headers would end; the actual ones end there too. */
	uint32_t front = head->len + s->by.head_bytes;

	p->start = (uint16_t)(s->encap_bytes - front);
	encap_write(head, &encap, p->head + p->start);
	for (uint32_t i = 0; i < s->by.head_bytes; i++)
		p->head[p->start + head->len + i] = 0;
	p->stored = (uint16_t)(front + tx->head_len);
	p->len = head->len + encap.transport_bytes;
	p->dscp = encap.dscp;
	p->in_port = UINT32_MAX;
	p->carrier = s->by.place & (CARRIERS_MAX - 1u);
	uint32_t sum = crc32_update(0, p->head + p->start, p->stored);
	struct sim_port *port = &s->ports[h->first_port + tx->port];

	p->hops = sim_peers_hops(h->peers, s->cfg.routing, &egress);
	sim_trace(s, SIM_INJECTED, host, s->agenda.now ^ (uint64_t)sum << 32, shape_of(p));
	port_settle(s, port);
	port_enqueue(s, port, p);
}

/* Packets that wait at a port for their turn, and not for a pause to end. */
static uint32_t waiting_pkts(const struct sim_port *port)
{
	uint32_t n = port->queued_pkts;

	for (uint32_t left = port->paused; left; left &= left - 1)
		n -= port->queues[__builtin_ctz(left)].n;
	return n;
}

/* What may go by port i of a host: the classes that its other end did not pause. */
static uint32_t not_paused(const struct sim *s, const struct sim_port *port, uint32_t i)
{
	uint32_t may = engine_may_all(1u << i);

	for (uint32_t t = 0; port->paused && t < ENGINE_TCLASSES; t++)
		if (port->paused >> s->cfg.qos.dscps[s->dscp_of[t]].tclass & 1)
			may &= ~(UINT32_C(1) << (t * ENGINE_PORTS + i));
	return may;
}

/* What each port may still take; together. What waits there for a pause to end takes no other's
 * room. A port whose link is down takes nothing. */
static uint32_t room_of(const struct sim *s, const struct sim_host *h, struct engine_room *room)
{
	uint32_t total = 0;

	*room = (struct engine_room){0};
	for (uint32_t i = 0; i < h->n_ports; i++) {
		const struct sim_port *port = &s->ports[h->first_port + i];
		uint32_t waiting = waiting_pkts(port);

		if (waiting >= port->room_pkts || port->is_down)
			continue;
		room->pkts[i] = (uint16_t)(port->room_pkts - waiting);
		total += room->pkts[i];
		room->may |= not_paused(s, port, i);
	}
	return total;
}

/* Hands out completions; false when there was none. */
static bool deliver(struct sim *s, uint32_t host)
{
	struct engine *e = s->hosts[host].engine;
	struct done done[DONE_MAX];
	uint32_t n = e->ops->poll(e, done, DONE_MAX);

	for (uint32_t i = 0; i < n; i++)
		s->cfg.hooks.done(s->cfg.hooks.context, s, host, &done[i]);
	return n != 0;
}

/* Packets for what the engine is about to say; fewer without memory. */
static uint32_t prepare(struct sim *s, struct packet *packets[BATCH], struct tx_pkt tx[BATCH],
			uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		packets[i] = packet_get(&s->packets);
		if (!packets[i])
			return i;
		tx[i].head = packets[i]->head + s->encap_bytes;
	}
	return n;
}

/* Without memory for a packet the engine goes on as if it were sent. */
static uint32_t lose_one(struct sim *s, struct engine *e, nsec now, const struct engine_room *room)
{
	struct tx_pkt tx = {.head = s->scratch};
	uint32_t got = e->ops->pull(e, now, room, &tx, 1);

	s->totals.injected += got;
	s->totals.drops[SIM_DROP_NO_HOST_MEMORY] += got;
	return got;
}

static uint32_t pull(struct sim *s, uint32_t host, nsec now, const struct engine_room *room,
		     uint32_t total)
{
	struct engine *e = s->hosts[host].engine;
	struct packet *packets[BATCH];
	struct tx_pkt tx[BATCH];
	uint32_t n = prepare(s, packets, tx, total < BATCH ? total : BATCH);

	if (n == 0 && total > 0)
		return lose_one(s, e, now, room);
	uint32_t got = e->ops->pull(e, now, room, tx, n);

	assert(got <= n);
	for (uint32_t i = got; i < n; i++)
		packet_put(&s->packets, packets[i]);
	for (uint32_t i = 0; i < got; i++)
		send(s, host, &tx[i], packets[i]);
	if (s->cfg.hooks.pulled && got > 0)
		s->cfg.hooks.pulled(s->cfg.hooks.context, s, host);
	return got;
}

/* Wakes the host at its engine's deadline. An event that comes too early does no harm, and moving
 * it for every packet would: it is only moved to come earlier. */
static void arm_wake(struct sim *s, uint32_t host, nsec deadline)
{
	if (deadline == NSEC_NEVER)
		return;
	psec at = moment_of(&s->hosts[host], deadline);

	if (at < s->agenda.now)
		at = s->agenda.now;
	if (at < agenda_at(&s->agenda, s->first_wake + host))
		sim_arm(s, s->first_wake + host, host, at);
}

void host_pump(struct sim *s, uint32_t host, bool has_news)
{
	struct sim_host *h = &s->hosts[host];
	nsec now = clock_at(h, s->agenda.now), deadline;
	struct engine_room room;
	uint32_t turns = 0;

	if (h->is_pumping)
		return;
	h->is_pumping = true;
	for (;;) {
		while (has_news)
			has_news = deliver(s, host);
		uint32_t total = room_of(s, h, &room);

		deadline = h->engine->ops->deadline(h->engine, room.may);
		if (deadline > now)
			break;
		/* Any pull may end work: timers do, and a bind, which needs no packet. */
		pull(s, host, now, &room, total);
		has_news = true;
		turns++;
		assert(turns < PUMPS_MAX);
	}
	h->is_pumping = false;
	arm_wake(s, host, deadline);
}

int sim_post(struct sim *s, uint32_t host, const struct op *op)
{
	assert(s->window_node == UINT32_MAX || s->window_node == host);
	struct engine *e = s->hosts[host].engine;
	int answer = e->ops->post(e, sim_host_now(s, host), op);

	if (answer == 0)
		host_pump(s, host, true);
	return answer;
}

void sim_host_restart(struct sim *s, uint32_t host)
{
	const struct sim_transport *t = s->cfg.transport;
	struct sim_host *h = &s->hosts[host];

	for (uint32_t i = 0; i < h->n_ports; i++)
		port_clear(s, &s->ports[h->first_port + i], SIM_DROP_RESTART);
	agenda_cancel(&s->agenda, s->first_wake + host);
	h->received_bytes = 0;
	int answer = t->ops->init(h->engine, t->host_cfg(t->context, host, s->cfg.seed),
				  sim_host_now(s, host));

	assert(answer == 0);
	if (s->cfg.hooks.restarted)
		s->cfg.hooks.restarted(s->cfg.hooks.context, s, host);
	host_pump(s, host, true);
}

/* Whether the seal of a packet whose bytes are all there is right. Whoever changed one that a
 * cipher seals had no key. */
static bool is_seal_right(struct cspan frame, const struct net_pkt *net, const struct seal *seal)
{
	const struct net_ip *ip = net_ip(net);
	uint32_t end = net->end - seal->tail_bytes;

	if (end < net->transport + net->carrier->head_least)
		return false;
	struct cspan covered = {frame.at + ip->at, end - ip->at};

	if (!seal_is_crc(seal))
		return seal->sum == SEAL_NONE;
	return covered.len >= seal_least(seal, ip->version == 4) &&
	       seal_sum(seal, &covered, 1) == seal_get(seal, frame.at + end);
}

/* Cuts the transport's bytes into the pieces an engine gets. */
static inline void split(struct rx_pkt *rx, const struct packet *p, struct cspan frame,
			 uint32_t from, uint32_t end)
{
	uint32_t stored = p->is_real ? frame.len : p->stored;
	uint32_t head_end = stored < end ? stored : end;

	if (p->is_real && head_end > from + ENGINE_HEAD_MAX)
		head_end = from + ENGINE_HEAD_MAX;
	rx->head = (struct cspan){frame.at + from, head_end - from};
	if (end == head_end)
		return;
	if (p->is_real) {
		rx->body[0] = (struct cspan){frame.at + head_end, end - head_end};
		return;
	}
	uint32_t rest = end - head_end;
	uint32_t real = p->body ? p->body->len : 0;

	if (real > rest)
		real = rest;
	if (real)
		rx->body[0] = (struct cspan){p->body->bytes, real};
	rx->body[1] = (struct cspan){NULL, rest - real};
}

/* The same for what nearly every frame is: Ethernet, IPv6 and what the carrier goes by, without a
 * trimmed DSCP, as our own hosts build them. False, and nothing done, for any other: read_frame
 * says what it is. */
static bool read_plain(const struct sim *s, uint32_t host, const struct packet *p,
		       struct rx_pkt *rx)
{
	const uint8_t *eth = p->head + p->start, *ip = eth + eth_bytes, *front = ip + ipv6_bytes;
	uint32_t from = s->by.from, tail = s->by.tail_bytes;

	if (p->is_real || p->stored < from || p->len < from + tail)
		return false;
	uint32_t word = get_be32(ip);
	uint8_t dscp = word >> 22 & 0x3f;

	if (get_be16(eth + 12) != ETHERTYPE_IPV6 || word >> 28 != 6 || ip[6] != s->by.protocol ||
	    get_be16(ip + 4) != p->len - eth_bytes - ipv6_bytes ||
	    (s->by.port && get_be16(front + 2) != s->by.port) ||
	    net_trim_of(&s->net.trims, dscp) != NET_WHOLE ||
	    routing_host_of(s->cfg.routing, ip + 24) != host)
		return false;
	rx->peer = routing_host_of(s->cfg.routing, ip + 8);
	rx->ev = carrier_entropy(get_be16(front), word);
	rx->udp_len = s->by.port ? get_be16(front + 4) : 0;
	rx->ttl = ip[7];
	rx->ecn = word >> 20 & 3;
	rx->dscp = dscp;
	split(rx, p, (struct cspan){eth, p->len}, from, p->len - tail);
	return true;
}

/* Reads a frame as a NIC does; 0, or why it is dropped. */
static uint32_t read_frame(struct sim *s, uint32_t host, const struct packet *p, struct rx_pkt *rx)
{
	struct cspan frame = {p->head + p->start, p->len};
	struct net_pkt net;

	if (p->is_real) {
		packet_bytes(p, &s->net.carriers, s->scratch);
		frame.at = s->scratch;
	}
	if (net_get(frame, NET_LINK_ETHERNET, &s->net, &net, NULL).why != WIRE_DROP_NONE)
		return SIM_DROP_HOST_FORMAT;
	if (net.carrier != s->cfg.transport->carrier)
		return SIM_DROP_HOST_FORMAT;
	const struct net_ip *ip = net_ip(&net);

	if (ip->version != 6 || routing_host_of(s->cfg.routing, ip->v6.dst) != host)
		return SIM_DROP_HOST_ADDRESS;
	const struct seal *seal = packet_seal(p, &s->net.carriers, net.transport);
	uint32_t from = net.transport + seal->head_bytes;
	uint32_t tail = net_is_cut(&net) ? 0 : seal->tail_bytes;

	if (net.end < from + tail)
		return SIM_DROP_HOST_FORMAT;
	if (p->is_real && !net_is_cut(&net) && !is_seal_right(frame, &net, seal))
		return SIM_DROP_HOST_SEAL;
	rx->peer = routing_host_of(s->cfg.routing, ip->v6.src);
	rx->ev = net_entropy(&net);
	rx->udp_len = (uint16_t)net.udp.length;
	rx->ttl = (uint8_t)ip->v6.hop_limit;
	rx->trimmed = (uint8_t)net.trim;
	rx->is_uncut = net.trim != NET_WHOLE && !net_is_cut(&net);
	rx->ecn = net_ecn(&net);
	rx->dscp = net_dscp(&net);
	split(rx, p, frame, from, net.end - tail);
	return 0;
}

/* Tells of new payload that the packet just put in has brought. */
static void report_received(struct sim *s, uint32_t host)
{
	const struct sim_transport *t = s->cfg.transport;
	struct sim_host *h = &s->hosts[host];

	if (!t->received || !s->cfg.hooks.received)
		return;
	uint64_t now = t->received(t->context, h->engine), before = h->received_bytes;

	h->received_bytes = now;
	if (now > before)
		s->cfg.hooks.received(s->cfg.hooks.context, s, host, now - before);
}

void host_receive(struct sim *s, uint32_t in_port, struct packet *p)
{
	struct sim_port *port = &s->ports[in_port];
	struct sim_host *h = &s->hosts[port->node];
	struct rx_pkt rx = {.port = (uint8_t)(in_port - h->first_port)};
	uint32_t reason = 0;

	if (!read_plain(s, port->node, p, &rx))
		reason = read_frame(s, port->node, p, &rx);
	if (reason) {
		sim_drop(s, port, p, reason);
		return;
	}
	nsec now = clock_at(h, s->agenda.now);

	rx.at = now;
	rx.local = s->cfg.topology->ports[in_port].plane; /* a host has an address in each */
	s->totals.delivered++;
	sim_trace(s, SIM_DELIVERED, in_port, s->agenda.now, shape_of(p));
	h->engine->ops->input(h->engine, now, &rx, 1);
	packet_put(&s->packets, p);
	report_received(s, port->node);
	host_pump(s, port->node, true);
}
