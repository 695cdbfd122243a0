/* io/osrandom.h: with the real kernel, and with a getrandom(2) that answers from a script. */
#include "check.h"
#include "io/osrandom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The script: what each call may deliver at most, or the error it ends with. Past its end, or with
 * none, the kernel answers. */
struct answer {
	size_t most;
	int error;
};

static const struct answer *script;
static size_t script_len, calls;

/* Stands before libc's in the link, so the code under test calls this one. */
ssize_t getrandom(void *buf, size_t n, unsigned flags)
{
	size_t call = calls++;

	assert_int_equal(flags, 0);
	if (call < script_len && script[call].error) {
		errno = script[call].error;
		return -1;
	}
	if (call < script_len && script[call].most < n)
		n = script[call].most;
	return syscall(SYS_getrandom, buf, n, flags);
}

static void play(const struct answer *answers, size_t n)
{
	script = answers;
	script_len = n;
	calls = 0;
}

/* Counts bytes still at the fill value: about n / 256 if all were drawn, all if none was. */
static size_t count_fill(const uint8_t *p, size_t n, uint8_t fill)
{
	size_t same = 0;

	for (size_t i = 0; i < n; i++)
		same += p[i] == fill;
	return same;
}

static void two_keys_differ(void **state)
{
	uint8_t a[32] = {0}, b[32] = {0};

	(void)state;
	play(NULL, 0);
	assert_int_equal(osrandom_key(a, sizeof a), 0);
	assert_int_equal(osrandom_key(b, sizeof b), 0);
	assert_memory_not_equal(a, b, sizeof a);
	assert_true(count_fill(a, sizeof a, 0) < 16);
}

static void no_bytes_need_no_place(void **state)
{
	uint8_t b = 0xa5;

	(void)state;
	play(NULL, 0);
	assert_int_equal(osrandom_key(NULL, 0), 0);
	assert_int_equal(osrandom_key(&b, 0), 0);
	assert_int_equal(b, 0xa5);
	assert_int_equal(calls, 0);
}

static void null_for_bytes_is_refused(void **state)
{
	(void)state;
	play(NULL, 0);
	assert_int_equal(osrandom_key(NULL, 1), -EINVAL);
	assert_int_equal(osrandom_key(NULL, SIZE_MAX), -EINVAL);
	assert_int_equal(calls, 0);
}

static void every_length_is_filled_and_no_more(void **state)
{
	(void)state;
	play(NULL, 0);
	for (size_t n = 1; n <= 300; n++) {
		uint8_t b[316];

		memset(b, 0xa5, sizeof b);
		assert_int_equal(osrandom_key(b + 8, n), 0);
		assert_int_equal(count_fill(b, 8, 0xa5), 8);
		assert_int_equal(count_fill(b + 8 + n, 8, 0xa5), 8);
		assert_true(n < 32 || count_fill(b + 8, n, 0xa5) < n / 4);
	}
}

static void a_megabyte_is_filled_to_its_end(void **state)
{
	const size_t n = 1 << 20, piece = 1024;
	uint8_t *b = calloc(1, n);

	(void)state;
	assert_non_null(b);
	play(NULL, 0);
	assert_int_equal(osrandom_key(b, n), 0);
	for (size_t at = 0; at < n; at += piece)
		assert_true(count_fill(b + at, piece, 0) < 64);
	free(b);
}

static void short_answers_are_continued(void **state)
{
	static const struct answer answers[] = {{1, 0}, {7, 0}, {256, 0}, {0, EINTR}, {3, 0}};
	uint8_t b[1040];

	(void)state;
	play(answers, 5);
	memset(b, 0, sizeof b);
	assert_int_equal(osrandom_key(b, 1024), 0);
	assert_int_equal(calls, 6);
	for (size_t at = 0; at < 1024; at += 128)
		assert_true(count_fill(b + at, 128, 0) < 32);
	assert_int_equal(count_fill(b + 1024, 16, 0), 16);
}

static void errors_are_returned(void **state)
{
	static const int errors[] = {ENOSYS, EFAULT, EAGAIN, EPERM};
	uint8_t b[16];

	(void)state;
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		const struct answer answers[] = {{4, 0}, {0, EINTR}, {0, errors[i]}};

		play(answers, 3);
		assert_int_equal(osrandom_key(b, sizeof b), -errors[i]);
		assert_int_equal(calls, 3);
	}
}

/* Signals without end must not hold the caller for ever, but any byte starts the count again. */
static void endless_signals_are_given_up(void **state)
{
	static struct answer answers[2 * OSRANDOM_TRIES];
	uint8_t b[16];

	(void)state;
	for (size_t i = 0; i < 2 * OSRANDOM_TRIES; i++)
		answers[i] = (struct answer){0, EINTR};
	play(answers, 2 * OSRANDOM_TRIES);
	assert_int_equal(osrandom_key(b, sizeof b), -EINTR);
	assert_int_equal(calls, OSRANDOM_TRIES);

	/* Not by signals alone: an answer of no bytes counts too. */
	for (size_t i = 0; i < OSRANDOM_TRIES; i++)
		answers[i] = (struct answer){0, 0};
	play(answers, OSRANDOM_TRIES);
	assert_int_equal(osrandom_key(b, sizeof b), -EINTR);

	for (size_t i = 0; i < 2 * OSRANDOM_TRIES; i++)
		answers[i] = (struct answer){0, EINTR};
	answers[OSRANDOM_TRIES - 1] = (struct answer){1, 0};
	play(answers, 2 * OSRANDOM_TRIES - 1);
	assert_int_equal(osrandom_key(b, sizeof b), 0);
	assert_int_equal(calls, 2 * OSRANDOM_TRIES);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(two_keys_differ),
	cmocka_unit_test(no_bytes_need_no_place),
	cmocka_unit_test(null_for_bytes_is_refused),
	cmocka_unit_test(every_length_is_filled_and_no_more),
	cmocka_unit_test(a_megabyte_is_filled_to_its_end),
	cmocka_unit_test(short_answers_are_continued),
	cmocka_unit_test(errors_are_returned),
	cmocka_unit_test(endless_signals_are_given_up),
};

CHECK_MAIN(cases)
