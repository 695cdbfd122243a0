#include "fwd/pfc.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "check.h"

static const uint8_t mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};

/* Priorities 0, 3 and 7; the time of 3 says go on. */
static const struct fwd_pause pause3 = {0x89, {0xffff, 0, 0, 0, 0, 0, 0, 0x1234}};

static const uint8_t frame3[PFC_FRAME_BYTES] = {
	0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x11, 0x22, 0x33, 0x44, 0x55,
	0x88, 0x08, 0x01, 0x01, 0x00, 0x89, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x12, 0x34,
};

static void check_same(const struct fwd_pause *a, const struct fwd_pause *b)
{
	assert_int_equal(a->classes, b->classes);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(a->quanta[i], b->quanta[i]);
}

/* Reads the first n bytes of frame from memory of exactly that size. */
static bool get_exact(const uint8_t *frame, uint32_t n, uint32_t len, struct fwd_pause *got)
{
	uint8_t *bytes = malloc(n ? n : 1);

	assert_non_null(bytes);
	memcpy(bytes, frame, n);
	memset(got, 0xa5, sizeof *got);
	bool is_pfc = fwd_pfc_get(&(struct fwd_frame){bytes, n, len}, got);

	free(bytes);
	return is_pfc;
}

static void a_frame_has_the_bytes_of_the_standard(void **state)
{
	uint8_t frame[PFC_FRAME_BYTES];
	struct fwd_pause got, noisy = pause3;

	(void)state;
	memset(frame, 0xa5, sizeof frame);
	fwd_pfc_put(frame, mac, &pause3);
	assert_memory_equal(frame, frame3, sizeof frame);
	assert_true(get_exact(frame, sizeof frame, sizeof frame, &got));
	check_same(&got, &pause3);
	/* The times of priorities it does not speak of are not sent. */
	noisy.quanta[1] = noisy.quanta[6] = 99;
	fwd_pfc_put(frame, mac, &noisy);
	assert_memory_equal(frame, frame3, sizeof frame);
}

static void every_time_has_its_place(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct fwd_pause pause = {(uint8_t)(1 << i), {0}}, got;
		uint8_t frame[PFC_FRAME_BYTES], want[PFC_FRAME_BYTES] = {0};

		pause.quanta[i] = 0xabcd;
		fwd_pfc_put(frame, mac, &pause);
		memcpy(want, frame3, 16);
		want[17] = (uint8_t)(1 << i);
		want[18 + 2 * i] = 0xab;
		want[19 + 2 * i] = 0xcd;
		assert_memory_equal(frame, want, sizeof want);
		assert_true(get_exact(frame, sizeof frame, sizeof frame, &got));
		check_same(&got, &pause);
	}
}

static void random_pauses_come_back(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0x9fc), 0);
	for (uint32_t n = 0; n < 10000; n++) {
		struct fwd_pause pause = {(uint8_t)prng_u32(&p), {0}}, got;
		uint8_t frame[PFC_FRAME_BYTES];

		for (unsigned i = 0; i < 8; i++)
			if (pause.classes >> i & 1)
				pause.quanta[i] = (uint16_t)prng_u32(&p);
		fwd_pfc_put(frame, mac, &pause);
		assert_true(get_exact(frame, sizeof frame, sizeof frame, &got));
		check_same(&got, &pause);
	}
}

static void what_is_reserved_is_ignored(void **state)
{
	uint8_t frame[PFC_FRAME_BYTES + 4];
	struct fwd_pause got;

	(void)state;
	memset(frame, 0xee, sizeof frame);
	memcpy(frame, frame3, 34);
	frame[16] = 0xff; /* the upper half of the vector */
	frame[20] = 0x77; /* the time of priority 1, which is not enabled */
	assert_true(get_exact(frame, PFC_FRAME_BYTES, PFC_FRAME_BYTES, &got));
	check_same(&got, &pause3);
	/* Padding may be longer than needed, and need not be in memory. */
	assert_true(get_exact(frame, sizeof frame, sizeof frame, &got));
	check_same(&got, &pause3);
	assert_true(get_exact(frame, 34, PFC_FRAME_BYTES, &got));
	check_same(&got, &pause3);
}

static void truncated_frames_are_refused(void **state)
{
	struct fwd_pause got;

	(void)state;
	for (uint32_t n = 0; n < PFC_FRAME_BYTES; n++)
		assert_false(get_exact(frame3, n, n, &got));
	for (uint32_t n = 0; n < 34; n++)
		assert_false(get_exact(frame3, n, PFC_FRAME_BYTES, &got));
	assert_false(get_exact(frame3, 34, PFC_FRAME_BYTES - 1, &got));
}

/* One bit off in the address, the type or the opcode: a pause frame, another bridge protocol, data.
 */
static void other_frames_are_refused(void **state)
{
	struct fwd_pause got;

	(void)state;
	for (uint32_t bit = 0; bit < 16 * 8; bit++) {
		uint8_t frame[PFC_FRAME_BYTES];
		bool is_source = bit >= 6 * 8 && bit < 12 * 8;

		memcpy(frame, frame3, sizeof frame);
		frame[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		assert_int_equal(get_exact(frame, sizeof frame, sizeof frame, &got), is_source);
	}
	uint8_t tagged[PFC_FRAME_BYTES + 4] = {0};

	memcpy(tagged, frame3, 12);
	put_be32(tagged + 12, 0x81006000);
	memcpy(tagged + 16, frame3 + 12, PFC_FRAME_BYTES - 12);
	assert_false(get_exact(tagged, sizeof tagged, sizeof tagged, &got));
}

static void the_layout_is_printed_by_name(void **state)
{
	char text[256];
	struct pfc pfc;

	(void)state;
	pfc_get(frame3 + 14, &pfc);
	pfc_print(&pfc, (struct span){(uint8_t *)text, sizeof text});
	assert_string_equal(text, "pfc opcode=0x0101 enable=0x0089 time0=0xffff time1=0x0000 "
				  "time2=0x0000 time3=0x0000 time4=0x0000 time5=0x0000 "
				  "time6=0x0000 time7=0x1234");
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_frame_has_the_bytes_of_the_standard),
	cmocka_unit_test(every_time_has_its_place),
	cmocka_unit_test(random_pauses_come_back),
	cmocka_unit_test(what_is_reserved_is_ignored),
	cmocka_unit_test(truncated_frames_are_refused),
	cmocka_unit_test(other_frames_are_refused),
	cmocka_unit_test(the_layout_is_printed_by_name),
};

CHECK_MAIN(cases)
