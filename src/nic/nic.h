/* The soft device: engine, driver and memory behind network interfaces, in this process.
 *
 * A device stands for interfaces with addresses and has two GIDs for each of them. Opening it makes
 * the engine and the sockets, shared by all who open it in this process. All objects (domains,
 * regions, completion queues, queue pairs) belong to a handle of nic_open and are passed back as
 * pointers.
 *
 * Progress: a thread of the device sleeps until a packet or a timer needs it. While the application
 * polls, nic_cq_poll and nic_progress do that work in the caller's thread and the device's thread
 * stands back. Every function may be called from any thread; whoever polls a completion queue that
 * has entries waits for nobody who sends or receives. Functions that return int give 0 or a
 * negative errno; those that return a pointer give NULL and set errno.
 *
 * After fork the child may not use what it inherited: every call fails with -ENODEV, its copies of
 * the sockets are closed, and the parent goes on. The child may open devices of its own. */
#ifndef WEFT_NIC_NIC_H
#define WEFT_NIC_NIC_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "config/config.h"
#include "engine/attr.h"
#include "engine/engine.h"
#include "engine/ladder.h"
#include "mem/mem.h"

#define NIC_GIDS_MAX  64u
#define NIC_GID_TABLE (2 * NIC_GIDS_MAX)

/* Limits, as a device reports them. */
#define NIC_MAX_QPS    16384u
#define NIC_MAX_SRQS   4096u
#define NIC_MAX_CQS    65536u
#define NIC_MAX_CQE    (1u << 20)
#define NIC_MAX_MRS    262144u /* regions and windows */
#define NIC_MAX_INLINE ENGINE_INLINE_MAX

struct nic_gid {
	uint8_t raw[16]; /* the address; IPv4 as ::ffff:a.b.c.d */
	struct sockaddr_storage address;
};

/* An interface as a port of a device. ifindex 0: there is none of that name. */
struct nic_port {
	char interface[IF_NAMESIZE];
	uint32_t ifindex, mtu;
	bool is_up;         /* there, up, and with a carrier */
	uint64_t speed_bps; /* 0: it does not tell */
};

/* A device as it can be opened. */
struct nic_info {
	char name[CONFIG_NAME_MAX]; /* weft_rc0, weft_rc1, ... weft_mrc0, ... or as the file has it
				     */
	struct config_setup setup;
	char why[CONFIG_WHY_MAX];    /* why this driver */
	char interface[IF_NAMESIZE]; /* of the first port that is there, as are ifindex and guid */
	uint32_t ifindex;
	uint32_t mtu;  /* the least of its ports' */
	uint64_t guid; /* EUI-64 of the interface, network order in memory */
	bool is_up;    /* one of its ports is */
	uint32_t n_ports;
	struct nic_port ports[ENGINE_PORTS];
	uint32_t n_gids;
	struct nic_gid gids[NIC_GIDS_MAX]; /* of all ports, and those that setup names beside */
};

/* GIDs have the numbers that they have on NICs, as programs do not ask: each address stands twice
 * in the table of NIC_GID_TABLE entries, first by RoCE version 1, which no queue pair here speaks,
 * then by version 2. In the first place is an IPv6 address, that of the link if there is one, else
 * nothing; then come IPv4, the other IPv6 addresses, and those of further links. */
static inline uint32_t nic_gid_index(uint32_t place)
{
	return 2 * place + 1;
}
static inline uint32_t nic_gid_place(uint32_t index)
{
	return index / 2;
}
static inline bool nic_gid_is_v1(uint32_t index)
{
	return index % 2 == 0;
}

/* The devices there are now, those of RC first: the ones that the configuration file describes, or
 * without one each interface with an address, loopback included, by number, as weft_rcN and as
 * weft_mrcN. The environment has a say too (docs/devices.md). *list is malloced. Returns their
 * number, or a negative errno and a sentence: of a file that is wrong there are no devices. */
int nic_list(struct nic_info **list);

/* Reads addresses, MTU and state of the interfaces again. An interface that was made anew under its
 * old name is the port again. -ENODEV, and nothing changes: none of them is there, or the device
 * has no address left. */
int nic_info_refresh(struct nic_info *info);

/* Whether a driver could serve an interface now: 0 or a negative errno, and in either case a
 * sentence, what it would do or why not. Changes nothing. */
int nic_probe(enum config_driver driver, const char *interface, char *why, size_t why_len);

/* What opening the device would come to: where xdp was asked for and one of the ports cannot,
 * setup.driver becomes raw, and why says so. */
void nic_settle(struct nic_info *info);

/* The largest PMTU of the transport whose packets fit an MTU whatever the operation, over IPv6
 * and under the segments that setup's entropy values need; 0: none does. */
uint32_t nic_pmtu(const struct config_setup *setup, uint32_t mtu);

struct nic_user; /* one nic_open: what a verbs context stands on */
struct nic_pd;
struct nic_mr;
struct nic_mw;
struct nic_channel;
struct nic_cq;
struct nic_srq;
struct nic_qp;

struct nic_user *nic_open(const struct nic_info *info);
/* -EBUSY while objects of it exist. */
int nic_close(struct nic_user *u);

/* The device as it stands. Addresses keep their places, and so the numbers of their GIDs, while
 * others come and go; an empty place is all zeros (nic_info_refresh does the same). */
int nic_query(struct nic_user *u, struct nic_info *info);

/* Asynchronous events of the user's objects. */
enum nic_event_kind {
	NIC_EVENT_CQ_ERROR,
	NIC_EVENT_QP_FATAL,
	NIC_EVENT_QP_INVALID,
	NIC_EVENT_QP_ACCESS,
	NIC_EVENT_ESTABLISHED,
	NIC_EVENT_QP_NO_RANGE, /* MRC 7.5.4: the peer tells no range, as it agreed to; all goes on
				*/
	NIC_EVENT_DRAINED,
	NIC_EVENT_LAST_WQE,
	NIC_EVENT_SRQ_LIMIT,
	NIC_EVENT_PORT_UP,
	NIC_EVENT_PORT_DOWN,
	NIC_EVENT_GID_CHANGE,
};
struct nic_event {
	uint8_t kind;  /* enum nic_event_kind */
	void *object;  /* nic_cq, nic_qp or nic_srq; NULL: a port */
	void *context; /* what its maker gave */
	uint8_t port;  /* counted from 0; of GID_CHANGE, which is of all of them, 0 */
};
/* A file descriptor readable when an event waits; nic_event_get blocks unless it is set O_NONBLOCK
 * (-EAGAIN). An object with events taken and not yet acknowledged is not destroyed: its destroyer
 * waits for nic_event_ack. */
int nic_event_fd(const struct nic_user *u);
int nic_event_get(struct nic_user *u, struct nic_event *event);
void nic_event_ack(struct nic_user *u, const struct nic_event *event);

struct nic_pd *nic_pd_new(struct nic_user *u);
int nic_pd_free(struct nic_pd *pd); /* -EBUSY while in use */

/* Regions. The key is drawn at random. at may be any memory; iova is the address peers name. */
struct nic_mr_spec {
	void *at;
	uint64_t len, iova;
	uint8_t access; /* enum mem_access */
};
struct nic_mr *nic_mr_new(struct nic_pd *pd, const struct nic_mr_spec *spec);
/* Makes a region what spec says, in a domain of the same user, under the key that it has. When it
 * returns 0 no packet touches what it was before, as with nic_mr_free; work that was posted with
 * the key finds what there is now. On an error it is what it was: -EBUSY while a window is bound to
 * it, else as nic_mr_new. Not for nic_mr_new_null's. */
int nic_mr_change(struct nic_mr *mr, struct nic_pd *pd, const struct nic_mr_spec *spec);
/* A region of every address for pieces of our own work: zeros are read from it, what is written to
 * it is forgotten. Peers have no right to it. */
struct nic_mr *nic_mr_new_null(struct nic_pd *pd);
/* When it returns 0 no packet that arrives later, and none on its way, touches the memory. -EBUSY
 * while a window is bound to it. */
int nic_mr_free(struct nic_mr *mr);
uint32_t nic_mr_key(const struct nic_mr *mr);

/* Windows are bound by work, see struct nic_work. Only the low byte of a window's key ever changes,
 * when a binding is executed; one that fails, or is flushed, leaves key and binding as they were.
 * nic_mw_key is the key once all bindings that were posted have been executed. */
struct nic_mw *nic_mw_new(struct nic_pd *pd, enum mem_kind kind);
int nic_mw_free(struct nic_mw *mw);
uint32_t nic_mw_key(struct nic_mw *mw);

/* Completion channels: fd is readable when a queue of it has an event; as nic_event_get. */
struct nic_channel *nic_channel_new(struct nic_user *u);
int nic_channel_free(struct nic_channel *c); /* -EBUSY while queues use it */
int nic_channel_fd(const struct nic_channel *c);
int nic_channel_get(struct nic_channel *c, struct nic_cq **cq, void **context);
void nic_cq_ack(struct nic_cq *cq, uint32_t n);

/* Completion queues. channel may be NULL. */
struct nic_cq *nic_cq_new(struct nic_user *u, uint32_t cqe, struct nic_channel *channel,
			  void *context);
int nic_cq_resize(struct nic_cq *cq, uint32_t cqe);
uint32_t nic_cq_cqe(struct nic_cq *cq);
int nic_cq_free(struct nic_cq *cq); /* -EBUSY while queue pairs use it; waits for acks */

/* Takes at most n completions, making progress when none is waiting. Does not sleep for one, but
 * offers the processor to others now and then. Negative: -ENODEV, or the queue has overrun
 * (-EOVERFLOW): a completion found no place, NIC_EVENT_CQ_ERROR told of it, and every queue pair
 * that uses it went to ENGINE_ERROR with NIC_EVENT_QP_FATAL. */
int nic_cq_poll(struct nic_cq *cq, struct done *done, int n);

/* Does what nic_cq_poll does where no completion waits, for users who poll no queue: they look at
 * memory, or at counters. The device's thread stands back as long as they go on. */
int nic_progress(struct nic_user *u);

/* The next completion to be added (or the next solicited or failed one) makes one event. */
int nic_cq_arm(struct nic_cq *cq, bool is_solicited_only);

struct nic_srq *nic_srq_new(struct nic_pd *pd, const struct engine_srq_caps *caps, void *context);
int nic_srq_free(struct nic_srq *s);
int nic_srq_limit(struct nic_srq *s, uint32_t limit);
int nic_srq_query(struct nic_srq *s, struct engine_srq_caps *caps, uint32_t *limit);
uint32_t nic_srq_number(const struct nic_srq *s);

/* Zero stands for the transport's default, see struct transport_caps. */
struct nic_qp_spec {
	struct nic_pd *pd; /* of the user, or with TRANSPORT_CONTROL of any of the device's */
	struct nic_cq *send_cq, *recv_cq;
	struct nic_srq *srq; /* or NULL */
	uint32_t max_send, max_recv, max_send_sge, max_recv_sge, max_inline;
	uint32_t ahead_pkts, ahead_imm;
	bool is_all_signaled;
	void *context;
};
struct nic_qp *nic_qp_new(struct nic_user *u, struct nic_qp_spec *spec); /* spec: as granted */
int nic_qp_free(struct nic_qp *qp);
uint32_t nic_qp_number(const struct nic_qp *qp);

/* Where both ends are: an address of ours and a GID of the peer's. */
struct nic_path {
	uint32_t gid_index; /* see nic_gid_index */
	uint8_t dgid[16];
	uint8_t traffic_class, hop_limit; /* for nic_qp_query: packets carry the driver's own */
	uint32_t flow_label;              /* 0: made from the numbers of both queue pairs */
	uint8_t sl; /* TRANSPORT_CLASSES: service level, < CONFIG_SLS, as setup has its DSCPs */
	/* TRANSPORT_PROFILES: where hosts have an address in the plane of each port, the ports
	 * that have one of their own at both ends, a bit each (-ENOTSUP: not with this driver). */
	uint32_t planes;
	struct nic_plane {
		uint32_t gid_index;
		uint8_t dgid[16];
	} plane[ENGINE_PORTS];
};

/* Two ends that tell each other this, and their GIDs, by whatever means they have, are then
 * connected, each by itself: from RESET to where both may send, with timeouts that suit software.
 * An end has a number of its first packet that is drawn for it, another each time. */
int nic_qp_end(struct nic_qp *qp, struct transport_end *end);

struct nic_link {
	struct transport_end mine, theirs;
	struct nic_path path;
	uint16_t pmtu;
	uint8_t access; /* enum mem_access: what the peer may do at all */
};
/* 0; -EPROTO: theirs makes no sense; -EINVAL: it is not in RESET; or as nic_qp_modify has it for a
 * path. Unless 0 it is in RESET. */
int nic_qp_connect(struct nic_qp *qp, const struct nic_link *link);

/* How a queue pair fares. */
int nic_qp_progress(struct nic_qp *qp, struct transport_progress *progress);

/* Of transports that have a table for the verbs (transport/verbs.h): as its modify, but the path is
 * as above; ENGINE_SET_PATH opens the socket and checks that the PMTU fits the route: -EMSGSIZE,
 * -EADDRINUSE, -ENETUNREACH, -EOPNOTSUPP for a GID of version 1, ... and a sentence on stderr when
 * the environment variable WEFT_VERBOSE is set; nic_error has it in any case. */
int nic_qp_modify(struct nic_qp *qp, const struct engine_attr *attr, uint32_t set,
		  const struct nic_path *path);
int nic_qp_query(struct nic_qp *qp, struct engine_attr *attr, struct nic_path *path,
		 bool *is_draining);

/* Posts n works to a queue pair (op.qp is filled in), or receives (ENGINE_RECV); *posted of them
 * were taken, the first that was not gives the answer: -ENOMEM when the queue is full, else as the
 * engine's post. Without ENGINE_SILENT, or on a queue pair that is_all_signaled, a success is
 * reported. With ENGINE_INLINE the bytes are copied, at most max_inline. What is posted together is
 * sent together. */
struct nic_work {
	struct op op;
	/* ENGINE_BIND, in place of op.bind and the key in op.imm: the window, and where it is to
	 * be. Its new key has the upper bits of the old one, and its lower ones are whoever posts
	 * it's to say, for type 2; type 1 gets the next, which is filled in. */
	struct nic_mw *window;
	struct mem_binding *bind;
};
int nic_post(struct nic_qp *qp, struct nic_work *work, uint32_t n, uint32_t *posted);
/* The same for works that are posted all or none. */
int nic_post_all(struct nic_qp *qp, struct nic_work *work, uint32_t n);
/* Takes back the oldest work with this cookie, a receive or work to be sent, of which nothing has
 * happened, as the engine's cancel has it; -ENOTSUP also for receives of a shared queue. */
int nic_cancel(struct nic_qp *qp, uint64_t cookie, bool is_recv);
int nic_srq_post(struct nic_srq *s, struct nic_work *work, uint32_t n, uint32_t *posted);

/* The sentence of the last failure in this thread, or "". */
const char *nic_error(void);
/* Keeps one, for the doors above as well: on stderr too if WEFT_VERBOSE is set. Returns -error. */
int nic_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Counters of the device's engine, as its transport's row has them, or as many as fit so many
 * bytes, and of its driver, as they stand; either may be NULL. */
struct driver_counters;
void nic_counters(struct nic_user *u, void *engine, size_t bytes, struct driver_counters *io);
/* One of the former, by its place in the row. */
uint64_t nic_count(struct nic_user *u, uint32_t place);

#endif
