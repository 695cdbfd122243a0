/* Inside of nic: its objects, and what its files do for each other.
 *
 * A shard moves packets: an engine with its driver and its thread, and all that is touched for each
 * packet. A queue pair and a shared receive queue are of one shard for life. What users see besides
 * is the device's: its name, ports and addresses, its users, their domains, regions and completion
 * queues, what the transport's part keeps, what others are told. A device has one shard as yet:
 * what it does by its engines is a loop over them, and what would not do for several says
 * WITH_ONE_SHARD.
 *
 * Locks, in the order in which they are taken:
 * - that of the list of devices (device.c);
 * - those of a device's shards, by their numbers. Each guards its shard, and what is of it; all of
 *   them together the device (device_enter), so that to read what is its, any of them will do;
 * - a completion queue's, for its ring and whether it is armed: who polls one with entries takes
 *   no other;
 * - bell_lock of the device, for bells and the events that they ring for.
 * Nothing waits for a packet, a peer or an application while it holds one, but a bounded wait for
 * room in a socket, and those who end what has events: they wait for applications with bell_lock
 * given back, and hold no other. */
#ifndef WEFT_NIC_INSIDE_H
#define WEFT_NIC_INSIDE_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/keystream.h"
#include "base/list.h"
#include "base/nsec.h"
#include "control/members.h"
#include "io/driver.h"
#include "nic/nic.h"
#include "nic/transport.h"
#include "trace/ring.h"

#define NIC_SENTENCE_MAX 512u
#define NIC_SHARDS       1u
#define NIC_DONES        64u
#define NIC_LOW_NUMBERS  65536u /* of queue pairs: no two agree in these bits */
#define NIC_STEM_BITS    24u    /* upper ones of a key: of no two entries the same */
#define NIC_LOW_KEYS     256u   /* of windows: the low byte changes, the rest is nobody else's */

/* What follows serves one shard only; why, and so what more of them would need. */
#define WITH_ONE_SHARD(why) static_assert(NIC_SHARDS == 1, why)

/* A file descriptor that is readable while it rings. Nobody but its owner reads or writes it. The
 * device's bell_lock guards it, and the events that it rings for, wherever they are counted. */
struct bell {
	struct bell *next, **back; /* of the device: a forked child closes them */
	int fd;
	bool is_rung;
};

/* Where asynchronous events come from: an object, or a port. An event is a bit until it is taken,
 * so there is always room for it; the same thing twice before that is one event. */
struct source {
	struct list_link link; /* among those of its user that have one */
	void *object, *context;
	uint32_t waiting; /* bits 1 << enum nic_event_kind */
	uint32_t n_taken, n_acked;
};

struct nic_user {
	struct device *device;
	struct nic_user *next;
	uint32_t n_objects;
	atomic_uint n_polls; /* by nic_progress */
	struct bell bell;
	struct source ports[ENGINE_PORTS];
	struct list sources; /* those with an event */
};

struct nic_pd {
	struct nic_user *user;
	uint32_t number, n_users;
};

struct nic_mr {
	struct nic_pd *pd;
	uint32_t key;
};

struct nic_mw {
	struct nic_pd *pd;
	uint8_t kind;        /* enum mem_kind */
	uint32_t key;        /* of the last binding that was posted, see mw_key */
	struct shard *shard; /* NULL: none was; else on which queue pair ... */
	uint32_t qp;         /* ... of these, by number, */
	uint64_t life;       /* and in which of its lives */
	/* Its key once all is done that the post of this number brings. */
	uint64_t post;
	uint32_t post_key;
};

struct nic_channel {
	struct nic_user *user;
	uint32_t n_cqs;
	struct bell bell;
	struct list cqs; /* those with n_waiting > 0 */
};

enum cq_armed { CQ_NOT_ARMED, CQ_ARMED_SOLICITED, CQ_ARMED };

struct nic_cq {
	struct nic_user *user;
	struct nic_channel *channel; /* or NULL */
	struct event_ring *events;   /* in place of ring: of a queue of events */
	uint32_t n_users;            /* queue pairs, each as often as it names it */

	pthread_mutex_t lock; /* of what is here */
	struct done *ring;
	uint32_t cqe, head;
	_Atomic uint32_t count; /* who reads it without the lock has a hint */
	uint32_t n_vain;        /* polls that found nothing */
	bool is_overrun;
	uint8_t armed; /* enum cq_armed */

	/* With bell_lock. */
	struct source source;
	struct list_link link;                /* among the channel's */
	uint32_t n_waiting, n_taken, n_acked; /* events of the channel */
};

struct nic_srq {
	struct nic_pd *pd;
	struct shard *shard;
	struct source source;
	uint32_t number, n_users;
};

/* The driver's handles of a queue pair's path; DRIVER_NO_HANDLE: none. */
struct addr_pair {
	uint32_t local, peer;
};
#define NO_ADDR_PAIR ((struct addr_pair){DRIVER_NO_HANDLE, DRIVER_NO_HANDLE})

struct nic_qp {
	struct nic_user *user;
	struct shard *shard;
	struct nic_pd *pd;
	struct nic_cq *send_cq, *recv_cq;
	struct nic_srq *srq;
	struct source source;
	uint32_t number, remote_qp;
	uint64_t life; /* a number of its own, and a new one with each reset */
	bool is_all_signaled;
	struct transport_caps caps; /* as granted */
	struct addr_pair addrs;
	struct nic_path path;
	void *own; /* what the transport's part keeps of it; NULL: nothing */
};

/* Packets pulled that are yet to be sent: pkts[at .. at + n). */
struct backlog {
	struct tx_pkt pkts[DRIVER_BATCH];
	uint8_t *bytes;
	uint32_t slot_bytes; /* of them, for each packet */
	uint32_t at, n;
};

/* What moves packets, and all that is touched for each of them. */
struct shard {
	struct device *device;

	pthread_mutex_t lock;
	atomic_uint n_waiting;   /* threads that wait for the lock */
	pthread_cond_t answered; /* a question was answered; by CLOCK_MONOTONIC */

	struct engine *engine;
	size_t engine_bytes;
	struct trace trace; /* of the engine: to the memory that show.c lends it */
	struct driver *io;
	uint32_t held[NIC_GIDS_MAX]; /* handles of our addresses, see gids_hold */
	struct nic_qp **qps;         /* by the low bits of their numbers */
	struct nic_srq **srqs;

	/* Progress, see progress.c. */
	pthread_t thread;
	bool is_back; /* the thread leaves the work to those who poll */
	int kick_fd;
	nsec clock;             /* what the engine was last told */
	nsec rx_empty_at;       /* when nothing was left to be received, last */
	nsec wake_at;           /* the thread sleeps until then; 0: it is awake, or stands back */
	_Atomic nsec polled_at; /* when an application last polled */
	nsec armed_at;          /* and last armed a queue, ... */
	nsec posted_at;         /* ... or posted a request */
	uint64_t n_posts;       /* see nic_mw.post */
	uint32_t n_held, n_held_turns;
	bool is_waiting; /* an acknowledgement was not sent yet, see progress.c */
	bool is_behind;  /* a round of work is due: the driver may have more, or the engine has */
	struct backlog backlog;
	nsec retry_at;       /* of the backlog, if there is one, and of full_ports */
	uint32_t free_ports; /* had room when last looked at, or came up since, ... */
	uint32_t full_ports; /* ... or had none, and are up */
	struct rx_pkt rx[DRIVER_BATCH];
	struct tx_pkt tx[DRIVER_BATCH];
	struct done dones[NIC_DONES];
	uint8_t heads[DRIVER_BATCH][ENGINE_HEAD_MAX];
};

/* One for each device in use by this process. */
struct device {
	struct device *next; /* guarded by the list's lock, as is n_opens */
	uint32_t n_opens;
	bool is_dead; /* set in a forked child, before it has a second thread */

	pthread_mutex_t bell_lock; /* of all bells of its users, and of what they ring for */
	pthread_cond_t acked;      /* an event was acknowledged; with bell_lock */

	struct nic_info info;
	const struct transport *transport;
	const struct nic_transport_ops *ops;
	uint8_t asked_driver; /* enum config_driver; info has the one that it became */
	uint32_t n_ports;
	void *own;                 /* what the transport's part (ops) keeps of the device */
	struct event_ring *events; /* of queues of events, see event_ring.c, as are the next two */
	struct store *event_store; /* open while there are some */
	nsec events_at;            /* when they are looked for next, where nobody tells of them */
	struct mem *mem;
	size_t mem_bytes;
	struct keystream random;
	struct nic_user *users;
	struct bell *bells;
	uint64_t *stems; /* a bit for each: the upper 24 bits of a key in use */
	uint32_t n_qps, n_cqs, last_pd;
	_Atomic uint32_t n_armed; /* completion queues that are */
	uint64_t last_life;
	uint64_t n_changes; /* of queue pairs and ports, that move no packet: to be shown */

	bool is_stopping;
	int netlink_fd;
	uint32_t ports_up;       /* linked and not disabled, as the engines were told */
	uint32_t ports_linked;   /* as the drivers told; all, where they have no word on that */
	uint32_t disabled_ports; /* by a controller, as info counts them */
	uint32_t links_up;       /* interfaces that are up, as info counts them */
	bool is_linked;          /* one of them is, and the device has an address */

	struct shard *shards; /* NIC_SHARDS of them, see device_shard */
};

static inline struct shard *device_shard(const struct device *d, uint32_t i)
{
	return &d->shards[i];
}
/* Where a queue pair, or a shared receive queue, that is made will be. */
static inline struct shard *device_next_shard(const struct device *d)
{
	WITH_ONE_SHARD("there is nothing to choose from");
	return device_shard(d, 0);
}
static inline struct nic_qp *shard_qp(const struct shard *s, uint32_t number)
{
	return s->qps[number % NIC_LOW_NUMBERS];
}

/* Functions from here on by file, bottom up: none calls one of a file further down. */

/* error.c: as nic_fail, for functions that return pointers: sets errno. */
void *nic_fail_null(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* 0, or -ENODEV after a fork. Needs no lock. */
int device_check(const struct device *d);
/* The same; -ENOTSUP, and a sentence, for a device of another transport, ... */
int device_check_for(const struct device *d, const struct transport *transport);
/* ... or of one that has no table for the verbs. */
int device_check_verbs(const struct device *d);

/* backlog.c: its memory; what driver_send left of n packets, copied; true when all of it is sent.
 */
bool backlog_init(struct backlog *b, const struct carrier *c);
void backlog_fini(struct backlog *b);
void backlog_keep(struct backlog *b, const struct tx_pkt *pkts, uint32_t n);
/* Packets to a peer, or from an address, whose handle ends: lost, as on any wire. */
void backlog_forget(struct backlog *b, uint32_t peer, uint32_t local);
bool backlog_send(struct backlog *b, struct driver *u);

/* cc.c: the congestion control that a setup asks for; 0 as its window is what the buffers of
 * sockets bear. */
void device_cc(const struct config_setup *setup, struct cc_cfg *cc);

/* drivers.c: opens the driver that info names, or the next best, which info then names, and why. 0
 * or a negative errno and a sentence in error. */
int driver_open(struct nic_info *info, struct driver **io, char *error, size_t error_len);

/* An address that means something on one link only (RFC 4291, 2.5.6). */
static inline bool gid_is_of_link(const uint8_t gid[16])
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

/* watch.c: netlink's word of changed links and addresses; -1: none to be had. */
int watch_open(void);
/* Takes all that waits; true: something of the device's interfaces or addresses changed. */
bool watch_has_news(int fd, const struct nic_info *info);

/* lock.c */
nsec device_now(void);
/* A lock that is held for less time than a sleep takes, mostly: it is waited for awake at first. */
void short_lock_init(pthread_mutex_t *lock);
/* Takes the lock. */
void shard_enter(struct shard *s);
void shard_kick(struct shard *s);
/* When there is something to do by itself: the engine's deadline, or the backlog's. */
nsec shard_deadline(const struct shard *s);
/* Gives the lock back, and wakes the shard's thread if what was done needs it sooner than it would
 * wake by itself. */
void shard_leave(struct shard *s);
/* Waits for `answered`, until a time, with the lock given back meanwhile as by shard_leave. */
void shard_wait(struct shard *s, nsec until);
/* The same of all shards. */
void device_enter(struct device *d);
void device_leave(struct device *d);
void device_kick(struct device *d);
/* A queue pair or a port is not as it was. */
void device_changed(struct device *d);

/* numbers.c: the next pieces of randomness: a number no queue pair has, for one of this shard (0:
 * none left), a key no region has. */
uint32_t shard_draw_qp(struct shard *s);
uint32_t device_draw_key(struct device *d);
void device_return_key(struct device *d, uint32_t key);

/* counters.c: what all engines counted of this place in the transport's row, and all drivers. */
uint64_t device_count(const struct device *d, uint32_t place);
struct driver_counters device_driver_counters(const struct device *d);
/* Appends what d counted to the file that WEFT_COUNTERS names, if it does. */
void device_print_counters(const struct device *d);

/* bell.c */
int bell_open(struct device *d, struct bell *b);
void bell_close(struct device *d, struct bell *b);
/* With bell_lock held. */
void bell_ring(struct bell *b);
void bell_silence(struct bell *b);
/* Blocks until it rings, without a lock: 0, -EAGAIN when its descriptor is O_NONBLOCK, -EINTR. */
int bell_wait(const struct bell *b);
/* Takes bell_lock, as all of these do. */
void source_raise(struct nic_user *u, struct source *s, enum nic_event_kind kind);
/* The same; an event of the other kind that was not taken is void. */
void source_turn(struct nic_user *u, struct source *s, enum nic_event_kind kind,
		 enum nic_event_kind before);
/* false: there is no event. */
bool source_take(struct nic_user *u, struct nic_event *event);
void source_ack(struct nic_user *u, struct source *s);
/* Takes its events back, and waits until those taken were acknowledged: with no lock held, when
 * nobody raises any more. */
void source_end(struct nic_user *u, struct source *s);

/* channel.c: takes bell_lock. */
void channel_raise(struct nic_cq *cq);
/* As source_end, of the queue's events of its channel. */
void channel_end(struct nic_cq *cq);

/* ring.c: how many entries there are. */
static inline uint32_t cq_count(const struct nic_cq *cq)
{
	return atomic_load_explicit(&cq->count, memory_order_relaxed);
}
/* From here on with the queue's lock held, but for cq_push, which takes it. */
static inline void cq_set_count(struct nic_cq *cq, uint32_t count)
{
	atomic_store_explicit(&cq->count, count, memory_order_relaxed);
}
/* Where the entry i after the oldest is. */
uint32_t cq_place(const struct nic_cq *cq, uint32_t i);
void cq_arm(struct nic_cq *cq, bool is_solicited_only);
void cq_disarm(struct nic_cq *cq);
/* Something was added: makes the event that it was armed for. */
void cq_wake(struct nic_cq *cq);
/* What became of a completion: it is in the queue; it is lost, as the first one; or as others. */
enum cq_pushed { CQ_PUSHED, CQ_OVERRUN_NOW, CQ_OVERRUN_BEFORE };
enum cq_pushed cq_push(struct nic_cq *cq, const struct done *done);

/* event_ring.c: a queue of events has one of these in place of its own ring. */
struct event_ring {
	struct event_ring *next; /* of the device */
	struct nic_cq *cq;
	struct members *members;
	bool is_behind; /* there was no room for all */
	bool is_blind;  /* not everybody could be looked at */
	struct control_event at[];
};
/* Takes as many as there are and have room. As all of these, it takes the queue's lock. */
void event_ring_fill(struct event_ring *r);
/* Gives at most n of them out; their number. */
int event_ring_take(struct event_ring *r, struct control_event *events, int n);
/* Looks for processes that came, and fills it; 0, or a negative errno: not everybody could be
 * looked at. */
int event_ring_look(struct event_ring *r);
/* What is readable when a process on the device told something; -1: nothing is to be watched. Takes
 * what was told into all queues of events. */
int device_event_fd(const struct device *d);
void device_take_events(struct device *d);
/* Takes them where that shows nothing, from time to time; returns when to try again. */
nsec device_look_for_events(struct device *d, nsec now);
/* In a forked child: what they read from is closed. */
void device_drop_events(struct device *d);
/* Ends the ring of a queue that ends. */
void event_ring_free(struct device *d, struct event_ring *r);

/* complete.c */
enum engine_state qp_state(const struct nic_qp *qp);
/* Work of a queue pair failed, its completion queue did, or an event tells of an error: perhaps it
 * has ended. */
void qp_failed(const struct nic_qp *qp);
/* A completion of the engine's goes to its queue. */
void shard_complete(struct shard *s, const struct done *done);

/* events.c: takes the engine's events, and raises them. */
void shard_take_engine_events(struct shard *s);
/* The ports that are linked, as all drivers tell; the udp driver has no word on that. */
uint32_t device_linked_ports(const struct device *d);
/* Keeps what info, fresh from the list, says of the links. */
void device_note_links(struct device *d);
/* The interface is now as in info: tells every user what changed. */
void device_renew(struct device *d, const struct nic_info *info);
/* Tells the engines, and every user, which ports are up now. */
void device_follow_ports(struct device *d);
/* A controller disables these ports, and no others: they are as if their links were down. */
void device_disable_ports(struct device *d, uint32_t ports);

/* progress.c: sends what the engine has to send, and gives out what it completed. */
void shard_flush(struct shard *s);
/* One round of everything, bounded; returns the time. may_answer: a post may follow that takes
 * along what there is to acknowledge. */
nsec shard_step(struct shard *s, bool may_answer);
/* The same by an application, which is taken to go on: the thread stands back for a while. */
void shard_poll(struct shard *s);
/* The time for a call on the engine; before it, a round of work if timers are due. */
nsec shard_catch_up(struct shard *s);
void device_catch_up(struct device *d);
/* 0, or a negative errno and a sentence; then no thread runs. */
int device_start(struct device *d);
void device_stop(struct device *d);

/* shard.c: zero pages that cost nothing until they are touched; most never are. NULL: no room. */
void *pages_map(size_t bytes);
void pages_unmap(void *at, size_t bytes); /* at may be NULL */
/* In memory that is cleared; shard_fini, whatever else becomes of it. */
void shard_init(struct shard *s, struct device *d);
void shard_fini(struct shard *s);
/* Opens the driver that the device's info names, or the next best, and holds its addresses. 0, or a
 * negative errno and a sentence. */
int shard_open(struct shard *s);
/* Once all are open, and the device has its table of memory: makes engine and tables. The same. */
int shard_make(struct shard *s);
/* In a child of fork: closes what it would share with its parent. */
void shard_abandon(struct shard *s);

/* queue.c: as nic_cq_new; with a ring of events, which is the queue's from then on, in place of its
 * own. */
struct nic_cq *cq_new(struct nic_user *u, uint32_t cqe, struct nic_channel *channel, void *context,
		      struct event_ring *events);

/* region.c: as nic_mw_key; a binding to that key was posted. */
uint32_t mw_key(struct nic_mw *mw);
void mw_bound(struct nic_mw *mw, const struct nic_qp *qp, uint32_t key);

/* addr_pair.c: a GID as a socket address. */
struct sockaddr_storage gid_address(const uint8_t gid[16], uint32_t ifindex);
/* The address that a path names; NULL, and *error: it is not one to be used. */
const struct nic_gid *gid_find(const struct device *d, uint32_t index, int *error);
/* Opens both ends of a path. 0, or a negative errno and a sentence; then *addrs is none. */
int addr_pair_open(struct shard *s, uint32_t gid_index, const uint8_t dgid[16],
		   struct addr_pair *addrs);
void addr_pair_close(struct shard *s, struct addr_pair *addrs);
/* Whether packets of that path MTU fit it: 0, or a negative errno and a sentence. */
int addr_pair_check(struct shard *s, const struct addr_pair *addrs, uint16_t pmtu);
/* Holds all addresses of a device that is being opened, as far as they can be had. */
void gids_hold(struct shard *s);
/* Tries again to take an address that gids_hold could not have. 0, or a negative errno and
 * nic_error says why. */
int gids_hold_one(struct device *d, uint32_t gid_index);

/* connect.c: what the engine was asked to set of a queue pair, as far as the device keeps it. */
struct qp_setting {
	const struct nic_path *path; /* NULL: the one that it has */
	struct addr_pair addrs;      /* of path, open */
	const uint32_t *remote_qp;   /* NULL: as it was */
	bool is_reset;
};
/* The engine has set it, and answered r: the device keeps it, or closes the addresses and has a
 * sentence. Returns r. */
int qp_set(struct nic_qp *qp, const struct qp_setting *setting, int r);

#endif
