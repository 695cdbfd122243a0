#include "control/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "control/member_file.h"

#define RANDOM_DIGITS 16u

static bool is_random(const char *s)
{
	return strspn(s, "0123456789abcdef") == RANDOM_DIGITS && s[RANDOM_DIGITS] == '\0';
}

/* PID.RANDOM */
static bool is_member_end(const char *s)
{
	size_t digits = strspn(s, "0123456789");

	return digits > 0 && s[digits] == '.' && is_random(s + digits + 1);
}

bool place_is_member(const char *file)
{
	char copy[PLACE_FILE_MAX];
	const size_t end = strlen(MEMBER_SHOWN_END);
	size_t len = strnlen(file, sizeof copy - 1);

	memcpy(copy, file, len);
	if (len > end && !strncmp(file + len - end, MEMBER_SHOWN_END, end))
		len -= end;
	copy[len] = '\0';
	file = copy;
	const char *random = strrchr(file, '.'), *pid = random;

	if (!random || strncmp(file, STORE_PREFIX, strlen(STORE_PREFIX)) != 0)
		return false;
	while (pid > file && pid[-1] != '.')
		pid--;
	return is_member_end(pid);
}

enum place_kind place_sort(const char *name, const char *file)
{
	size_t len = strlen(name);

	if (strncmp(file, name, len) != 0 || file[len] != '.')
		return PLACE_OTHER;
	file += len + 1;
	if (!strcmp(file, "state"))
		return PLACE_STATE;
	if (!strcmp(file, "lock"))
		return PLACE_LOCK;
	if (!strncmp(file, "new.", 4))
		return is_random(file + 4) ? PLACE_NEW : PLACE_OTHER;
	/* An interface may have dots and numbers in its name, as those of VLANs do: only what has
	 * no more parts than these is of this device. */
	return is_member_end(file) ? PLACE_MEMBER : PLACE_OTHER;
}

bool place_draw(uint64_t *number)
{
	return getrandom(number, sizeof *number, 0) == (ssize_t)sizeof *number && *number != 0;
}

int place_shown_file(char file[PLACE_FILE_MAX], const char *member, uint64_t number)
{
	size_t len = strlen(member);

	if (len < RANDOM_DIGITS || len + strlen(MEMBER_SHOWN_END) >= PLACE_FILE_MAX)
		return -ENAMETOOLONG;
	snprintf(file, PLACE_FILE_MAX, "%.*s%016" PRIx64 "%s", (int)(len - RANDOM_DIGITS), member,
		 number, MEMBER_SHOWN_END);
	return 0;
}

int place_file(char file[PLACE_FILE_MAX], const char *name, enum place_kind kind)
{
	uint64_t random;

	if (kind == PLACE_STATE || kind == PLACE_LOCK) {
		snprintf(file, PLACE_FILE_MAX, "%s.%s", name,
			 kind == PLACE_STATE ? "state" : "lock");
		return 0;
	}
	if (!place_draw(&random))
		return -EAGAIN;
	if (kind == PLACE_NEW)
		snprintf(file, PLACE_FILE_MAX, "%s.new.%016" PRIx64, name, random);
	else
		snprintf(file, PLACE_FILE_MAX, "%s.%d.%016" PRIx64, name, getpid(), random);
	return 0;
}

int place_open(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len >= STORE_NAME_MAX || strchr(name, '/'))
		return -EINVAL;
	int fd = open(store_directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

DIR *place_list(int directory)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !list) {
		int number = errno;

		close(fd);
		errno = number;
	}
	return list;
}

bool place_is_trusted(uid_t owner)
{
	return owner == 0 || owner == geteuid();
}
