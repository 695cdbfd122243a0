/* The contract between a transport and whatever drives it: a wire, a simulated fabric, a test.
 *
 * An engine is one endpoint: all its queue pairs, one thread; no system call, clock, allocation or
 * callback. The same configuration (seed included) and the same calls give the same outputs, byte
 * for byte. The driver's loop: receive, input; pull until short, send; poll, deliver; sleep until
 * deadline or a packet. Each transport defines how its queue pairs are set up in its own header.
 *
 * Laws, each one a test of every engine:
 * 1. input returns nothing. A bad packet is a counter, never an error of ours; everything is
 *    validated before anything changes.
 * 2. Received bytes are lent for the call. Sent payload is never copied by an engine, but for what
 *    ENGINE_INLINE asks it to keep.
 * 3. pull, also with n = 0, runs timers. deadline counts only what may go. A deadline after now
 *    means that pull returns 0, and a pull shorter than n a deadline after now.
 * 4. No packet leaves on a port beyond its room, nor where its class may not go. Acknowledgements
 *    are never starved by data, also where data may not go and their class may.
 * 5. post takes all it is given, or none, and reserves the completions' slots. Completions that are
 *    reported and successes that ENGINE_SILENT keeps are together the works that ended. What cancel
 *    took back ends in its turn, and nobody sees anything else of it. Completions that no post
 *    reserved are at most as many as were lent. Unacknowledged packets mean a deadline.
 * 6. Memory is one block from the caller, of ops->size(cfg) bytes at max_align_t, and what the
 *    configuration lends for the engine's life: a table of memory regions, and a trace. Engines of
 *    one thread may share both.
 * 7. Regions are looked up by the engine's thread, each time anew: no address is kept beyond the
 *    call, but for the pieces of packets that pull has given out. A region may go when they were
 *    sent and no call is under way.
 * 8. Where the trace is on, each packet is one event at most on each side (trace/event.h), and
 *    nothing else changes. */
#ifndef WEFT_ENGINE_ENGINE_H
#define WEFT_ENGINE_ENGINE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"
#include "base/span.h"

#define ENGINE_HEAD_MAX   104u /* most header bytes any transport writes */
#define ENGINE_PORTS      8u   /* most ports of an endpoint */
#define ENGINE_SGE        16u  /* most pieces of a work request */
#define ENGINE_INLINE_MAX 512u /* most bytes of one that post copies */
#define ENGINE_PIECES     17u  /* most pieces of a packet's payload: those, and its padding */
#define ENGINE_BODY       3u   /* most pieces of one that arrived, behind its head */
#define ENGINE_ECN_CE     3u   /* congestion experienced, in the two bits of IP */

/* A piece of the application's memory. at NULL, len > 0: virtual bytes, all zero. */
struct sge {
	void *at;
	uint32_t len, lkey;
};

/* A packet that arrived, from the transport header on and without its closing CRC, which the driver
 * checked and a switch that trims cuts off. Lent for one call; no pointer into it is kept. */
struct rx_pkt {
	struct cspan head; /* real bytes: all transport headers, or all of a shorter packet */
	struct cspan body[ENGINE_BODY]; /* what follows head; pieces may be empty or virtual */
	nsec at;                        /* arrival, <= now */
	uint64_t stamp;                 /* what the cipher carried: PSP IV, TSS counter, or 0 */
	uint32_t peer, local;    /* driver's handles: who sent it, which address of ours it named */
	uint32_t ev, sa;         /* 32-bit entropy as seen; security association, 0 = clear */
	uint16_t udp_len;        /* as carried: the original length when trimmed */
	uint8_t port, dscp, ttl; /* the outermost header's */
	uint8_t trimmed;         /* enum net_trim */
	uint8_t is_uncut; /* trimmed by its DSCP alone: all of it is there, closing CRC checked */
	uint8_t ecn;      /* the two bits of the outermost IP header */
};

static inline uint64_t engine_body_bytes(const struct rx_pkt *p)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < ENGINE_BODY; i++)
		bytes += p->body[i].len;
	return bytes;
}

/* How a packet wants to be treated; the driver's configuration gives each a DSCP (MRC Table 7-8, UE
 * Table 3-70). One of ENGINE_DSCP and up is no class but a DSCP of the packet's own: ENGINE_DSCP +
 * 0 .. 63. */
enum engine_tclass {
	ENGINE_DATA,    /* DSCP_TRIMMABLE, or DSCP_NO_TRIM where the fabric does not trim */
	ENGINE_RETX,    /* DSCP_TRIMMABLE_RTX */
	ENGINE_NO_TRIM, /* DSCP_NO_TRIM */
	ENGINE_CONTROL, /* DSCP_CONTROL */
	ENGINE_TCLASSES,
};
#define ENGINE_DSCP 64u

static inline bool engine_is_tclass(uint8_t tclass)
{
	return tclass < ENGINE_TCLASSES || (tclass >= ENGINE_DSCP && tclass < 2 * ENGINE_DSCP);
}

/* The DSCP of a packet, where dscp has those of the classes. */
static inline uint8_t engine_dscp(uint8_t tclass, const uint8_t dscp[ENGINE_TCLASSES])
{
	return tclass < ENGINE_TCLASSES ? dscp[tclass] : (uint8_t)(tclass - ENGINE_DSCP);
}

/* A packet to send. The driver lends head, ENGINE_HEAD_MAX bytes; all else is the engine's answer,
 * valid until the next call on this engine. */
struct tx_pkt {
	uint8_t *head;
	uint16_t head_len;
	uint16_t udp_len; /* 0: the right one; else what the UDP header shall say (M-13) */
	uint8_t port, tclass, n_body;
	uint8_t not_ect;      /* 1: not ECN-capable */
	uint32_t peer, local; /* driver's handles */
	uint32_t ev, sa;
	uint64_t stamp;
	struct cspan body[ENGINE_PIECES]; /* payload where the application left it */
};

/* What may leave: pkts of them on each port, and on each port packets of some classes, a bit for
 * each class and port in `may`. A link partner stops some classes, and takes others. A packet with
 * a DSCP of its own counts as of the class that it would have without. An engine may hold back more
 * than it must, as long as law 3 holds: all that is data while one of data's classes may not go. */
struct engine_room {
	uint16_t pkts[ENGINE_PORTS];
	uint32_t may;
};
static_assert(ENGINE_TCLASSES * ENGINE_PORTS == 32, "a bit for each class and port");

/* All classes on each of these ports. */
static inline uint32_t engine_may_all(uint32_t ports)
{
	return (ports & ((1u << ENGINE_PORTS) - 1)) * UINT32_C(0x01010101);
}

/* The ports on which packets of a class may go; and those on which all classes of data may. */
static inline uint32_t engine_ports_of(uint32_t may, enum engine_tclass tclass)
{
	return may >> (uint32_t)tclass * ENGINE_PORTS & ((1u << ENGINE_PORTS) - 1);
}

static inline uint32_t engine_data_ports(uint32_t may)
{
	return engine_ports_of(may, ENGINE_DATA) & engine_ports_of(may, ENGINE_RETX) &
	       engine_ports_of(may, ENGINE_NO_TRIM);
}

/* What may go of all, where a port without room takes nothing. */
static inline uint32_t engine_may(const struct engine_room *room)
{
	uint32_t ports = 0;

	for (uint32_t port = 0; port < ENGINE_PORTS; port++)
		ports |= (uint32_t)(room->pkts[port] > 0) << port;
	return room->may & engine_may_all(ports);
}

struct mem_binding;

enum engine_op {
	ENGINE_WRITE,
	ENGINE_WRITE_IMM,
	ENGINE_SEND,
	ENGINE_SEND_IMM,
	ENGINE_SEND_INV, /* imm: the key that the receiver shall invalidate */
	ENGINE_READ,
	ENGINE_ATOMIC,    /* atomic_op, operand */
	ENGINE_LOCAL_INV, /* imm: a key of our own */
	ENGINE_BIND,      /* bind, see op.bind */
	ENGINE_RECV,      /* a place for a message that consumes a receive */
};

enum engine_atomic { ENGINE_COMPARE_SWAP, ENGINE_FETCH_ADD };

/* op.flags, and done.flags where they say so. */
enum engine_flag {
	ENGINE_SILENT = 1,    /* a success is not reported, but counted */
	ENGINE_SOLICITED = 2, /* op: wake the receiver; done: the sender asked for that */
	ENGINE_FENCE = 4,     /* not before all reads and atomics posted earlier are done */
	ENGINE_TRUSTED = 8,   /* the pieces are the poster's own: no lkey is looked at */
	ENGINE_SHARED = 16,   /* ENGINE_RECV: op.qp is the number of a shared receive queue */
	ENGINE_HAS_IMM = 32,  /* done: imm is valid */
	ENGINE_HAS_INV = 64,  /* done: imm is the key that the sender invalidated */
	ENGINE_INLINE = 128,  /* op, writes and sends: the bytes are copied by post, no lkey is
			       * looked at, and pieces may be as many as one likes */
};

/* How work ended; done.status. The verbs' own classes (IBTA 11.6.2). */
enum engine_status {
	ENGINE_OK,
	ENGINE_LOCAL_LENGTH,     /* a message did not fit the receive, or is longer than allowed */
	ENGINE_LOCAL_QP,         /* work that this queue pair cannot do */
	ENGINE_LOCAL_PROTECTION, /* a key of ours does not cover its piece */
	ENGINE_FLUSHED,          /* the queue pair had failed, or was ended, before its turn */
	ENGINE_BIND_FAILED,
	ENGINE_BAD_RESPONSE,     /* the peer's answer made no sense */
	ENGINE_LOCAL_ACCESS,     /* a peer's write with immediate data met a protection fault */
	ENGINE_REMOTE_INVALID,   /* the peer refused the request as senseless */
	ENGINE_REMOTE_ACCESS,    /* the peer refused the key, range or right */
	ENGINE_REMOTE_OPERATION, /* the peer failed */
	ENGINE_RETRY_EXCEEDED,   /* the peer was silent too long */
	ENGINE_RNR_EXCEEDED,     /* the peer had no receive posted for too long */
	ENGINE_FATAL,
	ENGINE_CANCELLED, /* taken back before anything of it happened */
	ENGINE_STATUSES,
};

/* What the application wants done. Copied by post, its sge list too; the bytes are not. */
struct op {
	const struct op *next; /* posted together: for the same queue, and behind it; or NULL */
	uint64_t cookie, remote, key, imm, tag, ignore;
	const struct sge *sg;
	uint32_t qp;
	uint32_t peer; /* of a queue with many peers: the receiver, by its address handle */
	uint32_t ticket, flags; /* enum engine_flag */
	uint16_t n_sg;
	uint8_t code, atomic_op, atomic_type; /* code: enum engine_op */
	uint8_t operand[2][16];               /* in host order, from the first byte */
	const struct mem_binding *bind;       /* ENGINE_BIND: window key in imm */
};

enum engine_done { ENGINE_DONE_SENT, ENGINE_DONE_RECEIVED, ENGINE_DONE_REQUEST };

/* What became of work. What a transport does not have is 0. peer is the driver's handle, or that of
 * the work itself where it named its receiver. */
struct done {
	uint64_t cookie, imm, tag;
	uint64_t offset; /* of a message in a receive that takes several: where its bytes begin */
	uint32_t len;    /* bytes of the message, also of those that found no place */
	uint32_t qp, peer, ticket, flags; /* enum engine_flag */
	uint32_t source;                  /* receives: who sent it, as the transport numbers them */
	int16_t status;     /* enum engine_status, or a negative errno of the engine's own */
	uint16_t peer_code; /* why the peer refused it, as its transport numbers that */
	uint8_t code, op;   /* enum engine_done, engine_op */
	uint8_t atomic_op;  /* enum engine_atomic */
};
static_assert(sizeof(struct done) <= 64, "a completion is a cache line");

/* Things that happen to a queue, and not to work of it (IBTA 11.6.3). Each kind is told of once,
 * however often it happened since it was taken, and none is ever lost. */
enum engine_event_kind {
	ENGINE_EVENT_ESTABLISHED,  /* the first packet came while still in ENGINE_RTR */
	ENGINE_EVENT_DRAINED,      /* ENGINE_SQD: nothing is out any more */
	ENGINE_EVENT_FATAL,        /* an error that no work tells of */
	ENGINE_EVENT_INVALID,      /* the peer sent a senseless request */
	ENGINE_EVENT_ACCESS,       /* the peer's request met a protection fault */
	ENGINE_EVENT_LAST_RECEIVE, /* in error and on a shared queue: it takes no more from it */
	ENGINE_EVENT_QUEUE_LIMIT, /* fewer receives than the limit are left; number: of the queue */
	ENGINE_EVENT_NO_RANGE,    /* the peer tells no range, though the ends agreed on it */
	ENGINE_EVENT_EV_STATE,    /* some entropy value is assumed bad now, or no longer */
	/* Of engines that serve peers which they were not told of; number: the driver's handle.
	 * Taken before the driver receives again: keeps what is lent for one receive, and gives it
	 * back. Room for a stranger may stay taken until both were. */
	ENGINE_EVENT_PEER_HELD,
	ENGINE_EVENT_PEER_RELEASED,
	ENGINE_EVENTS,
};
struct engine_event {
	uint32_t number;
	uint8_t kind; /* enum engine_event_kind */
};

/* First member of every transport's own struct. */
struct engine {
	const struct engine_ops *ops;
};

struct engine_ops {
	/* Bytes init needs; 0: the configuration is bad. */
	size_t (*size)(const void *cfg);
	/* 0 or -EINVAL. The block behind the engine is size(cfg) bytes, not cleared. */
	int (*init)(struct engine *e, const void *cfg, nsec now);
	/* Takes op and those behind it, in their order, or none: 0; -EINVAL, also for an address
	 * handle that there is not; -ENOMEM: there is no room for all; -ENOENT: there is no such
	 * queue. */
	int (*post)(struct engine *e, nsec now, const struct op *op);
	/* Takes posted work back, the oldest with op's cookie in op's queue (qp, peer,
	 * ENGINE_SHARED, and whether it is ENGINE_RECV) of which nothing has happened: a receive
	 * that no message has begun to use, or work of which nothing left. It ends with
	 * ENGINE_CANCELLED when what was posted before it has ended. 0; -ENOENT: no such queue, or
	 * no such work that has not ended; -EBUSY: something has happened; -ENOTSUP: that queue
	 * gives nothing back. NULL: none does. */
	int (*cancel)(struct engine *e, nsec now, const struct op *op);
	/* Its user has room for n more completions of a queue that no post reserves: of messages
	 * that use no receive. While none is left, such a message is not taken, but put off as its
	 * transport has it: a full queue fails nobody. 0; -ENOENT: no such queue, or posts reserve
	 * all that it has; -ENOMEM: the engine keeps no more. NULL: no queue has such ones. */
	int (*lend)(struct engine *e, uint32_t queue, uint32_t n);
	void (*input)(struct engine *e, nsec now, const struct rx_pkt *pkts, uint32_t n);
	/* Fills at most n packets, of those that room lets go; returns how many. */
	uint32_t (*pull)(struct engine *e, nsec now, const struct engine_room *room,
			 struct tx_pkt *pkts, uint32_t n);
	uint32_t (*poll)(struct engine *e, struct done *done, uint32_t n);
	/* When to pull next, counting only what may go, as engine_room.may has it; NSEC_NEVER: not
	 * by itself. */
	nsec (*deadline)(const struct engine *e, uint32_t may);
	/* Takes at most n events, those of the queue that has had some for longest first. */
	uint32_t (*events)(struct engine *e, struct engine_event *events, uint32_t n);
	/* What it has counted, as many numbers as its transport's row has names for. */
	const uint64_t *(*count)(const struct engine *e);
};

#endif
