/* What Linux puts in front of a packet captured on the "any" device, instead of its link header.
 * protocol is an Ethernet type. record.c walks them by their tables, capture.c knows which captures
 * have them. See LINKTYPE_LINUX_SLL and LINKTYPE_LINUX_SLL2 at https://www.tcpdump.org. */
#ifndef WEFT_TOOLS_DECODE_COOKED_H
#define WEFT_TOOLS_DECODE_COOKED_H

#include "wire/header.h"

/* clang-format off */
#define SLL_FIELDS(F) \
	F(packet_type,       0, 16) \
	F(arphrd,           16, 16) \
	F(addr_len,         32, 16) \
	F(addr,             48, 64) \
	F(protocol,        112, 16)
WIRE_HEADER(sll, 16, SLL_FIELDS)

#define SLL2_FIELDS(F) \
	F(protocol,          0, 16) \
	F(rsv0,             16, 16) \
	F(ifindex,          32, 32) \
	F(arphrd,           64, 16) \
	F(packet_type,      80,  8) \
	F(addr_len,         88,  8) \
	F(addr,             96, 64)
WIRE_HEADER(sll2, 20, SLL2_FIELDS)
/* clang-format on */

#endif
