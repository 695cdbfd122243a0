/* Priority flow control: a switch that holds too many bytes of a class from one neighbour pauses
 * that neighbour's transmitter, and lets it go once they left (IEEE 802.1Q clause 36). */
#include "base/bytes.h"
#include "sim/inside.h"

#define QUANTA_MAX 0xffffu

/* How long the longest pause lasts at the rate of a link: quanta are 512 bit times. */
static psec pause_time(const struct sim_port *port, uint32_t quanta)
{
	return (psec)quanta * psec_of_bytes(64, port->rate_bps);
}

static void say(struct sim *s, uint32_t in_port, uint32_t tclass, uint16_t quanta)
{
	struct sim_port *port = &s->ports[in_port];
	struct packet *p = packet_get(&s->packets);
	struct fwd_pause pause = {.classes = (uint8_t)(1u << tclass)};

	if (!p)
		return;
	pause.quanta[tclass] = quanta;
	fwd_pfc_put(p->head, s->cfg.routing->macs[in_port], &pause);
	p->stored = PFC_FRAME_BYTES;
	p->len = PFC_FRAME_BYTES;
	p->is_real = true;
	p->is_pause = true;
	port->counts.pauses_sent++;
	s->totals.pauses++;
	port->pfc->sent_at[tclass] = quanta ? s->agenda.now : PSEC_NEVER;
	port_send_control(s, port, p);
}

void pfc_on_stored(struct sim *s, uint32_t in_port, uint32_t tclass, uint32_t bytes)
{
	if (in_port == UINT32_MAX || !s->cfg.qos.classes[tclass].pfc_xoff_bytes)
		return;
	struct sim_port *port = &s->ports[in_port];

	port->pfc->came_in[tclass] += bytes;
	if (port->pfc->came_in[tclass] <= s->cfg.qos.classes[tclass].pfc_xoff_bytes)
		return;
	psec sent_at = port->pfc->sent_at[tclass];

	/* A pause runs out by itself: say it again half-way while it still holds. */
	if (sent_at == PSEC_NEVER || s->agenda.now - sent_at > pause_time(port, QUANTA_MAX) / 2)
		say(s, in_port, tclass, QUANTA_MAX);
}

void pfc_on_freed(struct sim *s, uint32_t in_port, uint32_t tclass, uint32_t bytes)
{
	if (in_port == UINT32_MAX || !s->cfg.qos.classes[tclass].pfc_xoff_bytes)
		return;
	struct sim_port *port = &s->ports[in_port];

	port->pfc->came_in[tclass] -= bytes;
	if (port->pfc->sent_at[tclass] == PSEC_NEVER)
		return;
	if (port->pfc->came_in[tclass] <= s->cfg.qos.classes[tclass].pfc_xon_bytes)
		say(s, in_port, tclass, 0);
	else if (s->agenda.now - port->pfc->sent_at[tclass] > pause_time(port, QUANTA_MAX) / 2)
		say(s, in_port, tclass, QUANTA_MAX);
}

bool pfc_receive(struct sim *s, uint32_t in_port, struct packet *p)
{
	struct sim_port *port = &s->ports[in_port];
	struct fwd_frame f = packet_frame(p);
	struct fwd_pause pause;

	if (!fwd_pfc_get(&f, &pause) || !port->pfc)
		return false;
	packet_put(&s->packets, p);
	port_settle(s, port);
	for (uint32_t c = 0; c < s->cfg.qos.n_classes; c++) {
		if (!(pause.classes & 1u << c))
			continue;
		port->pfc->paused_until[c] = s->agenda.now + pause_time(port, pause.quanta[c]);
		if (pause.quanta[c])
			port->paused |= 1u << c;
		else
			port->paused &= ~(1u << c);
	}
	port_on_pause(s, port);
	return true;
}
