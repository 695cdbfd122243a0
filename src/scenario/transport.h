/* The transports a scenario can name, each wrapped for the simulator. */
#ifndef WEFT_SCENARIO_TRANSPORT_H
#define WEFT_SCENARIO_TRANSPORT_H

#include <stdint.h>

#include "ref/ref.h"
#include "sim/routing.h"
#include "sim/sim.h"

/* The reference transport on every host. */
struct transport_cfg {
	const struct routing *routing;
	uint64_t seed;
	uint32_t payload_bytes, window_pkts, entropies, ack_every, retries;
	nsec timeout_ns;
	/* Per host: queue pairs, and messages posted at a time. Lent for life. */
	const uint32_t *qps, *ops;
};

struct transport {
	struct sim_transport sim; /* what the simulator gets */
	struct transport_cfg cfg;
	struct ref_cfg host; /* of the host asked for last */
	uint32_t *evs;
};

/* Wraps the reference transport. 0 or -ENOMEM. */
int transport_init_ref(struct transport *t, const struct transport_cfg *cfg);
void transport_fini(struct transport *t);

#endif
