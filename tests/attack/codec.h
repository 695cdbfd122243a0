/* Packets of RoCEv2 and MRC as a stranger would write them: from the texts of IBTA and of MRC 1.0,
 * without a line of src/. A misreading that forger and engine shared would hide a hole, so nothing
 * of the project is included or linked here.
 *
 * A forged packet is the payload of a UDP datagram; the ICRC covers the headers that the kernel
 * will put in front of it, so the caller says which these are. Called by forge.c. */
#ifndef WEFT_TESTS_ATTACK_CODEC_H
#define WEFT_TESTS_ATTACK_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODEC_MOST 2048u /* bytes of a forged packet */

enum codec_kind {
	CODEC_RANDOM,
	CODEC_RC_WRITE,
	CODEC_RC_SEND,
	CODEC_RC_READ,
	CODEC_RC_ACK,
	CODEC_RC_NAK,
	CODEC_RC_RESPONSE,
	CODEC_RC_CNP,
	CODEC_MRC_WRITE,
	CODEC_MRC_ACK,
	CODEC_MRC_NAK,
	CODEC_MRC_SACK,
	CODEC_MRC_NACK,
	CODEC_MRC_PROBE,
	CODEC_MRC_EV_PROBE,
	CODEC_MRC_PORTS,
	CODEC_KINDS,
};

/* The headers in front of the datagram's payload, as the ICRC sees them. */
struct codec_ends {
	uint8_t from[16], to[16]; /* IPv4: the first four */
	uint16_t sport, dport;
	bool is_v6;
};

struct codec_packet {
	uint8_t bytes[CODEC_MOST];
	uint32_t len;
};

struct codec_random {
	uint64_t state;
};

/* What the caller knows or guesses. */
struct codec_guess {
	uint32_t qp, psn;
	uint32_t body; /* bytes of payload, where the kind has one */
};

const char *codec_name(enum codec_kind kind);
/* CODEC_KINDS: there is none. */
enum codec_kind codec_find(const char *name);

uint32_t codec_draw(struct codec_random *random);

/* Everything but the ICRC. */
void codec_write(struct codec_packet *p, enum codec_kind kind, const struct codec_guess *guess,
		 struct codec_random *random);
/* Appends it, right for the way; of a payload that is no base transport header, too. */
void codec_seal(struct codec_packet *p, const struct codec_ends *ends);

/* Whether the vectors of the texts come out; prints each that does not. */
bool codec_check(void);

#endif
