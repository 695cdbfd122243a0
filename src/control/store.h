/* Where a device's struct control is kept: a file that every process on the device reads and
 * controllers replace.
 *
 * The file is replaced as a whole, under a new name and then renamed, so that whoever reads has the
 * old state or the new one and never a part, and a controller that dies at any point leaves one of
 * the two. Controllers exclude each other by a lock that dies with its holder. Who may change the
 * state is who may write the file: it counts only if it belongs to root or to the reader's own
 * user.
 *
 * The files are in /dev/shm, or where WEFT_STATE_DIR says, for processes of different users must
 * find each other there. Their names begin with store_name: the network namespace and the
 * interfaces of the device, which unlike its name are the same for everyone. After a boot there are
 * none. */
#ifndef WEFT_CONTROL_STORE_H
#define WEFT_CONTROL_STORE_H

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

#include "control/control.h"

#define STORE_PREFIX   "weft." /* of all names */
#define STORE_NAME_MAX 224u

/* What the names of a device's files begin with. 0 or a negative errno. */
int store_name(char name[STORE_NAME_MAX], const char (*interfaces)[IF_NAMESIZE], uint32_t n);

/* The same for a device on those interfaces that no controller governs: kind is a word of its own,
 * which keeps it apart from one that is governed. */
int store_name_apart(char name[STORE_NAME_MAX], const char *kind,
		     const char (*interfaces)[IF_NAMESIZE], uint32_t n);

/* The directory of the files. */
const char *store_directory(void);

struct store;

/* Opens the place of that name, whether or not a state is there. NULL and errno. */
struct store *store_open(const char *name);
/* The same for one who wants no news: the kernel takes long to end a watch. */
struct store *store_open_quiet(const char *name);
void store_close(struct store *s);

/* The state as it is, for the caller to free; an empty one where there is none, or something that
 * does not count. NULL and errno: EBADMSG, a file that is damaged, EACCES. */
struct control *store_read(struct store *s);

/* To change it: begins by taking the lock and reading; the caller changes what it got, and commits
 * it, which raises the generation. store_end gives the lock back in any case, and frees nothing. 0
 * or a negative errno: -EAGAIN, another controller has held the lock for seconds, or of a commit
 * has taken it away, and the change is to be begun anew; -EACCES and others, the file cannot be
 * written. What strangers put in place of a file or of the lock is removed where that is permitted,
 * and -EPERM or -EACCES where not. */
int store_begin(struct store *s, struct control **c);
int store_commit(struct store *s, struct control *c);
void store_end(struct store *s);

/* A file descriptor that is readable when the state may have changed, or with members.h when a
 * process came, went or told something; -1: the system has none to give, and nobody is told.
 * store_has_news takes all that waits; the answer is what it may have been. */
enum store_news { STORE_CHANGED = 1, STORE_MEMBERS = 2 };
int store_fd(const struct store *s);
uint32_t store_has_news(struct store *s);

#endif
