/* One packet of a capture, decoded: what the printers print. Adds to wire_packet_get what only a
 * capture has: cooked link headers, and packets that the capture cut short. */
#ifndef WEFT_TOOLS_DECODE_RECORD_H
#define WEFT_TOOLS_DECODE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/decode/capture.h"
#include "tools/decode/rules.h"
#include "tools/text.h"
#include "wire/packet.h"

/* More than any IP packet with its link headers. */
#define RECORD_WHOLE_MAX (128u * 1024)

/* Cut: the capture has only the first bytes of the packet, and they are well formed. Warning: the
 * packet is whole and well formed, and breaks a rule; a cut one may have warnings too. */
enum verdict {
	VERDICT_OK,
	VERDICT_FOREIGN,
	VERDICT_MALFORMED,
	VERDICT_CUT,
	VERDICT_WARNING,
	VERDICT_COUNT
};

struct record {
	/* set by the caller */
	uint64_t number; /* from 1 */
	struct capture_packet cap;

	/* set by record_decode; bytes are counted from the first captured one */
	enum verdict verdict;
	struct wire_fault fault;
	uint32_t left;           /* TRUNCATED: bytes that were left for what did not fit */
	uint32_t end;            /* of the IP packet; 0 where its headers were not read up to UDP */
	struct wire_trail trail; /* headers that are there in full */
	struct wire_packet pkt;  /* of those alone; offsets in pkt.net exclude a cooked header */
	struct warnings warnings;
	const char *name; /* of the opcode, or NULL */
	bool has_payload;
	uint32_t payload_at, payload_len;
	struct cspan shown; /* the part of the payload that was captured */

	/* A cut packet with zeros for what is missing, so that its headers can still be read. */
	uint8_t whole[RECORD_WHOLE_MAX];
};

/* Where one header's bytes are. */
struct header_at {
	const struct wire_layout *layout;
	const uint8_t *bytes;
};

/* Decodes r->cap, and holds it against the rules. */
void record_decode(struct record *r, struct capture_link link, const struct net_cfg *cfg,
		   struct rules *rules);

/* The header of r->trail.layer[i]. */
struct header_at record_header(const struct record *r, uint32_t i);

/* Appends what is wrong, where, and by how much; only for a record with a fault. */
void record_explain(const struct record *r, struct text *out);

/* "ok", "foreign", "malformed", "cut", "warning" */
const char *verdict_name(enum verdict verdict);

#endif
