/* A header stack is written down once, in wire order, one line per header:
 *
 *	#define MRC_STACK(S) \
 *		S(MRC_METH,  meth,  meth) \
 *		S(MRC_TSETH, tseth, tseth) \
 *		...
 *
 * a bit that says the header is there, the header, and its member in the packet's struct. Bits rise
 * in wire order. The macros below make the readers and the writers of a family from the list. */
#ifndef WEFT_WIRE_STACK_H
#define WEFT_WIRE_STACK_H

#include "wire/header.h"
#include "wire/trail.h"

/* One header of a reader: a function that has the packet pkt with its has bits, the cursor c, the
 * trail and whether the packet was trimmed, and returns a fault. Its file defines STACK_CUT, the
 * headers that a switch may have trimmed off; the first one missing takes the later ones of these
 * with it. */
#define STACK_GET(bit, header, member)                                                  \
	if (pkt->has & (bit)) {                                                         \
		const uint8_t *bytes = TAKE(c, trail, header);                          \
                                                                                        \
		if (bytes)                                                              \
			header##_get(bytes, &pkt->member);                              \
		else if ((STACK_CUT & (bit)) != 0 && trimmed)                           \
			pkt->has &= (uint16_t) ~(STACK_CUT & ~((bit)-1));               \
		else                                                                    \
			return fault_at(WIRE_DROP_TRUNCATED, c->at, header##_layout()); \
	}

/* One header of a writer: a function that has the packet pkt, the has bits to write, the span out
 * and how much of it is used, and returns 0 when out is too short. */
#define STACK_PUT(bit, header, member)                     \
	if (has & (bit)) {                                 \
		if (out.len - used < header##_bytes)       \
			return 0;                          \
		header##_put(&pkt->member, out.at + used); \
		used += header##_bytes;                    \
	}

/* The same for who knows that there is room for all of them, which is one check in place of many:
 * how many bytes the headers of `has` are, and a reader and a writer that go along p. */
#define STACK_BYTES(bit, header, member) +((has & (bit)) != 0 ? header##_bytes : 0)

#define STACK_READ(bit, header, member)        \
	if (has & (bit)) {                     \
		header##_get(p, &pkt->member); \
		p += header##_bytes;           \
	}

#define STACK_WRITE(bit, header, member)       \
	if (has & (bit)) {                     \
		header##_put(&pkt->member, p); \
		p += header##_bytes;           \
	}

#endif
