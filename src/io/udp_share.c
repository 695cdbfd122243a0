/* Living with other processes of the same user on the same port.
 *
 * A tag is claimed by binding an abstract unix socket whose name has user, port, scope and tag in
 * it: the kernel gives a name to one socket at a time, and takes it back when the last process that
 * holds the socket is gone, however it ended. Over the same sockets travel the packets that the
 * kernel gave to the wrong process, and the answers of udp_survey.c, which has it give them to the
 * right one. Only messages from the same user are accepted, by the credentials that the kernel
 * itself attaches (unix(7), SO_PASSCRED).
 *
 * A forked child holds the same sockets as its parent, and so its tag. It may call udp_free, which
 * leaves the parent's side untouched, and nothing else; it opens a device of its own with udp_new.
 * Until it frees, executes another program (all sockets close then) or ends, the tag stays taken
 * and the port open, even when the parent is gone. */
#include "io/udp_inside.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

enum stray_kind {
	STRAY_PACKET,
	STRAY_ANSWER, /* a probe, that tag got; to nobody who did not probe */
};

/* In front of each packet in a message. Writer and reader are the same code on one machine; the
 * version of the layout is in the socket's name. */
struct stray {
	struct udp_addr from, to;
	uint16_t bytes, sport, label;
	uint8_t tos, ttl, id, kind, tag, unused[1];
};

static socklen_t tag_name(const struct udp_driver *u, unsigned tag, struct sockaddr_un *name)
{
	int len;

	memset(name, 0, sizeof *name);
	name->sun_family = AF_UNIX;
	/* A zero first byte makes it abstract (unix(7)). */
	len = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "weft-udp-1-%u-%u-%u-%u",
		       (unsigned)getuid(), (unsigned)u->cfg.port, (unsigned)u->cfg.scope, tag);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

int udp_share_open(struct udp_driver *u, char *error, size_t error_len)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	u->share.fd = fd;
	for (uint32_t i = 0; i < SHARE_WAITING; i++)
		u->share.out[i] = &u->share.pool[i];
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)))
		return udp_say(-errno, error, error_len,
			       "cannot open a local socket: %s; raise the limit on open files "
			       "(ulimit -n) if it is that",
			       strerror(errno));
	/* Of the owner's queue only the number of messages counts, not SO_RCVBUF (unix(7)). */
	udp_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, u->cfg.buffer_bytes);
	for (unsigned tag = 0; tag < UDP_TAGS; tag++) {
		struct sockaddr_un name;
		socklen_t len = tag_name(u, tag, &name);

		if (bind(fd, (struct sockaddr *)&name, len) == 0) {
			u->tag = (uint8_t)tag;
			return 0;
		}
		if (errno != EADDRINUSE)
			return udp_say(
				-errno, error, error_len,
				"cannot claim a number among the processes of this user: %s; "
				"a sandbox may forbid abstract unix sockets",
				strerror(errno));
	}
	return udp_say(-EBUSY, error, error_len,
		       "%u devices of this user already share UDP port %u: end one of their "
		       "processes, or choose another port",
		       UDP_TAGS, u->cfg.port);
}

void udp_share_close(struct udp_driver *u)
{
	if (u->share.fd >= 0)
		close(u->share.fd);
	if (u->share.push_fd >= 0)
		close(u->share.push_fd);
}

static void stop_pushing(struct udp_driver *u)
{
	struct udp_share *s = &u->share;

	epoll_ctl(u->epoll_fd, EPOLL_CTL_DEL, s->push_fd, NULL);
	s->is_pushing = false;
}

/* Connects anew even to the same tag: another process may have it now. Without such a socket the
 * message waits for the next call. */
static void start_pushing(struct udp_driver *u, uint8_t tag)
{
	struct udp_share *s = &u->share;
	struct epoll_event event = {.events = EPOLLOUT, .data.u32 = UDP_PUSH};
	struct sockaddr_un name;
	socklen_t len = tag_name(u, tag, &name);

	if (s->push_fd < 0) {
		s->push_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (s->push_fd < 0)
			return;
	}
	if (connect(s->push_fd, (struct sockaddr *)&name, len) ||
	    epoll_ctl(u->epoll_fd, EPOLL_CTL_ADD, s->push_fd, &event))
		return;
	s->push_tag = tag;
	s->is_pushing = true;
	s->is_open = false;
}

enum sent { SENT, FULL, GONE };

/* One owner is pushed to at a time; for others that are full the next call tries again. */
static enum sent send_out(struct udp_driver *u, const struct udp_message *m)
{
	struct udp_share *s = &u->share;
	bool is_pushed = s->is_pushing && s->push_tag == m->tag;
	struct sockaddr_un name;
	socklen_t len = tag_name(u, m->tag, &name);

	/* The kernel copies a message before it finds the queue full. */
	if (is_pushed && !s->is_open)
		return FULL;
	if (sendto(is_pushed ? s->push_fd : s->fd, m->bytes, m->len, MSG_DONTWAIT | MSG_NOSIGNAL,
		   (struct sockaddr *)&name, len) == (ssize_t)m->len)
		return SENT;
	if (errno != EAGAIN && errno != ENOBUFS)
		return GONE;
	if (is_pushed)
		stop_pushing(u);
	if (!s->is_pushing)
		start_pushing(u, m->tag);
	return FULL;
}

static bool waits(const struct udp_share *s, uint32_t n, uint8_t tag)
{
	for (uint32_t i = 0; i < n; i++)
		if (s->out[i]->tag == tag)
			return true;
	return false;
}

/* The owner's queue is short (net.unix.max_dgram_qlen): when it is full, what is here waits, and
 * collects what comes meanwhile. */
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
			u->count.drop_stray += m->n;
		} else if (m->n > 0) {
			u->count.rx_passed_on += m->n;
			udp_survey_want(u, m->local);
		}
	}
	s->n_out = kept;
	if (s->is_pushing && !waits(s, kept, s->push_tag))
		stop_pushing(u);
}

void udp_share_push(struct udp_driver *u)
{
	u->share.is_open = true;
	udp_share_flush(u);
}

/* Room for one more message to tag, if need be at the cost of the newest to the owner that has the
 * most waiting: one that stands still does not keep the others from theirs. */
static bool make_room(struct udp_driver *u, uint8_t tag)
{
	struct udp_share *s = &u->share;
	uint32_t waiting[UDP_TAGS] = {0}, newest = 0;
	struct udp_message *m;

	for (uint32_t i = 0; i < s->n_out; i++)
		waiting[s->out[i]->tag]++;
	for (uint32_t i = 0; i < s->n_out; i++)
		if (waiting[s->out[i]->tag] >= waiting[s->out[newest]->tag])
			newest = i;
	m = s->out[newest];
	if (waiting[tag] + 1 >= waiting[m->tag])
		return false;
	u->count.drop_stray += m->n;
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
		.id = run->id,
		.kind = (uint8_t)kind,
		.tag = u->tag,
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

void udp_share_pass(struct udp_driver *u, const struct udp_run *run, uint32_t len)
{
	if (!put_out(u, run, len, run->at[UDP_TAG_AT], STRAY_PACKET))
		u->count.drop_stray++;
}

void udp_share_answer(struct udp_driver *u, const struct udp_run *run, uint32_t len, uint8_t prober)
{
	put_out(u, run, len, prober, STRAY_ANSWER);
}

static bool is_of_this_user(struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		struct ucred cred;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS ||
		    c->cmsg_len < CMSG_LEN(sizeof cred))
			continue;
		memcpy(&cred, CMSG_DATA(c), sizeof cred);
		return cred.uid == getuid();
	}
	return false;
}

bool udp_share_read(struct udp_driver *u)
{
	struct udp_share *s = &u->share;
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov = {s->in, sizeof s->in};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof control,
	};
	ssize_t got = recvmsg(s->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	s->in_at = s->in_len = 0;
	if (got < 0)
		return false;
	u->count.rx_calls++;
	if (is_of_this_user(&msg) && !(msg.msg_flags & MSG_TRUNC))
		s->in_len = (uint32_t)got;
	return true;
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
			.peer = UDP_NO_HANDLE,
			.sport = stray.sport,
			.label = stray.label,
			.tos = stray.tos,
			.ttl = stray.ttl,
			.id = stray.id,
			.is_stray = true,
		};
		s->in_at += stray.bytes;
		if (stray.kind == STRAY_ANSWER) {
			udp_survey_on_answer(u, run, stray.bytes, stray.tag);
			continue;
		}
		if (local != UDP_NO_HANDLE && stray.bytes > 0) {
			udp_survey_want(u, local);
			return true;
		}
		u->count.rx++;
		u->count.drop_stray++;
	}
	s->in_at = s->in_len = 0;
	return false;
}
