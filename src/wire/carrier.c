#include "wire/carrier.h"

#include <assert.h>

#include "wire/mrc.h"
#include "wire/net.h"

#define OPCODE_IS(code)                                                        \
	{                                                                      \
		.at = 0, .mask = 0xff000000u, .value = (uint32_t)(code) << 24, \
	}
/* Behind a byte of flags. */
#define NUMBER_IS(qp)                                     \
	{                                                 \
		.at = 4, .mask = 0x00ffffffu, .value = qp \
	}

/* Endpoint operations are to queue pair 2, which is everybody's: a question to who answers, and an
 * answer to who asked, whose tag its id begins with (MRC 7.3; M-28). 0 and 1 are InfiniBand's
 * management, of which RoCE's are nobody's here. */
const struct carrier carrier_roce = {
	.name = "RoCEv2",
	.port = NET_ROCE_PORT,
	.protocol = CARRIER_UDP,
	.headers = CARRIER_ROCE,
	.head_least = bth_bytes,
	.head_most = bth_bytes + 28, /* an atomic request's (IBTA 9.2.4), or MRC data's */
	.pad_max = 3,
	.payload_max = 4096,
	.pieces_max = 2,
	.spare =
		0xe1, /* opcodes whose first three bits are 111 are a manufacturer's (IBTA 9.2.1) */
	.tag_bits = 8,
	.number = {.at = 4, .width = 24},
	/* A NACK may carry the length of the packet it answers (M-13). */
	.other_length = OPCODE_IS(MRC_OP_NACK),
	.rules = {{.match = {OPCODE_IS(MRC_OP_ENDPOINT_REQUEST), NUMBER_IS(MRC_ENDPOINT_QP)},
		   .n_match = 2,
		   .owner = CARRIER_ANYONE},
		  {.match = {OPCODE_IS(MRC_OP_ENDPOINT_RESPONSE), NUMBER_IS(MRC_ENDPOINT_QP)},
		   .n_match = 2,
		   .owner = CARRIER_NUMBER,
		   .bits = {.at = 8, .width = 16}},
		  {.match = {{.at = 4, .mask = 0x00fffffeu, .value = 0}},
		   .n_match = 1,
		   .owner = CARRIER_UNKNOWN},
		  {.match = {NUMBER_IS(MRC_ENDPOINT_QP)}, .n_match = 1, .owner = CARRIER_UNKNOWN},
		  {.owner = CARRIER_NUMBER, .bits = {.at = 4, .width = 24}}},
	.n_rules = 5,
	.seals = {{.seal = &seal_icrc}},
	.n_seals = 1,
	/* Opcode; flags; partition; destination; flags; packet number. */
	.fields = {{0, 1}, {1, 1}, {2, 2}, {5, 3}, {8, 1}, {9, 3}},
	.n_fields = 6,
};

void carriers_add(struct carriers *all, const struct carrier *c, uint16_t number)
{
	struct carrier_use use = {c, c->port, c->protocol};

	assert(all->n < CARRIERS_MAX);
	if (number && carrier_is_native(c))
		use.protocol = (uint8_t)number;
	else if (number)
		use.port = number;
	all->use[all->n++] = use;
}

const struct carrier_rule *carrier_rule_of(const struct carrier *c, const uint8_t *head)
{
	for (uint32_t i = 0; i < c->n_rules; i++) {
		const struct carrier_rule *rule = &c->rules[i];
		uint32_t k = 0;

		while (k < rule->n_match && carrier_matches(&rule->match[k], head))
			k++;
		if (k == rule->n_match)
			return rule;
	}
	return NULL;
}
