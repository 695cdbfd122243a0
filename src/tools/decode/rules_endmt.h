/* The rules about the TLVs of End.MT that a packet's routing header has; none is broken without
 * one. Only the table of rules calls this. */
#ifndef WEFT_TOOLS_DECODE_RULES_ENDMT_H
#define WEFT_TOOLS_DECODE_RULES_ENDMT_H

#include <stdbool.h>

#include "wire/packet.h"

bool endmt_reserved(const struct wire_packet *p);
bool endmt_no_segment(const struct wire_packet *p);
bool endmt_twice(const struct wire_packet *p);

#endif
