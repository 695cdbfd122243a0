/* A number of its own for each process that serves the same port: 0 .. DRIVER_TAGS - 1, or fewer
 * where packets have room for fewer bits of it, drawn at random, as it is a part of queue pairs'
 * numbers.
 *
 * Who must differ: over kernel UDP processes of one user, as the kernel lets nobody else share an
 * address and port (SO_REUSEPORT, socket(7)); over raw frames all processes on an interface, of
 * whichever user may open packet sockets; over AF_XDP nobody, since one process has the interface.
 *
 * A number is claimed by giving an abstract unix socket a name with the number in it (unix(7)). The
 * kernel gives a name to one socket at a time, takes it back when the last process that holds the
 * socket is gone, however it ended, and keeps the names of one network namespace apart from those
 * of another, as it does interfaces, addresses and ports; processes find each other whatever file
 * systems they see. But anybody may bind a free name. So a name counts only if the kernel says that
 * its socket is of this user or of root (sock_diag(7), UNIX_DIAG_UID), and where strangers have all
 * plain names, a process takes one with a random end, which nobody could have taken before. Two who
 * take one number at once both see the other when they look afterwards, and draw again. What a
 * stranger's names cost is a look for those with an end, and no number. A kernel without that
 * answer (before Linux 5.3, or without unix_diag) leaves every name to who was first, and so does a
 * user namespace in which this user is one of those without a name (user_namespaces(7)).
 *
 * Two users with raw frames who are neither root may get the same number: each then sees and drops
 * the other's packets; their queue pairs differ by the rest of their numbers. Everybody sees the
 * names, and so the numbers: the other 16 bits of a queue pair are nobody's to see. Drivers call
 * this. */
#ifndef WEFT_IO_CLAIM_H
#define WEFT_IO_CLAIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "io/driver.h"

/* The name of a number; all, which has the same value for all who must differ, stands before it,
 * and an end behind it, unless that is 0. Returns the length for bind or connect. */
socklen_t claim_name(const char *all, uint8_t tag, uint64_t end, struct sockaddr_un *name);

struct claim_wish {
	const char *all;
	int type;         /* of the socket, SOCK_CLOEXEC and the like with it */
	bool is_in_order; /* the lowest number that is free, and not one at random */
	uint8_t bits;     /* of a number, 1 .. 8; 0: 8 */
};

/* Gives a new unix socket a name with a number that is free: its descriptor and *tag; -EBUSY: all
 * are taken, or a negative errno. The claim lasts as long as the socket. */
int claim_tag(const struct claim_wish *wish, uint8_t *tag);

/* What is claimed by this user and by root. */
struct claim_held {
	bool is_plain[DRIVER_TAGS];
	uint64_t ends[DRIVER_TAGS]; /* 0: none */
};

/* Asks the kernel; names whose end is mine are passed over, unless that is 0. 0 or a negative
 * errno: it does not say. */
int claim_look(const char *all, uint64_t mine, struct claim_held *held);

#endif
