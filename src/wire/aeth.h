/* What the codes of an AETH stand for (IBTA 9.7.5.2): receives, and the time to wait that an RNR
 * NAK asks for. Whoever answers or is answered calls this, and a switch that merges answers. */
#ifndef WEFT_WIRE_AETH_H
#define WEFT_WIRE_AETH_H

#include <stdint.h>

#include "base/nsec.h"

#define AETH_NO_CREDITS 31u /* the code of a receiver that does not count (IBTA 9.7.7.2) */

/* The credit code that says at most n receives are posted (IBTA table 49), and how many a code
 * below AETH_NO_CREDITS says; UINT32_MAX for that. */
uint8_t aeth_credit_code(uint32_t n);
uint32_t aeth_credits(uint8_t code);

/* The time of an RNR NAK's code, of 5 bits (IBTA table 45); 0 stands for the longest. */
nsec aeth_rnr_ns(uint8_t code);

#endif
