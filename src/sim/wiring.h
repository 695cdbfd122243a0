/* Joins the nodes of a topology by links: what topology_build and topology_end have in common. */
#ifndef WEFT_SIM_WIRING_H
#define WEFT_SIM_WIRING_H

#include <stdint.h>

#include "sim/topology.h"

#define WIRING_PORTS_MAX      (UINT64_C(1) << 26)
#define WIRING_NODE_PORTS_MAX UINT16_MAX

struct wiring {
	struct topology *topology;
	uint32_t *next; /* per node: its first port that is not joined yet */
};

/* A link between nodes a and b. */
struct wiring_link {
	uint32_t a, b;
	uint8_t plane;
	struct topology_link link;
};

/* Lays the ports of t out: every node's n_ports is set, and all of them together are at most
 * WIRING_PORTS_MAX. 0 or -ENOMEM; wiring_end frees w either way. */
int wiring_begin(struct wiring *w, struct topology *t);

/* Takes the next free port of both nodes. */
void wiring_join(struct wiring *w, const struct wiring_link *l);

/* Numbers parallel links, every port being joined. 0 or -ENOMEM. */
int wiring_number(struct wiring *w);

void wiring_end(struct wiring *w);

#endif
