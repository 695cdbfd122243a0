/* A capture file, read one packet at a time: pcap and pcapng in either byte order, with
 * microseconds or nanoseconds. libpcap stays behind this interface. Only one packet is in memory.
 * `weft decode` calls this. */
#ifndef WEFT_TOOLS_DECODE_CAPTURE_H
#define WEFT_TOOLS_DECODE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/span.h"
#include "tools/text.h"
#include "wire/header.h"
#include "wire/net.h"

/* What every packet of a capture starts with. */
struct capture_link {
	uint16_t start; /* NET_LINK_ETHERNET or NET_LINK_IP; a cooked header says it itself */
	const struct wire_layout *(*cooked)(void); /* a Linux cooked header, or NULL */
};

/* One packet. bytes are lent until the next call. */
struct capture_packet {
	struct cspan bytes;
	uint32_t wire_len; /* as it was on the wire; more than bytes.len when cut by the capture */
	int64_t sec;       /* since 1970 */
	uint32_t nsec;     /* below 10^9 */
};

enum capture_step { CAPTURE_PACKET, CAPTURE_END, CAPTURE_BROKEN };

struct capture;

/* Opens path, "-" being standard input. NULL when that fails, and *why says why and what to do.
 * The caller owns the result, for capture_close. */
struct capture *capture_open(const char *path, struct text *why);
void capture_close(struct capture *c);

struct capture_link capture_link(const struct capture *c);

/* What the capture itself says of the packets in it, if weft wrote it: the port and the DSCPs of
 * trimmed ones; for the rest net_cfg_default. */
struct net_cfg capture_net(const struct capture *c);

/* capture_hints.c: reads that from the start of a file, and puts back every byte. False: it cannot
 * be put back. */
bool capture_peek(FILE *file, struct net_cfg *net);

/* Reads DSCPs with commas between them, a bit each, and changes the text. False, and *dscps as it
 * was: it is none. */
bool dscps_parse(char *text, uint64_t *dscps);

/* Reads one packet. On CAPTURE_BROKEN *why says what is wrong; nothing can be read after it. */
enum capture_step capture_next(struct capture *c, struct capture_packet *packet, struct text *why);

/* The size of a regular file, 0 for anything else; and how much of it was read. */
uint64_t capture_size(const struct capture *c);
uint64_t capture_position(const struct capture *c);

#endif
