/* `weft devices`: what it shows, in files of its own. */
#ifndef WEFT_TOOLS_DEVICES_DEVICES_H
#define WEFT_TOOLS_DEVICES_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "nic/nic.h"

#define DEVICES_HOLDERS 16u
#define DEVICES_PORT    4791u

/* The devices there are, and where that is said. */
struct devices {
	struct nic_info *list;
	int n;
	const char *source; /* a file, WEFT_INTERFACES, or NULL: nowhere */
};

/* A socket that has the UDP port of RoCEv2. */
struct port_holder {
	char address[64];
	char program[64]; /* "": not known, or not permitted to know */
	uint32_t pid, uid;
};

/* Who has that port in this network namespace; their number, at most DEVICES_HOLDERS. */
uint32_t devices_holders(struct port_holder holders[DEVICES_HOLDERS]);

/* An address of a device as text, with its link where it needs one. */
void devices_address(const struct nic_gid *gid, char text[64]);

/* Addresses that the configuration names and the device does not have: false behind the last. */
bool devices_missing(const struct nic_info *info, uint32_t i, char text[64]);

/* Whether port k of device i has an interface that none before it has. */
bool devices_is_first(const struct devices *d, int i, uint32_t k);

void devices_table(const struct devices *d, bool has_probe);
void devices_json(const struct devices *d, bool has_probe);

#endif
