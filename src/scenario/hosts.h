/* The hosts of a fabric: a transport that a scenario can name on all of them, wrapped for the
 * simulator. */
#ifndef WEFT_SCENARIO_HOSTS_H
#define WEFT_SCENARIO_HOSTS_H

#include <stdint.h>

#include "cc/cc.h"
#include "ref/ref.h"
#include "scenario/pairs.h"
#include "sim/routing.h"
#include "sim/sim.h"
#include "transport/transport.h"

/* One transport on every host. */
struct hosts_cfg {
	const struct transport *transport; /* NULL: the reference transport */
	const struct routing *routing;
	uint64_t seed;
	uint32_t payload_bytes, window_pkts;
	uint32_t entropies; /* of each connection; 1 where packets of one take no more */
	nsec timeout_ns;    /* of a row: one of its own */
	struct transport_options options;
	/* Of a row. */
	uint32_t ahead_pkts;   /* TRANSPORT_AHEAD: that each end takes ahead of a gap */
	uint8_t cc;            /* enum cc_kind */
	uint64_t window_bytes; /* most that are out, whatever cc says */
	/* Per host: queue pairs, and messages posted at a time. Lent for life. */
	const uint32_t *qps, *ops;
	struct trace *trace; /* lent, and numbered by host; or NULL */
};

struct hosts {
	struct sim_transport sim; /* what the simulator gets */
	struct hosts_cfg cfg;
	void *host;    /* configuration of the host asked for last */
	uint32_t *evs; /* of ref */
	/* Of a row. */
	struct pairs pairs;
	struct path_profile profile; /* TRANSPORT_PROFILES: hosts of a fabric have the same ports */
	void *profile_memory;
};

/* Wraps the transport. 0 or -ENOMEM; what the engine refuses it refuses when the simulation starts.
 * Queue pairs of a row with TRANSPORT_PROFILES spray over cfg->entropies EVs, spread evenly over
 * its ports; those of others have one port and one path each, both drawn from the seed. */
int hosts_init(struct hosts *t, const struct hosts_cfg *cfg);
void hosts_fini(struct hosts *t);

/* The words of events of a transport, or of the reference transport (NULL). */
struct trace_words hosts_words(const struct transport *t);

/* What packets of a transport, or of the reference transport (NULL), travel by. */
const struct carrier *hosts_carrier(const struct transport *t);

/* For the files of hosts: fills in what is sim's, and its own. */
int hosts_init_ref(struct hosts *t);
int hosts_init_row(struct hosts *t);

/* A number of an end of a connection that either end can work out. */
enum hosts_draw { HOSTS_DRAW_PSN, HOSTS_DRAW_PORT, HOSTS_DRAW_PATH };
uint32_t hosts_draw(const struct hosts *t, uint32_t host, uint32_t qp, enum hosts_draw what);

/* Entropy value i of a connection. It leaves by port i modulo their number: those of one port
 * follow each other, or a port would miss the paths between. */
uint32_t hosts_entropy(const struct hosts *t, uint32_t i);

/* The rate of a host's slowest port, and of all its ports together. */
uint64_t hosts_line_rate(const struct topology *t, uint32_t host);
uint64_t hosts_rate(const struct topology *t, uint32_t host);

/* What a full data packet of a row counts for in windows that count whole packets: over IPv6, from
 * its header on (MRC 8.3.1). */
uint32_t hosts_nominal(const struct transport *t, uint32_t payload_bytes);

#endif
