/* What the oracle's files for MRC share: a reader of packets, and what the wire tells of each end.
 *
 *	oracle_mrc.c    reading, and whom a packet concerns
 *	oracle_ask.c    requestors: what they may send, and what they were told
 *	oracle_answer.c responders: what they received, and what they must say of it */
#ifndef WEFT_TESTS_HUNT_WIRE_MRC_H
#define WEFT_TESTS_HUNT_WIRE_MRC_H

#include "oracle_mrc.h"

#define WIRE_NUMBERS  0x1000000u
#define WIRE_HALF     0x800000u
#define WIRE_NO_COUNT UINT64_MAX
#define WIRE_NOMINAL  40u           /* on top of the UDP length (8.3.1, M-44) */
#define WIRE_STAMP    7u            /* timestamps count 128 ns */
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

/* Why a packet may go again, since it was last sent. */
enum { WAS_NACKED = 1, WAS_PROBED = 2, WAS_OVERTAKEN = 4, WAS_SILENT = 8 };

/* A packet of an end, by its place. */
struct wire_pkt {
	uint64_t order;      /* of its last sending, among all of its end */
	uint32_t sends;      /* how often */
	uint32_t in_silence; /* of them, again since news came */
	uint16_t nominal;
	uint8_t reasons;
	bool is_known;   /* the sender was told that it arrived */
	bool is_counted; /* in certain_bytes */
	bool has_come;   /* the receiver took it */
};

enum wire_answer_kind { ANSWER_SACK, ANSWER_PROBED, ANSWER_NACK };

/* An answer that a responder owes: what it says of the packet that caused it. */
struct wire_answer {
	nsec at; /* of its arrival */
	uint32_t psn, ev;
	uint16_t stamp, probe_id, udp_len;
	uint8_t kind, reason;
	bool has_psn, has_stamp, is_again, is_marked;
};

/* An end as a requestor. Packets are counted from 0. */
struct wire_ask {
	struct wire_pkt *pkts;
	uint64_t n_pkts;
	/* Known to be executed, and to have arrived, before these; never sent from high on. */
	uint64_t heard, una, high;
	uint64_t orders, newest; /* sendings, and the last of them that is known to have arrived */
	uint64_t certain_bytes;  /* of packets that nobody can take for lost: they are out */
	uint32_t range;          /* as told by a SACK that was ahead, ... */
	uint32_t range_also;     /* ... or perhaps by a later one; 0: none */
	uint64_t cack;           /* one past the highest that a SACK told */
	nsec quiet_at;           /* nothing is known to have been news since, ... */
	bool is_vague;           /* ... but something came that may have been */
	uint32_t unasked;        /* new packets since the last that asked for an answer */
	uint16_t probe_id;
	bool is_probing;
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
};

/* A walk over the ways of an end. */
struct wire_walk {
	uint32_t next; /* of its ways, ... */
	bool is_known; /* ... if that is known */
	bool has_begun;
};

struct wire_end {
	struct wire_walk walks[2]; /* of requests, of answers */
	uint8_t turn;              /* which of its ways are in use */
	bool is_draining;          /* no message begins, ... */
	bool has_drained;          /* ... and it told that nothing is out */
	bool has_told;             /* an event told that it refused something */
	struct wire_ask ask;
	struct wire_give give;
	struct wire_coming coming;
};

static inline struct wire_end *wire_at(const struct hunt_oracle *o, uint32_t end)
{
	return (struct wire_end *)o->wire + end;
}

static inline const struct story_mrc_end *wire_story(const struct hunt_oracle *o, uint32_t end)
{
	return &story_mrc(o->story)->ends[end];
}

static inline const struct story_mrc_host *wire_host(const struct hunt_oracle *o, uint32_t end)
{
	return &story_mrc(o->story)->hosts[o->story->ends[end].host];
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

/* oracle_ask.c: an end sends a data packet, a probe; it will hear, and it heard, an answer. */
void wire_ask_data(struct hunt_oracle *o, uint32_t end, nsec now, const struct wire_head *h,
		   const struct tx_pkt *tx);
void wire_ask_probe(struct hunt_oracle *o, uint32_t end, nsec now, const struct wire_head *h,
		    const struct tx_pkt *tx);
void wire_ask_expect(struct hunt_oracle *o, uint32_t end);
void wire_ask_heard(struct hunt_oracle *o, uint32_t end);

/* oracle_answer.c: an end sends an answer; a data packet or a probe comes to it, and was taken. */
void wire_give_answer(struct hunt_oracle *o, uint32_t end, nsec now, const struct wire_head *h,
		      const struct tx_pkt *tx);
void wire_give_expect(struct hunt_oracle *o, uint32_t end);
void wire_give_taken(struct hunt_oracle *o, uint32_t end, uint32_t verdict);
void wire_give_resize(struct hunt_oracle *o, uint32_t end, uint8_t mpr);

#endif
