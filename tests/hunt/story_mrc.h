/* What a story has for MRC beyond what all transports have: drawn from the story's seed by
 * story_mrc_draw, told by story_mrc_tell, read by transport_mrc.c and by the oracle. */
#ifndef WEFT_TESTS_HUNT_STORY_MRC_H
#define WEFT_TESTS_HUNT_STORY_MRC_H

#include "hunt.h"
#include "path/path.h"

#define STORY_MRC_WAYS    256u
#define STORY_MRC_CHANGES 256u
#define STORY_MRC_ENDLESS 25u /* so many exponential retries (MRC Table 7-1) */
#define STORY_MRC_RANGE   128u
#define STORY_MRC_CHUNK   64u   /* packets out are given room for in such units */
#define STORY_MRC_PLENTY  8192u /* packets of a pool that nobody finds empty */

/* Of one host. */
struct story_mrc_host {
	uint32_t max_out, max_early, max_answers; /* pools that its connections share */
	uint32_t sack_every, sack_least;
	uint16_t pkey, first_msn;
	bool has_service_time, has_trim_nack;
};

struct story_mrc_ways {
	struct path_way ways[STORY_MRC_WAYS];
	uint32_t n;
};

/* Of one end. */
struct story_mrc_end {
	struct story_mrc_ways ways[2]; /* at the beginning, and after a change */
	uint8_t timeout, linear, exponential;
	uint8_t max_mpr, mpr; /* mpr: at the beginning */
	uint16_t max_wimm, wimm_dest;
	uint8_t penalty;
	bool is_dynamic, has_stamps, is_trimmable, is_restoring;
};

enum story_mrc_what {
	STORY_MRC_RESIZE, /* the range it tracks (7.5.4) */
	STORY_MRC_TURN,   /* it takes its other ways */
	STORY_MRC_DRAIN,  /* no message begins any more, ... */
	STORY_MRC_GO,     /* ... until now */
};

/* Something changes at an end. */
struct story_mrc_change {
	uint32_t end;
	psec at;
	uint8_t what; /* enum story_mrc_what */
	uint8_t mpr;
	uint32_t order; /* among those of one moment */
};

struct story_mrc {
	struct story_mrc_host hosts[HUNT_HOSTS];
	struct story_mrc_end ends[HUNT_ENDS];
	struct story_mrc_change changes[STORY_MRC_CHANGES]; /* by time */
	uint32_t n_changes;
};

static inline const struct story_mrc *story_mrc(const struct hunt_story *s)
{
	return s->own;
}

int story_mrc_draw(struct hunt_story *s);
void story_mrc_tell(const struct hunt_story *s, uint32_t end);

/* The length of the i-th silence in a row, i = 0 .. (Table 7-1, M-33). */
nsec story_mrc_silence_ns(const struct story_mrc_end *end, uint32_t i);

/* All silences until an end gives up, or until it has surely tried again after faults of that
 * length, if it never does. */
nsec story_mrc_patience_ns(const struct story_mrc_end *end, nsec faults);

#endif
