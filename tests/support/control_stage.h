/* A directory of its own for the files of a device's control, and processes beside this one. */
#ifndef WEFT_TESTS_SUPPORT_CONTROL_STAGE_H
#define WEFT_TESTS_SUPPORT_CONTROL_STAGE_H

#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/store.h"

#define STAGE_NAME "weft.1.eth0+eth1"

static char stage_directory[64];

static inline int stage_up(void **state)
{
	(void)state;
	/* Memory where there is some: nothing here must wait for a disk. */
	snprintf(stage_directory, sizeof stage_directory, "%s/weft-test-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	return !mkdtemp(stage_directory) || setenv("WEFT_STATE_DIR", stage_directory, 1);
}

static inline const char *stage_path(const char *file)
{
	static char path[512];

	snprintf(path, sizeof path, "%s/%s", stage_directory, file);
	return path;
}

/* How many files there are whose name has that part; the last one's name, if there is room. */
static inline uint32_t stage_count(const char *part, char *name)
{
	DIR *list = opendir(stage_directory);
	uint32_t n = 0;

	assert_non_null(list);
	for (const struct dirent *e; (e = readdir(list));) {
		if (e->d_name[0] == '.' || !strstr(e->d_name, part))
			continue;
		if (name)
			snprintf(name, 256, "%s", e->d_name);
		n++;
	}
	closedir(list);
	return n;
}

static inline void stage_clear(void)
{
	DIR *list = opendir(stage_directory);

	assert_non_null(list);
	for (const struct dirent *e; (e = readdir(list));)
		unlinkat(dirfd(list), e->d_name, 0);
	closedir(list);
}

static inline int stage_down(void **state)
{
	(void)state;
	stage_clear();
	return rmdir(stage_directory);
}

static inline void stage_write(const char *file, const void *bytes, size_t len)
{
	int fd = open(stage_path(file), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

/* All bytes of a file, for free. */
static inline uint8_t *stage_read(const char *file, size_t *len)
{
	int fd = open(stage_path(file), O_RDONLY | O_CLOEXEC);
	struct stat st = {0};

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	uint8_t *bytes = malloc((size_t)st.st_size + 1);

	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*len = (size_t)st.st_size;
	return bytes;
}

/* Runs a function in a child, which ends with its answer. */
static inline pid_t stage_fork(int (*run)(void *context), void *context)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		/* Nor does it stay behind when the test fails. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(run(context));
	}
	return pid;
}

static inline int stage_wait(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

#endif
