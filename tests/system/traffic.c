#include "end.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BATCH       64
#define NSEC_PER_MS UINT64_C(1000000)
#define FLUSHED     0 /* places in pair.n_rest */
#define OTHERS      1

/* A work's cookie: the pair, and which of its works. */
enum work { WORK_SEND, WORK_WRITE, WORK_READ, WORK_ADD, WORK_RECEIVE, WORKS };

static uint64_t cookie_of(uint32_t i, enum work w)
{
	return (uint64_t)i * WORKS + w;
}

/* The bytes of a message of a pair, in a round. */
static uint64_t seed_of(uint32_t number, uint64_t round, enum work w)
{
	return (uint64_t)number << 32 ^ (round << 3 | w);
}

static enum place in_place(enum work w, uint64_t round)
{
	return (w == WORK_SEND ? PLACE_IN_SEND : PLACE_IN_WRITE) + (enum place)(round & 1);
}

static uint8_t *counter_at(const struct end *e, uint32_t i)
{
	return place_at(e, i, PLACES);
}

static int post_works(struct end *e, uint32_t i, struct nic_work *works, uint32_t n)
{
	struct pair *p = &e->pairs[i];
	uint32_t posted = 0;
	bool is_receive = works[0].op.code == ENGINE_RECV;
	int r = nic_post(p->qp, works, n, &posted);

	if (is_receive)
		p->n_recv_posted += posted;
	else
		p->n_posted += posted;
	if (r != 0)
		bad(e, "pair %u: %u of %u works were taken: %s", i, posted, n, strerror(-r));
	return r;
}

/* A receive for the message sent in a round, and one for the write. */
static int post_receives(struct end *e, uint32_t i, uint64_t round)
{
	struct sge sg = {place_at(e, i, in_place(WORK_SEND, round)), e->size, nic_mr_key(e->mr)};
	struct op op = {.cookie = cookie_of(i, WORK_RECEIVE), .code = ENGINE_RECV};
	struct nic_work works[ROUND_RECEIVES] = {{.op = op}, {.op = op}};

	memset(sg.at, 0, e->size);
	memset(place_at(e, i, in_place(WORK_WRITE, round)), 0, e->size);
	works[0].op.sg = &sg;
	works[0].op.n_sg = 1;
	return post_works(e, i, works, ROUND_RECEIVES);
}

int traffic_ready(struct end *e, uint32_t i)
{
	int r = post_receives(e, i, 0);

	return r == 0 ? post_receives(e, i, 1) : r;
}

static struct nic_work work_on(const struct end *e, uint32_t i, enum work w, struct sge *sg)
{
	static const uint8_t codes[] = {ENGINE_SEND, ENGINE_WRITE_IMM, ENGINE_READ, ENGINE_ATOMIC};
	static const enum place from[] = {PLACE_OUT_SEND, PLACE_OUT_WRITE, PLACE_READ, PLACES};

	*sg = (struct sge){place_at(e, i, from[w]), e->size, nic_mr_key(e->mr)};
	return (struct nic_work){.op = {
					 .cookie = cookie_of(i, w),
					 .key = e->peer_key,
					 .sg = sg,
					 .n_sg = 1,
					 .code = codes[w],
				 }};
}

static uint64_t peer_place(const struct end *e, uint32_t i, enum place p)
{
	return e->peer_va + place_offset(e, i, p);
}

static int post_round(struct end *e, uint32_t i)
{
	struct pair *p = &e->pairs[i];
	struct nic_work works[ROUND_SENDS];
	struct sge sg[ROUND_SENDS];

	fill(place_at(e, i, PLACE_OUT_SEND), e->size, seed_of(p->number, p->round, WORK_SEND));
	fill(place_at(e, i, PLACE_OUT_WRITE), e->size, seed_of(p->number, p->round, WORK_WRITE));
	memset(place_at(e, i, PLACE_READ), 0, e->size);
	for (uint32_t w = 0; w < ROUND_SENDS; w++)
		works[w] = work_on(e, i, w, &sg[w]);
	works[WORK_WRITE].op.remote = peer_place(e, i, in_place(WORK_WRITE, p->round));
	works[WORK_WRITE].op.imm = (uint32_t)p->round;
	works[WORK_READ].op.remote = peer_place(e, i, PLACE_BOOK);
	works[WORK_ADD].op.remote = peer_place(e, i, PLACES);
	works[WORK_ADD].op.atomic_op = ENGINE_FETCH_ADD;
	works[WORK_ADD].op.operand[0][0] = 1;
	sg[WORK_ADD].at = counter_at(e, i) + sizeof(uint64_t);
	sg[WORK_ADD].len = sizeof(uint64_t);
	return post_works(e, i, works, ROUND_SENDS);
}

/* Against a passive peer: writes of two different texts by turns fall into one place of its; reads
 * read its book. */
static int post_flood(struct end *e, uint32_t i)
{
	struct pair *p = &e->pairs[i];
	bool is_read = e->job == JOB_READS;
	struct sge sg;
	struct nic_work work = work_on(e, i, is_read ? WORK_READ : WORK_WRITE, &sg);

	work.op.remote = peer_place(e, i, is_read ? PLACE_BOOK : PLACE_IN_WRITE);
	if (!is_read) {
		work.op.code = ENGINE_WRITE;
		sg.at = place_at(e, i, p->n_posted % 2 ? PLACE_BOOK : PLACE_OUT_WRITE);
	}
	return post_works(e, i, &work, 1);
}

static bool has_room(const struct end *e, const struct pair *p)
{
	return p->n_posted < e->limit && p->n_posted - p->n_done < e->depth;
}

/* Posts what a pair may post now. */
static int advance(struct end *e, uint32_t i)
{
	struct pair *p = &e->pairs[i];
	int r = 0;

	if (!p->qp || p->first != ENGINE_OK)
		return 0;
	while (e->job > JOB_ROUNDS && r == 0 && has_room(e, p))
		r = post_flood(e, i);
	if (e->job != JOB_ROUNDS)
		return r;
	bool is_posted = p->n_posted > p->round * ROUND_SENDS;

	if (is_posted && p->n_done >= (p->round + 1) * ROUND_SENDS &&
	    p->n_received >= (p->round + 1) * ROUND_RECEIVES) {
		r = post_receives(e, i, p->round + 2);
		p->round++;
		is_posted = false;
	}
	return r != 0 || is_posted || p->round >= e->limit ? r : post_round(e, i);
}

int traffic_start(struct end *e, enum job job, uint64_t limit)
{
	int r = 0;

	e->job = job;
	e->limit = limit;
	for (uint32_t i = 0; i < e->n_pairs && r == 0; i++)
		r = advance(e, i);
	return r;
}

uint64_t traffic_stop(struct end *e)
{
	e->limit = 0;
	for (uint32_t i = 0; i < e->n_pairs; i++)
		if (e->pairs[i].qp && e->pairs[i].round >= e->limit)
			e->limit = e->pairs[i].round + 1;
	return e->limit;
}

static void check_sent(struct end *e, uint32_t i, enum work w)
{
	struct pair *p = &e->pairs[i];
	uint64_t old;

	if (w == WORK_READ && e->job == JOB_ROUNDS &&
	    !is_filled(place_at(e, i, PLACE_READ), e->size, p->remote))
		bad(e, "pair %u, round %llu: the book was read wrong", i,
		    (unsigned long long)p->round);
	if (w != WORK_ADD)
		return;
	memcpy(&old, counter_at(e, i) + sizeof old, sizeof old);
	if (old != p->round)
		bad(e, "pair %u: the counter was %llu in round %llu", i, (unsigned long long)old,
		    (unsigned long long)p->round);
}

static void check_received(struct end *e, uint32_t i, const struct done *d)
{
	struct pair *p = &e->pairs[i];
	uint64_t round = p->n_received / ROUND_RECEIVES;
	enum work w = p->n_received % ROUND_RECEIVES == 0 ? WORK_SEND : WORK_WRITE;

	if (d->op == ENGINE_WRITE_IMM ? w != WORK_WRITE || d->imm != (uint32_t)round
				      : w != WORK_SEND || d->len != e->size)
		bad(e, "pair %u, round %llu: an unexpected message", i, (unsigned long long)round);
	else if (!is_filled(place_at(e, i, in_place(w, round)), e->size,
			    seed_of(p->remote, round, w)))
		bad(e, "pair %u, round %llu: the bytes of message %u are wrong", i,
		    (unsigned long long)round, w);
}

static void note_failure(struct pair *p, const struct done *d)
{
	if (p->first == ENGINE_OK) {
		p->first = d->status;
		p->failed_at = now_ns();
		return;
	}
	p->n_rest[d->status == ENGINE_FLUSHED ? FLUSHED : OTHERS]++;
}

static void finish(struct end *e, const struct done *d)
{
	uint32_t i = (uint32_t)(d->cookie / WORKS);
	enum work w = (enum work)(d->cookie % WORKS);

	if (i >= e->n_pairs) {
		bad(e, "a completion of nothing");
		return;
	}
	struct pair *p = &e->pairs[i];

	if (!p->qp)
		return; /* it was in the queue when its pair was freed */
	if (d->qp != p->number || (d->code == ENGINE_DONE_RECEIVED) != (w == WORK_RECEIVE))
		bad(e, "a completion that mixes works up");
	if (d->status != ENGINE_OK)
		note_failure(p, d);
	else if (p->first != ENGINE_OK)
		p->n_ok_later++;
	else if (w == WORK_RECEIVE)
		check_received(e, i, d);
	else
		check_sent(e, i, w);
	if (w == WORK_RECEIVE)
		p->n_received++;
	else
		p->n_done++;
	if (p->n_done > p->n_posted || p->n_received > p->n_recv_posted)
		bad(e, "pair %u: more completions than works", i);
	advance(e, i);
}

int traffic_step(struct end *e)
{
	struct done done[BATCH];
	int n = e->cq && !e->crowd ? nic_cq_poll(e->cq, done, BATCH) : 0;

	if (n < 0)
		bad(e, "poll: %s", strerror(-n));
	for (int k = 0; k < n; k++)
		finish(e, &done[k]);
	return n;
}

static bool is_over(const struct end *e, const struct pair *p)
{
	if (!p->qp)
		return true;
	if (p->first != ENGINE_OK)
		return p->n_done == p->n_posted && p->n_received == p->n_recv_posted;
	if (e->job == JOB_ROUNDS)
		return p->round >= e->limit;
	return p->n_done == p->n_posted && (e->job == JOB_NONE || p->n_posted >= e->limit);
}

bool traffic_is_over(const struct end *e)
{
	for (uint32_t i = 0; i < e->n_pairs; i++)
		if (!is_over(e, &e->pairs[i]))
			return false;
	return true;
}

int traffic_nudge(struct end *e, uint32_t from, uint32_t to)
{
	int r = 0;

	for (uint32_t i = from; i < to && i < e->n_pairs && r == 0; i++) {
		struct pair *p = &e->pairs[i];

		if (p->qp && p->first == ENGINE_OK && p->n_posted - p->n_done < e->depth)
			r = post_flood(e, i);
	}
	return r;
}

/* pairs: standing; least, most: rounds; works: sends done; first: statuses of the first failures,
 * as a set of bits, and at: when the last of them came. */
void traffic_print(const struct end *e, const char *word)
{
	uint64_t least = UINT64_MAX, most = 0, works = 0, at = 0, later = 0, out = 0;
	uint32_t n_up = 0, n_failed = 0, flushed = 0, others = 0, first = 0;

	for (uint32_t i = 0; i < e->n_pairs; i++) {
		const struct pair *p = &e->pairs[i];

		if (!p->qp)
			continue;
		works += p->n_done;
		out += p->n_posted - p->n_done;
		flushed += p->n_rest[FLUSHED];
		others += p->n_rest[OTHERS];
		later += p->n_ok_later;
		if (p->first != ENGINE_OK) {
			n_failed++;
			first |= 1u << p->first;
			at = p->failed_at > at ? p->failed_at : at;
			continue;
		}
		n_up++;
		least = p->round < least ? p->round : least;
		most = p->round > most ? p->round : most;
	}
	answer("%s up=%u failed=%u least=%llu most=%llu works=%llu out=%llu flushed=%u others=%u "
	       "later=%llu first=%u at=%llu bad=%llu",
	       word, n_up, n_failed, (unsigned long long)(n_up ? least : 0),
	       (unsigned long long)most, (unsigned long long)works, (unsigned long long)out,
	       flushed, others, (unsigned long long)later, first, (unsigned long long)at,
	       (unsigned long long)e->n_bad);
}

/* Copies the memory, and compares it with the copy, while others may write to it: that is the
 * question, and no race to be warned of. */
__attribute__((no_sanitize("thread"))) static bool look(const struct end *e, uint64_t *copy,
							bool is_first)
{
	const volatile uint64_t *at = (const volatile void *)e->memory;

	for (size_t i = 0; i < e->memory_len / sizeof *at; i++) {
		if (is_first)
			copy[i] = at[i];
		else if (copy[i] != at[i])
			return true;
	}
	return false;
}

bool traffic_changes(struct end *e, uint32_t ms)
{
	uint64_t *before = malloc(e->memory_len);
	uint64_t until = now_ns() + ms * NSEC_PER_MS;
	bool is_changed = false;

	if (!before)
		return true;
	look(e, before, true);
	while (!is_changed && now_ns() < until) {
		traffic_step(e);
		is_changed = look(e, before, false);
	}
	free(before);
	return is_changed;
}

int traffic_deregister(struct end *e, uint32_t ms)
{
	e->job = JOB_NONE;
	int r = nic_mr_free(e->mr);

	if (r != 0)
		return r;
	e->mr = NULL;
	if (traffic_changes(e, ms))
		bad(e, "memory changed after its region was freed");
	munmap(e->memory, e->memory_len);
	e->memory = NULL;
	return 0;
}
