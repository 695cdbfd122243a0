/* A process on a device, as it shows itself to the others: a file of its own beside the device's
 * state, that it alone writes, with what it uses and what happened to its paths; and a second one,
 * which only its user and root may read, with its queue pairs and how they fare. Who knows the
 * number of a queue pair and how far it is can forge packets that end it: that is nobody else's.
 *
 * The file is locked for as long as the process lives, and goes with it; one whose owner was killed
 * is no longer locked, and whoever may remove it does. The process maps it and writes it like
 * memory, so that telling costs no call; only an event rings, by a write of one byte, which wakes
 * those who watch the directory (store.h). Readers are in members.h: they never map it, as its
 * owner might cut it short. One thread at a time calls this. */
#ifndef WEFT_CONTROL_MEMBER_H
#define WEFT_CONTROL_MEMBER_H

#include "base/nsec.h"
#include "control/control.h"

#define MEMBER_USES   128u  /* profiles in use at a time */
#define MEMBER_EVENTS 1024u /* of the ring: the last so many can still be read */
#define MEMBER_PAIRS  1024u /* queue pairs that show how they fare */
#define MEMBER_PORTS  8u
#define MEMBER_EVS    256u  /* of a queue pair that show their state */
#define MEMBER_TRACE  4096u /* slots of its trace */

struct member;

/* Joins the processes on the device of that store_name, under this name of the device. NULL and
 * errno: a device works without. */
struct member *member_join(const char *name, const char *device);
/* Leaves, and removes the file. */
void member_leave(struct member *m);
/* In a child of fork, in place of that: the file stays the parent's. */
void member_abandon(struct member *m);

/* A queue pair uses an EV or CC profile, or (by -1) no longer does. 0 or -ENOSPC. Seen by others
 * before it returns: who asks the store afterwards and finds the profile online is counted by every
 * controller that changes it later. */
int member_use(struct member *m, enum control_kind kind, uint64_t id, int by);

/* Whether some queue pair here assumes EV number ev of an EV profile in use bad. */
void member_set_bad(struct member *m, uint64_t id, uint32_t ev, bool is_bad);

/* Tells an event, and rings. */
void member_report(struct member *m, const struct control_event *event);

/* How a queue pair fares. */
struct member_pair {
	uint32_t number, remote; /* 0: an empty place */
	uint8_t state;           /* as IBTA numbers them: 0 RESET .. 3 RTS, 4 SQD, 6 ERR */
	uint8_t open_ports;      /* bit per port with a usable EV */
	uint16_t n_evs;          /* of its profile */
	uint8_t peer[16];        /* GID */
	uint64_t profile;        /* EV profile, or 0 */
	uint64_t sent_bytes;     /* acknowledged payload that it sent, ... */
	uint64_t got_bytes;      /* ... and payload placed */
	uint64_t sent_packets, retx_packets, timeouts;
	uint64_t window_bytes, inflight_bytes, srtt_ns;
	uint32_t evs[4];                  /* by state: good, skip, assumed bad, denied */
	uint8_t ev_state[MEMBER_EVS / 4]; /* the same of each EV, two bits */
};

/* And the device as this process has it. */
struct member_device {
	nsec at; /* CLOCK_MONOTONIC, of this and of all pairs */
	uint32_t n_ports, ports_up;
	uint32_t n_pairs; /* all there are, of which MEMBER_PAIRS show */
	char port[MEMBER_PORTS][16];
	char driver[8];
	uint64_t rx_packets, tx_packets, rx_dropped;
	uint64_t rx_missed; /* that the kernel dropped before, where it tells */
};

/* Shows both to this user and to root; pairs are written to their places 0 .. n - 1, the rest are
 * emptied. A reader gets each one whole, or asks again. */
void member_show(struct member *m, const struct member_device *device,
		 const struct member_pair *pairs, uint32_t n);

/* Memory of a trace of MEMBER_TRACE slots (trace/ring.h) that this user and root can read while it
 * grows, until the member leaves or is abandoned. NULL: there is none to be had. */
void *member_trace(struct member *m);

#endif
