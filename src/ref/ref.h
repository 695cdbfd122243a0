/* The reference transport: the smallest engine that keeps the laws of engine/engine.h, so that a
 * fabric can be loaded, tested and measured, and real transports compared with something.
 *
 * It is not an implementation of MRC, and promises nothing to one. It only borrows MRC's packets
 * (wire/mrc.h), so that captures of it read well: WRITE First, Middle, Last and Only with METH and
 * RETH in each, SACK, and NACK for what a switch trimmed. No congestion control: a queue pair has a
 * fixed window of packets and sends as long as it has room. Each packet takes the next entropy
 * value of a pseudo-random rotation of the queue pair's own. The receiver acknowledges every
 * ack_every-th packet, the last of a message, what asks for it (a retransmission, a packet that
 * fills the window, a duplicate), and what closes the last gap before one of these. Lost packets
 * come again by NACK, or by time: when nothing was acknowledged for rto_ns, then twice that and so
 * on, all that is out is retransmitted; after `retries` of these in a row the queue pair ends, and
 * its work with -ETIMEDOUT.
 *
 * Work is ENGINE_WRITE and ENGINE_WRITE_IMM. Sent work completes per queue pair in the order it was
 * posted; a WRITE_IMM is reported to its receiver once it and everything posted before it is
 * placed. Invariant: every packet put in increments one counter of REF_ACCEPTED or REF_DROPS. */
#ifndef WEFT_REF_REF_H
#define WEFT_REF_REF_H

#include <stdint.h>

#include "engine/engine.h"
#include "trace/print.h"
#include "trace/ring.h"

#define REF_WINDOW_MAX  1024u
#define REF_RETRIES_MAX 15u
#define REF_RTO_MAX     ((nsec)1 << 40)
#define REF_PAYLOAD_MAX 16384u
#define REF_SGE         4u /* most pieces of a message */

/* Zero stands for the default where one is named. evs and memory are lent for the engine's life. */
struct ref_cfg {
	uint64_t seed;          /* of the rotations: give each engine its own */
	uint32_t max_qps;       /* 1 .. 2^24 */
	uint32_t max_ops;       /* posted and not yet polled, of all queue pairs */
	uint32_t max_events;    /* received and not yet polled; 64 */
	uint32_t max_controls;  /* acknowledgements waiting for room, of each port; 64 */
	uint32_t payload_bytes; /* of a full packet: a multiple of 4, the same at both ends; 4096 */
	uint32_t window_pkts;   /* 1 .. REF_WINDOW_MAX, the same at both ends; 256 */
	uint32_t ack_every;     /* 4 */
	const uint32_t *evs;    /* number i belongs to port i % n_ports */
	uint32_t n_evs;         /* n_ports .. 65535 */
	uint32_t n_ports;       /* 1 .. ENGINE_PORTS; 1 */
	uint32_t retries; /* 0 .. REF_RETRIES_MAX; no default: 0 gives up at the first timeout */
	nsec rto_ns;      /* 1 .. REF_RTO_MAX */
	uint8_t *memory;  /* real payload is stored at RETH.va bytes from here; NULL: nowhere */
	uint64_t memory_bytes;
	struct tracer trace;
};

/* One end of a connection. The other end's psn pair is this one swapped. */
struct ref_peer {
	uint32_t qp;             /* ours, < max_qps */
	uint32_t peer, local;    /* driver's handles */
	uint32_t remote_qp;      /* < 2^24 */
	uint32_t sq_psn, rq_psn; /* first packet numbers to send and to receive, < 2^24 */
};

/* clang-format off */
/* What became of a packet: exactly one of these two lists counts it. */
#define REF_ACCEPTED(C) \
	C(rx_data,         "data packets taken") \
	C(rx_duplicate,    "data packets that had come before") \
	C(rx_trimmed,      "trimmed data packets answered with a NACK") \
	C(rx_ack,          "acknowledgements taken") \
	C(rx_nack,         "NACKs taken")
#define REF_DROPS(C) \
	C(drop_malformed,  "dropped: too short, too long, or fields that contradict each other") \
	C(drop_opcode,     "dropped: a kind of packet that has no meaning here") \
	C(drop_qp,         "dropped: no such queue pair") \
	C(drop_stranger,   "dropped: not from the queue pair's peer, or by no port of ours") \
	C(drop_window,     "dropped: a packet number outside the window") \
	C(drop_bounds,     "dropped: real payload for an address outside the memory") \
	C(drop_ack,        "dropped: acknowledges or refuses what was never sent")
#define REF_COUNTERS(C) \
	C(tx_data,         "data packets sent the first time") \
	C(tx_retx_nack,    "data packets retransmitted after a NACK") \
	C(tx_retx_timeout, "data packets retransmitted after a timeout") \
	C(tx_ack,          "acknowledgements sent") \
	C(tx_nack,         "NACKs sent") \
	C(rx,              "packets received") \
	REF_ACCEPTED(C) \
	REF_DROPS(C) \
	C(rx_ecn,          "data packets that carried congestion experienced") \
	C(rx_bytes,        "payload bytes taken, each once") \
	C(timeouts,        "times that nothing was acknowledged for too long") \
	C(failed,          "queue pairs that ended after the last retry") \
	C(control_lost,    "acknowledgements and NACKs given up: too many waiting for their port") \
	C(events_lost,     "reports of received messages given up: not polled in time")
/* clang-format on */

struct ref_counters {
#define REF_COUNTER_MEMBER(name, text) uint64_t name;
	REF_COUNTERS(REF_COUNTER_MEMBER)
#undef REF_COUNTER_MEMBER
};

/* The engine's functions; its configuration is a struct ref_cfg. post answers -EINVAL also on a
 * queue pair that is not open or has ended, for more than REF_SGE pieces, and for REF_SGE
 * pieces where the length is no multiple of 4: the padding is a piece too. key and imm have 32
 * bits, a message less than 2^32 bytes. */
extern const struct engine_ops ref_ops;

/* Opens a queue pair of an engine made by ref_ops. 0, or -EINVAL: a number out of range, or the
 * queue pair is open already. */
int ref_open(struct engine *e, const struct ref_peer *peer);

const struct ref_counters *ref_counters(const struct engine *e);

/* The words of its trace events. */
struct trace_words ref_words(void);

#endif
