/* The files of a device: what they are called, and which is which. For the files of this room. */
#ifndef WEFT_CONTROL_PLACE_H
#define WEFT_CONTROL_PLACE_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "control/store.h"

#define PLACE_FILE_MAX 256u /* of a name, with the zero behind it */

enum place_kind {
	PLACE_OTHER,  /* not one of this device */
	PLACE_STATE,  /* NAME.state */
	PLACE_LOCK,   /* NAME.lock */
	PLACE_NEW,    /* NAME.new.RANDOM: a state that is being written */
	PLACE_MEMBER, /* NAME.PID.RANDOM */
};

/* What a file is to the device of a store_name. */
enum place_kind place_sort(const char *name, const char *file);

/* Whether it is a PLACE_MEMBER of some device, whichever, or the private file of one. */
bool place_is_member(const char *file);

/* A random number that is not 0; false: there is none. */
bool place_draw(uint64_t *number);
/* Writes the name of a process's private file, by a number that it drew and the name of its other
 * file: they are alike but for the number and an end. 0 or -ENAMETOOLONG. */
int place_shown_file(char file[PLACE_FILE_MAX], const char *member, uint64_t number);

/* Writes the name of such a file; one with a random part gets a new one each time. 0 or a negative
 * errno. */
int place_file(char file[PLACE_FILE_MAX], const char *name, enum place_kind kind);

/* Opens store_directory, for names in it; -EINVAL: no store_name, or a negative errno. */
int place_open(const char *name);

/* The directory's names, from the first on, for closedir; NULL and errno. */
DIR *place_list(int directory);

/* Whether a file's owner is one whose word counts: root, or this process's own user. */
bool place_is_trusted(uid_t owner);

#endif
