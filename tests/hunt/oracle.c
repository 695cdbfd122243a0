/* Memory and completions. Between any two calls of an engine the arenas are their shadows, but for
 * receives that are being filled: what is placed is compared at once, noted, and taken away again,
 * so that a second placement shows. */
#include "oracle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "mem/mem.h"

#define WORD 8u

int oracle_init(struct hunt_oracle *o, struct hunt_plan *s, const struct hunt_transport *t,
		struct hunt_result *result)
{
	*o = (struct hunt_oracle){.plan = s, .transport = t, .result = result};
	return t->wire_new(o);
}

void oracle_fini(struct hunt_oracle *o)
{
	o->transport->wire_free(o);
	free(o->sent);
}

void oracle_fail(struct hunt_oracle *o, const char *format, ...)
{
	struct hunt_result *r = o->result;
	va_list args;

	if (r->has_failed)
		return;
	r->has_failed = true;
	hunt_events_hold();
	int n = snprintf(r->why, sizeof r->why, "at %.6f us: ", (double)o->now(o->clock) / PSEC_US);

	va_start(args, format);
	vsnprintf(r->why + n, sizeof r->why - (size_t)n, format, args);
	va_end(args);
}

bool oracle_equal(const uint8_t *memory, const struct hunt_piece *sg, uint32_t off,
		  const uint8_t *want, uint32_t len)
{
	for (uint32_t i = 0; i < HUNT_SGE && len > 0; i++) {
		uint32_t skip = off < sg[i].len ? off : sg[i].len, n = sg[i].len - skip;

		n = n < len ? n : len;
		if (n > 0 && memcmp(memory + sg[i].at + skip, want, n) != 0)
			return false;
		off -= skip;
		want += n;
		len -= n;
	}
	return len == 0;
}

/* Puts back what the shadow has. */
static void restore(const struct hunt_arena *a, const struct hunt_piece *sg, uint32_t off,
		    uint32_t len)
{
	for (uint32_t i = 0; i < HUNT_SGE && len > 0; i++) {
		uint32_t skip = off < sg[i].len ? off : sg[i].len, n = sg[i].len - skip;

		n = n < len ? n : len;
		memcpy(a->bytes + sg[i].at + skip, a->shadow + sg[i].at + skip, n);
		off -= skip;
		len -= n;
	}
}

static uint32_t end_of_work(const struct hunt_oracle *o, uint32_t work)
{
	for (uint32_t e = 0; e < o->plan->n_ends; e++)
		if (work - o->plan->ends[e].first_work < o->plan->ends[e].n_works)
			return e;
	return HUNT_NOTHING;
}

uint32_t oracle_work_at(const struct hunt_oracle *o, uint32_t end, uint64_t count)
{
	const struct hunt_end *e = &o->plan->ends[end];

	for (uint32_t i = e->first_work; i < e->first_work + e->n_works; i++)
		if (count - o->plan->works[i].first < o->plan->works[i].n_pkts)
			return i;
	return HUNT_NOTHING;
}

/* What a work places, and where: pieces of an arena, and the bytes that must come to lie there. */
struct aim {
	const struct hunt_arena *arena;
	struct hunt_piece sg[HUNT_SGE];
	const uint8_t *memory; /* from which */
	struct hunt_piece from[HUNT_SGE];
};

static struct aim aim_of(const struct hunt_oracle *o, uint32_t end, const struct hunt_work *w)
{
	const struct hunt_arena *own = &o->plan->arenas[end], *peers = &o->plan->arenas[end ^ 1];
	struct aim aim = {.arena = own, .memory = peers->shadow};

	memcpy(aim.sg, w->sg, sizeof aim.sg);
	aim.from[0] = (struct hunt_piece){peers->remote.at + w->remote, w->len};
	if (w->code == ENGINE_ATOMIC) {
		aim.memory = (const uint8_t *)&w->before;
		aim.from[0] = (struct hunt_piece){0, WORD};
	}
	if (w->code == ENGINE_READ || w->code == ENGINE_ATOMIC)
		return aim;
	aim.arena = peers;
	aim.memory = own->shadow;
	memcpy(aim.from, w->sg, sizeof aim.from);
	memset(aim.sg, 0, sizeof aim.sg);
	aim.sg[0] = (struct hunt_piece){peers->remote.at + w->remote, w->len};
	return aim;
}

/* Bytes off ... off + len - 1 of what a work places, put in a row. */
static void take_from(const struct aim *aim, uint32_t off, uint32_t len, uint8_t *out)
{
	for (uint32_t i = 0; i < HUNT_SGE && len > 0; i++) {
		uint32_t skip = off < aim->from[i].len ? off : aim->from[i].len;
		uint32_t n = aim->from[i].len - skip;

		n = n < len ? n : len;
		memcpy(out, aim->memory + aim->from[i].at + skip, n);
		off -= skip;
		out += n;
		len -= n;
	}
}

static bool is_same(const struct hunt_arena *a, const struct hunt_piece *sg, uint32_t off,
		    uint32_t len)
{
	for (uint32_t i = 0; i < HUNT_SGE && len > 0; i++) {
		uint32_t skip = off < sg[i].len ? off : sg[i].len, n = sg[i].len - skip;

		n = n < len ? n : len;
		if (n > 0 &&
		    memcmp(a->bytes + sg[i].at + skip, a->shadow + sg[i].at + skip, n) != 0)
			return false;
		off -= skip;
		len -= n;
	}
	return true;
}

static bool places(const struct hunt_work *w)
{
	return hunt_is_remote(w) && w->len > 0;
}

static uint64_t all_of(const struct hunt_work *w)
{
	return w->n_pkts >= 64 ? UINT64_MAX : (UINT64_C(1) << w->n_pkts) - 1;
}

bool oracle_is_placed(const struct hunt_oracle *o, uint32_t work, uint32_t i)
{
	return !places(&o->plan->works[work]) || (o->works[work].placed >> i & 1);
}

bool oracle_is_whole(const struct hunt_oracle *o, uint32_t work)
{
	const struct hunt_work *w = &o->plan->works[work];

	return !places(w) || o->works[work].placed == all_of(w);
}

/* Looks whether packet number i of a work was placed just now. True when something changed. */
static bool look_at(struct hunt_oracle *o, uint32_t end, uint32_t work, uint32_t i)
{
	const struct hunt_work *w = &o->plan->works[work];
	uint32_t pmtu = o->plan->pmtu, off = i * pmtu;
	uint32_t len = w->len - off < pmtu ? w->len - off : pmtu;
	struct aim aim = aim_of(o, end, w);
	uint8_t want[4096];

	if (is_same(aim.arena, aim.sg, off, len))
		return false;
	take_from(&aim, off, len, want);
	if (!oracle_equal(aim.arena->bytes, aim.sg, off, want, len))
		oracle_fail(o, "end %u, work %u: packet %u of its payload was placed wrong", end,
			    work, i);
	else if (o->works[work].placed >> i & 1)
		oracle_fail(o, "end %u, work %u: packet %u of its payload was placed again", end,
			    work, i);
	if (w->flaw != HUNT_SOUND && w->flaw != HUNT_SHORT && w->flaw != HUNT_NO_RECV)
		oracle_fail(o, "end %u, work %u (%s): payload was placed", end, work,
			    hunt_flaw_name(w->flaw));
	o->works[work].placed |= UINT64_C(1) << i;
	restore(aim.arena, aim.sg, off, len);
	return true;
}

/* Looks at the first work of a kind that is not wholly placed. *at is where to begin. */
static void look_for(struct hunt_oracle *o, uint32_t end, uint32_t *at, bool is_answer)
{
	const struct hunt_end *e = &o->plan->ends[end];

	for (uint32_t k = *at; k < o->ends[end].n_posted; k++) {
		uint32_t work = e->first_work + k;
		const struct hunt_work *w = &o->plan->works[work];
		bool is_read = w->code == ENGINE_READ || w->code == ENGINE_ATOMIC;
		uint32_t first = 0;

		if (is_read != is_answer || oracle_is_whole(o, work)) {
			*at += k == *at;
			continue;
		}
		while (o->works[work].placed >> first & 1)
			first++;
		look_at(o, end, work, first);
		return;
	}
}

/* Whether the next atomic of an end was executed just now. */
static void look_at_word(struct hunt_oracle *o, uint32_t end)
{
	const struct hunt_end *e = &o->plan->ends[end];
	struct hunt_arena *peers = &o->plan->arenas[end ^ 1];
	uint32_t *at = &o->ends[end].atomic_at;

	for (uint32_t i = 0; i < HUNT_WORDS; i++) {
		uint32_t place = peers->remote.at + o->plan->ends[end ^ 1].words[i];
		uint64_t is, was;

		memcpy(&is, peers->bytes + place, WORD);
		memcpy(&was, peers->shadow + place, WORD);
		if (is == was)
			continue;
		/* Those that change nothing were executed, or will be. */
		while (*at < e->n_works &&
		       (o->plan->works[e->first_work + *at].code != ENGINE_ATOMIC ||
			o->plan->works[e->first_work + *at].before ==
				o->plan->works[e->first_work + *at].after_word))
			(*at)++;
		const struct hunt_work *w = &o->plan->works[e->first_work + *at];

		if (*at == e->n_works || w->remote != o->plan->ends[end ^ 1].words[i] ||
		    w->before != was || w->after_word != is ||
		    (w->flaw != HUNT_SOUND && w->flaw != HUNT_NO_LOCAL)) {
			oracle_fail(o,
				    "end %u: word %u went from %016" PRIx64 " to %016" PRIx64
				    ", and that is not its next atomic",
				    end, i, was, is);
			return;
		}
		o->works[e->first_work + *at].is_executed = true;
		(*at)++;
		memcpy(peers->shadow + place, &is, WORD);
	}
}

void oracle_on_post(struct hunt_oracle *o, uint32_t work)
{
	const struct hunt_work *w = &o->plan->works[work];
	struct oracle_end *e = &o->ends[end_of_work(o, work)];

	o->works[work].fate = HUNT_POSTED;
	e->n_posted++;
	e->has_lapsed |= o->ends[w->after_end].n_received < w->after;
}

void oracle_on_post_recv(struct hunt_oracle *o, uint32_t recv)
{
	o->recv_fates[recv] = HUNT_POSTED;
}

static uint64_t mix(uint64_t hash, const uint8_t *at, uint32_t len)
{
	for (; len >= WORD; at += WORD, len -= WORD) {
		uint64_t word;

		memcpy(&word, at, WORD);
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	for (; len > 0; at++, len--)
		hash = (hash ^ *at) * UINT64_C(0x100000001b3);
	return hash;
}

/* Pieces of any length, as if they were one. */
static uint64_t hash_of(uint32_t host, const struct cspan *pieces, uint32_t n)
{
	uint8_t whole[4096 + 256];
	uint32_t len = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t room = (uint32_t)sizeof whole - len;
		uint32_t part = pieces[i].len < room ? pieces[i].len : room;

		if (pieces[i].at)
			memcpy(whole + len, pieces[i].at, part);
		else
			memset(whole + len, 0, part);
		len += part;
	}
	return mix(UINT64_C(0xcbf29ce484222325) + host * 77u + len, whole, len);
}

static void note_sent(struct hunt_oracle *o, uint64_t hash)
{
	if (o->n_sent == o->sent_room) {
		uint32_t room = o->sent_room ? 2 * o->sent_room : 1024;
		uint64_t *sent = realloc(o->sent, room * sizeof *sent);

		if (!sent)
			abort();
		o->sent = sent;
		o->sent_room = room;
	}
	o->sent[o->n_sent++] = hash;
}

static bool was_sent(const struct hunt_oracle *o, uint64_t hash)
{
	for (uint32_t i = o->n_sent; i-- > 0;)
		if (o->sent[i] == hash)
			return true;
	return false;
}

void oracle_on_leave(struct hunt_oracle *o, uint32_t host, nsec now, const struct tx_pkt *tx)
{
	struct cspan pieces[ENGINE_PIECES + 1] = {{tx->head, tx->head_len}};

	memcpy(pieces + 1, tx->body, tx->n_body * sizeof tx->body[0]);
	uint64_t hash = hash_of(host, pieces, tx->n_body + 1u);

	o->result->hash = (o->result->hash ^ hash) * UINT64_C(0x100000001b3) + now;
	if (o->plan->has_forgery)
		note_sent(o, hash);
}

void oracle_on_output(struct hunt_oracle *o, uint32_t host, nsec now, const struct tx_pkt *tx)
{
	o->result->met.packets++;
	o->transport->on_output(o, host, now, tx);
}

/* A packet that nobody sent may do to its connection whatever its peer could do. */
static void taint(struct hunt_oracle *o, uint32_t end)
{
	o->result->met.tainted += !o->ends[end].is_tainted;
	o->ends[end].is_tainted = true;
	o->ends[end ^ 1].is_tainted = true;
}

/* Those whom a packet that came to a host is for. */
static void taint_all(struct hunt_oracle *o, uint32_t host, uint32_t end)
{
	for (uint32_t e = 0; e < o->plan->n_ends; e++) {
		bool is_common = end == HUNT_ALL && o->plan->ends[e].host == host;

		if (e == end || is_common)
			taint(o, e);
		o->ends[e].is_muted |= is_common;
	}
}

/* A packet that says itself where it belongs is coming: what lies there is as before. All else is
 * looked at when its own packet comes, and at the end. */
static void await(struct hunt_oracle *o, uint32_t host, const struct rx_pkt *rx)
{
	uint32_t end = o->transport->end_of(o->plan, host, rx->head);

	o->coming = HUNT_NOTHING;
	o->was_placed = false;
	if (end >= HUNT_ENDS || o->ends[end].is_tainted)
		return;
	o->coming = o->transport->packet_of(o, end, rx, &o->coming_i);
	if (o->coming == HUNT_NOTHING || !places(&o->plan->works[o->coming]))
		return;
	if (look_at(o, end ^ 1, o->coming, o->coming_i))
		oracle_fail(o, "end %u, work %u: packet %u of its payload was placed by another",
			    end ^ 1, o->coming, o->coming_i);
}

void oracle_before_input(struct hunt_oracle *o, uint32_t host, nsec now, const struct rx_pkt *rx)
{
	struct cspan pieces[3] = {rx->head, rx->body[0], rx->body[1]};

	if (o->plan->has_forgery && !was_sent(o, hash_of(rx->peer, pieces, 3))) {
		taint_all(o, host, o->transport->end_of(o->plan, host, rx->head));
		return;
	}
	if (o->transport->is_sprayed)
		await(o, host, rx);
	o->transport->on_input(o, host, now, rx);
}

void oracle_after_input(struct hunt_oracle *o, uint32_t host, const struct rx_pkt *rx,
			const struct hunt_counts *before, const struct hunt_counts *after)
{
	uint32_t end = o->transport->end_of(o->plan, host, rx->head);

	if (end == HUNT_ALL)
		o->transport->on_common(o, host, rx, before, after);
	if (end >= HUNT_ENDS || o->ends[end].is_tainted)
		return;
	if (o->transport->is_sprayed) {
		if (o->coming != HUNT_NOTHING && places(&o->plan->works[o->coming]))
			o->was_placed = look_at(o, end ^ 1, o->coming, o->coming_i);
		o->transport->on_taken(o, end, before, after);
		return;
	}
	o->transport->on_taken(o, end, before, after);
	look_for(o, end, &o->ends[end].read_at, true);
	look_for(o, end ^ 1, &o->ends[end ^ 1].write_at, false);
	look_at_word(o, end ^ 1);
}

/* Everything that a work promised is there, now that it is done. */
static void check_done(struct hunt_oracle *o, uint32_t end, uint32_t work)
{
	const struct hunt_work *w = &o->plan->works[work];

	o->works[work].fate = HUNT_DONE;
	if (o->ends[end].is_tainted)
		return;
	if (w->flaw != HUNT_SOUND)
		oracle_fail(o, "end %u, work %u (%s): done well", end, work,
			    hunt_flaw_name(w->flaw));
	else if (!oracle_is_whole(o, work))
		oracle_fail(o, "end %u, work %u: done before all its payload was placed", end,
			    work);
	else if (o->transport->is_reported && !o->transport->is_reported(o, end, work))
		oracle_fail(o, "end %u, work %u: done before it was acknowledged", end, work);
	else if (w->message != HUNT_NOTHING && o->ends[end ^ 1].n_received <= w->message &&
		 !o->ends[end ^ 1].is_gone)
		oracle_fail(o, "end %u, work %u: done before its message was received", end, work);
	else if (w->code == ENGINE_ATOMIC && w->before != w->after_word &&
		 !o->works[work].is_executed)
		oracle_fail(o, "end %u, work %u: done before it was executed", end, work);
	if (w->window != HUNT_NOTHING && hunt_is_remote(w))
		o->result->met.through[o->plan->windows[w->window].kind == MEM_WINDOW_2]++;
}

static bool has_flaw(const struct hunt_plan *s, uint32_t end)
{
	for (uint32_t i = 0; i < s->ends[end].n_works; i++)
		if (s->works[s->ends[end].first_work + i].flaw != HUNT_SOUND)
			return true;
	return false;
}

static bool is_dead(const struct hunt_oracle *o, uint32_t end)
{
	const struct oracle_end *e = &o->ends[end];

	return e->has_failed || e->has_fallen || e->has_refused || e->is_gone || e->is_tainted;
}

bool oracle_has_come(const struct hunt_oracle *o, uint32_t end, const struct hunt_work *w)
{
	return o->ends[w->after_end].n_received >= w->after || is_dead(o, end) ||
	       is_dead(o, end ^ 1) || is_dead(o, w->after_end) || is_dead(o, w->after_end ^ 1);
}

/* The status that a work with that flaw ends with, if it is the first. */
static bool is_due(const struct hunt_work *w, int16_t status)
{
	switch (w->flaw) {
	case HUNT_SOUND: return false;
	case HUNT_NO_LOCAL: return status == ENGINE_LOCAL_PROTECTION;
	case HUNT_SHORT: return status == ENGINE_REMOTE_INVALID;
	case HUNT_NO_RECV: return status == ENGINE_REMOTE_OPERATION;
	case HUNT_MISALIGNED:
		return status == ENGINE_REMOTE_INVALID || status == ENGINE_REMOTE_ACCESS;
	case HUNT_BEYOND:
		return status == ENGINE_REMOTE_ACCESS ||
		       (status == ENGINE_REMOTE_INVALID && w->code == ENGINE_ATOMIC);
	case HUNT_BAD_BIND: return status == ENGINE_BIND_FAILED;
	case HUNT_BAD_INVALIDATE:
		return status ==
		       (w->code == ENGINE_LOCAL_INV ? ENGINE_LOCAL_QP : ENGINE_REMOTE_ACCESS);
	default: return status == ENGINE_REMOTE_ACCESS;
	}
}

/* Whether an end may have given up: it was silent around it, there is a reason for that,
 * and the faults were not over long ago while the other side is there. */
static bool may_give_up(const struct hunt_oracle *o, uint32_t end)
{
	const struct hunt_plan *s = o->plan;
	bool is_dead_peer = is_dead(o, end ^ 1);
	bool has_flaws = has_flaw(s, end) || has_flaw(s, end ^ 1);

	if (o->transport->may_give_up && !o->transport->may_give_up(o, end))
		return false;
	if (o->transport->is_shut && o->transport->is_shut(o, end))
		return true;
	if (!has_flaws && !is_dead_peer && o->transport->is_sheltered &&
	    o->transport->is_sheltered(o, end))
		return false;
	if (!has_flaws && !is_dead_peer &&
	    o->now(o->clock) > s->healed_at + o->transport->try_ns(s, end) * PSEC_NS + PSEC_MS)
		return false;
	return s->n_faults > 0 || has_flaws || is_dead_peer;
}

/* Whether an end may say so of the first of its works that did not go well. */
static bool may_fail(const struct hunt_oracle *o, uint32_t end, const struct hunt_work *w,
		     int16_t status)
{
	const struct hunt_plan *s = o->plan;
	const struct oracle_end *e = &o->ends[end];

	if (e->is_tainted || o->works[w - s->works].refusal == status)
		return true;
	switch (status) {
	case ENGINE_RETRY_EXCEEDED: return may_give_up(o, end);
	case ENGINE_RNR_EXCEEDED: return s->ends[end].rnr_retries < 7;
	case ENGINE_FLUSHED:
		return has_flaw(s, end) || has_flaw(s, end ^ 1) || e->has_fallen || e->has_lapsed ||
		       e->has_refused || e->was_refused || o->has_ended || e->is_gone;
	default: return is_due(w, status);
	}
}

static void on_sent(struct hunt_oracle *o, uint32_t host, const struct done *done)
{
	uint32_t work = (uint32_t)done->cookie;
	uint32_t end = work < o->plan->n_works ? end_of_work(o, work) : HUNT_NOTHING;

	if (end == HUNT_NOTHING || o->plan->ends[end].host != host ||
	    o->plan->ends[end].qp != done->qp) {
		oracle_fail(o, "h%u: a completion of no work: cookie %" PRIu64 ", qp %u", host,
			    done->cookie, done->qp);
		return;
	}
	struct oracle_end *e = &o->ends[end];
	const struct hunt_work *works = &o->plan->works[o->plan->ends[end].first_work];
	const struct hunt_work *w = &o->plan->works[work];
	uint32_t k = (uint32_t)(w - works);

	if (o->works[work].fate != HUNT_POSTED || k < e->n_done || k >= e->n_posted || e->is_gone) {
		oracle_fail(o, "end %u, work %u: a completion too many", end, work);
		return;
	}
	for (; e->n_done < k; e->n_done++) {
		if (!(works[e->n_done].flags & ENGINE_SILENT) || e->has_failed)
			oracle_fail(o, "end %u, work %u: completed before the one in front of it",
				    end, work);
		check_done(o, end, o->plan->ends[end].first_work + e->n_done);
	}
	e->n_done++;
	o->result->met.statuses[done->status]++;
	if (done->op != w->code)
		oracle_fail(o, "end %u, work %u: it is a %s", end, work, hunt_op_name(w));
	if (done->status == ENGINE_OK) {
		if (e->has_failed || o->has_ended)
			oracle_fail(o, "end %u, work %u: done well after an error", end, work);
		if (w->flags & ENGINE_SILENT)
			oracle_fail(o, "end %u, work %u: was to be silent", end, work);
		check_done(o, end, work);
		return;
	}
	o->works[work].fate = e->has_failed ? HUNT_FLUSHED : HUNT_FAILED;
	if (!e->is_tainted && o->transport->is_reported && o->transport->is_reported(o, end, work))
		oracle_fail(o, "end %u, work %u: status %d, though it was executed", end, work,
			    done->status);
	/* Sprayed, the one that the peer named may have others in front of it that were not done.
	 */
	if (e->has_failed && done->status != ENGINE_FLUSHED &&
	    !(o->transport->is_sprayed && e->is_tainted) &&
	    !(e->was_refused && o->works[work].refusal == done->status))
		oracle_fail(o, "end %u, work %u: status %d after an error", end, work,
			    done->status);
	else if (!e->has_failed && !may_fail(o, end, w, done->status))
		oracle_fail(o, "end %u, work %u (%s): status %d, and there is no reason", end, work,
			    hunt_flaw_name(w->flaw), done->status);
	o->result->met.refused[w->flaw] += is_due(w, done->status);
	e->has_failed = true;
}

/* The message that an end receives next. */
static uint32_t next_message(const struct hunt_oracle *o, uint32_t end)
{
	const struct hunt_end *peer = &o->plan->ends[end ^ 1];

	for (uint32_t i = peer->first_work; i < peer->first_work + peer->n_works; i++)
		if (o->plan->works[i].message == o->ends[end].n_received)
			return i;
	return HUNT_NOTHING;
}

/* Everything written before this work, and by it, is where it belongs. */
static bool is_placed_before(const struct hunt_oracle *o, uint32_t end, uint32_t work)
{
	for (uint32_t k = o->plan->ends[end].first_work; k <= work; k++) {
		const struct hunt_work *w = &o->plan->works[k];

		if ((w->code == ENGINE_WRITE || w->code == ENGINE_WRITE_IMM) &&
		    !oracle_is_whole(o, k))
			return false;
	}
	return true;
}

static void check_message(struct hunt_oracle *o, uint32_t end, uint32_t recv,
			  const struct done *done)
{
	uint32_t work = next_message(o, end);
	const struct hunt_recv *r = &o->plan->recvs[recv];
	const struct hunt_arena *own =
		&o->plan->arenas[r->end == HUNT_NOTHING ? HUNT_ENDS + r->host : end];

	if (work == HUNT_NOTHING) {
		oracle_fail(o, "end %u, receive %u: a message that was never sent", end, recv);
		return;
	}
	const struct hunt_work *w = &o->plan->works[work];
	bool is_write = w->code == ENGINE_WRITE_IMM, has_inv = w->code == ENGINE_SEND_INV;
	bool has_imm = is_write || w->code == ENGINE_SEND_IMM;
	uint8_t *bytes = malloc(w->len + 1);
	struct aim aim = {.memory = o->plan->arenas[end ^ 1].shadow};

	if (!bytes)
		abort();
	memcpy(aim.from, w->sg, sizeof aim.from);
	take_from(&aim, 0, w->len, bytes);
	if (o->works[work].fate == HUNT_WAITS)
		oracle_fail(o, "end %u, receive %u: a message from the future", end, recv);
	if (w->flaw != HUNT_SOUND)
		oracle_fail(o, "end %u, receive %u: a message that cannot be received", end, recv);
	if (done->len != w->len || done->op != (is_write ? ENGINE_WRITE_IMM : ENGINE_RECV))
		oracle_fail(o, "end %u, receive %u: %u bytes by %u, not the %u of work %u", end,
			    recv, done->len, done->op, w->len, work);
	if (!!(done->flags & ENGINE_HAS_IMM) != has_imm || (has_imm && done->imm != w->imm))
		oracle_fail(o, "end %u, receive %u: not the immediate data of work %u", end, recv,
			    work);
	if (!!(done->flags & ENGINE_HAS_INV) != has_inv || (has_inv && done->imm != w->key))
		oracle_fail(o, "end %u, receive %u: not the key that work %u invalidates", end,
			    recv, work);
	if (!(done->flags & ENGINE_SOLICITED) != !(w->flags & ENGINE_SOLICITED))
		oracle_fail(o, "end %u, receive %u: solicited, or not, unlike work %u", end, recv,
			    work);
	if (!is_write && !oracle_equal(own->bytes, r->sg, 0, bytes, w->len))
		oracle_fail(o, "end %u, receive %u: not the bytes of work %u", end, recv, work);
	if (!is_same(own, r->sg, is_write ? 0 : w->len, is_write ? r->len : r->len - w->len))
		oracle_fail(o, "end %u, receive %u: bytes behind the message changed", end, recv);
	if (!is_placed_before(o, end ^ 1, work))
		oracle_fail(o, "end %u, receive %u: told of before all up to work %u was placed",
			    end, recv, work);
	free(bytes);
}

/* Receives of one queue are done in order, shared ones in any. */
static void check_order(struct hunt_oracle *o, uint32_t end, uint32_t recv)
{
	for (uint32_t i = 0; i < recv; i++)
		if (o->plan->recvs[i].end == end && o->recv_fates[i] == HUNT_POSTED)
			oracle_fail(o, "end %u, receive %u: done before receive %u", end, recv, i);
}

static void on_received(struct hunt_oracle *o, uint32_t host, const struct done *done)
{
	uint32_t recv = (uint32_t)done->cookie, end = hunt_find_end(o->plan, host, done->qp);

	if (recv >= o->plan->n_recvs || o->recv_fates[recv] != HUNT_POSTED ||
	    o->plan->recvs[recv].host != host || end == HUNT_NOTHING) {
		oracle_fail(o, "h%u: a completion of no receive: cookie %" PRIu64 ", qp %u", host,
			    done->cookie, done->qp);
		return;
	}
	const struct hunt_recv *r = &o->plan->recvs[recv];
	struct oracle_end *e = &o->ends[end];

	if (r->end != HUNT_NOTHING)
		check_order(o, end, recv);
	o->recv_fates[recv] = done->status == ENGINE_OK ? HUNT_DONE : HUNT_FLUSHED;
	if (done->status == ENGINE_OK && e->has_fallen)
		oracle_fail(o, "end %u, receive %u: done well after an error", end, recv);
	if (done->status == ENGINE_OK && !e->is_tainted)
		check_message(o, end, recv, done);
	restore(&o->plan->arenas[r->end == HUNT_NOTHING ? HUNT_ENDS + host : end], r->sg, 0,
		r->len);
	if (done->status == ENGINE_OK) {
		e->n_received++;
		o->result->met.receives++;
	} else {
		e->has_fallen = true;
		e->fell_early |= !o->has_ended;
	}
}

void oracle_on_done(struct hunt_oracle *o, uint32_t host, const struct done *done)
{
	uint64_t word = done->cookie << 16 ^ (uint64_t)done->status << 8 ^ done->code ^
			(uint64_t)done->len << 40;

	o->result->hash = (o->result->hash ^ word ^ done->imm) * UINT64_C(0x100000001b3) + host;
	if (done->status < 0 || done->status >= ENGINE_STATUSES)
		oracle_fail(o, "h%u: status %d", host, done->status);
	else if (done->code == ENGINE_DONE_SENT)
		on_sent(o, host, done);
	else if (done->code == ENGINE_DONE_RECEIVED)
		on_received(o, host, done);
	else
		oracle_fail(o, "h%u: a completion of kind %u", host, done->code);
}

void oracle_on_restart(struct hunt_oracle *o, uint32_t host)
{
	for (uint32_t e = 0; e < o->plan->n_ends; e++)
		o->ends[e].is_gone |= o->plan->ends[e].host == host;
	for (uint32_t i = 0; i < o->plan->n_recvs; i++) {
		const struct hunt_recv *r = &o->plan->recvs[i];

		if (r->host != host || o->recv_fates[i] == HUNT_DONE)
			continue;
		restore(&o->plan->arenas[r->end == HUNT_NOTHING ? HUNT_ENDS + host : r->end], r->sg,
			0, r->len);
		o->recv_fates[i] = HUNT_DONE;
	}
	o->result->met.restarted++;
}

bool oracle_is_idle(const struct hunt_oracle *o)
{
	for (uint32_t e = 0; e < o->plan->n_ends; e++)
		if (!o->ends[e].is_gone && !o->ends[e].is_muted &&
		    o->ends[e].n_done < o->plan->ends[e].n_works)
			return false;
	return true;
}

/* Bytes of [from, from + len) that are not as they must be. */
static void check_bytes(struct hunt_oracle *o, uint32_t arena, uint32_t from, uint32_t len)
{
	const struct hunt_arena *a = &o->plan->arenas[arena];

	for (uint32_t i = from; i < from + len; i++)
		if (a->bytes[i] != a->shadow[i]) {
			oracle_fail(o, "arena %u (local %u+%u, remote %u+%u): byte %u was changed",
				    arena, a->local.at, a->local.len, a->remote.at, a->remote.len,
				    i);
			return;
		}
}

/* Of a connection that forged packets reached, only what lies outside its peer's reach. */
static void check_arena(struct hunt_oracle *o, uint32_t i)
{
	const struct hunt_arena *a = &o->plan->arenas[i];

	if (!a->bytes)
		return;
	if (i >= HUNT_ENDS || !o->ends[i].is_tainted) {
		check_bytes(o, i, 0, a->len);
		return;
	}
	check_bytes(o, i, 0, HUNT_GUARD);
	check_bytes(o, i, a->local.at + a->local.len, a->remote.at - a->local.at - a->local.len);
	check_bytes(o, i, a->remote.at + a->remote.len, a->len - a->remote.at - a->remote.len);
	for (uint32_t k = 0; k < o->plan->ends[i].n_works; k++) {
		const struct hunt_work *w = &o->plan->works[o->plan->ends[i].first_work + k];

		for (uint32_t m = 0; m < w->n_sg; m++)
			if (w->code != ENGINE_READ && w->code != ENGINE_ATOMIC)
				check_bytes(o, i, w->sg[m].at, w->sg[m].len);
	}
}

void oracle_finish(struct hunt_oracle *o)
{
	for (uint32_t e = 0; e < o->plan->n_ends; e++)
		if (!o->ends[e].is_gone && !o->ends[e].is_muted &&
		    o->ends[e].n_done < o->ends[e].n_posted)
			oracle_fail(o, "end %u, work %u: never completed", e,
				    o->plan->ends[e].first_work + o->ends[e].n_done);
	for (uint32_t e = 0; e < o->plan->n_ends; e++)
		if (o->ends[e].fell_early && !o->ends[e].has_failed && !o->ends[e].is_tainted &&
		    !o->ends[e].has_lapsed && !o->ends[e].has_refused && !has_flaw(o->plan, e) &&
		    !has_flaw(o->plan, e ^ 1))
			oracle_fail(o, "end %u: its receives failed without reason", e);
	for (uint32_t i = 0; i < o->plan->n_recvs; i++)
		if (o->recv_fates[i] == HUNT_POSTED && o->plan->recvs[i].end != HUNT_NOTHING &&
		    !o->ends[o->plan->recvs[i].end].is_gone)
			oracle_fail(o, "end %u, receive %u: never completed", o->plan->recvs[i].end,
				    i);
	for (uint32_t i = 0; i < HUNT_ENDS + HUNT_HOSTS; i++)
		check_arena(o, i);
}
