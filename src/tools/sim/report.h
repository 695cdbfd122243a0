/* What a simulation amounts to, gathered once and printed in three forms: a table, one JSON
 * document, CSV files. Everything but wall_ns depends on the scenario alone: two runs of one seed
 * differ nowhere else. `weft sim` calls these. */
#ifndef WEFT_TOOLS_SIM_REPORT_H
#define WEFT_TOOLS_SIM_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json_writer.h"
#include "scenario/run.h"
#include "tools/stats.h"

#define REPORT_DECILES    10u
#define REPORT_FLOWS_FEW  16u /* up to so many are listed one by one unasked */
#define REPORT_PORTS_FEW  1024u
#define REPORT_FAULT_TEXT 160u

/* Why a run ended. */
enum report_end {
	REPORT_DONE,        /* every flow is done */
	REPORT_FAILED,      /* nothing is left to do, but not every flow is done */
	REPORT_TIME,        /* the scenario's end came first */
	REPORT_INTERRUPTED, /* by the user */
};

/* Ports at one step of the way, see SIM_GROUPS. Queues as arriving packets found them; percentiles
 * are bounds of sim_queue_bound. */
struct report_group {
	uint32_t n_ports;
	uint64_t arrivals, p50_bytes, p99_bytes, most_bytes;
	uint64_t sent_bytes, least_sent, most_sent; /* of all ports, and of one */
	uint32_t deciles[REPORT_DECILES];           /* ports by tenths of utilisation */
};

/* What a switch of the highest tier of its plane sent down: the load of a path, if there are two
 * tiers. */
struct report_path {
	uint64_t bytes, pkts;
};

/* All of them in one plane. */
struct report_paths {
	uint32_t n; /* 0: the plane has no switch */
	uint8_t tier;
	uint64_t bytes, least_bytes, most_bytes; /* of all, and of one */
};

/* Set by the caller, up to wall_ns; the rest by report_gather. */
struct report {
	const struct run *run;
	const char *summary;
	bool is_interrupted;
	bool has_all_flows; /* list every flow and link, however many */
	uint64_t wall_ns;

	enum report_end end;
	psec ended_ps; /* of the last completion, if every flow is done */
	uint32_t n_unfinished;
	uint64_t bytes, delivered_bytes, goodput_bps;
	struct stats fct_ps, ideal_ps,
		slowdown; /* of flows that are done; slowdown in thousandths */
	struct report_group groups[SIM_GROUPS];
	uint64_t plane_bytes[TOPOLOGY_PLANES]; /* sent by the hosts */
	struct report_paths paths[TOPOLOGY_PLANES];
	uint64_t dropped, in_flight, retransmitted;
	bool is_conserved;
};

/* What the source of a multicast group heard, or those of all; and branches of any node. */
#define REPORT_ALL_TREES UINT32_MAX
struct report_trees {
	uint64_t acks, naks, cnps;
	uint32_t silent, ejected, failed;
};
void report_trees(const struct report *r, uint32_t group, struct report_trees *trees);

/* Packets that nodes of all trees dropped for this reason, and copies and answers that they did not
 * make for it. */
uint64_t report_tree_drops(const struct report *r, enum mt_drop reason);

/* 0 or -ENOMEM. */
int report_gather(struct report *r);

const char *report_group_name(uint32_t group);
const char *report_end_name(enum report_end end);
const char *report_state_name(uint8_t state);
const char *report_routing_name(enum routing_mode mode);

/* Fabric, transport and workload in a few lines: what would be run. */
void report_plan(FILE *out, const struct run *run, const char *summary);

/* The rest for a person. unicode: the reader shows block elements. */
void report_table(FILE *out, const struct report *r, bool unicode);

/* The part of the table that is about this machine and this moment. */
void report_wall(FILE *out, const struct report *r);

/* One JSON document on several lines, of a plan. */
void report_json_plan(FILE *out, const struct run *run, const char *summary);

/* A whole run as one value: a document, or a member of w. */
void report_json(struct json_writer *w, const char *key, const struct report *r);

/* Makes the folder, if there is none. 0 or an errno. */
int report_csv_folder(const char *folder);

/* Writes flows.csv, goodput.csv, queues.csv, links.csv, paths.csv, drops.csv and faults.csv. 0, or
 * an errno and in *file the one that failed. */
int report_csv(const char *folder, const struct report *r, const char **file);

/* Utilisation of a port over the run, in thousandths of its rate. */
uint64_t report_utilisation(const struct report *r, uint32_t port);

/* Whether a node is a switch of the highest tier of its plane; *path is then its load. */
bool report_path(const struct report *r, uint32_t node, struct report_path *path);

/* The most over the mean of n, which are sum together, in thousandths. */
uint64_t report_skew(uint64_t most, uint32_t n, uint64_t sum);

/* Thousandths by which a flow was slower than alone; 0 when it did not complete. */
uint64_t report_slowdown(const struct run_flow *f);

#endif
