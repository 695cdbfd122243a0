/* What the files of the raw driver share: raw.c is the driver, raw_ring.c one port's socket with
 * its rings, raw_filter.c the program that chooses packets. Nobody else includes this. */
#ifndef WEFT_IO_RAW_INSIDE_H
#define WEFT_IO_RAW_INSIDE_H

#include "io/filter.h"
#include "io/raw.h"

struct raw_sizes {
	uint32_t rx_slots, tx_slots;
};

/* A port's socket and its rings. Slots are numbered from 0 in each ring; of the kernel's those are
 * whose status says so. */
struct raw_ring {
	int fd; /* -1: not open */
	uint8_t *map, *rx, *tx;
	struct raw_sizes n;
	bool is_double;              /* slots are for frames longer than RoCE's */
	uint32_t rx_next, rx_n_lent; /* to look at next; how many before it are lent */
	uint32_t tx_next;            /* to write next */
	uint32_t tx_first;           /* the first that was written and the kernel did not take */
	uint32_t tx_waiting;         /* from there to tx_next */
	uint32_t ifindex;            /* that the socket is bound to; 0: none */
	bool is_awaited; /* memory for what waits: the epoll set tells when it is there */
};

/* What raw_ring_push did with the frames that waited. */
struct raw_pushed {
	uint32_t calls, sent, failed, down;
};

/* Opens the socket with its filter and rings; it receives nothing before raw_ring_bind. 0 or a
 * negative errno, and then nothing is open. */
int raw_ring_open(struct raw_ring *g, const struct raw_sizes *n, const struct carrier_use *via,
		  uint8_t tag);
void raw_ring_close(struct raw_ring *g);

/* Binds to an interface, or to another than before; slots keep what is in them. 0 or a negative
 * errno. */
int raw_ring_bind(struct raw_ring *g, uint32_t ifindex);

/* The socket had an error, which an interface that went down or away causes: takes note of it, so
 * that it does not show again, and of whether the socket is still bound. */
void raw_ring_look(struct raw_ring *g);

/* Packets that found the ring full since the last call. */
uint32_t raw_ring_missed(const struct raw_ring *g);

/* A frame that arrived, or as much of it as a slot holds, lent until raw_ring_return; at NULL:
 * there is none. */
struct cspan raw_ring_take(struct raw_ring *g);

/* Gives back to the kernel all that was lent. */
void raw_ring_return(struct raw_ring *g);

/* The bytes for a frame in the slot that is next; at NULL: none is free. */
struct span raw_ring_slot(const struct raw_ring *g);

/* That slot has a frame of so many bytes, which waits for raw_ring_push. */
void raw_ring_commit(struct raw_ring *g, uint32_t bytes);

/* Has the kernel send what waits. What it cannot send is given up, but for what it has no memory
 * for now: that waits on. */
struct raw_pushed raw_ring_push(struct raw_ring *g);

/* Free slots, at most most, and perhaps somewhat fewer than there are. */
uint32_t raw_ring_room(const struct raw_ring *g, uint32_t most);

/* raw_filter.c: the kernel gives to the socket only what raw.h says: the program, and to have it do
 * so; 0 or a negative errno. */
void raw_filter_make(struct filter *f, const struct carrier_use *via, uint8_t tag);
int raw_filter_attach(int fd, const struct carrier_use *via, uint8_t tag);

#endif
