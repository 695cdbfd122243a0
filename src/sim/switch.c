/* A frame at a switch: the forwarding decision, then admission to the queue it leads to, trimmed if
 * it must be (UE 4.1). */
#include "fwd/trim.h"
#include "sim/inside.h"

static void settle_all(struct sim *s, uint32_t node)
{
	const struct topology_node *n = &s->cfg.topology->nodes[node];

	for (uint32_t i = 0; i < n->n_ports; i++)
		port_settle(s, &s->ports[n->first_port + i]);
}

/* Ports that nobody looked at hold on to memory that has long been free. That matters only where
 * the memory might be the reason to refuse a packet. */
static void settle_memory(struct sim *s, const struct sim_port *out, const struct packet *p,
			  const struct fwd_class *c)
{
	const struct fwd_buffer *b = out->buffer;

	if (b->total_bytes && (c->alpha_eighths || b->used_bytes + p->len > b->total_bytes))
		settle_all(s, out->node);
}

/* Admission by the switch's rules, and by the bound of the link's own. */
static enum fwd_admission ask(const struct sim *s, const struct sim_port *out,
			      const struct packet *p)
{
	const struct fwd_qos *qos = &s->cfg.qos;
	const struct sim_ring *q = &out->queues[qos->dscps[p->dscp].tclass];

	if (out->most_queued_bytes && out->queued_bytes + p->len > out->most_queued_bytes)
		return FWD_NO_MEMORY;
	return fwd_admit(qos, out->buffer, q->bytes, p->dscp, p->len);
}

/* Cuts a packet that was not admitted; false when it cannot be cut. */
static bool cut(struct sim *s, const struct sim_port *out, struct packet *p)
{
	const struct fwd_qos *qos = &s->cfg.qos;
	struct fwd_frame f = packet_frame(p);
	struct fwd_view view;

	if (fwd_view_get(&f, &view) != FWD_DROP_NONE || !fwd_trim_may(qos, &view))
		return false;
	fwd_trim(qos, &f, &view, out->link.is_edge);
	packet_set_frame(p, &f);
	p->dscp = view.dscp;
	return true;
}

static void admit(struct sim *s, struct sim_port *out, struct packet *p)
{
	const struct fwd_qos *qos = &s->cfg.qos;

	port_settle(s, out);
	settle_memory(s, out, p, &qos->classes[qos->dscps[p->dscp].tclass]);
	enum fwd_admission answer = ask(s, out, p);
	bool is_cut = answer != FWD_ADMIT && cut(s, out, p);

	if (is_cut) {
		settle_memory(s, out, p, &qos->classes[qos->dscps[p->dscp].tclass]);
		answer = ask(s, out, p);
	}
	if (answer != FWD_ADMIT) {
		sim_drop(s, out, p,
			 is_cut                         ? SIM_DROP_TRIMMED_THRESHOLD
			 : answer == FWD_OVER_THRESHOLD ? SIM_DROP_THRESHOLD
							: SIM_DROP_MEMORY);
		return;
	}
	if (is_cut) {
		out->counts.trimmed++;
		s->totals.trimmed++;
		sim_trace(s, SIM_TRIMMED, port_number(s, out), s->agenda.now, shape_of(p));
	}
	port_enqueue(s, out, p);
}

void switch_send(struct sim *s, struct sim_port *out, struct packet *p)
{
	if (out->odd && out->is_down)
		sim_drop(s, out, p, SIM_DROP_LINK_DOWN);
	else
		admit(s, out, p);
}

/* Decides about a packet by its bytes. NULL: it came to an end here. */
static struct sim_port *decide(struct sim *s, uint32_t in_port, struct packet *p)
{
	const struct topology *t = s->cfg.topology;
	uint32_t node = s->ports[in_port].node;
	const struct fwd_switch *sw = &s->cfg.routing->switches[node - t->n_hosts];
	struct fwd_frame f = packet_frame(p);
	struct fwd_view view;
	struct fwd_verdict verdict = fwd_switch_forward(sw, &f, &view);

	if (verdict.multicast && s->cfg.groups) {
		groups_receive(s, in_port, p);
		return NULL;
	}
	verdict.local |= verdict.multicast;
	if (verdict.drop != FWD_DROP_NONE || verdict.local) {
		sim_drop(s, &s->ports[in_port], p,
			 verdict.local ? (uint32_t)SIM_DROP_HOST_ADDRESS : (uint32_t)verdict.drop);
		return NULL;
	}
	if (f.at != p->head + p->start || f.len != p->len)
		packet_set_frame(p, &f);
	p->dscp = view.dscp;
	return &s->ports[t->nodes[node].first_port + verdict.port];
}

void switch_receive(struct sim *s, uint32_t in_port, struct packet *p)
{
	struct sim_port *out;

	if (p->hops) {
		uint32_t node = s->ports[in_port].node;

		out = &s->ports[s->cfg.topology->nodes[node].first_port +
				routing_hop_take(&p->hops)];
		fwd_switch_pass(&out->link, p->head + p->start);
	} else {
		out = decide(s, in_port, p);
		if (!out)
			return;
	}
	p->in_port = in_port;
	switch_send(s, out, p);
}

void sim_switch_clear(struct sim *s, uint32_t node)
{
	const struct topology_node *n = &s->cfg.topology->nodes[node];

	settle_all(s, node);
	for (uint32_t i = 0; i < n->n_ports; i++)
		port_clear(s, &s->ports[n->first_port + i], SIM_DROP_REBOOT);
	if (s->cfg.groups)
		groups_restart(s, node);
}
