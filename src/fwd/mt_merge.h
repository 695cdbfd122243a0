/* The answers of all receivers of a multicast group, made into those of one: what a node of the
 * tree keeps for each of its branches, and what it says to the node above it, or the source (draft
 * 5.3, 8; T-04 to T-06, T-15 to T-20, T-23, T-26, T-29, T-34).
 *
 * Invariants: an ACK that goes up acknowledges nothing that a live branch lacks, a NAK has its PSN
 * behind what every live branch has, and neither says more messages or credits than any live branch
 * did. One group at one node is one struct mt_merge. It has no clock, makes no packets and keeps
 * none: PSNs, syndromes and MSNs go in and out, as the source numbers them. Whoever replicates the
 * group's packets calls it, for each packet before its copies are made, and for each answer whose
 * CRC was right. Branches are numbers below cfg.n_branches; the caller knows who they are. */
#ifndef WEFT_FWD_MT_MERGE_H
#define WEFT_FWD_MT_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/serial.h"

#define MT_NO_BRANCH UINT32_MAX
#define MT_ASKED     64u /* PSNs that asked for an answer and wait for it: T-34 */

struct mt_merge_cfg {
	uint32_t n_branches;
	/* The group's first PSN, where the controller knows it (T-05); nothing of the group has
	 * passed yet. */
	bool has_start;
	psn24 start;
	bool is_first;   /* the node next to the source: it refuses what groups cannot do (T-29) */
	bool as_printed; /* a NAK goes up at once with the least ePSN of all (T-17); else it waits
			  * until its branch holds the minimum */
	bool ejects;     /* a silent branch, or one that failed, is given up (T-18, T-19) */
	/* K of T-19; 0: 4. A node above others needs more than they: a branch of theirs that is
	 * silent makes them so, until they have given it up. */
	uint8_t silent_after;
	uint16_t cnps_most; /* CNPs of a branch that count in one window; 0: 255 */
};

/* An ACK or NAK: with the PSN that it acknowledges, or that it expects. */
struct mt_answer {
	psn24 psn;
	uint8_t syndrome; /* of the AETH */
	psn24 msn;
};

/* What an input leads to. Each function below sets all of it. */
struct mt_out {
	bool has_answer; /* send answer up */
	struct mt_answer answer;
	bool has_cnp;      /* send a CNP up */
	bool opens_window; /* call mt_merge_window in a time T from now */
};

enum mt_state {
	MT_FREE,    /* not a member */
	MT_WAITING, /* joined late: live from the next message on (T-19) */
	MT_LIVE,
	MT_EJECTED, /* was given up; remembered until it leaves */
};

/* One branch, as its owner may look at it. */
struct mt_branch_state {
	uint8_t state;     /* enum mt_state */
	uint8_t events;    /* bit per enum mt_event that was not fetched yet */
	uint8_t passes;    /* times that the PSN it lacks passed down since it last answered */
	bool is_silent;    /* was reported as such, and has not answered since */
	bool is_known;     /* acked and msn are */
	bool is_unbounded; /* its receiver does not count receives; then limit says nothing */
	bool has_nak;      /* waits to go up; its PSN is acked + 1: all below is acknowledged */
	uint8_t nak;       /* syndrome */
	bool has_first;    /* joined late: first is its first PSN, below which it gets nothing */
	psn24 first;
	psn24 acked, msn;   /* of the answer that set them (T-04) */
	psn24 limit;        /* messages it has receives for: the modular maximum of MSN + count */
	uint32_t cnps;      /* CCount of the window at hand */
	uint32_t cnps_last; /* of the last one */
	uint64_t cnps_all;
};

enum mt_event {
	MT_EVENT_LIVE,     /* a late branch gets copies from now on, `first` says from where */
	MT_EVENT_LEFT,     /* no copy is made for it any more and nothing waits for it */
	MT_EVENT_SILENT,   /* K times the PSN that it lacks passed down, and it said nothing */
	MT_EVENT_ANSWERED, /* a silent one did after all */
	MT_EVENT_EJECTED,  /* it was given up: what it lacks may be acknowledged */
	MT_EVENT_FAILED,   /* its fatal NAK went up: the group fails by it */
	MT_EVENTS,
};

/* What became of an answer or CNP. */
enum mt_fate {
	MT_TAKEN,
	MT_REPEATED, /* its PSN was known: only credits are renewed */
	MT_STALE,    /* behind what the branch has said (T-06, T-26) */
	MT_BEYOND,   /* of what was not sent down (T-26) */
	MT_STRANGER, /* of a branch that is not live */
	MT_INVALID,  /* no such syndrome; a CNP beyond cnps_most */
	MT_FATES,
};

/* A request going down. */
struct mt_data {
	psn24 psn;
	bool begins, ends; /* the first packet of a message, the last */
	bool asks;         /* the AckReq bit */
	bool is_refused;   /* READ, ATOMIC, SEND with invalidate: groups do not do it */
};

/* Why a request does not pass. */
enum mt_pass {
	MT_PASS,
	MT_REFUSED, /* it is what groups cannot do, or comes behind that (T-29) */
	MT_ALONE,   /* no branch is left, or one failed: the group is over (T-18, T-19) */
};

struct mt_counts {
	uint64_t fates[MT_FATES];
	uint64_t passed, refused, alone; /* requests */
	uint64_t acks_up, naks_up, cnps_up;
};

/* The minimum over the live branches. It is what it says while there are any and all are known.
 * The counts say when it may have changed: once the last branch that held it has moved. */
struct mt_least {
	psn24 acked, msn;   /* the least MSN of those that acknowledged no more than this */
	uint32_t n_holders; /* branches that hold both */
	psn24 limit;        /* of those that count receives */
	uint32_t n_limit;   /* branches that hold it; 0: none counts */
};

struct mt_merge {
	struct mt_merge_cfg cfg;
	struct mt_branch_state *branches;
	uint32_t n_live, n_waiting;
	uint32_t n_unknown; /* live ones: nothing goes up while there are any */
	uint32_t n_events;  /* branches with events to fetch */
	struct mt_least least;
	bool is_over;          /* failed, or the last live branch went: for good */
	uint8_t over_syndrome; /* of the NAK that answers requests from then on */
	bool has_highest;      /* something has passed down: */
	psn24 origin;          /* first of all; what unknown branches lack */
	psn24 highest;         /* the highest PSN that did */
	bool has_lead;
	psn24 lead;           /* no branch has acknowledged more than this */
	psn24 next;           /* with a start: first PSN that has not passed in order */
	uint32_t messages;    /* that ended before next: the MSN of who has all of it */
	bool has_sent;        /* something went up */
	psn24 sent, sent_msn; /* the AckPSN that went up last: of a NAK, the PSN before */
	bool has_sent_limit, sent_unbounded;
	psn24 sent_limit;  /* MSN + credits that went up last */
	bool has_sent_nak; /* of the PSN after the minimum, since that PSN last passed (T-23) */
	bool is_refusing;  /* T-29 */
	psn24 refused;
	bool in_repeats; /* the last packet down was one that all have: */
	psn24 repeated;
	bool is_window_open;
	uint32_t congested;    /* branch that the CNP of the last window was for */
	psn24 asked[MT_ASKED]; /* ascending, from asked_head on */
	uint32_t asked_head, n_asked;
	bool asked_overflowed; /* some below the last are missing */
	struct mt_counts counts;
};

/* Starts a group without members in branches[cfg->n_branches], which it keeps. Without a start (a
 * node that was restarted, say) all must join before the first request passes: T-05. */
void mt_merge_init(struct mt_merge *m, const struct mt_merge_cfg *cfg,
		   struct mt_branch_state *branches);

/* A free branch becomes a member: live at once while nothing has passed down, else waiting. 0;
 * -EINVAL for no such branch, -EBUSY for one that is not free, -ESHUTDOWN when the group is over,
 * -EOPNOTSUPP for a late one when there is no start to count messages from (T-19). */
int mt_merge_join(struct mt_merge *m, uint32_t branch);

/* A member leaves, or an ejected one is forgotten; what only it had not acknowledged may go up.
 * 0; -EINVAL, -ENOENT. */
int mt_merge_leave(struct mt_merge *m, uint32_t branch, struct mt_out *out);

/* Gives up a live or waiting branch by hand, whatever cfg.ejects says. 0; -EINVAL, -ENOENT. */
int mt_merge_eject(struct mt_merge *m, uint32_t branch, struct mt_out *out);

/* A request comes from above. Only what passes is replicated, to each branch that takes it. */
enum mt_pass mt_merge_down(struct mt_merge *m, const struct mt_data *data, struct mt_out *out);

/* Whether a branch gets a copy of what has just passed with that PSN. */
bool mt_merge_takes(const struct mt_merge *m, uint32_t branch, psn24 psn);

/* A branch answers. */
enum mt_fate mt_merge_answer(struct mt_merge *m, uint32_t branch, const struct mt_answer *answer,
			     struct mt_out *out);
enum mt_fate mt_merge_cnp(struct mt_merge *m, uint32_t branch, struct mt_out *out);

/* A window of CNPs ends (T-10): the branch with the most of them, the lowest of several, is what
 * the CNP is for, and all counters begin anew. */
void mt_merge_window(struct mt_merge *m, struct mt_out *out);

/* Which branch the CNP of the last window was for; MT_NO_BRANCH: none, or it has left. */
uint32_t mt_merge_most_congested(const struct mt_merge *m);

/* The branch that holds the minimum, the lowest of several, and how many PSNs below the highest it
 * is; an unknown one holds it before all others, and is 0 below. MT_NO_BRANCH: none is live. */
uint32_t mt_merge_holder(const struct mt_merge *m, uint32_t *behind);

/* Fetches an event, branch by branch; false: there is none. */
bool mt_merge_event(struct mt_merge *m, uint32_t *branch, enum mt_event *event);

#endif
