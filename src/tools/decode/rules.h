/* What a well-formed packet may still get wrong: the rules of MRC, and of RoCEv2 where they are the
 * same, that one packet breaks by itself or beside those before it. Each has the id of its
 * requirement, or of the resolution in docs/wire-notes.md where the text leaves it open.
 *
 * Only `weft decode` asks: an engine drops or ignores what breaks these rules by its own lights,
 * and must not pay for them. */
#ifndef WEFT_TOOLS_DECODE_RULES_H
#define WEFT_TOOLS_DECODE_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/decode/messages.h"
#include "wire/packet.h"

#define RULES_MAX 128u

/* Rules of one id stand next to each other. */
struct packet_rule {
	const char *id, *text;   /* the text says what is wrong with a packet that breaks it */
	enum wire_family family; /* of the packets that it is about */
	uint16_t needs;          /* headers that they have, in the family's own bits */
	bool (*is_broken)(const struct wire_packet *pkt);
	bool (*is_odd)(const struct message_facts *f); /* instead, of rules about several packets */
};

/* The rules that one packet breaks, by their numbers. */
struct warnings {
	uint32_t n;
	uint8_t rule[RULES_MAX];
};

/* The rules of a run, and what they remember of a capture. All zero: every rule, before its first
 * packet. */
struct rules {
	bool is_ignored[RULES_MAX];
	struct messages messages;
};

/* How many rules there are, and rule i. */
uint32_t rules_count(void);
const struct packet_rule *rules_at(uint32_t i);

/* Makes r ignore the rules of that id; false where there is none. */
bool rules_ignore(struct rules *r, const char *id);

/* Forgets the packets so far: another capture begins. */
void rules_restart(struct rules *r);

/* Holds a packet without a fault against every rule. Headers that are not in its has are not
 * judged. */
void rules_check(struct rules *r, const struct wire_packet *pkt, struct warnings *w);

#endif
