/* OCP MRC 1.0 as an engine (engine/engine.h): sections 6 to 9, requestor and responder of RDMA
 * writes sprayed over many paths, and the endpoint operations on queue pair 2.
 *
 * One struct mrc is one device: queue pairs by number above one memory table. Numbers, keys and
 * first PSNs come from the caller, who draws them so that no peer can guess them; so does the
 * memory of a queue pair, with mrc_qp_new. What depends on how much is under way is not reserved
 * for each queue pair: packets out, packets tracked ahead of a gap, and answers that wait come from
 * pools that all share. A window advertises, it does not reserve.
 *
 * Work is posted with ops->post: ENGINE_WRITE, ENGINE_WRITE_IMM and ENGINE_RECV. Send work
 * completes in the order it was posted, when the peer's Transport ACK says that it was executed:
 * a SACK says only that packets arrived (7.2.1). A receive is consumed by a write with immediate
 * data, in the order of sending, after all data sent before it was placed (6.3.2); its done.source
 * is the peer's number. done.peer_code is the syndrome of the AETH with which the peer refused
 * work, or MRC_CODE_NACK and the reason of the NETH. Invariants:
 * every packet put in increments one counter of MRC_ACCEPTED or MRC_DROPS; nothing is placed that
 * is not wholly inside a region with the right to it; each packet's payload is placed once. */
#ifndef WEFT_MRC_MRC_H
#define WEFT_MRC_MRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cc/cc.h"
#include "engine/engine.h"
#include "engine/ladder.h"
#include "mem/mem.h"
#include "path/path.h"
#include "trace/ring.h"

#define MRC_NUMBERS      (UINT32_C(1) << 24) /* of queue pairs and of packets */
#define MRC_WR_MAX       32768u
#define MRC_MESSAGE_MAX  (UINT32_C(1) << 30) /* that we send; we take twice that (IBTA 9.7.2) */
#define MRC_MPR_UNIT     128u                /* packets (Table 6-1) */
#define MRC_MPR_MAX      255u
#define MRC_WIMM_MAX     4096u
#define MRC_TIMEOUT_MAX  24u /* M-33 */
#define MRC_LINEAR_MAX   7u  /* Table 7-1 */
#define MRC_EXP_MAX      25u /* and this many exponential retries are retries without end */
#define MRC_PENALTY_MAX  127u
#define MRC_HEAD_BYTES   48u /* most header bytes: BTH and an endpoint response, or a SACK */
#define MRC_EVS          256u
#define MRC_RATE_MAX     1000000u /* of stranger_rate */
#define MRC_NO_STRANGERS UINT32_MAX
#define MRC_CODE_NACK    256u
#define MRC_PORT_UPDATES 16u /* peers' ports reported and not yet polled, see mrc_endpoint_poll */

/* Zero stands for the default in brackets. */
struct mrc_cfg {
	struct mem *mem;      /* lent for the engine's life */
	uint32_t max_qps;     /* 1 .. 2^20 */
	uint32_t n_ports;     /* 1 .. ENGINE_PORTS [1] */
	struct cc_cfg cc;     /* of queue pairs that name no other; each has one controller
			       * (8.3) */
	struct path_cfg path; /* of the EVs of every queue pair; its pool is the engine's */
	/* Pools that all queue pairs share: the most that each may hold. Of the first three, what
	 * the queue pairs that there are can use at most is in use, and what lies beyond is not
	 * touched: see mrc_cfg_fit. */
	uint32_t max_ev_faults;    /* of all, EVs out of use or lately so: of more, no more are
				    * taken out of use [4096] */
	uint32_t max_out_pkts;     /* of all queue pairs, sent and not acknowledged [65536] */
	uint32_t max_early_pkts;   /* of all, received ahead of a gap: tracked in units of
				    * MRC_MPR_UNIT; without room NACK NO_BITMAP [65536] */
	uint32_t max_answers;      /* of all, SACKs and NACKs that wait to be sent [4096] */
	uint32_t max_probes;       /* endpoint requests without their response, of the caller and
				    * of the engine itself, who probes EVs [256] */
	uint32_t stranger_rate;    /* endpoint requests a second that are answered to peers without
				    * a queue pair here, all together, and 4096 at once;
				    * MRC_NO_STRANGERS: none [20000] */
	uint32_t sack_every_bytes; /* a SACK after more than so many (M-38) [16 KiB] */
	uint32_t sack_least_bytes; /* that a packet counts at least there (7.5.2) [1 KiB] */
	uint64_t seed;             /* of the order in which EVs are taken, another for each host */
	uint16_t pkey;             /* of control packets (M-04) [0xFFFF]; data and Transport ACKs
				    * are of the default partition */
	bool has_id_tag;       /* the ids of endpoint requests are id_tag << 8 and up, so that */
	uint8_t id_tag;        /* engines that share an address know their own answers; then
				* max_probes is 256 at most */
	uint16_t first_msn;    /* of METH, both numbers (M-07): for tests */
	bool has_service_time; /* 7.5.5.8: we tell how long an answer waited here */
	bool has_trim_nack;    /* 7.5.3: we answer trimmed packets with NACKs */
	bool has_base_probe;   /* UE 3.6.13.7: a probe measures the idle path after the first
				* answer; not needed where cc has a good base_rtt */
	struct tracer trace;
};

enum mrc_state {
	MRC_RESET = ENGINE_RESET,
	MRC_INIT = ENGINE_INIT,
	MRC_RTR = ENGINE_RTR,
	MRC_RTS = ENGINE_RTS,
	MRC_SQD = ENGINE_SQD,
	MRC_ERROR = ENGINE_ERROR,
};

/* What a queue pair is made with, for life. */
struct mrc_caps {
	uint32_t max_send, max_recv; /* work requests, 1 .. MRC_WR_MAX; max_recv 0: none */
	uint32_t max_send_sge;       /* 0 .. ENGINE_SGE; receives take no pieces */
	uint32_t max_inline;         /* bytes, 0 .. ENGINE_INLINE_MAX */
	uint32_t pd;
	uint8_t max_mpr;   /* the largest range either way, 1 .. MRC_MPR_MAX */
	uint16_t max_wimm; /* immediate data stashed ahead of a gap, 0 .. MRC_WIMM_MAX (6.3.3) */
	uint16_t max_evs;  /* of a profile, 1 .. PATH_EVS_MAX, 0 for MRC_EVS */
};

/* What mrc_qp_modify sets, as named by the bits of enum mrc_set. */
struct mrc_attr {
	uint8_t state;                  /* enum mrc_state */
	uint8_t access;                 /* enum mem_access: what the peer may do at all */
	uint16_t pmtu;                  /* 256, 512, 1024, 2048, 4096 */
	uint32_t peer, local;           /* driver's handles; the peer may send to others of our
					 * addresses too: a host may have one in each plane */
	const struct path_profile *evs; /* lent until others are set, or the queue pair ends */
	uint16_t burst;                 /* packets in a row that take one EV, 0 for 1 */
	/* What packets of ENGINE_DATA, ENGINE_RETX and ENGINE_NO_TRIM leave as, a class or
	 * ENGINE_DSCP + a DSCP: those of a service level (7.5.5.1); 0: as they are. */
	uint8_t tclass[ENGINE_CONTROL];
	uint32_t remote_qp;      /* < MRC_NUMBERS */
	uint32_t rq_psn, sq_psn; /* first to receive, first to send, < MRC_NUMBERS */
	uint8_t timeout;         /* 1.024 us * 2^timeout, 0 .. MRC_TIMEOUT_MAX (Table 7-1) */
	uint8_t linear_retries;  /* 0 .. MRC_LINEAR_MAX */
	uint8_t exp_retries;     /* 0 .. MRC_EXP_MAX */
	uint8_t mpr;             /* the range we track now, 1 .. max_mpr: any time from RTR on */
	uint8_t mpr_dest;        /* the peer's at the start, 1 .. MRC_MPR_MAX */
	uint16_t wimm;           /* immediate data kept ahead of a gap, 0 .. max_wimm, which it is
				  * if never set; until MRC_RTR */
	uint16_t wimm_dest;      /* the peer's: more of them wait here; 0: one at a time (M-61) */
	uint8_t penalty;         /* rcv_cwnd_pen of our SACKs, 0 .. MRC_PENALTY_MAX (7.5.1) */
	uint8_t flags;           /* enum mrc_flag */
	uint8_t denied_ports;    /* bit per port that is not used (9.3.2.1) */
	const struct cc_cfg *cc; /* lent until another is set, or the queue pair ends; NULL: the
				  * engine's */
};

/* What the ends of a connection agreed on. */
enum mrc_flag {
	MRC_DYNAMIC_MPR = 1,       /* both ends do it (7.5.4) */
	MRC_PEER_TRIM_NACK = 2,    /* the peer sends trim NACKs (7.5.3) */
	MRC_PEER_SERVICE_TIME = 4, /* the peer tells its service time (7.5.5.8) */
	MRC_NO_TIMESTAMPS = 8,     /* our requests carry no TSETH */
	MRC_NO_TRIM = 16,          /* our requests ask not to be trimmed (DSCP_NO_TRIM) */
	MRC_RESTORE_CWND = 32,     /* restore_cwnd of our SACKs, with penalty (7.5.1) */
	MRC_COUNT_TRIMS = 64,      /* each trim NACK is a try of its packet, to the letter of
				    * Table 7-3; else one of the oldest a timeout */
	MRC_OBLIVIOUS = 128,       /* EVs are chosen without regard to what happens on them: to
				    * see what that costs */
};

enum mrc_set {
	MRC_SET_STATE = 1 << 0,
	MRC_SET_ACCESS = 1 << 1,
	MRC_SET_PMTU = 1 << 2,
	MRC_SET_PATH = 1 << 3, /* peer, local, EVs, burst, tclass */
	MRC_SET_REMOTE_QP = 1 << 4,
	MRC_SET_RQ_PSN = 1 << 5,
	MRC_SET_SQ_PSN = 1 << 6,
	MRC_SET_TIMEOUT = 1 << 7,
	MRC_SET_RETRIES = 1 << 8, /* linear and exponential */
	MRC_SET_MPR = 1 << 9,
	MRC_SET_MPR_DEST = 1 << 10,
	MRC_SET_WIMM_DEST = 1 << 11,
	MRC_SET_PENALTY = 1 << 12,
	MRC_SET_FLAGS = 1 << 13,
	MRC_SET_DENIED_PORTS = 1 << 14, /* any time */
	MRC_SET_CC = 1 << 15,           /* before MRC_RTS */
	MRC_SET_WIMM = 1 << 16,
};

/* clang-format off */
/* What became of a packet: exactly one of these two lists counts it. */
#define MRC_ACCEPTED(C) \
	C(rx_data,         "data packets taken, each placed once") \
	C(rx_duplicate,    "data packets that had come before: acknowledged, not placed again") \
	C(rx_trimmed,      "data packets that a switch cut: reported to the sender, not placed") \
	C(rx_nacked,       "data packets refused with a NACK: out of range, no room, malformed") \
	C(rx_nak_sent,     "data packets refused with a NAK: the queue pair failed") \
	C(rx_probe,        "reliability probes answered") \
	C(rx_sack,         "SACKs taken") \
	C(rx_nack,         "NACKs taken") \
	C(rx_ack,          "Transport ACKs taken") \
	C(rx_nak,          "Transport NAKs taken") \
	C(rx_endpoint,     "endpoint requests answered") \
	C(rx_endpoint_re,  "endpoint responses taken")
#define MRC_DROPS(C) \
	C(drop_malformed,  "dropped: too short, too long, bad padding, or a reserved code") \
	C(drop_version,    "dropped: a transport version that is not 0") \
	C(drop_opcode,     "dropped: not an opcode of MRC") \
	C(drop_pkey,       "dropped: another partition") \
	C(drop_qp,         "dropped: no such queue pair, or the wrong one for this opcode") \
	C(drop_state,      "dropped: the queue pair is in no state to take it") \
	C(drop_stranger,   "dropped: not from the queue pair's peer") \
	C(drop_range,      "dropped: a PSN far outside the window (6.3.1 rule 6)") \
	C(drop_early,      "dropped: senseless data ahead of others; refused in its turn") \
	C(drop_stale,      "dropped: an answer about packets never sent, or settled long ago") \
	C(drop_unasked,    "dropped: the answer to a probe that is not out") \
	C(drop_busy,       "dropped: no room for its answer") \
	C(drop_rate,       "dropped: more endpoint requests than are answered in that time")
#define MRC_COUNTERS(C) \
	C(tx_data,         "data packets sent the first time") \
	C(tx_retx,         "data packets retransmitted") \
	C(tx_sack,         "SACKs sent, those for probes included") \
	C(tx_nack,         "NACKs sent") \
	C(tx_ack,          "Transport ACKs sent") \
	C(tx_nak,          "Transport NAKs sent") \
	C(tx_probe,        "reliability probes sent to ask what arrived") \
	C(tx_fault_probe,  "reliability probes sent for the sake of an EV or a port") \
	C(tx_endpoint,     "endpoint requests sent") \
	C(tx_endpoint_re,  "endpoint responses sent") \
	C(rx,              "packets received") \
	MRC_ACCEPTED(C) \
	MRC_DROPS(C) \
	C(rx_ecn,          "packets that carried congestion experienced") \
	C(rx_bytes,        "payload bytes placed, each once") \
	C(lost_gap,        "packets taken for lost because later ones had arrived") \
	C(lost_probe,      "packets taken for lost because a probe did not find them") \
	C(lost_nack,       "packets that a NACK asked for") \
	C(lost_port,       "packets taken for lost because their port is") \
	C(lost_timeout,    "packets taken for lost in silence") \
	C(retx_for_ack,    "packets that had arrived, retransmitted for their Transport ACK") \
	C(timeouts,        "times that nothing was received for too long") \
	C(spared,          "packets taken for lost that arrived before they were retransmitted") \
	C(failed,          "queue pairs that went to error on their own")
/* clang-format on */

struct mrc_counters {
#define MRC_COUNTER_MEMBER(name, text) uint64_t name;
	MRC_COUNTERS(MRC_COUNTER_MEMBER)
#undef MRC_COUNTER_MEMBER
};

/* The engine's functions; its configuration is a struct mrc_cfg. post answers -ENOMEM when the
 * queue is full, -EINVAL for what the queue pair, its caps or its state do not allow (any other
 * operation than the three; sends before MRC_RTS, receives in MRC_RESET), -ENOENT for an unknown
 * number. In MRC_ERROR work is taken and comes back flushed. cancel takes receives back as long as
 * immediate data that came ahead of a gap has one each; work to be sent is -EBUSY, since it is
 * numbered from post on (table 6-9). */
extern const struct engine_ops mrc_ops;

/* Sizes the pools of a configuration for its max_qps queue pairs, each with the largest range all
 * out and all but one packet of it received, and with so many faulty EVs; or for
 * as much of that as fits in so many bytes. */
void mrc_cfg_fit(struct mrc_cfg *cfg, uint64_t bytes, uint32_t evs);

/* The memory a queue pair of these caps needs, at max_align_t; 0: caps out of range. */
size_t mrc_qp_size(const struct mrc_caps *caps);

/* Makes queue pair number, in MRC_RESET, in memory, which is the engine's until mrc_qp_free. 0,
 * -EINVAL, -EEXIST, -ENOSPC. Numbers 0 to 2 are special on the wire (IBTA 3.5.1, M-28) and
 * refused. */
int mrc_qp_new(struct engine *e, uint32_t number, const struct mrc_caps *caps, void *memory);

/* Ends it: its work is forgotten, reported or not. Returns its memory, or NULL: no such number. */
void *mrc_qp_free(struct engine *e, uint32_t number);

/* Sets what `set` names and moves to attr->state if that is named: the transitions of IBTA 10.3.1,
 * any state to MRC_RESET or MRC_ERROR. MRC_INIT to MRC_RTR needs PMTU, PATH, REMOTE_QP, RQ_PSN and
 * MPR set; MRC_RTR to MRC_RTS needs SQ_PSN and MPR_DEST. MPR may change from then on too, if
 * MRC_DYNAMIC_MPR. 0, -ENOENT, -EINVAL; then nothing changed. MRC_ERROR flushes, MRC_RESET forgets
 * all work. */
int mrc_qp_modify(struct engine *e, nsec now, uint32_t number, const struct mrc_attr *attr,
		  uint32_t set);

/* The attributes and caps as they are; either may be NULL. mpr_dest is what the peer said last. 0
 * or -ENOENT. MRC_SQD counts as draining while *is_draining. */
int mrc_qp_query(const struct engine *e, uint32_t number, struct mrc_attr *attr,
		 struct mrc_caps *caps, bool *is_draining);

/* The controller denies one EV of a queue pair, or allows it again (9.3.2.1). 0, -ENOENT, -EINVAL:
 * its profile has no such EV. */
int mrc_qp_deny(struct engine *e, nsec now, uint32_t number, uint32_t ev, bool is_denied);

/* The controller's word on what becomes of packets on one EV (10.2.2): it is assumed bad, as if
 * the peer had said so, or good again. As mrc_qp_deny. */
int mrc_qp_judge(struct engine *e, nsec now, uint32_t number, uint32_t ev, bool is_bad);

/* The ports of ours that are down, a bit each, and no others: no EV through them is used, and
 * every peer is told of it by Port Status Updates (7.4.8). Work that waits while those of all its
 * EVs are down fails as if its packets were sent and lost. */
void mrc_ports_down(struct engine *e, nsec now, uint32_t ports);

/* What the scheduler holds of a queue pair (8.3). */
enum mrc_activity {
	MRC_IDLE,    /* all is acknowledged */
	MRC_PENDING, /* all is sent */
	MRC_ACTIVE,  /* something is to be sent and may not go now */
	MRC_READY,   /* something is to be sent and may go */
};
struct mrc_progress {
	uint8_t activity;          /* enum mrc_activity */
	uint64_t inflight_bytes;   /* 8.3.1 */
	uint64_t backlog_bytes;    /* of packets yet to be sent for the first time (8.6) */
	uint64_t window_bytes;     /* a packet may go while fewer than so many are in flight */
	nsec srtt_ns;              /* 0: not known */
	uint32_t evs[PATH_STATES]; /* of its profile, by state */
	uint32_t open_ports;       /* bit per port with a usable EV */
	/* Since MRC_RESET. */
	uint64_t sent_bytes;   /* payload acknowledged: of works that are done, and as far as all
				* arrived of the one that is next */
	uint64_t got_bytes;    /* payload placed */
	uint64_t sent_packets; /* of data, each once, ... */
	uint64_t retx_packets; /* ... and once more */
	uint64_t timeouts;
	uint64_t silent; /* works that ended in success and were not reported */
};
/* How a queue pair fares, for reports. 0 or -ENOENT; without EVs all of them are 0. */
int mrc_qp_progress(const struct engine *e, uint32_t number, struct mrc_progress *p);

/* The enum path_state of each EV of a queue pair, *n of them, into states as far as there is room.
 * 0 or -ENOENT; without EVs *n is 0. */
int mrc_qp_evs(const struct engine *e, uint32_t number, uint8_t *states, uint32_t room,
	       uint32_t *n);

/* Whether a packet's queue pair number is one of this engine's; 2 always is. */
bool mrc_has_qp(const struct engine *e, uint32_t number);

/* Endpoint operations (7.3): requests to a peer as such, best effort, each answered once or not at
 * all. */
struct mrc_endpoint {
	uint32_t peer, local;  /* driver's handles */
	struct path_ev ev;     /* the forward EV; with an EV probe, the one to be probed */
	uint8_t op;            /* enum mrc_endpoint_op of wire/mrc.h */
	uint8_t tclass;        /* enum engine_tclass of an EV probe, or ENGINE_DSCP + its DSCP;
				* port status: control (M-22) */
	bool has_service_time; /* the peer may tell its service time */
	uint32_t port_status;  /* port status update: bit per port of ours that is reachable */
	uint64_t cookie;
};

/* 0, -EINVAL, -ENOMEM when max_probes are out. */
int mrc_endpoint_post(struct engine *e, nsec now, const struct mrc_endpoint *request);

enum mrc_endpoint_news {
	MRC_ENDPOINT_ANSWERED,   /* rtt_ns is valid */
	MRC_ENDPOINT_UNANSWERED, /* given up: mrc_endpoint_expire */
	MRC_ENDPOINT_PORTS,      /* a peer reported the state of its ports: port_status is valid */
};
struct mrc_endpoint_done {
	uint8_t news; /* enum mrc_endpoint_news */
	uint8_t op;
	uint8_t port;     /* that the answer, or the update, came by */
	bool is_adjusted; /* the peer told a service time, and rtt_ns is without it */
	uint32_t peer, local, ev;
	uint32_t port_status;
	uint64_t cookie;
	nsec rtt_ns;
};
/* Gives up the requests sent before `before`, or posted before it and not sent yet; their answers
 * will be dropped. */
void mrc_endpoint_expire(struct engine *e, nsec before);
/* Gives up the caller's requests with this cookie, sent or not, and is done with them: nothing is
 * polled of them that was not to be polled already. */
void mrc_endpoint_forget(struct engine *e, uint64_t cookie);
/* Takes at most n; of one peer's port updates not yet taken, the newest replaces the others. */
uint32_t mrc_endpoint_poll(struct engine *e, struct mrc_endpoint_done *done, uint32_t n);

const struct mrc_counters *mrc_counters(const struct engine *e);

/* What mrc uses of its pools now, and what it may use of those that grow with its queue pairs: for
 * tests, and for reports of memory. */
struct mrc_usage {
	uint32_t out_chunks, early_chunks, answers, probes, ev_faults;
	uint32_t max_out_chunks, max_early_chunks, max_ev_faults;
};
struct mrc_usage mrc_usage(const struct engine *e);

#endif
