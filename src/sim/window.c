/* Node by node instead of event by event.
 *
 * A packet that starts now arrives a link's delay later at the earliest. So what happens to a node
 * in the next such stretch of time, a window, follows from what is on the links to it already, and
 * the nodes may be looked at one after another, each with its tables and queues at hand. The events
 * of one node keep their order, and nodes have nothing else to say to each other: the outcome is
 * the same to the bit. It takes a fabric in which nothing happens but packets: no fault, no
 * capture, no flow control, and a caller whose hooks stay on one host (sim_hooks.is_local).
 *
 * Meanwhile events of ports and nodes are only noted in the agenda, and s->node_next says for each
 * node before when nothing happens there. What remains in the agenda, the caller's timers, ends a
 * window. */
#include "sim/window.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/inside.h"
#include "sim/ring.h"

#define WINDOW_MIN    (100 * PSEC_NS) /* shorter ones cost more than they save */
#define SMALL_SORT    24u
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* How far ahead of its use memory is fetched: most time would go into waiting for it. Always
 * inlined, as gcc drops the call of a function that only prefetches: it sees no effect. */
#define AHEAD_PACKET 10u /* arrivals at a switch: the packet, then the port it goes to */
#define AHEAD_PORT   4u
#define AHEAD_HOST   4u  /* arrivals at a host */
#define ENGINE_LINES 12u /* at the front of an engine, that most packets touch */
#define LINE         64u

/* A packet that reaches a node, by the link of port `from`. */
struct arrival {
	psec at;
	struct packet *packet;
	uint32_t from;
};

struct sim_windows {
	struct arrival *arrivals, *sorted;
	uint32_t *buckets;
	uint32_t room; /* of each: as many as ever arrive at one node; a power of 2 */
};

static ALWAYS_INLINE void fetch_lines(const void *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch((const char *)at + (size_t)LINE * i);
}

static bool grow(struct sim_windows *w)
{
	uint32_t room = w->room ? 2 * w->room : 1024;
	struct arrival *arrivals = realloc(w->arrivals, room * sizeof *arrivals);

	if (!arrivals)
		return false;
	w->arrivals = arrivals;
	struct arrival *sorted = realloc(w->sorted, room * sizeof *sorted);

	if (!sorted)
		return false;
	w->sorted = sorted;
	uint32_t *buckets = realloc(w->buckets, room * sizeof *buckets);

	if (!buckets)
		return false;
	w->buckets = buckets;
	w->room = room;
	return true;
}

static uint32_t n_groups(const struct sim *s)
{
	return (s->cfg.topology->n_nodes + WINDOWS_GROUP - 1) / WINDOWS_GROUP;
}

int windows_init(struct sim *s)
{
	psec delay = PSEC_NEVER;

	for (uint32_t i = 0; i < s->n_ports; i++)
		delay = psec_sooner(delay, s->ports[i].delay_ps);
	s->window_ps = delay >= WINDOW_MIN && delay != PSEC_NEVER ? delay : 0;
	s->node_next = malloc(s->cfg.topology->n_nodes * sizeof *s->node_next);
	s->group_next = malloc(n_groups(s) * sizeof *s->group_next);
	s->windows = calloc(1, sizeof *s->windows);
	if (!s->node_next || !s->group_next || !s->windows || !grow(s->windows))
		return -ENOMEM;
	return 0;
}

void windows_fini(struct sim *s)
{
	if (s->windows) {
		free(s->windows->arrivals);
		free(s->windows->sorted);
		free(s->windows->buckets);
	}
	free(s->windows);
	free(s->node_next);
	free(s->group_next);
}

static bool are_possible(const struct sim *s)
{
	if (!s->cfg.hooks.is_local || s->window_ps == 0)
		return false;
	for (uint32_t i = 0; i < s->n_ports; i++)
		if (s->ports[i].odd ||
		    (!s->ports[i].is_host && agenda_at(&s->agenda, i) != PSEC_NEVER))
			return false;
	for (uint32_t i = 0; i < s->n_extra; i++)
		if (s->extra[i].late)
			return false;
	return true;
}

/* The node that events of ports and nodes happen to. */
static uint32_t node_of(const struct sim *s, uint32_t event)
{
	if (event < s->first_wake)
		return s->ports[event].node;
	return event - (event < s->first_alarm ? s->first_wake : s->first_alarm);
}

static void begin(struct sim *s)
{
	s->is_windowed = true;
	for (uint32_t n = 0; n < s->cfg.topology->n_nodes; n++)
		s->node_next[n] = PSEC_NEVER;
	for (uint32_t g = 0; g < n_groups(s); g++)
		s->group_next[g] = PSEC_NEVER;
	for (uint32_t event = 0; event < s->first_extra; event++) {
		psec at = agenda_at(&s->agenda, event);

		agenda_cancel(&s->agenda, event);
		if (event < s->first_arrive || event >= s->first_wake)
			sim_arm(s, event, node_of(s, event), at);
	}
	for (uint32_t i = 0; i < s->n_ports; i++) {
		const struct sim_port *port = &s->ports[i];

		if (port->wire.n)
			windows_expect(s, s->ports[port->peer].node, ring_at(&port->wire, 0)->word);
	}
}

static void end(struct sim *s)
{
	s->is_windowed = false;
	for (uint32_t event = 0; event < s->first_extra; event++) {
		psec at = agenda_at(&s->agenda, event);

		if (at != PSEC_NEVER)
			agenda_arm(&s->agenda, event, at);
	}
	for (uint32_t i = 0; i < s->n_ports; i++) {
		const struct sim_ring *wire = &s->ports[i].wire;

		if (wire->n)
			agenda_arm(&s->agenda, s->first_arrive + i, ring_at(wire, 0)->word);
	}
}

void windows_choose(struct sim *s)
{
	bool is_wanted = are_possible(s);

	if (is_wanted && !s->is_windowed)
		begin(s);
	else if (!is_wanted && s->is_windowed)
		end(s);
}

/* Before this moment nothing happens in any node. */
static psec next_of_all(const struct sim *s)
{
	psec next = PSEC_NEVER;

	for (uint32_t g = 0; g < n_groups(s); g++)
		next = psec_sooner(next, s->group_next[g]);
	return next;
}

static ALWAYS_INLINE bool is_before(const struct arrival *a, const struct arrival *b)
{
	return a->at != b->at ? a->at < b->at : a->from < b->from;
}

/* For few, or for what is nearly in order. */
static void sort_few(struct arrival *a, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct arrival moved = a[i];
		uint32_t j = i;

		for (; j > 0 && is_before(&moved, &a[j - 1]); j--)
			a[j] = a[j - 1];
		a[j] = moved;
	}
}

/* Puts n arrivals of [from, last] in order, the way agenda_next would return them. Each link's are
 * in order already, but they come link by link: they go into about as many buckets by time, which
 * leaves little to do. */
static struct arrival *sort(struct sim_windows *w, uint32_t n, psec from, psec last)
{
	uint32_t n_buckets = SMALL_SORT, shift = 0, sum = 0;

	if (n <= SMALL_SORT) {
		sort_few(w->arrivals, n);
		return w->arrivals;
	}
	while (n_buckets < n && 2 * n_buckets <= w->room)
		n_buckets *= 2;
	while ((last - from) >> shift >= n_buckets)
		shift++;
	memset(w->buckets, 0, n_buckets * sizeof w->buckets[0]);
	for (uint32_t i = 0; i < n; i++)
		w->buckets[(w->arrivals[i].at - from) >> shift]++;
	for (uint32_t i = 0; i < n_buckets; i++) {
		uint32_t count = w->buckets[i];

		w->buckets[i] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < n; i++)
		w->sorted[w->buckets[(w->arrivals[i].at - from) >> shift]++] = w->arrivals[i];
	sort_few(w->sorted, n);
	return w->sorted;
}

/* Fetches what gather will touch a few ports later. */
static ALWAYS_INLINE void fetch_link(const struct sim *s, const struct topology_node *t, uint32_t i)
{
	const struct sim_port *ports = s->ports + t->first_port;

	if (i + 4 < t->n_ports)
		fetch_lines(&ports[i + 4], 1);
	if (i + 3 < t->n_ports)
		fetch_lines(&s->ports[ports[i + 3].peer], 1);
	if (i + 1 < t->n_ports) {
		const struct sim_ring *wire = &s->ports[ports[i + 1].peer].wire;

		if (wire->n)
			fetch_lines(ring_at(wire, 0), 3);
	}
}

/* Takes what arrives at a switch in [from, last] off the links; the number. Other ports only send
 * on what they have when they are looked at, which is now. */
static uint32_t gather(struct sim *s, uint32_t node, psec from, psec last)
{
	const struct topology_node *t = &s->cfg.topology->nodes[node];
	struct sim_windows *w = s->windows;
	psec next = PSEC_NEVER;
	uint32_t n = 0;

	s->agenda.now = from;
	for (uint32_t i = 0; i < t->n_ports; i++) {
		uint32_t number = s->ports[t->first_port + i].peer;
		struct sim_port *port = &s->ports[number];

		fetch_link(s, t, i);
		port_advance(s, port);
		while (port->wire.n && ring_at(&port->wire, 0)->word <= last) {
			struct sim_slot slot = ring_pop(&port->wire);

			if (n == w->room) {
				bool has_memory = grow(w);

				/* A packet lost would be a result quietly wrong. */
				assert(has_memory);
			}
			w->arrivals[n++] = (struct arrival){slot.word, slot.packet, number};
		}
		if (port->wire.n)
			next = psec_sooner(next, ring_at(&port->wire, 0)->word);
	}
	s->node_next[node] = next;
	return n;
}

static ALWAYS_INLINE void fetch_port(const struct sim *s, uint32_t first_port,
				     const struct packet *p)
{
	uint64_t hops = p->hops;

	fetch_lines(&s->ports[first_port + (hops ? routing_hop_take(&hops) : 0)], 3);
}

/* The alarms of a switch up to `last`. */
static void run_alarms(struct sim *s, uint32_t node, psec last)
{
	uint32_t event = s->first_alarm + node;
	psec at;

	while ((at = agenda_at(&s->agenda, event)) <= last && at != PSEC_NEVER) {
		s->agenda.now = at;
		s->agenda.n_fired++;
		if (s->window_now < at)
			s->window_now = at;
		agenda_cancel(&s->agenda, event);
		node_on_event(s, event);
	}
}

static void run_switch(struct sim *s, uint32_t node, psec from, psec last)
{
	uint32_t n = gather(s, node, from, last);
	struct arrival *a = sort(s->windows, n, from, last);
	uint32_t first_port = s->cfg.topology->nodes[node].first_port;
	uint32_t alarm = s->first_alarm + node;

	s->window_node = node;
	s->agenda.n_fired += n;
	for (uint32_t i = 0; i < n; i++) {
		if (i + AHEAD_PACKET < n)
			fetch_lines(a[i + AHEAD_PACKET].packet, 1);
		if (i + AHEAD_PORT < n)
			fetch_port(s, first_port, a[i + AHEAD_PORT].packet);
		/* What arrives at the moment of an alarm comes first, as its number is lower. */
		if (agenda_at(&s->agenda, alarm) < a[i].at)
			run_alarms(s, node, a[i].at - 1);
		s->agenda.now = a[i].at;
		struct packet *p = a[i].packet;

		if (p->is_fcs_bad)
			port_arrive(s, &s->ports[a[i].from], p);
		else
			switch_receive(s, s->ports[a[i].from].peer, p);
	}
	if (n && s->window_now < a[n - 1].at)
		s->window_now = a[n - 1].at;
	run_alarms(s, node, last);
	/* What gather found to come on links, or the alarm. */
	windows_expect(s, node, agenda_at(&s->agenda, alarm));
	s->window_node = UINT32_MAX;
}

/* The first event of a host: its number and time; ties go to the lowest number. */
static ALWAYS_INLINE psec first_of(const struct sim *s, uint32_t host, uint32_t *event)
{
	const struct sim_host *h = &s->hosts[host];
	psec first = agenda_at(&s->agenda, s->first_wake + host);
	psec alarm = agenda_at(&s->agenda, s->first_alarm + host);

	*event = s->first_wake + host;
	if (alarm < first) {
		first = alarm;
		*event = s->first_alarm + host;
	}
	for (uint32_t i = 0; i < h->n_ports; i++) {
		uint32_t number = s->ports[h->first_port + i].peer;
		const struct sim_ring *wire = &s->ports[number].wire;
		psec at = wire->n ? ring_at(wire, 0)->word : PSEC_NEVER;
		uint32_t arrive = s->first_arrive + number;

		if (at < first || (at == first && arrive < *event)) {
			first = at;
			*event = arrive;
		}
		at = agenda_at(&s->agenda, h->first_port + i);
		if (at < first || (at == first && h->first_port + i < *event)) {
			first = at;
			*event = h->first_port + i;
		}
	}
	return first;
}

static ALWAYS_INLINE void fetch_host(const struct sim *s, uint32_t host)
{
	const struct sim_host *h = &s->hosts[host];

	fetch_lines(&s->ports[h->first_port], 3);
	fetch_lines(&s->ports[s->ports[h->first_port].peer], 1);
	fetch_lines(h->engine, ENGINE_LINES);
}

static void run_host(struct sim *s, uint32_t host, psec from, psec last)
{
	const struct sim_host *h = &s->hosts[host];
	uint32_t event;
	psec at;

	s->agenda.now = from;
	s->window_node = host;
	for (uint32_t i = 0; i < h->n_ports; i++) {
		struct sim_port *port = &s->ports[s->ports[h->first_port + i].peer];

		port_advance(s, port);
		for (uint32_t j = 0; j < AHEAD_HOST && j < port->wire.n; j++)
			fetch_lines(ring_at(&port->wire, j)->packet, 3);
	}
	if (host + 1 < s->n_hosts)
		fetch_host(s, host + 1);
	while ((at = first_of(s, host, &event)) <= last && at != PSEC_NEVER) {
		s->agenda.now = at;
		s->agenda.n_fired++;
		if (s->window_now < at)
			s->window_now = at;
		if (event >= s->first_arrive && event < s->first_wake) {
			struct sim_port *port = &s->ports[event - s->first_arrive];

			if (port->wire.n > AHEAD_HOST)
				fetch_lines(ring_at(&port->wire, AHEAD_HOST)->packet, 3);
			port_arrive(s, port, ring_pop(&port->wire).packet);
			continue;
		}
		agenda_cancel(&s->agenda, event);
		if (event < s->first_arrive)
			port_on_free(s, event);
		else
			node_on_event(s, event);
	}
	s->node_next[host] = at;
	s->window_node = UINT32_MAX;
}

static void run_group(struct sim *s, uint32_t group, psec from, psec last)
{
	uint32_t first = group * WINDOWS_GROUP, n_nodes = s->cfg.topology->n_nodes;
	uint32_t end = n_nodes - first < WINDOWS_GROUP ? n_nodes : first + WINDOWS_GROUP;
	psec next = PSEC_NEVER;

	for (uint32_t i = first; i < end; i++) {
		if (s->node_next[i] > last)
			continue;
		if (i < s->n_hosts)
			run_host(s, i, from, last);
		else
			run_switch(s, i, from, last);
	}
	/* Only now: they send to each other too. */
	for (uint32_t i = first; i < end; i++)
		next = psec_sooner(next, s->node_next[i]);
	s->group_next[group] = next;
}

void windows_run(struct sim *s, psec until)
{
	while (s->agenda.n_fired < s->pause_at) {
		psec from = next_of_all(s), last = psec_sooner(until, s->stop_at);

		if (from > last || from == PSEC_NEVER)
			return;
		/* Not beyond the moment at which sim_stop would end the run: that must leave no
		 * node ahead of another. */
		last = psec_sooner(last, psec_full_us(from));
		last = psec_sooner(last, from + s->window_ps - 1);
		s->window_last = last;
		s->window_now = s->agenda.now;
		for (uint32_t g = 0; g < n_groups(s); g++)
			if (s->group_next[g] <= last)
				run_group(s, g, from, last);
		s->agenda.now = s->window_now;
	}
}
