#include "nic/append.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nic/inside.h"

int append_open(const char *path, mode_t mode)
{
	const int how =
		O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = open(path, how, mode);
	bool is_private = !(mode & (S_IRWXG | S_IRWXO));
	struct stat st;

	if (fd < 0)
		return fd;
	bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

	if (is_file && (!is_private || st.st_uid == geteuid()))
		return fd;
	close(fd);
	errno = is_file ? EPERM : ENOTSUP;
	return -1;
}

int append_open_for(const char *variable, const char *path, mode_t mode)
{
	int fd = append_open(path, mode);

	if (fd < 0 && (errno == ELOOP || errno == ENOTSUP || errno == ENXIO))
		nic_fail(errno,
			 "%s=%s: is no regular file but a link, a pipe or a device; name the file "
			 "itself",
			 variable, path);
	else if (fd < 0 && errno == EPERM)
		nic_fail(errno, "%s=%s: is of another user, or may not be written", variable, path);
	else if (fd < 0)
		nic_fail(errno, "%s=%s: cannot be written: %s", variable, path, strerror(errno));
	return fd;
}
