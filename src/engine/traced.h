/* What every engine records of packets and queue pairs (trace/event.h). Who calls these has looked
 * whether the tracer is on, but for moves. */
#ifndef WEFT_ENGINE_TRACED_H
#define WEFT_ENGINE_TRACED_H

#include "engine/engine.h"
#include "trace/ring.h"

/* A packet as its transport knows it. */
struct traced_pkt {
	nsec now;
	uint32_t qp;  /* ours, or of one that nobody takes the one it names */
	uint32_t psn; /* or what is most like it */
	uint32_t payload;
	uint8_t what; /* as the transport's row has words for it */
};

/* Sizes and times that no event has the bits for are as large as it can say. */
static inline uint32_t traced_fit(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* The place of a counter behind another, of engines that count by pointers to counters in a row. */
static inline uint32_t traced_place(const uint64_t *counter, const uint64_t *first)
{
	return (uint32_t)(((uintptr_t)counter - (uintptr_t)first) / sizeof *counter);
}

static inline uint8_t traced_how(const struct rx_pkt *rx)
{
	return (uint8_t)(rx->port | (rx->trimmed ? TRACE_TRIMMED : 0) |
			 (rx->ecn == ENGINE_ECN_CE ? TRACE_MARKED : 0));
}

/* One that goes, by the port and with the entropy that tx has. */
static inline void traced_sent(const struct tracer *t, const struct traced_pkt *p,
			       const struct tx_pkt *tx, bool is_resent)
{
	trace_add(t, &(struct trace_event){
			     .at = p->now,
			     .qp = p->qp,
			     .number = p->psn,
			     .a = p->payload,
			     .b = tx->ev,
			     .kind = is_resent ? TRACE_RESENT : TRACE_SENT,
			     .what = p->what,
			     .how = tx->port,
		     });
}

/* One that came, and its place among the counters of what became of packets. */
static inline void traced_received(const struct tracer *t, const struct traced_pkt *p,
				   const struct rx_pkt *rx, uint32_t verdict)
{
	trace_add(t, &(struct trace_event){
			     .at = p->now,
			     .qp = p->qp,
			     .number = p->psn,
			     .a = p->payload,
			     .b = rx->ev,
			     .kind = TRACE_RECEIVED,
			     .what = p->what,
			     .why = (uint8_t)verdict,
			     .how = traced_how(rx),
		     });
}

/* The same of one that answers what we sent, and what the sender has from then on. */
struct traced_window {
	uint64_t window_bytes;
	nsec srtt_ns; /* 0: not known */
};
static inline void traced_answered(const struct tracer *t, const struct traced_pkt *p,
				   const struct rx_pkt *rx, uint32_t verdict,
				   struct traced_window window)
{
	trace_add(t, &(struct trace_event){
			     .at = p->now,
			     .qp = p->qp,
			     .number = p->psn,
			     .a = traced_fit(window.window_bytes),
			     .b = traced_fit(window.srtt_ns),
			     .kind = TRACE_ANSWERED,
			     .what = p->what,
			     .why = (uint8_t)verdict,
			     .how = traced_how(rx),
		     });
}

/* A queue pair, its PSN that is the oldest not acknowledged, and what is out. */
struct traced_qp {
	nsec now;
	uint32_t qp, psn;
};
void traced_timeout(const struct tracer *t, const struct traced_qp *q, uint64_t out_bytes,
		    uint32_t tries);
void traced_failed(const struct tracer *t, const struct traced_qp *q, enum engine_status status,
		   uint32_t peer_code);
/* Moves *state, one of engine/ladder.h, and records that if the tracer is on. To stay is no move.
 */
void traced_move(const struct tracer *t, const struct traced_qp *q, uint8_t *state, uint8_t to);
void traced_paths(const struct tracer *t, const struct traced_qp *q, uint32_t bad_evs,
		  uint32_t evs);

#endif
