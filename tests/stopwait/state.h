/* The memory of a stop-and-wait engine, shared by its own files. */
#ifndef WEFT_TESTS_STOPWAIT_STATE_H
#define WEFT_TESTS_STOPWAIT_STATE_H

#include "base/list.h"
#include "base/wheel.h"
#include "engine/cut.h"
#include "engine/done.h"
#include "engine/events.h"
#include "engine/ladder.h"
#include "engine/numbers.h"
#include "engine/traced.h"
#include "engine/work.h"
#include "stopwait.h"

#define STOPWAIT_WHEEL_LEVELS 5u

/* Work of either ring. */
struct stopwait_work {
	struct engine_work wr;
	uint64_t remote;
	uint32_t key, n_sg;
	struct sge sg[];
};

/* What is known of the other end, and owed to it: first member of a queue pair; of a stranger all
 * there is. */
struct stopwait_end {
	struct list_link ack_turn;
	struct engine_events events; /* of a stranger */
	struct wheel_timer timer; /* until a packet goes again; of a stranger, until its release */
	uint32_t number, remote;  /* ours and theirs */
	uint32_t peer, local, ev;
	uint32_t expected;            /* the next packet to come */
	uint32_t ack_seq, ack_status; /* what is to be answered while ack_turn is linked */
	nsec used_at;
	bool is_stranger, is_held;
};

/* A completion that was lent: a receive without a place. Its owner is the engine. */
struct stopwait_lent {
	struct engine_work wr;
	uint32_t peer, source;
};

struct stopwait_pair {
	struct stopwait_end end;
	struct engine_number id;
	struct list_link data_turn;
	struct transport_caps caps;
	uint8_t state, access; /* enum engine_state, enum mem_access */
	uint16_t pmtu;
	nsec timeout_ns;
	uint32_t retries, tries;
	struct engine_ring sends, recvs; /* of struct stopwait_work */
	uint32_t seq;                    /* the packet that is out, or the next */
	uint32_t offset, out_bytes;      /* its place in the oldest message, and its payload */
	bool is_out;
	bool is_address;   /* an address handle: it sends, and is found among those */
	bool is_receiving; /* a message has begun to use the oldest receive */
	struct transport_progress progress;
};

struct stopwait {
	struct engine engine;
	struct stopwait_cfg cfg;
	struct stopwait_counters count;
	nsec now;
	struct wheel wheel;
	struct wheel_timer *slots[WHEEL_SLOTS(STOPWAIT_WHEEL_LEVELS)];
	struct engine_numbers pairs, addresses;
	struct stopwait_end *strangers;
	struct list acks, data, done; /* by turns; and what waits for poll */
	struct list told;             /* strangers that there are events of */
	struct engine_ring lent;      /* of struct stopwait_lent */
};

static inline struct stopwait *stopwait_of(struct engine *e)
{
	return (struct stopwait *)e;
}

static inline struct stopwait_pair *stopwait_find(const struct stopwait *s, uint32_t number)
{
	struct engine_number *id = engine_number_find(&s->pairs, number);

	return id ? LIST_OWNER(id, stopwait_pair, id) : NULL;
}

static inline struct stopwait_pair *stopwait_find_address(const struct stopwait *s, uint32_t number)
{
	struct engine_number *id = engine_number_find(&s->addresses, number);

	return id ? LIST_OWNER(id, stopwait_pair, id) : NULL;
}

static inline struct engine_cut_limits stopwait_send_limits(const struct transport_caps *caps)
{
	return (struct engine_cut_limits){caps->max_send_sge, STOPWAIT_MESSAGE_MAX,
					  caps->max_inline};
}

static inline struct engine_cut_limits stopwait_recv_limits(const struct transport_caps *caps)
{
	return (struct engine_cut_limits){caps->max_recv_sge, STOPWAIT_MESSAGE_MAX, 0};
}

/* p may have something to send. */
static inline void stopwait_wake(struct stopwait *s, struct stopwait_pair *p)
{
	if (p->state == ENGINE_RTS && !p->is_out && p->sends.done < p->sends.posted)
		list_join(&s->data, &p->data_turn);
}

/* As events have a queue pair. */
static inline struct traced_qp stopwait_traced(const struct stopwait *s,
					       const struct stopwait_pair *p)
{
	return (struct traced_qp){s->now, p->id.number, p->seq};
}

/* pair.c. The places of its sends, behind it; and how it and its peer are connected. */
size_t stopwait_sends_bytes(const struct transport_caps *caps);
void stopwait_init_sends(struct stopwait_pair *p);
bool stopwait_is_link_good(const struct transport_link *link);
void stopwait_take_link(struct stopwait_pair *p, const struct transport_link *link);
/* It is in another state now. */
void stopwait_set_state(const struct stopwait *s, struct stopwait_pair *p, uint8_t state);
/* Nothing is out, nor owed, nor waits for a turn. */
void stopwait_quiet(struct stopwait *s, struct stopwait_pair *p);
/* Its oldest work ends with this status, all other work is flushed, and so it ends. */
void stopwait_fail(struct stopwait *s, struct stopwait_pair *p, enum engine_status status);

/* receive.c */
void stopwait_input(struct engine *e, nsec now, const struct rx_pkt *pkts, uint32_t n);

#endif
