/* The EVs through a fabric, and the plain walk over them.
 *
 * An EV is a 32-bit entropy value (MRC Table 9-1: UDP source port, then the low 16 bits of the flow
 * label) behind one port of the endpoint. A struct path_walk takes a set of EVs one after the
 * other, in their order, and learns nothing of what becomes of its packets: it is for answers,
 * which nobody answers. Requests have a struct path (path.h). Integers only; same calls, same EVs.
 */
#ifndef WEFT_PATH_WALK_H
#define WEFT_PATH_WALK_H

#include <stdbool.h>
#include <stdint.h>

#define PATH_EVS_MAX 4096u

struct path_ev {
	uint32_t value;
	uint32_t port;
};

/* The EVs of one or many senders, lent for as long as anyone walks over them. */
struct path_set {
	const struct path_ev *evs;
	uint32_t n;     /* 1 .. PATH_EVS_MAX */
	uint32_t ports; /* bit per port that some EV leaves by */
};

struct path_walk {
	const struct path_set *set;
	uint32_t at;
};

/* Starts a walk. Senders that share a set start at different places, chosen by salt: else they
 * would all load the same EV at the same time. */
void path_walk_start(struct path_walk *w, const struct path_set *set, uint32_t salt);

/* The EV of the next packet, among those whose port has its bit in free_ports; NULL: none has, and
 * the walk stands still. */
const struct path_ev *path_walk_next(struct path_walk *w, uint32_t free_ports);

#endif
