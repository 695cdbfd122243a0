/* engine/cut.h: what goes into packets, and what comes out of them, byte by byte. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "engine/cut.h"

enum { KEY = 0x100, PD = 5, QP = 77, BYTES = 4096, TIMES = 20000 };

static uint8_t arena[BYTES];

static void packets_of_a_message(void **state)
{
	static const struct {
		uint32_t len, pmtu, n;
	} rows[] = {
		{0, 256, 1},
		{1, 256, 1},
		{256, 256, 1},
		{257, 256, 2},
		{4096, 4096, 1},
		{UINT32_C(1) << 31, 256, UINT32_C(1) << 23},
		{UINT32_MAX, 4096, UINT32_C(1) << 20},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_int_equal(engine_packets(rows[i].len, rows[i].pmtu), rows[i].n);
}

static void padding_fills_words(void **state)
{
	struct tx_pkt tx = {.n_body = 2};

	(void)state;
	for (uint32_t len = 0; len < 9; len++) {
		assert_in_range(engine_pad_of(len), 0, ENGINE_PAD_MAX);
		assert_int_equal((len + engine_pad_of(len)) % 4, 0);
	}
	engine_cut_pad(&tx, 3);
	assert_int_equal(tx.n_body, 3);
	assert_int_equal(tx.body[2].len, 3);
	assert_memory_equal(tx.body[2].at, "\0\0\0", 3);
}

static void sizes_of_packets(void **state)
{
	static const uint32_t bad[] = {0, 1, 128, 255, 257, 768, 4095, 8192};

	(void)state;
	for (uint32_t pmtu = 256; pmtu <= 4096; pmtu *= 2)
		assert_true(engine_is_pmtu(pmtu));
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_false(engine_is_pmtu(bad[i]));
}

static void what_a_queue_pair_takes(void **state)
{
	const struct engine_cut_limits most = {2, 1000, 0};
	const struct sge fits[] = {{arena, 600, KEY}, {arena, 400, KEY}};
	const struct sge long_one[] = {{arena, 600, KEY}, {arena, 401, KEY}};
	const struct sge wraps[] = {{arena, UINT32_MAX, KEY}, {arena, 2, KEY}};
	(void)state;
	assert_int_equal(engine_cut_check(&(struct op){.sg = fits, .n_sg = 2}, most), 0);
	assert_int_equal(engine_cut_bytes(&(struct op){.sg = fits, .n_sg = 2}), 1000);
	assert_int_equal(engine_cut_check(&(struct op){.n_sg = 0}, most), 0);
	assert_int_equal(engine_cut_bytes(&(struct op){.n_sg = 0}), 0);
	const struct op bad[] = {
		{.sg = long_one, .n_sg = 2},
		{.sg = wraps, .n_sg = 2},
		{.sg = fits, .n_sg = 3},
		{.sg = NULL, .n_sg = 1},
		{.sg = fits, .n_sg = 2, .remote = UINT64_MAX - 998},
		{.sg = fits, .n_sg = 1, .flags = ENGINE_INLINE},
	};
	const struct op last = {.sg = fits, .n_sg = 2, .remote = UINT64_MAX - 999};
	const struct op none = {.remote = UINT64_MAX};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(engine_cut_check(&bad[i], most), -EINVAL);
	assert_int_equal(engine_cut_check(&last, most), 0);
	assert_int_equal(engine_cut_check(&none, most), 0);
}

/* Bytes that are copied are one piece of the engine's own, in the room behind the list. */
static void what_a_work_keeps(void **state)
{
	const struct engine_cut_limits most = {2, 1000, 70}, none = {0, 1000, 5};
	uint8_t here[] = "herethere";
	const struct sge some[] = {{here, 4, KEY}, {NULL, 60, 0}, {here + 4, 5, KEY}};
	const struct op list = {.sg = some, .n_sg = 2};
	const struct op copied = {.sg = some, .n_sg = 3, .flags = ENGINE_INLINE};
	const struct op little = {.sg = &some[2], .n_sg = 1, .flags = ENGINE_INLINE};
	struct {
		struct sge sg[2];
		uint8_t copied[70];
	} room;

	(void)state;
	assert_int_equal(engine_cut_room(most), 2 * sizeof(struct sge) + 70);
	assert_int_equal(engine_cut_room(none), sizeof(struct sge) + 5);
	assert_int_equal(engine_cut_check(&copied, most), 0);
	assert_int_equal(engine_cut_check(&copied, none), -EINVAL);
	assert_int_equal(engine_cut_keep(&list, most, room.sg), 2);
	assert_memory_equal(room.sg, some, sizeof room.sg);
	memset(&room, 0xee, sizeof room);
	assert_int_equal(engine_cut_keep(&copied, most, room.sg), 1);
	assert_ptr_equal(room.sg[0].at, room.copied);
	assert_int_equal(room.sg[0].len, 69);
	assert_memory_equal(room.copied, "here", 4);
	for (uint32_t i = 4; i < 64; i++)
		assert_int_equal(room.copied[i], 0);
	assert_memory_equal(room.copied + 64, "there\xee", 6);
	assert_int_equal(engine_cut_keep(&little, none, room.sg), 1);
	assert_ptr_equal(room.sg[0].at, &room.sg[1]);
	assert_memory_equal(&room.sg[1], "there", 5);
	assert_int_equal(engine_cut_keep(&(struct op){.flags = ENGINE_INLINE}, most, room.sg), 0);
}

static struct mem *region(void)
{
	const struct mem_entry e = {
		.at = arena,
		.iova = (uintptr_t)arena,
		.len = BYTES,
		.key = KEY,
		.pd = PD,
		.kind = MEM_REGION,
	};
	void *memory = calloc(1, mem_bytes(4));

	assert_non_null(memory);
	struct mem *m = mem_init(memory, 4);

	assert_int_equal(mem_add(m, &e), 0);
	return m;
}

static void parts_make_the_message(void **state)
{
	const struct sge sg[] = {
		{arena + 7, 300, KEY}, {arena, 0, KEY}, {arena + 900, 5, KEY}, {arena, 700, KEY}};
	struct mem *m = region();
	uint8_t whole[1005], got[1005];
	uint32_t at = 0;

	(void)state;
	for (uint32_t i = 0; i < BYTES; i++)
		arena[i] = (uint8_t)(i * 7 + (i >> 8));
	memcpy(whole, arena + 7, 300);
	memcpy(whole + 300, arena + 900, 5);
	memcpy(whole + 305, arena, 700);
	while (at < sizeof whole) {
		uint32_t left = (uint32_t)sizeof whole - at, len = left < 256 ? left : 256;
		struct engine_cut cut = {.mem = m, .pd = PD, .qp = QP, .from = {sg, 4, at, len}};
		struct tx_pkt tx = {.n_body = 9};

		assert_true(engine_cut_out(&cut, &tx));
		for (uint8_t i = 0; i < tx.n_body; i++) {
			memcpy(got + at, tx.body[i].at, tx.body[i].len);
			at += tx.body[i].len;
		}
	}
	assert_int_equal(at, sizeof whole);
	assert_memory_equal(got, whole, sizeof whole);
	free(m);
}

static void keys_are_looked_at(void **state)
{
	const struct sge wrong[] = {{arena, 10, KEY}, {arena, 10, KEY + 1}};
	struct mem *m = region();
	struct engine_cut cut = {.mem = m, .pd = PD, .qp = QP, .from = {wrong, 2, 0, 20}};
	struct tx_pkt tx;

	(void)state;
	assert_false(engine_cut_out(&cut, &tx));
	/* Only those of the pieces that it takes. */
	cut.from.len = 10;
	assert_true(engine_cut_out(&cut, &tx));
	assert_int_equal(tx.n_body, 1);
	cut.pd = PD + 1;
	assert_false(engine_cut_out(&cut, &tx));
	cut.is_trusted = true;
	assert_true(engine_cut_out(&cut, &tx));
	cut.is_trusted = false;
	cut.from.len = 0;
	assert_true(engine_cut_out(&cut, &tx));
	assert_int_equal(tx.n_body, 0);
	free(m);
}

/* Lengths that are drawn, and how they lie in the three parts. */
static void what_arrived_is_all_but_padding(void **state)
{
	struct prng rng;

	(void)state;
	prng_init(&rng, check_seed(4), 0);
	for (uint32_t i = 0; i < TIMES; i++) {
		uint32_t n[3], total = 0, at = 0, pad = (uint32_t)prng_below(&rng, 5);
		struct engine_payload p = {.n = 77, .len = 77};

		for (uint32_t k = 0; k < 3; k++) {
			n[k] = (uint32_t)prng_below(&rng, 3) ? (uint32_t)prng_below(&rng, 9) : 0;
			total += n[k];
		}
		const struct rx_pkt rx = {
			.body = {{arena + n[0], n[1]}, {arena + n[0] + n[1], n[2]}}};
		bool is_right = total % 4 == 0 && pad <= total;

		assert_int_equal(engine_cut_in(&p, &rx, (struct cspan){arena, n[0]}, pad),
				 is_right);
		if (!is_right)
			continue;
		assert_int_equal(p.len, total - pad);
		for (uint32_t k = 0; k < p.n; k++) {
			assert_true(p.pieces[k].len > 0);
			assert_ptr_equal(p.pieces[k].at, arena + at);
			at += p.pieces[k].len;
		}
		assert_int_equal(at, p.len);
		assert_int_equal(engine_payload_of(&p).len, p.len);
	}
}

/* Virtual pieces may be as long as they like. */
static void lengths_beyond_any_packet(void **state)
{
	const struct rx_pkt rx = {.body = {{NULL, UINT32_MAX - 3}, {NULL, 4}}};
	struct engine_payload p;

	(void)state;
	assert_false(engine_cut_in(&p, &rx, (struct cspan){NULL, 0}, 0));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(packets_of_a_message),
	cmocka_unit_test(padding_fills_words),
	cmocka_unit_test(sizes_of_packets),
	cmocka_unit_test(what_a_queue_pair_takes),
	cmocka_unit_test(what_a_work_keeps),
	cmocka_unit_test(parts_make_the_message),
	cmocka_unit_test(keys_are_looked_at),
	cmocka_unit_test(what_arrived_is_all_but_padding),
	cmocka_unit_test(lengths_beyond_any_packet),
};

CHECK_MAIN(cases)
