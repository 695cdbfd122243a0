/* `weft ctl`: a controller of MRC devices, written to mrc_ctl.h as any other would be.
 *
 * What a device has, and what a file wants of it, are the same struct ctl_state; applying a file is
 * the way from one to the other. mrc_ctl.h has no call that lists profiles, since a controller
 * knows which it made: their numbers come from the device's state file (control/store.h). */
#ifndef WEFT_TOOLS_CTL_CTL_H
#define WEFT_TOOLS_CTL_CTL_H

#include <mrc_ctl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "control/store.h"
#include "nic/nic.h"
#include "tools/text.h"

#define CTL_WHY_MAX 512u

/* A device that is open. */
struct ctl_device {
	struct nic_info info;
	char store[STORE_NAME_MAX];
	struct ibv_context *verbs;
	struct mrc_context *mrc;
	struct mrc_ctl_device_attr attr;
	struct mrc_device_attr mrc_attr;
};

/* The MRC devices that there are; *list is malloced. Their number, or -1 after saying why. */
int ctl_devices(const char *name, struct nic_info **list);

/* The MRC device of that name, or the only one there is with wanted NULL, into *info. A status,
 * after saying what is wrong. */
int ctl_choose(const char *name, const char *wanted, struct nic_info *info);

/* Opens the device of that name; NULL: the only one of MRC. Without needs_control a context is not
 * made, and no privilege is needed. A status, after saying what is wrong. */
int ctl_open(struct ctl_device *d, const char *name, const char *wanted, bool needs_control);
void ctl_close(struct ctl_device *d);

/* Adds what an errno value means here, and what to do about it. */
void ctl_explain(const struct ctl_device *d, int number, struct text *t);

/* Says on standard error that what failed, with errno, and what to do about it. Returns
 * STATUS_FILE. */
int ctl_error(const struct ctl_device *d, const char *name, const char *what);

/* Profiles. state is MRC_CTL_PROFILE_OFFLINE or .._ONLINE. */
struct ctl_format {
	uint64_t id;
	enum mrc_ctl_profile_state state;
	enum mrc_ctl_ev_fmt_mode mode;
	uint32_t n_fields;
	struct mrc_ctl_ev_fmt_field fields[PATH_FIELDS_MAX];
};

struct ctl_profile {
	uint64_t id;
	enum mrc_ctl_profile_state state;
	enum mrc_ctl_ev_mode mode;
	uint64_t format; /* unless mode is AUTO */
	enum mrc_ctl_ev_fmt_mode format_mode;
	uint32_t count; /* 0: as many as the device likes */
	uint32_t min_active;
	int events; /* enum mrc_ctl_ev_state */
	uint32_t n_fields;
	struct mrc_ctl_ev_field fields[PATH_FIELDS_MAX];
	/* Of a device the values and states of all; of a file the values of explicit ones. Port 0
	 * is a place without a value yet. */
	uint32_t n_values;
	struct mrc_ctl_ev_op_entry *values;
	/* The ones that are denied: of a device whenever it has values, of a file where it says so.
	 */
	bool has_denied;
	uint32_t n_denied;
	struct mrc_ctl_ev *denied;
};

struct ctl_cc {
	uint64_t id;
	enum mrc_ctl_profile_state state;
	bool is_nscc;
	struct mrc_ctl_cc_nscc_cfg nscc;
};

struct ctl_state {
	uint32_t said_ports, enabled_ports; /* bit n: port n; of a device all are said */
	uint32_t n_formats, n_profiles, n_ccs;
	struct ctl_format *formats;
	struct ctl_profile *profiles;
	struct ctl_cc *ccs;
};

/* Frees what is in it. */
void ctl_state_fini(struct ctl_state *s);

struct ctl_format *ctl_find_format(const struct ctl_state *s, uint64_t id);
struct ctl_profile *ctl_find_profile(const struct ctl_state *s, uint64_t id);
struct ctl_cc *ctl_find_cc(const struct ctl_state *s, uint64_t id);

/* The numbers of all profiles of the device, by enum control_kind. -1 and errno; else the lists are
 * malloced, and ctl_ids_fini frees them. */
struct ctl_ids {
	uint32_t n[CONTROL_KINDS];
	uint64_t *at[CONTROL_KINDS];
};
int ctl_ids_read(const struct ctl_device *d, struct ctl_ids *ids);
void ctl_ids_fini(struct ctl_ids *ids);

/* All of a device, by queries, in the order of numbers. 0, or -1 and errno; profiles that went
 * meanwhile are left out. */
int ctl_state_read(struct mrc_context *mrc, uint32_t ports, const struct ctl_ids *ids,
		   struct ctl_state *s);

/* The values of a profile and their states, into p->values; p->count is asked for. As above. */
int ctl_values_read(struct mrc_context *mrc, struct ctl_profile *p);

/* Writes who uses a profile: "2 queue pairs use it: trainer (process 71)". */
void ctl_users(const struct ctl_device *d, enum control_kind kind, uint64_t id, struct text *t);

/* Entropy values as text: 0xc0010002, or fc00:0:1:2::, or with a segment fc00:0:1:2::,fc00::3; and
 * behind a slash the port. Reading takes a port that is missing for 0. False: text is none. */
void ctl_value_text(struct text *t, enum mrc_ctl_ev_fmt_mode mode, const struct mrc_ctl_ev *ev);
bool ctl_value_read(const char *text, enum mrc_ctl_ev_fmt_mode mode, struct mrc_ctl_ev *ev);
/* What would be right, for messages. */
const char *ctl_value_like(enum mrc_ctl_ev_fmt_mode mode);
/* Bytes of a value of that mode. */
uint32_t ctl_value_bytes(enum mrc_ctl_ev_fmt_mode mode);

/* The words of files and tables; NULL behind the last. Values are 1 << their place. */
extern const char *const ctl_format_modes[];
extern const char *const ctl_modes[];
/* The word of one bit. */
const char *ctl_word(const char *const *words, int bit);
/* "good", "bad", "denied", "unknown"; "init", "offline", "online". */
const char *ctl_ev_state_word(enum mrc_ctl_ev_state state);
const char *ctl_profile_state_word(enum mrc_ctl_profile_state state);

/* Members of struct mrc_ctl_cc_nscc_cfg as a file has them. */
enum ctl_nscc_kind { CTL_NSCC_FLAG, CTL_NSCC_COUNT, CTL_NSCC_BYTES, CTL_NSCC_TIME, CTL_NSCC_RATIO };
struct ctl_nscc_key {
	const char *name;
	enum ctl_nscc_kind kind;
	size_t at;
	uint32_t max;
};
extern const struct ctl_nscc_key ctl_nscc_keys[]; /* name NULL ends it */
uint64_t ctl_nscc_get(const struct mrc_ctl_cc_nscc_cfg *n, const struct ctl_nscc_key *k);
void ctl_nscc_set(struct mrc_ctl_cc_nscc_cfg *n, const struct ctl_nscc_key *k, uint64_t value);

/* Reads a file; current supplies the modes of formats that the file does not have. 0, or a negative
 * errno with a sentence in why. */
struct ctl_source {
	const char *name;
	const char *text;
	size_t len;
};
int ctl_file_read(const struct ctl_source *source, const struct ctl_state *current,
		  struct ctl_state *s, char why[CTL_WHY_MAX]);

/* Writes the state as such a file. */
void ctl_file_print(const struct ctl_state *s, FILE *out);

/* What was done to a profile. */
enum ctl_deed { CTL_SAME, CTL_MADE, CTL_CHANGED, CTL_REMOVED };
struct ctl_report {
	enum { CTL_OF_PORT = CONTROL_KINDS } kinds; /* behind those of profiles */
	uint32_t n;
	struct ctl_done {
		uint32_t kind; /* enum control_kind, or CTL_OF_PORT */
		uint64_t id;
		enum ctl_deed deed;
	} * list;
	/* Of a failure: the step, and whose; and whether all is as it was. */
	bool is_untouched;
	char what[160];
	uint32_t kind;
	uint64_t id;
};

/* Makes the device what wanted says: what is the same stays, what differs is taken offline, built
 * anew and put online; with is_exact, what wanted does not have is removed. 0, or -1 and errno,
 * with the step in report->what: then all is as it was before, unless report says that even that
 * failed. */
int ctl_apply(struct mrc_context *mrc, const struct ctl_state *now, const struct ctl_state *wanted,
	      bool is_exact, struct ctl_report *report);
void ctl_report_fini(struct ctl_report *r);
const char *ctl_kind_word(uint32_t kind);

/* Denies values of a profile, or allows them again: all places that hold them. ev.port 0: by
 * whichever port. 0, or -1 and errno, *failed the first that there is not (ENOENT). */
struct ctl_denial {
	const struct ctl_profile *profile;
	const struct mrc_ctl_ev *evs;
	uint32_t n;
	bool is_denied;
};
int ctl_deny(struct mrc_context *mrc, const struct ctl_denial *denial, uint32_t *failed);
/* Makes those that want->denied lists the only ones that are denied; *changed is how many were not
 * so. 0, or -1 and errno: ENOENT, one of them is no value of the profile. */
int ctl_settle_denied(struct mrc_context *mrc, const struct ctl_profile *want, uint32_t *changed);
/* Denies what was->denied lists, as far as the profile, built anew, still has such values. 0, or -1
 * and errno. */
int ctl_keep_denied(struct mrc_context *mrc, const struct ctl_profile *was);

/* What is shown. */
void ctl_table(const struct ctl_state *s, bool has_values);
void ctl_json(const struct ctl_state *s);
void ctl_devices_table(const struct ctl_device *list, uint32_t n);
void ctl_devices_json(const struct ctl_device *list, uint32_t n);
void ctl_ports_table(const struct ctl_device *d, uint32_t enabled);
void ctl_ports_json(const struct ctl_device *d, uint32_t enabled);
void ctl_report_print(const struct ctl_report *r, bool has_json);

/* Prints events as they happen, until `count` of them, or `for_s` seconds, or a signal; 0: without
 * end. A status. */
struct ctl_watch {
	const char *name;
	uint32_t count, for_s;
	bool has_json;
};
int ctl_events(const struct ctl_device *d, const struct ctl_watch *w);

#endif
