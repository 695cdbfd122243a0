#define _GNU_SOURCE /* secure_getenv(3), renameat2(2) */

#include "control/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "control/place.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

#define LOCK_TRIES  1000u   /* with a nap after each: some seconds */
#define LOCK_NAP_NS 5000000 /* 5 ms */
#define NEWS_READS  64u     /* of one call: what is left still makes the descriptor readable */

struct store {
	char name[STORE_NAME_MAX];
	int directory;
	int watch; /* inotify, or -1 */
	int lock;  /* or -1: not held */
};

static int find_namespace(uint64_t *id)
{
	socklen_t len = sizeof *id;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct stat st;

	if (fd >= 0) {
		int status = getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, id, &len);

		close(fd);
		if (status == 0)
			return 0;
	}
	/* Kernels before 5.14 have no cookie. */
	if (stat("/proc/self/ns/net", &st))
		return -errno;
	*id = st.st_ino;
	return 0;
}

int store_name(char name[STORE_NAME_MAX], const char (*interfaces)[IF_NAMESIZE], uint32_t n)
{
	uint64_t id = 0;
	int status = find_namespace(&id);
	size_t at;

	if (status)
		return status;
	if (n == 0)
		return -EINVAL;
	at = (size_t)snprintf(name, STORE_NAME_MAX, STORE_PREFIX "%" PRIx64 ".", id);
	for (uint32_t i = 0; i < n; i++) {
		size_t len = strnlen(interfaces[i], IF_NAMESIZE);

		if (len == 0 || len == IF_NAMESIZE || memchr(interfaces[i], '/', len))
			return -EINVAL;
		if (at + len + 2 > STORE_NAME_MAX)
			return -ENAMETOOLONG;
		at += (size_t)snprintf(name + at, STORE_NAME_MAX - at, "%s%s", i ? "+" : "",
				       interfaces[i]);
	}
	return 0;
}

int store_name_apart(char name[STORE_NAME_MAX], const char *kind,
		     const char (*interfaces)[IF_NAMESIZE], uint32_t n)
{
	int status = store_name(name, interfaces, n);
	size_t len = status ? 0 : strlen(name);

	if (status || len + 1 + strlen(kind) >= STORE_NAME_MAX)
		return status ? status : -ENAMETOOLONG;
	/* A character that no interface has in its name. */
	snprintf(name + len, STORE_NAME_MAX - len, ":%s", kind);
	return 0;
}

const char *store_directory(void)
{
	const char *said = secure_getenv("WEFT_STATE_DIR");

	return said && *said ? said : "/dev/shm";
}

/* Renames and removals tell of the state; the rest of processes (member.h). */
static int open_watch(void)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (fd >= 0 && inotify_add_watch(fd, store_directory(),
					 IN_MOVE | IN_CREATE | IN_DELETE | IN_MODIFY |
						 IN_CLOSE_WRITE | IN_ONLYDIR) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

struct store *store_open_quiet(const char *name)
{
	int directory = place_open(name);
	struct store *s;

	if (directory < 0) {
		errno = -directory;
		return NULL;
	}
	s = calloc(1, sizeof *s);
	if (!s) {
		close(directory);
		errno = ENOMEM;
		return NULL;
	}
	memcpy(s->name, name, strlen(name));
	s->directory = directory;
	s->lock = -1;
	s->watch = -1;
	return s;
}

struct store *store_open(const char *name)
{
	struct store *s = store_open_quiet(name);

	if (s)
		s->watch = open_watch();
	return s;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	store_end(s);
	if (s->watch >= 0)
		close(s->watch);
	close(s->directory);
	free(s);
}

/* Whether a file is one of those that count. Anybody may put something there first: a link, a
 * directory or the file of a user who is neither root nor ours is as nothing. */
static bool has_say(const struct stat *st)
{
	return S_ISREG(st->st_mode) && place_is_trusted(st->st_uid);
}

/* The same of what stands under a name: 1, 0: it does not count, or a negative errno. -ENOENT:
 * nothing stands there. */
static int judge(struct store *s, const char *file)
{
	struct stat st;

	if (fstatat(s->directory, file, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return has_say(&st);
}

static void remove_any(struct store *s, const char *file)
{
	if (unlinkat(s->directory, file, 0) && errno == EISDIR)
		unlinkat(s->directory, file, AT_REMOVEDIR);
}

/* Takes what was judged not to count from its name. A controller may have put its own there since,
 * so it is judged again under a name that nobody guesses, where nobody changes it; what counts is
 * put back, unless there is one again: then its holder finds out by store_commit. A directory that
 * is not empty stays aside. 0 or a negative errno. */
static int clear_name(struct store *s, const char *file)
{
	char aside[PLACE_FILE_MAX];
	int status = place_file(aside, s->name, PLACE_NEW);

	if (status)
		return status;
	if (renameat(s->directory, file, s->directory, aside))
		return errno == ENOENT ? 0 : -errno;
	if (judge(s, aside) != 1 ||
	    renameat2(s->directory, aside, s->directory, file, RENAME_NOREPLACE))
		remove_any(s, aside);
	return 0;
}

/* All of an open file, as one struct control. */
static struct control *read_open(int fd, size_t len)
{
	uint8_t *bytes = malloc(len ? len : 1);
	struct control *c = NULL;
	size_t at = 0;

	if (!bytes)
		return NULL;
	while (at < len) {
		ssize_t got = pread(fd, bytes + at, len - at, (off_t)at);

		if (got <= 0) {
			if (got == 0)
				errno = EBADMSG;
			break;
		}
		at += (size_t)got;
	}
	if (at == len)
		c = control_decode(bytes, len);
	int number = errno;

	free(bytes);
	errno = number;
	return c;
}

struct control *store_read(struct store *s)
{
	char file[PLACE_FILE_MAX];
	struct control *c = NULL;
	struct stat st;

	place_file(file, s->name, PLACE_STATE);
	int standing = judge(s, file);

	/* Judged before it is opened: a file of someone else might not even let us. */
	if (standing != 1)
		return standing == 0 || standing == -ENOENT ? control_new() : NULL;
	int fd = openat(s->directory, file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? control_new() : NULL;
	if (fstat(fd, &st) == 0) {
		if (!has_say(&st))
			c = control_new();
		else if (st.st_size > (off_t)CONTROL_BYTES)
			errno = EBADMSG;
		else
			c = read_open(fd, (size_t)st.st_size);
	}
	int number = errno;

	close(fd);
	errno = number;
	return c;
}

/* The lock file, made where it is missing: -EEXIST when another did so just now. Where everybody
 * may write, the kernel may refuse O_CREAT for a file of another user that is there
 * (fs.protected_regular), so it is asked for only when there is none. */
static int open_lock(struct store *s, const char *file)
{
	const int flags = O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(s->directory, file, flags);

	if (fd < 0 && errno == ENOENT)
		fd = openat(s->directory, file, flags | O_CREAT | O_EXCL, 0600);
	return fd < 0 ? -errno : fd;
}

/* Whether the file that is open is still the one of that name. */
static bool is_in_place(struct store *s, const char *file, const struct stat *open)
{
	struct stat named;

	return fstatat(s->directory, file, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_ino == open->st_ino && named.st_dev == open->st_dev;
}

/* Whether a lock file that could not be opened is another one by now than the one judged. */
static bool is_overtaken(int status)
{
	return status == -EEXIST || status == -ENOENT || status == -EISDIR || status == -ELOOP ||
	       status == -ENXIO;
}

/* One try: 0, -EAGAIN: not yet, or another negative errno. */
static int try_lock(struct store *s, const char *file)
{
	/* Before the lock is waited for: a stranger could hold his own for ever. */
	int status = judge(s, file) == 0 ? clear_name(s, file) : 0;
	struct stat st;

	if (status)
		return status;
	int fd = open_lock(s, file);

	if (fd < 0)
		return is_overtaken(fd) ? -EAGAIN : fd;
	if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &st)) {
		status = errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -errno;
	} else if (has_say(&st) && is_in_place(s, file, &st)) {
		s->lock = fd;
		return 0;
	} else {
		status = -EAGAIN;
	}
	close(fd);
	return status;
}

/* What controllers left that ended while they wrote: whoever holds the lock is the only one. */
static void remove_leftovers(struct store *s)
{
	DIR *list = place_list(s->directory);

	if (!list)
		return;
	for (const struct dirent *e; (e = readdir(list));)
		if (place_sort(s->name, e->d_name) == PLACE_NEW)
			remove_any(s, e->d_name);
	closedir(list);
}

int store_begin(struct store *s, struct control **c)
{
	const struct timespec nap = {.tv_nsec = LOCK_NAP_NS};
	char file[PLACE_FILE_MAX];
	int status = -EAGAIN;

	if (s->lock >= 0)
		return -EBUSY;
	place_file(file, s->name, PLACE_LOCK);
	for (uint32_t i = 0; i < LOCK_TRIES && status == -EAGAIN; i++) {
		if (i > 0)
			nanosleep(&nap, NULL);
		status = try_lock(s, file);
	}
	if (status)
		return status;
	remove_leftovers(s);
	*c = store_read(s);
	if (*c)
		return 0;
	status = -errno;
	store_end(s);
	return status;
}

static int write_bytes(int fd, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Gives the new state its name. Files, links and the like give way to it; a directory does not. */
static int put_in_place(struct store *s, const char *file)
{
	char state[PLACE_FILE_MAX];

	place_file(state, s->name, PLACE_STATE);
	if (renameat(s->directory, file, s->directory, state) == 0)
		return 0;
	int status = errno == EISDIR ? clear_name(s, state) : -errno;

	if (status == 0 && renameat(s->directory, file, s->directory, state))
		status = -errno;
	return status;
}

/* Writes a file under a new name, and renames it. */
static int replace(struct store *s, const void *bytes, size_t len)
{
	char file[PLACE_FILE_MAX];
	int status = place_file(file, s->name, PLACE_NEW);

	if (status)
		return status;
	int fd = openat(s->directory, file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	status = write_bytes(fd, bytes, len);
	/* For all to read, whatever the umask; and on a disk, before it has its name there. */
	if (status == 0 && (fchmod(fd, 0644) || fsync(fd)))
		status = -errno;
	close(fd);
	if (status == 0)
		status = put_in_place(s, file);
	if (status)
		unlinkat(s->directory, file, 0);
	return status;
}

/* Whether the lock that is held still excludes others. */
static bool is_lock_good(struct store *s)
{
	char file[PLACE_FILE_MAX];
	struct stat st;

	place_file(file, s->name, PLACE_LOCK);
	return fstat(s->lock, &st) == 0 && is_in_place(s, file, &st);
}

int store_commit(struct store *s, struct control *c)
{
	size_t len = 0;
	void *bytes;
	int status;

	if (s->lock < 0 || !control_is_whole(c))
		return -EINVAL;
	if (!is_lock_good(s))
		return -EAGAIN;
	c->generation++;
	bytes = control_encode(c, &len);
	status = bytes ? replace(s, bytes, len) : -ENOMEM;
	free(bytes);
	if (status)
		c->generation--;
	return status;
}

void store_end(struct store *s)
{
	if (s->lock < 0)
		return;
	/* A child of fork may have the file open too, and closing it here leaves it locked. */
	flock(s->lock, LOCK_UN);
	close(s->lock);
	s->lock = -1;
}

int store_fd(const struct store *s)
{
	return s->watch;
}

static uint32_t news_of(const struct store *s, const struct inotify_event *e)
{
	/* Too much happened to be told. */
	if (e->mask & IN_Q_OVERFLOW)
		return STORE_CHANGED | STORE_MEMBERS;
	if (e->len == 0)
		return 0;
	switch (place_sort(s->name, e->name)) {
	case PLACE_STATE: return STORE_CHANGED;
	case PLACE_MEMBER: return STORE_MEMBERS;
	default: return 0;
	}
}

uint32_t store_has_news(struct store *s)
{
	_Alignas(struct inotify_event) char buffer[16384];
	uint32_t news = 0;

	if (s->watch < 0)
		return 0;
	for (uint32_t i = 0; i < NEWS_READS; i++) {
		ssize_t len = read(s->watch, buffer, sizeof buffer);

		if (len <= 0)
			break;
		for (ssize_t at = 0; at < len;) {
			const struct inotify_event *e = (const void *)(buffer + at);

			news |= news_of(s, e);
			at += (ssize_t)(sizeof *e + e->len);
		}
	}
	return news;
}
