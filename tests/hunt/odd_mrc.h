/* Odd peers: hosts that do what MRC allows, or what other implementations do, and weft does not. A
 * thin layer between their engines and the fabric changes what leaves and what comes, behind the
 * oracle's back as far as the odd host is concerned: its engine is held against what it did itself,
 * its peers against what they were told. */
#ifndef WEFT_TESTS_HUNT_ODD_MRC_H
#define WEFT_TESTS_HUNT_ODD_MRC_H

#include "oracle.h"

/* clang-format off */
/* Of a host: bits by the order here. Each is also counted when it happened. */
#define ODD_MRC(M) \
	M(NO_EV,     "odd: EV probes unanswered")       /* endpoint requests are a MAY (7.4.7) */ \
	M(NO_COMMON, "odd: port updates unanswered")    /* likewise */ \
	M(COUNTS,    "odd: duplicates counted")         /* in rcvd_bytes (M-62) */ \
	M(FROM_0,    "odd: ports counted from 0")       /* in Port Status Updates (M-29) */ \
	M(NAK_CACK,  "odd: NAKs of cack_psn")           /* M-40, M-52 */ \
	M(NAK_ALONE, "odd: NAKs in place of ACKs")      /* AETH.MSN alone tells (M-52) */ \
	M(NO_OOO,    "odd: ooo_count left out") \
	M(NO_RCVD,   "odd: rcvd_bytes left out") \
	M(CC_TYPE,   "odd: another cc_type")            /* so no timestamp comes back either */ \
	M(NO_LABEL,  "odd: flow labels left out")       /* of entropy, as IPv4 has none (M-03) */ \
	M(OLD_NACK,  "odd: NACKs twice")                /* the second one late (M-58) */ \
	M(CUT_SHORT, "odd: trimmed before TSETH")       /* on the way to it (M-49) */ \
	M(UNCUT,     "odd: trimmed and whole")          /* likewise (M-48) */
/* clang-format on */

enum odd_mrc {
#define ODD_MRC_ENUM(id, name) ODD_##id,
	ODD_MRC(ODD_MRC_ENUM)
#undef ODD_MRC_ENUM
		ODD_COUNT,
};

/* Which of its hosts are odd in which way; from a stream of its own, so that nothing else of the
 * plan is another for it. */
void odd_mrc_draw(struct hunt_plan *s);
void odd_mrc_print(const struct hunt_plan *s, uint32_t host);

/* Before a run. */
void odd_mrc_begin(struct hunt_oracle *o);

/* Behind struct hunt_transport. */
bool odd_mrc_output(struct hunt_oracle *o, uint32_t host, struct tx_pkt *tx);
bool odd_mrc_input(struct hunt_oracle *o, uint32_t host, struct rx_pkt *rx);
bool odd_mrc_late(struct hunt_oracle *o, uint32_t host, struct rx_pkt *rx);

/* A host that is odd in this way. */
bool odd_mrc_is(const struct hunt_oracle *o, uint32_t host, enum odd_mrc what);

/* A duplicate came to an end. */
void odd_mrc_duplicate(struct hunt_oracle *o, uint32_t end, uint32_t bytes);

#endif
