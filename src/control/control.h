/* What a controller has set on an MRC device: its ports, and the profiles of entropy values and of
 * congestion control that queue pairs name (MRC 9.4, 10.2.2).
 *
 * A struct control is plain data, whole and checked: who reads one may rely on every index and
 * range in it. Whatever the mode of an EV profile, its values stand in a list, drawn once, so that
 * every process on the device has the same ones. store.h keeps it beyond processes; the doors
 * change it. */
#ifndef WEFT_CONTROL_CONTROL_H
#define WEFT_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "path/format.h"

#define CONTROL_PROFILES 64u    /* of each kind */
#define CONTROL_EVS      1024u  /* of one profile */
#define CONTROL_EVS_ALL  16384u /* of all */
#define CONTROL_VENDOR   128u

/* Kinds of profiles. */
enum control_kind { CONTROL_FORMAT, CONTROL_EV, CONTROL_CC, CONTROL_KINDS };

/* A profile in CONTROL_INIT is one that is not in its table. */
enum control_phase { CONTROL_INIT, CONTROL_OFFLINE, CONTROL_ONLINE };

enum control_wide {
	CONTROL_STRUCTURED, /* source port and flow label: 32 bits */
	CONTROL_SRV6,       /* the outer address, and with more than 128 bits one segment: 256 */
	CONTROL_UDP,        /* source port: 16 */
};

struct control_format {
	uint64_t id;
	uint8_t phase;    /* enum control_phase, not CONTROL_INIT; so for all three */
	uint8_t wide;     /* enum control_wide */
	uint8_t n_fields; /* 0 .. PATH_FIELDS_MAX; 0: not set yet */
	uint8_t width[PATH_FIELDS_MAX];
	uint8_t vendor[CONTROL_VENDOR];
};

enum control_mode { CONTROL_AUTO, CONTROL_EXPLICIT, CONTROL_GENERATED };

/* port 0: unpopulated, and val is all zero; else counted from 1. */
struct control_ev {
	uint8_t val[PATH_VALUE_BYTES]; /* first bit first; control_expand: as packets carry it */
	uint8_t port;
	bool is_denied;
	uint8_t n_good; /* times that it was said to be good, modulo 128: who assumed it bad forgets
			 * that whenever this changes */
};

/* Events that a profile asks for. */
enum control_event_mask { CONTROL_REPORT_GOOD = 1, CONTROL_REPORT_BAD = 2 };

struct control_profile {
	uint64_t id;
	uint8_t phase, mode; /* enum control_mode */
	uint8_t event_mask;  /* enum control_event_mask */
	uint8_t n_fields;
	uint64_t format_id;  /* of a format that exists, unless mode is CONTROL_AUTO */
	uint32_t count;      /* 1 .. CONTROL_EVS */
	uint32_t min_active; /* 0 .. count */
	struct path_field fields[PATH_FIELDS_MAX];
	uint8_t vendor[CONTROL_VENDOR];
	struct control_ev *evs; /* count of them; those of generated ones once they are online */
};

/* Ultra Ethernet Table 3-76, as the control interface has it; 0 is the default. */
struct control_nscc {
	bool has_no_quick_adapt;
	uint8_t qa_gate;
	uint32_t adjust_bytes, adjust_period_ns, base_rtt_ns;
	uint32_t max_cwnd_bytes, qa_threshold_ns, target_delay_ns;
	float eta, fi, fi_scale, gamma, max_md_jump; /* finite, not negative */
};

struct control_cc {
	uint64_t id;
	uint8_t phase;
	bool is_nscc; /* else none: a window that never changes */
	bool has_config;
	struct control_nscc nscc;
	uint8_t vendor[CONTROL_VENDOR];
};

struct control {
	uint64_t generation;     /* one more with each change; 0: nothing was ever set */
	uint32_t disabled_ports; /* bit i: port i, counted from 0 as everywhere below the doors */
	uint32_t n_formats, n_profiles, n_ccs;
	struct control_format formats[CONTROL_PROFILES];
	struct control_profile profiles[CONTROL_PROFILES];
	struct control_cc ccs[CONTROL_PROFILES];
};

/* Empty, as of a device that nobody controlled; NULL: no memory. control_free takes NULL too. */
struct control *control_new(void);
void control_free(struct control *c);
/* A copy, lists and all; NULL: no memory. */
struct control *control_copy(const struct control *c);

/* NULL: there is none. */
struct control_format *control_find_format(struct control *c, uint64_t id);
struct control_profile *control_find_profile(struct control *c, uint64_t id);
struct control_cc *control_find_cc(struct control *c, uint64_t id);

/* A new entry, all zero but for its id; NULL: the table is full. Ends one, its list included. */
struct control_format *control_add_format(struct control *c, uint64_t id);
struct control_profile *control_add_profile(struct control *c, uint64_t id);
struct control_cc *control_add_cc(struct control *c, uint64_t id);
void control_remove(struct control *c, enum control_kind kind, uint64_t id);

/* Gives a profile count values, all unpopulated; -ENOMEM, or -ENOSPC: more than CONTROL_EVS_ALL. */
int control_set_count(struct control *c, struct control_profile *p, uint32_t count);
uint32_t control_count_evs(const struct control *c);

/* Where the bits of a format's values go: those of CONTROL_SRV6 into a segment as well if its
 * fields have more than an address. */
enum path_encoding control_encoding(const struct control_format *f);
/* The fields that a profile's values are made of: its own, in the widths of its format, and what it
 * leaves out of that fixed and zero. Their number; 0: it has no fields. */
uint32_t control_shape(const struct control *c, const struct control_profile *p,
		       struct path_field fields[PATH_FIELDS_MAX]);
/* Value number i of a profile as packets carry it: explicit ones of a profile with fields are kept
 * in their short form (path_format_expand). */
void control_expand(const struct control *c, const struct control_profile *p, uint32_t i,
		    uint8_t value[PATH_VALUE_BYTES]);

/* Whether everything in it is as said above: every number in its range, no id twice in a table,
 * formats that profiles name. */
bool control_is_whole(const struct control *c);

/* As bytes, CONTROL_BYTES at most, and back. control_encode: malloced, of one that is whole; NULL:
 * no memory. control_decode: NULL for bytes that are not one whole struct control (EBADMSG), or
 * without memory (ENOMEM). */
#define CONTROL_BYTES (1u << 20)
void *control_encode(const struct control *c, size_t *len);
struct control *control_decode(const void *bytes, size_t len);

/* Something happened to an entropy value of a profile, in some process on the device. */
struct control_event {
	uint64_t profile_id;
	struct control_ev ev; /* is_denied is no matter */
	uint8_t state;        /* enum control_event_mask: one bit */
	uint32_t n_lost;      /* events that were lost between the one before and this */
};

#endif
