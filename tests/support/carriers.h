/* Carriers and seals as transports to come will have them, and one of nobody's: to show that tables
 * of data say all that must be said. Numbers of UET and Falcon are those of their specifications.
 */
#ifndef WEFT_TESTS_SUPPORT_CARRIERS_H
#define WEFT_TESTS_SUPPORT_CARRIERS_H

#include "wire/carrier.h"

enum {
	CARRIERS_UET_PORT = 4793,
	CARRIERS_UET_PROTOCOL = 253,
	CARRIERS_PSP_PORT = 1000,
	CARRIERS_TOY_PORT = 5555,
};

/* Prologues by their five bits of type (UE Table 3-32): TSS 1, CP 11; requests are 2, 3, 13, 14. */
#define CARRIERS_UET_TYPE(type)                                      \
	{                                                            \
		.mask = 0xf8000000u, .value = (uint32_t)(type) << 27 \
	}
#define CARRIERS_UET_TSS(ssi)                                                  \
	{                                                                      \
		.mask = 0xfc000000u, .value = 1u << 27 | (uint32_t)(ssi) << 26 \
	}
/* A SYN names no context yet, but whom it is to: PIDonFEP, behind PDS and in SES. Under TSS only
 * the identifier of the security domain is in clear; other packets are to a context by number. */
#define CARRIERS_UET_RULES                                                                    \
	.rules = {{.match = {CARRIERS_UET_TYPE(1)},                                           \
		   .n_match = 1,                                                              \
		   .owner = CARRIER_NUMBER,                                                   \
		   .bits = {.at = 0, .width = 24}},                                           \
		  {.match = {CARRIERS_UET_TYPE(2), {.mask = 0x00040000u, .value = 0x40000u}}, \
		   .n_match = 2,                                                              \
		   .owner = CARRIER_NAME,                                                     \
		   .bits = {.at = 20, .width = 12, .shift = 16}},                             \
		  {.match = {CARRIERS_UET_TYPE(6)}, .n_match = 1, .owner = CARRIER_UNKNOWN},  \
		  {.owner = CARRIER_NUMBER, .bits = {.at = 8, .width = 16}}},                 \
	.n_rules = 4

static const struct carrier carriers_uet = {
	.name = "UET",
	.port = CARRIERS_UET_PORT,
	.protocol = CARRIER_UDP,
	.head_least = 24,
	.head_most = 72,
	.payload_max = 8192,
	.pieces_max = 3,
	.spare = 0xe1,
	.tag_bits = 4,
	.number = {.at = 8, .width = 16},
	CARRIERS_UET_RULES,
	.seals = {{CARRIERS_UET_TSS(1), &seal_tss_ssi},
		  {CARRIERS_UET_TSS(0), &seal_tss},
		  {.seal = &seal_uet}},
	.n_seals = 3,
	.fields = {{0, 1}, {1, 1}, {4, 4}, {8, 2}, {10, 2}},
	.n_fields = 5,
};

static const struct carrier carriers_uet_native = {
	.name = "UET over IP",
	.protocol = CARRIERS_UET_PROTOCOL,
	.head_least = 24,
	.head_most = 72,
	.payload_max = 8192,
	.pieces_max = 3,
	.spare = 0xe1,
	.tag_bits = 4,
	.number = {.at = 8, .width = 16},
	CARRIERS_UET_RULES,
	.seals = {{CARRIERS_UET_TSS(1), &seal_tss_ssi},
		  {CARRIERS_UET_TSS(0), &seal_tss},
		  {.seal = &seal_uet_native}},
	.n_seals = 3,
	.fields = {{0, 1}, {1, 1}, {4, 4}, {8, 2}, {10, 2}},
	.n_fields = 5,
};

/* PSP says in its fourth byte whether a cookie stands between it and Falcon's word of the
 * connection (Falcon 7.1). */
#define CARRIERS_COOKIE(is)                                  \
	{                                                    \
		.mask = 0x00000002u, .value = (is) ? 2u : 0u \
	}

static const struct carrier carriers_falcon = {
	.name = "Falcon",
	.port = CARRIERS_PSP_PORT,
	.protocol = CARRIER_UDP,
	.head_least = 40,
	.head_most = 72,
	.payload_max = 4224,
	.pad_max = 3,
	.pieces_max = 2,
	.spare = 0xe1,
	.tag_bits = 8,
	.number = {.at = 16, .width = 24},
	.rules = {{.match = {CARRIERS_COOKIE(1)},
		   .n_match = 1,
		   .owner = CARRIER_NUMBER,
		   .bits = {.at = 24, .width = 24}},
		  {.owner = CARRIER_NUMBER, .bits = {.at = 16, .width = 24}}},
	.n_rules = 2,
	.seals = {{CARRIERS_COOKIE(1), &seal_psp_cookie}, {.seal = &seal_psp}},
	.n_seals = 2,
	.fields = {{0, 1}, {1, 1}, {17, 3}},
	.n_fields = 3,
};

/* A seal of nobody's: four bytes in front, and behind a CRC-32C of all from the destination address
 * on but the UDP checksum. */
static const struct seal carriers_toy_seal = {
	.name = "toy",
	.sum = SEAL_CRC32C,
	.head_bytes = 4,
	.tail_bytes = 4,
	.start = 0x12345678,
	.front = {{.from = 16, .to = 28, .zeros = {[26] = 0xff, [27] = 0xff}},
		  {.from = 24, .to = 48, .zeros = {[46] = 0xff, [47] = 0xff}}},
};

/* Headers of eight to 24 bytes, and the seal's in front of them. */
static const struct carrier carriers_toy = {
	.name = "toy",
	.port = CARRIERS_TOY_PORT,
	.protocol = CARRIER_UDP,
	.head_least = 12,
	.head_most = 28,
	.payload_max = 1024,
	.pieces_max = 2,
	.tag_bits = 1,
	.spare = 0xff,
	.number = {.at = 8, .width = 8},
	.rules = {{.owner = CARRIER_NUMBER, .bits = {.at = 8, .width = 8}}},
	.n_rules = 1,
	.seals = {{.seal = &carriers_toy_seal}},
	.n_seals = 1,
	.fields = {{4, 1}},
	.n_fields = 1,
};

#endif
