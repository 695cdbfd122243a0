/* What the hosts want from each other: transfers with sizes, start times and dependencies, made
 * from a pattern's parameters or one by one (a traffic matrix). Read only once made; traffic.h runs
 * it. */
#ifndef WEFT_SIM_WORKLOAD_H
#define WEFT_SIM_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "sim/psec.h"

#define WORKLOAD_FLOWS_MAX   (UINT32_C(1) << 24) /* of one workload */
#define WORKLOAD_MESSAGE_MAX (UINT32_C(1) << 30) /* bytes */
#define WORKLOAD_BYTES_MAX   (UINT64_C(1) << 48) /* of a flow, all its repetitions */
#define WORKLOAD_TIME_MAX    (UINT64_C(1) << 62) /* of any start or gap: 53 days */

/* One transfer. It starts at start_ps, or as soon after it as every flow it waits for was delivered
 * at its destination. Repetitions follow each other gap_ps after the one before completed. */
struct workload_flow {
	uint32_t src, dst;
	uint64_t bytes;         /* of one repetition, >= 1 */
	uint32_t message_bytes; /* most of one message; 0: all of it (at most 1 GiB) */
	uint32_t window;        /* messages posted at a time, >= 1 */
	uint32_t repeat;        /* >= 1 */
	uint32_t qp;            /* flows of the same hosts and number share a queue pair */
	psec start_ps, gap_ps;
	uint32_t n_before;             /* flows this one waits for */
	uint32_t first_after, n_after; /* after[first_after ...]: flows that wait for this one */
	uint32_t id;                   /* as the user named it, or its number */
	uint32_t group;                /* 0: to dst alone; else group - 1 gets it, dst among it */
	uint8_t role;                  /* enum workload_role */
};

enum workload_role { WORKLOAD_FLOW, WORKLOAD_VICTIM };

/* Many receivers of one source, for whom the network copies what it sends: receivers[first ..
 * first + n) of the workload, in rising order. */
struct workload_group {
	uint32_t src, first, n;
};

struct workload {
	struct workload_flow *flows;
	uint32_t n, room;
	struct workload_group *groups;
	uint32_t n_groups, group_room;
	uint32_t *receivers;
	uint32_t n_receivers, receiver_room;
	uint32_t *after;
	uint32_t n_after, after_room;
};

enum workload_kind {
	WORKLOAD_SINGLE,      /* src -> dst */
	WORKLOAD_PERMUTATION, /* each host to one other, no fixed point */
	WORKLOAD_INCAST,      /* fan_in hosts -> dst; with a victim */
	WORKLOAD_ALL_TO_ALL,  /* each host to each other, in shifted order */
	WORKLOAD_RING,        /* all-reduce in 2 (n - 1) steps of bytes / n */
	WORKLOAD_TREE,        /* all-reduce: reduce up a binary tree, broadcast down, in chunks */
	WORKLOAD_RANDOM,      /* Poisson arrivals, sizes from a distribution */
	WORKLOAD_BROADCAST,   /* src -> each of the next hosts, the same bytes */
	WORKLOAD_ALL_GATHER,  /* a broadcast by each member */
};

/* How the bytes of one reach many hosts. */
enum workload_by {
	WORKLOAD_BY_UNICAST, /* to each for itself */
	WORKLOAD_BY_RING,    /* from host to host, each in turn, in chunks */
	WORKLOAD_BY_TREE,    /* from each host to two further ones, in chunks */
	WORKLOAD_BY_GROUP,   /* to all at once: the network copies it */
};

/* A point of a size distribution: the chance, in millionths, that a size is at most bytes. Sizes in
 * between are interpolated, and none is below the first point. Points do not fall in either number;
 * the last has 1,000,000. */
struct workload_size {
	uint64_t bytes;
	uint32_t millionths;
};

struct workload_cfg {
	enum workload_kind kind;
	uint32_t hosts; /* of the fabric */
	uint64_t bytes; /* per flow; ring and tree: of the reduced buffer */
	uint32_t message_bytes, window;
	uint32_t repeat; /* ring and tree: of the whole, without a gap; a host goes on when
			    the result reached it; broadcast and all-gather: of the whole,
			    the next when the one before is everywhere */
	psec start_ps, gap_ps;
	psec stagger_ps;         /* flow i starts i * stagger_ps later; ring and tree: the flows
				    of host i; broadcast, all-gather: those of broadcast i;
				    random: unused */
	uint32_t src, dst;       /* single, incast; broadcast: src */
	uint32_t qp;             /* single */
	uint32_t fan_in;         /* incast: senders, drawn from the other hosts */
	uint32_t victims;        /* incast: 0 or 1, a flow from a sender's neighbourhood to a
				    neighbour of dst (another host of its leaf) that shares the
				    fabric, not the last link */
	uint32_t hosts_per_leaf; /* to find such a neighbour */
	uint32_t members;        /* ring, tree, all-to-all, all-gather: the first so many hosts;
				    broadcast: so many from src on; 0: all */
	uint32_t chunk_bytes;    /* tree, broadcast, all-gather: pipelining unit; 0: none */
	enum workload_by by;     /* broadcast, all-gather */
	uint32_t at_a_time;      /* all-gather: members that send at a time; 0: all */
	uint32_t load_percent;   /* random: of every host's link, 1 .. 100 */
	uint64_t rate_bps;       /* random: that link's rate */
	psec duration_ps;        /* random: arrivals stop so long after start_ps */
	const struct workload_size *sizes; /* random */
	uint32_t n_sizes;
};

/* Starts an empty workload; add flows with workload_add, or let workload_build add a pattern's. */
void workload_init(struct workload *w);
void workload_fini(struct workload *w);

/* Adds one flow, its dependencies none; returns its number, or UINT32_MAX without memory or beyond
 * WORKLOAD_FLOWS_MAX. */
uint32_t workload_add(struct workload *w, const struct workload_flow *flow);

/* Makes flow `later` wait for flow `before`, another one. Called in order of rising before. 0 or
 * -ENOMEM. */
int workload_wait(struct workload *w, uint32_t before, uint32_t later);

/* Adds a group of one source and n >= 1 other hosts, each once, in any order. Its number, or
 * UINT32_MAX without memory. */
uint32_t workload_add_group(struct workload *w, uint32_t src, const uint32_t *hosts, uint32_t n);

/* The group of a flow, or NULL. */
static inline const struct workload_group *workload_group_of(const struct workload *w,
							     const struct workload_flow *flow)
{
	return flow->group ? &w->groups[flow->group - 1] : NULL;
}

/* What is to be delivered of a flow, to all of its receivers and in all repetitions. */
static inline uint64_t workload_bytes(const struct workload *w, const struct workload_flow *flow)
{
	const struct workload_group *g = workload_group_of(w, flow);

	return flow->bytes * flow->repeat * (g ? g->n : 1);
}

/* Adds the flows of a pattern, drawing from seed. 0, -ENOMEM, or -EINVAL with a sentence that names
 * the parameter; w is as it was then. The same pattern and seed make the same flows. */
int workload_build(struct workload *w, const struct workload_cfg *cfg, uint64_t seed, char *error,
		   size_t error_len);

#endif
