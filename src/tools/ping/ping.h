/* `weft ping`: EV probes over every path from a device to a peer, and what came back. */
#ifndef WEFT_TOOLS_PING_PING_H
#define WEFT_TOOLS_PING_PING_H

#include <stdbool.h>
#include <stdint.h>

#include "nic/mrc/nic_mrc.h"
#include "tools/stats.h"
#include "tools/text.h"

#define PING_PATHS 4096u /* most paths */

struct ping_path {
	struct nic_mrc_question question;
	uint8_t value[PATH_VALUE_BYTES]; /* as the profile has it: short, where it has fields */
	uint32_t n_answers;
	uint64_t *rtt_ns; /* as many */
};

struct ping {
	const char *name; /* of the command */
	struct nic_info info;
	struct nic_user *user;
	struct ping_path *paths;
	uint32_t n_paths;
	uint32_t n_rounds; /* that were asked, so far */
	uint32_t most_rounds;
	uint64_t profile; /* of which the paths are, if has_profile */
	bool has_profile;
};

/* What came back of several paths. */
struct ping_sum {
	uint32_t n_paths, n_whole, n_part, n_silent; /* answered always, sometimes, never */
	uint64_t n_asked, n_answers;
	struct stats rtt_ns;
};

/* paths.c. All say what is wrong, and return a status. */
/* The device: of that name, or the one whose address the kernel takes towards the first peer, or
 * without peers the only one there is. */
int ping_find_device(struct ping *p, const char *device, char *const *peers, int n_peers);
/* The paths to the peer, or to a peer for each port, from the opened device. */
int ping_find_paths(struct ping *p, char *const *peers, int n_peers);
/* The sum over the paths of a port, or of all with port NULL; sorts what it sums. */
int ping_sum(const struct ping *p, const uint8_t *port, struct ping_sum *sum);

/* table.c and json.c; of every path too, if has_paths. */
int ping_table(const struct ping *p, bool has_paths);
int ping_json(const struct ping *p);
/* Adds a path's entropy value and port, as weft ctl writes them. */
void ping_value(const struct ping_path *path, struct text *t);

#endif
