/* config/config.h: what is no configuration file, whatever is in it. */
#include "isolate.h"

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "nic/nic.h"

#define R "[weft_rc0]\nports = eth0\n"

static struct config_error error;

/* Nobody writes to it, somebody who says nothing yet, or who has said something: nothing is read,
 * or what is in it would be missing for who is meant to have it. */
static void a_pipe_is_no_configuration(void **state)
{
	char path[] = "/tmp/weft-nic-setup-XXXXXX";
	struct config_file config;
	int fd = mkstemp(path), unread = 0;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	setenv("WEFT_CONFIG", path, 1);
	fd = -1;
	for (uint32_t round = 0; round < 3; round++) {
		if (round == 1)
			fd = open(path, O_RDWR | O_CLOEXEC);
		if (round == 2)
			assert_int_equal(write(fd, R, strlen(R)), strlen(R));
		assert_int_equal(config_find(&config, &error), -ENOTSUP);
		assert_null(config.text);
		assert_non_null(strstr(error.at, ": is a pipe, a socket or a disk; name a "
						 "regular file"));
	}
	assert_int_equal(ioctl(fd, FIONREAD, &unread), 0);
	assert_int_equal(unread, strlen(R));
	close(fd);
	unlink(path);
	setenv("WEFT_CONFIG", "/dev/null", 1);
}

/* Its size says enough: it is not read, however much memory there is. */
static void a_huge_file_is_no_configuration(void **state)
{
	char path[] = "/tmp/weft-nic-setup-XXXXXX";
	struct config_file config;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	setenv("WEFT_CONFIG", path, 1);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(config_find(&config, &error), 0);
	free(config.text);
	assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
	assert_int_equal(config_find(&config, &error), -EFBIG);
	assert_int_equal(ftruncate(fd, INT64_C(1) << 40), 0);
	assert_int_equal(config_find(&config, &error), -EFBIG);
	assert_null(config.text);
	close(fd);
	unlink(path);
	setenv("WEFT_CONFIG", "/dev/null", 1);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_pipe_is_no_configuration),
	cmocka_unit_test(a_huge_file_is_no_configuration),
};

ISOLATED_MAIN(cases)
