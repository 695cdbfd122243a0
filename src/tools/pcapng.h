/* Writes a pcapng capture of Ethernet frames seen at named interfaces, with nanoseconds and with
 * the direction of each frame; libpcap cannot write names and directions. Blocks follow
 * draft-ietf-opsawg-pcapng, in little-endian order on every machine, so that the same frames are
 * the same file.
 *
 * Errors are kept until somebody asks: a disk that fills up shows in pcapng_error. */
#ifndef WEFT_TOOLS_PCAPNG_H
#define WEFT_TOOLS_PCAPNG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"
#include "base/span.h"
#include "wire/net.h"

struct pcapng;

/* A comment of the section says what `weft decode` would have to be told of the packets: this, and
 * words NAME=NUMBER. Others show it, or pass over it. */
#define PCAPNG_MARK    "weft: "
#define PCAPNG_PORT    "udp-port"
#define PCAPNG_TRIMMED "trimmed"
#define PCAPNG_LASTHOP "trimmed-lasthop"

/* Makes the file, or empties it, and begins its section with what net says of the packets. NULL
 * with errno set. */
struct pcapng *pcapng_create(const char *path, const struct net_cfg *net);

/* Adds an interface and returns its number: 0, 1, ... All are added before the first frame. */
uint32_t pcapng_interface(struct pcapng *f, const char *name, uint64_t speed_bps);

struct pcapng_frame {
	uint32_t interface;
	bool is_out;
	nsec at;
	struct cspan bytes;
};

void pcapng_write(struct pcapng *f, const struct pcapng_frame *frame);

/* 0, or the errno of the first write that failed. */
int pcapng_error(const struct pcapng *f);

/* Writes out the rest and frees f; 0 or the errno of the first failure. */
int pcapng_close(struct pcapng *f);

#endif
