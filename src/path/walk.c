#include "path/walk.h"

#include <stddef.h>

void path_walk_start(struct path_walk *w, const struct path_set *set, uint32_t salt)
{
	*w = (struct path_walk){set,
				(uint32_t)((uint64_t)(salt * UINT32_C(0x9e3779b1)) * set->n >> 32)};
}

const struct path_ev *path_walk_next(struct path_walk *w, uint32_t free_ports)
{
	const struct path_set *s = w->set;

	if (!(s->ports & free_ports))
		return NULL;
	/* One EV at least has a free port. */
	for (;;) {
		const struct path_ev *ev = &s->evs[w->at];

		w->at = w->at + 1 < s->n ? w->at + 1 : 0;
		if (free_ports >> ev->port & 1)
			return ev;
	}
}
