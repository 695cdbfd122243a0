#include "io/xdp_inside.h"

#include <assert.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <sys/epoll.h>

enum {
	STEP_NS = 2000000,        /* between two looks for news */
	MISS_NS = 50000000,       /* between two questions what was dropped */
	OPEN_AGAIN_NS = 20000000, /* between two tries to take an interface up again */
	BUSY_TAKES = 64,          /* takes in a row that found frames make a queue a busy one */
	IDLE_LOOKS = 16,          /* receives in vain before a look for news out of turn, ... */
	LOOK_NS = 100000,         /* ... and the time between two: the kernel pays for each */
	FIRST_LEAST = 256,        /* of the first piece, says frames.h */
};

/* Chunks that were lent go back to the kernel, which has a place for each. */
static void refill(struct xdp_queue *q)
{
	uint32_t at = 0, n;

	if (q->lent == 0)
		return;
	n = xsk_ring_prod__reserve(&q->fill, q->lent, &at);
	for (uint32_t i = 0; i < n; i++)
		*xsk_ring_prod__fill_addr(&q->fill, at + i) =
			xsk_ring_cons__rx_desc(&q->rx, q->lent_at + i)->addr &
			~(uint64_t)(XDP_CHUNK - 1);
	if (n > 0)
		xsk_ring_prod__submit(&q->fill, n);
	xsk_ring_cons__release(&q->rx, q->lent);
	q->lent = 0;
	if (xsk_ring_prod__needs_wakeup(&q->fill))
		recvfrom(xsk_socket__fd(q->socket), NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

/* The descriptors of the next frame of n that are there, 0: it is not there as a whole. */
static uint32_t frame_descs(const struct xdp_queue *q, uint32_t at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!(xsk_ring_cons__rx_desc(&q->rx, at + i)->options & XDP_PKT_CONTD))
			return i + 1;
	return 0;
}

/* false: a drop was counted. No frame of ours has more pieces, and none of the kernel's a first
 * piece that headers do not fit. */
static bool read_frame(struct xdp_driver *x, uint32_t port, const struct xdp_queue *q, uint32_t at,
		       uint32_t n, struct rx_pkt *pkt)
{
	const struct xdp_port *p = &x->ports[port];
	struct cspan piece[FRAMES_PIECES] = {{0}};

	for (uint32_t i = 0; i < n && i < x->pieces_max; i++) {
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&q->rx, at + i);

		piece[i] = (struct cspan){p->memory + desc->addr, desc->len};
	}
	if (n > x->pieces_max || (n > 1 && piece[0].len < FIRST_LEAST)) {
		x->driver.count.rx++;
		x->driver.count.drop_headers++;
		return false;
	}
	return frames_read(x->frames, x->now, port, piece, pkt);
}

/* At most n packets of a queue; their descriptors stay in the ring while they are lent. */
static uint32_t take_from(struct xdp_driver *x, uint32_t port, struct xdp_queue *q,
			  struct rx_pkt *pkts, uint32_t n)
{
	uint32_t most = n * x->pieces_max, want = most > XDP_FRAME_DESCS ? most : XDP_FRAME_DESCS;
	uint32_t at = 0, have = xsk_ring_cons__peek(&q->rx, want, &at), used = 0, got = 0;

	while (got < n && used < have) {
		uint32_t descs = frame_descs(q, at + used, have - used);

		if (descs == 0)
			break;
		got += read_frame(x, port, q, at + used, descs, &pkts[got]);
		used += descs;
	}
	if (used < have)
		xsk_ring_cons__cancel(&q->rx, have - used);
	q->lent_at = at;
	q->lent = used;
	return got;
}

/* Has the kernel wake nobody for a queue that is never found empty: it would do so for each frame.
 * Who is to sleep gets a 0 before. */
static void note_busy(struct xdp_driver *x, uint32_t port, uint32_t queue)
{
	struct xdp_queue *q = &x->ports[port].queues[queue];

	if (q->lent == 0)
		q->n_busy = 0;
	else if (++q->n_busy >= BUSY_TAKES && q->is_watched &&
		 xdp_queue_watch(x, port, queue, false) == 0)
		x->has_unwatched = true;
}

/* Before a 0 is answered: a socket that has frames by now makes the set readable at once. */
static void watch_all(struct xdp_driver *x)
{
	x->has_unwatched = false;
	for (uint32_t i = 0; i < x->cfg.frames.n_ports; i++)
		for (uint32_t k = 0; k < x->ports[i].n_queues; k++)
			if (!x->ports[i].queues[k].is_watched &&
			    xdp_queue_watch(x, i, k, true) != 0)
				x->has_unwatched = true;
}

/* All queues of all ports in turn, from the one behind the last that filled a call. */
static uint32_t take_all(struct xdp_driver *x, struct rx_pkt *pkts, uint32_t n)
{
	uint32_t n_ports = x->cfg.frames.n_ports, port = x->next_port, queue = x->next_queue;
	uint32_t got = 0, turns = 1;

	assert(n_ports > 0);
	for (uint32_t i = 0; i < n_ports; i++)
		turns += x->ports[i].n_queues + 1;
	for (; turns > 0 && got < n; turns--) {
		if (queue >= x->ports[port].n_queues) {
			port = (port + 1) % n_ports;
			queue = 0;
			continue;
		}
		if (x->ports[port].queues[queue].lent == 0) {
			got += take_from(x, port, &x->ports[port].queues[queue], pkts + got,
					 n - got);
			note_busy(x, port, queue);
		}
		queue++;
	}
	x->next_port = port;
	x->next_queue = queue;
	return got;
}

/* Drops by the kernel: for want of a chunk or of a place in the ring. */
static void count_missed(struct xdp_driver *x)
{
	for (uint32_t i = 0; i < x->cfg.frames.n_ports; i++)
		for (uint32_t k = 0; k < x->ports[i].n_queues; k++) {
			struct xdp_queue *q = &x->ports[i].queues[k];
			struct xdp_statistics s = {0};
			socklen_t len = sizeof s;
			uint64_t missed;

			if (getsockopt(xsk_socket__fd(q->socket), SOL_XDP, XDP_STATISTICS, &s,
				       &len))
				continue;
			missed = s.rx_dropped + s.rx_ring_full;
			x->driver.count.rx_missed += missed - q->missed;
			q->missed = missed;
		}
}

/* Interfaces that went, came, or came back as another. */
static void follow_ports(struct xdp_driver *x)
{
	for (uint32_t i = 0; i < x->cfg.frames.n_ports; i++) {
		const struct frames_port *now = frames_port(x->frames, i);
		struct xdp_port *p = &x->ports[i];

		if (p->ifindex && p->ifindex != now->ifindex) {
			xdp_port_close(x, i);
			p->open_at = 0;
		}
		if (p->ifindex == 0 && now->is_up && x->now >= p->open_at) {
			p->open_at = x->now + OPEN_AGAIN_NS;
			xdp_port_open(x, i, NULL, 0);
		}
		/* Also what was left when the port went down: nobody else looks at it. */
		if (p->ifindex && now->is_up)
			xdp_kick(x, i);
	}
}

/* A socket in error is one whose interface is gone; it would be readable for ever. */
static void look(struct xdp_driver *x)
{
	struct epoll_event events[ENGINE_PORTS];
	int n = epoll_wait(x->epoll_fd, events, ENGINE_PORTS, 0);

	for (int i = 0; i < n; i++) {
		uint32_t port = events[i].data.u32 >> 16;

		if (events[i].data.u32 == XDP_NEWS)
			x->step_at = 0;
		else if (events[i].events & (EPOLLERR | EPOLLHUP)) {
			xdp_port_close(x, port);
			x->ports[port].open_at = x->now + OPEN_AGAIN_NS;
		} else if (events[i].events & EPOLLOUT)
			xdp_kick(x, port);
	}
}

static void step(struct xdp_driver *x)
{
	if (x->now < x->step_at)
		return;
	x->step_at = x->now + STEP_NS;
	frames_step(x->frames, x->now);
	follow_ports(x);
	if (x->now >= x->miss_at) {
		x->miss_at = x->now + MISS_NS;
		count_missed(x);
	}
}

uint32_t xdp_receive(struct driver *d, nsec now, struct rx_pkt *pkts, uint32_t n)
{
	struct xdp_driver *x = xdp_of(d);
	uint32_t got;

	x->now = now;
	for (uint32_t i = 0; i < x->cfg.frames.n_ports; i++)
		for (uint32_t k = 0; k < x->ports[i].n_queues; k++)
			refill(&x->ports[i].queues[k]);
	frames_settle(x->frames);
	step(x);
	got = take_all(x, pkts, n);
	if (got == 0 && x->has_unwatched)
		watch_all(x);
	if (got > 0) {
		d->count.rx_calls++;
		x->n_idle = 0;
	} else if (++x->n_idle >= IDLE_LOOKS && now >= x->look_at) {
		x->n_idle = 0;
		x->look_at = now + LOOK_NS;
		look(x);
	}
	return got;
}
