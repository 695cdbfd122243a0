/* Seals: what guards the bytes of a packet on its way, as plain data.
 *
 * A seal puts bytes in front of the transport's and bytes behind them. Those in front are always
 * real; those behind may wait in a simulator until somebody looks. A seal by a CRC is computed
 * here, in one call for each packet, and changed along with bytes of the packet without a look at
 * the others. Of a cipher this room knows the shape alone, so that framing leaves room. Carriers
 * name their seals (wire/carrier.h); drivers, switches, the simulator and printers call this. */
#ifndef WEFT_WIRE_SEAL_H
#define WEFT_WIRE_SEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/crc32.h"
#include "base/span.h"

#define SEAL_HEAD_MAX  24u /* most bytes in front of a transport's: PSP with its cookie */
#define SEAL_TAIL_MAX  16u /* most behind */
#define SEAL_FRONT_MAX 64u /* most bytes of a packet that masks reach */

enum seal_sum {
	SEAL_NONE,
	SEAL_CRC32,  /* of Ethernet */
	SEAL_CRC32C, /* Castagnoli's */
	SEAL_CIPHER, /* not computed here */
};

/* How a CRC covers the packet, which begins with its IP header. */
struct seal_front {
	/* Bits that hops may change count as ones, or as zeros. */
	_Alignas(SEAL_FRONT_MAX) uint8_t ones[SEAL_FRONT_MAX], zeros[SEAL_FRONT_MAX];
	uint8_t from; /* the first byte covered */
	uint8_t to;   /* the first from which on all count as they are; >= from */
};

struct seal {
	const char *name; /* as a person is shown it */
	uint8_t sum;      /* enum seal_sum */
	uint8_t head_bytes, tail_bytes;
	bool is_msb_first;          /* how the CRC stands in the packet */
	uint32_t start;             /* the CRC of what counts before the first byte covered */
	struct seal_front front[2]; /* over IPv4, over IPv6 */
};

extern const struct seal seal_none;

/* The invariant CRC that closes RoCEv2 and MRC packets (wire/icrc.h). */
extern const struct seal seal_icrc;

/* The CRC of UET, behind UDP and, as native IP, behind an entropy header: from the source address
 * on, the UDP checksum taken as zero, the most significant byte first (UE 3.5.25; U-28). */
extern const struct seal seal_uet, seal_uet_native;

/* PSP in transport mode, without and with a virtualization cookie (Falcon 7.1), and TSS without and
 * with a source identifier (UE 3.7.11). */
extern const struct seal seal_psp, seal_psp_cookie, seal_tss, seal_tss_ssi;

static inline bool seal_is_crc(const struct seal *s)
{
	return s->sum == SEAL_CRC32 || s->sum == SEAL_CRC32C;
}

/* For each function below the seal is one by a CRC. */

/* Bytes of the packet, from its IP header on, that must be there for the seal to be computed. */
uint32_t seal_least(const struct seal *s, bool is_v4);

/* The CRC of a packet given in pieces, from its IP header to the end of the transport's bytes, in
 * all at least seal_least. The first piece begins with the IP header's first byte; a piece may be
 * virtual. */
uint32_t seal_sum(const struct seal *s, const struct cspan *pieces, uint32_t n);

/* Goes on from the CRC of a packet's beginning, with bytes or with so many zeros. */
static inline uint32_t seal_update(const struct seal *s, uint32_t crc, const uint8_t *at,
				   uint32_t len)
{
	return s->sum == SEAL_CRC32 ? crc32_update(crc, at, len) : crc32c_update(crc, at, len);
}
static inline uint32_t seal_zeros(const struct seal *s, uint32_t crc, uint32_t len)
{
	return s->sum == SEAL_CRC32 ? crc32_zeros(crc, len) : crc32c_zeros(crc, len);
}

/* The same with bytes that are copied meanwhile; NULL: zeros. */
uint32_t seal_copy(const struct seal *s, uint32_t crc, uint8_t *to, struct cspan from);

/* The bytes on the wire, tail_bytes of them: 4. */
uint32_t seal_get(const struct seal *s, const uint8_t *tail);
void seal_put(const struct seal *s, uint8_t *tail, uint32_t crc);

/* Bytes that change, in place and in number as they were. */
struct seal_change {
	const uint8_t *was, *is;
	uint32_t at; /* of the packet, from its IP header on */
	uint32_t len;
	uint32_t end; /* where the tail begins, >= at + len */
	bool is_v4;   /* the packet, before and after */
};

/* What a change does to the CRC, right or wrong: the new one is the exclusive or of the old one and
 * this, and of each further change's. Costs the bytes that change, and O(log n) for all others. A
 * packet of the same length, changed alike, is changed by the same. */
uint32_t seal_difference(const struct seal *s, const struct seal_change *c);

#endif
