/* A whole packet: from the first byte of a frame to the end of its seal. Returns a fully validated
 * view, or why the packet is dropped and at which byte. Drivers, switches and `weft decode` call
 * this. */
#ifndef WEFT_WIRE_PACKET_H
#define WEFT_WIRE_PACKET_H

#include "base/span.h"
#include "wire/drop.h"
#include "wire/mrc.h"
#include "wire/net.h"
#include "wire/roce.h"
#include "wire/trail.h"

enum wire_family { WIRE_NO_FAMILY, WIRE_ROCE, WIRE_MRC };

struct wire_packet {
	struct net_pkt net;
	enum wire_family family; /* which of the two is set */
	union {
		struct roce_pkt roce;
		struct mrc_pkt mrc;
	};
	const struct seal *seal; /* NULL: the packet ended before it was known */
	uint32_t seal_at;        /* its tail: a byte of the frame; 0: a switch cut it off */
	bool has_crc;            /* there is a tail, and it is a CRC */
	uint32_t crc, crc_right; /* as carried, and as it should be */
};

/* Decodes one frame. On WIRE_DROP_NONE *pkt is whole and its CRC right; on WIRE_DROP_ICRC, of
 * whatever CRC its seal is, it is whole otherwise; on any other reason only what came before the
 * fault is set. Spans in *pkt lie in frame. trail may be NULL; else it names every header that was
 * read. */
struct wire_fault wire_packet_get(struct cspan frame, uint16_t link, const struct net_cfg *cfg,
				  struct wire_packet *pkt, struct wire_trail *trail);

/* The payload without its padding; at is NULL where the packet's type has none, or it was cut. */
struct cspan wire_packet_payload(const struct wire_packet *pkt);

/* The name of the packet's opcode, or NULL before one was recognized. */
const char *wire_packet_name(const struct wire_packet *pkt);

#endif
