/* What the two files of a process on a device look like: one that everybody may read, and one for
 * its user alone. For member.c, which writes them, and members.c and dead.c, which read them; all
 * are of one machine, so integers are as the machine has them. The format is named by the first
 * eight bytes: change them with it.
 *
 * Everybody's has nothing that helps to forge a packet: no number of a queue pair, nor how many
 * packets one sent. What a controller of another user needs stands there, and the random part of
 * the other one's name, which nobody can take before its owner has.
 *
 * Sequences are odd while what they guard is being written. Of events there are two counts: begun,
 * of those that are or were written, and reported, of those that are whole. Event k is in place k
 * modulo MEMBER_EVENTS, until event k + MEMBER_EVENTS is begun. */
#ifndef WEFT_CONTROL_MEMBER_FILE_H
#define WEFT_CONTROL_MEMBER_FILE_H

#include <stdatomic.h>

#include "control/member.h"
#include "trace/ring.h"

#define MEMBER_MAGIC       UINT64_C(0x0132626d656d7477) /* "wtmemb2" and one */
#define MEMBER_SHOWN_MAGIC UINT64_C(0x0132776f68737477) /* "wtshow2" and one */
#define MEMBER_SHOWN_END   ".pairs"
#define MEMBER_TRIES       16u /* to read what is being written */

struct member_about {
	int32_t pid;
	char device[64];
	char command[16];
	uint8_t bell; /* written for those who watch the directory; its value is no matter */
};

struct member_counts {
	_Atomic uint64_t begun, reported;
};

/* One profile in use. The place is free when count is 0. */
struct member_used {
	uint64_t id;
	uint32_t kind, count;
	uint64_t bad[CONTROL_EVS / 64];
};

struct member_shown {
	struct member_device device;
	uint32_t n_pairs; /* that follow */
};

struct member_file {
	_Atomic uint64_t magic; /* written last: before, the rest means nothing */
	struct member_about about;
	struct member_counts events;
	_Atomic uint64_t uses_sequence;
	_Atomic uint64_t shown_in; /* which other file is its, NAME.PID.THIS.pairs; 0: none yet */
	struct member_used uses[MEMBER_USES];
	struct control_event ring[MEMBER_EVENTS];
};

/* The file of its user alone, made when there is something to show. */
struct member_shown_file {
	_Atomic uint64_t magic;
	_Atomic uint64_t sequence; /* 0: nothing was shown yet */
	struct member_shown shown;
	struct member_pair pairs[MEMBER_PAIRS];
	_Alignas(64) uint8_t
		trace[sizeof(struct trace_ring) + MEMBER_TRACE * sizeof(struct trace_event)];
};

struct members;

/* members.c: opens the private file of process i, which may have ended since it was looked for: its
 * descriptor, -EACCES or -ENODATA as members_read, or another negative errno. */
int members_open_shown(const struct members *m, uint32_t i);

_Static_assert(sizeof(_Atomic uint64_t) == 8 && ATOMIC_LLONG_LOCK_FREE == 2,
	       "other processes see the numbers as they are written");

#endif
