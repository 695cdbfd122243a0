/* The RC engine's memory, shared by its own source files. Each calls those above it in this list,
 * and none below.
 *
 *	clock.c     when silence is a timeout, and what the timers wait for
 *	core.c      queue pairs by number, who has turns, what all packets have in common
 *	rq.c        receive queues, shared ones too: make, post, take, complete
 *	complete.c  how work completes, and queue pairs end: done, failed, flushed
 *	work.c      the requester's records: what is out, is acknowledged, is retransmitted
 *	retry.c     the requester's timers come: what is out was lost, RNR, pacing
 *	request.c   the requester sends: which work may go, and its packets
 *	answer.c    the responder sends: responses, acknowledgements, CNPs
 *	reply.c     the requester receives: acknowledgements, responses, NAKs
 *	respond.c   the responder executes requests and decides what to answer
 *	input.c     what every packet must pass before either side looks at it
 *	pair.c      queue pairs: make, modify, free
 *	rc.c        the engine's operations: the block, post and poll, pull by turns
 *
 * Packets of a requester are counted from 0 in 64 bits; the PSN on the wire is sq_psn plus the
 * count, modulo 2^24. A read takes as many counts as its response has packets (IBTA 9.7.3.1). */
#ifndef WEFT_RC_STATE_H
#define WEFT_RC_STATE_H

#include <stdbool.h>

#include "base/list.h"
#include "base/serial.h"
#include "base/wheel.h"
#include "engine/cut.h"
#include "engine/done.h"
#include "engine/events.h"
#include "engine/numbers.h"
#include "engine/traced.h"
#include "engine/work.h"
#include "rc/rc.h"
#include "wire/roce.h"

#define RC_WHEEL_SHIFT  6u /* slots of 64 ns: pacing needs no finer time */
#define RC_WHEEL_LEVELS 5u /* and 68 s are within reach */
/* Packets of one queue pair before the next has its turn: 64 KiB of the largest PMTU, headers
 * included, which a driver can send in one go. */
#define RC_BURST 15u
#define RC_NONE  UINT64_MAX

#define RC_ATOMIC_BYTES 8u

struct rc_qp;

/* Work of the send queue; its owner is the queue pair. */
struct rc_send {
	struct engine_work wr;
	uint64_t first;  /* count of its first packet */
	uint32_t n_pkts; /* 0: no packet, as a bind or a local invalidate */
	uint32_t key;
	uint32_t ssn;  /* how many messages that take a receive were posted up to this one */
	uint32_t peer; /* handle of the other end, for the completion */
	uint8_t n_sg;
	uint8_t atomic_op; /* enum engine_atomic */
	bool has_run;      /* n_pkts 0: executed, or taken back, and waits for those before it */
	union {
		struct {
			uint64_t remote;
			uint64_t operand[2];
		};
		struct mem_binding bind;
	};
	struct sge sg[];
};

/* A receive; its owner is the queue that it goes back to. */
struct rc_recv {
	struct engine_work wr;
	uint32_t qp, peer, source; /* the queue pair that took it, and the other end */
	uint32_t room;             /* bytes of all its pieces */
	uint8_t n_sg;
	struct sge sg[];
};

/* Receives that wait for a message, of a queue pair or shared by several. */
struct rc_rq {
	uint8_t *slots; /* max of them, stride bytes each */
	size_t stride;
	struct list posted; /* of struct rc_recv, oldest first */
	struct list free;   /* the same; the one used last is taken first */
	uint32_t max, max_sge, pd;
	uint32_t n_posted;
	uint32_t n_cancelled; /* in posted, and not in n_posted: they wait for the one in use */
	/* Of shared ones only. */
	uint32_t number, limit, n_users;
	struct engine_events events;
};

struct rc_timer {
	struct wheel_timer timer;
	struct rc_qp *owner;
	bool is_retry; /* else wake */
};

struct rc_requester {
	/* Of struct rc_send; current is the one that `next` belongs to. One that is not done but
	 * has a status failed here: it goes no further, and fails q after those before it. */
	struct engine_ring works;
	/* Counts of packets: una <= next <= high <= end. una is the oldest not acknowledged, next
	 * the one to go now, high the first never sent, end the end of what is posted. */
	uint64_t una, next, high, end;
	uint64_t out_bytes;  /* payload asked for or sent in una ... next - 1 */
	uint32_t n_rd_out;   /* reads and atomics among them, not finished */
	uint32_t ssn;        /* messages posted that take a receive, ... */
	uint32_t ssn_done;   /* ... and those of them that are done */
	uint32_t credit_ssn; /* those with a number up to this may go, if has_credits */
	bool has_credits;
	bool is_waiting_rnr;      /* nothing goes until rnr_until */
	bool is_paced;            /* its next packet waits for the pacer alone */
	bool is_draining;         /* ENGINE_SQD, and something is out or half sent */
	bool has_gone_back;       /* to una, for a loss: not for a NAK again before una moves */
	bool is_sounding;         /* after silence: one packet at a time, until una moves */
	uint8_t tries, rnr_tries; /* left */
	uint32_t since_ack_req;
	nsec due;              /* when silence becomes a timeout; NSEC_NEVER: nothing is out */
	struct rc_timer retry; /* armed at or before due */
	struct rc_timer wake;  /* RNR, pacing of requests and answers, the congestion controller */
	nsec rnr_until;
	/* Counts of packets, or RC_NONE. */
	uint64_t timed;     /* its round trip is measured */
	uint64_t asked;     /* the newest one out that asks for an answer */
	uint64_t limited;   /* sent beyond the credits: nothing goes until it is acknowledged */
	uint64_t read_from; /* where a read was last asked for from its middle on */
	nsec timed_at;
	/* The UDP port that the peer's packets came by last, once one was taken. */
	uint16_t peer_port;
	bool has_peer_port;
	struct cc cc;
};

/* An answer that takes packets of its own: a read's or an atomic's. */
struct rc_answer {
	psn24 psn;       /* of the next packet to send */
	uint32_t n_pkts; /* still to send */
	bool is_atomic, is_first;
	bool is_retx;       /* to a duplicate */
	uint32_t key, left; /* reads: bytes still to send */
	uint64_t va;
	uint64_t original; /* atomics: what was there before */
	uint32_t msn;
};

#define RC_ANSWERS  (RC_RD_ATOMIC_MAX + 1)
#define RC_MSN_MASK UINT32_C(0xffffff)

/* A read or atomic that was executed, kept for its duplicates. */
struct rc_past {
	psn24 psn;
	uint32_t n_pkts; /* 0: an empty place */
	bool is_atomic;
	uint32_t key, len;
	uint64_t va, original;
	uint32_t msn;
};

enum rc_message { RC_NO_MESSAGE, RC_MESSAGE_SEND, RC_MESSAGE_WRITE };

struct rc_responder {
	psn24 expected;
	uint32_t msn; /* messages completed, 24 bits */
	/* The message that is arriving in several packets. */
	uint8_t message; /* enum rc_message */
	uint32_t key;
	uint64_t va, left;    /* writes: where the next byte goes, and how many are to come */
	uint32_t got;         /* bytes so far */
	struct rc_recv *recv; /* sends: the receive taken */
	struct rc_rq *queue;  /* its own, or the shared one */
	struct rc_rq own;
	/* What is to be sent, in this order: answers by their PSNs, then the acknowledgement or
	 * NAK. */
	struct rc_answer answers[RC_ANSWERS];
	uint32_t answer_head, n_answers;
	struct rc_past past[RC_RD_ATOMIC_MAX];
	uint32_t past_at; /* the oldest place, written next */
	bool has_ack;     /* acknowledge up to ack_psn with the syndrome */
	psn24 ack_psn;
	uint8_t ack_type, ack_value; /* enum aeth_type; credits, RNR timer or enum aeth_nak */
	bool has_begun;              /* a request came */
	bool has_nak_gap; /* expected was asked for: what is ahead is ignored until it comes */
	bool is_closing;  /* in ENGINE_ERROR, and the last NAK is yet to be sent */
	bool is_paced;    /* the answer at the head waits for the pacer */
	bool had_slot;    /* of those that the pacer gave, answers had the last one */
	struct dcqcn_np np;
};

struct rc_qp {
	struct engine_number id;
	uint8_t state;  /* enum engine_state */
	uint16_t known; /* enum engine_set: what was set since ENGINE_RESET */
	struct rc_caps caps;
	struct engine_attr attr;
	struct rc_requester req;
	struct rc_responder resp;
	/* In the engine's lists. */
	struct list_link send_link, answer_link, starved_link;
	struct list_link cnp_link;   /* linked: a CNP is the first that it answers */
	struct engine_events events; /* of enum engine_event_kind */
	struct rc_progress progress; /* but for what is in flight */
};

struct rc {
	struct engine engine;
	struct rc_cfg cfg;
	struct rc_counters count;
	nsec now;
	struct wheel wheel;
	struct wheel_timer *wheel_slots[WHEEL_SLOTS(RC_WHEEL_LEVELS)];
	struct engine_numbers qps; /* struct rc_qp */
	struct rc_rq **srqs;       /* by place; NULL: free */
	uint64_t out_bytes;        /* of all queue pairs */
	uint32_t ports_down;       /* bit each */
	/* Queue pairs by turns: with something to send, to answer; of the latter those with a CNP;
	 * kept back by total_window_bytes; with events. */
	struct list sending[ENGINE_PORTS], answering[ENGINE_PORTS], cnps[ENGINE_PORTS];
	struct list starved, events;
	bool is_answer_owed[ENGINE_PORTS]; /* answers waited through the last turn */
	struct list srq_events;            /* shared queues with an event */
	struct list done;                  /* struct engine_work that wait for poll */
};

/* A request or response packet, read but not yet believed. */
struct rc_in {
	const struct rx_pkt *rx;
	struct roce_pkt h;
	bool is_reserved; /* an opcode of RC that means nothing: only h.bth is set */
	struct engine_payload payload;
};

/* A packet to be sent: its headers, opcode and psn set, and bytes of payload. */
struct rc_out {
	struct roce_pkt h;
	uint32_t payload;
	bool is_retx;
};

/* What became of a packet; the names are those of the counters. */
enum rc_verdict {
#define RC_VERDICT_ENUM(name, text) RC_VERDICT_##name,
	RC_ACCEPTED(RC_VERDICT_ENUM) RC_DROPS(RC_VERDICT_ENUM)
#undef RC_VERDICT_ENUM
};

static inline struct rc *rc_of(struct engine *e)
{
	return (struct rc *)e;
}

static inline psn24 rc_psn(const struct rc_qp *q, uint64_t count)
{
	return psn24_of(q->attr.sq_psn + (uint32_t)count);
}

/* What a queue pair takes of a message that it sends. */
static inline struct engine_cut_limits rc_send_limits(const struct rc_caps *caps)
{
	return (struct engine_cut_limits){caps->max_send_sge, RC_MESSAGE_MAX, caps->max_inline};
}

static inline struct rc_send *rc_send_at(const struct rc_qp *q, uint64_t count)
{
	return engine_ring_at(&q->req.works, count);
}

/* Something happened to q: it comes out of ops->events. */
static inline void rc_raise(struct rc *r, struct rc_qp *q, enum engine_event_kind kind)
{
	engine_event_raise(&r->events, &q->events, (uint8_t)kind);
}

/* core.c */
struct rc_qp *rc_find(const struct rc *r, uint32_t number);
struct rc_rq *rc_find_srq(const struct rc *r, uint32_t number);
/* q may have a packet to send, or to answer: it gets a turn. Any number of times. */
void rc_wake_send(struct rc *r, struct rc_qp *q);
void rc_wake_answer(struct rc *r, struct rc_qp *q);
/* q has a CNP to send, in front of its answers. */
void rc_wake_cnp(struct rc *r, struct rc_qp *q);
/* q has no turn any more; it gets a new one with new work. Also before its port changes. */
void rc_unlist_turns(struct rc *r, struct rc_qp *q);
/* The window that all queue pairs share has no room for q: it gets a turn when it has. */
void rc_starve(struct rc *r, struct rc_qp *q);
void rc_unlist_starved(struct rc *r, struct rc_qp *q);
/* Room in it, if there is any, is offered to those that wait. */
void rc_offer_room(struct rc *r);
/* So many bytes of q are out no more: they are offered. */
void rc_give_room(struct rc *r, struct rc_qp *q, uint64_t bytes);
/* Completes a packet of q: headers from h, whose opcode and psn are set, padding behind what is in
 * tx->body, addresses. tx->head, body and n_body are the caller's; all else is set here. */
void rc_finish_packet(const struct rc *r, const struct rc_qp *q, struct rc_out *out,
		      struct tx_pkt *tx);
/* As events have it: q, and the oldest that is not acknowledged. */
struct traced_qp rc_traced(const struct rc *r, const struct rc_qp *q);
/* q is in another state now. */
void rc_set_state(const struct rc *r, struct rc_qp *q, uint8_t state);

/* clock.c. The time of a code of silence (IBTA 9.7.6.1.3). */
nsec rc_timeout_ns(uint8_t code);
/* Silence counts from now, if anything is out or waits for a port that is down; else the clock
 * stops. */
void rc_clock_restart(struct rc *r, struct rc_qp *q);
/* Its port, or what waits for it, changed: the clock of what only waits starts or stops. */
void rc_clock_follow(struct rc *r, struct rc_qp *q);
/* Something is to be done at `at`, or earlier for another reason. */
void rc_wake_at(struct rc *r, struct rc_qp *q, nsec at);

/* rq.c. Bytes of a receive of so many pieces. */
size_t rc_recv_stride(uint32_t sges);
/* Makes every slot of a receive queue free, the first one to be taken first. */
void rc_empty_queue(struct rc_rq *queue);
/* As ops->post; q: whose queue it is, or NULL if it is a shared one. */
int rc_post_recv(struct rc *r, struct rc_qp *q, struct rc_rq *queue, const struct op *op);
/* As ops->cancel, of a queue of its own. */
int rc_cancel_recv(struct rc *r, struct rc_qp *q, uint64_t cookie);
/* The oldest receive that waits, off its queue, or NULL; watches the limit of shared ones. */
struct rc_recv *rc_take_recv(struct rc *r, struct rc_qp *q);
/* One that was taken waits for poll. */
void rc_complete_recv(struct rc *r, struct rc_qp *q, struct rc_recv *recv,
		      enum engine_status status);

/* complete.c. Works that are through are done, in order. One that failed here has waited for those
 * before it, which the peer may have executed: now it fails, and q with it. */
void rc_end_works(struct rc *r, struct rc_qp *q);
/* The oldest work that is not done fails with this status, and q with it. */
void rc_fail_send(struct rc *r, struct rc_qp *q, enum engine_status status);
/* The same, since the peer said so with this syndrome. */
void rc_fail_send_for(struct rc *r, struct rc_qp *q, enum engine_status status, uint8_t syndrome);
/* Ends q on our own account: ENGINE_ERROR, all work flushed. What the responder still has to say is
 * said if is_closing was set before. */
void rc_fail(struct rc *r, struct rc_qp *q);
/* The same, as its user asked for. */
void rc_flush(struct rc *r, struct rc_qp *q);
/* Everything not done is flushed; nothing is out, and the clock stops. */
void rc_flush_send(struct rc *r, struct rc_qp *q);

/* input.c */
void rc_input(struct engine *e, nsec now, const struct rx_pkt *pkts, uint32_t n);

/* request.c. Checks and takes send work into the ring; as ops->post. */
int rc_post_send(struct rc *r, struct rc_qp *q, const struct op *op);
/* As ops->cancel. */
int rc_cancel_send(struct rc *r, struct rc_qp *q, uint64_t cookie);
/* The next packet of q into tx; false when none may go now, and whatever changes that calls
 * rc_wake_send. May end work, or q, on the way. */
bool rc_request_next(struct rc *r, struct rc_qp *q, struct tx_pkt *tx);

/* work.c. Its answer is more than an acknowledgement; nothing answers what was taken back. */
static inline bool rc_is_fetch(const struct rc_send *w)
{
	return (w->wr.op == ENGINE_READ || w->wr.op == ENGINE_ATOMIC) && w->n_pkts > 0;
}
/* The peer was asked for an answer that has not come. */
static inline bool rc_is_owed(const struct rc_requester *req)
{
	return req->asked != RC_NONE && req->asked >= req->una;
}
/* Bytes of w's message in its packets from ... to - 1. */
uint64_t rc_bytes_between(const struct rc_qp *q, const struct rc_send *w, uint64_t from,
			  uint64_t to);
/* Packets up to, not including, count `end` are acknowledged, una <= end <= high, and no read or
 * atomic among them lacks its answer. Their works are done, in order, reported. May end q. */
void rc_retire(struct rc *r, struct rc_qp *q, uint64_t end);
/* next goes back to count `to`, una <= to <= next; out_bytes, n_rd_out and current follow. */
void rc_go_back(struct rc *r, struct rc_qp *q, uint64_t to);
/* Everything is forgotten, as in ENGINE_RESET; or made ready to begin at ENGINE_RTS. */
void rc_requester_reset(struct rc *r, struct rc_qp *q);
void rc_requester_start(struct rc_qp *q);
/* ENGINE_SQD is done draining when nothing is out: says so once, to who wants to know. */
void rc_check_drained(struct rc *r, struct rc_qp *q);

/* reply.c */
enum rc_verdict rc_on_response(struct rc *r, struct rc_qp *q, const struct rc_in *in);

/* retry.c. What is out was lost: costs a try, and is retransmitted from una on; with no try left
 * the oldest work fails, and q with it. */
void rc_retx_all(struct rc *r, struct rc_qp *q, enum cc_loss why);
void rc_timers_run(struct rc *r, nsec now);

/* respond.c */
enum rc_verdict rc_on_request(struct rc *r, struct rc_qp *q, const struct rc_in *in);
void rc_responder_reset(struct rc_qp *q);
void rc_responder_start(struct rc_qp *q); /* ENGINE_RTR */

/* answer.c. The answer at place i, 0 .. n_answers, the oldest first. */
static inline struct rc_answer *rc_answer_at(struct rc_responder *p, uint32_t i)
{
	return &p->answers[(p->answer_head + i) % RC_ANSWERS];
}
/* The CNP of q into tx: it has one. */
void rc_put_cnp(struct rc *r, struct rc_qp *q, struct tx_pkt *tx);
/* Puts an answer where its PSN belongs; there is room. */
void rc_add_answer(struct rc *r, struct rc_qp *q, const struct rc_answer *a);
/* The acknowledgement or NAK behind the answers is this one now. */
void rc_queue_ack(struct rc *r, struct rc_qp *q, psn24 psn, enum aeth_type type, uint8_t value);
/* Refuses the request at psn, and fails q; what is to be sent before the NAK still is. */
void rc_refuse(struct rc *r, struct rc_qp *q, psn24 psn, enum aeth_nak why);
/* As rc_request_next. */
bool rc_answer_next(struct rc *r, struct rc_qp *q, struct tx_pkt *tx);
/* A packet of q's peer arrived marked: tells the peer, if not told just before. */
void rc_on_marked(struct rc *r, struct rc_qp *q);

#endif
