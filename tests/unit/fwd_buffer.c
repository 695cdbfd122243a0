#include "fwd/buffer.h"

#include "base/prng.h"
#include "check.h"

enum { DATA = 1, RETX = 2, FREE = 3, SHARED = 4 };

/* Class 0: a threshold of 1000 bytes, 1500 for one DSCP. Class 1: none. Class 2: half of what is
 * free; its DSCP's number says so. */
static struct fwd_qos table(void)
{
	struct fwd_qos qos = {.n_classes = 3};

	qos.classes[0].threshold_bytes = 1000;
	qos.dscps[RETX].threshold_bytes = 1500;
	qos.dscps[FREE].tclass = 1;
	qos.dscps[SHARED].tclass = 2;
	qos.classes[2].alpha_eighths = 4;
	return qos;
}

static enum fwd_admission ask(const struct fwd_qos *qos, uint8_t dscp, uint64_t total,
			      uint64_t used, uint32_t queue)
{
	struct fwd_buffer buffer = {total, used};

	return fwd_admit(qos, &buffer, queue, dscp, 100);
}

/* UE 4.1: the length of the packet itself does not count against a threshold. */
static void static_thresholds_are_exact_to_the_byte(void **state)
{
	struct fwd_qos qos = table();
	struct fwd_buffer unbounded = {0, 123456};

	(void)state;
	assert_int_equal(ask(&qos, DATA, 0, 0, 0), FWD_ADMIT);
	assert_int_equal(ask(&qos, DATA, 0, 0, 999), FWD_ADMIT);
	assert_int_equal(ask(&qos, DATA, 0, 0, 1000), FWD_OVER_THRESHOLD);
	assert_int_equal(ask(&qos, DATA, 0, 0, UINT32_MAX), FWD_OVER_THRESHOLD);
	assert_int_equal(ask(&qos, RETX, 0, 0, 1000), FWD_ADMIT);
	assert_int_equal(ask(&qos, RETX, 0, 0, 1499), FWD_ADMIT);
	assert_int_equal(ask(&qos, RETX, 0, 0, 1500), FWD_OVER_THRESHOLD);
	assert_int_equal(ask(&qos, FREE, 0, 0, UINT32_MAX), FWD_ADMIT);
	assert_int_equal(fwd_admit(&qos, &unbounded, 999, DATA, UINT32_MAX), FWD_ADMIT);
	/* A codepoint may also have less than its class. */
	qos.dscps[RETX].threshold_bytes = 1;
	assert_int_equal(ask(&qos, RETX, 0, 0, 0), FWD_ADMIT);
	assert_int_equal(ask(&qos, RETX, 0, 0, 1), FWD_OVER_THRESHOLD);
}

static void a_packet_must_fit_the_memory(void **state)
{
	struct fwd_qos qos = table();

	(void)state;
	assert_int_equal(ask(&qos, FREE, 1000, 900, 500), FWD_ADMIT);
	assert_int_equal(ask(&qos, FREE, 1000, 901, 500), FWD_NO_MEMORY);
	assert_int_equal(ask(&qos, FREE, 1000, 1000, 0), FWD_NO_MEMORY);
	assert_int_equal(ask(&qos, FREE, 99, 0, 0), FWD_NO_MEMORY);
	assert_int_equal(ask(&qos, FREE, 100, 0, 0), FWD_ADMIT);
	/* The threshold is asked first. */
	assert_int_equal(ask(&qos, DATA, 5000, 5000, 1000), FWD_OVER_THRESHOLD);
	assert_int_equal(ask(&qos, DATA, 5000, 5000, 999), FWD_NO_MEMORY);
	assert_int_equal(ask(&qos, DATA, UINT64_MAX, UINT64_MAX - 100, 999), FWD_ADMIT);
	assert_int_equal(ask(&qos, DATA, UINT64_MAX, UINT64_MAX - 99, 999), FWD_NO_MEMORY);
}

/* limit is the shortest queue that is refused: alpha / 8 of the free bytes, rounded up. */
static void shared_thresholds_are_exact_to_the_byte(void **state)
{
	static const struct {
		uint64_t total, used;
		uint32_t alpha, limit;
	} rows[] = {
		{10000, 0, 4, 5000},   {10000, 5000, 4, 2500},
		{10000, 9000, 4, 500}, {10000, 0, 8, 10000},
		{10000, 0, 64, 80000}, {10000, 1, 1, 1250},
		{10000, 9, 1, 1249},   {10000, 9800, 3, 75},
		{10000, 9799, 3, 76},  {34359738360, 0, 1, UINT32_MAX},
	};
	struct fwd_qos qos = table();

	(void)state;
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint64_t total = rows[i].total, used = rows[i].used;

		qos.classes[2].alpha_eighths = (uint16_t)rows[i].alpha;
		assert_int_equal(ask(&qos, SHARED, total, used, 0), FWD_ADMIT);
		assert_int_equal(ask(&qos, SHARED, total, used, rows[i].limit - 1), FWD_ADMIT);
		assert_int_equal(ask(&qos, SHARED, total, used, rows[i].limit), FWD_OVER_THRESHOLD);
		/* Without a buffer nothing is relative to it. */
		assert_int_equal(ask(&qos, SHARED, 0, 0, rows[i].limit), FWD_ADMIT);
	}
	/* 16 times 2^60 is 0 in 64 bits. */
	qos.classes[2].alpha_eighths = 16;
	assert_int_equal(ask(&qos, SHARED, UINT64_C(1) << 60, 0, UINT32_MAX), FWD_ADMIT);
	assert_int_equal(ask(&qos, SHARED, UINT64_MAX, 0, UINT32_MAX), FWD_ADMIT);
	assert_int_equal(ask(&qos, SHARED, 1000, 1000, 0), FWD_OVER_THRESHOLD);
}

static void the_lower_of_two_limits_holds(void **state)
{
	struct fwd_qos qos = table();

	(void)state;
	qos.classes[0].alpha_eighths = 8;
	assert_int_equal(ask(&qos, DATA, 10000, 9001, 998), FWD_ADMIT);
	assert_int_equal(ask(&qos, DATA, 10000, 9001, 999), FWD_OVER_THRESHOLD);
	assert_int_equal(ask(&qos, DATA, 10000, 8000, 999), FWD_ADMIT);
	assert_int_equal(ask(&qos, DATA, 10000, 8000, 1000), FWD_OVER_THRESHOLD);
	assert_int_equal(ask(&qos, RETX, 10000, 8800, 1199), FWD_ADMIT);
	assert_int_equal(ask(&qos, RETX, 10000, 8800, 1200), FWD_OVER_THRESHOLD);
}

/* Packets come and go at random, as one class's queue and as others' bytes: used never exceeds
 * total, and each answer is what the rule says. */
static void a_buffer_is_never_overrun(void **state)
{
	struct fwd_qos qos = table();
	struct fwd_buffer b = {50000, 0};
	uint32_t queue = 0, counts[3] = {0};
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0xb0f), 0);
	qos.classes[2].alpha_eighths = 9;
	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t packet = (uint32_t)prng_range(&p, 60, 9216);
		uint64_t room = b.total_bytes - b.used_bytes;
		enum fwd_admission want = queue >= (room * 9 + 7) / 8 ? FWD_OVER_THRESHOLD
					  : packet > room             ? FWD_NO_MEMORY
								      : FWD_ADMIT;
		enum fwd_admission got = fwd_admit(&qos, &b, queue, SHARED, packet);

		assert_int_equal(got, want);
		counts[got]++;
		if (got == FWD_ADMIT) {
			b.used_bytes += packet;
			queue += prng_chance(&p, 1, 8) ? packet : 0;
		} else {
			uint32_t gone = (uint32_t)prng_range(&p, 0, queue);

			queue -= gone;
			b.used_bytes -= gone + prng_range(&p, 0, b.used_bytes - gone - queue);
		}
		assert_true(b.used_bytes <= b.total_bytes);
	}
	assert_true(counts[FWD_ADMIT] > 1000 && counts[FWD_NO_MEMORY] > 1000);
	assert_true(counts[FWD_OVER_THRESHOLD] > 1000);
}

static void no_such_dscp(void *context)
{
	ask(context, FWD_DSCPS, 0, 0, 0);
}

static void overrun(void *context)
{
	ask(context, FREE, 1000, 1001, 0);
}

static void mistakes_abort(void **state)
{
	struct fwd_qos qos = table();

	(void)state;
	assert_true(check_aborts(no_such_dscp, &qos));
	assert_true(check_aborts(overrun, &qos));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(static_thresholds_are_exact_to_the_byte),
	cmocka_unit_test(a_packet_must_fit_the_memory),
	cmocka_unit_test(shared_thresholds_are_exact_to_the_byte),
	cmocka_unit_test(the_lower_of_two_limits_holds),
	cmocka_unit_test(a_buffer_is_never_overrun),
	cmocka_unit_test(mistakes_abort),
};

CHECK_MAIN(cases)
