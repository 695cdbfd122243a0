#define _GNU_SOURCE /* F_OFD_GETLK */

#include "control/members.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "control/dead.h"
#include "control/member_file.h"
#include "control/place.h"
#include "control/tail.h"
#include "path/profile.h"

#define MEMBERS_MAX 1024u
#define MEMBERS_OF  (MEMBERS_MAX / 2) /* one user who is neither root nor ours */
#define STRANGERS   (MEMBERS_MAX - MEMBERS_MAX / 8)
#define SPARE       16u /* descriptors that no stranger's file gets */
#define MAKING_S    5   /* for so long a file that is empty may be one in the making */
#define BATCH       64u /* events read at a time */

struct watched {
	struct member_who who;
	char name[PLACE_FILE_MAX];
	int fd;
	bool is_dead;
	bool is_broken; /* of the dead: no more can be read */
	struct tail at; /* its events */
	uint64_t end;   /* of the dead: no event from here on is its own */
};

struct members {
	char name[STORE_NAME_MAX];
	int directory;
	bool is_new; /* events of those found now are old */
	uint32_t n;
	uint32_t turn;    /* whose events are taken first */
	uint64_t n_found; /* ever */
	struct watched *list[MEMBERS_MAX];
};

#define READ_PART(fd, out, part) \
	tail_read(fd, out, offsetof(struct member_file, part), sizeof *(out))

/* A number that is being written may be read half old: it is right when it comes twice. */
static bool read_number(int fd, uint64_t *out, size_t at)
{
	uint64_t again;

	if (!tail_read(fd, out, at, sizeof *out))
		return false;
	for (uint32_t i = 0; i < MEMBER_TRIES; i++) {
		if (!tail_read(fd, &again, at, sizeof again))
			return false;
		if (again == *out)
			return true;
		*out = again;
	}
	return false;
}

#define READ_NUMBER(fd, out, part) read_number(fd, out, offsetof(struct member_file, part))
#define READ_SHOWN(fd, out, part)  read_number(fd, out, offsetof(struct member_shown_file, part))

/* Text of others ends up on terminals. */
static void clean(char *text, size_t room)
{
	text[room - 1] = '\0';
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

/* Fills in who it is; false: it is not ready, or no such file. */
static bool read_who(struct watched *w)
{
	struct member_about about;
	struct stat st;
	uint64_t magic;

	if (!READ_NUMBER(w->fd, &magic, magic) || magic != MEMBER_MAGIC ||
	    !READ_PART(w->fd, &about, about) || fstat(w->fd, &st))
		return false;
	w->who.pid = about.pid;
	w->who.uid = st.st_uid;
	clean(about.device, sizeof about.device);
	clean(about.command, sizeof about.command);
	memcpy(w->who.device, about.device, sizeof w->who.device);
	memcpy(w->who.command, about.command, sizeof w->who.command);
	return true;
}

/* What a process told it told while it lived: who has its file open may write it still. */
static void end_events(struct watched *w)
{
	w->is_dead = true;
	if (!READ_NUMBER(w->fd, &w->end, events.reported))
		w->end = 0;
}

/* Whether the file is that of a process to be watched: one that lives, and is ready, or that came
 * and ended unseen and may have told something. */
static bool is_member(struct members *m, struct watched *w)
{
	struct stat st;

	if (fstat(w->fd, &st) || !S_ISREG(st.st_mode))
		return false;
	if (!dead_is_alive(w->fd))
		end_events(w);
	/* Where its file stays it would be found again and again. */
	if (w->is_dead && (!dead_remove(m->directory, w->fd, w->name) || m->is_new))
		return false;
	return read_who(w) && (!m->is_new || READ_NUMBER(w->fd, &w->at.next, events.reported));
}

/* Whether one more of that user may be watched: no stranger, nor all of them, takes the places of
 * root and of our own user. */
static bool has_room(const struct members *m, uid_t owner)
{
	uint32_t of_user = 0, of_strangers = 0;

	if (place_is_trusted(owner))
		return m->n < MEMBERS_MAX;
	for (uint32_t i = 0; i < m->n; i++) {
		of_user += m->list[i]->who.uid == owner;
		of_strangers += !place_is_trusted(m->list[i]->who.uid);
	}
	return m->n < MEMBERS_MAX && of_user < MEMBERS_OF && of_strangers < STRANGERS;
}

/* Whether a new descriptor, the lowest that was free, is one of this process's last. */
static bool is_scarce(int fd)
{
	struct rlimit most;

	return getrlimit(RLIMIT_NOFILE, &most) == 0 && (rlim_t)fd + SPARE >= most.rlim_cur;
}

/* Watches a file if it is that of a process. 0, also when it is not, or a negative errno. */
static int watch(struct members *m, const char *name, bool is_strangers)
{
	struct watched *w = calloc(1, sizeof *w);

	if (!w)
		return -ENOMEM;
	memcpy(w->name, name, strnlen(name, sizeof w->name - 1));
	w->fd = openat(m->directory, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (w->fd >= 0 && !(is_strangers && is_scarce(w->fd)) && is_member(m, w)) {
		w->who.id = ++m->n_found;
		m->list[m->n++] = w;
		return 0;
	}
	int number = w->fd < 0 ? errno : 0;

	if (w->fd >= 0)
		close(w->fd);
	free(w);
	return number == EMFILE || number == ENFILE || number == ENOMEM ? -number : 0;
}

/* One that is just being made is empty and not locked yet: looking at it too closely would take it
 * from its owner, who will tell when it is done. */
static bool is_being_made(const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return st->st_size == 0 && now.tv_sec < st->st_mtim.tv_sec + MAKING_S;
}

/* 0, also when there is nothing to watch, or a negative errno: one of root's or of our own user's
 * must not be missed, while those of strangers are as many as there is room for. */
static int add(struct members *m, const char *name)
{
	struct stat st;

	if (fstatat(m->directory, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    is_being_made(&st))
		return 0;
	bool is_strangers = !place_is_trusted(st.st_uid);

	if (!has_room(m, st.st_uid))
		return is_strangers ? 0 : -ENOSPC;
	int status = watch(m, name, is_strangers);

	return is_strangers ? 0 : status;
}

static void forget(struct members *m, uint32_t i)
{
	close(m->list[i]->fd);
	free(m->list[i]);
	m->n--;
	for (; i < m->n; i++)
		m->list[i] = m->list[i + 1];
}

static bool is_known(const struct members *m, const char *name)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (!strcmp(m->list[i]->name, name))
			return true;
	return false;
}

/* Forgets the dead whose events are all read, or cannot be. */
static void bury(struct members *m)
{
	for (uint32_t i = m->n; i-- > 0;) {
		struct watched *w = m->list[i];

		if (!w->is_dead && !dead_is_alive(w->fd)) {
			end_events(w);
			dead_remove(m->directory, w->fd, w->name);
		}
		if (w->is_dead && (w->is_broken || w->end <= w->at.next))
			forget(m, i);
	}
}

int members_look(struct members *m)
{
	DIR *list = place_list(m->directory);
	int status = 0;

	if (!list)
		return -errno;
	bury(m);
	for (const struct dirent *e; (e = readdir(list)) && status == 0;)
		if (place_sort(m->name, e->d_name) == PLACE_MEMBER && !is_known(m, e->d_name))
			status = add(m, e->d_name);
	closedir(list);
	return status;
}

struct members *members_open(const char *name)
{
	int directory = place_open(name), status;
	struct members *m;

	if (directory < 0) {
		errno = -directory;
		return NULL;
	}
	m = calloc(1, sizeof *m);
	if (!m) {
		close(directory);
		errno = ENOMEM;
		return NULL;
	}
	memcpy(m->name, name, strlen(name));
	m->directory = directory;
	m->is_new = true;
	status = members_look(m);
	m->is_new = false;
	if (status == 0)
		return m;
	members_close(m);
	errno = -status;
	return NULL;
}

void members_close(struct members *m)
{
	if (!m)
		return;
	while (m->n > 0)
		forget(m, m->n - 1);
	close(m->directory);
	free(m);
}

static bool read_uses(const struct watched *w, struct member_used uses[MEMBER_USES])
{
	uint64_t before, after;

	for (uint32_t i = 0; i < MEMBER_TRIES; i++) {
		if (!READ_NUMBER(w->fd, &before, uses_sequence) ||
		    !tail_read(w->fd, uses, offsetof(struct member_file, uses),
			       MEMBER_USES * sizeof uses[0]) ||
		    !READ_NUMBER(w->fd, &after, uses_sequence))
			return false;
		if (before == after && before % 2 == 0)
			return true;
	}
	/* It was stopped while it wrote, or writes all the time: one number of many may be old. */
	return true;
}

/* What a process says of a profile that it uses; NULL: it does not. */
static const struct member_used *find_used(const struct watched *w, enum control_kind kind,
					   uint64_t id, struct member_used uses[MEMBER_USES])
{
	if (w->is_dead || !dead_is_alive(w->fd) || !read_uses(w, uses))
		return NULL;
	for (uint32_t i = 0; i < MEMBER_USES; i++)
		if (uses[i].count > 0 && uses[i].kind == (uint32_t)kind && uses[i].id == id)
			return &uses[i];
	return NULL;
}

uint32_t members_using_of(struct members *m, uint32_t i, enum control_kind kind, uint64_t id)
{
	struct member_used uses[MEMBER_USES];
	const struct member_used *u = i < m->n ? find_used(m->list[i], kind, id, uses) : NULL;

	return u ? u->count : 0;
}

uint32_t members_using(struct members *m, enum control_kind kind, uint64_t id)
{
	uint64_t n = 0;

	/* See member_use: what the caller wrote stands before what is read here. */
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < m->n; i++)
		n += members_using_of(m, i, kind, id);
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

bool members_find_bad(struct members *m, uint64_t id, uint32_t ev)
{
	struct member_used uses[MEMBER_USES];

	if (ev >= CONTROL_EVS)
		return false;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct member_used *u = find_used(m->list[i], CONTROL_EV, id, uses);

		if (u && u->bad[ev / 64] >> ev % 64 & 1)
			return true;
	}
	return false;
}

/* How many events a process has reported; false: it cannot be read. */
static bool read_reported(const struct watched *w, uint64_t *reported)
{
	*reported = w->end;
	return w->is_dead || READ_NUMBER(w->fd, reported, events.reported);
}

/* The oldest that may be there, once so many were begun. */
static uint64_t oldest_of(uint64_t begun)
{
	return begun > MEMBER_EVENTS ? begun - MEMBER_EVENTS : 0;
}

/* Reads the events from next on, at most *n, that lie one behind the other; *n of them, which may
 * be none, were not overwritten meanwhile. False: there are no more. */
static bool read_batch(struct watched *w, struct control_event *events, uint32_t *n)
{
	const struct tail_ring ring = {w->fd, offsetof(struct member_file, ring), sizeof *events,
				       MEMBER_EVENTS};
	uint64_t reported, begun;

	if (!read_reported(w, &reported) || reported <= w->at.next)
		return false;
	/* Whatever it says it told: no more than the ring holds is there. */
	tail_skip(&w->at, oldest_of(reported));
	if (!tail_take(&ring, &w->at, reported, events, n) ||
	    !READ_NUMBER(w->fd, &begun, events.begun)) {
		w->is_broken = w->is_dead;
		return false;
	}
	*n = tail_keep(&ring, &w->at, oldest_of(begun), events, *n);
	return true;
}

/* The next event of a process as its reader gets it; false: no process of ours tells such a thing.
 */
static bool pass_on(struct watched *w, const struct control_event *from, struct control_event *to)
{
	uint64_t lost = w->at.lost + from->n_lost;

	w->at.next++;
	if ((from->state != CONTROL_REPORT_GOOD && from->state != CONTROL_REPORT_BAD) ||
	    from->ev.port > PATH_PORTS) {
		w->at.lost++;
		return false;
	}
	*to = *from;
	/* Its byte there may be no bool at all. */
	to->ev.is_denied = false;
	to->n_lost = lost > UINT32_MAX ? UINT32_MAX : (uint32_t)lost;
	w->at.lost = 0;
	return true;
}

static uint32_t take_of(struct watched *w, struct control_event *events, uint32_t room)
{
	struct control_event ring[BATCH];
	uint32_t n = 0;

	/* Batches may come back empty from a process that tells faster than this reads. */
	for (uint32_t i = 0; i < MEMBER_TRIES + MEMBER_EVENTS / BATCH && n < room; i++) {
		uint32_t got = room - n < BATCH ? room - n : BATCH;

		if (!read_batch(w, ring, &got))
			break;
		for (uint32_t k = 0; k < got; k++)
			n += pass_on(w, &ring[k], &events[n]);
	}
	return n;
}

uint32_t members_take(struct members *m, struct control_event *events, uint32_t n)
{
	uint32_t got = 0;

	/* Each in its turn, or one that tells without end would leave no room for the others. */
	for (uint32_t i = 0; i < m->n && got < n; i++)
		got += take_of(m->list[m->turn++ % m->n], events + got, n - got);
	return got;
}

uint32_t members_n(const struct members *m)
{
	return m->n;
}

const struct member_who *members_who(const struct members *m, uint32_t i)
{
	return i < m->n ? &m->list[i]->who : NULL;
}

/* Opens the private file of a process: its descriptor or a negative errno. Its name is public: it
 * counts only as one of the same user. */
static int open_shown(const struct members *m, const struct watched *w)
{
	char file[PLACE_FILE_MAX];
	uint64_t number, magic;
	struct stat st;
	int fd;

	if (!READ_NUMBER(w->fd, &number, shown_in) || place_shown_file(file, w->name, number))
		return -ENODATA;
	if (number == 0)
		return geteuid() == 0 || geteuid() == w->who.uid ? -ENODATA : -EACCES;
	fd = openat(m->directory, file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? -ENODATA : -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == w->who.uid &&
	    READ_SHOWN(fd, &magic, magic) && magic == MEMBER_SHOWN_MAGIC)
		return fd;
	close(fd);
	return -ENODATA;
}

int members_open_shown(const struct members *m, uint32_t i)
{
	return i < m->n ? open_shown(m, m->list[i]) : -ENODATA;
}

/* What a process shows, once through: whole only if the sequence says so. */
static bool read_shown(int fd, struct member_shown *shown, struct member_pair *pairs, uint32_t room)
{
	if (!tail_read(fd, shown, offsetof(struct member_shown_file, shown), sizeof *shown))
		return false;
	if (shown->n_pairs > room)
		shown->n_pairs = room;
	return shown->n_pairs == 0 ||
	       tail_read(fd, pairs, offsetof(struct member_shown_file, pairs),
			 shown->n_pairs * sizeof *pairs);
}

/* As members_read, of an open file; shown->n_pairs of them. */
static int read_whole(int fd, struct member_shown *shown, struct member_pair *pairs, uint32_t room)
{
	uint64_t before, after;

	for (uint32_t k = 0; k < MEMBER_TRIES; k++) {
		if (!READ_SHOWN(fd, &before, sequence) || before == 0)
			return -ENODATA;
		bool is_read = read_shown(fd, shown, pairs, room);

		if (!READ_SHOWN(fd, &after, sequence))
			return -ENODATA;
		if (before == after && before % 2 == 0)
			return is_read ? 0 : -ENODATA;
	}
	return -EAGAIN;
}

static void clean_device(struct member_device *d)
{
	if (d->n_ports > MEMBER_PORTS)
		d->n_ports = MEMBER_PORTS;
	for (uint32_t i = 0; i < MEMBER_PORTS; i++)
		clean(d->port[i], sizeof d->port[i]);
	clean(d->driver, sizeof d->driver);
}

int members_read(struct members *m, uint32_t i, struct member_device *device,
		 struct member_pair *pairs, uint32_t room, uint32_t *n)
{
	struct member_shown shown;

	if (i >= m->n || m->list[i]->is_dead || !dead_is_alive(m->list[i]->fd))
		return -ENODATA;
	int fd = open_shown(m, m->list[i]);
	int status = fd < 0 ? fd : read_whole(fd, &shown, pairs, room);

	if (fd >= 0)
		close(fd);
	if (status)
		return status;
	clean_device(&shown.device);
	*device = shown.device;
	*n = shown.n_pairs;
	return 0;
}
