/* The MRC engine's memory, shared by its own source files. Each calls those above it in this list,
 * and none below.
 *
 *	clock.c           when silence is a timeout, when to probe, and what the timers wait for
 *	core.c            queue pairs by number, who has turns, what all packets have in common
 *	peers.c           which queue pairs have EVs to a peer
 *	pools.c           how large the shared pools are
 *	inflight.c        what is taken for lost, or was received, and what the controller is told
 *	endpoint_queue.c  endpoint requests that wait or are out, and responses that wait
 *	ask.c             what the engine itself asks peers, by which EV and when
 *	evs.c             the requestor's EVs: what happened on them, and what follows at once
 *	ports.c           which ports are up, here and at the peers
 *	probes.c          what comes of what the engine asked: EVs and ports come back, or do not
 *	answer.c          the responder sends: SACKs, NACKs, Transport ACKs
 *	complete.c        how work completes, and queue pairs end: executed, failed, flushed
 *	send.c            the requestor sends: new packets, lost ones again, probes
 *	loss.c            the requestor's judgement: what is lost, when to give up
 *	on_ack.c          the requestor receives SACKs, NACKs, Transport ACKs
 *	respond.c         the responder takes data packets and probes
 *	endpoint.c        the packets of endpoint operations, on queue pair 2
 *	input.c           what every packet must pass before either side looks at it
 *	pair.c            queue pairs: make, modify, free
 *	mrc.c             the engine's operations: the block, post and poll, pull by turns
 *
 * Packets of each direction are counted from 0 in 64 bits; the PSN on the wire is sq_psn, or
 * rq_psn, plus the count, modulo 2^24. "Before n" means counts less than n. */
#ifndef WEFT_MRC_STATE_H
#define WEFT_MRC_STATE_H

#include <stdbool.h>

#include "base/list.h"
#include "base/pool.h"
#include "base/serial.h"
#include "base/wheel.h"
#include "engine/cut.h"
#include "engine/done.h"
#include "engine/events.h"
#include "engine/numbers.h"
#include "engine/seen.h"
#include "engine/sent.h"
#include "engine/traced.h"
#include "engine/work.h"
#include "mrc/mrc.h"
#include "wire/mrc.h"

#define MRC_WHEEL_SHIFT  6u  /* slots of 64 ns: pacing needs no finer time */
#define MRC_WHEEL_LEVELS 5u  /* and 68 s are within reach: the longest timeout is 17 s */
#define MRC_BURST        15u /* packets of one queue pair before the next has its turn */
#define MRC_NONE         UINT64_MAX
#define MRC_LINE_BYTES   64u /* of the cache */
#define MRC_NO_EV        UINT16_MAX
#define MRC_NOMINAL_HDR  40u                /* nominal_hdrsize (8.3.1), on top of the UDP length */
#define MRC_MSN_MASK     0xffffffu          /* of AETH */
#define MRC_RCVD_UNIT    256u               /* rcvd_bytes counts so many bytes (8.3.1) */
#define MRC_TAGGED_IDS   256u               /* of endpoint requests, below cfg.id_tag */
#define MRC_STAMP_SHIFT  7u                 /* timestamps on the wire count 128 ns (Table 6-7) */
#define MRC_PROBES       16u                /* whose answers are known when they come late */
#define MRC_PEER_PORT_NS UINT64_C(10000000) /* between questions to ports down at the peer */
#define MRC_RX_PORT_NS   UINT64_C(200000)   /* for so long a port that brought packets is trusted */

struct mrc_qp;

/* Work of the send ring; its owner is the queue pair, as that of a receive is. */
struct mrc_send {
	struct engine_work wr;
	uint64_t first; /* count of its first packet */
	uint64_t remote;
	uint32_t n_pkts;
	uint32_t key;
	uint16_t msn, rqmsn; /* of METH */
	uint8_t n_sg;
	struct sge sg[];
};

struct mrc_timer {
	struct wheel_timer timer;
	struct mrc_qp *owner;
	bool is_retry; /* else wake */
};

struct mrc_requester {
	/* Of struct mrc_send; current is the one that packet `next` belongs to. */
	struct engine_ring works;
	/* Before sent.una the peer has received all (unack_psn, Table 7-4), sent.next was never
	 * sent (max_psn_sent + 1). Bytes are nominal_pktsize (8.3.1); the user's word of a packet
	 * is the EV that it went by, or MRC_NO_EV; its tries are NACKs that counted (M-59);
	 * marked is what a SACK reported lost, which counts once (7.4.5). */
	struct engine_sent sent;
	/* Counts of packets: executed <= una, and next <= end. Before executed the peer has
	 * executed all (Transport ACK), end is the end of what is posted. */
	uint64_t executed, end;
	/* Before it all came, as SACKs reported, whose range counts if they move it (MRC-7.5.4):
	 * una is ahead of it when a Transport ACK overtakes its SACK. */
	uint64_t sacked;
	/* una + range: no packet from there on is sent, the first time or again (7.5.4, M-17). */
	uint32_t range;
	uint64_t judged;   /* before it, no packet sent once is neither acked nor lost: loss.c */
	uint64_t reported; /* before it, what is not acked was last reported missing */
	/* Nominal bytes (8.3.1). A SACK's rcvd_bytes counts all that arrived, its map may not show
	 * them all: inflight is sent.out_bytes less what was reported and is not in sent yet. */
	uint64_t backlog_bytes;  /* of packets that were never sent, of all that is posted (8.6) */
	uint64_t reported_bytes; /* as sent.acked_bytes, by rcvd_bytes: ahead by no more than
				  * sent.out_bytes */
	uint32_t rcvd_units;     /* prev_rcvd_bytes (8.3.1) */
	uint64_t known_bytes;    /* the controller was told of so many as received */
	/* For reports. */
	uint64_t done_bytes;  /* payload of works that are done, or was acknowledged of others */
	uint64_t unsent_pkts; /* before next, given up without being sent */
	uint32_t n_retx, n_timeouts;
	uint64_t asked;  /* the newest packet out that asks for an answer (BTH.a), or MRC_NONE */
	uint32_t n_wimm; /* writes with immediate data sent and not executed */
	uint16_t msn, rqmsn; /* of the next work */
	uint32_t msn_start;  /* AETH.MSN of the peer when it had executed nothing (M-07) */
	bool has_ooo;        /* the peer reported packets behind a gap: it counts them */
	bool is_ack_lost; /* all arrived, but not the Transport ACK: packet una - 1 is retransmitted
			   */
	bool is_paced;    /* its next packet waits for the pacer alone */
	bool is_draining; /* MRC_SQD, and something is out or half sent */
	nsec pause_until; /* the peer has no room: before this, only packet una goes, ... */
	uint64_t pause_una; /* ... nor others while una is this one and was lost */
	/* What loss.c knows of the EVs: all 0 before the first round trip. */
	nsec newest; /* when the newest packet known to have arrived was sent, of those sent once */
	uint64_t newest_end; /* one past that packet */
	nsec srtt, rttvar;
	nsec reorder_ns; /* how much later than others a packet may arrive */
	/* Silence. */
	uint8_t tries;           /* timeouts since una moved, or what was executed did (M-59) */
	nsec trim_from, trim_to; /* when packets were sent that switches cut: the last such time */
	uint64_t try_una;        /* una when it was first trimmed, or MRC_NONE ... */
	nsec try_due;            /* ... and before this, that costs it no try */
	nsec due;                /* when una's silence is a timeout; NSEC_NEVER: nothing is out */
	bool is_timed_out;       /* a timeout has una retransmitted */
	nsec news_at;            /* when packets were last known to have arrived */
	nsec judge_due;          /* when one that others overtook is overdue; NSEC_NEVER: none is */
	struct mrc_timer retry;  /* armed by the first of due, judge_due, probe_due, path_due */
	struct mrc_timer wake;   /* pacing, the congestion controller */
	/* Probes of what arrived: one is out at a time. Those of EVs (ask.c) are others, and all
	 * have their identifiers of one count (7.4.6). */
	nsec probe_due;      /* when the next one goes; NSEC_NEVER: none is wanted */
	nsec probe_at;       /* when the one that is out went */
	uint16_t probe_out;  /* its identifier */
	uint16_t probe_id;   /* of the last probe of any kind */
	uint8_t n_probes;    /* of them all; no more than MRC_PROBES */
	uint8_t n_since;     /* of those, sent since doubted_at */
	uint8_t probe_tries; /* without an answer, in a row */
	uint8_t probe_row; /* more that may follow at once, each for another part of what is out */
	bool is_probing;   /* one is out */
	bool has_probe;    /* one is to be sent */
	/* By which ports they left, by identifier. */
	uint8_t probe_ports[MRC_PROBES];
	struct cc cc;
	struct path path;       /* the EVs of requests */
	uint32_t pull;          /* mrc.n_pulls when the last one was sent */
	nsec path_due;          /* when probes.c has something to do; NSEC_NEVER: nothing */
	nsec probed_at;         /* when it last had EVs probed */
	uint8_t dead_ports;     /* whose packets were taken for lost */
	nsec peer_port_due;     /* when ports that are down at the peer are asked for again */
	uint8_t doubted;        /* ports that it says are down there, and were not found to be */
	uint8_t to_ask;         /* of those, that it alone asks first, and could not yet */
	nsec doubted_at;        /* when that was said */
	nsec control_at;        /* when it last answered by a port that it says is up */
	struct list own_probes; /* struct mrc_request of ask.c */
	bool is_base_known;     /* a probe for the round trip of an idle path went, or none shall */
	/* Those of answers, whose fate nobody learns of: a plain walk. */
	struct path_walk answer_path;
};

/* A write with immediate data that waits for what was sent before it. */
struct mrc_stash {
	uint64_t at; /* count of its last packet */
	uint32_t imm;
	uint32_t len; /* of the message */
	bool is_solicited;
};

enum mrc_answer_kind { MRC_ANSWER_SACK, MRC_ANSWER_PROBED, MRC_ANSWER_NACK };

/* A SACK or NACK to be sent, with what it says of the packet that caused it. */
struct mrc_answer {
	struct list_link link;
	nsec arrived;   /* of that packet: service time counts from there */
	uint32_t psn;   /* of that packet; of a trimmed one answered by SACK: none (M-41) */
	uint32_t ev;    /* reflected */
	uint16_t stamp; /* its tx_timestamp */
	uint16_t probe_id;
	uint16_t udp_len; /* trim NACKs: the original length (M-13); else 0 */
	uint8_t kind;     /* enum mrc_answer_kind */
	uint8_t reason;   /* enum mrc_nack */
	bool has_psn, has_stamp, is_stamp_ours /* tsr 0: in units we know */;
	bool is_retx;   /* BTH.rtx, reflected (M-05) */
	bool is_marked; /* it met congestion */
};

struct mrc_responder {
	/* Before seen.expected all came (cack_psn + 1), none at or after seen.end did (max_rcv_psn
	 * + 1), which is not beyond the range, but for a shrinking one; seen.n_early is
	 * rx_ooo_count. Marked is the last packet of a message. */
	struct engine_seen seen;
	uint64_t unsacked;  /* lowest_unsacked_psn + 1 (7.5.2.2) */
	uint64_t asked;     /* one past the newest packet that wants a SACK once all before it are
			     * here (prev_ar, 7.5.2); 0: none does */
	uint64_t promised;  /* the peer may have been told that packets before this fit (M-14) */
	uint32_t range;     /* packets tracked from expected on: mpr * MRC_MPR_UNIT */
	uint32_t n_trigger; /* sack_trigger_cnt */
	uint64_t rx_bytes;  /* rx_rcvd_bytes: nominal (M-44) */
	uint64_t got_bytes; /* payload placed, for reports */
	uint32_t msn;       /* messages completed, 24 bits, for AETH */
	struct mrc_stash *stash; /* ring of caps.max_wimm: n_stash from stash_at on, by `at` */
	uint32_t n_stash, stash_at;
	struct engine_ring receives; /* of struct engine_work; done: taken, or flushed */
	struct list answers;         /* struct mrc_answer, oldest first */
	/* Ports that packets came in by: of the last few, and of those before; and when. */
	uint8_t rx_ports[2], n_rx;
	nsec rx_port_at;
	bool has_ack;    /* a Transport ACK is to be sent, ... */
	bool has_nak;    /* ... and behind it the NAK below */
	bool is_closing; /* in MRC_ERROR, and the NAK is yet to be sent */
	bool is_owed;    /* a SACK was due when there was no room for it: the next packet has one */
	bool has_begun;  /* a packet came */
	uint8_t nak;     /* enum aeth_nak */
	uint32_t nak_psn;
};

struct mrc_qp {
	struct engine_number id;
	uint32_t known; /* enum mrc_set: what was set since MRC_RESET */
	uint8_t state;  /* enum mrc_state */
	struct mrc_caps caps;
	struct mrc_attr attr;
	void *memory;
	uint64_t *ev_bits; /* of req.path */
	struct mrc_requester req;
	struct mrc_responder resp;
	/* In the engine's lists. */
	struct list_link send_link, answer_link, starved_link;
	struct engine_events events;      /* of enum engine_event_kind */
	uint8_t send_ports, answer_ports; /* by which its turns are counted, while it has them */
	uint8_t reported_up;  /* the ports of ours that its peer knows to be up; 0: nobody knows */
	uint8_t status_tries; /* of telling it */
	/* In the list of those with its peer, while it has EVs; see mrc_next_with_peer. */
	struct mrc_qp *peer_next, **peer_link;
	uint32_t known_peer;
};

/* Queue pairs that have a turn. */
struct mrc_turns {
	struct list list;
	uint32_t n_on[ENGINE_PORTS]; /* members whose EVs leave by this port */
};

/* What the engine itself asks peers for. An answer that something depends on is asked for by a
 * reliability probe, sent on the way in question (MRC-7.4.6-X01): those are always answered. EV
 * probes need not be (7.4.7). */
enum mrc_own {
	MRC_OWN_NONE,      /* the caller's */
	MRC_OWN_EV,        /* whether an EV is fit again: a reliability probe */
	MRC_OWN_PEER_PORT, /* whether a port is up at the peer that says it is down: another */
	MRC_OWN_BASE,      /* the round trip of an idle path (UE 3.6.13.7): an EV probe */
	MRC_OWN_PORTS      /* nothing: it reports which of our ports are up */
};

static inline bool mrc_is_path_probe(enum mrc_own own)
{
	return own == MRC_OWN_EV || own == MRC_OWN_PEER_PORT;
}

/* An endpoint request that is to be sent or was, or a reliability probe of an EV, which waits for
 * its port like one; and a response to a request. */
struct mrc_request {
	struct mrc_request *next, *prev; /* prev: of those sent */
	struct mrc_endpoint what;
	nsec sent_at; /* before that: posted at */
	uint16_t id;
	bool is_sent;
	uint8_t own; /* enum mrc_own; what follows is for those that are not the caller's */
	uint8_t tries;
	uint16_t probe_id; /* of a reliability probe that is sent: PETH.probe_id */
	struct path_probe probe;
	nsec due; /* given up */
	struct mrc_qp *owner;
	struct list_link own_link;
};
struct mrc_response {
	struct mrc_response *next;
	nsec arrived;
	uint32_t peer, local, ev;
	uint16_t id, stamp;
	uint8_t op, port;
	bool has_stamp, is_stamp_ours;
};

/* What waits to leave by one port, oldest first. */
struct mrc_endpoint_queue {
	struct mrc_request *request_head, *request_tail;
	struct mrc_response *response_head, *response_tail;
};

/* So many answers in a time, and some more at once. */
struct mrc_bucket {
	nsec every_ns; /* one more; 0: none at all */
	nsec ahead_ns; /* so far may full_at be ahead of the time */
	nsec full_at;  /* when all that were taken are back */
};

struct mrc_endpoints {
	struct pool requests, responses;
	/* Of answers: to peers that have a queue pair here, and to all others. Who asks in the name
	 * of any host he likes is a stranger then. */
	struct mrc_bucket for_peers, for_strangers;
	struct mrc_endpoint_queue wait[ENGINE_PORTS];
	uint32_t waiting;                        /* bit per port with something to send */
	uint8_t next_port;                       /* the first to be asked */
	bool is_request_next;                    /* else a response, if both wait */
	struct mrc_request *out_head, *out_tail; /* sent, oldest first */
	struct mrc_request **by_id;              /* all of them, by id modulo id_mask + 1 */
	uint32_t n_own;                          /* of them, the engine's */
	uint16_t id_mask, next_id;
	struct mrc_endpoint_done *done; /* ring of cfg.max_probes places */
	uint32_t done_head, done_n;
	struct mrc_endpoint_done ports[MRC_PORT_UPDATES]; /* reported by peers, n_ports of them */
	uint32_t n_ports;
};

/* Lists of queue pairs that have EVs, by a hash of their peers. */
struct mrc_peers {
	struct mrc_qp **lists;
	uint32_t mask;
};

/* What takes turns in pull. */
enum mrc_turn { MRC_TURN_ANSWERS, MRC_TURN_REQUESTS, MRC_TURN_ENDPOINTS, MRC_TURNS };

/* Slots of the shared pools that queue pairs can use at most. */
struct mrc_needs {
	uint64_t flights, tracks, ev_faults;
};

struct mrc {
	struct engine engine;
	struct mrc_cfg cfg;
	struct mrc_counters count;
	nsec now;
	struct wheel wheel;
	struct wheel_timer *wheel_slots[WHEEL_SLOTS(MRC_WHEEL_LEVELS)];
	struct engine_numbers qps; /* struct mrc_qp */
	struct pool flights, tracks,
		answers;        /* struct engine_sent_chunk, engine_seen_chunk, mrc_answer */
	struct pool ev_faults;  /* struct path_ev_fault */
	struct mrc_needs needs; /* of all queue pairs that there are */
	uint32_t ports_down;    /* of ours, bit each */
	struct mrc_turns sending, answering;
	uint32_t n_pulls;
	uint8_t turn;        /* enum mrc_turn: whose is next */
	struct list starved; /* queue pairs kept back: no chunk of `flights` is free */
	struct mrc_endpoints endpoints;
	struct mrc_peers peers;
	struct list done;   /* struct engine_work that wait for poll */
	struct list events; /* queue pairs that have some */
};

/* A packet, read but not yet believed. */
struct mrc_in {
	const struct rx_pkt *rx;
	struct mrc_pkt h;
	struct engine_payload payload;
	bool is_foreign; /* an opcode of MRC's space that is not assigned: only h.bth is set */
};

/* What became of a packet; the names are those of the counters. */
enum mrc_verdict {
#define MRC_VERDICT_ENUM(name, text) MRC_VERDICT_##name,
	MRC_ACCEPTED(MRC_VERDICT_ENUM) MRC_DROPS(MRC_VERDICT_ENUM)
#undef MRC_VERDICT_ENUM
};

static inline struct mrc *mrc_of(struct engine *e)
{
	return (struct mrc *)e;
}

/* The PSN of a count, ours to send or the peer's. */
static inline psn24 mrc_psn(uint32_t first, uint64_t count)
{
	return psn24_of(first + (uint32_t)count);
}

/* What a queue pair takes of a message that it sends. */
static inline struct engine_cut_limits mrc_send_limits(const struct mrc_caps *caps)
{
	return (struct engine_cut_limits){caps->max_send_sge, MRC_MESSAGE_MAX, caps->max_inline};
}

static inline struct mrc_send *mrc_send_at(const struct mrc_qp *q, uint64_t count)
{
	return engine_ring_at(&q->req.works, count);
}

/* Something happened to q: it comes out of ops->events. */
static inline void mrc_raise(struct mrc *m, struct mrc_qp *q, enum engine_event_kind kind)
{
	engine_event_raise(&m->events, &q->events, (uint8_t)kind);
}

/* A time as timestamps on the wire tell it. */
static inline uint16_t mrc_stamp(nsec t)
{
	return (uint16_t)(t >> MRC_STAMP_SHIFT);
}

/* Whether a packet names its partition. MRC's own control packets carry some value that their
 * sender was given, and are known by their opcode (Table 7-11, M-04). */
static inline bool mrc_has_partition(uint8_t opcode)
{
	return opcode < 0xd8;
}

/* Asks for memory that will be read and written soon. */
static inline void mrc_fetch(const void *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += MRC_LINE_BYTES)
		__builtin_prefetch((const uint8_t *)at + i, 1);
}

/* Records a packet of queue pair qp that is complete in tx. */
static inline void mrc_trace_sent(const struct mrc *m, uint32_t qp, const struct mrc_bth *bth,
				  uint32_t payload, const struct tx_pkt *tx, bool is_resent)
{
	const struct traced_pkt p = {m->now, qp, bth->psn, payload, bth->opcode};

	if (trace_is_on(&m->cfg.trace))
		traced_sent(&m->cfg.trace, &p, tx, is_resent);
}

/* core.c */
struct mrc_qp *mrc_find(const struct mrc *m, uint32_t number);
/* The same into *q, if it has this EV: 0; -ENOENT: there is no such queue pair; -EINVAL: no such
 * EV. */
int mrc_find_with_ev(const struct mrc *m, uint32_t number, uint32_t ev, struct mrc_qp **q);
/* The queue pair behind q in an order of its own, the first for NULL, or NULL. */
struct mrc_qp *mrc_next_qp(const struct mrc *m, const struct mrc_qp *q);
/* The ports by which q's requests, or answers, may leave. */
uint32_t mrc_ports_of(const struct mrc *m, const struct mrc_qp *q, bool is_answer);
/* q may have a packet to send, or to answer: it gets a turn. Any number of times. */
void mrc_wake_send(struct mrc *m, struct mrc_qp *q);
void mrc_wake_answer(struct mrc *m, struct mrc_qp *q);
/* q has no turn any more; it gets a new one with new work. Also before its EVs change. */
void mrc_unlist_turns(struct mrc *m, struct mrc_qp *q);
/* The turns that q has are counted by the ports that it may leave by now. */
void mrc_recount_turns(struct mrc *m, struct mrc_qp *q);
/* Whether a queue pair has a turn that can leave by these ports. */
bool mrc_has_turns(const struct mrc_turns *t, uint32_t free_ports);
/* The first of them, of which there is one, has its turn now: those in front of it that cannot
 * leave keep theirs. */
struct mrc_qp *mrc_next_turn(struct mrc_turns *t, uint32_t free_ports, bool is_answer);
/* No chunk was free for q's next packet: it gets a turn when one is. */
void mrc_starve(struct mrc *m, struct mrc_qp *q);
void mrc_unlist_starved(struct mrc *m, struct mrc_qp *q);
/* A chunk of `flights` was given back: those that starve get their turns. */
void mrc_offer_chunk(struct mrc *m);
/* So many were. */
void mrc_offer_chunks(struct mrc *m, uint32_t n);
/* Completes a packet of q on an EV: headers from h, whose opcode, psn and what follows are set;
 * padding behind the payload bytes in tx->body, pkey, destination and addresses. */
void mrc_finish_packet(struct mrc *m, const struct mrc_qp *q, const struct path_ev *ev,
		       struct mrc_pkt *h, uint32_t payload, struct tx_pkt *tx);
/* As events have it: q, and the oldest that is not acknowledged. */
struct traced_qp mrc_traced(const struct mrc *m, const struct mrc_qp *q);
/* q is in another state now. */
void mrc_set_state(const struct mrc *m, struct mrc_qp *q, uint8_t state);

/* clock.c. The timeout of the i-th silence in a row, i = 0 .. (Table 7-1). */
nsec mrc_timeout_ns(const struct mrc_attr *attr, uint32_t i);
/* The peer has yet to answer about packets that are out, or to end a message with a Transport ACK.
 */
bool mrc_is_answer_due(const struct mrc_qp *q);
/* Silence counts from now, if anything is out or waits while all ports are down; else the clocks
 * stop. Tries count anew if is_moved: una moved, or what was executed did. */
void mrc_clock_restart(struct mrc *m, struct mrc_qp *q, bool is_moved);
/* una is retransmitted: its time begins anew, if that is not for a timeout. */
void mrc_clock_retx(struct mrc *m, struct mrc_qp *q);
/* Ports, work or the state of q changed: the clock of what only waits starts or stops. */
void mrc_clock_follow(struct mrc *m, struct mrc_qp *q);
/* The peer answered, but not about una: it need not be asked yet, and the timeout stands. is_news:
 * of packets that arrived, or are lost. */
void mrc_clock_spare(struct mrc *m, struct mrc_qp *q, bool is_news);
/* A probe goes out now. */
void mrc_probe_sent(struct mrc *m, struct mrc_qp *q);
/* The peer was asked once more: it is given longer before the next time. */
void mrc_probe_later(const struct mrc *m, struct mrc_requester *req);
/* One of the times that the retry timer waits for has moved. */
void mrc_arm(struct mrc *m, struct mrc_qp *q);
/* How long an answer may take before asking again makes sense, by the round trips so far. */
nsec mrc_probe_timeout_ns(const struct mrc_qp *q);
/* Something is to be done at `at`, or earlier for another reason. */
void mrc_wake_at(struct mrc *m, struct mrc_qp *q, nsec at);

/* inflight.c. Packets newly taken for lost. */
struct mrc_losses {
	uint32_t pkts, bytes;
};
/* Packet n is lost: counted in l, unless it is acknowledged or was lost already (false). */
bool mrc_lose(struct mrc_requester *req, uint64_t n, struct mrc_losses *l);
/* The controller is told of them; false: there were none. */
bool mrc_report_loss(struct mrc *m, struct mrc_qp *q, const struct mrc_losses *l, enum cc_loss why);
/* rcvd_bytes of a SACK: what the peer counts as received. */
void mrc_take_received(struct mrc_requester *req, uint32_t rcvd_bytes);
/* Records moved without such a count: the peer is not ahead of them by more than what is out. */
void mrc_bound_received(struct mrc_requester *req);
/* newly_rcvd_bytes (8.4): what was received and the controller was not told of. It is told now. */
uint32_t mrc_newly_received(struct mrc_requester *req);

/* pools.c. A queue pair comes, or goes: the pools have room for what it can use. */
void mrc_pools_take(struct mrc *m, const struct mrc_qp *q);
void mrc_pools_leave(struct mrc *m, const struct mrc_qp *q);

/* peers.c */
size_t mrc_peers_bytes(const struct mrc_cfg *cfg);
void mrc_peers_init(struct mrc *m, void *memory);
/* q has EVs to its peer now; and no longer: whom mrc_next_with_peer finds. */
void mrc_peer_join(struct mrc *m, struct mrc_qp *q);
void mrc_peer_leave(struct mrc_qp *q);
/* The next queue pair that has EVs to a peer, or the first; NULL: there is none. */
struct mrc_qp *mrc_next_with_peer(const struct mrc *m, uint32_t peer, const struct mrc_qp *q);

/* endpoint_queue.c */
size_t mrc_endpoint_bytes(const struct mrc_cfg *cfg);
void mrc_endpoint_init(struct mrc *m, void *memory);
/* Whether one more request of the engine's own can be posted; posts it: all but id and sent_at is
 * set. It is in its owner's list until it is answered. */
bool mrc_endpoint_has_room(const struct mrc *m);
void mrc_endpoint_ask(struct mrc *m, const struct mrc_request *request);
/* One that is in no list of its owner any more is not waited for: it is free, and not told of. */
void mrc_endpoint_withdraw(struct mrc *m, struct mrc_request *r);
/* One ends, answered or not: what its caller is told of it, and what more is known can be added; it
 * is free. */
struct mrc_endpoint_done *mrc_endpoint_end(struct mrc *m, struct mrc_request *r,
					   enum mrc_endpoint_news news);
/* The oldest request in the queue of a port is sent now. */
struct mrc_request *mrc_request_leave(struct mrc *m, struct mrc_endpoint_queue *queue);
/* Whether one more answer may go to a peer, or a stranger, now: it is counted then. */
bool mrc_endpoint_may_answer(struct mrc *m, bool is_peer);
/* Such an answer waits for its port. */
void mrc_response_queue(struct mrc_endpoints *ends, struct mrc_response *r);

/* complete.c. Works that were executed are done, in order. One that failed here has waited for
 * those before it, which the peer may have executed: now it fails, and q with it. */
void mrc_end_works(struct mrc *m, struct mrc_qp *q);
/* Packets before `end` were executed, una >= end > executed: their works are done, in order. */
void mrc_retire(struct mrc *m, struct mrc_qp *q, uint64_t end);
/* The oldest work that is not done fails with this status, and q with it. */
void mrc_fail_send(struct mrc *m, struct mrc_qp *q, enum engine_status status);
/* The peer executed the first n works that are not done, all of them out. */
void mrc_retire_works(struct mrc *m, struct mrc_qp *q, uint64_t n);
/* How work fails, and why, as the peer says (done.peer_code). */
struct mrc_failure {
	enum engine_status status;
	uint16_t peer_code;
};
/* The work of packet n < next fails so, or the oldest if that one is done; those around it are
 * flushed, and q fails. */
void mrc_fail_packet(struct mrc *m, struct mrc_qp *q, int64_t n, struct mrc_failure why);
/* What the peer has of the payload of the work that ends next, as far as all before it arrived. */
uint64_t mrc_part_bytes(const struct mrc_qp *q);
/* The work of packet n, which is sent, or is next, and not done. */
uint64_t mrc_work_of(const struct mrc_qp *q, uint64_t n);
/* Ends q on our own account: MRC_ERROR, all work flushed. What the responder still has to say is
 * said if is_closing was set before. */
void mrc_fail(struct mrc *m, struct mrc_qp *q);
/* The same, as its user asked for. */
void mrc_flush(struct mrc *m, struct mrc_qp *q);
/* Everything not done is flushed; nothing is out, and the clocks stop. */
void mrc_flush_send(struct mrc *m, struct mrc_qp *q);

/* input.c */
void mrc_input(struct engine *e, nsec now, const struct rx_pkt *pkts, uint32_t n);

/* send.c. Checks and takes send work into the ring; as ops->post. */
int mrc_take_send(struct mrc *m, struct mrc_qp *q, const struct op *op);
/* The next packet of q into tx, on an EV whose port is in free_ports; false when none may go now,
 * and whatever changes that calls mrc_wake_send; or when no port is free, and then q keeps its turn
 * (*is_blocked). May end work, or q, on the way. */
bool mrc_request_next(struct mrc *m, struct mrc_qp *q, uint32_t free_ports, struct tx_pkt *tx,
		      bool *is_blocked);
/* A reliability probe (7.4.6) on an EV into tx; returns its identifier. */
uint16_t mrc_put_probe(struct mrc *m, struct mrc_qp *q, const struct path_ev *ev,
		       struct tx_pkt *tx);
/* Everything is forgotten, as in MRC_RESET; or made ready to begin at MRC_RTS. */
void mrc_requester_reset(struct mrc *m, struct mrc_qp *q);
void mrc_requester_start(struct mrc *m, struct mrc_qp *q);
/* MRC_SQD is done draining when nothing is out: says so once. */
void mrc_check_drained(struct mrc *m, struct mrc_qp *q);

/* on_ack.c */
enum mrc_verdict mrc_on_sack(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in);
enum mrc_verdict mrc_on_nack(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in);
enum mrc_verdict mrc_on_ack(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in);

/* loss.c. Packets were news: their round trip, and how far they came behind others. rtt 0: not
 * known. */
void mrc_learn(struct mrc *m, struct mrc_qp *q, nsec rtt, const struct engine_sent_news *news);
/* What a SACK says is missing: bits from `from` on; if is_first packet una; and if is_all
 * everything that is not acked. */
struct mrc_view {
	uint64_t from, missing;
	bool is_first, is_all;
};
/* What is now lost, by what arrived (7.4.5): each packet at most once. */
void mrc_judge(struct mrc *m, struct mrc_qp *q, const struct mrc_view *view);
/* The answer to the probe that is out came: what was sent well before it and is not here is lost.
 */
void mrc_on_probed(struct mrc *m, struct mrc_qp *q, const struct mrc_view *view);
/* It reported some packets and not all: the next probe goes at once, and its answer begins where
 * this one ended. */
void mrc_probe_on(struct mrc *m, struct mrc_qp *q, const struct mrc_view *view);
/* Packet n is wanted again by a NACK: lost, if it has a try left; else q fails. Trimmed it costs
 * none, but for packet una, which it costs one a timeout; with MRC_COUNT_TRIMS one each time. */
void mrc_retx(struct mrc *m, struct mrc_qp *q, uint64_t n, bool is_trimmed);
/* The packet that was sent at `at` was cut by a switch. */
void mrc_note_trim(struct mrc_requester *req, nsec at);
/* The peer had no room for packet n, which is lost now; rtt: its round trip, 0 if not known. */
void mrc_pause(struct mrc *m, struct mrc_qp *q, uint64_t n, nsec rtt);
void mrc_timers_run(struct mrc *m, nsec now);

/* ask.c. When something is to be asked or given up next: to be called after what changes that. */
void mrc_ask_plan(struct mrc *m, struct mrc_qp *q);
/* When EVs and ports out of use want to be probed; not for a queue pair that has nothing to send.
 */
nsec mrc_probes_due(const struct mrc *m, const struct mrc_qp *q);
/* Asks the peer something on an EV; there is room for it. */
void mrc_ask(struct mrc *m, struct mrc_qp *q, struct mrc_request *r, const struct path_ev *ev);
/* The probe of an EV or a port of q that is out with this identifier, or NULL. */
struct mrc_request *mrc_probe_find(const struct mrc_qp *q, uint16_t probe_id);
/* Whether it is to be reported to the peer of q which of our ports are up; reports it, if there is
 * room. */
bool mrc_status_due(const struct mrc *m, const struct mrc_qp *q);
void mrc_report_ports(struct mrc *m, struct mrc_qp *q);
/* The peer says from now on that these are down there. */
void mrc_doubt(struct mrc *m, struct mrc_qp *q, uint32_t ports);
/* Ports of q's that nobody shut but the peer, as a whole or EV by EV. */
uint32_t mrc_askable_ports(const struct mrc_qp *q);
/* Asks whether ports are up at the peer that are down there, as it said or was found. */
void mrc_probe_peer_ports(struct mrc *m, struct mrc_qp *q);
/* Asks what q is to ask first, as far as it may by now; and such a question, or another one to a
 * port, leaves. */
void mrc_ask_first(struct mrc *m, struct mrc_qp *q);
void mrc_peer_port_asked(struct mrc *m, const struct mrc_request *r);
/* One that waits for its port takes an EV that is not denied, if there is one. */
void mrc_turn_question(const struct mrc_qp *q, struct mrc_request *r);

/* evs.c. Starts with the profile of q->attr, every EV as that has it; ends what there was, which
 * may have led to the same peer. */
void mrc_evs_start(struct mrc *m, struct mrc_qp *q, bool is_same_peer);
void mrc_evs_stop(struct mrc *m, struct mrc_qp *q);
/* Nothing is probed any more; answers go on. */
void mrc_evs_quiet(struct mrc *m, struct mrc_qp *q);
/* q->attr.denied_ports has changed. */
void mrc_evs_deny_ports(struct mrc *m, struct mrc_qp *q);
/* What became of a packet on its way, and of the path that it took: marked or trimmed; known to be
 * bad, as the peer says; lost, having gone at `at`; arrived, likewise, the only time it was sent.
 * EVs may be MRC_NO_EV or of another profile. */
void mrc_ev_marked(struct mrc_qp *q, uint32_t ev);
void mrc_ev_trimmed(struct mrc_qp *q, uint32_t ev);
void mrc_ev_avoid(struct mrc *m, struct mrc_qp *q, uint32_t ev);
void mrc_ev_lost(struct mrc *m, struct mrc_qp *q, uint32_t ev, nsec at);
void mrc_ev_arrived(struct mrc *m, struct mrc_qp *q, uint32_t ev, nsec at);
/* After some of the above: turns and timers follow the ports that are in use now, and what is out
 * by those that died is lost. */
void mrc_evs_changed(struct mrc *m, struct mrc_qp *q);
/* The same after EVs or ports were denied or shut: no probe that waits leaves by one of them. */
void mrc_evs_barred(struct mrc *m, struct mrc_qp *q);
/* A request of the engine's own had no answer in time, or may not go any more. */
void mrc_give_up(struct mrc *m, struct mrc_request *r);

/* ports.c. The peer answered what was reported to it of our ports. */
void mrc_ports_reported(struct mrc *m, uint32_t peer, uint32_t up);
/* A peer says which of its ports are up, a bit each. */
void mrc_on_peer_ports(struct mrc *m, uint32_t peer, uint32_t up);
/* Of ports whose state was doubted, or that were found down at the peer, it is known now: for all
 * queue pairs with that peer. */
void mrc_settle_doubt(struct mrc *m, uint32_t peer, uint32_t ports, bool is_down);
/* A packet that went at `at`, the only time, arrived: if that was since its port is said to be down
 * at the peer, it is not. */
void mrc_peer_port_arrived(struct mrc *m, struct mrc_qp *q, uint32_t ev, nsec at);

/* probes.c. path_due has come. */
void mrc_probes_run(struct mrc *m, struct mrc_qp *q);
/* The peer answered: time to measure an idle path, once (UE 3.6.13.7). */
void mrc_measure_idle(struct mrc *m, struct mrc_qp *q);
/* A request of the engine's own is sent. */
void mrc_ask_sent(struct mrc *m, struct mrc_request *r);
/* One is answered by the peer's endpoint. */
void mrc_ask_answered(struct mrc *m, const struct mrc_request *r, nsec rtt_ns);
/* A reliability probe of q's is answered; r: it is one of an EV or a port that is waited for. */
void mrc_on_probe_ack(struct mrc *m, struct mrc_qp *q, uint16_t probe_id,
		      const struct mrc_request *r);
/* The SACK that answers r came, with what that says of the EV (enum mrc_mark). It is free then. */
void mrc_probe_answered(struct mrc *m, struct mrc_request *r, uint8_t mark);

static inline uint32_t mrc_all_ports(const struct mrc *m)
{
	return (UINT32_C(1) << m->cfg.n_ports) - 1;
}

static inline uint32_t mrc_ports_up(const struct mrc *m)
{
	return mrc_all_ports(m) & ~m->ports_down;
}

/* Ports that the peer said are down there, and did not answer by. */
static inline uint32_t mrc_peer_ports_down(const struct mrc_qp *q)
{
	return q->req.path.blocked[PATH_BLOCK_PEER];
}

/* Ports that the peer is asked by. */
static inline uint32_t mrc_asked_ports(const struct mrc_qp *q)
{
	return mrc_peer_ports_down(q) | q->req.doubted;
}

/* Bytes sent and neither known to have arrived nor lost: inflight, a count of 32 bits (8.3.1). */
static inline uint32_t mrc_inflight(const struct mrc_requester *req)
{
	uint64_t ahead = req->reported_bytes > req->sent.acked_bytes
				 ? req->reported_bytes - req->sent.acked_bytes
				 : 0;
	uint64_t left = req->sent.out_bytes > ahead ? req->sent.out_bytes - ahead : 0;

	return left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
}

/* The service level of q says what its data leaves as (7.5.5.1). */
static inline void mrc_put_class(const struct mrc_qp *q, struct tx_pkt *tx)
{
	if (q->attr.tclass[tx->tclass])
		tx->tclass = q->attr.tclass[tx->tclass];
}

/* respond.c */
enum mrc_verdict mrc_on_data(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in);
/* One that could not be read beyond its base header. */
enum mrc_verdict mrc_on_malformed(struct mrc *m, struct mrc_qp *q, struct mrc_in *in);
enum mrc_verdict mrc_on_probe(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in);
void mrc_responder_reset(struct mrc *m, struct mrc_qp *q);
void mrc_responder_start(struct mrc *m, struct mrc_qp *q); /* MRC_RTR */
/* The range changes to attr.mpr (7.5.4). */
void mrc_responder_resize(struct mrc *m, struct mrc_qp *q);
int mrc_take_recv(struct mrc *m, struct mrc_qp *q, const struct op *op);
/* As ops->cancel. */
int mrc_cancel_recv(struct mrc *m, struct mrc_qp *q, uint64_t cookie);

/* answer.c. A packet came in by this port. */
void mrc_on_rx_port(struct mrc *m, struct mrc_qp *q, uint32_t port);
/* As mrc_request_next. */
bool mrc_answer_next(struct mrc *m, struct mrc_qp *q, uint32_t free_ports, struct tx_pkt *tx,
		     bool *is_blocked);
/* An answer about the packet in `in` waits to be sent; false: no room, and none will be. */
bool mrc_answer_add(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in,
		    enum mrc_answer_kind kind, uint8_t reason);
/* Answers that wait are forgotten. */
void mrc_answer_clear(struct mrc *m, struct mrc_qp *q);
/* The field of a SACK, NACK or endpoint response that carries a timestamp back, or tells how long
 * it waited here (7.5.5.8, M-37). */
struct mrc_reflected {
	nsec arrived;
	uint16_t stamp;
	bool has_stamp, is_stamp_ours;
};
uint16_t mrc_reflect(const struct mrc *m, const struct mrc_reflected *r);

/* endpoint.c */
enum mrc_verdict mrc_on_endpoint_request(struct mrc *m, const struct mrc_in *in);
enum mrc_verdict mrc_on_endpoint_response(struct mrc *m, const struct mrc_in *in);
/* The next endpoint packet into tx, of what may go; false: none may. */
bool mrc_endpoint_next(struct mrc *m, uint32_t may, struct tx_pkt *tx);
/* Whether one could go, of what may. */
bool mrc_endpoint_waits(const struct mrc *m, uint32_t may);

#endif
