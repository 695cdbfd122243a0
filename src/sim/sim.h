/* The simulated fabric at work: packets move along links, through queues and switches, between
 * engines that cannot tell it from a wire.
 *
 * One struct sim is one run. The caller builds topology and routing, says which transport the hosts
 * run, and calls sim_run; completions and timers come back through hooks, from which the caller may
 * post work and arm timers. Every packet is accounted for: see sim_totals. */
#ifndef WEFT_SIM_SIM_H
#define WEFT_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prng.h"
#include "engine/engine.h"
#include "fwd/buffer.h"
#include "fwd/pfc.h"
#include "fwd/qos.h"
#include "fwd/sched.h"
#include "sim/agenda.h"
#include "sim/packet.h"
#include "sim/routing.h"
#include "sim/topology.h"
#include "wire/net.h"

/* Why a packet ended before its destination; the reasons of fwd/frame.h come first. */
#define SIM_DROPS(D)                                                              \
	D(THRESHOLD, "threshold", "the queue was at its threshold")               \
	D(MEMORY, "memory", "the packet memory was full")                         \
	D(TRIMMED_THRESHOLD, "trimmed-threshold",                                 \
	  "it was trimmed, and the queue of trimmed packets was full too")        \
	D(LINK_DOWN, "link-down", "the link was down")                            \
	D(FAULT, "fault", "a fault dropped it")                                   \
	D(BLACK_HOLE, "black-hole", "a black hole swallowed it")                  \
	D(FCS, "fcs", "the frame check sequence was wrong")                       \
	D(REBOOT, "reboot", "the switch that held it rebooted")                   \
	D(RESTART, "restart", "the NIC that held it restarted")                   \
	D(HOST_FORMAT, "host-format", "a host could not read it")                 \
	D(HOST_ADDRESS, "host-address", "it reached a host it was not meant for") \
	D(HOST_SEAL, "host-seal", "the CRC that seals it was wrong")              \
	D(NO_HOST_MEMORY, "no-memory", "the simulator ran out of memory")         \
	D(GROUP, "group", "a node of a multicast tree had no use for it")

enum sim_drop {
	SIM_DROP_FWD_LAST = FWD_DROP_COUNT - 1,
#define SIM_DROP_ENUM(id, name, text) SIM_DROP_##id,
	SIM_DROPS(SIM_DROP_ENUM)
#undef SIM_DROP_ENUM
		SIM_DROP_COUNT,
};

/* Name ("hop-limit") and sentence of a reason, those of fwd/frame.h included. */
const char *sim_drop_name(uint32_t drop);
const char *sim_drop_text(uint32_t drop);

struct sim;

/* One end of a connection: queue pair qp of this host, which speaks to peer_qp of host peer. */
struct sim_qp {
	uint32_t qp, peer, peer_qp;
	uint32_t host;         /* whose end it is */
	uint32_t sends, takes; /* messages that it has posted, and that come to it, at a time */
	nsec now;              /* on the host's clock */
	/* Of a multicast group (sim/groups_build.h): peer is the group's number behind the hosts,
	 * peer_qp the Designated QPN. Who opens it says which port it sends and receives by, and
	 * the first PSN of the group; and posts its receives, which may have room for data. */
	bool is_member;
	uint8_t port;
	uint32_t psn;
};

/* What sim must know of a transport, beyond the engine contract. */
struct sim_transport {
	const char *name;
	const struct engine_ops *ops;
	const struct carrier *carrier;
	uint32_t head_bytes;      /* most header bytes of a packet, <= ENGINE_HEAD_MAX */
	uint32_t payload_bytes;   /* of a full data packet */
	uint32_t data_head_bytes; /* transport headers and seal of a data packet */
	uint32_t ack_bytes;       /* the same of an acknowledgement */
	uint32_t first_qp;        /* the lowest number that a queue pair may have */
	uint32_t key;             /* of the memory that messages are read from and written to */
	bool takes_receives;      /* a message takes a receive: open posts sim_qp.takes of them */
	void *context;
	/* The configuration of one host's engine, with room for n_qps queue pairs; valid until the
	 * next call: passed to ops. NULL without memory. */
	const void *(*host_cfg)(void *context, uint32_t host, uint64_t seed);
	/* Sets up one end of a connection. 0 or a negative errno. */
	int (*open)(void *context, struct engine *e, const struct sim_qp *qp);
	/* Packets sent more than once so far, and payload bytes taken in, each once. */
	uint64_t (*retransmitted)(void *context, const struct engine *e);
	uint64_t (*received)(void *context, const struct engine *e); /* NULL: not known */
	/* Packets sent to ask something, and answers to such that are nothing else. NULL: none. */
	uint64_t (*probes)(void *context, const struct engine *e);
	/* Whether a packet in the class of data, of which this is the transport's first byte, only
	 * asks something. NULL: none does. */
	bool (*is_probe)(uint8_t first);
};

struct sim_hooks {
	void *context;
	/* A completion of a host's engine. */
	void (*done)(void *context, struct sim *s, uint32_t host, const struct done *done);
	/* A host took in payload that it did not have yet. NULL: nobody asks. */
	void (*received)(void *context, struct sim *s, uint32_t host, uint64_t bytes);
	/* A timer of sim_timer_add, or a node's alarm, went off. */
	void (*timer)(void *context, struct sim *s, uint32_t timer);
	void (*alarm)(void *context, struct sim *s, uint32_t node);
	/* A NIC restarted: its engine is new, its queue pairs are gone. */
	void (*restarted)(void *context, struct sim *s, uint32_t host);
	/* A frame left (is_out) or reached a tapped port; bytes are lent. */
	void (*tap)(void *context, uint32_t port, bool is_out, psec at, struct cspan frame);
	/* A fault, a black hole or a dead link took a packet, which is lent; and a host's engine
	 * gave packets to send. NULL: nobody asks. */
	void (*lost)(void *context, struct sim *s, const struct packet *p);
	void (*pulled)(void *context, struct sim *s, uint32_t host);
	/* Asked at the full microsecond after sim_stop: whether it still stands. NULL: it does. */
	bool (*is_over)(void *context);
	/* done, received and alarm post to no other host than their own, arm no other alarm and no
	 * timer; nor do they mind being called for one node later than for another with events
	 * after theirs. Then a quiet fabric runs about twice as fast. */
	bool is_local;
};

struct sim_cfg {
	uint64_t seed;
	const struct topology *topology; /* lent for life, as are routing, transport and hooks */
	const struct routing *routing;
	struct fwd_qos qos;
	struct fwd_names names;
	bool is_buffer_shared;     /* one memory per switch; else one per port */
	uint64_t buffer_bytes;     /* of each; 0: unbounded. If per port, a port's own wins */
	uint32_t overhead_bytes;   /* on the wire around a frame: preamble, FCS, gap */
	uint32_t nic_queue_pkts;   /* most packets a NIC port takes ahead of the wire, >= 1 */
	uint32_t headroom;         /* most bytes that switches put in front of what hosts send */
	struct sim_groups *groups; /* of this run alone, sim/groups.h; NULL: none */
	/* Hosts send by its carrier, with the number that it has in routing's configuration or
	 * else its own, and take nothing else. */
	const struct sim_transport *transport;
	struct sim_hooks hooks;
};

/* A packet in a ring, and what is asked about it without touching it: on a link the time its last
 * bit arrives, in a queue its length and DSCP. */
struct sim_slot {
	struct packet *packet;
	uint64_t word;
};

/* Packets first in, first out: slots[head ... head + n), and it grows. */
struct sim_ring {
	struct sim_slot *slots;
	uint32_t head, n, mask;
	uint32_t bytes; /* of all packets in a queue; not counted on a link */
};

/* What a port did; its own packets only. */
struct sim_port_counts {
	uint64_t sent_pkts, sent_bytes;
	uint32_t most_bytes; /* the longest its queues ever were together */
	uint32_t pauses_sent;
	uint64_t marked, trimmed;
	uint64_t dropped; /* at this port's queue, on its link, or arriving at it */
};

struct impair;
struct sim_groups;
struct sim_windows;

/* The flow control of a port, if the fabric has any. */
struct sim_pfc {
	psec paused_until[FWD_CLASSES];
	psec sent_at[FWD_CLASSES];     /* PSEC_NEVER: the other end is not paused by us */
	uint32_t came_in[FWD_CLASSES]; /* bytes in this node's memory that arrived here */
};

/* One end of a link, and the queues in front of it. A packet that arrives touches the first cache
 * line, one that leaves the first three. */
struct sim_port {
	_Alignas(64) psec free_at; /* when the transmitter is done with its last packet */
	psec delay_ps;             /* until the other node works on it */
	struct sim_ring wire;      /* packets on the link */
	uint32_t ps_per_byte;      /* 0: not a whole number */
	uint8_t ready;             /* bit per class that has a packet */
	bool is_host;
	uint32_t node, peer;
	union {
		/* Others must be told what it does, or it may not send what it has. */
		struct {
			bool is_down, is_halted, is_tapped, is_impaired, is_watched;
			bool none[3]; /* never set */
		};
		uint64_t odd; /* 0: none of these */
	};

	_Alignas(64) struct fwd_buffer *buffer;
	uint32_t queued_bytes, queued_pkts;
	uint32_t room_pkts;         /* of a host: most that wait ahead of the wire */
	uint32_t most_queued_bytes; /* what the link's own buffer allows; 0: no such bound */
	struct fwd_port link;       /* addresses at both ends, and whether the other is a host */
	uint8_t group;              /* of ports whose queue lengths are counted together */
	struct sim_port_counts counts;
	struct sim_ring queues[FWD_CLASSES];
	struct fwd_sched sched;
	uint64_t rate_bps;
	psec work_ps; /* of delay_ps, what the other node takes before it looks */
	struct packet *control_head, *control_tail; /* PFC frames: they go first */
	struct sim_pfc *pfc;                        /* NULL: none in this fabric */
	struct impair *impair;                      /* active packet faults; NULL: none */
	uint32_t paused;                            /* bit per class that the other end paused */
};

#define SIM_SKEW_MAX 10000 /* parts per million */

struct sim_host {
	struct engine *engine;
	uint32_t first_port;
	uint8_t n_ports;
	bool is_pumping;
	/* The host's clock: base, plus the time since from, scaled by 1 + skew_ppm / 10^6. */
	nsec clock_base_ns;
	psec clock_from_ps;
	int32_t skew_ppm;
	struct sim_peers *peers; /* headers towards each destination used so far */
	uint64_t engine_bytes;
	uint64_t received_bytes; /* of payload, as the transport counts it */
};

/* An event beyond the fixed ones. */
struct sim_extra {
	struct packet *late; /* held back; NULL: a timer, or free */
	uint32_t port;       /* whose link it is on; free: the next free one */
	bool is_timer;
};

/* Conservation: what came to be, injected + copied + replicated + answered, is what came to an end,
 * delivered + absorbed + every drop, and what is in flight, between any two events; PFC frames are
 * not counted. */
struct sim_totals {
	uint64_t injected, copied, delivered;
	/* Of multicast groups: copies and answers that switches made, and packets that they took
	 * for them. */
	uint64_t replicated, answered, absorbed;
	uint64_t hops; /* packets that left a queue */
	uint64_t marked, trimmed, pauses;
	uint64_t drops[SIM_DROP_COUNT];
};

#define SIM_GROUPS       7u  /* hosts; tiers 0, 1, 2 upwards; tiers 2, 1, 0 downwards */
#define SIM_QUEUE_BUCKET 24u /* see sim_queue_bound */

struct sim {
	struct sim_cfg cfg;
	struct agenda agenda;
	struct packet_pool packets;
	struct sim_port *ports;
	struct sim_host *hosts;
	struct fwd_buffer *buffers;
	struct sim_pfc *pfcs;
	uint32_t n_ports, n_hosts;
	/* Event numbers: transmitters from 0, then arrivals, hosts' deadlines, alarms by node, and
	 * what is added while the simulation runs: timers of the caller's, packets held back. */
	uint32_t first_arrive, first_wake, first_alarm, first_extra;
	struct sim_extra *extra; /* by event number - first_extra */
	uint32_t n_extra, extra_room;
	uint32_t free_extra; /* events of packets that arrived, chained */
	uint64_t mark_seed;
	struct net_cfg net;
	/* The hosts' carrier, as every packet asks for it: its place in net.carriers and number
	 * there, its seal in clear, for which no keys are needed, and where the transport's bytes
	 * begin in a frame without encapsulation. */
	struct {
		uint32_t from;
		uint16_t port; /* 0: native */
		uint8_t protocol, place, head_bytes, tail_bytes;
	} by;
	uint8_t dscp_of[ENGINE_TCLASSES];
	uint32_t quantum_bytes;
	bool is_strict;                          /* no two classes share a level */
	uint8_t strict_class[1u << FWD_CLASSES]; /* then: who goes first, by who is ready */
	uint32_t encap_bytes;                    /* most bytes in front of a transport's */
	struct sim_totals totals;
	uint64_t queue_lengths[SIM_GROUPS][SIM_QUEUE_BUCKET]; /* as arriving packets found them */
	uint64_t trace_hash;
	uint8_t *scratch; /* a whole frame */
	uint32_t scratch_len;
	psec stop_at;    /* PSEC_NEVER: nobody asked for it */
	bool is_stopped; /* sim_stop ended the last sim_run */
	/* Running node by node: see window.c. */
	bool is_windowed;
	bool is_choice_due;   /* whether that is possible may have changed */
	psec window_ps;       /* the longest window; 0: none */
	psec window_last;     /* the end of the one at hand */
	psec window_now;      /* the latest event in it so far */
	uint32_t window_node; /* whose turn it is; UINT32_MAX: no node's */
	psec *node_next;      /* by node: nothing happens there before */
	psec *group_next;     /* the same of groups of nodes */
	struct sim_windows *windows;
	uint64_t pause_at; /* sim_run returns early once so many events have fired */
};

/* Makes everything ready at time 0; one engine per host. 0, -ENOMEM, or -EINVAL when a
 * configuration makes no sense (fwd_qos_fault, a transport that refuses its own). */
int sim_init(struct sim *s, const struct sim_cfg *cfg);
void sim_fini(struct sim *s);

/* Runs until simulated time `until`, until nothing is left to happen, until sim_stop, or until
 * pause_at events have fired (or a few more), in which case ports may not be up to date. Returns
 * true while there is more to do. */
bool sim_run(struct sim *s, psec until);

/* Whether anything is left to happen, were it only a stop. */
bool sim_has_more(const struct sim *s);

/* Packets in queues, on links and held back, counted one by one. */
uint64_t sim_in_flight(const struct sim *s);

/* Whether every packet is accounted for. */
bool sim_is_conserved(const struct sim *s);

/* Ends the sim_run that gets to the next full microsecond, or this one if it is one now, unless
 * sim_hooks.is_over denies it then: a moment that depends neither on the order in which nodes are
 * looked at nor on the caller's steps. */
void sim_stop(struct sim *s);

static inline psec sim_now(const struct sim *s)
{
	return s->agenda.now;
}

/* Posts work to a host's engine; answers as it does. */
int sim_post(struct sim *s, uint32_t host, const struct op *op);

/* The time on a host's own clock. */
nsec sim_host_now(const struct sim *s, uint32_t host);

/* A timer of the caller's: its number, or UINT32_MAX without memory. Armed by sim_timer_arm for a
 * moment not before now; PSEC_NEVER cancels. */
uint32_t sim_timer_add(struct sim *s);
void sim_timer_arm(struct sim *s, uint32_t timer, psec at);

/* An alarm of the caller's at a node, for a moment not before now; PSEC_NEVER cancels. Each node
 * has one; those of switches are not the caller's where there are groups. Unlike a timer it is the
 * node's own business: see sim_hooks.is_local. */
void sim_alarm_arm(struct sim *s, uint32_t node, psec at);

/* Counts a packet as dropped and gives it back. */
void sim_drop(struct sim *s, struct sim_port *port, struct packet *p, uint32_t reason);

/* What faults do. A port that is down loses what is on its link and what comes to it; a halted port
 * keeps its queue. A reboot empties a switch; its ports are the caller's to take down. */
void sim_port_set_down(struct sim *s, uint32_t port, bool is_down);
void sim_port_set_halted(struct sim *s, uint32_t port, bool is_halted);
void sim_port_set_impaired(struct sim *s, uint32_t port, bool is_impaired);
void sim_switch_clear(struct sim *s, uint32_t node);
void sim_host_restart(struct sim *s, uint32_t host);
void sim_host_skew(struct sim *s, uint32_t host, int32_t ppm);
void sim_host_jump(struct sim *s, uint32_t host, nsec ahead);

/* Puts packet p on the link of `port` so that it arrives at `at`, out of turn. */
void sim_send_late(struct sim *s, uint32_t port, struct packet *p, psec at);

/* The upper bound, in bytes, of what bucket i of queue_lengths counts: 0, then 1 KiB doubling; the
 * last is unbounded. */
uint64_t sim_queue_bound(uint32_t bucket);

#endif
