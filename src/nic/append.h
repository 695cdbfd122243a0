/* Files that the environment names, to which a program's devices append lines. */
#ifndef WEFT_NIC_APPEND_H
#define WEFT_NIC_APPEND_H

#include <sys/types.h>

/* Opens the file to append to, or makes it with this mode; -1 and errno: ENOTSUP, it is no regular
 * file. A name in a folder that others may write to could be a link of theirs to a file of ours, or
 * a pipe that nobody reads: only a regular file is written. What is for its owner alone (a mode of
 * 0600) is not written into a file that another user made there before: EPERM. May be called in a
 * handler of a signal. */
int append_open(const char *path, mode_t mode);

/* The same, or nic_fail with a sentence that names the variable. */
int append_open_for(const char *variable, const char *path, mode_t mode);

#endif
