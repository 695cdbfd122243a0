/* A simulation as a person writes it down: a YAML file, or one of the built-in ones, turned into
 * everything that sim needs. The format is documented in docs/scenarios.md.
 *
 * Every mistake is found before anything runs, and said with file, line and key. */
#ifndef WEFT_SCENARIO_SCENARIO_H
#define WEFT_SCENARIO_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cc/dcqcn.h"
#include "fwd/qos.h"
#include "sim/fault.h"
#include "sim/routing.h"
#include "sim/topology.h"
#include "sim/workload.h"

#define SCENARIO_ERROR_MAX 512u

enum scenario_transport_kind { SCENARIO_REF, SCENARIO_RC, SCENARIO_MRC };

#define SCENARIO_RC_WINDOW  65536u /* most packets of a window of RC, ... */
#define SCENARIO_MRC_WINDOW 32640u /* ... and of MRC: those of the largest range */

/* The transport every host runs, and its parameters. Those that a transport does not know are
 * refused when the file is read. */
struct scenario_transport {
	char name[16];          /* "ref", "rc", "mrc" */
	uint8_t kind;           /* enum scenario_transport_kind */
	uint32_t payload_bytes; /* of a full packet */
	uint32_t window_pkts;   /* 0: 1.5 bandwidth-delay products of the fabric */
	uint32_t entropies;
	uint32_t ack_every;
	uint32_t retries;
	psec timeout_ps; /* 0: a multiple of the base round-trip time */
	/* RC. */
	bool has_dcqcn;
	struct dcqcn_cfg dcqcn;
	uint64_t cnp_every_ns; /* 0: the default */
	/* MRC; retries are the linear ones. */
	uint32_t exp_retries;
	uint32_t mpr; /* 0: twice the window */
	bool has_trim_nack;
	bool counts_trims;
};

struct scenario_buffer {
	bool shared;          /* one memory per switch; else one per port */
	uint64_t total_bytes; /* of the switch or of each port; 0: only thresholds count */
};

/* Random faults to draw before the run. */
struct scenario_random_faults {
	uint32_t count;
	uint64_t kinds; /* bit per enum fault_kind */
	psec from_ps, until_ps;
};

struct scenario {
	char name[64], summary[160];
	uint64_t seed;
	psec end_ps;  /* the run stops here at the latest; PSEC_NEVER: when all flows are done */
	psec tick_ps; /* width of a bin of goodput over time; 0: chosen by the report */
	struct topology topology;
	struct routing_cfg routing;
	struct fwd_names names;
	struct fwd_qos qos;
	struct scenario_buffer buffer;
	uint32_t overhead_bytes;  /* on the wire around each frame: preamble, FCS, gap; 24 */
	uint16_t udp_port;        /* destination of every packet; 4791 */
	uint32_t plane_bdp_bytes; /* of the longest path, from which defaults were derived */
	psec base_rtt_ps;         /* unloaded, a full packet out and an acknowledgement back */
	struct scenario_transport transport;
	struct workload workload;
	struct fault *faults;
	uint32_t n_faults;
	struct scenario_random_faults *random_faults;
	uint32_t n_random_faults;
};

/* What the command line says on top of the file: key=value pairs that win ("topology.hosts=64",
 * "seed=7"), checked like the file's own. */
struct scenario_override {
	const char *key, *value;
};

/* Reads a scenario from YAML text. file is its name for error messages and the folder from which
 * other files it names (topology, matrix) are read through read_file. 0; -EINVAL with a sentence
 * "file:line: key: what is wrong; what would be right" in error; -ENOMEM. */
struct scenario_source {
	const char *file;
	const char *text;
	size_t len;
	const struct scenario_override *overrides;
	uint32_t n_overrides;
	/* Larger scenarios are refused before they take memory; 0: only what sim refuses. */
	uint32_t max_links, max_flows;
	/* Reads a whole file next to `file`; returns memory the scenario frees, or NULL with a
	 * sentence in error. */
	char *(*read_file)(const char *near, const char *name, size_t *len, char *error,
			   size_t error_len);
};
int scenario_read(struct scenario *s, const struct scenario_source *source, char *error,
		  size_t error_len);

/* Frees what a successful scenario_read made. */
void scenario_fini(struct scenario *s);

/* The built-in scenarios: YAML text each. NULL past the last. */
struct scenario_builtin {
	const char *name, *summary, *yaml;
};
const struct scenario_builtin *scenario_builtin_at(uint32_t i);
const struct scenario_builtin *scenario_builtin_find(const char *name);

#endif
