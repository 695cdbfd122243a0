#include "io/xdp_inside.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

enum {
	PROBE_CHUNKS = 64, /* memory of a socket that is only tried */
	/* The kernel charges a socket for frames on their way; all that there are may be. */
	SEND_BUFFER_PER_CHUNK = 8192,
	LINK_BYTES = 18, /* of Ethernet, around an MTU */
	/* The kernel takes a queue back some time after its socket was closed, or its process
	 * ended: a program that is started again shall not fail for that. */
	BUSY_TRIES = 50,
	BUSY_US = 4000,
};

int xdp_socket_refused(int number, const char *interface, uint32_t queue, char *error,
		       size_t error_len)
{
	if (number == EPERM || number == EACCES)
		return say(-number, error, error_len,
			   "not permitted to open an AF_XDP socket on %s: it needs CAP_NET_RAW "
			   "(and the driver CAP_NET_ADMIN and CAP_BPF); run as root, or use the "
			   "driver udp",
			   interface);
	if (number == EBUSY)
		return say(-number, error, error_len,
			   "queue %u of %s has an AF_XDP socket of another program: end that "
			   "one (`ss --xdp -ap` names it), or use the driver raw",
			   queue, interface);
	if (number == EAFNOSUPPORT || number == EOPNOTSUPP)
		return say(-number, error, error_len,
			   "no AF_XDP socket on %s (%s): the kernel needs CONFIG_XDP_SOCKETS; "
			   "use the driver raw",
			   interface, strerror(number));
	if (number == ENOBUFS || number == ENOMEM)
		return say(-number, error, error_len,
			   "no memory for an AF_XDP socket on %s (%s): allow more locked memory "
			   "(`ulimit -l`), or take fewer chunks",
			   interface, strerror(number));
	return say(-number, error, error_len, "cannot open queue %u of %s for AF_XDP: %s", queue,
		   interface, strerror(number));
}

/* How many receive queues an interface has; 0: it does not tell. */
static uint32_t queues_of(const char *interface)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq request = {.ifr_data = (char *)&channels};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_known;

	if (fd < 0)
		return 0;
	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
	is_known = ioctl(fd, SIOCETHTOOL, &request) == 0;
	close(fd);
	return is_known ? channels.rx_count + channels.combined_count : 0;
}

static int memory_open(struct xdp_port *p, uint32_t chunks)
{
	p->memory_bytes = (size_t)chunks * XDP_CHUNK;
	p->memory = mmap(NULL, p->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (p->memory == MAP_FAILED) {
		p->memory = NULL;
		return -ENOMEM;
	}
	/* A child gets none of it: it has no use for a copy of what the kernel still writes to. */
	madvise(p->memory, p->memory_bytes, MADV_DONTFORK);
	madvise(p->memory, p->memory_bytes, MADV_HUGEPAGE);
	return 0;
}

static void memory_close(struct xdp_port *p, bool is_owner)
{
	/* In a child something else may be there by now. */
	if (p->memory && is_owner)
		munmap(p->memory, p->memory_bytes);
	p->memory = NULL;
}

/* The sockets before their memory, which they use. */
static void sockets_close(struct xdp_port *p)
{
	if (p->sender)
		xsk_socket__delete(p->sender);
	p->sender = NULL;
	for (uint32_t i = p->n_queues; i > 0; i--)
		if (p->queues[i - 1].socket)
			xsk_socket__delete(p->queues[i - 1].socket);
	if (p->umem)
		xsk_umem__delete(p->umem);
	if (p->queues)
		memset(p->queues, 0, STEER_QUEUES * sizeof *p->queues);
	p->umem = NULL;
	p->n_queues = 0;
}

struct wish {
	const char *interface;
	uint32_t n_queues;  /* 0: as many as there are */
	uint32_t tx_queue;  /* which sends */
	uint32_t tx_chunks; /* also the size of its rings */
	uint16_t flags;     /* of bind */
	bool waits_if_busy; /* with a queue that is busy */
};

static int umem_open(struct xdp_port *p, const struct wish *w)
{
	struct xsk_umem_config config = {
		.fill_size = p->rx_each,
		.comp_size = w->tx_chunks,
		.frame_size = XDP_CHUNK,
	};

	return xsk_umem__create(&p->umem, p->memory, p->memory_bytes, &p->queues[w->tx_queue].fill,
				&p->queues[w->tx_queue].completion, &config);
}

/* The first that is opened, which is the one that sends, is bound with the flags; the others, in
 * the same memory, do as it does. */
static int socket_open(struct xdp_port *p, const struct wish *w, uint32_t queue)
{
	struct xdp_queue *q = &p->queues[queue];
	struct xsk_socket_config config = {
		.rx_size = p->rx_each,
		.tx_size = w->tx_chunks,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = w->flags,
	};
	int buffer = (int)(w->tx_chunks * SEND_BUFFER_PER_CHUNK), fd, result;

	result = xsk_socket__create_shared(&q->socket, w->interface, queue, p->umem, &q->rx, NULL,
					   &q->fill, &q->completion, &config);
	if (result)
		return result;
	if (p->n_queues <= queue)
		p->n_queues = queue + 1;
	if (queue != w->tx_queue)
		return 0;
	result = xsk_socket__create_shared(&p->sender, w->interface, queue, p->umem, NULL, &p->tx,
					   &q->fill, &q->completion, &config);
	if (result)
		return result;
	fd = xsk_socket__fd(p->sender);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
	/* More descriptors in one call than 32, where the kernel has that. */
	setsockopt(fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &w->tx_chunks, sizeof w->tx_chunks);
	return 0;
}

static int sockets_once(struct xdp_port *p, const struct wish *w, uint32_t *failed)
{
	uint32_t most = w->n_queues ? w->n_queues : STEER_QUEUES;
	int result = umem_open(p, w);

	*failed = 0;
	for (uint32_t i = 0; !result && i < most; i++) {
		/* A second socket on a queue shares only with the first of all. */
		uint32_t queue = i == 0 ? w->tx_queue : i <= w->tx_queue ? i - 1 : i;

		result = socket_open(p, w, queue);
		/* The interface did not tell how many it has: here they end. */
		if (result == -EINVAL && !w->n_queues && i > w->tx_queue) {
			result = 0;
			break;
		}
		*failed = queue;
	}
	if (result)
		sockets_close(p);
	return result;
}

/* All queues with these flags; nothing is left open when it fails. */
static int sockets_try(struct xdp_port *p, const struct wish *w, uint32_t *failed)
{
	int result = sockets_once(p, w, failed);

	for (unsigned i = 0; w->waits_if_busy && result == -EBUSY && i < BUSY_TRIES; i++) {
		usleep(BUSY_US);
		result = sockets_once(p, w, failed);
	}
	return result;
}

/* The best that there is: no copy by the kernel if frames fit, then frames in several chunks. */
static int sockets_open(struct xdp_port *p, struct wish *w, uint32_t mtu, bool may_zero_copy,
			char *error, size_t error_len)
{
	static const uint16_t kinds[] = {XDP_ZEROCOPY | XDP_USE_SG, XDP_ZEROCOPY,
					 XDP_COPY | XDP_USE_SG, XDP_COPY};
	bool is_one_enough = mtu + LINK_BYTES <= XDP_CHUNK - XDP_RX_HEADROOM;
	uint32_t failed = 0;
	int result = -EOPNOTSUPP;

	for (unsigned i = 0; result && i < sizeof kinds / sizeof kinds[0]; i++) {
		bool is_zero_copy = kinds[i] & XDP_ZEROCOPY, has_pieces = kinds[i] & XDP_USE_SG;

		if (is_zero_copy && (!may_zero_copy || (!has_pieces && !is_one_enough)))
			continue;
		w->flags = kinds[i] | XDP_USE_NEED_WAKEUP;
		result = sockets_try(p, w, &failed);
		p->is_zero_copy = is_zero_copy;
		p->has_pieces = has_pieces;
		if (result == -EBUSY || result == -EPERM || result == -ENODEV)
			break;
	}
	return result ? xdp_socket_refused(-result, w->interface, failed, error, error_len) : 0;
}

/* Chunks 0 .. to the queues to receive into, the rest to send from. */
static void chunks_deal(struct xdp_port *p, uint32_t tx_chunks)
{
	uint64_t chunk = 0;

	for (uint32_t i = 0; i < p->n_queues; i++) {
		struct xdp_queue *q = &p->queues[i];
		uint32_t at = 0, n = xsk_ring_prod__reserve(&q->fill, p->rx_each, &at);

		for (uint32_t k = 0; k < n; k++)
			*xsk_ring_prod__fill_addr(&q->fill, at + k) = chunk++ * XDP_CHUNK;
		xsk_ring_prod__submit(&q->fill, n);
	}
	p->n_free = tx_chunks;
	p->n_ready = 0;
	for (uint32_t i = 0; i < tx_chunks; i++)
		p->free[i] = chunk++ * XDP_CHUNK;
}

int xdp_queue_watch(struct xdp_driver *x, uint32_t port, uint32_t queue, bool is_watched)
{
	struct xdp_queue *q = &x->ports[port].queues[queue];
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = port << 16 | queue};

	if (epoll_ctl(x->epoll_fd, is_watched ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
		      xsk_socket__fd(q->socket), &event))
		return -errno;
	q->is_watched = is_watched;
	return 0;
}

static int sockets_join(struct xdp_driver *x, uint32_t port)
{
	struct xdp_port *p = &x->ports[port];
	int map = xdp_program_map(p->program, "sockets"), result = 0;

	for (uint32_t i = 0; !result && i < p->n_queues; i++) {
		int fd = xsk_socket__fd(p->queues[i].socket);

		result = xdp_queue_watch(x, port, i, true);
		if (!result)
			result = bpf_map_update_elem(map, &i, &fd, BPF_ANY);
	}
	return result;
}

/* Many queues have less each: together they take what one would. */
static uint32_t rx_each_of(uint32_t rx_chunks, uint32_t n_queues)
{
	uint32_t each = rx_chunks;

	while (each > XDP_RX_CHUNKS_LEAST && each * n_queues > rx_chunks)
		each /= 2;
	return each;
}

static int port_open(struct xdp_driver *x, uint32_t port, const char *name, char *error,
		     size_t error_len)
{
	struct xdp_port *p = &x->ports[port];
	struct wish w = {name, queues_of(name), x->cfg.queue, x->cfg.tx_chunks, 0, x->is_new};
	uint32_t most = w.n_queues ? w.n_queues : STEER_QUEUES;
	int result;

	if (w.n_queues > STEER_QUEUES)
		return say(-E2BIG, error, error_len,
			   "%s has %u receive queues, and at most %u can be served: "
			   "`ethtool -L %s combined %u` leaves so many",
			   name, w.n_queues, STEER_QUEUES, name, STEER_QUEUES);
	if (w.n_queues && w.tx_queue >= w.n_queues)
		return say(-EINVAL, error, error_len, "%s has no queue %u: choose one from 0 to %u",
			   name, w.tx_queue, w.n_queues - 1);
	p->tx_queue = w.tx_queue;
	p->is_native = !x->cfg.is_generic;
	p->link_fd = xdp_program_attach(p->program, p->ifindex, &p->is_native, error, error_len);
	if (p->link_fd < 0)
		return p->link_fd;
	p->rx_each = rx_each_of(x->cfg.rx_chunks, most);
	if (memory_open(p, p->rx_each * most + w.tx_chunks))
		return xdp_socket_refused(ENOMEM, name, 0, error, error_len);
	result = sockets_open(p, &w, frames_port(x->frames, port)->mtu,
			      p->is_native && !x->cfg.is_copied, error, error_len);
	if (result)
		return result;
	chunks_deal(p, w.tx_chunks);
	result = sockets_join(x, port);
	return result ? xdp_socket_refused(-result, name, 0, error, error_len) : 0;
}

int xdp_port_open(struct xdp_driver *x, uint32_t port, char *error, size_t error_len)
{
	struct xdp_port *p = &x->ports[port];
	char name[IF_NAMESIZE];
	int result;

	p->ifindex = frames_port(x->frames, port)->ifindex;
	if (p->ifindex == 0 || !if_indextoname(p->ifindex, name)) {
		p->ifindex = 0;
		return say(-ENODEV, error, error_len, "%s is gone: `ip link` lists what is there",
			   x->cfg.frames.interfaces[port]);
	}
	result = port_open(x, port, name, error, error_len);
	if (result)
		xdp_port_close(x, port);
	return result;
}

void xdp_port_close(struct xdp_driver *x, uint32_t port)
{
	struct xdp_port *p = &x->ports[port];
	bool is_owner = xdp_is_owner(x, getpid());

	/* A child of ours may hold the same descriptors, and then closing ends nothing; what it
	 * closes itself is to end nothing here. */
	if (p->link_fd >= 0 && is_owner)
		bpf_link_detach(p->link_fd);
	if (p->link_fd >= 0)
		close(p->link_fd);
	p->link_fd = -1;
	for (uint32_t i = 0; i < p->n_queues && is_owner; i++)
		if (p->queues[i].is_watched)
			xdp_queue_watch(x, port, i, false);
	if (p->is_behind && is_owner)
		epoll_ctl(x->epoll_fd, EPOLL_CTL_DEL, xsk_socket__fd(p->sender), NULL);
	if (p->queues)
		sockets_close(p);
	memory_close(p, is_owner);
	p->ifindex = 0;
	p->n_free = p->n_ready = 0;
	p->is_behind = false;
}

int xdp_socket_probe(const char *interface, bool *has_pieces, char *error, size_t error_len)
{
	struct xdp_port p = {.rx_each = PROBE_CHUNKS};
	struct wish w = {interface, 1, 0, PROBE_CHUNKS, 0, true};
	uint32_t failed;
	int result = memory_open(&p, 2 * PROBE_CHUNKS);

	p.queues = calloc(STEER_QUEUES, sizeof *p.queues);
	if (!p.queues)
		result = -ENOMEM;
	*has_pieces = true;
	if (!result) {
		w.flags = XDP_COPY | XDP_USE_NEED_WAKEUP | XDP_USE_SG;
		result = sockets_try(&p, &w, &failed);
	}
	if (result == -EINVAL || result == -EOPNOTSUPP) {
		*has_pieces = false;
		w.flags = XDP_COPY | XDP_USE_NEED_WAKEUP;
		result = sockets_try(&p, &w, &failed);
	}
	if (p.queues)
		sockets_close(&p);
	free(p.queues);
	memory_close(&p, true);
	return result ? xdp_socket_refused(-result, interface, 0, error, error_len) : 0;
}
