/* The reference transport's memory, shared by its own source files.
 *
 * Packets of a queue pair are counted from 0 in 64 bits; the PSN on the wire is the first PSN plus
 * the count, modulo 2^24. Invariants: una <= next <= una + window; the bits of acked and lost from
 * next - una on are clear; n_acked, n_lost, n_seen and n_events count the bits of their windows. */
#ifndef WEFT_REF_STATE_H
#define WEFT_REF_STATE_H

#include <stdbool.h>

#include "base/serial.h"
#include "base/window.h"
#include "engine/traced.h"
#include "ref/ref.h"

#define REF_NONE UINT32_MAX

/* Posted work, from post until it is polled: in the list of its queue pair, then in that of the
 * completions. */
struct ref_op {
	uint64_t cookie, remote;
	uint64_t first;           /* number of its first packet */
	struct cspan sg[REF_SGE]; /* pieces that are not empty */
	uint32_t len, n_pkts, key, imm, qp, next;
	uint16_t msn, rqmsn;
	int16_t status;
	uint8_t n_sg;
	bool has_imm;
};

/* A packet that is out; the place is its number modulo the window rounded up to a power of 2. */
struct ref_sent {
	uint32_t op;
	bool timed_out; /* why it is marked lost: by time, not by a NACK */
};

/* A message with immediate data that ends at a packet which came before its turn. */
struct ref_event {
	uint32_t imm, len;
};

struct ref_received {
	uint32_t qp, imm, len;
};

/* An acknowledgement or NACK that waits for room on its port. */
struct ref_control {
	uint32_t qp, psn, ev;
	uint16_t udp_len;
	uint8_t nack; /* enum mrc_nack, 0: an acknowledgement */
	uint8_t mark; /* enum mrc_mark */
};

struct ref_lane {
	struct ref_control *ring;
	uint32_t head, count;
};

struct ref_qp {
	bool open, failed, has_fresh, has_asked;
	bool queued;   /* in the ready list */
	uint8_t turn;  /* the port that sends next if it can */
	uint8_t tries; /* timeouts since something was acknowledged */
	uint32_t num, peer, local, remote_qp;
	uint32_t ready_next;

	/* What we send. */
	uint64_t una, next, end; /* oldest not acknowledged, next to send, end of what is posted */
	nsec due, wake;          /* when time is up; when the timer looks, which is not later */
	uint32_t timer_at;       /* its place in the heap of timers, or REF_NONE */
	uint32_t sq_psn;
	uint32_t op_head, op_next, op_tail; /* oldest, the one `next` belongs to, youngest */
	uint32_t n_acked, n_lost;
	struct window acked, lost; /* from una on */
	struct ref_sent *sent;
	uint16_t *order;                 /* numbers of evs; place i is on port i % n_ports */
	uint16_t order_at[ENGINE_PORTS]; /* place of the port's next ev */
	uint16_t msn, rqmsn;

	/* What we receive. */
	psn24 expected;
	psn24 asked;        /* if has_asked: the highest packet that asked before its turn */
	psn24 fresh_first;  /* if has_fresh: the lowest that came since the last acknowledgement */
	uint32_t until_ack; /* packets until the next acknowledgement of our own accord */
	uint32_t n_seen, n_events;
	struct window seen, event; /* from expected on */
	struct ref_event *events;
};

struct ref {
	struct engine engine;
	struct ref_cfg cfg;
	struct ref_counters count;
	nsec now;
	uint32_t slot_mask;
	uint32_t lanes_waiting; /* bit p: lane p is not empty */
	uint32_t ready_head, ready_tail, n_timers;
	uint32_t free_op, done_head, done_tail;
	uint32_t received_head, n_received;
	struct ref_qp *qps;
	struct ref_op *ops;
	struct ref_received *received;
	uint32_t *timers; /* a heap of queue pairs by wake, the first to wake at the top */
	struct ref_lane lanes[ENGINE_PORTS];
};

static inline struct ref *ref_of(struct engine *e)
{
	return (struct ref *)e;
}

static inline psn24 ref_psn(const struct ref_qp *q, uint64_t number)
{
	return psn24_of(q->sq_psn + (uint32_t)number);
}

/* Puts q into the ready list when it has something to send now. */
void ref_wake(struct ref *r, struct ref_qp *q);

/* Time runs from now on; q has packets out. */
void ref_timer_start(struct ref *r, struct ref_qp *q, nsec now);
void ref_timer_stop(struct ref *r, struct ref_qp *q);

/* Does what is due at now; afterwards no timer is. */
void ref_timers_run(struct ref *r, nsec now);

/* Moves the oldest work of q to the completions. */
void ref_complete(struct ref *r, struct ref_qp *q, int status);

void ref_input(struct engine *e, nsec now, const struct rx_pkt *pkts, uint32_t n);
uint32_t ref_pull(struct engine *e, nsec now, const struct engine_room *room, struct tx_pkt *pkts,
		  uint32_t n);

#endif
