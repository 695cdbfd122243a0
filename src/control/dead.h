/* Files that processes left behind when they were killed. For the files of this room.
 *
 * Who looks at a device removes those of that device. In a network namespace that is gone nobody
 * will look again: so each process that joins any device removes old ones of all of them. */
#ifndef WEFT_CONTROL_DEAD_H
#define WEFT_CONTROL_DEAD_H

#include <stdbool.h>

#define DEAD_STALE_S   60  /* a controller that is there has read its events by then */
#define DEAD_SWEEP_MAX 256 /* files removed at a time */

/* Whether the process whose file this is still lives. */
bool dead_is_alive(int fd);

/* Removes the file of a dead process, and its private one where it is of the same user; false: it
 * lives, that is not permitted, or was done. One that a process is just making is not locked yet
 * either: it will not lock it while this does, nor use it afterwards. */
bool dead_remove(int directory, int fd, const char *name);

/* Removes stale files of this user's dead processes, whichever device they were on. */
void dead_sweep(int directory);

#endif
