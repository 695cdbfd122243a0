#include "nic/append.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nic/inside.h"

int append_open(const char *path, mode_t mode)
{
	const int how =
		O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = open(path, how, mode);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	errno = ENOTSUP;
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
	else if (fd < 0)
		nic_fail(errno, "%s=%s: cannot be written: %s", variable, path, strerror(errno));
	return fd;
}
