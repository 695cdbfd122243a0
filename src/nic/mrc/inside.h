/* What the files of MRC in nic do for each other. */
#ifndef WEFT_NIC_MRC_INSIDE_H
#define WEFT_NIC_MRC_INSIDE_H

#include "control/member.h"
#include "nic/inside.h"
#include "nic/mrc/nic_mrc.h"
#include "nic/show.h"

/* The largest packet as NSCC counts it: BTH, METH, TSETH, RETH, ICRC, UDP and 40 (MRC 8.3.1). */
#define NIC_MRC_PACKET_BYTES (4096u + 96u)

/* ask.c: what became of a question; closes the address pairs that were asked last. */
void mrc_answered(struct shard *s, const struct mrc_endpoint_done *done);
void mrc_forget_ends(struct device *d);

/* A profile of entropy values as queue pairs here use it (MRC 9.4): of all that have it, or the
 * device's own, of those that name none. */
struct mrc_evs {
	struct path_profile profile;
	struct mrc_evs *next; /* of the profiles in use */
	struct mrc_naming *users;
	uint64_t id;
	uint8_t event_mask; /* enum control_event_mask, as it is now */
	/* Of each EV; of the device's own nothing but, maybe, segments. */
	uint16_t *values;                /* its place in the controller's list, ... */
	struct control_ev *evs;          /* ... and what stands there, denied or not */
	uint16_t *n_bad;                 /* the users that assume it bad */
	struct encap_segments *segments; /* NULL: none has any */
};

/* The profiles that a queue pair names. */
struct mrc_naming {
	struct nic_qp *qp;
	struct mrc_naming *next; /* of the same EVs */
	struct mrc_evs *evs;     /* NULL: the device's own */
	bool has_cc;
	uint64_t cc_id;
	struct cc_cfg cc;
	uint64_t bad[CONTROL_EVS / 64]; /* of each EV, as it was last told */
};

/* What controllers set, and who looks. */
struct mrc_control {
	char name[STORE_NAME_MAX];
	struct store *store; /* NULL: none can be had */
	struct nic_show show;
	struct mrc_evs *evs; /* of profiles in use */
	uint32_t n_evs;      /* entropy values made up for segments so far */
	nsec look_at;        /* when the state is read although nothing told of a change */
};

/* Who was asked last: their routes stay known. */
#define MRC_KEPT_ENDS 8u
struct mrc_kept_ends {
	uint8_t sgid[16], dgid[16];
	struct addr_pair addrs;
};

/* What a device of MRC has beside what every device has. */
struct mrc_device {
	struct mrc_evs *evs;         /* of queue pairs that name no profile */
	struct mrc_control *control; /* NULL: nobody can set anything */
	struct ask *asks;            /* those that wait for an answer, see ask.c, as are the next */
	uint32_t last_ask, last_alone;
	struct mrc_kept_ends kept[MRC_KEPT_ENDS];
	uint32_t n_kept;
};
static inline struct mrc_device *mrc_device_of(const struct device *d)
{
	return d->own;
}
/* NULL: it names no profile. */
static inline struct mrc_naming *mrc_naming_of(const struct nic_qp *qp)
{
	return qp->own;
}

/* profile.c: NSCC for queue pairs that name no profile, into what device_cc made. */
void mrc_configure_cc(const struct device *d, struct cc_cfg *cc);

/* pair.c: how many a queue pair may have, whichever profile it will name: seven bits each,
 * which nobody touches before. */
uint32_t mrc_most_evs(const struct device *d);
/* See transport.h. */
int mrc_path_open(struct nic_qp *qp, const struct nic_path *path, struct path_use use,
		  struct transport_path *to, struct addr_pair *addrs);
void mrc_path_close(struct nic_qp *qp, struct addr_pair *addrs);

/* evs.c: the device's own EVs. 0, or a negative errno and a sentence. */
int mrc_make_own_evs(struct device *d);
void mrc_free_own_evs(struct device *d);
/* The EVs of a queue pair. */
const struct mrc_evs *mrc_evs_of(const struct nic_qp *qp);
/* Those of a profile of c: shared with others if they are the same. NULL and errno, and a sentence.
 * Freed with the last of their users. */
struct mrc_evs *mrc_evs_get(struct device *d, struct control *c, const struct control_profile *p);
void mrc_evs_join(struct mrc_evs *evs, struct mrc_naming *user);
void mrc_evs_leave(struct device *d, struct mrc_naming *user);
/* Frees EVs that have no users. */
void mrc_evs_put(struct device *d, struct mrc_evs *evs);
/* Whether the EVs are still those of the profile, port and value. */
bool mrc_evs_are(const struct mrc_evs *evs, const struct control_profile *p);
/* All users of `old` have the EVs that the profile has now, and what they assume of those that are
 * the same. A queue pair for which that cannot be done keeps what it has. */
void mrc_evs_replace(struct device *d, struct control *c, const struct control_profile *p,
		     struct mrc_evs *old);
/* The shard's driver is given the segments of EVs to a peer; or forgets them, if no user of theirs
 * has that peer any more. 0, or a negative errno and a sentence. */
int mrc_evs_lay(struct shard *s, const struct mrc_evs *evs, uint32_t peer);
void mrc_evs_lift(struct shard *s, const struct mrc_evs *evs, uint32_t peer);

/* profile.c: the queue pair names no profile any more. */
void mrc_unname(struct nic_qp *qp);

/* control.c: see transport.h. */
void mrc_govern(struct device *d);
void mrc_ungovern(struct device *d);
void mrc_abandon(struct device *d);
int mrc_news_fd(const struct device *d);
void mrc_take_news(struct device *d);
/* Reads the state where it was not to be had, or nobody tells of changes; returns when to try
 * again.
 */
nsec mrc_look_late(struct device *d, nsec now);

/* bad.c: some EV of a queue pair came to be assumed bad, or no longer is. */
void mrc_follow_evs(struct nic_qp *qp);
/* The queue pair ends, or has other EVs: what it assumes no longer counts. */
void mrc_forget_bad(struct device *d, struct mrc_naming *user);

/* show.c: see transport.h, and show.h. */
void mrc_fill_pair(const struct nic_qp *qp, struct member_pair *pair);

/* The fields of generated entropy values. */
static inline struct path_format mrc_format(const struct config_evs *evs)
{
	return (struct path_format){evs->encoding, evs->fields, evs->n_fields};
}

#endif
