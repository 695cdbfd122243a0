/* A port: queues by class, a transmitter, a link. Time passes in two steps: while the last byte
 * leaves and while it travels.
 *
 * A packet that starts is put on the link with the time it will arrive, and one event is armed for
 * the first packet on a link. What a transmitter does in between follows from what was there
 * before, so most ports are only brought up to date when somebody looks: port_settle starts every
 * packet that should have started by now, each at its exact time. That is early enough while the
 * last packet on the link arrives, as the one that is leaving is always on it. Where others must
 * know at once (a host that may send more, a capture, a fault, flow control) an event is armed for
 * the transmitter.
 */
#include <assert.h>
#include <stdlib.h>

#include "fwd/mark.h"
#include "sim/impair.h"
#include "sim/inside.h"
#include "sim/ring.h"

/* Every packet comes through here at every hop: the pieces of its way are put together in one. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE psec send_time(const struct sim *s, const struct sim_port *port, uint32_t len)
{
	uint32_t bytes = len + s->cfg.overhead_bytes;

	if (port->ps_per_byte)
		return (psec)bytes * port->ps_per_byte;
	return psec_of_bytes(bytes, port->rate_bps);
}

static uint32_t bucket_of(uint32_t bytes)
{
	uint32_t kib = (bytes + 1023) / 1024;

	if (kib <= 1)
		return kib;
	uint32_t bucket = 33 - (uint32_t)__builtin_clz(kib - 1);

	return bucket < SIM_QUEUE_BUCKET ? bucket : SIM_QUEUE_BUCKET - 1;
}

uint64_t sim_queue_bound(uint32_t bucket)
{
	if (bucket + 1 >= SIM_QUEUE_BUCKET)
		return UINT64_MAX;
	return bucket ? UINT64_C(1024) << (bucket - 1) : 0;
}

static ALWAYS_INLINE uint32_t slot_bytes(struct sim_slot slot)
{
	return (uint32_t)slot.word;
}

static ALWAYS_INLINE struct sim_slot pop(struct sim_port *port, uint32_t tclass)
{
	struct sim_ring *q = &port->queues[tclass];
	struct sim_slot slot = ring_pop(q);
	uint32_t bytes = slot_bytes(slot);

	if (q->n == 0)
		port->ready &= (uint8_t) ~(1u << tclass);
	q->bytes -= bytes;
	port->queued_bytes -= bytes;
	port->queued_pkts--;
	if (!port->is_host)
		port->buffer->used_bytes -= bytes;
	return slot;
}

/* Random bits for one packet of one port: what they are does not depend on when other ports are
 * looked at. */
static uint32_t mark_random(const struct sim *s, const struct sim_port *port)
{
	uint64_t state =
		s->mark_seed ^ (uint64_t)port_number(s, port) << 40 ^ port->counts.sent_pkts;

	return (uint32_t)(prng_splitmix64(&state) >> 32);
}

static __attribute__((noinline)) void mark_by_chance(struct sim *s, struct sim_port *port,
						     const struct fwd_class *c, uint32_t behind,
						     struct packet *p)
{
	if (!fwd_mark_wanted(c, behind, mark_random(s, port)))
		return;
	struct fwd_frame f = packet_frame(p);
	struct fwd_view view;

	if (fwd_view_get(&f, &view) == FWD_DROP_NONE && fwd_mark(&s->cfg.qos, &view)) {
		port->counts.marked++;
		s->totals.marked++;
	}
}

/* Marks on the way out, by what stays behind (UE 3.6.4.1). Hosts do not mark. */
static ALWAYS_INLINE void mark(struct sim *s, struct sim_port *port, uint32_t tclass,
			       struct packet *p)
{
	const struct fwd_class *c = &s->cfg.qos.classes[tclass];
	uint32_t behind = port->queues[tclass].bytes;

	if (c->ecn && behind >= c->ecn_min_bytes && !port->is_host)
		mark_by_chance(s, port, c, behind, p);
}

static void tap(struct sim *s, uint32_t port, bool is_out, psec at, const struct packet *p)
{
	if (p->len > s->scratch_len || !s->cfg.hooks.tap)
		return;
	packet_bytes(p, &s->net.carriers, s->scratch);
	s->cfg.hooks.tap(s->cfg.hooks.context, port, is_out, at,
			 (struct cspan){s->scratch, p->len});
}

/* Puts a packet on the link behind the others. */
static ALWAYS_INLINE void launch(struct sim *s, struct sim_port *port, struct packet *p, psec at)
{
	if (!ring_push(&port->wire, (struct sim_slot){p, at})) {
		sim_drop(s, port, p, SIM_DROP_NO_HOST_MEMORY);
		return;
	}
	if (port->wire.n > 1)
		return;
	if (!s->is_windowed) {
		agenda_arm(&s->agenda, s->first_arrive + port_number(s, port), at);
		return;
	}
	assert(at > s->window_last);
	windows_expect(s, s->ports[port->peer].node, at);
}

/* Starts a packet of so many bytes at free_at; returns when it arrives. */
static ALWAYS_INLINE psec start(const struct sim *s, struct sim_port *port, uint32_t bytes)
{
	port->free_at += send_time(s, port, bytes);
	return port->free_at + port->delay_ps;
}

/* Counts a packet that starts at free_at. Its own memory is not touched: it would have to be waited
 * for. */
static ALWAYS_INLINE void count(struct sim *s, struct sim_port *port, struct sim_slot slot)
{
	port->counts.sent_pkts++;
	port->counts.sent_bytes += slot_bytes(slot);
	s->totals.hops++;
	sim_trace(s, SIM_SENT, port_number(s, port), port->free_at, slot.word);
}

/* Starts a packet on a port that others may look at, or that has faults. */
static void transmit(struct sim *s, struct sim_port *port, struct packet *p, uint32_t bytes)
{
	uint32_t number = port_number(s, port);
	psec from = port->free_at, at = start(s, port, bytes);

	if (port->is_tapped)
		tap(s, number, true, from, p);
	if (port->is_impaired && !p->is_pause && !impair_send(s, number, p, at))
		return;
	launch(s, port, p, at);
}

static void send_data(struct sim *s, struct sim_port *port, uint32_t tclass)
{
	struct sim_slot slot = pop(port, tclass);
	bool is_counted = port->pfc && !port->is_host;
	uint32_t in_port = is_counted ? slot.packet->in_port : 0;

	mark(s, port, tclass, slot.packet);
	count(s, port, slot);
	transmit(s, port, slot.packet, slot_bytes(slot));
	/* Last: what it says goes out by other ports, which may come back to this one. */
	if (is_counted)
		pfc_on_freed(s, in_port, tclass, slot_bytes(slot));
}

static void send_control(struct sim *s, struct sim_port *port)
{
	struct packet *p = port->control_head;

	port->control_head = p->next;
	if (!p->next)
		port->control_tail = NULL;
	p->body = NULL; /* it was next */
	transmit(s, port, p, p->len);
}

/* Classes that may send now; those whose pause ran out are let go, and start when it did. */
static uint32_t sendable(const struct sim *s, struct sim_port *port)
{
	if (!port->paused)
		return port->ready;
	for (uint32_t left = port->paused; left; left &= left - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(left);
		psec until = port->pfc->paused_until[c];

		if (until > s->agenda.now)
			continue;
		port->paused &= ~(1u << c);
		if (port->free_at < until)
			port->free_at = until;
	}
	return port->ready & ~port->paused;
}

/* When a port that is free but may not send should look again: packets of a host may wait for that
 * in its engine. */
static psec pause_end(const struct sim *s, const struct sim_port *port)
{
	uint32_t waiting = port->paused & (port->is_host ? UINT32_MAX : port->ready);
	psec end = PSEC_NEVER;

	for (uint32_t c = 0; c < s->cfg.qos.n_classes; c++)
		if (waiting & 1u << c && port->pfc->paused_until[c] < end)
			end = port->pfc->paused_until[c];
	return end;
}

static __attribute__((noinline)) uint32_t take_turns(struct sim *s, struct sim_port *port,
						     uint32_t ready)
{
	uint32_t next_bytes[FWD_CLASSES];

	for (uint32_t left = ready; left; left &= left - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(left);

		next_bytes[c] = slot_bytes(*ring_at(&port->queues[c], 0));
	}
	return (uint32_t)fwd_sched_next(&port->sched, &s->cfg.qos, ready, next_bytes,
					s->quantum_bytes);
}

/* Nothing is shared out between classes that never share a level. */
static ALWAYS_INLINE uint32_t next_class(struct sim *s, struct sim_port *port, uint32_t ready)
{
	return s->is_strict ? s->strict_class[ready] : take_turns(s, port, ready);
}

/* Starts the next packet at free_at, which is not after now; false when nobody may send. */
static bool start_next(struct sim *s, struct sim_port *port)
{
	if (port->is_down || port->is_halted)
		return false;
	if (port->control_head) {
		send_control(s, port);
		return true;
	}
	uint32_t ready = sendable(s, port);

	if (ready)
		send_data(s, port, next_class(s, port, ready));
	return ready != 0;
}

/* Starts all that may start by now. What is still waiting then starts later than now. */
static bool advance(struct sim *s, struct sim_port *port)
{
	bool has_started = false;

	while (port->free_at <= s->agenda.now && start_next(s, port))
		has_started = true;
	return has_started;
}

/* The same for a port that nothing is odd about. */
static ALWAYS_INLINE bool advance_plain(struct sim *s, struct sim_port *port)
{
	bool has_started = false;

	while (port->free_at <= s->agenda.now && port->ready) {
		uint32_t tclass = next_class(s, port, port->ready);
		struct sim_slot slot = pop(port, tclass);

		mark(s, port, tclass, slot.packet);
		count(s, port, slot);
		launch(s, port, slot.packet, start(s, port, slot_bytes(slot)));
		has_started = true;
	}
	return has_started;
}

/* Sees to it that the transmitter is looked at then. */
static void look_at(struct sim *s, struct sim_port *port, psec at)
{
	uint32_t event = port_number(s, port);

	if (agenda_at(&s->agenda, event) != at)
		sim_arm(s, event, port->node, at);
}

/* When it is free, or when a pause ends. */
static void watch(struct sim *s, struct sim_port *port)
{
	psec at = PSEC_NEVER;

	if (!port->is_down && !port->is_halted) {
		bool may_send = port->control_head || sendable(s, port);

		at = may_send ? port->free_at : pause_end(s, port);
	}
	look_at(s, port, at);
}

void port_advance(struct sim *s, struct sim_port *port)
{
	if (!port->odd && !port->is_host)
		advance_plain(s, port);
}

/* A host is told when its transmitter is free, and may have more to send when a packet started. */
static void tend_host(struct sim *s, struct sim_port *port, bool has_started)
{
	look_at(s, port, port->ready ? port->free_at : PSEC_NEVER);
	if (has_started)
		host_pump(s, port->node, false);
}

static void resume_odd(struct sim *s, struct sim_port *port)
{
	uint32_t paused = port->paused;
	bool has_started = advance(s, port);

	watch(s, port);
	if (port->is_host && (has_started || port->paused != paused))
		host_pump(s, port->node, false);
}

/* After something about the port has changed: goes on sending. */
static void resume(struct sim *s, struct sim_port *port)
{
	if (port->odd) {
		resume_odd(s, port);
		return;
	}
	bool has_started = advance_plain(s, port);

	if (port->is_host)
		tend_host(s, port, has_started);
}

void port_settle(struct sim *s, struct sim_port *port)
{
	if (port->free_at > s->agenda.now)
		return;
	if (!port->odd && !port->is_host)
		advance_plain(s, port);
	else if (port->ready | (port->control_head != NULL))
		resume(s, port);
	/* Whoever comes now starts now at the earliest. */
	if (port->free_at < s->agenda.now)
		port->free_at = s->agenda.now;
}

/* Into the queue of its class; false without memory. */
static ALWAYS_INLINE bool push(struct sim *s, struct sim_port *port, uint32_t tclass,
			       struct packet *p)
{
	struct sim_ring *q = &port->queues[tclass];

	s->queue_lengths[port->group][bucket_of(q->bytes)]++;
	if (!ring_push(q, (struct sim_slot){p, shape_of(p)})) {
		sim_drop(s, port, p, SIM_DROP_NO_HOST_MEMORY);
		return false;
	}
	q->bytes += p->len;
	port->ready |= (uint8_t)(1u << tclass);
	port->queued_bytes += p->len;
	port->queued_pkts++;
	if (port->queued_bytes > port->counts.most_bytes)
		port->counts.most_bytes = port->queued_bytes;
	if (!port->is_host)
		port->buffer->used_bytes += p->len;
	return true;
}

/* Straight through an idle port: one that is settled and free has nothing waiting, and nothing
 * stays behind to mark this packet for. */
static ALWAYS_INLINE void pass(struct sim *s, struct sim_port *port, struct packet *p)
{
	struct sim_slot slot = {p, shape_of(p)};

	s->queue_lengths[port->group][0]++;
	if (p->len > port->counts.most_bytes)
		port->counts.most_bytes = p->len;
	count(s, port, slot);
	launch(s, port, p, start(s, port, p->len));
}

void port_enqueue(struct sim *s, struct sim_port *port, struct packet *p)
{
	uint32_t tclass = s->cfg.qos.dscps[p->dscp].tclass;
	const struct fwd_class *c = &s->cfg.qos.classes[tclass];
	bool is_free = port->free_at <= s->agenda.now;

	if (!port->odd && is_free && s->is_strict && (!c->ecn || c->ecn_min_bytes)) {
		pass(s, port, p);
		if (port->is_host)
			tend_host(s, port, true);
		return;
	}
	if (!push(s, port, tclass, p))
		return;
	if (port->pfc && !port->is_host)
		pfc_on_stored(s, p->in_port, tclass, p->len);
	if (port->odd | port->is_host | is_free)
		resume(s, port);
}

void port_send_control(struct sim *s, struct sim_port *port, struct packet *p)
{
	port_settle(s, port);
	p->next = NULL;
	if (port->control_tail)
		port->control_tail->next = p;
	else
		port->control_head = p;
	port->control_tail = p;
	resume(s, port);
}

void port_on_pause(struct sim *s, struct sim_port *port)
{
	if (port->free_at < s->agenda.now)
		port->free_at = s->agenda.now;
	resume(s, port);
	if (port->is_host)
		host_pump(s, port->node, false);
}

void port_on_free(struct sim *s, uint32_t port)
{
	s->is_choice_due |= !s->ports[port].is_host;
	resume(s, &s->ports[port]);
}

void port_arrive(struct sim *s, const struct sim_port *port, struct packet *p)
{
	const struct sim_port *peer = &s->ports[port->peer];

	if (peer->is_tapped)
		tap(s, port->peer, false, s->agenda.now - port->work_ps, p);
	if (p->is_fcs_bad) {
		sim_drop(s, &s->ports[port->peer], p, SIM_DROP_FCS);
		return;
	}
	if (p->is_pause && pfc_receive(s, port->peer, p))
		return;
	if (peer->is_host)
		host_receive(s, port->peer, p);
	else
		switch_receive(s, port->peer, p);
}

void port_on_arrive(struct sim *s, uint32_t number)
{
	struct sim_port *port = &s->ports[number];

	/* Those that follow must be on the link before the last one leaves it; until then they can
	 * wait. */
	if (port->odd)
		resume_odd(s, port);
	else if (port->wire.n == 1 && !port->is_host)
		advance_plain(s, port);
	struct packet *p = ring_pop(&port->wire).packet;

	if (port->wire.n)
		agenda_arm(&s->agenda, s->first_arrive + number, ring_at(&port->wire, 0)->word);
	port_arrive(s, port, p);
}

void port_on_late(struct sim *s, uint32_t number, struct packet *p)
{
	port_arrive(s, &s->ports[number], p);
}

void port_clear(struct sim *s, struct sim_port *port, uint32_t reason)
{
	for (uint32_t c = 0; c < s->cfg.qos.n_classes; c++)
		while (port->queues[c].n) {
			struct sim_slot slot = pop(port, c);
			uint32_t in_port = slot.packet->in_port;

			sim_drop(s, port, slot.packet, reason);
			if (port->pfc && !port->is_host)
				pfc_on_freed(s, in_port, c, slot_bytes(slot));
		}
	while (port->control_head) {
		struct packet *p = port->control_head;

		port->control_head = p->next;
		p->body = NULL; /* it was next */
		packet_put(&s->packets, p);
	}
	port->control_tail = NULL;
	/* The event of any other port stands for a packet that is leaving: see resume_changed. */
	if (port->odd || port->is_host)
		agenda_cancel(&s->agenda, port_number(s, port));
}

/* What is on the link and what waits for it is lost, and so is what the ends said about pauses. */
static void lose_link(struct sim *s, struct sim_port *port)
{
	uint32_t number = port_number(s, port);

	agenda_cancel(&s->agenda, s->first_arrive + number);
	while (port->wire.n)
		sim_drop(s, port, ring_pop(&port->wire).packet, SIM_DROP_LINK_DOWN);
	sim_drop_late(s, number);
	port_clear(s, port, SIM_DROP_LINK_DOWN);
	port->paused = 0;
	for (uint32_t c = 0; port->pfc && c < FWD_CLASSES; c++)
		port->pfc->sent_at[c] = PSEC_NEVER;
}

/* Whether the packet that leaves until free_at is on the link, as its last. */
static bool is_leaving_packet_on_link(const struct sim_port *port)
{
	const struct sim_ring *wire = &port->wire;

	return wire->n && ring_at(wire, wire->n - 1)->word == port->free_at + port->delay_ps;
}

/* After a port became odd, or ceased to be. A switch's that is like the others again needs no event
 * for its transmitter, with one exception: the packet that is leaving was lost to a fault, so
 * nothing on the link says when to look for those that follow. */
static void resume_changed(struct sim *s, struct sim_port *port)
{
	s->is_choice_due = true;
	resume(s, port);
	if (port->odd || port->is_host)
		return;
	bool is_lost = port->free_at > s->agenda.now && !is_leaving_packet_on_link(port);

	look_at(s, port, is_lost ? port->free_at : PSEC_NEVER);
}

void sim_port_set_down(struct sim *s, uint32_t number, bool is_down)
{
	struct sim_port *port = &s->ports[number];

	if (port->is_down == is_down)
		return;
	port_settle(s, port);
	port->is_down = is_down;
	if (is_down)
		lose_link(s, port);
	resume_changed(s, port);
	if (port->is_host)
		host_pump(s, port->node, false);
}

void sim_port_set_impaired(struct sim *s, uint32_t number, bool is_impaired)
{
	struct sim_port *port = &s->ports[number];

	port_settle(s, port);
	port->is_impaired = is_impaired;
	resume_changed(s, port);
}

void sim_port_set_halted(struct sim *s, uint32_t number, bool is_halted)
{
	struct sim_port *port = &s->ports[number];

	port_settle(s, port);
	port->is_halted = is_halted;
	resume_changed(s, port);
}
