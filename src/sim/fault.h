/* Things that go wrong, on a schedule: each fault has a kind, a place, a time and a strength, and
 * can be told to a person in one line. Random faults are drawn into such a list before the run
 * starts, so that a seed is a list one can read.
 *
 * A packet fault acts on packets as they start to leave a port; a state fault switches a port, a
 * node or a clock and back. sim/impair.h carries them out. */
#ifndef WEFT_SIM_FAULT_H
#define WEFT_SIM_FAULT_H

#include <stddef.h>
#include <stdint.h>

#include "base/prng.h"
#include "sim/psec.h"
#include "sim/topology.h"

/* clang-format off */
/* kind, name in configuration files, what acts */
#define FAULT_KINDS(K)               \
	K(DROP, "drop", PACKET)           /* each packet with chance ppm */ \
	K(BURST, "burst", PACKET)         /* starts with chance ppm, then drops count in a row */ \
	K(DUPLICATE, "duplicate", PACKET) \
	K(REORDER, "reorder", PACKET)     /* holds a packet back for up to amount_ps */ \
	K(DELAY, "delay", PACKET)         /* adds amount_ps to every packet: a spike */ \
	K(CORRUPT, "corrupt", PACKET)     /* flips count bits; see crc */ \
	K(TRUNCATE, "truncate", PACKET)   /* cuts the frame at a random byte */ \
	K(BLACK_HOLE, "black-hole", PACKET) /* one way, everything, link seems up */ \
	K(GRAY, "gray", PACKET)           /* both ways, chance ppm of 100 .. 300000 */ \
	K(FORGE, "forge", PACKET)         /* a changed copy follows the packet */ \
	K(FLAP, "flap", LINK)             /* down, up, count times, amount_ps each */ \
	K(DOWN, "down", LINK)             \
	K(PLANE, "plane", LINK)           /* every link of a plane down */ \
	K(PAUSE, "pause", LINK)           /* the port sends nothing */ \
	K(REBOOT, "reboot", NODE)         /* a switch loses its queues and is down for a while */ \
	K(RESTART, "restart", NODE)       /* a NIC forgets everything */ \
	K(SKEW, "skew", NODE)             /* a host's clock runs ppm fast or slow */ \
	K(JUMP, "jump", NODE)             /* a host's clock jumps ahead by amount_ps */

enum fault_kind {
#define FAULT_KIND_ENUM(id, name, acts) FAULT_##id,
	FAULT_KINDS(FAULT_KIND_ENUM)
#undef FAULT_KIND_ENUM
	FAULT_KIND_COUNT,
};
/* clang-format on */

/* Which packets a packet fault touches. */
enum fault_match { FAULT_ANY, FAULT_DATA, FAULT_CONTROL };

/* What a corrupted packet looks like: caught by the next port, by the next host, or by nobody. */
enum fault_crc { FAULT_CRC_BAD, FAULT_CRC_FCS_REPAIRED, FAULT_CRC_ALL_REPAIRED };

struct fault {
	uint8_t kind;           /* enum fault_kind */
	uint8_t match;          /* enum fault_match */
	uint8_t crc;            /* enum fault_crc */
	uint32_t port;          /* packet and link faults: the port (link: either end) */
	uint32_t node;          /* node faults; plane: the plane's number */
	psec from_ps, until_ps; /* [from, until) */
	uint32_t ppm;           /* chance in millionths; skew: |skew| */
	uint32_t count;         /* packets of a burst, flips, flaps */
	psec amount_ps;
	int8_t sign; /* skew: +1 or -1 */
};

const char *fault_kind_name(enum fault_kind kind);

/* The kind of that name, or -1. */
int fault_kind_find(const char *name);

/* NULL, or a sentence: what is out of range, missing or senseless for the kind. */
const char *fault_problem(const struct fault *f, const struct topology *t);

/* One line for a person: "gray h0>leaf0 1.5 % from 10 us until 2 ms". Returns the length it needed.
 * f is one that fault_problem accepts. */
size_t fault_print(const struct fault *f, const struct topology *t, char *text, size_t text_len);

/* Draws one fault that fault_problem accepts: any kind whose bit is set in kinds, any place, within
 * [from, until), healed by until. Kinds that the fabric has no place for are left out; one must
 * remain. from < until. */
void fault_draw(struct fault *f, struct prng *p, const struct topology *t, uint64_t kinds,
		psec from_ps, psec until_ps);

#endif
