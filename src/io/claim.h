/* A number of its own for each process that serves the same port: 0 .. DRIVER_TAGS - 1.
 *
 * A number is claimed by giving an abstract unix socket a name with the number in it (unix(7)). The
 * kernel gives a name to one socket at a time, takes it back when the last process that holds the
 * socket is gone, however it ended, and keeps the names of one network namespace apart from those
 * of another, as it does interfaces, addresses and ports. Anybody may bind a free name: what a
 * stranger's costs is the number. Drivers call this. */
#ifndef WEFT_IO_CLAIM_H
#define WEFT_IO_CLAIM_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The name of a number; all, which has the same value for all who must differ, stands before it.
 * Returns the length for bind or connect. */
socklen_t claim_name(const char *all, uint8_t tag, struct sockaddr_un *name);

/* Gives a unix socket the first name that is free: 0 and *tag; -EBUSY: all are taken, or the
 * negative errno of bind(2). The claim lasts as long as the socket. */
int claim_first(int fd, const char *all, uint8_t *tag);

#endif
