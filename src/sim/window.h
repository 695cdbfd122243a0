/* The fast way through a quiet fabric; between the files of the simulator's core. window.c says
 * how. */
#ifndef WEFT_SIM_WINDOW_H
#define WEFT_SIM_WINDOW_H

#include "sim/sim.h"

#define WINDOWS_GROUP 64u /* nodes whose next moments are summed up */

/* 0 or -ENOMEM; after the ports are made. */
int windows_init(struct sim *s);
void windows_fini(struct sim *s);

/* Goes over to windows where that is possible, or away from them where it is not any more. */
void windows_choose(struct sim *s);

/* Runs all nodes up to and including `until`, or until the run is to pause or stop. No timer may be
 * due before that. Only while windowed. */
void windows_run(struct sim *s, psec until);

/* Something will happen to a node at `at`. Only while windowed. */
static inline void windows_expect(struct sim *s, uint32_t node, psec at)
{
	psec *next = &s->node_next[node], *group = &s->group_next[node / WINDOWS_GROUP];

	*next = psec_sooner(*next, at);
	*group = psec_sooner(*group, at);
}

#endif
