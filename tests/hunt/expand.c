/* One seed, one plan. Everything is drawn from streams of the seed before anything runs, so that a
 * plan can be printed, and run again. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expand.h"
#include "mem/mem.h"

#define MESSAGE_PKTS  6u
#define LONG_PAIRS    2u
#define SESSIONS_MOST 3u

enum {
	STREAM_FABRIC = 1,
	STREAM_ENDS,
	STREAM_WORK,
	STREAM_RECVS,
	STREAM_FAULTS,
	STREAM_BYTES,
	STREAM_SPRAY,
	STREAM_TAIL,
};

/* What one end's work is made of. */
enum flavour { MIXED, SENDS, WRITES, READS, ATOMICS, FLAVOURS };

nsec hunt_timeout_ns(uint8_t code)
{
	return UINT64_C(4096) << code;
}

/* IBTA table 45, in units of 10 us; code 0 is the longest. */
nsec hunt_rnr_ns(uint8_t code)
{
	static const uint32_t table[HUNT_RNR_CODE] = {
		65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
		48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

	return table[code % HUNT_RNR_CODE] * UINT64_C(10000);
}

uint32_t hunt_find_end(const struct hunt_plan *s, uint32_t host, uint32_t qp)
{
	for (uint32_t i = 0; i < s->n_ends; i++)
		if (s->ends[i].host == host && s->ends[i].qp == qp)
			return i;
	return HUNT_NOTHING;
}

struct hunt_target hunt_target(const struct hunt_plan *s, uint32_t end, const struct hunt_work *w)
{
	const struct hunt_arena *peers = &s->arenas[end ^ 1];
	struct hunt_target to = {peers->iova + w->remote, peers->remote_key};

	if (w->window != HUNT_NOTHING)
		to.key = w->key;
	switch (w->flaw) {
	case HUNT_OTHER_PAIR:
		to.va = s->arenas[s->windows[w->window].end].iova + s->windows[w->window].range.at;
		break;
	case HUNT_BAD_KEY: to.key = HUNT_NO_KEY; break;
	case HUNT_FORBIDDEN: to = (struct hunt_target){peers->iova, peers->closed_key}; break;
	case HUNT_MISALIGNED: to.va += 4; break;
	case HUNT_FOREIGN:
		for (uint32_t e = 0; e < s->n_ends; e++)
			if (s->arenas[e].pd != peers->pd &&
			    s->ends[e].host == s->ends[end ^ 1].host)
				to = (struct hunt_target){s->arenas[e].iova,
							  s->arenas[e].remote_key};
		/* Nobody else is there: then it is any key. */
		if (to.key == peers->remote_key)
			to.key = HUNT_NO_KEY;
		break;
	case HUNT_BEYOND:
		/* Where each packet is by itself, the first is beyond the end, and so are all. */
		to.va = peers->iova + peers->remote.len + 8 -
			(s->transport->is_sprayed && w->len > s->pmtu ? s->pmtu : w->len);
		break;
	default: break;
	}
	/* Beyond the end of all addresses an engine refuses it at once: another flaw then. */
	if (w->flaw != HUNT_SOUND && to.va + w->len < to.va)
		to = (struct hunt_target){0, HUNT_NO_KEY};
	return to;
}

/* What all connections have in common, and whether packets may be forged. */
static void draw_manner(struct hunt_plan *s, struct prng *p)
{
	s->pmtu = 256u << hunt_draw(p, 0, 4);
	s->has_dcqcn = prng_chance(p, 1, 4);
	s->window_bytes =
		s->pmtu * (prng_chance(p, 1, 3) ? hunt_draw(p, 1, 4) : hunt_draw(p, 4, 64));
	s->ack_every = prng_chance(p, 1, 2) ? hunt_draw(p, 1, 4) : hunt_draw(p, 4, 64);
	s->n_faults = prng_chance(p, 1, 8) ? 0 : hunt_draw(p, 1, HUNT_FAULTS);
	s->has_forgery = s->n_faults > 0 && prng_chance(p, 1, 6);
	for (uint32_t h = 0; h < s->topology.n_hosts; h++)
		s->has_srq[h] =
			!s->has_forgery && prng_chance(p, 1, 3) && s->transport->open_shared;
}

/* Of a plan with long messages, where much is out at a time. */
static void lengthen(struct hunt_plan *s, struct prng *p)
{
	if (!s->is_long)
		return;
	s->pmtu = 256u << hunt_draw(p, 0, 2);
	s->window_bytes = s->pmtu * hunt_draw(p, 64, 1000);
}

static uint32_t draw_qp(const struct hunt_plan *s, struct prng *p, uint32_t host)
{
	for (;;) {
		uint32_t qp = hunt_draw(p, 0, 3) ? hunt_draw(p, 2, 0xffffff) : hunt_draw(p, 0, 40);

		if (qp >= s->transport->row->least_number &&
		    hunt_find_end(s, host, qp) == HUNT_NOTHING)
			return qp;
	}
}

static void draw_end(struct hunt_plan *s, struct prng *p, uint32_t host)
{
	bool is_calm = s->n_faults == 0;
	struct hunt_end end = {
		.host = host,
		.qp = draw_qp(s, p, host),
		.psn = prng_chance(p, 1, 3) ? 0xffffff - hunt_draw(p, 0, 40)
					    : hunt_draw(p, 0, 0xffffff),
		.port = (uint8_t)hunt_draw(p, 0, s->shape.nic_ports - 1),
		.rd_atomic =
			(uint8_t)(prng_chance(p, 1, 2) ? hunt_draw(p, 0, 2) : hunt_draw(p, 1, 16)),
		.timeout = (uint8_t)(is_calm ? hunt_draw(p, 7, 10) : hunt_draw(p, 3, 9)),
		.retries = (uint8_t)(is_calm || prng_chance(p, 1, 2) ? 7 : hunt_draw(p, 0, 6)),
		.rnr_retries = (uint8_t)(is_calm || prng_chance(p, 1, 2) ? 7 : hunt_draw(p, 0, 6)),
		.rnr_timer = (uint8_t)hunt_draw(p, 1, 11),
		.max_send = prng_chance(p, 1, 2) ? hunt_draw(p, 1, 4) : hunt_draw(p, 5, 40),
		.has_srq = s->has_srq[host] && prng_chance(p, 2, 3),
	};

	if (s->is_long)
		end.max_send *= 3;
	/* A forged message takes a receive that a real one then lacks, and waits for. */
	if (s->has_forgery && end.rnr_retries == 7)
		end.rnr_retries = 6;
	end.ev = routing_entropy(&s->routing, s->seed, hunt_draw(p, 0, 0xffff));
	s->ends[s->n_ends++] = end;
}

static void draw_ends(struct hunt_plan *s, struct prng *p)
{
	uint32_t n = hunt_draw(p, 1, prng_chance(p, 1, 2) ? 2 : HUNT_ENDS / 2);

	if (s->is_long && n > LONG_PAIRS)
		n = LONG_PAIRS;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t a = hunt_draw(p, 0, s->topology.n_hosts - 1);
		uint32_t b = hunt_draw(p, 0, s->topology.n_hosts - 2);

		draw_end(s, p, a);
		draw_end(s, p, b >= a ? b + 1 : b);
	}
	for (uint32_t i = 0; i < s->n_ends; i++)
		s->ends[i].dest_rd_atomic =
			(uint8_t)hunt_draw(p, s->ends[i ^ 1].rd_atomic, HUNT_RD_MOST);
}

/* No two keys are alike, no window's is among them, and none is HUNT_NO_KEY. Half of the ends are
 * in the domain of another one of their host, if there is one. */
static void draw_keys(struct hunt_plan *s, struct prng *p)
{
	for (uint32_t i = 0; i < HUNT_ENDS + HUNT_HOSTS; i++) {
		struct hunt_arena *a = &s->arenas[i];

		a->pd = prng_u32(p);
		a->local_key = (prng_u32(p) & 0xffffff00) | (4 * i + 1);
		a->remote_key = (prng_u32(p) & 0xffffff00) | (4 * i + 2);
		a->closed_key = (prng_u32(p) & 0xffffff00) | (4 * i + 3);
		a->closed_access = prng_chance(p, 1, 2) ? MEM_LOCAL_WRITE : MEM_BIND;
	}
	for (uint32_t e = 1; e < s->n_ends; e++)
		for (uint32_t k = 0; k < e; k++)
			if (s->ends[k].host == s->ends[e].host && prng_chance(p, 1, 2))
				s->arenas[e].pd = s->arenas[k].pd;
}

static uint32_t take_local(struct hunt_bump *b, uint32_t len)
{
	uint32_t at = b->local;

	b->local += len + hunt_draw(b->p, 1, 24);
	return at;
}

uint32_t hunt_take_remote(struct hunt_bump *b, uint32_t len, uint32_t align)
{
	uint32_t at = (b->remote + align - 1) / align * align;

	b->remote = at + len + hunt_draw(b->p, 1, 24);
	return at;
}

/* Cuts len bytes into pieces with gaps between them. */
static uint8_t draw_pieces(struct hunt_bump *b, uint32_t len, struct hunt_piece *sg)
{
	uint8_t n = 0;

	if (len == 0 && prng_chance(b->p, 1, 2))
		return 0;
	while (n < HUNT_SGE - 1 && prng_chance(b->p, 1, 3)) {
		uint32_t part = hunt_draw(b->p, 0, len);

		sg[n++] = (struct hunt_piece){take_local(b, part), part};
		len -= part;
	}
	sg[n++] = (struct hunt_piece){take_local(b, len), len};
	return n;
}

uint32_t hunt_draw_len(const struct hunt_plan *s, struct prng *p)
{
	switch (hunt_draw(p, 0, 5)) {
	case 0: return hunt_draw(p, 0, 8);
	case 1: return hunt_draw(p, 0, s->pmtu);
	case 2: return s->pmtu * hunt_draw(p, 1, s->message_pkts);
	case 3: return s->pmtu * hunt_draw(p, 1, s->message_pkts) - hunt_draw(p, 1, 3);
	case 4: return s->pmtu * hunt_draw(p, 1, s->message_pkts) + hunt_draw(p, 1, 3);
	default: return hunt_draw(p, 1, s->pmtu * s->message_pkts);
	}
}

static bool can(const struct hunt_transport *t, uint8_t code)
{
	return t->row->ops & HUNT_OP(code);
}

/* One of those that the transport has; all of them have ENGINE_WRITE. */
static uint8_t draw_code(struct hunt_draft *d, enum flavour flavour, bool may_read)
{
	static const uint8_t sends[] = {ENGINE_SEND, ENGINE_SEND_IMM, ENGINE_WRITE_IMM};
	static const uint8_t any[] = {ENGINE_SEND,      ENGINE_SEND_IMM, ENGINE_WRITE,
				      ENGINE_WRITE_IMM, ENGINE_READ,     ENGINE_ATOMIC};
	uint8_t code = any[hunt_draw(d->p, 0, may_read ? 5 : 3)];

	if (flavour == READS && may_read)
		code = ENGINE_READ;
	if (flavour == ATOMICS && may_read)
		code = ENGINE_ATOMIC;
	if (flavour == WRITES)
		code = ENGINE_WRITE;
	if (flavour == SENDS)
		code = sends[hunt_draw(d->p, 0, 2)];
	if (can(d->t, code))
		return code;
	return code == ENGINE_SEND || code == ENGINE_SEND_IMM ? ENGINE_WRITE_IMM : ENGINE_WRITE;
}

/* Half of the compare-and-swaps find what they look for. */
static void draw_atomic(struct prng *p, struct hunt_work *w, uint64_t *word)
{
	w->atomic_op = prng_chance(p, 1, 2) ? ENGINE_COMPARE_SWAP : ENGINE_FETCH_ADD;
	w->before = *word;
	if (w->atomic_op == ENGINE_FETCH_ADD) {
		w->operand[0] = prng_u64(p) | 1;
		w->after_word = *word + w->operand[0];
	} else {
		bool is_hit = prng_chance(p, 1, 2);

		w->operand[0] = is_hit ? *word : ~*word;
		w->operand[1] = prng_u64(p);
		w->after_word = is_hit ? w->operand[1] : *word;
	}
	*word = w->after_word;
}

/* At most one such work of an end is flawed: nothing behind it is done. */
static void draw_flaw(struct prng *p, const struct hunt_plan *s, struct hunt_work *w,
		      const struct hunt_end *peer)
{
	w->flaw = (uint8_t)hunt_draw(p, HUNT_BAD_KEY, HUNT_SHORT);
	if (w->flaw == HUNT_SHORT && w->code == ENGINE_ATOMIC)
		w->flaw = HUNT_MISALIGNED;
	if (w->flaw == HUNT_MISALIGNED && hunt_is_send(w))
		w->flaw = HUNT_SHORT;
	if (w->flaw >= HUNT_MISALIGNED && w->message != HUNT_NOTHING &&
	    !transport_has(s->transport->row, TRANSPORT_NOT_READY)) {
		w->flaw = HUNT_NO_RECV;
		return;
	}
	if (w->flaw == HUNT_NO_LOCAL && !(w->flags & ENGINE_TRUSTED) && w->n_sg > 0 && w->len > 0)
		return;
	if (w->flaw == HUNT_SHORT && !peer->has_srq && w->len > 0 &&
	    (w->code == ENGINE_SEND || w->code == ENGINE_SEND_IMM))
		return;
	if (w->flaw == HUNT_MISALIGNED && w->code == ENGINE_ATOMIC)
		return;
	if (w->flaw <= HUNT_FORBIDDEN && hunt_is_remote(w) && w->len > 0 &&
	    (w->flaw != HUNT_FOREIGN || s->n_ends > 2))
		return;
	w->flaw = HUNT_SOUND;
}

/* Where its bytes are, here and there. */
static void place_work(struct hunt_draft *d, uint32_t side, struct hunt_work *w)
{
	struct hunt_bump *own = &d->bumps[d->first + side],
			 *peers = &d->bumps[d->first + (side ^ 1)];

	if (w->code == ENGINE_ATOMIC) {
		uint32_t i = hunt_draw(d->p, 0, HUNT_WORDS - 1);

		w->len = HUNT_WORD;
		w->sg[w->n_sg++] = (struct hunt_piece){take_local(own, HUNT_WORD), HUNT_WORD};
		draw_atomic(d->p, w, &d->words[side][i]);
		w->remote = d->s->ends[d->first + (side ^ 1)].words[i];
		return;
	}
	w->n_sg = draw_pieces(own, w->len, w->sg);
	if (hunt_is_remote(w))
		w->remote = hunt_take_remote(peers, w->len, 1);
}

struct hunt_work *hunt_draft_add(struct hunt_draft *d, uint32_t side, uint8_t code, uint32_t len)
{
	struct prng *p = d->p;
	struct hunt_work *w = &d->works[side][d->n[side]++];
	uint32_t gap_ns = 2 * d->spread_ns[side] / HUNT_END_WORKS;

	*w = (struct hunt_work){
		.code = code,
		.len = len,
		.imm = prng_u32(p),
		.message = HUNT_NOTHING,
		.window = HUNT_NOTHING,
		.after_end = d->first + side,
		.flags = (uint8_t)((prng_chance(p, 1, 4) ? ENGINE_SILENT : 0) |
				   (prng_chance(p, 1, 4) ? ENGINE_SOLICITED : 0) |
				   (prng_chance(p, 1, 6) ? ENGINE_FENCE : 0) |
				   (prng_chance(p, 1, 8) ? ENGINE_TRUSTED : 0)),
	};
	d->at[side] += gap_ns ? hunt_draw(p, 0, gap_ns) * PSEC_NS : 0;
	w->at = d->at[side];
	if (hunt_is_local(w))
		return w;
	place_work(d, side, w);
	if (hunt_is_send(w) || code == ENGINE_WRITE_IMM)
		w->message = d->n_messages[side]++;
	w->n_pkts = w->len == 0 ? 1 : (w->len + d->s->pmtu - 1) / d->s->pmtu;
	return w;
}

/* Puts the works of a side where the plan has them. */
static void keep_works(struct hunt_draft *d, uint32_t side)
{
	struct hunt_plan *s = d->s;
	struct hunt_end *end = &s->ends[d->first + side];
	uint64_t first = 0;

	end->first_work = s->n_works;
	end->n_works = d->n[side];
	end->n_messages = d->n_messages[side];
	for (uint32_t i = 0; i < d->n[side]; i++) {
		struct hunt_work *w = &s->works[s->n_works++];

		*w = d->works[side][i];
		w->first = first;
		first += w->n_pkts;
	}
	if (d->at[side] > s->healed_at)
		s->healed_at = d->at[side];
	/* The last one is told of, so that all are known to be done. */
	if (d->n[side] > 0)
		s->works[s->n_works - 1].flags &= (uint8_t)~ENGINE_SILENT;
}

/* A packet now and then, when all is healed: what went out of use has time to come back. */
static void draw_tail(struct hunt_draft *d)
{
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = 0; i < d->s->n_tail; i++)
			hunt_draft_add(d, side, ENGINE_WRITE, hunt_draw(d->p, 1, HUNT_GUARD));
}

/* When its works are posted: those of the ends of a connection take turns, so that they do not
 * meet in a queue. */
static void place_tail(struct hunt_plan *s)
{
	for (uint32_t e = 0; e < s->n_ends; e++) {
		struct hunt_end *end = &s->ends[e];
		struct hunt_work *w = &s->works[end->first_work + end->n_works - s->n_tail];

		for (uint32_t i = 0; i < s->n_tail; i++)
			w[i].at = s->healed_at + i * s->tail_gap + e * s->tail_gap / s->n_ends;
	}
}

/* Works of one connection: those of its ends, and those that both play a part in, mixed. */
static void draw_works(struct hunt_plan *s, const struct hunt_transport *t, struct prng *p,
		       struct hunt_bump bumps[HUNT_ENDS], uint32_t first)
{
	static struct hunt_draft d;
	enum flavour flavours[2];
	uint32_t left[2], flawed[2];
	uint32_t sessions =
		can(t, ENGINE_BIND) && prng_chance(p, 1, 2) ? hunt_draw(p, 1, SESSIONS_MOST) : 0;
	bool has_flaw = prng_chance(p, 1, 3);

	memset(&d, 0, sizeof d);
	d.s = s;
	d.t = t;
	d.p = p;
	d.bumps = bumps;
	d.first = first;
	for (uint32_t side = 0; side < 2; side++) {
		flavours[side] = (enum flavour)hunt_draw(p, 0, FLAVOURS - 1);
		left[side] = hunt_draw(p, 0, s->end_works - sessions * HUNT_SESSION);
		flawed[side] =
			prng_chance(p, 1, 10) ? hunt_draw(p, 0, s->end_works - 1) : HUNT_NOTHING;
		d.spread_ns[side] = hunt_draw(p, 0, 1) * hunt_draw(p, 1, 200000);
		if (s->is_slow)
			d.spread_ns[side] = hunt_draw(p, 300000, 1500000);
		/* The words of the peer, which only this end changes. */
		for (uint32_t i = 0; i < HUNT_WORDS; i++) {
			s->ends[first + (side ^ 1)].words[i] =
				hunt_take_remote(&bumps[first + (side ^ 1)], HUNT_WORD, HUNT_WORD);
			d.words[side][i] = prng_u64(p);
		}
	}
	while (left[0] + left[1] + sessions > 0) {
		uint32_t pick = hunt_draw(p, 1, left[0] + left[1] + sessions);
		uint32_t side = pick > left[0];

		if (pick > left[0] + left[1]) {
			hunt_draft_session(&d, --sessions == 0 && has_flaw);
			continue;
		}
		uint8_t code = draw_code(&d, flavours[side], s->ends[first + side].rd_atomic > 0);
		struct hunt_work *w = hunt_draft_add(&d, side, code, hunt_draw_len(s, p));

		if (d.n[side] - 1 == flawed[side])
			draw_flaw(p, s, w, &s->ends[first + (side ^ 1)]);
		left[side]--;
	}
	draw_tail(&d);
	keep_works(&d, 0);
	keep_works(&d, 1);
}

/* The work that takes receive number i of an end, or NULL. */
static const struct hunt_work *message_at(const struct hunt_plan *s, uint32_t e, uint32_t i)
{
	const struct hunt_end *end = &s->ends[e];

	for (uint32_t k = 0; k < end->n_works; k++)
		if (s->works[end->first_work + k].message == i)
			return &s->works[end->first_work + k];
	return NULL;
}

/* When receives are posted: all before anything runs, one after the other, or late. */
struct pace {
	uint32_t gap_ns;
	psec at;
};

static void draw_recv(struct hunt_plan *s, struct hunt_bump *b, struct pace *pace,
		      struct hunt_recv recv)
{
	if (can(s->transport, ENGINE_SEND))
		recv.n_sg = draw_pieces(b, recv.len, recv.sg);
	recv.flags = prng_chance(b->p, 1, 8) ? ENGINE_TRUSTED : 0;
	pace->at += hunt_draw(b->p, 0, pace->gap_ns) * PSEC_NS;
	recv.at = pace->at;
	if (recv.at > s->healed_at)
		s->healed_at = recv.at;
	s->recvs[s->n_recvs++] = recv;
}

static struct pace draw_pace(const struct hunt_plan *s, struct prng *p)
{
	uint32_t kind =
		transport_has(s->transport->row, TRANSPORT_NOT_READY) ? hunt_draw(p, 0, 3) : 0;

	return (struct pace){
		.gap_ns = kind < 2 ? 0 : hunt_draw(p, 1, 30000),
		.at = kind == 3 ? hunt_draw(p, 1, 400) * PSEC_US : 0,
	};
}

static void draw_recvs(struct hunt_plan *s, struct prng *p, struct hunt_bump *bumps, uint32_t e)
{
	uint32_t n = s->ends[e ^ 1].n_messages + hunt_draw(p, 0, 2);
	struct pace pace = draw_pace(s, p);

	for (uint32_t i = 0; i < s->ends[e ^ 1].n_works; i++) {
		const struct hunt_work *w = &s->works[s->ends[e ^ 1].first_work + i];

		if (w->flaw == HUNT_NO_RECV)
			n = w->message;
	}
	s->ends[e].max_recv = n > 0 ? n : 1;
	if (s->ends[e].has_srq)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct hunt_work *w = message_at(s, e ^ 1, i);
		struct hunt_recv recv = {.end = e, .host = s->ends[e].host};

		if (w && w->code != ENGINE_WRITE_IMM)
			recv.len = w->flaw == HUNT_SHORT ? hunt_draw(p, 0, w->len - 1)
							 : w->len + hunt_draw(p, 0, 3);
		draw_recv(s, &bumps[e], &pace, recv);
	}
}

static void draw_shared(struct hunt_plan *s, struct prng *p, struct hunt_bump *bumps, uint32_t host)
{
	struct pace pace = draw_pace(s, p);
	uint32_t n = hunt_draw(p, 1, 3), len = 0;

	for (uint32_t e = 0; e < s->n_ends; e++) {
		if (s->ends[e].host != host || !s->ends[e].has_srq)
			continue;
		n += s->ends[e ^ 1].n_messages;
		for (uint32_t i = 0; i < s->ends[e ^ 1].n_works; i++) {
			const struct hunt_work *w = &s->works[s->ends[e ^ 1].first_work + i];

			if (w->message != HUNT_NOTHING && w->len > len)
				len = w->len;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		draw_recv(s, &bumps[HUNT_ENDS + host], &pace,
			  (struct hunt_recv){.end = HUNT_NOTHING, .host = host, .len = len});
}

/* Runs are short: a fault that hits one packet in a million hits none, and most work is done early.
 * The first fault of a plan with forgeries is one. */
static void sharpen(const struct hunt_plan *s, struct prng *p, struct fault *f)
{
	bool is_forgery = f == s->faults && s->has_forgery;
	bool is_on_packets = f->kind <= FAULT_FORGE;

	if (is_on_packets && (is_forgery || prng_chance(p, 2, 3))) {
		f->from_ps = hunt_draw(p, 0, 40000) * PSEC_NS;
		f->until_ps = f->from_ps + hunt_draw(p, 1000, 300000) * PSEC_NS;
	}
	if (is_on_packets && f->kind != FAULT_DELAY && f->kind != FAULT_BLACK_HOLE &&
	    (is_forgery || prng_chance(p, 2, 3)))
		f->ppm = hunt_draw(p, 10000, 300000);
	if (is_forgery) {
		f->crc = f->kind == FAULT_CORRUPT ? FAULT_CRC_ALL_REPAIRED : FAULT_CRC_BAD;
		f->count = hunt_draw(p, 1, 8);
		f->amount_ps = 0;
		f->match = FAULT_ANY;
		f->port = s->topology.nodes[hunt_draw(p, 0, s->topology.n_hosts - 1)].first_port;
	}
	if (f->kind == FAULT_CORRUPT && !s->has_forgery && f->crc == FAULT_CRC_ALL_REPAIRED)
		f->crc = FAULT_CRC_FCS_REPAIRED;
}

/* Answers that come late, after what they tell of has changed. */
static void delay_answers(const struct hunt_plan *s, struct prng *p, struct fault *f)
{
	*f = (struct fault){
		.kind = FAULT_REORDER,
		.match = FAULT_CONTROL,
		.port = s->topology.nodes[hunt_draw(p, 0, s->topology.n_hosts - 1)].first_port,
		.until_ps = hunt_draw(p, 20, 300) * PSEC_US,
		.ppm = hunt_draw(p, 50000, 500000),
		.amount_ps = hunt_draw(p, 2000, 60000) * PSEC_NS,
	};
}

/* Part of the fabric is dead, or nearly so, for as long as work goes on. */
static void lengthen_outage(const struct hunt_plan *s, struct prng *p, struct fault *f)
{
	static const uint64_t kinds = UINT64_C(1) << FAULT_PLANE | UINT64_C(1) << FAULT_DOWN |
				      UINT64_C(1) << FAULT_BLACK_HOLE | UINT64_C(1) << FAULT_GRAY;

	fault_draw(f, p, &s->topology, kinds, 0, PSEC_MS);
	f->from_ps = hunt_draw(p, 0, 200) * PSEC_US;
	f->until_ps = f->from_ps + hunt_draw(p, 300, 1200) * PSEC_US;
	f->match = FAULT_ANY;
}

static void draw_faults(struct hunt_plan *s, struct prng *p)
{
	uint64_t kinds = (UINT64_C(1) << FAULT_KIND_COUNT) - 1;
	psec until = hunt_draw(p, 10, 500) * PSEC_US;

	if (!s->has_forgery)
		kinds &= ~(UINT64_C(1) << FAULT_FORGE);
	if (!prng_chance(p, 1, 6))
		kinds &= ~(UINT64_C(1) << FAULT_RESTART);
	for (uint32_t i = 0; i < s->n_faults; i++) {
		struct fault *f = &s->faults[i];

		fault_draw(f, p, &s->topology, kinds, 0, until);
		if (s->has_forgery && i == 0)
			f->kind = prng_chance(p, 2, 3) ? FAULT_FORGE : FAULT_CORRUPT;
		sharpen(s, p, f);
		if (s->transport->is_sprayed && i > 0 && prng_chance(p, 1, 12))
			delay_answers(s, p, f);
		if (s->is_slow && i + 1 == s->n_faults && !(s->has_forgery && i == 0))
			lengthen_outage(s, p, f);
		/* A late packet of one of these still counts as part of it. */
		psec end = f->until_ps +
			   (f->kind == FAULT_DELAY || f->kind == FAULT_REORDER ? f->amount_ps : 0);

		if (end > s->healed_at)
			s->healed_at = end;
	}
}

static int make_arena(struct hunt_plan *s, uint32_t i, const struct hunt_bump *b, struct prng *p)
{
	struct hunt_arena *a = &s->arenas[i];
	uint32_t local = b->local - HUNT_GUARD;

	a->local = (struct hunt_piece){HUNT_GUARD, local};
	/* Words lie on addresses that are multiples of their size. */
	a->remote.at = (2 * HUNT_GUARD + local + HUNT_WORD - 1) / HUNT_WORD * HUNT_WORD;
	a->remote.len = b->remote;
	a->closed = (struct hunt_piece){a->remote.at + a->remote.len + HUNT_GUARD, HUNT_GUARD};
	a->len = a->closed.at + a->closed.len + HUNT_GUARD;
	a->bytes = malloc(a->len);
	a->shadow = malloc(a->len);
	if (!a->bytes || !a->shadow)
		return -ENOMEM;
	prng_fill(p, a->shadow, a->len);
	switch (hunt_draw(p, 0, 3)) {
	case 0: a->iova = UINT64_C(0xfffffff0); break;
	case 1:
		a->iova = -(uint64_t)((a->remote.len + HUNT_WORD - 1) / HUNT_WORD * HUNT_WORD);
		break;
	default: a->iova = prng_u64(p) >> 8 & ~UINT64_C(7); break;
	}
	return 0;
}

/* Every byte of dst differs from what will be put there. */
static void invert(uint8_t *memory, const struct hunt_piece *sg, const uint8_t *what)
{
	for (uint32_t i = 0; i < HUNT_SGE; sg++, i++)
		for (uint32_t k = 0; k < sg->len; k++)
			memory[sg->at + k] = (uint8_t) ~*what++;
}

/* A contiguous copy of the bytes of pieces. */
static void gather(const uint8_t *memory, const struct hunt_piece *sg, uint8_t *out)
{
	for (uint32_t i = 0; i < HUNT_SGE; sg++, i++) {
		memcpy(out, memory + sg->at, sg->len);
		out += sg->len;
	}
}

static int paint_work(struct hunt_plan *s, uint32_t e, const struct hunt_work *w)
{
	uint8_t *own = s->arenas[e].shadow;
	struct hunt_arena *peers = &s->arenas[e ^ 1];
	uint8_t *remote = peers->shadow + peers->remote.at + w->remote;
	uint8_t *copy = malloc(w->len + 1);

	if (!copy)
		return -ENOMEM;
	if (w->code == ENGINE_ATOMIC)
		invert(own, w->sg, (const uint8_t *)&w->before);
	if (w->code == ENGINE_READ)
		invert(own, w->sg, remote);
	if (w->code == ENGINE_WRITE || w->code == ENGINE_WRITE_IMM) {
		gather(own, w->sg, copy);
		invert(remote, (struct hunt_piece[HUNT_SGE]){{0, w->len}}, copy);
	}
	free(copy);
	return 0;
}

/* Gives arenas their bytes: sources anything, and what is to be written the opposite of what will
 * be there. */
static int paint(struct hunt_plan *s)
{
	for (uint32_t e = 0; e < s->n_ends; e++) {
		bool has_word[HUNT_WORDS] = {false};

		for (uint32_t i = 0; i < s->ends[e].n_works; i++) {
			const struct hunt_work *w = &s->works[s->ends[e].first_work + i];
			struct hunt_arena *peers = &s->arenas[e ^ 1];

			if (paint_work(s, e, w))
				return -ENOMEM;
			for (uint32_t k = 0; k < HUNT_WORDS && w->code == ENGINE_ATOMIC; k++) {
				if (has_word[k] || s->ends[e ^ 1].words[k] != w->remote)
					continue;
				has_word[k] = true;
				memcpy(peers->shadow + peers->remote.at + w->remote, &w->before,
				       HUNT_WORD);
			}
		}
	}
	for (uint32_t i = 0; i < HUNT_ENDS + HUNT_HOSTS; i++)
		if (s->arenas[i].bytes)
			memcpy(s->arenas[i].bytes, s->arenas[i].shadow, s->arenas[i].len);
	return 0;
}

/* By when everything is over: after the last fault each connection needs at most its timeouts and
 * waits, one after the other, and the time that its bytes take at the lowest rate. */
static void compute_bound(struct hunt_plan *s, const struct hunt_transport *t)
{
	nsec most = 0;
	uint64_t bytes = 0;

	for (uint32_t e = 0; e < s->n_ends; e++) {
		nsec ns = t->give_up_ns(s, e);

		most = ns > most ? ns : most;
	}
	for (uint32_t i = 0; i < s->n_works; i++)
		bytes += s->works[i].len;
	s->bound = s->healed_at + s->n_tail * s->tail_gap + (4 * most + 10000000) * PSEC_NS +
		   bytes * 80 * PSEC_NS;
}

int hunt_expand(struct hunt_plan *s, const struct hunt_transport *t, uint64_t seed, bool is_plain)
{
	struct hunt_bump bumps[HUNT_ENDS + HUNT_HOSTS];
	struct prng fabric, ends, work, recvs, faults, bytes, spray, tail;
	int error;

	memset(s, 0, sizeof *s);
	s->seed = seed;
	s->is_plain = is_plain;
	s->transport = t;
	s->message_pkts = MESSAGE_PKTS;
	s->end_works = HUNT_END_WORKS;
	prng_init(&fabric, seed, STREAM_FABRIC);
	prng_init(&ends, seed, STREAM_ENDS);
	prng_init(&work, seed, STREAM_WORK);
	prng_init(&recvs, seed, STREAM_RECVS);
	prng_init(&faults, seed, STREAM_FAULTS);
	prng_init(&bytes, seed, STREAM_BYTES);
	prng_init(&spray, seed, STREAM_SPRAY);
	error = hunt_draw_fabric(s, &fabric, &spray);
	if (error)
		return error;
	draw_manner(s, &ends);
	lengthen(s, &spray);
	prng_init(&tail, seed, STREAM_TAIL);
	if (t->is_sprayed && prng_chance(&tail, 1, 2)) {
		s->n_tail = HUNT_TAIL;
		s->tail_gap = hunt_draw(&tail, 70, 120) * PSEC_US;
	}
	s->is_slow = t->is_sprayed && prng_chance(&tail, 1, 4);
	draw_ends(s, &ends);
	draw_keys(s, &ends);
	for (uint32_t i = 0; i < HUNT_ENDS + HUNT_HOSTS; i++)
		bumps[i] = (struct hunt_bump){&work, HUNT_GUARD, 0};
	for (uint32_t e = 0; e < s->n_ends; e += 2)
		draw_works(s, t, &work, bumps, e);
	for (uint32_t e = 0; e < s->n_ends; e++)
		draw_recvs(s, &recvs, bumps, e);
	for (uint32_t h = 0; h < s->topology.n_hosts; h++)
		if (s->has_srq[h])
			draw_shared(s, &recvs, bumps, h);
	draw_faults(s, &faults);
	if (t->draw)
		error = t->draw(s);
	place_tail(s);
	for (uint32_t i = 0; i < HUNT_ENDS + HUNT_HOSTS && !error; i++)
		if (i < s->n_ends || (i >= HUNT_ENDS && s->has_srq[i - HUNT_ENDS]))
			error = make_arena(s, i, &bumps[i], &bytes);
	if (!error)
		error = paint(s);
	if (!error)
		compute_bound(s, t);
	return error;
}

void hunt_plan_free(struct hunt_plan *s)
{
	for (uint32_t i = 0; i < HUNT_ENDS + HUNT_HOSTS; i++) {
		free(s->arenas[i].bytes);
		free(s->arenas[i].shadow);
	}
	free(s->own);
	routing_fini(&s->routing);
	topology_fini(&s->topology);
}
