/* What the oracle's files for MRC share: a reader of packets, and what the wire tells of each end.
 *
 *	oracle_mrc.c    reading, and whom a packet concerns
 *	oracle_ask.c    requestors: what they may send, and what they were told
 *	oracle_answer.c responders: what they received, and what they must say of it
 *	oracle_evs.c   which EVs packets take, and what becomes of EVs
 *	oracle_common.c packets between hosts as such, on queue pair 2 */
#ifndef WEFT_TESTS_HUNT_WIRE_MRC_H
#define WEFT_TESTS_HUNT_WIRE_MRC_H

#include "oracle_mrc.h"

#define WIRE_NUMBERS  0x1000000u
#define WIRE_HALF     0x800000u
#define WIRE_NO_COUNT UINT64_MAX
#define WIRE_NOMINAL  40u /* on top of the UDP length (8.3.1, M-44) */
#define WIRE_STAMP    7u  /* timestamps count 128 ns */
#define WIRE_NO_EV    UINT16_MAX
#define WIRE_COMMON   2u            /* the queue pair of endpoint operations (M-28) */
#define WIRE_DROPPED  (MET_NAK + 1) /* the verdict that is none of the counters up to that */

/* Opcodes (Table 6-2). */
enum {
	WRITE_FIRST = 0xc6,
	WRITE_MIDDLE,
	WRITE_LAST,
	WRITE_LAST_IMM,
	WRITE_ONLY,
	WRITE_ONLY_IMM,
	ACKNOWLEDGE = 0xd1,
	COMMON_REQUEST = 0xd8,
	COMMON_RESPONSE,
	SACK = 0xdc,
	NACK,
	PROBE,
};

/* Codes of NAKs (IBTA table 45) and NACKs (Table 7-17). */
enum { NAK_INVALID = 1, NAK_ACCESS, NAK_OPERATION };
enum { TRIMMED = 1, TRIMMED_LASTHOP, NO_BITMAP = 6, OUT_OF_WINDOW = 11 };

/* A packet's base header, and what follows it. */
struct wire_head {
	uint8_t opcode, pad, version;
	bool se, ack_req, rtx, ts;
	uint16_t pkey;
	uint32_t qp, psn;
	const uint8_t *more;
	uint32_t n_more;
};

/* Why a packet may be retransmitted, since it was last sent. */
enum { WAS_NACKED = 1, WAS_PROBED = 2, WAS_OVERTAKEN = 4, WAS_SILENT = 8, WAS_DEAD = 16 };

/* A packet of an end, by its place. */
struct wire_pkt {
	uint64_t order;      /* of its last sending, among all of its end */
	uint32_t sends;      /* how often */
	uint32_t in_silence; /* of them, again since news came */
	uint16_t nominal;
	uint16_t ev_number; /* of its last sending, if no other looks like it, else WIRE_NO_EV */
	uint32_t ev;        /* likewise */
	psec sent_at;
	uint8_t port;
	uint8_t reasons;
	bool is_known;     /* the sender was told that it arrived */
	bool is_counted;   /* in certain_bytes */
	bool was_reported; /* was retransmitted for the report of a SACK */
	bool has_come;     /* the receiver took it */
};

enum wire_answer_kind { ANSWER_SACK, ANSWER_PROBED, ANSWER_NACK };

/* An answer that a responder owes: what it says of the packet that caused it. */
struct wire_answer {
	nsec at; /* of its arrival */
	uint32_t psn, ev;
	uint16_t stamp, probe_id, udp_len;
	uint8_t kind, reason;
	bool has_psn, has_stamp, is_retx, is_marked;
};

#define WIRE_PROBES 1024u

/* A reliability probe that may be answered. */
struct wire_probe {
	psec sent_at;
	uint16_t id;
	uint8_t port;
	bool is_sent, is_open; /* is_open: not answered yet */
};

/* An end as a requestor. Packets are counted from 0. */
struct wire_ask {
	struct wire_pkt *pkts;
	uint64_t n_pkts;
	/* Known to be executed, and to have arrived, before these; never sent from high on. */
	uint64_t executed_pkts, una, high;
	uint32_t executed;        /* works that the peer's NAK said it had executed */
	uint64_t orders, newest;  /* sendings, and the last of them that is known to have arrived */
	uint64_t certain_bytes;   /* of packets that nobody can take for lost: they are out */
	uint64_t known_bytes;     /* of packets that are known to have arrived */
	uint64_t reported_bytes;  /* that the peer received, by its rcvd_bytes (8.4), ... */
	uint32_t reported_blocks; /* ... the newest of them */
	uint32_t range;           /* as told by a SACK that was ahead, ... */
	uint32_t range_also;      /* ... or perhaps by a later one; 0: none */
	uint64_t cack;            /* one past the highest that a SACK told */
	nsec quiet_at;            /* the first packet out is known to be the same since, ... */
	bool is_vague;            /* ... but something came that may have been */
	uint32_t unasked;         /* new packets since the last that asked for an answer */
	struct wire_probe probes[WIRE_PROBES]; /* by identifier, modulo their number */
};

/* An end as a responder: of its peer's packets. */
struct wire_give {
	uint64_t expected, seen, promised;
	int64_t lowest; /* lowest_unsacked_psn */
	uint64_t asked; /* one past the packet that wants a SACK when all before it are here; 0 */
	uint64_t bytes; /* rx_rcvd_bytes */
	uint32_t range, early, trigger, msn, stashed, n_recvs;
	uint8_t mpr;
	bool owes_sack, owes_ack, owes_nak, is_closed;
	uint8_t naks; /* bit per code that it may have */
	uint32_t nak_psn;
	struct wire_answer *answers; /* n of them from first on, in a ring */
	uint32_t first, n, room;
};

/* What just came to an end, and what should become of it. */
struct wire_coming {
	const struct rx_pkt *rx; /* NULL: nothing that concerns it */
	struct wire_head h;
	nsec now;
	uint64_t count; /* of the packet that it is, or is about */
	uint32_t may;   /* bit per verdict: enum oracle_mrc_met, or WIRE_DROPPED */
	uint8_t naks;   /* bit per code that it may be refused with */
	uint8_t nack;   /* reason of a NACK */
	uint16_t ev;    /* that is told of, or WIRE_NO_EV */
};

/* A walk over the EVs of an end. */
struct wire_walk {
	uint32_t next; /* of its EVs, ... */
	bool is_known; /* ... if that is known */
	bool has_begun;
};

/* An EV of an end. Times are the simulator's. */
struct wire_ev {
	bool is_denied;
	bool is_single;      /* no other has its entropy and port */
	bool has_come_back;  /* it was usable when all was healed */
	psec lost_at;        /* it was known to lose packets, and nothing came by it since; 0 */
	psec lost_twice_at;  /* the last time that it was */
	bool was_left;       /* it was out of use since then */
	psec arrived_at;     /* the last time that something came by it */
	uint32_t late_uses;  /* packets by it long after lost_at, ... */
	psec late_at;        /* ... from here on */
	psec probed_at;      /* first of the probes without an answer */
	uint32_t unanswered; /* those */
};

/* Of an end, for odd_mrc.c. */
struct wire_odd {
	uint64_t counted_bytes; /* of duplicates that came to it */
	bool has_left_out;      /* its last ACK */
	uint32_t late_in;       /* packets until a NACK comes once more: this one; 0: none */
	struct rx_pkt late;
	uint8_t head[64];
};

struct wire_end {
	struct wire_odd odd;
	struct wire_walk walk;            /* of answers */
	uint8_t turn;                     /* which of its EVs are in use */
	struct wire_ev evs[PLAN_MRC_EVS]; /* of those */
	uint8_t denied_ports;             /* by its own attributes */
	uint8_t dead_ports;               /* by what happened to its packets */
	uint8_t peer_ports_down; /* found not to be received, and nobody said otherwise since */
	uint64_t port_losses;    /* of its host, when that was looked at last */
	uint32_t last, in_a_row; /* the EV of its last request, and how many took it */
	uint64_t window_bytes;   /* as the engine says now, ... */
	uint64_t window_before;  /* ... and before this pull */
	uint32_t sent_bytes;     /* of its last data packet of this pull; 0: none */
	psec refused_at;         /* its peer's word ended it, if was_refused */
	psec answered_at;        /* the last time that it received its peer's answer */
	psec came_at;            /* the last time that data of its came to its peer */
	psec fewest_at;          /* the last time that no EV more could be left */
	psec fault_at;           /* it last took something for lost */
	psec busy_from, busy;    /* since when it has something out; how long it had, since then */
	bool is_draining;        /* no message begins, ... */
	bool has_drained;        /* ... and it told that nothing is out */
	bool has_reported;       /* an event told that it refused something */
	struct wire_ask ask;
	struct wire_give give;
	struct wire_coming coming;
};

/* A request on queue pair 2 that was sent, by its number. */
struct wire_request {
	uint32_t peer, ev;
	uint8_t op, port;
	bool is_open; /* it was not answered */
};

/* The answer to one. */
struct wire_response {
	nsec at;
	uint32_t peer, ev;
	uint16_t id, stamp;
	uint8_t op, port;
};

/* A host as such. */
struct wire_station {
	struct wire_request *requests;
	uint32_t n_requests, request_room;
	struct wire_response *responses; /* that are owed */
	uint32_t n_responses, response_room;
	uint8_t down;                  /* ports */
	uint8_t peer_down[HUNT_HOSTS]; /* as its peers told, and nothing tells otherwise */
	uint8_t peer_said[HUNT_HOSTS]; /* as they told last ... */
	psec said_at[HUNT_HOSTS];      /* ... at this time, ... */
	uint8_t asked[HUNT_HOSTS];     /* and asked by these, since it is said of them */
	bool has_doubts[HUNT_HOSTS];   /* whether one of them ever said that a port is down */
	bool has_changed_ports;
	psec left_at[ENGINE_PORTS];   /* the last time that something left by a port, ... */
	psec opened_at[ENGINE_PORTS]; /* ... and that it did after nothing had for long */
};

struct wire {
	struct wire_end ends[HUNT_ENDS];
	struct wire_station stations[HUNT_HOSTS];
	struct prng whim; /* of odd hosts */
};

static inline struct wire_end *wire_at(const struct hunt_oracle *o, uint32_t end)
{
	return &((struct wire *)o->wire)->ends[end];
}

static inline struct wire_station *wire_station(const struct hunt_oracle *o, uint32_t host)
{
	return &((struct wire *)o->wire)->stations[host];
}

static inline const struct plan_mrc_end *wire_plan(const struct hunt_oracle *o, uint32_t end)
{
	return &plan_mrc(o->plan)->ends[end];
}

static inline const struct plan_mrc_host *wire_host(const struct hunt_oracle *o, uint32_t end)
{
	return &plan_mrc(o->plan)->hosts[o->plan->ends[end].host];
}

static inline void wire_met(struct hunt_oracle *o, enum oracle_mrc_met what)
{
	o->result->met.counts.more[what]++;
}

uint64_t wire_big(const uint8_t *at, uint32_t n);
bool wire_read(struct cspan bytes, struct wire_head *h);
bool wire_is_data(uint8_t opcode);

/* The timestamp of a data packet or a probe; false: it has none. */
bool wire_stamp(const struct wire_head *h, uint16_t *stamp);

/* The queue pair of an end is no more. */
bool wire_is_dead(const struct hunt_oracle *o, uint32_t end);

/* The count of a packet of end's whose number is near that of count `near`; WIRE_NO_COUNT: it lies
 * before the first. */
uint64_t wire_count(const struct hunt_oracle *o, uint32_t end, uint32_t psn, uint64_t near);

/* Whether every EV of an end counts as it should: nothing was forged at its host. */
bool wire_is_honest(const struct hunt_oracle *o, uint32_t host);

/* Whether a timestamp came back as it has to (7.5.5.8), having waited since `at`. */
struct wire_reflected {
	nsec at, now;
	bool has_stamp;
	uint16_t stamp, got;
};
bool wire_is_reflected(const struct hunt_oracle *o, uint32_t host, const struct wire_reflected *r);

/* oracle_evs.c: an end begins with its EVs, or takes its others; sends a request or an answer by
 * one; something came by an EV, a packet of it was lost, the peer told of it. */
void wire_evs_begin(struct hunt_oracle *o, uint32_t end);
void wire_evs_request(struct hunt_oracle *o, uint32_t end, const struct tx_pkt *tx, bool is_retx);
/* A packet leaves, whose record is of the time before: another EV than then (7.4.4). */
void wire_ev_retx(struct hunt_oracle *o, uint32_t end, const struct wire_pkt *p,
		  const struct tx_pkt *tx);
void wire_evs_answer(struct hunt_oracle *o, uint32_t end, const struct tx_pkt *tx);
/* A probe: of what arrived, by an EV in use, or of an EV that is not. */
void wire_evs_probe(struct hunt_oracle *o, uint32_t end, const struct tx_pkt *tx);
uint16_t wire_ev_of(const struct hunt_oracle *o, uint32_t end, uint32_t ev, uint32_t port);
void wire_ev_arrived(struct hunt_oracle *o, uint32_t end, uint32_t ev);
/* EVs of an end may need to come back from now on. */
void wire_fault(struct hunt_oracle *o, uint32_t end);
void wire_ev_lost(struct hunt_oracle *o, uint32_t end, const struct wire_pkt *p);
void wire_ev_marked(struct hunt_oracle *o, uint32_t end, uint32_t ev);
void wire_evs_changed(struct hunt_oracle *o, const struct plan_mrc_change *c);
void wire_evs_on_answer(struct hunt_oracle *o, uint32_t end);
/* An end may have given up ports since it was last looked at. */
void wire_evs_look(struct hunt_oracle *o, uint32_t end);
void wire_evs_rest(struct hunt_oracle *o, uint32_t end);

/* Something leaves by a port. */
void wire_port_used(struct hunt_oracle *o, uint32_t host, uint32_t port);

/* oracle_common.c: a host sends a packet to queue pair 2 of another. */
void wire_common_sent(struct hunt_oracle *o, uint32_t host, nsec now, const struct wire_head *h,
		      const struct tx_pkt *tx);
/* An end of which nobody knows any more what it receives may have found that ports are up, for all
 * with its peer. */
void wire_ports_unsure(struct hunt_oracle *o, uint32_t end);
/* The peer of an end answered a probe, whatever it said of its port. */
void wire_peer_answered(struct hunt_oracle *o, uint32_t end, const struct wire_probe *p);
/* Whether the peer of an end ever said that it has a port down. */
bool wire_doubts(const struct hunt_oracle *o, uint32_t end);
void wire_common_rest(struct hunt_oracle *o, uint32_t host);

/* oracle_ask.c: an end sends a data packet, a probe; it will receive, and it received, an answer.
 */
void wire_ask_data(struct hunt_oracle *o, uint32_t end, nsec now, const struct wire_head *h,
		   const struct tx_pkt *tx);
void wire_ask_probe(struct hunt_oracle *o, uint32_t end, nsec now, const struct wire_head *h,
		    const struct tx_pkt *tx);
void wire_ask_expect(struct hunt_oracle *o, uint32_t end);
/* All that an end has out by these ports may be retransmitted. */
void wire_ask_died(struct hunt_oracle *o, uint32_t end, uint32_t ports);
void wire_ask_on_answer(struct hunt_oracle *o, uint32_t end);

/* oracle_answer.c: an end sends an answer; a data packet or a probe comes to it, and was taken. */
void wire_give_answer(struct hunt_oracle *o, uint32_t end, nsec now, const struct wire_head *h,
		      const struct tx_pkt *tx);
void wire_give_expect(struct hunt_oracle *o, uint32_t end);
void wire_give_taken(struct hunt_oracle *o, uint32_t end, uint32_t verdict);
void wire_give_resize(struct hunt_oracle *o, uint32_t end, uint8_t mpr);

#endif
