/* An EV profile: the entropy values that senders may use, fixed for its life (MRC 9.3.1, 9.4).
 *
 * A profile says which EVs there are, which of them the controller denies from the start, and how
 * few a sender may come down to (ev_min_active). How a sender's own EVs fare is struct path's
 * matter. EVs stand grouped by port: an EV is named by its place, ev < set.n, in everything of
 * this room. Wide encodings have 32-bit entropy values too: the number of a combination, that the
 * encapsulation turns into a segment list (format.h). Set-up only; engines and doors call this. */
#ifndef WEFT_PATH_PROFILE_H
#define WEFT_PATH_PROFILE_H

#include <stddef.h>

#include "path/format.h"
#include "path/walk.h"

#define PATH_PORTS    8u
#define PATH_FEW      64u        /* EVs in use, or up to twice as many, where some are bad */
#define PATH_NONE     UINT32_MAX /* no EV */
#define PATH_ANY_PORT UINT32_MAX

struct path_profile {
	struct path_set set;            /* EVs grouped by port, lowest port first */
	uint16_t first[PATH_PORTS + 1]; /* EVs of port i: first[i] .. first[i + 1] - 1 */
	uint8_t order_bits[PATH_PORTS]; /* of shuffle, over the EVs of a port */
	uint8_t narrow_bits;            /* 1 / 2^this of its EVs are PATH_FEW, or all are fewer */
	uint8_t denied_ports;           /* bit per port: from the start */
	uint16_t min_active;            /* ev_min_active, 1 .. set.n */
	uint16_t index_mask;            /* places of index - 1 */
	uint64_t *denied;               /* bit per EV: from the start */
	uint16_t *index;                /* hash of entropy values; 0: empty, else EV + 1 */
};

/* What a made-up set is asked for. */
struct path_wanted {
	uint32_t n;     /* EVs; 0: the default */
	uint32_t ports; /* bit per port to spread them over, equally but for one EV */
	uint64_t seed;  /* which values are drawn */
};

/* The default number of EVs: the least from 128 on that every port has the same share of. */
uint32_t path_profile_default(uint32_t ports);

/* The bytes that the making of a profile of at most n EVs needs. */
size_t path_profile_size(uint32_t n);

/* AUTO (9.4.1): values for ECMP, source ports from 0xc000 on, no two EVs with the same one.
 * memory: path_profile_size(wanted->n or the default) bytes at 8, the profile's for its life. */
enum path_error path_profile_auto(struct path_profile *f, void *memory,
				  const struct path_wanted *wanted);

/* EXPLICIT (9.4.2): these n EVs, in their order within each port. The same one may be there more
 * than once: it gets that many turns. memory: path_profile_size(n) bytes at 8. */
enum path_error path_profile_explicit(struct path_profile *f, void *memory,
				      const struct path_ev *evs, uint32_t n);

/* GENERATED (9.4.3): all combinations of the format, or wanted->n drawn ones where there are more;
 * none twice. memory: path_profile_size(wanted->n or the default) bytes at 8. The format is not
 * kept. */
enum path_error path_profile_generated(struct path_profile *f, void *memory,
				       const struct path_format *format,
				       const struct path_wanted *wanted);

/* ev_min_active: n, 0 for 1; PATH_TOO_MANY: more than there are EVs. For senders started later. */
enum path_error path_profile_set_min_active(struct path_profile *f, uint32_t n);

/* Denies an EV, or some ports, to senders started later, or allows them again (9.3.2.1). */
void path_profile_deny(struct path_profile *f, uint32_t ev, bool is_denied);
void path_profile_deny_ports(struct path_profile *f, uint32_t ports);

/* The first EV with this entropy value and this port (or PATH_ANY_PORT), or PATH_NONE. Both may be
 * any numbers: what the wire says. */
uint32_t path_profile_find(const struct path_profile *f, uint32_t ev, uint32_t port);

/* Whether an answer that reflects this entropy may be to a packet of this value; and the first EV
 * of which it may be, or PATH_NONE. */
bool path_is_reflected(uint32_t ev, uint32_t entropy);
uint32_t path_profile_reflected(const struct path_profile *f, uint32_t entropy);

/* Whether each entropy value belongs to one port, as those of several planes do (9.3.2): what a
 * peer says of a value then is said of one plane. */
bool path_profile_is_split(const struct path_profile *f);

/* The next copy of an EV, of the same entropy value and port, or PATH_NONE. */
uint32_t path_profile_copy(const struct path_profile *f, uint32_t ev);

#endif
