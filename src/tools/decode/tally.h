/* What a capture held: packets by verdict, by name, or by the reason why they have none. The
 * reasons add up to foreign and malformed packets, the names to all others but those that were cut
 * before their opcode. */
#ifndef WEFT_TOOLS_DECODE_TALLY_H
#define WEFT_TOOLS_DECODE_TALLY_H

#include <stdint.h>

#include "tools/decode/record.h"

/* More than the opcodes of all families together. */
#define TALLY_NAMES_MAX 1024u

struct tally {
	uint64_t packets;
	uint64_t by_verdict[VERDICT_COUNT];
	uint64_t by_fault[WIRE_DROP_COUNT];
	uint64_t warnings, by_rule[RULES_MAX]; /* of all packets; a rule by its number */
	struct {
		const char *name;
		uint64_t n;
	} by_name[TALLY_NAMES_MAX];
	uint32_t n_names;
};

/* Counts one packet; its name must live as long as the tally. */
void tally_add(struct tally *t, const struct record *r);

/* Adds up the next rules of one id that packets broke, from rule *i on, which is 0 at first: their
 * id, and *n how often; NULL when there are no more. */
const char *tally_rule(const struct tally *t, uint32_t *i, uint64_t *n);

#endif
