/* A simulation as a person writes it down: a YAML file, or one of the built-in ones, turned into
 * everything that sim needs. The format is documented in docs/scenarios.md.
 *
 * Every mistake is found before anything runs, and said with file, line and key. */
#ifndef WEFT_SCENARIO_SCENARIO_H
#define WEFT_SCENARIO_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fwd/qos.h"
#include "scenario/units.h"
#include "sim/fault.h"
#include "sim/routing.h"
#include "sim/topology.h"
#include "sim/workload.h"
#include "transport/transport.h"

#define SCENARIO_ERROR_MAX 512u

/* The transport every host runs, and its parameters. Those that a transport does not know are
 * refused when the file is read. */
struct scenario_transport {
	const char *name;            /* "ref", or that of its row */
	const struct transport *row; /* NULL: the reference transport */
	uint32_t payload_bytes;      /* of a full packet */
	uint32_t window_pkts;        /* 0: 1.5 bandwidth-delay products of the fabric */
	uint32_t entropies;
	psec timeout_ps; /* 0: a multiple of the base round-trip time */
	struct transport_options options;
};

/* Of a row: what bounds the packets that a queue pair has out; enum cc_kind. */
static inline uint8_t scenario_cc(const struct scenario_transport *t)
{
	return t->row->cc_choices[t->options.cc].kind;
}

struct scenario_buffer {
	bool shared;          /* one memory per switch; else one per port */
	uint64_t total_bytes; /* of the switch or of each port; 0: only thresholds count */
};

/* What the command line says on top of the file: key=value pairs that win ("topology.hosts=64",
 * "seed=7"), checked like the file's own. */
struct scenario_override {
	const char *key, *value;
};

/* Random faults to draw before the run. */
struct scenario_random_faults {
	uint32_t count;
	uint64_t kinds; /* bit per enum fault_kind */
	psec from_ps, until_ps;
};

/* What a target is about; docs/scenarios.md says what each is. */
enum scenario_metric {
	SCENARIO_FCT_MEAN,
	SCENARIO_FCT_P99,
	SCENARIO_FCT_LAST,
	SCENARIO_GOODPUT,
	SCENARIO_FLOW_RATE,
	SCENARIO_JAIN,
	SCENARIO_RATE_AFTER,
	SCENARIO_FLOWS_FAILED,
	SCENARIO_QUIET_AFTER,
	SCENARIO_SLOWDOWN_OF_SHARE,
	SCENARIO_SPREAD_LAST,
	SCENARIO_WRAPPED_LAST,
	SCENARIO_SENT_OVER_TAKEN,
	SCENARIO_PKTS_TO_SOURCES,
	SCENARIO_PKTS_PER_SECOND,
	SCENARIO_PKTS_PER_DATA,
	SCENARIO_PROBES_PER_DATA,
	SCENARIO_METRICS,
};
const char *scenario_metric_name(uint8_t metric);
enum units_kind scenario_metric_unit(uint8_t metric);

#define SCENARIO_MAIN     UINT32_C(0) /* a run: the scenario itself; 1 on: those beside it */
#define SCENARIO_NONE     UINT32_MAX  /* no run, no entry */
#define SCENARIO_NAME_MAX 40u         /* of a variant, the end included */
#define SCENARIO_GROUP    32u         /* runs that one target may be about */

/* What a figure of a run shall be. */
struct scenario_target {
	uint8_t metric; /* enum scenario_metric */
	bool is_most;   /* at most bound; else at least */
	uint64_t bound; /* in the metric's unit; where there is an `of`, in millionths */
	uint32_t in;    /* the run it is about, or the first of them, ... */
	uint32_t n_in;  /* ... which follow each other: the figure is the median of them */
	uint32_t of;    /* the figure is one over this run's; SCENARIO_NONE: as it is */
	uint32_t entry; /* of the workload; SCENARIO_NONE: all flows */
	psec from_ps, to_ps, before_ps; /* SCENARIO_RATE_AFTER */
};

/* The same scenario with some keys changed, to run beside it. */
struct scenario_variant {
	char name[SCENARIO_NAME_MAX];
	bool is_long; /* only where all are asked for */
	struct scenario_override *set;
	uint32_t n;
};

/* The flows of one entry of the workload. */
struct scenario_entry {
	uint32_t first, n;
};

/* How nodes of the trees of multicast groups do their work. */
struct scenario_groups {
	bool by_tlv;          /* each packet names its receivers; else nodes were told */
	bool as_printed;      /* NAKs go up at once, as the draft has it (T-17) */
	bool ejects;          /* a receiver that is silent or fails is given up */
	uint8_t silent_after; /* passes of what it lacks until it counts as silent */
	psec window_ps;       /* in which CNPs are counted */
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
	struct scenario_groups groups;  /* of the workload's */
	struct scenario_entry *entries; /* of the workload, as the file has them */
	uint32_t n_entries;
	struct fault *faults;
	uint32_t n_faults;
	struct scenario_random_faults *random_faults;
	uint32_t n_random_faults;
	struct scenario_target *targets;
	uint32_t n_targets;
	struct scenario_variant *beside;
	uint32_t n_beside;
	bool is_watched; /* a target asks what was sent into dead paths */
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
	bool is_variant; /* what stands beside it, and is asked of it, is not checked again */
	/* Larger scenarios are refused before they take memory; 0: only what sim refuses. */
	uint32_t max_links, max_flows;
	/* Reads a whole file next to `file`; returns memory the scenario frees, or NULL with a
	 * sentence in error. */
	char *(*read_file)(const char *near, const char *name, size_t *len, char *error,
			   size_t error_len);
};
int scenario_read(struct scenario *s, const struct scenario_source *source, char *error,
		  size_t error_len);

/* Reads the scenario of `source` with the changes of one of the variants that scenario_read found
 * there on top. A mistake is told with the variant's name in front. */
int scenario_read_variant(struct scenario *s, const struct scenario_source *source,
			  const struct scenario_variant *variant, char *error, size_t error_len);

/* NULL, or what keeps a target from being about a run of this scenario: "key: what is wrong". */
const char *scenario_target_problem(const struct scenario *s, const struct scenario_target *target);

/* Frees what a successful scenario_read made. */
void scenario_fini(struct scenario *s);

/* The built-in scenarios: YAML text each. NULL past the last. */
struct scenario_builtin {
	const char *name, *summary, *yaml;
};
const struct scenario_builtin *scenario_builtin_at(uint32_t i);
const struct scenario_builtin *scenario_builtin_find(const char *name);

/* Whether it has targets, or variants beside it: many runs. */
bool scenario_builtin_is_study(const struct scenario_builtin *b);

#endif
