/* A frame as a switch sees it, and the few fields of it that a switch changes.
 *
 * Only the headers need be in memory: payload may be elsewhere, or nowhere (a simulator's virtual
 * zeros). Everything here is a pure function of bytes; switches of the simulator, the lab and the
 * tests call it. */
#ifndef WEFT_FWD_FRAME_H
#define WEFT_FWD_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* Why a switch does not forward a frame. The order is the order of the pipeline. */
#define FWD_DROPS(D)                                                                         \
	D(NONE, "forwarded")                                                                 \
	D(MALFORMED, "the headers do not fit the frame")                                     \
	D(NOT_IP, "not an IP packet")                                                        \
	D(CHECKSUM, "the IPv4 header checksum is wrong")                                     \
	D(HOP_LIMIT, "the hop limit ran out")                                                \
	D(NO_ROUTE, "no route to the destination")                                           \
	D(EV_RANGE, "the structured entropy value names no port of this switch")             \
	D(SID_END, "the segment list ended at a switch that does not decapsulate")           \
	D(SID_LEFT, "segments are left where a decapsulation is wanted")                     \
	D(SID_HEADER, "the segment routing header is malformed")                             \
	D(SID_UPPER, "what follows the segment routing is not IPv6 and cannot be unwrapped") \
	D(SID_ECN, "congestion was marked around a packet that cannot say so (RFC 6040)")

enum fwd_drop {
#define FWD_DROP_ENUM(id, text) FWD_DROP_##id,
	FWD_DROPS(FWD_DROP_ENUM)
#undef FWD_DROP_ENUM
		FWD_DROP_COUNT,
};

/* A short name ("hop-limit") and a sentence for each reason; any other value gives NULL. */
const char *fwd_drop_name(enum fwd_drop drop);
const char *fwd_drop_text(enum fwd_drop drop);

/* Invariant: stored <= len. Removing headers moves at forward. */
struct fwd_frame {
	uint8_t *at;     /* the Ethernet header */
	uint32_t stored; /* bytes in memory from at on: at least every header a switch looks at */
	uint32_t len;    /* bytes of the frame on the wire, without its FCS */
};

/* The outermost IP header, and the ports behind it. Pointers lie in the frame. */
struct fwd_view {
	uint8_t *ip;           /* the IP header */
	uint32_t ip_at;        /* its place in the frame: 14, or more behind VLAN tags */
	uint32_t ip_len;       /* the whole IP packet by its own length field; fits the frame */
	uint32_t flow_label;   /* 20 bits; 0 for IPv4 */
	uint16_t sport, dport; /* UDP or TCP directly behind the IP header, else 0; a switch has the
				* entropy of native IP in place of the first */
	uint8_t version;       /* 4 or 6 */
	uint8_t dscp, ecn, hop_limit;
	uint8_t protocol; /* IPv4 protocol, or IPv6 next header */
};

enum { FWD_ECN_NOT_ECT = 0, FWD_ECN_ECT1 = 1, FWD_ECN_ECT0 = 2, FWD_ECN_CE = 3 };
#define FWD_ECN_DROP 0xffu

/* The ECN bits of a packet whose outer header is taken off; FWD_ECN_DROP for one that must be
 * dropped (RFC 6040 4.2). Both are below 4. */
uint8_t fwd_ecn_inward(uint8_t inner, uint8_t outer);

/* Reads the outermost IP header; *view is set when the answer is FWD_DROP_NONE. VLAN tags (at most
 * two) are passed over. Bytes behind the IP packet (Ethernet padding) are allowed. The length field
 * may claim no more than the frame has. */
enum fwd_drop fwd_view_get(const struct fwd_frame *f, struct fwd_view *view);

/* Each of these changes the bytes and *view alike, and keeps the IPv4 checksum right by incremental
 * update (RFC 1624). */
void fwd_set_dscp(struct fwd_view *view, uint8_t dscp);
void fwd_set_ecn(struct fwd_view *view, uint8_t ecn);

/* Sets the IP length field so that the IP packet has ip_len bytes, header included. */
void fwd_set_ip_len(struct fwd_view *view, uint32_t ip_len);

/* Takes one off the hop limit; FWD_DROP_HOP_LIMIT, and unchanged, when it is 1 or 0: what arrives
 * with 1 would leave with 0 (RFC 8200 3, RFC 8986 4.1 S06). */
enum fwd_drop fwd_take_hop(struct fwd_view *view);

#endif
