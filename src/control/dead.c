#define _GNU_SOURCE /* F_OFD_SETLK */

#include "control/dead.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "control/member_file.h"
#include "control/place.h"

/* Its owner alone may lock it for writing: a reader's lock on it is no sign of life. */
bool dead_is_alive(int fd)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static bool read_number(int fd, uint64_t *number, size_t at)
{
	return pread(fd, number, sizeof *number, (off_t)at) == (ssize_t)sizeof *number;
}

/* The private file that one names. What stands in a stranger's file may name that of a third: only
 * one of the same owner is its own. */
static void remove_shown(int directory, int fd, const char *name)
{
	struct stat ours, shown;
	char file[PLACE_FILE_MAX];
	uint64_t magic, number;

	if (!read_number(fd, &magic, offsetof(struct member_file, magic)) ||
	    magic != MEMBER_MAGIC ||
	    !read_number(fd, &number, offsetof(struct member_file, shown_in)) || number == 0 ||
	    place_shown_file(file, name, number))
		return;
	if (fstat(fd, &ours) == 0 && fstatat(directory, file, &shown, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(shown.st_mode) && shown.st_uid == ours.st_uid)
		unlinkat(directory, file, 0);
}

bool dead_remove(int directory, int fd, const char *name)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_SETLK, &lock))
		return false;
	remove_shown(directory, fd, name);
	bool is_removed = unlinkat(directory, name, 0) == 0;

	lock.l_type = F_UNLCK;
	fcntl(fd, F_OFD_SETLK, &lock);
	return is_removed;
}

/* A file that is ours to remove, and that nobody has written to for long. */
static bool is_stale(int directory, const char *file)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	return fstatat(directory, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == geteuid() && now.tv_sec > st.st_mtim.tv_sec + DEAD_STALE_S;
}

void dead_sweep(int directory)
{
	DIR *list = place_list(directory);
	uint32_t left = DEAD_SWEEP_MAX;

	if (!list)
		return;
	for (const struct dirent *e; left > 0 && (e = readdir(list));) {
		if (!place_is_member(e->d_name) || !is_stale(directory, e->d_name))
			continue;
		int fd = openat(directory, e->d_name,
				O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			continue;
		left -= dead_remove(directory, fd, e->d_name);
		close(fd);
	}
	closedir(list);
}
