/* The laws of engine/engine.h, for every transport: those of the registry, the reference transport,
 * and one that no room knows. What each must do beyond them is its own tests' business. */
#include "laws.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "stopwait.h"

#define PAIRS 3u
#define STEPS 4000u
#define SEEDS 4u
#define LENT  3u /* completions, of twice as many */
#define CROWD 6u /* queue pairs that all have something to send */

/* NULL: the reference transport. */
static const struct transport *const kinds[] = {&transport_rc, &transport_mrc, NULL, &stopwait};
#define KINDS (sizeof kinds / sizeof kinds[0])

static const struct engine_room none = {.may = UINT32_MAX},
				wide = {.pkts = {8, 8}, .may = UINT32_MAX};

static void post_something(struct laws_world *w)
{
	static const uint8_t codes[] = {ENGINE_WRITE, ENGINE_WRITE_IMM, ENGINE_SEND, ENGINE_READ};
	uint32_t side = laws_below(w, 2), i = laws_below(w, w->end[0].n_pairs);
	uint8_t code = codes[laws_below(w, sizeof codes)];
	uint32_t len = laws_below(w, 4) ? laws_below(w, 1024) : ROW_PMTU * laws_below(w, 4);

	if (!row_takes(&w->end[0], code))
		code = ENGINE_WRITE;
	bool needs_recv = laws_needs_recv(code);

	if (needs_recv && laws_post_recv(w, 1 - side, i))
		return;
	/* The reference transport knows no silence. */
	w->flags = w->end[side].row && laws_below(w, 4) == 0 ? ENGINE_SILENT : 0;
	int r = laws_post(w, side, i, code, len);

	assert_true(r == 0 || r == -ENOMEM);
	w->flags = 0;
	w->pair[1 - side][i].due += needs_recv && r == 0;
}

static void pull_something(struct laws_world *w)
{
	uint32_t side = laws_below(w, 2);
	struct engine_room room = {.may = UINT32_MAX};

	for (uint32_t p = 0; p < ROW_PORTS; p++)
		room.pkts[p] = (uint16_t)laws_below(w, 6);
	/* Some classes stopped on some ports, data's most often. */
	if (laws_below(w, 2)) {
		uint64_t drawn = prng_u64(&w->drive);

		room.may = (uint32_t)(drawn | drawn >> 32);
	}
	if (laws_below(w, 8) == 0)
		room.may &= ~engine_may_all(laws_below(w, 4)) | UINT32_C(0xff000000);
	laws_pull(w, side, &room, laws_below(w, LAWS_BATCH));
}

/* Anything that a driver or an application may do. */
static void do_something(struct laws_world *w)
{
	uint32_t what = laws_below(w, 100), side = laws_below(w, 2);

	if (what < 15) {
		post_something(w);
	} else if (what < 45) {
		pull_something(w);
	} else if (what < 75 && w->n_flights > 0) {
		laws_deliver(w);
	} else if (what < 80) {
		nsec at = laws_deadline(w, side, LAWS_ALL);

		/* As far as nothing arrives before. */
		if (!w->n_flights && at != NSEC_NEVER && at > w->now)
			w->now = at;
	} else {
		laws_poll_all(w, side);
	}
	for (uint32_t i = 0; i < 2; i++) {
		nsec at = laws_deadline(w, i, LAWS_ALL);

		laws_mix(w, at > w->now ? at : w->now);
	}
}

/* Faults stop, and all that was begun ends. */
static void settle(struct laws_world *w)
{
	uint32_t turns = 0;

	w->lose = w->twice = 0;
	for (bool goes_on = true; goes_on; turns++) {
		assert_in_range(turns, 0, LAWS_TURNS);
		goes_on = laws_step(w);
		for (uint32_t side = 0; side < 2; side++)
			laws_poll_all(w, side);
	}
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = 0; i < w->end[side].n_pairs; i++) {
			assert_int_equal(laws_ended(w, side, i), w->pair[side][i].posted);
			assert_int_equal(w->pair[side][i].taken, w->pair[side][i].due);
		}
}

static struct laws_world *begin(const struct transport *row, uint64_t seed, uint64_t fill)
{
	struct laws_world *w = laws_begin(row, PAIRS, seed, fill);

	w->lose = 30;
	w->twice = 30;
	return w;
}

static void each_kind(void (*test)(const struct transport *row, uint64_t seed))
{
	uint64_t seed = check_seed(0x1a35);

	for (uint32_t k = 0; k < KINDS; k++)
		for (uint32_t i = 0; i < SEEDS; i++) {
			print_message("%s, seed %#" PRIx64 "\n", kinds[k] ? kinds[k]->name : "ref",
				      seed + i);
			test(kinds[k], seed + i);
		}
}

/* Laws 2 to 6, and 8, stand in laws.h, and are asked of every call. */
static void drive(const struct transport *row, uint64_t seed)
{
	struct laws_world *w = begin(row, seed, 1);

	for (uint32_t i = 0; i < STEPS; i++)
		do_something(w);
	settle(w);
	laws_end(w);
}

static void random_drives_hold_the_laws(void **state)
{
	(void)state;
	each_kind(drive);
}

/* A packet to another number than that of its sender's peer. */
static void send_to(const struct laws_world *w, struct laws_flight *f, uint32_t number)
{
	const struct carrier_bits *b = &row_carrier(&w->end[0])->number;
	uint32_t mask = (UINT32_MAX >> (32 - b->width)) << b->shift;

	number = number << b->shift & mask;
	put_be32(f->bytes + b->at, (get_be32(f->bytes + b->at) & ~mask) | number);
}

/* A packet to nobody: the number is one that no queue pair has. */
static void readdress(struct laws_world *w, struct laws_flight *f)
{
	send_to(w, f, 0x800000u + (uint32_t)prng_below(&w->bad, 0x1000));
}

/* A packet that means nothing to anybody, made of the one that arrived last. */
static bool spoil(struct laws_world *w, struct laws_flight *f)
{
	uint32_t least = row_carrier(&w->end[0])->head_least;

	*f = w->last;
	if (f->len == 0)
		return false;
	switch (prng_below(&w->bad, 4)) {
	case 0: f->len = f->head_len = (uint32_t)prng_below(&w->bad, least); break;
	case 1: f->rx.peer++; break;
	case 2: readdress(w, f); break;
	default:
		prng_fill(&w->bad, f->bytes, f->len);
		readdress(w, f);
		break;
	}
	return true;
}

/* Law 1: it is counted once, as a drop. */
static void bother(struct laws_world *w)
{
	struct laws_flight f;

	if (!spoil(w, &f))
		return;
	uint64_t before = laws_count(&w->end[f.to], "drop_", false);

	laws_input(w, f.to, &f, 2);
	assert_int_equal(laws_count(&w->end[f.to], "drop_", false), before + 1);
}

/* Law 1: two worlds of one seed, of which one gets bad packets too, stay the same. */
static void twins(const struct transport *row, uint64_t seed)
{
	struct laws_world *w = begin(row, seed, 1), *twin = begin(row, seed, 1);

	for (uint32_t i = 0; i < STEPS; i++) {
		if (prng_chance(&w->bad, 1, 2))
			bother(w);
		do_something(w);
		do_something(twin);
		if (w->hash != twin->hash)
			fail_msg("a bad packet is seen at step %u", i);
	}
	settle(w);
	settle(twin);
	assert_true(w->hash == twin->hash && w->now == twin->now);
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t a = 0; a < ROW_AREAS; a++)
			assert_memory_equal(w->end[side].area[a], twin->end[side].area[a],
					    ROW_AREA);
	laws_end(w);
	laws_end(twin);
}

static void bad_packets_change_nothing(void **state)
{
	(void)state;
	each_kind(twins);
}

/* Law 2: what arrived is where it belongs, though what was lent is gone. */
static void copies(const struct transport *row, uint64_t seed)
{
	struct laws_world *w = begin(row, seed, 1);

	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(laws_post(w, 0, 0, ENGINE_WRITE, 1024), 0);
	settle(w);
	assert_memory_equal(w->end[1].area[ROW_TARGET], w->end[0].area[ROW_SOURCE], 3 * 1024);
	laws_end(w);
}

static void what_was_lent_is_placed_at_once(void **state)
{
	(void)state;
	each_kind(copies);
}

/* Law 3: with everything lost, and ports that open only when a timer has run, works fail in the end
 * or go on being tried; a pull for nothing is what runs timers. */
static void time_passes(const struct transport *row, uint64_t seed)
{
	struct laws_world *w = begin(row, seed, 1);
	uint64_t flown = 0;

	w->lose = 1000;
	assert_int_equal(laws_post(w, 0, 0, ENGINE_WRITE, 700), 0);
	for (uint32_t turns = 0; turns < 20; turns++) {
		nsec at = laws_deadline(w, 0, 0);

		flown += laws_pull(w, 0, &wide, LAWS_BATCH);
		at = laws_deadline(w, 0, LAWS_ALL);
		if (at == NSEC_NEVER)
			break;
		assert_true(at > w->now);
		w->now = at;
		/* Timers alone: they have run, and what they found out is due at once. */
		laws_pull(w, 0, &none, 0);
	}
	assert_true(flown > 3);
	laws_end(w);
}

static void a_pull_for_nothing_runs_timers(void **state)
{
	(void)state;
	each_kind(time_passes);
}

/* Law 4: a write of one end's is answered in a bounded number of packets of the other's, however
 * much that one has to send, one packet at a time. */
static void answers(const struct transport *row, uint64_t seed)
{
	struct laws_world *w = laws_begin(row, CROWD, seed, 1);
	static const struct engine_room one = {.pkts = {1}, .may = UINT32_MAX};
	struct done done;
	uint32_t turns = 0;

	assert_int_equal(laws_post(w, 0, 0, ENGINE_WRITE, 100), 0);
	for (uint32_t i = 0; i < CROWD; i++)
		while (laws_post(w, 1, i, ENGINE_WRITE, 1024) == 0)
			;
	/* As one who does nothing but send would be: it is given what it waits for at once. */
	while (w->pair[0][0].done == 0) {
		assert_in_range(++turns, 0, 64);
		laws_pull(w, 0, &wide, LAWS_BATCH);
		while (w->n_flights)
			laws_deliver(w);
		laws_pull(w, 1, &one, 1);
		while (w->n_flights)
			laws_deliver(w);
		laws_poll(w, 0, &done);
	}
	laws_end(w);
}

static void acknowledgements_are_not_starved(void **state)
{
	(void)state;
	each_kind(answers);
}

/* The classes of what an end answers that sends nothing of its own. */
static uint32_t answer_classes(const struct transport *row, uint64_t seed)
{
	struct laws_world *w = laws_begin(row, 1, seed, 1);

	assert_int_equal(laws_post(w, 0, 0, ENGINE_WRITE, 100), 0);
	settle(w);
	uint32_t classes = w->classes[1];

	laws_end(w);
	return classes;
}

/* Law 4: while all other classes are stopped, with data of them in front of every port. */
static void stops(const struct transport *row, uint64_t seed)
{
	struct laws_world *w = laws_begin(row, CROWD, seed, 1);
	struct engine_room room = {.pkts = {8, 8}};
	uint32_t classes = answer_classes(row, seed) | 1u << ENGINE_CONTROL, turns = 0;
	struct done done;

	for (uint32_t c = 0; c < ENGINE_TCLASSES; c++)
		room.may |= (classes >> c & 1 ? UINT32_C(0xff) : 0) << c * ENGINE_PORTS;
	assert_int_equal(laws_post(w, 0, 0, ENGINE_WRITE, 100), 0);
	for (uint32_t i = 0; i < CROWD; i++)
		while (laws_post(w, 1, i, ENGINE_WRITE, 1024) == 0)
			;
	while (w->pair[0][0].done == 0) {
		assert_in_range(++turns, 0, 64);
		laws_pull(w, 0, &wide, LAWS_BATCH);
		while (w->n_flights)
			laws_deliver(w);
		laws_pull(w, 1, &room, LAWS_BATCH);
		while (w->n_flights)
			laws_deliver(w);
		laws_poll(w, 0, &done);
	}
	assert_int_equal(w->classes[1] & ~classes, 0);
	settle(w);
	laws_end(w);
}

static void acknowledgements_pass_data_that_is_stopped(void **state)
{
	(void)state;
	each_kind(stops);
}

/* Law 5: whatever post took comes back once, though nobody polls before all of it is done. */
static void reserve(const struct transport *row, uint64_t seed)
{
	struct laws_world *w = begin(row, seed, 1);
	uint32_t turns = 0, most = ROW_SENDS * (row ? 1 : ROW_PAIRS);
	struct done done;

	for (uint32_t round = 0; round < 3; round++) {
		while (laws_post(w, 0, 0, ENGINE_WRITE, 300) == 0)
			;
		assert_int_equal(w->pair[0][0].posted - w->pair[0][0].done, most);
		while (laws_step(w))
			assert_in_range(++turns, 0, LAWS_TURNS);
		/* Done, and yet there is no room: it is the completions'. */
		assert_int_equal(laws_post(w, 0, 0, ENGINE_WRITE, 300), -ENOMEM);
		while (laws_poll(w, 0, &done))
			assert_int_equal(done.status, ENGINE_OK);
		assert_int_equal(w->pair[0][0].done, w->pair[0][0].posted);
	}
	laws_end(w);
}

static void post_reserves_the_completion(void **state)
{
	(void)state;
	each_kind(reserve);
}

/* Law 5: of works that are posted together none is taken unless all can be. */
static void chains(const struct transport *row, uint64_t seed)
{
	struct laws_world *w = begin(row, seed, 1);
	uint32_t most = ROW_SENDS * (row ? 1 : ROW_PAIRS);

	/* What an engine sends of its own accord is out of the way. */
	settle(w);
	nsec idle = laws_deadline(w, 0, LAWS_ALL);

	assert_int_equal(laws_post_chain(w, most + 1, LAWS_NONE), -ENOMEM);
	for (uint32_t bad = 0; bad < most; bad += most - 1)
		assert_int_equal(laws_post_chain(w, most, bad), -EINVAL);
	assert_true(laws_deadline(w, 0, LAWS_ALL) == idle);
	assert_int_equal(laws_pull(w, 0, &wide, LAWS_BATCH), 0);
	for (uint32_t round = 0; round < 3; round++) {
		assert_int_equal(laws_post_chain(w, most - 1, LAWS_NONE), 0);
		assert_int_equal(laws_post_chain(w, 2, LAWS_NONE), -ENOMEM);
		assert_int_equal(laws_post_chain(w, 1, LAWS_NONE), 0);
		settle(w);
	}
	laws_end(w);
}

static void post_takes_all_or_none(void **state)
{
	(void)state;
	each_kind(chains);
}

/* Law 5: a packet that is out by itself has a deadline, whichever of many it is. */
static void alone(const struct transport *row, uint64_t seed)
{
	struct laws_world *w = laws_begin(row, 1, seed, 1);

	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(laws_post(w, 0, 0, ENGINE_WRITE, 100), 0);
		assert_int_equal(laws_pull(w, 0, &wide, LAWS_BATCH), 1);
		assert_true(laws_deadline(w, 0, 0) != NSEC_NEVER);
		settle(w);
	}
	laws_end(w);
}

static void what_is_out_has_a_deadline(void **state)
{
	(void)state;
	each_kind(alone);
}

/* Law 6: what was in the block before is nothing to the engine, nor where the block is. */
static void fills(const struct transport *row, uint64_t seed)
{
	struct laws_world *w = begin(row, seed, 1), *other = begin(row, seed, 77);

	for (uint32_t i = 0; i < STEPS; i++) {
		do_something(w);
		do_something(other);
		assert_true(w->hash == other->hash);
	}
	laws_end(w);
	laws_end(other);
}

static void memory_need_not_be_cleared(void **state)
{
	(void)state;
	each_kind(fills);
}

/* Law 8: of two worlds of one seed one is traced, bad packets among those of both, and they stay
 * the same; each packet is one event, as laws.h has it. */
static void traced(const struct transport *row, uint64_t seed)
{
	struct laws_world *w = begin(row, seed, 1), *other = begin(row, seed, 1);

	laws_trace(w);
	for (uint32_t i = 0; i < STEPS; i++) {
		if (i % 16 == 0) {
			bother(w);
			bother(other);
		}
		do_something(w);
		do_something(other);
		assert_true(w->hash == other->hash);
	}
	settle(w);
	w->last.rx.trimmed = 1;
	laws_input(w, w->last.to, &w->last, 2);
	for (uint32_t side = 0; side < 2; side++)
		assert_true(w->n_traced[side] > STEPS / 16);
	laws_end(w);
	laws_end(other);
}

static void a_packet_is_one_event(void **state)
{
	(void)state;
	each_kind(traced);
}

/* Works of any age, and receives that nothing is to come for. n: of sends, and of receives. */
static void cancel_something(struct laws_world *w, uint64_t n[2])
{
	uint32_t side = laws_below(w, 2), i = laws_below(w, PAIRS);
	const struct laws_pair *p = &w->pair[side][i];
	uint64_t sends = p->posted - p->next, recvs = p->recvs - p->taken;
	bool is_recv = laws_below(w, 2);
	int r = 0;

	if (is_recv && p->recvs == p->due)
		r = laws_post_recv(w, side, i);
	else if (is_recv)
		r = laws_cancel(w, side, i, true, p->taken + prng_below(&w->drive, recvs));
	else if (sends > 0)
		r = laws_cancel(w, side, i, false, p->next + prng_below(&w->drive, sends));
	n[is_recv] += r == 0;
	assert_true(r == 0 || r == -EBUSY || r == -ENOENT || (is_recv && r == -ENOMEM));
}

/* Receives that nothing comes for keep those behind them, taken back or not, from ending. */
static void cancel_rest(struct laws_world *w, uint32_t side, uint32_t i)
{
	const struct laws_pair *p = &w->pair[side][i];

	for (uint64_t cookie = p->taken; cookie < p->recvs && p->recvs > p->due; cookie++)
		laws_cancel(w, side, i, true, cookie);
	assert_int_equal(p->recvs, p->due);
}

/* The payload of all that was not taken back, and of nothing else, is where it belongs. */
static void look_at_bytes(const struct laws_world *w, const struct transport *row)
{
	struct transport_progress p[2];

	for (uint32_t i = 0; i < PAIRS; i++) {
		for (uint32_t side = 0; side < 2; side++)
			row->pairs->progress(w->end[side].e, row_number(&w->end[side], i),
					     &p[side]);
		assert_int_equal(p[0].got_bytes + p[1].got_bytes,
				 w->pair[0][i].bytes + w->pair[1][i].bytes);
	}
}

/* Law 5: what is taken back ends in its turn and is seen by nobody, and all else goes on. */
static void take_back(const struct transport *row, uint64_t seed)
{
	uint64_t n[2] = {0};

	if (!row || !row->engine->cancel)
		return;
	struct laws_world *w = begin(row, seed, 1);

	for (uint32_t i = 0; i < STEPS; i++) {
		do_something(w);
		cancel_something(w, n);
	}
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = 0; i < PAIRS; i++)
			cancel_rest(w, side, i);
	settle(w);
	/* MRC numbers its sends when they are posted. */
	assert_true(n[1] > STEPS / 64 && (n[0] > STEPS / 128 || row == &transport_mrc));
	look_at_bytes(w, row);
	laws_end(w);
}

static void what_is_taken_back_never_was(void **state)
{
	(void)state;
	each_kind(take_back);
}

/* Law 5: of messages of strangers, which no post reserves a completion for, so many are taken as
 * were lent. The others are put off, and not lost: they are taken when they come again. */
static void lend(const struct transport *row, uint64_t seed)
{
	struct done done;

	if (!row || !row->engine->lend)
		return;
	struct laws_world *w = laws_begin(row, 1, seed, 1);
	const struct row_end *s = &w->end[1];

	assert_int_equal(laws_lend(w, 1, row_number(s, 0), 1), -ENOENT);
	assert_int_equal(laws_post(w, 0, 0, ENGINE_WRITE_IMM, 100), 0);
	assert_int_equal(laws_pull(w, 0, &wide, 1), 1);
	struct laws_flight f = w->flights[0];

	send_to(w, &f, row->open_number);
	for (uint32_t round = 1; round <= 2; round++) {
		assert_int_equal(laws_lend(w, 1, row->open_number, LENT), 0);
		for (uint32_t i = 0; i < 2 * LENT; i++) {
			f.rx.peer = 1000 + i;
			laws_input(w, 1, &f, 2);
		}
		while (laws_poll(w, 1, &done))
			assert_int_equal(done.status, ENGINE_OK);
		assert_int_equal(w->unreserved[1], round * LENT);
		assert_int_equal(laws_count(s, "drop_", false), LENT);
	}
	assert_int_equal(row->pairs->state(s->e, row_number(s, 0)), ENGINE_RTS);
	laws_end(w);
}

static void no_more_is_taken_than_was_lent(void **state)
{
	(void)state;
	each_kind(lend);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(random_drives_hold_the_laws),
	cmocka_unit_test(bad_packets_change_nothing),
	cmocka_unit_test(what_was_lent_is_placed_at_once),
	cmocka_unit_test(a_pull_for_nothing_runs_timers),
	cmocka_unit_test(acknowledgements_are_not_starved),
	cmocka_unit_test(acknowledgements_pass_data_that_is_stopped),
	cmocka_unit_test(post_reserves_the_completion),
	cmocka_unit_test(post_takes_all_or_none),
	cmocka_unit_test(what_is_out_has_a_deadline),
	cmocka_unit_test(what_is_taken_back_never_was),
	cmocka_unit_test(no_more_is_taken_than_was_lent),
	cmocka_unit_test(memory_need_not_be_cleared),
	cmocka_unit_test(a_packet_is_one_event),
};
CHECK_MAIN(cases)
