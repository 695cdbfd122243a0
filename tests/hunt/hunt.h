/* The seeded fault hunt: a seed becomes a plan (a fabric, connections, work and faults), the plan
 * is run in the simulator on a transport's engine, heals, and an oracle that shares no code with
 * the engine watches every call that goes into it and every byte and packet that comes out.
 *
 *	expand.c        seed to plan
 *	fabric.c        the part of it that is a fabric
 *	windows.c       the part of it that memory windows play
 *	print.c         a plan in lines that a person can read
 *	memory.c        arenas, regions and windows in a host's memory table; guarded blocks
 *	oracle.c        memory and completions: the same for every transport
 *	events.c        what engines recorded last, when a seed fails
 *	run.c           one plan in the simulator, with the oracle around each engine
 *	main.c          the command
 *	oracle_X.c      what packets of transport X may be, seen on the wire
 *	transport_X.c   X behind struct hunt_transport
 *
 * The last two are all that knows of a transport; MRC's oracle is several files, see wire_mrc.h,
 * plan_mrc.c and plan_evs.c draw what only MRC has, and odd_mrc.c has peers that are not quite
 * like weft. docs/hunt.md says what is checked, and what holds under which fault. */
#ifndef WEFT_TESTS_HUNT_HUNT_H
#define WEFT_TESTS_HUNT_HUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"
#include "engine/engine.h"
#include "sim/fault.h"
#include "sim/routing.h"
#include "sim/sim.h"
#include "sim/topology.h"
#include "transport/transport.h"

#define HUNT_HOSTS     8u
#define HUNT_ENDS      16u /* two for each connection */
#define HUNT_WORKS     1280u
#define HUNT_RECVS     1024u
#define HUNT_WINDOWS   48u
#define HUNT_FAULTS    8u
#define HUNT_SGE       3u
#define HUNT_WORDS     4u  /* that atomics of one end go to */
#define HUNT_RD_MOST   16u /* reads and atomics out at once */
#define HUNT_NO_KEY    UINT32_C(0xdeadbeff)
#define HUNT_NOTHING   UINT32_MAX
#define HUNT_ALL       (UINT32_MAX - 1) /* in place of an end: every one of a host */
#define HUNT_WHY_MAX   512u
#define HUNT_GUARD     64u
#define HUNT_RNR_CODE  32u
#define HUNT_DSCP_DATA 10u

/* Why a work request cannot succeed. */
enum hunt_flaw {
	HUNT_SOUND,
	HUNT_BAD_KEY,    /* a remote key that nobody has */
	HUNT_FOREIGN,    /* the key of another connection's memory: another protection domain */
	HUNT_BEYOND,     /* the range ends behind the region */
	HUNT_FORBIDDEN,  /* a region that the peer may not touch */
	HUNT_NO_LOCAL,   /* a local key that nobody has */
	HUNT_MISALIGNED, /* an atomic on no word */
	HUNT_SHORT,      /* the receive that it will take has too little room */
	/* Of memory windows. */
	HUNT_UNBOUND,        /* through a window before its bind */
	HUNT_INVALIDATED,    /* through one of type 2 after either side invalidated it */
	HUNT_REBOUND,        /* by the key of one of type 1 before it was bound anew, or unbound */
	HUNT_BEYOND_WINDOW,  /* the range ends behind the window, and inside its region */
	HUNT_NO_RIGHT,       /* a right that the region gives and the window does not */
	HUNT_OTHER_PAIR,     /* through one of type 2 that another queue pair bound */
	HUNT_BAD_INVALIDATE, /* of what cannot be invalidated, or not by this queue pair */
	HUNT_BAD_BIND,       /* to memory that it cannot be bound to */
	HUNT_NO_RECV,        /* no receive is ever posted for it, and nobody waits for one */
	HUNT_FLAWS,
};

/* Bytes of an arena. */
struct hunt_piece {
	uint32_t at, len;
};

/* What a bind asks for. */
struct hunt_bind {
	uint32_t arena;          /* of an end: whose addresses they are */
	struct hunt_piece range; /* of its remote part; of no bytes: to nothing */
	uint32_t region, new_key;
	uint8_t access; /* enum mem_access */
};

/* A work request of an end. */
struct hunt_work {
	uint8_t code, flags; /* enum engine_op, engine_flag */
	uint8_t atomic_op, flaw;
	uint8_t n_sg;
	struct hunt_piece sg[HUNT_SGE]; /* of its own arena */
	uint32_t len, imm;
	uint32_t remote;             /* where in the peer's arena; atomics: the word's place */
	uint64_t operand[2];         /* as op.operand */
	uint64_t before, after_word; /* atomics: what the word is before it, and then */
	psec at;                     /* not posted before, ... */
	uint32_t after_end;          /* ... nor before this end, while it lives, ... */
	uint32_t after;              /* ... has received so many messages */
	uint32_t window; /* that it goes through, binds or invalidates; HUNT_NOTHING: none */
	uint32_t key;    /* of the window, or in place of it, as this work names it */
	struct hunt_bind bind;
	uint32_t n_pkts;  /* numbers of packets it takes; 0: done without any */
	uint64_t first;   /* the first of them, counted from 0 */
	uint32_t message; /* which of those that take a receive; HUNT_NOTHING: none */
};

/* A receive of an end or, with ends that share, of a host. */
struct hunt_recv {
	uint32_t end; /* HUNT_NOTHING: of the host's shared queue */
	uint32_t host;
	uint8_t n_sg, flags;
	struct hunt_piece sg[HUNT_SGE];
	uint32_t len;
	psec at;
};

/* A memory window of an end, which its peer reads and writes through. */
struct hunt_window {
	uint32_t end;
	uint32_t key; /* before it is first bound */
	uint8_t kind; /* enum mem_kind */
	/* As it was bound last, and how many messages have told its user so. */
	struct hunt_piece range;
	uint32_t bound_key, ready;
};

/* Memory of one owner: an end, or a host's shared receive queue. Bytes [0, local_len) are for its
 * own work, the next remote_len for its peer's, the last ones for nobody: guards lie around each.
 */
struct hunt_arena {
	uint8_t *bytes, *shadow; /* what it is, and what it has to be */
	uint32_t len;
	struct hunt_piece local, remote, closed;
	uint32_t pd, local_key, remote_key, closed_key;
	uint8_t closed_access; /* enum mem_access: no window can be bound to it for writing */
	uint64_t iova;         /* of the remote part, as the peer names it */
};

/* One end of a connection: end i speaks to end i ^ 1. Numbers and times have the ranges and units
 * of IBTA's reliable connections; a transport leaves alone what it does not have. */
struct hunt_end {
	uint32_t host, qp, psn; /* psn: of the first packet it sends */
	uint8_t port;
	uint32_t ev;
	uint8_t rd_atomic, dest_rd_atomic;
	uint8_t timeout, retries, rnr_retries, rnr_timer;
	uint32_t max_send, max_recv;
	bool has_srq;
	uint32_t first_work, n_works;
	uint32_t n_messages;        /* of its works, those that take a receive */
	uint32_t words[HUNT_WORDS]; /* where in its arena */
};

struct hunt_transport;

struct hunt_plan {
	uint64_t seed;
	bool is_plain; /* nobody is odd, see hunt_transport.odd_output */
	const struct hunt_transport *transport;
	void *own; /* what its transport drew beyond this, see hunt_transport.draw */
	struct topology_cfg shape;
	struct topology topology;
	struct routing_cfg routing_cfg;
	struct routing routing;
	struct fwd_qos qos;
	uint64_t buffer_bytes;
	uint32_t nic_queue_pkts;
	uint32_t n_ends, n_works, n_recvs, n_faults;
	struct hunt_end ends[HUNT_ENDS];
	struct hunt_work works[HUNT_WORKS];
	struct hunt_recv recvs[HUNT_RECVS];
	struct hunt_window windows[HUNT_WINDOWS];
	uint32_t n_windows, n_keys;
	struct fault faults[HUNT_FAULTS];
	struct hunt_arena arenas[HUNT_ENDS + HUNT_HOSTS]; /* of ends, then of hosts */
	bool has_srq[HUNT_HOSTS];
	uint32_t pmtu;
	bool is_long;          /* few works, of many packets each */
	uint32_t message_pkts; /* about the most packets of a message */
	uint32_t end_works;    /* the most works of an end */
	bool has_dcqcn;
	uint32_t window_bytes, ack_every;
	bool has_forgery; /* packets may be changed so that no checksum tells */
	bool is_trimming; /* switches cut packets */
	bool is_slow;     /* work is spread over a long time, and so is a fault */
	uint32_t n_tail; /* works of each end that come when all is healed, the last of its works */
	psec tail_gap;   /* between them */
	psec healed_at; /* the last fault is over, the last work and receive posted but for tails */
	psec bound;     /* by when everything must be over */
};

/* Expands a seed, for what the transport can do. is_plain: without odd peers. 0 or -ENOMEM. */
int hunt_expand(struct hunt_plan *s, const struct hunt_transport *t, uint64_t seed, bool is_plain);
void hunt_plan_free(struct hunt_plan *s);

/* Writes the plan to standard output. */
void hunt_print(const struct hunt_plan *s);

/* Name of a work's operation, and of a flaw. */
const char *hunt_op_name(const struct hunt_work *w);
const char *hunt_flaw_name(enum hunt_flaw flaw);

/* Whether a work names memory of the peer, takes a receive there, or needs no packet. */
static inline bool hunt_is_remote(const struct hunt_work *w)
{
	return w->code == ENGINE_WRITE || w->code == ENGINE_WRITE_IMM || w->code == ENGINE_READ ||
	       w->code == ENGINE_ATOMIC;
}

static inline bool hunt_is_send(const struct hunt_work *w)
{
	return w->code == ENGINE_SEND || w->code == ENGINE_SEND_IMM || w->code == ENGINE_SEND_INV;
}

static inline bool hunt_is_local(const struct hunt_work *w)
{
	return w->code == ENGINE_LOCAL_INV || w->code == ENGINE_BIND;
}

/* The end of a host with that queue pair number, or HUNT_NOTHING. */
uint32_t hunt_find_end(const struct hunt_plan *s, uint32_t host, uint32_t qp);

/* What a work names at its peer: as it is posted, flaws included. */
struct hunt_target {
	uint64_t va;
	uint32_t key;
};
struct hunt_target hunt_target(const struct hunt_plan *s, uint32_t end, const struct hunt_work *w);

/* The times of IBTA 9.7.5.2.8 and 9.7.6.1.3, as the specification has them. */
nsec hunt_rnr_ns(uint8_t code);
nsec hunt_timeout_ns(uint8_t code);

/* What must balance at the end of a run, and what a report adds up. All members are numbers. */
#define HUNT_MORE 64u
struct hunt_counts {
	uint64_t rx, verdicts, tx, rx_bytes, retx, timeouts, duplicates, naks;
	uint64_t more[HUNT_MORE]; /* what only this transport has, see hunt_transport.more */
};

#define HUNT_OP(code) (UINT32_C(1) << (code))

/* The seam: what the hunt must know of a transport beside its row. A device is what the transport
 * needs of one host beside its engine: memory tables, queue pairs' memory. */
struct hunt_device;
struct hunt_oracle;
struct trace;
struct hunt_transport {
	const struct transport
		*row; /* of the registry: what rooms above know, the hunt does, too */
	/* Packets are placed each by itself, as soon as they come, in any order; packet_of says
	 * which one it is that comes. Else all are placed in the order of sending. */
	bool is_sprayed;
	const char *const *more; /* names of hunt_counts.more, up to NULL: none may stay 0 */
	/* Draws what only this transport has into s->own, one block that hunt_plan_free frees; 0
	 * or -ENOMEM. print_own writes that of an end to standard output. NULL: there is nothing.
	 */
	int (*draw)(struct hunt_plan *s);
	void (*print_own)(const struct hunt_plan *s, uint32_t end);
	/* How long an end receives nothing, or is told to wait, until it tries once more, at the
	 * most; and until it gives up. */
	nsec (*try_ns)(const struct hunt_plan *s, uint32_t end);
	nsec (*give_up_ns)(const struct hunt_plan *s, uint32_t end);
	/* A device without queue pairs, which begins with its struct hunt_memory. configure makes
	 * the configuration of its engine, which records there; the device's. */
	size_t device_bytes;
	const void *(*configure)(struct hunt_device *d, uint32_t host, struct trace *events);
	/* Makes and connects the queue pair of an end, or the host's shared receive queue. */
	int (*open)(struct hunt_device *d, struct engine *e, uint32_t end, nsec now);
	int (*open_shared)(struct hunt_device *d, struct engine *e, uint32_t host);
	/* Does what the plan has at a host by now; when to come again. NULL: nothing. */
	psec (*stir)(struct hunt_device *d, struct engine *e, struct hunt_oracle *o, uint32_t host,
		     nsec now);
	/* What the engine still holds when all its queue pairs have ended: a sentence, or NULL. */
	const char *(*left_over)(const struct engine *e);
	/* Adds what the row does not tell. */
	void (*count)(const struct engine *e, struct hunt_counts *counts);
	/* The wire, to the oracle: o->wire is this part's own memory, and it answers by
	 * oracle_fail. wire_new: 0 or -ENOMEM. on_input is called before the engine sees a packet,
	 * on_taken after that, with what the engine counted. */
	int (*wire_new)(struct hunt_oracle *o);
	void (*wire_free)(struct hunt_oracle *o);
	void (*on_output)(struct hunt_oracle *o, uint32_t host, nsec now, const struct tx_pkt *tx);
	void (*on_input)(struct hunt_oracle *o, uint32_t host, nsec now, const struct rx_pkt *rx);
	void (*on_taken)(struct hunt_oracle *o, uint32_t end, const struct hunt_counts *before,
			 const struct hunt_counts *after);
	/* NULL for a transport that does not need it, as are all up to at_rest. The work, and which
	 * of its packets, that a packet for this end carries payload of; HUNT_NOTHING: none. */
	uint32_t (*packet_of)(const struct hunt_oracle *o, uint32_t end, const struct rx_pkt *rx,
			      uint32_t *i);
	/* Whether an end was told that a work was executed; and whether it received nothing for so
	 * long that it may give up. */
	bool (*is_reported)(const struct hunt_oracle *o, uint32_t end, uint32_t work);
	bool (*may_give_up)(const struct hunt_oracle *o, uint32_t end);
	/* All work is done and nothing is on its way. */
	void (*at_rest)(struct hunt_oracle *o);
	/* Whether an end may give up whatever its peer's silence: nothing of it can leave. NULL: it
	 * may not. Whether it has to hold out, since faults leave it a path; NULL: it has not. */
	bool (*is_shut)(const struct hunt_oracle *o, uint32_t end);
	bool (*is_sheltered)(const struct hunt_oracle *o, uint32_t end);
	/* A pull is over, all its packets were told by on_output. */
	void (*on_pulled)(struct hunt_oracle *o, uint32_t host, const struct hunt_counts *before,
			  const struct hunt_counts *after);
	/* What became of a packet for HUNT_ALL. */
	void (*on_common)(struct hunt_oracle *o, uint32_t host, const struct rx_pkt *rx,
			  const struct hunt_counts *before, const struct hunt_counts *after);
	/* The end that a packet is for, HUNT_NOTHING: none, HUNT_ALL: those of the host. */
	uint32_t (*end_of)(const struct hunt_plan *s, uint32_t host, struct cspan head);
	/* Odd peers, between an engine and the fabric; NULL: there are none. A packet leaves, as
	 * the oracle has seen it, false: it does not; one comes, before the oracle sees it, false:
	 * it does not; and behind it, true: another comes as well, which is put in its place. */
	bool (*odd_output)(struct hunt_oracle *o, uint32_t host, struct tx_pkt *tx);
	bool (*odd_input)(struct hunt_oracle *o, uint32_t host, struct rx_pkt *rx);
	bool (*odd_late)(struct hunt_oracle *o, uint32_t host, struct rx_pkt *rx);
	/* The packet in a few words. */
	void (*print)(struct cspan head, uint32_t bytes, char *text, size_t text_len);
};
extern const struct hunt_transport hunt_rc, hunt_mrc;

/* What happened in a run, for the report: a hunt that meets nothing finds nothing. */
struct hunt_met {
	struct hunt_counts counts;
	uint64_t packets, works, receives;
	uint64_t ops[ENGINE_RECV], atomics[2], statuses[ENGINE_STATUSES];
	uint64_t flaws[HUNT_FLAWS];   /* works that have it, ... */
	uint64_t refused[HUNT_FLAWS]; /* ... and those that failed for it */
	uint64_t through[2];          /* done well through windows, by type */
	uint64_t faults[FAULT_KIND_COUNT], touched[FAULT_KIND_COUNT];
	uint64_t tainted, restarted, dropped;
};

struct hunt_result {
	bool has_failed;
	char why[HUNT_WHY_MAX];
	uint64_t hash; /* of everything that happened */
	struct hunt_met met;
};

/* Runs a plan. Its engines record in events. is_traced: every packet, post and completion on
 * standard output. */
void hunt_run(struct hunt_plan *s, const struct hunt_transport *t, struct trace *events,
	      bool is_traced, struct hunt_result *result);

#endif
