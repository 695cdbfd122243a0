#include "wire/aeth.h"

#define RNR_MASK    31u
#define RNR_UNIT_NS UINT64_C(10000)

static const uint32_t credits[AETH_NO_CREDITS] = {
	0,    1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
	48,   64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
	2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
};

uint8_t aeth_credit_code(uint32_t n)
{
	uint8_t code = AETH_NO_CREDITS - 1;

	while (credits[code] > n)
		code--;
	return code;
}

uint32_t aeth_credits(uint8_t code)
{
	return code < AETH_NO_CREDITS ? credits[code] : UINT32_MAX;
}

nsec aeth_rnr_ns(uint8_t code)
{
	/* In units of 10 us. */
	static const uint16_t times[RNR_MASK + 1] = {
		0,    1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
		48,   64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
		2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	/* The first code stands for the longest time. */
	return code == 0 ? 65536 * RNR_UNIT_NS : times[code & RNR_MASK] * RNR_UNIT_NS;
}
