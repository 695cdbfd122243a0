/* EVs and ports out of use, and their way back.
 *
 * A lost packet takes its EV out at once. What follows tells four things apart:
 *
 * One EV that drops some packets. It comes back after a train of `need` probes that all arrive. An
 * EV that drops a fifth passes NEED_STRICT = 40 of them with probability 0.8^40 = 1.3e-4, and each
 * train that failed half-way asks for four more: 2.2e-4 for all trains together, however long it
 * drops. An EV that drops 5 % passes 40 in 13 % of trains; it is caught again after 20 packets, and
 * each time it went out within memory_ns asks for eight more, up to NEED_MAX = 120: 0.2 %. The
 * first probe of a train goes alone, so that a dead EV costs one probe for each back-off, which
 * doubles; the others go WINDOW at a time, so that a train takes six round trips.
 *
 * Loss everywhere. Then many EVs have records at a time, each a mark against nothing: with more
 * than a quarter of the EVs known, a train is NEED_LENIENT probes, unless this EV went out more
 * than twice as often as they did on average. Out of use are then about loss rate x packet rate x 2
 * round trips of the EVs: with 64 EVs, 12 million packets a second, 1 % lost and 10 us, 4 %. At a
 * loss that stays below that quarter, strict trains cost less than the same. Whatever the figures,
 * of the EVs that are not dead for all we know not more than a quarter and one stays out: the one
 * that is out longest comes back on trial. Dead is one of which a packet and two probes were lost
 * and none since was clean: by a loss of 20 % everywhere it is so in less than 1 % of cases.
 *
 * A dead plane. Of a port, packets of several EVs are lost, and none arrives that was sent after
 * the first of them. A full queue also drops, but it drains: what is sent behind a drop and meets
 * room arrives, long before the drop is noticed. With a chance q for a packet to be dropped, four
 * EVs in a row are q^4; two, with nothing arriving for suspect_ns, q^2 at a low rate; and a port
 * taken out for nothing is back after two round trips. Where packets are so few that no others
 * would tell, another EV of the port is probed as a witness. If nothing arrives by other ports
 * either, it is not the port. One clean probe (more where the port failed lately) ends it, and then
 * all its EVs are probed at once, one clean probe each.
 *
 * Which of the others are as bad. The more EVs packets take, the fewer take each, and the later it
 * shows: of 256 with a sixteenth that drops a fifth the last is found after 250 us at 400 Gb/s, of
 * 64 after 50. So a port of which two EVs have records is used by about PATH_FEW of the profile's
 * EVs only (path_narrow), until all but one are forgotten. One record alone is most often that of
 * a packet that only came late.
 *
 * Too little left. Never fewer usable EVs than the profile's min_active: when one more would go,
 * the EV or port that is out longest comes back on trial. */
#include <assert.h>
#include <string.h>

#include "path/state.h"

#define NEED_STRICT   40u
#define NEED_PARTIAL  4u
#define NEED_FAIL     8u
#define NEED_MAX      120u
#define NEED_LENIENT  2u
#define NEED_PORT_MAX 8u
#define WINDOW        8u
#define SILENT        3u /* losses and failed probes, and nothing else: the EV is dead */
#define FAILS_MAX     200u
#define PORT_LOSSES   4u
#define DOUBLINGS_MAX 16u
#define KNOWN_DIVISOR 4u /* more of the EVs in the records than 1 / this: loss is general */
#define SHARE_DIVISOR 4u /* most of the EVs that may be out on suspicion alone */

enum kind {
	EV_OUT,     /* assumed bad, and probed */
	EV_BACK,    /* usable again, remembered */
	PORT_WATCH, /* usable; under suspicion, or remembered */
	PORT_DEAD,  /* out, and probed */
	PORT_SWEEP, /* each of its EVs waits for a probe of its own */
};

/* What there is to know of all EVs of a sender that have records. */
struct survey {
	uint32_t n, fails;
	uint32_t n_suspects;           /* out, and not known to be dead */
	struct path_ev_fault *suspect; /* the one of them that is out longest */
};

static bool is_of_port(const struct path_ev_fault *r)
{
	return r->kind >= PORT_WATCH;
}

static uint32_t port_of(const struct path *p, const struct path_ev_fault *r)
{
	return is_of_port(r) ? r->at : path_port(p, r->at);
}

static struct path_ev_fault *find(const struct path *p, bool is_port, uint32_t at)
{
	struct path_ev_fault *r = p->head;

	while (r && (r->at != at || is_of_port(r) != is_port))
		r = r->next;
	return r;
}

bool path_is_silent(const struct path *p, uint32_t ev)
{
	const struct path_ev_fault *r = path_bit(p, PATH_OUT, ev) ? find(p, false, ev) : NULL;

	return r && r->kind == EV_OUT && r->silent >= SILENT;
}

static void unlink_record(struct path *p, struct path_ev_fault *r)
{
	*(r->prev ? &r->prev->next : &p->head) = r->next;
	*(r->next ? &r->next->prev : &p->tail) = r->prev;
}

static void link_last(struct path *p, struct path_ev_fault *r)
{
	r->prev = p->tail;
	r->next = NULL;
	*(p->tail ? &p->tail->next : &p->head) = r;
	p->tail = r;
}

/* Several EVs of a port have records: its rounds are narrow. */
static void narrow(struct path *p)
{
	uint32_t once = 0, more = 0;

	for (const struct path_ev_fault *r = p->head; r; r = r->next)
		if (!is_of_port(r)) {
			uint32_t bit = 1u << path_port(p, r->at);

			more |= once & bit;
			once |= bit;
		}
	if (more != p->narrow)
		path_narrow(p, more);
}

static void drop(struct path *p, struct path_ev_fault *r)
{
	unlink_record(p, r);
	pool_put(p->cfg->ev_faults, r);
	narrow(p);
}

/* The record moves behind all others: it is the newest. */
static void turn(struct path *p, struct path_ev_fault *r, enum kind kind, nsec now)
{
	unlink_record(p, r);
	link_last(p, r);
	r->kind = (uint8_t)kind;
	r->since = now;
}

/* A record for an EV or port that has none. When the pool is empty, one that only remembers goes.
 */
static struct path_ev_fault *new_record(struct path *p, enum kind kind, uint32_t at)
{
	struct pool *pool = p->cfg ? p->cfg->ev_faults : NULL;
	struct path_ev_fault *r = pool ? pool_get(pool) : NULL;

	if (!r && pool) {
		r = p->head;
		while (r && r->kind != EV_BACK && (r->kind != PORT_WATCH || r->losses > 0))
			r = r->next;
		if (!r)
			return NULL;
		unlink_record(p, r);
	}
	if (!r)
		return NULL;
	memset(r, 0, sizeof *r);
	r->kind = (uint8_t)kind;
	r->at = (uint16_t)at;
	r->due = NSEC_NEVER;
	link_last(p, r);
	return r;
}

static void survey(const struct path *p, struct survey *s)
{
	*s = (struct survey){0};
	for (struct path_ev_fault *r = p->head; r; r = r->next) {
		if (is_of_port(r))
			continue;
		s->n++;
		s->fails += r->fails;
		if (r->kind != EV_OUT || r->silent >= SILENT ||
		    (path_shut(p) | p->dead) >> port_of(p, r) & 1)
			continue;
		s->n_suspects++;
		if (!s->suspect)
			s->suspect = r;
	}
}

static uint32_t need_of(const struct path *p, const struct path_ev_fault *r)
{
	struct survey s;

	survey(p, &s);
	if (s.n * KNOWN_DIVISOR > path_spread(p) && r->fails <= 2 * (s.fails / s.n) + 2)
		return NEED_LENIENT;
	uint32_t need = NEED_STRICT + NEED_PARTIAL * r->partials + NEED_FAIL * (r->fails - 1u);

	return need < NEED_MAX ? need : NEED_MAX;
}

static void start_train(struct path *p, struct path_ev_fault *r, uint32_t need, nsec due)
{
	r->need = (uint8_t)need;
	r->sent = r->clean = 0;
	r->tag = ++p->tags;
	r->due = due;
}

static nsec backoff(const struct path *p, struct path_ev_fault *r)
{
	nsec most = is_of_port(r) ? p->cfg->backoff_port_ns : p->cfg->backoff_max_ns;
	nsec wait = p->cfg->backoff_ns << r->backoffs;

	if (r->backoffs < DOUBLINGS_MAX)
		r->backoffs++;
	return wait < most ? wait : most;
}

/* Only the proportions of fails count: when one reaches its end, all are halved. */
static void count_fail(struct path *p, struct path_ev_fault *r)
{
	if (++r->fails < FAILS_MAX)
		return;
	for (struct path_ev_fault *other = p->head; other; other = other->next)
		other->fails = (uint8_t)((other->fails + 1) / 2);
}

static void count_silent(struct path_ev_fault *r)
{
	if (r->silent < UINT8_MAX)
		r->silent++;
}

static void come_back(struct path *p, struct path_ev_fault *r, bool is_marked, nsec now)
{
	turn(p, r, EV_BACK, now);
	r->due = now + p->cfg->memory_ns;
	path_put_bit(p, PATH_MARK, r->at, is_marked);
	path_put_out(p, r->at, false);
}

void path_kick(struct path *p, uint32_t ports, nsec now)
{
	for (struct path_ev_fault *r = p->head; r; r = r->next)
		if (ports >> port_of(p, r) & 1 && r->kind != EV_BACK && r->kind != PORT_WATCH &&
		    r->due != NSEC_NEVER && r->due > now)
			r->due = now;
}

static void set_suspect(struct path *p, struct path_ev_fault *r, bool is_suspect)
{
	uint32_t bit = 1u << r->at;

	p->suspect = (uint8_t)(is_suspect ? p->suspect | bit : p->suspect & ~bit);
}

/* A port as it was before it died, on trial. */
static void revive_port(struct path *p, struct path_ev_fault *r, nsec now)
{
	turn(p, r, PORT_WATCH, now);
	r->losses = 0;
	r->due = now + p->cfg->memory_ns;
	set_suspect(p, r, false);
	p->dead = (uint8_t)(p->dead & ~(1u << r->at));
	p->has_news = true;
	path_refresh(p, r->at);
	path_kick(p, 1u << r->at, now);
}

/* Those that wait for the sweep of their port wait no longer. */
static void release_unswept(struct path *p, uint32_t port)
{
	uint32_t ev = p->profile->first[port];

	while ((ev = path_find_bits(p, port, ev, true, false)) != PATH_NONE)
		path_put_out(p, ev++, false);
}

/* Brings back what is out longest, but not this port; false: there is nothing. */
static bool revive_oldest(struct path *p, uint32_t but_port, nsec now)
{
	for (struct path_ev_fault *r = p->head; r; r = r->next) {
		uint32_t port = port_of(p, r);

		if (path_shut(p) >> port & 1)
			continue;
		if (r->kind == EV_OUT && port != but_port && !(p->dead >> port & 1)) {
			come_back(p, r, false, now);
			return true;
		}
		if ((r->kind == PORT_DEAD || r->kind == PORT_SWEEP) && port != but_port) {
			release_unswept(p, port);
			revive_port(p, r, now);
			return true;
		}
	}
	return false;
}

void path_uphold(struct path *p, nsec now)
{
	while (path_usable(p, p->open) < p->profile->min_active)
		if (!revive_oldest(p, PATH_ANY_PORT, now))
			return;
}

/* False: the EV is only skipped. It had no record or one of kind EV_BACK, r. */
static bool take_out(struct path *p, uint32_t ev, struct path_ev_fault *r, nsec now)
{
	if (path_usable(p, p->open) <= p->profile->min_active &&
	    !revive_oldest(p, PATH_ANY_PORT, now)) {
		path_on_marked(p, ev);
		return false;
	}
	if (!r)
		r = new_record(p, EV_OUT, ev);
	if (!r) {
		path_on_marked(p, ev);
		return false;
	}
	turn(p, r, EV_OUT, now);
	count_fail(p, r);
	count_silent(r);
	r->partials = r->backoffs = 0;
	start_train(p, r, need_of(p, r), now);
	path_put_out(p, ev, true);
	path_put_bit(p, PATH_MARK, ev, true);
	narrow(p);
	return true;
}

/* Brings back the oldest suspect if there are too many. */
static void limit_suspects(struct path *p, nsec now)
{
	struct survey s;

	survey(p, &s);
	if (s.n_suspects > 1 + path_spread(p) / SHARE_DIVISOR)
		come_back(p, s.suspect, false, now);
}

/* Takes out an EV that is usable, whether or not it has a record. */
static void suspect_ev(struct path *p, uint32_t ev, nsec now)
{
	if (take_out(p, ev, find(p, false, ev), now))
		limit_suspects(p, now);
}

/* EVs that went out with the port did so because of it; those that wait for its sweep, too. */
static void absolve(struct path *p, const struct path_ev_fault *port)
{
	struct path_ev_fault *next;

	for (struct path_ev_fault *r = p->head; r; r = next) {
		next = r->next;
		if (r->kind != EV_OUT || path_port(p, r->at) != port->at ||
		    r->since < port->found_at || r->fails > 1)
			continue;
		path_put_bit(p, PATH_MARK, r->at, false);
		path_put_out(p, r->at, false);
		drop(p, r);
	}
	release_unswept(p, port->at);
}

/* Takes a port out, if packets get through by others and enough EVs are left there. */
static bool kill_port(struct path *p, struct path_ev_fault *r, nsec now)
{
	uint32_t others = p->open & ~(1u << r->at);

	if (!(others & ~(uint32_t)p->suspect))
		return false;
	while (path_usable(p, p->open & ~(1u << r->at)) < p->profile->min_active)
		if (!revive_oldest(p, r->at, now))
			return false;
	absolve(p, r);
	turn(p, r, PORT_DEAD, now);
	count_fail(p, r);
	r->backoffs = 0;
	r->next_ev = (uint16_t)(path_draw(p) % p->profile->set.n);
	start_train(p, r, r->fails < NEED_PORT_MAX ? r->fails : NEED_PORT_MAX, now);
	p->dead = (uint8_t)(p->dead | 1u << r->at);
	p->has_news = true;
	path_refresh(p, r->at);
	return true;
}

static bool judge_port(struct path *p, struct path_ev_fault *r, nsec now)
{
	bool is_dead = r->losses >= PORT_LOSSES ||
		       (r->losses >= 2 &&
			(p->lanes[r->at].usable <= 1 || now - r->found_at >= p->cfg->suspect_ns));

	return is_dead && kill_port(p, r, now);
}

static void count_loss(struct path_ev_fault *port)
{
	if (port->losses < UINT8_MAX)
		port->losses++;
}

/* One more EV of this port lost a packet; true: the port is out now. */
static bool suspect_port(struct path *p, uint32_t port, nsec sent_at, nsec now)
{
	struct path_ev_fault *r = find(p, true, port);

	if (!r)
		r = new_record(p, PORT_WATCH, port);
	if (!r)
		return false;
	if (r->losses == 0) {
		r->from = sent_at;
		r->found_at = now;
		set_suspect(p, r, true);
		r->backoffs = 0;
		if (r->kind == PORT_WATCH)
			start_train(p, r, 1, now + p->cfg->witness_ns);
	}
	if (sent_at < r->from)
		r->from = sent_at;
	count_loss(r);
	return judge_port(p, r, now);
}

/* Something arrived. */
static void clear_port(struct path *p, struct path_ev_fault *r)
{
	r->losses = 0;
	set_suspect(p, r, false);
	if (r->kind != PORT_WATCH)
		return;
	if (r->fails == 0)
		drop(p, r);
	else
		r->due = r->since + p->cfg->memory_ns;
}

void path_clear_suspect(struct path *p, uint32_t ev, nsec sent_at, nsec now)
{
	uint32_t port = path_port(p, ev);

	if (!(p->suspect >> port & 1))
		return;
	struct path_ev_fault *r = find(p, true, port);

	assert(r);
	if (sent_at <= r->from)
		return;
	/* It was taken for dead because nothing would arrive. */
	if (r->kind == PORT_DEAD)
		revive_port(p, r, now);
	else
		clear_port(p, r);
}

void path_on_lost(struct path *p, uint32_t ev, nsec sent_at, nsec now)
{
	assert(ev < p->profile->set.n);
	uint32_t port = path_port(p, ev);

	if ((path_shut(p) | p->dead) >> port & 1)
		return;
	/* A full queue delays packets until they look lost: its EVs are not to fill it again at
	 * once when they are back. */
	path_burden(p, ev);
	if (path_bit(p, PATH_OUT, ev))
		return;
	struct path_ev_fault *r = find(p, false, ev);
	const struct path_ev_fault *lane = find(p, true, port);

	/* What was sent before an EV or its port came back says nothing new. */
	if ((r && sent_at < r->since) || (lane && sent_at < lane->since))
		return;
	if (suspect_port(p, port, sent_at, now))
		return;
	suspect_ev(p, ev, now);
}

void path_on_avoid(struct path *p, uint32_t ev, nsec now)
{
	assert(ev < p->profile->set.n);
	if (!path_bit(p, PATH_OUT, ev))
		suspect_ev(p, ev, now);
}

void path_on_dead(struct path *p, uint32_t ev, nsec now)
{
	assert(ev < p->profile->set.n);
	if (!path_bit(p, PATH_OUT, ev) && !take_out(p, ev, find(p, false, ev), now))
		return;
	struct path_ev_fault *r = find(p, false, ev);

	if (r && r->kind == EV_OUT && r->silent < SILENT)
		r->silent = SILENT;
}

static void count_swept(struct path_ev_fault *port, nsec now, nsec memory_ns)
{
	assert(port->n_left > 0);
	if (--port->n_left > 0)
		return;
	port->kind = PORT_WATCH;
	port->due = now + memory_ns;
}

/* An EV that waits for the sweep of its port may be remembered from before. */
void path_forget(struct path *p, uint32_t ev)
{
	struct path_ev_fault *r = find(p, false, ev);

	if (r)
		drop(p, r);
	if (path_bit(p, PATH_OUT, ev) && !path_bit(p, PATH_MARK, ev)) {
		r = find(p, true, path_port(p, ev));
		assert(r && r->kind == PORT_SWEEP);
		count_swept(r, r->since, p->cfg->memory_ns);
	}
}

/* The port is back, as far as one probe can tell: each of its EVs is to show it for itself. */
static void start_sweep(struct path *p, struct path_ev_fault *r, nsec now)
{
	uint32_t port = r->at, end = p->profile->first[port + 1];

	turn(p, r, PORT_SWEEP, now);
	r->losses = 0;
	set_suspect(p, r, false);
	r->n_left = 0;
	for (uint32_t ev = p->profile->first[port]; ev < end; ev++)
		if (!path_bit(p, PATH_OUT, ev)) {
			path_put_bit(p, PATH_MARK, ev, false);
			path_put_out(p, ev, true);
			r->n_left++;
		}
	r->next_ev = p->profile->first[port];
	start_train(p, r, 1, now);
	p->dead = (uint8_t)(p->dead & ~(1u << port));
	path_refresh(p, port);
	path_kick(p, 1u << port, now);
}

/* An EV of a port that was swept. */
static void on_sweep_probe(struct path *p, struct path_ev_fault *r, uint32_t ev,
			   enum path_outcome outcome, nsec now)
{
	if (!path_bit(p, PATH_OUT, ev) || path_bit(p, PATH_DENY, ev) || path_bit(p, PATH_MARK, ev))
		return;
	if (outcome == PATH_PROBE_FAILED) {
		struct path_ev_fault *own = find(p, false, ev);

		if (!own)
			own = new_record(p, EV_OUT, ev);
		/* Without a record it waits for another sweep. */
		if (!own)
			return;
		turn(p, own, EV_OUT, now);
		count_fail(p, own);
		count_silent(own);
		own->partials = own->backoffs = 0;
		start_train(p, own, need_of(p, own), now + backoff(p, own));
		path_put_bit(p, PATH_MARK, ev, true);
		narrow(p);
	} else {
		path_put_bit(p, PATH_MARK, ev, outcome == PATH_PROBE_MARKED);
		path_put_out(p, ev, false);
		clear_port(p, r);
	}
	count_swept(r, now, p->cfg->memory_ns);
}

static void train_failed(struct path *p, struct path_ev_fault *r, uint32_t need, nsec now)
{
	start_train(p, r, need, now + backoff(p, r));
}

static void on_own_probe(struct path *p, struct path_ev_fault *r, enum path_outcome outcome,
			 nsec now)
{
	struct path_ev_fault *port = find(p, true, path_port(p, r->at));

	if (outcome == PATH_PROBE_FAILED) {
		count_silent(r);
		if (r->clean > 0 && r->partials < NEED_MAX / NEED_PARTIAL)
			r->partials++;
		train_failed(p, r, need_of(p, r), now);
		limit_suspects(p, now);
		return;
	}
	if (port && port->losses > 0 && port->kind != PORT_DEAD)
		clear_port(p, port);
	r->silent = 0;
	if (++r->clean == r->need)
		come_back(p, r, outcome == PATH_PROBE_MARKED, now);
	else if (r->sent < r->need)
		r->due = now;
}

static void on_port_probe(struct path *p, struct path_ev_fault *r, struct path_probe probe,
			  enum path_outcome outcome, nsec now)
{
	bool is_failed = outcome == PATH_PROBE_FAILED;

	if (r->kind == PORT_SWEEP) {
		on_sweep_probe(p, r, probe.ev, outcome, now);
	} else if (r->kind == PORT_WATCH) {
		if (r->losses > 0 && is_failed) {
			count_loss(r);
			if (!judge_port(p, r, now))
				train_failed(p, r, 1, now);
		} else if (r->losses > 0) {
			clear_port(p, r);
		}
	} else if (is_failed) {
		train_failed(p, r, r->need, now);
	} else if (++r->clean < r->need) {
		r->due = now;
	} else {
		start_sweep(p, r, now);
		on_sweep_probe(p, r, probe.ev, outcome, now);
	}
}

void path_on_probe(struct path *p, struct path_probe probe, enum path_outcome outcome, nsec now)
{
	struct path_ev_fault *r = p->head;

	assert(probe.ev < p->profile->set.n);
	while (r && r->tag != probe.tag)
		r = r->next;
	/* Else it is of a train that has failed or was called off: it is not counted. */
	if (r && is_of_port(r))
		on_port_probe(p, r, probe, outcome, now);
	else if (r && r->kind == EV_OUT)
		on_own_probe(p, r, outcome, now);
}

/* Whether there is something to do for a record when it is due. */
static bool can_probe(const struct path *p, const struct path_ev_fault *r, uint32_t free_ports)
{
	uint32_t port = port_of(p, r);

	if (r->kind == EV_BACK || (r->kind == PORT_WATCH && r->losses == 0))
		return true;
	return free_ports >> port & 1 && !(path_shut(p) >> port & 1) &&
	       (r->kind == PORT_DEAD || !(p->dead >> port & 1));
}

nsec path_deadline(const struct path *p, uint32_t free_ports)
{
	nsec due = NSEC_NEVER;

	for (const struct path_ev_fault *r = p->head; r; r = r->next)
		if (r->due < due && can_probe(p, r, free_ports))
			due = r->due;
	return due;
}

/* An EV of a port from next_ev on, round and round: of a dead one any that is not denied, of one
 * under suspicion one that is used. */
static uint32_t witness(const struct path *p, struct path_ev_fault *r)
{
	uint32_t first = p->profile->first[r->at], end = p->profile->first[r->at + 1];

	for (uint32_t i = first; i < end; i++) {
		uint32_t ev = first + r->next_ev++ % (end - first);

		if (!path_bit(p, r->kind == PORT_DEAD ? PATH_DENY : PATH_OUT, ev))
			return ev;
	}
	return PATH_NONE;
}

static uint32_t next_swept(const struct path *p, struct path_ev_fault *r, nsec now)
{
	uint32_t ev = path_find_bits(p, r->at, r->next_ev, true, false);

	if (ev == PATH_NONE) {
		r->next_ev = p->profile->first[r->at];
		r->due = now + p->cfg->backoff_max_ns;
		return PATH_NONE;
	}
	r->next_ev = (uint16_t)(ev + 1);
	r->due = now + p->cfg->probe_gap_ns;
	return ev;
}

/* The EV to be probed for a record that is due, or PATH_NONE. */
static uint32_t probe_of(struct path *p, struct path_ev_fault *r, nsec now)
{
	if (r->kind == PORT_SWEEP)
		return next_swept(p, r, now);
	uint32_t ev = is_of_port(r) ? witness(p, r) : r->at;
	uint32_t window = r->clean == 0 && r->need > NEED_LENIENT ? 1 : WINDOW;

	if (ev == PATH_NONE) {
		r->due = now + p->cfg->backoff_max_ns;
		return ev;
	}
	r->sent++;
	r->due = r->sent == r->need || r->sent - r->clean >= (int)window
			 ? NSEC_NEVER
			 : now + p->cfg->probe_gap_ns;
	return ev;
}

bool path_probe_next(struct path *p, nsec now, uint32_t free_ports, struct path_probe *probe)
{
	struct path_ev_fault *next;

	for (struct path_ev_fault *r = p->head; r; r = next) {
		next = r->next;
		if (r->due > now || !can_probe(p, r, free_ports))
			continue;
		if (r->kind == EV_BACK || (r->kind == PORT_WATCH && r->losses == 0)) {
			drop(p, r);
			continue;
		}
		uint32_t ev = probe_of(p, r, now);

		if (ev != PATH_NONE) {
			*probe = (struct path_probe){(uint16_t)ev, r->tag};
			return true;
		}
	}
	return false;
}

void path_stop(struct path *p)
{
	struct path_ev_fault *next;

	for (struct path_ev_fault *r = p->head; r; r = next) {
		next = r->next;
		pool_put(p->cfg->ev_faults, r);
	}
	p->head = p->tail = NULL;
}
