/* The hosts of a fabric: a transport that a scenario can name on all of them, wrapped for the
 * simulator. */
#ifndef WEFT_SCENARIO_HOSTS_H
#define WEFT_SCENARIO_HOSTS_H

#include <stdint.h>

#include "cc/cc.h"
#include "ref/ref.h"
#include "sim/routing.h"
#include "sim/sim.h"

/* One transport on every host. */
struct hosts_cfg {
	const struct routing *routing;
	uint64_t seed;
	uint32_t payload_bytes, window_pkts, ack_every, retries;
	uint32_t entropies; /* of each connection; RC: 1 */
	nsec timeout_ns;    /* RC and MRC: one of their own, see hosts_rc_timeout */
	/* RC. */
	bool has_dcqcn;
	struct dcqcn_cfg dcqcn;
	nsec cnp_every_ns; /* 0: the default */
	/* MRC: retries are the linear ones. */
	uint32_t exp_retries, mpr;
	bool has_trim_nack;
	bool counts_trims;     /* each trim NACK is a try */
	bool is_oblivious;     /* EVs in turn, whatever becomes of their packets */
	uint8_t cc;            /* enum cc_kind */
	uint64_t window_bytes; /* most that are out, whatever cc says */
	struct nscc_cfg nscc;
	/* Per host: queue pairs, and messages posted at a time. Lent for life. */
	const uint32_t *qps, *ops;
};

struct hosts_rc;
struct hosts_mrc;

struct hosts {
	struct sim_transport sim; /* what the simulator gets */
	struct hosts_cfg cfg;
	struct ref_cfg host; /* of the host asked for last */
	uint32_t *evs;
	struct mem *mem; /* of all hosts; NULL: ref knows none */
	struct hosts_rc *rc;
	struct hosts_mrc *mrc;
};

/* Wraps the reference transport. 0 or -ENOMEM. */
int hosts_init_ref(struct hosts *t, const struct hosts_cfg *cfg);

/* Wraps RC: every queue pair on one port and one path, both drawn from the seed. 0 or -ENOMEM; what
 * the engine refuses it refuses when the simulation starts. */
int hosts_init_rc(struct hosts *t, const struct hosts_cfg *cfg);

/* Wraps MRC: every queue pair sprays over cfg->entropies EVs, spread evenly over its ports. 0 or
 * -ENOMEM; what the engine refuses it refuses when the simulation starts. */
int hosts_init_mrc(struct hosts *t, const struct hosts_cfg *cfg);

void hosts_fini(struct hosts *t);

/* The code of the shortest of RC's timeouts that is not shorter than ns, or the longest; and the
 * time that a code stands for (IBTA 9.7.6.1.3). */
uint8_t hosts_rc_timeout(nsec ns);
nsec hosts_rc_timeout_ns(uint8_t code);

/* The same of MRC's (Table 7-1). */
uint8_t hosts_mrc_timeout(nsec ns);
nsec hosts_mrc_timeout_ns(uint8_t code);

/* For the files of transports. What was made by init, also where that failed half-way. */
void hosts_fini_rc(struct hosts *t);
void hosts_fini_mrc(struct hosts *t);

/* A number of an end of a connection that either end can work out. */
enum hosts_draw { HOSTS_DRAW_PSN, HOSTS_DRAW_PORT, HOSTS_DRAW_PATH };
uint32_t hosts_draw(const struct hosts *t, uint32_t host, uint32_t qp, enum hosts_draw what);

/* The rate of a host's slowest port, and of all its ports together. */
uint64_t hosts_line_rate(const struct topology *t, uint32_t host);
uint64_t hosts_rate(const struct topology *t, uint32_t host);

/* What a full data packet of MRC counts for in its windows (MRC 8.3.1). */
uint32_t hosts_mrc_nominal(uint32_t payload_bytes);

#endif
