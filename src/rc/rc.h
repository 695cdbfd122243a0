/* RoCEv2 Reliable Connection as an engine (engine/engine.h): IBTA volume 1, chapter 9 for the
 * packets and their order, chapters 10 and 11 for queue pairs and completions.
 *
 * One struct rc is one device: queue pairs and shared receive queues by number, above one memory
 * table. Numbers, keys and first PSNs come from the caller, who draws them so that no peer can
 * guess them. Memory of a queue pair comes from the caller too, with rc_qp_new, and goes back with
 * rc_qp_free: an engine of a thousand queue pairs need not be planned for the largest.
 *
 * Work is posted with ops->post: send work to a queue pair, ENGINE_RECV to a queue pair or, with
 * ENGINE_SHARED, to a shared receive queue. Completions come out of ops->poll: those of one queue
 * in the order of its work requests; each once. done.source of a receive is the peer's number;
 * done.peer_code the syndrome of the AETH with which it refused work, or put it off too often.
 * Invariants: every packet put in increments one counter of RC_ACCEPTED or RC_DROPS; nothing is
 * placed that is not wholly inside a region with the right to it; a request is executed once
 * however often it arrives. */
#ifndef WEFT_RC_RC_H
#define WEFT_RC_RC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cc/cc.h"
#include "engine/attr.h"
#include "engine/engine.h"
#include "engine/ladder.h"
#include "mem/mem.h"
#include "trace/ring.h"

#define RC_NUMBERS       (UINT32_C(1) << 24) /* of queue pairs and of packets */
#define RC_RD_ATOMIC_MAX 16u                 /* reads and atomics out at once, each way */
#define RC_WR_MAX        32768u
#define RC_MESSAGE_MAX   (UINT32_C(1) << 30) /* that we send; we take twice that (IBTA 9.7.2) */
#define RC_PKEY          0xffffu             /* the default partition: RoCE has no other */
#define RC_HEAD_BYTES    40u                 /* most header bytes: BTH and atomic request */

/* Zero stands for the default in brackets. */
struct rc_cfg {
	struct mem *mem;             /* lent for the engine's life */
	uint32_t max_qps, max_srqs;  /* 1 .. 2^20; 0 .. 2^20 */
	uint32_t n_ports;            /* 1 .. ENGINE_PORTS [1] */
	struct cc_cfg cc;            /* of every queue pair */
	uint64_t total_window_bytes; /* out at once, of all queue pairs [unbounded] */
	uint64_t own_window_bytes;   /* that each may have out even so: a peer that is slow or
				      * silent shall not stop all the others [0] */
	nsec cnp_every_ns;           /* per queue pair at most one CNP in this time [50 us] */
	bool is_cnp_port_checked;    /* CNPs count only from the port that other packets come by */
	uint32_t ack_every_pkts;     /* a packet in so many asks for an acknowledgement [32] */
	struct tracer trace;
};

/* What a queue pair is made with, for life. */
struct rc_caps {
	uint32_t max_send, max_recv;         /* work requests, 1 .. RC_WR_MAX; max_recv 0: none */
	uint32_t max_send_sge, max_recv_sge; /* 0 .. ENGINE_SGE */
	uint32_t max_inline;                 /* bytes, 0 .. ENGINE_INLINE_MAX */
	uint32_t pd;
	uint32_t srq; /* RC_NO_SRQ: its own receive queue */
};
#define RC_NO_SRQ UINT32_MAX

/* clang-format off */
/* What became of a packet: exactly one of these two lists counts it. */
#define RC_ACCEPTED(C) \
	C(rx_request,      "requests taken") \
	C(rx_duplicate,    "requests that had come before: answered again, not executed again") \
	C(rx_nak_sent,     "requests refused with a NAK") \
	C(rx_rnr_sent,     "requests put off: no receive was posted") \
	C(rx_response,     "acknowledgements and responses taken") \
	C(rx_nak,          "NAKs taken") \
	C(rx_rnr,          "RNR NAKs taken") \
	C(rx_cnp,          "congestion notifications taken")
#define RC_DROPS(C) \
	C(drop_malformed,  "dropped: too short, too long, or padding that contradicts the length") \
	C(drop_opcode,     "dropped: not an opcode of reliable connections") \
	C(drop_pkey,       "dropped: another partition") \
	C(drop_qp,         "dropped: no such queue pair, or not one of ours to address") \
	C(drop_state,      "dropped: the queue pair is in no state to take it") \
	C(drop_stranger,   "dropped: not from the queue pair's peer") \
	C(drop_ahead,      "dropped: after a gap that a NAK has told of already") \
	C(drop_repeat,     "dropped: a duplicate that is being answered, or too old to be") \
	C(drop_response,   "dropped: a response to nothing that is out, or out of turn") \
	C(drop_trimmed,    "dropped: a switch cut its payload off") \
	C(drop_cnp,        "dropped: a congestion notification from another port than the peer's")
#define RC_COUNTERS(C) \
	C(tx_request,      "request packets sent the first time") \
	C(tx_retx,         "request packets retransmitted") \
	C(tx_ack,          "acknowledgements sent") \
	C(tx_nak,          "NAKs sent, those for receives not ready included") \
	C(tx_response,     "read and atomic response packets sent") \
	C(tx_cnp,          "congestion notifications sent") \
	C(rx,              "packets received") \
	RC_ACCEPTED(C) \
	RC_DROPS(C) \
	C(rx_ecn,          "packets that carried congestion experienced") \
	C(rx_bytes,        "payload bytes placed, each once") \
	C(timeouts,        "times that nothing was received for too long") \
	C(implied_naks,    "responses that told of a lost one before them") \
	C(failed,          "queue pairs that went to error on their own")
/* clang-format on */

struct rc_counters {
#define RC_COUNTER_MEMBER(name, text) uint64_t name;
	RC_COUNTERS(RC_COUNTER_MEMBER)
#undef RC_COUNTER_MEMBER
};

/* The engine's functions; its configuration is a struct rc_cfg. post answers -ENOMEM when the
 * queue is full (never -EAGAIN), -EINVAL for what the queue pair, its caps or its state do not
 * allow (sends before ENGINE_RTS, receives in ENGINE_RESET), -ENOENT for an unknown number. In
 * ENGINE_ERROR work is taken and comes back flushed. */
extern const struct engine_ops rc_ops;

/* The memory a queue pair of these caps needs, at max_align_t; 0: caps out of range. */
size_t rc_qp_size(const struct rc_caps *caps);

/* Makes queue pair number, in ENGINE_RESET, in memory, which is the engine's until rc_qp_free. 0,
 * -EINVAL, -EEXIST, -ENOSPC, -ENOENT for the shared receive queue. Numbers 0 and 1 are special on
 * the wire (IBTA 3.5.1), but a fabric of our own may use them. */
int rc_qp_new(struct engine *e, uint32_t number, const struct rc_caps *caps, void *memory);

/* Ends it: its work is forgotten, reported or not. Returns its memory, or NULL: no such number. */
void *rc_qp_free(struct engine *e, uint32_t number);

/* Sets what `set` names (enum engine_set) and moves to attr->state if that is named: the
 * transitions of IBTA 10.3.1, any state to ENGINE_RESET or ENGINE_ERROR. ENGINE_INIT to ENGINE_RTR
 * needs PMTU, PATH, REMOTE_QP and RQ_PSN set; ENGINE_RTR to ENGINE_RTS needs SQ_PSN. The numbers of
 * the peer and of packets are below RC_NUMBERS, reads and atomics RC_RD_ATOMIC_MAX at most, the
 * port below n_ports. 0, -ENOENT, -EINVAL; then nothing changed. ENGINE_ERROR flushes, ENGINE_RESET
 * forgets all work. */
int rc_qp_modify(struct engine *e, nsec now, uint32_t number, const struct engine_attr *attr,
		 uint32_t set);

/* The time of a code of silence (IBTA 9.7.6.1.3), 0 for never. */
nsec rc_timeout_ns(uint8_t code);
#define RC_TIMER_LAST 31u /* of its codes, and of those of RNR NAKs */

/* The attributes and caps as they are; either may be NULL. 0 or -ENOENT. ENGINE_SQD counts as
 * draining while *is_draining. */
int rc_qp_query(const struct engine *e, uint32_t number, struct engine_attr *attr,
		struct rc_caps *caps, bool *is_draining);

/* How a queue pair fares, for reports; counted since it was made. 0 or -ENOENT. */
struct rc_progress {
	uint64_t inflight_bytes; /* payload sent or asked for and not yet answered */
	nsec srtt_ns;            /* 0: not known */
	uint64_t sent_bytes;     /* payload acknowledged, and of responses to reads */
	uint64_t got_bytes;      /* payload placed */
	uint64_t sent_packets;   /* of requests, each once, ... */
	uint64_t retx_packets;   /* ... and once more */
	uint64_t timeouts;
	uint64_t silent; /* works that ended in success and were not reported, since ENGINE_RESET */
};
int rc_qp_progress(const struct engine *e, uint32_t number, struct rc_progress *p);

/* Shared receive queues: the same for them. A queue in use by a queue pair is not freed: NULL. */
size_t rc_srq_size(const struct engine_srq_caps *caps);
int rc_srq_new(struct engine *e, uint32_t number, const struct engine_srq_caps *caps, void *memory);
void *rc_srq_free(struct engine *e, uint32_t number);

/* Arms ENGINE_EVENT_QUEUE_LIMIT, once, for when fewer than limit receives are left; 0 disarms. */
int rc_srq_limit(struct engine *e, uint32_t number, uint32_t limit);
int rc_srq_query(const struct engine *e, uint32_t number, struct engine_srq_caps *caps,
		 uint32_t *limit);

/* The ports that are down, a bit each, and no others. They are offered no room by the caller; work
 * that waits for one fails as if its packets were sent and lost, after all retries. A port that is
 * only full, or paused, is not down: behind it work waits for ever. */
void rc_ports_down(struct engine *e, nsec now, uint32_t ports);

/* Whether a packet's queue pair number is one of this engine's. */
bool rc_has_qp(const struct engine *e, uint32_t number);

const struct rc_counters *rc_counters(const struct engine *e);

#endif
