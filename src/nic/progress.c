/* Who does the work of a device, and when.
 *
 * Whoever holds the lock may do it. An application that polls an empty completion queue does one
 * round itself: that is the shortest way for a packet. The device's thread does it when nobody
 * polls; it sleeps until a packet, a deadline of the engine, or a kick. While someone polls it
 * looks only now and then whether that has ended: two threads on one socket would only wait for
 * each other. An application that arms completion queues wants to sleep: then it never stands
 * back. */
#define _GNU_SOURCE /* ppoll(2) */
#include "nic/inside.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define FEW           2u /* packets, of which an answer may wait for a post */
#define FRESH_NS      UINT64_C(50000)
#define PULL          60u                /* packets: four bursts of the largest PMTU */
#define ROUNDS        2u                 /* of them, sent in one go */
#define HELD_MOST     4096u              /* packets, see must_wait */
#define HELD_TURNS    4u                 /* that found all there was */
#define RECEIVES_MOST 16u                /* calls for packets in one of them */
#define RETRY_NS      UINT64_C(500000)   /* a full port is tried again, by a thread that slept */
#define POLLED_NS     UINT64_C(100000)   /* someone polls: they did, so lately */
#define ANSWERS_NS    UINT64_C(1000000)  /* someone answers: they posted, so lately */
#define HOLD_NS       UINT64_C(10000)    /* and will post before, or the thread acknowledges */
#define ARMED_NS      UINT64_C(1000000)  /* someone sleeps: they armed a queue, so lately */
#define BACK_LEAST_NS UINT64_C(100000)   /* standing back, the first look */
#define BACK_MOST_NS  UINT64_C(400000)   /* and later ones */
#define NEWS_NS       UINT64_C(1000000)  /* between two looks for news, while it is busy */
#define LINGER_NS     UINT64_C(20000000) /* the longest sleep right after work, see work */
#define SLACK_NS      2000ul             /* a timer's, where the default is 50 us */

/* Which ports take packets now. One that is full is looked at again before long: nothing tells when
 * it has room. */
static void look(struct device *d, uint16_t room[ENGINE_PORTS])
{
	driver_room(d->io, room);
	d->free_ports = 0;
	for (uint32_t port = 0; port < d->n_ports; port++) {
		/* The driver knows nothing of ports that are disabled. */
		if (!(d->ports_up >> port & 1))
			room[port] = 0;
		d->free_ports |= (uint32_t)(room[port] > 0) << port;
	}
	d->full_ports = d->ports_up & ~d->free_ports;
	if (d->full_ports)
		d->retry_at = d->clock + RETRY_NS;
}

/* Returns whether it sent anything, which takes time. */
static bool transmit(struct device *d)
{
	bool has_sent = d->backlog.n > 0;
	uint16_t room[ENGINE_PORTS];

	if (!backlog_send(&d->backlog, d->io)) {
		d->retry_at = d->clock + RETRY_NS;
		return true;
	}
	if (!d->full_ports && device_deadline(d) > d->clock)
		return has_sent;
	look(d, room);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t n = d->engine->ops->pull(d->engine, d->clock, room, d->tx, PULL);
		uint32_t sent = n ? driver_send(d->io, d->tx, n) : 0;

		has_sent |= n > 0;
		if (sent < n) {
			backlog_keep(&d->backlog, d->tx + sent, n - sent);
			d->retry_at = d->clock + RETRY_NS;
		}
		/* The engine has no more, or its ports have not: the next look tells. */
		if (n < PULL || sent < n)
			break;
		look(d, room);
	}
	return has_sent;
}

static void deliver(struct device *d)
{
	uint32_t n;

	/* Bounded by the works posted. */
	do {
		n = d->engine->ops->poll(d->engine, d->dones, NIC_DONES);
		for (uint32_t i = 0; i < n; i++)
			device_complete(d, &d->dones[i]);
	} while (n == NIC_DONES);
	device_take_engine_events(d);
}

void device_flush(struct device *d)
{
	d->is_waiting = false;
	transmit(d);
	deliver(d);
}

/* Who polls for a message and gets it may answer it at once, and its answer can take the
 * acknowledgement along: sending that first, by itself, would hold the answer up for as long as the
 * kernel takes for a packet. If no post follows, the next round sends it. The same goes for a
 * program that finds messages by looking at its memory, where the thread receives them: without the
 * acknowledgement the peer goes on polling, and receives the answer itself. */
static bool may_wait(struct device *d, uint32_t n, bool may_answer)
{
	d->is_waiting = may_answer && !d->is_waiting && n > 0 && n <= FEW && !d->backlog.n &&
			device_deadline(d) <= d->clock;
	return d->is_waiting;
}

/* The engine's time. A timer that fires takes what it did not receive for silence, so while one is
 * due time stands still until all that has arrived was received: a thread that slept too long, or
 * has more to read than it can, would else send everything again and have even more to read. What
 * is received then may be answered, by ourselves even, and is received once more; but not without
 * end, as round trips are measured by this clock: after some turns, or HELD_MOST packets, it moves
 * on. */
static bool must_wait(struct device *d, nsec now)
{
	return d->engine->ops->deadline(d->engine, 0) <= now && d->n_held < HELD_MOST &&
	       d->n_held_turns < HELD_TURNS;
}

static void advance(struct device *d, nsec now)
{
	d->n_held = d->n_held_turns = 0;
	d->clock = now;
}

/* What comes by a port that is disabled is not received. Returns how many are left of n. */
static uint32_t drop_disabled(struct device *d, uint32_t n)
{
	uint32_t disabled = d->ports_linked & ~d->ports_up, left = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!(disabled >> d->rx[i].port & 1))
			d->rx[left++] = d->rx[i];
	d->io->count.rx_delivered -= n - left;
	d->io->count.drop_disabled += n - left;
	return left;
}

static void receive_some(struct device *d, uint32_t n)
{
	if (d->ports_up != d->ports_linked)
		n = drop_disabled(d, n);
	d->engine->ops->input(d->engine, d->clock, d->rx, n);
	/* Peers whose handles would not outlast the next receive. */
	if (transport_has(d->transport, TRANSPORT_STRANGERS))
		device_take_engine_events(d);
}

/* Takes what has arrived: some of it, or all while time stands still. Returns how many packets. */
static uint32_t receive(struct device *d, nsec now)
{
	bool is_held = must_wait(d, now);
	uint32_t sum = 0, n = 0;

	if (!is_held)
		advance(d, now);
	for (uint32_t i = 0; i == 0 || (i < RECEIVES_MOST && is_held && n); i++) {
		n = driver_receive(d->io, d->clock, d->rx, DRIVER_BATCH);
		sum += n;
		if (n)
			receive_some(d, n);
	}
	/* Packets that the driver has read already do not make its descriptor readable: whoever
	 * sleeps has got a 0 before. */
	d->is_behind = sum > 0;
	if (is_held) {
		d->n_held += sum;
		d->n_held_turns += n == 0;
	}
	if (sum == 0) {
		advance(d, now);
		d->rx_empty_at = now;
	}
	device_follow_ports(d);
	return sum;
}

nsec device_step(struct device *d, bool may_answer)
{
	nsec now = device_now();
	uint32_t n = receive(d, now);
	bool has_sent = !may_wait(d, n, may_answer) && transmit(d);

	deliver(d);
	return has_sent ? device_now() : now;
}

void device_poll(struct device *d)
{
	nsec now = device_step(d, true);

	atomic_store_explicit(&d->polled_at, now, memory_order_relaxed);
}

nsec device_catch_up(struct device *d)
{
	nsec now = device_now();

	/* All that had arrived was received a moment ago: no timer that is due now was due then. */
	if (device_deadline(d) <= now && now > d->rx_empty_at + FRESH_NS)
		device_step(d, false);
	else
		d->clock = now;
	return d->clock;
}

static bool has_poller(const struct device *d, nsec now)
{
	nsec polled_at = atomic_load_explicit(&d->polled_at, memory_order_relaxed);

	return !d->n_armed && now < polled_at + POLLED_NS && now - d->armed_at > ARMED_NS;
}

static void look_at_links(struct device *d)
{
	struct nic_info info;

	device_enter(d);
	info = d->info;
	device_leave(d);
	/* What is gone keeps what it had, but is down. */
	if (nic_info_refresh(&info)) {
		info.is_up = false;
		for (uint32_t i = 0; i < info.n_ports; i++)
			info.ports[i].is_up = false;
	}
	device_enter(d);
	device_renew(d, &info);
	device_leave(d);
}

/* Sleeps until a packet (not when standing back), news of the interface, of a controller or of
 * other processes, a kick, or a time. */
static void nap(struct device *d, bool is_back, int event_fd, nsec until)
{
	struct pollfd fds[] = {
		{.fd = d->kick_fd, .events = POLLIN},
		{.fd = d->netlink_fd, .events = POLLIN},
		{.fd = is_back ? -1 : driver_fd(d->io), .events = POLLIN},
		{.fd = d->ops->news_fd ? d->ops->news_fd(d) : -1, .events = POLLIN},
		{.fd = event_fd, .events = POLLIN},
	};
	nsec now = device_now(), left = until > now ? until - now : 0;
	struct timespec t = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
	uint64_t kicks;

	if (ppoll(fds, sizeof fds / sizeof fds[0], until == NSEC_NEVER ? NULL : &t, NULL) <= 0)
		return;
	if (fds[0].revents && read(d->kick_fd, &kicks, sizeof kicks) < 0)
		return; /* another thread's kick was taken already */
	if (fds[1].revents && watch_has_news(d->netlink_fd, &d->info))
		look_at_links(d);
	if (fds[3].revents) {
		device_enter(d);
		d->ops->take_news(d);
		device_leave(d);
	}
	if (fds[4].revents) {
		device_enter(d);
		device_take_events(d);
		device_leave(d);
	}
}

/* One turn of the thread; returns until when it may sleep. Right after work that is LINGER_NS at
 * most: the next post sets a deadline, and would have to wake it if that came sooner than it wakes
 * by itself. */
static nsec work(struct device *d, nsec now)
{
	bool was_behind = d->is_behind;

	device_step(d, now - d->posted_at < ANSWERS_NS);
	if (d->is_waiting)
		return now + HOLD_NS;
	if (d->is_behind)
		return 0;
	nsec until = device_deadline(d);

	/* A port that is back may have to be tried again before it serves. */
	bool lacks_port = d->ports_up != (UINT32_C(1) << d->n_ports) - 1;

	return (was_behind || lacks_port) && until > now + LINGER_NS ? now + LINGER_NS : until;
}

static void *run(void *context)
{
	struct device *d = context;
	nsec back_ns = BACK_LEAST_NS, napped_at = 0;

	prctl(PR_SET_NAME, "weft-nic");
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	device_enter(d);
	while (!d->is_stopping) {
		nsec now = device_now(), until, show = NSEC_NEVER;

		if (d->ops->show)
			show = d->ops->show(d, now);
		nsec look = device_look_for_events(d, now);

		show = look < show ? look : show;
		d->is_back = has_poller(d, now);
		if (d->is_back) {
			until = now + back_ns;
			back_ns = back_ns < BACK_MOST_NS ? 2 * back_ns : back_ns;
			d->wake_at = 0;
		} else {
			until = work(d, now);
			until = until < show ? until : show;
			back_ns = BACK_LEAST_NS;
			d->wake_at = until;
		}
		bool is_back = d->is_back;
		int event_fd = device_event_fd(d);

		pthread_mutex_unlock(&d->lock);
		/* However busy it is, news are looked for; and taking the lock again at once would
		 * leave nothing to those who wait for it. */
		if (until || now > napped_at + NEWS_NS) {
			nap(d, is_back, event_fd, until);
			napped_at = now;
		} else if (atomic_load_explicit(&d->n_waiting, memory_order_relaxed)) {
			sched_yield();
		}
		device_enter(d);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* The application's signals are not for this thread: its handlers do not expect it. */
int device_start(struct device *d)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&d->thread, NULL, run, d);

	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r ? nic_fail(r, "no thread for %s: %s", d->info.name, strerror(r)) : 0;
}

void device_stop(struct device *d)
{
	device_enter(d);
	d->is_stopping = true;
	pthread_mutex_unlock(&d->lock);
	device_kick(d);
	pthread_join(d->thread, NULL);
}
