/* Living with other processes of the same user on the same port.
 *
 * A tag is claimed by the name of a unix socket (claim.h) that has user, port, scope and tag in it.
 * Who has packets that the kernel gave to the wrong process, or answers of udp_survey.c, which has
 * it give them to the right one, connects to the tag and sends them.
 *
 * Anybody may bind a free name, and anybody may connect. So neither end trusts a name: each asks
 * the kernel for the effective user of the other (SO_PEERCRED, unix(7): who called connect, and who
 * called listen), before it sends or reads a byte, and has nothing to do with one that is not its
 * own, which is also the user without whom the kernel would not let them share an address. The
 * question is answered for the connection, not for the name: it stays true when the other end dies
 * and somebody else takes the name. Where strangers have plain names, owners of tags are found by
 * their names with an end, for which the kernel is asked now and then.
 *
 * A connection lasts while there is something in it that its owner did not read.
 *
 * A forked child holds the same sockets as its parent, and so its tag. It may call udp_free, which
 * leaves the parent's side untouched, and nothing else; it opens a device of its own with udp_new.
 * Until it frees, executes another program (all sockets close then) or ends, the tag stays taken
 * and the port open, even when the parent is gone. */
#include "io/udp_inside.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/claim.h"

enum {
	/* Numbers in the epoll set here; those below are of connections in from[]. */
	AT_CLAIM = DRIVER_TAGS,
	AT_TAGS, /* and up: a connection to a tag */

	/* Each of the others has one connection to us, and seldom a second that is at its end. */
	BACKLOG = 2 * DRIVER_TAGS,
	LINK_BYTES = 4 * STRAY_BYTES, /* that may wait in one; the kernel takes it times two */
	LOOK_NS = 50000000, /* between two questions who has a tag: a packet to nobody costs none */
	LOOK_SHARE = 20,    /* and looks at all names take no more than one part of so many */
	/* Whom the kernel names instead of a user that has no name in this user namespace
	 * (user_namespaces(7), /proc/sys/kernel/overflowuid). */
	UID_OF_UNKNOWN = 65534,
	NAME_TEXT = 64,
};

enum stray_kind {
	STRAY_PACKET,
	STRAY_ANSWER, /* a probe, that tag got; to nobody who did not probe */
};

/* In front of each packet in a message. Writer and reader are the same code on one machine; the
 * version of the layout is in the socket's name. */
struct stray {
	struct udp_addr from, to;
	uint16_t bytes, sport, label;
	uint8_t tos, ttl, kind, tag, has_endpoints, unused;
};

/* What stands before the tag in the names of all who may share an address (claim.h). */
static const char *name_of_all(const struct udp_driver *u, char text[NAME_TEXT])
{
	snprintf(text, NAME_TEXT, "weft-udp-2-%u-%u-%u", (unsigned)u->share.uid,
		 (unsigned)u->cfg.port, (unsigned)u->cfg.scope);
	return text;
}

/* Whether a user that the kernel names as uid is that one and no other. All the users that have no
 * name here have one in common; they are not here if the network is of this user namespace, since
 * only who rules over it could have entered. */
static bool is_distinct(uid_t uid)
{
	struct stat ours, owner;
	int net_fd, owner_fd = -1;
	bool is_same = false;

	if (uid != UID_OF_UNKNOWN)
		return true;
	net_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (net_fd >= 0)
		owner_fd = ioctl(net_fd, NS_GET_USERNS); /* ioctl_ns(2) */
	if (owner_fd >= 0)
		is_same = fstat(owner_fd, &owner) == 0 && stat("/proc/self/ns/user", &ours) == 0 &&
			  owner.st_dev == ours.st_dev && owner.st_ino == ours.st_ino;
	if (owner_fd >= 0)
		close(owner_fd);
	if (net_fd >= 0)
		close(net_fd);
	return is_same;
}

/* Of one connection, at either end. */
static bool is_of_this_user(const struct udp_share *s, int fd)
{
	struct ucred cred;
	socklen_t len = sizeof cred;

	return !s->is_alone && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	       cred.uid == s->uid;
}

/* By edges, so that a connection that cannot be had (EMFILE) does not keep us awake. */
static int await_claim(const struct udp_share *s, int how)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = AT_CLAIM};

	return epoll_ctl(s->fd, how, s->claim_fd, &event);
}

static int open_sockets(struct udp_driver *u)
{
	struct udp_share *s = &u->share;

	for (uint32_t i = 0; i < SHARE_WAITING; i++)
		s->out[i] = &s->pool[i];
	for (uint32_t i = 0; i < DRIVER_TAGS; i++)
		s->from[i] = -1;
	s->uid = geteuid();
	s->is_alone = !is_distinct(s->uid);
	s->fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	return 0;
}

int udp_share_open(struct udp_driver *u, char *error, size_t error_len)
{
	struct claim_wish wish = {.type = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC,
				  .is_in_order = u->cfg.is_tag_in_order,
				  .bits = u->carrier->tag_bits};
	struct udp_share *s = &u->share;
	char all[NAME_TEXT];
	int result = open_sockets(u);

	wish.all = name_of_all(u, all);
	if (result == 0)
		result = s->claim_fd = claim_tag(&wish, &u->tag);
	if (result >= 0)
		result = listen(s->claim_fd, BACKLOG) || await_claim(s, EPOLL_CTL_ADD) ? -errno : 0;
	if (result == 0)
		return 0;
	if (result == -EMFILE || result == -ENFILE || result == -ENOMEM || s->fd < 0)
		return say(result, error, error_len,
			   "cannot open a local socket: %s; raise the limit on open files "
			   "(ulimit -n) if it is that",
			   strerror(-result));
	if (result != -EBUSY)
		return say(result, error, error_len,
			   "cannot claim a number among the processes of this user: %s; "
			   "a sandbox may forbid abstract unix sockets",
			   strerror(-result));
	return say(-EBUSY, error, error_len,
		   "all %u numbers of devices that share UDP port %u are taken: end a process "
		   "that has one (`ss -xl` lists them as @weft-udp), or choose another port",
		   1u << u->carrier->tag_bits, u->cfg.port);
}

void udp_share_close(struct udp_driver *u)
{
	struct udp_share *s = &u->share;

	if (s->fd < 0)
		return;
	close(s->fd);
	if (s->claim_fd >= 0)
		close(s->claim_fd);
	for (uint32_t i = 0; i < DRIVER_TAGS; i++)
		if (s->from[i] >= 0)
			close(s->from[i]);
	for (uint32_t i = 0; i < s->n_to; i++)
		close(s->to[i].fd);
}

/* Whoever has something waiting is in the set; a forked child may hold the socket too, and then
 * closing it would not take it out. */
static void stop_waiting(struct udp_share *s, struct udp_link *link)
{
	if (link->is_full)
		epoll_ctl(s->fd, EPOLL_CTL_DEL, link->fd, NULL);
	link->is_full = false;
}

static void start_waiting(struct udp_share *s, struct udp_link *link)
{
	struct epoll_event event = {.events = EPOLLOUT, .data.u32 = AT_TAGS + link->tag};

	link->is_full = epoll_ctl(s->fd, EPOLL_CTL_ADD, link->fd, &event) == 0;
}

/* What is in it can still be read at the other end. */
static void end_link(struct udp_share *s, struct udp_link *link)
{
	stop_waiting(s, link);
	close(link->fd);
	*link = s->to[--s->n_to];
}

static struct udp_link *find_link(struct udp_share *s, uint8_t tag)
{
	for (uint32_t i = 0; i < s->n_to; i++)
		if (s->to[i].tag == tag)
			return &s->to[i];
	return NULL;
}

/* A connection to the owner of a tag under that name, who is of this user; -1: there is none. An
 * owner's queue of connections has room for all who share the address: one that is full is not of
 * our making. */
static int connect_to(const struct udp_driver *u, uint8_t tag, uint64_t end)
{
	struct sockaddr_un name;
	char all[NAME_TEXT];
	socklen_t len = claim_name(name_of_all(u, all), tag, end, &name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&name, len) == 0 && is_of_this_user(&u->share, fd))
		return fd;
	close(fd);
	return -1;
}

static nsec clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (nsec)t.tv_sec * 1000000000u + (nsec)t.tv_nsec;
}

/* Asks for the names with an end, unless that was just done: the kernel tells of every socket that
 * there is, and anybody may make many. */
static void look_for_ends(struct udp_driver *u)
{
	struct udp_share *s = &u->share;
	struct claim_held held;
	char all[NAME_TEXT];

	nsec began = clock_now();

	if (began < s->look_next)
		return;
	if (claim_look(name_of_all(u, all), 0, &held) == 0)
		memcpy(s->ends, held.ends, sizeof s->ends);
	nsec ended = clock_now(), pause = LOOK_SHARE * (ended - began);

	s->look_next = ended + (pause > LOOK_NS ? pause : LOOK_NS);
}

/* A connection to the owner of a tag; NULL: there is none. */
static struct udp_link *new_link(struct udp_driver *u, uint8_t tag)
{
	struct udp_share *s = &u->share;
	int fd = connect_to(u, tag, s->ends[tag]);

	if (fd < 0 && s->ends[tag])
		fd = connect_to(u, tag, 0);
	if (fd < 0) {
		look_for_ends(u);
		if (s->ends[tag])
			fd = connect_to(u, tag, s->ends[tag]);
	}
	if (fd < 0)
		return NULL;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){LINK_BYTES}, sizeof(int));
	if (s->n_to == SHARE_LINKS) {
		uint32_t idle = 0;

		/* A link is full for a message that waits, and of these there are fewer. */
		while (idle < SHARE_WAITING && s->to[idle].is_full)
			idle++;
		assert(!s->to[idle].is_full);
		end_link(s, &s->to[idle]);
	}
	s->to[s->n_to] = (struct udp_link){.fd = fd, .tag = tag};
	return &s->to[s->n_to++];
}

/* Random bytes name any tag, most of them nobody's. The kernel is asked of each once in LOOK_NS:
 * who forges packets does not make us ask for every one. */
bool udp_share_has_owner(struct udp_driver *u, uint8_t tag, nsec now)
{
	struct udp_share *s = &u->share;

	if (now >= s->look_at[tag]) {
		s->is_absent[tag] = !find_link(s, tag) && !new_link(u, tag);
		s->look_at[tag] = now + LOOK_NS;
	}
	return !s->is_absent[tag];
}

enum sent { SENT, FULL, GONE };

static enum sent send_out(struct udp_driver *u, const struct udp_message *m)
{
	struct udp_share *s = &u->share;
	struct udp_link *link = find_link(s, m->tag);

	if (link && link->is_full)
		return FULL;
	if (!link)
		link = new_link(u, m->tag);
	if (!link)
		return GONE;
	if (send(link->fd, m->bytes, m->len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)m->len)
		return SENT;
	if (errno != EAGAIN && errno != ENOBUFS)
		return GONE;
	start_waiting(s, link);
	return FULL;
}

static bool waits(const struct udp_share *s, uint32_t n, uint8_t tag)
{
	for (uint32_t i = 0; i < n; i++)
		if (s->out[i]->tag == tag)
			return true;
	return false;
}

/* One that was read to its end, or whose owner is gone, has no more to do: descriptors are the
 * application's. */
static void end_idle_links(struct udp_share *s)
{
	for (uint32_t i = s->n_to; i-- > 0;) {
		int unread = 0;

		if (!waits(s, s->n_out, s->to[i].tag) &&
		    (ioctl(s->to[i].fd, SIOCOUTQ, &unread) || unread == 0))
			end_link(s, &s->to[i]);
	}
}

/* When an owner has much to read, what is here waits, and collects what comes meanwhile. */
void udp_share_flush(struct udp_driver *u)
{
	struct udp_share *s = &u->share;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->n_out; i++) {
		struct udp_message *m = s->out[i];
		/* In order for each owner, and none waits for another. */
		enum sent sent = waits(s, kept, m->tag) ? FULL : send_out(u, m);

		if (sent == FULL) {
			s->out[i] = s->out[kept];
			s->out[kept++] = m;
		} else if (sent == GONE) {
			u->driver.count.drop_stray += m->n;
		} else if (m->n > 0) {
			u->driver.count.rx_passed_on += m->n;
			udp_survey_want(u, m->local);
		}
	}
	s->n_out = kept;
	end_idle_links(s);
}

/* Room for one more message to tag, if need be at the cost of the newest to the owner that has the
 * most waiting: one that stands still does not keep the others from theirs. */
static bool make_room(struct udp_driver *u, uint8_t tag)
{
	struct udp_share *s = &u->share;
	uint32_t waiting[DRIVER_TAGS] = {0}, newest = 0;
	struct udp_message *m;

	for (uint32_t i = 0; i < s->n_out; i++)
		waiting[s->out[i]->tag]++;
	for (uint32_t i = 0; i < s->n_out; i++)
		if (waiting[s->out[i]->tag] >= waiting[s->out[newest]->tag])
			newest = i;
	m = s->out[newest];
	if (waiting[tag] + 1 >= waiting[m->tag])
		return false;
	u->driver.count.drop_stray += m->n;
	s->n_out--;
	memmove(&s->out[newest], &s->out[newest + 1],
		(s->n_out - newest) * sizeof(struct udp_message *));
	s->out[s->n_out] = m;
	return true;
}

/* The message to tag that has room for so many bytes, NULL: none, and none can be had. */
static struct udp_message *message_for(struct udp_driver *u, uint8_t tag, uint32_t local,
				       size_t bytes)
{
	struct udp_share *s = &u->share;
	struct udp_message *m;

	for (uint32_t i = s->n_out; i-- > 0;) {
		m = s->out[i];
		if (m->tag != tag)
			continue;
		if (m->local == local && bytes <= STRAY_BYTES - m->len)
			return m;
		break;
	}
	if (s->n_out == SHARE_WAITING)
		udp_share_flush(u);
	if (s->n_out == SHARE_WAITING && !make_room(u, tag))
		return NULL;
	m = s->out[s->n_out++];
	m->tag = tag;
	m->local = local;
	m->len = m->n = 0;
	return m;
}

static bool put_out(struct udp_driver *u, const struct udp_run *run, uint32_t len, uint8_t owner,
		    enum stray_kind kind)
{
	struct stray stray = {
		.from = run->from,
		.to = u->locals[run->local].addr,
		.bytes = (uint16_t)len,
		.sport = run->sport,
		.label = run->label,
		.tos = run->tos,
		.ttl = run->ttl,
		.kind = (uint8_t)kind,
		.tag = u->tag,
		.has_endpoints = u->cfg.has_endpoints,
	};
	struct udp_message *m;

	if (len > STRAY_BYTES - sizeof stray)
		return false;
	m = message_for(u, owner, run->local, len + sizeof stray);
	if (!m)
		return false;
	memcpy(m->bytes + m->len, &stray, sizeof stray);
	memcpy(m->bytes + m->len + sizeof stray, run->at, len);
	m->len += (uint32_t)sizeof stray + len;
	m->n += kind == STRAY_PACKET;
	return true;
}

void udp_share_pass(struct udp_driver *u, const struct udp_run *run, uint32_t len, uint8_t owner)
{
	if (!put_out(u, run, len, owner, STRAY_PACKET))
		u->driver.count.drop_stray++;
}

void udp_share_answer(struct udp_driver *u, const struct udp_run *run, uint32_t len, uint8_t prober)
{
	put_out(u, run, len, prober, STRAY_ANSWER);
}

static void end_from(struct udp_share *s, uint32_t i)
{
	epoll_ctl(s->fd, EPOLL_CTL_DEL, s->from[i], NULL);
	close(s->from[i]);
	s->from[i] = -1;
}

static void read_from(struct udp_driver *u, uint32_t i)
{
	struct udp_share *s = &u->share;
	ssize_t got = recv(s->from[i], s->in, sizeof s->in, MSG_DONTWAIT | MSG_TRUNC);

	if (got <= 0) {
		if (got == 0 || errno != EAGAIN)
			end_from(s, i);
		return;
	}
	u->driver.count.rx_calls++;
	if ((size_t)got <= sizeof s->in)
		s->in_len = (uint32_t)got;
}

static void accept_from(struct udp_driver *u)
{
	struct udp_share *s = &u->share;
	struct epoll_event event = {.events = EPOLLIN};
	int fd = accept4(s->claim_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	uint32_t i = 0;

	if (fd < 0)
		return;
	await_claim(s, EPOLL_CTL_MOD); /* there may be more */
	while (i < DRIVER_TAGS && s->from[i] >= 0)
		i++;
	event.data.u32 = i;
	if (i == DRIVER_TAGS || !is_of_this_user(s, fd) ||
	    epoll_ctl(s->fd, EPOLL_CTL_ADD, fd, &event)) {
		close(fd);
		return;
	}
	s->from[i] = fd;
	read_from(u, i);
}

/* What was waiting goes with the flush at the end of udp_receive. */
static void on_room(struct udp_share *s, uint8_t tag)
{
	struct udp_link *link = find_link(s, tag);

	if (link)
		stop_waiting(s, link);
}

void udp_share_read(struct udp_driver *u)
{
	struct udp_share *s = &u->share;
	struct epoll_event event;

	s->in_at = s->in_len = 0;
	if (epoll_wait(s->fd, &event, 1, 0) != 1)
		return;
	if (event.data.u32 < DRIVER_TAGS)
		read_from(u, event.data.u32);
	else if (event.data.u32 == AT_CLAIM)
		accept_from(u);
	else
		on_room(s, (uint8_t)(event.data.u32 - AT_TAGS));
}

bool udp_share_next(struct udp_driver *u, struct udp_run *run)
{
	struct udp_share *s = &u->share;

	while (s->in_len - s->in_at >= sizeof(struct stray)) {
		struct stray stray;
		uint32_t local;

		memcpy(&stray, s->in + s->in_at, sizeof stray);
		s->in_at += sizeof stray;
		if (stray.bytes > s->in_len - s->in_at)
			break;
		local = udp_local_find(u, &stray.to);
		*run = (struct udp_run){
			.at = s->in + s->in_at,
			.left = stray.bytes,
			.segment = stray.bytes,
			.from = stray.from,
			.local = local,
			.peer = DRIVER_NO_HANDLE,
			.sport = stray.sport,
			.label = stray.label,
			.tos = stray.tos,
			.ttl = stray.ttl,
			.is_stray = true,
		};
		s->in_at += stray.bytes;
		if (stray.kind == STRAY_ANSWER) {
			udp_survey_on_answer(u, run, stray.bytes,
					     (struct udp_sharer){stray.tag, stray.has_endpoints});
			continue;
		}
		if (local != DRIVER_NO_HANDLE && stray.bytes > 0) {
			udp_survey_want(u, local);
			return true;
		}
		u->driver.count.rx++;
		u->driver.count.drop_stray++;
	}
	s->in_at = s->in_len = 0;
	return false;
}
