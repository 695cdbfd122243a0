#include "io/udp_inside.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/carried.h"
#include "io/osrandom.h"

enum {
	SOURCE_PORT_FIRST = 49152, /* dynamic ports (RFC 6335); what RoCEv2 devices use too */
	SOURCE_PORTS = 16384,
	SOURCE_TRIES = 64,
	SHORT_PKTS = 4096, /* for which descriptors stay as short as they were */
};

bool udp_addr_of(const struct sockaddr *name, struct udp_addr *addr)
{
	*addr = (struct udp_addr){.family = name->sa_family};
	if (name->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, name, sizeof in);
		memcpy(addr->ip, &in.sin_addr, 4);
		return true;
	}
	if (name->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, name, sizeof in6);
		memcpy(addr->ip, &in6.sin6_addr, 16);
		if (IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr))
			addr->scope = in6.sin6_scope_id;
		return !IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr);
	}
	return false;
}

socklen_t udp_name_of(const struct udp_addr *addr, uint16_t port, union udp_name *name)
{
	memset(name, 0, sizeof *name);
	if (addr->family == AF_INET) {
		name->v4.sin_family = AF_INET;
		name->v4.sin_port = htons(port);
		memcpy(&name->v4.sin_addr, addr->ip, 4);
		return sizeof name->v4;
	}
	name->v6.sin6_family = AF_INET6;
	name->v6.sin6_port = htons(port);
	name->v6.sin6_scope_id = addr->scope;
	memcpy(&name->v6.sin6_addr, addr->ip, 16);
	return sizeof name->v6;
}

const char *udp_addr_text(const struct udp_addr *addr, char *text)
{
	inet_ntop((int)addr->family, addr->ip, text, UDP_ADDR_TEXT);
	return text;
}

uint32_t udp_local_find(const struct udp_driver *u, const struct udp_addr *addr)
{
	for (uint32_t i = 0; i < u->cfg.max_locals; i++)
		if (u->locals[i].refs && udp_addr_equal(&u->locals[i].addr, addr))
			return i;
	return DRIVER_NO_HANDLE;
}

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof value);
}

/* What the kernel grants without privilege is bounded by net.core.rmem_max and wmem_max. */
void udp_buffer(int fd, int force, int option, uint32_t bytes)
{
	int value = bytes > INT32_MAX ? INT32_MAX : (int)bytes;

	if (set(fd, SOL_SOCKET, force, value))
		set(fd, SOL_SOCKET, option, value);
}

/* Fragments are never made: DF is what makes the identification predictable over IPv4, and a
 * packet that does not fit shall be refused here instead of arriving in pieces. */
int udp_socket(const struct udp_driver *u, uint32_t family)
{
	int fd = socket((int)family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (family == AF_INET) {
		set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
		set(fd, IPPROTO_IP, IP_TTL, u->cfg.hop_limit);
	} else {
		set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
		set(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1);
		set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, u->cfg.hop_limit);
	}
	udp_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, u->cfg.buffer_bytes);
	return fd;
}

/* A kernel without offload would take the request for one for noise, and send one large packet. */
static void probe_source(struct udp_source *s, const struct udp_driver *u, uint32_t family)
{
	int value;
	socklen_t len = sizeof value;

	s->has_offload = !u->cfg.is_offload_off &&
			 getsockopt(s->fd, IPPROTO_UDP, UDP_SEGMENT, &value, &len) == 0;
	/* Labels need no lease while nobody on the machine holds one exclusively (Linux 5.3). */
	s->has_label = family == AF_INET6 && setsockopt(s->fd, IPPROTO_IPV6, IPV6_FLOWINFO_SEND,
							&(int){1}, sizeof(int)) == 0;
}

/* Nobody reads here; packets sent to such a port shall not fill its buffer. */
static void refuse_all(int fd)
{
	struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog prog = {1, &none};

	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof prog);
}

/* At port `first`, or at the next dynamic one that is free. */
static int open_source(struct udp_driver *u, const struct udp_local *l, struct udp_source *s,
		       uint16_t first)
{
	union udp_name name;
	socklen_t len = 0;
	int fd = udp_socket(u, l->addr.family), bound = -1;

	if (fd < 0)
		return -1;
	for (unsigned i = 0; bound && i < SOURCE_TRIES; i++) {
		s->port = first;
		if (i > 0 || first == 0)
			s->port = (uint16_t)(SOURCE_PORT_FIRST + (first + i) % SOURCE_PORTS);
		len = udp_name_of(&l->addr, s->port, &name);
		bound = bind(fd, &name.any, len);
		if (bound && errno != EADDRINUSE && errno != EACCES)
			break;
	}
	if (bound) {
		close(fd);
		return -1;
	}
	refuse_all(fd);
	s->fd = fd;
	s->wanted = first;
	probe_source(s, u, l->addr.family);
	return 0;
}

/* The place of the source that a port was wanted for, a free one, or one to be shared. */
static struct udp_source *place_of(struct udp_local *l, uint32_t n, uint32_t from, uint16_t wanted)
{
	for (uint32_t i = 0; i < n; i++) {
		struct udp_source *s = &l->sources[(from + i) % n];

		if (s->fd < 0 || s->wanted == wanted)
			return s;
	}
	return &l->sources[from % n];
}

/* One that is open; NULL: none is. */
static struct udp_source *any_source(struct udp_local *l, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (l->sources[i].fd >= 0)
			return &l->sources[i];
	return NULL;
}

/* Whether a new descriptor, the lowest that was free, is one of this process's last. */
static bool is_scarce(int fd)
{
	struct rlimit most;

	return getrlimit(RLIMIT_NOFILE, &most) == 0 && (rlim_t)fd + UDP_SPARE_FDS >= most.rlim_cur;
}

/* Opens a source, or takes another where descriptors are short; after a while there may be more. */
static struct udp_source *new_source(struct udp_driver *u, struct udp_local *l,
				     struct udp_source *s, uint16_t first)
{
	struct udp_source *other = any_source(l, u->cfg.sources);

	if (other && u->n_short > 0) {
		u->n_short--;
		return other;
	}
	if (open_source(u, l, s, first))
		return other;
	if (!other || !is_scarce(s->fd))
		return s;
	close(s->fd);
	s->fd = -1;
	u->n_short = SHORT_PKTS;
	return other;
}

/* With one source the receiving socket sends too: its port is right, and a group of sockets that
 * share it by SO_REUSEPORT is no hindrance, since answers are steered by queue pair and not by who
 * sent. With several, each has a port of its own, shared with nobody: a port is the entropy that
 * spreads packets over the paths of a fabric, and one shared between processes would tie theirs
 * together. */
struct udp_source *udp_source_of(struct udp_driver *u, uint32_t local, uint32_t ev)
{
	struct udp_local *l = &u->locals[local];
	uint32_t mixed = ev * UINT32_C(0x9e3779b1) >> 16;
	struct udp_source *s = &l->sources[mixed % u->cfg.sources];
	uint16_t first = (uint16_t)(ev >> 16);

	if (u->cfg.has_ports_of_ev)
		s = place_of(l, u->cfg.sources, mixed, first);
	if (s->fd >= 0)
		return s;
	if (!u->cfg.has_ports_of_ev) {
		osrandom_key((uint8_t *)&first, sizeof first);
		first = (uint16_t)(SOURCE_PORT_FIRST + first % SOURCE_PORTS);
	}
	return new_source(u, l, s, first);
}

static int refused(const struct udp_driver *u, int number, const struct udp_addr *addr, char *error,
		   size_t error_len)
{
	char text[UDP_ADDR_TEXT];

	udp_addr_text(addr, text);
	if (number == EADDRINUSE)
		return say(-number, error, error_len,
			   "UDP port %u of %s is in use by another user or another program: "
			   "end that one, or choose another address or port",
			   u->cfg.port, text);
	if (number == EADDRNOTAVAIL)
		return say(-number, error, error_len,
			   "%s is not an address of this machine (in this network namespace): "
			   "`ip address` lists those that are",
			   text);
	if (number == EACCES || number == EPERM)
		return say(-number, error, error_len,
			   "not permitted to receive on UDP port %u of %s: ports below "
			   "net.ipv4.ip_unprivileged_port_start need CAP_NET_BIND_SERVICE, "
			   "and a sandbox may forbid sockets; choose another port or allow it",
			   u->cfg.port, text);
	if (number == ENODEV || number == EINVAL)
		return say(-number, error, error_len,
			   "%s cannot be opened (%s): a link-local address needs the interface "
			   "it belongs to, as in fe80::1%%eth0",
			   text, strerror(number));
	return say(-number, error, error_len, "cannot open UDP port %u of %s: %s", u->cfg.port,
		   text, strerror(number));
}

/* What a receiver wants told about each packet. All but the steering may be missing. */
static int prepare_receiver(const struct udp_driver *u, int fd, const struct udp_addr *addr)
{
	if (set(fd, SOL_SOCKET, SO_REUSEPORT, 1))
		return -errno;
	udp_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, u->cfg.buffer_bytes);
	set(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
	if (addr->family == AF_INET) {
		set(fd, IPPROTO_IP, IP_RECVTOS, 1);
		set(fd, IPPROTO_IP, IP_RECVTTL, 1);
	} else {
		set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
		set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
		set(fd, IPPROTO_IPV6, IPV6_FLOWINFO, 1);
		/* RoCEv2 has no UDP checksum, which over IPv6 must be allowed (RFC 6935, 5). */
		set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
	}
	if (!u->cfg.is_offload_off)
		set(fd, IPPROTO_UDP, UDP_GRO, 1);
	return 0;
}

/* A descriptor or a negative errno. A socket that has a program of its own cannot join others,
 * whose program may say more than tag for place: so it fails where others are, and is tried
 * without. */
static int bind_receiver(const struct udp_driver *u, const struct udp_local *l, bool has_program)
{
	union udp_name name;
	socklen_t len = udp_name_of(&l->addr, u->cfg.port, &name);
	int fd = udp_socket(u, l->addr.family), result;

	if (fd < 0)
		return -errno;
	result = prepare_receiver(u, fd, &l->addr);
	if (result == 0 && has_program)
		result = udp_survey_attach(u, fd, l);
	if (result == 0 && bind(fd, &name.any, len))
		result = -errno;
	if (result == 0)
		return fd;
	close(fd);
	return result;
}

static int open_receiver(struct udp_driver *u, uint32_t handle, char *error, size_t error_len)
{
	struct udp_local *l = &u->locals[handle];
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = handle};
	bool is_joining;
	int fd;

	udp_survey_open(u, l);
	fd = bind_receiver(u, l, true);
	is_joining = fd == -EADDRINUSE;
	if (is_joining)
		fd = bind_receiver(u, l, false);
	if (fd < 0)
		return refused(u, -fd, &l->addr, error, error_len);
	if (epoll_ctl(u->epoll_fd, EPOLL_CTL_ADD, fd, &event)) {
		int number = errno;

		close(fd);
		return refused(u, number, &l->addr, error, error_len);
	}
	l->fd = fd;
	l->missed = 0;
	for (unsigned i = 0; i < UDP_SOURCES_MAX; i++)
		l->sources[i].fd = -1;
	if (u->cfg.sources == 1) {
		l->sources[0] = (struct udp_source){.fd = fd, .port = u->cfg.port};
		probe_source(&l->sources[0], u, l->addr.family);
	}
	l->refs = 1;
	if (is_joining)
		udp_survey_join(u, handle);
	return 0;
}

static bool is_one_address(const struct udp_addr *addr)
{
	static const uint8_t none[16];

	if (memcmp(addr->ip, none, sizeof none) == 0)
		return false;
	if (addr->family == AF_INET)
		return addr->ip[0] < 224;
	return addr->ip[0] != 0xff;
}

static int udp_bind(struct driver *d, const struct sockaddr *local, uint32_t *handle, char *error,
		    size_t error_len)
{
	struct udp_driver *u = udp_of(d);
	struct udp_addr addr;
	uint32_t h;
	int result;

	if (!udp_addr_of(local, &addr) || !is_one_address(&addr))
		return say(-EINVAL, error, error_len,
			   "not one IPv4 or IPv6 address: name a single address of this "
			   "machine, not a wildcard, a group or an IPv4 address inside IPv6");
	h = udp_local_find(u, &addr);
	if (h != DRIVER_NO_HANDLE) {
		u->locals[h].refs++;
		*handle = h;
		return 0;
	}
	for (h = 0; h < u->cfg.max_locals && u->locals[h].refs; h++)
		;
	if (h == u->cfg.max_locals)
		return say(-ENOSPC, error, error_len,
			   "%u addresses are open, as many as were planned for: raise "
			   "max_locals or close one",
			   u->cfg.max_locals);
	u->locals[h].addr = addr;
	result = open_receiver(u, h, error, error_len);
	if (result)
		return result;
	*handle = h;
	return 0;
}

static void close_local(struct udp_local *l)
{
	for (unsigned i = 0; i < UDP_SOURCES_MAX; i++) {
		if (l->sources[i].fd < 0)
			continue;
		if (l->sources[i].fd != l->fd)
			close(l->sources[i].fd);
	}
	close(l->fd);
	l->refs = 0;
}

static void udp_unbind(struct driver *d, uint32_t handle)
{
	struct udp_driver *u = udp_of(d);
	struct udp_local *l = &u->locals[handle];

	assert(handle < u->cfg.max_locals && l->refs > 0);
	if (--l->refs > 0)
		return;
	udp_rx_forget(u, handle);
	udp_survey_forget(u, handle);
	/* The set is shared with the parent of a forked child, which must not disturb it; and while
	 * a child holds the socket too, closing it here would not take it out of the set. */
	if (getpid() == u->owner)
		epoll_ctl(u->epoll_fd, EPOLL_CTL_DEL, l->fd, NULL);
	close_local(l);
	u->n_short = 0;
}

static int check_carrier(struct udp_driver *u, const struct carrier *c, char *error,
			 size_t error_len)
{
	int result = carried_check(c, error, error_len);

	if (result)
		return result;
	if (carrier_is_native(c))
		return say(-ENOTSUP, error, error_len,
			   "packets by %s go without UDP: use the driver raw", c->name);
	for (uint32_t i = 0; i < c->n_seals; i++)
		if (seal_is_crc(c->seals[i].seal) && !udp_pseudo_knows(c->seals[i].seal))
			return say(-ENOTSUP, error, error_len,
				   "the seal of packets by %s covers what only the kernel writes "
				   "and sees of UDP: use the driver raw",
				   c->name);
	u->carrier = c;
	u->seal = carrier_plain_seal(c);
	u->shortest = (uint32_t)c->head_least + u->seal->tail_bytes;
	return 0;
}

static int check_cfg(struct udp_driver *u, const struct udp_cfg *cfg, char *error, size_t error_len)
{
	int result = check_carrier(u, cfg->carrier, error, error_len);

	if (result)
		return result;
	u->cfg = *cfg;
	if (!u->cfg.port)
		u->cfg.port = cfg->carrier->port;
	if (!u->cfg.max_locals)
		u->cfg.max_locals = 64;
	if (!u->cfg.max_peers)
		u->cfg.max_peers = 65536;
	if (!u->cfg.buffer_bytes)
		u->cfg.buffer_bytes = 4u << 20;
	if (!u->cfg.sources)
		u->cfg.sources = 4;
	if (!u->cfg.hop_limit)
		u->cfg.hop_limit = 64;
	if (u->cfg.sources > UDP_SOURCES_MAX || u->cfg.max_locals > 4096 ||
	    u->cfg.max_peers > 1u << 24)
		return say(-EINVAL, error, error_len,
			   "out of bounds: at most %d source ports, 4096 addresses and 2^24 "
			   "peers",
			   UDP_SOURCES_MAX);
	for (unsigned i = 0; i < ENGINE_TCLASSES; i++)
		if (u->cfg.dscp[i] > 63)
			return say(-EINVAL, error, error_len, "DSCP %u is more than 63",
				   u->cfg.dscp[i]);
	return 0;
}

/* Nothing here changes what a forked child and its parent share: sockets and the epoll set live on
 * in the other. */
static void udp_free(struct driver *d)
{
	struct udp_driver *u = udp_of(d);

	for (uint32_t i = 0; u->locals && i < u->cfg.max_locals; i++)
		if (u->locals[i].refs)
			close_local(&u->locals[i]);
	udp_share_close(u);
	if (u->epoll_fd >= 0)
		close(u->epoll_fd);
	udp_rx_fini(u);
	udp_tx_fini(u);
	udp_peers_fini(u);
	free(u->locals);
	free(u);
}

static int udp_fd(const struct driver *d)
{
	return ((const struct udp_driver *)d)->epoll_fd;
}

static uint8_t udp_tag(const struct driver *d)
{
	return ((const struct udp_driver *)d)->tag;
}

/* The kernel has as much room as its socket's buffer, which udp_send finds out. */
static void udp_room(struct driver *d, uint16_t room[ENGINE_PORTS])
{
	(void)d;
	memset(room, 0, ENGINE_PORTS * sizeof room[0]);
	room[0] = DRIVER_BATCH;
}

/* Which interface it takes is the kernel's choice: there may be another. */
static uint32_t udp_ports_up(const struct driver *d)
{
	(void)d;
	return 1;
}

static const struct driver_ops udp_ops = {
	.name = "udp",
	.free = udp_free,
	.bind = udp_bind,
	.unbind = udp_unbind,
	.peer_get = udp_peer_get,
	.peer_hold = udp_peer_hold,
	.peer_put = udp_peer_put,
	.pmtu = udp_pmtu,
	.fd = udp_fd,
	.receive = udp_receive,
	.send = udp_send,
	.room = udp_room,
	.ports_up = udp_ports_up,
	.tag = udp_tag,
};

int udp_new(struct driver **out, const struct udp_cfg *cfg, char *error, size_t error_len)
{
	struct udp_driver *u = calloc(1, sizeof *u);
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = UDP_STRAY};
	int result;

	if (!u)
		return say(-ENOMEM, error, error_len, "out of memory");
	u->driver.ops = &udp_ops;
	u->epoll_fd = u->share.fd = u->share.claim_fd = -1;
	udp_survey_init(u);
	u->owner = getpid();
	result = check_cfg(u, cfg, error, error_len);
	if (result)
		goto out;
	u->locals = calloc(u->cfg.max_locals, sizeof *u->locals);
	if (!u->locals || udp_peers_init(u) || udp_tx_init(u) || udp_rx_init(u)) {
		result = say(-ENOMEM, error, error_len, "out of memory");
		goto out;
	}
	result = udp_share_open(u, error, error_len);
	if (result)
		goto out;
	u->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (u->epoll_fd < 0 || epoll_ctl(u->epoll_fd, EPOLL_CTL_ADD, u->share.fd, &event))
		result = say(-errno, error, error_len,
			     "cannot wait for packets: %s; raise the limit on open files "
			     "(ulimit -n) if it is that",
			     strerror(errno));
out:
	if (result) {
		udp_free(&u->driver);
		return result;
	}
	*out = &u->driver;
	return 0;
}
