/* engine/sent.h: packets that are out, against a model that keeps one record for each packet and
 * counts everything anew. */
#include <stdalign.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "engine/sent.h"

#define COUNTS     6000u
#define PLACES     64u
#define POOL_BYTES (PLACES * 1024u)
#define UNIT       128u /* packets; windows are so many of them */

/* What the model knows of a packet. */
struct packet {
	bool is_acked, is_lost, is_retx, is_thrice;
	nsec at;
	uint32_t bytes, tries;
};

static struct {
	struct engine_sent s;
	struct pool pool;
	alignas(max_align_t) uint8_t memory[POOL_BYTES];
	uint32_t chunks[PLACES];
	struct prng rng;
	struct packet packets[COUNTS];
	nsec now;
	uint64_t una, next, acked_bytes;
	uint32_t max_out;
	uint32_t n_back, n_taken; /* chunks, as told and as the pool has it */
} w;

static uint32_t below(uint32_t n)
{
	return (uint32_t)prng_below(&w.rng, n);
}

static bool chance(uint32_t percent)
{
	return below(100) < percent;
}

/* A record for windows of so many units, with a pool of so many chunks. */
static void begin(uint64_t seed, uint32_t units, uint32_t n_chunks)
{
	struct pool_shape shape = {sizeof(struct engine_sent_chunk),
				   alignof(struct engine_sent_chunk), n_chunks};
	uint32_t n_places = 1;

	if (w.pool.slots)
		pool_fini(&w.pool);
	memset(&w, 0xa5, sizeof w);
	while (n_places < units * (UNIT / ENGINE_SENT_PKTS) + 1)
		n_places *= 2;
	assert_in_range(n_places, 1, PLACES);
	assert_in_range(pool_bytes(&shape), 1, sizeof w.memory);
	pool_init(&w.pool, w.memory, &shape);
	engine_sent_init(&w.s, &w.pool, w.chunks, n_places);
	prng_init(&w.rng, seed, 0);
	/* Soon the short times of packets wrap. */
	w.now = (UINT64_C(1) << (32 + ENGINE_SENT_SHIFT)) - (seed % 2) * UINT64_C(30000000000);
	w.una = w.next = w.acked_bytes = 0;
	w.max_out = units * UNIT;
	w.n_back = w.n_taken = 0;
}

static nsec rounded(nsec at)
{
	return at >> ENGINE_SENT_SHIFT << ENGINE_SENT_SHIFT;
}

/* The sums are those of the model, and chunks are held exactly for what is out. */
static void check_sums(void)
{
	uint64_t bytes = 0, first_lost = ENGINE_SENT_NONE;
	uint32_t n_lost = 0, n_early = 0;

	for (uint64_t n = w.una; n < w.next; n++) {
		const struct packet *p = &w.packets[n];

		assert_int_equal(engine_sent_time(&w.s, w.now, n), rounded(p->at));
		assert_int_equal(engine_sent_is_acked(&w.s, n), p->is_acked);
		assert_int_equal(engine_sent_is_lost(&w.s, n), p->is_lost);
		assert_int_equal(engine_sent_is_retx(&w.s, n), p->is_retx);
		assert_int_equal(engine_sent_is_thrice(&w.s, n), p->is_thrice);
		bytes += p->is_acked || p->is_lost ? 0 : p->bytes;
		n_lost += p->is_lost;
		n_early += p->is_acked;
		if (p->is_lost && first_lost == ENGINE_SENT_NONE)
			first_lost = n;
	}
	assert_int_equal(w.s.una, w.una);
	assert_int_equal(w.s.next, w.next);
	assert_int_equal(w.s.out_bytes, bytes);
	assert_int_equal(w.s.acked_bytes, w.acked_bytes);
	assert_int_equal(w.s.n_lost, n_lost);
	assert_int_equal(w.s.n_early, n_early);
	assert_int_equal(engine_sent_next_lost(&w.s), first_lost);
	uint64_t n_chunks =
		w.una == w.next ? 0
				: (w.next - 1) / ENGINE_SENT_PKTS - w.una / ENGINE_SENT_PKTS + 1;

	assert_int_equal(pool_in_use(&w.pool), n_chunks);
	assert_int_equal(w.n_taken - w.n_back, n_chunks);
}

static bool send_new(void)
{
	uint32_t in_use = pool_in_use(&w.pool);

	if (w.next - w.una == w.max_out || w.next == COUNTS || !engine_sent_reserve(&w.s))
		return false;
	w.n_taken += pool_in_use(&w.pool) - in_use;
	w.packets[w.next] = (struct packet){.at = w.now, .bytes = 88 + below(4096)};
	engine_sent_sent(&w.s, w.now, w.next, (uint32_t)w.next << 12, w.packets[w.next].bytes);
	assert_int_equal(engine_sent_at(&w.s, w.next)->user, (uint32_t)w.next << 12);
	assert_int_equal(engine_sent_at(&w.s, w.next)->bytes, w.packets[w.next].bytes);
	assert_int_equal(engine_sent_chunk(&w.s, w.next)->marks >> engine_sent_place(w.next) & 1,
			 0);
	w.next++;
	return true;
}

static void send_lost(void)
{
	uint64_t n = engine_sent_next_lost(&w.s);

	if (n == ENGINE_SENT_NONE)
		return;
	struct packet *p = &w.packets[n];

	p->is_lost = false;
	p->is_thrice = p->is_retx;
	p->is_retx = true;
	p->at = w.now;
	engine_sent_sent(&w.s, w.now, n, 7, p->bytes);
	assert_int_equal(engine_sent_at(&w.s, n)->user, 7);
}

/* Tries are counted until una moves. */
static void try_one(void)
{
	if (w.una == w.next)
		return;
	uint64_t n = w.una + below((uint32_t)(w.next - w.una));
	uint8_t *tries = engine_sent_tries(&w.s, n);

	assert_int_equal(*tries, w.packets[n].tries);
	w.packets[n].tries = ++*tries;
}

/* The model takes packet n for acknowledged, if that is news. */
static void model_acked(uint64_t n, struct engine_sent_news *news)
{
	struct packet *p = &w.packets[n];
	nsec at = rounded(p->at);

	if (p->is_acked)
		return;
	news->spared += p->is_lost;
	p->is_acked = true;
	p->is_lost = false;
	news->pkts++;
	w.acked_bytes += p->bytes;
	if (p->is_retx) {
		news->retx_at = at > news->retx_at ? at : news->retx_at;
		return;
	}
	if (news->oldest == 0 || at < news->oldest)
		news->oldest = at;
	if (n >= news->newest_end) {
		news->newest = at;
		news->newest_end = n + 1;
	}
}

/* una of the model moves over what is acked, and all tries begin anew if it moved at all. */
static void model_advance(uint64_t before)
{
	while (w.una < w.next && w.packets[w.una].is_acked)
		w.una++;
	for (uint64_t n = w.una; n < w.next && w.una > before; n++)
		w.packets[n].tries = 0;
}

static void expect_news(const struct engine_sent_news *got, const struct engine_sent_news *want)
{
	assert_int_equal(got->pkts, want->pkts);
	assert_int_equal(got->spared, want->spared);
	assert_int_equal(got->oldest, want->oldest);
	assert_int_equal(got->newest, want->newest);
	assert_int_equal(got->newest_end, want->newest_end);
	assert_int_equal(got->retx_at, want->retx_at);
}

/* 64 packets from somewhere, also before una, none that was not sent. */
static void ack_map(void)
{
	uint64_t low = w.una > 70 ? w.una - 70 : 0;
	uint64_t from = low + below((uint32_t)(w.next - low) + 1), before = w.una, once = 0;
	uint64_t map = prng_u64(&w.rng);
	struct engine_sent_news got = {0}, want = {0};

	map &= prng_u64(&w.rng);
	if (w.next - from < 64)
		map &= (UINT64_C(1) << (w.next - from)) - 1;
	for (uint32_t i = 0; i < 64; i++) {
		const struct packet *p = &w.packets[from + i < COUNTS ? from + i : 0];

		if (!(map >> i & 1) || from + i < w.una)
			continue;
		once |= (uint64_t)(!p->is_acked && !p->is_retx) << i;
		model_acked(from + i, &want);
	}
	assert_true(engine_sent_once(&w.s, from, map) == once);
	engine_sent_acked(&w.s, w.now, from, map, &got);
	assert_int_equal(engine_sent_once(&w.s, from, map), 0);
	expect_news(&got, &want);
	assert_int_equal(w.s.una, w.una);
	/* What una stands on may be acked now: it moves on at once, as ever after a map. */
	w.n_back += engine_sent_advance(&w.s, w.now, w.una, &got);
	expect_news(&got, &want);
	model_advance(before);
}

static void ack_all_before(uint64_t to)
{
	struct engine_sent_news got = {0}, want = {0};
	uint64_t before = w.una;

	for (; w.una < to; w.una++)
		model_acked(w.una, &want);
	model_advance(before);
	w.n_back += engine_sent_advance(&w.s, w.now, to, &got);
	expect_news(&got, &want);
}

static void lose_one(void)
{
	if (w.una == w.next)
		return;
	uint64_t n = w.una + below((uint32_t)(w.next - w.una));
	bool is_news = !w.packets[n].is_acked && !w.packets[n].is_lost;

	assert_int_equal(engine_sent_lost(&w.s, n), is_news);
	w.packets[n].is_lost |= is_news;
}

/* All that is out is given up, and some that were never sent. */
static void give_up(void)
{
	uint32_t left = COUNTS - (uint32_t)w.next;

	w.next += below(left < 100 ? left + 1 : 100);
	w.una = w.next;
	w.n_back += engine_sent_clear(&w.s, w.next);
}

static void step(void)
{
	/* Far apart at times: what is out may be old. */
	w.now += chance(2) ? UINT64_C(10000000000) : below(500);
	switch (below(9)) {
	case 0:
	case 1:
		for (uint32_t n = below(40); n > 0 && send_new(); n--)
			continue;
		break;
	case 2: lose_one(); break;
	case 3: send_lost(); break;
	case 4: ack_map(); break;
	case 5: ack_all_before(w.una + below((uint32_t)(w.next - w.una) / 4 + 1)); break;
	case 6: ack_all_before(w.una); break;
	case 7: try_one(); break;
	default:
		if (chance(50))
			ack_all_before(w.next);
		break;
	}
}

static void random_packets_match_the_model(void **state)
{
	uint64_t seed = check_seed(77001);

	(void)state;
	for (uint64_t i = 0; i < 12; i++) {
		begin(seed + i, 1u << i % 4, i % 3 == 0 ? 3 : PLACES);
		for (uint32_t k = 0; k < 3000; k++) {
			step();
			check_sums();
			if (chance(1)) {
				give_up();
				check_sums();
			}
		}
		ack_all_before(w.next);
		check_sums();
	}
}

/* A window of any place and length, acknowledged at once: each chunk goes back. */
static void chunks_go_back_exactly(void **state)
{
	(void)state;
	begin(1, 4, PLACES);
	for (uint32_t len = 1; len < 200 && w.next + 200 <= COUNTS; len++) {
		for (uint32_t i = 0; i < len; i++)
			assert_true(send_new());
		check_sums();
		ack_all_before(w.next - (len > 2 ? 1 : 0));
		check_sums();
		ack_all_before(w.next);
		assert_int_equal(pool_in_use(&w.pool), 0);
	}
}

/* The largest window there is, not on the border of a chunk. */
static void the_largest_window_fits(void **state)
{
	(void)state;
	for (uint32_t units = 1; units <= 16; units = units * 3 + 1) {
		begin(1, units, PLACES);
		for (uint32_t i = 0; i < 37; i++)
			send_new();
		ack_all_before(37);
		while (w.next - w.una < w.max_out)
			assert_true(send_new());
		check_sums();
		ack_all_before(w.next);
		check_sums();
	}
}

static void an_empty_pool_is_an_answer(void **state)
{
	(void)state;
	begin(1, 8, 2);
	while (send_new())
		continue;
	assert_int_equal(w.next, 2 * ENGINE_SENT_PKTS);
	check_sums();
	/* One of them is back: there is room for as many. */
	ack_all_before(ENGINE_SENT_PKTS);
	check_sums();
	while (send_new())
		continue;
	assert_int_equal(w.next, 3 * ENGINE_SENT_PKTS);
	ack_all_before(w.next);
	pool_fail_at(&w.pool, 1);
	assert_false(send_new());
	check_sums();
	assert_true(send_new());
	check_sums();
}

static void reset_begins_anew(void **state)
{
	(void)state;
	begin(1, 2, PLACES);
	for (uint32_t i = 0; i < 100; i++)
		send_new();
	ack_all_before(10);
	lose_one();
	assert_int_equal(engine_sent_reset(&w.s), 2);
	assert_int_equal(pool_in_use(&w.pool), 0);
	w.n_taken = w.n_back = 0;
	w.una = w.next = w.acked_bytes = 0;
	check_sums();
	assert_int_equal(w.s.n_moves, 0);
	assert_true(send_new());
	check_sums();
}

static void what_is_not_out_is_our_mistake(void *context)
{
	engine_sent_lost(&w.s, *(uint64_t *)context);
}

static void packets_that_are_not_out_fail_an_assert(void **state)
{
	uint64_t before = 2, behind = 5;

	(void)state;
	begin(1, 1, PLACES);
	for (uint32_t i = 0; i < 5; i++)
		send_new();
	ack_all_before(3);
	assert_true(check_aborts(what_is_not_out_is_our_mistake, &before));
	assert_true(check_aborts(what_is_not_out_is_our_mistake, &behind));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(random_packets_match_the_model),
	cmocka_unit_test(chunks_go_back_exactly),
	cmocka_unit_test(the_largest_window_fits),
	cmocka_unit_test(an_empty_pool_is_an_answer),
	cmocka_unit_test(reset_begins_anew),
	cmocka_unit_test(packets_that_are_not_out_fail_an_assert),
};

CHECK_MAIN(cases)
