/* The books of packets that are out, against a model that keeps one record for each packet and
 * counts everything anew. */
#include "mrc_books.h"

#define COUNTS 6000u

/* What the model knows of a packet. */
struct packet {
	bool is_acked, is_lost, is_retx;
	nsec at;
	uint32_t bytes;
};

static struct packet packets[COUNTS];
static struct mrc *m;
static struct mrc_qp *q;
static uint64_t una, next, spared, acked_bytes;
static uint32_t max_out;

/* One queue pair whose requester is this test's own; max_pkts of the pool. */
static void begin(uint64_t seed, uint32_t max_mpr, uint32_t max_pkts)
{
	start(seed);
	w.end[0].cfg.max_out_pkts = max_pkts;
	w.end[0].qp[0].caps.max_mpr = (uint8_t)max_mpr;
	w.end[0].qp[0].attr.mpr = w.end[1].qp[0].attr.mpr = 1;
	join();
	m = engine_of(0);
	q = pair_of(0, 0);
	/* Soon the short times of packets wrap. */
	m->now = (UINT64_C(1) << (32 + MRC_SENT_SHIFT)) - (seed % 2) * UINT64_C(30000000000);
	una = next = spared = acked_bytes = 0;
	max_out = max_mpr * MRC_MPR_UNIT;
}

static nsec rounded(nsec at)
{
	return at >> MRC_SENT_SHIFT << MRC_SENT_SHIFT;
}

/* The sums are those of the model, and chunks are held exactly for what is out. */
static void check_sums(void)
{
	uint64_t bytes = 0;
	uint32_t n_lost = 0, n_early = 0;
	uint64_t first_lost = MRC_NONE;

	for (uint64_t n = una; n < next; n++) {
		const struct packet *p = &packets[n];

		assert_int_equal(mrc_flight_time(m, q, n), rounded(p->at));
		bytes += p->is_acked || p->is_lost ? 0 : p->bytes;
		n_lost += p->is_lost;
		n_early += p->is_acked;
		if (p->is_lost && first_lost == MRC_NONE)
			first_lost = n;
	}
	assert_int_equal(q->req.una, una);
	assert_int_equal(q->req.next, next);
	assert_int_equal(q->req.out_bytes, bytes);
	assert_int_equal(q->req.acked_bytes, acked_bytes);
	assert_int_equal(q->req.n_lost, n_lost);
	assert_int_equal(q->req.n_early, n_early);
	assert_int_equal(mrc_flight_next_lost(m, q), first_lost);
	assert_int_equal(m->count.spared, spared);
	uint64_t n_chunks = una == next ? 0 : (next - 1) / MRC_FLIGHT - una / MRC_FLIGHT + 1;

	assert_int_equal(pool_in_use(&m->flights), n_chunks);
}

static bool send_new(void)
{
	bool is_retx;

	if (next - una == max_out || next == COUNTS || !mrc_flight_reserve(m, q))
		return false;
	packets[next] = (struct packet){.at = m->now, .bytes = 88 + below(4096)};
	mrc_flight_sent(m, q, next, (uint32_t)next % 4096, packets[next].bytes);
	const struct mrc_sent *sent = mrc_flight_sent_at(m, q, next, &is_retx);

	assert_int_equal(sent->way, (uint32_t)next % 4096);
	assert_int_equal(sent->tries, 0);
	assert_false(is_retx);
	next++;
	return true;
}

static void send_lost(void)
{
	uint64_t n = mrc_flight_next_lost(m, q);
	bool is_retx;

	if (n == MRC_NONE)
		return;
	packets[n].is_lost = false;
	packets[n].is_retx = true;
	packets[n].at = m->now;
	mrc_flight_sent(m, q, n, 7, packets[n].bytes);
	assert_int_equal(mrc_flight_sent_at(m, q, n, &is_retx)->way, 7);
	assert_true(is_retx);
}

/* The model takes packet n for acknowledged, if that is news. */
static void model_acked(uint64_t n, struct mrc_news *news)
{
	struct packet *p = &packets[n];
	nsec at = rounded(p->at);

	if (p->is_acked)
		return;
	spared += p->is_lost;
	p->is_acked = true;
	p->is_lost = false;
	news->pkts++;
	acked_bytes += p->bytes;
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

static void expect_news(const struct mrc_news *got, const struct mrc_news *want)
{
	assert_int_equal(got->pkts, want->pkts);
	assert_int_equal(got->oldest, want->oldest);
	assert_int_equal(got->newest, want->newest);
	assert_int_equal(got->newest_end, want->newest_end);
	assert_int_equal(got->retx_at, want->retx_at);
}

/* 64 packets from somewhere, also before una, none that was not sent. */
static void ack_map(void)
{
	uint64_t low = una > 70 ? una - 70 : 0, from = low + below((uint32_t)(next - low) + 1);
	uint64_t map = prng_u64(&w.rng);
	struct mrc_news got = {0}, want = {0};

	map &= prng_u64(&w.rng);
	if (next - from < 64)
		map &= (UINT64_C(1) << (next - from)) - 1;
	for (uint32_t i = 0; i < 64; i++)
		if (map >> i & 1 && from + i >= una)
			model_acked(from + i, &want);
	mrc_flight_acked(m, q, from, map, &got);
	expect_news(&got, &want);
	assert_int_equal(q->req.una, una);
	/* What una stands on may be acked now: it moves on at once, as ever after a map. */
	mrc_flight_advance(m, q, una, &got);
	expect_news(&got, &want);
	while (una < next && packets[una].is_acked)
		una++;
}

static void ack_all_before(uint64_t to)
{
	struct mrc_news got = {0}, want = {0};

	for (; una < to; una++)
		model_acked(una, &want);
	while (una < next && packets[una].is_acked)
		una++;
	mrc_flight_advance(m, q, to, &got);
	expect_news(&got, &want);
}

static void lose_one(void)
{
	if (una == next)
		return;
	uint64_t n = una + below((uint32_t)(next - una));
	bool is_news = !packets[n].is_acked && !packets[n].is_lost;

	assert_int_equal(mrc_flight_lost(m, q, n), is_news);
	packets[n].is_lost |= is_news;
}

static void random_packets_match_the_model(void **state)
{
	uint64_t seed = check_seed(77001);

	(void)state;
	for (uint64_t i = 0; i < 12; i++) {
		uint32_t mpr = 1u << i % 4;

		begin(seed + i, mpr, i % 3 == 0 ? 3 * MRC_FLIGHT : 65536);
		for (uint32_t k = 0; k < 3000; k++) {
			/* Far apart at times: what is out may be old. */
			m->now += chance(2) ? UINT64_C(10000000000) : below(500);
			switch (below(8)) {
			case 0:
			case 1:
				for (uint32_t n = below(40); n > 0 && send_new(); n--)
					continue;
				break;
			case 2: lose_one(); break;
			case 3: send_lost(); break;
			case 4: ack_map(); break;
			case 5: ack_all_before(una + below((uint32_t)(next - una) / 4 + 1)); break;
			case 6: ack_all_before(una); break;
			default:
				if (chance(100))
					ack_all_before(next);
				break;
			}
			check_sums();
			if (chance(1)) {
				mrc_flight_clear(m, q);
				una = next;
				check_sums();
			}
		}
		ack_all_before(next);
		check_sums();
	}
}

/* A window of any place and length, acknowledged at once: each chunk goes back. */
static void chunks_go_back_exactly(void **state)
{
	(void)state;
	begin(1, 4, 65536);
	for (uint32_t len = 1; len < 200; len++) {
		for (uint32_t i = 0; i < len && next < COUNTS; i++)
			assert_true(send_new());
		check_sums();
		ack_all_before(next - (len > 2 ? 1 : 0));
		check_sums();
		ack_all_before(next);
		assert_int_equal(pool_in_use(&m->flights), 0);
		if (next + 200 > COUNTS)
			break;
	}
}

/* The largest window there is, not on the border of a chunk. */
static void the_largest_window_fits(void **state)
{
	(void)state;
	for (uint32_t mpr = 1; mpr <= 40; mpr = mpr * 3 + 1) {
		begin(1, mpr, 65536);
		for (uint32_t i = 0; i < 37; i++)
			send_new();
		ack_all_before(37);
		while (next - una < max_out)
			assert_true(send_new());
		check_sums();
		ack_all_before(next);
		check_sums();
	}
}

static void an_empty_pool_is_an_answer(void **state)
{
	(void)state;
	begin(1, 8, 2 * MRC_FLIGHT);
	while (send_new())
		continue;
	assert_int_equal(next, 2 * MRC_FLIGHT);
	check_sums();
	/* One of them is back: there is room for as many. */
	ack_all_before(MRC_FLIGHT);
	check_sums();
	while (send_new())
		continue;
	assert_int_equal(next, 3 * MRC_FLIGHT);
	ack_all_before(next);
	pool_fail_at(&m->flights, 1);
	assert_false(send_new());
	check_sums();
	assert_true(send_new());
	check_sums();
}

/* Who starves gets a turn with each chunk that goes back. */
static void a_chunk_that_goes_back_is_offered(void **state)
{
	(void)state;
	begin(1, 8, MRC_FLIGHT);
	assert_true(send_new());
	mrc_starve(m, q);
	ack_all_before(next);
	assert_false(list_is_linked(&q->starved_link));
	assert_true(list_is_linked(&q->send_link));
	assert_true(send_new());
	mrc_starve(m, q);
	mrc_flight_clear(m, q);
	assert_false(list_is_linked(&q->starved_link));
}

static void what_is_not_out_is_our_mistake(void *context)
{
	uint64_t n = *(uint64_t *)context;

	mrc_flight_lost(m, q, n);
}

static void packets_that_are_not_out_fail_an_assert(void **state)
{
	uint64_t before = 2, behind = 5;

	(void)state;
	begin(1, 1, 65536);
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
	cmocka_unit_test(a_chunk_that_goes_back_is_offered),
	cmocka_unit_test(packets_that_are_not_out_fail_an_assert),
};

CHECK_MAIN(cases)
