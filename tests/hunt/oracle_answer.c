/* MRC responders: a model of what came, kept by 6.3 and 7.5 alone, and from it what must be said:
 * of each packet, in which words, and nothing else. */
#include <inttypes.h>
#include <stdlib.h>

#include "wire_mrc.h"

#define MAP_BITS   64
#define CE         3u    /* the two bits of IP: congestion experienced */
#define NO_CREDIT  0x1fu /* of an ACK (6.4) */
#define MSNS       0x1000000u
#define NACK_FIELD 2u

static bool has_come(const struct hunt_oracle *o, uint32_t end, uint64_t count)
{
	const struct wire_ask *peer = &wire_at(o, end ^ 1)->ask;

	return count < peer->n_pkts && peer->pkts[count].has_come;
}

/* The work of the peer's that a packet is of, if it is the last of it. */
static const struct hunt_work *ended_by(const struct hunt_oracle *o, uint32_t end, uint64_t count)
{
	uint32_t work = oracle_work_at(o, end ^ 1, count);
	const struct hunt_work *w = work == HUNT_NOTHING ? NULL : &o->plan->works[work];

	return w && count + 1 == w->first + w->n_pkts ? w : NULL;
}

static bool has_imm(const struct hunt_oracle *o, uint32_t end, uint64_t count)
{
	const struct hunt_work *w = ended_by(o, end, count);

	return w && w->code == ENGINE_WRITE_IMM;
}

/* Answers that wait at a host share a pool. */
static bool has_room(const struct hunt_oracle *o, uint32_t end)
{
	uint32_t n = 0;

	for (uint32_t e = 0; e < o->plan->n_ends; e++)
		if (o->plan->ends[e].host == o->plan->ends[end].host && !wire_is_dead(o, e))
			n += wire_at(o, e)->give.n;
	return n < wire_host(o, end)->max_answers;
}

/* An answer to what came is owed; false: there is no room. */
static bool owe(struct hunt_oracle *o, uint32_t end, enum wire_answer_kind kind, uint8_t reason)
{
	struct wire_give *g = &wire_at(o, end)->give;
	const struct wire_coming *c = &wire_at(o, end)->coming;
	struct wire_answer *a;

	if (!has_room(o, end))
		return false;
	if (g->first + g->n == g->room) {
		uint32_t room = 2 * g->room + 64;
		struct wire_answer *more = realloc(g->answers, room * sizeof *more);

		if (!more)
			abort();
		g->answers = more;
		g->room = room;
	}
	a = &g->answers[g->first + g->n++];
	*a = (struct wire_answer){
		.at = c->rx->at,
		.psn = c->h.psn,
		.ev = c->rx->ev,
		.kind = (uint8_t)kind,
		.reason = reason,
		.has_psn = !c->rx->trimmed,
		.is_retx = c->h.rtx,
		.is_marked = c->rx->ecn == CE,
		.udp_len = reason == TRIMMED || reason == TRIMMED_LASTHOP ? c->rx->udp_len : 0,
	};
	a->has_stamp = wire_stamp(&c->h, &a->stamp);
	if (kind == ANSWER_PROBED)
		a->probe_id = (uint16_t)wire_big(c->h.more + 4, 2);
	return true;
}

static void owe_sack(struct hunt_oracle *o, uint32_t end)
{
	struct wire_give *g = &wire_at(o, end)->give;

	g->owes_sack = !owe(o, end, ANSWER_SACK, 0);
	if (!g->owes_sack)
		g->trigger = 0;
}

/* The last word, and the end of everything else. */
static void close(struct hunt_oracle *o, uint32_t end, uint8_t naks, uint32_t psn)
{
	struct wire_give *g = &wire_at(o, end)->give;

	g->is_closed = true;
	g->owes_nak = true;
	g->naks = naks;
	g->nak_psn = psn;
	g->n = g->first = 0;
	o->ends[end].has_refused = true;
}

/* expected moves over what is here, and writes with immediate data are executed on the way, one
 * receive each. `count` is the packet that came, the only one that was not kept. */
static void run(struct hunt_oracle *o, uint32_t end, uint64_t count)
{
	struct wire_give *g = &wire_at(o, end)->give;

	while (has_come(o, end, g->expected)) {
		bool is_imm = has_imm(o, end, g->expected), was_kept = g->expected != count;

		if (is_imm && g->n_recvs == 0) {
			close(o, end, 1u << NAK_OPERATION,
			      (o->plan->ends[end ^ 1].psn + (uint32_t)g->expected) % WIRE_NUMBERS);
			return;
		}
		g->n_recvs -= is_imm;
		g->stashed -= is_imm && was_kept;
		g->early -= was_kept;
		g->msn += ended_by(o, end, g->expected) != NULL;
		g->expected++;
	}
}

/* The five reasons for a SACK (7.5.2), and where the next map begins (7.5.2.2). */
static void consider_sack(struct hunt_oracle *o, uint32_t end, uint64_t before)
{
	struct wire_give *g = &wire_at(o, end)->give;
	const struct wire_coming *c = &wire_at(o, end)->coming;
	bool is_due = c->h.ack_req || c->h.rtx || c->rx->ecn == CE || g->owes_sack ||
		      g->trigger > wire_host(o, end)->sack_every ||
		      (g->asked > 0 && g->expected >= g->asked);

	if (g->expected >= g->asked)
		g->asked = 0;
	if (c->h.ack_req && g->expected <= c->count && g->asked <= c->count)
		g->asked = c->count + 1;
	if (is_due)
		owe_sack(o, end);
	if (g->expected != before) {
		if (g->lowest < (int64_t)g->expected - 1)
			g->lowest = (int64_t)g->expected - 1;
	} else if ((!is_due || g->owes_sack) && (int64_t)c->count < g->lowest) {
		g->lowest = (int64_t)c->count;
	}
}

/* A new packet was placed. */
static void accept(struct hunt_oracle *o, uint32_t end)
{
	struct wire_give *g = &wire_at(o, end)->give;
	const struct wire_coming *c = &wire_at(o, end)->coming;
	uint32_t work = oracle_work_at(o, end ^ 1, c->count);
	const struct hunt_work *w = &o->plan->works[work];
	uint32_t off = (uint32_t)(c->count - w->first) * o->plan->pmtu;
	uint32_t len = w->len - off < o->plan->pmtu ? w->len - off : o->plan->pmtu;
	uint32_t least = wire_host(o, end)->sack_least, msn = g->msn;
	uint64_t before = g->expected;

	if (len > 0 && !o->was_placed)
		oracle_fail(o, "end %u: psn %u was taken, and not placed", end, c->h.psn);
	wire_at(o, end ^ 1)->ask.pkts[c->count].has_come = true;
	g->bytes += c->rx->udp_len + WIRE_NOMINAL;
	g->trigger += len < least ? least : len;
	if (g->seen <= c->count)
		g->seen = c->count + 1;
	if (c->count == g->expected) {
		run(o, end, c->count);
	} else {
		g->early++;
		g->stashed += has_imm(o, end, c->count);
		if (has_imm(o, end, c->count))
			wire_met(o, MET_STASHED);
	}
	if (g->promised < g->expected + g->range)
		g->promised = g->expected + g->range;
	if (g->msn != msn || c->h.ack_req)
		g->owes_ack = true;
	if (!g->is_closed)
		consider_sack(o, end, before);
}

/* Whether room to track a packet that is early may be short: as much of it as the host has could be
 * in use, and none of it is for the packet's own stretch. */
static bool may_lack(const struct hunt_oracle *o, uint32_t end, uint64_t count)
{
	uint32_t unit = PLAN_MRC_RANGE, used = 0;
	uint32_t room = (wire_host(o, end)->max_early + unit - 1) / unit;
	uint64_t first = count / unit * unit;

	if (count == wire_at(o, end)->give.expected)
		return false;
	for (uint64_t n = first; n < first + unit; n++)
		if (n > wire_at(o, end)->give.expected && has_come(o, end, n))
			return false;
	for (uint32_t e = 0; e < o->plan->n_ends; e++) {
		const struct wire_give *g = &wire_at(o, e)->give;

		if (o->plan->ends[e].host == o->plan->ends[end].host && g->early > 0 &&
		    !wire_is_dead(o, e))
			used += (uint32_t)((g->seen - 1) / unit - g->expected / unit) + 1;
	}
	return used >= room;
}

/* Codes that a new packet may be refused with. */
static uint8_t refusals(const struct hunt_oracle *o, uint32_t end, uint64_t count)
{
	const struct wire_give *g = &wire_at(o, end)->give;
	const struct hunt_work *w = &o->plan->works[oracle_work_at(o, end ^ 1, count)];
	uint8_t codes = 0;

	if (w->flaw >= HUNT_BAD_KEY && w->flaw <= HUNT_FORBIDDEN)
		codes |= 1u << NAK_ACCESS;
	if (!has_imm(o, end, count))
		return codes;
	if (count != g->expected && g->stashed >= wire_plan(o, end)->max_wimm)
		codes |= 1u << NAK_INVALID;
	if (count == g->expected && g->n_recvs == 0)
		codes |= 1u << NAK_OPERATION;
	return codes;
}

static void expect_new(const struct hunt_oracle *o, uint32_t end, struct wire_coming *c)
{
	if (oracle_work_at(o, end ^ 1, c->count) == HUNT_NOTHING)
		return;
	const struct wire_give *g = &wire_at(o, end)->give;

	c->naks = refusals(o, end, c->count);
	c->may = c->naks ? 1u << MET_REFUSED : 1u << MET_DATA;
	/* One too many to be kept is refused at once; what overtook others and makes no sense, when
	 * it comes again in its turn (M-63). */
	if (c->count != g->expected && c->naks == 1u << NAK_ACCESS)
		c->may = 1u << MET_EARLY;
	if (!may_lack(o, end, c->count))
		return;
	c->nack = NO_BITMAP;
	c->may |= has_room(o, end) ? 1u << MET_NACKED : 1u << WIRE_DROPPED;
}

/* 6.3.1 with M-14 and M-21, 7.5.3. */
static void expect_data(const struct hunt_oracle *o, uint32_t end, struct wire_coming *c)
{
	const struct wire_give *g = &wire_at(o, end)->give;
	uint32_t ahead =
		(c->h.psn - o->plan->ends[end ^ 1].psn - (uint32_t)g->expected) % WIRE_NUMBERS;
	uint32_t busy = has_room(o, end) ? 0 : 1u << WIRE_DROPPED;

	c->count = wire_count(o, end ^ 1, c->h.psn, g->expected);
	if (ahead == WIRE_HALF || (ahead < WIRE_HALF && c->count >= g->promised))
		return;
	bool is_here = ahead > WIRE_HALF || has_come(o, end, c->count);
	bool reports_trims = c->rx->trimmed && wire_host(o, end)->has_trim_nack;

	/* M-50. */
	if (!is_here && ahead >= g->range && !reports_trims) {
		c->nack = OUT_OF_WINDOW;
		c->may = busy ? busy : 1u << MET_NACKED;
	} else if (c->rx->trimmed) {
		bool is_nack = reports_trims && !is_here;

		c->nack = is_nack ? (uint8_t)(c->rx->trimmed == 1 ? TRIMMED : TRIMMED_LASTHOP) : 0;
		c->may = busy ? busy : 1u << MET_TRIMMED;
	} else if (is_here) {
		c->may = 1u << MET_DUPLICATE;
	} else {
		expect_new(o, end, c);
	}
}

void wire_give_expect(struct hunt_oracle *o, uint32_t end)
{
	struct wire_coming *c = &wire_at(o, end)->coming;

	if (c->h.opcode == PROBE)
		c->may = has_room(o, end) ? 1u << MET_PROBE : 1u << WIRE_DROPPED;
	else
		expect_data(o, end, c);
}

/* The NAK that comes tells which of the codes it was. */
static void refused(struct hunt_oracle *o, uint32_t end)
{
	const struct wire_coming *c = &wire_at(o, end)->coming;

	if (c->naks >> NAK_INVALID & 1)
		wire_met(o, MET_WIMM_OVER);
	close(o, end, c->naks, c->h.psn);
}

void wire_give_taken(struct hunt_oracle *o, uint32_t end, uint32_t verdict)
{
	struct wire_give *g = &wire_at(o, end)->give;
	const struct wire_coming *c = &wire_at(o, end)->coming;

	switch (verdict) {
	case MET_DATA: accept(o, end); break;
	case MET_DUPLICATE:
		odd_mrc_duplicate(o, end, c->rx->udp_len + WIRE_NOMINAL);
		owe_sack(o, end);
		g->owes_ack = true;
		break;
	case MET_TRIMMED: owe(o, end, c->nack ? ANSWER_NACK : ANSWER_SACK, c->nack); break;
	case MET_NACKED: owe(o, end, ANSWER_NACK, c->nack); break;
	case MET_PROBE: owe(o, end, ANSWER_PROBED, 0); break;
	case MET_REFUSED: refused(o, end); break;
	default: break;
	}
}

void wire_give_resize(struct hunt_oracle *o, uint32_t end, uint8_t mpr)
{
	struct wire_give *g = &wire_at(o, end)->give;

	g->mpr = mpr;
	g->range = mpr * PLAN_MRC_RANGE;
	if (g->promised < g->expected + g->range)
		g->promised = g->expected + g->range;
}

static bool is_stamp(const struct hunt_oracle *o, uint32_t end, const struct wire_answer *a,
		     nsec now, uint16_t stamp)
{
	return wire_is_reflected(o, o->plan->ends[end].host,
				 &(struct wire_reflected){.at = a->at,
							  .now = now,
							  .has_stamp = a->has_stamp,
							  .stamp = a->stamp,
							  .got = stamp});
}

/* Where a map begins (7.5.2.2 with M-18), as an offset from cack. */
static int64_t base_of(struct wire_give *g)
{
	int64_t cack = (int64_t)g->expected - 1, most = (int64_t)g->seen - 1;
	int64_t base = g->lowest > cack ? g->lowest : cack;

	if (base + MAP_BITS - 1 >= most)
		base = most - (MAP_BITS - 1) > cack ? most - (MAP_BITS - 1) : cack;
	g->lowest = base + MAP_BITS;
	return base;
}

static uint64_t map_from(const struct hunt_oracle *o, uint32_t end, int64_t base)
{
	uint64_t expected = wire_at(o, end)->give.expected, map = 0;

	for (uint32_t i = 0; i < MAP_BITS; i++) {
		int64_t n = base + i;
		bool is_here = n < (int64_t)expected || has_come(o, end, (uint64_t)n);

		map |= (uint64_t)is_here << i;
	}
	return map;
}

static int64_t offset_of(const struct hunt_oracle *o, uint32_t end, const struct wire_answer *a)
{
	const struct wire_give *g = &wire_at(o, end)->give;
	uint32_t cack = o->plan->ends[end ^ 1].psn + (uint32_t)g->expected - 1;
	uint32_t ahead = (a->psn - cack) % WIRE_NUMBERS;
	int64_t offset = ahead < WIRE_HALF ? ahead : (int64_t)ahead - WIRE_NUMBERS;

	/* M-20, M-41. */
	return a->has_psn && offset >= INT16_MIN && offset <= INT16_MAX ? offset : 0;
}

static void check_sack(struct hunt_oracle *o, uint32_t end, nsec now, const struct wire_head *h,
		       const struct wire_answer *a)
{
	struct wire_give *g = &wire_at(o, end)->give;
	const struct plan_mrc_end *e = wire_plan(o, end);
	const uint8_t *m = h->more;
	bool is_probed = a->kind == ANSWER_PROBED;
	uint32_t cack = (o->plan->ends[end ^ 1].psn + (uint32_t)g->expected - 1) % WIRE_NUMBERS;
	int64_t base = base_of(g);
	uint64_t map = wire_big(m + 20, 8), want = map_from(o, end, base);
	uint16_t of = (uint16_t)(is_probed ? a->probe_id : offset_of(o, end, a));

	g->trigger = 0;
	g->owes_sack = false;
	if (wire_big(m + 13, 3) != cack || (!is_probed && h->psn != cack))
		oracle_fail(o, "end %u: a SACK up to psn %u, and all came up to %u", end,
			    (unsigned)wire_big(m + 13, 3), cack);
	else if ((int16_t)wire_big(m + 18, 2) != base - (int64_t)g->expected + 1)
		oracle_fail(o, "end %u: the map of a SACK begins at %+d, not %+" PRId64, end,
			    (int16_t)wire_big(m + 18, 2), base - (int64_t)g->expected + 1);
	else if (map != want)
		oracle_fail(o, "end %u: the map of a SACK is %016" PRIx64 ", not %016" PRIx64, end,
			    map, want);
	else if (wire_big(m + 2, 2) != of || !!(m[1] & 2) != is_probed)
		oracle_fail(o, "end %u: a SACK about packet %+d, not %+d", end,
			    (int16_t)wire_big(m + 2, 2), (int16_t)of);
	else if (m[17] != (e->is_dynamic ? g->mpr : 0))
		oracle_fail(o, "end %u: a SACK with range %u", end, m[17]);
	else if (m[0] != 0 || (m[1] & 0x9d) != 0 || m[16] != 0)
		oracle_fail(o, "end %u: reserved bits of a SACK are set", end);
	else if ((m[1] >> 5 & 3) != a->is_marked)
		oracle_fail(o, "end %u: a SACK is marked, or not, wrongly", end);
	else if ((wire_big(m + 30, 2) & 0x7fff) != g->early ||
		 wire_big(m + 33, 3) != (g->bytes + 255) / 256 % 0x1000000)
		oracle_fail(o, "end %u: a SACK tells of %u early packets and %u blocks, not %u",
			    end, (unsigned)wire_big(m + 30, 2), (unsigned)wire_big(m + 33, 3),
			    g->early);
	else if ((m[32] & 127) != e->penalty || m[32] >> 7 != e->is_restoring)
		oracle_fail(o, "end %u: a SACK with penalty %02x", end, m[32]);
	else if (!is_stamp(o, end, a, now, (uint16_t)wire_big(m + 28, 2)))
		oracle_fail(o, "end %u: a SACK with timestamp %u", end,
			    (unsigned)wire_big(m + 28, 2));
}

static void check_nack(struct hunt_oracle *o, uint32_t end, nsec now, const struct wire_head *h,
		       const struct wire_answer *a)
{
	const uint8_t *m = h->more;

	if (m[NACK_FIELD] != a->reason)
		oracle_fail(o, "end %u: a NACK of psn %u for reason %u, not %u", end, h->psn,
			    m[NACK_FIELD], a->reason);
	else if (h->psn != a->psn || wire_big(m + 13, 3) != a->psn)
		oracle_fail(o, "end %u: a NACK of psn %u, not %u", end, h->psn, a->psn);
	else if (m[0] != 0 || m[1] != 0 || m[16] != 0x20 || m[17] != 0)
		oracle_fail(o, "end %u: reserved bits of a NACK are set", end);
	else if (!is_stamp(o, end, a, now, (uint16_t)wire_big(m + 18, 2)))
		oracle_fail(o, "end %u: a NACK with timestamp %u", end,
			    (unsigned)wire_big(m + 18, 2));
	switch (a->reason) {
	case TRIMMED: wire_met(o, MET_NACK_TRIMMED); break;
	case TRIMMED_LASTHOP: wire_met(o, MET_NACK_LASTHOP); break;
	case NO_BITMAP: wire_met(o, MET_NACK_NO_BITMAP); break;
	default: wire_met(o, MET_NACK_RANGE); break;
	}
}

/* A Transport ACK tells how far all was executed; a NAK, behind it, which packet was refused
 * (M-40). */
static void check_ack(struct hunt_oracle *o, uint32_t end, const struct wire_head *h)
{
	struct wire_give *g = &wire_at(o, end)->give;
	uint32_t cack = (o->plan->ends[end ^ 1].psn + (uint32_t)g->expected - 1) % WIRE_NUMBERS;
	uint8_t type = h->more[0] >> 5, code = h->more[0] & 31;

	if (h->n_more != 4 || (type != 0 && type != 3)) {
		oracle_fail(o, "end %u: an acknowledgement of no known kind", end);
		return;
	}
	if (wire_big(h->more + 1, 3) != g->msn % MSNS)
		oracle_fail(o, "end %u: MSN %u where %u messages are complete", end,
			    (unsigned)wire_big(h->more + 1, 3), g->msn);
	if (type == 0) {
		if (!g->owes_ack || code != NO_CREDIT || h->psn != cack)
			oracle_fail(o, "end %u: ACK %u of psn %u, and all came up to %u%s", end,
				    code, h->psn, cack, g->owes_ack ? "" : ", unasked for");
		g->owes_ack = false;
		return;
	}
	if (!g->owes_nak || g->owes_ack || h->psn != g->nak_psn || !(g->naks >> code & 1))
		oracle_fail(o, "end %u: NAK %u of psn %u has no reason", end, code, h->psn);
	g->owes_nak = false;
}

void wire_give_answer(struct hunt_oracle *o, uint32_t end, nsec now, const struct wire_head *h,
		      const struct tx_pkt *tx)
{
	struct wire_give *g = &wire_at(o, end)->give;
	uint16_t own = (uint16_t)o->plan->ends[end].qp, peer = (uint16_t)h->qp;
	bool is_sack = h->opcode == SACK;
	struct wire_answer a;

	/* One that refused a request says so, and what it executed before that. */
	if ((wire_is_dead(o, end) && !(g->is_closed && h->opcode == ACKNOWLEDGE)) || o->has_ended)
		oracle_fail(o, "end %u: an answer after an error", end);
	if (h->opcode == ACKNOWLEDGE) {
		if (h->rtx || tx->udp_len != 0)
			oracle_fail(o, "end %u: the headers of an ACK are wrong", end);
		check_ack(o, end, h);
		return;
	}
	if (g->n == 0) {
		oracle_fail(o, "end %u: an answer that nobody asked for", end);
		return;
	}
	a = g->answers[g->first];
	g->n--;
	g->first = g->n > 0 ? g->first + 1 : 0;
	if (h->n_more != (is_sack ? 36 : 20) || is_sack != (a.kind != ANSWER_NACK)) {
		oracle_fail(o, "end %u: a %s for a %s", end, is_sack ? "SACK" : "NACK",
			    a.kind == ANSWER_NACK ? "NACK" : "SACK");
		return;
	}
	if (wire_big(h->more + 4, 4) != a.ev || h->rtx != a.is_retx || tx->udp_len != a.udp_len ||
	    wire_big(h->more + 8, 2) != own || wire_big(h->more + 10, 2) != peer)
		oracle_fail(o, "end %u: an answer with the entropy, flag or numbers of another",
			    end);
	if (is_sack)
		check_sack(o, end, now, h, &a);
	else
		check_nack(o, end, now, h, &a);
}
