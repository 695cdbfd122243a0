#include "io/raw.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "io/claim.h"
#include "io/raw_inside.h"
#include "io/say.h"

enum {
	SLOTS_LEAST = DRIVER_BATCH,
	SLOTS_MOST = 65536,
	RX_SLOTS = 1024,
	TX_SLOTS = 128,         /* more would not stay in the cache */
	AT_NEWS = ENGINE_PORTS, /* in the epoll set, where the others are ports */
	STEP_NS = 5000000,      /* between looks at what is not a packet, at most */
	IDLE_NS = 20000,        /* and while there are none */
};

struct raw {
	struct driver driver;
	struct frames *frames;
	struct raw_ring rings[ENGINE_PORTS];
	uint32_t n_ports;
	uint32_t turn; /* the port that is looked at first */
	int epoll_fd, claim_fd;
	uint8_t tag;
	nsec now;              /* of the last receive */
	nsec step_at, idle_at; /* no look before */
};

static struct raw *raw_of(struct driver *d)
{
	return (struct raw *)d;
}

static int raw_bind(struct driver *d, const struct sockaddr *local, uint32_t *handle, char *error,
		    size_t error_len)
{
	return frames_bind(raw_of(d)->frames, local, handle, error, error_len);
}

static void raw_unbind(struct driver *d, uint32_t handle)
{
	frames_unbind(raw_of(d)->frames, handle);
}

static uint32_t raw_peer_get(struct driver *d, const struct sockaddr *remote)
{
	return frames_peer_get(raw_of(d)->frames, remote);
}

static void raw_peer_hold(struct driver *d, uint32_t handle)
{
	frames_peer_hold(raw_of(d)->frames, handle);
}

static void raw_peer_put(struct driver *d, uint32_t handle)
{
	frames_peer_put(raw_of(d)->frames, handle);
}

static uint16_t raw_pmtu(struct driver *d, uint32_t local, uint32_t peer, char *error,
			 size_t error_len)
{
	return frames_pmtu(raw_of(d)->frames, local, peer, error, error_len);
}

static int raw_local_address(struct driver *d, uint32_t handle, uint32_t port,
			     const struct sockaddr *address)
{
	return frames_local_address(raw_of(d)->frames, handle, port, address);
}

static int raw_peer_address(struct driver *d, uint32_t handle, uint32_t port,
			    const struct sockaddr *address)
{
	return frames_peer_address(raw_of(d)->frames, handle, port, address);
}

static int raw_peer_segments(struct driver *d, uint32_t handle, uint32_t port, uint32_t ev,
			     const struct encap_segments *segments)
{
	return frames_peer_segments(raw_of(d)->frames, handle, port, ev, segments);
}

static int raw_fd(const struct driver *d)
{
	return ((const struct raw *)d)->epoll_fd;
}

static uint32_t raw_ports_up(const struct driver *d)
{
	return frames_ports_up(((const struct raw *)d)->frames);
}

static uint8_t raw_tag(const struct driver *d)
{
	return ((const struct raw *)d)->tag;
}

/* Has the epoll set tell when the kernel can go on with what waits, or no longer. */
static void await_memory(struct raw *r, uint32_t port, bool is_awaited)
{
	struct raw_ring *g = &r->rings[port];
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = port};

	if (is_awaited)
		event.events |= EPOLLOUT;
	if (g->is_awaited != is_awaited &&
	    epoll_ctl(r->epoll_fd, EPOLL_CTL_MOD, g->fd, &event) == 0)
		g->is_awaited = is_awaited;
}

static void push(struct raw *r, uint32_t port)
{
	struct driver_counters *count = &r->driver.count;
	struct raw_ring *g = &r->rings[port];

	if (!g->tx_waiting)
		return;
	const struct raw_pushed done = raw_ring_push(g);

	count->tx_calls += done.calls;
	count->tx += done.sent;
	count->tx_failed += done.failed;
	count->tx_down += done.down;
	await_memory(r, port, g->tx_waiting > 0);
}

/* An interface that is back, or whose socket lost it for a moment, has its packets again. */
static void bind_again(struct raw *r, uint32_t port)
{
	const struct frames_port *p = frames_port(r->frames, port);
	struct raw_ring *g = &r->rings[port];

	if (p->is_up && p->ifindex != g->ifindex)
		raw_ring_bind(g, p->ifindex);
}

/* What is not a packet: news of interfaces and routes, errors of sockets, losses. */
static void step(struct raw *r)
{
	struct epoll_event events[ENGINE_PORTS + 1];
	int n = epoll_wait(r->epoll_fd, events, ENGINE_PORTS + 1, 0);
	bool has_news = r->now >= r->step_at;

	for (int i = 0; i < n; i++) {
		if (events[i].data.u32 == AT_NEWS)
			has_news = true;
		else if (events[i].events & (EPOLLERR | EPOLLHUP))
			raw_ring_look(&r->rings[events[i].data.u32]);
	}
	r->idle_at = r->now + IDLE_NS;
	if (!has_news)
		return;
	r->step_at = r->now + STEP_NS;
	frames_step(r->frames, r->now);
	for (uint32_t i = 0; i < r->n_ports; i++) {
		bind_again(r, i);
		r->driver.count.rx_missed += raw_ring_missed(&r->rings[i]);
	}
}

/* A packet of a port's next frame that is one; false: there are no more frames. Of a frame that a
 * slot is too small for the beginning is there, and its headers say that more should be. */
static bool receive_one(struct raw *r, uint32_t port, struct rx_pkt *p)
{
	struct cspan piece[FRAMES_PIECES] = {{NULL, 0}};

	/* Bounded by the ring: slots that were looked at are not the kernel's again. */
	while ((piece[0] = raw_ring_take(&r->rings[port])).at)
		if (frames_read(r->frames, r->now, port, piece, p))
			return true;
	return false;
}

/* Ports take turns with each packet, so that a busy one does not keep the others from theirs. */
static uint32_t receive_all(struct raw *r, struct rx_pkt *pkts, uint32_t n)
{
	uint32_t got = 0, empty = 0;

	for (uint32_t port = r->turn; got < n && empty < r->n_ports;
	     port = port + 1 == r->n_ports ? 0 : port + 1) {
		if (receive_one(r, port, &pkts[got])) {
			got++;
			empty = 0;
		} else {
			empty++;
		}
	}
	r->turn = r->turn + 1 == r->n_ports ? 0 : r->turn + 1;
	return got;
}

static uint32_t raw_receive(struct driver *d, nsec now, struct rx_pkt *pkts, uint32_t n)
{
	struct raw *r = raw_of(d);
	uint32_t got;

	assert(n <= DRIVER_BATCH);
	r->now = now;
	frames_settle(r->frames);
	for (uint32_t i = 0; i < r->n_ports; i++) {
		raw_ring_return(&r->rings[i]);
		push(r, i);
	}
	got = receive_all(r, pkts, n);
	r->driver.count.rx_calls += got > 0;
	if (now >= r->step_at || (got == 0 && now >= r->idle_at))
		step(r);
	return got;
}

/* The next slot of a port; at NULL: there is none, even after the kernel took what waits. */
static struct span next_slot(struct raw *r, uint32_t port)
{
	struct span slot = raw_ring_slot(&r->rings[port]);

	if (slot.at)
		return slot;
	push(r, port);
	return raw_ring_slot(&r->rings[port]);
}

static uint32_t raw_send(struct driver *d, const struct tx_pkt *pkts, uint32_t n)
{
	struct raw *r = raw_of(d);
	uint32_t done;

	assert(n <= DRIVER_BATCH);
	for (done = 0; done < n; done++) {
		uint32_t port = pkts[done].port;

		assert(port < r->n_ports);
		struct span slot = next_slot(r, port);
		const struct frames_out out = {{slot.at}, {slot.len}};

		if (!slot.at)
			break;
		uint32_t bytes = frames_write(r->frames, r->now, &pkts[done], &out);

		if (bytes)
			raw_ring_commit(&r->rings[port], bytes);
	}
	for (uint32_t i = 0; i < r->n_ports; i++)
		push(r, i);
	return done;
}

static void raw_room(struct driver *d, uint16_t room[ENGINE_PORTS])
{
	struct raw *r = raw_of(d);
	uint32_t up = frames_ports_up(r->frames);

	memset(room, 0, ENGINE_PORTS * sizeof room[0]);
	for (uint32_t i = 0; i < r->n_ports; i++)
		if (up >> i & 1)
			room[i] = (uint16_t)raw_ring_room(&r->rings[i], DRIVER_BATCH);
}

/* Nothing here changes what a forked child and its parent share: sockets, rings and the epoll set
 * live on in the other. */
static void raw_free(struct driver *d)
{
	struct raw *r = raw_of(d);

	for (uint32_t i = 0; i < ENGINE_PORTS; i++)
		raw_ring_close(&r->rings[i]);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	if (r->claim_fd >= 0)
		close(r->claim_fd);
	frames_free(r->frames);
	free(r);
}

static const struct driver_ops raw_ops = {
	.name = "raw",
	.free = raw_free,
	.bind = raw_bind,
	.unbind = raw_unbind,
	.peer_get = raw_peer_get,
	.peer_hold = raw_peer_hold,
	.peer_put = raw_peer_put,
	.pmtu = raw_pmtu,
	.fd = raw_fd,
	.receive = raw_receive,
	.send = raw_send,
	.room = raw_room,
	.ports_up = raw_ports_up,
	.tag = raw_tag,
	.local_address = raw_local_address,
	.peer_address = raw_peer_address,
	.peer_segments = raw_peer_segments,
};

static int claim(struct raw *r, char *error, size_t error_len)
{
	const struct carrier_use *via = frames_via(r->frames);
	bool is_native = carrier_is_native(via->is);
	uint32_t number = is_native ? via->protocol : via->port;
	char all[32];
	const struct claim_wish wish = {
		.all = all, .type = SOCK_DGRAM | SOCK_CLOEXEC, .bits = via->is->tag_bits};
	int result;

	snprintf(all, sizeof all, is_native ? "weft-raw-1-ip-%u" : "weft-raw-1-%u", number);
	result = r->claim_fd = claim_tag(&wish, &r->tag);
	if (result == -EBUSY)
		return say(result, error, error_len,
			   "all %u numbers of raw devices with %s %u are taken: end a process "
			   "that has one (`ss -xa` lists them as @weft-raw), or choose another",
			   1u << via->is->tag_bits, is_native ? "IP protocol" : "UDP port", number);
	if (result < 0)
		return say(result, error, error_len,
			   "cannot claim a number among the processes with raw devices: %s; a "
			   "sandbox may forbid abstract unix sockets",
			   strerror(-result));
	return 0;
}

static int refused(int result, const char *interface, char *error, size_t error_len)
{
	if (result == -EPERM || result == -EACCES)
		return say(result, error, error_len,
			   "not permitted to send and receive raw frames on %s: run as root, give "
			   "the program the right (`setcap cap_net_raw,cap_net_admin+ep PROGRAM`; "
			   "by the second the kernel finds neighbours for it), or use the udp "
			   "driver, which needs none",
			   interface);
	if (result == -EAFNOSUPPORT)
		return say(
			result, error, error_len,
			"this kernel has no packet sockets (CONFIG_PACKET), or a sandbox forbids "
			"them: use the udp driver");
	if (result == -ENOMEM)
		return say(result, error, error_len,
			   "no memory for the rings of %s: ask for fewer slots", interface);
	return say(result, error, error_len, "cannot open raw frames on %s: %s", interface,
		   strerror(-result));
}

static int open_ring(struct raw *r, const struct raw_cfg *cfg, uint32_t port)
{
	const struct raw_sizes sizes = {cfg->rx_slots, cfg->tx_slots};
	const struct frames_port *p = frames_port(r->frames, port);
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = port};
	struct raw_ring *g = &r->rings[port];
	int result = raw_ring_open(g, &sizes, frames_via(r->frames), r->tag);

	/* One that is not up yet is bound when it is. */
	if (!result && p->is_up)
		result = raw_ring_bind(g, p->ifindex);
	if (!result && epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, g->fd, &event))
		result = -errno;
	return result;
}

static int open_all(struct raw *r, const struct raw_cfg *cfg, char *error, size_t error_len)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = AT_NEWS};
	int result = frames_new(&r->frames, &cfg->frames, &r->driver.count, error, error_len);

	if (!result)
		result = claim(r, error, error_len);
	if (result)
		return result;
	frames_set_guard(r->frames, &r->driver.guard);
	r->n_ports = cfg->frames.n_ports;
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0 || epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, frames_fd(r->frames), &event))
		return say(-errno, error, error_len,
			   "cannot wait for packets: %s; raise the limit on open files (ulimit -n) "
			   "if it is that",
			   strerror(errno));
	for (uint32_t i = 0; i < r->n_ports; i++) {
		result = open_ring(r, cfg, i);
		if (result)
			return refused(result, cfg->frames.interfaces[i], error, error_len);
	}
	return 0;
}

int raw_new(struct driver **out, const struct raw_cfg *cfg, char *error, size_t error_len)
{
	struct raw_cfg mine = *cfg;
	struct raw *r = calloc(1, sizeof *r);
	int result;

	if (!r)
		return say(-ENOMEM, error, error_len, "out of memory");
	r->driver.ops = &raw_ops;
	r->epoll_fd = r->claim_fd = -1;
	for (uint32_t i = 0; i < ENGINE_PORTS; i++)
		r->rings[i].fd = -1;
	if (!mine.rx_slots)
		mine.rx_slots = RX_SLOTS;
	if (!mine.tx_slots)
		mine.tx_slots = TX_SLOTS;
	if (mine.rx_slots < SLOTS_LEAST || mine.rx_slots > SLOTS_MOST ||
	    mine.tx_slots < SLOTS_LEAST || mine.tx_slots > SLOTS_MOST)
		result = say(-EINVAL, error, error_len,
			     "a ring has %d .. %d slots, not %u to receive and %u to send",
			     (int)SLOTS_LEAST, (int)SLOTS_MOST, mine.rx_slots, mine.tx_slots);
	else
		result = open_all(r, &mine, error, error_len);
	if (result) {
		raw_free(&r->driver);
		return result;
	}
	*out = &r->driver;
	return 0;
}
