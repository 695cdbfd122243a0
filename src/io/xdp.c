#include "io/xdp_inside.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <bpf/bpf.h>

enum {
	CHUNKS_DEFAULT = 1024,
	CHUNKS_LEAST = 256,
	CHUNKS_MOST = 1 << 18, /* 1 GiB */
};

/* false: neither IPv4 nor IPv6. */
static bool key_of(const struct sockaddr *name, uint8_t key[STEER_KEY_BYTES])
{
	memset(key, 0, STEER_KEY_BYTES);
	if (name->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, name, sizeof in);
		key[10] = key[11] = 0xff;
		memcpy(key + 12, &in.sin_addr, 4);
		return true;
	}
	if (name->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, name, sizeof in6);
		memcpy(key, &in6.sin6_addr, 16);
		return true;
	}
	return false;
}

/* Has the programs of all ports take packets to this address, or leave them. */
static int steer(struct xdp_driver *x, const uint8_t *key, bool is_ours)
{
	const uint8_t yes = 1;
	int result = 0;

	for (uint32_t i = 0; !result && i < x->cfg.frames.n_ports; i++) {
		int map = xdp_program_map(x->ports[i].program, "addresses");

		if (is_ours)
			result = bpf_map_update_elem(map, key, &yes, BPF_ANY);
		else
			bpf_map_delete_elem(map, key);
	}
	return result;
}

/* The programs look first for the address that was opened last of those that are open. */
static void prefer_last(const struct xdp_driver *x)
{
	static const uint8_t none[STEER_KEY_BYTES];
	const uint8_t *key = x->n_addresses ? x->addresses[x->n_addresses - 1].key : none;
	const uint32_t only = 0;

	for (uint32_t i = 0; i < x->cfg.frames.n_ports; i++)
		bpf_map_update_elem(xdp_program_map(x->ports[i].program, "likely"), &only, key,
				    BPF_ANY);
}

static void forget(struct xdp_driver *x, uint32_t at)
{
	struct xdp_address gone = x->addresses[at];
	bool is_used = false;

	x->addresses[at] = x->addresses[--x->n_addresses];
	for (uint32_t i = 0; i < x->n_addresses; i++)
		is_used |= memcmp(x->addresses[i].key, gone.key, STEER_KEY_BYTES) == 0;
	if (!is_used)
		steer(x, gone.key, false);
	prefer_last(x);
}

static int remember(struct xdp_driver *x, const struct xdp_address *address)
{
	int result;

	if (x->n_addresses == STEER_ADDRESSES)
		return -ENOSPC;
	result = steer(x, address->key, true);
	x->addresses[x->n_addresses++] = *address;
	if (result)
		forget(x, x->n_addresses - 1);
	else
		prefer_last(x);
	return result;
}

static struct xdp_address *address_of(struct xdp_driver *x, uint32_t handle, uint32_t port)
{
	for (uint32_t i = 0; i < x->n_addresses; i++)
		if (x->addresses[i].handle == handle && x->addresses[i].port == port)
			return &x->addresses[i];
	return NULL;
}

static int xdp_bind(struct driver *d, const struct sockaddr *local, uint32_t *handle, char *error,
		    size_t error_len)
{
	struct xdp_driver *x = xdp_of(d);
	struct xdp_address address = {.port = DRIVER_NO_HANDLE, .refs = 1}, *known;
	int result = frames_bind(x->frames, local, handle, error, error_len);

	if (result)
		return result;
	known = address_of(x, *handle, DRIVER_NO_HANDLE);
	if (known) {
		known->refs++;
		return 0;
	}
	address.handle = *handle;
	result = key_of(local, address.key) ? remember(x, &address) : -EAFNOSUPPORT;
	if (result == 0)
		return 0;
	frames_unbind(x->frames, *handle);
	return say(result, error, error_len,
		   "the XDP program cannot be told of another address (%s): open fewer than %u",
		   strerror(-result), STEER_ADDRESSES);
}

static void xdp_unbind(struct driver *d, uint32_t handle)
{
	struct xdp_driver *x = xdp_of(d);
	struct xdp_address *first = address_of(x, handle, DRIVER_NO_HANDLE);

	if (first && --first->refs == 0)
		for (uint32_t i = x->n_addresses; i > 0; i--)
			if (x->addresses[i - 1].handle == handle)
				forget(x, i - 1);
	frames_unbind(x->frames, handle);
}

static int xdp_local_address(struct driver *d, uint32_t handle, uint32_t port,
			     const struct sockaddr *name)
{
	struct xdp_driver *x = xdp_of(d);
	struct xdp_address address = {.handle = handle, .port = port, .refs = 1}, *old;
	int result = frames_local_address(x->frames, handle, port, name);

	if (result || !key_of(name, address.key))
		return result;
	old = address_of(x, handle, port);
	/* Frames to it go on arriving. */
	if (old && memcmp(old->key, address.key, sizeof address.key) == 0)
		return 0;
	if (old)
		forget(x, (uint32_t)(old - x->addresses));
	return remember(x, &address);
}

static int xdp_peer_address(struct driver *d, uint32_t handle, uint32_t port,
			    const struct sockaddr *name)
{
	return frames_peer_address(xdp_of(d)->frames, handle, port, name);
}

static int xdp_peer_segments(struct driver *d, uint32_t handle, uint32_t port, uint32_t ev,
			     const struct encap_segments *segments)
{
	return frames_peer_segments(xdp_of(d)->frames, handle, port, ev, segments);
}

static uint32_t xdp_peer_get(struct driver *d, const struct sockaddr *remote)
{
	return frames_peer_get(xdp_of(d)->frames, remote);
}

static void xdp_peer_hold(struct driver *d, uint32_t handle)
{
	frames_peer_hold(xdp_of(d)->frames, handle);
}

static void xdp_peer_put(struct driver *d, uint32_t handle)
{
	frames_peer_put(xdp_of(d)->frames, handle);
}

static uint16_t xdp_pmtu(struct driver *d, uint32_t local, uint32_t peer, char *error,
			 size_t error_len)
{
	struct xdp_driver *x = xdp_of(d);
	uint16_t pmtu = frames_pmtu(x->frames, local, peer, error, error_len);

	for (uint32_t i = 0; i < x->cfg.frames.n_ports; i++)
		if (x->ports[i].ifindex && !x->ports[i].has_pieces && pmtu > XDP_ONE_CHUNK_PMTU)
			pmtu = XDP_ONE_CHUNK_PMTU;
	return pmtu;
}

static int xdp_fd(const struct driver *d)
{
	return ((const struct xdp_driver *)d)->epoll_fd;
}

static uint32_t xdp_ports_up(const struct driver *d)
{
	const struct xdp_driver *x = (const struct xdp_driver *)d;
	uint32_t up = frames_ports_up(x->frames);

	for (uint32_t i = 0; i < x->cfg.frames.n_ports; i++)
		if (x->ports[i].ifindex == 0)
			up &= ~(UINT32_C(1) << i);
	return up;
}

static void xdp_free(struct driver *d)
{
	struct xdp_driver *x = xdp_of(d);

	for (uint32_t i = 0; i < ENGINE_PORTS; i++) {
		struct xdp_port *p = &x->ports[i];

		xdp_port_close(x, i);
		if (p->program)
			bpf_object__close(p->program);
		free(p->queues);
		free(p->free);
	}
	if (x->frames)
		frames_free(x->frames);
	if (x->epoll_fd >= 0)
		close(x->epoll_fd);
	free(x);
}

static const struct driver_ops xdp_ops = {
	.name = "xdp",
	.free = xdp_free,
	.bind = xdp_bind,
	.unbind = xdp_unbind,
	.peer_get = xdp_peer_get,
	.peer_hold = xdp_peer_hold,
	.peer_put = xdp_peer_put,
	.pmtu = xdp_pmtu,
	.fd = xdp_fd,
	.receive = xdp_receive,
	.send = xdp_send,
	.room = xdp_room,
	.ports_up = xdp_ports_up,
	.local_address = xdp_local_address,
	.peer_address = xdp_peer_address,
	.peer_segments = xdp_peer_segments,
};

static bool is_good_count(uint32_t n)
{
	return n >= CHUNKS_LEAST && n <= CHUNKS_MOST && (n & (n - 1)) == 0;
}

static int fill_cfg(struct xdp_cfg *cfg, char *error, size_t error_len)
{
	if (!cfg->rx_chunks)
		cfg->rx_chunks = CHUNKS_DEFAULT;
	if (!cfg->tx_chunks)
		cfg->tx_chunks = CHUNKS_DEFAULT;
	cfg->frames.is_shared = false;
	if (!is_good_count(cfg->rx_chunks) || !is_good_count(cfg->tx_chunks))
		return say(-EINVAL, error, error_len,
			   "the chunks of a port are a power of two from %d to %d", CHUNKS_LEAST,
			   CHUNKS_MOST);
	if (cfg->queue >= STEER_QUEUES)
		return say(-EINVAL, error, error_len, "a queue is a number below %u", STEER_QUEUES);
	return 0;
}

static int port_new(struct xdp_driver *x, uint32_t port, char *error, size_t error_len)
{
	const struct carrier_use *via = frames_via(x->frames);
	const struct steer_carrier by = {.port = via->port, .protocol = via->protocol};
	struct xdp_port *p = &x->ports[port];
	int result;

	p->queues = calloc(STEER_QUEUES, sizeof *p->queues);
	p->free = calloc(x->cfg.tx_chunks, sizeof *p->free);
	if (!p->queues || !p->free)
		return say(-ENOMEM, error, error_len, "no memory for an xdp driver");
	result = xdp_program_load(&p->program, &by, error, error_len);
	return result ? result : xdp_port_open(x, port, error, error_len);
}

/* In how many chunks the carrier's frames lie: on arrival in as many as its payloads may, though
 * the kernel puts less into each. */
static int size_frames(struct xdp_driver *x, char *error, size_t error_len)
{
	const struct carrier *c = frames_via(x->frames)->is;
	const uint32_t most = frames_most(c), room = XDP_CHUNK - XDP_RX_HEADROOM;

	x->pieces_max = c->pieces_max;
	x->chunks_per_frame = (most + XDP_CHUNK - 1) / XDP_CHUNK;
	if (most <= room * x->pieces_max)
		return 0;
	return say(-ENOTSUP, error, error_len,
		   "frames of %u bytes lie in more than %u chunks of %d, and payloads by %s may "
		   "not: use the driver raw",
		   most, x->pieces_max, XDP_CHUNK, c->name);
}

static int open_all(struct xdp_driver *x, char *error, size_t error_len)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = XDP_NEWS};
	int result = frames_new(&x->frames, &x->cfg.frames, &x->driver.count, error, error_len);

	if (result)
		return result;
	frames_set_guard(x->frames, &x->driver.guard);
	result = size_frames(x, error, error_len);
	if (result)
		return result;
	x->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (x->epoll_fd < 0 || epoll_ctl(x->epoll_fd, EPOLL_CTL_ADD, frames_fd(x->frames), &event))
		return say(-errno, error, error_len, "no descriptor for an xdp driver: %s",
			   strerror(errno));
	for (uint32_t i = 0; !result && i < x->cfg.frames.n_ports; i++)
		result = port_new(x, i, error, error_len);
	return result;
}

int xdp_new(struct driver **d, const struct xdp_cfg *cfg, char *error, size_t error_len)
{
	struct xdp_cfg filled = *cfg;
	int result = fill_cfg(&filled, error, error_len);
	struct xdp_driver *x = result ? NULL : calloc(1, sizeof *x);

	if (result)
		return result;
	if (!x)
		return say(-ENOMEM, error, error_len, "no memory for an xdp driver");
	x->driver.ops = &xdp_ops;
	x->cfg = filled;
	x->owner = getpid();
	x->epoll_fd = -1;
	for (uint32_t i = 0; i < ENGINE_PORTS; i++)
		x->ports[i].link_fd = -1;
	x->is_new = true;
	result = open_all(x, error, error_len);
	x->is_new = false;
	if (result) {
		xdp_free(&x->driver);
		return result;
	}
	*d = &x->driver;
	return 0;
}

void xdp_port_text(const struct driver *d, uint32_t port, char *text, size_t len)
{
	const struct xdp_driver *x = (const struct xdp_driver *)d;
	const struct xdp_port *p = &x->ports[port < ENGINE_PORTS ? port : 0];
	static const char *const chunks[FRAMES_PIECES] = {"one chunk", "two chunks",
							  "three chunks"};

	if (port >= x->cfg.frames.n_ports || p->ifindex == 0)
		snprintf(text, len, "not there");
	else
		snprintf(text, len, "%s, %s, %s, %u queue%s", p->is_native ? "native" : "generic",
			 p->is_zero_copy ? "zero copy" : "copied",
			 chunks[p->has_pieces ? x->chunks_per_frame - 1 : 0], p->n_queues,
			 p->n_queues == 1 ? "" : "s");
}
