/* The HMAC of a segment routing header (RFC 8754 2.1.2): HMAC-SHA256 over source address, Last
 * Entry, Flags, key id and segments. It covers no other TLV: those of End.MT are not protected by
 * it (T-12).
 *
 * A controller signs the header of a headend, once for a group, and gives edges what to compare
 * with. libcrypto computes, and allocates while it does: this is for setting up, not for each
 * packet. It stands in a library of its own, so that programs without keys do without libcrypto. */
#ifndef WEFT_ENCAP_SRH_HMAC_H
#define WEFT_ENCAP_SRH_HMAC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "wire/srh.h"

/* What the HMAC of this header should be if the packet is from src. The key id is that of its HMAC
 * TLV, 0 without one. False: libcrypto failed, and out says nothing. */
bool srh_hmac_compute(const struct srh_view *srh, const uint8_t src[16], struct cspan key,
		      uint8_t out[SRH_HMAC_MAX]);

/* Completes a header that srh_plan_put wrote with has_hmac. 0; -EINVAL: it is no header, or has no
 * HMAC of 32 bytes; -EIO: libcrypto failed. On an error nothing changes. */
int srh_hmac_sign(struct span header, const uint8_t src[16], struct cspan key);

/* Whether the header's HMAC is there, has all 32 bytes, and is right. Takes the same time for every
 * wrong one. */
bool srh_hmac_is_right(const struct srh_view *srh, const uint8_t src[16], struct cspan key);

#endif
