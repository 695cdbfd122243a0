/* Whether senders leave dead paths: what of their data faults still swallow once they know.
 *
 * Fed by hooks of the simulator that cost nothing where nobody watches. A sender knows from the
 * moment it first sends something again after a fault took a packet of its. What it sends into the
 * fault later is seen when the fault takes it, so a figure is too long by a packet's way there,
 * never too short. */
#ifndef WEFT_SCENARIO_WATCH_H
#define WEFT_SCENARIO_WATCH_H

#include <stdint.h>

#include "sim/sim.h"

struct watch_host {
	psec lost_at;  /* PSEC_NEVER: no fault took anything of its */
	psec knows_at; /* PSEC_NEVER: it sent nothing again since */
	psec last_at;  /* the last packet of new data that a fault took; 0: none */
	uint64_t retx;
};

struct watch {
	struct watch_host *hosts;
	uint32_t n_hosts;
};

/* 0 or -ENOMEM. */
int watch_init(struct watch *w, uint32_t n_hosts);
void watch_fini(struct watch *w);

/* A fault took a packet; a host's engine was asked for packets. */
void watch_lost(struct watch *w, const struct sim *s, const struct packet *p);
void watch_pulled(struct watch *w, const struct sim *s, uint32_t host);

/* How long after it knew of a fault any sender still sent new data into it, at most. */
psec watch_quiet_after(const struct watch *w);

#endif
