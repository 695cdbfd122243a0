#define _GNU_SOURCE /* F_OFD_SETLK */

#include "control/dead.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "control/place.h"

/* Its owner alone may lock it for writing: a reader's lock on it is no sign of life. */
bool dead_is_alive(int fd)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool dead_remove(int directory, int fd, const char *name)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_SETLK, &lock))
		return false;
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
