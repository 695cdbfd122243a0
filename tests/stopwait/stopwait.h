/* Stop and wait: the smallest transport that is one in every respect, so that what a transport must
 * be is shown, and that no room above it needs to know it (docs/adding-a-transport.md).
 *
 * A queue pair has one packet out. It goes again when its acknowledgement does not come in time,
 * and after `retries` of these in a row the queue pair fails. Work is WRITE, WRITE_IMM and SEND;
 * the latter two take a receive, and are put off by silence while there is none. A host also takes
 * writes of peers that no queue pair was made for: packets to the number STOPWAIT_OPEN open a
 * context for who sends them, held until he was silent for hold_ns, and then released, which events
 * tell of; work posted to that number is for such a host, by an address handle. Strangers write to
 * regions of domain 0; with immediate data as often as completions of the
 * number were lent, and are put off by silence beyond. Invariant: every packet put in increments
 * one counter of STOPWAIT_ACCEPTED or STOPWAIT_DROPS. */
#ifndef WEFT_TESTS_STOPWAIT_STOPWAIT_H
#define WEFT_TESTS_STOPWAIT_STOPWAIT_H

#include "transport/transport.h"
#include "wire/header.h"

#define STOPWAIT_OPEN        1u /* the number of a host, beside those of its queue pairs */
#define STOPWAIT_NUMBERS     (1u << 24)
#define STOPWAIT_PAYLOAD_MAX 4096u
#define STOPWAIT_MESSAGE_MAX (1u << 30)
#define STOPWAIT_PORT        5556u
#define STOPWAIT_ADDRESSES   16u /* address handles */
#define STOPWAIT_LENT_MOST   64u /* completions of STOPWAIT_OPEN, lent and not polled */

enum stopwait_kind { STOPWAIT_WRITE, STOPWAIT_WRITE_IMM, STOPWAIT_SEND, STOPWAIT_ACK };

/* offset: of the payload in its message; va: where a write puts it. An acknowledgement has in imm
 * an enum engine_status, by which the work that it answers ends unless it is ENGINE_OK. */
#define STOPWAIT_FIELDS(F) \
	F(kind, 0, 8)      \
	F(to, 8, 24)       \
	F(pad, 32, 2)      \
	F(is_last, 34, 1)  \
	F(rsv, 35, 5)      \
	F(from, 40, 24)    \
	F(seq, 64, 32)     \
	F(offset, 96, 32)  \
	F(key, 128, 32)    \
	F(imm, 160, 32)    \
	F(va, 192, 64)
WIRE_HEADER(stopwait_head, 32, STOPWAIT_FIELDS)

struct stopwait_cfg {
	struct mem *mem;
	uint32_t max_pairs, max_strangers, n_ports;
	nsec hold_ns;
	struct tracer trace;
};

/* clang-format off */
#define STOPWAIT_ACCEPTED(C) \
	C(rx_data,        "data packets taken") \
	C(rx_duplicate,   "data packets that had come before") \
	C(rx_refused,     "data packets refused with an answer") \
	C(rx_ack,         "acknowledgements taken")
#define STOPWAIT_DROPS(C) \
	C(drop_malformed, "dropped: too short, too long, or fields that contradict each other") \
	C(drop_pair,      "dropped: no such queue pair, or not in a state to take it") \
	C(drop_stranger,  "dropped: not from the queue pair's peer") \
	C(drop_seq,       "dropped: neither the next packet nor the one before") \
	C(drop_not_ready, "dropped: no receive is posted, or no completion is lent") \
	C(drop_access,    "dropped: a stranger may not do that") \
	C(drop_full,      "dropped: no context is free for a stranger") \
	C(drop_ack,       "dropped: acknowledges what is not out")
#define STOPWAIT_COUNTERS(C) \
	C(tx_data,        "data packets sent the first time") \
	C(tx_retx,        "data packets sent again") \
	C(tx_ack,         "acknowledgements sent") \
	C(rx,             "packets received") \
	STOPWAIT_ACCEPTED(C) \
	STOPWAIT_DROPS(C) \
	C(rx_bytes,       "payload bytes taken, each once") \
	C(timeouts,       "times that an acknowledgement did not come in time") \
	C(held,           "contexts opened for strangers") \
	C(released,       "contexts released after silence")
/* clang-format on */

struct stopwait_counters {
#define STOPWAIT_COUNTER_MEMBER(name, text) uint64_t name;
	STOPWAIT_COUNTERS(STOPWAIT_COUNTER_MEMBER)
#undef STOPWAIT_COUNTER_MEMBER
};

extern const struct engine_ops stopwait_ops;
extern const struct transport_pair_ops stopwait_pairs;
extern const struct transport_address_ops stopwait_addresses;
extern const struct carrier stopwait_carrier;

/* The row, as rooms take it by pointer. */
extern const struct transport stopwait;

#endif
