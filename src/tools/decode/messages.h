/* The MRC messages of a capture: what their packets have in common, so that one which does not fit
 * the others is seen; and which were trimmed, for their NACKs. Packets may come in any order and
 * more than once.
 *
 * A bounded number of each is remembered, the latest ones; a packet of a forgotten message is a new
 * beginning. `weft decode` uses this through its rules. */
#ifndef WEFT_TOOLS_DECODE_MESSAGES_H
#define WEFT_TOOLS_DECODE_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/packet.h"

#define MESSAGES_KEPT 4096u
#define TRIMMED_KEPT  4096u

/* What tells messages apart: the ends, the queue pair and its message number. */
struct message_name {
	uint8_t src[16], dst[16];
	uint32_t dest_qp, msn;
};

struct message {
	bool is_used, has_first;
	struct message_name name;
	uint64_t va; /* of the packet psn */
	uint32_t psn, rkey, dmalen;
	uint32_t pmtu; /* 0: only its last packet was seen */
};

/* What tells a trimmed packet from others: a copy that was retransmitted may be longer or shorter,
 * by its timestamp. */
struct trimmed_name {
	uint8_t src[16], dst[16];
	uint32_t qp16, psn, rtx;
};

struct trimmed {
	struct trimmed_name name;
	uint32_t udp_length;
};

struct messages {
	struct message kept[MESSAGES_KEPT];
	struct trimmed trimmed[TRIMMED_KEPT];
	uint64_t data_dscps; /* bit n: data with DSCP n was seen */
};

/* How a packet stands to those before it. */
struct message_facts {
	bool is_rkey_other, is_dmalen_other, is_pmtu_other, is_va_off, is_tail_off;
	bool is_original_other; /* a NACK: its UDP length is not that of the packet trimmed */
	/* Its DSCP is one that data has: of an ACK, SACK or NACK; of a port status operation. */
	bool is_answer_in_data_class, is_status_in_data_class;
};

/* Tells of a packet of MRC, and remembers it. */
struct message_facts messages_note(struct messages *m, const struct wire_packet *pkt);

#endif
