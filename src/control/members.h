/* All processes on a device: what they use and what they tell, for everybody; how they fare, of
 * the caller's own user, and for root of all.
 *
 * For controllers and for tools that look. Files of other users are read with care: whatever stands
 * in them is checked, and nothing of them is mapped. */
#ifndef WEFT_CONTROL_MEMBERS_H
#define WEFT_CONTROL_MEMBERS_H

#include <sys/types.h>

#include "control/member.h"

struct members;

/* Looks at the device of that store_name; events count from now on. NULL and errno. */
struct members *members_open(const char *name);
void members_close(struct members *m);

/* Looks who is there now: opens the files of new ones, forgets those that ended once their events
 * are read, and removes their files where that is permitted. Of users who are neither root nor the
 * caller's own only so many are watched: 512 of each and 896 in all, and none where descriptors are
 * short; of those others none is missed. 0 or a negative errno: -ENOSPC, more than 1024 of them;
 * -EMFILE, more than this process may open, and others. */
int members_look(struct members *m);

/* How many queue pairs of all processes use a profile, and whether one of them assumes value number
 * EV of it bad. As of the last look for who is there, of now for what they use. */
uint32_t members_using(struct members *m, enum control_kind kind, uint64_t id);
bool members_find_bad(struct members *m, uint64_t id, uint32_t ev);

/* Takes at most n events, of each process in the order it told them; how many. n_lost of each is
 * exact: what a process told while nobody read it. */
uint32_t members_take(struct members *m, struct control_event *events, uint32_t n);

/* The processes, for reports: 0 .. members_n - 1. */
struct member_who {
	uint64_t id; /* of all that were ever found by this struct members, this one alone */
	pid_t pid;   /* as it says: of another namespace, or a lie, it may be another's as well */
	uid_t uid;
	char device[64];
	char command[16];
};
uint32_t members_n(const struct members *m);
const struct member_who *members_who(const struct members *m, uint32_t i);
/* How many queue pairs of process i use a profile, as members_using. */
uint32_t members_using_of(struct members *m, uint32_t i, enum control_kind kind, uint64_t id);

/* How process i fares: *n pairs, at most room, into pairs. 0; -EACCES: it is of another user, whose
 * queue pairs are not shown to this one; -EAGAIN: it was writing all the time; -ENODATA: it has
 * shown nothing yet, or is gone; or another negative errno. */
int members_read(struct members *m, uint32_t i, struct member_device *device,
		 struct member_pair *pairs, uint32_t room, uint32_t *n);

#endif
