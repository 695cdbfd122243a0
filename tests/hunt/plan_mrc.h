/* What a plan has for MRC beyond what all transports have: drawn from the plan's seed by
 * plan_mrc_draw, printed by plan_mrc_print, read by transport_mrc.c and by the oracle. */
#ifndef WEFT_TESTS_HUNT_PLAN_MRC_H
#define WEFT_TESTS_HUNT_PLAN_MRC_H

#include "cc/cc.h"
#include "hunt.h"
#include "path/path.h"

#define PLAN_MRC_EVS     256u
#define PLAN_MRC_CHANGES 512u
#define PLAN_MRC_ENDLESS 25u /* so many exponential retries (MRC Table 7-1) */
#define PLAN_MRC_RANGE   128u
#define PLAN_MRC_CHUNK   64u   /* packets out are given room for in such units */
#define PLAN_MRC_PLENTY  8192u /* packets of a pool that nobody finds empty */

/* Of one host. */
struct plan_mrc_host {
	uint32_t max_out, max_early, max_answers; /* pools that its connections share */
	uint32_t sack_every, sack_least;
	uint16_t pkey, first_msn;
	bool has_service_time, has_trim_nack;
	uint32_t max_ev_faults, max_probes;
	bool has_base_probe;
	uint32_t odd; /* bit per enum odd_mrc */
};

struct plan_mrc_evs {
	struct path_ev evs[PLAN_MRC_EVS]; /* grouped by port, the lowest first */
	uint32_t n;
	uint64_t denied[PLAN_MRC_EVS / 64]; /* bit each: from the start */
	uint8_t denied_ports;               /* likewise */
	uint16_t min_active;
};

/* Of one end. */
struct plan_mrc_end {
	struct plan_mrc_evs evs[2]; /* at the beginning, and after a change */
	uint8_t timeout, linear, exponential;
	uint8_t max_mpr, mpr; /* mpr: at the beginning */
	uint16_t max_wimm, wimm_dest;
	uint8_t penalty;
	bool is_dynamic, has_stamps, is_trimmable, is_restoring;
	uint16_t burst;
	bool is_oblivious;    /* what happens to packets is not held against their EVs */
	uint8_t denied_ports; /* at the beginning, whichever EVs it takes */
};

enum plan_mrc_what {
	PLAN_MRC_RESIZE, /* the range it tracks (7.5.4) */
	PLAN_MRC_TURN,   /* it takes its other EVs */
	PLAN_MRC_DRAIN,  /* no message begins any more, ... */
	PLAN_MRC_GO,     /* ... until now */
	PLAN_MRC_DENY,   /* an EV is not to be used, ... */
	PLAN_MRC_ALLOW,  /* ... and may be */
	PLAN_MRC_PORTS,  /* these ports are not to be used, all others may be */
	PLAN_MRC_DOWN,   /* these ports of its host are down, all others are up */
};

/* Something changes at an end. */
struct plan_mrc_change {
	uint32_t end;
	psec at;
	uint8_t what; /* enum plan_mrc_what */
	uint8_t mpr;
	uint8_t ports;
	uint16_t ev;    /* of those in use then, if it has so many */
	uint32_t order; /* among those of one moment */
};

struct plan_mrc {
	struct plan_mrc_host hosts[HUNT_HOSTS];
	struct plan_mrc_end ends[HUNT_ENDS];
	struct plan_mrc_change changes[PLAN_MRC_CHANGES]; /* by time */
	uint32_t n_changes;
	struct cc_cfg cc;
	nsec rtt_ns; /* of the longest path, idle */
	/* Each end has an EV by one of these ports, whichever EVs it takes, that nobody denies.
	 * Nothing shuts them, or, with may_shut, not for long. */
	uint8_t open_ports;
	bool may_shut;
};

static inline const struct plan_mrc *plan_mrc(const struct hunt_plan *s)
{
	return s->own;
}

int plan_mrc_draw(struct hunt_plan *s);
void plan_mrc_print(const struct hunt_plan *s, uint32_t end);

/* plan_evs.c: what there is of EVs and windows; changes to them are added to the plan's. */
void plan_mrc_draw_evs(struct hunt_plan *s);
void plan_mrc_print_evs(const struct hunt_plan *s, uint32_t end);

/* Something changes at an end; the plan is not healed before. */
void plan_mrc_add(struct hunt_plan *s, const struct plan_mrc_change *change);

/* The length of the i-th silence in a row, i = 0 .. (Table 7-1, M-33). */
nsec plan_mrc_silence_ns(const struct plan_mrc_end *end, uint32_t i);

/* All silences until an end gives up, or until it has surely tried again after faults of that
 * length, if it never does. */
nsec plan_mrc_give_up_ns(const struct plan_mrc_end *end, nsec faults);

#endif
