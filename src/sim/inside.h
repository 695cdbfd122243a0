/* Between the files of the simulator's core; nobody else includes this. */
#ifndef WEFT_SIM_INSIDE_H
#define WEFT_SIM_INSIDE_H

#include "sim/groups.h"
#include "sim/sim.h"
#include "sim/window.h"

/* What the trace hash tells apart. */
enum sim_trace {
	SIM_INJECTED,
	SIM_SENT,
	SIM_TRIMMED,
	SIM_DELIVERED,
	SIM_DROPPED,
	SIM_REPLICATED,
	SIM_ANSWERED,
	SIM_ABSORBED,
};

/* What is asked of a packet most often, in one word: its DSCP above its length. */
static inline uint64_t shape_of(const struct packet *p)
{
	return (uint64_t)p->dscp << 32 | p->len;
}

/* Adds one event to the run's hash, by the shape of its packet. A sum, so that it does not matter
 * in which order ports are brought up to date, only what they did and when. */
static inline void sim_trace(struct sim *s, enum sim_trace what, uint32_t where, psec at,
			     uint64_t shape)
{
	uint64_t h = at ^ (uint64_t)where << 40 ^ (uint64_t)what << 37;

	h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	h ^= shape;
	h = (h ^ h >> 32) * UINT64_C(0x94d049bb133111eb);
	s->trace_hash += h ^ h >> 31;
}

static inline uint32_t port_number(const struct sim *s, const struct sim_port *port)
{
	return (uint32_t)(port - s->ports);
}

/* Arms an event of a port or node, which happens to the node given. */
static inline void sim_arm(struct sim *s, uint32_t event, uint32_t node, psec at)
{
	if (!s->is_windowed) {
		agenda_arm(&s->agenda, event, at);
		return;
	}
	agenda_note(&s->agenda, event, at);
	windows_expect(s, node, at);
}

/* Brings a port up to date: every packet that should have started by now has. To be called before
 * its queues are looked at or anything about it changes. */
void port_settle(struct sim *s, struct sim_port *port);

/* The same for a port that nothing is special about; does nothing to others. */
void port_advance(struct sim *s, struct sim_port *port);

/* Puts a packet into a settled port's queue of its class, and sends it if the port is free. */
void port_enqueue(struct sim *s, struct sim_port *port, struct packet *p);

/* Puts a PFC frame in front of everything. */
void port_send_control(struct sim *s, struct sim_port *port, struct packet *p);

/* The other end paused or released some classes. */
void port_on_pause(struct sim *s, struct sim_port *port);

/* Events: the transmitter is free; a packet arrives at the other end; a packet held back does. */
void port_on_free(struct sim *s, uint32_t port);
void port_on_arrive(struct sim *s, uint32_t port);
void port_on_late(struct sim *s, uint32_t port, struct packet *p);

/* A packet that came by the link of `port` has arrived at its other end. */
void port_arrive(struct sim *s, const struct sim_port *port, struct packet *p);

/* Gives up everything that was held back on the link of a port. */
void sim_drop_late(struct sim *s, uint32_t port);

/* Gives up everything queued at a port. */
void port_clear(struct sim *s, struct sim_port *port, uint32_t reason);

/* A frame has arrived at a switch, or at a host; the receiver owns it. */
void switch_receive(struct sim *s, uint32_t in_port, struct packet *p);
void host_receive(struct sim *s, uint32_t in_port, struct packet *p);

/* A switch sends a packet out by one of its ports: admission, trimmed if it must be. */
void switch_send(struct sim *s, struct sim_port *out, struct packet *p);

/* Bytes of a class that came in by a port entered or left this node's memory: pause or release.
 * What a switch made itself came in by none, UINT32_MAX. */
void pfc_on_stored(struct sim *s, uint32_t in_port, uint32_t tclass, uint32_t bytes);
void pfc_on_freed(struct sim *s, uint32_t in_port, uint32_t tclass, uint32_t bytes);

/* True when the frame was a PFC frame, which is used up. */
bool pfc_receive(struct sim *s, uint32_t in_port, struct packet *p);

/* Lets an engine send what it may, deliver what is done and name its next moment. has_news:
 * something other than a free port may have completed work. */
void host_pump(struct sim *s, uint32_t host, bool has_news);

/* A node's own event: its alarm, or a host's deadline. */
static inline void node_on_event(struct sim *s, uint32_t event)
{
	if (event < s->first_alarm)
		host_pump(s, event - s->first_wake, true);
	else if (s->cfg.groups && event >= s->first_alarm + s->n_hosts)
		groups_on_alarm(s, event - s->first_alarm);
	else
		s->cfg.hooks.alarm(s->cfg.hooks.context, s, event - s->first_alarm);
}

int host_init(struct sim *s, uint32_t host);
void host_fini(struct sim *s, uint32_t host);

#endif
