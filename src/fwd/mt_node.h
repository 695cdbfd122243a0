/* What a node of multicast trees does with a packet (draft 5, 6; RFC 9524): End.MT, End.Replicate
 * and the headend on the way down, aggregation on the way up.
 *
 * A world (simulator, weft switch) asks for every packet that fwd_switch_forward says is
 * multicast: mt_node_take, then mt_node_copy until it answers false, then mt_node_answer and
 * mt_node_cnp where the result says so. The packet itself is used up: the world counts it as
 * absorbed, or as dropped, and leaves its bytes as they are until the last copy is made. Routes to
 * FWD_MULTICAST are those to the Proxy, to the group's segment and to the node's own address.
 * Payload is not touched; the seal is changed by difference, so that what was damaged stays damaged
 * (T-13). Right it must be where more than a copy hangs on it: answers, requests that jump ahead of
 * all before, and those that a group refuses. No ICMPv6 is ever made (T-36). No clock, no memory of
 * its own. */
#ifndef WEFT_FWD_MT_NODE_H
#define WEFT_FWD_MT_NODE_H

#include "fwd/mt_group.h"
#include "fwd/switch.h"
#include "wire/endmt.h"

/* Why nothing, or nothing more, comes of a packet; the last few: why a copy was not made. The order
 * is about that of the checks. */
#define MT_DROPS(D)                                                                          \
	D(NONE, "none", "passed down, or counted as an answer")                              \
	D(TRIMMED, "trimmed", "a switch cut bytes off (T-31)")                               \
	D(MALFORMED, "malformed", "lengths or headers do not fit the packet")                \
	D(UPPER, "upper", "not RoCEv2 over IPv6 behind at most one segment routing header")  \
	D(SRH, "srh", "the segment routing header is malformed")                             \
	D(HOP_LIMIT, "hop-limit", "the hop limit ran out")                                   \
	D(GROUP, "group", "no group has this Designated QPN")                                \
	D(PROXY, "proxy", "not to the group's Proxy Address")                                \
	D(SID, "sid", "not to the group's segment")                                          \
	D(NO_SRH, "no-srh", "no segment routing header where one is needed (6.2 S14)")       \
	D(NO_SEGMENTS, "no-segments", "no segments are left (6.2 S14)")                      \
	D(PORT, "port", "came by another port than its sender's")                            \
	D(SOURCE, "source", "not from the source, or from no branch (T-12, T-26)")           \
	D(GUARD, "guard",                                                                    \
	  "the segment routing header is not the one its HMAC was made for (T-12)")          \
	D(TOO_LONG, "too-long", "longer than all of the tree can carry (T-30)")              \
	D(OPCODE, "opcode", "nothing that groups carry in this direction (T-24, T-29)")      \
	D(ECN, "ecn", "congestion was marked around a packet that cannot say so (RFC 6040)") \
	D(TLV, "tlv", "an End.MT TLV is malformed (T-01)")                                   \
	D(NO_TLV, "no-tlv", "no End.MT TLV is this edge's")                                  \
	D(SEAL, "seal", "the CRC is wrong where it must be right (T-26)")                    \
	D(STALE, "stale", "an answer behind what its branch has said (T-06, T-26)")          \
	D(BEYOND, "beyond", "an answer to what was not sent down (T-26)")                    \
	D(STRANGER, "stranger", "an answer of a branch that is not live")                    \
	D(INVALID, "invalid", "no such syndrome, or too many CNPs")                          \
	D(REFUSED, "refused", "what groups cannot do, or comes behind that (T-29)")          \
	D(ALONE, "alone", "no branch is left, or one failed (T-18, T-19)")                   \
	D(ADDRESS, "address",                                                                \
	  "a receiver's address that is the Proxy's, a node's own or reserved")              \
	D(RECEIVER, "receiver", "a receiver that the group does not allow (T-12)")           \
	D(NO_ROUTE, "no-route", "no route to the destination")

enum mt_drop {
#define MT_DROP_ENUM(id, name, text) MT_DROP_##id,
	MT_DROPS(MT_DROP_ENUM)
#undef MT_DROP_ENUM
		MT_DROP_COUNT,
};

/* A short name ("hop-limit") and a sentence for each; any other value gives NULL. */
const char *mt_drop_name(enum mt_drop drop);
const char *mt_drop_text(enum mt_drop drop);

/* Most bytes in front of what a copy shares with its original: Ethernet with two tags, an outer
 * header with the largest SRH; or IPv6, UDP, BTH and RETH, which are fewer. */
#define MT_FRONT_MAX  (14u + 8u + 40u + 2048u)
#define MT_ANSWER_MAX 94u /* a CNP: Ethernet, IPv6, UDP, BTH, 16 bytes, seal */

struct mt_node {
	const struct fwd_switch *fib; /* copies and answers leave by its routes; its DSCPs that say
				       * trimmed (fib->sids.trims) */
	uint8_t address[16];          /* its own: answers' SA, Edge Node Address of TLVs (T-08) */
	uint8_t tlv_type;             /* T-03: ENDMT_TLV_TYPE unless agreed otherwise */
	struct mt_group *groups;      /* sorted by qpn */
	uint32_t n_groups;
	uint64_t drops[MT_DROP_COUNT]; /* packets */
	uint64_t skips[MT_DROP_COUNT]; /* copies and answers that were not made */
};

/* What is wrong with a group of this node, as a sentence; NULL: nothing. To be asked at set-up,
 * after mt_group_index, and after each change of the branches. */
const char *mt_group_fault(const struct mt_node *n, const struct mt_group *g);

/* The same of the node and all its groups. */
const char *mt_node_fault(const struct mt_node *n);

struct mt_input {
	uint16_t in_port;
	const struct fwd_frame *frame; /* stored == len, unless is_known_good */
	const struct fwd_view *view;   /* of the frame: its outermost header */
	bool is_known_good; /* its seal is right, though its bytes may not be in memory: headers
			     * are, down to what roce_head_get reads */
};

/* Where a walk over the copies of one packet stands. Private to mt_node. */
struct mt_walk {
	const uint8_t *frame;
	uint32_t ip_at;         /* the outermost IP header, in the frame */
	uint32_t inner_at, end; /* the native packet, from its IP header to past its seal */
	bool is_wrapped;        /* the packet: in an outer header */
	bool has_reth;
	uint8_t ecn; /* of native copies */
	psn24 psn;
	uint32_t next;                    /* branch to look at, then entry of listed */
	struct endmt_receivers receivers; /* by TLVs: who gets copies */
	struct {
		uint32_t branch;
		enum mt_drop refused; /* why it gets none; MT_DROP_NONE */
	} listed[ENDMT_RECEIVERS_MAX];
};

struct mt_result {
	enum mt_drop drop;      /* why nothing (more) comes of it; MT_DROP_NONE */
	struct mt_group *group; /* NULL: of none */
	bool is_request;        /* went down: copies may follow */
	struct mt_out out;      /* what is to be sent up; also of a packet that was dropped */
	struct mt_walk walk;    /* set where is_request */
};

/* A copy is front[0 .. front_len), then bytes [from, from + len - front_len) of the frame: to the
 * end of its IP packet; Ethernet padding is not copied. */
struct mt_copy {
	uint32_t branch;
	uint16_t port; /* out */
	uint32_t front_len, from;
	uint32_t len;         /* of the whole copy */
	uint32_t seal_at;     /* of the copy: where the seal's tail begins; change it by: */
	uint32_t seal;        /* exclusive or, as seal_get says it; 0: as it is */
	bool has_checksum;    /* UDP's is not 0 and changes: mt_copy_finish needs all bytes */
	uint32_t checksum_at; /* of the copy */
};

/* Looks at a packet whole, then changes what the group knows by it. Counts a drop. */
void mt_node_take(struct mt_node *n, const struct mt_input *in, struct mt_result *r);

/* The next copy; false: no more. front has MT_FRONT_MAX bytes. A branch that has no route, and a
 * receiver that is not allowed, is counted in n->skips and passed over. */
bool mt_node_copy(struct mt_node *n, struct mt_result *r, struct mt_copy *copy, uint8_t *front);

/* Completes a copy that is in memory as a whole: its seal, and a UDP checksum that is not 0. */
void mt_copy_finish(const struct mt_copy *copy, uint8_t *frame);

/* Writes the answer of out->answer, or a CNP, into MT_ANSWER_MAX bytes: a whole frame, its seal
 * made fresh. Its length, or 0 and a skip when there is no route. */
uint32_t mt_node_answer(struct mt_node *n, const struct mt_group *g, const struct mt_answer *answer,
			uint8_t *frame, uint16_t *port);
uint32_t mt_node_cnp(struct mt_node *n, const struct mt_group *g, uint8_t *frame, uint16_t *port);

#endif
