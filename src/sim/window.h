/* The fast way through a quiet fabric; between the files of the simulator's core. window.c says
 * how. */
#ifndef WEFT_SIM_WINDOW_H
#define WEFT_SIM_WINDOW_H

#include "sim/sim.h"

/* 0 or -ENOMEM; after the ports are made. */
int windows_init(struct sim *s);
void windows_fini(struct sim *s);

/* Goes over to windows where that is possible, or away from them where it is not any more. */
void windows_choose(struct sim *s);

/* Runs all nodes up to and including `until`, or until the run is to pause or stop. No timer may be
 * due before that. Only while windowed. */
void windows_run(struct sim *s, psec until);

#endif
