/* A workload at work: connects hosts, posts messages when their time has come, and notes when each
 * flow started, was delivered and completed; of a flow to a group, where and when. Payload is
 * virtual, but for flows that were given memory.
 *
 * Order of use: traffic_init (which counts connections, so that engines can be sized), sim_init,
 * traffic_start, sim_run with the hooks of this module in place. */
#ifndef WEFT_SIM_TRAFFIC_H
#define WEFT_SIM_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/groups_build.h"
#include "sim/sim.h"
#include "sim/workload.h"

enum traffic_state {
	TRAFFIC_WAITING, /* for its time, or for others */
	TRAFFIC_RUNNING,
	TRAFFIC_DONE,
	TRAFFIC_FAILED, /* status says why */
};

/* One flow in the run. Times of all its repetitions: first start, last delivery and completion. */
struct traffic_flow {
	psec started_ps, delivered_ps, completed_ps;
	psec round_ps; /* start of this repetition */
	psec busy_ps;  /* the completion times of its repetitions together */
	uint64_t posted_bytes, acked_bytes, delivered_bytes; /* of this repetition */
	uint64_t total_bytes;                                /* delivered in all */
	uint32_t repeats_left, n_before, outstanding;
	uint32_t link;     /* connection */
	uint32_t receipts; /* to a group: the first of its receivers', in the group's order */
	uint32_t n_whole;  /* of these, that have all of the last repetition */
	int16_t status;
	uint8_t *from;    /* the sender's bytes; NULL: virtual */
	uint32_t key;     /* of the memory they are written to, from address 0 on, if not NULL */
	uint8_t state;    /* enum traffic_state */
	bool is_released; /* those that wait for it know that it was delivered */
};

/* What one receiver of a group got of one flow. */
struct traffic_receipt {
	uint64_t delivered_bytes; /* of this repetition */
	psec delivered_ps;        /* when its last message came */
};

/* The queue pairs of a group. They are counted here from 0; before the start, whoever makes the
 * group adds the transport's first number to them, and sets ports and the first PSN. */
struct traffic_group {
	struct groups_member source;
	struct groups_member *receivers;
	uint32_t n_receivers, psn;
};

/* A connection: one queue pair at each end. Flows of one pair of hosts share it, and flows to one
 * group, of which each receiver has an end. */
struct traffic_link {
	uint32_t src, dst, src_qp, dst_qp;
	uint32_t qp;       /* as the workload numbers it */
	uint32_t group;    /* as flows name it; 0: none */
	uint32_t messages; /* posted at a time, by all its flows */
	bool is_used;      /* some flow of it has started */
};

/* A flow that starts, or starts again, at a known time. */
struct traffic_start {
	psec at;
	uint32_t flow;
};

/* The starts of a host's flows: starts[first ... first + n). */
struct traffic_host {
	uint32_t first, n;
};

struct traffic {
	const struct workload *workload;
	struct traffic_flow *flows;
	struct traffic_link *links;
	uint32_t n_links;
	struct traffic_receipt *receipts;
	struct traffic_group *groups; /* the workload's */
	struct groups_member *receivers;
	uint32_t *qps;     /* per host: queue pairs it needs */
	uint32_t *ops;     /* per host: the most messages it can have posted at a time */
	uint32_t *link_of; /* hash table from a pair of hosts, and a number, to its connection */
	uint32_t link_mask;
	struct traffic_start *starts; /* of each host a heap, the soonest first */
	struct traffic_host *hosts;
	uint32_t n_starts;
	psec tick_ps;
	uint64_t *ticks; /* payload bytes that hosts took in, each once, in each tick */
	uint32_t n_ticks, tick_room;
	uint32_t n_running, n_done, n_failed;
};

/* Plans a workload for n_hosts hosts. The workload is lent. tick_ps is the width of a tick of
 * goodput over time, at least 1. 0 or -ENOMEM. */
int traffic_init(struct traffic *t, const struct workload *w, uint32_t n_hosts, psec tick_ps);
void traffic_fini(struct traffic *t);

/* Opens all connections, those of groups by the ports and PSNs that they were given, and arms the
 * first starts. 0 or a negative errno. */
int traffic_start(struct traffic *t, struct sim *s);

/* Whether what this does at one host concerns no other: see sim_hooks.is_local. Only true of a run
 * in which nobody forges packets, if flows wait for each other. */
bool traffic_is_local(const struct workload *w);

/* The hooks: completions; payload taken in; alarms; restarts. */
void traffic_done(struct traffic *t, struct sim *s, uint32_t host, const struct done *done);
void traffic_received(struct traffic *t, const struct sim *s, uint64_t bytes);
void traffic_alarm(struct traffic *t, struct sim *s, uint32_t host);
void traffic_restarted(struct traffic *t, struct sim *s, uint32_t host);

/* Nothing runs and nothing will start by itself: all flows are done, failed, or wait for one that
 * failed. */
bool traffic_is_over(const struct traffic *t);

#endif
