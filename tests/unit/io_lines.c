/* io/lines.h: text comes out whole and in order, however long, and what is lost is told. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/lines.h"

static void text_comes_out_in_order(void **state)
{
	static const size_t sizes[] = {1, LINES_BYTES - 1, 1, 7, 2 * LINES_BYTES + 3, 5, 0, 40};
	char path[] = "/tmp/weft-lines.XXXXXX";
	struct lines l = {.fd = mkstemp(path)};
	char *text = malloc(3 * LINES_BYTES), *got = malloc(8 * LINES_BYTES);
	size_t sum = 0, at = 0;

	(void)state;
	assert_true(l.fd >= 0 && text && got);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; sum += sizes[i++]) {
		memset(text, 'a' + (int)i, sizes[i]);
		lines_put(&l, text, sizes[i]);
	}
	assert_true((size_t)lseek(l.fd, 0, SEEK_END) < sum);
	lines_flush(&l);
	lines_flush(&l);
	assert_int_equal(l.error, 0);
	assert_int_equal(pread(l.fd, got, 8 * LINES_BYTES, 0), sum);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(got[at++], 'a' + (int)i);
	close(l.fd);
	unlink(path);
	free(text);
	free(got);
}

static void the_first_loss_is_told(void **state)
{
	struct lines l = {.fd = open("/dev/full", O_WRONLY | O_CLOEXEC)};
	char text[LINES_BYTES] = {0};

	(void)state;
	assert_true(l.fd >= 0);
	lines_put(&l, text, sizeof text);
	assert_int_equal(l.error, 0);
	lines_flush(&l);
	assert_int_equal(l.error, ENOSPC);
	close(l.fd);
	lines_put(&l, text, 1);
	lines_flush(&l);
	assert_int_equal(l.error, ENOSPC);
	assert_int_equal(l.len, 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(text_comes_out_in_order),
	cmocka_unit_test(the_first_loss_is_told),
};
CHECK_MAIN(cases)
