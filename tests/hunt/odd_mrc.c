#include "odd_mrc.h"

#include <stdio.h>
#include <string.h>

#include "expand.h"
#include "wire_mrc.h"

#define OTHER_CC    0xfu    /* a cc_type that nobody has */
#define OTHER_STATE 0xee    /* what its state holds */
#define LABEL_MASK  0xffffu /* of an entropy value, what an IPv6 flow label carries */
#define CUT_AT      16u     /* bytes behind UDP that are left: 24 of IP, BTH and METH (M-49) */
#define SHORT_BYTES 128u    /* of UDP: below what a switch would leave of a packet */
#define LATE_MOST   40u     /* packets that overtake a NACK */

enum { STREAM_ODD = 202, STREAM_WHIM };

/* Where the base header has what; behind it a SACK, a NACK, and an endpoint request. */
enum { PSN = 9, BTH = 12 };
enum { ENTROPY = 4, CC_KIND = 16, CC_STATE = 28, OOO = 30, RCVD = 33, CC_STATE_BYTES = 8 };
enum { NACK_STAMP = 18 };
enum { PORTS = 4 };

static const char *const names[] = {
#define ODD_MRC_NAME(id, name) [ODD_##id] = name,
	ODD_MRC(ODD_MRC_NAME)
#undef ODD_MRC_NAME
};

void odd_mrc_draw(struct hunt_plan *s)
{
	struct plan_mrc *m = s->own;
	struct prng p;

	prng_init(&p, s->seed, STREAM_ODD);
	if (s->is_plain || !prng_chance(&p, 1, 2))
		return;
	for (uint32_t h = 0; h < s->topology.n_hosts; h++)
		for (uint32_t i = 0, n = prng_chance(&p, 2, 3) ? hunt_draw(&p, 1, 6) : 0; i < n;
		     i++)
			m->hosts[h].odd |= 1u << hunt_draw(&p, 0, ODD_COUNT - 1);
}

void odd_mrc_print(const struct hunt_plan *s, uint32_t host)
{
	for (uint32_t i = 0; i < ODD_COUNT; i++)
		if (plan_mrc(s)->hosts[host].odd >> i & 1)
			printf("    its host is %s\n", names[i]);
}

void odd_mrc_begin(struct hunt_oracle *o)
{
	struct wire *wire = o->wire;

	prng_init(&wire->whim, o->plan->seed, STREAM_WHIM);
}

bool odd_mrc_is(const struct hunt_oracle *o, uint32_t host, enum odd_mrc what)
{
	return host < o->plan->topology.n_hosts && plan_mrc(o->plan)->hosts[host].odd >> what & 1;
}

static void met(struct hunt_oracle *o, enum odd_mrc what)
{
	wire_met(o, MET_ODD + what);
}

void odd_mrc_duplicate(struct hunt_oracle *o, uint32_t end, uint32_t bytes)
{
	wire_at(o, end)->odd.counted_bytes += bytes;
}

static void put_big(uint8_t *at, uint32_t n, uint64_t value)
{
	while (n-- > 0) {
		at[n] = (uint8_t)value;
		value >>= 8;
	}
}

/* What it says of congestion. */
static void change_state(struct hunt_oracle *o, uint32_t end, uint8_t *m)
{
	uint32_t host = o->plan->ends[end].host;
	uint64_t rcvd = wire_big(m + RCVD, 3), extra = wire_at(o, end)->odd.counted_bytes >> 8;

	if (odd_mrc_is(o, host, ODD_COUNTS) && extra > 0) {
		put_big(m + RCVD, 3, rcvd + extra);
		met(o, ODD_COUNTS);
	}
	if (odd_mrc_is(o, host, ODD_NO_RCVD) && rcvd > 0) {
		put_big(m + RCVD, 3, 0);
		met(o, ODD_NO_RCVD);
	}
	if (odd_mrc_is(o, host, ODD_NO_OOO) && wire_big(m + OOO, 2) > 0) {
		put_big(m + OOO, 2, 0);
		met(o, ODD_NO_OOO);
	}
}

/* What a SACK and a NACK have in common. */
static void change_answer(struct hunt_oracle *o, uint32_t host, uint8_t *m, bool is_sack)
{
	uint64_t entropy = wire_big(m + ENTROPY, 4);

	if (odd_mrc_is(o, host, ODD_NO_LABEL) && entropy & LABEL_MASK) {
		put_big(m + ENTROPY, 4, entropy & ~(uint64_t)LABEL_MASK);
		met(o, ODD_NO_LABEL);
	}
	if (odd_mrc_is(o, host, ODD_CC_TYPE)) {
		m[CC_KIND] = (uint8_t)(OTHER_CC << 4 | (m[CC_KIND] & 15));
		if (is_sack)
			memset(m + CC_STATE, OTHER_STATE, CC_STATE_BYTES);
		else
			memset(m + NACK_STAMP, OTHER_STATE, 2);
		met(o, ODD_CC_TYPE);
	}
}

/* Whether an ACK may be left to a NAK: it is behind it, or will be, as the next work has a flaw. */
static bool is_left_out(struct hunt_oracle *o, uint32_t end)
{
	struct wire *wire = o->wire;
	const struct wire_give *g = &wire->ends[end].give;
	uint32_t next = oracle_work_at(o, end ^ 1, g->expected);
	bool is_flawed = next != HUNT_NOTHING && o->plan->works[next].flaw != HUNT_SOUND;

	return g->is_closed ? g->owes_nak : is_flawed && prng_chance(&wire->whim, 3, 4);
}

/* A NAK names what is acknowledged, or says alone what was executed. */
static bool change_ack(struct hunt_oracle *o, uint32_t end, uint8_t *head)
{
	struct wire_end *e = wire_at(o, end);
	uint32_t host = o->plan->ends[end].host;
	uint32_t cack = o->plan->ends[end ^ 1].psn + (uint32_t)e->give.expected - 1;

	if (o->ends[end].is_tainted)
		return true;
	if (!(head[BTH] >> 5 & 3)) {
		e->odd.has_left_out = odd_mrc_is(o, host, ODD_NAK_ALONE) && is_left_out(o, end);
		return !e->odd.has_left_out;
	}
	if (e->odd.has_left_out)
		met(o, ODD_NAK_ALONE);
	if (odd_mrc_is(o, host, ODD_NAK_CACK)) {
		put_big(head + PSN, 3, cack % WIRE_NUMBERS);
		met(o, ODD_NAK_CACK);
	}
	return true;
}

/* Port n is bit n on the wire, and 1 the first (M-29). */
static void change_ports(struct hunt_oracle *o, uint32_t host, uint8_t *m)
{
	if (!odd_mrc_is(o, host, ODD_FROM_0) || wire_big(m + PORTS, 4) == 0)
		return;
	put_big(m + PORTS, 4, wire_big(m + PORTS, 4) >> 1);
	met(o, ODD_FROM_0);
}

bool odd_mrc_output(struct hunt_oracle *o, uint32_t host, struct tx_pkt *tx)
{
	uint8_t *m = tx->head + BTH;
	struct wire_head h;

	if (!plan_mrc(o->plan)->hosts[host].odd ||
	    !wire_read((struct cspan){tx->head, tx->head_len}, &h))
		return true;
	uint32_t peer = hunt_find_end(o->plan, tx->peer, h.qp);

	if (h.opcode == COMMON_REQUEST)
		change_ports(o, host, m);
	if (peer == HUNT_NOTHING)
		return true;
	if (h.opcode == ACKNOWLEDGE)
		return change_ack(o, peer ^ 1, tx->head);
	if (h.opcode == SACK)
		change_state(o, peer ^ 1, m);
	if (h.opcode == SACK || h.opcode == NACK)
		change_answer(o, host, m, h.opcode == SACK);
	return true;
}

static bool is_unanswered(struct hunt_oracle *o, uint32_t host, const struct wire_head *h)
{
	if (h->opcode != COMMON_REQUEST || h->n_more < 2)
		return false;
	bool is_probe = h->more[1] & 1;

	if (!odd_mrc_is(o, host, is_probe ? ODD_NO_EV : ODD_NO_COMMON))
		return false;
	met(o, is_probe ? ODD_NO_EV : ODD_NO_COMMON);
	return true;
}

/* Switches on the way to a host that leave less of a packet, or do not cut the short ones. Those
 * that are retransmitted are spared, and all when faults are over: this is no fault that has no
 * end. */
static void change_trimmed(struct hunt_oracle *o, uint32_t host, const struct wire_head *h,
			   struct rx_pkt *rx)
{
	struct wire *wire = o->wire;

	if (odd_mrc_is(o, host, ODD_CUT_SHORT) && rx->trimmed && !rx->is_uncut &&
	    wire_is_data(h->opcode) && rx->head.len > CUT_AT) {
		rx->head.len = CUT_AT;
		rx->body[0].len = rx->body[1].len = 0;
		met(o, ODD_CUT_SHORT);
	}
	if (odd_mrc_is(o, host, ODD_UNCUT) && !rx->trimmed && rx->udp_len < SHORT_BYTES &&
	    rx->dscp == HUNT_DSCP_DATA && !h->rtx && o->plan->is_trimming &&
	    o->now(o->clock) < o->plan->healed_at && prng_chance(&wire->whim, 1, 4)) {
		rx->trimmed = rx->is_uncut = 1;
		met(o, ODD_UNCUT);
	}
}

/* A NACK of an odd peer's will come once more. */
static void keep_nack(struct hunt_oracle *o, uint32_t end, const struct rx_pkt *rx)
{
	struct wire *wire = o->wire;
	struct wire_odd *odd = &wire->ends[end].odd;

	if (odd->late_in > 0 || rx->head.len > sizeof odd->head || rx->body[0].len > 0)
		return;
	odd->late = *rx;
	memcpy(odd->head, rx->head.at, rx->head.len);
	odd->late.head.at = odd->head;
	odd->late_in = hunt_draw(&wire->whim, 1, LATE_MOST);
}

bool odd_mrc_input(struct hunt_oracle *o, uint32_t host, struct rx_pkt *rx)
{
	struct wire_head h;

	/* By a port that is down nothing comes, whoever is odd. */
	if (wire_station(o, host)->down >> rx->port & 1)
		return false;
	if (!wire_read(rx->head, &h))
		return true;
	if (is_unanswered(o, host, &h))
		return false;
	change_trimmed(o, host, &h, rx);
	uint32_t end = hunt_find_end(o->plan, host, h.qp);

	if (h.opcode == NACK && end != HUNT_NOTHING && odd_mrc_is(o, rx->peer, ODD_OLD_NACK))
		keep_nack(o, end, rx);
	return true;
}

bool odd_mrc_late(struct hunt_oracle *o, uint32_t host, struct rx_pkt *rx)
{
	struct wire_head h;
	uint32_t end = wire_read(rx->head, &h) ? hunt_find_end(o->plan, host, h.qp) : HUNT_NOTHING;

	if (end == HUNT_NOTHING || wire_at(o, end)->odd.late_in == 0 ||
	    --wire_at(o, end)->odd.late_in > 0)
		return false;
	nsec at = rx->at;

	*rx = wire_at(o, end)->odd.late;
	rx->at = at;
	met(o, ODD_OLD_NACK);
	return true;
}
