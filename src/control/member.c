#define _GNU_SOURCE /* F_OFD_SETLK, program_invocation_short_name */

#include "control/member.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "control/dead.h"
#include "control/member_file.h"
#include "control/place.h"

#define JOIN_TRIES 16u
#define SHOW_STEP  64u /* pairs that room is made for at a time */
_Static_assert(MEMBER_PAIRS % SHOW_STEP == 0, "the file ends behind the last step");

struct member {
	struct member_file *file;        /* mapped */
	struct member_shown_file *shown; /* as well; NULL: there was nothing to show yet */
	char name[PLACE_FILE_MAX], shown_name[PLACE_FILE_MAX];
	int directory, fd, shown_fd;
	uint32_t room; /* pairs whose pages are there */
	pid_t pid;
};

static bool lock_file(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* One try at a file of that name and mode that is ours and locked: its descriptor, or -EAGAIN:
 * another name is needed. */
static int make_file(const struct member *m, const char *name, mode_t mode)
{
	struct stat st;
	int fd = openat(m->directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	if (fd < 0)
		return errno == EEXIST ? -EAGAIN : -errno;
	/* Until it is locked it looks like that of a dead process, and somebody may be removing it:
	 * who does holds a lock meanwhile, or it has no name any more. */
	if (lock_file(fd) && fstat(fd, &st) == 0 && st.st_nlink > 0)
		return fd;
	unlinkat(m->directory, name, 0);
	close(fd);
	return -EAGAIN;
}

/* Makes the pages there for good that a part of the file takes: one that is missing when it is
 * written to would be a signal. 0 or an errno. */
static int reserve(int fd, size_t at, size_t len)
{
	int status = EINTR;

	for (uint32_t i = 0; i < JOIN_TRIES && status == EINTR; i++)
		status = posix_fallocate(fd, (off_t)at, (off_t)len);
	return status;
}

struct layout {
	mode_t mode;
	size_t size, reserved; /* bytes, of which the first so many are there for good */
};

/* Gives a file its mode and size, and maps it; NULL and errno. */
static void *map_file(int fd, struct layout l)
{
	struct rlimit most;
	void *at;

	/* Beyond it the kernel sends a signal, of which the program knows nothing. */
	if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < l.size) {
		errno = EFBIG;
		return NULL;
	}
	if (fchmod(fd, l.mode) || ftruncate(fd, (off_t)l.size))
		return NULL;
	errno = reserve(fd, 0, l.reserved);
	if (errno)
		return NULL;
	at = mmap(NULL, l.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

/* Wakes those who watch the directory. */
static void ring(struct member *m)
{
	const uint8_t byte = 1;
	ssize_t n = pwrite(m->fd, &byte, 1, (off_t)offsetof(struct member_file, about.bell));

	/* Nobody is told then; what was to be told is there to be read all the same. */
	(void)n;
}

static int join(struct member *m, const char *name, const char *device)
{
	const struct layout layout = {0644, sizeof *m->file, sizeof *m->file};
	int status = -EAGAIN;

	m->directory = place_open(name);
	if (m->directory < 0)
		return m->directory;
	for (uint32_t i = 0; i < JOIN_TRIES && status == -EAGAIN; i++) {
		status = place_file(m->name, name, PLACE_MEMBER);
		if (!status)
			status = m->fd = make_file(m, m->name, 0644);
	}
	if (m->fd < 0)
		return status;
	m->file = map_file(m->fd, layout);
	if (!m->file)
		return -errno;
	struct member_about *about = &m->file->about;

	m->pid = getpid();
	about->pid = m->pid;
	snprintf(about->device, sizeof about->device, "%s", device);
	snprintf(about->command, sizeof about->command, "%s", program_invocation_short_name);
	atomic_store(&m->file->magic, MEMBER_MAGIC);
	ring(m);
	dead_sweep(m->directory);
	return 0;
}

static void drop_shown(struct member *m)
{
	if (m->shown)
		munmap(m->shown, sizeof *m->shown);
	if (m->shown_fd >= 0)
		close(m->shown_fd);
	m->shown = NULL;
	m->shown_fd = -1;
	m->room = 0;
}

static void drop(struct member *m)
{
	drop_shown(m);
	if (m->file)
		munmap(m->file, sizeof *m->file);
	if (m->fd >= 0)
		close(m->fd);
	if (m->directory >= 0)
		close(m->directory);
	free(m);
}

struct member *member_join(const char *name, const char *device)
{
	struct member *m = calloc(1, sizeof *m);
	int status;

	if (!m)
		return NULL;
	m->directory = m->fd = m->shown_fd = -1;
	status = join(m, name, device);
	if (status == 0)
		return m;
	if (m->fd >= 0)
		unlinkat(m->directory, m->name, 0);
	drop(m);
	errno = -status;
	return NULL;
}

void member_leave(struct member *m)
{
	if (!m)
		return;
	/* A child of fork that forgot to abandon it does no harm. */
	if (getpid() == m->pid) {
		if (m->shown_fd >= 0)
			unlinkat(m->directory, m->shown_name, 0);
		unlinkat(m->directory, m->name, 0);
	}
	drop(m);
}

void member_abandon(struct member *m)
{
	/* Closed, not unlocked: the lock is the parent's too. */
	if (m)
		drop(m);
}

static void begin_writing(_Atomic uint64_t *sequence)
{
	uint64_t now = atomic_load_explicit(sequence, memory_order_relaxed);

	atomic_store_explicit(sequence, now + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void end_writing(_Atomic uint64_t *sequence)
{
	uint64_t now = atomic_load_explicit(sequence, memory_order_relaxed);

	atomic_store_explicit(sequence, now + 1, memory_order_release);
}

/* The place of a profile in use, or NULL. */
static struct member_used *find_used(struct member *m, enum control_kind kind, uint64_t id)
{
	for (uint32_t i = 0; i < MEMBER_USES; i++) {
		struct member_used *u = &m->file->uses[i];

		if (u->count > 0 && u->kind == kind && u->id == id)
			return u;
	}
	return NULL;
}

static struct member_used *find_free(struct member *m)
{
	for (uint32_t i = 0; i < MEMBER_USES; i++)
		if (m->file->uses[i].count == 0)
			return &m->file->uses[i];
	return NULL;
}

int member_use(struct member *m, enum control_kind kind, uint64_t id, int by)
{
	struct member_used *u = find_used(m, kind, id);
	int64_t count = (int64_t)by + (u ? u->count : 0);

	if (count < 0 || count > UINT32_MAX)
		return -EINVAL;
	if (!u && count > 0)
		u = find_free(m);
	if (!u)
		return count > 0 ? -ENOSPC : 0;
	begin_writing(&m->file->uses_sequence);
	if (u->count == 0)
		*u = (struct member_used){.id = id, .kind = kind};
	u->count = (uint32_t)count;
	end_writing(&m->file->uses_sequence);
	/* Before whatever the caller reads next: either it sees that a controller changed the
	 * profile, or the controller, who looks after its change, sees this. */
	atomic_thread_fence(memory_order_seq_cst);
	return 0;
}

void member_set_bad(struct member *m, uint64_t id, uint32_t ev, bool is_bad)
{
	struct member_used *u = find_used(m, CONTROL_EV, id);
	uint64_t bit = UINT64_C(1) << ev % 64;

	if (!u || ev >= CONTROL_EVS)
		return;
	begin_writing(&m->file->uses_sequence);
	if (is_bad)
		u->bad[ev / 64] |= bit;
	else
		u->bad[ev / 64] &= ~bit;
	end_writing(&m->file->uses_sequence);
}

void member_report(struct member *m, const struct control_event *event)
{
	struct member_counts *c = &m->file->events;
	uint64_t k = atomic_load_explicit(&c->reported, memory_order_relaxed);

	atomic_store_explicit(&c->begun, k + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	m->file->ring[k % MEMBER_EVENTS] = *event;
	atomic_store_explicit(&c->reported, k + 1, memory_order_release);
	ring(m);
}

/* Makes the private file, and tells those who may read it which one it is. Before, it has a name
 * that nobody could know: who cannot read it cannot be in its place either. */
static bool open_shown(struct member *m)
{
	const struct layout layout = {0600, sizeof *m->shown,
				      offsetof(struct member_shown_file, pairs)};
	uint64_t number = 0;

	if (m->shown)
		return true;
	m->shown_fd = -EAGAIN;
	for (uint32_t i = 0; i < JOIN_TRIES && m->shown_fd == -EAGAIN; i++)
		if (place_draw(&number) && !place_shown_file(m->shown_name, m->name, number))
			m->shown_fd = make_file(m, m->shown_name, layout.mode);
	m->shown = m->shown_fd < 0 ? NULL : map_file(m->shown_fd, layout);
	if (!m->shown) {
		if (m->shown_fd >= 0)
			unlinkat(m->directory, m->shown_name, 0);
		drop_shown(m);
		return false;
	}
	atomic_store(&m->shown->magic, MEMBER_SHOWN_MAGIC);
	atomic_store(&m->file->shown_in, number);
	return true;
}

void *member_trace(struct member *m)
{
	if (!open_shown(m) ||
	    reserve(m->shown_fd, offsetof(struct member_shown_file, trace), sizeof m->shown->trace))
		return NULL;
	/* Who follows traces begins with this one now. */
	ring(m);
	return m->shown->trace;
}

/* How many pairs there is room for, at most n: as far as the memory goes. */
static uint32_t make_room(struct member *m, uint32_t n)
{
	if (n > MEMBER_PAIRS)
		n = MEMBER_PAIRS;
	while (m->room < n) {
		if (reserve(m->shown_fd, offsetof(struct member_shown_file, pairs[m->room]),
			    SHOW_STEP * sizeof(struct member_pair)))
			return m->room;
		m->room += SHOW_STEP;
	}
	return n;
}

void member_show(struct member *m, const struct member_device *device,
		 const struct member_pair *pairs, uint32_t n)
{
	struct member_shown_file *f;

	/* Where there is no memory for it nobody is shown anything, until there is. */
	if (!open_shown(m))
		return;
	f = m->shown;
	n = make_room(m, n);
	begin_writing(&f->sequence);
	f->shown.device = *device;
	f->shown.n_pairs = n;
	if (n > 0)
		memcpy(f->pairs, pairs, n * sizeof *pairs);
	end_writing(&f->sequence);
}
