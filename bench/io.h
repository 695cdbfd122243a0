/* What bench-io compares with a driver: frames of one size through the same interface and the same
 * kind of queue, with nothing in them: no headers of ours, no payload copied, no CRC.
 *
 * Both ends are in this process: a sends, b receives. Each kind of queue is a struct io_bare. */
#ifndef WEFT_BENCH_IO_H
#define WEFT_BENCH_IO_H

#include <stdint.h>

#include "io/driver.h"

#define IO_BURST 32u
#define IO_TYPE  0x88b5u /* of an Ethernet frame that is an experiment (IEEE 802) */

/* An end of the cable, which is of the namespace that this thread is in. */
struct io_end {
	const char *interface;
	uint8_t mac[6], peer[6];
	uint32_t bytes; /* of each frame, with its Ethernet header */
};

struct io_bare {
	/* NULL, and then a sentence on standard error. */
	void *(*open)(const struct io_end *end);
	void (*close)(void *end);
	/* At most IO_BURST frames; how many there was room for. */
	uint32_t (*send)(void *end, uint32_t n);
	/* How many frames arrived; they are done with. */
	uint32_t (*receive)(void *end);
};

extern const struct io_bare io_bare_raw, io_bare_xdp;

#endif
