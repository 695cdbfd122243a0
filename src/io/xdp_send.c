#include "io/xdp_inside.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>

enum {
	KICKS = 64,     /* calls in a row, each of which moved something */
	REAP_AT = 2048, /* completions taken at once, at most */
};

/* Chunks that the frame of a packet may take. */
static uint32_t chunks_per_frame(const struct xdp_driver *x, const struct xdp_port *p)
{
	return p->has_pieces ? x->chunks_per_frame : 1;
}

void xdp_reap(struct xdp_port *p)
{
	struct xsk_ring_cons *done;
	uint32_t at = 0, n;

	if (p->ifindex == 0)
		return;
	done = &p->queues[p->tx_queue].completion;
	n = xsk_ring_cons__peek(done, REAP_AT, &at);
	for (uint32_t i = 0; i < n; i++)
		p->free[p->n_free++] =
			*xsk_ring_cons__comp_addr(done, at + i) & ~(uint64_t)(XDP_CHUNK - 1);
	if (n > 0)
		xsk_ring_cons__release(done, n);
}

/* Descriptors that the kernel has not yet taken from the ring. */
static uint32_t waiting(const struct xdp_port *p)
{
	return *p->tx.producer - __atomic_load_n(p->tx.consumer, __ATOMIC_ACQUIRE);
}

/* Whoever sleeps shall wake to try again what the kernel would not take. */
static void set_behind(struct xdp_driver *x, uint32_t port, bool is_behind)
{
	struct xdp_port *p = &x->ports[port];
	struct epoll_event event = {.events = EPOLLOUT, .data.u32 = port << 16 | XDP_SENDER};

	if (p->is_behind != is_behind &&
	    epoll_ctl(x->epoll_fd, is_behind ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
		      xsk_socket__fd(p->sender), &event) == 0)
		p->is_behind = is_behind;
}

/* A call sends some and returns with EAGAIN while there are more, or with EBUSY when the interface
 * lost one. Where the kernel does not copy, the interface takes them by itself once it is told. */
void xdp_kick(struct xdp_driver *x, uint32_t port)
{
	struct xdp_port *p = &x->ports[port];
	uint32_t left = waiting(p), before = left + 1;

	for (unsigned i = 0; i < KICKS && left > 0 && left != before; i++) {
		if (!xsk_ring_prod__needs_wakeup(&p->tx))
			break;
		x->driver.count.tx_calls++;
		if (sendto(xsk_socket__fd(p->sender), NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 &&
		    errno != EAGAIN && errno != EBUSY && errno != ENOBUFS)
			break;
		before = left;
		left = p->is_zero_copy ? 0 : waiting(p);
	}
	set_behind(x, port, left > 0 && !p->is_zero_copy && frames_port(x->frames, port)->is_up);
}

static void put_descriptor(struct xdp_port *p, uint32_t len, uint32_t options)
{
	uint32_t at = 0, n = xsk_ring_prod__reserve(&p->tx, 1, &at);

	/* The ring has a place for each chunk there is. */
	assert(n == 1);
	*xsk_ring_prod__tx_desc(&p->tx, at) =
		(struct xdp_desc){.addr = p->free[--p->n_free], .len = len, .options = options};
	p->n_ready++;
}

/* The packet's frame into the next free chunks, and their descriptors. What is refused is counted.
 */
static void put_frame(struct xdp_driver *x, struct xdp_port *p, const struct tx_pkt *pkt)
{
	const uint32_t most = chunks_per_frame(x, p);
	struct frames_out out = {.at = {NULL}};
	uint32_t left;

	for (uint32_t i = 0; i < most; i++) {
		out.at[i] = p->memory + p->free[p->n_free - 1 - i];
		out.room[i] = XDP_CHUNK;
	}
	left = frames_write(x->frames, x->now, pkt, &out);
	if (left == 0)
		return;
	x->driver.count.tx++;
	for (; left > XDP_CHUNK; left -= XDP_CHUNK)
		put_descriptor(p, XDP_CHUNK, XDP_PKT_CONTD);
	put_descriptor(p, left, 0);
}

static void flush(struct xdp_driver *x)
{
	for (uint32_t i = 0; i < x->cfg.frames.n_ports; i++) {
		struct xdp_port *p = &x->ports[i];

		if (p->n_ready == 0)
			continue;
		xsk_ring_prod__submit(&p->tx, p->n_ready);
		p->n_ready = 0;
		xdp_kick(x, i);
	}
}

uint32_t xdp_send(struct driver *d, const struct tx_pkt *pkts, uint32_t n)
{
	struct xdp_driver *x = xdp_of(d);
	uint32_t i;

	/* Before each burst: the chunks that came back last are used first, being in the cache. */
	for (i = 0; i < x->cfg.frames.n_ports; i++)
		xdp_reap(&x->ports[i]);
	for (i = 0; i < n; i++) {
		uint32_t port = pkts[i].port;
		struct xdp_port *p = &x->ports[port];

		assert(port < x->cfg.frames.n_ports);
		if (p->ifindex == 0) {
			d->count.tx_down++;
			continue;
		}
		if (p->n_free < chunks_per_frame(x, p))
			break;
		put_frame(x, p, &pkts[i]);
	}
	flush(x);
	return i;
}

void xdp_room(struct driver *d, uint16_t room[ENGINE_PORTS])
{
	struct xdp_driver *x = xdp_of(d);

	for (uint32_t i = 0; i < ENGINE_PORTS; i++) {
		struct xdp_port *p = &x->ports[i];
		uint32_t n = 0;

		if (i < x->cfg.frames.n_ports && p->ifindex && frames_port(x->frames, i)->is_up) {
			if (p->n_free < DRIVER_BATCH * chunks_per_frame(x, p))
				xdp_reap(p);
			n = p->n_free / chunks_per_frame(x, p);
		}
		room[i] = (uint16_t)(n < DRIVER_BATCH ? n : DRIVER_BATCH);
	}
}
