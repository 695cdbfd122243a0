/* The invariant CRC that closes every RoCEv2 and MRC packet (IBTA annex A17; MRC-6.2.2.1-01): the
 * Ethernet CRC-32 over eight bytes of ones and the packet from its IP header to the end of the
 * padding, with the fields that routers may change replaced by ones. Under SRv6 encapsulation the
 * inner IP header is the one that counts: the outer one changes at every hop (M-25). */
#ifndef WEFT_WIRE_ICRC_H
#define WEFT_WIRE_ICRC_H

#include <stdint.h>

#include "base/span.h"

enum { icrc_bytes = 4 };

/* The CRC of the masked headers: ip is an IPv4 header without options or an IPv6 header, directly
 * followed by UDP and the base transport header. How many bytes that was goes to *covered; the
 * caller goes on from there with crc32_update. */
uint32_t icrc_begin(const uint8_t *ip, uint32_t *covered);

/* The ICRC of a whole packet, from its IP header to the end of its padding, at least the headers
 * of icrc_begin. */
uint32_t icrc_of(struct cspan packet);

/* The four bytes on the wire, least significant first. */
uint32_t icrc_get(const uint8_t *p);
void icrc_put(uint8_t *p, uint32_t icrc);

#endif
