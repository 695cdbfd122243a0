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
static void look(struct shard *s, struct engine_room *room)
{
	driver_room(s->io, room->pkts);
	s->free_ports = 0;
	for (uint32_t port = 0; port < s->device->n_ports; port++) {
		/* The driver knows nothing of ports that are disabled. */
		if (!(s->device->ports_up >> port & 1))
			room->pkts[port] = 0;
		s->free_ports |= (uint32_t)(room->pkts[port] > 0) << port;
	}
	room->may = engine_may_all(s->free_ports); /* no driver stops a class alone */
	s->full_ports = s->device->ports_up & ~s->free_ports;
	if (s->full_ports)
		s->retry_at = s->clock + RETRY_NS;
}

/* Returns whether it sent anything, which takes time. */
static bool transmit(struct shard *s)
{
	bool has_sent = s->backlog.n > 0;
	struct engine_room room;

	if (!backlog_send(&s->backlog, s->io)) {
		s->retry_at = s->clock + RETRY_NS;
		return true;
	}
	if (!s->full_ports && shard_deadline(s) > s->clock)
		return has_sent;
	look(s, &room);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t n = s->engine->ops->pull(s->engine, s->clock, &room, s->tx, PULL);
		uint32_t sent = n ? driver_send(s->io, s->tx, n) : 0;

		has_sent |= n > 0;
		if (sent < n) {
			backlog_keep(&s->backlog, s->tx + sent, n - sent);
			s->retry_at = s->clock + RETRY_NS;
		}
		/* The engine has no more, or its ports have not: the next look tells. */
		if (n < PULL || sent < n)
			break;
		look(s, &room);
	}
	return has_sent;
}

static void deliver(struct shard *s)
{
	uint32_t n;

	/* Bounded by the works posted. */
	do {
		n = s->engine->ops->poll(s->engine, s->dones, NIC_DONES);
		for (uint32_t i = 0; i < n; i++)
			shard_complete(s, &s->dones[i]);
	} while (n == NIC_DONES);
	shard_take_engine_events(s);
}

void shard_flush(struct shard *s)
{
	s->is_waiting = false;
	transmit(s);
	deliver(s);
}

/* Who polls for a message and gets it may answer it at once, and its answer can take the
 * acknowledgement along: sending that first, by itself, would hold the answer up for as long as the
 * kernel takes for a packet. If no post follows, the next round sends it. The same goes for a
 * program that finds messages by looking at its memory, where the thread receives them: without the
 * acknowledgement the peer goes on polling, and receives the answer itself. */
static bool may_wait(struct shard *s, uint32_t n, bool may_answer)
{
	s->is_waiting = may_answer && !s->is_waiting && n > 0 && n <= FEW && !s->backlog.n &&
			shard_deadline(s) <= s->clock;
	return s->is_waiting;
}

/* The engine's time. A timer that fires takes what it did not receive for silence, so while one is
 * due time stands still until all that has arrived was received: a thread that slept too long, or
 * has more to read than it can, would else send everything again and have even more to read. What
 * is received then may be answered, by ourselves even, and is received once more; but not without
 * end, as round trips are measured by this clock: after some turns, or HELD_MOST packets, it moves
 * on. */
static bool must_wait(struct shard *s, nsec now)
{
	return s->engine->ops->deadline(s->engine, 0) <= now && s->n_held < HELD_MOST &&
	       s->n_held_turns < HELD_TURNS;
}

static void advance(struct shard *s, nsec now)
{
	s->n_held = s->n_held_turns = 0;
	s->clock = now;
}

/* What comes by a port that is disabled is not received. Returns how many are left of n. */
static uint32_t drop_disabled(struct shard *s, uint32_t n)
{
	uint32_t disabled = s->device->ports_linked & ~s->device->ports_up, left = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!(disabled >> s->rx[i].port & 1))
			s->rx[left++] = s->rx[i];
	s->io->count.rx_delivered -= n - left;
	s->io->count.drop_disabled += n - left;
	return left;
}

static void receive_some(struct shard *s, uint32_t n)
{
	if (s->device->ports_up != s->device->ports_linked)
		n = drop_disabled(s, n);
	s->engine->ops->input(s->engine, s->clock, s->rx, n);
	/* Peers whose handles would not outlast the next receive. */
	if (transport_has(s->device->transport, TRANSPORT_STRANGERS))
		shard_take_engine_events(s);
}

/* Takes what has arrived: some of it, or all while time stands still. Returns how many packets. */
static uint32_t receive(struct shard *s, nsec now)
{
	bool is_held = must_wait(s, now);
	uint32_t sum = 0, n = 0;

	if (!is_held)
		advance(s, now);
	for (uint32_t i = 0; i == 0 || (i < RECEIVES_MOST && is_held && n); i++) {
		n = driver_receive(s->io, s->clock, s->rx, DRIVER_BATCH);
		sum += n;
		if (n)
			receive_some(s, n);
	}
	/* Packets that the driver has read already do not make its descriptor readable: whoever
	 * sleeps has got a 0 before. */
	s->is_behind = sum > 0;
	if (is_held) {
		s->n_held += sum;
		s->n_held_turns += n == 0;
	}
	if (sum == 0) {
		advance(s, now);
		s->rx_empty_at = now;
	}
	device_follow_ports(s->device);
	return sum;
}

nsec shard_step(struct shard *s, bool may_answer)
{
	nsec now = device_now();
	uint32_t n = receive(s, now);
	bool has_sent = !may_wait(s, n, may_answer) && transmit(s);

	deliver(s);
	return has_sent ? device_now() : now;
}

void shard_poll(struct shard *s)
{
	nsec now = shard_step(s, true);

	atomic_store_explicit(&s->polled_at, now, memory_order_relaxed);
}

nsec shard_catch_up(struct shard *s)
{
	nsec now = device_now();

	/* All that had arrived was received a moment ago: no timer that is due now was due then. */
	if (shard_deadline(s) <= now && now > s->rx_empty_at + FRESH_NS)
		shard_step(s, false);
	else
		s->clock = now;
	return s->clock;
}

void device_catch_up(struct device *d)
{
	for (uint32_t i = 0; i < NIC_SHARDS; i++)
		shard_catch_up(device_shard(d, i));
}

static bool has_poller(const struct shard *s, nsec now)
{
	nsec polled_at = atomic_load_explicit(&s->polled_at, memory_order_relaxed);

	return !atomic_load(&s->device->n_armed) && now < polled_at + POLLED_NS &&
	       now - s->armed_at > ARMED_NS;
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
static void nap(struct shard *s, bool is_back, int event_fd, nsec until)
{
	struct device *d = s->device;
	struct pollfd fds[] = {
		{.fd = s->kick_fd, .events = POLLIN},
		{.fd = d->netlink_fd, .events = POLLIN},
		{.fd = is_back ? -1 : driver_fd(s->io), .events = POLLIN},
		{.fd = d->ops->news_fd ? d->ops->news_fd(d) : -1, .events = POLLIN},
		{.fd = event_fd, .events = POLLIN},
	};
	nsec now = device_now(), left = until > now ? until - now : 0;
	struct timespec t = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
	uint64_t kicks;

	if (ppoll(fds, sizeof fds / sizeof fds[0], until == NSEC_NEVER ? NULL : &t, NULL) <= 0)
		return;
	if (fds[0].revents && read(s->kick_fd, &kicks, sizeof kicks) < 0)
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
static nsec work(struct shard *s, nsec now)
{
	bool was_behind = s->is_behind;

	shard_step(s, now - s->posted_at < ANSWERS_NS);
	if (s->is_waiting)
		return now + HOLD_NS;
	if (s->is_behind)
		return 0;
	nsec until = shard_deadline(s);

	/* A port that is back may have to be tried again before it serves. */
	bool lacks_port = s->device->ports_up != (UINT32_C(1) << s->device->n_ports) - 1;

	return (was_behind || lacks_port) && until > now + LINGER_NS ? now + LINGER_NS : until;
}

/* What the thread does that is the device's; returns when it is to be done next. */
static nsec look_after(struct device *d, nsec now)
{
	WITH_ONE_SHARD("a thread that has its shard's lock has the device's");
	nsec show = d->ops->show ? d->ops->show(d, now) : NSEC_NEVER;
	nsec look = device_look_for_events(d, now);

	return look < show ? look : show;
}

static void *run(void *context)
{
	struct shard *s = context;
	struct device *d = s->device;
	nsec back_ns = BACK_LEAST_NS, napped_at = 0;

	prctl(PR_SET_NAME, "weft-nic");
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	shard_enter(s);
	while (!d->is_stopping) {
		nsec now = device_now(), until, next = look_after(d, now);

		s->is_back = has_poller(s, now);
		if (s->is_back) {
			until = now + back_ns;
			back_ns = back_ns < BACK_MOST_NS ? 2 * back_ns : back_ns;
			s->wake_at = 0;
		} else {
			until = work(s, now);
			until = until < next ? until : next;
			back_ns = BACK_LEAST_NS;
			s->wake_at = until;
		}
		bool is_back = s->is_back;
		int event_fd = device_event_fd(d);

		pthread_mutex_unlock(&s->lock);
		/* However busy it is, news are looked for; and taking the lock again at once would
		 * leave nothing to those who wait for it. */
		if (until || now > napped_at + NEWS_NS) {
			nap(s, is_back, event_fd, until);
			napped_at = now;
		} else if (atomic_load_explicit(&s->n_waiting, memory_order_relaxed)) {
			sched_yield();
		}
		shard_enter(s);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* The first n of them. */
static void stop(struct device *d, uint32_t n)
{
	device_enter(d);
	d->is_stopping = true;
	device_leave(d);
	device_kick(d);
	for (uint32_t i = 0; i < n; i++)
		pthread_join(device_shard(d, i)->thread, NULL);
}

/* The application's signals are not for these threads: its handlers do not expect them. */
int device_start(struct device *d)
{
	sigset_t all, old;
	uint32_t n = 0;
	int r = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; n < NIC_SHARDS && !r; n += !r)
		r = pthread_create(&device_shard(d, n)->thread, NULL, run, device_shard(d, n));
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!r)
		return 0;
	stop(d, n);
	return nic_fail(r, "no thread for %s: %s", d->info.name, strerror(r));
}

void device_stop(struct device *d)
{
	stop(d, NIC_SHARDS);
}
