/* What a plan has of MRC's EVs and windows: which EVs are denied, when and which ports are down,
 * and the congestion controller. Drawn from a stream of its own. */
#include <stdio.h>

#include "expand.h"
#include "plan_mrc.h"

#define HEAD_BYTES   92u /* of a data packet at most, as windows count them (8.3.1) */
#define PLENTY_BYTES (UINT64_C(1) << 30)
#define EV_FAULTS    4096u
#define PROBES       256u
#define DENIES_EACH  6u
#define DOWNS_EACH   2u
#define Q32          (UINT64_C(1) << 32)

enum { STREAM_EVS = 201 };

/* The round trip of a packet through an idle fabric, the longest path. */
static nsec base_rtt_ns(const struct hunt_plan *s)
{
	static const uint32_t links[] = {1, 4, 6};
	const struct topology_link *link = &s->shape.links[0];
	uint32_t n = links[s->shape.kind];
	uint64_t bits = (s->pmtu + 2 * HEAD_BYTES) * UINT64_C(8);
	uint64_t each = link->delay_ps / PSEC_NS + bits * 1000000000 / link->rate_bps;

	return 2 * n * link->delay_ps / PSEC_NS + n * each +
	       2 * (n - 1) * (s->shape.switch_delay_ps / PSEC_NS);
}

/* Parameters other than the defaults now and then, all within their ranges. */
static void vary_nscc(struct prng *p, struct nscc_cfg *c)
{
	if (prng_chance(p, 1, 4))
		c->target_qdelay_ns = hunt_draw(p, 500, 20000);
	if (prng_chance(p, 1, 4))
		c->qa_threshold_ns = hunt_draw(p, 1000, 50000);
	if (prng_chance(p, 1, 4))
		c->adjust_period_ns = hunt_draw(p, 1000, 50000);
	if (prng_chance(p, 1, 4))
		c->adjust_bytes = c->mtu_bytes * hunt_draw(p, 1, 16);
	if (prng_chance(p, 1, 4))
		c->qa_gate = hunt_draw(p, 1, 6);
	if (prng_chance(p, 1, 4))
		c->max_wnd_bytes = c->mtu_bytes * hunt_draw(p, 1, 100);
	if (prng_chance(p, 1, 6))
		c->gamma_q32 = Q32 * hunt_draw(p, 1, 10) / 10;
	if (prng_chance(p, 1, 6))
		c->max_md_jump_q32 = Q32 * hunt_draw(p, 1, 10) / 10;
	c->has_no_quick_adapt = prng_chance(p, 1, 8);
}

/* A window that never binds, mostly, is what shows the controller's own. */
static void draw_cc(struct hunt_plan *s, struct prng *p)
{
	struct plan_mrc *m = s->own;
	struct cc_cfg *cc = &m->cc;
	nsec rtt = base_rtt_ns(s);

	m->rtt_ns = rtt;
	*cc = (struct cc_cfg){
		.kind = s->has_dcqcn ? CC_DCQCN : CC_FIXED,
		.window_bytes = s->window_bytes,
		.line_rate_bps = s->shape.links[0].rate_bps,
	};
	if (prng_chance(p, 1, 2))
		return;
	s->has_dcqcn = false;
	cc->kind = CC_NSCC;
	rtt = rtt * hunt_draw(p, 100, 150) / 100;
	cc->nscc = (struct nscc_cfg){
		.base_rtt_ns = rtt < NSCC_RTT_MIN_NS ? NSCC_RTT_MIN_NS : rtt,
		.mtu_bytes = s->pmtu + HEAD_BYTES,
		.has_trimming = s->is_trimming,
	};
	if (prng_chance(p, 1, 2))
		vary_nscc(p, &cc->nscc);
	if (prng_chance(p, 3, 4))
		cc->window_bytes = PLENTY_BYTES;
	else if (cc->window_bytes < cc->nscc.mtu_bytes)
		cc->window_bytes = cc->nscc.mtu_bytes;
}

static void draw_host(const struct hunt_plan *s, struct prng *p, struct plan_mrc_host *h)
{
	bool may_lack = !s->has_forgery;

	h->max_ev_faults = may_lack && prng_chance(p, 1, 6) ? hunt_draw(p, 1, 8) : EV_FAULTS;
	h->max_probes = may_lack && prng_chance(p, 1, 8) ? hunt_draw(p, 1, 8) : PROBES;
	h->has_base_probe = prng_chance(p, 1, 3);
}

static uint8_t ports_of(const struct plan_mrc_evs *w)
{
	uint8_t ports = 0;

	for (uint32_t i = 0; i < w->n; i++)
		ports |= (uint8_t)(1u << w->evs[i].port);
	return ports;
}

/* Some plans shut whatever they like, if an end may be silent for a while. */
static void draw_open_ports(struct hunt_plan *s, struct prng *p)
{
	struct plan_mrc *m = s->own;

	m->may_shut = s->n_faults > 0 && prng_chance(p, 1, 6);
	for (uint32_t e = 0; e < s->n_ends; e++)
		for (uint32_t i = 0; i < 2; i++)
			if (!(ports_of(&m->ends[e].evs[i]) & m->open_ports))
				m->open_ports |= (uint8_t)(1u << m->ends[e].evs[i].evs[0].port);
}

/* Whether no change may touch an EV: the first of those by an open port. */
static bool is_kept(const struct plan_mrc *m, const struct plan_mrc_evs *w, uint32_t ev)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (m->open_ports >> w->evs[i].port & 1)
			return i == ev;
	return false;
}

static uint8_t draw_ports(const struct hunt_plan *s, struct prng *p, bool is_for_ever)
{
	const struct plan_mrc *m = plan_mrc(s);
	uint32_t ports = hunt_draw(p, 0, (1u << s->shape.nic_ports) - 1);

	return (uint8_t)(ports & ~(is_for_ever || !m->may_shut ? m->open_ports : 0u));
}

static void draw_set(const struct hunt_plan *s, struct prng *p, struct plan_mrc_evs *w)
{
	const struct plan_mrc *m = plan_mrc(s);
	uint32_t share = prng_chance(p, 1, 4) ? hunt_draw(p, 1, 4) : 0;

	for (uint32_t i = 0; i < w->n; i++)
		if (prng_chance(p, share, 8) && !is_kept(m, w, i))
			w->denied[i / 64] |= UINT64_C(1) << i % 64;
	if (prng_chance(p, 1, 8))
		w->denied_ports = draw_ports(s, p, true);
	w->min_active = (uint16_t)(prng_chance(p, 1, 3) ? hunt_draw(p, 1, w->n) : 1);
}

static void draw_end(const struct hunt_plan *s, struct prng *p, struct plan_mrc_end *e)
{
	draw_set(s, p, &e->evs[0]);
	draw_set(s, p, &e->evs[1]);
	e->burst = (uint16_t)(prng_chance(p, 1, 4) ? hunt_draw(p, 1, 8) : hunt_draw(p, 0, 1));
	e->is_oblivious = prng_chance(p, 1, 8);
	e->denied_ports = prng_chance(p, 1, 8) ? draw_ports(s, p, true) : 0;
}

/* EVs denied and allowed again, of the controller's own will. */
static void draw_denials(struct hunt_plan *s, struct prng *p, uint32_t e)
{
	const struct plan_mrc *m = plan_mrc(s);
	struct plan_mrc_change c = {.end = e};
	uint32_t n = prng_chance(p, 1, 3) ? hunt_draw(p, 1, DENIES_EACH) : 0;
	uint32_t gap = s->is_slow ? 400000 : 60000;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t least = m->ends[e].evs[0].n < m->ends[e].evs[1].n ? m->ends[e].evs[0].n
									   : m->ends[e].evs[1].n;

		c.at += hunt_draw(p, 0, gap) * PSEC_NS;
		c.ev = (uint16_t)hunt_draw(p, 0, least - 1);
		c.what = prng_chance(p, 2, 3) ? PLAN_MRC_DENY : PLAN_MRC_ALLOW;
		if (is_kept(m, &m->ends[e].evs[0], c.ev) || is_kept(m, &m->ends[e].evs[1], c.ev))
			continue;
		plan_mrc_add(s, &c);
	}
	n = prng_chance(p, 1, 6) ? DOWNS_EACH : 0;
	c.at = 0;
	for (uint32_t i = 0; i < n; i++) {
		c.at += hunt_draw(p, 0, gap) * PSEC_NS;
		c.what = PLAN_MRC_PORTS;
		c.ports = i + 1 == n ? 0 : draw_ports(s, p, false);
		plan_mrc_add(s, &c);
	}
}

static bool has_restart(const struct hunt_plan *s)
{
	for (uint32_t i = 0; i < s->n_faults; i++)
		if (s->faults[i].kind == FAULT_RESTART)
			return true;
	return false;
}

/* Ports of a host go down, and all come up in the end. */
static void draw_downs(struct hunt_plan *s, struct prng *p, uint32_t host)
{
	struct plan_mrc_change c = {.what = PLAN_MRC_DOWN};
	uint32_t n = prng_chance(p, 1, 4) ? hunt_draw(p, 1, DOWNS_EACH) : 0;
	uint32_t gap = s->is_slow ? 500000 : 60000;

	while (c.end < s->n_ends && s->ends[c.end].host != host)
		c.end++;
	/* Without room to tell it nobody learns that they are up, nor after a restart. */
	if (c.end == s->n_ends || plan_mrc(s)->hosts[host].max_probes < PROBES || has_restart(s))
		return;
	for (uint32_t i = 0; i < 2 * n; i++) {
		c.at += hunt_draw(p, 0, gap) * PSEC_NS;
		c.ports = i % 2 == 0 ? draw_ports(s, p, false) : 0;
		plan_mrc_add(s, &c);
	}
}

void plan_mrc_draw_evs(struct hunt_plan *s)
{
	struct plan_mrc *m = s->own;
	struct prng p;

	prng_init(&p, s->seed, STREAM_EVS);
	draw_cc(s, &p);
	for (uint32_t h = 0; h < s->topology.n_hosts; h++)
		draw_host(s, &p, &m->hosts[h]);
	draw_open_ports(s, &p);
	for (uint32_t e = 0; e < s->n_ends; e++)
		draw_end(s, &p, &m->ends[e]);
	for (uint32_t e = 0; e < s->n_ends; e++)
		draw_denials(s, &p, e);
	for (uint32_t h = 0; h < s->topology.n_hosts; h++)
		draw_downs(s, &p, h);
}

static uint32_t n_denied(const struct plan_mrc_evs *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n; i++)
		n += (uint32_t)(w->denied[i / 64] >> i % 64 & 1);
	return n;
}

void plan_mrc_print_evs(const struct hunt_plan *s, uint32_t end)
{
	static const char *const kinds[] = {"fixed", "DCQCN", "NSCC"};
	const struct plan_mrc *m = plan_mrc(s);
	const struct plan_mrc_end *e = &m->ends[end];
	const struct plan_mrc_host *h = &m->hosts[s->ends[end].host];

	for (uint32_t i = 0; i < 2; i++)
		printf("    EVs %u: ports %02x, of them %02x denied; %u EVs denied, at least %u "
		       "in use\n",
		       i, ports_of(&e->evs[i]), e->evs[i].denied_ports | e->denied_ports,
		       n_denied(&e->evs[i]), e->evs[i].min_active);
	printf("    %u in a row%s; %s window of %llu B, base RTT %llu ns; room for %u EV faults, "
	       "%u probes%s\n",
	       e->burst, e->is_oblivious ? ", oblivious" : "", kinds[m->cc.kind],
	       (unsigned long long)m->cc.window_bytes, (unsigned long long)m->cc.nscc.base_rtt_ns,
	       h->max_ev_faults, h->max_probes, h->has_base_probe ? ", base probe" : "");
}
