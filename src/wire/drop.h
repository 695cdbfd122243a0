/* Why a packet is not accepted: one reason, the byte it was seen at, and the header being read.
 * Parsers return a fault instead of an error code; engines count faults by reason. */
#ifndef WEFT_WIRE_DROP_H
#define WEFT_WIRE_DROP_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/header.h"

/* The first group is traffic that is not ours; the rest is damage. Order is stable within a
 * release only: print names, not numbers. */
#define WIRE_DROPS(D)                                                                              \
	D(NONE, "accepted")                                                                        \
	D(NOT_IP, "the frame carries no IP packet")                                                \
	D(NOT_UDP, "the IP packet carries no UDP")                                                 \
	D(NOT_ROCE, "the UDP destination port is not the RoCE port")                               \
	D(OTHER_SERVICE, "an InfiniBand service other than RC")                                    \
	D(TRUNCATED, "the packet ends inside this header")                                         \
	D(VLAN_DEPTH, "more VLAN tags than are followed")                                          \
	D(IP_VERSION, "the IP version does not fit what announced it")                             \
	D(IP_LENGTH, "the IP length does not fit the bytes that are there")                        \
	D(IP_FRAGMENT, "the IP packet is a fragment")                                              \
	D(IP_DEPTH, "more IP headers than one encapsulation")                                      \
	D(IP4_HEADER, "the IPv4 header length is below 20 bytes")                                  \
	D(IP4_OPTIONS, "the IPv4 header carries options")                                          \
	D(IP4_CHECKSUM, "the IPv4 header checksum is wrong")                                       \
	D(IP6_EXTENSION, "an IPv6 extension header other than one segment routing header")         \
	D(SRH_TYPE, "the routing header is not a segment routing header")                          \
	D(SRH_LENGTH, "the routing header does not fit the packet, or its segments do not fit it") \
	D(SRH_LEFT, "segments left points past the segment list")                                  \
	D(SRH_TLV, "a TLV does not fit the routing header, or has a length it must not have")      \
	D(ENDMT_LENGTH, "an End.MT TLV of a length that no number of receivers has")               \
	D(ENDMT_COUNT, "an End.MT TLV says another number of receivers than its length")           \
	D(SRH_BARE, "a segment routing header without an encapsulated IP packet")                  \
	D(UDP_LENGTH, "the UDP length does not fit the IP length")                                 \
	D(BTH_VERSION, "the transport header version is not 0")                                    \
	D(NO_ICRC, "the packet ends before its ICRC")                                              \
	D(OPCODE, "the opcode is not assigned")                                                    \
	D(EXCESS, "bytes follow a packet that carries no payload")                                 \
	D(PAYLOAD_LENGTH, "payload and padding are not a multiple of 4 bytes")                     \
	D(PAD, "more padding than payload")                                                        \
	D(TRIMMED, "a trimmed packet of a kind that is never trimmed")                             \
	D(ICRC, "the invariant CRC is wrong")

enum wire_drop {
#define WIRE_DROP_ENUM(id, text) WIRE_DROP_##id,
	WIRE_DROPS(WIRE_DROP_ENUM)
#undef WIRE_DROP_ENUM
		WIRE_DROP_COUNT
};

struct wire_fault {
	enum wire_drop why;
	uint32_t at;                  /* byte of the frame */
	const struct wire_layout *in; /* the header being read; NULL when none was */
};

/* "TRUNCATED" and the sentence above; both for any value, also one out of range. */
const char *wire_drop_name(enum wire_drop why);
const char *wire_drop_text(enum wire_drop why);

/* True where the packet may be perfectly good and simply is none of ours. */
bool wire_drop_is_foreign(enum wire_drop why);

#endif
