/* What a thousand queue pairs of the largest range share: two engines as large as a device's, side
 * by side in one process, whose packets overtake each other as they may on 256 EVs. */
#include <stdalign.h>
#include <string.h>
#include <sys/mman.h>

#include "base/prng.h"
#include "check.h"
#include "mrc/state.h"
#include "nic/nic.h"
#include "transport/transport.h"

#define PAIRS   1024u
#define EVS     256u
#define FIRST   16u /* number of the first queue pair, here and there */
#define PMTU    256u
#define PACKETS 320u /* that a queue pair sends: five chunks of those out, three of those ahead */
#define BATCH   256u
#define KEY     0x700u
#define PD      1u
#define NACKS   256u

/* A packet on its way: its head; the bytes behind that are virtual. */
struct carried {
	uint16_t head_len, len;
	uint32_t ev;
	uint8_t head[MRC_HEAD_BYTES];
};

static struct {
	struct mrc_cfg cfg;
	struct mrc_attr attr;
	struct engine *e[2];
	size_t bytes[2];
	alignas(max_align_t) uint8_t table[65536];
	struct mem *mem;
	struct path_profile profile;
	void *profile_memory, *pairs[2];
	size_t pair_bytes;
	struct carried *out; /* PAIRS * PACKETS of them */
	uint32_t n_out;
	uint32_t nacks[NACKS]; /* sent by either, by their code */
	nsec now;
} w;

static void *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static const struct mrc_caps caps = {
	.max_send = 4,
	.max_recv = 1,
	.max_send_sge = 1,
	.pd = PD,
	.max_mpr = MRC_MPR_MAX,
	.max_evs = EVS,
};

static void make_evs(void)
{
	struct path_ev evs[EVS];

	for (uint32_t i = 0; i < EVS; i++)
		evs[i] = (struct path_ev){0xc0000000u + i, 0};
	w.profile_memory = map(path_profile_size(EVS));
	assert_int_equal(path_profile_explicit(&w.profile, w.profile_memory, evs, EVS), PATH_OK);
}

static void set(uint32_t side, uint32_t i, uint8_t state, uint32_t what)
{
	struct mrc_attr attr = w.attr;

	attr.state = state;
	attr.remote_qp = FIRST + i;
	assert_int_equal(mrc_qp_modify(w.e[side], w.now, FIRST + i, &attr, MRC_SET_STATE | what),
			 0);
}

static void *pair_at(uint32_t side, uint32_t i)
{
	return (uint8_t *)w.pairs[side] + i * w.pair_bytes;
}

/* The engine of a device with this much memory for its pools; 0: with the defaults of a small one.
 */
static uint64_t pool_of_a_device(void)
{
	struct transport_device device = {0};

	transport_fall_back(&transport_mrc, &device);
	return device.pool_bytes;
}

static void make_engine(uint32_t side, uint64_t pool_bytes)
{
	struct mrc_cfg cfg = {
		.mem = w.mem,
		.max_qps = NIC_MAX_QPS,
		.cc = {.kind = CC_FIXED, .window_bytes = UINT32_C(1) << 30},
	};

	if (pool_bytes)
		mrc_cfg_fit(&cfg, pool_bytes, EVS);
	w.bytes[side] = mrc_ops.size(&cfg);
	assert_int_not_equal(w.bytes[side], 0);
	w.e[side] = map(w.bytes[side]);
	assert_int_equal(mrc_ops.init(w.e[side], &cfg, w.now), 0);
	w.pair_bytes = (mrc_qp_size(&caps) + 63) / 64 * 64;
	w.pairs[side] = map(PAIRS * w.pair_bytes);
}

static void add_pair(uint32_t side, uint32_t i)
{
	assert_int_equal(mrc_qp_new(w.e[side], FIRST + i, &caps, pair_at(side, i)), 0);
	set(side, i, MRC_INIT, MRC_SET_ACCESS);
	set(side, i, MRC_RTR,
	    MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP | MRC_SET_RQ_PSN | MRC_SET_MPR);
	set(side, i, MRC_RTS,
	    MRC_SET_SQ_PSN | MRC_SET_MPR_DEST | MRC_SET_TIMEOUT | MRC_SET_RETRIES);
}

static void start(uint64_t pool_bytes)
{
	const struct mem_entry entry = {.iova = 0,
					.len = UINT64_C(1) << 31,
					.key = KEY,
					.pd = PD,
					.qp = MEM_ANY_QP,
					.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE};

	memset(&w, 0, sizeof w);
	w.now = 1000000;
	assert_in_range(mem_bytes(4), 1, sizeof w.table);
	w.mem = mem_init(w.table, 4);
	assert_int_equal(mem_add(w.mem, &entry), 0);
	make_evs();
	w.attr = (struct mrc_attr){
		.access = MEM_REMOTE_WRITE,
		.pmtu = PMTU,
		.evs = &w.profile,
		.timeout = 20,
		.linear_retries = 3,
		.mpr = MRC_MPR_MAX,
		.mpr_dest = MRC_MPR_MAX,
	};
	w.out = map(PAIRS * PACKETS * sizeof *w.out);
	for (uint32_t side = 0; side < 2; side++)
		make_engine(side, pool_bytes);
}

static void start_all(uint64_t pool_bytes)
{
	start(pool_bytes);
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = 0; i < PAIRS; i++)
			add_pair(side, i);
}

static void stop(void)
{
	for (uint32_t side = 0; side < 2; side++) {
		pool_give_back(w.e[side], w.bytes[side]);
		munmap(w.e[side], w.bytes[side]);
		munmap(w.pairs[side], PAIRS * w.pair_bytes);
	}
	munmap(w.out, PAIRS * PACKETS * sizeof *w.out);
	munmap(w.profile_memory, path_profile_size(EVS));
}

static void note_nack(const struct tx_pkt *tx)
{
	struct cursor c = cursor_of((struct cspan){tx->head, tx->head_len});
	struct mrc_pkt h;

	assert_int_equal(mrc_pkt_get(&c, false, &h, NULL).why, WIRE_DROP_NONE);
	w.nacks[h.neth.nack_reason % NACKS]++;
}

/* All that one side has to send now, behind what is on its way already. */
static void pull_all(uint32_t side)
{
	static const struct engine_room room = {.pkts = {UINT16_MAX}, .may = UINT32_MAX};
	static uint8_t heads[BATCH][ENGINE_HEAD_MAX];
	static struct tx_pkt tx[BATCH];
	uint32_t n;

	for (uint32_t i = 0; i < BATCH; i++)
		tx[i].head = heads[i];
	do {
		n = mrc_ops.pull(w.e[side], w.now, &room, tx, BATCH);
		assert_in_range(w.n_out + n, 0, PAIRS * PACKETS);
		for (uint32_t i = 0; i < n; i++) {
			struct carried *c = &w.out[w.n_out++];

			*c = (struct carried){
				.head_len = tx[i].head_len, .len = tx[i].head_len, .ev = tx[i].ev};
			memcpy(c->head, tx[i].head, tx[i].head_len);
			for (uint32_t k = 0; k < tx[i].n_body; k++)
				c->len = (uint16_t)(c->len + tx[i].body[k].len);
			if (tx[i].head[0] == MRC_OP_NACK)
				note_nack(&tx[i]);
		}
	} while (n == BATCH);
}

/* What is on its way arrives at a side, in an order of its own. */
static void deliver(uint32_t side, struct prng *rng)
{
	for (uint32_t left = w.n_out; left > 0; left--) {
		uint32_t i = (uint32_t)prng_below(rng, left);
		const struct carried *c = &w.out[i];
		const struct rx_pkt rx = {
			.head = {c->head, c->head_len},
			.body[0] = {NULL, (uint32_t)c->len - c->head_len},
			.at = w.now,
			.ev = c->ev,
			.udp_len = (uint16_t)(c->len + 12),
			.ecn = 2,
		};

		mrc_ops.input(w.e[side], w.now, &rx, 1);
		w.out[i] = w.out[left - 1];
	}
	w.n_out = 0;
}

static void post_all(void)
{
	struct sge piece = {NULL, PACKETS * PMTU, KEY};

	for (uint32_t i = 0; i < PAIRS; i++) {
		struct op op = {.cookie = i,
				.key = KEY,
				.sg = &piece,
				.n_sg = 1,
				.qp = FIRST + i,
				.code = ENGINE_WRITE};

		assert_int_equal(mrc_ops.post(w.e[0], w.now, &op), 0);
	}
}

/* Every packet of every queue pair is out at once and they arrive in any order: none is refused,
 * and none sent twice. */
static void a_thousand_pairs_out_of_order(void **state)
{
	struct prng rng;
	struct done done;
	uint32_t n_done = 0;

	(void)state;
	prng_init(&rng, check_seed(7), 0);
	start_all(pool_of_a_device());
	post_all();
	pull_all(0);
	assert_int_equal(w.n_out, PAIRS * PACKETS);
	assert_int_equal(mrc_usage(w.e[0]).out_chunks, PAIRS * (PACKETS / ENGINE_SENT_PKTS));
	for (uint32_t turn = 0; turn < 8; turn++) {
		w.now += 1000;
		deliver(1, &rng);
		pull_all(1);
		deliver(0, &rng);
		pull_all(0);
	}
	while (mrc_ops.poll(w.e[0], &done, 1)) {
		assert_int_equal(done.status, ENGINE_OK);
		n_done++;
	}
	assert_int_equal(n_done, PAIRS);
	assert_int_equal(mrc_counters(w.e[0])->tx_data, PAIRS * PACKETS);
	assert_int_equal(mrc_counters(w.e[1])->rx_data, PAIRS * PACKETS);
	assert_int_equal(mrc_counters(w.e[1])->rx_nacked, 0);
	assert_int_equal(w.nacks[MRC_NACK_NO_BITMAP], 0);
	assert_int_equal(mrc_counters(w.e[1])->drop_busy, 0);
	assert_int_equal(mrc_usage(w.e[0]).out_chunks, 0);
	assert_int_equal(mrc_usage(w.e[1]).early_chunks, 0);
	stop();
}

/* A packet of its own, ahead of what was not sent yet. */
static void put_ahead(uint32_t i, uint32_t n)
{
	const struct mrc_pkt h = {
		.bth = {.opcode = MRC_OP_WRITE_ONLY,
			.pkey = MRC_PKEY_DEFAULT,
			.dest_qp = FIRST + i,
			.psn = n},
		.reth = {.rkey = KEY},
	};
	struct carried *c = &w.out[w.n_out++];

	*c = (struct carried){.ev = n % EVS};
	c->head_len = c->len = (uint16_t)mrc_head_put(&h, (struct span){c->head, sizeof c->head});
	assert_int_not_equal(c->head_len, 0);
}

/* One packet in each part of the whole range, the first missing: as much as there is to track. */
static void every_pair_tracks_its_whole_range(void **state)
{
	struct prng rng;

	(void)state;
	prng_init(&rng, check_seed(8), 0);
	start_all(pool_of_a_device());
	for (uint32_t part = 0; part < MRC_MPR_MAX; part++) {
		for (uint32_t i = 0; i < PAIRS; i++)
			put_ahead(i, (MRC_MPR_MAX - part) * MRC_MPR_UNIT - 1 - part % 7);
		deliver(1, &rng);
		pull_all(1);
		w.n_out = 0;
	}
	assert_int_equal(mrc_usage(w.e[1]).early_chunks, PAIRS * MRC_MPR_MAX);
	assert_int_equal(mrc_counters(w.e[1])->rx_data, PAIRS * MRC_MPR_MAX);
	assert_int_equal(w.nacks[MRC_NACK_NO_BITMAP], 0);
	stop();
}

/* Where the pools are bounded below that, what does not fit is refused with its code (Table 7-3).
 */
static void what_does_not_fit_is_refused(void **state)
{
	struct prng rng;

	(void)state;
	prng_init(&rng, check_seed(9), 0);
	start_all(0);
	for (uint32_t i = 0; i < PAIRS; i++)
		put_ahead(i, 1);
	deliver(1, &rng);
	pull_all(1);
	assert_int_equal(w.nacks[MRC_NACK_NO_BITMAP], PAIRS - 65536 / ENGINE_SEEN_PKTS);
	w.n_out = 0;
	stop();
}

/* As many EVs of each queue pair as may be out at once are said to be bad, and every one is out;
 * of the others, too, each has a record that it was. */
static void every_ev_may_be_bad(void **state)
{
	(void)state;
	start_all(pool_of_a_device());
	for (uint32_t i = 0; i < PAIRS; i++) {
		struct mrc_progress p;
		struct mrc_qp *q = mrc_find(mrc_of(w.e[0]), FIRST + i);

		for (uint32_t ev = 0; ev < EVS; ev++) {
			mrc_ev_avoid(mrc_of(w.e[0]), q, ev);
			if (ev + 1 != PATH_FEW / 4)
				continue;
			assert_int_equal(mrc_qp_progress(w.e[0], FIRST + i, &p), 0);
			assert_int_equal(p.evs[PATH_ASSUMED_BAD], PATH_FEW / 4);
		}
	}
	assert_int_equal(mrc_usage(w.e[0]).ev_faults, PAIRS * EVS);
	stop();
}

static uint64_t limits_of(uint32_t side)
{
	struct mrc_usage u = mrc_usage(w.e[side]);

	return (uint64_t)u.max_out_chunks + u.max_early_chunks + u.max_ev_faults;
}

/* Pools have what the queue pairs can use, no more: another one adds the same again, one that takes
 * the place of another nothing, and the bound holds. */
static void pools_grow_with_their_pairs(void **state)
{
	uint64_t one;

	(void)state;
	start(pool_of_a_device());
	assert_int_equal(limits_of(0), 0);
	add_pair(0, 0);
	one = limits_of(0);
	assert_in_range(mrc_usage(w.e[0]).max_out_chunks, 2 * MRC_MPR_MAX + 1, 2 * MRC_MPR_MAX + 2);
	assert_int_equal(mrc_usage(w.e[0]).max_early_chunks, MRC_MPR_MAX + 1);
	assert_in_range(mrc_usage(w.e[0]).max_ev_faults, EVS + 1, EVS + PATH_PORTS);
	for (uint32_t i = 1; i < 100; i++)
		add_pair(0, i);
	assert_int_equal(limits_of(0), 100 * one);
	assert_ptr_equal(mrc_qp_free(w.e[0], FIRST + 7), pair_at(0, 7));
	add_pair(0, 7);
	assert_int_equal(limits_of(0), 100 * one);
	stop();
}

/* However small, a bound is kept, and each pool has something. */
static void the_bound_is_kept(void **state)
{
	(void)state;
	for (uint64_t bytes = UINT64_C(1) << 20; bytes <= UINT64_C(1) << 34; bytes *= 2) {
		struct mrc_cfg cfg = {.max_qps = NIC_MAX_QPS,
				      .mem = w.mem,
				      .cc = {.kind = CC_FIXED, .window_bytes = 65536}};
		struct mrc_cfg least = cfg;

		mrc_cfg_fit(&cfg, bytes, 1024);
		least.max_out_pkts = least.max_early_pkts = least.max_answers =
			least.max_ev_faults = 1;
		assert_in_range(cfg.max_out_pkts, 4096, UINT32_C(1) << 30);
		assert_in_range(cfg.max_early_pkts, 65536, UINT32_C(1) << 30);
		assert_in_range(cfg.max_ev_faults, 256, UINT32_C(1) << 28);
		assert_in_range(cfg.max_answers, 256, UINT32_C(1) << 20);
		assert_in_range(mrc_ops.size(&cfg) - mrc_ops.size(&least), bytes / 8, bytes);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_thousand_pairs_out_of_order),
	cmocka_unit_test(every_pair_tracks_its_whole_range),
	cmocka_unit_test(what_does_not_fit_is_refused),
	cmocka_unit_test(every_ev_may_be_bad),
	cmocka_unit_test(pools_grow_with_their_pairs),
	cmocka_unit_test(the_bound_is_kept),
};
CHECK_MAIN(cases)
