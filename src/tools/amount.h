/* Quantities as a person reads them: in the unit that keeps the number below a thousand, with three
 * decimals where it is not whole. Digits are cut, never rounded, and made from integers, so that
 * the same quantity is the same text everywhere. The reports of `weft sim` use it. */
#ifndef WEFT_TOOLS_AMOUNT_H
#define WEFT_TOOLS_AMOUNT_H

#include <stdint.h>

#include "sim/psec.h"

struct amount {
	char at[48];
};

struct amount amount_time(psec time);             /* "51.234 us" */
struct amount amount_bytes(uint64_t bytes);       /* "2.097 MB" */
struct amount amount_rate(uint64_t bps);          /* "399.120 Gb/s" */
struct amount amount_count(uint64_t n);           /* "5.120 M", for what is only roughly known */
struct amount amount_ratio(uint64_t thousandths); /* "1.003" */

/* The bound of a bucket of sim.h's queue_lengths: "64 KiB"; "more" for the last one. */
struct amount amount_bound(uint64_t bytes);

#endif
