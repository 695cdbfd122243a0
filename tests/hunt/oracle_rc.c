/* RC as it shows on the wire, from IBTA volume 1 chapter 9 alone: which packet may carry which
 * number, what it must look like, and who may have been told what. A packet's place in its
 * connection is counted from 0 in 64 bits; numbers on the wire are the last 24. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_rc.h"

#define NUMBERS  0x1000000u
#define BTH      12u
#define CNP_NS   UINT64_C(50000)
#define MOST_OUT 0x800000u

enum { AETH_IS_ACK, AETH_IS_RNR, AETH_IS_RESERVED, AETH_IS_NAK };

/* Opcodes, as the specification numbers them (IBTA table 38). */
enum {
	SEND_FIRST,
	SEND_MIDDLE,
	SEND_LAST,
	SEND_LAST_IMM,
	SEND_ONLY,
	SEND_ONLY_IMM,
	WRITE_FIRST,
	WRITE_MIDDLE,
	WRITE_LAST,
	WRITE_LAST_IMM,
	WRITE_ONLY,
	WRITE_ONLY_IMM,
	READ_REQUEST,
	READ_FIRST,
	READ_MIDDLE,
	READ_LAST,
	READ_ONLY,
	ACKNOWLEDGE,
	ATOMIC_ACK,
	COMPARE_SWAP,
	FETCH_ADD,
	SEND_LAST_INV = 22,
	SEND_ONLY_INV,
	CNP = 0x81,
};

/* What the wire tells of an end. Packets are counted from 0. */
struct wire_end {
	/* The requester. */
	uint64_t una, high;      /* acknowledged at most up to here; never sent from here on */
	nsec quiet_until;        /* it has been told to wait, and took it in */
	nsec quiet_next;         /* it would have to, if it took in what just came */
	bool has_credits;        /* it was told how many receives there are: */
	uint64_t credit_limit;   /* messages with a receive that may be out; UINT64_MAX: any */
	bool has_beyond;         /* one went beyond them: */
	uint64_t beyond;         /* this packet ... */
	uint64_t beyond_message; /* ... of this message */
	/* The responder: of the peer's packets. */
	uint64_t expected;
	uint64_t acked; /* told to be through up to here */
	uint64_t n_requests, n_answers, n_marked, n_notices;
	nsec noticed_at;
	uint16_t *asked; /* by number: times that an answer to this packet was asked for, unanswered
			  */
	uint64_t n_asked;
};

static struct wire_end *wire_at(const struct hunt_oracle *o, uint32_t end)
{
	return (struct wire_end *)o->wire + end;
}

int oracle_rc_new(struct hunt_oracle *o)
{
	const struct hunt_plan *s = o->plan;
	struct wire_end *wire = calloc(HUNT_ENDS, sizeof *wire);

	o->wire = wire;
	for (uint32_t e = 0; e < s->n_ends && wire; e++) {
		const struct hunt_end *peer = &s->ends[e ^ 1];
		const struct hunt_work *last = &s->works[peer->first_work + peer->n_works];

		wire[e].credit_limit = UINT64_MAX;
		wire[e].n_asked = peer->n_works ? last[-1].first + last[-1].n_pkts : 0;
		wire[e].asked = calloc(wire[e].n_asked + 1, sizeof *wire[e].asked);
		if (!wire[e].asked)
			return -ENOMEM;
	}
	return wire ? 0 : -ENOMEM;
}

void oracle_rc_free(struct hunt_oracle *o)
{
	for (uint32_t e = 0; e < HUNT_ENDS && o->wire; e++)
		free(wire_at(o, e)->asked);
	free(o->wire);
}

/* A packet's headers. */
struct head {
	uint8_t opcode, pad;
	bool se, ack_req;
	uint16_t pkey;
	uint32_t qp, psn;
	const uint8_t *more; /* behind the base header */
	uint32_t n_more;
};

static uint64_t big(const uint8_t *at, uint32_t n)
{
	uint64_t value = 0;

	while (n-- > 0)
		value = value << 8 | *at++;
	return value;
}

static bool read_head(struct cspan bytes, struct head *h)
{
	if (!bytes.at || bytes.len < BTH)
		return false;
	*h = (struct head){
		.opcode = bytes.at[0],
		.se = bytes.at[1] >> 7,
		.pad = bytes.at[1] >> 4 & 3,
		.pkey = (uint16_t)big(bytes.at + 2, 2),
		.qp = (uint32_t)big(bytes.at + 5, 3),
		.ack_req = bytes.at[8] >> 7,
		.psn = (uint32_t)big(bytes.at + 9, 3),
		.more = bytes.at + BTH,
		.n_more = bytes.len - BTH,
	};
	return true;
}

static bool is_request(uint8_t opcode)
{
	return opcode <= READ_REQUEST || opcode == COMPARE_SWAP || opcode == FETCH_ADD ||
	       opcode == SEND_LAST_INV || opcode == SEND_ONLY_INV;
}

static bool is_read_response(uint8_t opcode)
{
	return opcode >= READ_FIRST && opcode <= READ_ONLY;
}

static const char *name_of(uint8_t opcode)
{
	static const char *const names[] = {"SEND first",    "SEND middle",
					    "SEND last",     "SEND last imm",
					    "SEND only",     "SEND only imm",
					    "WRITE first",   "WRITE middle",
					    "WRITE last",    "WRITE last imm",
					    "WRITE only",    "WRITE only imm",
					    "READ request",  "READ first",
					    "READ middle",   "READ last",
					    "READ only",     "ACK",
					    "ATOMIC ack",    "CAS",
					    "FAA",           "?",
					    "SEND last inv", "SEND only inv"};

	if (opcode == CNP)
		return "CNP";
	return opcode < sizeof names / sizeof names[0] ? names[opcode] : "?";
}

void oracle_rc_print(struct cspan bytes, uint32_t payload, char *text, size_t text_len)
{
	static const char *const types[] = {"ACK", "RNR NAK", "reserved", "NAK"};
	struct head h;

	if (!read_head(bytes, &h)) {
		snprintf(text, text_len, "%u bytes", bytes.len);
		return;
	}
	int n = snprintf(text, text_len, "%s qp %u psn %u, %u B%s", name_of(h.opcode), h.qp, h.psn,
			 payload, h.ack_req ? ", asks" : "");

	if (h.opcode == ACKNOWLEDGE && h.n_more >= 4)
		snprintf(text + n, text_len - (size_t)n, ": %s %u, msn %u",
			 types[h.more[0] >> 5 & 3], h.more[0] & 31u, (unsigned)big(h.more + 1, 3));
}

uint32_t oracle_rc_end_of(const struct hunt_plan *s, uint32_t host, struct cspan bytes)
{
	struct head h;

	return read_head(bytes, &h) ? hunt_find_end(s, host, h.qp) : HUNT_NOTHING;
}

/* The count of a packet of end's whose number is near that of count `near`; UINT64_MAX: it lies
 * before the first. */
static uint64_t count_of(const struct hunt_oracle *o, uint32_t end, uint32_t psn, uint64_t near)
{
	uint32_t ahead = (psn - o->plan->ends[end].psn - (uint32_t)near) % NUMBERS;

	if (ahead < MOST_OUT)
		return near + ahead;
	return near >= NUMBERS - ahead ? near - (NUMBERS - ahead) : UINT64_MAX;
}

static bool is_fetch(const struct hunt_work *w)
{
	return w->code == ENGINE_READ || w->code == ENGINE_ATOMIC;
}

/* Bytes of packets from ... to - 1 of a work's payload. */
static uint64_t bytes_of(const struct hunt_oracle *o, const struct hunt_work *w, uint64_t from,
			 uint64_t to)
{
	uint64_t pmtu = o->plan->pmtu, first = (from - w->first) * pmtu,
		 last = (to - w->first) * pmtu;

	first = first < w->len ? first : w->len;
	last = last < w->len ? last : w->len;
	return last - first;
}

/* Compares the payload of a packet, in pieces, with bytes off ... of scattered memory. */
static bool is_payload(const uint8_t *memory, const struct hunt_piece *sg, uint32_t off,
		       uint32_t len, const struct tx_pkt *tx)
{
	uint32_t left = len;

	for (uint32_t i = 0; i < tx->n_body && left > 0; i++) {
		uint32_t n = tx->body[i].len < left ? tx->body[i].len : left;

		if (n > 0 && (!tx->body[i].at || !oracle_equal(memory, sg, off, tx->body[i].at, n)))
			return false;
		off += n;
		left -= n;
	}
	return left == 0;
}

static uint32_t body_bytes(const struct tx_pkt *tx)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < tx->n_body; i++)
		n += tx->body[i].len;
	return n;
}

/* The opcode that packet i of a work must have. */
static uint8_t opcode_of(const struct hunt_work *w, uint32_t i)
{
	bool is_write = w->code == ENGINE_WRITE || w->code == ENGINE_WRITE_IMM;
	bool has_imm = w->code == ENGINE_WRITE_IMM || w->code == ENGINE_SEND_IMM;
	bool is_last = i + 1 == w->n_pkts;
	uint8_t base = is_write ? WRITE_FIRST : SEND_FIRST;

	if (w->code == ENGINE_READ)
		return READ_REQUEST;
	if (w->code == ENGINE_ATOMIC)
		return w->atomic_op == ENGINE_FETCH_ADD ? FETCH_ADD : COMPARE_SWAP;
	if (w->code == ENGINE_SEND_INV && is_last)
		return i == 0 ? SEND_ONLY_INV : SEND_LAST_INV;
	if (i == 0)
		return (uint8_t)(base + (is_last ? SEND_ONLY + has_imm : SEND_FIRST));
	return (uint8_t)(base + (is_last ? SEND_LAST + has_imm : SEND_MIDDLE));
}

/* Whether the headers behind the base header are those of packet i. */
static bool is_extension(const struct hunt_oracle *o, uint32_t end, const struct hunt_work *w,
			 uint32_t i, const struct head *h)
{
	const uint8_t *at = h->more;
	uint32_t off = i * o->plan->pmtu, n = 0;
	struct hunt_target to = hunt_target(o->plan, end, w);
	bool has_inv = w->code == ENGINE_SEND_INV && i + 1 == w->n_pkts;
	bool has_imm =
		(w->code == ENGINE_WRITE_IMM || w->code == ENGINE_SEND_IMM) && i + 1 == w->n_pkts;
	bool is_write = w->code == ENGINE_WRITE || w->code == ENGINE_WRITE_IMM;

	if (w->code == ENGINE_ATOMIC) {
		bool is_swap = w->atomic_op == ENGINE_COMPARE_SWAP;

		return h->n_more == 28 && big(at, 8) == to.va && big(at + 8, 4) == to.key &&
		       big(at + 12, 8) == w->operand[is_swap] &&
		       (!is_swap || big(at + 20, 8) == w->operand[0]);
	}
	if (w->code == ENGINE_READ || (is_write && i == 0)) {
		uint32_t len = w->code == ENGINE_READ ? w->len - off : w->len;

		if (h->n_more < 16 || big(at, 8) != to.va + off || big(at + 8, 4) != to.key ||
		    big(at + 12, 4) != len)
			return false;
		n = 16;
	}
	if (has_imm || has_inv) {
		if (h->n_more < n + 4 || big(at + n, 4) != (has_inv ? w->key : w->imm))
			return false;
		n += 4;
	}
	return h->n_more == n;
}

static void check_bytes(struct hunt_oracle *o, uint32_t end, uint32_t work, uint32_t i,
			const struct head *h, const struct tx_pkt *tx)
{
	const struct hunt_work *w = &o->plan->works[work];
	uint32_t pmtu = o->plan->pmtu, off = i * pmtu;
	uint32_t len = w->len - off < pmtu ? w->len - off : pmtu;
	bool is_last = i + 1 == w->n_pkts;

	if (is_fetch(w))
		len = 0;
	if (h->opcode != opcode_of(w, i))
		oracle_fail(o, "end %u, work %u, packet %u: opcode %s, not %s", end, work, i,
			    name_of(h->opcode), name_of(opcode_of(w, i)));
	else if (!is_extension(o, end, w, i, h))
		oracle_fail(o, "end %u, work %u, packet %u: its headers are wrong", end, work, i);
	else if (h->pad != (-len & 3u) || body_bytes(tx) != len + h->pad)
		oracle_fail(o, "end %u, work %u, packet %u: %u bytes and padding of %u, not %u",
			    end, work, i, body_bytes(tx), h->pad, len);
	else if (!is_payload(o->plan->arenas[end].bytes, w->sg, off, len, tx))
		oracle_fail(o, "end %u, work %u, packet %u: not its payload", end, work, i);
	else if (is_last && w->message != HUNT_NOTHING && h->se != !!(w->flags & ENGINE_SOLICITED))
		oracle_fail(o, "end %u, work %u, packet %u: solicited, or not, wrongly", end, work,
			    i);
}

/* Reads and atomics that are out, of those up to a work: the peer may have room for no more. */
static void check_fetches(struct hunt_oracle *o, uint32_t end, uint32_t work, bool is_new)
{
	const struct hunt_end *e = &o->plan->ends[end];
	const struct wire_end *state = wire_at(o, end);
	bool has_fence = o->plan->works[work].flags & ENGINE_FENCE;
	uint32_t n = 0;

	for (uint32_t k = e->first_work + o->ends[end].n_done; k <= work; k++) {
		const struct hunt_work *w = &o->plan->works[k];

		if (!is_fetch(w) || oracle_is_whole(o, k) || w->first >= state->high)
			continue;
		n++;
		if (has_fence && is_new && k < work)
			oracle_fail(o, "end %u, work %u: sent before work %u behind its fence", end,
				    work, k);
	}
	if (is_fetch(&o->plan->works[work]) && n > e->rd_atomic)
		oracle_fail(o, "end %u, work %u: %u reads and atomics out, not %u", end, work, n,
			    e->rd_atomic);
}

static void check_window(struct hunt_oracle *o, uint32_t end, uint32_t work, uint64_t last)
{
	const struct hunt_end *e = &o->plan->ends[end];
	const struct wire_end *state = wire_at(o, end);
	uint64_t bytes = 0, own = 0;

	for (uint32_t k = e->first_work; k <= work; k++) {
		const struct hunt_work *w = &o->plan->works[k];
		uint64_t to = w->first + w->n_pkts < last ? w->first + w->n_pkts : last;
		uint64_t from = w->first > state->una ? w->first : state->una;

		if (from < to && w->code != ENGINE_ATOMIC)
			bytes += own = bytes_of(o, w, from, to);
	}
	/* What is sent last may reach over the end, but nothing begins behind it. */
	if (bytes - own >= o->plan->window_bytes)
		oracle_fail(o, "end %u, work %u: %" PRIu64 " bytes out, the window is %u", end,
			    work, bytes, o->plan->window_bytes);
	if (last > state->una + MOST_OUT)
		oracle_fail(o, "end %u: more than 2^23 packets out", end);
}

/* At most one message may be beyond what the peer has receives for, and alone. */
static void check_credits(struct hunt_oracle *o, uint32_t end, uint32_t work, uint32_t i)
{
	const struct hunt_work *w = &o->plan->works[work];
	struct wire_end *state = wire_at(o, end);
	bool takes = w->code == ENGINE_WRITE_IMM ? i + 1 == w->n_pkts : i == 0;

	if (w->message == HUNT_NOTHING || !takes || w->message < state->credit_limit)
		return;
	/* One that went back begins anew, and receives may have come for the other since. */
	if (state->has_beyond && state->beyond < w->first + i && state->beyond >= state->una &&
	    state->beyond_message >= state->credit_limit)
		oracle_fail(o, "end %u, work %u: a message beyond the credits", end, work);
	state->has_beyond = true;
	state->beyond = w->first + i;
	state->beyond_message = w->message;
}

static void on_request(struct hunt_oracle *o, uint32_t end, nsec now, const struct head *h,
		       const struct tx_pkt *tx)
{
	struct wire_end *state = wire_at(o, end);
	uint64_t count = count_of(o, end, h->psn, state->high);
	uint32_t work = oracle_work_at(o, end, count);

	if (count > state->high || work == HUNT_NOTHING || o->works[work].fate == HUNT_WAITS) {
		oracle_fail(o, "end %u: %s psn %u belongs to no work", end, name_of(h->opcode),
			    h->psn);
		return;
	}
	const struct hunt_work *w = &o->plan->works[work];
	uint32_t i = (uint32_t)(count - w->first);
	uint32_t step = w->code == ENGINE_READ ? w->n_pkts - i : 1;
	bool is_new = count == state->high;

	if (o->works[work].fate != HUNT_POSTED)
		oracle_fail(o, "end %u, work %u, packet %u: sent although it is over", end, work,
			    i);
	if (o->ends[end].has_failed)
		oracle_fail(o, "end %u, work %u, packet %u: sent after an error", end, work, i);
	/* A read finds out when it has something to place. */
	if (w->flaw == HUNT_NO_LOCAL && !is_fetch(w))
		oracle_fail(o, "end %u, work %u: sent with a bad local key", end, work);
	if (now < state->quiet_until)
		oracle_fail(o, "end %u, work %u, packet %u: sent while it was told to wait", end,
			    work, i);
	if (count + step > state->high)
		state->high = count + step;
	check_bytes(o, end, work, i, h, tx);
	check_fetches(o, end, work, is_new);
	check_window(o, end, work, count + step);
	check_credits(o, end, work, i);
}

/* All of the peer's payload before count is where it belongs. */
static void check_placed(struct hunt_oracle *o, uint32_t end, uint64_t count)
{
	const struct hunt_end *peer = &o->plan->ends[end ^ 1];

	for (uint32_t k = peer->first_work + o->ends[end ^ 1].n_done;
	     k < peer->first_work + peer->n_works; k++) {
		const struct hunt_work *w = &o->plan->works[k];

		for (uint32_t i = 0; i < w->n_pkts && w->first + i < count && !is_fetch(w); i++)
			if (!oracle_is_placed(o, k, i)) {
				oracle_fail(o,
					    "end %u: acknowledges packet %u of work %u before it "
					    "is placed",
					    end, i, k);
				return;
			}
	}
}

/* Works of end that are wholly among its packets before count; those without packets do not
 * count. */
static uint32_t works_before(const struct hunt_oracle *o, uint32_t end, uint64_t count)
{
	const struct hunt_end *e = &o->plan->ends[end];
	const struct hunt_work *works = &o->plan->works[e->first_work];
	uint32_t n = 0;

	for (uint32_t k = 0; k < e->n_works && works[k].first + works[k].n_pkts <= count; k++)
		n += works[k].n_pkts > 0;
	return n;
}

/* Messages completed are those that were, when it was sent at the latest. */
static void check_msn(struct hunt_oracle *o, uint32_t end, uint64_t count, const uint8_t *aeth)
{
	uint32_t msn = (uint32_t)big(aeth + 1, 3);

	if (msn < works_before(o, end ^ 1, count) ||
	    msn > works_before(o, end ^ 1, wire_at(o, end)->expected))
		oracle_fail(o, "end %u: MSN %u where %u to %u messages are complete", end, msn,
			    works_before(o, end ^ 1, count),
			    works_before(o, end ^ 1, wire_at(o, end)->expected));
}

static void on_acknowledge(struct hunt_oracle *o, uint32_t end, const struct head *h)
{
	struct wire_end *state = wire_at(o, end);
	uint64_t count = count_of(o, end ^ 1, h->psn, state->expected);
	uint8_t type = h->n_more >= 4 ? h->more[0] >> 5 & 3 : AETH_IS_RESERVED;
	uint8_t value = h->n_more >= 4 ? h->more[0] & 31 : 0;
	uint64_t reported = type == AETH_IS_ACK ? count + 1 : count;

	if (++state->n_answers > state->n_requests)
		oracle_fail(o, "end %u: more answers than requests", end);
	if (h->n_more != 4 || type == AETH_IS_RESERVED) {
		oracle_fail(o, "end %u: an acknowledgement of no known kind", end);
		return;
	}
	if (count == UINT64_MAX || reported > state->expected) {
		oracle_fail(o, "end %u: answers psn %u, but nothing from psn %u on has come", end,
			    h->psn,
			    (uint32_t)(o->plan->ends[end ^ 1].psn + state->expected) % NUMBERS);
		return;
	}
	if (type != AETH_IS_ACK && reported < state->acked)
		oracle_fail(o, "end %u: refuses psn %u, which it acknowledged", end, h->psn);
	if (reported > state->acked)
		state->acked = reported;
	check_placed(o, end, reported);
	check_msn(o, end, reported, h->more);
	if (type == AETH_IS_RNR && value != o->plan->ends[end].rnr_timer)
		oracle_fail(o, "end %u: RNR timer %u", end, value);
	/* What it puts off is to come again. */
	if (type == AETH_IS_RNR)
		state->expected = count;
}

/* The work that an answer with this number belongs to, once for each time it was asked for. */
static const struct hunt_work *answered(struct hunt_oracle *o, uint32_t end, const struct head *h,
					uint64_t *count)
{
	struct wire_end *state = wire_at(o, end);

	*count = count_of(o, end ^ 1, h->psn, state->expected);
	uint32_t work = oracle_work_at(o, end ^ 1, *count);

	if (work == HUNT_NOTHING || *count >= state->n_asked || state->asked[*count] == 0) {
		oracle_fail(o, "end %u: %s psn %u, which nobody asked for, or not so often", end,
			    name_of(h->opcode), h->psn);
		return NULL;
	}
	state->asked[*count]--;
	if (*count + 1 > state->acked)
		state->acked = *count + 1;
	check_placed(o, end, *count);
	return &o->plan->works[work];
}

static void on_read_response(struct hunt_oracle *o, uint32_t end, const struct head *h,
			     const struct tx_pkt *tx)
{
	const struct hunt_arena *a = &o->plan->arenas[end];
	uint64_t count;
	const struct hunt_work *w = answered(o, end, h, &count);

	if (!w)
		return;
	uint32_t pmtu = o->plan->pmtu, off = (uint32_t)(count - w->first) * pmtu;
	uint32_t len = w->len - off < pmtu ? w->len - off : pmtu;
	bool is_last = count + 1 == w->first + w->n_pkts;
	bool says_last = h->opcode == READ_LAST || h->opcode == READ_ONLY;
	struct hunt_piece from[HUNT_SGE] = {{a->remote.at + w->remote + off, len}};

	if (w->code != ENGINE_READ || (w->flaw != HUNT_SOUND && w->flaw != HUNT_NO_LOCAL))
		oracle_fail(o, "end %u: a read response to a %s (%s)", end, hunt_op_name(w),
			    hunt_flaw_name(w->flaw));
	else if (is_last != says_last || (h->opcode == READ_MIDDLE && count == w->first))
		oracle_fail(o, "end %u: %s psn %u is not at its place", end, name_of(h->opcode),
			    h->psn);
	else if (h->n_more != (h->opcode == READ_MIDDLE ? 0 : 4) || h->pad != (-len & 3u) ||
		 body_bytes(tx) != len + h->pad)
		oracle_fail(o, "end %u: %s psn %u has the wrong length", end, name_of(h->opcode),
			    h->psn);
	else if (!is_payload(a->shadow, from, 0, len, tx))
		oracle_fail(o, "end %u: %s psn %u carries the wrong bytes", end, name_of(h->opcode),
			    h->psn);
}

static void on_atomic_ack(struct hunt_oracle *o, uint32_t end, const struct head *h)
{
	uint64_t count;
	const struct hunt_work *w = answered(o, end, h, &count);

	if (++wire_at(o, end)->n_answers > wire_at(o, end)->n_requests)
		oracle_fail(o, "end %u: more answers than requests", end);
	if (!w)
		return;
	if (w->code != ENGINE_ATOMIC || (w->flaw != HUNT_SOUND && w->flaw != HUNT_NO_LOCAL) ||
	    h->n_more != 12)
		oracle_fail(o, "end %u: an atomic's answer to a %s (%s)", end, hunt_op_name(w),
			    hunt_flaw_name(w->flaw));
	else if (big(h->more + 4, 8) != w->before)
		oracle_fail(o, "end %u: an atomic found %016" PRIx64 ", not %016" PRIx64, end,
			    big(h->more + 4, 8), w->before);
}

static void on_notice(struct hunt_oracle *o, uint32_t end, nsec now)
{
	struct wire_end *state = wire_at(o, end);

	if (++state->n_notices > state->n_marked)
		oracle_fail(o, "end %u: more congestion notifications than marked packets", end);
	if (state->n_notices == 1)
		state->noticed_at = now;
	/* One may have waited for its turn. */
	if (state->n_notices > 2 + (now - state->noticed_at) / CNP_NS)
		oracle_fail(o, "end %u: congestion notifications too close together", end);
}

void oracle_rc_output(struct hunt_oracle *o, uint32_t host, nsec now, const struct tx_pkt *tx)
{
	struct head h;
	uint32_t peer = HUNT_NOTHING;

	if (read_head((struct cspan){tx->head, tx->head_len}, &h))
		peer = hunt_find_end(o->plan, tx->peer, h.qp);
	if (peer == HUNT_NOTHING || o->plan->ends[peer ^ 1].host != host) {
		oracle_fail(o, "h%u: a packet to nobody", host);
		return;
	}
	uint32_t end = peer ^ 1;

	if (o->ends[end].is_gone)
		oracle_fail(o, "end %u: a packet from a life before", end);
	if (h.pkey != 0xffff || tx->port != o->plan->ends[end].port ||
	    tx->ev != o->plan->ends[end].ev)
		oracle_fail(o, "end %u: wrong partition, port or entropy", end);
	if (o->ends[end].is_tainted)
		return;
	if (is_request(h.opcode))
		on_request(o, end, now, &h, tx);
	else if (is_read_response(h.opcode))
		on_read_response(o, end, &h, tx);
	else if (h.opcode == ACKNOWLEDGE)
		on_acknowledge(o, end, &h);
	else if (h.opcode == ATOMIC_ACK)
		on_atomic_ack(o, end, &h);
	else if (h.opcode == CNP)
		on_notice(o, end, now);
	else
		oracle_fail(o, "end %u: opcode %u", end, h.opcode);
}

/* A request arrives: what its answer may be. */
static void asks(struct hunt_oracle *o, uint32_t end, const struct head *h)
{
	struct wire_end *state = wire_at(o, end);
	uint64_t count = count_of(o, end ^ 1, h->psn, state->expected);
	uint32_t work = oracle_work_at(o, end ^ 1, count), step = 1;

	state->n_requests++;
	if (work == HUNT_NOTHING)
		return;
	const struct hunt_work *w = &o->plan->works[work];

	if (w->code == ENGINE_READ)
		step = w->n_pkts - (uint32_t)(count - w->first);
	for (uint32_t i = 0; i < step && is_fetch(w); i++)
		state->asked[count + i]++;
	if (count == state->expected)
		state->expected += step;
}

/* Messages that take a receive among the first n works of an end that have packets. */
static uint32_t messages_of(const struct hunt_oracle *o, uint32_t end, uint32_t n)
{
	const struct hunt_end *e = &o->plan->ends[end];
	const struct hunt_work *works = &o->plan->works[e->first_work];
	uint32_t messages = 0;

	for (uint32_t k = 0; k < e->n_works && n > 0; k++) {
		messages += works[k].message != HUNT_NOTHING;
		n -= works[k].n_pkts > 0;
	}
	return messages;
}

static uint64_t credits_of(uint8_t code)
{
	uint64_t n = code < 4 ? code : (code & 1 ? UINT64_C(3) : UINT64_C(2)) << (code / 2 - 1);

	return code == 31 ? UINT64_MAX : n;
}

/* Whether a read or atomic has no answer yet. One of no bytes is whole without it. */
static bool is_open(struct hunt_oracle *o, uint32_t end, uint32_t work)
{
	const struct hunt_work *w = &o->plan->works[work];
	bool is_unanswered = w->len == 0 && w->first >= wire_at(o, end)->una;

	return is_fetch(w) && (is_unanswered || !oracle_is_whole(o, work));
}

/* What an answer tells its requester. It may know less, if it dropped it: never more. */
static void on_answer(struct hunt_oracle *o, uint32_t end, nsec now, const struct head *h)
{
	struct wire_end *state = wire_at(o, end);
	uint64_t count = count_of(o, end, h->psn, state->high);
	uint8_t type = h->n_more >= 4 ? h->more[0] >> 5 & 3 : AETH_IS_ACK;
	bool has_open = false;

	if (count >= state->high)
		return;
	for (uint32_t k = o->plan->ends[end].first_work;
	     k < o->plan->n_works && o->plan->works[k].first < count &&
	     k < o->plan->ends[end].first_work + o->plan->ends[end].n_works;
	     k++)
		has_open |= is_open(o, end, k);
	state->quiet_next = 0;
	if (type == AETH_IS_RNR && count >= state->una && !has_open)
		state->quiet_next = now + hunt_rnr_ns(h->more[0] & 31);
	/* The first word of credits is only received in an answer to something. */
	if (type == AETH_IS_ACK && h->n_more >= 4 && (count >= state->una || state->has_credits)) {
		uint64_t more = credits_of(h->more[0] & 31);
		uint64_t limit = messages_of(o, end, (uint32_t)big(h->more + 1, 3)) + more;

		if (more == UINT64_MAX)
			state->credit_limit = UINT64_MAX;
		else if (!state->has_credits || limit > state->credit_limit)
			state->credit_limit = limit;
		state->has_credits = true;
	}
	count += type == AETH_IS_ACK;
	if (count > state->una) {
		state->una = count;
		state->quiet_until = 0;
	}
}

void oracle_rc_input(struct hunt_oracle *o, uint32_t host, nsec now, const struct rx_pkt *rx)
{
	uint32_t end = oracle_rc_end_of(o->plan, host, rx->head);
	struct head h;

	if (end == HUNT_NOTHING || !read_head(rx->head, &h) || o->ends[end].is_gone)
		return;
	if (rx->ecn == 3)
		wire_at(o, end)->n_marked++;
	if (is_request(h.opcode))
		asks(o, end, &h);
	else if (h.opcode != CNP)
		on_answer(o, end, now, &h);
}

/* The engine says whether an answer made it wait: one that came too late may be dropped instead. */
void oracle_rc_taken(struct hunt_oracle *o, uint32_t end, const struct hunt_counts *before,
		     const struct hunt_counts *after)
{
	struct wire_end *state = wire_at(o, end);

	if (after->more[ORACLE_RC_RNR] != before->more[ORACLE_RC_RNR] &&
	    state->quiet_next > state->quiet_until)
		state->quiet_until = state->quiet_next;
}
