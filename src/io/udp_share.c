/* Living with other processes of the same user on the same port.
 *
 * A tag is claimed by binding an abstract unix socket whose name has user, port, scope and tag in
 * it: the kernel gives a name to one socket at a time, and takes it back when the last process that
 * holds the socket is gone, however it ended. Over the same sockets travel the packets that the
 * kernel gave to the wrong process: it keeps the sockets of one address in a list, moves the last
 * into the place of one that closes, and takes the tag for a place. Only packets from the same user
 * are accepted, by the credentials that the kernel itself attaches (unix(7), SO_PASSCRED).
 *
 * A forked child holds the same sockets as its parent, and so its tag. It may call udp_free, which
 * leaves the parent's side untouched, and nothing else; it opens a device of its own with udp_new.
 * Until it frees, executes another program (all sockets close then) or ends, the tag stays taken
 * and the port open, even when the parent is gone. */
#include "io/udp_inside.h"

#include <errno.h>
#include <linux/filter.h>
#include <stddef.h>
#include <sys/un.h>
#include <unistd.h>

/* In front of each packet in a message. Writer and reader are the same code on one machine; the
 * version of the layout is in the socket's name. */
struct stray {
	struct udp_addr from, to;
	uint16_t bytes, sport, label;
	uint8_t tos, ttl, id, unused[3];
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
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)))
		return udp_say(-errno, error, error_len,
			       "cannot open a local socket: %s; raise the limit on open files "
			       "(ulimit -n) if it is that",
			       strerror(errno));
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
}

/* The program sees the UDP payload. Its result is a place in the list of sockets; one past the end
 * makes the kernel choose by hash. */
int udp_share_steer(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, UDP_TAG_AT),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	struct sock_fprog prog = {sizeof code / sizeof code[0], code};

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof prog))
		return -errno;
	return 0;
}

/* The owner's queue is short (net.unix.max_dgram_qlen): when it is full, what is here waits for the
 * next call, and collects what comes meanwhile. is_last: it cannot wait. */
static void flush(struct udp_driver *u, bool is_last)
{
	struct udp_share *s = &u->share;
	struct sockaddr_un name;
	socklen_t len;

	if (s->out_n == 0)
		return;
	len = tag_name(u, s->out_tag, &name);
	if (sendto(s->fd, s->out, s->out_len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&name,
		   len) == (ssize_t)s->out_len)
		u->count.rx_passed_on += s->out_n;
	else if ((errno == EAGAIN || errno == ENOBUFS) && !is_last)
		return;
	else
		u->count.drop_stray += s->out_n;
	s->out_n = s->out_len = 0;
}

void udp_share_flush(struct udp_driver *u)
{
	flush(u, false);
}

void udp_share_pass(struct udp_driver *u, const struct udp_run *run, uint32_t len)
{
	struct udp_share *s = &u->share;
	struct stray stray = {
		.from = run->from,
		.to = u->locals[run->local].addr,
		.bytes = (uint16_t)len,
		.sport = run->sport,
		.label = run->label,
		.tos = run->tos,
		.ttl = run->ttl,
		.id = run->id,
	};

	if (len > STRAY_BYTES - sizeof stray) {
		u->count.drop_stray++;
		return;
	}
	if (s->out_n &&
	    (s->out_tag != run->at[UDP_TAG_AT] || len + sizeof stray > STRAY_BYTES - s->out_len))
		flush(u, true);
	s->out_tag = run->at[UDP_TAG_AT];
	memcpy(s->out + s->out_len, &stray, sizeof stray);
	memcpy(s->out + s->out_len + sizeof stray, run->at, len);
	s->out_len += (uint32_t)sizeof stray + len;
	s->out_n++;
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
		if (local != UDP_NO_HANDLE && stray.bytes > 0)
			return true;
		u->count.rx++;
		u->count.drop_stray++;
	}
	s->in_at = s->in_len = 0;
	return false;
}
