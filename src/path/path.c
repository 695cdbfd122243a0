#include "path/path.h"

#include <assert.h>
#include <string.h>

#include "base/prng.h"
#include "path/shuffle.h"
#include "path/state.h"

#define ROUND     32768u /* what the turns of a round move a lane's pass on by */
#define STEPS_MAX 64u    /* in a drawn order, before the nearest usable EV does */
#define SKIPS_MAX 8u     /* EVs passed over for one packet */

/* The burden of an EV, in 16ths of its turns. */
#define BURDEN_MAX  12u /* so that something is learnt of every EV */
#define BURDEN_FULL 8u  /* for a packet that met a full queue: trimmed, or taken for lost */
#define EASE_BITS   5u  /* one turn in 2^5 takes off a 16th */

/* A lane whose EVs are mostly out of use is walked in their order: its drawn order would lead past
 * too many. */
#define SPARSE 4u

/* Bits of the fewest places that a narrow round goes over, if there are so many. */
#define NARROW_LEAST 3u

/* Every queue pair has one. */
static_assert(sizeof(struct path) <= 192, "struct path has grown");

uint32_t path_words(uint32_t n)
{
	return PATH_ROWS * ((n + 63) / 64);
}

uint32_t path_draw(struct path *p)
{
	return (uint32_t)(prng_splitmix64(&p->random) >> 32);
}

uint32_t path_usable(const struct path *p, uint32_t ports)
{
	uint32_t n = 0;

	for (ports &= p->open; ports; ports &= ports - 1)
		n += p->lanes[__builtin_ctz(ports)].usable;
	return n;
}

/* The open ports by their pass. */
static void sort_ports(struct path *p)
{
	uint8_t sorted[PATH_PORTS] = {0};
	uint32_t n = 0;

	for (uint32_t ports = p->open; ports; ports &= ports - 1, n++) {
		uint32_t port = (uint32_t)__builtin_ctz(ports), at = n;

		for (; at > 0 && (int32_t)(p->pass[sorted[at - 1]] - p->pass[port]) > 0; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = (uint8_t)port;
	}
	p->n_open = (uint8_t)n;
	p->order = 0;
	while (n-- > 0)
		p->order = p->order << 8 | sorted[n];
}

/* Keeps the lanes within half a round of this one, whose round begins: one that could not take its
 * turns, as its port was not free, makes up for less than a round, and no difference ever wraps
 * around. */
static void draw_together(struct path *p, uint32_t port)
{
	uint32_t behind = p->pass[port] - ROUND / 2;
	bool is_moved = false;

	for (uint32_t i = 0; i < PATH_PORTS; i++)
		if ((int32_t)(p->pass[i] - behind) < 0) {
			p->pass[i] = behind;
			is_moved |= p->open >> i & 1;
		}
	if (is_moved)
		sort_ports(p);
}

static void new_round(struct path *p, uint32_t port)
{
	p->lanes[port].key = (uint16_t)path_draw(p);
	p->lanes[port].at = 0;
	draw_together(p, port);
}

static uint32_t lane_evs(const struct path *p, uint32_t port)
{
	return (uint32_t)p->profile->first[port + 1] - p->profile->first[port];
}

static inline bool is_narrow(const struct path *p, uint32_t port)
{
	return p->narrow >> port & 1;
}

/* The places that a round of this port goes over, as bits. */
static inline uint32_t round_bits(const struct path *p, uint32_t port)
{
	uint32_t bits = p->profile->order_bits[port], less = p->profile->narrow_bits;

	if (!is_narrow(p, port) || bits <= NARROW_LEAST)
		return bits;
	return bits > NARROW_LEAST + less ? bits - less : NARROW_LEAST;
}

/* Which of the port's places is number `at` of the round. Narrow rounds go over those that come
 * first in an order that stays; the order in which they do is drawn anew like any other. */
static inline uint32_t place_in_round(const struct path *p, uint32_t port, uint32_t at)
{
	const struct path_lane *lane = &p->lanes[port];
	uint32_t place = shuffle(at, round_bits(p, port), lane->key);

	return is_narrow(p, port) ? shuffle(place, p->profile->order_bits[port], lane->few) : place;
}

/* How many EVs the rounds of a port go over, if none is out: on average where they are narrow. */
static uint32_t lane_spread(const struct path *p, uint32_t port)
{
	return lane_evs(p, port) << round_bits(p, port) >> p->profile->order_bits[port];
}

uint32_t path_spread(const struct path *p)
{
	uint32_t n = 0;

	for (uint32_t port = 0; port < PATH_PORTS; port++)
		n += lane_spread(p, port);
	return n;
}

static uint32_t round_usable(const struct path *p, uint32_t port)
{
	uint32_t n = 0;

	for (uint32_t at = 0; at >> round_bits(p, port) == 0; at++) {
		uint32_t place = place_in_round(p, port, at);

		n += place < lane_evs(p, port) &&
		     !path_bit(p, PATH_OUT, p->profile->first[port] + place);
	}
	return n;
}

/* When half of those that narrow rounds go over are out, others have their turn. */
static void keep_enough(struct path *p, uint32_t port)
{
	if (is_narrow(p, port) && 2 * round_usable(p, port) < lane_spread(p, port))
		p->lanes[port].few = (uint16_t)path_draw(p);
}

void path_narrow(struct path *p, uint32_t ports)
{
	uint32_t changed = p->narrow ^ ports;

	if (p->profile->narrow_bits == 0)
		return;
	p->narrow = (uint8_t)ports;
	for (; changed; changed &= changed - 1) {
		uint32_t port = (uint32_t)__builtin_ctz(changed);

		p->lanes[port].few = (uint16_t)path_draw(p);
		new_round(p, port);
	}
}

/* A lane that opens starts level with the one that is furthest behind. */
static void join(struct path *p, uint32_t port)
{
	uint32_t ports = p->open;

	if (!ports)
		return;
	uint32_t pass = p->pass[__builtin_ctz(ports)];

	for (; ports; ports &= ports - 1) {
		uint32_t other = p->pass[__builtin_ctz(ports)];

		if ((int32_t)(other - pass) < 0)
			pass = other;
	}
	p->pass[port] = pass;
}

void path_refresh(struct path *p, uint32_t port)
{
	struct path_lane *lane = &p->lanes[port];
	uint32_t bit = 1u << port;
	bool is_open = lane->usable && !((path_shut(p) | p->dead) & bit);
	bool is_sparse = lane->usable * SPARSE < 1u << p->profile->order_bits[port];

	lane->stride = (uint16_t)(lane->usable ? ROUND / lane->usable : 0);
	if (is_open && !(p->open & bit))
		join(p, port);
	p->open = (uint8_t)(is_open ? p->open | bit : p->open & ~bit);
	sort_ports(p);
	if (is_sparse != !!(p->sparse & bit)) {
		p->sparse ^= (uint8_t)bit;
		new_round(p, port);
		if (is_sparse)
			lane->at = (uint16_t)(lane->key % (lane_evs(p, port) + 1));
	}
}

void path_put_out(struct path *p, uint32_t ev, bool is_out)
{
	uint32_t port = path_port(p, ev);

	if (path_bit(p, PATH_OUT, ev) == is_out)
		return;
	path_put_bit(p, PATH_OUT, ev, is_out);
	p->lanes[port].usable = (uint16_t)(p->lanes[port].usable + (is_out ? -1 : 1));
	p->has_news = true;
	path_refresh(p, port);
	if (is_out)
		keep_enough(p, port);
}

void path_start(struct path *p, const struct path_sender *sender)
{
	const struct path_profile *f = sender->profile;

	assert(sender->burst <= UINT16_MAX);
	*p = (struct path){
		.profile = f,
		.cfg = sender->cfg,
		.bits = sender->bits,
		.random = sender->seed,
		.burst = (uint16_t)(sender->burst ? sender->burst : 1),
		.last = UINT16_MAX,
	};
	memset(p->bits, 0, path_words(f->set.n) * sizeof *p->bits);
	p->blocked[PATH_BLOCK_DENIED] = f->denied_ports;
	for (uint32_t port = 0; port < PATH_PORTS; port++) {
		struct path_lane *lane = &p->lanes[port];

		lane->usable = (uint16_t)lane_evs(p, port);
		for (uint32_t ev = f->first[port]; ev < f->first[port + 1]; ev++)
			if (f->denied[ev / 64] >> ev % 64 & 1) {
				path_put_bit(p, PATH_DENY, ev, true);
				path_put_bit(p, PATH_OUT, ev, true);
				lane->usable--;
				p->n_denied++;
			}
		path_refresh(p, port);
		new_round(p, port);
	}
	/* Senders that start together begin with different ports. */
	for (uint32_t port = 0; port < PATH_PORTS; port++)
		p->pass[port] = path_draw(p) % (p->lanes[port].stride + 1u);
	sort_ports(p);
}

/* The bits of a word of EVs that are such ones. */
static uint64_t such(const struct path *p, uint32_t word, bool is_out, bool is_marked)
{
	uint64_t out = *path_word(p, PATH_OUT, word * 64);
	uint64_t mark = *path_word(p, PATH_MARK, word * 64);

	return (is_out ? out : ~out) & (is_marked ? mark : ~mark) &
	       ~*path_word(p, PATH_DENY, word * 64);
}

uint32_t path_find_bits(const struct path *p, uint32_t port, uint32_t from, bool is_out,
			bool is_marked)
{
	uint32_t end = p->profile->first[port + 1];

	for (uint32_t ev = from; ev < end; ev = (ev | 63) + 1) {
		uint64_t bits = such(p, ev / 64, is_out, is_marked) >> ev % 64;

		if (bits) {
			ev += (uint32_t)__builtin_ctzll(bits);
			return ev < end ? ev : PATH_NONE;
		}
	}
	return PATH_NONE;
}

/* The first usable EV of a port at or after its place `at`, else from its first on. There is one.
 * A word of EVs at a time: at most one more step than the port has words. */
static uint32_t next_in_order(const struct path *p, uint32_t port, uint32_t at)
{
	uint32_t first = p->profile->first[port], end = p->profile->first[port + 1];

	for (uint32_t ev = first + at;; ev = (ev | 63) + 1) {
		if (ev >= end)
			ev = first;
		uint64_t usable = ~*path_word(p, PATH_OUT, ev) >> ev % 64;

		if (usable && ev + (uint32_t)__builtin_ctzll(usable) < end)
			return ev + (uint32_t)__builtin_ctzll(usable);
	}
}

/* The same, but not the EV of the packet before if there is another. */
static uint32_t next_other(const struct path *p, uint32_t port, uint32_t at)
{
	uint32_t ev = next_in_order(p, port, at);

	if (ev == p->last && p->lanes[port].usable > 1)
		ev = next_in_order(p, port, ev - p->profile->first[port] + 1);
	return ev;
}

static uint32_t next_sparse(struct path *p, uint32_t port, struct path_lane *lane)
{
	uint32_t first = p->profile->first[port];
	uint32_t ev = next_other(p, port, lane->at);

	if (ev - first < lane->at)
		draw_together(p, port);
	lane->at = (uint16_t)(ev - first + 1);
	return ev;
}

/* Passes over what is no usable EV, from place `at` of the round on. */
static uint32_t next_drawn(struct path *p, uint32_t port)
{
	struct path_lane *lane = &p->lanes[port];
	uint32_t bits = round_bits(p, port), first = p->profile->first[port];
	uint32_t n = lane_evs(p, port), at = 0;

	for (uint32_t i = 0; i < STEPS_MAX; i++) {
		if (lane->at >> bits)
			new_round(p, port);
		at = place_in_round(p, port, lane->at++);
		if (at >= n || path_bit(p, PATH_OUT, first + at))
			continue;
		if (first + at == p->last && lane->usable > 1)
			continue;
		return first + at;
	}
	/* At least a quarter of the places are usable: a chance of 10^-8, but for narrow rounds. */
	return next_other(p, port, at < n ? at : 0);
}

/* The next usable EV of a lane, which has one. In a round every EV comes once, but for one that
 * came last in the round before and would come first now: it loses this round's turn. Mostly the
 * next place of the round has a good EV; what else there may be is kept out of the way. */
static inline uint32_t next_of_lane(struct path *p, uint32_t port)
{
	struct path_lane *lane = &p->lanes[port];
	uint32_t bits = round_bits(p, port), first = p->profile->first[port];
	uint32_t ev = first + place_in_round(p, port, lane->at);

	if (p->sparse >> port & 1)
		return next_sparse(p, port, lane);
	if (lane->at >> bits || ev >= p->profile->first[port + 1] || ev == p->last ||
	    path_bit(p, PATH_OUT, ev))
		return next_drawn(p, port);
	lane->at++;
	return ev;
}

static inline uint32_t port_at(const struct path *p, uint32_t place)
{
	return (uint32_t)(p->order >> 8 * place) & 0xff;
}

/* The first in the order of some ports, all of them open: its EVs had the fewest turns. */
static inline uint32_t port_behind(const struct path *p, uint32_t ports)
{
	if (!(ports & (ports - 1)))
		return (uint32_t)__builtin_ctz(ports);
	uint64_t order = p->order;

	while (!(ports >> (order & 0xff) & 1))
		order >>= 8;
	return (uint32_t)order & 0xff;
}

/* The place of an open port in the order: that of the first byte which is its number. Bytes behind
 * the last open port, if they look like it, come after it. */
static inline uint32_t place_of(const struct path *p, uint32_t port)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t differ = p->order ^ port * ones;

	return (uint32_t)__builtin_ctzll((differ - ones) & ~differ & ones << 7) / 8;
}

/* Moves a port's pass on, and the port to its new place: from the first to the last, mostly. */
static inline void charge(struct path *p, uint32_t port)
{
	uint32_t pass = p->pass[port] += p->lanes[port].stride, to = p->n_open - 1u;
	uint64_t order = p->order;

	if ((order & 0xff) == port && (int32_t)(p->pass[port_at(p, to)] - pass) <= 0) {
		p->order = order >> 8 | (uint64_t)port << 8 * to;
		return;
	}
	uint32_t place = place_of(p, port);
	uint64_t low = (UINT64_C(1) << 8 * place) - 1;
	uint64_t others = (order & low) | (order >> 8 & ~low);

	while (to > place && (int32_t)(p->pass[port_at(p, to)] - pass) > 0)
		to--;
	low = (UINT64_C(1) << 8 * to) - 1;
	p->order = (others & low) | (uint64_t)port << 8 * to | (others & ~low) << 8;
}

static uint64_t *burden_word(const struct path *p, uint32_t ev)
{
	return path_word(p, PATH_BURDEN, ev) + ev % 64 / 16;
}

static inline uint32_t burden_of(const struct path *p, uint32_t ev)
{
	return (uint32_t)(*burden_word(p, ev) >> ev % 16 * 4) & 15;
}

static void put_burden(struct path *p, uint32_t ev, uint32_t burden)
{
	uint64_t *word = burden_word(p, ev);
	uint32_t shift = ev % 16 * 4;

	*word = (*word & ~(UINT64_C(15) << shift)) | (uint64_t)burden << shift;
}

/* Being skipped once for each mark, an EV never gives up more than half of its turns, which is too
 * few for a link that is much slower than the others. So what comes on top for one EV is taken off
 * drawn ones, a 16th at a time: an EV that is marked as often as the others stays as it is, however
 * often that is, and one that is marked more often gives up turns until it is no longer. */
static void add_burden(struct path *p, uint32_t ev, uint32_t more)
{
	uint32_t burden = burden_of(p, ev) + more;

	put_burden(p, ev, burden < BURDEN_MAX ? burden : BURDEN_MAX);
	for (uint32_t i = 0; i < more; i++) {
		uint32_t drawn = (uint32_t)((uint64_t)path_draw(p) * p->profile->set.n >> 32);

		if (burden_of(p, drawn) > 0)
			put_burden(p, drawn, burden_of(p, drawn) - 1);
	}
}

void path_burden(struct path *p, uint32_t ev)
{
	add_burden(p, ev, BURDEN_FULL);
}

/* Whether an EV, whose turn it is, gives it up. Without marks burdens go, too. */
static inline bool gives_up(struct path *p, uint32_t ev)
{
	uint32_t burden = burden_of(p, ev);
	bool is_skipped = path_bit(p, PATH_MARK, ev);

	if (burden == 0)
		return is_skipped;
	uint32_t draw = path_draw(p);

	if (draw >> (32 - EASE_BITS) == 0)
		put_burden(p, ev, burden - 1);
	return is_skipped || draw % 16 < burden;
}

/* An EV that is passed over costs its port a turn, so that a plane with congested EVs gets fewer
 * packets, not the same number on fewer EVs. Each that is met is good again: 11.2.2 would have one
 * packet make only one of them good, but then EVs are passed over more often than they were
 * marked, and the others carry what they do not. When all that are met are to be skipped, the
 * packet takes the first of them, so that every packet goes on a good EV. */
static uint32_t choose(struct path *p, uint32_t ports)
{
	uint32_t spare = PATH_NONE;

	for (uint32_t i = 0; i < SKIPS_MAX; i++) {
		uint32_t port = port_behind(p, ports);
		uint32_t ev = next_of_lane(p, port);

		charge(p, port);
		if (!gives_up(p, ev))
			return ev;
		path_put_bit(p, PATH_MARK, ev, false);
		if (spare == PATH_NONE)
			spare = ev;
	}
	return spare;
}

const struct path_ev *path_next(struct path *p, uint32_t free_ports)
{
	const struct path_ev *evs = p->profile->set.evs;
	uint32_t ports = free_ports & p->open;

	if (!ports)
		return NULL;
	if (p->left > 0 && ports >> evs[p->last].port & 1 && !path_bit(p, PATH_OUT, p->last) &&
	    !path_bit(p, PATH_MARK, p->last)) {
		p->left--;
		charge(p, evs[p->last].port);
	} else {
		p->last = (uint16_t)choose(p, ports);
		p->left = (uint16_t)(p->burst - 1);
	}
	return &evs[p->last];
}

void path_on_marked(struct path *p, uint32_t ev)
{
	assert(ev < p->profile->set.n);
	if (path_bit(p, PATH_OUT, ev))
		return;
	add_burden(p, ev, 1);
	path_put_bit(p, PATH_MARK, ev, true);
}

void path_on_trimmed(struct path *p, uint32_t ev)
{
	assert(ev < p->profile->set.n);
	if (path_bit(p, PATH_OUT, ev))
		return;
	path_burden(p, ev);
	path_put_bit(p, PATH_MARK, ev, true);
}

void path_deny(struct path *p, uint32_t ev, bool is_denied, nsec now)
{
	assert(ev < p->profile->set.n);
	bool had_news = p->has_news, was_bad = path_state(p, ev) == PATH_ASSUMED_BAD;

	if (path_bit(p, PATH_DENY, ev) == is_denied)
		return;
	if (is_denied)
		path_forget(p, ev);
	path_put_bit(p, PATH_DENY, ev, is_denied);
	p->n_denied = (uint16_t)(p->n_denied + (is_denied ? 1 : -1));
	path_put_bit(p, PATH_MARK, ev, false);
	put_burden(p, ev, 0);
	path_put_out(p, ev, is_denied);
	p->has_news = had_news || was_bad || path_state(p, ev) == PATH_ASSUMED_BAD;
	path_uphold(p, now);
}

void path_pardon(struct path *p, uint32_t ev, nsec now)
{
	assert(ev < p->profile->set.n);
	bool was_bad = path_state(p, ev) == PATH_ASSUMED_BAD;

	if (path_bit(p, PATH_DENY, ev))
		return;
	path_forget(p, ev);
	path_put_bit(p, PATH_MARK, ev, false);
	put_burden(p, ev, 0);
	path_put_out(p, ev, false);
	p->has_news |= was_bad && path_state(p, ev) != PATH_ASSUMED_BAD;
	path_uphold(p, now);
}

bool path_denies(const struct path *p, uint32_t ev)
{
	return path_bit(p, PATH_DENY, ev);
}

void path_block(struct path *p, enum path_block why, uint32_t ports, nsec now)
{
	uint32_t before = path_shut(p);

	assert((uint32_t)why < PATH_BLOCKS && ports >> PATH_PORTS == 0);
	p->blocked[why] = (uint8_t)ports;
	for (uint32_t port = 0; port < PATH_PORTS; port++)
		path_refresh(p, port);
	p->has_news |= before != path_shut(p);
	path_kick(p, before & ~path_shut(p), now);
	path_uphold(p, now);
}

enum path_state path_state(const struct path *p, uint32_t ev)
{
	assert(ev < p->profile->set.n);
	uint32_t bit = 1u << path_port(p, ev);

	if (path_bit(p, PATH_DENY, ev) || p->blocked[PATH_BLOCK_DENIED] & bit)
		return PATH_DENIED;
	if (path_bit(p, PATH_OUT, ev) || (path_shut(p) | p->dead) & bit)
		return PATH_ASSUMED_BAD;
	return path_bit(p, PATH_MARK, ev) ? PATH_SKIP : PATH_GOOD;
}

void path_count(const struct path *p, uint32_t n[PATH_STATES])
{
	memset(n, 0, PATH_STATES * sizeof *n);
	for (uint32_t ev = 0; ev < p->profile->set.n; ev++)
		n[path_state(p, ev)]++;
}
