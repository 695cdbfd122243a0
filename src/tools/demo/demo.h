/* `weft demo`: one queue pair of MRC moves data over a fabric of eight planes while a plane fails,
 * a link turns gray and a path congests; RC with DCQCN does the same beside it, with one queue pair
 * and with one for each plane, on fabrics of their own with the same faults. All are simulated in
 * steps of a microsecond, as one.
 *
 * fabric.c sets them up, watch.c looks at them after each step and notes what it sees,
 * view.c and json.c tell it. Nothing here is scripted but the faults themselves: an event
 * is a change of the fabric's or an engine's own state. The same seed is the same record. */
#ifndef WEFT_TOOLS_DEMO_DEMO_H
#define WEFT_TOOLS_DEMO_DEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc/mrc.h"
#include "scenario/run.h"
#include "tools/pcapng.h"

#define DEMO_PLANES     8u
#define DEMO_SRC        0u          /* host that sends, ... */
#define DEMO_DST        7u          /* ... and the one that receives */
#define DEMO_QPS        DEMO_PLANES /* of RC x8 */
#define DEMO_BYTES      (UINT64_C(128) << 20)
#define DEMO_STEP_PS    PSEC_US         /* how often all are looked at */
#define DEMO_SLICE_PS   (100 * PSEC_US) /* a row of the table */
#define DEMO_NOW_STEPS  50u             /* goodput "now" is of so many */
#define DEMO_END_PS     (40 * PSEC_MS)  /* at the latest */
#define DEMO_SLICES_MAX 401u
#define DEMO_EVENTS_MAX 128u
#define DEMO_TEXT_MAX   112u
#define DEMO_HEX_MAX    65u

enum { DEMO_MRC, DEMO_RC, DEMO_RC8, DEMO_SIDES };

/* How one queue pair fares. */
struct demo_qp {
	uint32_t psn;    /* expected next by the receiver */
	psec arrived_ps; /* when something arrived last */
	bool is_stalled;
};

/* One transport on its fabric. */
struct demo_side {
	const char *name, *key; /* for people, and in JSON */
	uint32_t n_qps;         /* each with a flow: the first ones of the workload, of equal size.
				 * All others are cross traffic */
	struct scenario scenario;
	struct run run;
	bool has_scenario, has_run;
	uint8_t *to;        /* the receiver's memory */
	uint64_t plane_bps; /* payload that the sender's port to one plane can carry */
	/* Kept by watch.c. */
	uint64_t bytes;                    /* arrived, each once */
	uint64_t bytes_at[DEMO_NOW_STEPS]; /* of the last steps */
	uint64_t slice_bytes;              /* when this slice began */
	uint64_t slice_ideal;              /* bytes that could have arrived in it */
	uint64_t ideal_bytes;              /* and in all */
	struct demo_qp qps[DEMO_QPS];
	psec longest_ps; /* the longest time without anything, of any queue pair */
	bool is_failed, is_over;
};

/* Where things go wrong: the path that RC was given, as MRC uses every one. */
struct demo_place {
	uint32_t path;        /* its number in the plane */
	uint32_t plane, port; /* the sender's port to it has the same number */
	uint32_t uplink;      /* of the sender's leaf on that path: a port of the topology */
	char link[2 * TOPOLOGY_NAME_MAX + 16]; /* "p3.leaf0-p3.spine1" */
};

/* What one moment looks like, or a slice up to it. */
struct demo_row {
	psec at_ps;
	uint64_t bps[DEMO_SIDES], ideal_bps[DEMO_SIDES], retx[DEMO_SIDES];
	struct mrc_progress progress;
	uint32_t planes_up; /* bit each */
};

struct demo_event {
	psec at_ps;
	const char *kind;
	char text[DEMO_TEXT_MAX];
};

struct demo {
	const char *name; /* "weft demo" */
	uint64_t seed;
	struct demo_side sides[DEMO_SIDES];
	struct demo_place place;
	uint8_t *from; /* the sender's memory, of both */
	/* The capture, if there is one. */
	const char *capture_path;
	struct pcapng *capture;
	uint64_t n_frames;
	/* What was seen. */
	psec now_ps;
	uint32_t n_steps;
	struct demo_row slices[DEMO_SLICES_MAX];
	uint32_t n_slices;
	struct demo_event events[DEMO_EVENTS_MAX];
	uint32_t n_events, n_missed;
	/* What watch.c remembers of the step before; 0: has not happened. */
	uint32_t planes_up, open_ports, most_out;
	bool is_gray, has_lost, is_crossed, has_marked, has_skipped, is_out;
	psec changed_ps, changed_back_ps; /* when a fault began last, and ended last */
	psec out_ps;                      /* when the first of the EVs went out */
	uint64_t marked_before, retx_before;
	/* Filled in at the end. */
	char sent_hash[DEMO_SIDES][DEMO_HEX_MAX], got_hash[DEMO_SIDES][DEMO_HEX_MAX];
	uint64_t hashed[DEMO_SIDES]; /* bytes: of each flow, from the first on */
	bool is_verified[DEMO_SIDES];
};

/* Sets all sides up; the capture too, if it has a path. A status of tools/command.h, after saying
 * what went wrong. demo_fini in either case. */
int demo_init(struct demo *d);
/* STATUS_OK, or why the capture could not be written. */
int demo_fini(struct demo *d);

/* All go on for one step; false when MRC has nothing left to do, or the time is over. */
bool demo_step(struct demo *d);

/* Compares what the receivers' engines placed with what the senders had, by SHA-256: the whole of a
 * flow that is done, else the messages that were acknowledged. */
void demo_verify(struct demo *d);

/* How many queue pairs of a side have moved all they had to. */
uint32_t demo_done(const struct demo_side *side);

/* The queue pair of a flow in its engine, at the flow's source or destination. */
uint32_t demo_qp_of(const struct run *r, uint32_t flow, bool is_source);

/* MRC's flow is done and right, RC's right as far as it came, and no queue pair failed. */
bool demo_is_proven(const struct demo *d);

/* Looks at all sides after a step: notes events, and a slice at its end. */
void demo_watch(struct demo *d);

/* The present moment, with the goodput of the last DEMO_NOW_STEPS. */
struct demo_row demo_now(const struct demo *d);

/* The view while it runs: a panel redrawn in place, or lines as they come. */
struct demo_view {
	bool is_panel, has_color;
	uint32_t n_events, n_slices; /* already shown as lines */
	uint32_t n_lines;            /* of the panel on the screen */
};
void demo_view_begin(struct demo_view *v, const struct demo *d);
void demo_view_show(struct demo_view *v, const struct demo *d);
/* What came of it; the last line says it in one sentence. */
void demo_view_end(const struct demo_view *v, const struct demo *d);

/* Everything as one JSON document. */
void demo_json(const struct demo *d);

#endif
