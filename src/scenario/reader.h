/* What the parts of scenario_read share. Each read_... takes its part of the file and fills in its
 * part of the scenario, in the order of this header; a mistake stands in conf afterwards. */
#ifndef WEFT_SCENARIO_READER_H
#define WEFT_SCENARIO_READER_H

#include "scenario/conf.h"
#include "scenario/scenario.h"
#include "sim/routing.h"

#define READER_TIME_MAX (1000 * PSEC_S)
#define READER_RATE_MIN UINT64_C(1000000)
#define READER_RATE_MAX UINT64_C(100000000000000)

struct reader {
	struct conf conf;
	const struct scenario_source *source;
	struct scenario *s;
	struct routing routing; /* built once the fabric is known, to see who reaches whom */
	bool has_routing;
	struct conf_node *fabric, *transport; /* NULL: not in the file */
};

/* topology; read_graph is the part of it that lists nodes and links, read_link what a link says. */
void read_topology(struct reader *r, struct conf_node *map);
void read_graph(struct reader *r, struct conf_node *map, const struct topology_link *link);
void read_link(struct conf *c, struct conf_node *map, struct topology_link *link);

/* fabric and transport, first what routing and times follow from, then what follows from them. */
void read_forwarding(struct reader *r);
void read_payload(struct reader *r);
void read_queues(struct reader *r);
void read_transport(struct reader *r);

/* Settings of a map, which may be NULL, into a struct that has the places they name. */
void read_settings(struct conf *c, struct conf_node *map, const struct settings *settings,
		   void *to);

/* The part of it that NSCC has; map may be NULL. Needs the queues of the fabric. */
void read_nscc(struct reader *r, struct conf_node *map);

/* Unloaded round trip and bandwidth-delay product of the longest path. Needs routing. */
void read_times(struct reader *r);

void read_workload(struct reader *r, struct conf_node *node);
/* groups, where the workload has some; map may be NULL. */
void read_groups(struct reader *r, struct conf_node *map);
void read_faults(struct reader *r, struct conf_node *node);

/* Variants to run beside the scenario, then what is asked of the runs. */
void read_beside(struct reader *r, struct conf_node *list);
void read_targets(struct reader *r, struct conf_node *list);

/* A host by number or name; UINT32_MAX and a mistake when there is none. */
uint32_t read_host(struct reader *r, const struct conf_node *node);

/* A size, in bytes or in bandwidth-delay products, 1 byte to 4 GiB; fallback when the key is
 * missing. */
uint32_t read_size(struct reader *r, struct conf_node *map, const char *key, uint32_t fallback);

/* Keeps a sentence of sim about map; "key: what is wrong" names one of its keys. */
void read_refused(struct reader *r, const struct conf_node *map, const char *sentence);

/* The file that a key names, read by the caller's function: memory to free, or NULL and a mistake.
 */
char *read_other_file(struct reader *r, const struct conf_node *node, size_t *len);

#endif
