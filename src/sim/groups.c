#include "sim/groups.h"

#include <assert.h>
#include <string.h>

#include "sim/inside.h"

/* One packet at a node of a tree. */
struct visit {
	struct sim *s;
	uint32_t node, in_port;
	struct packet *p;
};

static struct groups_node *node_at(const struct sim *s, uint32_t node)
{
	return &s->cfg.groups->nodes[node - s->cfg.topology->n_hosts];
}

/* A packet of bytes that are in memory as a whole; NULL without memory. */
static struct packet *packet_of(struct sim *s, const uint8_t *frame, uint32_t len)
{
	struct packet *p = packet_get(&s->packets);
	uint32_t room = s->packets.head_bytes;

	if (!p)
		return NULL;
	p->len = len;
	p->stored = (uint16_t)(len < room ? len : room);
	p->is_real = true;
	memcpy(p->head, frame, p->stored);
	if (len == p->stored)
		return p;
	if (!packet_add_body(p, len - p->stored)) {
		packet_put(&s->packets, p);
		return NULL;
	}
	memcpy(p->body->bytes, frame + p->stored, len - p->stored);
	return p;
}

/* A copy whose bytes behind its front are those of the original, known to be right: so is its seal,
 * which is computed when somebody looks. */
static struct packet *share(struct sim *s, const struct packet *p, const struct mt_copy *c,
			    const uint8_t *front)
{
	struct packet *copy = packet_get(&s->packets);

	if (!copy)
		return NULL;
	assert(c->from <= p->stored && !c->has_checksum);
	uint32_t rest = p->stored - c->from;

	assert(c->front_len + rest <= s->packets.head_bytes);
	memcpy(copy->head, front, c->front_len);
	memcpy(copy->head + c->front_len, p->head + p->start + c->from, rest);
	copy->len = c->len;
	copy->stored = (uint16_t)(c->front_len + rest);
	copy->body = p->body;
	if (copy->body)
		copy->body->refs++;
	return copy;
}

/* A copy of a packet that somebody has changed: its seal is as right or as wrong as it was (T-13).
 */
static struct packet *rewrite(struct sim *s, const struct mt_copy *c, const uint8_t *front)
{
	const struct sim_groups *g = s->cfg.groups;

	memcpy(g->copy, front, c->front_len);
	memcpy(g->copy + c->front_len, g->frame + c->from, c->len - c->front_len);
	mt_copy_finish(c, g->copy);
	return packet_of(s, g->copy, c->len);
}

/* Sends what a node made; port is the node's own number of it. */
static void emit(const struct visit *v, struct packet *p, enum sim_trace what, uint16_t port)
{
	struct sim *s = v->s;
	uint32_t number = s->cfg.topology->nodes[v->node].first_port + port;
	struct fwd_frame f = packet_frame(p);
	struct fwd_view view;
	enum fwd_drop drop = fwd_view_get(&f, &view);

	assert(drop == FWD_DROP_NONE);
	p->dscp = view.dscp;
	p->in_port = v->in_port;
	p->carrier = s->by.place & (CARRIERS_MAX - 1u);
	sim_trace(s, what, number, s->agenda.now, shape_of(p));
	switch_send(s, &s->ports[number], p);
}

static void count_lost(struct sim *s)
{
	s->totals.drops[SIM_DROP_NO_HOST_MEMORY]++;
}

static void replicate(const struct visit *v, struct mt_result *r)
{
	struct mt_node *n = &node_at(v->s, v->node)->mt;
	uint8_t front[MT_FRONT_MAX];
	struct mt_copy c;

	while (mt_node_copy(n, r, &c, front)) {
		struct packet *p =
			v->p->is_real ? rewrite(v->s, &c, front) : share(v->s, v->p, &c, front);

		v->s->totals.replicated++;
		if (p)
			emit(v, p, SIM_REPLICATED, c.port);
		else
			count_lost(v->s);
	}
}

/* An answer or CNP of the node's own, whose seal is right: its bytes need not be kept. */
static void answer(const struct visit *v, const uint8_t *frame, uint32_t len, uint16_t port)
{
	struct sim *s = v->s;

	if (len == 0)
		return;
	struct packet *p = packet_get(&s->packets);

	s->totals.answered++;
	if (!p) {
		count_lost(s);
		return;
	}
	p->len = len;
	p->stored = (uint16_t)(len - s->by.tail_bytes);
	memcpy(p->head, frame, p->stored);
	emit(v, p, SIM_ANSWERED, port);
}

static void open_window(struct sim *s, uint32_t node, uint32_t group)
{
	struct groups_node *n = node_at(s, node);
	uint32_t place = (n->first_window + n->n_windows) % n->mt.n_groups;
	psec end = s->agenda.now + s->cfg.groups->window_ps;

	assert(n->n_windows < n->mt.n_groups);
	n->windows[place] = (struct groups_window){end, group};
	if (n->n_windows++ == 0)
		sim_arm(s, s->first_alarm + node, node, end);
}

/* Sends up what a packet or the end of a window leads to; what a node makes came in by no port. */
static void speak(struct sim *s, uint32_t node, const struct mt_group *g, const struct mt_out *out)
{
	struct mt_node *n = &node_at(s, node)->mt;
	const struct visit v = {.s = s, .node = node, .in_port = UINT32_MAX};
	uint8_t frame[MT_ANSWER_MAX];
	uint16_t port = 0;

	if (out->has_answer) {
		uint32_t len = mt_node_answer(n, g, &out->answer, frame, &port);

		answer(&v, frame, len, port);
	}
	if (out->has_cnp) {
		uint32_t len = mt_node_cnp(n, g, frame, &port);

		answer(&v, frame, len, port);
	}
	if (out->opens_window)
		open_window(s, node, (uint32_t)(g - n->groups));
}

/* Shows a packet to the node, all of its bytes if they may be wrong. */
static enum fwd_drop show(const struct visit *v, struct mt_result *r)
{
	struct sim *s = v->s;
	struct fwd_frame f = packet_frame(v->p);
	struct fwd_view view;
	struct mt_input in = {
		.in_port = (uint16_t)(v->in_port - s->cfg.topology->nodes[v->node].first_port),
		.frame = &f,
		.view = &view,
		.is_known_good = !v->p->is_real,
	};

	if (v->p->is_real) {
		packet_bytes(v->p, &s->net.carriers, s->cfg.groups->frame);
		f = (struct fwd_frame){s->cfg.groups->frame, f.len, f.len};
	}
	enum fwd_drop drop = fwd_view_get(&f, &view);

	if (drop == FWD_DROP_NONE)
		mt_node_take(&node_at(s, v->node)->mt, &in, r);
	return drop;
}

void groups_receive(struct sim *s, uint32_t in_port, struct packet *p)
{
	const struct visit v = {s, s->ports[in_port].node, in_port, p};
	struct mt_result r;

	enum fwd_drop drop = show(&v, &r);

	if (drop != FWD_DROP_NONE) {
		sim_drop(s, &s->ports[in_port], p, drop);
		return;
	}
	if (r.is_request)
		replicate(&v, &r);
	if (r.group)
		speak(s, v.node, r.group, &r.out);
	if (r.drop != MT_DROP_NONE) {
		sim_drop(s, &s->ports[in_port], p, SIM_DROP_GROUP);
		return;
	}
	s->totals.absorbed++;
	sim_trace(s, SIM_ABSORBED, in_port, s->agenda.now, shape_of(p));
	packet_put(&s->packets, p);
}

void groups_on_alarm(struct sim *s, uint32_t node)
{
	struct groups_node *n = node_at(s, node);

	while (n->n_windows && n->windows[n->first_window].end <= s->agenda.now) {
		struct mt_group *g = &n->mt.groups[n->windows[n->first_window].group];
		struct mt_out out;

		n->first_window = (n->first_window + 1) % n->mt.n_groups;
		n->n_windows--;
		mt_merge_window(&g->merge, &out);
		speak(s, node, g, &out);
	}
	if (n->n_windows)
		sim_arm(s, s->first_alarm + node, node, n->windows[n->first_window].end);
}

static void forget(struct mt_group *g)
{
	struct mt_merge_cfg cfg = g->merge.cfg;
	struct mt_branch_state *states = g->merge.branches;

	cfg.has_start = false;
	mt_merge_init(&g->merge, &cfg, states);
	g->pkey = 0;
	for (uint32_t i = 0; i < g->n_by_address; i++) {
		g->branches[g->by_address[i]].pkey = 0;
		mt_merge_join(&g->merge, g->by_address[i]);
	}
}

void groups_restart(struct sim *s, uint32_t node)
{
	struct groups_node *n = node_at(s, node);

	for (uint32_t i = 0; i < n->mt.n_groups; i++)
		forget(&n->mt.groups[i]);
	n->n_windows = 0;
	sim_arm(s, s->first_alarm + node, node, PSEC_NEVER);
}
