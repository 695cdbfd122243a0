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
	struct member_file *file; /* mapped */
	char name[PLACE_FILE_MAX];
	int directory, fd;
	uint32_t room; /* pairs whose pages are there */
	pid_t pid;
};

static bool lock_file(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* One try at a file that is ours, locked and has its name: 0, -EAGAIN: another one is needed. */
static int make_file(struct member *m, const char *name)
{
	struct stat st;
	int status = place_file(m->name, name, PLACE_MEMBER);

	if (status)
		return status;
	m->fd = openat(m->directory, m->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (m->fd < 0)
		return errno == EEXIST ? -EAGAIN : -errno;
	/* Until it is locked it looks like that of a dead process, and somebody may be removing it:
	 * who does holds a lock meanwhile, or it has no name any more. */
	if (lock_file(m->fd) && fstat(m->fd, &st) == 0 && st.st_nlink > 0)
		return 0;
	unlinkat(m->directory, m->name, 0);
	close(m->fd);
	m->fd = -1;
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

static int map_file(struct member *m)
{
	struct rlimit most;
	int status;
	void *at;

	/* Beyond it the kernel sends a signal, of which the program knows nothing. */
	if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < sizeof(struct member_file))
		return -EFBIG;
	if (fchmod(m->fd, 0644) || ftruncate(m->fd, (off_t)sizeof(struct member_file)))
		return -errno;
	status = reserve(m->fd, 0, offsetof(struct member_file, pairs));
	if (status)
		return -status;
	at = mmap(NULL, sizeof(struct member_file), PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	m->file = at;
	return 0;
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
	int status = -EAGAIN;

	m->directory = place_open(name);
	if (m->directory < 0)
		return m->directory;
	for (uint32_t i = 0; i < JOIN_TRIES && status == -EAGAIN; i++)
		status = make_file(m, name);
	if (status == 0)
		status = map_file(m);
	if (status)
		return status;
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

static void drop(struct member *m)
{
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
	m->directory = m->fd = -1;
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
	if (getpid() == m->pid)
		unlinkat(m->directory, m->name, 0);
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

void member_set_bad(struct member *m, uint64_t id, uint32_t way, bool is_bad)
{
	struct member_used *u = find_used(m, CONTROL_EV, id);
	uint64_t bit = UINT64_C(1) << way % 64;

	if (!u || way >= CONTROL_EVS)
		return;
	begin_writing(&m->file->uses_sequence);
	if (is_bad)
		u->bad[way / 64] |= bit;
	else
		u->bad[way / 64] &= ~bit;
	end_writing(&m->file->uses_sequence);
}

void member_tell(struct member *m, const struct control_event *event)
{
	struct member_counts *c = &m->file->events;
	uint64_t k = atomic_load_explicit(&c->told, memory_order_relaxed);

	atomic_store_explicit(&c->begun, k + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	m->file->ring[k % MEMBER_EVENTS] = *event;
	atomic_store_explicit(&c->told, k + 1, memory_order_release);
	ring(m);
}

/* How many pairs there is room for, at most n: as far as the memory goes. */
static uint32_t make_room(struct member *m, uint32_t n)
{
	if (n > MEMBER_PAIRS)
		n = MEMBER_PAIRS;
	while (m->room < n) {
		if (reserve(m->fd, offsetof(struct member_file, pairs[m->room]),
			    SHOW_STEP * sizeof(struct member_pair)))
			return m->room;
		m->room += SHOW_STEP;
	}
	return n;
}

void member_show(struct member *m, const struct member_device *device,
		 const struct member_pair *pairs, uint32_t n)
{
	struct member_file *f = m->file;

	n = make_room(m, n);
	begin_writing(&f->show_sequence);
	f->shown.device = *device;
	f->shown.n_pairs = n;
	if (n > 0)
		memcpy(f->pairs, pairs, n * sizeof *pairs);
	end_writing(&f->show_sequence);
}
